//! `issue take|release`.

use super::{say, show};
use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::issue::claim as flow;
use crate::flow::issue::claim::TakeRequest;
use crate::ui::{Ui, line, style};
use loopx_base::failure::Result;
use loopx_base::hint::{command, hint};
use serde_json::json;

/// Take the next issue that can be begun, or the one that is named, and print it
///
/// Chosen and claimed in one step: two callers never get one issue. A claim holds for the time of a lease
/// (loopx.lease).
#[derive(Clone, Debug, clap::Args)]
pub struct TakeArgs {
    /// The issue (default: the next that can be begun)
    id: Option<String>,
    /// Only an issue with this label; repeat it
    #[arg(short, long = "label", value_name = "LABEL", conflicts_with = "id")]
    labels: Vec<String>,
    /// Take it from somebody whose lease is still running (needs ID and --reason)
    #[arg(long, requires = "id")]
    take_over: bool,
    /// Claim it on the remote first: one commit, pushed alone (loopx.claim=remote: always)
    #[arg(long)]
    remote: bool,
    /// Why, for the record
    #[arg(long, value_parser = crate::cmd::reason, value_name = "TEXT")]
    reason: Option<String>,
}

pub(crate) fn take(args: TakeArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let request = TakeRequest {
        issue: args.id,
        labels: args.labels,
        take_over: args.take_over,
        reason: args.reason,
        queue: false,
        remote: args.remote,
    };
    taken(ctx, &request, "issue take", ui)
}

/// Claims what is asked for, and prints it.
pub(super) fn taken(ctx: &Context, request: &TakeRequest, verb: &str, ui: &mut Ui) -> Result<Exit> {
    let taken = flow::take(ctx, request)?;
    let shown = &taken.value.shown;
    let id = &shown.row.issue.id;
    show::print(shown, ui);
    let over = taken.value.from.as_ref();
    let over = over.map_or_else(String::new, |from| {
        format!(", taken over from {}", line(from))
    });
    let short = taken.names.short(id);
    let there = taken.value.remote.as_ref();
    let there = there.map_or_else(String::new, |remote| format!(", and {remote} has it"));
    ui.status(format!(
        "{}: taken {}{over}{there}",
        ui.paint(style::NAME, short),
        ui.lasting(true, &taken.value.until)
    ));
    let next = match &taken.value.beside {
        None => command!("start --issue {short}"),
        Some((session, is_for_it)) => {
            let there = if *is_for_it {
                "do it in this session, then: ".to_owned()
            } else {
                format!(
                    "session {session} of this branch is not for this issue; if the issue is done in that session: "
                )
            };
            let done = command!("issue resolve {short} --reason WHY");
            let own = command!("start --no-branch --issue {short}");
            if *is_for_it {
                hint![there, done]
            } else {
                hint![there, done, "  or, in a session of its own: ", own]
            }
        }
    };
    ui.hint(&next);
    let mut body = json!({ "issue": shown, "until": taken.value.until, "taken_over_from": taken.value.from, "resumed": taken.value.resumed, "remote": taken.value.remote });
    super::put(&mut body, &taken.ids, &taken.commit, Some(&next));
    ui.json(verb, &body);
    Ok(Exit::Done)
}

/// Give issues back that are taken here
#[derive(Clone, Debug, clap::Args)]
pub struct ReleaseArgs {
    /// The issues
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    /// Why, for the record
    #[arg(long, value_parser = crate::cmd::reason, value_name = "TEXT")]
    reason: Option<String>,
}

pub(crate) fn release(args: &ReleaseArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let written = flow::release(ctx, &args.ids, args.reason.as_ref())?;
    let next = Some(command!("issue ready"));
    say(ui, &written, "given back", next, json!({}), "issue release");
    Ok(Exit::Done)
}
