//! Conditions that tasks wait for outside of their list, looked at for whoever asks now: branches, runs, other sessions
//! and the clock. Nothing is looked at that no task waits for, and nothing of it is stored. The rules are in
//! [`loopx_rules::task::world`].

use super::archive::confirmed;
use super::context::Context;
use super::sign;
use super::transaction::Facts;
use loopx_base::failure::Result;
use loopx_base::id::{Oid, Person};
use loopx_git::{Identity, Repo};
use loopx_rules::artifact::Artifact;
use loopx_rules::checks::{Check, checks_now};
use loopx_rules::op::Evidence;
use loopx_rules::session::Stamped;
use loopx_rules::task::decide::allowed;
use loopx_rules::task::file::conditions;
use loopx_rules::task::graph::Graph;
use loopx_rules::task::node::TaskId;
use loopx_rules::task::plan;
use loopx_rules::task::world::{Condition, Run, Seen, World};
use loopx_store::{Session, Snapshot};
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

/// Looks at everything that a task of the session waits for.
pub(super) fn seen(
    ctx: &Context,
    (snapshot, session): (&Snapshot<'_>, &Session),
    facts: &Facts<'_>,
) -> Result<World> {
    let list = facts.texts.get(&Artifact::TaskList);
    let mut asked = list.map_or_else(Default::default, |text| conditions(text));
    if asked.is_empty() {
        return Ok(World::default());
    }
    // What a decision inserted has names of its own.
    let mut tasks = facts.state.tasks.values();
    if tasks.any(|task| !task.decisions.is_empty()) {
        let nodes = plan::now(&facts.texts, &facts.state).unwrap_or_default();
        asked.extend(nodes.iter().flat_map(|node| node.waits.iter().cloned()));
    }
    // By the date that the record would have; only leases are judged by the earlier of two clocks.
    let identity = facts.identity.or_else(|| ctx.reader());
    let mut world = World {
        now: identity.map_or_else(|| ctx.now(), Identity::seconds),
        is_asked: true,
        ..World::default()
    };
    let here = Here::default();
    for condition in asked {
        let seen = match &condition {
            Condition::Time { .. } | Condition::Person { .. } => continue,
            Condition::Commit { .. } | Condition::Path { .. } | Condition::Session { .. } => {
                match look(snapshot, &condition) {
                    Some(seen) => seen,
                    None => continue,
                }
            }
            Condition::Evidence { evidence, role } => {
                let role = role.as_deref();
                let (seen, first) =
                    run(ctx, (snapshot, session), (facts, &here), (evidence, role))?;
                if let Some(first) = first {
                    world.passed.insert(condition.clone(), first);
                }
                seen
            }
        };
        world.seen.insert(condition, seen);
    }
    for task in facts.state.tasks.values() {
        let words = task.allowed.iter().chain(&task.opened);
        for who in words.map(|word| &word.signed.by) {
            if !world.names.contains_key(who) {
                let mut names = facts.credentials.names(who);
                names.extend(ctx.repo.canonical(who).ok());
                world.names.insert(who.clone(), names);
            }
        }
    }
    Ok(world)
}

/// Looks at a condition about a branch or a session; nothing of any other.
pub(super) fn look(snapshot: &Snapshot<'_>, condition: &Condition) -> Option<Seen> {
    let repo = snapshot.repo();
    Some(match condition {
        // What cannot be looked at does not hold, and hides nothing else.
        Condition::Commit { branch, contains } => {
            commit(repo, branch, contains).unwrap_or(Seen::Damaged)
        }
        Condition::Path { branch, path } => self::path(repo, branch, path).unwrap_or(Seen::Damaged),
        Condition::Session { session, .. } => match snapshot.find(session) {
            Ok(Some(mut other)) => {
                let ending = other.state.ending.take();
                other.state.ending = ending.map(|ending| confirmed(repo, ending));
                Seen::session(&other.state)
            }
            Ok(None) => Seen::NoSession,
            Err(_) => Seen::Damaged,
        },
        Condition::Time { .. } | Condition::Person { .. } | Condition::Evidence { .. } => {
            return None;
        }
    })
}

/// Takes the words that nodes may begin into the world, those that stand.
pub(super) fn hear(facts: &mut Facts<'_>) {
    let mut tasks = facts.state.tasks.values();
    if !facts.world.is_asked || tasks.all(|task| task.allowed.is_empty()) {
        return;
    }
    let nodes = plan::now(&facts.texts, &facts.state).unwrap_or_default();
    let graph = Graph::of(&nodes);
    let names = &facts.world.names;
    let names = |who: &Person| names.get(who).cloned().unwrap_or_default();
    let heard = nodes.iter().enumerate().map(|(at, node)| {
        let said = allowed(&graph, at, &facts.state);
        let said = said.map(|said| names(&said.signed.by));
        (node.id.clone(), said.collect())
    });
    let heard: Vec<(TaskId, Vec<Vec<Person>>)> = heard.collect();
    for (task, said) in heard {
        facts.world.hear(&task, said);
    }
}

/// The newest commit of a branch of this repository, or of what was last seen of a remote's.
fn tip(repo: &Repo, branch: &str) -> Result<Option<Oid>> {
    for place in ["refs/heads", "refs/remotes"] {
        if let Some(tip) = repo.find_ref(&format!("{place}/{branch}"))? {
            return Ok(Some(tip));
        }
    }
    Ok(None)
}

fn commit(repo: &Repo, branch: &str, contains: &str) -> Result<Seen> {
    let Some(tip) = tip(repo, branch)? else {
        return Ok(Seen::NoBranch);
    };
    let Ok(wanted) = repo.resolve_commit(contains) else {
        return Ok(Seen::NoCommit);
    };
    Ok(Seen::Branch {
        has: repo.is_ancestor(&wanted, &tip)?,
        at: repo.commit_info(&tip)?.at,
    })
}

fn path(repo: &Repo, branch: &str, path: &str) -> Result<Seen> {
    let Some(tip) = tip(repo, branch)? else {
        return Ok(Seen::NoBranch);
    };
    let info = repo.commit_info(&tip)?;
    Ok(Seen::Branch {
        has: repo
            .entry_at(&info.tree, path.trim_end_matches('/'))?
            .is_some(),
        at: info.at,
    })
}

/// The checks and the code that every condition is judged on, looked at once.
#[derive(Default)]
struct Here {
    checks: OnceCell<Vec<Check>>,
    code: OnceCell<Option<Oid>>,
    /// The runs that somebody in a role signed, by the role.
    signed: RefCell<HashMap<String, Rc<Vec<Stamped<Evidence>>>>>,
}

impl Here {
    fn checks(&self, facts: &Facts<'_>) -> &[Check] {
        let read = || checks_now(&facts.texts, &facts.state, &facts.policy.all_checks());
        self.checks.get_or_init(read)
    }

    fn code<'h>(&'h self, ctx: &Context, facts: &'h Facts<'_>) -> Result<Option<&'h Oid>> {
        if let Some(code) = &facts.code {
            return Ok(Some(&code.tree));
        }
        if self.code.get().is_none() {
            let code = ctx.code_for(facts.identity)?;
            drop(self.code.set(code.map(|code| code.tree)));
        }
        Ok(self.code.get().and_then(Option::as_ref))
    }

    fn signed(
        &self,
        ctx: &Context,
        facts: &Facts<'_>,
        (snapshot, session): (&Snapshot<'_>, &Session),
        role: &str,
    ) -> Result<Rc<Vec<Stamped<Evidence>>>> {
        if let Some(known) = self.signed.borrow().get(role) {
            return Ok(Rc::clone(known));
        }
        let runs = Rc::new(sign::runs_by(
            ctx,
            &facts.policy,
            (snapshot, session),
            role,
        )?);
        let mut signed = self.signed.borrow_mut();
        signed.insert(role.to_owned(), Rc::clone(&runs));
        Ok(runs)
    }
}

/// The run of a check, or of a kind, that says most of the code as it is, and the number of the first that passed.
fn run(
    ctx: &Context,
    (snapshot, session): (&Snapshot<'_>, &Session),
    (facts, here): (&Facts<'_>, &Here),
    (name, role): (&str, Option<&str>),
) -> Result<(Seen, Option<u64>)> {
    let signed;
    let all = match role {
        None => facts.view().evidence(),
        Some(role) if !facts.policy.approve.roles.contains_key(role) => {
            return Ok((Seen::NoRole, None));
        }
        Some(role) => {
            signed = here.signed(ctx, facts, (snapshot, session), role)?;
            &signed
        }
    };
    let check = here
        .checks(facts)
        .iter()
        .find(|check| check.id.eq_ignore_ascii_case(name));
    let is_it = |run: &&Stamped<Evidence>| match check {
        Some(check) => check.is_of(&run.value),
        None => run.value.what == name,
    };
    let code = here.code(ctx, facts)?;
    let own: Vec<&Stamped<Evidence>> = all.iter().filter(is_it).collect();
    let is_here = |run: &&&Stamped<Evidence>| Some(&run.value.tree) == code;
    let proves = |run: &&&Stamped<Evidence>| run.value.proves();
    let here = own.iter().rev().filter(is_here);
    // A kind may have several commands: each of them is a run of it.
    let passed = here.clone().find(proves).map(|run| (Run::Passed, run));
    let failed = here.clone().next().map(|run| (Run::Failed, run));
    let elsewhere = own.last().map(|run| (Run::Elsewhere, run));
    let newest = passed.or(failed).or(elsewhere);
    let seen = newest.map_or(Seen::NoRun, |(how, run)| Seen::Ran {
        how,
        at: run.signed.at.clone(),
    });
    let key = check.map_or(name, |check| check.id.as_str()).to_lowercase();
    let before = facts.state.passed.get(&key).copied();
    let first = own.iter().filter(|run| run.value.proves());
    let first = first.map(|run| run.seq).chain(before).min();
    Ok((seen, first))
}
