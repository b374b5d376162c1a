//! Agreement between what the backlog says of an issue and what its commands do; each of the backlog's words leads on.

use crate::support::issues::{BRIEF, backlog, create, list, refused, show, solve, titles, two};
use crate::support::{LOOPX, Sandbox};
use serde_json::{Value, json};

#[test]
fn n38_2_what_waited_for_a_duplicate_waits_for_its_original() {
    let s = backlog();
    let original = create(&s, &["Original"]);
    let duplicate = create(&s, &["Duplicate"]);
    let other = create(&s, &["Waits", "--blocked-by", &duplicate]);
    let close = ["issue", "close", &duplicate, "--duplicate-of", &original];
    let closed = s.loopx(&[&["--json"], &close[..]].concat()).json();
    assert_eq!(closed["freed"], json!([]), "{closed}");
    assert_eq!(titles(&list(&s, &["--ready"])), ["Original"]);
    assert_eq!(
        show(&s, &other)["waits"],
        json!([{ "for": "issue", "issue": original, "status": "open" }])
    );
    let error = refused(&s, 1, "issue_blocked", &["issue", "take", &other]);
    let message = error["message"].as_str().unwrap_or_default();
    assert!(message.contains(&original), "{error}");
    let graph = s.loopx(&["--json", "issue", "graph"]).json();
    assert_eq!(graph["waves"].as_array().map(Vec::len), Some(2), "{graph}");
    let done = ["--json", "issue", "resolve", &original, "--reason", "tried"];
    let freed = s.loopx(&done).json()["freed"].take();
    assert_eq!(freed[0], other.as_str(), "{freed}");
    s.loopx(&["issue", "take", &other]).ok();
}

#[test]
fn n38_2_a_duplicate_by_which_its_original_would_wait_for_itself_is_refused() {
    let s = backlog();
    let duplicate = create(&s, &["Duplicate"]);
    let between = create(&s, &["Between", "--blocked-by", &duplicate]);
    let original = create(&s, &["Original", "--blocked-by", &between]);
    let close = ["issue", "close", &duplicate, "--duplicate-of", &original];
    refused(&s, 1, "issue_cycle", &close);
    s.loopx(&["issue", "unlink", &between, "blocked-by", &duplicate])
        .ok();
    s.loopx(&close).ok();
}

#[test]
fn n38_8_a_sync_names_what_was_written_apart_and_the_command_that_settles_it() {
    let (all, ids) = two(&["One", "Two"]);
    let [one, two] = [ids[0].as_str(), ids[1].as_str()];
    all.loopx(0, &["issue", "resolve", one, "--reason", "it was done"])
        .ok();
    all.loopx(1, &["issue", "close", one, "--reason", "not wanted"])
        .ok();
    all.sync(0).ok();
    let said = all.sync(1).says("issues written apart: ").says("(status)");
    // Of two values the one with the later date is shown.
    let shown = all.loopx(1, &["--json", "issue", "show", one]).json();
    let settle = shown["next_action"].as_str().expect("a command").to_owned();
    let settle = settle.trim_end_matches("WHY").to_owned();
    let ends = ["resolve", "close"].map(|verb| format!("git loopx issue {verb} {}", &one[..7]));
    assert!(ends.iter().any(|end| settle.starts_with(end)), "{settle}");
    said.says(&settle).ok();
    all.sync(0).says("issues written apart: ").ok();
    all.loopx(1, &["resolve"])
        .says("issues written apart: ")
        .says(&settle)
        .fails_with(4);
    all.loopx(1, &["issue", "list", "--apart"])
        .says(&settle)
        .ok();
    all.loopx(1, &["issue", "show", one]).says(&settle).ok();
    all.loopx(0, &["issue", "edit", two, "-p", "0"]).ok();
    all.loopx(1, &["issue", "edit", two, "-p", "4"]).ok();
    all.sync(0).ok();
    all.sync(1).says("git loopx issue list --apart").ok();
    all.loopx(1, &["issue", "close", one, "--reason", "not wanted"])
        .ok();
    let said = all.loopx(1, &["issue", "list", "--apart"]);
    let said = said.says(&format!("git loopx issue edit {} --priority ", &two[..7]));
    said.ok();
    all.loopx(1, &["issue", "edit", two, "--priority", "4"])
        .ok();
    all.sync(1).ok();
    let quiet = all.sync(0);
    assert!(!quiet.to_string().contains("written apart"), "{quiet}");
}

#[test]
fn n38_10_two_sessions_for_one_issue_are_told_to_both() {
    let (all, ids) = two(&["Both"]);
    for at in 0..2 {
        all.git(at, &["switch", "--quiet", "-c", &format!("both-{at}")])
            .ok();
        all.loopx(at, &["start", "--quick", "--issue", &ids[0]])
            .ok();
    }
    all.sync(0).ok();
    all.sync(1).says("2 sessions go on for lx-").ok();
    all.sync(0).says("2 sessions go on for lx-").ok();
}

#[test]
fn n38_1_a_commit_that_names_an_issue_that_was_taken_back_is_warned_of() {
    let s = backlog();
    let id = create(&s, &["Gone"]);
    s.loopx(&["issue", "undo", &id]).ok();
    let text = format!("Land\n\nLoopx-Issue: {id}");
    s.commit_file("code.txt", "other\n", &text).ok();
    let report = s.loopx(&["--json", "verify", "HEAD^..HEAD"]).json();
    let found = &report["findings"][0];
    assert_eq!(found["code"], "issue_named_unknown", "{report}");
    let help = found["help"].as_str().unwrap_or_default();
    assert_eq!(help, format!("git loopx issue log {id}"));
}

#[test]
fn n38_14_what_is_shown_of_the_backlog_is_what_its_commands_obey() {
    let s = backlog();
    s.git(&["switch", "--quiet", "-c", "work"]).ok();
    s.loopx(&["start", "--quick", "Work"]).ok();
    s.commit_file(
        "loopx.toml",
        "[backlog]\nprefix = \"proj\"\nwip = 1\n",
        "policy",
    )
    .ok();
    let shown = s.loopx(&["config", "show"]);
    let shown = shown.says("backlog.prefix = \"proj\"  (loopx.toml of HEAD)");
    shown.says("backlog.wip = 1  (loopx.toml of HEAD)").ok();
    assert!(create(&s, &["One"]).starts_with("proj-"));
    s.commit_file("loopx.toml", "[backlog]\nprefix = \"PROJ\"\n", "policy")
        .ok();
    s.loopx(&["doctor"])
        .says("loopx.toml at HEAD:2: backlog.prefix: ")
        .fails_with(1);
    let error = refused(&s, 2, "policy_invalid", &["issue", "create", "Two"]);
    assert!(
        error["message"]
            .as_str()
            .unwrap_or_default()
            .contains("found `PROJ`"),
        "{error}"
    );
}

#[test]
fn n38_34_an_issue_is_found_by_the_id_that_it_had_elsewhere() {
    let s = backlog();
    s.write(
        "beads.jsonl",
        concat!(
            r#"{"id":"bd-a1","title":"Log in","status":"open","priority":1,"issue_type":"bug"}"#,
            "\n",
            r#"{"id":"bd-b2","title":"Log out","status":"open","priority":1,"issue_type":"bug"}"#,
            "\n"
        ),
    );
    s.loopx(&["issue", "import", "beads.jsonl"]).ok();
    let github = |repository: &str| {
        let url = format!("https://github.com/o/{repository}/issues/12");
        s.write(
            "github.json",
            json!([{ "number": 12, "url": url, "title": repository, "state": "OPEN" }]).to_string(),
        );
        s.loopx(&["issue", "import", "github.json"]).ok();
    };
    github("r");
    assert_eq!(show(&s, "bd-b2")["title"], "Log out");
    assert_eq!(show(&s, "BD-B2")["title"], "Log out");
    assert_eq!(show(&s, "#12")["title"], "r");
    s.loopx(&["issue", "edit", "o/r#12", "-p", "0"]).ok();
    s.loopx(&["issue", "link", "bd-b2", "blocked-by", "bd-a1"])
        .ok();
    assert_eq!(titles(&list(&s, &["--grep", "bd-b2"])), ["Log out"]);
    s.loopx(&["issue", "take", "bd-a1"]).ok();
    github("q");
    refused(&s, 2, "issue_ambiguous", &["issue", "show", "#12"]);
    refused(&s, 4, "issue_unknown", &["issue", "show", "bd-c3"]);
    refused(&s, 4, "issue_unknown", &["issue", "show", "#"]);
}

#[test]
fn n38_36_what_one_command_made_is_taken_back_by_one_command() {
    let s = backlog();
    let lines: String = (0..4)
        .map(|n| {
            format!(
                "{{\"key\":\"k{n}\",\"title\":\"Title {n}\",\"links\":[{}]}}\n",
                match n {
                    0 => String::new(),
                    n => format!("{{\"kind\":\"blocked-by\",\"to\":\"k{}\"}}", n - 1),
                }
            )
        })
        .collect();
    s.write("plan.jsonl", lines);
    let from = ["--json", "issue", "create", "--from", "plan.jsonl"];
    let first = s.loopx(&from).json()["issues"].take();
    let second = s.loopx(&from).json()["issues"].take();
    let id = second[1].as_str().expect("an id");
    s.loopx(&["undo"])
        .says(&format!(
            "git loopx issue undo {} --all",
            second[0].as_str().expect("an id")
        ))
        .fails_with(4);
    // One of them is used: all stay.
    let used = second[3].as_str().expect("an id");
    s.loopx(&["issue", "edit", used, "-p", "0"]).ok();
    let error = refused(&s, 1, "issue_used", &["issue", "undo", id, "--all"]);
    assert!(
        error["message"].as_str().unwrap_or_default().contains(used),
        "{error}"
    );
    s.loopx(&["issue", "undo", used]).ok();
    let taken = first[0].as_str().expect("an id");
    s.loopx(&["issue", "take", taken]).ok();
    refused(&s, 1, "issue_used", &["issue", "undo", taken, "--all"]);
    let before = s.git(&["rev-list", "--count", "loopx"]).line();
    s.loopx(&["issue", "undo", id, "--all"])
        .says("taken back: lx-")
        .says("Title 3")
        .ok();
    let after = s.git(&["rev-list", "--count", "loopx"]).line();
    assert_eq!(
        after.parse::<u32>().ok(),
        before.parse::<u32>().ok().map(|n| n + 1)
    );
    let left = list(&s, &["--all"]);
    let left: Vec<&str> = left.iter().filter_map(|one| one["id"].as_str()).collect();
    let first: Vec<&str> = first
        .as_array()
        .expect("ids")
        .iter()
        .filter_map(|id| id.as_str())
        .collect();
    assert_eq!(left.len(), 4, "{left:?}");
    assert!(first.iter().all(|id| left.contains(id)), "{left:?}");
    s.loopx(&["issue", "redo", id, "--all"]).ok();
    assert_eq!(list(&s, &["--all"]).len(), 8);
    s.loopx(&["fsck"]).ok();
}

#[test]
fn n38_15_a_path_of_comments_counts_from_where_somebody_stands() {
    let s = backlog();
    s.commit_file("sub/a.rs", "// TODO: first\n", "code").ok();
    s.commit_file("b.rs", "// TODO: second\n", "code").ok();
    let found = |path: &str, dir: &str| {
        let args = ["--json", "issue", "import", "--todos", path, "--dry-run"];
        let report = s
            .call(LOOPX)
            .args(&args)
            .cwd(s.path().join(dir))
            .run()
            .json();
        let new = report["new"].as_array().expect("new").clone();
        titles(&new)
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(found("a.rs", "sub"), ["first"]);
    assert_eq!(found(".", "sub"), ["first"]);
    assert_eq!(found("../b.rs", "sub"), ["second"]);
    assert_eq!(found(".", "").len(), 2);
    assert_eq!(found("sub/", ""), ["first"]);
}

#[test]
fn n38_25_an_issue_that_is_taken_on_the_branch_of_another_session_is_not_for_that_session() {
    let s = backlog();
    s.git(&["switch", "--quiet", "-c", "work"]).ok();
    s.loopx(&["start", "--quick", "Work"]).ok();
    let id = create(&s, &["One"]);
    let taken = s.loopx(&["--json", "issue", "take", &id]).json();
    let next = taken["next_action"].as_str().unwrap_or_default();
    assert!(
        next.starts_with("session work of this branch is not for this issue"),
        "{next}"
    );
    s.loopx(&["start", "--no-branch", "--issue", &id]).ok();
}

#[test]
fn n38_30_what_can_be_begun_is_shown_where_there_is_no_session() {
    let s = backlog();
    s.loopx::<&str>(&[]).ok();
    create(&s, &["The form times out"]);
    s.loopx::<&str>(&[])
        .says("The form times out")
        .says("git loopx issue take lx-")
        .ok();
    let home = s.loopx(&["--json"]).json();
    assert_eq!(home["issues"][0]["title"], "The form times out", "{home}");
}

#[test]
fn whoever_has_taken_an_issue_is_led_to_its_session() {
    let s = backlog();
    create(&s, &["One"]);
    let taken = create(&s, &["Two"]);
    s.loopx(&["issue", "take", &taken]).ok();
    let lead = |next: &Value| {
        let next = next.as_str().expect("a command");
        let id = next.rsplit_once("start --issue ").map(|(_, id)| id);
        assert!(id.is_some_and(|id| taken.starts_with(id)), "{next}");
    };
    let home = s.loopx(&["--json"]).json();
    assert_eq!(home["taken"][0]["id"], json!(taken), "{home}");
    lead(&home["next_action"]);
    s.loopx::<&str>(&[]).says("for 2 hours more").ok();
    let next = s.loopx(&["--json", "next"]).fails_with(4).error_json();
    lead(&next["error"]["help"]);
    // Once the session goes on it leads itself, and what is given back leads nobody.
    s.loopx(&["issue", "release", &taken]).ok();
    let home = s.loopx(&["--json"]).json();
    assert_eq!(home["taken"], Value::Null, "{home}");
}

#[test]
fn n38_29_a_list_refuses_what_no_issue_can_have() {
    let s = backlog();
    create(&s, &["One"]);
    for args in [["--due", "tomorrow"], ["--due", "2026-13-01"], ["-p", "9"]] {
        let error = refused(
            &s,
            2,
            "issue_field_invalid",
            &[&["issue", "list"][..], &args].concat(),
        );
        let message = error["message"].as_str().unwrap_or_default();
        assert!(
            message.ends_with(&format!(
                "found {}",
                if args[0] == "-p" {
                    "9".to_owned()
                } else {
                    format!("`{}`", args[1])
                }
            )),
            "{message}"
        );
    }
}

#[test]
fn n38_31_a_criterion_that_is_as_it_shall_be_gets_no_record() {
    let s = backlog();
    let id = create(&s, &["One", "--criterion", "it is fast"]);
    refused(&s, 5, "issue_unchanged", &["issue", "untick", &id, "1"]);
    s.loopx(&["issue", "tick", &id, "1"]).ok();
    refused(&s, 5, "issue_unchanged", &["issue", "tick", &id, "fast"]);
}

#[test]
fn n38_28_what_has_no_solution_is_in_no_queue() {
    let s = backlog();
    let id = create(&s, &["One"]);
    s.loopx(&["issue", "edit", &id, "--status", "queued"])
        .says("issue solution add")
        .ok();
    let said = s.loopx(&["issue", "list"]);
    assert!(said.stdout.starts_with("ready "), "{said}");
}

#[test]
fn n38_32_a_finish_says_which_issues_it_resolves_and_what_nobody_ticked() {
    let s = backlog();
    let id = create(&s, &["Fix it", "--criterion", "it is fast"]);
    s.git(&["switch", "--quiet", "-c", "work"]).ok();
    s.loopx(&["start", "--quick", "--id", "work", "--issue", &id])
        .ok();
    s.write(".loopx/work/brief.md", BRIEF);
    s.commit_file("code.txt", "well\n", "Fix it").ok();
    s.loopx(&["run", "--", "true"]).ok();
    s.loopx(&["finish", "--yes"])
        .says("Fix it: is resolved by the archive")
        .says("not ticked: it is fast")
        .ok();
}

#[test]
fn n38_13_an_issue_that_is_closed_while_its_session_goes_on_says_so() {
    let s = backlog();
    let id = create(&s, &["Fix it"]);
    s.git(&["switch", "--quiet", "-c", "work"]).ok();
    s.loopx(&["start", "--quick", "--id", "work", "--issue", &id])
        .ok();
    s.loopx(&["issue", "close", &id, "--reason", "not wanted"])
        .says("session work, which was started for it, goes on")
        .ok();
    s.write(".loopx/work/brief.md", BRIEF);
    s.commit_file("code.txt", "well\n", "Fix it").ok();
    s.loopx(&["run", "--", "true"]).ok();
    s.loopx(&["finish", "--yes"])
        .says("Fix it: was closed, and stays so")
        .ok();
}

#[test]
fn n38_20_a_queue_whose_next_issue_is_taken_leads_to_that_issue() {
    let s = backlog();
    let id = create(&s, &["One"]);
    solve(&s, &id);
    s.loopx(&["issue", "queue", "form"]).ok();
    let next = |s: &Sandbox| {
        let view = s.loopx(&["--json", "issue", "queue", "show"]).json();
        view["next_action"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(next(&s), "git loopx issue queue next");
    s.loopx(&["issue", "queue", "next"]).ok();
    assert_eq!(next(&s), format!("git loopx issue show {}", &id[..7]));
}

#[test]
fn n38_21_an_issue_whose_session_was_abandoned_is_begun_again_by_its_name() {
    let s = backlog();
    let id = create(&s, &["Fix it"]);
    s.git(&["switch", "--quiet", "-c", "fix"]).ok();
    for name in ["fix-it", "fix-it-2"] {
        s.loopx(&["issue", "take", &id]).ok();
        s.loopx(&["start", "--quick", "--issue", &id]).ok();
        assert_eq!(show(&s, &id)["running"], name);
        s.loopx(&["abandon", "--reason", "not so"]).ok();
    }
    // A session of that name that is about something else stays in the way.
    let other = create(&s, &["Fix it"]);
    let args = ["start", "--quick", "--issue", &other];
    refused(&s, 1, "session_exists", &args);
}

#[test]
fn n38_22_an_issue_that_is_taken_and_waits_leads_to_what_it_waits_for() {
    let s = backlog();
    let first = create(&s, &["First"]);
    let id = create(&s, &["Second"]);
    s.loopx(&["issue", "take", &id]).ok();
    s.loopx(&["issue", "link", &id, "blocked-by", &first]).ok();
    let next = show(&s, &id)["next_action"].take();
    assert_eq!(
        next,
        format!("it waits: git loopx issue show {}", &first[..7])
    );
}

#[test]
fn n38_23_an_epic_with_an_open_part_says_how_it_ends() {
    let s = backlog();
    let epic = create(&s, &["Epic"]);
    let part = create(&s, &["Part", "--parent", &epic]);
    let args = ["issue", "close", &epic, "--reason", "not wanted"];
    let help = refused(&s, 1, "issue_blocked", &args)["help"].take();
    let help = help.as_str().unwrap_or_default();
    let unlink = format!("git loopx issue unlink {part} parent {epic}");
    assert!(help.ends_with(&unlink), "{help}");
    s.loopx(&["issue", "unlink", &part, "parent", &epic]).ok();
    s.loopx(&args).ok();
}

#[test]
fn n38_24_a_roadmap_without_issues_says_how_it_gets_some() {
    let s = backlog();
    s.loopx(&["roadmap", "new", "Notes", "--mode", "direct"])
        .ok();
    s.loopx(&["roadmap", "check"])
        .says("git loopx roadmap set ISSUE --wave 1 --roadmap lx-")
        .fails_with(1);
    let help = refused(&s, 4, "import_missing", &["roadmap", "import", "nofile"])["help"].take();
    assert_eq!(help, "git loopx help roadmap import");
    let help = refused(&s, 4, "file_not_found", &["rule", "import"])["help"].take();
    assert_eq!(help, "git loopx help rule import");
}

#[test]
fn n38_37_a_second_import_says_what_differs_and_brings_it_where_it_is_asked_to() {
    let s = backlog();
    let import = |line: Value, args: &[&str]| {
        s.write("beads.jsonl", format!("{line}\n"));
        s.loopx(&[&["--json", "issue", "import", "beads.jsonl"], args].concat())
            .json()
    };
    let was = json!({"id": "bd-a1", "title": "Log in", "issue_type": "task", "status": "open", "priority": 1, "labels": ["ui", "old"], "description": "one\ntwo\nthree\n"});
    import(was.clone(), &[]);
    let id = show(&s, "bd-a1")["id"].as_str().expect("an id").to_owned();
    s.loopx(&["issue", "edit", &id, "-p", "0", "-l", "mine"])
        .ok();
    s.loopx(&["issue", "edit", &id, "-d", "one\ntwo\nthree, here\n"])
        .ok();
    // What was done here is no news of the other program.
    let same = import(was, &[]);
    assert_eq!(same["changed"], json!([]), "{same}");
    let now = json!({"id": "bd-a1", "title": "Log in again", "issue_type": "task", "status": "open", "priority": 1, "labels": ["ui", "new"], "description": "one, there\ntwo\nthree\n", "assignee": "ada"});
    let before = show(&s, &id);
    let told = import(now.clone(), &[]);
    assert_eq!(
        told["next_action"],
        "git loopx issue import beads.jsonl --update"
    );
    assert_eq!(told["changed"][0]["issue"], id.as_str(), "{told}");
    assert_eq!(show(&s, &id), before);
    let brought = import(now.clone(), &["--update"]);
    assert_eq!(brought["updated"], true, "{brought}");
    let after = show(&s, &id);
    assert_eq!(after["title"], "Log in again");
    assert_eq!(
        (&after["priority"], &after["assignee"]),
        (&json!(0), &json!("ada"))
    );
    assert_eq!(after["labels"], json!(["mine", "new", "ui"]));
    assert_eq!(after["description"], "one, there\ntwo\nthree, here\n");
    let again = import(now, &["--update"]);
    assert_eq!(
        (&again["changed"], &again["commit"]),
        (&json!([]), &Value::Null)
    );
    // Both wrote the priority: both values stay until somebody settles it.
    let now = json!({"id": "bd-a1", "title": "Log in again", "issue_type": "task", "status": "closed", "close_reason": "shipped", "priority": 3, "labels": ["ui", "new"], "description": "one, there\ntwo\nthree\n", "assignee": "ada"});
    import(now, &["--update"]);
    let after = show(&s, &id);
    assert_eq!(after["status"], "resolved");
    assert_eq!(after["apart"][0]["field"], "priority", "{after}");
    s.loopx(&["fsck"]).ok();
}

#[test]
fn n38_26_a_comment_that_another_branch_never_had_is_not_gone() {
    let s = backlog();
    let base = s.git(&["rev-parse", "HEAD"]).line();
    s.commit_file("a.rs", "// TODO: first\n", "code").ok();
    s.loopx(&["issue", "import", "--todos"]).ok();
    let gone = |s: &Sandbox| {
        let report = s.loopx(&["--json", "issue", "import", "--todos"]).json();
        report["gone"].as_array().map_or(0, Vec::len)
    };
    s.git(&["switch", "--quiet", "-c", "other", &base]).ok();
    s.commit_file("b.rs", "// TODO: second\n", "code").ok();
    assert_eq!(gone(&s), 0);
    s.git(&["switch", "--quiet", "main"]).ok();
    s.git(&["rm", "--quiet", "a.rs"]).ok();
    s.git(&["commit", "--quiet", "-m", "gone"]).ok();
    assert_eq!(gone(&s), 1);
}

#[test]
fn n39_2_an_update_that_is_refused_brings_nothing_and_a_dry_run_is_refused_alike() {
    let s = backlog();
    let beads = |lines: &[Value]| {
        let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
        s.write("beads.jsonl", lines);
    };
    let one = |id: &str, status: &str| json!({"id": id, "title": id, "issue_type": "task", "status": status, "priority": 1, "close_reason": "shipped"});
    beads(&[one("bd-a1", "open")]);
    s.loopx(&["issue", "import", "beads.jsonl"]).ok();
    beads(&[one("bd-a1", "closed"), one("bd-b2", "open")]);
    let before = s.git(&["rev-parse", "refs/heads/loopx"]).line();
    let run = ["--json", "issue", "import", "beads.jsonl", "--update"];
    for args in [&run[..], &[&run[..], &["--dry-run"]].concat()] {
        let refused = s.call(LOOPX).args(args).env("CLAUDECODE", "1").run();
        assert_eq!(refused.code, Some(6), "{args:?}: {}", refused.stdout);
    }
    assert_eq!(s.git(&["rev-parse", "refs/heads/loopx"]).line(), before);
    let brought = s.loopx(&run).json();
    assert_eq!(brought["new"].as_array().map(Vec::len), Some(1));
    assert_eq!(
        s.git(&["rev-list", "--count", &format!("{before}..loopx")])
            .line(),
        "1"
    );
    // What one command brought, one command takes back.
    let id = show(&s, "bd-a1")["id"].as_str().expect("an id").to_owned();
    s.loopx(&["issue", "undo", &id, "--all"]).ok();
    assert_eq!(show(&s, &id)["status"], "open");
    assert_eq!(list(&s, &["--all"]).len(), 1);
}

#[test]
fn n39_3_lines_of_our_own_are_not_compared_with_what_was_done_here() {
    let s = backlog();
    let line = json!({"id": "bd-a1", "title": "Log in", "issue_type": "task", "status": "open", "priority": 1});
    s.write("beads.jsonl", format!("{line}\n"));
    s.loopx(&["issue", "import", "beads.jsonl"]).ok();
    s.loopx(&["issue", "edit", "bd-a1", "-p", "0"]).ok();
    s.write("own.jsonl", s.loopx(&["issue", "export"]).ok());
    let import = ["--json", "issue", "import", "own.jsonl"];
    let again = s.loopx(&import).json();
    assert_eq!(again["changed"], json!([]), "{again}");
    let again = s.loopx(&[&import[..], &["--update"]].concat()).json();
    assert_eq!(
        (&again["changed"], &again["commit"]),
        (&json!([]), &Value::Null)
    );
}

#[test]
fn n39_10_what_an_import_brought_and_was_taken_back_can_come_again() {
    let s = backlog();
    let import = |status: &str, title: &str, args: &[&str]| {
        let line = json!({"id": "bd-a1", "title": title, "issue_type": "task", "status": status, "priority": 1, "close_reason": "shipped"});
        s.write("beads.jsonl", format!("{line}\n"));
        s.loopx(&[&["--json", "issue", "import", "beads.jsonl"], args].concat())
            .json()
    };
    import("open", "Log in", &[]);
    import("closed", "Log in again", &["--update"]);
    let undone = s.loopx(&["issue", "undo", "bd-a1"]).ok();
    assert!(!undone.contains("from beads"), "{undone}");
    assert_eq!(show(&s, "bd-a1")["title"], "Log in");
    let again = import("closed", "Log in again", &["--update"]);
    assert_eq!(again["updated"], true, "{again}");
    assert_eq!(show(&s, "bd-a1")["title"], "Log in again");
    assert_eq!(show(&s, "bd-a1")["status"], "resolved");
    // Somebody is at it there again: here it is open.
    let told = import("in_progress", "Log in again", &["--update"]);
    assert_eq!(told["updated"], true, "{told}");
    assert_eq!(show(&s, "bd-a1")["status"], "open");
}

#[test]
fn n39_5_a_plain_close_of_a_duplicate_and_an_import_of_one_make_no_cycle() {
    let s = backlog();
    let duplicate = create(&s, &["Duplicate"]);
    let between = create(&s, &["Between", "--blocked-by", &duplicate]);
    let original = create(&s, &["Original", "--blocked-by", &between]);
    s.loopx(&["issue", "link", &duplicate, "duplicate-of", &original])
        .ok();
    let close = ["issue", "close", &duplicate, "--reason", "the same"];
    refused(&s, 1, "issue_cycle", &close);
    s.write(
        "own.jsonl",
        [
            json!({"key": "d", "title": "D", "status": "closed", "links": [{"kind": "duplicate-of", "to": "o"}]}),
            json!({"key": "b", "title": "B", "links": [{"kind": "blocked-by", "to": "d"}]}),
            json!({"key": "o", "title": "O", "links": [{"kind": "blocked-by", "to": "b"}]}),
        ]
        .map(|line| format!("{line}\n"))
        .concat(),
    );
    let import = ["issue", "import", "own.jsonl", "--format", "loopx"];
    refused(&s, 1, "issue_cycle", &import);
}

#[test]
fn n39_4_a_comment_that_came_into_a_file_on_another_branch_is_not_gone() {
    let s = backlog();
    s.commit_file("a.rs", "// code\n", "code").ok();
    s.git(&["switch", "--quiet", "-c", "feat"]).ok();
    s.commit_file("a.rs", "// code\n// TODO: first\n", "todo")
        .ok();
    s.loopx(&["issue", "import", "--todos"]).ok();
    let gone = |s: &Sandbox| {
        let report = s.loopx(&["--json", "issue", "import", "--todos"]).json();
        report["gone"].as_array().map_or(0, Vec::len)
    };
    s.git(&["switch", "--quiet", "main"]).ok();
    s.commit_file("b.rs", "// TODO: second\n", "code").ok();
    assert_eq!(gone(&s), 0);
    s.git(&["switch", "--quiet", "feat"]).ok();
    s.commit_file("a.rs", "// code\n// TODO: other\n", "done")
        .ok();
    assert_eq!(gone(&s), 1);
}

#[test]
fn n39_13_what_i_claimed_myself_is_not_in_the_hands_of_another() {
    let s = backlog();
    let id = create(&s, &["One"]);
    s.loopx(&["issue", "take", &id]).ok();
    let error = refused(&s, 1, "issue_used", &["issue", "undo", &id, "--all"]);
    let message = error["message"].as_str().unwrap_or_default();
    assert!(message.contains("you have it in hand"), "{message}");
}

#[test]
fn n39_7_settings_of_a_session_are_shown_where_the_file_of_head_is_broken() {
    let s = backlog();
    s.git(&["switch", "--quiet", "-c", "work"]).ok();
    s.loopx(&["start", "--quick", "--id", "work", "Fix it"])
        .ok();
    s.commit_file("loopx.toml", "[backlog\n", "broken").ok();
    let shown = s.loopx(&["--json", "config", "show"]).json();
    assert!(
        shown["policy"]
            .as_array()
            .is_some_and(|all| !all.is_empty()),
        "{shown}"
    );
    assert!(
        shown["warnings"].to_string().contains("loopx.toml"),
        "{shown}"
    );
}

#[test]
fn n39_8_each_issue_that_is_queued_without_a_solution_is_named() {
    let s = backlog();
    let with = create(&s, &["With"]);
    solve(&s, &with);
    let without = create(&s, &["Without"]);
    let also = create(&s, &["Also"]);
    let said = s.loopx(&[
        "issue", "edit", &with, &without, &also, "--status", "queued",
    ]);
    for id in [&without, &also] {
        let add = format!("issue solution add {}", &id[..7]);
        assert!(said.to_string().contains(&add), "{said}");
    }
    let add = format!("issue solution add {}", &with[..7]);
    assert!(!said.to_string().contains(&add), "{said}");
}

#[test]
fn n39_12_a_queue_that_cannot_go_on_leads_to_the_next_of_its_order() {
    let s = backlog();
    for priority in ["3", "0", "2"] {
        let id = create(&s, &["One", "-p", priority]);
        let file = ["--task", "Do", "--file", "code.txt"];
        s.loopx(&[&["issue", "solution", "add", &id, "so"], &file[..]].concat())
            .ok();
        s.loopx(&["issue", "solution", "bind", &id, "s1"]).ok();
    }
    s.loopx(&["issue", "queue", "form"]).ok();
    let taken = s.loopx(&["--json", "issue", "queue", "next"]).json();
    let view = s.loopx(&["--json", "issue", "queue", "show"]).json();
    let first = view["groups"][0][0].as_str().expect("an id").to_owned();
    assert_eq!(taken["issue"]["id"], first.as_str(), "{taken}");
    assert_eq!(
        view["next_action"],
        format!("git loopx issue show {}", &first[..7])
    );
}

#[test]
fn n39_14_a_command_that_settles_nothing_is_not_given_as_one() {
    let (all, ids) = two(&["One"]);
    let one = ids[0].as_str();
    all.loopx(0, &["issue", "edit", one, "--criterion", "it is fast"])
        .ok();
    let both = || {
        for at in [0, 1, 0] {
            all.sync(at).ok();
        }
    };
    both();
    all.loopx(0, &["issue", "tick", one, "1"]).ok();
    all.loopx(1, &["issue", "tick", one, "1"]).ok();
    all.loopx(1, &["issue", "untick", one, "1"]).ok();
    both();
    let settle = |at: usize| {
        let shown = all.loopx(at, &["--json", "sync"]).json();
        let listed = all.loopx(at, &["--json", "issue", "list", "--apart"]);
        (shown, listed.json()["next_action"].take())
    };
    let (_, next) = settle(0);
    let next = next.as_str().expect("a command").to_owned();
    let number = format!("tick {} 1", &one[..7]);
    assert!(next.ends_with(&number), "{next}");
    let words: Vec<&str> = next.split(' ').skip(2).collect();
    all.loopx(0, &words).ok();
    assert_eq!(settle(0).1, Value::Null);
    both();
    for (at, how) in [(0, "so"), (1, "or so")] {
        let add = ["issue", "solution", "add", one, how, "--task", "Do"];
        all.loopx(at, &add).ok();
        all.loopx(at, &["issue", "solution", "bind", one, "s1"])
            .ok();
    }
    all.sync(0).ok();
    let synced = all.loopx(1, &["--json", "sync"]).json();
    assert_eq!(
        synced["apart"][0]["fields"],
        json!(["solution"]),
        "{synced}"
    );
    // What is given settles it.
    let way = synced["apart"][0]["settle"].as_str().expect("a command");
    let way = way.split("  or: ").next().unwrap_or_default();
    let words: Vec<&str> = way.split(' ').skip(2).collect();
    assert_eq!(words[..3], ["issue", "solution", "bind"], "{way}");
    all.loopx(1, &words).ok();
    assert_eq!(settle(1).1, Value::Null);
}

#[test]
fn n39_16_an_option_that_is_misspelt_is_no_comment() {
    let s = backlog();
    let id = create(&s, &["One"]);
    let slip = s.loopx(&["issue", "comment", &id, "--knd"]);
    slip.says("--kind").fails_with(2);
    s.loopx(&["issue", "comment", &id, "--", "- dash"]).ok();
    assert_eq!(show(&s, &id)["notes"][0]["text"], "- dash");
}

#[test]
fn n39_11_a_list_with_a_slip_is_refused_with_the_line_of_the_slip() {
    let s = backlog();
    s.write(
        "l.json",
        "[{\"title\": \"One\"},\n{\"title\": \"Two\"}\n{\"title\": \"Three\"}]\n",
    );
    let error = refused(
        &s,
        2,
        "issue_field_invalid",
        &["issue", "create", "--from", "l.json"],
    );
    let message = error["message"].as_str().unwrap_or_default();
    assert!(message.starts_with("l.json:3: "), "{message}");
}

#[test]
fn n39_17_an_estimate_of_nothing_says_so_and_an_older_export_comes() {
    let s = backlog();
    let args = ["issue", "create", "One", "--estimate", "0h"];
    let error = refused(&s, 2, "issue_field_invalid", &args);
    let message = error["message"].as_str().unwrap_or_default();
    assert!(message.contains("found 0m"), "{message}");
    s.write(
        "own.jsonl",
        "{\"key\": \"k\", \"title\": \"One\", \"estimate\": 0}\n",
    );
    s.loopx(&["issue", "import", "own.jsonl", "--format", "loopx"])
        .ok();
}

#[test]
fn n39_15_a_file_of_a_solution_is_of_no_task_where_several_name_none() {
    let s = backlog();
    let id = create(&s, &["Write it"]);
    let add = [
        "issue", "solution", "add", &id, "so", "--task", "Write", "--task", "Try", "--file",
        "code.txt",
    ];
    s.loopx(&add).ok();
    s.loopx(&["issue", "solution", "bind", &id, "s1"]).ok();
    s.git(&["switch", "--quiet", "-c", "work"]).ok();
    s.loopx(&["start", "--profile", "lite", "--id", "work", "--issue", &id])
        .ok();
    assert!(!s.read(".loopx/work/tasks.jsonl").contains("code.txt"));
    let asked = s.loopx(&["cat", "intent.md"]).ok();
    assert!(asked.contains("code.txt"), "{asked}");
}

#[test]
fn n38_27_a_reply_is_a_message_and_no_rule() {
    let s = backlog();
    s.loopx(&["start", "--quick", "--no-branch", "--id", "work", "Work"])
        .ok();
    s.loopx(&["note", "The cache is never cleared", "--kind", "learning"])
        .ok();
    let notes = |s: &Sandbox| s.loopx(&["--json", "note", "list"]).json()["notes"].take();
    let first = notes(&s)[0]["seq"].to_string();
    s.loopx(&["note", "I see, thanks", "--reply-to", &first])
        .ok();
    let all = notes(&s).to_string();
    assert!(all.contains("\"kind\":\"message\""), "{all}");
    let proposed = s.loopx(&["rule", "propose"]).ok();
    assert!(!proposed.contains("I see, thanks"), "{proposed}");
}

#[test]
fn n38_35_the_log_has_each_text_of_a_description() {
    let s = backlog();
    let id = create(&s, &["One", "-d", "what it was"]);
    s.loopx(&["issue", "edit", &id, "-d", "what it is"]).ok();
    let log = s.loopx(&["--json", "issue", "log", &id]).json();
    assert_eq!(log["log"][0]["description"], "what it was", "{log}");
    s.loopx(&["-v", "issue", "log", &id])
        .says("      what it was")
        .ok();
}

#[test]
fn n38_41_a_plan_may_begin_with_a_mark_or_be_a_list() {
    let s = backlog();
    s.write("plan.jsonl", "\u{feff}{\"title\":\"One\"}\n");
    let from = ["issue", "create", "--from", "plan.jsonl"];
    s.loopx(&from).ok();
    s.write(
        "plan.jsonl",
        "[\n  {\"title\": \"Two\"},\n  {\"title\": \"Three\"}\n]\n",
    );
    s.loopx(&from).ok();
    // Two of one second are listed by their ids.
    let all = list(&s, &[]);
    let mut all = titles(&all);
    all.sort_unstable();
    assert_eq!(all, ["One", "Three", "Two"]);
    s.write(
        "plan.jsonl",
        "[\n  {\"title\": \"Two\"},\n  {\"titel\": \"Three\"}\n]\n",
    );
    let error = refused(&s, 2, "issue_field_invalid", &from);
    let message = error["message"].as_str().unwrap_or_default();
    assert!(message.starts_with("plan.jsonl:3: "), "{message}");
    s.write(
        "plan.jsonl",
        "{\"title\":\"x\",\"description\":\"a\\u0000b\"}\n",
    );
    let error = refused(&s, 2, "issue_field_invalid", &from);
    let message = error["message"].as_str().unwrap_or_default();
    assert!(message.contains("a NUL"), "{message}");
}

#[test]
fn n38_17_comments_of_one_second_keep_their_order_elsewhere() {
    let s = backlog();
    let comments = json!([
        {"text": "zzz", "by": "Ada", "at": "2026-01-01T00:00:00Z"},
        {"text": "aaa", "by": "Ada", "at": "2026-01-01T00:00:00Z"}
    ]);
    let one = json!({"id": "lx-0000000001", "title": "One", "comments": comments});
    s.write("all.jsonl", format!("{one}\n"));
    s.loopx(&["issue", "import", "all.jsonl", "--format", "loopx"])
        .ok();
    let notes = show(&s, "lx-0000000001")["notes"].take();
    assert_eq!(
        (&notes[0]["text"], &notes[1]["text"]),
        (&json!("zzz"), &json!("aaa"))
    );
}

#[test]
fn n38_38_words_of_other_programs_lead_to_the_command() {
    let s = backlog();
    for (word, here) in [
        ("delete", "close"),
        ("search", "list --grep WORDS"),
        ("view", "show"),
        ("done", "resolve"),
        ("assign", "edit ID --assignee NAME"),
        ("start", "take"),
        ("status", "show"),
        ("dep", "link"),
        ("kanban", "board"),
    ] {
        s.loopx(&["issue", word])
            .says(&format!("; the nearest is {here}\n"))
            .fails_with(2);
    }
    s.git(&["config", "loopx.list.mine", "--assignee @me"]).ok();
    s.loopx(&["issue", "list", "@mien"])
        .says("git loopx issue list @mine")
        .fails_with(2);
}

#[test]
fn n38_40_a_list_is_sorted_by_priority_and_day_and_marks_what_is_overdue() {
    let s = backlog();
    create(&s, &["Late", "-p", "3", "--due", "2000-01-01", "-a", "Bob"]);
    create(
        &s,
        &["Soon", "-p", "0", "--due", "2999-01-01", "-a", "Ada Author"],
    );
    create(&s, &["Whenever", "-p", "1"]);
    assert_eq!(
        titles(&list(&s, &["--sort", "due"])),
        ["Late", "Soon", "Whenever"]
    );
    assert_eq!(
        titles(&list(&s, &["--sort", "priority"])),
        ["Soon", "Whenever", "Late"]
    );
    assert_eq!(titles(&list(&s, &["-a", "@me"])), ["Soon"]);
    s.loopx(&["issue", "list"])
        .says("overdue since 2000-01-01")
        .ok();
    assert_eq!(list(&s, &["--sort", "due"])[0]["overdue"], true);
}

#[test]
fn n38_39_the_files_of_a_solution_reach_the_request_and_the_tasks() {
    let s = backlog();
    let id = create(&s, &["Write it"]);
    let add = [
        "issue", "solution", "add", &id, "so", "--task", "Write", "--file", "code.txt", "--create",
        "new.txt",
    ];
    s.loopx(&add).ok();
    s.loopx(&["issue", "solution", "bind", &id, "s1"]).ok();
    s.git(&["switch", "--quiet", "-c", "work"]).ok();
    s.loopx(&["start", "--profile", "lite", "--id", "work", "--issue", &id])
        .ok();
    let tasks: Value =
        serde_json::from_str(s.read(".loopx/work/tasks.jsonl").trim()).expect("a task");
    let files = tasks["files"].to_string();
    assert!(
        files.contains("code.txt") && files.contains("new.txt"),
        "{tasks}"
    );
    let asked = s.loopx(&["cat", "intent.md"]).ok();
    assert!(asked.contains("- new.txt (create)"), "{asked}");
}

#[test]
fn n38_42_what_is_refused_is_not_shown_whole_and_what_begins_with_a_dash_is_text() {
    let s = backlog();
    let error = refused(
        &s,
        2,
        "issue_field_invalid",
        &["issue", "create", &"x".repeat(9000)],
    );
    let message = error["message"].as_str().unwrap_or_default();
    assert!(
        message.len() < 250 && message.contains("found 9000 that begin"),
        "{message}"
    );
    refused(
        &s,
        2,
        "issue_field_invalid",
        &["issue", "create", "One", "--estimate", "0h"],
    );
    let id = create(&s, &["One"]);
    s.loopx(&["issue", "comment", &id, "--kind", "risk", "--", "- dash"])
        .ok();
    let note = show(&s, &id)["notes"][0].take();
    assert_eq!(
        (&note["text"], &note["kind"]),
        (&json!("- dash"), &json!("risk"))
    );
}

#[test]
fn n38_40_who_is_to_do_it_can_be_whoever_says_so() {
    let s = backlog();
    let made = create(&s, &["Made", "-a", "@me"]);
    assert_eq!(show(&s, &made)["assignee"], "Ada Author");
    let given = create(&s, &["Given"]);
    s.loopx(&["issue", "edit", &given, "-a", "@me"]).ok();
    assert_eq!(show(&s, &given)["assignee"], "Ada Author");
    s.write("plan.jsonl", r#"{"title":"Planned","assignee":"@me"}"#);
    s.loopx(&["issue", "create", "--from", "plan.jsonl"]).ok();
    let mine = list(&s, &["-a", "@me"]);
    let mut mine = titles(&mine);
    mine.sort_unstable();
    assert_eq!(mine, ["Given", "Made", "Planned"]);
}

#[test]
fn n38_42_a_criterion_that_is_given_twice_is_refused() {
    let s = backlog();
    let word = "issue_field_invalid";
    let twice = ["--criterion", "it works", "--criterion", "it works "];
    let new = [&["issue", "create", "One"], &twice[..]].concat();
    let error = refused(&s, 2, word, &new);
    assert_eq!(
        error["message"],
        "expected each criterion once, found `it works` twice"
    );
    let id = create(&s, &["One", "--criterion", "it is there"]);
    refused(&s, 2, word, &[&["issue", "edit", &id], &twice[..]].concat());
    s.write("plan.jsonl", r#"{"title":"Two","criteria":["a","a"]}"#);
    let error = refused(&s, 2, word, &["issue", "create", "--from", "plan.jsonl"]);
    let message = error["message"].as_str().unwrap_or_default();
    assert!(message.starts_with("plan.jsonl:1: "), "{error}");
}

#[test]
fn n38_41_notes_that_are_taken_over_may_begin_with_a_mark() {
    let s = backlog();
    s.write("team/wisdom/learnings.md", "\u{feff}- the first one\n");
    let message = r#"{"id":"m1","from":"a","to":"b","type":"status","summary":"said"}"#;
    s.write("team/messages.jsonl", format!("\u{feff}{message}\n"));
    let import = ["--json", "note", "import", "team", "--journal"];
    let report = s.loopx(&import).json();
    assert_eq!(report["new"], 2, "{report}");
}

#[test]
fn n38_33_a_roadmap_that_is_approved_counts_no_rounds() {
    let s = backlog();
    let part = create(&s, &["Part", "--criterion", "it works"]);
    s.loopx(&["roadmap", "new", "Way", "-i", &part, "--mode", "direct"])
        .ok();
    s.loopx(&["roadmap", "feedback", "scope", "less"])
        .says(": refining, 1 of 5 rounds\n")
        .ok();
    s.loopx(&["roadmap", "feedback", "approve"])
        .says(": ready\n")
        .ok();
    s.loopx(&["roadmap", "show"])
        .says("\nready, direct, 0/1 done\n")
        .ok();
}

#[test]
fn n38_44_a_claim_of_a_worktree_that_was_removed_is_said_to_be_in_none() {
    let s = backlog();
    let id = create(&s, &["One"]);
    s.git(&["worktree", "add", "--quiet", "../beside"]).ok();
    let beside = s.path().join("../beside");
    s.loopx_in(&beside, &["issue", "take", &id]).ok();
    s.git(&["worktree", "remove", "--force", "../beside"]).ok();
    s.loopx(&["issue", "show", &id])
        .says("Ada Author <ada@example.org>, in no worktree of this clone")
        .ok();
}

#[test]
fn n40_1_what_is_brought_back_is_asked_what_doing_it_is_asked() {
    let s = backlog();
    let [a, b, c] = ["A", "B", "C"].map(|title| create(&s, &[title, "--criterion", "one"]));
    let ok = |args: &[&str]| drop(s.loopx(&[&["issue"], args].concat()).ok());
    let redo = |word: &str, id: &str| refused(&s, 1, word, &["issue", "redo", id]);
    // Of a cycle.
    ok(&["link", &a, "blocked-by", &b]);
    ok(&["undo", &a]);
    ok(&["link", &b, "blocked-by", &a]);
    redo("issue_cycle", &a);
    ok(&["unlink", &b, "blocked-by", &a]);
    ok(&["redo", &a]);
    ok(&["undo", &a]);
    // Of a circle of duplicates.
    ok(&["close", &a, "--duplicate-of", &b]);
    ok(&["undo", &a]);
    ok(&["close", &b, "--duplicate-of", &a]);
    redo("issue_cycle", &a);
    ok(&["reopen", &b]);
    // Of what is open.
    ok(&["tick", &a, "1"]);
    ok(&["resolve", &a, "--reason", "done"]);
    ok(&["undo", &a]);
    ok(&["untick", &a, "1"]);
    redo("issue_criterion_open", &a);
    ok(&["tick", &b, "1"]);
    ok(&["resolve", &b, "--reason", "done"]);
    ok(&["undo", &b]);
    ok(&["link", &c, "blocks", &b]);
    redo("issue_blocked", &b);
    ok(&["unlink", &c, "blocks", &b]);
    ok(&["close", &c, "--reason", "not wanted"]);
    ok(&["undo", &c]);
    ok(&["link", &b, "parent", &c]);
    redo("issue_blocked", &c);
    // Of two parents.
    ok(&["unlink", &b, "parent", &c]);
    ok(&["link", &b, "parent", &a]);
    ok(&["undo", &b]);
    ok(&["link", &c, "part", &b]);
    let error = refused(&s, 2, "issue_link_invalid", &["issue", "redo", &b]);
    let unlink = format!("git loopx issue unlink {b} parent {c}");
    assert_eq!(error["help"], unlink.as_str(), "{error}");
}

#[test]
fn n40_3_what_is_open_is_no_part_of_what_has_ended() {
    let s = backlog();
    let [ended, part] = ["Ended", "Part"].map(|title| create(&s, &[title]));
    s.loopx(&["issue", "close", &ended, "--reason", "not wanted"])
        .ok();
    let link = ["issue", "link", &part, "parent", &ended];
    refused(&s, 1, "issue_ended", &link);
    let new = ["issue", "create", "New", "--parent", &ended];
    refused(&s, 1, "issue_ended", &new);
    s.loopx(&["issue", "reopen", &ended]).ok();
    s.loopx(&link).ok();
}

#[test]
fn n40_4_links_of_duplicates_make_no_circle() {
    let s = backlog();
    let [one, other] = ["One", "Other"].map(|title| create(&s, &[title]));
    s.loopx(&["issue", "link", &one, "duplicate-of", &other])
        .ok();
    for back in [
        ["issue", "link", &other, "duplicate-of", &one],
        ["issue", "close", &other, "--duplicate-of", &one],
    ] {
        let error = refused(&s, 1, "issue_cycle", &back);
        let unlink = format!("git loopx issue unlink {one} duplicate-of {other}");
        assert_eq!(error["help"], unlink.as_str(), "{error}");
    }
}

#[test]
fn n40_5_what_is_open_again_is_a_duplicate_no_more() {
    let s = backlog();
    let [one, other] = ["One", "Other"].map(|title| create(&s, &[title]));
    let waits = create(&s, &["Waits", "--blocked-by", &one]);
    s.loopx(&["issue", "close", &one, "--duplicate-of", &other])
        .ok();
    s.loopx(&["issue", "reopen", &one]).ok();
    s.loopx(&["issue", "close", &one, "--reason", "not wanted"])
        .ok();
    assert_eq!(show(&s, &waits)["waits"], json!([]));
}

#[test]
fn n40_4b_a_parent_that_is_settled_makes_no_cycle() {
    let (all, ids) = two(&["K", "P", "Q"]);
    let [k, p, q] = [ids[0].as_str(), ids[1].as_str(), ids[2].as_str()];
    let link = |at: usize, args: [&str; 3]| {
        let [id, kind, other] = args;
        all.loopx(at, &["issue", "link", id, kind, other])
    };
    link(0, [k, "parent", p]).ok();
    link(1, [k, "parent", q]).ok();
    all.sync(0).ok();
    all.sync(1).ok();
    // Of several parents the one with the smaller id stands.
    let (stands, hidden) = if p < q { (p, q) } else { (q, p) };
    link(1, [hidden, "parent", k]).ok();
    link(1, [k, "parent", hidden])
        .says("an issue would wait for itself")
        .fails_with(1);
    link(1, [k, "parent", stands]).ok();
}
