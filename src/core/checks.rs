//! The checks of a session: the commands whose passing run on a tree is evidence for that tree. They stand in
//! an artifact that an approval covers; every other run is a note.

use super::artifact::Artifact;
use super::failure::Blocker;
use super::id::Oid;
use super::op::Evidence;
use super::pack;
use super::session::{Recorded, State};
use super::task::node::TaskId;
use super::task::plan;
use super::task::slices::check_of;
use super::task::status::Status;
use super::texts::Texts;
use std::collections::HashMap;

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

/// Runs by the task that they are of, so that finding those of a check does not look at those of others.
#[derive(Debug)]
pub struct Runs<'r> {
    of: HashMap<&'r str, Vec<&'r Recorded<Evidence>>>,
}

impl<'r> Runs<'r> {
    pub fn of(runs: &'r [Recorded<Evidence>]) -> Self {
        let mut of: HashMap<&str, Vec<&Recorded<Evidence>>> = HashMap::new();
        for run in runs {
            if let Some(task) = &run.value.task {
                of.entry(task).or_default().push(run);
            }
        }
        Runs { of }
    }

    /// The runs that could be of a check: those of its task.
    fn near(&self, check: &Check) -> &[&'r Recorded<Evidence>] {
        self.of.get(check.id.as_str()).map_or(&[], Vec::as_slice)
    }

    /// The runs of a check, in their order.
    pub fn of_check(&self, check: &Check) -> Vec<&'r Recorded<Evidence>> {
        let near = self.near(check).iter().copied();
        near.filter(|run| check.is_of(&run.value)).collect()
    }
}

/// The same with the checks of tasks that decisions inserted: all that there is to run now.
pub fn checks_now(texts: &Texts, state: &State) -> Result<Vec<Check>, Blocker> {
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
pub fn checks(texts: &Texts) -> Result<Vec<Check>, Blocker> {
    let mut found = Vec::new();
    for source in pack::present(texts) {
        let check = |id, argv| Check { id, argv, source };
        if let (Artifact::TaskList, Some(nodes)) = (source, texts.list()) {
            let nodes = nodes.as_ref().map_err(Clone::clone)?.iter();
            let own = nodes.filter_map(|node| Some((node, check_of(node)?)));
            found.extend(own.map(|(node, argv)| check(node.id.to_string(), argv.to_vec())));
            continue;
        }
        let slices = pack::slices_in(source, texts)?.into_iter();
        found.extend(slices.map(|slice| check(slice.id, slice.verification)));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::{Check, Runs};
    use crate::core::artifact::Artifact;
    use crate::core::laws::{evidence, started};
    use crate::core::op::Evidence;
    use crate::core::session::recorded;

    #[test]
    fn finding_the_runs_of_every_check_looks_at_each_run_once() {
        const COUNT: usize = 1_000;
        let id = |n: usize| format!("T-{n}");
        let run = |n: usize| Evidence {
            task: Some(id(n)),
            ..evidence(true, 0, 1)
        };
        let runs: Vec<_> = (0..COUNT).map(|n| recorded(&started(), run(n))).collect();
        let checks = (0..COUNT).map(|n| Check {
            id: id(n),
            argv: runs[n].value.argv.clone(),
            source: Artifact::TaskList,
        });
        let index = Runs::of(&runs);
        let (mut looks, mut found) = (0, 0);
        for check in checks {
            looks += index.near(&check).len();
            found += index.of_check(&check).len();
        }
        assert_eq!((looks, found), (COUNT, COUNT));
    }
}
