//! Two changes, one spec: what the second archive makes of it, through real sessions whose bases were
//! recorded when their deltas were saved. Numbers are those of `shared/cases/spec-merge`.

use crate::support::LOOPX;
use crate::support::archive::{DEMO, DEMO_PATH, ID, REWORD, SHORTEN, Yard, adds, shortened};

const ONTO: &[&str] = &["--onto", "main"];

fn modifies(name: &str, body: &str, when: &str, then: &str) -> String {
    format!(
        "# Domain: demo\n\n## MODIFIED Requirements\n\n### Requirement: {name}\n{body}\n\n\
         #### Scenario: Idle\n- **WHEN** {when}\n- **THEN** {then}\n"
    )
}

const RENAME: &str = "# Domain: demo

## RENAMED Requirements

- FROM: `### Requirement: Session timeout`
- TO: `### Requirement: Idle timeout`
";

const REMOVE: &str = "# Domain: demo

## REMOVED Requirements

### Requirement: Session timeout
**Reason**: not used
**Migration**: none
";

/// Two sessions, archived onto `main` in both orders; both must end the same.
fn both_orders(first: (&str, &str), second: (&str, &str)) -> String {
    let y = Yard::pair(first, second);
    y.archive(first.0, ONTO).ok();
    y.archive(second.0, ONTO).ok();
    y.clean();
    let one = y.at("main", DEMO_PATH);
    let y = Yard::pair(first, second);
    y.archive(second.0, ONTO).ok();
    y.archive(first.0, ONTO).ok();
    assert_eq!(y.at("main", DEMO_PATH), one, "the order matters");
    y.archived_once("main", first.0);
    y.archived_once("main", second.0);
    one
}

#[test]
fn an_update_of_the_same_line_is_never_lost_case_001_s_127_w20() {
    let y = Yard::pair(("a", SHORTEN), ("b", REWORD));
    y.archive("a", ONTO).ok();
    let error = y.conflict("b", ONTO);
    let blocker = &error["error"]["blockers"][0];
    assert_eq!(blocker["code"], "requirement_conflict");
    let message = blocker["message"].as_str().expect("a message");
    assert!(message.contains("Session timeout"), "{message}");
    let sides = y.sides("b", "demo");
    for side in ["after 30 minutes.", "after 10 minutes.", "an audit record."] {
        assert!(sides.contains(side), "`{side}` is not in\n{sides}");
    }
    assert_eq!(y.at("main", DEMO_PATH), shortened());
    assert_eq!(y.does(&["-s", "b", "status"])["stage"], "done");
}

#[test]
fn edits_of_different_steps_are_both_kept_case_002() {
    let body = "The system SHALL end an idle session after 30 minutes.";
    let text = both_orders(
        (
            "a",
            &modifies(
                "Session timeout",
                body,
                "a session is idle for 30 minutes",
                "the session ends and the user sees a notice",
            ),
        ),
        (
            "b",
            &modifies(
                "Session timeout",
                body,
                "a session has no input for 30 minutes",
                "the session ends",
            ),
        ),
    );
    let want = DEMO.replace("is idle for", "has no input for").replace(
        "session ends\n",
        "session ends and the user sees a notice\n",
    );
    assert_eq!(text, want);
}

#[test]
fn a_hotfix_after_the_delta_was_written_is_a_conflict_case_004() {
    let y = Yard::ready();
    let fixed = DEMO.replace("after 30 minutes.", "after 15 minutes (regulator order 7).");
    y.commit_file(DEMO_PATH, &fixed, "Hotfix").ok();
    y.conflict(ID, &[]);
    let sides = y.sides(ID, "demo");
    for side in [
        "after 30 minutes.",
        "regulator order 7",
        "after 10 minutes.",
    ] {
        assert!(sides.contains(side), "`{side}` is not in\n{sides}");
    }
    assert_eq!(y.read(DEMO_PATH), fixed);
}

#[test]
fn a_hotfix_elsewhere_in_the_spec_is_kept_and_no_conflict() {
    let y = Yard::ready();
    let fixed = DEMO.replace("a known user", "a known, active user");
    y.commit_file(DEMO_PATH, &fixed, "Hotfix").ok();
    y.archive(ID, &[]).ok();
    let want = shortened().replace("a known user", "a known, active user");
    assert_eq!(y.read(DEMO_PATH), want);
    y.clean();
}

#[test]
fn removing_what_another_changed_is_a_conflict_in_either_order_case_005() {
    for (first, second) in [("a", "b"), ("b", "a")] {
        let y = Yard::pair(("a", SHORTEN), ("b", REMOVE));
        y.archive(first, ONTO).ok();
        y.conflict(second, ONTO);
    }
}

#[test]
fn an_edit_follows_the_rename_of_another_change_case_007() {
    let y = Yard::pair(("a", RENAME), ("b", SHORTEN));
    y.archive("a", ONTO).ok();
    y.archive("b", ONTO).ok();
    let want = shortened().replace("Requirement: Session timeout", "Requirement: Idle timeout");
    assert_eq!(y.at("main", DEMO_PATH), want);
    let y = Yard::pair(("a", RENAME), ("b", SHORTEN));
    y.archive("b", ONTO).ok();
    y.archive("a", ONTO).ok();
    assert_eq!(y.at("main", DEMO_PATH), want);
}

#[test]
fn two_texts_for_one_new_requirement_are_a_conflict_case_008() {
    let other = adds("Lockout").replace("SHALL do", "SHALL always do");
    let y = Yard::pair(("a", &adds("Lockout")), ("b", &other));
    y.archive("a", ONTO).ok();
    y.conflict("b", ONTO);
    let sides = y.sides("b", "demo");
    assert!(sides.contains("SHALL do Lockout") && sides.contains("SHALL always do Lockout"));
}

#[test]
fn changes_of_different_requirements_both_stand_case_010() {
    let login = "# Domain: demo\n\n## MODIFIED Requirements\n\n### Requirement: Login\n\
        The system SHALL let a known and active user log in.\n\n#### Scenario: Good password\n\
        - **WHEN** the password is right\n- **THEN** the user is logged in\n";
    let text = both_orders(("a", SHORTEN), ("b", login));
    assert_eq!(
        text,
        shortened().replace("a known user", "a known and active user")
    );
}

#[test]
fn a_change_of_what_is_not_there_never_reaches_done_case_014() {
    let y = Yard::new();
    y.git(&["switch", "--quiet", "--create", ID]).ok();
    y.does(&["start", ID]);
    let delta = SHORTEN.replace("Session timeout", "Session timout");
    y.planned_blocked(ID, &delta, "missing_requirement");
}

#[test]
fn a_scenario_goes_only_when_that_is_said_case_022() {
    let legacy =
        "\n#### Scenario: Legacy\n- **WHEN** the old client is used\n- **THEN** it is 60 minutes\n";
    let spec = DEMO.replace("session ends\n", &format!("session ends\n{legacy}"));
    let delta = "# Domain: demo\n\n## MODIFIED Requirements\n\n### Requirement: Session timeout\n\n\
        #### REMOVED Scenario: Legacy\n";
    let y = Yard::with(&[(DEMO_PATH, &spec)]);
    y.git(&["switch", "--quiet", "--create", "silent"]).ok();
    y.does(&["start", "silent"]);
    y.planned_blocked("silent", SHORTEN, "scenario_dropped");
    y.git(&["switch", "--quiet", "main"]).ok();
    y.done("aloud", delta);
    y.archive("aloud", &[]).ok();
    assert_eq!(y.read(DEMO_PATH), DEMO);
}

#[test]
fn two_names_are_swapped_at_once_case_028() {
    let swap = "# Domain: demo\n\n## RENAMED Requirements\n\n\
        - FROM: `### Requirement: Session timeout`\n- TO: `### Requirement: Login`\n\
        - FROM: `### Requirement: Login`\n- TO: `### Requirement: Session timeout`\n";
    let y = Yard::new();
    y.done("swap", swap);
    y.archive("swap", &[]).ok();
    let want = DEMO
        .replace("Requirement: Session timeout", "Requirement: X")
        .replace("Requirement: Login", "Requirement: Session timeout")
        .replace("Requirement: X", "Requirement: Login");
    assert_eq!(y.read(DEMO_PATH), want);
}

// A conflict, and the ways out of it.

/// Two sessions, the first archived, the second stopped at the conflict.
fn stopped() -> Yard {
    Yard::once("", || {
        let y = Yard::pair(("a", SHORTEN), ("b", REWORD));
        y.archive("a", ONTO).ok();
        y.conflict("b", ONTO);
        y
    })
}

fn settled() -> String {
    shortened().replace("10 minutes.", "10 minutes and SHALL write an audit record.")
}

#[test]
fn a_resolution_is_taken_as_it_is_written_and_finishes_the_archive() {
    let y = stopped();
    y.resolve("b", "demo", &settled());
    // It goes where the conflict was met, without being told again.
    y.archive("b", &["--continue"]).ok();
    assert_eq!(y.at("main", DEMO_PATH), settled());
    assert!(!y.exists(".loopx/b"), "conflict and working copy are gone");
    y.archived_once("main", "b");
    y.clean();
}

#[test]
fn markers_that_are_left_stop_the_archive_and_are_named_by_line() {
    let y = stopped();
    let error = y.refused(
        "b",
        &["--onto", "main", "--continue"],
        3,
        "conflict_unresolved",
    );
    let message = error["error"]["message"].as_str().expect("a message");
    let line: usize = message
        .strip_prefix(".loopx/b/conflicts/demo/spec.md:")
        .and_then(|rest| rest.split(':').next())
        .and_then(|line| line.parse().ok())
        .unwrap_or_else(|| panic!("no line in {message}"));
    let sides = y.sides("b", "demo");
    let marked = sides.lines().nth(line - 1).expect("that line");
    assert!(marked.starts_with("<<<<<<<"), "{marked}");
}

#[test]
fn a_resolution_that_is_no_spec_is_refused() {
    let y = stopped();
    let twice = format!(
        "{}\n{}",
        settled(),
        &DEMO[DEMO.find("### Requirement: Login").expect("it")..]
    );
    y.resolve("b", "demo", &twice);
    y.refused(
        "b",
        &["--onto", "main", "--continue"],
        1,
        "resolution_invalid",
    );
    std::fs::remove_file(y.path().join(".loopx/b/conflicts/demo/spec.md")).expect("a file");
    y.refused(
        "b",
        &["--onto", "main", "--continue"],
        3,
        "conflict_file_missing",
    );
}

#[test]
fn archiving_again_keeps_a_resolution_that_was_begun() {
    let y = stopped();
    y.resolve("b", "demo", &settled());
    let error = y.refused("b", ONTO, 3, "archive_conflict");
    let help = error["error"]["help"].as_str().expect("a help");
    assert!(
        help.contains("--continue") && help.contains("--abort"),
        "{help}"
    );
    assert_eq!(y.sides("b", "demo"), settled());
    y.archive("b", &["--onto", "main", "--continue"]).ok();
}

#[test]
fn a_spec_that_moved_since_the_conflict_refuses_the_resolution_with_a_way_on() {
    let y = stopped();
    y.resolve("b", "demo", &settled());
    let moved = shortened().replace("a known user", "a known, active user");
    y.commit_file(DEMO_PATH, &moved, "Hotfix").ok();
    y.refused("b", &["--onto", "main", "--continue"], 1, "target_moved");
    assert_eq!(y.sides("b", "demo"), settled(), "the text is kept");
    y.archive("b", &["--onto", "main", "--abort"]).ok();
    y.conflict("b", ONTO);
    let both = settled().replace("a known user", "a known, active user");
    y.resolve("b", "demo", &both);
    y.archive("b", &["--onto", "main", "--continue"]).ok();
    assert_eq!(y.at("main", DEMO_PATH), both);
}

#[test]
fn a_resolution_is_not_dropped_where_the_conflict_went_away() {
    let y = stopped();
    y.resolve("b", "demo", &settled());
    // Somebody takes the first change back: the second one would now merge by itself.
    y.commit_file(DEMO_PATH, DEMO, "Back").ok();
    y.refused("b", &["--onto", "main", "--continue"], 1, "target_moved");
    y.archive("b", &["--onto", "main", "--abort"]).ok();
    y.archive("b", ONTO).ok();
    assert!(
        y.read(DEMO_PATH)
            .contains("after 30 minutes and SHALL write")
    );
}

#[test]
fn a_move_of_the_target_elsewhere_does_not_spoil_a_resolution() {
    let y = stopped();
    y.resolve("b", "demo", &settled());
    y.commit_file("src/other.txt", "new\n", "Other").ok();
    y.archive("b", &["--onto", "main", "--continue"]).ok();
    assert_eq!(y.at("main", DEMO_PATH), settled());
    assert_eq!(y.at("main", "src/other.txt"), "new\n");
}

/// Command that is next for the second session.
fn next(y: &Yard) -> String {
    y.loopx(&["-s", "b", "next"]).ok().trim().to_owned()
}

#[test]
fn next_goes_on_with_a_conflict_only_where_its_archive_can_go_on() {
    let y = stopped();
    let choose = "choose between the marked sides in .loopx/b/conflicts/demo/spec.md; then: git loopx -s b archive --continue";
    y.loopx(&["-s", "b", "next"]).fails_with(6).says(choose);
    let status = y.loopx(&["-s", "b", "status"]).says(choose).ok();
    assert!(!status.contains("is no artifact"), "{status}");
    y.resolve("b", "demo", &settled());
    assert_eq!(next(&y), "git loopx -s b archive --continue");
    // Somebody takes the first change back by git: nothing is in conflict any more.
    let before = y.rev("main");
    y.commit_file(DEMO_PATH, DEMO, "Back").ok();
    assert_eq!(next(&y), "git loopx archive b --abort");
    y.git(&["reset", "--quiet", "--hard", &before]).ok();
    assert_eq!(next(&y), "git loopx -s b archive --continue");
    // Back in review it waits, and the review goes on.
    y.git(&["switch", "--quiet", "b"]).ok();
    y.loopx(&["undo"]).ok();
    assert_eq!(next(&y), "git loopx approve --to done");
    y.loopx(&["approve", "--to", "done"]).ok();
    assert_eq!(next(&y), "git loopx archive --continue");
    y.git(&["switch", "--quiet", "main"]).ok();
    y.commit_file(DEMO_PATH, DEMO, "Back").ok();
    for command in ["git loopx archive b --abort", "git loopx archive"] {
        y.git(&["switch", "--quiet", "b"]).ok();
        assert_eq!(next(&y), command);
        let args: Vec<&str> = command.split(' ').skip(1).collect();
        y.git(&args).ok();
    }
}

#[test]
fn abort_forgets_the_conflict_and_nothing_else() {
    let y = Yard::pair(("a", SHORTEN), ("b", REWORD));
    y.archive("a", ONTO).ok();
    let before = y.world();
    y.conflict("b", ONTO);
    y.archive("b", &["--onto", "main", "--abort"]).ok();
    assert!(y.world() == before, "something of the conflict is left");
    y.refused("b", &["--onto", "main", "--abort"], 5, "no_conflict");
    y.refused("b", &["--onto", "main", "--continue"], 5, "no_conflict");
    y.conflict("b", ONTO);
}

#[test]
fn an_abort_that_fails_behind_its_first_file_is_done_for_what_is_gone() {
    let y = Yard::pair(("a", SHORTEN), ("b", REWORD));
    y.archive("a", ONTO).ok();
    let before = y.world();
    y.conflict("b", ONTO);
    let held = y.world();
    let abort = |place: usize| {
        let call = y
            .call(LOOPX)
            .args(&["-s", "b", "archive", "--onto", "main", "--abort"]);
        call.env("LOOPX_FAILPOINT", format!("error:file-removed:{place}"))
            .run()
    };
    let refused = abort(1);
    assert_ne!(refused.code, Some(0), "{refused}");
    assert!(y.world() == held, "a refusal changes nothing");
    let out = abort(2);
    assert_eq!(out.code, Some(0), "{out}");
    let out = out
        .says("1 file of the conflict is gone; left: the rest of it")
        .says("archive b --abort");
    assert!(!out.stderr.contains("refused"), "{out}");
    y.archive("b", &["--onto", "main", "--abort"]).ok();
    assert!(y.world() == before, "something of the conflict is left");
}

#[test]
fn a_resolution_for_one_branch_is_not_put_onto_another() {
    let y = stopped();
    y.git(&["branch", "release", "main"]).ok();
    y.resolve("b", "demo", &settled());
    y.refused("b", &["--onto", "release", "--continue"], 1, "target_moved");
}

#[test]
fn a_dry_run_of_a_conflict_says_so_and_writes_nothing() {
    let y = Yard::pair(("a", SHORTEN), ("b", REWORD));
    y.archive("a", ONTO).ok();
    y.refused("b", &["--onto", "main", "--dry-run"], 3, "archive_conflict");
}

#[test]
fn conflicts_of_several_domains_are_resolved_together() {
    let two = |delta: &str| {
        format!(
            "{}\n{delta}",
            delta.replace("# Domain: demo", "# Domain: zeta")
        )
    };
    let y = Yard::with(&[(DEMO_PATH, DEMO), ("specs/zeta/spec.md", DEMO)]);
    for (id, delta) in [("a", SHORTEN), ("b", REWORD)] {
        y.done(id, &two(delta));
        y.git(&["switch", "--quiet", "main"]).ok();
    }
    y.archive("a", ONTO).ok();
    y.conflict("b", ONTO);
    y.resolve("b", "zeta", &settled());
    y.refused("b", &["--continue"], 3, "conflict_unresolved");
    y.resolve("b", "demo", &settled());
    y.archive("b", &["--continue"]).ok();
    for path in [DEMO_PATH, "specs/zeta/spec.md"] {
        assert_eq!(y.at("main", path), settled());
    }
    y.clean();
}

#[test]
fn e06_validate_says_what_archive_says_of_the_same_branch_and_the_way_out_can_be_gone() {
    let y = Yard::new();
    y.done("export", &adds("Session export"));
    y.git(&["switch", "--quiet", "main"]).ok();
    let near = adds("Session Export");
    let block = near
        .split_once("## ADDED Requirements\n")
        .expect("a block")
        .1;
    y.commit_file(DEMO_PATH, &format!("{DEMO}{block}"), "Add one by hand")
        .ok();
    let validate = |args: &[&str]| {
        y.loopx(&[&["--json", "-s", "export", "change", "validate"], args].concat())
    };
    assert_eq!(validate(&[]).code, Some(0));
    let said = validate(ONTO);
    assert_eq!(said.code, Some(1), "{said}");
    let judged = &said.json()["sessions"][0];
    assert_eq!(
        (&judged["target"], &judged["verdict"]),
        (&"main".into(), &"refused".into())
    );
    let code = &judged["blockers"][0]["code"];
    assert_eq!(code, "near_name");
    let error = y.refused("export", ONTO, 1, "archive_blocked");
    let blockers = error["error"]["blockers"].as_array().expect("blockers");
    assert_eq!(&blockers[0]["code"], code);
    let out = blockers.last().expect("the way out");
    assert_eq!(out["code"], "delta_closed");
    assert!(
        out["help"]
            .as_str()
            .expect("help")
            .starts_with("git loopx -s export undo"),
        "{out}"
    );
    // The way out.
    y.git(&["switch", "--quiet", "export"]).ok();
    y.does(&["-s", "export", "undo"]);
    let back = [
        "--verdict",
        "request-changes",
        "--target",
        "plan",
        "--reason",
        "a near name",
    ];
    y.by_rita(&[&["-s", "export", "review"], &back[..]].concat())
        .ok();
    y.does(&["-s", "export", "approve", "--to", "plan"]);
    y.does(&["-s", "export", "plan"]);
    assert_eq!(y.does(&["-s", "export", "status"])["stage"], "plan");
    assert_eq!(validate(&["--onto", "nowhere"]).code, Some(4));
}

#[test]
fn what_a_person_chose_in_a_conflict_lands_on_no_protected_branch_without_a_review() {
    let y = Yard::with(&[
        (DEMO_PATH, DEMO),
        ("loopx.toml", "[gates]\nprotected = [\"main\"]\n"),
    ]);
    for (id, delta) in [("a", SHORTEN), ("b", REWORD)] {
        y.done(id, delta);
        y.git(&["switch", "--quiet", "main"]).ok();
    }
    let lands = |range: &str, from: &str| {
        y.loopx(&["verify", range, "--policy-from", from, "--onto", "main"])
    };
    y.archive("a", ONTO).ok();
    lands("main~1..main", "main~1").ok();
    y.conflict("b", ONTO);
    y.resolve("b", "demo", &settled());
    y.archive("b", &["--continue"]).ok();
    lands("main~1..main", "main~1")
        .fails_with(1)
        .says(DEMO_PATH);
    y.git(&["reset", "--quiet", "--hard", "main~1"]).ok();
    // Where policy asks for signatures, an archive is taken back by somebody's key.
    y.git(&["switch", "--quiet", "--create", "strict"]).ok();
    y.write(
        "loopx.toml",
        "[gates]\nprotected = [\"main\"]\n[review]\nsigned = true\n",
    );
    y.git(&["commit", "--quiet", "--no-verify", "-am", "policy"])
        .ok();
    y.git(&["switch", "--quiet", "main"]).ok();
    y.loopx(&["archive", "--undo", "a", "--onto", "main", "--reason", "x"])
        .ok();
    lands("main~1..main", "main~1").ok();
    lands("main~1..main", "strict")
        .fails_with(1)
        .says(DEMO_PATH);
}
