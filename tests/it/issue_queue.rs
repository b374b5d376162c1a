//! `issue queue`: bound issues in the order in which they are to be done. The scenarios L3 to L9 of
//! `shared/cases/team-and-plan-scenarios.md`, and the faults of the reference: one item for four callers, a dead worker
//! that holds its item for ever, a retry that loses why.

use crate::support::issues::{backlog, create, refused, show};
use crate::support::{LOOPX, Output, Sandbox, hooks};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The day after the clock of the tests began.
const LATER: &str = "1767312000 +0000";

/// An issue whose bound solution touches these files.
fn bound(s: &Sandbox, title: &str, args: &[&str], files: &[&str]) -> String {
    let id = create(s, &[&[title], args].concat());
    let mut add = vec!["issue", "solution", "add", &id, "So", "--task", "Do it"];
    add.extend(files);
    s.loopx(&add).ok();
    s.loopx(&["issue", "solution", "bind", &id]).ok();
    id
}

fn form(s: &Sandbox, args: &[&str]) -> Value {
    s.loopx(&[&["--json", "issue", "queue", "form"], args].concat())
        .json()
}

fn queue(s: &Sandbox) -> Value {
    s.loopx(&["--json", "issue", "queue", "show"]).json()
}

/// A worktree of its own: somebody else's hands.
fn worktree(s: &Sandbox, name: &str) -> PathBuf {
    let dir = s.root().join(name);
    let path = dir.to_str().expect("a path").to_owned();
    s.git(&["worktree", "add", "--quiet", "--detach", &path])
        .ok();
    dir
}

fn next(s: &Sandbox, dir: &Path) -> Output {
    s.call(LOOPX)
        .cwd(dir)
        .args(&["--json", "issue", "queue", "next"])
        .run()
}

fn given(out: &Output) -> String {
    let id = out.json()["issue"]["id"].take();
    id.as_str()
        .unwrap_or_else(|| panic!("{}", out.stderr))
        .to_owned()
}

/// L5.
#[test]
fn l5_batches_of_what_shares_no_file() {
    let s = backlog();
    let one = bound(&s, "S-1", &[], &["--file", "code.txt"]);
    let two = bound(&s, "S-2", &[], &["--file", "code.txt"]);
    let three = bound(&s, "S-3", &[], &["--create", "f2"]);
    let formed = form(&s, &[]);
    // Three issues are full, and full asks for the audit.
    assert_eq!(
        (&formed["mode"], formed["reviews"].as_array().map(Vec::len)),
        (&json!("full"), Some(3))
    );
    let groups = queue(&s)["groups"].clone();
    // What makes files comes before what only changes some.
    assert_eq!(groups, json!([[three, one], [two]]));
    let conflict = &queue(&s)["conflicts"][0];
    assert_eq!(
        (&conflict["resolution"], &conflict["files"]),
        (&json!("sequential"), &json!(["code.txt"]))
    );
    assert_eq!(show(&s, &one)["status"], "queued");
}

/// S20: the precondition, and L9: what is there already is passed over and counted, and nobody is asked.
#[test]
fn l9_only_bound_issues_are_queued_and_each_once() {
    let s = backlog();
    let one = bound(&s, "S-1", &["-p", "3"], &["--file", "code.txt"]);
    let open = create(&s, &["Open"]);
    let error = refused(
        &s,
        1,
        "issue_solution_unbound",
        &["issue", "queue", "form", &one, &open],
    );
    let message = error["message"].as_str().expect("a message");
    assert!(
        message.contains(&open) && !message.contains(&one),
        "{message}"
    );
    assert_eq!(form(&s, &[&one])["queued"], json!([one]));
    let two = bound(&s, "S-2", &[], &["--file", "b"]);
    let formed = form(&s, &[&one, &two]);
    assert_eq!(
        (&formed["queued"], &formed["skipped"]),
        (&json!([two]), &json!([one]))
    );
    refused(
        &s,
        5,
        "issue_unchanged",
        &["issue", "queue", "form", &one, &two],
    );
    refused(&s, 5, "issue_unchanged", &["issue", "queue", "form"]);
    // The priority survives whatever is written later.
    assert_eq!(show(&s, &one)["priority"], 3);
    // Out of the queue again, by the word that every issue has.
    s.loopx(&["issue", "edit", &one, "--status", "planned"])
        .ok();
    assert_eq!(queue(&s)["groups"], json!([[two]]));
}

#[test]
fn what_the_audit_rejects_is_not_queued_and_quick_asks_for_none() {
    let s = backlog();
    let one = bound(&s, "S-1", &[], &[]);
    let score = [
        "issue",
        "solution",
        "score",
        &one,
        "--feasibility",
        "10",
        "--risk",
        "10",
        "--completeness",
        "10",
    ];
    s.loopx(&score).ok();
    refused(
        &s,
        1,
        "issue_solution_rejected",
        &["issue", "queue", "form", "--mode", "full"],
    );
    let dry = form(&s, &["--dry-run"]);
    assert_eq!(
        (&dry["mode"], &dry["dry_run"]),
        (&json!("quick"), &json!(true))
    );
    assert_eq!(
        show(&s, &one)["status"],
        "planned",
        "a dry run changes nothing"
    );
    assert_eq!(form(&s, &[])["mode"], "quick");
}

#[test]
fn s18_five_issues_are_a_batch_and_a_high_one_is_full() {
    let s = backlog();
    bound(&s, "High", &["-p", "1"], &[]);
    assert_eq!(form(&s, &["--dry-run"])["mode"], "full");
    for at in 0..4 {
        bound(&s, &format!("S-{at}"), &[], &[]);
    }
    let formed = form(&s, &[]);
    assert_eq!(formed["mode"], "batch");
    // Three at once at most.
    let sizes: Vec<usize> = (formed["groups"].as_array().expect("groups").iter())
        .filter_map(|group| group.as_array().map(Vec::len))
        .collect();
    assert_eq!(sizes, [3, 2]);
}

#[test]
fn who_deletes_what_another_changes_needs_an_order_by_a_person() {
    let s = backlog();
    let one = bound(&s, "S-1", &[], &["--file", "code.txt"]);
    let two = bound(&s, "S-2", &[], &["--delete", "code.txt"]);
    let error = refused(&s, 3, "issue_queue_conflict", &["issue", "queue", "form"]);
    let help = error["help"].as_str().expect("help");
    assert!(help.contains("blocked-by"), "{help}");
    s.loopx(&["issue", "link", &two, "blocked-by", &one]).ok();
    assert_eq!(form(&s, &[])["groups"], json!([[one], [two]]));
}

#[test]
fn branches_that_merge_run_side_by_side_and_those_that_do_not_one_by_one() {
    let s = backlog();
    let lines = |first: &str, last: &str| format!("{first}\n2\n3\n4\n5\n6\n7\n8\n{last}\n");
    s.commit_file("long.txt", &lines("1", "9"), "Lines").ok();
    let base = s.git(&["rev-parse", "HEAD"]).line();
    let texts = [lines("one", "9"), lines("1", "nine"), lines("eins", "9")];
    let mut ids = Vec::new();
    for (at, text) in texts.iter().enumerate() {
        let id = bound(&s, &format!("S-{at}"), &[], &["--file", "long.txt"]);
        s.git(&["switch", "--quiet", "-c", &format!("b{at}"), &base])
            .ok();
        s.loopx(&["start", "--quick", "--issue", &id]).ok();
        s.commit_file("long.txt", text, "Change it").ok();
        ids.push(id);
    }
    let queue = queue(&s);
    let conflicts = queue["conflicts"].as_array().expect("conflicts");
    let of = |one: usize, other: usize| {
        let both = |conflict: &&Value| {
            [one, other].iter().all(|at| {
                conflict["issues"]
                    .as_array()
                    .expect("issues")
                    .contains(&json!(ids[*at]))
            })
        };
        conflicts.iter().find(both).expect("a conflict")
    };
    assert!(conflicts.iter().all(|one| one["tried"] == true), "{queue}");
    assert_eq!(of(0, 1)["resolution"], "merge");
    assert_eq!(of(1, 2)["resolution"], "merge");
    assert_eq!(of(0, 2)["resolution"], "sequential");
    assert_eq!(queue["groups"], json!([[ids[0], ids[1]], [ids[2]]]));
}

/// L6, and "4 workers calling next at once all get S-1".
#[test]
fn l6_four_callers_get_four_issues_and_nobody_what_touches_another() {
    let s = backlog();
    let ids: Vec<String> = (0..4)
        .map(|at| bound(&s, &format!("S-{at}"), &[], &["--file", &format!("f{at}")]))
        .collect();
    bound(&s, "Beside the first", &["-p", "4"], &["--file", "f0"]);
    form(&s, &[]);
    let dirs: Vec<PathBuf> = (0..4).map(|at| worktree(&s, &format!("w{at}"))).collect();
    let got: Vec<String> = std::thread::scope(|scope| {
        let all: Vec<_> = dirs
            .iter()
            .map(|dir| scope.spawn(|| given(&next(&s, dir))))
            .collect();
        all.into_iter()
            .map(|one| one.join().expect("a worker"))
            .collect()
    });
    let set: BTreeSet<&String> = got.iter().collect();
    assert_eq!(set, ids.iter().collect(), "{got:?}");
    let none = next(&s, s.path());
    assert_eq!(
        (none.code, &none.error_json()["error"]["code"]),
        (Some(5), &json!("issue_none_ready"))
    );
}

/// L6.
#[test]
fn l6_a_lease_that_ended_is_given_to_the_next_and_the_old_hands_are_refused() {
    let s = backlog();
    let one = bound(&s, "S-1", &[], &["--file", "a"]);
    form(&s, &[]);
    let (a, b) = (worktree(&s, "a"), worktree(&s, "b"));
    assert_eq!(given(&next(&s, &a)), one);
    assert_eq!(next(&s, &b).code, Some(5), "A has it");
    let later = |dir: &Path, args: &[&str]| {
        let call = s.call(LOOPX).cwd(dir).args(args);
        call.env("GIT_COMMITTER_DATE", LATER)
            .env("GIT_AUTHOR_DATE", LATER)
            .run()
    };
    let again = later(&b, &["--json", "issue", "queue", "next"]);
    assert_eq!(
        (given(&again), &again.json()["resumed"]),
        (one.clone(), &json!(true))
    );
    for args in [
        &["--json", "issue", "resolve", &one, "--reason", "done"][..],
        &["--json", "issue", "queue", "fail", &one, "--reason", "no"],
    ] {
        let late = later(&a, args);
        assert_eq!(
            (late.code, &late.error_json()["error"]["code"]),
            (Some(6), &json!("issue_held"))
        );
    }
    // Whoever has it has it longer by taking it again.
    later(&b, &["issue", "take", &one]).ok();
    later(&b, &["issue", "resolve", &one, "--reason", "done"]).ok();
    assert_eq!(show(&s, &one)["status"], "resolved");
}

/// L8.
#[test]
fn l8_a_failure_is_kept_and_tried_again_when_somebody_says_so() {
    let s = backlog();
    let one = bound(&s, "S-1", &[], &["--file", "a"]);
    form(&s, &[]);
    refused(&s, 5, "issue_none_failed", &["issue", "queue", "retry"]);
    refused(
        &s,
        5,
        "issue_none_failed",
        &["issue", "queue", "retry", &one],
    );
    refused(
        &s,
        5,
        "issue_not_held",
        &["issue", "queue", "fail", &one, "--reason", "x"],
    );
    s.loopx(&["issue", "queue", "next"]).ok();
    refused(&s, 2, "reason_required", &["issue", "queue", "fail", &one]);
    s.loopx(&["issue", "queue", "fail", &one, "--reason", "two tests fail"])
        .ok();
    let issue = show(&s, &one);
    assert_eq!(
        (&issue["bound"]["failed"], &issue["claim"]),
        (&json!(true), &Value::Null)
    );
    let none = s.loopx(&["--json", "issue", "queue", "next"]);
    let help = none.error_json()["error"]["help"].clone();
    assert_eq!(
        (none.code, help),
        (Some(5), json!("git loopx issue queue retry"))
    );
    // The whole queue has failed, and that is no end.
    s.loopx(&["issue", "queue", "retry"]).ok();
    let issue = show(&s, &one);
    assert_eq!(
        (&issue["bound"]["failed"], &issue["status"]),
        (&Value::Null, &json!("queued"))
    );
    let failures = issue["failures"].as_array().expect("failures");
    assert_eq!(failures.len(), 1);
    assert_eq!(failures[0]["reason"], "two tests fail");
    s.loopx(&["issue", "queue", "next"]).ok();
    // Another solution is no failed one.
    s.loopx(&["issue", "queue", "fail", &one, "--reason", "again"])
        .ok();
    s.loopx(&[
        "issue",
        "solution",
        "add",
        &one,
        "Another way",
        "--task",
        "Do",
    ])
    .ok();
    s.loopx(&["issue", "solution", "bind", &one, "s2"]).ok();
    assert_eq!(show(&s, &one)["bound"]["failed"], Value::Null);
    assert_eq!(show(&s, &one)["failures"].as_array().map(Vec::len), Some(2));
}

/// "A failed dep shows nothing; a dangling dep runs; a cycle is no item, exit 0."
#[test]
fn what_an_issue_waits_for_holds_it_and_is_named() {
    let s = backlog();
    let outside = create(&s, &["Outside"]);
    let one = bound(&s, "S-1", &["--blocked-by", &outside], &[]);
    let two = bound(&s, "S-2", &["--blocked-by", &one], &[]);
    form(&s, &[]);
    let held = queue(&s);
    assert_eq!(
        (&held["held"], &held["groups"]),
        (&json!([one, two]), &json!([]))
    );
    assert_eq!(held["issues"][&one]["waits"][0]["issue"], outside.as_str());
    assert_eq!(s.loopx(&["issue", "queue", "next"]).code, Some(5));
    s.loopx(&["issue", "resolve", &outside, "--reason", "done"])
        .ok();
    assert_eq!(queue(&s)["groups"], json!([[one], [two]]));
}

/// L3.
#[test]
fn l3_a_step_that_is_not_there_is_refused_and_says_what_is() {
    let s = backlog();
    let one = bound(&s, "S-1", &[], &[]);
    s.loopx(&["issue", "resolve", &one, "--reason", "done"])
        .ok();
    let error = refused(&s, 1, "issue_ended", &["issue", "take", &one]);
    assert_eq!(error["help"], format!("git loopx issue reopen {one}"));
    refused(&s, 1, "issue_ended", &["issue", "queue", "form", &one]);
    refused(
        &s,
        2,
        "issue_field_invalid",
        &["issue", "create", "X", "--priority", "99"],
    );
    let banana = s.loopx(&["issue", "edit", &one, "--status", "banana"]);
    banana.fails_with(2).says("planned");
}

/// L11: a batch of two, worked on side by side. The commits say what they are for, so that the queue can be read out of
/// the history of the code.
#[test]
fn l11_each_commit_has_its_own_files_and_names_its_issue_and_solution() {
    let s = hooks::shims("repo");
    s.commit_file("code.txt", "code\n", "code").ok();
    s.commit_file("more.txt", "more\n", "more").ok();
    s.loopx(&["init"]).ok();
    s.loopx(&["hooks", "install"]).ok();
    let files = ["code.txt", "more.txt"];
    let batch = files.map(|file| {
        (
            bound(&s, &format!("Mend {file}"), &[], &["--file", file]),
            file,
        )
    });
    form(&s, &[]);
    let mut said = BTreeSet::new();
    for (id, file) in &batch {
        let dir = worktree(&s, &format!("hands of {file}"));
        s.git_in(&dir, &["switch", "--quiet", "-c", id]).ok();
        s.loopx_in(&dir, &["start", "--quick", "--issue", id]).ok();
        std::fs::write(dir.join(file), "mended\n").expect("written");
        s.git_in(&dir, &["commit", "--quiet", "-am", "Mend it"])
            .ok();
        let changed = ["show", "--format=", "--name-only", "HEAD"];
        assert_eq!(s.git_in(&dir, &changed).line(), *file);
        let pair = "--format=%(trailers:key=Loopx-Issue,valueonly,separator=%x2C) %(trailers:key=Loopx-Solution,valueonly,separator=%x2C)";
        said.insert(s.git_in(&dir, &["log", "-1", pair]).line());
        // Written again it says so once.
        s.git_in(&dir, &["commit", "--quiet", "--amend", "--no-edit"])
            .ok();
        said.insert(s.git_in(&dir, &["log", "-1", pair]).line());
    }
    let wanted = batch.iter().map(|(id, _)| format!("{id} {id}/s1"));
    assert_eq!(said, wanted.collect());
}
