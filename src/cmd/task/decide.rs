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
    let task = args.task.clone();
    let wrong =
        |why: String| Failure::usage(Code::DecisionValues, why).help(command!("task show {task}"));
    let points = |text: &str| {
        let wanted = "expected a number with at most three places, like 8.5";
        Points::parse(text).ok_or_else(|| wrong(format!("{wanted}, found `{text}`")))
    };
    let said: Option<Said> = match &args.from {
        Some(file) => Some(read_blocks(&read_text(file)?)),
        None => None,
    };
    let mut decision: Decision = said
        .as_ref()
        .map_or_else(Decision::default, |said| said.decision.clone());
    // What is typed adds to the text and to the figures, and stands against nothing that they say.
    let twice = |what: &str| {
        wrong(format!(
            "expected one value of {what}, found two that differ"
        ))
    };
    for (name, score) in figures {
        let said = decision.scores.insert(name.clone(), score);
        if said.is_some_and(|said| said != score) {
            return Err(twice(&format!("`{name}`")));
        }
    }
    if decision.verdict.is_some() && args.verdict.is_some() && decision.verdict != args.verdict {
        return Err(twice("the verdict"));
    }
    decision.verdict = args.verdict.or(decision.verdict);
    if let Some(score) = &args.score {
        let score = points(score)?;
        if decision.score.is_some_and(|said| said != score) {
            return Err(twice("the score"));
        }
        decision.score = Some(score);
    }
    let mut scored: Vec<&str> = Vec::new();
    for one in &args.scores {
        let pair = one.split_once('=');
        let (name, score) =
            pair.ok_or_else(|| wrong(format!("expected NAME=N in `--scores`, found `{one}`")))?;
        let name = name.trim();
        if scored.contains(&name) {
            return Err(wrong(format!("`{name}` is scored twice in `--scores`")));
        }
        scored.push(name);
        let score = points(score.trim())?;
        let said = decision.scores.insert(name.to_owned(), score);
        if said.is_some_and(|said| said != score) {
            return Err(twice(&format!("`{name}`")));
        }
    }
    for one in &args.rating {
        let rating = rating(one);
        decision.ratings.push(rating.ok_or_else(|| {
            let flags = Flag::WORDS.join(", ");
            wrong(format!(
                "expected VIEW=N with N from 1 to 5, and behind a colon flags of {flags}, found `{one}`"
            ))
        })?);
    }
    if let Some(typed) = args.critical {
        if decision.criticals > 0 && decision.criticals != typed {
            return Err(twice("the critical findings"));
        }
        decision.criticals = typed;
    }
    if decision.outcome.is_some() && args.outcome.is_some() && decision.outcome != args.outcome {
        return Err(twice("the outcome"));
    }
    decision.outcome = args.outcome.or(decision.outcome);
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
