//! What this clone knows of the branch: `refs/loopx/shadow/<branch>` is the last tip that it wrote or
//! accepted. One for each name of the branch, because a worktree or a command line may set another.
//!
//! The branch may only grow. One that is gone, stands further back or is another one was deleted,
//! rewound, forced or clobbered by somebody who is not git loopx, and the shadow still has what was
//! there; deleting a branch also deletes its reflog.

use super::{Lock, Store, lock};
use crate::core::failure::{Failure, Kind, Result};
use crate::core::id::Oid;
use crate::git::{Identity, Swap};
use serde::Serialize;
use std::path::PathBuf;

/// Where the refs are that say so. Their number does not grow with the sessions.
const SHADOWS: &str = "refs/loopx/shadow";

/// How often a shadow that somebody holds is tried. One that stays behind says nothing wrong.
const TRIES: u32 = 20;

/// How the branch stands to what this clone knew of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// Nothing was known.
    New,
    Same,
    /// Others went on from there.
    Ahead,
    Gone,
    /// It stands at an earlier commit.
    Rewound,
    /// It is another history.
    Replaced,
}

impl Store<'_> {
    /// The ref that notes what this clone knows.
    pub fn shadow_ref(&self) -> String {
        format!("{SHADOWS}/{}", self.branch())
    }

    /// The last tip that this clone wrote or accepted. One that cannot be read counts as none: `doctor`
    /// tells. The fetch of a mirror replaces every ref, this one too: a file beside our lock says the same,
    /// and where the two differ the file is right unless the ref went on from there.
    pub fn shadow(&self) -> Option<Oid> {
        let kept = self.repo.find_ref(&self.shadow_ref()).ok().flatten();
        let noted = std::fs::read_to_string(self.known_file()).ok();
        let noted = noted.and_then(|text| Oid::parse(text.trim()).ok());
        match (kept, noted) {
            (Some(kept), Some(noted)) if kept != noted => {
                let is_there = self.repo.contains(&noted).unwrap_or(false);
                let went_on = !is_there || self.repo.is_ancestor(&noted, &kept).unwrap_or(false);
                Some(if went_on { kept } else { noted })
            }
            (kept, noted) => {
                kept.or_else(|| noted.filter(|noted| self.repo.contains(noted).unwrap_or(false)))
            }
        }
    }

    fn known_file(&self) -> PathBuf {
        let name = self.branch().replace('/', "%");
        self.repo.common_dir().join("loopx/known").join(name)
    }

    /// The note is no more than a help: where it cannot be written, or is torn, the ref counts.
    fn note_known(&self, tip: &Oid) {
        let file = self.known_file();
        if let Some(folder) = file.parent() {
            drop(std::fs::create_dir_all(folder));
        }
        drop(std::fs::write(file, format!("{tip}\n")));
    }

    /// How a tip stands to a shadow that was read before it: the other way round a writer between the
    /// two would look like a branch that was set back. Costs one look-up where nothing happened.
    pub fn standing(&self, shadow: Option<&Oid>, tip: Option<&Oid>) -> Result<Standing> {
        let Some(shadow) = shadow else {
            return Ok(Standing::New);
        };
        let Some(tip) = tip else {
            return Ok(Standing::Gone);
        };
        if tip == shadow {
            return Ok(Standing::Same);
        }
        if !self.repo.contains(shadow)? {
            return Ok(Standing::New);
        }
        Ok(match self.repo.merge_base(shadow, tip)? {
            Some(base) if base == *shadow => Standing::Ahead,
            Some(base) if base == *tip => Standing::Rewound,
            // Where history is cut off, nothing can be said.
            None if self.repo.is_shallow() => Standing::Ahead,
            _ => Standing::Replaced,
        })
    }

    /// Refuses a branch that is not what this clone knew, or that went on from it.
    pub(super) fn require_grown(&self, shadow: Option<&Oid>, tip: Option<&Oid>) -> Result<()> {
        let branch = self.branch();
        let at = |id: Option<&Oid>| id.map_or_else(String::new, |id| id.short().to_owned());
        let standing = self.standing(shadow, tip)?;
        let shadow = at(shadow);
        let (kind, code, message) = match standing {
            Standing::New | Standing::Same | Standing::Ahead => return Ok(()),
            Standing::Gone => (
                Kind::NotFound,
                "branch_gone",
                format!("the branch `{branch}` is gone; this clone had it at {shadow}"),
            ),
            Standing::Rewound => (
                Kind::Conflict,
                "branch_rewound",
                format!(
                    "the branch `{branch}` was set back to {}; this clone had it at {shadow}",
                    at(tip)
                ),
            ),
            Standing::Replaced => (
                Kind::Conflict,
                "branch_replaced",
                format!(
                    "the branch `{branch}` was replaced: {} does not come from {shadow}, which this clone had",
                    at(tip)
                ),
            ),
        };
        let help = match standing {
            Standing::Gone => "git loopx init  (brings it back)",
            _ => "git loopx doctor --recover  (or --accept, to go on from what is there)",
        };
        Err(Failure::new(kind, code, message).help(help))
    }

    /// Notes a tip as the one that this clone knows. It stays behind where somebody holds the ref.
    pub(super) fn know(&self, tip: &Oid) {
        let name = self.shadow_ref();
        for attempt in 0..TRIES {
            let Ok(known) = self.repo.find_ref(&name) else {
                return;
            };
            if known.as_ref() == Some(tip) {
                return self.note_known(tip);
            }
            match self.repo.swap_ref(&name, tip, known.as_ref(), "loopx") {
                Ok(Swap::Moved) => return self.note_known(tip),
                Err(_) => return,
                Ok(Swap::Lost | Swap::Locked) => std::thread::sleep(lock::pause(attempt)),
            }
        }
    }
}

/// What putting the branch back came to.
#[derive(Clone, Debug, Serialize)]
pub struct Recovered {
    pub standing: Standing,
    /// Where the branch stands now.
    pub tip: Oid,
    /// What stood there, if it is not in the branch's history any more: [`DISPLACED`] keeps it.
    pub displaced: Option<Oid>,
    /// The commit that was made by hand and whose changes were taken back.
    pub by_hand: Option<Oid>,
}

/// Keeps the history that a recovery put aside. There is one.
pub const DISPLACED: &str = "refs/loopx/displaced";

impl Store<'_> {
    /// The first commit since the shadow that git loopx did not make and that changed something.
    pub fn by_hand(&self, shadow: Option<&Oid>, tip: &Oid) -> Result<Option<Oid>> {
        let Some(shadow) = shadow else {
            return Ok(None);
        };
        if shadow == tip || !self.repo.contains(shadow)? {
            return Ok(None);
        }
        let mut first = None;
        for commit in self
            .repo
            .range(tip, std::slice::from_ref(shadow), usize::MAX)?
        {
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
        Ok(first)
    }

    /// Refuses to go on from a commit that somebody made by hand: it may have reverted sessions.
    pub(super) fn require_ours(&self, shadow: Option<&Oid>, tip: &Oid) -> Result<()> {
        match self.by_hand(shadow, tip)? {
            None => Ok(()),
            Some(commit) => Err(Failure::conflict(
                "branch_edited",
                format!(
                    "the commit {} on the branch `{}` was made by hand, not by git loopx",
                    commit.short(),
                    self.branch()
                ),
            )
            .help("git loopx doctor --recover  (takes its changes back; --accept keeps them)")),
        }
    }

    /// Puts the branch back to what this clone knew. Nothing is lost: what stood there is kept, and what a
    /// hand changed is taken back by a commit.
    pub fn recover(&self, lock: &Lock, identity: &Identity) -> Result<Recovered> {
        let name = self.branch_ref();
        let nothing = || {
            Failure::nothing(
                "nothing_to_recover",
                format!("the branch `{}` is as this clone knew it", self.branch()),
            )
            .help("git loopx doctor")
        };
        let shadow = self.shadow().ok_or_else(|| {
            Failure::not_found(
                "shadow_missing",
                format!(
                    "{} is not there: this clone knows no earlier state",
                    self.shadow_ref()
                ),
            )
            .help("git loopx fsck")
        })?;
        let tip = match self.repo.find_ref(&name) {
            Ok(tip) => tip,
            Err(failure) => {
                if !self.repo.set_aside_broken_ref(&name)? {
                    return Err(failure);
                }
                self.repo.find_ref(&name)?
            }
        };
        let readable = tip.clone().filter(|tip| self.repo.commit_info(tip).is_ok());
        let standing = match (&tip, &readable) {
            (Some(_), None) => Standing::Replaced,
            _ => self.standing(Some(&shadow), tip.as_ref())?,
        };
        let mut recovered = Recovered {
            standing,
            tip: shadow.clone(),
            displaced: None,
            by_hand: None,
        };
        match standing {
            Standing::Gone | Standing::Rewound => {}
            Standing::Replaced => {
                if let Some(tip) = &readable {
                    let kept = self.repo.find_ref(DISPLACED)?;
                    done(self.repo.swap_ref(DISPLACED, tip, kept.as_ref(), "loopx")?)?;
                }
                recovered.displaced = readable;
            }
            Standing::New | Standing::Same | Standing::Ahead => {
                let tip = tip.ok_or_else(nothing)?;
                let hand = self.by_hand(Some(&shadow), &tip)?.ok_or_else(nothing)?;
                let before = self.repo.commit_info(&hand)?.parents;
                let before = before.first().unwrap_or(&shadow);
                let tree = self.repo.commit_info(before)?.tree;
                let message = format!(
                    "loopx: take back what was changed by hand\n\nsince {hand}\n\nLoopx-Event: recover\n"
                );
                let new = self.repo.write_commit(
                    &tree,
                    std::slice::from_ref(&tip),
                    &message,
                    identity,
                )?;
                done(self.swap(lock, &new, Some(&tip), "loopx: recover")?)?;
                recovered.tip = new;
                recovered.by_hand = Some(hand);
                return Ok(recovered);
            }
        }
        done(self.swap(lock, &shadow, tip.as_ref(), "loopx: recover")?)?;
        Ok(recovered)
    }

    /// Goes on from the branch as it is: this clone knows it from now on.
    pub fn accept(&self, _lock: &Lock) -> Result<Oid> {
        let snapshot = self.read()?.ok_or_else(|| self.not_initialised())?;
        self.know(snapshot.commit());
        Ok(snapshot.commit().clone())
    }
}

/// A move that nobody may be in the way of: the lock is held, and a person waits.
fn done(swap: Swap) -> Result<()> {
    match swap {
        Swap::Moved => Ok(()),
        Swap::Lost | Swap::Locked => Err(Failure::new(
            Kind::Waiting,
            "branch_busy",
            "another git moved the branch meanwhile",
        )
        .help("try again")),
    }
}
