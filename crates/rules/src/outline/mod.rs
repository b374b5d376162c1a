//! The outline of a plan: how large a change looks, from which angles the code is looked at first, and whether that is
//! worth while. All of it is advice that follows from words and lists; what a person wrote counts more.
//!
//! Owns the lists of words. It knows no store and no code: which files are there is told to it. Source: reference
//! teams-and-tasks, 4.13 and 4.15, with words that count whole.

pub mod explore;
mod finding;
pub mod header;
mod words;

pub use finding::{FINDINGS, findings};
pub use words::{Complexity, angles_of, complexity_of, names_file, said, words};

use super::artifact::Artifact;
use crate::texts::Texts;
use loopx_spec::front::{Fault, FrontMatter};
use serde::Serialize;

/// A value, and what it follows from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Chosen<T> {
    pub value: T,
    /// The words of the request that chose it; none where it is what stands where no word does.
    pub words: Vec<String>,
    /// Set when somebody wrote the value into the plan.
    pub written: bool,
}

impl<T> Chosen<T> {
    fn written(value: T) -> Self {
        Chosen {
            value,
            words: Vec::new(),
            written: true,
        }
    }
}

/// Number of characters of reading that make a look at the code worth while, whatever they say.
const LONG: usize = 50_000;

/// Reason why the code is looked at before it is planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// The plan names angles.
    Asked,
    /// The request names a file.
    RequestNamesFiles,
    /// A task names a file.
    TasksNameFiles,
    /// The texts to read are long.
    Long,
}

impl Why {
    pub fn words(self) -> &'static str {
        match self {
            Why::Asked => "the plan names angles",
            Why::RequestNamesFiles => "the request names a file",
            Why::TasksNameFiles => "a task names a file",
            Why::Long => "there are more than 50,000 characters to read",
        }
    }
}

/// The outline of one plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Outline {
    pub complexity: Chosen<Complexity>,
    pub angles: Chosen<Vec<String>>,
    /// Reason why the code is looked at first; nothing where it need not be.
    pub explore: Option<Why>,
}

/// The outline that follows from the files of a session. `has_files` says whether a task names one.
pub fn outline(title: &str, texts: &Texts, has_files: bool) -> Result<Outline, Fault> {
    let text = |artifact: Artifact| texts.get(&artifact).map_or("", String::as_str);
    let request = format!("{title}\n{}", text(Artifact::Intent));
    let front = FrontMatter::parse(text(Artifact::Plan))?;
    let (size, named) = written(&front)?;
    let is_named = !named.is_empty();
    let complexity = size.map_or_else(|| complexity_of(&request), Chosen::written);
    let angles = if is_named {
        Chosen::written(named)
    } else {
        angles_of(&request, complexity.value)
    };
    let reading = [Artifact::Intent, Artifact::Plan, Artifact::SpecDelta];
    let length: usize = reading.map(|one| text(one).chars().count()).iter().sum();
    let whys = [
        (is_named, Why::Asked),
        (names_file(&request), Why::RequestNamesFiles),
        (has_files, Why::TasksNameFiles),
        (length > LONG, Why::Long),
    ];
    Ok(Outline {
        complexity,
        angles,
        explore: whys.iter().find(|(holds, _)| *holds).map(|(_, why)| *why),
    })
}

/// Reads what somebody wrote into the front matter of plan.md.
pub fn written(front: &FrontMatter) -> Result<(Option<Complexity>, Vec<String>), Fault> {
    let fault = |field: &'static str, message: String| Fault {
        line: 1,
        field: Some(field),
        message: format!("{field}: {message}"),
        missing: false,
    };
    let size = match front.text(Complexity::FIELD)? {
        None => None,
        Some(word) => match word.parse() {
            Ok(size) => Some(size),
            Err(_) => {
                let all = Complexity::WORDS.join(", ");
                return Err(fault(
                    Complexity::FIELD,
                    format!("expected one of {all}, found `{word}`"),
                ));
            }
        },
    };
    let named = front.list(ANGLES)?;
    match named.iter().find(|name| !is_angle(name)) {
        Some(odd) => Err(fault(ANGLES, not_an_angle(odd))),
        None => Ok((size, named)),
    }
}

/// The field of plan.md that names angles.
pub const ANGLES: &str = "angles";

/// Tells whether a word can be an angle: `a-z`, `0-9` and `-`, at most 40.
pub fn is_angle(word: &str) -> bool {
    let plain = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    !word.is_empty() && word.len() <= 40 && !word.starts_with('-') && word.bytes().all(plain)
}

/// Message about a word that is no angle.
pub fn not_an_angle(word: &str) -> String {
    format!("expected an angle like `data-flow` (a-z, 0-9, -; at most 40), found `{word}`")
}

/// Number of open questions that may stand beside each other: one round.
pub const QUESTIONS: usize = 4;

/// Number of returns of a plan without reviews before a person has to say that it may go back again.
pub const RETURNS: u32 = 3;

/// Tells whether a plan that was entered so often may be entered again. `extra` is what a person added since.
pub fn may_return(run: u32, extra: u32) -> bool {
    run.saturating_sub(1) < RETURNS || extra > 0
}

#[cfg(test)]
mod tests {
    use super::{Complexity, Why, may_return, outline};
    use crate::artifact::Artifact;
    use crate::texts::Texts;

    fn texts(intent: &str, plan: &str) -> Texts {
        [
            (Artifact::Intent, intent.to_owned()),
            (Artifact::Plan, plan.to_owned()),
        ]
        .into()
    }

    #[test]
    fn the_code_is_looked_at_first_where_there_is_a_reason_for_it() {
        let long = "word ".repeat(10_001);
        for (intent, plan, has_files, why) in [
            ("rename a constant", "", false, None),
            (
                "rename a constant",
                "---\nangles: [dataflow]\n---\n",
                false,
                Some(Why::Asked),
            ),
            (
                "rename it in src/a.rs",
                "",
                false,
                Some(Why::RequestNamesFiles),
            ),
            ("rename a constant", "", true, Some(Why::TasksNameFiles)),
            (long.as_str(), "", false, Some(Why::Long)),
            (
                "refactor auto-yaml loader for pre-existing files",
                "",
                false,
                None,
            ),
        ] {
            let found = outline("T", &texts(intent, plan), has_files).expect("an outline");
            assert_eq!(found.explore, why, "{}", &intent[..20.min(intent.len())]);
        }
    }

    #[test]
    fn what_is_written_counts_more_than_words() {
        let plan = "---\nscope: []\ncomplexity: high\nangles: [one, two-b]\n---\n# P\n";
        let found = outline("Fix the bug", &texts("fix", plan), false).expect("an outline");
        assert_eq!(found.complexity.value, Complexity::High);
        assert_eq!(found.angles.value, ["one", "two-b"]);
        assert!(found.complexity.written && found.angles.written);
        for odd in ["complexity: huge", "angles: [\"../x\"]", "angles: [A b]"] {
            let plan = format!("---\n{odd}\n---\n");
            let fault = outline("T", &texts("", &plan), false).expect_err(odd);
            assert!(fault.message.contains("expected"), "{fault:?}");
        }
    }

    #[test]
    fn a_plan_goes_back_three_times_and_then_a_person_says_so() {
        let may: Vec<bool> = (1..=5).map(|run| may_return(run, 0)).collect();
        assert_eq!(may, [true, true, true, false, false]);
        assert!(may_return(9, 1));
    }
}
