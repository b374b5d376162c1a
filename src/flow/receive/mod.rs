//! pre-receive, on a server: from what git writes to the hook to a verdict on the push as a whole.
//!
//! A failure to look is a refusal: it names the object, and says to the administrator what to do. The judgement of
//! branches is [`super::hook_receive`].

mod beside;
mod input;
pub(crate) mod limits;
mod namespaces;
mod unjudged;

pub(crate) use input::Update;

use super::context::Context;
use super::hook::Outcome;
use super::hook_receive;
use loopx_base::failure::{Code, Failure, Result};
use std::io::{IsTerminal, Read};
use std::time::Duration;

/// pre-receive: what cannot be judged is refused. `within` is told how long it may take.
pub(crate) fn on_server(within: impl Fn(Option<Duration>)) -> Result<Outcome> {
    let early = |failure| unjudged::refusal(None, &[], failure);
    let ctx = Context::open_in_hook().map_err(early)?;
    within(limits::within(&ctx).map_err(early)?);
    let updates = read().map_err(early)?;
    judge(&ctx, &updates).map_err(|failure| unjudged::refusal(Some(&ctx), &updates, failure))
}

fn read() -> Result<Vec<Update>> {
    let mut stdin = std::io::stdin().lock();
    let mut bytes = Vec::new();
    if !stdin.is_terminal() {
        loopx_base::failpoint::fail("stdin-read")
            .and_then(|()| stdin.read_to_end(&mut bytes))
            .map_err(|error| {
                let what = format!("read the refs of the push from stdin: {error}");
                Failure::refused(Code::PushNotJudged, what)
            })?;
    }
    input::parse(&bytes)
}

fn judge(ctx: &Context, updates: &[Update]) -> Result<Outcome> {
    let store = ctx.store()?;
    namespaces::require_settings(ctx, store.branch())?;
    let updates = namespaces::resolved(ctx, updates)?;
    let mut refusal = namespaces::refused(&updates);
    if refusal.is_none() {
        refusal = namespaces::not_whole(ctx, &updates)?;
    }
    if refusal.is_none() {
        refusal = beside::refused(&store, &updates)?;
    }
    match refusal {
        Some(refusal) => Ok(Outcome::Refused(refusal)),
        None => hook_receive::pre_receive(ctx, &store, &updates, &limits::budget(ctx)?),
    }
}
