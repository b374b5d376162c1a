//! The CommonMark skeleton of a text, as byte ranges: headings outside lists and quotes, what is code
//! or comment, rules, and what was opened and never closed.
//!
//! One parser for specs and deltas, so that no two readers can disagree. Knows no word of the grammar.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;
use std::rc::Rc;

/// Heading at the top level of the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Heading {
    pub level: u8,
    /// Range from the start of the heading's first line to before the end of its last.
    pub range: Range<usize>,
    pub title: Range<usize>,
}

/// Kind of a block at the top level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Block {
    Heading,
    Rule,
    Comment,
    Other,
}

/// Block that was opened and never closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Open {
    pub at: usize,
    pub what: OpenKind,
    /// Set when the block ended with the list item or quote around it, not with the text.
    pub nested: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenKind {
    Fence,
    Comment,
    Html,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Outline {
    pub headings: Vec<Heading>,
    pub blocks: Vec<(usize, Block)>,
    /// Code blocks and HTML blocks: no line in them is structure.
    pub masked: Vec<Range<usize>>,
    /// Prose outside code and quotes.
    pub(crate) prose: Vec<Range<usize>>,
    pub open: Vec<Open>,
    /// Titles of headings that stand in a list item by their indentation alone.
    pub indented: Vec<Range<usize>>,
    lines: Vec<usize>,
}

/// Size in bytes from which on a text is remembered.
const LARGE: usize = 1024;
/// Number of outlines that are remembered: of the base, ours, theirs and the result of one merge.
const REMEMBERED: usize = 4;

/// The outlines of large texts that this thread read last, the newest at the end. One command meets the same text as
/// base, as target and as result; to parse it is most of what a large spec costs.
#[derive(Default)]
struct Memory {
    hasher: Hasher,
    outlines: Vec<(Key, Rc<Outline>)>,
    chunks: Chunks,
}

/// Hashes with keys that nobody can guess, so that no text is made to look like another one.
#[derive(Default)]
struct Hasher([RandomState; 2]);

/// The length of a text and two hashes of it.
type Hash = (usize, u64, u64);

/// A text, and where its Markdown starts.
type Key = (Hash, usize);

impl Hasher {
    fn hash(&self, text: &str) -> Hash {
        let [first, second] = &self.0;
        (text.len(), first.hash_one(text), second.hash_one(text))
    }
}

impl Memory {
    fn find(&mut self, key: Key) -> Option<Rc<Outline>> {
        let at = self.outlines.iter().position(|(known, _)| *known == key)?;
        let found = self.outlines.remove(at);
        let outline = Rc::clone(&found.1);
        self.outlines.push(found);
        Some(outline)
    }

    fn read(&mut self, text: &str, start: usize) -> Rc<Outline> {
        let key = (self.hasher.hash(text), start);
        if let Some(known) = self.find(key) {
            return known;
        }
        let outline = self.chunks.outline(&self.hasher, text, start);
        if self.outlines.len() == REMEMBERED {
            self.outlines.remove(0);
        }
        self.outlines.push((key, Rc::clone(&outline)));
        outline
    }
}

thread_local! {
    static MEMORY: RefCell<Memory> = RefCell::default();
}

/// Number of texts whose chunks are known: each outline that a chunk was read in is kept.
const SOURCES: usize = 8;

/// Beginning of a chunk.
const CUT: &str = "### ";

/// The requirements of texts that were read before. Versions of a large text differ in few of them: the others are
/// taken over as they were read.
///
/// A chunk goes from one heading at the top level to the next. No block is open at either, so nothing around a chunk
/// has a say in how it is read, but for definitions of links: a text that may have one is read as a whole.
#[derive(Default)]
struct Chunks {
    /// Places where chunks were read: for each chunk the outline, and the offset of the chunk in it.
    known: HashMap<Hash, (usize, usize)>,
    sources: Vec<Rc<Outline>>,
}

impl Chunks {
    /// The outline of a text, whose chunks are known from then on.
    fn outline(&mut self, hasher: &Hasher, text: &str, start: usize) -> Rc<Outline> {
        let body = text.get(start..).unwrap_or_default();
        if body.contains("]:") {
            return Rc::new(Outline::parse(text, start));
        }
        if self.sources.len() == SOURCES {
            *self = Chunks::default();
        }
        let lines = line_starts(text);
        let is_cut =
            |at: &usize| *at >= start && text.get(*at..).is_some_and(|rest| rest.starts_with(CUT));
        let cuts: Vec<usize> = lines.iter().copied().filter(is_cut).collect();
        let hashed: Vec<(Hash, usize)> = cuts
            .windows(2)
            .filter_map(|pair| match pair {
                [from, to] => Some((hasher.hash(text.get(*from..*to)?), *from)),
                _ => None,
            })
            .collect();
        let known = self.assemble(text, start, &hashed, &lines);
        let whole = || Outline::without_lines(text, start, lines.len());
        let outline = known.unwrap_or_else(whole);
        let mut outline = Outline { lines, ..outline };
        // It is kept.
        outline.shrink();
        let outline = Rc::new(outline);
        self.learn(&hashed, &outline);
        outline
    }

    /// The outline from known chunks and from what is read between them; nothing where a chunk that is not known
    /// takes in the heading behind it.
    fn assemble(
        &self,
        text: &str,
        start: usize,
        hashed: &[(Hash, usize)],
        lines: &[usize],
    ) -> Option<Outline> {
        if self.known.is_empty() {
            return None;
        }
        let mut outline = Outline::with_room(lines.len());
        // Up to here the text is read; chunks that stand behind each other in one source are taken at once.
        let mut read = start;
        let mut run: Option<(usize, Range<usize>)> = None;
        for (hash, at) in hashed {
            let Some((source, from)) = self.known.get(hash).copied() else {
                continue;
            };
            let behind = run
                .as_ref()
                .is_some_and(|(of, range)| *of == source && range.end == from && read == *at);
            if let (true, Some((_, range))) = (behind, &mut run) {
                range.end += hash.0;
            } else {
                self.take(&mut outline, run.take(), text, read..*at)?;
                run = Some((source, from..from + hash.0));
            }
            read = at + hash.0;
        }
        self.take(&mut outline, run, text, read..text.len())?;
        Some(outline)
    }

    /// Takes a run of known chunks over, which ends where `unread` begins, and reads that.
    fn take(
        &self,
        outline: &mut Outline,
        run: Option<(usize, Range<usize>)>,
        text: &str,
        unread: Range<usize>,
    ) -> Option<()> {
        if let Some((source, range)) = run {
            let to = unread.start.checked_sub(range.len())?;
            outline.take_over(self.sources.get(source)?, &range, to);
        }
        if unread.is_empty() {
            return Some(());
        }
        let end = unread.end;
        let line = text
            .get(end..)?
            .find('\n')
            .map_or(text.len(), |at| end + at + 1);
        outline.extend(text, unread.start..line);
        if end == text.len() {
            return Some(());
        }
        // The heading behind it is there as a witness.
        let is_closed = outline.headings.last()?.range.start == end;
        outline.forget_from(end);
        is_closed.then_some(())
    }

    /// Keeps the chunks of a text that were not known.
    fn learn(&mut self, hashed: &[(Hash, usize)], outline: &Rc<Outline>) {
        let mut headings = outline.headings.iter().map(|h| h.range.start).peekable();
        let mut is_heading = |at: usize| {
            while headings.next_if(|start| *start < at).is_some() {}
            headings.peek() == Some(&at)
        };
        let source = self.sources.len();
        let before = self.known.len();
        for (hash, at) in hashed {
            if is_heading(*at) && is_heading(at + hash.0) {
                self.known.entry(*hash).or_insert((source, *at));
            }
        }
        if self.known.len() > before {
            self.sources.push(Rc::clone(outline));
        }
    }
}

impl Outline {
    /// Reads `text` from `start` on (a byte order mark and front matter are not Markdown).
    pub(crate) fn read(text: &str, start: usize) -> Rc<Outline> {
        if text.len() < LARGE {
            return Rc::new(Outline::parse(text, start));
        }
        MEMORY.with_borrow_mut(|memory| memory.read(text, start))
    }

    /// Gives back the room that nothing stands in.
    fn shrink(&mut self) {
        self.headings.shrink_to_fit();
        self.blocks.shrink_to_fit();
        self.prose.shrink_to_fit();
        self.lines.shrink_to_fit();
    }

    /// Takes over what another outline has in a range, which lies at `to` here.
    fn take_over(&mut self, source: &Outline, range: &Range<usize>, to: usize) {
        let there = |one: usize| one - range.start + to;
        let moved = |one: &Range<usize>| there(one.start)..there(one.end);
        let start = |one: &Range<usize>| one.start;
        let headings = within(&source.headings, range, |one| one.range.start);
        self.headings.extend(headings.iter().map(|one| Heading {
            level: one.level,
            range: moved(&one.range),
            title: moved(&one.title),
        }));
        let blocks = within(&source.blocks, range, |(at, _)| *at);
        self.blocks
            .extend(blocks.iter().map(|(at, block)| (there(*at), *block)));
        for (to, from) in [
            (&mut self.masked, &source.masked),
            (&mut self.prose, &source.prose),
            (&mut self.indented, &source.indented),
        ] {
            to.extend(within(from, range, start).iter().map(moved));
        }
        let open = within(&source.open, range, |one| one.at);
        self.open.extend(open.iter().map(|one| Open {
            at: there(one.at),
            ..one.clone()
        }));
    }

    /// Forgets everything that begins at a place or behind it.
    fn forget_from(&mut self, at: usize) {
        fn cut<T>(list: &mut Vec<T>, at: usize, start: impl Fn(&T) -> usize) {
            list.truncate(list.partition_point(|one| start(one) < at));
        }
        cut(&mut self.headings, at, |one| one.range.start);
        cut(&mut self.blocks, at, |(start, _)| *start);
        for list in [&mut self.masked, &mut self.prose, &mut self.indented] {
            cut(list, at, |one| one.start);
        }
        cut(&mut self.open, at, |one| one.at);
    }

    fn parse(text: &str, start: usize) -> Outline {
        let lines = line_starts(text);
        let outline = Outline::without_lines(text, start, lines.len());
        Outline { lines, ..outline }
    }

    fn without_lines(text: &str, start: usize, lines: usize) -> Outline {
        let mut outline = Outline::with_room(lines);
        outline.extend(text, start..text.len());
        outline
    }

    /// An empty outline of a text with so many lines: a line is a block or a run of prose, mostly.
    fn with_room(lines: usize) -> Outline {
        let room = lines.min(1_000);
        Outline {
            blocks: Vec::with_capacity(room),
            prose: Vec::with_capacity(room),
            ..Outline::default()
        }
    }

    /// Reads a part of `text`.
    fn extend(&mut self, text: &str, part: Range<usize>) {
        #[cfg(test)]
        tests::PARSED.set(tests::PARSED.get() + part.len());
        let outline = self;
        let start = part.start;
        let body = text.get(part).unwrap_or_default();
        let mut depth = 0_usize;
        let mut quotes = 0_usize;
        let mut code = false;
        for (event, range) in Parser::new_ext(body, Options::empty()).into_offset_iter() {
            let range = range.start + start..range.end + start;
            match event {
                Event::Start(tag) => {
                    let top = depth == 0;
                    depth += 1;
                    match tag {
                        Tag::Heading { level, .. } if top => {
                            outline.heading(text, level as u8, range);
                        }
                        Tag::Heading { .. } if line_start(text, range.start) < range.start => {
                            let (from, to) = title(text.get(range.clone()).unwrap_or_default());
                            outline.indented.push(range.start + from..range.start + to);
                        }
                        Tag::CodeBlock(kind) => {
                            code = true;
                            outline.code(text, &kind, range, top);
                        }
                        Tag::HtmlBlock => outline.html(text, range, top),
                        Tag::BlockQuote(_) => {
                            quotes += 1;
                            outline.top(top, text, range.start, Block::Other);
                        }
                        _ => outline.top(top, text, range.start, Block::Other),
                    }
                }
                Event::End(end) => {
                    depth = depth.saturating_sub(1);
                    match end {
                        TagEnd::CodeBlock => code = false,
                        TagEnd::BlockQuote(_) => quotes = quotes.saturating_sub(1),
                        _ => {}
                    }
                }
                Event::Rule if depth == 0 => {
                    outline
                        .blocks
                        .push((line_start(text, range.start), Block::Rule));
                }
                Event::Text(_) if !code && quotes == 0 => outline.prose.push(range),
                _ => {}
            }
        }
    }

    /// The line, from 1, on which byte `at` stands.
    pub(crate) fn line(&self, at: usize) -> usize {
        self.lines.partition_point(|start| *start <= at).max(1)
    }

    pub(crate) fn is_masked(&self, at: usize) -> bool {
        let after = self.masked.partition_point(|range| range.start <= at);
        after
            .checked_sub(1)
            .and_then(|index| self.masked.get(index))
            .is_some_and(|range| at < range.end)
    }

    /// The prose inside `range`.
    pub(crate) fn prose_in(&self, range: &Range<usize>) -> impl Iterator<Item = Range<usize>> + '_ {
        let first = self.prose.partition_point(|r| r.end <= range.start);
        let end = range.end;
        self.prose
            .get(first..)
            .unwrap_or_default()
            .iter()
            .take_while(move |r| r.start < end)
            .cloned()
    }

    fn top(&mut self, top: bool, text: &str, at: usize, block: Block) {
        if top {
            self.blocks.push((line_start(text, at), block));
        }
    }

    fn heading(&mut self, text: &str, level: u8, range: Range<usize>) {
        let start = line_start(text, range.start);
        let slice = text.get(range.clone()).unwrap_or_default();
        let end = range.start + slice.trim_end().len();
        let (from, to) = title(slice);
        self.blocks.push((start, Block::Heading));
        self.headings.push(Heading {
            level,
            range: start..end.max(start),
            title: range.start + from..range.start + to,
        });
    }

    fn code(&mut self, text: &str, kind: &CodeBlockKind<'_>, range: Range<usize>, top: bool) {
        self.top(top, text, range.start, Block::Other);
        let slice = text.get(range.clone()).unwrap_or_default();
        if matches!(kind, CodeBlockKind::Fenced(_)) && !is_closed(slice) {
            self.open.push(Open {
                at: range.start,
                what: OpenKind::Fence,
                nested: !top,
            });
        }
        self.masked.push(line_start(text, range.start)..range.end);
    }

    fn html(&mut self, text: &str, range: Range<usize>, top: bool) {
        let slice = text.get(range.clone()).unwrap_or_default();
        let trimmed = slice.trim_start();
        let comment = trimmed.starts_with("<!--");
        let block = if comment && trimmed.trim_end().ends_with("-->") {
            Block::Comment
        } else {
            Block::Other
        };
        self.top(top, text, range.start, block);
        let open = if comment {
            // `<!-->` and `<!--->` are whole comments.
            let whole = trimmed.starts_with("<!-->") || trimmed.starts_with("<!--->");
            (!whole && !trimmed.get(4..).unwrap_or_default().contains("-->"))
                .then_some(OpenKind::Comment)
        } else {
            raw_end(trimmed)
                .filter(|ends| {
                    let lower = trimmed.to_ascii_lowercase();
                    !ends.iter().any(|end| lower.contains(end))
                })
                .map(|_| OpenKind::Html)
        };
        if let Some(what) = open {
            self.open.push(Open {
                at: range.start,
                what,
                nested: !top,
            });
        }
        self.masked.push(line_start(text, range.start)..range.end);
    }
}

/// The entries of a sorted list that begin in a range.
fn within<'l, T>(list: &'l [T], range: &Range<usize>, start: impl Fn(&T) -> usize) -> &'l [T] {
    let first = list.partition_point(|one| start(one) < range.start);
    let last = list.partition_point(|one| start(one) < range.end);
    list.get(first..last).unwrap_or_default()
}

/// Ends of an HTML block that blank lines do not end (CommonMark 4.6, kinds 1 and 3 to 5).
fn raw_end(html: &str) -> Option<&'static [&'static str]> {
    let lower: String = html
        .chars()
        .take(10)
        .map(|c| c.to_ascii_lowercase())
        .collect();
    if ["<script", "<pre", "<style", "<textarea"]
        .iter()
        .any(|tag| {
            lower
                .strip_prefix(tag)
                .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
        })
    {
        Some(&["</script>", "</pre>", "</style>", "</textarea>"])
    } else if lower.starts_with("<?") {
        Some(&["?>"])
    } else if lower.starts_with("<![cdata[") {
        Some(&["]]>"])
    } else {
        None
    }
}

/// Tells whether the last line of a fenced block closes it.
fn is_closed(slice: &str) -> bool {
    let mut lines = slice.trim_end_matches(['\n', '\r']).lines();
    let Some(first) = lines.next() else {
        return true;
    };
    let opening = first.trim_start();
    let Some(mark) = opening.chars().next() else {
        return true;
    };
    let width = opening.chars().take_while(|c| *c == mark).count();
    let Some(last) = lines.next_back() else {
        return false;
    };
    let last = last.trim_matches([' ', '\t', '>', '\r']);
    last.chars().count() >= width && last.chars().all(|c| c == mark)
}

/// Range of the title of a heading in its source: without `#` runs, underline and outer white space.
fn title(slice: &str) -> (usize, usize) {
    let trimmed = slice.trim_end();
    let lead = trimmed.len() - trimmed.trim_start().len();
    let atx = trimmed.trim_start().starts_with('#') && !trimmed.trim_start().contains('\n');
    let (from, mut text) = if atx {
        let inner = trimmed.trim_start().trim_start_matches('#');
        let from = trimmed.len() - inner.len();
        let bare = inner.trim_end_matches('#');
        // A closing run counts only behind white space (CommonMark 4.2).
        let cut = bare.is_empty() || bare.ends_with([' ', '\t']);
        (from, if cut { bare } else { inner })
    } else {
        let text = trimmed
            .rfind('\n')
            .and_then(|at| trimmed.get(lead..at))
            .unwrap_or_default();
        (lead, text)
    };
    let from = from + (text.len() - text.trim_start().len());
    text = text.trim();
    (from, from + text.len())
}

/// The start of the line of `at`, when only blanks stand before it there; else `at`.
fn line_start(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or_default();
    let bare = before.trim_end_matches([' ', '\t']);
    if bare.is_empty() || bare.ends_with(['\n', '\r']) {
        bare.len()
    } else {
        at
    }
}

fn line_starts(text: &str) -> Vec<usize> {
    let mut starts = Vec::with_capacity(text.len() / 32 + 1);
    starts.push(0);
    starts.extend(text.match_indices('\n').map(|(at, _)| at + 1));
    starts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cell::Cell;

    thread_local! {
        /// Count of the bytes that were parsed.
        pub(super) static PARSED: Cell<usize> = const { Cell::new(0) };
    }

    #[test]
    fn t10_of_another_version_of_a_large_text_only_what_differs_is_parsed() {
        let version = |says: &str| {
            let mut text = "# A\n\n## Requirements\n\n".to_owned();
            for n in 0..2_000 {
                let says = if n % 1_000 == 0 { says } else { "the same" };
                text.push_str(&format!("### Requirement: {n}\nIt MUST say {says}.\n\n"));
            }
            text
        };
        let (first, second) = (version("this"), version("something else"));
        assert!(first.len() > LARGE);
        Outline::read(&first, 0);
        let before = PARSED.get();
        let read = Outline::read(&second, 0);
        let parsed = PARSED.get() - before;
        assert!(parsed < 500, "{parsed} bytes of {}", second.len());
        assert_eq!(*read, Outline::parse(&second, 0));
    }

    /// Lines of which some end what others begin.
    fn line() -> impl Strategy<Value = String> {
        prop_oneof![
            4 => "### [AB]",
            1 => Just("## C".to_owned()),
            2 => "[ab ]{0,4}",
            1 => Just("```".to_owned()),
            1 => Just("~~~~".to_owned()),
            1 => Just("<!-- c".to_owned()),
            1 => Just("d -->".to_owned()),
            1 => Just("<pre>".to_owned()),
            1 => Just("</pre>".to_owned()),
            1 => Just("<div>".to_owned()),
            1 => Just("- e".to_owned()),
            1 => Just("  - ```".to_owned()),
            1 => Just("    f".to_owned()),
            1 => Just("> g".to_owned()),
            1 => Just("===".to_owned()),
            1 => Just("---".to_owned()),
            1 => Just("[a]: /b".to_owned()),
            1 => Just("  ### H".to_owned()),
            2 => Just("[a] `b` *c*".to_owned()),
        ]
    }

    fn text() -> impl Strategy<Value = String> {
        let ends = prop_oneof![4 => Just("\n"), 1 => Just("\r\n"), 2 => Just("\n\n")];
        let lines = prop::collection::vec((line(), ends), 0..24);
        lines.prop_map(|lines| {
            lines
                .into_iter()
                .flat_map(|(line, end)| [line, end.to_owned()])
                .collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn what_is_taken_over_from_other_versions_is_what_a_parser_says(
            texts in prop::collection::vec(text(), 2..4),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 2),
            start in 0_usize..2,
        ) {
            let hasher = Hasher::default();
            let mut chunks = Chunks::default();
            // A last version has parts of the others, cut anywhere between two lines.
            let mut mixed = String::new();
            for (text, cut) in texts.iter().zip(&cuts) {
                let lines: Vec<&str> = text.split_inclusive('\n').collect();
                let at = cut.index(lines.len() + 1);
                mixed = lines[..at].concat() + &mixed + &lines[at..].concat();
            }
            for text in texts.iter().chain([&mixed]) {
                let start = start.min(text.len());
                let read = chunks.outline(&hasher, text, start);
                prop_assert_eq!(&*read, &Outline::parse(text, start), "{:?}", text);
            }
        }
    }

    fn titles(text: &str) -> Vec<(u8, &str)> {
        Outline::read(text, 0)
            .headings
            .iter()
            .map(|h| (h.level, &text[h.title.clone()]))
            .collect()
    }

    #[test]
    fn t10_a_large_text_is_parsed_once_and_no_other_text_has_its_outline() {
        let large = |mark: char| format!("# A\n\n{}\n\n## {mark}\n", "x\n".repeat(LARGE));
        let (text, other) = (large('B'), large('C'));
        let first = Outline::read(&text, 0);
        assert!(Rc::ptr_eq(&first, &Outline::read(&text.clone(), 0)));
        // Equally long, another content; the same content, another start.
        assert!(!Rc::ptr_eq(&first, &Outline::read(&other, 0)));
        assert!(Outline::read(&text, 5).headings.len() < first.headings.len());
        assert!(Rc::ptr_eq(&first, &Outline::read(&text, 0)));
        for mark in "DEFG".chars() {
            Outline::read(&large(mark), 0);
        }
        assert!(!Rc::ptr_eq(&first, &Outline::read(&text, 0)));
        assert_eq!(*Outline::read(&text, 0).headings, *first.headings);
    }

    #[test]
    fn headings_are_commonmarks() {
        assert_eq!(
            titles(
                "# A #\n\n   ### B ##\r\n\nC\n---\n\n    # code\n\n- # in a list\n\n> # quoted\n\n#no\n"
            ),
            [(1, "A"), (3, "B"), (2, "C")]
        );
        assert_eq!(titles("### x#\n"), [(3, "x#")]);
    }

    #[test]
    fn code_and_comments_are_no_structure() {
        assert_eq!(titles("```\n# a\n```\n<!--\n# b\n\n-->\n# c\n"), [(1, "c")]);
    }

    #[test]
    fn what_is_not_closed_is_found() {
        let open = |text: &str| Outline::parse(text, 0).open;
        assert!(open("```\na\n```\n").is_empty());
        assert!(open("    ```\n    a\n").is_empty());
        assert_eq!(open("a\n\n~~~\nb\n")[0].what, OpenKind::Fence);
        assert_eq!(open("````\n```\n")[0].at, 0);
        assert_eq!(open("<!-- a\n\n# b\n")[0].what, OpenKind::Comment);
        assert!(open("<!-- a\n\n# b -->\n").is_empty());
        assert!(open("- ```\n  x\n\nb\n")[0].nested);
    }

    #[test]
    fn lines_count_from_one() {
        let outline = Outline::read("a\nb\n", 0);
        assert_eq!(
            (outline.line(0), outline.line(2), outline.line(4)),
            (1, 2, 3)
        );
    }
}
