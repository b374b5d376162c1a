//! `setup server`: a bare repository that is wired in one command, and the proof that it refuses what it has to,
//! by real pushes of which nothing stays.

use crate::support::server::{FORMATS, begun};
use crate::support::session::begin;
use crate::support::{LOOPX, Output, Sandbox};
use serde_json::Value;
use std::path::PathBuf;

const PROTECTED: &str = "[gates]\nprotected = [\"main\"]\n";

fn bare(s: &Sandbox) -> PathBuf {
    let format = s.git(&["rev-parse", "--show-object-format"]).line();
    let format = format!("--object-format={format}");
    s.git(&["init", "--quiet", "--bare", &format, "../remote.git"])
        .ok();
    s.git(&["remote", "add", "origin", "../remote.git"]).ok();
    s.root().join("remote.git")
}

/// A server that has `main` under this policy and the branch of sessions, and nothing else.
fn served(policy: &str) -> (Sandbox, PathBuf) {
    let s = Sandbox::new();
    begin(&s, policy);
    let dir = bare(&s);
    s.git(&["push", "--quiet", "origin", "main", "loopx"]).ok();
    (s, dir)
}

fn setup(s: &Sandbox) -> Output {
    s.loopx(&["--json", "setup", "server", "../remote.git"])
}

fn check(s: &Sandbox) -> Output {
    s.loopx(&["--json", "setup", "server", "--check", "../remote.git"])
}

fn states(document: &Value) -> Vec<&str> {
    let steps = document["steps"].as_array().expect("steps").iter();
    steps
        .map(|step| step["state"].as_str().expect("a state"))
        .collect()
}

/// Ending of each attempt: `WHAT: ENDING BY`.
fn endings(document: &Value) -> Vec<String> {
    let rows = document["attempts"].as_array().expect("attempts").iter();
    let text = |row: &Value, key: &str| row[key].as_str().unwrap_or("nobody").to_owned();
    rows.map(|row| {
        format!(
            "{}: {} {}",
            text(row, "what"),
            text(row, "ending"),
            text(row, "by")
        )
    })
    .collect()
}

#[track_caller]
fn has(document: &Value, wanted: &str) {
    let endings = endings(document);
    assert!(
        endings.iter().any(|row| row == wanted),
        "{wanted} in {endings:#?}"
    );
}

#[test]
fn one_command_wires_a_server_and_the_second_time_nothing_is_left_to_do() {
    let s = Sandbox::new();
    let dir = bare(&s);
    let before = s.snapshot(&dir);
    let would = s
        .loopx(&["--json", "setup", "server", "-n", "../remote.git"])
        .json();
    assert_eq!(states(&would), ["would"; 4]);
    assert!(s.snapshot(&dir) == before, "a dry run wrote");
    let done = setup(&s).json();
    assert_eq!(states(&done), ["done"; 4]);
    assert_eq!(done["changed"], true);
    // An empty server has nothing to judge by, and says so.
    assert!(
        done["warnings"][0]
            .as_str()
            .expect("a warning")
            .contains("no commit yet")
    );
    let get = |key: &str| {
        s.git_in(&dir, &["config", "--local", "--get-all", key])
            .ok()
    };
    assert_eq!(get("receive.fsckObjects"), "true\n");
    assert_eq!(get("receive.hideRefs"), "refs/replace\nrefs/loopx\n");
    assert_eq!(s.mode(dir.join("hooks/pre-receive")) & 0o111, 0o111);
    let wired = s.snapshot(&dir);
    let again = setup(&s).json();
    assert_eq!(states(&again), ["found"; 4]);
    assert_eq!(again["changed"], false);
    assert!(s.snapshot(&dir) == wired, "the second time wrote");
    // The first push of all is taken, and what it protects holds from then on.
    begin(&s, PROTECTED);
    s.git(&["push", "--quiet", "origin", "main", "loopx"]).ok();
    assert_eq!(setup(&s).json()["warnings"], serde_json::json!([]));
    s.git(&["switch", "--quiet", "main"]).ok();
    s.commit_file("src/evil", "evil\n", "evil").ok();
    s.git(&["push", "--quiet", "origin", "main"])
        .fails_with(1)
        .says("protected_without_session");
    s.git(&["push", "--quiet", "origin", "main:refs/replace/1"])
        .fails_with(1);
    // A hook that lost its mode is passed over by git.
    s.chmod(dir.join("hooks/pre-receive"), 0o644);
    assert_eq!(
        states(&setup(&s).json()),
        ["found", "found", "found", "done"]
    );
}

#[test]
fn what_is_shared_stays_shared() {
    let s = Sandbox::new();
    let dir = bare(&s);
    s.git_in(&dir, &["config", "core.sharedRepository", "0660"])
        .ok();
    std::fs::remove_dir_all(dir.join("hooks")).expect("no hooks");
    let mut call = s.call("sh");
    call = call.args(&[
        "-c",
        "umask 077; exec \"$0\" setup server ../remote.git",
        LOOPX,
    ]);
    call.run().ok();
    assert_eq!(s.mode(dir.join("hooks/pre-receive")), 0o770);
    assert_eq!(s.mode(dir.join("hooks")) & 0o777, 0o770);
}

#[test]
fn g14_a_server_that_is_set_up_refuses_each_attack_and_nothing_of_the_check_stays() {
    for format in FORMATS {
        let s = begun(format, PROTECTED);
        let dir = bare(&s);
        s.git(&["push", "--quiet", "origin", "main", "loopx"]).ok();
        setup(&s).ok();
        let before = s.snapshot(&dir);
        let out = check(&s);
        let said = out.json();
        out.ok();
        assert!(
            s.snapshot(&dir) == before,
            "the check left something: {format}"
        );
        assert_eq!(
            endings(&said),
            [
                "an object replaced: refused ref_closed",
                "what the server knows of sessions: refused ref_closed",
                "an object that git refuses: refused git",
                "code that nobody reviewed: refused protected_without_session",
                "a policy that protects nothing: refused path_guarded",
                "a protected branch replaced: refused protected_set_back",
                "a protected branch deleted: refused protected_set_back",
                "a tree with a .git in it: refused tree_name_invalid",
                "the sessions deleted: refused sessions_deleted",
                "the sessions replaced: refused sessions_invalid",
                "a state without operations: refused sessions_invalid",
                "an honest push: taken nobody",
            ]
        );
        assert_eq!(said["ok"], true);
    }
}

#[test]
fn names_that_a_shell_would_read_otherwise_change_nothing() {
    let (s, _) = served(PROTECTED);
    let odd = "../a 'b' $c;d.git";
    s.git(&["clone", "--quiet", "--bare", "../remote.git", odd])
        .ok();
    let tmp = s.root().join("t 'm' $p;");
    std::fs::create_dir(&tmp).expect("a folder");
    let next = s.loopx(&["--json", "setup", "server", odd]).json();
    let next = next["next_action"].as_str().expect("a command").to_owned();
    let before = s.snapshot(odd);
    let check = s.call("sh").args(&["-c", &next]).env("TMPDIR", &tmp);
    check.run().ok();
    assert!(s.snapshot(odd) == before, "the check left something");
    assert_eq!(s.snapshot(&tmp), []);
}

#[test]
fn what_would_get_in_is_named_and_does_not() {
    let (s, dir) = served(PROTECTED);
    let refs = || s.git_in(&dir, &["for-each-ref"]).ok();
    let objects = || s.git_in(&dir, &["count-objects", "-v"]).ok();
    let before = (refs(), objects());
    // No hook at all: everything gets in.
    let open = check(&s).fails_with(1).json();
    assert_eq!(open["ok"], false);
    for what in [
        "an object replaced",
        "code that nobody reviewed",
        "a protected branch deleted",
        "the sessions replaced",
        "an object that git refuses",
    ] {
        has(&open, &format!("{what}: gets-in nobody"));
    }
    has(&open, "an honest push: taken nobody");
    // Whoever administers it goes round git's own check.
    setup(&s).ok();
    let config = |args: &[&str]| s.git_in(&dir, &[&["config"], args].concat()).ok();
    config(&["receive.fsckObjects", "false"]);
    let said = check(&s).fails_with(1).json();
    has(&said, "an object that git refuses: gets-in nobody");
    has(
        &said,
        "code that nobody reviewed: refused protected_without_session",
    );
    // A hook that refuses everything proves nothing of the attacks, and holds the honest.
    setup(&s).ok();
    s.script(
        dir.join("hooks/pre-receive"),
        "#!/bin/sh\necho no\nexit 1\n",
    );
    let said = check(&s).fails_with(1).json();
    has(&said, "an object replaced: unproven nobody");
    has(&said, "an honest push: held nobody");
    assert_eq!((refs(), objects()), before);
}

#[test]
fn a_policy_that_protects_nothing_is_warned_of_and_fails_the_check() {
    let (s, _) = served("");
    let said = setup(&s).json();
    assert!(
        said["warnings"][0]
            .as_str()
            .expect("a warning")
            .contains("protects no branch")
    );
    let said = check(&s).fails_with(1).json();
    has(&said, "code that nobody reviewed: gets-in nobody");
}

/// A new branch is judged by the policy of the default one: where that is not there, by none.
#[test]
fn a_head_that_names_no_branch_is_warned_of_and_fails_the_check() {
    let (s, dir) = served(PROTECTED);
    setup(&s).ok();
    s.git(&["push", "--quiet", "--no-verify", "origin", "main:a"])
        .ok();
    s.git_in(&dir, &["symbolic-ref", "HEAD", "refs/heads/trunk"])
        .ok();
    let way = "symbolic-ref HEAD refs/heads/main";
    let said = setup(&s).json();
    assert!(
        said["warnings"][0]
            .as_str()
            .expect("a warning")
            .contains(way)
    );
    let said = check(&s).fails_with(1).json();
    assert_eq!(said["ok"], false);
    assert!(said["next_action"].to_string().contains(way));
    s.git_in(&dir, &["symbolic-ref", "HEAD", "refs/heads/main"])
        .ok();
    check(&s).ok();
}

#[test]
fn a_hook_that_is_there_is_kept_and_both_judge_the_same_push() {
    let (s, dir) = served(PROTECTED);
    let theirs = "#!/bin/sh\ncat >>seen\n[ ! -e closed ] || { echo theirs says no >&2; exit 3; }\n";
    s.script(dir.join("hooks/pre-receive"), theirs);
    let done = setup(&s).json();
    assert_eq!(states(&done), ["done"; 5]);
    assert_eq!(states(&setup(&s).json()), ["found"; 4]);
    assert_eq!(s.read(dir.join("hooks/pre-receive.before-loopx")), theirs);
    s.git(&["branch", "free", "main"]).ok();
    s.git(&["push", "--quiet", "origin", "free"]).ok();
    let seen = s.read(dir.join("seen"));
    assert!(
        seen.ends_with(" refs/heads/free\n") && seen.lines().count() == 1,
        "{seen}"
    );
    s.git(&["switch", "--quiet", "main"]).ok();
    s.commit_file("src/evil", "evil\n", "evil").ok();
    s.git(&["push", "--quiet", "origin", "main"])
        .fails_with(1)
        .says("protected_without_session");
    s.write(dir.join("closed"), "");
    s.git(&["push", "--quiet", "origin", "main:other"])
        .fails_with(1)
        .says("theirs says no");
    std::fs::remove_file(dir.join("closed")).expect("open again");
    check(&s).ok();
    // A second one cannot be kept too.
    s.script(dir.join("hooks/pre-receive"), "#!/bin/sh\nexit 0\n");
    let before = s.snapshot(&dir);
    let refused = setup(&s).fails_with(1).error_json();
    assert_eq!(refused["error"]["code"], "hook_saved_already");
    assert!(s.snapshot(&dir) == before, "a refusal wrote");
}

#[test]
fn a_refs_list_that_was_cut_off_stays_so_behind_a_kept_hook() {
    let (s, dir) = served(PROTECTED);
    s.script(dir.join("hooks/pre-receive"), "#!/bin/sh\ncat >/dev/null\n");
    setup(&s).ok();
    let id = s.git(&["rev-parse", "main"]).line();
    let hook = || s.call(dir.join("hooks/pre-receive")).cwd(&dir);
    let line = format!("{} {id} refs/heads/x", "0".repeat(40));
    hook().stdin(format!("{line}\n")).run().ok();
    hook()
        .stdin(line)
        .run()
        .fails_with(1)
        .says("expected whole lines");
}

#[test]
fn a_script_of_the_administrator_that_asks_git_loopx_is_left_alone() {
    let (s, dir) = served(PROTECTED);
    let script = "#!/bin/sh\nexec git-loopx hook pre-receive\n";
    s.script(dir.join("hooks/pre-receive"), script);
    assert_eq!(states(&setup(&s).json()), ["done", "done", "done", "found"]);
    assert_eq!(s.read(dir.join("hooks/pre-receive")), script);
    check(&s).ok();
}

#[test]
fn what_is_no_server_is_refused_and_nothing_is_written() {
    let (s, dir) = served(PROTECTED);
    s.git_in(&dir, &["config", "core.hooksPath", "/nowhere/hooks"])
        .ok();
    let inside = dir.join("refs");
    for (place, code, exit) in [
        (PathBuf::from("../nothing"), "no_repository", 4),
        (s.root(), "no_repository", 4),
        (PathBuf::from("."), "server_not_bare", 1),
        (PathBuf::from(".git"), "server_not_bare", 1),
        (inside, "server_not_bare", 1),
        (dir.clone(), "hooks_path_foreign", 1),
    ] {
        let before = (s.snapshot("."), s.snapshot(&dir));
        let place = place.to_str().expect("UTF-8");
        let said = s
            .loopx(&["--json", "setup", "server", place])
            .fails_with(exit);
        assert_eq!(said.error_json()["error"]["code"], code, "{place}");
        assert!((s.snapshot("."), s.snapshot(&dir)) == before, "{place}");
    }
}

#[test]
fn a_branch_whose_name_is_a_whole_ref_leaves_the_check_as_it_is() {
    let (s, dir) = served(PROTECTED);
    setup(&s).ok();
    let whole = endings(&check(&s).json());
    let main = s.git(&["rev-parse", "main"]).line();
    for name in [
        "refs/heads/refs/heads/main",
        "refs/tags/refs/heads/main",
        "refs/heads/refs/heads/loopx",
        "refs/refs/heads/main",
    ] {
        s.git_in(&dir, &["update-ref", name, &main]).ok();
    }
    let out = check(&s);
    assert_eq!(endings(&out.json()), whole);
    out.ok();
}
