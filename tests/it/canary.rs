//! The canary beside which the suite runs (`.ci/canary`): that it is there, that no sandbox knows of
//! it, and that it finds what it is there to find.

use crate::support::{Output, Sandbox};
use std::path::{Path, PathBuf};

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(".ci/canary")
}

#[test]
#[expect(clippy::print_stderr, reason = "a skipped test has to say so")]
fn the_suite_runs_beside_a_canary_that_no_sandbox_knows_of() {
    let Some(canary) = std::env::var_os("LOOPX_CANARY") else {
        eprintln!("skipped: not started by cargo, so there is no canary");
        return;
    };
    let cwd = std::env::current_dir().expect("a folder");
    assert_eq!(cwd, Path::new(&canary).canonicalize().expect("a folder"));
    assert_eq!(
        std::env::var_os("GIT_DIR").map(PathBuf::from),
        Some(Path::new(&canary).join(".git"))
    );
    let s = Sandbox::new();
    let seen = s.call("env").run().ok();
    let known = canary.to_string_lossy();
    let nest = known.strip_suffix("/repo").expect("its place");
    assert!(!seen.contains(nest), "{seen}");
    for name in ["GIT_DIR", "GIT_INDEX_FILE", "GIT_PREFIX", "LOOPX_SESSION"] {
        assert!(!seen.contains(&format!("\n{name}=")), "{seen}");
    }
}

/// Runs a program as cargo would, in a folder where test programs are.
fn beside_a_canary(s: &Sandbox, folder: &str, text: &str, args: &[&str]) -> Output {
    let program = s.root().join(folder).join("program");
    s.script(&program, &format!("#!/bin/sh\n{text}\n"));
    s.call(script()).args(&[&program]).args(args).run()
}

#[test]
fn a_program_that_keeps_to_its_own_passes_with_its_own_exit_code() {
    let s = Sandbox::new();
    let own = s.path().display();
    for code in [0, 3] {
        let out = beside_a_canary(&s, "deps", &format!("cd '{own}' && exit {code}"), &[]);
        assert_eq!(out.stderr, "", "{out}");
        out.fails_with(code);
    }
}

#[test]
fn every_careless_road_leads_to_the_canary_and_is_seen() {
    let s = Sandbox::new();
    let own = s.path().display();
    for (leak, said) in [
        // The folder that it was started in.
        ("echo more >>src/file", "src/file"),
        (
            "env -u GIT_DIR -u GIT_WORK_TREE git config core.bare true",
            "bare = true",
        ),
        // What the environment names, from a repository of its own.
        (&format!("cd '{own}' && git config a.b c") as &str, "b = c"),
        (
            &format!("cd '{own}' && git -c user.name=x -c user.email=y commit -qm x"),
            "logs/HEAD",
        ),
        (&format!("cd '{own}' && git add -A"), "index"),
        (
            &format!("cd '{own}' && git update-ref refs/heads/loopx HEAD"),
            "refs/heads: loopx",
        ),
        // The person's own files.
        ("git config --global a.b c", ".gitconfig"),
        (
            "mkdir -p \"$XDG_CONFIG_HOME/git\" && echo >\"$XDG_CONFIG_HOME/git/ignore\"",
            "ignore",
        ),
        // Not the bytes, but that it was written at all.
        ("chmod 600 src/file", "Mode differs"),
    ] {
        let leak = format!("unset GIT_CONFIG_GLOBAL; {leak}");
        let out = beside_a_canary(&s, "deps", &leak, &[]).fails_with(1);
        out.says("not its own").says(said);
    }
}

#[test]
fn programs_that_are_no_tests_are_just_started() {
    let s = Sandbox::new();
    let show = "pwd; echo \"[$LOOPX_CANARY][$*]\"";
    for (folder, args) in [("debug", &["a b", "c"][..]), ("deps", &["--bench"])] {
        let out = beside_a_canary(&s, folder, show, args).ok();
        let wanted = format!("{}\n[][{}]\n", s.path().display(), args.join(" "));
        assert_eq!(out, wanted);
    }
}
