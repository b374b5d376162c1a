//! A pipeline as its file says it: TOML, read once. What a key means for the graph is the business of the expansion,
//! and whether it can be meant so is the linter's.

use super::finding::{Findings, Place};
use crate::task::node::OnComplete;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::rc::Rc;
use toml::Spanned;

/// Content of one file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Definition {
    pub title: String,
    /// Pipelines that this one changes, the first of them first.
    #[serde(deserialize_with = "one_or_many")]
    pub extends: Vec<String>,
    /// Fate of the session once all of its tasks are done.
    pub on_complete: Option<OnComplete>,
    /// Condition under which nothing runs beside anything.
    pub alone: Option<When>,
    /// A gate that comes again and again.
    pub cadence: Option<Cadence>,
    pub params: BTreeMap<String, Param>,
    pub roles: BTreeMap<String, Role>,
    pub nodes: Vec<NodeDef>,
    /// Nodes of the extended pipelines that this one does not have.
    pub remove: Vec<Spanned<String>>,
    /// Lists of tasks that gates insert.
    pub templates: BTreeMap<String, Vec<NodeDef>>,
}

/// A gate behind each so many tasks; not beside one that a task has of its own.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cadence {
    pub every: usize,
    pub gate: GateDef,
}

/// A value that is given when the pipeline starts.
#[derive(Clone, Debug, Default, Deserialize, serde::Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Param {
    pub about: String,
    #[serde(rename = "type")]
    pub kind: ParamKind,
    /// Values that the parameter can have; any where none is named.
    pub values: Vec<String>,
    /// Value where none is given; a parameter without a default has to be given.
    pub default: Option<String>,
    /// Values under a condition, which go before all that the value would follow from; the first that holds counts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub instead: Vec<Instead>,
    /// Set when the values are stages in their order: the default is the one behind the last whose result is there.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub position: bool,
    /// Part of the roadmap that the session is in, whose value counts where none is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roadmap: Option<OfRoadmap>,
    /// Mark of a parameter that is the session's issue where none is given: the one that it was started for.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub issue: bool,
}

/// A value of a parameter where others have these values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub struct Instead {
    pub when: BTreeMap<String, Values>,
    pub value: String,
}

impl Instead {
    /// Tells whether other parameters have the values that the condition asks for.
    pub fn holds<'v>(&self, value: impl Fn(&str) -> Option<&'v str>) -> bool {
        let has = |(name, wanted): (&String, &Values)| {
            value(name).is_some_and(|value| wanted.all().iter().any(|one| one == value))
        };
        self.when.iter().all(has)
    }
}

/// Part of the roadmap that a session is in, from which a parameter takes its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OfRoadmap {
    Phase,
    Milestone,
}

/// Kind of the value of a parameter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ParamKind {
    #[default]
    Text,
    /// An artifact of the session or a file of the code, which has to be there.
    File,
    /// Check: words of a command, or `manual: WHAT`.
    Check,
}

/// Role of somebody who does tasks.
#[derive(Clone, Debug, Default, Deserialize, serde::Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Role {
    pub about: String,
}

/// A condition. Everything that it names has to hold; of several values of a parameter, one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, serde::Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct When {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub params: BTreeMap<String, Values>,
    /// Paths that the code has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub has: Vec<String>,
    /// Paths that the code does not have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lacks: Vec<String>,
    /// Packages, of which `package.json` names one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub depends: Vec<String>,
}

/// Value of a parameter, or several of which one holds.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, serde::Serialize)]
#[serde(untagged)]
pub enum Values {
    One(String),
    Many(Vec<String>),
}

impl Values {
    pub fn all(&self) -> &[String] {
        match self {
            Values::One(one) => std::slice::from_ref(one),
            Values::Many(many) => many,
        }
    }
}

/// Task: the fields of a line of `tasks.jsonl`, and what stands behind the task.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeDef {
    pub id: Spanned<String>,
    pub title: Option<String>,
    pub description: Option<String>,
    pub kind: Option<String>,
    #[serde(rename = "type")]
    pub work: Option<String>,
    pub priority: Option<Value>,
    pub effort: Option<String>,
    pub points: Option<u64>,
    pub scope: Option<String>,
    pub role: Option<String>,
    pub stage: Option<String>,
    pub phase: Option<String>,
    pub depends_on: Option<Vec<String>>,
    pub files: Option<Value>,
    pub reads: Option<Value>,
    pub skill: Option<String>,
    pub args: Option<Value>,
    pub outputs: Option<Vec<String>>,
    pub exclusive: Option<Vec<String>>,
    pub parallel: Option<bool>,
    pub cap: Option<u64>,
    pub time_limit: Option<u64>,
    pub work_limit: Option<u64>,
    pub grace: Option<u64>,
    pub on_failed: Option<String>,
    pub criteria: Option<Vec<String>>,
    pub verification: Option<Value>,
    pub done_when: Option<String>,
    /// Condition without which the task is left out.
    pub when: Option<When>,
    /// Gates that judge the task, one behind the other.
    pub gates: Option<Vec<GateDef>>,
    /// Checkpoint behind the task: a person lets pass what stands behind it.
    pub checkpoint: Option<CheckpointDef>,
    #[serde(skip)]
    pub place: Place,
}

/// A decision about the task that it stands behind: the words of `gate` of a line of `tasks.jsonl`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GateDef {
    pub id: Spanned<String>,
    pub title: Option<String>,
    pub description: Option<String>,
    pub role: Option<String>,
    pub kind: Option<String>,
    pub done_when: Option<String>,
    /// The number of a discussion.
    pub round: Option<u32>,
    /// Tasks that the gate judges beside the task that it stands behind.
    pub judges: Option<Vec<String>>,
    pub rubric: Option<Value>,
    /// Set when the gate holds while a goal of the list is open.
    pub goals: Option<bool>,
    pub outputs: Option<Vec<String>>,
    pub views: Option<Vec<String>>,
    #[serde(rename = "final")]
    pub is_final: Option<bool>,
    pub cap: Option<u64>,
    pub at_cap: Option<String>,
    /// Ways on, by the word that chooses each, with the tasks that are not done then.
    pub outcomes: Option<BTreeMap<String, Vec<String>>>,
    /// A manner of repair, by what was found.
    pub strategies: Option<Value>,
    /// The name of the list that a fix inserts.
    pub repair: Option<String>,
    /// Condition without which the gate is left out.
    pub when: Option<When>,
    #[serde(skip)]
    pub place: Place,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckpointDef {
    pub id: Spanned<String>,
    pub title: Option<String>,
    #[serde(skip)]
    pub place: Place,
}

fn one_or_many<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    Ok(match Values::deserialize(from)? {
        Values::One(one) => vec![one],
        Values::Many(many) => many,
    })
}

impl Definition {
    /// Reads a file; `label` is how findings name it. What cannot be read is one finding with its line.
    pub fn parse(text: &str, label: &str) -> Result<Self, Findings> {
        let mut read: Definition = toml::from_str(text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            let said = error.message().trim().replace('\n', " ");
            let place = Place::new(label, line_of(text, start));
            Findings::one("pipeline_unreadable", &place, said)
        })?;
        let file: Rc<str> = label.into();
        let breaks: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
        let place = |id: &Spanned<String>| Place {
            file: file.clone(),
            line: breaks.partition_point(|at| *at < id.span().start) + 1,
        };
        if let Some(cadence) = &mut read.cadence {
            cadence.gate.place = place(&cadence.gate.id);
        }
        let templates = read.templates.values_mut().flatten();
        for node in read.nodes.iter_mut().chain(templates) {
            node.place = place(&node.id);
            for gate in node.gates.iter_mut().flatten() {
                gate.place = place(&gate.id);
            }
            if let Some(checkpoint) = &mut node.checkpoint {
                checkpoint.place = place(&checkpoint.id);
            }
        }
        Ok(read)
    }
}

/// Takes over the fields that another definition of the same thing says.
macro_rules! take {
    ($own:ident, $by:ident, $($field:ident),+ $(,)?) => {
        $(if $by.$field.is_some() {
            $own.$field.clone_from(&$by.$field);
        })+
    };
}

impl NodeDef {
    pub fn id(&self) -> &str {
        self.id.get_ref()
    }

    pub fn gates(&self) -> &[GateDef] {
        self.gates.as_deref().unwrap_or_default()
    }

    pub fn depends_on(&self) -> &[String] {
        self.depends_on.as_deref().unwrap_or_default()
    }

    /// Tells whether an id is the task's own, or one of what stands behind the task.
    pub fn has_id(&self, id: &str) -> bool {
        self.all_ids().any(|(own, _)| own == id)
    }

    /// Ids of the task and of what stands behind it.
    pub fn all_ids(&self) -> impl Iterator<Item = (&str, &Place)> {
        let gates = self.gates().iter().map(|gate| (gate.id(), &gate.place));
        let checkpoint = self.checkpoint.iter();
        let checkpoint = checkpoint.map(|one| (one.id.get_ref().as_str(), &one.place));
        std::iter::once((self.id(), &self.place))
            .chain(gates)
            .chain(checkpoint)
    }

    /// Tells whether the task is work that somebody does, which a mode counts.
    pub fn is_work(&self) -> bool {
        self.kind.as_deref().is_none_or(|kind| kind == "work")
    }

    /// Id of the last of what stands behind the task: what waits for the task waits for that.
    pub fn last(&self) -> &str {
        let gate = self.gates().last().map(GateDef::id);
        let checkpoint = self
            .checkpoint
            .as_ref()
            .map(|one| one.id.get_ref().as_str());
        checkpoint.or(gate).unwrap_or(self.id())
    }

    /// Takes over what another definition of the same task says. A gate of an id that it has is changed, another one
    /// stands behind those.
    pub fn change(&mut self, by: &NodeDef) {
        take!(
            self,
            by,
            title,
            description,
            kind,
            work,
            priority,
            effort,
            points,
            scope,
            role,
            stage,
            phase,
            depends_on,
            files,
            reads,
            skill,
            args,
            outputs,
            exclusive,
            parallel,
            cap,
            time_limit,
            work_limit,
            grace,
            on_failed,
            criteria,
            verification,
            done_when,
            when,
            checkpoint,
        );
        for gate in by.gates() {
            let gates = self.gates.get_or_insert_default();
            match gates.iter_mut().find(|own| own.id() == gate.id()) {
                Some(own) => own.change(gate),
                None => gates.push(gate.clone()),
            }
        }
        self.place = by.place.clone();
    }
}

impl NodeDef {
    /// Takes out the gate or the checkpoint of this name that stands behind the task; false where there is none.
    pub fn take_out(&mut self, name: &str) -> bool {
        let gates = self.gates.as_mut();
        let place = gates.and_then(|gates| {
            let at = gates.iter().position(|gate| gate.id() == name)?;
            Some((gates, at))
        });
        if let Some((gates, at)) = place {
            gates.remove(at);
            return true;
        }
        let checkpoint = self.checkpoint.take_if(|one| one.id.get_ref() == name);
        checkpoint.is_some()
    }
}

impl GateDef {
    pub fn id(&self) -> &str {
        self.id.get_ref()
    }

    pub fn views(&self) -> &[String] {
        self.views.as_deref().unwrap_or_default()
    }

    fn change(&mut self, by: &GateDef) {
        take!(
            self,
            by,
            title,
            description,
            role,
            kind,
            done_when,
            round,
            judges,
            rubric,
            goals,
            outputs,
            views,
            is_final,
            cap,
            at_cap,
            outcomes,
            strategies,
            repair,
            when,
        );
        self.place = by.place.clone();
    }
}

/// The line of a byte, from 1.
fn line_of(text: &str, byte: usize) -> usize {
    let before = text.bytes().take(byte);
    before.filter(|byte| *byte == b'\n').count() + 1
}
