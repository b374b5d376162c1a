//! The tip of the branch that this clone knows: `refs/loopx/shadow/<branch>` is the last tip that it wrote or accepted.
//! One for each name of the branch, because a worktree or a command line may set another.
//!
//! The branch may only grow. One that is gone, stands further back or is another one was deleted,
//! rewound, forced or clobbered by somebody who is not git loopx, and the shadow still has what was
//! there; deleting a branch also deletes its reflog.

use super::{Store, lock};
use loopx_base::failpoint::fail;
use loopx_base::failure::{Code, Failure, Kind, Result};
use loopx_base::hint::command;
use loopx_base::id::Oid;
use loopx_git::Swap;
use serde::Serialize;
use std::cell::RefCell;
use std::path::PathBuf;

/// Folder of the refs that note the known tips. Their number does not grow with the sessions.
const SHADOWS: &str = "refs/loopx/shadow";

/// Number of tries at a shadow that somebody holds. A shadow that stays behind says nothing wrong.
const TRIES: u32 = 20;

/// Position of the branch against what this clone knew of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// No tip was known.
    New,
    Same,
    /// Branch on which others went on.
    Ahead,
    Gone,
    /// Branch that stands at an earlier commit.
    Rewound,
    /// Branch with another history.
    Replaced,
}

/// Tips that were judged before, each with the shadow beside which it was. Whoever loses to another writer asks again for
/// the commits since alone: else each lost try would make the next one longer.
#[derive(Default)]
pub(super) struct Grown {
    /// Tip that went on from the shadow.
    ahead: Memo,
    /// Tip up to which no commit since the shadow was made by hand.
    ours: Memo,
}

/// A shadow and a tip.
type Memo = RefCell<Option<(Oid, Oid)>>;

fn remembered(memo: &Memo, shadow: &Oid) -> Option<Oid> {
    let memo = memo.borrow();
    let (of, tip) = memo.as_ref()?;
    (of == shadow).then(|| tip.clone())
}

fn remember(memo: &Memo, shadow: &Oid, tip: &Oid) {
    memo.replace(Some((shadow.clone(), tip.clone())));
}

impl Grown {
    /// Tip up to which no commit since this shadow was made by hand.
    pub(super) fn ours(&self, shadow: &Oid) -> Option<Oid> {
        remembered(&self.ours, shadow)
    }

    pub(super) fn are_ours(&self, shadow: &Oid, tip: &Oid) {
        remember(&self.ours, shadow, tip);
    }
}

impl Store<'_> {
    /// Ref that notes the tip that this clone knows.
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

    /// The note is no more than a help: where it cannot be written, or is torn, the ref counts. So a note of an earlier
    /// tip does not stay: beside a branch that was made again it would bring back what was taken out.
    fn note_known(&self, tip: &Oid) {
        let file = self.known_file();
        let text = format!("{tip}\n");
        let is_written =
            fail("known-written").is_ok() && self.repo.write_shared(&file, text.as_bytes()).is_ok();
        if !is_written {
            drop(std::fs::remove_file(&file));
        }
    }

    /// Position of a tip against a shadow that was read before it: the other way round a writer between the two would
    /// look like a branch that was set back. Costs one look-up where nothing happened.
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
        if let Some(grown) = remembered(&self.grown.ahead, shadow)
            && self.repo.is_ancestor(&grown, tip)?
        {
            remember(&self.grown.ahead, shadow, tip);
            return Ok(Standing::Ahead);
        }
        if !self.repo.contains(shadow)? {
            return Ok(Standing::New);
        }
        Ok(match self.repo.merge_base(shadow, tip)? {
            Some(base) if base == *shadow => {
                remember(&self.grown.ahead, shadow, tip);
                Standing::Ahead
            }
            Some(base) if base == *tip => Standing::Rewound,
            // Where history is cut off, nothing can be said.
            None if self.repo.is_shallow() => Standing::Ahead,
            // Own commits were made again by a command that has not noted it yet, or was killed before.
            _ if lock::notes(&self.repo.common_dir(), &self.branch_ref(), tip) => Standing::Ahead,
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
                Code::BranchGone,
                format!("the branch `{branch}` is gone; this clone had it at {shadow}"),
            ),
            Standing::Rewound => (
                Kind::Conflict,
                Code::BranchRewound,
                format!(
                    "the branch `{branch}` was set back to {}; this clone had it at {shadow}",
                    at(tip)
                ),
            ),
            Standing::Replaced => (
                Kind::Conflict,
                Code::BranchReplaced,
                format!(
                    "the branch `{branch}` was replaced: {} does not come from {shadow}, which this clone had",
                    at(tip)
                ),
            ),
        };
        let help = match standing {
            Standing::Gone => command!("init").note("(brings it back)"),
            _ => command!("doctor --recover").note("(or --accept, to go on from what is there)"),
        };
        Err(Failure::new(kind, code, message).help(help))
    }

    /// Forgets the known tip. The file goes last: where only the file is left, it still counts.
    pub(super) fn forget(&self, known: &Oid) -> Result<()> {
        let name = self.shadow_ref();
        if self.repo.find_ref(&name)?.is_some() {
            self.repo.drop_ref(&name, known)?;
        }
        let file = self.known_file();
        match std::fs::remove_file(&file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(loopx_git::unwritable(&file, &error))
            }
            _ => Ok(()),
        }
    }

    /// Notes a tip as the one that this clone knows. It stays behind where somebody holds the ref.
    pub(super) fn know(&self, tip: &Oid) {
        let name = self.shadow_ref();
        for attempt in 0..TRIES {
            let Ok(known) = self.repo.find_ref(&name) else {
                break;
            };
            if known.as_ref() == Some(tip) {
                break;
            }
            match self.repo.swap_ref(&name, tip, known.as_ref(), "loopx") {
                Ok(Swap::Moved) => break,
                Err(failure) => {
                    // The ref moved, and the next command would wait for its lock.
                    let is_locked = failure.code == Code::RefLocked;
                    if is_locked && matches!(self.repo.find_ref(&name), Ok(Some(at)) if at == *tip)
                    {
                        self.leave(&name, tip, failure);
                    }
                    break;
                }
                Ok(Swap::Lost | Swap::Locked) => std::thread::sleep(lock::pause(attempt)),
            }
        }
        // Where the ref stayed behind, the note alone says what this clone knows.
        self.note_known(tip);
    }
}
