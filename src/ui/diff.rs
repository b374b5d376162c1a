//! Diffs, made with `similar`: unified for pipes, word-level in colour for people.

use similar::{ChangeTag, TextDiff};

use super::style;

/// A unified diff of two texts under git's `a/` and `b/` names; empty when they are equal.
pub(crate) fn unified(path: &str, old: &str, new: &str, color: bool) -> String {
    if old == new {
        return String::new();
    }
    let diff = TextDiff::from_lines(old, new);
    if !color {
        let text = diff
            .unified_diff()
            .context_radius(3)
            .header(&format!("a/{path}"), &format!("b/{path}"))
            .to_string();
        return text;
    }
    let mut out = style::paint(true, style::HEAD, &format!("--- a/{path}\n+++ b/{path}"));
    out.push('\n');
    for group in diff.grouped_ops(3) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else {
            continue;
        };
        out.push_str(&style::paint(
            true,
            style::NAME,
            &format!(
                "@@ -{} +{} @@",
                range(first.old_range().start, last.old_range().end),
                range(first.new_range().start, last.new_range().end)
            ),
        ));
        out.push('\n');
        for op in group {
            for change in diff.iter_inline_changes(&op) {
                let (sign, role) = match change.tag() {
                    ChangeTag::Delete => ("-", style::BAD),
                    ChangeTag::Insert => ("+", style::GOOD),
                    ChangeTag::Equal => (" ", anstyle::Style::new()),
                };
                out.push_str(&style::paint(true, role, sign));
                for (emphasised, value) in change.iter_strings_lossy() {
                    let role = if emphasised { role.invert() } else { role };
                    out.push_str(&style::paint(true, role, value.trim_end_matches('\n')));
                }
                out.push('\n');
            }
        }
    }
    out
}

/// The lines of a text in which words changed, written as `git diff --word-diff` writes them.
pub(crate) fn words(old: &str, new: &str, color: bool) -> Vec<String> {
    let diff = TextDiff::from_words(old.trim_end(), new.trim_end());
    let mut lines = vec![(String::new(), false)];
    let mut run: Option<(ChangeTag, String)> = None;
    let mut put = |tag: ChangeTag, text: &str| {
        for (at, part) in super::clean(text).split('\n').enumerate() {
            if at > 0 {
                lines.push((String::new(), false));
            }
            let Some((line, changed)) = lines.last_mut() else {
                continue;
            };
            let (open, close, role) = match tag {
                ChangeTag::Equal => {
                    line.push_str(part);
                    continue;
                }
                ChangeTag::Delete => ("[-", "-]", style::BAD),
                ChangeTag::Insert => ("{+", "+}", style::GOOD),
            };
            if !part.is_empty() {
                *changed = true;
                line.push_str(&style::paint(color, role, &format!("{open}{part}{close}")));
            }
        }
    };
    for change in diff.iter_all_changes() {
        match &mut run {
            Some((tag, text)) if *tag == change.tag() => text.push_str(change.value()),
            _ => {
                if let Some((tag, text)) = run.replace((change.tag(), change.value().to_owned())) {
                    put(tag, &text);
                }
            }
        }
    }
    if let Some((tag, text)) = run {
        put(tag, &text);
    }
    let changed = lines.into_iter().filter(|(_, changed)| *changed);
    changed.map(|(line, _)| line).collect()
}

/// A hunk range as git writes it: first line (from 1) and count.
fn range(start: usize, end: usize) -> String {
    let count = end - start;
    let first = if count == 0 { start } else { start + 1 };
    format!("{first},{count}")
}
