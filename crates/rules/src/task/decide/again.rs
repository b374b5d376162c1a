//! The check that work which a gate sent back was changed before it is judged again. Contents alone: who asks, and what
//! follows, is the business of others.

use crate::session::State;
use crate::task::node::Node;
use crate::task::node::is_within;
use loopx_base::id::Oid;
use std::collections::BTreeSet;

/// The gate in whose place a node stands: it sent the work back.
pub fn sent_back_by<'n>(nodes: &'n [Node], node: &Node) -> Option<&'n Node> {
    let next = |one: &Node| Some(one.gate.as_ref()?.superseded.as_ref()?.key());
    let key = node.id.key();
    nodes.iter().find(|one| next(one).as_ref() == Some(&key))
}

/// Tells whether what these nodes left in the session has no content that the session did not have then. A copy of an
/// earlier result is no new content, whatever its name is.
pub fn has_nothing_new(judged: &[&Node], then: &State, now: &State) -> bool {
    let files = then.files.values().flatten();
    let known: BTreeSet<&Oid> = then.artifacts.values().chain(files).collect();
    let is_named = |path: &str| {
        let mut named = judged.iter().flat_map(|node| &node.outputs);
        named.any(|one| is_within(path, one))
    };
    let artifacts = now.artifacts.iter();
    let artifacts = artifacts.filter(|(artifact, _)| is_named(artifact.path()));
    let named = now.files.iter().filter(|(path, _)| is_named(path));
    let own = judged
        .iter()
        .flat_map(|node| now.outputs_of(node.id.as_str()));
    let mut left = artifacts
        .map(|(_, blob)| blob)
        .chain(named.flat_map(|(_, versions)| versions))
        .chain(own.flat_map(|(_, versions)| versions));
    left.all(|blob| known.contains(blob))
}
