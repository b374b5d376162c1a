//! Many hands on one backlog: what somebody was told to be written is there, whoever else writes, syncs or is killed.
//! LOOPX_STRESS=1 makes the run long.

use crate::support::clones::Clones;
use crate::support::issues::id_of;
use crate::support::store::{count, tell};
use crate::support::{Call, LOOPX};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

const WRITERS: usize = 8;

/// Knowledge of somebody about an issue of theirs: what they were told is written, and what a killed command may have
/// written.
#[derive(Debug, Default)]
struct Known {
    title: String,
    priority: BTreeSet<u64>,
    links: BTreeSet<String>,
    is_claimed: bool,
}

/// Hand that works in a worktree of its own.
struct Hand<'c> {
    all: &'c Clones,
    dir: PathBuf,
    name: usize,
    moment: u64,
    killed: &'c AtomicUsize,
    told: usize,
}

impl Hand<'_> {
    fn call(&self, args: &[&str]) -> Call<'_> {
        let email = format!("w{}@example.org", self.name);
        self.all
            .s
            .call(LOOPX)
            .cwd(&self.dir)
            .env("GIT_AUTHOR_EMAIL", &email)
            .env("GIT_COMMITTER_EMAIL", &email)
            .args(&["--json"])
            .args(args)
    }

    /// Runs a command; one in six is killed at some moment. Gives its document where it said one.
    fn does(&mut self, args: &[&str]) -> Option<Value> {
        self.moment = self.moment.wrapping_mul(6_364_136_223_846_793_005) + 1;
        let dice = self.moment >> 33;
        if dice.is_multiple_of(6) {
            let mut command = self.call(args).command();
            let mut child = command
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("a process");
            drop(child.stdin.take());
            // The one wait that is no synchronisation: it chooses the moment of the kill.
            thread::sleep(Duration::from_micros(dice % 90_000));
            child.kill().expect("a kill");
            child.wait().expect("an end");
            self.killed.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        let out = self.call(args).run();
        match out.code {
            Some(0) => {
                self.told += 1;
                Some(out.json())
            }
            // A step of the same kind that was killed was whole.
            Some(5) => {
                let error = out.error_json()["error"].clone();
                assert_eq!(error["code"], "issue_unchanged", "{args:?}: {out}");
                Some(Value::Null)
            }
            _ => panic!("{args:?}: {out}"),
        }
    }

    /// Makes an issue, changes it, links it to an earlier one, and takes it. What is killed is done once more.
    fn works(&mut self, rounds: usize) -> BTreeMap<String, Known> {
        let mut known: BTreeMap<String, Known> = BTreeMap::new();
        for round in 0..rounds {
            let title = format!("Part {round} of hand {}", self.name);
            let Some(made) = self.does(&["issue", "create", &title]) else {
                continue;
            };
            let id = id_of(&made);
            let mut own = Known {
                title,
                ..Known::default()
            };
            for _ in 0..2 {
                let priority = (round + self.name) as u64 % 2;
                let typed = priority.to_string();
                if self.does(&["issue", "edit", &id, "-p", &typed]).is_some() {
                    own.priority = [priority].into();
                    break;
                }
                own.priority = [priority, 2].into();
            }
            if let Some(other) = known.keys().next_back().cloned()
                && self
                    .does(&["issue", "link", &id, "related", &other])
                    .is_some()
            {
                own.links.insert(other);
            }
            own.is_claimed = self.does(&["issue", "take", &id]).is_some();
            known.insert(id, own);
        }
        known
    }
}

/// Issues with what a list says of them.
fn listed(all: &Clones, at: usize) -> BTreeMap<String, Value> {
    let found = all.loopx(at, &["--json", "issue", "list", "--all"]).json();
    let issues = found["issues"].as_array().expect("issues").iter();
    issues
        .map(|one| (one["id"].as_str().expect("an id").to_owned(), one.clone()))
        .collect()
}

#[test]
fn what_hands_were_told_to_be_written_is_there_after_races_kills_and_syncs() {
    let each = count(2, 250);
    let all = Clones::sharing(2);
    let killed = AtomicUsize::new(0);
    let is_over = AtomicBool::new(false);
    let hands = (0..WRITERS).map(|name| {
        let dir = all.s.root().join(format!("hand {name}"));
        let path = dir.to_str().expect("UTF-8");
        all.git(0, &["worktree", "add", "--quiet", "--detach", path])
            .ok();
        Hand {
            all: &all,
            dir,
            name,
            moment: name as u64 + 7,
            killed: &killed,
            told: 0,
        }
    });
    let hands: Vec<Hand<'_>> = hands.collect();
    let (known, told, syncs) = thread::scope(|scope| {
        let syncing = scope.spawn(|| {
            let mut syncs = 0;
            while !is_over.load(Ordering::Relaxed) {
                for at in [0, 1] {
                    let out = all.sync(at);
                    assert!(matches!(out.code, Some(0 | 3 | 6)), "{out}");
                }
                all.loopx(1, &["issue", "create", "From afar", "-q"]).ok();
                syncs += 1;
            }
            syncs
        });
        let working: Vec<_> = hands
            .into_iter()
            .map(|mut hand| scope.spawn(move || (hand.works(each), hand.told)))
            .collect();
        let done: Vec<_> = working.into_iter().map(|one| one.join()).collect();
        is_over.store(true, Ordering::Relaxed);
        let syncs = syncing.join().expect("the syncs");
        let mut known = BTreeMap::new();
        let mut told = 0;
        for one in done {
            let (own, number) = one.expect("a hand");
            known.extend(own);
            told += number;
        }
        (known, told, syncs)
    });
    all.settle();
    all.assert_agreed();
    for at in [0, 1] {
        let found = listed(&all, at);
        for (id, own) in &known {
            let issue = found
                .get(id)
                .unwrap_or_else(|| panic!("{id} is lost in clone {at}"));
            assert_eq!(issue["title"], own.title.as_str(), "{issue:#}");
            let priority = issue["priority"].as_u64().expect("a priority");
            assert!(own.priority.contains(&priority), "{own:?}: {issue:#}");
            let links = issue["links"].as_array().into_iter().flatten();
            let links: BTreeSet<&str> = links.filter_map(|link| link["to"].as_str()).collect();
            let is_there = |to: &String| links.contains(to.as_str());
            assert!(own.links.iter().all(is_there), "{own:?}: {issue:#}");
            if own.is_claimed {
                assert_eq!(issue["status"], "in_progress", "{issue:#}");
            }
        }
        let afar = found.values().filter(|one| one["title"] == "From afar");
        assert_eq!(afar.count(), syncs, "clone {at}");
    }
    assert!(killed.load(Ordering::Relaxed) > 0, "nobody was killed");
    tell(&format!(
        "{WRITERS} hands, {} issues of theirs, {told} acknowledged writes, {} kills, {syncs} rounds of syncs",
        known.len(),
        killed.load(Ordering::Relaxed)
    ));
}
