//! `point add|list|back`.

use super::SignArgs;
use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::point as flow;
use crate::flow::point::Points;
use crate::ui::{Ui, line, style};
use loopx_base::failure::Result;
use loopx_base::hint::{Hint, command};
use loopx_base::{counted, shell_word};
use serde_json::json;

#[derive(Debug, clap::Subcommand)]
pub enum PointCommand {
    Add(AddArgs),
    #[command(visible_alias = "ls")]
    List(ListArgs),
    Back(BackArgs),
}

/// Name the commit that is checked out and the state of the session, to go back to both
#[derive(Clone, Debug, clap::Args)]
pub struct AddArgs {
    /// Its name
    name: String,
    /// Why, for the record
    #[arg(long, value_parser = crate::cmd::reason, value_name = "TEXT")]
    reason: Option<String>,
}

/// List the points of the session, oldest first
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct ListArgs {}

/// Go back to a point: the code by a new commit with what was there then, the session by an undo
///
/// Nothing is lost: what was committed since stays below the new commit, and redo brings back what was undone. Refused
/// where something is not committed, where the branch does not have the commit of the point, and from another stage.
#[derive(Clone, Debug, clap::Args)]
pub struct BackArgs {
    /// The point
    name: String,
    /// Why, for the record; asked for where that takes back what somebody else did
    #[arg(long, value_parser = crate::cmd::reason, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    sign: SignArgs,
}

pub(crate) fn run(command: PointCommand, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    match command {
        PointCommand::Add(args) => add(&args, ctx, ui),
        PointCommand::List(args) => list(args, ctx, ui),
        PointCommand::Back(args) => back(args, ctx, ui),
    }
}

fn add(args: &AddArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let (session, point) = flow::add(ctx, &args.name, args.reason.as_deref())?;
    let (name, commit) = (&point.name, point.commit.short());
    ui.status(format!(
        "{session}: the point {name} is {commit}, stage {}",
        point.stage
    ));
    let back = command!("point back {name}");
    let said = ui.command(&back);
    ui.status(format!("to go back to it: {said}"));
    ui.json(
        "point add",
        &json!({ "session": session, "point": point, "back": back }),
    );
    Ok(Exit::Done)
}

fn list(_: ListArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let Points {
        session,
        points,
        elsewhere,
    } = flow::list(ctx)?;
    for point in &points {
        let name = ui.paint(style::NAME, &line(&point.name));
        let how = match (point.here, point.same) {
            (true, true) => "  the code is as it was then",
            (true, false) => "",
            (false, _) => "  not on this branch",
        };
        ui.out(format!(
            "{name}  {}  {}  {}  {}{how}",
            point.commit.short(),
            point.stage,
            line(&point.by),
            line(&point.at)
        ));
    }
    match points.len() {
        0 => ui.status(format!("session {session} has no point")),
        many => ui.status(format!("{} of session {session}", counted(many, "point"))),
    }
    if let Some(branch) = &elsewhere {
        let lead = Hint::git(format!("switch {}", shell_word(branch)));
        ui.status(format!(
            "to go back to one, be on its branch: {}",
            ui.command(&lead)
        ));
    }
    ui.json(
        "point list",
        &json!({ "session": session, "points": points, "branch": elsewhere }),
    );
    Ok(Exit::Done)
}

fn back(args: BackArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let went = flow::back(ctx, &args.name, (args.reason, args.sign.wanted(ctx)))?;
    let code = match &went.commit {
        Some(commit) => format!("its code is committed as {}", commit.short()),
        None => "its code was there".to_owned(),
    };
    ui.status(format!("{}: back at {}, {code}", went.session, went.point));
    if !went.undone.is_empty() {
        ui.status(format!("taken back: {}", went.undone.join(", ")));
    }
    if went.changed {
        ui.status("a hook committed something else than was there then");
    }
    let forth = flow::forth(&went);
    if let Some(forth) = &forth {
        let said = ui.command(forth);
        ui.status(format!("to bring it back: {said}"));
    }
    let mut body = json!(went);
    body["forth"] = json!(forth);
    ui.json("point back", &body);
    Ok(Exit::Done)
}
