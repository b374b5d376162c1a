//! The checks of a session: the commands whose passing run on a tree is evidence for that tree. They stand in
//! an artifact that an approval covers; every other run is a note.

use super::artifact::Artifact;
use super::failure::Blocker;
use super::op::Evidence;
use super::pack;
use super::session::State;
use super::task::plan;
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
