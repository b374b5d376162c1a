//! Layout of text on a screen: its width in columns, wrapping, and which characters the locale takes.

use loopx_base::env;
use loopx_base::hint::Piece;
use std::io::IsTerminal;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns where nobody says.
const UNKNOWN: usize = 80;
/// Width below which text is laid out as if it were this wide.
const NARROWEST: usize = 20;

/// The columns that there are: COLUMNS, those of the terminal, or 80.
pub(crate) fn columns() -> usize {
    let said = env::var(env::COLUMNS).and_then(|text| text.trim().parse().ok());
    let seen = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    let columns = said.filter(|columns| *columns > 0).or_else(seen);
    columns.unwrap_or(UNKNOWN).max(NARROWEST)
}

/// Tells whether the locale takes more than ASCII.
pub(crate) fn is_utf8() -> bool {
    let locale = [env::LC_ALL, env::LC_CTYPE, env::LANG]
        .into_iter()
        .find_map(env::var);
    locale.is_some_and(|locale| {
        let locale = locale.to_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}

/// The columns that somebody reads stderr in, where a person does; what goes to a file or a program is not folded.
pub(crate) fn columns_of_errors() -> Option<usize> {
    std::io::stderr().is_terminal().then(columns)
}

/// Columns that somebody reads stdout in, where a person does.
pub(crate) fn columns_of_output() -> Option<usize> {
    std::io::stdout().is_terminal().then(columns)
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
    let mut padded = String::with_capacity(text.len() + left);
    padded.push_str(text);
    padded.extend(std::iter::repeat_n(' ', left));
    padded
}

/// Text in the cell of a table: cut or padded to so many columns.
pub(crate) fn cell(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        pad(text, columns)
    } else {
        pad(&cut(text, columns), columns)
    }
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

/// A text with colours in lines of at most so many columns, broken at spaces alone; the first one may have more of them.
pub(crate) fn wrap_painted(text: &str, first: usize, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let (mut line, mut taken) = (String::new(), 0);
    for word in text.split_inclusive(' ') {
        let wide = width(&unpainted(word.trim_end()));
        let columns = if lines.is_empty() { first } else { columns };
        // What parts two words breaks no line, and begins none.
        if wide == 0 && (taken > 0 || !lines.is_empty()) {
            if taken > 0 {
                line.push_str(word);
                taken += width(&unpainted(word));
            }
            continue;
        }
        if taken > 0 && taken + wide > columns {
            lines.push(std::mem::take(&mut line).trim_end().to_owned());
            taken = 0;
        }
        line.push_str(word);
        taken += width(&unpainted(word));
    }
    lines.push(line);
    lines
}

/// A text without the escapes that colour it: they take no column.
fn unpainted(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        out.push_str(&rest[..at]);
        rest = rest[at..].split_once('m').map_or("", |(_, rest)| rest);
    }
    out.push_str(rest);
    out
}

/// A hint in lines of at most so many columns. No command is broken: one that is wider stands on a line of its own.
pub(crate) fn fold(pieces: &[Piece], columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for unit in glued(pieces) {
        let unit = unit.as_str();
        if !line.trim().is_empty() && width(&line) + width(unit.trim_end()) > columns {
            lines.push(std::mem::take(&mut line).trim_end().to_owned());
        }
        line.push_str(if line.is_empty() && !lines.is_empty() {
            unit.trim_start()
        } else {
            unit
        });
    }
    lines.push(line);
    lines
}

/// The units of all pieces; what no space parts from its neighbour, as a bracket or a backtick, stays with it, and
/// `or:` stays with what it offers.
fn glued(pieces: &[Piece]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for unit in pieces.iter().flat_map(units) {
        match all.last_mut() {
            Some(last) if last.trim() == "or:" => last.push_str(unit),
            Some(last) if !last.ends_with(' ') && !unit.starts_with(' ') => last.push_str(unit),
            _ => all.push(unit.to_owned()),
        }
    }
    all
}

/// Units that are not broken: a command as a whole, and the words of a sentence. A sentence with a command in it is
/// broken only behind a clause.
fn units(piece: &Piece) -> Vec<&str> {
    let text = piece.text.as_str();
    if piece.is_command {
        return vec![text];
    }
    if !text.contains("git ") {
        return text.split_inclusive(' ').collect();
    }
    const CLAUSES: [&str; 4] = [": ", "; ", ", ", "  "];
    let mut units = Vec::new();
    let mut rest = text;
    loop {
        let ends = CLAUSES
            .iter()
            .filter_map(|end| Some(rest.find(end)? + end.len()));
        match ends.min() {
            Some(end) if end < rest.len() => {
                let (unit, left) = rest.split_at(end);
                units.push(unit);
                rest = left;
            }
            _ => break,
        }
    }
    units.push(rest);
    units
}

#[cfg(test)]
mod tests {
    use super::{cut, fold, pad, wrap, wrap_painted};
    use loopx_base::hint::Piece;

    #[test]
    fn colours_take_no_column() {
        let painted = "\u{1b}[32mone\u{1b}[0m two three";
        assert_eq!(
            wrap_painted(painted, 7, 7),
            ["\u{1b}[32mone\u{1b}[0m two", "three"]
        );
        assert_eq!(wrap_painted("unbreakable", 4, 4), ["unbreakable"]);
        // The first line has no indent, and no line begins with blanks.
        assert_eq!(wrap_painted("one two  three", 7, 5), ["one two", "three"]);
    }

    #[test]
    fn a_hint_is_folded_and_its_commands_are_not() {
        let told =
            Piece::told("to commit all the same: git commit --no-verify  (or LOOPX=0); then wait");
        assert_eq!(
            fold(&[told], 40),
            [
                "to commit all the same:",
                "git commit --no-verify  (or LOOPX=0);",
                "then wait"
            ]
        );
        let typed = Piece::typed("git loopx plan --reason 'the plan has: to change'");
        let pieces = [
            Piece::told("it is here, "),
            typed,
            Piece::told(" and then go on"),
        ];
        assert_eq!(
            fold(&pieces, 20),
            [
                "it is here,",
                "git loopx plan --reason 'the plan has: to change'",
                "and then go on"
            ]
        );
        assert_eq!(
            fold(&[Piece::told("one two three")], 7),
            ["one two", "three"]
        );
        let quoted = [
            Piece::told("(or LOOPX=0); `"),
            Piece::typed("git loopx verify"),
            Piece::told("` will tell"),
        ];
        assert_eq!(
            fold(&quoted, 24),
            ["(or LOOPX=0);", "`git loopx verify` will", "tell"]
        );
        let either = [
            Piece::typed("git loopx task done"),
            Piece::told("  or: "),
            Piece::typed("git loopx take"),
        ];
        assert_eq!(
            fold(&either, 26),
            ["git loopx task done", "or: git loopx take"]
        );
    }

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
