//! `agent install|uninstall|status|material`, and the answers to each host against golden payloads.

use crate::support::agent::document;
use crate::support::drive::Drive;
use crate::support::{LOOPX, Sandbox, copy_program};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const HOSTS: [(&str, &str); 5] = [
    ("claude", ".claude/settings.json"),
    ("codex", ".codex/hooks.json"),
    ("cursor", ".cursor/hooks.json"),
    ("copilot", ".github/hooks/git-loopx.json"),
    ("gemini", ".gemini/settings.json"),
];

fn repository() -> Sandbox {
    let s = Sandbox::new();
    s.commit_file("a.txt", "a\n", "a").ok();
    s
}

fn state(s: &Sandbox, host: &str) -> String {
    let status = s.loopx(&["--json", "agent", "status"]).json();
    let rows = status["hosts"].as_array().expect("hosts").iter();
    let mut states = rows.filter(|row| row["host"] == host);
    let row = states.next().expect("a row");
    row["state"].as_str().expect("a state").to_owned()
}

/// The commands in a host's file, by event.
fn commands(s: &Sandbox, file: &str) -> Vec<(String, String)> {
    fn walk(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(map) => {
                for (key, value) in map {
                    match value.as_str() {
                        Some(text) if key == "command" || key == "bash" && text != "command" => {
                            found.push(text.to_owned());
                        }
                        _ => walk(value, found),
                    }
                }
            }
            Value::Array(list) => list.iter().for_each(|value| walk(value, found)),
            _ => {}
        }
    }
    let file: Value = serde_json::from_str(&s.read(file)).expect("JSON");
    let events = file["hooks"].as_object().expect("events");
    let mut found = Vec::new();
    for (event, value) in events {
        let mut commands = Vec::new();
        walk(value, &mut commands);
        found.extend(commands.into_iter().map(|command| (event.clone(), command)));
    }
    found
}

#[test]
fn installing_twice_is_once_and_taking_out_leaves_no_trace() {
    for (host, file) in HOSTS {
        let s = repository();
        let before = s.snapshot(".");
        assert_eq!(state(&s, host), "absent");
        s.loopx(&["agent", "install", host, "--dry-run"])
            .says("+++ b/")
            .ok();
        let worktree = |s: &Sandbox| {
            let mut files = s.snapshot(".");
            files.retain(|(path, ..)| !path.starts_with(".git/loopx"));
            files
        };
        assert!(worktree(&s) == before, "a dry run wrote");
        s.loopx(&["agent", "install", host])
            .says("is wired into")
            .ok();
        assert_eq!(state(&s, host), "current");
        let written = s.read(file);
        let again = s.loopx(&["--json", "agent", "install", host]).json();
        assert_eq!(again["changed"], false, "{again:#}");
        assert_eq!(s.read(file), written);
        s.loopx(&["agent", "uninstall", host]).ok();
        assert!(worktree(&s) == before, "{host}: something is left");
        s.loopx(&["agent", "uninstall", host])
            .says("nothing to do")
            .ok();
    }
}

#[test]
fn what_stood_there_comes_back_byte_for_byte() {
    let text = "{\r\n\t\"hooks\" : { \"Stop\": [] , \"stop\": [ ],\"AfterAgent\":[]},\r\n\t\"b\": 1, \"a\": [ 2 ]\r\n}";
    for (host, file) in HOSTS {
        let s = repository();
        s.write(file, text);
        s.loopx(&["agent", "install", host]).ok();
        let wired = s.read(file);
        assert!(wired.contains("\"b\": 1, \"a\": [ 2 ]\r\n}"), "{wired}");
        // An update between keeps what stood there first.
        s.write(file, wired.replace("agent-hook:1", "agent-hook:0"));
        assert_eq!(state(&s, host), "outdated");
        s.write(file, &wired);
        s.loopx(&["agent", "uninstall", host]).ok();
        assert_eq!(s.read(file), text, "{host}");
        // Somebody wrote meanwhile: only ours goes.
        s.loopx(&["agent", "install", host]).ok();
        let edited = s.read(file).replace("\"b\": 1", "\"b\": 3");
        s.write(file, edited);
        s.loopx(&["agent", "uninstall", host]).ok();
        let back: Value = serde_json::from_str(&s.read(file)).expect("JSON");
        assert_eq!(back["b"], 3);
        assert!(!s.read(file).contains("loopx"), "{}", s.read(file));
    }
}

#[test]
fn n13_what_was_kept_and_cannot_be_read_is_not_taken_for_none() {
    let s = repository();
    let odd = "{ \"model\":  \"x\",\n\n   \"hooks\": {} }\n";
    s.write(".claude/settings.json", odd);
    s.loopx(&["agent", "install", "claude"]).ok();
    let wired = s.read(".claude/settings.json");
    let call = s.call(LOOPX).args(&["agent", "uninstall", "claude"]);
    let out = call.env("LOOPX_FAILPOINT", "error:kept-read").run();
    assert_ne!(out.code, Some(0), "{out}");
    assert_eq!(s.read(".claude/settings.json"), wired);
    s.loopx(&["agent", "uninstall", "claude"]).ok();
    assert_eq!(s.read(".claude/settings.json"), odd);
}

#[test]
fn a_file_that_cannot_be_read_is_not_written() {
    let s = repository();
    for text in [&b"// mine\n{}"[..], b"{\"hooks\": 3}", b"\xff\xfe{}"] {
        s.write(".claude/settings.json", text);
        for command in ["install", "uninstall"] {
            let out = s
                .loopx(&["--json", "agent", command, "claude"])
                .fails_with(1);
            let error = out.error_json();
            assert_eq!(error["error"]["code"], "agent_config_unreadable", "{out}");
        }
        assert_eq!(s.bytes(".claude/settings.json"), text);
        assert_eq!(state(&s, "claude"), "unreadable");
        // What the refusal recommends works.
        s.loopx(&["agent", "install", "claude", "--dry-run"])
            .says("agent-hook claude Stop")
            .ok();
    }
    let target = s.root().join("outside.json");
    s.write(&target, "{}");
    fs::remove_file(s.path().join(".claude/settings.json")).expect("the file");
    std::os::unix::fs::symlink(&target, s.path().join(".claude/settings.json")).expect("a link");
    s.loopx(&["agent", "install", "claude"]).fails_with(1);
    assert_eq!(s.read(&target), "{}", "written through a link");
    s.loopx(&["agent", "install", "emacs"]).fails_with(2);
}

/// Case 2 of the reference for agents: a host must not hear 127.
#[test]
fn edge_02_a_deleted_binary_lets_every_host_go_on() {
    for (host, file) in HOSTS {
        let s = repository();
        let copy = s.root().join("it's here");
        fs::create_dir(&copy).expect("a folder");
        let program = copy.join("git-loopx");
        copy_program(&program);
        s.call(&program)
            .args(&["agent", "install", host])
            .run()
            .ok();
        let commands = commands(&s, file);
        assert!(commands.len() >= 4, "{commands:#?}");
        fs::remove_file(&program).expect("the copy");
        for (event, command) in &commands {
            let out = s
                .call("sh")
                .args(&["-c", command])
                .env("PATH", s.path_without_loopx())
                .stdin("{}")
                .run();
            assert_eq!(
                (out.code, out.stdout.as_str()),
                (Some(0), ""),
                "{host} {event}\n{out}"
            );
        }
    }
}

#[test]
fn the_installed_commands_find_the_program_at_its_place_and_then_in_path() {
    for (host, file) in HOSTS {
        let d = Drive::building();
        d.loopx(&["agent", "install", host]).ok();
        let input = json!({"session_id": "a", "cwd": d.path()}).to_string();
        let commands = commands(&d, file);
        let stop = commands.iter().find(|(event, _)| {
            ["Stop", "stop", "agentStop", "AfterAgent"].contains(&event.as_str())
        });
        let (_, stop) = stop.expect("a stop hook");
        let out = d
            .call("sh")
            .args(&["-c", stop])
            .env("PATH", d.path_without_loopx())
            .stdin(input.as_str())
            .run();
        let said = document(&out).expect("a block").to_string();
        assert!(said.contains("not ready for review"), "{host}: {said}");
        let moved = stop.replace(LOOPX, "/nowhere/git-loopx");
        let out = d
            .call("sh")
            .args(&["-c", &moved])
            .stdin(input.as_str())
            .run();
        assert!(document(&out).is_some(), "{host}: not found in PATH\n{out}");
    }
}

#[test]
fn codex_is_wired_in_the_primary_checkout() {
    let s = repository();
    let other = s.root().join("other");
    s.git(&["worktree", "add", "--quiet", other.to_str().expect("UTF-8")])
        .ok();
    s.loopx_in(&other, &["agent", "install", "codex"])
        .says("trusted")
        .ok();
    assert!(s.exists(".codex/hooks.json") && !other.join(".codex").exists());
    s.loopx_in(&other, &["agent", "install", "claude"]).ok();
    assert!(other.join(".claude/settings.json").exists());
    s.loopx_in(&other, &["agent", "uninstall", "codex"]).ok();
    assert!(!s.exists(".codex"));
}

#[test]
fn material_is_written_renewed_kept_where_edited_and_taken_away() {
    let s = repository();
    s.write("AGENTS.md", "# House rules\n");
    s.write("CLAUDE.md", "@AGENTS.md\n");
    let before = s.snapshot(".");
    s.loopx(&["agent", "material", "--dry-run"])
        .says("+## git loopx")
        .ok();
    assert!(s.snapshot(".") == before, "a dry run wrote");
    s.loopx(&["agent", "material"]).ok();
    assert!(
        s.read("AGENTS.md")
            .starts_with("# House rules\n\n<!-- git-loopx:begin ")
    );
    assert_eq!(
        s.read("CLAUDE.md"),
        "@AGENTS.md\n",
        "it has the block by its import"
    );
    let skill = ".agents/skills/git-loopx/SKILL.md";
    assert!(s.read(skill).starts_with("---\nname: git-loopx\n"));
    let states = || {
        let status = s.loopx(&["--json", "agent", "status"]).json();
        let pieces = status["material"].as_array().expect("material").clone();
        let word = |piece: &Value| piece["state"].as_str().expect("a state").to_owned();
        pieces.iter().map(word).collect::<Vec<_>>()
    };
    assert_eq!(states(), ["current", "absent", "current"]);
    // Two writers: what somebody edited is his.
    let edited = s.read(skill).replace("git loopx status", "git loopx list");
    s.write(skill, &edited);
    let agents = s.read("AGENTS.md");
    assert_eq!(states(), ["current", "absent", "edited"]);
    s.loopx(&["agent", "material"]).says("somebody edited").ok();
    s.loopx(&["agent", "material", "--remove"])
        .says("somebody edited")
        .ok();
    assert_eq!(s.read(skill), edited);
    assert_eq!(s.read("AGENTS.md"), "# House rules\n");
    s.write("AGENTS.md", &agents);
    fs::remove_file(s.path().join(skill)).expect("the skill");
    s.loopx(&["agent", "material", "--remove"]).ok();
    fs::remove_dir_all(s.path().join(".agents")).ok();
    assert!(s.snapshot(".") == before, "not as it was");
}

#[test]
fn a_claude_md_without_an_import_gets_the_block_and_a_link_is_left_alone() {
    let s = repository();
    s.write("CLAUDE.md", "Be brief.");
    s.loopx(&["agent", "material"]).ok();
    assert!(
        s.read("CLAUDE.md")
            .starts_with("Be brief.\n\n<!-- git-loopx:begin ")
    );
    let t = repository();
    std::os::unix::fs::symlink("AGENTS.md", t.path().join("CLAUDE.md")).expect("a link");
    t.loopx(&["agent", "material"]).ok();
    assert_eq!(t.read("AGENTS.md").matches("git-loopx:begin").count(), 1);
    assert!(
        fs::symlink_metadata(t.path().join("CLAUDE.md"))
            .expect("a link")
            .is_symlink()
    );
}

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/agent")
}

/// Each example payload with the answer that it gets from a build that is not ready.
#[test]
fn every_host_is_answered_as_its_golden_files_say() {
    let blessing = std::env::var_os("LOOPX_BLESS").is_some_and(|value| value == "1");
    let mut seen = BTreeSet::new();
    for host in fs::read_dir(golden()).expect("tests/golden/agent") {
        let host = host.expect("an entry").path();
        let name = host
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        for file in fs::read_dir(&host).expect("a folder") {
            let file = file.expect("an entry").path();
            let stem = file
                .file_name()
                .expect("a name")
                .to_string_lossy()
                .into_owned();
            let Some(payload) = stem.strip_suffix("-in.json") else {
                continue;
            };
            // `EVENT.VARIANT`: another call of the same event.
            let event = payload.split('.').next().unwrap_or_default();
            let d = Drive::building();
            let input = fs::read_to_string(&file).expect("a payload");
            let input = input.replace("@REPO@", d.path().to_str().expect("UTF-8"));
            drop(serde_json::from_str::<Value>(&input).expect("the payload is JSON"));
            let out = d
                .call(LOOPX)
                .args(&["agent-hook", &name, event])
                .stdin(input)
                .run();
            let said = document(&out).map_or(String::new(), |said| format!("{said:#}\n"));
            let said = normal(&said);
            let wanted = host.join(format!("{payload}-out.json"));
            if blessing {
                fs::write(&wanted, &said).expect("a golden file");
            }
            let wanted = fs::read_to_string(&wanted).expect("an answer; LOOPX_BLESS=1 writes it");
            assert_eq!(said, wanted, "{name} {payload}");
            seen.insert((name.clone(), event.to_owned()));
        }
    }
    for host in loopx_hosts::Host::ALL {
        for (event, _) in host.events() {
            let key = (host.name().to_owned(), (*event).to_owned());
            assert!(seen.contains(&key), "no payload of {host} for {event}");
        }
    }
}

/// Names of worktrees are random, and leases end at the time of the test's clock.
fn normal(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("until 2026-") {
        out.push_str(&rest[..at]);
        out.push_str("until <time>");
        rest = &rest[at + "until 2026-01-01T00:00:00Z".len()..];
    }
    out + rest
}
