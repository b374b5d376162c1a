//! The stop gate with the real binary: who is held, for how long, and every way out (reference 8, cases
//! 14 to 19).

use crate::support::agent::{document, hook, hook_in, pre_tool, stop, stop_in, stop_input};
use crate::support::drive::{Drive, ID};
use crate::support::sources;
use crate::support::{LOOPX, Sandbox};
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};

fn linked(d: &Drive, name: &str) -> PathBuf {
    let dir = d.root().join(name);
    let path = dir.to_str().expect("UTF-8");
    d.git(&["worktree", "add", "--quiet", "-b", name, path])
        .ok();
    dir
}

fn ledger(d: &Drive) -> Value {
    serde_json::from_str(&d.read(".git/loopx/stop-gate")).expect("the stop gate's memory")
}

/// Work of an agent between two stops.
fn work(d: &Drive, n: usize) {
    d.write("src/demo.txt", format!("step {n}\n"));
}

#[test]
fn edge_14_of_two_sessions_in_two_worktrees_only_the_owner_is_held() {
    let d = Drive::building();
    let other = linked(&d, "other");
    assert!(stop_in(&d, "other-agent", &other).is_none());
    let reason = stop(&d, "agent-1").expect("a block");
    assert!(reason.contains("session demo"), "{reason}");
    // From a subdirectory it is the same build.
    assert!(stop_in(&d, "agent-1", &d.path().join("src")).is_some());
}

#[test]
fn edge_14_of_two_sessions_in_one_worktree_only_the_owner_is_held() {
    let d = Drive::building();
    // The one that types build steps is at work on the build, whoever stops first.
    assert_eq!(pre_tool(&d, "agent-1", "git loopx run --task VS-1"), None);
    assert!(stop(&d, "agent-2").is_none());
    assert!(stop(&d, "agent-1").is_some());
    let claim = d.state()["build"]["claim"].clone();
    assert_eq!(claim["agent"], "agent-1", "{claim:#}");
    assert!(stop(&d, "agent-2").is_none());
    assert_eq!(ledger(&d)["total"], 1);
}

#[test]
fn edge_14_the_first_agent_that_stops_is_the_builds_where_none_was_known() {
    let d = Drive::building();
    let before = d.events().len();
    assert!(stop(&d, "agent-1").is_some());
    assert!(stop(&d, "agent-2").is_none());
    work(&d, 1);
    assert!(stop(&d, "agent-1").is_some());
    // One note for the agent, none for each stop.
    assert_eq!(d.events().len(), before + 1);
    d.loopx(&["status"]).says("agent session agent-1").ok();
}

#[test]
fn edge_14_after_a_crash_the_lease_ends_and_nothing_stale_is_inherited() {
    let d = Drive::planned();
    d.git(&["config", "loopx.lease", "60"]).ok();
    d.does(&["approve", "--to", "build"]);
    d.does(&["build"]);
    for n in 0..3 {
        work(&d, n);
        assert!(stop(&d, "crashed").is_some());
    }
    d.does(&["agent", "park", "--reason", "for tomorrow"]);
    assert!(stop(&d, "next").is_none(), "the owner is alive");
    d.does(&["agent", "resume"]);
    let later = |session: &str| {
        let out = d
            .call(LOOPX)
            .args(&["agent-hook", "claude", "Stop"])
            .env("GIT_COMMITTER_DATE", "1767312000 +0000")
            .stdin(stop_input(session, d.path()).to_string())
            .run();
        document(&out)
    };
    assert!(later("next").is_some(), "held from its first stop");
    let memory = ledger(&d);
    assert_eq!(
        (&memory["row"], &memory["agent"]),
        (&json!(1), &json!("next"))
    );
    let claim = d.state()["build"]["claim"].clone();
    assert_eq!(claim["over"]["agent"], "crashed", "{claim:#}");
    d.loopx(&["status"]).says("taken over from").ok();
    assert!(later("crashed").is_none(), "it has lost the build");
}

#[test]
fn edge_14_a_build_that_is_entered_again_starts_with_no_counters() {
    let d = Drive::building();
    assert!(stop(&d, "a").is_some() && stop(&d, "a").is_some());
    assert!(stop(&d, "a").is_none(), "no progress");
    d.commit_code("an end\n");
    d.finish_build();
    d.does(&["approve", "--to", "review"]);
    d.does(&["review"]);
    d.send_back("build");
    d.does(&["approve", "--to", "build"]);
    d.does(&["build", "--from-review"]);
    assert!(d.state()["build"]["blocked"].is_null());
    assert!(stop(&d, "a").is_some(), "held anew");
}

#[test]
fn edge_15_background_work_is_waited_for_and_judged_when_it_is_over() {
    let d = Drive::building();
    assert!(stop(&d, "a").is_some());
    let mut input = stop_input("a", d.path());
    for busy in ["background_tasks", "session_crons"] {
        input[busy] = json!([{"id": "1"}]);
        for _ in 0..4 {
            assert_eq!(
                hook(&d, "claude", "Stop", input.to_string().as_bytes()),
                None
            );
        }
        assert_eq!(ledger(&d)["total"], 1, "the budget is untouched");
        d.loopx(&["status"]).says("parked").ok();
        input[busy] = json!([]);
    }
    assert!(stop(&d, "a").is_some(), "evaluated again");
    assert!(ledger(&d)["parked"].is_null());
}

#[test]
fn edge_15_a_reviewer_that_we_asked_for_does_not_bring_the_same_block() {
    let d = Drive::building();
    assert!(stop(&d, "a").is_some());
    d.does(&[
        "build",
        "--delegate",
        "reviewer=active",
        "--role",
        "reviewer",
    ]);
    for _ in 0..3 {
        assert!(stop(&d, "a").is_none());
    }
    d.does(&["build", "--delegate", "reviewer=complete"]);
    assert!(stop(&d, "a").is_some());
    // A sub-agent's own end is nobody's.
    let mut input = stop_input("a", d.path());
    input["agent_id"] = json!("reviewer-1");
    assert_eq!(
        hook(&d, "claude", "SubagentStop", input.to_string().as_bytes()),
        None
    );
}

#[test]
fn edge_15_an_interrupted_or_planning_agent_is_let_go() {
    let d = Drive::building();
    let mut input = stop_input("a", d.path());
    input["permission_mode"] = json!("plan");
    assert_eq!(
        hook(&d, "claude", "Stop", input.to_string().as_bytes()),
        None
    );
    for status in ["aborted", "error"] {
        let input = json!({"conversation_id": "a", "workspace_roots": [d.path()], "status": status, "loop_count": 0});
        assert_eq!(
            hook(&d, "cursor", "stop", input.to_string().as_bytes()),
            None
        );
    }
    let input = json!({"sessionId": "a", "cwd": d.path(), "stopReason": "aborted"});
    assert_eq!(
        hook(&d, "copilot", "agentStop", input.to_string().as_bytes()),
        None
    );
}

#[test]
fn edge_16_an_audit_that_cannot_pass_holds_twice_and_is_recorded() {
    let d = Drive::building();
    for _ in 0..2 {
        assert!(stop(&d, "a").is_some());
    }
    let input = stop_input("a", d.path()).to_string();
    let out = d
        .call(LOOPX)
        .args(&["agent-hook", "claude", "Stop"])
        .stdin(input)
        .run();
    // H6: the person is told by the host, which shows no stderr of a hook.
    let said = document(&out).expect("a word");
    let keys: Vec<&String> = said.as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["systemMessage"], "{said:#}");
    let word = said["systemMessage"].as_str().expect("a text");
    assert!(word.contains("blocked:no-progress"), "{word}");
    assert!(out.stderr.contains("blocked:no-progress"), "{out}");
    assert_eq!(d.events().last().map(String::as_str), Some("blocked"));
    d.loopx(&["status"]).says("blocked:no-progress").ok();
    assert!(stop(&d, "a").is_none(), "it stays let go");
    // The next step of the build ends that.
    d.does(&["run", "--task", "VS-1"]);
    assert!(d.state()["build"]["blocked"].is_null());
    assert!(stop(&d, "a").is_some());
}

#[test]
fn edge_16_repeating_a_step_is_no_progress() {
    let d = Drive::building();
    let mut held = 0;
    for _ in 0..4 {
        d.loopx(&["run", "--", "false"]).fails_with(1);
        held += usize::from(stop(&d, "a").is_some());
    }
    assert_eq!(held, 2);
}

#[test]
fn edge_16_writing_a_document_is_progress_before_it_is_saved() {
    let d = Drive::building();
    for n in 0..4 {
        d.edit("execution-record.md", &format!("draft {n}\n"));
        assert!(stop(&d, "a").is_some(), "{n}");
    }
    assert_eq!(d.events().last().map(String::as_str), Some("claimed"));
}

#[test]
fn edge_16_progress_is_held_five_times_in_a_row_and_no_further() {
    let d = Drive::building();
    for n in 0..5 {
        work(&d, n);
        assert!(stop(&d, "a").is_some(), "{n}");
    }
    work(&d, 5);
    assert!(stop(&d, "a").is_none());
    assert_eq!(d.state()["build"]["blocked"]["cause"], "exhausted");
    // A person's word begins a new row.
    d.does(&["agent", "resume"]);
    for n in 6..9 {
        work(&d, n);
        assert!(stop(&d, "a").is_some());
    }
    let prompt = json!({"session_id": "a", "cwd": d.path(), "prompt": "go on"});
    hook(
        &d,
        "claude",
        "UserPromptSubmit",
        prompt.to_string().as_bytes(),
    );
    assert_eq!(
        (&ledger(&d)["row"], &ledger(&d)["total"]),
        (&json!(0), &json!(3))
    );
}

#[test]
fn edge_16_what_is_broken_holds_nobody_for_ever() {
    // A memory that is no JSON counts as empty.
    let d = Drive::building();
    d.write(".git/loopx/stop-gate", "{\"row\": \"broken");
    assert!(stop(&d, "a").is_some());
    // One that cannot be written holds nobody.
    std::fs::remove_file(d.path().join(".git/loopx/stop-gate")).expect("the file");
    std::fs::create_dir(d.path().join(".git/loopx/stop-gate")).expect("a folder");
    assert!(stop(&d, "a").is_none());
    std::fs::remove_dir(d.path().join(".git/loopx/stop-gate")).expect("the folder");
    // The branch is locked by another git: held twice, then let go, and nothing is left behind.
    d.write(".git/refs/heads/loopx.lock", "");
    let mut held = 0;
    for _ in 0..4 {
        held += usize::from(stop(&d, "b").is_some());
    }
    std::fs::remove_file(d.path().join(".git/refs/heads/loopx.lock")).expect("the lock");
    assert!(held <= 2, "{held}");
    // A damaged session is a failure of ours.
    let e = Drive::building();
    crate::support::store::tamper(&e, "sessions/demo/state.json", Some(b"{"));
    assert!(stop(&e, "a").is_none());
}

#[test]
fn edge_16_the_missing_evidence_comes_and_the_agent_may_stop() {
    let d = Drive::building();
    let reason = stop(&d, "a").expect("a block");
    let next = reason
        .lines()
        .find_map(|line| line.strip_prefix("Next: "))
        .expect("a next command");
    assert!(next.contains("git loopx "), "{reason}");
    d.commit_code("an end\n");
    d.prepare_build();
    let before = d.events().len();
    assert!(stop(&d, "a").is_none());
    assert_eq!(d.events().len(), before, "nothing to record");
    // Evidence for another tree is none.
    work(&d, 7);
    assert!(stop(&d, "a").is_some());
}

#[test]
fn edge_17_the_ways_out_work_under_every_rule_that_we_ship() {
    let d = Drive::building();
    let reason = stop(&d, "a").expect("a block");
    let commands: Vec<String> = reason
        .lines()
        .filter_map(|line| {
            line.split_once(": git loopx ")
                .map(|(_, rest)| rest.to_owned())
        })
        .collect();
    assert_eq!(commands.len(), 3, "{reason}");
    for rest in &commands {
        let command = format!("git loopx {rest}").replace("WHY", "'the compiler is gone'");
        assert_eq!(pre_tool(&d, "a", &command), None, "{command}");
    }
    d.does(&["agent", "block", "--reason", "the compiler is gone"]);
    assert!(stop(&d, "a").is_none());
    assert_eq!(d.state()["build"]["blocked"]["cause"], "reported");
    d.does(&["agent", "resume"]);
    work(&d, 1);
    assert!(stop(&d, "a").is_some());
    d.does(&["agent", "park", "--reason", "lunch"]);
    for _ in 0..3 {
        assert!(stop(&d, "a").is_none());
    }
    d.loopx(&["status"]).says("parked  lunch").ok();
    d.does(&["agent", "resume"]);
    assert!(stop(&d, "a").is_some());
    // A build step takes it up as well.
    d.does(&["agent", "park", "--reason", "tea"]);
    d.does(&["build", "--delegate", "w=complete"]);
    assert!(d.status()["parked"].is_null());
}

/// Every command that a message or a hint of ours names as the way on.
fn recommended() -> Vec<String> {
    let code_of = |path: &PathBuf| {
        let text = sources::text(path);
        // What stands in tests of the guard is meant to be refused.
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        code.to_owned()
    };
    let files = sources::program().into_iter();
    let files = files.filter(|path| !path.ends_with("tests.rs"));
    let texts: Vec<String> = files.map(|path| code_of(&path)).collect();
    let mut commands = Vec::new();
    for text in texts {
        for marker in [
            ".help(\"git ",
            ".help(format!(\"git ",
            "hint(\"git ",
            "next: git ",
            "`git ",
        ] {
            for part in text.split(marker).skip(1) {
                let ends = if marker.starts_with('`') { '`' } else { '"' };
                let command: String = part
                    .chars()
                    .take_while(|c| *c != ends && *c != '\n')
                    .collect();
                // What bypasses is named as such, for a person.
                let command = command
                    .split("(to bypass")
                    .next()
                    .unwrap_or_default()
                    .to_owned();
                commands.push(format!("git {command}"));
            }
        }
    }
    commands
}

#[test]
fn edge_17_no_command_that_we_recommend_is_refused() {
    let commands = recommended();
    assert!(commands.len() > 100, "{}", commands.len());
    let refused: Vec<&String> = commands
        .iter()
        .filter(|command| {
            // A person types those: they are named where a bypass is spoken of.
            !command.contains("--no-verify")
                && !command.starts_with("git commit-tree")
                && !command.starts_with("git update-ref")
                && loopx_hosts::guard::read(command).offence.is_some()
        })
        .collect();
    assert!(refused.is_empty(), "{refused:#?}");
}

#[test]
fn edge_17_the_guard_speaks_only_where_a_session_is_at_stake() {
    let d = Drive::building();
    for command in [
        "git commit --no-verify -m x",
        "git commit -nm x && git push",
        "git -c core.hooksPath=/dev/null commit -m x",
        "LOOPX=0 git push",
        "sh -c 'git commit -n'",
        "git update-ref refs/heads/loopx HEAD",
        "git update-ref HEAD HEAD~1",
        "git commit-tree HEAD^{tree} -m x",
        "git branch -f loopx main",
    ] {
        let reason = pre_tool(&d, "a", command).unwrap_or_else(|| panic!("let through: {command}"));
        assert!(reason.contains("git loopx status"), "{reason}");
    }
    for command in [
        "git commit -m \"--no-verify\"",
        "git commit -m \"$(cat <<'EOF'\nNever git commit --no-verify; don't.\nEOF\n)\"",
        "git push -n",
        "git update-ref refs/heads/mine HEAD",
        "git branch -D mine",
    ] {
        assert_eq!(pre_tool(&d, "a", command), None, "{command}");
    }
    // Another repository is not ours, nor is a branch without a session.
    let elsewhere = d.root().join("elsewhere");
    std::fs::create_dir(&elsewhere).expect("a folder");
    d.git_in(&elsewhere, &["init", "--quiet"]).ok();
    let command = format!("git -C {} commit -n -m x", elsewhere.display());
    assert_eq!(pre_tool(&d, "a", &command), None);
    let command = format!("cd {} && git commit -n -m x", elsewhere.display());
    assert_eq!(pre_tool(&d, "a", &command), None);
    d.git(&["switch", "--quiet", "main"]).ok();
    assert_eq!(pre_tool(&d, "a", "git commit -n -m x"), None);
    assert!(pre_tool(&d, "a", "git update-ref refs/heads/loopx HEAD").is_some());
}

#[test]
fn edge_18_cursor_that_runs_both_hooks_gets_one_follow_up_and_one_step() {
    for first in ["cursor", "claude"] {
        let d = Drive::building();
        for n in 0..3 {
            work(&d, n);
            let input = json!({
                "conversation_id": "c1", "generation_id": n.to_string(), "cursor_version": "3.1",
                "workspace_roots": [d.path()], "hook_event_name": "stop", "status": "completed", "loop_count": n,
            })
            .to_string();
            let calls = match first {
                "cursor" => [("cursor", "stop"), ("claude", "Stop")],
                _ => [("claude", "Stop"), ("cursor", "stop")],
            };
            let said: Vec<Value> = calls
                .iter()
                .filter_map(|(host, event)| hook(&d, host, event, input.as_bytes()))
                .collect();
            assert_eq!(said.len(), 1, "{first} {n}: {said:#?}");
            assert_eq!(ledger(&d)["total"], n + 1);
        }
    }
}

#[test]
fn edge_18_copilot_is_understood_in_both_spellings() {
    let d = Drive::building();
    let camel = json!({"sessionId": "c", "cwd": d.path(), "stopReason": "end_turn", "stopHookActive": false});
    let snake = json!({"session_id": "c", "cwd": d.path(), "stop_hook_active": true, "hook_event_name": "Stop"});
    for (event, input) in [("agentStop", camel), ("Stop", snake)] {
        let said = hook(&d, "copilot", event, input.to_string().as_bytes()).expect("a block");
        assert_eq!(said["decision"], "block", "{event}");
    }
    assert_eq!(ledger(&d)["agent"], "c");
}

#[test]
fn edge_19_whatever_comes_in_ends_with_0_and_one_document_or_nothing() {
    let d = Drive::building();
    let mut large = json!({"session_id": "a", "last_assistant_message": "x".repeat(4 << 20)});
    large["cwd"] = json!(d.path());
    let too_large = json!({"session_id": "a", "text": "x".repeat(6 << 20)}).to_string();
    let mut broken = stop_input("a", d.path()).to_string().into_bytes();
    let at = broken
        .windows(8)
        .position(|w| w == b"All done")
        .expect("the text");
    broken[at..at + 3].copy_from_slice(&[0xff, 0xfe, 0x80]);
    for host in ["claude", "codex", "cursor", "copilot", "gemini"] {
        for event in [
            "Stop",
            "stop",
            "AfterAgent",
            "SessionStart",
            "PreToolUse",
            "Nonsense",
            "",
        ] {
            for input in [
                &b""[..],
                b"{",
                b"[]",
                b"null",
                b"\xff\xfe",
                b"{\"session_id\": 3}",
                b"{} {}",
            ] {
                let said = hook(&d, host, event, input);
                let quiet = said.is_none_or(|said| said == json!({}) || event == "SessionStart");
                assert!(quiet, "{host} {event}");
            }
        }
    }
    assert!(hook(&d, "claude", "Stop", large.to_string().as_bytes()).is_some());
    assert_eq!(hook(&d, "claude", "Stop", too_large.as_bytes()), None);
    assert!(
        hook(&d, "claude", "Stop", &broken).is_some(),
        "readable around it"
    );
    assert_eq!(hook(&d, "nobody", "Stop", b"{}"), None);
    let out = d.loopx(&["agent-hook"]);
    assert_eq!(
        (out.code, out.stdout.as_str(), out.stderr.as_str()),
        (Some(0), "", "")
    );
    d.loopx(&["agent-hook", "--help"]).says("agent-hook").ok();
}

#[test]
fn edge_19_a_stdin_that_is_never_closed_ends_in_time() {
    let d = Drive::building();
    let mut child = d
        .call(LOOPX)
        .args(&["agent-hook", "claude", "Stop"])
        .command()
        .spawn()
        .expect("started");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin
        .write_all(stop_input("a", d.path()).to_string().as_bytes())
        .expect("written");
    // The pipe stays open until the hook has ended by itself.
    let status = child.wait().expect("an end");
    drop(stdin);
    assert_eq!(status.code(), Some(0));
}

#[test]
fn edge_19_no_folder_is_a_wrong_one() {
    let d = Drive::building();
    let root = d.root();
    let nowhere = root.join("nowhere");
    std::fs::create_dir(&nowhere).expect("a folder");
    let bare = root.join("bare.git");
    d.git(&[
        "clone",
        "--quiet",
        "--bare",
        ".",
        bare.to_str().expect("UTF-8"),
    ])
    .ok();
    let module = d.path().join("module");
    d.call("git")
        .args(&[
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "--quiet",
            "add",
        ])
        .args(&[bare.as_os_str(), "module".as_ref()])
        .run()
        .ok();
    for dir in [nowhere.as_path(), &bare, Path::new("/"), &module] {
        let input = stop_input("a", dir).to_string();
        for (host, event) in [
            ("claude", "Stop"),
            ("gemini", "AfterAgent"),
            ("cursor", "stop"),
        ] {
            let said = hook_in(&d, dir, host, event, input.as_bytes());
            let nothing = (host == "gemini").then(|| json!({}));
            assert_eq!(said, nothing, "{host} in {}", dir.display());
        }
    }
    // Inside .git it is the repository around it.
    let git_dir = d.path().join(".git");
    assert!(stop_in(&d, "a", &git_dir).is_some());
    // A folder that is gone: named in the call, and the one that we are started in.
    let gone = root.join("gone");
    std::fs::create_dir(&gone).expect("a folder");
    let input = stop_input("a", &gone).to_string();
    let script = format!(
        "cd {0} && rmdir {0} && exec {LOOPX} agent-hook claude Stop",
        gone.display()
    );
    let out = d
        .call("sh")
        .args(&["-c", &script])
        .stdin(input.as_str())
        .run();
    assert_eq!(document(&out), None);
    assert!(
        hook(&d, "claude", "Stop", input.as_bytes()).is_some(),
        "the one we are in has to do"
    );
}

#[test]
fn edge_20_stops_that_race_are_counted_once_each() {
    let d = Drive::building();
    assert!(stop(&d, "a").is_some());
    let input = stop_input("a", d.path()).to_string();
    let mut held = 1;
    let mut recorded = 0;
    std::thread::scope(|scope| {
        let calls: Vec<_> = (0..6)
            .map(|_| {
                scope.spawn(|| {
                    d.call(LOOPX)
                        .args(&["agent-hook", "claude", "Stop"])
                        .stdin(input.as_str())
                        .run()
                })
            })
            .collect();
        for call in calls {
            let out = call.join().expect("an end");
            recorded += usize::from(out.stderr.contains("blocked:no-progress"));
            held += usize::from(document(&out).is_some_and(|said| said["decision"] == "block"));
        }
    });
    assert_eq!(held, 2, "two identical blocks");
    assert!(recorded >= 1);
    assert_eq!(ledger(&d)["total"], 2);
    d.loopx(&["fsck"]).ok();
}

#[test]
fn without_sessions_a_stop_starts_no_process_and_writes_nothing() {
    let s = Sandbox::new();
    s.commit_file("a.txt", "a\n", "a").ok();
    s.program("git", "#!/bin/sh\necho started >> \"$0.log\"\nexit 1\n");
    let before = s.snapshot(".git");
    let input = stop_input("a", s.path()).to_string();
    for (event, input) in [
        ("Stop", input.as_str()),
        ("SessionStart", input.as_str()),
        ("UserPromptSubmit", input.as_str()),
        (
            "PreToolUse",
            "{\"tool_input\":{\"command\":\"git commit -n\"}}",
        ),
    ] {
        assert_eq!(hook(&s, "claude", event, input.as_bytes()), None);
    }
    assert!(!s.root().join("bin/git.log").exists(), "git was started");
    assert!(s.snapshot(".git") == before, "something was written");
}

#[test]
fn a_session_starts_with_a_short_word_on_where_the_work_stands() {
    let d = Drive::building();
    let input = json!({"session_id": "a", "cwd": d.path(), "source": "compact"}).to_string();
    let said = hook(&d, "claude", "SessionStart", input.as_bytes()).expect("a word");
    let text = said["hookSpecificOutput"]["additionalContext"]
        .as_str()
        .expect("a text");
    // The card of the next task, and nothing is claimed by it.
    for part in [ID, "stage build", "Task VS-1 of", "`git loopx take VS-1`"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(text.lines().count() <= 40 && text.len() < 3_000, "{text}");
    assert!(!text.contains("Next: "), "{text}");
    // Of the task that is taken here the card goes before; where no task is ready, what holds the stage is told.
    d.does(&["take", "VS-1"]);
    let told = || {
        let said = hook(&d, "claude", "SessionStart", input.as_bytes()).expect("a word");
        let text = said["hookSpecificOutput"]["additionalContext"].clone();
        text.as_str().expect("a text").to_owned()
    };
    let text = told();
    for part in ["is taken for you", "`git loopx task done VS-1`"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    d.does(&["task", "done", "VS-1"]);
    let text = told();
    assert!(text.contains("Next: edit .loopx/demo/"), "{text}");
    d.git(&["switch", "--quiet", "main"]).ok();
    assert_eq!(hook(&d, "claude", "SessionStart", input.as_bytes()), None);
}

#[test]
fn a_prompt_hears_what_holds_the_build() {
    let d = Drive::building();
    let input = json!({"session_id": "a", "cwd": d.path(), "prompt": "x"}).to_string();
    assert_eq!(
        hook(&d, "claude", "UserPromptSubmit", input.as_bytes()),
        None
    );
    d.does(&["agent", "block", "--reason", "no\u{1b}[31m network"]);
    let said = hook(&d, "gemini", "BeforeAgent", input.as_bytes()).expect("a word");
    let text = said["hookSpecificOutput"]["additionalContext"]
        .as_str()
        .expect("a text");
    assert!(text.contains("blocked:reported (no[31m network)"), "{text}");
}

#[test]
fn loopx_0_switches_the_stop_gate_off_too() {
    let d = Drive::building();
    let out = d
        .call(LOOPX)
        .args(&["agent-hook", "claude", "Stop"])
        .env("LOOPX", "0")
        .stdin(stop_input("a", d.path()).to_string())
        .run();
    assert_eq!(document(&out), None);
}

#[test]
fn the_ways_out_ask_for_a_reason_and_for_a_build() {
    let d = Drive::building();
    for command in ["block", "park"] {
        d.fails(2, &["agent", command]).is("reason_required", &[]);
        d.fails(2, &["agent", command, "--reason", " "])
            .is("reason_required", &[]);
    }
    d.fails(5, &["agent", "resume"])
        .is("nothing_to_resume", &[]);
    let other = linked(&d, "other");
    for command in ["block", "park"] {
        d.fails_as(6, |d| {
            d.loopx_in(
                &other,
                &["--json", "-s", ID, "agent", command, "--reason", "x"],
            )
        })
        .is("build_held", &[]);
    }
    let planned = Drive::planned();
    for command in ["block", "park"] {
        planned
            .refuses(&["agent", command, "--reason", "x"])
            .is("stage_mismatch", &[]);
    }
}

#[test]
fn the_former_spellings_of_block_park_and_resume_still_work() {
    let d = Drive::building();
    d.does(&["block", "--reason", "no network"]);
    let done = d.does(&["resume"]);
    assert_eq!(
        (&done["command"], &done["blocked"]),
        (&json!("agent resume"), &json!("reported"))
    );
    let done = d.does(&["park", "--reason", "lunch"]);
    assert_eq!(done["next_action"], "git loopx agent resume");
    let help = d.loopx(&["help"]).ok();
    assert!(!help.contains("\n  park"), "{help}");
}

#[test]
fn n12_a_build_that_is_taken_up_is_done_whatever_the_memory_of_the_gate_says() {
    let d = Drive::building();
    d.does(&["agent", "block", "--reason", "the compiler is gone"]);
    let memory = d.path().join(".git/loopx/stop-gate");
    drop(std::fs::remove_file(&memory));
    std::fs::create_dir_all(&memory).expect("a folder in the way");
    d.loopx(&["agent", "resume", "--reason", "it is up"])
        .says("warning: the build of demo is resumed; left: the memory of the stop gate")
        .ok();
    assert!(d.state()["build"]["blocked"].is_null());
}
