//! A repository with many sessions: the list says the same with and without what it keeps.

use crate::support::Sandbox;
use crate::support::scale::{SEED, copy, grow};
use serde_json::Value;

/// More than the number from which a list keeps what it read.
const MANY: usize = 600;

const CACHE: &str = ".git/loopx/list-cache.json";

/// The second list is made from what the first one kept.
fn list(s: &Sandbox) -> Value {
    s.loopx(&["list", "--json"]).ok();
    s.loopx(&["list", "--json"]).json()
}

fn many() -> Sandbox {
    let s = Sandbox::new();
    s.commit_file("code.txt", "code\n", "code").ok();
    grow(&s, MANY, 1);
    s
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
    assert_eq!(s.loopx(&["list", "--json"]).json(), with);
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
        assert_eq!(s.loopx(&["list", "--json"]).json(), right, "{text:.40}");
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
