//! The approvals by which a session let commits in, read from the loopx branch and judged by the
//! policy of the base. The one place where `verify`, pre-push and the server ask who said yes.

use super::Sessions;
use crate::flow::context::Context;
use crate::flow::moves::Moves;
use crate::flow::{policy_checks, sign, transaction};
use loopx_base::failure::{Blocker, Result};
use loopx_base::id::{Oid, OpId, Person, SessionId};
use loopx_git::Repo;
use loopx_rules::artifact::Artifact;
use loopx_rules::change_pack::CHECK_FILES;
use loopx_rules::checks::Check;
use loopx_rules::contract::Contract;
use loopx_rules::gate::{Credentials, PartKey};
use loopx_rules::op::Operation;
use loopx_rules::policy::Policy;
use loopx_rules::range_rules::approvals::Stood;
use loopx_rules::range_rules::{Claim, Commit, Finding, Landed, approvals};
use loopx_rules::session::{Ending, State};
use loopx_rules::signature::Basis;
use loopx_rules::stage::Transition;
use loopx_rules::texts::Texts;
use loopx_store::{Lines, SignatureFiles};
use serde::Serialize;
use std::collections::BTreeSet;

/// Commits that are a session's own.
pub(super) struct Own {
    /// Set when the branch is the session's.
    pub(super) bound: bool,
    /// Commits that the session's verdict brings to the target, where it lands.
    pub(super) reviewed: Option<Vec<Oid>>,
    /// Paths that the session changes on the target though none of these commits does.
    pub(super) strays: Vec<String>,
}

/// Judges every approval that moved a session, as its operations have it; findings are put down to the
/// newest of the commits, which are those that were let in, by this session where it is `own`. `tips` are what is
/// on the target.
pub(super) fn judge(
    (ctx, policy): (&Context, &Policy),
    sessions: &Sessions<'_>,
    session: &SessionId,
    own: &Own,
    commits: &[Commit],
    tips: &[Oid],
) -> Result<(Vec<Finding>, Vec<PersonRow>)> {
    let Some(newest) = commits.first() else {
        return Ok((Vec::new(), Vec::new()));
    };
    let (operations, signatures) = sessions.signed_operations(session)?;
    if operations.is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    let all = commits
        .iter()
        .filter(|commit| is_own(commit, session, own.bound))
        .map(|commit| &commit.id)
        .chain(own.reviewed.iter().flatten());
    let all: BTreeSet<Oid> = all.cloned().collect();
    let words = Words {
        session,
        operations: &operations,
        signatures: &signatures,
        commits: &Vec::from_iter(all),
        reviewed: own.reviewed.as_deref(),
        strays: &own.strays,
    };
    let (found, people) = words.judged(ctx, policy, tips, own.reviewed.is_some())?;
    let found = found.into_iter();
    Ok((
        found.map(|blocker| Finding::of(newest, blocker)).collect(),
        people,
    ))
}

/// Records of a session, and the commits that are its own.
pub(in crate::flow) struct Words<'a> {
    pub(in crate::flow) session: &'a SessionId,
    pub(in crate::flow) operations: &'a [Operation],
    pub(in crate::flow) signatures: &'a SignatureFiles,
    pub(in crate::flow) commits: &'a [Oid],
    /// Commits that the session's verdict rests on, where somebody knows better than the verdict's head.
    pub(in crate::flow) reviewed: Option<&'a [Oid]>,
    /// Paths that the session changes on its target though none of its commits does.
    pub(in crate::flow) strays: &'a [String],
}

impl Words<'_> {
    /// Findings by the policy of a target on the approvals that moved the session.
    pub(in crate::flow) fn faults(
        &self,
        ctx: &Context,
        policy: &Policy,
        tips: &[Oid],
    ) -> Result<Vec<Blocker>> {
        Ok(self.judged(ctx, policy, tips, true)?.0)
    }

    /// The paths that the session changes, where policy demands a profile for paths.
    fn paths(&self, repo: &Repo, policy: &Policy, state: &State) -> Result<Vec<String>> {
        let mut found = BTreeSet::new();
        if !policy.profiles.demand.is_empty() {
            found.extend(archived(repo, policy, state)?);
            found.extend(policy_checks::changed(repo, self.commits)?);
            found.extend(self.strays.iter().cloned());
        }
        Ok(found.into_iter().collect())
    }

    /// The checks of policy that the reviewed commits have to pass, and those that the session's own policy has. Where
    /// the commits are not here, nobody knows what they change, and every check is asked for.
    fn policy_checks(
        &self,
        ctx: &Context,
        policy: &Policy,
        state: &State,
        rests: &[Oid],
    ) -> Result<(Vec<Check>, Vec<Check>)> {
        if policy.checks.is_empty() {
            return Ok((Vec::new(), Vec::new()));
        }
        let known = ctx.policy_if_there(state)?.0.all_checks();
        let head = state.verdict.as_ref();
        let head = head.and_then(|verdict| verdict.value.head.as_ref());
        let is_here = match head {
            Some(head) => ctx.repo.contains(head)?,
            None => false,
        };
        if !is_here {
            return Ok((policy.all_checks(), known));
        }
        let paths = if policy.asks_checks_by_path() {
            let mut paths = policy_checks::changed(&ctx.repo, rests)?;
            paths.extend(archived(&ctx.repo, policy, state)?);
            paths.extend(self.strays.iter().cloned());
            paths
        } else {
            BTreeSet::new()
        };
        let asked = policy.checks_of(&Vec::from_iter(paths))?;
        Ok((asked, known))
    }

    /// The moves that the session stands on, and that the policy asks more of than their gates asked.
    fn light(
        &self,
        ctx: &Context,
        policy: &Policy,
        state: &State,
        (all, paths): (&[approvals::Used], &[String]),
        (credentials, tip): (&Credentials, Option<&Oid>),
    ) -> Result<Vec<Blocker>> {
        let moves = Moves::new(ctx, state, self.operations);
        let moved = tip.filter(|_| {
            let asked = ctx.policy_if_there(state);
            asked.is_ok_and(|(asked, _)| asked != *policy)
        });
        let mut found = Vec::new();
        for used in all.iter().filter(|used| used.stands) {
            let profile = approvals::asked_profile(policy, state, used, paths)?;
            let lacking = moves.lacking(used, policy, profile.as_ref(), credentials)?;
            let lacking = lacking.iter();
            let finding = |one| approvals::made_without(state, used.transition, one, moved);
            found.extend(lacking.map(finding));
        }
        Ok(found)
    }

    /// Faults, and everybody that the session rests on. A move that was taken back, or made once more later, is judged by what its gate asked then, as far as the target, whose tips these are, asked
    /// that once: whoever was let in honestly did no wrong when policy moved on.
    fn judged(
        &self,
        ctx: &Context,
        policy: &Policy,
        tips: &[Oid],
        lands: bool,
    ) -> Result<(Vec<Blocker>, Vec<PersonRow>)> {
        let (repo, session) = (&ctx.repo, self.session);
        let state = loopx_store::replay(repo, session, self.operations)?;
        // What a forge makes of the reviewed commits, and what comes after them, is held against the reviewed tree.
        let rests = match self.reviewed {
            Some(reviewed) => reviewed.to_vec(),
            None => sign::reviewed(repo, &state, self.commits)?,
        };
        let commits = sign::Commits {
            own: self.commits,
            rests: &rests,
        };
        let (operations, signatures) = (self.operations, self.signatures);
        let credentials = sign::behind(repo, policy, &state, operations, signatures, commits)?;
        let all = approvals::used(session, self.operations, &Lines::of(repo))?;
        let mut found = approvals::void(session, &state, &all);
        found.extend(approvals::unknown(session, &state));
        // What rests on a void approval does not fit either: that is said already.
        if found.is_empty() {
            found.extend(approvals::contested(session, &state));
        }
        let paths = self.paths(repo, policy, &state)?;
        found.extend(approvals::profile(policy, session, &state, &all, &paths)?);
        // A branch that is under way may go to the server before its moves are made again.
        if lands {
            let by = (&credentials, tips.first());
            found.extend(self.light(ctx, policy, &state, (&all, &paths), by)?);
        }
        found.extend(foreign_scope(repo, &state, &all)?);
        found.extend(approvals::taken(session, &credentials));
        found.extend(approvals::unsigned(session, &credentials));
        let people = people(session, &all, &credentials);
        let (policy_checks, known) = self.policy_checks(ctx, policy, &state, &rests)?;
        for used in all {
            let mut checks = Texts::default();
            for artifact in CHECK_FILES {
                if let Some(blob) = used.files.get(&artifact)
                    && (!policy.evidence.by.is_empty() || !policy_checks.is_empty())
                {
                    let text = String::from_utf8_lossy(&repo.read_blob(blob)?).into_owned();
                    checks.insert(artifact, text);
                }
            }
            let stood = Stood {
                state: &state,
                texts: checks,
                policy_checks: &policy_checks,
                known: &known,
            };
            found.extend(approvals::unproven(
                policy,
                session,
                &used,
                &stood,
                &credentials,
            ));
            let earlier = if used.stands {
                None
            } else {
                earlier(ctx, policy, used.base.as_ref(), tips)?
            };
            let policy = earlier.as_ref().unwrap_or(policy);
            found.extend(approvals::judge(
                policy,
                session,
                &used,
                &credentials,
                |files| repo.tree_id(files.iter().map(|(artifact, blob)| (artifact.path(), blob))),
            )?);
        }
        Ok((found, people))
    }
}

/// The finding about a session that was built, at some time, in another scope than the plan had that was approved then:
/// the record of the move says it, and is no word of whoever approved.
fn foreign_scope(repo: &Repo, state: &State, all: &[approvals::Used]) -> Result<Option<Blocker>> {
    let builds = all
        .iter()
        .filter(|used| used.transition == Transition::PlanToBuild);
    for used in builds {
        let Some(plan) = used.files.get(&Artifact::Plan) else {
            continue;
        };
        let text = String::from_utf8_lossy(&repo.read_blob(plan)?).into_owned();
        let approved = Contract::read(&text).unwrap_or_default();
        let approved = approved.boundary();
        let now = used.stands.then_some(state.boundary());
        let mut scopes = [Some(used.boundary()), now].into_iter().flatten();
        if let Some(other) = scopes.find(|scope| *scope != approved) {
            return Ok(Some(approvals::other_scope(&state.id, other, approved)));
        }
    }
    Ok(None)
}

/// The specs that the archive of a session changes: they are its change too.
fn archived(repo: &Repo, policy: &Policy, state: &State) -> Result<Vec<String>> {
    let mut texts = Texts::default();
    transaction::read_texts(repo, state, &mut texts)?;
    Ok(policy_checks::archived(policy, &texts))
}

/// The policy of a base that the target has, with the keys that count now.
fn earlier(
    ctx: &Context,
    policy: &Policy,
    base: Option<&Oid>,
    tips: &[Oid],
) -> Result<Option<Policy>> {
    let Some(base) = base else {
        return Ok(None);
    };
    if !ctx.repo.contains(base)? {
        return Ok(None);
    }
    for tip in tips {
        if ctx.repo.is_ancestor(base, tip)? {
            let mut found = super::policy_at(ctx, Some(base))?;
            found.trust = policy.trust.clone();
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Person whose word or work a session rests on.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct PersonRow {
    pub session: SessionId,
    /// `approver of plan->build`, `reviewer`, `committer`, `builder`, ...
    pub role: String,
    pub person: String,
    /// Proof of who the person is: a key, or a claim alone.
    pub proof: Basis,
}

/// People that a session rests on, each once in each role.
fn people(
    session: &SessionId,
    used: &[approvals::Used],
    credentials: &Credentials,
) -> Vec<PersonRow> {
    let mut found: Vec<PersonRow> = Vec::new();
    let mut note = |role: String, person: &Person, proof: Basis| {
        let row = PersonRow {
            session: session.clone(),
            role,
            person: person.to_string(),
            proof,
        };
        // A principal of a key stands for somebody who is named, too.
        if !person.name.is_empty() && !found.contains(&row) {
            found.push(row);
        }
    };
    let basis = |op: &OpId| Basis::of(credentials.signatures.get(op));
    for one in used {
        for by in &one.approval.by {
            let role = format!("approver of {}", one.transition);
            note(role, &by.signed.by, basis(&by.op));
        }
        if let Some(verdict) = &one.verdict {
            note(
                "reviewer".to_owned(),
                &verdict.signed.by,
                basis(&verdict.op),
            );
        }
    }
    let proofs = credentials.proofs.as_ref();
    for (role, person) in &credentials.participants {
        let is_theirs = |key: &PartKey| key.role == *role && key.person == *person;
        let unproven = proofs.is_some_and(|proofs| {
            let mut all = proofs.unproven.iter();
            all.any(|one| one.role == *role && one.person == *person)
        });
        let proven = proofs.is_some_and(|proofs| proofs.keys.iter().any(is_theirs));
        let proof = if proven && !unproven {
            Basis::Signed
        } else {
            Basis::Claimed
        };
        note(role.to_string(), person, proof);
    }
    found
}

/// Tells whether whoever made a commit took part in a session: the commit names the session, or nothing else on the
/// session's own branch. A merge counts where it brings something of its own.
fn is_own(commit: &Commit, session: &SessionId, bound: bool) -> bool {
    // What a command makes of the reviewed delta, anybody may run, also who reviewed it.
    let is_archive = |state: &State| matches!(&state.ending, Some(Ending::Archived { commit: Some(id), .. }) if *id == commit.id);
    if commit.landed == Landed::Exempt {
        return false;
    }
    match &commit.claim {
        Claim::States(states) => states.iter().any(|state| state.id == *session),
        Claim::Session(state) => state.id == *session && !is_archive(state),
        Claim::Nothing | Claim::Fault(_) => {
            bound && (!commit.is_merge || !commit.paths.is_empty() || !commit.resolved.is_empty())
        }
    }
}
