//! The CI snippets and the server's hook of docs/server.md, run as they stand there; and edge case 8 of
//! the reference (hooks and gates, section 8) where one push moves everything at once.

use crate::support::session::{advance, at, commit, started};
use crate::support::{Output, Sandbox};
use loopx_rules::setup::ci::Ci;
use std::path::{Path, PathBuf};

fn section() -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/server.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let start = page
        .find("## Verify in CI and on the server")
        .expect("the section");
    let rest = &page[start + 3..];
    rest[..rest.find("\n## ").expect("the next section")].to_owned()
}

/// The git commands of the section's block that has this word.
fn commands(word: &str) -> Vec<String> {
    let section = section();
    let block = section
        .split("```")
        .find(|block| block.contains(word))
        .unwrap_or_else(|| panic!("no block with {word}"));
    let lines = block.lines().map(str::trim);
    let found: Vec<String> = lines
        .filter_map(|line| {
            line.strip_prefix("- run: ")
                .or_else(|| line.strip_prefix("- "))
        })
        .filter(|line| line.starts_with("git "))
        .map(str::to_owned)
        .collect();
    assert_eq!(found.len(), 3, "{block}");
    found
}

/// A session that is done on `demo`, and everything at a server.
fn done() -> Sandbox {
    Sandbox::once("", || {
        let s = started("[gates]\nprotected = [\"main\"]\n");
        advance(&s, "clarify", "build", "");
        commit(&s, "src/a.rs", "code").ok();
        advance(&s, "build", "done", "");
        s.git(&["init", "--quiet", "--bare", "../remote.git"]).ok();
        s.git(&["remote", "add", "origin", "../remote.git"]).ok();
        s.git(&["push", "--quiet", "origin", "main", "demo", "loopx"])
            .ok();
        s
    })
}

/// A clone as a runner makes it: one commit checked out, no branch, of the branches only some.
fn runner(s: &Sandbox, name: &str, args: &[&str]) -> PathBuf {
    let dir = s.root().join(name);
    let url = format!("file://{}", s.root().join("remote.git").display());
    let mut all = vec!["clone", "--quiet", "--branch", "demo"];
    all.extend(args);
    all.extend([url.as_str(), dir.to_str().expect("UTF-8")]);
    s.git(&all).ok();
    s.git_in(&dir, &["switch", "--quiet", "--detach"]).ok();
    dir
}

/// Runs commands as a runner's shell does, up to the first that fails.
fn ci(s: &Sandbox, dir: &Path, commands: &[String]) -> Output {
    let script = format!("set -e\n{}\n", commands.join("\n"));
    s.call("sh")
        .cwd(dir)
        .args(&["-c", &script])
        .env("BASE", "refs/heads/main")
        .env("HEAD_REF", "demo")
        .env("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "main")
        .env("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME", "demo")
        .run()
}

#[test]
fn q15_a_new_branch_is_judged_also_where_the_remote_is_a_path() {
    let s = at("plan", "src", "");
    s.git(&["init", "--quiet", "--bare", "../remote.git"]).ok();
    s.write("src/early.rs", "early\n");
    s.git(&["add", "."]).ok();
    s.git(&["commit", "--quiet", "--no-verify", "-m", "early"])
        .ok();
    let remote = s.root().join("remote.git");
    let remote = remote.to_str().expect("UTF-8");
    let address = format!("file://{remote}");
    for place in ["../remote.git", "./../remote.git", remote, &address] {
        let out = s.git(&["push", "--quiet", place, "demo:new"]);
        let out = out.fails_with(1).says("commit_without_state");
        assert!(!out.stderr.contains("did not check"), "{place}: {out}");
    }
    assert_eq!(s.git_in(remote, &["for-each-ref"]).ok(), "");
}

#[test]
fn the_ci_snippets_of_the_readme_judge_a_pull_request() {
    let s = done();
    s.write("src/late.rs", "late");
    s.git(&["add", "."]).ok();
    s.git(&["commit", "--quiet", "--no-verify", "-m", "late"])
        .ok();
    for word in ["actions/checkout", "merge_request_event"] {
        let commands = commands(word);
        let good = runner(
            &s,
            &format!("{word}-good").replace('/', "-"),
            &["--single-branch"],
        );
        ci(&s, &good, &commands).ok();
        s.git(&["push", "--quiet", "--no-verify", "origin", "demo"])
            .ok();
        let bad = runner(
            &s,
            &format!("{word}-bad").replace('/', "-"),
            &["--single-branch"],
        );
        ci(&s, &bad, &commands).fails_with(1).says("review_stale");
        s.git(&[
            "push",
            "--quiet",
            "--no-verify",
            "--force",
            "origin",
            "demo~1:demo",
        ])
        .ok();
        // Too little of the history, and no session: each says what to fetch.
        let shallow = runner(
            &s,
            &format!("{word}-shallow").replace('/', "-"),
            &["--depth", "1"],
        );
        let out = ci(&s, &shallow, &commands);
        out.fails_with(4)
            .says("shallow")
            .says("git fetch --unshallow");
        let bare: Vec<String> = commands
            .iter()
            .filter(|line| line.contains("loopx verify"))
            .cloned()
            .collect();
        let missing = runner(
            &s,
            &format!("{word}-missing").replace('/', "-"),
            &["--single-branch"],
        );
        ci(&s, &missing, &bare)
            .fails_with(4)
            .says("git fetch origin +refs/heads/loopx:refs/remotes/origin/loopx");
    }
}

#[test]
fn the_ci_files_that_setup_writes_are_those_of_the_readme() {
    for ci in [Ci::Github, Ci::Gitlab] {
        let (path, text) = ci.file(None).expect("a file");
        assert!(
            section().contains(&format!("```yaml\n{text}```\n")),
            "{path}"
        );
    }
}

#[test]
fn the_servers_hook_is_the_one_that_the_readme_shows() {
    let section = section();
    let hook = section
        .split("```")
        .find_map(|block| {
            block
                .strip_prefix("sh\n")
                .filter(|text| text.starts_with("#!/bin/sh"))
        })
        .expect("a script");
    let s = done();
    s.script("../remote.git/hooks/pre-receive", hook);
    s.git(&["push", "--quiet", "origin", "demo:main"]).ok();
    s.write("src/late.rs", "late");
    s.git(&["add", "."]).ok();
    s.git(&["commit", "--quiet", "--no-verify", "-m", "late"])
        .ok();
    s.git(&["push", "--no-verify", "origin", "demo:main"])
        .fails_with(1)
        .says("protected_without_session")
        .says("pre-receive hook declined");
}

#[test]
fn edge_08_one_push_of_everything_is_judged_ref_by_ref() {
    let s = started("[gates]\nprotected = [\"main\", \"release/*\"]\n");
    s.git(&["init", "--quiet", "--bare", "../remote.git"]).ok();
    s.git(&["remote", "add", "origin", "../remote.git"]).ok();
    s.git(&[
        "push",
        "--quiet",
        "origin",
        "main",
        "loopx",
        "main:old",
        "main:release/1",
    ])
    .ok();
    s.git(&["branch", "free", "main"]).ok();
    s.git(&["tag", "v1"]).ok();
    commit(&s, "docs/a", "a document").ok();
    let push = |args: &[&str]| {
        let mut all = vec!["push", "--quiet", "--atomic", "origin"];
        all.extend(args);
        s.git(&all)
    };
    let everything = ["free", "demo", "v1", ":old", "HEAD:refs/heads/new"];
    push(
        &["--dry-run"]
            .iter()
            .chain(&everything)
            .copied()
            .collect::<Vec<_>>(),
    )
    .ok();
    push(&everything).ok();
    push(&everything[..3]).ok();
    s.write("src/a.rs", "code");
    s.git(&["add", "."]).ok();
    s.git(&["commit", "--quiet", "--no-verify", "-m", "code"])
        .ok();
    for bad in ["demo", "HEAD:refs/heads/new", "HEAD:refs/heads/other"] {
        push(&["free", bad, ":v1"])
            .fails_with(1)
            .says("has no trailer with");
    }
    // A protected branch is not deleted in passing, nor set back; as far as its tip is known here.
    for bad in [":release/1", "+v1~0:refs/heads/release/1"] {
        let out = push(&["free", bad]);
        if bad.starts_with(':') {
            out.fails_with(1).says("is protected and would be");
        } else {
            out.ok();
        }
    }
    s.git(&["switch", "--quiet", "--orphan", "unrelated"]).ok();
    s.git(&["commit", "--quiet", "--allow-empty", "-m", "unrelated"])
        .ok();
    push(&["+unrelated:release/1"])
        .fails_with(1)
        .says("is protected and would be");
}
