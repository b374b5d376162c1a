//! Names on the loopx branch: those that no tree should have are refused, and those that this program does not
//! know are taken with a word.

use crate::support::Sandbox;
use crate::support::server::{
    FORMATS, begun, entries, push, put_tree, raw_tree, refused, server, with_entry,
};
use crate::support::session::tip;
use crate::support::store::{tamper, tell};

const NAMES: [&[u8]; 15] = [
    b".git",
    b".GIT",
    b"git~1",
    b".gitmodules",
    b"..",
    b".",
    b"\"..",
    b"x\"",
    b"a\\b",
    b"a\nb",
    b"\x1b[31mred",
    b"\xff\xfe",
    b"\x7f",
    b"a/b",
    &[b'x'; 256],
];

const FOLDERS: [&str; 6] = [
    "",
    "sessions",
    "branches",
    "sessions/demo",
    "sessions/demo/ops",
    "journal",
];

fn blob(s: &Sandbox) -> String {
    let call = s.call("git").args(&["hash-object", "-w", "--stdin"]);
    call.stdin("hello\n").run().line()
}

#[test]
fn g15_names_that_no_tree_should_have_are_refused() {
    for format in FORMATS {
        let s = begun(format, "");
        s.loopx(&["note", "--journal", "hello"]).ok();
        server(&s);
        let good = tip(&s);
        let file = blob(&s);
        let folder = raw_tree(&s, &[("100644".into(), b"x".to_vec(), file.clone())]);
        // Each name and each folder once, as a file and as a folder in turn.
        let few = if format == "sha1" { NAMES.len() } else { 3 };
        for (at, name) in NAMES.iter().enumerate().take(few) {
            let (mode, id) = match at % 2 {
                0 => ("40000", &folder),
                _ => ("100644", &file),
            };
            let path = FOLDERS[at % FOLDERS.len()];
            put_tree(&s, &with_entry(&s, "loopx", path, (mode, name, id)));
            let said = push(&s, &["loopx"]).fails_with(1);
            assert!(said.stderr.contains("sessions_invalid"), "{name:?}: {said}");
            if at % 3 == 0 {
                s.loopx(&["fsck"]).fails_with(1);
            }
            if at == 0 {
                let repair = s.loopx(&["fsck", "--repair"]).fails_with(70);
                repair.says("nothing was changed");
            }
            // Under a commit that takes it away again it is in the history all the same.
            put_tree(
                &s,
                &s.git(&["rev-parse", &format!("{good}^{{tree}}")]).line(),
            );
            refused(&s, &["loopx"], "sessions_invalid");
            s.git(&["update-ref", "refs/heads/loopx", &good]).ok();
        }
        s.loopx(&["-s", "demo", "run", "--", "true"]).ok();
        push(&s, &["loopx"]).ok();
        s.loopx(&["fsck"]).ok();
    }
}

#[test]
fn g15_what_git_would_not_write_is_refused() {
    let s = begun("sha1", "");
    server(&s);
    let good = tip(&s);
    let file = blob(&s);
    let main = s.git(&["rev-parse", "main"]).line();
    for (mode, id, why) in [
        ("120000", &file, "is a link"),
        ("160000", &main, "is a submodule"),
        ("100777", &file, "mode"),
    ] {
        put_tree(
            &s,
            &with_entry(&s, "loopx", "sessions/demo", (mode, b"x", id)),
        );
        refused(&s, &["loopx"], "sessions_invalid").says(why);
        s.git(&["update-ref", "refs/heads/loopx", &good]).ok();
    }
    let all = entries(&s, "loopx^{tree}");
    let mut twice = all.clone();
    twice.insert(0, all[0].clone());
    let mut turned = all;
    turned.reverse();
    for (tree, why) in [(twice, "one name twice"), (turned, "not in git's order")] {
        put_tree(&s, &raw_tree(&s, &tree));
        push(&s, &["loopx"]).fails_with(1).says(why);
        s.git(&["update-ref", "refs/heads/loopx", &good]).ok();
    }
}

/// A name that was there before the hook was is not the fault of whoever pushes.
#[test]
fn g15_a_name_that_is_there_already_stops_nobody() {
    let s = begun("sha1", "");
    let file = blob(&s);
    put_tree(
        &s,
        &with_entry(&s, "loopx", "sessions", ("100644", b"a\\b", &file)),
    );
    s.loopx(&["doctor", "--accept"]).ok();
    s.git(&["init", "--quiet", "--bare", "../remote.git"]).ok();
    s.git(&["remote", "add", "origin", "../remote.git"]).ok();
    push(&s, &["main", "loopx"]).ok();
    s.script(
        "../remote.git/hooks/pre-receive",
        crate::support::server::HOOK,
    );
    s.loopx(&["-s", "demo", "run", "--", "true"]).ok();
    push(&s, &["loopx"]).ok();
}

/// A clone takes no such history over, and its own work goes on; nothing of ours writes such a name.
#[test]
fn g15_no_clone_takes_such_a_name_over_or_writes_one() {
    let s = begun("sha1", "");
    server(&s);
    let good = tip(&s);
    let file = blob(&s);
    put_tree(
        &s,
        &with_entry(&s, "loopx", "sessions", ("100644", b"..", &file)),
    );
    s.script("../remote.git/hooks/pre-receive", "#!/bin/sh\n");
    push(&s, &["loopx"]).ok();
    s.git(&["update-ref", "refs/heads/loopx", &good]).ok();
    for went_on in [false, true] {
        if went_on {
            s.loopx(&["-s", "demo", "run", "--", "true"]).ok();
        }
        let here = tip(&s);
        let error = s.loopx(&["--json", "sync"]).fails_with(1).error_json();
        assert_eq!(error["error"]["code"], "tree_name_invalid", "{error:#}");
        assert_eq!(tip(&s), here);
    }
    s.loopx(&["fsck"]).ok();
    s.write("openspec/project.md", "# Project\n");
    s.write("openspec/changes/odd/proposal.md", "# Odd\n\n## Why\n\nx\n");
    s.write("openspec/changes/odd/a\\b.md", "x\n");
    let imported = s.loopx(&["import", "openspec"]);
    tell(&imported.to_string());
    assert_ne!(imported.code, Some(70), "{imported}");
    s.loopx(&["fsck"]).ok();
}

/// A path that this program does not know may be of a newer one: it is kept, and the server says so.
#[test]
fn what_lies_outside_of_the_known_folders_is_taken_with_a_word() {
    let s = begun("sha1", "");
    server(&s);
    for (path, said) in [
        ("evil.sh", "`evil.sh`"),
        ("tools/evil.sh", "`tools/evil.sh`"),
        ("sessions/Not a name/x", "`sessions/Not a name`"),
    ] {
        tamper(&s, path, Some(b"hello\n"));
        let said_of_it = push(&s, &["loopx"]);
        assert!(said_of_it.stderr.contains(said), "{path}: {said_of_it}");
        said_of_it.ok();
    }
    // Once is enough, and what has the form of an entity is nobody's mistake.
    s.loopx(&["doctor", "--accept"]).ok();
    s.loopx(&["-s", "demo", "run", "--", "true"]).ok();
    let quiet = push(&s, &["loopx"]);
    assert!(!quiet.stderr.contains("evil"), "{quiet}");
    quiet.ok();
}

/// A folder of ten folders of ten, so deep: 10^12 paths in a few objects.
fn bomb(s: &Sandbox) -> String {
    let mut entry = ("100644".to_owned(), blob(s));
    for _ in 0..12 {
        let rows: Vec<_> = (0..10u8)
            .map(|n| (entry.0.clone(), vec![b'a' + n], entry.1.clone()))
            .collect();
        entry = ("40000".to_owned(), raw_tree(s, &rows));
    }
    entry.1
}

#[test]
fn g19_a_tree_that_nobody_could_list_is_refused_before_anybody_does() {
    let s = begun("sha1", "");
    server(&s);
    let bomb = bomb(&s);
    let folder = ("40000", &b"zbomb"[..], bomb.as_str());
    put_tree(&s, &with_entry(&s, "loopx", "sessions/demo", folder));
    push(&s, &["loopx"])
        .fails_with(1)
        .says("has more than 10,000,000 paths");
}
