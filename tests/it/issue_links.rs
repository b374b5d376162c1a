//! Issues that a command reads before it writes one: those around it by their records, and no other. Where they are is
//! kept in the git directory: torn or of another state that changes nothing, and forged it hands out nothing that
//! records do not.

use crate::support::Sandbox;
use crate::support::issues::{backlog, create, list, refused, show};
use crate::support::store::checksum;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// More issues than are read anew each time, and than lie side by side.
const COUNT: usize = 400;

/// The one issue is a part of an epic, blocks another one, and waits for nothing.
const ONE: &str = "lx-00000000aa";
const EPIC: &str = "lx-00000000bb";
const BEHIND: &str = "lx-00000000cc";
/// Beginning of the ids of the others, which wait for each other in a chain, and for none of those above.
const REST: &str = "lx-00000000";

fn many() -> Sandbox {
    Sandbox::once("", || {
        let s = backlog();
        let mut lines = vec![
            format!(
                r#"{{"id":"{ONE}","title":"One","priority":0,"links":[{{"kind":"parent","to":"{EPIC}"}}]}}"#
            ),
            format!(r#"{{"id":"{EPIC}","title":"Epic","kind":"epic"}}"#),
            format!(
                r#"{{"id":"{BEHIND}","title":"Behind","links":[{{"kind":"blocked-by","to":"{ONE}"}}]}}"#
            ),
            format!(r#"{{"id":"{REST}00","title":"Rest"}}"#),
        ];
        lines.extend((1..COUNT).map(|n| {
            let on = if n < 100 {
                format!("{REST}{:02}", n - 1)
            } else {
                format!("{REST}99")
            };
            let id = if n < 100 {
                format!(r#""id":"{REST}{n:02}""#)
            } else {
                format!(r#""key":"k{n}""#)
            };
            format!(r#"{{{id},"title":"Rest {n}","links":[{{"kind":"blocked-by","to":"{on}"}}]}}"#)
        }));
        s.write("plan.jsonl", lines.join("\n"));
        s.loopx(&["issue", "create", "--from", "plan.jsonl", "-q"])
            .ok();
        show(&s, ONE);
        s
    })
}

fn kept(s: &Sandbox, name: &str) -> PathBuf {
    s.path().join(".git/loopx").join(name)
}

/// Puts each object into a file of its own.
fn unpack(s: &Sandbox) {
    let folder = s.path().join(".git/objects/pack");
    let files = fs::read_dir(&folder).expect("packs");
    let files: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
    let packs = files
        .iter()
        .filter(|file| file.extension() == Some("pack".as_ref()));
    let packs: Vec<Vec<u8>> = packs.map(|pack| fs::read(pack).expect("a pack")).collect();
    for file in &files {
        fs::remove_file(file).expect("removed");
    }
    for pack in packs {
        let unpack = s.call("git").args(&["unpack-objects", "-q"]);
        unpack.stdin(pack).run().ok();
    }
}

/// Takes away the records of every issue but some, and what lists keep: whoever reads one of them fails.
fn without_records(s: &Sandbox, but: &[&str]) -> usize {
    unpack(s);
    let files = s.git(&["ls-tree", "-r", "loopx", "issues/"]).ok();
    let mut gone = 0;
    for line in files
        .lines()
        .filter(|line| but.iter().all(|id| !line.contains(id)))
    {
        let blob = line.split([' ', '\t']).nth(2).expect("a blob");
        let object = s
            .path()
            .join(".git/objects")
            .join(&blob[..2])
            .join(&blob[2..]);
        fs::remove_file(object).expect("a loose object");
        gone += 1;
    }
    drop(fs::remove_file(kept(s, "issue-cache")));
    gone
}

#[test]
fn what_is_written_of_one_issue_reads_the_records_of_those_around_it_and_of_no_other() {
    let s = many();
    assert_eq!(without_records(&s, &[ONE, EPIC, BEHIND]), COUNT);
    assert_eq!(show(&s, ONE)["named_by"][0]["issue"], BEHIND);
    refused(&s, 1, "issue_blocked", &["issue", "take", BEHIND]);
    refused(
        &s,
        1,
        "issue_blocked",
        &["issue", "close", EPIC, "--reason", "no"],
    );
    s.loopx(&["issue", "edit", ONE, "-p", "1"]).ok();
    let first = s.loopx(&["--json", "issue", "ready", "-n", "1"]).json();
    assert_eq!(first["issues"][0]["id"], ONE, "{first:#}");
    let taken = s.loopx(&["--json", "issue", "take"]).json();
    assert_eq!(taken["issue"]["id"], ONE, "{taken:#}");
    s.loopx(&["issue", "release", ONE]).ok();
    s.loopx(&["issue", "take", ONE]).ok();
    let ended = s
        .loopx(&["--json", "issue", "close", ONE, "--reason", "no"])
        .json();
    assert_eq!(ended["freed"], serde_json::json!([EPIC, BEHIND]));
    s.loopx(&["issue", "take", BEHIND]).ok();
}

#[test]
fn what_an_issue_waits_for_and_cannot_be_read_hands_nothing_out() {
    let s = many();
    without_records(&s, &[EPIC, BEHIND]);
    let taken = s.loopx(&["issue", "take", BEHIND]);
    assert_ne!(taken.code, Some(0), "{taken}");
    let started = s.loopx(&["start", "--issue", BEHIND]);
    assert_ne!(started.code, Some(0), "{started}");
}

/// Output about some issues, but for what changes from one command to the next.
fn said(s: &Sandbox) -> Vec<Value> {
    let mut said: Vec<Value> = [ONE, EPIC, BEHIND].map(|id| show(s, id)).into();
    let keys = [
        "id", "short", "status", "links", "named_by", "waits", "ready",
    ];
    for map in said.iter_mut().filter_map(Value::as_object_mut) {
        map.retain(|key, _| keys.contains(&key.as_str()));
    }
    said
}

#[test]
fn kept_links_that_are_torn_or_of_an_earlier_state_change_nothing() {
    let s = many();
    let early = fs::read(kept(&s, "issue-links")).expect("kept links");
    let more = create(&s, &["More"]);
    s.loopx(&["issue", "link", &more, "blocked-by", ONE]).ok();
    s.loopx(&["issue", "unlink", BEHIND, "blocked-by", ONE])
        .ok();
    s.loopx(&["issue", "link", ONE, "related", BEHIND]).ok();
    let gone = create(&s, &["Gone"]);
    s.loopx(&["issue", "link", &gone, "parent", ONE]).ok();
    s.loopx(&["issue", "undo", &gone]).ok();
    s.loopx(&["issue", "undo", &gone]).ok();
    fs::remove_file(kept(&s, "issue-links")).expect("removed");
    let expected = said(&s);
    let named = &expected[0]["named_by"];
    assert_eq!(
        named,
        &serde_json::json!([{"kind": "blocks", "issue": more}])
    );
    let whole = fs::read(kept(&s, "issue-links")).expect("kept links");
    let mut wrong = vec![
        early,
        Vec::new(),
        b"\n".to_vec(),
        whole[..whole.len() / 2].to_vec(),
    ];
    for at in (0..whole.len()).step_by(whole.len() / 5) {
        let mut flipped = whole.clone();
        flipped[at] ^= 1;
        wrong.push(flipped);
    }
    for bytes in wrong {
        fs::write(kept(&s, "issue-links"), &bytes).expect("written");
        refused(&s, 1, "issue_blocked", &["issue", "take", &more]);
        fs::write(kept(&s, "issue-links"), &bytes).expect("written");
        refused(&s, 1, "issue_blocked", &["issue", "take", EPIC]);
        fs::write(kept(&s, "issue-links"), &bytes).expect("written");
        assert_eq!(said(&s), expected);
    }
    fs::remove_file(kept(&s, "issue-links")).expect("removed");
    fs::create_dir(kept(&s, "issue-links")).expect("a folder in its place");
    assert_eq!(said(&s), expected);
}

#[test]
fn the_first_few_that_can_be_begun_are_the_first_of_all() {
    let s = many();
    for (title, priority) in [("Late", "3"), ("Soon", "0"), ("Then", "1")] {
        let id = create(&s, &[title, "-p", priority]);
        s.loopx(&["issue", "edit", &id, "--due", "2027-01-01"]).ok();
    }
    let blocked = create(&s, &["Held by its epic", "-p", "0"]);
    s.loopx(&["issue", "link", EPIC, "blocked-by", BEHIND]).ok();
    s.loopx(&["issue", "link", &blocked, "parent", EPIC]).ok();
    s.loopx(&["issue", "edit", ONE, "--defer", "2099-01-01"])
        .ok();
    let of = |args: &[&str]| {
        let all = [&["--json", "issue", "ready"], args].concat();
        let mut said = s.loopx(&all).json();
        let rows = said["issues"].take();
        (rows.as_array().expect("issues").clone(), said)
    };
    let (all, said) = of(&[]);
    assert!(all.len() >= 4, "{all:#?}");
    for count in [1, 3, 16] {
        let (few, also) = of(&["-n", &count.to_string()]);
        assert_eq!(few, all[..count.min(all.len())], "{count}");
        assert_eq!((&also["all"], &also["open"]), (&said["all"], &said["open"]));
    }
}

/// A forger who writes the kept links anew, with a sum that fits, hands out nothing that the records do not.
#[test]
fn links_that_somebody_forged_hand_nothing_out() {
    let s = many();
    let closed = format!("{REST}00");
    s.loopx(&["issue", "close", &closed, "--reason", "no"]).ok();
    s.loopx(&["issue", "take", ONE]).ok();
    show(&s, ONE);
    fs::remove_file(kept(&s, "issue-links")).expect("removed");
    show(&s, ONE);
    let text = fs::read_to_string(kept(&s, "issue-links")).expect("kept links");
    let (whole, _) = text.trim_end().rsplit_once('\n').expect("a sum");
    let forged: Vec<String> = (whole.lines())
        .map(
            |line| match line.split(' ').collect::<Vec<_>>().as_slice() {
                // Everything is free, comes first, and waits for nothing.
                [folder, id, _, _, created, due, _] => {
                    format!("{folder} {id} f 0 {created} {due} ")
                }
                _ => line.to_owned(),
            },
        )
        .collect();
    let forged = forged.join("\n") + "\n";
    let sum = format!("{:08x}\n", checksum(forged.as_bytes()));
    let forged = forged + &sum;
    let mut steps: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    steps.insert("issue_ended", vec!["issue", "take", &closed]);
    steps.insert("issue_blocked", vec!["issue", "take", BEHIND]);
    for (code, args) in steps {
        fs::write(kept(&s, "issue-links"), &forged).expect("written");
        refused(&s, 1, code, &args);
    }
    fs::write(kept(&s, "issue-links"), &forged).expect("written");
    let taken = s.loopx(&["--json", "issue", "take"]).json();
    let id = taken["issue"]["id"].as_str().expect("an id");
    let ready = [EPIC.to_owned(), format!("{REST}01")];
    assert!(ready.iter().any(|one| one == id), "{taken:#}");
    assert!(!list(&s, &[]).is_empty());
}
