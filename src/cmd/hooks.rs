//! `git loopx hooks install|uninstall|status`.

use crate::cli::Exit;
use crate::core::failure::Result;
use crate::core::hooks::{self, Plan, Row, RowMode, Step};
use crate::flow::hooks as flow;
use crate::ui::{Ui, clean, style};
use serde_json::json;

#[derive(Debug, clap::Subcommand)]
pub enum HooksCommand {
    /// Let git ask git loopx before a commit and a push
    ///
    /// git 2.54 and later get hooks in the repository's configuration. Older ones get scripts in its
    /// hooks folder; a hook that is there already is kept and runs first. A hooks folder that belongs
    /// to a hook manager, to every repository or to the code is never written to: the lines to add
    /// are printed instead.
    Install {
        /// Print what would be done, do nothing
        #[arg(short = 'n', long)]
        dry_run: bool,
    },
    /// Take the hooks away and put back what was there before
    Uninstall {
        /// Print what would be done, do nothing
        #[arg(short = 'n', long)]
        dry_run: bool,
    },
    /// Show for each worktree whether git runs the hooks
    ///
    /// git is asked to run each hook, which then answers and does nothing else. Exits with 1 when
    /// hooks are installed and one of them does not answer.
    Status,
}

pub fn run(command: HooksCommand, ui: &mut Ui) -> Result<Exit> {
    let repository = flow::read()?;
    match command {
        HooksCommand::Install { dry_run } => {
            let plan = hooks::plan_install(&repository.facts)?;
            carry_out(&repository, &plan, "hooks install", dry_run, ui)?;
            if plan.steps.is_empty() {
                ui.status("installed already: nothing to do");
            } else if !dry_run {
                ui.status("installed");
                ui.hint("git loopx hooks status");
            }
        }
        HooksCommand::Uninstall { dry_run } => {
            let plan = hooks::plan_uninstall(&repository.facts)?;
            carry_out(&repository, &plan, "hooks uninstall", dry_run, ui)?;
            if !dry_run {
                ui.status("uninstalled");
            }
        }
        HooksCommand::Status => return status(&repository, ui),
    }
    Ok(Exit::Done)
}

/// Says what is going to be done, then does it.
fn carry_out(
    repository: &flow::Repository,
    plan: &Plan,
    command: &str,
    dry_run: bool,
    ui: &mut Ui,
) -> Result<()> {
    let words = |step: &Step| clean(&flow::describe(repository, *step));
    for step in &plan.steps {
        ui.status(words(step));
    }
    // With --json they are in the document.
    let notes = if ui.is_json() { &[][..] } else { &plan.notes };
    for note in notes {
        ui.warn(clean(note));
    }
    if !dry_run {
        flow::apply(repository, plan)?;
    }
    let steps: Vec<_> = plan
        .steps
        .iter()
        .map(|step| json!({"step": step, "text": words(step)}))
        .collect();
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
    Ok(())
}

fn status(repository: &flow::Repository, ui: &mut Ui) -> Result<Exit> {
    let rows = flow::status(repository)?;
    let installed = rows.iter().any(Row::installed);
    let dead = installed && rows.iter().any(|row| row.fires == Some(false));
    let config = rows.iter().any(|row| row.mode == RowMode::Config);
    let notes = if config {
        hooks::ungated(&repository.facts)
    } else {
        Vec::new()
    };
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
    for row in rows.iter().filter(|_| installed) {
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
    if !installed {
        ui.out("no hook of git loopx is installed in this repository");
        ui.hint("git loopx hooks install");
    } else if dead {
        ui.hint("git loopx hooks install");
    }
    Ok(if dead { Exit::Blocked } else { Exit::Done })
}

fn line(row: &Row, ui: &Ui) -> String {
    let (role, fires) = match row.fires {
        Some(true) => (style::GOOD, "fires"),
        Some(false) if row.installed() => (style::BAD, "dead"),
        Some(false) => (style::DIM, "absent"),
        None => (style::WARN, "unproven"),
    };
    let mut line = format!(
        "  {:<12} {:<8} {}",
        row.event.name(),
        row.mode_name(),
        ui.paint(role, &format!("{fires:<8}"))
    );
    for (word, value) in [("", &row.path), ("after ", &row.chained)] {
        if let Some(value) = value {
            line.push_str(&format!("  {word}{}", clean(value)));
        }
    }
    if let Some(reason) = &row.reason {
        line.push_str(&format!("\n      {}", clean(reason)));
    }
    line
}
