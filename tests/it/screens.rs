//! What `status`, `list` and `log` look like at 40, 80 and 120 columns, as files in `tests/golden/screens`: each
//! stage, and each kind of hold. A wanted change is written with `LOOPX_BLESS=1`.

use crate::support::drive::{Drive, RITA};
use crate::support::{LOOPX, Sandbox};
use std::fs;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/screens")
}

/// Object ids and tokens of worktrees differ from run to run.
fn steady(text: &str) -> String {
    let mut out = String::new();
    for word in text.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
        let bare = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        let is_id = bare.len() == 10 && bare.bytes().all(|b| b.is_ascii_hexdigit());
        out.push_str(&if is_id {
            "0".repeat(10)
        } else {
            bare.to_owned()
        });
        out.push_str(&word[bare.len()..]);
    }
    match out.find("worktree ") {
        Some(at) if out[at + 9..].len() >= 6 && !out[at + 9..].starts_with("until") => {
            let token = out[at + 9..at + 15].to_owned();
            match token.bytes().all(|b| b.is_ascii_alphanumeric()) {
                true => out.replace(&token, "token0"),
                false => out,
            }
        }
        _ => out,
    }
}

/// What a command shows at each width, one after the other.
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

/// No line is wider than the screen, but those with a command or a name that no space breaks.
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
    fits(s, &["status"]);
    golden(
        &format!("status-{name}.txt"),
        &screens(s, &["status"], "C.UTF-8"),
    );
}

#[test]
fn each_stage_has_its_picture() {
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
    let d = Drive::done();
    d.does(&["archive"]);
    d.loopx(&["-s", "demo", "status"])
        .says("archived on demo")
        .ok();
    // Where the locale takes no more than ASCII, no more is shown.
    let d = Drive::building();
    let ascii = screens(&d, &["status"], "C");
    assert!(ascii.is_ascii(), "{ascii}");
    golden("status-ascii.txt", &ascii);
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
    golden(
        "log.txt",
        &screens(&d, &["-s", "left-behind", "log"], "C.UTF-8"),
    );
}
