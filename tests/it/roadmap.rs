//! `roadmap`: milestones, phases and waves over issues. The waves of a direct roadmap follow from links, those of a
//! progressive roadmap from what people say; two clones that were apart lose nothing; five rounds ask for changes.

use crate::support::clones::Clones;
use crate::support::issues::{backlog, create, id_of, list, refused, show, titles};
use crate::support::{LOOPX, Sandbox};
use serde_json::{Value, json};

fn tip(s: &Sandbox) -> String {
    s.git(&["rev-parse", "refs/heads/loopx"]).line()
}

fn json_of(s: &Sandbox, args: &[&str]) -> Value {
    s.loopx(&[&["--json", "roadmap"], args].concat()).json()
}

/// Makes a roadmap of issues and gives its id.
fn roadmap(s: &Sandbox, mode: &str, issues: &[&str], more: &[&str]) -> String {
    let mut args = vec!["new", "Notes", "--mode", mode];
    args.extend(issues.iter().flat_map(|id| ["--issue", id]));
    args.extend(more);
    let made = json_of(s, &args);
    made["roadmap"].as_str().expect("an id").to_owned()
}

/// The waves of a roadmap, by the titles of their issues.
fn waves(s: &Sandbox) -> Vec<(u64, Vec<String>)> {
    let shown = json_of(s, &["show"]);
    let waves = shown["waves"].as_array().expect("waves").iter();
    let waves = waves.map(|wave| {
        let issues = wave["issues"].as_array().expect("issues");
        let titles = titles(issues).into_iter().map(str::to_owned).collect();
        (wave["wave"].as_u64().expect("a number"), titles)
    });
    waves.collect()
}

/// The ids of what `roadmap check` finds, with the titles of issues left out.
fn found(s: &Sandbox, code: i32) -> Vec<String> {
    let out = s.loopx(&["--json", "roadmap", "check"]);
    assert_eq!(out.code, Some(code), "{}{}", out.stdout, out.stderr);
    let read: Value = serde_json::from_str(&out.stdout).expect("JSON");
    let all = read["findings"].as_array().expect("findings").iter();
    all.map(|one| one["id"].as_str().expect("an id").to_owned())
        .collect()
}

fn one(s: &Sandbox, title: &str, args: &[&str]) -> String {
    create(s, &[&[title, "--criterion", "it holds"], args].concat())
}

/// A, B behind A, C behind B, and D that waits for nothing.
fn chain(s: &Sandbox) -> [String; 4] {
    let a = one(s, "A", &[]);
    let b = one(s, "B", &["--blocked-by", &a]);
    let c = one(s, "C", &["--blocked-by", &b]);
    let d = one(s, "D", &[]);
    [a, b, c, d]
}

#[test]
fn the_waves_of_a_direct_roadmap_follow_from_the_links_and_once_more_changes_nothing() {
    let s = backlog();
    let [a, b, c, d] = chain(&s);
    roadmap(&s, "direct", &[&a, &b, &c, &d], &[]);
    let wanted = |third: &[&str]| {
        let third = third.iter().map(|one| (*one).to_owned()).collect();
        let two = ["A".to_owned(), "D".to_owned()].to_vec();
        vec![(1, two), (2, vec!["B".to_owned()]), (3, third)]
    };
    assert_eq!(waves(&s), wanted(&["C"]));
    refused(&s, 5, "issue_unchanged", &["roadmap", "order"]);
    // What comes later, or is moved by hand, is put in order again.
    let e = one(&s, "E", &["--blocked-by", &b]);
    json_of(&s, &["set", &e]);
    json_of(&s, &["set", &d, "--wave", "3"]);
    assert_eq!(found(&s, 1), ["roadmap_no_wave"]);
    json_of(&s, &["order"]);
    assert_eq!(waves(&s), wanted(&["C", "E"]));
    // What is done stays where it is.
    s.loopx(&["issue", "close", &a, "--reason", "seen"]).ok();
    refused(&s, 5, "issue_unchanged", &["roadmap", "order"]);
    let shown = json_of(&s, &["show", "--next"]);
    assert_eq!(
        (&shown["next_wave"], &shown["done"], &shown["closed"]),
        (&json!(1), &json!(0), &json!(1))
    );
    assert_eq!(shown["waves"].as_array().expect("waves").len(), 1);
    assert_eq!(list(&s, &["--label", "wave-3"]).len(), 2);
}

#[test]
fn nobody_guesses_the_mode_where_the_factors_do_not_decide() {
    let s = backlog();
    let high = ["scope_clarity=high", "technical_risk=high"];
    let mut args = vec!["roadmap", "new", "Notes"];
    args.extend(high.iter().flat_map(|one| ["--factor", one]));
    let error = refused(&s, 2, "roadmap_mode_open", &args);
    let said = error["message"].as_str().expect("a message");
    assert!(said.contains("technical_risk=high"), "{said}");
    args.extend(["--factor", "dependency_unknown=high"]);
    let made = s.loopx(&[&["--json"], args.as_slice()].concat()).json();
    assert_eq!(made["mode"], "progressive");
    let kept = show(&s, made["roadmap"].as_str().expect("an id"));
    assert_eq!(kept["kept"]["roadmap"]["factors"]["technical_risk"], "high");
    for (args, code) in [
        (["--factor", "mood=high"], "word_unknown"),
        (["--factor", "technical_risk"], "issue_field_invalid"),
        (["--layer", "One"], "issue_field_invalid"),
    ] {
        let all = [&["roadmap", "new", "X", "--mode", "progressive"], &args[..]].concat();
        refused(&s, 2, code, &all);
    }
}

#[test]
fn a_layer_waits_for_nothing_of_a_later_layer() {
    let s = backlog();
    let [a, b, c, d] = chain(&s);
    let layers = ["--layer", "MVP", "--layer", "Usable"];
    roadmap(&s, "progressive", &[&a, &b, &c, &d], &layers);
    assert_eq!(found(&s, 1), ["roadmap_no_wave"; 4]);
    json_of(&s, &["set", &a, &b, "--wave", "L0"]);
    json_of(&s, &["set", &c, &d, "--wave", "usable"]);
    assert_eq!(found(&s, 0), Vec::<String>::new());
    let shown = json_of(&s, &["show"]);
    assert_eq!(shown["waves"][0]["name"], "MVP");
    // One of the first layer now waits for the second.
    json_of(&s, &["set", &a, "--wave", "2"]);
    assert_eq!(found(&s, 1), ["roadmap_wave_order"]);
    refused(&s, 1, "roadmap_layered", &["roadmap", "order"]);
    let third = ["roadmap", "set", &a, "--wave", "3"];
    refused(&s, 2, "issue_field_invalid", &third);
    s.loopx(&["issue", "edit", &d, "-l", "wave-3"]).ok();
    let ids = found(&s, 1);
    assert!(ids.contains(&"roadmap_two_waves".to_owned()), "{ids:?}");
    json_of(&s, &["set", &d, "--wave", "1"]);
    assert_eq!(show(&s, &d)["labels"], json!(["wave-1"]));
}

#[test]
fn issues_of_one_wave_that_touch_one_file_are_not_done_side_by_side() {
    let s = backlog();
    let mut ids = Vec::new();
    for (title, file) in [("A", "one.rs"), ("B", "one.rs"), ("C", "two.rs")] {
        let id = one(&s, title, &[]);
        let add = ["issue", "solution", "add", &id, "So", "--task", "Do it"];
        s.loopx(&[&add[..], &["--file", file]].concat()).ok();
        s.loopx(&["issue", "solution", "bind", &id]).ok();
        ids.push(id);
    }
    let all: Vec<&str> = ids.iter().map(String::as_str).collect();
    roadmap(&s, "direct", &all, &[]);
    assert_eq!(found(&s, 0), ["roadmap_files_overlap"]);
    s.loopx(&["roadmap", "check", "--strict"]).fails_with(1);
    let groups = json_of(&s, &["show"])["waves"][0]["groups"].take();
    let groups: Vec<Vec<String>> = serde_json::from_value(groups).expect("groups");
    assert_eq!(groups.iter().map(Vec::len).collect::<Vec<_>>(), [2, 1]);
    let together = |one: &String, other: &String| {
        let has = |group: &&Vec<String>| group.contains(one) && group.contains(other);
        groups.iter().any(|group| has(&group))
    };
    assert!(!together(&ids[0], &ids[1]), "{groups:?}");
}

#[test]
fn five_rounds_ask_for_a_change_and_only_a_person_approves_what_has_no_error() {
    let s = backlog();
    let a = one(&s, "A", &[]);
    let root = roadmap(&s, "progressive", &[&a], &[]);
    let status = || json_of(&s, &["show"])["status"].take();
    assert_eq!(status(), "planning");
    let error = refused(
        &s,
        1,
        "roadmap_unsound",
        &["roadmap", "feedback", "approve"],
    );
    assert_eq!(error["blockers"][0]["code"], "roadmap_no_wave");
    let no_text = ["roadmap", "feedback", "scope"];
    s.loopx(&no_text).fails_with(2);
    json_of(&s, &["set", &a, "--wave", "1"]);
    let as_agent = |args: &[&str]| s.call(LOOPX).env("CLAUDECODE", "1").args(args).run();
    for round in 1..=5 {
        if round == 5 {
            let last = as_agent(&["roadmap", "feedback", "scope", "The last"]);
            last.fails_with(6);
        }
        let given = json_of(&s, &["feedback", "criteria", "Say how fast"]);
        let status = if round < 5 { "refining" } else { "ready" };
        assert_eq!(
            (&given["rounds"], &given["status"]),
            (&json!(round), &json!(status))
        );
    }
    assert_eq!(json_of(&s, &["show"])["forced"], true);
    let sixth = ["roadmap", "feedback", "scope", "And once more"];
    refused(&s, 1, "roadmap_rounds_spent", &sixth);
    as_agent(&["roadmap", "feedback", "approve"]).fails_with(6);
    let round = "roadmap feedback: approve";
    refused(&s, 2, "note_invalid", &["issue", "comment", &root, round]);
    refused(&s, 2, "note_invalid", &["note", "--issue", &root, round]);
    json_of(&s, &["feedback", "approve"]);
    assert_eq!(status(), "ready");
    json_of(&s, &["feedback", "scope", "The export can wait"]);
    assert_eq!(status(), "refining");
    let comments = show(&s, &root)["notes"].as_array().expect("notes").len();
    assert_eq!(comments, 7, "each round is a comment of the roadmap");
}

#[test]
fn an_approval_counts_until_the_content_of_the_roadmap_is_another_one() {
    let s = backlog();
    let [a, b] = ["A", "B"].map(|title| one(&s, title, &[]));
    let root = roadmap(&s, "direct", &[&a, &b], &[]);
    let is_ready = |ready: bool, why: &str| {
        let shown = json_of(&s, &["show"]);
        let status = if ready { "ready" } else { "refining" };
        assert_eq!(
            (&shown["status"], &shown["changed"]),
            (&json!(status), &json!(!ready)),
            "{why}"
        );
    };
    json_of(&s, &["feedback", "approve"]);
    // Work on it is no change of it.
    s.loopx(&["issue", "comment", &a, "Begun"]).ok();
    s.loopx(&["issue", "take", &a]).ok();
    s.loopx(&["issue", "tick", &a, "1"]).ok();
    s.loopx(&["issue", "resolve", &a, "--reason", "it holds"])
        .ok();
    is_ready(true, "work");
    let changes: [&[&str]; 5] = [
        &["issue", "edit", &b, "--title", "B, and more"],
        &["issue", "edit", &b, "--criterion", "it is fast"],
        &["issue", "edit", &root, "-d", "Another document"],
        &["issue", "create", "C", "--parent", &root, "-l", "wave-1"],
        &["roadmap", "set", &b, "--wave", "2"],
    ];
    for change in changes {
        s.loopx(change).ok();
        is_ready(false, &change.join(" "));
        let said = s.loopx(&["roadmap", "show"]).stdout;
        assert!(said.contains("changed since it was approved"), "{said}");
        json_of(&s, &["feedback", "approve"]);
        is_ready(true, "approved again");
    }
}

#[test]
fn a_roadmap_is_never_offered_as_work() {
    let s = backlog();
    let a = one(&s, "A", &["-p", "4"]);
    let root = roadmap(&s, "direct", &[&a], &[]);
    s.loopx(&["issue", "edit", &root, "-p", "0"]).ok();
    let ready = s.loopx(&["--json", "issue", "ready"]).json();
    let ready = ready["issues"].as_array().expect("issues");
    assert_eq!(titles(ready), ["A"]);
    let said = s.loopx(&["issue", "list"]).stdout;
    assert!(said.contains("roadmap   lx-"), "{said}");
    let taken = s.loopx(&["--json", "issue", "take"]).json();
    assert_eq!(taken["issue"]["id"], a, "{taken}");
}

#[test]
fn a_label_that_names_no_wave_is_found() {
    let s = backlog();
    let a = one(
        &s,
        "A",
        &["-l", "wave-0", "-l", "wave--1", "-l", "phase-out"],
    );
    roadmap(&s, "direct", &[&a], &[]);
    assert_eq!(found(&s, 0), ["roadmap_label_unread"; 2]);
}

const DOCUMENT: &str = "# Notes\n\n## Milestone: v1\n\n### Phase 1: Keep\n\nSuccess criteria:\n- nothing is lost\n\n## Milestone: v2\n\n### Phase 2: Sync\n";

#[test]
fn a_phase_of_the_document_brings_its_milestone() {
    let s = backlog();
    let [a, b, c, d] = chain(&s);
    s.write("roadmap.md", DOCUMENT);
    let root = roadmap(&s, "direct", &[&a, &b, &c, &d], &["-F", "roadmap.md"]);
    json_of(&s, &["set", &a, &b, "--phase", "1"]);
    json_of(&s, &["set", &c, &d, "--phase", "2"]);
    assert_eq!(show(&s, &c)["milestone"], "v2");
    s.loopx(&["issue", "close", &a, "--reason", "seen"]).ok();
    let shown = json_of(&s, &["show"]);
    let progress = |list: &str| -> Vec<(String, u64, u64)> {
        let all = shown[list].as_array().expect("a list").iter();
        let number = |one: &Value, name: &str| one[name].as_u64().expect("a number");
        all.map(|one| {
            let name = one["name"].as_str().expect("a name").to_owned();
            assert_eq!(one["done"], 0, "a closed issue is not done: {one}");
            (name, number(one, "closed"), number(one, "issues"))
        })
        .collect()
    };
    let two = |one: &str, other: &str| vec![(one.to_owned(), 1, 2), (other.to_owned(), 0, 2)];
    assert_eq!(progress("phases"), two("1", "2"));
    assert_eq!(progress("milestones"), two("v1", "v2"));
    assert_eq!(shown["phases"][0]["criteria"], json!(["nothing is lost"]));
    let nine = ["roadmap", "set", &a, "--phase", "9"];
    refused(&s, 2, "issue_field_invalid", &nine);
    s.loopx(&["issue", "edit", &b, "-m", "v2", "-l", "phase-7"])
        .ok();
    let ids = found(&s, 1);
    assert_eq!(ids, ["roadmap_two_phases"]);
    json_of(&s, &["set", &b, "--phase", "1", "--milestone", "v2"]);
    assert_eq!(found(&s, 0), ["roadmap_milestone_differs"]);
    json_of(&s, &["set", &b, "--phase", "none", "--milestone", "none"]);
    assert_eq!(found(&s, 0), ["roadmap_no_phase"]);
    let b = show(&s, &b);
    assert_eq!(
        (&b["labels"], &b["milestone"]),
        (&json!(["wave-2"]), &Value::Null)
    );
    assert!(
        show(&s, &root)["description"]
            .as_str()
            .is_some_and(|text| text == DOCUMENT)
    );
}

#[test]
fn an_issue_with_parts_stands_for_them_and_a_part_of_another_issue_is_refused() {
    let s = backlog();
    let epic = create(&s, &["Epic", "-k", "epic"]);
    let a = one(&s, "A", &["--parent", &epic]);
    let b = one(&s, "B", &["--parent", &epic]);
    roadmap(&s, "progressive", &[], &[]);
    assert_eq!(found(&s, 1), ["roadmap_empty"]);
    let alone = ["roadmap", "set", &a, "--wave", "1"];
    let error = refused(&s, 1, "roadmap_part_elsewhere", &alone);
    let help = error["help"].as_str().expect("a hint");
    assert!(help.contains("roadmap set"), "{help}");
    refused(
        &s,
        1,
        "roadmap_part_elsewhere",
        &["roadmap", "new", "Other", "--mode", "direct", "--issue", &a],
    );
    json_of(&s, &["set", &epic, "--wave", "1"]);
    json_of(&s, &["set", &b, "--wave", "2"]);
    assert_eq!(
        waves(&s),
        [(1, vec!["A".to_owned()]), (2, vec!["B".to_owned()])]
    );
    json_of(&s, &["set", &epic, "--out"]);
    assert_eq!(found(&s, 1), ["roadmap_empty"]);
    assert_eq!(show(&s, &b)["labels"], Value::Null);
    refused(
        &s,
        4,
        "issue_link_unknown",
        &["roadmap", "set", &epic, "--out"],
    );
}

#[test]
fn a_roadmap_is_named_where_there_is_not_exactly_one() {
    let s = backlog();
    refused(&s, 4, "roadmap_unknown", &["roadmap", "show"]);
    let a = one(&s, "A", &[]);
    refused(&s, 4, "roadmap_unknown", &["roadmap", "show", &a]);
    let first = roadmap(&s, "direct", &[&a], &[]);
    let second = roadmap(&s, "direct", &[], &[]);
    refused(&s, 2, "roadmap_ambiguous", &["roadmap", "show"]);
    assert_eq!(json_of(&s, &["show", &first])["issues"], 1);
    s.loopx(&["issue", "close", &second, "--reason", "no"]).ok();
    assert_eq!(json_of(&s, &["show"])["roadmap"], json!(first));
    let listed = json_of(&s, &["list"]);
    let ended: Vec<&Value> = (listed["roadmaps"].as_array().expect("roadmaps").iter())
        .map(|one| &one["ended"])
        .collect();
    assert_eq!(ended, [false, true]);
}

#[test]
fn two_clones_that_put_one_issue_into_two_waves_see_both_until_somebody_says_which() {
    for order in [[0, 1], [1, 0]] {
        let all = Clones::apart(2);
        all.loopx(0, &["init"]).ok();
        let made = |at: usize, args: &[&str]| id_of(&all.loopx(at, args).json());
        let a = made(0, &["--json", "issue", "create", "A"]);
        let new = [
            "--json",
            "roadmap",
            "new",
            "N",
            "--mode",
            "progressive",
            "--issue",
            &a,
        ];
        let root = all.loopx(0, &new).json()["roadmap"].take();
        let root = root.as_str().expect("an id");
        all.sync(0).ok();
        all.sync(1).ok();
        all.loopx(0, &["roadmap", "set", &a, "--wave", "1"]).ok();
        all.loopx(1, &["roadmap", "set", &a, "--wave", "2"]).ok();
        for (at, text) in ["One document", "Another document"].iter().enumerate() {
            all.loopx(at, &["issue", "edit", root, "-d", text]).ok();
        }
        let b = made(1, &["--json", "issue", "create", "B"]);
        all.loopx(1, &["roadmap", "set", &b, "--wave", "2"]).ok();
        all.loopx(0, &["roadmap", "feedback", "scope", "Less"]).ok();
        all.loopx(1, &["roadmap", "feedback", "scope", "More"]).ok();
        for at in order.into_iter().chain(order) {
            all.sync(at).ok();
        }
        let shown = |at: usize| all.loopx(at, &["--json", "roadmap", "show"]).json();
        let (one, other) = (shown(0), shown(1));
        for field in ["waves", "loose", "rounds", "feedback", "status"] {
            assert_eq!(one[field], other[field], "{field}");
        }
        assert_eq!(one["rounds"], 2);
        let loose = one["loose"].as_array().expect("a list");
        assert_eq!(loose[0]["labels"], json!(["wave-1", "wave-2"]));
        let check = all.loopx(0, &["--json", "roadmap", "check"]).fails_with(1);
        for id in ["roadmap_two_waves", "roadmap_apart"] {
            assert!(check.stdout.contains(id), "{id}: {}", check.stdout);
        }
        all.loopx(0, &["roadmap", "set", &a, "--wave", "1"]).ok();
        all.loopx(0, &["issue", "edit", root, "-d", "Both"]).ok();
        let check = all.loopx(0, &["--json", "roadmap", "check"]).ok();
        assert!(!check.contains("roadmap_apart"), "{check}");
    }
}

const ROADMAP: &str = "# Roadmap: Notes that sync\n\n**Session**: RMAP-notes-2026-01-02\n**Status**: Ready\n**Mode**: progressive\n\n\
    ## Waves\n\n| Wave | Issue | Title | Dependencies |\n|---|---|---|---|\n| L0: MVP | ISS-20260102-001 | Keep notes | - |\n\
    | L1: Usable | ISS-20260102-002 | Find notes | ISS-20260102-001 |\n\n## Convergence\n\n### ISS-20260102-001: Keep notes\n\n\
    - **Criteria**:\n- [ ] Nothing is lost\n- `cargo test` exits 0\n";
const ISSUES: &str = "{\"id\":\"ISS-20260102-001\",\"title\":\"Keep notes\",\"status\":\"registered\",\"priority\":2,\"context\":\"Goal\",\"tags\":[\"wave-1\"]}\n\
    {\"id\":\"ISS-20260102-009\",\"title\":\"Other\",\"status\":\"registered\",\"priority\":3,\"context\":\"Elsewhere\"}\n";

#[test]
fn a_roadmap_of_ccw_comes_whole_with_its_issues_and_a_second_time_adds_nothing() {
    let s = backlog();
    let dir = ".workflow/.roadmap/RMAP notes";
    s.write(format!("{dir}/roadmap.md"), ROADMAP);
    s.write(".workflow/issues/issues.jsonl", ISSUES);
    let before = tip(&s);
    let dry = json_of(&s, &["import", dir, "--dry-run"]);
    assert_eq!(dry["new"].as_array().expect("issues").len(), 3);
    assert_eq!(tip(&s), before);
    json_of(&s, &["import", dir]);
    let wave = |number: u64, title: &str| (number, vec![title.to_owned()]);
    assert_eq!(waves(&s), [wave(1, "Keep notes"), wave(2, "Find notes")]);
    let all = list(&s, &["--all"]);
    assert!(!titles(&all).contains(&"Other"), "{:?}", titles(&all));
    let by = |title: &str| {
        let found = all.iter().find(|one| one["title"] == title);
        let id = found.expect("the issue")["id"].as_str().expect("an id");
        show(&s, id)
    };
    let keep = by("Keep notes");
    let criteria = keep["criteria"].as_array().expect("criteria").iter();
    let criteria: Vec<&Value> = criteria.map(|one| &one["text"]).collect();
    assert_eq!(criteria, ["Nothing is lost", "cargo test exits 0"]);
    assert_eq!(keep["description"], "Goal");
    assert_eq!(by("Find notes")["waits"][0]["issue"], keep["id"]);
    let shown = json_of(&s, &["show"]);
    assert_eq!(shown["mode"], "progressive");
    assert_eq!(shown["layers"], json!(["MVP", "Usable"]));
    assert_eq!(shown["title"], "Notes that sync");
    let before = tip(&s);
    let again = json_of(&s, &["import", &format!("{dir}/roadmap.md")]);
    assert_eq!((&again["new"], &again["here"]), (&json!([]), &json!(3)));
    assert_eq!(tip(&s), before);
}

#[test]
fn an_execution_plan_says_waves_and_what_contradicts_itself_brings_nothing() {
    let s = backlog();
    let plan = |second: &str| {
        format!(
            "{{\"session_id\":\"RPLAN-x-1\",\"requirement\":\"Notes\",\"strategy\":\"direct\",\"issue_ids\":[\"ISS-1\",\"ISS-2\"],\
             \"waves\":[{{\"wave\":1,\"label\":\"Base\",\"issue_ids\":[\"ISS-1\"],\"depends_on_waves\":[]}},\
             {{\"wave\":2,\"issue_ids\":[{second}],\"depends_on_waves\":[1]}}],\
             \"issue_dependencies\":{{\"ISS-2\":[\"ISS-1\"]}}}}"
        )
    };
    let store = "{\"id\":\"ISS-1\",\"title\":\"One\",\"context\":\"\"}\n{\"id\":\"ISS-2\",\"title\":\"Two\",\"context\":\"\"}\n";
    s.write("plan/issues.jsonl", store);
    s.write("plan/execution-plan.json", plan("\"ISS-2\",\"ISS-1\""));
    let error = refused(
        &s,
        1,
        "issue_import_invalid",
        &["roadmap", "import", "plan"],
    );
    let said = error["blockers"][0]["message"].as_str().expect("a message");
    assert!(said.contains("ISS-1 is in wave 1"), "{said}");
    s.write("plan/execution-plan.json", plan("\"ISS-2\""));
    // One issue is here already, as a part of nothing: it becomes a part of the roadmap.
    let other = s.loopx(&["--json", "issue", "import", "--format", "ccw", "-"]);
    assert_ne!(other.code, Some(0));
    json_of(&s, &["import", "plan"]);
    assert_eq!(
        waves(&s),
        [(1, vec!["One".to_owned()]), (2, vec!["Two".to_owned()])]
    );
    assert_eq!(found(&s, 0), ["roadmap_no_criteria"; 2]);
    s.write("none/notes.md", "x");
    refused(&s, 4, "import_missing", &["roadmap", "import", "none"]);
    s.write("none/roadmap.md", "# Roadmap: x\n\nNo table\n");
    refused(
        &s,
        1,
        "issue_import_invalid",
        &["roadmap", "import", "none"],
    );
}

#[test]
fn an_issue_that_is_here_already_becomes_a_part_of_the_roadmap_that_comes() {
    let s = backlog();
    s.write("r/roadmap.md", ROADMAP);
    s.write("r/issues.jsonl", ISSUES);
    s.loopx(&["issue", "import", "r/issues.jsonl"]).ok();
    let report = json_of(&s, &["import", "r"]);
    assert_eq!(
        (&report["here"], report["new"].as_array().map(Vec::len)),
        (&json!(1), Some(2))
    );
    let wave = |number: u64, title: &str| (number, vec![title.to_owned()]);
    assert_eq!(waves(&s), [wave(1, "Keep notes"), wave(2, "Find notes")]);
}

#[test]
fn the_chain_begins_behind_the_roadmap_that_its_issue_is_in_and_reads_the_phase() {
    let s = backlog();
    let [a, b, c, d] = chain(&s);
    s.write("roadmap.md", DOCUMENT);
    roadmap(&s, "direct", &[&a, &b, &c, &d], &["-F", "roadmap.md"]);
    json_of(&s, &["set", &a, "--phase", "1"]);
    s.loopx(&["start", "--profile", "lite", "--no-branch", "--issue", &a])
        .ok();
    let start = |args: &[&str]| {
        let all = [
            "--json",
            "pipeline",
            "start",
            "chain",
            "--dry-run",
            "--param",
            "check=manual: seen",
        ];
        s.loopx(&[&all[..], args].concat()).json()
    };
    let plan = start(&[]);
    assert_eq!(plan["params"]["start"], "analyze");
    assert_eq!(plan["params"]["phase"], "1");
    assert_eq!(plan["params"]["milestone"], "v1");
    assert_eq!(plan["roadmap"]["open"], 1);
    let positions = plan["positions"].as_array().expect("positions");
    assert_eq!(positions.len(), 3, "{positions:?}");
    // The request says another phase, and whoever types says another still.
    assert_eq!(
        start(&["--for", "phase 2: sync"])["params"]["milestone"],
        "v2"
    );
    assert_eq!(start(&["--param", "phase=7"])["params"]["phase"], "7");
}

#[test]
fn a_session_of_no_issue_reads_the_roadmap_only_by_a_phase_that_it_names() {
    let s = backlog();
    let a = one(&s, "A", &[]);
    roadmap(&s, "direct", &[&a], &[]);
    json_of(&s, &["set", &a, "--phase", "1"]);
    s.loopx(&[
        "start",
        "--profile",
        "lite",
        "--no-branch",
        "Something else",
    ])
    .ok();
    let start = |request: &str| {
        let args = [
            "--json",
            "pipeline",
            "start",
            "chain",
            "--dry-run",
            "--for",
            request,
        ];
        s.loopx(&[&args[..], &["--param", "check=manual: seen"]].concat())
            .json()
    };
    assert_eq!(start("the whole thing")["roadmap"], Value::Null);
    assert_eq!(start("Do phase 1.")["params"]["phase"], "1");
    assert_eq!(start("Do phase 4")["params"]["phase"], "none");
}

#[test]
fn a_roadmap_of_phases_becomes_an_issue_for_each_phase() {
    let s = backlog();
    let text = "# Roadmap: Notes\n\n## Milestone: v1\n\n### Phase 1: Keep\n**Depends on**: Nothing\n\n### Phase 2: Find\n\
                **Depends on**: Phase 1\n**Success Criteria**:\n1. a word is enough\n\n## Milestone: v2\n### Phase 3: Sync\n\
                **Depends on**: Phase 1, Phase 2\n";
    s.write("roadmap.md", text);
    json_of(&s, &["import", "roadmap.md"]);
    let missing = found(&s, 1);
    let waves_missing = missing.iter().filter(|one| *one == "roadmap_no_wave");
    assert_eq!(waves_missing.count(), 3, "{missing:?}");
    json_of(&s, &["order"]);
    let wave = |number: u64, title: &str| (number, vec![title.to_owned()]);
    assert_eq!(
        waves(&s),
        [wave(1, "Keep"), wave(2, "Find"), wave(3, "Sync")]
    );
    let shown = json_of(&s, &["show"]);
    let milestones = shown["milestones"].as_array().expect("milestones").iter();
    let milestones: Vec<&Value> = milestones.map(|one| &one["issues"]).collect();
    assert_eq!(milestones, [2, 1]);
    assert_eq!(shown["phases"][1]["milestone"], "v1");
    let again = json_of(&s, &["import", "roadmap.md"]);
    assert_eq!((&again["new"], &again["here"]), (&json!([]), &json!(4)));
}

#[test]
fn issues_that_only_a_merge_lets_wait_for_each_other_are_found_and_are_in_no_order() {
    let all = Clones::apart(2);
    all.loopx(0, &["init"]).ok();
    let made = |args: &[&str]| id_of(&all.loopx(0, args).json());
    let a = made(&["--json", "issue", "create", "A"]);
    let b = made(&["--json", "issue", "create", "B"]);
    let new = [
        "roadmap", "new", "N", "--mode", "direct", "-i", &a, "-i", &b,
    ];
    all.loopx(0, &new).ok();
    all.sync(0).ok();
    all.sync(1).ok();
    all.loopx(0, &["issue", "link", &a, "blocked-by", &b]).ok();
    all.loopx(1, &["issue", "link", &b, "blocked-by", &a]).ok();
    for at in [0, 1, 0] {
        all.sync(at).ok();
    }
    for at in 0..2 {
        let check = all.loopx(at, &["--json", "roadmap", "check"]);
        let check = check.fails_with(1);
        assert!(check.stdout.contains("roadmap_cycle"), "{}", check.stdout);
        let order = all.loopx(at, &["--json", "roadmap", "order"]);
        assert_eq!(order.error_json()["error"]["code"], "issue_cycle");
    }
    all.loopx(0, &["issue", "unlink", &a, "blocked-by", &b])
        .ok();
    all.loopx(0, &["roadmap", "order"]).ok();
    all.loopx(0, &["roadmap", "check"]).ok();
}
