//! The findings about what a plan rests on: notes on its angles, and its header. All of them are warnings.

use super::explore::Explored;
use super::header;
use crate::artifact::Artifact;
use loopx_base::hint::{Hint, command};
use loopx_base::id::Oid;
use loopx_spec::{Finding, Known, Severity};

const WARNING: &[Severity] = &[Severity::Warning];

/// Findings of an outline, by id.
pub const FINDINGS: &[Known] = &[
    Known {
        id: "exploration_file_missing",
        severities: WARNING,
        meaning: "a note on an angle names a file, or a line of one, that the code does not have",
        fix: "look at the code again, and write a new note",
    },
    Known {
        id: "exploration_stale",
        severities: WARNING,
        meaning: "a note on an angle was written for other code",
        fix: "look at the code again, and write a new note",
    },
    Known {
        id: "plan_markers_damaged",
        severities: WARNING,
        meaning: "the markers of the header of plan.md are not one pair above the first section, so the header is not written",
        fix: "write both markers, each on a line of its own, above the first section",
    },
];

fn found(id: &'static str, file: &str, line: usize, message: String, fix: Hint) -> Finding {
    Finding::new(Severity::Warning, id, file, line, message, fix)
}

/// Findings about the notes on angles, and about the header of the plan. A note's line is the number of its record.
pub fn findings(notes: &[Explored], now: Option<&Oid>, plan: Option<&str>) -> Vec<Finding> {
    let mut all = Vec::new();
    for note in notes {
        let line = usize::try_from(note.seq).unwrap_or(usize::MAX);
        let again = || command!("note --angle {} TEXT", note.angle);
        let missing = note.references.iter().filter(|one| !one.verified);
        all.extend(missing.map(|one| {
            let what = format!("{}: `{}` is not in the code", note.angle, one.place());
            found("exploration_file_missing", "note", line, what, again())
        }));
        if note.stale {
            let short = |tree: Option<&Oid>| {
                tree.map_or("no tree".to_owned(), |tree| {
                    format!("tree {}", tree.short())
                })
            };
            let what = format!(
                "{}: written for {}, the code is at {}",
                note.angle,
                short(note.tree.as_ref()),
                short(now)
            );
            all.push(found("exploration_stale", "note", line, what, again()));
        }
    }
    if let Some(Err(damage)) = plan.map(header::place) {
        let path = Artifact::Plan.path();
        let what = format!("{}; nothing is written between them", damage.message);
        all.push(found(
            "plan_markers_damaged",
            path,
            damage.line,
            what,
            command!("edit {path}"),
        ));
    }
    all
}
