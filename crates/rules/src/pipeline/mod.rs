//! Pipelines: graphs of tasks as data. A pipeline is a TOML file, in the program or on the code branch, that expands
//! into lines of `tasks.jsonl`; from there on it is a plan like every other, and has no state of its own.
//!
//! This module owns how a pipeline is written, when it is wrong, and which lines it makes. It knows no session, no git
//! and no clock: what a condition asks of the code is told to it.

pub mod builtin;
mod choose;
mod definition;
mod expand;
mod finding;
mod lint;
mod params;
mod position;
mod show;
mod skills;
mod sprint;
mod team;
#[cfg(test)]
mod tests;

use crate::task::node::OnComplete;
pub use choose::{Choice, choose};
pub use definition::{Definition, GateDef, NodeDef, Param, ParamKind, When};
pub use expand::{Expanded, Ground, Line, expand};
pub use finding::{FINDINGS, Findings, Place};
pub use lint::lint;
pub use params::{Given, values};
pub use position::{InRoadmap, Position, Result as HasResult, of_issues, positions};
pub use show::{View, view};
pub use skills::{role_findings, skill_findings, skill_names};
pub use sprint::{SprintSize, sprint_size};
pub use team::{MOST_ROLES, Member, Size, TEAM, Team, merged_role, team, vocabulary as team_words};

/// A pipeline with everything that it takes from those that it extends.
#[derive(Clone, Debug)]
pub struct Pipeline {
    pub name: String,
    /// Path of the file; nothing where the program brings the pipeline.
    pub path: Option<String>,
    /// Text of the file, byte for byte.
    pub text: String,
    pub extends: Vec<String>,
    pub whole: Definition,
}

impl Pipeline {
    /// Reads a pipeline. What is wrong with what it extends is found here; the rest is [`lint`]'s.
    pub fn read(name: &str, text: &str, path: Option<&str>) -> Result<Self, Findings> {
        let label = path.map_or_else(|| builtin::label(name), str::to_owned);
        let own = Definition::parse(text, &label)?;
        let extends = own.extends.clone();
        Ok(Pipeline {
            name: name.to_owned(),
            path: path.map(str::to_owned),
            text: text.to_owned(),
            whole: extended(own, name, path.is_none(), &label)?,
            extends,
        })
    }

    /// Reads a pipeline from a file, whatever bytes are in it.
    pub fn of_bytes(name: &str, bytes: &[u8], path: &str) -> Result<Self, Findings> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Pipeline::read(name, text, Some(path)),
            Err(error) => {
                let before = &bytes[..error.valid_up_to()];
                let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
                let said = "expected UTF-8, found other bytes";
                let place = Place::new(path, line);
                Err(Findings::one("pipeline_unreadable", &place, said))
            }
        }
    }

    /// A pipeline that the program brings.
    pub fn built_in(name: &str) -> Option<Result<Self, Findings>> {
        builtin::text(name).map(|text| Pipeline::read(name, text, None))
    }

    /// Fate of the session once all of its tasks are done.
    pub fn on_complete(&self) -> OnComplete {
        self.whole.on_complete.unwrap_or(OnComplete::Interactive)
    }

    /// The tasks that somebody does: what a mode counts.
    pub fn work(&self) -> impl Iterator<Item = &NodeDef> {
        self.whole.nodes.iter().filter(|node| node.is_work())
    }
}

/// A definition laid over what it extends.
fn extended(
    own: Definition,
    name: &str,
    is_built_in: bool,
    label: &str,
) -> Result<Definition, Findings> {
    let mut whole = Definition::default();
    for from in &own.extends {
        let place = Place::new(label, 1);
        let is_itself = is_built_in && from == name;
        let Some(text) = builtin::text(from).filter(|_| !is_itself) else {
            let near = loopx_base::nearest(from, builtin::names());
            let near = near.map_or(String::new(), |near| format!("; is `{near}` meant?"));
            let message = format!("the program has no pipeline `{from}` to extend{near}");
            return Err(Findings::one("pipeline_extends_unknown", &place, message));
        };
        let base = Definition::parse(text, &builtin::label(from))?;
        let base = extended(base, from, true, &builtin::label(from))?;
        lay(&mut whole, base);
    }
    for name in &own.remove {
        if !take_out(&mut whole, name.get_ref()) {
            let message = format!(
                "`remove` names `{}`, which the extended pipeline does not have",
                name.get_ref()
            );
            let place = Place::new(label, 1);
            return Err(Findings::one("pipeline_extends_unknown", &place, message));
        }
    }
    let is_over = !own.extends.is_empty();
    lay(&mut whole, own);
    if is_over {
        // Of several that are laid together, what can be done first stands first.
        let depth = show::depths(&whole.nodes);
        let depth = |node: &NodeDef| depth.get(node.id()).copied();
        let mut order: Vec<(Option<usize>, NodeDef)> = Vec::new();
        order.extend(whole.nodes.drain(..).map(|node| (depth(&node), node)));
        order.sort_by_key(|(depth, _)| *depth);
        whole.nodes.extend(order.into_iter().map(|(_, node)| node));
    }
    Ok(whole)
}

/// Lays one definition over another: what both name is changed, the rest is added.
fn lay(whole: &mut Definition, over: Definition) {
    if !over.title.is_empty() {
        whole.title = over.title;
    }
    whole.on_complete = over.on_complete.or(whole.on_complete);
    whole.cadence = over.cadence.or(whole.cadence.take());
    whole.alone = over.alone.or(whole.alone.take());
    whole.params.extend(over.params);
    whole.roles.extend(over.roles);
    whole.templates.extend(over.templates);
    // What stands in one file twice is the linter's.
    let known = whole.nodes.len();
    for node in over.nodes {
        let mut before = whole.nodes.iter_mut().take(known);
        match before.find(|one| one.id() == node.id()) {
            Some(one) => one.change(&node),
            None => whole.nodes.push(node),
        }
    }
}

/// Takes out what has this name. What waited for a task waits for what that one waited for.
fn take_out(whole: &mut Definition, name: &str) -> bool {
    let Some(at) = whole.nodes.iter().position(|node| node.id() == name) else {
        return whole.nodes.iter_mut().any(|node| node.take_out(name))
            || whole.params.remove(name).is_some()
            || whole.templates.remove(name).is_some()
            || whole.roles.remove(name).is_some();
    };
    let gone = whole.nodes.remove(at);
    for node in &mut whole.nodes {
        if let Some(on) = &mut node.depends_on
            && let Some(place) = on.iter().position(|id| id == name)
        {
            on.splice(place..=place, gone.depends_on().iter().cloned());
            let mut seen = Vec::new();
            on.retain(|id| {
                !seen.contains(id) && {
                    seen.push(id.clone());
                    true
                }
            });
        }
    }
    true
}
