//! `redact`: a secret goes out of the unpushed history, and nothing else does.

use crate::support::clones::Clones;
use crate::support::keys::{everybody, key, use_key};
use crate::support::session::{READY_SPEC, advance, at, commit, started};
use crate::support::store::{ID, READY, assert_whole, linked, operations, tip};
use crate::support::{LOOPX, Output, Sandbox};
use std::path::Path;

/// Put together here, so that no tool finds a credential in this file.
fn token() -> String {
    ["gh", "p_q7Zk2mX9vB4nR8tL1wC6yH3jD5gF0sPaEuKi"].concat()
}

fn put(s: &Sandbox, artifact: &str, text: &str) {
    let args = [
        "put",
        artifact,
        "--reason",
        text.lines()
            .last()
            .unwrap_or_default()
            .trim_start_matches("- "),
    ];
    s.call(LOOPX).args(&args).stdin(text).run().ok();
}

/// The ids of all objects of a repository that contain a text, whether anything leads to them or not.
fn holders(s: &Sandbox, dir: &Path, text: &str) -> Vec<String> {
    let list = [
        "cat-file",
        "--batch-all-objects",
        "--batch-check=%(objectname) %(objecttype)",
    ];
    let all = s.git_in(dir, &list).ok();
    let mut found = Vec::new();
    for line in all.lines() {
        let (id, kind) = line.split_once(' ').expect("an id and a kind");
        if kind != "tree" && s.git_in(dir, &["cat-file", kind, id]).ok().contains(text) {
            found.push(id.to_owned());
        }
    }
    found
}

/// Runs the two commands that the answer of a redaction names.
fn forget(s: &Sandbox, dir: &Path, out: &Output) {
    let forget = out.json()["forget"].as_array().expect("commands").clone();
    assert_eq!(forget.len(), 2);
    for command in forget {
        let words: Vec<&str> = command.as_str().expect("text").split(' ').skip(1).collect();
        s.git_in(dir, &words).ok();
    }
}

#[test]
fn a_secret_goes_out_of_all_that_was_not_pushed_and_nothing_else_does() {
    let all = Clones::sharing(2);
    let (s, token) = (&all.s, token());
    all.loopx(0, &["start", "--no-branch", "Other thing"]).ok();
    all.sync(0).ok();
    let spec = READY.replace("A test shows it.", &format!("Use {token}."));
    all.put(0, "spec.md", &spec).ok();
    all.loopx(0, &["-s", ID, "run", "--", "echo", &token]).ok();
    all.loopx(0, &["-s", ID, "note", &format!("it is {token}")])
        .ok();
    all.loopx(0, &["note", "--journal", &format!("it is \"{token}\"")])
        .ok();
    all.loopx(0, &["-s", ID, "undo", "1", "--reason", &token])
        .ok();
    all.loopx(0, &["-s", ID, "redo"]).ok();
    for text in ["one", "two", "three"] {
        all.put(0, "spec.md", &format!("{spec}\n{text}\n")).ok();
    }
    all.put(0, "spec.md", READY).ok();
    all.loopx(0, &["-s", "other-thing", "note", "of its own"])
        .ok();
    // Somebody else was faster: what is here is brought together with it, and stays here.
    all.loopx(1, &["-s", ID, "note", "from elsewhere"]).ok();
    all.sync(1).ok();
    let out = all.loopx(0, &["sync"]).fails_with(1);
    assert!(out.stderr.contains("git loopx redact --dry-run"), "{out}");
    let log = |path: &str| {
        all.git(0, &["log", "--format=%an %ae %ad %cn %cd", path])
            .ok()
    };
    let id = |path: &str| all.git(0, &["rev-parse", path]).line();
    let other = id("loopx:sessions/other-thing");
    let before = (
        id("loopx"),
        log("loopx"),
        s.snapshot(all.dir(0).join(".git")),
    );
    let known = all.loopx(0, &["-s", ID, "--json", "show"]).json();

    // A try changes nothing, and shows nothing of it.
    let try_out = all.loopx(0, &["redact", "--dry-run"]);
    let shown = try_out.stdout.clone() + &try_out.stderr;
    assert!(!shown.contains(&token), "{try_out}");
    let try_out = try_out.says("spec.md:").says("journal/").says(".log:1");
    try_out.says("nothing was changed").ok();
    assert!(before.2 == s.snapshot(all.dir(0).join(".git")));

    let out = all.loopx(0, &["--json", "redact"]);
    assert_eq!(out.code, Some(0), "{out}");
    assert_eq!(out.json()["before"], before.0.as_str());
    assert_eq!(out.json()["tip"], id("loopx").as_str());
    assert_eq!(id("loopx:sessions/other-thing"), other);
    assert_eq!(log("loopx"), before.1);
    let now = all.loopx(0, &["-s", ID, "--json", "show"]).json();
    for key in ["stage", "seq", "title", "conflicts", "void"] {
        assert_eq!(now["state"][key], known["state"][key], "{key}");
    }
    all.loopx(0, &["fsck", "--full"]).says("all whole").ok();
    all.loopx(0, &["-s", ID, "log"]).says("[redacted]").ok();
    let run = all.loopx(0, &["-s", ID, "--json", "log"]).json();
    let run = run["operations"].as_array().expect("operations").iter();
    let run = run.clone().find(|op| op["kind"] == "ran").expect("a run");
    let show = [
        "-s",
        ID,
        "show",
        "--run",
        run["op"].as_str().expect("an id"),
    ];
    all.loopx(0, &show).says("[redacted]").ok();
    assert!(!holders(s, all.dir(0), &token).is_empty());
    forget(s, all.dir(0), &out);
    assert_eq!(holders(s, all.dir(0), &token), [""; 0]);
    let left = s.snapshot(all.dir(0));
    let has = |bytes: &[u8]| {
        bytes
            .windows(token.len())
            .any(|part| part == token.as_bytes())
    };
    assert!(left.iter().all(|(_, _, bytes)| !has(bytes)));

    all.sync(0).says("pushed").ok();
    all.settle();
    all.assert_agreed();
    for at in 0..2 {
        all.loopx(at, &["fsck", "--full"]).says("all whole").ok();
    }
    all.loopx(0, &["redact"]).fails_with(5).says("nothing");
}

#[test]
fn n14_a_redaction_is_done_where_the_look_behind_it_fails() {
    let s = crate::support::session::started("");
    s.loopx(&["note", "Is topsecret7777 right?"]).ok();
    let before = s.git(&["rev-parse", "loopx"]).line();
    let redact = |args: &[&str]| {
        let call = s.call(LOOPX).args(&["redact", "--text-from", "-"]);
        let call = call.args(args).env("LOOPX_FAILPOINT", "error:kept-read:1+");
        call.stdin("topsecret7777").run()
    };
    assert_ne!(redact(&["--dry-run"]).code, Some(0));
    let out = redact(&[]);
    assert_eq!(out.code, Some(0), "{out}");
    let said = "warning: the texts are taken out of the sessions' branch; left: the look for refs";
    assert!(out.stderr.contains(said), "{out}");
    assert_ne!(s.git(&["rev-parse", "loopx"]).line(), before);
}

#[test]
fn w9_nothing_that_is_kept_beside_the_records_has_the_text_after_it() {
    let s = crate::support::session::started("");
    let text = "topsecret7777";
    for number in 0..36 {
        s.loopx(&["note", &format!("note {number}")]).ok();
    }
    s.loopx(&["note", "--ask", &format!("Is {text} right?")])
        .ok();
    s.loopx(&["status"]).ok();
    let kept = || {
        let mut found = Vec::new();
        let mut folders = vec![s.path().join(".git/loopx")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path);
                } else if String::from_utf8_lossy(&std::fs::read(&path).expect("a file"))
                    .contains(text)
                {
                    found.push(path);
                }
            }
        }
        found
    };
    assert!(!kept().is_empty(), "the file of questions has it");
    let call = s.call(LOOPX).args(&["redact", "--text-from", "-"]);
    call.stdin(text).run().ok();
    assert_eq!(kept(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn approvals_stand_and_code_that_names_old_states_is_as_good_as_before() {
    let s = started("");
    put(&s, "spec.md", &format!("{READY_SPEC}- {}\n", token()));
    s.loopx(&["approve", "--to", "plan"]).ok();
    s.loopx(&["plan"]).ok();
    advance(&s, "plan", "build", "\"src/**\"");
    commit(&s, "src/a.rs", "inside").ok();
    // A copy in another worktree follows with the next command there.
    let state = s.git(&[
        "log",
        "-1",
        "--format=%(trailers:key=Loopx-State,valueonly)",
    ]);
    let state = state.line();
    let findings = s.loopx(&["verify", "main..HEAD"]).ok();
    let out = s.loopx(&["--json", "redact"]);
    let approvals = out.json()["approvals"].clone();
    let approvals = approvals.as_array().expect("approvals");
    let transitions: Vec<&str> = approvals
        .iter()
        .map(|one| one["transition"].as_str().expect("text"))
        .collect();
    assert!(transitions.contains(&"clarify->plan"), "{transitions:?}");
    assert!(s.read(".loopx/demo/spec.md").ends_with("- [redacted]\n"));
    let gone = ["merge-base", "--is-ancestor", &state, "loopx"];
    assert_ne!(s.git(&gone).code, Some(0));
    s.loopx(&["fsck", "--full"]).says("all whole").ok();
    assert_eq!(s.loopx(&["verify", "main..HEAD"]).ok(), findings);
    forget(&s, s.path(), &out);
    assert_eq!(holders(&s, s.path(), &token()), [""; 0]);
    assert_eq!(s.loopx(&["verify", "main..HEAD"]).ok(), findings);
    commit(&s, "src/b.rs", "inside too").ok();
    advance(&s, "build", "done", "\"src/**\"");
    s.loopx(&["verify", "main..HEAD"]).ok();
    s.loopx(&["fsck", "--full"]).says("all whole").ok();
}

#[test]
fn what_a_remote_has_is_refused_and_has_to_be_revoked() {
    let all = Clones::sharing(1);
    let token = token();
    all.put(0, "spec.md", &token).ok();
    all.git(0, &["push", "--quiet", "--no-verify", "origin", "loopx"])
        .ok();
    let before = all.git(0, &["rev-parse", "loopx"]).line();
    all.loopx(0, &["redact"]).fails_with(1).says("revoke");
    let text = |args: &[&str], text: &str| all.call(0).args(args).stdin(text).run();
    let named = ["-v", "redact", "--text-from", "-"];
    text(&named, &token).fails_with(1).says("secret_pushed");
    assert_eq!(all.git(0, &["rev-parse", "loopx"]).line(), before);
    // Where it stands in later work too, that goes, and the rest is named.
    all.put(0, "spec.md", &format!("again {token}")).ok();
    all.loopx(0, &["redact"])
        .says("a remote has the text already")
        .ok();
    let is_there = ["merge-base", "--is-ancestor", &before, "loopx"];
    all.git(0, &is_there).ok();
    // Under another name it is pushed just as well.
    all.loopx(0, &["-s", ID, "note", &format!("once {token}")])
        .ok();
    let other = "loopx:refs/heads/copy";
    all.git(0, &["push", "--quiet", "--no-verify", "origin", other])
        .ok();
    all.loopx(0, &["redact"]).fails_with(1).says("revoke");
    all.git(0, &["push", "--quiet", "--no-verify", "origin", ":copy"])
        .ok();
    all.loopx(0, &["redact"]).ok();
    all.loopx(0, &["-s", ID, "cat", "spec.md"])
        .says("again [redacted]")
        .ok();
    all.loopx(0, &["-s", ID, "cat", "spec.md", "--at", "2"])
        .says(&token)
        .ok();
    all.loopx(0, &["fsck", "--full"]).says("all whole").ok();
    all.sync(0).says("pushed").ok();
}

#[test]
fn a_named_text_goes_too_but_no_name_and_nothing_that_git_loopx_reads() {
    let s = crate::support::store::started();
    let key = [
        "-----BEGIN ",
        "PRIVATE",
        " KEY-----\nMIIEabc\n-----END PRIVATE KEY-----",
    ]
    .concat();
    s.loopx(&[
        "-s",
        ID,
        "note",
        "the word is \"swordfish\",\nthe second line",
    ])
    .ok();
    s.loopx(&["-s", ID, "note", &format!("key:\n{key}\nend")])
        .ok();
    let text = "One.\nThe word is \"swordfish\",\nthe second line.\n";
    crate::support::store::put(&s, "spec.md", text).ok();
    let dir = linked(&s, "beside");
    s.loopx_in(&dir, &["-s", ID, "checkout"]).ok();
    let copy = dir.join(format!(".loopx/{ID}/spec.md"));
    assert_eq!(std::fs::read_to_string(&copy).expect("a copy"), text);
    s.git(&["branch", "mine", "loopx"]).ok();
    let redact = |text: &str| {
        let call = s.call(LOOPX).args(&["redact", "--text-from", "-"]);
        call.stdin(text).run()
    };
    let before = tip(&s);
    redact("abc\n").fails_with(2).says("at least");
    redact("auth-timeout").fails_with(1).says("names stay");
    redact("Ada Author").fails_with(1).says("itself reads");
    assert_eq!(tip(&s), before);
    // The key goes by itself.
    redact("\"swordfish\",\nthe second\n")
        .says("refs/heads/mine still leads to the old commits")
        .ok();
    for _ in 0..2 {
        s.loopx(&["-s", ID, "run", "--", "echo", &token()]).ok();
        s.loopx(&["redact"]).ok();
    }
    let notes = s
        .loopx(&["-s", ID, "--json", "note", "list"])
        .json()
        .to_string();
    assert!(notes.contains("the word is [redacted] line"), "{notes}");
    assert!(notes.contains("key:\\n[redacted]\\nend"), "{notes}");
    s.git(&["branch", "-D", "--quiet", "mine"]).ok();
    let all = s.git(&["log", "-p", "loopx"]).ok();
    assert!(!all.contains("swordfish") && !all.contains("MIIE"), "{all}");
    assert_whole(&s);
    assert_eq!(operations(&s, ID).len(), 6);
    // A copy in another worktree follows with the next command there, also when git has forgotten what it was.
    s.git(&["reflog", "expire", "--expire=now", "refs/heads/loopx"])
        .ok();
    s.git(&["gc", "--quiet", "--prune=now"]).ok();
    assert_eq!(holders(&s, s.path(), "swordfish"), [""; 0]);
    s.loopx_in(&dir, &["-s", ID, "note", "here too"]).ok();
    s.loopx_in(&dir, &["-s", ID, "checkout"]).ok();
    let copied = std::fs::read_to_string(&copy).expect("a copy");
    assert_eq!(copied, "One.\nThe word is [redacted] line.\n");
}

#[test]
fn a_bundle_from_before_a_redaction_brings_nothing_back() {
    let s = crate::support::store::started();
    s.loopx(&["-s", ID, "note", "the word is swordfish"]).ok();
    s.loopx(&["export", ID, "-o", "old.bundle"]).ok();
    s.loopx(&["-s", ID, "note", "more"]).ok();
    let call = s.call(LOOPX).args(&["redact", "--text-from", "-"]);
    call.stdin("swordfish").run().ok();
    let before = tip(&s);
    let out = s.loopx(&["--json", "import", "bundle", "old.bundle"]);
    assert_eq!(
        out.error_json()["error"]["code"],
        "bundle_redacted",
        "{out}"
    );
    out.fails_with(1);
    assert_eq!(tip(&s), before);
    s.loopx(&["export", ID, "-o", "new.bundle"]).ok();
    s.loopx(&["import", "bundle", "new.bundle"]).ok();
    assert_eq!(tip(&s), before);
}

#[test]
fn a_bundle_from_after_a_redaction_waits_for_the_redaction_here() {
    let s = crate::support::store::started();
    s.loopx(&["-s", ID, "note", "the word is swordfish"]).ok();
    let old = tip(&s);
    let redact = || {
        let call = s.call(LOOPX).args(&["redact", "--text-from", "-"]);
        call.stdin("swordfish").run().ok();
    };
    redact();
    let redacted = tip(&s);
    s.loopx(&["export", ID, "-o", "new.bundle"]).ok();
    s.git(&["update-ref", "refs/heads/loopx", &old]).ok();
    s.loopx(&["doctor", "--accept"]).ok();
    let out = s.loopx(&["import", "bundle", "new.bundle"]);
    out.fails_with(1).says("git loopx redact --text-from FILE");
    assert_eq!(tip(&s), old);
    redact();
    s.loopx(&["import", "bundle", "new.bundle"]).ok();
    assert_eq!(tip(&s), redacted);
}

#[test]
fn a_signature_goes_only_where_that_is_said() {
    let s = at("clarify", "", "");
    s.write("loopx.signers", everybody());
    use_key(&s, key("ada"));
    put(&s, "spec.md", &format!("{READY_SPEC}- {}\n", token()));
    s.loopx(&["approve", "--to", "plan", "--sign"]).ok();
    let before = tip(&s);
    let signed = || {
        s.git(&["ls-tree", "-r", "--name-only", "loopx"])
            .ok()
            .contains(".sig")
    };
    assert!(signed());
    s.loopx(&["redact"]).fails_with(1).says("--drop-signatures");
    assert_eq!(tip(&s), before);
    s.loopx(&["redact", "--drop-signatures"])
        .says("not signed any more")
        .ok();
    assert!(!signed());
    s.loopx(&["fsck", "--full"]).says("all whole").ok();
}

#[test]
fn a_death_at_any_step_leaves_the_old_history_or_the_new_one() {
    let s = crate::support::store::started();
    s.loopx(&["-s", ID, "note", &token()]).ok();
    crate::support::store::put(&s, "spec.md", &token()).ok();
    let kept = s.keep();
    let old = tip(&s);
    let places = [
        "lock-taken",
        "step-noted",
        "pack-named",
        "step-written",
        "branch-moved",
        "branch-synced",
        "shadow-moved",
        "working-copy-before",
    ];
    for (at, place) in places.into_iter().enumerate() {
        let s = Sandbox::remake(&kept);
        let call = s.call(LOOPX).args(&["redact"]);
        let out = call.durable().env("LOOPX_FAILPOINT", place).run();
        assert_eq!(out.code, None, "{place}: {out}");
        assert_eq!(tip(&s) == old, at < 4, "{place}");
        // Who only reads goes on, and so does who writes.
        s.loopx(&["-s", ID, "status"]).ok();
        s.loopx(&["-s", ID, "run", "--", "true"]).ok();
        let again = s.loopx(&["redact"]);
        assert_eq!(
            again.code,
            Some(if at < 4 { 0 } else { 5 }),
            "{place}: {again}"
        );
        assert_eq!(
            s.read(format!(".loopx/{ID}/spec.md")),
            "[redacted]",
            "{place}"
        );
        assert_eq!(operations(&s, ID).len(), 4, "{place}");
        assert_whole(&s);
        let shadow = s.git(&["rev-parse", "refs/loopx/shadow/loopx"]).line();
        assert_eq!(shadow, tip(&s), "{place}");
    }
}

#[test]
fn an_archived_session_is_redacted_where_it_lies() {
    let s = started("");
    put(&s, "spec.md", &format!("{READY_SPEC}- {}\n", token()));
    s.loopx(&["approve", "--to", "plan"]).ok();
    s.loopx(&["plan"]).ok();
    advance(&s, "plan", "build", "\"src/**\"");
    commit(&s, "src/a.rs", "inside").ok();
    advance(&s, "build", "done", "\"src/**\"");
    s.loopx(&["archive"]).ok();
    let findings = s.loopx(&["verify", "main..HEAD"]).ok();
    let gone = s.git(&["rev-parse", "loopx~1"]).line();
    let out = s.loopx(&["--json", "redact"]);
    assert_eq!(out.code, Some(0), "{out}");
    s.loopx(&["fsck", "--full"]).says("all whole").ok();
    assert_eq!(s.loopx(&["verify", "main..HEAD"]).ok(), findings);
    forget(&s, s.path(), &out);
    assert_eq!(s.git(&["cat-file", "-e", &gone]).code, Some(1));
    assert_eq!(holders(&s, s.path(), &token()), [""; 0]);
    assert_eq!(s.loopx(&["verify", "main..HEAD"]).ok(), findings);
    s.loopx(&["verify", "--sessions"]).ok();
    s.loopx(&["archive", "--undo", "demo"]).ok();
    s.loopx(&["fsck", "--full"]).says("all whole").ok();
}

/// The program writes texts anew: in a table of the plan, as a word of a command, on one line of a list.
#[test]
fn a_named_text_goes_where_the_program_wrote_it_in_another_form() {
    let lite = || {
        let s = crate::support::issues::backlog();
        s.loopx(&["start", "--profile", "lite", "Big thing"]).ok();
        s
    };
    let gone = |s: &Sandbox, text: &str| {
        let call = s.call(LOOPX).args(&["redact", "--text-from", "-"]);
        call.stdin(text).run().ok();
        for part in ["hunter2", "second line"] {
            let held = s.git(&["grep", "-c", part, "loopx"]);
            assert_eq!(held.code, Some(1), "{held}");
            let log = s.git(&["log", "-p", "--format=%B", "loopx"]).ok();
            assert!(!log.contains(part), "{part}: {log}");
        }
        assert_whole(s);
    };
    let s = lite();
    s.loopx(&["task", "add", "the word hunter2|x", "--", "true"])
        .ok();
    s.loopx(&["cat", "plan.md"]).says("hunter2\\|x").ok();
    gone(&s, "hunter2|x");
    // As a word of its own, and as a part of one.
    for word in ["it's$hunter2", "xit's$hunter2y", "$it's$hunter2'"] {
        let s = crate::support::issues::backlog();
        s.loopx(&["start", "--quick", "Big thing"]).ok();
        s.loopx(&["run", "--", "echo", word]).ok();
        gone(&s, "it's$hunter2");
        let s = lite();
        s.loopx(&["task", "add", "One", "--", "echo", word]).ok();
        gone(&s, "it's$hunter2");
    }
    let s = crate::support::issues::backlog();
    s.loopx(&["start", "--quick", "Big thing"]).ok();
    s.loopx(&["run", "--", "echo", "say xhunter2y twice"]).ok();
    gone(&s, "hunter2");
    let s = crate::support::issues::backlog();
    let text = "hunter2 <b> #x\n  second line *y*";
    s.loopx(&["issue", "create", "One", "-d", text]).ok();
    let listed = s.loopx(&["--json", "issue", "list"]).json();
    let id = listed["issues"][0]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    s.loopx(&["start", "--profile", "lite", "--issue", &id])
        .ok();
    gone(&s, text);
}

#[test]
fn n13_a_disk_that_takes_no_note_of_the_new_tip_brings_no_credential_back() {
    let s = crate::support::store::started();
    s.loopx(&["-s", ID, "note", &token()]).ok();
    let call = s.call(LOOPX).args(&["redact"]);
    call.env("LOOPX_FAILPOINT", "error:known-written:1+")
        .run()
        .ok();
    let now = tip(&s);
    s.loopx(&["-s", ID, "status"]).ok();
    s.loopx(&["-s", ID, "note", "and on"]).ok();
    s.git(&["merge-base", "--is-ancestor", &now, "loopx"]).ok();
    s.loopx(&["redact"]).fails_with(5);
}

#[test]
fn x1_a_text_that_a_name_alone_has_is_not_called_absent() {
    let s = crate::support::store::started();
    let before = tip(&s);
    for args in [&["redact", "--dry-run"][..], &["redact"]] {
        let call = s.call(LOOPX).args(&[args, &["--text-from", "-"]].concat());
        call.stdin(ID)
            .run()
            .fails_with(1)
            .says("part of a name below sessions/");
    }
    assert_eq!(tip(&s), before);
}
