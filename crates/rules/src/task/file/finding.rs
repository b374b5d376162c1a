//! The findings about a list of tasks: each by its id, how much it matters, and what it means.

use crate::artifact::Artifact;
use loopx_base::hint::{Hint, command, hint};
use loopx_spec::{Finding, Known};

/// Findings about a list, by id. An error holds the gate; a warning is shown.
pub const FINDINGS: &[Known] = &[
    Known::new(
        "task_check_missing",
        Known::ERROR,
        "a task does not say how anybody sees that it is done",
        "give it a command or something to look at in `convergence.verification`",
    ),
    Known::new(
        "task_check_vague",
        Known::ERROR,
        "a manual check does not say what a person has to look at",
        "name the thing to look at, and what has to be seen there",
    ),
    Known::new(
        "task_conflict_file",
        Known::ERROR,
        "tasks of two domains change one file, and neither waits for the other",
        "let one depend on the other, or accept it with a reason",
    ),
    Known::new(
        "task_conflict_strategy",
        Known::WARNING,
        "tasks of several domains change one file, each with a risk of its own",
        "agree on one way to change it",
    ),
    Known::new(
        "task_criteria_many",
        Known::ERROR,
        "a task has more than five criteria",
        "make two tasks of it",
    ),
    Known::new(
        "task_criteria_missing",
        Known::ERROR,
        "a task has no criterion",
        "say in `convergence.criteria` what holds when it is done",
    ),
    Known::new(
        "task_criterion_vague",
        Known::ERROR,
        "a criterion cannot be tested",
        "say what somebody does, and what happens then",
    ),
    Known::new(
        "task_cycle",
        Known::ERROR,
        "tasks wait for each other, or are parts of each other",
        "remove one of the dependencies",
    ),
    Known::new(
        "task_dependency_unknown",
        Known::ERROR,
        "a task names a task that is not in the list",
        "name one that is there, or add it",
    ),
    Known::new(
        "task_domain_invalid",
        Known::ERROR,
        "a domain has no name or no range, or has numbers of another domain",
        "write the domain as the message says",
    ),
    Known::new(
        "task_domain_missing",
        Known::WARNING,
        "the number of a task belongs to a domain, and the task names none",
        "name the domain, or give the task another id",
    ),
    Known::new(
        "task_domain_outside",
        Known::ERROR,
        "the number of a task is not in the range of its domain",
        "give the task an id of its domain",
    ),
    Known::new(
        "task_domain_unknown",
        Known::ERROR,
        "a task names a domain that is not in the list",
        "name one that is there, or add it",
    ),
    Known::new(
        "task_done_technical",
        Known::WARNING,
        "a definition of done speaks of tools",
        "say what somebody has from it; the tools stand in the verification",
    ),
    Known::new(
        "task_field_missing",
        Known::ERROR,
        "a task has no id or no title",
        "write the field",
    ),
    Known::new(
        "task_field_misspelt",
        Known::ERROR,
        "the name of a field differs from a known field only in letter case, `_` or `-`",
        "write its name as the message says",
    ),
    Known::new(
        "task_field_repeated",
        Known::ERROR,
        "a field stands in a task twice",
        "keep one of the two",
    ),
    Known::new(
        "task_field_type",
        Known::ERROR,
        "a field has a value of another kind than it can have",
        "write the value as the message says",
    ),
    Known::new(
        "task_field_unknown",
        Known::WARNING,
        "a field means nothing to this program; it stays",
        "mend its name, where it is misspelt",
    ),
    Known::new(
        "task_file_exists",
        Known::WARNING,
        "a task creates a file that is there already",
        "name the action `modify`",
    ),
    Known::new(
        "task_file_missing",
        Known::WARNING,
        "a task changes a file that is not there, and that no earlier task creates",
        "mend the path, or name the action `create`",
    ),
    Known::new(
        "task_files_overlap",
        Known::WARNING,
        "two tasks that could run side by side touch one file",
        "let one depend on the other",
    ),
    Known::new(
        "task_gate_invalid",
        Known::ERROR,
        "the gate of a decision or a goal has an error",
        "write the gate as the message says",
    ),
    Known::new(
        "task_goal_open_ended",
        Known::WARNING,
        "a goal does not say what holds when it is met",
        "say it in `done_when`, or as a criterion",
    ),
    Known::new(
        "task_id_invalid",
        Known::ERROR,
        "an id has characters that are not taken, or is too long",
        "write letters, digits, `-`, `_` and `.`, and begin with a letter or a digit",
    ),
    Known::new(
        "task_id_repeated",
        Known::ERROR,
        "two tasks have one id, or ids that differ in letter case alone",
        "give one of them another id",
    ),
    Known::new(
        "task_line_invalid",
        Known::ERROR,
        "a line is no JSON object",
        "write one object a line",
    ),
    Known::new(
        "task_parts_deep",
        Known::ERROR,
        "a task has more than fifty tasks above it, each a part of the next",
        "make it a part of a task further up",
    ),
    Known::new(
        "task_path_outside",
        Known::ERROR,
        "a path of a task leads out of the repository, or into git's own folder",
        "write the path from the top of the repository",
    ),
    Known::new(
        "task_role_unprompted",
        Known::WARNING,
        "no prompt tells the role of a task how it works",
        "write a prompt for it, or name a role that has one",
    ),
    Known::new(
        "task_roles_many",
        Known::WARNING,
        "a team that was made for a request has more than five roles",
        "let one role do what two do",
    ),
    Known::new(
        "task_scenario_unserved",
        Known::WARNING,
        "no task names a scenario of the delta, and the archive asks what proves it",
        "name it in `scenarios` of the task that does what it says",
    ),
    Known::new(
        "task_skill_displaced",
        Known::WARNING,
        "another skill of the same name says otherwise and is passed over",
        "take one of them away, or give it another name",
    ),
    Known::new(
        "task_skill_missing",
        Known::ERROR,
        "no folder of a host has the skill of a task, or nobody can follow it as it stands there",
        "put the skill there, or name another one",
    ),
    Known::new(
        "task_skill_renamed",
        Known::WARNING,
        "the skill of a task calls itself by another name",
        "name it as it calls itself",
    ),
    Known::new(
        "task_versions_apart",
        Known::ERROR,
        "versions of a task that were written apart stand between markers",
        "choose between them, and take the markers out",
    ),
    Known::new(
        "task_wait_circular",
        Known::ERROR,
        "a task waits for something that comes only after the task",
        "wait for something that others bring about",
    ),
    Known::new(
        "task_wait_invalid",
        Known::ERROR,
        "a condition in `waits` of a task cannot be read",
        "write the condition as the message says",
    ),
    Known::new(
        "task_word_unknown",
        Known::ERROR,
        "a field has a word that is not one of its possible words",
        "write one of the words that the message lists",
    ),
];

/// A finding about a line of the list.
pub fn found(id: &'static str, line: usize, message: impl Into<String>) -> Finding {
    let path = Artifact::TaskList.path();
    let (severity, _) = Known::of(FINDINGS, id);
    Finding::new(severity, id, path, line, message, command!("edit {path}"))
}

/// Hint that leads on where one change of a list brings a finding: which argument is wrong, and the command that shows
/// what it can be, where there is one.
pub fn argument(id: &str, has_tasks: bool) -> Hint {
    match id {
        "task_dependency_unknown" if has_tasks => hint![
            "give --depends-on and --parent ids of the list: ",
            command!("task list")
        ],
        "task_dependency_unknown" => {
            "leave --depends-on and --parent out: the list has no task yet".into()
        }
        "task_cycle" => hint![
            "give --depends-on and --parent tasks that do not wait for it: ",
            command!("task graph")
        ],
        "task_path_outside" => {
            "give --file and --output paths from the top of the repository".into()
        }
        "task_wait_invalid" | "task_wait_circular" => {
            "give --until what others bring about, as the message says".into()
        }
        _ => "give the argument that the message names another value".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::FINDINGS;

    #[test]
    fn the_findings_stand_in_order() {
        assert!(FINDINGS.windows(2).all(|pair| pair[0].id < pair[1].id));
    }
}
