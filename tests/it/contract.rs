//! The contract of a session: what its work stays within and what it comes to. Who asks for it, who holds it, who reads
//! it (case C4 of `chain-scenarios.md`). The lists of words have their tests beside them.

use crate::support::tasks::{DEMO, fill, refuses, task, text};
use crate::support::{LOOPX, Output, Sandbox};
use serde_json::{Value, json};

/// A lite session `demo` with this request, in stage plan; its plan has these lines in its front matter besides.
fn planned(request: &str, lines: &str) -> Sandbox {
    planned_under("", request, lines)
}

/// A lite session `demo` with this request and these lines, in stage plan, under a policy.
fn planned_under(policy: &str, request: &str, lines: &str) -> Sandbox {
    let s = Sandbox::once(format!("{policy:?} {request:?} {lines:?}"), || {
        let s = Sandbox::new();
        s.commit_file("src/a.rs", "one\n", "First").ok();
        if !policy.is_empty() {
            s.commit_file("loopx.toml", policy, "Policy").ok();
        }
        s.loopx(&["init"]).ok();
        s.loopx(&["hooks", "install"]).ok();
        s.git(&["switch", "--quiet", "-c", "work"]).ok();
        s.loopx(&["start", "--profile", "lite", DEMO, "-m", request])
            .ok();
        s
    });
    fill(&s, &[task("A", &[], Some(&["true"]))]);
    let plan = s.read(format!(".loopx/{DEMO}/plan.md"));
    let plan = plan.replacen("scope: []\n", lines, 1);
    s.write(format!(".loopx/{DEMO}/plan.md"), plan);
    s
}

const CONTRACT: &str = "scope: [\"src/**\", \"lib/**\"]\nout_of_scope: [\"src/gen/**\", \"docs/**\"]\n\
    constraints: [\"No caller has to change\"]\ndefinition_of_done: [\"The old API is gone\"]\n\
    execution_criteria: [\"One module a commit\"]\n";

fn enter(s: &Sandbox) {
    s.loopx(&["approve", "--enter", "--reason", "agreed"]).ok();
}

#[test]
fn chain_c4_a_broad_request_says_where_it_ends_before_it_is_built() {
    let broad = "migrate everything to the new API";
    let s = planned(broad, "scope: []\n");
    // The words are shown before anybody is held by them.
    let shown = s.loopx(&["plan", "--show", "--json"]).json();
    assert_eq!(
        shown["contract"],
        json!({
            "words": ["migrate", "everything"],
            "missing": ["scope or out_of_scope", "constraints", "definition_of_done"],
        })
    );
    s.loopx(&["plan", "--show"])
        .says("asked for (`migrate`, `everything` in the request)")
        .ok();
    let error = refuses(
        &s,
        1,
        "plan_review_gate_blocked",
        &["approve", "--enter", "--reason", "agreed"],
    );
    let blockers = error["blockers"].as_array().expect("blockers");
    assert_eq!(blockers.len(), 1, "{error:#}");
    assert_eq!(blockers[0]["code"], "contract_missing");
    let message = text(&blockers[0]["message"]);
    assert!(message.contains("migrate, everything"), "{message}");
    let next = s.loopx(&["status", "--json"]).json()["next_action"].to_string();
    assert!(next.contains("edit plan.md"), "{next}");
    // Whoever says a part is asked for the rest, and the whole lets it through.
    let s = planned(broad, "scope: [\"**\"]\nconstraints: [none]\n");
    let error = refuses(&s, 1, "plan_review_gate_blocked", &["approve"]);
    let message = text(&error["blockers"][0]["message"]);
    assert!(message.ends_with("under definition_of_done"), "{message}");
    enter(&planned(broad, CONTRACT));
    // No other request is asked, and none where policy does not ask.
    enter(&planned("fix typo in x", "scope: []\n"));
    enter(&planned_under(
        "[intent]\ncontract = \"off\"\n",
        broad,
        "scope: []\n",
    ));
}

#[test]
fn chain_c4_a_quick_session_has_no_contract() {
    let s = Sandbox::new();
    s.commit_file("src/a.rs", "one\n", "First").ok();
    s.loopx(&["init"]).ok();
    s.git(&["switch", "--quiet", "-c", "work"]).ok();
    let request = "migrate everything to the new API";
    s.loopx(&["start", "--quick", DEMO, "-m", request]).ok();
    s.commit_file("src/a.rs", "two\n", "Migrate").ok();
    s.loopx(&["run", "--", "true"]).ok();
    s.loopx(&["finish", "--yes"]).ok();
}

#[test]
fn a_card_says_what_the_session_stays_within_and_comes_to() {
    let s = planned("migrate everything to the new API", CONTRACT);
    enter(&s);
    let card = s.loopx(&["take", "--json"]).json()["card"].clone();
    assert_eq!(
        card["contract"],
        json!({
            "scope": ["src/**", "lib/**"],
            "out_of_scope": ["src/gen/**", "docs/**"],
            "constraints": ["No caller has to change"],
            "definition_of_done": ["The old API is gone"],
            "execution_criteria": ["One module a commit"],
        })
    );
    let rows = [
        "not in  | src/gen/**\n",
        "        | docs/**\n",
        "limits  | No caller has to change\n",
        "how     | One module a commit\n",
        "done    | The old API is gone\n",
    ];
    for args in [
        &["task", "show", "A"][..],
        &["task", "show", "A", "--full"],
        &["task", "show", "A", "--format", "prompt"],
    ] {
        let said = s.loopx(args).ok();
        for row in rows {
            assert!(said.contains(row), "{args:?} {row}: {said}");
        }
    }
    // A session that says nothing of it has no such rows.
    let s = planned("fix typo in x", "scope: []\n");
    enter(&s);
    let card = s.loopx(&["take", "--json"]).json()["card"].clone();
    assert_eq!(card.get("contract"), None);
}

fn commit(s: &Sandbox, path: &str) -> Output {
    s.write(path, "x\n");
    s.git(&["add", path]).ok();
    s.git(&["commit", "--quiet", "-m", "more"])
}

#[test]
fn a_path_out_of_scope_is_held_by_hook_verify_and_review_as_one_outside_of_the_scope() {
    let request = "migrate everything to the new API";
    let s = planned(request, CONTRACT);
    enter(&s);
    let inside = commit(&s, "src/b.rs");
    assert_eq!(inside.stderr, "", "{inside}");
    inside.ok();
    // Policy always lets documents in; this plan does not.
    for path in ["src/gen/a.rs", "docs/a.md"] {
        let out = commit(&s, path);
        assert_eq!(out.stderr.matches("outside the scope").count(), 1, "{out}");
        out.ok();
    }
    let verified = s.loopx(&["verify", "--json"]).json().to_string();
    assert_eq!(
        verified.matches("\"out_of_scope\"").count(),
        2,
        "{verified}"
    );
    s.loopx(&["take"]).ok();
    s.loopx(&["task", "done"]).ok();
    s.loopx(&["approve", "--enter"]).ok();
    insta::assert_snapshot!(s.loopx(&["review", "--show"]).steady(), @"
    $ git-loopx review --show
    demo  3 commits by Ada Author since 0000000000, 3 files, +3 -0
      0000000000 more (Ada Author, name not proven)
      0000000000 more (Ada Author, name not proven)
      0000000000 more (Ada Author, name not proven)
      docs/a.md     +1 -0  outside the plan's scope (src/**, lib/** but src/gen/**, docs/**)
      src/b.rs      +1 -0
      src/gen/a.rs  +1 -0  outside the plan's scope (src/**, lib/** but src/gen/**, docs/**)
    constraints
      No caller has to change
    execution criteria
      One module a commit
    done when
      The old API is gone
    checks on 0000000000
      passed   approved-plan  the plan was approved for build
      passed   A  true
    you are author and committer and builder of the reviewed code: your verdict is recorded as not independent
    read: git diff 0000000000..0000000000
    read it first; to send it back:
    git loopx review --verdict request-changes --target build --reason 'it has to be mended'
    next: git loopx review --verdict approve
    --- exit 0
    ");
    let shown = s.loopx(&["review", "--show", "--json"]).json();
    assert_eq!(
        shown["contract"]["definition_of_done"],
        json!(["The old API is gone"])
    );
    let of = |path: &str| {
        let mut files = shown["changes"].as_array().expect("files").iter();
        files.find(|file| file["path"] == path).expect("the file")["in_scope"].clone()
    };
    assert_eq!(
        ["src/b.rs", "src/gen/a.rs", "docs/a.md"].map(of),
        [Value::Bool(true), Value::Bool(false), Value::Bool(false)]
    );
    // Where policy refuses what lies outside, the commit is refused.
    let s = planned_under("[gates]\nout_of_scope = \"refuse\"\n", request, CONTRACT);
    enter(&s);
    commit(&s, "src/gen/a.rs")
        .fails_with(1)
        .says("`src/gen/a.rs`: outside the scope");
    let read = s.call(LOOPX).args(&["fsck"]).run();
    read.ok();
}

#[test]
fn a_pattern_that_is_none_is_said_with_its_line_before_it_is_saved() {
    let s = planned("fix typo in x", "scope: []\nout_of_scope: [\"a[\"]\n");
    let error = refuses(&s, 1, "artifact_invalid", &["save"]);
    let said = error.to_string();
    assert!(said.contains("plan_scope_invalid"), "{said}");
    assert!(said.contains("plan.md:3: out_of_scope:"), "{said}");
}

#[test]
fn who_is_refused_at_the_end_for_a_path_out_of_scope_is_led_back_before_it() {
    let s = planned_under(
        "[gates]\nout_of_scope = \"refuse\"\n",
        "Speed it up",
        CONTRACT,
    );
    enter(&s);
    s.write("docs/a.md", "A page\n");
    s.git(&["add", "docs/a.md"]).ok();
    s.git(&["commit", "--quiet", "--no-verify", "-m", "A page"])
        .ok();
    s.loopx(&["run"]).ok();
    refuses(&s, 1, "out_of_scope", &["finish", "--yes"]);
    let next = s.loopx(&["next", "--json"]).json()["next_action"].clone();
    assert!(text(&next).contains(" plan --reason "), "{next}");
}
