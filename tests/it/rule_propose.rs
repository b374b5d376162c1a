//! Rules out of what a session noted: proposed after its archive, written by one command and not before.

use crate::support::Sandbox;
use crate::support::issues::{BRIEF, backlog};
use serde_json::Value;

/// A session `fix-the-typo` on its branch, with notes; one of the rules that they say stands in a document.
fn noted() -> Sandbox {
    Sandbox::once("", || {
        let s = backlog();
        s.loopx(&["rule", "add", "Log with one logger"]).ok();
        s.git(&["add", "docs"]).ok();
        s.git(&["commit", "--quiet", "-m", "Rules"]).ok();
        s.git(&["switch", "--quiet", "-c", "typo"]).ok();
        s.loopx(&["start", "--quick", "Fix the typo"]).ok();
        for (text, kind) in [
            ("Words are spelt as in the dictionary", "convention"),
            ("log with ONE logger.", "convention"),
            ("No second dictionary", "decision"),
            ("The form has no test", "learning"),
            ("words are spelt as in  the dictionary.", "learning"),
            ("The form may be slow", "risk"),
            ("Look at the form", "message"),
        ] {
            s.loopx(&["note", text, "--kind", kind]).ok();
        }
        s
    })
}

fn finish(s: &Sandbox) -> Value {
    s.write(".loopx/fix-the-typo/brief.md", BRIEF);
    s.commit_file("code.txt", "code, spelt well\n", "Fix the typo")
        .ok();
    s.loopx(&["run", "--", "true"]).ok();
    s.loopx(&["finish", "--yes", "--json"]).json()
}

fn rules(document: &Value) -> Vec<(&str, &str)> {
    let rules = document["rules"].as_array().expect("rules").iter();
    let words = rules.map(|one| {
        let kind = one["kind"].as_str().expect("a kind");
        (kind, one["rule"].as_str().expect("a rule"))
    });
    words.collect()
}

const WANTED: [(&str, &str); 3] = [
    ("convention", "Words are spelt as in the dictionary"),
    ("constraint", "No second dictionary"),
    ("learning", "The form has no test"),
];

#[test]
fn rules_are_proposed_after_an_archive_and_written_by_one_command_only() {
    let s = noted();
    let finished = finish(&s);
    assert_eq!(rules(&finished), WANTED, "{finished}");
    let refs = s.git(&["for-each-ref"]).ok();
    let shown = s.loopx(&["rule", "propose"]).ok();
    for (_, rule) in WANTED {
        assert!(shown.contains(rule), "{shown}");
    }
    assert!(
        !shown.contains("logger"),
        "what is known is left out: {shown}"
    );
    let shown = s.document(0, &["rule", "propose"]);
    assert_eq!(rules(&shown), WANTED);
    assert_eq!(
        shown["next_action"],
        "git loopx rule propose fix-the-typo --write"
    );
    assert_eq!(s.git(&["for-each-ref"]).ok(), refs);
    assert_eq!(s.git(&["status", "--porcelain"]).ok(), "");
    // From a folder below, with a space in its name.
    let below = s.path().join("a folder");
    std::fs::create_dir(&below).expect("a folder");
    s.loopx_in(&below, &["rule", "propose", "fix-the-typo", "--write"])
        .ok();
    let before = refs.lines().count();
    assert_eq!(s.git(&["for-each-ref"]).ok().lines().count(), before);
    let one_more = s.git(&["log", "-1", "--format=%B", "loopx"]).ok();
    assert!(
        one_more.starts_with("fix-the-typo: promote 3 notes to rules\n"),
        "{one_more}"
    );
    let conventions = s.read("docs/rules/coding-conventions.md");
    assert!(
        conventions.contains("- Words are spelt as in the dictionary (note "),
        "{conventions}"
    );
    for (file, rule) in [
        ("architecture-constraints.md", "No second dictionary"),
        ("learnings.md", "The form has no test"),
    ] {
        assert!(s.read(format!("docs/rules/{file}")).contains(rule));
    }
    let listed = s.document(0, &["note", "list", "-s", "fix-the-typo"]);
    let promoted = listed["notes"].as_array().expect("notes").iter();
    let promoted = promoted.filter(|note| !note["promoted"].is_null()).count();
    assert_eq!(promoted, 3, "{listed}");
    let again = s.document(0, &["rule", "propose", "--write"]);
    assert_eq!(rules(&again), []);
    assert_eq!(again["written"], false);
    s.loopx(&["rule", "check"]).ok();
    s.loopx(&["fsck"]).ok();
}

#[test]
fn whoever_writes_rules_chooses_notes_and_category() {
    let s = noted();
    s.loopx(&["note", "# no rule", "--kind", "convention"]).ok();
    let found = s.document(0, &["rule", "propose"]);
    assert_eq!(
        rules(&found),
        WANTED,
        "a session that goes on has them, too"
    );
    assert_eq!(found["unfit"].as_array().map(Vec::len), Some(1), "{found}");
    let seq = |at: usize| format!("@{}", found["rules"][at]["seq"]);
    s.loopx(&["note", "withdraw", &seq(2), "--reason", "it has one"])
        .ok();
    let found = s.document(
        0,
        &[
            "rule",
            "propose",
            "--only",
            &seq(0),
            "--category",
            "planning",
        ],
    );
    assert_eq!(rules(&found), WANTED[..1]);
    assert_eq!(
        found["rules"][0]["path"],
        "docs/rules/planning-conventions.md"
    );
    let next = found["next_action"].as_str().expect("a command");
    let words: Vec<&str> = next.split(' ').skip(2).collect();
    s.loopx(&words).ok();
    assert!(s.exists("docs/rules/planning-conventions.md"));
    let left = s.document(0, &["rule", "propose"]);
    assert_eq!(
        rules(&left),
        WANTED[1..2],
        "what was withdrawn or written is not proposed"
    );
    let listed = s.document(0, &["note", "list", "--kind", "risk"]);
    let risk = format!("@{}", listed["notes"][0]["seq"]);
    let refused = s.error(2, &["rule", "propose", "--only", &risk]);
    assert_eq!(refused["code"], "note_invalid");
    let refused = s.error(2, &["rule", "propose", "--category", "exekution"]);
    assert_eq!(refused["code"], "category_unknown");
    let refused = s.error(4, &["rule", "propose", "nobody"]);
    assert_eq!(refused["code"], "session_unknown");
}

/// A lesson is often seen when the work is done.
#[test]
fn a_note_of_an_archived_session_is_promoted_with_a_link_back() {
    let s = noted();
    finish(&s);
    let found = s.document(0, &["rule", "propose"]);
    let note = found["rules"][0]["note"].as_str().expect("an id");
    s.loopx(&[
        "note",
        "promote",
        note,
        "--to",
        "rule",
        "-s",
        "fix-the-typo",
    ])
    .ok();
    let shown = s.document(0, &["note", "show", note, "-s", "fix-the-typo"]);
    let text = shown.to_string();
    assert!(text.contains("docs/rules/coding-conventions.md"), "{text}");
    s.loopx(&["fsck"]).ok();
}
