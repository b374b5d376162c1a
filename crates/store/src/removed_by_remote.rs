//! Removals that a sync met: operations that the other side took away, and conflicts that are open now.
//!
//! What is lost is decided as a server decides it of a push (see [`super::loss`]), but for what cannot be
//! read here: that keeps nobody from going on. History is walked only where something is lost, to name the
//! commit that did it.

use super::loss::{Holding, Loss, between};
use super::merge_branch::{MergedSession, read_state, session_folders};
use super::snapshot::operations_in;
use super::{Snapshot, Store, layout, ops};
use loopx_base::failure::{Code, Failure, Kind, Result};
use loopx_base::hint::{command, hint};
use loopx_base::id::{Oid, OpId};
use loopx_git::Repo;
use loopx_rules::moved::Moved;
use loopx_rules::op::Operation;
use loopx_rules::session::State;
use loopx_rules::signature::SUFFIX;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Event of a commit that takes away with reason: `doctor --recover` took back what a hand had done. A repair takes no
/// operation away.
const RECOVERS: &str = "recover";

/// Number of losses that a refusal names.
const SHOWN: usize = 5;

/// A session of which the other side took something away; or another folder with records, by its path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RemovedByRemote {
    pub session: String,
    pub what: String,
    /// The first commit without it.
    pub commit: Oid,
    /// Set when the loss was brought back: what a hand had done and a recovery took back is not.
    pub brought_back: bool,
}

impl Store<'_> {
    /// Refuses a branch that is not what this clone knew, or that went on from it. One that is not there
    /// and never was is none.
    pub fn require_undisturbed(&self) -> Result<()> {
        let shadow = self.shadow();
        let tip = self.tip()?;
        self.require_grown(shadow.as_ref(), tip.as_ref())
    }

    /// Losses of `theirs` against `base`, from which it comes.
    pub(super) fn taken_away(&self, base: &Oid, theirs: &Oid) -> Result<Vec<RemovedByRemote>> {
        let lost = losses(self.repo, base, theirs)?;
        if lost.is_empty() {
            return Ok(Vec::new());
        }
        let mut open: BTreeMap<String, String> = BTreeMap::new();
        for loss in lost {
            let what = loss.said();
            open.entry(loss.entity).or_insert(what);
        }
        let mut commits = self
            .repo
            .range(theirs, std::slice::from_ref(base), usize::MAX)?;
        commits.reverse();
        let mut found = Vec::new();
        for commit in commits {
            let info = self.repo.commit_info(&commit)?;
            let events = info.trailer("Loopx-Event");
            let is_mend = events.contains(&RECOVERS);
            for parent in &info.parents {
                for Loss { entity, .. } in losses(self.repo, parent, &commit)? {
                    if let Some(what) = open.remove(&entity) {
                        found.push(RemovedByRemote {
                            session: entity,
                            what,
                            commit: commit.clone(),
                            brought_back: !is_mend,
                        });
                    }
                }
            }
            if open.is_empty() {
                break;
            }
        }
        // Not by one step, so by all of them.
        found.extend(open.into_iter().map(|(session, what)| RemovedByRemote {
            session,
            what,
            commit: theirs.clone(),
            brought_back: true,
        }));
        found.sort_by(|one, other| one.session.cmp(&other.session));
        Ok(found)
    }

    /// Refuses a result that has not all that was here.
    pub(super) fn require_nothing_lost(
        &self,
        ours: &Oid,
        result: &Oid,
        label: &str,
        taken: &[RemovedByRemote],
    ) -> Result<()> {
        let mended: BTreeSet<&String> = taken
            .iter()
            .filter(|one| !one.brought_back)
            .map(|one| &one.session)
            .collect();
        let mut lost = losses(self.repo, ours, result)?;
        lost.retain(|loss| !mended.contains(&loss.entity));
        let said = lost.into_iter().map(|loss| {
            let by = taken.iter().find(|one| one.session == loss.entity);
            match by {
                Some(one) => format!("{} (commit {})", loss.said(), one.commit.short()),
                None => loss.said(),
            }
        });
        let said: Vec<String> = said.collect();
        if said.is_empty() {
            Ok(())
        } else {
            Err(lost_operations(label, &said, None))
        }
    }

    /// The sessions in which operations stand now that did not before. What cannot be read is for `fsck`.
    pub fn moved(&self, before: &Oid, now: &Oid) -> Result<Vec<Moved>> {
        let repo = self.repo;
        if before == now {
            return Ok(Vec::new());
        }
        let then = repo.commit_info(before)?.tree;
        let now = repo.commit_info(now)?.tree;
        let sides = [
            session_folders(repo, &then, &now)?,
            session_folders(repo, &now, &then)?,
        ];
        let differing = |at: usize| {
            let (here, there) = (&sides[at], &sides[1 - at]);
            here.iter()
                .filter(|(path, folder)| there.get(*path).is_none_or(|other| other.1 != folder.1))
                .filter_map(|(path, (_, tree))| {
                    let state = read_state(repo, path, tree).ok()?;
                    Some((state, path, tree))
                })
        };
        // By uid: a session may have another name now, or lie in the archive.
        let mut known: BTreeMap<String, (State, &Oid)> = BTreeMap::new();
        for (state, _, tree) in differing(0) {
            known.insert(state.uid.clone(), (state, tree));
        }
        let moved = differing(1).filter_map(|(state, path, tree)| {
            let before = known.get(&state.uid);
            let came = came(repo, path, before.map(|(_, tree)| *tree), tree).ok()?;
            Moved::of(before.map(|(state, _)| state), &state, &came)
        });
        Ok(moved.collect())
    }

    /// The active sessions that differ between a state of the branch and another, and have an open
    /// conflict in the latter.
    pub fn open_conflicts(&self, before: Option<&Oid>, now: &Oid) -> Result<Vec<MergedSession>> {
        let repo = self.repo;
        let then = match before {
            Some(before) if before == now => return Ok(Vec::new()),
            Some(before) => repo.commit_info(before)?.tree,
            None => repo.empty_tree()?,
        };
        let now = repo.commit_info(now)?.tree;
        let known = session_folders(repo, &then, &now)?;
        let mut found = Vec::new();
        for (path, (session, tree)) in session_folders(repo, &now, &then)? {
            let is_active = path.starts_with(layout::SESSIONS);
            if !is_active || known.get(&path).is_some_and(|(_, known)| *known == tree) {
                continue;
            }
            // What cannot be read is for `fsck`.
            if let Ok(state) = read_state(repo, &path, &tree)
                && state.is_active()
                && state.open_conflicts() > 0
            {
                let conflicts = state.open_conflicts();
                found.push(MergedSession { session, conflicts });
            }
        }
        Ok(found)
    }
}

/// Reads the operations that came. The name of an operation's file never changes: only files of new names are read.
fn came(repo: &Repo, path: &str, before: Option<&Oid>, now: &Oid) -> Result<Vec<Operation>> {
    let Some(ops) = ops::tree(repo, now)? else {
        // Closed: they stand in one file.
        let known: BTreeSet<OpId> = match before {
            Some(before) => operations_in(repo, path, before)?
                .into_iter()
                .map(|op| op.op)
                .collect(),
            None => BTreeSet::new(),
        };
        let mut all = operations_in(repo, path, now)?;
        all.retain(|op| !known.contains(&op.op));
        return Ok(all);
    };
    let known: BTreeSet<String> = match before {
        Some(before) => ops::tree(repo, before)?
            .map(|ops| ops::files(repo, &ops))
            .transpose()?
            .into_iter()
            .flatten()
            .map(|held| held.name)
            .collect(),
        None => BTreeSet::new(),
    };
    ops::files(repo, &ops)?
        .iter()
        .filter(|held| !held.name.ends_with(SUFFIX) && !known.contains(&held.name))
        .map(|held| ops::read_one(repo, held, path))
        .collect()
}

/// Losses of one commit's records against another commit. A commit that is none of this branch's states has nothing to
/// lose.
fn losses(repo: &Repo, before: &Oid, now: &Oid) -> Result<Vec<Loss>> {
    let Ok(before) = Snapshot::at(repo, before.clone(), "the branch") else {
        return Ok(Vec::new());
    };
    let now = Snapshot::at(repo, now.clone(), "the branch")?;
    if before.tree() == now.tree() {
        return Ok(Vec::new());
    }
    let mut lost = between(&Holding::of(before)?, &Holding::of(now)?);
    lost.retain(Loss::is_known);
    Ok(lost)
}

/// Refusal where what was taken away cannot be brought back either.
pub(super) fn lost_operations(label: &str, lost: &[String], why: Option<&Failure>) -> Failure {
    let more = match lost.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    let shown: Vec<&str> = lost.iter().take(SHOWN).map(String::as_str).collect();
    let why = why.map_or_else(String::new, |why| {
        format!("; it cannot be brought back: {}", why.message)
    });
    Failure::new(
        Kind::Refused,
        Code::RemoteLostOperations,
        format!(
            "{label} lacks what this clone has: {}{more}{why}; nothing was taken over, and this clone still has all of it",
            shown.join("; ")
        ),
    )
    .help(hint![command!("export SESSION"), "  (one file with all of it), and ask whoever pushed that commit to revert it; then: ", command!("sync")])
}
