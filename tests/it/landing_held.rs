//! Index and files that a landing makes before its branch moves, and their way to their places: the lock of the index comes
//! first and goes last, so that no commit in between takes the landing back, and no git at work in between starves it.

use crate::support::archive::{DEMO_PATH, ID, Yard, adds, shortened};
use crate::support::{LOOPX, Output, Sandbox};
use std::fs;
use std::path::{Path, PathBuf};

/// Archives while a place fails as a disk does, or the process dies there.
fn archiving(y: &Yard, place: &str) -> Output {
    let call = y.call(LOOPX).args(&["archive"]);
    call.durable().env("LOOPX_FAILPOINT", place).run()
}

fn lock(y: &Yard) -> PathBuf {
    y.path().join(".git/index.lock")
}

/// Names of what was made for a landing and is not in its place.
fn made(s: &Sandbox) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![s.path().to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.path().is_dir() && name != ".loopx" {
                folders.push(entry.path());
            } else if name.starts_with(".loopx-") {
                found.push(entry.path());
            }
        }
    }
    found
}

#[test]
fn w2_where_a_file_cannot_get_its_place_no_commit_takes_the_landing_back() {
    for next in [&["doctor", "--fix"][..], &["start", "--no-branch", "other"]] {
        let y = Yard::ready();
        let before = y.read(DEMO_PATH);
        let out = archiving(&y, "error:worktree-placed:1+");
        assert_eq!(out.code, Some(0), "{out}");
        for word in ["index.lock lets no git commit", "git loopx doctor --fix"] {
            assert!(out.stderr.contains(word), "{out}");
        }
        assert_eq!(y.read(DEMO_PATH), before);
        y.write("src/app.txt", "more\n");
        let commit = ["commit", "--quiet", "-a", "-m", "next"];
        y.git(&commit).says("index.lock").fails_with(128);
        // The disk fails once more.
        let fix = y.call(LOOPX).args(&["doctor", "--fix"]).durable();
        let out = fix.env("LOOPX_FAILPOINT", "error:worktree-placed:1+").run();
        assert!(lock(&y).exists(), "{out}");
        // No room for anything new is needed.
        let call = y.call(LOOPX).args(next).durable();
        call.env("LOOPX_FAILPOINT", "error:worktree-written:1+")
            .run()
            .ok();
        assert!(!lock(&y).exists());
        assert_eq!(y.read(DEMO_PATH), shortened());
        y.git(&commit).ok();
        assert_eq!(y.at(ID, DEMO_PATH), shortened());
        assert_eq!(made(&y), Vec::<PathBuf>::new());
        y.archived_once(ID, ID);
    }
}

#[test]
fn w7_an_index_that_changes_all_the_time_starves_no_landing() {
    let y = Yard::ready();
    let target = y.root().join("target");
    y.git(&["worktree", "add", "--quiet", "../target", "main"])
        .ok();
    let script = "while [ ! -e ../stop ]; do echo x >r; git add r; git rm -qf --cached r; done";
    let busy = y.call("sh").args(&["-c", script]).cwd(&target);
    let mut busy = busy.command().spawn().expect("a shell");
    let out = y.archive(ID, &["--onto", "main"]);
    y.write("../stop", "");
    busy.wait().expect("an end");
    out.ok();
    assert_eq!(y.read(target.join(DEMO_PATH)), shortened());
    let diff = ["diff", "--quiet", "HEAD", "--", DEMO_PATH];
    y.git_in(&target, &diff).ok();
    y.archived_once("main", ID);
}

/// Has git run words while it writes the new spec beside its place.
fn while_it_is_made(y: &Yard, words: &str) {
    y.write(".git/info/attributes", "specs/** filter=busy\n");
    y.git(&["config", "filter.busy.clean", "cat"]).ok();
    let smudge = format!("{words}; cat");
    y.git(&["config", "filter.busy.smudge", &smudge]).ok();
}

#[test]
fn w14_a_file_whose_times_alone_changed_follows_and_an_edit_stays_and_is_named() {
    let y = Yard::ready();
    while_it_is_made(&y, &format!("chmod g-w {DEMO_PATH}; touch {DEMO_PATH}"));
    let out = archiving(&y, "none");
    assert!(!out.stderr.contains("warning"), "{out}");
    assert_eq!(y.read(DEMO_PATH), shortened());
    y.archived_once(ID, ID);
    y.clean();
    let y = Yard::ready();
    while_it_is_made(&y, &format!("echo mine >>{DEMO_PATH}"));
    let out = archiving(&y, "none");
    assert_eq!(out.code, Some(0), "{out}");
    let said = "somebody changed it meanwhile";
    assert!(
        out.stderr.contains(said) && out.stderr.contains(DEMO_PATH),
        "{out}"
    );
    assert!(y.read(DEMO_PATH).ends_with("mine\n"));
    assert!(!lock(&y).exists());
    assert_eq!(made(&y), Vec::<PathBuf>::new());
    y.archived_once(ID, ID);
}

#[test]
fn w16_folders_of_a_landing_that_is_put_back_go_again() {
    let new = format!(
        "# Domain: fresh/one\n\n## Purpose\nSays what is fresh and how people notice it at once.\n{}",
        adds("Fresh").trim_start_matches("# Domain: demo\n")
    );
    for place in ["index-filled", "file-made", "target-prepared"] {
        let y = Yard::new();
        y.done("fresh", &new);
        let out = archiving(&y, place);
        assert_eq!(out.code, None, "{place}\n{out}");
        y.loopx(&["start", "--no-branch", "other"]).ok();
        assert!(!y.exists("specs/fresh"), "{place}");
        assert_eq!(made(&y), Vec::<PathBuf>::new(), "{place}");
        y.archive("fresh", &[]).ok();
        y.clean();
        assert!(y.exists("specs/fresh/one/spec.md"));
    }
}

#[test]
fn w7_a_lock_that_a_killed_landing_had_not_written_whole_is_known_as_its_own() {
    let y = Yard::ready();
    let out = archiving(&y, "index-held");
    assert_eq!(out.code, None, "{out}");
    let note = fs::read(lock(&y)).expect("the lock");
    // As a copy leaves it on a file system without hard links.
    fs::remove_file(lock(&y)).expect("the lock");
    fs::write(lock(&y), &note[..10]).expect("a part");
    y.loopx(&["start", "--no-branch", "other"]).ok();
    assert!(!lock(&y).exists());
    y.archive(ID, &[]).ok();
    y.archived_once(ID, ID);
    let y = Yard::ready();
    let out = archiving(&y, "error:lock-linked:1+");
    assert_eq!(out.code, Some(0), "{out}");
    assert_eq!(y.read(DEMO_PATH), shortened());
    y.archived_once(ID, ID);
    y.clean();
}

#[test]
fn what_was_made_for_a_landing_that_nobody_knows_any_more_is_left_over_and_goes() {
    let y = Yard::ready();
    let out = archiving(&y, "target-prepared");
    assert_eq!(out.code, None, "{out}");
    for entry in y.journal() {
        fs::remove_file(entry).expect("removed");
    }
    let ago = std::time::SystemTime::now() - std::time::Duration::from_secs(7_200);
    let mut all = made(&y);
    assert!(all.len() >= 3, "{all:?}");
    all.push(lock(&y));
    for file in &all {
        let file = fs::File::options().write(true).open(file);
        file.and_then(|file| file.set_modified(ago)).expect("older");
    }
    y.loopx(&["doctor", "--fix"])
        .says("removed index.lock")
        .ok();
    assert_eq!(made(&y), Vec::<PathBuf>::new());
    assert!(!lock(&y).exists());
    y.archive(ID, &[]).ok();
    y.clean();
}

#[test]
fn w6_a_landing_follows_in_a_worktree_whose_git_dir_is_named_elsewhere() {
    for by_setting in [false, true] {
        let y = Yard::ready();
        let (own, aside) = (y.path().join(".git"), y.root().join("aside.git"));
        fs::rename(&own, &aside).expect("moved");
        let git_dir = |call: crate::support::Call<'_>| call.env("GIT_DIR", &aside).run();
        let call = y.call(LOOPX).args(&["archive"]);
        let out = if by_setting {
            let top = y.path().to_str().expect("UTF-8").to_owned();
            git_dir(y.call("git").args(&["config", "core.worktree", &top])).ok();
            git_dir(call)
        } else {
            git_dir(call.env("GIT_WORK_TREE", y.path()))
        };
        assert_eq!(
            (out.code, out.stderr.contains("warning")),
            (Some(0), false),
            "{out}"
        );
        assert_eq!(y.read(DEMO_PATH), shortened());
        assert!(!Path::new(&aside).join("index.lock").exists());
        if by_setting {
            git_dir(y.call("git").args(&["config", "--unset", "core.worktree"])).ok();
        }
        fs::rename(&aside, &own).expect("moved back");
        y.archived_once(ID, ID);
        y.clean();
    }
}
