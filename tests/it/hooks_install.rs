//! Installing, taking away and proving git hooks, with the real git (reference 7 "Install", and edge
//! cases of its section 8, by their numbers).
//!
//! What depends on git's version runs with a git that claims one; what config hooks really do needs
//! a git of 2.54 or later, named by LOOPX_TEST_GIT.

use crate::support::hooks::{EVENTS, all, commit, foreign, husky, probe, rows, shims};
use crate::support::{LOOPX, Sandbox, copy_program};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Instant;

#[test]
fn older_git_gets_a_shim_for_each_event_and_commits_pass() {
    let s = shims("repo");
    let before = s.bytes(".git/config");
    s.loopx(&["hooks", "install"]).says("installed").ok();
    for event in EVENTS {
        let file = format!(".git/hooks/{event}");
        assert_eq!(s.mode(&file), 0o755);
        assert!(s.read(&file).lines().count() <= 7);
        assert!(probe(&s, s.path(), event), "{event}");
    }
    assert_eq!(s.bytes(".git/config"), before);
    let out = commit(&s);
    assert_eq!(out.stderr, "", "{out}");
    out.ok();
    let status = s.loopx(&["hooks", "status", "--json"]);
    assert_eq!(rows(&status, s.path()), all("shim", Some(true)));
    status.ok();
}

#[test]
fn a_dry_run_prints_and_writes_nothing() {
    let s = shims("repo");
    foreign(&s, "pre-push", 0);
    let before = s.snapshot(".git");
    s.loopx(&["hooks", "install", "--dry-run"])
        .says("pre-push.before-loopx and run it first")
        .ok();
    assert_eq!(s.snapshot(".git"), before);
    s.loopx(&["hooks", "install"]).ok();
    let before = s.snapshot(".git");
    s.loopx(&["hooks", "uninstall", "-n"]).says("remove").ok();
    assert_eq!(s.snapshot(".git"), before);
}

#[test]
fn a_second_install_is_a_no_op_and_says_so() {
    for version in ["2.47.3", "2.55.0"] {
        let s = Sandbox::new();
        s.git_claims(version);
        foreign(&s, "commit-msg", 0);
        s.loopx(&["hooks", "install"]).ok();
        let before = s.snapshot(".git");
        let out = s.loopx(&["hooks", "install"]);
        out.says("installed already: nothing to do").ok();
        let json = s.loopx(&["hooks", "install", "--json"]).json();
        assert_eq!(json["changed"], false);
        assert_eq!(s.snapshot(".git"), before, "{version}");
    }
}

#[test]
fn a_foreign_hook_is_kept_and_given_its_arguments_and_stdin() {
    let s = shims("repo");
    s.git(&["init", "--quiet", "--bare", "../remote.git"]).ok();
    let push = foreign(&s, "pre-push", 0);
    let rewrite = foreign(&s, "post-rewrite", 0);
    s.script(
        ".git/hooks/commit-msg",
        "#!/bin/sh\necho 'Added-By: hook' >>\"$1\"\n",
    );
    s.loopx(&["hooks", "install"]).ok();
    commit(&s).ok();
    assert_eq!(
        s.git(&["log", "-1", "--format=%B"]).line(),
        "message\nAdded-By: hook"
    );
    let first = s.git(&["rev-parse", "HEAD"]).line();
    s.git(&["commit", "--amend", "--allow-empty", "-m", "other"])
        .ok();
    let second = s.git(&["rev-parse", "HEAD"]).line();
    assert_eq!(
        fs::read_to_string(rewrite).expect("the hook ran"),
        format!("[amend]{first} {second}\n.\n")
    );
    s.git(&["push", "../remote.git", "main", "main:refs/heads/ü"])
        .ok();
    // An up-to-date push gives nothing to read.
    s.git(&["push", "../remote.git", "main"]).ok();
    let zero = "0".repeat(40);
    assert_eq!(
        fs::read_to_string(push).expect("the hook ran"),
        format!(
            "[../remote.git][../remote.git]refs/heads/main {second} refs/heads/main {zero}\n\
             refs/heads/main {second} refs/heads/ü {zero}\n.\n[../remote.git][../remote.git].\n"
        )
    );
}

#[test]
fn a_foreign_hook_that_says_no_stops_git_with_its_own_code() {
    let s = shims("repo");
    let log = foreign(&s, "pre-commit", 7);
    s.loopx(&["hooks", "install"]).ok();
    commit(&s).fails_with(1);
    assert_eq!(fs::read_to_string(&log).expect("the hook ran"), "[].\n");
    s.call(s.path().join(".git/hooks/pre-commit"))
        .run()
        .fails_with(7);
    // LOOPX=0 switches us off, not them.
    let out = s.call("git").args(&["commit", "--allow-empty", "-m", "x"]);
    out.env("LOOPX", "0").run().fails_with(1);
}

#[test]
fn a_foreign_hook_that_git_skips_is_skipped_and_one_without_an_interpreter_line_runs() {
    let s = shims("repo");
    foreign(&s, "pre-commit", 1);
    s.chmod(".git/hooks/pre-commit", 0o644);
    let log = s.root().join("log");
    s.script(
        ".git/hooks/commit-msg",
        &format!("echo ran >'{}'\n", log.display()),
    );
    s.loopx(&["hooks", "install"]).ok();
    commit(&s).ok();
    assert_eq!(fs::read_to_string(log).expect("the hook ran"), "ran\n");
    // A hook that cannot start stops git without us, so it stops git with us.
    s.script(".git/hooks/pre-commit.before-loopx", "#!/no/such/thing\n");
    commit(&s).fails_with(1).says("before-loopx");
}

#[test]
fn uninstall_restores_every_byte_mode_and_link() {
    for target in ["../../tools/push", "nowhere"] {
        uninstall_restores_everything(target);
    }
}

fn uninstall_restores_everything(target: &str) {
    let s = shims("repo");
    foreign(&s, "pre-commit", 0);
    s.chmod(".git/hooks/pre-commit", 0o700);
    s.write(".git/hooks/commit-msg", b"#!/bin/sh\r\n\xff\x00 no newline");
    s.script("tools/push", "#!/bin/sh\n");
    symlink(target, s.path().join(".git/hooks/pre-push")).expect("a link");
    foreign(&s, "post-commit", 0);
    // No newline at the end, as an editor may leave it.
    let config = s.read(".git/config");
    s.write(".git/config", config.trim_end());
    let before = s.snapshot(".git");
    for version in ["2.47.3", "2.55.0"] {
        s.git_claims(version);
        s.loopx(&["hooks", "install"]).ok();
        assert_ne!(s.snapshot(".git"), before);
        s.loopx(&["hooks", "uninstall"]).says("uninstalled").ok();
        assert_eq!(s.snapshot(".git"), before, "{version}");
    }
}

#[test]
fn uninstall_of_nothing_exits_5_and_leaves_foreign_hooks_alone() {
    let s = shims("repo");
    foreign(&s, "pre-commit", 0);
    s.git(&["config", "hook.mine.command", "true"]).ok();
    let before = s.snapshot(".git");
    let out = s.loopx(&["hooks", "uninstall", "--json"]).fails_with(5);
    assert_eq!(out.error_json()["error"]["code"], "hooks_not_installed");
    assert_eq!(s.snapshot(".git"), before);
}

#[test]
fn edge_02_a_missing_binary_warns_and_passes_and_foreign_hooks_still_run() {
    let s = shims("repo");
    let tools = s.root().join("my 'tools' ü");
    fs::create_dir(&tools).expect("a folder");
    let copy = tools.join("git-loopx");
    copy_program(&copy);
    s.git(&["init", "--quiet", "--bare", "../remote.git"]).ok();
    let log = foreign(&s, "pre-push", 0);
    let refusing = foreign(&s, "pre-commit", 0);
    let path = s.path_without_loopx();
    let git = |args: &[&str]| s.call("git").args(args).env("PATH", &path).run();
    s.call(&copy).args(&["hooks", "install"]).run().ok();
    let quiet = git(&["commit", "--allow-empty", "-m", "x"]);
    assert_eq!(quiet.stderr, "", "found by its absolute path");
    quiet.ok();

    fs::remove_file(&copy).expect("removed");
    let pushed = git(&["push", "../remote.git", "main"]).says("git-loopx is gone");
    pushed.ok();
    assert!(
        fs::read_to_string(log)
            .expect("ran")
            .contains("refs/heads/main")
    );
    git(&["commit", "--allow-empty", "-m", "x"])
        .says("warning: git-loopx is gone")
        .ok();
    foreign_says_no(&s, &refusing);
    git(&["commit", "--allow-empty", "-m", "x"]).fails_with(1);
    // Proven dead: and the proof runs nobody else's hook.
    let runs = fs::read(&refusing).expect("a log");
    let status = s.call(LOOPX).args(&["hooks", "status", "--json"]);
    let status = status.env("PATH", &path).run().fails_with(1);
    assert_eq!(rows(&status, s.path()), all("shim", Some(false)));
    assert_eq!(fs::read(&refusing).expect("a log"), runs);
    // PATH comes second.
    assert!(probe(&s, s.path(), "pre-commit"));
    // The binary at its new place puts its new path in.
    s.loopx(&["hooks", "install"]).says("write").ok();
    let status = s.call(LOOPX).args(&["hooks", "status"]).env("PATH", &path);
    status.run().ok();
}

fn foreign_says_no(s: &Sandbox, log: &Path) {
    let text = format!("#!/bin/sh\necho no >>'{}'\nexit 3\n", log.display());
    s.script(".git/hooks/pre-commit.before-loopx", &text);
}

/// pre-commit moves what it finds to `<event>.legacy` and runs it; so do we with what we find.
#[test]
fn two_tools_that_run_each_other_come_to_an_end() {
    let s = shims("repo");
    let theirs = "#!/bin/sh\n# https://pre-commit.com\nh=$(dirname \"$0\")/pre-commit.legacy\n\
                  [ ! -x \"$h\" ] || exec \"$h\" \"$@\"\n";
    s.script(".git/hooks/pre-commit", theirs);
    s.loopx(&["hooks", "install"])
        .says("pre-commit wrote the pre-commit hook")
        .ok();
    let hook = |name: &str| s.path().join(".git/hooks").join(name);
    fs::rename(hook("pre-commit"), hook("pre-commit.legacy")).expect("renamed");
    s.script(".git/hooks/pre-commit", theirs);
    commit(&s).ok();
}

/// A hook takes odd input as far as git's own hooks go.
#[test]
fn edge_19_a_hook_passes_whatever_it_is_given_and_wherever_it_runs() {
    let s = Sandbox::empty("nowhere");
    for event in ["pre-push", "post-rewrite", "commit-msg", "nonsense", "Ü"] {
        for stdin in [vec![], vec![0xff, 0xfe, 0, b'\n'], vec![b'x'; 5_000_000]] {
            let call = s.call(LOOPX).args(&["hook", event, "--json", "-x", "a b"]);
            let out = call.stdin(stdin).run();
            assert_eq!((out.code, out.stdout.as_str()), (Some(0), ""), "{out}");
        }
    }
    s.git(&["init", "--quiet", "--bare", "."]).ok();
    s.loopx(&["hook", "pre-push", "origin", "url"]).ok();
    // What answers a probe is a word, not a way to write to somebody's terminal.
    let call = s.call(LOOPX).args(&["hook", "pre-commit"]);
    let out = call.env("LOOPX_HOOK_PROBE", "\u{1b}[2J").run();
    assert_eq!(out.ok(), "");
}

/// A repository has a single way at a time, and an installation follows the git that is there.
#[test]
fn edge_03_a_repository_never_has_both_ways() {
    let s = Sandbox::new();
    s.git_claims("2.55.0");
    s.loopx(&["hooks", "install"]).ok();
    assert!(!s.exists(".git/hooks/pre-commit"));
    assert_eq!(
        s.git(&["config", "hook.loopx-pre-push.event"]).line(),
        "pre-push"
    );
    commit(&s).ok();

    s.git_claims("2.47.3");
    let status = s.loopx(&["hooks", "status", "--json"]).fails_with(1);
    assert_eq!(rows(&status, s.path()), all("config", Some(false)));
    s.loopx(&["hooks", "install"]).ok();
    s.git(&["config", "--get-regexp", "^hook[.]"]).fails_with(1);
    s.loopx(&["hooks", "status"]).ok();

    // Shims fire under a newer git as well.
    s.git_claims("2.55.0");
    s.loopx(&["hooks", "install"]).says("nothing to do").ok();
    // Until git looks elsewhere: then they go, and the configuration comes.
    husky(&s);
    let theirs = s.snapshot(".husky");
    s.loopx(&["hooks", "install"]).ok();
    assert!(!s.exists(".git/hooks/pre-commit"));
    assert_eq!(
        s.git(&["config", "hook.loopx-pre-push.event"]).line(),
        "pre-push"
    );
    assert_eq!(s.snapshot(".husky"), theirs);
}

/// An install is cut short between each two steps: what a kill leaves is made by hand.
#[test]
fn edge_01_an_install_that_was_cut_short_is_finished_or_taken_back() {
    let s = shims("repo");
    let log = foreign(&s, "pre-commit", 0);
    let before = s.snapshot(".git/hooks");
    let hook = |name: &str| s.path().join(".git/hooks").join(name);
    let cut_short = || {
        fs::hard_link(hook("pre-commit"), hook("pre-commit.before-loopx")).expect("a link");
        s.write(".git/hooks/.pre-commit.loopx-new", "#!/bin/");
    };
    cut_short();
    commit(&s).ok();
    s.loopx(&["hooks", "install"]).ok();
    commit(&s).ok();
    assert_eq!(fs::read_to_string(log).expect("a log"), "[].\n[].\n");
    s.loopx(&["hooks", "uninstall"]).ok();
    assert_eq!(s.snapshot(".git/hooks"), before);
    cut_short();
    s.loopx(&["hooks", "uninstall"]).ok();
    assert_eq!(s.snapshot(".git/hooks"), before);
    // Our shim was deleted by hand: what it kept comes back.
    s.loopx(&["hooks", "install"]).ok();
    fs::remove_file(hook("pre-commit")).expect("removed");
    s.loopx(&["hooks", "uninstall"]).ok();
    assert_eq!(s.snapshot(".git/hooks"), before);
}

#[test]
fn edge_01_a_killed_install_leaves_a_repository_that_works() {
    let config = Sandbox::with_test_git().unwrap_or_else(|| {
        let s = Sandbox::new();
        s.git_claims("2.55.0");
        s
    });
    for s in [config, shims("repo")] {
        let log = foreign(&s, "pre-commit", 0);
        let install = || s.call(LOOPX).args(&["hooks", "install"]).command();
        let start = Instant::now();
        install().output().expect("installed");
        let whole = start.elapsed();
        let steps = 16;
        for step in 0..steps {
            let _ = s.loopx(&["hooks", "uninstall"]);
            let mut child = install().spawn().expect("started");
            // The writes are at the end.
            std::thread::sleep(whole * (steps + step) / (2 * steps));
            child.kill().expect("killed");
            drop(child.wait_with_output());
            // What git itself leaves when it is killed here, and asks to have removed.
            drop(fs::remove_file(s.path().join(".git/config.lock")));
            s.git(&["status"]).ok();
            drop(fs::remove_file(&log));
            commit(&s).ok();
            assert_eq!(fs::read_to_string(&log).expect("it ran"), "[].\n");
        }
        s.loopx(&["hooks", "install"]).ok();
        s.loopx(&["hooks", "uninstall"]).ok();
        assert!(!s.exists(".git/hooks/pre-commit.before-loopx"));
        commit(&s).ok();
    }
}
