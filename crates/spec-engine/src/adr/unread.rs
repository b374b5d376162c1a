//! Records that are not read as records: texts in other formats, under other names, in folders of their own. A folder that
//! has some is not in order.

use super::record::Parts;
use super::{Record, Status, is_record};

/// Endings of the texts in which people keep records; only the first is read.
const TEXTS: [&str; 11] = [
    ".md",
    ".markdown",
    ".mdown",
    ".mdx",
    ".adoc",
    ".asciidoc",
    ".org",
    ".rst",
    ".html",
    ".htm",
    ".txt",
];

/// Titles of the section that says what was decided.
const DECIDED: [&str; 4] = ["decision", "decisions", "decision outcome", "the decision"];

/// The name of a text without its ending; nothing for another file. A name without a dot has no ending.
fn stem_of(file: &str) -> Option<&str> {
    if !file.contains('.') {
        return Some(file);
    }
    let name = file.to_lowercase();
    let ending = TEXTS.iter().find(|ending| name.ends_with(**ending))?;
    file.get(..file.len() - ending.len())
        .filter(|stem| !stem.is_empty())
}

/// Test for a text in which people keep records, whether it is read or not.
pub fn is_text(file: &str) -> bool {
    stem_of(file).is_some()
}

/// The number and the rest of a name like `ADR-0001-use-x`, which other tools give.
fn of_adr(stem: &str) -> Option<(u32, &str)> {
    let rest = stem
        .get(..3)
        .filter(|word| word.eq_ignore_ascii_case("adr"))?;
    let rest = stem[rest.len()..].trim_start_matches(['-', '_', ' ']);
    let end = rest.find(|c: char| !c.is_ascii_digit());
    let (digits, rest) = rest.split_at(end.unwrap_or(rest.len()));
    let is_short = digits.len() <= 6;
    let number = digits.parse().ok().filter(|_| is_short)?;
    Some((number, rest.trim_start_matches(['-', '_', '.', ' '])))
}

/// Test for a name that begins as names of records do, whatever its ending: with a number, a date, or `ADR-` and a
/// number.
pub fn is_named_like_one(file: &str) -> bool {
    stem_of(file).is_some_and(|stem| is_record(&format!("{stem}.md")) || of_adr(stem).is_some())
}

/// Test for the name of a page that stands for its folder.
fn is_page(stem: &str) -> bool {
    ["readme", "index"].contains(&stem.to_lowercase().as_str())
}

/// The name that a text would have as a record; `free` is the number for a name without one. A page that stands for its
/// folder has the name of the folder, where that is not the folder of all records.
pub fn named_as_record(file: &str, folder: Option<&str>, free: u32) -> String {
    let stem = stem_of(file).unwrap_or(file);
    let stem = folder.filter(|_| is_page(stem)).unwrap_or(stem);
    let stem = stem.strip_prefix("NNNN-").unwrap_or(stem);
    let name = format!("{stem}.md");
    if is_record(&name) {
        return name;
    }
    match of_adr(stem) {
        Some((number, "")) if number > 0 => format!("{number:04}-decision.md"),
        Some((number, rest)) if number > 0 => format!("{number:04}-{rest}.md"),
        _ => format!("{free:04}-{stem}.md"),
    }
}

/// Test for a text that is named like no record and reads like one.
pub fn reads_like_one(file: &str, text: &str) -> bool {
    let Some(stem) = stem_of(file) else {
        return false;
    };
    if is_pattern(stem) {
        return false;
    }
    let text = with_headings(file, text);
    let titles = Parts::of(&text).headings;
    let is_decided = titles
        .iter()
        .any(|title| DECIDED.contains(&plain(&title.text).as_str()));
    let says_status = says_status(&Record::read(file, &text));
    if is_page(stem) {
        // Most are about records, and show what sections they have.
        is_decided && says_status
    } else {
        is_decided || (says_status && is_named_like_one(file))
    }
}

/// Test for the name of a template: the word alone, or the first or last of a name without a number.
fn is_pattern(stem: &str) -> bool {
    let stem = stem.to_lowercase();
    let is_numbered = is_named_like_one(&format!("{stem}.md"));
    let words = stem.split(|c: char| !c.is_alphanumeric());
    let words: Vec<&str> = words
        .filter(|word| word.contains(|c: char| !c.is_ascii_digit()))
        .collect();
    let is_word = |word: Option<&&str>| word.is_some_and(|word| word.starts_with("template"));
    match words.as_slice() {
        [word] => is_word(Some(word)),
        words => !is_numbered && (is_word(words.first()) || is_word(words.last())),
    }
}

/// Test for the status of one record: a list of all that a status can be is none.
fn says_status(record: &Record) -> bool {
    let said = record.status_text.to_lowercase();
    let words: Vec<&str> = said.split(|c: char| !c.is_alphanumeric()).collect();
    let known = Status::ALL.iter();
    let known = known.filter(|status| words.contains(&status.name()));
    record.status.is_some() && known.count() <= 1
}

/// The title of a section without its number and its colon, in lower case.
fn plain(title: &str) -> String {
    let title = title.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ' '));
    title.trim_end_matches([':', ' ']).to_lowercase()
}

/// A text in which the headings of its format are those of Markdown.
fn with_headings(file: &str, text: &str) -> String {
    let name = file.to_lowercase();
    if name.ends_with(".html") || name.ends_with(".htm") {
        return of_html(text);
    }
    let mark = if name.ends_with(".org") { '*' } else { '=' };
    let lines: Vec<&str> = text.lines().collect();
    let mut out = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let level = line.len() - line.trim_start_matches(mark).len();
        let is_title = lines.get(at + 1).is_some_and(|next| underlines(next, line));
        match &line[level..] {
            rest if level > 0 && rest.starts_with(' ') => {
                out.push(format!("{}{rest}", "#".repeat(level.min(6))));
            }
            _ if name.ends_with(".rst") && is_title => out.push(format!("## {line}")),
            _ => out.push((*line).to_owned()),
        }
    }
    out.join("\n")
}

/// Test for a line of one sign below a title, as reStructuredText has it.
fn underlines(line: &str, title: &str) -> bool {
    let line = line.trim_end();
    let is_sign = |c: char| c.is_ascii_punctuation();
    let is_one = line
        .chars()
        .next()
        .is_some_and(|first| is_sign(first) && line.chars().all(|c| c == first));
    is_one && !title.trim().is_empty() && line.chars().count() >= title.trim().chars().count()
}

/// The headings of a page.
fn of_html(text: &str) -> String {
    let mut out = String::new();
    for part in text.split("<h").chain(text.split("<H")).skip(1) {
        let level = part.chars().next().and_then(|c| c.to_digit(10));
        let title = part.split_once('>').map(|(_, rest)| rest);
        let title = title.and_then(|rest| rest.split('<').next());
        if let (Some(level @ 1..=6), Some(title)) = (level, title) {
            let marks = "#".repeat(level as usize);
            out.push_str(&format!("{marks} {}\n\n", title.trim()));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{is_named_like_one, is_text, named_as_record, reads_like_one};

    const NYGARD: &str =
        "# Use X\n\n## Status\n\nAccepted\n\n## Context\n\nc\n\n## Decision\n\nd\n";

    #[test]
    fn q6_a_record_reads_like_one_in_each_format_and_under_each_name() {
        for (file, text) in [
            ("use-x.md", NYGARD),
            ("README.md", NYGARD),
            ("index.md", NYGARD),
            ("0001-use-x", NYGARD),
            ("0001-use-x.mdx", NYGARD),
            ("0001-use-template-engine.txt", NYGARD),
            ("0002-index-all.adoc", "= X\n\n== Decision\n\nd\n"),
            ("x.org", "#+TITLE: X\n* Status\nAccepted\n* Decision\nd\n"),
            ("x.rst", "X\n=\n\nDecision\n~~~~~~~~\n\nd\n"),
            ("x.html", "<h1>X</h1><h2 id=\"d\">Decision</h2><p>d</p>"),
            ("ADR-1.md", "# X\n\n* Status: accepted\n\nWe use X.\n"),
            ("adr-0001.md", "# X\n\n## 3. Decision:\n\nd\n"),
        ] {
            assert!(is_text(file) && reads_like_one(file, text), "{file}");
        }
        let about = "# Records\n\n## Status\n\nProposed, accepted or rejected\n\n## Decision\n\nWhat we do\n";
        for (file, text) in [
            ("README.md", "# Records\n\n- [Use X](0001-use-x.md)\n"),
            ("README.md", about),
            ("index.md", about),
            ("adr-template.md", NYGARD),
            ("template.md", NYGARD),
            ("0000-template.md", NYGARD),
            ("notes.md", "# Notes\n\nAccepted\n"),
            ("picture.svg", NYGARD),
            (".hidden", NYGARD),
            (".md", NYGARD),
        ] {
            assert!(!reads_like_one(file, text), "{file}");
        }
    }

    #[test]
    fn q6_a_text_has_a_name_as_a_record() {
        for (file, folder, name) in [
            ("0003-use-x.adoc", None, "0003-use-x.md"),
            ("use-x.md", None, "0007-use-x.md"),
            ("ADR-1.md", None, "0001-decision.md"),
            ("adr_0012-use-x.txt", None, "0012-use-x.md"),
            ("README.md", Some("0001-use-x"), "0001-use-x.md"),
            ("README.md", None, "0007-README.md"),
            ("decision.md", Some("0001-use-x"), "0007-decision.md"),
            ("NNNN-use-x.md", None, "0007-use-x.md"),
        ] {
            assert_eq!(named_as_record(file, folder, 7), name, "{file}");
        }
        assert!(is_named_like_one("0001-x.adoc") && is_named_like_one("ADR-1.md"));
        assert!(!is_named_like_one("adrift.md") && !is_named_like_one("2024.txt"));
    }
}
