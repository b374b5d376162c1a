//! How text fits a screen: its width in columns, wrapping, and which characters the locale takes.

use loopx_base::env;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns where nobody says.
const UNKNOWN: usize = 80;
/// What is narrower is laid out as if it were this wide.
const NARROWEST: usize = 20;

/// The columns that there are: COLUMNS, those of the terminal, or 80.
pub(crate) fn columns() -> usize {
    let said = env::var(env::COLUMNS).and_then(|text| text.trim().parse().ok());
    let seen = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    let columns = said.filter(|columns| *columns > 0).or_else(seen);
    columns.unwrap_or(UNKNOWN).max(NARROWEST)
}

/// Whether the locale takes more than ASCII.
pub(crate) fn is_utf8() -> bool {
    let locale = [env::LC_ALL, env::LC_CTYPE, env::LANG]
        .into_iter()
        .find_map(env::var);
    locale.is_some_and(|locale| {
        let locale = locale.to_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}

/// The columns that a text takes.
pub(crate) fn width(text: &str) -> usize {
    // Of printable ASCII, which most texts are, each byte is a column.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        text.len()
    } else {
        text.width()
    }
}

/// `text` with spaces behind it up to so many columns.
pub(crate) fn pad(text: &str, columns: usize) -> String {
    let left = columns.saturating_sub(width(text));
    format!("{text}{}", " ".repeat(left))
}

/// `text` in at most so many columns: what is left out is marked.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    if columns < 3 {
        return String::new();
    }
    let mut out = String::new();
    let mut taken = 0;
    for c in text.chars() {
        let wide = c.width().unwrap_or(0);
        if taken + wide + 2 > columns {
            break;
        }
        taken += wide;
        out.push(c);
    }
    format!("{}..", out.trim_end())
}

/// `text` in lines of at most so many columns, broken at spaces where there are any.
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(1);
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        let space = usize::from(!line.is_empty());
        if !line.is_empty() && width(&line) + space + width(word) > columns {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        // What no space breaks is broken where it has to be; Chinese has none.
        for c in word.chars() {
            if width(&line) + c.width().unwrap_or(0) > columns && !line.trim().is_empty() {
                lines.push(std::mem::take(&mut line));
            }
            line.push(c);
        }
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::{cut, pad, wrap};

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!(pad("流式", 6), "流式  ");
        assert_eq!(cut("流式-导出", 7), "流式-..");
        assert_eq!(cut("short", 5), "short");
        assert_eq!(cut("short", 0), "");
        assert_eq!(wrap("流式导出流式", 5), ["流式", "导出", "流式"]);
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("unbreakable", 4), ["unbr", "eaka", "ble"]);
    }
}
