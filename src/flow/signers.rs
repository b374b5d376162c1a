//! `signers check`: what the signers of the target leave open of the sessions that have not landed. Nothing
//! here writes.
//!
//! A session is judged by the keys of its base while it goes on, and by the target's when it lands. A key that
//! was taken away, revoked or has expired is first seen then, unless somebody asks before.

use super::context::Context;
use super::sign::{self, moment};
use super::{landed, upstream, verify};
use loopx_base::failure::{Blocker, Code, Failure, Result};
use loopx_base::hint::{Hint, command, hint};
use loopx_base::id::{Oid, OpId, Person, SessionId};
use loopx_rules::gate;
use loopx_rules::gate::{Credentials, Proofs};
use loopx_rules::op::Operation;
use loopx_rules::policy::Policy;
use loopx_rules::replay::in_order;
use loopx_rules::session::{Ending, State};
use loopx_rules::setup::typed;
use loopx_rules::signers::{Remark, remarks};
use loopx_rules::stage::{Stage, Transition};
use loopx_store::{Session, Snapshot};
use serde::Serialize;

/// Signed approval, verdict, evidence, part in a build or other record that counts no more.
#[derive(Debug, Serialize)]
pub(crate) struct Open {
    pub session: SessionId,
    pub code: Code,
    /// `approval`, `verdict`, `evidence`, `part` or `record`.
    pub what: &'static str,
    pub transition: Option<Transition>,
    pub who: String,
    pub why: String,
    /// The command that leads on.
    pub help: Hint,
}

/// Result of a look at the signers and at what they signed.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    /// The branch whose signers count.
    pub target: Option<String>,
    pub commit: Oid,
    /// The file of signers.
    pub file: String,
    pub sessions: usize,
    pub open: Vec<Open>,
    pub remarks: Vec<Remark>,
}

/// Looks at every session that has not landed, with the signers of the target.
pub(crate) fn check(ctx: &Context, onto: Option<&str>) -> Result<Report> {
    let (target, commit) = target(ctx, onto)?;
    let policy = verify::policy_at(ctx, Some(&commit))?;
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let all = snapshot.active()?.into_iter().chain(snapshot.archived()?);
    let mut report = Report {
        remarks: of_policy(&policy),
        file: policy.approve.signers.clone(),
        target,
        commit,
        sessions: 0,
        open: Vec::new(),
    };
    for (_, session) in all {
        // A damaged one is `fsck`'s.
        let Ok(session) = session else { continue };
        if has_landed(ctx, &session.state, &report)? {
            continue;
        }
        report.sessions += 1;
        report
            .open
            .extend(of_session(ctx, &policy, &snapshot, &session)?);
    }
    Ok(report)
}

/// Remarks on the signers that a policy trusts.
pub(crate) fn of_policy(policy: &Policy) -> Vec<Remark> {
    let text = policy.trust.signers.as_deref().unwrap_or_default();
    let now = moment(loopx_base::env::now());
    remarks(&String::from_utf8_lossy(text), &now, policy.counts_keys())
}

fn target(ctx: &Context, onto: Option<&str>) -> Result<(Option<String>, Oid)> {
    let repo = &ctx.repo;
    if let Some(name) = onto {
        return Ok((Some(name.to_owned()), repo.resolve_commit(name)?));
    }
    let head = repo.head()?;
    let policy = verify::policy_at(ctx, head.commit.as_ref())?;
    if let Some(target) = upstream::target(ctx, head.branch.as_deref(), &policy)?
        && let Some(tip) = target.tips.first()
    {
        return Ok((Some(target.name.clone()), tip.clone()));
    }
    match head.commit {
        Some(commit) => Ok((head.branch, commit)),
        None => Err(Failure::not_found(
            Code::RevisionUnknown,
            "there is no commit yet, and so nobody's keys",
        )
        .help(Hint::git("commit"))),
    }
}

/// Tells whether a session needs no signature any more. An archived one has not landed while the branch that it was
/// archived on is there and has more than the target.
fn has_landed(ctx: &Context, state: &State, report: &Report) -> Result<bool> {
    let repo = &ctx.repo;
    let Some(ending) = &state.ending else {
        return Ok(false);
    };
    let Ending::Archived {
        commit: Some(commit),
        target: branch,
        ..
    } = ending
    else {
        return Ok(true);
    };
    let is_there = repo.find_ref(&format!("refs/heads/{branch}"))?.is_some();
    if !is_there || report.target.as_ref() == Some(branch) || !repo.contains(commit)? {
        return Ok(true);
    }
    Ok(landed::found(repo, commit, &report.commit)?.is_some())
}

fn of_session(
    ctx: &Context,
    policy: &Policy,
    snapshot: &Snapshot<'_>,
    session: &Session,
) -> Result<Vec<Open>> {
    let state = &session.state;
    let operations = snapshot.operations(session)?;
    let depth = sign::Depth::Everything;
    let known = sign::gather(ctx, policy, snapshot, session, depth, None)?;
    let found = Found {
        policy,
        state,
        known: &known,
        parts: sign::proofs(ctx, policy, snapshot, session)?.left_open(),
        sorted: in_order(&operations),
    };
    Ok(found.all())
}

struct Found<'a> {
    policy: &'a Policy,
    state: &'a State,
    known: &'a Credentials,
    /// Proofs that keys gave of those who took part, and give no more.
    parts: Vec<(Person, Proofs)>,
    sorted: Vec<&'a Operation>,
}

impl Found<'_> {
    fn all(&self) -> Vec<Open> {
        let mut open = Vec::new();
        for approval in self.state.approvals.values() {
            let transition = approval.transition;
            let weighed = self.known.weigh(self.policy, transition, &approval.by);
            for one in weighed {
                let Some(blocker) = one.refused.filter(is_of_key) else {
                    continue;
                };
                let is_next = approval.armed && transition.from() == self.state.stage;
                let again = self.policy.approve_command(transition);
                let help = self.again(is_next, &one.by.op, again);
                let who = one.by.signed.by.to_string();
                open.push(self.open(blocker, ("approval", Some(transition)), who, help));
            }
        }
        if let Some(verdict) = &self.state.verdict {
            let checked = self.known.signatures.get(&verdict.op);
            let who = &verdict.signed.by;
            let said = (who, verdict.reason.as_ref());
            let flaw = gate::verdict_signature(self.policy, said, checked);
            if let Some(blocker) = flaw.filter(is_of_key) {
                let is_next = self.state.stage == Stage::Review;
                let help = self.again(is_next, &verdict.op, self.policy.verdict_command());
                let about = ("verdict", Some(Transition::ReviewToDone));
                open.push(self.open(blocker, about, who.to_string(), help));
            }
        }
        open.extend(self.runs());
        for (who, parts) in &self.parts {
            for blocker in parts.blockers(self.policy, self.state.base.as_ref()) {
                let help = if self.state.is_active() {
                    blocker.help.clone().session(&self.state.id)
                } else {
                    self.anew()
                };
                open.push(self.open(blocker, ("part", None), who.to_string(), help));
            }
        }
        let is_signed = |one: &&gate::Unsigned| self.known.signatures.contains_key(&one.op);
        for one in self.known.unsigned.iter().filter(is_signed) {
            let blocker = one.blocker();
            let help = blocker.help.clone().session(&self.state.id);
            open.push(self.open(blocker, ("record", None), one.by.to_string(), help));
        }
        open
    }

    /// Runs that a role's key signed and that count no more, where none that counts stands in their place.
    fn runs(&self) -> Vec<Open> {
        let Some(counted) = &self.known.evidence else {
            return Vec::new();
        };
        let mut open = Vec::new();
        for run in &self.state.evidence {
            let signature = self.known.signatures.get(&run.op);
            let Some(why) = signature.filter(|checked| !checked.holds()) else {
                continue;
            };
            let by = &run.signed.by;
            let is_replaced = counted.iter().any(|one| one.value.is_rerun_of(&run.value));
            if is_replaced || !self.policy.may_prove(std::slice::from_ref(by)) {
                continue;
            }
            let help = match (&run.value.task, self.state.is_active()) {
                (_, false) => self.anew(),
                (Some(task), _) => command!("run --sign --task {task}").session(&self.state.id),
                (None, _) => command!("run --sign -- COMMAND").session(&self.state.id),
            };
            let message = format!(
                "the run `{}` by {by} (@{}) counts no more: {}",
                run.value.argv.join(" "),
                run.seq,
                why.reason()
            );
            let blocker = Blocker::new(Code::EvidenceUnproven, message, Hint::default());
            open.push(self.open(blocker, ("evidence", None), by.to_string(), help));
        }
        open
    }

    /// An archive stays what it is: what it rests on is reviewed again, in a session of its own.
    fn anew(&self) -> Hint {
        let id = &self.state.id;
        let branch = match &self.state.ending {
            Some(Ending::Archived { target, .. }) => typed(target),
            _ => id.to_string(),
        };
        hint![
            format!("git switch -c {id}-again {branch}, then: "),
            command!("start \"Review {id} again\"")
        ]
    }

    fn open(
        &self,
        blocker: Blocker,
        (what, transition): (&'static str, Option<Transition>),
        who: String,
        help: Hint,
    ) -> Open {
        Open {
            session: self.state.id.clone(),
            code: blocker.code,
            what,
            transition,
            who,
            why: blocker.message,
            help,
        }
    }

    /// The word given again: at once where its gate lies ahead, else from the moment before it was given.
    fn again(&self, is_next: bool, op: &OpId, again: Hint) -> Hint {
        let id = &self.state.id;
        let again = again.session(id);
        if is_next {
            return again;
        }
        if !self.state.is_active() {
            return self.anew();
        }
        let at = self.sorted.iter().position(|known| known.op == *op);
        match at.and_then(|at| self.sorted.get(at.checked_sub(1)?)) {
            Some(before) => hint![
                command!("undo --to {} --reason WHY", before.op).session(id),
                ", then: ",
                again
            ],
            None => again,
        }
    }
}

/// Tells whether a key is at fault, and not that there is none.
fn is_of_key(blocker: &Blocker) -> bool {
    matches!(
        blocker.code,
        Code::ApprovalSignatureInvalid | Code::VerdictSignatureInvalid
    )
}
