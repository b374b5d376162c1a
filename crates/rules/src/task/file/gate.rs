//! The field `gate` of a decision or a goal: how it is written, and what is wrong with it. A gate that could not be
//! decided by is refused when the list is read.

use super::finding::found;
use super::row::{Fields, Row};
use super::{TaskFile, edges, fields, waits};
use crate::stage::Stage;
use crate::task::decide::{AtCap, Dimension, Gate, Outcome, Points, Rubric, Strategy};
use crate::task::node::{Edge, Key, Node, NodeKind, TaskId};
use loopx_base::nearest;
use loopx_spec::Finding;
use serde_json::{Map, Value};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

const OF_GATE: [&str; 10] = [
    "judges",
    "rubric",
    "goals",
    "views",
    "final",
    "cap",
    "at_cap",
    "outcomes",
    "strategies",
    "repair",
];
const OF_STRATEGY: [&str; 6] = ["name", "until", "after", "from", "below", "criticals"];
const OF_RUBRIC: [&str; 5] = ["scale", "dimensions", "pass", "warn", "critical"];
const OF_DIMENSION: [&str; 4] = ["name", "weight", "minimum", "warn"];

type Object = Map<String, Value>;

/// The gate of a node, and what the node waits for then: what it judges, too.
pub(super) fn of(
    value: Option<&Value>,
    kind: NodeKind,
    stage: Stage,
    mut on: Vec<Edge>,
    row: &mut Row<'_>,
) -> (Option<Box<Gate>>, Vec<Edge>) {
    if !matches!(kind, NodeKind::Decision | NodeKind::Goal) {
        if value.is_some() {
            fault(
                row,
                format!("only a decision and a goal have a `gate`, and it is {kind}"),
            );
        }
        return (None, on);
    }
    let mut gate = Gate::plain(on.iter().map(|edge| edge.on.clone()).collect());
    match value {
        None => {}
        Some(Value::Object(said)) => read(said, stage, &mut gate, row),
        Some(other) => row.wrong("gate", "an object", other),
    }
    if kind == NodeKind::Goal && !gate.outcomes.is_empty() {
        fault(row, "`gate.outcomes` are of a decision, and it is a goal");
    }
    for judged in &gate.judges {
        if !on.iter().any(|edge| edge.on.key() == judged.key()) {
            on.push(Edge {
                on: judged.clone(),
                optional: false,
            });
        }
    }
    (Some(Box::new(gate)), on)
}

fn fault(row: &mut Row<'_>, what: impl std::fmt::Display) {
    row.say("task_gate_invalid", what);
}

/// Names that mean nothing in a gate: what a verdict does must not hang on a misspelt word.
fn names(place: &str, said: &Object, known: &[&str], row: &mut Row<'_>) {
    for name in said.keys().filter(|name| !known.contains(&name.as_str())) {
        let near = nearest(name, known.iter().copied());
        let near = near.map_or(String::new(), |near| {
            format!("; is `{place}.{near}` meant?")
        });
        fault(
            row,
            format!("the field `{place}.{name}` is not known{near}"),
        );
    }
}

fn present<'v>(said: &'v Object, field: &str) -> Option<&'v Value> {
    said.get(field).filter(|value| !value.is_null())
}

fn read(said: &Object, stage: Stage, gate: &mut Gate, row: &mut Row<'_>) {
    names("gate", said, &OF_GATE, row);
    if let Some(judges) = present(said, "judges") {
        let ids = row.texts("gate.judges", Some(judges));
        let ids = ids
            .iter()
            .filter_map(|id| fields::named("gate.judges", id, row));
        gate.judges = ids.collect();
        if gate.judges.is_empty() {
            fault(
                row,
                "`gate.judges` is empty; expected the ids of what is judged",
            );
        }
    }
    match present(said, "rubric") {
        None => {}
        Some(Value::Object(rubric)) => gate.rubric = self::rubric(rubric, row),
        Some(other) => row.wrong("gate.rubric", "an object", other),
    }
    gate.goals = row
        .flag("gate.goals", present(said, "goals"))
        .unwrap_or(false);
    gate.views = words("gate.views", present(said, "views"), row);
    gate.is_final = row
        .flag("gate.final", present(said, "final"))
        .unwrap_or(false);
    if gate.is_final && gate.views.is_empty() {
        fault(
            row,
            "`gate.final` is about a discussion, and `gate.views` names nobody",
        );
    }
    gate.outcomes = outcomes(present(said, "outcomes"), row);
    gate.strategies = strategies(present(said, "strategies"), row);
    gate.repair = repair(present(said, "repair"), stage, row);
    if gate.repair.is_empty() && !gate.strategies.is_empty() {
        fault(
            row,
            "`gate.strategies` say how a repair goes about it, and `gate.repair` has none",
        );
    }
    ending(said, gate, row);
}

/// The cap, and what happens there.
fn ending(said: &Object, gate: &mut Gate, row: &mut Row<'_>) {
    let can_repair = !gate.repair.is_empty() || !gate.views.is_empty();
    gate.cap = match (gate.views.is_empty(), can_repair) {
        (true, true) => Gate::CAP,
        (false, _) => Gate::CAP_OF_VIEWS,
        (true, false) => 0,
    };
    if let Some(cap) = row.count("gate.cap", present(said, "cap")) {
        match u32::try_from(cap).ok().filter(|cap| *cap <= Gate::MOST) {
            Some(cap) => gate.cap = cap,
            None => fault(
                row,
                format!("expected `gate.cap` of at most {}, found {cap}", Gate::MOST),
            ),
        }
        if !can_repair {
            fault(row, "`gate.cap` counts repairs, and `gate.repair` has none");
        }
    }
    let at_cap = row.word("gate.at_cap", AtCap::WORDS, present(said, "at_cap"));
    gate.at_cap = at_cap
        .and_then(|word| word.parse().ok())
        .unwrap_or(AtCap::Escalate);
    if gate.at_cap == AtCap::Accept && gate.rubric.warn.is_none() {
        fault(
            row,
            "`gate.at_cap` is `accept`, and `gate.rubric.warn` does not say from which score on",
        );
    }
}

/// A manner of repair, by what was found.
fn strategies(value: Option<&Value>, row: &mut Row<'_>) -> Vec<Strategy> {
    let field = "gate.strategies";
    let Some(items) = row.items(field, "a list of objects", value) else {
        return Vec::new();
    };
    let mut found: Vec<Strategy> = Vec::new();
    for item in items {
        let Value::Object(said) = item else {
            row.wrong(field, "a list of objects", item);
            continue;
        };
        names(field, said, &OF_STRATEGY, row);
        let Some(name) = row.text("gate.strategies.name", present(said, "name")) else {
            fault(row, format!("a strategy of `{field}` has no `name`"));
            continue;
        };
        let mut count = |name: &str| {
            let count = row.count(&format!("{field}.{name}"), present(said, name));
            count.and_then(|count| u32::try_from(count).ok())
        };
        let (until, after) = (count("until"), count("after"));
        let from = points("gate.strategies.from", present(said, "from"), row);
        let below = points("gate.strategies.below", present(said, "below"), row);
        let criticals = present(said, "criticals").map(|value| {
            let pair = value
                .as_array()
                .map(|pair| pair.iter().map(Value::as_u64).collect::<Vec<_>>());
            match pair.as_deref() {
                Some([Some(least), Some(most)]) if least <= most => {
                    u32::try_from(*least).ok().zip(u32::try_from(*most).ok())
                }
                _ => None,
            }
        });
        if criticals == Some(None) {
            fault(
                row,
                "expected `gate.strategies.criticals` as the least and the most of them, like [1, 4]",
            );
        }
        found.push(Strategy {
            name,
            until,
            after,
            from,
            below,
            criticals: criticals.flatten(),
        });
    }
    found
}

/// The ways on, each by a word with the tasks that are not done then.
fn outcomes(value: Option<&Value>, row: &mut Row<'_>) -> Vec<Outcome> {
    let said = match value {
        None => return Vec::new(),
        Some(Value::Object(said)) => said,
        Some(other) => {
            row.wrong("gate.outcomes", "an object", other);
            return Vec::new();
        }
    };
    if said.len() < 2 {
        fault(
            row,
            "`gate.outcomes` leaves no choice; expected two or more",
        );
    }
    let mut found = Vec::new();
    for (word, ids) in said {
        name_of("gate.outcomes", word, row);
        let field = format!("gate.outcomes.{word}");
        let ids = row.texts(&field, Some(ids));
        let falls = ids.iter().filter_map(|id| fields::named(&field, id, row));
        found.push(Outcome {
            word: word.clone(),
            falls: falls.collect(),
        });
    }
    found
}

/// The places of the nodes that wait for each one. An id of no node waits nowhere.
fn waiting(file: &TaskFile) -> Vec<Vec<usize>> {
    let nodes = file.nodes.iter().enumerate();
    let places: HashMap<Key<'_>, usize> = nodes.map(|(at, node)| (Key::of(&node.id), at)).collect();
    let mut waiting = vec![Vec::new(); file.nodes.len()];
    for (at, node) in file.nodes.iter().enumerate() {
        for edge in &node.depends_on {
            if let Some(on) = places.get(&Key::of(&edge.on)) {
                waiting[*on].push(at);
            }
        }
    }
    waiting
}

/// The places behind one, by way of others too, each looked at once: a list of thousands is read by every command.
fn behind<'w>(start: usize, waiting: impl Fn(usize) -> &'w [usize]) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut left = vec![start];
    while let Some(at) = left.pop() {
        left.extend(waiting(at).iter().filter(|other| found.insert(**other)));
    }
    found
}

/// Tasks that fall by an outcome: they are in the list, and wait for the gate, by way of others too.
fn falling(file: &TaskFile, findings: &mut Vec<Finding>) {
    let waiting = OnceCell::new();
    for (at, node) in file.nodes.iter().enumerate() {
        let outcomes = node.gate.iter().flat_map(|gate| &gate.outcomes);
        let falls: Vec<&TaskId> = outcomes.flat_map(|one| &one.falls).collect();
        if falls.is_empty() {
            continue;
        }
        let waiting: &Vec<Vec<usize>> = waiting.get_or_init(|| self::waiting(file));
        let behind = behind(at, |at| &waiting[at]);
        let known: HashSet<Key<'_>> = behind
            .iter()
            .map(|at| Key::of(&file.nodes[*at].id))
            .collect();
        for id in falls {
            if !known.contains(&Key::of(id)) || *id == node.id {
                let message = format!(
                    "{}: an outcome lets `{id}` fall, which does not wait for it",
                    node.id
                );
                findings.push(found("task_gate_invalid", node.line, message));
            }
        }
    }
}

/// Names that are typed on a command line: none twice, and none that could be read as something else.
fn words(field: &str, value: Option<&Value>, row: &mut Row<'_>) -> Vec<String> {
    let words = row.texts(field, value);
    if value.is_some() && words.is_empty() {
        fault(row, format!("`{field}` is empty"));
    }
    for (at, word) in words.iter().enumerate() {
        name_of(field, word, row);
        if words[..at].contains(word) {
            fault(row, format!("`{field}` names `{word}` twice"));
        }
    }
    words
}

fn name_of(field: &str, name: &str, row: &mut Row<'_>) {
    let is_plain = |c: char| c.is_alphanumeric() || "._- ".contains(c);
    if name.trim().is_empty() || name.trim() != name || !name.chars().all(is_plain) {
        fault(
            row,
            format!(
                "expected names of letters, digits, `-`, `_`, `.` in `{field}`, found {name:?}"
            ),
        );
    }
}

fn rubric(said: &Object, row: &mut Row<'_>) -> Rubric {
    names("gate.rubric", said, &OF_RUBRIC, row);
    let scale = points("gate.rubric.scale", present(said, "scale"), row).unwrap_or(Rubric::SCALE);
    if scale == Points::default() {
        fault(row, "`gate.rubric.scale` is 0; expected the best score");
    }
    let mut rubric = Rubric {
        scale,
        dimensions: dimensions(present(said, "dimensions"), scale, row),
        pass: scale.percent(Rubric::PASS),
        warn: points("gate.rubric.warn", present(said, "warn"), row),
        critical: 0,
    };
    if let Some(pass) = points("gate.rubric.pass", present(said, "pass"), row) {
        rubric.pass = pass;
        if pass > scale {
            fault(
                row,
                format!("`gate.rubric.pass` is {pass}, and the best score is {scale}"),
            );
        }
    }
    if let Some(warn) = rubric.warn.filter(|warn| *warn > rubric.pass) {
        fault(
            row,
            format!(
                "`gate.rubric.warn` is {warn}, above `gate.rubric.pass`, {}",
                rubric.pass
            ),
        );
    }
    if let Some(value) = present(said, "critical") {
        match value.as_u64().and_then(|count| u32::try_from(count).ok()) {
            Some(count) => rubric.critical = count,
            None => fault(
                row,
                format!("expected `gate.rubric.critical` as a whole number, found {value}"),
            ),
        }
    }
    rubric
}

fn points(field: &str, value: Option<&Value>, row: &mut Row<'_>) -> Option<Points> {
    let value = value?;
    let points = match value {
        Value::Number(number) => Points::parse(&number.to_string()),
        _ => None,
    };
    // A whole number may be written as 8.0.
    if points.is_none() {
        row.say(
            "task_field_type",
            format!("expected `{field}` as a number from 0 to {} with at most three places, found {value}", Points::MOST),
        );
    }
    points
}

fn dimensions(value: Option<&Value>, scale: Points, row: &mut Row<'_>) -> Vec<Dimension> {
    let field = "gate.rubric.dimensions";
    let Some(items) = row.items(field, "a list of objects", value) else {
        return Vec::new();
    };
    if items.is_empty() {
        fault(row, format!("`{field}` is empty"));
    }
    let mut found: Vec<Dimension> = Vec::new();
    for item in items {
        let Value::Object(said) = item else {
            row.wrong(field, "a list of objects", item);
            continue;
        };
        names(field, said, &OF_DIMENSION, row);
        let Some(name) = row.text("gate.rubric.dimensions.name", present(said, "name")) else {
            fault(row, format!("a dimension of `{field}` has no `name`"));
            continue;
        };
        name_of(field, &name, row);
        if found.iter().any(|one| one.name == name) {
            fault(row, format!("`{field}` names `{name}` twice"));
        }
        let weight = points(
            "gate.rubric.dimensions.weight",
            present(said, "weight"),
            row,
        );
        if weight.unwrap_or_default() == Points::default() {
            fault(
                row,
                format!("the dimension `{name}` has no weight; expected a number above 0"),
            );
        }
        let minimum = points(
            "gate.rubric.dimensions.minimum",
            present(said, "minimum"),
            row,
        );
        if let Some(minimum) = minimum.filter(|minimum| *minimum > scale) {
            fault(
                row,
                format!("`{name}` has to be {minimum}, and the best score is {scale}"),
            );
        }
        let warn = points("gate.rubric.dimensions.warn", present(said, "warn"), row);
        if warn.is_some_and(|warn| minimum.is_none_or(|minimum| warn > minimum)) {
            fault(
                row,
                format!("`warn` of `{name}` is not below its `minimum`"),
            );
        }
        found.push(Dimension {
            name,
            weight: weight.unwrap_or_default(),
            minimum,
            warn,
        });
    }
    found
}

/// The tasks that a fix inserts: lines like those of the file, with ids of their own.
fn repair(value: Option<&Value>, stage: Stage, row: &mut Row<'_>) -> Vec<Node> {
    let Some(items) = row.items("gate.repair", "a list of tasks", value) else {
        return Vec::new();
    };
    if items.is_empty() {
        fault(
            row,
            "`gate.repair` is empty; expected the tasks that a fix inserts",
        );
    }
    let mut inner = TaskFile::default();
    let mut findings = Vec::new();
    for item in items {
        let Value::Object(said) = item else {
            row.wrong("gate.repair", "a list of tasks", item);
            continue;
        };
        let mut said: Vec<(String, Value)> = said
            .iter()
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        // What repairs the work of a stage belongs to that stage.
        if !said.iter().any(|(name, _)| name == "stage") {
            said.push(("stage".to_owned(), stage.as_str().into()));
        }
        let said = Fields(said);
        if let Some(node) = fields::node(&said, row.line, &mut findings) {
            inner.nodes.push(node);
        }
    }
    let has_outcomes = |node: &&Node| {
        node.gate
            .as_ref()
            .is_some_and(|gate| !gate.outcomes.is_empty())
    };
    for node in inner.nodes.iter().filter(has_outcomes) {
        let message = format!("{}: `gate.outcomes` stand in no repair", node.id);
        findings.push(found("task_gate_invalid", row.line, message));
    }
    edges(&inner, &mut findings);
    ids(&inner, &mut findings);
    waits::wiring(&inner, &mut findings);
    for mut finding in findings {
        finding.message = format!("{}, in `gate.repair`: {}", row.name, finding.message);
        row.found.push(finding);
    }
    inner.nodes
}

/// Ids that a gate gives to what it inserts: nobody else has them, and none is too long.
pub(super) fn ids(file: &TaskFile, findings: &mut Vec<Finding>) {
    let gates = file.nodes.iter().filter(|node| node.gate.is_some());
    let gates: BTreeMap<String, &TaskId> = gates.map(|node| (node.id.key(), &node.id)).collect();
    if gates.is_empty() {
        return;
    }
    falling(file, findings);
    for node in &file.nodes {
        if let Some(gate) = &node.gate {
            let longest = longest(node.id.as_str().len(), gate);
            if longest > TaskId::MAX {
                let message = format!(
                    "{}: tasks that its gate inserts would have ids of {longest} characters, and {} are the most",
                    node.id,
                    TaskId::MAX
                );
                findings.push(found("task_gate_invalid", node.line, message));
            }
        }
        if let Some(owner) = owner(&node.id.key(), &gates) {
            let message = format!(
                "the id `{}` is reserved for a task that {owner} inserts; expected another id",
                node.id
            );
            findings.push(found("task_gate_invalid", node.line, message));
        }
    }
}

/// The gate whose id, with a number behind it, an id begins with.
fn owner<'g>(id: &str, gates: &BTreeMap<String, &'g TaskId>) -> Option<&'g TaskId> {
    let dots = id.match_indices('.').map(|(at, _)| at);
    let mut owners = dots.filter_map(|at| {
        let number = id[at + 1..].split('.').next().unwrap_or_default();
        let is_number = !number.is_empty() && number.bytes().all(|one| one.is_ascii_digit());
        is_number.then(|| gates.get(&id[..at])).flatten().copied()
    });
    owners.next()
}

/// The length of the longest id that a gate gives.
fn longest(base: usize, gate: &Gate) -> usize {
    if gate.cap == 0 {
        return base;
    }
    let next = base + 1 + gate.cap.to_string().len();
    let inner = gate.repair.iter().map(|node| {
        let id = next + 1 + node.id.as_str().len();
        node.gate.as_ref().map_or(id, |gate| longest(id, gate))
    });
    let revised = gate
        .judges
        .iter()
        .map(|judged| next + 1 + judged.as_str().len());
    let all = if gate.repair.is_empty() {
        revised.max()
    } else {
        inner.max()
    };
    all.unwrap_or(next)
}

#[cfg(test)]
mod tests {
    use super::{behind, waiting};
    use crate::task::file::graph;
    use serde_json::json;
    use std::cell::Cell;

    #[test]
    fn what_waits_for_a_gate_is_found_by_one_look_at_each_task() {
        for count in [1_000, 4_000] {
            // Each waits for the one below it, which a walk from the top would find last.
            let line = |n: usize| {
                let on = if n == 0 {
                    Vec::new()
                } else {
                    vec![format!("T-{}", n - 1)]
                };
                json!({"id": format!("T-{n}"), "title": "T", "depends_on": on}).to_string()
            };
            let text: Vec<String> = (0..count).rev().map(line).collect();
            let file = graph(text.join("\n").as_str()).expect("a list");
            let waiting = waiting(&file);
            let looks = Cell::new(0);
            let found = behind(count - 1, |at| {
                looks.set(looks.get() + 1);
                &waiting[at]
            });
            assert_eq!((found.len(), looks.get()), (count - 1, count));
        }
    }
}
