//! The words behind a skill's name: placeholders that are filled in when the task is taken, what stands there where the
//! plan says nothing, and the source that a roadmap or a plan begins from.

use crate::roadmap::phase_said;
use loopx_base::shell_word;
use serde::Serialize;

/// The names that stand for something in the arguments of a skill, beside the parameters of its pipeline.
pub const PLACEHOLDERS: [&str; 10] = [
    "analysis_dir",
    "description",
    "id",
    "intent",
    "issue_id",
    "milestone",
    "milestone_num",
    "phase",
    "plan_dir",
    "scratch_dir",
];

/// The folder that a task left, and what kind of work that was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folder {
    pub task: String,
    /// The words by which its kind is known: its id, its role, its skill.
    pub words: String,
    pub path: String,
}

impl Folder {
    fn is(&self, kinds: &[&str]) -> bool {
        let words = words(&self.words);
        words.iter().any(|word| kinds.contains(&word.as_str()))
    }
}

const ANALYSIS: [&str; 4] = ["analyze", "analysis", "analyst", "research"];
const PLAN: [&str; 3] = ["plan", "planner", "planning"];

/// Facts that are known when a task is taken.
#[derive(Clone, Debug, Default)]
pub struct Ground<'g> {
    pub id: &'g str,
    /// Purpose of the session.
    pub intent: &'g str,
    /// The part of its pipeline.
    pub part: Option<&'g str>,
    /// Gap: the reason why the last attempt failed, or what the gate before the task asks to be mended.
    pub gap: Option<&'g str>,
    /// The issue that the session was started for.
    pub issue: Option<&'g str>,
    /// Folders that the tasks before it left, the nearest first.
    pub left: &'g [Folder],
    /// The task right before it, and its words.
    pub behind: Option<&'g Folder>,
}

/// The words as they are given to the skill.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Filled {
    pub text: String,
    /// Placeholders for which nothing is known; they stay as they are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<String>,
    /// The source that it begins from: `analyze:TASK`, `blueprint:TASK`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// The arguments of a skill: those of the plan with their placeholders filled in; where the plan has none, what this
/// kind of skill usually needs; and the source where there is one.
pub fn fill(skill: &str, said: &str, ground: &Ground<'_>) -> Filled {
    let kinds = words(skill);
    let is = |word: &str| kinds.iter().any(|kind| kind == word);
    let mut filled = if said.trim().is_empty() {
        Filled {
            text: usual(&is, ground),
            ..Filled::default()
        }
    } else {
        placeholders(said.trim(), ground)
    };
    let asks = is("roadmap") || is("plan");
    let has_source = filled
        .text
        .split_whitespace()
        .any(|word| word == "--from" || word.starts_with("--from=") || word == "--gaps");
    if asks && !has_source {
        filled.source = source(ground);
    }
    if let Some(source) = &filled.source {
        // A folder says the same again.
        let text = if said.trim().is_empty() && is("plan") {
            String::new()
        } else {
            std::mem::take(&mut filled.text)
        };
        filled.text = format!("{text} --from {source}").trim().to_owned();
    }
    filled
}

/// The source that a roadmap or a plan begins from: the look at the whole, or the blueprint, that stands right before.
fn source(ground: &Ground<'_>) -> Option<String> {
    let behind = ground.behind?;
    let words = words(&behind.words);
    let has = |word: &str| words.iter().any(|one| one == word);
    match (has("macro") && has("analyze"), has("blueprint")) {
        (true, _) => Some(format!("analyze:{}", behind.task)),
        (_, true) => Some(format!("blueprint:{}", behind.task)),
        _ => None,
    }
}

/// Words that a skill is given where the plan says nothing.
fn usual(is: &dyn Fn(&str) -> bool, ground: &Ground<'_>) -> String {
    let intent = || shell_word(ground.intent);
    let phase = phase(ground);
    let folder = |kinds: &[&str]| {
        let left = ground.left.iter().find(|folder| folder.is(kinds));
        let left = left.or(ground.left.first());
        left.map(|folder| format!("--dir {}", shell_word(&folder.path)))
    };
    if is("brainstorm") || is("roadmap") {
        intent()
    } else if is("analyze") || is("analysis") {
        phase.unwrap_or_else(intent)
    } else if is("plan") {
        phase.or_else(|| folder(&ANALYSIS)).unwrap_or_default()
    } else if is("execute") {
        phase.or_else(|| folder(&PLAN)).unwrap_or_default()
    } else if is("debug") {
        ground.gap.map(shell_word).unwrap_or_default()
    } else if is("quality") {
        phase.unwrap_or_default()
    } else {
        String::new()
    }
}

/// The number of the phase that the task is about: its part, where that is a number; else what the request says.
fn phase(ground: &Ground<'_>) -> Option<String> {
    let is_number =
        |text: &&str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let part = ground.part.filter(is_number).map(str::to_owned);
    part.or_else(|| phase_said(ground.intent))
}

fn placeholders(said: &str, ground: &Ground<'_>) -> Filled {
    let folder = |kinds: &[&str]| {
        let mut left = ground.left.iter();
        left.find(|folder| kinds.is_empty() || folder.is(kinds))
            .map(|folder| folder.path.clone())
    };
    let value = |name: &str| match name {
        "id" => Some(ground.id.to_owned()),
        "intent" | "description" => Some(ground.intent.to_owned()),
        "phase" => phase(ground),
        "issue_id" => ground.issue.map(str::to_owned),
        "scratch_dir" => folder(&[]),
        "analysis_dir" => folder(&ANALYSIS),
        "plan_dir" => folder(&PLAN),
        _ => None,
    };
    let mut filled = Filled::default();
    let mut rest = said;
    while let Some(open) = rest.find('{') {
        let (before, from) = rest.split_at(open);
        filled.text.push_str(before);
        let name = from[1..].split('}').next().unwrap_or_default();
        if !PLACEHOLDERS.contains(&name) || !from[1 + name.len()..].starts_with('}') {
            filled.text.push('{');
            rest = &from[1..];
            continue;
        }
        match value(name) {
            Some(value) => filled.text.push_str(&value),
            None => {
                filled.text.push_str(&format!("{{{name}}}"));
                filled.open.push(name.to_owned());
            }
        }
        rest = &from[name.len() + 2..];
    }
    filled.text.push_str(rest);
    filled
}

/// The whole words of a text, in lower case.
fn words(text: &str) -> Vec<String> {
    text.to_lowercase()
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Folder, Ground, fill};

    fn folder(task: &str) -> Folder {
        Folder {
            task: task.to_owned(),
            words: task.to_owned(),
            path: format!(".loopx/s/tasks/{task}"),
        }
    }

    #[test]
    fn what_the_plan_leaves_open_is_filled_by_the_kind_of_the_skill() {
        let left = [folder("plan"), folder("analyze")];
        let ground = Ground {
            id: "T",
            intent: "a note app",
            gap: Some("the test fails"),
            left: &left,
            ..Ground::default()
        };
        for (skill, wanted) in [
            ("maestro-brainstorm", "'a note app'"),
            ("maestro-roadmap", "'a note app'"),
            ("maestro-analyze", "'a note app'"),
            ("maestro-plan", "--dir .loopx/s/tasks/analyze"),
            ("maestro-execute", "--dir .loopx/s/tasks/plan"),
            ("quality-debug", "'the test fails'"),
            ("quality-review", ""),
            ("something-else", ""),
        ] {
            assert_eq!(fill(skill, "", &ground).text, wanted, "{skill}");
        }
        let phase = Ground {
            intent: "phase 3: the notes",
            ..ground
        };
        for skill in [
            "maestro-analyze",
            "maestro-plan",
            "maestro-execute",
            "quality-review",
        ] {
            assert_eq!(fill(skill, "", &phase).text, "3", "{skill}");
        }
    }

    #[test]
    fn a_placeholder_is_filled_once_and_one_that_is_not_known_is_named() {
        let left = [folder("plan")];
        let ground = Ground {
            id: "T",
            intent: "say {phase}",
            left: &left,
            ..Ground::default()
        };
        let filled = fill(
            "x",
            "{intent} {phase} {plan_dir} {analysis_dir} {other} {",
            &ground,
        );
        assert_eq!(
            filled.text,
            "say {phase} {phase} .loopx/s/tasks/plan {analysis_dir} {other} {"
        );
        assert_eq!(filled.open, ["phase", "analysis_dir"]);
    }

    #[test]
    fn a_roadmap_and_a_plan_name_the_source_that_they_begin_from() {
        let (whole, blueprint) = (folder("analyze-macro"), folder("blueprint"));
        let behind = |folder| Ground {
            intent: "x",
            behind: Some(folder),
            ..Ground::default()
        };
        let of = |skill: &str, args: &str, folder| fill(skill, args, &behind(folder)).text;
        assert_eq!(
            of("maestro-roadmap", "", &whole),
            "x --from analyze:analyze-macro"
        );
        assert_eq!(
            of("maestro-plan", "", &whole),
            "--from analyze:analyze-macro"
        );
        assert_eq!(
            of("maestro-plan", "2", &blueprint),
            "2 --from blueprint:blueprint"
        );
        assert_eq!(
            of("maestro-plan", "--from blueprint:B", &whole),
            "--from blueprint:B"
        );
        assert_eq!(of("maestro-plan", "--gaps 2", &whole), "--gaps 2");
        assert_eq!(of("maestro-execute", "", &whole), "");
    }
}
