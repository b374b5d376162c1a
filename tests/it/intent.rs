//! The statements of a request: numbered once, cited or deferred before the review ends (design 12).

use crate::support::store::{ID, READY, assert_whole, build_approved, put, started};
use crate::support::{LOOPX, Sandbox};
use serde_json::{Value, json};

const REQUEST: &str = "Idle sessions end. The log says why.\n\n- the time is a setting\n";

fn asked(request: &str, policy: Option<&str>) -> Sandbox {
    Sandbox::once(format!("{request:?} {policy:?}"), || {
        let s = Sandbox::new();
        s.commit_file("code.txt", "code\n", "code").ok();
        if let Some(policy) = policy {
            s.commit_file("loopx.toml", policy, "policy").ok();
        }
        s.loopx(&["init"]).ok();
        let start = s.call(LOOPX).args(&["start", "Auth timeout", "-F", "-"]);
        start.stdin(request).run().ok();
        s
    })
}

fn coverage(s: &Sandbox) -> Value {
    s.loopx(&["--json", "spec", "coverage", "--intent"]).json()
}

fn fates(s: &Sandbox) -> Vec<String> {
    let found = coverage(s);
    let all = found["statements"].as_array().expect("statements");
    all.iter()
        .map(|one| one["fate"].as_str().expect("a word").to_owned())
        .collect()
}

/// The codes that hold a transition.
fn codes(s: &Sandbox, to: &str) -> Vec<String> {
    let refused = s.loopx(&["--json", "approve", "--to", to]);
    if refused.code == Some(0) {
        return Vec::new();
    }
    let error = refused.error_json();
    let all = error["error"]["blockers"].as_array().cloned();
    let all = all.unwrap_or_default();
    all.iter()
        .filter_map(|one| one["code"].as_str().map(str::to_owned))
        .collect()
}

#[test]
fn what_no_document_says_of_the_request_is_shown_while_the_plan_is_written() {
    let s = asked(REQUEST, None);
    let not_cited = |s: &Sandbox| s.loopx(&["--json", "status"]).json()["not_cited"].clone();
    put(&s, "spec.md", READY).ok();
    assert_eq!(not_cited(&s), Value::Null);
    s.loopx(&["approve", "--to", "plan", "--enter"]).ok();
    assert_eq!(not_cited(&s), json!(["I-1", "I-2", "I-3"]));
    s.loopx(&["status"]).says(
        "I-1, I-2, I-3 are cited nowhere yet; to read them: git loopx spec coverage --intent",
    );
    put(&s, "plan.md", "# Plan\n\n## Approach\n\nI-1 and I-3.\n").ok();
    s.loopx(&["status"]).says("I-2 is cited nowhere yet");
    put(
        &s,
        "plan.md",
        "# Plan\n\n## Approach\n\nI-1, I-2 and I-3.\n",
    )
    .ok();
    assert_eq!(not_cited(&s), Value::Null);
}

#[test]
fn each_statement_is_cited_or_deferred_before_the_build_is_handed_on() {
    let s = asked(REQUEST, None);
    assert_eq!(fates(&s), ["missing"; 3]);
    s.loopx(&["spec", "coverage", "--intent"])
        .says("I-3 the time is a setting")
        .fails_with(1);
    build_approved(&s);
    s.loopx(&["build"]).ok();
    let held = codes(&s, "review");
    let count = |codes: &[String]| {
        codes
            .iter()
            .filter(|code| *code == "intent_uncovered")
            .count()
    };
    assert_eq!(count(&held), 3, "{held:?}");
    // A reason is a part of a deferral, and a number is a word.
    put(
        &s,
        "execution-record.md",
        "# Record\n\nXI-1 I-2x\n\n- I-3 deferred:\n",
    )
    .ok();
    assert_eq!(fates(&s)[..2], ["missing", "missing"]);
    let text =
        "# Record\n\n## Changes\n\nA timer (I-1..I-2).\n\n- I-3 deferred: after the release\n";
    put(&s, "execution-record.md", text).ok();
    assert_eq!(fates(&s), ["addressed", "addressed", "deferred"]);
    let found = coverage(&s);
    assert_eq!(
        (&found["complete"], &found["asked"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(
        found["statements"][0]["cited"],
        json!(["execution-record.md"])
    );
    assert_eq!(
        found["statements"][2]["deferred"]["reason"],
        "after the release"
    );
    let held = codes(&s, "review");
    assert_eq!(count(&held), 0, "{held:?}");
    // The numbers are a file of the session that nobody edits.
    let file = s
        .git(&["show", &format!("loopx:sessions/{ID}/statements.md")])
        .ok();
    assert!(file.contains("- I-2: The log says why."), "{file}");
    assert_whole(&s);
}

#[test]
fn policy_switches_it_off_and_a_request_of_one_statement_needs_no_number() {
    for (request, policy) in [
        (REQUEST, Some("[intent]\ncoverage = \"off\"\n")),
        ("Idle sessions end.\n", None),
    ] {
        let s = asked(request, policy);
        build_approved(&s);
        s.loopx(&["build"]).ok();
        let held = codes(&s, "review");
        assert!(!held.contains(&"intent_uncovered".to_owned()), "{held:?}");
        assert_eq!(coverage(&s)["asked"], json!(policy.is_none()));
    }
    // Sessions of programs that numbered nothing have no such file, and go on as they began.
    let s = started();
    let found = coverage(&s);
    assert_eq!(found["statements"], json!([]));
    s.loopx(&["spec", "coverage", "--intent"]).ok();
    let shown = s
        .git(&["ls-tree", "--name-only", &format!("loopx:sessions/{ID}")])
        .ok();
    assert!(!shown.contains("statements.md"), "{shown}");
}

/// The rows of the manifest, as `kind path`.
fn rows(s: &Sandbox, args: &[&str]) -> Vec<Value> {
    let shown = s.loopx(&[&["--json", "show", "--context"], args].concat());
    let shown = shown.json();
    shown["rows"].as_array().expect("rows").clone()
}

#[test]
fn the_manifest_says_what_a_stage_and_a_task_have_to_read() {
    let s = started();
    s.write("AGENTS.md", "Be brief.\n");
    let at = |stage: &str| {
        let rows = rows(&s, &["--stage", stage]);
        let kinds = rows.iter().filter_map(|row| row["kind"].as_str());
        kinds.map(str::to_owned).collect::<Vec<String>>()
    };
    assert_eq!(at("clarify"), ["intent", "agent-domain"]);
    assert_eq!(at("plan")[..2], ["intent", "spec"]);
    s.loopx(&["show", "--context", "--stage", "build"])
        .says("missing")
        .fails_with(1);
    s.loopx(&["show", "--context", "--stage", "tea"])
        .fails_with(2);
    s.loopx(&["show", "--context", "--task", "T-9"])
        .fails_with(4);
    s.loopx(&["show", "--stage", "plan"]).fails_with(2);
    build_approved(&s);
    s.loopx(&["build"]).ok();
    let rows = rows(&s, &[]);
    let has = |kind: &str| {
        rows.iter()
            .any(|row| row["kind"] == kind && row["exists"] == true)
    };
    for kind in [
        "spec",
        "plan",
        "architecture",
        "test-plan",
        "vertical-slices",
    ] {
        assert!(has(kind), "{kind}: {rows:#?}");
    }
    let priorities: Vec<u64> = rows
        .iter()
        .filter_map(|row| row["priority"].as_u64())
        .collect();
    assert!(priorities.is_sorted(), "{priorities:?}");
    s.loopx(&["show", "--context"]).says("how it is done").ok();
}

#[test]
fn what_has_to_be_read_and_is_not_there_holds_the_stage() {
    for policy in [None, Some("[context]\nmanifest = \"off\"\n")] {
        let s = Sandbox::new();
        s.commit_file("code.txt", "code\n", "code").ok();
        if let Some(policy) = policy {
            s.commit_file("loopx.toml", policy, "policy").ok();
        }
        s.loopx(&["rule", "init"]).ok();
        s.git(&["add", "docs"]).ok();
        s.git(&["commit", "-qm", "rules"]).ok();
        s.loopx(&["init"]).ok();
        s.loopx(&["start", "Auth timeout"]).ok();
        put(&s, "spec.md", crate::support::store::READY).ok();
        s.loopx(&["clarify"]).ok();
        let glossary = s.path().join("docs/rules/glossary.md");
        std::fs::remove_file(&glossary).expect("the glossary");
        let held = codes(&s, "plan");
        let is_held = held.contains(&"missing_required_context".to_owned());
        assert_eq!(is_held, policy.is_none(), "{held:?}");
        if policy.is_none() {
            s.git(&["restore", "docs/rules/glossary.md"]).ok();
            assert!(codes(&s, "plan").is_empty());
        }
    }
}

#[test]
fn comments_and_fenced_code_address_no_statement_and_put_none_off() {
    let s = asked(REQUEST, None);
    build_approved(&s);
    s.loopx(&["build"]).ok();
    let text =
        "# Record\n\n<!--\nI-1\n-->\n\nSo <!-- I-2 --> it is.\n\n```\n- I-3 deferred: later\n```\n";
    put(&s, "execution-record.md", text).ok();
    assert_eq!(fates(&s), ["missing"; 3]);
    // A line keeps its number behind a comment.
    let text = "# Record\n\n<!--\nI-1\n-->\n\n- I-3 deferred: later\n";
    put(&s, "execution-record.md", text).ok();
    assert_eq!(
        coverage(&s)["statements"][2]["deferred"]["at"],
        "execution-record.md:7"
    );
}
