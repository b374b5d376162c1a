//! Each place of findings T9 and U12 where somebody who typed what is next was refused or went round in a circle, as a
//! case of its own. Random walks over all of them are in `next_walk`.

use crate::support::drive::{Drive, ID, RITA};
use crate::support::{LOOPX, Output};
use serde_json::Value;
use std::path::Path;

fn status_in(d: &Drive, dir: &Path) -> Value {
    let out = d.loopx_in(dir, &["--json", "-s", ID, "status"]);
    assert_eq!(out.code, Some(0), "{out}");
    out.json()
}

/// The command that is next, or else the advice.
fn lead(status: &Value) -> String {
    let next = status["next_action"].as_str();
    let lead = next.or_else(|| status["advice"].as_str());
    lead.unwrap_or_else(|| panic!("{status:#}")).to_owned()
}

fn types(d: &Drive, dir: &Path, command: &str) -> Output {
    d.call("sh").cwd(dir).args(&["-c", command]).run()
}

/// Types what is next until that is `goal` again: no command fails, and none comes twice. Gives what was typed.
fn leads_to(d: &Drive, dir: &Path, goal: &str) -> Vec<String> {
    let mut typed: Vec<String> = Vec::new();
    loop {
        let status = status_in(d, dir);
        if lead(&status) == goal {
            return typed;
        }
        let next = status["next_action"].as_str().map(str::to_owned);
        let next = next.unwrap_or_else(|| panic!("nothing to type after {typed:?}: {status:#}"));
        assert!(!typed.contains(&next), "a circle: {typed:?}, `{next}`");
        let out = types(d, dir, &next);
        assert_eq!(out.code, Some(0), "`{next}` after {typed:?}: {out}");
        typed.push(next);
    }
}

/// The first command of an advice that takes one of two sides.
fn choice_in(advice: &str) -> String {
    let commands = advice.split("git loopx ").skip(1);
    let commands = commands.map(|rest| rest.split([';', '\n']).next().unwrap_or_default());
    let mut commands = commands.map(|rest| rest.split("  ").next().unwrap_or_default());
    let chosen = commands.find(|words| words.contains(" --keep ") || words.contains(" --side "));
    let chosen = chosen.unwrap_or_else(|| panic!("no choice: {advice}"));
    format!("git loopx {chosen}")
}

/// Edits a file of the session that takes no edits, follows what is next, and looks for the text in the repository.
fn is_led_out_of_an_edit(d: &Drive, file: &str) {
    let before = d.artifact(file);
    let goal = lead(&d.status());
    let mine = format!("{before}\nmine\n");
    d.edit(file, &mine);
    let path = format!(".loopx/{ID}/{file}");
    let blob = d.git(&["hash-object", &path]).line();
    let typed = leads_to(d, d.path(), &goal);
    assert!(!typed.is_empty(), "{file}: the edit was seen by nobody");
    assert_eq!(d.artifact(file), before, "{file}, {typed:?}");
    assert_eq!(d.git(&["cat-file", "blob", &blob]).ok(), mine);
}

#[test]
fn t9_an_intent_that_was_edited_is_led_back_and_the_text_is_kept() {
    for d in [Drive::started(), Drive::planning(), Drive::reviewing()] {
        is_led_out_of_an_edit(&d, "intent.md");
    }
}

#[test]
fn t9_a_graph_of_artifacts_that_was_edited_holds_nothing_and_is_not_saved() {
    let file = "change/artifact-graph.json";
    for d in [Drive::planned(), Drive::reviewed(), Drive::done()] {
        let goal = lead(&d.status());
        let mine = format!("{}mine\n", d.artifact(file));
        d.edit(file, &mine);
        // It follows from the pack: an edit is none, and what comes next is what came next before.
        assert_eq!(leads_to(&d, d.path(), &goal), [""; 0]);
        types(&d, d.path(), &goal).ok();
        let stored = d.loopx(&["-s", ID, "cat", file]);
        assert!(!stored.stdout.contains("mine"), "{stored}");
    }
}

#[test]
fn t9_a_document_that_is_closed_and_was_edited_is_led_back_and_the_text_is_kept() {
    for d in [Drive::building(), Drive::reviewing(), Drive::done()] {
        for file in ["spec.md", "plan.md", "change/slices.json"] {
            is_led_out_of_an_edit(&d, file);
        }
    }
}

#[test]
fn t9_a_closed_document_that_two_clones_wrote_is_led_out_of_its_conflict() {
    let d = Drive::planned();
    let remote = d.root().join("remote.git");
    let remote = remote.to_str().expect("UTF-8").to_owned();
    d.git(&["clone", "--quiet", "--bare", ".", &remote]).ok();
    d.git(&["remote", "add", "origin", &remote]).ok();
    d.git(&["clone", "--quiet", "--branch", ID, &remote, "../other"])
        .ok();
    let other = d.root().join("other");
    for args in [&["init"][..], &["checkout"]] {
        d.loopx_in(&other, args).ok();
    }
    let theirs = other.join(".loopx").join(ID).join("plan.md");
    let text = d.read(&theirs);
    d.write(&theirs, text.replace("One small step.", "Theirs."));
    for args in [
        &["save"][..],
        &["plan", "--architect", "approve"],
        &["plan", "--critic", "approve"],
        &["approve", "--to", "build"],
        &["build"],
        &["sync", "origin"],
    ] {
        d.loopx_in(&other, args).ok();
    }
    d.change("plan.md", "One small step.", "Mine.");
    d.does(&["save"]);
    let met = d.loopx(&["sync", "origin"]);
    assert!(matches!(met.code, Some(0 | 3)), "{met}");
    // Which side counts is a person's choice; each way out works as it is written.
    let mut typed = Vec::new();
    loop {
        let next = lead(&d.status());
        assert!(!next.contains(" edit plan.md"), "a closed document: {next}");
        if !next.contains(" resolve ") {
            break;
        }
        let command = choice_in(&next);
        assert!(!typed.contains(&command), "a circle: {typed:?}, {command}");
        types(&d, d.path(), &command).ok();
        typed.push(command);
    }
    assert!(!typed.is_empty(), "no conflict came up: {met}");
    let plan = d.artifact("plan.md");
    assert!(!plan.contains("<<<<<<<"), "{plan}");
    d.loopx(&["fsck"]).says("all whole").ok();
}

#[test]
fn t9_u12_what_is_archived_leads_to_sync_and_push_and_names_the_merge() {
    let d = Drive::done();
    let remote = d.root().join("remote.git");
    let remote = remote.to_str().expect("UTF-8").to_owned();
    d.git(&["clone", "--quiet", "--bare", ".", &remote]).ok();
    d.git(&["remote", "add", "origin", &remote]).ok();
    d.git(&["fetch", "--quiet", "origin"]).ok();
    d.git(&["branch", "--quiet", "-u", "origin/main", "main"])
        .ok();
    d.loopx(&["archive"]).ok();
    let mut typed: Vec<String> = Vec::new();
    while let Some(next) = d.status_of_ended() {
        assert!(!next.contains("git loopx undo"), "{next}");
        assert!(!typed.contains(&next), "a circle: {typed:?}, `{next}`");
        let out = types(&d, d.path(), &next);
        assert_eq!(out.code, Some(0), "`{next}` after {typed:?}: {out}");
        typed.push(next);
    }
    assert_eq!(typed, ["git loopx sync origin", "git push origin demo"]);
    let said = d.loopx(&["-s", ID, "status"]).ok();
    assert!(said.contains("main does not have the change yet"), "{said}");
    // Without a remote, the merge itself is next.
    d.git(&["remote", "remove", "origin"]).ok();
    for wanted in ["git switch main", "git merge demo"] {
        let next = d.status_of_ended();
        assert_eq!(next.as_deref(), Some(wanted));
        types(&d, d.path(), wanted).ok();
    }
    assert_eq!(d.status_of_ended(), None);
}

impl Drive {
    /// Command that is next for the session, which has ended.
    fn status_of_ended(&self) -> Option<String> {
        let status = status_in(self, self.path());
        assert_eq!(status["ending"]["how"], "archived", "{status:#}");
        status["next_action"].as_str().map(str::to_owned)
    }
}

#[test]
fn t9_a_build_of_another_worktree_leads_there_and_runs_nothing_here() {
    let d = Drive::building();
    let goal = lead(&d.status());
    let beside = d.root().join("beside");
    let path = beside.to_str().expect("UTF-8");
    d.git(&["worktree", "add", "--quiet", "--detach", path])
        .ok();
    let status = status_in(&d, &beside);
    assert!(status["next_action"].is_null(), "{status:#}");
    let here = d.path().display();
    let wanted = format!("the branch {ID} is checked out in {here}: go on there");
    assert_eq!(lead(&status), wanted);
    d.loopx_in(&beside, &["-s", ID, "next"])
        .fails_with(6)
        .says(&wanted);
    // And there it goes on.
    assert_eq!(lead(&d.status()), goal);
    // Where the branch is free, whoever comes is led to it, and waits for the build or takes it over.
    d.git(&["switch", "--quiet", "--detach"]).ok();
    let next = lead(&status_in(&d, &beside));
    assert_eq!(next, format!("git switch {ID}"));
    types(&d, &beside, &next).ok();
    let status = status_in(&d, &beside);
    assert!(status["next_action"].is_null(), "{status:#}");
    let over = "git loopx build --take-over --reason 'it goes on here'";
    let advice = lead(&status);
    assert_eq!(advice, format!("to take it over: {over}"));
    types(&d, &beside, over).ok();
    assert_eq!(lead(&status_in(&d, &beside)), goal);
}

#[test]
fn t9_a_detached_head_leads_back_to_the_branch() {
    let switch = format!("git switch {ID}");
    for d in [Drive::building(), Drive::built(), Drive::reviewing()] {
        let goal = lead(&d.status());
        for at in [ID, "main"] {
            d.git(&["switch", "--quiet", "--detach", at]).ok();
            assert_eq!(d.loopx(&["next"]).line(), switch);
            assert_eq!(leads_to(&d, d.path(), &goal), [&*switch]);
        }
    }
    // What is about documents alone is done from there, for the session that is named.
    for d in [Drive::clarified(), Drive::planned()] {
        d.git(&["switch", "--quiet", "--detach"]).ok();
        let next = lead(&status_in(&d, d.path()));
        let is_well = next == switch || next.starts_with(&format!("git loopx -s {ID} "));
        assert!(is_well, "{next}");
        types(&d, d.path(), &next).ok();
    }
}

#[test]
fn t9_another_branch_or_uncommitted_code_leads_to_a_review_that_passes() {
    let d = Drive::reviewing();
    let goal = lead(&d.status());
    d.git(&["switch", "--quiet", "main"]).ok();
    assert_eq!(leads_to(&d, d.path(), &goal), [format!("git switch {ID}")]);
    d.write("src/demo.txt", "uncommitted\n");
    let status = d.status();
    assert_ne!(lead(&status), goal, "{status:#}");
    assert!(!lead(&status).contains(" review"), "{status:#}");
}

#[test]
fn u12_what_is_next_is_one_command_without_a_placeholder_at_every_point() {
    let points = [
        Drive::started(),
        Drive::clarified(),
        Drive::planning(),
        Drive::planned(),
        Drive::building(),
        Drive::built(),
        Drive::reviewing(),
        Drive::reviewed(),
        Drive::done(),
    ];
    for d in points {
        let status = d.status();
        let Some(next) = status["next_action"].as_str() else {
            assert_ne!(lead(&status), "");
            continue;
        };
        assert!(next.starts_with("git "), "{next}");
        assert_ne!(next, "git loopx status");
        // A shell takes it as one command, and no word of it is for the reader to fill in.
        types(&d, d.path(), &format!("set -n; {next}")).ok();
        assert!(
            !next.contains(['(', ')', '<', '>', ';', '|', ',']),
            "{next}"
        );
        let is_place = |word: &str| word.len() > 2 && word.chars().all(|c| c.is_ascii_uppercase());
        assert!(!next.split(' ').any(is_place), "{next}");
        assert_eq!(d.loopx(&["next"]).line(), next);
        let said = d.loopx(&["status"]).ok();
        assert!(said.contains(&format!("next: {next}\n")), "{said}");
    }
}

#[test]
fn u12_a_task_is_named_where_the_program_knows_its_name() {
    let d = Drive::building();
    // Code comes before the record of it.
    let before = lead(&d.status());
    assert!(!before.contains("execution-record"), "{before}");
    d.commit_code("an end\n");
    let mut seen = Vec::new();
    for _ in 0..4 {
        let next = lead(&d.status());
        seen.push(next.clone());
        if next == "git loopx run --task VS-1" {
            return;
        }
        d.edit("execution-record.md", crate::support::drive::RECORD);
    }
    panic!("{seen:?}");
}

#[test]
fn u12_nobody_is_led_to_approve_templates() {
    let d = Drive::clarified();
    d.does(&["approve", "--to", "plan"]);
    d.does(&["plan"]);
    let next = lead(&d.status());
    assert!(next.starts_with("git loopx edit "), "{next}");
    // Whoever approves them all the same opens nothing by it.
    for lane in ["--architect", "--critic"] {
        drop(d.loopx(&["plan", lane, "approve"]));
    }
    let next = lead(&d.status());
    assert!(next.starts_with("git loopx edit "), "{next}");
    d.loopx(&["approve", "--to", "build"]).fails_with(1);
}

#[test]
fn u12_what_policy_forbids_this_person_is_next_for_somebody_else_alone() {
    let d = Drive::reviewing_under("[review]\nindependence = \"require\"\n");
    let status = d.status();
    assert!(status["next_action"].is_null(), "{status:#}");
    assert_eq!(status["waits"]["for"], "the verdict");
    assert!(!status["waits"]["who"].is_null(), "{status:#}");
    d.loopx(&["next"])
        .fails_with(6)
        .says("waits for a reviewer who took no part in it");
    let rita = d.by(RITA, &["next"]).line();
    assert!(rita.starts_with("git loopx review"), "{rita}");
    let out = d
        .call("sh")
        .args(&["-c", &rita])
        .env("GIT_AUTHOR_NAME", RITA.0)
        .env("GIT_AUTHOR_EMAIL", RITA.1)
        .env("GIT_COMMITTER_NAME", RITA.0)
        .env("GIT_COMMITTER_EMAIL", RITA.1)
        .run();
    assert_eq!(out.code, Some(0), "{out}");
}

#[test]
fn u12_a_clone_that_took_a_session_in_is_led_to_it_and_starts_no_other() {
    let d = Drive::building();
    d.git(&["clone", "--quiet", "--bare", ".", "../remote.git"])
        .ok();
    let clone = d.root().join("clone");
    let path = clone.to_str().expect("UTF-8");
    d.git(&[
        "clone",
        "--quiet",
        "--branch",
        "main",
        "../remote.git",
        path,
    ])
    .ok();
    let out = d.loopx_in(&clone, &["init"]);
    assert!(!out.to_string().contains("loopx start"), "{out}");
    let next = d.call(LOOPX).cwd(&clone).args(&["next"]).run();
    assert!(!next.to_string().contains("loopx start"), "{next}");
    out.says(ID).ok();
}
