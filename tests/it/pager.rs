//! Long output on a terminal goes through the pager that git would take. `script` is the terminal.

use crate::support::tasks::{building, task};
use crate::support::{Output, Sandbox};
use std::path::Path;

/// Output of a command line on a terminal.
fn typed(s: &Sandbox, line: &str, env: &[(&str, &str)]) -> Output {
    let call = s.call(Path::new("script"));
    let call = call.args(&["-qec", line, "/dev/null"]).env("NO_COLOR", "1");
    env.iter()
        .fold(call, |call, (name, value)| call.env(name, value))
        .run()
}

#[test]
#[expect(clippy::print_stderr, reason = "a skipped test has to say so")]
fn what_is_long_goes_through_the_pager_that_git_takes() {
    let s = Sandbox::new();
    s.git(&["commit", "-q", "--allow-empty", "-m", "begin"])
        .ok();
    s.loopx(&["init"]).ok();
    s.git(&["switch", "-q", "-c", "work"]).ok();
    s.loopx(&["start", "--quick", "Fix it"]).ok();
    if typed(&s, "true", &[]).code != Some(0) {
        eprintln!("skipped: no script(1) here");
        return;
    }
    let marks = ("GIT_PAGER", "sed 's/^/> /'");
    for line in ["list", "log", "show", "help", "help start", "list --help"] {
        let line = format!("git-loopx {line}");
        let out = typed(&s, &line, &[marks]).ok();
        assert!(out.lines().all(|line| line.starts_with("> ")), "{out}");
    }
    s.write(".loopx/fix-it/brief.md", "# It\n");
    let by_core = "git -c core.pager='sed s/^/c/' loopx diff";
    let by_setting = "git -c pager.loopx='sed s/^/q/' loopx list";
    for (line, env, begins) in [
        ("git loopx diff", &[marks][..], "> "),
        (by_core, &[("PAGER", "sed s/^/p/")], "c"),
        ("git loopx list", &[("PAGER", "sed s/^/p/")], "p"),
        (
            "git-loopx list",
            &[("GIT_PAGER", "echo $LESS $LV $GIT_PAGER_IN_USE;")],
            "FRX -c true",
        ),
        (
            "git-loopx list",
            &[("LESS", "S"), ("GIT_PAGER", "echo $LESS;")],
            "S\r\n",
        ),
        // Not there, or nothing: what is said is still said, once.
        (
            "git loopx list",
            &[("GIT_PAGER", "no-such-pager 2>/dev/null")],
            "  SESSION",
        ),
        ("git loopx list", &[("GIT_PAGER", "cat")], "  SESSION"),
        (
            "git loopx list",
            &[("GIT_PAGER", ""), ("PAGER", "sed s/^/p/")],
            "  SESSION",
        ),
        ("git --no-pager loopx list", &[marks], "  SESSION"),
        ("git -c pager.loopx=false loopx list", &[marks], "  SESSION"),
        // git's own choice counts for every command, and ours is not added to it.
        (by_setting, &[], "q  SESSION"),
        ("git -p loopx status", &[marks], "> fix-it"),
        ("git loopx status", &[marks], "fix-it"),
        ("git loopx list --json", &[marks], "{"),
        // What is refused is no pager's.
        ("git loopx show nobody", &[marks], "error"),
    ] {
        let out = typed(&s, line, env);
        assert!(out.stdout.starts_with(begins), "{line} {env:?}: {out}");
        let is_told = env.iter().any(|(_, value)| value.starts_with("echo"));
        let lists = line.ends_with("list") && !is_told;
        let shown = out.stdout.matches("  SESSION").count();
        assert_eq!(shown, usize::from(lists), "{line}: {out}");
    }
    let tasks = building(&[task("T-1", &[], Some(&["true"]))]);
    tasks.loopx(&["take"]).ok();
    for line in ["list", "graph", "waves", "log", "show"] {
        let out = typed(&tasks, &format!("git-loopx task {line}"), &[marks]).ok();
        assert!(
            !out.is_empty() && out.lines().all(|line| line.starts_with("> ")),
            "{line}: {out}"
        );
    }
    s.git(&["config", "pager.loopx", "false"]).ok();
    let direct = typed(&s, "git-loopx list", &[marks]).ok();
    assert!(direct.starts_with("  SESSION"), "{direct}");
    s.git(&["config", "pager.loopx", "sed s/^/q/"]).ok();
    for (env, begins) in [(&[][..], "q  SESSION"), (&[marks][..], ">   SESSION")] {
        let direct = typed(&s, "git-loopx list", env).ok();
        assert!(direct.starts_with(begins), "{direct}");
    }
    // A pager that somebody leaves at once ends it quietly.
    s.git(&["config", "--unset", "pager.loopx"]).ok();
    assert_eq!(
        typed(&s, "git loopx log", &[("GIT_PAGER", "true")]).ok(),
        ""
    );
    // What is no terminal is not paged.
    let piped = s.call("git-loopx").args(&["list"]).env(marks.0, marks.1);
    assert!(piped.run().ok().starts_with("  SESSION"));
}

#[test]
#[expect(clippy::print_stderr, reason = "a skipped test has to say so")]
fn a_log_says_how_long_ago_to_a_person_and_the_time_to_a_program() {
    let s = Sandbox::new();
    s.git(&["commit", "-q", "--allow-empty", "-m", "begin"])
        .ok();
    s.loopx(&["init"]).ok();
    s.loopx(&["start", "--quick", "Fix it"]).ok();
    let piped = s.loopx(&["log"]).ok();
    assert!(piped.contains("  Ada Author"), "{piped}");
    assert!(piped.contains("2026-01-01T00:00:"), "{piped}");
    let json = s.loopx(&["--json", "log"]).json();
    let at = json["operations"][0]["at"].as_str().unwrap_or_default();
    assert!(at.starts_with("2026-01-01T"), "{json:#}");
    if typed(&s, "true", &[]).code != Some(0) {
        eprintln!("skipped: no script(1) here");
        return;
    }
    let shown = typed(&s, "git --no-pager loopx log", &[]).ok();
    assert!(shown.contains(" moments ago  Ada Author"), "{shown}");
    assert!(!shown.contains("2026-01-01"), "{shown}");
}
