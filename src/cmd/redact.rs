//! `redact`.

use super::artifacts::read_bytes;
use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::redact as flow;
use crate::flow::redact::{Report, Request};
use crate::ui::{Ui, line};
use loopx_base::counted;
use loopx_base::failure::Result;
use loopx_base::hint::command;

/// Take credentials out of what no remote has yet, in all of its history
///
/// Commits of the loopx branch that were not pushed are made again without them: `[redacted]` stands there. Commits of code that name one of those find it by
/// `Loopx-Was`. What was pushed stays: a secret that left this clone has to be revoked.
#[derive(clap::Args, Clone, Debug)]
pub struct RedactArgs {
    /// Take out the text in this file too (`-` for stdin)
    #[arg(long, value_name = "FILE")]
    text_from: Option<String>,
    /// Print where the texts are, and change nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Redact signed records too, and drop their signatures
    #[arg(long)]
    drop_signatures: bool,
}

pub(crate) fn redact(args: &RedactArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let text = args.text_from.as_deref();
    let request = Request {
        text: text.map(read_bytes).transpose()?,
        dry_run: args.dry_run,
        drop_signatures: args.drop_signatures,
    };
    let report = flow::redact(ctx, &request)?;
    for place in &report.places {
        ui.out(format!("{}:{}", line(&place.file), place.line));
    }
    if report.dry_run {
        ui.status(format!(
            "would write {} again without the text of {}; nothing was changed",
            counted(report.commits, "commit"),
            counted(report.places.len(), "place")
        ));
        ui.hint(match &args.text_from {
            Some(file) => command!("redact --text-from {}", file),
            None => command!("redact"),
        });
    } else {
        ui.status(format!(
            "wrote {} again without the text of {}; the branch is at {}",
            counted(report.commits, "commit"),
            counted(report.places.len(), "place"),
            report.tip.short()
        ))
    }
    left(&report, ui);
    ui.json("redact", &report);
    Ok(Exit::Done)
}

/// The other changes that it made, and the places that still have the texts.
fn left(report: &Report, ui: &mut Ui) {
    for approval in &report.approvals {
        ui.status(format!(
            "{}: the approval of {} by {} stands, for the content without the text",
            line(&approval.session),
            approval.transition,
            line(&approval.by)
        ));
    }
    for record in &report.unsigned {
        ui.warn(format!(
            "{}: not signed any more; whoever signed it signs again",
            line(record)
        ));
    }
    for place in &report.pushed {
        ui.warn(format!(
            "a remote has the text already, in {}:{}: revoke the secret",
            line(&place.file),
            place.line
        ));
    }
    for name in &report.refs {
        ui.warn(format!("{} still leads to the old commits", line(name)));
    }
    for file in &report.files {
        ui.warn(format!("{} still has the text: edit the file", line(file)));
    }
    if report.dry_run {
        return;
    }
    ui.status(format!(
        "git keeps the old commits until: {}",
        report.forget.join(" && ")
    ));
    ui.status("code branches, other worktrees, copies of editors and backups were not looked at; what was pushed or shown anywhere has to be revoked");
}
