//! The backlog as it was at a moment, and what changed since: `--at` and `issue diff`.

use crate::support::Sandbox;
use crate::support::issues::{BRIEF, backlog, create, id_of, refused, show, titles, two};
use serde_json::{Value, json};

/// Runs a command as on that day of January 2026, at noon.
fn on(s: &Sandbox, day: u32, args: &[&str]) -> Value {
    let at = format!("2026-01-{day:02}T12:00:00Z");
    let call = s
        .call(crate::support::LOOPX)
        .args(&[&["--json"], args].concat());
    let call = call
        .env("GIT_COMMITTER_DATE", &at)
        .env("GIT_AUTHOR_DATE", &at);
    call.run().json()
}

/// Three issues of early January: one that ends, one that is edited, one that comes late.
fn history() -> (Sandbox, [String; 3]) {
    let s = backlog();
    let make = |day, title| {
        id_of(&on(
            &s,
            day,
            &["issue", "create", title, "--criterion", "it holds"],
        ))
    };
    let ended = make(2, "The form times out");
    let edited = make(3, "Write it down");
    on(
        &s,
        4,
        &[
            "issue", "edit", &edited, "-p", "0", "-l", "docs", "-d", "New.\n",
        ],
    );
    on(&s, 5, &["issue", "close", &ended, "--reason", "not wanted"]);
    let late = make(6, "Say it in the help");
    (s, [ended, edited, late])
}

#[test]
fn a_list_at_a_moment_is_the_list_of_that_moment() {
    let (s, [ended, ..]) = history();
    let at = |when: &str| -> Vec<String> {
        let all = s.loopx(&["--json", "issue", "list", "--at", when]).json();
        let issues = all["issues"].as_array().expect("issues").clone();
        titles(&issues).into_iter().map(str::to_owned).collect()
    };
    assert_eq!(at("2026-01-01"), [] as [&str; 0]);
    assert_eq!(at("2026-01-02"), ["The form times out"]);
    assert_eq!(at("2026-01-02T11:59:59Z"), [] as [&str; 0]);
    assert_eq!(at("2026-01-03"), ["The form times out", "Write it down"]);
    assert_eq!(at("2026-01-04"), ["Write it down", "The form times out"]);
    assert_eq!(at("2026-01-05 12:00"), ["Write it down"]);
    assert_eq!(at("Jan 7 2026"), ["Write it down", "Say it in the help"]);
    let ready = s.loopx(&[
        "--json",
        "issue",
        "list",
        "--ready",
        "-n",
        "1",
        "--at",
        "2026-01-03",
    ]);
    let ready = ready.json();
    assert_eq!(ready["issues"][0]["id"], json!(ended));
    assert_eq!(ready["at"], "2026-01-03T23:59:59Z");
    assert_eq!(
        ready["next_action"],
        Value::Null,
        "nobody takes what was ready then"
    );
    let text = s.loopx(&["issue", "list", "--at", "2026-01-03"]).ok();
    assert!(
        text.contains("2 open, 2 in all, as of 2026-01-03T23:59:59Z"),
        "{text}"
    );
    assert!(!text.contains("next:"), "{text}");
}

#[test]
fn an_issue_at_a_moment_has_the_fields_of_that_moment() {
    let (s, [ended, edited, late]) = history();
    let at = |id: &str, when: &str| {
        s.loopx(&["--json", "issue", "show", id, "--at", when])
            .json()
    };
    let first = at(&edited, "2026-01-03");
    assert_eq!(
        (&first["priority"], &first["labels"]),
        (&json!(2), &Value::Null)
    );
    assert_eq!(first["description"], "");
    assert_eq!(at(&edited, "@1")["priority"], json!(2));
    assert_eq!(at(&edited, "@2")["priority"], json!(0));
    assert_eq!(at(&edited, "2")["description"], "New.\n");
    assert_eq!(at(&ended, "2026-01-04")["status"], "open");
    assert_eq!(at(&ended, "2026-01-05")["status"], "closed");
    // By the id of an operation, and by the commit that made it.
    let log = s.loopx(&["--json", "issue", "log", &edited]).json();
    let op = log["log"][0]["op"].as_str().expect("an id").to_owned();
    assert_eq!(at(&edited, &op[..10])["priority"], json!(2));
    assert_eq!(
        at(&ended, &op)["status"],
        "open",
        "an operation of another issue is a moment, too"
    );
    let commit = s.git(&["rev-parse", "refs/heads/loopx~1"]).line();
    assert_eq!(at(&ended, &commit)["status"], "closed");
    assert_eq!(at(&ended, "loopx~2")["status"], "open");
    // What it is today is not touched.
    assert_eq!(show(&s, &edited)["priority"], json!(0));
    assert_eq!(show(&s, &edited)["at"], Value::Null);
    let error = refused(
        &s,
        4,
        "issue_unknown",
        &["issue", "show", &late, "--at", "2026-01-05"],
    );
    assert!(
        error["message"]
            .as_str()
            .is_some_and(|text| text.contains("did not exist")),
        "{error}"
    );
    refused(
        &s,
        4,
        "point_unknown",
        &["issue", "show", &late, "--at", "@9"],
    );
}

#[test]
fn what_is_no_moment_is_refused_with_what_one_is() {
    let (s, [ended, ..]) = history();
    for when in [
        "soon",
        "",
        "3 moons ago",
        "@0x",
        "2026-02-30",
        "--all",
        "friday; ls",
        "am",
        "4294967295w",
    ] {
        let at = format!("--at={when}");
        for args in [
            ["issue", "list", &at].as_slice(),
            &["issue", "show", &ended, &at],
        ] {
            refused(&s, 2, "moment_unknown", args);
        }
        let since = format!("--since={when}");
        refused(&s, 2, "moment_unknown", &["issue", "diff", &since]);
    }
    refused(&s, 2, "moment_unknown", &["issue", "list", "--at", "@1"]);
    let turned = [
        "issue",
        "diff",
        "--since",
        "2026-01-03",
        "--until",
        "2026-01-01",
    ];
    let error = refused(&s, 2, "moment_unknown", &turned);
    let said = error["message"].to_string();
    assert!(said.contains("2026-01-03T00:00:00Z"), "{said}");
}

#[test]
fn what_changed_since_a_moment_is_told_by_what_happened_and_by_whom() {
    let (s, [ended, edited, late]) = history();
    let diff = |args: &[&str]| {
        s.loopx(&[&["--json", "issue", "diff"], args].concat())
            .json()
    };
    let found = diff(&["--since", "2026-01-04"]);
    let what: Vec<(&Value, &Value)> = found["issues"]
        .as_array()
        .expect("issues")
        .iter()
        .map(|one| (&one["what"], &one["issue"]))
        .collect();
    assert_eq!(
        what,
        [
            (&json!("closed"), &json!(ended)),
            (&json!("created"), &json!(late)),
            (&json!("changed"), &json!(edited)),
        ]
    );
    assert_eq!(found["since"], "2026-01-04T00:00:00Z");
    assert_eq!(found["issues"][0]["by"], json!(["Ada Author"]));
    let fields = |one: &Value| -> Vec<String> {
        let all = one["differences"].as_array().expect("differences").iter();
        all.map(|one| one["field"].as_str().expect("a field").to_owned())
            .collect()
    };
    assert_eq!(fields(&found["issues"][0]), ["status", "reason"]);
    assert_eq!(
        fields(&found["issues"][2]),
        ["priority", "description", "label"]
    );
    // Between two moments, and of one issue.
    let between = diff(&["--since", "2026-01-03", "--until", "2026-01-04"]);
    assert_eq!(
        between["issues"].as_array().map(Vec::len),
        Some(1),
        "{between}"
    );
    let one = diff(&[&edited, "--since", "@1"]);
    assert_eq!(
        fields(&one["issues"][0]),
        ["priority", "description", "label"]
    );
    assert_eq!(diff(&["--since", "2026-01-07"])["issues"], json!([]));
    let text = s.loopx(&["issue", "diff", "--since", "2026-01-05"]).ok();
    for said in [
        "closed\n",
        "created\n",
        "2 issues changed since 2026-01-05T00:00:00Z",
        "status open -> closed",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    let text = s.loopx(&["issue", "diff", &edited, "--since", "@1"]).ok();
    assert!(
        text.contains("+New.\n") && text.contains("priority 2 -> 0"),
        "{text}"
    );
    let text = s.loopx(&["issue", "diff", "--since", "2026-01-07"]).ok();
    assert!(text.contains("nothing changed since"), "{text}");
}

#[test]
fn what_was_taken_back_is_told_and_stands_in_the_list_of_its_day() {
    let (s, [_, edited, late]) = history();
    on(&s, 8, &["issue", "undo", &late]);
    let found = on(&s, 9, &["issue", "diff", "--since", "2026-01-08"]);
    assert_eq!(found["issues"][0]["what"], "taken_back");
    assert_eq!(found["issues"][0]["title"], "Say it in the help");
    assert_eq!(found["issues"].as_array().map(Vec::len), Some(1), "{found}");
    let list = s
        .loopx(&["--json", "issue", "list", "--at", "2026-01-07"])
        .json();
    let issues = list["issues"].as_array().expect("issues").clone();
    assert_eq!(titles(&issues), ["Write it down", "Say it in the help"]);
    let shown = s
        .loopx(&["--json", "issue", "show", &late, "--at", "2026-01-07"])
        .json();
    assert_eq!(shown["title"], "Say it in the help");
    assert_eq!(show(&s, &edited)["status"], "open");
}

#[test]
fn clones_with_the_same_records_see_the_same_past() {
    let (all, ids) = two(&["One", "Two"]);
    all.loopx(0, &["issue", "edit", &ids[0], "-p", "0"]).ok();
    all.loopx(1, &["issue", "edit", &ids[0], "-l", "ui"]).ok();
    all.loopx(1, &["issue", "close", &ids[1], "--reason", "no"])
        .ok();
    for at in [0, 1, 0] {
        all.sync(at).ok();
    }
    let log = all.loopx(0, &["--json", "issue", "log", &ids[0]]).json();
    let entries = log["log"].as_array().expect("entries").clone();
    assert_eq!(entries.len(), 3);
    for entry in &entries {
        let when = entry["at"].as_str().expect("a time");
        let at = |clone| {
            let mut list = all
                .loopx(clone, &["--json", "issue", "list", "--all", "--at", when])
                .json();
            list["issues"].take()
        };
        assert_eq!(at(0), at(1), "{when}");
        // Of two who wrote apart each record is seen with what its writer knew, and no more.
        let op = entry["op"].as_str().expect("an id");
        let shown = all
            .loopx(1, &["--json", "issue", "show", &ids[0], "--at", op])
            .json();
        let both = shown["priority"] == json!(0) && shown["labels"] == json!(["ui"]);
        assert!(!both, "{shown}");
    }
}

#[test]
fn an_issue_that_an_archive_resolves_was_in_hand_before_it() {
    let s = backlog();
    let id = create(&s, &["Fix the typo"]);
    s.git(&["switch", "--quiet", "-c", "typo"]).ok();
    s.loopx(&["start", "--quick", "--issue", &id]).ok();
    s.write(".loopx/fix-the-typo/brief.md", BRIEF);
    s.commit_file("code.txt", "well\n", "Fix it").ok();
    s.loopx(&["run", "--", "true"]).ok();
    let before = s.git(&["rev-parse", "refs/heads/loopx"]).line();
    s.loopx(&["finish", "--yes"]).ok();
    assert_eq!(show(&s, &id)["status"], "resolved");
    let at = |when: &str| {
        s.loopx(&["--json", "issue", "show", &id, "--at", when])
            .json()
    };
    let then = at(&before);
    assert_eq!(
        (&then["status"], &then["running"]),
        (&json!("in_progress"), &json!("fix-the-typo"))
    );
    assert_eq!(at("now")["status"], "resolved");
    let found = s
        .loopx(&["--json", "issue", "diff", "--since", &before])
        .json();
    assert_eq!(found["issues"][0]["what"], "resolved", "{found}");
    // Its log says by what it ended, and that the end was taken back.
    let archive = s.git(&["rev-parse", "--short=10", "HEAD"]).line();
    let words = format!("session fix-the-typo is archived on typo, {archive}");
    s.loopx(&["issue", "log", &id]).says(&words).ok();
    s.loopx(&["archive", "--undo", "fix-the-typo"]).ok();
    s.loopx(&["issue", "log", &id])
        .says(&words)
        .says("the archive of session fix-the-typo is taken back")
        .ok();
    let log = s.loopx(&["--json", "issue", "log", &id]).json();
    let events = log["sessions"].as_array().expect("ends").iter();
    let events: Vec<&str> = events.filter_map(|one| one["event"].as_str()).collect();
    assert_eq!(events, ["archive", "unarchive"]);
}

#[test]
fn m3_between_two_commits_their_order_on_the_branch_decides_and_no_clock() {
    let s = backlog();
    on(&s, 5, &["issue", "create", "Known"]);
    let first = s.git(&["rev-parse", "loopx"]).line();
    on(&s, 2, &["issue", "create", "Late"]);
    let second = s.git(&["rev-parse", "loopx"]).line();
    let between = |since: &str, until: &str| {
        let args = [
            "--json", "issue", "diff", "--since", since, "--until", until,
        ];
        let found = s.loopx(&args).json();
        titles(found["issues"].as_array().expect("issues"))
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(between(&first, &second), ["Late"]);
    assert_eq!(between(&first, "2026-01-03"), ["Late"]);
    // The way back is none, and the hint says both ends as they were typed.
    let args = ["issue", "diff", "--since", &second, "--until", &first];
    let said = refused(&s, 2, "moment_unknown", &args).to_string();
    assert!(
        said.contains(&format!("--since {first} --until {second}")),
        "{said}"
    );
}

#[test]
fn what_changed_since_a_commit_goes_by_its_place_and_not_by_clocks() {
    let s = backlog();
    let known = id_of(&on(&s, 5, &["issue", "create", "Known"]));
    let commit = s.git(&["rev-parse", "loopx"]).line();
    // The clock of whoever writes next is days behind.
    let late = id_of(&on(&s, 2, &["issue", "create", "Late"]));
    on(&s, 3, &["issue", "edit", &known, "-p", "0"]);
    let since = |args: &[&str]| {
        let all = [&["--json", "issue", "diff", "--since", &commit], args].concat();
        let found = s.loopx(&all).json();
        let rows = found["issues"].as_array().expect("issues").iter();
        let rows = rows.map(|one| (one["what"].clone(), one["issue"].clone()));
        rows.collect::<Vec<_>>()
    };
    let wanted = [
        (json!("created"), json!(late)),
        (json!("changed"), json!(known)),
    ];
    assert_eq!(since(&[]), wanted);
    assert_eq!(since(&[&known]), wanted[1..]);
    let then = s
        .loopx(&["--json", "issue", "list", "--at", &commit])
        .json();
    assert_eq!(
        titles(then["issues"].as_array().expect("issues")),
        ["Known"]
    );
}
