//! Files that two tasks change with nothing to order them: asked when one of them is done. This module owns which other
//! tasks are meant; what changed is told to it.

use super::graph::Graph;
use super::node::{Node, TaskId};
use super::status::{Status, TaskFacts};
use serde::Serialize;
use std::collections::BTreeSet;

/// Task that changes what another one changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Overlap {
    pub task: TaskId,
    pub status: Status,
    pub files: Vec<String>,
    /// Set when somebody has the other task, or completed it, since this one was taken.
    pub at_once: bool,
}

/// Tasks that changed one of these files, too, or that the plan lets change it. What stands before or behind the task
/// in the graph is none: it builds on it. `since` is the number of the claim under which the files changed.
pub fn overlaps<'s>(
    graph: &Graph<'_>,
    at: usize,
    statuses: &[Status],
    (files, since): (&[String], u64),
    facts: impl Fn(&TaskId) -> Option<&'s TaskFacts>,
) -> Vec<Overlap> {
    if files.is_empty() {
        return Vec::new();
    }
    let mut near = line(graph, at);
    near.insert(at);
    let others = graph.nodes.iter().enumerate();
    let others = others.filter(|(other, _)| !near.contains(other));
    let overlap = |(other, node): (usize, &Node)| {
        let status = statuses.get(other).copied()?;
        let own = facts(&node.id);
        let done = own.and_then(|own| own.completion.as_ref());
        let done = done.filter(|_| status == Status::Completed);
        let touched = done.map_or(&[][..], |done| &done.value.files);
        let is_shared = |path: &&String| touched.contains(path) || node.is_about(path);
        let shared: Vec<String> = files.iter().filter(is_shared).cloned().collect();
        let is_open = matches!(
            status,
            Status::Pending | Status::Claimed | Status::Completed
        );
        (is_open && !shared.is_empty()).then(|| Overlap {
            task: node.id.clone(),
            status,
            files: shared,
            at_once: status == Status::Claimed || done.is_some_and(|done| done.seq > since),
        })
    };
    others.filter_map(overlap).collect()
}

/// The nodes before one, and those behind it.
pub(super) fn line(graph: &Graph<'_>, at: usize) -> BTreeSet<usize> {
    let walk = |next: &dyn Fn(usize) -> Vec<usize>| {
        let mut found = BTreeSet::new();
        let mut open = vec![at];
        while let Some(node) = open.pop() {
            open.extend(next(node).into_iter().filter(|to| found.insert(*to)));
        }
        found
    };
    let mut all = walk(&|node| graph.needs(node).map(|(to, _)| to).collect());
    all.extend(walk(&|node| graph.dependents(node).to_vec()));
    all
}

#[cfg(test)]
mod tests {
    use super::overlaps;
    use crate::task::file::graph;
    use crate::task::graph::Graph;
    use crate::task::status::Status;

    const LIST: &str = r#"{"id":"A","title":"T","files":["src"]}
{"id":"B","title":"T","depends_on":["A"],"files":["src/a"]}
{"id":"C","title":"T","files":["src/a"]}
{"id":"D","title":"T","files":[{"path":"src/a","action":"read"}]}
{"id":"E","title":"T","files":["src/a"]}"#;

    #[test]
    fn what_stands_before_or_behind_is_no_overlap_and_what_only_reads_is_none() {
        let nodes = graph(LIST).expect("a list").nodes;
        let graph = Graph::of(&nodes);
        use Status::{Claimed, Completed, Failed, Pending};
        let statuses = [Completed, Claimed, Claimed, Pending, Failed];
        let files = ["src/a".to_owned()];
        let of = |at: usize| {
            let found = overlaps(&graph, at, &statuses, (&files, 0), |_| None);
            let row = |one: &super::Overlap| format!("{} {}", one.task, one.at_once);
            found.iter().map(row).collect::<Vec<_>>()
        };
        assert_eq!(of(1), ["C true"], "A is before it, D reads, E failed");
        assert_eq!(of(2), ["A false", "B true"]);
        assert!(overlaps(&graph, 1, &statuses, (&[], 0), |_| None).is_empty());
    }
}
