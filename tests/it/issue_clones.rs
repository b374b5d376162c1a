//! The backlog in clones that were apart: one tree in every order of merging, nothing lost, and what two people wrote
//! of one field stays visible until one command settles it (backlogs-and-boards 4 and 9).

use crate::support::clones::Clones;
use crate::support::issues::id_of;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Clones that share a branch of sessions without one.
fn clones(count: usize) -> Clones {
    Clones::once(format!("{count:?}"), || {
        let all = Clones::apart(count);
        all.loopx(0, &["init"]).ok();
        all.sync(0).ok();
        for at in 1..count {
            all.sync(at).ok();
        }
        all
    })
}

fn create(all: &Clones, at: usize, args: &[&str]) -> String {
    let args = [&["--json", "issue", "create"], args].concat();
    id_of(&all.loopx(at, &args).json())
}

fn show(all: &Clones, at: usize, id: &str) -> Value {
    all.loopx(at, &["--json", "issue", "show", id]).json()
}

fn everybody(all: &Clones, count: usize) {
    for at in 0..count {
        all.sync(at).ok();
    }
}

/// Edits of two people to six issues, each once: the table of the reference.
const SIX: [(&str, &[&[&str]; 2]); 6] = [
    (
        "status and owner",
        &[
            &["edit", "ID", "--status", "planned", "-a", "ada"],
            &["edit", "ID", "--status", "queued"],
        ],
    ),
    (
        "two criteria",
        &[&["tick", "ID", "1"], &["tick", "ID", "2"]],
    ),
    (
        "two labels",
        &[&["edit", "ID", "-l", "red"], &["edit", "ID", "-l", "blue"]],
    ),
    (
        "priority and owner",
        &[&["edit", "ID", "-p", "0"], &["edit", "ID", "-a", "bob"]],
    ),
    (
        "two comments",
        &[&["comment", "ID", "one"], &["comment", "ID", "two"]],
    ),
    (
        "two lines",
        &[
            &["edit", "ID", "-d", "ONE\ntwo\nthree\n"],
            &["edit", "ID", "-d", "one\ntwo\nTHREE\n"],
        ],
    ),
];

fn six(order: [usize; 2]) -> Vec<Value> {
    let all = clones(2);
    let make = |(title, _): &(&str, _)| {
        let args = [
            title,
            "-d",
            "one\ntwo\nthree\n",
            "--criterion",
            "a",
            "--criterion",
            "b",
        ];
        create(&all, 0, &args)
    };
    let ids: Vec<String> = SIX.iter().map(make).collect();
    everybody(&all, 2);
    for (id, (_, sides)) in ids.iter().zip(&SIX) {
        for (at, args) in sides.iter().enumerate() {
            let args: Vec<&str> = args
                .iter()
                .map(|word| if *word == "ID" { id } else { *word })
                .collect();
            all.loopx(at, &[&["issue"], args.as_slice()].concat()).ok();
        }
    }
    let news: Vec<String> = (0..2).map(|at| create(&all, at, &["a new one"])).collect();
    assert_ne!(news[0], news[1]);
    for at in [order[0], order[1], order[0]] {
        all.sync(at).ok();
    }
    assert_eq!(all.tree(0), all.tree(1));
    for at in 0..2 {
        all.loopx(at, &["fsck"]).ok();
        all.loopx(at, &["issue", "show", &news[1 - at]]).ok();
    }
    let mut found: Vec<Value> = ids.iter().map(|id| show(&all, 1, id)).collect();
    let status = &mut found[0];
    assert_eq!(status["assignee"], "ada");
    let values: BTreeSet<&str> = (status["apart"][0]["values"]
        .as_array()
        .expect("values")
        .iter())
    .filter_map(|one| one["value"].as_str())
    .collect();
    assert_eq!(values, BTreeSet::from(["planned", "queued"]));
    assert_eq!(status["waits"][0]["for"], "settling");
    // One command settles it, for everybody.
    all.loopx(0, &["issue", "edit", &ids[0], "--status", "queued"])
        .ok();
    everybody(&all, 2);
    let settled = show(&all, 1, &ids[0]);
    assert_eq!(
        (&settled["status"], &settled["apart"]),
        (&json!("queued"), &Value::Null)
    );
    found.remove(0);
    found
}

#[test]
fn six_issues_that_both_sides_changed_have_one_conflict_of_values_and_no_marker() {
    for order in [[0, 1], [1, 0]] {
        let found = six(order);
        assert!(
            found.iter().all(|issue| issue["apart"].is_null()),
            "{found:?}"
        );
        let ticked = found[0]["criteria"].as_array().expect("criteria");
        assert!(ticked.iter().all(|one| one["done"] == true));
        assert_eq!(found[1]["labels"], json!(["blue", "red"]));
        assert_eq!(
            (&found[2]["priority"], &found[2]["assignee"]),
            (&json!(0), &json!("bob"))
        );
        assert_eq!(found[3]["notes"].as_array().map(Vec::len), Some(2));
        assert_eq!(found[4]["description"], "ONE\ntwo\nTHREE\n");
    }
}

#[test]
fn of_two_who_take_one_issue_apart_one_has_it_and_the_other_is_told() {
    let all = clones(2);
    let id = create(&all, 0, &["One"]);
    everybody(&all, 2);
    for at in 0..2 {
        all.loopx(at, &["issue", "take", &id]).ok();
    }
    all.sync(0).ok();
    // Each of the two hears once who has it, wherever the claims meet.
    for at in [1, 0] {
        let report = all.loopx(at, &["--json", "sync"]).json();
        let lost = report["lost_claims"].as_array().expect("a lost claim");
        assert_eq!(lost.len(), 1, "{report}");
        assert_eq!(lost[0]["issue"], json!(id), "{report}");
        assert_ne!(lost[0]["of"], lost[0]["to"], "{report}");
    }
    assert_eq!(all.tree(0), all.tree(1));
    create(&all, 0, &["Two"]);
    all.sync(0).ok();
    let report = all.loopx(1, &["--json", "sync"]).json();
    assert_eq!(report["lost_claims"], Value::Null, "it is said already");
    let holders: Vec<Value> = (0..2)
        .map(|at| show(&all, at, &id)["claim"]["op"].clone())
        .collect();
    assert_eq!(holders[0], holders[1]);
    let apart = show(&all, 0, &id)["apart"].clone();
    assert_eq!(apart[0]["field"], "claim");
    // Whoever lost the claim is refused by it.
    let ends: Vec<Option<i32>> = (0..2)
        .map(|at| all.loopx(at, &["issue", "release", &id]).code)
        .collect();
    assert!(
        ends.contains(&Some(6)) && ends.contains(&Some(0)),
        "{ends:?}"
    );
}

/// The number of commits that the remote's branch has.
fn there(all: &Clones) -> usize {
    let args = ["rev-list", "--count", "loopx"];
    let count = all.s.git_in(all.remote(), &args).line();
    count.parse().expect("a number")
}

#[test]
fn a_remote_claim_of_an_issue_is_one_commit_that_is_pushed_alone() {
    let all = clones(2);
    let one = create(&all, 0, &["One"]);
    let two = create(&all, 0, &["Two"]);
    let after = create(&all, 0, &["After", "--blocked-by", &two]);
    everybody(&all, 2);
    let own = create(&all, 0, &["Own", "-p", "0"]);
    let before = there(&all);
    let take = |at: usize, args: &[&str]| {
        all.loopx(
            at,
            &[&["--json", "issue", "take", "--remote"], args].concat(),
        )
    };
    let taken = take(0, &[&one]).json();
    assert_eq!(
        (&taken["remote"], &taken["issue"]["id"]),
        (&json!("origin"), &json!(one))
    );
    assert_eq!(there(&all), before + 1);
    assert_eq!(show(&all, 0, &one)["status"], "in_progress");
    // The other clone never synced: it hears who has it, and gets the next.
    let held = take(1, &[&one]).fails_with(6);
    assert_eq!(held.error_json()["error"]["code"], "issue_held");
    assert_eq!(take(1, &[]).json()["issue"]["id"], json!(two));
    assert_eq!(there(&all), before + 2);
    // Nobody claims there what only this clone has, or what is ready by that alone.
    let code =
        |out: crate::support::Output| out.fails_with(1).error_json()["error"]["code"].clone();
    assert_eq!(code(take(0, &[&own])), "not_shared");
    all.loopx(1, &["issue", "resolve", &two, "--reason", "done"])
        .ok();
    assert_eq!(code(take(1, &[&after])), "not_shared");
    assert_eq!(there(&all), before + 2);
    all.sync(1).ok();
    // The setting does so without the word, for the queue, too.
    all.git(1, &["config", "loopx.claim", "remote"]).ok();
    let now = there(&all);
    let taken = all.loopx(1, &["--json", "issue", "take", &after]).json();
    assert_eq!((&taken["remote"], there(&all)), (&json!("origin"), now + 1));
    everybody(&all, 2);
    assert_eq!(all.tree(0), all.tree(1));
    all.loopx(0, &["fsck"]).ok();
}

#[test]
fn a_sync_says_what_came_to_the_backlog_and_by_whom() {
    let all = clones(2);
    let one = create(&all, 0, &["One"]);
    create(&all, 0, &["Two"]);
    everybody(&all, 2);
    create(&all, 1, &["Own"]);
    create(&all, 0, &["Three"]);
    create(&all, 0, &["Four"]);
    all.loopx(0, &["issue", "resolve", &one, "--reason", "done"])
        .ok();
    all.sync(0).ok();
    let report = all.loopx(1, &["--json", "sync"]).json();
    let backlog = report["backlog"].as_array().expect("news");
    assert_eq!(backlog.len(), 1, "{report}");
    assert_eq!(backlog[0]["kinds"], json!({ "created": 2, "resolved": 1 }));
    assert_eq!(backlog[0]["issues"].as_array().map(Vec::len), Some(3));
    // What one did oneself is no news.
    let five = create(&all, 1, &["Five"]);
    all.sync(1).ok();
    let said = all.loopx(0, &["sync"]).ok();
    assert!(
        said.contains("2 issues created") && said.contains(&five[..7]),
        "{said}"
    );
}

#[test]
fn a_description_that_was_written_apart_is_settled_without_a_loss() {
    let all = clones(2);
    let text = |changed: &[(usize, &str)]| -> String {
        let line = |at: usize| {
            let other = changed.iter().find(|(one, _)| *one == at);
            other.map_or_else(|| format!("line {at}\n"), |(_, to)| format!("{to}\n"))
        };
        (0..30).map(line).collect()
    };
    let id = create(&all, 0, &["Long", "-d", &text(&[])]);
    everybody(&all, 2);
    let edit = |at: usize, changed: &[(usize, &str)]| {
        let args = ["issue", "edit", &id, "-d", &text(changed)];
        all.loopx(at, &args).ok();
    };
    edit(0, &[(3, "three by the first"), (10, "ten")]);
    edit(1, &[(3, "three by the second"), (20, "twenty")]);
    for at in [0, 1, 0] {
        all.sync(at).ok();
    }
    let read = |at: usize| {
        show(&all, at, &id)["description"]
            .as_str()
            .expect("a text")
            .to_owned()
    };
    let both = |text: &str| text.contains("\nten\n") && text.contains("\ntwenty\n");
    assert_eq!(read(0), read(1));
    assert!(both(&read(0)), "{}", read(0));
    let shown = all.loopx(0, &["issue", "show", &id]).ok();
    assert!(
        shown.contains("three by the first") && shown.contains("three by the second"),
        "{shown}"
    );
    let listed = all.loopx(0, &["--json", "issue", "list", "--apart"]).json();
    let next = listed["next_action"].as_str().expect("a command");
    let words: Vec<&str> = next.split(' ').skip(2).collect();
    assert_eq!(words[..2], ["issue", "edit"], "{next}");
    // Whichever of the two somebody takes.
    let values = show(&all, 0, &id)["apart"][0]["values"].clone();
    let first = values[0]["op"].as_str().expect("an id");
    let args = [&words[..words.len() - 1], &[&first[..10]]].concat();
    all.loopx(0, &args).ok();
    assert!(
        both(&read(0)) && show(&all, 0, &id)["apart"].is_null(),
        "{}",
        read(0)
    );
    all.loopx(0, &args).fails_with(2);
}

#[test]
fn a_cycle_that_only_the_merge_makes_holds_its_issues_in_every_clone() {
    let all = clones(2);
    let a = create(&all, 0, &["A"]);
    let b = create(&all, 0, &["B"]);
    create(&all, 0, &["C"]);
    everybody(&all, 2);
    all.loopx(0, &["issue", "link", &a, "blocked-by", &b]).ok();
    all.loopx(1, &["issue", "link", &b, "blocked-by", &a]).ok();
    all.sync(0).ok();
    let mut ways = Vec::new();
    for at in [1, 0] {
        let report = all.loopx(at, &["--json", "sync"]).json();
        let apart = report["apart"].as_array().expect("a cycle");
        assert_eq!(apart.len(), 1, "{report}");
        assert_eq!(apart[0]["cycle"].as_array().map(Vec::len), Some(3));
        ways.push(apart[0]["settle"].clone());
    }
    assert!(ways[0].to_string().contains("issue unlink"), "{ways:?}");
    assert_eq!(ways[0], ways[1]);
    let graph = all.loopx(0, &["issue", "graph"]).ok();
    assert!(!graph.contains("none of them"), "{graph}");
    for at in 0..2 {
        let listed = all
            .loopx(at, &["--json", "issue", "list", "--apart"])
            .json();
        assert_eq!(listed["issues"].as_array().map(Vec::len), Some(2));
        let next = listed["next_action"].as_str().expect("a command");
        assert!(next.contains("issue unlink"), "{next}");
        let graph = all.loopx(at, &["--json", "issue", "graph"]).json();
        let cycle = graph["cycle"].as_array().expect("a cycle");
        assert_eq!(cycle.len(), 3, "{graph}");
        let ready = all.loopx(at, &["--json", "issue", "ready"]).json();
        assert_eq!(ready["issues"].as_array().map(Vec::len), Some(1));
        assert_eq!(ready["issues"][0]["title"], "C");
    }
    all.loopx(1, &["issue", "unlink", &b, "blocked-by", &a])
        .ok();
    all.sync(1).ok();
    all.sync(0).ok();
    let ready = all.loopx(0, &["--json", "issue", "ready"]).json();
    assert_eq!(ready["issues"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_backlog_that_is_spread_on_one_side_merges_with_one_that_is_not() {
    let all = clones(2);
    let first = create(&all, 0, &["First"]);
    everybody(&all, 2);
    let lines: Vec<String> = (0..400)
        .map(|at| json!({ "title": format!("Issue {at}") }).to_string())
        .collect();
    let many = all
        .call(0)
        .args(&["issue", "create", "--from", "-"])
        .stdin(lines.join("\n"));
    many.run().ok();
    let other = create(&all, 1, &["Other"]);
    all.loopx(1, &["issue", "edit", &first, "-p", "0"]).ok();
    all.loopx(0, &["issue", "edit", &first, "-l", "ui"]).ok();
    for at in [0, 1, 0] {
        all.sync(at).ok();
    }
    assert_eq!(all.tree(0), all.tree(1));
    let folders = all.git(0, &["ls-tree", "--name-only", "loopx:issues"]).ok();
    assert!(
        folders.lines().all(|name| name.starts_with('+')),
        "{folders}"
    );
    for at in 0..2 {
        let listed = all.loopx(at, &["--json", "issue", "list"]).json();
        assert_eq!(listed["open"], 402);
        let issue = show(&all, at, &first);
        assert_eq!(
            (&issue["priority"], &issue["labels"]),
            (&json!(0), &json!(["ui"]))
        );
        assert_eq!(show(&all, at, &other)["title"], "Other");
        all.loopx(at, &["fsck"]).ok();
    }
}

/// A person who takes an issue back knows nothing of what is done with it elsewhere: nobody's work goes with it.
#[test]
fn an_issue_that_is_taken_back_in_one_clone_stays_where_another_used_it() {
    let all = clones(2);
    let used: [&[&str]; 3] = [
        &["issue", "edit", "ID", "-p", "0"],
        &["issue", "comment", "ID", "words"],
        &["start", "--quick", "--issue", "ID"],
    ];
    for (at, args) in used.into_iter().enumerate() {
        let id = create(&all, 0, &[&format!("Keep {at}")]);
        everybody(&all, 2);
        let branch = format!("use-{at}");
        all.git(1, &["switch", "--quiet", "-c", &branch]).ok();
        let args: Vec<&str> = args
            .iter()
            .map(|arg| if *arg == "ID" { &*id } else { *arg })
            .collect();
        all.loopx(1, &args).ok();
        all.loopx(0, &["issue", "undo", &id]).ok();
        for _ in 0..2 {
            everybody(&all, 2);
        }
        all.assert_agreed();
        for clone in 0..2 {
            assert_eq!(show(&all, clone, &id)["title"], format!("Keep {at}"));
        }
        let said = all.loopx(0, &["issue", "log", &id]).ok();
        assert!(
            said.contains("undone") || said.contains("taken back"),
            "{said}"
        );
    }
}

#[test]
fn two_parents_and_a_status_that_were_written_apart_are_listed_and_settled() {
    let all = clones(2);
    let ids: Vec<String> = ["K", "P", "Q", "Done"]
        .map(|title| create(&all, 0, &[title]))
        .into();
    let [k, p, q, done] = [&ids[0], &ids[1], &ids[2], &ids[3]];
    everybody(&all, 2);
    all.loopx(0, &["issue", "link", k, "parent", p]).ok();
    all.loopx(1, &["issue", "link", k, "parent", q]).ok();
    all.loopx(0, &["issue", "resolve", done, "--reason", "it was done"])
        .ok();
    all.loopx(1, &["issue", "close", done, "--reason", "not wanted"])
        .ok();
    for _ in 0..2 {
        everybody(&all, 2);
    }
    let apart = all.loopx(0, &["--json", "issue", "list", "--apart"]).json();
    let apart: BTreeSet<&str> = apart["issues"]
        .as_array()
        .expect("issues")
        .iter()
        .filter_map(|one| one["id"].as_str())
        .collect();
    assert_eq!(apart, BTreeSet::from([k.as_str(), done.as_str()]));
    // One of the two waits for it, and the other ends.
    let waits = |id: &str| show(&all, 0, id)["waits"].as_array().map_or(0, Vec::len);
    assert_eq!(waits(p) + waits(q), 1);
    all.loopx(0, &["issue", "link", k, "parent", q]).ok();
    all.loopx(0, &["issue", "resolve", p, "--reason", "it has no part"])
        .ok();
    assert!(
        show(&all, 0, k)["apart"]
            .as_array()
            .is_none_or(Vec::is_empty)
    );
}

/// Two sessions of one name for one issue: each is shown by the name that it has now.
#[test]
fn sessions_that_clones_began_for_one_issue_are_shown_by_their_names() {
    let all = clones(2);
    let id = create(&all, 0, &["Both"]);
    everybody(&all, 2);
    for at in 0..2 {
        all.git(at, &["switch", "--quiet", "-c", &format!("both-{at}")])
            .ok();
        all.loopx(at, &["start", "--quick", "--issue", &id]).ok();
    }
    for _ in 0..2 {
        everybody(&all, 2);
    }
    let issue = show(&all, 0, &id);
    let sessions = issue["sessions"].as_array().expect("sessions").iter();
    let names: BTreeSet<&str> = sessions.filter_map(|one| one["session"].as_str()).collect();
    assert_eq!(names.len(), 2, "{issue:#}");
    let listed = all.loopx(0, &["--json", "list"]).json();
    for name in names {
        assert!(
            listed.to_string().contains(&format!("\"{name}\"")),
            "{name}: {listed}"
        );
    }
}

#[test]
fn an_edit_on_one_of_two_merged_descriptions_keeps_the_other() {
    let all = clones(3);
    let text = |lines: &[&str]| lines.join("\n") + "\n";
    let base = text(&["one", "two", "three", "four", "five", "six", "seven"]);
    let id = create(&all, 0, &["Long", "-d", &base]);
    everybody(&all, 3);
    let edit = |at: usize, lines: &[&str]| {
        let args = ["issue", "edit", &id, "-d", &text(lines)];
        all.loopx(at, &args).ok();
    };
    edit(0, &["one", "two", "three", "four", "five", "SIX", "seven"]);
    edit(1, &["one", "TWO", "three", "four", "five", "six", "seven"]);
    all.sync(1).ok();
    all.sync(2).ok();
    edit(2, &["one", "TWO", "three", "FOUR", "five", "six", "seven"]);
    all.sync(2).ok();
    all.sync(0).ok();
    let found = show(&all, 0, &id);
    let whole = text(&["one", "TWO", "three", "FOUR", "five", "SIX", "seven"]);
    assert_eq!(found["description"], whole, "{found}");
    everybody(&all, 3);
    assert_eq!(show(&all, 1, &id)["description"], whole);
}

#[test]
fn a_description_that_was_written_apart_goes_to_its_own_issue_alone() {
    let all = clones(2);
    let id = create(&all, 0, &["One", "-d", "first"]);
    let other = create(&all, 0, &["Two", "-d", "its own"]);
    everybody(&all, 2);
    for (at, text) in [(0, "second"), (1, "third")] {
        all.loopx(at, &["issue", "edit", &id, "-d", text]).ok();
    }
    for at in [0, 1, 0] {
        all.sync(at).ok();
    }
    let apart = show(&all, 0, &id)["apart"][0]["values"][0]["op"].clone();
    let op = apart.as_str().expect("an id")[..10].to_owned();
    let both = ["issue", "edit", &id, &other, "--description-of", &op];
    let error = all.loopx(0, &both).fails_with(2);
    assert!(error.stderr.contains("one issue"), "{error}");
    assert_eq!(show(&all, 0, &other)["description"], "its own");
    all.loopx(0, &["issue", "edit", &id, "--description-of", &op])
        .ok();
}

#[test]
fn two_claims_of_one_worktree_are_not_apart() {
    let all = clones(2);
    let id = create(&all, 0, &["One"]);
    everybody(&all, 2);
    // It arrives, and nobody hears that it did.
    all.hang_up();
    let unheard = all.loopx(0, &["issue", "take", "--remote", &id]);
    unheard
        .fails_with(6)
        .says("the connection broke")
        .says("what was pushed may still arrive there");
    all.loopx(0, &["issue", "take", &id]).ok();
    std::fs::remove_file(all.remote().join("hooks/post-receive")).expect("a hook");
    for at in [0, 1] {
        let told = all.sync(at);
        assert!(!told.stderr.contains("does not count"), "{told}");
        assert_eq!(show(&all, at, &id)["apart"], Value::Null);
    }
    all.loopx(0, &["issue", "release", &id]).ok();
    assert_eq!(show(&all, 0, &id)["claim"], Value::Null);
}

#[test]
fn a_sync_names_whoever_did_what_came_and_whoever_took_an_issue_over() {
    let all = clones(2);
    let one = create(&all, 0, &["One"]);
    let two = create(&all, 0, &["Two"]);
    everybody(&all, 2);
    let bob = |args: &[&str]| all.loopx(1, args);
    bob(&["issue", "take", &two]).ok();
    bob(&["sync"]).ok();
    all.sync(0).ok();
    let over = ["issue", "take", &two, "--take-over", "--reason", "x"];
    all.loopx(0, &over).ok();
    all.loopx(0, &["issue", "close", &one, "--reason", "no"])
        .ok();
    all.sync(0).ok();
    bob(&["issue", "edit", &one, "-p", "0"]).ok();
    let said = bob(&["--json", "sync"]).json();
    let news = said["backlog"].as_array().expect("news");
    assert_eq!(news.len(), 1, "{said}");
    assert_eq!(news[0]["by"], "Person 0", "{said}");
    let lost = &said["lost_claims"][0];
    assert_eq!(
        (&lost["issue"], &lost["taken_over"]),
        (&json!(two), &json!(true)),
        "{said}"
    );
}

#[test]
fn a_claim_at_the_remote_that_cannot_be_taken_in_here_leads_to_the_sync_that_does() {
    let all = clones(1);
    let id = create(&all, 0, &["One"]);
    everybody(&all, 1);
    // Somebody else's git has the ref once the remote has the claim.
    let lock = all.dir(0).join(".git/refs/heads/loopx.lock");
    let hook = all.remote().join("hooks/post-receive");
    all.s.script(
        &hook,
        &format!("#!/bin/sh\necho held > '{}'\n", lock.display()),
    );
    let out = all.loopx(0, &["issue", "take", "--remote", &id]);
    let out = out
        .says("left: the merge of that commit here")
        .says("what leads on: git loopx sync origin");
    assert!(!out.stderr.contains("that writes finishes it"), "{out}");
    out.ok();
    std::fs::remove_file(&hook).expect("a hook");
    std::fs::remove_file(&lock).expect("a lock");
    assert_eq!(show(&all, 0, &id)["holder"], Value::Null);
    all.loopx(0, &["sync", "origin"]).ok();
    assert_eq!(show(&all, 0, &id)["holder"]["here"], json!(true));
}

#[test]
fn a_claim_that_the_remote_took_is_not_lost_to_an_older_one_that_nobody_pushed() {
    let all = clones(2);
    let id = create(&all, 0, &["One"]);
    everybody(&all, 2);
    // Nobody else hears of the older claim before the remote gives the issue away.
    all.loopx(1, &["issue", "take", &id]).ok();
    let taken = all.loopx(0, &["issue", "take", "--remote", &id]);
    taken.ok();
    all.sync(1)
        .says("the claim of")
        .says("by Person 1 does not count: the remote gave it to Person 0")
        .ok();
    everybody(&all, 2);
    for at in [0, 1] {
        let holder = show(&all, at, &id)["holder"].clone();
        assert_eq!(holder["here"], json!(at == 0), "{holder}");
    }
    assert_eq!(all.tree(0), all.tree(1));
}

#[test]
fn a_sync_names_an_issue_that_ended_apart_from_a_new_part() {
    let all = clones(2);
    let epic = create(&all, 0, &["Epic", "--kind", "epic"]);
    everybody(&all, 2);
    all.loopx(0, &["issue", "close", &epic, "--reason", "done"])
        .ok();
    let part = create(&all, 1, &["Part", "--parent", &epic]);
    all.sync(0).ok();
    let report = all.loopx(1, &["--json", "sync"]).json();
    let told = &report["open_parts"][0];
    assert_eq!(told["issue"], json!(epic), "{report}");
    assert_eq!(told["parts"].as_array().map(Vec::len), Some(1), "{report}");
    let said = all.sync(0);
    let line = said.stderr.lines().find(|line| line.contains("open part"));
    let line = line.unwrap_or_else(|| panic!("{said}"));
    assert!(
        line.contains("is closed and has 1 open part since the merge"),
        "{said}"
    );
    let (_, way) = line.split_once("git loopx ").expect("a command");
    let way: Vec<&str> = way.trim_end_matches(')').split(' ').collect();
    all.loopx(0, &way).ok();
    // It is told once.
    create(&all, 1, &["Other"]);
    everybody(&all, 2);
    let told = all.sync(0);
    assert!(!told.stderr.contains("open part"), "{told}");
    assert_eq!(show(&all, 0, &epic)["status"], "open");
    assert_eq!(show(&all, 0, &part)["status"], "open");
}
