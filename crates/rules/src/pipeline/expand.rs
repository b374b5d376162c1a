//! The lines of `tasks.jsonl` that a pipeline makes: each task, behind it the decisions that judge it, behind those its
//! checkpoint. What waits for a task waits for the last of these.
//!
//! ```text
//! A with a gate G and a checkpoint C, B behind A:      A <- G <- C <- B
//! ```

use super::definition::{Definition, GateDef, NodeDef, When};
use super::finding::Place;
use super::params::{check, filled};
use super::{ParamKind, Pipeline};
use crate::task::node::OnComplete;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap};

/// Facts of the code that conditions ask for.
pub struct Ground<'g> {
    /// Tells whether a path is there.
    pub has: &'g dyn Fn(&str) -> bool,
    /// Tells whether `package.json` names a package.
    pub depends: &'g dyn Fn(&str) -> bool,
}

/// Line of `tasks.jsonl`, with the place where the pipeline says it.
#[derive(Clone, Debug)]
pub struct Line {
    pub id: String,
    pub text: String,
    pub place: Place,
}

/// Result of the expansion of a pipeline.
#[derive(Clone, Debug, Default)]
pub struct Expanded {
    pub lines: Vec<Line>,
    /// Tasks that a condition left out.
    pub left_out: Vec<String>,
}

type Fields = Vec<(&'static str, Value)>;
type Texts = BTreeMap<String, String>;

/// Values that all lines of one expansion share.
struct Maker<'p> {
    whole: &'p Definition,
    name: &'p str,
    /// Fate of the session, said where it is not the usual.
    on_complete: Option<OnComplete>,
    values: &'p Texts,
    prefix: &'p str,
    is_alone: bool,
    /// The templates inside which the present one stands.
    inside: Vec<&'p str>,
    /// The tasks that a condition left out.
    gone: Vec<&'p NodeDef>,
}

/// The lines of a pipeline with these values, each id behind this prefix. Without a ground no task is left out.
pub fn expand(
    pipeline: &Pipeline,
    values: &Texts,
    prefix: &str,
    ground: Option<&Ground<'_>>,
) -> Expanded {
    let holds = |when: &When| ground.is_none_or(|ground| when.holds(values, ground));
    let whole = &with_gates(&pipeline.whole, &holds);
    let mut maker = Maker {
        whole,
        name: &pipeline.name,
        on_complete: Some(pipeline.on_complete()).filter(|one| *one != OnComplete::Interactive),
        values,
        prefix,
        is_alone: ground.is_some() && whole.alone.as_ref().is_some_and(holds),
        inside: Vec::new(),
        gone: Vec::new(),
    };
    let is_kept = |node: &NodeDef| node.when.as_ref().is_none_or(holds);
    let kept: Vec<bool> = whole.nodes.iter().map(is_kept).collect();
    let places = places(&whole.nodes);
    let gone = whole.nodes.iter().zip(&kept);
    let gone = gone.filter_map(|(node, is_kept)| (!is_kept).then_some(node));
    maker.gone = gone.collect();
    let mut found = Expanded::default();
    for (node, is_kept) in whole.nodes.iter().zip(&kept) {
        if !is_kept {
            found.left_out.push(node.id().to_owned());
            continue;
        }
        let mut on = Vec::new();
        waits(
            (&whole.nodes, &places),
            &kept,
            node,
            &mut on,
            &mut Vec::new(),
        );
        for (id, fields, place) in maker.lines(node, &on, None) {
            let text = written(&fields);
            found.lines.push(Line { id, text, place });
        }
    }
    found
}

/// The definition with the gates that stand in it: those whose condition holds, and those that come again and again.
fn with_gates(whole: &Definition, holds: &dyn Fn(&When) -> bool) -> Definition {
    let mut whole = whole.clone();
    let is_kept = |when: &Option<When>| when.as_ref().is_none_or(holds);
    let templates = whole.templates.values_mut();
    for list in std::iter::once(&mut whole.nodes).chain(templates) {
        let mut gone: BTreeMap<String, String> = BTreeMap::new();
        for node in list.iter_mut() {
            let own = node.id().to_owned();
            if let Some(gates) = &mut node.gates {
                let left_out = gates.iter().filter(|gate| !is_kept(&gate.when));
                gone.extend(left_out.map(|gate| (gate.id().to_owned(), own.clone())));
                gates.retain(|gate| is_kept(&gate.when));
            }
        }
        // What waited for a gate that is left out, or judged it, is about the task that it would have judged.
        for node in list.iter_mut() {
            let judges = node.gates.iter_mut().flatten();
            let judges = judges.filter_map(|gate| gate.judges.as_mut());
            for id in node.depends_on.iter_mut().chain(judges).flatten() {
                if let Some(task) = gone.get(id) {
                    id.clone_from(task);
                }
            }
        }
    }
    let cadence = whole.cadence.take();
    let Some(cadence) = cadence.filter(|one| is_kept(&one.gate.when)) else {
        return whole;
    };
    let (mut since, mut count) = (0, 0);
    for node in &mut whole.nodes {
        if !node.is_work() || !is_kept(&node.when) {
            continue;
        }
        since += 1;
        if since >= cadence.every.max(1) && node.gates().is_empty() && node.checkpoint.is_none() {
            count += 1;
            since = 0;
            let mut gate = cadence.gate.clone();
            *gate.id.get_mut() = format!("{}-{count}", gate.id());
            node.gates = Some(vec![gate]);
        }
    }
    whole
}

/// Tasks that a task waits for; for a task that is left out, those that the task left out waits for.
fn waits<'d>(
    (nodes, places): (&'d [NodeDef], &HashMap<&str, usize>),
    kept: &[bool],
    node: &'d NodeDef,
    found: &mut Vec<&'d str>,
    seen: &mut Vec<&'d str>,
) {
    for id in node.depends_on() {
        // A gate or a checkpoint may be named itself; it is left out with the task that it stands behind.
        let at = places.get(id.as_str()).copied();
        let on = match at {
            Some(at) if !kept[at] => {
                if !seen.contains(&nodes[at].id()) {
                    seen.push(nodes[at].id());
                    waits((nodes, places), kept, &nodes[at], found, seen);
                }
                continue;
            }
            Some(at) if nodes[at].id() == id => nodes[at].last(),
            // What is not there is the linter's.
            _ => id.as_str(),
        };
        if !found.contains(&on) {
            found.push(on);
        }
    }
}

/// The place of each task, by its id and by those of its gates and its checkpoint. Of two of one id the first counts, and
/// a task before a gate.
fn places(nodes: &[NodeDef]) -> HashMap<&str, usize> {
    let all = || nodes.iter().enumerate().rev();
    let behind = all().flat_map(|(at, node)| node.all_ids().map(move |(id, _)| (id, at)));
    behind
        .chain(all().map(|(at, node)| (node.id(), at)))
        .collect()
}

impl When {
    fn holds(&self, values: &Texts, ground: &Ground<'_>) -> bool {
        let is_given = |(name, wanted): (&String, &super::definition::Values)| {
            values
                .get(name)
                .is_some_and(|value| wanted.all().contains(value))
        };
        let named = |name: &String| (ground.depends)(name);
        self.params.iter().all(is_given)
            && self.has.iter().all(|path| (ground.has)(path))
            && !self.lacks.iter().any(|path| (ground.has)(path))
            && (self.depends.is_empty() || self.depends.iter().any(named))
    }
}

impl<'p> Maker<'p> {
    /// A task and what stands behind it. `owner` is the task whose gate inserts it, where it stands in a template.
    fn lines(
        &mut self,
        node: &'p NodeDef,
        on: &[&str],
        owner: Option<&NodeDef>,
    ) -> Vec<(String, Fields, Place)> {
        let prefix = match owner {
            Some(_) => "",
            None => self.prefix,
        };
        let named = |id: &str| format!("{prefix}{id}");
        let id = named(node.id());
        let mut texts = self.values.clone();
        let outer = owner.map_or_else(
            || id.clone(),
            |owner| format!("{}{}", self.prefix, owner.id()),
        );
        texts.insert("id".to_owned(), outer);
        let on: Vec<String> = on.iter().map(|id| named(id)).collect();
        let phase = node
            .phase
            .as_ref()
            .or(owner.and_then(|owner| owner.phase.as_ref()));
        let stage = node
            .stage
            .as_ref()
            .or(owner.and_then(|owner| owner.stage.as_ref()));
        let shared: Fields = [
            ("stage", stage.map(|stage| json!(stage))),
            ("pipeline", Some(json!(self.name))),
            ("on_complete", self.on_complete.map(|word| json!(word))),
            ("phase", phase.map(|phase| json!(phase))),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect();
        let mut found = vec![(
            id.clone(),
            self.task(node, &id, &on, (&texts, &shared)),
            node.place.clone(),
        )];
        let mut before = id.clone();
        let of_gate = owner.unwrap_or(node);
        for gate in node.gates() {
            let own = named(gate.id());
            let fields = self.gate(
                gate,
                (&own, &id, &before),
                (of_gate, node),
                (&texts, &shared),
            );
            found.push((own.clone(), fields, gate.place.clone()));
            before = own;
        }
        if let Some(checkpoint) = &node.checkpoint {
            let own = named(checkpoint.id.get_ref());
            let title = checkpoint.title.as_deref().unwrap_or("Go on behind {id}");
            let mut fields: Fields = vec![
                ("id", json!(own)),
                ("title", json!(filled(title, &texts))),
                ("kind", json!("checkpoint")),
            ];
            fields.extend(shared.iter().cloned());
            fields.push(("depends_on", json!([before])));
            found.push((own, fields, checkpoint.place.clone()));
        }
        found
    }

    /// Files to read before a task, without those that a task would leave that is left out.
    fn reads(&self, node: &NodeDef, texts: &Texts) -> Option<Value> {
        let gone = |path: &Value| {
            let path = path.as_str().unwrap_or_default();
            let folder = |one: &&NodeDef| format!("tasks/{}/", one.id());
            self.gone.iter().any(|one| path.starts_with(&folder(one)))
        };
        let kept = match node.reads.as_ref()? {
            Value::Array(all) => all.iter().filter(|path| !gone(path)).cloned().collect(),
            other => other.clone(),
        };
        let is_empty = kept.as_array().is_some_and(Vec::is_empty);
        (!is_empty).then(|| deep(&kept, texts))
    }

    fn task(
        &self,
        node: &NodeDef,
        id: &str,
        on: &[String],
        (texts, shared): (&Texts, &Fields),
    ) -> Fields {
        let fill = |text: &String| json!(filled(text, texts));
        let list = |list: &Vec<String>| -> Value { list.iter().map(fill).collect() };
        let title = node.title.clone().unwrap_or_default();
        let is_parallel = if self.is_alone {
            Some(false)
        } else {
            node.parallel
        };
        let number = |number: Option<u64>| number.map(|number| json!(number));
        let head: [(&'static str, Option<Value>); 10] = [
            ("id", Some(json!(id))),
            ("title", Some(fill(&title))),
            ("description", node.description.as_ref().map(fill)),
            ("kind", node.kind.as_ref().map(|kind| json!(kind))),
            ("type", node.work.as_ref().map(|work| json!(work))),
            ("priority", node.priority.clone()),
            ("effort", node.effort.as_ref().map(|effort| json!(effort))),
            ("points", number(node.points)),
            ("scope", node.scope.as_ref().map(fill)),
            ("role", node.role.as_ref().map(|role| json!(role))),
        ];
        let tail: [(&'static str, Option<Value>); 15] = [
            ("depends_on", (!on.is_empty()).then(|| json!(on))),
            ("files", node.files.as_ref().map(|files| deep(files, texts))),
            ("reads", self.reads(node, texts)),
            ("skill", node.skill.as_ref().map(fill)),
            ("args", node.args.as_ref().map(|args| deep(args, texts))),
            ("outputs", node.outputs.as_ref().map(list)),
            ("exclusive", node.exclusive.as_ref().map(list)),
            ("parallel", is_parallel.filter(|is| !is).map(Value::from)),
            ("cap", number(node.cap)),
            ("time_limit", number(node.time_limit)),
            ("work_limit", number(node.work_limit)),
            ("grace", number(node.grace)),
            ("on_failed", node.on_failed.as_ref().map(|word| json!(word))),
            ("convergence", self.convergence(node, texts)),
            ("done_when", node.done_when.as_ref().map(fill)),
        ];
        let said = |(name, value): (&'static str, Option<Value>)| Some((name, value?));
        let head = head.into_iter().filter_map(said);
        let tail = tail.into_iter().filter_map(said);
        head.chain(shared.iter().cloned()).chain(tail).collect()
    }

    fn convergence(&self, node: &NodeDef, texts: &Texts) -> Option<Value> {
        let criteria = node.criteria.iter().flatten();
        let criteria: Vec<String> = criteria.map(|one| filled(one, texts)).collect();
        let verification = node
            .verification
            .as_ref()
            .map(|said| self.check(said, texts));
        let mut said = Map::new();
        if !criteria.is_empty() {
            said.insert("criteria".to_owned(), json!(criteria));
        }
        if let Some(verification) = verification {
            said.insert("verification".to_owned(), verification);
        }
        (!said.is_empty()).then_some(Value::Object(said))
    }

    /// Check of a task: `outputs` asks this program for the files that the task leaves; a parameter holds what was
    /// given for it. No command is filled in.
    fn check(&self, said: &Value, texts: &Texts) -> Value {
        match said {
            Value::String(text) if text == "outputs" => {
                let of = |name: &str| texts.get(name).cloned().unwrap_or_default();
                let words = [
                    "git",
                    "loopx",
                    "-s",
                    &of("session"),
                    "task",
                    "outputs",
                    &of("id"),
                ];
                json!({ "cmd": words })
            }
            Value::String(text) => {
                let name = text
                    .strip_prefix('{')
                    .and_then(|rest| rest.strip_suffix('}'));
                let param = name.and_then(|name| Some((self.whole.params.get(name)?, name)));
                let param = param.filter(|(param, _)| param.kind == ParamKind::Check);
                let given = param.and_then(|(_, name)| check(texts.get(name)?));
                given.unwrap_or_else(|| json!(filled(text, texts)))
            }
            Value::Object(said) => {
                let mut said = said.clone();
                if let Some(Value::String(what)) = said.get_mut("manual") {
                    *what = filled(what, texts);
                }
                Value::Object(said)
            }
            other => other.clone(),
        }
    }

    fn gate(
        &mut self,
        gate: &'p GateDef,
        (own, task, before): (&str, &str, &str),
        (owner, node): (&NodeDef, &NodeDef),
        (texts, shared): (&Texts, &Fields),
    ) -> Fields {
        let mut judges = vec![task.to_owned()];
        let is_inner = !self.inside.is_empty();
        let is_gone = |id: &str| !is_inner && self.gone.iter().any(|node| node.has_id(id));
        let also = gate.judges.iter().flatten().filter(|id| !is_gone(id));
        judges.extend(also.map(|id| {
            if is_inner {
                id.clone()
            } else {
                format!("{}{id}", self.prefix)
            }
        }));
        let usual = if gate.views.is_some() {
            "Discuss what {id} left"
        } else {
            "Judge what {id} left"
        };
        let title = match gate.title.as_deref() {
            // What it judges has its id once it is inserted.
            None if is_inner => usual.to_owned(),
            title => filled(title.unwrap_or(usual), texts),
        };
        let fill = |text: &String| json!(filled(text, texts));
        let mut fields: Fields = vec![("id", json!(own)), ("title", json!(title))];
        let description = gate.description.as_ref();
        fields.extend(description.map(|text| ("description", fill(text))));
        fields.push(("kind", json!(gate.kind.as_deref().unwrap_or("decision"))));
        fields.extend(gate.role.as_ref().map(|role| ("role", json!(role))));
        fields.extend(shared.iter().cloned());
        fields.extend(gate.round.map(|round| ("round", json!(round))));
        if before != task {
            fields.push(("depends_on", json!([before])));
        }
        if let Some(outputs) = &gate.outputs {
            let mut texts = texts.clone();
            texts.insert("id".to_owned(), own.to_owned());
            let outputs: Vec<String> = outputs.iter().map(|path| filled(path, &texts)).collect();
            fields.push(("outputs", json!(outputs)));
        }
        let repair = gate.repair.as_ref();
        let repair = repair.and_then(|name| self.template(name, owner, node));
        // What counts repairs means nothing where the linter misses them.
        let is_lost = gate.repair.is_some() && repair.is_none();
        let mut rules = Map::new();
        let mut put = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                rules.insert(name.to_owned(), value);
            }
        };
        put("judges", Some(json!(judges)));
        put("rubric", gate.rubric.clone());
        put("goals", gate.goals.map(Value::from));
        put("views", gate.views.as_ref().map(|views| json!(views)));
        put("final", gate.is_final.map(Value::from));
        put("cap", gate.cap.filter(|_| !is_lost).map(Value::from));
        put("at_cap", gate.at_cap.as_ref().map(|word| json!(word)));
        put("strategies", gate.strategies.clone().filter(|_| !is_lost));
        put(
            "outcomes",
            gate.outcomes.as_ref().map(|all| self.outcomes(all)),
        );
        put("repair", repair);
        fields.push(("gate", Value::Object(rules)));
        fields.extend(
            gate.done_when
                .as_ref()
                .map(|text| ("done_when", fill(text))),
        );
        fields
    }

    /// The ways on of a gate: what falls does so with the gates and the checkpoint behind it, and what a condition left
    /// out is not there.
    fn outcomes(&self, all: &BTreeMap<String, Vec<String>>) -> Value {
        let is_gone = |id: &str| self.gone.iter().any(|node| node.id() == id);
        let falls = |ids: &Vec<String>| -> Value {
            let kept = ids.iter().filter(|id| !is_gone(id));
            let with_gates = kept.flat_map(|id| {
                let node = self.whole.nodes.iter().find(|node| node.id() == id);
                let all = node.map(|node| node.all_ids().map(|(id, _)| id).collect());
                all.unwrap_or_else(|| vec![id.as_str()])
            });
            with_gates
                .map(|id| json!(format!("{}{id}", self.prefix)))
                .collect()
        };
        let all = all.iter().map(|(word, ids)| (word.clone(), falls(ids)));
        Value::Object(all.collect())
    }

    /// The tasks of a template. One that inserts itself is the linter's.
    fn template(&mut self, name: &str, owner: &NodeDef, node: &NodeDef) -> Option<Value> {
        let (name, list) = self.whole.templates.get_key_value(name)?;
        if self.inside.contains(&name.as_str()) {
            return None;
        }
        self.inside.push(name);
        let whole = NodeDef {
            phase: node.phase.clone().or(owner.phase.clone()),
            stage: node.stage.clone().or(owner.stage.clone()),
            ..owner.clone()
        };
        let kept = vec![true; list.len()];
        let places = places(list);
        let mut made = Vec::new();
        for one in list {
            let mut on = Vec::new();
            waits((list, &places), &kept, one, &mut on, &mut Vec::new());
            for (_, fields, _) in self.lines(one, &on, Some(&whole)) {
                let fields = fields
                    .into_iter()
                    .map(|(name, value)| (name.to_owned(), value));
                made.push(Value::Object(fields.collect()));
            }
        }
        self.inside.pop();
        Some(Value::Array(made))
    }
}

/// A value with all its texts filled in.
fn deep(value: &Value, texts: &Texts) -> Value {
    match value {
        Value::String(text) => json!(filled(text, texts)),
        Value::Array(all) => all.iter().map(|one| deep(one, texts)).collect(),
        Value::Object(all) => {
            let all = all
                .iter()
                .map(|(name, one)| (name.clone(), deep(one, texts)));
            Value::Object(all.collect())
        }
        other => other.clone(),
    }
}

/// A line with its fields in this order.
fn written(fields: &Fields) -> String {
    let fields = fields
        .iter()
        .map(|(name, value)| format!("{}:{value}", json!(name)));
    let fields: Vec<String> = fields.collect();
    format!("{{{}}}", fields.join(","))
}
