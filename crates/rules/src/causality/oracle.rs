//! The past of every operation as a matrix of bits: what [`super::Causality`] is compared with.

use crate::op::Operation;
use loopx_base::id::OpId;
use std::collections::BTreeMap;

/// The past of each of some operations, by their place in replay order.
pub(crate) struct Causality {
    count: usize,
    /// `None`: each has seen all before it.
    past: Option<Vec<Vec<u64>>>,
}

impl Causality {
    /// `ops` in replay order. An operation that names nothing, or something that is not here, has seen
    /// whatever comes before it: that is how it was before operations named others.
    pub(crate) fn of(ops: &[&Operation]) -> Self {
        let count = ops.len();
        let is_line = ops.iter().enumerate().all(|(at, op)| {
            let goes_on = || at > 0 && op.after.as_slice() == [ops[at - 1].op.clone()];
            at == 0 || goes_on() || op.after.is_empty() && !super::is_beginning(op)
        });
        if is_line {
            return Causality { count, past: None };
        }
        let places: BTreeMap<&OpId, usize> = ops
            .iter()
            .enumerate()
            .map(|(at, op)| (&op.op, at))
            .collect();
        let words = count.div_ceil(64);
        let mut past: Vec<Vec<u64>> = Vec::with_capacity(count);
        for (at, op) in ops.iter().enumerate() {
            let named: Option<Vec<usize>> = op
                .after
                .iter()
                .map(|id| places.get(id).copied().filter(|place| *place < at))
                .collect();
            let mut row = vec![0; words];
            match named.filter(|named| !named.is_empty()) {
                Some(named) => {
                    for place in named {
                        for (word, earlier) in row.iter_mut().zip(&past[place]) {
                            *word |= earlier;
                        }
                        set(&mut row, place);
                    }
                }
                None if super::is_beginning(op) => {}
                None => (0..at).for_each(|place| set(&mut row, place)),
            }
            past.push(row);
        }
        Causality {
            count,
            past: Some(past),
        }
    }

    pub(crate) fn is_line(&self) -> bool {
        self.past.is_none()
    }

    /// Tells whether the writer of `later` had seen `earlier`.
    pub(crate) fn saw(&self, later: usize, earlier: usize) -> bool {
        match &self.past {
            None => earlier < later,
            Some(past) => has(&past[later], earlier),
        }
    }

    /// Tells whether neither writer had seen the operation of the other.
    pub(crate) fn apart(&self, a: usize, b: usize) -> bool {
        a != b && self.past.is_some() && !self.saw(a, b) && !self.saw(b, a)
    }

    /// Lists the operations of `places` that no writer of the others had seen.
    pub(crate) fn newest(&self, places: &[usize]) -> Vec<usize> {
        let Some(past) = &self.past else {
            return places.iter().max().copied().into_iter().collect();
        };
        let mut seen = vec![0; self.count.div_ceil(64)];
        for place in places {
            for (word, earlier) in seen.iter_mut().zip(&past[*place]) {
                *word |= earlier;
            }
        }
        let newest = places.iter().filter(|place| !has(&seen, **place));
        newest.copied().collect()
    }
}

fn set(row: &mut [u64], place: usize) {
    row[place / 64] |= 1 << (place % 64);
}

fn has(row: &[u64], place: usize) -> bool {
    row[place / 64] & (1 << (place % 64)) != 0
}
