//! Big specs (T10 of the store's findings): what a command reads does not grow with the requirements that a delta
//! touches. Nothing here looks at a clock; a command that reads a spec once for each requirement does not end.

use crate::support::archive::{DEMO, DEMO_PATH, SHORTEN, Yard};
use crate::support::{LOOPX, Output};
use std::fmt::Write as _;

const MANY: usize = 1_500;

fn spec(says: &str) -> String {
    let mut text = "# demo Specification\n\n## Purpose\nDescribe how the demo behaves for the people who use it.\n\n\
                    ## Requirements\n"
        .to_owned();
    blocks(&mut text, says);
    text
}

fn blocks(text: &mut String, says: &str) {
    for n in 0..MANY {
        write!(
            text,
            "\n### Requirement: Number {n}\nThe system SHALL {says} thing {n}.\n\n#### Scenario: Asked {n}\n\
             - **WHEN** thing {n} is asked for\n- **THEN** thing {n} is there\n"
        )
        .expect("a string");
    }
}

#[test]
fn t10_a_delta_of_many_requirements_reads_each_version_of_the_spec_once() {
    let y = Yard::with(&[("specs/demo/spec.md", &spec("do"))]);
    let mut delta = "# Domain: demo\n\n## MODIFIED Requirements\n".to_owned();
    blocks(&mut delta, "always do");
    y.git(&["switch", "--quiet", "--create", "all"]).ok();
    y.does(&["start", "all"]);
    y.planned("all", &delta);
    let diff = y.loopx(&["--json", "change", "diff"]).json();
    let all = diff["requirements"].as_array().expect("requirements");
    assert_eq!(all.len(), MANY);
    // The target moves on in every requirement: every one has a base of another version then.
    y.write("specs/demo/spec.md", spec("really do"));
    y.git(&["commit", "--quiet", "--no-verify", "-am", "really"])
        .ok();
    let refreshed = y.loopx(&["--json", "change", "refresh"]).json();
    assert_eq!(refreshed["moved"].as_array().expect("moved").len(), MANY);
    let diff = y.loopx(&["--json", "change", "diff"]).json();
    let text = diff["requirements"][MANY - 1]["base"].as_str();
    assert!(
        text.is_some_and(|text| text.contains("really do")),
        "{text:?}"
    );
    y.loopx(&["change", "validate"]).ok();
}

/// A command that dies where it tries a delta on the specs for the n-th time.
fn dying_at(y: &Yard, time: u32, args: &[&str]) -> Output {
    let place = format!("delta-tried:{time}");
    let call = y.call(LOOPX).args(args);
    call.env("LOOPX_FAILPOINT", place).run()
}

#[test]
fn t10_a_transition_tries_its_delta_on_the_specs_once() {
    let y = Yard::new();
    y.git(&["switch", "--quiet", "--create", "once"]).ok();
    y.does(&["start", "once"]);
    y.planned("once", SHORTEN);
    let approve = ["approve", "--to", "build"];
    assert_ne!(dying_at(&y, 1, &approve).code, Some(0));
    // It is judged before, and for what is next.
    dying_at(&y, 2, &approve).ok();
    dying_at(&y, 2, &["build"]).ok();
    let status = dying_at(&y, 2, &["--json", "status"]).json();
    assert_eq!(status["stage"], "build", "{status}");
}

#[test]
fn t10_a_refresh_tries_the_delta_on_its_new_base_alone() {
    let y = Yard::new();
    y.git(&["switch", "--quiet", "--create", "once"]).ok();
    y.does(&["start", "once"]);
    y.planned("once", SHORTEN);
    y.write(DEMO_PATH, DEMO.replace("end an idle", "always end an idle"));
    let commit = ["commit", "--quiet", "--no-verify", "-am", "always"];
    y.git(&commit).ok();
    assert_ne!(dying_at(&y, 1, &["change", "diff"]).code, Some(0));
    dying_at(&y, 2, &["change", "diff"]).ok();
    dying_at(&y, 2, &["change", "refresh"]).ok();
    // Where it is refused it leads on as it did.
    let again = y.loopx(&["change", "refresh"]).fails_with(5);
    again
        .says("nothing that the delta touches changed")
        .says("change diff");
}
