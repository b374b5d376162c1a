//! What is known of the people behind a session's approvals: their signatures, their other names, and
//! the part that they took.

use super::super::context::Context;
use super::super::upstream;
use super::Judge;
use crate::core::failure::Result;
use crate::core::gate::{Credentials, taken};
use crate::core::id::{Oid, Person};
use crate::core::op::{Operation, Role};
use crate::core::policy::Policy;
use crate::core::replay;
use crate::core::session::{Approval, State};
use crate::core::stage::{Stage, Transition};
use crate::git::Repo;
use crate::store::{Session, SignatureFiles, Snapshot};
use std::collections::BTreeMap;

/// How much is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// What a gate that lies ahead may rest on.
    Ahead,
    /// Everything that can be shown.
    Everything,
}

/// The credentials of a session as it is stored, for its gates and its views. The worktree's mailmap
/// counts beside the trusted one: more names can only make people the same.
pub fn gather(
    ctx: &Context,
    policy: &Policy,
    snapshot: &Snapshot<'_>,
    session: &Session,
    depth: Depth,
    actor: Option<&Person>,
) -> Result<Credentials> {
    let repo = &ctx.repo;
    let state = &session.state;
    let judge = Judge::new(policy)?;
    let wanted: Vec<&Approval> = state
        .approvals
        .values()
        .filter(|approval| {
            depth == Depth::Everything
                || approval.armed
                || approval.transition == Transition::ReviewToDone
        })
        .collect();
    let mut people: Vec<&Person> = wanted
        .iter()
        .flat_map(|approval| &approval.by)
        .flat_map(|by| std::iter::once(&by.signed.by).chain(&by.committer))
        .collect();
    people.extend(actor);
    people.extend(state.verdict.as_ref().map(|verdict| &verdict.signed.by));
    let mut credentials = Credentials {
        aliases: aliases(&judge, people, |who| Ok(vec![repo.canonical(who)?]))?,
        ..Credentials::default()
    };
    let mut ops: Vec<&str> = wanted
        .iter()
        .flat_map(|approval| &approval.by)
        .map(|by| by.op.as_str())
        .collect();
    if depth == Depth::Everything || matches!(state.stage, Stage::Review | Stage::Done) {
        ops.extend(state.verdict.as_ref().map(|verdict| verdict.op.as_str()));
    }
    // What was taken back is signed too, and stands in no state. Where nobody has a key, no signature holds.
    let is_late = matches!(state.stage, Stage::Review | Stage::Done);
    let all = policy.trust.signers.is_some() && (depth == Depth::Everything || is_late);
    let files = match ops.is_empty() && !all {
        true => BTreeMap::new(),
        false => snapshot.signatures(session)?,
    };
    if !files.is_empty() {
        let operations = snapshot.operations(session)?;
        let is_told = operations.iter().any(|op| op.said().is_some());
        for op in replay::in_order(&operations) {
            if (ops.contains(&op.op.as_str()) || is_told)
                && let Some(bytes) = files.get(&op.file_name())
            {
                let checked = judge.check(repo, state, op, bytes.as_deref())?;
                credentials.signatures.insert(op.op.clone(), checked);
            }
        }
        credentials.taken = taken(&operations, policy, &credentials);
    }
    let matters = Transition::ALL
        .into_iter()
        .any(|t| t.from() == state.stage && policy.asks_independence(t));
    let done = state.stage == Stage::Done && policy.asks_independence(Transition::ReviewToDone);
    if matters || done {
        let commits = own_commits(ctx, policy, state)?;
        credentials.participants =
            participants(repo, &judge, state, &commits, |who| repo.canonical(who))?;
    }
    Ok(credentials)
}

/// The credentials behind the operations of a session, as `verify` judges them: by objects alone.
pub fn behind(
    repo: &Repo,
    policy: &Policy,
    state: &State,
    operations: &[Operation],
    files: &SignatureFiles,
    commits: &[Oid],
) -> Result<Credentials> {
    let judge = Judge::new(policy)?;
    let people = operations
        .iter()
        .flat_map(|op| std::iter::once(&op.by).chain(&op.committer));
    let mut credentials = Credentials {
        aliases: aliases(&judge, people, |_| Ok(Vec::new()))?,
        ..Credentials::default()
    };
    for op in replay::in_order(operations) {
        if crate::core::signature::role(op).is_some()
            && let Some(bytes) = files.get(&op.file_name())
        {
            let checked = judge.check(repo, state, op, bytes.as_deref())?;
            credentials.signatures.insert(op.op.clone(), checked);
        }
    }
    credentials.taken = taken(operations, policy, &credentials);
    if Transition::ALL
        .into_iter()
        .any(|transition| policy.asks_independence(transition))
    {
        credentials.participants =
            participants(repo, &judge, state, commits, |who| Ok(who.clone()))?;
    }
    Ok(credentials)
}

/// The commits of the bound branch that are the session's own.
pub fn own_commits(ctx: &Context, policy: &Policy, state: &State) -> Result<Vec<Oid>> {
    let repo = &ctx.repo;
    // A branch that was merged may have gone by now: then the review is what is left of it.
    let head = match &state.branch {
        Some(_) if upstream::missing(ctx, state)?.is_some() => None,
        Some(_) => upstream::bound_head(ctx, state)?,
        None => repo.head()?.commit,
    };
    let Some(head) = head else {
        return Ok(Vec::new());
    };
    let target = upstream::target(ctx, state.branch.as_deref(), policy)?;
    Ok(upstream::shown(repo, state, target, policy, &head)?
        .own
        .commits)
}

fn aliases<'p>(
    judge: &Judge,
    people: impl IntoIterator<Item = &'p Person>,
    more: impl Fn(&Person) -> Result<Vec<Person>>,
) -> Result<BTreeMap<Person, Vec<Person>>> {
    let mut found = BTreeMap::new();
    for person in people {
        if !found.contains_key(person) {
            let mut names = vec![judge.canonical(person)?];
            names.extend(more(person)?);
            names.retain(|name| name != person);
            found.insert(person.clone(), names);
        }
    }
    Ok(found)
}

/// Everybody who took part in some commits and in the build of a session, under every name.
pub fn participants(
    repo: &Repo,
    judge: &Judge,
    state: &State,
    commits: &[Oid],
    here: impl Fn(&Person) -> Result<Person>,
) -> Result<Vec<(Role, Person)>> {
    let mut found: Vec<(Role, Person)> = Vec::new();
    let mut note = |role: Role, person: Person| -> Result<()> {
        for name in [judge.canonical(&person)?, here(&person)?, person] {
            if !found.iter().any(|(r, p)| *r == role && *p == name) {
                found.push((role, name));
            }
        }
        Ok(())
    };
    for commit in commits {
        for (role, person) in repo.people(commit)? {
            note(role, person)?;
        }
    }
    for builder in &state.build.builders {
        note(Role::Builder, builder.clone())?;
    }
    Ok(found)
}
