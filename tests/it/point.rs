//! Points: a code commit and a state of the session under one name, and the way back to both.

use crate::support::clones::Clones;
use crate::support::tasks::{building, clones_building, refuses, statuses, task, text};
use crate::support::{LOOPX, Sandbox};
use serde_json::Value;

/// A session in the build with two tasks; the first is done behind the point `before`.
fn gone_on() -> Sandbox {
    Sandbox::once("", || {
        let s = building(&[
            task("A", &[], Some(&["true"])),
            task("B", &["A"], Some(&["true"])),
        ]);
        s.loopx(&["point", "add", "before", "--reason", "the move begins"])
            .says("the point before is")
            .ok();
        s.commit_file("code.txt", "two\n", "Second").ok();
        s.commit_file("more.txt", "more\n", "More").ok();
        s.loopx(&["take", "A"]).ok();
        s.loopx(&["task", "done"]).ok();
        s
    })
}

fn head(s: &Sandbox) -> String {
    s.git(&["rev-parse", "HEAD"]).ok()
}

#[test]
fn s37_a_point_leads_back_to_code_and_state_and_loses_neither() {
    let s = gone_on();
    let before = head(&s);
    assert_eq!(statuses(&s)["A"], "completed");
    let went = s.loopx(&["point", "back", "before", "--json"]).json();
    assert_eq!(text(&went["from"]), before.trim());
    assert_eq!(s.read("code.txt"), "one\n");
    assert!(!s.path().join("more.txt").exists());
    assert_ne!(statuses(&s)["A"], "completed");
    // What was there stays below, and the record says what happened.
    assert_eq!(s.git(&["rev-parse", "HEAD~1"]).ok(), before);
    let said = s
        .git(&["log", "-1", "--format=%s%n%(trailers:key=Loopx-Point)"])
        .ok();
    assert!(
        said.contains("Go back to before") && said.contains("Loopx-Point: before"),
        "{said}"
    );
    s.loopx(&["log"]).says("went back to before").ok();
    s.loopx(&["point", "list"])
        .says("the code is as it was then")
        .ok();
    // Once more changes nothing of either.
    let again = s.loopx(&["point", "back", "before", "--json"]).json();
    assert_eq!(
        (&again["commit"], &again["undone"]),
        (&Value::Null, &serde_json::json!([]))
    );
    // And what was taken back is brought back.
    s.git(&["revert", "--no-edit", "HEAD"]).ok();
    s.loopx(&[
        "redo",
        &went["undone"].as_array().expect("words").len().to_string(),
    ])
    .ok();
    assert_eq!(s.read("code.txt"), "two\n");
    assert_eq!(statuses(&s)["A"], "completed");
}

#[test]
fn n17_an_edit_that_is_not_saved_leads_to_a_save_and_then_to_the_same_step() {
    let s = gone_on();
    let state = text(&s.loopx(&["point", "list", "--json"]).json()["points"][0]["op"]);
    s.write(".loopx/demo/execution-record.md", "## Changes\n\nnotes\n");
    let to = format!("undo --to {state}");
    for (line, again) in [
        ("point back before", "point back before"),
        (to.as_str(), to.as_str()),
        ("undo 2", "undo 3"),
    ] {
        let args: Vec<&str> = line.split(' ').collect();
        let said = refuses(&s, 1, "unsaved_edits", &args)["help"].to_string();
        let lead = format!("git loopx save, then: git loopx {again}  or: ");
        assert!(said.contains(&lead), "{said}");
    }
    s.loopx(&["save"]).ok();
    s.loopx(&["point", "back", "before"]).ok();
    assert_eq!(s.read("code.txt"), "one\n");
}

#[test]
fn s37_each_point_leads_to_its_own_state_whatever_was_recorded_last() {
    let s = building(&[
        task("A", &[], Some(&["true"])),
        task("B", &[], Some(&["true"])),
    ]);
    s.loopx(&["point", "add", "one"]).ok();
    s.loopx(&["point", "add", "two"]).ok();
    s.loopx(&["take", "A"]).ok();
    // Behind a claim, which no undo takes away.
    s.loopx(&["point", "add", "three"]).ok();
    s.loopx(&["task", "done", "A"]).ok();
    s.loopx(&["take", "B"]).ok();
    s.loopx(&["task", "fail", "B", "--reason", "flaky"]).ok();
    let went = s.loopx(&["point", "back", "three", "--json"]).json();
    assert_eq!(statuses(&s)["A"], "claimed");
    assert_ne!(statuses(&s)["B"], "failed");
    let forth = text(&went["forth"]);
    let count = forth.rsplit(' ').next().expect("a number");
    assert!(
        forth.starts_with("git loopx") && count.parse::<usize>().is_ok(),
        "{forth}"
    );
    s.loopx(&["redo", count]).ok();
    assert_eq!(statuses(&s)["A"], "completed");
    assert_eq!(statuses(&s)["B"], "failed");
    s.loopx(&["point", "back", "two"]).ok();
    assert_ne!(statuses(&s)["A"], "completed");
}

#[test]
fn x2_an_edit_that_git_does_not_show_is_named_with_the_command_that_shows_it() {
    let s = gone_on();
    for (hide, look) in [
        ("--assume-unchanged", "--no-assume-unchanged"),
        ("--skip-worktree", "--no-skip-worktree"),
    ] {
        s.git(&["update-index", hide, "code.txt"]).ok();
        s.write("code.txt", "hidden\n");
        let said = s.loopx(&["--json", "point", "back", "before"]);
        let error = said.fails_with(1).error_json()["error"].take();
        assert_eq!(error["code"], "point_not_committed", "{error:#}");
        let wanted = format!("git update-index {look} :/code.txt");
        assert_eq!(error["help"], wanted, "{error:#}");
        assert_eq!(s.read("code.txt"), "hidden\n");
        s.git(&["update-index", look, "code.txt"]).ok();
        s.git(&["checkout", "--quiet", "code.txt"]).ok();
    }
    s.loopx(&["point", "back", "before"]).ok();
}

#[test]
fn s37_what_would_be_lost_is_refused_and_nothing_changes() {
    let s = gone_on();
    let commit = head(&s);
    s.write("code.txt", "three\n");
    refuses(&s, 1, "worktree_dirty", &["point", "back", "before"]);
    refuses(&s, 1, "worktree_dirty", &["point", "add", "now"]);
    assert_eq!(s.read("code.txt"), "three\n");
    s.git(&["checkout", "--quiet", "code.txt"]).ok();
    // Of the code it does not know, too.
    s.write("stray.txt", "mine\n");
    refuses(&s, 1, "worktree_dirty", &["point", "back", "before"]);
    std::fs::remove_file(s.path().join("stray.txt")).expect("it is there");
    refuses(&s, 1, "point_taken", &["point", "add", "before"]);
    refuses(&s, 2, "point_invalid", &["point", "add", "a b"]);
    let near = refuses(&s, 4, "point_unknown", &["point", "back", "befor"]);
    assert!(
        near["help"].to_string().contains("point back before"),
        "{near:#}"
    );
    // A hook that refuses the commit leaves both as they were.
    let stands = statuses(&s);
    s.git(&["config", "core.hooksPath", "hooks-of-mine"]).ok();
    s.write(
        "hooks-of-mine/pre-commit",
        "#!/bin/sh\necho not today >&2\nexit 1\n",
    );
    let hook = s.path().join("hooks-of-mine/pre-commit");
    std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("a mode");
    s.write(".git/info/exclude", "/hooks-of-mine/\n/.loopx/\n");
    insta::assert_snapshot!(s.loopx(&["point", "back", "before"]).steady(), @"
    $ git-loopx point back before
    --- stderr
    refused: the code of before was not committed: not today

    hint: git status
    --- exit 1
    ");
    assert_eq!(head(&s), commit);
    assert_eq!(statuses(&s), stands);
    assert_eq!(s.git(&["status", "--porcelain"]).ok(), "");
    s.git(&["config", "--unset", "core.hooksPath"]).ok();
    // Where the branch has not got the commit, there is nothing to go back on.
    s.git(&["checkout", "--quiet", "--orphan", "other"]).ok();
    s.git(&["commit", "--quiet", "-m", "Anew"]).ok();
    s.git(&["branch", "--quiet", "--force", "work", "other"])
        .ok();
    s.git(&["switch", "--quiet", "work"]).ok();
    refuses(&s, 1, "point_elsewhere", &["point", "back", "before"]);
}

#[test]
fn s37_a_point_of_one_clone_is_one_of_every_clone() {
    let all: Clones = clones_building(2, &[task("A", &[], Some(&["true"]))]);
    all.git(0, &["switch", "--quiet", "work"]).ok();
    all.loopx(0, &["point", "add", "start"]).ok();
    for at in [0, 1] {
        all.sync(at).ok();
    }
    let listed = all
        .loopx(1, &["-s", "demo", "--json", "point", "list"])
        .json();
    assert_eq!(listed["points"][0]["name"], "start");
    assert_eq!(listed["points"][0]["stage"], "build");
}

/// A point on a commit that has `cfg`, which a later commit takes away and git is told to ignore.
/// From another branch the points are those of the session that is meant, and it is named.
#[test]
fn points_are_told_from_another_branch_with_the_session_that_has_them() {
    let s = gone_on();
    s.git(&["switch", "--quiet", "-c", "other"]).ok();
    insta::assert_snapshot!(s.loopx(&["point", "list"]).steady(), @"
    $ git-loopx point list
    before  0000000000  build  Ada Author  2026-01-01T00:00:07Z
    1 point of session demo
    to go back to one, be on its branch: git switch work
    --- exit 0
    ");
    let listed = s.loopx(&["point", "list", "--json"]).json();
    assert_eq!(
        (&listed["points"][0]["name"], &listed["branch"]),
        (&"before".into(), &"work".into())
    );
    s.git(&["switch", "--quiet", "work"]).ok();
    let listed = s.loopx(&["point", "list", "--json"]).json();
    assert_eq!(listed["branch"], Value::Null);
}

fn behind_an_ignored_file() -> Sandbox {
    Sandbox::once("", || {
        let s = building(&[task("A", &[], Some(&["true"]))]);
        s.commit_file("cfg", "then\n", "Configure").ok();
        s.loopx(&["point", "add", "before"]).ok();
        s.git(&["rm", "--quiet", "cfg"]).ok();
        s.commit_file(".gitignore", "cfg\n", "Ignore it").ok();
        s
    })
}

#[test]
fn going_back_writes_over_nothing_that_git_ignores() {
    let ways: [(&str, &str); 3] = [
        ("cfg", "cfg stands where cfg comes"),
        ("cfg/notes", "cfg/notes stands where cfg comes"),
        ("cfg/.git/config", "cfg/.git/config stands where cfg comes"),
    ];
    for (path, why) in ways {
        let s = behind_an_ignored_file();
        s.write(path, "the only copy\n");
        let before = head(&s);
        let refused = refuses(&s, 1, "worktree_dirty", &["point", "back", "before"]);
        assert!(refused.to_string().contains(why), "{refused}");
        assert_eq!(s.read(path), "the only copy\n");
        assert_eq!(head(&s), before);
    }
    let s = behind_an_ignored_file();
    s.loopx(&["point", "back", "before"]).ok();
    assert_eq!(s.read("cfg"), "then\n");
}

#[test]
fn a_file_in_the_way_of_a_folder_is_not_written_over() {
    let s = building(&[task("A", &[], Some(&["true"]))]);
    s.commit_file("d/x", "then\n", "Folder").ok();
    s.loopx(&["point", "add", "before"]).ok();
    s.git(&["rm", "-r", "--quiet", "d"]).ok();
    s.commit_file(".gitignore", "d\n", "Ignore it").ok();
    s.write("d", "the only copy\n");
    let refused = refuses(&s, 1, "worktree_dirty", &["point", "back", "before"]);
    assert!(
        refused.to_string().contains("d stands where d/x comes"),
        "{refused}"
    );
    assert_eq!(s.read("d"), "the only copy\n");
}

#[test]
fn a_note_that_only_looks_like_a_point_is_none_and_breaks_nothing() {
    let s = gone_on();
    let tree = s.git(&["rev-parse", "HEAD^{tree}"]).ok();
    let known = s.loopx(&["point", "list", "--json"]).json();
    let op = text(&known["points"][0]["op"]);
    let forged = |name: &str, commit: &str, op: &str, stage: &str| {
        let data = format!(r#"{{"op":"{op}","commit":"{commit}","stage":"{stage}"}}"#);
        let args = [
            "--type",
            "rollback_point",
            "--from",
            "x",
            "--ref",
            name,
            "--data",
        ];
        let note = [&["note"][..], &args, &[data.as_str(), "x"]].concat();
        s.loopx(&note).ok();
    };
    forged("tree", tree.trim(), &op, "build");
    let listed = s.loopx(&["point", "list", "--json"]).json();
    assert_eq!(listed["points"][1]["here"], false);
    refuses(&s, 1, "point_elsewhere", &["point", "back", "tree"]);
    // It says that it is of the build, and is of the plan.
    let log = s.loopx(&["log", "--json"]).json();
    let ops = log["operations"].as_array().expect("operations");
    let first = ops.iter().map(|one| text(&one["op"])).min_by_key(|op| {
        ops.iter()
            .find(|one| text(&one["op"]) == *op)
            .and_then(|one| one["seq"].as_u64())
    });
    forged(
        "liar",
        head(&s).trim(),
        &first.expect("an operation"),
        "build",
    );
    let refused = refuses(&s, 1, "point_elsewhere", &["point", "back", "liar"]);
    assert!(
        refused.to_string().contains("another stage since then"),
        "{refused}"
    );
    assert_eq!(s.loopx(&["status", "--json"]).json()["stage"], "build");
}

#[test]
fn no_merge_ends_by_going_back() {
    let s = gone_on();
    s.git(&["branch", "side", "HEAD~1"]).ok();
    s.git(&["switch", "--quiet", "side"]).ok();
    s.git(&[
        "commit",
        "--quiet",
        "--no-verify",
        "--allow-empty",
        "-m",
        "Aside",
    ])
    .ok();
    s.git(&["switch", "--quiet", "-"]).ok();
    s.git(&["merge", "--quiet", "-s", "ours", "--no-commit", "side"])
        .ok();
    let refused = refuses(&s, 1, "worktree_dirty", &["point", "back", "before"]);
    assert!(refused.to_string().contains("a merge"), "{refused}");
    s.git(&["merge", "--abort"]).ok();
    s.loopx(&["point", "back", "before"]).ok();
}

#[test]
fn a_file_that_was_only_touched_holds_nobody() {
    let s = gone_on();
    let touched = s.git(&["ls-files", "code.txt"]).ok();
    assert_eq!(touched, "code.txt\n");
    let text = s.read("code.txt");
    std::fs::remove_file(s.path().join("code.txt")).expect("removed");
    s.write("code.txt", text);
    s.loopx(&["point", "back", "before"]).ok();
    assert_eq!(s.read("code.txt"), "one\n");
}

#[test]
fn q28_files_that_no_room_is_for_are_put_back_as_they_were() {
    let s = gone_on();
    let long = "a line that is repeated\n".repeat(60_000);
    s.commit_file("a/short.txt", "then\n", "Short").ok();
    s.commit_file("b.txt", &long, "Long").ok();
    s.commit_file("gone/c.txt", &long, "Long, too").ok();
    s.loopx(&["point", "add", "long"]).ok();
    s.write("a/short.txt", "now\n");
    s.write("b.txt", "now\n");
    s.git(&["rm", "--quiet", "gone/c.txt"]).ok();
    s.git(&["commit", "--quiet", "-am", "Now"]).ok();
    let at = head(&s);
    // A limit for each file: what a full disk says, without one.
    let script = "trap '' XFSZ; ulimit -f 1024; exec git-loopx point back long";
    s.call("sh")
        .args(&["-c", script])
        .run()
        .fails_with(1)
        .says("the code of long was not committed");
    assert_eq!(s.git(&["status", "--porcelain"]).ok(), "");
    assert_eq!((s.read("b.txt"), head(&s)), ("now\n".to_owned(), at));
    assert!(!s.exists("gone"));
    s.loopx(&["point", "back", "long"]).ok();
    assert_eq!(s.read("gone/c.txt"), long);
}

#[test]
fn w3_w4_a_step_that_git_refused_before_it_wrote_changes_no_file_that_git_overlooks() {
    let s = gone_on();
    s.loopx(&["point", "add", "one"]).ok();
    s.commit_file("local.cfg", "port=1\n", "Config").ok();
    s.commit_file("doc/a", "a\n", "Doc").ok();
    s.git(&["update-index", "--skip-worktree", "doc/a"]).ok();
    std::fs::remove_file(s.path().join("doc/a")).expect("removed");
    s.git(&["update-index", "--assume-unchanged", "local.cfg"])
        .ok();
    s.write("local.cfg", "port=7777 # mine\n");
    s.write(".git/index.lock", "");
    let out = s.loopx(&["point", "back", "one"]).fails_with(1);
    assert!(!out.stderr.contains("not as before"), "{out}");
    assert_eq!(s.read("local.cfg"), "port=7777 # mine\n");
    assert!(!s.exists("doc/a"));
}

#[test]
fn z1_a_way_back_that_is_killed_before_its_commit_is_put_back_by_the_next_writer() {
    for mender in [&["note", "said"][..], &["doctor", "--fix"]] {
        let s = gone_on();
        let (before, at) = (s.read("more.txt"), head(&s));
        let killed = s.call(LOOPX).args(&["point", "back", "before"]);
        let out = killed.env("LOOPX_FAILPOINT", "way-back-staged").run();
        assert_eq!(out.code, None, "{out}");
        assert_ne!(s.git(&["status", "--porcelain", "-uno"]).ok(), "");
        let left = "the way back to before was ended before its commit";
        s.loopx(&["status"]).says(left).ok();
        s.loopx(&["doctor"]).says(left);
        s.loopx(&["hooks", "install"]).ok();
        s.git(&["commit", "--quiet", "-m", "unrelated"])
            .fails_with(1)
            .says("git loopx doctor --fix");
        s.loopx(mender)
            .says("index and files are as before it")
            .says("point back before");
        assert_eq!((s.read("more.txt"), head(&s)), (before, at));
        assert_eq!(s.git(&["status", "--porcelain", "-uno"]).ok(), "");
        assert!(!s.loopx(&["status"]).stderr.contains(left));
        s.loopx(&["point", "back", "before"]).ok();
    }
}

#[test]
fn z1_what_somebody_did_since_a_way_back_was_killed_stays() {
    let s = gone_on();
    s.commit_file("third.txt", "third\n", "Third").ok();
    let killed = s.call(LOOPX).args(&["point", "back", "before"]);
    let out = killed.env("LOOPX_FAILPOINT", "way-back-staged").run();
    assert_eq!(out.code, None, "{out}");
    // An edit, a file of their own in the place of one that went, and one that is staged.
    s.write("code.txt", "mine\n");
    s.write("more.txt", "mine, too\n");
    s.write("new.txt", "new\n");
    s.git(&["add", "new.txt"]).ok();
    s.loopx(&["note", "said"])
        .says("but for edits since then in code.txt, more.txt")
        .ok();
    assert_eq!(s.read("code.txt"), "mine\n");
    assert_eq!(s.read("more.txt"), "mine, too\n");
    assert_eq!(s.read("third.txt"), "third\n");
    let staged = s.git(&["diff", "--cached", "--name-only"]).ok();
    assert_eq!(staged, "new.txt\n");
    assert!(!s.exists(".git/loopx/going-back.json"));
}

#[test]
fn what_a_hook_refuses_leaves_the_code_as_it_was() {
    let s = gone_on();
    let hook = "#!/bin/sh\necho mine >code.txt\nexit 1\n";
    s.write(".git/hooks/commit-msg", hook);
    let path = s.path().join(".git/hooks/commit-msg");
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("may run");
    let (before, at) = (s.read("more.txt"), head(&s));
    // Taken back and brought back: both stand in the log.
    let refused = s.error(1, &["point", "back", "before"]);
    assert_eq!(refused["code"], "point_not_committed");
    // Z18: a hook that says nothing is told from a git that says why.
    let message = refused["message"].to_string();
    assert!(
        message.contains("exit code 1 and said nothing"),
        "{message}"
    );
    assert_eq!((s.read("more.txt"), head(&s)), (before, at));
    assert_eq!(s.git(&["status", "--porcelain", "-uno"]).ok(), "");
    assert_eq!(statuses(&s)["A"], "completed");
}

#[test]
fn n10_a_commit_that_git_made_before_it_was_killed_is_the_way_back() {
    let s = gone_on();
    s.program(
        "git",
        "#!/bin/sh\nPATH=${PATH#*:}\ncase \"$*\" in *'commit --quiet'*) git \"$@\"; kill -9 $$;; esac\nexec git \"$@\"\n",
    );
    s.loopx(&["point", "back", "before"]).ok();
    std::fs::remove_file(s.root().join("bin/git")).expect("the program");
    assert_eq!(
        s.git(&["log", "-1", "--format=%s"]).line(),
        "Go back to before"
    );
    assert_eq!(
        s.git(&["status", "--short", "--untracked-files=no"]).ok(),
        ""
    );
}
