//! `git loopx agent-hook HOST EVENT`: what an agent's host runs. Exit code 0 and one document or nothing,
//! whatever happens: a hook that fails must not hold an agent, nor let a host take its noise for an answer.

use crate::cli::Exit;
use crate::flow::agent::hook;
use crate::flow::agent::hook::Answer;
use crate::ui::{Ui, clean};
use loopx_hosts::Host;
use std::ffi::OsString;
use std::io::{IsTerminal, Read};
use std::panic;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Answer a coding agent's host (called by it)
#[derive(Debug, clap::Args)]
pub struct AgentHookArgs {
    /// claude, codex, cursor, copilot or gemini
    pub host: OsString,
    /// The event, by the host's name
    pub event: OsString,
    /// Passed over
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub rest: Vec<OsString>,
}

/// The most that is read of what the host says.
const MAX_INPUT: u64 = 5 * 1024 * 1024;
/// Time that the host may take to say its input, and below it the time that the whole call may take.
const INPUT_DEADLINE: Duration = Duration::from_secs(4);
const DEADLINE: Duration = Duration::from_secs(10);

pub(crate) fn run(args: &AgentHookArgs, ui: &mut Ui) -> Exit {
    let (Some(host), Some(event)) = (args.host.to_str(), args.event.to_str()) else {
        return Exit::Done;
    };
    let Ok(host) = host.parse::<Host>() else {
        return Exit::Done;
    };
    // A bug of ours must neither hold an agent nor be shown to it.
    panic::set_hook(Box::new(|_| {}));
    let began = Instant::now();
    let event = event.to_owned();
    let input = read_input();
    let (send, receive) = mpsc::channel();
    // A thread that hangs, or panics, ends with the process.
    thread::spawn(move || {
        let answer = input.map_or_else(Answer::default, |input| hook::answer(host, &event, &input));
        drop(send.send(answer));
    });
    let left = DEADLINE.saturating_sub(began.elapsed());
    let answer = receive.recv_timeout(left).unwrap_or_default();
    if let Some(note) = answer.note {
        ui.warn(clean(&note));
    }
    if let Some(text) = answer.stdout {
        ui.raw(format!("{text}\n").as_bytes());
    }
    Exit::Done
}

/// All of stdin, or what came of it in time; `None` when it is too much to be a host's.
fn read_input() -> Option<Vec<u8>> {
    if std::io::stdin().is_terminal() {
        return Some(Vec::new());
    }
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let mut stdin = std::io::stdin().lock();
        let mut part = vec![0; 64 * 1024];
        while let Ok(n) = stdin.read(&mut part) {
            if n == 0 || send.send(part[..n].to_vec()).is_err() {
                break;
            }
        }
    });
    let began = Instant::now();
    let mut bytes = Vec::new();
    while let Ok(part) = receive.recv_timeout(INPUT_DEADLINE.saturating_sub(began.elapsed())) {
        bytes.extend(part);
        if bytes.len() as u64 > MAX_INPUT {
            return None;
        }
    }
    Some(bytes)
}
