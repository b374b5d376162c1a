//! Records that `sync` and `init` take over from a remote without our hook: the index of bindings is made whole, and a
//! history that no server takes is refused with what leads on.

use crate::hostile_sync::{git, put_files, renumbered, send, two};
use crate::support::clones::Clones;
use crate::support::store::ID;

/// Tip of the remote now, seen from the second clone.
fn fetched(all: &Clones) -> String {
    git(all, &["fetch", "--quiet", "origin"]).run().ok();
    git(all, &["rev-parse", "origin/loopx"]).run().line()
}

/// The tree of the remote's branch without a path.
fn without(all: &Clones, path: &str) -> String {
    git(all, &["read-tree", "origin/loopx"]).run().ok();
    git(
        all,
        &["rm", "-r", "-q", "--cached", "--ignore-unmatch", path],
    )
    .run()
    .ok();
    git(all, &["write-tree"]).run().line()
}

/// The tree of the remote's branch in which the session has a second folder.
fn copied(all: &Clones) -> String {
    git(all, &["read-tree", "origin/loopx"]).run().ok();
    let from = format!("origin/loopx:sessions/{ID}");
    git(all, &["read-tree", "--prefix=sessions/copy/", &from])
        .run()
        .ok();
    git(all, &["write-tree"]).run().line()
}

/// The tree of the remote's branch with a record of a number that nobody reached.
fn jumped(all: &Clones) -> String {
    let (path, bytes) = renumbered(all, "1152921504606846976");
    put_files(all, &[(&path, &bytes)])
}

/// Runs the command of a refusal's hint that sets the remote's branch back.
fn obey(all: &Clones, at: usize, help: &str, commit: &str) {
    let (_, rest) = help.split_once("git push ").expect("a command");
    let (line, _) = rest.split_once("  (").expect("a command");
    let line = line.replace("COMMIT", commit);
    let args: Vec<&str> = ["push", "--quiet"]
        .into_iter()
        .chain(line.split(' '))
        .collect();
    all.git(at, &args).ok();
}

#[test]
fn a_binding_that_the_remote_lost_is_set_again() {
    for goes_on in [false, true] {
        let all = two();
        all.git(0, &["switch", "--quiet", "-c", "w/work-w"]).ok();
        all.loopx(0, &["start", "Work W"]).ok();
        all.settle();
        fetched(&all);
        send(&all, &without(&all, "branches"));
        if goes_on {
            all.loopx(0, &["-s", "mine", "run", "--", "true"]).ok();
        }
        let synced = all.sync(0);
        if !goes_on {
            synced.says("branches/").says("is missing").ok();
        }
        all.git(0, &["cat-file", "-e", "loopx:branches/w%2Fwork-w/work-w"])
            .ok();
        std::fs::write(all.dir(0).join("code.txt"), "other\n").expect("a file");
        all.git(0, &["add", "code.txt"]).ok();
        all.loopx(0, &["hook", "pre-commit"]).fails_with(1);
        all.loopx(0, &["fsck", "--full"]).says("all whole").ok();
        all.sync(0).says("nothing new").ok();
        let again = all.sync(1);
        assert!(!again.stderr.contains("computed again"), "{again}");
        all.assert_agreed();
    }
}

#[test]
fn a_second_folder_of_one_session_is_refused() {
    for goes_on in [false, true] {
        let all = two();
        if goes_on {
            all.loopx(0, &["-s", "mine", "run", "--", "true"]).ok();
        }
        send(&all, &copied(&all));
        let bad = fetched(&all);
        let tip = all.git(0, &["rev-parse", "loopx"]).line();
        let refused = all.loopx(0, &["--json", "sync"]).fails_with(1);
        let error = refused.error_json()["error"].clone();
        assert_eq!(error["code"], "remote_damaged", "{error:#}");
        refused.says("sessions/copy").says(&bad[..7]);
        assert_eq!(all.git(0, &["rev-parse", "loopx"]).line(), tip);
        all.loopx(0, &["fsck"]).says("all whole").ok();
        obey(&all, 0, error["help"].as_str().expect("a hint"), &bad);
        all.settle();
        all.assert_agreed();
    }
}

#[test]
fn records_that_came_and_went_again_are_refused_and_the_hint_leads_on() {
    for goes_on in [false, true] {
        let all = two();
        let good = fetched(&all);
        send(&all, &jumped(&all));
        fetched(&all);
        all.loopx(0, &["sync"])
            .says("jump")
            .says("--force-with-lease")
            .fails_with(1);
        let tree = git(&all, &["rev-parse", &format!("{good}^{{tree}}")])
            .run()
            .line();
        send(&all, &tree);
        fetched(&all);
        if goes_on {
            all.loopx(0, &["-s", "mine", "run", "--", "true"]).ok();
        }
        let tip = all.git(0, &["rev-parse", "loopx"]).line();
        let refused = all.loopx(0, &["--json", "sync"]).fails_with(1);
        let error = refused.error_json()["error"].clone();
        assert_eq!(error["code"], "remote_damaged", "{error:#}");
        refused.says(ID).says("taken away again");
        assert_eq!(all.git(0, &["rev-parse", "loopx"]).line(), tip);
        all.loopx(0, &["fsck", "--full"]).says("all whole").ok();
        obey(&all, 0, error["help"].as_str().expect("a hint"), "");
        assert_eq!(fetched(&all), good);
        all.settle();
        all.assert_agreed();
    }
}

/// Makes a tree of the branch.
type Make = fn(&Clones) -> String;

#[test]
fn a_new_clone_of_a_damaged_branch_is_told() {
    let makes: [(Make, &str, &str); 4] = [
        (copied, "sessions/copy", "clone again"),
        (jumped, "jump", "clone again"),
        (long_name, "255 bytes", "clone again"),
        (torn, ID, "fsck --repair"),
    ];
    for (make, what, way) in makes {
        let mut all = two();
        send(&all, &make(&all));
        for begin in [&["init"][..], &["sync"]] {
            let at = all.add(begin[0], &[]);
            all.loopx(at, begin)
                .says("is damaged")
                .says(what)
                .says(way)
                .ok();
            all.loopx(at, &["fsck"]).fails_with(1);
        }
        if way == "fsck --repair" {
            all.loopx(2, &["fsck", "--repair"]).ok();
            all.loopx(2, &["fsck"]).says("all whole").ok();
        }
    }
}

fn torn(all: &Clones) -> String {
    let path = format!("sessions/{ID}/ops/00000099-{}.json", "a".repeat(40));
    put_files(all, &[(&path, b"{}\n")])
}

fn long_name(all: &Clones) -> String {
    put_files(all, &[(&format!("journal/{}", "x".repeat(256)), b"x")])
}

#[test]
fn a_name_of_more_than_255_bytes_is_taken_by_nobody() {
    let all = two();
    send(&all, &long_name(&all));
    let refused = all.loopx(0, &["--json", "sync"]).fails_with(1);
    assert_eq!(refused.error_json()["error"]["code"], "tree_name_invalid");
    refused.says("255 bytes");
}

#[test]
fn a_branch_whose_name_is_too_long_for_the_index_is_bound_like_others() {
    let all = two();
    // A capital letter has three bytes in the index.
    let branch = ["A".repeat(70), "B".repeat(70)].join("/");
    all.git(0, &["branch", &branch]).ok();
    all.loopx(0, &["use", "mine", "--branch", &branch]).ok();
    all.loopx(0, &["fsck"]).ok();
    let listed = all
        .git(0, &["ls-tree", "--name-only", "loopx:branches"])
        .ok();
    assert!(listed.lines().all(|name| name.len() <= 255), "{listed}");
    all.git(0, &["switch", "-q", &branch]).ok();
    let status = all.loopx(0, &["--json", "status"]).json();
    assert_eq!(status["session"], "mine");
    all.loopx(0, &["start", "Long", "--branch", &branch])
        .fails_with(1)
        .says(&branch);
    all.sync(0).ok();
    all.sync(1).ok();
    all.loopx(1, &["fsck"]).ok();
    all.assert_agreed();
}
