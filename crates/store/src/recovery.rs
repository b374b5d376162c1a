//! Recovery: putting the branch back to what this clone knew of it, or going on from what is there instead.
//!
//! Nothing is lost by either: what stood there, and what is given up, is kept under a ref of its own.

use super::transaction::Move;
use super::{Lock, Snapshot, Store};
use crate::Standing;
use loopx_base::failure::{Code, Failure, Kind, Result};
use loopx_base::hint::command;
use loopx_base::id::Oid;
use loopx_git::{Identity, Swap};
use serde::Serialize;

/// Result of putting the branch back.
#[derive(Clone, Debug, Serialize)]
pub struct Recovered {
    pub standing: Standing,
    /// Tip of the branch now.
    pub tip: Oid,
    /// Tip that stood there, if it is not in the branch's history any more.
    pub displaced: Option<Oid>,
    /// The ref that keeps it.
    pub kept: Option<String>,
    /// The commit that was made by hand and whose changes were taken back.
    pub by_hand: Option<Oid>,
}

/// Keep the histories that were put aside, numbered from 1. Programs before kept one, without a number.
const DISPLACED: &str = "refs/loopx/displaced";

/// Number of histories that are kept: where nobody has looked at them by then, a person is needed.
const MOST_DISPLACED: u32 = 9;

/// Result of going on from the branch as it is.
#[derive(Clone, Debug, Serialize)]
pub struct Accepted {
    /// Tip of the branch; `None` where its deletion was accepted.
    pub tip: Option<Oid>,
    /// Ref that keeps what this clone had, if nothing else leads to it.
    pub kept: Option<String>,
}

impl Store<'_> {
    /// The histories that were put aside, by the refs that keep them.
    pub fn displaced(&self) -> Result<Vec<(String, Oid)>> {
        let mut found = Vec::new();
        for name in displaced_names() {
            if let Some(tip) = self.repo.find_ref(&name)? {
                found.push((name, tip));
            }
        }
        Ok(found)
    }

    /// Keeps a history that is put aside; gives the ref. One that is kept already is not kept twice.
    pub(super) fn put_aside(&self, tip: &Oid) -> Result<String> {
        let kept = self.displaced()?;
        if let Some((name, _)) = kept.iter().find(|(_, known)| known == tip) {
            return Ok(name.clone());
        }
        let is_free = |name: &String| !kept.iter().any(|(taken, _)| taken == name);
        let free = displaced_names().skip(1).find(is_free).ok_or_else(|| {
            Failure::refused(
                Code::DisplacedFull,
                format!(
                    "{MOST_DISPLACED} histories that were put aside are kept already, and no more can be, from {DISPLACED}-1 on"
                ),
            )
            .help("git log --oneline REF  (and drop one that nobody misses: git update-ref -d REF)")
        })?;
        done(self.swap_patiently(&free, tip, None, "loopx")?)?;
        Ok(free)
    }

    /// The newest commit that git's own log of the branch has and that can be read.
    pub fn remembered(&self) -> Option<Oid> {
        let moves = self.repo.moves(&self.branch_ref());
        moves.into_iter().find(|commit| self.is_readable(commit))
    }

    /// Tells whether a state of the branch is there, with the folders of its sessions.
    pub fn is_readable(&self, commit: &Oid) -> bool {
        Snapshot::at(self.repo, commit.clone(), self.branch())
            .and_then(|snapshot| snapshot.active_ids())
            .is_ok()
    }

    /// The first commit since the shadow that git loopx did not make and that changed something.
    pub fn by_hand(&self, shadow: Option<&Oid>, tip: &Oid) -> Result<Option<Oid>> {
        let Some(shadow) = shadow else {
            return Ok(None);
        };
        if shadow == tip || !self.repo.contains(shadow)? {
            return Ok(None);
        }
        let mut first = None;
        let mut known = vec![shadow.clone()];
        known.extend(self.grown.ours(shadow));
        for commit in self.repo.range(tip, &known, usize::MAX)? {
            let info = self.repo.commit_info(&commit)?;
            if !info.trailer("Loopx-Event").is_empty() {
                continue;
            }
            let mut changes = true;
            for parent in &info.parents {
                changes &= self.repo.commit_info(parent)?.tree != info.tree;
            }
            if changes {
                first = Some(commit);
            }
        }
        if first.is_none() {
            self.grown.are_ours(shadow, tip);
        }
        Ok(first)
    }

    /// Refuses to go on from a commit that somebody made by hand: it may have reverted sessions.
    pub(super) fn require_ours(&self, shadow: Option<&Oid>, tip: &Oid) -> Result<()> {
        match self.by_hand(shadow, tip)? {
            None => Ok(()),
            Some(commit) => Err(Failure::conflict(
                Code::BranchEdited,
                format!(
                    "the commit {} on the branch `{}` was made by hand, not by git loopx",
                    commit.short(),
                    self.branch()
                ),
            )
            .help(
                command!("doctor --recover").note("(takes its changes back; --accept keeps them)"),
            )),
        }
    }

    /// Puts the branch back to what this clone knew. Nothing is lost: what stood there is kept, and what a
    /// hand changed is taken back by a commit.
    pub fn recover(&self, lock: &Lock, identity: &Identity) -> Result<Recovered> {
        self.transact(lock, |known| self.way_back(known, identity))
    }

    /// The move that puts the branch back.
    fn way_back(&self, known: Option<&Oid>, identity: &Identity) -> Result<Move<Recovered>> {
        let nothing = || {
            Failure::nothing(
                Code::NothingToRecover,
                format!("the branch `{}` is as this clone knew it", self.branch()),
            )
            .help(command!("doctor"))
        };
        let shadow = known.filter(|known| self.is_readable(known)).cloned();
        let shadow = shadow.or_else(|| self.remembered()).ok_or_else(|| {
            Failure::not_found(
                Code::ShadowMissing,
                format!(
                    "{} is not there or cannot be read, and git's log of `{}` has no state that can: this clone knows no earlier one",
                    self.shadow_ref(),
                    self.branch()
                ),
            )
            .help(match self.tip_or_none() {
                Ok(None) => command!("init"),
                _ => command!("fsck"),
            })
        })?;
        let tip = self.tip_or_none()?;
        let readable = tip.clone().filter(|tip| self.is_readable(tip));
        let standing = match (&tip, &readable) {
            (Some(_), None) => Standing::Replaced,
            _ => self.standing(Some(&shadow), tip.as_ref())?,
        };
        let mut recovered = Recovered {
            standing,
            tip: shadow.clone(),
            displaced: None,
            kept: None,
            by_hand: None,
        };
        match standing {
            Standing::Gone | Standing::Rewound => {}
            Standing::Replaced => {
                // Also what is no state of ours; not a commit that cannot be read at all.
                let there = tip.clone();
                recovered.displaced = there.filter(|tip| self.repo.commit_info(tip).is_ok());
                if let Some(tip) = &recovered.displaced {
                    recovered.kept = Some(self.put_aside(tip)?);
                }
            }
            Standing::New | Standing::Same | Standing::Ahead => {
                let stands = tip.as_ref().ok_or_else(nothing)?;
                recovered.by_hand = self.by_hand(Some(&shadow), stands)?;
                recovered.tip = match &recovered.by_hand {
                    Some(hand) => self.without(hand, stands, &shadow, identity)?,
                    None if known.is_none_or(|known| self.is_readable(known)) => {
                        return Err(nothing());
                    }
                    None => {
                        // It stands at the last state that can be read: only the shadow is to follow.
                        self.know(stands);
                        stands.clone()
                    }
                };
            }
        }
        Ok(Move {
            old: tip,
            new: recovered.tip.clone(),
            why: "loopx: recover".to_owned(),
            value: recovered,
        })
    }

    /// Tip of the branch. A file of the ref that holds no id is put aside.
    fn tip_or_none(&self) -> Result<Option<Oid>> {
        let name = self.branch_ref();
        match self.repo.find_ref(&name) {
            Err(_) if self.repo.set_aside_broken_ref(&name)? => self.repo.find_ref(&name),
            found => found,
        }
    }

    /// A commit on the tip that takes back what a commit made by hand changed, and all since.
    fn without(&self, hand: &Oid, tip: &Oid, shadow: &Oid, identity: &Identity) -> Result<Oid> {
        let before = self.repo.commit_info(hand)?.parents;
        let tree = self
            .repo
            .commit_info(before.first().unwrap_or(shadow))?
            .tree;
        let message = format!(
            "loopx: take back what was changed by hand\n\nsince {hand}\n\nLoopx-Event: recover\n"
        );
        let parents = std::slice::from_ref(tip);
        self.repo.write_commit(&tree, parents, &message, identity)
    }

    /// Goes on from the branch as it is: this clone knows it from now on. Where there is none, this clone
    /// forgets that there was.
    pub fn accept(&self, lock: &Lock) -> Result<Accepted> {
        if let Some(snapshot) = self.read()? {
            let tip = snapshot.commit();
            // What cannot be read keeps nobody from going on.
            let known = self.shadow().filter(|known| self.is_readable(known));
            let kept = match (self.standing(known.as_ref(), Some(tip)), known) {
                (Ok(Standing::Rewound | Standing::Replaced) | Err(_), Some(known)) => {
                    Some(self.put_aside(&known)?)
                }
                _ => None,
            };
            // Whoever finds the lock of a killed move knows by it whose it was.
            lock.note(&[&self.shadow_ref()], tip)?;
            self.know(tip);
            drop(lock.forget());
            self.require_known(tip)?;
            return Ok(Accepted {
                tip: Some(tip.clone()),
                kept,
            });
        }
        let Some(known) = self.shadow() else {
            return Err(self.not_initialised());
        };
        let kept = if self.repo.contains(&known)? {
            Some(self.put_aside(&known)?)
        } else {
            None
        };
        self.forget(&known)?;
        Ok(Accepted { tip: None, kept })
    }
}

impl Store<'_> {
    /// Refuses where somebody holds the ref that says what this clone knows: the next writer would find the branch set back
    /// again.
    fn require_known(&self, tip: &Oid) -> Result<()> {
        if self.shadow().as_ref() == Some(tip) {
            return Ok(());
        }
        Err(Failure::new(
            Kind::Waiting,
            Code::BranchBusy,
            format!(
                "expected {} to move to {}, and another process has locked it: the branch is not accepted yet",
                self.shadow_ref(),
                tip.short()
            ),
        )
        .help(
            command!("doctor --fix")
                .note("(takes away a lock that nobody holds), then the same command again"),
        ))
    }
}

fn displaced_names() -> impl Iterator<Item = String> {
    let numbered = (1..=MOST_DISPLACED).map(|number| format!("{DISPLACED}-{number}"));
    std::iter::once(DISPLACED.to_owned()).chain(numbered)
}

/// A move that nobody may be in the way of: the lock is held, and a person waits.
fn done(swap: Swap) -> Result<()> {
    match swap {
        Swap::Moved => Ok(()),
        Swap::Lost | Swap::Locked => Err(Failure::new(
            Kind::Waiting,
            Code::BranchBusy,
            "another git moved the branch meanwhile",
        )
        .help("try again")),
    }
}
