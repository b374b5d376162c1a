//! The specification package: a product brief, requirements, an architecture, stories and a readiness report, as
//! documents that are read, checked, traced and made into a delta. A document stands in one file, or its items (a
//! requirement, a decision, an epic) have files of their own in a folder of its name.
//!
//! This module owns how the documents are written and what they come to. It knows no session and no files: texts with
//! their labels go in.

mod block;
mod check;
mod criterion;
mod delta;
mod finding;
mod matrix;
mod quality;
mod read;
#[cfg(test)]
mod tests;

pub use check::check;
pub use criterion::{Criterion, Step};
pub use delta::{LeftOut, Made, SpecKnown, delta};
pub use finding::FINDINGS;
pub use matrix::{Row, Trace, matrix};
pub use quality::{Quality, Verdict, quality};
pub use read::read;

use loopx_base::vocabulary::vocabulary;
use loopx_spec::Finding;
use serde::Serialize;
use std::collections::BTreeMap;

vocabulary!(
    /// A document of the package.
    Document {
        ProductBrief = "product-brief",
        Requirements = "requirements",
        Architecture = "architecture",
        Epics = "epics",
        ReadinessReport = "readiness-report",
    }
);

impl Document {
    /// The document that a path belongs to, and which part of it stands there.
    pub fn of_path(path: &str) -> Option<(Self, Part)> {
        let mut names = path.rsplit('/');
        let name = names.next()?.strip_suffix(".md")?;
        if let Ok(document) = name.parse() {
            return Some((document, Part::Whole));
        }
        let document: Document = names.next()?.parse().ok()?;
        if INDEXES.contains(&name) {
            return Some((document, Part::Whole));
        }
        let mut beginnings = document.beginnings().iter();
        let is_item = beginnings.any(|beginning| name.starts_with(beginning));
        let part = if is_item { Part::Item } else { Part::Other };
        Some((document, part))
    }

    /// Beginnings of the ids of items that may have files of their own.
    fn beginnings(self) -> &'static [&'static str] {
        match self {
            Document::Requirements => &["REQ-", "NFR-"],
            Document::Architecture => &["ADR-"],
            Document::Epics => &["EPIC-"],
            Document::ProductBrief | Document::ReadinessReport => &[],
        }
    }

    pub fn file_name(self) -> String {
        format!("{self}.md")
    }

    /// The text before anybody wrote in it. Guidance and examples stand in comments.
    pub fn template(self) -> &'static str {
        match self {
            Document::ProductBrief => include_str!("templates/product-brief.md"),
            Document::Requirements => include_str!("templates/requirements.md"),
            Document::Architecture => include_str!("templates/architecture.md"),
            Document::Epics => include_str!("templates/epics.md"),
            Document::ReadinessReport => include_str!("templates/readiness-report.md"),
        }
    }

    /// The level-2 sections that have to hold something.
    pub(crate) fn sections(self) -> &'static [&'static str] {
        match self {
            Document::ProductBrief => &[
                "Problem",
                "Users",
                "Goals",
                "In scope",
                "Out of scope",
                "Assumptions",
            ],
            Document::Requirements => &["Functional requirements", "Quality requirements"],
            Document::Architecture => &["Structure", "Decisions", "Risks"],
            Document::Epics => &[],
            Document::ReadinessReport => &["Verdict"],
        }
    }
}

/// The names of a file that has what stands above the items of its folder.
const INDEXES: [&str; 3] = ["index", "_index", "README"];

/// Part of a document that a file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Document as a whole, or what stands above its items: `requirements.md`, `requirements/index.md`.
    Whole,
    /// Item of the document: `requirements/REQ-001-idle-timeout.md`.
    Item,
    /// A text in the folder of a document whose name says no item: nothing is read from it.
    Other,
}

vocabulary!(
    /// Priority of a requirement, by MoSCoW.
    Priority {
        Must = "must",
        Should = "should",
        Could = "could",
        Wont = "wont",
    }
);

/// A document as it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Name of the document in findings.
    pub label: String,
    pub text: String,
}

/// The documents among some files, by their names. Of two of one name nobody says which is meant: that is a finding.
pub fn gather(files: impl IntoIterator<Item = Source>) -> (Sources, Vec<Finding>) {
    let mut sources = Sources::default();
    let mut findings = finding::Findings::default();
    for source in files {
        match Document::of_path(&source.label) {
            Some((document, Part::Item)) => sources.items.push((document, source)),
            Some((document, Part::Whole)) => match sources.whole.get(&document) {
                Some(known) => {
                    let message = format!("{} is there already", known.label);
                    findings.say("package_document_repeated", &source.label, 0, message);
                }
                None => drop(sources.whole.insert(document, source)),
            },
            Some((document, Part::Other)) => {
                findings.say("package_file_unread", &source.label, 0, unread(document));
            }
            None => {}
        }
    }
    sources.items.sort_by(|a, b| a.1.label.cmp(&b.1.label));
    (sources, findings.0)
}

fn unread(document: Document) -> String {
    match document.beginnings().first() {
        Some(beginning) => format!("expected a name like `{beginning}001-NAME.md`"),
        None => format!("expected {document} in one file"),
    }
}

/// The documents that are there, and the items that have files of their own, by their labels.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    pub whole: BTreeMap<Document, Source>,
    pub items: Vec<(Document, Source)>,
}

impl Sources {
    pub fn is_empty(&self) -> bool {
        self.whole.is_empty() && self.items.is_empty()
    }

    pub(crate) fn items_of(&self, document: Document) -> impl Iterator<Item = &Source> {
        let own = self.items.iter().filter(move |(of, _)| *of == document);
        own.map(|(_, source)| source)
    }

    /// The name of the file that has a document, or what stands above its items.
    pub(crate) fn file_name(&self, document: Document) -> String {
        if self.items_of(document).next().is_some() {
            format!("{document}/index.md")
        } else {
            document.file_name()
        }
    }
}

/// An item with an id: a goal, a story.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Named {
    pub id: String,
    pub title: String,
    /// The file that it stands in, as findings name it.
    pub file: String,
    pub line: usize,
    /// The ids that it names.
    pub serves: Vec<String>,
}

/// A requirement, functional (`REQ-`) or of quality (`NFR-`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Requirement {
    pub id: String,
    pub title: String,
    pub file: String,
    pub line: usize,
    pub priority: Option<Priority>,
    /// The domain of its spec; empty where nothing names it.
    pub domain: String,
    pub goals: Vec<String>,
    pub statement: String,
    pub criteria: Vec<Criterion>,
    /// Sub-sections that nothing is made of.
    pub others: Vec<String>,
}

impl Requirement {
    /// Tells whether this package does not bring the requirement.
    pub fn is_left(&self) -> bool {
        self.priority == Some(Priority::Wont)
    }

    pub fn is_of_quality(&self) -> bool {
        self.id.starts_with("NFR-")
    }
}

/// A decision of the architecture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Decision {
    pub id: String,
    pub title: String,
    pub file: String,
    pub line: usize,
    pub requirements: Vec<String>,
    pub context: String,
    pub options: String,
    /// Number of options that were considered.
    pub considered: usize,
    pub outcome: String,
    pub consequences: String,
}

/// The package as it was read.
#[derive(Clone, Debug, Default)]
pub struct Package {
    pub sources: Sources,
    pub goals: Vec<Named>,
    pub requirements: Vec<Requirement>,
    pub decisions: Vec<Decision>,
    pub stories: Vec<Named>,
    /// Purpose of the domain of the requirements, where it is new.
    pub purpose: Option<String>,
    pub domain: Option<String>,
    /// Verdict of the reviewer on the whole.
    pub verdict: Option<Verdict>,
    /// Figure that the reviewer gives the depth, 0 to 100.
    pub depth: Option<u32>,
    /// Findings that reading the package came upon.
    pub findings: Vec<Finding>,
}

impl Package {
    /// The requirements that the package brings.
    pub fn brought(&self) -> impl Iterator<Item = &Requirement> {
        self.requirements.iter().filter(|one| !one.is_left())
    }

    /// Tells whether a section has items that stand in files of their own.
    pub(crate) fn holds_items(&self, document: Document, title: &str) -> bool {
        let beginning = match title {
            "Functional requirements" => "REQ-",
            "Quality requirements" => "NFR-",
            "Decisions" => "ADR-",
            _ => return false,
        };
        let mut names = self.sources.items_of(document);
        names.any(|source| {
            let name = source.label.rsplit('/').next();
            name.is_some_and(|name| name.starts_with(beginning))
        })
    }

    pub(crate) fn label(&self, document: Document) -> String {
        let found = self.sources.whole.get(&document);
        found.map_or_else(
            || self.sources.file_name(document),
            |source| source.label.clone(),
        )
    }
}
