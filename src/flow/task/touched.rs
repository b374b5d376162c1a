//! What somebody who had a task touched, beside what the plan said that they would: a warning, never a refusal.

use super::{blob_of, own_paths};
use crate::flow::context::Context;
use crate::flow::rules::Applying;
use crate::flow::skills::Skills;
use crate::flow::transaction::Facts;
use loopx_base::failure::Result;
use loopx_rules::session::State;
use loopx_rules::task::event::Claim;
use loopx_rules::task::node::Node;
use serde::Serialize;
use std::collections::BTreeMap;

/// So many files stand in the record.
const KEPT: usize = 100;

/// The files of a task: as they were planned, and as they were touched since it was taken.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Touched {
    /// Every file that changed, in commits and in the worktree; at most so many as a record holds.
    pub files: Vec<String>,
    /// How many changed.
    pub count: usize,
    /// Planned and touched.
    pub declared: Vec<String>,
    /// Touched, and not planned.
    pub undeclared: Vec<String>,
    /// Planned, and not touched.
    pub untouched: Vec<String>,
    /// What had to be read and has another content than when the task was taken.
    pub reads_changed: Vec<String>,
}

/// What changed since a claim. Nothing where the commit that was checked out then is not known here.
pub(super) fn touched(
    ctx: &Context,
    facts: &Facts<'_>,
    node: &Node,
    claim: &Claim,
) -> Result<Option<Touched>> {
    let (Some(head), Some(code)) = (&claim.head, &facts.code) else {
        return Ok(None);
    };
    if !ctx.repo.contains(head)? {
        return Ok(None);
    }
    let then = ctx.repo.commit_info(head)?.tree;
    let mut files = ctx.repo.changed_paths(Some(&then), &code.tree)?;
    files.sort();
    files.dedup();
    let reads = reads(ctx, &facts.state, node);
    let mut touched = split(node, files);
    let changed = claim.reads.iter();
    let changed = changed.filter(|(path, blob)| reads.get(*path) != Some(*blob));
    touched.reads_changed = changed.map(|(path, _)| path.clone()).collect();
    Ok(Some(touched))
}

/// The files of a task against the files that changed.
fn split(node: &Node, files: Vec<String>) -> Touched {
    let is_below = |path: &str, above: &str| {
        let rest = path.strip_prefix(above.trim_end_matches('/'));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let is_planned = |path: &String| node.own_files().any(|file| is_below(path, file));
    let is_touched = |file: &&str| files.iter().any(|path| is_below(path, file));
    let owned = |path: &String| path.clone();
    let declared = files.iter().filter(|path| is_planned(path)).map(owned);
    let undeclared = files.iter().filter(|path| !is_planned(path)).map(owned);
    let untouched = node.own_files().filter(|file| !is_touched(file));
    Touched {
        declared: declared.take(KEPT).collect(),
        undeclared: undeclared.take(KEPT).collect(),
        untouched: untouched.map(str::to_owned).collect(),
        reads_changed: Vec::new(),
        count: files.len(),
        files: files.iter().take(KEPT).map(owned).collect(),
    }
}

/// The contents of what has to be read before a task, of the skill that it is done by, and of the rules that apply.
pub(super) fn reads(ctx: &Context, state: &State, node: &Node) -> BTreeMap<String, String> {
    let found = node.reads.iter();
    let found = found.filter_map(|path| Some((path.clone(), blob_of(&ctx.repo, state, path)?)));
    let mut pins = Skills::of(&ctx.repo).pins(node);
    pins.extend(Applying::here(ctx).pins(&own_paths(node)));
    pins.extend(found);
    pins
}
