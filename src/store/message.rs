//! The messages of the branch's commits.

use crate::core::id::SessionId;
use crate::core::op::{Event, Operation};
use crate::core::session::State;
use std::fmt::Write as _;

/// The commit message of an operation: `<id>: <what happened>`, the reason, the trailers that make
/// `git log` the query language (design 3).
pub fn message(id: &SessionId, what: &str, op: &Operation, state: &State) -> String {
    let mut text = format!("{id}: {}\n", one_line(what));
    if let Some(reason) = &op.reason {
        let reason = reason.trim();
        if !reason.is_empty() {
            // writeln! to a String cannot fail.
            let _ = write!(text, "\n{reason}\n");
        }
    }
    let mut trailers = vec![
        ("Loopx-Session", id.to_string()),
        ("Loopx-Event", op.event.word().to_owned()),
    ];
    match &op.event {
        Event::Approved {
            transition,
            content,
            code,
            ..
        } => {
            trailers.push(("Loopx-Transition", transition.to_string()));
            trailers.push(("Loopx-Content", content.to_string()));
            if let Some(code) = code {
                trailers.push(("Loopx-Tree", code.to_string()));
            }
        }
        Event::Entered { transition, .. } => {
            trailers.push(("Loopx-Transition", transition.to_string()))
        }
        Event::Ran { evidence } => trailers.push(("Loopx-Tree", evidence.tree.to_string())),
        Event::Reviewed { verdict } => {
            trailers.push(("Loopx-Verdict", verdict.verdict.to_string()));
            trailers.push(("Loopx-Tree", verdict.tree.to_string()));
        }
        Event::Archived {
            commit: Some(commit),
            ..
        } => trailers.push(("Loopx-Commit", commit.to_string())),
        Event::Undone { undone } => {
            trailers.extend(undone.iter().map(|op| ("Loopx-Undoes", op.to_string())));
        }
        Event::Redone { redone } => {
            trailers.extend(redone.iter().map(|op| ("Loopx-Redoes", op.to_string())));
        }
        _ => {}
    }
    trailers.push(("Loopx-Stage", state.stage.to_string()));
    text.push('\n');
    for (key, value) in trailers {
        let _ = writeln!(text, "{key}: {}", one_line(&value));
    }
    text
}

/// Text for a subject or a trailer: one line, whatever it was.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
