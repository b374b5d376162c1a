//! Verdicts of the hooks, let pass or refused, with the real git: stages and scope, the roads of a commit (reference
//! hooks-and-gates, 1.3 and section 8), and the trailers.

use crate::support::session::{advance, at, commit, start, started, started_in, tip, trailer};
use crate::support::{LOOPX, Sandbox};

/// Runs git with an editor that replaces the first line of what it is given.
fn edit(s: &Sandbox, args: &[&str], sed: &str) -> crate::support::Output {
    s.call("git")
        .args(args)
        .env("GIT_EDITOR", format!("sed -i '{sed}'"))
        .run()
}

#[test]
fn each_stage_refuses_code_but_build_and_takes_documents() {
    let s = started("");
    for stage in ["clarify", "plan", "build", "review", "done"] {
        if stage != "clarify" {
            let before = ["clarify", "plan", "build", "review"];
            let after = ["plan", "build", "review", "done"];
            let at = after.iter().position(|s| *s == stage).expect("a stage");
            advance(&s, before[at], stage, "");
        }
        let out = commit(&s, &format!("src/{stage}.rs"), "code");
        if stage == "build" {
            out.ok();
        } else {
            let out = out
                .fails_with(1)
                .says("takes no code")
                .says(&format!("`src/{stage}.rs`"))
                .says(&format!("stage {stage} takes no code"))
                .says("git loopx ")
                .says("--no-verify");
            assert_eq!(out.stdout, "", "{out}");
            s.git(&["rm", "--quiet", "--force", &format!("src/{stage}.rs")])
                .ok();
        }
        commit(&s, &format!("docs/{stage}"), "a document").ok();
        assert_eq!(trailer(&s, "Loopx-Session"), "demo");
        assert_eq!(trailer(&s, "Loopx-State"), tip(&s));
    }
}

#[test]
fn scope_warns_or_refuses_as_policy_says() {
    let s = at("build", "\"src/**\"", "");
    let out = commit(&s, "src/a.rs", "inside");
    assert_eq!(out.stderr, "", "{out}");
    out.ok();
    let out = commit(&s, "lib/a.rs", "outside");
    assert_eq!(out.stderr.matches("outside the scope").count(), 1, "{out}");
    out.ok();

    let s = at(
        "build",
        "\"src/**\"",
        "[gates]\nout_of_scope = \"refuse\"\n",
    );
    commit(&s, "src/a.rs", "inside").ok();
    commit(&s, "docs/a", "always").ok();
    // The policy of the base counts, not the one that is being committed.
    s.write("loopx.toml", "[gates]\nout_of_scope = \"warn\"\n");
    s.git(&["add", "loopx.toml"]).ok();
    commit(&s, "lib/a.rs", "outside")
        .fails_with(1)
        .says("`lib/a.rs`: outside the scope");
}

#[test]
fn what_is_not_a_matter_of_a_session_passes_silently() {
    let s = started("");
    let silent = |out: crate::support::Output| {
        assert_eq!(out.stderr, "", "{out}");
        out.ok();
        assert_eq!(trailer(&s, "Loopx-Session"), "");
    };
    let away = |branch: &str| s.git(&["switch", "--quiet", branch]).ok();
    // A branch of nobody.
    away("main");
    silent(commit(&s, "src/a.rs", "elsewhere"));
    // Detached.
    s.git(&["switch", "--quiet", "--detach", "demo"]).ok();
    silent(commit(&s, "src/b.rs", "detached"));
    // Switched off.
    away("demo");
    s.write("src/c.rs", "c");
    s.git(&["add", "."]).ok();
    let off = s.call("git").args(&["commit", "--quiet", "-m", "off"]);
    silent(off.env("LOOPX", "0").run());
    // Nothing staged: git says so, we do not.
    let out = s.git(&["commit", "-m", "nothing"]).fails_with(1);
    assert!(!out.stderr.contains("loopx"), "{out}");
    // An ended session.
    s.loopx(&["abandon"]).ok();
    silent(commit(&s, "src/d.rs", "ended"));
    // A branch named loopx that somebody else made; and none at all.
    for branch in ["refs/heads/main", ""] {
        if branch.is_empty() {
            s.git(&["update-ref", "-d", "refs/heads/loopx"]).ok();
        } else {
            s.git(&["update-ref", "refs/heads/loopx", branch]).ok();
        }
        silent(commit(&s, &format!("src/e{}", branch.len()), "not ours"));
    }
}

#[test]
fn a_damaged_session_passes_with_one_line() {
    let s = started("");
    let blob = s
        .call("git")
        .args(&["hash-object", "-w", "--stdin"])
        .stdin("{\n")
        .run()
        .line();
    let index = s.root().join("index");
    let plumb = |args: &[&str]| {
        let call = s.call("git").args(args).env("GIT_INDEX_FILE", &index);
        call.run().line()
    };
    plumb(&["read-tree", "loopx"]);
    let info = format!("100644,{blob},sessions/demo/state.json");
    plumb(&["update-index", "--cacheinfo", &info]);
    let tree = plumb(&["write-tree"]);
    let broken = plumb(&["commit-tree", &tree, "-p", "loopx", "-m", "broken"]);
    s.git(&["update-ref", "refs/heads/loopx", &broken]).ok();
    s.write("src/a.rs", "a");
    s.git(&["add", "."]).ok();
    let out = s.call(LOOPX).args(&["hook", "pre-commit"]).run();
    assert_eq!(out.stderr.lines().count(), 1, "{out}");
    out.says("checked nothing").says("state.json").ok();
    commit(&s, "src/b.rs", "passes").ok();
}

#[test]
fn a_commit_on_the_loopx_branch_is_refused() {
    let s = started("");
    s.git(&["switch", "--quiet", "loopx"]).ok();
    s.write("format", "2");
    s.git(&["commit", "-am", "by hand"])
        .fails_with(1)
        .says("the branch that keeps sessions");
}

#[test]
fn edge_06_commit_all_and_commit_path_are_judged_on_their_own_tree() {
    let s = at(
        "build",
        "\"src/**\"",
        "[gates]\nout_of_scope = \"refuse\"\n",
    );
    s.write("lib/tracked.rs", "1");
    s.git(&["add", "."]).ok();
    s.git(&["commit", "--quiet", "--no-verify", "-m", "set up"])
        .ok();
    // -a takes in what nobody staged.
    s.write("lib/tracked.rs", "2");
    s.git(&["commit", "-am", "all"])
        .fails_with(1)
        .says("`lib/tracked.rs`");
    // A path leaves what is staged out.
    s.write("lib/staged.rs", "1");
    s.git(&["add", "lib/staged.rs"]).ok();
    s.write("src/old.rs", "2");
    s.git(&["commit", "--quiet", "-m", "path", "src/old.rs"])
        .ok();
    let changed = |s: &Sandbox| s.git(&["show", "--name-only", "--format=", "HEAD"]).line();
    assert_eq!(changed(&s), "src/old.rs");
    assert_eq!(trailer(&s, "Loopx-Session"), "demo");
    // And a path that is not allowed is seen though nothing of it is staged.
    s.git(&["commit", "-m", "path", "lib/tracked.rs"])
        .fails_with(1)
        .says("`lib/tracked.rs`");
    // What was staged still is.
    let staged = s.git(&["diff", "--cached", "--name-only"]).line();
    assert_eq!(staged, "lib/staged.rs");
    // Something that was only announced is in no commit.
    s.git(&["reset", "--quiet"]).ok();
    s.git(&["add", "--intent-to-add", "lib/staged.rs"]).ok();
    s.write("src/old.rs", "3");
    s.git(&["add", "src/old.rs"]).ok();
    s.git(&["commit", "--quiet", "-m", "beside"]).ok();
    assert_eq!(changed(&s), "src/old.rs");
}

#[test]
fn edge_06_a_formatter_in_pre_commit_is_judged_at_commit_msg() {
    let s = started("");
    s.script(
        ".git/hooks/pre-commit",
        "#!/bin/sh\necho made >src/made.rs\ngit add src/made.rs\n",
    );
    commit(&s, "docs/a", "a document")
        .fails_with(1)
        .says("`src/made.rs`");
}

#[test]
fn submodules_are_code() {
    let s = started("");
    for (revision, ends) in [("main", false), ("demo", true)] {
        let id = s.git(&["rev-parse", revision]).line();
        let info = format!("160000,{id},vendor/lib");
        s.git(&["update-index", "--add", "--cacheinfo", &info]).ok();
        s.git(&["commit", "-m", "a submodule"])
            .fails_with(1)
            .says("`vendor/lib`");
        if !ends {
            s.git(&["commit", "--quiet", "--no-verify", "-m", "added"])
                .ok();
        }
    }
}

#[test]
fn edge_07_a_rebase_is_never_blocked() {
    let s = at("build", "", "");
    for n in 1..=3 {
        s.write("src/old.rs", format!("old\n{n}\n"));
        s.git(&["commit", "--quiet", "-am", &format!("change {n}")])
            .ok();
    }
    s.git(&["switch", "--quiet", "main"]).ok();
    s.write("src/old.rs", "old\nmain\n");
    s.git(&["commit", "--quiet", "-am", "upstream"]).ok();
    s.git(&["switch", "--quiet", "demo"]).ok();
    advance(&s, "build", "review", "");
    let before = s.git(&["log", "--format=%(trailers)", "-3"]).line();
    // Conflict and --continue.
    let mut out = s.git(&["rebase", "main"]);
    for n in 1..=3 {
        out.fails_with(1);
        s.write("src/old.rs", format!("old\nmain\n{n}\n"));
        s.git(&["add", "."]).ok();
        out = edit(&s, &["rebase", "--continue"], "1s/$/ again/");
        if n == 3 {
            assert!(!out.stderr.contains("loopx"), "{out}");
            out.clone().ok();
        }
    }
    assert_eq!(s.git(&["log", "--format=%(trailers)", "-3"]).line(), before);
    // Reword, edit, exec and a commit of its own in the middle.
    let todo = "1s/^pick/reword/;2s/^pick/edit/;\
                s/^\\(pick.*\\)$/\\1\\nexec echo x >src\\/exec.rs \\&\\& git add . \\&\\& git commit -m exec/";
    let out = s
        .call("git")
        .args(&["rebase", "--interactive", "main"])
        .env("GIT_SEQUENCE_EDITOR", format!("sed -i '{todo}'"))
        .env("GIT_EDITOR", "sed -i '1s/$/ reworded/'")
        .run();
    assert!(!out.stderr.contains("refused"), "{out}");
    out.ok();
    s.write("src/edit.rs", "edit");
    s.git(&["add", "."]).ok();
    s.git(&["commit", "--quiet", "--amend", "--no-edit"]).ok();
    let out = s.git(&["rebase", "--continue"]);
    assert!(!out.stderr.contains("refused"), "{out}");
    out.ok();
    assert_eq!(s.git(&["log", "-1", "--format=%s", "demo"]).line(), "exec");
    // Autosquash; the commits to squash were made where it was allowed.
    s.git(&["commit", "--quiet", "--allow-empty", "--fixup", "HEAD~1"])
        .ok();
    let squash = s
        .call("git")
        .args(&["rebase", "-i", "--autosquash", "main"]);
    let out = squash.env("GIT_SEQUENCE_EDITOR", "true").run();
    assert!(!out.stderr.contains("refused"), "{out}");
    out.ok();
}

#[test]
fn edge_07_cherry_pick_revert_merge_and_am_are_never_blocked() {
    let s = started("");
    s.git(&["switch", "--quiet", "main"]).ok();
    for n in 1..=3 {
        s.write("src/old.rs", format!("old\n{n}\n"));
        s.git(&["commit", "--quiet", "-am", &format!("main {n}")])
            .ok();
    }
    s.git(&[
        "format-patch",
        "--quiet",
        "-1",
        "-o",
        "../patches",
        "main~2",
    ])
    .ok();
    s.git(&["switch", "--quiet", "demo"]).ok();
    let passes = |out: crate::support::Output| {
        assert!(!out.stderr.contains("refused"), "{out}");
        out.ok();
        assert_eq!(trailer(&s, "Loopx-Session"), "");
    };
    // Clean, then with a conflict.
    passes(s.git(&["cherry-pick", "main~2"]));
    s.git(&["cherry-pick", "main"]).fails_with(1);
    s.write("src/old.rs", "old\n3\n");
    s.git(&["add", "."]).ok();
    passes(edit(&s, &["cherry-pick", "--continue"], "1s/$/!/"));
    s.git(&["cherry-pick", "main~1"]).fails_with(1);
    s.write("src/old.rs", "old\n4\n");
    s.git(&["add", "."]).ok();
    // Concluded by hand.
    passes(s.git(&["commit", "--quiet", "-m", "picked"]));
    passes(edit(&s, &["revert", "HEAD"], "1s/$/!/"));
    passes(s.git(&["revert", "--no-edit", "HEAD"]));
    // A merge with a conflict, and one without.
    s.git(&["merge", "main"]).fails_with(1);
    s.write("src/old.rs", "merged\n");
    s.git(&["add", "."]).ok();
    passes(s.git(&["commit", "--quiet", "-m", "merged"]));
    s.git(&["switch", "--quiet", "main"]).ok();
    commit(&s, "src/new.rs", "more").ok();
    s.git(&["switch", "--quiet", "demo"]).ok();
    passes(s.git(&["merge", "--no-edit", "main"]));
    s.git(&["reset", "--quiet", "--hard", "main~4"]).ok();
    let patch = std::fs::read_dir(s.root().join("patches"))
        .expect("a folder")
        .next()
        .expect("a patch")
        .expect("an entry")
        .path();
    passes(s.git(&["am".as_ref(), patch.as_os_str()]));
    // And afterwards everything is as before.
    commit(&s, "src/after.rs", "code").fails_with(1);
}

#[test]
fn linked_worktrees_are_judged_by_their_own_branch_and_index() {
    let s = started("");
    s.git(&["worktree", "add", "--quiet", "../linked", "main"])
        .ok();
    let linked = s.root().join("linked");
    s.git_in(&linked, &["switch", "--quiet", "-c", "other"])
        .ok();
    s.write(linked.join("src/x.rs"), "x");
    s.git_in(&linked, &["add", "."]).ok();
    s.git_in(&linked, &["commit", "--quiet", "-m", "free"]).ok();
    s.loopx_in(&linked, &["start", "other"]).ok();
    s.write(linked.join("src/y.rs"), "y");
    s.git_in(&linked, &["add", "."]).ok();
    s.git_in(&linked, &["commit", "-m", "code"])
        .fails_with(1)
        .says("session other")
        .says("`src/y.rs`");
    s.git_in(&linked, &["rm", "--quiet", "--cached", "src/y.rs"])
        .ok();
    s.write(linked.join("docs/y"), "y");
    s.git_in(&linked, &["add", "docs"]).ok();
    s.git_in(linked.join("src"), &["commit", "--quiet", "-m", "docs"])
        .ok();
    let format = "--format=%(trailers:key=Loopx-Session,valueonly)";
    assert_eq!(s.git_in(&linked, &["log", "-1", format]).line(), "other");
    // A rebase there is one of that worktree alone.
    commit(&s, "src/a.rs", "here").fails_with(1);
}

#[test]
fn the_first_commit_of_a_repository_is_judged() {
    let s = crate::support::hooks::shims("repo");
    s.loopx(&["init"]).ok();
    s.loopx(&["hooks", "install"]).ok();
    s.loopx(&["start", "demo"]).ok();
    commit(&s, "src/a.rs", "code")
        .fails_with(1)
        .says("`src/a.rs`");
    s.git(&["rm", "--quiet", "--cached", "src/a.rs"]).ok();
    commit(&s, "README.md", "first").ok();
    assert_eq!(trailer(&s, "Loopx-State"), tip(&s));
    s.loopx(&["verify"]).ok();
}

#[test]
fn names_with_spaces_and_other_letters_are_named_as_they_are() {
    let s = started_in("a réposit ory", "");
    s.git(&["switch", "--quiet", "-c", "fonction/é"]).ok();
    s.loopx(&["start", "unicode"]).ok();
    s.write("src/ein ümlaut.rs", "x");
    s.git_in(s.path().join("src"), &["add", "."]).ok();
    s.git_in(s.path().join("src"), &["commit", "-m", "code"])
        .fails_with(1)
        .says("`src/ein ümlaut.rs`");
    s.write("src/\u{1b}[31m.rs", "x");
    s.git(&["add", "."]).ok();
    let out = s.git(&["commit", "-m", "code"]).fails_with(1);
    assert!(!out.stderr.contains('\u{1b}'), "{out}");
}

#[test]
fn an_amend_keeps_one_link_and_the_one_that_allowed_it() {
    let s = at("build", "", "");
    commit(&s, "src/a.rs", "code").ok();
    let built = tip(&s);
    // Something else happens to the session, then more is amended: the newer state allows it.
    s.loopx(&["build", "--report", "execution=incomplete", "--reason", "x"])
        .ok();
    s.write("src/a.rs", "more");
    s.git(&["commit", "--quiet", "-a", "--amend", "--no-edit"])
        .ok();
    assert_eq!(trailer(&s, "Loopx-Session"), "demo");
    assert_eq!(trailer(&s, "Loopx-State"), tip(&s));
    assert_ne!(tip(&s), built);
    let built = tip(&s);
    advance(&s, "build", "review", "");
    // A new message alone, with and without the old trailers in it.
    s.git(&["commit", "--quiet", "--amend", "-m", "new words"])
        .ok();
    assert_eq!(trailer(&s, "Loopx-State"), built);
    edit(
        &s,
        &["commit", "--quiet", "--amend", "--verbose"],
        "1s/$/!/",
    )
    .ok();
    assert_eq!(trailer(&s, "Loopx-State"), built);
    // In review a document may join, and build still is what allowed the code.
    s.write("docs/a", "a");
    s.git(&["add", "docs"]).ok();
    s.git(&["commit", "--quiet", "--amend", "--no-edit"]).ok();
    assert_eq!(trailer(&s, "Loopx-State"), built);
    assert_eq!(s.git(&["log", "-1", "--format=%s"]).line(), "new words!");
    let out = s.loopx(&["verify"]);
    assert!(out.stdout.starts_with("1 commit, no error"), "{out}");
}

#[test]
fn trailers_join_a_block_that_stands_there() {
    let s = at("build", "", "");
    s.write("src/a.rs", "a");
    s.git(&["add", "."]).ok();
    s.git(&[
        "commit",
        "--quiet",
        "-s",
        "-m",
        "title",
        "-m",
        "Reviewed-by: B <b@c>",
    ])
    .ok();
    let body = s.git(&["log", "-1", "--format=%B"]).line();
    assert_eq!(
        body,
        format!(
            "title\n\nReviewed-by: B <b@c>\nSigned-off-by: Carl Committer <carl@example.org>\n\
             Loopx-Session: demo\nLoopx-State: {}",
            tip(&s)
        )
    );
    // An empty message stays empty, so that git says so.
    s.write("src/b.rs", "b");
    s.git(&["add", "."]).ok();
    edit(&s, &["commit"], "/^[^#]/d")
        .fails_with(1)
        .says("empty commit message");
    edit(&s, &["commit", "--signoff"], "/^[^#S]/d")
        .fails_with(1)
        .says("empty commit message");
    // So does a template that nobody edited.
    s.write("../template", "Why:\n");
    s.git(&["config", "commit.template", "../template"]).ok();
    edit(&s, &["commit"], "")
        .fails_with(1)
        .says("did not edit the message");
    s.git(&["config", "--unset", "commit.template"]).ok();
    // The diff of a verbose commit is no part of the message.
    edit(&s, &["commit", "--quiet", "--verbose"], "1s/^/words/").ok();
    let body = s.git(&["log", "-1", "--format=%B"]).line();
    assert_eq!(
        body,
        format!("words\n\nLoopx-Session: demo\nLoopx-State: {}", tip(&s))
    );
    // Another comment sign.
    s.write("src/c.rs", "c");
    s.git(&["add", "."]).ok();
    s.git(&["config", "core.commentChar", ";"]).ok();
    edit(&s, &["commit", "--quiet"], "1s/^/#1 words/").ok();
    let body = s.git(&["log", "-1", "--format=%B"]).line();
    assert!(
        body.starts_with("#1 words\n\nLoopx-Session: demo\n"),
        "{body}"
    );
}

/// Our trailers stand where git's own program puts them.
#[test]
fn trailers_stand_where_git_would_put_them() {
    let s = at("build", "", "");
    s.write("src/a.rs", "a");
    s.git(&["add", "."]).ok();
    let session = "Loopx-Session: demo".to_owned();
    let state = format!("Loopx-State: {}", tip(&s));
    let scissors = "# ------------------------ >8 ------------------------";
    for message in [
        "title",
        "title\n",
        "title\n\n\n",
        "title: with colon\n",
        "title\nsecond: line\n",
        "title\n\nbody\n",
        "title\n\nbody: a\nmore words\n",
        "title\n\nA: b\n",
        "title\n\nA: b\n c\n",
        "title\n\n indented: x\nA: b\n",
        "title\n\nA : b\nB-c\t: d\n",
        "title\n\nA b: c\n",
        "title\n\nhttp://example.org\n",
        "title\n\na\nb\nc\nSigned-off-by: A\n",
        "title\n\na\nb\nc\nd\nSigned-off-by: A\n",
        "title\n\nwords\n(cherry picked from commit 12)\n",
        "title\n\nA: b\n\nbody\n",
        "title\n\nA: b\n\n# comment\n#\n",
        "title\n# comment\n",
        "# comment\ntitle\n\nA: b\n",
        "\n\ntitle\n\nA: b\n",
        "title\n\nA: b\n \t\n",
        "title\n\nConflicts:\n\ta\n\tb\n",
        "title\n\nA: b\n---\nC: d\n",
        "title\r\n\r\nA: b\r\n",
        "t\u{ef}tle\n\n\u{ef}: b\n",
        &format!("title\n\nA: b\n{scissors}\ndiff\n\nC: d\n"),
        &format!("title\n\n# note\n{scissors}\ndiff\n"),
    ] {
        let args = [
            "interpret-trailers",
            "--no-divider",
            "--trailer",
            &session,
            "--trailer",
            &state,
        ];
        let wanted = s.call("git").args(&args).stdin(message).run().ok();
        s.write(".git/MESSAGE", message);
        s.loopx(&["hook", "commit-msg", ".git/MESSAGE"]).ok();
        let found = s.read(".git/MESSAGE");
        // git also tidies up what others wrote; we leave it.
        let same = |text: &str| {
            text.replace('\r', "")
                .replace([' ', '\t'], "")
                .trim_end()
                .to_owned()
        };
        assert_eq!(same(&found), same(&wanted), "{message:?}");
        // And a second time nothing is left to do.
        s.loopx(&["hook", "commit-msg", ".git/MESSAGE"]).ok();
        assert_eq!(s.read(".git/MESSAGE"), found, "{message:?}");
    }
}

#[test]
fn a_hook_starts_no_process() {
    let s = started("");
    s.write("src/a.rs", "a");
    s.git(&["add", "."]).ok();
    let head = s.git(&["rev-parse", "HEAD"]).line();
    s.write(".git/COMMIT_EDITMSG", "words\n");
    let push = format!(
        "refs/heads/demo {head} refs/heads/demo {}\n",
        "0".repeat(40)
    );
    for args in [
        &["hook", "pre-commit"][..],
        &["hook", "commit-msg", ".git/COMMIT_EDITMSG"],
        &["hook", "pre-push", "origin", "url"],
    ] {
        // Nothing could be started by name.
        let call = s.call(LOOPX).args(args).stdin(push.as_str());
        let out = call.env("PATH", "").run();
        assert!(!out.stderr.contains("checked nothing"), "{out}");
        let code = if args[1] == "pre-push" { 0 } else { 1 };
        out.fails_with(code);
    }
    // A repository that cannot be opened is one line, too.
    s.git(&["config", "core.repositoryFormatVersion", "9"]).ok();
    let out = s.call(LOOPX).args(&["hook", "pre-commit"]);
    let out = out.env("PATH", "").run();
    assert_eq!(out.stderr.lines().count(), 1, "{out}");
    out.ok();
}

#[test]
fn sessions_of_two_branches_do_not_meet() {
    let s = at("build", "", "");
    commit(&s, "src/a.rs", "code").ok();
    start(&s, "second");
    commit(&s, "src/b.rs", "code")
        .fails_with(1)
        .says("session second");
    s.git(&["rm", "--quiet", "--cached", "src/b.rs"]).ok();
    s.git(&["switch", "--quiet", "demo"]).ok();
    commit(&s, "src/b.rs", "code").ok();
    assert_eq!(trailer(&s, "Loopx-Session"), "demo");
}
