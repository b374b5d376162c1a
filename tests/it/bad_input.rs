//! Bad input and damaged stores: one paragraph that names the place and the way on, the right exit
//! code, and nothing written.

use crate::support::store::{
    ID, READY, assert_nothing_lost, assert_whole, everything, operations, put, started, tamper, tip,
};
use crate::support::{LOOPX, Output, Sandbox};
use clap::CommandFactory;

/// Every command that works on a session.
const ON_A_SESSION: [&[&str]; 21] = [
    &["status"],
    &["show"],
    &["show", "--run", "01m7xw5w35wr35x8w1q0pgvrng"],
    &["log"],
    &["diff"],
    &["diff", "1", "2"],
    &["undo"],
    &["abandon"],
    &["edit", "spec.md"],
    &["put", "spec.md", "code.txt"],
    &["cat", "spec.md"],
    &["cat", "spec.md", "--at", "1"],
    &["checkout"],
    &["checkout", "--force"],
    &["save"],
    &["clarify"],
    &["approve", "--to", "plan"],
    &["plan"],
    &["build"],
    &["run", "--", "true"],
    &["review"],
];

/// Commands that need no session, but a store.
const ON_A_STORE: [&[&str]; 5] = [
    &["list"],
    &["list", "--all"],
    &["start", "--no-branch", "another"],
    &["fsck"],
    &["fsck", "--repair"],
];

/// Runs a command as text and as JSON; asserts this exit code, one paragraph with each of `says`, the
/// error's code, and that nothing was written.
#[track_caller]
fn refused(s: &Sandbox, args: &[&str], code: i32, error: &str, says: &[&str]) {
    let before = everything(s);
    let call = |more: &[&str]| -> Output { s.call(LOOPX).args(more).args(args).run() };
    let text = call(&[]).fails_with(code);
    assert_eq!(text.stdout, "", "{text}");
    let said: Vec<&str> = text.stderr.trim_end().split("\n\n").collect();
    assert!(said.len() <= 2, "more than a paragraph and a hint\n{text}");
    assert_eq!(
        said.len() == 2,
        said.last().is_some_and(|last| last.starts_with("hint: ")),
        "{text}"
    );
    let text = says.iter().fold(text, |text, says| text.says(says));
    assert!(
        text.stderr.contains("hint: ") || text.stderr.contains("\n    git loopx"),
        "no way on\n{text}"
    );
    let json = call(&["--json"]).fails_with(code);
    assert_eq!(json.stdout, "", "{json}");
    let document = json.error_json();
    assert_eq!(document["schema"], 1);
    assert_eq!(document["error"]["code"], error, "{json}");
    assert_eq!(document["error"]["exit"], code);
    assert!(everything(s) == before, "something was written\n{json}");
}

#[test]
fn a_session_that_is_not_there_is_named_by_every_command() {
    let s = started();
    for args in ON_A_SESSION {
        let args = [&["-s", "auth-timeuot"], args].concat();
        refused(
            &s,
            &args,
            4,
            "session_unknown",
            &["auth-timeuot", "did you mean `auth-timeout`"],
        );
    }
    refused(
        &s,
        &["use", "nothing"],
        4,
        "session_unknown",
        &["git loopx list"],
    );
    for name in ["", "///", "con", "..", "\u{1b}[31m"] {
        let out = s.loopx(&["-s", name, "status"]);
        assert!(matches!(out.code, Some(2 | 4)), "{out}");
        assert!(!out.stderr.contains('\u{1b}'), "{out}");
    }
    let before = everything(&s);
    let out = s
        .call(LOOPX)
        .args(&["status"])
        .env("LOOPX_SESSION", "gone")
        .run();
    out.fails_with(4).says("no session is named `gone`");
    assert_eq!(everything(&s), before);
}

#[test]
fn without_the_branch_every_command_says_how_to_begin() {
    let s = Sandbox::new();
    s.commit_file("code.txt", "code\n", "code").ok();
    for args in ON_A_SESSION
        .iter()
        .chain(&ON_A_STORE)
        .chain(&[&["use", "x"][..]])
    {
        let before = s.git(&["for-each-ref"]).ok();
        let out = s.loopx(&[&["--json"], *args].concat()).fails_with(4);
        let error = out.error_json();
        assert_eq!(error["error"]["code"], "not_initialised", "{out}");
        assert_eq!(error["error"]["help"], "git loopx init");
        assert_eq!(s.git(&["for-each-ref"]).ok(), before);
        assert!(!s.exists(".loopx"));
    }
}

#[test]
fn a_command_in_the_wrong_stage_is_refused_with_the_command_that_works() {
    let s = started();
    for args in [
        &["plan"][..],
        &["build"],
        &["build", "--from-review"],
        &["build", "--report", "execution=complete"],
        &["review"],
        &["review", "--verdict", "approve"],
        &["approve", "--to", "plan"],
        &["approve", "--to", "build"],
        &["approve", "--to", "done"],
        &["approve", "--from", "build", "--to", "review"],
        &["plan", "--architect", "approve"],
        &["plan", "--critic", "approve"],
        &["put", "plan.md", "code.txt"],
        &["put", "intent.md", "code.txt"],
        &["edit", "plan.md"],
    ] {
        let before = everything(&s);
        let out = s.loopx(&[&["--json"], args].concat()).fails_with(1);
        let error = out.error_json();
        assert!(
            error["error"]["help"]
                .as_str()
                .is_some_and(|help| !help.is_empty()),
            "{out}"
        );
        assert_eq!(everything(&s), before, "{out}");
    }
}

#[test]
fn a_command_line_that_is_wrong_is_exit_2_as_text_and_as_json() {
    let s = started();
    for args in [
        &["bogus"][..],
        &["approve", "--to", "nowhere"],
        &["plan", "--critic", "perhaps"],
        &["cat"],
        &["run"],
        &["run", "--kind", "two words", "--", "true"],
        &["build", "--report", "execution"],
        &["build", "--report", "nothing=complete"],
        &["start", "x", "--branch", "a..b"],
    ] {
        let before = everything(&s);
        let text = s.loopx(args).fails_with(2);
        assert!(!text.stderr.is_empty() && text.stdout.is_empty(), "{text}");
        let json = s.loopx(&[&["--json"], args].concat()).fails_with(2);
        assert_eq!(json.error_json()["schema"], 1);
        assert_eq!(json.error_json()["error"]["kind"], "usage", "{json}");
        assert_eq!(everything(&s), before);
    }
}

#[test]
fn a_broken_artifact_is_refused_with_its_file_and_line() {
    let marked = "---\ncurrent_round: 1\n---\n<<<<<<< here\na\n=======\nb\n>>>>>>> on the branch\n";
    let large = "x".repeat(3 * 1024 * 1024);
    let cases: [(&[u8], i32, &str, &str); 6] = [
        (
            b"---\ncurrent_round: 1\n# no end\n",
            1,
            "artifact_invalid",
            "spec.md",
        ),
        (
            b"---\nambiguity_score: 0,1\n---\n",
            1,
            "artifact_invalid",
            "spec.md:2",
        ),
        (
            b"---\ncurrent_round: 3x\n---\n",
            1,
            "artifact_invalid",
            "spec.md:2",
        ),
        (b"one\ntwo\n\xff\xfe\n", 1, "artifact_not_utf8", "spec.md:3"),
        (large.as_bytes(), 1, "artifact_too_large", "at most"),
        (marked.as_bytes(), 3, "artifact_conflict", "spec.md:4"),
    ];
    for (bytes, code, error, place) in cases {
        let s = started();
        s.write("broken.md", bytes);
        refused(&s, &["put", "spec.md", "broken.md"], code, error, &[place]);
        s.write(format!(".loopx/{ID}/spec.md"), bytes);
        for args in [
            &["save"][..],
            &["clarify"],
            &["run", "--", "true"],
            &["approve", "--to", "plan"],
        ] {
            refused(&s, args, code, error, &[place]);
        }
        // Reading still works, and there is a way back.
        s.loopx(&["status"]).ok();
        s.loopx(&["checkout", "--force", "spec.md"]).ok();
        put(&s, "spec.md", READY).ok();
    }
    let s = started();
    refused(
        &s,
        &["put", "spec.md", "nothing.md"],
        4,
        "file_unreadable",
        &["nothing.md"],
    );
    refused(&s, &["cat", "spce.md"], 4, "artifact_unknown", &["spec.md"]);
}

#[test]
fn a_damaged_state_is_named_hides_no_other_session_and_is_computed_again() {
    let s = started();
    s.loopx(&["start", "--no-branch", "other"]).ok();
    s.loopx(&["run", "--", "true"]).ok();
    let whole = s.git(&["rev-parse", "loopx:sessions/auth-timeout"]).line();
    let other = s.git(&["show", "loopx:sessions/other/state.json"]).ok();
    let states: [Option<&[u8]>; 3] = [Some(b"{bad"), Some(b"\xff"), Some(other.as_bytes())];
    for state in states {
        tamper(&s, &format!("sessions/{ID}/state.json"), state);
        let place = format!("sessions/{ID}/state.json");
        for args in ON_A_SESSION {
            refused(
                &s,
                args,
                70,
                "record_damaged",
                &[&place, "git loopx fsck --repair"],
            );
        }
        s.loopx(&["-s", "other", "run", "--", "true"]).ok();
        s.loopx(&["list"]).says("damaged").says("other").ok();
        let found = s.loopx(&["--json", "fsck"]).fails_with(1).json();
        assert_eq!(found["damages"][0]["session"], ID);
        assert_eq!(found["damages"][0]["mend"], "recompute");
        assert!(found["damages"][0]["since"].is_string());
        s.loopx(&["fsck", "--repair"]).says("repaired 1").ok();
        assert_eq!(
            s.git(&["rev-parse", "loopx:sessions/auth-timeout"]).line(),
            whole
        );
        assert_whole(&s);
    }
    assert_eq!(operations(&s, ID).len(), 2);
}

#[test]
fn what_history_still_has_is_restored_from_it() {
    let s = started();
    s.loopx(&["run", "--", "true"]).ok();
    s.loopx(&["clarify"]).fails_with(1);
    let whole = s.git(&["rev-parse", "loopx:sessions"]).line();
    let folder = format!("sessions/{ID}");
    let op = s
        .git(&["ls-tree", "--name-only", "loopx", &format!("{folder}/ops/")])
        .ok();
    let op = op.lines().nth(1).expect("an operation").to_owned();
    let damages: [(&str, Option<&[u8]>, &str); 8] = [
        (&op, Some(b"{"), &op[folder.len() + 1..]),
        (&op, None, "which is not there"),
        (&format!("{folder}/spec.md"), Some(b"other"), "spec.md"),
        (&format!("{folder}/spec.md"), None, "spec.md"),
        (&format!("{folder}/ops"), None, "ops/"),
        (&folder, None, "the session has gone"),
        (&folder, Some(b"a file"), "is not a folder"),
        ("sessions", Some(b"a file"), "is not a folder"),
    ];
    for (path, content, says) in damages {
        tamper(&s, path, content);
        let before = tip(&s);
        s.loopx(&["fsck"]).fails_with(1).says(says);
        assert_eq!(tip(&s), before);
        s.loopx(&["fsck", "--repair"]).says("repaired 1").ok();
        assert_eq!(
            s.git(&["rev-parse", "loopx:sessions"]).line(),
            whole,
            "{path}"
        );
        assert_whole(&s);
        s.loopx(&["status"]).ok();
    }
}

#[test]
fn a_branch_bound_to_nothing_is_named_and_can_be_bound_again() {
    let s = started();
    tamper(&s, "branches/main", Some(b"gone\n"));
    refused(
        &s,
        &["status"],
        4,
        "session_unknown",
        &["main is bound to session `gone`", "git loopx list"],
    );
    s.loopx(&["fsck"]).fails_with(1).says("branches/main");
    s.loopx(&["use", ID]).ok();
    assert_whole(&s);
    tamper(&s, "branches/main", Some(b"../../x\n"));
    s.loopx(&["status"]).ok();
    s.loopx(&["fsck", "--repair"]).ok();
    assert_whole(&s);
}

#[test]
fn a_branch_of_somebody_else_and_a_newer_format_are_not_touched() {
    let s = started();
    tamper(&s, "format", Some(b"3\n"));
    let newer = tip(&s);
    for args in ON_A_SESSION
        .iter()
        .chain(&ON_A_STORE)
        .chain(&[&["init"][..]])
    {
        let out = s.loopx(&[&["--json"], *args].concat()).fails_with(1);
        assert_eq!(out.error_json()["error"]["code"], "format_newer", "{out}");
    }
    assert_eq!(tip(&s), newer);
    s.git(&["update-ref", "refs/heads/loopx", "main"]).ok();
    // A clone that never knew another branch of that name.
    s.git(&["update-ref", "-d", "refs/loopx/shadow/loopx"]).ok();
    std::fs::remove_file(s.path().join(".git/loopx/known/loopx")).expect("remove");
    let foreign = tip(&s);
    for args in ON_A_SESSION
        .iter()
        .chain(&ON_A_STORE)
        .chain(&[&["init"][..]])
    {
        let out = s.loopx(&[&["--json"], *args].concat()).fails_with(1);
        assert_eq!(out.error_json()["error"]["code"], "branch_foreign", "{out}");
    }
    assert_eq!(tip(&s), foreign);
    s.git(&["config", "loopx.branch", "sessions"]).ok();
    s.loopx(&["init"]).ok();
}

#[test]
fn every_command_answers_json_that_parses_with_its_schema() {
    let s = started();
    put(&s, "spec.md", READY).ok();
    let ran = s.loopx(&["--json", "run", "--", "echo", "hello"]).json();
    assert_eq!(ran["schema"], 1);
    let op = operations(&s, ID).last().expect("an operation")["op"].clone();
    let op = op.as_str().expect("an id").to_owned();
    s.git(&["branch", "elsewhere"]).ok();
    let commands: Vec<Vec<&str>> = vec![
        vec!["init"],
        vec!["list"],
        vec!["list", "--all"],
        vec!["status"],
        vec!["show"],
        vec!["show", "--run", &op],
        vec!["log"],
        vec!["diff"],
        vec!["diff", "1"],
        vec!["cat", "spec.md"],
        vec!["checkout"],
        vec!["use", ID, "--branch", "elsewhere"],
        vec!["use", ID],
        vec!["clarify"],
        vec!["approve", "--to", "plan"],
        vec!["plan"],
        vec!["undo"],
        vec!["undo"],
        vec!["fsck"],
        vec!["hooks", "status"],
        vec!["start", "--no-branch", "another"],
        vec!["-s", "another", "abandon"],
    ];
    for args in commands {
        let out = s.loopx(&[&["--json"], &args[..]].concat());
        let document = out.json();
        assert_eq!(document["schema"], 1, "{out}");
        assert!(document["command"].is_string(), "{out}");
        assert!(matches!(out.code, Some(0 | 1)), "{out}");
    }
    assert_nothing_lost(&s, ID, operations(&s, ID).len());
}

#[test]
fn every_command_has_a_help_text() {
    let s = Sandbox::empty("folder");
    let all = git_loopx::testing::Cli::command();
    let shown = all.get_subcommands().filter(|one| !one.is_hide_set());
    let commands: Vec<&str> = shown.map(clap::Command::get_name).collect();
    assert!(commands.len() > 20, "{commands:?}");
    for command in commands {
        let text = s.loopx(&["help", command]).ok();
        assert!(text.contains("Usage: git loopx"), "{text}");
        let first = text.lines().next().unwrap_or_default();
        assert!(
            first.len() > 10 && !first.starts_with("Usage"),
            "{command} says not what it is for"
        );
        // A topic of the same name comes first.
        assert!(
            text.ends_with(&s.loopx(&[command, "--help"]).ok()),
            "{command}"
        );
    }
}
