//! The next step over the whole way, as `standard` and `deep` go it: rules that hold on behind their stage, who builds
//! and who reviews, what a review is about, and how somebody gets out of each place.

use crate::support::drive::{Drive, RECORD, RITA, codes};
use crate::support::{LOOPX, Output, Sandbox};
use serde_json::Value;

/// The next command, empty where a person writes something.
fn next(d: &Drive) -> String {
    let status = d.status();
    status["next_action"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

fn advice(d: &Drive) -> String {
    d.status()["advice"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn what_was_clear_enough_for_the_plan_has_to_stay_clear_while_it_is_written() {
    let d = Drive::planned();
    d.change("spec.md", "ambiguity_score: 0.1", "ambiguity_score: 0.9");
    d.does(&["save"]);
    let blockers = codes(&d.gate("build")["blockers"]);
    let unclear = "clarify_ambiguity_score_above_threshold";
    assert!(blockers.contains(&unclear.to_owned()), "{blockers:?}");
    assert_eq!(next(&d), "git loopx edit spec.md");
    d.review_plan();
    d.refuses(&["approve", "--to", "build"])
        .is("plan_review_gate_blocked", &[unclear]);
    d.change("spec.md", "ambiguity_score: 0.9", "ambiguity_score: 0.1");
    d.review_plan();
    d.does(&["approve", "--to", "build"]);
}

#[test]
fn whoever_approves_the_plan_of_somebody_else_is_not_led_into_its_build() {
    let d = Drive::planned();
    assert_eq!(next(&d), "git loopx approve --enter");
    assert_eq!(d.by(RITA, &["next"]).ok(), "git loopx approve --to build\n");
    d.by(RITA, &["approve"]).ok();
    insta::assert_snapshot!(d.by(RITA, &["next"]).steady(), @"
    $ git-loopx next
    --- stderr
    error: no command is next: session demo waits for Ada Author (the build)

    hint: whoever enters the build becomes its builder and is no independent reviewer afterwards; to build yourself: git loopx build
    --- exit 6
    ");
    assert_eq!(next(&d), "git loopx build");
}

#[test]
fn a_plan_is_read_before_it_is_approved() {
    let d = Drive::planning();
    assert_eq!(next(&d), "git loopx plan --architect approve");
    assert!(advice(&d).contains("git loopx plan --architect iterate --finding"));
}

/// Rita's finding about the plan, which went back there.
fn sent_back_to_plan() -> Drive {
    Drive::once("", || {
        let d = Drive::reviewing();
        let found = "high: plan.md: the limit is missing";
        let back = [
            "--verdict",
            "changes",
            "--target",
            "plan",
            "--finding",
            found,
        ];
        d.verdict(&[&back[..], &["--reason", "it has no limit"]].concat());
        d.does(&["approve", "--to", "plan"]);
        d.does(&["plan"]);
        d
    })
}

/// Comes forward to the review once more.
fn comes_forward(d: &Drive) {
    d.review_plan();
    d.does(&["approve", "--enter"]);
    d.finish_build();
    d.does(&["approve", "--to", "review"]);
    d.does(&["review"]);
}

#[test]
fn a_finding_about_a_document_is_answered_once_the_document_has_changed() {
    let d = sent_back_to_plan();
    d.change(
        "plan.md",
        "One small step.",
        "One small step, within a limit.",
    );
    comes_forward(&d);
    let shown = d.loopx(&["review", "--show"]).ok();
    assert!(!shown.contains("nothing changed since"), "{shown}");
    assert_eq!(next(&d), "git loopx review --answer 1 fixed");
    d.does(&["review", "--answer", "1", "fixed"]);
    assert_eq!(next(&d), "git loopx review --verdict approve");
}

#[test]
fn a_finding_about_a_document_stays_open_where_nothing_changed() {
    let d = sent_back_to_plan();
    comes_forward(&d);
    d.refuses(&["review", "--answer", "1", "fixed"])
        .is("finding_unchanged", &[]);
}

#[test]
fn what_is_said_to_be_partial_is_sent_back_and_the_record_alone_leads_forward_again() {
    let d = Drive::built();
    let partial = RECORD.replace("remaining_scope: []", "remaining_scope: [the docs]");
    d.edit("execution-record.md", &partial);
    d.does(&["build"]);
    d.does(&["approve", "--to", "review"]);
    d.does(&["review"]);
    let back = next(&d);
    assert!(
        back.starts_with("git loopx review --verdict request-changes --target build"),
        "{back}"
    );
    d.call("sh").args(&["-c", &back]).run().ok();
    d.does(&["approve", "--to", "build", "--enter"]);
    assert!(
        advice(&d).contains("fix on branch demo what the review found; to read the findings: ")
    );
    d.edit("execution-record.md", RECORD);
    d.does(&["save"]);
    assert_eq!(next(&d), "git loopx run --task VS-1");
}

#[test]
fn a_check_that_failed_on_this_code_is_mended_and_not_proposed_again() {
    let s = Sandbox::new();
    s.commit_file("src/a", "one\n", "First").ok();
    s.loopx(&["init"]).ok();
    s.git(&["switch", "--quiet", "-c", "work"]).ok();
    s.loopx(&["start", "--quick", "it"]).ok();
    let brief = "# It\n\n## Why\n\nIt breaks.\n\n## Checks\n\n- `sh -c '! grep -q broken src/a'`\n";
    s.write(".loopx/it/brief.md", brief);
    s.commit_file("src/a", "broken\n", "Two").ok();
    s.loopx(&["run"]).fails_with(1);
    let led = s.loopx(&["next"]).fails_with(6);
    insta::assert_snapshot!(led.steady(), @"
    $ git-loopx next
    --- stderr
    error: no command is next for session it: you have to do the next step yourself

    hint: check-1 failed on this code: mend it, then: git loopx run --task check-1  (what it printed: git loopx show --run 0000000000000000000000000000000000000000)
    --- exit 6
    ");
    s.commit_file("src/a", "whole\n", "Three").ok();
    let led = s.loopx(&["next"]).ok();
    assert_eq!(led.trim(), "git loopx run --task check-1");
}

#[test]
fn a_reviewer_without_the_code_is_sent_to_fetch_it_and_judges_nothing() {
    let d = Drive::building();
    let remote = d.root().join("remote.git");
    let remote = remote.to_str().expect("UTF-8").to_owned();
    d.git(&["clone", "--quiet", "--bare", ".", &remote]).ok();
    d.git(&["remote", "add", "origin", &remote]).ok();
    d.git(&["clone", "--quiet", "--branch", "demo", &remote, "../other"])
        .ok();
    there(&d, &["init"]).ok();
    d.commit_code("an end\n");
    d.finish_build();
    d.does(&["approve", "--to", "review"]);
    d.does(&["review"]);
    d.loopx(&["sync", "origin"]).ok();
    there(&d, &["sync", "origin"]).ok();
    let led = there(&d, &["-s", "demo", "next"]).fails_with(6);
    insta::assert_snapshot!(led.steady(), @"
    $ git-loopx -s demo next
    --- stderr
    error: no command is next for session demo: you have to do the next step yourself

    hint: the code that the review is about is not here: git fetch origin  (where that brings nothing, its builder has to push demo)
    --- exit 6
    ");
    d.git(&["push", "--quiet", "origin", "demo"]).ok();
    d.git(&["-C", "../other", "fetch", "--quiet", "origin"])
        .ok();
    let merge = there(&d, &["-s", "demo", "next"]).ok();
    assert_eq!(merge.trim(), "git merge --ff-only origin/demo");
}

/// Runs a command as Rita in the other clone.
fn there(d: &Drive, args: &[&str]) -> Output {
    let call = d.call(LOOPX).cwd(d.root().join("other")).args(args);
    let call = call
        .env("GIT_AUTHOR_NAME", RITA.0)
        .env("GIT_AUTHOR_EMAIL", RITA.1);
    call.env("GIT_COMMITTER_NAME", RITA.0)
        .env("GIT_COMMITTER_EMAIL", RITA.1)
        .run()
}

#[test]
fn a_refused_verdict_gives_back_everything_that_was_typed() {
    let d = Drive::reviewing();
    let found = "high: spec.md: letters or bytes?";
    let is_led = |typed: &[&str], code: &str, words: &str| {
        let refusal = d.refuses(&[&["review", "--verdict"], typed].concat());
        assert_eq!(refusal.code, code);
        assert!(refusal.help.contains(words), "{refusal:#?}");
    };
    is_led(
        &["changes", "--target", "clarify", "--finding", found],
        "rollback_rationale_required",
        "--target clarify --finding 'high: spec.md: letters or bytes?' --reason",
    );
    is_led(
        &["changes", "--architecture", "block"],
        "rollback_rationale_required",
        "--target plan --architecture block --reason",
    );
    is_led(
        &["approve", "--finding", found],
        "verdict_contradicts_finding",
        "--target build --finding 'high: spec.md: letters or bytes?' --reason",
    );
    let d = Drive::planning();
    let found = ["--finding", "high: plan.md: empty"];
    let refusal = d.refuses(&[&["plan", "--critic", "approve"][..], &found].concat());
    let words = "--critic iterate --finding 'high: plan.md: empty'";
    assert!(refusal.help.contains(words), "{refusal:#?}");
}

#[test]
fn what_was_archived_is_led_to_its_target_where_no_remote_stands_between() {
    let d = Drive::done();
    d.does(&["archive"]);
    assert_eq!(next(&d), "git switch main");
    assert!(advice(&d).contains("main does not have the change yet; on main, run: git merge demo"));
    d.git(&["switch", "--quiet", "main"]).ok();
    assert_eq!(next_of(&d), "git merge demo");
    d.git(&["merge", "--quiet", "demo"]).ok();
    assert_eq!(next_of(&d), "");
}

fn next_of(d: &Drive) -> String {
    let status: Value = d.does(&["-s", "demo", "status"]);
    status["next_action"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

#[test]
fn a_file_in_which_nobody_wrote_anything_is_not_called_written() {
    let d = Drive::reviewing();
    let status = d.loopx(&["status"]);
    status.says("review-report.md  not filled in; no gate needs it");
}

#[test]
fn documents_come_before_those_that_build_on_them() {
    let d = Drive::clarified();
    d.does(&["approve", "--to", "plan"]);
    d.does(&["plan"]);
    let mut order = Vec::new();
    let full = Drive::planning();
    for _ in 0..12 {
        let next = next(&d);
        let Some(file) = next.strip_prefix("git loopx edit ") else {
            break;
        };
        order.push(file.to_owned());
        d.edit(file, &full.artifact(file));
    }
    let at = |name: &str| order.iter().position(|one| one.contains(name));
    assert!(at("spec-delta.md") < at("design.md"), "{order:?}");
    assert!(at("design.md") < at("tasks.md"), "{order:?}");
}
