//! Circles of duplicates: issues that were closed as duplicates of each other, each in a clone that did not know of the
//! other's word. Of them none would be done, so that somebody has to say which of them is the original.

use super::graph::age;
use super::{Issue, IssueId};
use std::collections::{BTreeSet, HashMap};

/// Circles of duplicates, each oldest first.
pub fn circles(issues: &[Issue]) -> Vec<Vec<&Issue>> {
    let places = issues.iter().enumerate();
    let places = places.map(|(at, issue)| (issue.id.clone(), at)).collect();
    let found = circles_in(issues, &places).into_iter().map(|circle| {
        let mut circle: Vec<&Issue> = circle.into_iter().map(|at| &issues[at]).collect();
        circle.sort_by_cached_key(|issue| age(issue));
        circle
    });
    found.collect()
}

/// Circles of duplicates, each as the places of its issues. A circle of which one issue is a duplicate of something else,
/// too, is none: that stands for all of them.
pub(super) fn circles_in(issues: &[Issue], places: &HashMap<IssueId, usize>) -> Vec<Vec<usize>> {
    let originals: HashMap<usize, Vec<usize>> = (issues.iter().enumerate())
        .map(|(at, issue)| {
            let here = issue.originals().filter_map(|id| places.get(id).copied());
            (at, here.collect())
        })
        .filter(|(_, here): &(usize, Vec<usize>)| !here.is_empty())
        .collect();
    let mut duplicates: HashMap<usize, Vec<usize>> = HashMap::new();
    for (at, of) in &originals {
        for original in of {
            duplicates.entry(*original).or_default().push(*at);
        }
    }
    // Whoever stands for nobody is an original; what leads to one is done with it.
    let is_original = |at: &usize| !originals.contains_key(at);
    let done: Vec<usize> = duplicates.keys().copied().filter(is_original).collect();
    let done = spread(done, |at| duplicates.get(&at));
    let mut left: BTreeSet<usize> = originals.keys().copied().collect();
    left.retain(|at| !done.contains(at));
    // What only leads to a circle is in none.
    let named = |at: usize, left: &BTreeSet<usize>| {
        let by = duplicates.get(&at).into_iter().flatten();
        by.filter(|by| left.contains(by)).count()
    };
    let mut counts: HashMap<usize, usize> =
        left.iter().map(|at| (*at, named(*at, &left))).collect();
    let mut free: Vec<usize> = left.iter().copied().filter(|at| counts[at] == 0).collect();
    while let Some(at) = free.pop() {
        left.remove(&at);
        for original in &originals[&at] {
            if let Some(count) = counts.get_mut(original) {
                *count -= 1;
                if *count == 0 {
                    free.push(*original);
                }
            }
        }
    }
    let mut found = Vec::new();
    while let Some(first) = left.first().copied() {
        let beside = |at| {
            let both = [&originals, &duplicates].into_iter();
            both.filter_map(move |of| of.get(&at)).flatten()
        };
        let mut group = BTreeSet::from([first]);
        let mut open = vec![first];
        while let Some(at) = open.pop() {
            let more = beside(at).filter(|at| left.contains(at));
            open.extend(more.copied().filter(|at| group.insert(*at)));
        }
        left.retain(|at| !group.contains(at));
        found.push(group.into_iter().collect());
    }
    found
}

/// Places with all that they lead to.
fn spread<'p>(
    mut open: Vec<usize>,
    next: impl Fn(usize) -> Option<&'p Vec<usize>>,
) -> BTreeSet<usize> {
    let mut found: BTreeSet<usize> = open.iter().copied().collect();
    while let Some(at) = open.pop() {
        let more = next(at).into_iter().flatten().copied();
        open.extend(more.filter(|at| found.insert(*at)));
    }
    found
}
