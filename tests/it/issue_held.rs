//! Holders of issues, how an issue is given back, and what is linked to itself.

use crate::support::Sandbox;
use crate::support::issues::{backlog, create, list, refused, show};
use crate::support::store::{assert_whole, put};
use serde_json::{Value, json};

fn made(s: &Sandbox, lines: &[Value]) {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    s.write("plan.jsonl", text);
    s.loopx(&["issue", "create", "--from", "plan.jsonl"]).ok();
}

/// Two issues whose short ids are `aaaa` and `bbbb`.
fn two(s: &Sandbox) {
    made(
        s,
        &[
            json!({"id": "lx-aaaa000000", "title": "First", "criteria": ["it waits 30 s"]}),
            json!({"id": "lx-bbbb000000", "title": "Second"}),
        ],
    );
}

fn next_of(s: &Sandbox, id: &str) -> String {
    let shown = show(s, id);
    shown["next_action"].to_string()
}

#[test]
fn an_issue_is_not_made_with_a_link_to_itself() {
    let s = backlog();
    for kind in ["blocked-by", "blocks", "parent", "related"] {
        let line = json!({"title": "S", "key": "s", "links": [{"kind": kind, "to": "s"}]});
        s.write("plan.jsonl", format!("{line}\n"));
        let said = refused(
            &s,
            2,
            "issue_link_invalid",
            &["issue", "create", "--from", "plan.jsonl"],
        );
        assert!(said.to_string().contains("s cannot be"), "{said}");
    }
    assert_eq!(list(&s, &[]).len(), 0);
}

#[test]
fn an_import_names_a_link_to_itself_and_leaves_it_out() {
    let s = backlog();
    let id = "lx-aaaa000000";
    let line = json!({"id": id, "title": "S", "links": [{"kind": "blocked-by", "to": id}]});
    s.write("plan.jsonl", format!("{line}\n"));
    let found = s
        .loopx(&[
            "--json",
            "issue",
            "import",
            "plan.jsonl",
            "--format",
            "loopx",
        ])
        .json();
    assert!(
        found["remarks"].to_string().contains("blocked-by itself"),
        "{found}"
    );
    assert_eq!(show(&s, id)["links"], Value::Null);
}

#[test]
fn short_ids_behind_an_issue_are_issues_and_a_mixture_is_refused() {
    let s = backlog();
    two(&s);
    s.git(&["switch", "--quiet", "-c", "both"]).ok();
    let mixed = ["start", "--quick", "--issue", "aaaa", "bbbb", "cccc"];
    let said = refused(&s, 4, "issue_unknown", &mixed);
    assert!(said.to_string().contains("`cccc`"), "{said}");
    s.loopx(&["start", "--quick", "--issue", "aaaa", "bbbb"])
        .ok();
    for id in ["lx-aaaa000000", "lx-bbbb000000"] {
        assert_eq!(show(&s, id)["sessions"][0]["session"], "first-and-second");
    }
}

#[test]
fn a_solution_that_is_named_stays_named_in_the_hint() {
    let s = backlog();
    let id = create(&s, &["One"]);
    for how in ["So", "Or so"] {
        s.loopx(&["issue", "solution", "add", &id, how]).ok();
    }
    s.loopx(&["issue", "solution", "bind", &id, "s2"]).ok();
    let args = ["issue", "solution", "reject", &id, "s1"];
    let said = refused(&s, 2, "reason_required", &args);
    assert!(
        said["help"]
            .to_string()
            .contains(&format!("reject {id} s1")),
        "{said}"
    );
}

#[test]
fn what_is_given_back_is_as_far_as_it_was() {
    let s = backlog();
    let id = create(&s, &["One"]);
    s.loopx(&["issue", "solution", "add", &id, "So"]).ok();
    s.loopx(&["issue", "solution", "bind", &id]).ok();
    s.loopx(&["issue", "take", &id]).ok();
    s.loopx(&["issue", "release", &id]).ok();
    assert_eq!(show(&s, &id)["status"], "planned");
    s.loopx(&["issue", "queue", "form"]).ok();
    s.loopx(&["issue", "queue", "next"]).ok();
    s.loopx(&["issue", "take", &id]).ok();
    s.loopx(&["issue", "release", &id]).ok();
    assert_eq!(show(&s, &id)["status"], "queued");
    s.loopx(&["issue", "close", &id, "--reason", "no"]).ok();
    s.loopx(&["issue", "reopen", &id]).ok();
    assert_eq!(show(&s, &id)["status"], "planned");
    let other = create(&s, &["Two"]);
    s.loopx(&["issue", "take", &other]).ok();
    s.loopx(&["issue", "release", &other]).ok();
    assert_eq!(show(&s, &other)["status"], "open");
    s.loopx(&["fsck"]).ok();
}

#[test]
fn a_start_is_held_by_the_limit_of_issues_in_hand() {
    let s = backlog();
    s.commit_file("loopx.toml", "[backlog]\nwip = 1\n", "policy")
        .ok();
    let one = create(&s, &["One"]);
    let two = create(&s, &["Two"]);
    s.git(&["switch", "--quiet", "-c", "work"]).ok();
    let both = ["start", "--quick", "--issue", &one, &two];
    refused(&s, 1, "issue_wip_reached", &both);
    s.loopx(&["issue", "take", &one]).ok();
    let other = ["start", "--quick", "--issue", &two];
    let said = refused(&s, 1, "issue_wip_reached", &other);
    assert!(said.to_string().contains(&one), "{said}");
    s.loopx(&["start", "--quick", "--issue", &one]).ok();
}

#[test]
fn an_issue_whose_session_goes_on_gets_no_second_one() {
    let s = backlog();
    let id = create(&s, &["One"]);
    s.git(&["switch", "--quiet", "-c", "work"]).ok();
    s.loopx(&["start", "--quick", "--issue", &id]).ok();
    let is_held = || {
        s.git(&["switch", "--quiet", "-C", "other", "main"]).ok();
        let said = refused(&s, 6, "issue_held", &["issue", "take", &id]);
        assert!(said.to_string().contains("session one"), "{said}");
        let second = ["start", "--quick", "--issue", &id, "--id", "second"];
        refused(&s, 6, "issue_held", &second);
        refused(&s, 5, "issue_none_ready", &["issue", "take"]);
        assert_eq!(show(&s, &id)["running"], "one");
        let next = next_of(&s, &id);
        assert!(next.contains("git switch work"), "{next}");
        s.git(&["switch", "--quiet", "work"]).ok();
    };
    is_held();
    s.loopx(&["issue", "resolve", &id, "--reason", "x"]).ok();
    s.loopx(&["issue", "reopen", &id]).ok();
    is_held();
    // Once it is given up the issue is free again.
    s.loopx(&["abandon", "--reason", "no"]).ok();
    assert_eq!(show(&s, &id)["running"], Value::Null);
    s.loopx(&["issue", "take", &id]).ok();
}

#[test]
fn the_next_step_of_a_taken_issue_is_one_that_goes() {
    let s = backlog();
    let id = create(&s, &["One"]);
    s.loopx(&["issue", "take", &id]).ok();
    assert!(next_of(&s, &id).contains("start --issue"));
    let other = s.root().join("other");
    let path = other.to_str().expect("a path").to_owned();
    s.git(&["worktree", "add", "--quiet", "--detach", &path])
        .ok();
    let shown = s.loopx_in(&other, &["--json", "issue", "show", &id]).json();
    let next = shown["next_action"].to_string();
    assert!(next.contains("--take-over"), "{next}");
}

fn coverage(s: &Sandbox) -> Value {
    s.loopx(&["--json", "spec", "coverage", "--intent"]).json()
}

#[test]
fn what_the_program_says_of_an_issue_is_no_statement() {
    let s = backlog();
    two(&s);
    s.git(&["switch", "--quiet", "-c", "before"]).ok();
    s.loopx(&["start", "--quick", "--issue", "bbbb"]).ok();
    s.loopx(&["abandon", "--reason", "q"]).ok();
    s.git(&["switch", "--quiet", "-c", "work"]).ok();
    let start = ["start", "--profile", "standard", "--id", "both", "--issue"];
    s.loopx(&[&start[..], &["aaaa", "--issue", "bbbb"]].concat())
        .ok();
    let found = coverage(&s);
    let texts = found["statements"].as_array().expect("statements").iter();
    let texts: Vec<&str> = texts.filter_map(|one| one["text"].as_str()).collect();
    assert_eq!(texts, ["First", "it waits 30 s", "Second"]);
    let intent = s.loopx(&["cat", "intent.md"]).ok();
    assert!(intent.contains("It is done when:"), "{intent}");
    assert!(intent.contains("was abandoned: q"), "{intent}");
    assert_whole(&s);
}

#[test]
fn the_hint_of_the_coverage_names_what_is_open_and_a_number_that_is_not_there() {
    let s = backlog();
    s.git(&["switch", "--quiet", "-c", "work"]).ok();
    let words = "Idle sessions end. The log says why.";
    s.loopx(&["start", "Auth timeout", "-m", words]).ok();
    let found = coverage(&s);
    assert!(
        found["next_action"].to_string().contains("edit spec.md"),
        "{found}"
    );
    let spec = s.loopx(&["cat", "spec.md"]).ok();
    put(
        &s,
        "spec.md",
        &format!("{spec}\nI-1 and I-99\n\n- I-2 deferred:\n"),
    )
    .ok();
    let found = coverage(&s);
    assert_eq!(found["strays"][0]["id"], "I-99");
    assert_eq!(found["statements"][1]["fate"], "missing");
    s.loopx(&["spec", "coverage", "--intent"])
        .says("no statement I-99");
    // Nothing holds a quick session there.
    s.git(&["switch", "--quiet", "-c", "quick"]).ok();
    s.loopx(&["start", "--quick", "Other", "-m", words]).ok();
    s.loopx(&["spec", "coverage", "--intent"]).ok();
    assert_eq!(coverage(&s)["next_action"], Value::Null);
}

#[test]
fn no_issue_waits_for_what_git_cannot_have() {
    let s = backlog();
    let id = create(&s, &["One"]);
    let long = format!("path={}@main", "p".repeat(5000));
    let wrong = [
        "merged=main@a..b",
        "merged=main@main/",
        "merged=main@.x",
        "merged=main@a/.x",
        "merged=main@a~b",
        "merged=main@no such branch",
        "merged=main@x.lock",
        "merged=main@a/x.lock/b",
        "merged=:/base@main",
        "merged=x^{/re}@main",
        "path=../x@main",
        "path=a//b@main",
        "path=./a@main",
        &long,
    ];
    for word in wrong {
        let error = s
            .loopx(&["issue", "edit", &id, "--until", word])
            .fails_with(2);
        assert!(error.stderr.contains("expected"), "{word}: {error}");
    }
    assert_eq!(show(&s, &id)["until"], Value::Null);
}

#[test]
fn a_branch_that_cannot_be_read_holds_one_issue_and_not_the_backlog() {
    let s = backlog();
    let id = create(&s, &["One", "--until", "path=code.txt@broken"]);
    let other = create(&s, &["Two", "--until", "path=code.txt@main"]);
    s.write(".git/refs/heads/broken", "no commit\n");
    let out = s.loopx(&["issue", "list"]).ok();
    assert!(out.contains("it cannot be read"), "{out}");
    refused(&s, 1, "issue_blocked", &["issue", "take", &id]);
    s.loopx(&["issue", "take", &other]).ok();
    let gone = "path=code.txt@broken";
    s.loopx(&["issue", "edit", &id, "--no-until", gone]).ok();
}

#[test]
fn m5_a_history_that_ends_too_early_takes_down_no_condition_that_is_found_before() {
    let s = backlog();
    for tag in ["t1", "t2", "t3", "t4", "t5"] {
        s.commit_file(tag, tag, tag).ok();
        s.git(&["tag", tag]).ok();
        if tag == "t2" {
            s.git(&["branch", "side"]).ok();
        }
    }
    s.git(&["switch", "--quiet", "side"]).ok();
    s.commit_file("side", "side", "side").ok();
    s.git(&["switch", "--quiet", "main"]).ok();
    let all = ["merged=t5@main", "merged=t4@main", "merged=side@main"];
    let args: Vec<&str> = all.iter().flat_map(|one| ["--until", *one]).collect();
    let id = create(&s, &[&["Two"], args.as_slice()].concat());
    let lost = s.git(&["rev-parse", "t2"]).line();
    let (folder, name) = lost.split_at(2);
    std::fs::remove_file(s.path().join(".git/objects").join(folder).join(name)).expect("an object");
    let rows = list(&s, &[]);
    let row = rows.iter().find(|row| row["id"] == json!(id));
    let waits = row.map(|row| row["waits"].to_string()).unwrap_or_default();
    assert!(waits.contains("side"), "{waits}");
    assert!(!waits.contains("t5") && !waits.contains("t4"), "{waits}");
}

/// Conditions of one branch are looked at together, and each is judged on its own.
#[test]
fn each_of_many_conditions_holds_by_itself() {
    let s = backlog();
    s.git(&["tag", "first"]).ok();
    s.commit_file("docs/a.md", "a\n", "a").ok();
    s.git(&["tag", "second"]).ok();
    s.git(&["switch", "--quiet", "-c", "topic"]).ok();
    s.commit_file("b.md", "b\n", "b").ok();
    s.git(&["tag", "third"]).ok();
    s.git(&["switch", "--quiet", "main"]).ok();
    let holds = [
        "merged=first@main",
        "merged=second@main",
        "merged=first@topic",
        "merged=third@topic",
        "path=docs/a.md@main",
        "path=b.md@topic",
    ];
    let open = [
        "merged=third@main",
        "merged=nowhere@main",
        "path=b.md@main",
        "path=c.md@topic",
        "merged=first@nowhere",
        "session=nobody@review",
    ];
    let until = |all: &[&str]| -> String {
        let args: Vec<&str> = all.iter().flat_map(|one| ["--until", *one]).collect();
        create(&s, &[&["One"], args.as_slice()].concat())
    };
    let free = until(&holds);
    let held = until(&[&holds[..], &open].concat());
    let list = s.loopx(&["--json", "issue", "list"]).json();
    let rows = list["issues"].as_array().expect("issues");
    let waits = |id: &str| {
        let row = rows.iter().find(|row| row["id"] == json!(id));
        let waits = row.and_then(|row| row["waits"].as_array());
        waits.map_or(0, Vec::len)
    };
    assert_eq!((waits(&free), waits(&held)), (0, open.len()), "{list:#}");
    s.loopx(&["issue", "take", &free]).ok();
    refused(&s, 1, "issue_blocked", &["issue", "take", &held]);
}

#[test]
fn a_folder_is_there_by_its_name_with_a_slash_as_well() {
    let s = backlog();
    s.commit_file("src/a.txt", "a\n", "a").ok();
    let id = create(&s, &["One", "--until", "path=src/@main"]);
    s.loopx(&["issue", "take", &id]).ok();
}

#[test]
fn what_an_issue_waits_for_is_not_known_of_the_past_and_no_hint_takes_it_away() {
    let s = backlog();
    let id = create(&s, &["One", "--until", "path=docs@main"]);
    for args in [
        ["--json", "issue", "list", "--at", "now"].as_slice(),
        &["--json", "issue", "show", &id, "--at", "now"],
    ] {
        let found = s.loopx(args).json();
        let one = found["issues"].get(0).unwrap_or(&found);
        assert_eq!(one["ready"], false, "{found}");
        assert!(found.to_string().contains("nobody looked"), "{found}");
    }
    let said = refused(&s, 1, "issue_blocked", &["issue", "take", &id]);
    assert!(!said["help"].to_string().contains("--no-until"), "{said}");
    assert!(said["help"].to_string().contains("issue show"), "{said}");
}

fn policy(s: &Sandbox, backlog: &str) {
    let text = format!("[backlog]\n{backlog}\n");
    s.commit_file("loopx.toml", &text, "policy").ok();
}

/// The next step that a command names.
fn leads(s: &Sandbox, args: &[&str]) -> String {
    let found = s.loopx(&[&["--json"], args].concat()).json();
    found["next_action"].to_string()
}

#[test]
fn where_nobody_may_take_more_all_leads_to_what_is_in_hand() {
    let s = backlog();
    policy(&s, "wip = 1");
    let one = create(&s, &["One"]);
    let two = create(&s, &["Two"]);
    s.loopx(&["issue", "take", &one]).ok();
    let other = show(&s, &two);
    assert_eq!(other["lacks"], json!(["room in hand"]), "{other}");
    assert_eq!(list(&s, &["--ready"]).len(), 0);
    for args in [
        ["issue", "list"].as_slice(),
        &["issue", "board"],
        &["issue", "show", &two],
    ] {
        let next = leads(&s, args);
        assert!(next.contains(&format!("issue show {one}")), "{next}");
    }
    // A session that goes on is not given back by a word about its issue.
    s.git(&["switch", "--quiet", "-c", "work"]).ok();
    s.loopx(&["start", "--quick", "--issue", &one]).ok();
    let said = refused(&s, 1, "issue_wip_reached", &["issue", "take", &two]);
    let help = said["help"].to_string();
    assert!(help.contains("-s one") && help.contains("status"), "{said}");
}

#[test]
fn the_limit_of_one_person_is_called_by_its_key() {
    let s = backlog();
    policy(&s, "wip = 5\nlimits = { \"@ada@example.org\" = 1 }");
    let one = create(&s, &["One"]);
    let two = create(&s, &["Two"]);
    s.loopx(&["issue", "take", &one]).ok();
    let said = refused(&s, 1, "issue_wip_reached", &["issue", "take", &two]);
    assert!(said.to_string().contains("[backlog] limits"), "{said}");
}

#[test]
fn the_way_to_a_status_goes_on_from_what_is_there() {
    let s = backlog();
    policy(&s, "follows = { in_progress = [\"planned\"] }");
    let id = create(&s, &["One"]);
    assert!(next_of(&s, &id).contains("solution add"));
    s.loopx(&["issue", "solution", "add", &id, "So"]).ok();
    let next = next_of(&s, &id);
    assert!(
        next.contains(&format!("solution bind {}", short(&s, &id))),
        "{next}"
    );
    s.loopx(&["issue", "solution", "bind", &id, "s1"]).ok();
    s.loopx(&["issue", "edit", &id, "--status", "open"]).ok();
    let next = next_of(&s, &id);
    assert!(next.contains("--status planned"), "{next}");
    s.loopx(&["issue", "edit", &id, "--status", "planned"]).ok();
    s.loopx(&["issue", "take", &id]).ok();
}

fn short(s: &Sandbox, id: &str) -> String {
    let shown = show(s, id);
    shown["short"].as_str().expect("a name").to_owned()
}

#[test]
fn where_policy_knows_no_way_nothing_leads_in_a_circle() {
    let s = backlog();
    policy(
        &s,
        "follows = { in_progress = [], open = [\"in_progress\"] }",
    );
    let id = create(&s, &["One"]);
    assert_eq!(show(&s, &id)["next_action"], Value::Null);
    assert_eq!(leads(&s, &["issue", "list"]), "null");
    s.loopx(&["issue", "close", &id, "--reason", "no"]).ok();
    let again = ["issue", "reopen", &id, "--reason", "x"];
    let said = refused(&s, 1, "issue_not_next", &again);
    assert!(said.to_string().contains("no status leads there"), "{said}");
    assert!(!said["help"].to_string().contains("reopen"), "{said}");
}

/// The step that `next` leads to where no session is active.
fn step(s: &Sandbox) -> String {
    let out = s.loopx(&["next"]);
    format!("{}{}", out.stdout, out.stderr)
}

#[test]
fn an_issue_in_hand_leads_to_what_keeps_its_session() {
    let s = backlog();
    let one = create(&s, &["One"]);
    let two = create(&s, &["Two"]);
    s.loopx(&["issue", "take", &one]).ok();
    s.git(&["switch", "--quiet", "-c", "work"]).ok();
    assert!(step(&s).contains("start --issue"));
    s.loopx(&["issue", "link", &one, "blocked-by", &two]).ok();
    let next = step(&s);
    assert!(next.contains("issue show"), "{next}");
    s.loopx(&["issue", "unlink", &one, "blocked-by", &two]).ok();
    policy(&s, "take = [\"estimate\"]");
    let next = step(&s);
    assert!(next.contains("--estimate"), "{next}");
    // Of several the one that can begin.
    let three = create(&s, &["Three", "--estimate", "2h"]);
    s.loopx(&["issue", "take", &three]).ok();
    let next = step(&s);
    let way = format!("start --issue {}", short(&s, &three));
    assert!(next.contains(&way), "{next}");
}

#[test]
fn a_template_names_all_values_that_it_lacks_and_keeps_the_rest() {
    let s = backlog();
    let text = "---\nvariables: [version, who, where=here]\n---\n{version} {who}\n";
    s.commit_file("loopx/templates/issue/rel.md", text, "template")
        .ok();
    let args = ["issue", "create", "It comes", "--template", "rel"];
    let said = refused(&s, 2, "issue_variable_missing", &args);
    let help = said["help"].to_string();
    assert!(help.contains("'It comes' --template rel"), "{help}");
    assert!(help.contains("--set version=TEXT --set who=TEXT"), "{help}");
    let args = [&args[..], &["--set", "version=a b"]].concat();
    let said = refused(&s, 2, "issue_variable_missing", &args);
    let help = said["help"].to_string();
    assert!(help.contains("'version=a b' --set who=TEXT"), "{help}");
}

#[test]
fn a_part_waits_for_what_the_whole_waits_for() {
    let s = backlog();
    let whole = create(&s, &["Whole", "--until", "path=docs@main"]);
    let middle = create(&s, &["Middle", "--parent", &whole]);
    let part = create(&s, &["Part", "--parent", &middle]);
    for id in [&middle, &part] {
        refused(&s, 1, "issue_blocked", &["issue", "take", id]);
        assert_eq!(show(&s, id)["ready"], false);
    }
    refused(&s, 5, "issue_none_ready", &["issue", "take"]);
    s.commit_file("docs/a.md", "a\n", "docs").ok();
    s.loopx(&["issue", "take", &part]).ok();
}
