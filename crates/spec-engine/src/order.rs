//! The order of siblings after a merge: what nobody moved keeps the base's order, what was added or
//! moved stands where its side put it, and two sides that put something at one place are zipped by name.
//!
//! Symmetric in the two sides, and never a conflict: no text is lost by a wrong order.

use std::collections::HashSet;

/// Merges two orders. `0..base` are the base's siblings in their order, larger numbers are additions;
/// `alive` tells what is left, `key` decides between neighbours that the sides added at one place.
pub(crate) fn merge_order(
    base: usize,
    ours: &[usize],
    theirs: &[usize],
    alive: &[bool],
    key: impl Fn(usize) -> String,
) -> Vec<usize> {
    let total = alive.len();
    let is_alive = |id: usize| alive.get(id).copied().unwrap_or(false);
    let sides = [Side::new(base, ours, alive), Side::new(base, theirs, alive)];
    let skeleton: Vec<usize> = (0..base)
        .filter(|id| is_alive(*id) && sides.iter().all(|side| !side.moved(*id)))
        .collect();
    let mut rank: Vec<Option<usize>> = vec![None; total];
    for (index, id) in skeleton.iter().enumerate() {
        if let Some(slot) = rank.get_mut(*id) {
            *slot = Some(index + 1);
        }
    }
    // The gap in which each side wants an addition or a moved sibling; the first gap wins.
    let mut wanted: Vec<Option<usize>> = vec![None; total];
    let mut placed: [Vec<(usize, usize)>; 2] = [Vec::new(), Vec::new()];
    for ((side, order), list) in sides.iter().zip([ours, theirs]).zip(&mut placed) {
        let mut gap = 0;
        for id in order {
            if let Some(Some(index)) = rank.get(*id) {
                gap = *index;
            } else if is_alive(*id) && (*id >= base || side.moved(*id)) {
                list.push((gap, *id));
                if let Some(slot) = wanted.get_mut(*id) {
                    *slot = Some(slot.map_or(gap, |other| other.min(gap)));
                }
            }
        }
    }
    let mut chains: Vec<[Vec<usize>; 2]> = vec![Default::default(); skeleton.len() + 1];
    for (side, list) in placed.iter().enumerate() {
        for (gap, id) in list {
            if wanted.get(*id) == Some(&Some(*gap))
                && let Some(chain) = chains.get_mut(*gap).and_then(|pair| pair.get_mut(side))
            {
                chain.push(*id);
            }
        }
    }
    let mut out = Vec::with_capacity(total);
    for (gap, [a, b]) in chains.iter().enumerate() {
        if let Some(id) = gap.checked_sub(1).and_then(|index| skeleton.get(index)) {
            out.push(*id);
        }
        zip(a, b, &key, &mut out);
    }
    out
}

/// Moves of one side: a mark for each of the base's siblings that the side moved.
struct Side {
    moved: Vec<bool>,
}

impl Side {
    fn new(base: usize, order: &[usize], alive: &[bool]) -> Side {
        let kept: Vec<usize> = order
            .iter()
            .copied()
            .filter(|id| *id < base && alive.get(*id) == Some(&true))
            .collect();
        let mut moved = vec![false; base];
        for id in &kept {
            if let Some(slot) = moved.get_mut(*id) {
                *slot = true;
            }
        }
        for id in longest_increasing(&kept) {
            if let Some(slot) = moved.get_mut(id) {
                *slot = false;
            }
        }
        Side { moved }
    }

    fn moved(&self, id: usize) -> bool {
        self.moved.get(id).copied().unwrap_or(false)
    }
}

/// A longest increasing subsequence, in n log n.
fn longest_increasing(list: &[usize]) -> Vec<usize> {
    let mut tails: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(list.len());
    let value = |index: &usize| list.get(*index).copied().unwrap_or(usize::MAX);
    for (index, id) in list.iter().enumerate() {
        let at = tails.partition_point(|tail| value(tail) < *id);
        before.push(at.checked_sub(1).and_then(|at| tails.get(at)).copied());
        match tails.get_mut(at) {
            Some(tail) => *tail = index,
            None => tails.push(index),
        }
    }
    let mut out = Vec::with_capacity(tails.len());
    let mut next = tails.last().copied();
    while let Some(index) = next {
        out.extend(list.get(index));
        next = before.get(index).copied().flatten();
    }
    out.reverse();
    out
}

/// Merges two chains: each keeps its own order, what both have stands once.
fn zip(a: &[usize], b: &[usize], key: &impl Fn(usize) -> String, out: &mut Vec<usize>) {
    if a.is_empty() || b.is_empty() || a == b {
        out.extend(if a.is_empty() { b } else { a });
        return;
    }
    let (in_a, in_b): (HashSet<usize>, HashSet<usize>) =
        (a.iter().copied().collect(), b.iter().copied().collect());
    let mut done: HashSet<usize> = HashSet::new();
    let (mut i, mut j) = (0, 0);
    loop {
        while a.get(i).is_some_and(|id| done.contains(id)) {
            i += 1;
        }
        while b.get(j).is_some_and(|id| done.contains(id)) {
            j += 1;
        }
        let id = match (a.get(i).copied(), b.get(j).copied()) {
            (None, None) => break,
            (Some(x), None) => x,
            (None, Some(y)) => y,
            (Some(x), Some(y)) => match (in_b.contains(&x), in_a.contains(&y)) {
                // What only one side has goes before what both have.
                (true, false) => y,
                (false, true) => x,
                _ if (key(x), x) <= (key(y), y) => x,
                _ => y,
            },
        };
        done.insert(id);
        out.push(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(base: usize, ours: &[usize], theirs: &[usize], total: usize) -> Vec<usize> {
        let merged = merge_order(base, ours, theirs, &vec![true; total], |id| {
            format!("{id:03}")
        });
        let swapped = merge_order(base, theirs, ours, &vec![true; total], |id| {
            format!("{id:03}")
        });
        assert_eq!(merged, swapped);
        merged
    }

    #[test]
    fn additions_at_one_place_stand_by_name() {
        assert_eq!(order(2, &[0, 3, 1], &[0, 2, 1], 4), [0, 2, 3, 1]);
        assert_eq!(order(1, &[0, 2, 1], &[0, 3], 4), [0, 2, 1, 3]);
    }

    #[test]
    fn one_sides_move_stands() {
        assert_eq!(order(3, &[0, 1, 2], &[2, 0, 1], 3), [2, 0, 1]);
        assert_eq!(order(3, &[0, 1, 3, 2], &[2, 0, 1], 4), [2, 0, 1, 3]);
    }

    #[test]
    fn both_moving_is_no_conflict() {
        assert_eq!(order(3, &[2, 0, 1], &[2, 0, 1], 3), [2, 0, 1]);
        assert_eq!(order(3, &[1, 0, 2], &[0, 2, 1], 3).len(), 3);
    }
}
