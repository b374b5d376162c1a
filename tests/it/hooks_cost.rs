//! Cost of hooks, by count: processes that a commit and a push start beyond git's own. Counts do not depend on the
//! machine; milliseconds are the benchmark's (`cargo bench --bench hooks`).

use crate::support::hooks::shims;
use crate::support::session::{self, started};
use crate::support::{Call, Sandbox};
use std::collections::BTreeSet;
use std::fs;

/// Counts the children that git says it starts, in all gits of this call.
fn children(s: &Sandbox, call: impl Fn(&Sandbox) -> Call<'_>) -> usize {
    let trace = s.root().join("trace");
    drop(fs::remove_file(&trace));
    call(s).env("GIT_TRACE2_EVENT", &trace).run().ok();
    let trace = fs::read_to_string(trace).expect("a trace");
    trace.matches("\"event\":\"child_start\"").count()
}

fn commit(s: &Sandbox) -> Call<'_> {
    s.call("git")
        .args(&["commit", "--allow-empty", "--quiet", "-m", "x"])
        .without_env("GIT_CONFIG_GLOBAL")
}

fn push(s: &Sandbox) -> Call<'_> {
    s.call("git")
        .args(&["push", "--quiet", "--force", "../remote.git", "HEAD"])
        .without_env("GIT_CONFIG_GLOBAL")
}

/// (commit, push), with another commit in between.
fn both(s: &Sandbox) -> (usize, usize) {
    if !s.root().join("remote.git").exists() {
        s.git(&["init", "--quiet", "--bare", "../remote.git"]).ok();
    }
    (children(s, commit), children(s, push))
}

#[test]
fn a_commit_starts_one_process_for_each_of_two_events_and_a_push_one() {
    // Without sessions.
    let s = shims("repo");
    s.git(&["commit", "--quiet", "--allow-empty", "-m", "first"])
        .ok();
    let plain = both(&s);
    s.loopx(&["hooks", "install"]).ok();
    assert_eq!(both(&s), (plain.0 + 2, plain.1 + 1));
    // With one, whose commits are judged and linked.
    let s = started("");
    s.write("docs/a", "a");
    s.git(&["add", "."]).ok();
    assert_eq!(both(&s), (plain.0 + 2, plain.1 + 1));
    assert_ne!(session::trailer(&s, "Loopx-Session"), "");
}

#[test]
fn config_hooks_start_as_many() {
    let Some(s) = Sandbox::with_test_git() else {
        return;
    };
    s.write(s.root().join("home/.gitconfig"), "");
    s.git(&["commit", "--quiet", "--allow-empty", "-m", "first"])
        .ok();
    let plain = both(&s);
    s.loopx(&["hooks", "install"]).ok();
    assert_eq!(both(&s), (plain.0 + 2, plain.1 + 1));
    s.loopx(&["hooks", "uninstall"]).ok();
    let global = |command: &str| {
        let call = s.call(crate::support::LOOPX);
        let call = call.args(&["hooks", command, "--global"]);
        call.without_env("GIT_CONFIG_GLOBAL").run().ok();
    };
    global("install");
    assert_eq!(both(&s), (plain.0 + 2, plain.1 + 1));
    global("uninstall");
    assert_eq!(both(&s), plain);
}

/// git does not see what its children start. The system does.
#[test]
#[expect(clippy::print_stderr, reason = "a skipped test has to say so")]
fn what_git_starts_for_us_starts_nothing() {
    let s = started("");
    let processes = |args: &[&str]| -> Option<usize> {
        let trace = s.root().join("strace");
        let call = s
            .call("strace")
            .args(&["-f", "-qq", "-e", "trace=execve", "-o"]);
        let call = call.args(&[&trace]).args(&["git"]).args(args);
        let out = call.command().output().ok()?;
        let trace = fs::read_to_string(trace).ok()?;
        let ids = trace.lines().filter_map(|line| line.split(' ').next());
        let ids: BTreeSet<&str> = ids.collect();
        (out.status.success() && !ids.is_empty()).then_some(ids.len())
    };
    let commit = ["commit", "--allow-empty", "--quiet", "-m", "x"];
    // A document, so that there is something to judge.
    let staged = |name: &str| {
        s.write(format!("docs/{name}"), name);
        s.git(&["add", "."]).ok();
    };
    staged("hooked");
    let Some(hooked) = processes(&commit) else {
        eprintln!("skipped: strace cannot be used here");
        return;
    };
    s.loopx(&["hooks", "uninstall"]).ok();
    staged("plain");
    let plain = processes(&commit).expect("it worked before");
    assert_eq!(hooked, plain + 2);
}

/// `GIT_EDITOR=:` says that no editor opens, not that commit-msg comes: StGit's `refresh` runs pre-commit so, and
/// commit-msg only where it has another message.
#[test]
fn v1_pre_commit_judges_where_no_editor_opens() {
    let s = started("");
    s.write("src/new.rs", "new\n");
    s.git(&["add", "."]).ok();
    let shim = s.path().join(".git/hooks/pre-commit");
    let call = s.call(shim).env("GIT_EDITOR", ":");
    let told = call.run().fails_with(1).stderr;
    assert!(told.contains("takes no code"), "{told}");
    let committed = s
        .git(&["commit", "--quiet", "-m", "x"])
        .fails_with(1)
        .stderr;
    assert_eq!(told, committed);
}
