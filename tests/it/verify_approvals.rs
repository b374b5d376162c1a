//! `verify` asks who said yes: number, names and content of the approvals that let a range in, from the
//! loopx branch as it is and by the policy of the base.

use crate::support::Sandbox;
use crate::support::forge::forge_records;
use crate::support::session::{at, commit};
use crate::support::store::tamper;
use serde_json::Value;

/// `code: message` of each error of `verify`.
fn errors(s: &Sandbox, args: &[&str]) -> Vec<String> {
    let mut all = vec!["verify", "--json"];
    all.extend(args);
    let out = s.loopx(&all);
    let json = out.json();
    let found = json["findings"].as_array().expect("findings").iter();
    let errors: Vec<String> = found
        .filter(|f| f["severity"] == "error")
        .map(|f| {
            let text = |key: &str| f[key].as_str().expect("text");
            format!("{}: {}", text("code"), text("message"))
        })
        .collect();
    assert_eq!(out.code, Some(i32::from(!errors.is_empty())), "{out}");
    errors
}

/// A branch `strict` beside main, with another policy.
fn stricter(s: &Sandbox, policy: &str) {
    s.git(&["switch", "--quiet", "-c", "strict", "main"]).ok();
    s.write("loopx.toml", policy);
    s.git(&["commit", "--quiet", "-am", "policy"]).ok();
    s.git(&["switch", "--quiet", "demo"]).ok();
}

/// Rewrites the operations of the session `demo`, and lets the state follow.
fn forge(s: &Sandbox, edit: impl Fn(&mut Value)) {
    // `fsck --repair` would take it back.
    forge_records(s, "demo", edit);
}

fn approves(op: &Value, transition: &str) -> bool {
    op["kind"] == "approved" && op["body"]["transition"] == transition
}

#[test]
fn too_few_or_the_wrong_people_are_seen_by_the_policy_of_the_base() {
    let s = at("build", "", "");
    commit(&s, "src/a.rs", "code").ok();
    assert_eq!(errors(&s, &[]), [""; 0]);
    stricter(
        &s,
        "[approve]\nrequired = { \"plan->build\" = 2 }\ndeny = [\"*@example.*\"]\n",
    );
    let who = s.git(&["log", "-1", "--format=%an <%ae>"]).line();
    let expected = [
        format!("approver_denied: session demo: policy does not let {who} approve clarify->plan"),
        "approvals_missing: session demo: 0 of 1 people approved clarify->plan".into(),
        format!("approver_denied: session demo: policy does not let {who} approve plan->build"),
        "approvals_missing: session demo: 0 of 2 people approved plan->build".into(),
    ];
    assert_eq!(errors(&s, &["--policy-from", "strict"]), expected);
    assert_eq!(
        errors(&s, &["main..HEAD", "--policy-from", "strict"]),
        expected
    );
    // A range without a commit has let nothing in.
    assert_eq!(
        errors(&s, &["HEAD..HEAD", "--policy-from", "strict"]),
        [""; 0]
    );
}

#[test]
fn an_approval_that_was_moved_to_other_content_is_seen() {
    let other = "0123456789012345678901234567890123456789";
    let s = at("build", "", "");
    commit(&s, "src/a.rs", "code").ok();
    forge(&s, |op| {
        if approves(op, "plan->build") {
            op["body"]["content"] = other.into();
        }
    });
    assert_eq!(
        errors(&s, &[]),
        [
            "approval_content: session demo: the approval of plan->build names another tree than its files make"
        ]
    );
    let s = at("build", "", "");
    commit(&s, "src/a.rs", "code").ok();
    forge(&s, |op| {
        if approves(op, "plan->build") {
            op["body"]["files"]["plan.md"] = other.into();
        }
    });
    assert_eq!(
        errors(&s, &[]),
        [
            "approval_void: session demo: plan->build was approved with another plan.md than the session has: somebody took that back or changed it at the same time"
        ]
    );
}

#[test]
fn an_approval_of_other_code_than_the_review_is_seen() {
    let s = at("build", "", "");
    commit(&s, "src/a.rs", "code").ok();
    crate::support::session::advance(&s, "build", "done", "");
    assert_eq!(errors(&s, &[]), [""; 0]);
    let tree = s.git(&["rev-parse", "main^{tree}"]).line();
    forge(&s, |op| {
        if approves(op, "review->done") {
            op["body"]["code"] = tree.as_str().into();
        }
    });
    assert_eq!(
        errors(&s, &[]),
        [
            "approval_stale: session demo: the approval of review->done is about other code than the review"
        ]
    );
}

#[test]
fn a_state_that_says_more_than_its_operations_opens_nothing() {
    let s = at("plan", "", "[gates]\nprotected = [\"main\"]\n");
    s.write("src/a.rs", "code");
    s.git(&["add", "."]).ok();
    s.git(&["commit", "--quiet", "--no-verify", "-m", "code"])
        .ok();
    let text = s.git(&["show", "loopx:sessions/demo/state.json"]).ok();
    let open = text.replace("\"stage\": \"plan\"", "\"stage\": \"done\"");
    assert_ne!(open, text);
    tamper(&s, "sessions/demo/state.json", Some(open.as_bytes()));
    for args in [&["verify"][..], &["verify", "main..HEAD", "--onto", "main"]] {
        s.loopx(args)
            .fails_with(70)
            .says("differs from what its operations give");
    }
}

/// A person who may push anything may push a tag.
#[test]
fn a_tag_stands_for_no_branch() {
    let s = at("build", "", "");
    commit(&s, "src/a.rs", "code").ok();
    s.git(&["update-ref", "refs/remotes/origin/main", "main"])
        .ok();
    let range = ["verify", "origin/main..HEAD", "--policy-from=origin/main"];
    let said = s.loopx(&range).ok();
    for tag in ["origin/main", "refs/remotes/origin/main"] {
        s.git(&["update-ref", &format!("refs/tags/{tag}"), "HEAD"])
            .ok();
    }
    assert_eq!(s.loopx(&range).ok(), said);
    let full = "refs/remotes/origin/main";
    let policy = format!("--policy-from={full}");
    let in_full = s.loopx(&["verify", &format!("{full}..HEAD"), &policy]);
    assert_eq!(in_full.ok(), said);
    // Where a branch here has the name of a tag, nobody can say which is meant.
    s.git(&["tag", "main", "HEAD"]).ok();
    let range = ["verify", "main..HEAD", "--policy-from=main"];
    insta::assert_snapshot!(s.loopx(&range).steady(), @"
    $ git-loopx verify main..HEAD --policy-from=main
    --- stderr
    error: `main` is ambiguous: refs/heads/main is another commit than refs/tags/main

    hint: name it in full: refs/heads/main
    --- exit 2
    ");
    s.git(&["tag", "-f", "main", "refs/heads/main"]).ok();
    s.loopx(&range).ok();
}
