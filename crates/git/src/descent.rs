//! A command with everything that it started: ended together, so that nothing of it works on. Linux tells whose child
//! a process is; elsewhere the command has a process group of its own. Nothing here knows why a command has to end.

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, waitid};
use std::process::{Child, Command};

/// Processes that came from us before a command began, and do not belong to the command.
#[derive(Debug, Default)]
pub(super) struct Others(Vec<Pid>);

/// Prepares a command that may have to be ended. On Linux whatever it leaves behind becomes a child of ours, however
/// it was detached.
#[cfg(target_os = "linux")]
pub(super) fn prepare(_command: &mut Command, _has_limit: bool) -> Others {
    let us = rustix::process::getpid();
    let _ = rustix::process::set_child_subreaper(Some(us));
    Others(alive_below_us())
}

#[cfg(not(target_os = "linux"))]
pub(super) fn prepare(command: &mut Command, has_limit: bool) -> Others {
    use std::os::unix::process::CommandExt;
    // In a group of its own it could not be asked from the terminal.
    if has_limit {
        command.process_group(0);
    }
    Others::default()
}

/// Waits until a child has ended, and leaves it to be asked how: until then no other process has its number.
pub(super) fn wait(child: &Child) -> std::io::Result<()> {
    let Some(pid) = pid_of(child) else {
        return Ok(());
    };
    let how = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    loop {
        match waitid(WaitId::Pid(pid), how) {
            Err(rustix::io::Errno::INTR) => {}
            ended => return Ok(ended.map(drop)?),
        }
    }
}

fn pid_of(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

/// Ends a child that nobody has asked for its end yet, and everything that came from it.
#[cfg(target_os = "linux")]
pub(super) fn end(child: &Child, others: &Others) {
    // What is started while the others are looked for is found in the next round.
    for _ in 0..ROUNDS {
        let mut alive = alive_below_us();
        alive.retain(|pid| !others.0.contains(pid));
        if alive.is_empty() {
            break;
        }
        for pid in alive {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
    }
    let pid = pid_of(child);
    let _ = pid.map(|pid| rustix::process::kill_process(pid, Signal::KILL));
}

#[cfg(not(target_os = "linux"))]
pub(super) fn end(child: &Child, _others: &Others) {
    let Some(pid) = pid_of(child) else {
        return;
    };
    let _ = rustix::process::kill_process_group(pid, Signal::KILL);
    let _ = rustix::process::kill_process(pid, Signal::KILL);
}

/// Processes that a child started, held so that no other process is taken for one of them that has ended.
#[cfg(target_os = "linux")]
pub(super) struct Below(Vec<rustix::fd::OwnedFd>);

/// Processes that work for a child now. Who ends the child ends these afterwards: git leaves its ssh behind.
#[cfg(target_os = "linux")]
pub(super) fn below(child: &Child) -> Below {
    use rustix::process::{PidfdFlags, pidfd_open};
    let alive = pid_of(child).map_or_else(Vec::new, alive_below);
    let open = |pid| pidfd_open(pid, PidfdFlags::empty()).ok();
    Below(alive.into_iter().filter_map(open).collect())
}

#[cfg(target_os = "linux")]
impl Below {
    pub(super) fn end(self) {
        for process in self.0 {
            let _ = rustix::process::pidfd_send_signal(process, Signal::KILL);
        }
    }
}

/// Empty stand-in outside Linux: no system there tells whose child a process is, and a group of its own would keep git
/// from asking at the terminal.
#[cfg(not(target_os = "linux"))]
pub(super) struct Below;

#[cfg(not(target_os = "linux"))]
pub(super) fn below(_child: &Child) -> Below {
    Below
}

#[cfg(not(target_os = "linux"))]
impl Below {
    pub(super) fn end(self) {}
}

/// Asks a child to end. It has not been asked for its end yet, so that its number is still its own.
pub(super) fn ask(child: &Child, signal: i32) {
    if let (Some(pid), Some(signal)) = (pid_of(child), Signal::from_named_raw(signal)) {
        let _ = rustix::process::kill_process(pid, signal);
    }
}

/// Number of times that processes of a command are looked for: a process of somebody else among them cannot be ended.
#[cfg(target_os = "linux")]
const ROUNDS: usize = 200;

/// Every process that comes from us and still works.
#[cfg(target_os = "linux")]
fn alive_below_us() -> Vec<Pid> {
    alive_below(rustix::process::getpid())
}

/// Every process that comes from `root` and still works.
#[cfg(target_os = "linux")]
fn alive_below(root: Pid) -> Vec<Pid> {
    let mut all: Vec<(i32, i32, bool)> = Vec::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(id) = name.to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        // The name in brackets may hold anything.
        let Some((_, rest)) = stat.rsplit_once(") ") else {
            continue;
        };
        let mut fields = rest.split(' ');
        let works = !matches!(fields.next(), Some("Z" | "X"));
        if let Some(parent) = fields.next().and_then(|parent| parent.parse().ok()) {
            all.push((id, parent, works));
        }
    }
    let mut found = vec![root.as_raw_nonzero().get()];
    let mut at = 0;
    while at < found.len() {
        let parent = found[at];
        let below = all.iter().filter(|(_, of, _)| *of == parent);
        let below: Vec<i32> = below.map(|(id, ..)| *id).collect();
        found.extend(
            below
                .into_iter()
                .filter(|id| !found.contains(id))
                .collect::<Vec<_>>(),
        );
        at += 1;
    }
    let works = |id: &i32| all.iter().any(|(known, _, works)| known == id && *works);
    let found = found.into_iter().skip(1).filter(works);
    found.filter_map(Pid::from_raw).collect()
}
