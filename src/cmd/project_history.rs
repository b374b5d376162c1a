//! `history`: what was done in the project.

use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::project_history as flow;
use crate::flow::project_history::{By, Entry, Filter, Group, History};
use crate::ui::{Ui, layout, line, style};
use loopx_base::counted;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_base::id::SessionId;
use loopx_rules::change_kind::ChangeKind;
use serde_json::json;
use std::collections::HashMap;

/// Show what was done in the project: the archived sessions, by month, domain, file, person or kind
///
/// It is read out of the archives and the code each time, and never stored. The kind of a change follows from the words
/// of its title: bugfix, refactor, docs, feature, or enhancement where they say none of these.
#[derive(clap::Args, Clone, Debug)]
pub struct HistoryArgs {
    /// Only sessions whose id or title contains this
    text: Option<String>,
    /// The grouping of the list
    #[arg(long, value_name = "WHAT", default_value = "month", value_parser = clap::builder::PossibleValuesParser::new(By::WORDS))]
    by: String,
    /// Only sessions that changed this spec domain
    #[arg(long, value_name = "DOMAIN")]
    domain: Option<String>,
    /// Only sessions that changed this file, or a file in this folder
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// Only sessions that this person began, built or reviewed: a part of the name or the address
    #[arg(long, value_name = "PERSON")]
    person: Option<String>,
    /// Only sessions of this month, as 2026-01, or of a year, as 2026
    #[arg(long, value_name = "MONTH")]
    month: Option<String>,
    /// Only sessions of this kind
    #[arg(long, value_name = "KIND", value_parser = clap::builder::PossibleValuesParser::new(ChangeKind::WORDS))]
    kind: Option<String>,
}

pub(crate) fn history(args: HistoryArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let by: By = args.by.parse()?;
    if let Some(month) = &args.month {
        require_month(month)?;
    }
    let filter = Filter {
        text: args.text,
        domain: args.domain,
        path: args
            .path
            .map(|typed| crate::flow::rules::typed_path(ctx, &typed)),
        person: args.person,
        month: args.month,
        kind: args.kind.as_deref().map(str::parse).transpose()?,
    };
    let found = flow::history(ctx, by, &filter)?;
    let damaged = found.damaged.iter();
    let damaged: Vec<_> = damaged
        .map(|(session, why)| json!({ "session": session, "why": why }))
        .collect();
    ui.json(
        "history",
        &json!({
            "by": by, "groups": found.groups, "sessions": found.sessions, "left_out": found.left_out,
            "damaged": damaged,
        }),
    );
    if !ui.is_json() {
        print(by, &found, ui);
    }
    for (id, why) in &found.damaged {
        ui.warn(format!("session {} is left out: {}", line(id), line(why)));
    }
    Ok(Exit::Done)
}

/// Refuses what is no month and no year: nothing would be found, and nobody would know why.
fn require_month(typed: &str) -> Result<()> {
    let is_digits = |text: &str, count: usize| {
        text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    let is_one = match typed.split_once('-') {
        None => is_digits(typed, 4),
        Some((year, month)) => is_digits(year, 4) && is_digits(month, 2),
    };
    if is_one {
        Ok(())
    } else {
        Err(Failure::usage(
            Code::DateInvalid,
            format!("expected a month like 2026-01, or a year, found `{typed}`"),
        )
        .help(command!("history --month 2026-01")))
    }
}

fn print(by: By, found: &History, ui: &mut Ui) {
    if found.sessions.is_empty() {
        ui.status(match found.left_out {
            0 => "nothing was archived yet".to_owned(),
            count => format!("none of {} matches", counted(count, "session")),
        });
        return;
    }
    let entries = found.sessions.iter();
    let entries: HashMap<&SessionId, &Entry> = entries.map(|one| (&one.session, one)).collect();
    let names = found.sessions.iter();
    let names = names.map(|one| layout::width(one.session.as_str()));
    let widest = names.max().unwrap_or(0);
    for (nth, group) in found.groups.iter().enumerate() {
        if nth > 0 {
            ui.out("");
        }
        head(by, group, ui);
        for id in &group.sessions {
            if let Some(entry) = entries.get(id) {
                row(by, entry, widest, ui);
            }
        }
    }
    let unread = found.sessions.iter().filter(|one| one.files.is_none());
    let unread = unread.count();
    if unread > 0 && matches!(by, By::File | By::Domain) {
        let count = counted(unread, "session");
        ui.status(format!("this clone does not have the code of {count}"));
    }
}

fn head(by: By, group: &Group, ui: &mut Ui) {
    let name = match (&group.name, by) {
        (Some(name), _) => line(name),
        (None, by) => format!("no {by}"),
    };
    let name = ui.paint(style::HEAD, &name);
    ui.out(format!(
        "{name}  {}",
        counted(group.sessions.len(), "session")
    ));
}

fn row(by: By, entry: &Entry, widest: usize, ui: &mut Ui) {
    let id = layout::pad(entry.session.as_str(), widest);
    let id = ui.paint(style::NAME, &id);
    let kind = format!("{:<11}", entry.kind);
    let mut said = Vec::new();
    if by != By::Month {
        said.push(entry.month.clone());
    }
    if by != By::Person {
        said.extend(entry.people.iter().map(|one| line(&one.name)));
    }
    if by != By::Domain {
        said.extend(entry.domains.iter().map(|one| line(one)));
    }
    if entry.imported {
        said.push("imported".to_owned());
    }
    if let Some(back) = &entry.taken_back {
        said.push(format!("taken back on {}", line(&back.target)));
    }
    let said = ui.paint(style::DIM, &format!("({})", said.join(", ")));
    ui.out(format!("  {id}  {kind}  {}  {said}", line(&entry.title)));
}
