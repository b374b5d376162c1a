//! The findings about a list of tasks: each by its id, how much it matters, and what it means.

use crate::core::artifact::Artifact;
use crate::core::hint::command;
use crate::core::spec::{Finding, Known, Severity};

const ERROR: &[Severity] = &[Severity::Error];
const WARNING: &[Severity] = &[Severity::Warning];

const fn known(
    id: &'static str,
    severities: &'static [Severity],
    meaning: &'static str,
    fix: &'static str,
) -> Known {
    Known {
        id,
        severities,
        meaning,
        fix,
    }
}

/// All of them, by id. An error holds the gate; a warning is shown.
pub const FINDINGS: &[Known] = &[
    known(
        "task_check_missing",
        ERROR,
        "a task does not say how anybody sees that it is done",
        "give it a command or something to look at in `convergence.verification`",
    ),
    known(
        "task_check_vague",
        ERROR,
        "what a person has to look at is not said",
        "name the thing to look at, and what has to be seen there",
    ),
    known(
        "task_criteria_many",
        ERROR,
        "a task has more than five criteria",
        "make two tasks of it",
    ),
    known(
        "task_criteria_missing",
        ERROR,
        "a task has no criterion",
        "say in `convergence.criteria` what holds when it is done",
    ),
    known(
        "task_criterion_vague",
        ERROR,
        "a criterion cannot be tested",
        "say what somebody does, and what happens then",
    ),
    known(
        "task_cycle",
        ERROR,
        "tasks wait for each other, or are parts of each other",
        "take one of the edges out",
    ),
    known(
        "task_dependency_unknown",
        ERROR,
        "a task names another one that is not in the list",
        "name one that is there, or add it",
    ),
    known(
        "task_done_technical",
        WARNING,
        "a definition of done speaks of tools",
        "say what somebody has from it; the tools stand in the verification",
    ),
    known(
        "task_field_missing",
        ERROR,
        "a task has no id or no title",
        "write the field",
    ),
    known(
        "task_field_misspelt",
        ERROR,
        "a field has the name of another one but for letter case, `_` and `-`",
        "write its name as the message says",
    ),
    known(
        "task_field_repeated",
        ERROR,
        "a field stands in a task twice",
        "keep one of the two",
    ),
    known(
        "task_field_type",
        ERROR,
        "a field has a value of another kind than it can have",
        "write the value as the message says",
    ),
    known(
        "task_field_unknown",
        WARNING,
        "a field means nothing to this program; it stays",
        "mend its name, where it is misspelt",
    ),
    known(
        "task_file_exists",
        WARNING,
        "a task creates a file that is there already",
        "name the action `modify`",
    ),
    known(
        "task_file_missing",
        WARNING,
        "a task changes a file that is not there, and that no earlier task creates",
        "mend the path, or name the action `create`",
    ),
    known(
        "task_files_overlap",
        WARNING,
        "two tasks that could run side by side touch one file",
        "let one depend on the other",
    ),
    known(
        "task_gate_invalid",
        ERROR,
        "the gate of a decision or a goal cannot be decided by",
        "write the gate as the message says",
    ),
    known(
        "task_id_invalid",
        ERROR,
        "an id has characters that are not taken, or is too long",
        "write letters, digits, `-`, `_` and `.`, and begin with a letter or a digit",
    ),
    known(
        "task_id_repeated",
        ERROR,
        "two tasks have one id, or ids that differ in letter case alone",
        "give one of them another id",
    ),
    known(
        "task_line_invalid",
        ERROR,
        "a line is no JSON object",
        "write one object a line",
    ),
    known(
        "task_path_outside",
        ERROR,
        "a path of a task leads out of the repository, or into git's own folder",
        "write the path from the top of the repository",
    ),
    known(
        "task_skill_missing",
        ERROR,
        "no folder of a host has the skill of a task, or nobody can follow it as it stands there",
        "put the skill there, or name another one",
    ),
    known(
        "task_skill_renamed",
        WARNING,
        "the skill of a task calls itself by another name",
        "name it as it calls itself",
    ),
    known(
        "task_wait_circular",
        ERROR,
        "a task waits for what comes only after it",
        "wait for something that others bring about",
    ),
    known(
        "task_wait_invalid",
        ERROR,
        "what a task waits for outside of the list cannot be understood",
        "write the condition as the message says",
    ),
    known(
        "task_word_unknown",
        ERROR,
        "a field with few possible words has another one",
        "write one of the words that the message lists",
    ),
];

/// A finding on a line of the list.
/// A finding about a line of the list.
pub fn found(id: &'static str, line: usize, message: impl Into<String>) -> Finding {
    let path = Artifact::TaskList.path();
    let known = FINDINGS.iter().find(|known| known.id == id);
    let severity = known.and_then(|known| known.severities.first());
    let severity = severity.copied().unwrap_or(Severity::Error);
    Finding::new(severity, id, path, line, message, command!("edit {path}"))
}

#[cfg(test)]
mod tests {
    use super::FINDINGS;

    #[test]
    fn the_findings_stand_in_order() {
        assert!(FINDINGS.windows(2).all(|pair| pair[0].id < pair[1].id));
    }
}
