//! `task decide`, `task open`, and the list of what was decided.

use crate::cli::Exit;
use crate::cmd::artifacts::read_text;
use crate::cmd::report;
use crate::flow::Context;
use crate::flow::spec_package as package;
use crate::flow::task as flow;
use crate::flow::task::{DecideRequest, Decided, DecisionRow};
use crate::ui::{Ui, line, style};
use loopx_base::code::Code;
use loopx_base::failure::{Failure, Result};
use loopx_base::hint::command;
use loopx_rules::task::decide::{
    Confidence, Decision, Flag, Points, Rating, Said, Verdict, read_blocks,
};
use loopx_rules::task::status::Status;
use serde_json::json;
use std::collections::BTreeMap;
use std::str::FromStr;

/// Decide about what a decision or a goal judges: give values, and see what follows
///
/// The rubric of the gate says what counts. Proceed: what waits for it goes on. Fix: the repair of the gate is
/// inserted, and behind it the gate that is decided next. Escalate: a person opens it.
#[derive(Clone, Debug, clap::Args)]
pub struct DecideArgs {
    /// The decision or the goal
    #[arg(value_name = "TASK")]
    task: String,
    /// proceed, fix or escalate (default: what the scores or ratings say)
    #[arg(long, value_name = "VERDICT")]
    verdict: Option<Verdict>,
    /// The score of the whole
    #[arg(long, value_name = "N")]
    score: Option<String>,
    /// The score of each dimension of the rubric, as NAME=N
    #[arg(long, value_name = "NAME=N", value_delimiter = ',')]
    scores: Vec<String>,
    /// How many critical findings are left
    #[arg(long, value_name = "COUNT")]
    critical: Option<u32>,
    /// Goals that are not met
    #[arg(long, value_name = "GOAL", value_delimiter = ',')]
    unmet: Vec<String>,
    /// A finding that does not hold the work, and that is still owed (can be repeated)
    #[arg(long, value_parser = crate::cmd::reason, value_name = "TEXT")]
    condition: Vec<String>,
    /// Which way it goes on, where the gate has several
    #[arg(long, value_name = "WORD")]
    outcome: Option<String>,
    /// What is weakest (default: the lowest score)
    #[arg(long, value_name = "NAME")]
    weakest: Option<String>,
    /// high, medium or low
    #[arg(long, value_name = "WORD")]
    confidence: Option<Confidence>,
    /// What one view thinks, 1 to 5, as VIEW=N or VIEW=N:FLAG,FLAG (missing-requirement, critical-risk, high-risk)
    #[arg(long, value_name = "VIEW=N")]
    rating: Vec<String>,
    /// What it rests on: a run (@N), an artifact, or a file of the code (can be repeated)
    #[arg(long, value_name = "REF")]
    evidence: Vec<String>,
    /// Read the values from a text with a VERDICT, DISCUSS_RESULT or TASK_COMPLETE block (`-` for stdin)
    #[arg(long, value_name = "FILE")]
    from: Option<String>,
    /// Take the scores that the session's specification package comes to, as `spec package check` shows them
    #[arg(long)]
    figures: bool,
    /// Why, for the record
    #[arg(long, value_parser = crate::cmd::reason, value_name = "TEXT")]
    reason: Option<String>,
}

/// Let a checkpoint, or a decision that waits for a person, pass; or let a task begin that waits for a person
#[derive(Clone, Debug, clap::Args)]
pub struct OpenArgs {
    /// The checkpoint, the decision or the task
    #[arg(value_name = "TASK")]
    task: String,
    /// Which way it goes on, where the decision has outcomes
    #[arg(long, value_name = "WORD")]
    outcome: Option<String>,
    /// What was looked at, for the record
    #[arg(long, value_parser = crate::cmd::reason, value_name = "TEXT")]
    reason: Option<String>,
}

pub(crate) fn decide(args: DecideArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let figures = if args.figures {
        package::figures(ctx)?
    } else {
        BTreeMap::new()
    };
    let request = request(args, figures)?;
    let done = flow::decide(ctx, &request)?;
    let decided = &done.value;
    for said in words(decided) {
        ui.status(line(&said));
    }
    let judged = &decided.judged;
    let said = match decided.given {
        Some(given) if judged.adjusted => format!(
            "{} is decided: {} (given: {given})",
            decided.task, judged.verdict
        ),
        _ => format!("{} is decided: {}", decided.task, judged.verdict),
    };
    let extra = json!({
        "task": decided.task,
        "given": decided.given,
        "verdict": judged.verdict,
        "adjusted": judged.adjusted,
        "score": judged.score,
        "severity": judged.severity,
        "why": judged.why,
        "notes": judged.notes,
        "unmet": request.decision.unmet,
        "conditions": request.decision.conditions,
        "suggestion": judged.suggestion,
        "parse_failed": request.decision.parse_failed,
        "missing_evidence": decided.missing,
        "inserted": decided.inserted,
        "outcome": request.decision.outcome,
        "fallen": decided.fallen,
        "next_gate": decided.next,
    });
    report(ctx, ui, "task decide", &done, &said, extra);
    Ok(Exit::Done)
}

/// Consequences of a decision, in lines.
fn words(decided: &Decided) -> Vec<String> {
    let judged = &decided.judged;
    let mut words = Vec::new();
    if let Some(score) = judged.score {
        words.push(format!("score {score}"));
    }
    words.extend(judged.why.iter().cloned());
    words.extend(judged.notes.iter().map(|note| format!("note: {note}")));
    words.extend(judged.suggestion.clone());
    let missing = decided.missing.iter();
    words.extend(missing.map(|name| format!("no evidence is at {name}")));
    if !decided.inserted.is_empty() {
        let ids: Vec<&str> = decided.inserted.iter().map(|id| id.as_str()).collect();
        words.push(format!("inserted: {}", ids.join(", ")));
    }
    if !decided.fallen.is_empty() {
        let ids: Vec<&str> = decided.fallen.iter().map(|id| id.as_str()).collect();
        words.push(format!("not done, by this outcome: {}", ids.join(", ")));
    }
    let next = decided.next.as_ref();
    words.extend(next.map(|next| format!("{next} is decided in its place")));
    words
}

fn request(args: DecideArgs, figures: BTreeMap<String, Points>) -> Result<DecideRequest> {
    let said: Option<Said> = match &args.from {
        Some(file) => Some(read_blocks(&read_text(file)?)),
        None => None,
    };
    let mut typed = Typed {
        task: &args.task,
        decision: said
            .as_ref()
            .map_or_else(Decision::default, |said| said.decision.clone()),
    };
    for (name, score) in figures {
        typed.score(name, score)?;
    }
    let verdict = typed.only(typed.decision.verdict, args.verdict, "the verdict")?;
    typed.decision.verdict = verdict;
    let score = args.score.as_deref().map(|score| typed.points(score));
    let score = typed.only(typed.decision.score, score.transpose()?, "the score")?;
    typed.decision.score = score;
    typed.scores(&args.scores)?;
    typed.ratings(&args.rating)?;
    if let Some(critical) = args.critical {
        let said = Some(typed.decision.criticals).filter(|said| *said > 0);
        typed.only(said, Some(critical), "the critical findings")?;
        typed.decision.criticals = critical;
    }
    let outcome = typed.decision.outcome.take();
    typed.decision.outcome = typed.only(outcome, args.outcome, "the outcome")?;
    let mut decision = typed.decision;
    decision.unmet.extend(args.unmet);
    decision.conditions.extend(args.condition);
    decision.weakest = args.weakest.or(decision.weakest);
    decision.confidence = args.confidence.or(decision.confidence);
    let reason = said.as_ref().and_then(|said| said.reason.clone());
    Ok(DecideRequest {
        task: args.task,
        decision,
        evidence: args.evidence,
        reason: args.reason.or(reason),
        said,
        has_figures: args.figures,
    })
}

/// Decision that a text gives, to which figures and what is typed add: they stand against nothing that it says.
struct Typed<'a> {
    task: &'a str,
    decision: Decision,
}

impl Typed<'_> {
    fn wrong(&self, why: String) -> Failure {
        Failure::usage(Code::DecisionValues, why).help(command!("task show {}", self.task))
    }

    fn twice(&self, what: &str) -> Failure {
        self.wrong(format!(
            "expected one value of {what}, found two that differ"
        ))
    }

    /// Takes the value that was given of two that may be. Refuses two that differ.
    fn only<T: PartialEq>(
        &self,
        said: Option<T>,
        typed: Option<T>,
        what: &str,
    ) -> Result<Option<T>> {
        match (said, typed) {
            (Some(said), Some(typed)) if said != typed => Err(self.twice(what)),
            (said, typed) => Ok(typed.or(said)),
        }
    }

    fn points(&self, text: &str) -> Result<Points> {
        let wanted = "expected a number with at most three places, like 8.5";
        Points::parse(text).ok_or_else(|| self.wrong(format!("{wanted}, found `{text}`")))
    }

    /// Adds the score of one dimension.
    fn score(&mut self, name: String, score: Points) -> Result<()> {
        let said = self.decision.scores.insert(name.clone(), score);
        if said.is_some_and(|said| said != score) {
            return Err(self.twice(&format!("`{name}`")));
        }
        Ok(())
    }

    /// Adds scores that are typed as `NAME=N`.
    fn scores(&mut self, typed: &[String]) -> Result<()> {
        let mut scored: Vec<&str> = Vec::new();
        for one in typed {
            let Some((name, score)) = one.split_once('=') else {
                return Err(self.wrong(format!("expected NAME=N in `--scores`, found `{one}`")));
            };
            let name = name.trim();
            if scored.contains(&name) {
                return Err(self.wrong(format!("`{name}` is scored twice in `--scores`")));
            }
            scored.push(name);
            let score = self.points(score.trim())?;
            self.score(name.to_owned(), score)?;
        }
        Ok(())
    }

    /// Adds what views think, typed as `VIEW=N:FLAG,FLAG`.
    fn ratings(&mut self, typed: &[String]) -> Result<()> {
        for one in typed {
            let Some(rating) = rating(one) else {
                let flags = Flag::WORDS.join(", ");
                return Err(self.wrong(format!(
                    "expected VIEW=N with N from 1 to 5, and behind a colon flags of {flags}, found `{one}`"
                )));
            };
            self.decision.ratings.push(rating);
        }
        Ok(())
    }
}

/// Reads `VIEW=N:FLAG,FLAG`.
fn rating(text: &str) -> Option<Rating> {
    let (view, rest) = text.split_once('=')?;
    let (number, flags) = rest.split_once(':').unwrap_or((rest, ""));
    let number: u8 = number.trim().parse().ok()?;
    let flags = flags.split(',').filter(|flag| !flag.is_empty());
    let flags: Option<Vec<_>> = flags
        .map(|flag| FromStr::from_str(flag.trim()).ok())
        .collect();
    (1..=5).contains(&number).then_some(Rating {
        view: view.trim().to_owned(),
        rating: number,
        flags: flags?,
    })
}

pub(crate) fn open(args: OpenArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let done = flow::open(ctx, &args.task, (args.outcome, args.reason))?;
    let task = &done.value.task;
    let (said, status) = if done.value.begins {
        (format!("{task} may begin, by your word"), Status::Pending)
    } else {
        (format!("{task} is open by your word"), Status::Completed)
    };
    let extra = json!({ "task": task, "status": status, "begins": done.value.begins });
    report(ctx, ui, "task open", &done, &said, extra);
    Ok(Exit::Done)
}

/// The decisions of a session, one a line.
pub(crate) fn log(ctx: &Context, count: Option<usize>, ui: &mut Ui) -> Result<Exit> {
    let (session, mut rows) = flow::decisions(ctx)?;
    let left_out = rows.len().saturating_sub(count.unwrap_or(usize::MAX));
    rows.drain(..left_out);
    for row in rows.iter().rev() {
        let number = ui.paint(style::NAME, &format!("@{:<3}", row.seq));
        ui.out(format!("{number} {}", line(&row_words(row))));
    }
    if rows.is_empty() {
        ui.status("nothing was decided yet");
    }
    ui.json("log", &json!({ "session": session, "decisions": rows }));
    Ok(Exit::Done)
}

pub(super) fn row_words(row: &DecisionRow) -> String {
    let counts = row.verdict.map_or("?", |verdict| verdict.as_str());
    let mut words = format!("{}  {counts}", row.task);
    if let Some(given) = row.given.filter(|_| row.adjusted) {
        words.push_str(&format!(" (given: {given})"));
    }
    if let Some(outcome) = &row.outcome {
        words.push_str(&format!("  {outcome}"));
    }
    if let Some(score) = row.score {
        words.push_str(&format!("  score {score}"));
    }
    for (is_so, word) in [
        (row.close_call, "close call"),
        (row.confidence == Some(Confidence::Low), "low confidence"),
        (row.parse_failed, "not readable"),
        (row.undone, "undone"),
    ] {
        if is_so {
            words.push_str(&format!("  ({word})"));
        }
    }
    for (label, names) in [("not met", &row.unmet), ("condition", &row.conditions)] {
        if !names.is_empty() {
            words.push_str(&format!("  {label}: {}", names.join(", ")));
        }
    }
    if let Some(reason) = &row.reason {
        words.push_str(&format!("  {reason}"));
    }
    words
}
