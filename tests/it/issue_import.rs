//! `issue export` and `issue import`: a backlog of another program comes whole or not at all, in one commit, and a second
//! time adds nothing; what it says that has no counterpart is kept, and nothing of it names a file or is run.

use crate::support::Sandbox;
use crate::support::clones::Clones;
use crate::support::issues::{backlog, create, list, show, titles};
use serde_json::{Value, json};

fn tip(s: &Sandbox) -> String {
    s.git(&["rev-parse", "refs/heads/loopx"]).line()
}

fn import(s: &Sandbox, args: &[&str]) -> Value {
    s.loopx(&[&["--json", "issue", "import"], args].concat())
        .json()
}

/// The faults of an import that is refused and changes nothing.
fn faults(s: &Sandbox, args: &[&str]) -> Vec<String> {
    let before = tip(s);
    let out = s.loopx(&[&["--json", "issue", "import"], args].concat());
    let error = out.error_json()["error"].take();
    assert_eq!(error["code"], "issue_import_invalid", "{error}");
    assert_eq!(tip(s), before, "{args:?} changed something");
    let all = error["blockers"].as_array().expect("blockers").iter();
    all.map(|one| one["message"].as_str().expect("a message").to_owned())
        .collect()
}

/// Asserts that nothing comes a second time, and no commit is made.
fn again(s: &Sandbox, args: &[&str], here: usize) {
    let before = tip(s);
    let report = import(s, args);
    assert_eq!(report["new"], json!([]), "{report}");
    assert_eq!(report["here"], here);
    assert_eq!(tip(s), before, "{args:?}");
}

fn by_title<'v>(issues: &'v [Value], title: &str) -> &'v Value {
    let found = issues.iter().find(|issue| issue["title"] == title);
    found.unwrap_or_else(|| panic!("no {title} in {issues:?}"))
}

fn shown(s: &Sandbox, title: &str) -> Value {
    let all = list(s, &["--all"]);
    show(s, by_title(&all, title)["id"].as_str().expect("an id"))
}

#[test]
fn what_is_exported_gives_the_same_backlog_elsewhere() {
    let s = backlog();
    let epic = create(&s, &["Epic", "-k", "epic", "-d", "Long\n\ntext \u{1b}[31m"]);
    let one = create(
        &s,
        &[
            "One",
            "-p",
            "0",
            "-l",
            "ui",
            "-l",
            "a:b",
            "-a",
            "Ada",
            "-m",
            "v1",
            "--due",
            "2026-11-30",
            "--defer",
            "2025-11-01",
            "--estimate",
            "4h",
            "--criterion",
            "it holds",
            "--criterion",
            "it stays",
            "--parent",
            &epic,
        ],
    );
    s.loopx(&["issue", "tick", &one, "1"]).ok();
    s.loopx(&["issue", "comment", &one, "seen\ntwice", "--kind", "risk"])
        .ok();
    let two = create(&s, &["Two", "--blocked-by", &one, "--related", &epic]);
    s.loopx(&["issue", "close", &two, "--reason", "not wanted"])
        .ok();
    let three = create(&s, &["Three"]);
    s.loopx(&["issue", "resolve", &three, "--reason", "tried"])
        .ok();
    s.loopx(&["start", "--issue", &one, "--id", "work"]).ok();
    let lines = s.loopx(&["issue", "export"]).ok();
    assert_eq!(lines.lines().count(), 4);
    let document = s.loopx(&["--json", "issue", "export"]).json();
    assert_eq!(document["issues"].as_array().map(Vec::len), Some(4));

    let other = backlog();
    other.write("backlog.jsonl", &lines);
    let before = other.git(&["rev-list", "--count", "loopx"]).line();
    let report = import(&other, &["backlog.jsonl"]);
    assert_eq!(report["format"], "loopx");
    let after = other.git(&["rev-list", "--count", "loopx"]).line();
    let number = |text: &str| text.parse::<u32>().expect("a number");
    assert_eq!(number(&after), number(&before) + 1, "one commit");
    // What a session has in hand there is in nobody's hands here.
    let here = lines.replace("\"in_progress\"", "\"open\"");
    assert_eq!(other.loopx(&["issue", "export"]).ok(), here);
    other.loopx(&["fsck"]).ok();
    again(&other, &["backlog.jsonl"], 4);
    s.write("backlog.jsonl", &lines);
    again(&s, &["backlog.jsonl"], 4);
    let issue = show(&other, &one);
    assert_eq!(
        issue["criteria"][0],
        json!({"text": "it holds", "done": true})
    );
    assert_eq!(issue["notes"][0]["text"], "seen\ntwice");
    assert_eq!(show(&other, &two)["reason"], "not wanted");
    // What somebody exported of a session there resolves nothing here.
    assert_eq!(issue["status"], "open");
    assert_eq!(issue["kept"]["sessions"][0]["session"], "work");
}

const BEADS: &str = r###"{"id":"bd-a1","title":"Epic","status":"open","priority":0,"issue_type":"epic","created_at":"2026-01-01T09:00:00Z","created_by":"ada","updated_at":"2026-01-02T09:00:00Z"}
{"id":"bd-a1.1","title":"Timeout","description":"It hangs","acceptance_criteria":"- [x] it waits\n- [ ] the log says why","design":"Retry","status":"in_progress","priority":1,"issue_type":"bug","assignee":"bob","labels":["ui","two words"],"estimated_minutes":90,"due_at":"2026-03-01T00:00:00Z","dependencies":[{"issue_id":"bd-a1.1","depends_on_id":"bd-a1","type":"parent-child"},{"issue_id":"bd-a1.1","depends_on_id":"bd-b2","type":"blocks"},{"issue_id":"bd-a1.1","depends_on_id":"bd-zz","type":"blocks"},{"issue_id":"bd-a1.1","depends_on_id":"bd-b2","type":"caused-by"}],"comments":[{"id":1,"author":"eve","text":"seen","created_at":"2026-01-03T00:00:00Z"}],"external_ref":"gh-9"}
{"id":"bd-b2","title":"Done","status":"closed","close_reason":"shipped","priority":4,"issue_type":"spike"}
{"id":"bd-c3","title":"Later","status":"deferred","priority":2,"issue_type":"task"}
{"id":"bd-d4","title":"Gone","status":"tombstone","priority":2,"issue_type":"task"}
"###;

#[test]
fn beads_comes_with_its_graph_and_what_its_words_became() {
    let s = backlog();
    s.write("issues.jsonl", BEADS);
    let dry = import(&s, &["issues.jsonl", "--dry-run"]);
    assert_eq!(dry["new"].as_array().map(Vec::len), Some(4));
    assert_eq!(list(&s, &["--all"]).len(), 0, "nothing was taken over");
    let report = import(&s, &["issues.jsonl"]);
    assert_eq!(
        (&report["new"], &report["words"]),
        (&dry["new"], &dry["words"])
    );
    let words = report["words"].as_array().expect("words");
    let became = |field: &str, word: &str| {
        let found = words
            .iter()
            .find(|one| one["field"] == field && one["word"] == word);
        found.expect(word)["became"]
            .as_str()
            .expect("a word")
            .to_owned()
    };
    assert_eq!(became("status", "closed"), "resolved");
    assert_eq!(became("status", "deferred"), "open, label deferred");
    assert_eq!(became("kind", "spike"), "task, label spike");
    assert_eq!(became("label", "two words"), "two-words");
    assert_eq!(report["kept"]["external_ref"], 1);

    let issue = shown(&s, "Timeout");
    let epic = shown(&s, "Epic");
    let done = shown(&s, "Done");
    assert_eq!(
        (&issue["status"], &issue["priority"], &issue["kind"]),
        (&json!("in_progress"), &json!(1), &json!("bug"))
    );
    assert_eq!(issue["assignee"], "bob");
    assert_eq!(issue["estimate"], 90);
    assert_eq!(issue["due"], "2026-03-01");
    assert_eq!(issue["labels"], json!(["two-words", "ui"]));
    assert_eq!(issue["description"], "It hangs\n\n## Design\n\nRetry\n");
    assert_eq!(
        issue["criteria"],
        json!([{"text": "it waits", "done": true}, {"text": "the log says why", "done": false}])
    );
    let links = issue["links"].as_array().expect("links");
    assert!(
        links.contains(&json!({"kind": "parent", "to": epic["id"]})),
        "{links:?}"
    );
    assert!(
        links.contains(&json!({"kind": "blocked-by", "to": done["id"]})),
        "{links:?}"
    );
    assert_eq!(
        issue["notes"][0]["first"],
        json!({"by": "eve", "at": "2026-01-03T00:00:00Z"})
    );
    assert_eq!(issue["source"], json!({"system": "beads", "id": "bd-a1.1"}));
    assert_eq!(issue["kept"]["links"][0]["to"], "bd-zz");
    assert_eq!(issue["kept"]["dependencies"][0]["type"], "caused-by");
    assert_eq!(
        epic["made"],
        json!({"by": "ada", "at": "2026-01-01T09:00:00Z"})
    );
    assert_eq!(epic["kept"]["updated_at"], "2026-01-02T09:00:00Z");
    assert_eq!(
        (&done["status"], &done["reason"]),
        (&json!("resolved"), &json!("shipped"))
    );
    again(&s, &["issues.jsonl"], 4);
    s.loopx(&["fsck"]).ok();

    // More of the same adds what is new, and the links of what was here to it.
    s.write(
        "more.jsonl",
        format!("{BEADS}{{\"id\":\"bd-zz\",\"title\":\"Blocker\",\"status\":\"open\",\"priority\":2,\"issue_type\":\"task\"}}\n"),
    );
    let report = import(&s, &["more.jsonl"]);
    assert_eq!(report["new"].as_array().map(Vec::len), Some(1));
    let links = shown(&s, "Timeout")["links"].clone();
    let blocker = shown(&s, "Blocker")["id"].clone();
    assert!(
        links
            .as_array()
            .expect("links")
            .contains(&json!({"kind": "blocked-by", "to": blocker}))
    );
}

#[test]
fn an_issue_is_known_by_its_source_under_another_prefix() {
    let s = backlog();
    s.write("issues.jsonl", BEADS);
    import(&s, &["issues.jsonl"]);
    s.commit_file("loopx.toml", "[backlog]\nprefix = \"zz\"\n", "policy")
        .ok();
    again(&s, &["issues.jsonl"], 4);
}

#[test]
fn words_become_what_somebody_wants() {
    let s = backlog();
    s.write("issues.jsonl", BEADS);
    import(
        &s,
        &[
            "issues.jsonl",
            "--map",
            "deferred=closed",
            "--map",
            "kind:spike=chore",
            "--map",
            "priority:4=3",
        ],
    );
    assert_eq!(shown(&s, "Later")["status"], "closed");
    assert_eq!(shown(&s, "Done")["kind"], "chore");
    assert_eq!(shown(&s, "Done")["priority"], 3);
    let other = backlog();
    other.write("issues.jsonl", BEADS);
    let said = faults(
        &other,
        &[
            "issues.jsonl",
            "--map",
            "nowhere=open",
            "--map",
            "deferred=soon",
        ],
    );
    assert_eq!(said.len(), 2, "{said:?}");
}

#[test]
fn github_comes_as_gh_prints_it() {
    let s = backlog();
    let text = json!([
        {"number": 7, "url": "https://github.com/o/r/issues/7", "title": "Crash", "body": "Steps", "state": "OPEN",
         "stateReason": "", "labels": [{"id": "x", "name": "bug", "color": "f00"}, {"name": "good first issue"}],
         "assignees": [{"login": "ada"}, {"login": "bob"}], "milestone": {"number": 1, "title": "v1"},
         "author": {"login": "eve"}, "createdAt": "2026-01-01T00:00:00Z",
         "comments": [{"author": {"login": "bob"}, "body": "Me too", "createdAt": "2026-01-02T00:00:00Z"}],
         "blockedBy": {"nodes": [{"number": 8, "url": "https://github.com/o/r/issues/8"}]}},
        {"number": 8, "url": "https://github.com/o/r/issues/8", "title": "Base", "state": "CLOSED", "stateReason": "COMPLETED"},
        {"number": 9, "url": "https://github.com/o/r/issues/9", "title": "Wish", "state": "CLOSED", "stateReason": "NOT_PLANNED"}
    ]);
    let out = s.call(crate::support::LOOPX);
    let out = out
        .args(&["--json", "issue", "import", "-"])
        .stdin(text.to_string())
        .run();
    let report = out.json();
    assert_eq!(report["format"], "github");
    let crash = shown(&s, "Crash");
    assert_eq!(
        (&crash["kind"], &crash["assignee"], &crash["milestone"]),
        (&json!("bug"), &json!("ada"), &json!("v1"))
    );
    assert_eq!(crash["kept"]["more_assignees"], json!(["bob"]));
    assert_eq!(crash["labels"], json!(["bug", "good-first-issue"]));
    assert_eq!(crash["source"]["id"], "o/r#7");
    assert_eq!(crash["notes"][0]["text"], "Me too");
    assert_eq!(crash["links"][0]["to"], shown(&s, "Base")["id"]);
    assert_eq!(shown(&s, "Base")["status"], "resolved");
    assert_eq!(shown(&s, "Wish")["status"], "closed");
    s.write("gh.json", text.to_string());
    again(&s, &["gh.json"], 3);
}

#[test]
fn ccw_comes_with_its_order_and_what_is_no_solution_as_data() {
    let s = backlog();
    let dir = ".workflow/issues";
    s.write(format!("{dir}/issues.jsonl"), concat!(
        "{\"id\":\"GH-12\",\"title\":\"Login\",\"status\":\"planned\",\"priority\":1,\"context\":\"## Goal\",\"tags\":[\"wave-1\"],\"bound_solution_id\":\"SOL-1\",\"created_at\":\"2026-01-01T00:00:00Z\",\"feedback\":[{\"type\":\"failure\",\"stage\":\"execute\",\"content\":\"tests fail\",\"created_at\":\"2026-01-02T00:00:00Z\"}]}\n",
        "{\"id\":\"ISS-20260101-001\",\"title\":\"Docs\",\"status\":\"registered\",\"priority\":5,\"context\":\"x\",\"bound_solution_id\":null,\"extended_context\":{\"notes\":{\"depends_on_issues\":[\"GH-12\"]}}}\n"));
    s.write(format!("{dir}/issue-history.jsonl"), "{\"id\":\"GH-1\",\"title\":\"Old\",\"status\":\"completed\",\"priority\":3,\"context\":\"x\",\"bound_solution_id\":null}\n");
    s.write(
        format!("{dir}/solutions/GH-12.jsonl"),
        "{\"id\":\"SOL-1\",\"is_bound\":true,\"tasks\":[{\"id\":7}]}\n{\"name\":\"SOL-2\"}\n",
    );
    s.write(format!("{dir}/queues/QUE-1.json"), "{\n  \"id\": \"QUE-1\",\n  \"solutions\": [{\"item_id\": \"S-1\", \"issue_id\": \"GH-12\", \"solution_id\": \"SOL-1\"}]\n}\n");
    s.write(format!("{dir}/queues/index.json"), "{\"queues\":[]}");
    let report = import(&s, &["."]);
    assert_eq!(report["format"], "ccw");
    assert_eq!(titles(&list(&s, &["--all"])).len(), 3);
    let login = shown(&s, "Login");
    // What is no solution here binds none.
    assert_eq!(
        (&login["status"], &login["priority"]),
        (&json!("open"), &json!(0))
    );
    let remarks = report["remarks"].to_string();
    assert!(
        remarks.contains("it was planned, and comes as open"),
        "{remarks}"
    );
    assert_eq!(login["kept"]["solutions"].as_array().map(Vec::len), Some(2));
    assert_eq!(login["kept"]["queue"][0]["item_id"], "S-1");
    assert_eq!(login["kept"]["bound"], "SOL-1");
    assert_eq!(login["notes"][0]["text"], "failure at execute: tests fail");
    assert_eq!(shown(&s, "Docs")["links"][0]["to"], login["id"]);
    assert_eq!(shown(&s, "Old")["status"], "resolved");
    again(&s, &["."], 3);
    again(&s, &[dir], 3);
    // The file alone gives its solutions too.
    again(&s, &[".workflow/issues/issues.jsonl"], 2);
}

const TASK: &str = "---\nid: task-2\ntitle: 'Search: fast'\nstatus: In Review\nassignee:\n  - '@ada'\n  - '@bob'\ncreated_date: '2026-01-01 10:00'\nlabels: [ui]\ndependencies:\n  - TASK-1\nparent_task_id: task-1\npriority: high\nordinal: 1000\n---\n\n## Description\n\n<!-- SECTION:DESCRIPTION:BEGIN -->\nFind it.\n<!-- SECTION:DESCRIPTION:END -->\n\n## Acceptance Criteria\n<!-- AC:BEGIN -->\n- [x] #1 one\n- [ ] #2 two\n<!-- AC:END -->\n\n## Implementation Notes\n\nSlow.\n";

#[test]
fn a_folder_of_backlog_md_comes_with_criteria_and_order() {
    let s = backlog();
    s.write(
        "backlog/config.yml",
        "project_name: x\nstatuses: [\"To Do\", \"In Review\", \"Shipped\"]\n",
    );
    s.write(
        "backlog/tasks/task-2 - Search.md",
        TASK.replace("parent_task_id: task-1\n", ""),
    );
    s.write(
        "backlog/tasks/task-1 - Base.md",
        "---\nid: task-1\ntitle: Base\nstatus: Shipped\ndependencies: []\n---\nText\n",
    );
    s.write(
        "backlog/drafts/draft-3 - Idea.md",
        "---\nid: draft-3\ntitle: Idea\nstatus: Draft\n---\n",
    );
    s.write(
        "backlog/archive/tasks/task-4 - Old.md",
        "---\nid: task-4\ntitle: Old\nstatus: To Do\n---\n",
    );
    s.write("backlog/tasks/readme.md", "# Tasks\n");
    let report = import(&s, &["backlog"]);
    assert_eq!(report["new"].as_array().map(Vec::len), Some(4), "{report}");
    let search = shown(&s, "Search: fast");
    assert_eq!(search["status"], "in_progress");
    assert_eq!(search["labels"], json!(["In-Review", "ui"]));
    assert_eq!(
        (&search["assignee"], &search["priority"]),
        (&json!("ada"), &json!(1))
    );
    assert_eq!(
        search["description"],
        "Find it.\n\n\n## Implementation Notes\n\nSlow."
    );
    assert_eq!(
        search["criteria"],
        json!([{"text": "one", "done": true}, {"text": "two", "done": false}])
    );
    assert_eq!(search["kept"]["ordinal"], "1000");
    let base = shown(&s, "Base");
    assert_eq!(
        search["links"],
        json!([{"kind": "blocked-by", "to": base["id"]}])
    );
    assert_eq!(base["status"], "resolved");
    assert_eq!(shown(&s, "Old")["status"], "closed");
    assert_eq!(shown(&s, "Idea")["labels"], json!(["Draft", "draft"]));
    again(&s, &["backlog"], 4);
    again(&s, &["."], 4);
}

#[test]
fn a_cycle_is_named_by_the_ids_that_the_other_program_gave() {
    let s = backlog();
    s.write("backlog/tasks/task-2 - Search.md", TASK);
    s.write(
        "backlog/tasks/task-1 - Base.md",
        "---\nid: task-1\ntitle: Base\nstatus: To Do\ndependencies: [2]\n---\n",
    );
    let before = tip(&s);
    let out = s.loopx(&["--json", "issue", "import", "backlog"]);
    let error = out.error_json()["error"].take();
    assert_eq!(error["code"], "issue_cycle");
    let message = error["message"].as_str().expect("a message");
    assert!(
        message.contains("task-1 (backlog/tasks/task-1 - Base.md)"),
        "{message}"
    );
    assert_eq!(tip(&s), before);
    let dry = s.loopx(&["--json", "issue", "import", "backlog", "--dry-run"]);
    assert_eq!(dry.error_json()["error"]["code"], "issue_cycle");
}

#[test]
fn comments_of_the_code_become_issues_with_their_lines() {
    let s = backlog();
    s.commit_file(
        "src/a.rs",
        "fn a() {}\n// TODO(ada): faster\nlet x = \"// TODO: no\";\n    // FIXME: it hangs\n",
        "a",
    )
    .ok();
    s.commit_file("docs/b.md", "# TODO\n<!-- TODO: write -->\n", "b")
        .ok();
    s.write("src/new.rs", "// TODO: not committed\n");
    let report = import(&s, &["--todos"]);
    assert_eq!(report["new"].as_array().map(Vec::len), Some(3), "{report}");
    let faster = shown(&s, "faster");
    assert_eq!(
        (&faster["place"]["path"], &faster["place"]["line"]),
        (&json!("src/a.rs"), &json!(2))
    );
    assert_eq!(
        faster["place"]["commit"],
        s.git(&["rev-parse", "HEAD"]).line()
    );
    assert_eq!(
        (&faster["assignee"], &faster["kind"]),
        (&json!("ada"), &json!("task"))
    );
    assert_eq!(shown(&s, "it hangs")["kind"], "bug");
    again(&s, &["--todos"], 3);
    again(&s, &["--todos", "docs"], 1);
    // A comment that moves is the same issue, and one that goes is told.
    s.commit_file("src/a.rs", "\n\n// TODO(ada): faster\n", "a")
        .ok();
    let report = import(&s, &["--todos"]);
    assert_eq!((&report["here"], &report["new"]), (&json!(2), &json!([])));
    assert_eq!(report["gone"], json!([shown(&s, "it hangs")["id"]]));
    let none = s
        .loopx(&["--json", "issue", "import", "--todos", "nowhere"])
        .fails_with(4);
    assert_eq!(none.error_json()["error"]["code"], "import_missing");
}

#[test]
fn what_is_wrong_is_told_with_its_place_and_nothing_comes() {
    let s = backlog();
    for (text, place, words) in [
        (
            "{\"id\":\"a\",\"title\":\"X\",\"issue_type\":\"bug\"}\n{\"id\":\"a\",\"title\":\"Y\"}\n",
            "f:2",
            "`a` is at f:1",
        ),
        (
            "{\"id\":\"a\",\"title\":\"X\",\"title\":\"Y\",\"issue_type\":\"bug\"}\n",
            "f:1:",
            "twice",
        ),
        (
            "{\"id\":\"a\",\"title\":\"X\\u001b[31m\",\"issue_type\":\"bug\"}\n",
            "f:1",
            "one line",
        ),
        (
            "{\"id\":\"a\\nb\",\"title\":\"X\",\"issue_type\":\"bug\"}\n",
            "f:1",
            "one line",
        ),
        ("{\"id\":\"a\",\"issue_type\":\"bug\"}\n", "f:1", "title"),
        (
            "{\"id\":\"a\",\"title\":\"X\",\"issue_type\":\"bug\",\"priority\":-5}\n",
            "f:1",
            "--map",
        ),
        (
            "{\"id\":\"a\",\"title\":\"X\",\"issue_type\":\"bug\",\"due_at\":\"soon\"}\n",
            "f:1",
            "due_at",
        ),
        (
            "{\"id\":\"a\",\"title\":\"X\",\"issue_type\":\"bug\"}\n{\"id\":\n",
            "f:2:",
            "JSON",
        ),
        (
            "{\"id\":\"a\",\"title\":\"X\",\"issue_type\":\"bug\"}\n<<<<<<< ours\n",
            "f:2:",
            "JSON",
        ),
        (
            "{\"id\":\"a\",\"title\":\"X\",\"labels\":{},\"issue_type\":\"bug\"}\n",
            "f:1",
            "a list",
        ),
        (
            "{\"id\":\"lx-../../etc\",\"title\":\"X\",\"kind\":\"bug\"}\n",
            "f:1",
            "id of an issue",
        ),
    ] {
        s.write("f", text);
        let format = if text.contains("lx-") {
            "loopx"
        } else {
            "beads"
        };
        let said = faults(&s, &["f", "--format", format]);
        assert!(
            said.iter()
                .any(|one| one.starts_with(place) && one.contains(words)),
            "{text}: {said:?}"
        );
    }
    s.write("f", "{\"x\":1}\n");
    let out = s.loopx(&["--json", "issue", "import", "f"]).fails_with(2);
    assert_eq!(out.error_json()["error"]["code"], "issue_format_unknown");
    s.loopx(&["issue", "import", "nowhere"])
        .says("help issue import")
        .fails_with(4);
    s.write("g", b"{\"id\":\"\xff\"}".as_slice());
    let out = s.loopx(&["--json", "issue", "import", "g"]);
    assert_eq!(out.error_json()["error"]["code"], "import_not_utf8");
}

#[test]
fn ids_and_front_matter_that_attack_are_data_or_refused() {
    let s = backlog();
    s.write("secret.jsonl", "{\"id\":\"SECRET\"}\n");
    s.write(".workflow/issues/issues.jsonl", "{\"id\":\"../../../secret\",\"title\":\"Out\",\"status\":\"registered\",\"priority\":3,\"context\":\"x\",\"bound_solution_id\":null}\n");
    import(&s, &["."]);
    let out = shown(&s, "Out");
    assert_eq!(out["source"]["id"], "../../../secret");
    assert!(
        out["kept"]["solutions"].is_null(),
        "no file is found by an id"
    );
    let id = out["id"].as_str().expect("an id");
    assert!(id.starts_with("lx-") && !id.contains('/'));
    s.loopx(&["fsck"]).ok();
    let marker = s.root().join("ran");
    for (front, words) in [
        (
            format!(
                "---js\nrequire('fs').writeFileSync('{}', '')\n---\n",
                marker.display()
            ),
            "language",
        ),
        (
            "---\nid: task-1\ntitle: !!js/function 'x'\n---\n".to_owned(),
            "tags",
        ),
        (
            "---\nid: task-1\nid: task-2\ntitle: X\n---\n".to_owned(),
            "twice",
        ),
        ("---\nid: &a task-1\ntitle: *a\n---\n".to_owned(), "anchors"),
        ("---\nid: task-1\ntitle: X\n".to_owned(), "closing"),
        ("No front matter\n".to_owned(), "id"),
    ] {
        s.write("b/tasks/task-1 - X.md", &front);
        let said = faults(&s, &["b"]);
        assert!(
            said[0].starts_with("b/tasks/task-1 - X.md:") && said[0].contains(words),
            "{said:?}"
        );
    }
    assert!(!marker.exists());
    // A link among the tasks leads nowhere.
    s.write("b/tasks/task-1 - X.md", "---\nid: task-1\ntitle: X\n---\n");
    s.write("outside.md", "---\nid: task-9\ntitle: Outside\n---\n");
    std::os::unix::fs::symlink(
        s.path().join("outside.md"),
        s.path().join("b/tasks/task-9 - Y.md"),
    )
    .expect("a link");
    assert_eq!(import(&s, &["b"])["new"].as_array().map(Vec::len), Some(1));
}

#[test]
fn an_agent_takes_over_no_issue_as_resolved() {
    let s = backlog();
    s.write("issues.jsonl", BEADS);
    let before = tip(&s);
    let agent = s
        .call(crate::support::LOOPX)
        .env("CLAUDECODE", "1")
        .args(&["--json", "issue", "import", "issues.jsonl"])
        .run();
    assert_eq!(agent.error_json()["error"]["code"], "agent_may_not");
    assert_eq!(tip(&s), before);
}

#[test]
fn what_was_taken_back_does_not_come_again() {
    let s = backlog();
    s.write("issues.jsonl", BEADS);
    import(&s, &["issues.jsonl"]);
    let id = shown(&s, "Later")["id"].as_str().expect("an id").to_owned();
    s.loopx(&["issue", "undo", &id]).ok();
    let report = import(&s, &["issues.jsonl"]);
    assert_eq!(report["taken_back"], json!([id]));
    assert_eq!(report["new"], json!([]));
    s.loopx(&["issue", "redo", &id]).ok();
    again(&s, &["issues.jsonl"], 4);
}

#[test]
fn two_clones_that_take_over_the_same_apart_have_it_once() {
    let all = Clones::apart(2);
    all.loopx(0, &["init"]).ok();
    all.sync(0).ok();
    all.sync(1).ok();
    let file = all.dir(0).parent().expect("a parent").join("beads.jsonl");
    std::fs::write(&file, BEADS).expect("a file");
    let file = file.display().to_string();
    for at in [0, 1] {
        let report = all.loopx(at, &["--json", "issue", "import", &file]).json();
        assert_eq!(report["new"].as_array().map(Vec::len), Some(4));
    }
    for at in [0, 1, 0] {
        all.sync(at).ok();
    }
    let lines = all.loopx(0, &["issue", "export"]).ok();
    assert_eq!(lines, all.loopx(1, &["issue", "export"]).ok());
    assert_eq!(lines.lines().count(), 4);
    assert_eq!(lines.matches("\"text\":\"seen\"").count(), 1, "{lines}");
    assert!(!lines.contains("\"apart\""), "{lines}");
    all.loopx(0, &["fsck"]).ok();
}

#[test]
fn what_needs_a_claim_comes_as_open_and_what_was_queued_as_planned() {
    let s = backlog();
    let queued = create(&s, &["Queued"]);
    let solution = |args: &[&str]| s.loopx(&[&["issue", "solution"], args].concat()).ok();
    solution(&["add", &queued, "Ask again", "--file", "code.txt"]);
    solution(&["add", &queued, "Wait", "--file", "code.txt"]);
    solution(&["reject", &queued, "s2", "--reason", "too slow"]);
    solution(&["bind", &queued, "s1"]);
    let taken = create(&s, &["Taken"]);
    s.loopx(&["issue", "queue", "form"]).ok();
    s.loopx(&["issue", "take", &taken]).ok();
    let lines = s.loopx(&["issue", "export"]).ok();

    let other = backlog();
    other.write("backlog.jsonl", &lines);
    let report = import(&other, &["backlog.jsonl"]);
    let remarks = report["remarks"].to_string();
    let words = "it was in_progress, and comes as open";
    assert!(remarks.contains(words), "{words}: {remarks}");
    assert_eq!(report["queued"], json!([queued]));
    assert_eq!(show(&other, &queued)["status"], "planned");
    assert_eq!(show(&other, &taken)["status"], "open");
    other.loopx(&["issue", "take", &taken]).ok();
    other.loopx(&["fsck"]).ok();
}

#[test]
fn two_backlogs_with_the_same_ids_are_told_apart_by_a_name() {
    let s = backlog();
    let line = |title: &str, day: u8| {
        format!(
            "{{\"id\":\"bd-1\",\"title\":\"{title}\",\"status\":\"open\",\"priority\":1,\"issue_type\":\"task\",\"created_at\":\"2026-01-0{day}T09:00:00Z\"}}\n"
        )
    };
    s.write("one.jsonl", line("One", 1));
    s.write("other.jsonl", line("Other", 2));
    s.write("renamed.jsonl", line("One, renamed", 1));
    import(&s, &["one.jsonl", "--format", "beads"]);
    let found = faults(&s, &["other.jsonl", "--format", "beads"]);
    assert!(
        found[0].contains("`One` of 2026-01-01T09:00:00Z") && found[0].contains("--source NAME"),
        "{found:?}"
    );
    again(&s, &["renamed.jsonl", "--format", "beads"], 1);
    let other = ["other.jsonl", "--format", "beads", "--source", "p2"];
    import(&s, &other);
    assert_eq!(titles(&list(&s, &[])).len(), 2);
    again(&s, &other, 1);
}

#[cfg(unix)]
#[test]
fn a_link_in_a_folder_of_backlog_md_is_not_followed_and_is_named() {
    let s = backlog();
    let task = |id: u8| format!("---\nid: task-{id}\ntitle: Task {id}\nstatus: To Do\n---\n");
    s.write("backlog/tasks/task-1 - One.md", task(1));
    s.write("elsewhere/task-2 - Two.md", task(2));
    let link = |to: &str, at: &str| {
        let at = s.path().join(at);
        std::os::unix::fs::symlink(s.path().join(to), at).expect("a link");
    };
    link("elsewhere/task-2 - Two.md", "backlog/tasks/task-2 - Two.md");
    link("elsewhere", "backlog/completed");
    let report = import(&s, &["backlog"]);
    assert_eq!(report["new"].as_array().expect("issues").len(), 1);
    let told = report["remarks"].as_array().expect("remarks").iter();
    let told: Vec<&str> = told
        .filter(|one| one["message"] == "it is a link, and is not followed")
        .map(|one| one["at"].as_str().expect("a place"))
        .collect();
    assert_eq!(told, ["backlog/completed", "backlog/tasks/task-2 - Two.md"]);
}

#[test]
fn a_key_that_stands_twice_in_a_task_of_a_solution_is_refused_with_its_line() {
    let s = backlog();
    let id = create(&s, &["One"]);
    s.write(
        "tasks.jsonl",
        "{\"id\":\"A\",\"title\":\"a\"}\n{\"id\":\"B\",\"title\":\"b\",\"id\":\"C\"}\n",
    );
    let add = [
        "--json",
        "issue",
        "solution",
        "add",
        &id,
        "So",
        "--tasks",
        "tasks.jsonl",
    ];
    let error = s.loopx(&add).fails_with(2).error_json()["error"].take();
    let said = error["message"].as_str().expect("a message");
    assert!(
        said.contains("tasks.jsonl:2") && said.contains("`id` stands here twice"),
        "{said}"
    );
}
