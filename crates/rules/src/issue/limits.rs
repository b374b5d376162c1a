//! Limits of an issue's fields. The commands refuse a value beyond them, and the fold passes over it: a record that no
//! command could have written changes nothing.

use super::event::Change;
use super::solution::{Proposal, Scores};
use super::{IssueId, LAST_PRIORITY};

/// The longest text of one line.
pub const LONGEST_LINE: usize = 300;
/// The longest description, in bytes: what is longer is a document.
pub const LONGEST_TEXT: usize = 64 * 1024;

/// Tells whether a text is one line that says something.
pub fn is_line(text: &str) -> bool {
    let is_line = !text.trim().is_empty() && !text.chars().any(char::is_control);
    is_line && text.chars().count() <= LONGEST_LINE
}

/// Tells whether a text can be that of a label.
pub fn is_label(text: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || "-_.:/+".contains(c);
    (1..=64).contains(&text.len()) && text.chars().all(is_plain)
}

/// Tells whether a path leads from the top of the repository to something in it; a folder ends with `/`.
pub fn is_path(path: &str) -> bool {
    let is_plain =
        |part: &str| !matches!(part, "" | "." | "..") && !part.chars().any(char::is_control);
    let parts = path.strip_suffix('/').unwrap_or(path);
    parts.split('/').all(is_plain) && !path.contains(['\\', ':'])
}

/// Tells whether some command could have made this change of the issue.
pub(super) fn can_be(id: &IssueId, change: &Change) -> bool {
    match change {
        Change::Title(text) | Change::Criterion(text) => is_line(text),
        Change::Milestone(Some(text)) | Change::Assignee(Some(text)) => is_line(text),
        Change::Description(text) => text.len() <= LONGEST_TEXT && !text.contains('\0'),
        Change::Kind(kind) => is_line(kind) && !kind.contains(['/', '\\']),
        Change::Priority(priority) => *priority <= LAST_PRIORITY,
        Change::Until(condition) => super::until::can_be(condition),
        Change::Link(link) => link.to != *id,
        Change::Score {
            scores: Some(scores),
            ..
        } => are_scores(*scores),
        Change::Solution(proposal) => is_proposal(proposal),
        _ => true,
    }
}

fn are_scores(scores: Scores) -> bool {
    let all = [scores.feasibility, scores.risk, scores.completeness];
    all.iter().all(|score| *score <= 100)
}

fn is_proposal(proposal: &Proposal) -> bool {
    let mut ids = proposal.ids();
    proposal.touched().iter().all(|file| is_path(&file.path))
        && ids.all(|id| !id.contains(['/', '\\']))
}
