//! The roadmap: milestones, phases and waves over issues (design 12).
//!
//! A roadmap is an issue itself, of kind `epic` with the label `roadmap`: its parts are the issues that it is about, its
//! description is the document that names milestones and phases, its field `roadmap` holds how it was cut, and its
//! comments hold the rounds of feedback. An issue says where it stands by fields that every issue has: the milestone,
//! and the labels `wave-N` and `phase-N`. So two clones that were apart merge a roadmap as they merge any issue, field by
//! field, and an issue that both put somewhere else has both labels until somebody says which.
//!
//! This module owns the words of a roadmap and what follows from them. Where issues lie and who asks is not known here.

mod check;
mod content;
mod document;
mod judge;
mod mode;
mod place;
mod round;
mod shape;

pub use check::FINDINGS;
pub use content::content;
pub use document::{Document, Milestone, Phase};
pub use judge::{Ground, findings};
pub use mode::{Factor, Level, Mode, Wish};
pub use place::{PHASE, Place, WAVE, is_phase, label, phase_order, phase_said};
pub use round::{CAP, Round, Standing, Status, Verdict};
pub use shape::{Shape, Wave, issues_below};

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The label by which an issue is a roadmap.
pub const LABEL: &str = "roadmap";
/// The field of the issue that holds [`Cut`].
pub const FIELD: &str = "roadmap";
/// The layers of a progressive roadmap where nobody names others.
pub const LAYERS: [&str; 4] = ["MVP", "Usable", "Refined", "Optimized"];

/// Cut of a roadmap into waves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    /// Mode of the cut; nothing where an issue was given the label by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// Levels that the request was given before the mode was chosen.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub factors: BTreeMap<Factor, Level>,
    /// The names of the waves, the first one first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<String>,
}

impl Cut {
    /// Reads the field; what is no cut says nothing.
    pub fn of(kept: &BTreeMap<String, serde_json::Value>) -> Self {
        let value = kept.get(FIELD).cloned();
        let cut = value.and_then(|value| serde_json::from_value(value).ok());
        cut.unwrap_or_default()
    }

    /// The name of a wave, where it has one.
    pub fn layer(&self, wave: u32) -> Option<&str> {
        let at = usize::try_from(wave).ok()?.checked_sub(1)?;
        self.layers.get(at).map(String::as_str)
    }

    /// The wave that a word means: its number, the number of its layer (`L0` is the first), or the name of a layer.
    pub fn wave(&self, word: &str) -> Option<u32> {
        if let Ok(number) = word.parse::<u32>() {
            return (number > 0).then_some(number);
        }
        if let Some(number) = word.strip_prefix(['L', 'l'])
            && let Ok(number) = number.parse::<u32>()
        {
            return number.checked_add(1);
        }
        let is_it = |name: &&String| name.eq_ignore_ascii_case(word);
        let at = self.layers.iter().position(|name| is_it(&name))?;
        u32::try_from(at + 1).ok()
    }
}

#[cfg(test)]
mod tests;
