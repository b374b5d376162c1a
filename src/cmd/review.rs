//! `review`: arguments, and how a review reads.

use super::{SignArgs, report, tell_policy_moved};
use crate::cli::Exit;
use crate::core::counted;
use crate::core::failure::{Code, Failure, Result};
use crate::core::hint::command;
use crate::core::op::{CodeVerdict, ReviewFinding, Severity, Smell, Target};
use crate::core::signature::Basis;
use crate::flow::review::{self, ReviewRequest, Reviewed, VerdictRequest};
use crate::flow::{Context, Done, view};
use crate::ui::{Ui, line, style};
use serde_json::json;

/// Open the review of base..head, or record a verdict on it
#[derive(Debug, clap::Args)]
pub struct ReviewArgs {
    /// Record the verdict: approve or request-changes
    #[arg(long, value_name = "VERDICT")]
    pub verdict: Option<CodeVerdict>,
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
    /// A finding: severity (critical, high, medium, low, info), a colon, the text (can be repeated)
    #[arg(long, value_name = "SEVERITY:TEXT", requires = "verdict")]
    pub finding: Vec<String>,
    /// Review uncommitted work too
    #[arg(long)]
    pub allow_uncommitted: bool,
    /// Sign the verdict with the key that git signs with (gpg.format ssh)
    #[arg(short = 'S', long, requires = "verdict", overrides_with = "no_sign")]
    pub sign: bool,
    /// Do not sign it, whatever loopx.sign says
    #[arg(long, overrides_with = "sign")]
    pub no_sign: bool,
    /// Why, for the record
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
}

pub fn review(args: ReviewArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let findings = args
        .finding
        .iter()
        .map(|text| finding(text))
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
    let done = review::review(ctx, &request)?;
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
    let basis = basis(ctx, &done)?;
    let extra = json!({
        "policy_moved": tell_policy_moved(ctx, &done, ui),
        "entered": reviewed.entered,
        "verdict": reviewed.verdict,
        "proof": reviewed.verdict.as_ref().map(|_| basis),
        "independent": reviewed.verdict.as_ref().map(|v| v.dependence.is_empty()),
        "judgement": reviewed.judgement,
        "commits": commits,
        "files": reviewed.files,
    });
    if reviewed.entered {
        for (commit, proof) in reviewed.commits.iter().zip(&reviewed.proof) {
            ui.status(format!(
                "  {} {} ({}, {})",
                ui.paint(style::NAME, commit.id.short()),
                line(commit.subject()),
                line(&commit.author.name),
                proof.word()
            ));
        }
        let said = format!(
            "in stage review: {}, {}",
            counted(commits.len(), "commit"),
            counted(reviewed.files.len(), "file")
        );
        report(ctx, ui, "review", &done, &said, extra);
        return Ok(Exit::Done);
    }
    let target = reviewed.judgement.as_ref().and_then(|j| j.target);
    for because in reviewed.judgement.iter().flat_map(|j| &j.because) {
        ui.status(format!("  {}", line(because)));
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
    let said = match target {
        Some(target) => format!("changes are asked for in {target} ({})", basis.word()),
        None => format!("approved ({})", basis.word()),
    };
    report(ctx, ui, "review", &done, &said, extra);
    Ok(Exit::Done)
}

/// Whether a key shows whose verdict it is.
fn basis(ctx: &Context, done: &Done<Reviewed>) -> Result<Basis> {
    view::basis(ctx, &done.id, &done.state.last)
}

fn finding(text: &str) -> Result<ReviewFinding> {
    let (severity, words) = text.split_once(':').ok_or_else(|| {
        Failure::usage(
            Code::FindingInvalid,
            format!("expected SEVERITY:TEXT, found `{text}`"),
        )
        .help(command!(
            "review --verdict request-changes --finding \"high: no test\""
        ))
    })?;
    let severity: Severity = severity.trim().parse()?;
    Ok(ReviewFinding {
        severity,
        text: words.trim().to_owned(),
    })
}
