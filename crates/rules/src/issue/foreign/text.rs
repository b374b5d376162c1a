//! Texts of other systems: criteria out of lists, sections behind a description.

use crate::issue::plain::{Plain, PlainCriterion};

/// The longest criterion.
const LONGEST: usize = 300;

/// Adds a section to the description.
pub(super) fn section(plain: &mut Plain, title: &str, text: Option<String>) {
    let Some(text) = text else { return };
    if !plain.description.trim().is_empty() {
        plain.description.push_str("\n\n");
    }
    plain
        .description
        .push_str(&format!("## {title}\n\n{}\n", text.trim()));
}

/// Makes criteria of a text where each line of it is an item of a list, or where it is one line; else it is a section.
pub(super) fn criteria(plain: &mut Plain, title: &str, text: Option<String>) {
    let Some(text) = text else { return };
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let items: Option<Vec<(String, bool)>> = match lines.as_slice() {
        [one] => Some(vec![item(one).unwrap_or(((*one).to_owned(), false))]),
        more => more.iter().map(|line| item(line)).collect(),
    };
    match items {
        Some(items)
            if items
                .iter()
                .all(|(text, _)| text.chars().count() <= LONGEST) =>
        {
            add(plain, items);
        }
        _ => section(plain, title, Some(text)),
    }
}

/// Adds criteria, each once.
pub(super) fn add(plain: &mut Plain, items: Vec<(String, bool)>) {
    for (text, done) in items {
        let is_known = plain.criteria.iter().any(|one| match one {
            PlainCriterion::Text(known) | PlainCriterion::Ticked { text: known, .. } => {
                *known == text
            }
        });
        if !is_known && !text.is_empty() {
            plain.criteria.push(PlainCriterion::Ticked { text, done });
        }
    }
}

/// The text of a line that is an item of a list, and whether its box is ticked.
pub(super) fn item(line: &str) -> Option<(String, bool)> {
    let line = line.trim();
    let rest = match line.strip_prefix(['-', '*', '+']) {
        Some(rest) => rest.strip_prefix(' ')?,
        None => {
            let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
            if digits.len() < line.len() {
                digits.strip_prefix(". ").or(digits.strip_prefix(") "))?
            } else {
                return None;
            }
        }
    };
    let rest = rest.trim();
    let (rest, done) = match rest.strip_prefix("[ ]") {
        Some(rest) => (rest, false),
        None => match rest.strip_prefix("[x]").or(rest.strip_prefix("[X]")) {
            Some(rest) => (rest, true),
            None => (rest, false),
        },
    };
    Some((rest.trim().to_owned(), done))
}
