//! The parts of a record's text, as byte ranges: front matter fields, headings, the lines of a region,
//! and the trailing comment that carries what Nygard's form has no place for.
//!
//! Lenient on purpose: other tools wrote these files, and a range that is not found is simply absent.

use crate::front;
use pulldown_cmark::{Event, HeadingLevel, Parser, Tag};
use std::ops::Range;

/// A top-level field of the front matter with everything that belongs to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    pub key: String,
    /// The scalar without quotes; empty for a list.
    pub value: String,
    /// Range of the field's lines, with the indented ones and list items that follow.
    pub span: Range<usize>,
}

/// Front matter: the range of its lines, and its fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Front {
    pub lines: Range<usize>,
    pub fields: Vec<Field>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heading {
    pub level: u8,
    /// The text as it was typed.
    pub text: String,
    /// The text's bytes in the file.
    pub at: Range<usize>,
    /// The whole heading, its line end included.
    pub span: Range<usize>,
}

/// The 1-based line of a byte.
pub fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at.min(text.len())]
        .iter()
        .filter(|byte| **byte == b'\n')
        .count()
        + 1
}

/// The line ending that the text uses.
pub fn newline(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// The lines of a region, line ends included, with their ranges.
pub fn lines(text: &str, region: Range<usize>) -> impl Iterator<Item = (Range<usize>, &str)> {
    let mut at = region.start;
    text[region].split_inclusive('\n').map(move |line| {
        let start = at;
        at += line.len();
        (start..at, line)
    })
}

/// The front matter, and the offset of what is below it.
pub fn front(text: &str) -> (Option<Front>, usize) {
    let Ok(Some((yaml, body))) = front::block(text) else {
        let bom = '\u{feff}';
        return (
            None,
            if text.starts_with(bom) {
                bom.len_utf8()
            } else {
                0
            },
        );
    };
    let start = text[..body].find("---").map_or(0, |dashes| {
        text[dashes..]
            .find('\n')
            .map_or(body, |newline| dashes + newline + 1)
    });
    let region = start..start + yaml.len();
    let mut fields: Vec<Field> = Vec::new();
    for (span, line) in lines(text, region.clone()) {
        let bare = line.trim_end();
        let continues = bare.is_empty()
            || bare.starts_with([' ', '\t', '-', '#', ']', '}'])
            || !bare.contains(':');
        if continues {
            // A comment before the next field belongs to nobody, and stays.
            if let Some(last) = fields.last_mut()
                && !bare.is_empty()
                && !bare.starts_with('#')
            {
                last.span.end = span.end;
            }
            continue;
        }
        let (key, value) = bare.split_once(':').unwrap_or((bare, ""));
        fields.push(Field {
            key: key.trim().to_owned(),
            value: unquoted(value),
            span,
        });
    }
    (
        Some(Front {
            lines: region,
            fields,
        }),
        body,
    )
}

impl Front {
    pub fn field(&self, key: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.key == key)
    }
}

/// A YAML scalar without its quotes or its comment.
pub fn unquoted(value: &str) -> String {
    let value = value.trim();
    for quote in ['"', '\''] {
        if let Some(rest) = value.strip_prefix(quote)
            && let Some(end) = rest.rfind(quote)
        {
            let inner = &rest[..end];
            return match quote {
                '\'' => inner.replace("''", "'"),
                _ => inner.replace("\\\"", "\"").replace("\\\\", "\\"),
            };
        }
    }
    let bare = value.split(" #").next().unwrap_or_default().trim_end();
    if matches!(bare, "~" | "null") {
        String::new()
    } else {
        bare.to_owned()
    }
}

/// The headings below the front matter. Headings in code and comments are none.
pub fn headings(text: &str, body: usize) -> Vec<Heading> {
    let mut found = Vec::new();
    for (event, range) in Parser::new(&text[body..]).into_offset_iter() {
        let Event::Start(Tag::Heading { level, .. }) = event else {
            continue;
        };
        let span = body + range.start..body + range.end;
        let first = text[span.clone()].lines().next().unwrap_or_default();
        let bare = first.trim_start();
        let marks = bare.len() - bare.trim_start_matches('#').len();
        let inner = bare[marks..].trim();
        let start = span.start + (first.len() - first.trim_start().len()) + marks;
        let start = start + (bare[marks..].len() - bare[marks..].trim_start().len());
        found.push(Heading {
            level: match level {
                HeadingLevel::H1 => 1,
                HeadingLevel::H2 => 2,
                _ => 3,
            },
            text: inner.to_owned(),
            at: start..start + inner.len(),
            span,
        });
    }
    found
}

/// Range of the text below the first level-2 heading with this title, up to the next heading of level 1 or 2.
pub fn section(text: &str, headings: &[Heading], title: &str) -> Option<Range<usize>> {
    let at = headings
        .iter()
        .position(|h| h.level == 2 && h.text.eq_ignore_ascii_case(title))?;
    let end = headings[at + 1..]
        .iter()
        .find(|h| h.level <= 2)
        .map_or_else(
            || comment(text).map_or(text.len(), |c| c.start),
            |h| h.span.start,
        );
    Some(headings[at].span.end..end.max(headings[at].span.end))
}

const OPEN: &str = "<!-- loopx:";

/// The trailing comment `<!-- loopx: key=value ... -->`, its line.
pub fn comment(text: &str) -> Option<Range<usize>> {
    let start = text.rfind(OPEN)?;
    let end = start + text[start..].find("-->")? + "-->".len();
    let is_last = text[end..].trim().is_empty();
    let begins_line = start == 0 || text[..start].ends_with('\n');
    (is_last && begins_line).then_some(start..text.len())
}

/// The keys of the trailing comment.
pub fn comment_fields(text: &str) -> Vec<(String, String)> {
    let Some(range) = comment(text) else {
        return Vec::new();
    };
    let inner = text[range].trim();
    let inner = inner.strip_prefix(OPEN).unwrap_or(inner);
    let inner = inner.strip_suffix("-->").unwrap_or(inner);
    inner
        .split_whitespace()
        .filter_map(|pair| pair.split_once('='))
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

/// `text` with one key of the trailing comment set; the comment is made where there is none.
pub fn set_comment_field(text: &str, key: &str, value: &str) -> String {
    let mut fields = comment_fields(text);
    match fields.iter_mut().find(|(name, _)| name == key) {
        Some((_, old)) => value.clone_into(old),
        None => fields.push((key.to_owned(), value.to_owned())),
    }
    let newline = newline(text);
    let mut out = match comment(text) {
        Some(range) => text[..range.start].to_owned(),
        None => {
            let mut out = text.to_owned();
            if !out.is_empty() && !out.ends_with('\n') {
                out.push_str(newline);
            }
            out.push_str(newline);
            out
        }
    };
    out.push_str(OPEN);
    for (key, value) in fields {
        out.push_str(&format!(" {key}={value}"));
    }
    out.push_str(" -->");
    out.push_str(newline);
    out
}
