//! The consequences of a merge, an undo or an import for the backlog: they are said where they matter, with the command
//! that leads on.

use crate::support::issues::{backlog, create, refused, show, titles, two};
use crate::support::{LOOPX, Output, Sandbox};
use serde_json::json;

#[test]
fn b41_1_issues_that_clones_closed_as_duplicates_of_each_other_are_named_and_hold_what_waits() {
    let (all, ids) = two(&["One", "Other", "Waits", "Beside"]);
    let [one, other, waits, beside] = [0, 1, 2, 3].map(|at| ids[at].as_str());
    all.loopx(0, &["issue", "link", waits, "blocked-by", other])
        .ok();
    all.loopx(0, &["issue", "link", beside, "duplicate-of", waits])
        .ok();
    all.sync(0).ok();
    all.sync(1).ok();
    all.loopx(0, &["issue", "close", one, "--duplicate-of", other])
        .ok();
    all.loopx(1, &["issue", "close", other, "--duplicate-of", one])
        .ok();
    all.sync(0).ok();
    let [short, twin] = [one, other].map(|id| &id[..7]);
    let settle = format!("git loopx issue reopen {short}");
    let listed =
        format!("issues written apart: {short} (closed as a duplicate of its duplicate {twin})");
    all.sync(1).says(&listed).says(&settle).ok();
    all.sync(0).says(&listed).says(&settle).ok();
    all.loopx(0, &["resolve"])
        .says(&listed)
        .says(&settle)
        .fails_with(4);
    let list = all.loopx(0, &["issue", "list", "--apart"]);
    list.says(short).says(twin).says(&settle).ok();
    for id in [one, other, waits] {
        let shown = all.loopx(1, &["issue", "show", id]);
        let shown = shown.says(&format!("which of {short} and {twin} is the original"));
        shown.says(&settle).ok();
    }
    let message = format!("Land\n\nLoopx-Issue: {other}");
    all.git(0, &["commit", "--quiet", "--allow-empty", "-m", &message])
        .ok();
    let report = all.loopx(0, &["--json", "verify", "HEAD^..HEAD"]).json();
    let found = &report["findings"][0];
    assert_eq!(found["code"], "issue_cycle", "{report}");
    assert_eq!(found["help"], format!("git loopx issue reopen {one}"));

    // Nobody did what it waits for.
    let take = ["--json", "issue", "take", waits];
    let error = all.loopx(0, &take).fails_with(1).error_json()["error"].take();
    assert_eq!(error["code"], "issue_blocked", "{error}");
    assert_eq!(error["help"], format!("git loopx issue reopen {one}"));
    all.loopx(0, &["issue", "reopen", one]).ok();
    let left = all.loopx(0, &["--json", "issue", "show", waits]).json();
    let expected = json!([{ "for": "issue", "issue": one, "status": "open" }]);
    assert_eq!(left["waits"], expected, "{left}");
    let freed = ["--json", "issue", "resolve", one, "--reason", "done"];
    assert_eq!(all.loopx(0, &freed).json()["freed"], json!([waits]));
    all.sync(0).ok();
    let quiet = all.sync(1);
    assert!(!quiet.to_string().contains("written apart"), "{quiet}");
}

#[test]
fn b41_2_an_issue_that_was_taken_back_is_named_with_who_did_it_and_the_way_back() {
    let s = backlog();
    let gone = create(&s, &["Gone"]);
    let other = create(&s, &["Other"]);
    s.write("beads.jsonl", r#"{"id":"bd-a1","title":"From elsewhere"}"#);
    let import = [
        "--json",
        "issue",
        "import",
        "beads.jsonl",
        "--format",
        "beads",
    ];
    let foreign = s.loopx(&import).json()["new"][0]["issue"].take();
    let foreign = foreign.as_str().expect("an id");
    let undo = ["issue", "undo", &gone, "--reason", "a slip"];
    s.loopx(&undo).ok();
    s.loopx(&["issue", "undo", foreign]).ok();
    let plan = json!({"title": "New", "links": [{"kind": "blocked-by", "to": gone}]});
    s.write("plan.jsonl", plan.to_string());
    let short = &gone[..7];
    for args in [
        &["issue", "show", short][..],
        &["issue", "take", short],
        &["issue", "comment", short, "words"],
        &["issue", "edit", short, "-p", "0"],
        &["issue", "close", short, "--reason", "no"],
        &["issue", "close", &other, "--duplicate-of", short],
        &["issue", "link", &other, "blocked-by", short],
        &["issue", "solution", "add", short, "so", "--task", "Do"],
        &["issue", "create", "New", "--blocked-by", short],
        &["issue", "create", "--from", "plan.jsonl"],
        &["issue", "queue", "form", short],
        &["issue", "duplicates", short],
        &["roadmap", "show", short],
        &["roadmap", "new", "Way", "-i", short, "--mode", "direct"],
        &["note", "words", "--issue", short],
        &["note", "list", "--issue", short],
        &["start", "--quick", "--issue", short],
        &["start", "--quick", "--issue", &other, short],
    ] {
        let error = refused(&s, 4, "issue_taken_back", args);
        let message = error["message"].as_str().unwrap_or_default();
        let by = "was taken back by Ada Author at 2";
        for part in [&*gone, "(Gone)", by, ": a slip"] {
            assert!(message.contains(part), "{args:?}: {error}");
        }
        assert_eq!(error["help"], format!("git loopx issue redo {gone}"));
    }
    let error = refused(&s, 4, "issue_taken_back", &["issue", "show", "bd-a1"]);
    assert_eq!(error["help"], format!("git loopx issue redo {foreign}"));
    let redo = format!("git loopx issue redo {gone}");
    s.loopx(&["issue", "log", short]).says(&redo).ok();
    refused(&s, 5, "nothing_to_undo", &["issue", "undo", short]);
    s.loopx(&["issue", "redo", short]).ok();
    s.loopx(&["issue", "redo", "bd-a1"]).ok();
    s.loopx(&["issue", "show", "bd-a1"])
        .says("From elsewhere")
        .ok();
}

#[test]
fn b41_3_a_batch_that_was_partly_used_names_what_can_be_taken_back_alone() {
    let s = backlog();
    let lines = ["A", "B", "C"].map(|title| json!({"title": title}).to_string());
    s.write("plan.jsonl", lines.join("\n"));
    let made = s.loopx(&["--json", "issue", "create", "--from", "plan.jsonl"]);
    let made = made.json()["issues"].take();
    let [a, b, c] = [0, 1, 2].map(|at| made[at].as_str().expect("an id"));
    s.loopx(&["issue", "edit", b, "-p", "0"]).ok();
    let undo = ["issue", "undo", a, "--all"];
    let error = refused(&s, 1, "issue_used", &undo);
    let message = error["message"].as_str().unwrap_or_default();
    let [first, last] = if a < c { [a, c] } else { [c, a] };
    let alone = message.split_once("these can be taken back one by one: ");
    let (used, alone) = alone.expect("the issues that are free");
    assert!(used.contains(b) && !alone.contains(b), "{error}");
    assert!(alone.contains(first) && alone.contains(last), "{error}");
    let help = error["help"].as_str().unwrap_or_default();
    let (_, one) = help
        .rsplit_once("one by one: git loopx ")
        .expect("a command");
    let one: Vec<&str> = one.split(' ').collect();
    assert_eq!(one[..2], ["issue", "undo"]);
    s.loopx(&one).ok();
    // Of nobody else's work is anything taken back without a reason, and the command with one is whole.
    let other = create(&s, &["Other"]);
    let as_bob = s.call(LOOPX).env("GIT_AUTHOR_EMAIL", "bob@example.org");
    let args = ["--json", "issue", "undo", &other, "--all"];
    let error = as_bob.args(&args).run().fails_with(2).error_json();
    let help = error["error"]["help"].as_str().unwrap_or_default();
    let whole = format!("git loopx issue undo {other} --all --reason ");
    assert!(help.starts_with(&whole), "{error}");
}

#[test]
fn b41_5_an_undo_that_the_work_of_another_clone_overrules_is_said_until_somebody_knows() {
    let (all, ids) = two(&["Kept", "Edited"]);
    for (at, id) in ids.iter().enumerate() {
        all.loopx(0, &["issue", "undo", id]).ok();
        all.loopx(1, &["issue", "edit", id, "-p", "0"]).ok();
        all.sync(1).ok();
        let short = &id[..7];
        let words = "the undo by Person 0 does not count: Person 1 used the issue meanwhile";
        let listed = format!("{short} ({words})");
        let close = format!("git loopx issue close {short} --reason ");
        all.sync(0).says(&listed).says(&close).ok();
        all.sync(1).says(&listed).says(&close).ok();
        all.loopx(1, &["issue", "show", id]).says(words).ok();
        let list = all.loopx(1, &["issue", "list", "--apart"]);
        list.says(words).says(&close).ok();
        let known: &[&str] = match at {
            0 => &["issue", "close", id, "--reason", "not wanted"],
            _ => &["issue", "comment", id, "it is wanted"],
        };
        all.loopx(0, known).ok();
        for clone in [0, 1] {
            let quiet = all.sync(clone);
            // What came is told, and nothing of the undo.
            assert!(!quiet.to_string().contains(words), "{quiet}");
            assert!(!quiet.to_string().contains(&close), "{quiet}");
        }
        let list = all.loopx(1, &["--json", "issue", "list", "--apart"]).json();
        assert_eq!(list["issues"], json!([]));
    }
}

/// Writes issues of Beads, one for each id, title and day, and takes them over.
fn beads(s: &Sandbox, issues: &[(&str, &str, Option<u8>)], args: &[&str]) -> Output {
    let lines = issues.iter().map(|(id, title, day)| {
        let mut line = json!({"id": id, "title": title, "status": "open"});
        if let Some(day) = day {
            line["created_at"] = json!(format!("2026-01-0{day}T09:00:00Z"));
        }
        format!("{line}\n")
    });
    s.write("beads.jsonl", lines.collect::<String>());
    let import = [
        "--json",
        "issue",
        "import",
        "beads.jsonl",
        "--format",
        "beads",
    ];
    s.loopx(&[&import[..], args].concat())
}

#[test]
fn b41_4_an_issue_of_another_backlog_is_not_taken_for_the_one_that_has_its_id() {
    let s = backlog();
    let fault = |out: Output| {
        let error = out.fails_with(1).error_json()["error"].take();
        assert_eq!(error["code"], "issue_import_invalid", "{error}");
        let message = error["blockers"][0]["message"].as_str();
        message.expect("a fault").to_owned()
    };
    let first = beads(&s, &[("bd-1", "Log in", None)], &[]).json();
    let first = first["new"][0]["issue"].as_str().expect("an id").to_owned();
    // Without a time the title alone says which issue it is: one that was renamed shares words.
    let renamed = beads(&s, &[("bd-1", "Log in again", None)], &[]).json();
    assert_eq!(renamed["here"], 1, "{renamed}");
    let other = [("bd-1", "Print invoices", None)];
    let said = fault(beads(&s, &other, &[]));
    for part in [
        &*first,
        "`Log in`",
        "`Print invoices`",
        "--source NAME",
        "--update",
    ] {
        assert!(said.contains(part), "{said}");
    }
    let second = beads(&s, &other, &["--source", "billing"]).json();
    let second = second["new"][0]["issue"]
        .as_str()
        .expect("an id")
        .to_owned();
    let error = refused(&s, 2, "issue_ambiguous", &["issue", "show", "bd-1"]);
    let message = error["message"].as_str().unwrap_or_default();
    for one in [
        format!("{first} (beads bd-1)"),
        format!("{second} (beads:billing bd-1)"),
    ] {
        assert!(message.contains(&one), "{error}");
    }
    for (typed, id) in [
        ("beads bd-1", &first),
        ("beads:billing bd-1", &second),
        ("billing bd-1", &second),
    ] {
        assert_eq!(show(&s, typed)["id"], id.as_str());
    }
    // Whoever says that it is the same issue is believed.
    let same = beads(&s, &other, &["--update"]).json();
    assert_eq!(same["updated"], true, "{same}");
    assert_eq!(show(&s, &first)["title"], "Print invoices");
    // What was renamed here is known by the title that it had there.
    s.loopx(&["issue", "edit", &second, "--title", "Other words"])
        .ok();
    let again = beads(&s, &other, &["--source", "billing"]).json();
    assert_eq!(again["here"], 1, "{again}");
    // Whoever named it hears that another name tells them apart.
    let third = [("bd-1", "Mend the roof", None)];
    let said = fault(beads(&s, &third, &["--source", "billing"]));
    for part in ["another name than billing", "--source NAME"] {
        assert!(said.contains(part), "{said}");
    }
    // One title at two times: nothing tells whether it is one issue.
    beads(&s, &[("bd-2", "Mend tests", Some(1))], &[]).json();
    let said = fault(beads(&s, &[("bd-2", "Mend tests", Some(2))], &[]));
    assert!(said.contains("--source NAME"), "{said}");
}

#[test]
fn b41_4_clones_that_take_over_backlogs_with_the_same_ids_have_an_issue_of_each() {
    let (all, _) = two(&[]);
    for at in [0, 1] {
        let title = ["Log in", "Print invoices"][at];
        let day = format!("2026-01-0{}T09:00:00Z", at + 1);
        let line = json!({"id": "bd-1", "title": title, "status": "open", "created_at": day});
        let import = ["issue", "import", "-", "--format", "beads"];
        let call = all.call(at).args(&import);
        call.stdin(format!("{line}\n")).run().ok();
    }
    all.sync(0).ok();
    all.sync(1).ok();
    all.sync(0).ok();
    for at in [0, 1] {
        let list = all.loopx(at, &["--json", "issue", "list"]).json();
        let list = list["issues"].as_array().expect("issues");
        assert_eq!(titles(list), ["Log in", "Print invoices"]);
        // Each is known again by its time.
        for title in ["Log in", "Print invoices"] {
            let day = if title == "Log in" { 1 } else { 2 };
            let made = format!("2026-01-0{day}T09:00:00Z");
            let line = json!({"id": "bd-1", "title": title, "status": "open", "created_at": made});
            let import = ["--json", "issue", "import", "-", "--format", "beads"];
            let call = all.call(at).args(&import);
            let again = call.stdin(format!("{line}\n")).run().json();
            assert_eq!((&again["here"], &again["changed"]), (&json!(1), &json!([])));
        }
    }
}

#[test]
fn b41_7_a_field_that_an_update_writes_apart_is_not_called_brought() {
    let s = backlog();
    let import = |priority: u8, title: &str, args: &[&str]| {
        let line = json!({"id": "bd-1", "title": title, "status": "open", "priority": priority});
        s.write("beads.jsonl", format!("{line}\n"));
        let all = [
            &["issue", "import", "beads.jsonl", "--format", "beads"],
            args,
        ]
        .concat();
        s.loopx(&all)
    };
    import(1, "Log in", &[]).ok();
    s.loopx(&["issue", "edit", "bd-1", "-p", "0"]).ok();
    let said = import(3, "Log in again", &["--update"]);
    let said = said.says(
        "brought: title Log in again; written apart, and nobody has settled them: priority 3",
    );
    let text = said
        .says("git loopx issue edit lx-")
        .says("--priority")
        .ok();
    assert!(!text.contains("brought: priority"), "{text}");
    let shown = s.loopx(&["issue", "show", "bd-1"]);
    shown
        .says("(Ada Author)")
        .says("3 (beads, brought by Ada Author)")
        .ok();
}

#[test]
fn b41_7_each_way_to_settle_a_status_is_offered() {
    let (all, ids) = two(&["One"]);
    let one = ids[0].as_str();
    for (at, verb) in [(0, "resolve"), (1, "close")] {
        all.loopx(at, &["issue", verb, one, "--reason", "so"]).ok();
    }
    all.sync(0).ok();
    let said = all.sync(1);
    let [resolve, close] =
        ["resolve", "close"].map(|verb| format!("git loopx issue {verb} {}", &one[..7]));
    said.says(&resolve).says(&close).ok();
    all.loopx(1, &["issue", "show", one])
        .says(&resolve)
        .says(&close)
        .ok();
}

#[test]
fn b41_7_a_part_is_open_again_with_what_it_is_a_part_of() {
    let s = backlog();
    let [whole, part] = ["Whole", "Part"].map(|title| create(&s, &[title]));
    s.loopx(&["issue", "link", &part, "parent", &whole]).ok();
    for id in [&part, &whole] {
        s.loopx(&["issue", "close", id, "--reason", "not wanted"])
            .ok();
    }
    let error = refused(&s, 1, "issue_ended", &["issue", "reopen", &part]);
    let help = error["help"].as_str().unwrap_or_default();
    let both = format!("git loopx issue reopen {part} {whole}");
    assert!(
        help.starts_with(&both) && help.contains("issue unlink"),
        "{error}"
    );
    s.loopx(&["issue", "reopen", &part, &whole]).ok();
    assert_eq!(show(&s, &part)["status"], "open");
}

#[test]
fn b41_7_what_is_wrong_about_a_note_of_an_issue_leads_to_the_notes_of_that_issue() {
    let s = backlog();
    let id = create(&s, &["One"]);
    s.loopx(&["issue", "comment", &id, "words"]).ok();
    s.loopx(&[
        "note", "withdraw", "2", "--issue", &id, "--reason", "a slip",
    ])
    .ok();
    for (args, code) in [
        (&["note", "withdraw", "9", "--reason", "no"][..], 4),
        (&["note", "withdraw", "2", "--reason", "no"], 5),
        (&["note", "promote", "9", "--to", "rule"], 4),
        (&["note", "promote", "2", "--to", "rule"], 2),
        (&["note", "show", "9"], 4),
        (&["note", "get", "missing"], 4),
        (&["note", "set", "key", "value"], 2),
    ] {
        let all = [&["--json"], args, &["--issue", &id]].concat();
        let error = s.loopx(&all).fails_with(code).error_json()["error"].take();
        let help = error["help"].as_str().unwrap_or_default();
        assert!(
            help.contains(&format!(" --issue {id}")),
            "{args:?}: {error}"
        );
    }
}

#[test]
fn b41_7_a_graph_of_a_cycle_says_how_it_ends_and_that_issues_are_open() {
    let (all, ids) = two(&["One", "Other"]);
    let [one, other] = [ids[0].as_str(), ids[1].as_str()];
    all.loopx(0, &["issue", "link", one, "blocked-by", other])
        .ok();
    all.loopx(1, &["issue", "link", other, "blocked-by", one])
        .ok();
    all.sync(0).ok();
    all.sync(1).ok();
    let said = all.loopx(1, &["issue", "graph"]);
    let text = said.says("2 open, and none of them can be begun");
    let text = text.says("git loopx issue unlink lx-").ok();
    let (_, unlink) = text.rsplit_once("next: git loopx ").expect("a command");
    let unlink: Vec<&str> = unlink.trim().split(' ').collect();
    all.loopx(1, &unlink).ok();
    assert!(
        !all.loopx(1, &["issue", "graph"])
            .ok()
            .contains("wait for each other")
    );
}

#[test]
fn b41_6_an_issue_whose_session_goes_on_in_another_worktree_leads_there() {
    let s = backlog();
    let id = create(&s, &["Fix it"]);
    let there = s.root().join("there");
    let there = there.to_str().expect("UTF-8");
    s.git(&["worktree", "add", "--quiet", "-b", "fix-it", there])
        .ok();
    let start = ["start", "--quick", "--issue", &id];
    s.call(LOOPX).args(&start).cwd(there).run().ok();
    let way = format!("cd {there}");
    s.loopx(&["issue", "show", &id])
        .says("session fix-it goes on for it")
        .says(&way)
        .ok();
    let again = [&start[..], &["--id", "again"]].concat();
    for (args, exit, code) in [
        (&["issue", "take", &id][..], 6, "issue_held"),
        (&again, 6, "issue_held"),
        (&start, 1, "session_exists"),
    ] {
        let error = refused(&s, exit, code, args);
        let help = error["help"].as_str().unwrap_or_default();
        assert!(help.starts_with(&way), "{error}");
    }
    // It is not taken away from there by a word that names no branch.
    let error = refused(&s, 1, "branch_mismatch", &["use", "fix-it"]);
    let help = error["help"].as_str().unwrap_or_default();
    assert!(help.starts_with(&way), "{error}");
    assert!(
        help.ends_with("git loopx use fix-it --branch main"),
        "{error}"
    );
    s.loopx(&["use", "fix-it", "--branch", "main"])
        .says("bound to branch main (and to fix-it no more; git loopx -s fix-it undo binds it there again)")
        .ok();
    s.loopx(&["-s", "fix-it", "undo"]).ok();
    s.git(&["worktree", "remove", "--force", there]).ok();
    s.loopx(&["issue", "show", &id])
        .says("git switch fix-it")
        .ok();
    s.loopx(&["use", "fix-it"]).says("to fix-it no more").ok();
}

#[test]
fn b41_6_each_session_that_goes_on_for_an_issue_is_named() {
    let (all, ids) = two(&["Both"]);
    for at in 0..2 {
        let branch = format!("both-{at}");
        all.git(at, &["switch", "--quiet", "-c", &branch]).ok();
        let start = ["start", "--quick", "--id", &branch, "--issue", &ids[0]];
        all.loopx(at, &start).ok();
    }
    all.sync(0).ok();
    all.sync(1).ok();
    all.loopx(1, &["issue", "show", &ids[0]])
        .says("sessions both-0 and both-1 go on for it")
        .ok();
    all.loopx(1, &["issue", "take", &ids[0]])
        .says("in sessions both-0 and both-1")
        .fails_with(6);
}

#[test]
fn b41_8_the_files_of_a_solution_count_from_where_somebody_stands() {
    let s = backlog();
    s.commit_file("src/api/a.rs", "a\n", "code").ok();
    let id = create(&s, &["One"]);
    let here = s.path().join("src/api");
    let add = ["issue", "solution", "add", &id, "so", "--task", "Do"];
    let files = ["--file", "a.rs", "--create", "b.rs", "--file", "../api/"];
    s.call(LOOPX)
        .args(&[&add[..], &files].concat())
        .cwd(&here)
        .run()
        .ok();
    s.loopx(&["issue", "solution", "bind", &id, "s1"]).ok();
    let bound = show(&s, &id)["bound"]["files"].take();
    let paths: Vec<&str> = (bound.as_array().expect("files").iter())
        .filter_map(|file| file["path"].as_str())
        .collect();
    assert_eq!(paths, ["src/api/", "src/api/a.rs", "src/api/b.rs"]);
}

#[cfg(unix)]
#[test]
fn b41_7_what_is_no_kept_file_is_read_as_a_shell_hands_it_over() {
    let s = backlog();
    let import = ["issue", "import", "/dev/null"];
    let error = refused(&s, 2, "input_missing", &import);
    let message = "/dev/null: expected issues, found none";
    assert_eq!(error["message"], message, "{error}");
    let script = format!(
        "'{LOOPX}' issue import <(echo '{{\"id\":\"bd-1\",\"title\":\"One\"}}') --format beads"
    );
    s.call("bash").args(&["-c", &script]).run().ok();
    assert_eq!(show(&s, "bd-1")["title"], "One");
}

#[test]
fn b41_8_an_issue_in_no_phase_is_found_where_no_document_names_one() {
    let s = backlog();
    let [one, other] = ["One", "Other"].map(|title| create(&s, &[title, "--criterion", "so"]));
    let new = [
        "roadmap", "new", "Way", "--mode", "direct", "-i", &one, "-i", &other,
    ];
    s.loopx(&new).ok();
    s.loopx(&["roadmap", "set", &one, "--phase", "2.1"]).ok();
    let lead = format!("git loopx roadmap set {} --phase 2.1", &other[..7]);
    s.loopx(&["roadmap", "check"])
        .says("roadmap_no_phase")
        .says(&lead)
        .ok();
}

#[test]
fn b41_8_a_change_that_changes_nothing_leads_to_the_list() {
    let s = backlog();
    let one = create(&s, &["One"]);
    let error = refused(
        &s,
        5,
        "issue_unchanged",
        &["issue", "edit", &one, "-p", "2"],
    );
    assert_eq!(error["help"], "git loopx issue list");
}

#[test]
fn b41_8_a_phase_that_was_renamed_is_the_phase_of_its_number() {
    let s = backlog();
    let document = |second: &str| {
        let text = format!("# Way\n## Milestone: v1\n### Phase 1: Keep\n### Phase {second}\n");
        s.write("way.md", text);
        s.loopx(&["--json", "roadmap", "import", "way.md"])
    };
    document("2: Find").json();
    let again = document("2: Print invoices").json();
    assert_eq!(again["here"], 3, "{again}");
    assert_eq!(again["changed"][1]["changes"][0], "title Print invoices");
    let update = again["next_action"].as_str().unwrap_or_default();
    let update = update.strip_prefix("git loopx ").expect("a command");
    s.loopx(&update.split(' ').collect::<Vec<_>>()).ok();
    assert_eq!(show(&s, "Way/2")["title"], "Print invoices");
    let twice = document("1: Keep twice").fails_with(1).error_json();
    let help = twice["error"]["help"].as_str();
    assert_eq!(help, Some("git loopx help roadmap import"), "{twice}");
}
