//! A pipeline as views show it: typed, the same for text and JSON.

use super::Pipeline;
use super::definition::{GateDef, NodeDef, Param, Role, When};
use crate::task::node::OnComplete;
use serde::Serialize;
use std::collections::BTreeMap;

/// A whole pipeline.
#[derive(Clone, Debug, Serialize)]
pub struct View<'p> {
    pub name: &'p str,
    pub title: &'p str,
    pub on_complete: OnComplete,
    /// Path of the file; nothing where the program brings the pipeline.
    pub path: Option<&'p str>,
    pub extends: &'p [String],
    /// Number of tasks that somebody does. Decisions and checkpoints are none.
    pub tasks: usize,
    /// Length of the longest chain of these tasks.
    pub beats: usize,
    pub params: &'p BTreeMap<String, Param>,
    pub roles: Vec<RoleView<'p>>,
    pub nodes: Vec<NodeView<'p>>,
    pub templates: BTreeMap<&'p str, Vec<NodeView<'p>>>,
}

#[derive(Clone, Debug, Serialize)]
pub struct RoleView<'p> {
    pub role: &'p str,
    #[serde(flatten)]
    pub said: &'p Role,
}

#[derive(Clone, Debug, Serialize)]
pub struct NodeView<'p> {
    pub id: &'p str,
    pub title: &'p str,
    pub kind: &'p str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skill: Option<&'p str>,
    pub role: Option<&'p str>,
    pub phase: Option<&'p str>,
    pub depends_on: &'p [String],
    pub outputs: &'p [String],
    pub criteria: &'p [String],
    pub cap: u64,
    /// Seconds that somebody may have the task, and those in which they finish then.
    pub work_limit: Option<u64>,
    pub grace: Option<u64>,
    pub on_failed: &'p str,
    pub when: Option<&'p When>,
    pub gates: Vec<GateRow<'p>>,
    pub checkpoint: Option<&'p str>,
}

#[derive(Clone, Debug, Serialize)]
pub struct GateRow<'p> {
    pub id: &'p str,
    pub round: Option<u32>,
    pub views: &'p [String],
    pub rubric: Option<&'p serde_json::Value>,
    /// Set when the gate holds while a goal of the list is open.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub goals: bool,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub outputs: &'p [String],
    #[serde(rename = "final")]
    pub is_final: bool,
    pub cap: Option<u64>,
    pub at_cap: Option<&'p str>,
    pub repair: Option<&'p str>,
}

pub fn view(pipeline: &Pipeline) -> View<'_> {
    let whole = &pipeline.whole;
    let roles = whole.roles.iter();
    let templates = whole.templates.iter();
    View {
        name: &pipeline.name,
        title: &whole.title,
        on_complete: pipeline.on_complete(),
        path: pipeline.path.as_deref(),
        extends: &pipeline.extends,
        tasks: pipeline.work().count(),
        beats: beats(pipeline),
        params: &whole.params,
        roles: roles.map(|(role, said)| RoleView { role, said }).collect(),
        nodes: whole.nodes.iter().map(node).collect(),
        templates: templates
            .map(|(name, list)| (name.as_str(), list.iter().map(node).collect()))
            .collect(),
    }
}

fn node(node: &NodeDef) -> NodeView<'_> {
    NodeView {
        id: node.id(),
        title: node.title.as_deref().unwrap_or_default(),
        kind: node.kind.as_deref().unwrap_or("work"),
        skill: node.skill.as_deref(),
        role: node.role.as_deref(),
        phase: node.phase.as_deref(),
        depends_on: node.depends_on(),
        outputs: node.outputs.as_deref().unwrap_or_default(),
        criteria: node.criteria.as_deref().unwrap_or_default(),
        cap: node.cap.unwrap_or(u64::from(crate::task::node::Node::CAP)),
        work_limit: node.work_limit,
        grace: node.grace,
        on_failed: node.on_failed.as_deref().unwrap_or("hold"),
        when: node.when.as_ref(),
        gates: node.gates().iter().map(gate).collect(),
        checkpoint: node
            .checkpoint
            .as_ref()
            .map(|one| one.id.get_ref().as_str()),
    }
}

fn gate(gate: &GateDef) -> GateRow<'_> {
    GateRow {
        id: gate.id(),
        round: gate.round,
        views: gate.views(),
        rubric: gate.rubric.as_ref(),
        goals: gate.goals.unwrap_or(false),
        outputs: gate.outputs.as_deref().unwrap_or_default(),
        is_final: gate.is_final.unwrap_or(false),
        cap: gate.cap,
        at_cap: gate.at_cap.as_deref(),
        repair: gate.repair.as_deref(),
    }
}

/// Length of the longest chain of tasks that somebody does, one behind the other.
fn beats(pipeline: &Pipeline) -> usize {
    let nodes: Vec<NodeDef> = pipeline.work().cloned().collect();
    depths(&nodes).values().copied().max().unwrap_or(0)
}

/// The length of the longest chain that ends in each task. In a cycle as far as it goes.
pub(super) fn depths(nodes: &[NodeDef]) -> BTreeMap<String, usize> {
    let mut depth: BTreeMap<String, usize> = BTreeMap::new();
    loop {
        let mut is_same = true;
        for node in nodes {
            let before = node.depends_on().iter();
            let before = before.filter_map(|id| depth.get(id)).max();
            let own = before.map_or(1, |before| before + 1).min(nodes.len());
            is_same &= depth.insert(node.id().to_owned(), own) == Some(own);
        }
        if is_same {
            return depth;
        }
    }
}
