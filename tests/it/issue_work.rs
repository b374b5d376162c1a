//! The backlog beside the work: trailers that name issues, what failed told to them, and what a session leaves proposed.

use crate::support::changes::adding;
use crate::support::issues::{BRIEF, backlog, create, list, show};
use crate::support::tasks::{fill, task};
use crate::support::{Sandbox, hooks};
use serde_json::{Value, json};

fn message(s: &Sandbox, revision: &str) -> String {
    s.git(&["log", "-1", "--format=%B", revision]).ok()
}

fn named(text: &str) -> Vec<&str> {
    let lines = text.lines();
    lines
        .filter_map(|line| line.strip_prefix("Loopx-Issue: "))
        .collect()
}

fn notes(s: &Sandbox, id: &str) -> Vec<Value> {
    show(s, id)["notes"].as_array().expect("notes").clone()
}

#[test]
fn commits_and_the_archive_of_a_session_name_its_issues() {
    let s = hooks::shims("repo");
    s.commit_file("code.txt", "code\n", "code").ok();
    s.loopx(&["init"]).ok();
    s.loopx(&["hooks", "install"]).ok();
    let one = create(&s, &["Fix the typo"]);
    let two = create(&s, &["Say it"]);
    s.git(&["switch", "--quiet", "-c", "typo"]).ok();
    s.loopx(&["start", "--quick", "--issue", &one, &two]).ok();
    for id in [&one, &two] {
        assert_eq!(
            show(&s, id)["sessions"][0]["session"],
            "fix-the-typo-and-say-it"
        );
    }
    s.write(".loopx/fix-the-typo-and-say-it/brief.md", BRIEF);
    s.commit_file(
        "code.txt",
        "well\n",
        &format!("Fix it\n\nLoopx-Issue: {two}"),
    )
    .ok();
    let text = message(&s, "HEAD");
    assert_eq!(named(&text), [two.as_str(), one.as_str()], "{text}");
    assert!(
        text.contains("Loopx-Session: fix-the-typo-and-say-it"),
        "{text}"
    );
    // Written again it says so once.
    s.git(&["commit", "--quiet", "--amend", "--no-edit"]).ok();
    assert_eq!(named(&message(&s, "HEAD")).len(), 2);
    s.loopx(&["run", "--", "true"]).ok();
    s.loopx(&["finish", "--yes"]).ok();
    let archive = message(&s, "HEAD");
    assert!(archive.starts_with("Archive "), "{archive}");
    assert_eq!(named(&archive), [one.as_str(), two.as_str()], "{archive}");
    for id in [&one, &two] {
        assert_eq!(show(&s, id)["status"], "resolved");
        // It would stay resolved: only the session can be opened again.
        let word: [&[&str]; 2] = [
            &["issue", "reopen", id],
            &["issue", "edit", id, "--status", "open"],
        ];
        for args in word {
            s.loopx(args).says("reopen --reason").fails_with(1);
        }
    }
    s.loopx(&["fsck"]).ok();
}

#[test]
fn a_word_behind_an_issue_that_means_none_is_the_name() {
    let s = backlog();
    let id = create(&s, &["Fix the typo"]);
    s.loopx(&["start", "--issue", &id, "pre-2026", "words"])
        .ok();
    assert_eq!(show(&s, &id)["sessions"][0]["session"], "pre-2026-words");
    s.git(&["switch", "--quiet", "-c", "other"]).ok();
    let [one, other] = ["Fix the form", "Fix the list"].map(|title| create(&s, &[title]));
    s.loopx(&["start", "--issue", &one, &other, "words in quotes"])
        .ok();
    assert_eq!(
        show(&s, &other)["sessions"][0]["session"],
        "words-in-quotes"
    );
}

#[test]
fn verify_warns_of_an_issue_that_is_not_there_and_refuses_nothing() {
    let s = backlog();
    let id = create(&s, &["There"]);
    let base = s.git(&["rev-parse", "HEAD"]).line();
    let text = format!("Land\n\nLoopx-Issue: {id}\nLoopx-Issue: lx-0000000000\nLoopx-Issue: ../x");
    s.commit_file("code.txt", "other\n", &text).ok();
    let report = s
        .loopx(&["--json", "verify", &format!("{base}..HEAD")])
        .json();
    let found = report["findings"].as_array().expect("findings");
    let found: Vec<(&Value, &Value)> = found
        .iter()
        .map(|one| (&one["code"], &one["severity"]))
        .collect();
    let warning = (json!("issue_named_unknown"), json!("warning"));
    assert_eq!(
        found,
        [(&warning.0, &warning.1), (&warning.0, &warning.1)],
        "{report}"
    );
    let said = s.loopx(&["verify", &format!("{base}..HEAD")]);
    assert_eq!(said.code, Some(0), "{said}");
    assert!(said.stdout.contains("lx-0000000000"), "{said}");
}

#[test]
fn an_issue_is_told_that_its_session_was_abandoned() {
    let s = backlog();
    let id = create(&s, &["Fix the typo"]);
    s.git(&["switch", "--quiet", "-c", "typo"]).ok();
    s.loopx(&["start", "--quick", "--issue", &id]).ok();
    let before = s.git(&["rev-list", "--count", "loopx"]).line();
    s.loopx(&["abandon", "--reason", "the form goes away"]).ok();
    let after = s.git(&["rev-list", "--count", "loopx"]).line();
    let number = |text: &str| text.parse::<u32>().expect("a number");
    assert_eq!(number(&after), number(&before) + 1, "one commit");
    let notes = notes(&s, &id);
    assert_eq!(notes.len(), 1);
    assert_eq!(notes[0]["kind"], "risk");
    assert_eq!(
        notes[0]["text"],
        "session fix-the-typo was abandoned: the form goes away"
    );
    assert_eq!(named(&message(&s, "loopx")), [id.as_str()]);
    s.loopx(&["fsck"]).ok();
}

#[test]
fn an_issue_is_told_of_a_task_that_failed_at_its_cap() {
    let s = backlog();
    let id = create(&s, &["Fix the typo"]);
    s.git(&["switch", "--quiet", "-c", "work"]).ok();
    s.loopx(&["start", "--profile", "lite", "--issue", &id, "--id", "demo"])
        .ok();
    fill(&s, &[task("T-1", &[], Some(&["true"]))]);
    s.loopx(&["approve", "--enter", "--reason", "agreed"]).ok();
    for attempt in 1..=3 {
        s.loopx(&["take", "T-1"]).ok();
        s.loopx(&["task", "fail", "--reason", "it hangs"]).ok();
        if attempt < 3 {
            assert_eq!(notes(&s, &id).len(), 0, "it may be tried again");
            s.loopx(&["task", "retry", "T-1"]).ok();
        }
    }
    let notes = notes(&s, &id);
    assert_eq!(notes.len(), 1);
    assert_eq!(
        notes[0]["text"],
        "task T-1 of session demo failed 3 times, its cap: it hangs"
    );
    s.loopx(&["fsck"]).ok();
}

#[test]
fn what_a_session_leaves_is_proposed_with_commands_and_never_made() {
    let s = Sandbox::with_spec();
    s.plan("one", &adding("Apples"));
    let slices = s.read(".loopx/one/change/slices.json");
    let unserved = slices.replace("\"demo/Apples/Asked\"", "");
    s.edit("one", "change/slices.json", &unserved);
    s.finish_unserved("one");
    let scenario = "demo/Apples/Asked";
    let waive = ["archive", "--waive", scenario, "--reason", "seen by hand"];
    let done = s.document(0, &waive);
    let proposed = &done["follow_ups"][0];
    assert_eq!(proposed["kind"], "test", "{done}");
    assert_eq!(proposed["title"], "Prove demo/Apples/Asked");
    assert_eq!(list(&s, &["--all"]).len(), 0, "nothing was made");
    let command = proposed["command"].as_str().expect("a command");
    let words = command.strip_prefix("git loopx ").expect("ours");
    let words: Vec<String> = words
        .split(" --label ")
        .map(|part| part.trim_start_matches("issue create ").replace('\'', ""))
        .collect();
    s.loopx(&["issue", "create", &words[0], "--label", &words[1]])
        .ok();
    assert_eq!(list(&s, &["-l", "test"]).len(), 1);
}
