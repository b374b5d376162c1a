//! Work that completed tasks left undone: told by `pipeline retro`, and made into issues by one command.

use crate::support::tasks::{building, task, text};
use crate::support::{Output, Sandbox};
use serde_json::json;

fn words(s: &Sandbox, line: &str) -> Output {
    s.loopx(&line.split(' ').collect::<Vec<_>>())
}

/// Two tasks of a pipeline that are done, and left three things.
fn left() -> Sandbox {
    let own = |id: &str| {
        let mut line = task(id, &[], Some(&["true"]));
        line["pipeline"] = json!("patch");
        line
    };
    let s = building(&[
        own("DEV"),
        own("VERIFY"),
        task("LAST", &[], Some(&["true"])),
    ]);
    words(&s, "take DEV").ok();
    words(&s, "task done --deferred rotation --caveat slow").ok();
    words(&s, "take VERIFY").ok();
    words(&s, "task done --deferred phones").ok();
    s
}

#[test]
fn s37_what_tasks_left_is_told_and_becomes_issues_once() {
    let s = left();
    insta::assert_snapshot!(words(&s, "pipeline retro").steady(), @"
    $ git-loopx pipeline retro
    S1  patch  1 of 1 done (100%)
    time      1 s in the middle, 1 s at most
    reworks   0, 0 of them repairs that gates inserted
    conflicts 0
    well      DEV
    S2  patch  1 of 1 done (100%)
    time      1 s in the middle, 1 s at most
    reworks   0, 0 of them repairs that gates inserted
    conflicts 0
    well      VERIFY
    left      DEV, deferred: rotation
    left      DEV, caveat: slow
    left      VERIFY, deferred: phones
    to make issues of what was left: git loopx issue create --debt
    --- exit 0
    ");
    let retro = words(&s, "pipeline retro --json").json();
    assert_eq!(retro["debt"][1]["kind"], "caveat");
    assert_eq!(retro["file"], "git loopx issue create --debt");

    words(&s, "issue create --debt --dry-run")
        .says("would be made: rotation")
        .ok();
    assert_eq!(words(&s, "issue list --json").json()["issues"], json!([]));
    words(&s, "issue create --debt -p 1 -l later")
        .says("phones")
        .ok();
    let listed = words(&s, "issue list --label tech-debt --json").json();
    let issues = listed["issues"].as_array().expect("issues");
    assert_eq!(issues.len(), 3);
    for one in issues {
        assert_eq!(
            (&one["kind"], &one["priority"]),
            (&json!("chore"), &json!(1))
        );
        assert!(one["labels"].to_string().contains("later"), "{one:#}");
    }
    // A second time there is nothing to be made, and what is new is made alone.
    words(&s, "issue create --debt").fails_with(5);
    words(&s, "task retry VERIFY --reason again").ok();
    words(&s, "take VERIFY").ok();
    words(&s, "task done --deferred tablets").ok();
    let made = words(&s, "issue create --debt").ok();
    assert!(
        made.contains("tablets") && !made.contains("rotation"),
        "{made}"
    );
    // What was asked for anew is left by nobody any more.
    let retro = words(&s, "pipeline retro --json").json();
    let all: Vec<String> = (retro["debt"].as_array().expect("debt").iter())
        .map(|one| text(&one["text"]))
        .collect();
    assert_eq!(all, ["rotation", "slow", "tablets"]);
}

#[test]
fn a_session_that_left_nothing_makes_no_issue() {
    let s = building(&[task("A", &[], Some(&["true"]))]);
    words(&s, "issue create --debt")
        .says("no completed task of session demo left anything")
        .fails_with(5);
    words(&s, "issue create --debt --from x").fails_with(2);
}
