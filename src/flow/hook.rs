//! A call of our hook by git: the hook that stood there before us first, with the same arguments and stdin, then our
//! own judgement.
//!
//! Nothing here may stop a commit by accident: `cmd::hook` lets every failure pass that is no refusal.

use super::context::Context;
use super::hook_once::Once;
use super::{hook_commit, hook_push, receive};
use loopx_base::env;
use loopx_base::failure::{Code, Failure, Kind, Result};
use loopx_git::run::Run;
use loopx_hosts::hooks::Event;
use std::ffi::{OsStr, OsString};
use std::io::{IsTerminal, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// git's setting that switches our hooks off, for one repository or for a person.
pub(crate) const OPT_OUT: &str = "loopx.hooks";

/// A call of `git-loopx hook`.
#[derive(Debug)]
pub(crate) struct Request {
    pub event: OsString,
    pub args: Vec<OsString>,
    /// The shim that git ran, where the hook is a shim.
    pub shim: Option<PathBuf>,
}

/// The end of a call of a hook.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Passed, with what is worth a warning.
    Passed(Vec<String>),
    /// The workflow does not allow the event yet.
    Refused(Failure),
    /// A second refusal of the same: this git process was told why a moment ago.
    RefusedAlready,
    /// The answer to `hooks status`, which asked.
    Probed(String),
    /// The hook that stood there before us said no, with this exit code.
    SavedHookFailed(u8),
}

/// The line by which a hook shows that it fires.
pub(crate) fn probe_answer(token: &str, event: &str) -> String {
    format!("loopx-hook-probe {token} {event}")
}

/// Runs one hook.
pub(crate) fn run(request: &Request) -> Result<Outcome> {
    let name = request.event.to_string_lossy();
    match &*name {
        "pre-receive" => return receive::on_server(|_| ()),
        "update" => {
            return Err(Failure::refused(
                Code::EventUnsupported,
                "a push is judged as a whole, before any ref of it moves: not in `update`",
            )
            .help("call `git-loopx hook pre-receive` from hooks/pre-receive"));
        }
        _ => {}
    }
    // Before any other hook could start: a probe has no effect. It is for our own hooks in a clone; on a
    // server it would be a way around.
    if let Some(token) = probe_token() {
        return Ok(Outcome::Probed(probe_answer(&token, &name)));
    }
    let Some(event) = Event::from_name(&name) else {
        return Ok(Outcome::Passed(Vec::new()));
    };
    let stdin = if event.reads_stdin() {
        read_stdin()
    } else {
        Vec::new()
    };
    if let Some(shim) = &request.shim {
        let code = run_saved(event, shim, &request.args, &stdin)?;
        if code != 0 {
            return Ok(Outcome::SavedHookFailed(code));
        }
    }
    // Switches us off, not the hook of somebody else.
    if env::var(env::LOOPX).as_deref() == Some("0") {
        return Ok(Outcome::Passed(Vec::new()));
    }
    judge(event, &request.args, &stdin).map_err(|failure| Failure {
        // Only a proven violation stops git; that we could not look is none.
        kind: Kind::Internal,
        ..failure
    })
}

/// Judges the event by the workflow.
fn judge(event: Event, args: &[OsString], stdin: &[u8]) -> Result<Outcome> {
    let ctx = Context::open_in_hook()?;
    let store = ctx.store()?;
    let repo = &ctx.repo;
    if repo.config_bool(OPT_OUT) == Some(false) {
        return Ok(Outcome::Passed(Vec::new()));
    }
    // Where there are no sessions to look at, a second look is not worth a record.
    let tip = repo.find_ref(&store.branch_ref())?;
    let once = match tip {
        Some(_) => Once::of(&repo.common_dir(), &repo.git_dir(), event, args, stdin),
        None => None,
    };
    if let Some(passed) = once.as_ref().and_then(Once::recall) {
        return Ok(if passed {
            Outcome::Passed(Vec::new())
        } else {
            Outcome::RefusedAlready
        });
    }
    let outcome = match event {
        Event::PreCommit => hook_commit::pre_commit(&ctx, &store, tip),
        Event::CommitMsg => hook_commit::commit_msg(&ctx, &store, tip, args),
        Event::PrePush => hook_push::pre_push(&ctx, &store, args, stdin),
    }?;
    let outcome = match (event, outcome, args.first()) {
        (Event::PrePush, Outcome::Passed(mut warnings), Some(remote)) => {
            warnings.extend(super::sync::on_push(&ctx, &remote.to_string_lossy()));
            Outcome::Passed(warnings)
        }
        (_, outcome, _) => outcome,
    };
    if let Some(once) = once {
        once.remember(repo, !matches!(outcome, Outcome::Refused(_)));
    }
    Ok(outcome)
}

/// The token of a probe, with no character that could be mistaken for anything else, since it is printed.
fn probe_token() -> Option<String> {
    env::var(env::LOOPX_HOOK_PROBE)
        .filter(|token| token.len() <= 64 && token.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

/// Reads all of stdin. Nobody types it: at a terminal there is none.
fn read_stdin() -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut stdin = std::io::stdin().lock();
    if !stdin.is_terminal() {
        // What came before an error is all there is.
        drop(stdin.read_to_end(&mut bytes));
    }
    bytes
}

/// Runs the hook that our shim replaced, in the environment that git made for it, and gives its
/// exit code.
fn run_saved(event: Event, shim: &Path, args: &[OsString], stdin: &[u8]) -> Result<u8> {
    // Whoever moved our shim aside put its own hook in front, and runs us after it. What we keep may be
    // that very hook, which refuses to be run by itself.
    if shim.file_name() != Some(OsStr::new(event.name())) {
        return Ok(0);
    }
    let saved = shim
        .parent()
        .unwrap_or(Path::new("."))
        .join(event.saved_name());
    // git skips a hook that is not there or not executable, and so do we.
    let (Ok(meta), Ok(target)) = (saved.metadata(), saved.canonicalize()) else {
        return Ok(0);
    };
    if !meta.is_file() || meta.permissions().mode() & 0o111 == 0 {
        return Ok(0);
    }
    // pre-commit runs the hook that *it* found there as `<event>.legacy`. Where that is our shim, and
    // pre-commit's own script is what we kept, each would call the other for ever.
    if env::var_os(env::LOOPX_CHAINED).as_deref() == Some(target.as_os_str()) {
        return Ok(0);
    }
    // Started by its own name, not by a link's target: scripts look at `$0`.
    let run = Run::program(&saved)
        .args(args)
        .env(env::LOOPX_CHAINED, &target);
    let run = if event.reads_stdin() {
        run.stdin(stdin)
    } else {
        run.inherit_stdin()
    };
    match run.stream() {
        Ok(ended) => Ok(ended.code),
        // git stops as well at a hook that it cannot start (a broken `#!` line): that gate is not ours
        // to open.
        Err(failure) => Err(Failure::refused(
            Code::SavedHookNotStarted,
            format!("the {event} hook that was here before: {}", failure.message),
        )
        .help(format!("repair `{}`", saved.display()))),
    }
}
