//! Three-way merging of one text: line endings aside, then by lines, then (for scenarios) by steps.
//!
//! The line merge itself comes from the caller; steps are merged here, because two people who edit two
//! neighbouring steps have not touched each other, while a line merge takes neighbours for a conflict.

use super::words;
use loopx_base::alignment;
use similar::DiffOp;

/// Merges three texts by lines; `None` when they conflict.
///
/// Texts come with `\n` line endings and `ours` and `theirs` in a fixed order, so that a merger that
/// is not symmetric gives one result all the same.
pub trait LineMerge {
    fn merge(&self, base: &str, ours: &str, theirs: &str) -> Option<String>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Eol {
    Lf,
    Crlf,
    Mixed,
}

impl Eol {
    pub fn bytes(self) -> &'static str {
        match self {
            Eol::Crlf => "\r\n",
            Eol::Lf | Eol::Mixed => "\n",
        }
    }

    /// The line ending of a text; `None` when it has a single line.
    pub fn of(text: &str) -> Option<Eol> {
        if !text.as_bytes().contains(&b'\r') {
            return text.contains('\n').then_some(Eol::Lf);
        }
        let all = text.matches('\n').count();
        let crlf = text.matches("\r\n").count();
        match (all, crlf) {
            (0, _) => None,
            (_, 0) => Some(Eol::Lf),
            (all, crlf) if all == crlf => Some(Eol::Crlf),
            _ => Some(Eol::Mixed),
        }
    }

    /// The ending that most lines have; a tie goes to `\n`.
    pub fn most(text: &str) -> Eol {
        if !text.as_bytes().contains(&b'\r') {
            return Eol::Lf;
        }
        let crlf = text.matches("\r\n").count();
        if crlf * 2 > text.matches('\n').count() {
            Eol::Crlf
        } else {
            Eol::Lf
        }
    }
}

/// The side that differs from the base; the smaller one when both do.
pub fn merge3<T: Ord>(base: T, ours: T, theirs: T) -> T {
    if ours == base {
        theirs
    } else if theirs == base {
        ours
    } else {
        ours.min(theirs)
    }
}

pub fn to_lf(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// `text` with one kind of line ending.
pub fn with_eol(text: &str, eol: Eol) -> String {
    match eol {
        Eol::Lf => to_lf(text),
        Eol::Crlf => to_lf(text).replace('\n', "\r\n"),
        Eol::Mixed => text.to_owned(),
    }
}

/// Tells whether two texts differ in line endings at most.
pub(crate) fn same_lines(a: &str, b: &str) -> bool {
    a == b || (a.contains('\r') || b.contains('\r')) && to_lf(a) == to_lf(b)
}

/// Tells whether two texts have the same content: blank lines and blanks at line ends aside.
pub(crate) fn same_content(a: &str, b: &str) -> bool {
    a == b || content_lines(a).eq(content_lines(b))
}

pub(crate) fn content_lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim_end).filter(|l| !l.is_empty())
}

/// Merges three versions of one text. `file` is the line ending of the whole file, where it has one.
pub(crate) fn merge_text(
    base: &str,
    ours: &str,
    theirs: &str,
    steps: bool,
    file: Option<Eol>,
    lines: &dyn LineMerge,
) -> Option<String> {
    if ours == theirs || theirs == base {
        return Some(ours.to_owned());
    }
    if ours == base {
        return Some(theirs.to_owned());
    }
    let kinds = [Eol::of(base), Eol::of(ours), Eol::of(theirs)];
    let [b, o, t] = kinds.map(|kind| kind.or(file));
    let eol = match merge3(b, o, t) {
        Some(Eol::Mixed) | None => file.unwrap_or(Eol::Lf),
        Some(eol) => eol,
    };
    let (b, o, t) = (to_lf(base), to_lf(ours), to_lf(theirs));
    let merged = if o == t || t == b {
        o
    } else if o == b {
        t
    } else {
        let (first, second) = if o <= t { (&o, &t) } else { (&t, &o) };
        lines
            .merge(&b, first, second)
            .or_else(|| steps.then(|| merge_steps(&b, first, second)).flatten())?
    };
    Some(match eol {
        Eol::Crlf => merged.replace('\n', "\r\n"),
        _ => merged,
    })
}

/// Splits at the start of every step; a step takes its nested data along.
pub(crate) fn steps(text: &str) -> Vec<&str> {
    let mut cuts = vec![0];
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if at > 0 && starts_step(line) {
            cuts.push(at);
        }
        at += line.len();
    }
    cuts.push(text.len());
    cuts.windows(2)
        .filter_map(|pair| text.get(*pair.first()?..*pair.last()?))
        .filter(|unit| !unit.is_empty())
        .collect()
}

fn starts_step(line: &str) -> bool {
    let indent = line.len() - line.trim_start_matches(' ').len();
    let line = line.trim_start_matches(' ');
    let bullet = ["- ", "* ", "+ "].iter().any(|mark| line.starts_with(mark));
    indent < 2 && bullet || indent < 4 && words::step(unnumbered(line)).is_some()
}

/// A line without the number of an ordered list.
pub(crate) fn unnumbered(line: &str) -> &str {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    match line.get(digits..) {
        Some(rest) if (1..10).contains(&digits) => rest
            .strip_prefix(". ")
            .or_else(|| rest.strip_prefix(") "))
            .map_or(line, str::trim_start),
        _ => line,
    }
}

/// Number of steps that no person writes: the limit keeps the differ's worst case away.
const MOST_STEPS: usize = 500;

struct Edit<'t> {
    from: usize,
    to: usize,
    with: Vec<&'t str>,
}

fn merge_steps(base: &str, ours: &str, theirs: &str) -> Option<String> {
    let (base, ours, theirs) = (
        format!("{base}\n"),
        format!("{ours}\n"),
        format!("{theirs}\n"),
    );
    let (b, o, t) = (steps(&base), steps(&ours), steps(&theirs));
    if [&b, &o, &t].iter().any(|units| units.len() > MOST_STEPS) {
        return None;
    }
    let (o, t) = (edits(&b, &o), edits(&b, &t));
    let (mut i, mut j, mut at) = (0, 0, 0);
    let mut out = String::new();
    loop {
        let edit = match (o.get(i), t.get(j)) {
            (None, None) => break,
            (Some(x), None) => {
                i += 1;
                x
            }
            (None, Some(y)) => {
                j += 1;
                y
            }
            (Some(x), Some(y)) if (x.from, x.to, &x.with) == (y.from, y.to, &y.with) => {
                i += 1;
                j += 1;
                x
            }
            (Some(x), Some(y)) if x.touches(y) => return None,
            (Some(x), Some(y)) if x.from < y.from => {
                i += 1;
                x
            }
            (Some(_), Some(y)) => {
                j += 1;
                y
            }
        };
        out.extend(b.get(at..edit.from)?.iter().copied());
        out.extend(edit.with.iter().copied());
        at = edit.to;
    }
    out.extend(b.get(at..)?.iter().copied());
    out.pop();
    Some(out)
}

impl Edit<'_> {
    /// Tells whether the order of two edits matters: they share a step, or one inserts at the other's edge.
    fn touches(&self, other: &Edit<'_>) -> bool {
        let inserts = self.from == self.to || other.from == other.to;
        if inserts {
            self.from <= other.to && other.from <= self.to
        } else {
            self.from < other.to && other.from < self.to
        }
    }
}

fn edits<'t>(base: &[&'t str], side: &[&'t str]) -> Vec<Edit<'t>> {
    let mut list = Vec::new();
    for op in alignment::shortest(base, side) {
        if matches!(op, DiffOp::Equal { .. }) {
            continue;
        }
        let (old, new) = (op.old_range(), op.new_range());
        if old.len() == new.len() {
            // Step against step: each is an edit of its own.
            for (from, to) in old.zip(new) {
                list.push(Edit {
                    from,
                    to: from + 1,
                    with: side.get(to).copied().into_iter().collect(),
                });
            }
        } else {
            list.push(Edit {
                from: old.start,
                to: old.end,
                with: side.get(new).unwrap_or_default().to_vec(),
            });
        }
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_steps_of_an_ordered_list_are_steps() {
        let text =
            "1. **GIVEN** x\n   - nested\n     1. deeper\n2) **WHEN** y\n10. THEN z\n1. data\n";
        let found = steps(text);
        assert_eq!(found.concat(), text);
        let firsts: Vec<&str> = found
            .iter()
            .filter_map(|unit| unit.lines().next())
            .collect();
        assert_eq!(firsts, ["1. **GIVEN** x", "2) **WHEN** y", "10. THEN z"]);
        for (line, bare) in [
            ("3. a", "a"),
            ("3) a", "a"),
            ("3.a", "3.a"),
            ("a", "a"),
            ("", ""),
        ] {
            assert_eq!(unnumbered(line), bare);
        }
    }

    struct Never;
    impl LineMerge for Never {
        fn merge(&self, _: &str, _: &str, _: &str) -> Option<String> {
            None
        }
    }

    #[test]
    fn neighbouring_steps_merge_and_neighbouring_lines_do_not() {
        let base = "- **WHEN** a\n- **THEN** b";
        let ours = "- **WHEN** a2\n- **THEN** b";
        let theirs = "- **WHEN** a\n- **THEN** b2";
        let both = "- **WHEN** a2\n- **THEN** b2";
        assert_eq!(
            merge_text(base, ours, theirs, true, None, &Never).as_deref(),
            Some(both)
        );
        assert_eq!(merge_text(base, ours, theirs, false, None, &Never), None);
    }

    #[test]
    fn one_step_edited_twice_conflicts() {
        assert_eq!(
            merge_text("- a\n- b", "- a1\n- b", "- a2\n- b", true, None, &Never),
            None
        );
        assert_eq!(
            merge_text("- a", "- a\n- b", "- a\n- c", true, None, &Never),
            None
        );
        assert_eq!(
            merge_text("- a", "- a\n- b", "- a1", true, None, &Never),
            None
        );
    }

    #[test]
    fn line_endings_merge_apart_from_the_text() {
        assert_eq!(
            merge_text("a\nb", "a\r\nb", "a\nc", false, None, &Never).as_deref(),
            Some("a\r\nc")
        );
    }
}
