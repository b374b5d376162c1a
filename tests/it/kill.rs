//! kill -9 at any moment leaves the old state or the new one, and the next command works without help
//! (reference git-stores, section 6, 4). LOOPX_STRESS=1 makes the run long.

use crate::support::clones::Clones;
use crate::support::store::{
    ID, READY, assert_nothing_lost, assert_whole, count, linked, operations, put, put_in, started,
    tell, tip,
};
use crate::support::{Call, LOOPX, Sandbox};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// xorshift64: the moments of a run are the same each time.
struct Moments(u64);

impl Moments {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// Time that a command takes here, and a little more: kills are spread over that, in microseconds.
fn span(call: &Call<'_>) -> u64 {
    let began = Instant::now();
    let mut child = call.command().spawn().expect("a process");
    drop(child.stdin.take());
    child.wait().expect("an end");
    u64::try_from(began.elapsed().as_micros()).expect("a short time") * 5 / 4
}

/// Kills a command at a moment.
fn killed(call: &Call<'_>, stdin: &str, micros: u64) {
    let mut child = call.command().spawn().expect("a process");
    {
        use std::io::Write;
        let mut pipe = child.stdin.take().expect("a pipe");
        // The process may have ended before it read.
        drop(pipe.write_all(stdin.as_bytes()));
    }
    // The one wait that is no synchronisation: it chooses the moment of the kill.
    std::thread::sleep(Duration::from_micros(micros));
    child.kill().expect("a kill");
    child.wait().expect("an end");
}

const LOCK: &str = ".git/refs/heads/loopx.lock";

#[test]
fn a_kill_at_any_moment_leaves_the_old_state_or_the_new_one() {
    let s = started();
    let mut moments = Moments(0x2545_f491_4f6c_dd1d);
    let kills = count(80, 500);
    let (mut moved, mut locks) = (0, 0);
    let spans = [
        span(&s.call(LOOPX).args(&["-s", ID, "clarify"])),
        span(&s.call(LOOPX).args(&["-s", ID, "clarify"]).durable()),
    ];
    for round in 0..kills {
        let before = tip(&s);
        let known = operations(&s, ID).len();
        let text = READY.replace("An idle", &format!("In round {round} an idle"));
        let branch = format!("branch-{round}");
        s.git(&["branch", &branch, "main"]).ok();
        let args: &[&str] = match round % 4 {
            0 => &["put", "spec.md"],
            1 => &["clarify"],
            2 => &["run", "--", "true"],
            _ => &["use", ID, "--branch", &branch],
        };
        let call = s.call(LOOPX).args(&["-s", ID, "--json"]).args(args);
        // Every second one waits for the disk: other moments.
        let call = if round % 8 < 4 { call.durable() } else { call };
        let span = spans[usize::from(round % 8 < 4)];
        killed(&call, &text, moments.below(span));
        locks += usize::from(s.exists(LOCK));
        let after = tip(&s);
        let made = operations(&s, ID).len() - known;
        if after == before {
            assert_eq!(made, 0, "round {round}");
        } else {
            assert_eq!(
                s.git(&["rev-parse", "loopx^"]).line(),
                before,
                "round {round}"
            );
            assert_eq!(made, 1, "round {round}");
            moved += 1;
        }
        let next = s.loopx(&["--json", "-s", ID, "clarify"]);
        assert!(matches!(next.code, Some(0 | 1)), "round {round}\n{next}");
        assert!(next.stderr.is_empty(), "round {round}\n{next}");
        assert!(!s.exists(LOCK), "round {round}");
        if round % 20 == 0 {
            assert_whole(&s);
        }
    }
    assert_whole(&s);
    assert_nothing_lost(&s, ID, operations(&s, ID).len());
    let left = s.snapshot(format!(".loopx/{ID}"));
    assert_eq!(left.len(), 2, "temporary files were left: {left:?}");
    tell(&format!(
        "{kills} kills: {moved} after the branch had moved, {locks} left the lock of a ref"
    ));
}

#[test]
fn a_kill_at_any_moment_of_a_sync_loses_nothing() {
    let all = Clones::sharing(2);
    all.put(0, "spec.md", READY).ok();
    all.settle();
    let mut moments = Moments(0x9e37_79b9_7f4a_7c15);
    let kills = count(8, 200);
    let span = span(&all.call(1).args(&["sync", "origin"]).durable());
    for round in 0..kills {
        let text = READY.replace("An idle", &format!("In round {round} an idle"));
        all.put(0, "spec.md", &text).ok();
        all.loopx(1, &["-s", ID, "run", "--", "true"]).ok();
        all.sync(0).ok();
        let made: BTreeSet<String> = (0..2).flat_map(|at| all.operations(at)).collect();
        let sync = all.call(1).args(&["sync", "origin"]).durable();
        // Both sides work now: longer than with nothing new.
        killed(&sync, "", moments.below(span * 3));
        all.settle();
        for at in 0..2 {
            assert_eq!(all.operations(at), made, "round {round}, clone {at}");
        }
    }
    all.assert_agreed();
    for at in 0..2 {
        all.git(at, &["fsck", "--full", "--strict", "--no-dangling"])
            .ok();
    }
    tell(&format!(
        "{kills} kills of a sync, {} operations, one tree in both clones",
        all.operations(0).len()
    ));
}

/// The note of a command that was killed while it moved the branch.
fn killed_while_moving(s: &Sandbox, commit: &str) {
    s.write(".git/loopx/lock", format!("refs/heads/loopx {commit}\n"));
}

#[test]
fn a_ref_lock_that_our_own_kill_left_is_taken_away() {
    let s = started();
    let commit = tip(&s);
    for content in [String::new(), commit.clone(), format!("{commit}\n")] {
        killed_while_moving(&s, &commit);
        s.write(LOCK, &content);
        s.loopx(&["run", "--", "true"]).ok();
        assert!(!s.exists(LOCK), "{content:?}");
        assert_eq!(s.read(".git/loopx/lock"), "");
    }
    assert_nothing_lost(&s, ID, 4);
}

#[test]
fn a_ref_lock_of_another_git_stays_and_the_error_names_it_and_the_way_on() {
    let s = started();
    let commit = tip(&s);
    let others = s.git(&["rev-parse", "HEAD"]).line();
    for noted in [false, true] {
        // What stands in it is not what we were about to write: it is somebody else's.
        s.write(LOCK, if noted { others.as_str() } else { "" });
        if noted {
            killed_while_moving(&s, &commit);
        }
        let out = s.loopx(&["run", "--", "true"]).fails_with(6);
        let out = out.says("refs/heads/loopx.lock").says("doctor --fix");
        assert!(out.stdout.is_empty(), "{out}");
        assert!(s.exists(LOCK));
        assert_eq!(tip(&s), commit);
    }
    std::fs::remove_file(s.path().join(LOCK)).expect("a lock");
    s.loopx(&["run", "--", "true"]).ok();
    assert_nothing_lost(&s, ID, 2);
}

/// Status of an artifact of the working copy.
fn standing(s: &Sandbox, artifact: &str) -> String {
    let status = s.loopx(&["-s", ID, "--json", "status"]).json();
    let word = status["working_copy"][artifact].as_str();
    word.unwrap_or("nothing").to_owned()
}

const BASES: &str = ".git/loopx/auth-timeout.json";

#[test]
fn a_kill_between_the_commit_and_the_working_copy_is_mended_by_the_next_command() {
    let s = started();
    let before = s.bytes(BASES);
    put(&s, "spec.md", READY).ok();
    // Killed before the bases were written.
    s.write(BASES, &before);
    assert_eq!(standing(&s, "spec.md"), "clean");
    s.loopx(&["save"]).fails_with(5).says("no edits");
    s.loopx(&["clarify"]).ok();
    assert_ne!(s.bytes(BASES), before);
    assert_nothing_lost(&s, ID, 3);
    // Torn bases cost nothing: what stands there is compared with the branch.
    s.write(BASES, "{\"format\": 1, \"ba");
    assert_eq!(standing(&s, "spec.md"), "clean");
    s.loopx(&["clarify"]).ok();
    assert_nothing_lost(&s, ID, 4);
}

#[test]
fn a_kill_after_a_merge_leaves_a_file_that_follows_by_itself() {
    let s = started();
    put(&s, "spec.md", READY).ok();
    let other = linked(&s, "other");
    s.loopx_in(&other, &["-s", ID, "checkout"]).ok();
    let theirs = READY.replace("A test shows it.", "Two tests show it.");
    put_in(&s, &other, "spec.md", &theirs).ok();
    // Here an edit elsewhere in the text, saved and merged; then the files as they were before that.
    let ours = READY.replace("An idle", "Every idle");
    let before = s.bytes(BASES);
    put(&s, "spec.md", &ours).ok();
    s.write(BASES, &before);
    s.write(format!(".loopx/{ID}/spec.md"), &ours);
    let tip_before = tip(&s);
    s.loopx(&["save"]).fails_with(5);
    assert_eq!(tip(&s), tip_before);
    let merged = theirs.replace("An idle", "Every idle");
    assert_eq!(s.read(format!(".loopx/{ID}/spec.md")), merged);
    assert_eq!(standing(&s, "spec.md"), "clean");
}

#[test]
fn a_kill_before_the_first_working_copy_is_mended_by_the_next_command() {
    let s = started();
    std::fs::remove_dir_all(s.path().join(".loopx")).expect("a folder");
    std::fs::remove_file(s.path().join(BASES)).expect("a file");
    s.loopx(&["status"]).ok();
    s.loopx(&["clarify"]).fails_with(1);
    assert_eq!(standing(&s, "spec.md"), "clean");
    // A kill in the middle of a write leaves a temporary file: it goes.
    s.write(format!(".loopx/{ID}/.loopx-x1y2z3"), "half a fi");
    s.loopx(&["clarify"]).fails_with(1);
    assert!(!s.exists(format!(".loopx/{ID}/.loopx-x1y2z3")));
}
