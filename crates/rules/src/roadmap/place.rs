//! The place of an issue in a roadmap, as its own fields say it.

use crate::issue::Issue;

/// The beginning of a label that names a wave.
pub const WAVE: &str = "wave-";
/// The beginning of a label that names a phase.
pub const PHASE: &str = "phase-";

/// Place of an issue. Two people who were apart may each have said something else.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    pub waves: Vec<u32>,
    pub phases: Vec<String>,
    /// Labels that look like a wave or a phase, and have no number that one can have.
    pub unread: Vec<String>,
}

impl Place {
    pub fn of(issue: &Issue) -> Self {
        let mut place = Place::default();
        for label in &issue.labels {
            let (wave, phase) = (label.strip_prefix(WAVE), label.strip_prefix(PHASE));
            if let Some(wave) = wave.and_then(number) {
                place.waves.push(wave);
            } else if let Some(phase) = phase.filter(|phase| is_phase(phase)) {
                place.phases.push(phase.to_owned());
            } else if wave.or(phase).is_some_and(is_figures) {
                place.unread.push(label.clone());
            }
        }
        place.waves.sort_unstable();
        place.phases.sort_by_key(|phase| phase_order(phase));
        place
    }

    /// The wave, where there is exactly one.
    pub fn wave(&self) -> Option<u32> {
        match self.waves.as_slice() {
            [one] => Some(*one),
            _ => None,
        }
    }

    /// The phase, where there is exactly one.
    pub fn phase(&self) -> Option<&str> {
        match self.phases.as_slice() {
            [one] => Some(one),
            _ => None,
        }
    }
}

/// Tells whether a label can say where an issue stands.
pub(super) fn is_place(label: &str) -> bool {
    label.starts_with(WAVE) || label.starts_with(PHASE)
}

/// Tells whether a text is meant as a number: `phase-out` is another label.
fn is_figures(text: &str) -> bool {
    !text.is_empty()
        && text
            .chars()
            .all(|c| c.is_ascii_digit() || "-+.".contains(c))
}

/// A number from 1 on, without leading zeros: two labels never name one wave.
fn number(text: &str) -> Option<u32> {
    let number: u32 = text.parse().ok()?;
    (number > 0 && number.to_string() == text).then_some(number)
}

/// Tells whether a text is the number of a phase: `2`, or `2.1` for a phase that was put between.
pub fn is_phase(text: &str) -> bool {
    let parts = text.split('.').map(number);
    let parts: Option<Vec<u32>> = parts.collect();
    parts.is_some_and(|parts| parts.len() <= 3)
}

/// The key by which phases are sorted: 2 is before 2.1, and 2.1 before 10.
pub fn phase_order(phase: &str) -> Vec<u32> {
    phase
        .split('.')
        .map(|part| number(part).unwrap_or(0))
        .collect()
}

/// The label of a wave or a phase.
pub fn label(beginning: &str, value: impl std::fmt::Display) -> String {
    format!("{beginning}{value}")
}

/// The phase that a request names: the number behind the word `phase`.
pub fn phase_said(text: &str) -> Option<String> {
    let text = text.to_lowercase();
    let is_mark = |c: char| !c.is_alphanumeric();
    let words: Vec<&str> = text
        .split_whitespace()
        .map(|word| word.trim_matches(is_mark))
        .collect();
    let named = words
        .windows(2)
        .find(|pair| pair[0] == "phase" && is_phase(pair[1]));
    named.map(|pair| pair[1].to_owned())
}
