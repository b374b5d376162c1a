//! Leases as a clone watches them: by its own clock, from when it saw a claim first. The clock of whoever claims may be
//! hours off, and neither gives a task or an issue away early nor keeps it for longer.

use crate::support::Output;
use crate::support::clones::Clones;
use crate::support::issues::id_of;
use crate::support::tasks::{DEMO, clones_building, task};

/// 2026-01-01, 12:00 UTC.
const NOON: i64 = 1_767_268_800;
const HOUR: i64 = 3_600;

fn at(all: &Clones, clone: usize, seconds: i64, args: &[&str]) -> Output {
    let date = format!("{seconds} +0000");
    let call = all.call(clone).env("LOOPX_SESSION", DEMO);
    let call = call.env("GIT_COMMITTER_DATE", &date);
    call.env("GIT_AUTHOR_DATE", &date).args(args).run()
}

/// The first clone claims by a clock that is so many hours off, and the second one hears of it at noon.
fn heard_at_noon(off: i64) -> Clones {
    let all = clones_building(2, &[task("A", &[], Some(&["true"]))]);
    at(&all, 0, NOON + off * HOUR, &["take"]).ok();
    at(&all, 0, NOON + off * HOUR, &["sync"]).ok();
    at(&all, 1, NOON, &["sync"]).ok();
    all
}

#[test]
fn a_claim_is_over_once_a_clone_watched_it_for_its_whole_length_whatever_its_clock_says() {
    // A lease is two hours.
    for off in [-3, 24 * 365] {
        let all = heard_at_noon(off);
        let held = at(&all, 1, NOON + HOUR, &["--json", "take"]);
        assert_eq!(held.code, Some(6), "{off}: {}{}", held.stdout, held.stderr);
        assert_eq!(held.error_json()["error"]["code"], "task_held");
        let shown = at(&all, 1, NOON + HOUR, &["--json", "task", "list"]).json();
        let claim = &shown["tasks"][0]["claim"];
        assert_eq!(claim["alive"], true);
        assert_eq!(claim["until"], "2026-01-01T14:00:00Z");
        let taken = at(&all, 1, NOON + 2 * HOUR, &["--json", "take"]);
        assert_eq!(taken.code, Some(0), "{off}: {}", taken.stderr);
    }
}

#[test]
fn a_claim_that_was_seen_by_a_clock_that_was_ahead_is_watched_from_when_the_clock_is_right() {
    let all = clones_building(2, &[task("A", &[], Some(&["true"]))]);
    at(&all, 0, NOON, &["take"]).ok();
    at(&all, 0, NOON, &["sync"]).ok();
    at(&all, 1, NOON + 240 * HOUR, &["sync"]).ok();
    at(&all, 1, NOON + 240 * HOUR, &["task", "list"]).ok();
    let held = at(&all, 1, NOON, &["--json", "take"]);
    assert_eq!(held.code, Some(6), "{}", held.stderr);
    at(&all, 1, NOON + 2 * HOUR, &["take"]).ok();
}

#[test]
fn a_worktree_renews_its_own_claim_by_its_own_clock() {
    let all = clones_building(1, &[task("A", &[], Some(&["true"]))]);
    at(&all, 0, NOON, &["take"]).ok();
    let shown = at(&all, 0, NOON + HOUR, &["--json", "task", "list"]).json();
    assert_eq!(shown["tasks"][0]["claim"]["until"], "2026-01-01T14:00:00Z");
    let shown = at(&all, 0, NOON + 3 * HOUR, &["--json", "task", "list"]).json();
    assert_eq!(shown["tasks"][0]["claim"]["alive"], false);
}

#[test]
fn a_claim_that_this_clone_has_not_seen_yet_is_watched_from_when_it_asks() {
    let all = heard_at_noon(0);
    std::fs::remove_file(all.dir(1).join(".git/loopx/watched")).expect("what was seen");
    let held = at(&all, 1, NOON + 5 * HOUR, &["--json", "take"]);
    assert_eq!(held.code, Some(6), "{}", held.stderr);
    let held = at(&all, 1, NOON + 6 * HOUR, &["--json", "take"]);
    assert_eq!(held.code, Some(6), "{}", held.stderr);
    at(&all, 1, NOON + 7 * HOUR, &["take"]).ok();
}

/// The first clone claims an issue by a clock that is so many hours off, and the second one hears of it at noon.
fn issue_heard_at_noon(off: i64) -> (Clones, String) {
    let all = Clones::sharing(2);
    let id = id_of(&at(&all, 0, NOON, &["--json", "issue", "create", "One"]).json());
    at(&all, 0, NOON + off * HOUR, &["issue", "take", &id]).ok();
    at(&all, 0, NOON + off * HOUR, &["sync"]).ok();
    at(&all, 1, NOON, &["sync"]).ok();
    (all, id)
}

#[test]
fn a_claim_of_an_issue_is_over_once_a_clone_watched_it_for_its_whole_length_whatever_its_clock_says()
 {
    for off in [-3, 24 * 365] {
        let (all, id) = issue_heard_at_noon(off);
        let ours = |hours: i64, args: &[&str]| at(&all, 1, NOON + hours * HOUR, args);
        for args in [
            &["issue", "take", &id][..],
            &["issue", "release", &id],
            &["issue", "close", &id, "--reason", "no"],
            &["start", "--quick", "--issue", &id],
        ] {
            let held = ours(1, &[&["--json"], args].concat()).fails_with(6);
            assert_eq!(held.error_json()["error"]["code"], "issue_held", "{off}");
        }
        let shown = ours(1, &["--json", "issue", "show", &id]).json();
        let claim = &shown["holder"];
        assert_eq!(claim["alive"], true, "{off}: {shown:#}");
        assert_eq!(claim["until"], "2026-01-01T14:00:00Z");
        ours(2, &["issue", "take", &id]).ok();
    }
}
