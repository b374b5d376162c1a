//! The report of what pipelines of a session came to, as a document for people. What it says is gathered elsewhere; here
//! it is put into words, the same for the same facts.

use super::debt::Debt;
use super::node::TaskId;
use super::status::Status;
use loopx_base::clean;
use serde::Serialize;
use std::fmt::Write as _;

/// The results of pipelines.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub session: String,
    pub title: String,
    pub pipelines: Vec<String>,
    pub counts: Counts,
    /// Seconds from the first claim to the last completion.
    pub seconds: Option<i64>,
    pub phases: Vec<Phase>,
    pub verdicts: Vec<Given>,
    /// Notes where views did not agree, or where something was accepted with warnings.
    pub notes: Vec<String>,
    /// Work that completed tasks left undone.
    pub left: Vec<Debt>,
    pub learned: Vec<String>,
}

/// Counts of the tasks that somebody does, by what they came to.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Counts {
    pub total: usize,
    pub completed: usize,
    /// Number of the completed tasks that left a part.
    pub partial: usize,
    pub failed: usize,
    pub skipped: usize,
    /// Number of tasks that gates inserted.
    pub inserted: usize,
    /// Share of the tasks that are completed, of 100.
    pub percent: usize,
}

/// A part of a pipeline.
#[derive(Clone, Debug, Serialize)]
pub struct Phase {
    pub phase: String,
    pub tasks: Vec<Row>,
}

/// Task with what it left.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    pub task: TaskId,
    pub title: String,
    pub role: Option<String>,
    pub status: Status,
    pub summary: Option<String>,
    pub partial: Option<String>,
    pub files: Vec<Left>,
}

/// A file that a task leaves.
#[derive(Clone, Debug, Serialize)]
pub struct Left {
    pub path: String,
    pub present: bool,
    /// The place beside the report, where it is copied there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copy: Option<String>,
}

/// Verdict that counts.
#[derive(Clone, Debug, Serialize)]
pub struct Given {
    pub gate: TaskId,
    pub title: String,
    pub standing: String,
    pub score: Option<String>,
    pub reason: Option<String>,
}

impl Report {
    /// The files that should be there and are not, each with its task.
    pub fn missing(&self) -> impl Iterator<Item = (&TaskId, &str)> {
        let rows = self.phases.iter().flat_map(|phase| &phase.tasks);
        rows.flat_map(|row| {
            let files = row.files.iter().filter(|file| !file.present);
            files.map(|file| (&row.task, file.path.as_str()))
        })
    }

    /// The document.
    pub fn markdown(&self) -> String {
        let mut out = format!("# {}\n\n", plain(&self.title));
        let Counts {
            total,
            completed,
            partial,
            failed,
            skipped,
            inserted,
            percent,
        } = self.counts;
        let _ = writeln!(out, "- Session: {}", plain(&self.session));
        let _ = writeln!(out, "- Pipelines: {}", plain(&self.pipelines.join(", ")));
        let _ = writeln!(
            out,
            "- Tasks: {completed} of {total} completed ({percent}%)"
        );
        for (count, what) in [
            (partial, "completed in part"),
            (failed, "failed"),
            (skipped, "skipped"),
            (inserted, "inserted by gates"),
        ] {
            if count > 0 {
                let _ = writeln!(out, "- {count} {what}");
            }
        }
        if let Some(seconds) = self.seconds {
            let _ = writeln!(
                out,
                "- Time: {seconds} s from the first claim to the last completion"
            );
        }
        for phase in &self.phases {
            of_phase(phase, &mut out);
        }
        self.rest(&mut out);
        // Whoever prints the file to a terminal is driven by no title in it.
        clean(&out)
    }

    fn rest(&self, out: &mut String) {
        let verdicts = self.verdicts.iter().map(|one| {
            let mut said = format!("{} ({}): {}", one.gate, plain(&one.title), one.standing);
            if let Some(score) = &one.score {
                let _ = write!(said, ", score {}", plain(score));
            }
            if let Some(reason) = &one.reason {
                let _ = write!(said, ": {}", plain(reason));
            }
            said
        });
        list("Verdicts", verdicts, out);
        list("Notes", self.notes.iter().map(|note| plain(note)), out);
        let left = self
            .left
            .iter()
            .map(|debt| format!("{}, {}: {}", debt.task, debt.kind, plain(&debt.text)));
        list("Left undone", left, out);
        list("Learned", self.learned.iter().map(|note| plain(note)), out);
    }
}

fn of_phase(phase: &Phase, out: &mut String) {
    let name = if phase.phase.is_empty() {
        "Tasks"
    } else {
        &phase.phase
    };
    let _ = writeln!(out, "\n## {}\n", plain(name));
    for row in &phase.tasks {
        let role = row.role.as_deref().map(|role| format!(", {}", plain(role)));
        let role = role.unwrap_or_default();
        let (task, status) = (&row.task, row.status);
        let _ = writeln!(out, "- {task}: {} ({status}{role})", plain(&row.title));
        for text in row.summary.iter() {
            let _ = writeln!(out, "  - {}", plain(text));
        }
        for text in row.partial.iter() {
            let _ = writeln!(out, "  - not done: {}", plain(text));
        }
        for file in &row.files {
            let path = plain(&file.path);
            let _ = match (&file.copy, file.present) {
                (Some(copy), _) => writeln!(out, "  - [{path}](<{copy}>)"),
                (None, true) => writeln!(out, "  - {path}"),
                (None, false) => writeln!(out, "  - {path}: missing"),
            };
        }
    }
}

fn list(title: &str, rows: impl Iterator<Item = String>, out: &mut String) {
    let mut rows = rows.peekable();
    if rows.peek().is_none() {
        return;
    }
    let _ = writeln!(out, "\n## {title}\n");
    for row in rows {
        let _ = writeln!(out, "- {row}");
    }
}

/// Words of others on one line, which end no paragraph and begin no other one.
fn plain(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").replace(['<', '[', '`'], "'")
}

#[cfg(test)]
mod tests {
    use super::{Counts, Given, Left, Phase, Report, Row};
    use crate::task::node::TaskId;
    use crate::task::status::Status;

    fn id(text: &str) -> TaskId {
        TaskId::parse(text).expect("an id")
    }

    #[test]
    fn team_b6_a_report_has_counts_files_by_phase_and_what_is_missing() {
        let file = |path: &str, present, copy: Option<&str>| Left {
            path: path.to_owned(),
            present,
            copy: copy.map(str::to_owned),
        };
        let report = Report {
            session: "notes".to_owned(),
            title: "A note\n# app <b>\u{1b}]0;x\u{7}".to_owned(),
            pipelines: vec!["spec-only".to_owned()],
            counts: Counts {
                total: 2,
                completed: 1,
                failed: 1,
                percent: 50,
                ..Counts::default()
            },
            seconds: Some(90),
            phases: vec![Phase {
                phase: "spec".to_owned(),
                tasks: vec![Row {
                    task: id("DRAFT-001"),
                    title: "Brief".to_owned(),
                    role: Some("writer".to_owned()),
                    status: Status::Completed,
                    summary: Some("two\nlines".to_owned()),
                    partial: None,
                    files: vec![
                        file("tasks/DRAFT-001/b.md", true, Some("spec/DRAFT-001/b.md")),
                        file("src/x", true, None),
                        file("tasks/DRAFT-001/gone.md", false, None),
                    ],
                }],
            }],
            verdicts: vec![Given {
                gate: id("DISCUSS-002"),
                title: "Discuss".to_owned(),
                standing: "proceed".to_owned(),
                score: None,
                reason: Some("they agree".to_owned()),
            }],
            notes: vec!["DISCUSS-002: medium".to_owned()],
            left: Vec::new(),
            learned: Vec::new(),
        };
        let wanted = "# A note # app 'b>^[]0;x^G\n\n- Session: notes\n- Pipelines: spec-only\n- Tasks: 1 of 2 completed (50%)\n- 1 failed\n- Time: 90 s from the first claim to the last completion\n\n## spec\n\n- DRAFT-001: Brief (completed, writer)\n  - two lines\n  - [tasks/DRAFT-001/b.md](<spec/DRAFT-001/b.md>)\n  - src/x\n  - tasks/DRAFT-001/gone.md: missing\n\n## Verdicts\n\n- DISCUSS-002 (Discuss): proceed: they agree\n\n## Notes\n\n- DISCUSS-002: medium\n";
        assert_eq!(report.markdown(), wanted);
        let missing: Vec<&str> = report.missing().map(|(_, path)| path).collect();
        assert_eq!(missing, ["tasks/DRAFT-001/gone.md"]);
    }
}
