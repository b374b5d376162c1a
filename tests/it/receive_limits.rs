//! Cost of a push for a server: records, merges, bytes and time, each with the setting that limits it.

use crate::support::Sandbox;
use crate::support::server::{begun, push, refused, remote, server};
use crate::support::session::tip;
use crate::support::store::tamper;
use crate::support::{LOOPX, Output};

fn limit(s: &Sandbox, setting: &str, value: &str) {
    s.git_in(remote(s), &["config", setting, value]).ok();
}

/// Refused under one value of a setting, which is named, and taken under another one.
#[track_caller]
fn limited(s: &Sandbox, what: &[&str], setting: &str, (low, high): (&str, &str)) {
    limit(s, setting, low);
    refused(s, what, setting).says("git config loopx.receive");
    limit(s, setting, high);
    push(s, what).ok();
}

#[test]
fn g19_a_push_brings_no_more_records_than_a_server_judges_at_once() {
    let s = begun("sha1", "");
    server(&s);
    for _ in 0..4 {
        s.loopx(&["-s", "demo", "run", "--", "true"]).ok();
    }
    limited(&s, &["loopx"], "loopx.receiveRecords", ("3", "4"));
    // Archiving moves a session, and brings one record.
    limit(&s, "loopx.receiveRecords", "1");
    s.loopx(&["-s", "demo", "abandon"]).ok();
    push(&s, &["loopx"]).ok();
    // Many in one commit count as many.
    let folder = "sessions/demo/ops";
    let before = tip(&s);
    let commits = ["x", "y", "z"].map(|name| {
        tamper(&s, &format!("{folder}/00000009-{name}.json"), Some(b"{}"));
        s.git(&["rev-parse", "loopx^{tree}"]).line()
    });
    let tree = &commits[2];
    let commit = s.git(&["commit-tree", tree, "-p", &before, "-m", "x"]);
    s.git(&["update-ref", "refs/heads/loopx", &commit.line()])
        .ok();
    refused(&s, &["loopx"], "loopx.receiveRecords");
}

#[test]
fn g19_merges_and_bytes_are_counted_before_they_are_judged() {
    let s = begun("sha1", "[gates]\nprotected = [\"main\"]\n");
    server(&s);
    push(&s, &["demo"]).ok();
    let tree = s.git(&["rev-parse", "main^{tree}"]).line();
    let mut newest = s.git(&["rev-parse", "main"]).line();
    for n in 0..3 {
        let message = format!("merge {n}");
        let side = ["commit-tree", &tree, "-p", "main", "-m", &message];
        let side = s.git(&side).line();
        let merge = [
            "commit-tree",
            &tree,
            "-p",
            &newest,
            "-p",
            &side,
            "-m",
            &message,
        ];
        newest = s.git(&merge).line();
    }
    s.git(&["update-ref", "refs/heads/merged", &newest]).ok();
    limit(&s, "loopx.receiveMerges", "2");
    refused(&s, &["merged:demo"], "loopx.receiveMerges");
    // A branch that nobody judges is not counted either.
    push(&s, &["merged:refs/heads/free"]).ok();
    limit(&s, "loopx.receiveMerges", "3");
    push(&s, &["merged:demo"]).ok();

    s.loopx(&[
        "-s",
        "demo",
        "run",
        "--",
        "head",
        "-c",
        "20000",
        "/dev/zero",
    ])
    .ok();
    limited(&s, &["loopx"], "loopx.receiveBytes", ("10000", "60000"));
}

#[test]
fn g19_a_limit_that_nobody_can_read_closes_the_door() {
    let s = begun("sha1", "");
    server(&s);
    s.loopx(&["-s", "demo", "run", "--", "true"]).ok();
    for setting in [
        "loopx.receiveRecords",
        "loopx.receiveMerges",
        "loopx.receiveBytes",
        "loopx.receiveTimeout",
    ] {
        limit(&s, setting, "many");
        refused(&s, &["loopx"], "expected a number").says(setting);
        s.git_in(remote(&s), &["config", "--unset", setting]).ok();
    }
    push(&s, &["loopx"]).ok();
}

#[test]
fn g19_a_push_that_takes_too_long_is_refused() {
    let s = begun("sha1", "");
    server(&s);
    s.loopx(&["-s", "demo", "run", "--", "true"]).ok();
    let new = tip(&s);
    push(&s, &["loopx:refs/tags/newer"]).ok();
    let old = s.git_in(remote(&s), &["rev-parse", "loopx"]).line();
    let hook = || -> Output {
        let call = s.call(LOOPX).cwd(remote(&s)).env("GIT_DIR", ".");
        let line = format!("{old} {new} refs/heads/loopx\n");
        call.args(&["hook", "pre-receive"]).stdin(line).run()
    };
    hook().ok();
    // Whatever the judge waits for: here, a git that does not come back.
    s.program("git", "#!/bin/sh\nsleep 5\n");
    let config = remote(&s).join("config");
    let text = s.read(&config);
    s.write(&config, format!("{text}[loopx]\n\treceiveTimeout = 1\n"));
    let started = std::time::Instant::now();
    hook().fails_with(1).says("loopx.receiveTimeout");
    assert!(started.elapsed().as_secs() < 4);
}
