//! The findings about a pipeline: each by its id, how much it matters, and what it means.

use loopx_spec::{Finding, Known};
use std::rc::Rc;

/// Place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub file: Rc<str>,
    pub line: usize,
}

impl Default for Place {
    fn default() -> Self {
        Place::new("", 0)
    }
}

impl Place {
    pub fn new(file: &str, line: usize) -> Self {
        Place {
            file: file.into(),
            line,
        }
    }
}

/// Findings about a pipeline, by id. A pipeline with an error does not start.
pub const FINDINGS: &[Known] = &[
    Known::new(
        "pipeline_condition_never",
        Known::ERROR,
        "a condition of a pipeline can never hold",
        "name a value that the parameter can have, or take the condition out",
    ),
    Known::new(
        "pipeline_cycle",
        Known::ERROR,
        "tasks of a pipeline wait for each other",
        "remove one of the dependencies",
    ),
    Known::new(
        "pipeline_dependency_unknown",
        Known::ERROR,
        "a task of a pipeline waits for a task that is not in the pipeline",
        "name a task of the pipeline, or add the task",
    ),
    Known::new(
        "pipeline_extends_unknown",
        Known::ERROR,
        "a pipeline extends a pipeline that does not exist, or itself",
        "name one of the pipelines of the program",
    ),
    Known::new(
        "pipeline_gate_waits",
        Known::ERROR,
        "a gate of a pipeline waits for a task that waits for the gate",
        "let the gate judge only tasks that come before it",
    ),
    Known::new(
        "pipeline_id_invalid",
        Known::ERROR,
        "an id of a pipeline has characters that are not taken, or is too long",
        "write letters, digits, `-`, `_` and `.`, and begin with a letter or a digit",
    ),
    Known::new(
        "pipeline_id_repeated",
        Known::ERROR,
        "two tasks of a pipeline have one id, or ids that differ in letter case alone",
        "give one of them another id",
    ),
    Known::new(
        "pipeline_loop_uncapped",
        Known::ERROR,
        "a gate of a pipeline inserts a repair, and does not say how often",
        "write `cap`",
    ),
    Known::new(
        "pipeline_output_elsewhere",
        Known::WARNING,
        "a task of a pipeline leaves a file in the folder of another task",
        "leave it below `tasks/{id}/`",
    ),
    Known::new(
        "pipeline_param_unknown",
        Known::ERROR,
        "a condition or a text of a pipeline names a parameter that the pipeline does not have",
        "add it to `params`, or mend its name",
    ),
    Known::new(
        "pipeline_placeholder_unknown",
        Known::ERROR,
        "a text of a pipeline has a placeholder that names no parameter",
        "name a parameter, or remove the braces",
    ),
    Known::new(
        "pipeline_read_never",
        Known::ERROR,
        "a task of a pipeline reads a file of a task that is not before it",
        "let it wait for that task, or mend the path",
    ),
    Known::new(
        "pipeline_role_unknown",
        Known::ERROR,
        "a task of a pipeline is for a role that the pipeline does not have",
        "add it to `roles`, or mend its name",
    ),
    Known::new(
        "pipeline_role_unprompted",
        Known::WARNING,
        "no prompt tells a role of a pipeline how it works",
        "write a prompt for it, or name a role that has one",
    ),
    Known::new(
        "pipeline_skill_displaced",
        Known::WARNING,
        "another skill of the same name says otherwise and is passed over",
        "take one of them away, or give it another name",
    ),
    Known::new(
        "pipeline_skill_missing",
        Known::ERROR,
        "no folder of a host has the skill of a task, or nobody can follow it as it stands there",
        "put the skill there, or name another one",
    ),
    Known::new(
        "pipeline_skill_renamed",
        Known::WARNING,
        "the skill of a task of a pipeline calls itself by another name",
        "name it as it calls itself",
    ),
    Known::new(
        "pipeline_task_invalid",
        Known::ERROR,
        "a task of a pipeline would have an error in `tasks.jsonl`",
        "write the field as the message says",
    ),
    Known::new(
        "pipeline_template_missing",
        Known::ERROR,
        "a gate of a pipeline inserts a template that is not there",
        "add it to `templates`, or mend its name",
    ),
    Known::new(
        "pipeline_unreadable",
        Known::ERROR,
        "the file of a pipeline is no TOML, or has a key that is not known",
        "write the line as the message says",
    ),
    Known::new(
        "pipeline_unused",
        Known::WARNING,
        "a pipeline has a role, a parameter or a template that nothing uses",
        "use it, or take it out",
    ),
];

/// Findings of one pipeline.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings(pub Vec<Finding>);

impl Findings {
    pub(super) fn one(id: &'static str, place: &Place, message: impl Into<String>) -> Self {
        let mut findings = Findings::default();
        findings.say(id, place, message);
        findings
    }

    pub(super) fn say(&mut self, id: &'static str, place: &Place, message: impl Into<String>) {
        let (severity, fix) = Known::of(FINDINGS, id);
        self.0.push(Finding::new(
            severity,
            id,
            &place.file,
            place.line,
            message,
            fix,
        ));
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
