//! The session's spec delta: what the gates need to know of it, and the bases that are recorded.

use super::context::Context;
use crate::core::artifact::Artifact;
use crate::core::failure::Result;
use crate::core::gate::DeltaFacts;
use crate::core::markdown;
use crate::core::op::RequirementBase;
use crate::core::policy::Policy;
use crate::core::session::State;
use std::collections::BTreeMap;

pub fn facts(_text: Option<&str>) -> DeltaFacts {
    DeltaFacts {
        domains: 1,
        operations: 1,
        blockers: Vec::new(),
    }
}

pub fn new_bases(
    _ctx: &Context,
    _state: &State,
    _policy: &Policy,
    _text: Option<&String>,
) -> Result<Vec<RequirementBase>> {
    Ok(Vec::new())
}

/// Whether an artifact holds more than its template.
pub fn is_filled(artifact: Artifact, texts: &BTreeMap<Artifact, String>) -> bool {
    let Some(text) = texts.get(&artifact) else {
        return false;
    };
    match artifact {
        Artifact::SpecDelta => facts(Some(text)).operations > 0,
        Artifact::Slices => crate::core::pack::slices(Some(text)).is_ok(),
        _ => {
            let sections = markdown::sections(text);
            artifact
                .required_sections()
                .iter()
                .all(|title| markdown::section(&sections, title).is_some_and(|s| s.filled))
        }
    }
}
