//! Faults that an enemy and a newcomer ran into: damage that a repair passed over, history that no server took, and
//! hints that led in a circle.

use crate::support::drive::Drive;
use crate::support::keys::{ADA, everybody, key, use_key};
use crate::support::server::{push, server};
use crate::support::store::{tamper, tamper_all};
use crate::support::tasks::{
    DEMO, building, clones_building, planning, planning_with, refuses, task, text,
};
use crate::support::{LOOPX, Output, Sandbox};
use serde_json::{Value, json};
use std::fs;

/// The words of the command that a refusal leads to.
fn hinted(error: &Value) -> Vec<String> {
    let help = text(&error["help"]);
    let command = help.split("  ").next().expect("a command");
    let command = command
        .strip_prefix("git loopx ")
        .unwrap_or_else(|| panic!("no command leads on: {help}"));
    shlex::split(command).expect("words")
}

/// Follows the command that a refusal leads to.
fn follow(s: &Sandbox, error: &Value) -> Output {
    s.loopx(&hinted(error))
}

/// A session that was archived, and its folder.
fn archived() -> (Drive, String) {
    let d = Drive::done();
    d.git(&["switch", "--quiet", "main"]).ok();
    d.git(&["merge", "--quiet", "demo"]).ok();
    d.does(&["-s", "demo", "archive"]);
    let month = d
        .git(&["ls-tree", "-d", "--name-only", "loopx", "archive/"])
        .line();
    (d, format!("{month}/demo"))
}

/// The files of a folder of the branch, as they can be put back elsewhere.
fn files(s: &Sandbox, folder: &str) -> Vec<(String, Vec<u8>)> {
    let listed = s
        .git(&[
            "ls-tree",
            "-r",
            "--name-only",
            "loopx",
            &format!("{folder}/"),
        ])
        .ok();
    let file = |path: &str| {
        let blob = s.git(&["show", &format!("loopx:{path}")]).stdout;
        let below = path.strip_prefix(folder).expect("below").to_owned();
        (below, blob.into_bytes())
    };
    listed.lines().map(file).collect()
}

fn tree(s: &Sandbox, path: &str) -> String {
    s.git(&["rev-parse", &format!("loopx:{path}")]).line()
}

fn damages(s: &Sandbox) -> Vec<Value> {
    let found = s.loopx(&["--json", "fsck"]).fails_with(1).json();
    found["damages"].as_array().expect("damages").clone()
}

#[test]
fn an_archived_session_that_somebody_deleted_comes_back() {
    let (d, folder) = archived();
    let before = tree(&d, &folder);
    tamper(&d, &folder, None);
    let hand = d.tip();
    let found = damages(&d);
    assert_eq!(found[0]["session"], folder.as_str(), "{found:#?}");
    assert_eq!(found[0]["what"], "the session has gone");
    assert_eq!(found[0]["since"], hand.as_str());
    d.loopx(&["fsck", "--repair"])
        .says("repaired 1 record")
        .ok();
    assert_eq!(tree(&d, &folder), before);
    d.loopx(&["fsck", "--full"]).says("all whole").ok();
}

/// The state of a session with another title, as a hand would write it.
fn forged_title(s: &Sandbox, id: &str) -> (String, Option<Vec<u8>>) {
    let path = format!("sessions/{id}/state.json");
    let state = s.git(&["show", &format!("loopx:{path}")]).ok();
    let forged = state.replace("\"title\": \"", "\"title\": \"Forged ");
    assert_ne!(forged, state);
    (path, Some(forged.into_bytes()))
}

#[test]
fn a_repair_says_what_it_could_not_mend() {
    let s = building(&[task("A", &[], Some(&["true"]))]);
    let ghost = "archive/2026-01/ghost";
    let bad = (format!("{ghost}/state.json"), Some(b"{}\n".to_vec()));
    tamper_all(&s, &[forged_title(&s, DEMO), bad]);
    let out = s.loopx(&["--json", "fsck", "--repair"]).fails_with(1);
    let found = out.says("archive/2026-01/ghost is not repaired").json();
    assert_eq!(found["left"], json!([ghost]));
    assert!(found["repaired"].is_string(), "{found:#}");
    let left = damages(&s);
    assert_eq!(left.len(), 1, "{left:#?}");
    assert_eq!(left[0]["session"], ghost);
    // Nothing else is left to do, and nothing is said to be done.
    s.loopx(&["fsck", "--repair"])
        .says("history has no whole copy")
        .fails_with(70);
}

#[test]
fn an_archived_session_in_another_month_goes_back_to_its_own() {
    let (d, folder) = archived();
    let before = tree(&d, &folder);
    let elsewhere = "archive/2020-02/demo";
    let moved = files(&d, &folder).into_iter();
    let moved = moved.map(|(below, bytes)| (format!("{elsewhere}{below}"), Some(bytes)));
    let edits: Vec<_> = moved.chain([(folder.clone(), None)]).collect();
    tamper_all(&d, &edits);
    let found = damages(&d);
    assert_eq!(found[0]["session"], elsewhere, "{found:#?}");
    assert!(text(&found[0]["what"]).contains(&folder), "{found:#?}");
    d.loopx(&["fsck", "--repair"]).ok();
    assert_eq!(tree(&d, &folder), before);
    d.git(&["rev-parse", &format!("loopx:{elsewhere}")])
        .fails_with(128);
    d.loopx(&["fsck", "--full"]).says("all whole").ok();
}

#[test]
fn a_state_is_stored_byte_for_byte_as_its_operations_give_it() {
    let s = building(&[task("A", &[], Some(&["true"]))]);
    let path = format!("sessions/{DEMO}/state.json");
    let state = s.git(&["show", &format!("loopx:{path}")]).ok();
    let before = tree(&s, &path);
    let (head, _) = state.rsplit_once('}').expect("an object");
    let more = format!("{head},\"evil\": 1}}\n");
    let blank = state.replace("\n", "\n ");
    for (text, what) in [
        (Some(more), "differs from what its operations give"),
        (Some(blank), "differs from what its operations give"),
        (None, "is not there"),
    ] {
        tamper(&s, &path, text.as_deref().map(str::as_bytes));
        let found = damages(&s);
        assert!(self::text(&found[0]["what"]).contains(what), "{found:#?}");
        s.loopx(&["fsck", "--repair"]).ok();
        assert_eq!(tree(&s, &path), before);
        s.loopx(&["fsck", "--full"]).says("all whole").ok();
    }
}

#[test]
fn a_part_of_a_state_that_is_no_plain_file_is_found_in_every_clone() {
    let tasks: Vec<Value> = (0..70)
        .map(|at| task(&format!("T{at}"), &[], Some(&["true"])))
        .collect();
    let s = building(&tasks);
    for at in 0..66 {
        s.loopx(&["-q", "task", "skip", &format!("T{at}"), "--reason", "x"])
            .ok();
    }
    let listed = s
        .git(&[
            "ls-tree",
            "--name-only",
            "loopx",
            &format!("sessions/{DEMO}/state/"),
        ])
        .ok();
    let part = listed.lines().next().expect("a part").to_owned();
    let blob = tree(&s, &part);
    for mode in ["100755", "120000"] {
        let index = s.root().join("odd-index");
        let git = |args: &[&str]| s.call("git").args(args).env("GIT_INDEX_FILE", &index).run();
        git(&["read-tree", "refs/heads/loopx"]).ok();
        git(&[
            "update-index",
            "--cacheinfo",
            &format!("{mode},{blob},{part}"),
        ])
        .ok();
        let made = git(&["write-tree"]).line();
        let before = s.git(&["rev-parse", "loopx"]).line();
        let commit = s.git(&[
            "commit-tree",
            &made,
            "-p",
            "loopx",
            "-m",
            "x",
            "-m",
            "Loopx-Event: x",
        ]);
        let commit = commit.line();
        s.git(&["update-ref", "refs/heads/loopx", &commit]).ok();
        let found = damages(&s);
        let said = found.iter().map(|one| text(&one["what"]));
        let said: Vec<String> = said.collect();
        assert!(said.len() > 1, "{mode}: {said:#?}");
        s.git(&["update-ref", "refs/heads/loopx", &before]).ok();
        s.loopx(&["doctor", "--accept"]).ok();
    }
}

/// A session whose branch a wired server has, and whose newest commits there are whole.
fn served() -> Sandbox {
    Sandbox::once("", || {
        let s = planning(&[task("A", &[], Some(&["true"]))]);
        server(&s);
        push(&s, &["work"]).ok();
        s
    })
}

#[test]
fn what_was_mended_before_it_was_pushed_is_no_dead_end() {
    let s = served();
    s.loopx(&["save"]).ok();
    tamper_all(&s, &[forged_title(&s, DEMO)]);
    s.loopx(&["task", "add", "More", "--manual", "look"]).ok();
    s.loopx(&["fsck", "--repair"]).ok();
    s.loopx(&["task", "add", "Again", "--manual", "look"]).ok();
    let before = s.git(&["rev-parse", "loopx"]).line();
    let list = s.loopx(&["cat", "tasks.jsonl"]).ok();
    let would = s.loopx(&["--json", "sync", "--dry-run"]).json();
    assert_eq!(would["left_behind"]["tip"], before.as_str());
    assert_eq!(s.git(&["rev-parse", "loopx"]).line(), before);
    let done = s.loopx(&["--json", "sync"]).json();
    assert_eq!(done["pushed"], true, "{done:#}");
    let kept = text(&done["left_behind"]["kept"]);
    assert_eq!(s.git(&["rev-parse", &kept]).line(), before);
    // Each good step is a commit of its own, and names the ones that it stands for.
    let subjects = s.git(&["log", "--format=%s", "origin/loopx"]).ok();
    assert!(!subjects.contains("tampered"), "{subjects}");
    assert!(!subjects.contains("repair"), "{subjects}");
    assert_eq!(subjects.matches("save").count(), 3, "{subjects}");
    assert!(
        s.git(&["log", "-1", "--format=%B", "loopx"])
            .ok()
            .contains("Loopx-Was: ")
    );
    assert_eq!(s.loopx(&["cat", "tasks.jsonl"]).ok(), list);
    s.loopx(&["fsck", "--full"]).says("all whole").ok();
    s.loopx(&["doctor"]).says("displaced").ok();
    let again = s.loopx(&["--json", "sync"]).json();
    assert_eq!(again["left_behind"], Value::Null);
    assert_eq!(again["sent"], 0);
}

#[test]
fn what_was_mended_goes_on_beside_what_others_pushed() {
    let s = served();
    let other = s.root().join("other");
    s.git(&[
        "clone",
        "--quiet",
        "../remote.git",
        other.to_str().expect("UTF-8"),
    ])
    .ok();
    s.loopx_in(&other, &["init"]).ok();
    s.loopx_in(&other, &["start", "--no-branch", "beside"]).ok();
    s.loopx_in(&other, &["sync"]).ok();
    s.loopx(&["save"]).ok();
    tamper_all(&s, &[forged_title(&s, DEMO)]);
    s.loopx(&["fsck", "--repair"]).ok();
    let done = s.loopx(&["--json", "sync"]).json();
    assert_eq!(done["pushed"], true, "{done:#}");
    s.loopx_in(&other, &["sync"]).ok();
    for dir in [s.path(), other.as_path()] {
        s.loopx_in(dir, &["-s", "beside", "status"]).ok();
        s.loopx_in(dir, &["fsck", "--full"]).says("all whole").ok();
    }
    assert_eq!(
        s.git(&["rev-parse", "loopx"]).line(),
        s.git_in(&other, &["rev-parse", "loopx"]).line()
    );
}

#[test]
fn what_was_mended_and_can_be_pushed_stays_as_it_is() {
    // Nobody refuses anything there, and the damage was pushed.
    let s = served();
    fs::remove_file(s.root().join("remote.git/hooks/pre-receive")).expect("a hook");
    tamper_all(&s, &[forged_title(&s, DEMO)]);
    push(&s, &["loopx"]).ok();
    s.loopx(&["fsck", "--repair"]).ok();
    let before = s.git(&["rev-parse", "loopx"]).line();
    let done = s.loopx(&["--json", "sync"]).json();
    assert_eq!(done["left_behind"], Value::Null);
    assert_eq!(s.git(&["rev-parse", "origin/loopx"]).line(), before);
}

#[test]
fn a_stray_file_beside_an_archived_session_is_left_aside_by_sync() {
    let (d, folder) = archived();
    d.git(&["init", "--quiet", "--bare", "../remote.git"]).ok();
    d.git(&["remote", "add", "origin", "../remote.git"]).ok();
    push(&d, &["main", "loopx"]).ok();
    let before = tree(&d, &folder);
    let tip = d.tip();
    tamper(&d, &format!("{folder}/stray.txt"), Some(b"stray\n"));
    push(&d, &["loopx"]).ok();
    d.git(&["update-ref", "refs/heads/loopx", &tip]).ok();
    let done = d.loopx(&["--json", "sync"]).json();
    assert_eq!(done["mended"][0]["session"], folder.as_str(), "{done:#}");
    assert_eq!(tree(&d, &folder), before);
    d.loopx(&["fsck", "--full"]).says("all whole").ok();
}

/// A pipeline of one task, as a file of the repository.
const OWN: &str = "title = \"Own\"\n[[nodes]]\nid = \"A\"\ntitle = \"Do it: {intent}\"\nskill = \"look\"\ncriteria = [\"it is there\"]\nverification = { manual = \"the page looks well\" }\n";

#[test]
fn a_skill_that_is_passed_over_is_named_where_it_says_otherwise() {
    let mut line = task("A", &[], Some(&["true"]));
    line["skill"] = json!("look");
    let s = planning(&[line]);
    let skill = |folder: &str, body: &str| {
        s.write(
            format!("{folder}/skills/look/SKILL.md"),
            format!("---\nname: look\n---\n{body}\n"),
        );
    };
    s.write("own.toml", OWN);
    let ids = |args: &[&str]| -> Vec<String> {
        let found = s.loopx(&[args, &["--json"]].concat()).json();
        let found = found["findings"].as_array().expect("findings").clone();
        found.iter().map(|one| text(&one["id"])).collect()
    };
    skill(".claude", "Look at it.");
    skill(".agents", "Look at it.");
    assert!(ids(&["pipeline", "check", "own.toml"]).is_empty());
    skill(".agents", "Look away.");
    assert_eq!(
        ids(&["pipeline", "check", "own.toml"]),
        ["pipeline_skill_displaced"]
    );
    insta::assert_snapshot!(s.loopx(&["task", "check"]).steady(), @"
    $ git-loopx task check
    tasks.jsonl:1: warning task_skill_displaced: A: the skill `look` is .claude/skills/look/SKILL.md, and .agents/skills/look/SKILL.md of that name says otherwise and is passed over
        git loopx edit tasks.jsonl
    demo: 1 task, 0 errors, 1 warning
    --- exit 0
    ");
    insta::assert_snapshot!(s.loopx(&["agent", "skills"]).steady(), @"
    $ git-loopx agent skills
      claude skill project  look
        passed over, with another text: .agents/skills/look/SKILL.md
      agent skill project  look
        passed over for .claude/skills/look/SKILL.md
    2 skills, 0 that cannot be used
    --- exit 0
    ");
}

#[test]
fn a_skill_that_says_nothing_is_nobody_s_to_follow() {
    let s = planning(&[]);
    s.write("own.toml", OWN);
    for empty in ["", "\n\n", "---\nname: look\n---\n\n"] {
        s.write(".agents/skills/look/SKILL.md", empty);
        s.loopx(&["pipeline", "check", "own.toml"])
            .says("pipeline_skill_missing")
            .says("it is empty")
            .fails_with(1);
        s.loopx(&["agent", "skills"])
            .says("1 skill, 1 that cannot be used")
            .ok();
    }
}

#[test]
fn a_prompt_that_is_no_text_hides_no_other() {
    let s = planning_with(&[("loopx/prompts/good.md", "# Good\n\nSay so.\n")], &[]);
    s.git(&["switch", "--quiet", "main"]).ok();
    s.write("loopx/prompts/bad.md", [0xff, 0xfe, b'\n']);
    s.git(&["add", "."]).ok();
    s.git(&["commit", "--quiet", "-m", "bad"]).ok();
    s.git(&["switch", "--quiet", "-c", "second"]).ok();
    s.loopx(&["start", "second"]).ok();
    s.loopx(&["agent", "prompt", "good"]).says("Say so.").ok();
    s.loopx(&["agent", "prompt"]).says("bad").ok();
    s.loopx(&["agent", "prompt", "bad"])
        .says("loopx/prompts/bad.md: expected UTF-8")
        .fails_with(1);
    for args in [
        &["agent", "prompt", "--check"][..],
        &["agent", "prompt", "bad", "--check"],
    ] {
        s.loopx(args)
            .says("loopx/prompts/bad.md:1: error prompt_unreadable: expected UTF-8")
            .fails_with(1);
    }
}

#[test]
fn a_task_gets_its_skill_and_its_outputs_on_the_command_line() {
    let s = planning(&[]);
    let args = [
        "task",
        "add",
        "Look",
        "--id",
        "A",
        "--skill",
        "look",
        "--output",
        "docs/a.md",
        "--output",
        "docs/b.md",
        "--manual",
        "read it",
    ];
    s.loopx(&args).ok();
    let line = || -> Value {
        let list = s.read(format!(".loopx/{DEMO}/tasks.jsonl"));
        serde_json::from_str(list.lines().last().expect("a line")).expect("JSON")
    };
    assert_eq!(line()["skill"], "look");
    assert_eq!(line()["outputs"], json!(["docs/a.md", "docs/b.md"]));
    s.loopx(&[
        "task",
        "edit",
        "A",
        "--skill",
        "see",
        "--output",
        "docs/c.md",
    ])
    .ok();
    assert_eq!(line()["skill"], "see");
    assert_eq!(line()["outputs"], json!(["docs/c.md"]));
    s.loopx(&["task", "edit", "A", "--unset", "skill"]).ok();
    assert_eq!(line()["skill"], Value::Null);
}

#[test]
fn a_stage_that_was_entered_is_not_named_as_the_next_step() {
    let s = planning(&[task("A", &[], Some(&["true"]))]);
    let said = s.loopx(&["approve", "--enter", "--reason", "agreed"]);
    let said = format!("{}{}", said.stdout, said.stderr);
    assert!(said.contains("approved plan->build"), "{said}");
    assert!(said.contains("in stage build"), "{said}");
    assert!(!said.contains("git loopx build"), "{said}");
}

#[test]
fn a_session_that_nobody_looked_at_is_told_from_one_that_waits_for_nobody() {
    let s = planning(&[]);
    for at in 0..21 {
        let name = format!("more-{at}");
        s.loopx(&["-q", "start", "--no-branch", &name]).ok();
    }
    let listed = s.loopx(&["list"]);
    let shown = listed.stdout.clone();
    let rows: Vec<&str> = shown.lines().filter(|row| row.contains(" ? ")).collect();
    assert_eq!(rows.len(), 2, "{listed}");
    assert!(!listed.stdout.contains(" - "), "{listed}");
    let name = rows[0].split_whitespace().find(|word| word.len() > 3);
    s.loopx(&["next", "-s", name.expect("a name")]).ok();
    listed.says("?: 2 sessions not checked").ok();
    let json = s.loopx(&["--json", "list"]).json();
    let sessions = json["sessions"].as_array().expect("sessions").iter();
    assert_eq!(sessions.filter(|one| one["judged"] == false).count(), 2);
}

#[test]
fn what_was_typed_stays_in_the_hint_of_a_pipeline_that_does_not_start() {
    let s = planning(&[]);
    s.write(format!(".loopx/{DEMO}/tasks.jsonl"), "");
    let asked = "research it, test the code and write a report";
    for args in [
        &["--team", "--for", asked][..],
        &["--team", "--for", asked, "--dry-run"],
        &[
            "impl-only",
            "--for",
            asked,
            "--prefix",
            "x-",
            "--on-complete",
            "keep",
            "--dry-run",
        ],
    ] {
        let error = refuses(
            &s,
            2,
            "pipeline_param",
            &[&["pipeline", "start"], args].concat(),
        );
        let hint = hinted(&error);
        for word in args {
            assert!(hint.iter().any(|one| one == word), "{word}: {hint:?}");
        }
        let hint: Vec<String> = hint
            .into_iter()
            .map(|word| word.replace("=VALUE", "=true"))
            .collect();
        let before = s.read(format!(".loopx/{DEMO}/tasks.jsonl"));
        s.loopx(&hint).ok();
        let wrote = before != s.read(format!(".loopx/{DEMO}/tasks.jsonl"));
        assert_eq!(wrote, !args.contains(&"--dry-run"), "{hint:?}");
    }
    // A second team is refused, and the way on keeps the request.
    let args = [
        "pipeline",
        "start",
        "--team",
        "--param",
        "check=true",
        "--for",
        asked,
    ];
    let error = refuses(&s, 1, "pipeline_id_taken", &args);
    follow(&s, &error).says("added").ok();
    // Nothing is written by what follows from a look.
    let error = refuses(
        &s,
        2,
        "pipeline_mode_open",
        &["pipeline", "start", "--from-text", "blah", "--dry-run"],
    );
    assert!(text(&error["help"]).ends_with("--team --dry-run --for blah"));
}

#[test]
fn the_intent_of_a_session_is_the_intent_of_its_pipelines() {
    let s = planning_with(&[("loopx/pipelines/own.toml", OWN)], &[]);
    s.git(&["switch", "--quiet", "-c", "second"]).ok();
    let intent = "# People sign in\n\nEverybody.\n";
    s.loopx(&["start", "signing", "--profile", "lite", "-m", intent])
        .ok();
    let dry = s
        .loopx(&["pipeline", "start", "own", "--dry-run", "--json"])
        .json();
    let line: Value = serde_json::from_str(&text(&dry["lines"][0])).expect("JSON");
    assert_eq!(line["title"], "Do it: People sign in");
    let other = [
        "pipeline",
        "start",
        "own",
        "--for",
        "x",
        "--dry-run",
        "--json",
    ];
    let line: Value =
        serde_json::from_str(&text(&s.loopx(&other).json()["lines"][0])).expect("JSON");
    assert_eq!(line["title"], "Do it: x");
}

#[test]
fn a_task_that_did_not_leave_its_file_leads_to_that_file() {
    let outputs = json!({ "outputs": ["docs/a.md"] });
    let mut line = task("A", &[], Some(&["test", "-e", "docs/a.md"]));
    line["outputs"] = outputs["outputs"].clone();
    let s = building(&[line]);
    s.loopx(&["run", "--task", "A"]).fails_with(1);
    let write = "write docs/a.md, which A leaves, then: git loopx";
    insta::assert_snapshot!(s.loopx(&["next"]).says(write).steady(), @"
    $ git-loopx next
    --- stderr
    error: no command is next for session demo: you have to do the next step yourself

    hint: write docs/a.md, which A leaves, then: git loopx run --task A
    --- exit 6
    ");
    s.loopx(&["take", "A"]).ok();
    insta::assert_snapshot!(s.loopx(&["next"]).says(write).steady(), @"
    $ git-loopx next
    --- stderr
    error: no command is next for session demo: you have to do the next step yourself

    hint: write docs/a.md, which A leaves, then: git loopx task done A
    --- exit 6
    ");
    s.write("docs/a.md", "a\n");
    s.loopx(&["next"]).says("git loopx task done A").ok();
    s.loopx(&["task", "done", "A"]).ok();
}

#[test]
fn a_task_whose_skill_is_missing_is_no_circle() {
    let mut line = task("A", &[], Some(&["true"]));
    line["skill"] = json!("nowhere");
    let s = building(&[
        line,
        task("B", &[], Some(&["true"])),
        task("C", &["B"], Some(&["true"])),
    ]);
    s.loopx(&["take", "B"]).ok();
    s.loopx(&["task", "done", "B"]).ok();
    assert_eq!(s.loopx(&["next"]).ok().trim(), "git loopx take");
    assert_eq!(
        text(&s.loopx(&["take", "--json"]).json()["card"]["task"]),
        "C"
    );
    s.loopx(&["task", "done", "C"]).ok();
    insta::assert_snapshot!(s.loopx(&["next"]).steady(), @"
    $ git-loopx next
    --- stderr
    error: no command is next for session demo: you have to do the next step yourself

    hint: A is not taken: no folder of a host has the skill `nowhere`, neither in the worktree nor at home: put it into .agents/skills/nowhere/SKILL.md, then: git loopx take A  or look what is there: git loopx agent skills  or name another skill: mend the file below .loopx, then: git loopx amend --reason 'the list has to change'
    --- exit 6
    ");
    s.write(".agents/skills/nowhere/SKILL.md", "Do it.\n");
    assert_eq!(s.loopx(&["next"]).ok().trim(), "git loopx take");
    s.loopx(&["take"]).ok();
}

#[test]
fn an_amendment_is_signed_in_each_hint_where_policy_asks_for_that() {
    for (policy, flag) in [
        ("[approve]\nsigned = [\"plan->build\"]\n", true),
        ("", false),
    ] {
        let files = [("loopx.toml", policy), ("loopx.signers", &*everybody())];
        let s = planning_with(&files, &[task("A", &[], Some(&["true"]))]);
        use_key(&s, key(ADA.2));
        let enter = ["approve", "--enter", "--reason", "agreed", "--sign"];
        let call = s.call(LOOPX).env("GIT_AUTHOR_NAME", ADA.0).args(&enter);
        let call = call.env("GIT_AUTHOR_EMAIL", ADA.1);
        call.env("GIT_COMMITTER_EMAIL", ADA.1).run().ok();
        let list = format!(".loopx/{DEMO}/tasks.jsonl");
        s.write(
            &list,
            s.read(&list) + &task("B", &[], Some(&["true"])).to_string() + "\n",
        );
        for args in [
            &["task", "add", "More"][..],
            &["save"],
            &["amend"],
            &["edit", "tasks.jsonl"],
        ] {
            let said = s.call(LOOPX).args(&["--json"]).args(args).run();
            let error = said.error_json()["error"].clone();
            let help = text(&error["help"]);
            assert!(help.contains("amend --reason"), "{args:?}: {help}");
            assert_eq!(help.contains("--sign"), flag, "{args:?}: {help}");
        }
        let show = s.loopx(&["amend", "--show", "--json"]).json();
        assert_eq!(
            text(&show["next_action"]).contains("--sign"),
            flag,
            "{show:#}"
        );
    }
}

#[test]
fn a_refused_save_speaks_of_the_file_that_it_is_refused_for() {
    let s = building(&[task("A", &[], Some(&["true"]))]);
    s.write(format!(".loopx/{DEMO}/notes.txt"), "mine\n");
    let plan = format!(".loopx/{DEMO}/plan.md");
    let text = s.read(&plan);
    s.write(&plan, format!("{text}more\n"));
    let said = s.loopx(&["save"]).says("plan.md").fails_with(1);
    assert!(!said.stderr.contains("notes.txt"), "{said}");
    s.write(&plan, text);
    s.loopx(&["save"])
        .says("not saved: notes.txt is no artifact")
        .fails_with(5);
}

#[test]
fn an_approval_of_what_was_approved_before_says_so() {
    let s = building(&[task("A", &[], Some(&["true"]))]);
    s.loopx(&["plan", "--reason", "the plan has to change"])
        .ok();
    let before = s.loopx(&["log", "--json"]).json()["operations"].clone();
    let said = s.loopx(&["approve", "--enter"]);
    let said = format!("{}{}", said.stdout, said.stderr);
    let rows = before.as_array().expect("operations");
    let first = rows.iter().find(|op| op["kind"] == "approved").expect("it");
    let wanted = format!("approved it (@{})", first["seq"]);
    assert!(
        said.contains("approved plan->build once more: nothing of it has changed since"),
        "{said}"
    );
    assert!(said.contains(&wanted), "{said}");
    // With another plan it is another word.
    s.loopx(&["plan", "--reason", "again"]).ok();
    let more = [
        "task",
        "add",
        "More",
        "--criterion",
        "it is",
        "--manual",
        "look",
    ];
    s.loopx(&more).ok();
    let said = s.loopx(&["--json", "approve"]).json();
    assert_eq!(said["before"], Value::Null);
}

#[test]
fn a_pipeline_that_was_killed_before_it_was_saved_starts_when_it_is_typed_again() {
    let s = planning(&[]);
    s.loopx(&["save"]).ok();
    let args = ["pipeline", "start", "spec-only"];
    let died = s
        .call(LOOPX)
        .args(&args)
        .env("LOOPX_FAILPOINT", "step-written")
        .run();
    assert_eq!(died.code, None, "{died}");
    let list = format!(".loopx/{DEMO}/tasks.jsonl");
    let left = s.read(&list);
    assert!(left.contains("RESEARCH-001"), "{left}");
    assert_eq!(s.loopx(&["cat", "tasks.jsonl"]).ok().trim(), "");
    s.loopx(&args).says("6 tasks of spec-only added").ok();
    assert_eq!(s.read(&list), left);
    assert_eq!(s.loopx(&["cat", "tasks.jsonl"]).ok(), left);
    // Once it is saved it is there.
    let error = refuses(&s, 1, "pipeline_id_taken", &args);
    follow(&s, &error).says("added").ok();
}

#[test]
fn n8_a_list_that_was_killed_before_it_was_saved_is_saved_when_the_command_is_typed_again() {
    for args in [
        &["task", "domain", "add", "login"][..],
        &["task", "add", "Sign in"],
        &["task", "import", "theirs.jsonl"],
        &["task", "import", "theirs.md"],
    ] {
        let s = planning(&[]);
        s.loopx(&["save"]).ok();
        s.write("theirs.jsonl", "{\"id\":\"T3\",\"title\":\"Third\"}\n");
        s.write("theirs.md", "## 1. Schema\n\n- [ ] Add the column\n");
        let call = s.call(LOOPX).args(args);
        let died = call.env("LOOPX_FAILPOINT", "step-written").run();
        assert_eq!(died.code, None, "{died}");
        let list = format!(".loopx/{DEMO}/tasks.jsonl");
        let left = s.read(&list);
        assert_eq!(s.loopx(&["cat", "tasks.jsonl"]).ok().trim(), "", "{args:?}");
        s.loopx(args).ok();
        assert_eq!(s.read(&list), left, "{args:?}");
        assert_eq!(s.loopx(&["cat", "tasks.jsonl"]).ok(), left, "{args:?}");
    }
}

#[test]
fn n8_a_refusal_by_what_is_here_and_not_saved_leads_to_save() {
    for args in [
        &["task", "domain", "add", "login"][..],
        &["task", "import", "theirs.jsonl"],
        &["task", "import", "theirs.jsonl", "--dry-run"],
        &["pipeline", "start", "spec-only"],
    ] {
        let s = planning(&[]);
        s.loopx(&["save"]).ok();
        s.write("theirs.jsonl", "{\"id\":\"T3\",\"title\":\"Third\"}\n");
        let list = format!(".loopx/{DEMO}/tasks.jsonl");
        let line = "{\"id\":\"T1\",\"title\":\"One\"}\n";
        s.write(&list, line);
        let words: Vec<&str> = args
            .iter()
            .copied()
            .filter(|word| *word != "--dry-run")
            .collect();
        let died = s
            .call(LOOPX)
            .args(&words)
            .env("LOOPX_FAILPOINT", "step-written")
            .run();
        assert_eq!(died.code, None, "{died}");
        let out = s.loopx(args).fails_with(1);
        assert!(out.stderr.contains("git loopx save"), "{out}");
        assert!(!out.stderr.contains("the list is as it was"), "{out}");
        s.loopx(&["save"]).ok();
        let left = s.read(&list);
        assert_eq!(s.loopx(&["cat", "tasks.jsonl"]).ok(), left);
        // What stands twice on the branch, too, is mended where it was given.
        let out = s.loopx(args).fails_with(1);
        assert!(!out.stderr.contains("git loopx save"), "{out}");
    }
}

#[test]
fn a_pipeline_that_is_newer_than_its_session_says_how_to_get_it() {
    let s = planning(&[]);
    s.write("loopx/pipelines/own.toml", OWN);
    let args = ["pipeline", "start", "own", "--dry-run"];
    let error = refuses(&s, 4, "pipeline_unknown", &args);
    assert!(
        text(&error["message"]).contains("newer than session"),
        "{error:#}"
    );
    assert!(
        text(&error["help"]).contains("merge that into this one"),
        "{error:#}"
    );
    s.git(&["stash", "-u", "--quiet"]).ok();
    s.git(&["switch", "--quiet", "main"]).ok();
    s.git(&["stash", "pop", "--quiet"]).ok();
    s.commit_file("loopx/pipelines/own.toml", OWN, "Own").ok();
    s.git(&["switch", "--quiet", "work"]).ok();
    s.git(&["merge", "--quiet", "main"]).ok();
    let error = refuses(&s, 4, "pipeline_unknown", &args);
    follow(&s, &error).ok();
    s.loopx(&args).ok();
}

#[test]
fn a_second_person_takes_what_is_free_beside_the_build_of_the_first() {
    let all = clones_building(
        2,
        &[
            task("A", &[], Some(&["true"])),
            task("B", &[], Some(&["true"])),
        ],
    );
    for at in 0..2 {
        all.git(at, &["config", "loopx.trust", "all"]).ok();
    }
    all.loopx(0, &["-s", DEMO, "take", "A"]).ok();
    all.loopx(0, &["-s", DEMO, "run", "--task", "A"]).ok();
    all.settle();
    all.git(0, &["push", "--quiet", "origin", "work"]).ok();
    all.git(1, &["fetch", "--quiet"]).ok();
    all.git(1, &["switch", "--quiet", "work"]).ok();
    let next = all.loopx(1, &["-s", DEMO, "next"]).ok();
    assert!(next.contains("take"), "{next}");
    let words = next.trim().strip_prefix("git loopx ").expect("a command");
    let words = shlex::split(words).expect("words");
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let words: Vec<&str> = if words.contains(&"-s") {
        words
    } else {
        [&["-s", DEMO], words.as_slice()].concat()
    };
    let card = all
        .loopx(1, &[words.as_slice(), &["--json"]].concat())
        .json();
    assert_eq!(card["card"]["task"], "B");
}

#[test]
fn a_state_that_was_written_past_the_program_is_shown_with_a_word() {
    let s = building(&[task("A", &[], Some(&["true"]))]);
    assert_eq!(s.loopx(&["status", "--json"]).json()["warnings"], json!([]));
    tamper_all(&s, &[forged_title(&s, DEMO)]);
    s.loopx(&["status"])
        .says("this status may be wrong: state.json differs from what its operations give")
        .ok();
    s.loopx(&["doctor"])
        .says("1 damaged, first demo")
        .fails_with(1);
    s.loopx(&["fsck", "--repair"]).ok();
    assert_eq!(s.loopx(&["status", "--json"]).json()["warnings"], json!([]));
}
