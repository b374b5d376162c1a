//! `archive` on its own road: one commit on the target branch, then the session; nothing else moves.

use crate::support::Sandbox;
use crate::support::archive::{DEMO, DEMO_PATH, ID, SHORTEN, Yard, shortened};
use crate::support::changes::adding;
use serde_json::json;

#[test]
fn one_commit_lands_on_the_bound_branch_and_closes_the_session() {
    let y = Yard::ready();
    let (before, session) = (y.rev(ID), y.rev("loopx"));
    let out = y.archive(ID, &[]);
    let said = out.json();
    out.ok();
    assert_eq!(said["target"], ID);
    assert_eq!(said["commit"], y.rev(ID));
    assert_eq!(
        y.rev(&format!("{ID}^")),
        before,
        "one commit on what was there"
    );
    assert_eq!(
        y.git(&["diff", "--name-status", &before, ID]).ok(),
        format!("M\t{DEMO_PATH}\n")
    );
    assert_eq!(y.at(ID, DEMO_PATH), shortened());
    let body = y.git(&["log", "-1", "--format=%B", ID]).ok();
    assert_eq!(
        body.trim_end(),
        format!(
            "Archive {ID}: {ID}\n\nLoopx-Session: {ID}\nLoopx-Event: archive\nLoopx-State: {session}"
        )
    );
    let trailers = y
        .git(&["log", "-1", "--format=%(trailers:only)", "loopx"])
        .ok();
    assert!(
        trailers.contains(&format!("Loopx-Commit: {}", y.rev(ID))),
        "{trailers}"
    );
    assert_eq!(y.rev("loopx^"), session, "one commit on the loopx branch");
    y.archived_once(ID, ID);
    y.clean();
}

#[test]
fn the_archived_session_keeps_its_documents_its_bases_and_a_decision_candidate() {
    let y = Yard::ready();
    let base = y.rev(&format!("main:{DEMO_PATH}"));
    y.archive(ID, &[]).ok();
    let folder = format!("archive/{}", y.archived()[0]);
    let tree = y
        .git(&[
            "ls-tree",
            "-r",
            "--name-only",
            "loopx",
            &format!("{folder}/"),
        ])
        .ok();
    let has = |name: &str| tree.lines().any(|l| l == format!("{folder}/{name}"));
    for name in ["intent.md", "spec.md", "change/spec-delta.md", "state.json"] {
        assert!(has(name), "{name} is missing in\n{tree}");
    }
    assert!(
        has(&format!("change/bases/{base}.md")),
        "what the delta was written against stays reachable\n{tree}"
    );
    let kinds: Vec<String> = tree
        .lines()
        .filter(|path| path.contains("/ops/"))
        .map(|path| {
            let record = y.at("loopx", path);
            let op: serde_json::Value = serde_json::from_str(&record).expect("an operation");
            op["kind"].as_str().expect("a kind").to_owned()
        })
        .collect();
    assert_eq!(kinds.first().map(String::as_str), Some("started"));
    assert_eq!(kinds.last().map(String::as_str), Some("archived"));
    let adr = y.at("loopx", &format!("{folder}/change/adr-candidate.md"));
    assert!(
        adr.contains("status: proposed") && adr.contains("A file holds the time."),
        "{adr}"
    );
    assert!(!y.exists("docs/adr"), "promotion is a step of its own");
}

#[test]
fn binding_and_working_copy_go_with_the_session_and_the_list_remembers_it() {
    let y = Yard::ready();
    assert!(y.exists(format!(".loopx/{ID}/spec.md")));
    y.archive(ID, &[]).ok();
    assert!(!y.exists(".loopx"), "the working copy is retired");
    let tree = y.git(&["ls-tree", "-r", "--name-only", "loopx"]).ok();
    assert!(!tree.contains("branches/"), "the branch is free\n{tree}");
    let listed = |args: &[&str]| y.does(args)["sessions"].to_string();
    assert!(!listed(&["list"]).contains(ID));
    assert!(listed(&["list", "--all"]).contains(ID));
}

#[test]
fn a_dry_run_writes_nothing_and_prints_what_the_real_one_does() {
    let y = Yard::ready();
    let before = y.world();
    let notes = y.snapshot(".git/loopx");
    let dry = y.archive(ID, &["--dry-run"]);
    let dry = (dry.json(), dry.ok()).0;
    let shown = y.loopx(&["--session", ID, "archive", "--dry-run"]).ok();
    assert!(y.world() == before, "a dry run wrote");
    assert_eq!(y.snapshot(".git/loopx"), notes, "a dry run left a note");
    assert!(dry["commit"].is_null() && dry["dry_run"] == true, "{dry}");
    let real = y.archive(ID, &[]);
    let real = (real.json(), real.ok()).0;
    assert_eq!(dry["files"], real["files"]);
    let made = y.git(&["diff", "-U3", "--no-prefix", "HEAD^", "HEAD"]).ok();
    for line in made
        .lines()
        .filter(|l| l.starts_with(['+', '-']) && !l.starts_with("+++") && !l.starts_with("---"))
    {
        assert!(shown.lines().any(|s| s == line), "`{line}` not in\n{shown}");
    }
}

#[test]
fn archiving_twice_changes_nothing_s_125() {
    let y = Yard::ready();
    y.archive(ID, &[]).ok();
    for args in [
        &[][..],
        &["--continue"],
        &["--abort"],
        &["--dry-run"],
        &["--onto", "main"],
    ] {
        y.refused(ID, args, 5, "archived_already");
    }
    y.archived_once(ID, ID);
}

#[test]
fn a_session_that_is_not_done_is_not_archived_s_122() {
    let y = Yard::new();
    y.git(&["switch", "--quiet", "--create", ID]).ok();
    y.does(&["start", ID]);
    y.refused(ID, &[], 1, "archive_requires_done_session");
    y.planned(ID, SHORTEN);
    y.refused(ID, &[], 1, "archive_requires_done_session");
    assert_eq!(y.at(ID, DEMO_PATH), DEMO);
}

#[test]
fn remaining_scope_declared_after_done_stops_the_archive_s_124() {
    let y = Yard::ready();
    let record = y.read(format!(".loopx/{ID}/execution-record.md"));
    let open = record.replace("remaining_scope: []", "remaining_scope: [the rest]");
    assert_ne!(open, record);
    y.edit(ID, "execution-record.md", &open);
    // The record was approved as it stood: another one is not taken in by the way.
    for args in [&[][..], &["--dry-run"]] {
        let error = y.refused(ID, args, 1, "artifact_locked");
        let message = error["error"]["message"].as_str().expect("a message");
        assert!(message.contains("execution-record.md"), "{message}");
    }
    y.edit(ID, "execution-record.md", &record);
    y.archive(ID, &[]).ok();
    y.archived_once(ID, ID);
}

#[test]
fn the_target_merged_in_after_the_review_needs_no_other_review() {
    let y = Yard::with(&[(DEMO_PATH, DEMO), ("src/both.txt", "a\nb\nc\nd\ne\n")]);
    y.done("shorten", SHORTEN);
    y.git(&["switch", "--quiet", "main"]).ok();
    y.commit_file("src/later.txt", "later\n", "Later").ok();
    y.git(&["switch", "--quiet", "shorten"]).ok();
    let merge = ["merge", "--quiet", "--no-edit", "--no-ff", "main"];
    // A merge that brings something of its own was reviewed by nobody.
    y.git(&[&merge[..], &["--no-commit"]].concat()).ok();
    y.write("src/later.txt", "otherwise\n");
    y.git(&["commit", "--quiet", "--no-verify", "-am", "Merge main"])
        .ok();
    y.refused("shorten", &[], 1, "archive_unreviewed");
    y.git(&["reset", "--quiet", "--hard", "HEAD~1"]).ok();
    y.git(&merge).ok();
    let status = y.loopx(&["--json", "status"]).json();
    assert_eq!(status["blockers"], serde_json::json!([]));
    // Nor was what comes beside a clean merge.
    y.git(&[
        "commit",
        "--quiet",
        "--no-verify",
        "--allow-empty",
        "-m",
        "x",
    ])
    .ok();
    y.write("src/extra.txt", "extra\n");
    y.git(&["add", "."]).ok();
    y.git(&["commit", "--quiet", "--no-verify", "-m", "Extra"])
        .ok();
    y.refused("shorten", &[], 1, "archive_unreviewed");
    y.git(&["reset", "--quiet", "--hard", "HEAD~2"]).ok();
    y.archive("shorten", &[]).ok();
    y.archived_once("shorten", "shorten");
}

#[test]
fn whoever_reviewed_may_archive_and_took_no_part_by_that() {
    let y = Yard::with(&[
        (DEMO_PATH, DEMO),
        (
            "loopx.toml",
            "[gates]\nprotected = [\"main\"]\n[review]\nindependence = \"require\"\n",
        ),
    ]);
    y.done("shorten", SHORTEN);
    y.by_rita(&["archive", "shorten"]).ok();
    let range = [
        "verify",
        "main..shorten",
        "--policy-from",
        "main",
        "--onto",
        "main",
    ];
    y.loopx(&range).ok();
}

#[test]
fn archived_is_not_landed_before_the_target_has_the_result() {
    let s = Sandbox::with_spec();
    s.plan("one", &adding("Pears"));
    s.finish("one");
    s.loopx(&["-s", "one", "archive"]).ok();
    let archive = s.git(&["rev-parse", "one"]).ok();
    let archive = archive.trim();
    let landed = || s.document(0, &["status", "one"])["landed"].clone();
    assert_eq!(
        landed(),
        json!({"target": "main", "commit": null}),
        "nobody merged it"
    );
    s.loopx(&["status", "one"]).says(", not on main").ok();
    // Somebody squashes it, and others come on top.
    s.git(&["switch", "--quiet", "main"]).ok();
    s.git(&["merge", "--squash", "one"]).ok();
    s.git(&["commit", "--quiet", "--no-verify", "-m", "One, squashed"])
        .ok();
    let squashed = s.git(&["rev-parse", "main"]).ok();
    s.write("specs/demo/spec.md", "# Another text\n");
    s.git(&["commit", "--quiet", "--no-verify", "-am", "On top"])
        .ok();
    assert_eq!(landed()["commit"], squashed.trim());
    s.loopx(&["status", "one"])
        .says(&format!(", on main with {}", &squashed[..10]))
        .ok();
    // Or somebody merges it as it is.
    s.git(&["reset", "--quiet", "--hard", "HEAD~2"]).ok();
    assert_eq!(landed()["commit"], serde_json::Value::Null);
    s.git(&[
        "merge",
        "--quiet",
        "--no-verify",
        "--no-ff",
        "one",
        "-m",
        "Merge",
    ])
    .ok();
    assert_eq!(landed()["commit"], archive);
}
