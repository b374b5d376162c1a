//! Diffs, made with `similar`: unified for pipes, word-level in colour for people.

use similar::{ChangeTag, TextDiff};

use super::style;

/// A unified diff of two texts under git's `a/` and `b/` names; empty when they are equal.
pub fn unified(path: &str, old: &str, new: &str, color: bool) -> String {
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

/// A hunk range as git writes it: first line (from 1) and count.
fn range(start: usize, end: usize) -> String {
    let count = end - start;
    let first = if count == 0 { start } else { start + 1 };
    format!("{first},{count}")
}
