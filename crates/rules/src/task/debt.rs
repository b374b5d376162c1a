//! Debt: the things that completed tasks left undone, as whoever completed them said it. It is work that was put off,
//! parts that are not done, and caveats. A function of the state of a session; it knows nothing of issues.

use super::node::TaskId;
use super::status::Status;
use crate::session::State;
use loopx_base::vocabulary::vocabulary;
use serde::Serialize;

vocabulary!(
    /// The kind of a debt.
    Kind {
        /// A part of the task that is not done.
        Partial = "partial",
        /// Work that was put off.
        Deferred = "deferred",
        /// Facts that the next tasks have to know.
        Caveat = "caveat",
    }
);

/// Debt that a task left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Debt {
    pub task: TaskId,
    pub kind: Kind,
    pub text: String,
    /// Person who said it.
    pub by: String,
}

/// Debts that the completed tasks of a session left, in the order of their completions.
pub fn debt(state: &State) -> Vec<Debt> {
    let tasks = state.tasks.values();
    let done = tasks.filter(|task| task.status == Status::Completed);
    let mut done: Vec<_> = done
        .filter_map(|task| Some((&task.id, task.completion.as_ref()?)))
        .collect();
    done.sort_by_key(|(_, completion)| completion.seq);
    let left = done.into_iter().flat_map(|(task, completion)| {
        let said = &completion.value;
        let partial = said.partial.iter().map(|text| (Kind::Partial, text));
        let deferred = said.deferred.iter().map(|text| (Kind::Deferred, text));
        let caveats = said.caveats.iter().map(|text| (Kind::Caveat, text));
        let all = partial.chain(deferred).chain(caveats);
        all.map(|(kind, text)| Debt {
            task: task.clone(),
            kind,
            text: text.clone(),
            by: completion.signed.by.name.clone(),
        })
    });
    left.collect()
}
