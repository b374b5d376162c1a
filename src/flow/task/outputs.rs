//! The outputs of a task: what it leaves, as artifacts of the session, as files below `tasks/<id>/` in it, or as files of
//! the code. Those in the session are stored with the completion, which names their contents. Whether all are there is
//! asked when somebody looks, and when the task is completed.

use super::named;
use super::view::read;
use crate::flow::context::Context;
use crate::flow::transaction::Facts;
use crate::flow::workcopy::{Outputs, WorkCopy};
use crate::flow::{files, lease};
use loopx_base::failure::{Blocker, Code, Failure, Result};
use loopx_base::hint::{command, hint};
use loopx_base::id::{Oid, SessionId};
use loopx_rules::artifact::Artifact;
use loopx_rules::gate::lead_of;
use loopx_rules::session::{FileVersions, State};
use loopx_rules::task::event::Completion;
use loopx_rules::task::node::{Node, NodeKind, TaskId, is_within};
use loopx_rules::task::outputs::task_of;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// A file that a task leaves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Output {
    pub path: String,
    pub present: bool,
    /// Set when the plan names the file; else it was found in the folder of the task.
    pub declared: bool,
    /// Content of the file in the session, where it lies below `tasks/`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blob: Option<Oid>,
    /// The content that the task was completed with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pinned: Option<Oid>,
    /// Set when the file has another content since the task was completed.
    pub changed: bool,
    /// Set when several wrote the file apart, and nobody has chosen yet.
    pub apart: bool,
}

/// Files that a task leaves: those that the plan names, and what else lies in its folder.
pub(super) fn outputs(
    ctx: &Context,
    facts: &Facts<'_>,
    node: &Node,
    done: Option<&Completion>,
) -> Result<Vec<Output>> {
    let state = &facts.state;
    let changed: BTreeSet<&str> =
        done.map_or_else(BTreeSet::new, |done| done.outputs_changed(state).collect());
    let pinned = |path: &str| done.and_then(|done| done.outputs.get(path)).cloned();
    let declared: BTreeSet<&str> = node.outputs.iter().map(String::as_str).collect();
    let stored = state.outputs_of(node.id.as_str()).map(|(path, _)| path);
    let rested = done.into_iter().flat_map(|done| done.outputs.keys());
    let mut more: BTreeSet<&str> = stored.chain(rested.map(String::as_str)).collect();
    more.retain(|path| !declared.contains(path));
    let mut found = Vec::new();
    for path in node.outputs.iter().map(String::as_str).chain(more) {
        found.push(Output {
            present: is_present(ctx, facts, state, path)?,
            declared: declared.contains(path),
            blob: state.output(path).cloned(),
            pinned: pinned(path),
            changed: changed.contains(path),
            apart: state.outputs_apart().any(|(apart, _)| apart == path),
            path: path.to_owned(),
        });
    }
    Ok(found)
}

/// The files that a task leaves.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Left {
    pub session: SessionId,
    pub task: TaskId,
    pub outputs: Vec<Output>,
}

/// The outputs of a task of the session that is meant, or of the one that is taken here.
pub(crate) fn left_by(ctx: &Context, task: Option<&str>) -> Result<Left> {
    read(ctx, None, |facts, plan, graph| {
        let at = plan.meant(graph, task, &lease::owner(&ctx.repo, None)?)?;
        let node = &plan.nodes[at];
        let done = plan.facts(at).and_then(|facts| facts.completion.as_ref());
        let done = done.map(|done| &done.value);
        let mut outputs = outputs(ctx, facts, node, done)?;
        // What stands in the working copy goes in with the completion.
        let new = peek(ctx, facts, node)?;
        let after = with(&facts.state, &new);
        for output in outputs.iter_mut().filter(|output| !output.present) {
            output.present = is_present(ctx, facts, &after, &output.path)?;
        }
        Ok(Left {
            session: named(plan.state),
            task: node.id.clone(),
            outputs,
        })
    })
}

/// Reads what [`collect`] would take in, and writes nothing. A file that was changed on both sides is there, whoever
/// wins.
fn peek(ctx: &Context, facts: &Facts<'_>, node: &Node) -> Result<Outputs> {
    let Some(copy) = WorkCopy::open(&ctx.repo, &facts.state.id)? else {
        return Ok(Outputs::default());
    };
    let max = facts.policy.artifacts.max_bytes;
    let (outputs, _) = copy.peek_outputs(&facts.state, max, |path| is_of(node, path))?;
    Ok(outputs)
}

/// The edits of the working copy that belong to a task: what lies in its folder, and what the plan names for it.
pub(super) fn collect(ctx: &Context, facts: &Facts<'_>, node: &Node) -> Result<Outputs> {
    let Some(mut copy) = WorkCopy::open(&ctx.repo, &facts.state.id)? else {
        return Ok(Outputs::default());
    };
    let max = facts.policy.artifacts.max_bytes;
    copy.collect_outputs(&facts.state, max, |path| is_of(node, path))
}

/// Tells whether a file in the session is a task's.
pub(super) fn is_of(node: &Node, path: &str) -> bool {
    let is_named = || node.outputs.iter().any(|named| is_within(path, named));
    task_of(path).is_some_and(|task| task == node.id.as_str() || is_named())
}

/// The session's state with what goes in along with the completion.
pub(super) fn with<'s>(state: &'s State, new: &Outputs) -> Cow<'s, State> {
    if new.is_empty() {
        return Cow::Borrowed(state);
    }
    let mut after = state.clone();
    new.enter(&mut after);
    Cow::Owned(after)
}

/// The files in the session that are a task's, by path.
fn own<'s>(state: &'s State, node: &Node) -> BTreeMap<&'s str, &'s FileVersions> {
    let elsewhere = node.outputs.iter().filter(|path| task_of(path).is_some());
    let folders: BTreeSet<&str> = elsewhere.filter_map(|path| task_of(path)).collect();
    let folders = folders.into_iter().chain([node.id.as_str()]);
    let all = folders.flat_map(|task| state.outputs_of(task));
    all.filter(|(path, _)| is_of(node, path)).collect()
}

/// Contents in the session of the files that a completion rests on.
pub(super) fn pinned(state: &State, node: &Node) -> BTreeMap<String, Oid> {
    let all = own(state, node).into_iter();
    all.filter_map(|(path, versions)| Some((path.to_owned(), versions.last()?.clone())))
        .collect()
}

/// Refuses a task that did not leave what it should.
pub(super) fn require(ctx: &Context, facts: &Facts<'_>, node: &Node, state: &State) -> Result<()> {
    let task = &node.id;
    let mut own = own(state, node).into_iter();
    if let Some((path, _)) = own.find(|(_, versions)| versions.len() > 1) {
        return Err(Failure::conflict(
            Code::ArtifactConflict,
            format!("{task} is not done: {path} has versions from several clones, and nobody has chosen one yet"),
        )
        .help(command!("resolve {path}")));
    }
    let missing = missing(ctx, facts, node, state)?;
    if missing.is_empty() {
        return Ok(());
    }
    let lead = if node.kind == NodeKind::Work {
        hint![
            "write what is missing, then: ",
            command!("task done {task}"),
            "  or: ",
            command!("task fail {task} --reason WHY")
        ]
    } else {
        let lead = lead_of(node, state.task_status(task), state);
        hint!["write what is missing, then: ", lead]
    };
    let blocker = |path: &&str| {
        let message = match task_of(path) {
            Some(_) => format!("there is no {}/{path}", ctx.folder(&state.id)),
            None => format!("{path} is neither an artifact of the session nor a file of the code"),
        };
        Blocker::new(Code::TaskOutputMissing, message, lead.clone())
    };
    Err(Failure::refused(
        Code::TaskOutputMissing,
        format!(
            "{task} is not done: the plan names {} as an output, but the file is missing",
            missing.join(", ")
        ),
    )
    .blockers(missing.iter().map(blocker).collect())
    .help(lead.clone()))
}

/// The files in the session that a task leaves and that are there, in the working copy too: an earlier attempt of
/// whoever had it left them.
pub(super) fn there(ctx: &Context, facts: &Facts<'_>, node: &Node) -> Result<Vec<String>> {
    let own = node.outputs.iter().filter(|path| task_of(path).is_some());
    let own: Vec<&String> = own.collect();
    if own.is_empty() {
        return Ok(Vec::new());
    }
    let new = peek(ctx, facts, node)?;
    let after = with(&facts.state, &new);
    let mut found = Vec::new();
    for path in own {
        if is_present(ctx, facts, &after, path)? {
            found.push(path.clone());
        }
    }
    Ok(found)
}

/// The files that a task leaves and that are not there.
pub(in crate::flow) fn missing<'n>(
    ctx: &Context,
    facts: &Facts<'_>,
    node: &'n Node,
    state: &State,
) -> Result<Vec<&'n str>> {
    let mut missing = Vec::new();
    for path in &node.outputs {
        if !is_present(ctx, facts, state, path)? {
            missing.push(path.as_str());
        }
    }
    Ok(missing)
}

/// Tells whether a path that a task names as its result is there: in the session, in its working copy, or in the code.
pub(super) fn is_there(ctx: &Context, facts: &Facts<'_>, node: &Node, path: &str) -> Result<bool> {
    let new = peek(ctx, facts, node)?;
    is_present(ctx, facts, &with(&facts.state, &new), path)
}

/// Tells whether a path is an artifact or another file of the session, or a file that git has or would take.
fn is_present(ctx: &Context, facts: &Facts<'_>, state: &State, path: &str) -> Result<bool> {
    let artifact = Artifact::at(path);
    let text = artifact.and_then(|artifact| facts.texts.get(&artifact));
    if text.is_some_and(|text| !text.trim().is_empty()) {
        return Ok(true);
    }
    let folder = format!("{}/", path.trim_end_matches('/'));
    let below = state.files.range(folder.clone()..).next();
    let is_folder =
        below.is_some_and(|(file, _)| file.starts_with(&folder) && task_of(file).is_some());
    if is_folder || state.output(path).is_some() {
        return Ok(true);
    }
    // Below `tasks/` a file belongs to the session: of the same path in the code nothing would be kept.
    if task_of(path).is_some() {
        return Ok(false);
    }
    let (Some(top), Some(code)) = (ctx.repo.work_dir(), &facts.code) else {
        return Ok(false);
    };
    let Ok(file) = files::inside(top, path) else {
        return Ok(false);
    };
    if !file.exists() {
        return Ok(false);
    }
    let is_new = code.uncommitted.iter().any(|one| {
        let rest = path.strip_prefix(one.path.trim_end_matches('/'));
        rest.is_some_and(|rest| rest.is_empty() || one.path.ends_with('/') && rest.starts_with('/'))
    });
    if is_new {
        return Ok(true);
    }
    let Some(head) = &code.head else {
        return Ok(false);
    };
    let tree = ctx.repo.commit_info(head)?.tree;
    Ok(ctx.repo.entry_at(&tree, path)?.is_some())
}
