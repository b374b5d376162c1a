//! `status`: a picture of where the session stands, what each file lacks, and the command that leads on.

mod chain;
mod rows;

use crate::cli::Exit;
use crate::flow::view::Status;
use crate::flow::{Context, view};
use crate::ui::{Ui, clean, layout, line, style};
use loopx_base::age::age;
use loopx_base::failure::Result;
use loopx_rules::lease::seconds_of;
use loopx_rules::session::Ending;

pub(crate) fn status(ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let status = view::status(ctx)?;
    ui.json("status", &status);
    if ui.is_json() {
        return Ok(Exit::Done);
    }
    for warning in &status.warnings {
        ui.warn(line(warning));
    }
    let now = ctx.now();
    for one in &status.bypassed {
        ui.warn(one.words());
    }
    head(&status, now, ui);
    ui.out("");
    stages(&status, ui);
    let rows = rows::of(&status, ui);
    if !rows.is_empty() {
        ui.out("");
        table(&rows, ui);
    }
    if let Some(moved) = &status.policy_moved {
        let code = ui.code(style::WARN, "policy_moved");
        ui.out("");
        ui.fold_out(format!("{code}{}", line(&moved.message())), 2);
        super::blocker_lines(ui, &moved.missing);
        let is_said = moved
            .missing
            .last()
            .is_some_and(|one| one.help == moved.help);
        if !is_said {
            ui.out(format!("        {}", clean(&ui.command(&moved.help))));
        }
    }
    if let Some(moved) = &status.rules_moved {
        let code = ui.code(style::WARN, "rules_moved");
        ui.out("");
        ui.fold_out(format!("{code}{}", line(&moved.message())), 2);
        ui.out(format!("        {}", clean(&ui.command(&moved.help))));
    }
    if ui.is_verbose() {
        chain::all(&status, ui);
    }
    ui.out("");
    ui.next(&status.advised);
    Ok(Exit::Done)
}

/// Prints which session this is: its title, profile, branch and age.
fn head(status: &Status, now: i64, ui: &mut Ui) {
    let id = status.session.as_str();
    let title = line(&status.title);
    let branch = match &status.branch {
        Some(branch) => format!("branch {}", line(branch)),
        None => "no branch".to_owned(),
    };
    let base = match &status.base {
        Some(base) => format!("from {}", base.short()),
        None => "before any commit".to_owned(),
    };
    let since = seconds_of(&status.started).map(|then| age(now, then));
    let old = since.map_or_else(String::new, |age| match age.as_str() {
        "moments" => ", new".to_owned(),
        age => format!(", {age} old"),
    });
    let facts = format!("{}, {branch}, {base}{old}", status.profile);
    let left = format!("{id}  {title}");
    let columns = layout::columns();
    let painted = ui.paint(style::HEAD, id);
    let space = columns.saturating_sub(layout::width(&left) + layout::width(&facts));
    if space >= 2 {
        ui.out(format!("{painted}  {title}{}{facts}", " ".repeat(space)));
        return;
    }
    let room = columns.saturating_sub(layout::width(id) + 2);
    if layout::width(&title) <= room {
        ui.out(format!("{painted}  {title}"));
    } else {
        ui.out(painted);
        layout::wrap(&title, columns)
            .iter()
            .for_each(|text| ui.out(text));
    }
    layout::wrap(&facts, columns)
        .iter()
        .for_each(|text| ui.out(text));
}

/// The stages as a line, with marks that need neither colour nor more than the locale takes.
fn stages(status: &Status, ui: &mut Ui) {
    let (done, here, ahead, between) = if layout::is_utf8() {
        ("✓", "●", "○", " ── ")
    } else {
        ("[x]", "[*]", "[ ]", " -- ")
    };
    let is_archived = matches!(status.ending, Some(Ending::Archived { .. }));
    let at = status
        .stages
        .iter()
        .position(|stage| *stage == status.stage);
    let parts: Vec<(String, String)> = status
        .stages
        .iter()
        .enumerate()
        .map(|(n, stage)| {
            let (mark, role) = match Some(n).cmp(&at) {
                _ if is_archived => (done, style::GOOD),
                std::cmp::Ordering::Less => (done, style::GOOD),
                std::cmp::Ordering::Equal => (here, style::HEAD),
                std::cmp::Ordering::Greater => (ahead, style::DIM),
            };
            let text = format!("{mark} {stage}");
            let painted = ui.paint(role, &text);
            (text, painted)
        })
        .collect();
    let columns = layout::columns();
    let mut out = "  ".to_owned();
    let mut taken = 2;
    for (n, (text, painted)) in parts.iter().enumerate() {
        let wide = layout::width(text) + if n > 0 { layout::width(between) } else { 0 };
        if n > 0 && taken + wide > columns {
            ui.out(std::mem::replace(&mut out, "  ".to_owned()));
            taken = 2 + layout::width(text);
            out.push_str(painted);
            continue;
        }
        taken += wide;
        if n > 0 {
            out.push_str(between);
        }
        out.push_str(painted);
    }
    ui.out(out);
}

/// Labels in a column, and what is said of each beside it, or below it where there is no room.
fn table(rows: &[rows::Row], ui: &mut Ui) {
    let columns = layout::columns();
    let labels = rows.iter().map(|row| layout::width(&row.label));
    let widest = labels.max().unwrap_or(0);
    let beside = columns.saturating_sub(widest + 4);
    let is_wide = beside >= 24;
    for row in rows {
        let (first, room) = if is_wide {
            (format!("  {}  ", layout::pad(&row.label, widest)), beside)
        } else {
            if !row.label.is_empty() {
                ui.out(format!("  {}", row.label));
            }
            ("    ".to_owned(), columns.saturating_sub(4))
        };
        let indent = " ".repeat(layout::width(&first));
        for (n, text) in layout::wrap(&row.text, room).iter().enumerate() {
            let text = match row.role {
                Some(role) => ui.paint(role, text),
                None => text.clone(),
            };
            let begin = if n == 0 { &first } else { &indent };
            ui.out(format!("{begin}{text}"));
        }
    }
}
