//! The cache of what `fsck` has found whole, so that the next run looks only at what is new.
//!
//! A disposable file in the git dir: the tree ids of session folders, and the commit up to which history was
//! looked at. The same tree says the same again. A file that is damaged, old or of another program is as
//! good as none; no gate and no repair looks at it, and `--full` does without.

use super::Store;
use loopx_base::id::Oid;
use loopx_git::Repo;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Number of the format, raised when the checks change: folders that an older program found whole are checked again.
const FORMAT: u32 = 4;

#[derive(Default, PartialEq, Serialize, Deserialize)]
struct Kept {
    format: u32,
    program: String,
    /// Commit up to which all history was looked at.
    tip: Option<Oid>,
    /// Path of each folder that was found whole, by the folder's tree.
    folders: BTreeMap<Oid, String>,
}

/// Folders that are known to be whole, and counts of the folders and commits that had to be looked at.
#[derive(Default)]
pub struct Memory {
    file: Option<PathBuf>,
    before: Kept,
    now: BTreeMap<Oid, String>,
    pub checked: usize,
    pub known: usize,
    pub commits: usize,
    /// Commits that could not be looked at: then history is looked at again.
    pub unread: usize,
}

impl Memory {
    /// Makes a memory that knows nothing, and keeps what it learns in the store's file if `keeps`.
    pub fn empty(store: &Store<'_>, keeps: bool) -> Self {
        Memory {
            file: keeps.then(|| place(store)),
            ..Memory::default()
        }
    }

    /// Reads the folders that earlier runs found whole.
    pub fn of(store: &Store<'_>) -> Self {
        let file = place(store);
        let before = std::fs::read(&file)
            .ok()
            .and_then(|bytes| serde_json::from_slice::<Kept>(&bytes).ok())
            .filter(|kept| kept.format == FORMAT && kept.program == program())
            .unwrap_or_default();
        Memory {
            file: Some(file),
            before,
            ..Memory::default()
        }
    }

    /// The commit up to which history was looked at.
    pub(super) fn tip(&self) -> Option<&Oid> {
        self.before.tip.as_ref()
    }

    /// Tells whether a folder was found whole at this path.
    pub(super) fn knows(&mut self, path: &str, tree: &Oid) -> bool {
        let is_known = self.before.folders.get(tree).is_some_and(|at| at == path);
        if is_known {
            self.known += 1;
            self.now.insert(tree.clone(), path.to_owned());
        } else {
            self.checked += 1;
        }
        is_known
    }

    /// Takes a folder off the list: it was whole, and is not any more.
    pub(super) fn forget(&mut self, tree: &Oid) {
        self.now.remove(tree);
    }

    pub(super) fn is_whole(&mut self, path: String, tree: Oid) {
        self.now.insert(tree, path);
    }

    /// Keeps the folders that are known to be whole. `tip` is given where nothing was wrong up to there.
    pub fn keep(self, repo: &Repo, tip: Option<Oid>) {
        let Some(file) = &self.file else { return };
        let tip = tip.filter(|_| self.unread == 0);
        let kept = Kept {
            format: FORMAT,
            program: program(),
            tip: tip.or(self.before.tip.clone()),
            folders: self.now,
        };
        if kept != self.before {
            // Without it the next run takes longer, and says the same.
            if let Ok(bytes) = serde_json::to_vec(&kept) {
                drop(repo.write_shared(file, &bytes));
            }
        }
    }
}

fn program() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

fn place(store: &Store<'_>) -> PathBuf {
    let name = store.branch().replace('/', "%");
    let folder = store.repo().common_dir().join("loopx/checked");
    folder.join(format!("{name}.json"))
}
