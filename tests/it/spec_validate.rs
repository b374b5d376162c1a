//! `spec validate` without a path: the repository's own specs.

use crate::support::Sandbox;
use crate::support::changes::adding;

#[test]
fn without_a_path_the_specs_of_the_worktree_are_checked_edits_included() {
    let s = Sandbox::with_spec();
    let found = s.document(0, &["spec", "validate"]);
    assert_eq!(
        (&found["source"], &found["files"]),
        (&"worktree".into(), &1.into())
    );
    s.document(0, &["spec", "validate", "--strict"]);
    s.spec_says("Sessions of people.", "TBD");
    s.document(0, &["spec", "validate"]);
    let strict = s.document(1, &["spec", "validate", "--strict"]);
    assert_eq!(strict["findings"][0]["id"], "placeholder_purpose");
    assert_eq!(strict["findings"][0]["file"], "specs/demo/spec.md");
    // Not committed yet, and in a folder below.
    let text = s.read("specs/demo/spec.md");
    s.write(
        "specs/demo/deep/spec.md",
        text.replace("- **THEN**", "- then"),
    );
    s.write("specs/demo/spec.md", format!("{text}\n```\nopen\n"));
    let found = s.loopx_in(s.path().join("src"), &["--json", "spec", "validate"]);
    let found = found.fails_with(1).json();
    assert_eq!(found["files"], 2);
    let all = found["findings"].to_string();
    assert!(
        all.contains("unclosed_fence") && all.contains("demo/deep"),
        "{all}"
    );
}

#[test]
fn a_bare_repository_is_checked_at_head_and_policy_says_where() {
    let s = Sandbox::with_spec();
    s.git(&["mv", "specs", "rules"]).ok();
    s.commit_file("loopx.toml", "[paths]\nspecs = \"rules\"\n", "Move")
        .ok();
    let bare = s.root().join("bare.git");
    s.git(&[
        "clone",
        "--quiet",
        "--bare",
        ".",
        bare.to_str().expect("a path"),
    ])
    .ok();
    let found = s.loopx_in(&bare, &["--json", "spec", "validate"]);
    let found = (found.json(), found.ok()).0;
    assert_eq!(
        (&found["source"], &found["files"]),
        (&"HEAD".into(), &1.into())
    );
    let none = Sandbox::new();
    assert!(
        none.loopx(&["spec", "validate"])
            .ok()
            .contains("no spec yet")
    );
}

#[test]
fn a_spec_that_no_delta_could_name_is_said() {
    let s = Sandbox::with_spec();
    s.write("specs/登录/spec.md", s.read("specs/demo/spec.md"));
    let found = s.document(1, &["spec", "validate"]);
    let finding = &found["findings"][0];
    assert_eq!(finding["id"], "bad_domain");
    assert_eq!(finding["file"], "specs/登录/spec.md");
}

/// A spec without `## Purpose`, with a requirement that no scenario shows.
const FAULTY: &str = "# demo\n\n## Requirements\n\n\
    ### Requirement: Alpha\nThe system SHALL a.\n\n#### Scenario: A\n- **WHEN** a\n- **THEN** b\n\n\
    ### Requirement: Beta\nThe system SHALL b.\n";

#[test]
fn q19_faults_that_a_delta_does_not_touch_are_warnings_as_validate_names_them() {
    let s = Sandbox::new();
    s.write("specs/demo/spec.md", FAULTY);
    let delta = |operations: &str| {
        s.write("delta.md", format!("# Domain: demo\n\n{operations}"));
        let apply = ["spec", "apply", "delta.md", "--specs", "specs", "--dry-run"];
        let found = s.document(0, &apply)["findings"].clone();
        let found = found.as_array().expect("findings").iter();
        let word = |one: &serde_json::Value| {
            let line = &one["line"];
            format!(
                "{} {} {line}",
                one["severity"].as_str().expect("a severity"),
                one["id"].as_str().expect("an id")
            )
        };
        found.map(word).collect::<Vec<_>>()
    };
    let scenario = "#### Scenario: G\n- **WHEN** a\n- **THEN** b\n";
    let added = format!(
        "## ADDED Requirements\n\n### Requirement: Gamma\nThe system SHALL c.\n\n{scenario}"
    );
    let expected = ["warning no_purpose 1", "warning no_scenario 12"];
    assert_eq!(delta(&added), expected);
    let checked = s.document(1, &["spec", "validate", "specs"]);
    let checked = checked["findings"].to_string();
    assert!(checked.contains("no_purpose") && checked.contains("no_scenario"));
    // What the delta mends, and what it takes away, is no fault behind it.
    let purpose = "## Purpose\n\nPeople.\n\n## REMOVED Requirements\n\n### Requirement: Beta\n\n**Reason**: unused\n\n**Migration**: none\n";
    let left = delta(purpose);
    assert!(
        !left.iter().any(|one| one.contains("no_scenario")),
        "{left:?}"
    );
}

#[test]
fn q19_change_validate_warns_of_what_the_delta_does_not_touch() {
    let s = Sandbox::with_spec();
    let faulty = format!(
        "{}\n### Requirement: Beta\nThe system SHALL b.\n",
        s.read("specs/demo/spec.md")
    );
    s.commit_file("specs/demo/spec.md", &faulty, "Add Beta")
        .ok();
    s.plan("one", &adding("Pears"));
    let found = s.document(0, &["change", "validate"])["sessions"][0].clone();
    assert_eq!(found["verdict"], "clean", "{found}");
    let warning = &found["warnings"][0];
    assert_eq!(
        (&warning["id"], &warning["severity"], &warning["file"]),
        (
            &"no_scenario".into(),
            &"warning".into(),
            &"specs/demo/spec.md".into()
        ),
        "{found}"
    );
}
