//! The step among several tasks: what whoever asks may do comes before what only others can, and no answer names a command
//! that is refused. The numbers are those of the second acceptance of the task graph.

use crate::support::changes::adding;
use crate::support::tasks::{
    building, checkpoint, clones_building, next_of, planning, take, task, with,
};
use crate::support::{LOOPX, Sandbox};
use serde_json::{Value, json};

const LIST: &str = ".loopx/demo/tasks.jsonl";
const AGENT: (&str, &str) = ("CLAUDECODE", "1");

/// The whole output of a command that an agent typed.
fn agents(s: &Sandbox, args: &[&str]) -> String {
    let out = s.call(LOOPX).args(args).env(AGENT.0, AGENT.1).run();
    format!("{}{}", out.stdout, out.stderr)
}

fn looked_at(id: &str) -> Value {
    with(
        id,
        &[],
        json!({"convergence": {"criteria": ["C"], "verification": {"manual": "read it"}}}),
    )
}

fn fails(id: &str, after: &[&str], more: Value) -> Value {
    let mut task = task(id, after, Some(&["grep", "-q", "never", "code.txt"]));
    for (key, value) in more.as_object().into_iter().flatten() {
        task[key] = value.clone();
    }
    task
}

#[test]
fn k1_an_agent_goes_on_with_what_it_may_do_beside_what_waits_for_a_person() {
    let s = building(&[looked_at("O"), task("C", &[], Some(&["true"]))]);
    agents(&s, &["take"]);
    assert_eq!(next_of(&s, true), "git loopx take");
    agents(&s, &["take"]);
    let led = next_of(&s, true);
    assert!(!led.contains("waits for a person"), "{led}");
    agents(&s, &["task", "done", "C"]);
    let led = next_of(&s, true);
    assert!(led.contains("waits for a person (a look at O)"), "{led}");
}

#[test]
fn k2_whoever_may_say_that_a_task_may_begin_is_told_to_and_an_agent_waits() {
    let s = building(&[with(
        "W",
        &[],
        json!({
            "waits": [{"person": "any"}],
            "convergence": {"criteria": ["C"], "verification": {"cmd": ["true"]}},
        }),
    )]);
    let led = next_of(&s, false);
    assert!(
        led.contains("you have to do the next step yourself") && led.contains("task open W"),
        "{led}"
    );
    let led = next_of(&s, true);
    assert!(
        led.contains("waits for a person (the decision that W may begin)"),
        "{led}"
    );
}

#[test]
fn k3_a_list_of_tasks_ends_with_a_step_that_whoever_asks_may_take() {
    let s = building(&[checkpoint("CP", &[]), task("A", &["CP"], Some(&["true"]))]);
    let out = s.loopx(&["task", "list"]);
    let told = format!("{}{}", out.stdout, out.stderr);
    assert!(told.contains("task open CP"), "{told}");
    let told = agents(&s, &["task", "list"]);
    assert!(
        told.contains("waits for: a person") && !told.contains("task open"),
        "{told}"
    );
    let out = s
        .call(LOOPX)
        .args(&["task", "list", "--json"])
        .env(AGENT.0, AGENT.1)
        .run();
    assert_eq!(out.json()["next_action"], Value::Null);
}

#[test]
fn k5_a_refusal_leads_no_agent_to_a_try_beyond_the_cap() {
    let s = building(&[fails("A", &[], json!({"cap": 1}))]);
    take(&s);
    s.loopx(&["task", "fail", "A", "--reason", "no"]).ok();
    for args in [&["take", "A"][..], &["take"]] {
        let told = agents(&s, args);
        assert!(
            !told.contains("task retry A --reason") && told.contains("a person"),
            "{args:?}: {told}"
        );
    }
    let out = s.call(LOOPX).args(&["take", "A"]).run();
    assert!(
        out.stderr.contains("task retry A --reason"),
        "{}",
        out.stderr
    );
}

#[test]
fn k6_behind_a_task_that_was_left_at_its_cap_what_waits_for_it_falls_or_it_is_tried_with_a_reason()
{
    let s = building(&[
        fails("B", &[], json!({"cap": 1})),
        task("B2", &["B"], Some(&["true"])),
    ]);
    take(&s);
    s.loopx(&["task", "fail", "B", "--reason", "no"]).ok();
    s.loopx(&["task", "skip", "B", "--reason", "no need"]).ok();
    let led = next_of(&s, false);
    assert!(led.starts_with("git loopx task skip B2 --reason"), "{led}");
    let typed = s.call("sh").args(&["-c", &led]).run();
    assert_eq!(typed.code, Some(0), "{}", typed.stderr);
}

#[test]
fn k7_the_check_of_a_task_that_fell_with_another_one_is_asked_for_by_no_gate() {
    let s = building(&[
        fails("A", &[], json!({"cap": 1, "on_failed": "skip"})),
        fails("A2", &["A"], json!({})),
    ]);
    take(&s);
    s.loopx(&["task", "fail", "A", "--reason", "no"]).ok();
    let held = s.call(LOOPX).args(&["approve", "--to", "review"]).run();
    assert_ne!(held.code, Some(0), "a task that failed holds the gate");
    s.loopx(&["task", "skip", "A", "--reason", "not needed"])
        .ok();
    let json = s.loopx(&["status", "--json"]).json();
    let blockers = json["blockers"].to_string();
    assert!(!blockers.contains("A2"), "{blockers}");
}

#[test]
fn k12_an_agent_is_told_that_a_person_amends_the_list() {
    let s = building(&[
        task("A", &[], Some(&["true"])),
        task("B", &[], Some(&["true"])),
    ]);
    let list = s.read(LIST);
    s.write(LIST, list.lines().next().expect("a task").to_owned() + "\n");
    let led = next_of(&s, true);
    assert!(
        led.contains("waits for a person (the amendment of the list)"),
        "{led}"
    );
    for args in [&["amend", "--show"][..], &["--json", "status"]] {
        let told = agents(&s, args);
        assert!(!told.contains("amend --reason"), "{args:?}: {told}");
    }
    let led = next_of(&s, false);
    assert!(led.starts_with("git loopx amend"), "{led}");
    s.loopx(&["amend", "--show"]).says("amend --reason").ok();
}

#[test]
fn m13_checks_that_have_not_run_run_together_beside_a_check_that_failed() {
    let s = building(&[
        task("A", &[], Some(&["true"])),
        task("B", &[], Some(&["true"])),
        fails("C", &[], json!({})),
    ]);
    s.write("code.txt", "two\n");
    s.git(&["commit", "-qam", "two"]).ok();
    s.loopx(&["run", "--task", "C"]).fails_with(1);
    assert_eq!(next_of(&s, false), "git loopx run");
    s.loopx(&["run"]).fails_with(1);
    let led = next_of(&s, false);
    assert!(led.contains("C failed on this code"), "{led}");
}

#[test]
fn k13_an_amendment_that_is_no_list_leads_to_the_file_and_to_what_takes_the_edit_back() {
    let s = building(&[
        task("A", &[], Some(&["true"])),
        task("B", &["A"], Some(&["true"])),
    ]);
    let list = s.read(LIST);
    s.write(LIST, list.lines().last().expect("a task").to_owned() + "\n");
    let out = s.call(LOOPX).args(&["amend", "--reason", "drop A"]).run();
    assert_eq!(out.code, Some(1));
    assert!(
        !out.stderr.contains("loopx edit") && out.stderr.contains("checkout --force tasks.jsonl"),
        "{}",
        out.stderr
    );
    s.loopx(&["checkout", "--force", "tasks.jsonl"]).ok();
}

#[test]
fn of_many_checks_without_a_pass_the_first_are_named_and_the_rest_is_counted() {
    let tasks: Vec<Value> = (1..=24)
        .map(|n| task(&format!("T{n}"), &[], Some(&["true"])))
        .collect();
    let s = building(&tasks);
    let shown = s.loopx(&["status"]).ok();
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        shown.contains("T10 has not run and 14 more") && !shown.contains("T11"),
        "{shown}"
    );
    let status = s.loopx(&["status", "--json"]).json();
    let blockers = status["blockers"].to_string();
    assert!(
        blockers.contains("T10 has not run and ") && !blockers.contains("T11"),
        "{blockers}"
    );
    // Each of them is there for a program.
    assert!(status["audit"].to_string().contains("T24"), "{status:#}");
}

#[test]
fn k19_a_task_names_no_command_that_its_state_or_whoever_asks_may_not_type() {
    let s = building(&[
        fails("A", &[], json!({"cap": 1})),
        looked_at("M"),
        task("B", &["M"], Some(&["true"])),
        checkpoint("CP", &["B"]),
    ]);
    let all = |id: &str, agent: bool| {
        let call = s.call(LOOPX).args(&["--json", "task", "show", id]);
        let call = if agent {
            call.env(AGENT.0, AGENT.1)
        } else {
            call
        };
        call.run().json()["next"].to_string()
    };
    assert!(
        !all("B", false).contains("loopx take"),
        "{}",
        all("B", false)
    );
    s.loopx(&["take", "A"]).ok();
    s.loopx(&["task", "fail", "A", "--reason", "no"]).ok();
    assert!(!all("A", true).contains("retry"), "{}", all("A", true));
    let person = all("A", false);
    assert!(person.contains("task retry A --reason"), "{person}");
    s.loopx(&["take", "M"]).ok();
    assert!(!all("M", true).contains("task done"), "{}", all("M", true));
    assert!(all("M", false).contains("task done M --manual"));
    assert!(!all("CP", false).contains("task done"));
}

#[test]
fn m7_neither_a_refusal_nor_a_reason_of_a_gate_leads_an_agent_to_a_try_beyond_the_cap() {
    let s = building(&[fails("A", &[], json!({"cap": 1}))]);
    take(&s);
    s.loopx(&["task", "fail", "A", "--reason", "no"]).ok();
    for args in [
        &["--json", "task", "retry", "A"][..],
        &["--json", "approve", "--to", "review"],
        &["--json", "archive"],
    ] {
        let told = agents(&s, args);
        assert!(!told.contains("task retry A --reason"), "{args:?}: {told}");
    }
}

#[test]
fn m2_a_list_that_was_given_and_is_none_leads_to_no_file_below_loopx() {
    let s = building(&[
        task("A", &[], Some(&["true"])),
        task("B", &["A"], Some(&["true"])),
    ]);
    let list = s.read(LIST);
    s.write(
        "new.jsonl",
        list.lines().last().expect("a task").to_owned() + "\n",
    );
    for args in [
        &["amend", "new.jsonl", "--reason", "drop A"][..],
        &["amend", "new.jsonl", "--show"],
    ] {
        let out = s.loopx(args).fails_with(1);
        assert!(
            out.stderr.contains("give it again") && !out.stderr.contains(".loopx"),
            "{out}"
        );
    }
}

#[test]
fn m8_a_request_that_is_typed_again_leads_to_the_end_of_its_own_task() {
    let s = building(&[
        task("D", &[], Some(&["true"])),
        task("E", &[], Some(&["true"])),
    ]);
    let asked = ["--json", "take", "D", "--request", "r1"];
    s.loopx(&asked).ok();
    s.loopx(&["take", "E"]).ok();
    let again = s.loopx(&asked).json();
    assert_eq!(again["card"]["task"], "D", "{again}");
    let advice = again["advice"].to_string();
    assert!(advice.contains("git loopx task done D"), "{again}");
    // What comes next of all is the newest task.
    let led = next_of(&s, false);
    assert!(led.contains("git loopx task done E"), "{led}");
}

#[test]
fn k15_a_claim_whose_list_was_taken_back_is_given_back() {
    let s = building(&[task("T1", &[], Some(&["true"]))]);
    take(&s);
    s.loopx(&["undo", "1"])
        .says("gives it back with git loopx task release T1")
        .ok();
    s.loopx(&["undo", "--to", "1"]).ok();
    s.loopx(&["task", "release", "T1"]).ok();
    s.loopx(&["task", "release", "T1"]).fails_with(4);
    let told = s.loopx(&["status"]).ok();
    assert!(!told.contains("T1: this worktree"), "{told}");
}

#[test]
fn k30_an_undo_behind_a_claim_that_another_clone_ended_leads_to_no_release() {
    let all = clones_building(2, &[task("A", &[], Some(&["true"]))]);
    for at in [0, 1] {
        all.loopx(at, &["-s", "demo", "take", "A"]).ok();
    }
    all.loopx(1, &["-s", "demo", "task", "done", "A", "--trust"])
        .ok();
    all.sync(1).ok();
    all.sync(0).ok();
    let out = all.loopx(0, &["-s", "demo", "undo"]);
    insta::assert_snapshot!(out.steady(), @"
    $ git-loopx -s demo undo
    --- stderr
    error: the last step is `take` of A (@5), which has ended, and undo takes back no claim; the step before it is `build` (@4)

    hint: git loopx -s demo undo 1  (takes back `build`)
    --- exit 5
    ");
    assert!(!out.stderr.contains("task release"), "{out}");
}

#[test]
fn k17_a_list_that_is_no_json_is_refused_with_its_place_and_without_words_of_a_parser() {
    let s = planning(&[task("A", &[], Some(&["true"]))]);
    s.write("bad.jsonl", "{\"id\":\"Q\",\"title\":\"x\"}\nnot json\n");
    let out = s.loopx(&["task", "import", "bad.jsonl"]).fails_with(1);
    let out = out.says("bad.jsonl:2: expected a task as a JSON object, found text that is no JSON");
    assert!(!out.stderr.contains("ident"), "{out}");
}

/// A task with a check, and something in the world that it waits for.
fn waiting(id: &str, waits: Value) -> Value {
    let mut task = task(id, &[], Some(&["true"]));
    task["waits"] = waits;
    task
}

#[test]
fn k14_a_list_that_is_none_is_named_by_run_and_finish() {
    let s = building(&[
        task("A", &[], Some(&["true"])),
        task("B", &["A"], Some(&["true"])),
    ]);
    let list = s.read(LIST);
    s.write(LIST, list.lines().last().expect("a task").to_owned() + "\n");
    for args in [&["run", "--task", "A"][..], &["run"], &["finish", "--yes"]] {
        let out = s.loopx(args).fails_with(1);
        assert!(
            out.stderr.contains("checkout --force tasks.jsonl") && out.stderr.contains("`A`"),
            "{args:?}: {out}"
        );
    }
    s.loopx(&["checkout", "--force", "tasks.jsonl"]).ok();
    s.loopx(&["run", "--task", "A"]).ok();
}

#[test]
fn k23_a_task_that_waits_for_an_abandoned_session_falls_by_a_persons_word() {
    let wait = json!([{"session": "second", "stage": "archived"}]);
    let s = building(&[waiting("S", wait)]);
    // A session that is not there is looked at by no command.
    let out = s.loopx(&["take"]).fails_with(1);
    assert!(!out.stderr.contains("status second"), "{out}");
    s.git(&["switch", "--quiet", "main"]).ok();
    s.loopx(&["start", "--quick", "Second"]).ok();
    s.loopx(&["abandon", "--reason", "no"]).ok();
    s.git(&["switch", "--quiet", "work"]).ok();
    let led = next_of(&s, false);
    assert!(led.contains("task skip S --reason"), "{led}");
    assert!(next_of(&s, true).contains("waits for a person"));
    let out = s.loopx(&["take"]).fails_with(1);
    assert!(out.stderr.contains("task skip S --reason"), "{out}");
    s.loopx(&["task", "skip", "S", "--reason", "it never comes"])
        .ok();
    assert!(!next_of(&s, false).contains("waits for"));
}

#[test]
fn k24_whoever_is_named_is_led_to_their_word_beside_what_else_is_waited_for() {
    let s = building(&[
        waiting(
            "P",
            json!([{"branch": "main", "path": "src/new.sh"}, {"person": "Rita"}]),
        ),
        waiting("N", json!([{"person": "Rita"}])),
    ]);
    let rita = s
        .call(LOOPX)
        .args(&["next"])
        .env("GIT_AUTHOR_NAME", "Rita")
        .env("GIT_COMMITTER_NAME", "Rita")
        .run();
    assert!(
        rita.stderr
            .contains("you have to do the next step yourself")
            && rita.stderr.contains("task open P"),
        "{rita}"
    );
    let out = s.call(LOOPX).args(&["take", "N"]).run().fails_with(1);
    assert!(out.stderr.contains("ask Rita to run: "), "{out}");
    let alone = building(&[waiting("N", json!([{"person": "Rita"}]))]);
    let led = next_of(&alone, false);
    assert!(
        led.contains("waits for Rita (the decision that N may begin)")
            && !led.contains("task open"),
        "{led}"
    );
}

#[test]
fn k27_a_clone_that_is_behind_is_led_to_the_records_of_the_remote() {
    let all = clones_building(2, &[task("A", &[], Some(&["true"]))]);
    all.loopx(0, &["-s", "demo", "take"]).ok();
    all.loopx(0, &["-s", "demo", "task", "fail", "A", "--reason", "no"])
        .ok();
    all.loopx(0, &["-s", "demo", "task", "skip", "A", "--reason", "no"])
        .ok();
    all.loopx(0, &["sync"]).ok();
    let out = all
        .loopx(1, &["-s", "demo", "take", "--remote"])
        .fails_with(5);
    assert!(out.stderr.contains("hint: git loopx sync origin"), "{out}");
}

#[test]
fn k31_a_list_that_holds_a_domain_alone_asks_for_no_plan_beside_slices() {
    let s = Sandbox::with_spec();
    s.plan("one", &adding("Apples"));
    let before = next_of(&s, false);
    assert!(before.contains("--architect"), "{before}");
    s.loopx(&["task", "domain", "add", "x"]).ok();
    assert_eq!(next_of(&s, false), before);
}

#[test]
fn k26_what_others_read_as_next_is_a_command_or_null() {
    let s = building(&[fails("A", &[], json!({"cap": 1}))]);
    take(&s);
    s.loopx(&["task", "fail", "A", "--reason", "no"]).ok();
    for agent in [false, true] {
        for command in ["review", "approve"] {
            let call = s.call(LOOPX).args(&[command, "--show", "--json"]);
            let call = if agent {
                call.env(AGENT.0, AGENT.1)
            } else {
                call
            };
            let shown = call.run().json();
            assert_eq!(shown["next_action"], Value::Null, "{command}");
            assert_eq!(shown["waits"].is_null(), !agent, "{command}");
            assert_eq!(
                shown["advice"]
                    .to_string()
                    .contains("task retry A --reason"),
                !agent,
                "{command}"
            );
        }
    }
    for command in ["review", "clarify", "archive"] {
        let args = match command {
            "review" => &["review", "--show"][..],
            "clarify" => &["clarify"],
            _ => &["archive"],
        };
        let told = agents(&s, args);
        assert!(!told.contains("task retry A"), "{args:?}: {told}");
    }
}

#[test]
fn k32_a_file_that_is_not_there_is_not_found_by_resolve() {
    let s = building(&[task("A", &[], Some(&["true"]))]);
    let args = ["resolve", "plan.md", "--file", "merged.md"];
    s.loopx(&args)
        .fails_with(4)
        .says("name a file that can be read");
}

#[test]
fn k25_an_edit_that_leaves_a_file_lacking_says_what_it_lacks() {
    let s = planning(&[task("A", &[], Some(&["true"]))]);
    s.write(
        ".loopx/demo/plan.md",
        "---\nscope: []\n---\n# Plan\n\n## Problem\n\n## Approach\n\nB.\n",
    );
    s.loopx(&["save"]).ok();
    let out = s
        .call(LOOPX)
        .args(&["edit", "plan.md"])
        .env("GIT_EDITOR", "true")
        .run();
    assert!(
        out.to_string().contains("still wanted: ") && out.to_string().contains("## Problem"),
        "{out}"
    );
}

#[test]
fn a_word_that_is_due_comes_before_a_task_that_somebody_else_has() {
    let s = building(&[
        task("A", &[], Some(&["true"])),
        with(
            "W",
            &[],
            json!({
                "waits": [{"person": "any"}],
                "convergence": {"criteria": ["C"], "verification": {"cmd": ["true"]}},
            }),
        ),
    ]);
    s.git(&["worktree", "add", "--quiet", "--detach", "../other"])
        .ok();
    let other = s.root().join("other");
    let session = ["-s", "demo", "take", "A"];
    s.call(LOOPX).args(&session).cwd(&other).run().ok();
    let led = next_of(&s, false);
    assert!(led.contains("task open W"), "{led}");
}
