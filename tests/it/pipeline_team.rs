//! Teams that are made for one request, where a chain begins, what becomes of a session once a pipeline is done, and
//! pipelines of many tasks.

use crate::support::Sandbox;
use crate::support::tasks::{DEMO, planning, planning_with, take, task, text};
use serde_json::{Value, json};

fn empty() -> Sandbox {
    let s = planning(&[]);
    s.write(format!(".loopx/{DEMO}/tasks.jsonl"), "");
    s
}

#[test]
fn a_request_makes_a_team_that_is_shown_before_it_starts() {
    let s = empty();
    let request = "research the parsers, implement one and test it";
    let args = [
        "pipeline",
        "start",
        "--team",
        "--from-text",
        request,
        "--param",
        "check=true",
    ];
    let dry = s
        .loopx(&[&args[..], &["--dry-run", "--json"]].concat())
        .json();
    assert_eq!(dry["pipeline"], "team");
    assert_eq!(
        dry["team"]["roles"],
        json!(["analyst", "executor", "tester"])
    );
    assert_eq!(dry["team"]["members"][1]["words"], json!(["implement"]));
    assert!(text(&dry["team"]["text"]).contains("[roles.analyst]"));
    assert_eq!(s.read(format!(".loopx/{DEMO}/tasks.jsonl")), "");
    s.loopx(&args)
        .says("coding: executor, by the words: implement")
        .ok();
    s.loopx(&["task", "check", "--strict"]).ok();
    s.loopx(&["approve", "--enter", "--reason", "agreed"]).ok();
    assert_eq!(take(&s), "RESEARCH-001");
}

/// Work that turns out to be missing later is a task with a role more: the sixth is said with what gives way, and a
/// role that no prompt knows with where to write it.
#[test]
fn s28_a_sixth_role_and_a_role_without_a_prompt_are_said_where_they_come() {
    let s = empty();
    let request = "research, plan, design, implement, review and test it";
    s.loopx(&[
        "pipeline",
        "start",
        "--team",
        "--from-text",
        request,
        "--param",
        "check=true",
    ])
    .ok();
    s.loopx(&["task", "check", "--strict"]).ok();
    s.loopx(&["approve", "--enter", "--reason", "agreed"]).ok();
    let list = format!(".loopx/{DEMO}/tasks.jsonl");
    let team = s.read(&list);
    let with_role = |id: &str, role: &str| {
        let mut task = task(id, &[], Some(&["true"]));
        task["role"] = json!(role);
        format!("{task}\n")
    };
    s.write(
        &list,
        format!(
            "{team}{}{}",
            with_role("D", "writer"),
            with_role("E", "data-engineer")
        ),
    );
    let shown = s.loopx(&["amend", "--show", "--json"]).json();
    let ids = |value: &Value| -> Vec<String> {
        let rows = value["roles"].as_array().expect("remarks");
        rows.iter().map(|row| text(&row["id"])).collect()
    };
    assert_eq!(ids(&shown), ["task_roles_many", "task_role_unprompted"]);
    let amended = s.loopx(&["amend", "--reason", "it is missing"]);
    amended
        .says("and at most 5 work well together: let `executor` do what `architect` does")
        .says("no prompt tells the role `data-engineer` how it works; write loopx/prompts/data-engineer.md")
        .ok();
    s.loopx(&["task", "check", "--strict"])
        .fails_with(1)
        .says("task_roles_many")
        .says("task_role_unprompted");
    // What was said is not said again by the next amendment.
    s.write(&list, s.read(&list) + &with_role("F", "writer"));
    let amended = s.loopx(&["amend", "--reason", "more", "--json"]).json();
    assert_eq!(ids(&amended), Vec::<String>::new());
}

#[test]
fn s28_a_pipeline_whose_role_has_no_prompt_is_told_so_at_check_and_start() {
    let pipeline = "title = \"Own\"\n[roles.seer]\nabout = \"sees\"\n[[nodes]]\nid = \"A\"\ntitle = \"See\"\nrole = \"seer\"\n\
        criteria = [\"it is there\"]\nverification = { cmd = [\"true\"] }\n";
    let said = "no prompt tells the role `seer` how it works";
    let s = planning_with(&[("loopx/pipelines/own.toml", pipeline)], &[]);
    s.write(format!(".loopx/{DEMO}/tasks.jsonl"), "");
    s.loopx(&["pipeline", "check"])
        .says("pipeline_role_unprompted")
        .says(said)
        .ok();
    s.loopx(&["pipeline", "start", "own", "--dry-run"])
        .says(said)
        .ok();
    s.loopx(&["pipeline", "start", "own"]).says(said).ok();
    // With a prompt of its own nothing is said.
    let prompt = "---\nrole: seer\nabout: sees\n---\n# Seer\n";
    let files = [
        ("loopx/pipelines/own.toml", pipeline),
        ("loopx/prompts/seer.md", prompt),
    ];
    let s = planning_with(&files, &[]);
    s.write(format!(".loopx/{DEMO}/tasks.jsonl"), "");
    let checked = s.loopx(&["pipeline", "check"]);
    assert!(!checked.stdout.contains(said), "{checked}");
    let started = s.loopx(&["pipeline", "start", "own"]);
    assert!(!started.stderr.contains(said), "{started}");
}

/// A pipeline of one task, which is done.
fn played(field: &str, args: &[&str]) -> Sandbox {
    Sandbox::once(format!("{field:?} {args:?}"), || {
        let pipeline = format!(
            "title = \"Own\"\n{field}\n[[nodes]]\nid = \"A\"\ntitle = \"Do it\"\ncriteria = [\"it is there\"]\nverification = {{ cmd = [\"true\"] }}\n"
        );
        let s = planning_with(&[("loopx/pipelines/own.toml", &pipeline)], &[]);
        s.write(format!(".loopx/{DEMO}/tasks.jsonl"), "");
        s.loopx(&[&["pipeline", "start", "own"], args].concat())
            .ok();
        s.loopx(&["approve", "--enter", "--reason", "agreed"]).ok();
        assert_eq!(take(&s), "A");
        s.commit_file("code.txt", "two\n", "Do it").ok();
        s.loopx(&["task", "done"]).ok();
        s
    })
}

fn status(s: &Sandbox) -> Value {
    s.loopx(&["pipeline", "status", "--json"]).json()
}

#[test]
fn a_pipeline_that_is_done_leaves_the_choice_to_a_person() {
    let s = played("", &[]);
    let status = status(&s);
    assert_eq!(
        (&status["complete"], &status["on_complete"]),
        (&json!(true), &json!("interactive"))
    );
    let said = s.loopx(&["pipeline", "status"]);
    let said = said.says("pipeline export DIR").ok();
    assert!(said.contains("complete interactive"), "{said}");
    // To keep a session nothing has to be typed, and a pause of this worktree's agents keeps nothing.
    assert!(!said.contains("agent park"), "{said}");
    assert!(!s.loopx(&["next"]).to_string().contains("agent park"));
}

#[test]
fn a_pipeline_that_archives_leads_to_the_archive() {
    let s = played("on_complete = \"archive\"", &[]);
    assert_eq!(status(&s)["on_complete"], "archive");
    let next = s.loopx(&["next"]).ok();
    assert_eq!(next.trim(), "git loopx finish --yes");
    s.loopx(&["finish", "--yes"]).ok();
    // One that ended and has landed leads to its results, and nowhere else.
    for _ in 0..4 {
        let next = s.loopx(&["next"]).stdout;
        let Some(git) = next.trim().strip_prefix("git ") else {
            break;
        };
        s.git(&git.split(' ').collect::<Vec<_>>()).ok();
    }
    s.loopx(&["pipeline", "status"])
        .fails_with(4)
        .says("git loopx -s demo pipeline status  (which is archived)");
    let ended = s.loopx(&["-s", "demo", "pipeline", "status"]);
    let ended = ended.says("pipeline export DIR").ok();
    assert!(!ended.contains("git loopx start"), "{ended}");
}

#[test]
fn a_pipeline_that_is_kept_waits_for_a_person_and_says_how_to_go_on() {
    // What was typed goes before what the file says.
    let s = played("on_complete = \"archive\"", &["--on-complete", "keep"]);
    assert_eq!(status(&s)["on_complete"], "keep");
    let next = s.loopx(&["next"]).fails_with(6);
    next.says("own is done, and the session is kept")
        .says("git loopx finish");
    s.loopx(&["finish", "--yes"]).ok();
}

#[test]
fn a_word_for_what_becomes_of_it_is_one_of_three() {
    let s = empty();
    s.loopx(&["pipeline", "start", "spec-only", "--on-complete", "burn"])
        .fails_with(2)
        .says("interactive, archive, keep");
    s.write(
        "own.toml",
        "title = \"x\"\non_complete = \"burn\"\n[[nodes]]\nid = \"A\"\n",
    );
    s.loopx(&["pipeline", "check", "own.toml"]).fails_with(1);
}

#[test]
fn a_chain_begins_behind_the_last_stage_whose_result_is_there() {
    let mut analyze = task("analyze", &[], Some(&["true"]));
    analyze["outputs"] = json!(["tasks/analyze/analyze.md"]);
    let s = planning(&[analyze]);
    s.write(format!(".loopx/{DEMO}/tasks/analyze/analyze.md"), "found\n");
    s.loopx(&["save"]).ok();
    let args = [
        "pipeline",
        "start",
        "chain",
        "--prefix",
        "c-",
        "--param",
        "check=true",
    ];
    let dry = s
        .loopx(&[&args[..], &["--dry-run", "--json"]].concat())
        .json();
    assert_eq!(dry["params"]["start"], "plan");
    assert_eq!(dry["positions"][0]["found"], "tasks/analyze/analyze.md");
    assert_eq!(dry["ids"][0], "c-plan");
    s.loopx(&[&args[..], &["--dry-run"]].concat())
        .says("start is plan: tasks/analyze/analyze.md is there")
        .ok();
    // Who says where it begins is not asked what is there.
    let given = [&args[..], &["--param", "start=init", "--dry-run", "--json"]].concat();
    let given = s.loopx(&given).json();
    assert_eq!(
        (&given["ids"][0], &given["positions"]),
        (&json!("c-init"), &json!([]))
    );
}

/// A thousand tasks (two hundred, where nobody asks for long plays), each behind the one before, every second with a gate.
#[test]
fn a_pipeline_of_many_tasks_is_checked_started_taken_and_shown() {
    let many: usize = match std::env::var_os("LOOPX_STRESS") {
        Some(_) => 1000,
        None => 200,
    };
    let nodes = (0..many).map(|at| {
        let on = match at {
            0 => String::new(),
            at => format!("depends_on = [\"N{}\"]\n", at - 1),
        };
        let gate = match at % 2 {
            0 => format!("[[nodes.gates]]\nid = \"G{at}\"\n"),
            _ => String::new(),
        };
        format!("[[nodes]]\nid = \"N{at}\"\ntitle = \"Do {at}\"\n{on}criteria = [\"it is there\"]\nverification = {{ cmd = [\"true\"] }}\n{gate}")
    });
    let text = format!("title = \"Many\"\n{}", nodes.collect::<String>());
    let s = planning_with(&[("loopx/pipelines/many.toml", &text)], &[]);
    s.write(format!(".loopx/{DEMO}/tasks.jsonl"), "");
    s.loopx(&["pipeline", "check", "many", "--strict"]).ok();
    s.loopx(&["pipeline", "start", "many"])
        .says(&format!("{many} tasks of many added"))
        .ok();
    s.loopx(&["approve", "--enter", "--reason", "agreed"]).ok();
    assert_eq!(take(&s), "N0");
    let status = status(&s);
    assert_eq!(
        (&status["total"], &status["done"]),
        (&json!(many), &json!(0))
    );
    assert_eq!(
        status["phases"][0]["beats"].as_array().map(Vec::len),
        Some(many)
    );
}
