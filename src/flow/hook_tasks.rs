//! The commit hook's look at tasks: what is staged against the files of those that are taken in this worktree, where
//! policy asks for it.

use super::context::Context;
use super::hook::Outcome;
use super::{lease, transaction};
use loopx_base::failure::{Blocker, Code, Failure, Result};
use loopx_base::hint::{Hint, command, hint};
use loopx_base::shell_word;
use loopx_hosts::wiring;
use loopx_rules::artifact::Artifact;
use loopx_rules::policy::{Policy, Strictness};
use loopx_rules::session::State;
use loopx_rules::stage::Stage;
use loopx_rules::task::commit::{Stray, strays};
use loopx_rules::task::node::Node;
use loopx_rules::task::plan;
use loopx_rules::task::status::TaskFacts;
use loopx_rules::texts::Texts;

/// The number of paths that are named.
const NAMED: usize = 10;

/// Judges the staged paths by the tasks that are taken here.
pub(super) fn judge(
    ctx: &Context,
    state: &State,
    policy: &Policy,
    paths: &[String],
) -> Result<Outcome> {
    let passed = || Ok(Outcome::Passed(Vec::new()));
    let strictness = policy.gates.task_files;
    let held = || state.tasks.values().any(|facts| facts.holder().is_some());
    if strictness == Strictness::Allow || state.stage != Stage::Build || !held() {
        return passed();
    }
    let owner = lease::owner(&ctx.repo, None)?;
    let mut texts = Texts::default();
    transaction::read_texts(&ctx.repo, state, &mut texts)?;
    // A list that cannot be read is said where somebody works on it.
    let Ok(nodes) = plan::now(&texts, state) else {
        return passed();
    };
    let is_own = |node: &&Node| {
        let holder = state.task(&node.id).and_then(TaskFacts::holder);
        holder.is_some_and(|claim| claim.value.is_of(&owner))
    };
    let own: Vec<&Node> = nodes.iter().filter(is_own).collect();
    let allowed = policy.allowed()?;
    let is_asked = |path: &&String| !allowed.matches(path) && !wiring::is_ours(path);
    let paths: Vec<String> = paths.iter().filter(is_asked).cloned().collect();
    let found = strays(&nodes, &own, &paths);
    Ok(match (strictness, own.first()) {
        (Strictness::Refuse, Some(first)) if !found.is_empty() => {
            Outcome::Refused(refusal(state, policy, first, (&found, &own)))
        }
        _ => {
            let said = found.iter().take(NAMED).map(|one| one.words(&own));
            Outcome::Passed(
                said.map(|one| format!("session {}: {one}", state.id))
                    .collect(),
            )
        }
    })
}

fn refusal(
    state: &State,
    policy: &Policy,
    first: &Node,
    (found, own): (&[Stray], &[&Node]),
) -> Failure {
    let blockers = found.iter().take(NAMED).map(|one| {
        let lead = lead(state, policy, first, one);
        Blocker::new(Code::TaskFileUndeclared, one.words(own), lead)
    });
    let ids: Vec<&str> = own.iter().map(|node| node.id.as_str()).collect();
    let message = format!(
        "session {}: this commit changes files that {} does not name",
        state.id,
        ids.join(", ")
    );
    Failure::refused(Code::TaskFileUndeclared, message)
        .blockers(blockers.collect())
        .help(hint![
            "take them out of the commit (git restore --staged PATH), or to commit all the same: ",
            "git commit --no-verify  (or LOOPX=0)"
        ])
}

/// The command by which a task comes to name a path.
fn lead(state: &State, policy: &Policy, first: &Node, stray: &Stray) -> Hint {
    if let Some(other) = &stray.of {
        return command!("task show {other}").note("(its files are committed by whoever has it)");
    }
    if state.is_open(Artifact::TaskList) {
        let mut files: Vec<String> = first.own_files().map(shell_word).collect();
        files.push(shell_word(&stray.path));
        let files = files.join(" --file ");
        return command!("task edit {} --file {files}", first.id);
    }
    hint![
        format!(
            "name it in `files` of {} in the list below .loopx, then: ",
            first.id
        ),
        policy.amend_command()
    ]
}
