//! `export` and `import bundle`: one session as a file (issue 5).

use crate::support::clones::Clones;
use crate::support::store::{ID, READY, assert_whole, operations};
use crate::support::{LOOPX, Sandbox};

/// A repository that has nothing to do with the other.
fn elsewhere() -> Sandbox {
    Sandbox::once("", || {
        let s = Sandbox::new();
        s.commit_file("other.txt", "other\n", "other").ok();
        s.loopx(&["init"]).ok();
        s
    })
}

/// A session with a past, and another beside it.
fn here() -> Sandbox {
    Sandbox::once("", || {
        let s = crate::support::store::started();
        crate::support::store::put(&s, "spec.md", READY).ok();
        s.loopx(&["-s", ID, "run", "--", "echo", "proof"]).ok();
        s.loopx(&["-s", ID, "clarify"]).ok();
        s.loopx(&["start", "--no-branch", "Not for everybody"]).ok();
        s.loopx(&["export", ID, "-o", "../one.bundle"])
            .says("operations")
            .ok();
        s
    })
}

#[test]
fn q17_an_export_takes_the_place_of_no_pipe() {
    use std::os::unix::fs::FileTypeExt;
    let s = here();
    let pipe = s.root().join("pipe");
    s.call("mkfifo").args(&["../pipe"]).run().ok();
    s.loopx(&["export", ID, "--force", "-o", "../pipe"])
        .fails_with(1)
        .says("expected a file");
    let meta = std::fs::symlink_metadata(&pipe).expect("the pipe");
    assert!(meta.file_type().is_fifo());
}

#[test]
fn w11_no_hint_leads_to_a_place_that_no_export_writes() {
    let s = here();
    s.call("mkfifo").args(&["../pipe"]).run().ok();
    let out = s.loopx(&["export", ID, "-o", "../pipe"]).fails_with(1);
    assert!(out.stderr.contains("expected a file"), "{out}");
    assert!(!out.stderr.contains("--force"), "{out}");
}

#[test]
fn q17_an_export_writes_where_a_link_leads_though_nothing_is_there_yet() {
    let s = here();
    let link = s.root().join("link");
    std::os::unix::fs::symlink("gone.bundle", &link).expect("a link");
    s.loopx(&["export", ID, "--force", "-o", "../link"]).ok();
    assert!(std::fs::symlink_metadata(&link).is_ok_and(|meta| meta.is_symlink()));
    assert!(s.root().join("gone.bundle").is_file());
}

#[test]
fn a_session_travels_whole_and_alone() {
    let s = here();
    let file = s.root().join("one.bundle");
    let other = elsewhere();
    other
        .loopx(&["import", "bundle", file.to_str().expect("UTF-8")])
        .says("taken in")
        .ok();
    let path = format!("loopx:sessions/{ID}");
    assert_eq!(
        s.git(&["rev-parse", &path]).line(),
        other.git(&["rev-parse", &path]).line()
    );
    let known = operations(&other, ID).len();
    assert_eq!(known, operations(&s, ID).len());
    other.loopx(&["-s", ID, "log"]).says("clarify").ok();
    other.loopx(&["-s", ID, "show", "--run", ""]).fails_with(2);
    // Its history came, and nothing of the other session.
    let log = other.git(&["log", "--format=%s", "loopx"]).ok();
    assert!(log.contains(&format!("{ID}: start")), "{log}");
    let all = other.git(&["log", "-p", "--all"]).ok();
    assert!(!all.contains("not-for-everybody"), "another session leaked");
    // What needs the code says so.
    other
        .loopx(&["-v", "-s", ID, "status"])
        .says("base_missing")
        .says("not in this repository")
        .ok();
    // A second time there is nothing new, and no ref stays behind.
    other
        .loopx(&["import", "bundle", file.to_str().expect("UTF-8")])
        .says("was here")
        .ok();
    for one in [&s, &other] {
        let refs = one
            .git(&["for-each-ref", "refs/loopx/export", "refs/loopx/import"])
            .ok();
        assert_eq!(refs, "");
        assert_whole(one);
    }
}

#[test]
fn what_went_on_in_both_places_comes_together() {
    let s = here();
    let other = elsewhere();
    let file = s.root().join("one.bundle");
    let file = file.to_str().expect("UTF-8");
    other.loopx(&["import", "bundle", file]).ok();
    // What is judged needs the code that the session starts from.
    let code = s.path().to_str().expect("UTF-8");
    other.git(&["fetch", "--quiet", code, "main"]).ok();
    crate::support::store::put(&s, "spec.md", &READY.replace("A test", "Two tests")).ok();
    other.loopx(&["-s", ID, "abandon"]).ok();
    s.loopx(&["export", ID, "--force", "-o", file]).ok();
    other
        .loopx(&["import", "bundle", file])
        .fails_with(3)
        .says("resolve");
    other
        .loopx(&["-s", ID, "resolve"])
        .fails_with(3)
        .says("moved the session meanwhile");
    assert_whole(&other);
}

#[test]
fn a_name_that_is_taken_gives_way() {
    let s = here();
    let other = elsewhere();
    other.loopx(&["start", "--no-branch", "Auth timeout"]).ok();
    let file = s.root().join("one.bundle");
    other
        .loopx(&["import", "bundle", file.to_str().expect("UTF-8")])
        .says("two sessions are named")
        .ok();
    let list = other.loopx(&["--json", "list"]).json();
    assert_eq!(list["sessions"].as_array().expect("sessions").len(), 2);
    assert_whole(&other);
}

#[test]
fn what_is_no_exported_session_is_refused() {
    let s = here();
    s.loopx(&["export", ID, "-o", "../one.bundle"])
        .fails_with(1)
        .says("is there already");
    s.loopx(&["export", "nothing"]).fails_with(4);
    let other = elsewhere();
    let before = other.git(&["for-each-ref"]).ok();
    other
        .loopx(&["import", "bundle", "none.bundle"])
        .fails_with(4);
    other.write("text.bundle", "hello\n");
    other
        .loopx(&["import", "bundle", "text.bundle"])
        .fails_with(1)
        .says("no session");
    s.git(&["bundle", "create", "--quiet", "../all.bundle", "loopx"])
        .ok();
    let all = s.root().join("all.bundle");
    other
        .loopx(&["import", "bundle", all.to_str().expect("UTF-8")])
        .fails_with(1)
        .says("one session in it, found 0");
    // One that brings more than its session.
    s.git(&["update-ref", &format!("refs/loopx/export/{ID}"), "loopx"])
        .ok();
    s.git(&[
        "bundle",
        "create",
        "--quiet",
        "../more.bundle",
        &format!("refs/loopx/export/{ID}"),
    ])
    .ok();
    let more = s.root().join("more.bundle");
    other
        .loopx(&["import", "bundle", more.to_str().expect("UTF-8")])
        .fails_with(1);
    assert_eq!(other.git(&["for-each-ref"]).ok(), before);
}

#[test]
fn refs_of_killed_runs_are_found_and_taken_away() {
    let s = here();
    let file = s.root().join("one.bundle");
    let file = file.to_str().expect("UTF-8");
    let left = |s: &Sandbox| {
        let below = ["refs/loopx/export", "refs/loopx/import"];
        let format = "--format=%(refname)";
        s.git(&["for-each-ref", format, below[0], below[1]]).ok()
    };
    let killed = |s: &Sandbox, args: &[&str], place: &str| {
        let call = s.call(LOOPX).args(args).env("LOOPX_FAILPOINT", place);
        assert_eq!(call.run().code, None);
        assert_ne!(left(s), "");
    };
    let other = elsewhere();
    let import = ["import", "bundle", file];
    killed(&other, &import, "bundle-fetched");
    let before = other.git(&["for-each-ref"]).ok();
    let shown = other.loopx(&["doctor"]).ok();
    assert!(shown.contains("refs/loopx/import/auth-timeout"), "{shown}");
    assert_eq!(other.git(&["for-each-ref"]).ok(), before, "only --fix");
    other
        .loopx(&["doctor", "--fix"])
        .says("removed refs/loopx/import/auth-timeout")
        .says("leftovers  none")
        .ok();
    assert_eq!(left(&other), "");
    // The next import of any session takes it away too, and so does the next export.
    killed(&other, &import, "bundle-fetched");
    s.loopx(&["export", "not-for-everybody", "-o", "../two.bundle"])
        .ok();
    let two = s.root().join("two.bundle");
    let two = two.to_str().expect("UTF-8");
    other.loopx(&["import", "bundle", two]).ok();
    assert_eq!(left(&other), "");
    let export = ["export", ID, "--force", "-o", file];
    killed(&s, &export, "export-named");
    s.loopx(&["export", "not-for-everybody", "--force", "-o", file])
        .ok();
    assert_eq!(left(&s), "");
    assert_whole(&other);
}

#[test]
fn an_exported_session_syncs_on_with_others() {
    let all = Clones::sharing(2);
    let s = here();
    let file = s.root().join("one.bundle");
    let out = all.loopx(0, &["import", "bundle", file.to_str().expect("UTF-8")]);
    out.says("two sessions are named").ok();
    all.settle();
    all.assert_agreed();
}

#[test]
fn a_folder_that_is_not_there_is_named_and_takes_no_bundle() {
    let s = crate::support::store::started();
    let id = crate::support::store::ID;
    let refused = s.loopx(&["--json", "export", id, "-o", "no/such/x.bundle"]);
    assert_eq!(refused.code, Some(4), "{refused}");
    assert_eq!(refused.error_json()["error"]["code"], "folder_missing");
}

#[test]
fn f15_a_lock_that_a_killed_git_left_beside_a_bundle_holds_no_export() {
    let s = crate::support::store::started();
    let id = crate::support::store::ID;
    s.write("../own.bundle.lock", "");
    s.loopx(&["export", id, "-o", "../own.bundle"]).ok();
    s.loopx(&["export", id, "--force", "-o", "../own.bundle"])
        .ok();
    s.git(&["bundle", "verify", "../own.bundle"]).ok();
    s.loopx(&["import", "bundle", "../own.bundle"])
        .says("all of it was here")
        .ok();
    let names = std::fs::read_dir(s.root()).expect("a folder");
    let names = names.map(|entry| entry.expect("an entry").file_name());
    let left: Vec<_> = names
        .filter(|name| name.to_string_lossy().starts_with(".loopx-"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn what_is_here_already_is_taken_in_without_a_commit() {
    let s = crate::support::store::started();
    let id = crate::support::store::ID;
    s.loopx(&["export", id, "-o", "../own.bundle"]).ok();
    let before = crate::support::store::tip(&s);
    s.loopx(&["import", "bundle", "../own.bundle"])
        .says("all of it was here")
        .ok();
    assert_eq!(crate::support::store::tip(&s), before);
}

/// Records that two clones wrote apart stay apart in a bundle: in one line, those of the one would go away and come again.
#[test]
fn a_session_that_two_clones_changed_apart_travels_with_its_merges() {
    let all = Clones::sharing(3);
    let note = |at: usize, text: &str| all.loopx(at, &["-s", ID, "note", text]).ok();
    for round in 0..2 {
        note(0, &format!("of 0, {round}"));
        all.loopx(0, &["note", "--journal", "beside"]).ok();
        note(1, &format!("of 1, {round}"));
        note(1, "more of 1");
    }
    for at in [0, 1, 0] {
        all.sync(at).ok();
    }
    note(0, "of both");
    let file = all.s.root().join("both.bundle");
    let file = file.to_str().expect("UTF-8");
    all.loopx(0, &["export", ID, "-o", file]).ok();
    all.loopx(2, &["import", "bundle", file])
        .says("taken in")
        .ok();
    all.loopx(2, &["verify", "--sessions"]).ok();
    note(2, "of 2");
    all.settle();
    all.assert_agreed();
    for at in 0..3 {
        all.loopx(at, &["verify", "--sessions"]).ok();
        let fsck = all.loopx(at, &["fsck", "--full"]).says("all whole");
        assert!(!fsck.to_string().contains("warning"), "{fsck}");
    }
}

/// A shallow clone has the newest of a session alone: its older texts would be missing for good where it is taken in.
#[test]
fn a_shallow_clone_says_what_it_lacks_and_hands_none_of_it_on() {
    let mut all = Clones::sharing(1);
    all.put_spec(0, "A test", "Two tests").ok();
    all.put_spec(0, "A test", "Three tests").ok();
    all.sync(0).ok();
    let at = all.add("shallow", &["--depth", "1", "--no-single-branch"]);
    all.loopx(at, &["init"]).ok();
    let file = all.s.root().join("shallow.bundle");
    let file = file.to_str().expect("UTF-8");
    all.loopx(at, &["export", ID, "-o", file])
        .fails_with(1)
        .says("git fetch --unshallow");
    all.loopx(at, &["-s", ID, "cat", "spec.md", "--at", "2"])
        .fails_with(4)
        .says("git fetch --unshallow");
    all.git(at, &["fetch", "--quiet", "--unshallow"]).ok();
    all.loopx(at, &["export", ID, "-o", file]).ok();
    all.loopx(at, &["-s", ID, "cat", "spec.md", "--at", "2"])
        .ok();
}
