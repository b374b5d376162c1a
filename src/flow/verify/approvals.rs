//! The approvals by which a session let commits in, read from the loopx branch and judged by the
//! policy of the base. The one place where `verify`, pre-push and the server ask who said yes.

use super::Sessions;
use crate::core::artifact::Artifact;
use crate::core::failure::Result;
use crate::core::gate::{Credentials, PartKey};
use crate::core::id::{Oid, OpId, Person, SessionId};
use crate::core::policy::Policy;
use crate::core::range_policy::{Claim, Commit, Finding, approvals};
use crate::core::signature::Basis;
use crate::flow::sign;
use crate::git::Repo;
use crate::store::Lines;
use serde::Serialize;
use std::collections::BTreeSet;

/// Which commits are a session's own.
pub(super) struct Own {
    /// The branch is the session's.
    pub(super) bound: bool,
    /// What its verdict brings to the target, where it lands.
    pub(super) reviewed: Option<Vec<Oid>>,
}

/// Judges every approval that moved a session, as its operations have it; findings are put down to the
/// newest of the commits, which are those that were let in, by this session where it is `own`.
pub(super) fn judge(
    repo: &Repo,
    sessions: &Sessions<'_>,
    policy: &Policy,
    session: &SessionId,
    own: &Own,
    commits: &[Commit],
) -> Result<(Vec<Finding>, Vec<PersonRow>)> {
    let Some(newest) = commits.first() else {
        return Ok((Vec::new(), Vec::new()));
    };
    let (operations, signatures) = sessions.signed_operations(session)?;
    if operations.is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    let state = crate::store::replay(repo, session, &operations)?;
    let all = commits
        .iter()
        .filter(|commit| is_own(commit, session, own.bound))
        .map(|commit| &commit.id)
        .chain(own.reviewed.iter().flatten());
    let all: BTreeSet<Oid> = all.cloned().collect();
    let all: Vec<Oid> = all.into_iter().collect();
    // What a forge makes of the reviewed commits, and what comes after them, is held against the reviewed tree.
    let rests = match &own.reviewed {
        Some(reviewed) => reviewed.clone(),
        None => sign::reviewed(repo, &state, &all)?,
    };
    let who = sign::Commits {
        own: &all,
        rests: &rests,
    };
    let credentials = sign::behind(repo, policy, &state, &operations, &signatures, who)?;
    let mut found = Vec::new();
    let all = approvals::used(session, &operations, &Lines::of(repo))?;
    found.extend(approvals::void(session, newest, &state, &all));
    found.extend(approvals::unknown(session, newest, &state));
    found.extend(approvals::taken(session, newest, &credentials));
    found.extend(approvals::unsigned(session, newest, &credentials));
    let people = people(session, &all, &credentials);
    for used in all {
        let slices = match used.files.get(&Artifact::Slices) {
            Some(blob) if !policy.evidence.by.is_empty() => {
                Some(String::from_utf8_lossy(&repo.read_blob(blob)?).into_owned())
            }
            _ => None,
        };
        let rests = (&state, slices);
        found.extend(approvals::unproven(
            policy,
            session,
            (newest, &used),
            rests,
            &credentials,
        ));
        found.extend(approvals::judge(
            policy,
            session,
            newest,
            &used,
            &credentials,
            |files| repo.tree_id(files.iter().map(|(artifact, blob)| (artifact.path(), blob))),
        )?);
    }
    Ok((found, people))
}

/// Somebody whose word or work a session rests on.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct PersonRow {
    pub session: SessionId,
    /// `approver of plan->build`, `reviewer`, `committer`, `builder`, ...
    pub role: String,
    pub person: String,
    /// Whether a key shows who that is.
    pub proof: Basis,
}

/// Everybody that a session rests on, each once in each role.
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
        let proof = match proven && !unproven {
            true => Basis::Signed,
            false => Basis::Claimed,
        };
        note(role.to_string(), person, proof);
    }
    found
}

/// Whether whoever made a commit took part in a session: it names the session, or nothing else on the
/// session's own branch. A merge counts where it brings something of its own.
fn is_own(commit: &Commit, session: &SessionId, bound: bool) -> bool {
    match &commit.claim {
        Claim::States(states) => states.iter().any(|state| state.id == *session),
        Claim::Session(state) => state.id == *session,
        Claim::Nothing | Claim::Fault(_) => {
            bound && (!commit.is_merge || !commit.paths.is_empty() || !commit.resolved.is_empty())
        }
    }
}
