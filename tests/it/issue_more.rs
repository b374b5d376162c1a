//! Templates of issues, issues that say the same, and how many a person may have in hand.

use crate::support::LOOPX;
use crate::support::Sandbox;
use crate::support::issues::{backlog, create, show, two};
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
fn a_template_asks_for_its_variables_by_name() {
    let s = backlog();
    let text = "---\ntitle: \"Release {version}\"\nvariables: [version, branch=main]\nmilestone: \"{version}\"\ncriteria: [\"{version} is on {branch}\"]\n---\nCut {version}.\n";
    s.commit_file("loopx/templates/issue/release.md", text, "template")
        .ok();
    let create_it = ["issue", "create", "--template", "release"];
    let error = refused(&s, 2, "issue_variable_missing", &create_it);
    assert!(
        error.contains("version") && !error.contains("branch"),
        "{error}"
    );
    let with = |set: &'static str| [&create_it[..], &["--set", set]].concat();
    refused(&s, 2, "issue_variable_unknown", &with("versoin=2.0"));
    let bare = s.loopx(&with("version")).fails_with(2);
    assert!(bare.stderr.contains("NAME=VALUE"), "{bare}");
    s.loopx(&["issue", "create", "X", "--set", "version=2.0"])
        .fails_with(2);
    let id = create(&s, &["--template", "release", "--set", "version=2.0"]);
    let issue = show(&s, &id);
    assert_eq!(
        (&issue["title"], &issue["milestone"], &issue["description"]),
        (&json!("Release 2.0"), &json!("2.0"), &json!("Cut 2.0.\n"))
    );
    assert_eq!(issue["criteria"][0]["text"], "2.0 is on main");
}

#[test]
fn an_issue_waits_for_what_is_outside_of_the_backlog() {
    let s = backlog();
    s.git(&["switch", "--quiet", "-c", "topic"]).ok();
    s.commit_file("new.txt", "new\n", "new").ok();
    s.git(&["switch", "--quiet", "main"]).ok();
    let id = create(&s, &["One", "--until", "merged=topic@main"]);
    for args in [
        ["issue", "take", &id].as_slice(),
        &["start", "--quick", "--issue", &id],
    ] {
        let said = refused(&s, 1, "issue_blocked", args);
        assert!(
            said.contains("topic on main: the branch does not have it"),
            "{said}"
        );
    }
    refused(&s, 5, "issue_none_ready", &["issue", "take"]);
    let shown = show(&s, &id);
    assert_eq!(
        (&shown["waits"][0]["for"], &shown["waits"][0]["contains"]),
        (&json!("world"), &json!("topic"))
    );
    s.git(&["merge", "--quiet", "--no-edit", "topic"]).ok();
    s.loopx(&["issue", "take", &id]).ok();
    // What is not there does not hold, and whoever knows better says so.
    let path = create(&s, &["Two", "--until", "path=docs/x.md@main"]);
    let stage = create(&s, &["Three", "--until", "session=none@review"]);
    let out = s.loopx(&["issue", "list"]).ok();
    assert!(out.contains("there is no such session here"), "{out}");
    s.loopx(&["issue", "take", &path]).fails_with(1);
    let gone = ["issue", "edit", &path, "--no-until", "path=docs/x.md@main"];
    s.loopx(&gone).ok();
    s.loopx(&["issue", "take", &path]).ok();
    for wrong in ["soon", "merged=v1", "session=none@soon", "path=--all@main"] {
        s.loopx(&["issue", "edit", &stage, "--until", wrong])
            .fails_with(2);
    }
    // Another repository hears of it, too.
    let other = backlog();
    other.write("all.jsonl", s.loopx(&["issue", "export"]).ok());
    other.loopx(&["issue", "import", "all.jsonl"]).ok();
    assert_eq!(show(&other, &stage)["until"], show(&s, &stage)["until"]);
    s.loopx(&["fsck"]).ok();
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
        .env("GIT_AUTHOR_NAME", "Bob")
        .env("GIT_AUTHOR_EMAIL", "bob@example.org")
        .env("GIT_COMMITTER_EMAIL", "bob@example.org")
        .args(&["issue", "take", &two])
        .run()
        .ok();
    s.loopx(&["issue", "release", &one]).ok();
    let three = create(&s, &["Three"]);
    s.loopx(&["issue", "take", &three]).ok();
}

#[test]
fn no_label_and_no_person_has_more_in_hand_than_policy_lets_it_have() {
    let s = backlog();
    let policy = "[backlog]\nwip = 1\nlimits = { ui = 1, \"@ADA@example.org\" = 2 }\n";
    s.commit_file("loopx.toml", policy, "policy").ok();
    let one = create(&s, &["One", "-l", "ui"]);
    let two = create(&s, &["Two", "-l", "ui", "-p", "0"]);
    let three = create(&s, &["Three"]);
    let four = create(&s, &["Four"]);
    s.loopx(&["issue", "take", &one]).ok();
    let said = refused(&s, 1, "issue_wip_reached", &["issue", "take", &two]);
    assert!(
        said.contains("labelled ui") && said.contains(&one),
        "{said}"
    );
    let start = ["start", "--quick", "--issue", &two];
    refused(&s, 1, "issue_wip_reached", &start);
    // Whoever has it: a label has no hands of its own.
    let bob = s
        .call(LOOPX)
        .env("GIT_AUTHOR_NAME", "Bob")
        .env("GIT_AUTHOR_EMAIL", "bob@example.org")
        .env("GIT_COMMITTER_EMAIL", "bob@example.org");
    bob.args(&["issue", "take", &two]).run().fails_with(1);
    let shown = s.loopx(&["--json", "issue", "show", &two]).json();
    assert_eq!(shown["lacks"], json!(["room for ui"]));
    let taken = s.loopx(&["--json", "issue", "take"]).json();
    assert_eq!(taken["issue"]["id"], json!(three), "{taken}");
    let said = refused(&s, 1, "issue_wip_reached", &["issue", "take", &four]);
    assert!(said.contains("you have 2"), "{said}");
    s.loopx(&["issue", "release", &one]).ok();
    s.loopx(&["issue", "take", &two]).ok();
    // A session that goes on is in hand, too, and needs no claim for that.
    s.loopx(&["issue", "release", &three]).ok();
    s.git(&["switch", "--quiet", "-c", "work"]).ok();
    s.loopx(&["start", "--quick", "--issue", &three]).ok();
    let said = refused(&s, 1, "issue_wip_reached", &["issue", "take", &four]);
    assert!(said.contains(&three) && said.contains(&two), "{said}");
}

#[test]
fn a_status_follows_only_those_that_policy_names() {
    let s = backlog();
    let follows = |resolved: &str| {
        let policy = format!(
            "[backlog.follows]\nin_progress = [\"planned\", \"queued\"]\nresolved = [\"{resolved}\"]\n"
        );
        s.commit_file("loopx.toml", &policy, "policy").ok();
    };
    follows("in_progress");
    let id = create(&s, &["One"]);
    let resolve = ["issue", "resolve", &id, "--reason", "tried"];
    for args in [
        ["issue", "take", &id].as_slice(),
        &["issue", "take"],
        &["start", "--quick", "--issue", &id],
        &resolve,
    ] {
        let out = s.loopx(&[&["--json"], args].concat()).fails_with(1);
        let error = out.error_json()["error"].take();
        assert_eq!(error["code"], "issue_not_next", "{args:?}: {error}");
        let help = error["help"].to_string();
        assert!(help.contains("issue solution add"), "{args:?}: {help}");
    }
    let listed = s.loopx(&["--json", "issue", "list"]).json();
    assert_eq!(listed["issues"][0]["lacks"], json!(["planned"]));
    let next = listed["next_action"].to_string();
    assert!(next.contains("issue solution add"), "{next}");
    s.loopx(&["issue", "solution", "add", &id, "So"]).ok();
    s.loopx(&["issue", "solution", "bind", &id]).ok();
    let out = s.loopx(&resolve).fails_with(1);
    assert!(out.stderr.contains("issue take"), "{out}");
    // What is given back goes where it was, and what is taken back, too.
    for verb in ["take", "release", "take"] {
        s.loopx(&["issue", verb, &id]).ok();
    }
    s.loopx(&resolve).ok();
    s.loopx(&["issue", "undo", &id]).ok();
    follows("queued");
    refused(&s, 1, "issue_not_next", &["issue", "redo", &id]);
    follows("in_progress");
    s.loopx(&["issue", "redo", &id]).ok();
    s.loopx(&["issue", "reopen", &id]).ok();
    s.loopx(&["fsck"]).ok();
}

#[test]
fn nobody_begins_an_issue_that_lacks_what_policy_asks_for() {
    let s = backlog();
    let bare = create(&s, &["Bare", "-p", "0"]);
    let full = create(&s, &["Full", "--criterion", "it holds", "--estimate", "2h"]);
    s.commit_file(
        "loopx.toml",
        "[backlog]\ntake = [\"criteria\", \"estimate\"]\n",
        "policy",
    )
    .ok();
    let out = s.loopx(&["--json", "issue", "take", &bare]).fails_with(1);
    let error = out.error_json()["error"].take();
    assert_eq!(error["code"], "issue_lacks");
    let said = error["message"].as_str().expect("a message");
    assert!(said.contains(&bare) && said.contains("2 things"), "{said}");
    assert_eq!(
        error["blockers"].as_array().map(Vec::len),
        Some(2),
        "{error}"
    );
    refused(
        &s,
        1,
        "issue_lacks",
        &["start", "--issue", &bare, "--quick"],
    );
    // No view leads to a `take` that is refused.
    for view in ["list", "ready", "board"] {
        let shown = s.loopx(&["--json", "issue", view]).json();
        let next = shown["next_action"].as_str().expect("a command");
        let id = next.strip_prefix("git loopx issue take ");
        assert!(
            id.is_some_and(|id| full.starts_with(id)),
            "{view} leads to {next}"
        );
    }
    let shown = s.loopx(&["--json", "issue", "show", &bare]).json();
    assert_eq!(
        (&shown["lacks"], &shown["ready"]),
        (&json!(["criteria", "estimate"]), &json!(false))
    );
    let next = shown["next_action"].as_str().expect("a command");
    assert!(next.contains("--criterion"), "{next}");
    let ready = s.loopx(&["--json", "issue", "ready"]).json();
    assert_eq!(ready["issues"].as_array().map(Vec::len), Some(1), "{ready}");
    // Whoever asks for the next one gets one that has it all.
    let taken = s.loopx(&["--json", "issue", "take"]).json();
    assert_eq!(taken["issue"]["id"], json!(full), "{taken}");
    refused(&s, 1, "issue_lacks", &["issue", "take"]);
    for view in ["list", "board"] {
        let shown = s.loopx(&["--json", "issue", view]).json();
        let next = shown["next_action"].as_str().expect("a command");
        assert!(next.contains("--criterion"), "{view} leads to {next}");
    }
    s.loopx(&[
        "issue",
        "edit",
        &bare,
        "--criterion",
        "it holds",
        "--estimate",
        "1h",
    ])
    .ok();
    s.loopx(&["issue", "take", &bare]).ok();
}

#[test]
fn nobodys_word_resolves_an_issue_against_policy() {
    let s = backlog();
    let id = create(&s, &["One"]);
    let resolve = ["issue", "resolve", &id, "--reason", "tried"];
    s.commit_file(
        "loopx.toml",
        "[backlog]\nresolve = [\"criteria\", \"comment\"]\n",
        "policy",
    )
    .ok();
    let said = refused(&s, 1, "issue_lacks", &resolve);
    assert!(said.contains("2 things"), "{said}");
    s.loopx(&["issue", "edit", &id, "--criterion", "it holds"])
        .ok();
    s.loopx(&["issue", "tick", &id, "1"]).ok();
    s.loopx(&["issue", "comment", &id, "seen"]).ok();
    s.commit_file(
        "loopx.toml",
        "[backlog]\nresolve = [\"session\", \"session\"]\n",
        "policy",
    )
    .ok();
    let out = s.loopx(&resolve).fails_with(1);
    assert!(out.stderr.contains("start --issue"), "{out}");
    assert_eq!(
        out.stderr.matches("the archive of a session").count(),
        1,
        "{out}"
    );
    s.commit_file(
        "loopx.toml",
        "[backlog]\nresolve = [\"criteria\", \"comment\"]\n",
        "policy",
    )
    .ok();
    s.loopx(&resolve).ok();
    // Nobody brings such a word back past a policy that came since.
    s.loopx(&["issue", "undo", &id]).ok();
    s.commit_file(
        "loopx.toml",
        "[backlog]\nresolve = [\"session\"]\n",
        "policy",
    )
    .ok();
    refused(&s, 1, "issue_lacks", &["issue", "redo", &id]);
    // What will not be done needs a reason, and nothing else.
    let other = create(&s, &["Other"]);
    s.loopx(&["issue", "close", &other, "--reason", "no"]).ok();
}

#[test]
fn a_sync_says_who_took_too_many_apart_and_loses_none() {
    let (all, ids) = two(&["One", "Two"]);
    let label = ["issue", "edit", &ids[0], &ids[1], "-l", "ui"];
    all.loopx(0, &label).ok();
    all.sync(0).ok();
    all.sync(1).ok();
    for at in [0, 1] {
        let top = all.dir(at);
        let policy = "[backlog]\nwip = 1\nlimits = { ui = 1 }\n";
        std::fs::write(top.join("loopx.toml"), policy).expect("a file");
        all.git(at, &["add", "loopx.toml"]).ok();
        all.git(at, &["commit", "--quiet", "-m", "policy"]).ok();
    }
    // One person, in two clones.
    for at in [0, 1] {
        let call = all.call(at).args(&["issue", "take", &ids[at]]);
        call.env("GIT_AUTHOR_EMAIL", "ada@example.org").run().ok();
    }
    all.sync(0).ok();
    let out = all.loopx(1, &["--json", "sync"]).json();
    assert_eq!(
        out["over_limit"][0]["issues"].as_array().map(Vec::len),
        Some(2),
        "{out}"
    );
    assert_eq!(out["over_limit"][0]["wip"], json!(1));
    assert_eq!(
        (&out["over_limit"][1]["label"], &out["over_limit"][1]["wip"]),
        (&json!("ui"), &json!(1))
    );
    for id in &ids {
        let shown = all.loopx(1, &["--json", "issue", "show", id]).json();
        assert_eq!(shown["status"], "in_progress", "{shown}");
    }
}

#[test]
fn a_person_of_two_addresses_has_one_limit() {
    for (name, email) in [
        ("Somebody", "ADA@Example.org"),
        ("Ada Example", "ada@home.example"),
    ] {
        let s = backlog();
        let policy = "[backlog]\nlimits = { \"@ada@example.org\" = 1 }\n";
        s.commit_file("loopx.toml", policy, "policy").ok();
        let [one, two] = ["One", "Two"].map(|title| create(&s, &[title]));
        let as_ada = |name: &str, email: &str, args: &[&str]| {
            let call = s.call(LOOPX).env("GIT_AUTHOR_NAME", name);
            call.env("GIT_AUTHOR_EMAIL", email).args(args).run()
        };
        let first = ["issue", "take", &one];
        as_ada("Ada Example", "ada@example.org", &first).ok();
        let second = ["--json", "issue", "take", &two];
        let held = as_ada(name, email, &second).fails_with(1);
        let said = held.error_json();
        assert_eq!(
            said["error"]["code"], "issue_wip_reached",
            "{email}: {said}"
        );
    }
}
