//! The plug pulled at every step of what writes more than one thing: an archive, a meeting of two clones,
//! a bundle, a resolution. Whoever comes next needs no help, and nothing is lost or there twice.
//! LOOPX_STRESS=1 takes every step of the write path, and each both times that it is passed.

use crate::support::archive::{ID as ARCHIVED, Yard, shortened};
use crate::support::clones::Clones;
use crate::support::store::{ID, READY, assert_whole, count, operations, started, tell};
use crate::support::{Call, Sandbox};
use loopx_base::failpoint::{ARCHIVE, BUNDLE, SYNC, WRITE_PATH};
use std::collections::BTreeSet;

/// Runs a command that dies at a place; says whether it got there.
fn dies_at(call: Call<'_>, place: &str) -> bool {
    let out = call.durable().env("LOOPX_FAILPOINT", place).run();
    assert!(out.code.is_none() || out.code != Some(70), "{place}\n{out}");
    out.code.is_none()
}

/// Steps of the write path that stand for all in a short run.
const FEW: [&str; 3] = ["index-named", "branch-moved", "keep-dropped"];

fn write_path() -> &'static [&'static str] {
    match count(0, 1) {
        0 => &FEW,
        _ => &WRITE_PATH,
    }
}

/// The steps of one road; those of the write path may be passed twice.
fn places(own: &[&str]) -> Vec<String> {
    let once = own
        .iter()
        .chain(write_path())
        .map(|place| place.to_string());
    let twice = write_path().iter().map(|place| format!("{place}:2"));
    once.chain(twice).collect()
}

#[test]
fn a_death_at_every_step_of_an_archive_is_finished_by_the_next_command() {
    let mut deaths = BTreeSet::new();
    for place in places(&ARCHIVE) {
        let y = Yard::ready();
        if !dies_at(y.call(crate::support::LOOPX).args(&["archive"]), &place) {
            continue;
        }
        deaths.insert(place.clone());
        y.loopx(&["start", "--no-branch", "other"]).ok();
        // It was finished, or had not begun: then it is done again.
        let again = y.archive(ARCHIVED, &[]);
        let was_finished = again.code != Some(0);
        assert_eq!(
            was_finished,
            !again.stdout.contains("\"commit\""),
            "{place}\n{again}"
        );
        y.archived_once(ARCHIVED, ARCHIVED);
        assert_eq!(
            y.read(crate::support::archive::DEMO_PATH),
            shortened(),
            "{place}"
        );
        y.clean();
        y.loopx(&["doctor"]).says("leftovers  none").ok();
    }
    assert!(
        ARCHIVE.iter().all(|place| deaths.contains(*place)),
        "{deaths:?}"
    );
    assert!(deaths.len() > ARCHIVE.len() + write_path().len());
    tell(&format!("archive: {} deaths", deaths.len()));
}

#[test]
fn a_death_at_every_step_of_a_sync_is_made_good_by_the_next_one() {
    let all = Clones::sharing(2);
    all.put(0, "spec.md", READY).ok();
    all.settle();
    let mut deaths = BTreeSet::new();
    for (n, place) in places(&SYNC).into_iter().enumerate() {
        all.put(0, "spec.md", &READY.replace("ends.", &format!("ends {n}.")))
            .ok();
        all.loopx(1, &["-s", ID, "run", "--", "true"]).ok();
        all.sync(0).ok();
        let made: BTreeSet<String> = (0..2).flat_map(|at| all.operations(at)).collect();
        if dies_at(all.call(1).args(&["sync", "origin"]), &place) {
            deaths.insert(place.clone());
        }
        assert!(all.operations(1).is_subset(&made), "{place}");
        all.settle();
        for at in 0..2 {
            assert_eq!(all.operations(at), made, "{place}, clone {at}");
        }
        all.loopx(1, &["doctor"]).says("leftovers  none");
    }
    all.assert_agreed();
    assert!(
        SYNC.iter()
            .chain(write_path())
            .all(|place| deaths.contains(*place)),
        "{deaths:?}"
    );
    tell(&format!("sync: {} deaths", deaths.len()));
}

#[test]
fn a_death_at_every_step_of_a_resolution_leaves_the_conflict_or_settles_it() {
    let all = Clones::sharing(2);
    all.put(0, "spec.md", READY).ok();
    all.settle();
    let mut deaths = 0;
    for (n, place) in write_path().iter().enumerate() {
        all.put(
            0,
            "spec.md",
            &READY.replace("ends.", &format!("ends {n} a.")),
        )
        .ok();
        all.put(
            1,
            "spec.md",
            &READY.replace("ends.", &format!("ends {n} b.")),
        )
        .ok();
        all.settle();
        let resolve = ["-s", ID, "resolve", "spec.md", "--side", "1"];
        deaths += usize::from(dies_at(all.call(1).args(&resolve), place));
        let again = all.loopx(1, &resolve);
        // 5: there is no conflict left.
        assert!(
            matches!(again.code, Some(0 | 1 | 4 | 5)),
            "{place}\n{again}"
        );
        all.loopx(1, &["-s", ID, "resolve"])
            .says("nothing to resolve")
            .ok();
        all.settle();
        let texts: Vec<String> = (0..2).map(|at| all.cat(at, "spec.md")).collect();
        assert_eq!(texts[0], texts[1], "{place}");
        assert!(!texts[0].contains("<<<<"), "{place}\n{}", texts[0]);
    }
    all.assert_agreed();
    assert_eq!(deaths, write_path().len());
    tell(&format!("resolve: {deaths} deaths"));
}

#[test]
fn a_death_at_every_step_of_a_bundle_takes_the_session_in_once() {
    let s = started();
    crate::support::store::put(&s, "spec.md", READY).ok();
    let file = s.root().join("one.bundle");
    let path = file.to_str().expect("UTF-8");
    let mut deaths = BTreeSet::new();
    for place in places(&BUNDLE) {
        let export = ["export", ID, "--force", "-o", path];
        if dies_at(s.call(crate::support::LOOPX).args(&export), &place) {
            deaths.insert(place.clone());
        }
        s.loopx(&export).ok();
        let other = Sandbox::new();
        other.commit_file("other.txt", "other\n", "other").ok();
        other.loopx(&["init"]).ok();
        let import = ["import", "bundle", path];
        if dies_at(other.call(crate::support::LOOPX).args(&import), &place) {
            deaths.insert(place.clone());
        }
        other.loopx(&import).ok();
        assert_eq!(operations(&other, ID), operations(&s, ID), "{place}");
        for one in [&s, &other] {
            let refs = one
                .git(&["for-each-ref", "refs/loopx/export", "refs/loopx/import"])
                .ok();
            assert_eq!(refs, "", "{place}");
        }
        assert_whole(&other);
    }
    assert_whole(&s);
    assert!(
        BUNDLE.iter().all(|place| deaths.contains(*place)),
        "{deaths:?}"
    );
    tell(&format!("bundle: {} deaths", deaths.len()));
}
