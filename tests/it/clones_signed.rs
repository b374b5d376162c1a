//! Signatures of people, through everything that a session goes through when clones meet: a merge, a new name, an
//! archive here while it is touched there, a bundle (design 8).

use crate::support::Sandbox;
use crate::support::drive::{Drive, ID, SPEC};
use crate::support::keys::{BOB, RITA, by, everybody};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A session in review that has to be signed, a bare remote with everything, and a clone of it.
fn shared() -> (Drive, PathBuf) {
    let d = Drive::reviewing_with(&[
        (
            "loopx.toml",
            "[approve]\nsigned = [\"review->done\"]\n[review]\nsigned = true\n",
        ),
        ("loopx.signers", &everybody()),
    ]);
    let clone = meet(&d);
    (d, clone)
}

/// A bare remote of a repository, and a clone of it with the session's branch checked out.
fn meet(s: &Sandbox) -> PathBuf {
    s.git(&["init", "--quiet", "--bare", "../remote.git"]).ok();
    s.git(&["remote", "add", "origin", "../remote.git"]).ok();
    s.git(&["push", "--quiet", "origin", "main", ID]).ok();
    s.loopx(&["sync", "origin"]).ok();
    let dir = s.root().join("clone");
    s.git(&[
        "clone",
        "--quiet",
        "--branch",
        ID,
        "../remote.git",
        dir.to_str().expect("UTF-8"),
    ])
    .ok();
    s.git_in(&dir, &["branch", "--quiet", "main", "origin/main"])
        .ok();
    s.loopx_in(&dir, &["init"]).ok();
    dir
}

fn sync(s: &Sandbox, dir: &Path, code: i32) {
    s.loopx_in(dir, &["sync", "origin"]).fails_with(code);
}

fn tree(s: &Sandbox, dir: &Path) -> String {
    s.git_in(dir, &["rev-parse", "loopx^{tree}"]).line()
}

fn shown(s: &Sandbox, dir: &Path, id: &str) -> Value {
    s.loopx_in(dir, &["-s", id, "--json", "show"]).json()
}

/// Counts the signatures that hold; each has to.
#[track_caller]
fn holding(s: &Sandbox, dir: &Path, id: &str) -> usize {
    let shown = shown(s, dir, id);
    let signatures = shown["signatures"].as_object().expect("signatures");
    assert!(
        signatures.values().all(|checked| checked["flaw"].is_null()),
        "{shown:#}"
    );
    signatures.len()
}

#[track_caller]
fn whole(s: &Sandbox, dir: &Path) {
    s.loopx_in(dir, &["fsck"]).says("all whole").ok();
    s.git_in(dir, &["fsck", "--full", "--strict", "--no-dangling"])
        .ok();
}

/// The errors of `verify`.
fn errors(s: &Sandbox, dir: &Path) -> Vec<Value> {
    let json = s.loopx_in(dir, &["verify", "--json", "main..HEAD"]).json();
    let mut found = json["findings"].as_array().expect("findings").clone();
    found.retain(|finding| finding["severity"] == "error");
    found
}

#[test]
fn a_signature_holds_after_a_merge_an_archive_and_in_every_clone() {
    let (d, clone) = shared();
    by(&d, RITA, &["review", "--verdict", "approve", "--sign"]).ok();
    // Meanwhile the other clone adds to the same session.
    d.loopx_in(&clone, &["-s", ID, "run", "--", "true"]).ok();
    sync(&d, &clone, 0);
    sync(&d, d.path(), 0);
    sync(&d, &clone, 0);
    assert_eq!(tree(&d, d.path()), tree(&d, &clone));
    for dir in [d.path(), &clone] {
        assert_eq!(holding(&d, dir, ID), 1);
        whole(&d, dir);
    }
    by(&d, BOB, &["approve", "--to", "done", "--sign"]).ok();
    d.does(&["archive"]);
    sync(&d, d.path(), 0);
    sync(&d, &clone, 0);
    d.git(&["push", "--quiet", "origin", ID]).ok();
    d.git_in(&clone, &["pull", "--quiet", "--ff-only"]).ok();
    for dir in [d.path(), &clone] {
        assert_eq!(holding(&d, dir, ID), 2);
        assert_eq!(errors(&d, dir), Vec::<Value>::new());
        whole(&d, dir);
    }
}

#[test]
fn a_signature_holds_in_a_bundle_active_and_archived() {
    let (d, clone) = shared();
    by(&d, RITA, &["review", "--verdict", "approve", "--sign"]).ok();
    for (round, held) in [(0, 1), (1, 2)] {
        let file = d.root().join(format!("{round}.bundle"));
        let file = file.to_str().expect("UTF-8");
        d.loopx(&["export", ID, "-o", file]).ok();
        d.loopx_in(&clone, &["import", "bundle", file]).ok();
        assert_eq!(holding(&d, &clone, ID), held);
        whole(&d, &clone);
        if round == 0 {
            by(&d, BOB, &["approve", "--to", "done", "--sign"]).ok();
            d.does(&["archive"]);
            d.git(&["push", "--quiet", "origin", ID]).ok();
            d.git_in(&clone, &["pull", "--quiet", "--ff-only"]).ok();
        }
    }
    assert_eq!(errors(&d, &clone), Vec::<Value>::new());
}

#[test]
fn a_signature_holds_in_a_session_that_a_merge_gave_another_name() {
    // Of two that have one name the older keeps it: here the one without a signature.
    let d = Drive::repository_with(&[
        ("loopx.toml", "[approve]\nsigned = [\"clarify->plan\"]\n"),
        ("loopx.signers", &everybody()),
    ]);
    let clone = meet(&d);
    d.loopx_in(&clone, &["start", "--no-branch", "Demo"]).ok();
    d.does(&["start", "Demo"]);
    d.edit("spec.md", SPEC);
    d.does(&["clarify"]);
    by(&d, RITA, &["approve", "--to", "plan", "--sign"]).ok();
    assert_eq!(holding(&d, d.path(), ID), 1);
    sync(&d, &clone, 0);
    d.loopx(&["sync", "origin"])
        .says("two sessions are named demo")
        .ok();
    sync(&d, &clone, 0);
    let list = d.does(&["list"]);
    let names = list["sessions"].as_array().expect("sessions").iter();
    let mut names = names.filter_map(|one| one["session"].as_str());
    let renamed = names.find(|name| *name != ID).expect("a second name");
    for dir in [d.path(), &clone] {
        assert_eq!(holding(&d, dir, renamed), 1);
        whole(&d, dir);
    }
    // The gate that wants it opens.
    d.does(&["-s", renamed, "plan"]);
}

/// Commands of somebody on a session that another clone archives: the command, how many conflicts that makes, and
/// whether the session stays archived until a person decides.
const TOUCHES: [(&[&str], usize, bool); 6] = [
    (&["run", "--", "echo", "late"], 0, true),
    (&["run", "--", "false"], 1, true),
    (&["undo"], 1, false),
    (&["abandon", "--reason", "no"], 2, false),
    (&["archive", "--onto", "main"], 2, false),
    (&["status"], 0, true),
];

#[test]
fn a_session_archived_here_and_touched_there_shows_both_and_a_person_decides() {
    for (touch, conflicts, archived) in TOUCHES {
        let d = Drive::done();
        let clone = meet(&d);
        let archive = d.does(&["archive"])["commit"].clone();
        let touched = [&["-s", ID][..], touch].concat();
        let failed = i32::from(touch.contains(&"false"));
        d.loopx_in(&clone, &touched).fails_with(failed);
        let ran = touch[0] == "run";
        let made = usize::from(conflicts > 0 || ran);
        // Both ways round: over one remote and over another.
        d.git(&["clone", "--quiet", "--bare", "../remote.git", "../two.git"])
            .ok();
        for dir in [d.path(), &clone] {
            d.git_in(dir, &["remote", "add", "two", "../two.git"]).ok();
        }
        let conflict = if conflicts > 0 { 3 } else { 0 };
        let meets = |dir: &Path, remote: &str| {
            d.loopx_in(dir, &["sync", "--no-push", remote])
                .fails_with(conflict);
        };
        let there = d.git_in(&clone, &["rev-parse", "loopx"]).line();
        sync(&d, d.path(), 0);
        meets(&clone, "origin");
        d.git_in(
            &clone,
            &[
                "push",
                "--quiet",
                "two",
                &format!("{there}:refs/heads/loopx"),
            ],
        )
        .ok();
        meets(d.path(), "two");
        assert_eq!(tree(&d, d.path()), tree(&d, &clone), "{touch:?}");
        // Who brings that of an active session to the remote hears of it; the other has it already.
        sync(&d, &clone, if archived { 0 } else { conflict });
        sync(&d, d.path(), 0);
        for dir in [d.path(), &clone] {
            let state = shown(&d, dir, ID)["state"].take();
            let held = state["conflicts"].as_array().expect("conflicts");
            assert_eq!(held.len(), conflicts, "{touch:?}");
            assert_eq!(state["ending"]["how"] == "archived", archived, "{touch:?}");
            // Both are there to be read, whatever counts.
            let log = d.loopx_in(dir, &["-s", ID, "--json", "log"]).json();
            let kinds: Vec<&str> = log["operations"]
                .as_array()
                .expect("operations")
                .iter()
                .filter_map(|op| op["kind"].as_str())
                .collect();
            assert_eq!(kinds.len(), 19 + made, "{touch:?} {kinds:?}");
            assert!(kinds.contains(&"archived"), "{touch:?} {kinds:?}");
            // What passed counts, in a session that stays closed.
            let evidence = state["evidence"].as_array().expect("evidence").iter();
            let counts = evidence.filter(|one| one["argv"] == serde_json::json!(["echo", "late"]));
            let passed = ran && failed == 0;
            assert_eq!(counts.count(), usize::from(passed), "{touch:?} {state:#}");
            whole(&d, dir);
        }
        if conflicts == 0 {
            continue;
        }
        // Nothing opens meanwhile, and the archive can be said to count.
        let gate = d.loopx_in(&clone, &["-s", ID, "--json", "status"]).json();
        let blockers = gate["blockers"].as_array().expect("blockers");
        assert!(
            blockers.iter().any(|one| one["code"] == "session_conflict"),
            "{touch:?} {gate:#}"
        );
        let log = d.loopx_in(&clone, &["-s", ID, "--json", "resolve"]).json();
        let held = log["operations"].as_array().expect("operations");
        let wanted = |one: &&Value| one["event"] == "archive" && one["by"]["name"] == "Ada Author";
        let mut call = vec!["-s", ID, "resolve"];
        match held.iter().find(wanted) {
            Some(one) => call.extend(["--keep", one["op"].as_str().expect("an id")]),
            None => call.extend(["--drop", held[0]["op"].as_str().expect("an id")]),
        }
        d.loopx_in(&clone, &call).ok();
        sync(&d, &clone, 0);
        sync(&d, d.path(), 0);
        assert_eq!(tree(&d, d.path()), tree(&d, &clone), "{touch:?}");
        for dir in [d.path(), &clone] {
            let state = shown(&d, dir, ID)["state"].take();
            assert_eq!(state["ending"]["how"], "archived", "{touch:?}");
            assert_eq!(state["conflicts"], serde_json::json!([]), "{touch:?}");
            whole(&d, dir);
        }
        drop(archive);
    }
}

#[test]
fn a_refusal_and_an_approval_that_meet_let_nothing_through_until_they_are_settled() {
    let (d, clone) = shared();
    let changes = [
        "review",
        "--verdict",
        "request-changes",
        "--sign",
        "--reason",
        "no",
    ];
    by(&d, BOB, &["review", "--verdict", "approve", "--sign"]).ok();
    by(&d, BOB, &["approve", "--to", "done", "--sign"]).ok();
    let (name, email, key) = RITA;
    crate::support::keys::use_key(&d, crate::support::keys::key(key));
    for setting in ["gpg.format", "user.signingKey"] {
        let value = d.git(&["config", setting]).line();
        d.git_in(&clone, &["config", setting, &value]).ok();
    }
    d.call(crate::support::LOOPX)
        .cwd(&clone)
        .args(&changes)
        .env("GIT_AUTHOR_NAME", name)
        .env("GIT_AUTHOR_EMAIL", email)
        .env("GIT_COMMITTER_NAME", name)
        .env("GIT_COMMITTER_EMAIL", email)
        .run()
        .ok();
    sync(&d, &clone, 0);
    sync(&d, d.path(), 3);
    let said = d.loopx(&["--json", "verify", "main..demo"]);
    assert!(said.stdout.contains("session_conflict"), "{said}");
    assert_eq!(said.code, Some(1), "{said}");
}

/// A signed refusal is left out by its own person alone, and that choice is offered to nobody else.
#[test]
fn z15_a_choice_between_records_is_offered_to_whom_it_is_not_refused() {
    let (d, clone) = shared();
    by(&d, BOB, &["review", "--verdict", "approve", "--sign"]).ok();
    by(&d, BOB, &["approve", "--to", "done", "--sign"]).ok();
    crate::support::keys::use_key(&d, crate::support::keys::key(RITA.2));
    for setting in ["gpg.format", "user.signingKey"] {
        let value = d.git(&["config", setting]).line();
        d.git_in(&clone, &["config", setting, &value]).ok();
    }
    let call = d.call(crate::support::LOOPX).cwd(&clone);
    let call = call.args(&["review", "--verdict", "request-changes", "--sign"]);
    let call = call.args(&["--reason", "no"]);
    let call = call.env("GIT_AUTHOR_NAME", RITA.0);
    let call = call.env("GIT_AUTHOR_EMAIL", RITA.1);
    let call = call.env("GIT_COMMITTER_NAME", RITA.0);
    call.env("GIT_COMMITTER_EMAIL", RITA.1).run().ok();
    sync(&d, &clone, 0);
    sync(&d, d.path(), 3);
    let choices = |said: &str| said.matches("resolve --").count();
    let led = d.by((RITA.0, RITA.1), &["next"]).to_string();
    assert_eq!(choices(&led), 2, "{led}");
    let led = d.loopx(&["next"]).to_string();
    assert_eq!(choices(&led), 1, "{led}");
    assert!(
        led.contains("Rita Reviewer signed one of two records"),
        "{led}"
    );
    let listed = d.loopx(&["resolve"]).to_string();
    let at = led.find("resolve --").expect("a choice");
    let words = led[at..].split_whitespace().take(3);
    let words: Vec<&str> = words.map(|word| word.trim_end_matches(';')).collect();
    assert!(listed.contains(&words.join(" ")), "{listed}");
    assert!(!listed.contains("--drop"), "{listed}");
    d.loopx(&[&["-s", ID], words.as_slice()].concat()).ok();
    assert_eq!(choices(&d.loopx(&["next"]).to_string()), 0);
}
