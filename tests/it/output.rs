//! Output that cannot be written is said and is exit 74 (T6 of the store's findings): whoever reads less than
//! there was must not take it for all of it. A reader that went away is no error.

use crate::support::store::{ID, READY, operations, put, started};
use crate::support::{LOOPX, Sandbox};
use std::fs::OpenOptions;
use std::process::Stdio;

/// Runs a command with its stdout on a full disk; gives exit code and stderr.
fn on_a_full_disk(s: &Sandbox, args: &[&str]) -> (Option<i32>, String) {
    let full = OpenOptions::new().write(true).open("/dev/full");
    let mut command = s.call(LOOPX).args(args).command();
    command.stdin(Stdio::null());
    command.stdout(full.expect("/dev/full"));
    let out = command.output().expect("an end");
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    (out.status.code(), said)
}

/// Runs a command whose reader has gone away; gives exit code and stderr.
fn with_a_closed_pipe(s: &Sandbox, args: &[&str]) -> (Option<i32>, String) {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut command = s.call(LOOPX).args(args).command();
    command.stdin(Stdio::null());
    command.stdout(writer);
    let out = command.output().expect("an end");
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    (out.status.code(), said)
}

/// Commands that print something where the output can be written.
const SPEAKING: [&[&str]; 27] = [
    &["cat", "spec.md"],
    &["status"],
    &["status", "--json"],
    &["log"],
    &["log", "--json"],
    &["show"],
    &["list"],
    &["list", "--json"],
    &["diff", "2", "3"],
    &["note", "list"],
    &["fsck"],
    &["fsck", "--json"],
    &["doctor"],
    &["verify"],
    &["config", "show"],
    &["config", "schema"],
    &["hooks", "status"],
    &["agent", "status"],
    &["spec", "list"],
    &["adr", "list"],
    &["man"],
    &["completions", "bash"],
    &["help"],
    &["help", "codes"],
    &["start", "--help"],
    &["hook", "--help"],
    &["--version"],
];

#[test]
fn t6_output_that_cannot_be_written_is_74_and_said_and_a_closed_pipe_is_quiet() {
    let s = started();
    put(&s, "spec.md", "# First\n").ok();
    put(&s, "spec.md", READY).ok();
    let mut wrong = Vec::new();
    for args in SPEAKING {
        let usual = s.loopx(args);
        if usual.stdout.is_empty() {
            wrong.push(format!("{args:?} says nothing\n{usual}"));
            continue;
        }
        let (code, said) = on_a_full_disk(&s, args);
        let is_json = args.contains(&"--json");
        let word = if is_json {
            "output_unwritable"
        } else {
            "error: "
        };
        let is_said = said.contains(word) && said.contains("No space left on device");
        if code != Some(74) || !is_said {
            wrong.push(format!("{args:?} on a full disk: {code:?}\n{said}"));
        }
        let (code, said) = with_a_closed_pipe(&s, args);
        if code != usual.code || said != usual.stderr {
            wrong.push(format!("{args:?} into a closed pipe: {code:?}\n{said}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn t6_what_a_command_changed_stands_though_it_could_not_say_so() {
    let s = started();
    let file = s.root().join("spec.md");
    s.write(&file, READY);
    let file = file.to_str().expect("UTF-8");
    let known = operations(&s, ID).len();
    let (code, said) = on_a_full_disk(&s, &["put", "spec.md", file]);
    assert_eq!(code, Some(74), "{said}");
    assert!(said.contains("what the command changed, if anything, stands"));
    assert_eq!(operations(&s, ID).len(), known + 1);
    // What was refused stays refused, and a verification's own output is output too.
    let (code, said) = on_a_full_disk(&s, &["approve", "--to", "build"]);
    assert!(
        code == Some(1) && said.contains("refused"),
        "{code:?} {said}"
    );
    let (code, said) = on_a_full_disk(&s, &["--quiet", "run", "--", "echo", "something"]);
    assert_eq!(code, Some(74), "{said}");
    let evidence = operations(&s, ID).len();
    assert_eq!(evidence, known + 2, "the run is recorded");
}

#[test]
fn t6_an_agents_host_is_answered_with_exit_0_whatever_happens() {
    let s = started();
    let mut command = s
        .call(LOOPX)
        .args(&["agent-hook", "claude", "SessionStart"]);
    command = command.stdin("");
    let mut command = command.command();
    let full = OpenOptions::new().write(true).open("/dev/full");
    command.stdout(full.expect("/dev/full"));
    let mut child = command.spawn().expect("a start");
    let input = format!(
        "{{\"session_id\":\"a\",\"cwd\":{:?},\"hook_event_name\":\"SessionStart\",\"source\":\"startup\"}}",
        s.path()
    );
    let mut stdin = child.stdin.take().expect("a pipe");
    std::io::Write::write_all(&mut stdin, input.as_bytes()).expect("written");
    drop(stdin);
    let out = child.wait_with_output().expect("an end");
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(0), "{said}");
    assert!(said.contains("could not be written"), "{said}");
}
