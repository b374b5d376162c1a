//! Findings of a hostile review: each road that was open, held shut.

use crate::support::drive::Drive;
use crate::support::store::tamper;

#[test]
fn a_slice_id_cannot_carry_a_command() {
    for id in ["x; touch pwned #", "a b", "../x", "$(id)", "-x", "a\\nb"] {
        let d = Drive::planning();
        let slices = format!(
            r#"[{{"id":"{id}","type":"AFK","behaviour":"b","acceptance_criteria":["a"],"verification":["true"]}}]"#
        );
        d.edit("change/slices.json", &slices);
        d.refuses(&["save"])
            .is("artifact_invalid", &["vertical_slices_invalid"]);
        // And following the hint of status leads to the editor, not round in circles.
        assert_eq!(
            d.status()["next_action"],
            "git loopx edit change/slices.json"
        );
    }
}

#[test]
fn code_that_came_after_the_review_is_not_archived() {
    let d = Drive::done();
    d.write("src/demo.txt", "sneaky\n");
    d.git(&["commit", "--quiet", "--no-verify", "-a", "-m", "sneaky"])
        .ok();
    assert_eq!(d.status()["next_action"], "git loopx undo");
    d.refuses(&["archive"])
        .is("archive_unreviewed", &["review_stale"]);
    d.refuses(&["archive", "--dry-run"])
        .is("archive_unreviewed", &["review_stale"]);
    d.does(&["undo"]);
    assert_eq!(d.stage(), "review");
}

#[test]
fn a_state_that_its_operations_do_not_give_archives_nothing() {
    let d = Drive::clarified();
    let state = d.git(&["show", "loopx:sessions/demo/state.json"]).ok();
    tamper(
        &d,
        "sessions/demo/state.json",
        Some(
            state
                .replace("\"stage\": \"clarify\"", "\"stage\": \"done\"")
                .as_bytes(),
        ),
    );
    assert_eq!(d.fails(70, &["archive"]).code, "record_damaged");
    d.loopx(&["fsck"]).fails_with(1);
    d.loopx(&["fsck", "--repair"]).ok();
    assert_eq!(d.stage(), "clarify");
}

#[test]
fn verify_takes_no_state_that_was_undone_or_forged() {
    let d = Drive::building();
    let built = d.tip();
    d.does(&["undo"]);
    d.does(&["undo"]);
    d.write("src/demo.txt", "evil\n");
    let message = format!("evil\n\nLoopx-Session: demo\nLoopx-State: {built}\n");
    d.git(&["commit", "--quiet", "--no-verify", "-a", "-m", &message])
        .ok();
    let found = d
        .loopx(&["--json", "verify", "main..HEAD"])
        .fails_with(1)
        .json();
    assert_eq!(found["findings"][0]["severity"], "error", "{found}");
}

#[test]
fn one_session_that_cannot_be_computed_keeps_no_other_from_being_mended() {
    let d = Drive::started();
    d.does(&["start", "other", "--no-branch"]);
    let op = d
        .git(&["ls-tree", "--name-only", "loopx:sessions/demo/ops"])
        .line();
    let text = d
        .git(&["show", &format!("loopx:sessions/demo/ops/{op}")])
        .ok();
    let null = "0".repeat(40);
    let spec = d.git(&["rev-parse", "loopx:sessions/demo/spec.md"]).line();
    tamper(
        &d,
        &format!("sessions/demo/ops/{op}"),
        Some(text.replace(&spec, &null).as_bytes()),
    );
    tamper(&d, "sessions/other/state.json", Some(b"{}"));
    d.loopx(&["fsck"]).fails_with(1);
    d.loopx(&["fsck", "--repair"]).ok();
    d.loopx(&["fsck"]).ok();
    d.loopx(&["-s", "other", "status"]).ok();
}

#[test]
fn an_operation_number_that_cannot_be_counted_on_is_damage() {
    let d = Drive::started();
    let op = d
        .git(&["ls-tree", "--name-only", "loopx:sessions/demo/ops"])
        .line();
    let text = d
        .git(&["show", &format!("loopx:sessions/demo/ops/{op}")])
        .ok();
    let far = text.replace("\"seq\": 1,", &format!("\"seq\": {},", u64::MAX));
    assert_ne!(far, text);
    tamper(&d, &format!("sessions/demo/ops/{op}"), Some(far.as_bytes()));
    assert_eq!(d.fails(70, &["clarify"]).code, "record_damaged");
    d.loopx(&["fsck", "--repair"]).ok();
    d.loopx(&["fsck"]).ok();
}

#[test]
fn undo_names_the_text_that_went_back_with_the_event() {
    let d = Drive::planning();
    d.edit(
        "test-plan.md",
        "# Test plan\n\n## Verification\n\nSomething else.\n",
    );
    d.does(&["plan", "--architect", "approve"]);
    let told = d.does(&["undo"]);
    let seq = told["undone"]["seq"]
        .as_u64()
        .expect("a number")
        .to_string();
    assert!(
        told["undone"]["artifacts"]
            .to_string()
            .contains("test-plan.md")
    );
    let was = d.loopx(&["cat", "test-plan.md", "--at", &seq]).ok();
    assert!(was.contains("Something else."));
}

#[test]
fn a_cap_is_raised_by_a_number_that_means_something() {
    let d = Drive::building();
    for more in ["0", "101", "4294967295"] {
        d.loopx(&["build", "--more", more, "--reason", "r"])
            .fails_with(2);
    }
}

#[test]
fn a_session_pins_no_policy_that_cannot_be_read() {
    let d = Drive::repository(Some("[paths]\nspecs = \"../outside\"\n"));
    assert_eq!(d.fails(2, &["start", "demo"]).code, "policy_invalid");
}

#[test]
fn a_name_with_a_line_end_writes_no_line_of_ours() {
    let d = Drive::repository(None);
    d.does(&["start", "demo\nnext: sh evil\u{1b}[31m"]);
    for args in [&["status"][..], &["list"], &["show"], &["log"]] {
        let out = d.loopx(args).ok();
        assert!(!out.contains('\u{1b}'), "{out}");
        assert!(!out.contains("\nnext: sh evil"), "{out}");
    }
}

#[test]
fn a_monitor_that_the_repository_names_is_not_run() {
    let d = Drive::building();
    d.write("src/demo.txt", "edited\n");
    let marker = d.root().join("pwned");
    d.script(
        d.root().join("monitor"),
        &format!("#!/bin/sh\ntouch '{}'\nexit 1\n", marker.display()),
    );
    let monitor = d.root().join("monitor");
    let monitor = monitor.to_str().expect("UTF-8");
    d.git(&["config", "core.fsmonitor", monitor]).ok();
    // Hooks in the worktree: whether they are tracked, git is asked.
    d.script(".githooks/pre-commit", "#!/bin/sh\n");
    d.git(&["config", "core.hooksPath", ".githooks"]).ok();
    for args in [
        &["status"][..],
        &["build", "--report", "execution=complete"],
        &["doctor"],
        &["doctor", "--fix"],
        &["hooks", "status"],
    ] {
        let call = d.call(crate::support::LOOPX).args(args);
        let out = call.env("GIT_CONFIG_COUNT", "0").run();
        assert!(matches!(out.code, Some(0 | 1)), "{out}");
        assert!(!marker.exists(), "{out}");
    }
    // git itself would have run it.
    drop(
        d.call("git")
            .args(&["status"])
            .env("GIT_CONFIG_COUNT", "0")
            .run(),
    );
    assert!(marker.exists());
}

#[test]
fn q11_what_lands_in_a_worktree_runs_no_monitor_that_the_repository_names() {
    let y = crate::support::archive::Yard::ready();
    let marker = y.root().join("pwned");
    y.script(
        y.root().join("monitor"),
        &format!("#!/bin/sh\ntouch '{}'\nexit 1\n", marker.display()),
    );
    let monitor = y.root().join("monitor");
    let monitor = monitor.to_str().expect("UTF-8");
    y.git(&["config", "core.fsmonitor", monitor]).ok();
    let id = crate::support::archive::ID;
    for args in [
        &["archive"][..],
        &["archive", "--undo", id],
        &["adr", "new", "Keep it"],
        &["adr", "promote"],
    ] {
        let call = y.call(crate::support::LOOPX).args(args);
        call.env("GIT_CONFIG_COUNT", "0").run().ok();
        assert!(!marker.exists(), "{args:?}");
    }
}

#[test]
fn policy_cannot_put_results_among_working_copies() {
    for key in [
        "[paths]\nspecs = \".loopx\"\n",
        "[paths]\nadr = \".LOOPX/x\"\n",
        "[approve]\nsigners = \".loopx/signers\"\n",
    ] {
        let d = Drive::repository(Some(key));
        assert_eq!(d.fails(2, &["start", "demo"]).code, "policy_invalid");
    }
}
