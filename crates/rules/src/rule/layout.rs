//! The layout of a document of rules: front matter, sections, and in a section its rules and other lines. Each byte
//! belongs to one piece, so that the pieces in order are the document again.

use super::normal::normalised;
use loopx_spec::front::block;
use pulldown_cmark::{Event, Parser, Tag};
use std::collections::BTreeMap;
use std::ops::Range;

/// A document in pieces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout<'t> {
    /// The front matter with its two lines `---`, and a byte order mark.
    pub(super) front: &'t str,
    /// Text before the first heading, then a section for each heading.
    pub(super) sections: Vec<Section<'t>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Section<'t> {
    pub(super) key: SectionKey,
    /// The line of the heading; nothing before the first one.
    pub(super) heading: &'t str,
    pub(super) units: Vec<Unit<'t>>,
    /// Blank lines at the end.
    pub(super) tail: &'t str,
}

/// Key that tells sections apart: the level, the title, and how often that stood before.
pub(super) type SectionKey = (usize, String, usize);

/// Rule, or a line that belongs to none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unit<'t> {
    pub(super) key: UnitKey,
    /// Blank lines before the unit.
    pub(super) lead: &'t str,
    pub(super) text: &'t str,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum UnitKey {
    /// A rule, by its normalised text.
    Rule(String),
    /// Another line, as it stands.
    Line(String),
}

/// Range of a block of the page, in bytes.
enum Block {
    Heading(Range<usize>),
    Item(Range<usize>),
}

/// The headings and the items of lists that stand in nothing else.
fn blocks(body: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut depth = 0_usize;
    for (event, range) in Parser::new(body).into_offset_iter() {
        match event {
            Event::Start(tag) => {
                match (depth, tag) {
                    (0, Tag::Heading { .. }) => found.push(Block::Heading(range)),
                    // Items stand in nothing but lists.
                    (1, Tag::Item) => found.push(Block::Item(range)),
                    _ => {}
                }
                depth += 1;
            }
            Event::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    found
}

/// Offset where the text below the front matter begins.
pub(super) fn body_start(text: &str) -> usize {
    const BOM: char = '\u{feff}';
    match block(text) {
        Ok(Some((_, body))) => body,
        _ if text.starts_with(BOM) => BOM.len_utf8(),
        _ => 0,
    }
}

/// The lines that a block covers, blank ones at its end left out.
fn whole_lines(body: &str, range: &Range<usize>) -> Range<usize> {
    let start = body[..range.start].rfind('\n').map_or(0, |at| at + 1);
    let written = body[range.clone()].trim_end().len();
    let last = range.start + written;
    let end = body[last..]
        .find('\n')
        .map_or(body.len(), |at| last + at + 1);
    start..end
}

impl<'t> Layout<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        let (front, body) = text.split_at(body_start(text));
        let mut reader = Reader {
            body,
            at: 0,
            lead: 0,
            seen: BTreeMap::new(),
            sections: vec![Section::default()],
        };
        for block in blocks(body) {
            match block {
                Block::Heading(range) => reader.heading(&whole_lines(body, &range)),
                Block::Item(range) => reader.item(&whole_lines(body, &range)),
            }
        }
        reader.lines(body.len());
        reader.close();
        Layout {
            front,
            sections: reader.sections,
        }
    }

    /// The rules, each with where it begins in the document.
    pub(super) fn rules(&self) -> impl Iterator<Item = (usize, &Unit<'t>)> {
        let mut at = self.front.len();
        let mut found = Vec::new();
        for section in &self.sections {
            at += section.heading.len();
            for unit in &section.units {
                at += unit.lead.len();
                if matches!(unit.key, UnitKey::Rule(_)) {
                    found.push((at, unit));
                }
                at += unit.text.len();
            }
            at += section.tail.len();
        }
        found.into_iter()
    }
}

/// Cuts a body into pieces, from its start to its end.
struct Reader<'t> {
    body: &'t str,
    /// Up to here all is cut.
    at: usize,
    /// Offset where the blank lines before `at` begin.
    lead: usize,
    seen: BTreeMap<(usize, String), usize>,
    sections: Vec<Section<'t>>,
}

impl<'t> Reader<'t> {
    /// Takes the lines up to here that belong to no block.
    fn lines(&mut self, end: usize) {
        let Some(rest) = self.body.get(self.at..end) else {
            return;
        };
        for line in rest.split_inclusive('\n') {
            let start = self.at;
            self.at += line.len();
            if !line.trim().is_empty() {
                let key = UnitKey::Line(line.trim_end().to_owned());
                self.unit(start, key);
            }
        }
    }

    /// Puts the piece from here to `at` into the section.
    fn unit(&mut self, start: usize, key: UnitKey) {
        let (body, lead) = (self.body, self.lead);
        if let Some(section) = self.sections.last_mut() {
            section.units.push(Unit {
                key,
                lead: &body[lead..start],
                text: &body[start..self.at],
            });
        }
        self.lead = self.at;
    }

    fn item(&mut self, range: &Range<usize>) {
        self.lines(range.start);
        if range.end > self.at {
            let start = self.at;
            self.at = range.end;
            let key = UnitKey::Rule(normalised(&self.body[start..range.end]));
            self.unit(start, key);
        }
    }

    fn heading(&mut self, range: &Range<usize>) {
        self.lines(range.start);
        self.close();
        let heading = &self.body[range.clone()];
        let level = heading
            .trim_start()
            .bytes()
            .take_while(|b| *b == b'#')
            .count();
        let title = normalised(heading.trim().trim_matches('#'));
        let seen = self.seen.entry((level, title.clone())).or_default();
        let key = (level, title, *seen);
        *seen += 1;
        self.at = range.end;
        self.lead = range.end;
        self.sections.push(Section {
            key,
            heading,
            ..Section::default()
        });
    }

    /// Ends the section with the blank lines that are left.
    fn close(&mut self) {
        let tail = &self.body[self.lead..self.at];
        if let Some(section) = self.sections.last_mut() {
            section.tail = tail;
        }
        self.lead = self.at;
    }
}

#[cfg(test)]
mod tests {
    use super::{Layout, UnitKey};
    use proptest::prelude::*;

    fn whole(layout: &Layout<'_>) -> String {
        let mut text = layout.front.to_owned();
        for section in &layout.sections {
            text.push_str(section.heading);
            for unit in &section.units {
                text.push_str(unit.lead);
                text.push_str(unit.text);
            }
            text.push_str(section.tail);
        }
        text
    }

    #[test]
    fn rules_are_the_items_of_lists_that_stand_in_nothing_else() {
        let text = "---\ntitle: x\n---\n# T\n\nIntro\n- one\n  more\n  - nested\n\n- [ ] two\n\n```\n- code\n```\n\
                    > - quoted\n\nTwo\n===\n1. three\n\n<!--\n- hidden\n-->\n";
        let layout = Layout::of(text);
        assert_eq!(whole(&layout), text);
        let rules: Vec<&str> = layout.rules().map(|(_, unit)| unit.text).collect();
        assert_eq!(
            rules,
            ["- one\n  more\n  - nested\n", "- [ ] two\n", "1. three\n"]
        );
        for (at, unit) in layout.rules() {
            assert!(text[at..].starts_with(unit.text));
        }
        let titles: Vec<&str> = layout
            .sections
            .iter()
            .map(|one| one.key.1.as_str())
            .collect();
        assert_eq!(titles.len(), 3);
        assert_eq!(titles[1], "t");
        assert_eq!(
            layout.sections[1].units[0].key,
            UnitKey::Line("Intro".to_owned())
        );
    }

    proptest! {
        #[test]
        fn the_pieces_are_the_document(
            parts in prop::collection::vec(
                prop::sample::select(vec![
                    "- a", "* b", "1. c", "# H", "## h", "text", "", "  more", "```", "> q", "---", "===",
                    "<!--", "-->", "\u{feff}", "\t- t", "| a |", "é: ü", "- - n", "-",
                ]),
                0..24,
            ),
            ends in prop::collection::vec(prop::sample::select(vec!["\n", "\r\n", "\n\n", ""]), 24),
        ) {
            let text: String = parts.iter().zip(&ends).map(|(part, end)| format!("{part}{end}")).collect();
            prop_assert_eq!(whole(&Layout::of(&text)), text);
        }
    }
}
