//! `issue queue form|show|next|fail|retry`.

use super::solution::review_lines;
use super::{row_lines, say};
use crate::cli::{Exit, QueueCommand};
use crate::flow::Context;
use crate::flow::issue::claim::TakeRequest;
use crate::flow::issue::failure;
use crate::flow::issue::queue as flow;
use crate::flow::issue::queue::{Formed, QueueView, Request};
use crate::flow::issue::{Names, Written};
use crate::ui::{Ui, line, style};
use loopx_base::failure::Result;
use loopx_base::hint::{Hint, command};
use loopx_rules::issue::IssueId;
use loopx_rules::issue::queue::{Conflict, Mode, Queue, Resolution};
use serde_json::json;

pub(crate) fn run(command: QueueCommand, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    match command {
        QueueCommand::Form(args) => form(&args, ctx, ui),
        QueueCommand::Show(args) => show(&args, ctx, ui),
        QueueCommand::Next(args) => next(args, ctx, ui),
        QueueCommand::Fail(args) => fail(&args, ctx, ui),
        QueueCommand::Retry(args) => retry(&args, ctx, ui),
    }
}

/// Put issues into the queue whose solution is bound
///
/// All that are meant, or none. quick asks for a bound solution; full for its audit besides; batch is one audit over
/// all. Without --mode one or two issues are quick, unless one has priority 0 or 1; up to four are full; more are a
/// batch, of 100 at most. What the audit rejects is not queued (exit code 1); concerns stop nothing. Where two issues
/// make or delete what both touch, somebody has to say which comes first (exit code 3).
#[derive(Clone, Debug, clap::Args)]
pub struct FormArgs {
    /// The issues (default: all that are planned)
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// How much is asked before they are queued
    #[arg(long, value_name = "MODE", value_parser = clap::builder::PossibleValuesParser::new(Mode::WORDS))]
    mode: Option<String>,
    /// Print what the queue would be, and change nothing
    #[arg(long)]
    dry_run: bool,
}

fn form(args: &FormArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let request = Request {
        issues: args.ids.clone(),
        mode: args.mode.as_deref().map(str::parse).transpose()?,
    };
    if args.dry_run {
        let (formed, names) = flow::preview(ctx, &request)?;
        lines(&formed, &names, ui);
        let mut body = json!(formed);
        body["dry_run"] = json!(true);
        ui.json("issue queue form", &body);
        return Ok(Exit::Done);
    }
    let written = flow::form(ctx, &request)?;
    let formed = &written.value;
    lines(formed, &written.names, ui);
    let skipped = match formed.skipped.len() {
        0 => String::new(),
        count => format!(", {count} in it already"),
    };
    let next = Some(command!("issue queue next"));
    let what = format!("queued, {}{skipped}", formed.mode);
    say(ui, &written, &what, next, json!(formed), "issue queue form");
    Ok(Exit::Done)
}

fn lines(formed: &Formed, names: &Names, ui: &mut Ui) {
    for review in &formed.reviews {
        review_lines(review, ui);
    }
    for (at, group) in formed.queue.groups.iter().enumerate() {
        let ids: Vec<&str> = group.iter().map(|id| names.short(id)).collect();
        ui.out(format!("group {}  {}", at + 1, ids.join(" ")));
    }
    after(&formed.queue, names, ui);
}

/// Prints the conflicts below the groups.
fn after(queue: &Queue, names: &Names, ui: &mut Ui) {
    for conflict in &queue.conflicts {
        conflict_line(conflict, names, ui);
    }
}

fn conflict_line(conflict: &Conflict, names: &Names, ui: &mut Ui) {
    let [one, other] = &conflict.issues;
    let how = if conflict.tried { ", tried" } else { "" };
    let role = match conflict.resolution {
        Resolution::Unresolved => style::BAD,
        Resolution::Sequential | Resolution::Merge => style::DIM,
    };
    let word = ui.paint(role, conflict.resolution.as_str());
    ui.out(format!(
        "{word}{how}  {} {}: {}",
        names.short(one),
        names.short(other),
        line(&conflict.files.join(", "))
    ));
}

/// Show the queue: groups that can run side by side, one behind the other
///
/// Computed each time from the issues, from the files that their solutions name and their branches changed, and from
/// trial merges of branches that touch the same files.
#[derive(Clone, Debug, clap::Args)]
pub struct ShowArgs {}

fn show(_: &ShowArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let view = flow::show(ctx)?;
    let QueueView {
        queue,
        issues,
        names,
        ..
    } = &view;
    for (at, group) in queue.groups.iter().enumerate() {
        ui.out(format!("group {}", at + 1));
        rows(&view, group, ui);
    }
    if !queue.held.is_empty() {
        ui.out("held");
        rows(&view, &queue.held, ui);
    }
    after(queue, names, ui);
    let next = match (issues.is_empty(), view.planned) {
        (false, _) if view.waits_for_retry() => command!("issue queue retry"),
        (false, _) if view.can_go_on => command!("issue queue next"),
        // Somebody is at what comes next, or it waits.
        (false, _) => match first(queue).and_then(|id| issues.get(id)) {
            Some(row) => command!("issue show {}", row.short),
            None => command!("issue list"),
        },
        (true, 0) => command!("issue list"),
        (true, _) => command!("issue queue form"),
    };
    if issues.is_empty() {
        ui.status("the queue is empty");
    }
    ui.hint(&next);
    let mut body = json!(view);
    body["next_action"] = json!(next);
    ui.json("issue queue show", &body);
    Ok(Exit::Done)
}

/// The issue that comes first in the order of the queue.
fn first(queue: &Queue) -> Option<&IssueId> {
    queue.groups.iter().flatten().chain(&queue.held).next()
}

fn rows(view: &QueueView, ids: &[IssueId], ui: &mut Ui) {
    for row in ids.iter().filter_map(|id| view.issues.get(id)) {
        row_lines(ui, &view.names, row);
    }
}

/// Take the next issue of the queue, and print it
///
/// Chosen and claimed in one step, as `issue take` does: two callers never get one issue, and nobody gets one that
/// touches what somebody else is at. An issue whose lease has ended comes again.
#[derive(Clone, Debug, clap::Args)]
pub struct NextArgs {
    /// Only an issue with this label; repeat it
    #[arg(short, long = "label", value_name = "LABEL")]
    labels: Vec<String>,
    /// Claim it on the remote first: one commit, pushed alone (loopx.claim=remote: always)
    #[arg(long)]
    remote: bool,
}

fn next(args: NextArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let request = TakeRequest {
        labels: args.labels,
        queue: true,
        remote: args.remote,
        ..TakeRequest::default()
    };
    super::claim::taken(ctx, &request, "issue queue next", ui)
}

/// Say that work on issues failed: they are given back, and come again when somebody says so
#[derive(Clone, Debug, clap::Args)]
pub struct FailArgs {
    /// The issues
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    /// What went wrong: whoever begins again is told
    #[arg(long, value_parser = crate::cmd::reason, value_name = "TEXT")]
    reason: Option<String>,
}

fn fail(args: &FailArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let written = failure::fail(ctx, &args.ids, args.reason.as_ref())?;
    let ids: Vec<&str> = written
        .ids
        .iter()
        .map(|id| written.names.short(id))
        .collect();
    let next = command!("issue queue retry {}", ids.join(" "));
    moved(ui, &written, "failed", next, "issue queue fail");
    Ok(Exit::Done)
}

/// Let issues that failed be tried again
#[derive(Clone, Debug, clap::Args)]
pub struct RetryArgs {
    /// The issues (default: all of the queue that failed)
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// Why, for the record
    #[arg(long, value_parser = crate::cmd::reason, value_name = "TEXT")]
    reason: Option<String>,
}

fn retry(args: &RetryArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let written = failure::retry(ctx, &args.ids, args.reason.as_ref())?;
    let next = command!("issue queue next");
    moved(ui, &written, "is tried again", next, "issue queue retry");
    Ok(Exit::Done)
}

fn moved(ui: &mut Ui, written: &Written<failure::Moved>, what: &str, next: Hint, verb: &str) {
    say(ui, written, what, Some(next), json!({}), verb);
}
