//! Choice of the sprint pipeline that fits a request: by its whole words, and by how many files the list names already.

use crate::outline::{said, words};
use serde::Serialize;

/// Words of work that changes how things are built.
const STRUCTURE: [&str; 14] = [
    "refactor",
    "refactoring",
    "restructure",
    "restructuring",
    "rearchitect",
    "architect",
    "architecture",
    "modular",
    "modularize",
    "redesign",
    "rewrite",
    "migrate",
    "migration",
    "split",
];
/// Words of work in several places.
const ACROSS: [&str; 8] = [
    "across",
    "cross cutting",
    "multiple",
    "several",
    "all modules",
    "everywhere",
    "every service",
    "end to end",
];
/// Words of something small.
const FIX: [&str; 9] = [
    "fix", "fixes", "bug", "bugs", "bugfix", "typo", "typos", "hotfix", "patch",
];

/// A pipeline of sprints, and what it follows from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SprintSize {
    pub pipeline: &'static str,
    pub score: i32,
    /// Number of files that the list names.
    pub files: usize,
    pub structure: Vec<String>,
    pub across: Vec<String>,
    pub fix: Vec<String>,
}

/// The pipeline of sprints for a request, where the list names so many files.
pub fn sprint_size(request: &str, files: usize) -> SprintSize {
    let request = words(request);
    let [structure, across, fix] = [&STRUCTURE[..], &ACROSS, &FIX].map(|list| said(&request, list));
    let counts = |words: &[String], points: i32| if words.is_empty() { 0 } else { points };
    let size = match files {
        0..=2 => 0,
        3..=10 => 2,
        _ => 3,
    };
    let score = size + counts(&structure, 3) + counts(&across, 2) - counts(&fix, 2);
    SprintSize {
        pipeline: match score {
            5.. => "multi-sprint",
            2..=4 => "sprint",
            _ => "patch",
        },
        score,
        files,
        structure,
        across,
        fix,
    }
}

impl SprintSize {
    /// Reason for the pipeline, in a sentence.
    pub fn because(&self) -> String {
        let rows = [
            ("structure", &self.structure),
            ("across", &self.across),
            ("fix", &self.fix),
        ];
        let rows = rows.iter().filter(|(_, words)| !words.is_empty());
        let mut said: Vec<String> = rows
            .map(|(what, words)| format!("{what}: {}", words.join(", ")))
            .collect();
        said.push(format!(
            "{} in the list",
            loopx_base::counted(self.files, "file")
        ));
        format!(
            "{}, by a score of {}: {}",
            self.pipeline,
            self.score,
            said.join("; ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::sprint_size;

    /// S37: above ten files 3, from three on 2, structure 3, several places 2, a fix 2 less; from 5 on several sprints,
    /// from 2 on one.
    #[test]
    fn s37_words_and_files_say_how_many_sprints() {
        for (request, files, pipeline, score) in [
            ("say hello", 0, "patch", 0),
            ("fix the typo", 0, "patch", -2),
            ("fix it", 4, "patch", 0),
            ("say hello", 3, "sprint", 2),
            ("say hello", 11, "sprint", 3),
            ("refactor the store", 0, "sprint", 3),
            ("refactor the store", 10, "multi-sprint", 5),
            ("refactor across services", 0, "multi-sprint", 5),
            ("fix the refactoring across services", 11, "multi-sprint", 6),
            ("prefix the refactored names", 0, "patch", 0),
        ] {
            let size = sprint_size(request, files);
            assert_eq!((size.pipeline, size.score), (pipeline, score), "{request}");
        }
        let said = sprint_size("refactor across services", 3).because();
        assert_eq!(
            said,
            "multi-sprint, by a score of 7: structure: refactor; across: across; 3 files in the list"
        );
    }
}
