//! Prompts of roles: those of the program, a repository's own, and what is wrong with one.

use crate::support::tasks::{building, planning, planning_with, refuses, task, text};
use clap::Parser;
use git_loopx::testing::Cli;
use serde_json::json;

const OWN: &str = "---\nrole: reviewer\nabout: ours\n---\n# Reviewer\n## Reads\nx\n## Writes\nx\n## Speaks\nx\n## Work\nx\n";

#[test]
fn each_role_is_listed_and_its_prompt_is_printed_byte_for_byte() {
    let s = planning(&[]);
    let listed = s.loopx(&["agent", "prompt", "--json"]).json();
    let roles = listed["roles"].as_array().expect("roles");
    assert_eq!(roles.len(), 12);
    for role in roles {
        let name = text(&role["role"]);
        let file = format!("crates/rules/src/role/prompts/{name}.md");
        let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        let wanted = std::fs::read_to_string(file).expect("a file");
        assert_eq!(s.loopx(&["agent", "prompt", &name]).ok(), wanted);
        s.loopx(&["agent", "prompt", &name, "--check"]).ok();
    }
    let error = refuses(&s, 4, "prompt_unknown", &["agent", "prompt", "reviwer"]);
    assert!(
        text(&error["help"]).contains("agent prompt reviewer"),
        "{error}"
    );
}

#[test]
fn each_command_in_a_prompt_can_be_typed() {
    for name in loopx_rules::role::names() {
        let prompt = loopx_rules::role::prompt(name).expect("a prompt");
        for said in prompt
            .split('`')
            .filter_map(|one| one.strip_prefix("git loopx "))
        {
            let words = shlex::split(said).expect(said);
            let args = ["git-loopx".to_owned()].into_iter().chain(words);
            assert!(Cli::try_parse_from(args).is_ok(), "{name}: {said}");
        }
    }
}

#[test]
fn a_prompt_of_the_repository_takes_the_place_of_the_programs_from_the_base() {
    let s = planning_with(&[("loopx/prompts/reviewer.md", OWN)], &[]);
    assert_eq!(s.loopx(&["agent", "prompt", "reviewer"]).ok(), OWN);
    // What the change does to it counts once it has landed.
    s.write("loopx/prompts/reviewer.md", "changed\n");
    assert_eq!(s.loopx(&["agent", "prompt", "reviewer"]).ok(), OWN);
    let listed = s.loopx(&["agent", "prompt", "--json"]).json();
    let roles = listed["roles"].as_array().expect("roles");
    let own = roles.iter().find(|one| one["role"] == "reviewer");
    assert_eq!(
        own.expect("it is there")["path"],
        "loopx/prompts/reviewer.md"
    );
    s.loopx(&["agent", "prompt", "--check"]).ok();
    let checked = s.loopx(&[
        "agent",
        "prompt",
        "--check",
        "loopx/prompts/reviewer.md",
        "--json",
    ]);
    let checked = checked.fails_with(1).json();
    assert_eq!(checked["findings"][0]["id"], json!("prompt_field_missing"));
}

#[test]
fn the_card_for_an_agent_names_the_prompt_of_its_role() {
    let mut one = task("A", &[], Some(&["true"]));
    one["role"] = json!("tester");
    let s = building(&[one]);
    s.loopx(&["take", "--format", "prompt"])
        .says("git loopx agent prompt tester")
        .ok();
}
