//! `review`: arguments, and how a review reads.

use super::{SignArgs, finding_lines, report, tell_policy_moved};
use crate::cli::Exit;
use crate::flow;
use crate::flow::answer::AnswerRequest;
use crate::flow::review;
use crate::flow::review::{ReviewRequest, Reviewed, VerdictRequest};
use crate::flow::{Context, Done, review_show, view};
use crate::ui::{Ui, line};
use loopx_base::counted;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_rules::op::{AnswerWord, CodeVerdict, ReviewFinding, Smell, Target};
use loopx_rules::signature::Basis;
use serde_json::{Value, json};

/// Open the review of base..head, or record a verdict on it
///
/// If build->review is approved and the review is not open yet, a verdict opens the review first.
#[derive(Debug, clap::Args)]
pub struct ReviewArgs {
    /// Record the verdict: approve, or request-changes (changes is the same)
    #[arg(long, value_name = "VERDICT", value_parser = verdict_word)]
    pub verdict: Option<CodeVerdict>,
    /// Answer a finding: its number, and fixed, open or wontfix (can be repeated)
    #[arg(long, value_names = ["N", "ANSWER"], num_args = 2, action = clap::ArgAction::Append, conflicts_with = "verdict")]
    pub answer: Vec<String>,
    /// Where requested changes belong: build (default), plan or clarify
    #[arg(long, value_name = "STAGE", requires = "verdict")]
    pub target: Option<Target>,
    /// What the change does to the architecture: pass, warn or block
    #[arg(
        long,
        value_name = "SMELL",
        default_value = "pass",
        requires = "verdict"
    )]
    pub architecture: Smell,
    /// Where a blocked architecture sends the session: plan (default), build or clarify
    #[arg(long, value_name = "STAGE", requires = "verdict")]
    pub architecture_target: Option<Target>,
    /// A finding: severity (critical, high, medium, low, info), a colon, the text, before it FILE:LINE: where it has a place (can be repeated)
    #[arg(long, value_name = "SEVERITY:TEXT", requires = "verdict")]
    pub finding: Vec<String>,
    /// Show what the review covers, and write nothing
    #[arg(long, conflicts_with_all = ["verdict", "answer"])]
    pub show: bool,
    /// Review uncommitted work too
    #[arg(long)]
    pub allow_uncommitted: bool,
    /// Sign the verdict or the answer with the key that git signs with (gpg.format ssh)
    #[arg(short = 'S', long, overrides_with = "no_sign")]
    pub sign: bool,
    /// Do not sign it, whatever loopx.sign says
    #[arg(long, overrides_with = "sign")]
    pub no_sign: bool,
    /// Why, for the record
    #[arg(long, value_parser = crate::cmd::reason, value_name = "TEXT")]
    pub reason: Option<String>,
}

pub(crate) fn review(args: ReviewArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    if !args.answer.is_empty() {
        return answer(&args, ctx, ui);
    }
    // An open review is shown as often as somebody asks for it.
    if args.show || args.verdict.is_none() && review_show::is_open(ctx)? {
        ctx.only_reads();
        let shown = review_show::show(ctx)?;
        super::review_show::print(&shown, ui);
        ui.next(&shown.advised);
        ui.json("review", &super::review_show::document(&shown));
        return Ok(Exit::Done);
    }
    let findings = args
        .finding
        .iter()
        .map(|text| ReviewFinding::read(text))
        .collect::<Result<Vec<_>>>()?;
    if args.target.is_some() && args.verdict == Some(CodeVerdict::Approve) {
        return Err(Failure::usage(
            Code::TargetWithoutChanges,
            "`approve` asks for no changes, so it has no --target",
        )
        .help(command!("review --verdict request-changes --target build")));
    }
    let request = ReviewRequest {
        verdict: args.verdict.map(|verdict| VerdictRequest {
            verdict,
            target: args.target,
            architecture: args.architecture,
            architecture_target: args.architecture_target,
            findings,
        }),
        allow_uncommitted: args.allow_uncommitted,
        reason: args.reason,
        sign: SignArgs::of(args.sign, args.no_sign).wanted(ctx),
    };
    carry_out(&request, ctx, ui)
}

/// Opens the review.
pub(crate) fn open(ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let request = ReviewRequest {
        verdict: None,
        allow_uncommitted: false,
        reason: None,
        sign: false,
    };
    carry_out(&request, ctx, ui)
}

fn carry_out(request: &ReviewRequest, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let done = review::review(ctx, request)?;
    let reviewed = &done.value;
    let commits: Vec<_> = reviewed
        .commits
        .iter()
        .zip(&reviewed.proof)
        .map(|(c, proof)| {
            json!({
                "id": c.id,
                "author": c.author.to_string(),
                "committer": c.committer.to_string(),
                "proof": proof,
                "subject": c.subject(),
            })
        })
        .collect();
    let basis = match reviewed.verdict {
        Some(_) => basis(ctx, &done),
        None => None,
    };
    let extra = json!({
        "policy_moved": tell_policy_moved(ctx, &done, ui),
        "entered": reviewed.entered,
        "verdict": reviewed.verdict,
        "proof": basis,
        "independent": reviewed.verdict.as_ref().map(|v| v.dependence.is_empty()),
        "judgement": reviewed.judgement,
        "commits": commits,
        "files": reviewed.files,
    });
    if reviewed.entered && reviewed.verdict.is_none() {
        return entered(ctx, &done, extra, ui);
    }
    for because in reviewed.judgement.iter().flat_map(|j| &j.because) {
        ui.status(format!("  {}", line(&because.to_string())));
    }
    if let Some(verdict) = &reviewed.verdict
        && !verdict.dependence.is_empty()
    {
        let roles: Vec<&str> = verdict.dependence.iter().map(|d| d.role.as_str()).collect();
        ui.warn(format!(
            "the reviewer is not independent of what was reviewed: {}",
            roles.join(", ")
        ));
    }
    let said = match basis {
        Some(basis) => format!("{} ({})", reviewed.message, basis.word()),
        None => reviewed.message.clone(),
    };
    report(ctx, ui, "review", &done, &said, extra);
    Ok(Exit::Done)
}

/// Says that the review is open, and shows it.
fn entered(ctx: &Context, done: &Done<Reviewed>, extra: Value, ui: &mut Ui) -> Result<Exit> {
    // It is entered by now, whatever keeps it from being shown.
    let Ok(shown) = review_show::show(ctx) else {
        report(ctx, ui, "review", done, "in stage review", extra);
        return Ok(Exit::Done);
    };
    super::review_show::print(&shown, ui);
    let mut body = super::review_show::document(&shown);
    if let (Value::Object(body), Value::Object(extra)) = (&mut body, extra) {
        body.extend(extra);
        for key in ["next_action", "advice", "waits"] {
            body.remove(key);
        }
    }
    report(ctx, ui, "review", done, "in stage review", body);
    Ok(Exit::Done)
}

/// Proof of whose verdict it is: a key, or a claim alone. It is recorded, whatever keeps the proof from being read.
fn basis(ctx: &Context, done: &Done<Reviewed>) -> Option<Basis> {
    let said = (
        format!("the verdict is recorded for {}", done.id),
        "the look at its proof",
    );
    let basis = view::basis(ctx, &done.id, &done.state.last);
    ctx.follow(said, command!("review --show"), basis)
}

/// `changes` is what people type, `request-changes` what is recorded.
fn verdict_word(text: &str) -> Result<CodeVerdict> {
    match text {
        "changes" => Ok(CodeVerdict::RequestChanges),
        other => other.parse(),
    }
}

/// The answers as they were typed: a number and a word each.
fn answers(words: &[String]) -> Result<Vec<(u32, AnswerWord)>> {
    let pair = |pair: &[String]| {
        let [number, word] = pair else {
            return Err(answer_expected(&pair.join(" ")));
        };
        let number = number.parse().map_err(|_| answer_expected(number))?;
        Ok((number, word.parse()?))
    };
    words.chunks(2).map(pair).collect()
}

fn answer_expected(found: &str) -> Failure {
    Failure::usage(
        Code::FindingInvalid,
        format!("expected the number of a finding, and fixed, open or wontfix; found `{found}`"),
    )
    .help(command!("review --answer 1 fixed"))
}

fn answer(args: &ReviewArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let request = AnswerRequest {
        answers: answers(&args.answer)?,
        reason: args.reason.clone(),
        sign: SignArgs::of(args.sign, args.no_sign).wanted(ctx),
    };
    let done = flow::answer::answer(ctx, &request)?;
    let findings = done.value.as_deref();
    if !ui.is_json() {
        finding_lines(ui, findings.unwrap_or_default());
    }
    let said: Vec<String> = request
        .answers
        .iter()
        .map(|(number, word)| format!("finding {number} is {}", told(*word)))
        .collect();
    let mut said = said.join(", ");
    if let Some(findings) = findings {
        let open = findings.iter().filter(|one| one.open).count();
        said = format!("{said}; {} open", counted(open, "finding"));
    }
    let extra = json!({ "findings": findings });
    report(ctx, ui, "review", &done, &said, extra);
    Ok(Exit::Done)
}

fn told(word: AnswerWord) -> &'static str {
    match word {
        AnswerWord::Fixed => "answered: fixed",
        AnswerWord::Open => "open",
        AnswerWord::Wontfix => "left as it is",
    }
}
