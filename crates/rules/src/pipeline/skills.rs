//! The skills that the tasks of a pipeline are done by: which there are, and what is said of those that nobody can
//! follow. Where skills stand is told to this module.

use super::Pipeline;
use super::definition::NodeDef;
use super::finding::Findings;
use super::params::names;
use crate::skill::{Looked, named};
use crate::task::roles::{lead, unprompted};
use loopx_spec::Finding;
use std::collections::BTreeSet;

/// The tasks that say by which skill they are done, with its name; not those whose skill is a parameter.
fn skilled(pipeline: &Pipeline) -> impl Iterator<Item = (&NodeDef, &str)> {
    let whole = &pipeline.whole;
    let nodes = whole.nodes.iter().chain(whole.templates.values().flatten());
    nodes.filter_map(|node| {
        let (name, _) = named(node.skill.as_deref()?);
        (!name.is_empty() && names(name).is_empty()).then_some((node, name))
    })
}

/// The name of each skill, once.
pub fn skill_names(pipeline: &Pipeline) -> Vec<String> {
    let mut found: Vec<String> = skilled(pipeline).map(|(_, name)| name.to_owned()).collect();
    found.sort();
    found.dedup();
    found
}

/// Faults in the skills of a pipeline on this machine.
///
/// `displaced` says of a skill which others of its name it displaces.
pub fn skill_findings(
    pipeline: &Pipeline,
    look: impl Fn(&str) -> Looked,
    displaced: impl Fn(&str) -> Option<String>,
) -> Vec<Finding> {
    let mut found = Findings::default();
    for (node, name) in skilled(pipeline) {
        if let Some(why) = displaced(name) {
            let message = format!("{}: {why}", node.id());
            found.say("pipeline_skill_displaced", &node.place, message);
        }
        let looked = look(name);
        let Some(fault) = looked.fault(name) else {
            continue;
        };
        let id = if looked.is_held() {
            "pipeline_skill_missing"
        } else {
            "pipeline_skill_renamed"
        };
        found.say(id, &node.place, format!("{}: {fault}", node.id()));
    }
    found.0
}

/// The roles of a pipeline that have no prompt, each where a task first names it. `prompts` is the folder of a
/// repository's own.
pub fn role_findings(
    pipeline: &Pipeline,
    prompts: &str,
    has_prompt: impl Fn(&str) -> bool,
) -> Vec<Finding> {
    let whole = &pipeline.whole;
    let nodes = whole.nodes.iter().chain(whole.templates.values().flatten());
    let named = nodes.flat_map(|node| {
        let gates = node.gates().iter();
        let gates = gates.filter_map(|gate| Some((gate.role.as_deref()?, &gate.place)));
        node.role
            .as_deref()
            .map(|role| (role, &node.place))
            .into_iter()
            .chain(gates)
    });
    let mut known: BTreeSet<&str> = BTreeSet::new();
    let mut found = Findings::default();
    let is_asked = |role: &str| whole.roles.contains_key(role) && !has_prompt(role);
    for (role, place) in named.filter(|(role, _)| is_asked(role)) {
        if known.insert(role) {
            found.say("pipeline_role_unprompted", place, unprompted(role));
            let said = found.0.last_mut();
            said.into_iter()
                .for_each(|one| one.fix = lead(prompts, role));
        }
    }
    found.0
}
