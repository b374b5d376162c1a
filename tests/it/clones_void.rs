//! T1: whatever clones make by ordinary commands and `sync` is whole for `fsck`, `doctor` and
//! `pre-receive`. An approval whose content another clone took back is void, and says so.

use crate::support::clones::Clones;
use crate::support::server::HOOK;
use crate::support::store::{ID, READY};
use serde_json::Value;

/// Two clones, behind a server that judges every push, with a spec that is ready.
fn ready() -> Clones {
    Clones::once("", || {
        let all = Clones::sharing(2);
        let hook = all.remote().join("hooks/pre-receive");
        all.s.script(hook, HOOK);
        all.put(0, "spec.md", READY).ok();
        all.settle();
        all
    })
}

/// Two clones as in `ready`, after one took the spec back, and the other approved it meanwhile.
fn undone_and_approved() -> Clones {
    let all = ready();
    all.loopx(0, &["-s", ID, "undo"]).ok();
    all.loopx(1, &["-s", ID, "approve", "--to", "plan"]).ok();
    for at in [0, 1, 0] {
        all.sync(at).ok();
    }
    all
}

/// Whole for everybody who looks; every push of it was taken by the server's hook.
#[track_caller]
fn assert_whole(all: &Clones) {
    all.assert_agreed();
    for at in 0..2 {
        all.loopx(at, &["doctor"]).ok();
        all.sync(at).ok();
    }
    // A server that has the objects alone judges all of it at once.
    let bare = all.s.root().join("bare.git");
    drop(std::fs::remove_dir_all(&bare));
    let there = all.remote();
    let paths = [&there, &bare].map(|path| path.to_str().expect("UTF-8"));
    all.git(0, &["clone", "--quiet", "--bare", paths[0], paths[1]])
        .ok();
    all.s
        .git_in(&bare, &["update-ref", "-d", "refs/heads/loopx"])
        .ok();
    let zero = "0".repeat(40);
    let tip = all.git(0, &["rev-parse", "loopx"]).line();
    let pushed = all
        .s
        .call(crate::support::LOOPX)
        .args(&["hook", "pre-receive"]);
    let line = format!("{zero} {tip} refs/heads/loopx\n");
    pushed.cwd(&bare).stdin(line.as_str()).run().ok();
}

fn void(all: &Clones, at: usize) -> Vec<Value> {
    let status = all.status(at);
    status["void"].as_array().expect("a list").clone()
}

/// The way to plan is closed, and everybody is told why.
#[track_caller]
fn assert_void(all: &Clones, at: usize, by: &str) {
    let found = void(all, at);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0]["by"]["name"], by);
    let why = found[0]["why"].as_str().expect("a reason");
    assert!(why.contains("another spec.md"), "{why}");
    let op = found[0]["op"].as_str().expect("an id");
    all.loopx(at, &["-s", ID, "status"])
        .says("void")
        .says(why)
        .ok();
    let refused = all.loopx(at, &["-s", ID, "--json", "plan"]).fails_with(1);
    let document = refused.error_json();
    let error = document["error"].to_string();
    assert!(error.contains("approved_transition_required"), "{error}");
    assert!(error.contains(why), "{error}");
    all.loopx(at, &["-s", ID, "log"])
        .says("(void)")
        .says(why)
        .ok();
    let log = all.loopx(at, &["-s", ID, "--json", "log"]).json();
    let operations = log["operations"].as_array().expect("operations");
    for logged in operations {
        let is_void = logged["op"] == op;
        assert_eq!(logged["void"].is_string(), is_void, "{logged:#}");
    }
    assert_eq!(all.status(at)["stage"], "clarify");
}

#[track_caller]
fn assert_nothing_void(all: &Clones) {
    for at in 0..2 {
        assert_eq!(void(all, at), Vec::<Value>::new());
    }
}

/// The way on is open to whoever approves what is there.
#[track_caller]
fn goes_on(all: &Clones, at: usize) {
    all.loopx(at, &["-s", ID, "approve", "--to", "plan"]).ok();
    assert_nothing_void_at(all, at);
    all.loopx(at, &["-s", ID, "plan"]).ok();
    all.settle();
    assert_whole(all);
    for at in 0..2 {
        assert_eq!(all.status(at)["stage"], "plan");
    }
}

#[track_caller]
fn assert_nothing_void_at(all: &Clones, at: usize) {
    assert_eq!(void(all, at), Vec::<Value>::new());
}

#[test]
fn t1_an_approval_of_what_another_clone_took_back_is_void_and_says_so() {
    let all = undone_and_approved();
    assert_whole(&all);
    for at in 0..2 {
        assert_void(&all, at, "Person 1");
    }
    all.put(1, "spec.md", READY).ok();
    goes_on(&all, 1);
    assert_nothing_void(&all);
}

#[test]
fn t1_an_approval_beside_an_undo_that_was_redone_counts() {
    let all = ready();
    all.loopx(0, &["-s", ID, "undo"]).ok();
    all.loopx(0, &["-s", ID, "redo"]).ok();
    all.loopx(1, &["-s", ID, "approve", "--to", "plan"]).ok();
    all.settle();
    assert_whole(&all);
    assert_nothing_void(&all);
    all.loopx(1, &["-s", ID, "plan"]).ok();
    all.settle();
    assert_whole(&all);
}

#[test]
fn t1_a_redo_beside_an_approval_leaves_everything_whole() {
    let all = ready();
    all.loopx(0, &["-s", ID, "undo"]).ok();
    all.settle();
    all.loopx(0, &["-s", ID, "redo"]).ok();
    all.put(1, "spec.md", READY).ok();
    all.loopx(1, &["-s", ID, "approve", "--to", "plan"]).ok();
    all.settle();
    assert_whole(&all);
}

/// Plays two clones that disagree: one took its text back and wrote another, the other wrote on and approved; the
/// conflict is settled.
fn rewritten_apart(way: &str) {
    let all = ready();
    all.loopx(0, &["-s", ID, "undo"]).ok();
    all.put_spec(0, "An idle session ends.", "An idle session ends soon.")
        .ok();
    all.put_spec(1, "A test shows it.", "Two tests show it.")
        .ok();
    all.loopx(1, &["-s", ID, "approve", "--to", "plan"]).ok();
    all.settle();
    assert_whole(&all);
    assert_eq!(all.status(0)["void"], all.status(1)["void"]);
    assert_eq!(all.status(1)["stage"], "clarify");
    // What was written on the text that is gone is a conflict; settled, the way is open to who approves
    // what is there.
    let found = all.loopx(1, &["-s", ID, "--json", "resolve"]).json();
    let operations = found["operations"].as_array().expect("operations");
    let shown = operations.first().expect("a conflict");
    let op = shown["op"].as_str().expect("an id");
    all.loopx(1, &["-s", ID, "resolve", way, op]).ok();
    all.settle();
    assert_whole(&all);
    all.put(1, "spec.md", READY).ok();
    goes_on(&all, 1);
}

#[test]
fn t1_an_undo_and_another_text_beside_an_approval_is_settled_by_keep() {
    rewritten_apart("--keep");
}

#[test]
fn t1_an_undo_and_another_text_beside_an_approval_is_settled_by_drop() {
    rewritten_apart("--drop");
}

#[test]
fn t1_a_conflict_about_a_void_approval_is_settled_and_all_stays_whole() {
    for way in ["--keep", "--drop"] {
        let all = ready();
        // One goes on to plan with what the other takes back.
        all.loopx(1, &["-s", ID, "approve", "--to", "plan"]).ok();
        all.loopx(1, &["-s", ID, "plan"]).ok();
        all.loopx(0, &["-s", ID, "undo"]).ok();
        all.settle();
        assert_whole(&all);
        let found = all.loopx(0, &["-s", ID, "--json", "resolve"]).json();
        let operations = found["operations"].as_array().expect("operations");
        let shown = operations.first().expect("a conflict");
        let op = shown["op"].as_str().expect("an id");
        all.loopx(0, &["-s", ID, "resolve", way, op]).ok();
        all.settle();
        assert_whole(&all);
        let stage = all.status(1)["stage"].clone();
        match way {
            "--drop" => assert_eq!(stage, "clarify"),
            _ => assert!(stage == "plan" || stage == "clarify", "{stage}"),
        }
    }
}
