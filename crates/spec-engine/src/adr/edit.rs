//! Edits of a record's text, each of one region: status, links, number, pin. Every other byte stays.
//!
//! The pinned text of an accepted record is everything but status, links and the pin itself, with
//! line ends as `\n`, so that `core.autocrlf` thaws nothing.

use super::record::{Layout, Parts, Record, Status, bullet_status, link_line, numbered, verb_key};
use super::text::{self, Front};
use crate::front::set_field;
use std::ops::Range;

/// The fields of a front matter that may change after acceptance.
const MUTABLE: [&str; 3] = ["status", "links", "frozen"];

/// The other side of a link, as the text names it.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// Number of the record; absent for a record that is named by its date.
    pub number: Option<u32>,
    pub title: &'a str,
    pub file: &'a str,
}

impl<'a> Target<'a> {
    /// Target for links to a record; `None` for a draft.
    pub fn of(record: &'a Record) -> Option<Self> {
        (!record.is_draft()).then_some(Target {
            number: record.number,
            title: &record.title,
            file: &record.file,
        })
    }

    fn in_brackets(self) -> String {
        let title = self.title.replace('\\', "\\\\");
        title.replace('[', "\\[").replace(']', "\\]")
    }
}

fn splice(text: &str, range: Range<usize>, new: &str) -> String {
    let mut out = String::with_capacity(text.len() + new.len());
    out.push_str(&text[..range.start]);
    out.push_str(new);
    out.push_str(&text[range.end..]);
    out
}

fn capitalised(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(chars).collect()
    })
}

/// The line of a Status section that says the status: the first that is neither empty nor a link.
fn status_line(text: &str, section: &Range<usize>) -> Option<Range<usize>> {
    text::lines(text, section.clone())
        .find(|(_, line)| !line.trim().is_empty() && link_line(line).is_none())
        .map(|(span, line)| span.start..span.start + line.trim_end().len())
}

/// The record with another status.
pub fn set_status(text: &str, status: Status) -> String {
    let word = status.name();
    let mut out = text.to_owned();
    let parts = Parts::of(&out);
    if let Some(section) = &parts.status_section {
        out = match status_line(&out, section) {
            Some(line) => splice(&out, line, &capitalised(word)),
            None => add_paragraph(&out, section.start, &capitalised(word)),
        };
    }
    match parts.layout(text) {
        Layout::Madr => set_field(&out, "status", word),
        Layout::Bullet => set_bullet(&out, word),
        Layout::Nygard if parts.status_section.is_none() => {
            add_status_section(&out, &parts, &capitalised(word))
        }
        Layout::Nygard => out,
    }
}

/// A paragraph at the end of a line, with a blank line before and after it.
fn add_paragraph(text: &str, at: usize, line: &str) -> String {
    let newline = text::newline(text);
    let before = if text[..at].ends_with('\n') { 1 } else { 2 };
    let rest = &text[at..];
    let below = rest
        .strip_prefix("\r\n")
        .or_else(|| rest.strip_prefix('\n'));
    let is_blank = |below: &str| below.is_empty() || below.starts_with(['\r', '\n']);
    let after = match below {
        Some(below) if is_blank(below) => 0,
        Some(_) => 1,
        None if rest.is_empty() => 1,
        None => 2,
    };
    let new = format!("{}{line}{}", newline.repeat(before), newline.repeat(after));
    splice(text, at..at, &new)
}

/// A `## Status` in front of the first section, as adr-tools has it.
fn add_status_section(text: &str, parts: &Parts, line: &str) -> String {
    let newline = text::newline(text);
    let at = parts.head.end;
    let before = if at > 0 && !text[..at].ends_with('\n') {
        format!("{newline}{newline}")
    } else {
        String::new()
    };
    let new = format!("{before}## Status{newline}{newline}{line}{newline}{newline}");
    splice(text, at..at, &new)
}

fn set_bullet(text: &str, value: &str) -> String {
    let parts = Parts::of(text);
    let found = text::lines(text, parts.head)
        .find_map(|(span, line)| bullet_status(line).map(|old| (span, line, old)));
    let Some((span, line, old)) = found else {
        return text.to_owned();
    };
    let end = span.start + line.trim_end().len();
    let new = if old.is_empty() {
        format!(" {value}")
    } else {
        value.to_owned()
    };
    splice(text, end - old.len()..end, &new)
}

/// The record as superseded by another: status and link in one. A record that is superseded already gets one more link.
pub fn supersede(text: &str, by: Target<'_>) -> String {
    let record = Record::read("", text);
    let is_closed = record.status == Some(Status::Superseded);
    if is_closed && record.links.iter().any(|link| link.key() == "supersededby") {
        return add_link(text, "superseded by", by);
    }
    let parts = Parts::of(text);
    match parts.layout(text) {
        Layout::Madr => {
            let numbered = parts
                .front
                .as_ref()
                .is_some_and(|front| front.field("number").is_some());
            // MADR 4 names the record in the status; `adrs`, which knows five words, in a link only.
            let status = if numbered {
                "superseded".to_owned()
            } else {
                match by.number {
                    Some(number) => format!("superseded by ADR-{number:04}"),
                    None => "superseded".to_owned(),
                }
            };
            let text = match &parts.status_section {
                Some(section) => match status_line(text, section) {
                    Some(line) => splice(text, line, "Superseded"),
                    None => text.to_owned(),
                },
                None => text.to_owned(),
            };
            add_link(&set_field(&text, "status", &status), "superseded by", by)
        }
        Layout::Bullet => set_bullet(
            text,
            &match by.number {
                Some(number) => format!("superseded by [ADR-{number:04}]({})", by.file),
                None => format!("superseded by [{}]({})", by.in_brackets(), by.file),
            },
        ),
        // As adr-tools does: the link takes the place of the word.
        Layout::Nygard => {
            let link = link_text("superseded by", by);
            let line = parts
                .status_section
                .as_ref()
                .and_then(|section| status_line(text, section));
            match line {
                Some(line) => splice(text, line, &link),
                None => add_link(text, "superseded by", by),
            }
        }
    }
}

fn link_text(verb: &str, to: Target<'_>) -> String {
    let title = to.in_brackets();
    let number = to.number.map_or_else(String::new, |n| format!("{n}. "));
    format!("{} [{number}{title}]({})", capitalised(verb), to.file)
}

/// The record with one more link; one that is there already is not written twice.
pub fn add_link(text: &str, verb: &str, to: Target<'_>) -> String {
    let record = Record::read("", text);
    let key = verb_key(verb);
    let stands = record.links.iter().any(|link| {
        link.key() == key
            && link
                .file
                .as_ref()
                .map_or(link.number.is_some() && link.number == to.number, |file| {
                    file == to.file
                })
            // What MADR's status line says is no entry of `links` yet.
            && (link.file.is_some() || record.layout != Layout::Madr)
    });
    if stands {
        return text.to_owned();
    }
    let parts = Parts::of(text);
    let newline = text::newline(text);
    match (parts.layout(text), &parts.front) {
        (Layout::Madr, Some(front)) => add_front_link(text, front, &key, to),
        (Layout::Madr | Layout::Bullet, _) => {
            let after = text::lines(text, parts.head.clone())
                .filter(|(_, line)| bullet_status(line).is_some() || link_line(line).is_some())
                .last();
            let (at, prefix) = after.map_or((parts.head.start, "* "), |(span, line)| {
                let bare = line.trim_start();
                (span.end, if bare.starts_with('-') { "- " } else { "* " })
            });
            let new = format!("{prefix}{}{newline}", link_text(verb, to));
            splice(text, at..at, &new)
        }
        (Layout::Nygard, _) => {
            let link = link_text(verb, to);
            match parts.status_section.clone() {
                Some(section) => {
                    let filled = text[section.clone()].trim_end().len();
                    let at = section.start + filled;
                    add_paragraph(text, at, &link)
                }
                None => add_status_section(text, &parts, &link),
            }
        }
    }
}

fn add_front_link(text: &str, front: &Front, key: &str, to: Target<'_>) -> String {
    let newline = text::newline(text);
    let items = |indent: &str| {
        format!(
            "{indent}- target: {}{newline}{indent}  kind: {key}{newline}{indent}  file: {}{newline}",
            to.number
                .map_or_else(|| to.file.to_owned(), |n| n.to_string()),
            to.file
        )
    };
    match front.field("links") {
        Some(field) => {
            let indent: String = text::lines(text, field.span.clone())
                .skip(1)
                .find(|(_, line)| line.trim_start().starts_with('-'))
                .map_or_else(
                    || "  ".to_owned(),
                    |(_, line)| line.chars().take_while(|c| *c == ' ').collect(),
                );
            let block = &text[field.span.clone()];
            // `links: []` becomes a block.
            if block.lines().count() == 1 {
                let new = format!("links:{newline}{}", items(&indent));
                return splice(text, field.span.clone(), &new);
            }
            splice(text, field.span.end..field.span.end, &items(&indent))
        }
        None => {
            let at = front.lines.end;
            splice(text, at..at, &format!("links:{newline}{}", items("  ")))
        }
    }
}

/// A field of the record's own: in the front matter, or in the trailing comment where there is none,
/// because adr-tools reads the title from the first line.
pub fn set_meta(text: &str, key: &str, value: &str) -> String {
    match text::front(text).0 {
        Some(_) => set_field(text, key, value),
        None => text::set_comment_field(text, key, value),
    }
}

/// The record under another number: heading and front matter, where they name one. A Nygard record
/// that has none in its heading gets one.
pub fn set_number(text: &str, number: u32) -> String {
    let mut out = text.to_owned();
    let parts = Parts::of(&out);
    if let Some(heading) = parts.title() {
        let at = heading.at.start;
        out = match numbered(&heading.text) {
            Some((old, rest)) => {
                let prefix = &heading.text[..rest];
                let start = prefix.find(|c: char| c.is_ascii_digit()).unwrap_or(0);
                let width = prefix[start..]
                    .find(|c: char| !c.is_ascii_digit())
                    .unwrap_or(0);
                let padded = width > old.to_string().len();
                let new = if padded {
                    format!("{number:0width$}")
                } else {
                    number.to_string()
                };
                splice(&out, at + start..at + start + width, &new)
            }
            None if parts.layout(&out) == Layout::Nygard => {
                splice(&out, at..at, &format!("{number}. "))
            }
            None => out,
        };
    }
    let has_field = text::front(&out)
        .0
        .is_some_and(|front| front.field("number").is_some());
    if has_field {
        out = set_field(&out, "number", &number.to_string());
    }
    out
}

/// Text that the pin of an accepted record covers.
pub fn pinned(text: &str) -> String {
    let parts = Parts::of(text);
    let mut cut: Vec<Range<usize>> = Vec::new();
    if let Some(front) = &parts.front {
        cut.extend(
            front
                .fields
                .iter()
                .filter(|field| MUTABLE.contains(&field.key.as_str()))
                .map(|field| field.span.clone()),
        );
    }
    cut.extend(parts.status_section.clone());
    if parts.layout(text) == Layout::Bullet {
        cut.extend(
            text::lines(text, parts.head.clone())
                .filter(|(_, line)| bullet_status(line).is_some() || link_line(line).is_some())
                .map(|(span, _)| span),
        );
    }
    cut.extend(text::comment(text));
    cut.sort_by_key(|range| range.start);
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for range in cut {
        if range.start > at {
            out.push_str(&text[at..range.start]);
        }
        at = at.max(range.end);
    }
    out.push_str(&text[at..]);
    let out = out.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    format!("{}\n", out.trim_end())
}

/// The record accepted, its body pinned by `hash`.
pub fn accept(text: &str, hash: impl Fn(&str) -> String) -> String {
    let text = set_status(text, Status::Accepted);
    let pin = hash(&pinned(&text));
    set_meta(&text, "frozen", &pin)
}

/// Tells whether the pin of a record holds; `None` where the record has no pin.
pub fn holds(record: &Record, hash: impl Fn(&str) -> String) -> Option<bool> {
    let pin = record.frozen.as_ref()?;
    Some(*pin == hash(&pinned(&record.text)))
}

#[cfg(test)]
mod tests {
    use super::{
        Target, accept, add_link, holds, pinned, set_meta, set_number, set_status, supersede,
    };
    use crate::adr::{Layout, Record, Status};

    const NYGARD: &str = "# 1. Use MySQL\r\n\r\nDate: 2020-01-02\r\n\r\n## Status\r\n\r\nAccepted\r\n\r\n## Context\r\n\r\nx  \r\n";
    const ADRS: &str = "---\nnumber: 1\ntitle: Use MySQL\nstatus: accepted # yes\nlinks:\n- target: 3\n  kind: amendedby\ntags:\n  - db\n---\n\n# Use MySQL\n\n## Context and Problem Statement\n\n---\nstatus: no\n";
    const BULLET: &str = "# Use MySQL\n\n* Status: accepted\n* Date: 2020-01-02\n\n## Context\n";

    fn to() -> Target<'static> {
        Target {
            number: Some(5),
            title: "A [b]",
            file: "0005-a-b.md",
        }
    }

    /// Hash that suffices to tell texts apart.
    fn hash(text: &str) -> String {
        format!(
            "{}-{}",
            text.len(),
            text.bytes().map(u64::from).sum::<u64>()
        )
    }

    #[test]
    fn the_three_forms_are_read() {
        let record = Record::read("0001-use-mysql.md", NYGARD);
        assert_eq!(record.layout, Layout::Nygard);
        assert_eq!(record.title, "Use MySQL");
        assert_eq!(record.inner_number, Some((1, 1)));
        assert_eq!(record.status, Some(Status::Accepted));
        assert_eq!(record.date.as_deref(), Some("2020-01-02"));
        let record = Record::read("0001-use-mysql.md", ADRS);
        assert_eq!(record.layout, Layout::Madr);
        assert_eq!(record.status, Some(Status::Accepted));
        assert_eq!(record.links[0].number, Some(3));
        assert_eq!(record.links[0].verb, "amended by");
        assert_eq!(record.links[0].line, 6);
        let record = Record::read("0001-use-mysql.md", BULLET);
        assert_eq!(record.layout, Layout::Bullet);
        assert_eq!(record.status, Some(Status::Accepted));
        assert_eq!(record.status_line, 3);
    }

    #[test]
    fn a_status_changes_one_line() {
        assert_eq!(
            set_status(NYGARD, Status::Deprecated),
            NYGARD.replace("\r\nAccepted\r\n", "\r\nDeprecated\r\n")
        );
        assert_eq!(
            set_status(ADRS, Status::Deprecated),
            ADRS.replace("status: accepted # yes", "status: deprecated")
        );
        assert_eq!(
            set_status(BULLET, Status::Deprecated),
            BULLET.replace("Status: accepted", "Status: deprecated")
        );
    }

    #[test]
    fn superseding_is_written_as_each_tool_does() {
        assert_eq!(
            supersede(NYGARD, to()),
            NYGARD.replace(
                "\r\nAccepted\r\n",
                "\r\nSuperseded by [5. A \\[b\\]](0005-a-b.md)\r\n"
            )
        );
        assert_eq!(
            supersede(ADRS, to()),
            ADRS.replace("status: accepted # yes", "status: superseded")
                .replace(
                    "  kind: amendedby\n",
                    "  kind: amendedby\n- target: 5\n  kind: supersededby\n  file: 0005-a-b.md\n"
                )
        );
        assert_eq!(
            supersede(BULLET, to()),
            BULLET.replace("accepted", "superseded by [ADR-0005](0005-a-b.md)")
        );
        for text in [NYGARD, ADRS, BULLET] {
            let record = Record::read("0001-x.md", &supersede(text, to()));
            assert_eq!(record.status, Some(Status::Superseded), "{text}");
            let link = record.links.iter().find(|l| l.key() == "supersededby");
            assert_eq!(link.expect("a link").number, Some(5), "{text}");
        }
    }

    #[test]
    fn a_link_is_added_once() {
        for text in [
            NYGARD,
            ADRS,
            BULLET,
            "# 1. X\n\n## Status\n\n## Context\n",
            "# 2. X\n",
        ] {
            let once = add_link(text, "amended by", to());
            let record = Record::read("0001-x.md", &once);
            let file = record.links.last().and_then(|link| link.file.clone());
            assert_eq!(file.as_deref(), Some("0005-a-b.md"), "{once}");
            assert_eq!(add_link(&once, "Amended by", to()), once);
        }
        let madr = "---\nstatus: superseded by ADR-0005\n---\n# X\n";
        let record = Record::read("0001-x.md", madr);
        assert_eq!(record.links[0].number, Some(5));
        assert_eq!(record.links[0].line, 2);
    }

    #[test]
    fn only_status_and_links_are_free() {
        for text in [NYGARD, ADRS, BULLET] {
            let accepted = accept(text, hash);
            let read = |text: &str| holds(&Record::read("0001-x.md", text), hash);
            assert_eq!(read(&accepted), Some(true), "{accepted}");
            assert_eq!(read(&supersede(&accepted, to())), Some(true), "{accepted}");
            assert_eq!(
                read(&add_link(&accepted, "amended by", to())),
                Some(true),
                "{accepted}"
            );
            assert_eq!(
                read(&accepted.replace("\r\n", "\n").replace('\n', "\r\n")),
                Some(true)
            );
            assert_eq!(read(&accepted.replace("Context", "Kontext")), Some(false));
            assert_eq!(read(text), None);
            assert_eq!(pinned(&accepted), pinned(text));
        }
    }

    #[test]
    fn a_number_changes_where_it_stands() {
        assert_eq!(
            set_number(NYGARD, 12),
            NYGARD.replace("# 1. Use", "# 12. Use")
        );
        assert_eq!(
            set_number(ADRS, 12),
            ADRS.replace("number: 1", "number: 12")
        );
        assert_eq!(set_number("# ADR-0001: X\n", 12), "# ADR-0012: X\n");
        assert_eq!(
            set_number("# X\n\n## Status\n\nProposed\n", 4),
            "# 4. X\n\n## Status\n\nProposed\n"
        );
        assert_eq!(
            set_number("---\nstatus: proposed\n---\n# X\n", 4),
            "---\nstatus: proposed\n---\n# X\n"
        );
    }

    #[test]
    fn what_is_ours_goes_where_other_tools_do_not_trip() {
        let text = set_meta(NYGARD, "id", "a1");
        assert!(text.starts_with("# 1. Use MySQL") && text.ends_with("<!-- loopx: id=a1 -->\r\n"));
        let text = set_meta(&text, "frozen", "ff");
        assert!(text.ends_with("<!-- loopx: id=a1 frozen=ff -->\r\n"));
        assert!(set_meta(ADRS, "id", "a1").contains("  - db\nid: a1\n---\n"));
    }
}
