//! `signers`: arguments, and how its report reads.

use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::signers;
use crate::ui::{Ui, line, style};
use loopx_base::counted;
use loopx_base::failure::Result;

/// Look at the keys that people sign with
#[derive(Debug, clap::Subcommand)]
pub enum SignersCommand {
    /// List what a removed, revoked or expired key leaves open, and keys that stand for too many
    ///
    /// Every session that has not landed is held against loopx.signers and loopx.revoked as the target has
    /// them: what somebody signed and what counts no more is listed with the command that leads on, and ends
    /// with exit code 1.
    Check {
        /// The branch whose signers count (default: the one that results go to)
        #[arg(long, value_name = "BRANCH")]
        onto: Option<String>,
    },
}

pub(crate) fn run(command: SignersCommand, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let SignersCommand::Check { onto } = command;
    let report = signers::check(ctx, onto.as_deref())?;
    for open in &report.open {
        let session = ui.paint(style::NAME, open.session.as_str());
        let code = ui.code(style::BAD, &open.code.to_string());
        ui.out(format!("{session}: {code}{}", line(&open.why)));
        ui.out(format!("    {}", line(&ui.command(&open.help))));
    }
    for remark in &report.remarks {
        ui.out(format!(
            "{}:{} {} {}: {}",
            line(&report.file),
            remark.line,
            ui.paint(style::WARN, "warning"),
            remark.code,
            line(&remark.message)
        ));
    }
    let target = report.target.as_deref().unwrap_or("HEAD");
    ui.status(format!(
        "{} not landed, by the keys of {} at {}: {}",
        counted(report.sessions, "session"),
        line(target),
        report.commit.short(),
        match report.open.len() {
            0 => "nothing is left open".to_owned(),
            n => format!("{} left open", counted(n, "signature")),
        }
    ));
    ui.json("signers check", &report);
    Ok(if report.open.is_empty() {
        Exit::Done
    } else {
        Exit::Blocked
    })
}
