//! Conditions that tasks wait for outside of their list, looked at for whoever asks now: branches, runs, other sessions
//! and the clock. Nothing is looked at that no task waits for, and nothing of it is stored. The rules are in
//! [`loopx_rules::task::world`].

use super::archive::confirmed;
use super::context::Context;
use super::sign;
use super::transaction::Facts;
use loopx_base::failure::Result;
use loopx_base::id::{Oid, Person, SessionId};
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
use std::collections::{BTreeMap, BTreeSet, HashMap};
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
    world.seen = look(snapshot, &asked);
    let here = Here::default();
    for condition in asked {
        if let Condition::Evidence { evidence, role } = &condition {
            let asked = (evidence.as_str(), role.as_deref());
            let (seen, first) = run(ctx, (snapshot, session), (facts, &here), asked)?;
            if let Some(first) = first {
                world.passed.insert(condition.clone(), first);
            }
            world.seen.insert(condition, seen);
        }
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

/// Looks at conditions about branches and sessions, each branch and each session once; at no other ones.
pub(super) fn look<'c>(
    snapshot: &Snapshot<'_>,
    all: impl IntoIterator<Item = &'c Condition>,
) -> BTreeMap<Condition, Seen> {
    let repo = snapshot.repo();
    let all: BTreeSet<&Condition> = all.into_iter().collect();
    let mut branches: BTreeMap<&str, Branch<'_>> = BTreeMap::new();
    let mut sessions: HashMap<&SessionId, Seen> = HashMap::new();
    let mut seen = BTreeMap::new();
    for condition in all {
        let now = match condition {
            Condition::Commit { branch, contains } => {
                let of = branches.entry(branch).or_default();
                of.commits.push((condition, contains));
                continue;
            }
            Condition::Path { branch, path } => {
                let of = branches.entry(branch).or_default();
                of.paths.push((condition, path));
                continue;
            }
            Condition::Session { session, .. } => sessions
                .entry(session)
                .or_insert_with(|| self::session(snapshot, session))
                .clone(),
            Condition::Time { .. } | Condition::Person { .. } | Condition::Evidence { .. } => {
                continue;
            }
        };
        seen.insert(condition.clone(), now);
    }
    for (name, branch) in branches {
        // What cannot be looked at does not hold, and hides nothing else.
        let found = branch.seen(repo, name).unwrap_or_else(|_| {
            let all = branch.all();
            all.map(|one| (one, Seen::Damaged)).collect()
        });
        seen.extend(found.into_iter().map(|(one, seen)| (one.clone(), seen)));
    }
    seen
}

fn session(snapshot: &Snapshot<'_>, id: &SessionId) -> Seen {
    match snapshot.find(id) {
        Ok(Some(mut other)) => {
            let ending = other.state.ending.take();
            let repo = snapshot.repo();
            other.state.ending = ending.map(|ending| confirmed(repo, ending));
            Seen::session(&other.state)
        }
        Ok(None) => Seen::NoSession,
        Err(_) => Seen::Damaged,
    }
}

/// The conditions about a branch.
#[derive(Default)]
struct Branch<'c> {
    /// Each with the commit that the branch is to contain, and with the path.
    commits: Vec<(&'c Condition, &'c String)>,
    paths: Vec<(&'c Condition, &'c String)>,
}

impl<'c> Branch<'c> {
    fn all(&self) -> impl Iterator<Item = &'c Condition> {
        self.commits.iter().chain(&self.paths).map(|(one, _)| *one)
    }

    fn seen(&self, repo: &Repo, name: &str) -> Result<Vec<(&'c Condition, Seen)>> {
        let Some(tip) = tip(repo, name)? else {
            return Ok(self.all().map(|one| (one, Seen::NoBranch)).collect());
        };
        let info = repo.commit_info(&tip)?;
        let at = |has: bool| Seen::Branch {
            has,
            at: info.at.clone(),
        };
        let mut seen = Vec::new();
        let commits = self.commits.iter();
        let commits = commits.map(|(one, text)| (*one, repo.resolve_commit(text).ok()));
        let commits: Vec<(&Condition, Option<Oid>)> = commits.collect();
        let wanted: BTreeSet<Oid> = commits.iter().filter_map(|(_, id)| id.clone()).collect();
        let (reached, whole) = repo.reached(&tip, &wanted);
        for (one, id) in commits {
            let now = match id {
                None => Seen::NoCommit,
                Some(id) if reached.contains(&id) => at(true),
                Some(_) if whole.is_ok() => at(false),
                Some(_) => Seen::Damaged,
            };
            seen.push((one, now));
        }
        for (one, path) in &self.paths {
            let found = repo.entry_at(&info.tree, path.trim_end_matches('/'));
            let now = found.map_or(Seen::Damaged, |entry| at(entry.is_some()));
            seen.push((*one, now));
        }
        Ok(seen)
    }
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
