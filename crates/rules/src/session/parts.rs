//! A state as files. Few tasks stand in the one file of the state; many stand in files of their own beside it, with the
//! runs of their checks, so that a write costs what it changes and not what there is. This module knows the files and
//! their names below the session's folder; where they lie in a repository is the store's business.

use super::{Evidence, PARTS_FOLD, Stamped, State, TASK_FOLD, TaskFacts};
use crate::op;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The file of the state.
const STATE: &str = "state.json";
/// The folder of the files beside the state's own.
pub const FOLDER: &str = "state";

/// A session with records of more tasks than these is stored in parts.
const MANY: usize = 64;

/// Number of runs and tasks that the parts hold together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Counts {
    runs: usize,
    tasks: usize,
}

/// The state without what stands in its parts.
#[derive(Serialize)]
struct Head<'s> {
    #[serde(flatten)]
    state: &'s State,
    parts: Counts,
}

#[derive(Default, Serialize)]
struct PartOf<'s> {
    evidence: Vec<&'s Stamped<Evidence>>,
    tasks: BTreeMap<&'s str, &'s TaskFacts>,
}

#[derive(Deserialize)]
struct Part {
    evidence: Vec<Stamped<Evidence>>,
    tasks: BTreeMap<String, TaskFacts>,
}

/// The files that a state is stored in.
#[derive(Debug)]
pub struct Files {
    /// `state.json`.
    pub head: Vec<u8>,
    /// The files beside it by their paths; of those that are not named the bytes are what they were, and `None` goes.
    pub parts: BTreeMap<String, Option<Vec<u8>>>,
}

/// The part that a task stands in: by the FNV-1a hash of its id, so that each machine has the same.
fn part_of(task: &str) -> String {
    let step = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    let hash = task.to_ascii_lowercase().bytes().fold(0x811c_9dc5, step);
    let [a, b, c, d] = hash.to_be_bytes();
    format!("{FOLDER}/{:02x}.json", a ^ b ^ c ^ d)
}

/// Tells whether a path, of whatever folder it begins in, is of a file that a state is stored in.
pub fn is_state_file(path: &str) -> bool {
    let mut names = path.rsplit('/');
    let name = names.next().unwrap_or_default();
    let is_part = |name: &str| {
        let digits = name.strip_suffix(".json").unwrap_or_default();
        digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    name == STATE || is_part(name) && names.next() == Some(FOLDER)
}

impl State {
    fn is_in_parts(&self) -> bool {
        let at = |run: &Stamped<Evidence>| (run.seq, run.op.clone());
        self.tasks.len() > MANY
            && self.fold == TASK_FOLD
            && self.evidence.is_sorted_by(|one, next| at(one) < at(next))
    }

    /// The version that its `state.json` says.
    pub(super) fn stored_fold(&self) -> u32 {
        if self.is_in_parts() {
            PARTS_FOLD
        } else {
            self.fold
        }
    }

    /// The paths of the files that it is stored in beside `state.json`.
    pub fn parts(&self) -> BTreeSet<String> {
        if !self.is_in_parts() {
            return BTreeSet::new();
        }
        let runs = self.evidence.iter();
        let runs = runs.filter_map(|run| run.value.task.as_deref());
        let tasks = self.tasks.keys().map(String::as_str);
        runs.chain(tasks).map(part_of).collect()
    }

    /// The files that it is stored in. Of the parts that `before` has in the same way none is named.
    pub fn to_files(&mut self, before: Option<&State>) -> Result<Files> {
        let had = before.map(State::parts).unwrap_or_default();
        if !self.is_in_parts() {
            return Ok(Files {
                head: self.to_bytes()?,
                parts: had.into_iter().map(|path| (path, None)).collect(),
            });
        }
        let before = before.filter(|_| !had.is_empty());
        let changed = before.map(|before| changed(before, self));
        let has = self.parts();
        let gone = had.difference(&has).map(|path| (path.clone(), None));
        let mut files: BTreeMap<String, Option<Vec<u8>>> = gone.collect();
        for (path, part) in self.in_parts() {
            if changed
                .as_ref()
                .is_none_or(|changed| changed.contains(&path))
            {
                files.insert(path, Some(op::to_json(&part)?));
            }
        }
        let runs = std::mem::take(&mut self.evidence);
        let tasks = std::mem::take(&mut self.tasks);
        let (own, others): (Vec<_>, Vec<_>) =
            runs.into_iter().partition(|run| run.value.task.is_none());
        self.evidence = own;
        self.fold = PARTS_FOLD;
        let head = op::to_json(&Head {
            state: self,
            parts: Counts {
                runs: others.len(),
                tasks: tasks.len(),
            },
        });
        self.fold = TASK_FOLD;
        self.tasks = tasks;
        self.take_in(others);
        Ok(Files {
            head: head?,
            parts: files,
        })
    }

    fn in_parts(&self) -> BTreeMap<String, PartOf<'_>> {
        let mut parts: BTreeMap<String, PartOf<'_>> = BTreeMap::new();
        for run in &self.evidence {
            if let Some(task) = &run.value.task {
                parts.entry(part_of(task)).or_default().evidence.push(run);
            }
        }
        for (key, facts) in &self.tasks {
            let part = parts.entry(part_of(key)).or_default();
            part.tasks.insert(key, facts);
        }
        parts
    }

    /// Puts runs where they belong: in the order of records.
    fn take_in(&mut self, runs: Vec<Stamped<Evidence>>) {
        self.evidence.extend(runs);
        self.evidence
            .sort_by(|one, other| (one.seq, &one.op).cmp(&(other.seq, &other.op)));
    }

    /// Makes the head of a state whole by its parts.
    pub(super) fn with_parts(
        mut self,
        counts: Counts,
        parts: Vec<(String, Vec<u8>)>,
        path: &str,
    ) -> Result<Self> {
        let mut runs = Vec::new();
        for (name, bytes) in parts {
            let label = format!("{path}, {name}");
            let part: Part = op::parse_json(&bytes, &label)?;
            let runs_of = part.evidence.iter();
            let mut keys = runs_of.filter_map(|run| run.value.task.as_deref());
            if !keys.all(|key| part_of(key) == name)
                || !part.tasks.keys().all(|key| part_of(key) == name)
            {
                return Err(damaged(&format!(
                    "{label}: it holds a task that stands in another file"
                )));
            }
            runs.extend(part.evidence);
            self.tasks.extend(part.tasks);
        }
        let found = Counts {
            runs: runs.len(),
            tasks: self.tasks.len(),
        };
        if found != counts {
            return Err(damaged(&format!(
                "{path}: expected {} tasks and {} runs in the files of {FOLDER}/, found {} and {}",
                counts.tasks, counts.runs, found.tasks, found.runs
            )));
        }
        self.fold = TASK_FOLD;
        self.take_in(runs);
        Ok(self)
    }
}

fn damaged(why: &str) -> Failure {
    Failure::internal(Code::RecordDamaged, why).help(command!("fsck --repair"))
}

/// The parts in which two states differ.
fn changed(before: &State, now: &State) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (one, other) in [(before, now), (now, before)] {
        let tasks = one.tasks.iter();
        let differ = tasks.filter(|(key, facts)| other.tasks.get(*key) != Some(facts));
        found.extend(differ.map(|(key, _)| part_of(key)));
        let known: HashMap<_, _> = other.evidence.iter().map(|run| (&run.op, run)).collect();
        let runs = one.evidence.iter();
        let differ = runs.filter(|run| known.get(&run.op) != Some(run));
        found.extend(
            differ
                .filter_map(|run| run.value.task.as_deref())
                .map(part_of),
        );
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{Files, is_state_file};
    use crate::op::{Body, Event, Evidence, Operation};
    use crate::replay::fold;
    use crate::replay_props::{evidence, id, op_id, operation, started};
    use crate::session::State;
    use crate::task::event::{Claim, TaskEvent};
    use crate::task::node::TaskId;
    use std::collections::BTreeMap;

    const COUNT: usize = 70;

    fn record(n: usize, body: impl Into<Body>) -> Operation {
        let mut op = operation(n, n as u64 + 1, body, None);
        op.format = 2;
        op.after = vec![op_id(n - 1)];
        op.reason = Some("for a reason".to_owned());
        op
    }

    fn task(n: usize) -> TaskId {
        TaskId::parse(&format!("Task-{n}")).expect("an id")
    }

    fn claim(n: usize) -> TaskEvent {
        TaskEvent::Claimed {
            task: task(n),
            claim: Claim::default(),
        }
    }

    fn run(n: usize, of: Option<usize>) -> Operation {
        let evidence = Evidence {
            task: of.map(|of| task(of).to_string()),
            ..evidence(true, 0, 1)
        };
        record(n, Event::Ran { evidence })
    }

    fn history() -> Vec<Operation> {
        let mut ops = vec![started()];
        ops.extend((1..=COUNT).map(|n| record(n, claim(n))));
        ops.extend((1..=20).map(|n| run(COUNT + n, Some(3 * n))));
        ops.push(run(COUNT + 21, None));
        ops
    }

    fn state(ops: &[Operation]) -> State {
        fold(&id(), ops).expect("a state")
    }

    fn read(files: &Files) -> State {
        let parts = files.parts.iter();
        let parts = parts.filter_map(|(path, bytes)| Some((path.clone(), bytes.clone()?)));
        let read = State::parse(&files.head, "state.json", || Ok(parts.collect()));
        read.expect("a state").expect("of these rules")
    }

    fn all(state: &State) -> Files {
        state.clone().to_files(None).expect("files")
    }

    #[test]
    fn a_state_of_many_tasks_is_read_back_from_its_files() {
        let state = state(&history());
        assert_eq!((state.tasks.len(), state.evidence.len()), (COUNT, 21));
        let files = all(&state);
        assert_eq!(
            files.parts.keys().cloned().collect::<Vec<_>>(),
            Vec::from_iter(state.parts())
        );
        assert!(files.parts.keys().all(|path| is_state_file(path)));
        assert_eq!(read(&files), state);
    }

    #[test]
    fn a_record_of_one_task_changes_one_file_beside_the_head() {
        let mut ops = history();
        let before = state(&ops);
        ops.push(record(
            ops.len(),
            TaskEvent::Skipped {
                task: task(COUNT + 1),
            },
        ));
        ops.push(run(ops.len(), Some(5)));
        for (from, to) in [(COUNT + 22, COUNT + 23), (COUNT + 23, COUNT + 24)] {
            let (had, mut has) = (state(&ops[..from]), state(&ops[..to]));
            let changed = has.to_files(Some(&had)).expect("files");
            assert_eq!(changed.parts.len(), 1);
            assert_eq!(has, state(&ops[..to]), "what is written stays as it was");
            let mut stored: BTreeMap<_, _> = all(&had).parts;
            stored.extend(changed.parts);
            let whole = all(&has);
            assert_eq!((stored, changed.head), (whole.parts, whole.head));
        }
        assert!(before.tasks.len() < state(&ops).tasks.len());
    }

    #[test]
    fn a_state_with_few_tasks_left_is_one_file_again() {
        let ops = history();
        let (many, mut few) = (state(&ops), state(&ops[..10]));
        let files = few.to_files(Some(&many)).expect("files");
        assert_eq!(files.parts.len(), many.parts().len());
        assert!(files.parts.values().all(Option::is_none));
        assert_eq!(files.head, few.to_bytes().expect("bytes"));
    }

    #[test]
    fn a_state_whose_files_are_not_whole_is_damage() {
        let mut lacking = all(&state(&history()));
        lacking.parts.pop_first();
        let mut moved = all(&state(&history()));
        let (path, bytes) = moved.parts.pop_first().expect("a file");
        moved.parts.insert(path.replace("state/", "state/x"), bytes);
        for files in [lacking, moved] {
            let parts = files.parts.into_iter();
            let parts = parts
                .filter_map(|(path, bytes)| Some((path, bytes?)))
                .collect();
            State::parse(&files.head, "state.json", || Ok(parts)).expect_err("damage");
        }
    }

    #[test]
    fn only_files_of_a_state_are_named_like_those() {
        for (path, is_it) in [
            ("sessions/a/state.json", true),
            ("sessions/a/state/0f.json", true),
            ("state.json", true),
            ("sessions/a/state/0f.txt", false),
            ("sessions/a/state/key.json", false),
            ("sessions/a/0f.json", false),
        ] {
            assert_eq!(is_state_file(path), is_it, "{path}");
        }
    }
}
