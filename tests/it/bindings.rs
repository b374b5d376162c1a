//! Bindings of branches to sessions: what operations say, with an index that can say nothing else (design 2; issue 12,
//! 3).

use crate::support::clones::Clones;
use crate::support::server::HOOK;
use crate::support::session::{commit, started};
use crate::support::store::{ID, tamper};
use crate::support::{Output, Sandbox};

fn server(s: &Sandbox) {
    s.git(&["init", "--quiet", "--bare", "../remote.git"]).ok();
    s.git(&["remote", "add", "origin", "../remote.git"]).ok();
    s.script("../remote.git/hooks/pre-receive", HOOK);
    push(s, &["main", "loopx"]).ok();
}

#[must_use]
fn push(s: &Sandbox, what: &[&str]) -> Output {
    let mut all = vec!["push", "--quiet", "--no-verify", "origin"];
    all.extend(what);
    s.git(&all)
}

fn index(s: &Sandbox) -> String {
    s.git(&["ls-tree", "-r", "--name-only", "loopx", "branches"])
        .ok()
}

#[test]
fn g8_a_branch_is_freed_by_operations_alone() {
    let s = started("");
    server(&s);
    assert_eq!(index(&s), "branches/demo/demo\n");
    let good = s.git(&["rev-parse", "loopx"]).line();
    for (path, bytes) in [
        ("branches", None),
        ("branches/demo", None),
        ("branches/demo/demo", None),
        ("branches/other/demo", Some(&b""[..])),
        ("branches/demo/nobody", Some(b"")),
        ("branches/nowhere", Some(b"nobody\n")),
        ("branches", Some(b"")),
    ] {
        tamper(&s, path, bytes);
        push(&s, &["loopx"])
            .fails_with(1)
            .says("sessions_invalid")
            .says("branches");
        s.loopx(&["fsck", "--full"]).fails_with(1).says("branches");
        s.loopx(&["fsck", "--repair"]).ok();
        assert_eq!(index(&s), "branches/demo/demo\n", "{path}");
        s.git(&["update-ref", "refs/heads/loopx", &good]).ok();
        s.loopx(&["doctor", "--accept"]).ok();
    }
    // The honest way is an operation of the session.
    s.git(&["branch", "else"]).ok();
    s.loopx(&["use", "demo", "--branch", "else"]).ok();
    assert_eq!(index(&s), "branches/else/demo\n");
    push(&s, &["loopx"]).ok();
    s.loopx(&["-s", "demo", "abandon", "--reason", "enough"])
        .ok();
    assert_eq!(index(&s), "");
    push(&s, &["loopx"]).ok();
}

#[test]
fn a_session_that_takes_a_branch_makes_the_other_let_it_go() {
    let s = started("");
    s.loopx(&["start", "--no-branch", "Other"]).ok();
    let before = s.git(&["rev-list", "--count", "loopx"]).line();
    s.loopx(&["use", "other"])
        .says("which was bound to demo")
        .ok();
    assert_eq!(index(&s), "branches/demo/other\n");
    let after = s.git(&["rev-list", "--count", "loopx"]).line();
    let [before, after] = [before, after].map(|count| count.parse::<u32>().expect("a number"));
    assert_eq!(after, before + 1);
    let said = s.git(&["log", "-1", "--format=%B", "loopx"]).ok();
    assert!(
        said.contains("Loopx-Session: other") && said.contains("Loopx-Session: demo"),
        "{said}"
    );
    s.loopx(&["-s", "demo", "log"])
        .says("unbind from the branch")
        .ok();
    let shown = s.loopx(&["-s", "demo", "--json", "show"]).json();
    assert_eq!(shown["state"]["branch"], serde_json::Value::Null);
    s.loopx(&["fsck", "--full"]).says("all whole").ok();
    // A session that is given up lets it go too.
    s.loopx(&["use", "demo"]).ok();
    assert_eq!(index(&s), "branches/demo/demo\n");
    s.loopx(&["fsck", "--full"]).says("all whole").ok();
}

#[test]
fn two_sessions_that_clones_bound_to_one_branch_are_a_conflict_of_both() {
    let all = Clones::sharing(2);
    all.loopx(1, &["start", "--no-branch", "Other"]).ok();
    all.sync(1).ok();
    all.sync(0).ok();
    all.loopx(0, &["use", ID]).ok();
    all.loopx(1, &["use", "other"]).ok();
    all.sync(0).ok();
    let whole = all
        .sync(1)
        .says(&format!("the branch main is bound to {ID} and to other"));
    insta::assert_snapshot!(whole.steady(), @"
    $ git-loopx sync origin
    Person 0: auth-timeout  in clarify, 1 binding
    loopx and origin: 1 commit merged, 2 commits pushed
    --- stderr
    warning: the branch main is bound to auth-timeout and to other: the gates of these sessions stay closed until only one session is bound to the branch (e.g. git loopx use auth-timeout --branch main)
    --- exit 0
    ");
    all.sync(0).ok();
    all.assert_agreed();
    for at in 0..2 {
        all.loopx(at, &["fsck", "--full"]).says("all whole").ok();
        all.loopx(at, &["status"])
            .fails_with(1)
            .says("only one session may have it");
        for (id, other) in [(ID, "other"), ("other", ID)] {
            all.loopx(at, &["-s", id, "status"])
                .says(&format!("session {other} is bound to the branch main too"));
            all.loopx(at, &["-s", id, "approve", "--to", "plan"])
                .fails_with(1)
                .says(&format!("session {other} is bound to the branch main too"));
        }
    }
    all.loopx(0, &["hooks", "install"]).ok();
    std::fs::write(all.dir(0).join("code.txt"), "more\n").expect("written");
    all.git(0, &["commit", "--quiet", "-am", "code"])
        .fails_with(1)
        .says("only one session may have it");
    all.loopx(0, &["use", "other"]).ok();
    all.sync(0).ok();
    all.sync(1).ok();
    all.assert_agreed();
    let bound = all.git(1, &["ls-tree", "-r", "--name-only", "loopx", "branches"]);
    assert_eq!(bound.ok(), "branches/main/other\n");
    all.loopx(1, &["fsck", "--full"]).says("all whole").ok();
}

#[test]
fn g16_a_protected_branch_is_bound_to_no_session() {
    let s = started("[gates]\nprotected = [\"main\"]\n");
    server(&s);
    s.git(&["switch", "--quiet", "main"]).ok();
    insta::assert_snapshot!(s.loopx(&["start", "Zed"]).steady(), @"
    $ git-loopx start Zed
    --- stderr
    refused: the branch main is protected: no session can be bound to it

    hint: git switch -c zed  and start there, or: git loopx start --no-branch Zed
    --- exit 1
    ");
    s.loopx(&["use", "demo"])
        .fails_with(1)
        .says("the branch main is protected");
    s.loopx(&["start", "--no-branch", "Zed"]).ok();
    // A hand that records it anyway is refused by the server.
    let good = s.git(&["rev-parse", "loopx"]).line();
    s.git(&["switch", "--quiet", "--orphan", "empty"]).ok();
    s.git(&[
        "commit",
        "--quiet",
        "--allow-empty",
        "--no-verify",
        "-m",
        "x",
    ])
    .ok();
    s.loopx(&["start", "--branch", "main", "Eve"]).ok();
    insta::assert_snapshot!(push(&s, &["loopx"]).steady(), @"
    $ git push --quiet --no-verify origin loopx
    --- stderr
    remote: refused: this push is refused, for 1 reason [branch_protected]
    remote:   branch_protected 0000000000 eve: start: session eve is bound to main, which is protected: no session can be
    remote:     git loopx fsck, or: git loopx sync
    remote:
    remote: hint: git loopx verify  (and push the loopx branch, if the sessions are not there yet)
    To ../remote.git
     ! [remote rejected] loopx -> loopx (pre-receive hook declined)
    error: failed to push some refs to '../remote.git'
    --- exit 1
    ");
    s.git(&["update-ref", "refs/heads/loopx", &good]).ok();
    s.loopx(&["doctor", "--accept"]).ok();
    s.git(&["switch", "--quiet", "demo"]).ok();
    commit(&s, "docs/a", "a document").ok();
    push(&s, &["demo", "loopx"]).ok();
}
