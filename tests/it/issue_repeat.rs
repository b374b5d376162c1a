//! Issues that come again: the end of one makes the next, and clones that end one apart make one.

use crate::support::issues::{BRIEF, backlog, create, list, refused, show, titles, two};
use serde_json::{Value, json};

#[test]
fn the_end_of_an_issue_that_comes_again_makes_the_next_one() {
    let s = backlog();
    let epic = create(&s, &["Care", "-k", "epic"]);
    let id = create(
        &s,
        &[
            "Renew the keys",
            "--every",
            "1mo",
            "--due",
            "2026-01-31",
            "--defer",
            "2026-01-28",
            "-p",
            "1",
            "-l",
            "ops",
            "-a",
            "Bob",
            "-d",
            "As the page says.\n",
            "--criterion",
            "they are new",
            "--parent",
            &epic,
        ],
    );
    assert_eq!(show(&s, &id)["repeat"], json!({"every": "1mo"}));
    s.loopx(&["issue", "tick", &id, "1"]).ok();
    let before = s.git(&["rev-list", "--count", "refs/heads/loopx"]).line();
    let out = s
        .loopx(&["issue", "close", &id, "--reason", "not this month"])
        .ok();
    assert!(
        out.contains("comes next: ") && out.contains(", due 2026-02-28"),
        "{out}"
    );
    let count = |text: &str| text.parse::<usize>().expect("a number");
    let after = s.git(&["rev-list", "--count", "refs/heads/loopx"]).line();
    assert_eq!(count(&after), count(&before) + 1, "one commit");
    let open = list(&s, &["-k", "task"]);
    assert_eq!(titles(&open), ["Renew the keys"]);
    let next = show(&s, open[0]["id"].as_str().expect("an id"));
    assert_eq!(
        (&next["due"], &next["defer"]),
        (&json!("2026-02-28"), &json!("2026-02-28"))
    );
    assert_eq!(
        (&next["priority"], &next["assignee"], &next["labels"]),
        (&json!(1), &json!("Bob"), &json!(["ops"]))
    );
    assert_eq!(next["description"], "As the page says.\n");
    assert_eq!(
        next["criteria"],
        json!([{"text": "they are new", "done": false}])
    );
    assert_eq!(
        next["repeat"],
        json!({"every": "1mo", "of": id, "number": 1})
    );
    let links = next["links"].as_array().expect("links");
    assert!(
        links.contains(&json!({"kind": "discovered-from", "to": id})),
        "{next}"
    );
    assert!(
        links.contains(&json!({"kind": "parent", "to": epic})),
        "{next}"
    );
    let log = s
        .loopx(&[
            "--json",
            "issue",
            "log",
            next["id"].as_str().expect("an id"),
        ])
        .json();
    assert_eq!(
        log["log"][0]["reason"],
        json!(format!("it comes after {id}"))
    );
    let text = s
        .loopx(&["issue", "show", next["id"].as_str().expect("an id")])
        .ok();
    assert!(
        text.contains("every") && text.contains(&format!("1mo, number 2 of {id}")),
        "{text}"
    );
}

#[test]
fn days_of_the_month_count_from_the_first_and_one_end_is_one() {
    let s = backlog();
    create(&s, &["Renew", "--every", "1mo", "--due", "2027-01-31"]);
    for due in ["2027-01-31", "2027-02-28", "2027-03-31", "2027-04-30"] {
        let open = list(&s, &[]);
        assert_eq!(open[0]["due"], due);
        let id = open[0]["id"].as_str().expect("an id");
        let out = s.loopx(&["--json", "issue", "close", id, "--reason", "no"]);
        assert_eq!(out.json()["issues"], json!([id]));
    }
}

#[test]
fn a_period_can_be_changed_and_ended_and_a_wrong_one_is_refused() {
    let s = backlog();
    for period in ["1", "0d", "1m", "often", "-1w"] {
        let every = format!("--every={period}");
        refused(
            &s,
            2,
            "issue_field_invalid",
            &["issue", "create", "X", &every],
        );
    }
    let id = create(&s, &["Look at the logs", "--every", "P1W"]);
    assert_eq!(show(&s, &id)["repeat"]["every"], "1w");
    s.loopx(&["issue", "close", &id, "--reason", "seen"]).ok();
    let next = list(&s, &[])[0].clone();
    // Without a day it is due a period after it was made.
    assert_eq!(next["due"], "2026-01-08");
    let second = next["id"].as_str().expect("an id");
    s.loopx(&["issue", "edit", second, "--every", "2d"]).ok();
    assert_eq!(
        show(&s, second)["repeat"],
        json!({"every": "2d", "of": id, "number": 1})
    );
    s.loopx(&["issue", "edit", second, "--no-every"]).ok();
    assert_eq!(show(&s, second)["repeat"], Value::Null);
    s.loopx(&["issue", "close", second, "--reason", "no more"])
        .ok();
    assert_eq!(list(&s, &[]).len(), 0);
    // What says what another one says does not come again beside it.
    let one = create(&s, &["One", "--every", "1d"]);
    let other = create(&s, &["Other"]);
    s.loopx(&["issue", "close", &one, "--duplicate-of", &other])
        .ok();
    assert_eq!(titles(&list(&s, &[])), ["Other"]);
}

#[test]
fn clones_that_end_an_issue_apart_make_one_next_issue() {
    let (all, _) = two(&[]);
    let made = all
        .loopx(
            0,
            &[
                "--json",
                "issue",
                "create",
                "Renew",
                "--every",
                "1w",
                "--due",
                "2026-01-05",
            ],
        )
        .json();
    let id = made["issues"][0].as_str().expect("an id").to_owned();
    for at in [0, 1] {
        all.sync(at).ok();
    }
    let end = |at| {
        let out = all
            .loopx(
                at,
                &["--json", "issue", "close", &id, "--reason", "done with it"],
            )
            .json();
        out["following"].clone()
    };
    assert_eq!(end(0), end(1));
    for at in [0, 1, 0] {
        all.sync(at).ok();
    }
    let open = |at| {
        let found = all.loopx(at, &["--json", "issue", "list"]).json();
        found["issues"].as_array().expect("issues").clone()
    };
    assert_eq!(open(0).len(), 1, "{:?}", open(0));
    assert_eq!(open(0)[0]["id"], open(1)[0]["id"]);
    assert_eq!(
        (&open(0)[0]["due"], &open(0)[0]["apart"]),
        (&json!("2026-01-12"), &Value::Null)
    );
    // The next but one follows in the same way.
    let second = open(0)[0]["id"].as_str().expect("an id").to_owned();
    all.loopx(1, &["issue", "close", &second, "--reason", "again"])
        .ok();
    assert_eq!(
        open(1)[0]["repeat"],
        json!({"every": "1w", "of": id, "number": 2})
    );
    all.loopx(0, &["fsck"]).ok();
}

#[test]
fn an_end_that_is_taken_back_and_said_again_makes_no_second_issue() {
    let s = backlog();
    let id = create(&s, &["Renew", "--every", "1w"]);
    s.loopx(&["issue", "close", &id, "--reason", "no"]).ok();
    s.loopx(&["issue", "undo", &id]).ok();
    assert_eq!(list(&s, &[]).len(), 2);
    let out = s.loopx(&["issue", "close", &id, "--reason", "no"]).ok();
    assert!(out.contains("is here already"), "{out}");
    assert_eq!(list(&s, &[]).len(), 1);
    // Both together.
    s.loopx(&["issue", "reopen", &id]).ok();
    let other = create(&s, &["Look", "--every", "1w"]);
    s.loopx(&["issue", "close", &other, "--reason", "no"]).ok();
    s.loopx(&["issue", "undo", &other, "--all"]).ok();
    assert_eq!(
        titles(&list(&s, &["--sort", "created"]))
            .iter()
            .filter(|title| **title == "Look")
            .count(),
        1
    );
    let out = s.loopx(&["issue", "close", &other, "--reason", "no"]).ok();
    assert!(
        out.contains("was taken back") && out.contains("issue redo"),
        "{out}"
    );
}

#[test]
fn the_archive_that_resolves_an_issue_makes_the_next_one() {
    let s = backlog();
    let id = create(
        &s,
        &["Fix the typo", "--every", "1w", "--due", "2026-01-05"],
    );
    s.git(&["switch", "--quiet", "-c", "typo"]).ok();
    s.loopx(&["start", "--quick", "--issue", &id]).ok();
    s.write(".loopx/fix-the-typo/brief.md", BRIEF);
    s.commit_file("code.txt", "well\n", "Fix it").ok();
    s.loopx(&["run", "--", "true"]).ok();
    s.loopx(&["finish", "--yes"]).ok();
    assert_eq!(show(&s, &id)["status"], "resolved");
    let open = list(&s, &[]);
    assert_eq!(
        (titles(&open), &open[0]["due"]),
        (vec!["Fix the typo"], &json!("2026-01-12"))
    );
    // What an archive resolved is opened with its session, and closed by nobody's word.
    for args in [
        ["issue", "take", &id].as_slice(),
        &["issue", "close", &id, "--reason", "no"],
        &["issue", "reopen", &id],
    ] {
        let out = s.loopx(&[&["--json"], args].concat()).fails_with(1);
        let error = out.error_json()["error"].take();
        assert_eq!(error["code"], "issue_ended", "{args:?}: {error}");
        let help = error["help"].as_str().expect("a command");
        assert!(help.contains("-s fix-the-typo reopen"), "{args:?}: {help}");
    }
    // Nobody touched it: whoever takes the archive back hears of it.
    let out = s.loopx(&["--json", "archive", "--undo", "fix-the-typo"]);
    assert_eq!(out.json()["following"], json!([open[0]["id"]]));
    s.loopx(&["fsck"]).ok();
}

#[test]
fn what_comes_again_is_exported_and_made_from_a_plan() {
    let s = backlog();
    s.write("plan.jsonl", "{\"title\":\"Renew\",\"repeat\":\"1w\"}\n");
    s.loopx(&["issue", "create", "--from", "plan.jsonl"]).ok();
    let id = list(&s, &[])[0]["id"].as_str().expect("an id").to_owned();
    assert_eq!(show(&s, &id)["repeat"], json!({"every": "1w"}));
    s.loopx(&["issue", "close", &id, "--reason", "done"]).ok();
    s.write("all.jsonl", s.loopx(&["issue", "export"]).ok());
    let other = backlog();
    other.write("all.jsonl", s.read("all.jsonl"));
    other.loopx(&["issue", "import", "all.jsonl"]).ok();
    let open = list(&other, &[]);
    assert_eq!(
        open[0]["repeat"],
        json!({"every": "1w", "of": id, "number": 1})
    );
}
