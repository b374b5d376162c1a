//! Many hands on one list: of all who reach for a task one gets it, and the others are told who. LOOPX_STRESS=1 makes
//! the runs long.

use crate::support::clones::Clones;
use crate::support::store::{assert_whole, count, detached, tell};
use crate::support::tasks::{
    DEMO, building, clones_building, statuses, statuses_in, task, text, there,
};
use crate::support::{LOOPX, Output, Sandbox};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

/// Runs a command at once as often as there are folders.
fn at_once(s: &Sandbox, folders: &[&PathBuf], args: &[&str]) -> Vec<Output> {
    let start = Barrier::new(folders.len());
    thread::scope(|scope| {
        let workers: Vec<_> = folders
            .iter()
            .map(|dir| {
                let start = &start;
                scope.spawn(move || {
                    start.wait();
                    there(s, dir, args).run()
                })
            })
            .collect();
        let workers = workers.into_iter();
        workers.map(|one| one.join().expect("a worker")).collect()
    })
}

/// Faults 2 and 3: a step was handed out two and three times, and of two ends one was lost.
#[test]
fn chain_b3_of_all_who_take_one_task_one_gets_it_and_the_others_hear_who() {
    let rounds = count(3, 1000);
    let s = building(&[task("T-1", &[], Some(&["true"]))]);
    let trees: Vec<PathBuf> = (0..count(2, 4))
        .map(|at| detached(&s, &format!("w{at}")))
        .collect();
    for round in 0..rounds {
        let hands = if round % 2 == 0 { 8 } else { count(8, 32) };
        let folders: Vec<&PathBuf> = trees.iter().cycle().take(hands).collect();
        let args: &[&str] = match round % 3 {
            0 => &["take"],
            _ => &["take", "t-1"],
        };
        let outs = at_once(&s, &folders, args);
        let got = |at: &usize| outs[*at].code == Some(0);
        let winners: Vec<usize> = (0..hands).filter(got).collect();
        assert_eq!(winners.len(), 1, "round {round}: {outs:#?}");
        for out in outs.iter().filter(|out| out.code != Some(0)) {
            assert_eq!(out.code, Some(6), "round {round}: {out}");
            let error = out.error_json()["error"].clone();
            assert_eq!(error["code"], "task_held", "round {round}: {out}");
            let said = text(&error["message"]);
            let is_named = said.contains("Ada Author <ada@example.org>, worktree ");
            assert!(is_named || said.contains("taken here already"), "{said}");
        }
        // Whoever got it has it: the others of its worktree are the same hands, those of another are not.
        let own = folders[winners[0]];
        if let Some(other) = trees.iter().find(|dir| *dir != own) {
            there(&s, other, &["task", "release", "T-1"])
                .run()
                .fails_with(6);
        }
        let ends = at_once(&s, &[own, own], &["task", "release", "T-1"]);
        let ended = ends.iter().filter(|out| out.code == Some(0)).count();
        assert_eq!(ended, 1, "round {round}: {ends:#?}");
        // Whoever comes next is new here: of those too that begin at once, all have one name.
        for at in 0..trees.len() {
            let token = s.path().join(format!(".git/worktrees/w{at}/loopx/owner"));
            drop(std::fs::remove_file(token));
        }
    }
    let log = s.loopx(&["task", "log", "--json"]).json();
    let steps = log["happened"].as_array().expect("a log").iter();
    let steps: Vec<String> = steps.map(|one| text(&one["step"])).collect();
    assert_eq!(steps, ["take", "release"].repeat(rounds));
    assert_whole(&s);
    tell(&format!(
        "{rounds} rounds over {} worktrees: one owner each",
        trees.len()
    ));
}

/// Chain B4, fault 3: the same on a list so long that its writing takes time.
#[test]
fn chain_b4_hands_that_take_from_a_long_list_get_a_task_each() {
    let long = "word ".repeat(count(2, 100));
    let tasks: Vec<Value> = (0..count(40, 1500))
        .map(|n| task(&format!("T-{n:04}"), &[], Some(&["test", &long])))
        .collect();
    let s = building(&tasks);
    let trees: Vec<PathBuf> = (0..6).map(|at| detached(&s, &format!("w{at}"))).collect();
    let folders: Vec<&PathBuf> = trees.iter().collect();
    let mut given = BTreeSet::new();
    for _ in 0..count(1, 20) {
        for out in at_once(&s, &folders, &["take"]) {
            let taken = out.json();
            assert!(given.insert(text(&taken["card"]["task"])), "{taken:#}");
        }
    }
    let held = statuses(&s);
    let held = held.into_iter().filter(|(_, status)| status == "claimed");
    assert_eq!(held.map(|(id, _)| id).collect::<BTreeSet<_>>(), given);
    assert_whole(&s);
}

/// Team E5; faults 6, 7 and 14: whoever is killed leaves a list that the next one goes on with at once.
#[test]
fn team_e5_a_take_that_is_killed_is_whole_or_was_not() {
    let s = building(&[task("T-1", &[], Some(&["true"]))]);
    for n in 0..count(8, 200) {
        let mut child = s
            .call(LOOPX)
            .args(&["take"])
            .command()
            .spawn()
            .expect("a process");
        let moment = u64::try_from(n).expect("a number") * 7_919 % 60_000;
        thread::sleep(Duration::from_micros(moment));
        child.kill().expect("a signal");
        child.wait().expect("an end");
        if statuses(&s)["T-1"] == "pending" {
            s.loopx(&["take", "T-1"]).ok();
        }
        s.loopx(&["task", "release"]).ok();
    }
    s.loopx(&["fsck", "--full"]).says("all whole").ok();
    assert_whole(&s);
}

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % sides
    }
}

/// Plays a step of a clone, legal or not.
fn turn(all: &Clones, at: usize, dice: &mut Dice) {
    let id = format!("T-{}", dice.roll(3));
    let args: &[&str] = match dice.roll(10) {
        0..3 => &["take"],
        3 => &["take", &id],
        4..7 => &["task", "done", &id, "--summary", "by a clone"],
        7 => &["task", "fail", &id, "--reason", "no"],
        8 => &["task", "retry", &id, "--reason", "once more"],
        _ => &["task", "skip", &id, "--reason", "not now"],
    };
    let out = all.call(at).env("LOOPX_SESSION", DEMO).args(args).run();
    assert!(
        matches!(out.code, Some(0 | 1 | 2 | 5 | 6)),
        "clone {at}: {out}"
    );
}

fn of(all: &Clones, at: usize, args: &[&str]) -> Output {
    let call = all.call(at).env("LOOPX_SESSION", DEMO);
    call.args(&["--json"]).args(args).run()
}

/// The steps of everybody, by the name of their record.
fn happened(all: &Clones, at: usize) -> BTreeMap<String, (String, String)> {
    let log = of(all, at, &["task", "log"]).json();
    let rows = log["happened"].as_array().expect("a log").clone();
    rows.iter()
        .map(|row| (text(&row["op"]), (text(&row["task"]), text(&row["step"]))))
        .collect()
}

/// Chain B31: what two clones did apart comes together to one list, everything is there, and nothing is done that
/// nobody did.
#[test]
fn chain_b31_clones_that_worked_apart_agree_and_nothing_is_lost() {
    let histories = count(3, 1000);
    let all = clones_building(
        2,
        &[
            task("T-0", &[], Some(&["true"])),
            task("T-1", &["T-0"], Some(&["true"])),
            task("T-2", &[], Some(&["true"])),
        ],
    );
    for at in [0, 1] {
        all.git(at, &["config", "loopx.trust", "all"]).ok();
    }
    let mut dice = Dice(16);
    let mut contested = 0;
    for history in 0..histories {
        for at in [0, 1] {
            for _ in 0..5 {
                turn(&all, at, &mut dice);
            }
        }
        let apart = [happened(&all, 0), happened(&all, 1)];
        let before = [0, 1].map(|at| statuses_in(&of(&all, at, &["task", "list"])));
        let made: BTreeSet<String> = [0, 1].iter().flat_map(|at| all.operations(*at)).collect();
        all.settle();
        let merged = happened(&all, 0);
        assert_eq!(merged, happened(&all, 1), "history {history}");
        let together: BTreeMap<_, _> = apart
            .iter()
            .flatten()
            .map(|(op, step)| (op.clone(), step.clone()))
            .collect();
        assert_eq!(merged, together, "history {history}: a step is lost");
        assert!(made.is_subset(&all.operations(0)) && made.is_subset(&all.operations(1)));
        let listed = [0, 1].map(|at| of(&all, at, &["task", "list"]));
        let now = statuses_in(&listed[0]);
        assert_eq!(now, statuses_in(&listed[1]), "history {history}");
        for (id, status) in &now {
            let was = before.iter().any(|side| side[id] == *status);
            let is_done = ["completed", "skipped"].contains(&status.as_str());
            assert!(
                was || !is_done,
                "history {history}: {id} is {status} on no side"
            );
        }
        let rows = listed[0].json()["tasks"].as_array().expect("tasks").clone();
        contested += rows
            .iter()
            .filter(|row| row["beside"] != Value::Array(Vec::new()))
            .count();
        let state = of(&all, 0, &["status"]).json();
        assert_eq!(state["stage"], "build", "history {history}");
        // All of it can be done again: the next history begins with what this one left.
        for id in ["T-0", "T-1", "T-2"] {
            let again = of(&all, 0, &["task", "retry", id, "--reason", "again"]);
            assert!(matches!(again.code, Some(0 | 1)), "{again}");
        }
        all.settle();
    }
    all.assert_agreed();
    assert!(contested > 0, "no two of them ever met");
    let records = all.operations(0).len();
    tell(&format!(
        "{histories} histories of 2 clones: {records} records, one tree, {contested} tasks met"
    ));
}
