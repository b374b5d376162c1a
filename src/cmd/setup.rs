//! `git loopx setup`: what a person would otherwise do in twenty steps, each of them said.

use crate::cli::Exit;
use crate::core::failure::Result;
use crate::core::hint::command;
use crate::core::setup::attack::{Ending, Row};
use crate::flow::setup::check::check;
use crate::flow::setup::server::Server;
use crate::ui::{Ui, clean, style};
use serde_json::json;
use std::path::PathBuf;

#[derive(Debug, clap::Subcommand)]
pub enum SetupCommand {
    /// Let a bare repository judge each push, and prove that it does
    ///
    /// Writes hooks/pre-receive (a hook that is there is kept and runs first), sets
    /// receive.fsckObjects, and hides refs/replace and refs/loopx from pushes. Which branches may be
    /// deleted or forced is policy's to say (gates.protected), so git's own receive.deny* stay as they
    /// are. Run it as the user that receives pushes.
    Server(ServerArgs),
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  git loopx setup server /srv/git/ward.git\n  git loopx setup server --check /srv/git/ward.git"
)]
pub struct ServerArgs {
    /// The bare repository
    pub dir: PathBuf,
    /// Push attacks and an honest branch at it, and say what would get in; nothing of it stays.
    /// Exits with 1 when an attack would get in, or an honest push would not
    #[arg(long)]
    pub check: bool,
    /// Print what would be done, do nothing
    #[arg(short = 'n', long, conflicts_with = "check")]
    pub dry_run: bool,
}

pub fn run(command: SetupCommand, ui: &mut Ui) -> Result<Exit> {
    match command {
        SetupCommand::Server(args) if args.check => prove(&Server::read(&args.dir)?, ui),
        SetupCommand::Server(args) => server(&Server::read(&args.dir)?, args.dry_run, ui),
    }
}

fn server(server: &Server, dry_run: bool, ui: &mut Ui) -> Result<Exit> {
    let plan = server.plan()?;
    if !dry_run {
        server.apply(&plan)?;
    }
    let mut steps = Vec::new();
    for one in &plan {
        let state = state(one.needed, dry_run);
        let text = clean(&one.step.holds());
        ui.status(format!(
            "{}  {text}",
            ui.paint(role(one.needed), &format!("{state:<5}"))
        ));
        steps.push(json!({"step": one.step, "state": state, "text": text}));
    }
    let warnings = server.rules.warnings();
    warn(&warnings, ui);
    let next = command!("setup server --check {}", server.named);
    ui.json(
        "setup server",
        &json!({
            "dir": server.dir.display().to_string(),
            "dry_run": dry_run,
            "changed": !dry_run && plan.iter().any(|one| one.needed),
            "steps": steps,
            "policy": server.rules,
            "warnings": warnings,
            "next_action": next,
        }),
    );
    if !dry_run {
        ui.hint(next);
    }
    Ok(Exit::Done)
}

/// The word for a step.
fn state(needed: bool, dry_run: bool) -> &'static str {
    match (needed, dry_run) {
        (false, _) => "found",
        (true, true) => "would",
        (true, false) => "done",
    }
}

fn role(needed: bool) -> anstyle::Style {
    match needed {
        true => style::GOOD,
        false => style::DIM,
    }
}

/// With --json they are in the document.
fn warn(warnings: &[String], ui: &mut Ui) {
    let said = if ui.is_json() { &[] } else { warnings };
    for warning in said {
        ui.warn(clean(warning));
    }
}

fn prove(server: &Server, ui: &mut Ui) -> Result<Exit> {
    let checked = check(server)?;
    for row in &checked.rows {
        ui.out(line(row, ui));
    }
    let mut warnings = server.rules.warnings();
    warnings.extend(checked.notes.iter().cloned());
    warn(&warnings, ui);
    let wrong = checked.rows.iter().filter(|row| !row.ending.is_good());
    let wrong = wrong.count();
    let next = (wrong > 0).then(|| command!("setup server {}", server.named));
    ui.json(
        "setup server",
        &json!({
            "dir": server.dir.display().to_string(),
            "ok": checked.is_good(),
            "attempts": checked.rows,
            "policy": server.rules,
            "warnings": warnings,
            "next_action": next,
        }),
    );
    let pushes = checked.rows.len();
    if wrong == 0 {
        ui.status(format!(
            "{pushes} pushes, each as it should be; nothing of them stayed"
        ));
        return Ok(Exit::Done);
    }
    ui.status(format!(
        "{pushes} pushes, {wrong} not as it should be; nothing of them stayed"
    ));
    if let Some(next) = next {
        ui.hint(next.note("(and see to the warnings)"));
    }
    Ok(Exit::Blocked)
}

fn line(row: &Row, ui: &Ui) -> String {
    let (role, word) = match row.ending {
        Ending::Refused => (style::GOOD, "refused"),
        Ending::Taken => (style::GOOD, "taken"),
        Ending::GetsIn => (style::BAD, "GETS IN"),
        Ending::Held => (style::BAD, "HELD"),
        Ending::Unproven => (style::BAD, "UNPROVEN"),
    };
    let by = row
        .by
        .as_deref()
        .map_or(String::new(), |by| format!("  {by}"));
    let mut line = format!(
        "{}  {:<36} {}{by}",
        ui.paint(role, &format!("{word:<8}")),
        row.what,
        clean(&row.name)
    );
    for said in row.said.iter().flat_map(|said| said.lines()) {
        line.push_str(&format!("\n          {}", clean(said)));
    }
    line
}
