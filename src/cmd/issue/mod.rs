//! `issue`: one file per group of words. No rule lives here.

pub(crate) mod board;
pub(crate) mod claim;
pub(crate) mod create;
pub(crate) mod diff;
pub(crate) mod duplicates;
pub(crate) mod edit;
pub(crate) mod end;
pub(crate) mod export;
pub(crate) mod graph;
pub(crate) mod import;
pub(crate) mod list;
pub(crate) mod log;
pub(crate) mod queue;
pub(crate) mod report;
mod scope;
pub(crate) mod show;
pub(crate) mod solution;
pub(crate) mod stats;

use crate::cli::{Exit, IssueCommand};
use crate::flow::Context;
use crate::flow::issue::sessions::ToResolve;
use crate::flow::issue::view::Row;
use crate::flow::issue::{Names, Written};
use crate::ui::{Ui, line, style};
use loopx_base::failure::Result;
use loopx_base::hint::Hint;
use loopx_base::id::{Oid, SessionId};
use loopx_rules::issue::needs::Lack;
use loopx_rules::issue::{IssueId, Status};
use serde_json::{Value, json};

pub(crate) fn run(command: IssueCommand, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    match command {
        IssueCommand::Create(args) => create::run(*args, ctx, ui),
        IssueCommand::List(args) => list::run(*args, ctx, ui),
        IssueCommand::Ready(args) => list::ready(args, ctx, ui),
        IssueCommand::Show(args) => show::run(&args, ctx, ui),
        IssueCommand::Edit(args) => edit::run(*args, ctx, ui),
        IssueCommand::Link(args) => edit::link(&args, true, ctx, ui),
        IssueCommand::Unlink(args) => edit::link(&args, false, ctx, ui),
        IssueCommand::Tick(args) => edit::tick(&args, true, ctx, ui),
        IssueCommand::Untick(args) => edit::tick(&args, false, ctx, ui),
        IssueCommand::Comment(args) => edit::comment(&args, ctx, ui),
        IssueCommand::Take(args) => claim::take(args, ctx, ui),
        IssueCommand::Release(args) => claim::release(&args, ctx, ui),
        IssueCommand::Resolve(args) => end::resolve(&args, ctx, ui),
        IssueCommand::Close(args) => end::close(&args, ctx, ui),
        IssueCommand::Reopen(args) => end::reopen(&args, ctx, ui),
        IssueCommand::Undo(args) => end::undo(&args, ctx, ui),
        IssueCommand::Redo(args) => end::redo(&args, ctx, ui),
        IssueCommand::Board(args) => board::run(args, ctx, ui),
        IssueCommand::Stats(args) => stats::run(args, ctx, ui),
        IssueCommand::Report(args) => report::run(*args, ctx, ui),
        IssueCommand::Graph(args) => graph::run(&args, ctx, ui),
        IssueCommand::Log(args) => log::run(&args, ctx, ui),
        IssueCommand::Diff(args) => diff::run(args, ctx, ui),
        IssueCommand::Duplicates(args) => duplicates::run(&args, ctx, ui),
        IssueCommand::Export(args) => export::run(&args, ctx, ui),
        IssueCommand::Import(args) => import::run(args, ctx, ui),
        IssueCommand::Solution(command) => solution::run(command, ctx, ui),
        IssueCommand::Queue(command) => queue::run(command, ctx, ui),
    }
}

/// Status of an issue, as a word of a fixed width.
fn status_word(ui: &Ui, row: &Row<'_>) -> String {
    let (role, word) = match row.issue.status {
        Status::Resolved => (style::GOOD, "resolved"),
        Status::Closed => (style::DIM, "closed"),
        Status::InProgress => (style::WARN, "taken"),
        _ if row.issue.running.is_some() => (style::WARN, "begun"),
        _ if row.issue.is_roadmap() => (style::DIM, "roadmap"),
        _ if !row.waits.is_empty() => (style::DIM, "waits"),
        _ if !row.lacks.is_empty() => (style::DIM, "lacks"),
        // What is said of a solution or of the queue means nothing without a solution.
        _ if row.issue.bound.is_none() => (style::GOOD, "ready"),
        Status::Open => (style::GOOD, "ready"),
        Status::Planned => (style::GOOD, "planned"),
        Status::Queued => (style::GOOD, "queued"),
    };
    ui.paint(role, &format!("{word:<8}"))
}

/// Prints an issue of a list, and below it what is to be known of the issue.
pub(crate) fn row_lines(ui: &mut Ui, names: &Names, row: &Row<'_>) {
    let issue = &row.issue;
    let word = status_word(ui, row);
    let short = format!("{:<width$}", row.short, width = names.width());
    let short = ui.paint(style::NAME, &short);
    let mut said = vec![format!("P{}", issue.priority)];
    if issue.kind != "task" {
        said.push(issue.kind.clone());
    }
    said.extend(issue.labels.iter().map(|label| format!("#{label}")));
    if !issue.criteria.is_empty() {
        said.push(format!("{}/{}", issue.ticked(), issue.criteria.len()));
    }
    if let Some(parts) = row.parts {
        said.push(format!("{}/{} parts", parts.done, parts.all));
    }
    let due = if row.overdue { "overdue since" } else { "due" };
    said.extend(issue.due.iter().map(|day| format!("{due} {day}")));
    said.extend(
        issue
            .milestone
            .iter()
            .map(|name| format!("for {}", line(name))),
    );
    said.extend(issue.assignee.iter().map(|name| format!("@{}", line(name))));
    let said: Vec<String> = said.iter().map(|one| line(one)).collect();
    let said = ui.paint(style::DIM, &said.join(" "));
    ui.out(format!("{word}  {short}  {}  {said}", line(&issue.title)));
    for more in remarks(names, row, ui) {
        ui.out(format!("          {}", line(&more)));
    }
}

/// Issues that wait for each other, in words.
fn waiting(cycle: &[IssueId], names: &Names) -> String {
    let names: Vec<&str> = cycle.iter().map(|id| names.short(id)).collect();
    format!("these wait for each other: {}", names.join(" -> "))
}

/// Remarks on an issue beside its fields.
fn remarks(names: &Names, row: &Row<'_>, ui: &Ui) -> Vec<String> {
    let mut said = Vec::new();
    let lacks: Vec<_> = row.lacks.iter().map(Lack::words).collect();
    if !lacks.is_empty() {
        said.push(format!("lacks {}", lacks.join(" and ")));
    }
    let running: Vec<&str> = row.issue.all_running().map(SessionId::as_str).collect();
    match (running.as_slice(), &row.holder) {
        ([], _) | ([_], Some(_)) => {}
        ([one], None) => said.push(format!("session {one} goes on for it")),
        (more, _) => said.push(format!("sessions {} go on for it", more.join(" and "))),
    }
    if let Some(holder) = &row.holder {
        let lasts = ui.lasting(holder.alive, &holder.until);
        said.push(format!("{}, {lasts}", holder.who));
    }
    if let Some(bound) = &row.issue.bound
        && !row.issue.status.is_final()
    {
        let files: Vec<&str> = bound.files.iter().map(|file| file.path.as_str()).collect();
        let files = if files.is_empty() {
            String::new()
        } else {
            format!(": {}", files.join(", "))
        };
        let failed = if bound.failed { "failed, " } else { "" };
        let tasks = if bound.tasks == 1 { "task" } else { "tasks" };
        said.push(format!(
            "{failed}{}, {} {tasks}{files}",
            bound.name, bound.tasks
        ));
    }
    let waits: Vec<String> = row
        .waits
        .iter()
        .map(|wait| wait.words(|id| names.short(id).to_owned()))
        .collect();
    if !waits.is_empty() {
        said.push(format!("waits for {}", waits.join(", ")));
    }
    for apart in &row.issue.apart {
        let values: Vec<String> = (apart.values.iter())
            .map(|one| {
                // A text of several lines is shown by itself.
                if apart.field == "description" {
                    return format!("{} by {}", one.op.short(), one.who());
                }
                let value: String = line(&one.value).chars().take(60).collect();
                format!("{value} ({})", one.who())
            })
            .collect();
        said.push(format!(
            "{} written apart: {}",
            apart.field,
            values.join(", ")
        ));
    }
    said.extend(row.issue.overruled.iter().map(|one| one.words()));
    if let (true, Some(reason)) = (row.issue.status.is_final(), &row.issue.reason) {
        said.push(reason.clone());
    }
    said
}

/// The issues that the archive of a session resolves, and what nobody ticked of them.
pub(crate) fn tell_resolved(issues: &[ToResolve], ui: &mut Ui) {
    for one in issues {
        let what = match one.status {
            Status::Resolved => "was resolved before",
            Status::Closed => "was closed, and stays so",
            _ => "is resolved by the archive",
        };
        let short = ui.paint(style::NAME, &one.short);
        ui.status(format!("  {short}  {}: {what}", line(&one.title)));
        for text in &one.unticked {
            ui.status(format!("      not ticked: {}", line(text)));
        }
    }
}

/// The titles or ids of what was written, and the document of it.
fn say<T>(
    ui: &mut Ui,
    written: &Written<T>,
    what: &str,
    next: Option<Hint>,
    mut body: Value,
    verb: &str,
) {
    let Written {
        ids, names, commit, ..
    } = written;
    match ids.as_slice() {
        [one] => {
            let id = ui.paint(style::NAME, names.short(one));
            ui.status(format!("{id}: {what}"));
        }
        more => ui.status(format!("{} issues: {what}", more.len())),
    }
    if let Some(next) = &next {
        ui.hint(next);
    }
    put(&mut body, ids, commit, next.as_ref());
    ui.json(verb, &body);
}

fn put(body: &mut Value, ids: &[IssueId], commit: &Oid, next: Option<&Hint>) {
    body["issues"] = json!(ids);
    body["commit"] = json!(commit);
    body["next_action"] = json!(next);
}
