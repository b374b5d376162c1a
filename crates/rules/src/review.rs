//! The outcome of a review: the execution record's scope gate, and the precedence of findings.
//!
//! The reviewer's word is a fact; the outcome is computed from it and from the artifacts as they are
//! now, so that an approval cannot outlive its ground. Source: reference stage-runtime, sections 8, 9.

use super::artifact::Artifact;
use super::headings;
use super::markdown;
use super::op::{CodeVerdict, Smell, Target, Verdict};
use super::policy::Language;
use loopx_base::failure::{Blocker, Code};
use loopx_base::hint::command;
use loopx_spec::front::{Fault, FrontMatter};
use serde::Serialize;
use std::fmt;

const BLOCK_BEGIN: &str = "<!-- loopx:verdict -->";
const BLOCK_END: &str = "<!-- /loopx:verdict -->";

/// Sentence in a report where several verdicts met.
const SEVERAL: &str =
    "Several verdicts were given apart. `git loopx review --show` says which one stands.";

/// Finds the block of the recorded verdict in a report.
fn block_at(text: &str) -> Option<std::ops::Range<usize>> {
    let start = text.find(BLOCK_BEGIN)?;
    let end = text.find(BLOCK_END)?;
    (start < end).then(|| start..end + BLOCK_END.len())
}

/// A report with these lines in the block that the program writes; the reviewer's own text is kept.
pub fn with_block(text: &str, lines: &str, language: Language) -> String {
    let block = format!("{BLOCK_BEGIN}\n\n{lines}\n\n{BLOCK_END}");
    match block_at(text) {
        Some(at) => format!("{}{block}{}", &text[..at.start], &text[at.end..]),
        None => {
            let heading = headings::written("Verdict", language);
            format!("{}\n\n## {heading}\n\n{block}\n", text.trim_end())
        }
    }
}

/// The versions of a report as they are merged: where several carry a verdict, none does, because that block is
/// computed from the state and nobody's words. Gives nothing where they merge as they are.
pub fn without_verdicts(sides: &[String]) -> Option<Vec<String>> {
    let mut blocks: Vec<&str> = sides
        .iter()
        .filter_map(|text| Some(&text[block_at(text)?]))
        .collect();
    blocks.sort_unstable();
    blocks.dedup();
    if blocks.len() < 2 {
        return None;
    }
    let neutral = |text: &String| match block_at(text) {
        Some(_) => with_block(text, SEVERAL, Language::Off),
        None => text.clone(),
    };
    Some(sides.iter().map(neutral).collect())
}

/// The scope that an execution record declares.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    pub planned: Vec<String>,
    pub implemented: Vec<String>,
    pub remaining: Vec<String>,
    pub claim: Option<String>,
}

/// Reads the scope fields of an execution record.
pub fn scope(text: &str) -> Result<Scope, Fault> {
    let front = FrontMatter::parse(text)?;
    let clean = |items: Vec<String>| -> Vec<String> {
        items
            .iter()
            .flat_map(|item| item.split([',', ';', '\n']))
            .map(|item| item.trim().to_owned())
            .filter(|item| !item.is_empty())
            .collect()
    };
    Ok(Scope {
        planned: clean(front.list("planned_scope")?),
        implemented: clean(front.list("implemented_scope")?),
        remaining: clean(front.list("remaining_scope")?),
        claim: front.text("completion_claim")?,
    })
}

/// The scope gate: applied at review, at review->done and at archive.
pub fn scope_blockers(text: Option<&str>) -> Vec<Blocker> {
    let help = command!("edit execution-record.md");
    let path = Artifact::ExecutionRecord.path();
    let scope = match text.map(scope) {
        None => return Vec::new(),
        Some(Ok(scope)) => scope,
        Some(Err(fault)) => {
            return vec![Blocker::new(
                Code::ExecutionRecordInvalid,
                format!("{path}:{}: {}", fault.line, fault.message),
                &help,
            )];
        }
    };
    let mut blockers = Vec::new();
    if !scope.remaining.is_empty() {
        blockers.push(Blocker::new(
            Code::PartialScopeRemaining,
            format!(
                "{path} says that this remains: {}",
                scope.remaining.join(", ")
            ),
            &help,
        ));
    }
    if let Some(claim) = &scope.claim
        && !matches!(claim.as_str(), "full" | "complete" | "workflow" | "all")
    {
        let message = format!("{path} claims `{claim}`; expected full, complete, workflow or all");
        blockers.push(Blocker::new(Code::CompletionClaim, message, &help).about(claim));
    }
    let sorted = |items: &[String]| {
        let mut items = items.to_vec();
        items.sort();
        items
    };
    if !scope.planned.is_empty()
        && !scope.implemented.is_empty()
        && sorted(&scope.planned) != sorted(&scope.implemented)
        && scope.claim.as_deref() != Some("full")
    {
        blockers.push(Blocker::new(
            Code::ImplementedScopeMismatch,
            format!(
                "{path}: planned {}, implemented {}",
                scope.planned.join(", "),
                scope.implemented.join(", ")
            ),
            &help,
        ));
    }
    blockers
}

/// Lists what an execution record lacks: the record itself, or text in a section that is asked for. No pattern of the
/// evidence's text counts: `Vec<u8>` is as good as any word (W21).
pub fn record_blockers(text: Option<&str>, asked: &[String], language: Language) -> Vec<Blocker> {
    let path = Artifact::ExecutionRecord.path();
    let help = command!("edit execution-record.md");
    let Some(text) = text else {
        return vec![Blocker::new(
            Code::ExecutionRecordMissing,
            format!("{path} is not there"),
            &help,
        )];
    };
    if let Err(fault) = scope(text) {
        return vec![Blocker::new(
            Code::ExecutionRecordPartial,
            format!("{path}:{}: {}", fault.line, fault.message),
            &help,
        )];
    }
    let empty = markdown::empty_sections(text, asked, language);
    if empty.is_empty() {
        Vec::new()
    } else {
        vec![Blocker::new(
            Code::ExecutionRecordPartial,
            format!(
                "{path}: nothing stands under `## {}`",
                empty.join("`, `## ")
            ),
            &help,
        )]
    }
}

/// Judgement that a review comes to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Judgement {
    pub outcome: CodeVerdict,
    pub target: Option<Target>,
    /// Reasons why the outcome is not simply the reviewer's word.
    pub because: Vec<Because>,
}

/// A reason why the outcome of a verdict is not simply the reviewer's word. What held is told as its rule tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Because {
    Evidence(String),
    Scope(String),
    Architecture,
}

impl Because {
    /// The reason in the language that policy asks for.
    pub fn words(&self, language: Language) -> String {
        match (self, language) {
            (Because::Evidence(what), Language::Off) => {
                format!("the build's evidence does not hold: {what}")
            }
            (Because::Evidence(what), Language::Zh) => format!("构建的证据不成立:{what}"),
            (Because::Scope(what), Language::Off) => format!("the scope is not done: {what}"),
            (Because::Scope(what), Language::Zh) => format!("范围内的工作没有完成:{what}"),
            (Because::Architecture, Language::Off) => "the architecture is blocked".to_owned(),
            (Because::Architecture, Language::Zh) => "架构审查不通过".to_owned(),
        }
    }
}

impl fmt::Display for Because {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words(Language::Off))
    }
}

/// Programs read the same words whatever language the artifacts have.
impl Serialize for Because {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The words of the block that a verdict leaves in the report, and in Chinese.
const LABELS: [(&str, &str); 13] = [
    ("architecture", "架构"),
    ("because", "原因"),
    ("finding", "发现"),
    ("goes back to", "退回"),
    ("independent", "独立"),
    ("no", "否"),
    ("outcome", "结果"),
    ("range", "范围"),
    ("reason", "理由"),
    ("reviewer", "审查者"),
    ("tree", "代码树"),
    ("verdict", "结论"),
    ("yes", "是"),
];

/// A word of that block in the language that policy asks for.
pub fn label(word: &'static str, language: Language) -> &'static str {
    let found = LABELS.iter().find(|(english, _)| *english == word);
    match (found, language) {
        (Some((_, chinese)), Language::Zh) => chinese,
        _ => word,
    }
}

impl Judgement {
    /// Message about the outcome, in the language that policy asks for.
    pub fn message(&self, language: Language) -> String {
        match (self.target, language) {
            (Some(target), Language::Off) => format!("changes are asked for in {target}"),
            (None, Language::Off) => "approved".to_owned(),
            (Some(target), Language::Zh) => format!("要求修改,退回 {target}"),
            (None, Language::Zh) => "审查通过".to_owned(),
        }
    }
}

/// The outcome of a verdict. Precedence: evidence -> build; scope -> build unless set; the code
/// review's target over none or build only; a blocking architecture over all.
pub fn judge(verdict: &Verdict, evidence: &[Blocker], scope: &[Blocker]) -> Judgement {
    let mut target = None;
    let mut because = Vec::new();
    if let Some(first) = evidence.first() {
        target = Some(Target::Build);
        because.push(Because::Evidence(first.message.clone()));
    }
    if let Some(first) = scope.first() {
        target = target.or(Some(Target::Build));
        because.push(Because::Scope(first.message.clone()));
    }
    if verdict.verdict == CodeVerdict::RequestChanges && target.is_none_or(|t| t == Target::Build) {
        target = Some(verdict.target.unwrap_or(Target::Build));
    }
    if verdict.architecture == Smell::Block {
        target = Some(verdict.architecture_target.unwrap_or(Target::Plan));
        because.push(Because::Architecture);
    }
    Judgement {
        outcome: if target.is_some() {
            CodeVerdict::RequestChanges
        } else {
            CodeVerdict::Approve
        },
        target,
        because,
    }
}

#[cfg(test)]
mod tests {
    use super::{Because, judge, record_blockers, scope_blockers, with_block, without_verdicts};
    use crate::op::{CodeVerdict, Smell, Target, Verdict};
    use crate::policy::Language;
    use loopx_base::failure::Blocker;
    use loopx_base::failure::Code;
    use loopx_base::id::Oid;

    fn record(planned: &str, implemented: &str, remaining: &str, claim: &str) -> String {
        format!(
            "---\nplanned_scope: [{planned}]\nimplemented_scope: [{implemented}]\nremaining_scope: [{remaining}]\ncompletion_claim: {claim}\n---\n## Changes\n\n`Vec<u8>` and <T>\n"
        )
    }

    #[test]
    fn the_scope_gate_has_the_table_of_the_reference() {
        let codes = |text: &str| -> Vec<String> {
            scope_blockers(Some(text))
                .into_iter()
                .map(|b| b.word())
                .collect()
        };
        for claim in ["full", "complete", "workflow", "all", "~"] {
            assert!(codes(&record("", "", "", claim)).is_empty(), "{claim}");
        }
        assert!(codes(&record("a", "b", "", "full")).is_empty());
        assert_eq!(
            codes(&record("a", "b", "", "complete")),
            ["implemented_scope_mismatch"]
        );
        assert_eq!(
            codes(&record("", "", "x", "full")),
            ["partial_scope_remaining"]
        );
        assert_eq!(
            codes(&record("", "", "", "partial")),
            ["completion_claim_partial"]
        );
        assert!(scope_blockers(None).is_empty());
    }

    #[test]
    fn u7_a_report_with_several_verdicts_is_merged_without_them() {
        let report = |words: &str, verdict: &str| with_block(words, verdict, Language::Off);
        let sides = [
            report("# R\n\nmine", "- verdict: approve"),
            report("# R", "- verdict: request-changes"),
        ];
        let merged = without_verdicts(&sides).expect("two verdicts");
        assert!(
            merged.iter().all(|text| !text.contains("- verdict")),
            "{merged:?}"
        );
        assert!(merged[0].contains("mine"));
        let one = [sides[0].clone(), "# R\n".to_owned()];
        assert_eq!(without_verdicts(&one), None);
        assert_eq!(
            without_verdicts(&[sides[0].clone(), sides[0].clone()]),
            None
        );
    }

    #[test]
    fn angle_brackets_in_a_record_are_words() {
        let asked = ["Changes".to_owned()];
        assert!(
            record_blockers(Some(&record("", "", "", "full")), &asked, Language::Off).is_empty()
        );
        assert_eq!(
            record_blockers(None, &asked, Language::Off)[0].code,
            Code::ExecutionRecordMissing
        );
        assert_eq!(
            record_blockers(Some("## Changes\n\n<!-- none -->\n"), &asked, Language::Off)[0].code,
            Code::ExecutionRecordPartial
        );
    }

    fn verdict(
        word: CodeVerdict,
        target: Option<Target>,
        architecture: Smell,
        to: Option<Target>,
    ) -> Verdict {
        Verdict {
            verdict: word,
            target,
            architecture,
            architecture_target: to,
            findings: Vec::new(),
            base: None,
            head: None,
            onto: None,
            seen: None,
            tree: Oid::parse(&"0".repeat(40)).expect("oid"),
            files: std::collections::BTreeMap::new(),
            commits: 0,
            dependence: Vec::new(),
        }
    }

    #[test]
    fn the_reasons_of_an_outcome_are_told_in_both_languages_and_kept_in_one() {
        for (because, english, chinese) in [
            (
                Because::Evidence("x".into()),
                "the build's evidence does not hold: x",
                "构建的证据不成立:x",
            ),
            (
                Because::Scope("x".into()),
                "the scope is not done: x",
                "范围内的工作没有完成:x",
            ),
            (
                Because::Architecture,
                "the architecture is blocked",
                "架构审查不通过",
            ),
        ] {
            assert_eq!(because.words(Language::Off), english);
            assert_eq!(because.words(Language::Zh), chinese);
            assert_eq!(serde_json::json!(because), english);
        }
    }

    #[test]
    fn findings_outrank_each_other_as_in_the_reference() {
        use CodeVerdict::{Approve, RequestChanges};
        let bad = [Blocker::new(Code::ScenarioFailed, "y", "")];
        let none: [Blocker; 0] = [];
        let table = [
            (
                verdict(Approve, None, Smell::Pass, None),
                &none[..],
                &none[..],
                None,
            ),
            (
                verdict(Approve, None, Smell::Warn, None),
                &none,
                &none,
                None,
            ),
            (
                verdict(Approve, None, Smell::Pass, None),
                &bad,
                &none,
                Some(Target::Build),
            ),
            (
                verdict(Approve, None, Smell::Pass, None),
                &none,
                &bad,
                Some(Target::Build),
            ),
            (
                verdict(RequestChanges, None, Smell::Pass, None),
                &none,
                &none,
                Some(Target::Build),
            ),
            (
                verdict(RequestChanges, Some(Target::Clarify), Smell::Pass, None),
                &bad,
                &none,
                Some(Target::Clarify),
            ),
            (
                verdict(RequestChanges, Some(Target::Build), Smell::Block, None),
                &none,
                &none,
                Some(Target::Plan),
            ),
            (
                verdict(Approve, None, Smell::Block, Some(Target::Clarify)),
                &bad,
                &bad,
                Some(Target::Clarify),
            ),
        ];
        for (verdict, evidence, scope, target) in table {
            let judgement = judge(&verdict, evidence, scope);
            assert_eq!(judgement.target, target, "{verdict:?}");
            assert_eq!(judgement.outcome == Approve, target.is_none());
        }
    }
}
