//! Layout of a spec or a delta: sections, requirements, scenarios and notes as byte ranges.
//!
//! Ranges of siblings touch and cover their parent, so that a text can be written back byte for byte.
//! Reads the outline through the words; judges nothing.

use super::outline::{Block, Heading, OpenKind, Outline};
use super::words::{self, Language, OpKind, SectionWord};
use loopx_base::findings::Notes;
use std::ops::Range;
use std::rc::Rc;

const BOM: &str = "\u{feff}";

#[derive(Debug)]
pub(crate) struct Layout<'t> {
    pub text: &'t str,
    pub outline: Rc<Outline>,
    /// Bytes of the byte order mark: 0 or 3.
    pub bom: usize,
    /// The inside of a leading `---` block.
    pub front: Option<Range<usize>>,
    /// Text before the first section, front matter included.
    pub lead: Range<usize>,
    pub sections: Vec<Section>,
}

#[derive(Debug)]
pub(crate) struct Section {
    pub level: u8,
    pub title: Range<usize>,
    pub word: Option<(SectionWord, Language)>,
    pub heading: Range<usize>,
    /// Text between the heading and the first item.
    pub(crate) intro: Range<usize>,
    pub items: Vec<Item>,
    pub range: Range<usize>,
}

#[derive(Debug)]
pub(crate) enum ItemKind {
    Requirement {
        name: Range<usize>,
    },
    /// A foreign level-3 heading with what is below it, or rules and comments behind a requirement.
    Note,
}

#[derive(Debug)]
pub(crate) struct Item {
    pub kind: ItemKind,
    /// Heading of the item; absent for rules and comments.
    pub heading: Option<Range<usize>>,
    /// The comment line that carries the stable id, and the id in it.
    pub id: Option<(Range<usize>, Range<usize>)>,
    /// Text between the heading (and id) and the first child.
    pub body: Range<usize>,
    pub children: Vec<Child>,
    pub range: Range<usize>,
}

#[derive(Debug)]
pub(crate) struct Child {
    /// Heading of the scenario; absent for a level-4 heading that is no scenario.
    pub scenario: Option<ScenarioHeading>,
    pub title: Range<usize>,
    pub heading: Range<usize>,
    pub body: Range<usize>,
    pub range: Range<usize>,
}

#[derive(Debug)]
pub(crate) struct ScenarioHeading {
    pub op: Option<OpKind>,
    pub name: Range<usize>,
}

impl<'t> Layout<'t> {
    pub(crate) fn read(text: &'t str) -> Layout<'t> {
        let bom = if text.starts_with(BOM) { BOM.len() } else { 0 };
        let (front, start) = front_matter(text, bom);
        let outline = Outline::read(text, start);
        let mut layout = Layout {
            text,
            bom,
            front,
            lead: bom..text.len(),
            sections: Vec::new(),
            outline,
        };
        layout.fill();
        layout
    }

    /// A text that is one requirement, from its heading on, without a section around it: the items that it has.
    pub(crate) fn of_block(text: &'t str) -> (Layout<'t>, Vec<Item>) {
        let layout = Layout {
            text,
            outline: Outline::read(text, 0),
            bom: 0,
            front: None,
            lead: 0..0,
            sections: Vec::new(),
        };
        let mut items = Vec::new();
        layout.item(&layout.outline.headings, text.len(), &mut items);
        (layout, items)
    }

    pub(crate) fn slice(&self, range: &Range<usize>) -> &'t str {
        self.text.get(range.clone()).unwrap_or_default()
    }

    pub(crate) fn line(&self, at: usize) -> usize {
        self.outline.line(at)
    }

    fn fill(&mut self) {
        let outline = Rc::clone(&self.outline);
        let headings = &outline.headings;
        let tops: Vec<usize> = (0..headings.len())
            .filter(|index| headings.get(*index).is_some_and(|h| h.level <= 2))
            .collect();
        let end_of_lead = tops
            .first()
            .and_then(|index| headings.get(*index))
            .map_or(self.text.len(), |h| h.range.start);
        self.lead = self.bom..end_of_lead.max(self.bom);
        for (nth, index) in tops.iter().enumerate() {
            let next = tops.get(nth + 1).copied().unwrap_or(headings.len());
            let end = headings
                .get(next)
                .map_or(self.text.len(), |h| h.range.start);
            if let Some(inside) = headings.get(*index..next) {
                let section = self.section(inside, end);
                self.sections.push(section);
            }
        }
    }

    /// `headings[0]` opens the section; the rest is below it.
    fn section(&self, headings: &[Heading], end: usize) -> Section {
        let (level, title, heading) = match headings.first() {
            Some(first) => (first.level, first.title.clone(), first.range.clone()),
            None => (2, 0..0, 0..0),
        };
        let mut items = Vec::new();
        let starts: Vec<usize> = (1..headings.len())
            .filter(|index| headings.get(*index).is_some_and(|h| h.level == 3))
            .collect();
        let intro_end = starts
            .first()
            .and_then(|index| headings.get(*index))
            .map_or(end, |h| h.range.start);
        let intro_end = self.cut_tails(&heading, intro_end, &mut items);
        for (nth, index) in starts.iter().enumerate() {
            let next = starts.get(nth + 1).copied().unwrap_or(headings.len());
            let item_end = headings.get(next).map_or(end, |h| h.range.start);
            if let Some(inside) = headings.get(*index..next) {
                self.item(inside, item_end, &mut items);
            }
        }
        Section {
            level,
            word: words::section(self.slice(&title)),
            title,
            range: heading.start..end,
            intro: heading.end..intro_end,
            heading,
            items,
        }
    }

    fn item(&self, headings: &[Heading], end: usize, items: &mut Vec<Item>) {
        let Some(first) = headings.first() else {
            return;
        };
        let heading = first.range.clone();
        let title = self.slice(&first.title);
        let mut notes = Vec::new();
        let end_of_item = self.cut_tails(&heading, end, &mut notes);
        let Some((name, _)) = words::requirement(title) else {
            items.push(Item {
                kind: ItemKind::Note,
                id: None,
                body: heading.end..end_of_item,
                children: Vec::new(),
                range: heading.start..end_of_item,
                heading: Some(heading),
            });
            items.append(&mut notes);
            return;
        };
        let name = self.within(&first.title, name);
        let starts: Vec<&Heading> = headings.iter().skip(1).filter(|h| h.level == 4).collect();
        let mut children = Vec::with_capacity(starts.len());
        for (nth, h) in starts.iter().enumerate() {
            let to = starts.get(nth + 1).map_or(end_of_item, |h| h.range.start);
            let scenario =
                words::scenario(self.slice(&h.title)).map(|(op, name, _)| ScenarioHeading {
                    op,
                    name: self.within(&h.title, name),
                });
            children.push(Child {
                scenario,
                title: h.title.clone(),
                heading: h.range.clone(),
                body: h.range.end..to,
                range: h.range.start..to,
            });
        }
        let body_end = starts.first().map_or(end_of_item, |h| h.range.start);
        let id = self.id(heading.end, body_end);
        let body_start = id.as_ref().map_or(heading.end, |(line, _)| line.end);
        items.push(Item {
            kind: ItemKind::Requirement { name },
            range: heading.start..end_of_item,
            heading: Some(heading),
            id,
            body: body_start..body_end,
            children,
        });
        items.append(&mut notes);
    }

    /// Offsets of the rules and comments at the end of `heading..end`: each is a note of the list and belongs to
    /// nothing above it, so that the note stays when the text above goes.
    fn tails(&self, heading: &Range<usize>, end: usize) -> Vec<usize> {
        let blocks = &self.outline.blocks;
        let first = blocks.partition_point(|(at, _)| *at < heading.end);
        let last = blocks.partition_point(|(at, _)| *at < end);
        let inside = blocks.get(first..last).unwrap_or_default();
        let mut tails = Vec::new();
        for (index, (at, block)) in inside.iter().enumerate().rev() {
            let id_line =
                index == 0 && *block == Block::Comment && self.id(heading.end, end).is_some();
            if !matches!(block, Block::Rule | Block::Comment) || id_line {
                break;
            }
            tails.push(*at);
        }
        tails.reverse();
        tails
    }

    /// Makes a note of each tail; gives where the first of them starts.
    fn cut_tails(&self, heading: &Range<usize>, end: usize, notes: &mut Vec<Item>) -> usize {
        let tails = self.tails(heading, end);
        for (index, at) in tails.iter().enumerate() {
            let to = tails.get(index + 1).copied().unwrap_or(end);
            notes.push(Item {
                kind: ItemKind::Note,
                heading: None,
                id: None,
                body: *at..to,
                children: Vec::new(),
                range: *at..to,
            });
        }
        tails.first().copied().unwrap_or(end)
    }

    /// `<!-- id: NAME -->`, alone on the first line below the heading.
    fn id(&self, from: usize, to: usize) -> Option<(Range<usize>, Range<usize>)> {
        let below = self.text.get(from..to)?;
        let start = from + (below.len() - below.trim_start().len());
        let line = self.text.get(start..to)?.lines().next()?.trim_end();
        let inside = line.strip_prefix("<!--")?.strip_suffix("-->")?.trim();
        let id = inside.strip_prefix("id:")?.trim();
        let valid = !id.is_empty()
            && id
                .chars()
                .all(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '-'));
        let at = self.within(&(start..start + line.len()), id);
        valid.then(|| (start..start + line.len(), at))
    }

    /// The range of `part`, a slice of the text at `whole`.
    fn within(&self, whole: &Range<usize>, part: &str) -> Range<usize> {
        let at = part.as_ptr().addr().wrapping_sub(self.text.as_ptr().addr());
        let end = at.saturating_add(part.len());
        if whole.start <= at && end <= whole.end {
            return at..end;
        }
        // A text from elsewhere: where its words stand last.
        let offset = self.slice(whole).rfind(part).unwrap_or(0);
        whole.start + offset..whole.start + offset + part.len()
    }

    /// Requirements above the first section, which no section holds: their names, and where they stand.
    pub(crate) fn early(&self) -> impl Iterator<Item = (&'t str, usize)> {
        let headings = self.outline.headings.iter();
        let above = headings.take_while(|heading| heading.range.start < self.lead.end);
        above.filter_map(|heading| {
            let (name, _) = words::requirement(self.slice(&heading.title))?;
            (heading.level == 3).then(|| (name, self.line(heading.range.start)))
        })
    }

    /// Reports what no reader may pass over in silence, whatever kind of text it is.
    pub(crate) fn problems(&self, notes: &mut Notes<'_>) {
        for open in &self.outline.open {
            let line = self.line(open.at);
            match (open.what, open.nested) {
                (OpenKind::Fence, false) => notes.error(
                    "unclosed_fence",
                    line,
                    "a code fence is opened here and never closed: all text below it is code",
                    "close the fence with a line of the same marks",
                ),
                (OpenKind::Fence, true) => notes.warn(
                    "unclosed_fence_in_list",
                    line,
                    "a code fence inside a list or quote is closed only by the end of the item",
                    "close the fence with a line of the same marks and indentation",
                ),
                (OpenKind::Comment, _) => notes.error(
                    "unclosed_comment",
                    line,
                    "an HTML comment is opened here and never closed: all text below it is hidden",
                    "close the comment with -->",
                ),
                (OpenKind::Html, _) => notes.error(
                    "unclosed_html",
                    line,
                    "an HTML block is opened here and never closed: all text below it belongs to it",
                    "close the element",
                ),
            }
        }
        for title in &self.outline.indented {
            let name = self.slice(title);
            if words::requirement(name).is_some() || words::scenario(name).is_some() {
                notes.error(
                    "indented_heading",
                    self.line(title.start),
                    format!("`{name}` is part of the list item above it, by its indentation"),
                    "start the heading at the first column",
                );
            }
        }
        if let Some(line) = has_markers(self.text) {
            notes.error(
                "conflict_marker",
                line,
                "a conflict marker is left in the text",
                "choose a text and delete the lines with markers",
            );
        }
    }
}

/// The first line, from 1, that carries a conflict marker.
pub fn has_markers(text: &str) -> Option<usize> {
    if !text.contains("<<<<<<<") {
        return None;
    }
    let marked = |mark: &str| {
        text.lines().position(|line| {
            line.strip_prefix(mark)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        })
    };
    // `=======` alone is a setext underline; it takes both outer marks to make a conflict.
    let first = marked("<<<<<<<")?;
    marked(">>>>>>>").map(|_| first + 1)
}

/// A leading block between two `---` lines, when its lines look like keys and not like prose.
fn front_matter(text: &str, bom: usize) -> (Option<Range<usize>>, usize) {
    let body = text.get(bom..).unwrap_or_default();
    let mut at = bom;
    let mut lines = body.split_inclusive('\n');
    match lines.next() {
        Some(first) if first.trim_end() == "---" => at += first.len(),
        _ => return (None, bom),
    }
    let from = at;
    for line in lines {
        let bare = line.trim_end();
        if bare == "---" || bare == "..." {
            return (Some(from..at), at + line.len());
        }
        let keyed = bare.is_empty()
            || bare.starts_with([' ', '\t', '#', '-'])
            || bare
                .split_once(':')
                .is_some_and(|(key, _)| !key.is_empty() && !key.contains(char::is_whitespace));
        if !keyed {
            break;
        }
        at += line.len();
    }
    (None, bom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_between_requirements_are_not_theirs() {
        let text = "## Requirements\n\n### Requirement: A\n<!-- id: a-1 -->\nx\n\n---\n<!-- c -->\n\n### Notes\nn\n";
        let layout = Layout::read(text);
        let items = &layout.sections[0].items;
        assert_eq!(items.len(), 4);
        assert_eq!(layout.slice(&items[1].range), "---\n");
        assert_eq!(layout.slice(&items[2].range), "<!-- c -->\n\n");
        assert_eq!(layout.slice(&items[0].id.as_ref().expect("an id").1), "a-1");
        assert_eq!(layout.slice(&items[0].body), "\nx\n\n");
    }

    #[test]
    fn front_matter_is_kept_out_of_the_structure() {
        let layout = Layout::read("\u{feff}---\nowner: a\n# no\n---\n# T\n");
        assert_eq!(layout.sections.len(), 1);
        assert_eq!(
            layout.slice(&layout.front.clone().expect("front matter")),
            "owner: a\n# no\n"
        );
        assert_eq!(Layout::read("---\nA sentence here.\n---\n").front, None);
    }

    #[test]
    fn markers_come_in_pairs() {
        assert_eq!(
            has_markers("a\n<<<<<<< delta\nb\n=======\nc\n>>>>>>> target\n"),
            Some(2)
        );
        assert_eq!(has_markers("a\n=======\n"), None);
    }
}
