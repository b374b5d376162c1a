//! Signed approvals and verdicts: made with the key that git signs with, over the operation in its
//! place ([`loopx_rules::signature`]), and checked against the signers of the policy's own commit.
//!
//! A verdict never rests on what the change brings: the signers, the keys that were revoked and the
//! mailmap come with the policy from the base. Nor does it rest on a date that somebody wrote down: a
//! key has to be valid now, by the clock of whoever judges, and at the time that the statement claims.
//! A backdated operation therefore revives no key, and a postdated one borrows none.

mod commits;
mod credentials;
mod judge;

pub(crate) use commits::{is_commit_by, is_signed_by_somebody};
pub(crate) use credentials::{
    Commits, Depth, behind, gather, own_commits, participants, proofs, reviewed, runs_by,
};
pub(crate) use judge::{Judge, moment};
use loopx_base::hint::{command, hint};

use loopx_base::failure::{Blocker, Code, Failure, Result};
use loopx_base::id::Oid;
use loopx_git::Repo;
use loopx_rules::gate;
use loopx_rules::gate::Credentials;
use loopx_rules::op::{Event, Operation, Verdict};
use loopx_rules::policy::{FILE as POLICY_FILE, Policy};
use loopx_rules::session::State;
use loopx_rules::signature;
use loopx_rules::signature::{Checked, NAMESPACE, Place, Statement};

/// Place in which a session's operations are signed: what `base` says of repository and policy.
pub(super) fn place(repo: &Repo, base: Option<&Oid>) -> Result<Place> {
    let nowhere = Place {
        repository: None,
        policy: None,
    };
    let Some(base) = base else {
        return Ok(nowhere);
    };
    // A session that was carried into another repository began where that one has never been.
    if !repo.contains(base)? {
        return Ok(nowhere);
    }
    let tree = repo.commit_info(base)?.tree;
    Ok(Place {
        repository: repo.root_of(base)?,
        policy: repo.entry_at(&tree, POLICY_FILE)?.map(|entry| entry.id),
    })
}

/// Signs an operation that is about to be recorded; gives the bytes of its signature file.
pub(crate) fn sign(repo: &Repo, state: &State, op: &Operation) -> Result<Vec<u8>> {
    if repo.is_shallow() {
        return Err(Failure::refused(
            Code::HistoryShallow,
            "a signature names the first commit of the repository, which this shallow clone does not have",
        )
        .help("git fetch --unshallow"));
    }
    let place = place(repo, state.base.as_ref())?;
    let statement = Statement::of(state, &place, op).ok_or_else(|| {
        Failure::internal(
            Code::OperationUnsignable,
            format!("`{}` is an operation that nobody signs", op.word()),
        )
    })?;
    let payload = statement.to_bytes()?;
    let armour = repo.sign_ssh(NAMESPACE, &payload)?;
    let bytes = signature::file(&payload, &armour);
    // What came back is what will be read: a program that answers with something else is found out here.
    signature::Signed::parse(&bytes, "the signature")?;
    Ok(bytes)
}

/// Word of a person that is about to be recorded: an approval, a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    pub sign: bool,
}

impl Word {
    /// Signs the operation where that is wanted, and refuses what policy would not count afterwards:
    /// an approval that does nothing should not look like one. `before` and `after` are the session
    /// without and with the operation.
    pub(crate) fn settle(
        self,
        repo: &Repo,
        policy: &Policy,
        known: &Credentials,
        (before, after): (&State, &State),
        op: &Operation,
    ) -> Result<Option<Vec<u8>>> {
        let signature = if self.sign {
            Some(sign(repo, before, op)?)
        } else {
            None
        };
        let mut credentials = known.clone();
        if let Some(bytes) = &signature {
            let judge = Judge::new(policy)?;
            let checked = judge.check_file(repo, (before, &[]), op, Some(bytes))?;
            if policy.asks_signatures() {
                require_checkable(&checked)?;
            }
            credentials.signatures.insert(op.op.clone(), checked);
        }
        match op.event() {
            Some(Event::Approved {
                transition, amends, ..
            }) => {
                let approval = match amends {
                    Some(_) => after.amendments.last().map(|one| &one.approval),
                    None => after.approvals.get(&transition.key()),
                };
                let Some(approval) = approval else {
                    return Ok(signature);
                };
                let mut weighed = credentials.weigh(policy, *transition, &approval.by);
                if let Some(mut blocker) = weighed.last_mut().and_then(|last| last.refused.take()) {
                    lead_to_key(&mut blocker, policy, (&credentials, op));
                    return Err(refusal(match amends {
                        Some(_) => gate::of_amendment(policy, blocker),
                        None => blocker,
                    }));
                }
                let people = credentials.people(&weighed);
                weighed.pop();
                if people == credentials.people(&weighed) {
                    return Err(Failure::nothing(
                        Code::ApprovedAlready,
                        format!("the same person, or the same key, has approved {transition} with this content"),
                    )
                    .help(hint!["ask somebody else to run: ", command!("approve --to {}", transition.to())]));
                }
            }
            Some(Event::Reviewed { verdict }) if policy.asks_signed_verdict() => {
                require_verdict(policy, &credentials, (after, op), verdict)?;
            }
            Some(Event::Waived { .. } | Event::Extended { .. }) if policy.asks_signatures() => {
                let checked = credentials.signatures.get(&op.op);
                if let Some(flaw) = gate::flaw(op, checked) {
                    let mut blocker = flaw.blocker();
                    lead_to_key(&mut blocker, policy, (&credentials, op));
                    return Err(refusal(blocker));
                }
            }
            _ => {}
        }
        Ok(signature)
    }
}

/// Refuses a verdict whose signature does not count, and an approval by somebody who took part.
fn require_verdict(
    policy: &Policy,
    credentials: &Credentials,
    (after, op): (&State, &Operation),
    verdict: &Verdict,
) -> Result<()> {
    let checked = credentials.signatures.get(&op.op);
    let said = (&op.by, op.reason.as_ref());
    if let Some(mut blocker) = gate::verdict_signature(policy, said, checked) {
        // Nobody who asked for changes is led to an approval.
        if !verdict.is_approval() {
            blocker.help = "give the verdict again, with --sign".into();
        }
        lead_to_key(&mut blocker, policy, (credentials, op));
        return Err(refusal(blocker));
    }
    let given = after.verdict.as_ref().filter(|given| given.op == op.op);
    let given = given.filter(|_| policy.counts_keys() && verdict.is_approval());
    let lacks = given.and_then(|given| {
        let lacks = gate::reviewer(policy, given, credentials);
        lacks.into_iter().next()
    });
    lacks.map_or(Ok(()), |first| Err(refusal(first)))
}

/// Leads to another key where this one is not the signer's: the same command would be refused again.
fn lead_to_key(blocker: &mut Blocker, policy: &Policy, (known, op): (&Credentials, &Operation)) {
    let checked = known.signatures.get(&op.op);
    if checked.is_some_and(|checked| checked.flaw == Some(signature::Flaw::NotListed)) {
        blocker.help = hint![
            format!(
                "git config user.signingKey KEYFILE  (a key that {} has for {}; ",
                policy.approve.signers, op.by.email
            ),
            command!("signers check"),
            " names what is wrong with those), then the same again"
        ];
    }
}

/// Refuses a signature that this machine cannot check: where policy asks for one, its giver must see that it counts.
fn require_checkable(checked: &Checked) -> Result<()> {
    if checked.flaw != Some(signature::Flaw::Unchecked) {
        return Ok(());
    }
    Err(Failure::refused(
        Code::SignatureUnchecked,
        checked.why.clone().unwrap_or_default(),
    )
    .help("install OpenSSH 8.9 or later"))
}

fn refusal(blocker: Blocker) -> Failure {
    Failure::refused(blocker.code, blocker.message.clone())
        .help(blocker.help.clone())
        .blockers(vec![blocker])
}
