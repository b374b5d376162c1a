//! The specification package: a product brief, requirements, an architecture, stories and a readiness report, as
//! documents that are read, checked, traced and made into a delta.
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
    pub const ALL: [Document; 5] = [
        Document::ProductBrief,
        Document::Requirements,
        Document::Architecture,
        Document::Epics,
        Document::ReadinessReport,
    ];

    /// The document that a path names.
    pub fn of_path(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path);
        name.strip_suffix(".md")?.parse().ok()
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

vocabulary!(
    /// How much a requirement matters, by MoSCoW.
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
    /// How findings name it.
    pub label: String,
    pub text: String,
}

/// The documents among some files, by their names. Of two of one name nobody says which is meant: that is a finding.
pub fn gather(files: impl IntoIterator<Item = Source>) -> (Sources, Vec<Finding>) {
    let mut sources = Sources::new();
    let mut findings = finding::Findings::default();
    for source in files {
        let Some(document) = Document::of_path(&source.label) else {
            continue;
        };
        if let Some(known) = sources.get(&document) {
            let message = format!("{} is there already", known.label);
            findings.say("package_document_repeated", &source.label, 0, message);
            continue;
        }
        sources.insert(document, source);
    }
    (sources, findings.0)
}

/// The documents that are there.
pub type Sources = BTreeMap<Document, Source>;

/// An item with an id: a goal, a story.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Named {
    pub id: String,
    pub title: String,
    pub line: usize,
    /// The ids that it names.
    pub serves: Vec<String>,
}

/// A requirement, functional (`REQ-`) or of quality (`NFR-`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Requirement {
    pub id: String,
    pub title: String,
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
    /// Whether it is one that this package does not bring.
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
    pub line: usize,
    pub requirements: Vec<String>,
    pub context: String,
    pub options: String,
    /// How many options were considered.
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
    /// What the domain of the requirements is for, where it is new.
    pub purpose: Option<String>,
    pub domain: Option<String>,
    /// What the reviewer says of the whole.
    pub verdict: Option<Verdict>,
    /// What the reviewer gives the depth, 0 to 100.
    pub depth: Option<u32>,
    /// What reading it came upon.
    pub findings: Vec<Finding>,
}

impl Package {
    /// The requirements that the package brings.
    pub fn brought(&self) -> impl Iterator<Item = &Requirement> {
        self.requirements.iter().filter(|one| !one.is_left())
    }

    pub(crate) fn label(&self, document: Document) -> String {
        let found = self.sources.get(&document);
        found.map_or_else(|| document.file_name(), |source| source.label.clone())
    }
}
