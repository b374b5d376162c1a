//! A way to do an issue, as somebody proposes it, and what its audit says: values follow from what the solution names
//! and from what the code has. No model is asked, and nothing of an audit is stored but the values that a person gives.

use super::Source;
use loopx_base::id::{OpId, Person};
use loopx_base::vocabulary::vocabulary;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Number of times that a rejected solution may be mended before a person decides.
pub const MENDS: usize = 2;

vocabulary!(
    /// Action of a solution on a file.
    Action {
        Modify = "modify",
        Create = "create",
        Delete = "delete",
    }
);

/// A file that a solution touches.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a file like {\"path\": \"a.txt\", \"action\": \"modify\"}"
)]
pub struct Touched {
    /// Path from the top of the repository; a folder ends with `/`.
    pub path: String,
    #[serde(default = "modify")]
    pub action: Action,
}

fn modify() -> Action {
    Action::Modify
}

/// A way to do an issue. A proposal never changes: another one takes its place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    default,
    deny_unknown_fields,
    expecting = "a document with `approach`, `tasks` and `files`"
)]
pub struct Proposal {
    /// Name by which people call the solution.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    pub approach: String,
    /// Lines of `tasks.jsonl`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Touched>,
    /// Rejected solution that this one mends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mends: Option<OpId>,
    /// Origin of a solution that an import brought. Of clones that brought the same apart each has it, and it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Source>,
}

/// A solution that comes with its issue.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Way {
    pub proposal: Proposal,
    pub bound: bool,
    /// Reason why the solution was rejected, where it was.
    pub rejected: Option<String>,
    /// Place of the solution that this one mends, among those before it.
    pub mends: Option<usize>,
}

impl Proposal {
    /// Files that the solution names, and those that its tasks name, each once.
    pub fn touched(&self) -> Vec<Touched> {
        let mut found: BTreeSet<Touched> = self.files.iter().cloned().collect();
        for task in &self.tasks {
            for file in task["files"].as_array().into_iter().flatten() {
                let (path, action) = match file {
                    Value::String(path) => (path.as_str(), "modify"),
                    file => (
                        file["path"].as_str().unwrap_or_default(),
                        file["action"].as_str().unwrap_or("modify"),
                    ),
                };
                let is_named = found.iter().any(|one| one.path == path);
                if path.is_empty() || action == "read" || is_named {
                    continue;
                }
                found.insert(Touched {
                    path: path.to_owned(),
                    action: action.parse().unwrap_or(Action::Modify),
                });
            }
        }
        found.into_iter().collect()
    }

    /// Files that the solution names, and none of its tasks does: they are those of the task that names none. Where
    /// several name none, nobody knows whose they are. A folder is of the solution alone: a task names files.
    fn own_files(&self) -> Vec<Value> {
        if self.tasks.iter().filter(|task| names_no_file(task)).count() != 1 {
            return Vec::new();
        }
        let files = |task: &Value| task["files"].as_array().cloned().unwrap_or_default();
        let path = |file: &Value| match file {
            Value::String(path) => path.clone(),
            file => file["path"].as_str().unwrap_or_default().to_owned(),
        };
        let named = self.tasks.iter().flat_map(files);
        let named: BTreeSet<String> = named.map(|file| path(&file)).collect();
        let is_own = |file: &&Touched| !named.contains(&file.path) && !file.path.ends_with('/');
        let own = self.files.iter().filter(is_own);
        own.map(|file| json!({ "path": file.path, "action": file.action }))
            .collect()
    }

    /// Tasks of the solution as lines of `tasks.jsonl`; with a text before each id where another list has some of them.
    pub fn lines(&self, prefix: &str) -> Vec<String> {
        let renamed = |value: &Value| match value {
            Value::String(id) => json!(format!("{prefix}{id}")),
            other => other.clone(),
        };
        let own = self.own_files();
        let line = |task: &Value| {
            let mut task = task.clone();
            if names_no_file(&task) && !own.is_empty() {
                task["files"] = json!(own);
            }
            if !prefix.is_empty() {
                task["id"] = renamed(&task["id"]);
                for edge in task["depends_on"].as_array_mut().into_iter().flatten() {
                    match edge {
                        Value::Object(edge) => {
                            let id = edge.get("id").map(renamed);
                            edge.extend(id.map(|id| ("id".to_owned(), id)));
                        }
                        edge => *edge = renamed(edge),
                    }
                }
            }
            task.to_string()
        };
        self.tasks.iter().map(line).collect()
    }

    /// Ids of the solution's tasks.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.tasks.iter().filter_map(|task| task["id"].as_str())
    }
}

fn names_no_file(task: &Value) -> bool {
    task["files"].as_array().is_none_or(Vec::is_empty)
}

/// Values of an audit, each of 100.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scores {
    pub feasibility: u8,
    pub risk: u8,
    pub completeness: u8,
}

impl Scores {
    /// Score of the whole: four parts feasibility, three parts risk and three parts completeness, rounded.
    pub fn total(self) -> u8 {
        let [f, r, c] = [self.feasibility, self.risk, self.completeness].map(u16::from);
        u8::try_from((4 * f + 3 * r + 3 * c + 5) / 10).unwrap_or(u8::MAX)
    }

    pub fn verdict(self) -> Verdict {
        match self.total() {
            80.. => Verdict::Approved,
            60..80 => Verdict::Concerns,
            _ => Verdict::Rejected,
        }
    }
}

vocabulary!(
    /// Verdict of an audit; the worse is the greater.
    Verdict {
        Approved = "approved",
        /// Doubts: the solution goes on, and whoever goes on knows.
        Concerns = "concerns",
        Rejected = "rejected",
    }
);

/// Dimension of an audit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Dimension {
    pub score: u8,
    pub findings: Vec<String>,
}

/// Result of the audit of a solution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Audit {
    pub total_score: u8,
    pub verdict: Verdict,
    pub feasibility: Dimension,
    pub risk: Dimension,
    pub completeness: Dimension,
    /// Person who gave the values, where they were not computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// Facts that an audit looks at beside the solution.
#[derive(Clone, Debug, Default)]
pub struct Ground {
    /// The files that the sessions of the issue changed; nothing where none has begun.
    pub changed: Option<Vec<String>>,
    /// Files that the solution changes or deletes, and the code does not have.
    pub missing: Vec<String>,
}

/// Tells whether a path that somebody named stands for another one: the same path, or a folder that the other is in.
pub fn covers(named: &str, path: &str) -> bool {
    let folder = named.strip_suffix('/');
    named == path
        || folder.is_some_and(|folder| {
            path.strip_prefix(folder)
                .is_some_and(|rest| rest.starts_with('/'))
        })
}

/// The audit of a proposal.
pub fn audit(proposal: &Proposal, ground: &Ground) -> Audit {
    let touched = proposal.touched();
    let feasibility = feasibility(&touched, ground);
    let tasks = proposal.tasks.len();
    let risk = match tasks {
        0..=10 => Dimension {
            score: 90,
            findings: Vec::new(),
        },
        _ => Dimension {
            score: 50,
            findings: vec![format!("it has {tasks} tasks, more than 10")],
        },
    };
    let completeness = match tasks {
        0 => Dimension {
            score: 30,
            findings: vec!["it has no task".to_owned()],
        },
        _ => Dimension {
            score: 85,
            findings: Vec::new(),
        },
    };
    let scores = Scores {
        feasibility: feasibility.score,
        risk: risk.score,
        completeness: completeness.score,
    };
    Audit {
        total_score: scores.total(),
        verdict: scores.verdict(),
        feasibility,
        risk,
        completeness,
        by: None,
    }
}

/// Feasibility: 100 where everything that was changed is named, 15 less for each file that is not, at least 40. Where
/// more than half of the named files are not in the code, 10 less, but not below 50 by that. 70 where nothing was
/// changed yet.
fn feasibility(touched: &[Touched], ground: &Ground) -> Dimension {
    let mut findings = Vec::new();
    let mut score = match &ground.changed {
        None => {
            findings.push(
                "no session changed anything for the issue yet: the files of the solution are compared with none".to_owned(),
            );
            70
        }
        Some(changed) => {
            let is_covered = |path: &&String| touched.iter().any(|one| covers(&one.path, path));
            let left: Vec<&String> = changed.iter().filter(|path| !is_covered(path)).collect();
            findings.extend(
                left.iter()
                    .map(|path| format!("{path} was changed, and the solution does not name it")),
            );
            100_usize.saturating_sub(15 * left.len()).max(40)
        }
    };
    let old = touched
        .iter()
        .filter(|one| one.action != Action::Create)
        .count();
    if 2 * ground.missing.len() > old {
        // The floor takes nothing back that was taken off before.
        score = score.min(score.saturating_sub(10).max(50));
        findings.push(format!(
            "{} of {old} files that it changes are not in the code: {}",
            ground.missing.len(),
            ground.missing.join(", ")
        ));
    }
    Dimension {
        score: u8::try_from(score).unwrap_or(100),
        findings,
    }
}

/// The values that somebody gave, as an audit.
pub fn given(scored: &Scored) -> Audit {
    let of = |score| Dimension {
        score,
        findings: scored.reason.iter().cloned().collect(),
    };
    let plain = |score| Dimension {
        score,
        findings: Vec::new(),
    };
    Audit {
        total_score: scored.scores.total(),
        verdict: scored.scores.verdict(),
        feasibility: of(scored.scores.feasibility),
        risk: plain(scored.scores.risk),
        completeness: plain(scored.scores.completeness),
        by: Some(scored.by.name.clone()),
    }
}

/// Values that somebody gave a solution, in place of what would be computed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scored {
    #[serde(flatten)]
    pub scores: Scores,
    pub by: Person,
    pub at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Rejection of a solution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rejected {
    pub by: Person,
    pub at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Failure of work by a solution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    pub solution: OpId,
    pub by: Person,
    pub at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A solution as the records of its issue give it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Solution {
    /// Record that has the solution: what no other solution has, whatever its name.
    pub op: OpId,
    pub by: Person,
    pub at: String,
    #[serde(flatten)]
    pub proposal: Proposal,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scored: Option<Scored>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejected: Option<Rejected>,
}

/// Facts of the bound solution that lists and the queue need.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bound {
    pub solution: OpId,
    pub name: String,
    pub tasks: usize,
    pub files: Vec<Touched>,
    /// Set when work by the solution failed, and nobody said since that it is to be tried again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
}

/// Number of rejected solutions, one behind the other, that this one mends.
pub fn depth(all: &[Solution], solution: &Solution) -> usize {
    let mut seen = vec![&solution.op];
    let mut next = solution.proposal.mends.as_ref();
    while let Some(op) = next {
        let Some(other) = all.iter().find(|one| one.op == *op) else {
            break;
        };
        if seen.contains(&&other.op) {
            break;
        }
        seen.push(&other.op);
        next = other.proposal.mends.as_ref();
    }
    seen.len() - 1
}

/// A rejected solution that was mended as often as that may be, where no other one stands: a person decides.
pub fn exhausted(all: &[Solution]) -> Option<&Solution> {
    let is_spent = |one: &&Solution| one.rejected.is_some() && depth(all, one) >= MENDS;
    if all.iter().any(|one| one.rejected.is_none()) {
        None
    } else {
        all.iter().find(is_spent)
    }
}

#[cfg(test)]
mod tests;
