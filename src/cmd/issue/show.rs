//! `issue show`.

use super::{remarks, status_word};
use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::issue::apart;
use crate::flow::issue::view;
use crate::flow::issue::view::{Row, Shown};
use crate::ui::diff::unified;
use crate::ui::{Ui, clean, line, style};
use loopx_base::failure::Result;
use loopx_base::hint::{Hint, command, hint};
use loopx_rules::issue::filter::duration;
use loopx_rules::issue::until;
use loopx_rules::issue::{IssueId, Status};
use serde_json::json;

/// Show everything of an issue
#[derive(Clone, Debug, clap::Args)]
pub struct ShowArgs {
    /// The issue
    id: String,
    /// As it was then: the number of an operation of its log, as @3, a day (its end), a time, `3d` or `last friday`, the id of an
    /// operation, or a commit of the branch of sessions
    #[arg(long, value_name = "WHEN")]
    at: Option<String>,
}

pub(crate) fn run(args: &ShowArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let shown = view::show(ctx, &args.id, args.at.as_deref())?;
    print(&shown, ui);
    if let Some(at) = &shown.at {
        ui.status(format!("as of {at}"));
    }
    let next = next(&shown).filter(|_| shown.at.is_none());
    if let Some(next) = &next {
        ui.hint(next);
    }
    let mut body = json!(shown);
    body["next_action"] = json!(next);
    ui.json("issue show", &body);
    Ok(Exit::Done)
}

/// The step that lies nearest.
fn next(shown: &Shown) -> Option<Hint> {
    let short = &shown.row.short;
    match shown.row.issue.status {
        _ if shown.row.waits.iter().any(|wait| wait.circle().is_some()) => {
            apart::settle_row(&shown.row, &shown.names)
        }
        _ if shown.row.issue.apart_in("status").is_some() => apart::settle(&shown.row.issue, short),
        Status::Resolved | Status::Closed => None,
        _ if shown.row.ready => Some(command!("issue take {short}")),
        _ if shown.go_on.is_some() => shown.go_on.clone(),
        _ if !shown.row.lacks.is_empty() => {
            let lack = shown.row.lacks.first();
            lack.and_then(|lack| lack.way(&shown.row.issue, short))
        }
        Status::InProgress if shown.row.waits.iter().any(|wait| wait.issue().is_some()) => {
            let other = shown.row.waits.iter().find_map(|wait| wait.issue());
            other.map(|other| {
                hint![
                    "it waits: ",
                    command!("issue show {}", shown.names.short(other))
                ]
            })
        }
        Status::InProgress => Some(match &shown.row.holder {
            Some(holder) if holder.alive && !holder.here => hint![
                "wait, or: ",
                command!("issue take {short} --take-over --reason WHY")
            ],
            _ => command!("start --issue {short}"),
        }),
        _ => None,
    }
}

/// An issue for people.
pub(super) fn print(shown: &Shown, ui: &mut Ui) {
    let row = &shown.row;
    let id = ui.paint(style::NAME, row.issue.id.as_str());
    ui.out(format!(
        "{}  {id}  {}",
        status_word(ui, row).trim_end(),
        line(&row.issue.title)
    ));
    for said in remarks(&shown.names, row, ui) {
        ui.out(format!("  {}", line(&said)));
    }
    for (name, value) in fields(row, ui) {
        ui.out(format!("  {name:<10} {}", line(&value)));
    }
    print_links(shown, ui);
    print_texts(shown, ui);
    print_apart(shown, ui);
    print_solutions(shown, ui);
    print_notes(shown, ui);
}

/// The fields that an issue has, in the order in which they are read.
fn fields(row: &Row<'_>, ui: &Ui) -> Vec<(&'static str, String)> {
    let issue = &row.issue;
    let parts = row
        .parts
        .map(|parts| format!("{}/{} done", parts.done, parts.all));
    let joined = |names: Vec<&str>| (!names.is_empty()).then(|| names.join(", "));
    let until: Vec<String> = issue.until.iter().map(until::text).collect();
    let labels = issue.labels.iter().map(String::as_str).collect();
    let sessions = issue.sessions.iter().map(|one| one.session.as_str());
    let source = issue.source.as_ref();
    let made = issue.made.as_ref().map(|made| match &made.at {
        Some(at) => format!("{} by {}", ui.when(at), made.by),
        None => format!("by {}", made.by),
    });
    let created = &issue.created;
    let fields = [
        ("kind", Some(issue.kind.clone())),
        ("priority", Some(issue.priority.to_string())),
        ("parts", parts),
        ("labels", joined(labels)),
        ("assignee", issue.assignee.clone()),
        ("milestone", issue.milestone.clone()),
        ("due", issue.due.clone()),
        ("not before", issue.defer.clone()),
        ("until", (!issue.until.is_empty()).then(|| until.join(", "))),
        ("estimate", issue.estimate.map(duration)),
        ("every", issue.repeat.as_ref().map(ToString::to_string)),
        ("from", source.map(ToString::to_string)),
        ("sessions", joined(sessions.collect())),
        ("place", issue.place.as_ref().map(ToString::to_string)),
        ("made", made),
        (
            "created",
            Some(format!("{} by {}", ui.when(&created.at), created.by.name)),
        ),
    ];
    let there = fields.into_iter();
    there
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
}

fn print_links(shown: &Shown, ui: &mut Ui) {
    for link in &shown.row.issue.links {
        ui.out(format!(
            "  {:<10} {}",
            link.kind.as_str(),
            other(shown, &link.to)
        ));
    }
    for one in &shown.named_by {
        ui.out(format!("  {:<10} {}", one.kind, other(shown, &one.issue)));
    }
}

/// The descriptions that people wrote apart, each as what it has otherwise than the one that is shown.
fn print_apart(shown: &Shown, ui: &mut Ui) {
    let apart = shown.row.issue.apart_in("description");
    let values = apart.map_or(&[][..], |apart| apart.values.as_slice());
    for other in values.iter().filter(|one| one.value != shown.description) {
        let name = format!("description of {}", other.op.short());
        let (ours, theirs) = (clean(&shown.description), clean(&other.value));
        ui.out("");
        ui.raw_text(&unified(&name, &ours, &theirs, ui.color()));
    }
}

/// Prints the texts that somebody wrote: the description, what an import kept, and the criteria.
fn print_texts(shown: &Shown, ui: &mut Ui) {
    if !shown.description.trim().is_empty() {
        ui.out("");
        for text in shown.description.trim_end().lines() {
            ui.out(format!("  {}", clean(text)));
        }
    }
    if !shown.kept.is_empty() {
        let names: Vec<&str> = shown.kept.keys().map(String::as_str).collect();
        ui.out("");
        ui.out(format!(
            "  kept: {} (--json has them)",
            line(&names.join(", "))
        ));
    }
    let criteria = &shown.row.issue.criteria;
    if !criteria.is_empty() {
        ui.out("");
    }
    for (at, one) in criteria.iter().enumerate() {
        let mark = if one.done { "x" } else { " " };
        ui.out(format!("  {:>2}. [{mark}] {}", at + 1, line(&one.text)));
    }
}

fn print_solutions(shown: &Shown, ui: &mut Ui) {
    let bound = shown.row.issue.bound.as_ref();
    for one in &shown.ways {
        ui.out("");
        let is_bound = bound.is_some_and(|bound| bound.solution == one.op);
        let word = match (is_bound, &one.rejected) {
            (true, _) => ", bound",
            (false, Some(_)) => ", rejected",
            (false, None) => "",
        };
        let first = one.proposal.approach.lines().next().unwrap_or_default();
        ui.out(format!(
            "  solution {}{word}  {}",
            line(&one.proposal.name),
            line(first)
        ));
    }
    for failed in &shown.failures {
        let why = failed.reason.as_deref().unwrap_or_default();
        ui.out(format!(
            "  failed {}  {}: {}",
            ui.when(&failed.at),
            line(&failed.by.name),
            line(why)
        ));
    }
}

fn print_notes(shown: &Shown, ui: &mut Ui) {
    for note in &shown.notes {
        ui.out("");
        let (by, at) = note.origin();
        let brought = match &note.first {
            Some(_) => format!("  (brought by {})", line(&note.by.name)),
            None => String::new(),
        };
        ui.out(format!(
            "  {} {}  {}{brought}",
            line(&note.kind),
            line(at),
            line(by)
        ));
        for text in note.text.trim_end().lines() {
            ui.out(format!("    {}", clean(text)));
        }
    }
}

/// Another issue, with its title where it is known.
fn other(shown: &Shown, id: &IssueId) -> String {
    let short = shown.names.short(id);
    match shown.titles.get(id) {
        Some((title, status)) => format!("{short}  {} ({status})", line(title)),
        None => format!("{id}  (not here)"),
    }
}
