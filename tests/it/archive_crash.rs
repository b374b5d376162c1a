//! Two refs, one after the other: whatever is left between them is finished, or forgotten when nothing
//! had happened yet; and many archives at once lose nothing.

use crate::support::LOOPX;
use crate::support::archive::{DEMO, DEMO_PATH, ID, REWORD, SHORTEN, Yard, adds, shortened};
use serde_json::Value;
use std::path::PathBuf;

/// Remains of a run that died after it had moved the target branch: the note as the program writes it, and the loopx
/// branch where it was.
struct Half {
    y: Yard,
    /// The commit on the target branch.
    commit: String,
    note: Value,
}

fn note_path(y: &Yard) -> PathBuf {
    match y.journal().as_slice() {
        [only] => only.clone(),
        other => panic!("expected one note, found {other:?}"),
    }
}

/// Ends archive between its two refs, by a death there.
#[track_caller]
fn half(y: Yard, id: &str, args: &[&str]) -> Half {
    let target = args.get(1).map_or(id, |branch| branch).to_owned();
    between(y, &target, |y| {
        let all = [&["--session", id, "archive"], args].concat();
        let call = y.call(LOOPX).args(&all);
        let out = call.env("LOOPX_FAILPOINT", "target-followed").run();
        assert_eq!(out.code, None, "{out}");
    })
}

/// Ends archive between its two refs by another git, which holds the loopx branch by its lock file for longer than the
/// program waits.
#[track_caller]
fn half_held(y: Yard, id: &str) -> Half {
    between(y, id, |y| {
        let lock = y.path().join(".git/refs/heads/loopx.lock");
        std::fs::write(&lock, "").expect("a lock");
        // The target has moved: that is done, and what is left is said.
        let out = y.archive(id, &[]);
        let left = &out.json()["unfinished"][0];
        assert!(
            left["left"].as_str().is_some_and(|left| left.contains(id)),
            "{out}"
        );
        out.says("loopx.lock stands in the way").ok();
        std::fs::remove_file(lock).expect("the lock");
    })
}

#[track_caller]
fn between(y: Yard, target: &str, ends: impl Fn(&Yard)) -> Half {
    let (before, session) = (y.rev(target), y.rev("loopx"));
    ends(&y);
    assert_eq!(y.rev("loopx"), session);
    assert_eq!(y.rev(&format!("{target}^")), before);
    let bytes = std::fs::read(note_path(&y)).expect("a note");
    Half {
        commit: y.rev(target),
        note: serde_json::from_slice(&bytes).expect("a whole note"),
        y,
    }
}

#[test]
fn the_next_writing_command_of_any_session_finishes_what_was_begun() {
    for command in [
        &["start", "other"][..],
        &["-s", "second", "save"],
        &["-s", "second", "undo"],
        &["-s", "second", "archive", "--abort"],
        &["-s", ID, "archive"],
        &["archive"],
        &["-s", ID, "undo"],
    ] {
        let y = Yard::ready();
        y.git(&["switch", "--quiet", "--create", "second", "main"])
            .ok();
        y.does(&["start", "second"]);
        y.git(&["switch", "--quiet", ID]).ok();
        let h = half(y, ID, &[]);
        assert_eq!(h.note["new"], h.commit.as_str());
        // What the command itself says is its own affair: there may be nothing to save.
        let out = h.y.loopx(command);
        assert!(out.code != Some(70), "{out}");
        h.y.archived_once(ID, ID);
        assert_eq!(h.y.rev(ID), h.commit, "no second commit after {command:?}");
        assert_eq!(h.y.read(DEMO_PATH), shortened());
        assert!(!h.y.exists(format!(".loopx/{ID}")), "{command:?}");
        h.y.clean();
    }
}

#[test]
fn finishing_says_so_and_is_a_success() {
    for h in [half(Yard::ready(), ID, &[]), half_held(Yard::ready(), ID)] {
        let out = h.y.archive(ID, &[]);
        assert_eq!(out.json()["finished_earlier"], true, "{out}");
        assert_eq!(out.json()["commit"], h.commit.as_str());
        out.ok();
        h.y.refused(ID, &[], 5, "archived_already");
    }
}

#[test]
fn reading_neither_finishes_nor_trips_over_what_was_begun() {
    let h = half(Yard::ready(), ID, &[]);
    let before = h.y.world();
    for command in [
        &["status"][..],
        &["list"],
        &["show"],
        &["archive", "--dry-run"],
    ] {
        h.y.loopx(command).ok();
        assert!(h.y.world() == before, "{command:?} wrote");
    }
    assert!(note_path(&h.y).exists());
}

#[test]
fn a_note_of_a_commit_that_never_landed_is_forgotten() {
    let h = half(Yard::ready(), ID, &[]);
    h.y.git(&["reset", "--quiet", "--hard", &format!("{ID}^")])
        .ok();
    h.y.archive(ID, &[]).ok();
    assert_eq!(h.y.read(DEMO_PATH), shortened());
    h.y.archived_once(ID, ID);
    h.y.clean();
}

#[test]
fn a_torn_note_is_forgotten_and_archive_works() {
    for torn in ["", "{\"format\":1,\"id\":\"shor", "[]"] {
        let y = Yard::ready();
        y.write(".git/loopx/journal/torn.json", torn);
        y.write(".git/loopx/journal/.loopx-a1B2c3", torn);
        y.archive(ID, &[]).ok();
        y.archived_once(ID, ID);
    }
}

#[test]
fn a_note_that_is_lost_makes_no_second_commit_whatever_the_delta_does() {
    let both = format!(
        "{SHORTEN}\n{}",
        adds("Lockout").trim_start_matches("# Domain: demo\n")
    );
    let remove = "# Domain: demo\n\n## REMOVED Requirements\n\n### Requirement: Login\n\
        **Reason**: not used\n**Migration**: none\n";
    let rename = "# Domain: demo\n\n## RENAMED Requirements\n\n\
        - FROM: `### Requirement: Session timeout`\n- TO: `### Requirement: Idle timeout`\n";
    for delta in [SHORTEN, &both, remove, rename] {
        let y = Yard::new();
        y.done(ID, delta);
        let h = half(y, ID, &[]);
        std::fs::remove_file(note_path(&h.y)).expect("the note");
        h.y.archive(ID, &[]).ok();
        assert_eq!(h.y.rev(ID), h.commit, "{delta}");
        h.y.archived_once(ID, ID);
        h.y.clean();
    }
}

#[test]
fn a_lost_note_and_a_later_edit_of_the_spec_are_no_conflict() {
    let h = half(Yard::ready(), ID, &[]);
    std::fs::remove_file(note_path(&h.y)).expect("the note");
    h.y.git(&["reset", "--quiet", "--hard"]).ok();
    let later = shortened().replace("10 minutes", "12 minutes");
    h.y.commit_file(DEMO_PATH, &later, "Later").ok();
    let out = h.y.archive(ID, &[]);
    assert_eq!(out.json()["commit"], h.commit.as_str(), "{out}");
    out.ok();
    assert_eq!(h.y.read(DEMO_PATH), later);
    h.y.archived_once(ID, ID);
    h.y.clean();
}

#[test]
fn an_archive_commit_of_another_state_of_the_session_does_not_stand_for_this_one() {
    let y = Yard::ready();
    let message = format!(
        "Forged\n\nLoopx-Session: {ID}\nLoopx-Event: archive\nLoopx-State: {}\n",
        y.rev("loopx~1")
    );
    y.git(&["commit", "--quiet", "--allow-empty", "-m", &message])
        .ok();
    y.archive(ID, &[]).ok();
    assert_eq!(y.read(DEMO_PATH), shortened(), "the delta went in");
}

#[test]
fn index_and_files_of_the_target_are_brought_in_step_without_touching_other_edits() {
    let y = Yard::ready();
    y.write("src/app.txt", "staged\n");
    y.git(&["add", "src/app.txt"]).ok();
    y.write("src/shorten.txt", "edited\n");
    let look = |y: &Yard| (y.git(&["diff", "--cached"]).ok(), y.git(&["diff"]).ok());
    let before = look(&y);
    let h = half(y, ID, &[]);
    // As if the program had died before it came to index and file.
    h.y.git(&["reset", "--quiet", &format!("{ID}^"), "--", DEMO_PATH])
        .ok();
    h.y.write(DEMO_PATH, DEMO);
    h.y.does(&["start", "other", "--no-branch"]);
    assert_eq!(h.y.read(DEMO_PATH), shortened());
    assert_eq!(look(&h.y), before);
    h.y.archived_once(ID, ID);
}

#[test]
fn an_edit_made_between_crash_and_repair_stays() {
    let h = half(Yard::ready(), ID, &[]);
    h.y.git(&["reset", "--quiet", &format!("{ID}^"), "--", DEMO_PATH])
        .ok();
    h.y.write(DEMO_PATH, "mine\n");
    h.y.archive(ID, &[]).ok();
    assert_eq!(h.y.read(DEMO_PATH), "mine\n");
    h.y.archived_once(ID, ID);
}

#[test]
fn a_target_that_moved_on_or_lost_the_spec_is_no_obstacle_to_finishing() {
    for gone in [false, true] {
        let h = half(Yard::ready(), ID, &[]);
        h.y.git(&["reset", "--quiet", "--hard"]).ok();
        if gone {
            h.y.git(&["rm", "--quiet", DEMO_PATH]).ok();
            h.y.git(&["commit", "--quiet", "-m", "Gone"]).ok();
        } else {
            h.y.commit_file("src/next.txt", "next\n", "Next").ok();
        }
        h.y.archive(ID, &[]).ok();
        assert_eq!(h.y.exists(DEMO_PATH), !gone);
        h.y.archived_once(ID, ID);
        h.y.clean();
    }
}

#[test]
fn an_archive_that_cannot_be_finished_holds_no_other_session_up() {
    let y = Yard::pair((ID, SHORTEN), ("b", REWORD));
    let h = half(y, ID, &["--onto", "main"]);
    // A git that died leaves its lock on the index of the target's worktree.
    h.y.git(&["reset", "--quiet", "main^", "--", DEMO_PATH])
        .ok();
    h.y.write(DEMO_PATH, DEMO);
    h.y.write(".git/index.lock", "");
    h.y.does(&["-s", "b", "abandon", "--reason", "no"]);
    let out = h.y.archive(ID, &[]).fails_with(6);
    assert_eq!(out.error_json()["error"]["code"], "index_locked", "{out}");
    std::fs::remove_file(h.y.path().join(".git/index.lock")).expect("the lock");
    h.y.archive(ID, &[]).ok();
    h.y.archived_once("main", ID);
    h.y.clean();
}

#[test]
fn four_archives_at_once_onto_one_branch_all_stand_s_128_w3() {
    let names = ["one", "two", "three", "four"];
    let y = Yard::new();
    for name in names {
        y.done(name, &adds(name));
        y.git(&["switch", "--quiet", "main"]).ok();
    }
    let kept = y.keep();
    for round in 0..5 {
        let y = Yard::remake(&kept);
        std::thread::scope(|scope| {
            for name in names {
                let y = &y;
                scope.spawn(move || y.archive(name, &["--onto", "main"]).ok());
            }
        });
        let text = y.read(DEMO_PATH);
        for name in names {
            assert_eq!(
                text.matches(&format!("### Requirement: {name}\n")).count(),
                1,
                "round {round}\n{text}"
            );
            y.archived_once("main", name);
        }
        y.clean();
    }
}

#[test]
fn a_copy_of_the_repository_acts_on_itself_alone_w15() {
    let y = Yard::ready();
    let copy = y.root().join("copy");
    let status = std::process::Command::new("cp")
        .arg("-a")
        .args([y.path(), &copy])
        .status();
    assert!(status.expect("cp").success());
    let before = y.world();
    y.loopx_in(&copy, &["-s", ID, "archive"]).ok();
    assert!(y.world() == before, "the original changed");
    assert_eq!(
        std::fs::read_to_string(copy.join(DEMO_PATH)).expect("the spec"),
        shortened()
    );
    y.archive(ID, &[]).ok();
    y.archived_once(ID, ID);
}

#[test]
fn a_moved_repository_is_archived_where_it_is_now_w16() {
    let y = Yard::ready();
    let moved = y.root().join("mövéd away");
    std::fs::rename(y.path(), &moved).expect("a move");
    y.loopx_in(&moved, &["archive"]).ok();
    assert_eq!(
        std::fs::read_to_string(moved.join(DEMO_PATH)).expect("the spec"),
        shortened()
    );
}

#[test]
fn a_domain_that_leads_out_of_the_specs_is_refused_by_the_plan_w19() {
    for domain in ["../../../x", "demo/../../x", "/x", ".git"] {
        let y = Yard::new();
        y.git(&["switch", "--quiet", "--create", ID]).ok();
        y.does(&["start", ID]);
        let outside = y.snapshot(y.root());
        // Named by the delta, and named by the spec for a delta that names none.
        let named = SHORTEN.replace("# Domain: demo", &format!("# Domain: {domain}"));
        let unnamed = SHORTEN.trim_start_matches("# Domain: demo\n");
        let refused = y.plan_refused(ID, &named, "demo");
        assert!(refused.contains("domain"), "{refused}");
        let refused = y.plan_refused(ID, unnamed, domain);
        assert!(refused.contains("domain"), "{refused}");
        let names = |list: Vec<(PathBuf, u32, Vec<u8>)>| -> Vec<PathBuf> {
            let mut names: Vec<PathBuf> = list.into_iter().map(|entry| entry.0).collect();
            names.retain(|path| !path.starts_with("repo"));
            names
        };
        assert_eq!(names(y.snapshot(y.root())), names(outside), "{domain}");
    }
}
