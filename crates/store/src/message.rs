//! The messages of the branch's commits.

use loopx_base::id::SessionId;
use loopx_rules::issue::IssueId;
use loopx_rules::op::Operation;
use loopx_rules::session::State;
use std::fmt::Write as _;

/// Number of issues that one message names: a plan of thousands is read from the tree.
const MOST_IDS: usize = 100;

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
        ("Loopx-Event", op.word().to_owned()),
    ];
    trailers.extend(op.body.trailers());
    trailers.push(("Loopx-Stage", state.stage.to_string()));
    text.push('\n');
    for (key, value) in trailers {
        let _ = writeln!(text, "{key}: {}", one_line(&value));
    }
    text
}

/// The trailer of one more session that a commit changed.
pub fn also(id: &SessionId) -> String {
    format!("Loopx-Session: {id}\n")
}

/// The commit message of a record in the journal.
pub fn journal_message(what: &str, op: &Operation) -> String {
    let mut text = format!(
        "journal: {}\n\nLoopx-Event: {}\n",
        one_line(what),
        op.word()
    );
    for (key, value) in op.body.trailers() {
        let _ = writeln!(text, "{key}: {}", one_line(&value));
    }
    text
}

/// The commit message of records of issues: the ids are trailers, so that `git log --grep` finds what happened to one.
pub fn issue_message(short: &str, what: &str, ids: &[&IssueId], op: &Operation) -> String {
    let mut text = format!("{short}: {}\n", one_line(what));
    if let Some(reason) = op
        .reason
        .as_deref()
        .map(str::trim)
        .filter(|why| !why.is_empty())
    {
        // write! to a String cannot fail.
        let _ = write!(text, "\n{reason}\n");
    }
    text.push('\n');
    for id in ids.iter().take(MOST_IDS) {
        let _ = writeln!(text, "Loopx-Issue: {id}");
    }
    let _ = writeln!(text, "Loopx-Event: {}", op.word());
    for (key, value) in op.body.trailers() {
        let _ = writeln!(text, "{key}: {}", one_line(&value));
    }
    text
}

/// Text for a subject or a trailer: one line, whatever it was, and nothing in it that drives a terminal.
pub fn one_line(text: &str) -> String {
    let seen = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    let words = text.split_whitespace();
    let words: Vec<String> = words.map(|word| word.chars().map(seen).collect()).collect();
    words.join(" ")
}
