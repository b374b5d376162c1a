//! Many processes on one repository: nothing is lost, and nobody sees an error (reference git-stores,
//! section 6, 1 and 2). LOOPX_STRESS=1 makes the runs long.

use crate::support::store::{
    ID, assert_nothing_lost, assert_whole, begin, build_approved, count, detached, operations,
    plan_approved, started, tip,
};
use crate::support::{LOOPX, Output, Sandbox};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

const WORKERS: usize = 8;

/// A spec with a paragraph for each worker, far enough apart to merge.
fn shared_spec() -> String {
    let mut text = "---\ncurrent_round: 1\n---\n# Shared\n".to_owned();
    for worker in 0..WORKERS {
        text.push_str(&format!(
            "\n## Part {worker}\n\nbefore {worker}\n\nworker {worker} wrote 0\n\nafter {worker}\n"
        ));
    }
    text
}

fn share(s: &Sandbox, dir: &Path, id: &str) {
    let call = s.call(LOOPX).cwd(dir).args(&["-s", id, "put", "spec.md"]);
    call.stdin(shared_spec()).run().ok();
}

/// Runs a command of a worker; says how many operations it made.
fn command(s: &Sandbox, dir: &Path, id: &str, worker: usize, turn: usize) -> usize {
    let call = |args: &[&str]| {
        s.call(LOOPX)
            .cwd(dir)
            .args(&["-s", id, "--json"])
            .args(args)
    };
    let branch = format!("worker-{worker}-{}", turn % 3);
    let (out, made): (Output, fn(i32) -> Option<usize>) = match turn % 7 {
        0 => {
            let spec = std::fs::read_to_string(dir.join(format!(".loopx/{id}/spec.md")))
                .expect("the working copy");
            let mine = format!("worker {worker} wrote ");
            let text: Vec<String> = spec
                .lines()
                .map(|line| {
                    if line.starts_with(&mine) {
                        format!("{mine}{}", turn + 1)
                    } else {
                        line.to_owned()
                    }
                })
                .collect();
            let text = text.join("\n") + "\n";
            let out = call(&["put", "spec.md"]).stdin(text).run();
            (out, |code| (code == 0).then_some(1))
        }
        // What a round came to is recorded, passed or not.
        1 | 5 => (call(&["clarify"]).run(), |code| {
            matches!(code, 0 | 1).then_some(1)
        }),
        2 => (call(&["run", "--", "true"]).run(), |code| {
            (code == 0).then_some(1)
        }),
        3 => {
            let out = s
                .call(LOOPX)
                .cwd(dir)
                .args(&["--json", "use", id, "--branch", &branch])
                .run();
            // 5: it is bound already.
            (out, |code| match code {
                0 => Some(1),
                5 => Some(0),
                _ => None,
            })
        }
        4 => (call(&["status"]).run(), |code| (code == 0).then_some(0)),
        6 if turn.is_multiple_of(2) => (call(&["list"]).run(), |code| (code == 0).then_some(0)),
        _ => (call(&["log"]).run(), |code| (code == 0).then_some(0)),
    };
    let made = out.code.and_then(made);
    made.unwrap_or_else(|| panic!("worker {worker}, turn {turn}\n{out}"))
}

/// Runs `turns` commands in each of the folders at once; gives the operations that each made.
fn race(s: &Sandbox, folders: &[PathBuf], ids: &[String], turns: usize) -> Vec<usize> {
    for worker in 0..folders.len() {
        for turn in 0..3 {
            let branch = format!("worker-{worker}-{turn}");
            s.git(&["branch", "--force", &branch, "main"]).ok();
        }
    }
    let start = Barrier::new(folders.len());
    thread::scope(|scope| {
        let workers: Vec<_> = folders
            .iter()
            .zip(ids)
            .enumerate()
            .map(|(worker, (dir, id))| {
                let start = &start;
                scope.spawn(move || {
                    start.wait();
                    (0..turns)
                        .map(|turn| command(s, dir, id, worker, turn))
                        .sum()
                })
            })
            .collect();
        workers
            .into_iter()
            .map(|worker| worker.join().expect("a worker without an error"))
            .collect()
    })
}

#[test]
fn eight_processes_on_one_session_lose_nothing() {
    let turns = count(21, 200);
    let s = started();
    share(&s, s.path(), ID);
    let folders: Vec<PathBuf> = (0..WORKERS)
        .map(|at| detached(&s, &format!("w{at}")))
        .collect();
    for dir in &folders {
        s.loopx_in(dir, &["-s", ID, "checkout"]).ok();
    }
    let made = race(&s, &folders, &vec![ID.to_owned(); WORKERS], turns);
    assert_nothing_lost(&s, ID, 2 + made.iter().sum::<usize>());
    assert_whole(&s);
    // What each wrote last is there, merged with what the others wrote.
    let spec = s.loopx(&["-s", ID, "cat", "spec.md"]).ok();
    let last = (turns - 1) / 7 * 7 + 1;
    let wanted: String = shared_spec().replace("wrote 0", &format!("wrote {last}"));
    assert_eq!(spec, wanted);
}

#[test]
fn eight_processes_on_eight_sessions_lose_nothing() {
    let turns = count(21, 200);
    let s = started();
    let mut ids = Vec::new();
    let mut folders = Vec::new();
    for worker in 0..WORKERS {
        let dir = detached(&s, &format!("w{worker}"));
        s.loopx_in(&dir, &["start", &format!("change {worker}")])
            .ok();
        ids.push(format!("change-{worker}"));
        share(&s, &dir, &ids[worker]);
        folders.push(dir);
    }
    let made = race(&s, &folders, &ids, turns);
    for (id, made) in ids.iter().zip(made) {
        assert_nothing_lost(&s, id, 2 + made);
    }
    assert_nothing_lost(&s, ID, 1);
    assert_whole(&s);
}

#[test]
fn a_foreign_git_that_moves_the_branch_loses_nothing_and_is_lost_to_nobody() {
    let turns = count(10, 60);
    let s = started();
    share(&s, s.path(), ID);
    let folders: Vec<PathBuf> = (0..3).map(|at| detached(&s, &format!("w{at}"))).collect();
    for dir in &folders {
        s.loopx_in(dir, &["-s", ID, "checkout"]).ok();
    }
    let done = AtomicBool::new(false);
    let (made, foreign) = thread::scope(|scope| {
        let foreign = scope.spawn(|| {
            let mut moved = BTreeSet::new();
            // Bounded, so that a failure of the workers ends the test.
            for _ in 0..turns * 40 {
                // On a busy machine the workers may be through before its first move.
                if done.load(Ordering::Relaxed) && !moved.is_empty() {
                    break;
                }
                let tip = tip(&s);
                let tree = format!("{tip}^{{tree}}");
                let commit = s
                    .git(&["commit-tree", &tree, "-p", &tip, "-m", "foreign"])
                    .line();
                let out = s.git(&["update-ref", "refs/heads/loopx", &commit, &tip]);
                if out.code == Some(0) {
                    moved.insert(commit);
                }
            }
            moved
        });
        let made = race(&s, &folders, &vec![ID.to_owned(); 3], turns);
        done.store(true, Ordering::Relaxed);
        (made, foreign.join().expect("a foreign git"))
    });
    assert_nothing_lost(&s, ID, 2 + made.iter().sum::<usize>());
    let history = s.git(&["rev-list", "refs/heads/loopx"]).ok();
    let history: BTreeSet<String> = history.lines().map(str::to_owned).collect();
    assert!(
        !foreign.is_empty(),
        "the foreign git never moved the branch"
    );
    assert!(foreign.is_subset(&history), "a foreign commit was lost");
    assert_whole(&s);
}

/// Two calls at the same moment.
fn both(s: &Sandbox, calls: [(&Path, &[&str]); 2]) -> [Output; 2] {
    let start = Barrier::new(2);
    thread::scope(|scope| {
        let calls = calls.map(|(dir, args)| {
            let start = &start;
            scope.spawn(move || {
                let call = s.call(LOOPX).cwd(dir).args(&["--json"]).args(args);
                start.wait();
                call.run()
            })
        });
        calls.map(|call| call.join().expect("an end"))
    })
}

#[test]
fn two_that_initialise_at_once_make_one_root() {
    for round in 0..count(8, 100) {
        let s = Sandbox::new();
        let here = s.path();
        for out in both(&s, [(here, &["init"]), (here, &["init"])]) {
            assert_eq!(out.code, Some(0), "round {round}\n{out}");
        }
        assert_eq!(s.git(&["rev-list", "--count", "loopx"]).line(), "2");
        assert_whole(&s);
    }
}

#[test]
fn of_two_that_start_one_id_at_once_one_wins() {
    let s = Sandbox::new();
    begin(&s);
    let here = s.path();
    for round in 0..count(8, 100) {
        let name = format!("round {round}");
        let args: [&str; 3] = ["start", "--no-branch", &name];
        let [first, second] = both(&s, [(here, &args), (here, &args)]);
        let (won, lost) = match first.code {
            Some(0) => (first, second),
            _ => (second, first),
        };
        won.ok();
        let lost = lost.fails_with(1).error_json();
        assert_eq!(lost["error"]["code"], "session_exists");
        assert_nothing_lost(&s, &format!("round-{round}"), 1);
    }
    assert_whole(&s);
}

/// Counts the times that the session has entered a stage.
fn entered(s: &Sandbox) -> usize {
    let operations = operations(s, ID);
    let kinds = operations.iter().map(|op| op["kind"].as_str());
    kinds.filter(|kind| *kind == Some("entered")).count()
}

fn stage(s: &Sandbox) -> String {
    let status = s.loopx(&["-s", ID, "--json", "status"]).json();
    status["stage"].as_str().expect("a stage").to_owned()
}

#[test]
fn of_two_that_consume_one_approval_at_once_one_enters() {
    for command in ["plan", "build"] {
        let s = started();
        let before = match command {
            "plan" => {
                plan_approved(&s);
                "clarify"
            }
            _ => {
                build_approved(&s);
                "plan"
            }
        };
        let other = detached(&s, "other");
        for round in 0..count(4, 40) {
            let known = entered(&s);
            let args: [&str; 3] = ["-s", ID, command];
            let outs = both(&s, [(s.path(), &args), (&other, &args)]);
            let won = outs.iter().filter(|out| out.code == Some(0)).count();
            // Who comes too late to a build finds that it belongs to the other worktree.
            let late = if command == "build" { 6 } else { 1 };
            let lost = outs.iter().filter(|out| out.code == Some(late)).count();
            assert_eq!((won, lost), (1, 1), "{command}, round {round}\n{outs:#?}");
            assert_eq!(entered(&s), known + 1, "{command} was entered twice");
            assert_eq!(stage(&s), command);
            s.loopx(&["-s", ID, "undo"]).ok();
            assert_eq!(stage(&s), before);
        }
        assert_whole(&s);
    }
}

#[test]
fn of_two_that_put_at_once_in_one_worktree_neither_is_lost() {
    let s = started();
    let here = s.path();
    for round in 0..count(6, 100) {
        let texts = ["a", "b"].map(|side| format!("# Round {round}, side {side}\n"));
        s.write("../a.md", &texts[0]);
        s.write("../b.md", &texts[1]);
        let outs = both(
            &s,
            [
                (here, &["put", "spec.md", "../a.md"]),
                (here, &["put", "spec.md", "../b.md"]),
            ],
        );
        let mut written = BTreeSet::new();
        for out in outs {
            let commit = out.json()["commit"].clone();
            let path = format!(
                "{}:sessions/{ID}/spec.md",
                commit.as_str().expect("a commit")
            );
            written.insert(s.git(&["show", &path]).ok());
            out.ok();
        }
        // Each success recorded its own text.
        assert_eq!(written, BTreeSet::from(texts));
    }
    assert_whole(&s);
}
