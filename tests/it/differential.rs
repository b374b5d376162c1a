//! Every object and ref that is written here reads the same through git, in every format that git has,
//! and what git makes of it afterwards reads the same here (reference git-stores, section 6).

use crate::support::store::{ID, assert_whole, begin, detached, operations, put, tip};
use crate::support::{LOOPX, Sandbox};
use std::collections::BTreeSet;

/// Options of `git init` for each of git's formats.
const FORMATS: [&[&str]; 4] = [
    &[],
    &["--ref-format=reftable"],
    &["--object-format=sha256"],
    &["--ref-format=reftable", "--object-format=sha256"],
];

/// Number of steps that is enough for small packs to be rolled up.
const STEPS: usize = 28;

/// A repository of this format with a session, and the commits of its steps, oldest first.
fn written(format: &[&str]) -> (Sandbox, Vec<String>) {
    let s = Sandbox::empty("repo");
    s.git(&[&["init", "--quiet"], format].concat()).ok();
    begin(&s);
    let mut commits = Vec::new();
    for n in 0..STEPS {
        let said = put(&s, "spec.md", &format!("# Round {n}\n\nÜ {n}\n")).json();
        commits.push(said["commit"].as_str().expect("a commit").to_owned());
    }
    (s, commits)
}

/// The files of the pack folder with this ending.
fn packs(s: &Sandbox, ending: &str) -> Vec<String> {
    let files = s.snapshot(".git/objects/pack").into_iter();
    let names = files.map(|(path, ..)| path.display().to_string());
    names.filter(|name| name.ends_with(ending)).collect()
}

fn objects_are_the_same(s: &Sandbox, digits: usize) {
    let ids = s
        .git(&["rev-list", "--objects", "--no-object-names", "--all"])
        .ok();
    let call = s.call("git").args(&["cat-file", "--batch-check"]);
    let checked = call.stdin(ids).run().ok();
    assert!(checked.lines().count() > 3 * STEPS);
    for line in checked.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        assert_eq!(words.len(), 3, "{line}");
        assert_eq!(words[0].len(), digits, "{line}");
        assert!(["commit", "tree", "blob"].contains(&words[1]), "{line}");
    }
    // git's own index gives the same tree: order, modes and names are what git writes.
    let index = s.root().join("another-index");
    let git = |args: &[&str]| s.call("git").args(args).env("GIT_INDEX_FILE", &index).run();
    git(&["read-tree", "loopx"]).ok();
    assert_eq!(
        git(&["write-tree"]).line(),
        s.git(&["rev-parse", "loopx^{tree}"]).line()
    );
    assert_eq!(
        s.git(&["show", &format!("loopx:sessions/{ID}/spec.md")])
            .ok(),
        s.loopx(&["-s", ID, "cat", "spec.md"]).ok()
    );
    let folder = format!("loopx:sessions/{ID}/ops");
    let files = s.git(&["ls-tree", "--name-only", &folder]).ok();
    let files: BTreeSet<String> = files.lines().map(str::to_owned).collect();
    let known: BTreeSet<String> = operations(s, ID)
        .iter()
        .map(|op| {
            let seq = op["seq"].as_u64().expect("a number");
            format!("{seq:08}-{}.json", op["op"].as_str().expect("an id"))
        })
        .collect();
    assert_eq!(files, known);
}

fn packs_are_the_same(s: &Sandbox) {
    let indexes = packs(s, ".idx");
    assert!(indexes.len() < STEPS, "nothing was rolled up: {indexes:?}");
    let mut largest = 0;
    for index in &indexes {
        let path = s.path().join(".git/objects/pack").join(index);
        let path = path.to_str().expect("UTF-8");
        let listed = s.git(&["verify-pack", "-v", path]).ok();
        largest = largest.max(listed.lines().count());
        let stem = index.trim_end_matches(".idx").trim_start_matches("pack-");
        assert!(stem.bytes().all(|b| b.is_ascii_hexdigit()), "{index}");
    }
    assert!(largest > 3 * 12, "the largest pack has {largest} lines");
    assert_eq!(packs(s, ".keep"), [""; 0]);
}

fn refs_are_the_same(s: &Sandbox, commits: &[String]) {
    let newest = commits.last().expect("a commit");
    assert_eq!(tip(s), *newest);
    let format = "--format=%(objectname) %(objecttype) %(refname)";
    let refs = s
        .git(&["for-each-ref", format, "refs/heads/loopx", "refs/loopx"])
        .ok();
    assert_eq!(
        refs,
        format!("{newest} commit refs/heads/loopx\n{newest} commit refs/loopx/shadow/loopx\n")
    );
    // One entry for each move, in order, with the words of the commit.
    let format = "--format=%H %gs%x09%s";
    let log = s
        .git(&["log", "--walk-reflogs", format, "refs/heads/loopx"])
        .ok();
    let mut entries: Vec<&str> = log.lines().collect();
    entries.reverse();
    assert_eq!(entries.len(), 2 + commits.len(), "{log}");
    for (entry, commit) in entries.iter().skip(2).zip(commits) {
        let (entry, subject) = entry.split_once('\t').expect("a subject");
        assert_eq!(entry, format!("{commit} loopx: {subject}"));
    }
    let before = s.git(&["rev-parse", "loopx@{1}"]).line();
    assert_eq!(before, commits[commits.len() - 2]);
    let trailers = "--format=%(trailers:key=Loopx-Session,valueonly,separator=%x2C)";
    assert_eq!(s.git(&["log", "-1", trailers, "loopx"]).line(), ID);
}

/// Output of our commands about the session.
fn said(s: &Sandbox) -> String {
    [
        &["--json", "-s", ID, "status"][..],
        &["--json", "-s", ID, "log"],
        &["--json", "-s", ID, "show"],
        &["--json", "list"],
        &["-s", ID, "cat", "spec.md"],
    ]
    .map(|args| s.loopx(args).ok())
    .concat()
}

#[test]
fn git_reads_what_was_written_and_we_read_what_git_made_of_it() {
    for format in FORMATS {
        let (s, commits) = written(format);
        let digits = if format.contains(&"--object-format=sha256") {
            64
        } else {
            40
        };
        objects_are_the_same(&s, digits);
        packs_are_the_same(&s);
        refs_are_the_same(&s, &commits);
        assert_whole(&s);
        let before = said(&s);
        for args in [
            &["pack-refs", "--all"][..],
            &["multi-pack-index", "write"],
            &["commit-graph", "write", "--reachable"],
            &["repack", "-ad", "--quiet"],
            &["gc", "--prune=now", "--quiet"],
            &["repack", "-adf", "--write-bitmap-index", "--quiet"],
        ] {
            s.git(args).ok();
            assert_eq!(said(&s), before, "after git {args:?}");
        }
        let dir = detached(&s, "beside");
        s.loopx_in(&dir, &["-s", ID, "run", "--", "true"]).ok();
        assert_whole(&s);
    }
}

/// A process that died with its pack kept: git reads it, and no `gc` takes it away.
#[test]
fn git_reads_a_kept_pack_and_leaves_it() {
    for format in FORMATS {
        let s = Sandbox::empty("repo");
        s.git(&[&["init", "--quiet"], format].concat()).ok();
        begin(&s);
        let before = tip(&s);
        let call = s.call(LOOPX).args(&["-s", ID, "run", "--", "true"]);
        let out = call.env("LOOPX_FAILPOINT", "branch-moved").run();
        assert_eq!(out.code, None, "{out}");
        assert_eq!(s.git(&["rev-parse", "loopx^"]).line(), before);
        let kept = packs(&s, ".keep");
        assert_eq!(kept.len(), 1, "{kept:?}");
        s.git(&["gc", "--prune=now", "--quiet"]).ok();
        assert_eq!(packs(&s, ".keep"), kept);
        s.git(&["fsck", "--full", "--strict"]).ok();
        assert_eq!(operations(&s, ID).len(), 2);
        s.loopx(&["-s", ID, "run", "--", "true"]).ok();
        assert_eq!(packs(&s, ".keep"), [""; 0]);
        assert_whole(&s);
    }
}
