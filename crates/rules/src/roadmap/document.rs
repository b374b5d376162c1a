//! The document of a roadmap: milestones and their phases as headings, the criteria of a phase as a list. Every other
//! line is for people, and means nothing here.

use super::place::is_phase;
use crate::markdown::without_asides;
use serde::Serialize;

/// A phase as the document names it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Phase {
    pub number: String,
    pub title: String,
    /// The milestone whose heading stands above it.
    pub milestone: Option<String>,
    /// Criteria that have to hold when the phase is done.
    pub criteria: Vec<String>,
    #[serde(skip)]
    pub line: usize,
}

/// A milestone as the document names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Milestone {
    pub name: String,
    pub title: String,
}

/// Document of a roadmap: what it names, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Document {
    pub milestones: Vec<Milestone>,
    pub phases: Vec<Phase>,
}

/// Place to which a line of a list belongs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Below {
    Nothing,
    Phase,
    Criteria,
}

impl Document {
    /// Reads headings like `## Milestone: v1`, `### Phase 2: Login`, and below a phase the list behind `Success criteria`.
    /// A list that names phases (`- [ ] **Phase 1: Login**: what it is for`) counts where no heading does.
    pub fn read(text: &str) -> Self {
        let mut found = Document::default();
        let mut listed: Vec<Phase> = Vec::new();
        let mut milestone: Option<String> = None;
        let mut below = Below::Nothing;
        for (at, line) in without_asides(text).lines().enumerate() {
            let trimmed = line.trim();
            let heading = trimmed.trim_start_matches('#');
            let is_heading = heading.len() < trimmed.len() && heading.starts_with(' ');
            let said = bare(if is_heading { heading } else { trimmed });
            if is_heading {
                below = Below::Nothing;
                if let Some((number, title)) = named(&said, "phase").filter(|(n, _)| is_phase(n)) {
                    below = Below::Phase;
                    found.phases.push(Phase {
                        number,
                        title,
                        milestone: milestone.clone(),
                        criteria: Vec::new(),
                        line: at + 1,
                    });
                } else if let Some((name, title)) = named(&said, "milestone") {
                    milestone = Some(name.clone());
                    if found.milestones.iter().all(|one| one.name != name) {
                        found.milestones.push(Milestone { name, title });
                    }
                }
                if below == Below::Nothing && is_criteria(&said) && !found.phases.is_empty() {
                    below = Below::Criteria;
                }
                continue;
            }
            if below == Below::Phase && is_criteria(&said) {
                below = Below::Criteria;
                continue;
            }
            let Some(item) = item(trimmed) else {
                if below == Below::Criteria && !trimmed.is_empty() {
                    below = Below::Phase;
                }
                continue;
            };
            if below == Below::Criteria {
                if let Some(phase) = found.phases.last_mut() {
                    phase.criteria.push(bare(item));
                }
            } else if let Some((number, title)) =
                named(&bare(item), "phase").filter(|(n, _)| is_phase(n))
            {
                listed.push(Phase {
                    number,
                    title,
                    milestone: milestone.clone(),
                    criteria: Vec::new(),
                    line: at + 1,
                });
            }
        }
        if found.phases.is_empty() {
            found.phases = listed;
        }
        found
    }

    pub fn phase(&self, number: &str) -> Option<&Phase> {
        self.phases.iter().find(|one| one.number == number)
    }

    /// Tells whether the document names this milestone.
    pub fn has_milestone(&self, name: &str) -> bool {
        self.milestones.iter().any(|one| one.name == name)
    }
}

/// A text without the marks of emphasis.
fn bare(text: &str) -> String {
    text.replace("**", "").replace('`', "").trim().to_owned()
}

/// The name and the title behind a word: `Phase 2: Login` names 2, `Milestone: v1` names v1.
fn named(text: &str, word: &str) -> Option<(String, String)> {
    let start = text.get(..word.len())?;
    if !start.eq_ignore_ascii_case(word) {
        return None;
    }
    let rest = &text[word.len()..];
    if let Some(name) = rest.strip_prefix(':') {
        let name = name.trim();
        return (!name.is_empty()).then(|| (name.to_owned(), String::new()));
    }
    let rest = rest.strip_prefix(' ')?.trim();
    let (name, title) = match rest.find([':', '\u{2014}', '\u{2013}']) {
        Some(at) => {
            let behind = rest[at..].chars().next().map_or(1, char::len_utf8);
            (&rest[..at], rest[at + behind..].trim())
        }
        None => rest.split_once(" - ").unwrap_or((rest, "")),
    };
    let name = name.trim();
    (!name.is_empty()).then(|| (name.to_owned(), title.trim().to_owned()))
}

fn is_criteria(text: &str) -> bool {
    let text = text.to_lowercase();
    text.starts_with("success criteria") || text.starts_with("criteria")
}

/// The text of a line of a list, without its box.
fn item(line: &str) -> Option<&str> {
    let rest = match line.strip_prefix(['-', '*', '+']) {
        Some(rest) => rest.strip_prefix(' ')?,
        None => {
            let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
            (rest.len() < line.len())
                .then_some(rest)?
                .strip_prefix(". ")?
        }
    };
    let rest = rest.trim();
    let boxes = ["[ ] ", "[x] ", "[X] "];
    let bare = boxes.iter().find_map(|one| rest.strip_prefix(one));
    Some(bare.unwrap_or(rest).trim())
}
