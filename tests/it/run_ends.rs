//! Ends of a recorded command: by itself, when its time is over, or with the program that runs it.

use crate::support::shell::works;
use crate::support::store::tip;
use crate::support::tasks::{building, task, with};
use crate::support::{LOOPX, Sandbox};
use serde_json::json;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

fn until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A run whose command has begun, and where it says its numbers.
fn begun(s: &Sandbox, script: &str) -> (Child, PathBuf) {
    let pids = s.root().join("pids");
    drop(fs::remove_file(&pids));
    let call = s.call(LOOPX).env("PIDS", &pids);
    let mut command = call.args(&["run", "--", "sh", "-c", script]).command();
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let child = command.spawn().expect("a process");
    until("it never begins", || {
        fs::read_to_string(&pids).is_ok_and(|text| text.lines().count() == 2)
    });
    (child, pids)
}

fn send(signal: &str, child: &Child) {
    let id = child.id().to_string();
    let sent = Command::new("kill").args([signal, &id]).status();
    assert!(sent.expect("kill runs").success());
}

/// Tells whether whoever started the tests has a signal ignored, as a shell does for what runs in the background: the
/// program inherits that, and respects it.
#[cfg(target_os = "linux")]
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").expect("the status of this process");
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.expect("a mask of signals") & (1 << (signal - 1)) != 0
}

#[test]
#[cfg(target_os = "linux")]
fn a_signal_to_the_program_ends_the_command_with_all_that_it_started() {
    let s = building(&[task("A", &[], Some(&["true"]))]);
    let plain = "sleep 600 & echo $! >> $PIDS; echo $$ >> $PIDS; wait";
    // One that hears nothing, and another that left its group.
    let deaf = "trap '' TERM INT HUP; setsid sleep 600 & echo $! >> $PIDS; echo $$ >> $PIDS; while :; do sleep 1; done";
    for (signal, number, script) in [("-TERM", 15, plain), ("-INT", 2, plain), ("-HUP", 1, deaf)] {
        if is_ignored(number) {
            continue;
        }
        let before = tip(&s);
        let (mut child, pids) = begun(&s, script);
        send(signal, &child);
        let ended = child.wait().expect("an end");
        assert_eq!(ended.signal(), Some(number), "{signal}: {ended:?}");
        for pid in fs::read_to_string(&pids).expect("numbers").lines() {
            until(&format!("{signal}: {pid} still works"), || !works(pid));
        }
        assert_eq!(tip(&s), before, "{signal}: nothing is recorded");
    }
    let left = fs::read_dir(s.root().join("tmp"))
        .expect("a folder")
        .count();
    assert_eq!(left, 0, "nothing lies about");
}

#[test]
#[cfg(target_os = "linux")]
fn a_signal_that_was_ignored_before_stays_ignored() {
    let s = building(&[task("A", &[], Some(&["true"]))]);
    let pids = s.root().join("pids");
    let call = s.call("sh").env("PIDS", &pids).env("LOOPX", LOOPX);
    let script =
        "trap '' HUP; exec git-loopx run -- sh -c 'echo $$ >> $PIDS; echo $$ >> $PIDS; sleep 2'";
    let mut command = call.args(&["-c", script]).command();
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child = command.spawn().expect("a process");
    until("it never begins", || pids.exists());
    send("-HUP", &child);
    assert_eq!(child.wait().expect("an end").code(), Some(0));
}

#[test]
fn a_check_that_prints_without_end_is_over_in_time_and_leaves_little() {
    let verification = json!({ "criteria": ["it ends"], "verification": { "cmd": ["yes"] } });
    let s = building(&[with(
        "A",
        &[],
        json!({ "convergence": verification, "time_limit": 1 }),
    )]);
    s.loopx(&["take", "A"]).ok();
    let began = Instant::now();
    let out = s.call(LOOPX).args(&["--json", "task", "done"]).run();
    assert!(
        began.elapsed() < Duration::from_secs(30),
        "{:?}",
        began.elapsed()
    );
    // Behind what the check printed.
    let out = out.fails_with(1);
    assert!(out.stderr.contains("\"task_timed_out\""));
    assert!(out.stderr.contains("had not ended after 1 s"));
    s.loopx(&["fsck", "--full"]).says("all whole").ok();
}
