//! `spec validate` without a path: the repository's own specs.

use crate::support::Sandbox;

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
