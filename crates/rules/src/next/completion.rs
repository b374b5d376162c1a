//! The completion of a session whose pipelines have no task left: a person chooses, it is taken to the archive, or it
//! is kept. The pipeline says which; gates and people are asked as ever.

use super::{Advised, Here, command, hint};
use crate::artifact::Artifact;
use crate::gate;
use crate::gate::View;
use crate::stage::Stage;
use crate::task::node::OnComplete;
use crate::task::plan;
use crate::task::status::Status;
use loopx_base::hint::{Hint, Verb};

/// Pipelines whose tasks are all done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    pub pipelines: Vec<String>,
    pub on_complete: OnComplete,
}

/// A task of a pipeline, as far as this asks.
#[derive(Clone, Copy, Debug)]
pub struct Of<'t> {
    pub pipeline: &'t str,
    pub on_complete: OnComplete,
    pub status: Status,
    /// Work of it is left.
    pub is_partial: bool,
}

/// Completion of the tasks of pipelines; nothing while some of these tasks are to be done. Where pipelines differ, or
/// work is left that nobody does, a person chooses.
pub fn completion<'t>(tasks: impl Iterator<Item = Of<'t>>) -> Option<Completion> {
    let mut found: Option<Completion> = None;
    for task in tasks {
        if !task.status.is_terminal() || task.status == Status::Failed {
            return None;
        }
        let wanted = if task.is_partial {
            OnComplete::Interactive
        } else {
            task.on_complete
        };
        let found = found.get_or_insert_with(|| Completion {
            pipelines: Vec::new(),
            on_complete: wanted,
        });
        if found.on_complete != wanted {
            found.on_complete = OnComplete::Interactive;
        }
        if !found.pipelines.iter().any(|name| name == task.pipeline) {
            found.pipelines.push(task.pipeline.to_owned());
        }
    }
    found
}

/// Step once the pipelines of a session are done, as they say.
pub(super) fn led(view: View<'_>, here: &Here<'_>, found: Advised) -> Advised {
    let Some(done) = of(view) else { return found };
    let Some(command) = found.command().cloned() else {
        return found;
    };
    let verb = command.command().map(|command| command.verb());
    let names = done.pipelines.join(", ");
    match (done.on_complete, verb) {
        (OnComplete::Interactive, Some(Verb::Approve | Verb::Finish | Verb::Archive))
            if found.advice.is_empty() =>
        {
            found.advice(hint![
                format!("{names} is done; the session waits until somebody goes on; to take its results out: "),
                command!("pipeline export DIR")
            ])
        }
        (OnComplete::Archive, Some(Verb::Approve | Verb::Archive)) => {
            if here.asks {
                command!("finish").into()
            } else {
                command!("finish --yes").into()
            }
        }
        (OnComplete::Keep, Some(Verb::Approve | Verb::Finish | Verb::Archive)) => {
            let what =
                format!("the decision to go on: {names} is done, and the session is kept");
            Advised::waits("a person", what).advice(kept(command))
        }
        _ => found,
    }
}

fn kept(command: Hint) -> Hint {
    hint!["to go on: ", command]
}

/// The completion of a session, where it has one.
fn of(view: View<'_>) -> Option<Completion> {
    let is_asked = matches!(view.state.stage, Stage::Build | Stage::Review | Stage::Done);
    let text = view.texts.get(&Artifact::TaskList)?;
    // Most lists come from no pipeline, and are not read for this.
    if !is_asked || !view.state.is_active() || !text.contains("\"pipeline\"") {
        return None;
    }
    let nodes = plan::now(view.texts, view.state).ok()?;
    let statuses = gate::task_statuses(view, &nodes, &gate::known(view));
    let tasks = nodes.iter().zip(&statuses).filter_map(|(node, status)| {
        let part = node.part.as_ref()?;
        let done = view.state.task(&node.id);
        let done = done.and_then(|facts| facts.completion.as_ref());
        Some(Of {
            pipeline: &part.pipeline,
            on_complete: part.on_complete,
            status: *status,
            is_partial: done.is_some_and(|done| done.value.partial.is_some()),
        })
    });
    completion(tasks)
}

#[cfg(test)]
mod tests {
    use super::{Of, completion};
    use crate::task::node::OnComplete;
    use crate::task::status::Status;

    #[test]
    fn pipelines_complete_together_and_a_person_chooses_where_they_differ() {
        let of = |pipeline, on_complete, status, is_partial| Of {
            pipeline,
            on_complete,
            status,
            is_partial,
        };
        use OnComplete::{Archive, Interactive, Keep};
        use Status::{Completed, Failed, Pending, Skipped};
        for (tasks, wanted) in [
            (vec![], None),
            (vec![of("a", Archive, Completed, false)], Some(Archive)),
            (vec![of("a", Archive, Pending, false)], None),
            (vec![of("a", Archive, Failed, false)], None),
            (
                vec![
                    of("a", Keep, Skipped, false),
                    of("a", Keep, Completed, false),
                ],
                Some(Keep),
            ),
            (
                vec![
                    of("a", Keep, Completed, false),
                    of("b", Archive, Completed, false),
                ],
                Some(Interactive),
            ),
            (vec![of("a", Archive, Completed, true)], Some(Interactive)),
        ] {
            let found = completion(tasks.into_iter());
            assert_eq!(found.map(|found| found.on_complete), wanted);
        }
    }
}
