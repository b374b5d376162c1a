//! A check that fails in one and the same way, whatever is tried.

use crate::support::Output;
use crate::support::tasks::{building, planning_with, take, task};

#[test]
fn a_check_that_fails_in_one_way_three_times_asks_for_another_way() {
    let fail = "echo \"test a ... FAILED in $$ ms\"\nexit 1\n";
    let s = planning_with(
        &[("fail.sh", fail)],
        &[task("A", &[], Some(&["sh", "fail.sh"]))],
    );
    s.loopx(&["approve", "--enter", "--reason", "agreed"]).ok();
    assert_eq!(take(&s), "A");
    let times = std::cell::Cell::new(0);
    // Each run is about other code.
    let done = || {
        times.set(times.get() + 1);
        s.write("code.txt", format!("attempt {}\n", times.get()));
        s.loopx(&["task", "done"]).fails_with(1)
    };
    let repeats = |out: &Output| format!("{out:?}").contains("in the same way 3 times");
    assert!(!repeats(&done()));
    assert!(!repeats(&done()));
    let third = done();
    assert!(repeats(&third));
    third.says("git loopx task fail A --reason");
    s.write("fail.sh", "echo test b ... FAILED\nexit 1\n");
    assert!(!repeats(&done()));
    // An attempt that begins anew is not held to the last.
    s.write("fail.sh", fail);
    s.loopx(&["task", "release"]).ok();
    assert_eq!(take(&s), "A");
    assert!(!repeats(&done()));
}

#[test]
fn a_repository_without_a_commit_inside_of_the_worktree_stops_no_command() {
    let s = building(&[task("A", &[], Some(&["true"]))]);
    s.git(&["init", "--quiet", "its own [x]"]).ok();
    // Nothing is there to commit: the code is still to be written.
    s.loopx(&["next"]).fails_with(6).says("write the code");
    for words in ["status", "task list", "take A", "task done"] {
        s.loopx(&words.split(' ').collect::<Vec<_>>()).ok();
    }
    s.loopx(&["run", "--", "true"]).ok();
    let before = s.loopx(&["status"]).ok();
    s.write("its own [x]/file", "1\n");
    let status = s.loopx(&["status"]).ok();
    assert!(!status.contains("its own"), "{status}");
    assert!(!before.contains("its own"), "{before}");
}
