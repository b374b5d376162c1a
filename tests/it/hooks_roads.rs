//! Two roads to one hook: config hooks of a person for every repository, beside what a repository has
//! of its own. And the switch that keeps them out.

use crate::support::hooks::{all, commit, rows};
use crate::support::session::{self, started};
use crate::support::{LOOPX, Output, Sandbox};
use std::fs;

/// A sandbox with a git that has config hooks, and hooks for every repository in it.
fn everywhere() -> Option<Sandbox> {
    let s = Sandbox::with_test_git()?;
    s.write(s.root().join("home/.gitconfig"), "");
    loopx(&s, &["hooks", "install", "--global"]).ok();
    Some(s)
}

/// Runs git with the person's own configuration.
fn git(s: &Sandbox, args: &[&str]) -> Output {
    let call = s.call("git").args(args);
    call.without_env("GIT_CONFIG_GLOBAL").run()
}

fn loopx(s: &Sandbox, args: &[&str]) -> Output {
    let call = s.call(LOOPX).args(args);
    call.without_env("GIT_CONFIG_GLOBAL").run()
}

#[test]
fn hooks_for_every_repository_gate_those_with_sessions_and_no_other() {
    let Some(s) = everywhere() else {
        return;
    };
    // Without sessions: not a word, not a byte.
    s.write("src/a.rs", "a\n");
    s.git(&["add", "."]).ok();
    let out = git(&s, &["commit", "--quiet", "-m", "x"]);
    assert_eq!(
        (out.stdout.as_str(), out.stderr.as_str()),
        ("", ""),
        "{out}"
    );
    out.ok();
    assert!(!s.exists(".git/loopx"));
    let status = loopx(&s, &["hooks", "status", "--json"]);
    assert_eq!(rows(&status, s.path()), all("global", Some(true)));
    status.ok();

    session::begin(&s, "");
    s.write("src/b.rs", "b\n");
    s.git(&["add", "."]).ok();
    let refused = git(&s, &["commit", "-m", "x"]).fails_with(1);
    assert_eq!(refused.stderr.matches("refused:").count(), 1, "{refused}");
    // The same name in the repository's own configuration is one hook to git.
    loopx(&s, &["hooks", "install"]).ok();
    let refused = git(&s, &["commit", "-m", "x"]).fails_with(1);
    assert_eq!(refused.stderr.matches("refused:").count(), 1, "{refused}");
    let status = loopx(&s, &["hooks", "status", "--json"]);
    assert_eq!(rows(&status, s.path()), all("config", Some(true)));
    loopx(&s, &["hooks", "uninstall"]).ok();
    git(&s, &["commit", "-m", "x"]).fails_with(1);

    // Kept out of one repository.
    s.git(&["config", "loopx.hooks", "off"]).ok();
    let status = loopx(&s, &["hooks", "status"]).says("loopx.hooks is false (local");
    status.ok();
    git(&s, &["commit", "--quiet", "-m", "x"]).ok();
    s.git(&["config", "--unset", "loopx.hooks"]).ok();

    // Switched off by git's own key: dead, and told how to mend it.
    s.git(&["config", "hook.loopx-pre-push.enabled", "false"])
        .ok();
    let dead = loopx(&s, &["hooks", "status", "--json"]).fails_with(1);
    let row = &dead.json()["events"][2];
    assert_eq!(row["fires"], false);
    let repair = row["repair"].as_str().expect("a command");
    assert_eq!(
        repair,
        "git config --local --unset-all hook.loopx-pre-push.enabled"
    );
    let words: Vec<&str> = repair.split(' ').skip(1).collect();
    s.git(&words).ok();
    loopx(&s, &["hooks", "status"]).ok();
    loopx(&s, &["hooks", "uninstall", "--global"]).ok();
    loopx(&s, &["hooks", "status"]).says("no hook of").ok();
}

#[test]
fn an_older_git_has_no_hooks_for_every_repository() {
    let s = Sandbox::new();
    s.git_claims("2.53.0");
    let out = s.loopx(&["hooks", "install", "--global"]).fails_with(1);
    out.says("2.54 and later").says("git loopx hooks install");
    s.git_claims("2.55.0");
    // The sandbox has no file for a person's configuration, and a device is not made into one.
    let out = s.loopx(&["hooks", "install", "--global", "--json"]);
    let out = out.fails_with(1).error_json();
    assert_eq!(out["error"]["code"], "global_config_not_a_file");
    let dry = s.loopx(&["hooks", "install", "--global", "--dry-run"]);
    dry.says("write [hook").ok();
}

#[test]
fn a_repository_that_opted_out_gets_no_hooks_and_those_it_has_check_nothing() {
    let s = started("");
    s.git(&["config", "loopx.hooks", "false"]).ok();
    session::commit(&s, "src/a.rs", "passes").ok();
    assert_eq!(session::trailer(&s, "Loopx-Session"), "");
    s.loopx(&["hooks", "status"])
        .says("what fires checks nothing")
        .ok();
    s.loopx(&["hooks", "uninstall"]).ok();
    let before = s.snapshot(".git");
    let out = s.loopx(&["hooks", "install", "--json"]).fails_with(1);
    let error = &out.error_json()["error"];
    assert_eq!(error["code"], "hooks_opted_out");
    assert_eq!(error["help"], "git config --local --unset-all loopx.hooks");
    assert_eq!(s.snapshot(".git"), before);

    // For all repositories of a person, and wanted in this one.
    s.git(&["config", "--unset", "loopx.hooks"]).ok();
    let global = s.root().join("global");
    s.write(&global, "[loopx]\n\thooks = no\n");
    let install = || {
        let call = s.call(LOOPX).args(&["hooks", "install"]);
        call.env("GIT_CONFIG_GLOBAL", &global).run()
    };
    install().fails_with(1).says("git config loopx.hooks true");
    s.git(&["config", "loopx.hooks", "true"]).ok();
    install().ok();
    session::commit(&s, "src/b.rs", "refused").fails_with(1);
    // What is neither yes nor no switches nothing off.
    s.git(&["config", "loopx.hooks", "perhaps"]).ok();
    session::commit(&s, "src/b.rs", "refused").fails_with(1);
}

/// A git process that pushes to two places asks twice; a process that pushes to one place twice is told once, and
/// stopped twice.
#[test]
fn a_second_call_of_one_git_process_repeats_the_verdict_in_silence() {
    let s = started("");
    s.write("src/a.rs", "a\n");
    s.git(&["add", "."]).ok();
    s.git(&["commit", "--quiet", "--no-verify", "-m", "around"])
        .ok();
    for name in ["one", "two"] {
        s.git(&["init", "--quiet", "--bare", &format!("../{name}.git")])
            .ok();
    }
    let push = |urls: [&str; 2]| {
        s.git(&["remote", "add", "o", urls[0]]).ok();
        for url in urls {
            s.git(&["remote", "set-url", "--push", "--add", "o", url])
                .ok();
        }
        let out = s.git(&["push", "o", "demo"]).fails_with(1);
        s.git(&["remote", "remove", "o"]).ok();
        for url in urls {
            let refs = s.git(&["ls-remote", url]).ok();
            assert_eq!(refs, "", "{out}");
        }
        out.stderr.matches("refused:").count()
    };
    assert_eq!(push(["../one.git", "../two.git"]), 2);
    if cfg!(target_os = "linux") {
        assert_eq!(push(["../one.git", "../one.git"]), 1);
    }
    // The next process is another one.
    assert_eq!(push(["../one.git", "../two.git"]), 2);
    // What was left to tell them apart goes with the hooks.
    s.loopx(&["hooks", "uninstall"]).ok();
    assert!(!s.exists(".git/loopx/hook-pre-push"));
    s.git(&["push", "--quiet", "../one.git", "demo"]).ok();
}

/// A caller other than git is not answered from memory: a script that asks twice is answered twice.
#[test]
fn a_caller_that_is_not_git_is_judged_each_time() {
    let s = started("");
    s.write("src/a.rs", "a\n");
    s.git(&["add", "."]).ok();
    let twice = format!("'{LOOPX}' hook pre-commit; '{LOOPX}' hook pre-commit");
    let out = s.call("sh").args(&["-c", &twice]).run().fails_with(1);
    assert_eq!(out.stderr.matches("refused:").count(), 2, "{out}");
}

/// A record that somebody cut short, or made a folder of, is no record.
#[test]
fn a_broken_record_opens_and_blocks_nothing() {
    let s = started("");
    for broken in ["", "1", "passed\n", "1 2 3 passed\n"] {
        s.write(".git/loopx/hook-pre-commit", broken);
        s.write("src/a.rs", "a\n");
        s.git(&["add", "."]).ok();
        s.git(&["commit", "-m", "x"]).fails_with(1);
    }
    for event in ["pre-commit", "commit-msg"] {
        drop(fs::remove_file(
            s.path().join(format!(".git/loopx/hook-{event}")),
        ));
        fs::create_dir(s.path().join(format!(".git/loopx/hook-{event}"))).expect("a folder");
    }
    s.git(&["commit", "-m", "x"]).fails_with(1);
    s.git(&["rm", "--quiet", "--cached", "-f", "src/a.rs"]).ok();
    commit(&s).ok();
}
