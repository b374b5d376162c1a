//! Sections of an artifact: what stands under a heading, comments not counted.
//!
//! Read with a CommonMark parser, so that headings in code and comments are no headings.

use super::headings;
use super::policy::Language;
use loopx_spec::front::FrontMatter;
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

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

/// The level-2 sections of a text, in order.
pub fn sections(text: &str) -> Vec<Section> {
    let mut found: Vec<Section> = Vec::new();
    let mut heading: Option<HeadingLevel> = None;
    let mut title = String::new();
    let mut inside = false;
    let mut item: Option<String> = None;
    let mut html = String::new();
    let mut line = 1;
    let mut counted = 0;
    for (event, range) in Parser::new(text).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                heading = Some(level);
                title.clear();
                line += text[counted..range.start].matches('\n').count();
                counted = range.start;
                if let (true, HeadingLevel::H1 | HeadingLevel::H2, Some(section)) =
                    (inside, level, found.last_mut())
                {
                    section.span.end = range.start;
                }
            }
            Event::End(TagEnd::Heading(level)) => {
                heading = None;
                if level == HeadingLevel::H2 {
                    inside = true;
                    found.push(Section {
                        title: title.trim().to_owned(),
                        line,
                        span: range.end..text.len(),
                        ..Section::default()
                    });
                } else if level == HeadingLevel::H1 {
                    inside = false;
                }
            }
            Event::Start(Tag::Item) => item = Some(String::new()),
            Event::End(TagEnd::Item) => {
                if let (Some(item), true, Some(section)) = (item.take(), inside, found.last_mut())
                    && !item.trim().is_empty()
                {
                    section.items.push(item.trim().to_owned());
                }
            }
            Event::Start(Tag::HtmlBlock) => html.clear(),
            Event::End(TagEnd::HtmlBlock) => {
                if let (true, Some(section)) = (inside, found.last_mut()) {
                    section.filled |= !without_comments(&html).trim().is_empty();
                }
            }
            Event::Html(part) => html.push_str(&part),
            Event::InlineHtml(part) => {
                if let (true, Some(section)) = (inside, found.last_mut()) {
                    section.filled |= !part.starts_with("<!--");
                }
            }
            Event::Text(part) | Event::Code(part) => {
                if heading.is_some() {
                    title.push_str(&part);
                } else if let (true, Some(section)) = (inside, found.last_mut()) {
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
    found
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
fn without_comments(html: &str) -> String {
    let mut out = String::new();
    let mut rest = html;
    while let Some(start) = rest.find("<!--") {
        out.push_str(&rest[..start]);
        match rest[start..].find("-->") {
            Some(end) => rest = &rest[start + end + 3..],
            None => return out,
        }
    }
    out.push_str(rest);
    out
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
    use super::{is_chinese, section, sections};

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
