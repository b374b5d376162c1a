//! `git loopx hook <event>`: what git runs. Only a refusal stops git; whatever goes wrong on our own
//! side is one line on stderr, and the commit passes (design 7).

use crate::cli::Exit;
use crate::flow::hook;
use crate::flow::hook::{Outcome, Request};
use crate::flow::receive;
use crate::flow::receive::limits;
use crate::ui::{Ui, clean};
use loopx_base::failure::{Code, Failure, Kind, Result};
use std::ffi::OsString;
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// Size of the stack, as much as a main thread has: trees and documents are deep.
const STACK: usize = 8 << 20;

#[derive(Debug, clap::Args)]
pub struct HookArgs {
    /// The script that git ran: the hook that it replaced lies beside it
    #[arg(long, value_name = "PATH")]
    shim: Option<PathBuf>,
    /// The event, as git names it
    event: OsString,
    /// What git gives to the hook
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}

pub(crate) fn run(args: HookArgs, ui: &mut Ui) -> Result<Exit> {
    let HookArgs { shim, event, args } = args;
    if event == "pre-receive" {
        ui.judges_a_push();
        return on_server(ui);
    }
    if event == "pre-push" {
        ui.judges_a_push();
    }
    let is_line = shim.is_none();
    let request = Request { event, args, shim };
    // A bug of ours must not stop anybody's commit either, nor fill the screen.
    panic::set_hook(Box::new(|_| {}));
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| hook::run(&request)));
    match outcome {
        Ok(Ok(Outcome::Passed(warnings))) => Ok(passed(warnings, ui)),
        Ok(Ok(Outcome::Refused(failure))) => Err(failure),
        Ok(Ok(Outcome::RefusedAlready)) => Ok(Exit::Blocked),
        Ok(Ok(Outcome::Probed(answer))) => {
            ui.out(answer);
            // A script that calls us by a line ends there, before it runs what is not ours.
            Ok(if is_line { Exit::Blocked } else { Exit::Done })
        }
        Ok(Ok(Outcome::SavedHookFailed(code))) => Ok(Exit::Code(code)),
        Ok(Err(failure)) if failure.kind == Kind::Refused => Err(failure),
        Ok(Err(failure)) => {
            let line = failure.message.replace('\n', " ");
            ui.warn(format!("git loopx checked nothing: {}", clean(&line)));
            Ok(Exit::Done)
        }
        Err(_) => {
            ui.warn("git loopx checked nothing: it panicked");
            Ok(Exit::Done)
        }
    }
}

fn passed(warnings: Vec<String>, ui: &mut Ui) -> Exit {
    for warning in warnings {
        ui.warn(clean(&warning));
    }
    Exit::Done
}

/// Message of the judge of a push to whoever waits for the judge.
enum Told {
    Within(Option<Duration>),
    Judged(Result<Outcome>),
}

/// pre-receive, in a thread of its own: whatever it does, there is an end. A gate that opens when it breaks is
/// none, so everything but a verdict is a refusal.
fn on_server(ui: &mut Ui) -> Result<Exit> {
    panic::set_hook(Box::new(|_| {}));
    let started = Instant::now();
    let (tell, told) = mpsc::channel();
    let judge = move || {
        let within = |limit| drop(tell.send(Told::Within(limit)));
        let judged = receive::on_server(within);
        drop(tell.send(Told::Judged(judged)));
    };
    let not_judged = |why: &str| {
        let message = format!("git loopx could not judge this push: {why}");
        Failure::refused(Code::PushNotJudged, message)
    };
    thread::Builder::new()
        .stack_size(STACK)
        .spawn(judge)
        .map_err(|error| not_judged(&error.to_string()))?;
    let mut limit = Some(Duration::from_secs(limits::SECONDS));
    loop {
        let heard = match limit {
            Some(limit) => told.recv_timeout(limit.saturating_sub(started.elapsed())),
            None => told.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match (heard, limit) {
            (Ok(Told::Within(within)), _) => limit = within,
            (Ok(Told::Judged(Ok(Outcome::Passed(warnings)))), _) => {
                return Ok(passed(warnings, ui));
            }
            (Ok(Told::Judged(Ok(Outcome::Refused(failure)) | Err(failure))), _) => {
                return Err(failure);
            }
            (Err(RecvTimeoutError::Timeout), Some(limit)) => return Err(limits::too_long(limit)),
            (Ok(Told::Judged(Ok(_))), _) => return Err(not_judged("it came to no verdict")),
            (Err(_), _) => return Err(not_judged("it panicked")),
        }
    }
}
