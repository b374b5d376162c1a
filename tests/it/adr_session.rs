//! The decision of a session as a record: promoted once, from the session that is done or its archive.

use crate::adr::{adr, with_records};
use crate::support::Sandbox;

/// A session that was built and reviewed, on the branch `feat`, with what its record will say.
fn done_session(s: &Sandbox) {
    let step = |args: &[&str]| {
        s.loopx(args).ok();
    };
    s.git(&["switch", "--quiet", "-c", "feat"]).ok();
    step(&["init"]);
    step(&["start", "Auth timeout", "-m", "Sessions must end"]);
    s.write(
        ".loopx/auth-timeout/spec.md",
        "---\nunresolved_ambiguity_count: 0\ncurrent_round: 3\nambiguity_score: 0.1\n\
         non_goals_resolved: true\ndecision_boundaries_resolved: true\npressure_pass_complete: true\n\
         target_domains: [demo]\n---\n# Auth timeout\n\n## Desired outcome\n\nSessions end.\n\n\
         ## Non-goals\n\nThe login.\n\n## Decision boundaries\n\nNames.\n\n\
         ## Success criteria\n\nA test passes.\n\n## Execution inputs\n\n- src/a\n",
    );
    step(&["clarify"]);
    step(&["approve", "--to", "plan", "--reason", "clear"]);
    step(&["plan"]);
    let fill = |file: &str| {
        let path = format!(".loopx/auth-timeout/{file}");
        let mut out = String::new();
        let text = s.read(&path);
        let mut rest = text.as_str();
        while let Some((before, after)) = rest.split_once("<!--") {
            out.push_str(before);
            out.push_str(if file.ends_with("design.md") {
                "We use *timers*."
            } else {
                "Something real."
            });
            rest = after.split_once("-->").map_or("", |(_, rest)| rest);
        }
        out.push_str(rest);
        for (old, new) in [
            (
                "acceptance_criteria_testable: false",
                "acceptance_criteria_testable: true",
            ),
            (
                "verification_steps_resolved: false",
                "verification_steps_resolved: true",
            ),
            ("scope: []\nacceptance", "scope: [\"src/**\"]\nacceptance"),
        ] {
            out = out.replace(old, new);
        }
        s.write(path, out);
    };
    for file in [
        "plan.md",
        "architecture.md",
        "development-plan.md",
        "test-plan.md",
        "change/proposal.md",
        "change/design.md",
        "change/tasks.md",
    ] {
        fill(file);
    }
    s.write(
        ".loopx/auth-timeout/change/spec-delta.md",
        "# Domain: demo\n\n## ADDED Requirements\n\n### Requirement: Session timeout\n\
         The system SHALL end an idle session after 10 minutes.\n\n#### Scenario: Idle\n\
         - **WHEN** a session is idle for 10 minutes\n- **THEN** the session ends\n",
    );
    s.write(
        ".loopx/auth-timeout/change/slices.json",
        r#"[{"id":"VS-1","type":"AFK","behaviour":"ends","acceptance_criteria":["a"],"verification":["grep","-q","timeout","src/a"],"scenarios":["demo/Session timeout/Idle"]}]"#,
    );
    step(&["plan", "--architect", "approve"]);
    step(&["plan", "--critic", "approve"]);
    step(&["approve", "--to", "build"]);
    step(&["build"]);
    s.commit_file("src/a", "timeout\n", "timeout").ok();
    step(&["run", "--task", "VS-1"]);
    step(&[
        "build",
        "--report",
        "execution=complete",
        "--reason",
        "did it",
    ]);
    fill("execution-record.md");
    step(&["build"]);
    step(&["approve", "--to", "review"]);
    step(&["review"]);
    step(&["review", "--verdict", "approve"]);
    assert!(
        adr(s, &["promote"])
            .fails_with(1)
            .stderr
            .contains("at review")
    );
    step(&["approve", "--to", "done"]);
}

#[test]
fn the_decision_of_a_session_is_promoted_once_before_or_after_its_archive() {
    let s = with_records();
    done_session(&s);
    let head = s.git(&["rev-parse", "feat"]).line();
    let json = adr(&s, &["promote", "--onto", "main", "--json"]).json();
    assert_eq!(json["session"], "auth-timeout");
    assert_eq!(json["path"], "docs/adr/0003-auth-timeout.md");
    assert_eq!(s.git(&["rev-parse", "feat"]).line(), head);
    let text = s.git(&["show", "main:docs/adr/0003-auth-timeout.md"]).ok();
    assert!(text.contains("session: auth-timeout\n"), "{text}");
    assert!(
        text.contains("## Decision Outcome\n\nWe use *timers*.\n"),
        "{text}"
    );
    let trailer = |key: &str| {
        let format = format!("--format=%(trailers:key={key},valueonly)");
        s.git(&["log", "-1", format.as_str(), "main"]).line()
    };
    assert_eq!(trailer("Loopx-Session"), "auth-timeout");
    assert_eq!(trailer("Loopx-Event"), "adr");
    s.loopx(&["archive"]).ok();
    adr(&s, &["promote", "auth-timeout", "--onto", "main"])
        .fails_with(5)
        .says("docs/adr/0003-auth-timeout.md on main");
    // Another branch knows nothing of it: the session's own is the default.
    let json = adr(
        &s,
        &["promote", "auth-timeout", "--nygard", "--accept", "--json"],
    )
    .json();
    assert_eq!(json["target"], "feat");
    let text = s.read("docs/adr/0003-auth-timeout.md");
    assert!(
        text.starts_with("# 3. Auth timeout\n\nDate: 2026-01-01\n\n## Status\n\nAccepted\n"),
        "{text}"
    );
    adr(&s, &["promote", "nobody"]).fails_with(4);
    // The same decision on two branches is no clash of numbers.
    adr(&s, &["check"]).ok();
    s.loopx(&["fsck"]).ok();
}
