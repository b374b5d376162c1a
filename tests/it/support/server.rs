//! A server: a bare repository with the hook that the README shows, and pushes past our own pre-push.

use super::session::begin;
use super::{Output, Sandbox};
use std::path::PathBuf;

/// What a server's admin writes into `hooks/pre-receive`.
pub(crate) const HOOK: &str = "#!/bin/sh\nexec git-loopx hook pre-receive\n";

/// The formats of objects that git has.
pub(crate) const FORMATS: [&str; 2] = ["sha1", "sha256"];

/// A repository of this format with the session `demo` on the branch `demo`, without hooks of its own.
pub(crate) fn begun(format: &str, policy: &str) -> Sandbox {
    let s = Sandbox::empty("repo");
    let format = format!("--object-format={format}");
    s.git(&["init", "--quiet", &format]).ok();
    begin(&s, policy);
    s
}

pub(crate) fn remote(s: &Sandbox) -> PathBuf {
    s.root().join("remote.git")
}

/// A server with `main` and the loopx branch of a sandbox, and the hook.
pub(crate) fn server(s: &Sandbox) {
    let format = s.git(&["rev-parse", "--show-object-format"]).line();
    let format = format!("--object-format={format}");
    s.git(&["init", "--quiet", "--bare", &format, "../remote.git"])
        .ok();
    s.git(&["remote", "add", "origin", "../remote.git"]).ok();
    s.script("../remote.git/hooks/pre-receive", HOOK);
    push(s, &["main", "loopx"]).ok();
}

/// Pushes past our own pre-push: the server stands alone.
#[must_use]
pub(crate) fn push(s: &Sandbox, what: &[&str]) -> Output {
    let mut all = vec!["push", "--quiet", "--no-verify", "origin"];
    all.extend(what);
    s.git(&all)
}

/// A push that is refused as a whole, with this code.
#[track_caller]
pub(crate) fn refused(s: &Sandbox, what: &[&str], code: &str) -> Output {
    let refs = || s.git_in(remote(s), &["for-each-ref"]).ok();
    let before = refs();
    let said = push(s, what)
        .fails_with(1)
        .says(code)
        .says("pre-receive hook declined");
    assert_eq!(refs(), before);
    // Quarantined objects are gone with it.
    s.git_in(remote(s), &["fsck", "--strict"]).ok();
    said
}

/// A commit past every hook of ours.
pub(crate) fn bypass(s: &Sandbox, path: &str) {
    s.write(path, path);
    s.git(&["add", "--force", "--", path]).ok();
    s.git(&["commit", "--quiet", "--no-verify", "-m", path])
        .ok();
}

/// An object that git itself would not write, as its bytes.
pub(crate) fn literally(s: &Sandbox, kind: &str, bytes: impl Into<Vec<u8>>) -> String {
    let args = ["hash-object", "-t", kind, "-w", "--literally", "--stdin"];
    s.call("git").args(&args).stdin(bytes).run().line()
}
