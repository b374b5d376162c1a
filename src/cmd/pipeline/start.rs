//! `pipeline start`.

use crate::cli::Exit;
use crate::cmd::{report, tell_roles};
use crate::flow::Context;
use crate::flow::pipeline as flow;
use crate::flow::pipeline::{By, Plan, StartRequest};
use crate::ui::{Ui, line};
use loopx_base::counted;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_rules::task::node::OnComplete;
use serde_json::json;

/// Write the tasks of a pipeline into the list of the session, behind those that are there
///
/// The list is a plan like every other from there on: edit it, approve it, take its tasks. The commands that it would
/// run are printed.
#[derive(Clone, Debug, clap::Args)]
pub struct StartArgs {
    /// The pipeline (default: the mode that the whole words of the request ask for)
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// The request (default: the request of the session)
    #[arg(long = "for", visible_alias = "from-text", value_name = "TEXT")]
    request: Option<String>,
    /// Make a team for the request: roles and tasks by its whole words
    #[arg(long, conflicts_with = "name")]
    team: bool,
    /// Choose among patch, sprint and multi-sprint, by the words of the request and the files of the list
    #[arg(long, conflicts_with_all = ["name", "team"])]
    sprint: bool,
    /// What becomes of the session once its tasks are done: interactive, archive or keep
    #[arg(long, value_name = "WHAT")]
    on_complete: Option<OnComplete>,
    /// A value of one of its parameters (can be repeated)
    #[arg(long, value_name = "NAME=VALUE")]
    param: Vec<String>,
    /// Beginning of each id, so that a list can have a pipeline twice
    #[arg(long, value_name = "TEXT", default_value = "")]
    prefix: String,
    /// Show the lines; write nothing
    #[arg(long)]
    dry_run: bool,
    /// Why, for the record
    #[arg(long, value_parser = crate::cmd::reason, value_name = "TEXT")]
    reason: Option<String>,
}

pub(crate) fn run(args: StartArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let params = args.param.iter().map(|text| {
        let pair = text.split_once('=');
        pair.map(|(name, value)| (name.to_owned(), value.to_owned()))
            .ok_or_else(|| {
                let message = format!("expected `--param NAME=VALUE`, found `{text}`");
                Failure::usage(Code::PipelineParam, message).help(command!("pipeline list"))
            })
    });
    let request = StartRequest {
        name: args.name,
        request: args.request,
        params: params.collect::<Result<_>>()?,
        prefix: args.prefix,
        by: match (args.team, args.sprint) {
            (true, _) => By::Team,
            (_, true) => By::Sprint,
            _ => By::Mode,
        },
        on_complete: args.on_complete,
        reason: args.reason,
        dry_run: args.dry_run,
    };
    if args.dry_run {
        let plan = flow::plan(ctx, &request)?;
        for one in &plan.lines {
            ui.out(line(one));
        }
        say(&plan, ui);
        let mut body = json!(plan);
        body["dry_run"] = json!(true);
        ui.json("pipeline start", &body);
        return Ok(Exit::Done);
    }
    let done = flow::start(ctx, request)?;
    say(&done.value, ui);
    let said = format!(
        "{} of {} added{}",
        counted(done.value.tasks, "task"),
        done.value.pipeline,
        match done.value.gates {
            0 => String::new(),
            gates => format!(", with {}", counted(gates, "gate")),
        }
    );
    let body = json!(done.value);
    report(ctx, ui, "pipeline start", &done.put.done, &said, body);
    Ok(Exit::Done)
}

fn say(plan: &Plan, ui: &mut Ui) {
    if let Some(chosen) = &plan.chosen {
        ui.status(line(&chosen.because()));
    }
    if let Some(sprint) = &plan.sprint {
        ui.status(line(&sprint.because()));
    }
    if let Some(team) = &plan.team {
        for one in &team.members {
            let over = one
                .merged
                .iter()
                .map(|role| format!(", in the place of {role}"));
            ui.status(format!(
                "{}: {}{}, by the words: {}",
                one.capability,
                one.role,
                over.collect::<String>(),
                line(&one.words.join(", "))
            ));
        }
    }
    for one in &plan.positions {
        ui.status(line(&one.because()));
    }
    for id in &plan.left_out {
        ui.status(format!(
            "{} is left out: its condition does not hold",
            line(id)
        ));
    }
    for name in &plan.skills_missing {
        ui.warn(format!(
            "the skill `{}` is not to be had on this machine: no task that is done by it is taken here",
            line(name)
        ));
    }
    tell_roles(&plan.roles, ui);
    for words in &plan.commands {
        ui.status(format!("would run: {}", line(words)));
    }
}
