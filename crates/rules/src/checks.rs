//! The checks of a session: the commands whose passing run on a tree is evidence for that tree. They stand in
//! an artifact that an approval covers, or in `[checks]` of the policy; every other run is a note.
//!
//! Pure: which checks of the policy a session has to pass is found elsewhere.

use super::artifact::Artifact;
use super::change_pack;
use super::op::Evidence;
use super::session::{Stamped, State};
use super::stage::Stage;
use super::task::node::{Node, TaskId};
use super::task::plan;
use super::task::slices::check_of;
use super::task::status::Status;
use super::texts::Texts;
use loopx_base::failure::Blocker;
use loopx_base::id::Oid;
use std::collections::HashMap;

/// Command that has to pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Name of the check, as `run --task` takes it.
    pub id: String,
    pub argv: Vec<String>,
    pub source: Source,
    /// The stage of its task. A check that is no task's is one of the build.
    pub stage: Stage,
}

/// The place where a check stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Artifact(Artifact),
    /// `[checks]` of `loopx.toml`.
    Policy,
}

impl Check {
    /// Tells whether a run is one of this check. Policy asks for a command, whichever check it was run for; a note may
    /// have been made in another folder.
    pub fn is_of(&self, run: &Evidence) -> bool {
        let is_its = match self.source {
            Source::Artifact(_) => run.task.as_ref() == Some(&self.id),
            Source::Policy => run.task.is_some(),
        };
        is_its && run.argv == self.argv
    }

    pub fn is_of_policy(&self) -> bool {
        self.source == Source::Policy
    }
}

/// A person's word on the task of a check, which stands for a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// The task was skipped, with a reason.
    Skipped,
    /// No command proves the task: somebody looked at this tree.
    Looked,
}

/// Reads what a person's word on the task of a check says of a tree.
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

/// Runs by the task that they are of and by their words, so that finding those of a check does not look at those of
/// others.
#[derive(Debug)]
pub struct Runs<'r> {
    of: HashMap<&'r str, Vec<&'r Stamped<Evidence>>>,
    said: HashMap<&'r [String], Vec<&'r Stamped<Evidence>>>,
}

impl<'r> Runs<'r> {
    pub fn of(runs: &'r [Stamped<Evidence>]) -> Self {
        let mut found = Runs {
            of: HashMap::new(),
            said: HashMap::new(),
        };
        for run in runs {
            if let Some(task) = &run.value.task {
                found.of.entry(task).or_default().push(run);
                found.said.entry(&run.value.argv).or_default().push(run);
            }
        }
        found
    }

    /// The runs that could be of a check: those of its task, or of its words.
    fn near(&self, check: &Check) -> &[&'r Stamped<Evidence>] {
        let near = match check.source {
            Source::Artifact(_) => self.of.get(check.id.as_str()),
            Source::Policy => self.said.get(check.argv.as_slice()),
        };
        near.map_or(&[], Vec::as_slice)
    }

    /// The runs of a check, in their order.
    pub fn of_check(&self, check: &Check) -> Vec<&'r Stamped<Evidence>> {
        let near = self.near(check).iter().copied();
        near.filter(|run| check.is_of(&run.value)).collect()
    }
}

/// Lists all checks that there are to run now: those of the artifacts, of tasks that decisions inserted, and of
/// policy. Artifacts that cannot be read name none; policy asks all the same.
pub fn checks_now(texts: &Texts, state: &State, of_policy: &[Check]) -> Vec<Check> {
    checks_of(texts, state, of_policy, &|_| true)
}

/// The checks whose names are meant. No other check is made, because a list may have thousands.
pub fn checks_of(
    texts: &Texts,
    state: &State,
    of_policy: &[Check],
    is_meant: &dyn Fn(&str) -> bool,
) -> Vec<Check> {
    let mut found = of_artifacts(texts, state, is_meant).unwrap_or_default();
    add(&mut found, of_policy);
    found.retain(|check| is_meant(&check.id));
    found
}

/// Lists all checks that have to pass: [`checks_now`] without those of tasks that fall with another one: by the
/// outcome of a decision, or where that one failed or was skipped.
/// Checks of policy are asked for all the same.
pub fn checks_due(texts: &Texts, state: &State, of_policy: &[Check]) -> Vec<Check> {
    let fallen = plan::fallen(texts, state);
    let stays = |id: &str| fallen.is_empty() || !fallen.contains(&id.to_lowercase());
    let mut found = of_artifacts(texts, state, &stays).unwrap_or_default();
    add(&mut found, of_policy);
    found
}

/// The checks of the artifacts and these of policy, without what decisions inserted.
pub fn checks(texts: &Texts, of_policy: &[Check]) -> Vec<Check> {
    let mut found = written(texts, &|_| true).unwrap_or_default();
    add(&mut found, of_policy);
    found
}

/// Adds the checks of policy. A name is the artifact's only where both say the same words: else a change could empty
/// what policy asks for.
fn add(found: &mut Vec<Check>, of_policy: &[Check]) {
    for check in of_policy {
        found.retain(|own| !is_other(own, check));
        if !found
            .iter()
            .any(|own| own.id.eq_ignore_ascii_case(&check.id))
        {
            found.push(check.clone());
        }
    }
}

/// Tells whether a check has the name of a check of policy, and another command.
fn is_other(own: &Check, of_policy: &Check) -> bool {
    own.id.eq_ignore_ascii_case(&of_policy.id) && own.argv != of_policy.argv
}

/// The checks of artifacts that have the name of one of policy and other words, each with that one.
pub fn clashes(texts: &Texts, state: &State, of_policy: &[Check]) -> Vec<(Check, Check)> {
    let names = |id: &str| of_policy.iter().any(|one| one.id.eq_ignore_ascii_case(id));
    let own = of_artifacts(texts, state, &names).unwrap_or_default();
    let mut found = Vec::new();
    for check in own {
        let other = of_policy.iter().find(|other| is_other(&check, other));
        found.extend(other.cloned().map(|other| (check, other)));
    }
    found
}

fn of_artifacts(
    texts: &Texts,
    state: &State,
    is_meant: &dyn Fn(&str) -> bool,
) -> Result<Vec<Check>, Blocker> {
    let mut found = written(texts, is_meant)?;
    let inserted = plan::inserted(texts, state)?;
    let meant = inserted.iter().filter(|node| is_meant(node.id.as_str()));
    found.extend(meant.filter_map(of_node));
    Ok(found)
}

/// The check of a task, where it has one.
fn of_node(node: &Node) -> Option<Check> {
    Some(Check {
        id: node.id.to_string(),
        argv: check_of(node)?.to_vec(),
        source: Source::Artifact(Artifact::TaskList),
        stage: node.stage,
    })
}

/// The checks that the artifacts of a session name, of these names, in their order; or what is wrong with an artifact.
fn written(texts: &Texts, is_meant: &dyn Fn(&str) -> bool) -> Result<Vec<Check>, Blocker> {
    let mut found = Vec::new();
    for source in change_pack::present(texts) {
        let check = |id, argv| Check {
            id,
            argv,
            source: Source::Artifact(source),
            stage: Stage::Build,
        };
        if let (Artifact::TaskList, Some(nodes)) = (source, texts.list()) {
            let nodes = nodes.as_ref().map_err(Clone::clone)?.iter();
            let own = nodes.filter(|node| is_meant(node.id.as_str()));
            found.extend(own.filter_map(of_node));
            continue;
        }
        let slices = change_pack::slices_in(source, texts)?.into_iter();
        let slices = slices.filter(|slice| is_meant(&slice.id));
        found.extend(slices.map(|slice| check(slice.id, slice.verification)));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::{Check, Runs, Source, Stage, checks_now, checks_of, clashes};
    use crate::artifact::Artifact;
    use crate::op::Evidence;
    use crate::replay::fold;
    use crate::replay_props::{evidence, started};
    use crate::session::recorded;
    use crate::texts::Texts;
    use loopx_base::id::SessionId;

    fn check(id: &str, word: &str, source: Source) -> Check {
        Check {
            id: id.to_owned(),
            argv: vec![word.to_owned()],
            source,
            stage: Stage::Build,
        }
    }

    #[test]
    fn a_name_is_the_artifacts_only_where_policy_says_the_same_words() {
        let list = Source::Artifact(Artifact::TaskList);
        let own = r#"{"id":"unit","title":"T","convergence":{"criteria":["C"],"verification":{"cmd":["true"]}}}"#;
        let texts: Texts = [(Artifact::TaskList, own.to_owned())].into();
        let id = SessionId::parse("demo").expect("an id");
        let state = fold(&id, &[started()]).expect("a state");
        let same = [check("unit", "true", Source::Policy)];
        assert_eq!(
            checks_now(&texts, &state, &same),
            [check("unit", "true", list)]
        );
        assert!(clashes(&texts, &state, &same).is_empty());
        let of = |id: &str| checks_of(&texts, &state, &same, &|name| name == id).len();
        assert_eq!((of("unit"), of("other")), (1, 0));
        let other = [check("UNIT", "false", Source::Policy)];
        assert_eq!(checks_now(&texts, &state, &other), other);
        assert_eq!(clashes(&texts, &state, &other).len(), 1);
        // A list that cannot be read takes nothing away.
        let broken: Texts = [(Artifact::TaskList, "no list".to_owned())].into();
        assert_eq!(checks_now(&broken, &state, &other), other);
    }

    #[test]
    fn a_run_of_the_words_of_policy_counts_whatever_check_it_was_run_for_and_a_note_does_not() {
        let words = evidence(true, 0, 1);
        let of_policy = check("unit", "true", Source::Policy);
        let of_policy = Check {
            argv: words.argv.clone(),
            ..of_policy
        };
        for (task, counts) in [(Some("T-1"), true), (Some("unit"), true), (None, false)] {
            let run = Evidence {
                task: task.map(str::to_owned),
                ..evidence(true, 0, 1)
            };
            assert_eq!(of_policy.is_of(&run), counts, "{task:?}");
        }
    }

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
            ..check("", "", Source::Artifact(Artifact::TaskList))
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
