//! Refusals of the backlog and of the notes: in the words of whoever typed it, and with a command that leads on.

use crate::support::Sandbox;
use crate::support::clones::Clones;
use crate::support::issues::{BRIEF, backlog, create, id_of, refused, show, solve};
use serde_json::{Value, json};

fn said(error: &Value, field: &str) -> String {
    error[field].as_str().unwrap_or_default().to_owned()
}

/// Follows the first command that a hint names.
fn follow(s: &Sandbox, help: &str) -> crate::support::Output {
    let at = help.find("git loopx ").expect("a command") + "git loopx ".len();
    let command = help[at..].split("  ").next().expect("a command");
    s.loopx(&shlex::split(command).expect("words"))
}

fn lines(s: &Sandbox, lines: &[Value]) {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    s.write("plan.jsonl", text);
}

const FROM: [&str; 4] = ["issue", "create", "--from", "plan.jsonl"];

#[test]
fn a_plan_that_is_refused_names_its_lines_and_keys() {
    let s = backlog();
    let blocked = |to: &str| json!([{ "kind": "blocked-by", "to": to }]);
    lines(
        &s,
        &[
            json!({ "title": "A", "key": "a", "links": blocked("b") }),
            json!({ "title": "B", "key": "b", "links": blocked("a") }),
        ],
    );
    let error = refused(&s, 1, "issue_cycle", &FROM);
    let message = said(&error, "message");
    assert!(message.contains("`a` (plan.jsonl:1)"), "{message}");
    assert!(message.contains("`b` (plan.jsonl:2)"), "{message}");
    assert!(!message.contains("lx-"), "{message}");
    let help = said(&error, "help");
    assert!(
        help.ends_with("git loopx issue create --from plan.jsonl"),
        "{help}"
    );
    lines(
        &s,
        &[
            json!({ "title": "A" }),
            json!({ "title": "B", "links": blocked("nobody") }),
        ],
    );
    let error = refused(&s, 4, "issue_unknown", &FROM);
    assert_eq!(error["message"], "plan.jsonl:2: there is no issue `nobody`");
    let links = json!([{ "kind": "needs", "to": "a" }]);
    lines(&s, &[json!({ "title": "A", "links": links })]);
    let message = said(&refused(&s, 2, "issue_link_invalid", &FROM), "message");
    assert!(
        message.starts_with("plan.jsonl:1: expected one of blocked-by, blocks,"),
        "{message}"
    );
    assert!(message.contains(" part,"), "{message}");
    let a = json!({ "title": "A", "key": "a" });
    lines(&s, &[a.clone(), a]);
    let message = said(&refused(&s, 2, "issue_key_twice", &FROM), "message");
    assert!(message.starts_with("plan.jsonl:2: "), "{message}");
    assert!(message.contains("plan.jsonl:1"), "{message}");
}

#[test]
fn a_cycle_of_one_new_issue_names_no_id_that_was_never_made() {
    let s = backlog();
    let old = create(&s, &["Old"]);
    let args = [
        "issue",
        "create",
        "New",
        "--blocked-by",
        &old,
        "--blocks",
        &old,
    ];
    let error = refused(&s, 1, "issue_cycle", &args);
    let message = said(&error, "message");
    assert!(message.contains("the new issue"), "{message}");
    follow(&s, &said(&error, "help")).ok();
}

#[test]
fn lines_that_were_exported_are_made_elsewhere_with_their_links() {
    let s = backlog();
    let first = create(&s, &["First"]);
    create(&s, &["Second", "--blocked-by", &first]);
    let text = s.loopx(&["issue", "export"]).ok();
    let other = backlog();
    other.write("plan.jsonl", &text);
    let made = other.loopx(&["--json", "issue", "create", "--from", "plan.jsonl"]);
    let ids = made.json()["issues"].clone();
    let blocked: Vec<Value> = (ids.as_array().expect("ids").iter())
        .map(|id| show(&other, id.as_str().expect("an id")))
        .filter(|issue| issue["links"][0]["to"] == first.as_str())
        .collect();
    assert_eq!(blocked.len(), 1, "{ids}");
}

#[test]
fn values_of_another_shape_are_told_in_plain_words() {
    let s = backlog();
    lines(&s, &[json!({ "title": "A", "priority": "high" })]);
    let message = said(&refused(&s, 2, "issue_field_invalid", &FROM), "message");
    assert!(message.contains("a number from 0 to 4"), "{message}");
    assert!(!message.contains("u8"), "{message}");
    let id = create(&s, &["One"]);
    s.write("way.json", r#"{"approach":"so","files":["a.txt"]}"#);
    let args = ["issue", "solution", "add", &id, "--from", "way.json"];
    let message = said(&refused(&s, 2, "issue_field_invalid", &args), "message");
    assert!(
        message.contains(r#"a file like {"path": "a.txt", "action": "modify"}"#),
        "{message}"
    );
    let args = ["issue", "solution", "score", &id, "s1", "--risk", "20"];
    let out = s.loopx(&args).fails_with(2);
    assert!(out.stderr.contains("all three"), "{}", out.stderr);
    assert!(out.stderr.contains("--completeness"), "{}", out.stderr);
}

#[test]
fn a_criterion_that_is_not_meant_alone_is_told_with_those_that_match() {
    let s = backlog();
    let id = create(
        &s,
        &[
            "One",
            "--criterion",
            "fast to load",
            "--criterion",
            "fast to save",
        ],
    );
    let code = "issue_criterion_unknown";
    let error = refused(&s, 4, code, &["issue", "tick", &id, "fast"]);
    let message = said(&error, "message");
    assert!(
        message.contains("1 `fast to load`, 2 `fast to save`"),
        "{message}"
    );
    let error = refused(&s, 4, code, &["issue", "tick", &id, "slow"]);
    assert_eq!(error["message"], format!("{id} has no criterion `slow`"));
    let bare = create(&s, &["Two"]);
    let error = refused(&s, 4, code, &["issue", "tick", &bare, "fast"]);
    assert_eq!(error["message"], format!("{bare} has no criteria"));
}

#[test]
fn a_start_that_leads_elsewhere_keeps_its_issue() {
    let s = backlog();
    s.loopx(&["start", "first"]).ok();
    let one = create(&s, &["c one"]);
    let error = refused(&s, 1, "branch_bound", &["start", "--issue", &one]);
    let help = said(&error, "help");
    let unbound = help.split("or: ").last().expect("another way");
    follow(&s, unbound).ok();
    assert_eq!(show(&s, &one)["sessions"][0]["session"], "c-one");
    let two = create(&s, &["third"]);
    s.loopx(&["start", "--no-branch", "third"]).ok();
    let args = ["start", "--no-branch", "--quick", "--issue", &two];
    let help = said(&refused(&s, 1, "session_exists", &args), "help");
    assert!(help.contains(&format!("--issue {two}")), "{help}");
}

#[test]
fn the_session_that_ended_last_on_a_branch_is_opened_again_without_its_name() {
    let s = backlog();
    s.git(&["switch", "--quiet", "-c", "typo"]).ok();
    s.loopx(&["start", "--quick", "--id", "typo", "Fix the typo"])
        .ok();
    s.write(".loopx/typo/brief.md", BRIEF);
    s.commit_file("code.txt", "well\n", "Fix it").ok();
    s.loopx(&["run", "--", "true"]).ok();
    s.loopx(&["finish", "--yes"]).ok();
    // Another one that somebody left is not meant.
    s.loopx(&["start", "--no-branch", "left"]).ok();
    s.loopx(&["-s", "left", "abandon", "--reason", "no"]).ok();
    s.loopx(&["reopen", "--reason", "it fails under load"]).ok();
    let status = s.loopx(&["--json", "-s", "typo", "status"]).json();
    assert_eq!(status["stage"], "build", "{status}");
}

#[test]
fn a_hint_of_the_queue_and_of_release_is_a_command_that_is_not_refused() {
    let s = backlog();
    let id = create(&s, &["One"]);
    solve(&s, &id);
    s.loopx(&["issue", "queue", "form"]).ok();
    // The branch has a session already: another one for the issue would be refused.
    s.loopx(&["start", "work"]).ok();
    let taken = s.loopx(&["--json", "issue", "queue", "next"]).json();
    let next = said(&taken, "next_action");
    assert!(next.contains("git loopx issue resolve"), "{next}");
    s.loopx(&["issue", "queue", "fail", &id, "--reason", "no"])
        .ok();
    let view = s.loopx(&["--json", "issue", "queue", "show"]).json();
    assert_eq!(view["next_action"], "git loopx issue queue retry");
    follow(&s, "git loopx issue queue retry").ok();
    let two = create(&s, &["Two"]);
    s.loopx(&["issue", "resolve", &two, "--reason", "done"])
        .ok();
    let out = s.loopx(&["--json", "issue", "release", &two]).fails_with(5);
    follow(&s, &said(&out.error_json()["error"], "help")).ok();
}

#[test]
fn an_issue_that_two_took_apart_waits_for_nobody() {
    let all = Clones::apart(2);
    all.loopx(0, &["init"]).ok();
    all.sync(0).ok();
    all.sync(1).ok();
    let id = id_of(&all.loopx(0, &["--json", "issue", "create", "One"]).json());
    all.settle();
    for at in 0..2 {
        all.loopx(at, &["issue", "take", &id]).ok();
    }
    all.settle();
    for at in 0..2 {
        let listed = all.loopx(at, &["--json", "issue", "list"]).json();
        let issue = &listed["issues"][0];
        assert_eq!(issue["waits"], json!([]), "{issue}");
        assert_eq!(issue["status"], "in_progress");
    }
}

#[test]
fn an_import_that_needs_a_word_gives_the_command_once() {
    let s = backlog();
    let issue = json!({ "id": "bd-1", "title": "One", "issue_type": "bug", "priority": "P5" });
    s.write("issues.jsonl", format!("{issue}\n"));
    let import = ["issue", "import", "issues.jsonl"];
    let help = said(&refused(&s, 1, "issue_import_invalid", &import), "help");
    assert_eq!(
        help,
        "git loopx issue import issues.jsonl --map priority:P5=2"
    );
    follow(&s, &help).ok();
    s.loopx(&import).says("1 here already").ok();
    s.write("none.json", "[]\n");
    let error = refused(&s, 2, "input_missing", &["issue", "import", "none.json"]);
    assert_eq!(error["message"], "none.json: expected issues, found none");
    let todos = ["issue", "import", "--todos", "nope"];
    let error = refused(&s, 4, "import_missing", &todos);
    assert_eq!(error["help"], "git loopx issue import --todos");
}

#[test]
fn a_kind_that_is_none_is_refused_and_the_younger_of_two_is_closed() {
    let s = backlog();
    let old = create(&s, &["The login form times out"]);
    let young = create(&s, &["The login form times out"]);
    refused(
        &s,
        2,
        "issue_field_invalid",
        &["issue", "list", "-k", "zork"],
    );
    s.loopx(&["issue", "list", "-k", "feature"]).ok();
    for args in [
        vec!["issue", "duplicates"],
        vec!["issue", "duplicates", &young],
    ] {
        let args = [vec!["--json"], args].concat();
        let found = s.loopx(&args).json();
        assert_eq!(found["pairs"][0]["issue"], old.as_str());
        assert_eq!(found["pairs"][0]["other"], young.as_str());
    }
}

#[test]
fn what_a_note_lacks_is_named_as_whoever_types_it_knows_it() {
    let s = backlog();
    let id = create(&s, &["One"]);
    let message = |code: &str, args: &[&str]| said(&refused(&s, 2, code, args), "message");
    let set = message(
        "note_empty",
        &["note", "set", "a", "", "--from", "q", "--journal"],
    );
    assert_eq!(set, "expected the value of the key, found none");
    let comment = message("note_empty", &["issue", "comment", &id, " "]);
    assert_eq!(comment, "expected the text of the comment, found none");
    let data = message(
        "note_invalid",
        &["note", "x", "--data", "{bad", "--journal"],
    );
    assert!(data.contains("found `{bad`"), "{data}");
    let key = message(
        "note_invalid",
        &["note", "set", "q:", "c", "--from", "q", "--journal"],
    );
    assert_eq!(key, "expected a key like NAME or ROLE:NAME, found `q:`");
    let args = ["note", "x", "--type", "a b", "--from", "q", "--journal"];
    let sort = message("note_invalid", &args);
    assert_eq!(sort, "expected a type of one word, found `a b`");
    s.loopx(&["note", "x", "--journal"]).ok();
    let out = s
        .loopx(&["note", "withdraw", "1", "--journal"])
        .fails_with(2);
    assert!(
        out.stderr.contains("note withdraw 1 --journal --reason"),
        "{}",
        out.stderr
    );
}

#[test]
fn a_value_that_does_not_count_is_nobodys_last_word() {
    let all = Clones::sharing(2);
    let set = |at: usize, role: &str| {
        let value = format!("of the {role}");
        let args = ["note", "set", "new", &value, "--from", role, "--journal"];
        all.loopx(at, &args).ok();
    };
    set(1, "tester");
    set(0, "planner");
    all.settle();
    let status = all
        .loopx(0, &["--json", "note", "status", "--journal"])
        .json();
    let refused = &status["values"][0]["refused"][0];
    let roles = status["roles"].as_array().expect("roles");
    assert!(
        roles.iter().all(|one| one["role"] != refused["role"]),
        "{status}"
    );
    all.loopx(0, &["note", "status", "--journal"])
        .says("does not count")
        .ok();
}

#[test]
fn a_rule_that_was_deleted_is_made_out_of_its_note_again() {
    let s = backlog();
    s.loopx(&[
        "note",
        "Clear the cache",
        "--kind",
        "convention",
        "--journal",
    ])
    .ok();
    let promote = [
        "--json",
        "note",
        "promote",
        "1",
        "--to",
        "rule",
        "--journal",
    ];
    let made = s.loopx(&promote).json();
    s.loopx(&promote).fails_with(5);
    let path = said(&made, "path");
    std::fs::remove_file(s.path().join(&path)).expect("deleted");
    let made = s.loopx(&promote).json();
    let next = said(&made, "next_action");
    assert_eq!(
        next,
        format!("git add :/{path} && git commit -m \"Add a rule\"")
    );
    for words in next.split(" && ") {
        let words = shlex::split(words.strip_prefix("git ").expect("git")).expect("words");
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        s.git(&words).ok();
    }
    assert_eq!(s.git(&["ls-files", &path]).line(), path);
}
