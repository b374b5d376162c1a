//! Screens of `status`, `list` and `log` at 40, 80 and 120 columns, as files in `tests/golden/screens`: each stage, and
//! each kind of hold. A wanted change is written with `LOOPX_BLESS=1`.

use crate::support::clones::Clones;
use crate::support::drive::{Drive, RITA};
use crate::support::tasks::{planning, task};
use crate::support::{LOOPX, Sandbox, session};
use std::fs;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/screens")
}

/// Object ids differ from run to run.
fn steady(text: &str) -> String {
    let mut out = String::new();
    for word in text.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
        let bare = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        let is_hex = bare.bytes().all(|b| b.is_ascii_hexdigit());
        let is_id = matches!(bare.len(), 10 | 40) && is_hex;
        out.push_str(&if is_id {
            "0".repeat(bare.len())
        } else {
            bare.to_owned()
        });
        out.push_str(&word[bare.len()..]);
    }
    out
}

/// Output of a command at each width, one after the other.
fn screens(s: &Sandbox, args: &[&str], locale: &str) -> String {
    let mut out = String::new();
    for columns in ["40", "80", "120"] {
        let call = s.call(LOOPX).args(args).env("COLUMNS", columns);
        let shown = call.env("LC_ALL", locale).run().ok();
        let rule = "-".repeat(columns.parse().expect("a number"));
        out.push_str(&format!("{rule}\n{}", steady(&shown)));
    }
    out
}

#[track_caller]
fn golden(name: &str, text: &str) {
    let path = folder().join(name);
    if std::env::var_os("LOOPX_BLESS").is_some_and(|value| value == "1") {
        fs::create_dir_all(folder()).expect("a folder");
        fs::write(&path, text).expect(name);
    }
    let wanted = fs::read_to_string(&path).unwrap_or_default();
    assert!(wanted == text, "{}: drifted\n{text}", path.display());
}

/// Asserts that no line is wider than the screen, but those with a command or a name that no space breaks.
#[track_caller]
fn fits(s: &Sandbox, args: &[&str]) {
    for columns in [40_usize, 80, 120] {
        let call = s.call(LOOPX).args(args).env("COLUMNS", columns.to_string());
        let shown = call.run().ok();
        let wide: Vec<&str> = shown
            .lines()
            .filter(|line| line.chars().count() > columns && !line.contains("git "))
            .collect();
        assert!(wide.is_empty(), "{columns}: {wide:#?}");
    }
}

#[track_caller]
fn status(name: &str, s: &Sandbox) {
    status_as(name, s, &["status"]);
}

#[track_caller]
fn status_as(name: &str, s: &Sandbox, args: &[&str]) {
    fits(s, args);
    golden(&format!("status-{name}.txt"), &screens(s, args, "C.UTF-8"));
}

#[test]
fn u3_each_stage_has_its_picture() {
    for (name, d) in [
        ("clarify", Drive::repository(None)),
        ("clarified", Drive::clarified()),
        ("plan", Drive::planning()),
        ("planned", Drive::planned()),
        ("build", Drive::building()),
        ("built", Drive::built()),
        ("review", Drive::reviewing()),
        ("reviewed", Drive::reviewed()),
        ("done", Drive::done()),
    ] {
        if name == "clarify" {
            d.does(&["start", "Demo"]);
        }
        status(name, &d);
    }
    // Where the locale takes no more than ASCII, no more is shown.
    let d = Drive::building();
    let ascii = screens(&d, &["status"], "C");
    assert!(ascii.is_ascii(), "{ascii}");
    golden("status-ascii.txt", &ascii);
}

#[test]
fn each_end_has_its_picture() {
    let named = ["-s", "demo", "status"];
    let d = Drive::done();
    d.does(&["archive"]);
    status_as("archived", &d, &named);
    d.git(&["switch", "--quiet", "main"]).ok();
    d.git(&["merge", "--quiet", "--ff-only", "demo"]).ok();
    status_as("landed", &d, &named);
    let d = Drive::building();
    d.does(&["abandon", "--reason", "the server does it"]);
    status_as("abandoned", &d, &named);
}

#[test]
fn what_a_person_has_to_mend_has_its_picture() {
    // The commit that the session began on is gone.
    let (s, _) = crate::base_gone::gone();
    status("base", &s);
    // An agent could not go on.
    let d = Drive::building();
    d.does(&["agent", "block", "--reason", "no network"]);
    status("blocked", &d);
    // A critic found something in the plan.
    let d = Drive::planning();
    d.does(&["plan", "--architect", "approve"]);
    let finding = "high: nothing says how long idle is";
    d.does(&["plan", "--critic", "iterate", "--finding", finding]);
    status("critic", &d);
    // An approval is older than what it is about, and so is a verdict.
    let d = Drive::planned();
    d.does(&["approve", "--to", "build"]);
    d.edit("plan.md", "# Plan\n\n## Approach\n\nTwo steps.\n");
    status("stale", &d);
    let d = Drive::reviewed();
    d.write("src/demo.txt", "later\n");
    let late = ["commit", "--quiet", "--no-verify", "-am", "Later"];
    d.git(&late).ok();
    status("late", &d);
    // The target takes another policy meanwhile.
    let d = Drive::building();
    d.git(&["switch", "--quiet", "main"]).ok();
    let policy = "[approve]\nrequired = { \"plan->build\" = 2 }\n";
    d.commit_file("loopx.toml", policy, "Policy").ok();
    d.git(&["switch", "--quiet", "demo"]).ok();
    terminal("status-policy.txt", &d, "git loopx status");
}

#[test]
fn what_waits_for_another_person_has_its_picture() {
    // One of two approvals.
    let two = "[approve]\nrequired = { \"clarify->plan\" = 2 }\n";
    let d = Drive::repository(Some(two));
    d.does(&["start", "Demo"]);
    d.edit("spec.md", crate::support::drive::SPEC);
    d.does(&["approve", "--to", "plan"]);
    status("half", &d);
    // A review by somebody who took no part.
    let s = session::at("review", "", "[review]\nindependence = \"require\"\n");
    status("apart-review", &s);
    // What two clones said apart is settled by one of them.
    let all = crate::resolve::contested();
    let mut out = String::new();
    for columns in ["40", "80", "120"] {
        let call = all.call(0).args(&["status"]).env("COLUMNS", columns);
        let shown = steady(&call.env("LC_ALL", "C.UTF-8").run().ok());
        // Which of the two comes first differs from run to run.
        let shown = shown.replace("Person 1", "Person 0");
        let rule = "-".repeat(columns.parse().expect("a number"));
        out.push_str(&format!("{rule}\n{shown}"));
    }
    golden("status-conflict.txt", &out);
}

#[test]
fn each_kind_of_hold_has_its_picture() {
    // Files that are not committed, and another branch.
    let d = Drive::building();
    d.write("src/demo.txt", "an end\n");
    d.write("notes.txt", "a note\n");
    status("dirty", &d);
    d.git(&["stash", "--quiet", "--include-untracked"]).ok();
    d.git(&["switch", "--quiet", "main"]).ok();
    golden(
        "status-branch.txt",
        &screens(&d, &["-s", "demo", "status"], "C.UTF-8"),
    );
    // A merge that left both sides.
    let d = Drive::building();
    d.git(&["switch", "--quiet", "main"]).ok();
    d.commit_file("src/demo.txt", "theirs\n", "Theirs").ok();
    d.git(&["switch", "--quiet", "demo"]).ok();
    d.commit_file("src/demo.txt", "ours\n", "Ours").ok();
    d.git(&["merge", "--quiet", "main"]).fails_with(1);
    status("merge", &d);
    // A file that is not saved, and one that cannot be.
    let d = Drive::planned();
    d.edit("plan.md", "# Plan\n\n## Approach\n");
    d.edit("change/slices.json", "[{\n");
    status("unsaved", &d);
    // Somebody else has to approve.
    let d = Drive::repository(Some("[approve]\ndeny = [\"*<test@*\", \"*\"]\n"));
    d.does(&["start", "Demo"]);
    d.edit("spec.md", crate::support::drive::SPEC);
    d.does(&["save"]);
    status("denied", &d);
    // A review that asks for changes.
    let d = Drive::reviewing();
    d.loopx(&[
        "review",
        "--verdict",
        "request-changes",
        "--target",
        "build",
        "--finding",
        "high: no audit log on logout",
        "--reason",
        "mend it",
    ])
    .ok();
    status("changes", &d);
    let _ = RITA;
}

#[test]
fn the_board_and_the_log_have_their_pictures() {
    let d = Drive::building();
    d.does(&["start", "流式导出", "--no-branch"]);
    d.does(&[
        "start",
        "A change whose name is longer than anybody reads",
        "--no-branch",
    ]);
    d.does(&["start", "Left behind", "--no-branch"]);
    d.loopx(&["-s", "left-behind", "abandon"]).ok();
    golden("list.txt", &screens(&d, &["list"], "C.UTF-8"));
    golden("list-all.txt", &screens(&d, &["list", "--all"], "C.UTF-8"));
    d.loopx(&[
        "-s",
        "demo",
        "note",
        "the clock is wrong by an hour in winter, and nobody knows why that is so",
    ])
    .ok();
    terminal("log.txt", &d, "git loopx -s demo log");
    terminal("help.txt", &d, "git loopx help");
}

/// N14: what shows a session, its plan, its notes and the profiles fits a narrow screen.
#[test]
fn n14_what_is_shown_at_length_is_folded_and_has_its_picture() {
    let d = Drive::done();
    d.does(&[
        "note",
        "the clock is wrong by an hour in winter, and nobody knows why that is so",
    ]);
    d.does(&[
        "note",
        "--to",
        "builder",
        "--from",
        "reviewer",
        "read the log of the server first",
    ]);
    let shown = [
        ("show", "show"),
        ("profile", "profile"),
        ("notes", "note list"),
    ];
    for (name, words) in shown {
        let line = format!("git loopx {words}");
        terminal(&format!("{name}.txt"), &d, &line);
    }
    let s = planning(&[
        task("A", &[], Some(&["true"])),
        task("B", &["A"], Some(&["true"])),
    ]);
    s.loopx(&[
        "note",
        "--ask",
        "Which port does the server of the tests listen at?",
    ])
    .ok();
    terminal("plan-show.txt", &s, "git loopx plan --show");
}

/// Output of a command on a terminal at each width; nothing where there is no script(1), which is the terminal.
#[expect(clippy::print_stderr, reason = "a skipped test has to say so")]
fn terminals(s: &Sandbox, line: &str) -> Option<String> {
    let typed = |line: &str, columns: &str| {
        let call = s
            .call(Path::new("script"))
            .args(&["-qec", line, "/dev/null"]);
        let call = call.env("COLUMNS", columns).env("LC_ALL", "C.UTF-8");
        call.env("NO_COLOR", "1").env("GIT_PAGER", "cat").run()
    };
    if typed("true", "80").code != Some(0) {
        eprintln!("skipped: no script(1) here");
        return None;
    }
    let mut out = String::new();
    for columns in ["40", "80", "120"] {
        let shown = typed(line, columns).stdout.replace("\r\n", "\n");
        let rule = "-".repeat(columns.parse().expect("a number"));
        out.push_str(&format!("{rule}\n{}", steady(&shown)));
    }
    Some(out)
}

/// The picture of a command at a terminal.
#[track_caller]
fn terminal(name: &str, s: &Sandbox, line: &str) {
    if let Some(shown) = terminals(s, line) {
        golden(name, &shown);
    }
}

#[test]
fn what_others_hold_and_what_a_remote_has_have_their_pictures() {
    // Another worktree has the build.
    let d = Drive::building();
    let dir = d.root().join("other");
    d.git(&["switch", "--quiet", "main"]).ok();
    d.git(&[
        "worktree",
        "add",
        "--quiet",
        dir.to_str().expect("UTF-8"),
        "demo",
    ])
    .ok();
    let mut held = String::new();
    for columns in ["40", "80", "120"] {
        let call = d.call(LOOPX).cwd(&dir).args(&["status"]);
        let call = call.env("COLUMNS", columns).env("LC_ALL", "C.UTF-8");
        let rule = "-".repeat(columns.parse().expect("a number"));
        held.push_str(&format!("{rule}\n{}", steady(&call.run().ok())));
    }
    golden("status-held.txt", &held);
    // Parked by a person.
    let d = Drive::building();
    d.does(&[
        "agent",
        "park",
        "--reason",
        "it waits for the key of the server",
    ]);
    status("parked", &d);
    // Ahead of the remote, then apart from it.
    let d = Drive::building();
    d.git(&["init", "--quiet", "--bare", "../remote.git"]).ok();
    d.git(&["remote", "add", "origin", "../remote.git"]).ok();
    d.git(&["push", "--quiet", "origin", "main", "demo"]).ok();
    d.loopx(&["sync", "origin"]).ok();
    let clone = d.root().join("clone");
    let path = clone.to_str().expect("UTF-8");
    d.git(&["clone", "--quiet", "../remote.git", path]).ok();
    d.loopx_in(&clone, &["init"]).ok();
    d.loopx_in(&clone, &["-s", "demo", "note", "the clock is wrong"])
        .ok();
    d.loopx_in(&clone, &["sync", "origin"]).ok();
    d.does(&["note", "one more"]);
    status("ahead", &d);
    d.git(&["fetch", "--quiet", "origin"]).ok();
    status("apart", &d);
}

#[test]
fn a_branch_that_two_sessions_have_has_its_picture() {
    let all = Clones::sharing(2);
    for (at, name) in [(0, "first"), (1, "second")] {
        all.git(at, &["switch", "--quiet", "-c", "shared"]).ok();
        all.loopx(at, &["start", name]).ok();
    }
    all.sync(0).ok();
    all.sync(1).ok();
    all.sync(0).ok();
    let mut out = String::new();
    for columns in ["40", "80", "120"] {
        for args in [&["-s", "first", "status"][..], &["list"]] {
            let call = all.call(0).args(args).env("COLUMNS", columns);
            let shown = call.env("LC_ALL", "C.UTF-8").run().ok();
            let rule = "-".repeat(columns.parse().expect("a number"));
            out.push_str(&format!("{rule}\n{}", steady(&shown)));
        }
    }
    golden("status-shared.txt", &out);
}

#[test]
fn a_review_shows_itself_and_has_its_picture() {
    let d = Drive::reviewing();
    terminal("review.txt", &d, "git loopx review --show");
    d.loopx(&[
        "review",
        "--verdict",
        "request-changes",
        "--finding",
        "high: no audit log on logout",
    ])
    .ok();
    terminal("review-changes.txt", &d, "git loopx review --show");
}

#[test]
fn refusals_of_a_commit_by_the_hooks_have_their_pictures() {
    let policy = "[gates]\nout_of_scope = \"refuse\"\n";
    let commit = "git commit --quiet -m code";
    let mut all = String::new();
    for (stage, path) in [
        ("plan", "src/new.rs"),
        ("build", "other/new.rs"),
        ("review", "src/late.rs"),
    ] {
        let s = session::at(stage, "src", policy);
        s.write(path, "code\n");
        s.git(&["add", path]).ok();
        let Some(shown) = terminals(&s, commit) else {
            return;
        };
        all.push_str(&shown);
    }
    golden("commit-refused.txt", &all);
}
