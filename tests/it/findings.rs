//! Findings travel and hold (first-minutes U6): what a reviewer, an architect or a critic found stays open until
//! somebody answers it.

use crate::support::drive::{Drive, RITA, codes};
use crate::support::{LOOPX, Output};
use serde_json::{Value, json};

const FINDING: &str = "high/tests: src/demo.txt:1: no test";
const APPROVE: [&str; 2] = ["--verdict", "approve"];

fn answer<'a>(number: &'a str, word: &'a str) -> [&'a str; 4] {
    ["review", "--answer", number, word]
}

/// Sent back to build with one finding that blocks, and reviewed again with the same code.
fn sent_back() -> Drive {
    Drive::once("", || {
        let d = Drive::reviewing();
        d.verdict(&[
            "--verdict",
            "changes",
            "--finding",
            FINDING,
            "--finding",
            "low: a long name",
        ]);
        d.does(&["approve", "--to", "build"]);
        d.does(&["build", "--from-review"]);
        d
    })
}

fn review_again(d: &Drive) {
    d.does(&["build", "--report", "execution=complete"]);
    d.does(&["run", "--task", "VS-1"]);
    d.does(&["approve", "--to", "review"]);
    d.does(&["review"]);
}

#[test]
fn u6_a_finding_that_blocks_holds_done_until_it_is_answered() {
    let d = sent_back();
    let found = d.status()["findings"].clone();
    assert_eq!(found[0]["number"], 1);
    assert_eq!(found[0]["author"], "Rita Reviewer <rita@example.org>");
    assert_eq!(found[0]["file"], "src/demo.txt");
    assert_eq!(
        (&found[0]["line"], &found[0]["dimension"]),
        (&json!(1), &json!("tests"))
    );
    assert_eq!(
        (&found[0]["round"], &found[0]["lane"]),
        (&json!(1), &json!("review"))
    );
    assert_eq!(
        (&found[1]["open"], &found[1]["blocking"]),
        (&json!(true), &json!(false))
    );
    let shown = d.loopx(&["status"]);
    shown
        .says("1  high/tests: src/demo.txt:1: no test  (Rita Reviewer, review 1)")
        .ok();
    // Nothing was mended: it is no way out to say that it was, or to approve.
    review_again(&d);
    d.fails_as(1, |d| d.verdict_by(RITA, &APPROVE))
        .is("finding_open", &["finding_open"]);
    let refusal = d
        .refuses(&answer("1", "fixed"))
        .is("finding_unchanged", &[]);
    assert!(
        refusal
            .help
            .ends_with("review --answer 1 wontfix --reason 'it is meant to be so'"),
        "{refusal:#?}"
    );
    assert_eq!(
        codes(&d.gate("done")["blockers"]),
        ["finding_open", "review_verdict_none"]
    );
    // Mended, it is answered, and the reviewer may say that it is not.
    d.commit_code("an end, and a test\n");
    d.does(&["run", "--task", "VS-1"]);
    assert_eq!(
        d.status()["next_action"],
        "git loopx review --answer 1 fixed"
    );
    let said = d.does(&answer("1", "fixed"));
    assert_eq!(said["findings"][0]["open"], false);
    assert_eq!(said["findings"][0]["answer"]["answer"], "fixed");
    d.by(RITA, &answer("1", "open")).ok();
    d.fails_as(1, |d| d.verdict_by(RITA, &APPROVE))
        .is("finding_open", &["finding_open"]);
    d.does(&answer("1", "fixed"));
    d.verdict(&APPROVE);
    d.does(&["approve", "--to", "done"]);
    assert_eq!(d.does(&["fsck"])["damages"], json!([]));
}

#[test]
fn u6_what_stays_as_it_is_needs_a_reason_and_where_policy_says_so_somebody_else() {
    let d = sent_back();
    d.fails(2, &answer("1", "wontfix"))
        .is("reason_required", &[]);
    d.fails(4, &answer("3", "fixed"))
        .is("finding_unknown", &[])
        .names("1 to 2");
    d.fails(2, &answer("1", "mended")).is("word_unknown", &[]);
    d.fails(2, &answer("one", "open"))
        .is("finding_invalid", &[]);
    let both = [
        &answer("1", "wontfix")[..],
        &["--answer", "2", "wontfix", "--reason", "a toy"],
    ];
    let said = d.does(&both.concat());
    assert_eq!(said["findings"][1]["answer"]["reason"], "a toy");
    // One command, one event; `undo` takes it back.
    assert_eq!(
        d.events().iter().filter(|kind| *kind == "answered").count(),
        1
    );
    d.does(&["undo"]);
    assert_eq!(d.status()["findings"][0]["open"], true);
    let d = Drive::reviewing_under("[review]\nindependence = \"require\"\n");
    d.verdict(&["--verdict", "changes", "--finding", FINDING]);
    let leave = [&answer("1", "wontfix")[..], &["--reason", "a toy"]].concat();
    d.refuses(&leave).is("reviewer_not_independent", &[]);
    d.by(RITA, &leave).ok();
    assert_eq!(d.status()["findings"][0]["open"], false);
}

#[test]
fn u6_findings_of_architect_and_critic_hold_the_build_and_reach_the_next_draft() {
    let d = Drive::planning();
    d.refuses(&[
        "plan",
        "--architect",
        "approve",
        "--finding",
        "high: no way back",
    ])
    .is("verdict_contradicts_finding", &[]);
    d.does(&["plan", "--architect", "approve"]);
    let critic = [
        "plan",
        "--critic",
        "iterate",
        "--finding",
        "high: no way back",
        "--finding",
        "short",
    ];
    d.does(&critic);
    let drafted = d.loopx(&["plan"]);
    drafted
        .says("finding 1, critic on draft 1: high: no way back")
        .says("finding 2")
        .ok();
    let told = d.loopx(&["plan", "--architect", "approve"]);
    told.says("finding 1, critic on draft 1: high: no way back")
        .ok();
    d.does(&["plan", "--critic", "approve"]);
    d.refuses(&["approve", "--to", "build"])
        .is("plan_review_gate_blocked", &["finding_open"]);
    d.refuses(&answer("1", "fixed"))
        .is("finding_unchanged", &[]);
    d.change(
        "plan.md",
        "One small step.",
        "One small step, and a way back.",
    );
    d.does(&answer("1", "fixed"));
    d.review_plan();
    d.does(&["approve", "--to", "build"]);
    let found: Value = d.status()["findings"].clone();
    assert_eq!(
        (&found[1]["lane"], &found[1]["severity"]),
        (&json!("critic"), &json!("medium"))
    );
}

/// A clone that has the sessions, and its own person.
fn clone(d: &Drive) {
    d.git(&["clone", "--quiet", "--bare", ".", "../remote.git"])
        .ok();
    let remote = d.root().join("remote.git");
    d.git(&["remote", "add", "origin", remote.to_str().expect("UTF-8")])
        .ok();
    d.loopx(&["sync", "origin"]).ok();
    d.git(&[
        "clone",
        "--quiet",
        "--branch",
        "demo",
        "../remote.git",
        "../other",
    ])
    .ok();
    there(d, &["sync", "origin"]).ok();
}

/// Runs a command as Rita in the other clone.
fn there(d: &Drive, args: &[&str]) -> Output {
    d.call(LOOPX)
        .cwd(d.root().join("other"))
        .args(args)
        .env("GIT_AUTHOR_NAME", RITA.0)
        .env("GIT_AUTHOR_EMAIL", RITA.1)
        .env("GIT_COMMITTER_NAME", RITA.0)
        .env("GIT_COMMITTER_EMAIL", RITA.1)
        .run()
}

#[test]
fn u6_two_clones_that_answer_apart_leave_a_finding_open() {
    let d = sent_back();
    d.commit_code("an end, and a test\n");
    clone(&d);
    d.does(&answer("1", "fixed"));
    there(&d, &answer("1", "open")).ok();
    d.loopx(&["sync", "origin"]).ok();
    there(&d, &["sync", "origin"]).ok();
    d.loopx(&["sync", "origin"]).ok();
    assert_eq!(d.status()["findings"][0]["open"], true);
    assert_eq!(
        d.status()["findings"][0]["answer"]["by"],
        "Rita Reviewer <rita@example.org>"
    );
    let theirs = there(&d, &["--json", "-s", "demo", "status"]).json();
    assert_eq!(theirs["findings"], d.status()["findings"]);
    // Whoever has seen both says what it is.
    d.does(&answer("1", "fixed"));
    assert_eq!(d.status()["findings"][0]["open"], false);
}

#[test]
fn u7_two_verdicts_that_meet_leave_no_markers_in_the_report() {
    let d = Drive::reviewing();
    clone(&d);
    d.change("review-report.md", "# ", "# Our ");
    d.does(&["review", "--verdict", "approve"]);
    let changes = [
        "-s",
        "demo",
        "review",
        "--verdict",
        "changes",
        "--finding",
        FINDING,
    ];
    there(&d, &changes).ok();
    d.loopx(&["sync", "origin"]).ok();
    there(&d, &["sync", "origin"]).ok();
    d.loopx(&["sync", "origin"]).ok();
    let report = d.loopx(&["cat", "review-report.md"]).ok();
    assert!(!report.contains("<<<<<<<"), "{report}");
    assert!(
        report.contains("Several verdicts were given apart"),
        "{report}"
    );
    let status = d.status();
    assert_eq!(status["review"]["verdict"]["verdict"], "request-changes");
    assert_eq!(status["next_action"], "git loopx approve --to build");
    assert_eq!(d.does(&["fsck"])["damages"], json!([]));
}

#[test]
fn an_agent_leaves_no_finding_as_it_is_and_a_rejected_review_leads_to_the_mending() {
    let d = sent_back();
    let leave = [&answer("1", "wontfix")[..], &["--reason", "a toy"]].concat();
    let call = d.call(LOOPX).args(&leave).env("CLAUDECODE", "1");
    call.run().fails_with(6).says("claude");
    // Nothing is to be typed before something was mended: what was found is to be read.
    let next = d.status();
    assert!(next["next_action"].is_null(), "{next:#}");
    let advice = next["advice"].as_str().expect("advice");
    assert!(advice.contains("what the review found"), "{advice}");
    d.commit_code("mended");
    let next = d.status()["next_action"].clone();
    assert_eq!(next, "git loopx run --task VS-1");
}

#[test]
fn k28_the_status_of_an_agent_names_no_answer_that_only_a_person_gives() {
    let d = sent_back();
    let helps = |agent: bool| {
        let call = d.call(LOOPX).args(&["--json", "status"]);
        let call = if agent {
            call.env("CLAUDECODE", "1")
        } else {
            call
        };
        let status = call.run().json();
        status["findings"][0]["help"].to_string()
    };
    assert!(helps(false).contains("wontfix"), "{}", helps(false));
    assert!(!helps(true).contains("git loopx"), "{}", helps(true));
}

#[test]
fn k29_a_blocker_leads_to_no_approval_whose_gate_is_not_ready() {
    for (d, command) in [(Drive::building(), "review"), (Drive::started(), "plan")] {
        let out = d.loopx(&["--json", command]).fails_with(1);
        let error = out.error_json()["error"].clone();
        let of_blocker = error["blockers"][0]["help"].to_string();
        assert!(!of_blocker.contains("approve --to"), "{command}: {error:#}");
        assert_eq!(error["blockers"][0]["help"], error["help"], "{command}");
    }
}
