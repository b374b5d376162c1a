//! Hints that were refused when somebody followed them: behind an archive, in a worktree that git would not merge into,
//! about documents that are closed.

use crate::support::drive::{Drive, RITA};
use crate::support::hooks::shims;
use crate::support::landing::{PULL, build, done, lands, make, merge, offer, serve};
use crate::support::session::{advance, begin, put, start};
use crate::support::shell::words;
use crate::support::{LOOPX, Output, Sandbox};
use serde_json::Value;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// The commands of a hint, in their order: what stands behind two blanks is a note.
fn commands(hint: &str) -> Vec<Vec<String>> {
    let parts = hint.split(", then: ");
    let parts = parts.map(|part| part.split("  ").next().unwrap_or_default());
    parts.map(words).collect()
}

/// The command that is next; empty where there is none.
fn next_command(s: &Sandbox) -> String {
    let next: Value = s.loopx(&["next", "--json"]).json();
    next["next_action"].as_str().unwrap_or_default().to_owned()
}

/// Types a command of a hint.
fn types(s: &Sandbox, command: &[String]) -> Output {
    assert_eq!(command[0], "git", "{command:?}");
    s.git(&command[1..])
}

/// The hint of the one finding about a commit that is to land on `main`.
fn hint_of(s: &Sandbox, commit: &str, code: &str) -> String {
    let range = format!("origin/main..{commit}");
    let found = s
        .loopx(&[
            "verify",
            &range,
            "--policy-from=origin/main",
            "--onto=main",
            "--json",
        ])
        .fails_with(1)
        .json();
    let findings = found["findings"].as_array().expect("findings");
    let is_meant = |one: &&serde_json::Value| one["code"] == code;
    let one = findings.iter().find(is_meant);
    let one = one.unwrap_or_else(|| panic!("{code} is not found: {found:#}"));
    one["help"].as_str().expect("a hint").to_owned()
}

/// `demo` and `second` change the same line, and `second` has landed.
fn in_conflict(s: &Sandbox) {
    s.git(&["switch", "--quiet", "main"]).ok();
    start(s, "second");
    advance(s, "clarify", "build", "");
    make(s, &[("src/old.rs", "other\n")], "the same line");
    advance(s, "build", "done", "");
    lands(s, "second");
    s.git(&["branch", "--quiet", "--force", "main", "origin/main"])
        .ok();
    s.git(&["switch", "--quiet", "demo"]).ok();
}

/// A merge of the branch that somebody resolved on the forge.
fn resolved_elsewhere(s: &Sandbox) -> String {
    s.git(&["switch", "--quiet", "--detach", "main"]).ok();
    s.git(&["merge", "--quiet", "--no-commit", "demo"])
        .fails_with(1);
    s.write("src/old.rs", "both\n");
    s.git(&["add", "."]).ok();
    let made = make(s, &[], PULL);
    s.git(&["switch", "--quiet", "demo"]).ok();
    made
}

#[test]
fn what_no_branch_takes_leads_back_to_a_review_before_and_behind_an_archive() {
    for is_archived in [false, true] {
        let s = done();
        in_conflict(&s);
        if is_archived {
            s.loopx(&["archive"]).ok();
        }
        let made = resolved_elsewhere(&s);
        let hint = hint_of(&s, &made, "landing_conflict");
        let mut commands = commands(&hint).into_iter();
        let merge = commands.next().expect("a command");
        types(&s, &merge).fails_with(1).says("CONFLICT");
        s.write("src/old.rs", "both\n");
        s.git(&["add", "."]).ok();
        make(&s, &[], "take main in");
        for command in commands {
            types(&s, &command).ok();
        }
    }
}

#[test]
fn a_verdict_about_another_target_leads_back_to_a_review_before_and_behind_an_archive() {
    for is_archived in [false, true] {
        let s = Sandbox::new();
        begin(&s, "[gates]\nprotected = [\"main\", \"release\"]\n");
        s.git(&["branch", "--quiet", "release", "main"]).ok();
        s.git(&["config", "loopx.target", "release"]).ok();
        build(&s);
        serve(&s);
        offer(&s, &["demo"]);
        if is_archived {
            s.loopx(&["archive"]).ok();
        }
        let landed = merge(&s, "main", "demo", PULL);
        s.git(&["switch", "--quiet", "demo"]).ok();
        let hint = hint_of(&s, &landed, "landing_other_target");
        for command in commands(&hint) {
            types(&s, &command).ok();
        }
    }
}

/// A session in its build whose repository has the submodule `lib`.
fn with_submodule() -> Sandbox {
    let s = Sandbox::new();
    s.git(&["init", "--quiet", "../lib"]).ok();
    let lib = s.root().join("lib");
    s.write(lib.join("a"), "one\n");
    s.git_in(&lib, &["add", "."]).ok();
    s.git_in(&lib, &["commit", "--quiet", "-m", "first"]).ok();
    s.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        "../lib",
    ])
    .ok();
    begin(&s, "");
    advance(&s, "clarify", "build", "");
    make(&s, &[("src/a.rs", "one\n")], "code");
    s
}

#[test]
fn edits_inside_of_a_submodule_lead_into_it_and_what_it_has_untracked_holds_nothing() {
    let s = with_submodule();
    let clean = next_command(&s);
    s.write("lib/new", "untracked\n");
    assert_eq!(next_command(&s), clean);
    assert_eq!(
        s.loopx(&["--json", "status"]).json()["uncommitted"],
        serde_json::json!([])
    );
    std::fs::remove_file(s.path().join("lib/new")).expect("a file");
    put(
        &s,
        "execution-record.md",
        "---\nplanned_scope: []\nimplemented_scope: []\nremaining_scope: []\ncompletion_claim: full\n---\n# E\n\n## Changes\n\nx\n",
    );
    s.loopx(&["build", "--report", "execution=complete", "--reason", "x"])
        .ok();
    s.write("lib/a", "two\n");
    s.loopx(&["run", "--task", "VS-1"]).ok();
    s.loopx(&["approve", "--to", "review"]).ok();
    assert_eq!(next_command(&s), "git -C lib commit -a");
    let below = s.loopx_in(s.path().join("src"), &["next"]).ok();
    assert_eq!(below.trim(), "git -C ../lib commit -a");
    s.git(&["-C", "lib", "commit", "--quiet", "-am", "two"])
        .ok();
    s.loopx(&["run", "--task", "VS-1"]).ok();
    s.loopx(&["approve", "--to", "review"]).ok();
    assert_eq!(next_command(&s), "git commit -a");
    s.git(&["commit", "--quiet", "-am", "the newer lib"]).ok();
    assert!(!next_command(&s).contains("commit"));
}

/// Damage that somebody else did to the branch of a session, and where HEAD is then.
const DAMAGES: [(&str, &[&[&str]]); 7] = [
    (
        "set back to its start",
        &[&["reset", "--quiet", "--hard", "main"]],
    ),
    (
        "replaced by a history of its own",
        &[
            &["checkout", "--quiet", "--orphan", "other"],
            &["commit", "--quiet", "--no-verify", "-m", "other"],
            &["branch", "--quiet", "-M", "other", "demo"],
        ],
    ),
    (
        "deleted below HEAD",
        &[&["update-ref", "-d", "refs/heads/demo"]],
    ),
    (
        "deleted, on another",
        &[&["switch", "--quiet", "main"], &["branch", "-qD", "demo"]],
    ),
    (
        "deleted, on none",
        &[
            &["switch", "--quiet", "--detach"],
            &["branch", "-qD", "demo"],
        ],
    ),
    (
        "gone with its commits",
        &[
            &["switch", "--quiet", "main"],
            &["branch", "-qD", "demo"],
            &["reflog", "expire", "--expire=now", "--all"],
            &["gc", "--quiet", "--prune=now"],
        ],
    ),
    (
        "sessions set back",
        &[&["update-ref", "refs/heads/loopx", "loopx~2"]],
    ),
];

#[test]
fn three_ways_to_ask_where_one_is_give_one_answer_whatever_became_of_the_branch() {
    for stage in ["plan", "build", "review", "done"] {
        for (damage, commands) in DAMAGES {
            let s = Sandbox::once(stage, || {
                let s = Sandbox::new();
                begin(&s, "");
                s.git(&["switch", "--quiet", "demo"]).ok();
                make(&s, &[("src/early.rs", "one\n")], "before the build");
                advance(&s, "clarify", stage, "");
                s
            });
            for command in commands {
                s.git(command).ok();
            }
            let exit = |args: &[&str]| s.loopx(args).code;
            let status = exit(&["status"]);
            assert_eq!(exit(&[]), status, "{stage}, {damage}");
            let next = exit(&["next"]);
            let agrees = match status {
                Some(0) => matches!(next, Some(0 | 5 | 6)),
                failed => next == failed,
            };
            assert!(
                agrees,
                "{stage}, {damage}: {next:?}, and {status:?} of status"
            );
        }
    }
}

#[test]
fn a_branch_whose_name_is_no_utf_8_is_said_to_be_one_and_renamed() {
    let s = Sandbox::new();
    begin(&s, "");
    let odd = OsStr::from_bytes(b"caf\xe9");
    let named = "\"caf\\351\" (a branch whose name is no UTF-8)";
    s.git(&["branch", "--quiet", "caf", "main"]).ok();
    s.git(&[
        OsStr::new("switch"),
        OsStr::new("-qc"),
        odd,
        OsStr::new("main"),
    ])
    .ok();
    s.loopx(&["-s", "demo", "status"]).ok();
    s.loopx(&["-s", "demo", "run", "--", "true"])
        .fails_with(1)
        .says(named);
    // A change is not begun on a branch that no record can name.
    let whole = s.loopx(&["start", "Other"]).says(named);
    insta::assert_snapshot!(whole.steady(), @r#"
    $ git-loopx start Other
    --- stderr
    refused: expected a branch that a record can name, found "caf\351" (a branch whose name is no UTF-8)

    hint: git branch -m caf-2
    --- exit 1
    "#);
    s.loopx(&["use", "demo"]).fails_with(1).says(named);
    s.git(&["branch", "-m", "caf-2"]).ok();
    s.loopx(&["start", "Other"]).ok();
}

#[test]
fn whoever_begins_on_a_branch_whose_name_is_no_utf_8_is_led_to_rename_it() {
    let s = Sandbox::new();
    let odd = OsStr::from_bytes(b"refs/heads/caf\xe9");
    s.git(&[OsStr::new("symbolic-ref"), OsStr::new("HEAD"), odd])
        .ok();
    s.commit_file("a", "one\n", "First").ok();
    s.loopx(&["init"]).ok();
    let nothing: [&str; 0] = [];
    s.loopx(&nothing).says("next: git branch -m caf");
    s.git(&["branch", "-m", "caf"]).ok();
    s.loopx(&nothing).says("next: git loopx start");
}

#[test]
fn next_to_hooks_that_were_installed_is_what_a_person_does_next() {
    let s = shims("repo");
    s.commit_file("a", "one\n", "First").ok();
    s.loopx(&["hooks", "install"]).says("next: git loopx init");
    s.loopx(&["hooks", "uninstall"]).ok();
    s.loopx(&["init"]).ok();
    let installed = s.loopx(&["hooks", "install"]);
    installed.says("next: git loopx start");
    s.loopx(&["hooks", "uninstall"]).ok();
    start(&s, "demo");
    let next = next_command(&s);
    let installed = s.loopx(&["hooks", "install"]);
    installed.says(&format!("next: {next}"));
}

#[test]
fn a_path_that_a_person_is_to_open_is_named_from_where_they_are() {
    let s = Sandbox::new();
    s.commit_file("src/deep/a", "one\n", "First").ok();
    s.loopx(&["init"]).ok();
    let here = s.path().join("src/deep");
    let at = |args: &[&str]| s.loopx_in(&here, args);
    at(&["start", "Demo"]).says("the files to write are in ../../.loopx/demo");
    at(&["checkout"]).says("checked out in ../../.loopx/demo");
    s.write(".loopx/demo/spec.md", b"\xff\n");
    at(&["save"])
        .fails_with(1)
        .says("../../.loopx/demo/spec.md:1: expected UTF-8");
    s.loopx_in(s.path().join(".loopx/demo"), &["save"])
        .fails_with(1)
        .says("refused: spec.md:1: expected UTF-8");
    s.loopx(&["save"])
        .fails_with(1)
        .says("refused: .loopx/demo/spec.md:1: expected UTF-8");
}

/// A command as Rita types it in the clone beside.
fn there(d: &Drive, args: &[&str]) -> Output {
    let (name, email) = RITA;
    let call = d.call(LOOPX).cwd(d.root().join("other")).args(args);
    call.env("GIT_AUTHOR_NAME", name)
        .env("GIT_AUTHOR_EMAIL", email)
        .env("GIT_COMMITTER_NAME", name)
        .env("GIT_COMMITTER_EMAIL", email)
        .run()
}

#[test]
fn t9_a_conflict_in_a_document_that_closed_meanwhile_is_not_led_to_an_edit() {
    let d = Drive::planned();
    let remote = d.root().join("remote.git");
    let remote = remote.to_str().expect("UTF-8").to_owned();
    d.git(&["clone", "--quiet", "--bare", ".", &remote]).ok();
    d.git(&["remote", "add", "origin", &remote]).ok();
    d.git(&["clone", "--quiet", "--branch", "demo", &remote, "../other"])
        .ok();
    there(&d, &["init"]).ok();
    there(&d, &["checkout"]).ok();
    let theirs = d.root().join("other/.loopx/demo/plan.md");
    let plan = std::fs::read_to_string(&theirs).expect("a plan");
    let other = plan.replace("One small step.", "One step of theirs.");
    assert_ne!(plan, other);
    std::fs::write(&theirs, other).expect("written");
    there(&d, &["save"]).ok();
    for args in [
        &["plan", "--architect", "approve"][..],
        &["plan", "--critic", "approve"],
    ] {
        there(&d, args).ok();
    }
    there(&d, &["sync", "origin"]).ok();
    d.change("plan.md", "One small step.", "One step of mine.");
    d.loopx(&["sync", "origin"]).ok();
    d.loopx(&["save"]).fails_with(3);
    assert_eq!(next_command(&d), "git loopx edit plan.md");
    for args in [
        &["approve", "--to", "build"][..],
        &["build"],
        &["sync", "origin"],
    ] {
        there(&d, args).ok();
    }
    d.loopx(&["sync", "origin"]).ok();
    assert_eq!(d.stage(), "build");
    assert_eq!(next_command(&d), "git loopx checkout --force plan.md");
    d.loopx(&["checkout", "--force", "plan.md"]).ok();
    let led = d.loopx(&["next"]).fails_with(6);
    assert!(!led.stderr.contains("plan.md"), "{led}");
}

#[test]
fn a_light_finding_about_a_plan_is_named_to_whoever_approves_it_and_holds_nothing() {
    let d = Drive::planned();
    d.does(&[
        "plan",
        "--architect",
        "iterate",
        "--finding",
        "low: plan.md: a nit",
    ]);
    d.change("plan.md", "One small step.", "One small step, then.");
    d.does(&["save"]);
    d.does(&["plan", "--architect", "approve"]);
    d.does(&["plan", "--critic", "approve"]);
    d.loopx(&["approve", "--to", "build", "--show"])
        .says("finding 1  low: plan.md: a nit")
        .ok();
    d.does(&["approve", "--to", "build"]);
}
