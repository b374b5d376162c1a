//! Messages and wisdom of ccw as notes: whole or not at all, and once; and a month of more notes than one part has.

use crate::support::Sandbox;
use crate::support::store::started;
use serde_json::{Value, json};

fn notes(s: &Sandbox, args: &[&str]) -> Vec<Value> {
    let listed = s
        .loopx(&[&["--json", "note", "list"], args].concat())
        .json();
    listed["notes"].as_array().expect("notes").clone()
}

fn tip(s: &Sandbox) -> String {
    s.git(&["rev-parse", "loopx"]).line()
}

const LOG: &str = concat!(
    r#"{"id":"MSG-001","ts":"2026-01-02T03:04:05Z","from":"planner","to":"coordinator","type":"plan_ready","summary":"[planner] the plan","data":{"ref":"plan.md","n":1}}"#,
    "\n",
    r#"{"id":"MSG-002","ts":"2026-01-02T03:05:05Z","from":"tester","to":"all","type":"state_update","data":{"phase":"red"}}"#,
    "\n",
);

fn team(s: &Sandbox) -> &'static str {
    s.write(".workflow/.team/TLS-x/.msg/messages.jsonl", LOG);
    s.write(
        ".workflow/.team/TLS-x/wisdom/learnings.md",
        "# Learnings\n\n- [2026-01-02] [planner] Cache it\n- plain\n",
    );
    s.write(
        ".workflow/.team/TLS-x/wisdom/issues.md",
        "- [2026-01-02] [tester] It is slow\n",
    );
    ".workflow/.team/TLS-x"
}

#[test]
fn messages_and_wisdom_are_imported_whole_and_once() {
    for place in [&["--journal"][..], &[]] {
        let s = started();
        let folder = team(&s);
        let import = |path: &str| {
            let args = [&["--json", "note", "import", path], place].concat();
            s.loopx(&args).json()
        };
        let dry = [&["--json", "note", "import", folder, "--dry-run"], place].concat();
        let before = tip(&s);
        assert_eq!(s.loopx(&dry).json()["new"], 5);
        assert_eq!(tip(&s), before);
        let done = import(folder);
        assert_eq!((&done["new"], &done["known"]), (&json!(5), &json!(0)));
        assert_eq!(
            s.git(&["rev-list", "--count", &format!("{before}..loopx")])
                .line(),
            "1"
        );
        let after = tip(&s);
        assert_eq!(import(folder)["new"], 0);
        // By whichever path it is named.
        let log = format!("{folder}/.msg/messages.jsonl");
        assert_eq!(import(&log)["known"], 2);
        assert_eq!(import(".workflow/.team")["new"], 0);
        assert_eq!(tip(&s), after);
        let all = notes(&s, place);
        assert_eq!(all.len(), 5);
        let plan = all
            .iter()
            .find(|one| one["type"] == "plan_ready")
            .expect("a message");
        assert_eq!(
            (&plan["ref"], &plan["data"]["n"]),
            (&json!("plan.md"), &json!(1))
        );
        assert_eq!(plan["at"], "2026-01-02T03:04:05Z");
        assert_eq!(
            notes(&s, &[place, &["--kind", "risk"]].concat())[0]["from"],
            "tester"
        );
        let status = s
            .loopx(&[&["--json", "note", "status"], place].concat())
            .json();
        assert_eq!(status["roles"][1]["state"]["phase"], "red");
        // One more line is one more note; a torn one is named, and nothing comes of the file.
        let more = LOG.replace("MSG-00", "MSG-10");
        s.write(
            ".workflow/.team/TLS-x/.msg/messages.jsonl",
            format!("{LOG}{more}{{\"id\":\"M"),
        );
        let args = [&["--json", "note", "import", folder], place].concat();
        let refused = s.loopx(&args).fails_with(1);
        assert!(refused.stderr.contains("messages.jsonl:5"), "{refused}");
        assert_eq!(tip(&s), after);
        s.write(
            ".workflow/.team/TLS-x/.msg/messages.jsonl",
            format!("{LOG}{more}"),
        );
        assert_eq!(import(folder)["new"], 2);
        s.loopx(&["note", "import", "nowhere"]).fails_with(4);
        s.loopx(&["fsck", "--full"]).says("all whole").ok();
    }
}

#[test]
fn a_month_of_many_notes_goes_on_in_parts_and_is_listed_whole() {
    let s = started();
    let mut log = String::new();
    for n in 0..5_200 {
        let sort = if n % 1_000 == 7 { "rare" } else { "progress" };
        log.push_str(&format!(
            "{{\"id\":\"MSG-{n}\",\"from\":\"role-{}\",\"type\":\"{sort}\",\"summary\":\"step {n}\"}}\n",
            n % 9
        ));
    }
    s.write("team/messages.jsonl", log);
    let done = s
        .loopx(&["--json", "note", "import", "team", "--journal"])
        .json();
    assert_eq!(done["new"], 5_200);
    s.loopx(&["note", "one more", "--journal"]).ok();
    let parts = s.git(&["ls-tree", "--name-only", "loopx", "journal/"]).ok();
    assert_eq!(parts.lines().count(), 2, "{parts}");
    assert!(parts.lines().any(|name| name.ends_with(".02")), "{parts}");
    let rare = notes(&s, &["--journal", "--type", "rare"]);
    assert_eq!(rare.len(), 6);
    // With the kept list and without, and with one that was torn.
    assert_eq!(notes(&s, &["--journal", "--type", "rare"]), rare);
    let kept = s.path().join(".git/loopx/journal-cache");
    for file in std::fs::read_dir(&kept).expect("kept lists") {
        let path = file.expect("a file").path();
        let text = std::fs::read_to_string(&path).expect("a list");
        std::fs::write(&path, text.replace("rare", "hare")).expect("a list");
    }
    assert_eq!(notes(&s, &["--journal", "--type", "rare"]), rare);
    assert_eq!(notes(&s, &["--journal"]).len(), 5_201);
    let status = s.loopx(&["--json", "note", "status", "--journal"]).json();
    assert_eq!(
        (&status["notes"], status["roles"].as_array().map(Vec::len)),
        (&json!(5_201), Some(9))
    );
    s.loopx(&["fsck", "--full"]).says("all whole").ok();
}

#[test]
fn the_newest_part_of_a_month_says_how_a_role_stands() {
    let s = started();
    let say = |text: &str, phase: &str| {
        let data = format!("{{\"phase\":\"{phase}\"}}");
        let args = [
            "note",
            text,
            "--journal",
            "--from",
            "planner",
            "--type",
            "state_update",
            "--data",
        ];
        s.loopx(&[&args[..], &[data.as_str()]].concat()).ok();
    };
    say("old last", "one");
    let mut log = String::new();
    for n in 0..5_100 {
        log.push_str(&format!(
            "{{\"id\":\"MSG-{n}\",\"from\":\"other\",\"type\":\"progress\",\"summary\":\"step {n}\"}}\n"
        ));
    }
    s.write("team/messages.jsonl", log);
    s.loopx(&["note", "import", "team", "--journal"]).ok();
    say("new last", "two");
    let status = s.loopx(&["--json", "note", "status", "--journal"]).json();
    let roles = status["roles"].as_array().expect("roles");
    let planner = roles.iter().find(|role| role["role"] == "planner");
    let said = planner.expect("the planner").to_string();
    assert!(said.contains("new last") && said.contains("two"), "{said}");
    assert!(!said.contains("old last"), "{said}");
}

#[test]
fn a_message_with_a_key_that_stands_twice_is_refused_with_its_line() {
    let s = crate::support::issues::backlog();
    s.write(
        "messages.jsonl",
        "{\"id\":\"MSG-001\",\"from\":\"a\",\"to\":\"b\",\"type\":\"x\",\"summary\":\"one\",\"summary\":\"two\"}\n",
    );
    let error = s
        .loopx(&["--json", "note", "import", "messages.jsonl", "--journal"])
        .error_json();
    let said = error["error"].to_string();
    assert!(
        said.contains("messages.jsonl:1") && said.contains("`summary` stands here twice"),
        "{said}"
    );
}
