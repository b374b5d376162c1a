//! Judgement of what is staged, from the tree that git wrote down in the index, and from the entries themselves: the
//! hook's verdict is the same word for word.

use crate::support::session::started;
use crate::support::{LOOPX, Output, Sandbox};

/// The hook's judgement of what is staged, by an index file.
fn judged(s: &Sandbox, index: &str) -> Output {
    let call = s.call(LOOPX).args(&["hook", "pre-commit"]);
    call.env("GIT_INDEX_FILE", s.path().join(index)).run()
}

/// Writes the index without what says which tree it stands for: a reader passes over what it does not know. Tells
/// whether the index said so.
fn mask(s: &Sandbox, from: &str, to: &str) -> bool {
    let mut bytes = s.bytes(from);
    let at = bytes.windows(4).rposition(|word| word == b"TREE");
    if let Some(at) = at {
        bytes[at..at + 4].copy_from_slice(b"XREE");
    }
    // No checksum: git leaves it out where `index.skipHash` says so.
    let length = match s
        .git(&["rev-parse", "--show-object-format"])
        .line()
        .as_str()
    {
        "sha256" => 32,
        _ => 20,
    };
    let end = bytes.len();
    bytes[end - length..].fill(0);
    s.write(to, bytes);
    at.is_some()
}

/// Compares both ways, with the index as it is and after git has written down its tree.
#[track_caller]
fn same_both_ways(s: &Sandbox, what: &str) {
    for written in [false, true] {
        if written && s.git(&["write-tree"]).code != Some(0) {
            continue;
        }
        mask(s, ".git/index", ".git/masked");
        let (by_tree, by_entries) = (judged(s, ".git/index"), judged(s, ".git/masked"));
        assert_eq!(
            by_tree.code, by_entries.code,
            "{what}: {by_tree} {by_entries}"
        );
        assert_eq!(by_tree.stderr, by_entries.stderr, "{what}");
        assert_eq!(by_tree.stdout, by_entries.stdout, "{what}");
    }
}

fn with_files(s: &Sandbox) {
    for path in ["src/a.rs", "src/deep/b.rs", "docs/a.md", "docs/b.md", "x"] {
        s.write(path, format!("{path}\n"));
    }
    s.git(&["add", "."]).ok();
    s.git(&["commit", "--quiet", "--no-verify", "-m", "files"])
        .ok();
}

#[test]
fn every_state_of_the_index_is_judged_alike_from_its_tree_and_from_its_entries() {
    let s = started("");
    with_files(&s);
    let states: &[(&str, &[&[&str]])] = &[
        ("nothing", &[]),
        ("changed", &[&["add", "src/a.rs"]]),
        (
            "removed",
            &[&["rm", "--quiet", "--cached", "src/deep/b.rs"]],
        ),
        ("removed all", &[&["rm", "--quiet", "-r", "--cached", "."]]),
        ("moved", &[&["mv", "src/a.rs", "docs/a.rs"]]),
        ("executable", &[&["update-index", "--chmod=+x", "src/a.rs"]]),
        ("announced", &[&["add", "--intent-to-add", "src/new.rs"]]),
        (
            "announced and changed",
            &[
                &["add", "docs/a.md"],
                &["add", "--intent-to-add", "src/new.rs"],
            ],
        ),
        (
            "skipped",
            &[&["update-index", "--skip-worktree", "src/a.rs"]],
        ),
        (
            "assumed",
            &[&["update-index", "--assume-unchanged", "src/a.rs"]],
        ),
        (
            "version 4",
            &[&["update-index", "--index-version=4"], &["add", "src/a.rs"]],
        ),
        (
            "untracked cache",
            &[
                &["update-index", "--untracked-cache"],
                &["add", "docs/a.md"],
            ],
        ),
        (
            "split",
            &[&["update-index", "--split-index"], &["add", "src/a.rs"]],
        ),
        ("reset", &[&["read-tree", "HEAD^"]]),
        ("emptied", &[&["read-tree", "--empty"]]),
    ];
    let kept = s.bytes(".git/index");
    for (what, commands) in states {
        s.write(".git/index", &kept);
        s.write("src/a.rs", format!("{what}\n"));
        s.write("docs/a.md", format!("{what}\n"));
        s.write("src/new.rs", "new\n");
        for command in *commands {
            s.git(command).ok();
        }
        same_both_ways(&s, what);
        s.git(&["reset", "--quiet", "--hard"]).ok();
        s.git(&["clean", "--quiet", "-fd"]).ok();
    }
    // A file where a folder was, a link where a file was, a submodule.
    s.git(&["rm", "--quiet", "-r", "src/deep"]).ok();
    s.write("src/deep", "file\n");
    std::fs::remove_file(s.path().join("x")).expect("remove a file");
    std::os::unix::fs::symlink("src", s.path().join("x")).expect("a link");
    s.git(&["add", "."]).ok();
    same_both_ways(&s, "other types");
    let head = s.git(&["rev-parse", "HEAD"]).line();
    let entry = format!("160000,{head},src/module");
    s.git(&["update-index", "--add", "--cacheinfo", &entry])
        .ok();
    same_both_ways(&s, "a submodule");
    // Half of the cache out of date.
    s.git(&["write-tree"]).ok();
    s.write("docs/a.md", "again\n");
    s.git(&["add", "docs/a.md"]).ok();
    same_both_ways(&s, "partly written down");
    // A conflict.
    s.git(&["reset", "--quiet", "--hard"]).ok();
    let blob = s.git(&["rev-parse", "HEAD:docs/a.md"]).line();
    let stages: String = (1..4)
        .map(|n| format!("100644 {blob} {n}\tsrc/a.rs\n"))
        .collect();
    s.git(&["rm", "--quiet", "--cached", "src/a.rs"]).ok();
    let call = s.call("git").args(&["update-index", "--index-info"]);
    call.stdin(stages).run().ok();
    same_both_ways(&s, "a conflict");
}

#[test]
fn a_refused_path_is_refused_from_the_tree_of_the_index() {
    let s = started("");
    with_files(&s);
    s.write("src/a.rs", "changed\n");
    s.git(&["add", "."]).ok();
    s.git(&["write-tree"]).ok();
    assert!(
        mask(&s, ".git/index", ".git/masked"),
        "git wrote down the tree"
    );
    judged(&s, ".git/index").fails_with(1).says("src/a.rs");
    // The cache alone decides: it is what git commits.
    let head = s.git(&["rev-parse", "HEAD^{tree}"]).line();
    let staged = s.git(&["write-tree"]).line();
    assert_ne!(head, staged);
    let raw = |id: &str| -> Vec<u8> {
        let digits = id.as_bytes().chunks(2);
        let pairs = digits.map(|pair| std::str::from_utf8(pair).expect("digits"));
        pairs
            .map(|pair| u8::from_str_radix(pair, 16).expect("digits"))
            .collect()
    };
    let mut bytes = s.bytes(".git/index");
    let (from, to) = (raw(&staged), raw(&head));
    let at = bytes
        .windows(20)
        .rposition(|id| id == from)
        .expect("the tree's id");
    bytes[at..at + 20].copy_from_slice(&to);
    s.write(".git/other", &bytes);
    judged(&s, ".git/other").ok();
    // A tree that nobody has is no word.
    bytes[at..at + 20].fill(1);
    let end = bytes.len();
    bytes[end - 20..].fill(0);
    s.write(".git/other", &bytes);
    judged(&s, ".git/other").fails_with(1).says("src/a.rs");
}

#[test]
fn every_way_to_commit_is_judged_as_git_lists_it() {
    let s = started("");
    with_files(&s);
    // A hook that asks twice, the second time by git's own comparison: a masked index has a wrong checksum.
    let hook = r#"#!/bin/sh
index=${GIT_INDEX_FILE:-.git/index}
git-loopx hook pre-commit >../one 2>&1; echo $? >>../one
LC_ALL=C sed 's/TREE/XREE/' "$index" >../masked-index
GIT_INDEX_FILE=$PWD/../masked-index git-loopx hook pre-commit >../two 2>&1; echo $? >>../two
echo asked >>../asked
exit 0
"#;
    s.script(".git/ask/pre-commit", hook);
    let hooks = format!("core.hooksPath={}", s.path().join(".git/ask").display());
    for (at, args) in [
        &["-a"][..],
        &["src/a.rs"],
        &["docs/a.md"],
        &["--only", "docs/b.md"],
        &["--include", "src/a.rs"],
        &["--amend"],
        &["--allow-empty"],
    ]
    .into_iter()
    .enumerate()
    {
        s.write("src/a.rs", format!("{at}\n"));
        s.write("docs/a.md", format!("{at}\n"));
        s.write("docs/b.md", format!("{at}\n"));
        s.git(&["add", "docs/a.md"]).ok();
        let commit = ["-c", &hooks, "commit", "--quiet", "-m", "x"];
        s.git(&[&commit[..], args].concat()).ok();
        let (one, two) = (s.read("../one"), s.read("../two"));
        assert_eq!(one, two, "commit {args:?}");
        assert_eq!(s.read("../asked").lines().count(), at + 1);
    }
}
