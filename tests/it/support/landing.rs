//! A server with a protected branch, and what people and forges try to land there: in pre-receive, and in
//! `verify` as CI runs it.

use super::server::HOOK;
use super::session::{advance, begin};
use super::{Output, Sandbox};

pub(crate) const PROTECTED: &str = "[gates]\nprotected = [\"main\"]\n";

/// A session that is done on `demo`: two commits, without trailers, as of somebody without hooks.
pub(crate) fn finished() -> Sandbox {
    Sandbox::once("", || {
        let s = Sandbox::new();
        begin(&s, PROTECTED);
        build(&s);
        s
    })
}

/// A session that is done on `demo`, with a server that has the branch.
pub(crate) fn done() -> Sandbox {
    Sandbox::once("", || {
        let s = finished();
        serve(&s);
        offer(&s, &["demo"]);
        s
    })
}

/// Builds, reviews and finishes what `demo` is about.
pub(crate) fn build(s: &Sandbox) {
    advance(s, "clarify", "build", "");
    make(s, &[("src/a.rs", "one\n")], "code");
    make(
        s,
        &[("src/b.rs", "two\n"), ("src/old.rs", "new\n")],
        "more code",
    );
    advance(s, "build", "done", "");
}

/// A bare server with `main`, the loopx branch and the hook.
pub(crate) fn serve(s: &Sandbox) {
    let format = s.git(&["rev-parse", "--show-object-format"]).line();
    let format = format!("--object-format={format}");
    s.git(&["init", "--quiet", "--bare", &format, "../remote.git"])
        .ok();
    s.git(&["remote", "add", "origin", "../remote.git"]).ok();
    s.git(&["push", "--quiet", "origin", "main", "loopx"]).ok();
    s.script("../remote.git/hooks/pre-receive", HOOK);
}

/// Commits files past every hook; an empty text takes one away.
pub(crate) fn make(s: &Sandbox, files: &[(&str, &str)], message: &str) -> String {
    for (path, text) in files {
        if text.is_empty() {
            s.git(&["rm", "--quiet", "--force", "--", path]).ok();
        } else {
            s.write(path, text);
            s.git(&["add", "--force", "--", path]).ok();
        }
    }
    s.git(&[
        "commit",
        "--quiet",
        "--no-verify",
        "--allow-empty",
        "-m",
        message,
    ])
    .ok();
    rev(s, "HEAD")
}

pub(crate) fn rev(s: &Sandbox, name: &str) -> String {
    s.git(&["rev-parse", name]).line()
}

/// Checks out a commit, on no branch.
pub(crate) fn at(s: &Sandbox, commit: &str) {
    s.git(&["switch", "--quiet", "--detach", commit]).ok();
}

pub(crate) fn push(s: &Sandbox, what: &[&str]) -> Output {
    let mut all = vec!["push", "--quiet", "--no-verify", "origin"];
    all.extend(what);
    s.git(&all)
}

/// `verify` as the CI of docs/server.md runs it, for a pull request from a branch of this name.
pub(crate) fn ci(s: &Sandbox, commit: &str, branch: &str) -> Output {
    let range = format!("origin/main..{commit}");
    s.loopx(&[
        "verify",
        &range,
        "--policy-from=origin/main",
        "--onto=main",
        "--branch",
        branch,
    ])
}

#[track_caller]
pub(crate) fn lands(s: &Sandbox, commit: &str) {
    for branch in ["demo", "other"] {
        ci(s, commit, branch).ok();
    }
    push(s, &[&format!("{commit}:refs/heads/main"), "loopx"]).ok();
}

/// Puts the branches of sessions on the server, as a pull request does.
pub(crate) fn offer(s: &Sandbox, branches: &[&str]) {
    let mut all = vec!["loopx"];
    all.extend(branches);
    push(s, &all).ok();
}

/// Asserts that a commit would land, and puts everything back as it was.
#[track_caller]
pub(crate) fn would_land(s: &Sandbox, commit: &str) {
    let before = rev(s, "origin/main");
    lands(s, commit);
    let remote = s.root().join("remote.git");
    s.git_in(&remote, &["update-ref", "refs/heads/main", &before])
        .ok();
    s.git(&["update-ref", "refs/remotes/origin/main", &before])
        .ok();
}

#[track_caller]
pub(crate) fn refused(s: &Sandbox, commit: &str, code: &str) {
    for branch in ["demo", "other"] {
        ci(s, commit, branch).fails_with(1).says(code);
    }
    push(s, &[&format!("{commit}:refs/heads/main"), "loopx"])
        .fails_with(1)
        .says(code)
        .says("pre-receive hook declined");
}

/// `main` one document further, as somebody without a session commits it.
pub(crate) fn beside(s: &Sandbox) -> String {
    at(s, "main");
    let beside = make(s, &[("README.md", "read me\n")], "a document");
    lands(s, &beside);
    beside
}

pub(crate) const PULL: &str = "Merge pull request #1 from ada/demo\n\nTen minutes";
pub(crate) const SQUASH: &str = "Ten minutes, with other words (#1)\n\n* code\n\n* more code\n\nCo-authored-by: Ada Author <ada@example.org>\n";

pub(crate) fn squash(s: &Sandbox, onto: &str, branch: &str, message: &str) -> String {
    at(s, onto);
    s.git(&["merge", "--quiet", "--squash", branch]).ok();
    s.git(&["commit", "--quiet", "--no-verify", "-m", message])
        .ok();
    rev(s, "HEAD")
}

pub(crate) fn merge(s: &Sandbox, onto: &str, branch: &str, message: &str) -> String {
    at(s, onto);
    s.git(&["merge", "--quiet", "--no-ff", "-m", message, branch])
        .ok();
    rev(s, "HEAD")
}

pub(crate) fn rebase(s: &Sandbox, onto: &str, branch: &str) -> String {
    at(s, branch);
    let call = s
        .call("git")
        .args(&["rebase", "--quiet", "--force-rebase", onto]);
    call.env("GIT_COMMITTER_NAME", "Forge")
        .env("GIT_COMMITTER_EMAIL", "noreply@forge.example")
        .run()
        .ok();
    rev(s, "HEAD")
}

/// Changes what HEAD has, under the same message.
pub(crate) fn amend(s: &Sandbox, path: &str, text: &str) -> String {
    s.write(path, text);
    s.git(&["add", "--", path]).ok();
    s.git(&["commit", "--quiet", "--no-verify", "--amend", "--no-edit"])
        .ok();
    rev(s, "HEAD")
}
