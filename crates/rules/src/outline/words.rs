//! The lists of words that an outline goes by. A word counts whole: `author` is not `auth`, and `prefix` is not `fix`.

use super::Chosen;
use loopx_base::vocabulary::vocabulary;

vocabulary!(
    /// Size that a change seems to have.
    Complexity {
        Low = "low",
        Medium = "medium",
        High = "high",
    }
);

impl Complexity {
    /// The field of plan.md that says it.
    pub const FIELD: &'static str = "complexity";

    /// Number of angles from which the code is looked at.
    pub fn angles(self) -> usize {
        match self {
            Complexity::Low => 1,
            Complexity::Medium => 3,
            Complexity::High => 4,
        }
    }

    /// Complexity that a number of points makes.
    fn of(points: u32) -> Self {
        match points {
            0 | 1 => Complexity::Low,
            2 | 3 => Complexity::Medium,
            _ => Complexity::High,
        }
    }
}

/// Words that say that a change is large, and how many points one or more of them make. A blank stands between the
/// words of one that has several.
const SIZES: [(u32, &[&str]); 4] = [
    // Structure.
    (
        2,
        &[
            "refactor",
            "refactors",
            "refactored",
            "refactoring",
            "architect",
            "architecture",
            "architectural",
            "restructure",
            "restructures",
            "restructured",
            "restructuring",
            "modular",
            "modularize",
            "modularise",
        ],
    ),
    // Several places.
    (2, &["multiple", "across", "cross cutting", "crosscutting"]),
    // What others use.
    (
        1,
        &[
            "integrate",
            "integrates",
            "integrated",
            "integration",
            "api",
            "apis",
            "database",
            "databases",
        ],
    ),
    // How well it does something.
    (
        1,
        &[
            "security",
            "performance",
            "auth",
            "authentication",
            "authenticate",
            "authorization",
            "authorize",
        ],
    ),
];

/// Angles that belong together, the first of them first, and the words that ask for them.
struct Preset {
    words: &'static [&'static str],
    angles: [&'static str; 4],
}

/// The first whose word stands in the request counts.
const PRESETS: [Preset; 4] = [
    Preset {
        words: &[
            "refactor",
            "refactors",
            "refactored",
            "refactoring",
            "architect",
            "architecture",
            "architectural",
            "restructure",
            "restructures",
            "restructured",
            "restructuring",
            "modular",
            "modularize",
            "modularise",
        ],
        angles: [
            "architecture",
            "dependencies",
            "modularity",
            "integration-points",
        ],
    },
    Preset {
        words: &[
            "security",
            "auth",
            "authentication",
            "authenticate",
            "authorization",
            "authorize",
            "permission",
            "permissions",
            "access",
        ],
        angles: ["security", "auth-patterns", "dataflow", "validation"],
    },
    Preset {
        words: &[
            "performance",
            "slow",
            "slower",
            "optimize",
            "optimizes",
            "optimization",
            "optimise",
            "optimises",
            "optimisation",
            "cache",
            "caches",
            "cached",
            "caching",
        ],
        angles: ["performance", "bottlenecks", "caching", "data-access"],
    },
    Preset {
        words: &[
            "fix", "fixes", "fixed", "fixing", "bug", "bugs", "error", "errors", "issue", "issues",
            "broken", "crash", "crashes",
        ],
        angles: [
            "error-handling",
            "dataflow",
            "state-management",
            "edge-cases",
        ],
    },
];

/// Angles that stand where no word asks for others.
const USUAL: [&str; 4] = ["patterns", "integration-points", "testing", "dependencies"];

/// Estimates the size of a change by the words of its request.
pub fn complexity_of(request: &str) -> Chosen<Complexity> {
    let request = words(request);
    let mut points = 0;
    let mut chose = Vec::new();
    for (weight, list) in SIZES {
        let found = said(&request, list);
        if !found.is_empty() {
            points += weight;
            chose.extend(found);
        }
    }
    Chosen {
        value: Complexity::of(points),
        words: chose,
        written: false,
    }
}

/// The angles from which the code is looked at.
pub fn angles_of(request: &str, complexity: Complexity) -> Chosen<Vec<String>> {
    let request = words(request);
    let presets = PRESETS
        .iter()
        .map(|preset| (said(&request, preset.words), preset.angles));
    let first = presets.into_iter().find(|(found, _)| !found.is_empty());
    let (chose, angles) = first.unwrap_or((Vec::new(), USUAL));
    let angles = angles.iter().take(complexity.angles());
    Chosen {
        value: angles.map(|one| (*one).to_owned()).collect(),
        words: chose,
        written: false,
    }
}

/// Tells whether a text names a file: a word with a folder and an ending, as in `src/a.rs`.
pub fn names_file(text: &str) -> bool {
    let mut words = text.split_whitespace();
    words.any(|word| {
        super::explore::is_path(word.trim_matches(|c: char| "`\"'()[],;:.".contains(c)))
    })
}

/// The words of a text, in lower case.
pub fn words(text: &str) -> Vec<String> {
    let parts = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    let parts = parts.filter(|word| !word.is_empty());
    parts.map(str::to_lowercase).collect()
}

/// The entries of a list that a request says, each once.
pub fn said(request: &[String], list: &[&str]) -> Vec<String> {
    let is_said = |entry: &&&str| {
        let parts: Vec<&str> = entry.split(' ').collect();
        request.windows(parts.len()).any(|at| at == parts)
    };
    let found = list.iter().filter(is_said);
    found.map(|entry| (*entry).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::{Complexity, angles_of, complexity_of, names_file};

    #[test]
    fn the_words_of_the_request_choose_the_angles() {
        let all = [
            "architecture",
            "dependencies",
            "modularity",
            "integration-points",
        ];
        for (complexity, count) in [
            (Complexity::Low, 1),
            (Complexity::Medium, 3),
            (Complexity::High, 4),
        ] {
            let found = angles_of("refactor the session module", complexity);
            assert_eq!(found.value, all[..count]);
            assert_eq!(found.words, ["refactor"]);
        }
        for (request, angles) in [
            (
                "fix crash in parser",
                ["error-handling", "dataflow", "state-management"],
            ),
            (
                "add a button",
                ["patterns", "integration-points", "testing"],
            ),
            ("it is slow", ["performance", "bottlenecks", "caching"]),
            (
                "check permissions",
                ["security", "auth-patterns", "dataflow"],
            ),
        ] {
            assert_eq!(
                angles_of(request, Complexity::Medium).value,
                angles,
                "{request}"
            );
        }
    }

    /// Contradictions of the reference: by parts of words `author` asked for security and `prefix` for bugs.
    #[test]
    fn a_word_counts_whole() {
        let usual = angles_of("", Complexity::High).value;
        for request in [
            "show the author",
            "an accessible page",
            "a prefix for names",
            "debugging",
            "tissues",
            "the slowest",
            "suffixes",
            "a fixture",
        ] {
            let found = angles_of(request, Complexity::High);
            assert_eq!(found.value, usual, "{request}");
            assert!(found.words.is_empty());
        }
        assert_eq!(
            complexity_of("capital letters and authors").value,
            Complexity::Low
        );
    }

    #[test]
    fn the_points_of_the_words_say_how_large_a_change_looks() {
        for (request, size, words) in [
            ("rename a constant", Complexity::Low, &[][..]),
            ("read the API", Complexity::Low, &["api"]),
            (
                "refactor the session module",
                Complexity::Medium,
                &["refactor"],
            ),
            ("API security", Complexity::Medium, &["api", "security"]),
            (
                "refactor auth across services",
                Complexity::High,
                &["refactor", "across", "auth"],
            ),
            (
                "a cross-cutting restructure",
                Complexity::High,
                &["restructure", "cross cutting"],
            ),
            // One group counts once, however many of its words there are.
            (
                "refactor and restructure",
                Complexity::Medium,
                &["refactor", "restructure"],
            ),
        ] {
            let found = complexity_of(request);
            assert_eq!(
                (found.value, &found.words[..]),
                (
                    size,
                    &words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>()[..]
                ),
                "{request}"
            );
        }
    }

    #[test]
    fn a_request_names_a_file_by_its_path() {
        for (text, is) in [
            ("mend src/a.rs", true),
            ("mend `src/a.rs`, please", true),
            ("(see lib/x/y.ts:12)", true),
            ("either/or", false),
            ("https://example.org/a.html", false),
            ("version 1.2", false),
            ("pre-existing files", false),
        ] {
            assert_eq!(names_file(text), is, "{text}");
        }
    }
}
