//! A record as it is read: title, status, links, pin. Says nothing about whether it is right.
//!
//! Status and links stand in the front matter (MADR 4, `adrs`), in a `## Status` section (Nygard,
//! adr-tools), or on lines above the first section (MADR 2); all three are read, in that order.

use super::text::{self, Front, Heading};
use super::{date_of, number_of, slug_of};
use serde::Serialize;
use std::ops::Range;

/// Status of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    Draft,
    Proposed,
    Rejected,
    Accepted,
    Deprecated,
    Superseded,
}

impl Status {
    pub const ALL: [Status; 6] = [
        Status::Draft,
        Status::Proposed,
        Status::Rejected,
        Status::Accepted,
        Status::Deprecated,
        Status::Superseded,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Status::Draft => "draft",
            Status::Proposed => "proposed",
            Status::Rejected => "rejected",
            Status::Accepted => "accepted",
            Status::Deprecated => "deprecated",
            Status::Superseded => "superseded",
        }
    }

    /// Reads the first word, whatever its case; adr-tools writes `Superceded`.
    pub fn parse(text: &str) -> Option<Self> {
        let word = text
            .trim()
            .split(|c: char| !c.is_alphanumeric())
            .next()
            .unwrap_or_default()
            .to_lowercase();
        match word.as_str() {
            "superceded" => Some(Status::Superseded),
            word => Self::ALL.into_iter().find(|status| status.name() == word),
        }
    }
}

/// Sections that only MADR has, in lower case.
const MADR_SECTIONS: [&str; 2] = ["context and problem statement", "decision outcome"];

/// The form of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// Status in the front matter.
    Madr,
    /// A `## Status` section.
    Nygard,
    /// Status on a line above the first section (MADR 2, log4brains).
    Bullet,
}

/// A typed reference to another record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Link {
    /// Verb in words: `supersedes`, `amended by`.
    pub verb: String,
    pub number: Option<u32>,
    /// The file, where the link names one.
    pub file: Option<String>,
    #[serde(skip)]
    pub line: usize,
}

impl Link {
    pub fn key(&self) -> String {
        verb_key(&self.verb)
    }

    /// Tells whether the link names this record. Two records may share a number by accident: the file decides.
    pub fn names(&self, record: &Record) -> bool {
        match &self.file {
            Some(file) => *file == record.file,
            None => self.number.is_some() && self.number == record.number,
        }
    }
}

/// A verb without spaces, case and adr-tools' spelling, as `adrs` writes it: `supersededby`.
pub fn verb_key(verb: &str) -> String {
    let key: String = verb
        .chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect();
    key.replace("superced", "supersed")
}

/// Verbs of links, each with the words that the other side of the link says.
const REVERSES: [(&str, &str); 6] = [
    ("supersedes", "superseded by"),
    ("amends", "amended by"),
    ("clarifies", "clarified by"),
    ("extends", "extended by"),
    ("depends on", "is depended on by"),
    ("relates to", "relates to"),
];

/// The words of the other side of a link, where they are known.
pub fn reverse(verb: &str) -> Option<&'static str> {
    let key = verb_key(verb);
    REVERSES.iter().find_map(|(one, other)| {
        if verb_key(one) == key {
            Some(*other)
        } else if verb_key(other) == key {
            Some(*one)
        } else {
            None
        }
    })
}

/// The words of a verb that `adrs` wrote as one.
pub fn verb_words(verb: &str) -> String {
    let key = verb_key(verb);
    REVERSES
        .iter()
        .flat_map(|(one, other)| [*one, *other])
        .find(|words| verb_key(words) == key)
        .map_or_else(|| verb.trim().to_lowercase(), str::to_owned)
}

/// Tells whether a verb is the passive half of a pair: the other side is where the graph's arrow starts.
pub fn is_reverse(verb: &str) -> bool {
    let key = verb_key(verb);
    REVERSES
        .iter()
        .any(|(one, other)| one != other && verb_key(other) == key)
}

/// A decision record or a draft.
#[derive(Clone, Debug, Serialize)]
pub struct Record {
    /// The file's name in the folder.
    pub file: String,
    /// Number in the file name; a draft has none.
    pub number: Option<u32>,
    /// Random id, given once, by which a record is known whatever its number.
    pub id: Option<String>,
    pub title: String,
    pub layout: Layout,
    /// `None`: a word that is no status, or none at all.
    pub status: Option<Status>,
    pub status_text: String,
    pub date: Option<String>,
    pub session: Option<String>,
    pub links: Vec<Link>,
    /// The hash that the body had when it was accepted.
    pub frozen: Option<String>,
    #[serde(skip)]
    pub status_line: usize,
    #[serde(skip)]
    pub title_line: usize,
    /// The number in the heading (`# 3. Title`) or the front matter, with its line.
    #[serde(skip)]
    pub inner_number: Option<(u32, usize)>,
    /// Titles of its sections, in lower case.
    #[serde(skip)]
    pub sections: Vec<String>,
    #[serde(skip)]
    pub text: String,
}

/// The parts of a text that editing and pinning need.
pub(super) struct Parts {
    pub(super) front: Option<Front>,
    pub(super) headings: Vec<Heading>,
    /// Text below `## Status`.
    pub(super) status_section: Option<Range<usize>>,
    /// Text from the title to the next heading.
    pub(super) head: Range<usize>,
}

impl Parts {
    pub(super) fn of(text: &str) -> Self {
        let (front, body) = text::front(text);
        let headings = text::headings(text, body);
        let status_section = text::section(text, &headings, "Status");
        let start = headings
            .iter()
            .find(|h| h.level == 1)
            .map_or(body, |h| h.span.end);
        let end = headings.iter().find(|h| h.span.start >= start).map_or_else(
            || text::comment(text).map_or(text.len(), |comment| comment.start),
            |h| h.span.start,
        );
        Parts {
            front,
            headings,
            status_section,
            head: start..end.max(start),
        }
    }

    pub(super) fn layout(&self, text: &str) -> Layout {
        let in_front = |key| self.front.as_ref().is_some_and(|f| f.field(key).is_some());
        if in_front("status") {
            Layout::Madr
        } else if self.status_section.is_some() {
            Layout::Nygard
        } else if text::lines(text, self.head.clone())
            .any(|(_, line)| bullet_status(line).is_some())
        {
            Layout::Bullet
        } else if self.front.is_some() || self.has_madr_sections() {
            Layout::Madr
        } else {
            Layout::Nygard
        }
    }

    fn has_madr_sections(&self) -> bool {
        let mut sections = self.headings.iter().filter(|h| h.level == 2);
        sections.any(|h| MADR_SECTIONS.contains(&h.text.to_lowercase().as_str()))
    }

    /// A field of the front matter, with its line.
    fn field(&self, text: &str, key: &str) -> Option<(String, usize)> {
        let field = self.front.as_ref()?.field(key)?;
        Some((field.value.clone(), text::line_of(text, field.span.start)))
    }

    pub(super) fn title(&self) -> Option<&Heading> {
        self.headings.iter().find(|h| h.level == 1)
    }
}

/// The value of a `* Status: accepted` line.
pub(super) fn bullet_status(line: &str) -> Option<&str> {
    let bare = line.trim().trim_start_matches(['*', '-', '+']).trim_start();
    let (key, value) = bare.split_once(':')?;
    key.trim_matches('*')
        .trim()
        .eq_ignore_ascii_case("status")
        .then_some(value.trim())
}

/// `Verb [text](target.md)` on a line of its own.
pub(super) fn link_line(line: &str) -> Option<Link> {
    let bare = line.trim().trim_start_matches(['*', '-', '+']).trim_start();
    let open = bare.find('[')?;
    let middle = open + bare[open..].find("](")?;
    let close = middle + bare[middle..].find(')')?;
    let verb = bare[..open].trim().trim_end_matches(':');
    let is_word = !verb.is_empty()
        && verb
            .chars()
            .all(|c| c.is_alphabetic() || matches!(c, ' ' | '-'));
    let target = bare[middle + 2..close]
        .split('#')
        .next()
        .unwrap_or_default();
    let file = target.rsplit('/').next().unwrap_or_default();
    if !is_word || !file.ends_with(".md") {
        return None;
    }
    Some(Link {
        verb: verb_words(verb),
        number: number_of(file),
        file: Some(file.to_owned()),
        line: 0,
    })
}

/// The record that a status like `superseded by ADR-0005` or `... by [ADR-0005](0005-x.md)` names.
fn link_in_status(status: &str) -> Option<Link> {
    let key = verb_key(status);
    if !key.starts_with("supersededby") {
        return None;
    }
    if let Some(link) = link_line(status) {
        return Some(link);
    }
    let digits: String = status
        .chars()
        .skip_while(|c| !c.is_ascii_digit())
        .take_while(char::is_ascii_digit)
        .collect();
    Some(Link {
        verb: "superseded by".into(),
        number: Some(digits.parse().ok()?),
        file: None,
        line: 0,
    })
}

/// The links of a front matter: `- target: 9` / `kind: supersededby`, as `adrs` writes them.
fn front_links(text: &str, front: &Front) -> Vec<Link> {
    let Some(field) = front.field("links") else {
        return Vec::new();
    };
    let mut found: Vec<Link> = Vec::new();
    for (span, line) in text::lines(text, field.span.clone()).skip(1) {
        let bare = line.trim();
        let bare = match bare.strip_prefix('-') {
            Some(rest) => {
                found.push(Link {
                    verb: String::new(),
                    number: None,
                    file: None,
                    line: text::line_of(text, span.start),
                });
                rest.trim_start()
            }
            None => bare,
        };
        let (Some(link), Some((key, value))) = (found.last_mut(), bare.split_once(':')) else {
            continue;
        };
        let value = text::unquoted(value);
        match key.trim() {
            "target" => link.number = value.parse().ok(),
            "kind" => link.verb = verb_words(&value),
            "file" => link.file = Some(value),
            _ => {}
        }
    }
    found.retain(|link| !link.verb.is_empty());
    found
}

/// `3. Title`, `ADR-0003: Title`: the number and where the rest begins.
pub(super) fn numbered(title: &str) -> Option<(u32, usize)> {
    let start = match title.get(..3) {
        Some(adr) if adr.eq_ignore_ascii_case("adr") => {
            title[3..].find(|c: char| c.is_ascii_digit())? + 3
        }
        _ => 0,
    };
    let between = title.get(3..start).unwrap_or_default();
    if !between.chars().all(|c| matches!(c, '-' | ' ' | '#')) {
        return None;
    }
    let digits = title[start..]
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(title.len() - start);
    let after = &title[start + digits..];
    let separator = if start == 0 { ". " } else { ": " };
    let skip = if after.starts_with(separator) {
        2
    } else if start > 0 && (after.starts_with(". ") || after.starts_with(" - ")) {
        after.find(' ').unwrap_or(0) + 1
    } else {
        return None;
    };
    let number = title[start..start + digits].parse().ok()?;
    Some((number, start + digits + skip))
}

/// Title that a record gives itself.
struct Title {
    text: String,
    line: usize,
    /// Number of the record in the title, with the line of the number.
    number: Option<(u32, usize)>,
}

impl Title {
    /// The first heading; where there is none, the front matter.
    fn of(text: &str, parts: &Parts) -> Self {
        let number = parts.field(text, "number");
        let number = number.and_then(|(n, line)| Some((n.parse().ok()?, line)));
        let Some(heading) = parts.title() else {
            let title = parts.field(text, "title");
            let (text, line) = title.unwrap_or((String::new(), 1));
            return Title { text, line, number };
        };
        let line = text::line_of(text, heading.span.start);
        match numbered(&heading.text) {
            Some((number, rest)) => Title {
                text: heading.text[rest..].trim().to_owned(),
                line,
                number: Some((number, line)),
            },
            None => Title {
                text: heading.text.clone(),
                line,
                number,
            },
        }
    }
}

/// Status of a record and the links to other records beside it.
struct Standing {
    status: Option<Status>,
    /// The status as it was typed.
    text: String,
    line: usize,
    links: Vec<Link>,
}

impl Standing {
    fn of(text: &str, parts: &Parts, layout: Layout, title_line: usize) -> Self {
        let front = parts.front.as_ref();
        let (status, line) = parts
            .field(text, "status")
            .unwrap_or((String::new(), title_line));
        let mut standing = Standing {
            status: None,
            text: status,
            line,
            links: front
                .map(|front| front_links(text, front))
                .unwrap_or_default(),
        };
        standing.read_lines(text, parts, layout);
        standing.take_link_of_status();
        let superseded = standing.links.iter().any(|l| l.key() == "supersededby");
        standing.status = Status::parse(&standing.text);
        let is_unsaid = standing.text.is_empty();
        // adr-tools takes the status line away and leaves the link.
        if superseded && (is_unsaid || layout == Layout::Nygard) {
            standing.status = Some(Status::Superseded);
            if is_unsaid {
                standing.text = "superseded".into();
            }
        }
        standing
    }

    /// Reads the lines below `## Status`, or those above the first section.
    fn read_lines(&mut self, text: &str, parts: &Parts, layout: Layout) {
        let region = match (&parts.status_section, layout) {
            (Some(section), _) => section.clone(),
            (None, Layout::Bullet) => parts.head.clone(),
            _ => return,
        };
        for (span, line) in text::lines(text, region) {
            let at = text::line_of(text, span.start);
            if let Some(value) = bullet_status(line).filter(|_| layout == Layout::Bullet) {
                (self.text, self.line) = (value.to_owned(), at);
            } else if let Some(link) = link_line(line) {
                self.links.push(Link { line: at, ..link });
            } else if layout == Layout::Nygard && self.text.is_empty() && !line.trim().is_empty() {
                (self.text, self.line) = (line.trim().to_owned(), at);
            }
        }
    }

    fn take_link_of_status(&mut self) {
        let Some(link) = link_in_status(&self.text) else {
            return;
        };
        let is_same = |known: &Link| known.key() == link.key() && known.number == link.number;
        if !self.links.iter().any(is_same) {
            let line = self.line;
            self.links.push(Link { line, ..link });
        }
    }
}

/// The date in the front matter, or on a line above the first section.
fn date(text: &str, parts: &Parts) -> Option<String> {
    let in_front = parts.field(text, "date").map(|(value, _)| value);
    let in_head = || {
        text::lines(text, parts.head.clone()).find_map(|(_, line)| {
            let bare = line.trim().trim_start_matches(['*', '-', '+']).trim_start();
            let (key, value) = bare.split_once(':')?;
            key.eq_ignore_ascii_case("date")
                .then(|| value.trim().to_owned())
        })
    };
    in_front.or_else(in_head).filter(|date| !date.is_empty())
}

impl Record {
    /// Reads a file of the folder.
    pub fn read(file: &str, text: &str) -> Self {
        let parts = Parts::of(text);
        let layout = parts.layout(text);
        let comment = text::comment_fields(text);
        let meta = |key: &str| {
            let in_front = parts.field(text, key).map(|(value, _)| value);
            let in_comment = || {
                let pair = comment.iter().find(|(name, _)| name == key)?;
                Some(pair.1.clone())
            };
            in_front
                .or_else(in_comment)
                .filter(|value| !value.is_empty())
        };
        let title = Title::of(text, &parts);
        let standing = Standing::of(text, &parts, layout, title.line);
        let sections = parts
            .headings
            .iter()
            .filter(|h| h.level == 2)
            .map(|h| h.text.to_lowercase())
            .collect();
        Record {
            file: file.to_owned(),
            number: number_of(file),
            id: meta("id"),
            title: title.text,
            layout,
            status: standing.status,
            status_text: standing.text,
            date: date(text, &parts),
            session: meta("session"),
            links: standing.links,
            frozen: meta("frozen"),
            status_line: standing.line,
            title_line: title.line,
            inner_number: title.number,
            sections,
            text: text.to_owned(),
        }
    }

    pub fn is_draft(&self) -> bool {
        self.number.is_none() && date_of(&self.file).is_none()
    }

    /// Word by which commands name the record: the number, else the file.
    pub fn word(&self) -> String {
        self.number
            .map_or_else(|| self.file.clone(), |number| number.to_string())
    }

    /// Tells whether the record has MADR's sections, in which the status is optional.
    pub fn has_madr_sections(&self) -> bool {
        let of_madr = |title: &String| MADR_SECTIONS.contains(&title.as_str());
        self.sections.iter().any(of_madr)
    }

    /// The sections that its form asks for.
    pub fn needed(&self) -> [&'static str; 3] {
        const NYGARD: [&str; 3] = ["Context", "Decision", "Consequences"];
        const MADR: [&str; 3] = ["Context and Problem Statement", "Decision Outcome", ""];
        // `adrs` puts MADR's fields over Nygard's sections.
        let is_nygard_body = self.sections.iter().any(|title| title == "decision");
        match self.layout {
            Layout::Nygard if !self.has_madr_sections() => NYGARD,
            Layout::Madr if is_nygard_body => NYGARD,
            _ => MADR,
        }
    }

    pub fn slug(&self) -> &str {
        slug_of(&self.file)
    }

    /// `0003`, a date, or `draft`.
    pub fn label(&self) -> String {
        let date = date_of(&self.file).unwrap_or("draft");
        self.number
            .map_or_else(|| date.to_owned(), |number| format!("{number:04}"))
    }
}
