//! Stale things: shown first, removed where somebody says so, and nothing that may be unfinished.

use crate::support::issues::{BRIEF, backlog};
use crate::support::{Call, LOOPX, Sandbox};
use serde_json::Value;

/// Half a year after the sessions of a sandbox were touched.
const LATER: &str = "1783900000 +0000";

fn later<'s>(s: &'s Sandbox, args: &[&str]) -> Call<'s> {
    s.call(LOOPX)
        .args(args)
        .env("GIT_COMMITTER_DATE", LATER)
        .env("GIT_AUTHOR_DATE", LATER)
}

fn clean(s: &Sandbox, args: &[&str]) -> Vec<Value> {
    let all = [&["--json", "clean"], args].concat();
    let found = later(s, &all).run().json();
    found["stale"].as_array().expect("what is stale").clone()
}

/// Kind and name of each item, and whether it stays.
fn told(items: &[Value]) -> Vec<(&str, &str, bool)> {
    let words = items.iter().map(|one| {
        let what = one["what"].as_str().expect("what it is");
        let name = one["name"].as_str().expect("a name");
        (what, name, !one["kept"].is_null())
    });
    words.collect()
}

/// A session on a branch of its own; the branch is left.
fn started(s: &Sandbox, id: &str) {
    s.git(&["switch", "--quiet", "-c", id]).ok();
    s.loopx(&["start", "--quick", id]).ok();
    s.git(&["switch", "--quiet", "main"]).ok();
}

/// Refs and files that a command could change.
fn world(s: &Sandbox) -> (String, String) {
    let files = s.call("find").args(&[".loopx", "-type", "f"]).run();
    (s.git(&["for-each-ref"]).ok(), files.stdout)
}

#[test]
fn what_is_stale_is_shown_then_done_and_taken_back_by_what_was_said() {
    let s = backlog();
    started(&s, "old");
    let fresh = s.document(0, &["clean"]);
    assert_eq!(
        fresh["stale"],
        serde_json::json!([]),
        "nothing is old enough"
    );
    let before = world(&s);
    let found = clean(&s, &[]);
    assert_eq!(told(&found), [("sessions", "old", false)]);
    assert_eq!(found[0]["undo"], "git loopx -s old undo");
    assert_eq!(world(&s), before, "a look changes nothing");
    let text = later(&s, &["clean"]).run().ok();
    assert!(text.contains("nothing touched it for 90 days"), "{text}");
    let done = clean(&s, &["--yes"]);
    assert_eq!(done[0]["done"], true, "{done:?}");
    let ending = |s: &Sandbox| s.document(0, &["status", "old"])["ending"]["how"].clone();
    assert_eq!(ending(&s), "abandoned");
    s.loopx(&["undo", "-s", "old", "--reason", "it goes on"])
        .ok();
    assert!(ending(&s).is_null());
    s.loopx(&["fsck"]).ok();
}

#[test]
fn work_that_may_be_unfinished_stays_and_the_reason_is_said() {
    let s = backlog();
    started(&s, "merged");
    started(&s, "unmerged");
    s.git(&["switch", "--quiet", "unmerged"]).ok();
    s.commit_file("more.txt", "more\n", "More").ok();
    s.git(&["switch", "--quiet", "main"]).ok();
    started(&s, "edited");
    s.write(".loopx/edited/brief.md", BRIEF);
    started(&s, "elsewhere");
    s.git(&["branch", "--quiet", "-D", "elsewhere"]).ok();
    s.git(&["switch", "--quiet", "-c", "waiting"]).ok();
    s.loopx(&["start", "--quick", "waiting"]).ok();
    s.write(".loopx/waiting/brief.md", BRIEF);
    s.commit_file("code.txt", "code, spelt well\n", "Spell")
        .ok();
    s.loopx(&["run", "--", "true"]).ok();
    s.loopx(&["approve", "--enter"]).ok();
    s.loopx(&["review", "--verdict", "approve"]).ok();
    s.loopx(&["approve"]).ok();
    s.git(&["switch", "--quiet", "main"]).ok();
    s.git(&["merge", "--quiet", "--no-edit", "waiting"]).ok();
    let found = clean(&s, &["sessions", "--yes"]);
    let why = |id: &str| {
        let one = found.iter().find(|one| one["name"] == id);
        let one = one.unwrap_or_else(|| panic!("no {id} in {found:?}"));
        one["kept"].as_str().unwrap_or("goes").to_owned()
    };
    assert_eq!(why("merged"), "goes");
    assert!(why("unmerged").contains("1 commit that main has not"));
    assert!(why("edited").contains("brief.md differs from what is stored"));
    assert!(why("elsewhere").contains("may be in another clone"));
    assert!(why("waiting").contains("git loopx archive waiting"));
    for id in ["unmerged", "edited", "elsewhere", "waiting"] {
        let status = s.document(0, &["status", id]);
        assert!(status["ending"].is_null(), "{id}: {status}");
    }
    assert!(s.exists(".loopx/edited/brief.md"));
}

#[test]
fn a_binding_to_a_branch_that_is_gone_goes_where_it_is_ones_own() {
    let s = backlog();
    started(&s, "mine");
    s.git(&["branch", "--quiet", "-D", "mine"]).ok();
    s.git(&["switch", "--quiet", "-c", "hers"]).ok();
    s.call(LOOPX)
        .args(&["start", "--quick", "hers"])
        .env("GIT_AUTHOR_NAME", "Grace")
        .env("GIT_AUTHOR_EMAIL", "grace@example.org")
        .run()
        .ok();
    s.git(&["switch", "--quiet", "main"]).ok();
    s.git(&["branch", "--quiet", "-D", "hers"]).ok();
    let found = clean(&s, &["bindings", "--yes"]);
    let wanted = [("bindings", "hers", true), ("bindings", "mine", false)];
    assert_eq!(told(&found), wanted, "{found:?}");
    let branch = |id: &str| s.document(0, &["status", id])["branch"].clone();
    assert!(branch("mine").is_null(), "{found:?}");
    assert_eq!(branch("hers"), "hers");
    let undo = found[1]["undo"].as_str().expect("a command");
    let words: Vec<&str> = undo.split(' ').skip(2).collect();
    s.loopx(&words).ok();
    assert_eq!(branch("mine"), "mine");
    s.loopx(&["fsck"]).ok();
}

#[test]
fn working_copies_of_what_has_ended_go_where_each_file_is_stored() {
    let s = backlog();
    started(&s, "over");
    started(&s, "edited");
    s.loopx(&["abandon", "over"]).ok();
    s.loopx(&["abandon", "edited"]).ok();
    s.write(".loopx/edited/brief.md", BRIEF);
    s.write(".loopx/nobody/brief.md", BRIEF);
    // In a linked worktree with a space in its name, too.
    let tree = s.root().join("a tree");
    s.git(
        &["worktree", "add", "-q", "-b", "there"]
            .iter()
            .copied()
            .chain([tree.to_str().expect("UTF-8")])
            .collect::<Vec<_>>(),
    )
    .ok();
    s.loopx_in(&tree, &["start", "--quick", "there"]).ok();
    s.loopx_in(&tree, &["abandon"]).ok();
    assert!(tree.join(".loopx/there/brief.md").exists());
    let found = clean(&s, &["copies", "--yes"]);
    let stays: Vec<(bool, bool)> = ["over", "edited", "nobody", "there"]
        .iter()
        .map(|id| {
            let end = format!(".loopx/{id}");
            let mut all = found.iter();
            let one = all.find(|one| {
                one["name"]
                    .as_str()
                    .is_some_and(|name| name.ends_with(&end))
            });
            let one = one.unwrap_or_else(|| panic!("no {id} in {found:?}"));
            (!one["kept"].is_null(), one["done"] == true)
        })
        .collect();
    let (goes, stays_there) = ((false, true), (true, false));
    assert_eq!(stays, [goes, stays_there, stays_there, goes]);
    assert!(!s.exists(".loopx/over") && s.exists(".loopx/edited/brief.md"));
    assert!(s.exists(".loopx/nobody/brief.md") && !tree.join(".loopx/there").exists());
    s.loopx(&["undo", "-s", "over", "--reason", "it goes on"])
        .ok();
    s.git(&["switch", "--quiet", "over"]).ok();
    s.loopx(&["checkout"]).ok();
    assert!(s.exists(".loopx/over/brief.md"), "it comes back as it was");
}

#[test]
fn a_ref_goes_where_the_branch_of_sessions_has_what_it_keeps() {
    let s = backlog();
    started(&s, "one");
    let known = s.git(&["rev-parse", "loopx~1"]).line();
    let other = s
        .git(&["commit-tree", "-m", "other", "loopx^{tree}"])
        .line();
    s.git(&["update-ref", "refs/loopx/displaced-1", &known])
        .ok();
    s.git(&["update-ref", "refs/loopx/displaced-2", &other])
        .ok();
    let found = clean(&s, &["refs", "--yes"]);
    let wanted = [
        ("refs", "refs/loopx/displaced-1", false),
        ("refs", "refs/loopx/displaced-2", true),
    ];
    assert_eq!(told(&found), wanted, "{found:?}");
    let refs = || {
        s.git(&["for-each-ref", "--format=%(refname)", "refs/loopx"])
            .ok()
    };
    assert!(!refs().contains("displaced-1") && refs().contains("displaced-2"));
    let undo = found[0]["undo"].as_str().expect("a command");
    let words: Vec<&str> = undo.split(' ').skip(1).collect();
    s.git(&words).ok();
    assert!(refs().contains("displaced-1"));
}

/// Reason why the session of this name stays; `goes` where nothing keeps it.
fn why(items: &[Value], id: &str) -> String {
    let one = items.iter().find(|one| one["name"] == id);
    let one = one.unwrap_or_else(|| panic!("no {id} in {items:?}"));
    one["kept"].as_str().unwrap_or("goes").to_owned()
}

#[test]
fn one_record_with_an_old_date_makes_no_session_old() {
    let s = backlog();
    started(&s, "fresh");
    s.call(LOOPX)
        .args(&["note", "-s", "fresh", "seen"])
        .env("GIT_COMMITTER_DATE", "1577836800 +0000")
        .env("GIT_AUTHOR_DATE", "1577836800 +0000")
        .run()
        .ok();
    let touched = s.document(0, &["log", "-s", "fresh"]).to_string();
    assert!(touched.contains("2020-01-01"), "{touched}");
    let found = s.document(0, &["clean", "--yes"]);
    assert_eq!(found["stale"], serde_json::json!([]));
    assert_eq!(why(&clean(&s, &["sessions"]), "fresh"), "goes");
}

#[test]
fn sessions_that_somebody_else_started_or_touched_stay() {
    let s = backlog();
    let grace = |args: &[&str]| {
        s.call(LOOPX)
            .args(args)
            .env("GIT_AUTHOR_NAME", "Grace")
            .env("GIT_AUTHOR_EMAIL", "grace@example.org")
            .run()
            .ok()
    };
    started(&s, "mine");
    started(&s, "last");
    grace(&["note", "-s", "last", "seen"]);
    started(&s, "between");
    grace(&["note", "-s", "between", "seen"]);
    s.loopx(&["note", "-s", "between", "thanks"]).ok();
    s.git(&["switch", "--quiet", "-c", "hers"]).ok();
    grace(&["start", "--quick", "hers"]);
    s.git(&["switch", "--quiet", "main"]).ok();
    let found = clean(&s, &["sessions", "--yes"]);
    assert_eq!(why(&found, "mine"), "goes");
    assert_eq!(why(&found, "last"), "Grace touched it last");
    assert_eq!(why(&found, "between"), "Grace worked on it too");
    assert_eq!(why(&found, "hers"), "Grace started it");
    let ending = |id: &str| s.document(0, &["status", id])["ending"]["how"].clone();
    assert_eq!(ending("mine"), "abandoned");
    assert!(
        ["last", "between", "hers"]
            .iter()
            .all(|id| ending(id).is_null())
    );
}

#[test]
fn a_session_stays_where_a_worktree_of_its_branch_has_edits_or_is_away() {
    let s = backlog();
    for id in ["untracked", "away"] {
        started(&s, id);
        let tree = s.root().join(format!("{id} tree"));
        let path = tree.to_str().expect("UTF-8");
        s.git(&["worktree", "add", "-q", path, id]).ok();
    }
    let tree = s.root().join("untracked tree");
    assert_eq!(why(&clean(&s, &["sessions"]), "untracked"), "goes");
    std::fs::write(tree.join("new.txt"), "new\n").expect("a file");
    let away = s.root().join("away tree");
    std::fs::rename(&away, s.root().join("moved tree")).expect("a move");
    let found = clean(&s, &["sessions", "--yes"]);
    assert!(why(&found, "untracked").contains("files that are not committed"));
    assert!(why(&found, "away").contains("is away"), "{found:?}");
    for id in ["untracked", "away"] {
        assert!(s.document(0, &["status", id])["ending"].is_null());
    }
}

#[test]
fn bindings_are_undone_only_where_they_are_named() {
    let s = backlog();
    started(&s, "mine");
    s.git(&["branch", "--quiet", "-D", "mine"]).ok();
    let found = clean(&s, &["--yes"]);
    let all = [("sessions", "mine", true), ("bindings", "mine", true)];
    assert_eq!(told(&found), all, "{found:?}");
    let kept = found[1]["kept"].as_str().expect("a reason");
    assert!(kept.contains("git loopx clean bindings --yes"), "{kept}");
    let branch = || s.document(0, &["status", "mine"])["branch"].clone();
    assert_eq!(branch(), "mine");
    let shown = clean(&s, &["bindings"]);
    let step = shown[0]["step"].as_str().expect("a step");
    assert!(step.contains("hooks in a clone that has the branch hold nothing"));
    clean(&s, &["bindings", "--yes"]);
    assert!(branch().is_null());
}

#[test]
fn an_abandoning_is_taken_back_beside_edits_which_stay() {
    let s = backlog();
    s.git(&["switch", "--quiet", "-c", "over"]).ok();
    s.loopx(&["start", "--quick", "over"]).ok();
    s.loopx(&["abandon"]).ok();
    s.write(".loopx/over/brief.md", BRIEF);
    s.loopx(&["undo", "-s", "over"]).ok();
    assert!(s.document(0, &["status", "over"])["ending"].is_null());
    assert_eq!(s.read(".loopx/over/brief.md"), BRIEF);
    s.loopx(&["save"]).ok();
    // With the save: its file would change under the edit, and the hint leads out.
    s.loopx(&["abandon"]).ok();
    s.write(".loopx/over/brief.md", format!("{BRIEF}\nmore\n"));
    let refused = s.loopx(&["undo", "2", "-s", "over"]);
    assert!(
        refused.stderr.contains("git loopx -s over undo"),
        "{refused:?}"
    );
    s.loopx(&["undo", "-s", "over"]).ok();
    s.loopx(&["save"]).ok();
    s.loopx(&["fsck"]).ok();
}

#[test]
fn what_is_no_folder_and_the_current_directory_stay() {
    let s = backlog();
    started(&s, "over");
    s.loopx(&["abandon", "over"]).ok();
    s.write(".loopx/gone4", "");
    std::os::unix::fs::symlink("nowhere", s.path().join(".loopx/gone5")).expect("a link");
    let inside = s.path().join(".loopx/over");
    let call = s.call(LOOPX).args(&["--json", "clean", "copies", "--yes"]);
    let call = call.env("GIT_COMMITTER_DATE", LATER).cwd(&inside);
    let found = call.run().json();
    let all = found["stale"].as_array().expect("what is stale");
    assert_eq!(all.len(), 3, "{found}");
    let stays = |one: &Value| !one["kept"].is_null() && one["done"] == false;
    assert!(all.iter().all(stays), "{found}");
    assert!(s.exists(".loopx/over/brief.md") && s.exists(".loopx/gone4"));
    let from_top = clean(&s, &["copies", "--yes"]);
    assert_eq!(from_top.iter().filter(|one| one["done"] == true).count(), 1);
    assert!(!s.exists(".loopx/over"));
}
