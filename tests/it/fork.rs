//! `import --from URL --session ID`: a session of somebody who works in a fork (issue 12, item 2).

use crate::support::session::{advance, commit, started};
use crate::support::store::operations;
use crate::support::{Output, Sandbox};

const POLICY: &str = "[gates]\nprotected = [\"main\"]\n";

/// A repository, and a fork of it in which somebody else took a session to review.
fn forked() -> (Sandbox, Sandbox) {
    let upstream = started(POLICY);
    upstream.git(&["switch", "--quiet", "main"]).ok();
    let fork = Sandbox::empty("a fork");
    let url = upstream.path().to_str().expect("a path").to_owned();
    fork.git(&["init", "--quiet"]).ok();
    fork.git(&["pull", "--quiet", &url, "main"]).ok();
    fork.git(&["branch", "-m", "main"]).ok();
    fork.loopx(&["init"]).ok();
    fork.loopx(&["hooks", "install"]).ok();
    crate::support::session::start(&fork, "feature");
    advance(&fork, "clarify", "build", "");
    commit(&fork, "src/a.rs", "code").ok();
    advance(&fork, "build", "review", "");
    fork.loopx(&["start", "--no-branch", "Not for everybody"])
        .ok();
    (upstream, fork)
}

fn import(s: &Sandbox, from: &Sandbox, more: &[&str]) -> Output {
    let url = from.path().to_str().expect("a path").to_owned();
    s.loopx(&[&["import", "--from", &url], more].concat())
}

#[test]
fn a_session_of_a_fork_comes_alone_is_reviewed_here_and_lands() {
    let (s, fork) = forked();
    import(&s, &fork, &["--session", "feature"])
        .says("taken in")
        .says("refs/heads/feature:refs/heads/feature")
        .ok();
    let known = operations(&s, "feature");
    assert_eq!(known.len(), operations(&fork, "feature").len());
    let log = s.git(&["log", "-p", "loopx"]).ok();
    assert!(!log.contains("not-for-everybody"), "another session came");
    assert_eq!(s.git(&["for-each-ref", "refs/loopx/import"]).ok(), "");
    let url = fork.path().to_str().expect("a path").to_owned();
    s.git(&["fetch", "--quiet", &url, "feature:feature"]).ok();
    s.git(&["switch", "--quiet", "feature"]).ok();
    // Reviewed and approved here, by somebody else; it lands as any other.
    advance(&s, "review", "done", "");
    let range = [
        "verify",
        "main..feature",
        "--policy-from",
        "main",
        "--onto",
        "main",
    ];
    s.loopx(&range).ok();
    let sessions = ["verify", "--sessions", "main..feature", "--onto", "main"];
    s.loopx(&sessions)
        .fails_with(1)
        .says("a commit there says that it was made again from it")
        .says("git -c loopx.sync=linear loopx verify --sessions");
    s.git(&["config", "loopx.sync", "linear"]).ok();
    s.loopx(&sessions).ok();
    s.loopx(&["fsck"]).ok();
    // What the fork adds later comes the same way, and a second time there is nothing new.
    import(&s, &fork, &["--session", "feature"])
        .says("was here")
        .ok();
}

#[test]
fn an_import_from_a_fork_that_cannot_be_says_what_leads_on_and_changes_nothing() {
    let (s, fork) = forked();
    let tip = s.git(&["rev-parse", "loopx"]).line();
    let asked = import(&s, &fork, &["--json"]).fails_with(2);
    let error = asked.error_json();
    assert_eq!(error["error"]["code"], "session_required");
    asked.says("feature, not-for-everybody");
    import(&s, &fork, &["--session", "nobody"])
        .fails_with(4)
        .says("no session is named");
    import(&s, &fork, &["--session", "feature", "bundle", "x"]).fails_with(2);
    s.loopx(&["import"]).fails_with(2);
    s.loopx(&["import", "--from=--upload-pack=touch x", "-s", "feature"])
        .fails_with(2)
        .says("expected the address");
    s.loopx(&["import", "--from", "../nowhere", "-s", "feature"])
        .fails_with(1)
        .says("expected the address of a repository, or the name of a remote, found `../nowhere`")
        .says("hint: git remote -v  (shows the remotes)");
    let bare = Sandbox::new();
    import(&s, &bare, &["-s", "feature"])
        .fails_with(4)
        .says("has no branch `loopx`");
    // A damaged session is not taken in.
    crate::support::forge::forge_records(&fork, "feature", |op| {
        if op["kind"] == "approved" {
            op["body"]["content"] = "0123456789012345678901234567890123456789".into();
        }
    });
    import(&s, &fork, &["-s", "feature"])
        .fails_with(1)
        .says("brings damage that is not here");
    crate::support::store::tamper(&fork, "sessions/feature/state.json", Some(b"{}"));
    import(&s, &fork, &["-s", "feature"])
        .fails_with(1)
        .says("cannot be taken in")
        .says("ask its owner to run: git loopx fsck");
    assert_eq!(s.git(&["rev-parse", "loopx"]).line(), tip);
    assert_eq!(s.git(&["for-each-ref", "refs/loopx/import"]).ok(), "");
}
