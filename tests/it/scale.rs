//! A repository with many sessions: the list says the same with and without what it keeps, and the branch
//! has one layout for one set of sessions, however it came about.

use crate::support::clones::Clones;
use crate::support::scale::{SEED, copy, grow};
use crate::support::session::{advance, started};
use crate::support::store::{assert_whole, tamper};
use crate::support::{Output, Sandbox};
use loopx_base::fanout::Fanout::Names;
use serde_json::Value;
use std::path::Path;

/// More than the number from which a list keeps what it read.
const MANY: usize = 600;

const CACHE: &str = ".git/loopx/list-cache.json";

/// The second list is made from what the first one kept.
fn list(s: &Sandbox) -> Value {
    s.loopx(&["list", "--all", "--json"]).ok();
    s.loopx(&["list", "--all", "--json"]).json()
}

fn many() -> Sandbox {
    Sandbox::once("", || {
        let s = Sandbox::new();
        s.commit_file("code.txt", "code\n", "code").ok();
        grow(&s, MANY, 1);
        s
    })
}

#[test]
fn a_long_list_is_kept_and_says_the_same_after_every_change() {
    let s = many();
    let first = list(&s);
    assert_eq!(
        first["sessions"].as_array().expect("sessions").len(),
        MANY + 1
    );
    assert!(s.exists(CACHE));
    s.loopx(&["-s", &copy(7), "abandon"]).ok();
    s.loopx(&["start", "--no-branch", "one more"]).ok();
    let with = list(&s);
    std::fs::remove_file(s.path().join(CACHE)).expect("remove the file");
    assert_eq!(s.loopx(&["list", "--all", "--json"]).json(), with);
    let sessions = with["sessions"].as_array().expect("sessions");
    assert_eq!(sessions.len(), MANY + 2);
    let abandoned = sessions
        .iter()
        .find(|one| one["session"] == copy(7).as_str());
    assert_eq!(
        abandoned.expect("the session")["ending"]["how"],
        "abandoned"
    );
}

#[test]
fn a_damaged_or_foreign_file_of_the_list_is_as_good_as_none() {
    let s = many();
    let right = list(&s);
    let kept = s.read(CACHE);
    let other = kept.replacen("\"format\":1", "\"format\":99", 1);
    for text in ["", "{", "[]", &kept[..kept.len() / 2], &other] {
        s.write(CACHE, text);
        assert_eq!(
            s.loopx(&["list", "--all", "--json"]).json(),
            right,
            "{text:.40}"
        );
    }
    assert_eq!(s.read(CACHE).len(), kept.len(), "it was made anew");
}

#[test]
fn what_the_list_keeps_decides_nothing() {
    let s = many();
    list(&s);
    let lie = s
        .read(CACHE)
        .replace("\"stage\":\"clarify\"", "\"stage\":\"build\"");
    s.write(CACHE, lie);
    let status = s.loopx(&["-s", SEED, "status", "--json"]).json();
    assert_eq!(status["stage"], "clarify");
    let refused = s.loopx(&["-s", SEED, "build"]).fails_with(1);
    assert!(refused.stderr.contains("clarify"), "{refused}");
}

#[test]
fn a_short_list_keeps_nothing() {
    let s = Sandbox::new();
    s.commit_file("code.txt", "code\n", "code").ok();
    grow(&s, 3, 1);
    assert_eq!(list(&s)["sessions"].as_array().expect("sessions").len(), 4);
    assert!(!s.exists(CACHE));
    s.loopx(&["fsck"]).ok();
}

/// Places of the sessions of a branch, as git lists them.
fn places(s: &Sandbox, dir: &Path) -> Vec<String> {
    let list = ["ls-tree", "-r", "-t", "-d", "--name-only", "loopx:sessions"];
    let listed = s.git_in(dir, &list).ok();
    let names = listed.lines();
    // A session's own folders are left out.
    names
        .filter(|name| name.matches('/').count() == usize::from(name.starts_with('+')))
        .map(str::to_owned)
        .collect()
}

#[track_caller]
fn assert_spread(s: &Sandbox, dir: &Path, sessions: usize) {
    let places = places(s, dir);
    assert_eq!(places.len(), sessions);
    for place in places {
        let (at, name) = place.split_once('/').expect("a folder");
        assert_eq!(at, Names.folder(name), "{place}");
    }
}

#[track_caller]
fn assert_side_by_side(s: &Sandbox, dir: &Path, sessions: usize) {
    let places = places(s, dir);
    assert_eq!(places.len(), sessions);
    assert!(
        places.iter().all(|place| !place.contains('/')),
        "{places:?}"
    );
}

#[test]
fn a_branch_that_was_flat_moves_at_its_next_write_and_stays_readable() {
    let s = many();
    let flat = s.git(&["rev-parse", "loopx"]).line();
    assert_side_by_side(&s, s.path(), MANY + 1);
    let before = list(&s);
    s.loopx(&["fsck"]).says("lie side by side").fails_with(1);
    s.loopx(&["-s", &copy(7), "status"]).ok();

    s.loopx(&["-s", &copy(8), "abandon"]).ok();
    assert_spread(&s, s.path(), MANY + 1);
    assert_whole(&s);
    let after = list(&s);
    assert_eq!(
        after["sessions"].as_array().map(Vec::len),
        before["sessions"].as_array().map(Vec::len)
    );
    // One write later only what changed is written.
    s.loopx(&["start", "--no-branch", "one more"]).ok();
    let changed = ["diff", "--name-only", "loopx^", "loopx"];
    let changed = s.git(&changed).ok();
    let one = format!("sessions/{}/one-more/", Names.folder("one-more"));
    assert!(
        changed.lines().all(|path| path.starts_with(&one)),
        "{changed}"
    );
    let shown = s.loopx(&["-s", "one-more", "--json", "show"]).json();
    assert_eq!(format!("{}/", shown["path"].as_str().expect("a path")), one);
    // What happened to one is found by one pathspec through both layouts.
    let glob = format!(":(glob)sessions/**/{}/**", copy(8));
    let log = s.git(&["log", "--format=%s", "loopx", "--", &glob]).ok();
    assert!(log.contains("abandon"), "{log}");
    // A state of before, and undoing across the move.
    s.loopx(&["-s", &copy(8), "undo"]).ok();
    let status = s.loopx(&["-s", &copy(8), "--json", "status"]).json();
    assert_eq!(status["stage"], "clarify");
    s.git(&["branch", "older", &flat]).ok();
    let older = |args: &[&str]| {
        let call = s.call(crate::support::LOOPX).args(args);
        call.env("GIT_CONFIG_COUNT", "1")
            .env("GIT_CONFIG_KEY_0", "loopx.branch")
            .env("GIT_CONFIG_VALUE_0", "older")
            .run()
    };
    assert_eq!(
        older(&["list", "--all", "--json"]).json()["sessions"],
        before["sessions"]
    );
    older(&["fsck", "--repair"]).ok();
    older(&["fsck"]).says("all whole").ok();
    assert_whole(&s);
}

#[test]
fn the_last_session_over_the_limit_spreads_them_and_its_archive_gathers_them() {
    let s = started("");
    advance(&s, "clarify", "done", "");
    grow(&s, Names.limit() - 2, 1);
    assert_side_by_side(&s, s.path(), Names.limit());
    s.loopx(&["start", "--no-branch", "over the limit"]).ok();
    assert_spread(&s, s.path(), Names.limit() + 1);
    assert_whole(&s);
    s.git(&["switch", "--quiet", "demo"]).ok();
    s.loopx(&["archive"]).ok();
    assert_side_by_side(&s, s.path(), Names.limit());
    s.loopx(&["-s", "over-the-limit", "log"]).ok();
    s.loopx(&["archive", "--undo", "demo"]).ok();
    s.loopx(&["-s", "demo", "log"]).ok();
    s.loopx(&["start", "--no-branch", "over it again"]).ok();
    assert_spread(&s, s.path(), Names.limit() + 1);
    assert_whole(&s);
}

#[test]
fn clones_that_cross_the_limit_apart_come_to_one_tree() {
    // Together over it, and each by itself.
    for each in [2, 5] {
        let clones = Clones::apart(2);
        let s = &clones.s;
        grow(s, Names.limit() - 4, 1);
        let remote = clones.remote();
        s.git(&["push", "--quiet", remote.to_str().expect("UTF-8"), "loopx"])
            .ok();
        for at in 0..2 {
            clones.loopx(at, &["init"]).ok();
            clones.sync(at).ok();
            for n in 0..each {
                let title = format!("clone {at} number {n}");
                clones.loopx(at, &["start", "--no-branch", &title]).ok();
            }
            let sessions = Names.limit() - 3 + each;
            if sessions > Names.limit() {
                assert_spread(s, clones.dir(at), sessions)
            } else {
                assert_side_by_side(s, clones.dir(at), sessions)
            }
        }
        clones.settle();
        clones.assert_agreed();
        assert_spread(s, clones.dir(0), Names.limit() - 3 + 2 * each);
    }
}

#[test]
fn a_server_takes_both_layouts_and_nothing_that_hides() {
    let s = many();
    s.git(&["init", "--quiet", "--bare", "../remote.git"]).ok();
    s.git(&["remote", "add", "origin", "../remote.git"]).ok();
    s.script(
        "../remote.git/hooks/pre-receive",
        crate::support::server::HOOK,
    );
    let push = || -> Output { s.git(&["push", "--quiet", "--no-verify", "origin", "loopx"]) };
    push().ok();
    s.loopx(&["-s", &copy(8), "abandon"]).ok();
    push().ok();
    let good = s.git(&["rev-parse", "loopx"]).line();
    let name = copy(9);
    let wrong = match Names.folder(&name).as_str() {
        "+00" => "+01",
        _ => "+00",
    };
    let right = format!("loopx:sessions/{}/{name}/state.json", Names.folder(&name));
    let state = s.git(&["show", &right]).ok();
    for hidden in [wrong.to_owned(), String::new()] {
        let path = format!("sessions/{hidden}/{name}/state.json").replace("//", "/");
        tamper(&s, &path, Some(state.as_bytes()));
        push().fails_with(1).says("sessions_invalid");
        s.git(&["update-ref", "refs/heads/loopx", &good]).ok();
    }
}
