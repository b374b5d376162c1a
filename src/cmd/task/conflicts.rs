//! `task conflicts`.

use super::fields::{Pair, pair, task_id};
use crate::cli::Exit;
use crate::cmd::report;
use crate::flow::Context;
use crate::flow::domains as flow;
use crate::ui::{Ui, line, style};
use loopx_base::counted;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_rules::task::conflict::{Conflict, Severity};
use serde_json::json;

/// Show where the domains of the list meet; exit 1 where that holds the plan
///
/// Computed from the numbers of the domains, and the files, risks and dependencies of the tasks: two domains with
/// numbers in common, tasks of several domains that wait for each other (critical), tasks of two domains that change
/// one file with nothing to order them (high: it holds until one waits for the other, or somebody accepts it with a
/// reason), and several risks on one file (medium).
#[derive(Clone, Debug, clap::Args)]
pub struct ConflictsArgs {
    /// Let two tasks change what both of them change (needs --reason)
    #[arg(long, value_name = "TASK:TASK", value_parser = pair)]
    accept: Option<Pair>,
    /// Why, for the record
    #[arg(long, value_parser = crate::cmd::reason, value_name = "TEXT", requires = "accept")]
    reason: Option<String>,
}

pub(crate) fn run(args: ConflictsArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    if let Some(pair) = args.accept {
        return accept(&pair, args.reason.as_deref(), ctx, ui);
    }
    let (session, all) = flow::found(ctx)?;
    for conflict in &all {
        let role = match conflict.severity {
            _ if conflict.accepted.is_some() => style::DIM,
            Severity::Critical | Severity::High => style::BAD,
            Severity::Medium => style::WARN,
        };
        let word = ui.paint(role, &format!("{:<8}", conflict.severity.as_str()));
        ui.out(format!("{word}  {}", line(&conflict.words())));
        let more = match &conflict.accepted {
            Some(reason) => format!("accepted: {}", line(reason)),
            None => line(&ui.command(&conflict.help)),
        };
        ui.out(format!("          {more}"));
    }
    let held = all.iter().filter(|one| one.holds()).count();
    ui.status(format!(
        "{}, {held} of them hold the plan",
        counted(all.len(), "conflict")
    ));
    ui.json(
        "task conflicts",
        &json!({ "session": session, "conflicts": all, "held": held }),
    );
    Ok(if all.iter().any(Conflict::holds) {
        Exit::Blocked
    } else {
        Exit::Done
    })
}

fn accept(pair: &Pair, reason: Option<&str>, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let (one, other) = (task_id(&pair.0)?, task_id(&pair.1)?);
    let reason = reason
        .filter(|reason| !reason.trim().is_empty())
        .ok_or_else(|| {
            Failure::usage(Code::ReasonRequired, "accepting a conflict needs a reason").help(
                command!("task conflicts --accept {one}:{other} --reason WHY"),
            )
        })?;
    let done = flow::accept(ctx, (&one, &other), reason)?;
    let files = done.value.join(", ");
    let said = format!("{one} and {other} may both change {files}");
    let extra = json!({ "accepted": [one, other], "files": done.value });
    report(ctx, ui, "task conflicts", &done.put.done, &said, extra);
    Ok(Exit::Done)
}
