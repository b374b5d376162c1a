//! The bus of messages, keyed values, wisdom and logs of ccw, and what becomes of notes (design 12; the scenarios of
//! team-and-plan-scenarios.md, G).

use crate::support::clones::Clones;
use crate::support::store::{ID, assert_whole, begin, checksum, started};
use crate::support::{LOOPX, Sandbox};
use serde_json::{Value, json};
use std::sync::Barrier;
use std::thread;

fn notes(s: &Sandbox, args: &[&str]) -> Vec<Value> {
    let listed = s
        .loopx(&[&["--json", "note", "list"], args].concat())
        .json();
    listed["notes"].as_array().expect("notes").clone()
}

fn fresh() -> Sandbox {
    let s = Sandbox::new();
    begin(&s);
    s
}

fn tip(s: &Sandbox) -> String {
    s.git(&["rev-parse", "loopx"]).line()
}

fn code_of(out: &crate::support::Output) -> String {
    out.error_json()["error"]["code"]
        .as_str()
        .expect("a code")
        .to_owned()
}

#[test]
fn team_g1_a_message_goes_to_the_coordinator_and_says_who_told_whom_what() {
    let s = fresh();
    s.loopx(&["note", "--from", "planner", "--type", "plan_ready"])
        .ok();
    s.loopx(&[
        "note", "--from", "planner", "--type", "progress", "--to", "all",
    ])
    .ok();
    let all = notes(&s, &[]);
    assert_eq!(all[0]["to"], "coordinator");
    assert_eq!(all[0]["kind"], "message");
    assert_eq!(all[0]["text"], "[planner] plan_ready \u{2192} coordinator");
    assert_eq!(all[1]["to"], "all");
    let numbers: Vec<u64> = all.iter().filter_map(|one| one["seq"].as_u64()).collect();
    assert_eq!(numbers[1], numbers[0] + 1);
    let before = tip(&s);
    let refused = s
        .loopx(&["--json", "note", "--type", "plan_ready"])
        .fails_with(2);
    assert_eq!(code_of(&refused), "note_invalid");
    s.loopx(&["note", "list", "--last", "101"]).fails_with(2);
    s.loopx(&["note", "list", "--last", "0"]).fails_with(2);
    let refused = s.loopx(&["--json", "note", "show", "99"]).fails_with(4);
    assert_eq!(code_of(&refused), "note_unknown");
    assert_eq!(tip(&s), before);
    // Broadcast is for every role; what is for another role is not.
    assert_eq!(notes(&s, &["--to", "tester"]).len(), 1);
    assert_eq!(notes(&s, &["--last", "1"])[0]["type"], "progress");
    s.loopx(&["note", "list", "--last", "1"])
        .says("1 older one")
        .ok();
}

#[test]
fn team_g2_of_eight_roles_that_write_at_once_no_word_is_lost() {
    let s = fresh();
    let at_once = Barrier::new(8);
    thread::scope(|scope| {
        for role in 0..8 {
            let (s, at_once) = (&s, &at_once);
            scope.spawn(move || {
                at_once.wait();
                for step in 0..25 {
                    let (from, data) = (format!("role-{role}"), format!("{{\"step\":{step}}}"));
                    let args = [
                        "note",
                        "--type",
                        "state_update",
                        "--from",
                        &from,
                        "--data",
                        &data,
                    ];
                    s.call(LOOPX).args(&args).run().ok();
                }
            });
        }
    });
    let all = notes(&s, &["--type", "state_update"]);
    assert_eq!(all.len(), 200);
    let mut ids: Vec<&str> = all.iter().filter_map(|one| one["op"].as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 200);
    let status = s.loopx(&["--json", "note", "status"]).json();
    let roles = status["roles"].as_array().expect("roles");
    assert_eq!(roles.len(), 8);
    for role in roles {
        assert_eq!(
            (&role["count"], &role["state"]["step"]),
            (&json!(25), &json!(24)),
            "{role}"
        );
    }
    s.loopx(&["fsck", "--full"]).says("all whole").ok();
}

#[test]
fn team_g4_a_note_that_was_withdrawn_stays_in_history_and_its_number_is_given_no_more() {
    let s = started();
    for text in ["one", "two", "three"] {
        s.loopx(&["note", text]).ok();
    }
    let three = notes(&s, &[])[2].clone();
    let number = three["seq"].to_string();
    s.loopx(&["note", "withdraw", &number, "--reason", "wrong place"])
        .ok();
    assert_eq!(notes(&s, &[]).len(), 2);
    let all = notes(&s, &["--withdrawn"]);
    assert_eq!((all.len(), &all[2]["withdrawn"]), (3, &json!(true)));
    s.loopx(&["note", "four"]).ok();
    let four = &notes(&s, &[])[2];
    assert!(four["seq"].as_u64() > three["seq"].as_u64(), "{four}");
    s.loopx(&["log"]).says("three").ok();
    let again = s
        .loopx(&["--json", "note", "withdraw", &number, "--reason", "twice"])
        .fails_with(5);
    assert_eq!(code_of(&again), "note_withdrawn");
    // Nothing takes all away: each is withdrawn by name, and no file of the branch goes.
    s.loopx(&["note", "clear", "now"]).fails_with(2);
    // A list that shows none says where the withdrawn ones are.
    s.loopx(&["note", "list", "--grep", "three"])
        .says("no notes but 1 withdrawn note")
        .says("git loopx note list --withdrawn")
        .ok();
    assert_whole(&s);
}

#[test]
fn threads_filters_and_data() {
    let s = started();
    let said = |args: &[&str]| {
        let noted = s.loopx(&[&["--json", "note"], args].concat()).json();
        noted["op"].as_str().expect("an id").to_owned()
    };
    let first = said(&[
        "is it fast",
        "--from",
        "reviewer",
        "--type",
        "question",
        "--to",
        "tester",
    ]);
    let answer = said(&["it is", "--from", "tester", "--reply-to", &first[..10]]);
    said(&["thanks", "--from", "reviewer", "--reply-to", &answer]);
    let data = r#"{"ratio":0.1,"big":12345678901234567890}"#;
    said(&[
        "apart",
        "--type",
        "result",
        "--from",
        "tester",
        "--ref",
        "bench.txt",
        "--data",
        data,
    ]);
    assert_eq!(notes(&s, &["--thread", &answer]).len(), 3);
    let shown = s.loopx(&["--json", "note", "show", &answer]).json();
    assert_eq!(shown["note"]["reply_to"], first);
    assert_eq!(shown["thread"].as_array().map(Vec::len), Some(3));
    for (filter, expected) in [
        (&["--from", "TESTER"][..], 2),
        (&["--type", "result"], 1),
        (&["--since", "2020-01-01"], 4),
        (&["--since", "2100-01-01"], 0),
        (&["--from", "tester", "--type", "question"], 0),
    ] {
        assert_eq!(notes(&s, filter).len(), expected, "{filter:?}");
    }
    let result = &notes(&s, &["--type", "result"])[0];
    assert_eq!(result["ref"], "bench.txt");
    assert_eq!(result["data"]["big"].to_string(), "12345678901234567890");
    s.loopx(&["note", "x", "--data", "{"]).fails_with(2);
    s.loopx(&["note", "x", "--reply-to", "0123456789"])
        .fails_with(4);
    s.loopx(&["note", "x", "--task", "NO-1"]).fails_with(4);
    s.loopx(&["note", "x", "--journal", "--task", "NO-1"])
        .fails_with(2);
    s.loopx(&["note", "list", "--since", "soon"]).fails_with(2);
    s.loopx(&["note", "list", "--thread", "0123456789"])
        .fails_with(4);
    let trailers = s
        .git(&[
            "log",
            "--format=%s",
            "--grep",
            "Loopx-From: tester",
            "loopx",
        ])
        .ok();
    assert_eq!(trailers.lines().count(), 2);
    assert_whole(&s);
}

#[test]
fn a_key_is_set_by_its_role_alone() {
    let s = fresh();
    s.loopx(&["note", "set", "coverage", "80", "--from", "tester"])
        .ok();
    s.loopx(&["note", "set", "coverage", "82", "--from", "tester"])
        .ok();
    let refused = s
        .loopx(&[
            "--json", "note", "set", "coverage", "99", "--from", "planner",
        ])
        .fails_with(1);
    assert_eq!(code_of(&refused), "note_key_owned");
    s.loopx(&["note", "set", "planner:mode", "full"]).ok();
    s.loopx(&["note", "set", "planner:mode", "x", "--from", "tester"])
        .fails_with(1);
    s.loopx(&["note", "set", "whose", "x"]).fails_with(2);
    assert_eq!(s.loopx(&["note", "get", "coverage"]).ok().trim(), "82");
    let refused = s.loopx(&["--json", "note", "get", "nothing"]).fails_with(4);
    assert_eq!(code_of(&refused), "note_key_unknown");
    let all = s.loopx(&["--json", "note", "get"]).json();
    assert_eq!(all["values"][1]["owner"], "planner");
    s.loopx(&["note", "status"]).says("coverage = 82").ok();
}

#[test]
fn a_key_that_two_clones_set_apart_shows_both_until_its_owner_sets_it_again() {
    let all = Clones::sharing(2);
    all.loopx(
        0,
        &["note", "set", "mode", "a", "--from", "planner", "--journal"],
    )
    .ok();
    all.settle();
    all.loopx(
        0,
        &["note", "set", "mode", "b", "--from", "planner", "--journal"],
    )
    .ok();
    all.loopx(
        1,
        &["note", "set", "mode", "c", "--from", "planner", "--journal"],
    )
    .ok();
    all.loopx(
        1,
        &[
            "note",
            "set",
            "new",
            "of the tester",
            "--from",
            "tester",
            "--journal",
        ],
    )
    .ok();
    all.loopx(
        0,
        &[
            "note",
            "set",
            "new",
            "of the planner",
            "--from",
            "planner",
            "--journal",
        ],
    )
    .ok();
    all.settle();
    all.assert_agreed();
    let get = |at: usize| {
        let all = all
            .loopx(at, &["--json", "note", "get", "--journal"])
            .json();
        all["values"].clone()
    };
    let values = get(0);
    assert_eq!(values, get(1));
    let (mode, new) = (&values[0], &values[1]);
    assert_eq!(mode["apart"].as_array().map(Vec::len), Some(1), "{mode}");
    // Whose record comes first has the key, and the other's value does not count.
    assert_eq!(new["refused"].as_array().map(Vec::len), Some(1), "{new}");
    assert_ne!(new["refused"][0]["role"], new["owner"]);
    all.loopx(1, &["note", "get", "mode", "--journal"])
        .says("in another clone")
        .ok();
    all.loopx(
        1,
        &["note", "set", "mode", "d", "--from", "planner", "--journal"],
    )
    .ok();
    assert_eq!(get(1)[0]["apart"], Value::Null);
    assert_eq!(get(1)[0]["value"], "d");
}

#[test]
fn a_note_on_an_issue_lies_in_its_log() {
    let s = fresh();
    let made = s.loopx(&["--json", "issue", "create", "It is slow"]).json();
    let id = made["issues"][0].as_str().expect("an id").to_owned();
    s.loopx(&[
        "note",
        "the cache is cold",
        "--kind",
        "risk",
        "--issue",
        &id,
    ])
    .ok();
    s.loopx(&["note", "warm it", "--from", "planner", "--issue", &id])
        .ok();
    let listed = notes(&s, &["--issue", &id]);
    assert_eq!(listed.len(), 2);
    assert_eq!(listed[0]["issue"], id);
    assert_eq!(notes(&s, &["--all", "--from", "planner"]).len(), 1);
    s.loopx(&["issue", "show", &id])
        .says("the cache is cold")
        .ok();
    s.loopx(&["note", "x", "--issue", "zz-none"]).fails_with(4);
    s.loopx(&["fsck", "--full"]).says("all whole").ok();
}

#[test]
fn a_note_is_promoted_to_a_rule_or_a_draft_with_links_both_ways() {
    let s = started();
    s.loopx(&["note", "Clear the cache at night", "--kind", "convention"])
        .ok();
    s.loopx(&[
        "note",
        "We keep one cache\n\nTwo were never in step",
        "--kind",
        "decision",
    ])
    .ok();
    let all = notes(&s, &[]);
    let id = |at: usize| all[at]["op"].as_str().expect("an id").to_owned();
    let dry = s.loopx(&["note", "promote", &id(0), "--to", "rule", "--dry-run"]);
    dry.says("Clear the cache at night").ok();
    assert!(!s.exists("docs/rules/coding-conventions.md"));
    s.loopx(&["note", "promote", &id(0), "--to", "rule"])
        .says("docs/rules/")
        .ok();
    let rules = s.read("docs/rules/coding-conventions.md");
    let back = format!("Clear the cache at night (note {})", &id(0)[..12]);
    assert!(rules.contains(&back), "{rules}");
    // It is one rule, however it is typed.
    s.loopx(&["rule", "add", "clear the cache at night."])
        .fails_with(5);
    let again = s
        .loopx(&["--json", "note", "promote", &id(0), "--to", "rule"])
        .fails_with(5);
    assert_eq!(code_of(&again), "note_promoted");
    let made = s
        .loopx(&["--json", "note", "promote", &id(1), "--to", "adr"])
        .json();
    let path = made["path"].as_str().expect("a path").to_owned();
    let draft = s.read(&path);
    assert!(draft.contains("# We keep one cache"), "{draft}");
    assert!(draft.contains("Two were never in step"), "{draft}");
    assert!(
        draft.contains(&format!("note {}.", &id(1)[..12])),
        "{draft}"
    );
    let listed = notes(&s, &[]);
    assert_eq!(listed.len(), 2);
    assert_eq!(listed[0]["promoted"][0]["into"], "rule");
    assert_eq!(listed[1]["promoted"][0]["path"], path);
    s.loopx(&["rule", "check"]).ok();
    assert_whole(&s);
}

#[test]
fn an_approval_leaves_its_entry() {
    let s = started();
    assert_eq!(notes(&s, &["-s", ID, "--kind", "approval"]).len(), 0);
    crate::support::store::plan_approved(&s);
    let entries = notes(&s, &["-s", ID, "--kind", "approval"]);
    assert_eq!(entries.len(), 1, "{entries:#?}");
    assert_eq!(entries[0]["kind"], "approval");
    assert!(
        entries[0]["text"]
            .as_str()
            .is_some_and(|text| text.starts_with("clarify->plan")),
        "{entries:#?}"
    );
    assert!(notes(&s, &["-s", ID]).is_empty());
    assert_eq!(notes(&s, &["--all", "--kind", "approval"]).len(), 1);
}

/// A list of a long journal is read from a kept file, whose sum anybody can make. What is set rests on the records.
#[test]
fn a_forged_list_of_the_journal_gives_no_key_away() {
    let s = fresh();
    let line =
        |n| format!(r#"{{"id":"MSG-{n}","from":"a","type":"progress","summary":"step {n}"}}"#);
    let log: Vec<String> = (0..300).map(line).collect();
    s.write("messages.jsonl", log.join("\n"));
    s.loopx(&["note", "import", "messages.jsonl", "--journal"])
        .ok();
    let set = |value: &str, role: &str| {
        s.loopx(&[
            "--json",
            "note",
            "set",
            "port",
            value,
            "--from",
            role,
            "--journal",
        ])
    };
    set("8080", "planner").ok();
    s.loopx(&["note", "list", "--journal"]).ok();
    let kept = s.path().join(".git/loopx/journal-cache");
    let mut forged = 0;
    for file in std::fs::read_dir(&kept).expect("kept lists") {
        let path = file.expect("a file").path();
        let text = std::fs::read_to_string(&path).expect("a list");
        let (whole, _) = text.trim_end().rsplit_once('\n').expect("a sum");
        let whole = whole.replace("\"planner\"", "\"tester\"") + "\n";
        forged += usize::from(whole.contains("\"tester\""));
        let sum = checksum(whole.as_bytes());
        std::fs::write(&path, format!("{whole}{sum:08x}\n")).expect("a list");
    }
    assert!(forged > 0, "the key is in a kept list");
    let get = || {
        s.loopx(&["--json", "note", "get", "port", "--journal"])
            .says("\"owner\": \"tester\"")
            .ok()
    };
    get();
    let before = tip(&s);
    set("1", "tester").fails_with(1);
    assert_eq!(tip(&s), before);
    set("9090", "planner").ok();
    std::fs::remove_dir_all(&kept).expect("removed");
    s.loopx(&["note", "get", "port", "--journal"])
        .says("9090")
        .ok();
}

/// A promotion writes the document first: where its record fails, the same command makes the record.
#[test]
fn n1_a_promotion_that_was_not_recorded_is_recorded_when_it_is_typed_again() {
    for (into, text, kind) in [
        ("rule", "Never clear the cache by day", "convention"),
        ("adr", "Never clear the cache", "decision"),
    ] {
        let s = started();
        s.loopx(&["note", text, "--kind", kind]).ok();
        let id = notes(&s, &[])[0]["op"].as_str().expect("an id").to_owned();
        let promote = ["note", "promote", &id, "--to", into];
        let call = s.call(LOOPX).args(&promote).durable();
        let failed = call.env("LOOPX_FAILPOINT", "error:fsync:1+").run();
        assert_ne!(failed.code, Some(0), "{failed}");
        assert!(
            failed
                .stderr
                .contains("is written, and the note does not say so yet"),
            "{failed}"
        );
        assert!(failed.stderr.contains("git loopx note promote"), "{failed}");
        assert!(notes(&s, &[])[0]["promoted"].is_null());
        let folder = s.snapshot("docs");
        assert_eq!(folder.len(), 1);
        s.loopx(&promote).says("docs/").ok();
        assert_eq!(s.snapshot("docs"), folder);
        assert_eq!(notes(&s, &[])[0]["promoted"][0]["into"], into);
        s.loopx(&promote).fails_with(5);
        assert_whole(&s);
    }
}

#[test]
fn n1_a_proposal_that_was_written_and_not_recorded_is_recorded_when_it_is_typed_again() {
    let s = started();
    s.loopx(&["note", "Never clear the cache", "--kind", "convention"])
        .ok();
    let propose = ["rule", "propose", "--write"];
    let call = s.call(LOOPX).args(&propose).durable();
    let failed = call.env("LOOPX_FAILPOINT", "error:fsync:1+").run();
    assert_ne!(failed.code, Some(0), "{failed}");
    let folder = s.snapshot("docs");
    s.loopx(&propose).ok();
    assert_eq!(s.snapshot("docs"), folder);
    assert_eq!(notes(&s, &[])[0]["promoted"][0]["into"], "rule");
    assert_whole(&s);
}
