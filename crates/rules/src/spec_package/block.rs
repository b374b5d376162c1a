//! Blocks below headings, with the lines and the source of their parts. What stands in code and in comments is no
//! heading.

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use std::ops::Range;

/// A heading with what stands below it, up to the next heading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub level: usize,
    pub title: String,
    /// Counted from 1.
    pub line: usize,
    pub parts: Vec<Part>,
}

/// A part at the top of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Items of the list: their words on one line, and their lines.
    List(Vec<(String, usize)>, Range<usize>),
    Other(Range<usize>),
}

impl Block {
    /// The fields of the list that the block begins with: `- Name: value`.
    pub(super) fn field(&self, name: &str) -> Option<(&str, usize)> {
        self.fields()?.iter().find_map(|(text, line)| {
            let (key, value) = text.split_once(':')?;
            let key = key.trim_matches(['*', '_', ' ']);
            key.eq_ignore_ascii_case(name)
                .then(|| (value.trim_matches(['*', '_', ' ']), *line))
        })
    }

    fn fields(&self) -> Option<&[(String, usize)]> {
        match self.parts.first() {
            Some(Part::List(items, _)) => Some(items),
            _ => None,
        }
    }

    /// The source below the heading, its fields left out where `has_fields`.
    pub(super) fn prose(&self, text: &str, has_fields: bool) -> String {
        let skipped = usize::from(has_fields && self.fields().is_some());
        let parts = self.parts.iter().skip(skipped).map(|part| match part {
            Part::List(_, range) | Part::Other(range) => text[range.clone()].trim_end(),
        });
        parts.collect::<Vec<_>>().join("\n\n").trim().to_owned()
    }

    /// The items of all its lists.
    pub(super) fn items(&self) -> impl Iterator<Item = &(String, usize)> {
        self.parts.iter().flat_map(|part| match part {
            Part::List(items, _) => items.as_slice(),
            Part::Other(_) => &[],
        })
    }
}

/// Blocks below the front matter, by headings. What stands before the first heading is left out.
pub(super) fn blocks(text: &str, body: usize) -> Vec<Block> {
    let mut reader = Reader {
        text,
        body,
        found: Vec::new(),
        depth: 0,
        title: None,
        items: Vec::new(),
        item: None,
    };
    let below = &text[body..];
    for (event, range) in Parser::new_ext(below, Options::ENABLE_TABLES).into_offset_iter() {
        reader.take(event, body + range.start..body + range.end);
    }
    reader.found
}

struct Reader<'t> {
    text: &'t str,
    body: usize,
    found: Vec<Block>,
    /// Depth in blocks of the present place.
    depth: usize,
    title: Option<String>,
    items: Vec<(String, usize)>,
    item: Option<String>,
}

impl Reader<'_> {
    fn line(&self, at: usize) -> usize {
        self.text[..at].matches('\n').count() + 1
    }

    fn say(&mut self, words: &str) {
        if let Some(title) = &mut self.title {
            title.push_str(words);
        } else if let Some(item) = &mut self.item {
            item.push_str(words);
        }
    }

    fn take(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => {
                self.depth += 1;
                match tag {
                    Tag::Heading { level, .. } if self.depth == 1 => self.heading(level, &range),
                    Tag::List(_) if self.depth == 1 => self.items.clear(),
                    Tag::Item if self.depth == 2 => {
                        let line = self.line(range.start);
                        self.items.push((String::new(), line));
                        self.item = Some(String::new());
                    }
                    Tag::List(_) | Tag::Paragraph => self.say(" "),
                    _ => {}
                }
            }
            Event::End(tag) => {
                self.depth -= 1;
                self.end(tag, range);
            }
            Event::Code(words) => self.say(&format!("`{words}`")),
            Event::Text(words) => self.say(&words),
            Event::SoftBreak | Event::HardBreak => self.say(" "),
            _ => {}
        }
    }

    fn heading(&mut self, level: HeadingLevel, range: &Range<usize>) {
        self.found.push(Block {
            level: level as usize,
            title: String::new(),
            line: self.line(range.start.max(self.body)),
            parts: Vec::new(),
        });
        self.title = Some(String::new());
    }

    fn end(&mut self, tag: TagEnd, range: Range<usize>) {
        if tag == TagEnd::Item && self.depth == 1 {
            let words = self.item.take().unwrap_or_default();
            let words: Vec<&str> = words.split_whitespace().collect();
            if let Some((text, _)) = self.items.last_mut() {
                *text = words.join(" ");
            }
        }
        if self.depth > 0 {
            return;
        }
        let Some(block) = self.found.last_mut() else {
            return;
        };
        match tag {
            TagEnd::Heading(_) => {
                let title = self.title.take().unwrap_or_default();
                block.title = title.split_whitespace().collect::<Vec<_>>().join(" ");
            }
            TagEnd::List(_) => {
                let items = std::mem::take(&mut self.items);
                block.parts.push(Part::List(items, range));
            }
            TagEnd::HtmlBlock if self.text[range.clone()].trim_start().starts_with("<!--") => {}
            _ => block.parts.push(Part::Other(range)),
        }
    }
}
