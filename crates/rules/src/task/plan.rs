//! The nodes of a session, from the artifacts that plan them: `tasks.jsonl`, and slices of sessions that have those.

use super::decide::{expand, falls};
use super::graph::Graph;
use super::node::{Details, Edge, Node, NodeFile, NodeKind, OnFailed, TaskId, Verification};
use super::status::{Status, TaskFacts};
use crate::artifact::Artifact;
use crate::change_pack;
use crate::change_pack::Slice;
use crate::session::State;
use crate::stage::Stage;
use crate::texts::Texts;
use loopx_base::failure::Blocker;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// The nodes in the order of the plan; none where nothing is planned. Checks of a brief are no nodes: nobody takes
/// them.
pub fn nodes(texts: &Texts) -> Result<Cow<'_, [Node]>, Blocker> {
    let mut files = change_pack::present(texts);
    let is_empty = |file: &Artifact| texts.get(file).is_some_and(|text| text.trim().is_empty());
    files.retain(|file| *file != Artifact::Brief && !is_empty(file));
    if files == [Artifact::TaskList] {
        return Ok(listed(texts)?.into());
    }
    let mut found = Vec::new();
    for file in files {
        if file == Artifact::TaskList {
            found.extend_from_slice(listed(texts)?);
            continue;
        }
        let slices = change_pack::slices_in(file, texts)?;
        found.extend(
            slices
                .into_iter()
                .enumerate()
                .filter_map(|(at, slice)| node(slice, at + 1)),
        );
    }
    Ok(found.into())
}

/// The nodes of the list of tasks.
fn listed(texts: &Texts) -> Result<&[Node], Blocker> {
    match texts.list() {
        Some(Ok(nodes)) => Ok(nodes),
        Some(Err(blocker)) => Err(blocker.clone()),
        None => Ok(&[]),
    }
}

/// The nodes as they are now: with what decisions inserted, and with gates that wait for others in their place.
pub fn now<'t>(texts: &'t Texts, state: &State) -> Result<Cow<'t, [Node]>, Blocker> {
    Ok(expand(nodes(texts)?, state))
}

/// The ids of the nodes; none where the list cannot be read.
pub fn ids(texts: &Texts, state: &State) -> BTreeSet<String> {
    let nodes = now(texts, state).unwrap_or_default();
    let ids = nodes.iter().map(|node| node.id.as_str().to_owned());
    ids.collect()
}

/// The keys of the tasks that are not done because of another one ([`fallen_by`]); none where the list cannot be read.
pub fn fallen(texts: &Texts, state: &State) -> BTreeSet<String> {
    let takes_along = |facts: &TaskFacts| {
        let mut decisions = facts.decisions.iter();
        let opened = facts.opened.as_ref();
        matches!(facts.status, Status::Failed | Status::Skipped)
            || decisions.any(|one| one.value.outcome.is_some())
            || opened.is_some_and(|one| one.value.outcome.is_some())
    };
    if !state.tasks.values().any(takes_along) {
        return BTreeSet::new();
    }
    let nodes = now(texts, state).unwrap_or_default();
    let recorded = nodes.iter().map(|node| state.task_status(&node.id));
    let recorded: Vec<Status> = recorded.collect();
    let causes = fallen_by(&nodes, &recorded, state).into_iter();
    let fallen = nodes.iter().zip(causes).filter(|(_, by)| by.is_some());
    fallen.map(|(node, _)| node.id.key()).collect()
}

/// Tells whether a node failed as often as it may.
pub fn is_at_cap(node: &Node, state: &State) -> bool {
    let facts = state.task(&node.id);
    facts.is_some_and(|facts| facts.failures >= node.cap)
}

/// Node because of which each node is skipped with no record of its own: it waits for one that failed as often as it
/// may, or that is skipped, and whose plan says that this takes along what waits for it; or a gate went on by an
/// outcome that lets it fall. Empty where none is.
pub fn fallen_by(nodes: &[Node], statuses: &[Status], state: &State) -> Vec<Option<usize>> {
    let takes_along = |node: &Node| node.on_failed == OnFailed::Skip;
    let by_outcome = falls(nodes, state);
    if !nodes.iter().any(takes_along) {
        let has_fallen = by_outcome.iter().any(Option::is_some);
        return if has_fallen { by_outcome } else { Vec::new() };
    }
    let is_over = |at: usize| {
        let node = &nodes[at];
        takes_along(node)
            && match state.task_status(&node.id) {
                Status::Failed => is_at_cap(node, state),
                Status::Skipped => true,
                _ => false,
            }
    };
    let found = Graph::of(nodes).fallen(statuses, is_over).into_iter();
    found
        .zip(by_outcome)
        .map(|(one, other)| one.or(other))
        .collect()
}

/// The nodes that decisions inserted.
pub fn inserted(texts: &Texts, state: &State) -> Result<Vec<Node>, Blocker> {
    let mut tasks = state.tasks.values();
    if tasks.all(|facts| facts.decisions.is_empty()) {
        return Ok(Vec::new());
    }
    let planned = nodes(texts)?;
    let known: BTreeSet<String> = planned.iter().map(|node| node.id.key()).collect();
    let all = expand(planned, state);
    let more = all.iter().filter(|node| !known.contains(&node.id.key()));
    Ok(more.cloned().collect())
}

/// A slice as a node. Its id was checked where it was read.
fn node(slice: Slice, line: usize) -> Option<Node> {
    let verification = if slice.verification.is_empty() {
        Verification::Manual(slice.acceptance_criteria.join("; "))
    } else {
        Verification::Cmd(slice.verification)
    };
    let edges = slice.blocked_by.iter();
    let edges = edges.filter_map(|on| TaskId::parse(on));
    let file = |path| NodeFile {
        path,
        action: None,
        risk: None,
    };
    let title = if slice.title.is_empty() {
        slice.behaviour.clone()
    } else {
        slice.title
    };
    let details = Details {
        description: slice.behaviour,
        work: None,
        files: slice.files.into_iter().map(file).collect(),
        criteria: slice.acceptance_criteria,
        verification: Some(verification),
        done_when: None,
    };
    Some(Node {
        id: TaskId::parse(&slice.id)?,
        title,
        kind: NodeKind::Work,
        priority: Node::PRIORITY,
        role: None,
        stage: Stage::Build,
        depends_on: edges
            .map(|on| Edge {
                on,
                optional: false,
            })
            .collect(),
        waits: Vec::new(),
        parent: None,
        shared: None,
        scenarios: slice.scenarios,
        reads: Vec::new(),
        deferred: Vec::new(),
        skill: None,
        outputs: Vec::new(),
        exclusive: Vec::new(),
        parallel: true,
        cap: Node::CAP,
        time_limit: None,
        turn: None,
        on_failed: OnFailed::Hold,
        part: None,
        revision_of: None,
        gate: None,
        line,
        details: details.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::nodes;
    use crate::artifact::Artifact;
    use crate::stage::Stage;
    use crate::task::node::NodeKind;

    #[test]
    fn what_a_list_says_of_a_task_holds_for_its_node() {
        let text = r#"{"id":"A","title":"T","priority":0,"role":"writer","cap":1,"exclusive":["db"],"convergence":{"criteria":["It says no"],"verification":{"cmd":["true"]}}}
{"id":"B","title":"T","kind":"checkpoint","stage":"review","depends_on":[{"id":"A","optional":true}]}"#;
        let texts = [(Artifact::TaskList, text.to_owned())].into();
        let nodes = nodes(&texts).expect("a plan");
        let first = &nodes[0];
        assert_eq!((first.priority, first.cap), (0, 1));
        assert_eq!(first.role.as_deref(), Some("writer"));
        assert_eq!(first.exclusive, ["db"]);
        assert_eq!(
            (nodes[1].kind, nodes[1].stage),
            (NodeKind::Checkpoint, Stage::Review)
        );
        assert!(nodes[1].depends_on[0].optional);
    }
}
