//! The merge driver: two real branches, merged by git.

use crate::support::Sandbox;
use crate::support::changes::ACCEPTED;
use serde_json::json;

fn requirement(name: &str) -> String {
    format!(
        "\n### Requirement: {name}\nThe system SHALL {name}.\n\n#### Scenario: {name}\n- **WHEN** asked\n- **THEN** {name}\n"
    )
}

/// Two branches that each make something of the spec; `b` is checked out.
fn two_branches(s: &Sandbox, a: &str, b: &str) {
    for (branch, text) in [("a", a), ("b", b)] {
        s.git(&["switch", "--quiet", "--create", branch, "main"])
            .ok();
        s.commit_file("specs/demo/spec.md", text, branch).ok();
    }
}

fn installed() -> Sandbox {
    Sandbox::once("", || {
        let s = Sandbox::with_spec();
        s.loopx(&["spec", "install-driver"]).ok();
        s.git(&["add", ".gitattributes"]).ok();
        s.git(&["commit", "--quiet", "-m", "attributes"]).ok();
        s
    })
}

/// libgit2 has to be started where no repository is opened; else lines never merge.
#[test]
fn lines_of_one_scenario_merge_without_a_repository() {
    let s = Sandbox::empty("bare");
    let spec = |first: &str, last: &str| {
        format!(
            "# d\n\n## Purpose\n\nP.\n\n## Requirements\n\n### Requirement: R\nIt SHALL {first}\nand\nmore\nand {last}\n\n\
             #### Scenario: S\n- **WHEN** a\n- **THEN** b\n"
        )
    };
    for (name, text) in [
        ("b", spec("1", "2")),
        ("o", spec("9", "2")),
        ("t", spec("1", "8")),
    ] {
        s.write(name, text);
    }
    assert_eq!(
        s.loopx(&["spec", "merge-file", "b", "o", "t"]).ok(),
        spec("9", "8")
    );
}

/// Cases 011 and 118: both append; git alone finds a conflict.
#[test]
fn two_branches_that_append_merge_without_conflict_in_either_direction() {
    let s = Sandbox::with_spec();
    let texts = ["mail", "post"].map(|name| format!("{ACCEPTED}{}", requirement(name)));
    two_branches(&s, &texts[0], &texts[1]);
    s.git(&["merge", "--quiet", "a"])
        .fails_with(1)
        .says("CONFLICT");

    let s = installed();
    two_branches(&s, &texts[0], &texts[1]);
    s.git(&["merge", "--quiet", "--no-edit", "a"]).ok();
    let merged = s.read("specs/demo/spec.md");
    for text in [ACCEPTED, &requirement("mail"), &requirement("post")] {
        assert!(merged.contains(text), "no `{text}` in\n{merged}");
    }
    s.git(&["switch", "--quiet", "a"]).ok();
    s.git(&["merge", "--quiet", "--no-edit", "b~1"]).ok();
    s.git(&["reset", "--quiet", "--hard", "HEAD~1"]).ok();
    s.git(&["merge", "--quiet", "--no-edit", "b"]).ok();
    assert_eq!(s.read("specs/demo/spec.md"), merged, "the order mattered");
}

#[test]
fn a_real_conflict_is_marked_and_leaves_the_rest_merged() {
    let s = installed();
    let edit = |word: &str| ACCEPTED.replace("a password.", word);
    let ours = format!("{}{}", edit("a key."), requirement("mail"));
    two_branches(&s, &edit("a token."), &ours);
    s.git(&["merge", "--quiet", "a"]).fails_with(1);
    let text = s.read("specs/demo/spec.md");
    for part in [
        "<<<<<<< ours",
        "a key.",
        "||||||| base",
        "a token.",
        ">>>>>>> theirs",
        "mail",
    ] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
    assert_eq!(
        s.git(&["diff", "--name-only", "--diff-filter=U"]).line(),
        "specs/demo/spec.md"
    );
}

#[test]
fn without_the_program_git_merges_by_lines_and_bytes_are_no_obstacle() {
    let s = installed();
    two_branches(
        &s,
        &ACCEPTED.replace("on request.", "at once."),
        &ACCEPTED.replace("Sessions of", "Sessions for"),
    );
    s.call("git")
        .args(&["merge", "--quiet", "--no-edit", "a"])
        .env("PATH", s.path_without_loopx())
        .run()
        .ok();
    assert!(s.read("specs/demo/spec.md").contains("at once."));
    for (name, bytes) in [
        ("b", &b"a\xff\nb\n"[..]),
        ("o", b"a\xff\nb\nc\n"),
        ("t", b"x\na\xff\nb\n"),
    ] {
        s.write(name, bytes);
    }
    s.loopx(&["spec", "merge-driver", "b", "o", "t", "p"]).ok();
    assert_eq!(s.bytes("o"), b"x\na\xff\nb\nc\n");
    // What cannot be read is no conflict: git has to stop.
    s.loopx(&["spec", "merge-driver", "b", "o", "none", "p"])
        .fails_with(129)
        .says("none");
}

#[test]
fn installing_is_idempotent_and_uninstalling_restores_every_byte() {
    let s = Sandbox::with_spec();
    s.write(".gitattributes", "*.png binary");
    let before = s.read(".git/config");
    let dry = s.document(0, &["spec", "install-driver", "--dry-run"]);
    assert_eq!(dry["changed"], true);
    assert_eq!(s.read(".gitattributes"), "*.png binary");
    s.loopx(&["spec", "install-driver"]).ok();
    let again = s.document(0, &["spec", "install-driver"]);
    assert_eq!(again["changed"], false);
    assert_eq!(
        s.git(&["check-attr", "merge", "specs/a/b/spec.md"]).line(),
        "specs/a/b/spec.md: merge: loopx-spec"
    );
    s.loopx(&["spec", "install-driver", "--uninstall"]).ok();
    assert_eq!(s.read(".gitattributes"), "*.png binary\n");
    assert_eq!(s.read(".git/config"), before);
    assert_eq!(
        s.error(5, &["spec", "install-driver", "--uninstall"])["code"],
        "driver_not_installed"
    );
}

#[test]
fn specs_are_listed_and_shown() {
    let s = Sandbox::with_spec();
    let all = s.document(0, &["spec", "list"]);
    assert_eq!(
        all["specs"],
        json!([{ "domain": "demo", "path": "specs/demo/spec.md", "purpose": "Sessions of people.",
                 "requirements": 2, "scenarios": 2, "errors": 0 }])
    );
    s.loopx(&["spec", "list"])
        .says("demo    2 requirements    2 scenarios  Sessions of people.")
        .ok();
    assert_eq!(s.loopx(&["spec", "show", "demo"]).ok(), ACCEPTED);
    let one = s.loopx(&["spec", "show", "demo", "Signing  out"]).ok();
    assert!(one.starts_with("### Requirement: Signing out\n"), "{one}");
    assert_eq!(
        s.error(4, &["spec", "show", "demi"])["help"],
        "git loopx spec show demo"
    );
    let unknown = s.error(4, &["spec", "show", "demo", "Signing ou"]);
    assert_eq!(unknown["help"], "git loopx spec show demo 'Signing out'");
    s.git(&["clone", "--quiet", "--bare", ".", "../bare"]).ok();
    let bare = s.loopx_in("../bare", &["spec", "list", "--json"]).json();
    assert_eq!(bare["specs"][0]["requirements"], 2);
    let end = ACCEPTED.find("### Requirement: Signing out").expect("two");
    s.write("specs/demo/spec.md", &ACCEPTED[..end]);
    s.loopx(&["spec", "list"])
        .says("demo     1 requirement     1 scenario  Sessions of people.")
        .ok();
}

#[test]
fn q13_what_a_driver_needs_is_committed_from_whatever_folder() {
    let s = Sandbox::with_spec();
    s.write("below/a.txt", "a\n");
    let below = s.path().join("below");
    s.loopx_in(&below, &["spec", "install-driver"])
        .says("git add :/.gitattributes && git commit :/.gitattributes")
        .ok();
}

#[test]
fn q13_before_init_the_hints_of_specs_and_recovery_lead_to_init() {
    let s = Sandbox::new();
    s.commit_file("a.txt", "a\n", "A").ok();
    s.loopx(&["spec", "list"]).says("git loopx init").ok();
    let failure = s.error(4, &["doctor", "--recover"]);
    assert_eq!(failure["help"], "git loopx init");
}
