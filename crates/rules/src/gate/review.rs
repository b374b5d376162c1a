//! The gates that lead out of review, and the one of archive.

use super::super::artifact::Artifact;
use super::super::next::aside;
use super::super::op::{CodeVerdict, Target, Verdict};
use super::super::policy::Policy;
use super::super::review::{self, Judgement};
use super::super::session::{Approval, Stamped};
use super::super::signature::{Checked, Flaw};
use super::super::stage::{ApprovalKey, Stage, Transition};
use super::approval::missing;
use super::plan::delta;
use super::{
    Credentials, Proof, Taken, Uncommitted, Unsigned, View, audit, conflicts, covered,
    covered_files, named, next_action, open_blockers, tasks,
};
use loopx_base::failure::{Blocker, Code};
use loopx_base::hint::{Hint, command, hint};
use loopx_base::id::{Oid, Person};
use loopx_base::shell_word;
use loopx_base::working_tree::{CodeFacts, ReviewedCode};

/// Blockers for what an approval in a review rests on and is not there: the execution record, and each check on the
/// present code.
pub fn unproven_work(view: View<'_>) -> Vec<Blocker> {
    let mut found = super::build::record(view);
    let items = audit(view);
    let mut open: Vec<_> = items.iter().filter(|item| !item.is_proven()).collect();
    if open.iter().any(|item| item.is_check()) {
        open.retain(|item| item.is_check());
    }
    found.extend(open.into_iter().map(|item| {
        let help = match item.proof {
            Proof::Failed => hint![
                item.help(view.policy),
                ", or send it back: ",
                command!("review --verdict request-changes --reason WHY")
            ],
            _ => item.help(view.policy),
        };
        Blocker::new(Code::CompletionAuditMissingEvidence, item.words(), help)
    }));
    found
}

/// Judgement that the recorded verdict comes to now.
pub fn judgement(view: View<'_>) -> Option<Judgement> {
    let verdict = view.state.verdict.as_ref()?;
    // A tree that moved on makes the verdict stale, which is a blocker of its own. What an approval rests on is
    // asked for before it is recorded, and at the gate: neither turns it into a request for changes.
    let moved = view.code.is_none_or(|code| code.tree != verdict.value.tree);
    let evidence = if moved || verdict.value.verdict == CodeVerdict::Approve {
        Vec::new()
    } else {
        unproven_work(view)
    };
    let record = view.text(Artifact::ExecutionRecord);
    Some(review::judge(
        &verdict.value,
        &evidence,
        &review::scope_blockers(record),
    ))
}

pub(super) fn rollback(view: View<'_>, transition: Transition) -> Vec<Blocker> {
    let to = transition.to();
    let missing = super::missing_stage(view, transition);
    if !missing.is_empty() {
        return missing;
    }
    let code = match transition {
        Transition::ReviewToBuild => Code::ReviewBuildFixNotRequested,
        Transition::ReviewToPlan => Code::ReviewPlanFixNotRequested,
        _ => Code::ReviewClarifyFixNotRequested,
    };
    let judgement = judgement(view);
    let target = judgement.as_ref().and_then(|j| j.target);
    if target.map(Target::transition) != Some(transition) {
        return vec![Blocker::new(
            code,
            match target {
                Some(target) => format!("the review asks for changes in {target}, not in {to}"),
                None if judgement.is_some() => {
                    format!("the review does not ask for changes in {to}")
                }
                None => "no verdict has been recorded".to_owned(),
            },
            match target {
                Some(target) => view.policy.approve_command(target.transition()),
                None => {
                    command!("review --verdict request-changes --target {to} --reason WHY")
                }
            },
        )];
    }
    let verdict = view.state.verdict.as_ref();
    if transition != Transition::ReviewToBuild && verdict.is_none_or(|v| v.reason.is_none()) {
        return vec![Blocker::new(
            Code::RollbackRationaleRequired,
            format!("going back to {to} needs a reason in the verdict"),
            command!("review --verdict request-changes --target {to} --reason WHY"),
        )];
    }
    Vec::new()
}

pub(super) fn done(view: View<'_>) -> Vec<Blocker> {
    let state = view.state;
    let mut found = open_blockers(view, Transition::ReviewToDone);
    let Some(verdict) = &state.verdict else {
        found.push(Blocker::new(
            Code::ReviewVerdictNone,
            "no verdict has been recorded",
            view.policy.verdict_command(),
        ));
        return found;
    };
    found.extend(review::scope_blockers(view.text(Artifact::ExecutionRecord)));
    let judgement = judgement(view);
    if let Some(judgement) = judgement.filter(|j| j.outcome != CodeVerdict::Approve) {
        let target = judgement.target.unwrap_or(Target::Build);
        let because = if judgement.because.is_empty() {
            String::new()
        } else {
            let because: Vec<String> = judgement.because.iter().map(ToString::to_string).collect();
            format!(" ({})", because.join("; "))
        };
        found.push(Blocker::new(
            Code::ReviewVerdictRequestChanges,
            format!("the review asks for changes in {target}{because}"),
            view.policy.approve_command(target.transition()),
        ));
    }
    found.extend(rewritten(view, verdict));
    let moved = view
        .code
        .is_some_and(|code| code.tree != verdict.value.tree);
    if !moved && verdict.value.verdict == CodeVerdict::Approve {
        found.extend(unproven_work(view));
    }
    if let Some(code) = view.code.filter(|_| moved) {
        found.push(moved_apart(view, verdict, code));
    }
    found.extend(reviewer(view.policy, verdict, view.credentials));
    let taken = view.credentials.taken.iter();
    found.extend(taken.filter(|one| one.holds_gate()).map(Taken::blocker));
    found
}

/// The blocker for code that is not the code of the verdict. Code that is newer than the one here did not change here.
fn moved_apart(view: View<'_>, verdict: &Stamped<Verdict>, code: &CodeFacts) -> Blocker {
    let who = &verdict.signed.by.name;
    let (then, now) = (verdict.value.tree.short(), code.tree.short());
    let files: Vec<&Uncommitted> = code.uncommitted.iter().collect();
    let is_edited = code.is_dirty && !files.is_empty() && code.head == verdict.value.head;
    match &code.reviewed {
        // The hooks take no commit in review: what is not committed can only go out of the way.
        ReviewedCode::Known if is_edited => Blocker::new(
            Code::ReviewStale,
            format!(
                "not committed, and in no review: {} ({who} reviewed tree {then}, the present tree is {now})",
                named(&files)
            ),
            aside(&code.uncommitted),
        ),
        ReviewedCode::Known => Blocker::new(
            Code::ReviewStale,
            format!(
                "the code changed since {who} reviewed it: the reviewed tree is {then}, the present tree is {now}"
            ),
            view.policy.verdict_command(),
        ),
        ReviewedCode::Ahead(commit) => Blocker::new(
            Code::ReviewStale,
            format!(
                "{who} reviewed newer code than the code here: expected tree {then}, found {now}"
            ),
            Hint::git(format!("merge --ff-only {}", commit.short())),
        ),
        ReviewedCode::Missing { remote } => Blocker::new(
            Code::ReviewedCodeMissing,
            format!(
                "the code that {who} reviewed is not in this repository: expected tree {then}, found {now}"
            ),
            hint![
                format!("{remote} may have it: "),
                Hint::git(format!("fetch {remote}"))
            ],
        ),
    }
}

/// Blocker of a text that changed since the verdict: what a verdict rests on is closed by it, and nobody reviewed this.
fn rewritten(view: View<'_>, verdict: &Stamped<Verdict>) -> Option<Blocker> {
    let seen = &verdict.value.files;
    let changed: Vec<&str> = covered(Transition::BuildToReview)
        .iter()
        // Older verdicts do not say what they rest on.
        .filter(|artifact| {
            !seen.is_empty() && seen.get(artifact) != view.state.artifacts.get(artifact)
        })
        .map(|artifact| artifact.path())
        .collect();
    (!changed.is_empty()).then(|| {
        Blocker::new(
            Code::ReviewStale,
            format!(
                "changed since {} reviewed it: {}",
                verdict.signed.by.name,
                changed.join(", ")
            ),
            view.policy.verdict_command(),
        )
    })
}

/// Blockers of a recorded verdict without the reviewer that policy asks for. Independence was computed when the verdict
/// was recorded, and is computed again: the record is only the branch's word.
pub fn reviewer(
    policy: &Policy,
    verdict: &Stamped<Verdict>,
    credentials: &Credentials,
) -> Vec<Blocker> {
    let mut found = Vec::new();
    let who = &verdict.signed.by;
    let names = if policy.counts_keys() {
        credentials.signer_names(&verdict.op, who)
    } else {
        credentials.names(who)
    };
    let part = credentials.part(&names);
    let by_key = credentials.part_of_key(&verdict.op);
    if policy.review.independence.is_required()
        && (!verdict.value.dependence.is_empty() || part.is_some() || by_key.is_some())
    {
        let said = match by_key {
            Some(known) if part.is_none() => {
                format!(
                    "{who} has the same key as the {} {}",
                    known.role, known.person
                )
            }
            _ => format!("{who} took part in what was reviewed"),
        };
        found.push(Blocker::new(
            Code::ReviewerNotIndependent,
            said,
            hint!["ask somebody else to run: ", policy.verdict_command()],
        ));
    }
    found.extend(unproven(policy, verdict.value.base.as_ref(), credentials));
    let checked = credentials.signatures.get(&verdict.op);
    found.extend(verdict_signature(
        policy,
        (who, verdict.reason.as_ref()),
        checked,
    ));
    found
}

/// Blockers of people who took part by name only, where policy counts keys.
pub fn unproven(policy: &Policy, base: Option<&Oid>, credentials: &Credentials) -> Vec<Blocker> {
    match &credentials.proofs {
        _ if !policy.counts_keys() => Vec::new(),
        Some(proofs) => proofs.blockers(policy, base),
        // What nobody looked at is not proven.
        None => vec![Blocker::new(
            Code::ParticipantUnproven,
            "nothing shows by which keys the reviewed commits were made",
            command!("status"),
        )],
    }
}

/// Blocker of a verdict whose signature does not count, where it has to.
pub fn verdict_signature(
    policy: &Policy,
    (who, reason): (&Person, Option<&String>),
    checked: Option<&Checked>,
) -> Option<Blocker> {
    // A review of nothing is refused without the reason that its verdict gave.
    let again = match reason {
        Some(reason) => command!(
            "review --verdict approve --reason {} --sign",
            shell_word(reason)
        ),
        None => command!("review --verdict approve --sign"),
    };
    match checked {
        None if policy.asks_signed_verdict() => Some(Blocker::new(
            Code::VerdictUnsigned,
            format!("{who} gave the verdict without a signature, which policy asks for"),
            again,
        )),
        Some(checked)
            if checked.flaw == Some(Flaw::Broken)
                || (!checked.holds() && policy.asks_signed_verdict()) =>
        {
            Some(Blocker::new(
                Code::VerdictSignatureInvalid,
                format!(
                    "the signature under {who}'s verdict does not count: {}",
                    checked.reason()
                ),
                again,
            ))
        }
        _ => None,
    }
}

/// Blocker of a text that changed after the end was approved: what was let come to its end reaches the specs, and
/// nobody approved a text that somebody changed after that, by a record that no command writes.
fn changed_after(view: View<'_>, approval: &Approval) -> Option<Blocker> {
    let now = covered_files(view.state, approval.transition);
    let changed: Vec<&str> = covered(approval.transition)
        .iter()
        .filter(|artifact| approval.files.get(artifact) != now.get(artifact))
        .map(|artifact| artifact.path())
        .collect();
    (!changed.is_empty()).then(|| {
        Blocker::new(
            Code::CompletionApprovalStale,
            format!(
                "changed since {} was approved: {}",
                approval.transition,
                changed.join(", ")
            ),
            command!("log").note("(shows who changed it; `undo --only` takes it back)"),
        )
    })
}

/// Blockers of the archive besides the merge itself.
pub fn archive(view: View<'_>) -> Vec<Blocker> {
    let mut found = conflicts(view);
    if view.state.stage != Stage::Done {
        found.push(Blocker::new(
            Code::ArchiveRequiresDoneSession,
            format!(
                "the session is in stage {}, expected done",
                view.state.stage
            ),
            next_action(view),
        ));
        return found;
    }
    // Who let it come to its end is asked once more: here it reaches the specs of the code branch.
    if let Some(approval) = view.state.approvals.get(&ApprovalKey::Complete) {
        found.extend(missing(view, approval));
        found.extend(changed_after(view, approval));
    }
    if let Some(verdict) = &view.state.verdict {
        found.extend(reviewer(view.policy, verdict, view.credentials));
    }
    found.extend(view.credentials.unsigned.iter().map(Unsigned::blocker));
    found.extend(review::scope_blockers(view.text(Artifact::ExecutionRecord)));
    found.extend(delta(view));
    found.extend(tasks::open(view, Stage::Done));
    found
}
