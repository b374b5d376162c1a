//! Evidence is a set by tree (design 4): a pass stays a pass for its tree, and only a later failure of the same
//! check on the same tree replaces it.

use crate::support::drive::{Drive, RECORD, RITA, SLICES, codes};
use serde_json::json;

const APPROVE: [&str; 2] = ["--verdict", "approve"];
const MISSING: &str = "completion_audit_missing_evidence";

/// A session in build, where what verifies the slice is this command.
fn building(check: &str) -> Drive {
    Drive::once(format!("{check:?}"), || {
        let d = Drive::planning();
        d.edit("change/slices.json", &SLICES.replace("[\"true\"]", check));
        d.review_plan();
        d.does(&["approve", "--to", "build"]);
        d.does(&["build"]);
        d
    })
}

#[test]
fn u1_a_pass_holds_whatever_ran_on_another_tree() {
    let d = building("[\"grep\", \"-q\", \"end\", \"src/demo.txt\"]");
    d.commit_code("an end\n");
    d.finish_build();
    d.does(&["approve", "--to", "review"]);
    d.does(&["review"]);
    d.write("src/demo.txt", "broken\n");
    d.blocked_run(&["run", "--task", "VS-1"]);
    d.write("src/demo.txt", "an end\n");
    assert_eq!(d.status()["audit"][1]["proof"], "passed");
    let given = d.verdict(&APPROVE);
    assert_eq!(given["judgement"]["outcome"], "approve");
    d.does(&["approve", "--to", "done"]);
}

#[test]
fn u1_an_approval_without_evidence_is_refused_and_names_the_run() {
    let d = Drive::reviewing();
    d.commit_code("another end\n");
    let refusal = d
        .fails_as(1, |d| d.verdict_by(RITA, &APPROVE))
        .is(MISSING, &[MISSING])
        .names("VS-1 has to run again");
    // The reviewer has not agreed to run the check of the plan.
    let run = "git loopx run --task VS-1 --trust";
    assert!(refusal.help.ends_with(run), "{}", refusal.help);
    d.does(&["run", "--task", "VS-1"]);
    assert_eq!(d.verdict(&APPROVE)["judgement"]["outcome"], "approve");
    // A run that fails after the verdict holds the gate, and changes nobody's word.
    let d = building("[\"sh\", \"-c\", \"test ! -e .git/broken\"]");
    d.commit_code("an end\n");
    d.finish_build();
    d.does(&["approve", "--to", "review"]);
    d.does(&["review"]);
    d.verdict(&APPROVE);
    d.write(".git/broken", "");
    d.blocked_run(&["run", "--task", "VS-1"]);
    assert_eq!(codes(&d.gate("done")["blockers"]), [MISSING]);
    assert_eq!(d.status()["review"]["judgement"]["outcome"], "approve");
    std::fs::remove_file(d.path().join(".git/broken")).expect("a file");
    d.does(&["run", "--task", "VS-1"]);
    d.does(&["approve", "--to", "done"]);
}

#[test]
fn u2_a_run_that_is_no_check_holds_nothing() {
    let d = Drive::built();
    d.blocked_run(&["run", "--", "false"]);
    d.blocked_run(&["run", "--kind", "lint", "--", "./is-not-there"]);
    d.fails(2, &["run", "--task", "VS-1", "--", "false"])
        .is("check_has_command", &[]);
    let status = d.status();
    assert_eq!(status["blockers"], json!([]));
    assert_eq!(status["next_action"], "git loopx approve --to review");
    d.does(&["approve", "--to", "review"]);
}

#[test]
fn u2_a_check_that_failed_is_left_by_its_own_run() {
    let d = building("[\"sh\", \"-c\", \"test ! -e .git/broken\"]");
    d.write(".git/broken", "");
    d.edit("execution-record.md", RECORD);
    d.does(&["build", "--report", "execution=complete"]);
    d.blocked_run(&["run", "--task", "VS-1"]);
    let status = d.status();
    assert_eq!(codes(&status["blockers"]), ["verification_failed"]);
    let advice = status["advice"].as_str().expect("advice");
    assert!(
        advice.contains("mend it, then: git loopx run --task VS-1"),
        "{advice}"
    );
    std::fs::remove_file(d.path().join(".git/broken")).expect("a file");
    d.does(&["run", "--task", "VS-1"]);
    assert_eq!(d.status()["blockers"], json!([]));
}

#[test]
fn u18_a_run_of_another_command_beside_the_check_is_refused() {
    let d = Drive::building();
    let out = d.loopx(&["run", "--task", "VS-1", "--", "echo", "fine"]);
    out.says("is no evidence for it")
        .says("git loopx run --task VS-1")
        .fails_with(2);
    assert_eq!(d.does(&["run", "--task", "VS-1"])["is_check"], true);
}

#[test]
fn u4_a_check_that_writes_a_file_is_told_which() {
    let d = building("[\"sh\", \"-c\", \"date +%N%s >>out.log\"]");
    d.edit("execution-record.md", RECORD);
    d.does(&["build", "--report", "execution=complete"]);
    let ran = d.loopx(&["run", "--task", "VS-1"]);
    ran.says("changed the worktree (out.log)").ok();
    let blocker = d.status()["blockers"][0].clone();
    assert_eq!(
        blocker["message"],
        "checks without evidence for the present code: VS-1 changed out.log while it ran, so the run is no evidence, \
         verification has to run again"
    );
    let help = blocker["help"].as_str().expect("help");
    assert_eq!(
        help,
        "let git ignore out.log, or commit it, then: git loopx run --task VS-1"
    );
    d.write(".git/info/exclude", "/.loopx/\n*.log\n");
    d.does(&["run", "--task", "VS-1"]);
    assert_eq!(d.status()["blockers"], json!([]));
}

#[test]
fn q27_u4_an_untracked_file_after_the_verdict_is_named_with_the_command_that_leads_on() {
    let d = Drive::reviewed();
    d.write("untracked.txt", "x\n");
    let blocker = d.status()["blockers"][0].clone();
    let message = blocker["message"].as_str().expect("a message");
    assert!(
        message.starts_with("not committed, and in no review: untracked.txt ("),
        "{message}"
    );
    let help = blocker["help"].as_str().expect("help").to_owned();
    assert_eq!(
        help,
        "git stash push -m 'put aside for git loopx' --include-untracked -- :/untracked.txt"
    );
    // The verdict is refused for the same file, with the same command.
    let refusal = d.fails_as(1, |d| d.verdict_by(RITA, &APPROVE));
    let refusal = refusal
        .is("worktree_dirty", &[])
        .names("the worktree has uncommitted changes: untracked.txt;");
    assert!(refusal.help.starts_with(&help), "{}", refusal.help);
    let refusal = d.refuses(&["approve", "--to", "done"]);
    assert!(refusal.help.ends_with("-- untracked.txt"), "{refusal:#?}");
    d.call("sh").cwd("src").args(&["-c", &help]).run().ok();
    d.does(&["approve", "--to", "done"]);
}

#[test]
fn q27_a_review_that_begins_names_what_is_not_committed() {
    let d = Drive::building();
    d.commit_code("an end\n");
    d.write("untracked.txt", "x\n");
    d.finish_build();
    d.does(&["approve", "--to", "review"]);
    let refusal = d.refuses(&["review"]);
    let refusal = refusal
        .is("worktree_dirty", &[])
        .names("the worktree has uncommitted changes: untracked.txt;");
    assert!(
        refusal.help.starts_with("git add -- untracked.txt"),
        "{}",
        refusal.help
    );
}
