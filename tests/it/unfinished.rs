//! Failures behind a ref that moved. The command is done then: it exits 0, says what is done, what is left and what
//! finishes it, and the next command that writes does (T5 of the store's findings). And a disk that is nearly full
//! never leaves a torn file, or a record that the next commit deletes (T4).

use crate::support::archive::{DEMO_PATH, ID as ARCHIVED, Yard, shortened};
use crate::support::drive::{Drive, ID as PLANNED};
use crate::support::store::{ID, READY, assert_whole, linked, operations, put, started};
use crate::support::{Call, LOOPX, Output, Sandbox};
use serde_json::Value;

/// Runs a command in which a place fails as a disk does, from a passage on.
fn failing(call: Call<'_>, place: &str) -> Output {
    call.durable()
        .env("LOOPX_FAILPOINT", format!("error:{place}"))
        .run()
}

/// Done, and said in one line that something is left, what, and what finishes it.
#[track_caller]
fn done_but(out: &Output, left: &str) {
    assert_eq!(out.code, Some(0), "{out}");
    let lines: Vec<&str> = out.stderr.lines().collect();
    let said: Vec<&&str> = lines.iter().filter(|line| line.contains(left)).collect();
    let [line] = said.as_slice() else {
        panic!("expected one line with `{left}`\n{out}");
    };
    for word in [
        "warning: ",
        "stands at",
        "Input/output error",
        "the next git loopx command that writes finishes it",
        "git loopx doctor --fix",
    ] {
        assert!(line.contains(word), "`{word}`\n{out}");
    }
    assert!(!out.stderr.contains("refused"), "{out}");
    assert!(!out.stderr.contains("error: "), "{out}");
}

/// Asserts that nothing is left under way.
#[track_caller]
fn settled(s: &Sandbox) {
    assert!(s.journal().is_empty(), "{:?}", s.journal());
    s.loopx(&["doctor"])
        .says("landings   all finished")
        .says("leftovers  none");
}

const COPY: &str = ".loopx/auth-timeout/spec.md";

#[test]
fn t5_an_undo_whose_working_copy_cannot_follow_is_done_once_and_finished_by_the_next_command() {
    for next in [
        &["doctor", "--fix"][..],
        &["start", "--no-branch", "other"],
        &["-s", ID, "run", "--", "true"],
    ] {
        let s = started();
        put(&s, "spec.md", "# First\n").ok();
        put(&s, "spec.md", READY).ok();
        let known = operations(&s, ID).len();
        // The entry is written, then the working copy.
        let undo = s.call(LOOPX).args(&["-s", ID, "undo"]);
        done_but(&failing(undo, "file-written:2+"), ".loopx/auth-timeout");
        assert_eq!(operations(&s, ID).len(), known + 1);
        assert_eq!(s.loopx(&["-s", ID, "cat", "spec.md"]).ok(), "# First\n");
        assert_eq!(s.read(COPY), READY, "it could not follow");
        s.loopx(&["doctor"])
            .fails_with(1)
            .says("landings")
            .says("git loopx doctor --fix");
        s.loopx(&["-s", ID, "status"])
            .says("left: the working copy .loopx/auth-timeout")
            .ok();
        s.loopx(next).ok();
        assert_eq!(s.read(COPY), "# First\n", "after {next:?}");
        settled(&s);
        assert_whole(&s);
    }
}

#[test]
fn t5_an_undo_is_done_though_the_move_of_its_ref_cannot_be_synced() {
    for place in ["ref-moved", "fsync:4+"] {
        let s = started();
        put(&s, "spec.md", "# First\n").ok();
        put(&s, "spec.md", READY).ok();
        let known = operations(&s, ID).len();
        if place.starts_with("fsync") {
            // Without it libgit2 syncs refs by itself, out of reach of a test.
            std::fs::remove_file(s.path().join(".git/loopx/durable")).unwrap_or_default();
        }
        let undo = s.call(LOOPX).args(&["-s", ID, "undo"]);
        done_but(&failing(undo, place), "syncing that to the disk");
        assert_eq!(operations(&s, ID).len(), known + 1, "{place}");
        assert_eq!(s.read(COPY), "# First\n", "{place}");
        settled(&s);
        assert_whole(&s);
    }
}

#[test]
fn t5_json_names_what_is_left_beside_what_was_done() {
    let s = started();
    put(&s, "spec.md", READY).ok();
    let undo = s.call(LOOPX).args(&["--json", "-s", ID, "undo"]);
    let out = failing(undo, "file-written:2+");
    let said = out.json();
    assert_eq!(said["undone"]["event"], "save", "{out}");
    let left = &said["unfinished"][0];
    let text = |key: &str| left[key].as_str().unwrap_or_default().to_owned();
    assert!(text("done").contains("loopx stands at"), "{out}");
    assert_eq!(text("left"), "the working copy .loopx/auth-timeout");
    assert!(text("why").contains("Input/output error"), "{out}");
    assert_eq!(text("help"), "git loopx doctor --fix");
    // Where nothing is left there is no such key.
    let out = s.loopx(&["--json", "-s", ID, "redo"]);
    assert_eq!(out.json()["unfinished"], Value::Null, "{out}");
    settled(&s);
}

#[test]
fn t5_a_start_whose_working_copy_cannot_be_written_has_started() {
    let s = Sandbox::new();
    s.commit_file("code.txt", "code\n", "code").ok();
    s.loopx(&["init"]).ok();
    let start = s.call(LOOPX).args(&["start", "Auth timeout"]);
    done_but(&failing(start, "file-written:2+"), ".loopx/auth-timeout");
    assert_eq!(operations(&s, ID).len(), 1);
    assert!(!s.exists(COPY));
    s.loopx(&["start", "Auth timeout"])
        .fails_with(1)
        .says("a session named auth-timeout exists");
    assert!(s.exists(COPY), "the next command that writes finished it");
    settled(&s);
}

#[test]
fn t5_a_put_whose_working_copy_cannot_follow_is_saved() {
    let s = started();
    put(&s, "spec.md", "# First\n").ok();
    // The file itself, the entry, and then what follows.
    let call = s.call(LOOPX).args(&["-s", ID, "put", "spec.md"]);
    let out = failing(call.stdin(READY), "file-written:3+");
    done_but(&out, ".loopx/auth-timeout");
    assert_eq!(s.loopx(&["-s", ID, "cat", "spec.md"]).ok(), READY);
    s.loopx(&["doctor", "--fix"]).says("finished").ok();
    assert_eq!(s.read(COPY), READY);
    s.loopx(&["-s", ID, "save"]).fails_with(5);
    settled(&s);
}

#[test]
fn t5_what_fails_before_the_ref_moves_is_refused_and_leaves_nothing() {
    let s = started();
    put(&s, "spec.md", "# First\n").ok();
    let known = operations(&s, ID).len();
    for place in ["file-written:1+", "fsync:1+"] {
        let undo = s.call(LOOPX).args(&["-s", ID, "undo"]);
        let out = failing(undo, place).fails_with(1);
        assert!(out.stderr.contains("Input/output error"), "{out}");
        assert_eq!(operations(&s, ID).len(), known, "{place}");
        settled(&s);
    }
}

/// Places behind the move of the target's ref, each from its first passage behind it on.
const BEHIND: [&str; 3] = ["index-placed", "worktree-placed", "ref-moved"];

#[test]
fn t5_an_archive_that_landed_is_done_and_finished_by_the_next_command() {
    for place in BEHIND {
        let y = Yard::ready();
        let tip = y.rev(ARCHIVED);
        let call = y.call(LOOPX).args(&["archive"]);
        let out = failing(call, &format!("{place}:1+"));
        let left = match place {
            "ref-moved" => "shorten stands at",
            _ => DEMO_PATH,
        };
        done_but(&out, left);
        assert_eq!(y.rev(&format!("{ARCHIVED}^")), tip, "{place}");
        y.loopx(&["start", "--no-branch", "other"]).ok();
        y.archived_once(ARCHIVED, ARCHIVED);
        assert_eq!(y.read(DEMO_PATH), shortened(), "{place}");
        y.clean();
        settled(&y);
    }
}

#[test]
fn t5_an_archive_that_is_taken_back_is_done_and_finished_by_the_next_command() {
    for place in &BEHIND[..2] {
        let y = Yard::ready();
        let before = y.read(DEMO_PATH);
        y.archive(ARCHIVED, &[]).ok();
        let tip = y.rev(ARCHIVED);
        let call = y.call(LOOPX).args(&["archive", "--undo", ARCHIVED]);
        done_but(&failing(call, &format!("{place}:1+")), DEMO_PATH);
        assert_eq!(y.rev(&format!("{ARCHIVED}^")), tip, "{place}");
        // A second try does not take back twice.
        let again = y.loopx(&["archive", "--undo", ARCHIVED]);
        again.says("finished taking").ok();
        assert_eq!(y.rev(&format!("{ARCHIVED}^")), tip, "{place}");
        assert_eq!(y.read(DEMO_PATH), before, "{place}");
        y.clean();
        settled(&y);
    }
}

/// A repository with a draft, and where its record comes to lie.
fn drafted() -> (Sandbox, &'static str) {
    let s = Sandbox::new();
    s.commit_file("code.txt", "code\n", "code").ok();
    s.loopx(&["init"]).ok();
    s.loopx(&["adr", "new", "Keep it"]).ok();
    (s, "docs/adr/0001-keep-it.md")
}

#[test]
fn t5_a_death_behind_the_ref_of_a_promotion_is_finished_by_the_next_command_of_any_kind() {
    for place in [
        "archive-noted",
        "target-prepared",
        "target-moved",
        "target-followed",
    ] {
        let (s, record) = drafted();
        let call = s.call(LOOPX).args(&["adr", "promote"]);
        let out = call.durable().env("LOOPX_FAILPOINT", place).run();
        assert_eq!(out.code, None, "{place}\n{out}");
        if place == "target-moved" {
            // Nobody can commit the files of before.
            s.write("code.txt", "more\n");
            let commit = s.git(&["commit", "--quiet", "-a", "-m", "next"]);
            commit.says("index.lock").fails_with(128);
            s.write("code.txt", "code\n");
        }
        s.loopx(&["start", "--no-branch", "other"]).ok();
        if matches!(place, "archive-noted" | "target-prepared") {
            // Nothing had happened yet.
            assert!(s.exists("docs/adr/draft-keep-it.md") && !s.exists(record));
            s.loopx(&["adr", "promote"]).ok();
        }
        assert_eq!(s.git(&["status", "--porcelain"]).ok(), "", "{place}");
        assert!(s.read(record).contains("Keep it"), "{place}");
        assert!(!s.exists("docs/adr/draft-keep-it.md"), "{place}");
        settled(&s);
        a_commit_keeps(&s, record);
    }
}

#[test]
fn t5_a_death_before_a_working_copy_follows_is_finished_by_a_command_of_another_session() {
    let s = started();
    put(&s, "spec.md", "# First\n").ok();
    put(&s, "spec.md", READY).ok();
    let undo = s.call(LOOPX).args(&["-s", ID, "undo"]);
    let out = undo.env("LOOPX_FAILPOINT", "working-copy-before").run();
    assert_eq!(out.code, None, "{out}");
    assert_eq!(s.read(COPY), READY);
    s.loopx(&["start", "--no-branch", "other"]).ok();
    assert_eq!(s.read(COPY), "# First\n");
    settled(&s);
}

#[test]
fn what_only_another_worktree_can_do_waits_for_a_command_there() {
    let s = started();
    put(&s, "spec.md", "# First\n").ok();
    let other = crate::support::store::linked(&s, "other");
    let call = s.call(LOOPX).cwd(&other).args(&["-s", ID, "undo"]);
    done_but(&failing(call, "file-written:2+"), ".loopx/auth-timeout");
    assert!(!other.join(COPY).exists());
    s.loopx(&["start", "--no-branch", "here"]).ok();
    s.loopx(&["doctor"]).fails_with(1).says("worktrees/other");
    assert!(!other.join(COPY).exists() && s.journal().len() == 1);
    s.loopx_in(&other, &["start", "--no-branch", "there"]).ok();
    assert!(other.join(COPY).exists());
    settled(&s);
}

#[test]
fn an_entry_of_a_newer_program_stays_and_stops_nothing() {
    let s = started();
    let entry = "{\"format\": 999, \"steps\": [{\"unheard of\": {}}]}";
    s.write(".git/loopx/journal/newer.json", entry);
    put(&s, "spec.md", READY).ok();
    assert_eq!(s.read(".git/loopx/journal/newer.json"), entry);
    assert_eq!(s.journal().len(), 1);
}

/// The record is on the branch, and a commit that is made now keeps it.
#[track_caller]
fn a_commit_keeps(s: &Sandbox, record: &str) {
    s.git(&["commit", "--quiet", "--allow-empty", "-m", "next"])
        .ok();
    s.git(&["cat-file", "-e", &format!("HEAD:{record}")]).ok();
}

#[test]
fn t5_a_promotion_that_landed_is_done_and_finished_by_the_next_command() {
    for place in ["index-placed", "worktree-placed"] {
        for next in [
            &["doctor", "--fix"][..],
            &["start", "--no-branch", "other"],
            &["adr", "promote"],
        ] {
            let (s, record) = drafted();
            let call = s.call(LOOPX).args(&["adr", "promote"]);
            done_but(&failing(call, &format!("{place}:1")), record);
            assert_eq!(s.exists(record), place == "index-placed", "no half of it");
            // The decision is in the worktree all the time.
            assert!(s.exists("docs/adr/draft-keep-it.md"), "{place}");
            let out = s.loopx(next);
            assert!(matches!(out.code, Some(0 | 4)), "{out}");
            assert_eq!(s.git(&["status", "--porcelain"]).ok(), "", "{place}");
            assert!(s.read(record).contains("Keep it"));
            assert!(!s.exists("docs/adr/draft-keep-it.md"));
            settled(&s);
            a_commit_keeps(&s, record);
        }
    }
}

#[test]
fn q2_where_index_or_file_cannot_be_written_nothing_lands_and_nothing_is_left() {
    for place in ["index-written", "worktree-written"] {
        let (s, record) = drafted();
        let tip = s.git(&["rev-parse", "HEAD"]).line();
        let known = s.git(&["status", "--porcelain", "-uall"]).ok();
        let call = s.call(LOOPX).args(&["adr", "promote"]);
        let out = failing(call, &format!("{place}:1+")).fails_with(1);
        assert!(out.stderr.contains("Input/output error"), "{out}");
        assert_eq!(s.git(&["rev-parse", "HEAD"]).line(), tip, "{place}");
        assert_eq!(s.git(&["status", "--porcelain", "-uall"]).ok(), known);
        assert!(!s.exists(record) && !s.exists(".git/index.lock"));
        settled(&s);
        s.loopx(&["adr", "promote"]).ok();
        let y = Yard::ready();
        let (tip, before) = (y.rev(ARCHIVED), y.read(DEMO_PATH));
        let call = y.call(LOOPX).args(&["archive"]);
        failing(call, &format!("{place}:1+")).fails_with(1);
        assert_eq!(y.rev(ARCHIVED), tip);
        assert_eq!(y.read(DEMO_PATH), before);
        y.clean();
        settled(&y);
        y.archive(ARCHIVED, &[]).ok();
        y.archived_once(ARCHIVED, ARCHIVED);
    }
}

#[test]
fn t4_a_file_that_cannot_get_its_place_is_missing_and_never_empty_and_no_commit_loses_its_record() {
    let (s, record) = drafted();
    let call = s.call(LOOPX).args(&["adr", "promote"]);
    done_but(&failing(call, "worktree-placed:1+"), record);
    assert!(!s.exists(record));
    s.git(&["commit", "--quiet", "--allow-empty", "-m", "next"])
        .says("index.lock")
        .fails_with(128);
    s.loopx(&["doctor", "--fix"]).says("finished").ok();
    a_commit_keeps(&s, record);
    assert!(s.read(record).contains("Keep it"));
    assert_eq!(s.git(&["status", "--porcelain"]).ok(), "");
    settled(&s);
}

#[test]
fn q2_a_landing_that_a_later_commit_took_back_is_not_called_finished() {
    let (s, record) = drafted();
    let call = s.call(LOOPX).args(&["adr", "promote"]);
    let out = call.env("LOOPX_FAILPOINT", "target-moved").run();
    assert_eq!(out.code, None, "{out}");
    // Somebody takes git's lock away by hand, and commits the files of before.
    std::fs::remove_file(s.path().join(".git/index.lock")).expect("the lock");
    let landed = s.git(&["rev-parse", "--short=10", "HEAD"]).line();
    s.write("code.txt", "more\n");
    s.git(&["commit", "--quiet", "-a", "-m", "next"]).ok();
    let out = s.loopx(&["doctor", "--fix"]);
    assert!(!out.stdout.contains("finished `"), "{out}");
    assert!(
        out.stderr.contains("a later commit on main took it back"),
        "{out}"
    );
    let lead = format!("git checkout {landed} -- {record}");
    assert!(out.stderr.contains(&lead), "{out}");
    s.git(&["checkout", &landed, "--", record]).ok();
    assert!(s.read(record).contains("Keep it"));
    settled(&s);
}

#[test]
fn z13_the_hook_lets_no_commit_take_a_killed_landing_back() {
    let (s, record) = drafted();
    s.loopx(&["hooks", "install"]).ok();
    let call = s.call(LOOPX).args(&["adr", "promote"]);
    let out = call.env("LOOPX_FAILPOINT", "target-moved").run();
    assert_eq!(out.code, None, "{out}");
    std::fs::remove_file(s.path().join(".git/index.lock")).expect("the lock");
    s.write("code.txt", "more\n");
    let commit = ["commit", "--quiet", "-a", "-m", "next"];
    let refused = s.git(&commit).fails_with(1);
    for said in ["index and files", "git loopx doctor --fix"] {
        assert!(refused.stderr.contains(said), "{said}: {refused}");
    }
    s.loopx(&["doctor", "--fix"]).says("finished").ok();
    s.git(&commit).ok();
    assert!(s.read(record).contains("Keep it"));
    let tree = s.git(&["ls-tree", "-r", "--name-only", "HEAD"]).ok();
    assert!(tree.contains(record), "{tree}");
    settled(&s);
}

#[test]
fn r50_12_a_killed_landing_is_finished_on_its_branch_under_another_name() {
    let (s, record) = drafted();
    s.git(&["switch", "--quiet", "-c", "other"]).ok();
    let call = s.call(LOOPX).args(&["adr", "promote", "--onto", "other"]);
    let out = call.env("LOOPX_FAILPOINT", "target-moved").run();
    assert_eq!(out.code, None, "{out}");
    s.git(&["branch", "-m", "renamed"]).ok();
    s.loopx(&["doctor", "--fix"]).says("renamed stands at");
    assert!(s.read(record).contains("Keep it"));
    assert_eq!(s.git(&["status", "--porcelain"]).ok(), "");
}

#[test]
fn r50_7_a_file_that_somebody_edited_before_a_killed_landing_was_finished_is_named() {
    let (s, record) = drafted();
    let call = s.call(LOOPX).args(&["adr", "promote"]);
    let out = call.env("LOOPX_FAILPOINT", "target-moved").run();
    assert_eq!(out.code, None, "{out}");
    s.write(record, "my own words\n");
    let out = s.loopx(&["doctor", "--fix"]);
    assert!(out.stderr.contains(record), "{out}");
    assert_eq!(s.read(record), "my own words\n");
}

#[test]
fn w1_the_index_of_a_killed_landing_stays_held_until_it_is_in_its_place() {
    let (s, record) = drafted();
    let call = s.call(LOOPX).args(&["adr", "promote"]);
    let out = call.env("LOOPX_FAILPOINT", "target-moved").run();
    assert_eq!(out.code, None, "{out}");
    let lock = s.path().join(".git/index.lock");
    let ago = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    let file = std::fs::File::options().write(true).open(&lock);
    file.and_then(|file| file.set_modified(ago)).expect("older");
    let fix = s.call(LOOPX).args(&["doctor", "--fix"]);
    let out = failing(fix, "worktree-written:1+");
    assert!(!out.stdout.contains("removed index.lock"), "{out}");
    if lock.exists() {
        s.git(&["commit", "--quiet", "--allow-empty", "-m", "x"])
            .fails_with(128);
    }
    s.loopx(&["doctor", "--fix"]).ok();
    assert!(!lock.exists());
    a_commit_keeps(&s, record);
    assert!(s.read(record).contains("Keep it"));
    settled(&s);
}

/// A session with a point, and a commit behind it.
fn pointed() -> Sandbox {
    let s = Sandbox::new();
    s.commit_file("code.txt", "code\n", "code").ok();
    s.loopx(&["init"]).ok();
    s.git(&["switch", "-q", "-c", "work"]).ok();
    s.loopx(&["start", "--quick", "Mend it"]).ok();
    s.loopx(&["point", "add", "before"]).ok();
    s.commit_file("code.txt", "more\n", "more").ok();
    s
}

#[test]
fn t5_a_step_to_a_point_is_refused_before_its_commit_and_done_behind_it_whatever_cannot_be_read() {
    let mut noted_later = 0;
    for passage in 1..60 {
        let s = pointed();
        let tip = s.git(&["rev-parse", "HEAD"]).line();
        let back = s.call(LOOPX).args(&["point", "back", "before"]);
        let out = failing(back, &format!("ref-read:{passage}+"));
        let went = s.git(&["rev-parse", "HEAD"]).line() != tip;
        assert_eq!(out.code == Some(0), went, "{passage}\n{out}");
        if went && !out.stderr.contains("left: the note that says so") {
            assert!(
                noted_later > 0,
                "no passage is between the commit and the note"
            );
            return;
        }
        if went {
            noted_later += 1;
            assert!(out.stderr.contains("git revert --no-edit"), "{out}");
        }
    }
    panic!("no passage is behind the last read");
}

#[test]
fn t5_a_point_is_named_or_refused_whatever_cannot_be_read() {
    for passage in 1..40 {
        let s = pointed();
        let add = s.call(LOOPX).args(&["point", "add", "later"]);
        let out = failing(add, &format!("ref-read:{passage}+"));
        let listed = s.loopx(&["point", "list"]);
        let is_there = listed.stdout.contains("later");
        assert_eq!(out.code == Some(0), is_there, "{passage}\n{out}\n{listed}");
        if is_there {
            return;
        }
    }
    panic!("no passage is behind the last read");
}

#[test]
fn t5_an_init_whose_line_in_the_exclude_file_cannot_be_written_has_begun() {
    let s = Sandbox::new();
    s.commit_file("code.txt", "code\n", "code").ok();
    let out = failing(s.call(LOOPX).args(&["init"]), "file-written:1+");
    assert_eq!(out.code, Some(0), "{out}");
    insta::assert_snapshot!(out.steady(), @r#"
    $ git-loopx init
    sessions are stored on the branch `loopx` (0000000000)
    next: git loopx start "Fix the timeout"
          (and, to let git check commits and pushes: git loopx hooks install)
    --- stderr
    warning: the branch loopx is there; left: a line in .git/info/exclude for working copies (write: $ROOT/repo/.git/info/exclude: Input/output error (os error 5)); what leads on: git loopx init
    --- exit 0
    "#);
    s.loopx(&["init"]).ok();
    assert!(s.read(".git/info/exclude").contains("/.loopx/"));
}

#[test]
fn t5_a_file_that_a_kill_left_half_written_in_the_worktree_is_named_and_taken_away() {
    let s = Sandbox::new();
    s.commit_file("code.txt", "code\n", "code").ok();
    s.loopx(&["init"]).ok();
    let left = "docs/adr/.loopx-writing-aB3dEf";
    s.write(left, "half");
    // Somebody may be writing a young file.
    s.loopx(&["doctor"]).says("leftovers  none");
    // What a person may have named so is theirs.
    let theirs = [
        ".loopx-backup",
        ".loopx-a.json",
        "docs/.loopx-writing-notes.md",
        "docs/.loopx-writing-down",
    ];
    for path in theirs {
        s.write(path, "mine");
    }
    let ago = std::time::Duration::from_secs(2 * 3600);
    let hour = std::time::SystemTime::now() - ago;
    for path in theirs.into_iter().chain([left]) {
        let file = std::fs::File::options()
            .write(true)
            .open(s.path().join(path));
        file.and_then(|file| file.set_modified(hour))
            .expect("an old file");
    }
    s.loopx(&["doctor"]).says(left);
    s.loopx(&["doctor", "--fix"]).says(left);
    assert!(!s.exists(left));
    for path in theirs {
        assert_eq!(s.read(path), "mine");
    }
    s.write("elsewhere", "mine");
    std::os::unix::fs::symlink("../elsewhere", s.path().join("docs/.loopx-writing-aB3dEf"))
        .expect("a link");
    s.loopx(&["doctor", "--fix"]).ok();
    assert!(std::fs::symlink_metadata(s.path().join("docs/.loopx-writing-aB3dEf")).is_ok());
    settled(&s);
}

#[test]
fn f4_an_init_whose_hint_cannot_be_looked_up_is_done() {
    let mut done = 0;
    for passage in 1..30 {
        let s = Sandbox::new();
        s.commit_file("code.txt", "code\n", "code").ok();
        let out = failing(
            s.call(LOOPX).args(&["init"]),
            &format!("ref-read:{passage}+"),
        );
        let is_made = s.git(&["rev-parse", "--verify", "--quiet", "loopx"]).code == Some(0);
        if is_made {
            assert_eq!(out.code, Some(0), "{out}");
            done += 1;
        }
    }
    assert!(done > 1, "no read failed behind the branch");
}

#[test]
fn f6_a_file_that_a_kill_left_half_written_in_the_git_dir_is_named_and_taken_away() {
    let s = started();
    let other = linked(&s, "other");
    let own = s.git_in(&other, &["rev-parse", "--absolute-git-dir"]).ok();
    let own = std::path::PathBuf::from(own.trim());
    let git = s.path().join(".git");
    let left = [
        git.join("info/.loopx-aB3dEf"),
        git.join("loopx/.loopx-aB3dEf"),
        git.join("loopx/known/.loopx-Zz9yXw"),
        own.join("loopx/.loopx-aB3dEf"),
    ];
    // A name of another length is nobody's that we know.
    let theirs = git.join("loopx/.loopx-kept.json");
    let ago = std::time::SystemTime::now() - std::time::Duration::from_secs(2 * 3600);
    let write = |path: &std::path::Path, is_old: bool| {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("make the folder");
        std::fs::write(path, "half").expect("write the file");
        if is_old {
            let file = std::fs::File::options().write(true).open(path);
            file.and_then(|file| file.set_modified(ago))
                .expect("an old file");
        }
    };
    left.iter().for_each(|path| write(path, false));
    s.loopx_in(&other, &["doctor"]).says("leftovers  none");
    left.iter().for_each(|path| write(path, true));
    write(&theirs, true);
    s.loopx_in(&other, &["doctor"])
        .says("info/.loopx-aB3dEf")
        .says("loopx/known/.loopx-Zz9yXw");
    s.loopx_in(&other, &["doctor", "--fix"]).ok();
    for path in &left {
        assert!(!path.exists(), "{}", path.display());
    }
    assert!(theirs.exists());
    settled(&s);
}

#[test]
fn n5_the_copy_of_the_index_and_its_lock_are_named_as_temporary_and_taken_away() {
    let s = started();
    s.program(
        "git",
        "#!/bin/sh\nPATH=${PATH#*:}\ncase \"$*\" in *write-tree*) : > \"$GIT_INDEX_FILE.lock\"; kill -9 $$;; esac\nexec git \"$@\"\n",
    );
    s.write("new.txt", "new\n");
    let out = s.loopx(&["-s", ID, "run", "--", "true"]);
    assert_ne!(out.code, Some(0), "{out}");
    std::fs::remove_file(s.root().join("bin/git")).expect("the program");
    let left = || {
        let files = std::fs::read_dir(s.path().join(".git/loopx")).expect("our folder");
        let files = files.map(|file| file.expect("a file").path());
        let locks = files.filter(|path| path.extension().is_some_and(|end| end == "lock"));
        let locks = locks.filter(|path| !path.ends_with("rules.lock"));
        locks.collect::<Vec<_>>()
    };
    let locks = left();
    assert_eq!(locks.len(), 1, "{locks:?}");
    let ago = std::time::SystemTime::now() - std::time::Duration::from_secs(2 * 3600);
    let lock = std::fs::File::options().write(true).open(&locks[0]);
    lock.and_then(|file| file.set_modified(ago))
        .expect("an old file");
    s.loopx(&["doctor"]).says("/.loopx-");
    s.loopx(&["doctor", "--fix"]).says("/.loopx-");
    assert_eq!(left(), [""; 0].map(std::path::PathBuf::from));
    settled(&s);
}

#[test]
fn n4_a_reopened_session_whose_working_copy_cannot_be_written_says_so() {
    let mut warned = 0;
    for passage in 1..8 {
        let s = Sandbox::once("", archived_quick);
        let reopen = s.call(LOOPX).args(&["reopen", "--reason", "it is back"]);
        let out = failing(reopen, &format!("file-written:{passage}+"));
        if out.code == Some(0) && !s.exists(".loopx/mend/brief.md") {
            assert!(
                out.stderr.contains("left: the working copy .loopx/mend"),
                "{passage}: {out}"
            );
            warned += 1;
        }
    }
    assert!(warned > 0, "no write of the working copy failed");
}

/// A quick session that was finished, on its own branch.
fn archived_quick() -> Sandbox {
    let s = Sandbox::new();
    s.commit_file("code.txt", "code\n", "code").ok();
    s.loopx(&["init"]).ok();
    s.git(&["switch", "--quiet", "-c", "mend"]).ok();
    s.loopx(&["start", "--quick", "--id", "mend", "Mend it"])
        .ok();
    s.write(".loopx/mend/brief.md", crate::support::issues::BRIEF);
    s.write("code.txt", "mended\n");
    s.git(&["commit", "--quiet", "-am", "Mend it"]).ok();
    s.loopx(&["run", "--", "true"]).ok();
    s.loopx(&["finish", "--yes"]).ok();
    s
}

#[test]
fn a_checkout_that_fails_behind_its_first_file_is_done_for_what_it_wrote() {
    let names = ["spec.md", "plan.md", "architecture.md"];
    let mut done = 0;
    for place in 1..8 {
        let s = Drive::planned().into_sandbox();
        let files = names.map(|name| format!(".loopx/{PLANNED}/{name}"));
        let files: Vec<&String> = files.iter().filter(|file| s.exists(file)).collect();
        assert!(files.len() > 1, "{files:?}");
        files.iter().for_each(|file| s.write(file, "mine\n"));
        let mine = |s: &Sandbox| files.iter().filter(|file| s.read(file) == "mine\n").count();
        let call = s.call(LOOPX).args(&["-s", PLANNED, "checkout", "--force"]);
        let out = failing(call, &format!("file-written:{place}"));
        if out.stderr.contains("left: ") {
            assert_eq!(out.code, Some(0), "{out}");
            assert!(mine(&s) <= 1, "{out}");
            let out = out.says("as on the branch");
            let lead = "what leads on: git loopx";
            assert!(
                out.stderr.contains(lead) && !out.stderr.contains("error: "),
                "{out}"
            );
            done += 1;
        } else if out.code != Some(0) {
            assert_eq!(mine(&s), files.len(), "{place}: {out}");
        }
        s.loopx(&["-s", PLANNED, "checkout", "--force"]).ok();
        assert_eq!(mine(&s), 0);
    }
    assert!(done > 0);
}

#[test]
fn hooks_that_are_out_stay_out_though_their_copy_cannot_be_removed() {
    let s = started();
    s.loopx(&["agent", "install", "claude"]).ok();
    let call = s.call(LOOPX).args(&["agent", "uninstall", "claude"]);
    let out = failing(call, "file-removed:1");
    assert_ne!(out.code, Some(0), "{out}");
    let call = s.call(LOOPX).args(&["agent", "uninstall", "claude"]);
    let out = failing(call, "file-removed:2");
    assert_eq!(out.code, Some(0), "{out}");
    insta::assert_snapshot!(out.steady(), @"
    $ git-loopx agent uninstall claude
    Claude Code is taken out of $ROOT/repo/.claude/settings.json
    --- stderr
    warning: our hooks are out of $ROOT/repo/.claude/settings.json; left: the copy of what stood there before (remove: $ROOT/repo/.git/loopx/agent/claude.json: Input/output error (os error 5)); what leads on: git loopx agent uninstall claude
    --- exit 0
    ");
    assert!(!out.stderr.contains("error: "), "{out}");
    s.loopx(&["agent", "uninstall", "claude"]).ok();
    s.loopx(&["agent", "install", "claude"]).ok();
    s.loopx(&["agent", "uninstall", "claude"]).ok();
}

/// F5: libgit2 does not ask how the removal of its lock ended, and the next writer of that ref waited for the lock.
#[test]
#[expect(clippy::print_stderr, reason = "a skipped test has to say so")]
fn f5_a_lock_of_a_ref_that_was_not_removed_is_removed_again_or_named() {
    for (fails, stays) in [("1", false), ("1+", true)] {
        let s = Sandbox::new();
        let lock = s.path().join(".git/refs/heads/loopx.lock");
        let trace = s.root().join("trace");
        let inject = format!("inject=unlink,unlinkat:error=EIO:when={fails}");
        let call = s.call("strace").args(&["-f", "-qq", "-o"]).args(&[&trace]);
        let call = call.args(&["-P"]).args(&[&lock]);
        let call = call.args(&["-e", "trace=unlink,unlinkat", "-e", &inject]);
        let out = call.args(&[LOOPX, "init"]).command().output();
        let calls = std::fs::read_to_string(&trace).unwrap_or_default();
        let (Ok(out), true) = (out, calls.contains("INJECTED")) else {
            eprintln!("skipped: strace cannot be used here");
            return;
        };
        let said = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(0), "{said}");
        assert_eq!(lock.exists(), stays, "{said}");
        if stays {
            for word in ["removing its lock file", "git loopx doctor --fix"] {
                assert!(said.contains(word), "{word}: {said}");
            }
            let file = std::fs::File::options().write(true).open(&lock);
            let then = std::time::SystemTime::now() - std::time::Duration::from_secs(20);
            file.and_then(|file| file.set_modified(then)).expect("set");
            s.loopx(&["doctor", "--fix"]).ok();
            assert!(!lock.exists());
        } else {
            assert!(said.is_empty() || !said.contains("warning"), "{said}");
        }
        s.loopx(&["start", "--no-branch", "other"]).ok();
        assert_whole(&s);
    }
}
