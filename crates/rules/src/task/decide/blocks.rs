//! Blocks: results that agents write at the end of a text, in the forms of other tools, read into values. A text is
//! data: nothing in it is believed that is not in a block, and what cannot be read says nothing good.

use super::points::Points;
use super::values::{BEST_RATING, Confidence, Decision, Severity, Verdict};
use loopx_base::says_something;
use loopx_base::vocabulary::vocabulary;

/// Content of the blocks of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    pub decision: Decision,
    pub reason: Option<String>,
    /// The task that a result is about.
    pub task: Option<String>,
    /// Set when the score says itself that it is one of a hundred.
    pub is_of_hundred: bool,
}

vocabulary!(
    /// The end of a task, as whoever did it tells it.
    Ending {
        Success = "success",
        /// End with a part of the task left.
        Partial = "partial",
        Failed = "failed",
    }
);

/// The result of a task, as whoever did it wrote it down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkResult {
    /// Task that the result is about.
    pub task: String,
    pub ending: Ending,
    pub summary: Option<String>,
    /// File that the result says the task left.
    pub artifact: Option<String>,
    /// Severity of a discussion of the result.
    pub severity: Option<Severity>,
}

/// The text of a result, as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResultText {
    Read(WorkResult),
    /// A text that says something, and has no block.
    Bare,
    /// A text with several blocks, with one whose words mean nothing, or without a word.
    Unreadable,
}

/// Reads the TASK_COMPLETE block of a text.
pub fn read_result(text: &str) -> ResultText {
    let blocks = blocks(text);
    let mut results = blocks.iter().filter(|(mark, _)| *mark == RESULT);
    match (results.next(), results.next()) {
        (None, _) if says_something(text) => ResultText::Bare,
        (Some((_, fields)), None) => {
            result(fields).map_or(ResultText::Unreadable, ResultText::Read)
        }
        _ => ResultText::Unreadable,
    }
}

/// The longest path that a system takes, in bytes.
const LONGEST_PATH: usize = 4096;

fn result(fields: &[(String, &str)]) -> Option<WorkResult> {
    if is_contradiction(fields) {
        return None;
    }
    let field = |name: &str| field(fields, name);
    let severity = match field("discuss_verdict") {
        Some(verdict) => discussed(verdict, field("discuss_severity"))?,
        None => None,
    };
    Some(WorkResult {
        task: field("task_id")?.to_owned(),
        ending: field("status")?.to_ascii_lowercase().parse().ok()?,
        summary: field("summary")
            .filter(|text| !BEGINS_LINES.contains(text))
            .map(str::to_owned),
        artifact: match field("artifact") {
            Some(path) if path.len() > LONGEST_PATH => return None,
            path => path
                .filter(|path| !NOTHING.contains(&path.to_ascii_lowercase().as_str()))
                .map(str::to_owned),
        },
        severity,
    })
}

/// Words for no file.
const NOTHING: [&str; 3] = ["none", "n/a", "-"];
/// Signs behind which the text begins on the next line.
const BEGINS_LINES: [&str; 4] = ["|", ">", "|-", ">-"];

const RESULT: &str = "TASK_COMPLETE";
const MARKS: [&str; 3] = ["VERDICT", "DISCUSS_RESULT", RESULT];

/// Fields that something follows from. Texts may stand in a block more than once.
const VALUES: [&str; 14] = [
    "average_rating",
    "confidence",
    "confidence_score",
    "discuss_severity",
    "discuss_verdict",
    "outcome",
    "recommendation",
    "scope_verdict",
    "severity",
    "status",
    "task_id",
    "unmet",
    "verdict",
    "weakest_dimension",
];

/// A block: its mark, and its fields in their order.
type Block<'t> = (&'static str, Vec<(String, &'t str)>);

/// Reads the blocks of a text. One that has none, that contradicts itself, or whose words mean nothing cannot be read.
pub fn read(text: &str) -> Said {
    let blocks = blocks(text);
    let mut said = Said::default();
    let is_read = !blocks.is_empty() && blocks.iter().all(|block| take(block, &mut said).is_some());
    let mut marks: Vec<&str> = blocks.iter().map(|(mark, _)| *mark).collect();
    marks.sort_unstable();
    let is_twice = marks.windows(2).any(|pair| pair[0] == pair[1]);
    let says = said.decision.says_something()
        || said.decision.severity.is_some()
        || said.decision.mean.is_some();
    if !is_read || is_twice || !says {
        said.decision = Decision {
            parse_failed: true,
            ..Decision::default()
        };
    }
    said
}

fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut found: Vec<Block<'_>> = Vec::new();
    let mut is_open = false;
    for line in text.lines() {
        let bare = line.trim().trim_matches(|c: char| "-*#`:= ".contains(c));
        if let Some(mark) = MARKS.into_iter().find(|mark| *mark == bare) {
            found.push((mark, Vec::new()));
            is_open = true;
            continue;
        }
        let is_end = line.trim_start().starts_with("---") || line.trim_start().starts_with("```");
        if is_end && found.last().is_some_and(|(_, fields)| !fields.is_empty()) {
            is_open = false;
        }
        let field = field_of(line.trim().trim_start_matches(['-', '*', ' ']));
        if let (true, Some((name, value)), Some((_, fields))) = (is_open, field, found.last_mut()) {
            let name = name
                .trim_matches(['*', '`', ' '])
                .to_ascii_lowercase()
                .replace([' ', '-'], "_");
            fields.push((name, value.trim().trim_matches(['*', '`', '"', ' '])));
        }
    }
    found
}

/// `NAME: VALUE`, and `UNMET=[..]`, which alone is written with the other sign.
fn field_of(line: &str) -> Option<(&str, &str)> {
    let is_unmet = |(name, _): &(&str, &str)| {
        let name = name.trim().to_ascii_lowercase();
        name.starts_with("unmet") && !name.contains(':')
    };
    let unmet = line.split_once('=').filter(is_unmet);
    unmet.or_else(|| line.split_once(':'))
}

/// Tells whether a block gives one field two values.
fn is_contradiction(fields: &[(String, &str)]) -> bool {
    fields.iter().enumerate().any(|(at, (name, value))| {
        let mut later = fields[at + 1..].iter();
        VALUES.contains(&name.as_str())
            && later.any(|(other, said)| other == name && !said.eq_ignore_ascii_case(value))
    })
}

/// The values of the fields of some names; `None` where one of them has none.
fn valued<'t>(
    fields: &[(String, &'t str)],
    is_meant: impl Fn(&str) -> bool,
) -> Option<Vec<&'t str>> {
    let meant = fields.iter().filter(|(name, _)| is_meant(name));
    let values = meant.map(|(_, value)| Some(*value).filter(|value| !value.is_empty()));
    values.collect()
}

/// The first value of a field that says anything.
fn field<'t>(fields: &[(String, &'t str)], name: &str) -> Option<&'t str> {
    let first = fields.iter().find(|(field, _)| field == name);
    first
        .map(|(_, value)| *value)
        .filter(|value| !value.is_empty())
}

/// Takes a block in; `None` where a word of it means nothing, or where two of them contradict each other.
fn take((mark, fields): &Block<'_>, said: &mut Said) -> Option<()> {
    if is_contradiction(fields) {
        return None;
    }
    let field = |name: &str| field(fields, name);
    let decision = &mut said.decision;
    let verdict = match *mark {
        "VERDICT" => {
            let confidence = field("confidence")
                .map(|word| word.to_ascii_lowercase().parse::<Confidence>().ok());
            decision.confidence = optional(confidence)?;
            let score = optional(field("confidence_score").map(score))?;
            said.is_of_hundred = score.is_some_and(|(_, is_of_hundred)| is_of_hundred);
            decision.score = score.map(|(score, _)| score);
            decision.weakest = field("weakest_dimension")
                .filter(|word| *word != "none")
                .map(str::to_owned);
            said.reason = field("reason").or(field("gap_summary")).map(str::to_owned);
            // What stands on lines of its own below them is in no field.
            let unmet = valued(fields, |name| name.starts_with("unmet"))?;
            let conditions = valued(fields, |name| name.starts_with("condition"))?;
            decision.unmet = match unmet.as_slice() {
                [] => Vec::new(),
                [one, ..] if field("unmet") == Some(*one) => names(one)?,
                _ => return None,
            };
            decision.outcome = field("outcome")
                .or(field("scope_verdict"))
                .map(str::to_ascii_lowercase);
            decision.conditions = conditions.into_iter().map(str::to_owned).collect();
            let (verdict, has_conditions) = status(field("status")?)?;
            if has_conditions && decision.conditions.is_empty() {
                decision.conditions.push(said.reason.clone()?);
            }
            Some(verdict)
        }
        "DISCUSS_RESULT" => {
            decision.severity = discussed(field("verdict")?, field("severity"))?;
            decision.mean = optional(field("average_rating").map(mean))?;
            said.reason = said
                .reason
                .take()
                .or(joined(field("divergences"), field("action_items")));
            match field("recommendation")
                .map(str::to_ascii_lowercase)
                .as_deref()
            {
                None | Some("proceed-with-caution" | "proceed") => None,
                Some("revise") => Some(Verdict::Fix),
                Some("escalate") => Some(Verdict::Escalate),
                Some(_) => return None,
            }
        }
        _ => {
            said.task = Some(field("task_id")?.to_owned());
            if let Some(verdict) = field("discuss_verdict") {
                decision.severity = decision
                    .severity
                    .max(discussed(verdict, field("discuss_severity"))?);
            }
            said.reason = said.reason.take().or(field("summary").map(str::to_owned));
            Some(match field("status")?.to_ascii_lowercase().parse().ok()? {
                Ending::Success => Verdict::Proceed,
                // What is left is named, and nobody goes on without a word.
                Ending::Partial | Ending::Failed => Verdict::Fix,
            })
        }
    };
    decision.verdict = decision.verdict.max(verdict);
    if decision.verdict.is_none() && *mark == "DISCUSS_RESULT" {
        decision.verdict = Some(Verdict::Proceed);
    }
    Some(())
}

/// A verdict, or the word of a review for it, and whether the word asks for conditions.
fn status(word: &str) -> Option<(Verdict, bool)> {
    match word.to_ascii_lowercase().as_str() {
        "approve" => Some((Verdict::Proceed, false)),
        "conditional" => Some((Verdict::Proceed, true)),
        "block" => Some((Verdict::Fix, false)),
        word => Some((word.parse().ok()?, false)),
    }
}

/// `[G1, G2]`, with the brackets or without; `None` where only one of them is there.
fn names(text: &str) -> Option<Vec<String>> {
    let bare = match (text.strip_prefix('['), text.ends_with(']')) {
        (Some(open), true) => open.strip_suffix(']')?,
        (None, false) => text,
        _ => return None,
    };
    let all = bare
        .split(',')
        .map(|name| name.trim().trim_matches(['`', '"', '\'']));
    let all = all.filter(|name| !name.is_empty() && !name.eq_ignore_ascii_case("none"));
    Some(all.map(str::to_owned).collect())
}

/// The divergences of a discussion, and what is to be done about them.
fn joined(apart: Option<&str>, actions: Option<&str>) -> Option<String> {
    match (apart, actions) {
        (Some(apart), Some(actions)) => Some(format!("{apart}; to do: {actions}")),
        (said, None) | (None, said) => said.map(str::to_owned),
    }
}

/// Keeps what is absent absent; a value that is there has to be read.
fn optional<T>(value: Option<Option<T>>) -> Option<Option<T>> {
    match value {
        None => Some(None),
        Some(value) => value.map(Some),
    }
}

/// `8.5` of whatever scale the rubric has; `85%` and `85/100` with whether they say that it is one of a hundred.
fn score(text: &str) -> Option<(Points, bool)> {
    let whole = Points::whole(100);
    let number = text.strip_suffix('%').or(of(text, whole));
    let score = Points::parse(number.unwrap_or(text).trim())?;
    (number.is_none() || score <= whole).then_some((score, number.is_some()))
}

/// `3.5` or `3.5/5`, the mean of ratings.
fn mean(text: &str) -> Option<Points> {
    let best = Points::whole(BEST_RATING);
    let mean = Points::parse(of(text, best).unwrap_or(text).trim())?;
    (mean <= best).then_some(mean)
}

/// The number of `NUMBER/WHOLE`.
fn of(text: &str, whole: Points) -> Option<&str> {
    let (number, behind) = text.split_once('/')?;
    (Points::parse(behind.trim()) == Some(whole)).then_some(number)
}

/// Severity that a discussion came to. Blocked without a severity is the highest.
fn discussed(verdict: &str, severity: Option<&str>) -> Option<Option<Severity>> {
    let severity = severity.filter(|word| !word.eq_ignore_ascii_case("none"));
    let severity = severity.map(|word| word.to_ascii_lowercase().parse::<Severity>().ok());
    let severity = optional(severity)?;
    match verdict.to_ascii_lowercase().as_str() {
        "consensus_reached" => Some(severity),
        "consensus_blocked" => Some(severity.or(Some(Severity::High))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Ending, ResultText, Said, read, read_result};
    use crate::task::decide::{Severity, Verdict};

    fn failed(said: &Said) -> bool {
        said.decision.parse_failed && said.decision.verdict.is_none()
    }

    #[test]
    fn a_verdict_block_is_read_into_values() {
        let said = read(
            "I looked.\n\n---VERDICT---\nSTATUS: fix\nREASON: two tests are red\nCONFIDENCE: high\nCONFIDENCE_SCORE: 42\nWEAKEST_DIMENSION: tests\n---END---\nSTATUS: proceed\n",
        );
        assert_eq!(said.decision.verdict, Some(Verdict::Fix));
        assert_eq!(
            said.decision.score.map(|one| one.to_string()).as_deref(),
            Some("42")
        );
        assert_eq!(said.decision.weakest.as_deref(), Some("tests"));
        assert_eq!(said.reason.as_deref(), Some("two tests are red"));
    }

    #[test]
    fn a_discussion_and_a_result_are_read_into_values() {
        let said = read(
            "DISCUSS_RESULT:\n- verdict: consensus_blocked\n- severity: MEDIUM\n- average_rating: 3.2/5\n- divergences: scope\n",
        );
        assert_eq!(said.decision.severity, Some(Severity::Medium));
        assert_eq!(
            said.decision.mean.map(|one| one.to_string()).as_deref(),
            Some("3.2")
        );
        let said = read(
            "## TASK_COMPLETE\n- task_id: DRAFT-001\n- status: success\n- discuss_verdict: consensus_reached\n- summary: done",
        );
        assert_eq!(said.task.as_deref(), Some("DRAFT-001"));
        assert_eq!(said.decision.verdict, Some(Verdict::Proceed));
        // Blocked, and nobody says how much.
        let said = read("DISCUSS_RESULT\nverdict: consensus_blocked");
        assert_eq!(said.decision.severity, Some(Severity::High));
    }

    /// Chain C13, team C7: what cannot be read says nothing good.
    #[test]
    fn a_text_that_cannot_be_read_is_a_failure_and_never_a_pass() {
        for text in [
            "",
            "proceed",
            "STATUS: proceed",
            "the work is done, VERDICT: proceed",
            "---VERDICT---\nSTATUS: fine\n---END---",
            "---VERDICT---\nREASON: x\n---END---",
            "---VERDICT---\nSTATUS: proceed\nCONFIDENCE_SCORE: many",
            "---VERDICT---\nSTATUS: proceed\n---END---\n---VERDICT---\nSTATUS: fix\n---END---",
            "DISCUSS_RESULT\nseverity: LOW",
            "TASK_COMPLETE\ntask_id: A",
            // Two values of one field, in one block.
            "---VERDICT---\nSTATUS: proceed\nSTATUS: fix\n---END---",
            "---VERDICT---\nSTATUS: fix\nSTATUS:\n---END---",
            "DISCUSS_RESULT\nverdict: consensus_reached\naverage_rating: 4\naverage_rating: 2",
            // A mean of ratings is one of five.
            "DISCUSS_RESULT\nverdict: consensus_reached\naverage_rating: 40%",
            "DISCUSS_RESULT\nverdict: consensus_reached\naverage_rating: 4/10",
            "DISCUSS_RESULT\nverdict: consensus_reached\naverage_rating: 5.1",
            "---VERDICT---\nSTATUS: proceed\nCONFIDENCE_SCORE: 8/10",
            "---VERDICT---\nSTATUS: proceed\nCONFIDENCE_SCORE: 120%",
            // A list that nobody closed, a word that no discussion recommends, a condition without words.
            "---VERDICT---\nSTATUS: proceed\nUNMET=[G1, G2",
            "---VERDICT---\nSTATUS: proceed\nUNMET=[G1]\nUNMET=[G2]",
            "---VERDICT---\nSTATUS: proceed\nUNMET:\n- G1\n- G2\n---END---",
            "---VERDICT---\nSTATUS: proceed\nUNMET_GOALS=[G1]",
            "---VERDICT---\nSTATUS: proceed\nUNMET_GOALS: G1",
            "---VERDICT---\nSTATUS: conditional\nREASON: r\nCONDITIONS:\n- mend the docs",
            "DISCUSS_RESULT\nverdict: consensus_reached\nrecommendation: later",
            "---VERDICT---\nSTATUS: conditional\n---END---",
        ] {
            assert!(failed(&read(text)), "{text:?}");
        }
    }

    #[test]
    fn goals_that_are_not_met_are_named_in_brackets_or_without() {
        for (said, unmet) in [
            ("UNMET=[G1, `G2`]", &["G1", "G2"][..]),
            ("UNMET: G1", &["G1"]),
            ("- UNMET = [ ]", &[]),
            ("UNMET: none", &[]),
            ("REASON: a = b", &[]),
        ] {
            let text = format!("---VERDICT---\nSTATUS: fix\n{said}\n---END---");
            assert_eq!(read(&text).decision.unmet, unmet, "{said}");
        }
    }

    #[test]
    fn the_words_of_a_review_are_verdicts() {
        let of = |word: &str| read(&format!("---VERDICT---\nSTATUS: {word}\nREASON: r\n")).decision;
        assert_eq!(of("APPROVE").verdict, Some(Verdict::Proceed));
        assert_eq!(of("Conditional").conditions, ["r"]);
        assert_eq!(of("BLOCK").verdict, Some(Verdict::Fix));
    }

    #[test]
    fn the_result_of_a_task_is_read_whole_or_not_at_all() {
        let said = read_result(
            "TASK_COMPLETE:\n- task_id: A\n- status: Partial\n- artifact: a.md\n- summary: half\n- discuss_verdict: consensus_blocked\n",
        );
        let ResultText::Read(said) = said else {
            panic!("{said:?}");
        };
        assert_eq!(
            (said.ending, said.severity),
            (Ending::Partial, Some(Severity::High))
        );
        assert_eq!(said.artifact.as_deref(), Some("a.md"));
        assert_eq!(read_result("done"), ResultText::Bare);
        let long = "x/".repeat(3000);
        let long = format!("TASK_COMPLETE\ntask_id: A\nstatus: success\nartifact: {long}");
        for text in [
            "",
            " \n",
            &long,
            "TASK_COMPLETE\nstatus: success",
            "TASK_COMPLETE\ntask_id: A\nstatus: fine",
            "TASK_COMPLETE\ntask_id: A\nstatus: success\nstatus: failed",
            "TASK_COMPLETE\ntask_id: A\nstatus: success\nTASK_COMPLETE\ntask_id: A\nstatus: success",
            "TASK_COMPLETE\ntask_id: A\nstatus: success\ndiscuss_verdict: maybe",
        ] {
            assert_eq!(read_result(text), ResultText::Unreadable, "{text:?}");
        }
    }

    #[test]
    fn a_field_may_say_the_same_twice_and_a_text_may_go_on() {
        let said = read(
            "---VERDICT---\nSTATUS: fix\nSTATUS: FIX\nREASON: one\nREASON: two\nCONFIDENCE_SCORE: 85%\n---END---",
        );
        assert_eq!(said.decision.verdict, Some(Verdict::Fix));
        assert!(said.is_of_hundred);
        let plain = read("---VERDICT---\nSTATUS: fix\nCONFIDENCE_SCORE: 8.5");
        assert!(!plain.is_of_hundred);
    }
}
