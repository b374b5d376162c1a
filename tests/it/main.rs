//! One test binary: every file of this folder is a module of it.

mod archive;
mod bad_input;
mod golden;
mod hooks_install;
mod hooks_policy;
mod hooks_status;
mod kill;
mod layers;
mod race;
mod readme;
mod scenario_build;
mod scenario_clarify;
mod scenario_done;
mod scenario_naming;
mod scenario_plan;
mod scenario_review;
mod scenario_transitions;
mod scenarios;
mod spec_cases;
mod spec_command;
mod spec_props;
mod support;
mod verify;
mod weakness;
mod workcopy;
mod zoo;
