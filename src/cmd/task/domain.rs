//! `task domain add|move|list`.

use crate::cli::{Exit, TaskDomainCommand};
use crate::cmd::report;
use crate::flow::Context;
use crate::flow::domains as flow;
use crate::flow::domains::{DomainRequest, MoveRequest};
use crate::ui::{Ui, line, style};
use loopx_base::counted;
use loopx_base::failure::Result;
use serde_json::json;

pub(crate) fn run(command: TaskDomainCommand, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    match command {
        TaskDomainCommand::Add(args) => add(args, ctx, ui),
        TaskDomainCommand::Move(args) => relocate(args, ctx, ui),
        TaskDomainCommand::List(args) => list(args, ctx, ui),
    }
}

/// Add a part of the work to the list, with the numbers that its tasks have
///
/// Who adds a task to a domain (task add --domain) gets the next free number of it, so that several people plan at
/// once and never take one id.
#[derive(Clone, Debug, clap::Args)]
pub struct AddArgs {
    /// The name of the domain
    name: String,
    /// The first number (default: the next hundred that is free)
    #[arg(long, value_name = "N", requires = "to")]
    from: Option<u32>,
    /// The last number
    #[arg(long, value_name = "N", requires = "from")]
    to: Option<u32>,
    /// The person who plans the domain
    #[arg(long, value_name = "WHO")]
    owner: Option<String>,
    /// The most domains that the list may have
    #[arg(long, value_name = "N", default_value = "5")]
    most: usize,
    /// Why, for the record
    #[arg(long, value_parser = crate::cmd::reason, value_name = "TEXT")]
    reason: Option<String>,
}

/// Give a domain other numbers, also in a list that two domains with the same numbers make unreadable
///
/// Tasks keep their ids: the domain remembers in `was` which numbers they are from. A task whose id another task has
/// gets the next free one of the new numbers, and what tasks of its domain say of it follows.
#[derive(Clone, Debug, clap::Args)]
pub struct MoveArgs {
    /// The domain
    name: String,
    /// The first number (default: the next hundred that is free)
    #[arg(long, value_name = "N", requires = "to")]
    from: Option<u32>,
    /// The last number
    #[arg(long, value_name = "N", requires = "from")]
    to: Option<u32>,
    /// Why, for the record
    #[arg(long, value_parser = crate::cmd::reason, value_name = "TEXT")]
    reason: Option<String>,
}

/// List the domains: their numbers, how many tasks they have, and the next free id
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct ListArgs {}

fn add(args: AddArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let request = DomainRequest {
        name: args.name,
        range: args.from.zip(args.to),
        owner: args.owner,
        most: args.most,
        reason: args.reason,
    };
    let done = flow::add(ctx, &request)?;
    let domain = &done.value;
    let said = format!(
        "the domain {} has the numbers {}",
        domain.name,
        domain.range()
    );
    report(
        ctx,
        ui,
        "task domain add",
        &done.put.done,
        &said,
        json!({ "domain": domain }),
    );
    Ok(Exit::Done)
}

fn relocate(args: MoveArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let request = MoveRequest {
        name: args.name,
        range: args.from.zip(args.to),
        reason: args.reason,
    };
    let done = flow::relocate(ctx, &request)?;
    let (moved, left) = &done.value;
    for one in &moved.renamed {
        ui.status(format!("{} is {} now", one.from, one.to));
    }
    if !moved.kept.is_empty() {
        let tasks = counted(moved.kept.len(), "task");
        ui.status(format!("{tasks} of it keep the ids that they have"));
    }
    if let Some(fault) = left {
        let lead = ui.command(&fault.fix);
        ui.status(format!("what is still wrong: {}", line(&fault.message)));
        ui.status(format!("          {}", line(&lead)));
    }
    let (name, range) = (&moved.domain.name, moved.domain.range());
    let said = format!("the domain {name} has the numbers {range}");
    let extra = json!({
        "domain": moved.domain, "renamed": moved.renamed, "kept": moved.kept, "left": left,
    });
    report(ctx, ui, "task domain move", &done.put.done, &said, extra);
    Ok(Exit::Done)
}

fn list(_: ListArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let (session, rows) = flow::list(ctx)?;
    for row in &rows {
        let name = ui.paint(style::NAME, &line(&row.domain.name));
        let next = match &row.next {
            Some(id) => format!("next {id}"),
            None => "full".to_owned(),
        };
        let owner = row.domain.owner.as_deref();
        let owner = owner.map_or_else(String::new, |who| format!("  {}", line(who)));
        let tasks = counted(row.tasks, "task");
        ui.out(format!(
            "{name}  {}  {tasks}, {next}{owner}",
            row.domain.range()
        ));
    }
    if rows.is_empty() {
        ui.status("the list has no domain");
    }
    ui.json(
        "task domain list",
        &json!({ "session": session, "domains": rows }),
    );
    Ok(Exit::Done)
}
