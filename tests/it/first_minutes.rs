//! Edges of the way that somebody meets in the first minutes: in a bare clone, after the end, in another worktree, with
//! an editor that fails, as an agent. Each answer is true, and what it leads to works when it is typed.

use crate::support::session::begin;
use crate::support::tasks::{DEMO, building, fill, planning, task};
use crate::support::{LOOPX, Output, Sandbox, keys, server};
use serde_json::Value;

/// The hint of a refusal.
fn hint(out: &Output) -> &str {
    let mut lines = out.stderr.lines();
    let line = lines.find_map(|line| line.strip_prefix("hint: "));
    line.unwrap_or_default()
}

/// A bare clone of a repository with an open session, and the repository.
fn bare() -> (Sandbox, std::path::PathBuf) {
    let s = planning(&[]);
    let dir = s.root().join("bare.git");
    s.git(&[
        "clone",
        "--quiet",
        "--bare",
        ".",
        dir.to_str().expect("UTF-8"),
    ])
    .ok();
    (s, dir)
}

#[test]
fn a_bare_clone_is_led_to_what_a_bare_clone_takes() {
    let (s, dir) = bare();
    for words in [
        &["start", "--branch", "fresh", "Fresh"][..],
        &["start", "--branch", "work", "Fresh"],
        &["start", "Fresh"],
    ] {
        let out = s.loopx_in(&dir, words);
        assert!(!out.stderr.contains("git switch"), "{words:?} {out}");
    }
    // What the refusal says, typed one after the other.
    let refused = s.loopx_in(&dir, &["start", "--branch", "fresh", "Fresh"]);
    let refused = refused.fails_with(4);
    assert_eq!(hint(&refused), "git branch fresh  (and again)");
    s.git_in(&dir, &["branch", "fresh"]).ok();
    s.loopx_in(&dir, &["start", "--branch", "fresh", "Fresh"])
        .ok();
    let out = s.loopx_in(&dir, &["-s", DEMO, "run"]);
    assert!(!hint(&out).starts_with("git loopx run"), "{out}");
}

#[test]
fn after_the_end_of_its_session_a_branch_has_nothing_left_to_do() {
    let s = Sandbox::new();
    s.commit_file("code.txt", "one\n", "First").ok();
    s.loopx(&["init"]).ok();
    // Nothing began here yet: there is no such thing as a next command of it.
    s.loopx(&["next"]).fails_with(4);
    s.loopx(&["start", "--quick", "Fix it"]).ok();
    s.commit_file("code.txt", "two\n", "Fix").ok();
    s.loopx(&["run", "--", "true"]).ok();
    s.loopx(&["finish", "--yes"]).ok();
    let out = s.loopx(&["next"]).fails_with(5);
    assert!(out.stderr.contains("fix-it has ended"), "{out}");
    assert!(hint(&out).starts_with("git loopx start"), "{out}");
    let out = s.loopx(&["--json", "next"]).fails_with(5);
    assert_eq!(out.error_json()["error"]["code"], "nothing_next");
    // What ended here is what `git loopx` alone and `status` show.
    s.loopx::<&str>(&[]).says("fix-it").ok();
    s.loopx(&["status"]).says("archived  on").ok();
    s.loopx(&["status", "fix-it"]).ok();
    // Also where a session had the title that is shown otherwise, what is shown begins one.
    s.loopx(&["start", "--quick", "Fix the timeout"]).ok();
    s.loopx(&["abandon"]).ok();
    let out = s.loopx(&["-s", "fix-it", "next"]).fails_with(5);
    assert_eq!(hint(&out), "git loopx start \"Log failed logins\"");
    s.call("sh").args(&["-c", hint(&out)]).run().ok();
}

#[test]
fn a_question_that_was_answered_says_so_in_the_list() {
    let s = planning(&[]);
    s.loopx(&["note", "--ask", "Which port?"]).ok();
    s.loopx(&["note", "--ask", "Which host?"]).ok();
    let rows = |args: &[&str]| -> Vec<Value> {
        let listed = s
            .loopx(&[&["--json", "note", "list"], args].concat())
            .json();
        listed["notes"].as_array().expect("notes").clone()
    };
    let seq = rows(&[])[0]["seq"].to_string();
    s.loopx(&["note", "--answer", &seq, "8080"]).ok();
    // Also where the answers themselves are left out.
    let questions = rows(&["--kind", "question"]);
    assert_eq!(questions.len(), 2);
    assert_eq!(questions[0]["open"], false);
    assert_eq!(questions[0]["answers"][0]["by"]["name"], "Ada Author");
    assert_eq!(questions[1]["open"], true);
    assert_eq!(questions[1]["answers"], Value::Null);
    let said = s.loopx(&["note", "list"]).ok();
    let heads: Vec<&str> = said
        .lines()
        .filter(|line| line.contains(" question "))
        .collect();
    assert!(heads[0].ends_with("by Ada Author"), "{said}");
    assert!(heads[0].contains("answered in @"), "{said}");
    assert!(heads[1].ends_with("open"), "{said}");
    assert_eq!(rows(&["--kind", "answer"])[0]["open"], Value::Null);
}

#[test]
fn a_word_that_no_task_can_have_is_refused_with_the_nearest() {
    let s = planning(&[]);
    let list = format!(".loopx/{DEMO}/tasks.jsonl");
    let before = s.read(&list);
    let mut all = String::new();
    for (option, word) in [
        ("--type", "feture"),
        ("--kind", "wrk"),
        ("--priority", "hihg"),
        ("--effort", "smal"),
        ("--stage", "biuld"),
    ] {
        let out = s.loopx(&["task", "add", "One", option, word]);
        all.push_str(&out.steady());
        all.push_str("\n\n");
    }
    insta::assert_snapshot!(all, @"
    $ git-loopx task add One --type feture
    --- stderr
    error: --type WORD: expected one of feature, enhancement, fix, refactor, testing, infrastructure, docs, chore, found `feture`; the nearest is feature

    hint: git loopx help task add
    --- exit 2

    $ git-loopx task add One --kind wrk
    --- stderr
    error: --kind WORD: expected one of work, decision, checkpoint, goal, found `wrk`; the nearest is work

    hint: git loopx help task add
    --- exit 2

    $ git-loopx task add One --priority hihg
    --- stderr
    error: --priority WORD: expected one of critical, high, medium, low, backlog, found `hihg`; the nearest is high

    hint: git loopx help task add
    --- exit 2

    $ git-loopx task add One --effort smal
    --- stderr
    error: --effort WORD: expected one of small, medium, large, found `smal`; the nearest is small

    hint: git loopx help task add
    --- exit 2

    $ git-loopx task add One --stage biuld
    --- stderr
    error: --stage STAGE: expected one of clarify, plan, build, review, done, found `biuld`; the nearest is build

    hint: git loopx help task add
    --- exit 2
    ");
    assert_eq!(s.read(&list), before);
    s.loopx(&["task", "add", "One", "--type", "fix"]).ok();
    s.loopx(&["task", "edit", "TASK-001", "--type", "feture"])
        .fails_with(2);
    s.loopx(&["task", "edit", "TASK-001", "--type", "docs"])
        .ok();
    assert!(s.read(&list).contains("\"type\":\"docs\""));
}

#[test]
fn what_a_task_waits_for_outside_is_changed_in_place() {
    let s = planning(&[]);
    let list = format!(".loopx/{DEMO}/tasks.jsonl");
    let own = |line: &str| -> Value { serde_json::from_str(line).expect("a line") };
    s.loopx(&["task", "add", "One", "--wait-person", "any"])
        .ok();
    let waits = |s: &Sandbox| own(s.read(&list).trim())["waits"].clone();
    assert_eq!(waits(&s), serde_json::json!([{"person": "any"}]));
    s.loopx(&[
        "task",
        "edit",
        "TASK-001",
        "--wait-time",
        "2026-12-01T00:00:00Z",
        "--wait-commit",
        "main:v1",
        "--wait-path",
        "main:docs/x.md",
        "--wait-evidence",
        "security:ci",
        "--wait-evidence",
        "smoke",
        "--wait-session",
        "docs:archived",
    ])
    .ok();
    let wanted = serde_json::json!([
        {"time": "2026-12-01T00:00:00Z"},
        {"branch": "main", "contains": "v1"},
        {"branch": "main", "path": "docs/x.md"},
        {"evidence": "security", "role": "ci"},
        {"evidence": "smoke"},
        {"session": "docs", "stage": "archived"},
    ]);
    assert_eq!(waits(&s), wanted);
    // One spelling for all of them, which issues have, too.
    let until = |conditions: &[&str]| {
        let all = conditions.iter().flat_map(|one| ["--until", *one]);
        let args: Vec<&str> = ["task", "edit", "TASK-001"]
            .into_iter()
            .chain(all)
            .collect();
        s.loopx(&args)
    };
    until(&["person=any"]).ok();
    assert_eq!(waits(&s), serde_json::json!([{"person": "any"}]));
    until(&[
        "time=2026-12-01T00:00:00Z",
        "merged=v1@main",
        "path=docs/x.md@main",
        "evidence=security@ci",
        "evidence=smoke",
        "session=docs",
    ])
    .ok();
    assert_eq!(waits(&s), wanted);
    until(&["path=../x@main"])
        .fails_with(2)
        .says("inside the repository");
    until(&["day=2026-12-01"])
        .fails_with(2)
        .says("merged=COMMIT@BRANCH");
    let help = s.loopx(&["help", "task", "edit"]).ok();
    assert!(
        help.contains("--until") && !help.contains("--wait"),
        "{help}"
    );
    // What cannot be understood changes nothing.
    let before = s.read(&list);
    let edit = |option: &str, value: &str| s.loopx(&["task", "edit", "TASK-001", option, value]);
    edit("--wait-path", "main")
        .fails_with(2)
        .says("found `main`");
    edit("--wait-time", "tomorrow").fails_with(1);
    edit("--wait-session", "docs:soon").fails_with(1);
    assert_eq!(s.read(&list), before);
    edit("--unset", "waits").ok();
    assert_eq!(waits(&s), Value::Null);
}

#[test]
fn the_help_of_a_command_is_one_document() {
    let s = Sandbox::new();
    let help = s.loopx(&["help", "task", "add", "--json"]).json();
    assert_eq!(help["command"], "help");
    assert_eq!(help["name"], "task add");
    assert_eq!(help["schema"], 1);
    let usage = help["usage"].as_str().expect("usage");
    assert!(usage.starts_with("git loopx task add"), "{usage}");
    let options = help["options"].as_array().expect("options");
    let work = options.iter().find(|one| one["long"] == "--type");
    let words = work.expect("--type")["one_of"].as_array().expect("words");
    assert!(words.iter().any(|word| word == "feature"));
    let examples = help["examples"].as_array().expect("examples");
    assert!(examples.iter().all(|line| {
        line.as_str()
            .is_some_and(|line| line.starts_with("git loopx task add"))
    }));
    // The other way to ask, an alias, and a group.
    assert_eq!(s.loopx(&["task", "add", "--help", "--json"]).json(), help);
    assert_eq!(s.loopx(&["--json", "help", "ls"]).json()["name"], "list");
    let group = s.loopx(&["help", "--json", "adr"]).json();
    let parts = group["commands"].as_array().expect("commands");
    assert!(parts.iter().any(|part| part == "promote"));
    let out = s.loopx(&["help", "nothing", "--json"]).fails_with(2);
    assert_eq!(out.error_json()["error"]["code"], "command_line_invalid");
}

#[test]
fn plan_in_a_build_says_that_it_is_done_and_how_to_go_back() {
    let s = building(&[task("A", &[], None)]);
    let out = s.loopx(&["plan"]).fails_with(1);
    assert!(out.stderr.contains("the plan is done"), "{out}");
    assert!(!out.stderr.contains("clarify"), "{out}");
    assert!(hint(&out).starts_with("git loopx plan --reason"), "{out}");
    s.loopx(&["plan", "--reason", "it was wrong"]).ok();
}

#[test]
fn more_of_a_light_plan_are_returns_and_not_drafts() {
    let s = planning(&[]);
    s.loopx(&["plan", "--more", "1", "--reason", "it takes longer"])
        .says("one more return to the plan is allowed")
        .ok();
    let s = Sandbox::new();
    begin(&s, "");
    let said = s.loopx(&["plan", "--more", "2", "--reason", "x"]).ok();
    assert!(said.contains("7 drafts are allowed now"), "{said}");
}

#[test]
fn tasks_that_wait_for_their_stage_are_not_stalled() {
    let s = planning(&[task("A", &[], None), task("B", &["A"], None)]);
    let out = s.loopx(&["task", "graph"]);
    assert!(!out.stderr.contains("no task is ready"), "{out}");
    assert_eq!(
        s.loopx(&["--json", "task", "graph"]).json()["stalled"],
        false
    );
    assert_eq!(
        s.loopx(&["--json", "task", "list"]).json()["stalled"],
        false
    );
}

/// A worktree of the session's repository in which HEAD is detached.
fn detached(s: &Sandbox) -> std::path::PathBuf {
    let dir = s.root().join("beside");
    let path = dir.to_str().expect("UTF-8");
    s.git(&["worktree", "add", "--quiet", "--detach", path])
        .ok();
    dir
}

#[test]
fn what_leads_on_from_a_detached_worktree_names_its_session() {
    let s = building(&[task("A", &[], Some(&["true"]))]);
    let dir = detached(&s);
    let said = s.loopx_in(&dir, &["take", "--peek"]).ok();
    assert!(
        said.contains(&format!("git loopx -s {DEMO} take A")),
        "{said}"
    );
    let said = s.loopx_in(&dir, &["-s", DEMO, "take"]).ok();
    let line = format!("git loopx -s {DEMO} task done A");
    assert!(said.contains(&line), "{said}");
    s.loopx_in(&dir, &["-s", DEMO, "task", "done", "A"]).ok();
    // Where the session's branch is checked out nobody has to name it.
    let said = s.loopx(&["-s", DEMO, "task", "list"]).ok();
    assert!(!said.contains("git loopx -s"), "{said}");
}

#[test]
fn finish_judges_no_other_branch_than_the_one_of_the_session() {
    let s = building(&[task("A", &[], Some(&["true"]))]);
    s.commit_file("code.txt", "two\n", "Work").ok();
    s.loopx(&["run"]).ok();
    let dir = detached(&s);
    s.git_in(&dir, &["switch", "--quiet", "-c", "another", "HEAD~1"])
        .ok();
    let before = s.git(&["rev-parse", "loopx"]).ok();
    for args in [&["-s", DEMO, "finish", "--yes"][..], &["finish", DEMO]] {
        let out = s.loopx_in(&dir, args).fails_with(1);
        assert!(out.stderr.contains("is bound to work"), "{out}");
        let there = format!("cd {}", s.path().display());
        assert_eq!(hint(&out), there, "{out}");
    }
    assert_eq!(s.git(&["rev-parse", "loopx"]).ok(), before);
}

#[test]
fn an_editor_that_fails_leaves_a_way_without_it() {
    let s = planning(&[]);
    let out = s
        .call(LOOPX)
        .args(&["edit", "plan.md"])
        .env("GIT_EDITOR", "false")
        .run()
        .fails_with(1);
    let file = s.path().join(format!(".loopx/{DEMO}/plan.md"));
    let wanted = format!(
        "write {} in another program, then: git loopx save",
        file.display()
    );
    assert!(hint(&out).starts_with(&wanted), "{out}");
    s.write(&file, "# Plan\n\n## Problem\n\nAnother.\n");
    s.loopx(&["save"]).ok();
}

#[test]
fn an_agent_does_not_widen_trust_in_its_own_call() {
    let s = building(&[task("A", &[], Some(&["true"]))]);
    let dir = s.root().join("clone");
    s.git(&["clone", "--quiet", ".", dir.to_str().expect("UTF-8")])
        .ok();
    for (name, value) in [("user.name", "Bob"), ("user.email", "bob@example.org")] {
        s.git_in(&dir, &["config", name, value]).ok();
    }
    s.git_in(&dir, &["branch", "--quiet", "loopx", "origin/loopx"])
        .ok();
    s.git_in(&dir, &["switch", "--quiet", "work"]).ok();
    s.loopx_in(&dir, &["-s", DEMO, "take", "A"]).ok();
    let done = |agent: bool, set: bool| {
        let mut call = s.call("git").cwd(&dir);
        if agent {
            call = call.env("CLAUDECODE", "1");
        }
        let set: &[&str] = if set { &["-c", "loopx.trust=all"] } else { &[] };
        call.args(&[set, &["loopx", "task", "done", "A"]].concat())
            .run()
    };
    assert_eq!(done(false, false).code, Some(6));
    let out = done(true, true);
    assert_eq!(out.code, Some(6), "{out}");
    // What the files of the configuration say holds for everybody.
    s.git_in(&dir, &["config", "loopx.trust", "signed"]).ok();
    assert_eq!(done(true, true).code, Some(6));
    // A person may say so in a call.
    done(false, true).ok();
}

#[test]
fn init_names_the_sessions_that_a_remote_has_open() {
    let s = planning(&[]);
    for name in ["one", "two", "three", "gone"] {
        s.loopx(&["start", name, "--no-branch"]).ok();
    }
    s.loopx(&["-s", "gone", "abandon"]).ok();
    let dir = s.root().join("clone");
    s.git(&["clone", "--quiet", ".", dir.to_str().expect("UTF-8")])
        .ok();
    let said = s.loopx_in(&dir, &["init"]).ok();
    assert!(
        said.contains("4 sessions are open: demo, one, three, and 1 more\n"),
        "{said}"
    );
    assert!(said.contains("next: git loopx list\n"), "{said}");
    let again = s.loopx_in(&dir, &["--json", "init"]).json();
    assert_eq!(
        again["open"],
        serde_json::json!(["demo", "one", "three", "two"])
    );
    let fresh = Sandbox::new();
    let said = fresh.loopx(&["init"]).ok();
    assert!(!said.contains("open"), "{said}");
}

#[test]
fn a_light_plan_with_nothing_in_it_goes_nowhere_whatever_reason_is_given() {
    let s = Sandbox::new();
    s.commit_file("code.txt", "one\n", "First").ok();
    s.loopx(&["init"]).ok();
    s.git(&["switch", "--quiet", "-c", "work"]).ok();
    s.loopx(&["start", "--profile", "lite", "Fix it"]).ok();
    s.loopx(&["plan", "--reason", "it is small"]).fails_with(5);
    for words in [
        &["approve"][..],
        &["approve", "--enter", "--reason", "it is small"],
        &["build", "--reason", "it is small"],
        &["finish", "--yes", "--reason", "it is small"],
    ] {
        let out = s.loopx(words).fails_with(1);
        assert!(out.stderr.starts_with("refused: "), "{out}");
    }
    let status = s.loopx(&["--json", "status"]).json();
    assert_eq!(status["stage"], "plan");
}

/// A repository whose policy wants signed verdicts and approvals, and whose git signs what Ada says.
fn signed() -> Sandbox {
    Sandbox::once("", || {
        let s = Sandbox::new();
        let policy = "[gates]\nprotected = [\"main\"]\n[review]\nsigned = true\n[approve]\nsigned = [\"review->done\"]\n";
        s.write("loopx.toml", policy);
        s.write("loopx.signers", keys::everybody());
        s.write("code.txt", "one\n");
        s.git(&["add", "."]).ok();
        s.git(&["commit", "--quiet", "-m", "First"]).ok();
        s.loopx(&["init"]).ok();
        keys::use_key(&s, keys::key("ada"));
        s.git(&["config", "loopx.sign", "true"]).ok();
        server::server(&s);
        s.git(&["switch", "--quiet", "-c", "work"]).ok();
        s
    })
}

#[test]
fn a_signed_light_session_lands_with_its_archive() {
    for profile in ["quick", "lite"] {
        let s = signed();
        s.loopx(&["start", "--profile", profile, DEMO]).ok();
        if profile == "lite" {
            let tasks = [task("A", &[], Some(&["true"]))];
            fill(&s, &tasks);
            s.loopx(&["approve", "--enter", "--reason", "agreed"]).ok();
        }
        s.commit_file("code.txt", "two\n", "Work").ok();
        match profile {
            "quick" => s.loopx(&["run", "--", "true"]).ok(),
            _ => s.loopx(&["run"]).ok(),
        };
        // Nobody reviewed it yet: neither the code nor the loopx branch makes it land.
        server::refused(&s, &["work:main", "loopx"], "protected_without_session");
        s.loopx(&["finish", "--yes"]).ok();
        server::push(&s, &["work:main", "loopx"]).ok();
        let there = server::remote(&s);
        let tip = s.git_in(&there, &["rev-parse", "main"]).line();
        assert_eq!(tip, s.git(&["rev-parse", "work"]).line());
        let archive = s
            .git_in(&there, &["ls-tree", "-r", "--name-only", "loopx"])
            .ok();
        assert!(
            archive.contains(&format!("/{DEMO}/state.json")),
            "{archive}"
        );
        assert!(archive.lines().any(|path| path.starts_with("archive/")));
    }
}

#[test]
fn a_run_of_a_brief_that_is_not_saved_is_signed_and_saves_it() {
    let s = signed();
    s.loopx(&["start", "--quick", DEMO]).ok();
    s.commit_file("code.txt", "two\n", "Work").ok();
    let file = format!(".loopx/{DEMO}/brief.md");
    let brief = s
        .read(&file)
        .replace("## Checks\n", "## Checks\n\n- `true`\n");
    s.write(&file, &brief);
    s.loopx(&["run"]).ok();
    assert_eq!(s.loopx(&["cat", "brief.md"]).ok(), brief);
    let shown = s.loopx(&["--json", "show"]).json();
    let runs = shown["state"]["evidence"].as_array().expect("runs");
    assert_eq!(runs.len(), 1);
    let op = runs[0]["op"].as_str().expect("an id");
    let names = s.git(&["ls-tree", "-r", "--name-only", "loopx"]).ok();
    let is_signed = |path: &str| path.ends_with(&format!("{op}.json.sig"));
    assert!(names.lines().any(is_signed), "{names}");
    s.loopx(&["finish", "--yes"]).ok();
}

#[test]
fn u3_status_judges_the_files_as_they_lie_there_and_not_what_was_saved() {
    let s = planning(&[task("A", &[], Some(&["true"]))]);
    // Nothing of it was saved, and nothing is lacking.
    let blockers = |s: &Sandbox| s.loopx(&["status", "--json"]).json()["blockers"].clone();
    let asked = blockers(&s).to_string();
    assert!(!asked.contains("plan.md"), "{asked}");
    s.write(format!(".loopx/{DEMO}/tasks.jsonl"), "no list\n");
    let asked = blockers(&s).to_string();
    assert!(asked.contains("tasks.jsonl"), "{asked}");
    fill(&s, &[task("A", &[], Some(&["true"]))]);
    s.loopx(&["save"]).ok();
    std::fs::remove_file(s.path().join(format!(".loopx/{DEMO}/plan.md"))).expect("a file");
    let asked = blockers(&s).to_string();
    assert!(asked.contains("plan.md"), "{asked}");
}

#[test]
fn u15_beside_several_sessions_status_asks_which_and_names_no_ended_session() {
    let s = Sandbox::new();
    s.commit_file("code.txt", "one\n", "First").ok();
    s.loopx(&["init"]).ok();
    for title in ["One", "Two", "Three"] {
        s.loopx(&["start", "--no-branch", title]).ok();
    }
    s.loopx(&["-s", "three", "abandon", "--reason", "no"]).ok();
    s.git(&["switch", "--quiet", "-c", "side"]).ok();
    let out = s.loopx(&["status"]).fails_with(2);
    assert!(
        out.stderr.contains("one, two") && !out.stderr.contains("three"),
        "{out}"
    );
    assert_eq!(hint(&out), "git loopx use one  or  git loopx -s one status");
    for id in ["one", "two"] {
        s.loopx(&["-s", id, "abandon", "--reason", "no"]).ok();
    }
    s.loopx(&["list"])
        .says("no active session; 3 ended ones: git loopx list --all")
        .ok();
}
