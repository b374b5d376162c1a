//! Tasks that follow from decisions: a fix inserts the repair of its gate, and behind it the gate that is decided next.
//! This is a function of the plan and of the records; nothing of it is stored, so that taking a decision back takes all
//! of it back.
//!
//! ```text
//! A  <- gate                 gate was fixed        A <- gate (superseded) <- gate.1.mend <- gate.1
//!        ^ B waits for it    ----------------->                                               ^ B waits for it
//! ```

use super::check::misfit;
use super::gate::Gate;
use super::judge::{Judged, counts, score, weakest};
use super::standing::{Standing, standing};
use super::values::{Decision, Verdict};
use crate::session::{Stamped, State};
use crate::task::node::{Edge, Node, NodeKind, TaskId, Verification};
use crate::task::outputs::{folder, in_folder};
use crate::task::status::Status;
use crate::task::world::Condition;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Number of characters of a reason that go into the texts of a repair.
const REASON: usize = 500;

/// The plan with everything that was inserted, in its order.
pub fn expand<'p>(planned: impl Into<Cow<'p, [Node]>>, state: &State) -> Cow<'p, [Node]> {
    let planned = planned.into();
    let has_decided = |node: &Node| {
        let facts = state.task(&node.id);
        node.gate.is_some() && facts.is_some_and(|facts| !facts.decisions.is_empty())
    };
    if planned.iter().any(has_decided) {
        without_fallen(all(&planned, state), state).into()
    } else {
        planned
    }
}

/// Gate by whose outcome each node falls: what was begun before stays. A gate falls with all that it judges.
pub fn falls(nodes: &[Node], state: &State) -> Vec<Option<usize>> {
    let has_outcomes = |node: &Node| {
        let gate = node.gate.as_deref();
        gate.is_some_and(|gate| !gate.outcomes.is_empty())
    };
    let mut named: BTreeMap<String, usize> = BTreeMap::new();
    for (at, node) in nodes
        .iter()
        .enumerate()
        .filter(|(_, node)| has_outcomes(node))
    {
        let Some((decision, judged)) = counting(node, state) else {
            continue;
        };
        let way = match judged.verdict {
            Verdict::Proceed => decision.value.outcome.as_deref(),
            Verdict::Escalate => way_of_opening(node, state),
            Verdict::Fix => None,
        };
        let falls = node.gate.as_deref().map_or(&[][..], |gate| gate.falls(way));
        for id in falls {
            named.entry(id.key()).or_insert(at);
        }
    }
    if named.is_empty() {
        return vec![None; nodes.len()];
    }
    let is_untouched = |id: &TaskId| state.task_status(id) == Status::Pending;
    let mut found: Vec<Option<usize>> = Vec::with_capacity(nodes.len());
    for node in nodes {
        let judged = node.gate.iter().flat_map(|gate| &gate.judges);
        let mut judged = judged.map(|id| named.get(&id.key()).copied());
        let with_judged = judged
            .next()
            .flatten()
            .filter(|_| judged.all(|one| one.is_some()));
        let cause = named.get(&node.id.key()).copied().or(with_judged);
        let cause = cause.filter(|_| is_untouched(&node.id));
        match cause {
            Some(cause) => named.insert(node.id.key(), cause),
            None => named.remove(&node.id.key()),
        };
        found.push(cause);
    }
    found
}

/// The outcome that whoever opened a gate said, while their word stands.
fn way_of_opening<'s>(node: &Node, state: &'s State) -> Option<&'s str> {
    let is_opened = matches!(standing(node, state), Some(Standing::Opened));
    let opened = state.task(&node.id)?.opened.as_ref();
    opened.filter(|_| is_opened)?.value.outcome.as_deref()
}

/// The nodes with edges past those that fall: what waited for one waits for what that one waited for, and reads nothing
/// that it would have left.
fn without_fallen(mut nodes: Vec<Node>, state: &State) -> Vec<Node> {
    let falls = falls(&nodes, state);
    let gone = nodes
        .iter()
        .zip(&falls)
        .filter(|(_, cause)| cause.is_some());
    let gone: BTreeMap<String, Vec<Edge>> = gone
        .map(|(node, _)| (node.id.key(), node.depends_on.clone()))
        .collect();
    if gone.is_empty() {
        return nodes;
    }
    let is_gone = |id: &TaskId| gone.contains_key(&id.key());
    let kept = nodes.iter_mut().zip(&falls);
    for (node, _) in kept.filter(|(_, cause)| cause.is_none()) {
        node.depends_on = past(&node.depends_on, &gone);
        node.reads.retain(|path| {
            in_folder(path).is_none_or(|(task, _)| !gone.contains_key(&task.to_lowercase()))
        });
        if let Some(gate) = &mut node.gate {
            gate.judges.retain(|id| !is_gone(id));
        }
    }
    nodes
}

/// Edges with those of the nodes that are gone in the place of edges to these.
fn past(edges: &[Edge], gone: &BTreeMap<String, Vec<Edge>>) -> Vec<Edge> {
    let mut found: Vec<Edge> = Vec::new();
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let mut left: Vec<Edge> = edges.iter().rev().cloned().collect();
    while let Some(edge) = left.pop() {
        let key = edge.on.key();
        match gone.get(&key) {
            Some(behind) if seen.insert(key) => left.extend(behind.iter().rev().cloned()),
            Some(_) => {}
            None if found.iter().any(|known| known.on == edge.on) => {}
            None => found.push(edge),
        }
    }
    found
}

/// The nodes of a list and of what it inserts. Whatever waited for a gate waits for the last one in its place.
fn all(list: &[Node], state: &State) -> Vec<Node> {
    let last = lasts(list, state);
    let mut found = Vec::new();
    for node in list {
        let mut node = node.clone();
        for edge in &mut node.depends_on {
            replace(&mut edge.on, &last);
        }
        if let Some(gate) = &mut node.gate {
            gate.judges.iter_mut().for_each(|id| replace(id, &last));
        }
        chain(node, list, state, &mut found);
    }
    found
}

fn replace(id: &mut TaskId, last: &BTreeMap<String, TaskId>) {
    if let Some(last) = last.get(&id.key()) {
        *id = last.clone();
    }
}

/// The gates of a list that were superseded, each with the one that is decided in its place now.
fn lasts(list: &[Node], state: &State) -> BTreeMap<String, TaskId> {
    let last = |node: &Node| {
        let mut now = node.clone();
        while let Some(next) = next_gate(&now, state) {
            now.id = next.0;
            now.gate.as_mut()?.attempt += 1;
        }
        (now.id != node.id).then(|| (node.id.key(), now.id))
    };
    list.iter().filter_map(last).collect()
}

/// A node, and where its decisions were fixes, what they inserted and the gates behind it.
fn chain(mut node: Node, list: &[Node], state: &State, found: &mut Vec<Node>) {
    let before = node.depends_on.clone();
    loop {
        let Some((id, fix)) = next_gate(&node, state) else {
            found.push(node);
            return;
        };
        let (repairs, revised) = repairs(&node, &fix, (list, found));
        let last = lasts(&repairs, state);
        let mut next = node.clone();
        next.id = id.clone();
        next.depends_on = before.clone();
        into_own_folder(&mut next);
        if let Some(gate) = &mut next.gate {
            gate.attempt += 1;
            // A revision stands in the place of what it does again.
            gate.judges.retain(|id| !revised.contains(id));
            for repair in &repairs {
                let mut on = repair.id.clone();
                replace(&mut on, &last);
                gate.judges.push(on.clone());
                next.depends_on.push(Edge { on, optional: true });
            }
        }
        if let Some(gate) = &mut node.gate {
            gate.superseded = Some(id);
        }
        found.push(node);
        found.extend(all(&repairs, state));
        node = next;
    }
}

/// The id of the gate that follows where the decision that counts is a fix, and that decision.
fn next_gate(node: &Node, state: &State) -> Option<(TaskId, Stamped<Decision>)> {
    let gate = node.gate.as_deref()?;
    let (fix, judged) = counting(node, state)?;
    let id = TaskId::parse(&format!("{}.{}", root(node), gate.attempt + 1))?;
    (judged.verdict == Verdict::Fix).then(|| (id, fix.clone()))
}

/// The id of a gate as it was planned: without the number of its attempt.
fn root(node: &Node) -> &str {
    let id = node.id.as_str();
    match &node.gate {
        Some(gate) if gate.attempt > 0 => id.rsplit_once('.').map_or(id, |(root, _)| root),
        _ => id,
    }
}

/// The decision about a gate that counts: of several that were made apart the strictest, then the first. One that lets
/// the work go on counts only where its values are those that the rubric asks for: it was forged, or made for another
/// rubric.
pub fn counting<'s>(node: &Node, state: &'s State) -> Option<(&'s Stamped<Decision>, Judged)> {
    let gate = node.gate.as_deref()?;
    let decisions = &state.task(&node.id)?.decisions;
    let judged = decisions
        .iter()
        .map(|one| (one, counts(node.kind, gate, &one.value)));
    let judged = judged.filter(|(one, judged)| {
        judged.verdict != Verdict::Proceed || misfit(gate, &one.value, state).is_none()
    });
    // Of two alike `max_by_key` gives the last.
    judged.rev().max_by_key(|(_, judged)| judged.verdict)
}

/// The tasks that a fix inserts, with ids of their own: the gate's template, or where it has none a revision of each
/// task that was judged, beside the ids of those tasks.
fn repairs(
    node: &Node,
    fix: &Stamped<Decision>,
    (list, found): (&[Node], &[Node]),
) -> (Vec<Node>, Vec<TaskId>) {
    let Some(gate) = node.gate.as_deref() else {
        return (Vec::new(), Vec::new());
    };
    let attempt = gate.attempt + 1;
    let prefix = format!("{}.{attempt}", root(node));
    let words = words(node, gate, fix);
    if !gate.repair.is_empty() {
        let inner = gate.repair.iter();
        let inner = inner.filter_map(|inner| inserted(inner, &prefix, node, &words));
        return (inner.collect(), Vec::new());
    }
    let judged = gate.judges.iter().filter_map(|id| {
        let mut known = list.iter().chain(found);
        known.find(|node| node.id.key() == id.key())
    });
    let work = judged.filter(|judged| judged.kind == NodeKind::Work);
    let made = work.filter_map(|judged| {
        let again = revision(judged, &prefix, node, &words)?;
        Some((again, judged.id.clone()))
    });
    made.unzip()
}

type Words = Vec<(&'static str, String)>;

/// Words for which placeholders in the texts of a template stand.
fn words(node: &Node, gate: &Gate, fix: &Stamped<Decision>) -> Words {
    let reason = fix.reason.as_deref().unwrap_or("no reason was given");
    vec![
        ("{gate}", node.id.to_string()),
        ("{attempt}", (gate.attempt + 1).to_string()),
        (
            "{weakest}",
            weakest(gate, &fix.value).unwrap_or_else(|| "what was judged".to_owned()),
        ),
        ("{reason}", reason.chars().take(REASON).collect()),
        (
            "{strategy}",
            gate.strategy(
                gate.attempt + 1,
                score(gate, &fix.value),
                fix.value.criticals,
            )
            .unwrap_or("as it was planned")
            .to_owned(),
        ),
        (
            "{unmet}",
            match fix.value.unmet.as_slice() {
                [] => "what is not met".to_owned(),
                unmet => unmet.join(", "),
            },
        ),
    ]
}

/// A text with its placeholders filled in. What is filled in is not read again.
fn filled(text: &str, words: &[(&'static str, String)]) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        match words.iter().find(|(name, _)| rest.starts_with(name)) {
            Some((name, word)) => {
                out.push_str(word);
                rest = &rest[name.len()..];
            }
            None => {
                out.push('{');
                rest = &rest[1..];
            }
        }
    }
    out + rest
}

/// A node of a template, in its place. No command has a placeholder: a decision writes none.
fn inserted(
    inner: &Node,
    prefix: &str,
    gate: &Node,
    words: &[(&'static str, String)],
) -> Option<Node> {
    let named = |id: &TaskId| TaskId::parse(&format!("{prefix}.{id}"));
    let mut node = inner.clone();
    node.id = named(&inner.id)?;
    // A gate is about the task that it judges, a task about itself.
    let judged = inner.gate.as_deref().and_then(|gate| gate.judges.first());
    let about = named(judged.unwrap_or(&inner.id))?.to_string();
    let words = &[words, &[("{id}", about)]].concat();
    node.title = filled(&inner.title, words);
    node.edit(|details| {
        for text in details
            .criteria
            .iter_mut()
            .chain([&mut details.description])
        {
            *text = filled(text, words);
        }
        if let Some(Verification::Manual(what)) = &mut details.verification {
            *what = filled(what, words);
        }
    });
    if let Some(skill) = &mut node.skill {
        skill.args = filled(&skill.args, words);
    }
    node.parent = inner.parent.as_ref().and_then(named);
    with_own_folder(&mut node, inner, gate, &named);
    for edge in &mut node.depends_on {
        edge.on = named(&edge.on)?;
    }
    if let Some(own) = &mut node.gate {
        for judged in &mut own.judges {
            *judged = named(judged)?;
        }
    }
    let beside = gate.gate.as_deref().map_or(&[][..], |gate| &gate.repair);
    for condition in &mut node.waits {
        // The run of a task of the same template is that of the task that is inserted with it.
        if let Condition::Evidence { evidence, .. } = condition
            && let Some(other) = beside
                .iter()
                .find(|one| one.id.key() == evidence.to_lowercase())
        {
            *evidence = named(&other.id)?.to_string();
        }
    }
    if node.depends_on.is_empty() {
        node.depends_on.push(Edge {
            on: gate.id.clone(),
            optional: false,
        });
    }
    Some(node)
}

/// Puts what a node leaves into a folder of its own: what another attempt left shows nothing of this one. A file
/// that the node reads of a task beside it is that of the task that is inserted with the node.
fn with_own_folder(
    node: &mut Node,
    inner: &Node,
    gate: &Node,
    named: &impl Fn(&TaskId) -> Option<TaskId>,
) {
    let id = node.id.clone();
    into_own_folder(node);
    let mut known = BTreeSet::new();
    node.outputs.retain(|path| known.insert(path.clone()));
    let beside = gate.gate.as_deref().map_or(&[][..], |gate| &gate.repair);
    for path in &mut node.reads {
        let Some((task, file)) = in_folder(path) else {
            continue;
        };
        let other = beside
            .iter()
            .find(|one| one.id.key() == task.to_lowercase());
        if let Some(other) = other.and_then(|other| named(&other.id)) {
            *path = format!("{}/{file}", folder(&other));
        }
    }
    let has_moved = inner.outputs != node.outputs;
    node.edit(|details| {
        if let Some(Verification::Cmd(words)) = &mut details.verification
            && has_moved
            && let [.., task, outputs, of] = words.as_mut_slice()
            && (task.as_str(), outputs.as_str()) == ("task", "outputs")
        {
            *of = id.to_string();
        }
    });
}

/// Moves the outputs of a node that lie in the folder of a task into its own.
fn into_own_folder(node: &mut Node) {
    let own = folder(&node.id);
    for path in &mut node.outputs {
        if let Some((_, file)) = in_folder(path) {
            *path = format!("{own}/{file}");
        }
    }
}

/// Node of the same work once more.
fn revision(
    judged: &Node,
    prefix: &str,
    gate: &Node,
    words: &[(&'static str, String)],
) -> Option<Node> {
    // What this gate had revised before keeps its name.
    let own = format!("{}.", root(gate));
    let before = judged.revision_of.as_ref();
    let before = before.filter(|_| judged.id.as_str().starts_with(&own));
    let first = before.unwrap_or(&judged.id);
    let mut node = judged.clone();
    node.id = TaskId::parse(&format!("{prefix}.{first}"))?;
    if before.is_none() {
        node.title = format!("Revise: {}", judged.title);
    }
    node.edit(|details| {
        details.description = filled("{weakest}: {reason}", words);
    });
    node.revision_of = Some(first.clone());
    node.parent = None;
    node.line = gate.line;
    node.stage = gate.stage;
    node.depends_on = vec![Edge {
        on: gate.id.clone(),
        optional: false,
    }];
    Some(node)
}
