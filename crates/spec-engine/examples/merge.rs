//! Two people change one spec apart: one adds a scenario, the other one a requirement. Both are kept.
#![allow(clippy::print_stdout, reason = "an example shows what it found")]

use loopx_spec::{LineMerge, MarkerNames, merge_spec, read_spec};

const BASE: &str = "\
# Timeouts

## Purpose
How long a form stays open.

## Requirements

### Requirement: Idle form
The form SHALL stay open for 30 seconds.

#### Scenario: Nobody types
- **WHEN** nobody types for 30 seconds
- **THEN** the form closes
";

const SCENARIO: &str = "
#### Scenario: Somebody types
- **WHEN** somebody types
- **THEN** the form stays open
";

const REQUIREMENT: &str = "
### Requirement: Warning
The form SHALL warn 5 seconds before it closes.

#### Scenario: Almost over
- **WHEN** 25 seconds are over
- **THEN** a warning is shown
";

/// Lines that both sides changed are nobody's: enough where steps are short.
struct OneSide;

impl LineMerge for OneSide {
    fn merge(&self, base: &str, ours: &str, theirs: &str) -> Option<String> {
        if ours == theirs || theirs == base {
            Some(ours.to_owned())
        } else if ours == base {
            Some(theirs.to_owned())
        } else {
            None
        }
    }
}

fn main() {
    let ours = format!("{BASE}{SCENARIO}");
    let theirs = format!("{BASE}{REQUIREMENT}");
    let merged = merge_spec(BASE, &ours, &theirs, &OneSide, MarkerNames::default());
    assert!(merged.conflicts.is_empty(), "{:?}", merged.conflicts);

    let spec = read_spec(merged.text.as_bytes(), "specs/timeouts/spec.md").expect("UTF-8");
    for requirement in &spec.requirements {
        let scenarios = requirement.scenarios.len();
        println!("{}: {scenarios} scenario(s)", requirement.name);
    }
}
