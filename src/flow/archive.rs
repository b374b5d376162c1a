//! `archive`: merges the delta into the specs, in one commit on the target branch, and moves the
//! session to the archive.
//!
//! Two refs move, one after the other. A note in the git dir says what was under way: whatever command
//! writes next finishes it, or forgets it when nothing had happened yet.

use super::act::{Facts, Needs, gather, load_active, new_op_id};
use super::context::Context;
use super::delta;
use super::files;
use super::seat;
use super::spec::Verdict;
use super::workcopy::{FOLDER, WorkCopy, marker_line};
use crate::core::artifact::Artifact;
use crate::core::failure::{Failure, Kind, Result};
use crate::core::gate;
use crate::core::id::{Oid, SessionId};
use crate::core::markdown::section_text;
use crate::core::op::{Event, FORMAT, Operation};
use crate::core::session::{Ending, State};
use crate::core::spec::{Action, Severity, read_spec};
use crate::core::stage::Stage;
use crate::git::{Entry, EntryKind, Identity, Repo, Swap};
use crate::store::{self, Decision, Lock, Session, Snapshot, Store};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// What `archive` was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Say what would happen, with a diff; write nothing.
    DryRun,
    Merge,
    /// Take the conflicts as they were resolved in the working copy.
    Continue,
    /// Forget the conflicts that were written out.
    Abort,
}

/// One spec file, before and after.
#[derive(Clone, Debug, Serialize)]
pub struct SpecChange {
    pub path: String,
    pub before: Option<String>,
    /// `None`: the file goes.
    pub after: Option<String>,
}

/// What archiving came to.
#[derive(Debug)]
pub struct Archived {
    pub id: SessionId,
    pub target: String,
    /// The commit on the target branch; `None` for a dry run, and where the specs said so already.
    pub commit: Option<Oid>,
    pub changes: Vec<SpecChange>,
    /// Warnings of the merge.
    pub warnings: Vec<String>,
    /// An earlier run was finished by this one.
    pub finished: bool,
}

/// Tries before a busy target branch is given up.
const TRIES: u32 = 10;

/// Archives the session that is meant.
pub fn archive(ctx: &Context, onto: Option<&str>, mode: Mode) -> Result<Archived> {
    let store = ctx.store()?;
    if mode == Mode::DryRun {
        return preview(ctx, &store, onto);
    }
    let identity = ctx.repo.identity()?;
    let lock = store.lock()?;
    let earlier = finish(ctx, &store, &lock, &identity)?;
    let snapshot = store.snapshot()?;
    let id = ctx
        .session_id(&snapshot)
        .or_else(|failure| match earlier.finished.as_slice() {
            // What was bound here has just been archived.
            [only] => Ok(only.clone()),
            _ => Err(failure),
        })?;
    let finished = earlier.finished.contains(&id);
    earlier.check(&id)?;
    let session = snapshot
        .find(&id)?
        .ok_or_else(|| super::context::unknown(&snapshot, &id))?;
    if let Some(Ending::Archived { commit, target, .. }) = session.state.ending {
        if !finished {
            return Err(already(&id, commit, &target));
        }
        return Ok(Archived {
            id,
            target,
            commit,
            changes: Vec::new(),
            warnings: Vec::new(),
            finished,
        });
    }
    let session = load_active(&snapshot, &id)?;
    let mut copy = WorkCopy::open(&ctx.repo, &id)?;
    if mode == Mode::Abort {
        return abort(ctx, &session, onto);
    }
    let contest = match mode {
        Mode::Continue => Some(read_contest(ctx, &id)?.ok_or_else(no_conflict)?),
        Mode::Merge => {
            refuse_begun(ctx, &id)?;
            None
        }
        _ => None,
    };
    // A conflict is continued where it was met.
    let onto = onto.or(contest.as_ref().map(|contest| contest.target.as_str()));
    for _ in 0..TRIES {
        let facts = gather(
            ctx,
            &snapshot,
            &session,
            copy.as_mut(),
            Needs::Stage,
            Some(&identity),
        )?;
        let plan = plan(ctx, &facts, onto)?;
        if let Some(commit) = landed_before(ctx, &session, &plan)? {
            // An earlier run got that far, and its note is lost.
            let pending = plan.pending(ctx, &facts, commit, &identity.at)?;
            complete(ctx, &store, &lock, &identity, &pending)?;
            let mut archived = plan.archived(&id, Some(pending.new), Vec::new());
            archived.finished = true;
            return Ok(archived);
        }
        let changes = match &contest {
            Some(contest) => plan.changes(&resolved(ctx, &facts.state, &plan, contest)?),
            None => {
                if let Some(failure) = plan.refusal() {
                    return Err(write_conflicts(ctx, &facts.state, &plan, failure)?);
                }
                plan.changes(&BTreeMap::new())
            }
        };
        if let Some(commit) = land(ctx, &store, &lock, &identity, &facts, &plan, &changes)? {
            return Ok(plan.archived(&id, commit, changes));
        }
    }
    Err(Failure::new(
        Kind::Waiting,
        "branch_busy",
        format!("the target branch moved {TRIES} times while this was being written"),
    )
    .help("git loopx archive"))
}

/// What archiving would do. Nothing is written, so nothing is locked, and what an earlier run left is
/// for the next command that writes.
fn preview(ctx: &Context, store: &Store<'_>, onto: Option<&str>) -> Result<Archived> {
    let snapshot = store.snapshot()?;
    let session = ctx.session(&snapshot)?;
    let id = session.state.id.clone();
    if let Some(Ending::Archived { commit, target, .. }) = session.state.ending {
        return Err(already(&id, commit, &target));
    }
    let session = load_active(&snapshot, &id)?;
    // In any other stage an edit could be merged into the working copy; there the gate refuses anyway.
    let mut copy = match session.state.stage {
        Stage::Done => WorkCopy::open(&ctx.repo, &id)?,
        _ => None,
    };
    let facts = gather(ctx, &snapshot, &session, copy.as_mut(), Needs::Stage, None)?;
    let plan = plan(ctx, &facts, onto)?;
    match plan.refusal() {
        Some(failure) => Err(failure),
        None => Ok(plan.archived(&id, None, plan.changes(&BTreeMap::new()))),
    }
}

fn already(id: &SessionId, commit: Option<Oid>, target: &str) -> Failure {
    let at = commit.map_or(String::new(), |commit| format!(" as {}", commit.short()));
    Failure::nothing(
        "archived_already",
        format!("session {id} is archived on {target}{at}"),
    )
    .help("git loopx list --all")
}

/// The verdict of the merge, and where it goes.
struct Plan {
    target: String,
    target_ref: String,
    /// `None` where the branch has no commit yet.
    tip: Option<Oid>,
    tree: Option<Oid>,
    specs: String,
    verdict: Verdict,
}

fn plan(ctx: &Context, facts: &Facts<'_>, onto: Option<&str>) -> Result<Plan> {
    let state = &facts.state;
    let blockers = gate::archive(facts.view());
    if let Some(first) = blockers.first() {
        let code = match first.code.as_str() {
            "archive_requires_done_session" => "archive_requires_done_session",
            "partial_scope_remaining" | "implemented_scope_mismatch" => "archive_scope_blocked",
            code if code.starts_with("completion_claim_") => "archive_scope_blocked",
            _ => "archive_blocked",
        };
        let help = first.help.clone();
        return Err(Failure::refused(
            code,
            format!("session {} cannot be archived: {}", state.id, first.message),
        )
        .blockers(blockers)
        .help(help));
    }
    let target = match onto {
        Some(branch) => {
            Repo::check_branch_name(branch)?;
            branch.to_owned()
        }
        None => delta::target_branch(ctx, state)?.ok_or_else(|| {
            Failure::usage(
                "target_unknown",
                "the session is bound to no branch and HEAD is detached",
            )
            .help("git loopx archive --onto BRANCH")
        })?,
    };
    if target == ctx.store()?.branch() {
        return Err(Failure::usage(
            "target_invalid",
            format!("`{target}` keeps the sessions; specs belong on a code branch"),
        )
        .help("git loopx archive --onto BRANCH"));
    }
    let target_ref = format!("refs/heads/{target}");
    if ctx.repo.is_being_rebased(&target_ref) {
        return Err(Failure::refused(
            "target_busy",
            format!("`{target}` is being rebased; it would be moved under the rebase"),
        )
        .help("git rebase --continue  (or --abort), then: git loopx archive"));
    }
    let tip = ctx.repo.find_ref(&target_ref)?;
    let unborn_here = ctx.repo.head()?.branch.as_ref() == Some(&target);
    if tip.is_none() && !unborn_here {
        return Err(
            Failure::not_found("branch_unknown", format!("there is no branch `{target}`"))
                .help("git loopx archive --onto BRANCH"),
        );
    }
    let tree = match &tip {
        Some(tip) => Some(ctx.repo.commit_info(tip)?.tree),
        None => None,
    };
    let verdict = delta::verdict(ctx, state, &facts.policy, tree.as_ref(), &facts.texts)?;
    Ok(Plan {
        target,
        target_ref,
        tip,
        tree,
        specs: facts.policy.paths.specs.clone(),
        verdict,
    })
}

impl Plan {
    fn path(&self, domain: &str) -> String {
        format!("{}/{domain}/spec.md", self.specs)
    }

    /// Errors first, then conflicts, under the archive's own codes.
    fn refusal(&self) -> Option<Failure> {
        let mut failure = self.verdict.refusal()?;
        if failure.kind == Kind::Conflict {
            failure.code = "archive_conflict".into();
            failure.message = format!(
                "the delta and {} changed the same requirement; nothing was archived",
                self.target
            );
        } else {
            failure.code = "archive_blocked".into();
        }
        Some(failure)
    }

    /// The files that change. `resolved` stands in for the domains that were in conflict.
    fn changes(&self, resolved: &BTreeMap<String, String>) -> Vec<SpecChange> {
        let mut changes = Vec::new();
        for one in &self.verdict.domains {
            let domain = &one.outcome.domain;
            let after = match (resolved.get(domain), &one.outcome.action) {
                (Some(text), _) | (None, Action::Write(text)) => Some(text.clone()),
                (None, Action::Retire) => None,
                (None, Action::Keep) => continue,
            };
            if after != one.before {
                changes.push(SpecChange {
                    path: self.path(domain),
                    before: one.before.clone(),
                    after,
                });
            }
        }
        changes
    }

    fn archived(&self, id: &SessionId, commit: Option<Oid>, changes: Vec<SpecChange>) -> Archived {
        let warnings = self
            .verdict
            .findings()
            .filter(|finding| finding.severity == Severity::Warning)
            .map(|finding| format!("{}:{}: {}", finding.file, finding.line, finding.message))
            .collect();
        Archived {
            id: id.clone(),
            target: self.target.clone(),
            commit,
            changes,
            warnings,
            finished: false,
        }
    }

    /// The note of an archive that landed, made from its commit.
    fn pending(&self, ctx: &Context, facts: &Facts<'_>, new: Oid, at: &str) -> Result<Pending> {
        let info = ctx.repo.commit_info(&new)?;
        let old = info.parents.first().cloned();
        let before = match &old {
            Some(old) => Some(ctx.repo.commit_info(old)?.tree),
            None => None,
        };
        let blob = |tree: Option<&Oid>, path: &str| -> Result<Option<Oid>> {
            let Some(tree) = tree else { return Ok(None) };
            Ok(ctx.repo.entry_at(tree, path)?.map(|entry| entry.id))
        };
        let mut paths = seat::Changes::new();
        for one in &self.verdict.domains {
            let path = self.path(&one.outcome.domain);
            let sides = (
                blob(before.as_ref(), &path)?,
                blob(Some(&info.tree), &path)?,
            );
            if sides.0 != sides.1 {
                paths.insert(path, sides);
            }
        }
        Ok(Pending {
            format: 1,
            id: facts.state.id.clone(),
            target: self.target.clone(),
            old,
            new,
            paths,
            candidate: adr_candidate(&facts.state, &facts.texts, at),
        })
    }

    /// The domains in conflict.
    fn contested(&self) -> impl Iterator<Item = &str> {
        self.verdict
            .domains
            .iter()
            .filter(|one| !one.outcome.conflicts.is_empty())
            .map(|one| one.outcome.domain.as_str())
    }

    /// The blob of a domain's spec on the target branch.
    fn blob(&self, ctx: &Context, domain: &str) -> Result<Option<Oid>> {
        match &self.tree {
            Some(tree) => Ok(ctx
                .repo
                .entry_at(tree, &self.path(domain))?
                .map(|entry| entry.id)),
            None => Ok(None),
        }
    }
}

// Conflicts for a person.

/// Which conflicts were written out, against what, so that a resolution is not put onto something else.
#[derive(Debug, Serialize, Deserialize)]
struct Contest {
    format: u32,
    target: String,
    /// The delta that met the specs.
    delta: Option<Oid>,
    domains: BTreeMap<String, Sides>,
}

/// One domain in conflict.
#[derive(Debug, Serialize, Deserialize)]
struct Sides {
    /// The spec on the target branch.
    spec: Option<Oid>,
    /// The file with the marked sides, as it was written out.
    written: Oid,
}

fn contest_file(ctx: &Context, id: &SessionId) -> PathBuf {
    ctx.repo
        .git_dir()
        .join("loopx")
        .join(format!("{id}.conflicts.json"))
}

fn conflict_path(id: &SessionId, domain: &str) -> String {
    format!("{FOLDER}/{id}/conflicts/{domain}/spec.md")
}

fn read_contest(ctx: &Context, id: &SessionId) -> Result<Option<Contest>> {
    let path = contest_file(ctx, id);
    match files::read(&path, u64::MAX)? {
        Some(bytes) => crate::core::op::parse_json(&bytes, &path.display().to_string())
            .map(Some)
            .map_err(|failure| failure.help("git loopx archive --abort, then: git loopx archive")),
        None => Ok(None),
    }
}

fn no_conflict() -> Failure {
    Failure::nothing("no_conflict", "no archive waits to be continued here")
        .help("git loopx archive")
}

/// A resolution that somebody has begun is not written over, and not thrown away unasked.
fn refuse_begun(ctx: &Context, id: &SessionId) -> Result<()> {
    let (Some(contest), Some(top)) = (read_contest(ctx, id)?, ctx.repo.work_dir()) else {
        return Ok(());
    };
    let mut begun = Vec::new();
    for (domain, sides) in &contest.domains {
        let relative = conflict_path(id, domain);
        if let Some(bytes) = files::read(&files::inside(top, &relative)?, u64::MAX)?
            && Repo::hash_blob(&bytes)? != sides.written
        {
            begun.push(relative);
        }
    }
    if begun.is_empty() {
        return Ok(());
    }
    Err(Failure::conflict(
        "archive_conflict",
        format!(
            "a conflict with {} is being resolved in {}",
            contest.target,
            begun.join(", ")
        ),
    )
    .help("git loopx archive --continue, or give the resolution up: git loopx archive --abort"))
}

/// Writes the three sides where a person can edit them; nothing else changes.
fn write_conflicts(ctx: &Context, state: &State, plan: &Plan, failure: Failure) -> Result<Failure> {
    let id = &state.id;
    let Some(top) = ctx.repo.work_dir() else {
        return Ok(failure
            .help("archive in a worktree, where the conflict can be edited: git worktree add"));
    };
    if failure.kind != Kind::Conflict {
        return Ok(failure);
    }
    forget_conflicts(ctx, id)?;
    let mut names = Vec::new();
    let mut domains = BTreeMap::new();
    for one in &plan.verdict.domains {
        if let Some(text) = &one.outcome.rendered_conflict {
            let domain = &one.outcome.domain;
            let relative = conflict_path(id, domain);
            files::write(&files::inside(top, &relative)?, text.as_bytes())?;
            names.push(relative);
            let sides = Sides {
                spec: plan.blob(ctx, domain)?,
                written: Repo::hash_blob(text.as_bytes())?,
            };
            domains.insert(domain.clone(), sides);
        }
    }
    super::workcopy::exclude(&ctx.repo)?;
    let contest = Contest {
        format: 1,
        target: plan.target.clone(),
        delta: state.artifacts.get(&Artifact::SpecDelta).cloned(),
        domains,
    };
    files::write(&contest_file(ctx, id), &crate::core::op::to_json(&contest)?)?;
    let mut failure = failure.help(format!(
        "choose between the marked sides in {}, then run: git loopx archive --continue",
        names.join(", ")
    ));
    for blocker in &mut failure.blockers {
        blocker.code = "requirement_conflict".into();
        blocker.help = names.join(", ");
    }
    Ok(failure)
}

/// The domains as they were resolved.
fn resolved(
    ctx: &Context,
    state: &State,
    plan: &Plan,
    contest: &Contest,
) -> Result<BTreeMap<String, String>> {
    let id = &state.id;
    let again =
        "git loopx archive --abort  (copy your text first if you want it), then: git loopx archive";
    let moved = |what: String| Failure::refused("target_moved", what).help(again);
    if contest.target != plan.target {
        return Err(moved(format!(
            "the conflict that was written out is one with {}, not with {}",
            contest.target, plan.target
        )));
    }
    if contest.delta.as_ref() != state.artifacts.get(&Artifact::SpecDelta) {
        return Err(moved(
            "the session's delta changed since the conflict was written out".into(),
        ));
    }
    let known: BTreeSet<&str> = contest.domains.keys().map(String::as_str).collect();
    let mut same = plan.contested().collect::<BTreeSet<_>>() == known;
    for (domain, sides) in &contest.domains {
        same &= plan.blob(ctx, domain)? == sides.spec;
    }
    if !same {
        return Err(moved(format!(
            "the specs on {} changed since the conflict was written out",
            plan.target
        )));
    }
    let errors: Vec<_> = plan
        .verdict
        .findings()
        .filter(|finding| finding.severity == Severity::Error)
        .collect();
    if !errors.is_empty()
        && let Some(failure) = plan.refusal()
    {
        return Err(failure);
    }
    let top = ctx
        .repo
        .work_dir()
        .ok_or_else(|| Failure::usage("worktree_required", "this needs a worktree"))?;
    let mut texts = BTreeMap::new();
    for domain in contest.domains.keys() {
        let relative = conflict_path(id, domain);
        let bytes = files::read(&files::inside(top, &relative)?, u64::MAX)?.ok_or_else(|| {
            Failure::conflict("conflict_file_missing", format!("{relative} is not there"))
                .help("git loopx archive --abort, then: git loopx archive")
        })?;
        let text = String::from_utf8(bytes).map_err(|_| {
            Failure::conflict(
                "conflict_not_utf8",
                format!("{relative}: expected UTF-8, found other bytes"),
            )
        })?;
        if let Some(line) = marker_line(&text) {
            return Err(Failure::conflict(
                "conflict_unresolved",
                format!("{relative}:{line}: conflict markers are still there"),
            )
            .help("choose between the marked sides, then run: git loopx archive --continue"));
        }
        let faults = match read_spec(text.as_bytes(), &relative) {
            Ok(spec) => spec.findings,
            Err(finding) => vec![finding],
        };
        if let Some(fault) = faults
            .iter()
            .find(|finding| finding.severity == Severity::Error)
        {
            return Err(Failure::refused(
                "resolution_invalid",
                format!("{}:{}: {}", fault.file, fault.line, fault.message),
            )
            .help(fault.fix.clone()));
        }
        texts.insert(domain.clone(), text);
    }
    Ok(texts)
}

fn forget_conflicts(ctx: &Context, id: &SessionId) -> Result<()> {
    let path = contest_file(ctx, id);
    if let Some(bytes) = files::read(&path, u64::MAX)?
        && let Ok(contest) = serde_json::from_slice::<Contest>(&bytes)
        && let Some(top) = ctx.repo.work_dir()
    {
        for domain in contest.domains.keys() {
            let file = files::inside(top, &conflict_path(id, domain))?;
            files::remove(&file)?;
            // Folders go only when they are empty.
            let mut folder = file.parent();
            while let Some(dir) =
                folder.filter(|dir| dir.starts_with(top.join(FOLDER).join(id.as_str())))
            {
                if std::fs::remove_dir(dir).is_err() {
                    break;
                }
                folder = dir.parent();
            }
        }
    }
    files::remove(&path)
}

fn abort(ctx: &Context, session: &Session, onto: Option<&str>) -> Result<Archived> {
    let id = &session.state.id;
    if !contest_file(ctx, id).exists() {
        return Err(no_conflict());
    }
    forget_conflicts(ctx, id)?;
    Ok(Archived {
        id: id.clone(),
        target: onto
            .map(str::to_owned)
            .or_else(|| session.state.branch.clone())
            .unwrap_or_default(),
        commit: None,
        changes: Vec::new(),
        warnings: Vec::new(),
        finished: false,
    })
}

// Landing.

/// What is under way, so that the next command can finish it.
#[derive(Debug, Serialize, Deserialize)]
struct Pending {
    format: u32,
    id: SessionId,
    target: String,
    old: Option<Oid>,
    /// The commit on the target branch.
    new: Oid,
    /// Paths with the blobs that they had and have.
    paths: seat::Changes,
    candidate: String,
}

fn pending_dir(ctx: &Context) -> PathBuf {
    ctx.repo.common_dir().join("loopx").join("pending")
}

/// Makes the commit and moves both refs. `None`: the target branch moved, plan again.
fn land(
    ctx: &Context,
    store: &Store<'_>,
    lock: &Lock,
    identity: &Identity,
    facts: &Facts<'_>,
    plan: &Plan,
    changes: &[SpecChange],
) -> Result<Option<Option<Oid>>> {
    let repo = &ctx.repo;
    let state = &facts.state;
    let candidate = adr_candidate(state, &facts.texts, &identity.at);
    let mut edits = BTreeMap::new();
    let mut paths = seat::Changes::new();
    for change in changes {
        let blob = change
            .after
            .as_ref()
            .map(|text| repo.write_blob(text.as_bytes()))
            .transpose()?;
        let old = match &plan.tree {
            Some(tree) => repo.entry_at(tree, &change.path)?.map(|entry| entry.id),
            None => None,
        };
        edits.insert(change.path.clone(), blob.clone().map(Entry::blob));
        paths.insert(change.path.clone(), (old, blob));
    }
    for path in paths.keys() {
        require_folders(ctx, plan, path)?;
    }
    let tree = repo.edit_tree(plan.tree.as_ref(), &edits)?;
    if Some(&tree) == plan.tree.as_ref() {
        // Somebody wrote it by hand: there is nothing to commit.
        let closing = Closing {
            id: &state.id,
            target: &plan.target,
            commit: None,
            candidate: &candidate,
        };
        close(ctx, store, lock, identity, &closing)?;
        return Ok(Some(None));
    }
    if let Some(worktree) = seat::of(ctx, &plan.target_ref)? {
        let old = match &plan.tree {
            Some(tree) => tree.clone(),
            None => repo.empty_tree()?,
        };
        seat::require_free(&worktree, &paths, &old, &tree)?;
    }
    let message = commit_message(state, &store.snapshot()?.commit().clone());
    let parents: Vec<Oid> = plan.tip.iter().cloned().collect();
    let new = repo.write_commit(&tree, &parents, &message, identity)?;
    let pending = Pending {
        format: 1,
        id: state.id.clone(),
        target: plan.target.clone(),
        old: plan.tip.clone(),
        new: new.clone(),
        paths,
        candidate,
    };
    let note = pending_dir(ctx).join(format!("{}.json", state.id));
    files::write(&note, &crate::core::op::to_json(&pending)?)?;
    let why = format!("loopx: archive {}", state.id);
    match repo.swap_ref(&plan.target_ref, &new, plan.tip.as_ref(), &why) {
        Ok(Swap::Moved) => {}
        Ok(lost @ (Swap::Lost | Swap::Locked)) => {
            files::remove(&note)?;
            if lost == Swap::Locked {
                // git itself waits as long in all for a ref that somebody else is moving.
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            return Ok(None);
        }
        Err(failure) => {
            files::remove(&note)?;
            return Err(failure);
        }
    }
    complete(ctx, store, lock, identity, &pending)?;
    files::remove(&note)?;
    Ok(Some(Some(new)))
}

/// A spec cannot lie below something that is a file on the branch; it would have to go.
fn require_folders(ctx: &Context, plan: &Plan, path: &str) -> Result<()> {
    let Some(tree) = &plan.tree else {
        return Ok(());
    };
    for (end, _) in path.match_indices('/') {
        match ctx.repo.entry_at(tree, &path[..end])? {
            Some(entry) if entry.kind != EntryKind::Tree => {
                return Err(Failure::refused(
                    "spec_path_blocked",
                    format!(
                        "{} is a file or a link on {}; {path} needs a folder there",
                        &path[..end],
                        plan.target
                    ),
                )
                .help(format!("git mv {} ELSEWHERE", &path[..end])));
            }
            Some(_) => {}
            None => break,
        }
    }
    Ok(())
}

/// The archive commit on the target branch, if an earlier run made it: it names the session, and the
/// session is still as it was then.
fn landed_before(ctx: &Context, session: &Session, plan: &Plan) -> Result<Option<Oid>> {
    let Some(tip) = &plan.tip else {
        return Ok(None);
    };
    let id = &session.state.id;
    let hidden: Vec<Oid> = session.state.base.iter().cloned().collect();
    for commit in ctx.repo.range(tip, &hidden, 10_000)? {
        let info = ctx.repo.commit_info(&commit)?;
        if !info.trailer("Loopx-Event").contains(&"archive")
            || !info.trailer("Loopx-Session").contains(&id.as_str())
        {
            continue;
        }
        let same = info.trailer("Loopx-State").iter().any(|state| {
            Oid::parse(state)
                .and_then(|state| Snapshot::at(&ctx.repo, state, "Loopx-State"))
                .and_then(|snapshot| snapshot.session(id))
                .is_ok_and(|then| then.is_some_and(|then| then.tree == session.tree))
        });
        if same {
            return Ok(Some(commit));
        }
    }
    Ok(None)
}

fn commit_message(state: &State, session_commit: &Oid) -> String {
    format!(
        "Archive {}: {}\n\nLoopx-Session: {}\nLoopx-Event: archive\nLoopx-State: {session_commit}\n",
        state.id,
        store::one_line(&state.title),
        state.id
    )
}

/// What came of the archives that were under way.
#[derive(Debug, Default)]
pub struct Earlier {
    finished: Vec<SessionId>,
    failed: Vec<(SessionId, Failure)>,
}

impl Earlier {
    /// Whether this session's could be finished. That of another is no reason to stop.
    pub fn check(self, id: &SessionId) -> Result<()> {
        match self.failed.into_iter().find(|(failed, _)| failed == id) {
            Some((_, failure)) => Err(failure),
            None => Ok(()),
        }
    }
}

/// Finishes what earlier runs left between their two refs, before another command writes.
pub fn finish(
    ctx: &Context,
    store: &Store<'_>,
    lock: &Lock,
    identity: &Identity,
) -> Result<Earlier> {
    let mut earlier = Earlier::default();
    let Ok(entries) = std::fs::read_dir(pending_dir(ctx)) else {
        return Ok(earlier);
    };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|extension| extension != "json") {
            // A note that never got its name: only a holder of the lock writes here.
            drop(files::remove(&path));
            continue;
        }
        let Some(bytes) = files::read(&path, u64::MAX)? else {
            continue;
        };
        // A note that cannot be read was being written when its process died: nothing had happened yet.
        if let Ok(pending) = serde_json::from_slice::<Pending>(&bytes) {
            match finish_one(ctx, store, lock, identity, &pending) {
                Ok(true) => earlier.finished.push(pending.id),
                Ok(false) => {}
                Err(failure) => {
                    earlier.failed.push((pending.id, failure));
                    continue;
                }
            }
        }
        files::remove(&path)?;
    }
    Ok(earlier)
}

/// Says whether the target branch had moved, so that there was something to finish.
fn finish_one(
    ctx: &Context,
    store: &Store<'_>,
    lock: &Lock,
    identity: &Identity,
    pending: &Pending,
) -> Result<bool> {
    let target_ref = format!("refs/heads/{}", pending.target);
    let landed = match ctx.repo.find_ref(&target_ref)? {
        Some(tip) => ctx.repo.is_ancestor(&pending.new, &tip)?,
        None => false,
    };
    if landed {
        complete(ctx, store, lock, identity, pending)?;
    }
    Ok(landed)
}

/// After the target branch moved: its worktree, then the session.
fn complete(
    ctx: &Context,
    store: &Store<'_>,
    lock: &Lock,
    identity: &Identity,
    pending: &Pending,
) -> Result<()> {
    let target_ref = format!("refs/heads/{}", pending.target);
    if let Some(worktree) = seat::of(ctx, &target_ref)?
        && let Some(tip) = ctx.repo.find_ref(&target_ref)?
    {
        seat::follow(ctx, &worktree, &tip, &pending.paths)?;
    }
    let closing = Closing {
        id: &pending.id,
        target: &pending.target,
        commit: Some(&pending.new),
        candidate: &pending.candidate,
    };
    close(ctx, store, lock, identity, &closing)
}

/// What the record of an archive says.
struct Closing<'c> {
    id: &'c SessionId,
    target: &'c str,
    commit: Option<&'c Oid>,
    candidate: &'c str,
}

/// Moves the session to the archive, and takes its working copy away. Done before is done.
fn close(
    ctx: &Context,
    store: &Store<'_>,
    lock: &Lock,
    identity: &Identity,
    closing: &Closing<'_>,
) -> Result<()> {
    let id = closing.id;
    let open = store.snapshot()?.session(id)?;
    if open.is_some_and(|session| session.state.is_active()) {
        record(ctx, store, lock, identity, closing)?;
    }
    forget_conflicts(ctx, id)?;
    match WorkCopy::open(&ctx.repo, id)? {
        Some(mut copy) => copy.retire(),
        None => Ok(()),
    }
}

fn record(
    ctx: &Context,
    store: &Store<'_>,
    lock: &Lock,
    identity: &Identity,
    closing: &Closing<'_>,
) -> Result<()> {
    let id = closing.id;
    store.update(lock, identity, |snapshot| {
        let session = load_active(snapshot, id)?;
        let month: String = identity.at.chars().take(7).collect();
        let op = Operation {
            format: FORMAT,
            seq: session.state.seq + 1,
            op: new_op_id()?,
            at: identity.at.clone(),
            by: identity.author.clone(),
            reason: None,
            writes: BTreeMap::new(),
            bases: Vec::new(),
            event: Event::Archived {
                commit: closing.commit.cloned(),
                target: closing.target.to_owned(),
                month: month.clone(),
            },
        };
        let mut ops = snapshot.operations(&session)?;
        ops.push(op.clone());
        let mut state = session.state.clone();
        state.apply(&op);
        let adr = ctx.repo.write_blob(closing.candidate.as_bytes())?;
        let mut edits = store::Edits::default();
        edits.archive(
            &ctx.repo,
            &session,
            &ops,
            &state,
            &month,
            &[(Artifact::AdrCandidate, adr)],
        )?;
        if let Some(branch) = &state.branch
            && snapshot.bound_to(branch)?.as_ref() == Some(id)
        {
            edits.unbind(branch);
        }
        let message = store::message(id, &format!("archive on {}", closing.target), &op, &state);
        Ok(Decision {
            edits,
            message,
            value: (),
        })
    })?;
    Ok(())
}

/// A candidate for a decision record; `adr promote` gives it a number.
fn adr_candidate(state: &State, texts: &BTreeMap<Artifact, String>, at: &str) -> String {
    let section = |artifact: Artifact, title: &str| {
        texts
            .get(&artifact)
            .and_then(|text| section_text(text, title))
    };
    let context = section(Artifact::Proposal, "Why")
        .or_else(|| {
            texts
                .get(&Artifact::Intent)
                .map(|text| text.trim().to_owned())
        })
        .unwrap_or_default();
    let decision = section(Artifact::Design, "Decision").unwrap_or_default();
    let mut text = format!(
        "---\nstatus: proposed\ndate: {}\nsession: {}\n---\n# {}\n\n## Context and Problem Statement\n\n{context}\n",
        at.chars().take(10).collect::<String>(),
        state.id,
        store::one_line(&state.title)
    );
    if let Some(options) = section(Artifact::Plan, "Options considered") {
        text.push_str(&format!("\n## Considered Options\n\n{options}\n"));
    }
    text.push_str(&format!("\n## Decision Outcome\n\n{decision}\n"));
    if let Some(consequences) = section(Artifact::Design, "Consequences") {
        text.push_str(&format!("\n### Consequences\n\n{consequences}\n"));
    }
    text
}
