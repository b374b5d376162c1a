//! `tasks.jsonl`: the tasks of a plan, one JSON object a line (design 5). Read and checked here, shown and run as
//! slices are: each task has one check. Fields that this program does not know are nobody's fault, and stay.

use super::artifact::Artifact;
use super::failure::{Blocker, Code};
use super::hint::command;
use super::pack::{Slice, SliceKind, cycle};
use serde::Deserialize;
use std::collections::BTreeSet;

/// The longest id.
const MAX_ID: usize = 100;
/// The criteria of one task.
const MAX_CRITERIA: usize = 5;

#[derive(Deserialize)]
struct Task {
    id: String,
    title: String,
    #[serde(default)]
    depends_on: Vec<String>,
    #[serde(default)]
    scenarios: Vec<String>,
    #[serde(default)]
    files: Vec<TaskFile>,
    #[serde(default)]
    convergence: Convergence,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum TaskFile {
    Path(String),
    Entry { path: String },
}

#[derive(Default, Deserialize)]
struct Convergence {
    #[serde(default)]
    criteria: Vec<String>,
    verification: Option<Verification>,
}

/// How anybody sees that a task is done: by a command that is run, or by a person's word.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Verification {
    Cmd(Vec<String>),
    Manual(String),
}

const EXAMPLE: &str = r#"{"id":"TASK-001","title":"...","convergence":{"criteria":["..."],"verification":{"cmd":["cargo","test"]}}}"#;

/// Reads the tasks as slices. The blocker names each line that is wrong, and what was expected there.
pub fn tasks(text: &str) -> Result<Vec<Slice>, Blocker> {
    let path = Artifact::TaskList.path();
    let edit = command!("edit {path}");
    let mut faults: Vec<String> = Vec::new();
    let mut found: Vec<Slice> = Vec::new();
    let mut ids: BTreeSet<String> = BTreeSet::new();
    let lines = text.lines().enumerate();
    for (number, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        let at = format!("{path}:{}", number + 1);
        let task: Task = match serde_json::from_str(line) {
            Ok(task) => task,
            Err(error) => {
                faults.push(format!("{at}: {error}; expected a line like {EXAMPLE}"));
                continue;
            }
        };
        faults.extend(own_faults(&task).map(|fault| format!("{at}: {fault}")));
        if !ids.insert(task.id.to_lowercase()) {
            faults.push(format!("{at}: the id `{}` stands there twice", task.id));
        }
        found.push(slice(task));
    }
    for task in &found {
        let missing = task.blocked_by.iter();
        let missing = missing.filter(|other| !ids.contains(&other.to_lowercase()));
        faults.extend(missing.map(|other| {
            format!(
                "{path}: {} depends on `{other}`, which does not exist",
                task.id
            )
        }));
    }
    if let Some(cycle) = cycle(&found) {
        faults.push(format!(
            "{path}: tasks depend on each other: {}",
            cycle.join(" -> ")
        ));
    }
    if !faults.is_empty() {
        return Err(Blocker::new(Code::TaskListInvalid, faults.join("\n"), edit));
    }
    if found.is_empty() {
        return Err(Blocker::new(
            Code::TaskListEmpty,
            format!("{path} holds no task yet; `plan` makes one for each scenario of the delta"),
            command!("plan").note("(or write a line by hand)"),
        ));
    }
    Ok(found)
}

fn own_faults(task: &Task) -> impl Iterator<Item = String> {
    let mut faults = Vec::new();
    let id = &task.id;
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let is_id = id.len() <= MAX_ID
        && id.starts_with(|c: char| c.is_ascii_alphanumeric())
        && id.chars().all(plain);
    if !is_id {
        faults.push(format!(
            "expected an id of letters, digits, `-`, `_`, `.` (at most {MAX_ID}), found {id:?}"
        ));
    }
    if task.title.trim().is_empty() {
        faults.push(format!("{id} has no title"));
    }
    let criteria = &task.convergence.criteria;
    if criteria.len() > MAX_CRITERIA || criteria.iter().all(|one| one.trim().is_empty()) {
        faults.push(format!(
            "{id}: expected 1 to {MAX_CRITERIA} criteria in convergence.criteria, found {}",
            criteria.len()
        ));
    }
    match &task.convergence.verification {
        Some(Verification::Cmd(argv)) if argv.first().is_some_and(|word| !word.is_empty()) => {}
        Some(Verification::Manual(what)) if !what.trim().is_empty() => {}
        _ => faults.push(format!(
            "{id} has no check yet; expected convergence.verification as {{\"cmd\":[\"cargo\",\"test\"]}} or {{\"manual\":\"what to look at\"}}"
        )),
    }
    let outside = task.files.iter().map(TaskFile::path);
    let outside = outside.filter(|path| !super::policy::is_inside(path));
    faults.extend(
        outside.map(|path| format!("{id} names `{path}`, which is not inside the repository")),
    );
    faults.into_iter()
}

impl TaskFile {
    fn path(&self) -> &str {
        match self {
            TaskFile::Path(path) | TaskFile::Entry { path } => path,
        }
    }
}

fn slice(task: Task) -> Slice {
    let (kind, verification) = match task.convergence.verification {
        Some(Verification::Cmd(argv)) => (SliceKind::Afk, argv),
        _ => (SliceKind::Hitl, Vec::new()),
    };
    Slice {
        id: task.id,
        behaviour: task.title.clone(),
        title: task.title,
        kind,
        acceptance_criteria: task.convergence.criteria,
        verification,
        scenarios: task.scenarios,
        blocked_by: task.depends_on,
        files: task
            .files
            .iter()
            .map(|file| file.path().to_owned())
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::tasks;
    use crate::core::failure::Code;

    const GOOD: &str = r#"{"id":"TASK-001","title":"T","scenarios":["a/R/S"],"depends_on":[],"files":["src/a.rs",{"path":"src/b.rs","action":"create"}],"priority":2,"convergence":{"criteria":["C"],"verification":{"cmd":["sh","t.sh"]}}}"#;

    #[test]
    fn a_line_is_a_task_and_what_is_not_known_stays() {
        let manual = r#"{"id":"TASK-002","title":"Look","depends_on":["TASK-001"],"convergence":{"criteria":["C"],"verification":{"manual":"the page"}}}"#;
        let found = tasks(&format!("{GOOD}\n\n{manual}\n")).expect("tasks");
        assert_eq!(found[0].verification, ["sh", "t.sh"]);
        assert_eq!(found[0].files, ["src/a.rs", "src/b.rs"]);
        assert!(found[1].verification.is_empty());
        assert_eq!(found[1].blocked_by, ["TASK-001"]);
    }

    #[test]
    fn every_line_that_is_wrong_is_named_at_once() {
        let text = format!(
            "{GOOD}\nnonsense\n{}\n{}\n{}\n",
            r#"{"id":"task-001","title":"","convergence":{"criteria":[],"verification":{"cmd":[]}}}"#,
            r#"{"id":"-x","title":"T","depends_on":["nobody"],"files":["../y"],"convergence":{"criteria":["1"],"verification":{"cmd":["a"]}}}"#,
            r#"{"id":"b","title":"T","convergence":{"criteria":["1","2","3","4","5","6"],"verification":"run it"}}"#,
        );
        let blocker = tasks(&text).expect_err("faults");
        assert_eq!(blocker.code, Code::TaskListInvalid);
        for said in [
            "tasks.jsonl:2: expected ident",
            "tasks.jsonl:3: task-001 has no title",
            "tasks.jsonl:3: task-001: expected 1 to 5 criteria",
            "tasks.jsonl:3: task-001 has no check yet",
            "tasks.jsonl:3: the id `task-001` stands there twice",
            "tasks.jsonl:4: expected an id",
            "-x depends on `nobody`",
            "`../y`, which is not inside",
            "tasks.jsonl:5: ",
        ] {
            assert!(
                blocker.message.contains(said),
                "{said}: {}",
                blocker.message
            );
        }
        assert_eq!(tasks("\n").expect_err("nothing").code, Code::TaskListEmpty);
        let circle = GOOD.replace("\"depends_on\":[]", "\"depends_on\":[\"TASK-001\"]");
        assert!(
            tasks(&circle)
                .expect_err("a circle")
                .message
                .contains("TASK-001 -> TASK-001")
        );
    }
}
