//! Roles of a list of tasks: who of them no prompt tells how, and whether a team has more than work well together. Both
//! are advice: nothing is held by it.

use super::file::found;
use super::node::Node;
use crate::pipeline::{MOST_ROLES, TEAM, merged_role};
use loopx_base::hint::{Hint, command, hint};
use loopx_spec::Finding;
use std::collections::BTreeMap;

/// The remarks on the roles of a list, and of what its gates may insert. `prompts` is the folder of a repository's own
/// prompts, and `has_prompt` says whether there is one for a role.
pub fn findings(nodes: &[Node], prompts: &str, has_prompt: impl Fn(&str) -> bool) -> Vec<Finding> {
    let mut roles: BTreeMap<&str, usize> = BTreeMap::new();
    for node in nodes {
        let repairs = node.gate.iter().flat_map(|gate| &gate.repair);
        for role in std::iter::once(node).chain(repairs).filter_map(role_of) {
            roles.entry(role).or_insert(node.line);
        }
    }
    let mut said: Vec<Finding> = Vec::new();
    let is_of_team = |node: &Node| node.part.as_ref().is_some_and(|part| part.pipeline == TEAM);
    if let Some(first) = nodes.iter().find(|node| is_of_team(node))
        && roles.len() > MOST_ROLES
    {
        let names: Vec<&str> = roles.keys().copied().collect();
        let lead = match merged_role(&names) {
            Some((gone, into)) => format!("let `{into}` do what `{gone}` does"),
            None => "let one of them do what two do".to_owned(),
        };
        let message = format!(
            "the team has {} roles ({}), and at most {MOST_ROLES} work well together: {lead}",
            names.len(),
            names.join(", ")
        );
        let mut one = found("task_roles_many", first.line, message);
        one.fix = command!("task edit ID --role ROLE");
        said.push(one);
    }
    for (role, line) in roles.into_iter().filter(|(role, _)| !has_prompt(role)) {
        let mut one = found("task_role_unprompted", line, unprompted(role));
        one.fix = lead(prompts, role);
        said.push(one);
    }
    said
}

pub(crate) fn unprompted(role: &str) -> String {
    format!("no prompt tells the role `{role}` how it works")
}

/// The way on from a role without a prompt.
pub(crate) fn lead(prompts: &str, role: &str) -> Hint {
    hint![
        format!(
            "write {prompts}/{role}.md and commit it, or give its tasks to a role that has one: "
        ),
        command!("agent prompt")
    ]
}

fn role_of(node: &Node) -> Option<&str> {
    node.role.as_deref().filter(|role| !role.trim().is_empty())
}
