//! The context manifest: what a stage or a task has to read, in which order and why. Computed on every reading, never
//! stored (design 12; reference stage-runtime, 14).
//!
//! This module owns the rows of artifacts, the order and the limit. What stands in the repository, its caller knows.

use super::artifact::Artifact;
use super::profile::Profile;
use super::session::State;
use super::stage::{Stage, Transition};
use super::task::node::Node;
use loopx_base::failure::{Blocker, Code};
use loopx_base::hint::Hint;
use serde::Serialize;
use std::collections::BTreeMap;

/// Number of rows that a manifest has at most.
pub const MOST: usize = 80;

/// Row of a manifest: something to read at a stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    pub stage: Stage,
    pub kind: &'static str,
    pub path: String,
    /// Reason for reading; several reasons of one row stand one behind the other.
    pub reason: String,
    /// Lower is read first.
    pub priority: u32,
    /// Set when the stage cannot do without the file.
    pub required: bool,
    pub exists: bool,
    /// The content, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blob: Option<String>,
    /// The task that asks for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
}

impl Row {
    pub fn new(stage: Stage, kind: &'static str, path: impl Into<String>, priority: u32) -> Self {
        Row {
            stage,
            kind,
            path: path.into(),
            reason: String::new(),
            priority,
            required: false,
            exists: true,
            blob: None,
            task: None,
        }
    }

    #[must_use]
    pub fn because(mut self, reason: impl Into<String>) -> Self {
        self.reason = reason.into();
        self
    }

    pub fn is_missing(&self) -> bool {
        self.required && !self.exists
    }
}

/// The rows of a stage, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Manifest {
    pub rows: Vec<Row>,
    /// Number of rows that did not fit.
    pub left_out: usize,
}

/// Merges rows into one of each kind and path: reasons come together, the lowest priority counts, and required wins.
/// Rows that do not fit are left out: those that are read last and not required.
pub fn settle(rows: Vec<Row>) -> Manifest {
    let mut by_key: BTreeMap<(Stage, &'static str, String), Row> = BTreeMap::new();
    for row in rows {
        let key = (row.stage, row.kind, row.path.clone());
        match by_key.get_mut(&key) {
            None => drop(by_key.insert(key, row)),
            Some(known) => {
                let mut reasons: Vec<&str> = known.reason.split("; ").collect();
                reasons.push(&row.reason);
                reasons.retain(|reason| !reason.is_empty());
                reasons.sort_unstable();
                reasons.dedup();
                known.reason = reasons.join("; ");
                known.priority = known.priority.min(row.priority);
                known.required |= row.required;
                known.exists &= row.exists;
            }
        }
    }
    let mut rows: Vec<Row> = by_key.into_values().collect();
    let left_out = rows.len().saturating_sub(MOST);
    if left_out > 0 {
        rows.sort_by_key(|row| (!row.required, row.priority));
        rows.truncate(MOST);
    }
    rows.sort_by(|one, other| {
        let key = |row: &Row| (row.priority, row.stage, row.kind, row.path.clone());
        key(one).cmp(&key(other))
    });
    Manifest { rows, left_out }
}

/// Files of the session that are read at each stage: kind, artifact, priority.
const OF_PLAN: [(&str, Artifact, u32); 3] = [
    ("intent", Artifact::Intent, 5),
    ("spec", Artifact::Spec, 10),
    ("brief", Artifact::Brief, 12),
];
const OF_BUILD: [(&str, Artifact, u32); 11] = [
    ("spec", Artifact::Spec, 10),
    ("brief", Artifact::Brief, 12),
    ("plan", Artifact::Plan, 20),
    ("architecture", Artifact::Architecture, 21),
    ("development-plan", Artifact::DevelopmentPlan, 22),
    ("test-plan", Artifact::TestPlan, 23),
    ("spec-delta", Artifact::SpecDelta, 30),
    ("design", Artifact::Design, 31),
    ("vertical-slices", Artifact::Slices, 32),
    ("tasks", Artifact::TaskList, 32),
    ("review-rework", Artifact::ReviewReport, 33),
];
const OF_REVIEW: [(&str, Artifact, u32); 6] = [
    ("execution-record", Artifact::ExecutionRecord, 10),
    ("test-plan", Artifact::TestPlan, 20),
    ("plan", Artifact::Plan, 21),
    ("vertical-slices", Artifact::Slices, 22),
    ("spec-delta", Artifact::SpecDelta, 24),
    ("intent", Artifact::Intent, 40),
];

/// The rows of the session's own files. Those that an earlier stage of the profile wrote are required; the review's
/// report is, where the build mends what it found.
pub fn artifacts(stage: Stage, state: &State, profile: &Profile) -> Vec<Row> {
    let asked: &[(&'static str, Artifact, u32)] = match stage {
        Stage::Clarify => &OF_PLAN[..1],
        Stage::Plan => &OF_PLAN,
        Stage::Build => &OF_BUILD,
        Stage::Review | Stage::Done => &OF_REVIEW,
    };
    let is_rework = matches!(
        state.last_transition,
        Some(Transition::ReviewToBuild | Transition::ReviewToPlan)
    );
    let mut rows = Vec::new();
    for (kind, artifact, priority) in asked {
        let blob = state.artifacts.get(artifact);
        let required = match artifact {
            Artifact::Intent => stage != Stage::Review,
            Artifact::ReviewReport => is_rework && profile.files.contains(artifact),
            other => profile.files.contains(other),
        };
        // A report of an earlier review is read again only to mend what it found.
        let is_old = *artifact == Artifact::ReviewReport && !is_rework;
        if is_old || (blob.is_none() && !required) {
            continue;
        }
        let mut row = Row::new(stage, kind, artifact.path(), *priority).because(reason(kind));
        row.required = required;
        row.exists = blob.is_some();
        row.blob = blob.map(ToString::to_string);
        rows.push(row);
    }
    rows
}

fn reason(kind: &str) -> &'static str {
    match kind {
        "intent" => "what was asked for",
        "spec" => "what is wanted, and what is not",
        "brief" => "why and what",
        "plan" => "how it is done",
        "architecture" => "what it is made of",
        "development-plan" => "in which steps",
        "test-plan" => "how it is shown to work",
        "spec-delta" => "what the specs become",
        "design" => "what was decided",
        "vertical-slices" | "tasks" => "the tasks, with their checks",
        "review-rework" => "what the review wants mended",
        _ => "what was done, with the evidence",
    }
}

/// The files that tasks say have to be read, each with whoever makes it: a file that a task writes is there in time.
/// Patterns name no file.
pub fn task_reads(nodes: &[Node], only: Option<&str>, exists: &dyn Fn(&str) -> bool) -> Vec<Row> {
    let made = |path: &str| {
        let of = |node: &Node| {
            let outputs = node.outputs.iter().map(String::as_str);
            node.own_files().chain(outputs).any(|own| own == path)
        };
        nodes.iter().any(of)
    };
    let mut rows = Vec::new();
    for node in nodes {
        if only.is_some_and(|only| !node.id.as_str().eq_ignore_ascii_case(only)) {
            continue;
        }
        for (paths, required) in [(&node.reads, true), (&node.deferred, false)] {
            for path in paths {
                let is_pattern = path.contains(['*', '?', '[']);
                let mut row = Row::new(Stage::Build, "task-read", path.as_str(), 15);
                row.reason = format!("{} has to read it", node.id);
                row.required = required && !is_pattern;
                row.exists = !leads_out(path) && (is_pattern || exists(path) || made(path));
                row.task = Some(node.id.to_string());
                if !required {
                    row.priority = 45;
                    row.reason = format!("{} may have to read it", node.id);
                }
                rows.push(row);
            }
        }
    }
    rows
}

/// Tells whether a path leads out of the repository, or into git's own folder: nothing there is of the repository.
fn leads_out(path: &str) -> bool {
    let is_out = |part: &str| part == ".." || part.eq_ignore_ascii_case(".git");
    path.starts_with(['/', '\\']) || path.split(['/', '\\']).any(is_out)
}

/// Blockers of a stage: rows that it cannot do without and that are not there.
pub fn blockers(rows: &[Row], help: &dyn Fn(&Row) -> Hint) -> Vec<Blocker> {
    let missing = rows.iter().filter(|row| row.is_missing());
    missing
        .map(|row| {
            Blocker::new(
                Code::MissingRequiredContext,
                format!(
                    "{} has to be read at {} and is not there ({}: {})",
                    row.path, row.stage, row.kind, row.reason
                ),
                help(row),
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{MOST, Row, leads_out, settle};
    use crate::stage::Stage;

    #[test]
    fn what_leads_out_of_the_repository_or_into_git_is_not_in_it() {
        for path in [
            "../a",
            "a/../../b",
            "/etc/passwd",
            ".git/config",
            "a/.GIT/x",
            "..\\a",
        ] {
            assert!(leads_out(path), "{path}");
        }
        for path in ["a", "a/b.rs", ".gitignore", ".github/x", "a..b", "src/*.rs"] {
            assert!(!leads_out(path), "{path}");
        }
    }

    #[test]
    fn one_row_for_a_path_and_the_required_ones_always_fit() {
        let row = |path: &str, priority| Row::new(Stage::Build, "rule", path, priority);
        let mut must = row("a.md", 40).because("b");
        must.required = true;
        let found = settle(vec![row("a.md", 37).because("a"), must, row("z.md", 1)]);
        assert_eq!(found.rows.len(), 2);
        assert_eq!(found.rows[0].path, "z.md");
        let a = &found.rows[1];
        assert_eq!(
            (a.reason.as_str(), a.priority, a.required),
            ("a; b", 37, true)
        );
        let mut many: Vec<Row> = (0..200).map(|n| row(&format!("{n}.md"), n)).collect();
        many[199].required = true;
        let found = settle(many);
        assert_eq!((found.rows.len(), found.left_out), (MOST, 120));
        assert_eq!(found.rows[MOST - 1].path, "199.md");
    }
}
