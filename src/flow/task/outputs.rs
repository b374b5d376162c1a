//! The outputs of a task: what it leaves, as artifacts of the session or as files of the code. Whether they are there is
//! asked when somebody looks, and when the task is completed.

use super::named;
use super::view::read;
use crate::core::artifact::Artifact;
use crate::core::failure::{Blocker, Code, Failure, Result};
use crate::core::hint::{command, hint};
use crate::core::id::SessionId;
use crate::core::task::node::{Node, TaskId};
use crate::flow::act::Facts;
use crate::flow::context::Context;
use crate::flow::{files, lease};
use serde::Serialize;

/// A file that a task leaves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Output {
    pub path: String,
    pub present: bool,
}

/// The outputs that a plan names for a task, each with whether it is there.
pub(super) fn outputs(ctx: &Context, facts: &Facts<'_>, node: &Node) -> Result<Vec<Output>> {
    let mut found = Vec::new();
    for path in &node.outputs {
        found.push(Output {
            present: is_present(ctx, facts, path)?,
            path: path.clone(),
        });
    }
    Ok(found)
}

/// The files that a task leaves.
#[derive(Clone, Debug, Serialize)]
pub struct Left {
    pub session: SessionId,
    pub task: TaskId,
    pub outputs: Vec<Output>,
}

/// The outputs of a task of the session that is meant, or of the one that is taken here.
pub fn left_by(ctx: &Context, task: Option<&str>) -> Result<Left> {
    read(ctx, None, |facts, plan, graph| {
        let at = plan.meant(graph, task, &lease::owner(&ctx.repo, None)?)?;
        let node = &plan.nodes[at];
        Ok(Left {
            session: named(plan.state),
            task: node.id.clone(),
            outputs: outputs(ctx, facts, node)?,
        })
    })
}

/// Refuses a task that did not leave what it should.
pub(super) fn require(ctx: &Context, facts: &Facts<'_>, node: &Node) -> Result<()> {
    let mut missing = outputs(ctx, facts, node)?;
    missing.retain(|output| !output.present);
    let paths: Vec<&str> = missing.iter().map(|one| one.path.as_str()).collect();
    if paths.is_empty() {
        return Ok(());
    }
    let task = &node.id;
    let lead = hint![
        "write what is missing, then: ",
        command!("task done {task}"),
        "  or: ",
        command!("task fail {task} --reason WHY")
    ];
    let blocker = |path: &&str| {
        let message =
            format!("{path} is neither an artifact of the session nor a file of the code");
        Blocker::new(Code::TaskOutputMissing, message, lead.clone())
    };
    Err(Failure::refused(
        Code::TaskOutputMissing,
        format!(
            "{task} is not done: the plan says that it leaves {}, which is not there",
            paths.join(", ")
        ),
    )
    .blockers(paths.iter().map(blocker).collect())
    .help(lead.clone()))
}

/// Whether a path is an artifact of the session, or a file that git has or would take.
fn is_present(ctx: &Context, facts: &Facts<'_>, path: &str) -> Result<bool> {
    let artifact = Artifact::at(path);
    let text = artifact.and_then(|artifact| facts.texts.get(&artifact));
    if text.is_some_and(|text| !text.trim().is_empty()) {
        return Ok(true);
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
