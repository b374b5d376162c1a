//! `undo` and `redo` across several events: one commit and one operation each, and everything that hangs
//! on the events goes with them.

use crate::support::LOOPX;
use crate::support::clones::Clones;
use crate::support::drive::{Drive, ID, SPEC};
use crate::support::store::{ID as SHARED, READY, put, started};
use serde_json::{Value, json};
use std::fs;

/// The facts of a session that do not say who touched it last.
fn facts(mut state: Value) -> Value {
    let map = state.as_object_mut().expect("a state");
    for key in ["ops", "seq", "last", "touched"] {
        map.remove(key);
    }
    state
}

/// The newest operation of the session.
fn newest(d: &Drive) -> Value {
    let log = d.does(&["log"]);
    let all = log["operations"].as_array().expect("operations");
    all.last().expect("an operation").clone()
}

fn commits(d: &Drive) -> usize {
    let count = d.git(&["rev-list", "--count", "loopx"]).line();
    count.parse().expect("a number")
}

#[test]
fn several_events_go_back_in_one_commit_and_come_back_the_same() {
    let d = Drive::planned();
    let before = facts(d.state());
    let clarified = facts(Drive::clarified().state());
    let count = commits(&d);
    // approve, plan, save, architect, critic.
    let told = d.does(&["undo", "5", "--reason", "another way"]);
    assert_eq!(commits(&d), count + 1);
    let words: Vec<&str> = told["operations"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| one["event"].as_str().expect("a word"))
        .collect();
    assert_eq!(
        words,
        ["plan-review", "plan-review", "save", "plan", "approve"]
    );
    assert_eq!(told["undone"], told["operations"][0]);
    assert_eq!(told["stage"], "clarify");
    let undo = newest(&d);
    assert_eq!(undo["kind"], "undone");
    assert_eq!(undo["body"]["undone"].as_array().map(Vec::len), Some(5));
    assert_eq!(undo["reason"], "another way");
    let message = d.git(&["log", "-1", "--format=%B", "loopx"]).ok();
    assert!(message.starts_with("demo: undo 5 events: plan-review, plan-review, save, ...\n"));
    assert_eq!(message.matches("Loopx-Undoes: ").count(), 5, "{message}");
    // Another repository, so other times and ids: what the events made is what is compared.
    for key in ["stage", "artifacts", "approvals", "plan", "last_transition"] {
        assert_eq!(d.state()[key], clarified[key], "{key}");
    }
    assert!(!d.exists(format!(".loopx/{ID}/plan.md")));
    assert_eq!(d.status()["next_action"], "git loopx approve --enter");
    // Two at first, then the rest.
    let told = d.does(&["redo", "2"]);
    assert_eq!(told["redone"]["event"], "approve");
    assert_eq!(told["stage"], "plan");
    assert_eq!(newest(&d)["kind"], "redone");
    let message = d.git(&["log", "-1", "--format=%B", "loopx"]).ok();
    assert!(
        message.starts_with("demo: redo 2 events: approve, plan\n"),
        "{message}"
    );
    assert_eq!(message.matches("Loopx-Redoes: ").count(), 2);
    d.does(&["redo", "3"]);
    assert_eq!(commits(&d), count + 3);
    assert_eq!(facts(d.state()), before);
    assert!(d.exists(format!(".loopx/{ID}/plan.md")));
    d.loopx(&["fsck"]).says("all whole").ok();
    insta::assert_snapshot!(d.loopx(&["log"]).steady(), @"
    $ git-loopx log
    @11  2026-01-01T00:00:27Z  Ada Author (name not proven)  redo @6, @7, @8  [plan.md, architecture.md, development-plan.md, test-plan.md, change/proposal.md, change/spec-delta.md, change/design.md, change/tasks.md, change/slices.json, change/artifact-graph.json]
    @10  2026-01-01T00:00:24Z  Ada Author (name not proven)  redo @4, @5  [plan.md, architecture.md, development-plan.md, test-plan.md, change/proposal.md, change/spec-delta.md, change/design.md, change/tasks.md, change/slices.json, change/artifact-graph.json]
    @9   2026-01-01T00:00:14Z  Ada Author (name not proven)  undo @8, @7, @6, @5, @4  [plan.md, architecture.md, development-plan.md, test-plan.md, change/proposal.md, change/spec-delta.md, change/design.md, change/tasks.md, change/slices.json, change/artifact-graph.json]
           another way
    @8   2026-01-01T00:00:11Z  Ada Author  critic: approve
    @7   2026-01-01T00:00:10Z  Ada Author  architect: approve
    @6   2026-01-01T00:00:09Z  Ada Author  save  [plan.md, architecture.md, development-plan.md, test-plan.md, change/proposal.md, change/spec-delta.md, change/design.md, change/tasks.md, change/slices.json, change/artifact-graph.json]
    @5   2026-01-01T00:00:08Z  Ada Author (name not proven)  clarify->plan  [plan.md, architecture.md, development-plan.md, test-plan.md, change/proposal.md, change/spec-delta.md, change/design.md, change/tasks.md, change/slices.json, change/artifact-graph.json]
    @4   2026-01-01T00:00:07Z  Ada Author (name not proven)  approve clarify->plan, content 0000000000
    @3   2026-01-01T00:00:06Z  Ada Author  clarify
    @2   2026-01-01T00:00:06Z  Ada Author  save  [spec.md]
    @1   2026-01-01T00:00:05Z  Ada Author  start  [intent.md, spec.md]
    --- exit 0
    ");
}

#[test]
fn edits_that_a_run_saved_are_taken_back_and_the_run_stays() {
    let d = Drive::clarified();
    let count = commits(&d);
    let edited = format!("{SPEC}\nmore\n");
    d.edit("spec.md", &edited);
    d.does(&["run", "--", "true"]);
    assert_eq!(commits(&d), count + 1);
    assert_eq!(d.artifact("spec.md"), edited);
    let told = d.does(&["undo", "1"]);
    assert_eq!(told["undone"]["event"], "save");
    assert_eq!(d.artifact("spec.md"), SPEC);
    assert_eq!(d.state()["evidence"].as_array().map(Vec::len), Some(1));
    d.does(&["redo"]);
    assert_eq!(d.artifact("spec.md"), edited);
    d.loopx(&["fsck", "--full"]).says("all whole").ok();
}

#[test]
fn the_way_back_is_named_by_a_number_an_operation_or_its_commit() {
    let d = Drive::planned();
    let log = d.does(&["log"]);
    let all = log["operations"].as_array().expect("operations").clone();
    let at = all
        .iter()
        .position(|op| op["kind"] == "clarified")
        .expect("a round");
    let op = all[at]["op"].as_str().expect("an id").to_owned();
    let commit = d
        .git(&["log", "--format=%H", "--grep=^demo: clarify", "loopx"])
        .line();
    let number = format!("@{}", all[at]["seq"]);
    let expected = facts(Drive::clarified().state())["artifacts"].clone();
    for point in [number.as_str(), &op, &op[16..], &commit, &commit[..10]] {
        let told = d.does(&["undo", "--to", point]);
        assert_eq!(told["stage"], "clarify", "{point}");
        assert_eq!(d.state()["artifacts"], expected);
        let count = told["operations"].as_array().map_or(0, Vec::len);
        d.does(&["redo", &count.to_string()]);
        assert_eq!(d.stage(), "plan");
    }
    d.fails(4, &["undo", "--to", "@99"])
        .is("point_unknown", &[]);
    d.fails(4, &["undo", "--to", "main"])
        .is("point_unknown", &[]);
    d.fails(5, &["undo", "--to", &all[all.len() - 1]["seq"].to_string()])
        .is("nothing_to_undo", &[]);
    // What was undone since is no place to go back to.
    d.does(&["undo", "2"]);
    let last = all[all.len() - 1]["seq"].to_string();
    let refused = d.refuses(&["undo", "--to", &last]).is("point_undone", &[]);
    assert_eq!(refused.help, "git loopx -s demo redo");
    d.does(&["redo", "2"]);
    d.loopx(&["undo", "2", "--to", "@1"]).fails_with(2);
    d.does(&["undo", "--to", "@1"]);
    d.fails(5, &["undo"]).is("nothing_to_undo", &[]);
}

#[test]
fn more_than_there_is_is_refused_and_nothing_at_all_too() {
    let d = Drive::clarified();
    d.fails(5, &["redo"]).is("nothing_to_redo", &[]);
    let refused = d.refuses(&["undo", "9"]).is("events_too_few", &[]);
    // The round, and the words that it saved.
    assert_eq!(refused.help, "git loopx -s demo undo 2");
    d.loopx(&["undo", "0"]).fails_with(2);
    d.does(&["undo"]);
    let refused = d.refuses(&["redo", "2"]).is("events_too_few", &[]);
    assert_eq!(refused.help, "git loopx -s demo redo 1");
    d.does(&["redo"]);
    d.fails(5, &["redo"]).is("nothing_to_redo", &[]);
}

#[test]
fn what_came_after_an_undo_keeps_it_from_coming_back() {
    let d = Drive::planned();
    d.does(&["undo", "2"]);
    d.does(&["plan", "--architect", "iterate", "--reason", "no"]);
    let refused = d.refuses(&["redo"]).is("redo_overtaken", &[]);
    let refused = refused
        .names("`plan-review` by ")
        .names("came after the undo");
    assert!(refused.help.starts_with("git loopx -s demo log"));
    // That one was undone itself: it comes back, and what was before it still does not.
    d.does(&["undo"]);
    d.refuses(&["redo", "2"]).is("events_too_few", &[]);
    d.does(&["redo"]);
    d.refuses(&["redo"]).is("redo_overtaken", &[]);
}

#[test]
fn edits_that_are_not_saved_are_not_lost_between() {
    let d = Drive::clarified();
    d.does(&["undo"]);
    d.edit(
        "spec.md",
        &SPEC.replace("A test shows it.", "Two tests show it."),
    );
    d.refuses(&["redo"]).is("unsaved_edits", &[]);
    d.does(&["checkout", "--force"]);
    d.does(&["redo"]);
    assert_eq!(d.artifact("spec.md"), SPEC);
}

#[test]
fn branches_follow() {
    let d = Drive::clarified();
    let bound = |branch: &str| {
        let out = d.git(&[
            "ls-tree",
            "--name-only",
            &format!("loopx:branches/{branch}"),
        ]);
        (out.code == Some(0)).then(|| out.stdout.trim().to_owned())
    };
    d.git(&["switch", "--quiet", "--create", "second"]).ok();
    d.does(&["use", ID]);
    d.does(&["abandon", "--reason", "enough"]);
    assert_eq!((bound(ID), bound("second")), (None, None));
    d.does(&["-s", ID, "undo"]);
    assert_eq!(bound("second").as_deref(), Some(ID));
    d.does(&["-s", ID, "redo"]);
    assert_eq!(bound("second"), None);
    let status = d.does(&["-s", ID, "status"]);
    assert_eq!(status["ending"]["how"], "abandoned", "{status:#}");
    d.does(&["-s", ID, "undo", "2"]);
    assert_eq!((bound(ID).as_deref(), bound("second")), (Some(ID), None));
    assert_eq!(d.does(&["-s", ID, "show"])["state"]["branch"], ID);
    d.does(&["-s", ID, "redo"]);
    assert_eq!(bound("second").as_deref(), Some(ID));
    d.loopx(&["fsck"]).says("all whole").ok();
}

#[test]
fn approvals_and_the_hold_on_a_build_come_back_right() {
    let d = Drive::building();
    let before = facts(d.state());
    let next = d.status()["next_action"].clone();
    d.does(&["undo"]);
    assert_eq!(d.approval("build"), "approved");
    assert_eq!(d.state()["build"]["claim"], Value::Null);
    assert_eq!(d.status()["next_action"], "git loopx build");
    d.does(&["undo"]);
    assert_eq!(d.approval("build"), "not-requested");
    assert_eq!(d.status()["next_action"], "git loopx approve --enter");
    d.does(&["redo"]);
    assert_eq!(d.approval("build"), "approved");
    // An approval that came back is about what it was given to.
    d.change("change/design.md", "A file", "Two files");
    let refused = d.loopx(&["--json", "build"]).fails_with(1);
    assert!(
        refused.error_json().to_string().contains("stale"),
        "{refused}"
    );
    d.does(&["checkout", "--force"]);
    d.does(&["redo"]);
    assert_eq!(facts(d.state()), before);
    assert_eq!(d.status()["next_action"], next);
}

#[test]
fn what_an_archive_did_is_taken_back_by_another_command() {
    let d = Drive::done();
    d.git(&["switch", "--quiet", "main"]).ok();
    d.git(&["merge", "--quiet", ID]).ok();
    d.does(&["-s", ID, "archive"]);
    for (command, other) in [
        ("undo", "git loopx archive --undo demo"),
        ("redo", "git loopx -s demo reopen"),
    ] {
        let refused = d.refuses(&["-s", ID, command]).is("session_archived", &[]);
        assert!(refused.help.starts_with(other), "{refused:?}");
    }
}

#[test]
fn what_was_undone_lets_no_code_in_although_it_comes_back() {
    let d = Drive::building();
    d.does(&["undo"]);
    let undone = d.tip();
    let claim = |state: &str, path: &str| {
        let message = format!("code\n\nLoopx-Session: demo\nLoopx-State: {state}\n");
        d.write(path, path);
        d.git(&["add", "--", path]).ok();
        d.git(&["commit", "--quiet", "--no-verify", "-m", &message])
            .ok();
    };
    claim(&undone, "src/early.rs");
    d.does(&["redo"]);
    let found = |range: &str| d.loopx(&["verify", "--json", range]).json()["findings"].clone();
    let early = found("HEAD~1..HEAD");
    assert!(!early.as_array().expect("findings").is_empty(), "{early:#}");
    claim(&d.tip(), "src/in-time.rs");
    assert_eq!(found("HEAD~1..HEAD"), json!([]));
    // And what is undone by now lets nothing in that rested on it.
    d.does(&["undo"]);
    let late = found("HEAD~1..HEAD");
    assert!(!late.as_array().expect("findings").is_empty());
}

/// Two clones of one session whose spec has been saved once by the first.
fn shared() -> Clones {
    Clones::once("", || {
        let all = Clones::sharing(2);
        all.put(0, "spec.md", READY).ok();
        all.settle();
        all
    })
}

fn blocked_by_conflict(all: &Clones, at: usize) -> bool {
    let blockers = all.status(at)["blockers"].to_string();
    blockers.contains("session_conflict")
}

#[test]
fn two_who_undo_the_same_at_once_have_undone_it_once() {
    let all = shared();
    for at in [0, 1] {
        let theirs = ["-s", SHARED, "undo", "--of", "Person 0", "--reason", "both"];
        all.loopx(at, &theirs).ok();
    }
    // One of them thinks better of it before they meet: it stays back, nobody told the other.
    all.loopx(1, &["-s", SHARED, "redo"]).ok();
    assert_eq!(all.cat(1, "spec.md"), READY);
    all.settle();
    all.assert_agreed();
    assert_ne!(all.cat(0, "spec.md"), READY);
    assert!(!blocked_by_conflict(&all, 0));
    // Now that both are known it comes back.
    all.loopx(0, &["-s", SHARED, "redo"]).ok();
    all.settle();
    all.assert_agreed();
    assert_eq!(all.cat(1, "spec.md"), READY);
}

#[test]
fn an_undo_here_and_a_save_there_is_a_conflict_for_a_person() {
    let all = shared();
    all.loopx(0, &["-s", SHARED, "undo"]).ok();
    all.put_spec(1, "An idle session ends.", "An idle session ends late.")
        .ok();
    all.settle();
    all.assert_agreed();
    for at in [0, 1] {
        assert!(blocked_by_conflict(&all, at));
        let advice = all.status(at)["advice"].to_string();
        assert!(advice.contains("resolve --"), "{advice}");
    }
    let held = all.loopx(0, &["-s", SHARED, "--json", "resolve"]).json();
    let op = held["operations"][0]["op"]
        .as_str()
        .expect("an id")
        .to_owned();
    assert!(
        held.to_string()
            .contains("took back an operation that this one was written on"),
        "{held:#}"
    );
    all.loopx(0, &["-s", SHARED, "resolve", "--keep", &op]).ok();
    all.settle();
    all.assert_agreed();
    assert!(all.cat(1, "spec.md").contains("ends late."));
}

#[test]
fn a_redo_here_and_a_save_there_is_a_conflict_for_a_person() {
    let all = shared();
    all.loopx(0, &["-s", SHARED, "undo"]).ok();
    all.settle();
    all.loopx(0, &["-s", SHARED, "redo"]).ok();
    all.put_spec(1, "An idle session ends.", "An idle session ends late.")
        .ok();
    all.settle();
    all.assert_agreed();
    assert!(blocked_by_conflict(&all, 0));
    assert_eq!(all.cat(0, "spec.md"), READY);
    let held = all.loopx(0, &["-s", SHARED, "--json", "resolve"]).json();
    assert!(
        held.to_string()
            .contains("brought back an operation that this one was written without"),
        "{held:#}"
    );
    let op = held["operations"][0]["op"]
        .as_str()
        .expect("an id")
        .to_owned();
    // To keep what was saved is to drop the redo.
    all.loopx(1, &["-s", SHARED, "resolve", "--keep", &op]).ok();
    all.settle();
    all.assert_agreed();
    assert!(all.cat(0, "spec.md").contains("ends late."));
    all.loopx(0, &["-s", SHARED, "redo"])
        .fails_with(1)
        .says("came after the undo");
}

#[test]
fn no_gate_opens_because_a_redo_met_what_was_done_without_it() {
    let all = shared();
    all.loopx(0, &["-s", SHARED, "clarify"]).ok();
    all.loopx(0, &["-s", SHARED, "approve", "--to", "plan"])
        .ok();
    all.loopx(0, &["-s", SHARED, "plan"]).ok();
    all.loopx(0, &["-s", SHARED, "undo"]).ok();
    all.settle();
    // Here the move comes back; there the session is moved anew.
    all.loopx(0, &["-s", SHARED, "redo"]).ok();
    all.loopx(1, &["-s", SHARED, "plan"]).ok();
    all.settle();
    all.assert_agreed();
    assert!(blocked_by_conflict(&all, 0));
    let held = all.loopx(1, &["-s", SHARED, "--json", "resolve"]).json();
    assert_eq!(
        held["operations"].as_array().map(Vec::len),
        Some(1),
        "{held:#}"
    );
    // An approval that was revoked here is not armed by somebody's redo of another event there.
    all.loopx(
        1,
        &[
            "-s",
            SHARED,
            "resolve",
            "--drop",
            held["operations"][0]["op"].as_str().expect("an id"),
        ],
    )
    .ok();
    all.settle();
    all.assert_agreed();
    assert_eq!(all.status(0)["stage"], "plan");
}

#[test]
fn an_undo_as_older_programs_wrote_it_is_read_and_comes_back() {
    let d = Drive::clarified();
    let saved = facts(d.state());
    d.does(&["undo"]);
    let golden = fs::read_to_string(
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/op-undone.json"),
    )
    .expect("a golden file");
    let golden: Value = serde_json::from_str(&golden).expect("JSON");
    // The same form as ever for one: an id, not a list.
    assert!(golden["body"]["undone"].is_string(), "{golden:#}");
    assert!(newest(&d)["body"]["undone"].is_string());
    d.does(&["redo"]);
    assert_eq!(facts(d.state()), saved);
}

#[test]
fn nothing_is_no_number_of_steps() {
    let s = crate::support::store::started();
    for command in ["undo", "redo"] {
        s.loopx(&[command, "0"])
            .fails_with(2)
            .says("expected a number of at least 1, found `0`");
    }
}

#[test]
fn of_two_sessions_the_one_that_goes_on_is_meant() {
    let s = crate::support::store::started();
    s.loopx(&["start", "--no-branch", "Other"]).ok();
    s.git(&["switch", "-q", "--detach"]).ok();
    s.loopx(&["status"]).fails_with(2);
    s.loopx(&["-s", "other", "abandon"]).ok();
    s.loopx(&["status"]).says(crate::support::store::ID).ok();
}

#[test]
fn an_undo_after_the_end_takes_back_the_end_and_no_run_beside_it() {
    let all = crate::support::clones::Clones::sharing(2);
    let id = crate::support::store::ID;
    all.loopx(0, &["-s", id, "abandon"]).ok();
    all.loopx(1, &["-s", id, "run", "--", "true"]).ok();
    all.sync(0).ok();
    all.sync(1).ok();
    all.sync(0).ok();
    all.loopx(0, &["-s", id, "undo"]).says("abandon").ok();
    let status = all.loopx(0, &["--json", "-s", id, "status"]).json();
    assert!(status["ending"].is_null(), "{status:#}");
    let shown = all.loopx(0, &["--json", "-s", id, "show"]).json();
    assert_eq!(shown["state"]["evidence"].as_array().map(Vec::len), Some(1));
}

/// Steps come back as in an editor, in the order in which they were taken back.
#[test]
fn what_was_undone_last_comes_back_first() {
    let s = started();
    for text in ["# One\n", "# Two\n", "# Three\n"] {
        put(&s, "spec.md", text).ok();
    }
    let cat = || s.loopx(&["-s", SHARED, "cat", "spec.md"]).ok();
    // The one in the middle, and then the last.
    let middle = s.loopx(&["-s", SHARED, "undo", "--only", "3"]);
    assert!(!middle.ok().contains("went back"));
    assert_eq!(cat(), "# Three\n");
    s.loopx(&["-s", SHARED, "undo"])
        .says("went back too: spec.md")
        .ok();
    assert_eq!(cat(), "# One\n");
    s.loopx(&["-s", SHARED, "redo"]).ok();
    assert_eq!(cat(), "# Three\n");
    s.loopx(&["-s", SHARED, "redo"]).ok();
    assert_eq!(cat(), "# Three\n");
    s.loopx(&["-s", SHARED, "undo"]).ok();
    assert_eq!(cat(), "# Two\n");
}

/// A claim goes with what it rests on, and comes back with it.
#[test]
fn no_claim_keeps_what_it_rests_on_from_being_undone() {
    use crate::support::tasks::{building, statuses, task};
    let s = building(&[task("A", &[], Some(&["true"]))]);
    for args in [
        &["take", "A"][..],
        &["task", "done", "A"],
        &["task", "retry", "A"],
        &["take", "A"],
    ] {
        s.loopx(args).ok();
    }
    let undone = s.loopx(&["undo", "1", "--json"]).json();
    let words: Vec<&str> = undone["operations"]
        .as_array()
        .expect("events")
        .iter()
        .filter_map(|one| one["event"].as_str())
        .collect();
    assert_eq!(words, ["task-retry", "take"], "{undone:#}");
    assert_eq!(statuses(&s)["A"], "completed");
    s.loopx(&["undo", "1"]).ok();
    assert_eq!(statuses(&s)["A"], "claimed");
    s.loopx(&["redo"]).ok();
    s.loopx(&["redo"]).ok();
    assert_eq!(statuses(&s)["A"], "claimed");
    s.loopx(&["fsck", "--full"]).says("all whole").ok();
    // Down to the beginning, whatever was done.
    let down = (0..20).find(|_| s.loopx(&["undo", "1"]).code != Some(0));
    assert!(down.is_some_and(|steps| steps > 3), "{down:?}");
    let end = s.call(LOOPX).args(&["--json", "undo", "1"]).run();
    assert_eq!(
        end.fails_with(5).error_json()["error"]["code"],
        "nothing_to_undo"
    );
}

#[test]
fn who_takes_a_claim_of_somebody_else_back_says_why() {
    use crate::support::tasks::{building, statuses, task, there};
    let s = building(&[task("A", &[], Some(&["true"]))]);
    for args in [
        &["take", "A"][..],
        &["task", "done", "A"],
        &["task", "retry", "A"],
    ] {
        s.loopx(args).ok();
    }
    let other = crate::support::store::detached(&s, "other");
    let theirs = there(&s, &other, &["take", "A"])
        .env("GIT_AUTHOR_NAME", "Bo")
        .env("GIT_AUTHOR_EMAIL", "bo@example.org")
        .env("GIT_COMMITTER_NAME", "Bo")
        .env("GIT_COMMITTER_EMAIL", "bo@example.org");
    theirs.run().ok();
    let refused = s.call(LOOPX).args(&["--json", "undo"]).run().fails_with(2);
    let error = refused.error_json()["error"].clone();
    assert_eq!(error["code"], "reason_required", "{error:#}");
    s.loopx(&["undo", "--reason", "it was done well"]).ok();
    assert_eq!(statuses(&s)["A"], "completed");
}
