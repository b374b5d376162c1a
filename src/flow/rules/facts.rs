//! `rule facts`: what a commit's files say of the project. Read from the tree alone, so that the same tree gives the
//! same facts; nothing is run.

use super::tree_of;
use crate::flow::context::Context;
use loopx_base::failure::Result;
use loopx_base::id::Oid;
use loopx_rules::rule;
use loopx_rules::rule::{Facts, wanted_files};
use serde::Serialize;
use std::collections::BTreeMap;

/// The largest file that is read.
const MAX: u64 = 1024 * 1024;

/// The facts of a tree; nothing where there is no commit yet.
#[derive(Debug, Serialize)]
pub(crate) struct Found {
    pub tree: Option<Oid>,
    #[serde(flatten)]
    pub facts: Facts,
}

/// Finds the facts of a commit; of HEAD where none is named.
pub(crate) fn facts(ctx: &Context, at: Option<&str>) -> Result<Found> {
    let repo = &ctx.repo;
    let tree = match at {
        Some(revision) => Some(tree_of(ctx, revision)?),
        None => match repo.head()?.commit {
            Some(head) => Some(repo.commit_info(&head)?.tree),
            None => None,
        },
    };
    let Some(tree) = tree else {
        return Ok(Found {
            tree: None,
            facts: Facts::default(),
        });
    };
    let blobs: BTreeMap<String, Oid> = repo.walk_blobs(&tree)?.into_iter().collect();
    let paths: Vec<String> = blobs.keys().cloned().collect();
    let mut texts = BTreeMap::new();
    for path in wanted_files(&paths) {
        let Some(blob) = blobs.get(path) else {
            continue;
        };
        let text = match repo.blob_size(blob)? {
            size if size > MAX => Err(format!("it has more than {MAX} bytes")),
            _ => String::from_utf8(repo.read_blob(blob)?)
                .map_err(|_| "expected UTF-8, found other bytes".to_owned()),
        };
        texts.insert(path.clone(), text);
    }
    Ok(Found {
        tree: Some(tree),
        facts: rule::facts(&paths, &texts),
    })
}
