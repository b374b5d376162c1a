//! The branch here and the branch of another clone, brought together: nothing to do, a step forward, a
//! merge commit with both parents, or (linear) the own commits again on top of the others'.

use super::incoming::{self, Flaw, Sides};
use super::merge_branch::{MergedBranch, merge_trees};
use super::removed_by_remote::{RemovedByRemote, lost_operations};
use super::transaction::Move;
use super::{Lock, Snapshot, Store, fanout, names, withdrawn};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{command, hint};
use loopx_base::id::Oid;
use loopx_git::{CommitInfo, Identity};
use serde::Serialize;

/// Ending of a meeting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Met {
    /// No change: all of theirs was here.
    Nothing,
    /// Fast-forward: nothing here was its own, and the branch took their tip.
    Forward,
    /// A commit has both for parents.
    Merged,
    /// Linear merge: own commits were made again on top of theirs.
    Replayed,
}

/// The branch as a clone begins with it.
#[derive(Debug)]
pub struct Begun {
    pub tip: Oid,
    /// The ref that it was taken from.
    pub from: Option<String>,
    /// Flaws there that were mended: files that did not follow from the records.
    pub mended: Vec<Flaw>,
    pub damaged: Vec<Flaw>,
}

/// Permission to make a merge commit, and where there is none, the side whose commits are made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linear {
    No,
    OursOnTop,
    TheirsOnTop,
}

/// Result of a meeting.
#[derive(Debug)]
pub struct Meeting {
    pub met: Met,
    pub tip: Oid,
    /// Merge, where both sides had something of their own.
    pub merged: Option<MergedBranch>,
    /// Sessions and folders of which the other side had taken something away.
    pub taken_away: Vec<RemovedByRemote>,
    /// Flaws that were mended: files that did not follow from the records there, and were computed from them.
    pub mended: Vec<Flaw>,
    /// Flaws of what is damaged and was taken all the same: it is damaged here too, or nothing was here.
    pub damaged: Vec<Flaw>,
    /// Former tip of the branch, if own commits that no server takes were left behind.
    pub left_behind: Option<LeftBehind>,
}

/// Own commits that were left behind, because what was wrong in them was mended later and no server takes them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftBehind {
    /// Former tip of the branch.
    pub tip: Oid,
    /// The ref that keeps it; none in a dry run.
    pub kept: Option<String>,
}

impl Meeting {
    pub(super) fn of(met: Met, tip: Oid) -> Self {
        Meeting {
            met,
            tip,
            merged: None,
            taken_away: Vec::new(),
            mended: Vec::new(),
            damaged: Vec::new(),
            left_behind: None,
        }
    }
}

/// The trailer by which a commit that was made again names the one that it was: commits of code know
/// that one as the state that allowed them.
const WAS: &str = "Loopx-Was";

/// Line of the trailer for a commit.
pub fn was(commit: &Oid) -> String {
    format!("{WAS}: {commit}")
}

/// The commits that this one stands for, as others may name them.
pub fn stands_for(info: &CommitInfo) -> Vec<Oid> {
    let named = info.trailer(WAS).into_iter();
    named.filter_map(|id| Oid::parse(id).ok()).collect()
}

impl Store<'_> {
    /// Plans a meeting with `theirs`. Objects may be written; no ref moves. Refused where the meeting would bring
    /// damage that is not here.
    pub fn plan_meeting(
        &self,
        identity: &Identity,
        theirs: &Oid,
        label: &str,
        linear: Linear,
    ) -> Result<Meeting> {
        let repo = self.repo;
        let ours = repo.find_ref(&self.branch_ref())?;
        let meeting = match &ours {
            None => {
                Snapshot::at(repo, theirs.clone(), label)?;
                Meeting::of(Met::Forward, theirs.clone())
            }
            Some(ours) => self.brought_together(identity, (ours, theirs), label, linear)?,
        };
        if ours.as_ref() == Some(&meeting.tip) {
            Ok(meeting)
        } else {
            self.judged(identity, (ours.as_ref(), theirs), label, meeting)
        }
    }

    /// The state at the tip of a remote's branch. Where that is no branch of sessions, but was one when this clone saw
    /// it last, the failure leads back there.
    pub fn there(&self, theirs: &Oid, label: &str) -> Result<Snapshot<'_>> {
        Snapshot::at(self.repo, theirs.clone(), label).map_err(|failure| {
            if failure.code != Code::BranchForeign {
                return failure;
            }
            let seen = self.repo.moves(&format!("refs/remotes/{label}"));
            match seen.into_iter().find(|commit| self.is_readable(commit)) {
                Some(before) => {
                    failure.help(withdrawn::set_back(label, &self.branch, "", before.short()))
                }
                None => failure,
            }
        })
    }

    /// Judges the result of a meeting, and puts right what follows from records in a commit on top of it.
    fn judged(
        &self,
        identity: &Identity,
        (ours, theirs): (Option<&Oid>, &Oid),
        label: &str,
        mut meeting: Meeting,
    ) -> Result<Meeting> {
        let repo = self.repo;
        let at = |commit: &Oid| Snapshot::at(repo, commit.clone(), label);
        let base = match ours {
            Some(ours) => repo.merge_base(ours, theirs)?,
            None => None,
        };
        // A base without a branch on it is the constant root.
        let base = base.as_ref().and_then(|base| at(base).ok());
        let ours = ours.map(at).transpose()?;
        let (theirs, result) = (at(theirs)?, at(&meeting.tip)?);
        let sides = Sides {
            ours: ours.as_ref(),
            base: base.as_ref(),
            theirs: &theirs,
        };
        let judged = incoming::judge(sides, &result)?;
        let names = (label, self.branch.as_str());
        if ours.is_some() && !judged.damaged.is_empty() {
            return Err(incoming::refused(names, theirs.commit(), &judged.damaged));
        }
        if let Some(ours) = &ours {
            withdrawn::require_none_withdrawn(ours, &theirs, &result, names)?;
        }
        if !judged.edits.is_empty() {
            let tree = fanout::edit(repo, Some(result.tree()), &judged.edits)?;
            let message =
                format!("loopx: compute again what {label} had otherwise\n\nLoopx-Event: repair\n");
            let parents = [meeting.tip];
            meeting.tip = repo.write_commit(&tree, &parents, &message, identity)?;
            if meeting.met == Met::Forward {
                meeting.met = Met::Merged;
            }
        }
        meeting.mended = judged.mended;
        meeting.damaged = judged.known;
        meeting.damaged.extend(judged.damaged);
        Ok(meeting)
    }

    /// Brings the branch here and another one together.
    fn brought_together(
        &self,
        identity: &Identity,
        (ours, theirs): (&Oid, &Oid),
        label: &str,
        linear: Linear,
    ) -> Result<Meeting> {
        let repo = self.repo;
        let there = self.there(theirs, label)?;
        let done = |met, tip: &Oid| Meeting::of(met, tip.clone());
        if let Some(tip) = self.cleared(identity, ours, theirs)? {
            // What else came is brought together with what is left of ours.
            let mut meeting = if repo.is_ancestor(theirs, &tip)? {
                done(Met::Replayed, &tip)
            } else {
                self.brought_together(identity, (&tip, theirs), label, linear)?
            };
            meeting.left_behind = Some(LeftBehind {
                tip: ours.clone(),
                kept: None,
            });
            return Ok(meeting);
        }
        if repo.is_ancestor(theirs, ours)? {
            // A merge that was made before merges were unwanted is made linear now.
            return if linear == Linear::OursOnTop && self.has_merges(ours, theirs)? {
                let tip = self.replayed(identity, ours, theirs, false)?;
                Ok(done(Met::Replayed, &tip))
            } else {
                Ok(done(Met::Nothing, ours))
            };
        }
        let here = Snapshot::at(repo, ours.clone(), &self.branch)?;
        if !repo.is_ancestor(ours, theirs)? {
            return self.merged(identity, (&here, &there), label, linear);
        }
        names::require_none_new(repo, Some(ours), theirs, label)?;
        let taken_away = self.taken_away(ours, theirs)?;
        if taken_away.is_empty() {
            Ok(done(Met::Forward, theirs))
        } else {
            self.bring_back(identity, (&here, &there), taken_away, label)
        }
    }

    /// Merges two tips of which none comes from the other.
    fn merged(
        &self,
        identity: &Identity,
        (here, there): (&Snapshot<'_>, &Snapshot<'_>),
        label: &str,
        linear: Linear,
    ) -> Result<Meeting> {
        let repo = self.repo;
        let (ours, theirs) = (here.commit(), there.commit());
        let base = repo
            .merge_base(ours, theirs)?
            .ok_or_else(|| self.no_base(label))?;
        names::require_none_new(repo, Some(ours), theirs, label)?;
        let taken_away = self.taken_away(&base, theirs)?;
        let parted = Snapshot::at(repo, base.clone(), label).ok();
        let base = repo.commit_info(&base)?.tree;
        let anew = taken_away.iter().any(|one| one.brought_back);
        let merged = merge_trees(repo, &base, here.tree(), there.tree(), anew).map_err(|why| {
            // Records that cannot be read are theirs, not this clone's to repair.
            let sides = Sides {
                ours: Some(here),
                base: parted.as_ref(),
                theirs: there,
            };
            match incoming::judge(sides, there) {
                Ok(judged) if !judged.damaged.is_empty() && taken_away.is_empty() => {
                    incoming::refused((label, &self.branch), theirs, &judged.damaged)
                }
                _ => not_brought_back(label, &taken_away, why),
            }
        })?;
        let (met, tip) = match linear {
            Linear::OursOnTop => (Met::Replayed, self.replayed(identity, ours, theirs, anew)?),
            Linear::TheirsOnTop => (Met::Replayed, self.replayed(identity, theirs, ours, anew)?),
            Linear::No => {
                let message = format!("loopx: merge {label}\n\nLoopx-Event: sync\n");
                let parents = [ours.clone(), theirs.clone()];
                let tip = repo.write_commit(&merged.tree, &parents, &message, identity)?;
                (Met::Merged, tip)
            }
        };
        self.require_nothing_lost(ours, &tip, label, &taken_away)?;
        Ok(Meeting {
            merged: Some(merged),
            taken_away,
            ..Meeting::of(met, tip)
        })
    }

    /// Takes a tip that comes from ours and lacks something of ours: one commit on top of it has both.
    fn bring_back(
        &self,
        identity: &Identity,
        (here, there): (&Snapshot<'_>, &Snapshot<'_>),
        taken_away: Vec<RemovedByRemote>,
        label: &str,
    ) -> Result<Meeting> {
        let mut tip = there.commit().clone();
        let mut met = Met::Forward;
        let mut tree = None;
        if taken_away.iter().any(|one| one.brought_back) {
            let merged = merge_trees(self.repo, here.tree(), here.tree(), there.tree(), true);
            let merged = merged.map_err(|why| not_brought_back(label, &taken_away, why))?;
            let message = format!("loopx: bring back what {label} lost\n\nLoopx-Event: sync\n");
            tip = self
                .repo
                .write_commit(&merged.tree, &[tip], &message, identity)?;
            met = Met::Merged;
            tree = Some(merged);
        }
        self.require_nothing_lost(here.commit(), &tip, label, &taken_away)?;
        Ok(Meeting {
            merged: tree,
            taken_away,
            ..Meeting::of(met, tip)
        })
    }

    /// Brings the branch together with `theirs`, by compare-and-swap.
    pub fn meet(
        &self,
        lock: &Lock,
        identity: &Identity,
        theirs: &Oid,
        label: &str,
        linear: Linear,
    ) -> Result<Meeting> {
        self.transact(lock, |shadow| {
            let before = self.repo.find_ref(&self.branch_ref())?;
            self.require_grown(shadow, before.as_ref())?;
            let mut meeting = self.plan_meeting(identity, theirs, label, linear)?;
            if let Some(left) = &mut meeting.left_behind {
                left.kept = Some(self.put_aside(&left.tip)?);
            }
            Ok(Move {
                old: before,
                new: meeting.tip.clone(),
                why: format!("loopx: sync with {label}"),
                value: meeting,
            })
        })
    }

    /// The own commits again, each on top of the one before, from theirs on. One whose operations are
    /// there already is left out.
    fn replayed(&self, identity: &Identity, ours: &Oid, theirs: &Oid, anew: bool) -> Result<Oid> {
        self.again(identity, (ours, theirs), (false, anew), |info| {
            info.parents.len() == 1
        })
    }

    /// The own commits of which `is_made` is so again, from theirs on, and what the others settled behind them. With
    /// `each_anew` every session that one of them changes is made of its operations, with `anew` also in the end.
    pub(super) fn again(
        &self,
        identity: &Identity,
        (ours, theirs): (&Oid, &Oid),
        (each_anew, anew): (bool, bool),
        is_made: impl Fn(&CommitInfo) -> bool,
    ) -> Result<Oid> {
        let repo = self.repo;
        let mut own = repo.range(ours, std::slice::from_ref(theirs), usize::MAX)?;
        own.reverse();
        let own_tree = repo.commit_info(ours)?.tree;
        let mut tip = theirs.clone();
        let mut tree = repo.commit_info(theirs)?.tree;
        // What is not made again by itself is named by the next one that is.
        let mut names = Vec::new();
        for commit in own {
            let info = repo.commit_info(&commit)?;
            names.push(was(&commit));
            let [parent, ..] = info.parents.as_slice() else {
                continue;
            };
            if !is_made(&info) {
                continue;
            }
            let base = repo.commit_info(parent)?.tree;
            let merged = merge_trees(repo, &base, &tree, &info.tree, each_anew)?;
            if merged.tree != tree {
                let parents = [tip.clone()];
                let by = Some(identity);
                tip = repo.write_commit_like(&commit, &merged.tree, &parents, by, &names)?;
                tree = merged.tree;
                names.clear();
            }
        }
        // What merges of ours had settled comes last.
        let parted = repo.merge_base(ours, theirs)?;
        let base = repo.commit_info(parted.as_ref().unwrap_or(theirs))?.tree;
        let merged = merge_trees(repo, &base, &own_tree, &tree, anew)?;
        if merged.tree != tree || !names.is_empty() {
            tip = self.gathered(identity, (&merged.tree, &tip), &names)?;
        }
        Ok(tip)
    }

    /// Makes one commit that stands for others.
    pub(super) fn gathered(
        &self,
        identity: &Identity,
        (tree, parent): (&Oid, &Oid),
        names: &[String],
    ) -> Result<Oid> {
        let mut message = "loopx: bring together\n\nLoopx-Event: sync\n".to_owned();
        for name in names {
            message.push_str(&format!("{name}\n"));
        }
        let parents = std::slice::from_ref(parent);
        self.repo.write_commit(tree, parents, &message, identity)
    }

    fn has_merges(&self, ours: &Oid, theirs: &Oid) -> Result<bool> {
        let own = self
            .repo
            .range(ours, std::slice::from_ref(theirs), usize::MAX)?;
        for commit in own {
            if self.repo.commit_info(&commit)?.parents.len() > 1 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn no_base(&self, label: &str) -> Failure {
        if self.repo.is_shallow() {
            return Failure::refused(
                Code::HistoryCutOff,
                format!(
                    "this clone is shallow and lacks the commit that `{}` and {label} share: without that commit, removed records would come back",
                    self.branch
                ),
            )
            .help("git fetch --unshallow, then try again");
        }
        Failure::refused(
            Code::HistoriesUnrelated,
            format!(
                "`{}` and {label} share no commit: one of them was not made by git loopx, or was rewritten",
                self.branch
            ),
        )
        .help(hint![command!("fsck"), ", and ask whoever rewrote it; sessions travel alone with: ", command!("export SESSION")])
    }
}

/// Failure of a merge, where the other side had taken something away: the loss comes first.
fn not_brought_back(label: &str, taken: &[RemovedByRemote], why: Failure) -> Failure {
    if taken.is_empty() {
        return why;
    }
    let lost = taken.iter();
    let lost = lost.map(|one| format!("{} (commit {})", one.what, one.commit.short()));
    lost_operations(label, &lost.collect::<Vec<_>>(), Some(&why))
}
