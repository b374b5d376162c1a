//! `start --revert`: a session that takes a commit back, whose documents are written already (issue 12, item 2).

use crate::support::Sandbox;
use crate::support::session::{put, started};

const POLICY: &str = "[gates]\nprotected = [\"main\"]\nout_of_scope = \"refuse\"\n";

/// A repository whose main has a bad commit, on a branch for the fix.
fn broken(policy: &str) -> (Sandbox, String) {
    let s = started(policy);
    s.git(&["switch", "--quiet", "main"]).ok();
    s.write("src/a[1].rs", "bad\n");
    s.write("src/old.rs", "bad\n");
    s.git(&["add", "."]).ok();
    s.git(&[
        "commit",
        "--quiet",
        "--no-verify",
        "-m",
        "Add a \"bad\" thing",
    ])
    .ok();
    let bad = s.git(&["rev-parse", "HEAD"]).line();
    s.commit_file("src/c.rs", "later\n", "Later").ok();
    (s, bad)
}

#[test]
fn an_emergency_revert_is_approved_built_and_lands_without_a_document_to_write_before_the_build() {
    let (s, bad) = broken(POLICY);
    // What lands is judged on another branch.
    s.loopx(&["start", "--revert", &bad])
        .fails_with(1)
        .says("git switch -c revert-");
    s.git(&["switch", "--quiet", "-c", "hotfix"]).ok();
    let said = s
        .loopx(&[
            "--json",
            "start",
            "--revert",
            &bad,
            "-m",
            "It breaks the login.",
        ])
        .json();
    let id = said["session"].as_str().expect("an id").to_owned();
    assert_eq!(id, format!("revert-{}", &bad[..10]));
    assert_eq!(said["revert"], format!("git revert {}", &bad[..10]));
    assert_eq!(
        s.loopx(&["cat", "intent.md"]).ok(),
        "It breaks the login.\n"
    );
    for args in [
        &["approve", "--to", "plan"][..],
        &["plan"],
        &["plan", "--architect", "approve"],
        &["plan", "--critic", "approve"],
        &["approve", "--to", "build"],
        &["build"],
    ] {
        s.loopx(args).ok();
    }
    // The check fails as long as nothing is taken back.
    s.loopx(&["run", "--task", "VS-1"]).fails_with(1);
    s.git(&["revert", "--no-edit", &bad]).ok();
    s.loopx(&["run", "--task", "VS-1"]).ok();
    let record = "---\nplanned_scope: []\nimplemented_scope: []\nremaining_scope: []\n\
                  completion_claim: full\n---\n# E\n\n## Changes\n\nTaken back.\n";
    put(&s, "execution-record.md", record);
    for args in [
        &["build", "--report", "execution=complete", "--reason", "x"][..],
        &["approve", "--to", "review"],
        &["review"],
        &["review", "--verdict", "approve"],
        &["approve", "--to", "done"],
    ] {
        s.loopx(args).ok();
    }
    let range = [
        "verify",
        "main..hotfix",
        "--policy-from",
        "main",
        "--onto",
        "main",
    ];
    s.loopx(&range).ok();
    assert_eq!(s.read("src/old.rs"), "old\n");
    assert!(!s.exists("src/a[1].rs"));
}

#[test]
fn only_a_commit_that_the_session_starts_from_is_taken_back() {
    let (s, bad) = broken("");
    s.git(&["switch", "--quiet", "-c", "before", "main~2"]).ok();
    let tip = s.git(&["rev-parse", "loopx"]).line();
    let first = s.git(&["rev-list", "--max-parents=0", "HEAD"]).line();
    for commit in [&bad, &first] {
        let refused = s
            .loopx(&["--json", "start", "--revert", commit])
            .fails_with(1);
        assert_eq!(refused.error_json()["error"]["code"], "revert_outside");
    }
    s.loopx(&["start", "--revert", "nowhere"]).fails_with(4);
    s.loopx(&["start"]).fails_with(2);
    assert_eq!(s.git(&["rev-parse", "loopx"]).line(), tip);
}

#[test]
fn a_merge_is_taken_back_against_its_first_parent_and_what_changed_since_is_left_to_people() {
    let (s, bad) = broken("");
    s.git(&["switch", "--quiet", "-c", "side", &format!("{bad}~1")])
        .ok();
    s.commit_file("src/side.rs", "side\n", "Side").ok();
    s.git(&["switch", "--quiet", "main"]).ok();
    s.git(&["merge", "--quiet", "--no-edit", "side"]).ok();
    s.commit_file("src/side.rs", "changed\n", "Changed since")
        .ok();
    s.git(&["switch", "--quiet", "-c", "hotfix"]).ok();
    let said = s
        .loopx(&[
            "--json",
            "start",
            "--revert",
            "main~1",
            "Take the side back",
        ])
        .json();
    assert_eq!(said["session"], "take-the-side-back");
    let command = said["revert"].as_str().expect("a command");
    assert!(command.starts_with("git revert -m 1 "), "{command}");
    assert_eq!(s.loopx(&["cat", "change/slices.json"]).ok(), "[]\n");
}
