//! A delta as data: domains, operations on requirements, operations on scenarios, and which of them contradict each
//! other. Made by `delta`, carried out by `operate`.

use super::model::{self, Requirement};
use super::words::{self, Language, OpKind};
use loopx_base::findings::{Finding, Notes};
use serde::Serialize;
use std::collections::HashMap;

/// Delta: the content of one delta file, or of a folder of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Delta {
    pub domains: Vec<DomainDelta>,
    /// Changes that have to be archived before this one.
    pub depends_on: Vec<String>,
    /// Permission to remove the last requirement of a domain, and the domain with it.
    pub retire: bool,
    /// Reason for which no requirement changes, where the delta gives one: a refactoring, a dependency, a build.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unchanged: Option<String>,
    pub findings: Vec<Finding>,
}

/// Operations of a delta on one domain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DomainDelta {
    /// Domain of the operations; absent in a file that names none: the caller knows it from the path.
    pub domain: Option<String>,
    pub file: String,
    pub language: Option<Language>,
    /// A new purpose.
    pub purpose: Option<model::Passage>,
    pub operations: Vec<Operation>,
}

/// Operation on a requirement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Operation {
    pub kind: OpKind,
    /// The name that the requirement has when the operation starts; for an addition its new name.
    /// A modification of what the same delta renames goes by the new name.
    pub name: String,
    /// The new name of a rename.
    pub to: Option<String>,
    pub line: usize,
    /// Reason for which the requirement goes, and what to do instead.
    pub reason: Option<String>,
    pub migration: Option<String>,
    /// Place that an addition wants: behind the requirement of this name.
    pub after: Option<String>,
    /// A modification that names what it changes and leaves the rest.
    pub patch: bool,
    pub scenarios: Vec<ScenarioOperation>,
    /// The block of an addition or modification.
    pub requirement: Option<Requirement>,
    /// Source of the block.
    #[serde(skip)]
    pub text: String,
}

/// Heading of a scenario in a modification. `op` is absent for a plain scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ScenarioOperation {
    pub op: Option<OpKind>,
    pub name: String,
    pub to: Option<String>,
    pub line: usize,
}

/// A requirement that a delta touches, by the name that it has in the base.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Touched {
    pub name: String,
    pub kind: OpKind,
}

impl Delta {
    pub fn domains(&self) -> impl Iterator<Item = &str> {
        self.domains.iter().filter_map(|one| one.domain.as_deref())
    }

    /// Joins another file in. A domain of both is one domain.
    pub fn join(&mut self, other: Delta) {
        let Delta {
            domains,
            depends_on,
            retire,
            unchanged,
            findings,
        } = other;
        for one in domains {
            match self.domains.iter_mut().find(|d| d.domain == one.domain) {
                Some(same) => {
                    same.purpose = same.purpose.take().or(one.purpose);
                    same.operations.extend(one.operations);
                }
                None => self.domains.push(one),
            }
        }
        for id in depends_on {
            if !self.depends_on.contains(&id) {
                self.depends_on.push(id);
            }
        }
        self.retire |= retire;
        self.unchanged = self.unchanged.take().or(unchanged);
        self.findings.extend(findings);
    }
}

impl DomainDelta {
    /// The operations of one kind.
    pub(crate) fn of_kind(&self, kind: OpKind) -> impl Iterator<Item = &Operation> {
        self.operations.iter().filter(move |op| op.kind == kind)
    }

    /// Operations of one delta that contradict each other.
    pub fn clashes(&self, notes: &mut Notes<'_>) {
        let mut from: HashMap<String, usize> = HashMap::new();
        let mut to: HashMap<String, usize> = HashMap::new();
        let mut named: HashMap<String, (OpKind, usize)> = HashMap::new();
        let twice = |notes: &mut Notes<'_>, name: &str, first: usize, line: usize| {
            notes.error(
                "duplicate_operation",
                line,
                format!("`{name}` is named by two operations, on lines {first} and {line}"),
                "say in one operation what happens to it",
            );
        };
        for op in self.of_kind(OpKind::Renamed) {
            let new = op.to.as_deref().unwrap_or_default();
            for (map, name) in [(&mut from, op.name.as_str()), (&mut to, new)] {
                if let Some(first) = map.insert(words::fold(name), op.line) {
                    twice(notes, name, first, op.line);
                }
            }
        }
        for op in self.operations.iter().filter(|o| o.kind != OpKind::Renamed) {
            let key = words::fold(&op.name);
            if let Some((_, first)) = named.insert(key.clone(), (op.kind, op.line)) {
                twice(notes, &op.name, first, op.line);
                continue;
            }
            let (is_from, is_to) = (from.get(&key), to.get(&key));
            match (op.kind, is_from, is_to) {
                (OpKind::Added, _, Some(first)) | (OpKind::Removed, Some(first), _) => {
                    twice(notes, &op.name, *first, op.line);
                }
                (OpKind::Modified, Some(_), None) => notes.error(
                    "modified_old_name",
                    op.line,
                    format!("`{}` is renamed in this delta", op.name),
                    "modify it under its new name",
                ),
                _ => {}
            }
        }
    }

    /// Requirements for which a caller has to record bases.
    pub fn touched(&self) -> Vec<Touched> {
        let renamed: HashMap<String, &str> = self
            .operations
            .iter()
            .filter_map(|op| Some((words::fold(op.to.as_deref()?), op.name.as_str())))
            .collect();
        self.operations
            .iter()
            .map(|op| {
                let old = match op.kind {
                    OpKind::Modified => renamed.get(&words::fold(&op.name)).copied(),
                    _ => None,
                };
                Touched {
                    name: old.unwrap_or(&op.name).to_owned(),
                    kind: op.kind,
                }
            })
            .collect()
    }
}
