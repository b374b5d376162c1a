//! The rule for paths: what no record names comes into the folder of a session, an issue or a month of the journal by no
//! door, and what a record names is not taken away (acceptance of issue 15: P1 to P4, D18, D30).

use crate::support::archive::Yard;
use crate::support::drive::{Drive, ID};
use crate::support::keys::{RITA, by, everybody};
use crate::support::server::HOOK;
use crate::support::store::{tamper, tamper_all};
use crate::support::{Output, Sandbox};
use std::path::PathBuf;

/// A session, an issue and a note, where wanted, on a remote, and a clone of that.
fn world(with_note: bool) -> (Drive, PathBuf) {
    let d = Drive::reviewing_with(&[]);
    d.loopx(&["issue", "create", "A fault"]).ok();
    if with_note {
        d.loopx(&["note", "--journal", "seen"]).ok();
    }
    let dir = shared(&d);
    (d, dir)
}

/// A clone of a remote that has all that is here.
fn shared(d: &Drive) -> PathBuf {
    d.git(&["init", "--quiet", "--bare", "../remote.git"]).ok();
    d.git(&["remote", "add", "origin", "../remote.git"]).ok();
    d.git(&["push", "--quiet", "origin", "main", ID]).ok();
    d.loopx(&["sync", "origin"]).ok();
    let dir = d.root().join("clone");
    let path = dir.to_str().expect("UTF-8");
    d.git(&["clone", "--quiet", "../remote.git", path]).ok();
    d.loopx_in(&dir, &["init"]).ok();
    dir
}

fn push(s: &Sandbox) -> Output {
    s.git(&["push", "--quiet", "--no-verify", "origin", "loopx"])
}

fn hook(s: &Sandbox) {
    s.script("../remote.git/hooks/pre-receive", HOOK);
}

fn unhook(s: &Sandbox) {
    std::fs::remove_file(s.root().join("remote.git/hooks/pre-receive")).expect("a hook");
}

fn back(s: &Sandbox) {
    s.git(&["update-ref", "refs/heads/loopx", "origin/loopx"])
        .ok();
    s.loopx(&["doctor", "--accept"]).ok();
}

/// The files of the branch below a folder.
fn listed(s: &Sandbox, folder: &str) -> Vec<String> {
    let listed = s
        .git(&["ls-tree", "-r", "--name-only", "loopx", folder])
        .ok();
    listed.lines().map(str::to_owned).collect()
}

/// The folder of the entity that a record is of.
fn folder(record: &str) -> &str {
    record.split_once("/ops/").expect("a record").0
}

#[test]
fn p1_a_folder_among_records_is_refused_and_repaired() {
    let (d, clone) = world(true);
    let mut paths = Vec::new();
    for top in ["issues", "journal"] {
        let record = listed(&d, top).remove(0);
        let (_, name) = record.rsplit_once('/').expect("a name");
        let of = folder(&record);
        paths.push(format!("{of}/ops/sub/evil.sh"));
        paths.push(format!("{of}/ops/00/{name}"));
        paths.push(format!("{of}/ops/+000000/{name}"));
    }
    paths.push(format!("sessions/{ID}/ops/sub/evil.sh"));
    paths.push(format!("sessions/{ID}/imported/evil.sh"));
    for path in paths {
        hook(&d);
        tamper(&d, &path, Some(b"x\n"));
        push(&d).fails_with(1).says("sessions_invalid");
        d.loopx(&["fsck"]).fails_with(1);
        d.loopx(&["fsck", "--repair"]).ok();
        d.loopx(&["fsck", "--full"]).says("all whole").ok();
        assert!(listed(&d, &path).is_empty(), "{path}");
        back(&d);
        tamper(&d, &path, Some(b"x\n"));
        unhook(&d);
        let good = d.git(&["rev-parse", "origin/loopx"]).line();
        push(&d).ok();
        let synced = d.loopx_in(&clone, &["sync", "origin"]);
        // What lies beside the records of a session is left out; what lies elsewhere is not taken over.
        if path.starts_with("sessions/") {
            synced.says("computed again").ok();
        } else {
            synced.fails_with(1).says("no record names it");
        }
        d.loopx_in(&clone, &["fsck", "--full"])
            .says("all whole")
            .ok();
        let reset = format!("{good}:refs/heads/loopx");
        d.git(&[
            "push",
            "--quiet",
            "--no-verify",
            "--force",
            "origin",
            &reset,
        ])
        .ok();
        d.git_in(&clone, &["update-ref", "refs/heads/loopx", &good])
            .ok();
        d.loopx_in(&clone, &["doctor", "--accept"]).ok();
        back(&d);
    }
}

#[test]
fn p2_a_file_right_in_the_journal_gets_a_word_and_a_month_without_records_is_refused() {
    let (d, clone) = world(false);
    hook(&d);
    tamper(&d, "journal/evil.md", Some(b"x\n"));
    let pushed = push(&d);
    assert!(
        pushed.stderr.contains("`journal/evil.md` is nothing"),
        "{pushed}"
    );
    pushed.ok();
    back(&d);
    for path in ["journal/2026-11/evil.md", "journal/2026-11.02/x/e.json"] {
        tamper(&d, path, Some(b"x\n"));
        push(&d).fails_with(1).says("no record is in it");
        d.loopx(&["fsck"]).fails_with(1);
        d.loopx(&["fsck", "--repair"]).ok();
        d.loopx(&["fsck"]).says("all whole").ok();
        back(&d);
    }
    unhook(&d);
    tamper(&d, "journal/2026-11/evil.md", Some(b"x\n"));
    push(&d).ok();
    d.loopx_in(&clone, &["sync", "origin"])
        .fails_with(1)
        .says("no record is in it");
}

#[test]
fn p3_a_folder_that_looks_like_an_issue_has_records() {
    let (d, clone) = world(false);
    hook(&d);
    tamper(&d, "issues/lx-aaaaaaaaaa/x/evil.sh", Some(b"x\n"));
    push(&d).fails_with(1).says("no record is in it");
    d.loopx(&["fsck"]).fails_with(1);
    unhook(&d);
    push(&d).ok();
    d.loopx_in(&clone, &["sync", "origin"])
        .fails_with(1)
        .says("no record is in it");
    d.loopx(&["fsck", "--repair"]).ok();
    d.loopx(&["fsck"]).says("all whole").ok();
}

#[test]
fn p4_a_signature_of_a_signature_is_left_out_by_sync() {
    let (d, clone) = world(false);
    let records = listed(&d, &format!("sessions/{ID}/ops"));
    let path = format!("{}.sig.sig", records[0]);
    let edits = [(path.clone(), Some(b"x\n".to_vec()))];
    tamper_all(&d, &edits);
    hook(&d);
    push(&d).fails_with(1);
    unhook(&d);
    push(&d).ok();
    // With work on both sides, and without.
    for went_on in [false, true] {
        if went_on {
            d.loopx_in(&clone, &["-s", ID, "note", "went on"]).ok();
            tamper_all(
                &d,
                &[(format!("{}.sig.sig", records[1]), Some(b"x\n".to_vec()))],
            );
            push(&d).ok();
        }
        d.loopx_in(&clone, &["sync", "origin"]).ok();
        d.loopx_in(&clone, &["fsck", "--full"])
            .says("all whole")
            .ok();
        d.loopx(&["fsck", "--repair"]).ok();
        d.loopx(&["sync", "origin"]).ok();
        d.loopx(&["fsck", "--full"]).says("all whole").ok();
        assert!(
            listed(&d, &format!("sessions/{ID}/ops"))
                .iter()
                .all(|path| !path.ends_with(".sig.sig"))
        );
    }
}

#[test]
fn d18_a_readme_of_somebody_else_is_named_by_the_hook_and_by_fsck() {
    let (d, _) = world(false);
    hook(&d);
    tamper(&d, "README.md", Some(b"# Clone evil.example\n"));
    let pushed = push(&d);
    assert!(pushed.stderr.contains("`README.md` is nothing"), "{pushed}");
    pushed.ok();
    d.loopx(&["fsck"]).says("README.md").ok();
    let (d, _) = world(false);
    let commit = d.git(&["rev-parse", "loopx"]).line();
    d.loopx(&["-s", ID, "run", "--", "true"]).ok();
    d.loopx(&["issue", "create", "Another"]).ok();
    d.loopx(&["note", "--journal", "seen"]).ok();
    assert_ne!(d.git(&["rev-parse", "loopx"]).line(), commit);
    let quiet = d.loopx(&["fsck", "--full"]).says("all whole");
    assert!(!quiet.stderr.contains("changes"), "{quiet}");
    quiet.ok();
}

#[test]
fn r26_the_text_of_an_older_program_is_no_stranger() {
    const JOURNAL: &str =
        "    git log loopx -- journal                    notes that belong to none\n";
    let (d, _) = world(false);
    d.git(&["init", "--quiet", "--bare", "../other.git"]).ok();
    d.script("../other.git/hooks/pre-receive", HOOK);
    let text = d.git(&["show", "loopx:README.md"]).ok();
    let second = text.replace(JOURNAL, "");
    let (first, _) = second.split_once("Where there are").expect("a paragraph");
    let first = format!("{first}and work on it with `git loopx status`.\n");
    assert_ne!(second, text);
    for (text, digest) in [
        (&second, "3195770080275d2ab9d64ae2e675f6fca60f4b2d"),
        (&first, "e830441d1f0e1ff511d424feffd087c8a845444c"),
    ] {
        tamper(&d, "README.md", Some(text.as_bytes()));
        assert_eq!(d.git(&["rev-parse", "loopx:README.md"]).line(), digest);
        let spec = [
            "push",
            "--no-verify",
            "../other.git",
            "+loopx:refs/heads/loopx",
        ];
        let pushed = d.git(&spec);
        assert!(!pushed.stderr.contains("README"), "{pushed}");
        pushed.ok();
        d.git(&[
            "--git-dir=../other.git",
            "update-ref",
            "-d",
            "refs/heads/loopx",
        ])
        .ok();
        back(&d);
    }
}

#[test]
fn r29_a_readme_that_was_taken_away_is_named_and_put_back() {
    let (d, clone) = world(false);
    hook(&d);
    tamper(&d, "README.md", None);
    let pushed = push(&d);
    assert!(
        pushed.stderr.contains("`README.md` was taken away"),
        "{pushed}"
    );
    pushed.ok();
    d.loopx(&["fsck"]).says("README.md").ok();
    d.loopx_in(&clone, &["sync", "origin"])
        .says("README.md: was taken away")
        .ok();
    d.git_in(&clone, &["cat-file", "-e", "loopx:README.md"])
        .ok();
    d.loopx_in(&clone, &["fsck", "--full"])
        .says("all whole")
        .ok();
}

#[test]
fn r16_a_stray_that_an_older_program_took_is_left_out_by_the_next_merge() {
    let (d, clone) = world(false);
    let paths = [
        format!("sessions/{ID}/imported/x.md"),
        format!("sessions/{ID}/logs/x.log"),
        format!("sessions/{ID}/evil.md"),
    ];
    let edits = paths.clone().map(|path| (path, Some(b"x\n".to_vec())));
    tamper_all(&d, &edits);
    push(&d).ok();
    d.git_in(&clone, &["fetch", "--quiet", "origin"]).ok();
    d.git_in(&clone, &["update-ref", "refs/heads/loopx", "origin/loopx"])
        .ok();
    // What an older program knew stands there as what was seen.
    for dir in [d.path(), clone.as_path()] {
        let listed = ["for-each-ref", "--format=%(refname)", "refs/loopx/shadow"];
        for name in d.git_in(dir, &listed).ok().lines() {
            d.git_in(dir, &["update-ref", name, "refs/heads/loopx"])
                .ok();
        }
    }
    hook(&d);
    d.loopx(&["-s", ID, "run", "--", "true"]).ok();
    d.loopx_in(&clone, &["-s", ID, "note", "seen"]).ok();
    d.loopx_in(&clone, &["sync", "origin"]).ok();
    d.loopx(&["sync", "origin"]).ok();
    for path in paths {
        assert!(listed(&d, &path).is_empty(), "{path}");
    }
    d.loopx_in(&clone, &["sync", "origin"]).ok();
    for dir in [d.path(), clone.as_path()] {
        d.loopx_in(dir, &["fsck", "--full"]).says("all whole").ok();
        d.loopx_in(dir, &["log"]).says("seen").ok();
    }
}

#[test]
fn d30_a_base_that_a_record_names_is_not_taken_away() {
    let y = Yard::ready();
    y.git(&["init", "--quiet", "--bare", "../remote.git"]).ok();
    y.git(&["remote", "add", "origin", "../remote.git"]).ok();
    y.git(&["push", "--quiet", "--no-verify", "origin", "main"])
        .ok();
    y.loopx(&["sync", "origin"]).ok();
    let all = listed(&y, "sessions");
    let base = all.iter().find(|path| path.contains("/change/bases/"));
    let (folder, _) = base.expect("a base").rsplit_once('/').expect("a folder");
    let bases = listed(&y, folder);
    tamper(&y, folder, None);
    hook(&y);
    push(&y).fails_with(1).says("is not there");
    y.loopx(&["fsck"]).fails_with(1).says("change/bases");
    y.loopx(&["fsck", "--repair"]).ok();
    y.loopx(&["fsck"]).says("all whole").ok();
    assert_eq!(listed(&y, folder), bases);
    back(&y);
    let dir = y.root().join("clone");
    let path = dir.to_str().expect("UTF-8");
    y.git(&["clone", "--quiet", "../remote.git", path]).ok();
    y.loopx_in(&dir, &["init"]).ok();
    tamper(&y, folder, None);
    unhook(&y);
    push(&y).ok();
    y.loopx_in(&dir, &["sync", "origin"]).ok();
    let tree = y.git_in(&dir, &["ls-tree", "-r", "--name-only", "loopx", folder]);
    assert_eq!(tree.ok().lines().count(), bases.len());
    y.loopx_in(&dir, &["fsck", "--full"]).says("all whole").ok();
}

/// The world of a signed verdict, a remote and a clone.
fn signed_world() -> (Drive, PathBuf) {
    let signers = everybody();
    let policy = [
        ("loopx.toml", "[review]\nsigned = true\n"),
        ("loopx.signers", signers.as_str()),
    ];
    let d = Drive::reviewing_with(&policy);
    by(&d, RITA, &["review", "--verdict", "approve", "--sign"]).ok();
    let dir = shared(&d);
    (d, dir)
}

#[test]
fn r1_r2_a_sealed_file_beside_records_takes_no_signature_away_and_stops_nobody() {
    let (d, clone) = signed_world();
    let signed = "signed, ED25519";
    d.loopx(&["status", ID]).says(signed).ok();
    for (name, bytes) in [
        ("signatures.jsonl", &b""[..]),
        ("signatures.jsonl", b"evil\n"),
        ("ops.jsonl", b""),
        ("ops.jsonl", b"evil\n"),
    ] {
        let path = format!("sessions/{ID}/{name}");
        hook(&d);
        tamper(&d, &path, Some(bytes));
        push(&d)
            .fails_with(1)
            .says(&format!("{name} is named by no operation"));
        d.loopx(&["status", ID]).says(signed).ok();
        d.loopx(&["fsck"]).fails_with(1).says(name);
        d.loopx(&["fsck", "--repair"]).ok();
        d.loopx(&["fsck", "--full"]).says("all whole").ok();
        assert!(listed(&d, &path).is_empty(), "{path}");
        back(&d);
        tamper(&d, &path, Some(bytes));
        unhook(&d);
        push(&d).ok();
        d.loopx_in(&clone, &["sync", "origin"])
            .says("computed again")
            .ok();
        d.loopx_in(&clone, &["status", ID]).says(signed).ok();
        d.loopx_in(&clone, &["fsck", "--full"])
            .says("all whole")
            .ok();
        d.loopx(&["fsck", "--repair"]).ok();
        d.loopx(&["sync", "origin"]).ok();
        d.loopx(&["fsck", "--full"]).says("all whole").ok();
    }
}

/// Paths that hold arbitrary bytes, each named as the record beside it would name an honest file.
fn by_content(d: &Drive) -> Vec<String> {
    let blob = d.call("git").args(&["hash-object", "-w", "--stdin"]);
    let blob = blob.stdin("evil\n").run().line();
    let no_run = listed(d, &format!("sessions/{ID}/ops")).remove(0);
    let id = no_run.trim_end_matches(".json").rsplit('-').next();
    let id = id.expect("an id").to_owned();
    let paths = [
        format!("change/bases/{blob}.md"),
        format!("change/bases/x.sh/y/{blob}"),
        format!("versions/x/{blob}"),
        format!("versions/spec.md/{blob}"),
        format!("logs/{id}.log"),
    ];
    paths.map(|path| format!("sessions/{ID}/{path}")).into()
}

#[test]
fn r3_r4_a_file_named_by_its_own_hash_or_by_no_run_is_left_out() {
    let (d, clone) = world(false);
    for path in by_content(&d) {
        hook(&d);
        tamper(&d, &path, Some(b"evil\n"));
        push(&d).fails_with(1).says("is named by no operation");
        d.loopx(&["fsck"])
            .fails_with(1)
            .says("is named by no operation");
        d.loopx(&["fsck", "--repair"]).ok();
        d.loopx(&["fsck", "--full"]).says("all whole").ok();
        assert!(listed(&d, &path).is_empty(), "{path}");
        back(&d);
        tamper(&d, &path, Some(b"evil\n"));
        unhook(&d);
        push(&d).ok();
        d.loopx_in(&clone, &["sync", "origin"])
            .says("computed again")
            .ok();
        d.loopx_in(&clone, &["fsck", "--full"])
            .says("all whole")
            .ok();
        d.loopx(&["fsck", "--repair"]).ok();
        d.loopx(&["sync", "origin"]).ok();
    }
}

#[test]
fn r5_r8_a_file_in_the_place_of_a_folder_is_refused_by_its_path() {
    for path in [
        "issues/lx-aaaaaaaaaa",
        "issues/lx-aaaaaaaaaa/ops",
        "journal/2026-12",
        "journal/2026-12/ops",
        "archive/evil.md",
        "archive",
    ] {
        let (d, clone) = world(false);
        hook(&d);
        tamper(&d, path, Some(b"evil\n"));
        let what = format!("{path}: a file is in the place of a folder");
        push(&d).fails_with(1).says("sessions_invalid").says(&what);
        d.loopx(&["fsck"])
            .fails_with(1)
            .says("in the place of a folder");
        d.loopx(&["fsck", "--repair"]).ok();
        d.loopx(&["fsck", "--full"]).says("all whole").ok();
        assert!(listed(&d, path).is_empty(), "{path}");
        back(&d);
        tamper(&d, path, Some(b"evil\n"));
        unhook(&d);
        push(&d).ok();
        d.loopx_in(&clone, &["sync", "origin"])
            .fails_with(1)
            .says(&what)
            .says(&format!("-- '{path}'"))
            .says("git push --force-with-lease");
        d.loopx_in(&clone, &["fsck", "--full"])
            .says("all whole")
            .ok();
    }
}

#[test]
fn r8_a_stranger_among_archived_sessions_is_named_by_its_path() {
    let (d, _) = world(false);
    hook(&d);
    let path = "archive/2026-11/evil.md";
    tamper(&d, path, Some(b"x\n"));
    let pushed = push(&d);
    let word = format!("`{path}` is nothing");
    assert!(pushed.stderr.contains(&word), "{pushed}");
    pushed.ok();
}

#[test]
fn r6_an_entry_of_the_index_is_an_empty_file() {
    let (d, clone) = world(false);
    let path = listed(&d, "branches").remove(0);
    hook(&d);
    tamper(&d, &path, Some(b"evil\n"));
    push(&d).fails_with(1).says("is no empty file");
    d.loopx(&["fsck"]).fails_with(1).says("is no empty file");
    d.loopx(&["fsck", "--repair"]).ok();
    d.loopx(&["fsck", "--full"]).says("all whole").ok();
    back(&d);
    tamper(&d, &path, Some(b"evil\n"));
    unhook(&d);
    push(&d).ok();
    d.loopx_in(&clone, &["sync", "origin"]).ok();
    d.loopx_in(&clone, &["fsck", "--full"])
        .says("all whole")
        .ok();
    let left = d.git_in(&clone, &["cat-file", "-s", &format!("loopx:{path}")]);
    assert_eq!(left.line(), "0");
}

#[test]
fn r7_an_empty_folder_of_any_name_is_refused() {
    let (d, clone) = world(false);
    hook(&d);
    let git = |args: &[&str], stdin: &str| d.call("git").args(args).stdin(stdin).run().line();
    let empty = git(&["mktree"], "");
    let with = |tree: &str, name: &str, id: &str| {
        let mut held = d.git(&["ls-tree", tree]).ok();
        held = held
            .lines()
            .filter(|line| !line.ends_with(&format!("\t{name}")))
            .map(|line| format!("{line}\n"))
            .collect();
        git(&["mktree"], &format!("{held}040000 tree {id}\t{name}\n"))
    };
    let session = with(&format!("loopx:sessions/{ID}"), "evil-name", &empty);
    let sessions = with("loopx:sessions", ID, &session);
    let tree = with("loopx", "sessions", &sessions);
    let commit = git(&["commit-tree", &tree, "-p", "loopx", "-m", "by hand"], "");
    let spec = format!("{commit}:refs/heads/loopx");
    let push = || d.git(&["push", "--quiet", "--no-verify", "origin", &spec]);
    push().fails_with(1).says("evil-name` is an empty folder");
    unhook(&d);
    push().ok();
    d.loopx_in(&clone, &["sync", "origin"])
        .fails_with(1)
        .says("evil-name");
}
