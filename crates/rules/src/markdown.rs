//! Sections of an artifact: what stands under a heading, comments not counted.
//!
//! Read with a CommonMark parser, so that headings in code and comments are no headings.

use super::headings;
use super::policy::Language;
use loopx_spec::front::FrontMatter;
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use std::borrow::Cow;

/// A level-2 section.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Section {
    pub title: String,
    /// 1-based line of the heading.
    pub line: usize,
    /// Set when anything but comments, white space and sub-headings stands in the section.
    pub filled: bool,
    /// The text of its list items, one entry each.
    pub items: Vec<String>,
    /// Span of the section's text, in bytes, sub-headings included.
    pub span: std::ops::Range<usize>,
}

/// Size in bytes from which on a text is read in parts, and of a part: the parser keeps a tree of all that it is given,
/// which takes three times the memory of the text.
const PART: usize = 1024 * 1024;

/// The level-2 sections of a text, in order.
pub fn sections(text: &str) -> Vec<Section> {
    sections_by(text, PART)
}

fn sections_by(text: &str, size: usize) -> Vec<Section> {
    let mut reader = Reader::default();
    // A definition of a link may be used in any other part.
    let size = if text.contains("]:") {
        text.len()
    } else {
        size
    };
    let (mut start, mut wanted) = (0, size);
    while start < text.len() {
        let end = part_end(text, start, wanted);
        if reader.read(text, start..end) {
            (start, wanted) = (end, size);
        } else {
            wanted = (end - start).saturating_mul(2);
        }
    }
    reader.found
}

/// The end of a part that begins at `start` and has `size` bytes or more: a line with text behind an empty line.
fn part_end(text: &str, start: usize, size: usize) -> usize {
    let bytes = text.as_bytes();
    let mut at = start.saturating_add(size);
    while let Some(rest) = bytes.get(at..) {
        let Some(empty) = rest.windows(2).position(|two| two == b"\n\n") else {
            break;
        };
        at += empty + 2;
        // What is indented may belong to what stands above it.
        let is_text = |byte: &u8| !b" \t\r\n".contains(byte);
        if bytes.get(at).is_some_and(is_text) {
            return at;
        }
    }
    text.len()
}

/// Heading behind a part: where it is read as one, no block of the part goes on.
const WITNESS: &str = "## W\n";

/// Sections of a text that is read part by part.
#[derive(Default)]
struct Reader {
    found: Vec<Section>,
    /// Set below a level-2 heading.
    inside: bool,
    /// Lines up to `counted`.
    lines: usize,
    counted: usize,
}

impl Reader {
    /// Reads a part of a text; reads nothing of one that ends inside of a block, and says so.
    fn read(&mut self, text: &str, part: std::ops::Range<usize>) -> bool {
        if part.end == text.len() {
            return self.read_source(text, part.start, &text[part.clone()], usize::MAX);
        }
        let before = (self.found.len(), self.found.last().cloned());
        let (inside, lines, counted) = (self.inside, self.lines, self.counted);
        let source = [&text[part.clone()], WITNESS].concat();
        let is_read = self.read_source(text, part.start, &source, part.len());
        if !is_read {
            self.found.truncate(before.0);
            if let (Some(last), Some(known)) = (self.found.last_mut(), before.1) {
                *last = known;
            }
            (self.inside, self.lines, self.counted) = (inside, lines, counted);
        }
        is_read
    }

    /// Reads a source that begins at `start` of the text, up to a witness at `end` of the source; `false` where the
    /// witness is not read as a heading.
    fn read_source(&mut self, text: &str, start: usize, source: &str, end: usize) -> bool {
        let mut heading: Option<HeadingLevel> = None;
        let mut title = String::new();
        let mut item: Option<String> = None;
        let mut html = String::new();
        for (event, range) in Parser::new(source).into_offset_iter() {
            let is_witness = range.start == end;
            let range = range.start + start..range.end + start;
            match event {
                Event::Start(Tag::Heading { .. }) if is_witness => return true,
                Event::Start(Tag::Heading { level, .. }) => {
                    heading = Some(level);
                    title.clear();
                    self.count_to(text, range.start);
                    if let (true, HeadingLevel::H1 | HeadingLevel::H2, Some(section)) =
                        (self.inside, level, self.found.last_mut())
                    {
                        section.span.end = range.start;
                    }
                }
                Event::End(TagEnd::Heading(level)) => {
                    heading = None;
                    if level == HeadingLevel::H2 {
                        self.inside = true;
                        self.found.push(Section {
                            title: title.trim().to_owned(),
                            line: self.lines + 1,
                            span: range.end..text.len(),
                            ..Section::default()
                        });
                    } else if level == HeadingLevel::H1 {
                        self.inside = false;
                    }
                }
                Event::Start(Tag::Item) => item = Some(String::new()),
                Event::End(TagEnd::Item) => {
                    if let (Some(item), Some(section)) = (item.take(), self.section())
                        && !item.trim().is_empty()
                    {
                        section.items.push(item.trim().to_owned());
                    }
                }
                Event::Start(Tag::HtmlBlock) => html.clear(),
                Event::End(TagEnd::HtmlBlock) => {
                    if let Some(section) = self.section() {
                        section.filled |= !without_comments(&html).trim().is_empty();
                    }
                }
                Event::Html(part) => html.push_str(&part),
                Event::InlineHtml(part) => {
                    if let Some(section) = self.section() {
                        section.filled |= !part.starts_with("<!--");
                    }
                }
                Event::Text(part) | Event::Code(part) => {
                    if heading.is_some() {
                        title.push_str(&part);
                    } else if let Some(section) = self.section() {
                        section.filled |= !part.trim().is_empty();
                        if let Some(item) = &mut item {
                            item.push_str(&part);
                        }
                    }
                }
                Event::SoftBreak | Event::HardBreak => {
                    if let Some(item) = &mut item {
                        item.push(' ');
                    }
                }
                _ => {}
            }
        }
        end == usize::MAX
    }

    /// The section that is read.
    fn section(&mut self) -> Option<&mut Section> {
        self.found.last_mut().filter(|_| self.inside)
    }

    /// Counts the lines up to a place.
    fn count_to(&mut self, text: &str, at: usize) {
        self.lines += text[self.counted..at].matches('\n').count();
        self.counted = at;
    }
}

/// The box of a task list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkbox {
    /// 1-based line.
    pub line: usize,
    pub text: String,
    pub is_ticked: bool,
}

/// The boxes of the task lists of a text. What stands in code and in comments is none.
pub fn boxes(text: &str) -> Vec<Checkbox> {
    let mut found: Vec<Checkbox> = Vec::new();
    let mut open: Option<Checkbox> = None;
    for (event, range) in Parser::new_ext(text, Options::ENABLE_TASKLISTS).into_offset_iter() {
        match event {
            Event::TaskListMarker(is_ticked) => {
                found.extend(open.take());
                open = Some(Checkbox {
                    line: text[..range.start].matches('\n').count() + 1,
                    text: String::new(),
                    is_ticked,
                });
            }
            Event::Text(part) | Event::Code(part) => {
                if let Some(open) = &mut open {
                    open.text.push_str(&part);
                }
            }
            Event::SoftBreak | Event::HardBreak => {
                if let Some(open) = &mut open {
                    open.text.push(' ');
                }
            }
            Event::Start(Tag::Item) | Event::End(TagEnd::Item) => found.extend(open.take()),
            _ => {}
        }
    }
    for one in &mut found {
        one.text = one.text.trim().to_owned();
    }
    found
}

/// The section with that title, whatever the letter case and the language.
pub fn section<'a>(sections: &'a [Section], title: &str) -> Option<&'a Section> {
    sections
        .iter()
        .find(|section| headings::is_same(&section.title, title))
}

/// The sections of these that hold nothing, as the text names them; those that are not there, in this language.
pub fn empty_sections(text: &str, asked: &[String], language: Language) -> Vec<String> {
    let sections = sections(text);
    let empty = asked
        .iter()
        .filter_map(|title| match section(&sections, title) {
            Some(section) if section.filled => None,
            Some(section) => Some(section.title.clone()),
            None => Some(headings::written(title, language).to_owned()),
        });
    empty.collect()
}

/// The text that somebody wrote: without its front matter, its comments and the headings that templates have.
pub fn said(text: &str) -> String {
    let body = FrontMatter::parse(text).map_or(0, |front| front.body_offset());
    let written = without_comments(&text[body..]);
    let own = written.lines().filter(|line| {
        let title = line.strip_prefix("## ").unwrap_or_default();
        !headings::is_known(title.trim())
    });
    own.collect::<Vec<_>>().join("\n")
}

/// Tells whether a text has nothing but front matter, headings and comments.
pub fn is_blank(text: &str) -> bool {
    let body = FrontMatter::parse(text).map_or(0, |front| front.body_offset());
    let written = without_comments(&text[body..]);
    let mut lines = written.lines().map(str::trim);
    lines.all(|line| line.is_empty() || line.starts_with('#'))
}

/// The text of a section without its comments, if anything is left of it.
pub fn section_text(text: &str, title: &str) -> Option<String> {
    let sections = sections(text);
    let section = section(&sections, title).filter(|s| s.filled)?;
    Some(
        without_comments(&text[section.span.clone()])
            .trim()
            .to_owned(),
    )
}

/// A text line by line, with nothing where comments and fenced code stand.
pub fn without_asides(text: &str) -> String {
    let mut out: Vec<u8> = text.bytes().collect();
    let mut blank = |range: std::ops::Range<usize>| {
        for byte in out.get_mut(range).into_iter().flatten() {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
    };
    for (event, range) in Parser::new(text).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))) => blank(range),
            Event::Start(Tag::HtmlBlock) | Event::InlineHtml(_) => {
                let mut from = range.start;
                while let Some(start) = text[from..range.end].find("<!--") {
                    let start = from + start;
                    let end = text[start..range.end].find("-->");
                    from = end.map_or(range.end, |end| start + end + 3);
                    blank(start..from);
                }
            }
            _ => {}
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// HTML without its comments; an unclosed comment runs to the end.
fn without_comments(html: &str) -> Cow<'_, str> {
    if !html.contains("<!--") {
        return Cow::Borrowed(html);
    }
    let mut out = String::new();
    let mut rest = html;
    while let Some(start) = rest.find("<!--") {
        out.push_str(&rest[..start]);
        match rest[start..].find("-->") {
            Some(end) => rest = &rest[start + end + 3..],
            None => return Cow::Owned(out),
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Letters of a text, for the language rule: CJK ideographs and Latin letters.
pub fn letters(text: &str) -> (usize, usize) {
    let mut cjk = 0;
    let mut latin = 0;
    for c in text.chars() {
        match c {
            '\u{3400}'..='\u{4dbf}'
            | '\u{4e00}'..='\u{9fff}'
            | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{2fa1f}' => {
                cjk += 1;
            }
            c if c.is_ascii_alphabetic() => latin += 1,
            _ => {}
        }
    }
    (cjk, latin)
}

/// Chinese: at least 40 ideographs, or at least 8 that are a fifth of all letters (reference
/// stage-runtime, section 6).
pub fn is_chinese(cjk: usize, latin: usize) -> bool {
    cjk >= 40 || (cjk >= 8 && cjk * 5 >= cjk + latin)
}

#[cfg(test)]
mod tests {
    use super::{is_chinese, section, sections, sections_by};
    use proptest::prelude::*;

    fn line() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec![
            "## A",
            "# B",
            "### C",
            "",
            "",
            "",
            "text",
            "- item",
            "  more",
            "1. one",
            "> quote",
            "```",
            "~~~",
            "<!-- comment",
            "-->",
            "<div>",
            "</div>",
            "<pre>",
            "</pre>",
            "    code",
            "===",
            "---",
            "[a] and `b`",
            "a <b>",
        ])
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn t10_a_text_that_is_read_in_parts_has_the_sections_of_the_whole(
            lines in prop::collection::vec(line(), 0..40),
            size in 1_usize..40,
        ) {
            let text = lines.join("\n");
            prop_assert_eq!(sections_by(&text, size), sections_by(&text, usize::MAX), "{:?}", text);
        }
    }

    #[test]
    fn comments_white_space_and_fenced_headings_fill_nothing() {
        let text = "# T\n\n## A\n\n<!-- guidance -->\n\n## B\n\n- one\n  more\n- `two`\n\n## C\n\n```\n## D\n```\n\n## E\n\n### sub\n";
        let found = sections(text);
        let titles: Vec<(&str, usize, bool)> = found
            .iter()
            .map(|s| (s.title.as_str(), s.line, s.filled))
            .collect();
        assert_eq!(
            titles,
            [
                ("A", 3, false),
                ("B", 7, true),
                ("C", 13, true),
                ("E", 19, false)
            ]
        );
        assert_eq!(section(&found, "b").expect("B").items, ["one more", "two"]);
    }

    #[test]
    fn the_language_rule_has_the_thresholds_of_the_reference() {
        let table = [
            (8, 32, true),
            (8, 33, false),
            (40, 9999, true),
            (7, 0, false),
        ];
        for (cjk, latin, chinese) in table {
            assert_eq!(is_chinese(cjk, latin), chinese, "{cjk} + {latin}");
        }
    }
}
