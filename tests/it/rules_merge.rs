//! The merge driver for documents of rules: real branches, merged by git.

use crate::support::Sandbox;

const PATH: &str = "docs/rules/coding-conventions.md";
const BASE: &str = "---\ntitle: C\n---\n\n# C\n\n- One\n- Two\n";

/// A repository with a document, and the drivers where they are wanted.
fn documented(installed: bool) -> Sandbox {
    Sandbox::once(format!("{installed:?}"), || {
        let s = Sandbox::new();
        s.commit_file(PATH, BASE, "base").ok();
        if installed {
            s.loopx(&["spec", "install-driver"]).ok();
            s.git(&["add", ".gitattributes"]).ok();
            s.git(&["commit", "--quiet", "-m", "attributes"]).ok();
        }
        s
    })
}

/// Two branches that each make something of the document; `b` is checked out.
fn two_branches(s: &Sandbox, a: &str, b: &str) {
    for (branch, text) in [("a", a), ("b", b)] {
        s.git(&["switch", "--quiet", "--create", branch, "main"])
            .ok();
        s.commit_file(PATH, text, branch).ok();
    }
}

#[test]
fn two_branches_that_add_rules_merge_without_a_conflict_in_either_direction() {
    let s = documented(false);
    let sides = [
        format!("{BASE}- Three\n- Four\n"),
        format!("{BASE}- four.\n- Five\n"),
    ];
    two_branches(&s, &sides[0], &sides[1]);
    s.git(&["merge", "--quiet", "a"])
        .fails_with(1)
        .says("CONFLICT");

    let s = documented(true);
    for (branch, rule) in [("a", "Three"), ("b", "Five")] {
        s.git(&["switch", "--quiet", "--create", branch, "main"])
            .ok();
        s.loopx(&["rule", "add", rule]).ok();
        s.loopx(&["rule", "add", "Four"]).ok();
        s.git(&["commit", "--quiet", "-am", branch]).ok();
    }
    s.git(&["merge", "--quiet", "--no-edit", "a"]).ok();
    let merged = s.read(PATH);
    for rule in ["One", "Two", "Three", "Four", "Five"] {
        assert_eq!(
            merged.matches(&format!("- {rule}\n")).count(),
            1,
            "{rule} in\n{merged}"
        );
    }
    s.loopx(&["rule", "check", "--strict"]).ok();
    s.git(&["switch", "--quiet", "a"]).ok();
    s.git(&["merge", "--quiet", "--no-edit", "b~1"]).ok();
    s.git(&["reset", "--quiet", "--hard", "HEAD"]).ok();
    s.git(&["switch", "--quiet", "--detach", "a"]).ok();
    s.git(&["merge", "--quiet", "--no-edit", "b"]).ok();
    assert_eq!(s.read(PATH), merged, "the order mattered");
}

#[test]
fn one_rule_in_two_ways_is_a_conflict_with_markers() {
    let s = documented(true);
    two_branches(
        &s,
        &BASE.replace("Two", "Two a"),
        &BASE.replace("Two", "Two b"),
    );
    s.git(&["merge", "--quiet", "a"]).fails_with(1);
    let text = s.read(PATH);
    for part in [
        "<<<<<<< ours",
        "- Two b",
        "||||||| base",
        "- Two\n",
        "- Two a",
        ">>>>>>> theirs",
    ] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
}

#[test]
fn without_the_program_git_merges_by_lines_and_what_cannot_be_read_stops_it() {
    let s = documented(true);
    two_branches(
        &s,
        &BASE.replace("title: C", "title: D"),
        &format!("{BASE}- Three\n"),
    );
    s.call("git")
        .args(&["merge", "--quiet", "--no-edit", "a"])
        .env("PATH", s.path_without_loopx())
        .run()
        .ok();
    assert!(s.read(PATH).contains("title: D"));
    for (name, bytes) in [
        ("b", &b"- a\xff\n- b\n"[..]),
        ("o", b"- a\xff\n- b\n- c\n"),
        ("t", b"- x\n- a\xff\n- b\n"),
    ] {
        s.write(name, bytes);
    }
    s.loopx(&["rule", "merge-driver", "b", "o", "t", "p"]).ok();
    assert_eq!(s.bytes("o"), b"- x\n- a\xff\n- b\n- c\n");
    s.loopx(&["rule", "merge-driver", "b", "o", "none", "p"])
        .fails_with(129)
        .says("none");
}

#[test]
fn the_driver_comes_and_goes_with_that_of_specs_and_doctor_misses_it() {
    let s = documented(true);
    assert_eq!(
        s.git(&["check-attr", "merge", PATH, "docs/rules/a/b.md"])
            .ok(),
        format!("{PATH}: merge: loopx-rules\ndocs/rules/a/b.md: merge: loopx-rules\n")
    );
    let level = |s: &Sandbox| {
        let looked = s.loopx(&["doctor", "--json"]).json();
        let checks = looked["checks"].as_array().expect("checks").clone();
        let found = checks.iter().find(|one| one["what"] == "merge_drivers");
        found.expect("the check")["level"].clone()
    };
    assert_eq!(level(&s), "fine");
    // Configuration does not come with a clone.
    s.git(&["config", "--remove-section", "merge.loopx-rules"])
        .ok();
    assert_eq!(level(&s), "note");
    s.loopx(&["spec", "install-driver"]).ok();
    assert_eq!(level(&s), "fine");
    s.loopx(&["spec", "install-driver", "--uninstall"]).ok();
    assert!(!s.read(".git/config").contains("loopx"));
    assert!(!s.path().join(".gitattributes").exists());
}
