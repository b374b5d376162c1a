//! `roadmap list`, `show` and `check`.

use crate::cli::Exit;
use crate::cmd::issue::row_lines;
use crate::flow::Context;
use crate::flow::issue::roadmap as flow;
use crate::flow::issue::roadmap::View;
use crate::ui::{Ui, line, style};
use loopx_base::counted;
use loopx_base::failure::Result;
use loopx_base::findings::Severity;
use loopx_base::hint::{Hint, command};
use loopx_rules::roadmap::Status;
use serde_json::json;

/// List the roadmaps, the open ones first
#[derive(Clone, Debug, clap::Args)]
pub struct ListArgs {}

/// Show a roadmap: how far it is, its milestones, its phases and its waves
#[derive(Clone, Debug, clap::Args)]
pub struct ShowArgs {
    /// The roadmap (default: the only open one)
    #[arg(value_name = "ID")]
    roadmap: Option<String>,
    /// Only the next wave: the first in which something is left
    #[arg(long)]
    next: bool,
}

/// Find what is wrong with a roadmap: issues of no wave or of two, cycles, an order that does not hold, files that overlap
#[derive(Clone, Debug, clap::Args)]
pub struct CheckArgs {
    /// The roadmap (default: the only open one)
    #[arg(value_name = "ID")]
    roadmap: Option<String>,
    /// Warnings count as errors
    #[arg(long)]
    strict: bool,
}

pub(super) fn list(ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let found = flow::list(ctx)?;
    for one in &found {
        let name = ui.paint(style::NAME, &one.short);
        let ended = if one.ended { ", ended" } else { "" };
        let mode = one.mode.map(|mode| format!(", {mode}"));
        ui.out(format!(
            "{name}  {}  {}{}, {}{ended}",
            line(&one.title),
            one.status,
            mode.unwrap_or_default(),
            progress(one.done, one.closed, one.issues)
        ));
    }
    let next = match found.iter().find(|one| !one.ended) {
        Some(one) => command!("roadmap show {}", one.short),
        None => {
            ui.status("no open roadmap");
            command!("roadmap new \"Notes that sync\" --mode direct")
        }
    };
    ui.hint(&next);
    ui.json(
        "roadmap list",
        &json!({ "roadmaps": found, "next_action": next }),
    );
    Ok(Exit::Done)
}

pub(super) fn show(args: &ShowArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let mut view = flow::view(ctx, args.roadmap.as_deref())?;
    if args.next {
        view.waves.retain(|wave| Some(wave.wave) == view.next_wave);
    }
    let next = next(&view);
    print(&view, args.next, ui);
    if let Some(next) = &next {
        ui.hint(next);
    }
    let mut body = json!(view);
    body["next_action"] = json!(next);
    ui.json("roadmap show", &body);
    Ok(Exit::Done)
}

fn next(view: &View) -> Option<Hint> {
    let short = &view.short;
    if view.errors > 0 {
        return Some(command!("roadmap check {short}"));
    }
    if view.standing.status != Status::Ready {
        return Some(command!("roadmap feedback approve --roadmap {short}"));
    }
    let waves = view
        .waves
        .iter()
        .filter(|wave| Some(wave.wave) == view.next_wave);
    let ready = waves.flat_map(|wave| &wave.issues).find(|row| row.ready);
    match ready {
        Some(row) => Some(command!("issue take {}", row.short)),
        None => (view.done + view.closed == view.issues)
            .then(|| command!("issue resolve {short} --reason \"all of it is done\"")),
    }
}

fn print(view: &View, only_next: bool, ui: &mut Ui) {
    if !only_next {
        head(view, ui);
    }
    for wave in &view.waves {
        let mark = if Some(wave.wave) == view.next_wave {
            ", next"
        } else {
            ""
        };
        let name = wave.name.as_ref().map(|name| format!(" {}", line(name)));
        ui.out(format!(
            "wave {}{}  {}{mark}",
            wave.wave,
            name.unwrap_or_default(),
            progress(wave.done, wave.closed, wave.issues.len())
        ));
        for row in &wave.issues {
            row_lines(ui, &view.names, row);
        }
        if wave.groups.len() > 1 {
            let groups = wave.groups.iter().map(|group| {
                let ids: Vec<&str> = group.iter().map(|id| view.names.short(id)).collect();
                ids.join(" + ")
            });
            let groups: Vec<String> = groups.collect();
            ui.out(format!(
                "          side by side: {}",
                groups.join(", then ")
            ));
        }
    }
    if !only_next && !view.loose.is_empty() {
        ui.out("in no wave, or in two");
        for row in &view.loose {
            row_lines(ui, &view.names, row);
        }
    }
    if only_next && view.next_wave.is_none() {
        ui.status("nothing is left in any wave");
    }
    if view.errors + view.warnings > 0 {
        ui.status(format!(
            "{}, {}",
            counted(view.errors, "error"),
            counted(view.warnings, "warning")
        ));
    }
}

fn head(view: &View, ui: &mut Ui) {
    let name = ui.paint(style::NAME, &view.short);
    let mode = view.mode.map(|mode| format!(", {mode}"));
    let beside = if view.standing.forced {
        " (no round is left)"
    } else if view.standing.changed {
        " (it was changed since it was approved)"
    } else {
        ""
    };
    ui.out(format!("{name}  {}", line(&view.title)));
    let rounds = view.standing.rounds_in_words();
    ui.out(format!(
        "{}{beside}{}, {}{}",
        view.standing.status,
        mode.unwrap_or_default(),
        progress(view.done, view.closed, view.issues),
        rounds.map_or_else(String::new, |rounds| format!(", {rounds}"))
    ));
    for one in &view.milestones {
        ui.out(format!(
            "milestone {}  {}",
            line(&titled(&one.name, &one.title)),
            progress(one.done, one.closed, one.issues)
        ));
    }
    for one in &view.phases {
        let of = one
            .milestone
            .as_ref()
            .map(|name| format!(" of {}", line(name)));
        ui.out(format!(
            "phase {}{}  {}",
            line(&titled(&one.name, &one.title)),
            of.unwrap_or_default(),
            progress(one.done, one.closed, one.issues)
        ));
    }
}

fn progress(done: usize, closed: usize, issues: usize) -> String {
    match closed {
        0 => format!("{done}/{issues} done"),
        _ => format!("{done}/{issues} done, {closed} closed"),
    }
}

fn titled(name: &str, title: &str) -> String {
    if title.is_empty() {
        return name.to_owned();
    }
    format!("{name} {title}")
}

pub(super) fn check(args: &CheckArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let checked = flow::check(ctx, args.roadmap.as_deref())?;
    let count = |severity| {
        checked
            .findings
            .iter()
            .filter(|one| one.severity == severity)
            .count()
    };
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    let told: Vec<_> = (checked.findings.iter())
        .filter(|one| one.severity > Severity::Info || ui.is_verbose())
        .cloned()
        .collect();
    for one in &told {
        let (role, word) = match one.severity {
            Severity::Error => (style::BAD, "error"),
            Severity::Warning => (style::WARN, "warning"),
            Severity::Info => (style::DIM, "info"),
        };
        let word = ui.paint(role, word);
        ui.out(format!(
            "{}: {word} {}: {}",
            line(&one.file),
            one.id,
            line(&one.message)
        ));
        ui.out(format!("    {}", one.fix));
    }
    ui.status(format!(
        "{}: {}, {}, {}",
        checked.short,
        counted(checked.issues, "issue"),
        counted(errors, "error"),
        counted(warnings, "warning")
    ));
    let valid = errors == 0 && (warnings == 0 || !args.strict);
    ui.json(
        "roadmap check",
        &json!({ "roadmap": checked.roadmap, "issues": checked.issues, "valid": valid, "findings": checked.findings }),
    );
    Ok(if valid { Exit::Done } else { Exit::Blocked })
}
