//! The results of a pipeline: its files in a folder of their own, points, and the way its milestone is planned.

use crate::support::tasks::{building, clones_building, planning, task, text, with};
use crate::support::{Output, Sandbox};
use serde_json::{Value, json};

fn words(s: &Sandbox, line: &str) -> Output {
    s.loopx(&line.split(' ').collect::<Vec<_>>())
}

/// A task of a pipeline that leaves a file.
fn part(id: &str, phase: &str, points: Option<u64>) -> Value {
    let mut line = with(id, &[], json!({ "pipeline": "spec-only", "phase": phase }));
    line["outputs"] = json!([format!("tasks/{id}/{id}.md")]);
    line["convergence"] = json!({
        "criteria": ["The file names who needs it"],
        "verification": { "cmd": ["true"] },
    });
    if let Some(points) = points {
        line["points"] = json!(points);
    }
    line
}

/// A pipeline of which one task is done and one is not.
fn half_done() -> Sandbox {
    let s = building(&[
        part("A", "spec", Some(5)),
        part("B", "../odd", Some(3)),
        task("LOOSE", &[], Some(&["true"])),
    ]);
    words(&s, "take A").ok();
    s.write(".loopx/demo/tasks/A/A.md", "who needs it\n");
    s.loopx(&[
        "task",
        "done",
        "--summary",
        "two groups",
        "--caveat",
        "no phones",
    ])
    .ok();
    s
}

#[test]
fn s36_results_leave_the_session_by_phase_with_a_report_that_names_what_is_missing() {
    let s = half_done();
    let tip = || s.git(&["rev-parse", "loopx"]).ok();
    let before = tip();
    words(&s, "pipeline export results")
        .says("demo: 3 files written to")
        .says("warning: B leaves tasks/B/B.md, which is not there")
        .ok();
    assert_eq!(s.read("results/spec/A/A.md"), "who needs it\n");
    assert_eq!(
        s.read("results/tasks.jsonl"),
        s.read(".loopx/demo/tasks.jsonl")
    );
    let report = s.read("results/report.md");
    for line in [
        "- Tasks: 1 of 2 completed (50%)",
        "## spec",
        "- A: Do A (completed)",
        "  - two groups",
        "  - [tasks/A/A.md](<spec/A/A.md>)",
        "  - tasks/B/B.md: missing",
        "- A, caveat: no phones",
    ] {
        assert!(report.lines().any(|one| one == line), "{line} in {report}");
    }
    assert_eq!(tip(), before, "the session stays as it is");

    // What is there is replaced by whoever says so, and by nobody else.
    s.write("results/report.md", "mine\n");
    words(&s, "pipeline export results")
        .says("pipeline export")
        .says("--force")
        .fails_with(1);
    assert_eq!(s.read("results/report.md"), "mine\n");
    words(&s, "pipeline export results --force").ok();
    assert_eq!(s.read("results/report.md"), report);
    words(&s, "pipeline export missing/results")
        .says("there is no folder")
        .fails_with(4);

    // Without a folder it is shown.
    assert_eq!(words(&s, "pipeline export -").ok().trim(), report.trim());
    let shown = words(&s, "pipeline export - --json").json();
    assert_eq!(shown["report"]["counts"]["completed"], 1);
    assert_eq!(
        shown["report"]["phases"][1]["tasks"][0]["files"][0]["present"],
        false
    );
}

/// The phase is somebody's text: it leads nowhere.
#[test]
fn a_phase_that_is_no_name_of_a_folder_gives_way_to_its_place() {
    let s = half_done();
    words(&s, "take B").ok();
    s.write(".loopx/demo/tasks/B/B.md", "odd\n");
    words(&s, "task done").ok();
    let done = words(&s, "pipeline export results --json").json();
    let files: Vec<String> = (done["files"].as_array().expect("files").iter())
        .map(text)
        .collect();
    assert_eq!(
        files,
        ["report.md", "phase-2/B/B.md", "spec/A/A.md", "tasks.jsonl"]
    );
    assert_eq!(s.read("results/phase-2/B/B.md"), "odd\n");
}

#[test]
fn results_go_into_no_folder_of_git_and_replace_no_file_that_is_not_named() {
    let s = half_done();
    let git = s.snapshot(".git/refs");
    std::os::unix::fs::symlink(".git", s.path().join("link")).expect("a link");
    for place in [".git", ".git/results", "link/results", ".loopx/results"] {
        for more in ["", " --force"] {
            words(&s, &format!("pipeline export {place}{more}"))
                .fails_with(1)
                .says("expected a folder for results");
        }
    }
    assert!(!s.exists(".git/results") && !s.exists(".loopx/results"));
    assert_eq!(s.snapshot(".git/refs"), git);
    s.write(".loopx/demo/tasks/A/A.md", "who needs it, too\n");
    words(&s, "pipeline export results")
        .fails_with(1)
        .says("git loopx save");
    words(&s, "save").ok();
    s.write("mine/report.md", "precious\n");
    words(&s, "pipeline export mine")
        .fails_with(1)
        .says("mine-2  (another folder; --force replaces report.md there)");
    assert_eq!(s.read("mine/report.md"), "precious\n");
}

#[test]
fn who_takes_a_task_hears_first_what_it_has_to_leave() {
    let mut two = part("A", "spec", None);
    two["outputs"] = json!(["tasks/A/one.md", "tasks/A/two.md"]);
    let s = building(&[two]);
    s.write(".loopx/demo/tasks/A/kept.md", "k\n");
    words(&s, "take A")
        .says("write .loopx/demo/tasks/A/one.md, .loopx/demo/tasks/A/two.md, which A leaves, then:")
        .ok();
    words(&s, "task release A").ok();
    s.write(".loopx/demo/tasks/A/one.md", "1\n");
    words(&s, "take A")
        .says("now: write .loopx/demo/tasks/A/two.md, which A leaves, then:")
        .ok();
    words(&s, "task release A").ok();
    s.write(".loopx/demo/tasks/A/two.md", "2\n");
    words(&s, "take A").says("next: git loopx task done A").ok();
}

#[test]
fn a_check_that_fails_names_each_file_that_is_missing() {
    let mut two = part("A", "spec", None);
    two["outputs"] = json!(["tasks/A/one.md", "tasks/A/two.md"]);
    two["convergence"]["verification"]["cmd"] =
        json!(["git", "loopx", "-s", "demo", "task", "outputs", "A"]);
    let s = building(&[two]);
    words(&s, "take A").ok();
    insta::assert_snapshot!(words(&s, "task done").steady(), @"
    $ git-loopx task done
    missing  tasks/A/one.md
    missing  tasks/A/two.md
    --- stderr
    refused: A is not done: `git loopx -s demo task outputs A` failed with exit code 1
      there is no .loopx/demo/tasks/A/one.md
      there is no .loopx/demo/tasks/A/two.md

    hint: write what is missing, then: git loopx task done A  or: git loopx task fail A --reason 'it does not pass'
    --- exit 1
    ");
    s.write(".loopx/demo/tasks/A/one.md", "1\n");
    s.write(".loopx/demo/tasks/A/two.md", "2\n");
    words(&s, "task done").ok();
}

#[test]
fn what_stands_in_the_way_of_results_is_named() {
    let s = half_done();
    std::fs::create_dir_all(s.path().join("old/report.md")).expect("a folder");
    std::fs::create_dir_all(s.path().join("linked")).expect("a folder");
    std::os::unix::fs::symlink("../code.txt", s.path().join("linked/tasks.jsonl")).expect("a link");
    s.write("file/spec", "no folder\n");
    for (folder, place) in [
        ("old", "old/report.md"),
        ("linked", "linked/tasks.jsonl"),
        ("file", "file/spec"),
    ] {
        for force in ["", " --force"] {
            words(&s, &format!("pipeline export {folder}{force}"))
                .fails_with(1)
                .says(&format!("{place} stands where results would be written"))
                .says(&format!("{folder}-2  (another folder)"));
        }
    }
    assert_eq!(s.read("code.txt"), "one\n");
}

#[test]
fn an_export_takes_no_older_version_of_what_was_edited() {
    let s = half_done();
    let edited = ".loopx/demo/tasks/A/A.md";
    let refused = |path: &str, way: &str| {
        let said = format!("expected {path} saved");
        words(&s, "pipeline export results")
            .fails_with(1)
            .says(&said)
            .says(way);
        assert!(!s.exists("results"), "{path}");
    };
    // Beside what no save takes.
    s.write(edited, "who needs it, too\n");
    s.write(".loopx/demo/tasks/B/big.bin", "x".repeat(3 << 20));
    refused("tasks/A/A.md", "git loopx save");
    s.write(edited, "who needs it\n");
    refused("tasks/B/big.bin", "git loopx save");
    std::fs::remove_file(s.path().join(".loopx/demo/tasks/B/big.bin")).expect("the file");
    // A list that is closed: no save takes it.
    let list = s.read(".loopx/demo/tasks.jsonl");
    s.write(".loopx/demo/tasks.jsonl", list.replace("Do B", "Do it"));
    refused("tasks.jsonl", "git loopx amend");
    s.write(".loopx/demo/tasks.jsonl", list);
    words(&s, "pipeline export results").ok();
    assert_eq!(s.read("results/spec/A/A.md"), "who needs it\n");
}

#[test]
fn n17_an_export_is_whole_or_not_there_and_what_a_killed_one_left_is_taken_up() {
    let s = half_done();
    // The third file of it cannot be written.
    s.call("git-loopx")
        .args(&["pipeline", "export", "results"])
        .env("LOOPX_FAILPOINT", "error:file-written:3+")
        .run()
        .fails_with(1);
    assert!(!s.exists("results"), "half of it stays");
    assert_eq!(s.git(&["status", "--porcelain"]).ok(), "");
    words(&s, "pipeline export results").ok();
    let whole = s.snapshot("results");
    // In a folder that was there, and empty, a kill leaves a part.
    std::fs::remove_file(s.path().join("results/tasks.jsonl")).expect("a file");
    s.write("results/.loopx-x1", "torn");
    words(&s, "pipeline export results").ok();
    std::fs::remove_file(s.path().join("results/.loopx-x1")).expect("a file");
    assert_eq!(s.snapshot("results"), whole);
    s.write("results/spec/mine.md", "mine\n");
    words(&s, "pipeline export results").fails_with(1);
    assert_eq!(s.mode("results"), s.mode("results/spec"));
}

/// A gate of a pipeline about `A`.
fn judged(gate: Value) -> [Value; 2] {
    let part = |id: &str, more: Value| {
        let mut line = with(id, &[], json!({ "pipeline": "patch", "phase": "one" }));
        let more = more.as_object().expect("fields").clone();
        line.as_object_mut().expect("a line").extend(more);
        line
    };
    let check = json!({ "criteria": ["It is there"], "verification": { "cmd": ["true"] } });
    [
        part("A", json!({ "convergence": check })),
        part(
            "GATE",
            json!({ "kind": "decision", "depends_on": ["A"], "gate": gate }),
        ),
    ]
}

#[test]
fn n17_an_opened_gate_has_the_reason_of_who_opened_it() {
    let s = building(&judged(json!({ "judges": ["A"] })));
    words(&s, "take A").ok();
    words(&s, "task done").ok();
    words(&s, "task decide GATE --verdict escalate --reason unsure").ok();
    words(&s, "pipeline export -")
        .says("- GATE (Do GATE): escalate: unsure")
        .ok();
    words(&s, "task open GATE --reason fine").ok();
    let report = words(&s, "pipeline export -").ok();
    assert!(
        report.contains("- GATE (Do GATE): opened: fine"),
        "{report}"
    );
    assert!(!report.contains("unsure"), "{report}");
}

#[test]
fn n17_of_two_verdicts_made_apart_results_and_ledger_have_the_one_that_counts() {
    let rubric = json!({ "dimensions": [{ "name": "rate", "weight": 100 }], "pass": 95 });
    let all = clones_building(2, &judged(json!({ "judges": ["A"], "rubric": rubric })));
    let of = |at: usize, line: &str| {
        let words: Vec<&str> = ["-s", "demo"].into_iter().chain(line.split(' ')).collect();
        all.loopx(at, &words)
    };
    of(0, "take A").ok();
    of(0, "task done A").ok();
    all.settle();
    of(1, "task decide GATE --scores rate=20 --reason Q").ok();
    of(0, "task decide GATE --scores rate=99 --reason P").ok();
    all.settle();
    for at in 0..2 {
        of(at, "pipeline export -")
            .says("escalate, score 20: Q")
            .ok();
        let ledger = of(at, "pipeline ledger").ok();
        assert!(ledger.contains("20") && !ledger.contains("99"), "{ledger}");
    }
}

#[test]
fn a_list_without_a_pipeline_has_no_results_to_export() {
    let s = building(&[task("A", &[], Some(&["true"]))]);
    words(&s, "pipeline export results")
        .says("no task of session demo comes from a pipeline")
        .fails_with(4);
    assert!(!s.exists("results"));
}

/// A claim that ended left files: whoever takes the task next hears of them before they write them anew.
#[test]
fn team_e4_who_takes_a_task_again_hears_what_is_there_already() {
    let s = half_done();
    let card = words(&s, "take B --json").json();
    assert_eq!(card["card"]["there"], Value::Null);
    s.write(".loopx/demo/tasks/B/B.md", "half\n");
    words(&s, "task release B").ok();
    let said = "there   | .loopx/demo/tasks/B/B.md: look at it before it is written anew";
    words(&s, "take B --peek").says(said).ok();
    words(&s, "take B").says(said).ok();
    words(&s, "task release B").ok();
    let card = words(&s, "take B --json").json();
    assert_eq!(card["card"]["there"], json!(["tasks/B/B.md"]));
    words(&s, "task done").ok();
}

#[test]
fn s37_points_are_added_up_for_each_sprint() {
    let s = half_done();
    words(&s, "pipeline ledger")
        .says("1 of 1 done (100%), 5 of 5 points")
        .says("5 points")
        .ok();
    let retro = words(&s, "pipeline retro --json").json();
    let all: Vec<&Value> = (retro["sprints"].as_array().expect("sprints").iter())
        .map(|one| &one["metrics"]["points"])
        .collect();
    let points =
        |planned: u64, completed: u64| json!({ "planned": planned, "completed": completed });
    assert_eq!(all, [&points(5, 5), &points(3, 0)]);
    assert_eq!(retro["points_a_sprint"], 2.5);
    words(&s, "pipeline retro")
        .says("pace      2.5 points a sprint, over 2")
        .ok();

    // They are a field of the list like every other.
    let s = planning(&[]);
    words(&s, "task add One --points 8 --criterion Always -- true").ok();
    assert!(s.read(".loopx/demo/tasks.jsonl").contains("\"points\":8"));
    words(&s, "task edit TASK-001 --unset points").ok();
    assert!(!s.read(".loopx/demo/tasks.jsonl").contains("points"));
    words(&s, "task add Two --points 0").fails_with(2);
    s.write(
        ".loopx/demo/tasks.jsonl",
        "{\"id\":\"A\",\"title\":\"T\",\"points\":\"many\"}\n",
    );
    words(&s, "task check")
        .says("expected `points` as a whole number from 1")
        .fails_with(1);
}

#[test]
fn the_chain_plans_a_phase_by_itself_or_all_that_the_milestone_has_at_once() {
    let s = planning(&[]);
    let phase = |more: &[&str]| -> String {
        let start = [
            "pipeline",
            "start",
            "chain",
            "--param",
            "check=true",
            "--dry-run",
            "--json",
        ];
        let plan = s.loopx(&[&start[..], more].concat()).json();
        text(&plan["params"]["phase"])
    };
    assert_eq!(phase(&[]), "none");
    assert_eq!(
        phase(&["--param", "planning=unified"]),
        "all of the milestone"
    );
    let named = ["--param", "planning=unified", "--param", "phase=2"];
    assert_eq!(phase(&named), "2", "who names a phase gets that");
    s.loopx(&[
        "pipeline",
        "start",
        "chain",
        "--param",
        "planning=both",
        "--param",
        "check=true",
    ])
    .says("independent, unified")
    .fails_with(2);
}

#[test]
fn an_export_writes_into_no_repository_of_git() {
    let s = half_done();
    s.git(&["init", "--quiet", "--bare", "mirror"]).ok();
    s.git(&["init", "--quiet", "--bare", "spec"]).ok();
    for folder in ["mirror", "mirror/refs", "mirror/objects/x", "."] {
        for force in ["", " --force"] {
            let line = format!("pipeline export {folder}{force}");
            words(&s, &line).fails_with(1).says("which is git's");
        }
    }
    assert!(!s.exists("mirror/report.md") && !s.exists("spec/A"));
}

/// A capability that was missing comes as a task of its own, by an amendment.
#[test]
fn a_task_that_stands_behind_a_pipeline_is_counted_with_it() {
    let s = building(&[
        part("A", "spec", None),
        task("LATE", &["A"], Some(&["true"])),
        task("LOOSE", &[], Some(&["true"])),
    ]);
    words(&s, "take A").ok();
    s.write(".loopx/demo/tasks/A/A.md", "who needs it\n");
    words(&s, "task done").ok();
    let status = || words(&s, "--json pipeline status").json();
    let found = status();
    assert_eq!((&found["total"], &found["done"]), (&json!(2), &json!(1)));
    assert_eq!(found["complete"], false);
    assert_eq!(found["ready"], json!(["LATE"]));
    words(&s, "take LATE").ok();
    words(&s, "task done").ok();
    assert_eq!(status()["complete"], true);
}
