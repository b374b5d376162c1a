//! What is said at once of files and bindings, instead of at a gate: U17, U18.

use crate::support::session::{self, advance, begin};
use crate::support::{LOOPX, Sandbox};

#[test]
fn u18_everything_wrong_with_slices_and_domains_is_said_when_they_are_saved() {
    let s = Sandbox::new();
    begin(&s, "");
    advance(&s, "clarify", "plan", "src/**");
    let refused = |artifact: &str, text: &str| {
        let call = s.call(LOOPX).args(&["put", artifact]).stdin(text);
        call.run().fails_with(1)
    };
    let slice = |id: &str, rest: &str| {
        format!(
            r#"{{"id":"{id}","type":"AFK","behaviour":"x","acceptance_criteria":["x"],{rest}}}"#
        )
    };
    let two = format!(
        "[{},{}]",
        slice("A", r#""verification":[],"blocked_by":["Z"]"#),
        slice("B", r#""verification":["true"],"files":["../x"]"#)
    );
    let out = refused("slices.json", &two);
    for said in [
        "slice A has no verification command",
        "slice A is blocked by `Z`, which does not exist",
        "slice B names `../x`, which is not inside the repository",
    ] {
        assert!(out.stderr.contains(said), "{said}\n{out}");
    }
    let unread = format!(
        "[{},{}]",
        slice("A", r#""verification":"true""#),
        slice("B", r#""verification":7"#)
    );
    let out = refused("slices.json", &unread);
    for said in [
        "slice \"A\": invalid type: string",
        "slice \"B\": invalid type: integer",
    ] {
        assert!(out.stderr.contains(said), "{said}\n{out}");
    }
    let delta = |domain: &str| {
        format!(
            "# Domain: {domain}\n\n## ADDED Requirements\n\n### Requirement: X\nThe system SHALL x.\n\n\
             #### Scenario: S\n- **WHEN** a\n- **THEN** b\n"
        )
    };
    for domain in ["../../x", "a\0b", "C:"] {
        refused("spec-delta.md", &delta(domain))
            .says("change/spec-delta.md:1: ")
            .says("cannot be a domain");
    }
    session::put(&s, "spec-delta.md", &delta("auth/login"));
    let spec = session::READY_SPEC.replace("[demo]", "[demo, ../../x]");
    refused("spec.md", &spec).says("spec.md:8: \"../../x\" cannot be a domain");
}

#[test]
fn u17_doctor_names_a_bound_branch_that_was_renamed() {
    let s = Sandbox::new();
    begin(&s, "");
    let of = |s: &Sandbox| {
        let checks = s.loopx(&["doctor", "--json"]).json();
        let all = checks["checks"].as_array().expect("checks").clone();
        let one = all.into_iter().find(|one| one["what"] == "bindings");
        one.expect("a look at the bindings")
    };
    assert_eq!(of(&s)["level"], "fine", "{:#}", of(&s));
    s.git(&["branch", "-m", "renamed"]).ok();
    let found = of(&s);
    assert_eq!(found["level"], "problem", "{found:#}");
    assert!(
        found["help"]
            .as_str()
            .is_some_and(|help| help.starts_with("git loopx use demo")),
        "{found:#}"
    );
    s.loopx(&["use", "demo"]).ok();
    assert_eq!(of(&s)["level"], "fine");
}
