//! A rule more: whether it is known, which document it belongs in, and where it stands there.

use super::document::{Document, entries, is_filled};
use super::layout::{Layout, UnitKey};
use super::normal::{normalised, without_date};
use super::seed::RuleKind;

/// Place where a rule stands already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    pub path: String,
    pub line: usize,
}

/// Finds the place where these documents have a rule of this text.
pub fn known<'d>(documents: impl IntoIterator<Item = &'d Document>, text: &str) -> Option<Known> {
    let key = normalised(text);
    documents.into_iter().find_map(|document| {
        let rule = document.rules.iter().find(|rule| rule.key == key)?;
        Some(Known {
            path: document.path.clone(),
            line: rule.line,
        })
    })
}

/// The document that a rule belongs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target<'c> {
    pub kind: RuleKind,
    pub category: &'c str,
}

impl Target<'_> {
    /// Finds the document among these: the one of this name, else the only one of the category with the kind among its
    /// keywords. Nothing where there is none yet.
    pub fn find<'d>(
        &self,
        folder: &str,
        documents: impl IntoIterator<Item = &'d Document>,
    ) -> Option<&'d Document> {
        let path = format!("{folder}/{}", self.kind.file(self.category));
        let mut alike = Vec::new();
        for document in documents {
            if document.path == path {
                return Some(document);
            }
            if document.category == self.category && document.has_keyword(self.kind.as_str()) {
                alike.push(document);
            }
        }
        match alike.as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }
}

/// A document with a rule more, behind its last one; every other byte is kept. `day` is when it was learned.
pub fn add(document: &str, text: &str, day: Option<&str>) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = match day {
        Some(day) if without_date(&text) == text => format!("{text} ({day})"),
        _ => text,
    };
    let end = if document.contains("\r\n") {
        "\r\n"
    } else {
        "\n"
    };
    let layout = Layout::of(document);
    let last = layout.rules().last();
    let (at, lead, marker) = match last {
        Some((start, unit)) => (start + unit.text.len(), lead_of(&layout), marker(unit.text)),
        None => {
            let kept = document.trim_end();
            let gap = if kept.is_empty() { "" } else { end };
            let at = kept.len();
            // The blank lines at the end are made one.
            let after = &document[at..];
            let ends = after.find('\n').map_or(after.len(), |found| found + 1);
            (at + ends, gap, "- ".to_owned())
        }
    };
    let (before, after) = document.split_at(at);
    let after = match last {
        Some(_) => after,
        None => "",
    };
    let mut out = before.to_owned();
    if !out.is_empty() && !out.ends_with('\n') {
        out.push_str(end);
    }
    out.push_str(lead);
    out.push_str(&marker);
    out.push_str(&text);
    out.push_str(end);
    out.push_str(after);
    out
}

/// The blank lines between the last rule and the one before it.
fn lead_of<'t>(layout: &Layout<'t>) -> &'t str {
    let sections = layout.sections.iter().rev();
    for section in sections {
        let is_rule = |at: &usize| {
            matches!(
                section.units.get(*at).map(|unit| &unit.key),
                Some(UnitKey::Rule(_))
            )
        };
        let Some(last) = (0..section.units.len()).rev().find(is_rule) else {
            continue;
        };
        let before = last.checked_sub(1).filter(is_rule);
        return before
            .and_then(|_| section.units.get(last))
            .map_or("", |unit| unit.lead);
    }
    ""
}

/// The marker of the item behind this one.
fn marker(item: &str) -> String {
    let text = item.trim_start();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at(digits);
    match (number.parse::<u64>(), rest.chars().next()) {
        (Ok(number), Some(mark @ ('.' | ')'))) => format!("{}{mark} ", number.saturating_add(1)),
        (_, Some(mark @ ('*' | '+'))) => format!("{mark} "),
        _ => "- ".to_owned(),
    }
}

/// Tells whether a text can be one rule: text that is read as a heading or as a comment says nothing.
pub fn is_one_rule(text: &str) -> bool {
    let document = add("", text, None);
    entries(&document).len() == 1 && is_filled(&document)
}

#[cfg(test)]
mod tests {
    use super::{Target, add, is_one_rule, known};
    use crate::rule::document::tests::read;
    use crate::rule::seed::RuleKind;

    #[test]
    fn a_rule_is_put_behind_the_last_one_and_nothing_else_changes() {
        for (document, wanted) in [
            ("", "- New\n"),
            ("# H\n\n", "# H\n\n- New\n"),
            ("# H\n\n\n\n", "# H\n\n- New\n"),
            ("# H", "# H\n\n- New\n"),
            ("- a", "- a\n- New\n"),
            (
                "# H\n\n* a\n* b\n\ntext\n",
                "# H\n\n* a\n* b\n* New\n\ntext\n",
            ),
            ("- a\n\n- b\n", "- a\n\n- b\n\n- New\n"),
            ("1. a\n2. b\n\n# E\n", "1. a\n2. b\n3. New\n\n# E\n"),
            (
                "- a\r\n  more\r\n\r\n# E\r\n",
                "- a\r\n  more\r\n- New\r\n\r\n# E\r\n",
            ),
            (
                "# A\n\n- a\n\n# B\n\nNo list.\n",
                "# A\n\n- a\n- New\n\n# B\n\nNo list.\n",
            ),
        ] {
            assert_eq!(add(document, " New ", None), wanted, "{document:?}");
        }
        assert_eq!(add("", "New", Some("2026-01-02")), "- New (2026-01-02)\n");
        assert_eq!(
            add("", "New (2025-01-02)", Some("2026-01-02")),
            "- New (2025-01-02)\n"
        );
    }

    #[test]
    fn a_rule_is_known_by_its_normalised_text() {
        let documents = [
            read("a.md", "# H\n- Use one logger\n"),
            read("b.md", "- other\n"),
        ];
        let found = known(&documents, "use `one` logger.").expect("it is known");
        assert_eq!((found.path.as_str(), found.line), ("a.md", 2));
        assert_eq!(known(&documents, "use two"), None);
    }

    #[test]
    fn the_document_is_found_by_name_else_by_category_and_keyword() {
        let target = Target {
            kind: RuleKind::Constraint,
            category: "planning",
        };
        let named = read("docs/rules/architecture-constraints.md", "");
        let alike = read(
            "docs/rules/x.md",
            "---\ncategory: planning\nkeywords: [constraint]\n---\n",
        );
        let other = read("docs/rules/y.md", "---\ncategory: planning\n---\n");
        let found = |documents: &[crate::rule::Document]| {
            target
                .find("docs/rules", documents)
                .map(|one| one.path.clone())
        };
        assert_eq!(
            found(&[alike.clone(), named.clone()]),
            Some(named.path.clone())
        );
        assert_eq!(
            found(&[other.clone(), alike.clone()]),
            Some(alike.path.clone())
        );
        assert_eq!(found(&[alike.clone(), alike]), None);
        assert_eq!(found(&[other]), None);
    }

    #[test]
    fn a_text_that_is_read_as_something_else_is_no_rule() {
        for (text, is) in [
            ("Use x", true),
            ("", false),
            ("# no heading", false),
            ("---", false),
            ("<!-- x -->", false),
        ] {
            assert_eq!(is_one_rule(text), is, "{text}");
        }
    }
}
