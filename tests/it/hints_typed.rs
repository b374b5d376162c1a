//! Hints that lead on where they are said. The numbers are those of the findings.

use crate::support::Sandbox;
use crate::support::changes::signing_in;
use crate::support::drive::Drive;

/// The help of a command that fails with this exit code.
#[track_caller]
fn help(s: &Sandbox, code: i32, args: &[&str]) -> String {
    let failure = s.error(code, args);
    failure["help"].as_str().expect("help").to_owned()
}

#[test]
fn q21_where_no_archive_waits_the_hint_asks_what_is_next() {
    let s = Drive::planning();
    assert_eq!(help(&s, 5, &["archive", "--continue"]), "git loopx next");
}

#[test]
fn q21_the_refusal_of_a_branch_names_the_same_command() {
    let s = Drive::planning();
    assert_eq!(
        help(&s, 4, &["change", "validate", "--onto", "nope"]),
        "git loopx change validate --onto demo"
    );
}

#[test]
fn q21_a_session_that_is_not_there_is_said_on_a_detached_head_too() {
    let s = Drive::planning();
    s.git(&["switch", "--quiet", "--detach"]).ok();
    let failure = s.error(4, &["use", "nope"]);
    assert_eq!(failure["code"], "session_unknown", "{failure}");
}

#[test]
fn q21_a_session_without_a_list_of_tasks_is_led_past_it() {
    let s = Drive::reviewing();
    assert_eq!(
        help(&s, 4, &["show", "--context", "--task", "X"]),
        "git loopx status"
    );
    assert_eq!(help(&s, 4, &["task", "conflicts"]), "git loopx status");
    assert_eq!(
        help(&s, 1, &["pipeline", "start", "lite"]),
        "git loopx status"
    );
}

#[test]
fn q21_what_lacks_a_reason_names_the_session_that_is_meant() {
    let s = Drive::building();
    s.git(&["switch", "--quiet", "--detach"]).ok();
    for words in [
        &["build", "--take-over"][..],
        &["agent", "block"],
        &["agent", "park"],
    ] {
        // The session is asked for first.
        let switch = "git switch demo  (or say that it is meant: -s demo)";
        assert_eq!(help(&s, 2, words), switch);
        let said = help(&s, 2, &[&["-s", "demo"], words].concat());
        let begin = format!("git loopx -s demo {} --reason ", words.join(" "));
        assert!(said.starts_with(&begin), "{said}");
    }
}

#[test]
fn q13_a_clone_is_led_on_in_the_session_of_its_branch() {
    let s = Drive::planning();
    let done = s.document(0, &["setup", "clone"]);
    let next = done["next_action"].to_string();
    assert!(!next.contains("git loopx start"), "{next}");
}

#[test]
fn q13_edit_leads_to_the_conflict_that_waits() {
    let s = Sandbox::with_spec();
    s.plan("one", &signing_in("The system SHALL ask for a key."));
    s.finish("one");
    s.git(&["switch", "--quiet", "main"]).ok();
    s.spec_says("ask for a password.", "ask for a finger.");
    s.loopx(&["-s", "one", "archive", "--onto", "main"])
        .fails_with(3);
    let failure = s.error(5, &["-s", "one", "edit"]);
    let help = failure["help"].as_str().expect("help");
    assert!(
        help.contains("git loopx -s one archive --continue"),
        "{help}"
    );
}

#[test]
fn q12_a_base_to_merge_is_merged_in_a_worktree() {
    let s = Drive::building();
    s.git(&["switch", "--quiet", "main"]).ok();
    s.commit_file("later.txt", "later\n", "Later").ok();
    s.git(&["switch", "--quiet", "demo"]).ok();
    s.git(&["clone", "--quiet", "--bare", ".", "../bare.git"])
        .ok();
    let bare = s.root().join("bare.git");
    let words = ["-s", "demo", "rebase", "--onto", "main", "--reason", "x"];
    s.loopx_in(&bare, &words)
        .fails_with(1)
        .says("git worktree add ../work demo  (and there: git merge ");
}
