//! The walk over the records of an issue: its status behind each of them, by one fold that goes on.

use super::undone::is_beginning;
use super::{Folding, in_order};
use crate::causality::Causality;
use crate::issue::{IssueId, Status};
use crate::op::Operation;
use crate::words::Word;
use loopx_base::id::OpId;
use std::collections::BTreeSet;

/// The fold of the first records of an issue, which goes on to later ones.
pub(in crate::issue) struct Walk<'o> {
    id: &'o IssueId,
    folding: Folding<'o>,
    off: BTreeSet<&'o OpId>,
    /// The records that were gone through.
    at: usize,
    /// The records that were folded; more than were gone through where words took some of them back.
    pub(in crate::issue) folded: usize,
}

impl<'o> Walk<'o> {
    /// The walk before the first record; nothing where a word takes the beginning back: whether it counts depends on
    /// records behind it.
    pub(in crate::issue) fn of(id: &'o IssueId, ops: &'o [Operation]) -> Option<Self> {
        let ops = in_order(ops);
        let takes_beginning = |op: &&Operation| match op.said() {
            Some(Word::Undone { undone }) => undone.iter().any(|one| is_beginning(&ops, one)),
            _ => false,
        };
        if ops.iter().any(takes_beginning) {
            return None;
        }
        let cause = Causality::of(&ops);
        Some(Walk {
            id,
            folding: Folding::of(ops, cause),
            off: BTreeSet::new(),
            at: 0,
            folded: 0,
        })
    }

    /// The status behind the first records, in the order in which they are folded. No call asks for fewer than the one before.
    pub(in crate::issue) fn status(&mut self, end: usize) -> Option<Status> {
        let begin = self.at;
        let mut is_changed = false;
        for at in begin..end {
            match self.folding.ops[at].said() {
                Some(Word::Undone { undone }) => self.off.extend(undone),
                Some(Word::Redone { redone }) => {
                    self.off.retain(|one| !redone.contains(one));
                }
                _ => continue,
            }
            is_changed = true;
        }
        if is_changed {
            self.folding.begin_anew();
        }
        let begin = if is_changed { 0 } else { begin };
        self.folding.records(self.id, begin..end, &self.off);
        self.folded += end - begin;
        self.at = end;
        self.folding.status()
    }
}
