//! Questions of a session that nobody has answered, without reading every record again.
//!
//! A session of many records keeps a disposable file in the git dir: its folder as it was looked at last, and the questions
//! and answers among the records of that folder. The same folder has the same records; of a folder that went on from
//! it only the new records are read, and where a record went away, all are. A file that is damaged, old or of another
//! program is as good as none. A count in the state would be no answer for a state that an older program wrote: that
//! state cannot say whether its session has questions, so that all of its records would be read each time.

use super::incremental_state::added;
use super::{Session, Snapshot};
use loopx_base::failure::Result;
use loopx_base::id::Oid;
use loopx_git::Repo;
use loopx_rules::note::{OpenQuestion, Questions};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Number of records from which on the questions are worth keeping, and number of new records after which they are kept
/// anew: fewer are read just as fast.
const WORTH_KEEPING: usize = 32;

/// Limit of sessions whose questions are kept; a file with more is begun anew.
const MOST_KNOWN: usize = 1_000;

/// Number of the format, raised when the kept fields change: an older file is passed over.
const FORMAT: u32 = 1;

#[derive(Default, Serialize, Deserialize)]
struct Kept {
    format: u32,
    program: String,
    /// Folders that were looked at, by the id of the session.
    sessions: BTreeMap<String, Known>,
}

/// The questions of a session's folder.
#[derive(Clone, Serialize, Deserialize)]
struct Known {
    folder: Oid,
    questions: Questions,
}

/// Reader of questions that remembers what earlier commands read.
pub struct KnownQuestions<'r> {
    repo: &'r Repo,
    kept: Option<Kept>,
    is_new: bool,
}

impl<'r> KnownQuestions<'r> {
    pub fn of(repo: &'r Repo) -> Self {
        KnownQuestions {
            repo,
            kept: None,
            is_new: false,
        }
    }

    fn file(&self) -> PathBuf {
        self.repo
            .common_dir()
            .join("loopx")
            .join("questions-known.json")
    }

    fn kept(&mut self) -> &mut Kept {
        let file = self.file();
        self.kept.get_or_insert_with(|| {
            let bytes = std::fs::read(file).ok();
            let kept = bytes.and_then(|bytes| serde_json::from_slice::<Kept>(&bytes).ok());
            let is_ours = |kept: &Kept| kept.format == FORMAT && kept.program == program();
            kept.filter(is_ours).unwrap_or_default()
        })
    }

    /// The questions of a session that nobody has answered, in the order of the records.
    pub fn open(
        &mut self,
        snapshot: &Snapshot<'_>,
        session: &Session,
    ) -> Result<Vec<OpenQuestion>> {
        let records = usize::try_from(session.state.seq).unwrap_or(usize::MAX);
        if records < WORTH_KEEPING {
            return Ok(Questions::of(&snapshot.operations(session)?).open());
        }
        let id = session.state.id.as_str();
        let (questions, read) = match self.grown(id, &session.tree) {
            Some(grown) => grown,
            None => {
                let all = snapshot.operations(session)?;
                (Questions::of(&all), all.len())
            }
        };
        if read >= WORTH_KEEPING {
            let known = Known {
                folder: session.tree.clone(),
                questions: questions.clone(),
            };
            let kept = self.kept();
            if kept.sessions.len() >= MOST_KNOWN {
                kept.sessions.clear();
            }
            kept.sessions.insert(id.to_owned(), known);
            self.is_new = true;
        }
        Ok(questions.open())
    }

    /// The questions of a folder that went on from the one that is known, and the number of records that had to be read.
    fn grown(&mut self, id: &str, folder: &Oid) -> Option<(Questions, usize)> {
        let repo = self.repo;
        let known = self.kept().sessions.get(id)?;
        let mut questions = known.questions.clone();
        if known.folder == *folder {
            return Some((questions, 0));
        }
        let new = added(repo, &known.folder, folder).ok()??;
        for op in &new {
            questions.take(op);
        }
        Some((questions, new.len()))
    }

    /// Keeps what was found for the next command. Without it that takes longer, and says the same.
    pub fn keep(self) {
        let file = self.file();
        if let (true, Some(mut kept)) = (self.is_new, self.kept) {
            kept.format = FORMAT;
            program().clone_into(&mut kept.program);
            if let Ok(bytes) = serde_json::to_vec(&kept) {
                drop(self.repo.write_shared(&file, &bytes));
            }
        }
    }
}

fn program() -> &'static str {
    env!("CARGO_PKG_VERSION")
}
