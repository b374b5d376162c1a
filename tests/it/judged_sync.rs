//! Judgement of `sync` on a remote without our hook: `sync` judges a tip as a server judges a push. What follows from
//! records is computed again, damage of the records is refused, and both are said.

use crate::hostile_sync::{git, put_files, renumbered, send, two};
use crate::support::LOOPX;
use crate::support::clones::Clones;
use crate::support::drive::Drive;
use crate::support::forge::record;
use crate::support::server::HOOK;
use crate::support::store::{ID, tamper};
use serde_json::{Value, json};

fn shown(all: &Clones, path: &str) -> String {
    git(all, &["show", &format!("origin/loopx:{path}")])
        .run()
        .ok()
}

/// The session's state with another stage, and the digest of the records as it was.
fn forged_state(all: &Clones) -> String {
    let name = format!("sessions/{ID}/state.json");
    let text = shown(all, &name);
    let forged = text.replace("\"stage\": \"clarify\"", "\"stage\": \"build\"");
    assert_ne!(text, forged);
    put_files(all, &[(&name, forged.as_bytes())])
}

/// A record under a name that is not the hash of its bytes.
fn torn_record(all: &Clones) -> String {
    let path = format!("sessions/{ID}/ops/00000099-{}.json", "a".repeat(40));
    put_files(all, &[(&path, b"{}\n")])
}

/// An approval of a content that the session never had, well formed.
fn false_approval(all: &Clones) -> String {
    let log = all.loopx(1, &["-s", ID, "--json", "log"]).json();
    let last = log["operations"].as_array().and_then(|all| all.last());
    let last = last.expect("an operation");
    let blob = "1".repeat(40);
    let op = json!({
        "format": 2, "seq": last["seq"].as_u64().expect("a number") + 1, "after": [last["op"]],
        "entity": last["entity"], "tx": "01jzzzzzzzzzzzzzzzzzzzzzzz", "at": "2027-01-01T00:00:00Z",
        "by": {"name": "Mallory", "email": "m@example.org"},
        "topic": "session", "kind": "approved", "files": {}, "weight": "opens", "needs": "0.2",
        "body": {"transition": "clarify->plan", "content": blob, "files": {"spec.md": blob}},
    });
    let (name, bytes) = record(&op);
    let seq = op["seq"].as_u64().expect("a number");
    let path = format!("sessions/{ID}/ops/{seq:08}-{name}.json");
    put_files(all, &[(&path, &bytes)])
}

/// Work of the first clone since the other side was last seen.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Went {
    Nowhere,
    Elsewhere,
    There,
}

const WAYS: [(Went, bool); 5] = [
    (Went::Nowhere, false),
    (Went::Elsewhere, false),
    (Went::There, false),
    (Went::Elsewhere, true),
    (Went::There, true),
];

fn world((went, linear): (Went, bool)) -> Clones {
    let all = two();
    if linear {
        all.git(0, &["config", "loopx.sync", "linear"]).ok();
    }
    match went {
        Went::Nowhere => {}
        Went::Elsewhere => all
            .loopx(0, &["-s", "mine", "run", "--", "true"])
            .ok()
            .clear(),
        Went::There => all.loopx(0, &["-s", ID, "run", "--", "true"]).ok().clear(),
    }
    all
}

fn stage(all: &Clones, at: usize) -> Value {
    all.status(at)["stage"].clone()
}

#[test]
fn a_state_that_records_do_not_give_is_computed_again() {
    for way in WAYS {
        let all = world(way);
        send(&all, &forged_state(&all));
        let tip = all.git(0, &["rev-parse", "loopx"]).line();
        let planned = all.loopx(0, &["sync", "-n"]);
        assert_eq!(all.git(0, &["rev-parse", "loopx"]).line(), tip);
        let synced = all.sync(0);
        // What both wrote is made of the records anyhow.
        if way.0 != Went::There {
            planned.says(ID).says("would be computed again").ok();
            synced.says(ID).says("computed again").ok();
        }
        assert_eq!(stage(&all, 0), "clarify", "{way:?}");
        all.loopx(0, &["fsck", "--full"]).says("all whole").ok();
        all.sync(1).ok();
        assert_eq!(stage(&all, 1), "clarify", "{way:?}");
        all.assert_agreed();
    }
}

#[test]
fn records_that_are_damaged_are_refused_and_the_work_goes_on() {
    for way in WAYS {
        for make in [torn_record, false_approval] {
            let all = world(way);
            let good = git(&all, &["rev-parse", "origin/loopx"]).run().line();
            send(&all, &make(&all));
            let tip = all.git(0, &["rev-parse", "loopx"]).line();
            let refused = all.loopx(0, &["--json", "sync"]).fails_with(1);
            let error = refused.error_json();
            assert_eq!(
                error["error"]["code"], "remote_damaged",
                "{way:?} {error:#}"
            );
            refused.says(ID).says("nothing was taken over");
            assert_eq!(all.git(0, &["rev-parse", "loopx"]).line(), tip);
            all.loopx(0, &["-s", ID, "run", "--", "true"]).ok();
            all.loopx(0, &["fsck", "--full"]).says("all whole").ok();
            // Somebody takes it back there, and all is well.
            let back = format!("{good}:refs/heads/loopx");
            git(&all, &["push", "--quiet", "--force", "origin", &back])
                .run()
                .ok();
            all.settle();
            all.assert_agreed();
        }
    }
}

/// An older program took it, or the hand of somebody: then it is everybody's, and is said.
#[test]
fn damage_that_is_here_too_stops_no_sync_and_is_said() {
    let all = two();
    send(&all, &torn_record(&all));
    all.git(0, &["fetch", "--quiet", "origin"]).ok();
    all.git(0, &["update-ref", "refs/heads/loopx", "origin/loopx"])
        .ok();
    all.loopx(0, &["-s", "mine", "run", "--", "true"]).ok();
    all.sync(0).says("pushed").ok();
    // The same session is changed there once more, and is as damaged as before.
    git(&all, &["fetch", "--quiet", "origin"]).run().ok();
    let log = format!("sessions/{ID}/logs/x.log");
    send(&all, &put_files(&all, &[(&log, b"more")]));
    let synced = all.loopx(0, &["--json", "sync"]);
    let synced = synced.says("is damaged");
    assert_eq!(synced.json()["damaged"][0]["session"], ID);
    all.loopx(0, &["-s", "mine", "run", "--", "true"]).ok();
    all.loopx(0, &["fsck", "--repair"]).ok();
    all.sync(0).says("pushed").ok();
    all.sync(1).ok();
    all.assert_agreed();
}

#[test]
fn a_new_clone_believes_no_state_either_and_can_begin() {
    for begin in [&["init"][..], &["sync"]] {
        let mut all = two();
        send(&all, &forged_state(&all));
        let at = all.add("forged", &[]);
        all.loopx(at, begin).ok();
        assert_eq!(stage(&all, at), "clarify", "{begin:?}");
        all.loopx(at, &["fsck", "--full"]).says("all whole").ok();
        git(&all, &["fetch", "--quiet", "origin"]).run().ok();
        send(&all, &torn_record(&all));
        let at = all.add("torn", &[]);
        all.loopx(at, begin).ok();
        all.loopx(at, &["-s", "mine", "run", "--", "true"]).ok();
        all.loopx(at, &["fsck"]).says(ID).fails_with(1);
        all.loopx(at, &["fsck", "--repair"]).ok();
        all.sync(at).says("pushed").ok();
        all.sync(1).ok();
        all.loopx(1, &["fsck", "--full"]).says("all whole").ok();
    }
}

/// Makes a tree of the branch.
type Make<'m> = &'m dyn Fn(&Clones) -> String;

/// A server refuses what no clone would take: a number that somebody jumped to, and an earlier format.
#[test]
fn what_no_clone_takes_no_server_takes() {
    let jumped = |all: &Clones| {
        let (path, bytes) = renumbered(all, "1152921504606846976");
        put_files(all, &[(&path, &bytes)])
    };
    let older = |all: &Clones| put_files(all, &[("format", b"1\n")]);
    let month = |all: &Clones| {
        let path = format!("journal/2026-11/ops/00000001-{}.json", "a".repeat(40));
        put_files(all, &[(&path, b"{}\n")])
    };
    let makes: [(&str, Make<'_>, &str); 3] = [
        ("jump", &jumped, "sequence_jump"),
        ("format", &older, "remote_damaged"),
        ("journal/2026-11", &month, "remote_damaged"),
    ];
    for (word, make, code) in makes {
        for way in [WAYS[0], WAYS[1]] {
            let all = world(way);
            let hook = all.remote().join("hooks/pre-receive");
            all.s.script(&hook, HOOK);
            let tree = make(&all);
            let args = ["commit-tree", &tree, "-p", "origin/loopx", "-m", "x"];
            let commit = git(&all, &args).run().line();
            let spec = format!("{commit}:refs/heads/loopx");
            let pushed = git(&all, &["push", "--quiet", "--no-verify", "origin", &spec]).run();
            pushed.fails_with(1).says("sessions_invalid").says(word);
            std::fs::remove_file(&hook).expect("a hook");
            send(&all, &tree);
            let tip = all.git(0, &["rev-parse", "loopx"]).line();
            let refused = all.loopx(0, &["--json", "sync"]).fails_with(1);
            let error = refused.error_json();
            assert_eq!(error["error"]["code"], code, "{way:?} {error:#}");
            refused.says(word);
            assert_eq!(all.git(0, &["rev-parse", "loopx"]).line(), tip);
            all.loopx(0, &["-s", ID, "run", "--", "true"]).ok();
        }
    }
}

/// An archived session is judged as `fsck` judges it.
#[test]
fn an_archived_state_is_computed_again_too() {
    let d = Drive::done();
    d.git(&["init", "--quiet", "--bare", "../remote.git"]).ok();
    d.git(&["remote", "add", "origin", "../remote.git"]).ok();
    let push = |what: &str| d.git(&["push", "--quiet", "--no-verify", "origin", what]);
    push("HEAD:refs/heads/main").ok();
    push("loopx").ok();
    let other = d.root().join("other");
    let path = other.to_str().expect("UTF-8");
    d.git(&["clone", "--quiet", "../remote.git", path]).ok();
    let there = |args: &[&str]| d.call(LOOPX).cwd(&other).args(args).run();
    there(&["init"]).ok();
    d.loopx(&["archive"]).ok();
    let listed = d
        .git(&["ls-tree", "-r", "--name-only", "loopx", "archive"])
        .ok();
    let state = listed.lines().find(|path| path.ends_with("/state.json"));
    let state = state.expect("a state");
    let text = d.git(&["show", &format!("loopx:{state}")]).ok();
    let forged = text.replace("\"title\": \"", "\"title\": \"Not ");
    assert_ne!(forged, text);
    tamper(&d, state, Some(forged.as_bytes()));
    push("loopx").ok();
    there(&["sync"])
        .says("archive/")
        .says("computed again")
        .ok();
    let now = d.git_in(&other, &["show", &format!("loopx:{state}")]).ok();
    assert_eq!(now, text);
    there(&["fsck", "--full"]).says("all whole").ok();
}

#[test]
fn a_binding_of_nobody_is_not_kept() {
    for went in [Went::Nowhere, Went::Elsewhere] {
        let all = world((went, false));
        git(&all, &["read-tree", "origin/loopx"]).run().ok();
        send(&all, &put_files(&all, &[("branches/nowhere", b"nobody\n")]));
        let synced = all.sync(0);
        // Where both sides had something, the index was made of the sessions anyhow.
        if went == Went::Nowhere {
            synced.says("branches/nowhere").says("computed again").ok();
        }
        all.git(0, &["cat-file", "-e", "loopx:branches/nowhere"])
            .fails_with(128);
        all.loopx(0, &["fsck", "--full"]).says("all whole").ok();
        all.sync(1).ok();
        all.assert_agreed();
    }
}
