//! Commits that are a session's own: what came from the target by a merge or a rebase is not, and a bound branch that
//! was renamed or deleted is noticed.

use crate::support::session::{advance, at, commit, started};
use crate::support::{Output, Sandbox};

/// Commits something as somebody else, past every hook.
fn upstream(s: &Sandbox, branch: &str, path: &str) {
    let here = s.git(&["branch", "--show-current"]).line();
    s.git(&["switch", "--quiet", branch]).ok();
    s.write(path, path);
    s.git(&["add", "."]).ok();
    let call = s
        .call("git")
        .args(&["commit", "--quiet", "--no-verify", "-m", "upstream"]);
    call.env("GIT_AUTHOR_NAME", "Uma")
        .env("GIT_AUTHOR_EMAIL", "uma@example.org")
        .run()
        .ok();
    s.git(&["switch", "--quiet", &here]).ok();
}

fn verify(s: &Sandbox) -> Output {
    s.loopx(&["verify", "--json"])
}

/// Counts the commits that `verify` judges without being told a range.
#[track_caller]
fn judged(s: &Sandbox) -> u64 {
    let out = verify(s);
    let json = out.json();
    out.ok();
    assert_eq!(json["findings"].as_array().expect("findings").len(), 0);
    json["commits"].as_u64().expect("a number")
}

#[test]
fn a_merge_of_the_target_is_not_counted() {
    let s = at("build", "", "");
    commit(&s, "src/a.rs", "code").ok();
    upstream(&s, "main", "src/upstream.rs");
    s.git(&["merge", "--quiet", "--no-edit", "main"]).ok();
    commit(&s, "src/b.rs", "code").ok();
    assert_eq!(judged(&s), 2);
    let base = s.git(&["rev-parse", "main"]).line();
    assert_eq!(verify(&s).json()["base"], base.as_str());
    // Nor does the review see it, nor the people of it.
    advance(&s, "build", "review", "");
    let uma = s
        .call(crate::support::LOOPX)
        .args(&["review", "--verdict", "approve", "--json"])
        .env("GIT_AUTHOR_NAME", "Uma")
        .env("GIT_AUTHOR_EMAIL", "uma@example.org")
        .env("GIT_COMMITTER_NAME", "Uma")
        .env("GIT_COMMITTER_EMAIL", "uma@example.org")
        .run();
    let json = uma.json();
    uma.ok();
    assert_eq!(json["verdict"]["base"], base.as_str(), "{json:#}");
    assert_eq!(
        json["verdict"]["dependence"].as_array().map(Vec::len),
        Some(0)
    );
    let files: Vec<&str> = json["files"]
        .as_array()
        .expect("files")
        .iter()
        .filter_map(|f| f.as_str())
        .collect();
    assert_eq!(files, ["src/a.rs", "src/b.rs"]);
}

#[test]
fn a_rebase_onto_a_newer_target_is_not_counted() {
    let s = at("build", "", "");
    commit(&s, "src/a.rs", "code").ok();
    upstream(&s, "main", "src/upstream.rs");
    upstream(&s, "main", "src/upstream2.rs");
    s.git(&["rebase", "--quiet", "main"]).ok();
    assert_eq!(judged(&s), 1);
    let base = s.git(&["rev-parse", "main"]).line();
    assert_eq!(verify(&s).json()["base"], base.as_str());
}

#[test]
fn what_the_target_took_of_the_session_stays_in_its_range() {
    let s = at("build", "", "");
    commit(&s, "src/a.rs", "code").ok();
    upstream(&s, "main", "src/upstream.rs");
    s.git(&["switch", "--quiet", "main"]).ok();
    s.git(&["merge", "--quiet", "--no-edit", "demo"]).ok();
    s.git(&["switch", "--quiet", "demo"]).ok();
    s.git(&["merge", "--quiet", "main"]).ok();
    commit(&s, "src/b.rs", "code").ok();
    assert_eq!(judged(&s), 2);
    // A session on the default branch itself, that was pushed: all of it is its own.
    let s = started("");
    s.git(&["switch", "--quiet", "main"]).ok();
    s.loopx(&["use", "demo"]).ok();
    commit(&s, "docs/a", "a document").ok();
    s.git(&["init", "--quiet", "--bare", "../remote.git"]).ok();
    s.git(&["remote", "add", "origin", "../remote.git"]).ok();
    s.git(&["push", "--quiet", "-u", "origin", "main"]).ok();
    assert_eq!(judged(&s), 1);
}

#[test]
fn the_target_is_what_was_said_or_what_git_knows() {
    let s = at("build", "", "[gates]\ntarget = \"said\"\n");
    for branch in ["said", "config", "trunk", "tracked"] {
        s.git(&["branch", branch, "main"]).ok();
        upstream(&s, branch, &format!("src/{branch}.rs"));
        s.git(&["merge", "--quiet", "--no-edit", branch]).ok();
    }
    let only = |branch: &str| {
        let out = s.loopx(&["verify", "--json"]);
        let json = out.json();
        let missing: Vec<String> = json["findings"]
            .as_array()
            .expect("findings")
            .iter()
            .filter(|f| f["code"] == "commit_without_state")
            .map(|f| f["paths"][0].as_str().expect("a path").to_owned())
            .collect();
        assert!(
            !missing.contains(&format!("src/{branch}.rs")),
            "{missing:?}"
        );
        assert_eq!(missing.len(), 3, "{missing:?}");
    };
    only("said");
    s.git(&["config", "loopx.target", "config"]).ok();
    only("config");
    s.git(&["config", "loopx.target", "nothing"]).ok();
    s.loopx(&["verify"]).fails_with(2).says("loopx.target");
    s.git(&["config", "--unset", "loopx.target"]).ok();
    // Without a word in the policy: what the branch tracks, else the remote's default branch.
    s.git(&["branch", "--quiet", "-D", "said"]).ok();
    s.git(&["branch", "--quiet", "--set-upstream-to", "tracked", "demo"])
        .ok();
    only("tracked");
    s.git(&["branch", "--quiet", "--unset-upstream", "demo"])
        .ok();
    s.git(&["clone", "--quiet", "--bare", ".", "../remote.git"])
        .ok();
    s.git_in(
        s.root().join("remote.git"),
        &["symbolic-ref", "HEAD", "refs/heads/trunk"],
    )
    .ok();
    s.git(&["remote", "add", "origin", "../remote.git"]).ok();
    s.git(&["fetch", "--quiet"]).ok();
    s.git(&["remote", "set-head", "origin", "--auto"]).ok();
    // Only as the remote has it.
    s.git(&["branch", "--quiet", "-D", "trunk"]).ok();
    only("trunk");
}

#[test]
fn a_renamed_or_deleted_branch_is_noticed() {
    let s = at("build", "", "");
    commit(&s, "src/a.rs", "code").ok();
    s.git(&["branch", "-m", "demo", "renamed"]).ok();
    let status = s.loopx(&["status", "--json"]).json();
    assert_eq!(status["next_action"], "git loopx use demo");
    assert_eq!(status["blockers"][0]["code"], "bound_branch_missing");
    s.loopx(&["verify"])
        .fails_with(2)
        .says("git loopx use demo");
    insta::assert_snapshot!(s.loopx(&["-s", "demo", "verify"]).steady(), @"
    $ git-loopx -s demo verify
    --- stderr
    refused: session demo is bound to the branch `demo`, which is not here: it was renamed or deleted

    hint: git loopx use demo
    --- exit 1
    ");
    s.loopx(&["use", "demo"]).ok();
    assert_eq!(judged(&s), 1);
    assert_eq!(s.loopx(&["status", "--json"]).json()["branch"], "renamed");
    advance(&s, "build", "review", "");
    let tip = s.git(&["rev-parse", "--short=10", "HEAD"]).line();
    s.git(&["switch", "--quiet", "--detach"]).ok();
    s.git(&["branch", "--quiet", "-D", "renamed"]).ok();
    let whole = s
        .loopx(&["-s", "demo", "review", "--verdict", "approve"])
        .says(&format!("git switch -c renamed {tip}"));
    insta::assert_snapshot!(whole.steady(), @"
    $ git-loopx -s demo review --verdict approve
    --- stderr
    refused: session demo is bound to the branch `renamed`, which is not here: it was renamed or deleted

    hint: git switch -c renamed 0000000000
    --- exit 1
    ");
    // A branch that only the remote has is not gone.
    s.git(&["switch", "--quiet", "-c", "renamed"]).ok();
    s.git(&["init", "--quiet", "--bare", "../remote.git"]).ok();
    s.git(&["remote", "add", "origin", "../remote.git"]).ok();
    s.git(&["push", "--quiet", "origin", "renamed"]).ok();
    s.git(&["switch", "--quiet", "main"]).ok();
    s.git(&["branch", "--quiet", "-D", "renamed"]).ok();
    let out = s.loopx(&["-s", "demo", "verify", "--json"]);
    assert_eq!(out.json()["commits"], 1, "{out}");
}
