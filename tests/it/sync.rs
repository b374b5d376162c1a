//! `sync`: clones of one remote that come together (design 8; reference git-stores, sections 5 and 6).

use crate::support::clones::Clones;
use crate::support::store::{ID, READY};
use crate::support::{LOOPX, Output, Sandbox};
use std::collections::BTreeSet;
use std::fs;

/// The numbers of clones in every order.
const ORDERS: [[usize; 3]; 6] = [
    [0, 1, 2],
    [0, 2, 1],
    [1, 0, 2],
    [1, 2, 0],
    [2, 0, 1],
    [2, 1, 0],
];

#[test]
fn what_one_clone_starts_another_goes_on_with() {
    let all = Clones::sharing(2);
    all.loopx(1, &["-s", ID, "status"])
        .says("Auth timeout")
        .ok();
    all.put(1, "spec.md", READY).ok();
    all.sync(1).says("1 commit pushed").ok();
    all.sync(0).says("1 commit taken").ok();
    assert_eq!(all.cat(0, "spec.md"), READY);
    all.assert_agreed();
    all.sync(0).says("nothing new").ok();
}

#[test]
fn two_clones_that_began_apart_share_their_sessions() {
    let all = Clones::apart(2);
    for at in 0..2 {
        all.loopx(at, &["init"]).ok();
        all.loopx(at, &["start", "--no-branch", &format!("change {at}")])
            .ok();
    }
    all.sync(0).ok();
    all.sync(1).says("merged").ok();
    all.sync(0).ok();
    all.assert_agreed();
    all.loopx(0, &["list"])
        .says("change-0")
        .says("change-1")
        .ok();
    let json = all.loopx(0, &["--json", "sync"]).json();
    assert_eq!(
        (&json["met"], &json["pushed"]),
        (&"nothing".into(), &false.into())
    );
}

/// Files belong to the session that they were written for, whichever of two of one name keeps it.
#[test]
fn the_files_of_a_session_follow_it_to_its_new_name() {
    for first in [0, 1] {
        let all = Clones::apart(2);
        for at in [first, 1 - first] {
            all.loopx(at, &["init"]).ok();
            all.loopx(at, &["start", "--no-branch", "Idle timeout"])
                .ok();
        }
        let uid = |at: usize, id: &str| {
            let shown = all.loopx(at, &["-s", id, "--json", "show"]).json();
            shown["state"]["uid"].as_str().expect("a uid").to_owned()
        };
        let own = [uid(0, "idle-timeout"), uid(1, "idle-timeout")];
        for at in 0..2 {
            let text = format!("{READY}\nof clone {at}\n");
            fs::write(all.dir(at).join(".loopx/idle-timeout/spec.md"), text).expect("written");
        }
        all.sync(0).ok();
        all.sync(1).ok();
        all.sync(0).ok();
        for (at, own) in own.iter().enumerate() {
            let listed = fs::read_dir(all.dir(at).join(".loopx")).expect("a folder");
            let names: Vec<String> = listed
                .map(|entry| entry.expect("an entry").file_name())
                .map(|name| name.to_string_lossy().into_owned())
                .collect();
            let edited: Vec<&String> = names
                .iter()
                .filter(|name| {
                    let file = all.dir(at).join(format!(".loopx/{name}/spec.md"));
                    fs::read_to_string(file).is_ok_and(|text| text.contains("of clone"))
                })
                .collect();
            let [name] = edited.as_slice() else {
                panic!("{first} {at}: {names:?}");
            };
            assert_eq!(uid(at, name), *own, "{first} {at}: {names:?}");
            all.loopx(at, &["-s", name, "save"]).ok();
            assert!(
                all.loopx(at, &["-s", name, "cat", "spec.md"])
                    .ok()
                    .contains(&format!("of clone {at}"))
            );
        }
        all.sync(0).ok();
        all.sync(1).ok();
        all.loopx(1, &["fsck", "--full"]).says("all whole").ok();
    }
}

#[test]
fn a_fresh_clone_takes_the_branch_of_its_remote_even_with_one_branch_fetched() {
    let mut all = Clones::sharing(1);
    let single = all.add("single", &["--single-branch"]);
    all.loopx(single, &["init"]).ok();
    assert_eq!(all.tree(single), all.tree(0));
    let other = all.add("other", &[]);
    all.sync(other).says("taken from there").ok();
    all.assert_agreed();
}

/// git leaves a remote-tracking ref where it was, where no refspec of the clone names the branch.
#[test]
fn z12_a_push_moves_the_remote_tracking_ref_in_a_clone_of_one_branch_too() {
    let mut all = Clones::sharing(1);
    for (name, args) in [
        ("single", &["--single-branch"][..]),
        ("shallow", &["--depth=1"]),
        ("bare.git", &["--bare"]),
    ] {
        let at = all.add(name, args);
        all.sync(at).ok();
        all.loopx(at, &["-s", ID, "note", name]).ok();
        all.sync(at).says("pushed").ok();
        let there = all.git(at, &["rev-parse", "refs/remotes/origin/loopx"]);
        assert_eq!(there.line(), all.git(at, &["rev-parse", "loopx"]).line());
        let status = all.loopx(at, &["-s", ID, "status"]).ok();
        assert!(!status.contains("origin/loopx lacks"), "{status}");
    }
}

#[test]
fn texts_that_were_edited_in_different_places_merge() {
    let all = Clones::sharing(2);
    all.put(0, "spec.md", READY).ok();
    all.settle();
    all.put_spec(0, "An idle session ends.", "An idle session ends soon.")
        .ok();
    all.put_spec(1, "- code.txt", "- code.txt\n- more.txt").ok();
    all.sync(0).ok();
    all.sync(1).says("merged").ok();
    all.sync(0).ok();
    all.assert_agreed();
    let spec = all.cat(0, "spec.md");
    assert!(
        spec.contains("ends soon.") && spec.contains("more.txt"),
        "{spec}"
    );
    assert!(
        all.state(0)
            .get("conflicts")
            .is_none_or(|c| c.as_array().is_some_and(Vec::is_empty))
    );
    // What was unedited in the working copy followed.
    let file = fs::read_to_string(all.dir(1).join(format!(".loopx/{ID}/spec.md"))).expect("a file");
    assert_eq!(file, spec);
}

#[test]
fn three_clones_give_one_tree_in_all_orders() {
    let all = Clones::sharing(3);
    all.put(0, "spec.md", READY).ok();
    all.settle();
    all.put_spec(0, "An idle session ends.", "An idle session ends soon.")
        .ok();
    all.put_spec(1, "A test shows it.", "Two tests show it.")
        .ok();
    all.put_spec(2, "An idle session ends.", "Idle sessions are ended.")
        .ok();
    all.loopx(0, &["-s", ID, "clarify"]).ok();
    all.loopx(1, &["-s", ID, "clarify"]).ok();
    all.loopx(1, &["start", "--no-branch", "Other"]).ok();
    all.loopx(2, &["start", "--no-branch", "Other"]).ok();
    all.loopx(2, &["-s", ID, "run", "--", "true"]).ok();
    all.loopx(0, &["use", ID]).ok();
    all.loopx(2, &["use", "other"]).ok();
    let tips: Vec<String> = (0..3)
        .map(|at| all.git(at, &["rev-parse", "loopx"]).line())
        .collect();
    let first = all.s.git_in(all.remote(), &["rev-parse", "loopx"]).line();
    let mut trees = Vec::new();
    for order in ORDERS {
        all.s
            .git_in(all.remote(), &["update-ref", "refs/heads/loopx", &first])
            .ok();
        for (at, tip) in tips.iter().enumerate() {
            all.git(at, &["update-ref", "refs/heads/loopx", tip]).ok();
            // As if this clone had never been further.
            all.git(at, &["update-ref", "-d", "refs/loopx/shadow/loopx"])
                .ok();
            drop(fs::remove_file(all.dir(at).join(".git/loopx/known/loopx")));
        }
        for at in order {
            let out = all.sync(at).says("loopx and origin:");
            assert!(matches!(out.code, Some(0 | 3)), "{out}");
        }
        trees.push(all.tree(order[2]));
    }
    assert!(trees.iter().all(|tree| *tree == trees[0]), "{trees:#?}");
    // Again, and by who is last of the last order: the same tree.
    all.settle();
    all.assert_agreed();
    assert_eq!(all.tree(0), trees[0]);
}

#[test]
fn edge_10_one_stage_left_by_two_people_is_a_conflict_of_that_session_alone() {
    let all = Clones::sharing(2);
    all.loopx(0, &["start", "--no-branch", "Other"]).ok();
    all.put(0, "spec.md", READY).ok();
    all.loopx(0, &["-s", ID, "clarify"]).ok();
    all.loopx(0, &["-s", ID, "approve", "--to", "plan"]).ok();
    all.settle();
    all.loopx(0, &["-s", ID, "plan"]).ok();
    all.loopx(1, &["-s", ID, "plan"]).ok();
    all.sync(0).ok();
    all.sync(1).fails_with(3).says("2 conflicts");
    // Who takes it as it is hears of it too, and once.
    all.sync(0).fails_with(3).says("2 conflicts, open");
    all.sync(0).says("nothing new").ok();
    all.assert_agreed();
    for at in 0..2 {
        let state = all.state(at);
        assert_eq!(state["stage"], "clarify", "nobody won: {state:#}");
        assert_eq!(state["conflicts"].as_array().expect("conflicts").len(), 2);
        let refused = all.loopx(at, &["-v", "-s", ID, "plan"]).fails_with(1);
        refused.says("session_conflict");
        let other = all.loopx(at, &["-s", "other", "--json", "status"]).json();
        assert!(!other["blockers"].to_string().contains("session_conflict"));
    }
}

#[test]
fn edge_10_edit_and_removal_of_one_artifact_keep_the_text_and_ask() {
    let all = Clones::sharing(2);
    all.put(0, "spec.md", READY).ok();
    all.settle();
    all.put_spec(0, "An idle session ends.", "An idle session ends soon.")
        .ok();
    let file = all.dir(1).join(format!(".loopx/{ID}/spec.md"));
    all.loopx(1, &["-s", ID, "checkout"]).ok();
    fs::remove_file(file).expect("a file");
    all.loopx(1, &["-s", ID, "save"]).ok();
    all.sync(0).ok();
    all.sync(1).fails_with(3);
    all.sync(0).fails_with(3).says(ID);
    all.assert_agreed();
    assert!(all.cat(1, "spec.md").contains("ends soon."));
    let join = all.state(0)["joins"]["spec.md"].clone();
    assert_eq!(join["clean"], false, "{join:#}");
    assert_eq!(join["sides"].as_array().expect("sides").len(), 2);
}

#[test]
fn edge_10_an_approval_does_not_survive_an_edit_made_elsewhere() {
    let all = Clones::sharing(2);
    all.put(0, "spec.md", READY).ok();
    all.loopx(0, &["-s", ID, "clarify"]).ok();
    all.settle();
    all.loopx(0, &["-s", ID, "approve", "--to", "plan"]).ok();
    all.put_spec(1, "An idle session ends.", "An idle session never ends.")
        .ok();
    all.sync(0).ok();
    all.sync(1).ok();
    all.sync(0).ok();
    all.assert_agreed();
    for at in 0..2 {
        all.loopx(at, &["-s", ID, "plan"])
            .fails_with(1)
            .says("changed since");
    }
}

#[test]
fn edge_10_clocks_that_are_years_apart_change_nothing() {
    let mut trees = Vec::new();
    for year in ["2001-01-01T00:00:00Z", "2037-01-01T00:00:00Z"] {
        let all = Clones::sharing(2);
        all.put(0, "spec.md", READY).ok();
        all.settle();
        let skewed = |at: usize, text: &str| {
            all.call(at)
                .args(&["-s", ID, "put", "spec.md"])
                .env("GIT_COMMITTER_DATE", year)
                .env("GIT_AUTHOR_DATE", year)
                .stdin(READY.replace("An idle session ends.", text))
                .run()
        };
        skewed(0, "An idle session ends early.").ok();
        all.put_spec(1, "An idle session ends.", "An idle session ends late.")
            .ok();
        all.sync(0).ok();
        all.sync(1).fails_with(3);
        all.sync(0).fails_with(3);
        all.assert_agreed();
        // Neither text won; both stand there.
        let spec = all.cat(0, "spec.md");
        assert!(
            spec.contains("ends early.") && spec.contains("ends late."),
            "{spec}"
        );
        trees.push(all.state(0)["joins"]["spec.md"]["clean"].clone());
    }
    assert_eq!(trees, [false, false]);
}

#[test]
fn edge_10_a_jump_of_the_operation_numbers_is_not_taken_over() {
    let all = Clones::sharing(2);
    let path = format!("sessions/{ID}/state.json");
    let state = all.git(1, &["show", &format!("loopx:{path}")]).ok();
    let jumped = state.replace("\"seq\": 1,", "\"seq\": 9007199254740000,");
    assert_ne!(state, jumped);
    // Two that both changed the session, so that it has to be merged.
    all.put(0, "spec.md", READY).ok();
    let index = all.s.root().join("index");
    let git = |args: &[&str], stdin: &str| {
        let call = all.s.call("git").cwd(all.dir(1)).args(args);
        call.env("GIT_INDEX_FILE", &index).stdin(stdin).run().line()
    };
    git(&["read-tree", "loopx"], "");
    let blob = git(&["hash-object", "-w", "--stdin"], &jumped);
    git(
        &[
            "update-index",
            "--cacheinfo",
            &format!("100644,{blob},{path}"),
        ],
        "",
    );
    let tree = git(&["write-tree"], "");
    let commit = git(&["commit-tree", &tree, "-p", "loopx", "-m", "jump"], "");
    all.git(
        1,
        &[
            "push",
            "--quiet",
            "origin",
            &format!("{commit}:refs/heads/loopx"),
        ],
    )
    .ok();
    let before = all.tree(0);
    all.sync(0).fails_with(1).says("by a jump");
    assert_eq!(all.tree(0), before);
    all.loopx(0, &["-s", ID, "clarify"]).ok();
}

#[test]
fn edge_10_a_session_that_one_archives_and_another_touches_stays_archived_and_says_so() {
    let all = Clones::sharing(2);
    all.put(0, "spec.md", READY).ok();
    all.settle();
    all.loopx(0, &["-s", ID, "abandon", "--reason", "no need"])
        .ok();
    all.put_spec(1, "An idle session ends.", "An idle session ends soon.")
        .ok();
    all.sync(1).ok();
    all.sync(0).fails_with(3);
    all.sync(1).ok();
    all.assert_agreed();
    let state = all.state(1);
    assert_eq!(state["ending"]["how"], "abandoned");
    assert_eq!(state["conflicts"].as_array().expect("conflicts").len(), 1);
}

#[test]
fn two_sessions_of_one_name_keep_apart_and_keep_their_files() {
    let all = Clones::apart(2);
    for at in 0..2 {
        all.loopx(at, &["init"]).ok();
        all.loopx(at, &["start", "Same name", "-m", &format!("wish {at}")])
            .ok();
    }
    all.sync(0).ok();
    let said = all.sync(1).says("two sessions are named same-name").ok();
    drop(said);
    all.sync(0).ok();
    all.assert_agreed();
    let listed = all.loopx(0, &["--json", "list"]).json();
    let mut names: Vec<&str> = listed["sessions"]
        .as_array()
        .expect("sessions")
        .iter()
        .filter_map(|one| one["session"].as_str())
        .collect();
    names.sort_unstable();
    assert_eq!(names.len(), 2, "{names:?}");
    assert!(names[1].starts_with("same-name-"), "{names:?}");
    let intents: Vec<String> = names
        .iter()
        .map(|name| all.loopx(1, &["-s", name, "cat", "intent.md"]).ok())
        .collect();
    assert_ne!(intents[0], intents[1]);
    // The files of this worktree went with the session that they belong to.
    for name in names {
        let file = all.dir(1).join(format!(".loopx/{name}/intent.md"));
        if let Ok(text) = fs::read_to_string(file) {
            assert_eq!(text, all.loopx(1, &["-s", name, "cat", "intent.md"]).ok());
        }
        all.loopx(1, &["-s", name, "save"]).fails_with(5);
    }
}

#[test]
fn another_worktree_keeps_the_files_of_a_renamed_session_until_checkout_moves_them() {
    let all = Clones::apart(2);
    for at in 0..2 {
        all.loopx(at, &["init"]).ok();
        let wish = format!("wish {at}");
        all.loopx(at, &["start", "Same name", "-m", &wish]).ok();
    }
    let beside = all.dir(1).with_file_name("beside");
    let path = beside.to_str().expect("a path");
    all.git(1, &["worktree", "add", "-q", "--detach", path])
        .ok();
    let here = |args: &[&str]| all.call(1).cwd(&beside).args(args).run();
    here(&["-s", "same-name", "checkout"]).ok();
    let intent = beside.join(".loopx/same-name/intent.md");
    let mine = fs::read_to_string(&intent).expect("a file");
    let file = beside.join(".loopx/same-name/spec.md");
    fs::write(&file, READY).expect("a file");
    all.sync(0).ok();
    all.sync(1).says("two sessions are named same-name").ok();
    // The name is another session's now, and none of its commands takes these files.
    let other = here(&["-s", "same-name", "cat", "intent.md"]).ok();
    assert_ne!(other, mine);
    let tree = all.tree(1);
    for refused in [&["save"][..], &["clarify"], &["diff"]] {
        let args = [&["--json", "-s", "same-name"], refused].concat();
        let error = here(&args).fails_with(1).error_json();
        assert_eq!(error["error"]["code"], "working_copy_foreign", "{error:#}");
    }
    assert_eq!(all.tree(1), tree);
    assert_eq!(fs::read_to_string(&file).expect("a file"), READY);
    here(&["-s", "same-name", "checkout"]).ok();
    assert_eq!(fs::read_to_string(&intent).expect("a file"), other);
    let spec = here(&["-s", "same-name", "cat", "spec.md"]).ok();
    assert_eq!(fs::read_to_string(&file).expect("a file"), spec);
    let listed = here(&["--json", "list"]).json();
    let names = listed["sessions"].as_array().expect("sessions").iter();
    let renamed = names
        .filter_map(|one| one["session"].as_str())
        .find(|name| name.starts_with("same-name-"))
        .expect("a renamed session")
        .to_owned();
    here(&["-s", &renamed, "save"]).ok();
    assert_eq!(here(&["-s", &renamed, "cat", "spec.md"]).ok(), READY);
}

#[test]
fn edge_14_what_a_forge_refuses_is_said_with_the_way_on_and_nothing_is_lost() {
    let all = Clones::sharing(1);
    all.put(0, "spec.md", READY).ok();
    for (said, code, words) in [
        (
            "error: GH013: Repository rule violations found for refs/heads/loopx.\n- Cannot update this protected ref.",
            "remote_protects_branch",
            "Cannot update this protected ref.",
        ),
        (
            "error: GH013: Repository rule violations found for refs/heads/loopx.\n- Commits must have verified signatures.",
            "remote_wants_signatures",
            "verified signatures",
        ),
        (
            "error: GH013: Repository rule violations found for refs/heads/loopx.\n- This branch must not contain merge commits.",
            "remote_wants_linear",
            "merge commits",
        ),
        (
            "GitLab: You are not allowed to push code to protected branches on this project.",
            "remote_protects_branch",
            "protected branches",
        ),
        (
            "error: GH001: Large files detected.",
            "remote_limits_size",
            "Large files",
        ),
        (
            "we do not want this",
            "remote_hook_declined",
            "we do not want this",
        ),
    ] {
        all.refuse(said);
        let before = all.git(0, &["rev-parse", "loopx"]).line();
        let error = all.loopx(0, &["--json", "sync"]).fails_with(1).error_json();
        assert_eq!(error["error"]["code"], code, "{error:#}");
        let message = error["error"]["message"].as_str().expect("a message");
        assert!(message.contains(words), "{message}");
        assert!(error["error"]["help"].is_string());
        assert_eq!(all.git(0, &["rev-parse", "loopx"]).line(), before);
    }
    fs::remove_file(all.remote().join("hooks/pre-receive")).expect("a hook");
    all.sync(0).says("pushed").ok();
}

#[test]
fn edge_14_an_empty_remote_is_refused_until_it_has_code() {
    let s = Sandbox::new();
    s.commit_file("code.txt", "code\n", "code").ok();
    s.git(&["init", "--quiet", "--bare", "../remote.git"]).ok();
    s.git(&["remote", "add", "origin", "../remote.git"]).ok();
    s.loopx(&["init"]).ok();
    s.loopx(&["sync"])
        .fails_with(1)
        .says("git push origin HEAD");
    s.git(&["push", "--quiet", "origin", "HEAD"]).ok();
    s.loopx(&["sync"]).says("pushed").ok();
}

#[test]
fn edge_14_a_remote_that_does_not_answer_ends_at_the_limit() {
    let all = Clones::sharing(1);
    all.put(0, "spec.md", READY).ok();
    let hook = all.remote().join("hooks/pre-receive");
    all.s.script(hook, "#!/bin/sh\nexec sleep 30\n");
    all.git(0, &["config", "loopx.syncTimeout", "1"]).ok();
    all.sync(0).fails_with(6).says("no answer within 1s");
}

#[test]
fn edge_14_a_remote_that_is_gone_is_named() {
    let all = Clones::sharing(1);
    fs::rename(all.remote(), all.s.root().join("elsewhere")).expect("move");
    let error = all.loopx(0, &["--json", "sync"]).fails_with(1).error_json();
    assert_eq!(error["error"]["code"], "remote_no_access", "{error:#}");
    // One that nobody answers for may answer later, whatever the transport.
    for url in ["https://127.0.0.1:1/x.git", "git://127.0.0.1:1/x.git"] {
        all.git(0, &["remote", "set-url", "origin", url]).ok();
        let error = all.loopx(0, &["--json", "sync"]).fails_with(6).error_json();
        assert_eq!(error["error"]["code"], "remote_unreachable", "{error:#}");
    }
    all.loopx(0, &["sync", "nowhere"])
        .fails_with(4)
        .says("no remote is named");
}

#[test]
fn linear_mode_makes_no_merge_commit_and_the_same_tree() {
    let all = Clones::sharing(3);
    all.put(0, "spec.md", READY).ok();
    all.settle();
    all.refuse("");
    let hook = all.remote().join("hooks/pre-receive");
    all.s.script(
        hook,
        "#!/bin/sh\nwhile read old new ref; do\n\
         if [ -n \"$(git rev-list --merges $new ^$old)\" ]; then echo 'must not contain merge commits' >&2; exit 1; fi\ndone\n",
    );
    all.put_spec(0, "An idle session ends.", "An idle session ends soon.")
        .ok();
    all.put_spec(1, "A test shows it.", "Two tests show it.")
        .ok();
    all.loopx(1, &["-s", ID, "clarify"]).ok();
    all.sync(0).ok();
    all.git(
        2,
        &[
            "fetch",
            "--quiet",
            all.dir(1).to_str().expect("UTF-8"),
            "loopx",
        ],
    )
    .ok();
    all.sync(1).fails_with(1).says("loopx.sync linear");
    let merged = all.tree(1);
    all.git(1, &["config", "loopx.sync", "linear"]).ok();
    all.sync(1).says("replayed").ok();
    assert_eq!(all.tree(1), merged);
    let merges = all
        .git(1, &["rev-list", "--merges", "--count", "loopx"])
        .line();
    assert_eq!(merges, "0");
    all.sync(0).ok();
    all.sync(2).ok();
    all.assert_agreed();
}

#[test]
fn with_nothing_new_there_is_one_fetch_and_no_push() {
    let all = Clones::sharing(1);
    let log = all.s.root().join("git.log");
    let git = all.s.root().join("bin/git");
    let real = std::env::split_paths(&std::env::var_os("PATH").expect("PATH"))
        .map(|dir| dir.join("git"))
        .find(|path| path.is_file())
        .expect("git");
    all.s.script(
        &git,
        &format!(
            "#!/bin/sh\necho \"$1\" >> {}\nexec {} \"$@\"\n",
            log.display(),
            real.display()
        ),
    );
    all.sync(0).says("nothing new").ok();
    let started = fs::read_to_string(&log).expect("a log");
    let ours: Vec<&str> = started
        .lines()
        .filter(|line| *line != "upload-pack" && !line.starts_with("--"))
        .collect();
    assert_eq!(ours.first(), Some(&"fetch"), "{started}");
    assert!(
        !started.contains("push") && !started.contains("ls-remote"),
        "{started}"
    );
}

#[test]
fn a_plain_fetch_into_the_branch_is_as_good_as_a_sync() {
    let all = Clones::sharing(2);
    for n in 0..5 {
        all.put(0, "spec.md", &READY.replace("ends.", &format!("ends {n}.")))
            .ok();
    }
    all.sync(0).ok();
    all.git(1, &["fetch", "--quiet", "origin", "loopx:loopx"])
        .ok();
    // Reading writes nothing, not even what it found out.
    let before = all.s.snapshot(all.dir(1).join(".git"));
    assert_eq!(all.cat(1, "spec.md"), all.cat(0, "spec.md"));
    for args in [&["list"][..], &["status"], &["log"], &["fsck"], &["doctor"]] {
        all.loopx(1, &[&["-s", ID], args].concat()).ok();
    }
    all.loopx(1, &["hook", "pre-commit"]).ok();
    let mut after = all.s.snapshot(all.dir(1).join(".git"));
    // A list may be kept for the next time.
    after.retain(|(path, ..)| before.iter().any(|(known, ..)| known == path));
    assert!(after == before, "a command that reads wrote");
    all.loopx(1, &["-s", ID, "clarify"]).ok();
    all.sync(1).ok();
    all.sync(0).ok();
    all.assert_agreed();
    // A fetch that would lose something is git's to refuse, and forced it is noticed.
    all.loopx(0, &["-s", ID, "run", "--", "true"]).ok();
    all.loopx(1, &["-s", ID, "run", "--", "false"])
        .fails_with(1);
    all.sync(0).ok();
    all.git(1, &["fetch", "--quiet", "origin", "loopx:loopx"])
        .fails_with(1);
    all.git(1, &["fetch", "--quiet", "origin", "+loopx:loopx"])
        .ok();
    all.loopx(1, &["status"]).fails_with(3).says("--recover");
    all.loopx(1, &["doctor", "--recover"]).ok();
    all.settle();
    all.assert_agreed();
    assert_eq!(all.operations(1).len(), 9);
}

#[test]
fn another_git_that_fetches_at_the_same_time_is_waited_for_and_then_named() {
    let all = Clones::sharing(2);
    all.put(0, "spec.md", READY).ok();
    all.sync(0).ok();
    // The first two fetches find the ref in other hands.
    let path = std::env::var_os("PATH").expect("PATH");
    let real = std::env::split_paths(&path)
        .map(|dir| dir.join("git"))
        .find(|path| path.is_file())
        .expect("git");
    let log = all.s.root().join("fetches");
    all.s.program(
        "git",
        &format!(
            "#!/bin/sh\nif [ \"$1\" = fetch ]; then echo x >> {log}\n\
             if [ $(wc -l < {log}) -lt 3 ]; then\n\
             echo \"error: cannot lock ref 'refs/remotes/origin/loopx': is at 1 but expected 2\" >&2; exit 1; fi; fi\n\
             exec {real} \"$@\"\n",
            log = log.display(),
            real = real.display()
        ),
    );
    all.sync(1).ok();
    assert_eq!(fs::read_to_string(&log).expect("a log").lines().count(), 3);
    fs::remove_file(all.s.root().join("bin/git")).expect("the script");
    all.assert_agreed();
    // And one that never ends.
    all.put(0, "spec.md", "# More\n").ok();
    all.sync(0).ok();
    let lock = all.dir(1).join(".git/refs/remotes/origin/loopx.lock");
    fs::write(&lock, "").expect("a lock");
    let before = all.tree(1);
    all.sync(1)
        .fails_with(6)
        .says("loopx.lock")
        .says("git loopx doctor --fix");
    assert_eq!(all.tree(1), before);
    fs::remove_file(lock).expect("the lock");
    all.sync(1).ok();
    all.assert_agreed();
}

#[test]
fn a_dry_run_moves_no_branch() {
    let all = Clones::sharing(2);
    all.put(0, "spec.md", READY).ok();
    all.sync(0).ok();
    all.put(1, "spec.md", &READY.replace("ends.", "ends soon."))
        .ok();
    let before = (
        all.tree(1),
        all.s.git_in(all.remote(), &["for-each-ref"]).ok(),
    );
    all.loopx(1, &["sync", "-n"])
        .fails_with(3)
        .says("would be pushed");
    assert_eq!(
        (
            all.tree(1),
            all.s.git_in(all.remote(), &["for-each-ref"]).ok()
        ),
        before
    );
    all.loopx(1, &["sync", "--no-push"])
        .fails_with(3)
        .says("not pushed");
    assert_ne!(all.tree(1), before.0);
    assert_eq!(all.s.git_in(all.remote(), &["for-each-ref"]).ok(), before.1);
}

#[test]
fn a_sync_makes_no_clone_shallow_or_partial() {
    let mut all = Clones::sharing(2);
    all.s
        .git_in(all.remote(), &["config", "uploadpack.allowFilter", "true"])
        .ok();
    let shallow = all.add("shallow", &["--depth=1", "--no-single-branch"]);
    let partial = all.add("partial", &["--filter=blob:none"]);
    all.put(0, "spec.md", READY).ok();
    all.sync(0).ok();
    all.sync(1).ok();
    for at in [0, 1] {
        assert!(!all.dir(at).join(".git/shallow").exists());
        assert_eq!(
            all.git(at, &["config", "--get-regexp", "promisor|partial"])
                .code,
            Some(1)
        );
    }
    // A shallow clone steps forward; where it would have to merge without a base it refuses.
    all.loopx(partial, &["sync"]).ok();
    all.loopx(shallow, &["sync"]).ok();
    assert_eq!(all.tree(shallow), all.tree(0));
    all.put_spec(partial, "A test shows it.", "Two tests show it.")
        .ok();
    all.sync(partial).says("pushed").ok();
}

#[test]
fn a_shallow_clone_without_a_common_commit_is_refused() {
    let mut all = Clones::apart(1);
    let shallow = all.add("shallow", &["--depth=1"]);
    all.loopx(0, &["init"]).ok();
    all.loopx(0, &["start", "--no-branch", "One"]).ok();
    // A branch of the other's own, cut off.
    let tip = all.git(0, &["rev-parse", "loopx^{tree}"]).line();
    all.sync(0).ok();
    all.git(
        shallow,
        &["fetch", "--quiet", "--depth=1", "origin", "loopx"],
    )
    .ok();
    let apart = all
        .git(shallow, &["commit-tree", &tip, "-m", "apart"])
        .line();
    all.git(shallow, &["update-ref", "refs/heads/loopx", &apart])
        .ok();
    all.loopx(shallow, &["sync"])
        .fails_with(1)
        .says("--unshallow");
}

#[test]
fn a_death_behind_the_move_to_own_commits_made_again_stops_nobody() {
    let all = Clones::sharing(2);
    all.git(0, &["config", "loopx.sync", "linear"]).ok();
    all.loopx(1, &["-s", ID, "note", "there"]).ok();
    all.sync(1).ok();
    all.loopx(0, &["-s", ID, "note", "here"]).ok();
    let call = all.call(0).args(&["sync"]).durable();
    let out = call.env("LOOPX_FAILPOINT", "branch-moved").run();
    assert_eq!(out.code, None, "{out}");
    all.loopx(0, &["-s", ID, "status"]).ok();
    all.loopx(0, &["-s", ID, "note", "here too"]).ok();
    all.sync(0).says("pushed").ok();
    all.settle();
    all.assert_agreed();
}

#[test]
fn credentials_do_not_leave() {
    let all = Clones::sharing(2);
    // Put together here, so that no tool finds a credential in this file.
    let token = ["gh", "p_q7Zk2mX9vB4nR8tL1wC6yH3jD5gF0sPaEuKi"].concat();
    all.put(
        0,
        "spec.md",
        &READY.replace("A test shows it.", &format!("Use {token}.")),
    )
    .ok();
    let tip = all.s.git_in(all.remote(), &["rev-parse", "loopx"]).line();
    let out = all.loopx(0, &["sync"]).fails_with(1);
    assert!(
        !out.stderr.contains(&token) && !out.stdout.contains(&token),
        "{out}"
    );
    let out = out
        .says("session auth-timeout, spec.md:")
        .says("GitHub token");
    assert_eq!(
        all.s.git_in(all.remote(), &["rev-parse", "loopx"]).line(),
        tip
    );
    // A try says so too.
    all.loopx(0, &["sync", "-n"])
        .fails_with(1)
        .says("GitHub token");
    // In the history it stays, also when the text is mended.
    all.put(0, "spec.md", READY).ok();
    all.loopx(0, &["sync"]).fails_with(1);
    let print = out
        .stderr
        .split("fingerprint ")
        .nth(1)
        .expect("a fingerprint");
    let print: String = print.chars().take(16).collect();
    all.git(0, &["config", "--add", "loopx.allowSecret", &print])
        .ok();
    all.loopx(0, &["sync"])
        .fails_with(2)
        .says("FINGERPRINT REASON");
    all.git(
        0,
        &[
            "config",
            "loopx.allowSecret",
            &format!("{print} an example"),
        ],
    )
    .ok();
    all.sync(0).says("pushed").ok();
    // What is there is not looked at again.
    all.git(0, &["config", "--unset", "loopx.allowSecret"]).ok();
    all.loopx(0, &["-s", ID, "clarify"]).ok();
    all.sync(0).ok();
}

#[test]
fn d14_d23_d24_no_credential_of_a_record_leaves_beside_what_was_let_through_or_what_json_escapes() {
    let all = Clones::sharing(1);
    // Put together here, so that no tool finds a credential in this file.
    let random = "q7Zk2mX9vB4nR8tL1wC6yH3jD5gF0sPaEuKi";
    let token = ["gh", "p_", random].concat();
    let urls = "test db pg://u:fixture1pw@localhost/x prod db pg://root:hunter22pw@prod/x";
    let said = [
        urls.to_owned(),
        format!("client_secret = \"{random}\""),
        format!("{{\"client_secret\": \"{random}\"}}"),
        format!("x\n{token}"),
        format!("token:\t{random}"),
        format!("password:\n  \"{random}\""),
        format!(
            "KEY={}=x client_secret=\"{random}\"",
            ["-----BEGIN ", "EC PRIVATE", " KEY-----"].concat()
        ),
    ];
    let is_known = |out: &Output| {
        let prints = out.stderr.split("(fingerprint ").skip(1);
        let prints = prints.map(|rest| rest.chars().take(16).collect::<String>());
        prints.collect::<BTreeSet<String>>()
    };
    for (at, text) in said.iter().enumerate() {
        all.loopx(0, &["-s", ID, "note", text]).ok();
        let out = all.loopx(0, &["sync"]).fails_with(1);
        let prints = is_known(&out);
        let count = if matches!(at, 0 | 6) { 2 } else { 1 };
        assert_eq!(prints.len(), count, "{out}");
        // One of two is let through, and the other one is not.
        if let (0, Some(print)) = (at, prints.first()) {
            let allow = format!("{print} a fixture");
            all.git(0, &["config", "--add", "loopx.allowSecret", &allow])
                .ok();
            let out = all.loopx(0, &["sync"]).fails_with(1);
            assert_eq!(is_known(&out).len(), 1, "{out}");
            all.git(0, &["config", "--unset", "loopx.allowSecret"]).ok();
        }
        // What is taken out is all of it.
        all.loopx(0, &["redact"]).ok();
        all.loopx(0, &["sync"]).ok();
    }
    all.loopx(0, &["-s", ID, "run", "--", "echo", "--password", random])
        .ok();
    all.loopx(0, &["sync"])
        .fails_with(1)
        .says("secret that was assigned");
    all.loopx(0, &["redact"]).ok();
    all.loopx(0, &["sync"]).ok();
    // What JSON writes between two words makes no credential of them.
    let told = "see http://localhost:8080\n@ada look, the token:\nis one";
    all.loopx(0, &["-s", ID, "note", told]).ok();
    all.loopx(0, &["sync"]).ok();
    for secret in ["fixture1pw", "hunter22pw", random] {
        let found = all.s.git_in(all.remote(), &["grep", "-q", secret, "loopx"]);
        assert_eq!(found.code, Some(1), "{secret} stands on the remote");
    }
}

#[test]
fn what_a_command_printed_is_looked_through_too() {
    let all = Clones::sharing(1);
    let key = ["AKI", "AQ7ZK2MX9VB4NR8TL"].concat();
    all.loopx(
        0,
        &[
            "-s",
            ID,
            "run",
            "--",
            "sh",
            "-c",
            "printf 'a\\nkey AKI'; echo AQ7ZK2MX9VB4NR8TL",
        ],
    )
    .ok();
    let out = all
        .loopx(0, &["sync"])
        .fails_with(1)
        .says("AWS access key")
        .says(".log:2:");
    assert!(!out.stderr.contains(&key), "{out}");
}

/// A credential that no tool finds in this file.
fn token() -> String {
    ["gh", "p_q7Zk2mX9vB4nR8tL1wC6yH3jD5gF0sPaEuKi"].concat()
}

#[test]
fn what_another_tool_or_another_repository_had_is_looked_through_however_large_it_is() {
    // As a file of an imported change: one line, larger than a small scan would take.
    let all = Clones::sharing(1);
    let change = all.dir(0).join("openspec/changes/big-change");
    fs::create_dir_all(change.join("data")).expect("a folder");
    fs::write(change.join("proposal.md"), "## Why\n\nIt is big.\n").expect("a file");
    let mut text = "x ".repeat(3 * 1024 * 1024);
    text.push_str(&token());
    fs::write(change.join("data/dump.txt"), text).expect("a file");
    all.loopx(0, &["import", "openspec", "--no-specs"]).ok();
    let out = all.loopx(0, &["sync"]).fails_with(1).says("GitHub token");
    let out = out.says("session big-change, imported/data/dump.txt:1");
    assert!(!out.stderr.contains(&token()), "{out}");
    // In a session that came as a bundle, in a step of its past that was mended since.
    let other = Clones::sharing(1);
    other
        .put(0, "spec.md", &READY.replace("A test shows it.", &token()))
        .ok();
    other.put(0, "spec.md", READY).ok();
    let file = other.s.root().join("one.bundle");
    let file = file.to_str().expect("UTF-8");
    other.loopx(0, &["export", ID, "-o", file]).ok();
    let fresh = Clones::apart(1);
    fresh.loopx(0, &["init"]).ok();
    fresh.loopx(0, &["import", "bundle", file]).ok();
    let out = fresh.loopx(0, &["sync"]).fails_with(1);
    out.says("GitHub token")
        .says("session auth-timeout, spec.md:");
    let there = fresh
        .s
        .git_in(fresh.remote(), &["for-each-ref", "refs/heads/loopx"]);
    assert_eq!(there.ok(), "");
}

#[test]
fn a_push_takes_the_sessions_along_where_it_is_asked_to_and_never_fails_by_it() {
    let all = Clones::sharing(2);
    all.loopx(0, &["hooks", "install"]).ok();
    all.git(0, &["config", "loopx.syncOnPush", "true"]).ok();
    all.put(0, "spec.md", READY).ok();
    fs::write(all.dir(0).join("x.txt"), "x\n").expect("a file");
    let commit = |n: usize| {
        fs::write(all.dir(0).join("x.txt"), format!("{n}\n")).expect("a file");
        all.git(0, &["add", "x.txt"]).ok();
        all.git(0, &["commit", "--quiet", "-m", "x"]).ok();
    };
    commit(1);
    all.git(0, &["push", "--quiet", "origin", "main"]).ok();
    let there = all
        .s
        .git_in(all.remote(), &["rev-parse", "loopx^{tree}"])
        .line();
    assert_eq!(there, all.tree(0));
    // What goes wrong is one line, and the push goes on.
    all.loopx(0, &["-s", ID, "clarify"]).ok();
    all.refuse("error: GH013: Repository rule violations found for refs/heads/loopx.");
    commit(2);
    let out = all.git(0, &["push", "--quiet", "origin", "main"]);
    let lines = out
        .stderr
        .lines()
        .filter(|line| line.contains("did not sync"))
        .count();
    assert_eq!(lines, 1, "{out}");
    out.ok();
    // And what hangs is left.
    let hook = all.remote().join("hooks/pre-receive");
    all.s.script(
        hook,
        "#!/bin/sh\nread old new ref\ncase $ref in */loopx) exec sleep 30;; esac\n",
    );
    all.git(0, &["config", "loopx.syncOnPushTimeout", "1"]).ok();
    commit(3);
    all.git(0, &["push", "--quiet", "origin", "main"])
        .says("no answer within 1s")
        .ok();
}

#[test]
fn which_remote_is_meant() {
    let s = Sandbox::new();
    s.commit_file("code.txt", "code\n", "code").ok();
    s.loopx(&["init"]).ok();
    s.loopx(&["sync"])
        .fails_with(4)
        .says("git remote add origin");
    for name in ["one", "two"] {
        s.git(&["clone", "--quiet", "--bare", ".", &format!("../{name}.git")])
            .ok();
        s.git(&["remote", "add", name, &format!("../{name}.git")])
            .ok();
    }
    s.loopx(&["sync"]).fails_with(2).says("loopx.remote one");
    s.git(&["config", "loopx.remote", "two"]).ok();
    s.loopx(&["sync"]).says("loopx and two").ok();
    s.git(&["config", "branch.main.remote", "one"]).ok();
    s.git(&["config", "--unset", "loopx.remote"]).ok();
    s.loopx(&["sync"]).says("loopx and one").ok();
    s.call(LOOPX)
        .args(&["sync", "onne"])
        .run()
        .fails_with(4)
        .says("git loopx sync one");
}

#[test]
fn a_branch_that_was_set_back_here_is_neither_synced_nor_tried() {
    let all = Clones::sharing(1);
    all.loopx(0, &["-s", ID, "run", "--", "true"]).ok();
    let tip = all.git(0, &["rev-parse", "loopx"]).line();
    all.git(
        0,
        &[
            "update-ref",
            "refs/heads/loopx",
            "refs/remotes/origin/loopx",
        ],
    )
    .ok();
    for args in [&["sync"][..], &["sync", "-n"], &["sync", "--no-fetch"]] {
        all.loopx(0, args).fails_with(3).says("was set back");
    }
    all.loopx(0, &["doctor", "--recover"]).ok();
    all.sync(0).says("pushed").ok();
    let there = all.s.git_in(all.remote(), &["rev-parse", "loopx"]).line();
    all.git(0, &["merge-base", "--is-ancestor", &tip, &there])
        .ok();
}

#[test]
fn a_remote_whose_branch_was_replaced_by_code_is_set_right_by_the_command_that_is_named() {
    let all = Clones::sharing(1);
    let ours = all.git(0, &["rev-parse", "loopx"]).line();
    all.s
        .git_in(all.remote(), &["update-ref", "refs/heads/loopx", "main"])
        .ok();
    let out = all.loopx(0, &["--json", "sync"]);
    assert_eq!(out.code, Some(1), "{out}");
    let error = out.error_json();
    assert_eq!(error["error"]["code"], "branch_foreign");
    let hint = error["error"]["help"].as_str().expect("a hint");
    let before = &ours[..10];
    let set_back = format!("git push --force-with-lease origin {before}:refs/heads/loopx");
    assert!(hint.starts_with(&set_back), "{hint}");
    let words: Vec<&str> = set_back.split(' ').skip(1).collect();
    all.git(0, &words).ok();
    all.sync(0).ok();
    let theirs = all.s.git_in(all.remote(), &["rev-parse", "loopx"]).line();
    assert_eq!(theirs, ours);
}

#[test]
fn a_branch_of_a_remote_that_was_never_ours_is_not_to_be_overwritten() {
    let all = Clones::sharing(1);
    all.s
        .git_in(all.remote(), &["branch", "theirs", "main"])
        .ok();
    all.git(0, &["branch", "-m", "loopx", "theirs"]).ok();
    all.git(0, &["config", "loopx.branch", "theirs"]).ok();
    let out = all.loopx(0, &["--json", "sync"]);
    let error = out.error_json();
    assert_eq!(error["error"]["code"], "branch_foreign");
    assert_eq!(
        error["error"]["help"],
        "git config loopx.branch loopx-sessions"
    );
}

#[test]
fn a_remote_that_was_set_back_or_deleted_is_named_before_it_is_pushed_again() {
    let all = Clones::sharing(1);
    let first = all.git(0, &["rev-parse", "loopx"]).line();
    all.loopx(0, &["-s", ID, "run", "--", "true"]).ok();
    all.sync(0).ok();
    let second = all.git(0, &["rev-parse", "loopx"]).line();
    all.s
        .git_in(all.remote(), &["update-ref", "refs/heads/loopx", &first])
        .ok();
    all.sync(0)
        .says(&format!("was {}, now {}", &second[..10], &first[..10]))
        .says("pushed again")
        .ok();
    all.s
        .git_in(all.remote(), &["update-ref", "-d", "refs/heads/loopx"])
        .ok();
    all.loopx(0, &["sync", "-n"]).says("it was deleted").ok();
    let json = all.loopx(0, &["--json", "sync"]).json();
    assert_eq!(json["set_back"]["had"], second.as_str(), "{json:#}");
    all.sync(0).says("nothing new").ok();
    all.assert_agreed();
}
