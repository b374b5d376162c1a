//! Clones that work offline for long and meet through one remote: they end with one tree, and every
//! operation is there. LOOPX_STRESS=1 makes it long.

use crate::support::clones::Clones;
use crate::support::store::{ID, READY, count, tell};
use std::collections::BTreeSet;
use std::thread;

/// Plays a turn of a clone; gives whether it made an operation.
fn turn(all: &Clones, at: usize, n: usize) -> bool {
    let own = format!("own-{at}");
    let text = |what: &str| READY.replace("A test shows it.", &format!("{what} {at}.{n}"));
    let out = match n % 10 {
        0 if n == 0 => all.loopx(at, &["start", "--no-branch", &own]),
        0 | 5 => all.loopx(at, &["-s", ID, "run", "--", "echo", &format!("{at}.{n}")]),
        1 => all.put(at, "spec.md", &text("Seen by")),
        2 => all.loopx(at, &["-s", ID, "clarify"]),
        3 => all.loopx(at, &["-s", &own, "run", "--", "false"]),
        4 => all.loopx(at, &["-s", ID, "approve", "--to", "plan"]),
        6 => all.loopx(at, &["-s", ID, "undo"]),
        8 => all.loopx(at, &["-s", ID, "redo"]),
        9 => all.loopx(at, &["-s", ID, "undo", "2"]),
        _ => all.loopx(at, &["-s", &own, "run", "--", "true"]),
    };
    assert!(
        matches!(out.code, Some(0 | 1 | 3 | 5)),
        "clone {at}, turn {n}\n{out}"
    );
    out.code == Some(0)
}

#[test]
fn clones_that_worked_offline_agree_and_nothing_is_lost() {
    let turns = count(10, 50);
    let meetings = count(2, 5);
    let all = Clones::sharing(4);
    all.put(0, "spec.md", READY).ok();
    all.settle();
    for meeting in 0..meetings {
        thread::scope(|scope| {
            for at in 0..4 {
                let all = &all;
                scope.spawn(move || {
                    for n in 0..turns / meetings {
                        turn(all, at, meeting * (turns / meetings) + n);
                    }
                });
            }
        });
        let made: BTreeSet<String> = (0..4).flat_map(|at| all.operations(at)).collect();
        // All at once: the remote takes one at a time, and the others come again.
        thread::scope(|scope| {
            for at in 0..4 {
                let all = &all;
                scope.spawn(move || {
                    let out = all.sync(at);
                    assert!(matches!(out.code, Some(0 | 3 | 6)), "{out}");
                });
            }
        });
        all.settle();
        for at in 0..4 {
            assert!(
                made.is_subset(&all.operations(at)),
                "clone {at} lost operations"
            );
        }
    }
    all.assert_agreed();
    for at in 0..4 {
        let fsck = all.git(at, &["fsck", "--full", "--strict", "--no-dangling"]);
        fsck.ok();
    }
    tell(&format!(
        "4 clones x {turns} turns in {meetings} meetings: {} operations, one tree everywhere",
        all.operations(0).len()
    ));
}
