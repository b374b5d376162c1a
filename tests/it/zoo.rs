//! Awkward repositories: every one works, or is refused in one sentence before a byte is written
//! (reference git-stores, section 6, 6 to 15).

use crate::support::store::{ID, assert_whole, begin, linked, started, tip};
use crate::support::{Call, LOOPX, Output, Sandbox};
use std::path::Path;

/// A change goes its first steps from this folder.
#[track_caller]
fn works_in(s: &Sandbox, dir: &Path) {
    s.loopx_in(dir, &["init"]).ok();
    s.loopx_in(dir, &["start", "Auth timeout"]).ok();
    s.loopx_in(dir, &["-s", ID, "run", "--", "true"]).ok();
    s.loopx_in(dir, &["-s", ID, "clarify"]).fails_with(1);
    s.loopx_in(dir, &["-s", ID, "status"])
        .says("auth-timeout  ")
        .ok();
    s.loopx_in(dir, &["list"]).says(ID).ok();
    s.loopx_in(dir, &["fsck"]).says("all whole").ok();
}

/// A refusal: this exit code, one paragraph and a hint on stderr, nothing on stdout.
#[track_caller]
fn refused(out: Output, code: i32, says: &str) {
    let out = out.fails_with(code).says(says);
    assert_eq!(out.stdout, "", "{out}");
    let paragraphs: Vec<&str> = out.stderr.trim().split("\n\n").collect();
    assert!(paragraphs.len() <= 2, "{out}");
    assert!(!out.stderr.contains("internal error"), "{out}");
}

#[test]
fn a_repository_without_a_commit() {
    let s = Sandbox::new();
    works_in(&s, s.path());
    assert_whole(&s);
}

#[test]
fn a_detached_head_has_no_branch_to_bind() {
    let s = Sandbox::new();
    s.commit_file("code.txt", "code\n", "code").ok();
    s.git(&["switch", "--quiet", "--detach"]).ok();
    works_in(&s, s.path());
    refused(s.loopx(&["use", ID]), 2, &format!("git switch -c {ID}"));
    s.loopx(&["use", ID, "--branch", "main"]).ok();
}

#[test]
fn paths_with_spaces_and_other_letters_and_subdirectories() {
    let s = Sandbox::named("a ü 路");
    s.write("süb dir/x/y.txt", "y");
    works_in(&s, &s.path().join("süb dir/x"));
    assert!(
        s.exists(".loopx/auth-timeout/spec.md"),
        "the working copy is at the top"
    );
    let out = s.loopx_in("süb dir", &["run", "--", "cat", "x/y.txt"]);
    out.says("passed").ok();
    s.git_in("süb dir", &["loopx", "status"])
        .says("auth-timeout  ")
        .ok();
}

#[test]
fn without_an_identity_gits_own_advice_and_nothing_written() {
    let s = started();
    let before = s.snapshot(".");
    for only in ["true", "false"] {
        s.git(&["config", "user.useConfigOnly", only]).ok();
        let before = s.snapshot(".");
        for args in [
            &["init"][..],
            &["start", "x"],
            &["clarify"],
            &["run", "--", "false"],
            &["undo"],
        ] {
            let mut call = s.call(LOOPX).args(args);
            for role in ["AUTHOR", "COMMITTER"] {
                for part in ["NAME", "EMAIL"] {
                    call = call.without_env(format!("GIT_{role}_{part}"));
                }
            }
            refused(call.run(), 1, "git config --global user.name");
        }
        assert_eq!(s.snapshot("."), before);
    }
    s.git(&["config", "--unset", "user.useConfigOnly"]).ok();
    assert_eq!(before.len(), s.snapshot(".").len());
}

#[test]
fn a_record_names_the_author_that_git_would_name() {
    let s = started();
    let by = |s: &Sandbox, text: &str| {
        let mut call = s.call(LOOPX).args(&["note", text]);
        for role in ["AUTHOR", "COMMITTER"] {
            for part in ["NAME", "EMAIL"] {
                call = call.without_env(format!("GIT_{role}_{part}"));
            }
        }
        call.run().ok();
        s.git(&["log", "-1", "--format=%an <%ae>, %cn <%ce>", "loopx"])
            .ok()
    };
    let set = |key: &str, value: &str| {
        s.git(&["config", key, value]).ok();
    };
    set("user.name", "Ada");
    set("user.email", "ada@example.com");
    let same = "Ada <ada@example.com>, Ada <ada@example.com>\n";
    assert_eq!(by(&s, "one"), same);
    set("author.name", "Alias");
    set("committer.email", "desk@example.com");
    let apart = "Alias <ada@example.com>, Ada <desk@example.com>\n";
    assert_eq!(by(&s, "two"), apart);
}

#[test]
fn a_bare_repository_reads_and_refuses_what_needs_a_worktree() {
    let s = Sandbox::empty("bare");
    s.git(&["init", "--quiet", "--bare"]).ok();
    s.loopx(&["init"]).ok();
    s.loopx(&["start", "Auth timeout"]).ok();
    for args in [
        &["status"][..],
        &["list"],
        &["log"],
        &["show"],
        &["cat", "spec.md"],
        &["diff"],
        &["fsck"],
    ] {
        s.loopx(args).ok();
    }
    s.loopx(&["clarify"]).fails_with(1).says("not clear enough");
    for args in [
        &["checkout"][..],
        &["edit", "spec.md"],
        &["put", "spec.md", "HEAD"],
        &["run", "--", "true"],
    ] {
        refused(s.loopx(args), 2, "git worktree add");
    }
    refused(s.loopx(&["save"]), 5, "no edits");
    s.loopx(&["undo"]).ok();
    s.loopx(&["abandon"]).ok();
}

#[test]
fn the_environment_names_repository_worktree_and_index() {
    let s = Sandbox::new();
    begin(&s);
    s.write("../work/code.txt", "code\n");
    s.write("../none/x", "");
    let root = s.root();
    let with = |program: &str, args: &[&str], cwd: &str, git_dir: &str, work: &str| {
        let call: Call<'_> = s.call(program).cwd(root.join(cwd));
        let args: Vec<&str> = match program {
            "git" => [&["loopx"], args].concat(),
            _ => args.to_vec(),
        };
        call.args(&args)
            .env("GIT_DIR", git_dir)
            .env("GIT_WORK_TREE", work)
            .env("GIT_INDEX_FILE", root.join("index"))
            .run()
    };
    let absolute = root.join("repo/.git");
    let absolute = absolute.to_str().expect("UTF-8");
    let work = root.join("work");
    let work = work.to_str().expect("UTF-8");
    // Relative names count from the current folder, as git has it.
    for (cwd, git_dir, work) in [
        ("none", absolute, work),
        ("none", "../repo/.git", "../work"),
        ("repo", ".git", "../work"),
        ("work", "../repo/.git", "."),
    ] {
        for program in ["git", LOOPX] {
            with(program, &["checkout"], cwd, git_dir, work).ok();
            with(program, &["run", "--", "true"], cwd, git_dir, work).ok();
            assert!(s.exists("../work/.loopx/auth-timeout/spec.md"));
            std::fs::remove_dir_all(root.join("work/.loopx")).expect("the working copy");
        }
    }
    assert!(!s.exists("../none/.loopx"));
    assert_whole(&s);
}

#[test]
fn a_separate_git_dir_a_linked_worktree_and_a_submodule() {
    let s = Sandbox::empty("repo");
    s.git(&["init", "--quiet", "--separate-git-dir", "../git dir"])
        .ok();
    works_in(&s, s.path());
    let s = started();
    let other = linked(&s, "other");
    s.loopx_in(&other, &["start", "second"]).ok();
    assert!(other.join(".loopx/second/spec.md").exists());
    assert!(!s.exists(".loopx/second"));
    s.loopx_in(&other, &["status"]).says("second  ").ok();
    s.loopx(&["status"]).says("auth-timeout  ").ok();
    // A submodule has a store of its own.
    let top = Sandbox::new();
    let source = s.path().to_str().expect("UTF-8");
    top.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        source,
        "mod",
    ])
    .ok();
    top.loopx_in("mod", &["init"]).ok();
    top.loopx_in("mod", &["list"]).says(ID).ok();
    top.loopx(&["list"]).fails_with(4);
}

#[test]
fn a_clone_takes_the_branch_of_its_origin() {
    let s = started();
    let source = format!("file://{}", s.path().display());
    for args in [
        &["--depth", "1", "--no-single-branch"][..],
        &[],
        &["--shared"],
    ] {
        let shared = args.contains(&"--shared");
        let from = if shared {
            s.path().to_str().expect("UTF-8")
        } else {
            &source
        };
        s.git_in(
            "..",
            &[&["clone", "--quiet"], args, &[from, "clone"]].concat(),
        )
        .ok();
        let clone = s.root().join("clone");
        refused(
            s.loopx_in(&clone, &["status"]),
            4,
            "refs/remotes/origin/loopx",
        );
        s.loopx_in(&clone, &["init"]).ok();
        assert_eq!(s.git_in(&clone, &["rev-parse", "loopx"]).line(), tip(&s));
        s.loopx_in(&clone, &["run", "--", "true"]).ok();
        s.loopx_in(&clone, &["fsck"]).says("all whole").ok();
        s.git_in(&clone, &["fsck", "--full"]).ok();
        std::fs::remove_dir_all(clone).expect("a folder");
    }
}

#[test]
fn the_branch_checked_out_anywhere_is_refused() {
    let s = started();
    let before = tip(&s);
    let path = s.root().join("on loopx");
    s.git(&[
        "worktree",
        "add",
        "--quiet",
        path.to_str().expect("UTF-8"),
        "loopx",
    ])
    .ok();
    for args in [
        &["clarify"][..],
        &["start", "--no-branch", "x"],
        &["init"],
        &["undo"],
    ] {
        refused(s.loopx(args), 1, "on loopx");
    }
    s.loopx(&["status"]).ok();
    s.git(&["worktree", "remove", path.to_str().expect("UTF-8")])
        .ok();
    s.git(&["switch", "--quiet", "loopx"]).ok();
    refused(s.loopx(&["-s", ID, "clarify"]), 1, "checked out in");
    assert_eq!(tip(&s), before);
}

#[test]
fn a_branch_name_that_git_has_no_room_for_is_refused() {
    let s = Sandbox::new();
    s.commit_file("code.txt", "code\n", "code").ok();
    s.git(&["branch", "loopx/x"]).ok();
    refused(s.loopx(&["init"]), 1, "refs/heads/loopx/x");
    s.git(&["config", "loopx.branch", "main/sessions"]).ok();
    refused(s.loopx(&["init"]), 1, "refs/heads/main");
    s.git(&["config", "loopx.branch", "a..b"]).ok();
    refused(s.loopx(&["init"]), 2, "a..b");
    s.git(&["config", "loopx.branch", "work/flow"]).ok();
    works_in(&s, s.path());
    assert_eq!(s.git(&["rev-list", "--count", "work/flow"]).line(), "5");
}

#[test]
fn sha256_ids_are_64_digits_everywhere() {
    let s = Sandbox::empty("repo");
    s.git(&["init", "--quiet", "--object-format=sha256"]).ok();
    s.commit_file("code.txt", "code\n", "code").ok();
    works_in(&s, s.path());
    assert_whole(&s);
    let ids: Vec<String> = crate::support::store::operations(&s, ID)
        .iter()
        .filter_map(|op| Some(op["body"]["evidence"]["tree"].as_str()?.to_owned()))
        .collect();
    assert!(
        !ids.is_empty() && ids.iter().all(|id| id.len() == 64),
        "{ids:?}"
    );
    s.write("new.txt", "new\n");
    s.git(&["add", "new.txt"]).ok();
    let hook = s.loopx(&["hook", "pre-commit"]).fails_with(1);
    hook.says("takes no code");
    // What is pushed for the first time comes with a zero id of 64 digits.
    let head = s.git(&["rev-parse", "HEAD"]).line();
    let line = format!(
        "refs/heads/main {head} refs/heads/main {}\n",
        "0".repeat(64)
    );
    let push = s.call(LOOPX).args(&["hook", "pre-push", "origin", "url"]);
    let push = push.stdin(line).run();
    assert!(!push.stderr.contains("did not check"), "{push}");
}

/// libgit2 would write an id of 64 digits where one of 40 has room.
#[test]
fn an_id_of_the_other_format_names_nothing_and_breaks_nothing() {
    for (format, digits) in [("sha1", 64), ("sha256", 40)] {
        let s = Sandbox::empty("repo");
        let option = format!("--object-format={format}");
        s.git(&["init", "--quiet", &option]).ok();
        begin(&s);
        let id = "1".repeat(digits);
        let start = ["start", "Other", "--no-branch", "--base", &id];
        refused(s.loopx(&start), 4, "names no commit");
        let range = format!("{id}..HEAD");
        refused(s.loopx(&["verify", &range]), 4, "names no commit");
        let message = format!("claims\n\nLoopx-Session: {ID}\nLoopx-State: {id}\n");
        s.commit_file("specs/x.md", "x\n", &message).ok();
        s.loopx(&["verify", "HEAD~1..HEAD"]).fails_with(1);
        let line = format!("refs/heads/main {id} refs/heads/main {id}\n");
        let push = s.call(LOOPX).args(&["hook", "pre-push", "origin", "url"]);
        push.stdin(line).run().ok();
    }
}

#[test]
fn outside_a_repository_the_error_says_so() {
    let s = Sandbox::empty("folder");
    for args in [&["init"][..], &["status"], &["start", "x"]] {
        refused(s.loopx(args), 4, "git init");
    }
}

#[test]
fn a_git_dir_that_cannot_be_written_is_named() {
    let s = Sandbox::new();
    // A file where the folder should be: refused to root as well.
    s.write(".git/loopx", "");
    let out = s.loopx(&["init"]).fails_with(1);
    out.says(".git/loopx");
    assert_eq!(s.git(&["for-each-ref"]).ok(), "");
}

#[test]
fn commits_carry_gits_identities_dates_and_trailers() {
    let s = started();
    crate::support::store::plan_approved(&s);
    s.call(LOOPX)
        .args(&["run", "--", "true"])
        .env("GIT_AUTHOR_NAME", "Änne")
        .env("GIT_AUTHOR_EMAIL", "anne@example.org")
        .env("GIT_AUTHOR_DATE", "1800000000 +0230")
        .env("GIT_COMMITTER_DATE", "1800000001 -0700")
        .run()
        .ok();
    let format = "--format=%an|%ae|%ad|%cn|%cd|%s";
    assert_eq!(
        s.git(&["log", "-1", "--date=raw", format, "loopx"]).line(),
        "Änne|anne@example.org|1800000000 +0230|Carl Committer|1800000001 -0700|\
         auth-timeout: run `true`: passes"
    );
    let trailers = |key: &str| {
        let format = format!("--format=%(trailers:key={key},valueonly,separator=%x2C)");
        let all = s.git(&["log", "--reverse", &format, "loopx"]).ok();
        all.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let all = trailers("Loopx-Event");
    assert_eq!(
        all[1..],
        ["init", "start", "save", "clarify", "approve", "evidence"].map(String::from)[..]
    );
    assert_eq!(trailers("Loopx-Transition")[5], "clarify->plan");
    assert_eq!(trailers("Loopx-Stage")[5], "clarify");
    let content = &trailers("Loopx-Content")[5];
    assert_eq!(s.git(&["cat-file", "-t", content]).line(), "tree");
}

#[test]
fn the_root_commit_is_the_same_in_every_repository() {
    let roots = [(); 2].map(|()| {
        let s = started();
        s.git(&["rev-list", "--max-parents=0", "loopx"]).line()
    });
    assert_eq!(roots[0], roots[1]);
}
