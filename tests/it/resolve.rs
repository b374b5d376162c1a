//! `resolve`: what clones made apart, listed and settled (design 8).

use crate::support::clones::Clones;
use crate::support::store::{ID, READY};
use serde_json::Value;
use std::fs;

/// Two clones that edited one line each their way, synced.
pub(crate) fn contested() -> Clones {
    let all = Clones::sharing(2);
    all.put(0, "spec.md", READY).ok();
    all.settle();
    all.put_spec(0, "An idle session ends.", "An idle session ends soon.")
        .ok();
    all.put_spec(1, "An idle session ends.", "An idle session ends late.")
        .ok();
    all.settle();
    all
}

/// Two clones that both went on to plan, synced.
fn left_twice() -> Clones {
    Clones::once("", || {
        let all = Clones::sharing(2);
        all.put(0, "spec.md", READY).ok();
        all.loopx(0, &["-s", ID, "clarify"]).ok();
        all.loopx(0, &["-s", ID, "approve", "--to", "plan"]).ok();
        all.settle();
        all.loopx(0, &["-s", ID, "plan"]).ok();
        all.loopx(1, &["-s", ID, "plan"]).ok();
        all.settle();
        all
    })
}

fn listed(all: &Clones, at: usize) -> Value {
    all.loopx(at, &["-s", ID, "--json", "resolve"]).json()
}

#[test]
fn a_contested_artifact_is_shown_with_its_sides_and_named_by_status() {
    let all = contested();
    all.assert_agreed();
    let status = all.status(0);
    assert_eq!(status["next_action"], Value::Null);
    let advice = status["advice"].to_string();
    assert!(
        advice.contains(&format!("git loopx -s {ID} resolve spec.md --side 1")),
        "{advice}"
    );
    assert!(
        status["blockers"]
            .to_string()
            .contains("Person 0 and Person 1")
            || status["blockers"]
                .to_string()
                .contains("Person 1 and Person 0")
    );
    all.loopx(0, &["-s", ID, "show"])
        .says("conflict spec.md")
        .ok();
    all.loopx(0, &["-s", ID, "resolve"])
        .fails_with(3)
        .says("side 2");
    let sides = listed(&all, 0)["artifacts"][0]["sides"].clone();
    for side in sides.as_array().expect("sides") {
        let path = side["path"].as_str().expect("a path");
        let text = all.git(0, &["show", &format!("loopx:{path}")]).ok();
        assert!(
            text.contains("ends soon.") != text.contains("ends late."),
            "{text}"
        );
    }
    // The working copy shows both, and is not saved like that.
    let file = all.dir(0).join(format!(".loopx/{ID}/spec.md"));
    let text = fs::read_to_string(&file).expect("a file");
    assert!(
        text.contains("<<<<<<< ") && text.contains("ends soon.") && text.contains("ends late.")
    );
    fs::write(&file, text.replace("A test", "Two tests")).expect("write");
    all.loopx(0, &["-s", ID, "save"])
        .fails_with(3)
        .says("conflict markers");
    all.loopx(0, &["-s", ID, "resolve", "spec.md"])
        .fails_with(3)
        .says("conflict markers");
}

#[test]
fn an_artifact_is_settled_by_a_side_a_file_or_the_edited_file() {
    for choice in [
        &["--ours"][..],
        &["--theirs"],
        &["--side", "1"],
        &["--file", "-"],
        &[],
    ] {
        let all = contested();
        let file = all.dir(0).join(format!(".loopx/{ID}/spec.md"));
        let mine = READY.replace(
            "An idle session ends.",
            "An idle session ends when it must.",
        );
        if choice.is_empty() {
            fs::write(&file, &mine).expect("write");
        }
        let args = [&["-s", ID, "resolve", "spec.md"], choice].concat();
        all.call(0)
            .args(&args)
            .stdin(mine.as_str())
            .run()
            .says("settled")
            .ok();
        let spec = all.cat(0, "spec.md");
        let wanted = match choice {
            ["--ours"] => "ends soon.",
            ["--theirs"] => "ends late.",
            ["--side", _] => "session ends",
            _ => "ends when it must.",
        };
        assert!(
            spec.contains(wanted) && !spec.contains("<<<<"),
            "{choice:?}\n{spec}"
        );
        assert_eq!(fs::read_to_string(&file).expect("a file"), spec);
        all.loopx(0, &["-s", ID, "resolve"])
            .says("nothing to resolve")
            .ok();
        all.loopx(0, &["-s", ID, "resolve", "spec.md", "--ours"])
            .fails_with(5);
        assert!(
            !all.status(0)["blockers"]
                .to_string()
                .contains("session_conflict")
        );
        all.settle();
        all.assert_agreed();
        assert_eq!(all.cat(1, "spec.md"), spec);
        let tree = all.git(0, &["ls-tree", "-r", "--name-only", "loopx"]).ok();
        assert!(!tree.contains("/versions/"), "{tree}");
    }
}

#[test]
fn a_plain_save_of_the_merged_text_settles_it_too() {
    let all = contested();
    let mine = READY.replace(
        "An idle session ends.",
        "An idle session ends when it must.",
    );
    all.put(1, "spec.md", &mine).ok();
    all.settle();
    all.assert_agreed();
    all.loopx(0, &["-s", ID, "resolve"])
        .says("nothing to resolve")
        .ok();
}

#[test]
fn of_two_exits_one_is_kept_and_what_came_after_it_counts_again() {
    let all = left_twice();
    all.assert_agreed();
    let found = listed(&all, 0);
    let operations = found["operations"].as_array().expect("operations");
    assert_eq!(operations.len(), 2);
    let keep = operations[0]["op"].as_str().expect("an id");
    assert_eq!(operations[0]["with"][0]["op"], operations[1]["op"]);
    all.loopx(0, &["-s", ID, "resolve", "--keep", "nothing"])
        .fails_with(4);
    all.loopx(
        0,
        &["-s", ID, "resolve", "--keep", keep, "--reason", "the first"],
    )
    .says("in stage plan")
    .ok();
    assert_eq!(all.status(0)["stage"], "plan");
    all.settle();
    all.assert_agreed();
    assert_eq!(all.status(1)["stage"], "plan");
    all.loopx(1, &["-s", ID, "log"]).says("resolve keep").ok();
}

#[test]
fn the_same_decision_in_two_clones_is_one_and_another_one_is_a_conflict_again() {
    for same in [true, false] {
        let all = left_twice();
        let found = listed(&all, 0);
        let op = |n: usize| {
            found["operations"][n]["op"]
                .as_str()
                .expect("an id")
                .to_owned()
        };
        all.loopx(0, &["-s", ID, "resolve", "--keep", &op(0)]).ok();
        let other = if same { op(0) } else { op(1) };
        all.loopx(1, &["-s", ID, "resolve", "--keep", &other]).ok();
        all.settle();
        all.assert_agreed();
        if same {
            assert_eq!(all.status(1)["stage"], "plan");
            all.loopx(1, &["-s", ID, "resolve"]).ok();
            continue;
        }
        assert_eq!(all.status(1)["stage"], "clarify");
        let found = all.loopx(1, &["-s", ID, "resolve"]).fails_with(3);
        drop(found.says("settled it in different ways"));
        all.loopx(1, &["-s", ID, "resolve", "--drop", &op(1)]).ok();
        all.loopx(1, &["-s", ID, "resolve", "--keep", &op(0)])
            .says("in stage plan")
            .ok();
        all.settle();
        all.assert_agreed();
        assert_eq!(all.status(0)["stage"], "plan");
    }
}

#[test]
fn a_resolution_can_be_taken_back() {
    let all = left_twice();
    let keep = listed(&all, 0)["operations"][0]["op"]
        .as_str()
        .expect("an id")
        .to_owned();
    all.loopx(0, &["-s", ID, "resolve", "--keep", &keep]).ok();
    all.loopx(0, &["-s", ID, "undo"]).ok();
    all.loopx(0, &["-s", ID, "resolve"]).fails_with(3);
    all.settle();
    all.assert_agreed();
}

#[test]
fn a_session_without_conflict_says_so() {
    let all = Clones::sharing(1);
    let json = listed(&all, 0);
    assert_eq!(
        (&json["command"], &json["schema"]),
        (&"resolve".into(), &1.into())
    );
    all.loopx(0, &["-s", ID, "resolve", "spec.md"])
        .fails_with(5)
        .says("has no conflict");
}

#[test]
fn d26_a_text_that_the_stage_closes_is_settled_all_the_same() {
    let all = Clones::sharing(2);
    let start = [
        "start",
        "--no-branch",
        "--profile",
        "lite",
        "--id",
        "two",
        "Two",
    ];
    all.loopx(0, &start).ok();
    all.settle();
    for (at, text) in [(0, "# Plan\n\nSoon.\n"), (1, "# Plan\n\nLate.\n")] {
        let call = all.call(at).args(&["-s", "two", "put", "plan.md"]);
        call.stdin(text).run().ok();
    }
    all.settle();
    let two = |args: &[&str]| all.loopx(1, &[&["-s", "two"], args].concat());
    two(&["profile", "standard", "--reason", "larger"]).ok();
    two(&["resolve", "plan.md", "--side", "1"]).ok();
    let left = two(&["--json", "resolve"]).json();
    assert_eq!(left["artifacts"], serde_json::json!([]), "{left:#}");
    assert_eq!(left["operations"], serde_json::json!([]), "{left:#}");
    all.settle();
    all.assert_agreed();
    all.loopx(1, &["fsck"]).says("all whole").ok();
}

/// K33: the list of conflicts settles none, so that it alone is no step; and what counts is a person's word.
#[test]
fn k33_where_two_moved_a_session_apart_next_names_the_choice_and_an_agent_waits_for_it() {
    let all = left_twice();
    let next = |agent: bool| {
        let call = all.call(0).args(&["-s", ID, "next"]);
        let call = if agent {
            call.env("CLAUDECODE", "1")
        } else {
            call
        };
        call.run().fails_with(6).to_string()
    };
    let led = next(false);
    let keeps: Vec<&str> = led.matches("resolve --keep ").collect();
    assert_eq!(keeps.len(), 2, "{led}");
    let led = next(true);
    assert!(
        led.contains("waits for a person (the choice between two records)"),
        "{led}"
    );
    let list = all.loopx(0, &["-s", ID, "resolve"]).fails_with(3);
    assert!(
        list.stdout.contains("against  ") && !list.stdout.contains("stands"),
        "{list}"
    );
    let found = listed(&all, 0);
    assert!(
        found["advice"].to_string().contains("resolve --keep"),
        "{found}"
    );
    let op = text_of(&found["operations"][0]["op"]);
    all.loopx(0, &["-s", ID, "resolve", "--keep", &op]).ok();
    assert_eq!(listed(&all, 0)["operations"], serde_json::json!([]));
    let led = all.loopx(0, &["-s", ID, "next"]).to_string();
    assert!(!led.contains("resolve"), "{led}");
}

fn text_of(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}
