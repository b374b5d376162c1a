//! `clean`: what is stale, and doing something about it.

use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::clean as flow;
use crate::flow::clean::{Item, Request, Stale};
use crate::ui::{Ui, line, style};
use loopx_base::counted;
use loopx_base::failure::Result;
use loopx_base::hint::{Hint, command};
use serde_json::json;

/// Show what is stale, and tidy it up where you say so
///
/// Stale are active sessions that nothing touched for long (they are abandoned, and everything is kept), their bindings
/// to branches that are gone (they are unbound where `bindings` is named), working copies of sessions that have ended (they are removed where each
/// file is stored as it stands), and refs of histories that the branch of sessions has (they are dropped). Each step that
/// can be taken back says how. What may be unfinished stays, and the reason is said: a branch that is not merged or not
/// here, edits that are not saved or committed, the session of somebody else. What killed processes left is taken away by `git loopx doctor --fix`.
#[derive(clap::Args, Clone, Debug)]
pub struct CleanArgs {
    /// Look only at these kinds: sessions, bindings, copies, refs
    #[arg(value_name = "WHAT", value_parser = clap::builder::PossibleValuesParser::new(Stale::WORDS))]
    what: Vec<String>,
    /// Days without a change after which a session is stale
    #[arg(long, value_name = "DAYS", default_value_t = 90, value_parser = clap::value_parser!(u32).range(1..))]
    older_than: u32,
    /// Do the steps, instead of showing them
    #[arg(long)]
    yes: bool,
}

pub(crate) fn clean(args: &CleanArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let what: Result<Vec<Stale>> = args.what.iter().map(|word| word.parse()).collect();
    let request = Request {
        what: what?,
        days: args.older_than,
    };
    let items = if args.yes {
        flow::clean(ctx, &request)?
    } else {
        flow::look(ctx, &request)?
    };
    for item in &items {
        show(item, args.yes, ui);
    }
    let open = items.iter().filter(|item| item.kept.is_none()).count();
    let next = (!args.yes && open > 0).then(|| again(args));
    match (items.is_empty(), open) {
        (true, _) => ui.status("nothing is stale"),
        (false, 0) => ui.status("what is stale may be unfinished, and stays"),
        (false, _) if args.yes => {
            let count = items.iter().filter(|item| item.done).count();
            ui.status(format!("{} done", counted(count, "step")));
        }
        (false, count) => ui.status(format!(
            "{} to do; nothing is done yet",
            counted(count, "step")
        )),
    }
    if let Some(next) = &next {
        ui.hint(next);
    }
    ui.json(
        "clean",
        &json!({
            "older_than": args.older_than, "dry_run": !args.yes, "stale": items, "next_action": next,
        }),
    );
    let has_failed = items.iter().any(|item| item.failed.is_some());
    Ok(if has_failed {
        Exit::Blocked
    } else {
        Exit::Done
    })
}

/// The command that does what was shown.
fn again(args: &CleanArgs) -> Hint {
    let mut words: Vec<String> = args.what.clone();
    if args.older_than != 90 {
        words.push(format!("--older-than {}", args.older_than));
    }
    words.push("--yes".to_owned());
    command!("clean {}", words.join(" "))
}

fn show(item: &Item, is_done: bool, ui: &mut Ui) {
    let name = ui.paint(style::NAME, &line(&item.name));
    ui.out(format!("{:<9} {name}  {}", item.what, line(&item.why)));
    if let Some(kept) = &item.kept {
        let stays = ui.paint(style::DIM, "stays:");
        ui.out(format!("{:<9}   {stays} {}", "", line(kept)));
        return;
    }
    if let Some(failed) = &item.failed {
        ui.warn(format!("{} stays: {}", line(&item.name), line(failed)));
        return;
    }
    let word = if is_done { "done:" } else { "would" };
    let undo = match &item.undo {
        Some(undo) => format!("  (undone by: {})", line(&ui.command(undo))),
        None => String::new(),
    };
    ui.out(format!("{:<9}   {word} {}{undo}", "", item.step));
}
