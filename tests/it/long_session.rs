//! A session of many operations: what lies where in `ops/` follows from their names alone, nothing that
//! reads operations depends on it, and a step writes little however many there are.

use crate::support::clones::Clones;
use crate::support::drive::Drive;
use crate::support::keys::{ADA, by, everybody, forge_in};
use crate::support::scale::prolong;
use crate::support::server::HOOK;
use crate::support::session::{READY_SPEC, advance, started};
use crate::support::store::{ID, READY, assert_whole, operations};
use crate::support::{LOOPX, Output, Sandbox};
use loopx_base::fanout::Fanout::Operations;
use std::path::Path;

/// More than lie side by side, in several folders.
const MANY: usize = 450;

/// The files in a session's `ops/`, as they lie.
fn places(s: &Sandbox, dir: &Path, at: &str) -> Vec<String> {
    let list = ["ls-tree", "-r", "--name-only", &format!("{at}/ops")];
    let listed = s.git_in(dir, &list).ok();
    listed.lines().map(str::to_owned).collect()
}

fn tree(s: &Sandbox, path: &str) -> String {
    s.git(&["rev-parse", &format!("loopx:{path}")]).line()
}

#[track_caller]
fn assert_laid_out(s: &Sandbox, dir: &Path, id: &str, files: usize, spread: bool) {
    let places = places(s, dir, &format!("loopx:sessions/{id}"));
    assert_eq!(places.len(), files);
    for place in places {
        let name = place.rsplit('/').next().expect("a name");
        assert_eq!(place, Operations.place(name, spread));
    }
}

/// The session `demo` at its beginning, with this many operations side by side.
fn long(count: usize) -> Sandbox {
    Sandbox::once(count.to_string(), || {
        let s = started("");
        prolong(&s, s.path(), "demo", count, ["# Not yet\n", READY_SPEC]);
        s
    })
}

fn put(s: &Sandbox, text: &str) -> Output {
    let put = s.call(LOOPX).args(&["-s", "demo", "put", "spec.md"]);
    put.stdin(text).run()
}

#[test]
fn a_flat_session_moves_with_its_next_operation_and_a_step_writes_little() {
    let s = long(MANY + 1);
    assert_laid_out(&s, s.path(), "demo", MANY + 1, false);
    let before = operations(&s, "demo");
    assert_eq!(before.len(), MANY + 1);
    s.git(&["branch", "older", "loopx"]).ok();
    s.loopx(&["fsck", "--full"])
        .says("lie side by side")
        .fails_with(1);
    let status = s.loopx(&["-s", "demo", "--json", "status"]).json();
    assert_eq!(status["stage"], "clarify");

    // An artifact, a transition, and both taken back.
    s.loopx(&["approve", "--to", "plan"]).ok();
    assert_laid_out(&s, s.path(), "demo", MANY + 2, true);
    s.loopx(&["plan"]).ok();
    assert_eq!(operations(&s, "demo")[..MANY + 1], before);
    let changed = s.git(&["diff", "--name-only", "loopx^", "loopx"]).ok();
    let ops: Vec<&str> = changed
        .lines()
        .filter(|path| path.contains("/ops/"))
        .collect();
    assert!(
        matches!(ops.as_slice(), [one] if one.contains("/ops/+000004/")),
        "{changed}"
    );
    let new = [
        "diff-tree",
        "-r",
        "-t",
        "--diff-filter=AM",
        "loopx^",
        "loopx",
    ];
    for line in s.git(&new).ok().lines().filter(|l| l.contains(" 040000 ")) {
        let id = line.split(' ').nth(3).expect("an id");
        let size: usize = s
            .git(&["cat-file", "-s", id])
            .line()
            .parse()
            .expect("a number");
        assert!(size < 5_000, "{line}: {size} bytes");
    }
    s.loopx(&["undo"]).ok();
    s.loopx(&["redo"]).ok();
    let status = s.loopx(&["-s", "demo", "--json", "status"]).json();
    assert_eq!(status["stage"], "plan");
    assert_laid_out(&s, s.path(), "demo", MANY + 5, true);
    s.loopx(&["fsck", "--full"]).says("all whole").ok();
    assert_whole(&s);
    s.loopx(&["verify"]).ok();

    // The same without a step.
    let older = |args: &[&str]| {
        let call = s.call(LOOPX).args(args);
        call.env("GIT_CONFIG_COUNT", "1")
            .env("GIT_CONFIG_KEY_0", "loopx.branch")
            .env("GIT_CONFIG_VALUE_0", "older")
            .run()
    };
    older(&["fsck", "--repair"]).ok();
    older(&["fsck", "--full"]).says("all whole").ok();
    let places = places(&s, s.path(), "older:sessions/demo");
    let expected = |place: &String| place.contains("/") && places.len() == MANY + 1;
    assert!(places.iter().all(expected), "{places:?}");
}

#[test]
fn the_limit_itself_lies_side_by_side_and_one_more_does_not() {
    let limit = Operations.limit();
    let s = long(limit - 1);
    put(&s, "# More\n").ok();
    assert_laid_out(&s, s.path(), "demo", limit, false);
    assert_whole(&s);
    put(&s, "# Still more\n").ok();
    assert_laid_out(&s, s.path(), "demo", limit + 1, true);
    assert_whole(&s);
}

#[test]
fn clones_that_cross_the_limit_apart_come_to_one_tree() {
    let limit = Operations.limit();
    // Together over it, and each by itself; from the flat layout of an older program at last.
    for (first, each, spread) in [
        (limit - 3, 2, false),
        (limit - 3, 6, true),
        (MANY + 1, 2, true),
    ] {
        let clones = Clones::sharing(3);
        let s = &clones.s;
        prolong(s, clones.dir(0), ID, first, ["# Not yet\n", READY]);
        for at in 0..3 {
            clones.sync(at).ok();
        }
        for at in 0..3 {
            for n in 0..each {
                let text = format!("{READY}\nClone {at}, {n}.\n");
                clones.put(at, "spec.md", &text).ok();
            }
            assert_laid_out(s, clones.dir(at), ID, first + each, spread);
        }
        // The same parts once more, to meet in another order.
        let copy = |from: &Path, to: &str| -> std::path::PathBuf {
            let to = s.root().join(to);
            s.call("cp").args(&[Path::new("-a"), from, &to]).run().ok();
            to
        };
        let remote = copy(&clones.remote(), "again.git");
        let again: Vec<_> = (0..3)
            .map(|at| {
                let dir = copy(clones.dir(at), &format!("again-{at}"));
                let remote = remote.to_str().expect("UTF-8");
                s.git_in(&dir, &["remote", "set-url", "origin", remote])
                    .ok();
                dir
            })
            .collect();
        clones.settle();
        clones.assert_agreed();
        let known = clones.operations(0).len();
        assert!(known >= first + 3 * each, "{known}");
        assert_laid_out(s, clones.dir(0), ID, known, true);
        for at in [2, 1, 0, 1, 2] {
            let out = s.loopx_in(&again[at], &["sync", "origin"]);
            assert!(matches!(out.code, Some(0 | 3)), "{out}");
        }
        for dir in &again {
            let tree = s.git_in(dir, &["rev-parse", "loopx^{tree}"]).line();
            assert_eq!(tree, clones.tree(0));
        }
    }
}

#[test]
fn the_archive_seals_a_long_session_in_its_order() {
    let s = started("");
    let texts = [READY_SPEC, "# Not yet\n"];
    prolong(&s, s.path(), "demo", MANY + 1, texts);
    advance(&s, "clarify", "done", "");
    s.git(&["switch", "--quiet", "main"]).ok();
    s.git(&["merge", "--quiet", "demo"]).ok();
    let there = operations(&s, "demo");
    assert_laid_out(&s, s.path(), "demo", there.len(), true);
    s.loopx(&["-s", "demo", "archive"]).ok();
    let sealed = s
        .git(&["ls-tree", "-r", "--name-only", "loopx", "archive"])
        .ok();
    assert!(sealed.contains("/demo/ops/+000001/"), "{sealed}");
    assert_eq!(operations(&s, "demo")[..there.len()], there);
    s.loopx(&["fsck", "--full"]).says("all whole").ok();
    assert_whole(&s);
}

#[test]
fn a_long_session_travels_as_it_lies() {
    let s = long(MANY + 1);
    s.loopx(&["approve", "--to", "plan"]).ok();
    s.loopx(&["export", "demo", "-o", "../one.bundle"]).ok();
    let other = Sandbox::new();
    other.commit_file("code.txt", "code\n", "code").ok();
    other.loopx(&["init"]).ok();
    let file = s.root().join("one.bundle");
    let file = file.to_str().expect("UTF-8");
    other.loopx(&["import", "bundle", file]).ok();
    assert_eq!(tree(&s, "sessions/demo"), tree(&other, "sessions/demo"));
    assert_whole(&other);
}

#[test]
fn a_signature_lies_with_its_operation_and_is_looked_at_there() {
    let d = Drive::planned_with(&[
        ("loopx.toml", "[approve]\nsigned = [\"plan->build\"]\n"),
        ("loopx.signers", &everybody()),
    ]);
    by(&d, ADA, &["approve", "--to", "build", "--sign"]).ok();
    let here = operations(&d, "demo").len();
    let more = 2 * Operations.limit() + here % 2;
    let text = d.artifact("spec.md");
    prolong(
        &d,
        d.path(),
        "demo",
        more,
        [&format!("{text}\nMore.\n"), &text],
    );
    d.loopx(&["fsck", "--repair"]).ok();
    assert_laid_out(&d, d.path(), "demo", more + 1, true);
    d.loopx(&["fsck", "--full"]).says("all whole").ok();
    let right = places(&d, d.path(), "loopx:sessions/demo");
    let signature = right.iter().find(|place| place.ends_with(".sig"));
    let signature = signature.expect("a signature");
    assert!(
        right
            .iter()
            .any(|place| *signature == format!("{place}.sig"))
    );

    // One that signs something else is taken away, from where it lies.
    let path = format!("sessions/demo/ops/{signature}");
    let mut broken = d.bytes_of(&path);
    broken[120] ^= 1;
    forge_in(&d, "demo", &path, Some(&broken));
    d.loopx(&["fsck"]).says("does not hold").fails_with(1);
    d.loopx(&["fsck", "--repair"]).ok();
    assert_laid_out(&d, d.path(), "demo", more, true);
    d.loopx(&["fsck", "--full"]).says("all whole").ok();
}

#[test]
fn a_server_takes_older_layouts_and_nothing_that_hides() {
    let s = long(MANY + 1);
    s.git(&["init", "--quiet", "--bare", "../remote.git"]).ok();
    s.git(&["remote", "add", "origin", "../remote.git"]).ok();
    s.script("../remote.git/hooks/pre-receive", HOOK);
    let push = || -> Output { s.git(&["push", "--quiet", "--no-verify", "origin", "loopx"]) };
    push().ok();
    s.loopx(&["approve", "--to", "plan"]).ok();
    push().ok();
    let good = s.git(&["rev-parse", "loopx"]).line();
    let right = tree(&s, "sessions/demo/ops");
    let place = places(&s, s.path(), "loopx:sessions/demo")[7].clone();
    let name = place.rsplit('/').next().expect("a name");
    let text = s
        .git(&["show", &format!("loopx:sessions/demo/ops/{place}")])
        .ok();
    // Another, by which the state stays what it was.
    let other = text.replacen("\"format\": 2,", "\"format\":  2,", 1);
    assert_ne!(text, other);
    for (hidden, text) in [
        ("+000001/", &text),
        ("+000001/", &other),
        ("+/", &text),
        ("", &text),
    ] {
        let path = format!("sessions/demo/ops/{hidden}{name}");
        forge_in(&s, "demo", &path, Some(text.as_bytes()));
        push().says("sessions_invalid").fails_with(1);
        // Nothing reads it twice, and what was there before comes back.
        assert_eq!(operations(&s, "demo").len(), MANY + 2);
        let found = s.loopx(&["fsck"]).fails_with(1);
        assert!(found.stdout.contains("ops: "), "{found}");
        for _ in 0..2 {
            if s.loopx(&["fsck", "--full"]).code != Some(0) {
                s.loopx(&["fsck", "--repair"]).ok();
            }
        }
        assert_eq!(tree(&s, "sessions/demo/ops"), right, "{path}");
        s.loopx(&["fsck", "--full"]).says("all whole").ok();
        s.git(&["update-ref", "refs/heads/loopx", &good]).ok();
        s.loopx(&["doctor", "--accept"]).ok();
    }
    // In the wrong folder alone.
    forge_in(&s, "demo", &format!("sessions/demo/ops/{place}"), None);
    forge_in(
        &s,
        "demo",
        &format!("sessions/demo/ops/+000001/{name}"),
        Some(text.as_bytes()),
    );
    push().fails_with(1);
    s.loopx(&["fsck", "--repair"]).ok();
    assert_eq!(tree(&s, "sessions/demo/ops"), right);
    s.loopx(&["fsck", "--full"]).says("all whole").ok();
}

#[test]
fn an_operation_that_is_taken_out_of_its_folder_comes_back() {
    let s = long(MANY + 1);
    s.loopx(&["approve", "--to", "plan"]).ok();
    let right = tree(&s, "sessions/demo/ops");
    let place = places(&s, s.path(), "loopx:sessions/demo")[207].clone();
    forge_in(&s, "demo", &format!("sessions/demo/ops/{place}"), None);
    s.loopx(&["fsck"]).fails_with(1);
    s.loopx(&["fsck", "--repair"]).ok();
    assert_eq!(tree(&s, "sessions/demo/ops"), right);
    s.loopx(&["fsck", "--full"]).says("all whole").ok();
}

#[test]
fn a_few_operations_in_folders_are_read_and_gathered() {
    let s = started("");
    put(&s, "# Not yet\n").ok();
    let right = tree(&s, "sessions/demo");
    for place in places(&s, s.path(), "loopx:sessions/demo") {
        let at = format!("sessions/demo/ops/{place}");
        let text = s.git(&["show", &format!("loopx:{at}")]).ok();
        let deeper = Operations.place(&place, true);
        forge_in(&s, "demo", &at, None);
        forge_in(
            &s,
            "demo",
            &format!("sessions/demo/ops/{deeper}"),
            Some(text.as_bytes()),
        );
    }
    assert_laid_out(&s, s.path(), "demo", 2, true);
    assert_eq!(operations(&s, "demo").len(), 2);
    s.loopx(&["fsck"]).says("belong side by side").fails_with(1);
    s.loopx(&["fsck", "--repair"]).ok();
    assert_eq!(tree(&s, "sessions/demo"), right);
    put(&s, "# Go on\n").ok();
    assert_laid_out(&s, s.path(), "demo", 3, false);
    s.loopx(&["fsck", "--full"]).says("all whole").ok();
}
