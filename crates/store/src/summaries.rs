//! Summaries of sessions for lists, without reading every state again.
//!
//! A large repository keeps a disposable file in the git dir: each session's folder id, and what the list
//! shows of that folder. A folder that is not in it is read; a file that is damaged, old or of another
//! format is as good as none, and one that cannot be written is done without. Nothing but a list may
//! look at it: a gate reads states.

use super::snapshot::{Session, Snapshot};
use loopx_base::failure::Result;
use loopx_base::id::{Oid, SessionId};
use loopx_rules::session::{Ending, State};
use loopx_rules::stage::Stage;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::hash::Hash;
use std::path::{Path, PathBuf};

/// Number of sessions from which on a file is worth keeping: fewer are read just as fast.
const WORTH_KEEPING: usize = 500;

/// Number of the format, raised when the kept fields change: an older file is passed over.
const FORMAT: u32 = 4;

/// Line of a list of sessions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// The id that tells it from other sessions of its name.
    pub uid: String,
    pub title: String,
    pub stage: Stage,
    pub ending: Option<Ending>,
    pub branch: Option<String>,
    /// RFC 3339.
    pub started: String,
    /// RFC 3339.
    pub touched: String,
    /// Person who began the session; behind it, the person who touched it last.
    pub starter: String,
    pub toucher: String,
}

impl From<State> for Summary {
    fn from(state: State) -> Self {
        Summary {
            uid: state.uid,
            title: state.title,
            stage: state.stage,
            ending: state.ending,
            branch: state.branch,
            started: state.started.at,
            touched: state.touched.at,
            starter: state.started.by.to_string(),
            toucher: state.touched.by.to_string(),
        }
    }
}

/// Content of the file. It is read with its summaries, and written with references to them.
#[derive(Serialize, Deserialize)]
struct Kept<Key: Eq + Hash, Value> {
    format: u32,
    /// Summaries by the folder's tree id: the same folder gives the same summary.
    by_tree: HashMap<Key, Value>,
}

impl Snapshot<'_> {
    /// The active sessions, sorted, then the archived ones if asked for, newest month first. A damaged one
    /// is given as its failure, each time anew.
    pub fn summaries(&self, archived: bool) -> Result<Vec<(SessionId, Result<Summary>)>> {
        let folders = self.session_folders(archived)?;
        let file = (folders.len() >= WORTH_KEEPING).then(|| place(&self.repo().common_dir()));
        let mut known = file.as_deref().map(read).unwrap_or_default();
        let mut fresh = false;
        let mut trees = Vec::with_capacity(folders.len());
        let mut found = Vec::with_capacity(folders.len());
        for (id, folder) in folders {
            let tree = folder.entry.id.clone();
            let summary = match known.remove(&tree) {
                Some(summary) => Ok(summary),
                None => {
                    let read = self.load_folder(folder);
                    fresh |= read.is_ok();
                    read.map(|Session { state, .. }| Summary::from(state))
                }
            };
            trees.push(tree);
            found.push((id, summary));
        }
        if let Some(file) = file
            && fresh
        {
            // What this list left out will be asked for again.
            known.retain(|_, summary| matches!(summary.ending, Some(Ending::Archived { .. })));
            let listed = found.iter().zip(&trees);
            let listed =
                listed.filter_map(|((_, summary), tree)| Some((tree, summary.as_ref().ok()?)));
            let kept = Kept {
                format: FORMAT,
                by_tree: known.iter().chain(listed).collect(),
            };
            // A list without its file is slower, and right.
            if let Ok(bytes) = serde_json::to_vec(&kept) {
                drop(self.repo().write_shared(&file, &bytes));
            }
        }
        Ok(found)
    }
}

fn place(common_dir: &Path) -> PathBuf {
    common_dir.join("loopx").join("list-cache.json")
}

fn read(file: &Path) -> HashMap<Oid, Summary> {
    let kept = std::fs::read(file)
        .ok()
        .and_then(|bytes| serde_json::from_slice::<Kept<Oid, Summary>>(&bytes).ok())
        .filter(|kept| kept.format == FORMAT);
    kept.map(|kept| kept.by_tree).unwrap_or_default()
}
