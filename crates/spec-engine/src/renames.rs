//! The line-based forms of a delta: `FROM:`/`TO:` pairs, bulleted headers, `**Key**: value` fields.

use super::layout::{Layout, Section};
use super::words;
use loopx_base::findings::Notes;
use std::ops::Range;

/// The lines of `range` outside code and comments, with their numbers.
pub(crate) fn lines<'t>(
    layout: &Layout<'t>,
    range: &Range<usize>,
) -> impl Iterator<Item = (usize, &'t str)> {
    let first = layout.line(range.start);
    let mut at = range.start;
    layout
        .slice(range)
        .split_inclusive('\n')
        .enumerate()
        .filter_map(move |(index, line)| {
            let start = at;
            at += line.len();
            (!layout.outline.is_masked(start)).then_some((first + index, line.trim()))
        })
}

/// The pairs of a `RENAMED` section: old name, new name, line.
pub(crate) fn read(
    layout: &Layout<'_>,
    section: &Section,
    notes: &mut Notes<'_>,
) -> Vec<(String, String, usize)> {
    let mut pairs = Vec::new();
    let mut open: Option<(String, usize)> = None;
    let unpaired = |notes: &mut Notes<'_>, line: usize| {
        notes.error(
            "rename_unpaired",
            line,
            "a FROM line has no TO line, or a TO line no FROM line",
            "write `- FROM: ...` and below it `- TO: ...`",
        );
    };
    let body = section.heading.end..section.range.end;
    for (line, text) in lines(layout, &body) {
        let bare = unbullet(text);
        if let Some(name) = keyword(bare, "from") {
            if let Some((_, line)) = open.take() {
                unpaired(notes, line);
            }
            open = Some((header_name(name).to_owned(), line));
        } else if let Some(name) = keyword(bare, "to") {
            match open.take() {
                Some((from, at)) => pairs.push((from, header_name(name).to_owned(), at)),
                None => unpaired(notes, line),
            }
        } else if arrow(bare).is_some()
            || words::requirement(bare.trim_start_matches(['#', ' '])).is_some()
        {
            notes.error(
                "rename_form",
                line,
                format!("`{bare}` is no form of a rename"),
                "write `- FROM: `### Requirement: OLD`` and below it `- TO: `### Requirement: NEW``",
            );
        }
    }
    if let Some((_, line)) = open {
        unpaired(notes, line);
    }
    pairs
}

/// `- ### Requirement: NAME`, with or without back-ticks around the header.
pub(crate) fn bullet_header(line: &str) -> Option<&str> {
    let bare = unbullet(line);
    if bare.len() == line.len() {
        return None;
    }
    let title = outer_ticks(bare).trim_start_matches(['#', ' ']);
    words::requirement(title).map(|(name, _)| name)
}

/// The value of `**Key**: value` in `range`; it runs to the next blank line or field.
pub(crate) fn field(layout: &Layout<'_>, range: &Range<usize>, key: &str) -> Option<String> {
    let mut value: Option<String> = None;
    for (_, line) in lines(layout, range) {
        let bare = unbullet(line);
        if let Some(text) = value.as_mut() {
            if line.is_empty() || bare.starts_with("**") || bare.starts_with('#') {
                break;
            }
            text.push(' ');
            text.push_str(line);
        } else if let Some(text) = keyword(bare, key) {
            value = Some(text.to_owned());
        }
    }
    value.filter(|text| !text.is_empty())
}

/// `OLD -> NEW`.
pub(crate) fn arrow(text: &str) -> Option<(&str, &str)> {
    let (from, to) = text
        .split_once(" -> ")
        .or_else(|| text.split_once(" → "))
        .or_else(|| text.split_once('→'))?;
    let (from, to) = (bare_name(from), bare_name(to));
    (!from.is_empty() && !to.is_empty()).then_some((from, to))
}

/// A name without the one pair of back-ticks around all of it.
pub(crate) fn bare_name(text: &str) -> &str {
    let text = text.trim();
    match text.strip_prefix('`').and_then(|t| t.strip_suffix('`')) {
        Some(inner) if !inner.contains('`') => inner.trim(),
        _ => text,
    }
}

/// A name behind FROM or TO: a header in back-ticks, a header, or the bare name.
fn header_name(text: &str) -> &str {
    let text = text.trim();
    let header =
        |t: &'_ str| -> bool { words::requirement(t.trim_start_matches(['#', ' '])).is_some() };
    let inner = outer_ticks(text);
    let text = if header(inner) { inner } else { text };
    match words::requirement(text.trim_start_matches(['#', ' '])) {
        Some((name, _)) => name,
        None => bare_name(text),
    }
}

/// Cuts one back-tick at each end, where there is one at both.
fn outer_ticks(text: &str) -> &str {
    text.strip_prefix('`')
        .and_then(|t| t.strip_suffix('`'))
        .unwrap_or(text)
}

pub(crate) fn unbullet(line: &str) -> &str {
    ["- ", "* ", "+ "]
        .iter()
        .find_map(|mark| line.strip_prefix(mark))
        .map_or(line, str::trim_start)
}

/// `KEY: value` in any case, the key bold or not.
fn keyword<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    let text = text.strip_prefix("**").unwrap_or(text);
    let head = text.get(..key.len())?;
    if !head.eq_ignore_ascii_case(key) {
        return None;
    }
    let rest = text.get(key.len()..)?.trim_start_matches('*').trim_start();
    let rest = rest.strip_prefix(':').or_else(|| rest.strip_prefix('：'))?;
    Some(rest.trim_start_matches("**").trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn back_ticks_are_cut_in_pairs() {
        assert_eq!(
            header_name("`### Requirement: Login by `token``"),
            "Login by `token`"
        );
        assert_eq!(
            header_name("### Requirement: Login by `token`"),
            "Login by `token`"
        );
        assert_eq!(header_name("`token` login"), "`token` login");
        assert_eq!(header_name("`a` and `b`"), "`a` and `b`");
        assert_eq!(header_name("`Session timeout`"), "Session timeout");
    }

    #[test]
    fn fields_are_found_in_their_forms() {
        for text in [
            "**Reason**: a\nb\n\nc",
            "**Reason:** a\n  b\n**Migration**: x",
            "- Reason: a\nb",
        ] {
            let layout = Layout::read(text);
            assert_eq!(
                field(&layout, &(0..text.len()), "reason").as_deref(),
                Some("a b")
            );
        }
    }

    #[test]
    fn arrows_need_both_names() {
        assert_eq!(arrow("A -> `B`"), Some(("A", "B")));
        assert_eq!(arrow("A ->"), None);
    }
}
