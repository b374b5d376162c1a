//! `clarify`, `approve`, `plan`, `build`: arguments, and how their outcomes read.

use super::{SignArgs, blocker_lines, outline, report, tell_done, tell_policy_moved};
use crate::cli::Exit;
use crate::flow::approve as approve_flow;
use crate::flow::approve::{Approved, Ends};
use crate::flow::lease;
use crate::flow::outline::Question;
use crate::flow::stages;
use crate::flow::stages::{BuildRequest, DelegationRequest, Outcome, Proposed, Report, Written};
use crate::flow::{Context, Done, preview};
use crate::ui::{Ui, clean, line, style};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{command, hint};
use loopx_base::{counted, shell_word};
use loopx_rules::finding::Finding;
use loopx_rules::gate::Proof;
use loopx_rules::op::{DelegationStatus, FoundIn, Lane, LaneStatus, PlanLane, PlanVerdict};
use loopx_rules::outline::Complexity;
use loopx_rules::profile::ProfileName;
use loopx_rules::session::Stamped;
use loopx_rules::stage::{Stage, Transition};
use serde_json::json;

/// End a round of clarification and judge it; or go back to clarify from a review
#[derive(Debug, Default, clap::Args)]
pub struct ClarifyArgs {
    /// Ask for ambiguity of at most 0.1
    #[arg(long, conflicts_with = "standard")]
    pub deep: bool,
    /// Ask for ambiguity of at most 0.2
    #[arg(long)]
    pub standard: bool,
    /// Allow this many more rounds (needs --reason)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub more: Option<u32>,
    /// Why, for the record
    #[arg(long, value_parser = crate::cmd::reason, value_name = "TEXT")]
    pub reason: Option<String>,
    /// Sign the raised cap with the key that git signs with (gpg.format ssh)
    #[arg(short = 'S', long, requires = "more", overrides_with = "no_sign")]
    pub sign: bool,
    /// Do not sign it, whatever loopx.sign says
    #[arg(long, requires = "more", overrides_with = "sign")]
    pub no_sign: bool,
}

/// Approve a transition: the human gate
#[derive(Debug, clap::Args)]
pub struct ApproveArgs {
    /// The stage to go to (default: the one that comes next)
    #[arg(long, value_name = "STAGE")]
    pub to: Option<Stage>,
    /// The stage that the session must be in
    #[arg(long, value_name = "STAGE")]
    pub from: Option<Stage>,
    #[command(flatten)]
    pub sign: SignArgs,
    /// Why, for the record
    #[arg(long, value_parser = crate::cmd::reason, value_name = "TEXT")]
    pub reason: Option<String>,
    /// Go on at once: run the command of the stage that was approved (with --json its document is printed)
    #[arg(long)]
    pub enter: bool,
    /// Print what would be approved, and change nothing
    #[arg(long, conflicts_with_all = ["enter", "reason", "sign"])]
    pub show: bool,
}

/// Enter plan and lay out its documents; record its reviews; begin the next draft
#[derive(Debug, Default, clap::Args)]
pub struct PlanArgs {
    /// Record the architect's view of this draft: approve or iterate
    #[arg(long, value_name = "VERDICT", conflicts_with = "critic")]
    pub architect: Option<PlanVerdict>,
    /// Record the critic's verdict on this draft: approve, iterate or reject
    #[arg(long, value_name = "VERDICT")]
    pub critic: Option<PlanVerdict>,
    /// What the review found (can be repeated)
    #[arg(long, value_name = "TEXT")]
    pub finding: Vec<String>,
    /// Allow this many more drafts, or one more return to a plan without reviews (needs --reason)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100), conflicts_with_all = ["architect", "critic"])]
    pub more: Option<u32>,
    /// Say how large the change is, whatever its words say: low, medium or high
    #[arg(long, value_name = "SIZE", conflicts_with_all = ["architect", "critic", "more"])]
    pub complexity: Option<Complexity>,
    /// Look at the code from this angle, whatever the words say (can be repeated)
    #[arg(long, value_name = "ANGLE", conflicts_with_all = ["architect", "critic", "more"])]
    pub angle: Vec<String>,
    /// Print the outline of the plan, and change nothing
    #[arg(long, conflicts_with_all = ["architect", "critic", "more", "complexity", "angle", "reason"])]
    pub show: bool,
    /// Why, for the record
    #[arg(long, value_parser = crate::cmd::reason, value_name = "TEXT")]
    pub reason: Option<String>,
    /// Sign the raised cap with the key that git signs with (gpg.format ssh)
    #[arg(short = 'S', long, requires = "more", overrides_with = "no_sign")]
    pub sign: bool,
    /// Do not sign it, whatever loopx.sign says
    #[arg(long, requires = "more", overrides_with = "sign")]
    pub no_sign: bool,
}

/// Enter build; record what its lanes say; end an iteration with the completion audit
#[derive(Debug, Default, clap::Args)]
pub struct BuildArgs {
    /// Enter build again for what this review report asks for (default: the session's own)
    #[arg(long, value_name = "REPORT", num_args = 0..=1, default_missing_value = "")]
    pub from_review: Option<String>,
    /// Leave out cleaning up and its regression run
    #[arg(long)]
    pub no_deslop: bool,
    /// Record a lane: execution, architect or deslop = complete, incomplete, failed, blocked or skipped
    #[arg(long, value_name = "LANE=STATUS", group = "record")]
    pub report: Option<String>,
    /// Record delegated work: its id = pending, active, complete, failed, blocked or skipped
    #[arg(long, value_name = "ID=STATUS", group = "record")]
    pub delegate: Option<String>,
    /// Who the work is delegated to
    #[arg(long, value_name = "ROLE", requires = "delegate")]
    pub role: Option<String>,
    /// The delegated work does not hold the hand-off
    #[arg(long, requires = "delegate")]
    pub not_blocking: bool,
    /// Waive a slice's evidence (needs --reason)
    #[arg(long, value_name = "SLICE", group = "record")]
    pub waive: Option<String>,
    /// Allow this many more iterations (needs --reason)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100), group = "record")]
    pub more: Option<u32>,
    /// Take the build over from another worktree before its lease ends (needs --reason)
    #[arg(long, group = "record")]
    pub take_over: bool,
    /// Why, or what was done, for the record
    #[arg(long, value_parser = crate::cmd::reason, value_name = "TEXT")]
    pub reason: Option<String>,
    #[command(flatten)]
    pub sign: SignArgs,
}

pub(crate) fn clarify(args: ClarifyArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    if let Some(more) = args.more {
        let sign = SignArgs::of(args.sign, args.no_sign).wanted(ctx);
        let done = stages::extend(ctx, Stage::Clarify, more, args.reason, sign)?;
        return Ok(tell(
            ctx,
            ui,
            "clarify",
            &done,
            &format!("{} are allowed", counted(more, "more round")),
        ));
    }
    let profile = match (args.deep, args.standard) {
        (true, _) => Some(ProfileName::deep()),
        (_, true) => Some(ProfileName::standard()),
        _ => None,
    };
    let done = stages::clarify(ctx, profile, args.reason)?;
    let said = match done.value.entered {
        Some(_) => "back in stage clarify; score and flags must be earned again".to_owned(),
        None if done.value.blockers.is_empty() => "clear enough to plan".to_owned(),
        None => "not clear enough to plan yet".to_owned(),
    };
    Ok(tell(ctx, ui, "clarify", &done, &said))
}

pub(crate) fn approve(args: ApproveArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let ends = Ends {
        from: args.from,
        to: args.to,
    };
    if args.show {
        return super::preview::show(ends, ctx, ui);
    }
    let done = match approve_flow::approve(ctx, ends, args.reason, args.sign.wanted(ctx)) {
        Err(failure) if args.enter && failure.code == Code::ApprovedAlready => {
            let transition = preview::preview(ctx, ends)?.transition;
            return enter(transition, args.sign, ctx, ui);
        }
        done => done?,
    };
    tell_questions(&done, ui);
    let transition = done.value.transition;
    let is_whole = done.value.people >= done.value.required;
    if args.enter && is_whole && !done.value.completed {
        if !ui.is_json() {
            // What is next is said of the stage that is entered.
            tell_unserved(&done.value, ui);
            tell_policy_moved(ctx, &done, ui);
            let said = format!("approved {transition}{}", once_more(&done.value));
            tell_done(&done, &said, ui);
        }
        return enter(transition, args.sign, ctx, ui);
    }
    tell_approved(&done, ctx, ui);
    Ok(Exit::Done)
}

/// Takes an approved transition by the command of its stage.
fn enter(transition: Transition, sign: SignArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    match transition.to() {
        Stage::Clarify => clarify(ClarifyArgs::default(), ctx, ui),
        Stage::Plan => plan(PlanArgs::default(), ctx, ui),
        Stage::Build => {
            let again = transition == Transition::ReviewToBuild;
            let args = BuildArgs {
                from_review: again.then(String::new),
                sign,
                ..BuildArgs::default()
            };
            build(args, ctx, ui)
        }
        Stage::Review => super::review::open(ctx, ui),
        // The approval itself was the step.
        Stage::Done => Ok(Exit::Done),
    }
}

fn tell_approved(done: &Done<Approved>, ctx: &Context, ui: &mut Ui) {
    let approved = &done.value;
    let said = if approved.completed {
        "approved review->done; the session is done".to_owned()
    } else if approved.people < approved.required {
        format!(
            "approved {} by {} of {} people",
            approved.transition, approved.people, approved.required
        )
    } else {
        format!("approved {}{}", approved.transition, once_more(approved))
    };
    let extra = json!({
        "transition": approved.transition,
        "approvals": approved.people,
        "required": approved.required,
        "completed": approved.completed,
        "unserved": approved.unserved,
        "before": approved.before,
        "questions": approved.questions,
        "policy_moved": tell_policy_moved(ctx, done, ui),
    });
    if !ui.is_json() {
        tell_unserved(approved, ui);
    }
    report(ctx, ui, "approve", done, &said, extra);
}

/// Remark on a content that was approved before.
fn once_more(approved: &Approved) -> String {
    approved.before.as_ref().map_or_else(String::new, |before| {
        format!(
            " once more: nothing of it has changed since {} approved it (@{})",
            line(&before.by.name),
            before.seq
        )
    })
}

/// Questions that nobody answered before the word was given.
fn tell_questions(done: &Done<Approved>, ui: &mut Ui) {
    if ui.is_json() {
        return;
    }
    for Question { number, by, text } in &done.value.questions {
        ui.warn(format!(
            "nobody has answered @{number} {} ({}); to answer: {}",
            line(text),
            line(by),
            ui.command(&command!("note --answer {number} TEXT"))
        ));
    }
}

fn tell_unserved(approved: &Approved, ui: &mut Ui) {
    for scenario in &approved.unserved {
        let (what, file) = &approved.checked_by;
        ui.warn(format!(
            "no {what} names scenario `{}` (`scenarios` in {file}): archive will refuse it unless it is waived",
            clean(scenario)
        ));
    }
}

pub(crate) fn plan(args: PlanArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let PlanArgs {
        architect,
        critic,
        finding,
        more,
        complexity,
        angle,
        show,
        reason,
        sign,
        no_sign,
    } = args;
    if show {
        return outline::show(ctx, ui);
    }
    let lane = match (architect, critic) {
        (Some(verdict), _) => Some((PlanLane::Architect, verdict)),
        (_, Some(verdict)) => Some((PlanLane::Critic, verdict)),
        _ => None,
    };
    if let Some((lane, verdict)) = lane {
        let done = stages::plan_review(ctx, lane, verdict, &finding, reason)?;
        let said = format!("{lane}: {verdict}, draft {}", done.state.plan.iteration);
        return Ok(tell(ctx, ui, "plan", &done, &said));
    }
    if !finding.is_empty() {
        return Err(Failure::usage(
            Code::FindingWithoutVerdict,
            "a finding belongs to a verdict",
        )
        .help(hint![
            command!(
                "plan --critic iterate --finding {}",
                shell_word(&finding[0])
            ),
            "  (or --architect)"
        ]));
    }
    if let Some(more) = more {
        let sign = SignArgs::of(sign, no_sign).wanted(ctx);
        let done = stages::extend(ctx, Stage::Plan, more, reason, sign)?;
        let said = if done.value.returns {
            "one more return to the plan is allowed".to_owned()
        } else {
            let max = done.state.max_plan_iterations();
            format!("{max} drafts are allowed now")
        };
        return Ok(tell(ctx, ui, "plan", &done, &said));
    }
    let written = Written {
        complexity,
        angles: angle,
    };
    let done = stages::plan(ctx, reason, &written)?;
    let said = draft_said(ctx, &done);
    if !ui.is_json() {
        outline::tell(ctx, ui);
    }
    Ok(tell(ctx, ui, "plan", &done, &said))
}

fn draft_said(ctx: &Context, done: &Done<Outcome>) -> String {
    match done.value.entered {
        Some(transition) if transition.is_rollback() => "back in stage plan".to_owned(),
        Some(_) => format!(
            "in stage plan; the documents to write are in {}",
            ctx.folder(&done.id)
        ),
        None => match done.value.proposed {
            Some(Proposed { file, noun, count }) => format!(
                "{} proposed in {file}; write the check of each",
                counted(count, noun)
            ),
            None if done.value.history.is_empty() => "as the plan says".to_owned(),
            None => format!(
                "draft {} of {}",
                done.state.plan.iteration,
                done.state.max_plan_iterations()
            ),
        },
    }
}

pub(crate) fn build(args: BuildArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let BuildArgs {
        from_review,
        no_deslop,
        report: lane,
        delegate,
        role,
        not_blocking,
        waive,
        more,
        take_over,
        reason,
        sign,
    } = args;
    let sign = sign.wanted(ctx);
    if take_over {
        return take_build_over(reason, ctx, ui);
    }
    if let Some(delegate) = delegate {
        let (id, status, warning) = delegation(&delegate)?;
        let request = DelegationRequest {
            id,
            status,
            role,
            blocking: not_blocking.then_some(false),
            summary: reason,
            sign,
        };
        return delegate_part(&request, warning, ctx, ui);
    }
    let (done, said) = if let Some(lane) = lane {
        let (lane, status) = pair::<LaneStatus>(&lane)?;
        let lane: Lane = lane.parse()?;
        let done = stages::report_lane(ctx, lane, status, reason, sign)?;
        (done, format!("{lane} lane: {status}"))
    } else if let Some(task) = waive {
        let done = stages::waive(ctx, &task, reason, sign)?;
        (done, format!("{task} needs no evidence"))
    } else if let Some(more) = more {
        let done = stages::extend(ctx, Stage::Build, more, reason, sign)?;
        let max = done.state.max_build_iterations();
        (done, format!("{max} iterations are allowed now"))
    } else {
        let request = BuildRequest {
            from_review: from_review.map(report_of_review).transpose()?,
            no_deslop,
            reason,
            sign,
        };
        let done = stages::build(ctx, &request)?;
        let said = iteration_said(&done);
        (done, said)
    };
    Ok(tell(ctx, ui, "build", &done, &said))
}

fn take_build_over(reason: Option<String>, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let done = lease::take_over(ctx, reason)?;
    let said = match &done.value {
        Some(claim) => format!(
            "the build is this worktree's now, taken over from {}",
            clean(&claim.signed.by.to_string())
        ),
        None => "the build is this worktree's now".to_owned(),
    };
    let extra = json!({ "claim": done.state.build.claim });
    report(ctx, ui, "build", &done, &said, extra);
    Ok(Exit::Done)
}

fn delegate_part(
    request: &DelegationRequest,
    warning: Option<String>,
    ctx: &Context,
    ui: &mut Ui,
) -> Result<Exit> {
    let done = stages::delegate(ctx, request)?;
    if let Some(warning) = warning {
        ui.warn(warning);
    }
    let said = format!("delegation {}: {}", request.id, request.status);
    Ok(tell(ctx, ui, "build", &done, &said))
}

/// Reads the report that `--from-review` names: the verdict on record, or a file. A file that is not there is for the
/// rules to say.
fn report_of_review(path: String) -> Result<Report> {
    if path.is_empty() {
        return Ok(Report::Stamped);
    }
    let bytes = match super::artifacts::read_bytes(&path) {
        Ok(bytes) => Some(bytes),
        Err(failure) if failure.code == Code::FileUnreadable => None,
        Err(failure) => return Err(failure),
    };
    Ok(Report::File { bytes, path })
}

fn iteration_said(done: &Done<Outcome>) -> String {
    let iteration = done.state.build.iteration;
    match done.value.entered {
        Some(transition) if transition.is_rollback() => {
            "back in stage build, to mend what the review found".to_owned()
        }
        Some(_) => "in stage build; git lets code in now".to_owned(),
        None if done.value.blockers.is_empty() => {
            format!("iteration {iteration} is ready for review")
        }
        None => format!("iteration {iteration} is not ready for review"),
    }
}

/// `NAME=WORD`.
fn pair<T: std::str::FromStr<Err = Failure>>(text: &str) -> Result<(String, T)> {
    let (name, word) = text.split_once('=').ok_or_else(|| {
        Failure::usage(
            Code::PairExpected,
            format!("expected NAME=STATUS, found `{text}`"),
        )
    })?;
    Ok((name.to_owned(), word.parse()?))
}

/// An unknown status counts as pending, which holds the hand-off: nothing fails open (S-078).
fn delegation(text: &str) -> Result<(String, DelegationStatus, Option<String>)> {
    let (id, word) = text.split_once('=').ok_or_else(|| {
        Failure::usage(
            Code::PairExpected,
            format!("expected ID=STATUS, found `{text}`"),
        )
        .help(command!("build --delegate worker-a=active --role tester"))
    })?;
    let valid = !id.is_empty()
        && id.len() <= 63
        && id
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    if !valid {
        return Err(Failure::usage(
            Code::DelegationIdInvalid,
            format!("expected an id of letters, digits, `-`, `_`, `.`, found `{id}`"),
        ));
    }
    let (status, warning) = match word.parse() {
        Ok(status) => (status, None),
        Err(_) => {
            let said = format!(
                "`{}` is no status of a delegation; recorded as pending",
                clean(word)
            );
            (DelegationStatus::Pending, Some(said))
        }
    };
    Ok((id.to_owned(), status, warning))
}

fn tell(ctx: &Context, ui: &mut Ui, command: &str, done: &Done<Outcome>, said: &str) -> Exit {
    let outcome = &done.value;
    let open: Vec<_> = done
        .state
        .numbered()
        .filter(|(_, one)| one.value.is_open())
        .collect();
    let extra = json!({
        "findings": open.iter().map(|(number, one)| json!({
            "number": number,
            "lane": one.value.lane,
            "round": one.value.round,
            "author": one.signed.by.to_string(),
            "finding": one.value.found,
        })).collect::<Vec<_>>(),
        "transition": outcome.entered,
        "ready": outcome.judged.then_some(outcome.blockers.is_empty()),
        "blockers": outcome.blockers,
        "audit": outcome.audit,
        "history": outcome.history,
    });
    let is_of_plan = |one: &FoundIn| *one != FoundIn::Review;
    let of_stage = |one: &&(u32, &Stamped<Finding>)| match done.state.stage {
        Stage::Plan => true,
        Stage::Build => !is_of_plan(&one.1.value.lane),
        _ => false,
    };
    for (number, finding) in open.iter().filter(of_stage) {
        let round = if is_of_plan(&finding.value.lane) {
            "draft"
        } else {
            "round"
        };
        ui.status(format!(
            "  finding {number}, {} on {round} {}: {}",
            finding.value.lane,
            finding.value.round,
            line(&finding.value.words())
        ));
    }
    for item in outcome
        .audit
        .iter()
        .filter(|item| !matches!(item.proof, Proof::Passed))
    {
        let id = ui.paint(style::WARN, &clean(&item.id));
        let proof = format!("{:?}", item.proof).to_lowercase();
        let source = item.source.map(|file| format!(", of {file}"));
        ui.status(format!(
            "  {id}: {proof}, {}{}",
            clean(&item.detail),
            source.unwrap_or_default()
        ));
    }
    blocker_lines(ui, &outcome.blockers);
    report(ctx, ui, command, done, said, extra);
    if outcome.judged && !outcome.blockers.is_empty() {
        Exit::Blocked
    } else {
        Exit::Done
    }
}
