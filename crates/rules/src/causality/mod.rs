//! Causality: which operations the writer of another operation had seen.
//!
//! Each operation names the newest ones before it, so the set is a graph; where it is a single line,
//! which is nearly always, nothing is computed. Numbers only order: that one is larger says nothing of
//! what its writer knew.
//!
//! A graph is cut into lines: an operation goes on with the line of one that it names, or begins a new
//! one. To have seen an operation is to have seen what its line has before it, so that one number for each
//! line says all that a writer knew. Neighbours share these numbers: memory grows with the operations
//! and with what they name, not with their square.

mod groups;
#[cfg(test)]
mod oracle;
mod table;

pub(super) use groups::{Groups, Set};

use super::op::Operation;
use loopx_base::id::OpId;
use std::collections::{BTreeMap, BTreeSet};
use table::Table;

/// The past of each of some operations, by their place in replay order.
#[derive(Default)]
pub(super) struct Causality {
    /// `None`: each has seen all before it.
    graph: Option<Graph>,
}

struct Graph {
    /// The line that each operation belongs to.
    lines: Vec<u32>,
    past: Vec<Past>,
}

/// Past of one writer: what the writer had seen beside the line that the operation goes on with.
#[derive(Clone)]
struct Past {
    /// Place before which everything was seen.
    floor: usize,
    /// Place from which on nothing was seen.
    end: usize,
    /// Place after the last one that was seen, by line.
    seen: Table,
}

impl Causality {
    /// `ops` in replay order. An operation that names nothing, or something that is not here, has seen
    /// whatever comes before it: that is how it was before operations named others.
    pub(super) fn of(ops: &[&Operation]) -> Self {
        let is_line = ops.iter().enumerate().all(|(at, op)| {
            let goes_on = || at > 0 && op.after.as_slice() == [ops[at - 1].op.clone()];
            at == 0 || goes_on() || op.after.is_empty() && !is_beginning(op)
        });
        if is_line {
            return Causality { graph: None };
        }
        let places: BTreeMap<&OpId, usize> = ops
            .iter()
            .enumerate()
            .map(|(at, op)| (&op.op, at))
            .collect();
        let mut graph = Graph {
            lines: Vec::with_capacity(ops.len()),
            past: Vec::with_capacity(ops.len()),
        };
        // The last operation of each line.
        let mut ends: Vec<usize> = Vec::new();
        for (at, op) in ops.iter().enumerate() {
            let named: Option<BTreeSet<usize>> = op
                .after
                .iter()
                .map(|id| places.get(id).copied().filter(|place| *place < at))
                .collect();
            let named = named.filter(|named| !named.is_empty());
            let past = match &named {
                Some(named) => graph.joined(named),
                None if is_beginning(op) => Past::nothing(),
                None => Past {
                    floor: at,
                    end: at,
                    ..Past::nothing()
                },
            };
            // The one before ends its line, whatever that is.
            let before = at.checked_sub(1);
            let before = before.filter(|_| named.is_none() && !is_beginning(op));
            let mut before = named.iter().flatten().rev().copied().chain(before);
            let line = before.find_map(|place| {
                let line = graph.lines[place];
                (ends[line as usize] == place).then_some(line)
            });
            let line = line.unwrap_or_else(|| {
                ends.push(at);
                u32::try_from(ends.len() - 1).unwrap_or(u32::MAX)
            });
            ends[line as usize] = at;
            graph.lines.push(line);
            graph.past.push(past);
        }
        Causality { graph: Some(graph) }
    }

    pub(super) fn is_line(&self) -> bool {
        self.graph.is_none()
    }

    /// Tells whether the writer of `later` had seen `earlier`.
    pub(super) fn saw(&self, later: usize, earlier: usize) -> bool {
        match &self.graph {
            None => earlier < later,
            Some(graph) => earlier < graph.seen_of(later, graph.lines[earlier]),
        }
    }

    /// Tells whether neither writer had seen the operation of the other.
    #[cfg(test)]
    pub(super) fn apart(&self, a: usize, b: usize) -> bool {
        a != b && self.graph.is_some() && !self.saw(a, b) && !self.saw(b, a)
    }

    /// Lists the operations of `places` that no writer of the others had seen.
    pub(super) fn newest(&self, places: &[usize]) -> Vec<usize> {
        let Some(graph) = &self.graph else {
            return places.iter().max().copied().into_iter().collect();
        };
        // Whatever another one of the same line had seen, the last one of them had.
        let mut last: BTreeMap<u32, usize> = BTreeMap::new();
        for place in places {
            let known = last.entry(graph.lines[*place]).or_default();
            *known = (*known).max(*place);
        }
        let all: BTreeSet<usize> = last.values().copied().collect();
        let seen = graph.past_of(&all);
        let is_newest = |place: &usize| {
            let line = graph.lines[*place];
            last.get(&line) == Some(place) && *place >= seen.of(line)
        };
        places.iter().copied().filter(is_newest).collect()
    }
}

/// Tells whether the writer of a record knew of none before it: two clones that take one issue over from elsewhere
/// begin it each. Records of format 1 name nothing before them, whatever their writers knew.
fn is_beginning(op: &Operation) -> bool {
    op.after.is_empty() && op.seq == 1 && op.format > 1
}

impl Graph {
    /// Joins what all these writers together had seen beside their own lines.
    fn past_of(&self, places: &BTreeSet<usize>) -> Past {
        let mut pasts = places.iter().map(|place| &self.past[*place]);
        let mut all = match pasts.next() {
            Some(first) => first.clone(),
            None => Past::nothing(),
        };
        for past in pasts {
            all.floor = all.floor.max(past.floor);
            all.end = all.end.max(past.end);
            all.seen.join(&past.seen);
        }
        all
    }

    /// Computes the past of a writer who has these operations.
    fn joined(&self, named: &BTreeSet<usize>) -> Past {
        let mut past = self.past_of(named);
        for place in named {
            past.seen.raise(self.lines[*place], *place + 1);
            past.end = past.end.max(*place + 1);
        }
        let lines = &self.lines;
        while past.floor < lines.len() && past.seen.get(lines[past.floor]) > past.floor {
            past.floor += 1;
        }
        if past.floor == lines.len() {
            past.seen = Table::default();
        }
        past
    }

    /// The place after the last operation of a line that a writer had seen.
    fn seen_of(&self, at: usize, line: u32) -> usize {
        if self.lines[at] == line {
            at
        } else {
            self.past[at].of(line)
        }
    }
}

impl Past {
    fn nothing() -> Self {
        Past {
            floor: 0,
            end: 0,
            seen: Table::default(),
        }
    }

    fn of(&self, line: u32) -> usize {
        self.floor.max(self.seen.get(line))
    }
}

#[cfg(test)]
mod tests {
    use super::oracle;
    use super::{Causality, Groups, Set};
    use crate::op::{Event, Operation};
    use crate::replay_props::{op_id, operation, started};
    use proptest::collection::vec;
    use proptest::prelude::{ProptestConfig, Strategy, any, prop_assert_eq, proptest};

    /// Names that one operation gives: some that are before it, one that nobody has, or nothing.
    #[derive(Clone, Debug)]
    enum After {
        /// Distances back, from the operation just before.
        These(Vec<usize>),
        /// The one that this many before it came after too.
        Beside(usize),
        Missing(usize),
        Nothing,
    }

    fn graphs() -> impl Strategy<Value = Vec<After>> {
        let after = proptest::prop_oneof![
            6 => vec(0..3_usize, 1..2).prop_map(After::These),
            4 => vec(0..40_usize, 1..5).prop_map(After::These),
            4 => (0..6_usize).prop_map(After::Beside),
            1 => (0..40_usize).prop_map(After::Missing),
            1 => any::<bool>().prop_map(|_| After::Nothing),
        ];
        vec(after, 1..90)
    }

    fn made(graph: &[After]) -> Vec<Operation> {
        let mut ops = vec![started()];
        for (n, after) in graph.iter().enumerate() {
            let at = n + 1;
            let mut op = operation(at, at as u64 + 1, Event::Saved, None);
            let back = |far: &usize| ops[at - 1 - far % at].op.clone();
            op.after = match after {
                After::These(far) => far.iter().map(back).collect(),
                After::Beside(far) => ops[at - 1 - far % at].after.clone(),
                After::Missing(far) => vec![back(far), op_id(999)],
                After::Nothing => Vec::new(),
            };
            ops.push(op);
        }
        ops
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// G19: the numbers of lines say what a matrix of everything said.
        #[test]
        fn a_past_is_what_the_whole_matrix_says(
            graph in graphs(),
            some in vec(any::<proptest::sample::Index>(), 0..20),
        ) {
            let ops = made(&graph);
            let ops: Vec<&Operation> = ops.iter().collect();
            let (now, was) = (Causality::of(&ops), oracle::Causality::of(&ops));
            prop_assert_eq!(now.is_line(), was.is_line());
            for a in 0..ops.len() {
                for b in 0..ops.len() {
                    prop_assert_eq!(now.saw(a, b), was.saw(a, b), "{} {}", a, b);
                    prop_assert_eq!(now.apart(a, b), was.apart(a, b), "{} {}", a, b);
                }
            }
            let mut some: Vec<usize> = some.iter().map(|at| at.index(ops.len())).collect();
            some.sort_unstable();
            some.dedup();
            let all: Vec<usize> = (0..ops.len()).collect();
            for places in [&all, &some] {
                prop_assert_eq!(now.newest(places), was.newest(places));
            }
            let groups = Groups::of(&now, some.iter().map(|at| (at % 3, *at)));
            let set = Set::of(&now, some.iter().copied());
            for at in 0..ops.len() {
                let expected: Vec<usize> = some
                    .iter()
                    .copied()
                    .filter(|other| other % 3 != 1 && was.apart(at, *other))
                    .collect();
                prop_assert_eq!(groups.apart(&now, at, usize::MAX, |key| *key != 1), expected.clone());
                let few = groups.apart(&now, at, 2, |key| *key != 1);
                prop_assert_eq!(few.len(), expected.len().min(2));
                let seen: Vec<usize> = some
                    .iter()
                    .copied()
                    .filter(|other| *other == at || was.saw(at, *other))
                    .collect();
                let mut last = set.last_seen(&now, at);
                last.sort_unstable();
                if !now.is_line() {
                    prop_assert_eq!(now.newest(&last), was.newest(&seen));
                }
            }
        }
    }

    /// G19: each of many saw the first alone, or all the others but one.
    #[test]
    fn many_lines_beside_each_other_are_no_square() {
        const MANY: usize = 20_000;
        let mut ops = vec![started()];
        for at in 1..=MANY {
            let mut op = operation(at, at as u64 + 1, Event::Saved, None);
            op.after = match at {
                // Half of them beside each other, one that has them but for the first, and all the others
                // on top of that one.
                _ if at < MANY / 2 => vec![ops[0].op.clone()],
                _ if at == MANY / 2 => ops[2..].iter().map(|op| op.op.clone()).collect(),
                _ => vec![ops[MANY / 2].op.clone()],
            };
            ops.push(op);
        }
        let refs: Vec<&Operation> = ops.iter().collect();
        let cause = Causality::of(&refs);
        assert!(
            cause.saw(MANY, MANY / 2 - 1) && !cause.saw(MANY, 1) && cause.apart(MANY, MANY - 1)
        );
        let all: Vec<usize> = (0..=MANY).collect();
        assert_eq!(cause.newest(&all).len(), MANY / 2 + 1);
        // Table nodes, by what each operation adds of them.
        let graph = cause.graph.as_ref().expect("a graph");
        let mut nodes = std::collections::BTreeSet::new();
        for past in &graph.past {
            past.seen.nodes(&mut nodes);
        }
        assert!(nodes.len() < 8 * MANY, "{} nodes", nodes.len());
    }
}
