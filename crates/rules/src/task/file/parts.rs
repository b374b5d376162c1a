//! Faults of parts: a whole waits for its parts, and a part for what its whole waits for, so that tasks can wait for each
//! other where no edge of theirs says so. No task is a part of itself here, and none depends on itself: that was looked
//! for before.

use super::finding::found;
use super::{TaskFile, cycles, rings};
use loopx_spec::Finding;
use std::collections::HashMap;

/// Number of tasks that stand above one at most, each a part of the next: every one hands on what it waits for.
const MOST_ABOVE: usize = 50;

/// Finds tasks that stand too deep, else those that wait for each other by way of parts.
pub(super) fn check(file: &TaskFile, findings: &mut Vec<Finding>) {
    let all = 0..file.nodes.len();
    let deep = all
        .into_iter()
        .find(|at| above(file, *at).nth(MOST_ABOVE).is_some());
    if let Some(node) = deep.map(|at| &file.nodes[at]) {
        let message = format!(
            "{}: more than {MOST_ABOVE} tasks stand above it, each a part of the next",
            node.id
        );
        findings.push(found("task_parts_deep", node.line, message));
        return;
    }
    findings.extend(
        waiting(file)
            .iter()
            .map(|ring| rings(file, "wait for", ring)),
    );
}

/// The tasks that a task is a part of, from the nearest.
fn above(file: &TaskFile, at: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(file.parent(at), |at| file.parent(*at))
}

/// Tasks that wait for each other, the first of each ring repeated at its end. Each task is two steps here: it begins, by
/// an even number, and it ends. What waits for its own part ends behind it, and begins before it.
fn waiting(file: &TaskFile) -> Vec<Vec<usize>> {
    let mut parts: HashMap<usize, Vec<usize>> = HashMap::new();
    for at in 0..file.nodes.len() {
        if let Some(whole) = file.parent(at) {
            parts.entry(whole).or_default().push(at);
        }
    }
    let before = |step: usize| -> Vec<usize> {
        let at = step / 2;
        if step % 2 == 1 {
            let parts = parts.get(&at).into_iter().flatten();
            return parts.map(|part| part * 2 + 1).chain([at * 2]).collect();
        }
        let is_part = |to: &usize| above(file, *to).any(|whole| whole == at);
        let on = file.before(at).filter(|to| !is_part(to));
        let whole = file.parent(at).map(|whole| whole * 2);
        on.map(|to| to * 2 + 1).chain(whole).collect()
    };
    let mut found = cycles(file.nodes.len() * 2, before);
    for ring in &mut found {
        ring.iter_mut().for_each(|step| *step /= 2);
        ring.dedup();
    }
    found
}
