//! The check of approvals that moved a session against policy: whose each is, how many there are, and that it is about
//! the content that was there when it was used.
//!
//! The operations are the loopx branch's own word, and whoever can write that branch can write them:
//! so what a gate checked before it wrote them is checked again here, signatures included.

use super::super::artifact::Artifact;
use super::super::artifact_merge::Joiner;
use super::super::checks::Check;
use super::super::contract::Boundary;
use super::super::gate::{self, AuditItem, CodeFacts, Credentials, DeltaFacts, Proof, View};
use super::super::op::{Event, Operation, Verdict};
use super::super::policy::{FILE as POLICY_FILE, Policy};
use super::super::profile::ProfileName;
use super::super::replay;
use super::super::session::{Approval, Ending, Stamped, State};
use super::super::stage::{Stage, Transition};
use crate::texts::Texts;
use loopx_base::failure::{Blocker, Code, Result};
use loopx_base::hint::{Hint, command, hint};
use loopx_base::id::{Oid, SessionId};
use loopx_base::shell_word;
use loopx_base::working_tree::ReviewedCode;
use std::collections::{BTreeMap, BTreeSet};

/// An approval, as it was when it moved the session.
#[derive(Clone, Debug)]
pub struct Used {
    pub transition: Transition,
    pub approval: Approval,
    /// The artifacts that its gate judges, as they were then.
    pub files: BTreeMap<Artifact, Oid>,
    /// The verdict that was there, where the gate asks for a review.
    pub verdict: Option<Stamped<Verdict>>,
    /// The commit that the session started from then, whose policy the gate asked.
    pub base: Option<Oid>,
    /// The profile that the session had then.
    pub profile: ProfileName,
    /// The scope that the session had after it, and what was out of that.
    pub scope: Vec<String>,
    pub out_of_scope: Vec<String>,
    /// Set where the session stands on this move: nothing took it back, and the session did not make it again.
    pub stands: bool,
}

impl Used {
    pub fn boundary(&self) -> Boundary<'_> {
        Boundary {
            within: &self.scope,
            without: &self.out_of_scope,
        }
    }
}

/// Every use of an approval in a session's operations, oldest first.
pub fn used(id: &SessionId, operations: &[Operation], joiner: &dyn Joiner) -> Result<Vec<Used>> {
    let mut found = Vec::new();
    let now = replay::walk(id, operations, joiner, |op, state| {
        let Some(transition) = moved(op) else {
            return;
        };
        let approval = state.approvals.get(&transition.key());
        if let Some(approval) = approval.filter(|_| transition.is_approved()) {
            found.push(Used {
                transition,
                approval: approval.clone(),
                files: gate::covered_files(state, transition),
                verdict: state
                    .verdict
                    .clone()
                    .filter(|_| transition == Transition::ReviewToDone),
                base: state.base.clone(),
                profile: state.profile.clone(),
                scope: state.scope.clone(),
                out_of_scope: state.out_of_scope.clone(),
                stands: false,
            });
        }
    })?;
    let mut later = BTreeSet::new();
    for used in found.iter_mut().rev() {
        let is_last = later.insert(used.transition);
        used.stands = is_last && used.transition.is_forward() && used.transition.to() <= now.stage;
    }
    Ok(found)
}

/// The move that an operation makes.
fn moved(op: &Operation) -> Option<Transition> {
    match op.event()? {
        Event::Entered { transition, .. }
        | Event::Approved {
            transition,
            completes: true,
            ..
        } => Some(*transition),
        _ => None,
    }
}

/// The session as it was before the last move of each kind, and with it what the gate of that move judged.
pub fn before(
    id: &SessionId,
    operations: &[Operation],
    joiner: &dyn Joiner,
) -> Result<BTreeMap<Transition, State>> {
    let mut found = BTreeMap::new();
    let mut last: Option<State> = None;
    replay::walk(id, operations, joiner, |op, state| {
        if let (Some(transition), Some(before)) = (moved(op), last.take()) {
            found.insert(transition, before);
        }
        last = Some(state.clone());
    })?;
    Ok(found)
}

/// The profile that a move has to have been made by, where what the session changes is demanded one for: the one that
/// the session had then, as this policy has it, or where that is too light the one that the session has now; nothing
/// where this policy has neither.
pub fn asked_profile(
    policy: &Policy,
    state: &State,
    used: &Used,
    paths: &[String],
) -> Result<Option<ProfileName>> {
    if let Ok(then) = policy.profiles.get(&used.profile)
        && policy.demands(&then, paths)?.is_none()
    {
        return Ok(Some(used.profile.clone()));
    }
    let now = policy.profiles.get(&state.profile);
    Ok(now.is_ok().then(|| state.profile.clone()))
}

/// The finding about a session for what one of its moves was made without. `moved`: the commit of the branch that has
/// the policy, where the gates of the session ask by another one; they ask by it once the session starts from there.
pub fn made_without(
    state: &State,
    transition: Transition,
    lacking: &Blocker,
    moved: Option<&Oid>,
) -> Blocker {
    let message = format!(
        "session {}: {transition} was passed without what the policy of the branch asks of it: {} ({})",
        state.id, lacking.message, lacking.code
    );
    let id = &state.id;
    let help = match moved.map(Oid::short) {
        None => pass_again(state, transition),
        Some(onto) if state.stage == Stage::Done => hint![
            pass_again(state, transition),
            format!("  (then: git merge {onto}, and: "),
            command!("rebase --onto {onto} --reason WHY").session(id),
            ")"
        ],
        Some(onto) => hint![
            format!("git merge {onto}, then: "),
            command!("rebase --onto {onto} --reason WHY").session(id)
        ],
    };
    Blocker::new(Code::GateTooLight, message, help)
}

/// The way back to a gate that a session has passed, so that it is passed again.
pub fn pass_again(state: &State, transition: Transition) -> Hint {
    let sent_back = |to: Stage| {
        command!("review --verdict request-changes --target {to} --reason WHY").session(&state.id)
    };
    let back = match (state.stage, transition.from()) {
        (Stage::Done, _) => Transition::DoneToBuild.command(),
        (Stage::Build, Stage::Plan) => Transition::BuildToPlan.command(),
        (Stage::Review, Stage::Review) => return sent_back(Stage::Build),
        (Stage::Review, from) => return sent_back(from),
        (Stage::Build, from) => return hint!["go on to review, then: ", sent_back(from)],
        _ => command!("log"),
    };
    back.session(&state.id)
}

/// The finding about a session whose scope was not that of the plan that was approved for it.
pub fn other_scope(session: &SessionId, scope: Boundary<'_>, approved: Boundary<'_>) -> Blocker {
    let message = format!(
        "session {session}: expected the scope of the approved plan ({approved}), found {scope}"
    );
    Blocker::new(
        Code::ScopeDiffers,
        message,
        command!("log").session(session),
    )
}

/// Judges one use. `content` gives the tree id of a set of artifacts.
pub fn judge(
    policy: &Policy,
    session: &SessionId,
    used: &Used,
    credentials: &Credentials,
    content: impl Fn(&BTreeMap<Artifact, Oid>) -> Result<Oid>,
) -> Result<Vec<Blocker>> {
    let Used {
        transition,
        approval,
        ..
    } = used;
    let flaw = |code, message: String| flaw(session, code, &message);
    let weighed = credentials.weigh(policy, *transition, &approval.by);
    let (people, required) = (credentials.people(&weighed), policy.required(*transition));
    // Whoever does not count does no harm where enough others do, unless policy bars them by name: then somebody wrote
    // this who should not have. Anybody can put a void signature under a word of somebody else.
    let harms = |blocker: &Blocker| people < required || blocker.code == Code::ApproverDenied;
    let mut found: Vec<Blocker> = weighed
        .into_iter()
        .filter_map(|weighed| weighed.refused)
        .filter(harms)
        .map(|blocker| flaw(code(blocker.code), blocker.message))
        .collect();
    if people < required {
        found.push(flaw(
            Code::ApprovalsMissing,
            format!("{people} of {required} people approved {transition}"),
        ));
    }
    let changed: Vec<&str> = gate::covered(*transition)
        .iter()
        .filter(|artifact| approval.files.get(artifact) != used.files.get(artifact))
        .map(|artifact| artifact.path())
        .collect();
    if !changed.is_empty() {
        found.push(flaw(
            Code::ApprovalStale,
            format!(
                "the approval of {transition} was used on another {}",
                changed.join(", ")
            ),
        ));
    } else if content(&approval.files)? != approval.content {
        found.push(flaw(
            Code::ApprovalContent,
            format!("the approval of {transition} names another tree than its files make"),
        ));
    }
    let reviewed = used.verdict.as_ref().map(|verdict| &verdict.value.tree);
    if reviewed.is_some() && reviewed != approval.code.as_ref() {
        found.push(flaw(
            Code::ApprovalStale,
            format!("the approval of {transition} is about other code than the review"),
        ));
    }
    if let Some(verdict) = &used.verdict {
        // Whoever made the present commits, and by which keys, says nothing of a verdict that nothing rests on any more.
        let is_asked = |one: &Blocker| match one.code {
            Code::ParticipantUnproven => used.stands,
            Code::ReviewerNotIndependent => used.stands || !verdict.value.dependence.is_empty(),
            _ => true,
        };
        let lacks = gate::reviewer(policy, verdict, credentials).into_iter();
        found.extend(lacks.filter(is_asked).map(|blocker| {
            let said = flaw(code(blocker.code), blocker.message);
            match blocker.code {
                Code::ParticipantUnproven => Blocker {
                    help: blocker.help,
                    ..said
                },
                _ => said,
            }
        }));
    }
    Ok(found)
}

/// Blocker for a flaw of a session's approvals, with the command that shows them.
fn flaw(session: &SessionId, code: Code, message: &str) -> Blocker {
    let help = command!("log").session(session);
    Blocker::new(code, format!("session {session}: {message}"), help)
}

/// Approvals that count for nothing, where no other one of their transition was used: what was let in by them
/// was let in by nobody.
pub fn void(session: &SessionId, state: &State, used: &[Used]) -> Vec<Blocker> {
    let is_used = |transition| used.iter().any(|used| used.transition == transition);
    let left = state.void.iter();
    left.filter(|void| !is_used(void.transition))
        .map(|void| flaw(session, Code::ApprovalVoid, &void.why))
        .collect()
}

/// Signed words that somebody else took back or brought back: the session waits for those who signed.
pub fn taken(session: &SessionId, credentials: &Credentials) -> Vec<Blocker> {
    let held = credentials.taken.iter().filter(|one| one.holds_gate());
    held.map(|one| flaw(session, Code::WordTakenBack, &one.blocker().message))
        .collect()
}

/// Blockers from the profile of a session: policy does not know or take it, demands a heavier one for one of
/// these paths, or a gate of it was never opened. A record may say that a session begins anywhere.
pub fn profile(
    policy: &Policy,
    session: &SessionId,
    state: &State,
    used: &[Used],
    paths: &[String],
) -> Result<Vec<Blocker>> {
    let name = &state.profile;
    let profile = match policy.profiles.get(name) {
        Ok(profile) => profile,
        Err(failure) => return Ok(vec![flaw(session, Code::ProfileUnknown, &failure.message)]),
    };
    let mut found = Vec::new();
    if let Some(why) = policy.forbids(name, &profile) {
        let message = format!("policy does not take the profile {name}: {why}");
        found.push(flaw(session, Code::ProfileForbidden, &message));
    }
    if let Some(demand) = policy.demands(&profile, paths)? {
        found.push(flaw(session, Code::ProfileTooLight, &demand.sentence(name)));
    }
    let passed = Transition::ALL
        .into_iter()
        .filter(|one| one.is_forward() && profile.has(*one) && one.to() <= state.stage);
    for transition in passed {
        if !used.iter().any(|one| one.transition == transition) {
            let message = format!(
                "it came to {} without an approved {transition}",
                state.stage
            );
            found.push(flaw(session, Code::GateSkipped, &message));
        }
    }
    Ok(found)
}

/// Facts that the checks of a session are judged by, at the moment that an approval was used.
#[derive(Debug)]
pub struct Stood<'s> {
    pub state: &'s State,
    pub texts: Texts,
    /// Checks of the target's policy that the reviewed commits have to pass.
    pub policy_checks: &'s [Check],
    /// Checks of the policy that the session can ask.
    pub known: &'s [Check],
}

/// Checks that the reviewed code is not proven by: those of policy, and every one where policy says whose runs count.
pub fn unproven(
    policy: &Policy,
    session: &SessionId,
    used: &Used,
    stood: &Stood<'_>,
    credentials: &Credentials,
) -> Vec<Blocker> {
    let by_role = credentials.evidence.is_some();
    let asked = (by_role || !stood.policy_checks.is_empty()) && used.stands;
    let Some(verdict) = used.verdict.as_ref().filter(|_| asked) else {
        return Vec::new();
    };
    let code = CodeFacts {
        head: verdict.value.head.clone(),
        tree: verdict.value.tree.clone(),
        is_dirty: false,
        uncommitted: Vec::new(),
        reviewed: ReviewedCode::default(),
    };
    let items = gate::audit(View {
        state: stood.state,
        texts: &stood.texts,
        policy,
        code: Some(&code),
        delta: &DeltaFacts::default(),
        credentials,
        policy_checks: stood.policy_checks,
        demand: None,
        shared: &[],
        base_missing: None,
        context: &[],
        statements: &[],
        read: &gate::ReadSections::default(),
        worktree: None,
    });
    let open = items
        .into_iter()
        .filter(|item| !matches!(item.proof, Proof::Passed | Proof::Waived));
    let is_of_policy = |item: &AuditItem| {
        let mut all = stood.policy_checks.iter();
        all.any(|check| check.id.eq_ignore_ascii_case(&item.id))
    };
    open.filter(|item| by_role || is_of_policy(item))
        .map(|item| {
            let (id, tree, detail) = (&item.id, code.tree.short(), &item.detail);
            let message = if by_role { format!(
                "session {session}: no run by {} that is signed proves {id} on tree {tree} ({detail})",
                policy.evidence.by.join(", "),
            ) } else { format!(
                "session {session}: [checks] of {POLICY_FILE} asks for {id}, and no run of it has passed on tree {tree} ({detail})"
            ) };
            let help = again(policy, stood, &item).session(session);
            Blocker::new(Code::EvidenceUnproven, message, help)
        })
        .collect()
}

/// The command that gets the proof of a check. One that the session does not know by its own policy is named with its
/// words; what is archived runs nothing before it is taken back.
fn again(policy: &Policy, stood: &Stood<'_>, item: &AuditItem) -> Hint {
    if matches!(stood.state.ending, Some(Ending::Archived { .. })) {
        return command!("reopen --reason WHY");
    }
    let mut asked = stood.policy_checks.iter();
    match asked.find(|check| check.id == item.id && !stood.known.contains(check)) {
        Some(check) => {
            let words = check.argv.iter().map(|word| shell_word(word));
            let words = words.collect::<Vec<_>>().join(" ");
            policy.run_task_as(&item.id, &words)
        }
        None => policy.run_task(&item.id),
    }
}

/// Records that opened a gate without the signature that policy asks for.
pub fn unsigned(session: &SessionId, credentials: &Credentials) -> Vec<Blocker> {
    let all = credentials.unsigned.iter().map(gate::Unsigned::blocker);
    all.map(|blocker| Blocker {
        message: format!("session {session}: {}", blocker.message),
        help: blocker.help.clone().session(session),
        ..blocker
    })
    .collect()
}

/// Blockers for what clones did apart and nobody settled: no gate opens because the clones came together.
pub fn contested(session: &SessionId, state: &State) -> Vec<Blocker> {
    let misfits = state.conflicts.iter();
    let misfits = misfits.map(|one| format!("operation {} did not fit: {}", one.op, one.why));
    let apart = state.contested();
    let apart = apart.map(|(artifact, _)| format!("{artifact} was changed apart"));
    let files = state.outputs_apart();
    let files = files.map(|(path, _)| format!("{path} was written apart"));
    misfits
        .chain(apart)
        .chain(files)
        .map(|why| flaw(session, Code::SessionConflict, &why))
        .collect()
}

/// Blockers for records that only a newer program understands: nothing of that session lands by this one.
pub fn unknown(session: &SessionId, state: &State) -> Vec<Blocker> {
    let held = state.holding();
    held.map(|op| {
        let message = format!(
            "needs git loopx {}: `{}` (@{}) is a record that this program does not understand",
            op.needs, op.kind, op.seq
        );
        flaw(session, Code::NewerProgramRequired, &message)
    })
    .collect()
}

/// The code of what a gate says of people, as that of a finding.
fn code(gate: Code) -> Code {
    [
        Code::ApproverDenied,
        Code::ApprovalUnsigned,
        Code::ApprovalSignatureInvalid,
        Code::ApprovalWithoutTouch,
        Code::ApproverWithoutRole,
        Code::ApproverNotIndependent,
        Code::ReviewerNotIndependent,
        Code::ParticipantUnproven,
        Code::VerdictUnsigned,
        Code::VerdictSignatureInvalid,
        Code::WordTakenBack,
    ]
    .into_iter()
    .find(|code| *code == gate)
    .unwrap_or(Code::ApproverRefused)
}
