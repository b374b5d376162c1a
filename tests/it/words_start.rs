//! Fewer words to type: what `start` makes of its words (U16), `edit` and `put` without all of theirs (U8), aliases.

use crate::support::drive::{Drive, RECORD};
use crate::support::session::{self, begin};
use crate::support::{LOOPX, Sandbox};

fn ready() -> Sandbox {
    Sandbox::once("", || {
        let s = Sandbox::new();
        begin(&s, "");
        s.git(&["switch", "-q", "main"]).ok();
        s
    })
}

#[test]
fn u16_start_joins_its_words_and_makes_a_short_id_that_can_be_read() {
    let s = ready();
    for (words, id) in [
        (&["Fix", "the", "timeout"][..], "fix-the-timeout"),
        (&["修复登录超时"], "xiu-fu-deng-lu-chao-shi"),
        (
            &["End the sessions that were idle for ten minutes"],
            "end-the-sessions-that-were-idle",
        ),
        (&["--id", "bug-7", "Something else"], "bug-7"),
    ] {
        let args = [&["start", "--no-branch", "--json"], words].concat();
        let done = s.loopx(&args).json();
        assert_eq!(done["session"], id, "{done:#}");
    }
    let shown = s.loopx(&["show", "fix", "--json"]).json();
    assert_eq!(shown["state"]["title"], "Fix the timeout");
    s.loopx(&["status", "修复登录超时"]).ok();
    let before = session::tip(&s);
    // Another title that gives the same id is another session only under another id.
    let whole = s.loopx(&["start", "--no-branch", "Fix", "the", "timeout!"]);
    insta::assert_snapshot!(whole.steady(), @"
    $ git-loopx start --no-branch Fix the timeout!
    --- stderr
    refused: a session named fix-the-timeout exists already: it is in stage clarify

    hint: git loopx use fix-the-timeout  or, to start another session: git loopx start --id fix-the-timeout-2 'Fix the timeout!'
    --- exit 1
    ");
    s.loopx(&["start", "--id", "bug-7", "again"])
        .fails_with(1)
        .says("git loopx start --id bug-7-2 again");
    s.loopx(&["start", "--id", "Not an id", "again"])
        .fails_with(2)
        .says("found `Not an id`");
    assert_eq!(session::tip(&s), before);
}

#[test]
fn u16_start_binds_no_branch_that_is_not_there() {
    let s = ready();
    s.git(&["branch", "timeout"]).ok();
    let before = session::tip(&s);
    insta::assert_snapshot!(s.loopx(&["start", "--branch", "timeuot", "x"]).steady(), @"
    $ git-loopx start --branch timeuot x
    --- stderr
    error: no branch is named `timeuot`

    hint: did you mean `timeout`? else: git switch -c timeuot  (and start there)
    --- exit 4
    ");
    assert_eq!(session::tip(&s), before);
    s.loopx(&["start", "--branch", "timeout", "x"]).ok();
}

#[test]
fn q20_use_binds_no_branch_that_is_not_there() {
    let s = session::started("");
    let before = session::tip(&s);
    insta::assert_snapshot!(s.loopx(&["use", "demo", "--branch", "dem"]).steady(), @"
    $ git-loopx use demo --branch dem
    --- stderr
    error: no branch is named `dem`

    hint: did you mean `demo`? else: git switch -c dem  and: git loopx use demo --branch dem
    --- exit 4
    ");
    assert_eq!(session::tip(&s), before);
    // The gates of its branch hold as before.
    session::commit(&s, "src/early.rs", "early").fails_with(1);
    s.git(&["branch", "other"]).ok();
    s.loopx(&["use", "demo", "--branch", "other"]).ok();
    // A branch that has gone since is no new name: whoever shares it may settle whose it is.
    s.loopx(&["start", "--branch", "demo", "Second"]).ok();
    s.git(&["switch", "--quiet", "--detach"]).ok();
    s.git(&["branch", "--quiet", "-D", "demo"]).ok();
    s.loopx(&["use", "demo", "--branch", "demo"]).ok();
}

#[test]
fn w11_a_branch_of_a_remote_leads_to_the_branch_behind_it() {
    let s = session::started("");
    s.git(&["remote", "add", "origin", "."]).ok();
    s.git(&["update-ref", "refs/remotes/origin/later", "HEAD"])
        .ok();
    s.git(&[
        "config",
        "remote.origin.fetch",
        "+refs/heads/*:refs/remotes/origin/*",
    ])
    .ok();
    insta::assert_snapshot!(s.loopx(&["use", "demo", "--branch", "origin/later"]).steady(), @"
    $ git-loopx use demo --branch origin/later
    --- stderr
    error: no branch is named `origin/later`

    hint: did you mean `later`, the branch behind it? git switch later  and: git loopx use demo --branch later
    --- exit 4
    ");
    s.git(&["switch", "--quiet", "later"]).ok();
    s.loopx(&["use", "demo", "--branch", "later"]).ok();
}

#[test]
fn edit_without_a_name_opens_what_the_gate_wants_first() {
    let s = Sandbox::new();
    begin(&s, "");
    let write = |text: &str| {
        s.write("../text", text);
        format!("cp {}", s.root().join("text").display())
    };
    let edit = |editor: &str| {
        let call = s.call(LOOPX).args(&["edit"]).env("GIT_EDITOR", editor);
        call.run()
    };
    let out = edit(&write(session::READY_SPEC)).ok();
    assert!(out.starts_with("opening spec.md: spec.md:"), "{out}");
    s.loopx(&["edit"])
        .fails_with(5)
        .says("no document of stage clarify needs work");
    s.loopx(&["approve", "--enter"]).ok();
    let out = edit("true").ok();
    assert!(out.starts_with("opening plan.md: "), "{out}");
    assert!(out.contains("plan.md is unchanged"), "{out}");
}

#[test]
fn u8_put_saves_nothing_where_there_is_nothing() {
    let s = Sandbox::new();
    begin(&s, "");
    s.write("empty", "");
    let before = session::tip(&s);
    for line in ["put spec.md", "put spec.md -", "put spec.md empty"] {
        let words: Vec<&str> = line.split(' ').collect();
        s.loopx(&words)
            .fails_with(2)
            .says("expected the text of spec.md, found nothing in");
    }
    assert_eq!(session::tip(&s), before);
    s.loopx(&["put", "spec", "empty", "--allow-empty"]).ok();
    assert_ne!(session::tip(&s), before);
}

#[test]
fn u8_an_audit_prints_names_and_commands_as_they_were_written() {
    let d = Drive::planning();
    let check = r#"["sh", "-c", "exit 3 # greet Ada"]"#;
    d.change("change/slices.json", r#"["true"]"#, check);
    d.does(&["save"]);
    d.review_plan();
    d.does(&["approve", "--to", "build"]);
    d.does(&["build"]);
    d.commit_code("an end\n");
    d.edit("execution-record.md", RECORD);
    let said = d.loopx(&["build"]).fails_with(1);
    assert!(said.stdout.contains("  VS-1: "), "{said}");
    assert_ne!(d.loopx(&["run", "--task", "VS-1"]).code, Some(0));
    let said = d.loopx(&["build"]).fails_with(1);
    assert!(said.stdout.contains("  VS-1: failed, "), "{said}");
    assert!(said.stdout.contains("greet Ada"), "{said}");
}

#[test]
fn an_alias_is_a_command_with_its_words_and_never_more() {
    let s = Sandbox::new();
    begin(&s, "");
    let config = |name: &str, words: &str| {
        let key = format!("loopx.alias.{name}");
        s.git(&["config", &key, words]).ok();
    };
    for (name, words) in [
        ("short", "log --oneline -n 1"),
        ("tiny", "short -q"),
        ("named", "note 'two words' --kind decision"),
        ("status", "abandon"),
        ("st", "abandon"),
        ("one", "two"),
        ("two", "one"),
        ("typo", "sttus"),
        ("shell", "!rm -rf x"),
        ("open", "note 'x"),
        ("nothing", ""),
    ] {
        config(name, words);
    }
    assert_eq!(
        s.loopx(&["short"]).ok(),
        "@1   start  [intent.md, spec.md]\n"
    );
    assert_eq!(
        s.loopx(&["-s", "demo", "tiny"]).ok(),
        "@1   start  [intent.md, spec.md]\n"
    );
    assert_eq!(s.loopx(&["short", "--json"]).json()["session"], "demo");
    s.loopx(&["named"]).ok();
    s.loopx(&["short"]).says("note (decision): two words").ok();
    // A command of ours is what it says.
    for built_in in ["status", "st"] {
        s.loopx(&[built_in]).says("demo demo").ok();
    }
    s.loopx(&["ls"]).says("demo").ok();
    s.loopx(&["new", "--no-branch", "Other"]).ok();
    for (name, said) in [
        ("one", "these aliases lead in a circle: one -> two -> one"),
        ("typo", "begins with `sttus`, which is no command"),
        ("typo", "did you mean `status`?"),
        ("shell", "expected a command of git loopx, and no shell's"),
        ("open", "expected each quote to be closed"),
        ("nothing", "expected a command"),
        ("unset", "expected a command, found `unset`"),
    ] {
        s.loopx(&[name]).fails_with(2).says(said);
        let json = s.loopx(&["--json", name]).fails_with(2).error_json();
        assert_eq!(json["error"]["kind"], "usage", "{json:#}");
    }
}

#[test]
fn next_prints_the_command_that_status_ends_with_and_nothing_else() {
    let s = Sandbox::new();
    begin(&s, "");
    let next = |wanted: &str| {
        assert_eq!(s.loopx(&["next"]).ok(), format!("{wanted}\n"));
        let status = s.loopx(&["status"]).ok();
        assert!(status.contains(&format!("next: {wanted}")), "{status}");
        let json = s.loopx(&["next", "--json"]).json();
        assert_eq!(json["next_action"], wanted, "{json:#}");
    };
    next("git loopx edit spec.md");
    session::put(&s, "spec.md", session::READY_SPEC);
    next("git loopx approve --enter");
    s.loopx(&["approve"]).ok();
    next("git loopx plan");
    s.git(&["switch", "-q", "main"]).ok();
    s.loopx(&["start", "--no-branch", "other"]).ok();
    s.loopx(&["next", "oth"])
        .says("git loopx -s other edit spec.md")
        .ok();
    s.loopx(&["abandon", "other"]).ok();
    s.loopx(&["next", "other"])
        .fails_with(5)
        .says("session other has ended: nothing is left to do");
}
