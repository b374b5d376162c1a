//! `issue`: what is to be done before there is a session for it. Made, found, linked, taken and ended; nothing is lost,
//! and a refusal changes nothing.

use crate::support::Sandbox;
use crate::support::issues::{backlog, create, list, show, titles};
use crate::support::store::tamper;
use serde_json::{Value, json};

fn tip(s: &Sandbox) -> String {
    s.git(&["rev-parse", "refs/heads/loopx"]).line()
}

/// The error of a command that is refused and changes nothing.
fn refused(s: &Sandbox, code: i32, word: &str, args: &[&str]) -> Value {
    let before = tip(s);
    let out = s.loopx(&[&["--json"], args].concat());
    assert_eq!(
        out.code,
        Some(code),
        "{args:?}: {}{}",
        out.stdout,
        out.stderr
    );
    let error = out.error_json()["error"].take();
    assert_eq!(error["code"], word, "{error}");
    assert_eq!(tip(s), before, "{args:?} changed something");
    error
}

#[test]
fn an_issue_is_one_commit_and_its_trailers_name_it() {
    let s = backlog();
    let before = s.git(&["rev-list", "--count", "loopx"]).line();
    let id = create(
        &s,
        &[
            "The", "form", "times", "out", "-k", "bug", "-p", "1", "-l", "ui",
        ],
    );
    let after = s.git(&["rev-list", "--count", "loopx"]).line();
    assert_eq!(
        after.parse::<u32>().ok(),
        before.parse::<u32>().ok().map(|n| n + 1)
    );
    let message = s.git(&["log", "-1", "--format=%B", "loopx"]).ok();
    assert!(message.contains(&format!("Loopx-Issue: {id}")), "{message}");
    assert!(message.contains("create The form times out"), "{message}");
    let issue = show(&s, &id);
    assert_eq!(issue["title"], "The form times out");
    assert_eq!(
        (&issue["kind"], &issue["priority"]),
        (&json!("bug"), &json!(1))
    );
    assert_eq!(issue["labels"], json!(["ui"]));
    assert_eq!(issue["ready"], true);
    s.loopx(&["fsck"]).ok();
}

#[test]
fn an_id_is_meant_by_as_much_of_it_as_tells_it_from_the_others() {
    let s = backlog();
    let one = create(&s, &["One"]);
    create(&s, &["Two"]);
    let short = show(&s, &one)["short"].as_str().expect("short").to_owned();
    assert!(one.starts_with(&short) && short.len() < one.len());
    for typed in [&short, &short["lx-".len()..], &one, &one.to_uppercase()] {
        assert_eq!(show(&s, typed)["id"], one.as_str(), "{typed}");
    }
    refused(&s, 4, "issue_unknown", &["issue", "show", "lx-0000000000"]);
    refused(&s, 4, "issue_unknown", &["issue", "show", "../../etc"]);
    refused(&s, 4, "issue_unknown", &["issue", "show", "lx-"]);
}

#[test]
fn what_no_issue_can_have_is_refused() {
    let s = backlog();
    let id = create(&s, &["One"]);
    for args in [
        &["issue", "create", "X", "--priority", "9"][..],
        &["issue", "create", "X", "--kind", "wish"],
        &["issue", "create", "X", "--label", "two words"],
        &["issue", "create", "X", "--due", "tomorrow"],
        &["issue", "create", "X", "--due", "2026-02-30"],
        &["issue", "create", "X", "--estimate", "long"],
        &["issue", "create", "X\u{1b}[31m"],
        &["issue", "edit", &id, "--title", " "],
    ] {
        refused(&s, 2, "issue_field_invalid", args);
    }
    s.commit_file("loopx.toml", "[backlog]\nkinds = [\"wish\"]\n", "policy")
        .ok();
    create(&s, &["X", "--kind", "wish"]);
}

#[test]
fn what_waits_is_not_ready_and_says_for_what() {
    let s = backlog();
    let first = create(&s, &["First"]);
    let second = create(&s, &["Second", "--blocked-by", &first]);
    let epic = create(&s, &["Epic", "--kind", "epic", "--blocked-by", &second]);
    let part = create(&s, &["Part", "--parent", &epic]);
    assert_eq!(titles(&list(&s, &["--ready"])), ["First"]);
    let wait = |id: &str| show(&s, id)["waits"].clone();
    assert_eq!(
        wait(&second),
        json!([{ "for": "issue", "issue": first, "status": "open" }])
    );
    // A part waits for what the whole waits for, and the whole for its parts.
    assert_eq!(wait(&part)[0]["issue"], second.as_str());
    s.loopx(&["issue", "resolve", &first, "--reason", "done by hand"])
        .ok();
    assert_eq!(titles(&list(&s, &["--ready"])), ["Second"]);
    let ended = s
        .loopx(&[
            "--json",
            "issue",
            "close",
            &second,
            "--reason",
            "not wanted",
        ])
        .json();
    assert_eq!(ended["freed"], json!([part]));
    assert_eq!(wait(&epic)[0]["issue"], part.as_str());
}

#[test]
fn an_issue_for_the_failure_of_another_is_not_needed_once_that_is_resolved() {
    let s = backlog();
    let plan = create(&s, &["Plan A"]);
    let other = create(&s, &["Plan B", "--if-failed", &plan]);
    assert_eq!(show(&s, &other)["waits"][0]["issue"], plan.as_str());
    s.loopx(&["issue", "close", &plan, "--reason", "it cannot work"])
        .ok();
    assert_eq!(show(&s, &other)["ready"], true);
    s.loopx(&["issue", "reopen", &plan]).ok();
    s.loopx(&["issue", "resolve", &plan, "--reason", "it works after all"])
        .ok();
    assert_eq!(show(&s, &other)["waits"][0]["for"], "not_needed");
}

#[test]
fn a_link_waits_for_the_other_issue_and_for_all_its_parts() {
    let s = backlog();
    let epic = create(&s, &["Epic", "-k", "epic"]);
    let part = create(&s, &["Part", "--parent", &epic]);
    let late = create(&s, &["Release", "--waits-for", &epic]);
    let waits = show(&s, &late)["waits"].clone();
    let mut named: Vec<&str> = (waits.as_array().expect("waits").iter())
        .filter_map(|wait| wait["issue"].as_str())
        .collect();
    named.sort_unstable();
    let mut expected = [epic.as_str(), part.as_str()];
    expected.sort_unstable();
    assert_eq!(named, expected);
}

#[test]
fn no_issue_comes_to_wait_for_itself() {
    let s = backlog();
    let a = create(&s, &["A"]);
    let b = create(&s, &["B", "--blocked-by", &a]);
    let c = create(&s, &["C", "--parent", &b]);
    refused(
        &s,
        1,
        "issue_cycle",
        &["issue", "link", &a, "blocked-by", &b],
    );
    refused(
        &s,
        1,
        "issue_cycle",
        &["issue", "link", &a, "blocked-by", &c],
    );
    refused(&s, 1, "issue_cycle", &["issue", "link", &b, "blocks", &a]);
    refused(
        &s,
        2,
        "issue_link_invalid",
        &["issue", "link", &a, "related", &a],
    );
    s.loopx(&["issue", "link", &a, "related", &b]).ok();
    s.loopx(&["issue", "unlink", &b, "blocked-by", &a]).ok();
    s.loopx(&["issue", "link", &a, "blocked-by", &b]).ok();
    refused(
        &s,
        4,
        "issue_link_unknown",
        &["issue", "unlink", &b, "blocked-by", &a],
    );
}

#[test]
fn an_issue_is_put_off_until_its_day() {
    let s = backlog();
    let id = create(&s, &["Later", "--defer", "2999-01-01"]);
    let error = refused(&s, 1, "issue_blocked", &["issue", "take", &id]);
    assert!(error.to_string().contains("--no-defer"), "{error}");
    refused(&s, 5, "issue_none_ready", &["issue", "take"]);
    s.loopx(&["issue", "edit", &id, "--no-defer"]).ok();
    s.loopx(&["issue", "take"]).says("Later").ok();
}

#[test]
fn the_parts_of_a_whole_that_is_put_off_are_put_off_too() {
    let s = backlog();
    let epic = create(&s, &["Epic", "--kind", "epic", "--defer", "2999-01-01"]);
    let part = create(&s, &["Part", "--parent", &epic, "--defer", "2998-01-01"]);
    refused(&s, 5, "issue_none_ready", &["issue", "take"]);
    let error = refused(&s, 1, "issue_blocked", &["issue", "take", &part]);
    let said = error.to_string();
    assert!(
        said.contains(&format!("issue edit {epic} --no-defer")),
        "{said}"
    );
    assert!(said.contains("2999-01-01, as"), "{said}");
    let ready = s.loopx(&["--json", "issue", "ready", "-n", "5"]).json();
    assert_eq!(ready["issues"], json!([]));
    s.loopx(&["issue", "edit", &epic, "--no-defer"]).ok();
    let error = refused(&s, 1, "issue_blocked", &["issue", "take", &part]);
    assert!(error.to_string().contains("2998-01-01"), "{error}");
    s.loopx(&["issue", "edit", &part, "--no-defer"]).ok();
    s.loopx(&["issue", "take"]).says("Part").ok();
}

#[test]
fn whoever_takes_an_issue_has_it_until_the_lease_ends_or_somebody_takes_it_over() {
    let s = backlog();
    let id = create(&s, &["One"]);
    s.git(&["worktree", "add", "--quiet", "../other"]).ok();
    let other = s.root().join("other");
    let taken = s.loopx(&["--json", "issue", "take"]).json();
    assert_eq!(taken["issues"], json!([id]));
    assert_eq!(show(&s, &id)["status"], "in_progress");
    let held = s.loopx_in(&other, &["--json", "issue", "take", &id]);
    assert_eq!(held.code, Some(6), "{}", held.stderr);
    assert_eq!(held.error_json()["error"]["code"], "issue_held");
    for args in [
        &["issue", "close", &id, "--reason", "no"][..],
        &["issue", "release", &id],
        &["start", "--issue", &id, "--no-branch"],
    ] {
        let out = s.loopx_in(&other, args);
        assert_eq!(out.code, Some(6), "{args:?}: {}", out.stderr);
    }
    let over = [
        "issue",
        "take",
        &id,
        "--take-over",
        "--reason",
        "she is ill",
    ];
    s.loopx_in(&other, &over).says("taken over from Ada").ok();
    assert_eq!(s.loopx(&["issue", "release", &id]).code, Some(6));
    s.loopx_in(&other, &["issue", "release", &id]).ok();
    assert_eq!(show(&s, &id)["status"], "open");
    assert_eq!(show(&s, &id)["claim"], Value::Null);
}

#[test]
fn an_issue_is_resolved_when_its_criteria_hold_and_a_person_says_why() {
    let s = backlog();
    let id = create(
        &s,
        &[
            "One",
            "--criterion",
            "it waits 30 s",
            "--criterion",
            "the log says why",
        ],
    );
    refused(&s, 2, "reason_required", &["issue", "resolve", &id]);
    let error = refused(
        &s,
        1,
        "issue_criterion_open",
        &["issue", "resolve", &id, "--reason", "x"],
    );
    assert_eq!(
        error["blockers"].as_array().map(Vec::len),
        Some(2),
        "{error}"
    );
    s.loopx(&["issue", "tick", &id, "1", "LOG"]).ok();
    let agent = s
        .call(crate::support::LOOPX)
        .env("CLAUDECODE", "1")
        .args(&["--json", "issue", "resolve", &id, "--reason", "done"])
        .run();
    assert_eq!(agent.error_json()["error"]["code"], "agent_may_not");
    let made = s
        .call(crate::support::LOOPX)
        .env("CLAUDECODE", "1")
        .args(&["--json", "issue", "create", "--from", "-"])
        .stdin(r#"{"title":"Two","status":"resolved"}"#)
        .run();
    assert_eq!(made.error_json()["error"]["code"], "issue_field_invalid");
    s.loopx(&["issue", "resolve", &id, "--reason", "tried on Firefox"])
        .ok();
    let issue = show(&s, &id);
    assert_eq!(
        (&issue["status"], &issue["reason"]),
        (&json!("resolved"), &json!("tried on Firefox"))
    );
    assert!(list(&s, &[]).is_empty());
    assert_eq!(list(&s, &["--all"]).len(), 1);
    refused(
        &s,
        5,
        "issue_ended",
        &["issue", "resolve", &id, "--reason", "again"],
    );
    s.loopx(&["issue", "reopen", &id, "--reason", "it is back"])
        .ok();
    assert_eq!(show(&s, &id)["status"], "open");
}

#[test]
fn a_whole_does_not_end_before_its_parts() {
    let s = backlog();
    let epic = create(&s, &["Epic", "-k", "epic"]);
    let part = create(&s, &["Part", "--parent", &epic]);
    refused(
        &s,
        1,
        "issue_blocked",
        &["issue", "close", &epic, "--reason", "x"],
    );
    s.loopx(&["issue", "close", &epic, &part, "--reason", "both"])
        .ok();
}

#[test]
fn a_session_for_an_issue_has_its_text_and_resolves_it_by_its_archive() {
    let s = backlog();
    let id = create(
        &s,
        &[
            "Fix the typo",
            "-d",
            "In the form.",
            "--criterion",
            "it reads well",
        ],
    );
    s.git(&["switch", "--quiet", "-c", "typo"]).ok();
    s.loopx(&["start", "--issue", &id, "--quick"]).ok();
    let issue = show(&s, &id);
    assert_eq!(issue["status"], "in_progress");
    assert_eq!(issue["sessions"][0]["session"], "fix-the-typo");
    let brief = s.loopx(&["cat", "brief.md"]).ok();
    assert!(
        brief.contains("In the form.") && brief.contains("it reads well"),
        "{brief}"
    );
    let message = s.git(&["log", "-1", "--format=%B", "loopx"]).ok();
    assert!(message.contains(&format!("Loopx-Issue: {id}")), "{message}");
    s.loopx(&["abandon", "--reason", "not now"]).ok();
    assert_eq!(show(&s, &id)["status"], "open", "it is to be done again");
    s.loopx(&["start", "--issue", &id, "--quick", "--id", "again"])
        .ok();
    s.write(".loopx/again/brief.md", crate::support::issues::BRIEF);
    s.commit_file("code.txt", "code, spelt well\n", "Fix the typo")
        .ok();
    s.loopx(&["run", "--", "true"]).ok();
    s.loopx(&["finish", "--yes"]).ok();
    let issue = show(&s, &id);
    assert_eq!(issue["status"], "resolved", "{issue}");
    assert!(
        issue["reason"]
            .as_str()
            .is_some_and(|why| why.contains("again")),
        "{issue}"
    );
    s.loopx(&["reopen", "again", "--reason", "a comment"]).ok();
    assert_eq!(show(&s, &id)["status"], "in_progress");
    s.loopx(&["undo", "--reason", "no comment"]).ok();
    assert_eq!(show(&s, &id)["status"], "open", "its archive is taken back");
}

/// An issue is to be done again when its archive is taken back, also in a clone that was apart, once it has the commit.
#[test]
fn an_issue_that_an_archive_resolved_is_to_be_done_again_once_that_is_taken_back() {
    let s = backlog();
    let id = create(&s, &["Fix the typo"]);
    s.git(&["switch", "--quiet", "-c", "typo"]).ok();
    s.loopx(&["start", "--issue", &id, "--quick"]).ok();
    s.write(
        ".loopx/fix-the-typo/brief.md",
        crate::support::issues::BRIEF,
    );
    s.commit_file("code.txt", "code, spelt well\n", "Fix the typo")
        .ok();
    s.loopx(&["run", "--", "true"]).ok();
    s.loopx(&["finish", "--yes"]).ok();
    assert_eq!(show(&s, &id)["status"], "resolved");
    let clone = s.root().join("a clone");
    s.git(&["clone", "--quiet", ".", clone.to_str().expect("UTF-8")])
        .ok();
    let there = |args: &[&str]| s.loopx_in(&clone, args);
    there(&["init", "--quiet"]).ok();
    there(&["issue", "create", "Meanwhile"]).ok();
    s.loopx(&["archive", "--undo", "fix-the-typo", "--reason", "too early"])
        .ok();
    let issue = show(&s, &id);
    assert_eq!(issue["status"], "open", "{issue}");
    assert!(issue["reason"].is_null(), "{issue}");
    s.document(0, &["issue", "list", "--ready"]);
    there(&["sync"]).ok();
    // The record alone is a word that anybody can push: what counts is the commit that it names.
    let found = there(&["--json", "issue", "show", &id]).json();
    assert_eq!(found["status"], "resolved", "{found}");
    s.git_in(&clone, &["fetch", "--quiet"]).ok();
    let found = there(&["--json", "issue", "show", &id]).json();
    assert_eq!(found["status"], "open", "{found}");
    // Who says something of it now is heard.
    s.loopx(&["issue", "resolve", &id, "--reason", "it stands elsewhere"])
        .ok();
    assert_eq!(show(&s, &id)["status"], "resolved");
    s.loopx(&["fsck"]).ok();
}

#[test]
fn many_issues_with_links_among_them_are_one_commit() {
    let s = backlog();
    let old = create(&s, &["Old"]);
    let lines = [
        json!({ "key": "a", "title": "A", "criteria": ["it works"], "estimate": "2h" }),
        json!({ "key": "b", "title": "B", "links": [{ "kind": "blocked-by", "to": "a" }] }),
        json!({ "title": "C", "links": [{ "kind": "parent", "to": "b" }, { "kind": "blocks", "to": old }] }),
    ];
    let text: Vec<String> = lines.iter().map(Value::to_string).collect();
    let before = s.git(&["rev-list", "--count", "loopx"]).line();
    let made = s
        .call(crate::support::LOOPX)
        .args(&["--json", "issue", "create", "--from", "-"])
        .stdin(text.join("\n"))
        .run()
        .json();
    assert_eq!(made["issues"].as_array().map(Vec::len), Some(3));
    let after = s.git(&["rev-list", "--count", "loopx"]).line();
    assert_eq!(
        after.parse::<u32>().ok(),
        before.parse::<u32>().ok().map(|n| n + 1)
    );
    assert_eq!(titles(&list(&s, &["--ready"])), ["A"]);
    assert_eq!(show(&s, &old)["waits"][0]["issue"], made["issues"][2]);
    for (line, what) in [
        (
            r#"{"title":"X","links":[{"kind":"blocked-by","to":"nobody"}]}"#,
            "issue_unknown",
        ),
        (r#"{"title":"X","colour":"red"}"#, "issue_field_invalid"),
        (r#"{"title":""}"#, "issue_field_invalid"),
        ("not json", "issue_field_invalid"),
    ] {
        let before = tip(&s);
        let out = s
            .call(crate::support::LOOPX)
            .args(&["--json", "issue", "create", "--from", "-"])
            .stdin(format!("{{\"title\":\"good\"}}\n{line}\n"))
            .run();
        assert_eq!(out.error_json()["error"]["code"], what, "{line}");
        assert_eq!(tip(&s), before, "all or nothing: {line}");
    }
}

#[test]
fn a_list_is_narrowed_by_conditions_that_compose_and_can_have_a_name() {
    let s = backlog();
    create(
        &s,
        &["Alpha", "-k", "bug", "-p", "0", "-l", "ui", "-a", "Ada"],
    );
    create(
        &s,
        &[
            "Beta",
            "-l",
            "ui",
            "-l",
            "slow",
            "-m",
            "1.0",
            "--due",
            "2026-01-31",
        ],
    );
    create(&s, &["Gamma", "-d", "the cache is never cleared"]);
    let found = |args: &[&str]| -> Vec<String> {
        titles(&list(&s, args))
            .into_iter()
            .map(str::to_owned)
            .collect()
    };
    for (args, expected) in [
        (&["-l", "ui"][..], &["Alpha", "Beta"][..]),
        (&["-l", "ui", "-l", "slow"], &["Beta"]),
        (&["-l", "ui", "--no-label", "slow"], &["Alpha"]),
        (&["-k", "bug"], &["Alpha"]),
        (&["-k", "bug", "-k", "task"], &["Alpha", "Beta", "Gamma"]),
        (&["-a", "ada"], &["Alpha"]),
        (&["-a", ""], &["Beta", "Gamma"]),
        (&["-p", "1"], &["Alpha"]),
        (&["-m", "1.0"], &["Beta"]),
        (&["--due", "2026-02-01"], &["Beta"]),
        (&["--grep", "CACHE cleared"], &["Gamma"]),
        (&["--grep", "cache ui"], &[]),
        (&["--stale", "9000"], &[]),
        (&["--sort", "created"], &["Gamma", "Beta", "Alpha"]),
        (&["-n", "1"], &["Alpha"]),
    ] {
        assert_eq!(found(args), expected, "{args:?}");
    }
    s.git(&["config", "loopx.list.slow", "--label ui --label slow"])
        .ok();
    assert_eq!(found(&["@slow"]), ["Beta"]);
    assert_eq!(found(&["@slow", "-k", "bug"]), [] as [&str; 0]);
    refused(&s, 2, "list_unknown", &["issue", "list", "@nobody"]);
    s.git(&["config", "loopx.list.bad", "--colour red"]).ok();
    refused(&s, 2, "list_unknown", &["issue", "list", "@bad"]);
    // A value may begin as a name does; a list that names another one is no shorter list.
    s.git(&["config", "loopx.list.mine", "-a @me"]).ok();
    assert_eq!(found(&["@mine"]), [] as [&str; 0]);
    create(&s, &["Mine", "-a", "@me"]);
    assert_eq!(found(&["@mine"]), ["Mine"]);
    s.git(&["config", "loopx.list.both", "@slow -k bug"]).ok();
    let error = refused(&s, 2, "list_unknown", &["issue", "list", "@both"]);
    assert!(error["message"].to_string().contains("@slow"), "{error}");
    let help = error["help"].to_string();
    assert!(!help.contains("@both"), "{error}");
}

#[test]
fn what_was_done_last_is_taken_back_and_brought_back() {
    let s = backlog();
    let id = create(&s, &["One"]);
    s.loopx(&["issue", "edit", &id, "--title", "Two", "-p", "0"])
        .ok();
    s.loopx(&["issue", "comment", &id, "a comment stays"]).ok();
    s.loopx(&["issue", "undo", &id]).ok();
    let issue = show(&s, &id);
    assert_eq!(
        (&issue["title"], &issue["priority"]),
        (&json!("One"), &json!(2))
    );
    assert_eq!(issue["comments"], 1);
    s.loopx(&["issue", "redo", &id]).ok();
    assert_eq!(show(&s, &id)["title"], "Two");
    s.loopx(&["issue", "undo", &id]).ok();
    s.loopx(&["issue", "undo", &id]).ok();
    assert!(
        list(&s, &["--all"]).is_empty(),
        "its beginning was taken back"
    );
    refused(&s, 4, "issue_taken_back", &["issue", "show", &id]);
    s.loopx(&["issue", "redo", &id]).ok();
    assert_eq!(show(&s, &id)["title"], "One");
    let log = s.loopx(&["--json", "issue", "log", &id]).json();
    let events: Vec<&str> = (log["log"].as_array().expect("a log").iter())
        .filter_map(|entry| entry["event"].as_str())
        .collect();
    assert_eq!(
        events,
        [
            "create", "edit", "comment", "undo", "redo", "undo", "undo", "redo"
        ]
    );
    let other = s
        .call(crate::support::LOOPX)
        .env("GIT_AUTHOR_EMAIL", "other@example.org")
        .args(&["--json", "issue", "undo", &id])
        .run();
    assert_eq!(other.error_json()["error"]["code"], "reason_required");
    s.loopx(&["fsck"]).ok();
}

#[test]
fn what_others_rest_on_is_not_taken_back() {
    let s = backlog();
    let named = create(&s, &["Named"]);
    let part = create(&s, &["Part", "--parent", &named]);
    refused(&s, 1, "issue_used", &["issue", "undo", &named]);
    let said = create(&s, &["Said"]);
    s.call(crate::support::LOOPX)
        .env("GIT_AUTHOR_EMAIL", "other@example.org")
        .args(&["issue", "comment", &said, "I have seen it too"])
        .run()
        .ok();
    refused(&s, 1, "issue_used", &["issue", "undo", &said]);
    s.git(&["switch", "--quiet", "-c", "part"]).ok();
    s.loopx(&["start", "--issue", &part, "--quick"]).ok();
    refused(&s, 1, "issue_used", &["issue", "undo", &part]);
    refused(&s, 6, "issue_held", &["issue", "take", &part]);
}

#[test]
fn a_change_that_changes_nothing_is_none() {
    let s = backlog();
    let id = create(&s, &["One", "-l", "ui", "-p", "1"]);
    refused(
        &s,
        5,
        "issue_unchanged",
        &["issue", "edit", &id, "-l", "ui", "-p", "1"],
    );
    refused(&s, 2, "input_missing", &["issue", "edit", &id]);
}

#[test]
fn the_graph_shows_waves_and_the_longest_chain() {
    let s = backlog();
    let a = create(&s, &["A"]);
    let b = create(&s, &["B", "--blocked-by", &a]);
    create(&s, &["C"]);
    let graph = s.loopx(&["--json", "issue", "graph"]).json();
    let waves: Vec<usize> = (graph["waves"].as_array().expect("waves").iter())
        .filter_map(|wave| wave.as_array().map(Vec::len))
        .collect();
    assert_eq!(waves, [2, 1]);
    assert_eq!(graph["critical_path"], json!([a, b]));
}

#[test]
fn a_record_that_somebody_rewrote_or_took_away_is_found_and_put_back() {
    let s = backlog();
    let id = create(&s, &["One"]);
    s.loopx(&["issue", "edit", &id, "-p", "0"]).ok();
    s.loopx(&["fsck"]).ok();
    let list = s
        .git(&["ls-tree", "-r", "--name-only", "loopx", "issues"])
        .ok();
    let path = list.lines().next_back().expect("a record");
    let text = s.git(&["cat-file", "-p", &format!("loopx:{path}")]).ok();
    let forged = text.replace("\"priority\": 0", "\"priority\": 1");
    assert_ne!(text, forged);
    for (path, forged) in [
        (path, Some(forged.as_bytes())),
        (path, None),
        ("issues", None),
    ] {
        tamper(&s, path, forged);
        let told = s.loopx(&["fsck"]);
        assert_ne!(told.code, Some(0), "{path}: {}", told.stdout);
        let said = format!("{}{}", told.stdout, told.stderr);
        assert!(said.contains(&format!("issues/{id}")), "{path}: {said}");
        s.loopx(&["fsck", "--repair"]).ok();
        assert_eq!(show(&s, &id)["priority"], 0, "{path}");
        s.loopx(&["fsck"]).ok();
    }
}

/// A new issue begins: only an import says how far an issue is elsewhere.
#[test]
fn an_issue_is_not_made_ended() {
    let s = backlog();
    for status in ["resolved", "closed", "in_progress"] {
        let line = format!(r#"{{"title":"Two","status":"{status}"}}"#);
        s.write("plan.jsonl", line);
        let args = ["issue", "create", "--from", "plan.jsonl"];
        refused(&s, 2, "issue_field_invalid", &args);
    }
}

#[test]
fn issues_do_not_end_as_duplicates_of_each_other() {
    let s = backlog();
    let ids: Vec<String> = ["A", "B", "C"].map(|title| create(&s, &[title])).into();
    let close = |at: usize, of: usize| ["issue", "close", &ids[at], "--duplicate-of", &ids[of]];
    refused(&s, 2, "issue_link_invalid", &close(0, 0));
    s.loopx(&close(0, 1)).ok();
    refused(&s, 1, "issue_cycle", &close(1, 0));
    s.loopx(&close(1, 2)).ok();
    refused(&s, 1, "issue_cycle", &close(2, 0));
    assert_eq!(list(&s, &[]).len(), 1);
}

#[test]
fn an_undo_behind_a_comment_says_what_it_takes_back_and_that_the_comment_stays() {
    let s = backlog();
    let id = create(&s, &["Old"]);
    s.loopx(&["issue", "edit", &id, "-t", "New"]).ok();
    s.loopx(&["issue", "comment", &id, "a word"]).ok();
    s.loopx(&["issue", "undo", &id])
        .says("taken back: title New")
        .says("the comment @3 stays")
        .says("note withdraw 3 --issue");
    let issue = show(&s, &id);
    assert_eq!(
        (&issue["title"], &issue["comments"]),
        (&json!("Old"), &json!(1))
    );
    s.loopx(&["note", "withdraw", "3", "--issue", &id, "--reason", "oops"])
        .ok();
    let shown = s.loopx(&["issue", "show", &id]).ok();
    assert!(
        !shown.contains("a word") && !shown.contains("oops"),
        "{shown}"
    );
}

#[test]
fn a_link_goes_by_the_word_that_is_shown_from_either_side() {
    let s = backlog();
    let (a, b) = (create(&s, &["A"]), create(&s, &["B"]));
    for word in [
        "related",
        "fallback",
        "led-to",
        "duplicate",
        "holds",
        "blocks",
        "part",
    ] {
        s.loopx(&["issue", "link", &a, word, &b]).ok();
        s.loopx(&["issue", "show", &a]).says(word);
        s.loopx(&["issue", "unlink", &a, word, &b]).ok();
    }
    // Whichever of the two holds it, they are related once.
    s.loopx(&["issue", "link", &b, "related", &a]).ok();
    s.loopx(&["issue", "link", &a, "related", &b]).fails_with(5);
    s.loopx(&["issue", "unlink", &a, "related", &b]).ok();
    refused(
        &s,
        4,
        "issue_link_unknown",
        &["issue", "unlink", &a, "related", &b],
    );
}

#[test]
fn an_issue_is_a_part_of_one_other() {
    let s = backlog();
    let ids: Vec<String> = ["K", "P", "Q"].map(|title| create(&s, &[title])).into();
    let [k, p, q] = [&ids[0], &ids[1], &ids[2]];
    refused(
        &s,
        2,
        "issue_link_invalid",
        &["issue", "link", k, "parent", p, q],
    );
    let line = format!(
        r#"{{"title":"x","links":[{{"kind":"parent","to":"{p}"}},{{"kind":"parent","to":"{q}"}}]}}"#
    );
    s.write("plan.jsonl", line);
    refused(
        &s,
        2,
        "issue_link_invalid",
        &["issue", "create", "--from", "plan.jsonl"],
    );
}

/// A session that goes on for an issue keeps it from being begun again, whoever gave the claim back.
#[test]
fn an_issue_with_a_session_is_not_shown_as_ready() {
    let s = backlog();
    let id = create(&s, &["One"]);
    s.git(&["switch", "--quiet", "-c", "one"]).ok();
    s.loopx(&["start", "--quick", "--issue", &id]).ok();
    s.loopx(&["issue", "release", &id]).ok();
    let listed = s.loopx(&["issue", "list"]).ok();
    assert!(!listed.contains("ready"), "{listed}");
    assert!(listed.contains("session one goes on for it"), "{listed}");
    create(&s, &["Two"]);
    let args = ["issue", "take", "--label", "none"];
    let error = refused(&s, 5, "issue_none_ready", &args);
    assert!(
        error["message"].to_string().contains("labelled none"),
        "{error}"
    );
}
