//! The catalogue that `git loopx help codes` prints: every code, and every finding about a document, by its word.

use super::outline::FINDINGS as OF_PLANS;
use super::pipeline::FINDINGS as OF_PIPELINES;
use super::roadmap::FINDINGS as OF_ROADMAPS;
use super::role::FINDINGS as OF_ROLES;
use super::rule::FINDINGS as OF_RULES;
use super::spec_package::FINDINGS as OF_PACKAGES;
use super::task::file::FINDINGS as OF_TASKS;
use loopx_base::code::Code;
use loopx_spec::FINDINGS as OF_SPECS;
use serde::Serialize;
use std::collections::BTreeMap;

/// A line of the catalogue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    pub code: &'static str,
    /// The exit codes that it ends a command with. A note ends none.
    pub exit: Vec<u8>,
    pub sentence: String,
}

/// Names that a failure, a blocker or a note can have, by their words: the codes, and the findings
/// about specs and lists of tasks.
pub fn catalogue() -> Vec<Entry> {
    let exit = |code: Code| code.kinds().iter().map(|kind| kind.exit_code()).collect();
    let mut all: BTreeMap<&'static str, Entry> = BTreeMap::new();
    let of_plans = OF_TASKS
        .iter()
        .chain(OF_PLANS)
        .chain(OF_PIPELINES)
        .chain(OF_ROADMAPS)
        .chain(OF_ROLES)
        .chain(OF_RULES)
        .chain(OF_PACKAGES);
    for finding in OF_SPECS.iter().chain(of_plans) {
        let code = Code::Finding(finding.id);
        let mut meaning = finding.meaning.chars();
        let first: String = meaning
            .next()
            .map_or_else(String::new, |c| c.to_uppercase().collect());
        let sentence = format!("{first}{}.", meaning.as_str());
        let entry = Entry {
            code: finding.id,
            exit: exit(code),
            sentence,
        };
        all.insert(finding.id, entry);
    }
    for code in Code::ALL {
        let entry = Entry {
            code: code.word(),
            exit: exit(*code),
            sentence: code.sentence().to_owned(),
        };
        all.insert(code.word(), entry);
    }
    all.into_values().collect()
}
