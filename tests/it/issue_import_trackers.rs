//! `issue import` of what other trackers export: Task Master, Taskwarrior, GitLab, tables of Jira and Linear, boxes in
//! Markdown. Each is known by its content, and a second time adds nothing.

use crate::support::clones::Clones;
use crate::support::issues::{backlog, list, show};
use crate::support::{LOOPX, Sandbox};
use serde_json::{Value, json};

fn import(s: &Sandbox, args: &[&str]) -> Value {
    s.loopx(&[&["--json", "issue", "import"], args].concat())
        .json()
}

/// Result of an import of a file whose format nobody says; a second import brings nothing.
fn taken(s: &Sandbox, name: &str, text: &str, (format, issues): (&str, usize)) -> Value {
    s.write(name, text);
    let report = import(s, &[name]);
    assert_eq!(report["format"], format, "{report}");
    let new = report["new"].as_array().map(Vec::len);
    assert_eq!(new, Some(issues), "{report}");
    let tip = || s.git(&["rev-parse", "refs/heads/loopx"]).line();
    let before = tip();
    let again = import(s, &[name, "--update"]);
    assert_eq!((&again["new"], &again["changed"]), (&json!([]), &json!([])));
    assert_eq!(
        (again["here"].as_u64(), tip()),
        (Some(issues as u64), before)
    );
    s.loopx(&["fsck"]).ok();
    report
}

fn shown(s: &Sandbox, title: &str) -> Value {
    let all = list(s, &["--all"]);
    let found = all.iter().find(|issue| issue["title"] == title);
    let found = found.unwrap_or_else(|| panic!("no {title} in {all:?}"));
    show(s, found["id"].as_str().expect("an id"))
}

fn links(issue: &Value, kind: &str) -> Vec<String> {
    let all = issue["links"].as_array().expect("links").iter();
    let all = all.filter(|link| link["kind"] == kind);
    all.map(|link| link["to"].as_str().expect("an id").to_owned())
        .collect()
}

fn id(s: &Sandbox, title: &str) -> String {
    shown(s, title)["id"].as_str().expect("an id").to_owned()
}

/// The messages of what an import says is not as it was there.
fn remarks(report: &Value) -> String {
    report["remarks"].to_string()
}

#[test]
fn tasks_of_task_master_come_with_their_subtasks_as_parts() {
    let s = backlog();
    let text = json!({
        "master": {"tasks": [
            {"id": 1, "title": "Set up", "description": "All of it", "details": "With care", "testStrategy": "Start it",
             "priority": "high", "status": "done", "dependencies": [], "subtasks": [], "complexityScore": 7},
            {"id": 2, "title": "Log in", "priority": "medium", "status": "in-progress", "dependencies": [1, "9"], "subtasks": [
                {"id": 1, "title": "Form", "status": "pending", "dependencies": []},
                {"id": 2, "title": "Token", "status": "review", "dependencies": [1, "1"], "parentTaskId": 2}]}],
            "metadata": {"created": "2026-01-01T00:00:00Z"}},
        "mobile": {"tasks": [{"id": 1, "title": "App", "status": "deferred", "dependencies": []}]}
    });
    let report = taken(&s, "tasks.json", &text.to_string(), ("task-master", 5));
    assert!(
        remarks(&report).contains("blocked-by 9: there is no such issue"),
        "{report}"
    );
    assert!(
        remarks(&report).contains("`master` is not taken over: metadata"),
        "{report}"
    );
    let setup = shown(&s, "Set up");
    assert_eq!(
        setup["description"],
        "All of it\n\n## Details\n\nWith care\n\n\n## Test strategy\n\nStart it\n"
    );
    assert_eq!(
        (&setup["status"], &setup["reason"], &setup["priority"]),
        (&json!("resolved"), &json!("done in Task Master"), &json!(1))
    );
    assert_eq!(setup["kept"]["complexityScore"], 7);
    let login = shown(&s, "Log in");
    assert_eq!(links(&login, "blocked-by"), [id(&s, "Set up")]);
    let token = shown(&s, "Token");
    assert_eq!(links(&token, "parent"), [id(&s, "Log in")]);
    assert_eq!(links(&token, "blocked-by"), [id(&s, "Form")]);
    assert_eq!(
        (&token["status"], &token["labels"]),
        (&json!("in_progress"), &json!(["review"]))
    );
    assert_eq!(
        token["source"],
        json!({"system": "task-master", "id": "2.2"})
    );
    // Numbers begin anew in each tag.
    let app = shown(&s, "App");
    assert_eq!(
        (&app["source"]["id"], &app["labels"]),
        (&json!("mobile/1"), &json!(["deferred", "mobile"]))
    );
    // The folder of the program is found, and an older file without tags has the same tasks.
    s.write(".taskmaster/tasks/tasks.json", text["master"].to_string());
    let report = import(&s, &["."]);
    assert_eq!((&report["here"], &report["new"]), (&json!(4), &json!([])));
}

#[test]
fn tasks_of_taskwarrior_come_with_days_and_annotations() {
    let s = backlog();
    let text = r#"[
{"id":1,"description":"Buy milk","entry":"20260101T090000Z","modified":"20260102T090000Z","priority":"H","project":"home.food","status":"pending","tags":["shop"],"uuid":"a1","due":"20260301T000000Z","annotations":[{"entry":"20260103T000000Z","description":"two"}],"depends":["b2","c3"],"urgency":9.1},
{"id":2,"description":"Earn money","entry":"20260101T090001Z","start":"20260105T090000Z","status":"pending","uuid":"b2","urgency":4},
{"id":0,"description":"Rest","entry":"20260101T090002Z","end":"20260106T090000Z","status":"completed","uuid":"c3","size":"big"},
{"id":0,"description":"Gone","entry":"20260101T090003Z","status":"deleted","uuid":"d4"},
{"id":3,"description":"Wait","entry":"20260101T090004Z","status":"waiting","wait":"20260401T000000Z","scheduled":"20260402T000000Z","uuid":"e5","depends":"a1,b2"}
]
"#;
    let report = taken(&s, "tasks.json", text, ("taskwarrior", 4));
    assert!(
        remarks(&report).contains("`d4` was deleted there"),
        "{report}"
    );
    let milk = shown(&s, "Buy milk");
    assert_eq!(
        (&milk["due"], &milk["priority"], &milk["labels"]),
        (
            &json!("2026-03-01"),
            &json!(1),
            &json!(["project:home.food", "shop"])
        )
    );
    assert_eq!(milk["made"]["at"], "2026-01-01T09:00:00Z");
    assert_eq!(milk["notes"][0]["text"], "two");
    let mut waits = [id(&s, "Earn money"), id(&s, "Rest")];
    waits.sort();
    assert_eq!(links(&milk, "blocked-by"), waits);
    assert!(milk["kept"]["urgency"].is_null(), "{milk}");
    assert_eq!(shown(&s, "Earn money")["status"], "in_progress");
    let rest = shown(&s, "Rest");
    assert_eq!(
        (&rest["status"], &rest["kept"]["size"]),
        (&json!("resolved"), &json!("big"))
    );
    let wait = shown(&s, "Wait");
    assert_eq!(
        (&wait["defer"], &wait["status"]),
        (&json!("2026-04-02"), &json!("open"))
    );
    assert_eq!(links(&wait, "blocked-by").len(), 2);
    // Another day computes another urgency, which is no news.
    s.write(
        "later.json",
        text.replace("9.1", "9.7").replace("\"id\":1,", "\"id\":7,"),
    );
    assert_eq!(import(&s, &["later.json"])["changed"], json!([]));
}

#[test]
fn gitlab_comes_as_glab_prints_it() {
    let s = backlog();
    let issue = |number: u8, title: &str, more: Value| {
        let mut issue = json!({"id": 100 + number, "iid": number, "project_id": 3, "title": title, "state": "opened",
            "web_url": format!("https://gitlab.example/g/sub/p/-/issues/{number}"), "issue_type": "issue"});
        let more = more.as_object().expect("an object").clone();
        issue.as_object_mut().expect("an object").extend(more);
        issue
    };
    let text = json!([
        issue(
            7,
            "Crash",
            json!({"description": "Steps", "labels": ["bug", "needs help"], "milestone": {"id": 1, "title": "v1"},
            "assignees": [{"username": "ada"}, {"username": "bob"}], "assignee": {"username": "ada"}, "author": {"username": "eve"},
            "created_at": "2026-01-01T00:00:00.000Z", "due_date": "2026-03-01", "time_stats": {"time_estimate": 5400}, "weight": 3,
            "references": {"short": "#7", "full": "g/sub/p#7"}})
        ),
        issue(
            8,
            "Done",
            json!({"state": "closed", "closed_at": "2026-01-02T00:00:00.000Z"})
        ),
        issue(9, "Down", json!({"issue_type": "incident"})),
    ]);
    taken(&s, "issues.json", &text.to_string(), ("gitlab", 3));
    let crash = shown(&s, "Crash");
    assert_eq!(
        (&crash["kind"], &crash["assignee"], &crash["milestone"]),
        (&json!("bug"), &json!("ada"), &json!("v1"))
    );
    assert_eq!(
        (&crash["due"], &crash["estimate"], &crash["source"]["id"]),
        (&json!("2026-03-01"), &json!(90), &json!("g/sub/p#7"))
    );
    assert_eq!(crash["labels"], json!(["bug", "needs-help"]));
    assert_eq!(crash["made"]["by"], "eve");
    assert_eq!(
        (&crash["kept"]["weight"], &crash["kept"]["more_assignees"]),
        (&json!(3), &json!(["bob"]))
    );
    let done = shown(&s, "Done");
    assert_eq!(
        (&done["status"], &done["source"]["id"]),
        (&json!("resolved"), &json!("g/sub/p#8"))
    );
    assert_eq!(shown(&s, "Down")["labels"], json!(["incident"]));
}

const JIRA: &str = "\u{feff}Issue key,Issue id,Parent id,Issue Type,Summary,Status,Resolution,Priority,Assignee,Reporter,Created,Due date,Labels,Labels,Original estimate,Inward issue link (Blocks),Outward issue link (Blocks),Comment,Description,Custom field (Team),Custom field (Team)\r\n\
PRJ-1,10001,,Epic,Login,In Progress,,Highest,ada,eve,01/Jan/26 9:00 AM,,,,,,,,,red,blue\r\n\
PRJ-2,10002,10001,Story,\"Form, with \"\"quotes\"\"\",Closed,Done,Medium,,eve,02/Jan/26 9:00 PM,1/Mar/26,ui,web,5400,,PRJ-3,\"03/Jan/26 1:00 PM;bob;Seen;\ntwice\",\"Line one\nline two\",,\r\n\
PRJ-3,10003,10001,Bug,\"=HYPERLINK(\"\"http://x\"\";\"\"y\"\")\",Done,Won't Do,Low,,eve,02/Jan/26 9:01 PM,,,,,PRJ-2,,,@SUM(1+1),,\r\n";

#[test]
fn a_table_of_jira_comes_with_its_links_and_formulas_stay_text() {
    let s = backlog();
    taken(&s, "jira.csv", JIRA, ("csv", 3));
    let epic = shown(&s, "Login");
    assert_eq!(
        (&epic["kind"], &epic["priority"], &epic["assignee"]),
        (&json!("epic"), &json!(0), &json!("ada"))
    );
    assert_eq!(
        epic["made"],
        json!({"by": "eve", "at": "2026-01-01T09:00:00Z"})
    );
    assert_eq!(epic["kept"]["Custom field (Team)"], json!(["red", "blue"]));
    assert_eq!(epic["source"], json!({"system": "csv", "id": "PRJ-1"}));
    let form = shown(&s, "Form, with \"quotes\"");
    assert_eq!(
        (&form["status"], &form["kind"], &form["due"]),
        (&json!("resolved"), &json!("feature"), &json!("2026-03-01"))
    );
    assert_eq!(
        (&form["labels"], &form["estimate"]),
        (&json!(["ui", "web"]), &json!(90))
    );
    assert_eq!(form["description"], "Line one\nline two");
    assert_eq!(form["notes"][0]["text"], "Seen;\ntwice");
    assert_eq!(
        form["notes"][0]["first"],
        json!({"by": "bob", "at": "2026-01-03T13:00:00Z"})
    );
    assert_eq!(links(&form, "parent"), [id(&s, "Login")]);
    let formula = shown(&s, "=HYPERLINK(\"http://x\";\"y\")");
    assert_eq!(
        (&formula["status"], &formula["description"]),
        (&json!("closed"), &json!("@SUM(1+1)"))
    );
    assert_eq!(formula["reason"], "Done in csv: Won't Do");
    // Both sides of a link name it, and it is one.
    assert_eq!(
        links(&formula, "blocked-by"),
        [form["id"].as_str().expect("an id")]
    );
}

#[test]
fn a_table_of_linear_comes_with_the_words_of_its_columns() {
    let s = backlog();
    let text = "\"ID\",\"Team\",\"Title\",\"Description\",\"Status\",\"Estimate\",\"Priority\",\"Labels\",\"Assignee\",\"Created\",\"Due Date\",\"Parent issue\"\n\
\"ENG-1\",\"Core\",\"Sync\",\"\",\"In Review\",\"3\",\"Urgent\",\"Bug, two words\",\"ada@x\",\"Fri Jan 02 2026 10:32:10 GMT+0000 (GMT)\",\"2026-02-01\",\"\"\n\
\"ENG-2\",\"Core\",\"Old\",\"\",\"Duplicate\",\"\",\"No priority\",\"\",\"\",\"Fri Jan 02 2026 10:32:11 GMT+0000 (GMT)\",\"01/02/2026\",\"ENG-1\"\n";
    let report = taken(&s, "linear.csv", text, ("csv", 2));
    assert!(
        remarks(&report).contains("`01/02/2026` is not a day in a known form"),
        "{report}"
    );
    let sync = shown(&s, "Sync");
    assert_eq!(
        (&sync["status"], &sync["priority"], &sync["due"]),
        (&json!("in_progress"), &json!(0), &json!("2026-02-01"))
    );
    assert_eq!(sync["labels"], json!(["Bug", "In-Review", "two-words"]));
    assert_eq!(sync["made"]["at"], "2026-01-02T10:32:10+00:00");
    assert_eq!(
        (&sync["kept"]["estimate"], &sync["kept"]["Team"]),
        (&json!("3"), &json!("Core"))
    );
    let old = shown(&s, "Old");
    assert_eq!(
        (&old["status"], &old["priority"], &old["kept"]["due"]),
        (&json!("closed"), &json!(2), &json!("01/02/2026"))
    );
    assert_eq!(links(&old, "parent"), [id(&s, "Sync")]);
}

#[test]
fn boxes_of_markdown_come_with_parts_and_another_text_is_another_issue() {
    let s = backlog();
    let text =
        "# Plan\n\nWords\n\n- [ ] Build\n  with care\n  - [x] Walls\n  - [ ] Roof\n- [ ] Sell\n";
    let report = taken(&s, "todo.md", text, ("markdown", 4));
    assert!(
        remarks(&report).contains("1 line is without a check box"),
        "{report}"
    );
    let build = shown(&s, "Build");
    assert_eq!(
        (&build["description"], &build["kept"]["heading"]),
        (&json!("with care"), &json!("Plan"))
    );
    let walls = shown(&s, "Walls");
    assert_eq!(
        (&walls["status"], &walls["reason"]),
        (&json!("resolved"), &json!("ticked in Markdown"))
    );
    assert_eq!(
        links(&walls, "parent"),
        [build["id"].as_str().expect("an id")]
    );
    // A box that is ticked there later is news, which is brought where somebody asks for it.
    s.write(
        "todo.md",
        text.replace("[ ] Sell", "[x] Sell") + "- [ ] Move\n",
    );
    let report = import(&s, &["todo.md", "--update"]);
    assert_eq!(report["new"].as_array().map(Vec::len), Some(1), "{report}");
    assert_eq!(shown(&s, "Sell")["status"], "resolved");
    // A list elsewhere with the same words is another list.
    s.write("other.md", "- [ ] Build\n");
    assert_eq!(
        import(&s, &["other.md"])["new"].as_array().map(Vec::len),
        Some(1)
    );
}

#[test]
fn what_no_reader_can_take_is_told_with_its_place_and_nothing_comes() {
    let s = backlog();
    let long = "x".repeat(10 << 20);
    let deep = "{\"a\":".repeat(100_000);
    let tip = || s.git(&["rev-parse", "refs/heads/loopx"]).line();
    let before = tip();
    for (format, text, place, words) in [
        ("csv", "Key,Summary\nA,\"x\n", "f:2", "never ends"),
        (
            "csv",
            "Key,Summary\nA,\"x\"y\n",
            "f:2",
            "behind its closing quote",
        ),
        ("csv", "Key,Summary\nA,x,y\n", "f:2", "expected 2 fields"),
        ("csv", "Key,Summary\nA,x\nA,y\n", "f:3", "`A` is at f:2"),
        (
            "csv",
            "Key,Summary\n\"a\nb\",x\n",
            "f:2",
            "an id as one line",
        ),
        ("csv", "Key,Text\nA,x\n", "f:1", "a column for the title"),
        ("csv", "Key,Summary,Priority\nA,x,P9\n", "f:2", "--map"),
        (
            "csv",
            &format!("Key,Summary\nA,{long}\n"),
            "f:2",
            "at most 65536 bytes",
        ),
        ("task-master", &deep, "f:1:", "recursion limit"),
        (
            "task-master",
            "{\"tasks\":[{\"title\":\"x\"}]}",
            "f[0]",
            "expected `id`",
        ),
        (
            "task-master",
            "{\"tasks\":[{\"id\":\"a\\u001b[31m\",\"title\":\"x\"}]}",
            "f[0]",
            "an id as one line",
        ),
        ("taskwarrior", &deep, "f:1:", "recursion limit"),
        (
            "taskwarrior",
            "[{\"uuid\":\"u\",\"description\":\"x\",\"due\":\"soon\"}]",
            "f[0]",
            "`due`",
        ),
        (
            "gitlab",
            "[{\"iid\":\"../1\",\"title\":\"x\"}]",
            "f[0]",
            "expected a number",
        ),
        (
            "gitlab",
            "[{\"iid\":1,\"title\":\"x\",\"title\":\"y\"}]",
            "f:1:",
            "twice",
        ),
    ] {
        s.write("f", text);
        let args = ["--json", "issue", "import", "f", "--format", format];
        let error = s.loopx(&args).error_json()["error"].take();
        assert_eq!(error["code"], "issue_import_invalid", "{error}");
        let all = error["blockers"].as_array().expect("blockers");
        let is_it = |one: &Value| {
            let message = one["message"].as_str().expect("a message");
            message.starts_with(place) && message.contains(words)
        };
        assert!(all.iter().any(is_it), "{format}, {words}: {error}");
    }
    // What nothing tells for certain is asked for.
    for text in [
        "a,b\n1,2\n",
        "# Title\n\n- one\n",
        "{\"tasks\":[{\"id\":1,\"title\":\"x\"}]}",
    ] {
        s.write("f", text);
        let out = s.loopx(&["--json", "issue", "import", "f"]).fails_with(2);
        assert_eq!(out.error_json()["error"]["code"], "issue_format_unknown");
    }
    assert_eq!(tip(), before);
    // An id that climbs is a text from which the id here is computed.
    s.write("f", "Key,Summary\n../../../x,Out\n");
    import(&s, &["f"]);
    let out = shown(&s, "Out");
    assert_eq!(out["source"]["id"], "../../../x");
    assert!(
        out["id"]
            .as_str()
            .is_some_and(|id| id.starts_with("lx-") && !id.contains('/'))
    );
    s.loopx(&["fsck"]).ok();
}

#[test]
fn two_clones_that_take_over_the_same_table_and_list_apart_have_them_once() {
    let all = Clones::apart(2);
    all.loopx(0, &["init"]).ok();
    all.sync(0).ok();
    all.sync(1).ok();
    let folder = all.dir(0).parent().expect("a parent").to_owned();
    for (name, text) in [("jira.csv", JIRA), ("todo.md", "- [ ] One\n  - [ ] Two\n")] {
        let file = folder.join(name);
        std::fs::write(&file, text).expect("a file");
        let file = file.display().to_string();
        for at in [0, 1] {
            all.loopx(at, &["issue", "import", &file]).ok();
        }
    }
    for at in [0, 1, 0] {
        all.sync(at).ok();
    }
    let lines = all.loopx(0, &["issue", "export"]).ok();
    assert_eq!(lines, all.loopx(1, &["issue", "export"]).ok());
    assert_eq!(lines.lines().count(), 5, "{lines}");
    assert!(!lines.contains("\"apart\""), "{lines}");
    all.loopx(0, &["fsck"]).ok();
}

/// Taskwarrior writes a day as its first moment, in UTC: east of Greenwich that is the evening before.
#[test]
fn a_day_of_taskwarrior_is_that_of_whoever_imports() {
    let text = r#"[
        {"uuid":"a","status":"pending","entry":"20260101T090000Z","description":"Winter","due":"20261126T230000Z"},
        {"uuid":"b","status":"pending","entry":"20260101T090000Z","description":"Summer","due":"20260630T220000Z"},
        {"uuid":"c","status":"pending","entry":"20260101T090000Z","description":"Evening","due":"20261126T220000Z"}
    ]"#;
    for (zone, days) in [
        ("UTC", ["2026-11-26", "2026-06-30", "2026-11-26"]),
        (
            "CET-1CEST,M3.5.0,M10.5.0/3",
            ["2026-11-27", "2026-07-01", "2026-11-26"],
        ),
        ("EST5", ["2026-11-26", "2026-06-30", "2026-11-26"]),
    ] {
        let s = backlog();
        s.write("tasks.json", text);
        let call = s.call(LOOPX).args(&["issue", "import", "tasks.json"]);
        call.env("TZ", zone).run().ok();
        let due = ["Winter", "Summer", "Evening"].map(|title| shown(&s, title)["due"].clone());
        assert_eq!(due, days.map(|day| json!(day)), "{zone}");
    }
}

#[test]
fn what_is_no_time_and_a_title_that_is_too_long_are_told_with_their_place() {
    let s = backlog();
    let line = r#"{"uuid":"a","status":"pending","entry":"zzz","description":"One"}"#;
    s.write("tasks.json", format!("[\n{line}\n]\n"));
    let out = s.loopx(&["issue", "import", "tasks.json"]).fails_with(1);
    let out = out.says("in `entry`, found `zzz`");
    assert!(out.stderr.contains("tasks.json"), "{out}");
    let title = "long ".repeat(100);
    s.write(
        "table.csv",
        format!("Issue key,Summary,Status,Description\nX-1,{title},open,More of it\n"),
    );
    let report = import(&s, &["table.csv"]);
    assert!(
        remarks(&report).contains("its title is too long"),
        "{report}"
    );
    let id = report["new"][0]["issue"]
        .as_str()
        .expect("an id")
        .to_owned();
    let shown = s.loopx(&["--json", "issue", "show", &id]).json();
    let said = shown["description"].as_str().expect("a description");
    assert_eq!(said, format!("{}\n\nMore of it", title.trim()));
}

#[test]
fn m10_a_table_without_ids_takes_titles_that_are_too_long_and_tells_them_apart() {
    let s = backlog();
    let title = "long ".repeat(100);
    s.write(
        "table.csv",
        format!("Summary,Status\n{title}one,open\n{title}two,open\n"),
    );
    let report = import(&s, &["table.csv"]);
    assert_eq!(report["new"].as_array().map(Vec::len), Some(2), "{report}");
    let again = import(&s, &["table.csv"]);
    assert_eq!(again["new"].as_array().map_or(0, Vec::len), 0, "{again}");
}
