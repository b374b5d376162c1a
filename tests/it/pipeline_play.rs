//! Each pipeline of the program, played through by a scripted worker in several ways: it ends, and another clone that
//! syncs sees the same end. Each way is played by the pipelines whose gates differ there; LOOPX_STRESS=1 plays it by all.

use crate::support::Output;
use crate::support::clones::Clones;
use crate::support::tasks::{DEMO, clones_building_with, text};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;

const MODES: [(&str, u64); 11] = [
    ("spec-only", 6),
    ("impl-only", 4),
    ("fe-only", 3),
    ("fullstack", 6),
    ("full-lifecycle", 10),
    ("full-lifecycle-fe", 12),
    ("chain", 8),
    // In its full form, which has the audit.
    ("issue", 5),
    ("patch", 2),
    ("sprint", 4),
    ("multi-sprint", 5),
];

/// The pipelines that are played in one way: all where the run is long, else those of these names.
fn modes(short: &'static [&'static str]) -> impl Iterator<Item = (&'static str, u64)> {
    let is_long = std::env::var_os("LOOPX_STRESS").is_some_and(|value| value == "1");
    let meant = move |(mode, _): &(&str, u64)| is_long || short.contains(mode);
    MODES.into_iter().filter(meant)
}

/// More steps than any play takes.
const STEPS: usize = 200;
/// The day after the clock of the tests began.
const LATER: &str = "1767312000 +0000";

/// Two clones of a session in the build, and the one that works.
struct Play {
    all: Clones,
    at: usize,
    date: Option<&'static str>,
    /// Files that each task leaves.
    outputs: BTreeMap<String, Vec<String>>,
}

fn has_views(mode: &str) -> bool {
    mode.starts_with("spec") || mode.starts_with("full-")
}

fn is_sprint(mode: &str) -> bool {
    mode == "patch" || mode.ends_with("sprint")
}

fn has_front(mode: &str) -> bool {
    mode == "fe-only" || mode == "fullstack" || mode.ends_with("-fe")
}

impl Play {
    fn of(mode: &str) -> Self {
        let param: &[&str] = match mode {
            "spec-only" => &[],
            "issue" => &["--param", "check=true", "--param", "mode=full"],
            _ => &["--param", "check=true"],
        };
        let all = Clones::once(mode.to_owned(), || {
            clones_building_with(2, |all| {
                let start = ["-s", DEMO, "pipeline", "start", mode];
                all.loopx(0, &[&start, param].concat()).ok();
            })
        });
        let list = all.loopx(0, &["-s", DEMO, "cat", "tasks.jsonl"]).ok();
        let outputs = list.lines().map(|line| {
            let line: Value = serde_json::from_str(line).expect("a line");
            let outputs = line["outputs"].as_array().into_iter().flatten();
            (text(&line["id"]), outputs.map(text).collect())
        });
        Play {
            outputs: outputs.collect(),
            all,
            at: 0,
            date: None,
        }
    }

    fn call(&self, args: &[&str]) -> Output {
        let mut call = self.all.call(self.at).env("LOOPX_SESSION", DEMO);
        if let Some(date) = self.date {
            call = call
                .env("GIT_COMMITTER_DATE", date)
                .env("GIT_AUTHOR_DATE", date);
        }
        call.args(args).run()
    }

    fn json(&self, args: &[&str]) -> Value {
        let out = self.call(&[&["--json"], args].concat());
        assert_eq!(out.code, Some(0), "{args:?}: {}", out.stderr);
        out.json()
    }

    fn ready(&self) -> Vec<Value> {
        let listed = self.json(&["task", "list", "--ready"]);
        listed["tasks"].as_array().expect("tasks").clone()
    }

    fn status(&self) -> Value {
        let out = self.call(&["--json", "pipeline", "status"]);
        assert!(matches!(out.code, Some(0 | 1)), "{}", out.stderr);
        out.json()
    }

    /// Leaves what a task leaves, and ends it.
    fn work(&self, id: &str) {
        self.leave(id);
        self.call(&["task", "done", id, "--trust"]).ok();
    }

    /// Leaves what a task or a gate leaves.
    fn leave(&self, id: &str) {
        // The list does not have what a gate inserts.
        let of_gate = || {
            let out = self.call(&["--json", "task", "outputs", id]).json();
            let outputs = out["outputs"].as_array().expect("outputs").iter();
            outputs.map(|one| text(&one["path"])).collect()
        };
        let outputs = self.outputs.get(id).cloned().unwrap_or_else(of_gate);
        for output in &outputs {
            let folder = if output.starts_with("tasks/") {
                format!(".loopx/{DEMO}")
            } else {
                String::new()
            };
            let path = self.all.dir(self.at).join(folder).join(output);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, format!("# By {id}\n")).expect("a file");
        }
    }

    /// Takes and does what is ready until all is done. `decide` gives the values of a gate.
    fn play(&self, mut decide: impl FnMut(&str, &Value) -> Vec<String>) {
        for _ in 0..STEPS {
            let out = self.call(&["--json", "take"]);
            if out.code == Some(0) {
                self.work(&text(&out.json()["card"]["task"]));
                continue;
            }
            if out.code == Some(5) {
                return;
            }
            let error = out.error_json()["error"].clone();
            let ready = self.ready();
            let is_decision = error["code"] == "decision_open";
            let is_it = |row: &&Value| {
                row["kind"] != "work" && (row["gate"]["standing"] == "open") == is_decision
            };
            let row = ready.iter().find(is_it);
            let row = row.unwrap_or_else(|| panic!("{error:#}"));
            let id = text(&row["task"]);
            match error["code"].as_str() {
                Some("decision_open") => {
                    let values = decide(&id, &row["gate"]);
                    self.leave(&id);
                    let mut args = vec!["task", "decide", &id];
                    args.extend(values.iter().map(String::as_str));
                    self.call(&args).ok();
                }
                Some("checkpoint_open") => {
                    self.call(&["task", "open", &id, "--reason", "looked at it"])
                        .ok();
                }
                _ => panic!("{error:#}"),
            }
        }
        panic!("it does not end: {:#}", self.status());
    }

    /// Asserts that all is done, in both clones alike.
    fn ends(&self, mode: &str, total: u64) -> Value {
        let status = self.status();
        assert_eq!(status["total"], total, "{mode}: {status:#}");
        assert_eq!(status["done"], total, "{mode}: {status:#}");
        assert_eq!(status["percent"], 100, "{mode}");
        assert_eq!(status["stalled"], false, "{mode}");
        for at in [self.at, 1 - self.at, self.at] {
            self.all.sync(at).ok();
        }
        let seen = |at: usize| {
            let args = ["-s", DEMO, "--json", "task", "list"];
            let rows = self.all.loopx(at, &args).json();
            let rows = rows["tasks"].as_array().expect("tasks").clone();
            let rows = rows.iter();
            rows.map(|row| format!("{} {}", row["task"], row["status"]))
                .collect::<Vec<_>>()
        };
        assert_eq!(seen(0), seen(1), "{mode}");
        status
    }
}

/// The best values that a gate can get.
fn well(gate: &Value) -> Vec<String> {
    scored(gate, None)
}

/// Every dimension with this score, or each view content.
fn scored(gate: &Value, score: Option<&str>) -> Vec<String> {
    let views = gate["views"].as_array().expect("views");
    let dimensions = gate["dimensions"].as_array().expect("dimensions");
    if !views.is_empty() {
        let views = views.iter().map(text);
        return views
            .flat_map(|view| ["--rating".to_owned(), format!("{view}=5")])
            .collect();
    }
    if dimensions.is_empty() {
        let mut values: Vec<String> = ["--verdict", "proceed"].map(str::to_owned).into();
        let outcomes = gate["outcomes"].as_object().into_iter().flatten();
        values.extend(
            outcomes
                .take(1)
                .map(|(word, _)| format!("--outcome={word}")),
        );
        return values;
    }
    let score = score.map_or_else(|| text(&gate["scale"]), str::to_owned);
    let scores = dimensions
        .iter()
        .map(|one| format!("{}={score}", text(&one["name"])));
    let scores: Vec<String> = scores.collect();
    vec!["--scores".to_owned(), scores.join(",")]
}

fn fix() -> Vec<String> {
    ["--verdict", "fix", "--reason", "it does not hold"]
        .map(str::to_owned)
        .into()
}

/// Values with a reason of their own: three rounds alike would be the last ones.
fn in_round(round: impl std::fmt::Display, values: Vec<String>) -> Vec<String> {
    let reason = ["--reason".to_owned(), format!("found in round {round}")];
    values.into_iter().chain(reason).collect()
}

/// A view that misses a requirement.
fn high(gate: &Value) -> Vec<String> {
    let mut values = well(gate);
    let first = &mut values[1];
    *first = first.replace("=5", "=1:missing-requirement");
    values
}

#[test]
fn a_pipeline_where_all_is_well_has_no_task_more() {
    for (mode, count) in MODES {
        let play = Play::of(mode);
        play.play(|_, gate| well(gate));
        let status = play.ends(mode, count);
        assert_eq!(status["counts"]["inserted"], 0, "{mode}");
        assert_eq!(status["notes"].as_array().map(Vec::len), Some(0), "{mode}");
    }
}

/// Task-chains 7: a chain goes on with the next milestone, through all of its stages and gates.
#[test]
fn a_chain_with_a_second_milestone_goes_through_its_stages_once_more_and_ends() {
    let play = Play::of("chain");
    let mut judged = Vec::new();
    play.play(|id, gate| {
        judged.push(id.to_owned());
        if id == "post-milestone" {
            return ["--verdict", "fix", "--reason", "milestone 2"]
                .map(str::to_owned)
                .into();
        }
        well(gate)
    });
    let status = play.ends("chain", 8 + 8);
    assert_eq!(status["counts"]["inserted"], 8, "{status:#}");
    let of_next = judged
        .iter()
        .filter(|id| id.starts_with("post-milestone.1"));
    let of_next: Vec<&str> = of_next.map(String::as_str).collect();
    let wanted = [
        "post-milestone.1.post-verify",
        "post-milestone.1.post-review",
        "post-milestone.1.post-test",
        "post-milestone.1",
    ];
    assert_eq!(of_next, wanted);
}

#[test]
fn a_pipeline_with_one_revision_ends() {
    for (mode, count) in modes(&[
        "spec-only",
        "fe-only",
        "impl-only",
        "chain",
        "issue",
        "multi-sprint",
    ]) {
        let play = Play::of(mode);
        let (gate, more) = match (has_views(mode), has_front(mode)) {
            (true, _) => ("DISCUSS-001", 1),
            (_, true) => ("GATE-FE", 2),
            _ if mode == "chain" => ("post-verify", 4),
            _ if mode == "issue" => ("GATE-AUDIT", 2),
            // Another sprint is made when it is needed.
            _ if mode == "multi-sprint" => ("GATE-SPRINT", 5),
            _ if is_sprint(mode) => ("GATE-VERIFY", 2),
            _ => ("GATE-TEST", 2),
        };
        play.play(|id, values| {
            if id != gate {
                return well(values);
            }
            match gate {
                "DISCUSS-001" => high(values),
                "GATE-FE" => scored(values, Some("7.9")),
                "post-verify" | "GATE-SPRINT" => fix(),
                "GATE-AUDIT" => scored(values, Some("59")),
                _ => scored(values, Some("94.9")),
            }
        });
        let status = play.ends(mode, count + more);
        assert_eq!(status["counts"]["inserted"], more, "{mode}");
    }
}

/// S37: what a sprint took, and what it came to.
#[test]
fn s37_each_sprint_has_its_ledger_and_its_retro() {
    let play = Play::of("multi-sprint");
    let mut seen = Vec::new();
    play.play(|id, gate| {
        let is_new = !seen.contains(&id.to_owned());
        seen.push(id.to_owned());
        match id {
            "GATE-VERIFY" => scored(gate, Some("50")),
            // A sprint more is no rework.
            "GATE-SPRINT" | "GATE-SPRINT.1" if is_new => fix(),
            _ => well(gate),
        }
    });
    play.call(&["note", "ask first", "--kind", "learning"]).ok();
    // Each has documents of its own.
    for name in ["GATE-SPRINT.1", "GATE-SPRINT.2"] {
        let id = format!("{name}.DESIGN");
        let left = play.json(&["task", "outputs", &id]);
        let paths: Vec<String> = (left["outputs"].as_array().expect("outputs").iter())
            .map(|one| text(&one["path"]))
            .collect();
        let own = ["design.md", "task-breakdown.json"].map(|file| format!("tasks/{id}/{file}"));
        assert_eq!(paths, own, "{left:#}");
        let shown = play.json(&["task", "show", &id]).to_string();
        assert!(shown.contains(&format!("\"outputs\",\"{id}\"")), "{shown}");
        // What is made in a sprint reads the design of that sprint.
        for (task, file) in [("DEV", "design.md"), ("RETRO", "task-breakdown.json")] {
            let shown = play.json(&["task", "show", &format!("{name}.{task}")]);
            let read = format!("tasks/{name}.DESIGN/{file}");
            assert!(shown.to_string().contains(&read), "{shown:#}");
        }
    }
    let ledger = play.json(&["pipeline", "ledger"]);
    let sprints = ledger["sprints"].as_array().expect("sprints");
    let names: Vec<String> = sprints.iter().map(|one| text(&one["sprint"])).collect();
    assert_eq!(names, ["S1", "S2", "S3"]);
    let of = |at: usize| sprints[at]["metrics"].clone();
    // Seven: a repair of the tests is two tasks more.
    assert_eq!((&of(0)["total"], &of(1)["total"]), (&7.into(), &5.into()));
    assert_eq!(
        (&of(0)["reworks"], &of(1)["reworks"]),
        (&1.into(), &0.into())
    );
    assert_eq!(of(0)["velocity"], 100);
    assert!(of(0)["longest_seconds"].as_i64() > Some(0), "{ledger:#}");
    let verify = sprints[0]["tasks"].as_array().expect("tasks").iter();
    let mut verify = verify.filter(|one| one["task"] == "VERIFY-001");
    let verify = verify.next().expect("the task");
    assert_eq!(verify["scores"]["GATE-VERIFY"], "pass-rate 50");
    assert_eq!(
        (&verify["rounds"], &verify["attempts"]),
        (&1.into(), &1.into())
    );
    let retro = play.json(&["pipeline", "retro"]);
    assert_eq!(retro["learned"][0], "ask first");
    assert_eq!(retro["sprints"][0]["failed"][0]["task"], "VERIFY-001");
    insta::assert_snapshot!(play.call(&["pipeline", "retro"]).steady(), @"
    $ git-loopx pipeline retro
    S1  multi-sprint  7 of 7 done (100%)
    time      1 s in the middle, 2 s at most
    reworks   1, 1 of them repairs that gates inserted
    conflicts 0
    well      DESIGN-001, DEV-001, GATE-VERIFY.1.FIX, GATE-VERIFY.1.VERIFY, REVIEW-001, RETRO-001
    not well  VERIFY-001: sent back
    S2  multi-sprint  5 of 5 done (100%)
    time      2 s in the middle, 2 s at most
    reworks   0, 0 of them repairs that gates inserted
    conflicts 0
    well      GATE-SPRINT.1.DESIGN, GATE-SPRINT.1.DEV, GATE-SPRINT.1.VERIFY, GATE-SPRINT.1.REVIEW, GATE-SPRINT.1.RETRO
    S3  multi-sprint  5 of 5 done (100%)
    time      2 s in the middle, 2 s at most
    reworks   0, 0 of them repairs that gates inserted
    conflicts 0
    well      GATE-SPRINT.2.DESIGN, GATE-SPRINT.2.DEV, GATE-SPRINT.2.VERIFY, GATE-SPRINT.2.REVIEW, GATE-SPRINT.2.RETRO
    learned   ask first
    --- exit 0
    ");
    play.call(&["pipeline", "ledger"]).says("sent back: 1").ok();
    // Both clones see the same.
    for at in [0, 1, 0] {
        play.all.sync(at).ok();
    }
    let there = play
        .all
        .loopx(1, &["-s", DEMO, "--json", "pipeline", "ledger"]);
    assert_eq!(there.json()["sprints"], ledger["sprints"]);
    // One looks back when all is over.
    play.call(&["abandon", "--reason", "another way"]).ok();
    let over = play.json(&["pipeline", "retro"]);
    assert_eq!(
        (&over["session"], &over["sprints"]),
        (&retro["session"], &retro["sprints"])
    );
}

#[test]
fn a_pipeline_whose_revision_fails_waits_for_a_person_and_ends() {
    for (mode, count) in modes(&["spec-only", "fe-only", "patch"]) {
        let play = Play::of(mode);
        let (gate, more) = match (has_views(mode), has_front(mode)) {
            (true, _) => ("DISCUSS-001", 1),
            (_, true) => ("GATE-FE", 2),
            _ if mode == "chain" => ("post-verify", 8),
            _ if mode == "issue" => ("GATE-AUDIT", 4),
            _ if is_sprint(mode) => ("GATE-VERIFY", 10),
            _ => ("GATE-REVIEW", 0),
        };
        let mut asked = 0;
        play.play(|id, values| {
            if !id.starts_with(gate) {
                return well(values);
            }
            asked += 1;
            match gate {
                "DISCUSS-001" => high(values),
                "GATE-FE" => scored(values, Some("5")),
                "post-verify" => fix(),
                "GATE-AUDIT" => scored(values, Some("59")),
                "GATE-VERIFY" => in_round(asked, scored(values, Some("94.9"))),
                _ => ["--verdict", "proceed", "--critical", "1"]
                    .map(str::to_owned)
                    .into(),
            }
        });
        let wanted = match gate {
            "GATE-REVIEW" => 1,
            "GATE-VERIFY" => 6,
            "post-verify" | "GATE-AUDIT" => 3,
            _ => 2,
        };
        assert_eq!(asked, wanted, "{mode}");
        play.ends(mode, count + more);
        if mode == "patch" {
            let ledger = play.json(&["pipeline", "ledger"]);
            let metrics = &ledger["sprints"][0]["metrics"];
            assert_eq!(
                (&metrics["reworks"], &metrics["rounds"]),
                (&5.into(), &5.into()),
                "{ledger:#}"
            );
        }
    }
}

#[test]
fn a_pipeline_whose_loop_comes_to_its_cap_ends() {
    for (mode, count) in modes(&["spec-only", "fullstack", "issue", "sprint"]) {
        let play = Play::of(mode);
        let (gate, score, more) = match mode {
            "spec-only" => ("GATE-SPEC", "69", 0),
            "chain" => ("post-test", "0", 16),
            "issue" => ("GATE-AUDIT", "59", 4),
            "patch" => ("GATE-VERIFY", "94", 10),
            "sprint" | "multi-sprint" => ("GATE-REVIEW", "6.9", 6),
            _ if has_front(mode) => ("GATE-FE", "7.9", 2),
            _ => ("GATE-TEST", "94", 20),
        };
        let mut asked = 0_u64;
        play.play(|id, values| {
            if let Some(rest) = id.strip_prefix(gate) {
                // What stands inside a repair is judged for itself.
                let is_own = !id.contains(".post-") && !rest.contains("post-");
                asked += u64::from(is_own);
                if gate == "post-test" && is_own {
                    fix()
                } else {
                    in_round(asked, scored(values, Some(score)))
                }
            } else {
                well(values)
            }
        });
        let status = play.ends(mode, count + more);
        // Accepted with a warning, but for the tests: there a person decided.
        let notes = status["notes"].as_array().map(Vec::len);
        let is_accepted = !matches!(
            gate,
            "GATE-TEST" | "GATE-VERIFY" | "GATE-AUDIT" | "post-test"
        );
        assert_eq!(notes, Some(usize::from(is_accepted)), "{mode}: {status:#}");
        let rounds = if mode == "chain" { 2 } else { more / 2 };
        assert_eq!(asked, rounds + 1, "{mode}");
    }
}

#[test]
fn a_pipeline_whose_worker_died_goes_on_elsewhere_and_ends() {
    for (mode, count) in modes(&["fe-only", "chain"]) {
        let mut play = Play::of(mode);
        let first = text(&play.json(&["take"])["card"]["task"]);
        play.all.sync(0).ok();
        play.all.sync(1).ok();
        play.all.git(1, &["switch", "--quiet", "-c", "work"]).ok();
        (play.at, play.date) = (1, Some(LATER));
        let status = play.status();
        assert_eq!(status["orphans"], serde_json::json!([first]), "{mode}");
        let again = play.json(&["take"]);
        assert_eq!(again["card"]["task"], first, "{mode}");
        let row = play.json(&["task", "show", &first]);
        // Where the time is bounded, what has passed of it is an attempt.
        let failures = u64::from(mode != "chain");
        assert_eq!(row["failures"], failures, "{mode}");
        play.work(&first);
        play.play(|_, gate| well(gate));
        play.ends(mode, count);
    }
}

#[test]
fn a_pipeline_with_a_task_that_fails_for_good_says_what_it_holds_and_ends_with_a_person() {
    for (mode, count) in modes(&["impl-only"]) {
        let play = Play::of(mode);
        let mut first = String::new();
        for attempt in 1..=3 {
            first = text(&play.json(&["take"])["card"]["task"]);
            play.call(&["task", "fail", "--reason", "it does not pass"])
                .ok();
            let retried = play.call(&["--json", "task", "retry", &first]);
            assert_eq!(retried.code == Some(0), attempt < 3, "{mode}");
        }
        let out = play.call(&["--json", "take"]);
        assert_eq!(out.code, Some(1), "{mode}");
        assert_eq!(out.error_json()["error"]["code"], "tasks_stalled");
        let status = play.call(&["--json", "pipeline", "status"]);
        assert_eq!(status.code, Some(1), "{mode}");
        let status = status.json();
        assert_eq!(status["stalled"], true, "{mode}");
        assert!(
            !status["blocked"].as_array().expect("chains").is_empty(),
            "{mode}"
        );
        assert_eq!(status["counts"]["failed"], 1, "{mode}");
        play.call(&["task", "retry", &first, "--reason", "the library is mended"])
            .ok();
        play.play(|_, gate| well(gate));
        play.ends(mode, count);
    }
}

/// Team A10, F1: what a failed task takes along, and how a pipeline looks on the way.
#[test]
fn team_f1_the_status_has_each_task_in_its_place() {
    let play = Play::of("full-lifecycle");
    for _ in 0..2 {
        let id = text(&play.json(&["take"])["card"]["task"]);
        play.work(&id);
        let gate = text(&play.ready()[0]["task"]);
        let values = well(&play.ready()[0]["gate"]);
        play.leave(&gate);
        let mut args = vec!["task", "decide", &gate];
        args.extend(values.iter().map(String::as_str));
        play.call(&args).ok();
    }
    play.json(&["take"]);
    let shown = play.call(&["pipeline", "status"]).ok();
    let wanted = "Progress: 2/10 (20%)\n\
         spec  [V RESEARCH-001(+D1)] -> [V DRAFT-001(+D2)] -> [>>> DRAFT-002(+D3)] -> [o DRAFT-003(+D4)] -> \
         [o DRAFT-004(+D5)] -> [o QUALITY-001(+GATE-SPEC, D6)]\n\
         impl  [o PLAN-001] -> [o IMPL-001] -> [o TEST-001(+GATE-TEST)] | [o REVIEW-001(+GATE-REVIEW)]\n\
         working  DRAFT-002  this worktree, ";
    assert!(shown.starts_with(wanted), "{shown}");
    // Spec tasks have 15 minutes, then two to finish.
    let mut late = Play {
        date: Some("1767227000 +0000"),
        ..play
    };
    let status = late.status();
    assert_eq!(status["working"][0]["turn"]["limit"], 900, "{status:#}");
    late.date = Some(LATER);
    let status = late.status();
    assert_eq!(status["working"][0]["turn"]["over"], true, "{status:#}");
}
