//! File systems that take nothing, in a mount namespace of their own: a read-only one, which stops root
//! too, and one that is full but for a few blocks, at every number of them. What is refused is refused in
//! one sentence with exit 1 and changes nothing; with room again the same command works.
//!
//! Where mounting is not allowed the tests say so and pass.

#![expect(clippy::print_stderr, reason = "a test that is skipped says so")]

use crate::support::archive::{DEMO_PATH, ID as ARCHIVED, Yard};
use crate::support::store::{ID, READY, assert_whole, count, everything, put, started, tell};
use crate::support::{Call, LOOPX, Output, Sandbox};
use std::fs;

/// Runs a script as root of its own mounts.
fn mounting<'a>(s: &'a Sandbox, script: &str, args: &[&str]) -> Call<'a> {
    let call = s.call("unshare").args(&["-m", "sh", "-c", script, "sh"]);
    call.args(args)
}

fn may_mount(s: &Sandbox) -> bool {
    let place = s.root().join("mounted");
    fs::create_dir_all(&place).expect("a folder");
    let place = place.to_str().expect("UTF-8");
    let out = mounting(s, "mount -t tmpfs -o size=1m tmpfs \"$1\"", &[place]).run();
    if out.code != Some(0) {
        eprintln!("skipped: mounting is not allowed here");
    }
    out.code == Some(0)
}

const READ_ONLY: &str =
    "mount --bind \"$1\" \"$1\" && mount -o remount,bind,ro \"$1\" && cd \"$1\" || exit 99
shift; exec \"$@\"";

/// A command on a repository that is mounted read-only.
fn read_only(s: &Sandbox, args: &[&str]) -> Output {
    let repo = s.path().to_str().expect("UTF-8");
    mounting(s, READ_ONLY, &[&[repo, LOOPX], args].concat())
        .stdin(READY)
        .run()
}

/// Words of the system and of git for a disk that takes no more.
const FULL_WORDS: [&str; 5] = [
    "No space left",
    "Out of diskspace",
    "couldn't write",
    "unable to create",
    "unable to write",
];

/// Asserts a single sentence and what leads on, with no word of damage.
#[track_caller]
fn one_sentence(code: i32, stderr: &str, words: &[&str]) {
    assert_eq!(code, 1, "{stderr}");
    assert!(words.iter().any(|word| stderr.contains(word)), "{stderr}");
    let said = |line: &&str| line.starts_with("error: ") || line.starts_with("refused: ");
    assert_eq!(stderr.lines().filter(said).count(), 1, "{stderr}");
    assert!(!stderr.contains("panicked"), "{stderr}");
}

#[test]
fn a_read_only_file_system_refuses_root_in_one_sentence_and_changes_nothing() {
    let y = Yard::ready();
    if !may_mount(&y) {
        return;
    }
    let id = ["-s", ARCHIVED];
    for args in [
        &["status"][..],
        &["list"],
        &["log"],
        &["doctor"],
        &["fsck"],
        &["verify"],
    ] {
        let out = read_only(&y, &[&id, args].concat());
        assert_eq!(out.code, Some(0), "{out}");
    }
    for args in [
        &["run", "--", "true"][..],
        &["undo"],
        &["abandon"],
        &["start", "--no-branch", "Another"],
        &["doctor", "--fix"],
        &["adr", "new", "Another"],
        &["hooks", "install"],
        &["archive"],
    ] {
        let before = everything(&y);
        let out = read_only(&y, &[&id, args].concat());
        one_sentence(
            out.code.unwrap_or(-1),
            &out.stderr,
            &["Read-only file system"],
        );
        assert_eq!(everything(&y), before, "{args:?}");
    }
    y.archive(ARCHIVED, &[]).ok();
    y.archived_once(ARCHIVED, ARCHIVED);
    let s = started();
    let before = everything(&s);
    let out = read_only(&s, &["put", "spec.md"]);
    one_sentence(
        out.code.unwrap_or(-1),
        &out.stderr,
        &["Read-only file system"],
    );
    assert_eq!(everything(&s), before);
    put(&s, "spec.md", READY).ok();
    assert_whole(&s);
}

/// A command on a copy of the repository, on a disk that is full.
const FULL_ALREADY: &str =
    "mount -t tmpfs -o size=16m tmpfs \"$1\" && cp -a \"$2/.\" \"$1\" && cd \"$1\" || exit 99
dd if=/dev/zero of=.git/fill bs=4096 2>/dev/null
shift 2; exec \"$@\"";

#[test]
fn uncommitted_code_is_read_where_the_repository_takes_nothing() {
    let s = Sandbox::new();
    s.commit_file("src/old.rs", "old\n", "first").ok();
    s.loopx(&["init"]).ok();
    s.git(&["switch", "--quiet", "-c", "work"]).ok();
    s.loopx(&["start", "--quick", "--id", "it", "Shorter"]).ok();
    if !may_mount(&s) {
        return;
    }
    s.write("src/old.rs", "edited\n");
    s.write("src/new.rs", "new\n");
    let place = s.root().join("mounted");
    let (place, repo) = (place.to_str().expect("UTF-8"), s.path().to_str());
    let full = |args: &[&str]| {
        let head = [place, repo.expect("UTF-8"), LOOPX];
        mounting(&s, FULL_ALREADY, &[&head, args].concat()).run()
    };
    let shown = ["--json", "approve", "--show"];
    let before = everything(&s);
    let read = [read_only(&s, &shown), full(&shown)];
    assert_eq!(everything(&s), before);
    let known = s.loopx(&shown);
    for out in read {
        assert_eq!(out.code, known.code, "{out}");
        assert_eq!(out.json(), known.json());
    }
    assert!(known.json()["code"]["tree"].is_string(), "{known}");
    for args in [&["status"][..], &["next"], &["review", "--show"], &["list"]] {
        let known = s.loopx(args).code;
        for out in [read_only(&s, args), full(args)] {
            assert_eq!(out.code, known, "{out}");
            assert!(!out.stderr.contains("make room"), "{out}");
        }
    }
    // Who records it needs room as before.
    let out = read_only(&s, &["run", "--", "true"]);
    one_sentence(
        out.code.unwrap_or(-1),
        &out.stderr,
        &["Read-only file system"],
    );
}

/// Copies the repository to a small disk, fills it but for some blocks, runs the command, makes room and
/// runs it again. What it found goes to files beside: codes, words, refs; and the repository comes back.
const FULL: &str =
    "mount -t tmpfs -o size=16m tmpfs \"$1\" && cp -a \"$2/.\" \"$1\" && cd \"$1\" || exit 99
blocks=$3 out=$4; shift 4
refs() { git for-each-ref; git status --porcelain; }
refs >\"$out/before\"
dd if=/dev/zero of=fill-less bs=4096 count=\"$blocks\" 2>/dev/null
dd if=/dev/zero of=fill bs=4096 2>/dev/null
rm fill-less
\"$@\" >\"$out/stdout\" 2>\"$out/stderr\" </dev/null; echo $? >\"$out/code\"
rm fill
refs >\"$out/after\"
\"$@\" >\"$out/again\" 2>&1 </dev/null; echo $? >\"$out/second\"
git fsck --full --strict --no-dangling >\"$out/fsck\" 2>&1; echo $? >>\"$out/fsck\"
git-loopx fsck >>\"$out/fsck\" 2>&1; git-loopx doctor >>\"$out/fsck\" 2>&1
";

#[test]
fn a_disk_that_is_full_at_any_block_refuses_and_with_room_again_the_same_command_works() {
    let s = started();
    if !may_mount(&s) {
        return;
    }
    // No file of the test lies among those of the repository.
    s.write(".git/info/exclude", "/fill*\n/.loopx/\n");
    s.write("../ready.md", READY);
    let ready = s.root().join("ready.md");
    let out = s.root().join("out");
    fs::create_dir_all(&out).expect("a folder");
    let place = s.root().join("mounted");
    let text = |path: &std::path::Path| path.to_str().expect("UTF-8").to_owned();
    let (place, repo, to, ready) = (text(&place), text(s.path()), text(&out), text(&ready));
    let said = |name: &str| fs::read_to_string(out.join(name)).expect("a file");
    let (mut refused, mut done) = (0, 0);
    for blocks in 0..count(8, 60) {
        for args in [&["put", "spec.md", &ready][..], &["run", "--", "true"]] {
            let blocks = blocks.to_string();
            let head = [place.as_str(), &repo, &blocks, &to, LOOPX, "-s", ID];
            mounting(&s, FULL, &[&head, args].concat()).run().ok();
            let what = format!("{args:?} with {blocks} blocks: {}", said("stderr"));
            let code: i32 = said("code").trim().parse().expect("a code");
            if code == 0 {
                done += 1;
            } else {
                refused += 1;
                one_sentence(code, &said("stderr"), &FULL_WORDS);
                assert_eq!(said("before"), said("after"), "{what}");
                assert_eq!(said("second").trim(), "0", "{what}\n{}", said("again"));
            }
            assert!(said("fsck").starts_with("0\n"), "{what}\n{}", said("fsck"));
            assert!(
                said("fsck").contains("all whole"),
                "{what}\n{}",
                said("fsck")
            );
            assert!(
                said("fsck").contains("leftovers  none"),
                "{what}\n{}",
                said("fsck")
            );
        }
    }
    assert!(refused > 0 && done > 0, "{refused} refused, {done} done");
    tell(&format!("a full disk: {refused} refused, {done} done"));
}

/// Promotes a draft on a small disk that is full but for some blocks; what is found goes to files beside.
const PROMOTED: &str =
    "mount -t tmpfs -o size=16m tmpfs \"$1\" && cp -a \"$2/.\" \"$1\" && cd \"$1\" || exit 99
blocks=$3 out=$4 record=$5; shift 5
refs() { git for-each-ref; git status --porcelain; ls -A .git/loopx/journal 2>/dev/null; }
refs >\"$out/before\"
dd if=/dev/zero of=fill-less bs=4096 count=\"$blocks\" 2>/dev/null
dd if=/dev/zero of=fill bs=4096 2>/dev/null
rm fill-less
\"$@\" >\"$out/stdout\" 2>\"$out/stderr\" </dev/null; echo $? >\"$out/code\"
if [ -e \"$record\" ]; then wc -c <\"$record\"; else echo none; fi >\"$out/record\"
git rev-parse --verify --quiet \"HEAD:$record\" >\"$out/landed\"
rm fill
refs >\"$out/after\"
git-loopx doctor --fix >\"$out/fixed\" 2>&1
git status --porcelain >\"$out/status\"
git rev-parse --verify --quiet \"HEAD:$record\" >/dev/null && cat \"$record\" >\"$out/text\"
git commit --quiet --allow-empty -m next && git rev-parse --verify --quiet \"HEAD:$record\" >\"$out/kept\"
true
";

#[test]
fn t4_a_promotion_on_a_disk_that_is_full_at_any_block_is_nothing_or_lands_and_is_finished() {
    let s = Sandbox::new();
    if !may_mount(&s) {
        return;
    }
    s.commit_file("code.txt", "code\n", "code").ok();
    s.loopx(&["init"]).ok();
    s.loopx(&["adr", "new", "Keep it"]).ok();
    // Long enough that index and file need blocks of their own.
    let draft = "docs/adr/draft-keep-it.md";
    let text = s.read(draft) + &"A line that explains it.\n".repeat(1_000);
    s.write(draft, text);
    s.write(".git/info/exclude", "/fill*\n/.loopx/\n");
    let record = "docs/adr/0001-keep-it.md";
    let out = s.root().join("out");
    fs::create_dir_all(&out).expect("a folder");
    let place = s.root().join("mounted");
    let path = |path: &std::path::Path| path.to_str().expect("UTF-8").to_owned();
    let (place, repo, to) = (path(&place), path(s.path()), path(&out));
    let said = |name: &str| fs::read_to_string(out.join(name)).unwrap_or_default();
    let (mut refused, mut done, mut unfinished) = (0, 0, 0);
    for blocks in 0..count(30, 80) {
        for name in ["text", "kept"] {
            drop(fs::remove_file(out.join(name)));
        }
        let blocks = blocks.to_string();
        let head = [place.as_str(), &repo, &blocks, &to, record, LOOPX];
        let call = mounting(&s, PROMOTED, &[&head[..], &["adr", "promote"]].concat());
        call.run().ok();
        let what = format!("{blocks} blocks: {}\n{}", said("stderr"), said("fixed"));
        let code: i32 = said("code").trim().parse().expect("a code");
        // Never empty, never half.
        let size = said("record").trim().to_owned();
        assert!(
            size == "none" || size.parse().is_ok_and(|n: u32| n > 20_000),
            "{size}\n{what}"
        );
        if code != 0 {
            refused += 1;
            one_sentence(code, &said("stderr"), &FULL_WORDS);
            assert_eq!(said("before"), said("after"), "{what}");
            assert_eq!(said("landed"), "", "{what}");
            continue;
        }
        done += 1;
        assert_ne!(said("landed"), "", "{what}");
        if !said("stderr").is_empty() {
            unfinished += 1;
            assert!(said("stderr").starts_with("warning: "), "{what}");
            assert!(said("stderr").contains("doctor --fix"), "{what}");
        }
        assert_eq!(said("status"), "", "{what}");
        assert!(
            said("text").ends_with("A line that explains it.\n"),
            "{what}"
        );
        assert_eq!(said("kept"), said("landed"), "{what}");
    }
    assert!(refused > 0 && done > 0, "{refused} refused, {done} done");
    tell(&format!(
        "a promotion: {refused} refused, {done} done, {unfinished} of them finished later"
    ));
}

#[test]
fn t4_what_lands_on_a_full_disk_is_kept_by_the_next_commit_whichever_command_landed_it() {
    let ready = Yard::ready();
    if !may_mount(&ready) {
        return;
    }
    let archived = Yard::ready();
    archived.archive(ARCHIVED, &[]).ok();
    let (mut refused, mut done) = (0, 0);
    for (y, args) in [
        (&ready, &["archive"][..]),
        (&archived, &["archive", "--undo", ARCHIVED]),
    ] {
        y.write(".git/info/exclude", "/fill*\n/.loopx/\n");
        let out = y.root().join("out");
        fs::create_dir_all(&out).expect("a folder");
        let place = y.root().join("mounted");
        fs::create_dir_all(&place).expect("a folder");
        let path = |path: &std::path::Path| path.to_str().expect("UTF-8").to_owned();
        let (place, repo, to) = (path(&place), path(y.path()), path(&out));
        let said = |name: &str| fs::read_to_string(out.join(name)).unwrap_or_default();
        let before = y.git(&["rev-parse", &format!("HEAD:{DEMO_PATH}")]).line();
        for blocks in (0..count(24, 80)).step_by(count(6, 1)) {
            for name in ["text", "kept"] {
                drop(fs::remove_file(out.join(name)));
            }
            let blocks = blocks.to_string();
            let head = [place.as_str(), &repo, &blocks, &to, DEMO_PATH, LOOPX];
            mounting(y, PROMOTED, &[&head[..], args].concat())
                .run()
                .ok();
            let what = format!(
                "{args:?} {blocks} blocks: {}\n{}",
                said("stderr"),
                said("fixed")
            );
            let code: i32 = said("code").trim().parse().expect("a code");
            // Never empty, never half.
            let size = said("record").trim().to_owned();
            assert!(
                size == "none" || size.parse().is_ok_and(|n: u32| n > 100),
                "{size}\n{what}"
            );
            if code == 0 {
                done += 1;
                assert_ne!(said("landed").trim(), before, "{what}");
            } else {
                refused += 1;
                one_sentence(code, &said("stderr"), &FULL_WORDS);
                assert_eq!(said("landed").trim(), before, "{what}");
                assert_eq!(said("before"), said("after"), "{what}");
            }
            assert_eq!(said("status"), "", "{what}");
            assert_eq!(said("kept"), said("landed"), "{what}");
            assert_ne!(said("text"), "", "{what}");
        }
    }
    assert!(refused > 0 && done > 0, "{refused} refused, {done} done");
    tell(&format!(
        "archives on a full disk: {refused} refused, {done} done"
    ));
}

/// Runs a command on a small disk that is full but for some blocks or files, with the git directory on that disk or
/// elsewhere; makes room; and commits by git alone, with no command of ours in between.
const COMMITTED: &str =
    "mount -t tmpfs -o size=16m,nr_inodes=1200 tmpfs \"$1\" && cp -a \"$2/.\" \"$1\" && cd \"$1\" || exit 99
apart=$3 kind=$4 left=$5 out=$6 path=$7 next=$8; shift 8
rm -rf \"$out/git\"
[ \"$apart\" = whole ] || { mv .git \"$out/git\" && echo \"gitdir: $out/git\" >.git; } || exit 98
git update-index -q --refresh
state() { git for-each-ref; git status --porcelain -uall; ls -A \"$(git rev-parse --git-dir)\"; }
blob() { git rev-parse --verify --quiet \"HEAD:$path\"; }
state >\"$out/before\"; blob >\"$out/known\"
if [ \"$kind\" = blocks ]; then
  dd if=/dev/zero of=fill-less bs=4096 count=\"$left\" 2>/dev/null
  dd if=/dev/zero of=fill bs=4096 2>/dev/null
  rm fill-less
else
  mkdir fill-files; seq 1 1300 | sed s,^,fill-files/, | xargs touch 2>/dev/null
  seq 1 \"$left\" | sed s,^,fill-files/, | xargs rm -f
fi
\"$@\" >\"$out/stdout\" 2>\"$out/stderr\" </dev/null; echo $? >\"$out/code\"
rm -rf fill fill-files
state >\"$out/after\"; blob >\"$out/landed\"
for file in code.txt src/app.txt; do [ ! -e $file ] || echo more >>$file; done
eval \"$next\" >\"$out/next\" 2>&1; echo $? >>\"$out/next\"
blob >\"$out/kept\"; git status --porcelain >\"$out/status\"
true
";

#[test]
fn q2_what_lands_on_a_full_disk_is_kept_by_the_next_commit_of_all_files_and_else_nothing_lands() {
    let drafted = Sandbox::new();
    if !may_mount(&drafted) {
        return;
    }
    drafted.commit_file("code.txt", "code\n", "code").ok();
    drafted.loopx(&["init"]).ok();
    drafted.loopx(&["adr", "new", "Keep it"]).ok();
    let draft = "docs/adr/draft-keep-it.md";
    let text = drafted.read(draft) + &"A line that explains it.\n".repeat(1_000);
    drafted.write(draft, text);
    let ready = Yard::ready();
    let record = "docs/adr/0001-keep-it.md";
    let (mut refused, mut done) = (0, 0);
    for (s, path, args) in [
        (&drafted, record, &["adr", "promote"][..]),
        (&ready, DEMO_PATH, &["archive"]),
    ] {
        s.write(".git/info/exclude", "/fill*\n/.loopx/\n");
        let out = s.root().join("out");
        let place = s.root().join("mounted");
        for folder in [&out, &place] {
            fs::create_dir_all(folder).expect("a folder");
        }
        let text = |path: &std::path::Path| path.to_str().expect("UTF-8").to_owned();
        let (place, repo, to) = (text(&place), text(s.path()), text(&out));
        let said = |name: &str| fs::read_to_string(out.join(name)).unwrap_or_default();
        let mut run = 0;
        for apart in ["whole", "apart"] {
            for kind in ["blocks", "files"] {
                let most = if apart == "whole" { 30 } else { 14 };
                for left in (0..most).step_by(count(3, 1)) {
                    run += 1;
                    let next = match run % 2 {
                        0 => "git commit -qam next",
                        _ => "git add -A && git commit -qm next",
                    };
                    let left = left.to_string();
                    let head = [&place, &repo, apart, kind, &left, &to, path, next, LOOPX];
                    mounting(s, COMMITTED, &[&head[..], args].concat())
                        .run()
                        .ok();
                    let what = format!(
                        "{args:?} {apart}, {left} {kind}, then {next}: {}\n{}\n{}",
                        said("stderr"),
                        said("next"),
                        said("status")
                    );
                    let code: i32 = said("code").trim().parse().expect("a code");
                    if code == 0 {
                        done += 1;
                        assert_ne!(said("landed"), said("known"), "{what}");
                        assert_eq!(said("stderr"), "", "{what}");
                    } else {
                        refused += 1;
                        one_sentence(code, &said("stderr"), &FULL_WORDS);
                        assert_eq!(said("before"), said("after"), "{what}");
                    }
                    assert_eq!(said("kept"), said("landed"), "{what}");
                    assert!(said("next").ends_with("0\n"), "{what}");
                    if code == 0 {
                        assert_eq!(said("status"), "", "{what}");
                    }
                }
            }
        }
    }
    assert!(refused > 0 && done > 0, "{refused} refused, {done} done");
    tell(&format!(
        "landings, then a commit of all files: {refused} refused, {done} done"
    ));
}

#[test]
fn t4_a_start_on_a_full_disk_has_started_or_has_not_and_a_commit_takes_nothing_away() {
    let s = started();
    if !may_mount(&s) {
        return;
    }
    s.write(".git/info/exclude", "/fill*\n/.loopx/\n");
    let out = s.root().join("out");
    fs::create_dir_all(&out).expect("a folder");
    let place = s.root().join("mounted");
    let path = |path: &std::path::Path| path.to_str().expect("UTF-8").to_owned();
    let (place, repo, to) = (path(&place), path(s.path()), path(&out));
    let said = |name: &str| fs::read_to_string(out.join(name)).unwrap_or_default();
    let (mut refused, mut done) = (0, 0);
    for blocks in (0..count(16, 60)).step_by(count(4, 1)) {
        let blocks = blocks.to_string();
        let copy = ".loopx/other/spec.md";
        let head = [place.as_str(), &repo, &blocks, &to, copy, LOOPX];
        let start = ["start", "--no-branch", "other"];
        mounting(&s, PROMOTED, &[&head[..], &start].concat())
            .run()
            .ok();
        let what = format!("{blocks} blocks: {}\n{}", said("stderr"), said("fixed"));
        match said("code").trim() {
            "0" => {
                done += 1;
                assert!(!said("stderr").contains("refused"), "{what}");
                assert_ne!(said("before"), said("after"), "{what}");
            }
            code => {
                refused += 1;
                let code = code.parse().expect("a code");
                one_sentence(code, &said("stderr"), &FULL_WORDS);
                assert_eq!(said("before"), said("after"), "{what}");
            }
        }
        assert_eq!(said("status"), "", "{what}");
    }
    assert!(refused > 0 && done > 0, "{refused} refused, {done} done");
}

#[test]
fn t11_a_bundle_that_has_no_room_is_not_blamed() {
    let s = started();
    if !may_mount(&s) {
        return;
    }
    // What cannot be compressed, and is more than a block.
    let noise: String = (0..2_000_u64)
        .map(|n| format!("{:016x}\n", n.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
        .collect();
    put(&s, "spec.md", &format!("{READY}\n{noise}")).ok();
    let bundle = s.root().join("one.bundle");
    let bundle = bundle.to_str().expect("UTF-8");
    s.loopx(&["export", ID, "-o", bundle]).ok();
    let other = Sandbox::new();
    other.commit_file("code.txt", "code\n", "code").ok();
    other.loopx(&["init"]).ok();
    other.write(".git/info/exclude", "/fill*\n/.loopx/\n");
    let out = other.root().join("out");
    fs::create_dir_all(&out).expect("a folder");
    let place = other.root().join("mounted");
    fs::create_dir_all(&place).expect("a folder");
    let path = |path: &std::path::Path| path.to_str().expect("UTF-8").to_owned();
    let (place, repo, to) = (path(&place), path(other.path()), path(&out));
    let said = |name: &str| fs::read_to_string(out.join(name)).expect("a file");
    let (mut refused, mut done) = (0, 0);
    for blocks in (0..count(40, 80)).step_by(count(8, 1)) {
        let blocks = blocks.to_string();
        let head = [place.as_str(), &repo, &blocks, &to, LOOPX];
        let call = mounting(
            &other,
            FULL,
            &[&head[..], &["import", "bundle", bundle]].concat(),
        );
        call.run().ok();
        let what = format!("{blocks} blocks: {}", said("stderr"));
        match said("code").trim() {
            "0" => done += 1,
            code => {
                refused += 1;
                let code = code.parse().expect("a code");
                one_sentence(code, &said("stderr"), &FULL_WORDS);
                assert!(!said("stderr").contains("no session that"), "{what}");
                assert_eq!(said("before"), said("after"), "{what}");
                assert_eq!(said("second").trim(), "0", "{what}\n{}", said("again"));
            }
        }
        assert!(
            said("fsck").contains("all whole"),
            "{what}\n{}",
            said("fsck")
        );
    }
    assert!(refused > 0 && done > 0, "{refused} refused, {done} done");
}

/// Goes back to a point with the git directory on a disk of its own, which a hook fills.
const GIT_DIR_FULL: &str =
    "mount -t tmpfs -o size=8m tmpfs \"$1\" && cp -a .git/. \"$1\" || exit 99
rm -r .git; echo \"gitdir: $1\" >.git
dd if=/dev/zero of=\"$1/keeps\" bs=65536 count=1 2>/dev/null
git-loopx point back long; code=$?
rm -f \"$1/fill\" \"$1/keeps\"
git status --porcelain >\"$2\"; git rev-parse HEAD >>\"$2\"
rm .git; mkdir .git; cp -a \"$1/.\" .git
exit $code";

#[test]
fn q28_a_git_dir_that_is_full_before_the_commit_to_a_point_leaves_code_and_index_as_they_were() {
    let s = Sandbox::new();
    if !may_mount(&s) {
        return;
    }
    s.commit_file("code.txt", "code\n", "code").ok();
    s.loopx(&["init"]).ok();
    s.git(&["switch", "--quiet", "-c", "work"]).ok();
    s.loopx(&["start", "--quick", "--id", "it", "Shorter"]).ok();
    for number in 0..400 {
        s.write(format!("src/{number}.txt"), format!("then {number}\n"));
    }
    s.git(&["add", "src"]).ok();
    s.git(&["commit", "--quiet", "-m", "Then"]).ok();
    s.loopx(&["point", "add", "long"]).ok();
    s.git(&["rm", "--quiet", "-r", "src"]).ok();
    s.commit_file("code.txt", "now\n", "Now").ok();
    let head = s.git(&["rev-parse", "HEAD"]).line();
    let hook = s.path().join(".git/hooks/pre-commit");
    let fill = "#!/bin/sh\ndd if=/dev/zero of=\"$(git rev-parse --absolute-git-dir)/fill\" bs=512 2>/dev/null\nexit 1\n";
    s.script(&hook, fill);
    let (place, seen) = (s.root().join("mounted"), s.root().join("seen"));
    let text = |path: &std::path::Path| path.to_str().expect("UTF-8").to_owned();
    let out = mounting(&s, GIT_DIR_FULL, &[&text(&place), &text(&seen)]).run();
    let out = out.fails_with(1);
    assert!(
        out.stderr.contains("the code of long was not committed"),
        "{out}"
    );
    assert!(!out.stderr.contains("not as before"), "{out}");
    let seen = fs::read_to_string(seen).expect("a file");
    assert_eq!(seen, format!("{head}\n"), "{out}");
    assert_eq!(s.read("code.txt"), "now\n");
    assert!(!s.exists("src"));
}
