//! `issue show`.

use super::{remarks, status_word};
use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::issue::view;
use crate::flow::issue::view::Shown;
use crate::ui::{Ui, clean, line, style};
use loopx_base::failure::Result;
use loopx_base::hint::{Hint, command, hint};
use loopx_rules::issue::filter::duration;
use loopx_rules::issue::{IssueId, Status};
use serde_json::json;

/// Show everything of an issue
#[derive(Clone, Debug, clap::Args)]
pub struct ShowArgs {
    /// The issue
    id: String,
}

pub(crate) fn run(args: &ShowArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let shown = view::show(ctx, &args.id)?;
    print(&shown, ui);
    let next = next(&shown);
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
        Status::Resolved | Status::Closed => None,
        _ if shown.row.issue.apart_in("status").is_some() => {
            Some(command!("issue edit {short} --status open"))
        }
        _ if shown.row.ready => Some(command!("issue take {short}")),
        _ if shown.row.issue.running.is_some() => {
            let session = shown.row.issue.running.as_ref();
            session.map(|session| command!("status").session(session))
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
    let issue = &row.issue;
    let id = ui.paint(style::NAME, issue.id.as_str());
    ui.out(format!(
        "{}  {id}  {}",
        status_word(ui, row).trim_end(),
        line(&issue.title)
    ));
    for said in remarks(&shown.names, row, ui) {
        ui.out(format!("  {}", line(&said)));
    }
    let mut fields = vec![
        ("kind", issue.kind.clone()),
        ("priority", issue.priority.to_string()),
    ];
    let mut put = |name: &'static str, value: Option<String>| {
        fields.extend(value.map(|value| (name, value)));
    };
    put(
        "labels",
        (!issue.labels.is_empty()).then(|| issue.labels.join(", ")),
    );
    put("assignee", issue.assignee.clone());
    put("milestone", issue.milestone.clone());
    put("due", issue.due.clone());
    put("not before", issue.defer.clone());
    put("estimate", issue.estimate.map(duration));
    put(
        "from",
        issue
            .source
            .as_ref()
            .map(|source| format!("{} {}", source.system, source.id)),
    );
    let sessions: Vec<&str> = issue
        .sessions
        .iter()
        .map(|one| one.session.as_str())
        .collect();
    put(
        "sessions",
        (!sessions.is_empty()).then(|| sessions.join(", ")),
    );
    put("place", issue.place.as_ref().map(ToString::to_string));
    put(
        "made",
        issue.made.as_ref().map(|made| match &made.at {
            Some(at) => format!("{} by {}", ui.when(at), made.by),
            None => format!("by {}", made.by),
        }),
    );
    put(
        "created",
        Some(format!(
            "{} by {}",
            ui.when(&issue.created.at),
            issue.created.by.name
        )),
    );
    for (name, value) in fields {
        ui.out(format!("  {name:<10} {}", line(&value)));
    }
    for link in &issue.links {
        ui.out(format!(
            "  {:<10} {}",
            link.kind.as_str(),
            other(shown, &link.to)
        ));
    }
    for one in &shown.named_by {
        ui.out(format!("  {:<10} {}", one.kind, other(shown, &one.issue)));
    }
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
    if !issue.criteria.is_empty() {
        ui.out("");
        for (at, one) in issue.criteria.iter().enumerate() {
            let mark = if one.done { "x" } else { " " };
            ui.out(format!("  {:>2}. [{mark}] {}", at + 1, line(&one.text)));
        }
    }
    for one in &shown.ways {
        ui.out("");
        let is_bound = (issue.bound.as_ref()).is_some_and(|bound| bound.solution == one.op);
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
