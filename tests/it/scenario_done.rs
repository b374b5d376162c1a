//! Stage scenarios, sections G to J, where they need no archive, no agent and no sync: the last gate,
//! exit codes, damage, copies, worktrees, and writers at the same time.

use crate::support::LOOPX;
use crate::support::drive::{Drive, RECORD, codes};
use serde_json::json;
use std::collections::BTreeSet;

const DONE: [&str; 3] = ["approve", "--to", "done"];

#[test]
fn the_whole_path_ends_in_done_with_every_approval_used() {
    let d = Drive::done();
    assert_eq!(d.stage(), "done");
    assert_eq!(d.status()["next_action"], "git loopx archive");
    let state = d.state();
    for (key, approval) in state["approvals"].as_object().expect("approvals") {
        assert_eq!(approval["armed"], false, "{key}");
    }
    assert_eq!(state["conflicts"], json!([]));
    // One command, one commit; a replay of the operations gives the stored state.
    let commits = d
        .git(&[
            "log",
            "--format=%h",
            "--grep=^Loopx-Session: demo$",
            "loopx",
        ])
        .ok();
    // The run and the round that saved an edit recorded two operations by their one commit.
    assert_eq!(commits.lines().count() + 2, d.events().len());
    assert_eq!(d.does(&["fsck"])["damages"], json!([]));
}

#[test]
fn s_121_done_with_remaining_scope_is_refused_and_leads_back_to_build() {
    let d = Drive::reviewed();
    d.edit(
        "execution-record.md",
        &RECORD.replace("remaining_scope: []", "remaining_scope: [the clock]"),
    );
    d.refuses(&DONE).is(
        "review_done_scope_blocked",
        &[
            "partial_scope_remaining",
            "review_verdict_request-changes",
            "review_stale",
        ],
    );
    // The refusal wrote nothing; once the record is saved, every view has the way back.
    d.does(&["save"]);
    let status = d.status();
    assert_eq!(status["review"]["judgement"]["outcome"], "request-changes");
    assert_eq!(status["review"]["judgement"]["target"], "build");
    assert_eq!(status["approvals"]["build"], "requested");
    assert_eq!(status["approvals"]["complete"], "not-requested");
    assert_eq!(status["stage"], "review");
    d.does(&["approve", "--to", "build"]);
    d.does(&["build", "--from-review"]);
    assert_eq!(d.stage(), "build");
}

/// Replaces a file on the loopx branch, behind the program's back.
fn forge(d: &Drive, path: &str, bytes: &[u8]) {
    let index = d.root().join("tmp/forged-index");
    let git = |args: &[&str], stdin: &[u8]| {
        d.call("git")
            .args(args)
            .env("GIT_INDEX_FILE", &index)
            .stdin(stdin)
            .run()
            .line()
    };
    let blob = git(&["hash-object", "-w", "--stdin"], bytes);
    git(&["read-tree", "loopx"], b"");
    let entry = format!("100644,{blob},{path}");
    git(&["update-index", "--add", "--cacheinfo", &entry], b"");
    let tree = git(&["write-tree"], b"");
    let commit = git(&["commit-tree", &tree, "-p", "loopx", "-m", "damage"], b"");
    git(&["update-ref", "refs/heads/loopx", &commit], b"");
}

#[test]
fn s_130_a_damaged_session_hides_no_other_and_is_restored() {
    let d = Drive::clarified();
    d.does(&["start", "--no-branch", "Other"]);
    let before = d.state();
    let state = "sessions/demo/state.json";
    let whole = d.git(&["show", &format!("loopx:{state}")]).ok();
    forge(&d, state, &whole.as_bytes()[..whole.len() / 2]);

    let list = d.does(&["list"]);
    let sessions = list["sessions"].as_array().expect("sessions");
    let damaged: Vec<(&str, bool)> = sessions
        .iter()
        .map(|s| {
            let id = s["session"].as_str().expect("an id");
            (id, s["damage"].is_string())
        })
        .collect();
    assert_eq!(damaged, [("demo", true), ("other", false)]);
    assert_eq!(d.does(&["-s", "other", "status"])["stage"], "clarify");
    let refusal = d.fails(70, &["status"]);
    let refusal = refusal.is("record_damaged", &[]).names(state);
    assert_eq!(refusal.help, "git loopx fsck --repair");
    // Whoever writes is told first that somebody else wrote by hand.
    for command in [&["clarify"][..], &["approve", "--to", "plan"]] {
        d.fails(3, command).is("branch_edited", &[]);
    }

    let out = d.loopx(&["--json", "fsck"]).fails_with(1);
    assert_eq!(out.json()["damages"][0]["session"], "demo");
    d.does(&["fsck", "--repair"]);
    assert_eq!(d.state(), before);
    assert_eq!(d.does(&["fsck"])["damages"], json!([]));
    d.does(&["approve", "--to", "plan"]);
}

#[test]
fn s_130_an_operation_that_is_damaged_brings_back_the_last_whole_session() {
    let d = Drive::clarified();
    let before = d.state();
    let ops = d
        .git(&[
            "ls-tree",
            "-r",
            "--name-only",
            "loopx",
            "sessions/demo/ops/",
        ])
        .ok();
    let last = ops.lines().last().expect("an operation").to_owned();
    forge(&d, &last, b"{\"format\":1,");
    let out = d.loopx(&["--json", "fsck"]).fails_with(1);
    assert_eq!(out.json()["damages"][0]["mend"], "restore");
    d.does(&["fsck", "--repair"]);
    assert_eq!(d.state(), before);
}

#[test]
fn s_154_exit_codes_are_distinct() {
    let d = Drive::started();
    let code = |args: &[&str]| d.loopx(args).code.expect("an exit");
    assert_eq!(code(&["status"]), 0);
    assert_eq!(code(&["clarify"]), 1, "recorded, and does not pass");
    assert_eq!(code(&["plan"]), 1, "refused");
    assert_eq!(code(&["approve", "--to", "nowhere"]), 2);
    assert_eq!(code(&["-s", "nope", "status"]), 4);
    d.edit("spec.md", crate::support::drive::SPEC);
    assert_eq!(code(&["clarify"]), 0);
    assert_eq!(code(&["save"]), 5, "nothing left to do");
    assert_eq!(code(&["approve", "--to", "plan"]), 0);
    assert_eq!(code(&["approve", "--to", "plan"]), 5);
    forge(&d, "sessions/demo/state.json", b"{");
    assert_eq!(code(&["fsck"]), 1);
    assert_eq!(code(&["status"]), 70);

    let built = Drive::building();
    assert_eq!(built.loopx(&["build"]).code, Some(1), "a build that blocks");
}

#[test]
fn s_160_a_copy_acts_on_itself_only() {
    let d = Drive::reviewed();
    let original = (d.refs(), d.snapshot("."));
    let copy = d.root().join("copy");
    let from = d.path().to_str().expect("UTF-8").to_owned();
    let to = copy.to_str().expect("UTF-8").to_owned();
    d.call("cp").args(&["-R", &from, &to]).run().ok();
    d.loopx_in(&copy, &DONE).ok();
    let status = d.loopx_in(&copy, &["--json", "status"]).json();
    assert_eq!(status["stage"], "done");
    assert!(
        (d.refs(), d.snapshot(".")) == original,
        "the original moved"
    );
    // No path of a machine is stored.
    let stored = d.git_in(
        &copy,
        &["grep", "-l", d.root().to_str().expect("UTF-8"), "loopx"],
    );
    assert_eq!(stored.stdout, "");
}

#[test]
fn s_162_a_linked_worktree_has_the_same_session() {
    let d = Drive::clarified();
    let linked = d.root().join("linked");
    let path = linked.to_str().expect("UTF-8");
    d.git(&["worktree", "add", "--quiet", "-b", "second", path])
        .ok();
    let status = d.loopx_in(&linked, &["--json", "status"]).json();
    assert_eq!(status["session"], "demo");
    assert_eq!(status["commit"], d.tip());
    d.loopx_in(&linked, &["-s", "demo", "approve", "--to", "plan"])
        .ok();
    assert_eq!(d.approval("plan"), "approved");
    // Each worktree has a working copy of its own: an edit here is not an edit there.
    d.loopx_in(&linked, &["-s", "demo", "checkout"]).ok();
    d.change("spec.md", "left alone", "idle");
    assert_eq!(d.status()["working_copy"]["spec.md"], "modified");
    let there = d.loopx_in(&linked, &["--json", "status"]).json();
    assert_eq!(there["working_copy"]["spec.md"], "clean");
}

#[test]
fn s_165_writers_at_the_same_time_lose_nothing() {
    let d = Drive::building();
    let children: Vec<_> = (0..12)
        .map(|n| {
            let entry = format!("worker-{n:02}=complete");
            let call = d.call(LOOPX).args(&["build", "--delegate", &entry]);
            call.command().spawn().expect("a start")
        })
        .collect();
    for child in children {
        let out = child.wait_with_output().expect("an end");
        assert!(out.status.success(), "{out:?}");
    }
    let state = d.state();
    let ids: BTreeSet<&str> = state["build"]["delegations"]
        .as_array()
        .expect("delegations")
        .iter()
        .map(|entry| entry["id"].as_str().expect("an id"))
        .collect();
    assert_eq!(ids.len(), 12);
    // Every operation has a number of its own.
    let log = d.does(&["log"]);
    let numbers: BTreeSet<u64> = log["operations"]
        .as_array()
        .expect("operations")
        .iter()
        .map(|op| op["seq"].as_u64().expect("a number"))
        .collect();
    assert_eq!(numbers.len(), d.events().len());
    assert_eq!(codes(&state["conflicts"]), Vec::<String>::new());
    assert_eq!(d.does(&["fsck"])["damages"], json!([]));
}

#[test]
fn everything_but_runs_can_be_taken_back_stage_by_stage() {
    let bare = |d: &Drive| {
        let mut state = d.state();
        // Who touched it last, and how often, differs.
        // What ran stays, and with it the rules that know of it.
        for key in [
            "seq",
            "last",
            "touched",
            "ops",
            "evidence",
            "fold",
            "artifacts",
        ] {
            state[key].take();
        }
        state
    };
    let d = Drive::done();
    for point in [
        Drive::reviewed(),
        Drive::reviewing(),
        Drive::built(),
        Drive::building(),
        Drive::planned(),
        Drive::planning(),
        Drive::clarified(),
        Drive::started(),
    ] {
        let wanted = bare(&point);
        // A verdict is somebody else's; what ran stays.
        let to = point.events().len().to_string();
        d.does(&["undo", "--to", &to, "--reason", "back"]);
        assert_eq!(bare(&d), wanted);
        assert_eq!(d.artifact("spec.md"), point.artifact("spec.md"));
    }
    d.fails(5, &["undo"]).is("nothing_to_undo", &[]);
    assert_eq!(d.does(&["fsck"])["damages"], json!([]));
}
