//! Templates of issues, issues that say the same, and how many a person may have in hand.

use crate::support::LOOPX;
use crate::support::Sandbox;
use crate::support::issues::{backlog, create, show};
use serde_json::{Value, json};

fn refused(s: &Sandbox, code: i32, word: &str, args: &[&str]) -> String {
    let out = s.loopx(&[&["--json"], args].concat()).fails_with(code);
    let error = out.error_json()["error"].take();
    assert_eq!(error["code"], word, "{error}");
    error["message"].as_str().expect("a message").to_owned()
}

#[test]
fn an_issue_begins_with_what_its_template_says() {
    let s = backlog();
    let bug = "---\nabout: what hangs\ntitle: \"Bug: {title}\"\nkind: bug\npriority: 1\nlabels: [ui]\ncriteria: [it is gone]\n---\n## Steps\n\n1.\n";
    s.write("loopx/templates/issue/bug.md", bug);
    refused(
        &s,
        4,
        "issue_template_unknown",
        &["issue", "create", "X", "--template", "bug"],
    );
    s.git(&["add", "."]).ok();
    s.git(&["commit", "--quiet", "-m", "templates"]).ok();
    let id = create(
        &s,
        &["It", "hangs", "--template", "bug", "-p", "0", "-l", "late"],
    );
    let issue = show(&s, &id);
    assert_eq!(issue["title"], "Bug: It hangs");
    assert_eq!(
        (&issue["kind"], &issue["priority"]),
        (&json!("bug"), &json!(0))
    );
    assert_eq!(issue["labels"], json!(["late", "ui"]));
    assert_eq!(issue["description"], "## Steps\n\n1.\n");
    assert_eq!(issue["criteria"][0]["text"], "it is gone");
    refused(
        &s,
        2,
        "issue_field_invalid",
        &["issue", "create", "--template", "bug"],
    );
    for name in ["../bug", "bug.md", "", "none"] {
        let said = refused(
            &s,
            4,
            "issue_template_unknown",
            &["issue", "create", "X", "--template", name],
        );
        assert!(said.contains("has bug"), "{said}");
    }
    s.commit_file(
        "loopx/templates/issue/bad.md",
        "---\nkind: bug\nlabel: x\n---\n",
        "bad",
    )
    .ok();
    let said = refused(
        &s,
        1,
        "issue_template_invalid",
        &["issue", "create", "X", "--template", "bad"],
    );
    assert!(
        said.starts_with("loopx/templates/issue/bad.md:3: "),
        "{said}"
    );
    s.commit_file(
        "loopx/templates/issue/wish.md",
        "---\nkind: wish\n---\n",
        "wish",
    )
    .ok();
    refused(
        &s,
        2,
        "issue_field_invalid",
        &["issue", "create", "X", "--template", "wish"],
    );
}

#[test]
fn issues_that_say_the_same_are_found_until_somebody_says_what_they_are() {
    let s = backlog();
    let one = create(&s, &["The login form times out", "-d", "On slow lines."]);
    let two = create(
        &s,
        &["Login forms time out", "-d", "On slow lines, since May"],
    );
    create(&s, &["Write the manual"]);
    let found = |args: &[&str]| -> Vec<Value> {
        let out = s.loopx(&[&["--json", "issue", "duplicates"], args].concat());
        out.json()["pairs"].as_array().expect("pairs").clone()
    };
    let pairs = found(&[]);
    assert_eq!(pairs.len(), 1, "{pairs:?}");
    assert_eq!(
        (&pairs[0]["issue"], &pairs[0]["other"]),
        (&json!(one), &json!(two))
    );
    assert_eq!(found(&[&two]).len(), 1);
    assert_eq!(found(&["--least", "100"]).len(), 0);
    let out = s.loopx(&["issue", "duplicates"]);
    assert!(out.stdout.contains("--duplicate-of"), "{out}");
    s.loopx(&["issue", "close", &two, "--duplicate-of", &one])
        .ok();
    assert_eq!(found(&[]).len(), 0);
    assert_eq!(found(&["--all"]).len(), 0, "it is said already");
}

#[test]
fn nobody_takes_more_issues_than_policy_lets_them() {
    let s = backlog();
    s.commit_file("loopx.toml", "[backlog]\nwip = 1\n", "policy")
        .ok();
    let one = create(&s, &["One"]);
    let two = create(&s, &["Two"]);
    s.loopx(&["issue", "take", &one]).ok();
    let said = refused(&s, 1, "issue_wip_reached", &["issue", "take", &two]);
    assert!(said.contains(&one), "{said}");
    // What somebody has they may take again, and another person has hands of their own.
    s.loopx(&["issue", "take", &one]).ok();
    s.call(LOOPX)
        .env("GIT_AUTHOR_EMAIL", "bob@example.org")
        .env("GIT_COMMITTER_EMAIL", "bob@example.org")
        .args(&["issue", "take", &two])
        .run()
        .ok();
    s.loopx(&["issue", "release", &one]).ok();
    let three = create(&s, &["Three"]);
    s.loopx(&["issue", "take", &three]).ok();
}
