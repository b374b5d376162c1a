//! `change`: a session's delta against its recorded bases and its target branch, tried without writing.
//!
//! Every verdict comes from [`delta::judge`] on the session's [`Ground`], which gate and archive use too:
//! what is clean here, archive takes, and what it refuses has the same ids. [`overlap`] tries pairs of
//! sessions, [`diff`] shows one requirement after the other, [`refresh`] records new bases.

mod diff;
mod overlap;
mod refresh;

pub(crate) use diff::{RequirementDiff, diff};
use loopx_base::hint::command;
use loopx_rules::texts::Texts;
pub(crate) use overlap::{Overlap, overlap};
pub(crate) use refresh::refresh;

use super::archive;
use super::context::Context;
use super::coverage;
use super::delta::{self, Judgement, Target};
use super::effective_target::{self, Ground};
use super::spec::{Applied, blocker, untouched_faults};
use super::transaction::texts_here;
use loopx_base::failure::{Blocker, Code, Failure, Result};
use loopx_base::id::SessionId;
use loopx_rules::artifact::Artifact;
use loopx_rules::brief;
use loopx_rules::change_pack::CHECK_FILES;
use loopx_rules::gate;
use loopx_rules::gate::{ReadSections, View};
use loopx_rules::policy::Policy;
use loopx_rules::session::State;
use loopx_rules::stage::Stage;
use loopx_spec::{Conflict, Finding, Severity};
use loopx_store::{Session, Snapshot};
use overlap::overlaps;
use serde::Serialize;

/// The verdict that archive would give.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Word {
    Clean,
    /// The delta has an error, or does not fit the specs.
    Refused,
    /// The delta and the target changed one thing in two ways.
    Conflict,
    /// A verdict on a pair: one of the two is refused alone.
    Unknown,
}

/// The verdict on one session's delta.
#[derive(Debug, Serialize)]
pub(crate) struct Judged {
    pub session: SessionId,
    pub stage: Stage,
    /// The branch on which the delta was tried.
    pub target: Option<String>,
    pub verdict: Word,
    pub operations: usize,
    /// The blockers for which archive would refuse the delta.
    pub blockers: Vec<Blocker>,
    pub conflicts: Vec<Conflict>,
    /// The findings for which `--strict` refuses the delta, too.
    pub warnings: Vec<Finding>,
    /// Sessions that have to be archived first.
    pub waits_for: Vec<Blocker>,
    /// Scenarios that archive asks proof of and that no slice names.
    pub unserved: Vec<Blocker>,
}

impl Judged {
    /// The verdict on a session whose delta cannot be tried at all.
    fn refused(ctx: &Context, state: State, failure: Failure) -> Result<Self> {
        let help = failure.help.unwrap_or_else(|| command!("doctor"));
        Ok(Judged {
            target: delta::target_branch(ctx, &state)?,
            session: state.id,
            stage: state.stage,
            verdict: Word::Refused,
            operations: 0,
            blockers: vec![Blocker::new(failure.code, failure.message, help)],
            conflicts: Vec::new(),
            warnings: Vec::new(),
            waits_for: Vec::new(),
            unserved: Vec::new(),
        })
    }
}

/// A session with its unsaved edits, and what became of its delta.
struct Loaded {
    state: State,
    policy: Policy,
    texts: Texts,
    ground: Ground,
    judgement: Judgement,
    /// The branch that the delta was tried on.
    target: Option<String>,
}

/// Reads a session as its author sees it: files that were edited here count, nothing is written. Its delta is tried on
/// its own target.
fn load(ctx: &Context, snapshot: &Snapshot<'_>, session: Session) -> Result<Loaded> {
    let mut one = read(ctx, snapshot, session)?;
    one.judgement = one.ground.judge(ctx, &one.state, &one.policy, &one.texts)?;
    Ok(one)
}

/// The session with its texts, and a delta that was not tried on anything.
fn read(ctx: &Context, snapshot: &Snapshot<'_>, session: Session) -> Result<Loaded> {
    let state = session.state;
    let policy = ctx.policy(&state)?;
    let texts = texts_here(ctx, &state, &policy)?;
    Ok(Loaded {
        target: delta::target_branch(ctx, &state)?,
        ground: Ground::of(ctx, snapshot, &state, &texts)?,
        judgement: Judgement::default(),
        state,
        policy,
        texts,
    })
}

impl Loaded {
    /// Tries the delta of this session on another branch, as archive does it there.
    fn onto(mut self, ctx: &Context, snapshot: &Snapshot<'_>, branch: &str) -> Result<Self> {
        let tree = archive::target_tree(ctx, &self.state, branch);
        let tree = tree.map_err(|failure| self.elsewhere(ctx, failure))?;
        let mut target = Target::of_tree(tree);
        effective_target::stack(ctx, snapshot, &mut target, &self.ground.open)?;
        let around = (&self.ground.target, &target);
        self.judgement = delta::judge(ctx, &self.state, &self.policy, around, &self.texts)?;
        let faults = self.ground.faults.iter().map(blocker);
        self.judgement.facts.blockers.splice(..0, faults);
        self.target = Some(branch.to_owned());
        Ok(self)
    }

    /// The refusal of a branch with this command on a branch that will do, where one is known.
    fn elsewhere(&self, ctx: &Context, failure: Failure) -> Failure {
        match archive::likely_target(ctx, &self.state) {
            Ok(Some(branch)) => failure.help(command!(
                "change validate --onto {}",
                loopx_base::shell_word(&branch)
            )),
            _ => failure,
        }
    }

    fn judged(&self, snapshot: &Snapshot<'_>) -> Result<Judged> {
        let Loaded {
            state,
            policy,
            texts,
            judgement,
            ..
        } = self;
        let facts = &judgement.facts;
        let nobody = gate::Credentials::default();
        let mut blockers = gate::delta(View {
            state,
            texts,
            policy,
            code: None,
            delta: facts,
            credentials: &nobody,
            policy_checks: &[],
            demand: None,
            shared: &[],
            base_missing: None,
            context: &[],
            statements: &[],
            read: &ReadSections::default(),
            worktree: None,
        });
        if brief::delta_file(texts).is_none() {
            blockers.push(Blocker::new(
                Code::SpecDeltaMissing,
                format!("session {} has no spec delta yet", state.id),
                command!("status").session(&state.id),
            ));
        }
        let conflicts: Vec<Conflict> = judgement.verdict.conflicts().cloned().collect();
        let verdict = match (blockers.is_empty(), conflicts.is_empty()) {
            (false, _) => Word::Refused,
            (true, false) => Word::Conflict,
            (true, true) => Word::Clean,
        };
        Ok(Judged {
            session: state.id.clone(),
            stage: state.stage,
            target: self.target.clone(),
            verdict,
            operations: facts.operations,
            blockers,
            conflicts,
            warnings: self.warnings(),
            waits_for: effective_target::waits_for(snapshot, &judgement.delta, &[])?
                .iter()
                .filter(|finding| finding.severity != Severity::Error)
                .map(blocker)
                .collect(),
            unserved: coverage::unserved(policy, texts, &judgement.delta)
                .into_iter()
                .map(|scenario| {
                    Blocker::new(
                        Code::ScenarioUnserved,
                        format!("no slice or task names scenario `{scenario}` in its `scenarios`"),
                        command!("edit {}", checks_file(texts)),
                    )
                })
                .collect(),
        })
    }

    /// Faults of the specs that the delta does not touch. Each spec is read once more: many sessions at once are not told.
    fn untouched(&self) -> Vec<Finding> {
        let parts = self.judgement.delta.domains.iter();
        let mut found = Vec::new();
        for part in parts {
            let domains = self.judgement.verdict.domains.iter();
            let is_it = |one: &&Applied| Some(&one.outcome.domain) == part.domain.as_ref();
            for one in domains.filter(is_it) {
                let file = delta::spec_path(&self.policy, &one.outcome.domain);
                let before = one.before.as_deref();
                found.extend(untouched_faults(&one.outcome.action, before, &file, part));
            }
        }
        found
    }

    fn warnings(&self) -> Vec<Finding> {
        let judgement = &self.judgement;
        let all: Vec<&Finding> = if judgement.verdict.domains.is_empty() {
            judgement.delta.findings.iter().collect()
        } else {
            judgement.verdict.findings().collect()
        };
        all.into_iter()
            .filter(|finding| finding.severity == Severity::Warning)
            .cloned()
            .collect()
    }
}

/// The verdict on the session that is meant, or on every active one. `onto` is the branch to archive to,
/// where that is not the bound one.
pub(crate) fn validate(
    ctx: &Context,
    all: bool,
    onto: Option<&str>,
) -> Result<(Vec<Judged>, Vec<Overlap>)> {
    ctx.only_reads();
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    if !all {
        let session = active(ctx, &snapshot)?;
        let one = match onto {
            Some(branch) => read(ctx, &snapshot, session)?.onto(ctx, &snapshot, branch)?,
            None => load(ctx, &snapshot, session)?,
        };
        let mut judged = one.judged(&snapshot)?;
        judged.warnings.extend(one.untouched());
        return Ok((vec![judged], Vec::new()));
    }
    let (loaded, mut judged) = load_all(ctx, &snapshot)?;
    let overlaps = overlaps(ctx, &snapshot, &loaded)?;
    for one in loaded {
        judged.push(match onto {
            Some(branch) => one.onto(ctx, &snapshot, branch)?.judged(&snapshot)?,
            None => one.judged(&snapshot)?,
        });
    }
    judged.sort_by(|one, other| one.session.cmp(&other.session));
    Ok((judged, overlaps))
}

/// The file that names the checks of a session.
fn checks_file(texts: &Texts) -> Artifact {
    let mut files = CHECK_FILES.into_iter();
    let found = files.find(|artifact| texts.contains_key(artifact));
    found.unwrap_or(Artifact::Slices)
}

fn active(ctx: &Context, snapshot: &Snapshot<'_>) -> Result<Session> {
    super::transaction::load_active(snapshot, &ctx.session_id(snapshot)?)
}

/// Loads every active session that has a delta. A session that cannot be judged stops no other: its refusal is its
/// verdict.
fn load_all(ctx: &Context, snapshot: &Snapshot<'_>) -> Result<(Vec<Loaded>, Vec<Judged>)> {
    let (mut loaded, mut refused) = (Vec::new(), Vec::new());
    for (_, session) in snapshot.active()? {
        let session = session?;
        if !session.state.is_active() {
            continue;
        }
        let state = session.state.clone();
        match load(ctx, snapshot, session) {
            Ok(one) if brief::delta_file(&one.texts).is_some() => loaded.push(one),
            Ok(_) => {}
            Err(failure) if failure.code == Code::BaseMissing => {
                let texts = texts_here(ctx, &state, &Policy::default())?;
                if brief::delta_file(&texts).is_some() {
                    refused.push(Judged::refused(ctx, state, failure)?);
                }
            }
            Err(failure) => return Err(failure),
        }
    }
    Ok((loaded, refused))
}
