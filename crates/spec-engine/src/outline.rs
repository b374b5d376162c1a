//! The CommonMark skeleton of a text, as byte ranges: headings outside lists and quotes, what is code
//! or comment, rules, and what was opened and never closed.
//!
//! One parser for specs and deltas, so that no two readers can disagree. Knows no word of the grammar.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use std::cell::RefCell;
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;
use std::rc::Rc;

/// One heading at the top level of the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Heading {
    pub level: u8,
    /// From the start of its first line to before the end of its last.
    pub range: Range<usize>,
    pub title: Range<usize>,
}

/// A block at the top level that is not a heading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Block {
    Heading,
    Rule,
    Comment,
    Other,
}

/// Something that was opened and never closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Open {
    pub at: usize,
    pub what: OpenKind,
    /// It ended with the list item or quote around it, not with the text.
    pub nested: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenKind {
    Fence,
    Comment,
    Html,
}

#[derive(Debug, Default)]
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

/// Texts of at least so many bytes are remembered.
const LARGE: usize = 64 * 1024;
/// So many outlines are remembered: of the base, ours, theirs and the result of one merge.
const REMEMBERED: usize = 4;

/// The outlines of large texts that this thread read last, the newest at the end. One command meets the same text as
/// base, as target and as result; to parse it is most of what a large spec costs.
#[derive(Default)]
struct Memory {
    /// Their keys nobody can guess, so that no text is made to look like another one.
    keys: [RandomState; 2],
    outlines: Vec<(Key, Rc<Outline>)>,
}

/// The length of a text, two hashes of it, and where its Markdown starts.
type Key = (usize, u64, u64, usize);

impl Memory {
    fn key(&self, text: &str, start: usize) -> Key {
        let [first, second] = &self.keys;
        (
            text.len(),
            first.hash_one(text),
            second.hash_one(text),
            start,
        )
    }

    fn find(&mut self, key: Key) -> Option<Rc<Outline>> {
        let at = self.outlines.iter().position(|(known, _)| *known == key)?;
        let found = self.outlines.remove(at);
        let outline = Rc::clone(&found.1);
        self.outlines.push(found);
        Some(outline)
    }

    fn keep(&mut self, key: Key, outline: &Rc<Outline>) {
        if self.outlines.len() == REMEMBERED {
            self.outlines.remove(0);
        }
        self.outlines.push((key, Rc::clone(outline)));
    }
}

thread_local! {
    static MEMORY: RefCell<Memory> = RefCell::default();
}

impl Outline {
    /// Reads `text` from `start` on (a byte order mark and front matter are not Markdown).
    pub(crate) fn read(text: &str, start: usize) -> Rc<Outline> {
        if text.len() < LARGE {
            return Rc::new(Outline::parse(text, start));
        }
        let key = MEMORY.with_borrow(|memory| memory.key(text, start));
        if let Some(known) = MEMORY.with_borrow_mut(|memory| memory.find(key)) {
            return known;
        }
        let outline = Rc::new(Outline::parse(text, start));
        MEMORY.with_borrow_mut(|memory| memory.keep(key, &outline));
        outline
    }

    fn parse(text: &str, start: usize) -> Outline {
        let lines = line_starts(text);
        let room = lines.len().min(1_000);
        let mut outline = Outline {
            // A line is a block or a run of prose, mostly.
            blocks: Vec::with_capacity(room),
            prose: Vec::with_capacity(room),
            lines,
            ..Outline::default()
        };
        let body = text.get(start..).unwrap_or_default();
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
        outline
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

/// What ends an HTML block that blank lines do not end (CommonMark 4.6, kinds 1 and 3 to 5).
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

/// Whether the last line of a fenced block closes it.
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

/// Where the title of a heading lies in its source: without `#` runs, underline and outer white space.
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
    let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
    starts.extend(ends.map(|(at, _)| at + 1));
    starts
}

#[cfg(test)]
mod tests {
    use super::*;

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
