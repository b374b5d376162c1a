//! The ways that a list of tasks leads: who types `next` gets to the end with it, an agent is told which words are a person's,
//! and nothing that a task left undone passes a gate unseen.

use crate::support::tasks::{
    DEMO, building, checkpoint, clones_building, clones_planning, next_of, planning, refuses, row,
    statuses, take, task, text, with,
};
use crate::support::{LOOPX, Output, Sandbox};
use serde_json::{Value, json};

fn next(s: &Sandbox) -> String {
    next_of(s, false)
}

fn next_of_agent(s: &Sandbox) -> String {
    next_of(s, true)
}

#[track_caller]
fn is_for_a_person(s: &Sandbox, what: &str) {
    let led = next_of_agent(s);
    assert!(
        led.contains("waits for a person") && led.contains(what),
        "{led}"
    );
}

/// A command as it was printed.
fn types(s: &Sandbox, command: &str) -> Output {
    s.call("sh").args(&["-c", command]).run()
}

/// A task of a stage.
fn of_stage(stage: &str, id: &str, cmd: Option<&[&str]>) -> Value {
    let mut task = task(id, &[], cmd);
    task["stage"] = json!(stage);
    task
}

/// A task before which something has to be read.
fn told(id: &str, reads: &[&str]) -> Value {
    let mut task = task(id, &[], Some(&["true"]));
    task["reads"] = json!(reads);
    task
}

/// Passes where `code.txt` says so.
fn reads_two(id: &str) -> Value {
    task(id, &[], Some(&["grep", "-q", "two", "code.txt"]))
}

#[test]
fn the_task_that_is_taken_leads_before_the_code_is_written() {
    let s = building(&[with(
        "A",
        &[],
        json!({
            "outputs": ["tasks/A/report.md"],
            "convergence": {"criteria": ["C"], "verification": {"cmd": ["true"]}},
        }),
    )]);
    take(&s);
    let advice = next(&s);
    assert!(advice.contains("tasks/A/report.md"), "{advice}");
    s.write(format!(".loopx/{DEMO}/tasks/A/report.md"), "There.\n");
    s.commit_file("code.txt", "two\n", "Two").ok();
    assert_eq!(next(&s), "git loopx task done A");
    s.loopx(&["task", "done", "A"]).ok();

    let s = building(&[task("LOOK", &[], None)]);
    take(&s);
    let advice = next(&s);
    assert!(advice.contains("task done LOOK --manual"), "{advice}");
}

#[test]
fn a_check_that_failed_on_this_code_is_not_asked_for_again_before_something_is_mended() {
    let s = building(&[reads_two("A")]);
    take(&s);
    s.commit_file("other.txt", "no\n", "Something else").ok();
    assert_eq!(next(&s), "git loopx task done A");
    s.loopx(&["task", "done", "A"]).fails_with(1);
    let led = next(&s);
    assert!(led.contains("A failed on this code: mend it"), "{led}");
    s.commit_file("code.txt", "two\n", "Two").ok();
    assert_eq!(next(&s), "git loopx task done A");
    s.loopx(&["task", "done", "A"]).ok();
}

#[test]
fn a_failed_task_leads_before_the_code_is_written() {
    let s = building(&[reads_two("A")]);
    take(&s);
    s.loopx(&["task", "fail", "A", "--reason", "the tool is away"])
        .ok();
    assert_eq!(next(&s), "git loopx task retry A");
}

#[test]
fn an_agent_waits_for_a_person_where_a_word_is_a_persons() {
    let s = building(&[task("LOOK", &[], None)]);
    take(&s);
    is_for_a_person(&s, "a look at LOOK");
    s.loopx(&["task", "release", "LOOK"]).ok();
    s.commit_file("code.txt", "two\n", "Two").ok();
    s.loopx(&["take"]).ok();
    s.loopx(&["task", "done", "LOOK", "--manual", "--reason", "seen"])
        .ok();
    s.commit_file("code.txt", "three\n", "Three").ok();
    is_for_a_person(&s, "a look at LOOK");
    // A14: who looked looks again, and waives nothing.
    let again = "git loopx task retry LOOK --reason 'the code changed since'";
    assert_eq!(next(&s), again);
    types(&s, again).ok();
    assert_eq!(next(&s), "git loopx take");

    let s = building(&[with(
        "C",
        &[],
        json!({
            "cap": 1,
            "convergence": {"criteria": ["C"], "verification": {"cmd": ["false"]}},
        }),
    )]);
    take(&s);
    s.loopx(&["task", "fail", "C", "--reason", "no"]).ok();
    is_for_a_person(&s, "the decision to try C once more");
    // A17: what becomes of it is decided by whoever is asked, and typed by them.
    let said = next(&s);
    assert!(said.contains("all of its 1 attempts are used"), "{said}");
}

#[test]
fn a_gate_of_review_is_led_to_without_a_place_and_before_a_verdict() {
    let s = building(&[
        task("A", &[], Some(&["true"])),
        with("C", &[], json!({"kind": "checkpoint", "stage": "review"})),
        with(
            "D",
            &[],
            json!({"kind": "decision", "stage": "review", "gate": {"judges": ["A"]}}),
        ),
    ]);
    s.commit_file("code.txt", "two\n", "Two").ok();
    s.loopx(&["run"]).ok();
    let led = next(&s);
    assert!(!led.contains("finish"), "{led}");
    // Who says `finish` all the same is stopped before anybody reviewed beside them.
    s.loopx(&["finish", "--yes"]).fails_with(1);
    let status = s.loopx(&["status", "--json"]).json();
    assert_eq!(status["stage"], "review");
    assert_eq!(status["review"], Value::Null);
    s.loopx(&["task", "open", "C", "--reason", "seen"]).ok();
    let led = next(&s);
    assert!(
        led.contains("you have to do") && led.contains("task decide D"),
        "{led}"
    );
    s.loopx(&["task", "decide", "D", "--verdict", "proceed"])
        .ok();
    s.loopx(&["finish", "--yes"]).ok();
}

#[test]
fn a_claim_goes_to_a_remote_only_with_the_list_that_it_is_of() {
    let all = clones_building(
        2,
        &[
            task("A", &[], Some(&["true"])),
            task("B", &[], Some(&["true"])),
        ],
    );
    all.git(0, &["switch", "--quiet", "work"]).ok();
    all.loopx(0, &["-s", DEMO, "build"]).fails_with(1);
    all.settle();
    all.git(1, &["switch", "--quiet", "-c", "work"]).ok();
    all.loopx(1, &["-s", DEMO, "note", "said here alone"]).ok();
    let led = all.loopx(1, &["-s", DEMO, "next", "--json"]).json();
    assert_eq!(led["next_action"], "git loopx sync origin", "{led}");
    all.loopx(1, &["sync"]).ok();
    let led = all.loopx(1, &["-s", DEMO, "next", "--json"]).json();
    assert_eq!(led["next_action"], "git loopx take --remote");
    all.loopx(1, &["-s", DEMO, "take", "--remote"]).ok();
}

#[test]
fn work_of_another_stage_holds_its_own_gate_and_not_that_of_the_build() {
    let s = building(&[
        task("A", &[], Some(&["true"])),
        of_stage("review", "R", Some(&["true"])),
        of_stage("done", "X", None),
    ]);
    s.commit_file("code.txt", "two\n", "Two").ok();
    s.loopx(&["run"]).ok();
    assert_eq!(statuses(&s)["R"], "pending");
    s.loopx(&["approve", "--enter"]).ok();
    assert_eq!(s.loopx(&["status", "--json"]).json()["stage"], "review");
    assert_eq!(next(&s), "git loopx take");
    types(&s, &next(&s)).ok();
    assert_eq!(next(&s), "git loopx task done R");
    types(&s, &next(&s)).ok();
    s.loopx(&["review", "--verdict", "approve"]).ok();
    s.loopx(&["approve", "--enter"]).ok();
    // What is to be done at the end is asked for there.
    s.loopx(&["archive"]).fails_with(1);
    assert_eq!(next(&s), "git loopx take");
    s.loopx(&["take", "X"]).ok();
    s.loopx(&[
        "task",
        "done",
        "X",
        "--manual",
        "--reason",
        "the mail is out",
    ])
    .ok();
    s.loopx(&["archive"]).ok();
}

#[test]
fn what_a_task_left_stands_wherever_somebody_approves_what_there_is() {
    let s = building(&[task("A", &[], Some(&["true"]))]);
    take(&s);
    s.commit_file("code.txt", "two\n", "Two").ok();
    let left = [
        "--partial",
        "the tests of Windows",
        "--caveat",
        "it is slow",
    ];
    s.loopx(&[&["task", "done", "A"][..], &left].concat()).ok();
    s.loopx(&["status"])
        .says("A, partial: the tests of Windows")
        .ok();
    s.loopx(&["approve", "--show"])
        .says("left    A, partial: the tests of Windows")
        .ok();
    s.loopx(&["approve", "--enter"]).ok();
    s.loopx(&["review", "--show"])
        .says("left    A, caveat: it is slow")
        .ok();
    let shown = s.loopx(&["review", "--show", "--json"]).json();
    assert_eq!(shown["left"][0]["text"], "the tests of Windows");
    insta::assert_snapshot!(s.loopx(&["finish", "--yes"]).steady(), @"
    $ git-loopx finish --yes
    0000000000..0000000000
      code.txt
      left by A, partial: the tests of Windows
      left by A, caveat: it is slow
    1 commit, 1 file, 1 check passed
    demo: self-reviewed, approved review->done, archived on work as 0000000000
    main does not have the change yet; on main, run: git merge work
    next: git switch main
    left to be done, as issues if you want them:
      git loopx -s demo issue create --debt  (completed tasks left 2 things)
    --- exit 0
    ");
    s.loopx(&["-s", DEMO, "issue", "create", "--debt"]).ok();
    let made = s.loopx(&["issue", "list", "--json"]).json();
    assert_eq!(made["issues"].as_array().map(Vec::len), Some(2), "{made}");
}

#[test]
fn the_tasks_of_an_archived_session_are_judged_by_the_code_that_was_approved() {
    let s = building(&[reads_two("A"), task("B", &["A"], Some(&["true"]))]);
    s.commit_file("code.txt", "two\n", "Two").ok();
    s.loopx(&["run"]).ok();
    s.loopx(&["finish", "--yes"]).ok();
    s.commit_file("code.txt", "three\n", "Later").ok();
    let listed = s.loopx(&["-s", DEMO, "task", "list", "--json"]).json();
    assert_eq!(
        (&listed["done"], &listed["stalled"]),
        (&json!(2), &json!(false)),
        "{listed}"
    );
}

#[test]
fn status_says_how_far_the_list_is_and_what_can_be_taken() {
    let s = building(&[
        task("A", &[], Some(&["true"])),
        task("B", &["A"], Some(&["true"])),
        checkpoint("C", &["B"]),
    ]);
    let tally = |s: &Sandbox| s.loopx(&["status", "--json"]).json()["tally"].clone();
    assert_eq!(tally(&s), json!({"done": 0, "all": 3, "ready": "A"}));
    take(&s);
    s.commit_file("code.txt", "two\n", "Two").ok();
    s.loopx(&["task", "done", "A"]).ok();
    s.loopx(&["status"])
        .says("1 of 3 done; B is ready, nobody has it")
        .ok();
    s.loopx(&["take"]).ok();
    s.loopx(&["task", "done", "B"]).ok();
    // A word is no work that somebody takes.
    assert_eq!(tally(&s), json!({"done": 2, "all": 3, "ready": null}));
}

#[test]
fn undo_behind_a_claim_says_how_the_task_is_given_back_and_takes_back_nothing() {
    let s = building(&[reads_two("A")]);
    take(&s);
    let refused = s.call(LOOPX).args(&["--json", "undo"]).run();
    let error = refused.fails_with(5).error_json()["error"].clone();
    assert_eq!(error["code"], "nothing_to_undo");
    let help = error["help"].to_string();
    assert!(
        help.contains("task release A") && help.contains("undo 1"),
        "{help}"
    );
    assert_eq!(s.loopx(&["status", "--json"]).json()["stage"], "build");
}

#[test]
fn nobody_takes_a_task_where_another_branch_is_checked_out() {
    let s = building(&[reads_two("A"), task("LOOK", &[], None)]);
    s.git(&["switch", "--quiet", "-c", "side"]).ok();
    let refused = s
        .call(LOOPX)
        .args(&["--json", "-s", DEMO, "take", "A"])
        .run();
    let error = refused.fails_with(1).error_json()["error"].clone();
    assert_eq!(error["code"], "branch_mismatch");
    types(&s, &text(&error["help"])).ok();
    s.loopx(&["take", "A"]).ok();
}

#[test]
fn sync_calls_what_happened_to_tasks_by_name() {
    let all = clones_building(2, &[task("A", &[], None), task("B", &[], None)]);
    all.loopx(0, &["-s", DEMO, "take", "A"]).ok();
    all.loopx(0, &["-s", DEMO, "task", "fail", "A", "--reason", "no"])
        .ok();
    all.loopx(0, &["sync"]).ok();
    let said = all.loopx(1, &["sync"]);
    said.says("1 claim, 1 failure").ok();
}

#[test]
fn a_card_says_what_is_to_be_done_to_each_file_and_every_field_of_its_line() {
    let s = building(&[with(
        "A",
        &[],
        json!({
            "effort": "small",
            "files": [{"path": "src/old.rs", "action": "delete", "changes": ["remove fn x"]}, "src/new.rs"],
            "reads": ["change/spec-delta.md"],
            "convergence": {
                "criteria": ["each caller is named"],
                "verification": {"cmd": ["true"]},
                "definition_of_done": "Readers see each caller once",
            },
        }),
    )]);
    let card = s.loopx(&["take", "--peek", "--json"]).json()["card"].clone();
    assert_eq!(card["files"], json!(["src/old.rs", "src/new.rs"]));
    assert_eq!(
        card["changes"],
        json!([{"path": "src/old.rs", "action": "delete", "changes": ["remove fn x"]}])
    );
    assert_eq!(card["definition_of_done"], "Readers see each caller once");
    assert_eq!(card["fields"]["effort"], "small");
    let peeked = s.loopx(&["take", "--peek"]);
    for said in [
        "files   | delete src/old.rs: remove fn x",
        "| src/new.rs",
        "result  | Readers see each caller once",
        "read    | .loopx/demo/change/spec-delta.md (",
    ] {
        assert!(peeked.stdout.contains(said), "{said}: {}", peeked.stdout);
    }
    let prompt = s.loopx(&["take", "--peek", "--format", "prompt"]).stdout;
    assert!(
        prompt.contains("delete src/old.rs: remove fn x"),
        "{prompt}"
    );
}

/// N1: required reading is given with its content where it is no file of the code.
#[test]
fn n1_a_card_gives_the_content_of_artifacts_and_rules_that_have_to_be_read_and_the_path_of_code() {
    let s = building(&[told("A", &["change/spec-delta.md", "code.txt"])]);
    let rule = "---\ntitle: Names\nreadMode: required\n---\n\n- Names are nouns.\n";
    s.write("docs/rules/names.md", rule);
    let delta = s.read(".loopx/demo/change/spec-delta.md");
    let card = s.loopx(&["take", "--peek", "--json"]).json()["card"].clone();
    let contents = card["contents"].as_array().cloned().unwrap_or_default();
    let paths: Vec<&Value> = contents.iter().map(|one| &one["path"]).collect();
    assert_eq!(paths, ["change/spec-delta.md", "docs/rules/names.md"]);
    assert_eq!(contents[0]["text"], delta);
    assert_eq!(contents[1]["text"], rule);

    let full = s.loopx(&["take", "--full"]).stdout;
    let shown = s.loopx(&["task", "show", "--full"]).stdout;
    let prompt = s.loopx(&["task", "show", "--format", "prompt"]).stdout;
    for said in [&full, &shown, &prompt] {
        for part in [
            "  content | .loopx/demo/change/spec-delta.md:\n",
            "          | behaviour: unchanged\n",
            "          | - Names are nouns.\n",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
        assert!(!said.contains("content | code.txt"), "{said}");
    }
    let short = s.loopx(&["task", "show"]).stdout;
    assert!(!short.contains("behaviour"), "{short}");
    assert!(short.len() <= 2048 + 200, "{short}");
}

#[test]
fn n1_what_has_to_be_read_and_is_too_long_for_a_card_is_cut_with_the_command_that_prints_it() {
    let s = planning(&[told("A", &["tasks/A/notes.md", "plan.md"])]);
    let line = "a line of what somebody found\n";
    s.write(".loopx/demo/tasks/A/notes.md", line.repeat(2000));
    s.loopx(&["approve", "--enter", "--reason", "agreed"]).ok();
    let card = s.loopx(&["take", "--json"]).json()["card"].clone();
    let content = &card["contents"][0];
    let left_out = content["left_out"].as_u64().unwrap_or_default();
    assert!(
        left_out > 0 && text(&content["text"]).ends_with(line),
        "{content}"
    );
    let full = s.loopx(&["task", "show", "--full"]);
    full.says(&format!("cut     | {left_out} bytes of it are left out"));
    let whole = types(&s, &text(&content["whole"])).ok();
    assert_eq!(whole, line.repeat(2000));
}

#[test]
fn n1_required_reading_that_has_no_file_here_is_named_with_what_prints_it() {
    let s = building(&[told("A", &["change/spec-delta.md"])]);
    s.git(&["switch", "--quiet", "--detach"]).ok();
    std::fs::remove_dir_all(s.path().join(".loopx/demo")).expect("removed");
    let short = s.loopx(&["-s", DEMO, "task", "show", "A"]);
    let short = short.says("change/spec-delta.md (");
    short.says("not checked out here: `--full` prints it");
    s.loopx(&["-s", DEMO, "task", "show", "A", "--full"])
        .says("| behaviour: unchanged");
}

#[test]
fn a_cycle_that_a_merge_makes_is_said_by_sync_and_taken_out_by_an_edit() {
    let all = clones_planning(
        2,
        &[
            task("A", &[], Some(&["true"])),
            task("B", &[], Some(&["true"])),
        ],
    );
    let edit = |at: usize, id: &str, on: &str| {
        all.loopx(at, &["-s", DEMO, "task", "edit", id, "--depends-on", on])
            .ok();
    };
    edit(0, "A", "B");
    edit(1, "B", "A");
    all.loopx(0, &["sync"]).ok();
    let said = all.loopx(1, &["sync"]);
    said.says("the list of tasks cannot be read since the merge")
        .ok();
    all.loopx(
        1,
        &["-s", DEMO, "task", "edit", "B", "--unset", "depends_on"],
    )
    .ok();
    let listed = all
        .loopx(1, &["-s", DEMO, "task", "check", "--json"])
        .json();
    assert_eq!(listed["findings"], json!([]), "{listed}");
}

#[test]
fn a_list_from_elsewhere_takes_ids_that_are_free_and_a_dry_run_refuses_what_the_import_would() {
    let s = planning(&[task("TASK-001", &[], Some(&["true"]))]);
    s.write("theirs.md", "## 1. Schema\n\n- [ ] Add the column\n");
    s.loopx(&["task", "import", "theirs.md"]).ok();
    s.loopx(&["task", "import", "theirs.md"]).ok();
    let names: Vec<String> = statuses(&s).into_keys().collect();
    assert_eq!(names, ["TASK-001", "TASK-002", "TASK-003"]);

    s.write("twice.md", "## 1. Schema\n\n- [ ] 2.1 One\n- [ ] 2.1 Two\n");
    for more in [&["--dry-run"][..], &[]] {
        let import = [&["task", "import", "twice.md"][..], more].concat();
        refuses(&s, 1, "task_list_invalid", &import);
    }

    s.write(
        "kit.md",
        "## Phase 2\n\n- [ ] T001 Set up\n- [ ] T002 [P] One\n- [ ] T003 [P] Two\n\n## Phase 3\n\n- [ ] T004 [P] [US1] Three\n",
    );
    s.loopx(&["task", "import", "kit.md"]).ok();
    let waits = row(&s, "T004")["depends_on"].clone();
    assert_eq!(waits, json!(["T002", "T003"]));

    s.write(
        "slices.json",
        r#"[{"id":"VS-1","title":"T","priority":"P1","domain":"session","acceptance_criteria":["C"],"verification":["true"]}]"#,
    );
    let slices = s.read("slices.json").replace(
        "}]",
        r#"},{"id":"VS-2","title":"U","depends_on":["VS-1"],"stage":"done","acceptance_criteria":["C"],"verification":["true"]}]"#,
    );
    s.write("slices.json", slices);
    let taken = s.loopx(&["task", "import", "slices.json", "--json"]).json();
    assert_eq!(row(&s, "VS-2")["depends_on"], json!(["VS-1"]));
    assert_eq!(row(&s, "VS-2")["stage"], "build");
    assert!(
        taken["remarks"]
            .to_string()
            .contains("stays as `from_priority`"),
        "{taken}"
    );
}

#[test]
fn questions_of_a_plan_stand_where_it_is_approved() {
    let s = planning(&[task("A", &[], Some(&["true"]))]);
    s.loopx(&["note", "--ask", "Which browsers?"]).ok();
    s.loopx(&["approve", "--show"])
        .says("asked   Which browsers?")
        .ok();
}

#[test]
fn commits_of_a_detached_head_are_led_to_a_branch_before_anybody_leaves_them() {
    let s = building(&[reads_two("A")]);
    s.git(&["checkout", "--quiet", "--detach"]).ok();
    s.commit_file("code.txt", "two\n", "Two").ok();
    let at = s.git(&["rev-parse", "HEAD"]).line();
    assert_eq!(next(&s), "git switch -C work");
    types(&s, &next(&s)).ok();
    assert_eq!(s.git(&["rev-parse", "work"]).line(), at);

    s.git(&["checkout", "--quiet", "--detach"]).ok();
    s.commit_file("code.txt", "three\n", "Three").ok();
    s.git(&["update-ref", "refs/heads/work", "work^"]).ok();
    s.git(&["branch", "--quiet", "-f", "aside", "HEAD^^"]).ok();
    s.git(&["worktree", "add", "--quiet", "../other", "work"])
        .ok();
    // The branch is checked out elsewhere: git would not move it.
    let led = next(&s);
    assert!(led.starts_with("git switch -c "), "{led}");
    types(&s, &led).ok();
}

#[test]
fn a_check_hides_from_no_gate_by_its_stage() {
    // The profile has no stage clarify: what stands in it is the business of the build.
    let s = building(&[
        task("A", &[], Some(&["true"])),
        of_stage("clarify", "P", Some(&["grep", "-q", "two", "code.txt"])),
    ]);
    s.commit_file("other.txt", "no\n", "Other").ok();
    s.loopx(&["run"]).fails_with(1);
    refuses(&s, 1, "build_review_gate_blocked", &["finish", "--yes"]);
    s.commit_file("code.txt", "two\n", "Two").ok();
    s.loopx(&["take", "P"]).ok();
    s.loopx(&["task", "done", "P"]).ok();
    s.loopx(&["run"]).ok();
    s.loopx(&["finish", "--yes"]).ok();
}

#[test]
fn work_of_the_review_is_asked_for_again_where_the_code_changed_since() {
    let s = building(&[
        task("A", &[], Some(&["true"])),
        of_stage("review", "R", Some(&["grep", "-q", "two", "code.txt"])),
        of_stage("review", "LOOK", None),
    ]);
    s.commit_file("code.txt", "two\n", "Two").ok();
    s.loopx(&["run"]).ok();
    s.loopx(&["approve", "--enter"]).ok();
    s.loopx(&["take", "R"]).ok();
    s.loopx(&["task", "done", "R"]).ok();
    s.loopx(&["take", "LOOK"]).ok();
    s.loopx(&["task", "done", "LOOK", "--manual", "--reason", "seen"])
        .ok();
    let back = [
        "review",
        "--verdict",
        "changes",
        "--target",
        "build",
        "--reason",
        "no",
    ];
    s.loopx(&back).ok();
    s.loopx(&["approve", "--to", "build", "--enter"]).ok();
    s.commit_file("code.txt", "three\n", "Three").ok();
    s.loopx(&["run"]).ok();
    s.loopx(&["approve", "--enter"]).ok();
    s.loopx(&["finish", "--yes"]).fails_with(1);
    assert_eq!(next(&s), "git loopx run --task R");
    types(&s, &next(&s)).fails_with(1);
    // Nothing is mended in a review.
    let led = next(&s);
    assert!(led.contains("--target build"), "{led}");
    types(&s, &led).ok();
    s.loopx(&["approve", "--to", "build", "--enter"]).ok();
    s.commit_file("code.txt", "two and more\n", "Two").ok();
    s.loopx(&["run"]).ok();
    s.loopx(&["approve", "--enter"]).ok();
    assert_eq!(next(&s), "git loopx run --task R");
    types(&s, &next(&s)).ok();
    assert_eq!(
        next(&s),
        "git loopx task retry LOOK --reason 'the code changed since'"
    );
    types(&s, &next(&s)).ok();
    s.loopx(&["take", "LOOK"]).ok();
    s.loopx(&["task", "done", "LOOK", "--manual", "--reason", "seen again"])
        .ok();
    s.loopx(&["finish", "--yes"]).ok();
}

#[test]
fn a_task_of_the_end_that_fails_leads_back_to_where_it_can_be_mended() {
    let last = of_stage("done", "X", Some(&["grep", "-q", "three", "code.txt"]));
    let s = building(&[task("A", &[], Some(&["true"])), last]);
    s.commit_file("code.txt", "two\n", "Two").ok();
    s.loopx(&["run"]).ok();
    s.loopx(&["approve", "--enter"]).ok();
    s.loopx(&["review", "--verdict", "approve"]).ok();
    s.loopx(&["approve", "--enter"]).ok();
    s.loopx(&["take"]).ok();
    s.loopx(&["task", "done", "X"]).fails_with(1);
    assert_eq!(next(&s), "git loopx undo 1");
    types(&s, &next(&s)).ok();
    assert_eq!(s.loopx(&["status", "--json"]).json()["stage"], "review");
}

#[test]
fn a_task_that_waits_for_work_of_a_later_stage_is_said_before_the_plan_is_approved() {
    let late = of_stage("review", "R", Some(&["true"]));
    let s = planning(&[late, task("B", &["R"], None)]);
    let found = s.loopx(&["task", "check", "--json"]).fails_with(1).json();
    assert_eq!(found["findings"][0]["id"], "task_wait_circular", "{found}");
    s.loopx(&["approve", "--enter"]).fails_with(1);
}

#[test]
fn work_of_the_review_leads_nobody_in_the_build() {
    let look = of_stage("review", "LOOK", None);
    let s = building(&[task("A", &[], Some(&["true"])), look]);
    s.commit_file("code.txt", "two\n", "Two").ok();
    s.loopx(&["run"]).ok();
    s.loopx(&["approve", "--enter"]).ok();
    s.loopx(&["take", "LOOK"]).ok();
    s.loopx(&[
        "review",
        "--verdict",
        "changes",
        "--target",
        "build",
        "--reason",
        "no",
    ])
    .ok();
    s.loopx(&["approve", "--to", "build", "--enter"]).ok();
    let led = next(&s);
    assert!(!led.contains("LOOK"), "{led}");
    let done = ["task", "done", "LOOK", "--manual", "--reason", "seen"];
    refuses(&s, 1, "task_not_ready", &done);
}

/// A1: what is next works when it is typed, also where the list was written by hand.
#[test]
fn a_list_that_is_not_saved_is_saved_before_its_tasks_are_taken() {
    let s = planning(&[of_stage("plan", "P", None), reads_two("A")]);
    let refused = s.loopx(&["--json", "take", "P"]).fails_with(4);
    let error = refused.error_json()["error"].clone();
    assert_eq!(
        error["help"],
        "git loopx save  (what is here of the tasks is not saved)"
    );
    assert_eq!(next(&s), "git loopx save");
    types(&s, &next(&s)).ok();
    assert_eq!(next(&s), "git loopx take");
    types(&s, &next(&s)).ok();
}

/// A2: an agent that took what only a person completes is told so, and is given no command that it would be refused.
#[test]
fn an_agent_is_told_that_a_person_completes_what_it_took() {
    let s = building(&[task("B", &[], None)]);
    let agent = |args: &[&str]| s.call(LOOPX).args(args).env("CLAUDECODE", "1").run();
    let taken = agent(&["--json", "take"]).json();
    assert_eq!(taken["next_action"], Value::Null);
    let advice = text(&taken["advice"]);
    assert!(
        advice.contains("a person looks and completes it"),
        "{advice}"
    );
    assert_eq!(
        taken["next"],
        json!([
            "git loopx task release B",
            "git loopx task fail B --reason 'it does not pass'"
        ])
    );
    let shown = agent(&["task", "show", "--json"]).json();
    assert_eq!(shown["next"], taken["next"]);
    let again = agent(&["--json", "take"]).fails_with(6).error_json();
    let help = text(&again["error"]["help"]);
    assert!(
        !help.contains("task done") && help.contains("git loopx task release B"),
        "{help}"
    );
    let done = agent(&["--json", "task", "done"])
        .fails_with(6)
        .error_json();
    assert_eq!(done["error"]["code"], "agent_may_not");
    let person = s.loopx(&["--json", "task", "show", "B"]).json();
    assert!(
        person["next"].to_string().contains("task done B"),
        "{person}"
    );
}

/// A worktree beside the one that has the branch: who took a task there is led to its end there.
#[test]
fn whoever_has_a_task_in_a_detached_worktree_is_led_on_in_it() {
    let s = building(&[reads_two("A"), reads_two("B")]);
    s.git(&["worktree", "add", "--quiet", "--detach", "../beside"])
        .ok();
    let there = s.root().join("beside");
    let loopx = |args: &[&str]| s.loopx_in(&there, &[&["-s", DEMO][..], args].concat());
    let asked = loopx(&["next"]);
    asked.says("is checked out in");
    loopx(&["take", "A"]).ok();
    loopx(&["next"]).says("write the code in this worktree, and commit it");
    std::fs::write(there.join("code.txt"), "two\n").expect("written");
    s.git_in(&there, &["commit", "--quiet", "-am", "Two"]).ok();
    let next = loopx(&["next"]).line();
    assert_eq!(next, "git loopx -s demo task done A");
    s.call("sh").args(&["-c", &next]).cwd(&there).run().ok();
    // Its commits are held by no branch, and nothing is to be done here any more.
    loopx(&["next"]).says("git switch -c");
}

/// N6e: what a plan in two layers says besides its tasks stays, byte for byte.
#[test]
fn n6e_a_plan_in_two_layers_is_kept_whole_beside_its_tasks() {
    let plan = "{\n  \"summary\": \"Say it \\u00e9\",\n  \"approach\": [\"a  ```b\"],  \"task_ids\": [\"T1\"]\n}\n";
    let one = r#"{"id":"T1","title":"One","convergence":{"criteria":["The page is there"],"verification":"true"}}"#;
    let theirs = |s: &Sandbox| {
        s.write("theirs/plan.json", plan);
        s.write("theirs/.task/T1.json", one);
    };
    let s = planning(&[task("A", &[], Some(&["true"]))]);
    theirs(&s);
    let before = s.read(".loopx/demo/plan.md");
    let taken = s
        .loopx(&["task", "import", "theirs/plan.json", "--json"])
        .json();
    assert_eq!(
        (&taken["plan"], &taken["tasks"]),
        (&json!("plan.md"), &json!(1))
    );
    let after = s.loopx(&["cat", "plan.md"]).stdout;
    assert!(
        after.contains(&format!("## plan.json\n\n````json\n{plan}````\n")),
        "{after}"
    );
    assert!(
        after.contains(before.split("## Problem").nth(1).expect("a plan").trim()),
        "{after}"
    );
    // A list that does not fit leaves the plan as it is.
    s.write(".loopx/demo/plan.md", &before);
    refuses(
        &s,
        1,
        "task_list_invalid",
        &["task", "import", "theirs/plan.json"],
    );
    assert_eq!(s.read(".loopx/demo/plan.md"), before);

    let quick = Sandbox::new();
    quick.commit_file("code.txt", "one\n", "First").ok();
    quick.loopx(&["init"]).ok();
    quick.git(&["switch", "--quiet", "-c", "work"]).ok();
    quick.loopx(&["start", "--quick", "Say it"]).ok();
    theirs(&quick);
    let taken = quick
        .loopx(&["task", "import", "theirs/plan.json", "--json"])
        .json();
    assert_eq!(taken["plan"], Value::Null);
    assert!(
        taken["remarks"].to_string().contains("has no plan.md"),
        "{taken}"
    );
}

#[test]
fn n14_a_commit_of_a_task_that_names_no_file_leads_to_one_of_what_is_there() {
    let s = building(&[reads_two("A")]);
    s.loopx(&["take", "A"]).ok();
    s.write("code.txt", "two\n");
    let refused = s
        .loopx(&["--json", "task", "done", "--commit"])
        .fails_with(1);
    let help = text(&refused.error_json()["error"]["help"]);
    assert_eq!(help, "git commit -a");
    s.git(&["commit", "--quiet", "-am", "Two"]).ok();
    let refused = s
        .loopx(&["--json", "task", "done", "--commit"])
        .fails_with(1);
    let help = text(&refused.error_json()["error"]["help"]);
    types(&s, &help).ok();
}

#[test]
fn n14_a_list_on_a_branch_counts_what_is_done_there() {
    let s = building(&[reads_two("A"), task("B", &[], Some(&["true"]))]);
    s.loopx(&["take", "A"]).ok();
    s.commit_file("code.txt", "two\n", "Two").ok();
    s.loopx(&["task", "done", "A"]).ok();
    let done = |on: &str| s.loopx(&["task", "list", "--on", on, "--json"]).json()["done"].clone();
    assert_eq!((done("work"), done("main")), (json!(1), json!(0)));
}

#[test]
fn n14_an_optional_edge_a_gate_and_limits_are_written_by_options() {
    let s = planning(&[
        task("A", &[], Some(&["true"])),
        task("B", &[], Some(&["true"])),
    ]);
    let edit = [
        "task",
        "edit",
        "B",
        "--depends-on",
        "A",
        "--cap",
        "2",
        "--time-limit",
        "60",
    ];
    s.loopx(&edit).ok();
    let add = [
        "task",
        "add",
        "Decide",
        "--id",
        "D",
        "--kind",
        "decision",
        "--optional",
        "B",
        "--judges",
        "A",
    ];
    s.loopx(&add).ok();
    let view = s.loopx(&["task", "graph", "--json"]).json();
    let node = &view["nodes"][2];
    assert_eq!(
        (&node["optional"], &node["gate"]["judges"]),
        (&json!(["B"]), &json!(["A"])),
        "{node}"
    );
    let lines = s.read(".loopx/demo/tasks.jsonl");
    assert!(lines.contains(r#""cap":2,"time_limit":60"#), "{lines}");
    s.loopx(&[
        "task",
        "edit",
        "D",
        "--unset",
        "gate",
        "--kind",
        "checkpoint",
    ])
    .ok();
    assert!(!s.read(".loopx/demo/tasks.jsonl").contains("judges"));
}

/// R44-19: an edge of one kind says nothing of those of the other kind.
#[test]
fn r19_an_edge_of_one_kind_leaves_the_edges_of_the_other() {
    let s = planning(&[
        task("A", &[], Some(&["true"])),
        task("B", &["A"], Some(&["true"])),
        task("C", &[], Some(&["true"])),
    ]);
    let edit = |args: &[&str]| s.loopx(&[&["task", "edit", "B"], args].concat()).ok();
    let edges = || {
        let view = s.loopx(&["task", "graph", "--json"]).json();
        let node = &view["nodes"][1];
        (node["depends_on"].clone(), node["optional"].clone())
    };
    edit(&["--optional", "C"]);
    assert_eq!(edges(), (json!(["A", "C"]), json!(["C"])));
    edit(&["--depends-on", "C"]);
    assert_eq!(edges(), (json!(["C"]), Value::Null), "C has one edge");
    edit(&["--optional", "a"]);
    assert_eq!(edges(), (json!(["C", "a"]), json!(["a"])));
    edit(&["--unset", "depends_on"]);
    assert_eq!(edges(), (json!([]), Value::Null));
    let both = ["task", "add", "D", "--optional", "A", "--depends-on", "a"];
    let refused = s.loopx(&both).fails_with(2);
    assert!(refused.stderr.contains("found both"), "{refused}");
}

/// A7: a check that failed on the code as it is says the same again, in every stage.
#[test]
fn a_task_of_the_plan_that_failed_on_this_code_is_mended_before_it_is_tried_again() {
    let s = planning(&[of_stage("plan", "P", Some(&["false"])), reads_two("A")]);
    s.loopx(&["save"]).ok();
    s.loopx(&["take"]).ok();
    s.loopx(&["task", "done"]).fails_with(1);
    let next = s.loopx(&["next"]).fails_with(6);
    assert!(
        next.stderr.contains("P failed on this code: mend it"),
        "{next}"
    );
}

#[test]
fn a_list_that_no_amendment_can_take_is_no_amendment() {
    let s = building(&[reads_two("A"), task("B", &[], Some(&["true"]))]);
    s.loopx(&["take", "A"]).ok();
    s.commit_file("code.txt", "two\n", "Two").ok();
    s.loopx(&["task", "done"]).ok();
    let path = ".loopx/demo/tasks.jsonl";
    let list = s.read(path);
    // What is done does not change.
    s.write(path, list.replace("Do A", "Do it"));
    assert_eq!(next(&s), "git loopx checkout --force tasks.jsonl");
    types(&s, &next(&s)).ok();
    assert!(!next(&s).contains("checkout"));
    // What is no plan is mended.
    s.write(
        path,
        list.replace("Do B", "Do it")
            .replace("\"it is there\"", "\"works\""),
    );
    let said = s.loopx(&["next"]).fails_with(6);
    assert!(said.stderr.contains("mend tasks.jsonl"), "{said}");
    s.write(path, list.replace("Do B", "Do it"));
    assert!(next(&s).starts_with("git loopx amend"), "{}", next(&s));
}

/// A8: a hint is no command that would be refused, and no waiver where a look is asked for.
#[test]
fn a_step_of_a_task_that_waits_leads_to_what_it_waits_for() {
    let s = building(&[reads_two("A"), task("B", &["A"], None)]);
    for args in [
        &["task", "retry", "B", "--reason", "x"][..],
        &["task", "done", "B", "--manual", "--reason", "x"],
        &["task", "decide", "B", "--verdict", "proceed"],
    ] {
        let refused = s.loopx(&[&["--json"][..], args].concat());
        let help = refused.error_json()["error"]["help"].clone();
        assert_eq!(help, "git loopx task show B", "{args:?}");
    }
    s.loopx(&["take", "A"]).ok();
    s.commit_file("code.txt", "two\n", "Two").ok();
    s.loopx(&["task", "done"]).ok();
    let fresh = s.loopx(&["--json", "run"]).fails_with(5).error_json();
    assert_eq!(fresh["error"]["help"], "git loopx take");
}

/// A0: what `review --show`, `approve --show` and refusals call next is what `next` calls so, for whoever asks.
#[test]
fn a_refusal_and_a_preview_lead_where_next_does() {
    let s = building(&[reads_two("A")]);
    // Nothing is written yet.
    let refused = s.loopx(&["--json", "approve"]).fails_with(1).error_json();
    let help = text(&refused["error"]["help"]);
    assert!(help.contains("write the code"), "{help}");
    s.loopx(&["approve", "--show"]).says("write the code");
    s.commit_file("code.txt", "two\n", "Two").ok();
    s.loopx(&["run"]).ok();
    s.loopx(&["approve", "--to", "review"]).ok();
    s.loopx(&["review"]).ok();
    let agent = |args: &[&str]| s.call(LOOPX).args(args).env("CLAUDECODE", "1").run();
    let shown = agent(&["review", "--show", "--json"]).json();
    assert_eq!(shown["next_action"], Value::Null);
    assert_eq!(shown["waits"]["who"], "a person", "{shown:#}");
    assert!(
        !agent(&["review", "--show"])
            .stdout
            .contains("--verdict approve")
    );
}

#[test]
fn results_that_were_removed_here_are_saved_before_anybody_is_asked_again() {
    let mut report = task("R", &[], Some(&["true"]));
    report["outputs"] = json!(["tasks/R/report.md"]);
    let s = building(&[report, checkpoint("C", &["R"])]);
    s.loopx(&["take", "R"]).ok();
    s.write(".loopx/demo/tasks/R/report.md", "There.\n");
    // A16: what it leaves is there, and no code was named.
    assert_eq!(next(&s), "git loopx task done R");
    types(&s, &next(&s)).ok();
    s.loopx(&["task", "open", "C", "--reason", "seen"]).ok();
    std::fs::remove_dir_all(s.path().join(".loopx/demo/tasks/R")).expect("removed");
    assert_eq!(next(&s), "git loopx save");
    // R44-14: what was removed by accident comes back by what is named beside it.
    let back = "git loopx checkout --force tasks/R/report.md";
    s.loopx(&["status"]).says(back).ok();
    let refused = refuses(&s, 1, "task_step_invalid", &["take", "R"]);
    assert!(text(&refused["help"]).contains(back), "{refused}");
    types(&s, back).ok();
    assert_eq!(s.read(".loopx/demo/tasks/R/report.md"), "There.\n");
    std::fs::remove_dir_all(s.path().join(".loopx/demo/tasks/R")).expect("removed");
    s.loopx(&["save"])
        .says("saved as removed: tasks/R/report.md")
        .ok();
    let said = next(&s);
    assert!(said.contains("task open C"), "{said}");
    s.loopx(&["task", "open", "C", "--reason", "seen without"])
        .ok();
}

/// R44-14: the run of a check saves what is here, and whoever completes the task is told of it.
#[test]
fn r14_a_task_that_is_done_says_what_it_saved_beside_it() {
    let mut report = task("R", &[], Some(&["true"]));
    report["outputs"] = json!(["tasks/R/report.md"]);
    let s = building(&[report, task("S", &[], Some(&["true"]))]);
    s.loopx(&["take", "R"]).ok();
    s.write(".loopx/demo/tasks/R/report.md", "There.\n");
    s.loopx(&["task", "done", "R"]).ok();
    s.loopx(&["take", "S"]).ok();
    std::fs::remove_file(s.path().join(".loopx/demo/tasks/R/report.md")).expect("removed");
    s.loopx(&["task", "done", "S"])
        .says("saved as removed: tasks/R/report.md")
        .ok();
}

/// R44-15: a task that no command checks is ended by a word with a reason.
#[test]
fn r15_whoever_has_the_last_task_is_led_to_what_ends_it() {
    let s = building(&[task("B", &[], None)]);
    s.loopx(&["take", "B"]).ok();
    let refused = refuses(&s, 6, "task_held", &["take"]);
    let help = text(&refused["help"]);
    let done = "git loopx task done B --manual --reason 'it was looked at by hand'";
    assert!(help.starts_with(done), "{help}");
    types(&s, done).ok();
}

/// R44-21: no hint leads to a word that somebody else has to give.
#[test]
fn r21_refusals_lead_nobody_to_a_word_that_others_have_to_give() {
    let agent = |s: &Sandbox, args: &[&str]| {
        let call = s.call(LOOPX).args(&["--json"]).args(args);
        let out = call.env("CLAUDECODE", "1").run();
        text(&out.error_json()["error"]["help"])
    };
    let s = building(&[reads_two("A"), task("B", &[], None)]);
    s.commit_file("code.txt", "two\n", "Two").ok();
    s.loopx(&["run"]).ok();
    for args in [&["review"][..], &["archive"], &["approve", "--to", "build"]] {
        let help = agent(&s, args);
        assert!(
            !help.contains("--waive") && !help.contains("approve"),
            "{args:?}: {help}"
        );
    }
    s.loopx(&["take", "B"]).ok();
    s.loopx(&["task", "done", "B", "--manual", "--reason", "seen"])
        .ok();
    s.loopx(&["approve", "--to", "review"]).ok();
    s.loopx(&["review"]).ok();
    for args in [
        &["archive"][..],
        &["approve", "--to", "build"],
        &["approve", "--to", "done"],
    ] {
        let help = agent(&s, args);
        assert!(help.starts_with("wait for a person"), "{args:?}: {help}");
    }
    let refused = s.loopx(&["--json", "archive"]).error_json();
    assert_eq!(
        refused["error"]["help"],
        "git loopx review --verdict approve"
    );
}

#[test]
fn r21_an_author_who_may_not_judge_is_told_who_is_waited_for() {
    let s = Sandbox::new();
    s.commit_file("code.txt", "one\n", "First").ok();
    s.commit_file(
        "loopx.toml",
        "[review]\nindependence = \"require\"\n",
        "Policy",
    )
    .ok();
    s.loopx(&["init"]).ok();
    s.git(&["switch", "--quiet", "-c", "work"]).ok();
    s.loopx(&["start", "--quick", "Fix it"]).ok();
    s.commit_file("code.txt", "two\n", "Two").ok();
    s.loopx(&["run", "--", "true"]).ok();
    s.loopx(&["approve"]).ok();
    s.loopx(&["review"]).ok();
    for args in [
        &["archive"][..],
        &["approve", "--to", "build"],
        &["approve", "--to", "done"],
    ] {
        let refused = s
            .call(LOOPX)
            .args(&["--json"])
            .args(args)
            .run()
            .error_json();
        let help = text(&refused["error"]["help"]);
        assert!(help.starts_with("wait for a reviewer"), "{args:?}: {help}");
    }
}

#[test]
fn a_build_after_a_rework_is_not_finished_beside_work_of_the_review_that_saw_other_code() {
    let s = building(&[reads_two("A"), of_stage("review", "E", None)]);
    s.commit_file("code.txt", "two\n", "Two").ok();
    s.loopx(&["run"]).ok();
    s.loopx(&["approve", "--to", "review"]).ok();
    s.loopx(&["review"]).ok();
    s.loopx(&["take"]).ok();
    s.loopx(&["task", "done", "E", "--manual", "--reason", "read"])
        .ok();
    let back = [
        "review",
        "--verdict",
        "request-changes",
        "--target",
        "build",
        "--reason",
        "x",
    ];
    s.loopx(&back).ok();
    s.loopx(&["approve", "--to", "build", "--enter"]).ok();
    s.commit_file("code.txt", "two and more\n", "More").ok();
    s.loopx(&["run"]).ok();
    for _ in 0..6 {
        let step = next(&s);
        assert!(!step.contains("finish"), "{step}");
        if step.contains("task retry E") {
            return;
        }
        types(&s, &step).ok();
    }
    panic!("nobody was led to E");
}

/// A0: no reason of a refusal names a word of a person to an agent, in the document either.
#[test]
fn the_reasons_of_a_refusal_name_no_persons_word_to_an_agent() {
    let s = building(&[task("A", &[], None), task("B", &[], Some(&["true"]))]);
    s.commit_file("code.txt", "two\n", "Two").ok();
    let hints = |agent: bool| {
        let call = s.call(LOOPX).args(&["--json", "approve", "--to", "review"]);
        let call = if agent {
            call.env("CLAUDECODE", "1")
        } else {
            call
        };
        let error = call.run().fails_with(1).error_json()["error"].clone();
        let blockers = error["blockers"].as_array().cloned().unwrap_or_default();
        let helps = blockers.iter().map(|one| text(&one["help"]));
        helps.chain([text(&error["help"])]).collect::<Vec<_>>()
    };
    let is_word = |hint: &String| hint.contains("--waive") || hint.contains("--manual");
    assert!(hints(false).iter().any(is_word), "{:?}", hints(false));
    let led = hints(true);
    assert!(!led.iter().any(is_word), "{led:?}");
}

/// A11: whoever takes a session to another branch while its closed list was edited is led to what works, and then gets it.
#[test]
fn use_leads_where_the_closed_list_was_edited() {
    let s = building(&[reads_two("A")]);
    let edit = || {
        let path = format!(".loopx/{DEMO}/tasks.jsonl");
        let list = s.read(&path).replace("Do A", "Do all of A");
        s.write(&path, list);
    };
    let lead = |branch: &str| {
        s.git(&["switch", "--quiet", "-c", branch]).ok();
        let refused = s.loopx(&["--json", "use", DEMO]).fails_with(1).error_json();
        let help = text(&refused["error"]["help"]);
        let first = help.split("  ").next().unwrap_or_default().to_owned();
        // What `next` says is the same.
        assert_eq!(next(&s), first);
        types(&s, &first).ok();
        s.loopx(&["use", DEMO]).ok();
        first
    };
    edit();
    let amend = lead("other");
    assert!(amend.contains("amend --reason"), "{amend}");
    assert!(s.loopx(&["cat", "tasks.jsonl"]).ok().contains("all of A"));
    // In a review nothing amends the list, and the text is kept aside.
    s.commit_file("code.txt", "two\n", "Two").ok();
    s.loopx(&["run"]).ok();
    s.loopx(&["approve", "--enter"]).ok();
    let path = format!(".loopx/{DEMO}/tasks.jsonl");
    let list = s.read(&path);
    s.write(&path, list.replace("Do all", "Do most"));
    let aside = lead("third");
    assert!(aside.contains("checkout --force tasks.jsonl"), "{aside}");
    assert_eq!(s.read(&path), list);
}

/// A16: whoever takes a task is led as `next` leads, and not behind it.
#[test]
fn take_ends_in_what_next_says() {
    let s = building(&[
        reads_two("A"),
        reads_two("B"),
        task("LOOK", &[], None),
        checkpoint("C", &["A"]),
    ]);
    let agrees = |taken: &Value| {
        let led = next(&s);
        match taken["next_action"].as_str() {
            Some(command) => assert_eq!(led, command),
            None => assert!(led.contains(&text(&taken["advice"])), "{led}\n{taken:#}"),
        }
        led
    };
    let led = agrees(&s.loopx(&["--json", "take", "A"]).json());
    assert!(
        led.contains("write the code") && led.contains("then: git loopx task done A"),
        "{led}"
    );
    // Of two tasks the one that was taken last is at work.
    let led = agrees(&s.loopx(&["--json", "take", "B"]).json());
    assert!(led.contains("task done B"), "{led}");
    s.loopx(&["task", "release", "B"]).ok();
    s.write("code.txt", "two\n");
    let printed = s.loopx(&["take", "B"]);
    printed.says("next: git loopx task done B\n      or: git loopx task fail B");
    s.loopx(&["task", "done", "B"]).ok();
    s.loopx(&["task", "done", "A"]).ok();
    let led = agrees(&s.loopx(&["--json", "take", "LOOK"]).json());
    assert!(led.contains("task done LOOK --manual"), "{led}");
}

/// N14a: checks that lack a pass are run in one go, and one by one only where one of them failed.
#[test]
fn n14_several_checks_without_a_pass_are_run_by_one_command() {
    let s = building(&[
        reads_two("A"),
        task("B", &[], Some(&["true"])),
        task("C", &["A"], Some(&["true"])),
    ]);
    s.commit_file("code.txt", "two\n", "Two").ok();
    assert_eq!(next(&s), "git loopx run");
    types(&s, &next(&s)).ok();
    assert_eq!(next(&s), "git loopx finish --yes");
    s.commit_file("code.txt", "three\n", "Three").ok();
    assert_eq!(next(&s), "git loopx run");
    types(&s, &next(&s)).fails_with(1);
    let led = next(&s);
    assert!(led.contains("A failed on this code"), "{led}");
    s.commit_file("code.txt", "two and more\n", "More").ok();
    assert_eq!(next(&s), "git loopx run");
    // Whoever has not read the checks is led to read all of them first.
    let call = s.call(LOOPX).args(&["next"]);
    let call = call.env("GIT_AUTHOR_NAME", "Grace");
    let call = call.env("GIT_AUTHOR_EMAIL", "grace@example.org");
    let call = call.env("GIT_COMMITTER_NAME", "Grace");
    let led = call.env("GIT_COMMITTER_EMAIL", "grace@example.org").run();
    insta::assert_snapshot!(led.steady(), @"
    $ git-loopx next
    --- stderr
    error: no command is next for session demo: you have to do the next step yourself

    hint: nobody in this clone has allowed the checks of A, B, C to run; to read them: git loopx cat tasks.jsonl; to allow them and run them: git loopx run --all --trust
    --- exit 6
    ");
}

/// N14: behind its end a session is looked at by `diff` as by `show` and `log`.
#[test]
fn n14_diff_shows_a_session_that_has_ended() {
    let s = building(&[reads_two("A")]);
    s.commit_file("code.txt", "two\n", "Two").ok();
    s.loopx(&["run"]).ok();
    s.loopx(&["finish", "--yes"]).ok();
    let shown = s.loopx(&["diff", "@1"]).ok();
    assert!(shown.contains("+++ b/tasks.jsonl"), "{shown}");
    assert_eq!(s.loopx(&["-s", DEMO, "diff", "@1"]).ok(), shown);
    let command = "git loopx -s demo diff @1";
    s.loopx(&["diff"]).says(command).ok();
    assert_eq!(types(&s, command).ok(), shown);
}

/// N14: all that a gate may hold is written by one option, and what it may not is refused by the list.
#[test]
fn n14_a_whole_gate_is_written_by_an_option() {
    let s = planning(&[task("A", &[], Some(&["true"]))]);
    let add = |gate: &str, id: &str| {
        let add = ["task", "add", "Decide", "--id", id, "--kind", "decision"];
        s.loopx(&[&add[..], &["--gate", gate]].concat())
    };
    let gate = json!({
        "judges": ["A"],
        "rubric": { "dimensions": [{ "name": "clear", "weight": 1 }], "pass": 70 },
    });
    add(&gate.to_string(), "D").ok();
    let view = s.loopx(&["task", "show", "D", "--json"]).json();
    let shown = view.to_string();
    assert!(shown.contains("\"clear\""), "{view:#}");
    let line = s.read(".loopx/demo/tasks.jsonl");
    assert!(line.contains("\"pass\":70"), "{line}");
    let before = s.git(&["for-each-ref"]).ok();
    add("{\"judge\":[\"A\"]}", "E")
        .fails_with(1)
        .says("is `gate.judges` meant?");
    add("[1]", "E")
        .fails_with(2)
        .says("expected a JSON object like");
    add("{", "E")
        .fails_with(2)
        .says("expected a JSON object like");
    assert_eq!(s.git(&["for-each-ref"]).ok(), before);
}
