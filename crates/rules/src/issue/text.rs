//! The lines of one text that two people wrote apart, as one text: where both changed the same place there is none.

use loopx_base::alignment;
use similar::DiffOp;

/// Merges two texts that were made from `base`, line by line; `None` where they changed the same lines, or lines that
/// touch, in different ways.
pub(super) fn merge(base: &str, ours: &str, theirs: &str) -> Option<String> {
    merged(base, ours, theirs, false)
}

/// Merges two texts that were made from `base`, line by line, and takes the lines of the first where both changed the same.
pub(super) fn merge_over(base: &str, ours: &str, theirs: &str) -> String {
    merged(base, ours, theirs, true).unwrap_or_else(|| ours.to_owned())
}

fn merged(base: &str, ours: &str, theirs: &str, is_over: bool) -> Option<String> {
    if ours == theirs || theirs == base {
        return Some(ours.to_owned());
    }
    if ours == base {
        return Some(theirs.to_owned());
    }
    let lines =
        |text: &'_ str| -> Vec<String> { text.split_inclusive('\n').map(str::to_owned).collect() };
    let (base, ours, theirs) = (lines(base), lines(ours), lines(theirs));
    let (mut left, mut right) = (changes(&base, &ours), changes(&base, &theirs));
    left.reverse();
    right.reverse();
    let mut merged = String::new();
    let mut at = 0;
    loop {
        let side = match (left.last(), right.last()) {
            (None, None) => break,
            (Some(_), None) => &mut left,
            (None, Some(_)) => &mut right,
            (Some(a), Some(b)) if a == b => {
                left.pop();
                &mut right
            }
            (Some(a), Some(b)) if touch(a, b) && is_over => {
                right.pop();
                continue;
            }
            (Some(a), Some(b)) if touch(a, b) => return None,
            (Some(a), Some(b)) if a.from < b.from => &mut left,
            _ => &mut right,
        };
        let Some(change) = side.pop() else { break };
        merged.extend(base[at..change.from].iter().map(String::as_str));
        merged.push_str(&change.new);
        at = change.to;
    }
    merged.extend(base[at..].iter().map(String::as_str));
    Some(merged)
}

/// Lines of the base that are others now.
#[derive(PartialEq)]
struct Change {
    from: usize,
    to: usize,
    new: String,
}

fn touch(a: &Change, b: &Change) -> bool {
    a.from <= b.to && b.from <= a.to
}

fn changes(base: &[String], side: &[String]) -> Vec<Change> {
    let ops = alignment::shortest(base, side);
    let ops = ops
        .into_iter()
        .filter(|op| !matches!(op, DiffOp::Equal { .. }));
    ops.map(|op| Change {
        from: op.old_range().start,
        to: op.old_range().end,
        new: side[op.new_range()].concat(),
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::{merge, merge_over};
    use proptest::prelude::{Strategy, prop};
    use proptest::{prop_assert_eq, proptest};

    #[test]
    fn lines_that_lie_apart_are_both_kept() {
        let base = "one\ntwo\nthree\nfour\n";
        for (ours, theirs, merged) in [
            (
                "ONE\ntwo\nthree\nfour\n",
                "one\ntwo\nthree\nFOUR\n",
                Some("ONE\ntwo\nthree\nFOUR\n"),
            ),
            (
                "one\ntwo\nthree\nfour\nfive\n",
                "zero\none\ntwo\nthree\nfour\n",
                Some("zero\none\ntwo\nthree\nfour\nfive\n"),
            ),
            (
                "one\nthree\nfour\n",
                "one\ntwo\nthree\nfour!\n",
                Some("one\nthree\nfour!\n"),
            ),
            ("same\n", "same\n", Some("same\n")),
            ("one\nTWO\nthree\nfour\n", "one\ntoo\nthree\nfour\n", None),
            (
                "one\ntwo\nthree\nfour\na\n",
                "one\ntwo\nthree\nfour\nb\n",
                None,
            ),
        ] {
            assert_eq!(
                merge(base, ours, theirs).as_deref(),
                merged,
                "{ours:?} {theirs:?}"
            );
            assert_eq!(
                merge(base, theirs, ours).as_deref(),
                merged,
                "{theirs:?} {ours:?}"
            );
        }
    }

    #[test]
    fn where_both_changed_a_line_one_of_them_has_it_and_the_rest_is_there() {
        let base = "one\ntwo\nthree\nfour\nfive\n";
        let (ours, theirs) = (
            "one\nTWO\nthree\nfour\nFIVE\n",
            "ONE\n2\n3\nfour\nfive\nsix\n",
        );
        assert_eq!(merge(base, ours, theirs), None);
        assert_eq!(
            merge_over(base, ours, theirs),
            "one\nTWO\nthree\nfour\nFIVE\n"
        );
        assert_eq!(
            merge_over(base, theirs, ours),
            "ONE\n2\n3\nfour\nfive\nsix\n"
        );
        let (ours, theirs) = (
            "one\nTWO\nthree\nFOUR\nfive\n",
            "one\n2\nthree\nfour\nfive\nsix\n",
        );
        assert_eq!(
            merge_over(base, ours, theirs),
            "one\nTWO\nthree\nFOUR\nfive\nsix\n"
        );
        assert_eq!(
            merge_over(base, theirs, ours),
            "one\n2\nthree\nFOUR\nfive\nsix\n"
        );
    }

    fn text() -> impl Strategy<Value = String> {
        prop::collection::vec("[ab]\n", 0..8).prop_map(|lines| lines.concat())
    }

    proptest! {
        #[test]
        fn a_merge_is_the_same_from_both_sides(base in text(), ours in text(), theirs in text()) {
            prop_assert_eq!(merge(&base, &ours, &theirs), merge(&base, &theirs, &ours));
            prop_assert_eq!(merge(&base, &ours, &base), Some(ours.clone()));
            prop_assert_eq!(merge(&base, &ours, &ours), Some(ours));
        }
    }
}
