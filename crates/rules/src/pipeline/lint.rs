//! The linter of pipelines: names that lead somewhere, conditions that can hold, loops that end, gates that do not wait
//! for what they hold. What a line of `tasks.jsonl` may say is asked of its own reader.

use super::Pipeline;
use super::definition::{GateDef, NodeDef, ParamKind, When};
use super::expand::{Line, expand};
use super::finding::{Findings, Place};
use super::params::{ALWAYS, Given, OF_GATES, OF_TASK, names, values};
use crate::skill::PLACEHOLDERS;
use crate::task::file;
use crate::task::node::TaskId;
use crate::task::outputs::in_folder;
use loopx_base::nearest;
use loopx_spec::{Finding, Severity, has_errors};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Lists the faults of a pipeline, by file and line.
pub fn lint(pipeline: &Pipeline) -> Vec<Finding> {
    let mut linter = Linter {
        pipeline,
        found: Findings::default(),
        used: Used::default(),
    };
    linter.all();
    let mut found = linter.found.0;
    let more = as_tasks(pipeline, has_errors(&found));
    found.extend(more);
    found.sort_by(|one, other| (&one.file, one.line).cmp(&(&other.file, other.line)));
    found
}

/// Names that something refers to.
#[derive(Default)]
struct Used {
    params: BTreeSet<String>,
    roles: BTreeSet<String>,
    templates: BTreeSet<String>,
}

struct Linter<'p> {
    pipeline: &'p Pipeline,
    found: Findings,
    used: Used,
}

impl<'p> Linter<'p> {
    fn all(&mut self) {
        let whole = &self.pipeline.whole;
        let top = Place::new(&self.label(), 1);
        if whole.nodes.is_empty() {
            self.found
                .say("pipeline_task_invalid", &top, "it has no task");
        }
        self.ids(&whole.nodes);
        self.edges(&whole.nodes);
        self.files(&whole.nodes);
        if let Some(alone) = &whole.alone {
            self.condition("the pipeline", alone, &top);
        }
        for node in &whole.nodes {
            self.node(node, false);
        }
        if let Some(cadence) = &whole.cadence {
            let gate = &cadence.gate;
            self.role(gate.id(), gate.role.as_ref(), &gate.place);
            self.repair(gate);
            if let Some(when) = &gate.when {
                self.condition(gate.id(), when, &gate.place);
            }
            if cadence.every == 0 {
                let message = format!(
                    "{} comes behind every 0 tasks; expected at least 1",
                    gate.id()
                );
                self.found
                    .say("pipeline_condition_never", &gate.place, message);
            }
        }
        for list in whole.templates.values() {
            self.ids(list);
            self.edges(list);
            for node in list {
                self.node(node, true);
            }
        }
        self.endless(&top);
        self.instead(&top);
        self.defaults(&top);
        self.unused(&top);
    }

    fn label(&self) -> String {
        let built_in = || super::builtin::label(&self.pipeline.name);
        self.pipeline.path.clone().unwrap_or_else(built_in)
    }

    /// Ids that are none, and those that stand there twice.
    fn ids(&mut self, nodes: &[NodeDef]) {
        let mut seen: HashMap<String, &Place> = HashMap::new();
        for (id, place) in nodes.iter().flat_map(NodeDef::all_ids) {
            if TaskId::parse(id).is_none() {
                let message = format!(
                    "expected an id of letters, digits, `-`, `_`, `.` (at most {}), found {id:?}",
                    TaskId::MAX
                );
                self.found.say("pipeline_id_invalid", place, message);
            }
            match seen.get(&id.to_ascii_lowercase()) {
                Some(first) => {
                    let message = format!("the id `{id}` stands on line {} already", first.line);
                    self.found.say("pipeline_id_repeated", place, message);
                }
                None => {
                    seen.insert(id.to_ascii_lowercase(), place);
                }
            }
        }
    }

    /// Edges to nowhere, and cycles: with a gate among them, one that waits for what it holds.
    fn edges(&mut self, nodes: &[NodeDef]) {
        let ids: BTreeSet<&str> = nodes
            .iter()
            .flat_map(NodeDef::all_ids)
            .map(|(id, _)| id)
            .collect();
        let mut is_whole = true;
        for node in nodes {
            let judged = node.gates().iter().flat_map(|gate| {
                let judges = gate.judges.iter().flatten();
                judges.map(move |id| (gate.id(), "judges", id, &gate.place))
            });
            let falls = node.gates().iter().flat_map(|gate| {
                let falls = gate.outcomes.iter().flat_map(BTreeMap::values).flatten();
                falls.map(move |id| (gate.id(), "lets fall", id, &gate.place))
            });
            let on = node.depends_on().iter();
            let on = on.map(|id| (node.id(), "waits for", id, &node.place));
            for (own, how, id, place) in on.chain(judged).chain(falls).collect::<Vec<_>>() {
                if !ids.contains(id.as_str()) {
                    is_whole = false;
                    let near = near(id, ids.iter().copied());
                    let message = format!("{own} {how} `{id}`, which is not in the pipeline{near}");
                    self.found
                        .say("pipeline_dependency_unknown", place, message);
                }
            }
        }
        if is_whole {
            self.cycle(nodes);
        }
    }

    /// Files of tasks that a task reads and that nobody has left by then, and such that it leaves in the folder of another.
    fn files(&mut self, nodes: &[NodeDef]) {
        let edges = edges_of(nodes);
        for node in nodes {
            let mut reads = Vec::new();
            node.reads.iter().for_each(|read| strings(read, &mut reads));
            let mut read: Vec<&str> = reads
                .iter()
                .filter_map(|path| Some(in_folder(path)?.0))
                .collect();
            read.retain(|task| !task.contains('{') && *task != node.id());
            if !read.is_empty() {
                let before = before(&edges, node.id());
                // Who takes a task out of what they extend cannot mend what others read of it.
                let is_extended = !self.pipeline.extends.is_empty();
                read.retain(|task| !before.contains(task));
                read.retain(|task| edges.contains_key(task) || !is_extended);
                for task in read {
                    let how = if edges.contains_key(task) {
                        "does not wait for it"
                    } else {
                        "no task has that id"
                    };
                    let message = format!("{} reads a file of `{task}`, and {how}", node.id());
                    self.found.say("pipeline_read_never", &node.place, message);
                }
            }
            self.elsewhere(node.id(), node.outputs.as_ref(), &node.place);
            for gate in node.gates() {
                self.elsewhere(gate.id(), gate.outputs.as_ref(), &gate.place);
            }
        }
    }

    /// Files that a task leaves in the folder of another.
    fn elsewhere(&mut self, own: &str, outputs: Option<&Vec<String>>, place: &Place) {
        let folders = outputs
            .into_iter()
            .flatten()
            .filter_map(|path| Some(in_folder(path)?.0));
        for task in folders.filter(|task| !task.contains('{') && *task != own) {
            let message = format!("{own} leaves a file in the folder of `{task}`");
            self.found.say("pipeline_output_elsewhere", place, message);
        }
    }

    fn cycle(&mut self, nodes: &[NodeDef]) {
        let edges = edges_of(nodes);
        let Some(path) = cycle(&edges) else { return };
        let is_task = |id: &str| nodes.iter().any(|node| node.id() == id);
        let gate = path.iter().find(|id| !is_task(id));
        let places: HashMap<&str, &Place> = nodes.iter().flat_map(NodeDef::all_ids).collect();
        let first = gate.copied().unwrap_or(path[0]);
        let Some(place) = places.get(first) else {
            return;
        };
        let words = path.join(" -> ");
        let (id, message) = match gate {
            Some(gate) => (
                "pipeline_gate_waits",
                format!("{gate} waits for tasks that wait for the gate: {words}"),
            ),
            None => (
                "pipeline_cycle",
                format!("tasks wait for each other: {words}"),
            ),
        };
        self.found.say(id, place, message);
    }

    fn node(&mut self, node: &'p NodeDef, is_inner: bool) {
        self.role(node.id(), node.role.as_ref(), &node.place);
        if let Some(when) = &node.when {
            self.condition(node.id(), when, &node.place);
            if is_inner {
                let message = format!(
                    "{} stands in a template, where nothing is left out: `when` never counts",
                    node.id()
                );
                self.found
                    .say("pipeline_condition_never", &node.place, message);
            }
        }
        for text in texts(node) {
            self.text(node.id(), &text, is_inner, &node.place);
        }
        let mut args = Vec::new();
        node.args
            .iter()
            .for_each(|args_of| strings(args_of, &mut args));
        for text in &args {
            self.args(node, text, is_inner);
        }
        for gate in node.gates() {
            self.role(gate.id(), gate.role.as_ref(), &gate.place);
            let texts = [&gate.title, &gate.description, &gate.done_when];
            let texts = texts.into_iter().flatten();
            for text in texts.chain(gate.outputs.iter().flatten()) {
                self.text(gate.id(), text, is_inner, &gate.place);
            }
            self.repair(gate);
            if let Some(when) = &gate.when {
                self.condition(gate.id(), when, &gate.place);
            }
        }
    }

    fn role(&mut self, own: &str, role: Option<&String>, place: &Place) {
        let Some(role) = role else { return };
        let roles = &self.pipeline.whole.roles;
        self.used.roles.insert(role.clone());
        if !roles.contains_key(role) {
            let near = near(role, roles.keys().map(String::as_str));
            let message =
                format!("{own} is for the role `{role}`, which the pipeline does not have{near}");
            self.found.say("pipeline_role_unknown", place, message);
        }
    }

    /// The arguments of a skill, which may name what is known when the task is taken.
    fn args(&mut self, node: &NodeDef, text: &str, is_inner: bool) {
        let params = &self.pipeline.whole.params;
        let later = |name: &&str| PLACEHOLDERS.contains(name) && !params.contains_key(*name);
        for name in names(text).into_iter().filter(|name| !later(name)) {
            self.text(node.id(), &format!("{{{name}}}"), is_inner, &node.place);
        }
    }

    fn text(&mut self, own: &str, text: &str, is_inner: bool, place: &Place) {
        let params = &self.pipeline.whole.params;
        for name in names(text) {
            self.used.params.insert(name.to_owned());
            let is_known = params.contains_key(name)
                || ALWAYS.contains(&name)
                || is_inner && OF_GATES.contains(&name);
            if !is_known {
                let near = near(name, params.keys().map(String::as_str));
                let message = format!("{own}: `{{{name}}}` names no parameter{near}");
                self.found
                    .say("pipeline_placeholder_unknown", place, message);
            }
        }
    }

    /// The values of a parameter under a condition: on parameters that are there, and a value that it can have.
    fn instead(&mut self, top: &Place) {
        let params = &self.pipeline.whole.params;
        for (own, param) in params {
            for one in &param.instead {
                let when = When {
                    params: one.when.clone(),
                    ..When::default()
                };
                self.condition(own, &when, top);
                self.text(own, &one.value, false, top);
                if !param.values.is_empty() && !param.values.contains(&one.value) {
                    let message = format!(
                        "expected `{own}` to be one of {}, found `{}` in `instead`",
                        param.values.join(", "),
                        one.value
                    );
                    self.found.say("pipeline_condition_never", top, message);
                }
            }
        }
    }

    /// Placeholders of defaults: they stand for other parameters and for what is known of the session, and never for
    /// each other in a ring. Braces of a command may mean themselves.
    fn defaults(&mut self, top: &Place) {
        let params = &self.pipeline.whole.params;
        for (own, param) in params {
            let Some(default) = &param.default else {
                continue;
            };
            for name in names(default) {
                self.used.params.insert(name.to_owned());
                let is_known =
                    params.contains_key(name) || name != OF_TASK && ALWAYS.contains(&name);
                if !is_known && param.kind != ParamKind::Check {
                    let near = near(name, params.keys().map(String::as_str));
                    let message =
                        format!("the default of `{own}`: `{{{name}}}` names no parameter{near}");
                    self.found.say("pipeline_placeholder_unknown", top, message);
                }
            }
        }
        let edges = params.iter().map(|(own, param)| {
            let texts = param.instead.iter().map(|one| &one.value);
            let texts = texts.chain(&param.default).flat_map(|text| names(text));
            let asked = param.instead.iter().flat_map(|one| one.when.keys());
            let all = texts.chain(asked.map(String::as_str));
            (own.as_str(), all.collect())
        });
        if let Some(path) = cycle(&edges.collect()) {
            let message = format!("defaults name each other: {}", path.join(" -> "));
            self.found.say("pipeline_placeholder_unknown", top, message);
        }
    }

    /// A repair that is not there, and one that nobody says how often it is inserted.
    fn repair(&mut self, gate: &GateDef) {
        let Some(name) = &gate.repair else { return };
        let templates = &self.pipeline.whole.templates;
        self.used.templates.insert(name.clone());
        if templates.get(name).is_none_or(Vec::is_empty) {
            let near = near(name, templates.keys().map(String::as_str));
            let message = format!("{} inserts `{name}`, which is no template{near}", gate.id());
            self.found
                .say("pipeline_template_missing", &gate.place, message);
        }
        if gate.cap.is_none() {
            let message = format!("{} inserts `{name}`, and has no `cap`", gate.id());
            self.found
                .say("pipeline_loop_uncapped", &gate.place, message);
        }
    }

    /// Parameters that are not there, values that they cannot have, paths that are to be there and not.
    fn condition(&mut self, own: &str, when: &When, place: &Place) {
        let params = &self.pipeline.whole.params;
        for (name, wanted) in &when.params {
            self.used.params.insert(name.clone());
            let Some(param) = params.get(name) else {
                let near = near(name, params.keys().map(String::as_str));
                let message =
                    format!("{own}: the condition asks for `{name}`, which is no parameter{near}");
                self.found.say("pipeline_param_unknown", place, message);
                continue;
            };
            let can = |value: &String| param.values.is_empty() || param.values.contains(value);
            if !wanted.all().iter().any(can) {
                let message = format!(
                    "{own}: `{name}` is one of {}, and never {}",
                    param.values.join(", "),
                    wanted.all().join(" or ")
                );
                self.found.say("pipeline_condition_never", place, message);
            }
        }
        let leads_out =
            |path: &&String| path.starts_with('/') || path.split('/').any(|part| part == "..");
        if let Some(path) = when.has.iter().find(leads_out) {
            let message = format!("{own}: `{path}` is no path of the code");
            self.found.say("pipeline_condition_never", place, message);
        }
        if let Some(path) = when.has.iter().find(|path| when.lacks.contains(path)) {
            let message =
                format!("{own}: the condition asks that `{path}` is there, and that it is not");
            self.found.say("pipeline_condition_never", place, message);
        }
        if when.lacks.iter().any(|path| path == "package.json") && !when.depends.is_empty() {
            let message = format!(
                "{own}: the condition asks that package.json names a package, and that it is not there"
            );
            self.found.say("pipeline_condition_never", place, message);
        }
    }

    /// Templates that insert each other without an end.
    fn endless(&mut self, top: &Place) {
        let templates = &self.pipeline.whole.templates;
        let next = |list: &'p Vec<NodeDef>| -> Vec<&'p str> {
            let gates = list.iter().flat_map(NodeDef::gates);
            gates.filter_map(|gate| gate.repair.as_deref()).collect()
        };
        let edges: BTreeMap<&str, Vec<&str>> = templates
            .iter()
            .map(|(name, list)| (name.as_str(), next(list)))
            .collect();
        if let Some(path) = cycle(&edges) {
            let message = format!("templates insert each other: {}", path.join(" -> "));
            let first = templates.get(path[0]).and_then(|list| list.first());
            let place = first.map_or(top, |node| &node.place);
            self.found.say("pipeline_cycle", place, message);
        }
    }

    fn unused(&mut self, top: &Place) {
        let whole = &self.pipeline.whole;
        let used = &self.used;
        // What the program's own pipelines bring may stand there for nothing once somebody changes them.
        if !self.pipeline.extends.is_empty() {
            return;
        }
        let rows = [
            ("role", names_of(&whole.roles), &used.roles),
            ("parameter", names_of(&whole.params), &used.params),
            ("template", names_of(&whole.templates), &used.templates),
        ];
        for (what, known, used) in rows {
            for name in known.into_iter().filter(|name| !used.contains(*name)) {
                let message = format!("nothing uses the {what} `{name}`");
                self.found.say("pipeline_unused", top, message);
            }
        }
    }
}

fn names_of<T>(table: &BTreeMap<String, T>) -> Vec<&str> {
    table.keys().map(String::as_str).collect()
}

fn near<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> String {
    nearest(name, known).map_or(String::new(), |near| format!("; is `{near}` meant?"))
}

/// Maps each id to the ids that it waits for, as the expansion has it.
fn edges_of(nodes: &[NodeDef]) -> BTreeMap<&str, Vec<&str>> {
    // Of two of one id the first counts.
    let lasts: HashMap<&str, &str> = nodes
        .iter()
        .rev()
        .map(|node| (node.id(), node.last()))
        .collect();
    let last = |id: &String| lasts.get(id.as_str()).copied();
    let mut edges: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for node in nodes {
        let on = node.depends_on().iter();
        let on = on.map(|id| last(id).unwrap_or(id.as_str()));
        edges.insert(node.id(), on.collect());
        let mut before = node.id();
        for gate in node.gates() {
            let judges = gate.judges.iter().flatten().map(String::as_str);
            edges.insert(gate.id(), std::iter::once(before).chain(judges).collect());
            before = gate.id();
        }
        if let Some(checkpoint) = &node.checkpoint {
            edges.insert(checkpoint.id.get_ref(), vec![before]);
        }
    }
    edges
}

/// A cycle of a graph, its first one repeated at the end.
fn cycle<'i>(edges: &BTreeMap<&'i str, Vec<&'i str>>) -> Option<Vec<&'i str>> {
    // Whatever waits for nothing that is left is taken out, until all that is left is in a cycle or waits for one.
    let mut open: BTreeMap<&str, usize> = BTreeMap::new();
    let mut behind: HashMap<&str, Vec<&str>> = HashMap::new();
    for (id, on) in edges {
        let known = on.iter().filter(|on| edges.contains_key(**on));
        open.insert(id, known.clone().count());
        known.for_each(|on| behind.entry(on).or_default().push(id));
    }
    let free = open.iter().filter(|(_, count)| **count == 0);
    let mut free: Vec<&str> = free.map(|(id, _)| *id).collect();
    while let Some(id) = free.pop() {
        open.remove(id);
        for next in behind.get(id).into_iter().flatten() {
            if let Some(count) = open.get_mut(next) {
                *count -= 1;
                if *count == 0 {
                    free.push(next);
                }
            }
        }
    }
    let mut path: Vec<&str> = vec![open.keys().next()?];
    let mut places: HashMap<&str, usize> = HashMap::from([(path[0], 0)]);
    loop {
        let on = edges.get(path[path.len() - 1])?;
        let next = on.iter().find(|id| open.contains_key(**id))?;
        path.push(next);
        if let Some(first) = places.insert(next, path.len() - 1) {
            return Some(path.split_off(first));
        }
    }
}

/// All texts of a task in which something may stand for something else.
fn texts(node: &NodeDef) -> Vec<String> {
    let plain = [
        &node.title,
        &node.description,
        &node.scope,
        &node.skill,
        &node.done_when,
    ];
    let mut found: Vec<String> = plain.into_iter().flatten().cloned().collect();
    let lists = [&node.outputs, &node.exclusive, &node.criteria];
    found.extend(lists.into_iter().flatten().flatten().cloned());
    for value in [&node.files, &node.reads, &node.verification] {
        value.iter().for_each(|value| strings(value, &mut found));
    }
    let checkpoint = node.checkpoint.iter();
    found.extend(checkpoint.filter_map(|one| one.title.clone()));
    found
}

/// Ids that an id waits for, by way of others too.
fn before<'i>(edges: &BTreeMap<&'i str, Vec<&'i str>>, id: &str) -> BTreeSet<&'i str> {
    let mut found: BTreeSet<&str> = BTreeSet::new();
    let mut left: Vec<&str> = edges.get(id).into_iter().flatten().copied().collect();
    while let Some(id) = left.pop() {
        if found.insert(id) {
            left.extend(edges.get(id).into_iter().flatten());
        }
    }
    found
}

fn strings(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(all) => all.iter().for_each(|one| strings(one, found)),
        // No command is filled in, so that braces in one mean themselves.
        Value::Object(all) => {
            let all = all.iter().filter(|(name, _)| *name != "cmd");
            all.for_each(|(_, one)| strings(one, found));
        }
        _ => {}
    }
}

/// Findings about a list that this linter has as such about the pipeline: where those are errors, nothing is said twice.
const OF_BOTH: [&str; 4] = [
    "task_cycle",
    "task_dependency_unknown",
    "task_id_invalid",
    "task_id_repeated",
];

/// Findings of the reader of `tasks.jsonl` about the lines that the pipeline would make. `is_faulty`: the pipeline has
/// an error, so that its lines are those of it without what that is about.
fn as_tasks(pipeline: &Pipeline, is_faulty: bool) -> Vec<Finding> {
    let sample = |name: &String, param: &super::Param| {
        let any = match param.kind {
            ParamKind::Text => "something".to_owned(),
            ParamKind::File => "change/spec-delta.md".to_owned(),
            ParamKind::Check => "true".to_owned(),
        };
        let first = param.values.first().cloned();
        (name.clone(), first.unwrap_or(any))
    };
    let params = pipeline.whole.params.iter();
    let open = params.filter(|(_, param)| param.default.is_none());
    let params: Vec<(String, String)> = open.map(|(name, param)| sample(name, param)).collect();
    let given = Given {
        session: "session",
        intent: "something",
        params: &params,
    };
    let mut found = Findings::default();
    let values = match values(pipeline, &given) {
        Ok(values) => values,
        Err(_) if is_faulty => return found.0,
        Err(why) => {
            let label = pipeline.path.clone();
            let label = label.unwrap_or_else(|| super::builtin::label(&pipeline.name));
            found.say("pipeline_param_unknown", &Place::new(&label, 1), why);
            return found.0;
        }
    };
    let lines = expand(pipeline, &values, "", None).lines;
    let said = said_of(&lines).into_iter();
    for one in said.filter(|one| !is_faulty || !OF_BOTH.contains(&one.id)) {
        if let Some(line) = lines.get(one.line.saturating_sub(1)) {
            found.say("pipeline_task_invalid", &line.place, one.message);
        }
    }
    found.0
}

/// The errors of some lines as a list of tasks.
fn said_of(lines: &[Line]) -> Vec<Finding> {
    let text: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
    let text = text.join("\n");
    let (mut said, list) = match file::read(&text) {
        Ok(list) => (Vec::new(), list),
        Err(findings) => (findings, file::read_anyway(&text)),
    };
    said.extend(file::check(&list, None));
    // What means nothing in a list is no key that somebody wrote for nothing here.
    said.retain(|one| one.severity == Severity::Error || one.id == "task_field_unknown");
    said
}
