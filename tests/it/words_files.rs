//! Words about files and bindings that are said at once, instead of at a gate: U17, U18.

use crate::support::clones::Clones;
use crate::support::session::{self, advance, begin};
use crate::support::{LOOPX, Sandbox};

#[test]
fn u18_everything_wrong_with_slices_and_domains_is_said_when_they_are_saved() {
    let s = Sandbox::new();
    begin(&s, "");
    advance(&s, "clarify", "plan", "src/**");
    let refused = |artifact: &str, text: &str| {
        let call = s.call(LOOPX).args(&["put", artifact]).stdin(text);
        call.run().fails_with(1)
    };
    let slice = |id: &str, rest: &str| {
        format!(
            r#"{{"id":"{id}","type":"AFK","behaviour":"x","acceptance_criteria":["x"],{rest}}}"#
        )
    };
    let two = format!(
        "[{},{}]",
        slice("A", r#""verification":[],"blocked_by":["Z"]"#),
        slice("B", r#""verification":["true"],"files":["../x"]"#)
    );
    let out = refused("slices.json", &two);
    for said in [
        "slice A has no verification command",
        "slice A is blocked by `Z`, which does not exist",
        "slice B names `../x`, which is not inside the repository",
    ] {
        assert!(out.stderr.contains(said), "{said}\n{out}");
    }
    let unread = format!(
        "[{},{}]",
        slice("A", r#""verification":"true""#),
        slice("B", r#""verification":7"#)
    );
    let out = refused("slices.json", &unread);
    for said in [
        "slice \"A\": invalid type: string",
        "slice \"B\": invalid type: integer",
    ] {
        assert!(out.stderr.contains(said), "{said}\n{out}");
    }
    let delta = |domain: &str| {
        format!(
            "# Domain: {domain}\n\n## ADDED Requirements\n\n### Requirement: X\nThe system SHALL x.\n\n\
             #### Scenario: S\n- **WHEN** a\n- **THEN** b\n"
        )
    };
    for domain in ["../../x", "a\0b", "C:"] {
        refused("spec-delta.md", &delta(domain))
            .says("change/spec-delta.md:1: ")
            .says("cannot be a domain");
    }
    session::put(&s, "spec-delta.md", &delta("auth/login"));
    let spec = session::READY_SPEC.replace("[demo]", "[demo, ../../x]");
    refused("spec.md", &spec).says("spec.md:8: \"../../x\" cannot be a domain");
}

#[test]
fn z5_a_branch_that_somebody_else_did_not_push_yet_is_no_problem_of_this_clone() {
    let all = Clones::apart(2);
    all.loopx(0, &["init"]).ok();
    all.git(0, &["switch", "--quiet", "-c", "theirs"]).ok();
    all.loopx(0, &["start", "--id", "theirs", "A thing"]).ok();
    all.sync(0).ok();
    all.sync(1).ok();
    let checks = all.loopx(1, &["doctor", "--json"]).json();
    let rows = checks["checks"].as_array().expect("checks");
    let bindings = rows.iter().find(|one| one["what"] == "bindings");
    let bindings = bindings.expect("a look at the bindings");
    assert_eq!(bindings["level"], "note", "{bindings:#}");
    assert!(
        bindings["found"].to_string().contains("Person 0"),
        "{bindings:#}"
    );
}

#[test]
fn u17_doctor_names_a_bound_branch_that_was_renamed() {
    let s = Sandbox::new();
    begin(&s, "");
    let of = |s: &Sandbox| {
        let checks = s.loopx(&["doctor", "--json"]).json();
        let all = checks["checks"].as_array().expect("checks").clone();
        let one = all.into_iter().find(|one| one["what"] == "bindings");
        one.expect("a look at the bindings")
    };
    assert_eq!(of(&s)["level"], "fine", "{:#}", of(&s));
    s.git(&["branch", "-m", "renamed"]).ok();
    let found = of(&s);
    assert_eq!(found["level"], "problem", "{found:#}");
    assert!(
        found["help"]
            .as_str()
            .is_some_and(|help| help.starts_with("git loopx use demo")),
        "{found:#}"
    );
    s.loopx(&["use", "demo"]).ok();
    assert_eq!(of(&s)["level"], "fine");
}

#[test]
fn u17_a_commit_on_a_bound_branch_that_was_renamed_is_warned() {
    let s = session::started("");
    let code = |name: &str| {
        s.write(format!("src/{name}.rs"), name);
        s.git(&["add", "."]).ok();
        s.git(&["commit", "--quiet", "-m", name])
    };
    code("early").fails_with(1);
    s.git(&["branch", "-m", "re'named"]).ok();
    let out = code("early").says(
        "warning: branch `re'named` was renamed from `demo`, the branch of session demo; the hooks check no commit here until you run: \
         git loopx use demo --branch 're'\\''named'",
    );
    out.ok();
    // Not where the name is a branch again, nor on one that was never it.
    s.git(&["branch", "demo", "main"]).ok();
    assert!(!code("two").stderr.contains("warning"));
    s.git(&["branch", "-D", "demo"]).ok();
    s.git(&["switch", "--quiet", "-c", "other", "main"]).ok();
    assert!(!code("three").stderr.contains("warning"));
    s.git(&["switch", "--quiet", "re'named"]).ok();
    s.git(&["branch", "-m", "again"]).ok();
    code("four").says("git loopx use demo --branch again").ok();
    s.loopx(&["use", "demo", "--branch", "again"]).ok();
    code("five").fails_with(1);
}

#[test]
fn u17_files_that_are_no_artifacts_are_named_by_save_and_status() {
    let s = Sandbox::new();
    begin(&s, "");
    for name in ["notes.md", "change/extra.txt", ".hidden", "spec.md~"] {
        s.write(format!(".loopx/demo/{name}"), "mine\n");
    }
    let line = "not saved: notes.md is no artifact";
    let out = s.loopx(&["save"]).says(line);
    assert_eq!(out.code, Some(5), "{out}");
    s.write(".loopx/demo/spec.md", session::READY_SPEC);
    let out = s.loopx(&["save"]).says(line);
    let out = out.says("not saved: change/extra.txt is no artifact");
    assert_eq!(out.stderr.matches("not saved").count(), 2, "{out}");
    out.ok();
    s.loopx(&["status"]).says("notes.md is no artifact").ok();
    let status = s.loopx(&["status", "--json"]).json();
    assert_eq!(
        status["not_saved"],
        serde_json::json!(["change/extra.txt", "notes.md"])
    );
}

#[test]
fn u17_a_broken_policy_in_the_worktree_is_named_before_a_session_starts_from_it() {
    let s = session::started("");
    s.write("loopx.toml", "[gates]\ntarget = \"main\"\n\nbroken = [\n");
    let told = "in the worktree: loopx.toml:4";
    for command in [&["status"][..], &["config", "show"]] {
        s.loopx(command).says(told).ok();
    }
    let quiet = s.loopx(&["config", "show", "--from", "HEAD"]);
    assert!(!quiet.stderr.contains("worktree"), "{quiet}");
    // On a branch of nobody too: that is where policy is committed.
    s.git(&["switch", "--quiet", "main"]).ok();
    s.git(&["commit", "--quiet", "-a", "-m", "policy"])
        .says(told)
        .ok();
    s.write("loopx.toml", "[gates]\ntarget = \"main\"\n");
    let fixed = s.git(&["commit", "--quiet", "-a", "-m", "fixed"]);
    assert!(!fixed.stderr.contains("warning"), "{fixed}");
}
