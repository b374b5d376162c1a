//! `git loopx hook <event>`: what git runs. Only a refusal stops git; whatever goes wrong on our own
//! side is one line on stderr, and the commit passes (design 7).

use crate::cli::Exit;
use crate::core::failure::{Code, Failure, Kind, Result};
use crate::flow::hook::{self, Outcome, Request};
use crate::ui::{Ui, clean};
use std::ffi::OsString;
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;

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

pub fn run(args: HookArgs, ui: &mut Ui) -> Result<Exit> {
    let HookArgs { shim, event, args } = args;
    let on_server = event == "pre-receive";
    let request = Request { event, args, shim };
    // A bug of ours must not stop anybody's commit either, nor fill the screen.
    panic::set_hook(Box::new(|_| {}));
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| hook::run(&request)));
    match outcome {
        Ok(Ok(Outcome::Passed(warnings))) => {
            for warning in warnings {
                ui.warn(clean(&warning));
            }
            Ok(Exit::Done)
        }
        Ok(Ok(Outcome::Refused(failure))) => Err(failure),
        Ok(Ok(Outcome::RefusedAlready)) => Ok(Exit::Blocked),
        Ok(Ok(Outcome::Probed(answer))) => {
            ui.out(answer);
            Ok(Exit::Done)
        }
        Ok(Ok(Outcome::SavedHookFailed(code))) => Ok(Exit::Code(code)),
        Ok(Err(failure)) if failure.kind == Kind::Refused => Err(failure),
        Ok(Err(failure)) => {
            let line = failure.message.replace('\n', " ");
            ui.warn(format!("git loopx checked nothing: {}", clean(&line)));
            Ok(Exit::Done)
        }
        // A gate that opens when it breaks is none.
        Err(_) if on_server => Err(Failure::refused(
            Code::PushNotJudged,
            "git loopx could not judge this push: it panicked",
        )),
        Err(_) => {
            ui.warn("git loopx checked nothing: it panicked");
            Ok(Exit::Done)
        }
    }
}
