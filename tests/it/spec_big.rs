//! Big specs (T10 of the store's findings): what a command reads does not grow with the requirements that a delta
//! touches. Nothing here looks at a clock; a command that reads a spec once for each requirement does not end.

use crate::support::archive::Yard;
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
