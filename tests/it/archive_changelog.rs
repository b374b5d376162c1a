//! Changelog fragments: one file for each archived session, put together when somebody asks for it.

use crate::support::Sandbox;
use crate::support::changes::{adding, signing_in};

const ON: &str = "[changelog]\nfragments = \"changelog.d\"\n";

/// Two sessions that are done under this policy; `main` is checked out.
fn done(policy: &str) -> Sandbox {
    Sandbox::once(format!("{policy:?}"), || {
        let s = Sandbox::with_spec();
        s.commit_file("loopx.toml", policy, "Say the policy").ok();
        s.plan("one", &signing_in("The system SHALL ask for a key."));
        s.finish("one");
        s.plan("two", &adding("Pears"));
        s.finish("two");
        s.git(&["switch", "--quiet", "main"]).ok();
        s
    })
}

const BOTH: [&str; 5] = ["archive", "one", "two", "--onto", "main"];

#[test]
fn each_archive_brings_a_fragment_and_they_go_into_the_changelog_together() {
    let s = done(ON);
    let made = s.document(0, &BOTH);
    assert_eq!(
        made["sessions"][0]["files"][1]["path"],
        "changelog.d/one.md"
    );
    let first = s.git(&["show", "--format=", "--name-only", "main~1"]).ok();
    assert_eq!(first, "changelog.d/one.md\nspecs/demo/spec.md\n");
    assert_eq!(
        s.read("changelog.d/one.md"),
        "### Changed\n\n- demo: Signing in. The system SHALL ask for a key.\n"
    );
    assert_eq!(s.git(&["status", "--porcelain"]).ok(), "");
    s.document(0, &["spec", "drift"]);
    let shown = s.document(0, &["spec", "changelog"]);
    assert_eq!(shown["fragments"].as_array().map(Vec::len), Some(2));
    assert_eq!(
        shown["sections"]["Added"][0],
        "- demo: Pears. The system SHALL have it."
    );
    assert_eq!(s.git(&["status", "--porcelain"]).ok(), "", "showing wrote");
    let outside = s.root().join("x.md").display().to_string();
    for file in ["../x.md", outside.as_str(), ".git/x.md", "a/../../x.md"] {
        let error = s.error(2, &["spec", "changelog", "--write", "--file", file]);
        assert_eq!(error["code"], "changelog_outside", "{error:#}");
    }
    assert!(s.exists("changelog.d/one.md") && !s.root().join("x.md").exists());
    let old = "# Changelog\n\n## [1.0.0] - 2026-01-01\n\n### Added\n\n- demo\n";
    s.write("CHANGELOG.md", old);
    let written = s.document(0, &["spec", "changelog", "--write"]);
    assert_eq!(written["written"], "CHANGELOG.md");
    assert_eq!(
        s.read("CHANGELOG.md"),
        old.replace(
            "## [1.0.0]",
            "## [Unreleased]\n\n### Added\n\n- demo: Pears. The system SHALL have it.\n\n### Changed\n\n\
             - demo: Signing in. The system SHALL ask for a key.\n\n## [1.0.0]"
        )
    );
    assert!(!s.exists("changelog.d/one.md") && !s.exists("changelog.d/two.md"));
    assert_eq!(s.error(5, &["spec", "changelog"])["code"], "no_fragments");
}

#[test]
fn a_fragment_goes_with_the_archive_that_is_taken_back_unless_somebody_edited_it() {
    let s = done(ON);
    s.document(0, &BOTH);
    s.document(0, &["archive", "--undo", "two"]);
    assert!(!s.exists("changelog.d/two.md") && s.exists("changelog.d/one.md"));
    s.commit_file("changelog.d/one.md", "### Changed\n\n- mine\n", "Edit")
        .ok();
    let before = s.git(&["for-each-ref"]).ok();
    let failure = s.error(3, &["archive", "--undo", "one"]);
    assert_eq!(failure["blockers"][0]["code"], "file_edited");
    assert_eq!(s.git(&["for-each-ref"]).ok(), before);
    assert_eq!(s.read("changelog.d/one.md"), "### Changed\n\n- mine\n");
    // Where the changelog has taken it in, the spec alone goes back.
    s.document(0, &["spec", "changelog", "--write"]);
    s.git(&["add", "--all"]).ok();
    s.git(&["commit", "--quiet", "-m", "Changelog"]).ok();
    s.document(0, &["archive", "--undo", "one"]);
    assert!(s.read("CHANGELOG.md").contains("- mine\n"));
}

#[test]
fn a_file_in_the_place_of_a_fragment_is_never_written_over() {
    let s = done(ON);
    let before = s.git(&["for-each-ref"]).ok();
    s.write("changelog.d/one.md", "mine\n");
    assert_eq!(s.error(1, &BOTH)["code"], "spec_dirty");
    s.git(&["add", "."]).ok();
    assert_eq!(s.error(1, &BOTH)["code"], "spec_dirty");
    assert_eq!(s.git(&["for-each-ref"]).ok(), before);
    s.git(&["commit", "--quiet", "-m", "Mine"]).ok();
    for dry in [&[][..], &["-n"]] {
        let failure = s.error(1, &[&BOTH[..], dry].concat());
        assert_eq!(failure["code"], "changelog_fragment_exists");
    }
    assert_eq!(s.read("changelog.d/one.md"), "mine\n");
    let failure = s.error(1, &["spec", "changelog", "--write"]);
    assert_eq!(failure["code"], "changelog_fragment_invalid");
    assert!(!s.exists("CHANGELOG.md"));
}

#[test]
fn without_policy_there_is_no_fragment() {
    let s = done("[changelog]\n");
    s.document(0, &BOTH);
    let paths = s.git(&["ls-tree", "-r", "--name-only", "main"]).ok();
    assert!(!paths.contains("changelog"), "{paths}");
    assert_eq!(s.error(1, &["spec", "changelog"])["code"], "changelog_off");
    s.commit_file("loopx.toml", "[changelog]\nfragments = \"../x\"\n", "Bad")
        .ok();
    assert_eq!(s.error(2, &["spec", "changelog"])["code"], "policy_invalid");
}
