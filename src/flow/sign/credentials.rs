//! Credentials of the people behind a session's approvals: their signatures, their other names, and the part that they
//! took.

use super::super::archive::UNARCHIVE;
use super::super::context::Context;
use super::super::upstream;
use super::Judge;
use loopx_base::failure::Result;
use loopx_base::id::{Oid, Person};
use loopx_git::{CommitInfo, Remerge, Repo};
use loopx_rules::gate;
use loopx_rules::gate::{Credentials, Proofs, counted, taken, unsigned};
use loopx_rules::op::{Event, Evidence, Operation, Role};
use loopx_rules::policy::Policy;
use loopx_rules::replay;
use loopx_rules::session::{Approval, Stamped, State};
use loopx_rules::signature::{Checked, Signatures, bases};
use loopx_rules::stage::{Stage, Transition};
use loopx_store::{Session, SignatureFiles, Snapshot};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

/// Depth of the look at signatures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Signatures that a gate that lies ahead may rest on.
    Ahead,
    /// Every signature that can be shown.
    Everything,
}

/// The credentials of a session as it is stored, for its gates and its views. The worktree's mailmap
/// counts beside the trusted one: more names can only make people the same.
pub(crate) fn gather(
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
    let wanted = wanted(state, depth);
    let is_late = matches!(state.stage, Stage::Review | Stage::Done);
    let by = || wanted.iter().flat_map(|approval| &approval.by);
    let mut people: Vec<&Person> = by()
        .flat_map(|by| std::iter::once(&by.signed.by).chain(&by.committer))
        .collect();
    people.extend(actor);
    people.extend(state.verdict.as_ref().map(|verdict| &verdict.signed.by));
    let mut credentials = Credentials {
        aliases: aliases(&judge, people, |who| Ok(vec![repo.canonical(who)?]))?,
        ..Credentials::default()
    };
    let mut ops: Vec<&str> = by().map(|by| by.op.as_str()).collect();
    if depth == Depth::Everything || is_late {
        ops.extend(state.verdict.as_ref().map(|verdict| verdict.op.as_str()));
    }
    // What was taken back is signed too, and stands in no state. Where nobody has a key, no signature holds.
    let all = policy.trust.signers.is_some() && (depth == Depth::Everything || is_late);
    // Where keys count, whoever built has to be known by theirs.
    let by_keys = policy.counts_keys() && is_late;
    let asks = by_keys || policy.asks_signatures() && rests_on_more(policy, state);
    let files = if ops.is_empty() && !all && !asks {
        BTreeMap::new()
    } else {
        snapshot.signatures(session)?
    };
    let operations = if files.is_empty() && !asks {
        Vec::new()
    } else {
        snapshot.operations(session)?
    };
    let bases = bases(state, &operations);
    if !files.is_empty() {
        let is_told = operations.iter().any(|op| op.said().is_some());
        let is_wanted = |op: &Operation| {
            let is_word = ops.contains(&op.op.as_str());
            is_word || is_told && is_spoken(op) || asks && is_asked(policy, op)
        };
        for op in replay::in_order(&operations) {
            if (is_wanted(op) || depth == Depth::Everything)
                && let Some(checked) = judge.check(repo, (state, &bases), op, &files)?
            {
                credentials.signatures.insert(op.op.clone(), checked);
            }
        }
        credentials.taken = taken(&operations, policy, &credentials);
    }
    credentials.unsigned = unsigned(&operations, state, policy, &credentials);
    credentials.evidence = counted(&operations, policy, &credentials);
    if asks_who_took_part(policy, state) {
        let commits = own_commits(ctx, policy, state)?;
        credentials.participants =
            participants(repo, &judge, state, &commits, |who| repo.canonical(who))?;
        let signed = (operations.as_slice(), &files);
        let rests = rests_on(repo, state, commits)?;
        let into = &mut credentials;
        prove(repo, policy, &judge, state, signed, &rests, into)?;
    }
    Ok(credentials)
}

/// The approvals that are looked at.
fn wanted(state: &State, depth: Depth) -> Vec<&Approval> {
    let is_wanted = |approval: &&Approval| {
        depth == Depth::Everything
            || approval.armed
            || approval.transition == Transition::ReviewToDone
    };
    let all = state.approvals.values().filter(is_wanted);
    all.chain(amended(state)).collect()
}

/// Policy asks for somebody independent at the gate that lies ahead, or asked for that at the last gate.
fn asks_who_took_part(policy: &Policy, state: &State) -> bool {
    let ahead = Transition::ALL
        .into_iter()
        .any(|t| t.from() == state.stage && policy.asks_independence(t));
    ahead || state.stage == Stage::Done && policy.asks_independence(Transition::ReviewToDone)
}

/// The approvals of what the build goes by instead of the plan's own list.
fn amended(state: &State) -> impl Iterator<Item = &Approval> {
    state.amended().map(|(_, one)| &one.approval)
}

/// Proofs by keys of those who made the commits of a session and took part in its build, whatever its stage.
pub(crate) fn proofs(
    ctx: &Context,
    policy: &Policy,
    snapshot: &Snapshot<'_>,
    session: &Session,
) -> Result<Proofs> {
    let (repo, state) = (&ctx.repo, &session.state);
    let mut credentials = Credentials::default();
    if policy.counts_keys() {
        let commits = own_commits(ctx, policy, state)?;
        let rests = rests_on(repo, state, commits)?;
        let files = snapshot.signatures(session)?;
        let operations = snapshot.operations(session)?;
        let signed = (operations.as_slice(), &files);
        let judge = Judge::new(policy)?;
        prove(
            repo,
            policy,
            &judge,
            state,
            signed,
            &rests,
            &mut credentials,
        )?;
    }
    Ok(credentials.proofs.unwrap_or_default())
}

/// The runs that somebody with a role signed.
pub(crate) fn runs_by(
    ctx: &Context,
    policy: &Policy,
    (snapshot, session): (&Snapshot<'_>, &Session),
    role: &str,
) -> Result<Vec<Stamped<Evidence>>> {
    let files = snapshot.signatures(session)?;
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let judge = Judge::new(policy)?;
    let operations = snapshot.operations(session)?;
    let bases = bases(&session.state, &operations);
    let mut signatures = Signatures::new();
    let is_run = |op: &&Operation| matches!(op.event(), Some(Event::Ran { .. }));
    for op in operations.iter().filter(is_run) {
        let checked = judge.check(&ctx.repo, (&session.state, &bases), op, &files)?;
        signatures.extend(checked.map(|checked| (op.op.clone(), checked)));
    }
    let may = |names: &[Person]| policy.is_in_role(role, names);
    Ok(gate::runs_by(&operations, &signatures, may))
}

/// Commits of a session's own whose keys matter at its stage: at done, the commits that the verdict is about.
fn rests_on(repo: &Repo, state: &State, commits: Vec<Oid>) -> Result<Vec<Oid>> {
    match state.stage {
        Stage::Done => reviewed(repo, state, &commits),
        _ => Ok(commits),
    }
}

/// Tells whether gates may rest on records besides approvals and verdicts whose signatures policy asks for.
fn rests_on_more(policy: &Policy, state: &State) -> bool {
    let raised = [
        state.clarify.extra_rounds,
        state.plan.extra_iterations,
        state.build.extra_iterations,
    ];
    let is_proven = !policy.evidence.by.is_empty() && !state.evidence.is_empty();
    is_proven || !state.build.waivers.is_empty() || raised.iter().any(|more| *more > 0)
}

/// Tells whether an operation is somebody's word that can be taken back, or one that takes a word back.
fn is_spoken(op: &Operation) -> bool {
    let is_word = matches!(
        op.event(),
        Some(Event::Approved { .. } | Event::Reviewed { .. })
    );
    is_word || op.said().is_some()
}

/// Tells whether policy may ask for the signature of an operation that is neither approval nor verdict.
fn is_asked(policy: &Policy, op: &Operation) -> bool {
    match op.event() {
        Some(Event::Waived { .. } | Event::Extended { .. }) => true,
        Some(Event::Ran { .. }) => !policy.evidence.by.is_empty(),
        _ => false,
    }
}

/// Adds the proofs by keys of those who made some commits and took part in the build, where policy counts keys.
fn prove(
    repo: &Repo,
    policy: &Policy,
    judge: &Judge,
    state: &State,
    (operations, files): (&[Operation], &SignatureFiles),
    commits: &[Oid],
    credentials: &mut Credentials,
) -> Result<()> {
    if !policy.counts_keys() {
        return Ok(());
    }
    let bases = bases(state, operations);
    let mut proofs = Proofs::default();
    let mut found: Vec<(Role, Checked)> = Vec::new();
    let remerge = OnceCell::new();
    for commit in commits {
        let info = repo.commit_info(commit)?;
        if is_clean_merge(repo, &remerge, &info)? {
            continue;
        }
        let checked = judge.check_commit(repo, &info)?;
        proofs.commit(commit, &info.committer, checked.as_ref());
        found.extend(checked.map(|checked| (Role::Committer, checked)));
    }
    proofs.steps(operations, state, |op| {
        let checked = judge.check(repo, (state, &bases), op, files)?;
        found.extend(checked.clone().map(|checked| (Role::Builder, checked)));
        Ok(checked)
    })?;
    for (role, checked) in found.iter().filter(|(_, checked)| checked.holds()) {
        for email in checked.signer.iter().flat_map(|signer| &signer.principals) {
            let person = Person {
                name: String::new(),
                email: email.clone(),
            };
            if !credentials.participants.contains(&(*role, person.clone())) {
                credentials.participants.push((*role, person));
            }
        }
    }
    credentials.proofs = Some(proofs);
    Ok(())
}

/// Tells whether a merge has nothing that its parents do not merge to: whoever made such a merge brought nothing.
fn is_clean_merge(repo: &Repo, remerge: &OnceCell<Remerge>, commit: &CommitInfo) -> Result<bool> {
    if commit.parents.len() != 2 {
        return Ok(false);
    }
    let made = match remerge.get() {
        Some(made) => made,
        None => {
            let made = Remerge::new(repo)?;
            remerge.get_or_init(|| made)
        }
    };
    let strays = made.strays(commit)?;
    Ok(strays.paths.is_empty() && strays.conflicts.is_empty())
}

/// Commits, of those given, that a session's verdict is about; all of them where there is no verdict.
pub(crate) fn reviewed(repo: &Repo, state: &State, commits: &[Oid]) -> Result<Vec<Oid>> {
    let verdict = state.verdict.as_ref();
    let head = match verdict.and_then(|verdict| verdict.value.head.as_ref()) {
        Some(head) if repo.contains(head)? => head,
        _ => return Ok(commits.to_vec()),
    };
    let mut found = Vec::new();
    for commit in commits {
        if repo.is_ancestor(commit, head)? {
            found.push(commit.clone());
        }
    }
    Ok(found)
}

/// Commits that a session answers for, as `verify` sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Commits<'a> {
    /// Commits whose makers took part.
    pub own: &'a [Oid],
    /// Commits that the session's verdict rests on: policy may ask whose key made them.
    pub rests: &'a [Oid],
}

/// The credentials behind the operations of a session, as `verify` judges them: by objects alone.
pub(crate) fn behind(
    repo: &Repo,
    policy: &Policy,
    state: &State,
    operations: &[Operation],
    files: &SignatureFiles,
    commits: Commits<'_>,
) -> Result<Credentials> {
    let judge = Judge::new(policy)?;
    let people = operations
        .iter()
        .flat_map(|op| std::iter::once(&op.by).chain(&op.committer));
    let mut credentials = Credentials {
        aliases: aliases(&judge, people, |_| Ok(Vec::new()))?,
        ..Credentials::default()
    };
    let bases = bases(state, operations);
    for op in replay::in_order(operations) {
        if loopx_rules::signature::role(op).is_some()
            && let Some(checked) = judge.check(repo, (state, &bases), op, files)?
        {
            credentials.signatures.insert(op.op.clone(), checked);
        }
    }
    credentials.taken = taken(operations, policy, &credentials);
    credentials.unsigned = unsigned(operations, state, policy, &credentials);
    credentials.evidence = counted(operations, policy, &credentials);
    credentials.participants =
        participants(repo, &judge, state, commits.own, |who| Ok(who.clone()))?;
    let signed = (operations, files);
    prove(
        repo,
        policy,
        &judge,
        state,
        signed,
        commits.rests,
        &mut credentials,
    )?;
    Ok(credentials)
}

/// The commits of the bound branch that are the session's own.
pub(crate) fn own_commits(ctx: &Context, policy: &Policy, state: &State) -> Result<Vec<Oid>> {
    let repo = &ctx.repo;
    // A branch that was merged may have gone by now: then the review is what is left of it.
    let head = match &state.branch {
        Some(_) if upstream::is_missing(ctx, state)? => None,
        Some(_) => upstream::bound_head(ctx, state)?,
        None => repo.head()?.commit,
    };
    let Some(head) = head else {
        return Ok(Vec::new());
    };
    let target = upstream::target_of(ctx, state, policy)?;
    Ok(upstream::shown(ctx, state, target, policy, &head)?
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

/// People who took part in some commits and in the build of a session, under every name.
pub(crate) fn participants(
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
    let without_trace = taken_back_archives(repo, commits)?;
    for commit in commits.iter().filter(|id| !without_trace.contains(id)) {
        for (role, person) in repo.people(commit)? {
            note(role, person)?;
        }
    }
    for builder in &state.build.builders {
        note(Role::Builder, builder.clone())?;
    }
    Ok(found)
}

/// Archives among some commits that another one of them takes back byte for byte, and the commits that do. A command
/// makes both, and together they change nothing, so that whoever ran it took no part by it.
fn taken_back_archives<'c>(repo: &Repo, commits: &'c [Oid]) -> Result<BTreeSet<&'c Oid>> {
    let mut found = BTreeSet::new();
    for id in commits {
        let taking_back = repo.commit_info(id)?;
        let undone = taking_back.trailer("Loopx-Undoes");
        let [undone] = undone.as_slice() else {
            continue;
        };
        let archive = commits.iter().find(|one| one.as_str() == *undone);
        // A commit that takes back what took back brings that to the tree again.
        let Some(archive) = archive.filter(|archive| !found.contains(archive)) else {
            continue;
        };
        let archived = repo.commit_info(archive)?;
        let says = |info: &CommitInfo, event: &str| info.trailer("Loopx-Event") == [event];
        if says(&taking_back, UNARCHIVE)
            && says(&archived, "archive")
            && repo.is_ancestor(archive, id)?
            && is_inverse(repo, &archived, &taking_back)?
        {
            found.extend([archive, id]);
        }
    }
    Ok(found)
}

/// Tells whether a commit puts back all that another one changed, and changes nothing else.
fn is_inverse(repo: &Repo, done: &CommitInfo, undone: &CommitInfo) -> Result<bool> {
    let ([below], [above]) = (done.parents.as_slice(), undone.parents.as_slice()) else {
        return Ok(false);
    };
    let (before, after) = (&repo.commit_info(below)?.tree, &done.tree);
    let (from, to) = (&repo.commit_info(above)?.tree, &undone.tree);
    let paths = repo.changed_paths(Some(before), after)?;
    if paths != repo.changed_paths(Some(from), to)? {
        return Ok(false);
    }
    for path in &paths {
        let is_put_back = repo.entry_at(before, path)? == repo.entry_at(to, path)?
            && repo.entry_at(after, path)? == repo.entry_at(from, path)?;
        if !is_put_back {
            return Ok(false);
        }
    }
    Ok(true)
}
