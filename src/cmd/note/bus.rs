//! `note status`, `note get`, `note promote` and `note import`.

use super::{NoteCommand, listing, place};
use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::note::promote;
use crate::flow::note::promote::Request;
use crate::flow::note::{Home, Where, bus as flow, import as importing};
use crate::ui::{Ui, clean, diff, line, style};
use loopx_base::counted;
use loopx_base::failure::Result;
use loopx_base::hint::{Hint, command, hint};
use loopx_rules::note::Promotion;
use loopx_rules::note::bus::Keyed;
use serde_json::json;
use std::path::Path;

pub(super) fn status(at: &Where, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let status = flow::status(ctx, at)?;
    let home = place(&status.home, ui);
    if status.roles.is_empty() {
        ui.status(format!(
            "{home}: no role wrote a message; {}",
            counted(status.notes, "note")
        ));
        ui.hint(at.command("\"WHAT IS SO\"", " --type progress --from ROLE"));
    }
    for role in &status.roles {
        let last = &role.last;
        let what = last.sort.as_deref().unwrap_or(last.kind);
        ui.out(format!(
            "{} {}  {}  {}",
            ui.paint(style::NAME, &line(&role.role)),
            counted(role.count, "note"),
            line(what),
            ui.when(&last.at)
        ));
        ui.out(format!("    {}", line(last.text.trim())));
        for (key, value) in &role.state {
            ui.out(format!("    {} = {}", line(key), line(&value.to_string())));
        }
    }
    for one in &status.values {
        apart(&status.home, one, ui);
    }
    ui.json(
        "note status",
        &json!({
            "session": status.home.session(), "issue": status.home.issue(), "notes": status.notes,
            "roles": status.roles, "values": status.values,
        }),
    );
    Ok(Exit::Done)
}

pub(super) fn get(key: Option<&str>, at: &Where, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let (home, values) = flow::get(ctx, at, key)?;
    for one in &values {
        match key {
            Some(_) => {
                if let Some(value) = &one.value {
                    ui.out(clean(value));
                }
            }
            None => {
                let value = one.value.as_deref().map_or("(not set)".to_owned(), line);
                let name = ui.paint(style::NAME, &line(&one.key));
                ui.out(format!("{name} = {value}  ({})", line(&one.owner)));
            }
        }
        apart(&home, one, ui);
    }
    if values.is_empty() {
        ui.status(format!("{}: no keys", place(&home, ui)));
        ui.hint(listing(&home, "set ROLE:NAME VALUE"));
    }
    ui.json(
        "note get",
        &json!({ "session": home.session(), "issue": home.issue(), "values": values }),
    );
    Ok(Exit::Done)
}

/// Says what was set apart and does not stand.
fn apart(home: &Home, one: &Keyed, ui: &mut Ui) {
    let key = line(&one.key);
    for other in &one.apart {
        ui.warn(format!(
            "{key}: in another clone {} set it to {}; the later value counts",
            line(&other.role),
            line(&other.value)
        ));
    }
    for other in &one.refused {
        ui.warn(format!(
            "{key}: in another clone {} set it to {}, which does not count: the key belongs to {}",
            line(&other.role),
            line(&other.value),
            line(&one.owner)
        ));
    }
    if !one.apart.is_empty() || !one.refused.is_empty() {
        let again = format!("set {key} VALUE --from {}", one.owner);
        ui.hint(listing(home, &again));
    }
}

pub(super) fn promote(command: NoteCommand, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let NoteCommand::Promote {
        note,
        to,
        title,
        category,
        kind,
        dry_run,
        place,
    } = command
    else {
        return Ok(Exit::Done);
    };
    let into: Promotion = to.parse()?;
    let request = Request {
        note: &note,
        into,
        title: title.as_deref(),
        category: category.as_deref(),
        kind: kind.as_deref().map(str::parse).transpose()?,
        dry_run,
    };
    let made = promote::promote(ctx, &place.place(), request)?;
    let next = match into {
        _ if dry_run => None,
        Promotion::Rule => Some(Hint::commit([made.path.as_str()], "Add a rule")),
        Promotion::Adr => Some(hint![
            "edit it, then: ",
            command!("adr promote {}", made.path)
        ]),
    };
    if dry_run {
        let text = diff::unified(&made.path, &made.before, &made.after, ui.color());
        ui.raw_text(&text);
    } else {
        ui.status(format!("wrote {}", clean(&made.path)))
    }
    if let Some(next) = &next {
        ui.hint(next);
    }
    let noted = made.noted.as_ref();
    ui.json(
        "note promote",
        &json!({
            "dry_run": dry_run, "into": into, "path": made.path,
            "op": noted.map(|noted| &noted.op), "commit": noted.map(|noted| &noted.commit), "next_action": next,
        }),
    );
    Ok(Exit::Done)
}

pub(super) fn import(
    path: &Path,
    dry_run: bool,
    at: &Where,
    ctx: &Context,
    ui: &mut Ui,
) -> Result<Exit> {
    let report = importing::import(ctx, at, path, dry_run)?;
    for (file, count) in &report.files {
        ui.status(format!("{}: {}", line(file), counted(*count, "note")));
    }
    let verb = if dry_run { "would be new" } else { "new" };
    let home = place(&report.home, ui);
    ui.status(format!(
        "{home}: {} {verb}, {} known already",
        report.new, report.known
    ));
    let next = listing(&report.home, "list");
    ui.hint(&next);
    let files = report.files.iter();
    let files: Vec<_> = files
        .map(|(path, notes)| json!({ "path": path, "notes": notes }))
        .collect();
    ui.json(
        "note import",
        &json!({
            "dry_run": dry_run, "session": report.home.session(), "files": files, "new": report.new,
            "known": report.known, "commit": report.commit, "next_action": next,
        }),
    );
    Ok(Exit::Done)
}
