//! `issue create --debt`: what the completed tasks of a session left undone, as issues. The id of each follows from what
//! it is about, so that a second call, and another clone, makes none anew.

use super::create::{New, imported};
use crate::flow::context::Context;
use crate::flow::task::left_undone;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_base::id::SessionId;
use loopx_rules::issue::event::Change;
use loopx_rules::issue::{IssueId, LinkKind, Source};
use loopx_rules::task::debt::Debt;
use loopx_store::one_line;

/// The label of an issue about things left undone.
const LABEL: &str = "tech-debt";
/// The number of characters that become a description: each has at most four bytes, and an issue takes 64 KiB.
const LONGEST_SAID: usize = 16_000;
/// The system that is the source of such an issue.
const SYSTEM: &str = "task";
/// The longest title.
const LONGEST: usize = 120;

/// An issue for each thing that completed tasks of the session that is meant left. What is typed counts for all.
pub(crate) fn proposed(ctx: &Context, typed: &[Change]) -> Result<Vec<New>> {
    let left = left_undone(ctx)?;
    let prefix = crate::flow::specs::policy(ctx)?.backlog.prefix;
    if left.debt.is_empty() {
        let message = format!(
            "no completed task of session {} left anything",
            left.session
        );
        return Err(Failure::nothing(Code::NothingToPropose, message).help(command!("task list")));
    }
    let new = |debt: &Debt| new(&left.session, left.issue.as_ref(), &prefix, (debt, typed));
    left.debt.iter().map(new).collect()
}

fn new(
    session: &SessionId,
    issue: Option<&IssueId>,
    prefix: &str,
    (debt, typed): (&Debt, &[Change]),
) -> Result<New> {
    let Debt {
        task,
        kind,
        text,
        by,
    } = debt;
    let source = Source {
        system: SYSTEM.to_owned(),
        id: format!("{session}/{task}/{kind}/{text}"),
    };
    let id = imported(prefix, &source.system, &source.id)?;
    let said: String = text.chars().take(LONGEST_SAID).collect();
    let about =
        format!("{said}\n\nTask {task} of session {session} left it ({kind}), as {by} said.");
    let mut changes = vec![
        Change::Title(one_line(text).chars().take(LONGEST).collect()),
        Change::Description(about),
        Change::Kind("chore".to_owned()),
        Change::Label(LABEL.to_owned()),
        Change::Label(kind.to_string()),
    ];
    changes.extend(typed.iter().cloned());
    let links = issue.map(|issue| super::change::Ask {
        kind: LinkKind::DiscoveredFrom,
        reversed: false,
        other: issue.to_string(),
    });
    Ok(New {
        id: Some(id),
        links: links.into_iter().collect(),
        changes,
        ..New::default()
    })
}
