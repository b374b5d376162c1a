//! `git loopx spec` as a program: exit codes, files, all or nothing; and the grammar of deltas end to end.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const SPEC: &str = "# demo Specification\n\n## Purpose\nWhat it is for.\n\n## Requirements\n\n\
### Requirement: Login\nThe system SHALL let a known user log in.\n\n\
#### Scenario: Good\n- **WHEN** the password is right\n- **THEN** the user is in\n\n\
#### Scenario: Bad\n- **WHEN** the password is wrong\n- **THEN** the user is out\n\n\
### Requirement: Logout\n<!-- id: logout -->\nThe system SHALL let a user log out.\n\n\
#### Scenario: Out\n- **WHEN** the user leaves\n- **THEN** the session ends\n";

/// The program as CI calls it: with the codes of what it finds.
fn loopx(dir: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_git-loopx"))
        .current_dir(dir)
        .env_clear()
        .args(args)
        .arg("-v")
        .output()
        .expect("run git-loopx")
}

fn code(output: &Output) -> i32 {
    output.status.code().expect("an exit code")
}

/// A folder with `specs/demo/spec.md` and `delta.md`.
fn sandbox(delta: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    fs::create_dir_all(dir.path().join("specs/demo")).expect("a folder");
    fs::write(dir.path().join("specs/demo/spec.md"), SPEC).expect("write");
    fs::write(dir.path().join("delta.md"), delta).expect("write");
    dir
}

fn spec(dir: &tempfile::TempDir) -> String {
    fs::read_to_string(dir.path().join("specs/demo/spec.md")).expect("read")
}

#[test]
fn z16_no_control_character_of_a_spec_reaches_the_terminal() {
    let dir = sandbox(
        "# Domain: demo\n\n## ADDED Requirements\n\n### Requirement: A\u{1b}[31mB\nIt is.\n",
    );
    let text = "# bad\n\n## Requirements\n\n### Requirement: A\u{1b}[31mB\nThe system SHALL x.\n";
    fs::create_dir_all(dir.path().join("specs/b\u{1b}d")).expect("a folder");
    fs::write(dir.path().join("specs/b\u{1b}d/spec.md"), text).expect("write");
    for args in [
        &["spec", "validate", "specs"][..],
        &["spec", "parse", "specs/b\u{1b}d/spec.md"],
        &["spec", "parse", "--delta", "delta.md"],
    ] {
        let output = loopx(dir.path(), args);
        assert!(
            String::from_utf8_lossy(&output.stdout).contains("^["),
            "{args:?}: {output:?}"
        );
        for said in [&output.stdout, &output.stderr] {
            assert!(!said.contains(&0x1b), "{args:?}: {output:?}");
        }
    }
}

/// Applies a delta of the domain `demo` and gives the spec after it.
fn applied(delta: &str) -> String {
    let dir = sandbox(&format!("# Domain: demo\n\n{delta}"));
    let output = loopx(
        dir.path(),
        &["spec", "apply", "delta.md", "--specs", "specs"],
    );
    assert_eq!(
        code(&output),
        0,
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    spec(&dir)
}

/// Applies a delta that is refused and gives what was said.
fn refused(delta: &str) -> String {
    let dir = sandbox(delta);
    let output = loopx(
        dir.path(),
        &["spec", "apply", "delta.md", "--specs", "specs"],
    );
    assert_eq!(
        code(&output),
        1,
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(spec(&dir), SPEC);
    String::from_utf8(output.stderr).expect("UTF-8")
}

#[test]
fn a_patch_leaves_what_it_does_not_name() {
    let text = applied(
        "## MODIFIED Requirements\n\n### Requirement: Login\n\n\
         #### ADDED Scenario: Slow\n- **WHEN** it takes long\n- **THEN** a bar is shown\n\n\
         #### RENAMED Scenario: Bad -> Wrong password\n",
    );
    let new = "#### Scenario: Wrong password\n- **WHEN** the password is wrong\n\
               - **THEN** the user is out\n\n#### Scenario: Slow\n- **WHEN** it takes long\n\
               - **THEN** a bar is shown\n";
    let old = "#### Scenario: Bad\n- **WHEN** the password is wrong\n- **THEN** the user is out\n";
    assert_eq!(text, SPEC.replace(old, new));
}

#[test]
fn a_patch_modifies_removes_and_rewrites_the_text() {
    let text = applied(
        "## MODIFIED Requirements\n\n### Requirement: Login\nThe system MUST check.\n\n\
         #### MODIFIED Scenario: Good\n- **WHEN** the key is right\n- **THEN** the user is in\n\n\
         #### REMOVED Scenario: Bad\n",
    );
    assert!(text.contains(
        "### Requirement: Login\nThe system MUST check.\n\n#### Scenario: Good\n\
         - **WHEN** the key is right\n- **THEN** the user is in\n\n### Requirement: Logout\n"
    ));
}

#[test]
fn scenarios_swap_their_names() {
    let text = applied(
        "## MODIFIED Requirements\n\n### Requirement: Login\n\n\
         #### RENAMED Scenario: Good -> Bad\n\n#### RENAMED Scenario: Bad -> Good\n",
    );
    assert!(text.contains("#### Scenario: Bad\n- **WHEN** the password is right"));
    assert!(text.contains("#### Scenario: Good\n- **WHEN** the password is wrong"));
}

#[test]
fn a_text_alone_keeps_the_scenarios() {
    let text = applied("## MODIFIED Requirements\n\n### Requirement: Login\nIt MUST be quick.\n");
    let old = "The system SHALL let a known user log in.";
    assert_eq!(text, SPEC.replace(old, "It MUST be quick."));
}

#[test]
fn an_addition_stands_where_it_wants() {
    let block = "The system SHALL reset.\n\n#### Scenario: R\n- **THEN** it is reset\n";
    let text = applied(&format!(
        "## ADDED Requirements\n\n### Requirement: Reset\nAfter: Login\n{block}\n\
         ### Requirement: Last\n{block}"
    ));
    let at = |name: &str| text.find(name).expect("there");
    assert!(at("Login") < at("Reset") && at("Reset") < at("Logout") && at("Logout") < at("Last"));
    assert!(!text.contains("After:"), "{text}");
    assert!(text.ends_with("- **THEN** it is reset\n"), "{text}");
    // Nothing but the line of the hint goes, wherever it stands.
    for gap in ["", "\n"] {
        let text = applied(&format!(
            "## ADDED Requirements\n\n### Requirement: Reset\n{gap}After: Login\n{gap}{block}"
        ));
        let wanted = format!("### Requirement: Reset\n{gap}{block}");
        assert!(text.contains(&wanted), "no\n{wanted}in\n{text}");
    }
}

/// A list in front of an indented heading takes it in; a line in front of a setext one, too.
#[test]
fn what_a_delta_does_not_touch_is_read_as_before_or_nothing_is_written() {
    for next in [
        "   ### Requirement: Next\nIt SHALL be next.\n\n#### Scenario: N\n- **WHEN** x\n- **THEN** y\n",
        "  ## Notes\n\nSome.\n",
    ] {
        let steps = "- **WHEN** the user leaves\n- **THEN** the session ends";
        let dir = sandbox(
            "# Domain: demo\n\n## MODIFIED Requirements\n\n### Requirement: Logout\n\n\
             #### ADDED Scenario: New\n- **WHEN** x\n- **THEN** y\n",
        );
        let old = format!("{}\n{next}", SPEC.replace(steps, "The session ends."));
        fs::write(dir.path().join("specs/demo/spec.md"), &old).expect("write");
        let args = ["spec", "apply", "delta.md", "--specs", "specs"];
        let output = loopx(dir.path(), &args);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(code(&output), 1, "{said}\n{}", spec(&dir));
        assert!(said.contains("heading_taken_in"), "{said}");
        assert_eq!(spec(&dir), old);
    }
}

#[test]
fn an_id_is_the_identity_and_survives_a_rename() {
    let text = applied(
        "## RENAMED Requirements\n\n- FROM: `### Requirement: Logout`\n- TO: `Leave`\n\n\
         ## MODIFIED Requirements\n\n### Requirement: Leave\nThe system SHALL let go.\n",
    );
    let new = "### Requirement: Leave\n<!-- id: logout -->\nThe system SHALL let go.\n";
    let old =
        "### Requirement: Logout\n<!-- id: logout -->\nThe system SHALL let a user log out.\n";
    assert_eq!(text, SPEC.replace(old, new));
}

#[test]
fn a_purpose_is_part_of_the_delta() {
    let text = applied("## Purpose\n\nSomething else.\n");
    assert_eq!(text, SPEC.replace("What it is for.", "Something else."));
}

#[test]
fn one_file_has_several_domains_all_or_none() {
    let new = "## Purpose\nNew.\n\n## ADDED Requirements\n\n### Requirement: N\nIt SHALL n.\n\n\
               #### Scenario: S\n- **THEN** n\n";
    let bad = "## REMOVED Requirements\n\n### Requirement: Logn\n";
    let delta = format!("# Domain: a/b\n\n{new}\n# Domain: demo\n\n{bad}");
    let said = refused(&delta);
    assert!(said.contains("missing_requirement") && said.contains("the nearest is `Login`"));
    let dir = sandbox(&delta.replace("Logn", "Login"));
    let args = ["spec", "apply", "delta.md", "--specs", "specs", "--json"];
    let output = loopx(dir.path(), &args);
    assert_eq!(code(&output), 0);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(json["domains"][0]["action"], "create");
    let text = fs::read_to_string(dir.path().join("specs/a/b/spec.md")).expect("read");
    assert_eq!(
        text,
        "# a/b Specification\n\n## Purpose\nNew.\n\n## Requirements\n\n\
         ### Requirement: N\nIt SHALL n.\n\n#### Scenario: S\n- **THEN** n\n"
    );
}

#[test]
fn front_matter_names_a_single_domain() {
    let delta = "---\ndomain: demo\ndepends_on: [other]\n---\n# Any title\n\n\
                 ## REMOVED Requirements\n\n- `### Requirement: Login`\n";
    let dir = sandbox(delta);
    let output = loopx(
        dir.path(),
        &["spec", "apply", "delta.md", "--specs", "specs"],
    );
    assert_eq!(code(&output), 0);
    assert!(!spec(&dir).contains("### Requirement: Login\n"));
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    let mut all = String::new();
    for (delta, id) in [
        (
            "# Domain: ../x\n## REMOVED Requirements\n### Requirement: A\n",
            "bad_domain delta.md:1:",
        ),
        (
            "## REMOVED Requirements\n### Requirement: Login\n",
            "no_domain delta.md:1:",
        ),
        (
            "# Domain: demo\n## MODIFIED Requirements\n### Requirement: Login\nx SHALL\n\n\
          #### Scenario: Good\n- **THEN** x\n\n#### ADDED Scenario: C\n- **THEN** x\n",
            "mixed_scenarios delta.md:9:",
        ),
        (
            "# Domain: demo\n## MODIFIED Requirements\n### Requirement: Login\n#### REMOVED Scenario: Godo\n",
            "missing_scenario delta.md:3:",
        ),
        (
            "# Domain: demo\n## RENAMED Requirements\n- FROM: Login\n- TO: Logout\n",
            "requirement_exists delta.md:3:",
        ),
        (
            "# Domain: demo\n## RENAMED Requirements\n- FROM: Login\n",
            "rename_unpaired delta.md:3:",
        ),
        (
            "# Domain: demo\n## REMOVED Requirements\n### Requirement: Login\n\n\
          ## MODIFIED Requirements\n### Requirement: Login\nx MUST\n",
            "duplicate_operation delta.md:6:",
        ),
        (
            "# Domain: demo\n## ADDED Requirements\n### Requirement: Login\nOther MUST.\n\n\
          #### Scenario: G\n- **THEN** x\n",
            "requirement_exists delta.md:3:",
        ),
    ] {
        let said = refused(delta);
        let id = id.replace(
            "missing_scenario delta.md:3:",
            "missing_scenario delta.md:4:",
        );
        assert!(said.contains(&id), "{id}\n{said}");
        all.push_str(&format!("{delta}--- {said}\n"));
    }
    insta::assert_snapshot!(all, @"
    # Domain: ../x
    ## REMOVED Requirements
    ### Requirement: A
    --- refused: the delta cannot be applied: 1 error [delta_invalid]
      bad_domain delta.md:1: `../x` cannot be a domain: `..` leads out of the folder of specs
        name the folder of the spec below the folder of specs, as `auth/login`

    ## REMOVED Requirements
    ### Requirement: Login
    --- refused: the delta cannot be applied: 1 error [delta_invalid]
      no_domain delta.md:1: the delta does not say which domain it changes
        start it with `# Domain: PATH`, or with front matter `domain: PATH`

    # Domain: demo
    ## MODIFIED Requirements
    ### Requirement: Login
    x SHALL

    #### Scenario: Good
    - **THEN** x

    #### ADDED Scenario: C
    - **THEN** x
    --- refused: the delta cannot be applied: 1 error [delta_invalid]
      mixed_scenarios delta.md:9: `Login` replaces the whole requirement, as it has plain scenarios; ADDED and MODIFIED scenarios are for a requirement that keeps the rest
        mark every scenario, or none but the REMOVED and RENAMED ones

    # Domain: demo
    ## MODIFIED Requirements
    ### Requirement: Login
    #### REMOVED Scenario: Godo
    --- refused: the delta cannot be applied: 1 error [delta_invalid]
      missing_scenario delta.md:4: requirement `Login` has no scenario `Godo`
        write the name of a scenario that it has

    # Domain: demo
    ## RENAMED Requirements
    - FROM: Login
    - TO: Logout
    --- refused: the delta cannot be applied: 1 error [delta_invalid]
      requirement_exists delta.md:3: the spec `demo` has a requirement `Logout` already
        put it below `## MODIFIED Requirements`, or choose another name

    # Domain: demo
    ## RENAMED Requirements
    - FROM: Login
    --- refused: the delta cannot be applied: 1 error [delta_invalid]
      rename_unpaired delta.md:3: a FROM line has no TO line, or a TO line no FROM line
        write `- FROM: ...` and below it `- TO: ...`

    # Domain: demo
    ## REMOVED Requirements
    ### Requirement: Login

    ## MODIFIED Requirements
    ### Requirement: Login
    x MUST
    --- refused: the delta cannot be applied: 1 error [delta_invalid]
      duplicate_operation delta.md:6: `Login` is named by two operations, on lines 3 and 6
        say in one operation what happens to it

    # Domain: demo
    ## ADDED Requirements
    ### Requirement: Login
    Other MUST.

    #### Scenario: G
    - **THEN** x
    --- refused: the delta cannot be applied: 1 error [delta_invalid]
      requirement_exists delta.md:3: the spec `demo` has a requirement `Login` already
        put it below `## MODIFIED Requirements`, or choose another name
    ");
}

#[test]
fn bytes_that_are_not_text_are_refused() {
    let dir = sandbox("");
    fs::write(dir.path().join("delta.md"), b"# Domain: demo\n\xff\n").expect("write");
    let output = loopx(
        dir.path(),
        &["spec", "apply", "delta.md", "--specs", "specs"],
    );
    assert_eq!(code(&output), 1);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("not_utf8 delta.md:2:"), "{said}");
}

#[test]
fn a_conflict_exits_with_3_and_writes_only_what_was_asked() {
    let delta =
        "# Domain: demo\n## MODIFIED Requirements\n### Requirement: Login\nIt MUST be quick.\n";
    let dir = sandbox(delta);
    let base = dir.path().join("base/demo");
    fs::create_dir_all(&base).expect("a folder");
    fs::write(base.join("spec.md"), SPEC).expect("write");
    let now = SPEC.replace("let a known user log in", "ask twice");
    fs::write(dir.path().join("specs/demo/spec.md"), &now).expect("write");
    let args = [
        "spec",
        "apply",
        "delta.md",
        "--specs",
        "specs",
        "--base",
        "base",
        "--conflicts",
        "c.md",
    ];
    // With --json one document has the sides and their places.
    let output = loopx(dir.path(), &[&["--json"], &args[..7]].concat());
    assert_eq!(code(&output), 3);
    assert!(output.stdout.is_empty() && !dir.path().join("c.md").exists());
    let json: serde_json::Value = serde_json::from_slice(&output.stderr).expect("one document");
    let error = &json["error"];
    assert_eq!(
        (&error["code"], &error["exit"]),
        (&"spec_conflict".into(), &3.into())
    );
    let conflict = &error["conflicts"][0];
    let sides = ["kind", "domain", "requirement", "base", "ours", "theirs"]
        .map(|key| conflict[key].as_str());
    let wanted = [
        "modify/modify",
        "demo",
        "Login",
        "The system SHALL let a known user log in.",
        "It MUST be quick.",
        "The system SHALL ask twice.",
    ];
    assert_eq!(sides.map(|side| side.map(str::trim_end)), wanted.map(Some));
    assert_eq!(conflict["line"], 9);
    let output = loopx(dir.path(), &args);
    assert_eq!(code(&output), 3);
    assert_eq!(spec(&dir), now);
    let text = fs::read_to_string(dir.path().join("c.md")).expect("read");
    assert!(text.contains(
        "<<<<<<< delta\nIt MUST be quick.\n||||||| base\nThe system SHALL let a known user log in.\n\
         =======\nThe system SHALL ask twice.\n>>>>>>> target\n"
    ));
}

/// Applies a delta that was written against `base` to `target` and gives the spec after it.
fn applied_onto(base: &str, target: &str, delta: &str) -> String {
    let dir = sandbox(&format!("# Domain: demo\n\n{delta}"));
    fs::create_dir_all(dir.path().join("base/demo")).expect("a folder");
    fs::write(dir.path().join("base/demo/spec.md"), base).expect("write");
    fs::write(dir.path().join("specs/demo/spec.md"), target).expect("write");
    let args = [
        "spec", "apply", "delta.md", "--specs", "specs", "--base", "base",
    ];
    let output = loopx(dir.path(), &args);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(code(&output), 0, "{said}");
    spec(&dir)
}

#[test]
fn e03_sections_that_a_delta_does_not_touch_stay_where_the_target_has_them() {
    let base = "# demo\n\n## Purpose\nP.\n\n## Command Syntax\n`demo`\n\n## Behavior\nText.\n";
    let target = "# demo\n\n## Purpose\nP.\n\n## Command Syntax\n`demo`\n\n## Requirements\n\n\
        ### Requirement: Known\nIt MUST.\n\n#### Scenario: S\n- **THEN** old\n\n## Exit codes\n0\n";
    let new = "### Requirement: New\nIt MUST too.\n\n#### Scenario: S\n- **THEN** new\n";
    let made = applied_onto(base, target, &format!("## ADDED Requirements\n\n{new}"));
    let wanted = target.replace("## Exit codes", &format!("{new}\n## Exit codes"));
    assert_eq!(made, wanted);
}

#[test]
fn e04_what_goes_and_what_comes_stand_alike_in_either_order() {
    let one = |name: &str| {
        format!(
            "### Requirement: {name}\nThe system SHALL do it.\n\n\
             #### Scenario: S\n- **WHEN** asked\n- **THEN** {name}\n"
        )
    };
    let head = "# demo\n\n## Purpose\nP.\n\n## Requirements\n";
    let list = |names: &[&str]| {
        let blocks: Vec<String> = names
            .iter()
            .map(|name| format!("\n{}", one(name)))
            .collect();
        format!("{head}{}", blocks.concat())
    };
    let base = list(&["Alpha", "Beta", "Gamma"]);
    let a = format!("## ADDED Requirements\n\n{}", one("New"));
    let c = format!(
        "## REMOVED Requirements\n\n### Requirement: Gamma\n**Reason**: old\n\n\
         ## ADDED Requirements\n\n{}",
        one("Zeta")
    );
    let onto_a = applied_onto(&base, &applied_onto(&base, &base, &a), &c);
    let onto_c = applied_onto(&base, &applied_onto(&base, &base, &c), &a);
    assert_eq!(onto_a, onto_c);
}

#[test]
fn a_dry_run_shows_and_does_not_write() {
    let dir = sandbox("# Domain: demo\n## REMOVED Requirements\n### Requirement: Login\n");
    let args = ["spec", "apply", "delta.md", "--specs", "specs", "--dry-run"];
    let output = loopx(dir.path(), &args);
    assert_eq!(code(&output), 0);
    assert_eq!(spec(&dir), SPEC);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("--- a/demo/spec.md") && said.contains("-### Requirement: Login"));
}

#[test]
fn the_last_requirement_takes_the_spec_with_it_when_that_is_said() {
    let delta = "# Domain: demo\n## REMOVED Requirements\n### Requirement: Login\n### Requirement: Logout\n";
    assert!(refused(delta).contains("last_requirement"));
    let dir = sandbox(&format!("---\nretire: true\n---\n{delta}"));
    let output = loopx(
        dir.path(),
        &["spec", "apply", "delta.md", "--specs", "specs"],
    );
    assert_eq!(code(&output), 0);
    assert!(!dir.path().join("specs/demo").exists());
}

#[test]
fn files_are_merged_by_requirement() {
    let dir = tempfile::tempdir().expect("a folder");
    let add = |name: &str| {
        format!(
            "{SPEC}\n### Requirement: {name}\nIt SHALL {name}.\n\n#### Scenario: S\n- **THEN** x\n"
        )
    };
    for (file, text) in [
        ("b.md", SPEC.to_owned()),
        ("o.md", add("Zeta")),
        ("t.md", add("Eta")),
    ] {
        fs::write(dir.path().join(file), text).expect("write");
    }
    let args = ["spec", "merge-file", "b.md", "o.md", "t.md", "-o", "out.md"];
    let output = loopx(dir.path(), &args);
    assert_eq!(code(&output), 0, "{output:?}");
    let text = fs::read_to_string(dir.path().join("out.md")).expect("read");
    let (eta, zeta) = (
        text.find("Eta").expect("Eta"),
        text.find("Zeta").expect("Zeta"),
    );
    assert!(eta < zeta && text.starts_with(SPEC));
    fs::write(
        dir.path().join("t.md"),
        add("Zeta").replace("It SHALL", "It MUST"),
    )
    .expect("write");
    let output = loopx(
        dir.path(),
        &["spec", "merge-file", "b.md", "o.md", "t.md", "--json"],
    );
    assert_eq!(code(&output), 3);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(json["conflicts"][0]["kind"], "add/add");
    assert_eq!(json["conflicts"][0]["requirement"], "Zeta");
}

#[test]
fn q17_a_result_goes_through_links_pipes_and_devices_and_takes_the_place_of_none() {
    use std::os::unix::fs::{FileTypeExt, symlink};
    let dir = sandbox("");
    let at = |name: &str| dir.path().join(name);
    fs::write(at("a.md"), SPEC).expect("a file");
    fs::write(at("real.md"), "old").expect("a file");
    symlink("real.md", at("link.md")).expect("a link");
    symlink("made.md", at("dangling.md")).expect("a link");
    // A link, so that no fault reaches the device itself.
    symlink("/dev/full", at("full")).expect("a link");
    let merge = |name: &str| {
        let args = ["spec", "merge-file", "a.md", "a.md", "a.md", "-o", name];
        loopx(dir.path(), &args)
    };
    for (link, file) in [("link.md", "real.md"), ("dangling.md", "made.md")] {
        assert_eq!(code(&merge(link)), 0);
        assert_eq!(fs::read_to_string(at(file)).expect(file), SPEC);
    }
    let full = merge("full");
    assert_eq!(code(&full), 74);
    let said = String::from_utf8_lossy(&full.stderr).into_owned();
    assert!(said.contains("full could not be written"), "{said}");
    for link in ["link.md", "dangling.md", "full"] {
        let meta = fs::symlink_metadata(at(link)).expect(link);
        assert!(meta.is_symlink(), "{link}");
    }
    let made = Command::new("mkfifo").arg(at("pipe")).status();
    assert!(made.expect("mkfifo").success());
    let pipe = at("pipe");
    let reader = std::thread::spawn(move || fs::read_to_string(pipe).expect("what came"));
    assert_eq!(code(&merge("pipe")), 0);
    assert_eq!(reader.join().expect("a reader"), SPEC);
    let meta = fs::symlink_metadata(at("pipe")).expect("the pipe");
    assert!(meta.file_type().is_fifo());
    assert_eq!(code(&merge("specs")), 1);
    // A spec that is a pipe is not waited for.
    fs::remove_file(at("specs/demo/spec.md")).expect("the spec");
    fs::rename(at("pipe"), at("specs/demo/spec.md")).expect("a pipe");
    fs::write(
        at("delta.md"),
        "# Domain: demo\n\n## REMOVED Requirements\n\n### Requirement: X\n",
    )
    .expect("a delta");
    let args = ["spec", "apply", "delta.md", "--specs", "specs"];
    assert_eq!(code(&loopx(dir.path(), &args)), 1);
}

#[test]
fn q18_a_requirement_above_the_first_section_is_refused() {
    let early =
        "### Requirement: Lost one\nIt SHALL be lost.\n\n#### Scenario: S\n- **THEN** x\n\n";
    let new = "## ADDED Requirements\n\n### Requirement: New\nIt SHALL n.\n\n#### Scenario: S\n- **THEN** n\n";
    for delta in [
        format!("{early}# Domain: demo\n\n{new}"),
        format!("---\ndomain: demo\n---\n{early}{new}"),
    ] {
        let said = refused(&delta);
        assert!(
            said.contains("requirement `Lost one` stands above"),
            "{said}"
        );
        assert!(said.contains("## ADDED Requirements"), "{said}");
    }
    let dir = sandbox("");
    fs::write(
        dir.path().join("specs/demo/spec.md"),
        format!("{early}{SPEC}"),
    )
    .expect("a spec");
    let output = loopx(dir.path(), &["spec", "validate", "specs/demo/spec.md"]);
    assert_eq!(code(&output), 1);
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(said.contains("requirement_outside_section"), "{said}");
}

#[test]
fn what_is_read_is_shown_and_checked() {
    let dir = sandbox("# Domain: demo\n## RENAMED Requirements\n- FROM: Login\n- TO: Enter\n");
    let output = loopx(
        dir.path(),
        &["spec", "parse", "specs/demo/spec.md", "--json"],
    );
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(json["requirements"][1]["id"], "logout");
    assert_eq!(
        json["requirements"][0]["scenarios"][0]["steps"][1]["word"],
        "then"
    );
    let output = loopx(
        dir.path(),
        &["spec", "parse", "delta.md", "--delta", "--json"],
    );
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(json["domains"][0]["operations"][0]["to"], "Enter");
    assert_eq!(code(&loopx(dir.path(), &["spec", "validate", "specs"])), 0);
    fs::write(dir.path().join("bad.md"), "## Requirements\n\n```\n").expect("write");
    let output = loopx(dir.path(), &["spec", "validate", "bad.md"]);
    assert_eq!(code(&output), 1);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("bad.md:3: error unclosed_fence:"), "{said}");
    assert_eq!(
        code(&loopx(dir.path(), &["spec", "validate", "none.md"])),
        4
    );
}

#[test]
fn a_delta_takes_the_line_endings_of_the_spec() {
    let delta = "# Domain: demo\n\n## Purpose\n\nTwo\nlines.\n\n## MODIFIED Requirements\n\n\
                 ### Requirement: Login\nIt MUST check.\n\n#### Scenario: Good\n- **THEN** yes\n\n\
                 #### REMOVED Scenario: Bad\n";
    let crlf = |text: &str| text.replace('\n', "\r\n");
    let run = |delta: &str, spec_text: &str| {
        let dir = sandbox(delta);
        fs::write(dir.path().join("specs/demo/spec.md"), spec_text).expect("write");
        let args = ["spec", "apply", "delta.md", "--specs", "specs"];
        assert_eq!(code(&loopx(dir.path(), &args)), 0);
        spec(&dir)
    };
    let plain = run(delta, SPEC);
    assert!(plain.contains("Two\nlines.") && !plain.contains('\r'));
    assert_eq!(run(&crlf(delta), SPEC), plain);
    assert_eq!(run(delta, &crlf(SPEC)), crlf(&plain));
}

#[test]
fn a_chinese_spec_takes_a_chinese_delta() {
    let text = "# d\n\n## 目的\n说明。\n\n## 需求\n\n### 需求: 登录\n系统必须登录。\n\n\
                #### 场景: 好\n- 当 x\n- 那么 y\n";
    let dir = sandbox(
        "# Domain: demo\n\n## 新增需求\n\n### 需求：登出\n系统必须登出。\n\n#### 场景：出\n- 那么 z\n",
    );
    fs::write(dir.path().join("specs/demo/spec.md"), text).expect("write");
    let output = loopx(
        dir.path(),
        &["spec", "apply", "delta.md", "--specs", "specs", "--strict"],
    );
    assert_eq!(
        code(&output),
        0,
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let added = "\n### 需求：登出\n系统必须登出。\n\n#### 场景：出\n- 那么 z\n";
    assert_eq!(spec(&dir), format!("{text}{added}"));
    assert_eq!(
        code(&loopx(
            dir.path(),
            &["spec", "validate", "--strict", "specs"]
        )),
        0
    );
}

#[test]
fn front_matter_lists_what_comes_first() {
    let dir = sandbox("---\ndepends_on:\n  - one\n  - two\ndomain: demo\n---\n## Purpose\nX.\n");
    let output = loopx(
        dir.path(),
        &["spec", "parse", "--delta", "delta.md", "--json"],
    );
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(json["depends_on"], serde_json::json!(["one", "two"]));
    assert_eq!(json["domains"][0]["domain"], "demo");
}

#[test]
fn a_folder_in_the_place_of_a_spec_stops_the_whole() {
    let new = "## Purpose\nNew.\n\n## ADDED Requirements\n\n### Requirement: N\nIt SHALL n.\n\n\
               #### Scenario: S\n- **THEN** n\n";
    let dir = sandbox(&format!(
        "# Domain: demo\n## REMOVED Requirements\n### Requirement: Login\n\n# Domain: z\n{new}"
    ));
    // A folder stands where the second spec should go.
    fs::create_dir_all(dir.path().join("specs/z/spec.md/x")).expect("a folder");
    let args = ["spec", "apply", "delta.md", "--specs", "specs"];
    assert_ne!(code(&loopx(dir.path(), &args)), 0);
    assert_eq!(spec(&dir), SPEC);
}

#[test]
fn e15_one_way_out_of_several_errors_is_said_once() {
    let two = "# Domain: demo\n\n## REMOVED Requirements\n\n### Requirement: Xa\n**Reason**: x\n\n\
        ### Requirement: Yb\n**Reason**: x\n";
    let said = refused(two);
    assert_eq!(said.matches("missing_requirement").count(), 2, "{said}");
    assert_eq!(
        said.matches("archive the change that adds it first")
            .count(),
        1,
        "{said}"
    );
}
