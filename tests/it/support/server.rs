//! A server: a bare repository with the hook that docs/server.md shows, and pushes past our own pre-push.

use super::session::begin;
use super::{Output, Sandbox};
use std::path::PathBuf;

/// Script that a server's admin writes into `hooks/pre-receive`.
pub(crate) const HOOK: &str = "#!/bin/sh\nexec git-loopx hook pre-receive\n";

/// The formats of objects that git has.
pub(crate) const FORMATS: [&str; 2] = ["sha1", "sha256"];

/// A repository of this format with the session `demo` on the branch `demo`, without hooks of its own.
pub(crate) fn begun(format: &str, policy: &str) -> Sandbox {
    Sandbox::once(format!("{format}\n{policy}"), || {
        let s = Sandbox::empty("repo");
        let format = format!("--object-format={format}");
        s.git(&["init", "--quiet", &format]).ok();
        begin(&s, policy);
        s
    })
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

/// A tree of these entries (mode, name, id), as they are: git itself would not write some of them.
pub(crate) fn raw_tree(s: &Sandbox, entries: &[(String, Vec<u8>, String)]) -> String {
    let mut bytes = Vec::new();
    for (mode, name, id) in entries {
        bytes.extend([mode.as_bytes(), b" ", name, b"\0"].concat());
        let digits = id.as_bytes().chunks_exact(2);
        bytes.extend(digits.map(|pair| {
            let text = std::str::from_utf8(pair).expect("digits");
            u8::from_str_radix(text, 16).expect("digits")
        }));
    }
    literally(s, "tree", bytes)
}

/// The entries of a tree; none where there is no such tree.
pub(crate) fn entries(s: &Sandbox, tree: &str) -> Vec<(String, Vec<u8>, String)> {
    let listed = s.git(&["ls-tree", "--full-tree", tree]).stdout;
    let entry = |line: &str| {
        let (meta, name) = line.split_once('\t').expect("an entry");
        let mut words = meta.split(' ');
        let mode = words.next().expect("a mode").trim_start_matches('0');
        let id = words.nth(1).expect("an id");
        (mode.to_owned(), name.as_bytes().to_vec(), id.to_owned())
    };
    listed.lines().map(entry).collect()
}

/// The root tree of a commit in which one folder has one more entry, in its place.
pub(crate) fn with_entry(
    s: &Sandbox,
    commit: &str,
    path: &str,
    more: (&str, &[u8], &str),
) -> String {
    let tree = match path {
        "" => format!("{commit}^{{tree}}"),
        path => format!("{commit}:{path}"),
    };
    let mut known = entries(s, &tree);
    let key = |mode: &str, name: &[u8]| {
        let end: &[u8] = if mode == "40000" { b"/" } else { b"" };
        [name, end].concat()
    };
    let (mode, name, id) = more;
    known.retain(|(_, other, _)| other != name);
    known.push((mode.to_owned(), name.to_vec(), id.to_owned()));
    known.sort_by_key(|(mode, name, _)| key(mode, name));
    let tree = raw_tree(s, &known);
    if path.is_empty() {
        return tree;
    }
    let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
    with_entry(s, commit, parent, ("40000", name.as_bytes(), &tree))
}

/// A commit on top of the loopx branch with this tree; the branch moves there.
pub(crate) fn put_tree(s: &Sandbox, tree: &str) {
    let args = [
        "commit-tree",
        tree,
        "-p",
        "loopx",
        "-m",
        "x",
        "-m",
        "Loopx-Event: saved",
    ];
    let commit = s.git(&args).line();
    s.git(&["update-ref", "refs/heads/loopx", &commit]).ok();
}
