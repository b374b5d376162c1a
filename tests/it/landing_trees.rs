//! Objects that git's programs do not read alike are no landing, whoever reviewed what they seem to hold: trees
//! with a name twice, names that no clone checks out, commits that end at a zero byte.

use crate::support::Sandbox;
use crate::support::landing::{
    at, ci, done, finished, make, merge, offer, push, refused, rev, squash, would_land,
};
use crate::support::server::{entries, literally, raw_tree, with_entry};
use crate::support::session::{advance, begin, start};

type Row = (String, Vec<u8>, String);

fn row(mode: &str, name: &[u8], id: &str) -> Row {
    (mode.to_owned(), name.to_vec(), id.to_owned())
}

fn blob(s: &Sandbox, text: &str) -> String {
    let call = s.call("git").args(&["hash-object", "-w", "--stdin"]);
    call.stdin(text).run().line()
}

fn commit(s: &Sandbox, tree: &str, message: &str) -> String {
    s.git(&["commit-tree", tree, "-p", "main", "-m", message])
        .line()
}

/// `main` with a folder `docs` of these entries, as they stand here.
fn documents(s: &Sandbox, rows: &[Row]) -> String {
    let docs = raw_tree(s, rows);
    let tree = with_entry(s, "main", "", ("40000", b"docs", &docs));
    commit(s, &tree, "documents")
}

/// Refused by the server and by CI, with what is wrong and where.
#[track_caller]
fn malformed(s: &Sandbox, commit: &str, code: &str, what: &str) {
    ci(s, commit, "other").fails_with(1).says(code).says(what);
    push(s, &[&format!("{commit}:refs/heads/main")])
        .fails_with(1)
        .says(code)
        .says("pre-receive hook declined");
}

#[test]
fn a_name_that_is_there_twice_lands_nothing() {
    let s = done();
    let evil = blob(&s, "evil\n");
    let good = blob(&s, "good\n");
    let evil_folder = raw_tree(&s, &[row("100644", b"evil.sh", &evil)]);
    let good_folder = raw_tree(&s, &[row("100644", b"good.md", &good)]);
    // The reviewed tree under a squash, and `main` as it is under a document: each with another `src` before it.
    for (of, code) in [("demo", "first"), ("demo", "last"), ("main", "first")] {
        let mut rows = entries(&s, &format!("{of}^{{tree}}"));
        let at = rows.iter().position(|(_, name, _)| name == b"src");
        let at = at.expect("src") + usize::from(code == "last");
        rows.insert(at, row("40000", b"src", &evil_folder));
        let made = commit(&s, &raw_tree(&s, &rows), "Ten minutes (#1)");
        malformed(
            &s,
            &made,
            "tree_name_invalid",
            "`src`, which is there more than once",
        );
    }
    // A file and a folder of one name, which git's order keeps apart.
    let mut rows = entries(&s, "demo^{tree}");
    rows.insert(0, row("100644", b"src", &evil));
    rows.sort_by_key(|(mode, name, _)| {
        let end: &[u8] = if mode == "40000" { b"/" } else { b"" };
        [name.as_slice(), end].concat()
    });
    let made = commit(&s, &raw_tree(&s, &rows), "Ten minutes (#1)");
    malformed(
        &s,
        &made,
        "tree_name_invalid",
        "`src`, which is there more than once",
    );
    let path = "`docs/sub`, which is there more than once";
    for (first, last) in [(&evil_folder, &good_folder), (&good_folder, &evil_folder)] {
        let rows = [row("40000", b"sub", first), row("40000", b"sub", last)];
        malformed(&s, &documents(&s, &rows), "tree_name_invalid", path);
    }
    for (mode, id) in [("100755", &evil), ("120000", &evil), ("100644", &good)] {
        let rows = [row(mode, b"a", id), row("100644", b"a", &good)];
        malformed(&s, &documents(&s, &rows), "tree_name_invalid", "`docs/a`");
    }
    let rows = [row("100644", b"z", &good), row("100644", b"a", &good)];
    malformed(
        &s,
        &documents(&s, &rows),
        "tree_name_invalid",
        "not in git's order",
    );
    let rows = [row("100644", b"a", &good), row("100644", b"z", &good)];
    would_land(&s, &documents(&s, &rows));
    // Which of two policies counts is not left to the reader.
    let open = blob(&s, "[gates]\n");
    let mut rows = entries(&s, "main^{tree}");
    let at = rows.iter().position(|(_, name, _)| name == b"loopx.toml");
    rows.insert(at.expect("policy"), row("100644", b"loopx.toml", &open));
    let made = commit(&s, &raw_tree(&s, &rows), "a document");
    malformed(&s, &made, "invalid", "`loopx.toml`");
    s.loopx(&["config", "show", "--from", &made])
        .fails_with(1)
        .says("a name of it twice");
}

#[test]
fn names_and_modes_that_no_clone_checks_out_do_not_land_as_documents() {
    let s = done();
    let file = blob(&s, "text\n");
    let folder = raw_tree(&s, &[row("100644", b"x", &file)]);
    for name in [
        &b".git"[..],
        b".GIT",
        b"..",
        b".",
        b"a/b",
        b"git~1",
        b".git ",
        ".git\u{200c}".as_bytes(),
        b".git\\config",
    ] {
        let made = documents(&s, &[row("100644", name, &file)]);
        malformed(&s, &made, "tree_name_invalid", "the tree has `docs/");
    }
    for (mode, id) in [
        ("100664", &file),
        ("100000", &file),
        ("0100644", &file),
        ("040000", &folder),
    ] {
        let made = documents(&s, &[row(mode, b"a.md", id)]);
        malformed(
            &s,
            &made,
            "tree_name_invalid",
            "`docs/a.md`, which has a mode",
        );
    }
    // git's own push may stop before the hook does.
    let null = "0".repeat(file.len());
    for (mode, id, why) in [
        ("100644", &folder, "not what its mode says"),
        ("40000", &file, "not what its mode says"),
        ("100644", &null, "names no object"),
    ] {
        let made = documents(&s, &[row(mode, b"a.md", id)]);
        let said = ci(&s, &made, "other").fails_with(1);
        said.says("tree_name_invalid").says(why);
        push(&s, &[&format!("{made}:refs/heads/main")]).fails_with(1);
    }
    let rows = [
        row("100644", b"...", &file),
        row("100644", b".gitignore", &file),
        row("100644", b"a\\b", &file),
        row("40000", b"git", &folder),
    ];
    would_land(&s, &documents(&s, &rows));
}

#[test]
fn commits_that_git_does_not_write_do_not_land() {
    let s = done();
    let tree = rev(&s, "demo^{tree}");
    let main = rev(&s, "main");
    let by = "A <a@example.org> 1700000000 +0000";
    let bytes = |parent: &str, author: &str, message: &str| {
        format!("tree {tree}\nparent {parent}\nauthor {author}\ncommitter {by}\n\n{message}\n")
    };
    for bytes in [
        bytes(&main, by, "a\0b"),
        bytes(&main, "A\0 <a@example.org> 1700000000 +0000", "a"),
        bytes(&main.to_uppercase(), by, "a"),
        bytes(&main, "A <a@example.org>", "a"),
    ] {
        let made = literally(&s, "commit", bytes);
        malformed(&s, &made, "commit_invalid", "the commit object");
    }
    would_land(&s, &literally(&s, "commit", bytes(&main, by, "Ten (#1)")));
    // Below a merge, where only the tree of the merge is wanted.
    let below = literally(&s, "commit", bytes(&main, by, "a\0b"));
    let made = s.git(&["commit-tree", &tree, "-p", "main", "-p", &below, "-m", "m"]);
    malformed(&s, &made.line(), "commit_invalid", &below[..7]);
}

/// A tree that git itself writes is reviewed and lands, however odd.
#[test]
fn links_submodules_and_odd_names_land_with_a_review() {
    let s = finished();
    crate::support::landing::serve(&s);
    s.git(&["switch", "--quiet", "main"]).ok();
    start(&s, "second");
    advance(&s, "clarify", "build", "");
    s.write("src/run.sh", "true\n");
    s.chmod("src/run.sh", 0o755);
    s.write("src/a\\b", "x\n");
    s.write("src/a\nb", "x\n");
    std::os::unix::fs::symlink("run.sh", s.path().join("src/link")).expect("a link");
    s.git(&["add", "--all", "src"]).ok();
    std::fs::create_dir(s.path().join("vendor")).expect("a folder");
    let module = format!("160000,{},vendor", rev(&s, "main"));
    s.git(&["update-index", "--add", "--cacheinfo", &module])
        .ok();
    make(&s, &[("src/c.rs", "three\n")], "third");
    advance(&s, "build", "done", "");
    offer(&s, &["second"]);
    would_land(&s, "second");
    let squashed = squash(&s, "main", "second", "Odd (#2)");
    would_land(&s, &squashed);
    let merged = merge(&s, "main", "second", "Merge branch 'second'");
    would_land(&s, &merged);
}

/// The branch of a session is judged as strictly, where nothing protects it.
#[test]
fn a_bound_branch_takes_no_such_tree_either() {
    let s = Sandbox::new();
    begin(&s, "");
    crate::support::landing::serve(&s);
    let file = blob(&s, "text\n");
    let rows = [row("100644", b".git", &file)];
    let made = documents(&s, &rows);
    push(&s, &[&format!("{made}:refs/heads/demo")])
        .fails_with(1)
        .says("tree_name_invalid");
    push(&s, &[&format!("{made}:refs/heads/nobodys")]).ok();
}

#[test]
fn files_of_agents_are_guarded_in_any_folder_and_spelling() {
    let s = done();
    let file = blob(&s, "text\n");
    let folder = raw_tree(&s, &[row("100644", b"settings.md", &file)]);
    for (mode, name) in [
        ("100644", "AGENTS.override.md"),
        ("100644", "CLAUDE.local.md"),
        ("100644", "SKILL.md"),
        ("100644", ".cursorrules"),
        ("100644", ".mcp.json"),
        ("100644", "CLAUDE.md "),
        ("100644", "CLAUDE.md."),
        ("100644", "CLAUDE\u{200c}.md"),
        ("40000", ".claude"),
        ("40000", ".Cursor"),
    ] {
        let id = if mode == "40000" { &folder } else { &file };
        let made = documents(&s, &[row(mode, name.as_bytes(), id)]);
        ci(&s, &made, "other").fails_with(1).says("path_guarded");
    }
    let made = documents(&s, &[row("100644", b"CLAUDE.md.", &file)]);
    refused(&s, &made, "path_guarded");
    at(&s, "main");
    let honest = make(&s, &[("docs/agents-and-people.md", "x\n")], "a document");
    would_land(&s, &honest);
}

#[test]
fn g19_a_tree_that_nobody_could_list_lands_nowhere() {
    let s = done();
    let mut entry = ("100644", blob(&s, "x\n"));
    for _ in 0..12 {
        let rows: Vec<Row> = (0..10u8)
            .map(|n| row(entry.0, &[b'a' + n], &entry.1))
            .collect();
        entry = ("40000", raw_tree(&s, &rows));
    }
    let evil = documents(&s, &[row("40000", b"bomb", &entry.1)]);
    malformed(
        &s,
        &evil,
        "tree_name_invalid",
        "has more than 10,000,000 paths",
    );
}
