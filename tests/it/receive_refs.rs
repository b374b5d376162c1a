//! Policy that cannot be escaped by the name of a ref: new branches, names for other refs, namespaces.

use crate::support::LOOPX;
use crate::support::server::{FORMATS, begun, bypass, push, refused, remote, server};

const PROTECTED: &str = "[gates]\nprotected = [\"main\", \"release/*\"]\n";

/// A commit from before the policy.
fn before_policy(format: &str) -> (crate::support::Sandbox, String) {
    let s = crate::support::Sandbox::empty("repo");
    let format = format!("--object-format={format}");
    s.git(&["init", "--quiet", &format]).ok();
    s.commit_file("src/first.rs", "first\n", "before any policy")
        .ok();
    let first = s.git(&["rev-parse", "HEAD"]).line();
    crate::support::session::begin(&s, PROTECTED);
    (s, first)
}

#[test]
fn g6_a_new_protected_branch_is_judged_by_the_present_policy_too() {
    for format in FORMATS {
        let (s, first) = before_policy(format);
        server(&s);
        // As it was, it may have a name.
        push(&s, &[&format!("{first}:refs/heads/release/66")]).ok();
        s.git(&["switch", "--quiet", "-c", "weak", &first]).ok();
        bypass(&s, "src/evil.rs");
        refused(
            &s,
            &["weak:refs/heads/release/66"],
            "protected_without_session",
        );
        refused(
            &s,
            &["weak:refs/heads/release/67"],
            "protected_without_session",
        );
        // A branch that nobody protects takes it, and what main has may be released.
        push(&s, &["weak", "main:refs/heads/release/68"]).ok();
    }
}

/// The other way round: a branch that its own policy protects is no freer because main's does not.
#[test]
fn g6_a_branch_that_protects_itself_stays_protected() {
    let s = begun("sha1", "[gates]\nprotected = [\"main\"]\n");
    server(&s);
    s.git(&["switch", "--quiet", "-c", "own", "main"]).ok();
    s.write("loopx.toml", "[gates]\nprotected = [\"own\"]\n");
    s.git(&["commit", "--quiet", "-am", "protects itself"]).ok();
    push(&s, &["own"]).ok();
    bypass(&s, "src/evil.rs");
    refused(&s, &["own"], "protected_without_session");
}

#[test]
fn g13_a_push_through_a_symbolic_ref_is_judged_as_what_it_moves() {
    for format in FORMATS {
        let s = begun(format, PROTECTED);
        server(&s);
        push(&s, &["main:refs/heads/release/9"]).ok();
        let alias = |name: &str, target: &str| {
            s.git_in(remote(&s), &["symbolic-ref", name, target]).ok();
        };
        alias("refs/heads/trunk", "refs/heads/main");
        alias("refs/heads/latest", "refs/heads/trunk");
        alias("refs/heads/sessions", "refs/heads/loopx");
        alias("refs/heads/next", "refs/heads/release/9");
        s.git(&["switch", "--quiet", "main"]).ok();
        bypass(&s, "src/evil.rs");
        for name in ["trunk", "latest", "next"] {
            let to = format!("main:refs/heads/{name}");
            refused(&s, &[&to], "protected_without_session");
        }
        refused(&s, &["--force", "main:sessions"], "sessions_invalid");
        refused(&s, &[":trunk"], "protected_set_back");
        refused(&s, &[":sessions"], "sessions_deleted");
        // What may go to the branch may go by its other name.
        s.loopx(&["-s", "demo", "note", "it goes there too"]).ok();
        push(&s, &["loopx:sessions"]).ok();
        push(&s, &["main~1:trunk", "main:refs/heads/free"]).ok();
    }
}

#[test]
fn g14_nothing_is_pushed_that_changes_what_the_server_reads() {
    for format in FORMATS {
        let s = begun(format, PROTECTED);
        server(&s);
        s.git(&["switch", "--quiet", "-c", "free", "main"]).ok();
        bypass(&s, "src/evil.rs");
        let main = s.git(&["rev-parse", "main"]).line();
        let before = s.git_in(remote(&s), &["log", "main"]).ok();
        // What `git replace` and its grafts make.
        let replaced = format!("refs/replace/{main}");
        for name in [&replaced, "refs/loopx/shadow/loopx"] {
            refused(&s, &["free", &format!("free:{name}")], "ref_closed").says(name);
        }
        push(
            &s,
            &["free", "free:refs/notes/replace", "main:refs/tags/v1"],
        )
        .ok();
        assert_eq!(s.git_in(remote(&s), &["log", "main"]).ok(), before);
        // One that is there is not taken away by a push either.
        s.git_in(remote(&s), &["update-ref", &replaced, "free"])
            .ok();
        refused(&s, &[&format!(":{replaced}")], "ref_closed");
    }
}

/// The hook on the server with the lines of a push that no git sends.
fn judged(s: &crate::support::Sandbox, lines: &[(&str, &str, &str)]) -> crate::support::Output {
    let line = |(old, new, name): &(&str, &str, &str)| format!("{old} {new} refs/heads/{name}\n");
    let text: String = lines.iter().map(line).collect();
    let call = s.call(LOOPX).cwd(remote(s)).env("GIT_DIR", ".");
    call.args(&["hook", "pre-receive"]).stdin(text).run()
}

/// git carries out a push line by line: what is judged has to be what it does.
#[test]
fn a_push_that_moves_a_ref_twice_or_from_where_it_is_not_is_refused_whole() {
    for format in FORMATS {
        let s = begun(format, PROTECTED);
        server(&s);
        let before = s.git(&["rev-parse", "loopx"]).line();
        s.loopx(&["-s", "demo", "note", "said"]).ok();
        let after = s.git(&["rev-parse", "loopx"]).line();
        let rootless = s.git(&["commit-tree", "-m", "nothing was here", "loopx^{tree}"]);
        let rootless = rootless.line();
        // The server has the objects already.
        let tags = ["loopx:refs/tags/after", &format!("{rootless}:refs/tags/x")];
        push(&s, &tags).ok();
        judged(&s, &[(&before, &after, "loopx")]).ok();
        judged(
            &s,
            &[(&before, &after, "loopx"), (&before, &after, "loopx")],
        )
        .ok();
        judged(
            &s,
            &[(&before, &after, "loopx"), (&after, &rootless, "loopx")],
        )
        .fails_with(1)
        .says("ref_twice")
        .says("refs/heads/loopx");
        s.git_in(
            remote(&s),
            &["symbolic-ref", "refs/heads/alias", "refs/heads/loopx"],
        )
        .ok();
        judged(
            &s,
            &[(&before, &after, "loopx"), (&after, &rootless, "alias")],
        )
        .fails_with(1)
        .says("ref_twice");
        // The branch would be judged by what it never was, and stay; what goes with it would move.
        let older = s.git(&["rev-parse", "loopx~2"]).line();
        let none = "0".repeat(older.len());
        for old in [&older, &after, &none] {
            judged(&s, &[(old, &after, "loopx")])
                .fails_with(1)
                .says("ref_moved")
                .says("refs/heads/loopx");
        }
        judged(&s, &[(&before, &after, "nowhere")])
            .fails_with(1)
            .says("ref_moved");
        judged(&s, &[(&none, &after, "nowhere")]).ok();
    }
}

/// A name is a file or a folder: one beside the branch of sessions keeps it out for ever, and what lands meanwhile
/// lands by records that are nowhere.
#[test]
fn a_ref_beside_the_branch_of_sessions_is_refused() {
    for (branch, beside) in [("loopx", "loopx/x"), ("team/loopx", "team")] {
        let s = begun("sha1", PROTECTED);
        server(&s);
        let both = |args: &[&str]| {
            s.git_in(remote(&s), args).ok();
            s.git(args).ok();
        };
        if branch != "loopx" {
            both(&["branch", "--move", "loopx", branch]);
            both(&["config", "loopx.branch", branch]);
        }
        let sessions = s.git(&["rev-parse", branch]).line();
        s.git_in(remote(&s), &["branch", "--delete", "--force", branch])
            .ok();
        let evil = format!("main:refs/heads/{beside}");
        refused(&s, &[&evil], "branch_name_blocked").says(beside);
        push(&s, &["main:refs/heads/loopx-2"]).ok();
        // One that stands there already: nothing is judged by records that git will not store.
        let name = format!("refs/heads/{beside}");
        s.git_in(remote(&s), &["update-ref", &name, "main"]).ok();
        let way = format!("--delete {beside}");
        refused(&s, &[branch, "main:refs/heads/free"], "branch_name_blocked").says(&way);
        for _ in 0..2 {
            s.loopx(&["sync"]).fails_with(1).says(&way);
            // A server without the hook: git itself says so.
            s.script("../remote.git/hooks/pre-receive", "#!/bin/sh\nexit 0\n");
        }
        push(&s, &[&format!(":{beside}"), "main:refs/heads/free"]).ok();
        s.loopx(&["sync"]).ok();
        let there = s.git_in(remote(&s), &["rev-parse", branch]).line();
        assert_eq!(there, sessions);
    }
}

/// A branch that is gone there and was fetched once keeps the one of sessions out here.
#[test]
fn a_remote_tracking_ref_beside_the_branch_of_sessions_is_named() {
    let s = begun("sha1", PROTECTED);
    server(&s);
    let beside = "refs/remotes/origin/loopx/x";
    s.git(&["update-ref", "-d", "refs/remotes/origin/loopx"])
        .ok();
    s.git(&["update-ref", beside, "main"]).ok();
    s.loopx(&["sync"])
        .fails_with(1)
        .says(beside)
        .says("git remote prune origin");
    s.git(&["remote", "prune", "origin"]).ok();
    s.loopx(&["sync"]).ok();
}

/// A clone on a file system without letter case has one file for `LooPx` and `loopx` of its remote.
#[test]
fn z6_a_branch_of_the_name_of_the_sessions_in_another_spelling_is_refused() {
    let s = begun("sha1", PROTECTED);
    server(&s);
    for beside in ["LooPx", "LOOPX", "LoopX/x"] {
        let evil = format!("main:refs/heads/{beside}");
        refused(&s, &[&evil], "branch_name_blocked").says(beside);
    }
    push(&s, &["main:refs/heads/LooPx-2", "main:refs/heads/x/LooPx"]).ok();
    // One that stands there already can be taken away.
    s.git_in(remote(&s), &["update-ref", "refs/heads/LooPx", "main"])
        .ok();
    push(&s, &[":refs/heads/LooPx", "loopx"]).ok();
}
