//! Files that somebody touched for a task, against those that the plan names: a warning, never a refusal.

use super::{Plan, blob_of, own_paths};
use crate::flow::context::Context;
use crate::flow::rules::Applying;
use crate::flow::skills::Skills;
use crate::flow::transaction::Facts;
use loopx_base::failure::Result;
use loopx_rules::session::{Stamped, State};
use loopx_rules::task::event::Claim;
use loopx_rules::task::graph::Graph;
use loopx_rules::task::node::{Node, TaskId, is_within};
use loopx_rules::task::overlap::{Overlap, overlaps};
use serde::Serialize;
use std::collections::BTreeMap;

/// Number of files that a record holds.
const KEPT: usize = 100;

/// The files of a task: as they were planned, and as they were touched since it was taken.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Touched {
    /// Every file that changed, in commits and in the worktree; at most so many as a record holds.
    pub files: Vec<String>,
    /// Number of files that changed.
    pub count: usize,
    /// Planned and touched.
    pub declared: Vec<String>,
    /// Touched, and not planned.
    pub undeclared: Vec<String>,
    /// Planned, and not touched.
    pub untouched: Vec<String>,
    /// Files that had to be read and have another content than when the task was taken.
    pub reads_changed: Vec<String>,
    /// Other tasks that changed the same, or may.
    pub overlaps: Vec<Overlap>,
}

/// Files that changed since a claim. Nothing where the commit that was checked out then is not known here.
pub(super) fn touched(
    ctx: &Context,
    facts: &Facts<'_>,
    (plan, graph, at): (&Plan<'_>, &Graph<'_>, usize),
    claim: &Stamped<Claim>,
) -> Result<Option<Touched>> {
    let node = &plan.nodes[at];
    let (claim, since) = (&claim.value, claim.seq);
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
    let known = |id: &TaskId| plan.state.task(id);
    let overlaps = overlaps(graph, at, &plan.statuses, (&files, since), known);
    let reads = reads(ctx, &facts.state, node);
    let mut touched = split(node, files);
    let changed = claim.reads.iter();
    let changed = changed.filter(|(path, blob)| reads.get(*path) != Some(*blob));
    touched.overlaps = overlaps;
    touched.reads_changed = changed.map(|(path, _)| path.clone()).collect();
    Ok(Some(touched))
}

/// The files of a task against the files that changed.
fn split(node: &Node, files: Vec<String>) -> Touched {
    let is_planned = |path: &String| node.is_about(path);
    let is_touched = |file: &&str| files.iter().any(|path| is_within(path, file));
    let owned = |path: &String| path.clone();
    let declared = files.iter().filter(|path| is_planned(path)).map(owned);
    let undeclared = files.iter().filter(|path| !is_planned(path)).map(owned);
    let untouched = node.own_files().filter(|file| !is_touched(file));
    Touched {
        declared: declared.take(KEPT).collect(),
        undeclared: undeclared.take(KEPT).collect(),
        untouched: untouched.map(str::to_owned).collect(),
        reads_changed: Vec::new(),
        overlaps: Vec::new(),
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
