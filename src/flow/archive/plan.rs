//! The plan of an archive: the merge's verdict, and where it goes.

use super::super::checked_out;
use super::super::context::Context;
use super::super::coverage;
use super::super::delta::{self, Target};
use super::super::effective_target;
use super::super::landed;
use super::super::review;
use super::super::spec::{Verdict, blocker};
use super::super::transaction::Facts;
use super::super::upstream;
use super::contest::{SpecConflict, Way};
use super::{SpecChange, Waivers};
use loopx_base::failure::{Blocker, Code, Failure, Kind, Result};
use loopx_base::hint::{Hint, command, hint};
use loopx_base::id::{Oid, SessionId};
use loopx_base::shell_word;
use loopx_git::Repo;
use loopx_rules::artifact::Artifact;
use loopx_rules::gate;
use loopx_rules::gate::View;
use loopx_rules::session::State;
use loopx_rules::stage::Stage;
use loopx_spec::changelog;
use loopx_spec::{Action, Delta, Severity};
use loopx_store::Snapshot;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// The branch that a commit goes to, as it is now.
#[derive(Clone)]
pub(super) struct Aim {
    pub(super) target: String,
    pub(super) target_ref: String,
    /// `None` where the branch has no commit yet.
    pub(super) tip: Option<Oid>,
    pub(super) tree: Option<Oid>,
}

/// The verdict of the merge, and where it goes.
pub(super) struct Plan {
    pub(super) aim: Aim,
    pub(super) specs: String,
    /// Path and text of the changelog fragment, where policy asks for one.
    pub(super) fragment: Option<(String, String)>,
    pub(super) verdict: Rc<Verdict>,
    /// A remark on the reviewed code, where the target has not got it.
    pub(super) lacks_code: Option<String>,
    /// The reason why no requirement changes, where the delta says so.
    pub(super) unchanged: Option<String>,
    /// The scenarios that go in without proof, and why.
    pub(super) waived: Waivers,
}

/// Sessions that go to the branch in the same run, before this one.
#[derive(Default)]
pub(super) struct Before {
    pub(super) ids: Vec<SessionId>,
    /// The specs as those sessions made them.
    pub(super) made: BTreeMap<String, Option<String>>,
}

pub(super) fn plan(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    facts: &Facts<'_>,
    onto: Option<&str>,
    before: &Before,
    waivers: &Waivers,
) -> Result<Plan> {
    let state = &facts.state;
    if state.stage != Stage::Done {
        require(state, gate::archive(facts.view()))?;
    }
    let aim = aim(ctx, state, onto)?;
    let lacks_code = lacks_code(ctx, state, &aim)?;
    let target = Target {
        tree: aim.tree.clone(),
        over: before.made.clone(),
    };
    let own = Target::of_branch(ctx, state)?;
    let judgement = delta::judge(ctx, state, &facts.policy, (&own, &target), &facts.texts)?;
    let mut blockers = gate::archive(View {
        delta: &judgement.facts,
        ..facts.view()
    });
    if !judgement.facts.blockers.is_empty() {
        blockers.extend(closed(state));
    }
    if blockers.is_empty() {
        let waits = effective_target::waits_for(snapshot, &judgement.delta, &before.ids)?;
        blockers = waits.iter().map(blocker).collect();
    }
    let mut waived = Vec::new();
    if blockers.is_empty() {
        (blockers, waived) = coverage::judge(facts, waivers)?;
        if blockers.is_empty() {
            require_signed(facts, waivers, &waived)?;
        }
    }
    require(state, blockers)?;
    let unreviewed = review::unreviewed(ctx, state, &facts.policy)?;
    require(state, unreviewed.into_iter().collect())?;
    Ok(Plan {
        aim,
        specs: facts.policy.paths.specs.clone(),
        fragment: fragment(facts, &judgement.delta),
        verdict: judgement.verdict,
        lacks_code,
        unchanged: judgement.delta.unchanged,
        waived: Waivers {
            scenarios: waived,
            reason: waivers.reason.clone(),
            sign: waivers.sign,
        },
    })
}

/// Requires a signature over the commit that names what goes in without proof, where policy asks for signatures.
fn require_signed(facts: &Facts<'_>, waivers: &Waivers, waived: &[String]) -> Result<()> {
    let [first, ..] = waived else {
        return Ok(());
    };
    if waivers.sign || !facts.policy.asks_signatures() {
        return Ok(());
    }
    Err(unsigned(first, "it is not signed"))
}

/// The refusal of an archive whose waiver proves nobody.
pub(super) fn unsigned(scenario: &str, why: &str) -> Failure {
    let message = format!(
        "the waiver of `{scenario}` opens the archive, and policy asks for signatures: {why}"
    );
    let scenario = shell_word(scenario);
    Failure::refused(Code::OpeningUnsigned, message)
        .help(command!("archive --waive {scenario} --reason WHY --sign"))
}

/// The way out where the delta is at fault and nobody may edit it any more.
fn closed(state: &State) -> Option<Blocker> {
    let own = [Artifact::SpecDelta, Artifact::Brief];
    let mut own = own
        .into_iter()
        .filter(|at| state.artifacts.contains_key(at));
    let delta = own.next().unwrap_or(Artifact::SpecDelta);
    (!state.is_open(delta)).then(|| {
        Blocker::new(
            Code::DeltaClosed,
            format!(
                "{delta} is closed in stage {}: mend the branch, or go back to plan",
                state.stage
            ),
            hint![
                command!("undo"),
                "  (then: ",
                command!("review --verdict request-changes --target plan --reason WHY"),
                ")"
            ],
        )
    })
}

/// The tree of the branch that is named, judged as archive judges it.
pub(in crate::flow) fn target_tree(
    ctx: &Context,
    state: &State,
    branch: &str,
) -> Result<Option<Oid>> {
    Ok(aim(ctx, state, Some(branch))?.tree)
}

/// The record of a conflict of this session's delta.
pub(super) fn way(state: &State) -> Way {
    Way::Archive {
        delta: [Artifact::SpecDelta, Artifact::Brief]
            .iter()
            .find_map(|at| state.artifacts.get(at))
            .cloned(),
    }
}

/// The changelog fragment of the delta: its path and text.
fn fragment(facts: &Facts<'_>, delta: &Delta) -> Option<(String, String)> {
    let folder = &facts.policy.changelog.fragments;
    let entries = changelog::of_delta(delta);
    if folder.is_empty() || entries.is_empty() {
        return None;
    }
    let path = format!("{folder}/{}.md", facts.state.id);
    Some((path, entries.text()))
}

/// Refuses where a rule does not hold, under the code of the first one's family.
fn require(state: &State, blockers: Vec<Blocker>) -> Result<()> {
    let Some(first) = blockers.first() else {
        return Ok(());
    };
    let code = match first.code {
        Code::ArchiveRequiresDoneSession => Code::ArchiveRequiresDoneSession,
        code if code.is_of_scope() => Code::ArchiveScopeBlocked,
        Code::ReviewStale | Code::ReviewedCodeMissing => Code::ArchiveUnreviewed,
        code if code.is_of_scenario() => Code::ArchiveUnproven,
        code if code.is_of_dependency() => Code::ArchiveWaits,
        _ => Code::ArchiveBlocked,
    };
    let (message, help) = (first.message.clone(), first.help.clone());
    Err(Failure::refused(
        code,
        format!("session {} cannot be archived: {message}", state.id),
    )
    .blockers(blockers)
    .help(help))
}

/// A branch that is here and that the session would go to: its own, else the one that changes land on.
pub(in crate::flow) fn likely_target(ctx: &Context, state: &State) -> Result<Option<String>> {
    let own = delta::target_branch(ctx, state)?;
    let landing = upstream::target(ctx, own.as_deref(), &ctx.policy_if_there(state)?.0)?;
    for branch in own.into_iter().chain(landing.map(|target| target.name)) {
        if ctx
            .repo
            .find_ref(&format!("refs/heads/{branch}"))?
            .is_some()
        {
            return Ok(Some(branch));
        }
    }
    Ok(None)
}

/// The archive on another branch than the one that will not do.
fn elsewhere(ctx: &Context, state: &State) -> Result<Hint> {
    Ok(match likely_target(ctx, state)? {
        Some(branch) => command!("archive --onto {}", shell_word(&branch)),
        None => "git branch  (lists them), then name one with --onto".into(),
    })
}

/// The word about a target that has not got the reviewed code. Its archive may land before the code does; code that no
/// branch holds would land nowhere, and is refused.
fn lacks_code(ctx: &Context, state: &State, aim: &Aim) -> Result<Option<String>> {
    if state.branch.as_ref() == Some(&aim.target) {
        return Ok(None);
    }
    if landed::has_code(&ctx.repo, state, aim.tip.as_ref())? != Some(false) {
        return Ok(None);
    }
    let head = state
        .verdict
        .as_ref()
        .and_then(|verdict| verdict.value.head.as_ref());
    let Some(head) = head else {
        return Ok(None);
    };
    let (target, short) = (&aim.target, head.short());
    if state.branch.is_none() && !landed::is_held(&ctx.repo, head)? {
        let merge = Hint::git(format!("merge {short}"));
        return Err(Failure::refused(
            Code::TargetLacksCode,
            format!("{target} does not have the code that was reviewed, and no branch holds its commit {short}"),
        )
        .help(hint![
            Hint::git(format!("branch {} {short}", state.id)),
            format!("  (keeps it; or on {target}: "),
            merge,
            ")"
        ]));
    }
    let code = state.branch.as_deref().unwrap_or(short);
    Ok(Some(format!(
        "{target} does not have the reviewed code yet; merge it too: git merge {}",
        shell_word(code)
    )))
}

/// The branch that is meant: the named one, or the one that the session is bound to.
pub(super) fn aim(ctx: &Context, state: &State, onto: Option<&str>) -> Result<Aim> {
    let target = match onto {
        Some(branch) => {
            Repo::check_branch_name(branch)?;
            branch.to_owned()
        }
        None => match delta::target_branch(ctx, state)? {
            Some(branch) => branch,
            None => {
                return Err(Failure::usage(
                    Code::TargetUnknown,
                    format!(
                        "expected a branch to archive on: the session is bound to none, and {} is checked out",
                        ctx.head()?.words()
                    ),
                )
                .help(elsewhere(ctx, state)?));
            }
        },
    };
    if target == ctx.store()?.branch() {
        return Err(Failure::usage(
            Code::TargetInvalid,
            format!("`{target}` keeps the sessions; specs belong on a code branch"),
        )
        .help(elsewhere(ctx, state)?));
    }
    let target_ref = format!("refs/heads/{target}");
    if ctx.repo.is_being_rebased(&target_ref) {
        return Err(Failure::refused(
            Code::TargetBusy,
            format!("`{target}` is being rebased; it would be moved under the rebase"),
        )
        .help(hint![
            "git rebase --continue  (or --abort), then: ",
            command!("archive")
        ]));
    }
    let tip = ctx.repo.find_ref(&target_ref)?;
    let unborn_here = ctx.repo.head()?.branch.as_ref() == Some(&target);
    if tip.is_none() && !unborn_here {
        return Err(Failure::not_found(
            Code::BranchUnknown,
            format!("there is no branch `{target}`"),
        )
        .help(elsewhere(ctx, state)?));
    }
    let tree = match &tip {
        Some(tip) => Some(ctx.repo.commit_info(tip)?.tree),
        None => None,
    };
    Ok(Aim {
        target,
        target_ref,
        tip,
        tree,
    })
}

impl Plan {
    pub(super) fn path(&self, domain: &str) -> String {
        format!("{}/{domain}/spec.md", self.specs)
    }

    /// Errors first, then conflicts, under the archive's own codes.
    pub(super) fn refusal(&self) -> Option<Failure> {
        let mut failure = self.verdict.refusal()?;
        if failure.kind == Kind::Conflict {
            for blocker in &mut failure.blockers {
                blocker.code = Code::RequirementConflict;
                blocker.help =
                    command!("archive").note("(writes both sides of the conflict to files)");
            }
            failure.code = Code::ArchiveConflict;
            failure.message = format!(
                "the delta and {} changed the same requirement; nothing was archived",
                self.aim.target
            );
        } else {
            failure.code = Code::ArchiveBlocked;
        }
        Some(failure)
    }

    /// The files that change. `resolved` stands in for the specs that were in conflict.
    pub(super) fn changes(&self, resolved: &BTreeMap<String, Option<String>>) -> Vec<SpecChange> {
        let mut changes = Vec::new();
        for one in &self.verdict.domains {
            let path = self.path(&one.outcome.domain);
            let after = match (resolved.get(&path), &one.outcome.action) {
                (Some(text), _) => text.clone(),
                (None, Action::Write(text)) => Some(text.clone()),
                (None, Action::Retire) => None,
                (None, Action::Keep) => continue,
            };
            if after != one.before {
                changes.push(SpecChange {
                    path,
                    before: one.before.clone(),
                    after,
                });
            }
        }
        changes
    }

    /// The fragment as a change, where it is not there already. A file of somebody else stays.
    pub(super) fn fragment_change(&self, ctx: &Context) -> Result<Option<SpecChange>> {
        let Some((path, text)) = &self.fragment else {
            return Ok(None);
        };
        match self.aim.blob(ctx, path)? {
            None => Ok(Some(SpecChange {
                path: path.clone(),
                before: None,
                after: Some(text.clone()),
            })),
            Some(blob) if blob == ctx.repo.hash_blob(text.as_bytes())? => Ok(None),
            Some(_) => Err(Failure::refused(
                Code::ChangelogFragmentExists,
                format!(
                    "{path} is on {} already, with another text",
                    self.aim.target
                ),
            )
            .help(format!("git mv {path} ELSEWHERE, and commit it"))),
        }
    }

    /// Warnings of the merge, and of the code that the target lacks.
    pub(super) fn warnings(&self) -> Vec<String> {
        let findings = self.verdict.findings();
        let of_merge = findings
            .filter(|finding| finding.severity == Severity::Warning)
            .map(|finding| format!("{}:{}: {}", finding.file, finding.line, finding.message));
        of_merge.chain(self.lacks_code.clone()).collect()
    }

    /// Lists the changes of the commit of an archive that landed.
    pub(super) fn landed(&self, ctx: &Context, commit: &Oid) -> Result<checked_out::Changes> {
        let info = ctx.repo.commit_info(commit)?;
        let old = info.parents.first().cloned();
        let before = match &old {
            Some(old) => Some(ctx.repo.commit_info(old)?.tree),
            None => None,
        };
        let blob = |tree: Option<&Oid>, path: &str| -> Result<Option<Oid>> {
            let Some(tree) = tree else { return Ok(None) };
            Ok(ctx.repo.entry_at(tree, path)?.map(|entry| entry.id))
        };
        let mut paths = checked_out::Changes::new();
        for path in ctx.repo.changed_paths(before.as_ref(), &info.tree)? {
            let sides = (
                blob(before.as_ref(), &path)?,
                blob(Some(&info.tree), &path)?,
            );
            paths.insert(path, sides);
        }
        Ok(paths)
    }

    /// Tells whether a commit changes nothing but what this archive changes, and does change something where the
    /// archive changes specs.
    pub(super) fn is_made_by(&self, ctx: &Context, commit: &Oid) -> Result<bool> {
        let domains = self.verdict.domains.iter();
        let mut paths: BTreeSet<String> =
            domains.map(|one| self.path(&one.outcome.domain)).collect();
        paths.extend(self.fragment.iter().map(|(path, _)| path.clone()));
        let changed = self.landed(ctx, commit)?;
        let is_bare = self.unchanged.is_some() && self.verdict.domains.is_empty();
        Ok(is_bare == changed.is_empty() && changed.keys().all(|path| paths.contains(path)))
    }

    /// The specs in conflict.
    pub(super) fn fights(&self, ctx: &Context) -> Result<Vec<SpecConflict>> {
        let mut fights = Vec::new();
        for one in &self.verdict.domains {
            if let Some(marked) = &one.outcome.rendered_conflict {
                let path = self.path(&one.outcome.domain);
                fights.push(SpecConflict {
                    there: self.aim.blob(ctx, &path)?,
                    path,
                    now: one.before.clone(),
                    marked: marked.clone(),
                    known: Vec::new(),
                });
            }
        }
        Ok(fights)
    }
}

impl Aim {
    /// The blob at a path of the branch.
    pub(super) fn blob(&self, ctx: &Context, path: &str) -> Result<Option<Oid>> {
        match &self.tree {
            Some(tree) => Ok(ctx.repo.entry_at(tree, path)?.map(|entry| entry.id)),
            None => Ok(None),
        }
    }
}
