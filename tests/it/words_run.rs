//! `run` without words: what has no pass on the present code (U18), and nothing under another's name.

use crate::support::Sandbox;
use crate::support::session::{self, advance, begin};

const SLICES: &str = r#"[
 {"id":"VS-1","type":"AFK","behaviour":"x","acceptance_criteria":["x"],"verification":["sh","-c","grep -q Done src/x.rs"],"scenarios":["demo/X/S"]},
 {"id":"VS-2","type":"AFK","behaviour":"y","acceptance_criteria":["y"],"verification":["sh","-c","echo LOUD; exit ${WRONG:-0}"]}]"#;

/// A session in build, with two checks.
fn with_slices() -> Sandbox {
    let s = Sandbox::new();
    begin(&s, "");
    advance(&s, "clarify", "build", "src/**");
    s.loopx(&["undo"]).ok();
    s.loopx(&["undo"]).ok();
    session::put(&s, "change/slices.json", SLICES);
    s.loopx(&["plan", "--architect", "approve"]).ok();
    s.loopx(&["plan", "--critic", "approve"]).ok();
    s.loopx(&["approve", "--enter"]).ok();
    s
}

#[test]
fn u18_run_alone_runs_what_has_no_pass_and_says_each_in_a_line() {
    let s = with_slices();
    s.write("src/x.rs", "not yet\n");
    s.git(&["add", "."]).ok();
    s.git(&["commit", "-qm", "x"]).ok();
    let out = s.loopx(&["run"]).fails_with(1);
    for line in [
        "  VS-1  failed with exit code 1\n",
        "  VS-2  passed in ",
        "demo: 1 of 2 checks passed, on tree ",
    ] {
        assert!(out.stdout.contains(line), "{line}\n{out}");
    }
    assert!(!out.stdout.contains("LOUD"), "{out}");
    // VS-2 has its pass: a failure stays to be run.
    let json = s.loopx(&["run", "--all", "--json"]).fails_with(1).json();
    assert_eq!(json["ran"].as_array().map(Vec::len), Some(1), "{json:#}");
    assert_eq!(json["ran"][0]["task"], "VS-1");
    s.write("src/x.rs", "Done\n");
    s.git(&["commit", "-qam", "y"]).ok();
    let out = s.loopx(&["run"]).ok();
    assert!(out.contains("demo: 2 of 2 checks passed"), "{out}");
    insta::assert_snapshot!(s.loopx(&["run"]).steady(), @"
    $ git-loopx run
    --- stderr
    error: every check has passed on this tree

    hint: git loopx edit execution-record.md
    --- exit 5
    ");
    // The audit prints names as they are (U8).
    s.write("src/x.rs", "Other\n");
    s.git(&["commit", "-qam", "z"]).ok();
    s.loopx(&["build"])
        .fails_with(1)
        .says("  VS-1: stale, sh -c grep -q Done src/x.rs");
    let out = s
        .loopx(&["run", "--task", "VS-1", "--", "true"])
        .fails_with(2);
    insta::assert_snapshot!(out.steady(), @"
    $ git-loopx run --task VS-1 -- true
    --- stderr
    error: VS-1 has a command of its own, and a run of another command is no evidence for it

    hint: git loopx run --task VS-1  or, as a note: git loopx run -- true
    --- exit 2
    ");
    s.loopx(&["run", "--all", "--task", "VS-1"]).fails_with(2);
}

#[test]
fn u18_run_alone_asks_for_a_command_where_there_is_no_check() {
    let s = Sandbox::new();
    begin(&s, "");
    insta::assert_snapshot!(s.loopx(&["run"]).steady(), @"
    $ git-loopx run
    --- stderr
    error: expected a command after `--`: the session has no check of its own

    hint: run the command that shows that the change works, behind `git loopx run --`
    --- exit 2
    ");
}
