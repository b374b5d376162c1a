//! Moving the two refs, and finishing what a killed run left between them.

use super::super::act::{Facts, load_active, new_op_id};
use super::super::context::Context;
use super::super::files;
use super::super::seat;
use super::super::workcopy::WorkCopy;
use super::contest::forget_conflicts;
use super::plan::{Aim, Plan};
use super::{SpecChange, Waivers};
use crate::core::artifact::Artifact;
use crate::core::failure::{Failure, Result};
use crate::core::id::{Oid, SessionId};
use crate::core::markdown::section_text;
use crate::core::op::{Event, FORMAT, Operation};
use crate::core::session::State;
use crate::git::{Entry, EntryKind, Identity, Swap};
use crate::store::{self, Decision, Lock, Session, Snapshot, Store};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

// Landing.

/// What is under way, so that the next command can finish it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Pending {
    pub(super) format: u32,
    pub(super) id: SessionId,
    pub(super) target: String,
    pub(super) old: Option<Oid>,
    /// The commit on the target branch.
    pub(super) new: Oid,
    /// Paths with the blobs that they had and have.
    pub(super) paths: seat::Changes,
    pub(super) candidate: String,
    /// An archive that is taken back: the session stays as it is.
    #[serde(default)]
    pub(super) undo: bool,
}

fn pending_dir(ctx: &Context) -> PathBuf {
    ctx.repo.common_dir().join("loopx").join("pending")
}

/// Makes the commit and moves both refs. `None`: the target branch moved, plan again.
pub(super) fn land(
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
    let (edits, paths) = edits(ctx, &plan.aim, changes)?;
    let tree = repo.edit_tree(plan.aim.tree.as_ref(), &edits)?;
    if Some(&tree) == plan.aim.tree.as_ref() {
        // Somebody wrote it by hand: there is nothing to commit.
        let closing = Closing {
            id: &state.id,
            target: &plan.aim.target,
            commit: None,
            candidate: &candidate,
        };
        close(ctx, store, lock, identity, &closing)?;
        return Ok(Some(None));
    }
    let message = commit_message(state, store.snapshot()?.commit(), &plan.waived);
    let parents: Vec<Oid> = plan.aim.tip.iter().cloned().collect();
    require_free(ctx, &plan.aim, &paths, &tree)?;
    let new = repo.write_commit(&tree, &parents, &message, identity)?;
    let pending = Pending {
        format: 1,
        id: state.id.clone(),
        target: plan.aim.target.clone(),
        old: plan.aim.tip.clone(),
        new: new.clone(),
        paths,
        candidate,
        undo: false,
    };
    let why = format!("loopx: archive {}", state.id);
    if !publish(ctx, store, lock, identity, &plan.aim, &pending, &why)? {
        return Ok(None);
    }
    Ok(Some(Some(new)))
}

/// Makes the commit that takes an archive back, and moves the target branch. `None`: it moved, look
/// again.
pub(super) fn land_undo(
    ctx: &Context,
    store: &Store<'_>,
    lock: &Lock,
    identity: &Identity,
    aim: &Aim,
    (id, message): (&SessionId, &str),
    changes: &[SpecChange],
) -> Result<Option<Oid>> {
    let (edits, paths) = edits(ctx, aim, changes)?;
    let tree = ctx.repo.edit_tree(aim.tree.as_ref(), &edits)?;
    require_free(ctx, aim, &paths, &tree)?;
    let parents: Vec<Oid> = aim.tip.iter().cloned().collect();
    let new = ctx.repo.write_commit(&tree, &parents, message, identity)?;
    let pending = Pending {
        format: 1,
        id: id.clone(),
        target: aim.target.clone(),
        old: aim.tip.clone(),
        new: new.clone(),
        paths,
        candidate: String::new(),
        undo: true,
    };
    let why = format!("loopx: unarchive {id}");
    let moved = publish(ctx, store, lock, identity, aim, &pending, &why)?;
    Ok(moved.then_some(new))
}

/// What a tree takes in, by path.
type Edits = BTreeMap<String, Option<Entry>>;

/// What the target's tree has to take in, and which blobs that replaces.
fn edits(ctx: &Context, aim: &Aim, changes: &[SpecChange]) -> Result<(Edits, seat::Changes)> {
    let mut edits = Edits::new();
    let mut paths = seat::Changes::new();
    for change in changes {
        let blob = change
            .after
            .as_ref()
            .map(|text| ctx.repo.write_blob(text.as_bytes()))
            .transpose()?;
        let old = match &aim.tree {
            Some(tree) => ctx.repo.entry_at(tree, &change.path)?.map(|entry| entry.id),
            None => None,
        };
        edits.insert(change.path.clone(), blob.clone().map(Entry::blob));
        paths.insert(change.path.clone(), (old, blob));
    }
    for path in paths.keys() {
        require_folders(ctx, aim, path)?;
    }
    Ok((edits, paths))
}

/// The worktree that has the branch, if any, has to be able to follow.
fn require_free(ctx: &Context, aim: &Aim, paths: &seat::Changes, tree: &Oid) -> Result<()> {
    let Some(worktree) = seat::of(ctx, &aim.target_ref)? else {
        return Ok(());
    };
    let old = match &aim.tree {
        Some(tree) => tree.clone(),
        None => ctx.repo.empty_tree()?,
    };
    seat::require_free(&worktree, "archive", paths, (&old, tree))
}

/// Notes down what is under way, moves the target branch and finishes. False: the branch moved, and
/// nothing is left behind.
fn publish(
    ctx: &Context,
    store: &Store<'_>,
    lock: &Lock,
    identity: &Identity,
    aim: &Aim,
    pending: &Pending,
    why: &str,
) -> Result<bool> {
    let note = pending_dir(ctx).join(format!("{}.json", pending.id));
    files::write(&note, &crate::core::op::to_json(pending)?)?;
    let moved = ctx
        .repo
        .swap_ref(&aim.target_ref, &pending.new, aim.tip.as_ref(), why);
    match moved {
        Ok(Swap::Moved) => {}
        Ok(lost @ (Swap::Lost | Swap::Locked)) => {
            files::remove(&note)?;
            if lost == Swap::Locked {
                // git itself waits as long in all for a ref that somebody else is moving.
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            return Ok(false);
        }
        Err(failure) => {
            files::remove(&note)?;
            return Err(failure);
        }
    }
    complete(ctx, store, lock, identity, pending)?;
    files::remove(&note)?;
    Ok(true)
}

/// A spec cannot lie below something that is a file on the branch; it would have to go.
fn require_folders(ctx: &Context, aim: &Aim, path: &str) -> Result<()> {
    let Some(tree) = &aim.tree else {
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
                        aim.target
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
pub(super) fn landed_before(ctx: &Context, session: &Session, plan: &Plan) -> Result<Option<Oid>> {
    let Some(tip) = &plan.aim.tip else {
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

fn commit_message(state: &State, session_commit: &Oid, waived: &Waivers) -> String {
    let mut text = format!(
        "Archive {}: {}\n\n",
        state.id,
        store::one_line(&state.title)
    );
    if !waived.scenarios.is_empty() {
        text.push_str("Without evidence:\n");
        for scenario in &waived.scenarios {
            text.push_str(&format!("- {}\n", store::one_line(scenario)));
        }
        text.push_str(&format!("because: {}\n\n", store::one_line(&waived.reason)));
    }
    text.push_str(&format!(
        "Loopx-Session: {}\nLoopx-Event: archive\nLoopx-State: {session_commit}\n",
        state.id
    ));
    for scenario in &waived.scenarios {
        text.push_str(&format!("Loopx-Waived: {}\n", store::one_line(scenario)));
    }
    text
}

/// What came of the archives that were under way.
#[derive(Debug, Default)]
pub struct Earlier {
    pub(super) finished: Vec<SessionId>,
    /// Archives that were being taken back.
    pub(super) undone: Vec<SessionId>,
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
                Ok(true) if pending.undo => earlier.undone.push(pending.id),
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
pub(super) fn complete(
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
    if pending.undo {
        return Ok(());
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
            committer: identity.committer.clone(),
            reason: None,
            writes: BTreeMap::new(),
            bases: Vec::new(),
            claim: None,
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
pub fn adr_candidate(state: &State, texts: &BTreeMap<Artifact, String>, at: &str) -> String {
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
