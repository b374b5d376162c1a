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
    insta::assert_snapshot!(import(&s, &fork, &["--session", "feature"]).steady(), @"
    $ git-loopx import --from $OTHER/a fork --session feature
    feature: 14 operations taken in (0000000000)
    next: git fetch '$OTHER/a fork' refs/heads/feature:refs/heads/feature   (the commits of the session)
    --- exit 0
    ");
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
    insta::assert_snapshot!(s.loopx(&sessions).steady(), @"
    $ git-loopx verify --sessions main..feature --onto main
    0000000000 error state_not_on_branch: state 0000000000 is not on `loopx`: a commit of the branch was made again from this state, by an import from a fork or by a linear sync
    loopx: 21 commits, 1 pin, 1 error
    now: where that is done here: git -c loopx.sync=linear loopx verify --sessions
    --- exit 1
    ");
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
    let whole = s.loopx(&["import", "--from", "../nowhere", "-s", "feature"]);
    insta::assert_snapshot!(whole.steady(), @"
    $ git-loopx import --from ../nowhere -s feature
    --- stderr
    refused: expected the address of a repository, or the name of a remote, found `../nowhere`: fetch loopx from ../nowhere: the repository is not there, or is not open to you ('../nowhere' does not appear to be a git repository; Could not read from remote repository.)

    hint: git remote -v  (shows the remotes)
    --- exit 1
    ");
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
    insta::assert_snapshot!(import(&s, &fork, &["-s", "feature"]).steady(), @"
    $ git-loopx import --from $OTHER/a fork -s feature
    --- stderr
    refused: session feature of $OTHER/a fork cannot be taken in: commit 0000000000: sessions/feature/state.json:1:2: not a record of git loopx: missing field `format` at line 1 column 2

    hint: ask its owner to run: git loopx fsck
    --- exit 1
    ");
    assert_eq!(s.git(&["rev-parse", "loopx"]).line(), tip);
    assert_eq!(s.git(&["for-each-ref", "refs/loopx/import"]).ok(), "");
}
