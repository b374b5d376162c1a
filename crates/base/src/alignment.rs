//! Two sequences beside each other: which items stay, and what one has in place of the other's. The items may be of
//! any type; the comparison is compiled once, over numbers, because `similar` is large for each type it compares.

use similar::{Algorithm, DiffOp, capture_diff_slices};
use std::collections::HashMap;
use std::hash::Hash;

/// The steps from `old` to `new`, as Myers' algorithm finds them.
pub fn shortest<K: Eq + Hash>(old: &[K], new: &[K]) -> Vec<DiffOp> {
    compared(Algorithm::Myers, old, new)
}

/// The steps from `old` to `new` around the items that each side has exactly once (patience diff).
pub fn patient<K: Eq + Hash>(old: &[K], new: &[K]) -> Vec<DiffOp> {
    compared(Algorithm::Patience, old, new)
}

fn compared<K: Eq + Hash>(algorithm: Algorithm, old: &[K], new: &[K]) -> Vec<DiffOp> {
    let mut numbers = HashMap::with_capacity(old.len().max(new.len()));
    let (old, new) = (numbered(&mut numbers, old), numbered(&mut numbers, new));
    capture_diff_slices(algorithm, &old, &new)
}

/// Equal items get equal numbers.
fn numbered<'k, K: Eq + Hash>(numbers: &mut HashMap<&'k K, usize>, items: &'k [K]) -> Vec<usize> {
    let mut number = |item| {
        let next = numbers.len();
        *numbers.entry(item).or_insert(next)
    };
    items.iter().map(&mut number).collect()
}

#[cfg(test)]
mod tests {
    use super::{patient, shortest};
    use similar::{Algorithm, capture_diff_slices};

    #[test]
    fn numbers_are_compared_as_the_items_would_be() {
        let texts = [
            "a b c d e",
            "a c d x e",
            "",
            "b b b a",
            "a b a b a b",
            "e d c b a",
        ];
        for old in texts {
            for new in texts {
                let old: Vec<&str> = old.split(' ').collect();
                let new: Vec<&str> = new.split(' ').collect();
                let expected = capture_diff_slices(Algorithm::Myers, &old, &new);
                assert_eq!(shortest(&old, &new), expected);
                let expected = capture_diff_slices(Algorithm::Patience, &old, &new);
                assert_eq!(patient(&old, &new), expected);
            }
        }
    }
}
