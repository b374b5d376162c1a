//! Profiles: how much a change has to say before it is done, who may lighten that, and what lands with it.

use crate::support::Sandbox;
use crate::support::landing::{self, push, rev, serve};
use serde_json::Value;

/// A repository with code, a check of it and policy, on the branch `work`; sessions begin as for anybody.
fn repository(policy: &str) -> Sandbox {
    Sandbox::once(format!("{policy:?}"), || {
        let s = Sandbox::new();
        s.write("src/timeout", "30\n");
        s.write("check.sh", "grep -q 10 src/timeout\n");
        s.write("specs/session/spec.md", SPEC);
        if !policy.is_empty() {
            s.write("loopx.toml", policy);
        }
        s.git(&["add", "."]).ok();
        s.git(&["commit", "--quiet", "-m", "first"]).ok();
        s.loopx(&["init"]).ok();
        s.git(&["switch", "--quiet", "-c", "work"]).ok();
        s
    })
}

const SPEC: &str = "# Session\n\n## Purpose\n\nSessions of people.\n\n## Requirements\n\n### Requirement: Idle timeout\n\
The system SHALL end a session that is idle for 30 minutes.\n\n#### Scenario: Idle\n- **WHEN** idle\n- **THEN** it ends\n";
const DELTA: &str = "# Domain: session\n\n## MODIFIED Requirements\n\n### Requirement: Idle timeout\n\
The system SHALL end a session that is idle for 10 minutes.\n\n#### Scenario: Idle\n- **WHEN** idle\n- **THEN** it ends\n";
const PLAN: &str = "---\nscope: [\"src/**\"]\n---\n# Plan\n\n## Problem\n\nLong.\n\n## Approach\n\nShorter.\n\n## Risks\n\nNone.\n";

fn edit_code(s: &Sandbox) {
    s.commit_file("src/timeout", "10\n", "Ten minutes").ok();
}

/// The files of the working copy, by name.
fn files(s: &Sandbox, id: &str) -> Vec<String> {
    let root = s.path().join(".loopx").join(id);
    let all = s.snapshot(&root).into_iter();
    let mut names: Vec<String> = all
        .map(|(path, ..)| {
            path.strip_prefix(&root)
                .unwrap_or(&path)
                .display()
                .to_string()
        })
        .filter(|path| path.contains('.'))
        .collect();
    names.sort();
    names
}

fn status(s: &Sandbox) -> Value {
    s.loopx(&["status", "--json"]).json()
}

#[test]
fn a_quick_change_needs_one_file_and_five_commands() {
    let s = repository("");
    s.loopx(&["start", "--quick", "Shorter idle timeout"]).ok();
    assert_eq!(files(&s, "shorter-idle-timeout"), ["brief.md"]);
    let brief = s.read(".loopx/shorter-idle-timeout/brief.md");
    assert!(
        brief.contains("## Why\n\nShorter idle timeout\n"),
        "{brief}"
    );
    edit_code(&s);
    // No check was named yet, so there is nothing that could be finished.
    let refused = s
        .loopx(&["finish", "--yes", "--json"])
        .fails_with(1)
        .error_json();
    assert_eq!(
        refused["error"]["blockers"][0]["code"],
        "brief_check_missing"
    );
    s.loopx(&["run", "--", "sh", "check.sh"]).ok();
    assert!(
        s.read(".loopx/shorter-idle-timeout/brief.md")
            .contains("- `sh check.sh`\n")
    );
    let done = s.loopx(&["finish", "--yes", "--json"]).json();
    assert_eq!(
        (done["self_reviewed"].as_bool(), done["archived"].as_bool()),
        (Some(true), Some(true))
    );
    // The archive carries why no spec changed.
    let message = s.git(&["log", "-1", "--format=%B", "work"]).ok();
    assert!(message.contains("Shorter idle timeout"), "{message}");
}

#[test]
fn a_command_that_fails_or_is_there_already_is_not_written_into_the_brief() {
    let s = repository("");
    s.loopx(&["start", "--quick", "it"]).ok();
    s.loopx(&["run", "--", "false"]).fails_with(1);
    s.loopx(&["run", "--", "true"]).ok();
    s.loopx(&["run", "--", "true"]).ok();
    let brief = s.read(".loopx/it/brief.md");
    assert_eq!(brief.matches("- `true`").count(), 1, "{brief}");
    assert!(!brief.contains("false"), "{brief}");
    let ran = s.loopx(&["show", "--json"]).json();
    let evidence = ran["state"]["evidence"]
        .as_array()
        .expect("runs")
        .last()
        .cloned();
    assert_eq!(evidence.expect("a run")["task"], "check-1");
}

#[test]
fn the_delta_of_a_brief_reaches_the_specs() {
    let s = repository("");
    s.loopx(&["start", "--quick", "it"]).ok();
    let brief = format!("# It\n\n## Why\n\nToo long.\n\n## Checks\n\n- `sh check.sh`\n\n{DELTA}");
    s.write(".loopx/it/brief.md", brief);
    edit_code(&s);
    s.loopx(&["run", "--task", "check-1"]).ok();
    s.loopx(&["finish", "--yes"]).ok();
    assert!(
        s.read("specs/session/spec.md")
            .contains("idle for 10 minutes")
    );
}

#[test]
fn a_fault_of_the_delta_in_a_brief_is_named_by_the_line_of_the_brief() {
    let s = repository("");
    s.loopx(&["start", "--quick", "it"]).ok();
    let delta = DELTA.replace(
        "### Requirement: Idle timeout",
        "### Requirement: Nobody knows",
    );
    s.write(
        ".loopx/it/brief.md",
        format!("# It\n\n## Why\n\nX.\n\n## Checks\n\n- `true`\n\n{delta}"),
    );
    s.loopx(&["save"]).ok();
    s.loopx(&["run", "--task", "check-1"]).ok();
    let error = s
        .loopx(&["approve", "--to", "review", "--json"])
        .fails_with(1)
        .error_json();
    let said = error["error"]["blockers"].to_string();
    assert!(said.contains("brief.md:15"), "{said}");
}

#[test]
fn a_lite_change_has_three_files_and_a_task_for_each_scenario() {
    let s = repository("");
    s.loopx(&["start", "--profile", "lite", "it"]).ok();
    assert_eq!(
        files(&s, "it"),
        [
            "change/spec-delta.md",
            "intent.md",
            "plan.md",
            "tasks.jsonl"
        ]
    );
    assert_eq!(status(&s)["stage"], "plan");
    s.write(".loopx/it/plan.md", PLAN);
    s.write(".loopx/it/change/spec-delta.md", DELTA);
    s.loopx(&["plan"]).ok();
    let proposed = s.read(".loopx/it/tasks.jsonl");
    assert!(
        proposed.contains("\"session/Idle timeout/Idle\""),
        "{proposed}"
    );
    s.loopx(&["plan"]).fails_with(5);
    let held = s
        .loopx(&["approve", "--to", "build", "--json"])
        .fails_with(1)
        .error_json();
    assert_eq!(
        held["error"]["blockers"][0]["code"], "task_list_invalid",
        "{held:#}"
    );
    s.write(
        ".loopx/it/tasks.jsonl",
        proposed.replace("\"cmd\":[]", "\"cmd\":[\"sh\",\"check.sh\"]"),
    );
    s.loopx(&["approve", "--to", "build"]).ok();
    s.loopx(&["build"]).ok();
    edit_code(&s);
    s.loopx(&["run", "--task", "TASK-001"]).ok();
    s.loopx(&["finish", "--yes"]).ok();
    assert!(
        s.read("specs/session/spec.md")
            .contains("idle for 10 minutes")
    );
    s.loopx(&["fsck", "--full"]).ok();
}

#[test]
fn a_session_without_a_profile_gets_the_lightest_that_policy_takes() {
    for (policy, profile) in [
        ("", "lite"),
        ("[start]\nprofile = \"quick\"\n", "quick"),
        ("[approve]\nsigned = [\"clarify->plan\"]\n", "standard"),
        (
            "[approve]\nsigned = [\"clarify->plan\"]\n[profiles]\nallowed = [\"lite\"]\n",
            "lite",
        ),
        (
            "[profiles.hotfix]\nextends = \"quick\"\n[start]\nprofile = \"hotfix\"\n",
            "hotfix",
        ),
    ] {
        let s = repository(policy);
        s.call(crate::support::LOOPX)
            .args(&["start", "it"])
            .env("GIT_CONFIG_COUNT", "6")
            .run()
            .ok();
        assert_eq!(status(&s)["profile"], profile, "{policy}");
    }
}

#[test]
fn policy_that_asks_something_of_a_transition_takes_no_profile_without_it() {
    let s = repository("[approve]\nrequired = { \"plan->build\" = 2 }\n");
    let error = s
        .loopx(&["start", "--quick", "it", "--json"])
        .fails_with(1)
        .error_json();
    assert_eq!(error["error"]["code"], "profile_forbidden");
    assert!(
        error["error"]["message"]
            .as_str()
            .is_some_and(|text| text.contains("plan->build"))
    );
    // What it says next works.
    s.loopx(&["start", "--profile", "lite", "it"]).ok();
    s.loopx(&["profile", "quick", "--reason", "it is small"])
        .fails_with(1);
    s.loopx(&["start", "--profile", "huge", "other", "--no-branch"])
        .fails_with(2);
}

#[test]
fn a_session_is_lifted_back_to_what_it_missed_and_lowered_for_a_reason() {
    let s = repository("");
    s.loopx(&["start", "--quick", "it"]).ok();
    let lifted = s.loopx(&["profile", "standard", "--json"]).json();
    assert_eq!(
        (&lifted["stage"], &lifted["before"]),
        (&"clarify".into(), &"quick".into())
    );
    assert_eq!(
        lifted["closed"].as_array().map(Vec::len),
        Some(2),
        "{lifted:#}"
    );
    assert!(files(&s, "it").contains(&"spec.md".to_owned()));
    assert!(files(&s, "it").contains(&"brief.md".to_owned()));
    let refused = s
        .loopx(&["profile", "lite", "--json"])
        .fails_with(2)
        .error_json();
    assert_eq!(refused["error"]["code"], "reason_required");
    let lowered = s
        .loopx(&["profile", "lite", "--reason", "it is small", "--json"])
        .json();
    assert_eq!(lowered["stage"], "plan");
    s.loopx(&["profile", "lite"]).fails_with(5);
    s.loopx(&["undo"]).ok();
    assert_eq!(status(&s)["profile"], "standard");
    s.loopx(&["fsck", "--full"]).ok();
    let shown = s.loopx(&["profile"]).ok();
    assert!(shown.contains("* standard"), "{shown}");
}

#[test]
fn a_path_can_demand_a_profile_of_commits_and_of_what_lands() {
    let policy = format!(
        "{}[profiles.demand]\n\"src/**\" = \"lite\"\n",
        landing::PROTECTED
    );
    let s = repository(&policy);
    s.loopx(&["hooks", "install"]).ok();
    s.loopx(&["start", "--quick", "it"]).ok();
    s.write("src/timeout", "10\n");
    let refused = s.git(&["commit", "-qam", "x"]).fails_with(1);
    insta::assert_snapshot!(refused.steady(), @"
    $ git commit -qam x
    --- stderr
    refused: this commit is not allowed: session it is in stage build
      `src/timeout`: policy demands the profile lite for these paths; the session's profile lacks the stage plan
        git loopx profile lite

    hint: to commit all the same: git commit --no-verify  (or LOOPX=0); `git loopx verify` will tell
    --- exit 1
    ");
    s.git(&["commit", "-qam", "x", "--no-verify"]).ok();
    s.loopx(&["run", "--", "sh", "check.sh"]).ok();
    let held = s.loopx(&["-v", "finish", "--yes"]);
    held.fails_with(1).says("profile_too_light");
}

#[test]
fn a_path_of_which_the_target_demands_a_profile_since_lands_by_no_lighter_session() {
    let s = repository(landing::PROTECTED);
    s.loopx(&["start", "--quick", "it"]).ok();
    edit_code(&s);
    s.loopx(&["run", "--", "sh", "check.sh"]).ok();
    s.loopx(&["finish", "--yes"]).ok();
    let demand = "[profiles.demand]\n\"src/**\" = \"lite\"\n";
    demands_since(&s, &format!("{}{demand}", landing::PROTECTED));
    serve(&s);
    let out = push(&s, &["work:refs/heads/main", "loopx"]);
    out.fails_with(1).says("profile_too_light");
    landing::ci(&s, &rev(&s, "work"), "work").fails_with(1);
}

#[test]
fn a_quick_session_lands_where_policy_takes_it() {
    let s = repository(landing::PROTECTED);
    s.loopx(&["start", "--quick", "it"]).ok();
    edit_code(&s);
    s.loopx(&["run", "--", "sh", "check.sh"]).ok();
    s.loopx(&["finish", "--yes"]).ok();
    serve(&s);
    landing::lands(&s, &rev(&s, "work"));
}

#[test]
fn a_build_that_shows_the_plan_wrong_goes_back_to_it_with_a_reason() {
    let s = crate::support::session::at("build", "", "");
    s.loopx(&["plan"]).fails_with(1);
    s.loopx(&["plan", "--reason", "the API is another one"])
        .ok();
    let back = status(&s);
    assert_eq!(back["stage"], "plan");
    // The plan is to be approved anew.
    s.loopx(&["approve", "--to", "build"]).fails_with(1);
    s.loopx(&["fsck", "--full"]).ok();
    // A session without a plan has nothing to go back to.
    let s = repository("");
    s.loopx(&["start", "--quick", "it"]).ok();
    let error = s
        .loopx(&["plan", "--reason", "why", "--json"])
        .fails_with(1)
        .error_json();
    assert_eq!(
        error["error"]["blockers"][0]["code"], "stage_not_in_profile",
        "{error:#}"
    );
}

#[test]
fn a_finished_session_is_opened_again_with_its_archive() {
    let s = repository("");
    s.loopx(&["start", "--quick", "it"]).ok();
    s.write(
        ".loopx/it/brief.md",
        format!("# It\n\n## Why\n\nX.\n\n## Checks\n\n- `sh check.sh`\n\n{DELTA}"),
    );
    edit_code(&s);
    s.loopx(&["run", "--task", "check-1"]).ok();
    s.loopx(&["finish", "--yes"]).ok();
    s.loopx(&["-s", "it", "reopen"]).fails_with(2);
    s.loopx(&["-s", "it", "reopen", "--reason", "a comment"])
        .ok();
    assert!(
        s.read("specs/session/spec.md")
            .contains("idle for 30 minutes")
    );
    let open = status(&s);
    assert_eq!(
        (&open["stage"], &open["ending"]),
        (&"build".into(), &Value::Null)
    );
    s.loopx(&["-s", "it", "reopen", "--reason", "again"])
        .fails_with(1);
    // The work before it proves nothing now; what is run again does.
    s.loopx(&["finish", "--yes"]).fails_with(1);
    s.loopx(&["run", "--task", "check-1"]).ok();
    s.loopx(&["finish", "--yes"]).ok();
    assert!(
        s.read("specs/session/spec.md")
            .contains("idle for 10 minutes")
    );
    // An opening that is taken back is made again by what is hinted: its archive is taken back already.
    s.loopx(&["reopen", "--reason", "once more"]).ok();
    s.loopx(&["undo"]).ok();
    let again = "git loopx -s it reopen --reason \"it is to be done again\"";
    for (args, code) in [
        (&["redo"][..], 4),
        (&["-s", "it", "redo"], 1),
        (&["undo"], 4),
    ] {
        let said = s.loopx(args).fails_with(code).stderr.clone();
        assert!(said.contains(again), "{args:?}: {said}");
    }
    s.loopx(&["-s", "it", "reopen", "--reason", "again"]).ok();
    assert_eq!(status(&s)["stage"], "build");
    s.loopx(&["fsck", "--full"]).ok();
}

#[test]
fn finish_stops_where_somebody_else_has_to_go_on() {
    let s = repository("[review]\nindependence = \"require\"\n");
    s.loopx(&["start", "--quick", "it"]).ok();
    edit_code(&s);
    s.loopx(&["run", "--", "sh", "check.sh"]).ok();
    s.loopx(&["finish"]).fails_with(2).says("--yes");
    s.loopx(&["finish", "--yes"]).fails_with(6);
    assert_eq!(status(&s)["stage"], "review");
    let s = repository("[approve]\nrequired = { \"review->done\" = 2 }\n");
    s.loopx(&["start", "--quick", "it"]).ok();
    edit_code(&s);
    s.loopx(&["run", "--", "sh", "check.sh"]).ok();
    let out = s.loopx(&["finish", "--yes", "--json"]).fails_with(6).json();
    assert!(
        out["waits_for"]
            .as_str()
            .is_some_and(|text| text.contains("2 people")),
        "{out:#}"
    );
}

#[test]
fn an_agent_gives_nobodys_word_unless_policy_names_it() {
    for (agents, code) in [("[]", 6), ("[\"claude\"]", 0)] {
        let s = repository(&format!("[approve]\nagents = {agents}\n"));
        let typed = |args: &[&str]| {
            s.call(crate::support::LOOPX)
                .args(args)
                .env("CLAUDECODE", "1")
                .run()
        };
        typed(&["start", "--quick", "it"]).ok();
        edit_code(&s);
        typed(&["run", "--", "sh", "check.sh"]).ok();
        let out = typed(&["approve", "--to", "review"]);
        let out = if code == 0 { out } else { out.fails_with(code) };
        if code == 0 {
            out.ok();
        } else {
            out.says("claude");
            s.loopx(&["approve", "--to", "review"]).ok();
        }
        let finish = typed(&["finish", "--yes"]);
        match code {
            0 => drop(finish.ok()),
            code => drop(finish.fails_with(code)),
        }
    }
}

#[test]
fn a_task_that_a_person_looks_at_is_proven_by_a_word_and_never_by_a_run() {
    let s = repository("");
    s.loopx(&["start", "--profile", "lite", "it"]).ok();
    s.write(".loopx/it/plan.md", PLAN);
    s.write(".loopx/it/change/spec-delta.md", DELTA);
    let look = r#"{"id":"T1","title":"Look","convergence":{"criteria":["C"],"verification":{"manual":"the page reads well"}}}"#;
    let check = r#"{"id":"T2","title":"Run","scenarios":["session/Idle timeout/Idle"],"convergence":{"criteria":["C"],"verification":{"cmd":["sh","check.sh"]}}}"#;
    s.write(".loopx/it/tasks.jsonl", format!("{look}\n{check}\n"));
    s.loopx(&["approve", "--to", "build"]).ok();
    s.loopx(&["build"]).ok();
    edit_code(&s);
    let ran = s.loopx(&["run", "--json"]).json();
    assert_eq!(ran["ran"].as_array().map(Vec::len), Some(1), "{ran:#}");
    insta::assert_snapshot!(s.loopx(&["run"]).steady(), @"
    $ git-loopx run
    --- stderr
    error: no command proves T1: a person has to look

    hint: no command checks T1: look at the result yourself, and record what you saw: git loopx build --waive T1 --reason 'it was looked at by hand'
    --- exit 5
    ");
    s.loopx(&["run", "--task", "T1"])
        .fails_with(2)
        .says("build --waive T1 --reason");
    s.loopx(&["status"]).says(
        "no command checks T1: look at the result yourself, and record what you saw: git loopx build --waive T1 --reason",
    );
    s.loopx(&["build", "--waive", "T1", "--reason", "it reads well"])
        .ok();
    let out = s.loopx(&["finish", "--yes"]).ok();
    assert!(out.contains("1 waived"), "{out}");
}

#[test]
fn a_session_that_is_lifted_says_its_delta_where_the_new_profile_wants_it() {
    let s = repository("");
    s.loopx(&["start", "--quick", "it"]).ok();
    s.loopx(&["profile", "lite"]).ok();
    s.write(".loopx/it/plan.md", PLAN);
    let task = r#"{"id":"T","title":"T","convergence":{"criteria":["C"],"verification":{"cmd":["true"]}}}"#;
    s.write(".loopx/it/tasks.jsonl", task);
    // The template of the delta says nothing, and the brief speaks no more.
    let held = s
        .loopx(&["approve", "--to", "build", "--json"])
        .fails_with(1)
        .error_json();
    assert_eq!(
        held["error"]["blockers"][0]["code"],
        "spec_delta_missing_requirements"
    );
    s.write(".loopx/it/change/spec-delta.md", DELTA);
    s.loopx(&["approve", "--to", "build", "--reason", "by hand"])
        .ok();
    // The approval, and the words that it saved.
    for _ in 0..2 {
        s.loopx(&["undo"]).ok();
    }
    // Lowered again, the brief has what the delta said.
    s.write(".loopx/it/change/spec-delta.md", DELTA);
    s.loopx(&["profile", "quick", "--reason", "it is small"])
        .ok();
    let brief = s.loopx(&["cat", "brief.md"]).ok();
    assert!(brief.contains("### Requirement: Idle timeout"), "{brief}");
    edit_code(&s);
    s.loopx(&["run", "--", "sh", "check.sh"]).ok();
    s.loopx(&["finish", "--yes"]).ok();
    assert!(
        s.read("specs/session/spec.md")
            .contains("idle for 10 minutes")
    );
}

#[test]
fn a_delta_in_a_brief_whose_domain_was_forgotten_is_named() {
    let s = repository("");
    s.loopx(&["start", "--quick", "it"]).ok();
    let delta = DELTA.replace("# Domain: session\n\n", "");
    s.write(
        ".loopx/it/brief.md",
        format!("# It\n\n## Why\n\nX.\n\n## Checks\n\n- `true`\n\n{delta}"),
    );
    edit_code(&s);
    s.loopx(&["run"]).ok();
    let held = s
        .loopx(&["finish", "--yes", "--json"])
        .fails_with(1)
        .error_json();
    assert_eq!(
        held["error"]["blockers"][0]["code"], "spec_delta_missing_domains",
        "{held:#}"
    );
}

#[test]
fn a_brief_that_is_gone_is_asked_for_and_what_is_not_saved_counts() {
    let s = repository("");
    s.loopx(&["start", "--quick", "it"]).ok();
    std::fs::remove_file(s.path().join(".loopx/it/brief.md")).expect("a file");
    assert_eq!(status(&s)["next_action"], "git loopx edit brief.md");
    s.write(
        ".loopx/it/brief.md",
        "# It\n\n## Why\n\nX.\n\n## Checks\n\n- `sh check.sh`\n",
    );
    s.write("src/timeout", "10\n");
    s.loopx(&["run"]).ok();
    // A review covers what is committed: nothing is approved before that.
    let error = s
        .loopx(&["finish", "--yes", "--json"])
        .fails_with(1)
        .error_json();
    assert_eq!(error["error"]["code"], "worktree_dirty");
    assert_eq!(status(&s)["stage"], "build");
    s.git(&["commit", "-qam", "Ten"]).ok();
    s.loopx(&["finish", "--yes"]).ok();
}

/// Gives `main` another policy, and `work` what `main` has then.
fn demands_since(s: &Sandbox, policy: &str) {
    s.git(&["switch", "--quiet", "main"]).ok();
    s.commit_file("loopx.toml", policy, "Policy").ok();
    s.git(&["switch", "--quiet", "work"]).ok();
    s.git(&["merge", "--quiet", "--no-edit", "-X", "ours", "main"])
        .ok();
}

/// A quick session that changes these files, finished; its demand is newer policy of `main`.
fn quick_change(demand: &str, change: impl Fn(&Sandbox)) -> Sandbox {
    let policy = "[gates]\nprotected = [\"main\"]\nalways_allow = [\"docs/**\"]\n";
    let s = repository(policy);
    s.loopx(&["start", "--quick", "it"]).ok();
    change(&s);
    s.write("notes.txt", "x\n");
    s.git(&["add", "--all"]).ok();
    s.git(&["commit", "--quiet", "--allow-empty", "-m", "x"])
        .ok();
    s.loopx(&["run", "--", "true"]).ok();
    s.loopx(&["finish", "--yes"]).ok();
    let demand = format!("{policy}[profiles.demand]\n{demand} = \"standard\"\n");
    demands_since(&s, &demand);
    serve(&s);
    s
}

#[test]
fn a_demand_holds_for_specs_letter_case_links_and_the_policy_itself() {
    type Change = fn(&Sandbox);
    let all: [(&str, Change); 5] = [
        ("\"specs/**\"", |s| {
            let brief = format!("# It\n\n## Why\n\nX.\n\n## Checks\n\n- `true`\n\n{DELTA}");
            s.write(".loopx/it/brief.md", brief);
        }),
        ("\"src/**\"", |s| s.write("SRC/session.sh", "x\n")),
        ("\"*.lock\"", |s| s.write("X.LOCK", "x\n")),
        ("\"deploy/**\"", |s| {
            std::os::unix::fs::symlink("src", s.path().join("deploy")).expect("a link");
        }),
        ("\"nothing/**\"", |s| {
            s.write("loopx.toml", "[gates]\nprotected = [\"main\"]\n");
        }),
    ];
    for (demand, change) in all {
        let s = quick_change(demand, change);
        let out = push(&s, &["work:refs/heads/main", "loopx"]);
        out.fails_with(1).says("profile_too_light");
    }
    // What nobody demands anything of lands.
    let s = quick_change("\"other/**\"", |s| s.write("src/timeout", "10\n"));
    landing::lands(&s, &rev(&s, "work"));
}

#[test]
fn a_demanded_path_lands_by_no_plain_commit() {
    let s = quick_change("\"docs/secret/**\"", |s| s.write("src/timeout", "10\n"));
    s.git(&["switch", "--quiet", "-c", "plain", "main"]).ok();
    s.write("docs/secret/a", "x\n");
    s.git(&["add", "."]).ok();
    s.git(&["commit", "--quiet", "-m", "a"]).ok();
    push(&s, &["plain:refs/heads/main"]).fails_with(1);
    s.git(&["switch", "--quiet", "-c", "free", "main"]).ok();
    s.write("docs/open/a", "x\n");
    s.git(&["add", "."]).ok();
    s.git(&["commit", "--quiet", "-m", "a"]).ok();
    push(&s, &["free:refs/heads/main"]).ok();
}

#[test]
fn an_agent_takes_no_persons_word_back_and_brings_none_back() {
    let s = repository("");
    s.loopx(&["start", "--quick", "it"]).ok();
    edit_code(&s);
    s.loopx(&["run", "--", "sh", "check.sh"]).ok();
    s.loopx(&["approve", "--to", "review"]).ok();
    let agent = |args: &[&str]| {
        let call = s.call(crate::support::LOOPX).args(args);
        call.env("CLAUDECODE", "1").run()
    };
    agent(&["undo"]).fails_with(6);
    s.loopx(&["undo"]).ok();
    agent(&["redo"]).fails_with(6);
    s.loopx(&["profile", "lite"]).ok();
    agent(&["profile", "quick", "--reason", "small"]).fails_with(6);
    s.loopx(&["redo"]).fails_with(1);
}

#[test]
fn a_role_runs_no_check_that_nobody_approved_a_plan_for() {
    let ci = "[evidence]\nby = [\"ci\"]\n[approve.roles]\nci = [\"*ci@*\"]\n";
    let s = repository(ci);
    s.loopx(&["start", "--quick", "it"])
        .fails_with(1)
        .says("evidence.by");
    let s = repository(&format!("{ci}[profiles]\nallowed = [\"quick\"]\n"));
    s.loopx(&["start", "--quick", "it"]).ok();
    s.loopx(&["run", "--", "true"]).ok();
    let refused = s
        .loopx(&["run", "--task", "check-1", "--sign", "--json"])
        .fails_with(1);
    assert_eq!(refused.error_json()["error"]["code"], "check_not_agreed");
}

#[test]
fn commits_before_and_after_another_profile_land_by_the_profile_that_the_session_has() {
    let policy = "[gates]\nprotected = [\"main\"]\n[profiles.demand]\n\"src/**\" = \"lite\"\n";
    let s = repository(policy);
    s.loopx(&["start", "--quick", "it"]).ok();
    edit_code(&s);
    s.loopx(&["profile", "lite"]).ok();
    s.write(".loopx/it/plan.md", PLAN);
    s.write(".loopx/it/change/spec-delta.md", DELTA);
    s.loopx(&["plan"]).ok();
    let tasks = s
        .read(".loopx/it/tasks.jsonl")
        .replace("\"cmd\":[]", "\"cmd\":[\"sh\",\"check.sh\"]");
    s.write(".loopx/it/tasks.jsonl", tasks);
    s.loopx(&["approve", "--enter"]).ok();
    s.loopx(&["run"]).ok();
    s.loopx(&["finish", "--yes"]).ok();
    serve(&s);
    landing::lands(&s, &rev(&s, "work"));
}

/// Hints after a session that ended, a branch that is none, and a command that failed.
#[test]
fn what_is_said_where_no_session_goes_on() {
    let s = repository("");
    // Outside of a session the profiles are listed; the branch of the sessions is nobody's to work on.
    insta::assert_snapshot!(s.loopx(&["profile"]).steady(), @"
    $ git-loopx profile
      quick     build -> review -> done, 1 file
      lite      plan -> build -> review -> done, 3 files
      deep      clarify -> plan -> build -> review -> done, 12 files
      standard  clarify -> plan -> build -> review -> done, 12 files
    --- exit 0
    ");
    s.loopx(&["start", "--quick", "it", "--branch", "loopx"])
        .fails_with(2)
        .says("which keeps the sessions");
    s.loopx(&["start", "--quick", "it"]).ok();
    s.loopx(&["run", "--", "sh", "check.sh"]).fails_with(1);
    s.loopx(&["status"])
        .says("`sh check.sh` failed on this code")
        .ok();
    s.loopx(&["plan"])
        .fails_with(1)
        .says("the profile quick has no stage plan");
    edit_code(&s);
    s.loopx(&["run", "--", "sh", "check.sh"]).ok();
    s.loopx(&["finish", "--yes"]).ok();
    s.loopx(&["approve"])
        .fails_with(4)
        .says("it, the last on this branch, was archived on work");
    // Its archive is taken back first, and then it is opened.
    s.loopx(&["archive", "--undo", "it"]).ok();
    s.loopx(&["-s", "it", "reopen", "--reason", " "])
        .fails_with(2);
    s.loopx(&["-s", "it", "reopen", "--reason", "a comment"])
        .ok();
    assert_eq!(status(&s)["stage"], "build");
}

#[test]
fn a_task_list_that_was_removed_is_edited_as_it_is_stored() {
    let s = repository("");
    s.loopx(&["start", "--profile", "lite", "it"]).ok();
    s.write(".loopx/it/change/spec-delta.md", DELTA);
    s.loopx(&["save"]).ok();
    s.loopx(&["plan"]).ok();
    let before = s.read(".loopx/it/tasks.jsonl");
    assert!(before.contains("TASK-001"), "{before}");
    std::fs::remove_file(s.path().join(".loopx/it/tasks.jsonl")).expect("remove");
    let call = s.call(crate::support::LOOPX).args(&["edit", "tasks.jsonl"]);
    drop(call.env("GIT_EDITOR", "true").run());
    assert_eq!(s.read(".loopx/it/tasks.jsonl"), before);
}

#[test]
fn on_a_detached_head_next_leads_to_a_branch_that_holds_the_code() {
    let s = repository("");
    s.git(&["switch", "--quiet", "--detach"]).ok();
    s.loopx(&["start", "--quick", "it"]).ok();
    edit_code(&s);
    s.loopx(&["run", "--", "sh", "check.sh"]).ok();
    for args in [
        &["approve", "--to", "review"][..],
        &["review"],
        &["review", "--verdict", "approve"],
        &["approve", "--to", "done"],
    ] {
        s.loopx(args).ok();
    }
    assert_eq!(s.loopx(&["next"]).line(), "git switch -c it");
    s.loopx(&["archive"])
        .fails_with(2)
        .says("git loopx archive --onto main");
    // The code would hang on HEAD alone.
    insta::assert_snapshot!(s.loopx(&["archive", "--onto", "main"]).steady(), @"
    $ git-loopx archive --onto main
    --- stderr
    (session it, the only active one: no branch is bound to it)
    refused: main does not have the code that was reviewed, and no branch holds its commit 0000000000

    hint: git branch it 0000000000  (keeps it; or on main: git merge 0000000000)
    --- exit 1
    ");
}
