//! Claims that go to the remote first: one commit pushed alone, so that a bare repository is a queue of work for any
//! number of machines. LOOPX_STRESS=1 makes the runs long.

use crate::support::clones::Clones;
use crate::support::server::HOOK;
use crate::support::store::{count, tell};
use crate::support::tasks::{DEMO, clones_building, statuses_in, task, text};
use crate::support::{Call, Output};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

fn of<'a>(all: &'a Clones, at: usize, args: &[&str]) -> Call<'a> {
    let call = all.call(at).env("LOOPX_SESSION", DEMO);
    call.args(&["--json"]).args(args)
}

/// Commits that the remote's branch has got since it stood there, oldest first, with how many parents each has.
fn pushed(all: &Clones, since: &str) -> Vec<(String, usize)> {
    let range = format!("{since}..loopx");
    let args = ["log", "--reverse", "--format=%s%x09%p", &range];
    let log = all.s.git_in(all.remote(), &args).ok();
    let line = |line: &str| {
        let (subject, parents) = line.split_once('\t').expect("two fields");
        (subject.to_owned(), parents.split(' ').count())
    };
    log.lines().map(line).collect()
}

fn there(all: &Clones) -> String {
    let args = ["rev-parse", "loopx"];
    all.s.git_in(all.remote(), &args).line()
}

fn error(out: &Output) -> Value {
    out.error_json()["error"].clone()
}

#[test]
fn a_remote_claim_is_one_commit_that_is_pushed_alone() {
    let all = clones_building(
        2,
        &[
            task("T-1", &[], Some(&["true"])),
            task("T-2", &[], Some(&["true"])),
        ],
    );
    // The server judges what comes.
    all.s.script(all.remote().join("hooks/pre-receive"), HOOK);
    // A record that only the first clone has.
    of(&all, 0, &["run", "--task", "T-2"]).run().ok();
    let (before, own) = (there(&all), all.operations(0).len());
    let out = of(&all, 0, &["take", "T-1", "--remote"]).run();
    let taken = out.json();
    assert_eq!(taken["remote"], "origin");
    assert_eq!(taken["card"]["task"], "T-1");
    assert_eq!(pushed(&all, &before), [("demo: take T-1".to_owned(), 1)]);
    // The session here has it too, beside what is not shared.
    assert_eq!(all.operations(0).len(), own + 1);
    assert_eq!(
        statuses_in(&of(&all, 0, &["task", "list"]).run())["T-1"],
        "claimed"
    );
    // The other clone never synced: it hears who has it, and gets the next.
    let late = of(&all, 1, &["take", "T-1", "--remote"])
        .run()
        .fails_with(6);
    assert_eq!(error(&late)["code"], "task_held");
    let next = of(&all, 1, &["take", "--remote"]).run().json();
    assert_eq!(next["card"]["task"], "T-2");
    assert_eq!(pushed(&all, &before).len(), 2);
    all.settle();
    all.assert_agreed();
}

#[test]
fn with_the_setting_the_end_of_a_task_goes_there_too_and_the_run_does_not() {
    let all = clones_building(
        2,
        &[
            task("T-1", &[], Some(&["true"])),
            task("T-2", &["T-1"], Some(&["true"])),
        ],
    );
    for at in [0, 1] {
        all.git(at, &["config", "loopx.claim", "remote"]).ok();
        all.git(at, &["config", "loopx.trust", "all"]).ok();
    }
    let before = there(&all);
    of(&all, 0, &["take"]).run().ok();
    of(&all, 0, &["task", "fail", "--reason", "no"]).run().ok();
    of(&all, 1, &["task", "retry", "T-1"]).run().ok();
    of(&all, 0, &["take"]).run().ok();
    of(&all, 0, &["task", "release"]).run().ok();
    of(&all, 1, &["take"]).run().ok();
    of(&all, 1, &["task", "done"]).run().ok();
    let words = [
        "take T-1",
        "T-1 failed",
        "retry T-1",
        "take T-1",
        "release T-1",
        "take T-1",
        "T-1 is done",
    ];
    let words: Vec<(String, usize)> = words
        .iter()
        .map(|one| (format!("demo: {one}"), 1))
        .collect();
    assert_eq!(pushed(&all, &before), words);
    // What waits for it is ready elsewhere, without a sync.
    let next = of(&all, 0, &["take"]).run().json();
    assert_eq!(next["card"]["task"], "T-2");
}

#[test]
fn without_the_remote_nothing_is_claimed() {
    let all = clones_building(1, &[task("T-1", &[], Some(&["true"]))]);
    let tip = |all: &Clones| all.git(0, &["rev-parse", "loopx"]).line();
    let before = tip(&all);
    let away = all.s.root().join("away.git");
    fs::rename(all.remote(), &away).expect("a folder");
    let out = of(&all, 0, &["take", "--remote"]).run();
    assert!(matches!(out.code, Some(1 | 6)), "{out}");
    fs::rename(away, all.remote()).expect("a folder");
    assert_eq!(tip(&all), before);
    // A server that takes nothing: the same.
    all.refuse("not today");
    let out = of(&all, 0, &["take", "--remote"]).run().fails_with(1);
    assert_eq!(error(&out)["code"], "remote_hook_declined");
    assert_eq!(tip(&all), before);
    assert_eq!(
        statuses_in(&of(&all, 0, &["task", "list"]).run())["T-1"],
        "pending"
    );
}

#[test]
fn a_record_that_goes_on_from_one_that_was_not_shared_asks_for_a_sync() {
    let all = clones_building(
        1,
        &[
            task("T-1", &[], Some(&["true"])),
            task("T-2", &[], Some(&["true"])),
        ],
    );
    of(&all, 0, &["take", "T-1"]).run().ok();
    all.git(0, &["config", "loopx.claim", "remote"]).ok();
    let out = of(&all, 0, &["task", "release"]).run().fails_with(1);
    let error = error(&out);
    assert_eq!(error["code"], "not_shared");
    assert_eq!(error["help"], "git loopx sync origin");
    // What nothing here speaks of is taken.
    let next = of(&all, 0, &["take"]).run().json();
    assert_eq!(next["card"]["task"], "T-2");
    all.sync(0).ok();
    of(&all, 0, &["task", "release", "T-1"]).run().ok();
}

#[test]
fn a_task_that_is_ready_only_here_is_not_claimed_at_the_remote() {
    let tasks = [
        task("T-1", &[], Some(&["true"])),
        task("T-2", &["T-1"], Some(&["true"])),
    ];
    let all = clones_building(1, &tasks);
    all.git(0, &["switch", "--quiet", "work"]).ok();
    of(&all, 0, &["take", "T-1"]).run().ok();
    of(&all, 0, &["task", "done", "T-1"]).run().ok();
    let before = there(&all);
    let out = of(&all, 0, &["take", "--remote"]).run().fails_with(1);
    let refused = error(&out);
    assert_eq!(refused["code"], "not_shared");
    assert_eq!(refused["help"], "git loopx sync origin");
    assert_eq!(there(&all), before);
    all.sync(0).ok();
    let next = of(&all, 0, &["take", "--remote"]).run().json();
    assert_eq!(next["card"]["task"], "T-2");
}

/// Claims at a server that does not answer in time; gives what was pushed there and not taken yet.
fn unheard(all: &Clones) -> String {
    let hook = all.remote().join("hooks/pre-receive");
    let came = all.s.root().join("came");
    let script = format!("#!/bin/sh\ncat > '{}'\nsleep 60\n", came.display());
    all.s.script(&hook, &script);
    for (key, value) in [
        ("loopx.claim", "remote"),
        ("loopx.trust", "all"),
        ("loopx.syncTimeout", "3"),
    ] {
        all.git(0, &["config", key, value]).ok();
    }
    let out = of(all, 0, &["take"]).run().fails_with(6);
    let said = error(&out);
    assert_eq!(said["code"], "remote_timeout");
    let message = text(&said["message"]);
    assert!(message.contains("may still arrive"), "{said:#}");
    let help = text(&said["help"]);
    assert!(help.contains("git loopx sync origin"), "{said:#}");
    fs::remove_file(&hook).expect("a hook");
    all.git(0, &["config", "loopx.syncTimeout", "60"]).ok();
    let line = fs::read_to_string(&came).expect("a push came");
    line.split(' ').nth(1).expect("a commit").to_owned()
}

/// Pushes the commit, so that it arrives there all the same.
fn arrives(all: &Clones, commit: &str, branch: &str) {
    let spec = format!("{commit}:refs/heads/{branch}");
    all.git(0, &["push", "--quiet", "--no-verify", "origin", &spec])
        .ok();
}

fn two() -> Clones {
    let one = |id| task(id, &[], Some(&["true"]));
    clones_building(2, &[one("T-1"), one("T-2")])
}

#[test]
fn a_claim_that_nobody_heard_of_is_taken_up_by_the_next_take() {
    let all = two();
    arrives(&all, &unheard(&all), "loopx");
    let moved = there(&all);
    let again = of(&all, 0, &["take", "T-1"]).run().json();
    assert_eq!(again["claimed"], false, "{again:#}");
    of(&all, 0, &["task", "release"]).run().ok();
    assert_eq!(pushed(&all, &moved), [("demo: release T-1".to_owned(), 1)]);
    // Without a name the same, and the next time another one.
    arrives(&all, &unheard(&all), "loopx");
    let again = of(&all, 0, &["take"]).run().json();
    assert_eq!(again["card"]["task"], "T-1");
    assert_eq!(again["claimed"], false, "{again:#}");
    let next = of(&all, 0, &["take"]).run().json();
    assert_eq!(next["card"]["task"], "T-2");
    all.settle();
    all.assert_agreed();
}

#[test]
fn a_claim_that_arrives_meanwhile_is_not_made_twice() {
    let all = two();
    let before = there(&all);
    arrives(&all, &unheard(&all), "late");
    // It lands while the same is asked for again.
    let hook = all.remote().join("hooks/pre-receive");
    let script = "#!/bin/sh\nrm -f hooks/pre-receive\nunset GIT_QUARANTINE_PATH GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES\nexec git update-ref refs/heads/loopx refs/heads/late\n";
    all.s.script(&hook, script);
    let again = of(&all, 0, &["take"]).run().json();
    assert_eq!(again["card"]["task"], "T-1");
    assert_eq!(again["claimed"], false, "{again:#}");
    assert_eq!(pushed(&all, &before), [("demo: take T-1".to_owned(), 1)]);
    of(&all, 0, &["task", "done"]).run().ok();
    all.settle();
    all.assert_agreed();
}

#[test]
fn who_was_killed_behind_the_push_of_a_claim_goes_on_with_it() {
    for first in [
        &["take", "T-1"][..],
        &["task", "done", "T-1"],
        &["task", "fail", "T-1", "--reason", "no"],
    ] {
        let all = two();
        all.git(0, &["config", "loopx.claim", "remote"]).ok();
        all.git(0, &["config", "loopx.trust", "all"]).ok();
        let killed = of(&all, 0, &["take", "T-1"]).env("LOOPX_FAILPOINT", "publish-pushed");
        assert_ne!(killed.run().code, Some(0));
        assert_eq!(
            statuses_in(&of(&all, 0, &["task", "list"]).run())["T-1"],
            "pending"
        );
        let out = of(&all, 0, first).run();
        assert_eq!(out.code, Some(0), "{first:?}: {out}");
        if first[0] == "take" {
            of(&all, 0, &["task", "done"]).run().ok();
        }
        all.settle();
        all.assert_agreed();
    }
}

/// A worker in a worktree of its own.
struct Worker<'a> {
    all: &'a Clones,
    clone: usize,
    dir: PathBuf,
    dice: u64,
    kills: usize,
}

impl Worker<'_> {
    fn roll(&mut self, sides: u64) -> u64 {
        self.dice = self
            .dice
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.dice >> 33) % sides
    }

    fn call(&self, args: &[&str]) -> Call<'_> {
        of(self.all, self.clone, args).cwd(&self.dir)
    }

    /// Runs a command; one of eight is killed under way.
    fn run(&mut self, args: &[&str]) -> Option<Output> {
        if self.roll(8) > 0 {
            return Some(self.call(args).run());
        }
        self.kills += 1;
        let moment = Duration::from_millis(self.roll(250));
        let mut command = self.call(args).command();
        command
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null());
        let mut child = command.spawn().expect("a process");
        thread::sleep(moment);
        drop(child.kill());
        child.wait().expect("an end");
        None
    }

    /// Syncs while others are at it too: what does not come now comes later.
    fn sync(&self) {
        drop(self.call(&["sync", "origin"]).run());
    }

    /// Takes and completes tasks until all is done.
    fn work(&mut self, deadline: Instant) {
        loop {
            assert!(Instant::now() < deadline, "nobody gets anywhere");
            let listed = self.call(&["task", "list"]).run().json();
            let rows = listed["tasks"].as_array().expect("tasks").clone();
            let own = rows
                .iter()
                .find(|row| row["claim"]["here"] == true && row["status"] == "claimed");
            if let Some(row) = own {
                let id = text(&row["task"]);
                if let Some(out) = self.run(&["task", "done", &id]) {
                    assert!(matches!(out.code, Some(0 | 1 | 6)), "{out}");
                }
                continue;
            }
            let Some(out) = self.run(&["take"]) else {
                // What was pushed before it was killed stands there.
                self.sync();
                continue;
            };
            match out.code {
                Some(0) => {}
                Some(5) => return,
                Some(1 | 6) => {
                    self.sync();
                    thread::sleep(Duration::from_millis(50));
                }
                _ => panic!("{out}"),
            }
        }
    }
}

/// Tasks in rows: each waits for two of the row before.
fn ladder(number: usize) -> Vec<Value> {
    let id = |at: usize| format!("T-{at:03}");
    let wide = 8;
    (0..number)
        .map(|at| {
            let on: Vec<String> = if at < wide {
                Vec::new()
            } else {
                vec![id(at - wide), id(at / wide * wide - 1)]
            };
            let on: Vec<&str> = on.iter().map(String::as_str).collect();
            task(&id(at), &on, Some(&["true"]))
        })
        .collect()
}

/// Design 5, the queue: 16 hands in 4 clones of one bare repository, with kills in between.
#[test]
fn sixteen_workers_of_four_clones_do_each_task_once_and_in_order() {
    let tasks = ladder(count(16, 200));
    let all = clones_building(4, &tasks);
    let hands = count(2, 4);
    let mut workers = Vec::new();
    for clone in 0..4 {
        all.git(clone, &["config", "loopx.claim", "remote"]).ok();
        all.git(clone, &["config", "loopx.fsync", "false"]).ok();
        all.git(clone, &["config", "loopx.trust", "all"]).ok();
        for hand in 0..hands {
            let dir = all.s.root().join(format!("w{clone}-{hand}"));
            add_worktree(&all, clone, &dir);
            let dice = (clone * hands + hand + 1) as u64;
            workers.push(Worker {
                all: &all,
                clone,
                dir,
                dice,
                kills: 0,
            });
        }
    }
    let start = Barrier::new(workers.len());
    let deadline = Instant::now() + Duration::from_secs(count(240, 3600) as u64);
    let kills: usize = thread::scope(|scope| {
        let running: Vec<_> = workers
            .iter_mut()
            .map(|worker| {
                let start = &start;
                scope.spawn(move || {
                    start.wait();
                    worker.work(deadline);
                    worker.kills
                })
            })
            .collect();
        running
            .into_iter()
            .map(|one| one.join().expect("a worker"))
            .sum()
    });
    all.settle();
    all.assert_agreed();
    let log = of(&all, 0, &["task", "log"]).run().json();
    let mut done: BTreeMap<String, usize> = BTreeMap::new();
    for (at, row) in log["happened"]
        .as_array()
        .expect("a log")
        .iter()
        .enumerate()
    {
        if row["step"] == "done" {
            let again = done.insert(text(&row["task"]), at);
            assert_eq!(again, None, "{row:#}");
        }
    }
    assert_eq!(done.len(), tasks.len());
    for task in &tasks {
        for on in task["depends_on"].as_array().expect("edges") {
            assert!(done[&text(on)] < done[&text(&task["id"])], "{task:#}");
        }
    }
    let listed = of(&all, 0, &["task", "list"]).run().json();
    for row in listed["tasks"].as_array().expect("tasks") {
        assert_eq!(row["beside"], Value::Array(Vec::new()), "{row:#}");
    }
    tell(&format!(
        "{} tasks, {} workers in 4 clones, {kills} kills: each done once",
        tasks.len(),
        4 * hands
    ));
}

fn add_worktree(all: &Clones, clone: usize, dir: &Path) {
    let path = dir.to_str().expect("UTF-8");
    all.git(clone, &["worktree", "add", "--quiet", "--detach", path])
        .ok();
}
