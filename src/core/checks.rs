//! The checks of a session: the commands whose passing run on a tree is evidence for that tree. They stand in
//! an artifact that an approval covers; every other run is a note.

use super::artifact::Artifact;
use super::failure::Blocker;
use super::id::Oid;
use super::op::Evidence;
use super::pack;
use super::session::State;
use super::task::node::TaskId;
use super::task::plan;
use super::task::status::Status;
use std::collections::BTreeMap;

/// One command that has to pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What `run --task` takes.
    pub id: String,
    pub argv: Vec<String>,
    /// Where it stands.
    pub source: Artifact,
}

impl Check {
    /// Whether a run is one of this check.
    pub fn is_of(&self, run: &Evidence) -> bool {
        run.task.as_ref() == Some(&self.id) && run.argv == self.argv
    }
}

/// A person's word on the task of a check, which stands for a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// The task was skipped, with a reason.
    Skipped,
    /// No command proves it: somebody looked at this tree.
    Looked,
}

/// What a person's word on the task of a check says of a tree.
pub fn word_on(id: &str, argv: &[String], state: &State, tree: Option<&Oid>) -> Option<Word> {
    let facts = TaskId::parse(id).and_then(|id| state.task(&id))?;
    match facts.status {
        Status::Skipped => Some(Word::Skipped),
        Status::Completed => {
            let done = facts.completion.as_ref().map(|done| &done.value);
            let is_here = done.is_some_and(|done| done.manual && done.tree.as_ref() == tree);
            (argv.is_empty() && is_here).then_some(Word::Looked)
        }
        _ => None,
    }
}

/// The same with the checks of tasks that decisions inserted: all that there is to run now.
pub fn checks_now(
    texts: &BTreeMap<Artifact, String>,
    state: &State,
) -> Result<Vec<Check>, Blocker> {
    let mut found = checks(texts)?;
    let inserted = plan::inserted(texts, state)?.into_iter();
    found.extend(inserted.map(|slice| Check {
        id: slice.id,
        argv: slice.verification,
        source: Artifact::TaskList,
    }));
    Ok(found)
}

/// Every check that the artifacts of a session name, in their order; or what is wrong with one of them.
pub fn checks(texts: &BTreeMap<Artifact, String>) -> Result<Vec<Check>, Blocker> {
    let mut found = Vec::new();
    for source in pack::present(texts) {
        let slices = pack::slices_in(source, texts)?;
        found.extend(slices.into_iter().map(|slice| Check {
            id: slice.id,
            argv: slice.verification,
            source,
        }));
    }
    Ok(found)
}
