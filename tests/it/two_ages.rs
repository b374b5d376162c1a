//! Two programs of different age at work on one repository: clones that take random steps and meet through a
//! remote with our hook. The newer program does what ours does, and writes what ours does not know. In the end
//! there is one tree of records, and each that was ever written is in it. LOOPX_STRESS=1 makes it long.

use crate::support::clones::Clones;
use crate::support::forge::{file_name, record};
use crate::support::store::{ID, READY, count, tell};
use crate::support::{Call, Output};
use loopx_base::fanout::Fanout::Operations;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The clone of this program, and that of the newer one.
const OURS: usize = 0;
const NEWER: usize = 1;

/// Topic, kind and weight of what only the newer program knows: two kinds of a known topic, and a topic.
const UNKNOWN: [(&str, &str, &str); 3] = [
    ("session", "board_asked", "holds"),
    ("session", "dreamt", "note"),
    ("weather", "rained", "note"),
];

/// Numbers that are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        usize::try_from(self.0 >> 33).expect("a number") % end
    }
}

struct World {
    all: Clones,
    random: Random,
    /// The records that were ever there: the name of the file, and its blob.
    records: BTreeSet<(String, String)>,
    done: BTreeMap<&'static str, usize>,
    refused: usize,
}

impl World {
    fn new(seed: u64) -> Self {
        let all = Clones::sharing(2);
        let hook = crate::support::server::HOOK;
        all.s.script(all.remote().join("hooks/pre-receive"), hook);
        all.put(OURS, "spec.md", READY).ok();
        all.settle();
        World {
            all,
            random: Random(seed),
            records: BTreeSet::new(),
            done: BTreeMap::new(),
            refused: 0,
        }
    }

    fn git(&self, at: usize, args: &[&str]) -> Call<'_> {
        let index = self.all.s.root().join(format!("newer-index-{at}"));
        let call = self.all.s.call("git").cwd(self.all.dir(at)).args(args);
        call.env("GIT_INDEX_FILE", index)
    }

    /// Counts an outcome that a command may have on a session that another clone, or another program, had in hand.
    #[track_caller]
    fn came_to(&mut self, what: &'static str, out: &Output) {
        assert!(matches!(out.code, Some(0..=5)), "{what}\n{out}");
        assert!(!out.stderr.contains("panicked"), "{what}\n{out}");
        match out.code {
            Some(0 | 3) => *self.done.entry(what).or_default() += 1,
            _ => self.refused += 1,
        }
    }

    fn sessions(&self, at: usize) -> Vec<String> {
        let listed = self.all.loopx(at, &["--json", "list"]).json();
        let sessions = listed["sessions"].as_array().expect("sessions");
        let names = sessions.iter().filter_map(|one| one["session"].as_str());
        names.map(str::to_owned).collect()
    }

    fn step(&mut self, at: usize, n: usize) {
        let which = self.random.below(if at == NEWER { 18 } else { 13 });
        let sessions = self.sessions(at);
        let id = sessions[self.random.below(sessions.len())].clone();
        let text = format!("{at}.{n}");
        let spec = READY.replace("A test shows it.", &format!("Seen by {text}."));
        let s = |args: &[&str]| self.all.loopx(at, &[&["-s", &id], args].concat());
        let (what, out) = match which {
            // Two clones may choose one name.
            0 => {
                let name = format!("Work {}", self.random.below(4));
                let out = self.all.loopx(at, &["start", "--no-branch", &name]);
                ("start", out)
            }
            1 | 2 => ("run", s(&["run", "--", "echo", &text])),
            3 | 4 => {
                let call = self.all.call(at).args(&["-s", &id, "put", "spec.md"]);
                ("put", call.stdin(spec).run())
            }
            5 => ("clarify", s(&["clarify"])),
            6 => ("approve", s(&["approve", "--to", "plan"])),
            7 => ("undo", s(&["undo"])),
            8 => ("redo", s(&["redo"])),
            9 => ("note", s(&["note", &text])),
            10 => (
                "note --journal",
                self.all.loopx(at, &["note", "--journal", &text]),
            ),
            11 if id != ID => ("abandon", s(&["abandon", "--reason", "enough"])),
            11 | 12 => return self.sync(at),
            13..=15 => return self.forge(&id, UNKNOWN[which - 13], n),
            16 => return self.forge_journal(n),
            _ => return self.policy(n),
        };
        self.came_to(what, &out);
    }

    fn sync(&mut self, at: usize) {
        let out = self.all.sync(at).says("loopx and origin:");
        self.came_to("sync", &out);
    }

    /// A record that this program does not know, and the state of a fold that it does not know either.
    fn forge(&mut self, id: &str, (topic, kind, weight): (&str, &str, &str), n: usize) {
        let log = self.all.loopx(NEWER, &["-s", id, "--json", "log"]).json();
        let operations = log["operations"].as_array().expect("operations");
        let last = operations.iter().max_by_key(|op| op["seq"].as_u64());
        let last = last.expect("an operation");
        // It saw all that is there.
        let known = operations.iter().filter_map(|op| op["after"].as_array());
        let known: Vec<&Value> = known.flatten().collect();
        let newest = operations.iter().map(|op| &op["op"]);
        let newest: Vec<&Value> = newest.filter(|op| !known.contains(op)).collect();
        let uid = operations.iter().find_map(|op| op["entity"].as_str());
        let file = format!("sessions/{id}/queue.jsonl");
        let there = self.git(
            NEWER,
            &["rev-parse", "-q", "--verify", &format!("loopx:{file}")],
        );
        let there = there.run();
        let before = (there.code == Some(0)).then(|| there.line());
        let text = format!("{{\"id\":\"N-{n}\"}}\n").into_bytes();
        let op = json!({
            "format": 2, "seq": last["seq"].as_u64().expect("a number") + 1, "after": newest,
            "entity": uid, "tx": format!("{n:026}"), "at": "2027-01-01T00:00:00Z",
            "by": {"name": "Fay Future", "email": "fay@example.org"},
            "topic": topic, "kind": kind, "weight": weight, "needs": "0.9",
            "files": {"queue.jsonl": {"from": before, "to": self.blob(&text)}},
            "body": {"node": n},
        });
        let state = json!({"format": 2, "fold": 99, "id": id, "uid": uid, "more": n});
        let folder = format!("sessions/{id}");
        self.commit(
            &folder,
            &op,
            &[
                (file, text),
                (format!("{folder}/state.json"), state.to_string().into()),
            ],
        );
        *self.done.entry("a record of the future").or_default() += 1;
    }

    /// Forges a record of the future in the journal of this month.
    fn forge_journal(&mut self, n: usize) {
        let months = self
            .git(NEWER, &["ls-tree", "--name-only", "loopx", "journal/"])
            .run()
            .ok();
        let Some(folder) = months.lines().last() else {
            return;
        };
        let op = json!({
            "format": 2, "seq": 1, "after": [], "entity": folder, "tx": format!("{n:026}"),
            "at": "2027-01-01T00:00:00Z", "by": {"name": "Fay Future", "email": "fay@example.org"},
            "topic": "weather", "kind": "rained", "weight": "note", "needs": "0.9", "body": {"mm": n},
        });
        self.commit(folder, &op, &[]);
        *self
            .done
            .entry("a record of the future in the journal")
            .or_default() += 1;
    }

    fn blob(&self, bytes: &[u8]) -> String {
        let call = self.git(NEWER, &["hash-object", "-w", "--stdin"]);
        call.stdin(bytes).run().line()
    }

    /// Commits a record of the newer program, and files beside it.
    fn commit(&self, folder: &str, op: &Value, files: &[(String, Vec<u8>)]) {
        let (name, bytes) = record(op);
        let mut files = files.to_vec();
        // It lays operations out as ours does: a folder deeper, where folders are.
        let ops = format!("loopx:{folder}/ops");
        let there = self
            .git(NEWER, &["ls-tree", "--name-only", &ops])
            .run()
            .ok();
        let spread = there.lines().any(|name| Operations.is_folder(name));
        let place = Operations.place(&file_name(op, &name), spread);
        files.push((format!("{folder}/ops/{place}"), bytes));
        self.git(NEWER, &["read-tree", "refs/heads/loopx"])
            .run()
            .ok();
        // What had been written apart is one text again.
        let apart = format!("{folder}/versions/queue.jsonl");
        let args = [
            "rm",
            "-r",
            "-q",
            "--cached",
            "--ignore-unmatch",
            "--",
            &apart,
        ];
        self.git(NEWER, &args).run().ok();
        for (path, bytes) in &files {
            let entry = format!("100644,{},{path}", self.blob(bytes));
            self.git(NEWER, &["update-index", "--add", "--cacheinfo", &entry])
                .run()
                .ok();
        }
        let tree = self.git(NEWER, &["write-tree"]).run().line();
        let message = "x: future\n\nLoopx-Event: future\n";
        let args = [
            "commit-tree",
            &tree,
            "-p",
            "refs/heads/loopx",
            "-m",
            message,
        ];
        let commit = self.git(NEWER, &args).run().line();
        self.git(NEWER, &["update-ref", "refs/heads/loopx", &commit])
            .run()
            .ok();
    }

    /// A key of the policy that only the newer program knows, on the code branch of both.
    fn policy(&mut self, n: usize) {
        let text = format!("[weather]\nforecast = {n}\n");
        std::fs::write(self.all.dir(NEWER).join("loopx.toml"), text).expect("a file");
        for args in [
            &["add", "loopx.toml"][..],
            &["commit", "--quiet", "--no-verify", "-m", "policy"],
            &["push", "--quiet", "--no-verify", "origin", "HEAD"],
        ] {
            self.all.git(NEWER, args).ok();
        }
        self.all.git(OURS, &["pull", "--quiet", "--ff-only"]).ok();
        *self.done.entry("an unknown policy key").or_default() += 1;
    }

    /// The records on a clone's branch.
    fn held(&self, at: usize) -> BTreeSet<(String, String)> {
        let listed = self.all.git(at, &["ls-tree", "-r", "loopx"]).ok();
        let record = |line: &str| {
            let (entry, path) = line.split_once('\t')?;
            let (_, name) = path
                .rsplit_once('/')
                .filter(|(at, _)| at.contains("/ops"))?;
            Some((name.to_owned(), entry.rsplit(' ').next()?.to_owned()))
        };
        listed.lines().filter_map(record).collect()
    }

    fn remember(&mut self, at: usize) {
        let held = self.held(at);
        self.records.extend(held);
    }
}

#[test]
fn two_programs_of_different_age_end_with_one_tree_of_records() {
    let steps = count(22, 200);
    for seed in 1..=count(1, 3) {
        let mut world = World::new(u64::try_from(seed).expect("small"));
        for n in 0..steps {
            for at in [OURS, NEWER] {
                world.step(at, n);
                world.remember(at);
            }
        }
        world.all.settle();
        world.all.assert_agreed();
        for at in [OURS, NEWER] {
            let held = world.held(at);
            let lost: Vec<_> = world.records.difference(&held).collect();
            assert!(lost.is_empty(), "clone {at} lost {lost:#?}");
            world
                .all
                .loopx(at, &["fsck", "--full"])
                .says("all whole")
                .ok();
        }
        tell(&format!(
            "2 programs x {steps} steps, seed {seed}: {} records, one tree; {:?}, {} refused",
            world.records.len(),
            world.done,
            world.refused
        ));
    }
}
