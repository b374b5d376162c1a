//! A roadmap of maestro: milestones with phases, and no issues. Each phase becomes an issue with its number, its milestone
//! and its success criteria.

use super::{Format, Gather};
use crate::issue::Source;
use crate::issue::plain::{Plain, PlainCriterion, PlainLink};
use crate::roadmap::{Document, PHASE, Phase, is_phase, label};

/// Makes the phases of a document parts of the roadmap `root`. Gives whether there were any.
pub(super) fn read(text: &str, file: &str, root: &str, g: &mut Gather<'_>) -> bool {
    let document = Document::read(text);
    for (at, phase) in document.phases.iter().enumerate() {
        let next = document.phases.get(at + 1).map(|next| next.line);
        let place = format!("{file}:{}", phase.line);
        let id = format!("{root}/{}", phase.number);
        let Some(key) = g.key(&place, id.clone()) else {
            continue;
        };
        let mut plain = Plain {
            title: title(phase),
            labels: vec![label(PHASE, &phase.number)],
            milestone: phase.milestone.clone(),
            criteria: phase
                .criteria
                .iter()
                .cloned()
                .map(PlainCriterion::Text)
                .collect(),
            source: Some(Source {
                system: Format::Roadmap.system().to_owned(),
                id,
            }),
            key: Some(key),
            ..Plain::default()
        };
        let link = |kind: &str, to: String| PlainLink {
            kind: kind.to_owned(),
            to,
        };
        plain.links.push(link("parent", root.to_owned()));
        for other in depends_on(text, phase.line, next) {
            plain
                .links
                .push(link("blocked-by", format!("{root}/{other}")));
        }
        g.push(place, plain);
    }
    !document.phases.is_empty()
}

fn title(phase: &Phase) -> String {
    if phase.title.is_empty() {
        return format!("Phase {}", phase.number);
    }
    phase.title.clone()
}

/// The phases that the lines of a phase say it depends on.
fn depends_on(text: &str, from: usize, to: Option<usize>) -> Vec<String> {
    let lines = text.lines().skip(from);
    let lines = lines.take(to.map_or(usize::MAX, |to| to.saturating_sub(from + 1)));
    let mut found: Vec<String> = Vec::new();
    for line in lines {
        let line = line.replace("**", "").to_lowercase();
        let Some(said) = line
            .trim_start_matches(['-', ' '])
            .strip_prefix("depends on")
        else {
            continue;
        };
        let words: Vec<&str> = said
            .split(|c: char| !c.is_alphanumeric() && c != '.')
            .collect();
        for word in words {
            let word = word.trim_matches('.');
            if is_phase(word) && !found.iter().any(|one| one == word) {
                found.push(word.to_owned());
            }
        }
    }
    found
}
