//! Operations that are asked again and again which of them stand apart from another one, or were seen by
//! its writer. Nobody asks them one by one: along a line those that a writer had seen come first, and
//! those whose writers had seen that one come last.

use super::Causality;
use std::collections::BTreeMap;

/// Operations in parts, by what they have in common.
pub(crate) struct Groups<K> {
    parts: Vec<(K, Set)>,
}

/// Operations of one part, line by line.
#[derive(Default)]
pub(crate) struct Set {
    lines: BTreeMap<u32, Vec<usize>>,
    /// The line whose last operation is the newest comes first.
    newest: Vec<u32>,
    /// The line whose first operation is the oldest comes first.
    oldest: Vec<u32>,
}

impl<K: Ord> Groups<K> {
    /// Operations in replay order.
    pub(crate) fn of(cause: &Causality, places: impl IntoIterator<Item = (K, usize)>) -> Self {
        let mut parts: BTreeMap<K, Vec<usize>> = BTreeMap::new();
        for (key, at) in places {
            parts.entry(key).or_default().push(at);
        }
        let set = |places: Vec<usize>| Set::of(cause, places);
        let parts = parts.into_iter();
        Groups {
            parts: parts.map(|(key, places)| (key, set(places))).collect(),
        }
    }

    /// Lists the operations that stand apart from the one at `at`, of the parts that are wanted. Where there are more
    /// than `most`, only `most` are given, the same ones in every clone.
    pub(crate) fn apart(
        &self,
        cause: &Causality,
        at: usize,
        most: usize,
        wanted: impl Fn(&K) -> bool,
    ) -> Vec<usize> {
        let mut found = Vec::new();
        for (_, set) in self.parts.iter().filter(|(key, _)| wanted(key)) {
            set.add_apart(cause, at, most, &mut found);
            if found.len() >= most {
                break;
            }
        }
        found.sort_unstable();
        found
    }
}

impl Set {
    /// Operations in replay order.
    pub(crate) fn of(cause: &Causality, places: impl IntoIterator<Item = usize>) -> Self {
        let Some(graph) = &cause.graph else {
            return Set::default();
        };
        let mut lines: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for at in places {
            lines.entry(graph.lines[at]).or_default().push(at);
        }
        let mut newest: Vec<u32> = lines.keys().copied().collect();
        let mut oldest = newest.clone();
        newest.sort_by_key(|line| std::cmp::Reverse(lines[line].last()));
        oldest.sort_by_key(|line| lines[line].first());
        Set {
            newest,
            oldest,
            lines,
        }
    }

    /// Adds those that stand apart from one, until there are so many.
    pub(crate) fn add_apart(
        &self,
        cause: &Causality,
        at: usize,
        most: usize,
        found: &mut Vec<usize>,
    ) {
        let Some(graph) = &cause.graph else {
            return;
        };
        let past = &graph.past[at];
        for line in &self.newest {
            let places = &self.lines[line];
            let is_seen = places.last().is_none_or(|last| *last < past.floor);
            if found.len() >= most || is_seen {
                break;
            }
            // Whoever stands in one line with it has seen it, or was seen.
            if *line == graph.lines[at] {
                continue;
            }
            let seen = past.of(*line);
            let first = places.partition_point(|place| *place < seen);
            let end = places.partition_point(|place| !cause.saw(*place, at));
            let room = most - found.len();
            found.extend(places[first..end.max(first)].iter().take(room));
        }
    }

    /// Lists the operations of the set that the writer of the one at `at` had seen.
    pub(crate) fn seen(&self, cause: &Causality, at: usize) -> Vec<usize> {
        self.seen_lines(cause, at, at).flatten().copied().collect()
    }

    /// Lists, for each line, the last operation that the writer of the one at `at` had seen, or the one at `at` itself.
    pub(crate) fn last_seen(&self, cause: &Causality, at: usize) -> Vec<usize> {
        let seen = self.seen_lines(cause, at, at + 1);
        seen.filter_map(<[usize]>::last).copied().collect()
    }

    /// Cuts each line of the set to what the writer of the operation at `at` had seen; the own line to what is before
    /// `end`.
    fn seen_lines<'s>(
        &'s self,
        cause: &'s Causality,
        at: usize,
        end: usize,
    ) -> impl Iterator<Item = &'s [usize]> {
        let before = |places: &'s Vec<usize>, limit: usize| {
            let seen = places.partition_point(|place| *place < limit);
            &places[..seen]
        };
        cause.graph.iter().flat_map(move |graph| {
            let (own, past) = (graph.lines[at], &graph.past[at]);
            let first = self.lines.get(&own).map(|places| before(places, end));
            let is_older = move |line: &&u32| self.lines[line].first() < Some(&past.end);
            let others = self.oldest.iter().take_while(is_older);
            let others = others.filter(move |line| **line != own);
            first
                .into_iter()
                .chain(others.map(move |line| before(&self.lines[line], past.of(*line))))
        })
    }
}
