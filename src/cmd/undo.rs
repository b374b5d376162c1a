//! `undo`, `redo`.

use super::SignArgs;
use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::undo as flow;
use crate::flow::undo::{Back, Told};
use crate::ui::{Ui, line};
use loopx_base::failure::Result;
use loopx_base::hint::command;
use loopx_rules::artifact::Artifact;
use loopx_rules::session::Ending;
use loopx_rules::stage::Transition;
use serde_json::json;

/// Take back what you did last, by a new commit
///
/// What somebody else did is taken back by name, with a reason. Runs, notes and claims stay; if a run or a note came last, a number (`undo 1`) takes back the step before it. History stays as it was: `git loopx log` shows what is undone, and `git loopx redo` brings it back. What
/// an archive made of the specs is taken back by `git loopx archive --undo ID`.
#[derive(clap::Args, Clone, Debug)]
pub struct UndoArgs {
    /// The number of commands to take back; runs, notes and claims are passed over
    #[arg(value_name = "N", conflicts_with_all = ["to", "only"], value_parser = clap::value_parser!(u32).range(1..))]
    count: Option<u32>,
    /// Take back what this person did last: a part of the name or of the address
    #[arg(long, value_name = "PERSON", requires = "reason", conflicts_with_all = ["to", "only"])]
    of: Option<String>,
    /// Take back only this operation: its id, its number, or the commit that made it
    #[arg(long, value_name = "OPERATION", conflicts_with = "to")]
    only: Option<String>,
    /// Go back to the moment after this operation: its id, its number, or the commit that made it
    #[arg(long, value_name = "OPERATION")]
    to: Option<String>,
    /// Why, for the record
    #[arg(long, value_parser = crate::cmd::reason, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    sign: SignArgs,
}

/// Bring back what was undone, by a new commit
///
/// The event that was undone last comes back first. Refused where something else has happened since.
#[derive(clap::Args, Clone, Debug)]
pub struct RedoArgs {
    /// The number of commands to bring back
    #[arg(value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..))]
    count: u32,
    /// Why, for the record
    #[arg(long, value_parser = crate::cmd::reason, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    sign: SignArgs,
}

pub(crate) fn undo(args: UndoArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let back = match (args.to, args.only) {
        (Some(point), _) => Back::To(point),
        (None, Some(point)) => Back::Only(point),
        (None, None) => match (args.count, args.of) {
            (None, None) => Back::Newest,
            (count, of) => Back::Last {
                count: number(count.unwrap_or(1)),
                of,
            },
        },
    };
    let told = flow::undo(ctx, &back, args.reason, args.sign.wanted(ctx))?;
    say(&told, "took back", ui);
    let back: Vec<(&String, u64)> = told
        .moved
        .iter()
        .flat_map(|one| one.artifacts.iter().map(|artifact| (artifact, one.seq)))
        .filter(|(artifact, _)| *artifact != Artifact::ArtifactGraph.path())
        // What somebody wrote since stands.
        .filter(|(artifact, _)| told.changed.contains(artifact))
        .collect();
    if let Some((first, seq)) = back.first() {
        let mut names: Vec<&str> = back.iter().map(|(artifact, _)| artifact.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        ui.status(format!(
            "their text went back too: {}; as it was: {}",
            names.join(", "),
            ui.command(&command!("cat {first} --at {seq}"))
        ));
    }
    stays_taken(ctx, &told, ui);
    // A session that is archived again takes no redo.
    let redo = match &told.state.ending {
        Some(Ending::Archived { .. }) => Transition::DoneToBuild.command().session(&told.id),
        _ => command!("redo"),
    };
    ui.status(format!("to bring it back: {}", ui.command(&redo)));
    // The newest by itself too: as it was when there was one.
    document(ctx, ui, "undo", "undone", &told);
    Ok(Exit::Done)
}

pub(crate) fn redo(args: RedoArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let told = flow::redo(ctx, number(args.count), args.reason, args.sign.wanted(ctx))?;
    say(&told, "brought back", ui);
    document(ctx, ui, "redo", "redone", &told);
    Ok(Exit::Done)
}

/// A claim is nobody's to take back but its owner's: whoever goes back a stage hears of those that hold on.
fn stays_taken(ctx: &Context, told: &Told, ui: &mut Ui) {
    if !told.moved.iter().any(|one| one.moves_stage) {
        return;
    }
    for taken in crate::flow::task::claimed(ctx, &told.state) {
        ui.status(format!(
            "{} stays taken: {} has it {}; whoever has it gives it back with {}",
            taken.task,
            line(&taken.claim.words),
            ui.lasting(taken.claim.alive, &taken.claim.until),
            ui.command(&command!("task release {}", taken.task))
        ));
    }
}

fn number(count: u32) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

fn say(told: &Told, did: &str, ui: &mut Ui) {
    let stage = told.state.stage;
    for (at, one) in told.moved.iter().enumerate() {
        let now = if at + 1 == told.moved.len() {
            format!("; now in stage {stage}")
        } else {
            String::new()
        };
        ui.status(format!(
            "{}: {did} `{}` of {} ({}){now}",
            told.id,
            one.event,
            line(&one.by),
            ui.when(&one.at)
        ));
    }
}

fn document(ctx: &Context, ui: &mut Ui, command: &str, key: &str, told: &Told) {
    let mut body = json!({
        "session": told.id,
        "commit": told.commit,
        "stage": told.state.stage,
        key: told.moved.first(),
        "operations": told.moved,
    });
    super::lead(ctx, &told.id, &mut body, ui);
    ui.json(command, &body);
}
