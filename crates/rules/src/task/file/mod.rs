//! `tasks.jsonl`: one task a line, read into nodes. This module owns how the file is written: which fields there are,
//! what they may hold, and how one is changed so that every other byte stays. It knows nothing of what happened to a
//! task.
//!
//! Two questions are asked of a list. [`read`] asks whether it is a graph at all: ids, edges, words that rules depend
//! on. [`check`] asks further whether it is a good plan.

mod both;
mod check;
mod cursor;
pub mod domain;
pub mod domain_move;
pub mod edit;
mod fields;
mod finding;
mod gate;
mod merge;
mod parts;
mod plain;
mod row;
mod show;
mod waits;

pub use both::{KeptBoth, domains_apart, keep_both, made_twice};
pub use check::{EFFORTS, TYPES, Vague, check, vague};
pub use domain_move::Renamed;
pub use fields::{STAGES, priorities, said};
pub use finding::{FINDINGS, argument, found};
pub use merge::{Clash, Merged, Names, merge};
pub use row::Fields;
pub use show::{Form, markdown, values};
pub use waits::{conditions, of_own_session};

use self::domain::Domain;
use super::node::{Kept, Key, Lines, Node, TaskId};
use crate::strict_json::fault;
use loopx_spec::{Finding, Severity, has_errors};
use serde_json::{Value, json};
use std::cell::OnceCell;
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

/// A line like those of the file, for messages.
pub const EXAMPLE: &str = r#"{"id":"TASK-001","title":"...","convergence":{"criteria":["..."],"verification":{"cmd":["cargo","test"]}}}"#;

/// A list that could be read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskFile {
    /// Nodes in the order of the file.
    pub nodes: Vec<Node>,
    /// The fields of each node as they are written, those that nobody here knows among them.
    pub fields: Vec<Fields>,
    /// Parts of the work, in the order of the file.
    pub domains: Vec<Domain>,
    /// Oddities that stop nobody from reading the list.
    pub warnings: Vec<Finding>,
    places: Places,
}

/// The places of nodes by their ids, made once somebody asks for one. They follow from the nodes.
#[derive(Clone, Debug, Default)]
struct Places(OnceCell<HashMap<String, usize>>);

impl PartialEq for Places {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl TaskFile {
    /// The place of a node, whatever the letter case of its id. Of two the first counts.
    pub fn place(&self, id: &TaskId) -> Option<usize> {
        let places = self.places.0.get_or_init(|| {
            let places = self.nodes.iter().enumerate().rev();
            places.map(|(at, node)| (node.id.key(), at)).collect()
        });
        id.with_key(|key| places.get(key).copied())
    }

    pub fn node(&self, id: &TaskId) -> Option<&Node> {
        self.nodes.get(self.place(id)?)
    }

    /// The places of the nodes that this one waits for.
    pub fn before(&self, at: usize) -> impl Iterator<Item = usize> {
        let edges = self.nodes.get(at).map_or(&[][..], |node| &node.depends_on);
        edges.iter().filter_map(|edge| self.place(&edge.on))
    }

    /// The place of the node that this one is a part of.
    fn parent(&self, at: usize) -> Option<usize> {
        self.place(self.nodes.get(at)?.parent.as_ref()?)
    }

    /// The places of every node that comes before this one.
    pub fn ancestors(&self, at: usize) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        let mut open = vec![at];
        while let Some(node) = open.pop() {
            for before in self.before(node) {
                if found.insert(before) {
                    open.push(before);
                }
            }
        }
        found
    }

    /// The places of nodes that wait for each other, the first one of each ring repeated at its end.
    pub fn cycles(&self) -> Vec<Vec<usize>> {
        cycles(self.nodes.len(), |at| self.before(at).collect())
    }
}

/// The lines that hold something, with their numbers.
pub fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    (1..)
        .zip(text.lines())
        .filter(|(_, line)| !line.trim().is_empty())
}

/// Reads a list. The findings are all that is wrong with it as a graph, in the order of lines.
pub fn read(text: &str) -> Result<TaskFile, Vec<Finding>> {
    scan(text, None)
}

/// Reads a list without its fields as they are written, and the details of a node once somebody asks for them: what a
/// long list costs then is what its graph needs.
pub fn graph(text: impl Into<Rc<str>>) -> Result<TaskFile, Vec<Finding>> {
    let text = text.into();
    let lines = Lines::new(Rc::clone(&text), plain::details);
    scan(&text, Some(&Rc::new(lines)))
}

/// Reads a list: with the fields as they are written, or with details that are read from these lines later.
fn scan(text: &str, source: Option<&Rc<Lines>>) -> Result<TaskFile, Vec<Finding>> {
    let mut findings = Vec::new();
    let mut file = TaskFile::default();
    for (line, row) in lines(text) {
        let plain = source.and_then(|source| {
            let from = row.as_ptr() as usize - text.as_ptr() as usize;
            let details = Kept::of_line(source, from, from + row.len())?;
            plain::node(row, line, details)
        });
        if let Some(node) = plain {
            file.nodes.push(node);
            continue;
        }
        let text = row;
        let fields: Fields = match serde_json::from_str(text) {
            Ok(fields) => fields,
            Err(error) => {
                let message = format!("{}; expected a line like {EXAMPLE}", fault(&error));
                findings.push(found("task_line_invalid", line, message));
                continue;
            }
        };
        if domain::is_one(&fields) {
            file.domains
                .extend(domain::of(&fields, line, &mut findings));
            continue;
        }
        let Some(node) = fields::node(&fields, line, &mut findings) else {
            continue;
        };
        file.nodes.push(node);
        if source.is_none() {
            file.fields.push(fields);
        }
    }
    domain::wiring(&file, &mut findings);
    edges(&file, &mut findings);
    gate::ids(&file, &mut findings);
    waits::wiring(&file, &mut findings);
    findings.sort_by_key(|finding| finding.line);
    if has_errors(&findings) {
        // A marker is no task, and what stands between two of them is not judged.
        let apart = apart(text);
        return Err(if apart.is_empty() { findings } else { apart });
    }
    file.warnings = findings;
    Ok(file)
}

/// The versions of tasks that stand between the markers of a merge, a finding for each place. What else is wrong with
/// such a list is not said before they are settled.
fn apart(text: &str) -> Vec<Finding> {
    if !text.contains("<<<<<<< ") {
        return Vec::new();
    }
    let begins = lines(text).filter(|(_, line)| line.starts_with("<<<<<<< "));
    let places = begins.map(|(first, _)| {
        let rest = lines(text).skip_while(|(line, _)| *line < first);
        let mut what = "a task";
        let mut last = first;
        for (line, text) in rest {
            last = line;
            if text.starts_with("||||||| ") {
                let (_, said) = text.split_once('(').unwrap_or_default();
                what = said.trim_end().trim_end_matches(')');
            }
            if text.starts_with(">>>>>>> ") {
                break;
            }
        }
        let what = if what.is_empty() { "a task" } else { what };
        let message = format!("the versions of {what} stand between markers up to line {last}");
        found("task_versions_apart", first, message)
    });
    places.collect()
}

/// The ids that stand in a list twice, each where it stands again.
pub fn repeated(text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    places(&read_anyway(text), &mut findings);
    findings
}

/// The lines that are no JSON object: nobody can go on with those, however unfinished a list is.
pub fn no_objects(text: &str) -> Vec<Finding> {
    let odd = lines(text).filter_map(|(line, text)| {
        let error = serde_json::from_str::<Fields>(text).err()?;
        let message = format!("{}; expected a line like {EXAMPLE}", fault(&error));
        Some(found("task_line_invalid", line, message))
    });
    odd.collect()
}

/// The meaning of a name and a value for a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// A field of ours, and a value that it takes.
    Ours,
    /// A field of ours that takes no such value.
    Other,
    /// A name that no field of ours has.
    Nothing,
}

/// Fields that say which gate asks for a task, and how: another tool says nothing of that.
const OF_GATES: [&str; 6] = ["cap", "gate", "kind", "on_failed", "stage", "waits"];

/// The meaning of a field of a list that another tool wrote. Only the form of a value is looked at: which other tasks
/// it names is the business of the whole list.
pub fn meaning(name: &str, value: &Value) -> Meaning {
    if !fields::is_own(name) {
        return Meaning::Nothing;
    }
    if OF_GATES.contains(&name) {
        return Meaning::Other;
    }
    let mut line = json!({
        "id": "A",
        "title": "T",
        "convergence": { "criteria": ["C"], "verification": { "cmd": ["true"] } },
    });
    line[name] = value.clone();
    let read = serde_json::from_str::<Fields>(&line.to_string());
    let mut findings = Vec::new();
    let is_read = read.is_ok_and(|fields| fields::node(&fields, 1, &mut findings).is_some());
    findings.extend(check(&read_anyway(&line.to_string()), None));
    let is_bad = |one: &Finding| one.severity == Severity::Error;
    if is_read && !findings.iter().any(is_bad) {
        Meaning::Ours
    } else {
        Meaning::Other
    }
}

/// The lines of a list that can be read, whatever stands between them: of a list that a merge made to none.
pub fn read_anyway(text: &str) -> TaskFile {
    let mut file = TaskFile::default();
    for (line, text) in lines(text) {
        let Ok(fields) = serde_json::from_str::<Fields>(text) else {
            continue;
        };
        if domain::is_one(&fields) {
            file.domains
                .extend(domain::of(&fields, line, &mut Vec::new()));
        } else if let Some(node) = fields::node(&fields, line, &mut Vec::new()) {
            file.nodes.push(node);
            file.fields.push(fields);
        }
    }
    file
}

/// The places of nodes by their ids; an id that stands there twice is a fault.
fn places<'f>(file: &'f TaskFile, findings: &mut Vec<Finding>) -> HashMap<Key<'f>, usize> {
    let mut places = HashMap::with_capacity(file.nodes.len());
    for (at, node) in file.nodes.iter().enumerate() {
        match places.entry(Key::of(&node.id)) {
            Entry::Occupied(first) => {
                let first: &Node = &file.nodes[*first.get()];
                let message = format!(
                    "the id `{}` stands there twice: `{}` is on line {} already",
                    node.id, first.id, first.line
                );
                findings.push(found("task_id_repeated", node.line, message));
            }
            Entry::Vacant(free) => {
                free.insert(at);
            }
        }
    }
    places
}

/// Faults between nodes: edges to nowhere, and cycles.
fn edges(file: &TaskFile, findings: &mut Vec<Finding>) {
    let places = places(file, findings);
    // Where each node waits for those above it, and is a part of one of them, none waits for itself.
    let mut is_downward = true;
    for (at, node) in file.nodes.iter().enumerate() {
        let judges = node.gate.as_ref().map_or(&[][..], |gate| &gate.judges);
        let on = node.depends_on.iter().map(|edge| {
            if judges.contains(&edge.on) {
                ("judges", &edge.on)
            } else {
                ("depends on", &edge.on)
            }
        });
        let parent = node.parent.iter().map(|parent| ("is a part of", parent));
        for (how, other) in on.chain(parent) {
            let before = at.checked_sub(1).map(|before| &file.nodes[before].id);
            // Most wait for the one before them, which is found without looking it up.
            let place = if before == Some(other) {
                Some(at - 1)
            } else {
                places.get(&Key::of(other)).copied()
            };
            is_downward &= place.is_none_or(|place| place < at);
            if place.is_none() {
                let names = file.nodes.iter().map(|node| node.id.as_str());
                let near = loopx_base::nearest(other.as_str(), names.take(2_000));
                let near = near.map_or(String::new(), |near| format!("; is `{near}` meant?"));
                let message = format!("{} {how} `{other}`, which does not exist{near}", node.id);
                findings.push(found("task_dependency_unknown", node.line, message));
            }
        }
    }
    if !is_downward {
        let own = |at: usize| file.parent(at).into_iter().collect();
        let parts = cycles(file.nodes.len(), own);
        let mut is_free = true;
        for (how, cycles) in [("depend on", file.cycles()), ("are parts of", parts)] {
            is_free &= cycles.is_empty();
            findings.extend(cycles.iter().map(|ring| rings(file, how, ring)));
        }
        if !is_free {
            return;
        }
    }
    if file.nodes.iter().any(|node| node.parent.is_some()) {
        parts::check(file, findings);
    }
}

/// The finding about tasks that wait for each other.
fn rings(file: &TaskFile, how: &str, ring: &[usize]) -> Finding {
    let ids: Vec<&str> = ring.iter().map(|at| file.nodes[*at].id.as_str()).collect();
    let message = format!("tasks {how} each other: {}", ids.join(" -> "));
    found("task_cycle", file.nodes[ring[0]].line, message)
}

/// A cycle of each knot of a graph, its first one repeated at the end. The stack is explicit: a long chain must not
/// end the program.
fn cycles(count: usize, next: impl Fn(usize) -> Vec<usize>) -> Vec<Vec<usize>> {
    #[derive(Clone, Copy, PartialEq)]
    enum Seen {
        Never,
        OnPath,
        Done,
    }
    let mut seen = vec![Seen::Never; count];
    let mut found = Vec::new();
    for start in 0..count {
        if seen[start] != Seen::Never {
            continue;
        }
        seen[start] = Seen::OnPath;
        let mut path: Vec<(usize, Vec<usize>)> = vec![(start, next(start))];
        while let Some((node, open)) = path.last_mut() {
            let Some(to) = open.pop() else {
                seen[*node] = Seen::Done;
                path.pop();
                continue;
            };
            match seen[to] {
                Seen::Done => {}
                Seen::Never => {
                    seen[to] = Seen::OnPath;
                    path.push((to, next(to)));
                }
                Seen::OnPath => {
                    let from = path.iter().position(|(node, _)| *node == to);
                    let ring = path[from.unwrap_or_default()..]
                        .iter()
                        .map(|(node, _)| *node);
                    found.push(ring.chain([to]).collect());
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests;
