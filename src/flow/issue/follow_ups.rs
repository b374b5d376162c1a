//! Follow-ups of an archived session, as issues that somebody may make: proposed with their commands, and never made
//! here.

use crate::flow::context::Context;
use loopx_base::failure::Result;
use loopx_base::hint::{Hint, command};
use loopx_base::id::SessionId;
use loopx_base::{counted, shell_word};
use loopx_rules::session::State;
use loopx_rules::task::debt::debt;
use loopx_rules::task::status::Status;
use loopx_store::one_line;
use serde::Serialize;

/// The number of follow-ups that are proposed: whoever left more looks at the session.
const MOST: usize = 8;
/// The longest title of a proposal.
const LONGEST: usize = 120;

/// An issue that somebody may make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct FollowUp {
    /// test, docs, refactor or enhance.
    pub kind: &'static str,
    pub title: String,
    /// The part of the session that the issue follows from.
    pub why: String,
    pub command: Hint,
}

/// Proposes issues for what an archived session leaves: scenarios that were let in without evidence, findings that
/// nobody answered, and tasks that were not done.
pub(crate) fn follow_ups(
    ctx: &Context,
    id: &SessionId,
    waived: &[String],
) -> Result<Vec<FollowUp>> {
    let snapshot = ctx.store()?.snapshot()?;
    let Some(session) = snapshot.find(id)? else {
        return Ok(Vec::new());
    };
    let state = &session.state;
    let mut found = Vec::new();
    for scenario in waived {
        let title = format!("Prove {scenario}");
        found.push(follow_up(
            state,
            "test",
            &title,
            "it is in without evidence",
        ));
    }
    for finding in state.findings.iter().filter(|one| one.value.is_open()) {
        let said = &finding.value.found;
        let kind = match said.dimension.as_deref() {
            Some("test" | "tests" | "testing") => "test",
            Some("doc" | "docs" | "documentation") => "docs",
            Some(_) => "refactor",
            None => "enhance",
        };
        found.push(follow_up(
            state,
            kind,
            &said.text,
            "nobody answered the finding",
        ));
    }
    let left = state.tasks.values();
    for task in left.filter(|task| matches!(task.status, Status::Skipped | Status::Failed)) {
        let title = format!("Task {} of {}", task.id, state.title);
        let why = format!("the task is {}", task.status);
        found.push(follow_up(state, "enhance", &title, &why));
    }
    found.truncate(MOST);
    let left = debt(state).len();
    if left > 0 {
        found.push(FollowUp {
            kind: "chore",
            title: "What completed tasks left".to_owned(),
            why: format!("completed tasks left {}", counted(left, "thing")),
            command: command!("issue create --debt").session(id),
        });
    }
    Ok(found)
}

fn follow_up(state: &State, kind: &'static str, title: &str, why: &str) -> FollowUp {
    let title: String = one_line(title).chars().take(LONGEST).collect();
    let word = shell_word(&title);
    let command = match state.issues.first() {
        Some(issue) => {
            command!("issue create {word} --label {kind} --discovered-from {issue}")
        }
        None => command!("issue create {word} --label {kind}"),
    };
    FollowUp {
        kind,
        title,
        why: why.to_owned(),
        command,
    }
}
