//! Roles: who does a task, and the prompt that tells an agent how. A prompt is a document: front matter, and sections
//! that say what the role reads, what it writes, to whom it speaks and how it works. This module owns the prompts of
//! the program and what is wrong with one; where a repository keeps its own is told to it.

mod lint;

pub use lint::{FINDINGS, Prompt, lint, read, unreadable};

/// The most words of a prompt.
pub const MOST_WORDS: usize = 800;

macro_rules! prompts {
    ($($name:literal),+ $(,)?) => {
        /// The prompts that the program brings, by role.
        const ALL: &[(&str, &str)] = &[
            $(($name, include_str!(concat!("prompts/", $name, ".md")))),+
        ];
    };
}

prompts!(
    "analyst",
    "architect",
    "coordinator",
    "discuss",
    "executor",
    "explore",
    "fe-developer",
    "fe-qa",
    "planner",
    "reviewer",
    "tester",
    "writer",
);

/// The roles that the program has a prompt for.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|(name, _)| *name)
}

/// The program's prompt of a role.
pub fn prompt(name: &str) -> Option<&'static str> {
    let found = ALL.iter().find(|(known, _)| *known == name);
    found.map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::{MOST_WORDS, lint, names, prompt, read};
    use crate::pipeline::{Pipeline, builtin};

    #[test]
    fn each_prompt_of_the_program_is_short_and_whole() {
        for name in names() {
            let text = prompt(name).expect("a prompt");
            let read = read(text);
            assert!(read.words <= MOST_WORDS, "{name}: {} words", read.words);
            assert!(!read.about.is_empty(), "{name}");
            let found = lint(name, &format!("{name}.md"), text);
            assert!(found.is_empty(), "{name}: {found:#?}");
        }
        let sorted: Vec<&str> = names().collect();
        assert!(sorted.is_sorted());
    }

    #[test]
    fn each_role_of_each_pipeline_of_the_program_has_a_prompt() {
        for mode in builtin::names() {
            let pipeline = Pipeline::built_in(mode).expect("it is known");
            let pipeline = pipeline.expect("it can be read");
            for role in pipeline.whole.roles.keys() {
                assert!(prompt(role).is_some(), "{mode}: {role}");
            }
        }
    }
}
