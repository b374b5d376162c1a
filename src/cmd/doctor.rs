//! `doctor`.

use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::doctor as flow;
use crate::flow::doctor::{Fixed, Level};
use crate::ui::{Ui, clean};
use loopx_base::failure::Result;
use serde_json::json;

/// Look at the environment and the repository, and put right what only a person may decide
///
/// Exits with 1 where something does not work. Nothing is changed without an option.
#[derive(clap::Args, Clone, Debug)]
pub struct DoctorArgs {
    /// Put the branch back to what this clone knew of it; what stands there is kept
    #[arg(long, conflicts_with_all = ["accept", "fix"])]
    recover: bool,
    /// Go on from the branch as it is, if its sessions are whole, or without it where it was deleted
    #[arg(long, conflicts_with = "fix")]
    accept: bool,
    /// Take away what killed processes left, and working copies without a session, where that loses nothing
    #[arg(long)]
    fix: bool,
}

pub(crate) fn doctor(args: &DoctorArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    if args.recover {
        let recovered = flow::recover(ctx)?;
        ui.status(match &recovered.by_hand {
            Some(hand) => format!(
                "the changes since {} are taken back in {}",
                hand.short(),
                recovered.tip.short()
            ),
            None => format!("the branch stands at {} again", recovered.tip.short()),
        });
        if let (Some(displaced), Some(kept)) = (&recovered.displaced, &recovered.kept) {
            ui.status(format!("what stood there is kept as {displaced} in {kept}"));
        }
        ui.json("doctor", &json!({ "recovered": recovered }));
        return Ok(Exit::Done);
    }
    if args.accept {
        let accepted = flow::accept(ctx)?;
        match &accepted.tip {
            Some(tip) => ui.status(format!("this clone goes on from {}", tip.short())),
            None => ui.status("this clone goes on without the branch"),
        }
        if let Some(kept) = &accepted.kept {
            ui.status(format!("what it had is kept in {kept}"));
        }
        ui.json(
            "doctor",
            &json!({ "accepted": accepted.tip, "kept": accepted.kept }),
        );
        return Ok(Exit::Done);
    }
    let fixed = if args.fix {
        flow::fix(ctx)?
    } else {
        Fixed::default()
    };
    for name in &fixed.removed {
        ui.status(format!("removed {}", clean(name)));
    }
    for what in &fixed.finished {
        ui.status(format!("finished {}", clean(what)));
    }
    let checks = flow::look(ctx)?;
    for check in &checks {
        let sign = match check.level {
            Level::Fine => "ok",
            Level::Note => "note",
            Level::Problem => "problem",
        };
        ui.out(format!(
            "{sign:<8}{:<10} {}",
            check.what,
            clean(&check.found)
        ));
        if let Some(help) = &check.help {
            ui.out(format!("{:<19}-> {}", "", clean(&ui.command(help))));
        }
    }
    ui.json(
        "doctor",
        &json!({ "checks": checks, "fixed": fixed.removed, "finished": fixed.finished }),
    );
    let is_ill = checks.iter().any(|check| check.level == Level::Problem);
    Ok(if is_ill { Exit::Blocked } else { Exit::Done })
}
