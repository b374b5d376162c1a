//! `issue resolve|close|reopen|undo|redo`.

use super::say;
use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::issue::end as flow;
use crate::flow::issue::end::{End, Ended};
use crate::flow::issue::repeat::Standing;
use crate::flow::issue::{Written, undo as back};
use crate::ui::{Ui, line, style};
use loopx_base::failure::Result;
use loopx_base::hint::{command, hint};
use serde_json::json;

/// Say that issues are done: a person's word, with a reason
///
/// Every criterion has to be ticked, and nothing that an issue waits for may be open. An issue that a session was
/// started for is resolved by its archive.
#[derive(Clone, Debug, clap::Args)]
pub struct ResolveArgs {
    /// The issues
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    /// Why, for the record
    #[arg(long, value_parser = crate::cmd::reason, value_name = "TEXT")]
    reason: Option<String>,
}

pub(crate) fn resolve(args: &ResolveArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let ended = flow::end(ctx, &args.ids, &End::Resolve, args.reason.as_ref())?;
    tell(ui, &ended, "resolved", "issue resolve");
    Ok(Exit::Done)
}

/// Say that issues will not be done, and why
#[derive(Clone, Debug, clap::Args)]
pub struct CloseArgs {
    /// The issues
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    /// Why, for the record
    #[arg(long, value_parser = crate::cmd::reason, value_name = "TEXT")]
    reason: Option<String>,
    /// The issues are duplicates of this issue
    #[arg(long, value_name = "ID")]
    duplicate_of: Option<String>,
}

pub(crate) fn close(args: &CloseArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let end = match &args.duplicate_of {
        Some(other) => End::Duplicate(other.clone()),
        None => End::Close,
    };
    let ended = flow::end(ctx, &args.ids, &end, args.reason.as_ref())?;
    tell(ui, &ended, "closed", "issue close");
    Ok(Exit::Done)
}

fn tell(ui: &mut Ui, written: &Written<Ended>, what: &str, verb: &str) {
    let freed = &written.value.freed;
    for issue in freed {
        let short = ui.paint(style::NAME, written.names.short(&issue.id));
        ui.out(format!("can be begun now: {short}  {}", line(&issue.title)));
    }
    for one in &written.value.next {
        let short = written.names.short(&one.id);
        let due = one
            .due
            .as_ref()
            .map_or_else(String::new, |day| format!(", due {day}"));
        match one.standing {
            Standing::Made => {
                let short = ui.paint(style::NAME, short);
                ui.out(format!("comes next: {short}  {}{due}", line(&one.title)));
            }
            Standing::Here => ui.status(format!("{short}, which comes next, is here already")),
            Standing::TakenBack => {
                let redo = ui.command(&command!("issue redo {short}"));
                ui.status(format!(
                    "{short}, which would come next, was taken back: {redo}"
                ));
            }
        }
    }
    for session in &written.value.running {
        let ways = [
            command!("finish").session(session),
            command!("abandon --reason WHY").session(session),
        ];
        ui.status(format!(
            "session {session}, which was started for it, goes on; to end it: {}, or: {}",
            ui.command(&ways[0]),
            ui.command(&ways[1])
        ));
    }
    let ids: Vec<&str> = freed.iter().map(|issue| issue.id.as_str()).collect();
    let next = match freed.first() {
        Some(issue) => command!("issue take {}", written.names.short(&issue.id)),
        None => command!("issue ready"),
    };
    let following: Vec<&str> = written
        .value
        .next
        .iter()
        .map(|one| one.id.as_str())
        .collect();
    let body = json!({ "freed": ids, "following": following });
    say(ui, written, what, Some(next), body, verb);
}

/// Open issues again that were resolved or closed
#[derive(Clone, Debug, clap::Args)]
pub struct ReopenArgs {
    /// The issues
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    /// Why, for the record
    #[arg(long, value_parser = crate::cmd::reason, value_name = "TEXT")]
    reason: Option<String>,
}

pub(crate) fn reopen(args: &ReopenArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let written = flow::reopen(ctx, &args.ids, args.reason.as_ref())?;
    let next = written
        .ids
        .first()
        .map(|id| command!("issue show {}", written.names.short(id)));
    say(ui, &written, "open again", next, json!({}), "issue reopen");
    Ok(Exit::Done)
}

/// What was done last to an issue
#[derive(Clone, Debug, clap::Args)]
pub struct BackArgs {
    /// The issue
    id: String,
    /// Why, for the record; needed where it was somebody else's
    #[arg(long, value_parser = crate::cmd::reason, value_name = "TEXT")]
    reason: Option<String>,
    /// Also take back what the same command did to other issues: all of it, or nothing
    #[arg(long)]
    all: bool,
}

pub(crate) fn undo(args: &BackArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let written = back::undo(ctx, &args.id, args.reason.as_ref(), args.all)?;
    moved(ui, &written, "taken back", "issue undo");
    Ok(Exit::Done)
}

pub(crate) fn redo(args: &BackArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let written = back::redo(ctx, &args.id, args.reason.as_ref(), args.all)?;
    moved(ui, &written, "brought back", "issue redo");
    Ok(Exit::Done)
}

fn moved(ui: &mut Ui, written: &Written<back::Moved>, what: &str, verb: &str) {
    let words = written.value.words.join(", ");
    if let several @ [_, _, ..] = written.value.titles.as_slice() {
        for (id, title) in several {
            let short = ui.paint(style::NAME, written.names.short(id));
            ui.out(format!("{what}: {short}  {}", line(title)));
        }
    }
    let short = written.ids.first().map(|id| written.names.short(id));
    let next = short.map(|short| match written.value.comment {
        Some(comment) => hint![
            format!("the comment @{comment} stays; to take it back: "),
            command!("note withdraw {comment} --issue {short} --reason WHY")
        ],
        None => command!("issue log {short}"),
    });
    let body = json!({ "events": written.value.words });
    say(ui, written, &format!("{what}: {words}"), next, body, verb);
}
