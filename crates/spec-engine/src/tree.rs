//! A spec as a tree of texts for the merge: every node has a head, children and the blank space behind
//! it. Written back, a tree that nobody touched gives the bytes it was read from.
//!
//! Knows the layout, not the rules of merging.

use super::layout::{Item, ItemKind, Layout, Section};
use super::words::{self, SectionWord};
use std::borrow::Cow;

/// Kind of a node; siblings are matched within one kind only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    Document,
    /// Text without a heading: before the first section, below a heading.
    Body,
    Id,
    Section,
    Purpose,
    Requirements,
    Requirement,
    Scenario,
    Note,
}

#[derive(Clone, Debug)]
pub(crate) struct Node<'t> {
    pub kind: Kind,
    /// The name as written; empty for bodies.
    pub name: Cow<'t, str>,
    /// The name as it is looked up.
    pub key: Cow<'t, str>,
    /// The stable id of a requirement.
    pub id: Option<Cow<'t, str>>,
    /// The heading, or the text of a node without children; no blank lines at its end.
    pub head: Cow<'t, str>,
    /// Space between the head and the first child.
    pub(crate) head_gap: Cow<'t, str>,
    /// Nodes below it; of a shut node nobody has read them.
    pub children: Vec<Node<'t>>,
    /// Set for a requirement that is there as a text alone: see [`Node::opened`].
    is_shut: bool,
    /// Space between this node and its next sibling; for a last child its parent's gap counts instead.
    pub gap: Cow<'t, str>,
    /// Text of the node without the gap.
    pub raw: Cow<'t, str>,
    pub line: usize,
}

impl<'t> Node<'t> {
    pub(crate) fn new(
        kind: Kind,
        name: impl Into<Cow<'t, str>>,
        head: impl Into<Cow<'t, str>>,
    ) -> Self {
        let name = name.into();
        let head = head.into();
        let key = match &name {
            Cow::Borrowed(name) => words::folded(name),
            Cow::Owned(name) => Cow::Owned(words::fold(name)),
        };
        Node {
            kind,
            key,
            name,
            id: None,
            raw: head.clone(),
            head,
            head_gap: Cow::Borrowed(""),
            children: Vec::new(),
            is_shut: false,
            gap: Cow::Borrowed(""),
            line: 0,
        }
    }

    /// A tree of a text; its gap is the blank space at the end of the text.
    pub(crate) fn read(layout: &Layout<'t>) -> Node<'t> {
        Node::read_with(layout, read_item)
    }

    /// A tree whose requirements are shut: of a large spec a merge opens few, and their nodes take several times the
    /// memory of the text.
    pub(crate) fn skim(layout: &Layout<'t>) -> Node<'t> {
        Node::read_with(layout, skim_item)
    }

    fn read_with(layout: &Layout<'t>, item: impl Fn(&Layout<'t>, &Item) -> Node<'t>) -> Node<'t> {
        let text = layout.text;
        let mut root = Node::new(Kind::Document, "", "");
        let mut children = Vec::new();
        if !layout.lead.is_empty() {
            let (content, gap) = split_gap(layout.slice(&layout.lead));
            let mut lead = Node::new(Kind::Body, "", content);
            lead.gap = Cow::Borrowed(gap);
            lead.line = 1;
            children.push(lead);
        }
        for section in &layout.sections {
            children.push(read_section(layout, section, &item));
        }
        root.line = 1;
        root.finish(text.get(layout.bom..).unwrap_or_default(), children);
        root
    }

    /// Takes the children in and splits the source of the node into content and gap.
    fn finish(&mut self, source: &'t str, mut children: Vec<Node<'t>>) {
        // The last child's gap is its parent's.
        let gap = match children.last_mut() {
            Some(last) => std::mem::take(&mut last.gap),
            None => Cow::Borrowed(source.get(self.head.len()..).unwrap_or_default()),
        };
        let cut = source.len().saturating_sub(gap.len());
        self.raw = Cow::Borrowed(source.get(..cut).unwrap_or_default());
        self.gap = gap;
        self.children = children;
    }

    /// The node with what is below it, also where it is shut.
    pub(crate) fn opened(&self) -> Cow<'_, Node<'t>> {
        if !self.is_shut {
            return Cow::Borrowed(self);
        }
        let read = match &self.raw {
            Cow::Borrowed(raw) => read_block(raw),
            Cow::Owned(raw) => read_block(raw).map(Node::owned),
        };
        // What was read as a requirement once is one for itself, too.
        let mut node = read.unwrap_or_else(|| self.clone());
        node.is_shut = false;
        // The text that was read ends without its gap.
        node.head_gap = self.head_gap.clone();
        node.gap = self.gap.clone();
        node.below_line(self.line.saturating_sub(1));
        Cow::Owned(node)
    }

    /// Moves the node and what is below it down by some lines.
    fn below_line(&mut self, lines: usize) {
        self.line += lines;
        for child in &mut self.children {
            child.below_line(lines);
        }
    }

    /// The text of the node without its gap.
    pub(crate) fn write(&self, out: &mut String) {
        if self.is_shut {
            out.push_str(&self.raw);
            return;
        }
        out.push_str(&self.head);
        if !self.children.is_empty() {
            out.push_str(&self.head_gap);
        }
        for (index, child) in self.children.iter().enumerate() {
            child.write(out);
            if index + 1 < self.children.len() {
                out.push_str(&child.gap);
            }
        }
    }

    /// Node that borrows nothing from the text that it was read from.
    pub(crate) fn owned(self) -> Node<'static> {
        fn own(text: Cow<'_, str>) -> Cow<'static, str> {
            Cow::Owned(text.into_owned())
        }
        Node {
            kind: self.kind,
            name: own(self.name),
            key: own(self.key),
            id: self.id.map(own),
            head: own(self.head),
            head_gap: own(self.head_gap),
            children: self.children.into_iter().map(Node::owned).collect(),
            is_shut: self.is_shut,
            gap: own(self.gap),
            raw: own(self.raw),
            line: self.line,
        }
    }

    /// Brings `raw` in line with the parts after they were changed.
    pub(crate) fn refresh(&mut self) {
        let mut raw = String::with_capacity(self.raw.len());
        self.write(&mut raw);
        self.raw = Cow::Owned(raw);
    }

    /// Puts `node` behind the child at `at` (at the front for `None`) and shares the blank space out.
    pub(crate) fn insert_after(
        &mut self,
        at: Option<usize>,
        mut node: Node<'t>,
        blank: &'static str,
    ) {
        let place = at.map_or(0, |at| at + 1).min(self.children.len());
        if place == self.children.len() {
            // What was last gets the space that its siblings have between them.
            let usual = self
                .children
                .len()
                .checked_sub(2)
                .and_then(|index| self.children.get(index))
                .map(|sibling| sibling.gap.clone())
                .filter(|gap| has_empty_line(gap));
            match self.children.last_mut() {
                Some(last) => last.gap = usual.unwrap_or(Cow::Borrowed(blank)),
                None if self.kind == Kind::Document => {}
                None => self.head_gap = Cow::Borrowed(blank),
            }
        } else {
            let before = place
                .checked_sub(1)
                .and_then(|index| self.children.get(index));
            node.gap = before.map_or(Cow::Borrowed(blank), |before| before.gap.clone());
        }
        self.children.insert(place, node);
    }

    /// The node at a place: section index, child index.
    pub(crate) fn at(&self, (section, child): (usize, usize)) -> Option<&Node<'t>> {
        self.children.get(section)?.children.get(child)
    }

    pub(crate) fn at_mut(&mut self, (section, child): (usize, usize)) -> Option<&mut Node<'t>> {
        self.children.get_mut(section)?.children.get_mut(child)
    }

    /// Every requirement with its place: section index, child index.
    pub(crate) fn requirements(&self) -> impl Iterator<Item = (usize, usize, &Node<'t>)> {
        self.children
            .iter()
            .enumerate()
            .filter(|(_, section)| section.kind == Kind::Requirements)
            .flat_map(|(at, section)| {
                section
                    .children
                    .iter()
                    .enumerate()
                    .filter(|(_, item)| item.kind == Kind::Requirement)
                    .map(move |(index, item)| (at, index, item))
            })
    }
}

fn read_section<'t>(
    layout: &Layout<'t>,
    section: &Section,
    read: &impl Fn(&Layout<'t>, &Item) -> Node<'t>,
) -> Node<'t> {
    let kind = match section.word {
        Some((SectionWord::Purpose, _)) if section.level == 2 => Kind::Purpose,
        Some((SectionWord::Requirements, _)) if section.level == 2 => Kind::Requirements,
        _ => Kind::Section,
    };
    let mut node = Node::new(kind, layout.slice(&section.title), "");
    node.line = layout.line(section.heading.start);
    let structured = kind == Kind::Requirements;
    let body_end = if structured {
        section.intro.end
    } else {
        section.range.end
    };
    let mut children = Vec::new();
    heading_and_body(
        layout,
        &mut node,
        section.heading.clone(),
        None,
        body_end,
        &mut children,
    );
    if structured {
        children.reserve_exact(section.items.len());
        children.extend(section.items.iter().map(|item| read(layout, item)));
    }
    node.finish(layout.slice(&section.range), children);
    node
}

/// A requirement that is shut; any other item as it is.
fn skim_item<'t>(layout: &Layout<'t>, item: &Item) -> Node<'t> {
    let (ItemKind::Requirement { name }, Some(heading)) = (&item.kind, &item.heading) else {
        return read_item(layout, item);
    };
    let head = layout.slice(heading);
    let mut node = Node::new(Kind::Requirement, layout.slice(name), head);
    node.line = layout.line(heading.start);
    node.id = (item.id.as_ref()).map(|(_, id)| Cow::Borrowed(layout.slice(id)));
    node.is_shut = true;
    let below = match &item.id {
        Some((line, _)) => line.start,
        None => {
            let rest = layout.slice(&(heading.end..item.body.end));
            heading.end + first_line_offset(rest)
        }
    };
    node.head_gap = Cow::Borrowed(layout.slice(&(heading.end..below)));
    // Behind the last line that is no text alone everything blank is the gap.
    let last = match (item.children.last(), &item.id) {
        (Some(child), _) => child.heading.end,
        (None, Some((line, _))) => line.end,
        (None, None) => heading.end,
    };
    let (_, gap) = split_gap(layout.slice(&(last..item.range.end)));
    let cut = item.range.end - gap.len();
    node.raw = Cow::Borrowed(layout.slice(&(item.range.start..cut)));
    node.gap = Cow::Borrowed(gap);
    node
}

/// The requirement that a text is, from its heading on.
fn read_block(text: &str) -> Option<Node<'_>> {
    let (layout, items) = Layout::of_block(text);
    Some(read_item(&layout, items.first()?))
}

pub(crate) fn read_item<'t>(layout: &Layout<'t>, item: &Item) -> Node<'t> {
    let Some(heading) = item.heading.clone() else {
        let (content, gap) = split_gap(layout.slice(&item.range));
        let mut node = Node::new(Kind::Note, "", content);
        node.key = words::folded(content);
        node.gap = Cow::Borrowed(gap);
        node.line = layout.line(item.range.start);
        return node;
    };
    let (kind, name) = match &item.kind {
        ItemKind::Requirement { name } => (Kind::Requirement, layout.slice(name)),
        ItemKind::Note => (Kind::Note, layout.slice(&heading)),
    };
    let mut node = Node::new(kind, name, "");
    node.line = layout.line(heading.start);
    node.id = item
        .id
        .as_ref()
        .map(|(_, id)| Cow::Borrowed(layout.slice(id)));
    let id = item.id.as_ref().map(|(line, _)| line.clone());
    // A body stands in front of the scenarios, and an id may.
    let mut children = Vec::with_capacity(item.children.len() + 1 + usize::from(id.is_some()));
    heading_and_body(layout, &mut node, heading, id, item.body.end, &mut children);
    for child in &item.children {
        let (kind, name) = match &child.scenario {
            Some(scenario) => (Kind::Scenario, layout.slice(&scenario.name)),
            None => (Kind::Note, layout.slice(&child.title)),
        };
        let mut node = Node::new(kind, name, "");
        node.line = layout.line(child.heading.start);
        let mut below = Vec::with_capacity(1);
        heading_and_body(
            layout,
            &mut node,
            child.heading.clone(),
            None,
            child.range.end,
            &mut below,
        );
        node.finish(layout.slice(&child.range), below);
        children.push(node);
    }
    node.finish(layout.slice(&item.range), children);
    node
}

/// Splits `heading.start..end` into the heading, the id line and the body.
fn heading_and_body<'t>(
    layout: &Layout<'t>,
    node: &mut Node<'t>,
    heading: std::ops::Range<usize>,
    id: Option<std::ops::Range<usize>>,
    end: usize,
    children: &mut Vec<Node<'t>>,
) {
    let first = |from: usize| from + first_line_offset(layout.slice(&(from..end)));
    node.head = Cow::Borrowed(layout.slice(&heading));
    let mut at = first(heading.end);
    node.head_gap = Cow::Borrowed(layout.slice(&(heading.end..at)));
    if let Some(line) = id {
        let next = first(line.end);
        let mut leaf = Node::new(Kind::Id, "", layout.slice(&line));
        leaf.gap = Cow::Borrowed(layout.slice(&(line.end..next)));
        leaf.line = layout.line(line.start);
        // White space before the id line stays with the heading.
        node.head_gap = Cow::Borrowed(layout.slice(&(heading.end..line.start)));
        children.push(leaf);
        at = next;
    }
    if at < end {
        let (content, gap) = split_gap(layout.slice(&(at..end)));
        let mut body = Node::new(Kind::Body, "", content);
        body.gap = Cow::Borrowed(gap);
        body.line = layout.line(at);
        children.push(body);
    }
}

/// Tells whether the space between two blocks has a line of its own: without such a line, an HTML block or a paragraph
/// takes in the text behind it.
pub(crate) fn has_empty_line(gap: &str) -> bool {
    gap.matches('\n').count() > 1
}

/// Splits off the blank space at the end: from the end of the last line that is not blank.
pub(crate) fn split_gap(text: &str) -> (&str, &str) {
    let bare = text.trim_end();
    let line_end = text
        .get(bare.len()..)
        .and_then(|rest| rest.find('\n'))
        .map_or(text.len(), |at| {
            let at = bare.len() + at;
            let crlf = text.get(..at).is_some_and(|t| t.ends_with('\r'));
            if crlf && at > bare.len() { at - 1 } else { at }
        });
    // A text of blanks only is all gap.
    let cut = if bare.is_empty() { 0 } else { line_end };
    (
        text.get(..cut).unwrap_or_default(),
        text.get(cut..).unwrap_or_default(),
    )
}

/// The offset of the first line that is not blank; the length when there is none.
fn first_line_offset(text: &str) -> usize {
    let bare = text.trim_start();
    if bare.is_empty() {
        return text.len();
    }
    let at = text.len() - bare.len();
    text.get(..at)
        .and_then(|before| before.rfind('\n'))
        .map_or(0, |newline| newline + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rewrite(text: &str) -> String {
        let layout = Layout::read(text);
        let root = Node::read(&layout);
        let mut out = text[..layout.bom].to_owned();
        root.write(&mut out);
        out.push_str(&root.gap);
        out
    }

    #[test]
    fn gaps_start_at_the_end_of_a_line() {
        assert_eq!(split_gap("a  \r\n\r\n"), ("a  ", "\r\n\r\n"));
        assert_eq!(split_gap("a"), ("a", ""));
        assert_eq!(split_gap(" \n"), ("", " \n"));
        assert_eq!(split_gap("a  "), ("a  ", ""));
    }

    fn line() -> impl Strategy<Value = String> {
        prop_oneof![
            Just("# T".to_owned()),
            Just("## Purpose".to_owned()),
            Just("## Requirements".to_owned()),
            Just("  ### Requirement: A".to_owned()),
            Just("### Requirement: B ##".to_owned()),
            Just("<!-- id: x -->".to_owned()),
            Just("#### Scenario: S".to_owned()),
            Just("#### Other".to_owned()),
            Just("### Note".to_owned()),
            Just("---".to_owned()),
            Just("===".to_owned()),
            Just("```".to_owned()),
            Just("<!--".to_owned()),
            Just("-->".to_owned()),
            Just("    code".to_owned()),
            Just("- **WHEN** x".to_owned()),
            Just("  ".to_owned()),
            Just(String::new()),
            ".{0,12}",
        ]
    }

    /// Clears the space behind headings with nothing below them: nobody writes it.
    fn without_empty_gaps(node: &mut Node<'_>) {
        if node.children.is_empty() {
            node.head_gap = Cow::Borrowed("");
        }
        node.children.iter_mut().for_each(without_empty_gaps);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn reading_and_writing_is_the_identity(
            lines in proptest::collection::vec((line(), prop_oneof![Just("\n"), Just("\r\n"), Just("\r"), Just("")]), 0..40),
            bom in any::<bool>(),
        ) {
            let mut text = String::from(if bom { "\u{feff}" } else { "" });
            for (line, end) in lines {
                text.push_str(&line);
                text.push_str(end);
            }
            prop_assert_eq!(rewrite(&text), text);
        }

        #[test]
        fn t10_a_requirement_that_is_opened_is_what_a_whole_tree_has(
            lines in proptest::collection::vec((line(), prop_oneof![Just("\n"), Just("\r\n"), Just("\n\n")]), 0..40),
        ) {
            let mut text = String::from("## Requirements\n");
            for (line, end) in lines {
                text.push_str(&line);
                text.push_str(end);
            }
            let layout = Layout::read(&text);
            let (whole, skimmed) = (Node::read(&layout), Node::skim(&layout));
            let opened = skimmed.requirements().map(|(_, _, node)| node.opened());
            for (opened, (_, _, node)) in opened.zip(whole.requirements()) {
                let (mut opened, mut node) = (opened.into_owned(), node.clone());
                prop_assert_eq!(&opened.head_gap, &node.head_gap);
                for last in [&mut opened, &mut node] {
                    without_empty_gaps(last);
                }
                prop_assert_eq!(format!("{opened:?}"), format!("{node:?}"));
            }
            let mut out = String::new();
            skimmed.write(&mut out);
            prop_assert_eq!(out + &skimmed.gap, text);
        }

        #[test]
        fn any_text_is_read(text in "\\PC{0,200}|[\\x00-\\x7f]{0,200}") {
            prop_assert_eq!(rewrite(&text), text);
        }
    }
}
