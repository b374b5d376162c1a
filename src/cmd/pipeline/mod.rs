//! `pipeline`: one file per word. No rule lives here.

pub(crate) mod check;
pub(crate) mod export;
pub(crate) mod ledger;
pub(crate) mod list;
pub(crate) mod show;
pub(crate) mod start;
pub(crate) mod status;

use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::pipeline::Newer;
use crate::ui::{Ui, line, style};
use loopx_base::failure::Result;
use loopx_base::hint::command;
use loopx_base::shell_word;
use loopx_spec::{Finding, Severity};

#[derive(Debug, clap::Subcommand)]
pub enum PipelineCommand {
    #[command(visible_alias = "ls")]
    List(list::ListArgs),
    Show(show::ShowArgs),
    Check(check::CheckArgs),
    Start(start::StartArgs),
    Status(status::StatusArgs),
    Ledger(ledger::LedgerArgs),
    Retro(ledger::RetroArgs),
    Export(export::ExportArgs),
}

pub(crate) fn run(command: PipelineCommand, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    match command {
        PipelineCommand::List(args) => list::run(&args, ctx, ui),
        PipelineCommand::Show(args) => show::run(&args, ctx, ui),
        PipelineCommand::Check(args) => check::run(&args, ctx, ui),
        PipelineCommand::Start(args) => start::run(args, ctx, ui),
        PipelineCommand::Status(args) => status::run(&args, ctx, ui),
        PipelineCommand::Ledger(args) => ledger::ledger(args, ctx, ui),
        PipelineCommand::Retro(args) => ledger::retro(args, ctx, ui),
        PipelineCommand::Export(args) => export::run(&args, ctx, ui),
    }
}

/// Pipelines of the code that is checked out that no session reads yet.
pub(super) fn say_newer(newer: &Newer, ui: &mut Ui) {
    let Newer {
        session,
        base,
        files,
    } = newer;
    let names = line(&files.join(", "));
    let base = base.short();
    ui.status(format!(
        "{names}: newer than session {session}; pipelines are read from the commit that it starts from, {base}"
    ));
    if let Some(first) = files.first() {
        ui.hint(command!("pipeline check {}", shell_word(first)));
    }
}

/// Findings as a list of lines.
pub(super) fn say(findings: &[Finding], ui: &mut Ui) {
    for finding in findings {
        let (role, word) = match finding.severity {
            Severity::Error => (style::BAD, "error"),
            Severity::Warning => (style::WARN, "warning"),
            Severity::Info => (style::DIM, "info"),
        };
        ui.out(format!(
            "{}:{}: {} {}: {}",
            line(&finding.file),
            finding.line,
            ui.paint(role, word),
            finding.id,
            line(&finding.message)
        ));
    }
}
