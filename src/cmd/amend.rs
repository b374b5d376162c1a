//! `amend`.

use super::artifacts::read_bytes;
use super::{SignArgs, report, tell_next, tell_roles};
use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::amend::{AmendRequest, advised, amend, impact};
use crate::ui::{Ui, line};
use loopx_base::failure::Result;
use loopx_base::hint::command;
use loopx_base::shell_word;
use loopx_rules::next::Advised;
use loopx_rules::task::amend::Impact;
use serde_json::json;

/// Change the list of tasks that was approved, in the build
///
/// Without a file: tasks.jsonl as it is edited in the working copy. Completed tasks stay as they are: a goal that is done is
/// kept, and a changed one stands behind it. The record approves the new list, so it needs the same people as plan->build.
#[derive(Clone, Debug, clap::Args)]
pub struct AmendArgs {
    /// The new list, `-` for stdin (default: tasks.jsonl of the working copy)
    #[arg(value_name = "FILE")]
    file: Option<String>,
    /// Only show what the amendment would do
    #[arg(long)]
    show: bool,
    /// Why, for the record
    #[arg(long, value_parser = crate::cmd::reason, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    sign: SignArgs,
}

pub(crate) fn run(args: AmendArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let file = args.file.clone();
    let request = AmendRequest {
        text: args.file.as_deref().map(read_bytes).transpose()?,
        reason: args.reason,
        sign: args.sign.wanted(ctx),
    };
    if args.show {
        let (session, impact, roles) = impact(ctx, &request)?;
        tell(ui, &impact);
        tell_roles(&roles, ui);
        let next = match &file {
            Some(file) => command!("amend {} --reason WHY", shell_word(file)),
            None => command!("amend --reason WHY"),
        };
        let mut body =
            json!({ "session": session, "amended": false, "impact": impact, "roles": roles });
        let advised = if impact.is_empty() {
            Advised::nothing()
        } else {
            advised(ctx, next)
        };
        ui.next(&advised);
        tell_next(&mut body, &advised);
        ui.json("amend", &body);
        return Ok(Exit::Done);
    }
    let done = amend(ctx, &request)?;
    let made = &done.value;
    tell(ui, &made.impact);
    for kept in &made.impact.kept {
        ui.warn(format!(
            "{} is done and stays as it was; {} takes its place",
            kept.goal, kept.anew
        ));
    }
    for task in made.impact.claimed() {
        ui.warn(format!(
            "somebody has {task}, and hears of it by `task show`"
        ));
    }
    tell_roles(&made.roles, ui);
    let said = format!("{} is recorded: the list is amended", made.name);
    let extra =
        json!({ "amended": true, "change": made.name, "impact": made.impact, "roles": made.roles });
    report(ctx, ui, "amend", &done, &said, extra);
    Ok(Exit::Done)
}

/// Prints the changes that a list makes, a task a line.
fn tell(ui: &mut Ui, impact: &Impact) {
    if impact.is_empty() {
        ui.out("no task changes");
    }
    for task in &impact.added {
        ui.out(format!("appears  {task}"));
    }
    for one in &impact.changed {
        let fields = line(&one.fields.join(", "));
        ui.out(format!("changes  {} ({}): {fields}", one.task, one.status));
    }
    for one in &impact.dropped {
        let title = line(&one.title);
        ui.out(format!("falls    {} ({})  {title}", one.task, one.status));
    }
    for name in &impact.domains {
        ui.out(format!("domain   {}", line(name)));
    }
    for one in &impact.kept {
        ui.out(format!("stays    {}, and {} appears", one.goal, one.anew));
    }
}
