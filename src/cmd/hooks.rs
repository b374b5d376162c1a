//! `git loopx hooks install|uninstall|status`: prints what `flow::hooks` is going to do, and what it found.

use crate::cli::Exit;
use crate::flow::hooks as flow;
use crate::flow::next;
use crate::ui::{Ui, clean, style};
use loopx_base::failure::Result;
use loopx_base::hint::command;
use loopx_hosts::hooks;
use loopx_hosts::hooks::{Plan, Row, RowMode, RowState, Step};
use serde_json::{Value, json};

#[derive(Debug, clap::Subcommand)]
pub enum HooksCommand {
    /// Let git ask git loopx before a commit and a push
    ///
    /// git 2.54 and later get hooks in the repository's configuration. Older ones get scripts in its
    /// hooks folder; a hook that is there already is kept and runs first. A hooks folder that belongs
    /// to a hook manager, to every repository or to the code is never written to: the lines to add
    /// are printed instead, and once they stand there is nothing to install. `git config loopx.hooks false` keeps them out of a repository.
    Install(WireArgs),
    /// Take the hooks away and put back what was there before
    ///
    /// Lines that call git loopx in files that it does not write are named, and are yours to take out.
    Uninstall(WireArgs),
    /// Show for each worktree whether git runs the hooks
    ///
    /// git is asked to run each hook, which then answers and does nothing else. Exits with 1 when
    /// hooks are installed, or were, and one of them does not answer; below it stands what repairs it.
    Status,
}

#[derive(Debug, clap::Args)]
pub struct WireArgs {
    /// In your own configuration, for every repository (git 2.54 and later); one without sessions
    /// does not notice
    #[arg(long)]
    global: bool,
    /// Print what would be done, do nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(crate) fn run(command: HooksCommand, ui: &mut Ui) -> Result<Exit> {
    let (args, install) = match command {
        HooksCommand::Install(args) => (args, true),
        HooksCommand::Uninstall(args) => (args, false),
        HooksCommand::Status => return status(&flow::read()?, ui),
    };
    let WireArgs { global, dry_run } = args;
    let command = if install {
        "hooks install"
    } else {
        "hooks uninstall"
    };
    let (plan, steps) = if global {
        let global = flow::Global::read()?;
        let plan = hooks::plan_global(&global.facts, install)?;
        if !dry_run {
            global.apply(&plan)?;
        }
        let steps = words(&plan, |step| global.describe(step));
        steps.iter().for_each(|(_, words)| ui.status(words));
        (plan, steps)
    } else {
        let repository = flow::read()?;
        let plan = if install {
            hooks::plan_install(&repository.facts)?
        } else {
            hooks::plan_uninstall(&repository.facts)?
        };
        let steps = words(&plan, |step| flow::describe(&repository, step));
        if dry_run {
            steps.iter().for_each(|(_, words)| ui.status(words));
        } else {
            // What was not done is not said.
            flow::apply(&repository, &plan, |step| {
                ui.status(clean(&flow::describe(&repository, step)));
            })?;
        }
        (plan, steps)
    };
    // With --json they are in the document.
    let notes = if ui.is_json() { &[][..] } else { &plan.notes };
    for note in notes {
        ui.warn(clean(note));
    }
    let document = |(step, words): (Step, String)| json!({"step": step, "text": words});
    let steps: Vec<Value> = steps.into_iter().map(document).collect();
    ui.json(
        command,
        &json!({
            "mode": plan.mode,
            "dry_run": dry_run,
            "changed": !dry_run && !plan.steps.is_empty(),
            "steps": steps,
            "notes": plan.notes,
        }),
    );
    if install && plan.steps.is_empty() {
        ui.status("installed already: nothing to do");
    } else if install && !dry_run {
        ui.status("installed");
        // What a person does next is about this repository.
        if let Some(advised) = next::anywhere().filter(|_| !global) {
            ui.next(&advised);
        }
    } else if !dry_run {
        ui.status("uninstalled");
    }
    Ok(Exit::Done)
}

/// The steps of a plan, each with its words.
fn words(plan: &Plan, describe: impl Fn(Step) -> String) -> Vec<(Step, String)> {
    let with_words = |step: &Step| (*step, clean(&describe(*step)));
    plan.steps.iter().map(with_words).collect()
}

fn status(repository: &flow::Repository, ui: &mut Ui) -> Result<Exit> {
    let rows = flow::status(repository)?;
    let installed = rows.iter().any(Row::installed);
    let expected = rows.iter().any(Row::expected);
    let dead = expected && rows.iter().any(|row| row.fires == Some(false));
    let config = |row: &Row| matches!(row.mode, RowMode::Config | RowMode::Global);
    let mut notes = Vec::new();
    if let Some(set) = &repository.facts.opted_out {
        notes.push(format!(
            "loopx.hooks is false ({} {}): what fires checks nothing",
            set.scope, set.origin
        ));
    }
    if rows.iter().any(config) {
        notes.extend(hooks::ungated(&repository.facts.other_gits));
    }
    ui.json(
        "hooks status",
        &json!({
            "git": repository.facts.version.to_string(),
            "installed": installed,
            "ok": installed && !dead,
            "events": rows,
            "notes": notes,
        }),
    );
    let mut worktree = None;
    for row in rows.iter().filter(|_| expected) {
        if worktree != Some(&row.worktree) {
            worktree = Some(&row.worktree);
            ui.out(ui.paint(style::HEAD, &clean(&row.worktree)));
        }
        ui.out(line(row, ui));
    }
    if !ui.is_json() {
        for note in &notes {
            ui.warn(clean(note));
        }
    }
    if !expected {
        ui.out("no hook of git loopx is installed in this repository");
        ui.hint(command!("hooks install"));
    }
    Ok(if dead { Exit::Blocked } else { Exit::Done })
}

fn line(row: &Row, ui: &Ui) -> String {
    let (role, fires) = match row.state {
        RowState::Fires => (style::GOOD, "fires"),
        RowState::Dead => (style::BAD, "dead"),
        RowState::Gone => (style::BAD, "gone"),
        RowState::Absent if row.installed() => (style::BAD, "absent"),
        RowState::Absent => (style::DIM, "absent"),
        RowState::Unproven => (style::WARN, "unproven"),
    };
    let is_last = row.path.is_none() && row.chained.is_none();
    let width = if is_last { 0 } else { 8 };
    let mut line = format!(
        "  {:<12} {:<8} {}",
        row.event.name(),
        row.mode_name(),
        ui.paint(role, &format!("{fires:<width$}"))
    );
    for (word, value) in [("", &row.path), ("after ", &row.chained)] {
        if let Some(value) = value {
            line.push_str(&format!("  {word}{}", clean(value)));
        }
    }
    if let Some(reason) = &row.reason {
        line.push_str(&format!("\n      {}", clean(reason)));
    }
    if let Some(repair) = &row.repair {
        line.push_str(&format!("\n      repair: {}", clean(&ui.command(repair))));
    }
    line
}
