//! The traceability matrix: each requirement of a package, the stories that serve it, the scenarios that the session's
//! delta has of it, and what proves each. The chain from a scenario on is that of [`crate::coverage`].

use super::delta::stable_id;
use super::{Package, Priority};
use crate::coverage::Covered;
use loopx_base::id::SessionId;
use loopx_base::vocabulary::vocabulary;
use loopx_spec::{Delta, fold};
use serde::Serialize;

vocabulary!(
    /// State of a requirement.
    Trace {
        /// Every scenario of it is proven.
        Proven = "proven",
        /// A scenario of it is not.
        Open = "open",
        /// The delta has no scenario of it.
        Unwritten = "unwritten",
        /// The package does not bring it.
        LeftOut = "left_out",
    }
);

/// A line of the matrix.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    pub requirement: String,
    pub title: String,
    pub priority: Option<Priority>,
    pub goals: Vec<String>,
    pub stories: Vec<String>,
    pub decisions: Vec<String>,
    pub trace: Trace,
    pub scenarios: Vec<Covered>,
}

/// A line for each requirement, in the order of the document.
pub fn matrix(
    package: &Package,
    session: &SessionId,
    delta: &Delta,
    covered: &[Covered],
) -> Vec<Row> {
    let rows = package.requirements.iter().map(|one| {
        let own = stable_id(session, &one.id);
        let domains = delta.domains.iter();
        let of_domain = domains.filter(|part| part.domain.as_deref() == Some(&one.domain));
        let operations = of_domain.flat_map(|part| &part.operations);
        let is_meant = |known: Option<&String>, name: &str| match known {
            Some(id) if *id == own => true,
            _ => fold(name) == fold(&one.title),
        };
        let found = operations.filter(|op| {
            let id = op.requirement.as_ref().and_then(|block| block.id.as_ref());
            is_meant(id, &op.name)
        });
        let heads: Vec<String> = found
            .map(|op| format!("{}/{}/", one.domain, op.name))
            .collect();
        let scenarios: Vec<Covered> = covered
            .iter()
            .filter(|scenario| heads.iter().any(|head| scenario.scenario.starts_with(head)))
            .cloned()
            .collect();
        let trace = match (one.is_left(), scenarios.as_slice()) {
            (true, _) => Trace::LeftOut,
            (false, []) => Trace::Unwritten,
            (false, all) if all.iter().all(|one| one.proof.is_enough()) => Trace::Proven,
            (false, _) => Trace::Open,
        };
        let serving = |all: &[String]| all.contains(&one.id);
        let stories = package
            .stories
            .iter()
            .filter(|story| serving(&story.serves));
        let decisions = package
            .decisions
            .iter()
            .filter(|one| serving(&one.requirements));
        Row {
            requirement: one.id.clone(),
            title: one.title.clone(),
            priority: one.priority,
            goals: one.goals.clone(),
            stories: stories.map(|story| story.id.clone()).collect(),
            decisions: decisions.map(|one| one.id.clone()).collect(),
            trace,
            scenarios,
        }
    });
    rows.collect()
}
