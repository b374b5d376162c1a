//! An archive that changes what stands in a file which nobody edited moves index and worktree without starting git;
//! whatever is unusual about them git does itself, and the same comes out.

use crate::support::archive::{DEMO_PATH, ID, Yard, shortened};
use std::fs::File;
use std::time::{Duration, SystemTime};

/// Notes each git that is started from here on, in a file beside the repository.
fn watch(y: &Yard) {
    let log = y.root().join("gits");
    let script = format!(
        "#!/bin/sh\necho \"$*\" >> '{}'\nPATH=${{PATH#*:}}\nexec git \"$@\"\n",
        log.display()
    );
    y.program("git", &script);
}

/// The gits that the program itself started.
fn started(y: &Yard) -> String {
    std::fs::read_to_string(y.root().join("gits")).unwrap_or_default()
}

/// Makes a file older than the index that git then writes, as files are that nobody has just checked out.
fn age(y: &Yard, path: &str) {
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_600_000_000);
    let file = File::options().append(true).open(y.path().join(path));
    let aged = file.expect("the file").set_modified(long_ago);
    aged.expect("set a time");
    y.git(&["update-index", "-q", "--refresh"]).ok();
}

/// Archives the session, and gives the gits that this took.
fn archived(y: &Yard) -> String {
    watch(y);
    y.archive(ID, &[]).ok();
    let gits = started(y);
    std::fs::remove_file(y.root().join("bin/git")).expect("the script");
    gits
}

#[test]
fn v5_an_archive_into_files_that_nobody_edited_starts_no_git() {
    let y = Yard::ready();
    age(&y, DEMO_PATH);
    let before = y.git(&["ls-files", "-s"]).ok();
    assert_eq!(archived(&y), "");
    assert_eq!(y.read(DEMO_PATH), shortened());
    // git was told what its files look like: this one looks into none of them.
    assert_eq!(y.git(&["diff-files"]).ok(), "");
    assert_eq!(y.git(&["diff-index", "--cached", "HEAD"]).ok(), "");
    y.clean();
    let after = y.git(&["ls-files", "-s"]).ok();
    let others = |listed: &str| {
        let lines = listed.lines().filter(|line| !line.ends_with(DEMO_PATH));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(others(&after), others(&before));
    y.archived_once(ID, ID);
}

#[test]
fn a_mode_that_the_umask_gives_is_that_of_the_file_in_both_ways() {
    for aged in [true, false] {
        let y = Yard::ready();
        let before = y.mode(DEMO_PATH);
        if aged {
            age(&y, DEMO_PATH);
        }
        y.archive(ID, &[]).ok();
        assert_eq!(y.mode(DEMO_PATH), before, "aged: {aged}");
    }
}

#[test]
fn what_is_unusual_about_a_worktree_git_does_itself() {
    type Unusual = (&'static str, fn(&Yard));
    let unusual: [Unusual; 9] = [
        ("line ends", |y| attributes(y, "*.md text eol=crlf\n")),
        ("line ends of old", |y| attributes(y, "*.md crlf\n")),
        ("ids", |y| attributes(y, "*.md ident\n")),
        ("an encoding", |y| {
            attributes(y, "*.md working-tree-encoding=UTF-16LE\n");
        }),
        ("a filter", |y| {
            y.git(&["config", "filter.low.smudge", "sed s/SHALL/shall/"])
                .ok();
            y.git(&["config", "filter.low.clean", "sed s/shall/SHALL/"])
                .ok();
            attributes(y, "*.md filter=low\n");
        }),
        ("line ends by configuration", |y| {
            y.git(&["config", "core.autocrlf", "true"]).ok();
        }),
        ("a split index", |y| {
            y.git(&["update-index", "--split-index"]).ok();
        }),
        ("a cache of what is untracked", |y| {
            y.git(&["update-index", "--force-untracked-cache"]).ok();
        }),
        ("names in any case", |y| {
            y.git(&["config", "core.ignorecase", "true"]).ok();
        }),
    ];
    for (what, make) in unusual {
        let y = Yard::ready();
        make(&y);
        check_out(&y);
        age(&y, DEMO_PATH);
        assert!(archived(&y).contains("read-tree"), "{what}: no git");
        let found = y.bytes(DEMO_PATH);
        y.clean();
        check_out(&y);
        assert_eq!(found, y.bytes(DEMO_PATH), "{what}");
        y.archived_once(ID, ID);
    }
}

#[test]
fn attributes_that_convert_nothing_are_not_unusual() {
    let y = Yard::ready();
    attributes(&y, "* text=auto\n*.md merge=union -diff\n");
    check_out(&y);
    age(&y, DEMO_PATH);
    assert_eq!(archived(&y), "");
    assert_eq!(y.read(DEMO_PATH), shortened());
    y.clean();
}

#[test]
fn a_file_that_may_have_been_edited_in_the_moment_of_its_checkout_is_looked_into() {
    let y = Yard::ready();
    let file = File::options().append(true).open(y.path().join(DEMO_PATH));
    let later = SystemTime::now() + Duration::from_secs(86_400);
    file.expect("the file").set_modified(later).expect("a time");
    y.git(&["update-index", "-q", "--refresh"]).ok();
    assert!(archived(&y).contains("read-tree"));
    assert_eq!(y.read(DEMO_PATH), shortened());
}

#[test]
fn a_folder_that_is_a_link_now_is_not_led_through() {
    let y = Yard::ready();
    age(&y, DEMO_PATH);
    let elsewhere = y.root().join("elsewhere");
    std::fs::rename(y.path().join("specs"), &elsewhere).expect("move the folder");
    std::os::unix::fs::symlink(&elsewhere, y.path().join("specs")).expect("a link");
    y.archive(ID, &[]).ok();
    let text = std::fs::read_to_string(elsewhere.join("demo/spec.md"));
    assert_ne!(text.expect("the spec"), shortened());
}

/// Attributes that the repository keeps for itself.
fn attributes(y: &Yard, text: &str) {
    y.write(y.path().join(".git/info/attributes"), text);
}

/// Writes the spec as git does.
fn check_out(y: &Yard) {
    std::fs::remove_file(y.path().join(DEMO_PATH)).expect("the spec");
    y.git(&["checkout", "--quiet", "--", DEMO_PATH]).ok();
}
