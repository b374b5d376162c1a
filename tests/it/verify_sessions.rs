//! `verify --sessions`: the loopx branch as a forge holds it, judged where no hook of ours stands. What pre-receive
//! would refuse is found afterwards, and the pins of what landed find what went away.

use crate::support::landing::{at, done, make, rev};
use crate::support::server::{begun, put_tree, with_entry};
use crate::support::session::{advance, commit};
use crate::support::store::tamper;
use crate::support::{Output, Sandbox};
use serde_json::Value;

/// `demo` is done, and landed; the server is a forge: it has no hook of ours.
fn landed() -> Sandbox {
    Sandbox::once("", || {
        let s = done();
        let hook = s.root().join("remote.git/hooks/pre-receive");
        std::fs::remove_file(hook).expect("no hook");
        s.git(&[
            "push",
            "--quiet",
            "--no-verify",
            "origin",
            "demo:main",
            "loopx",
        ])
        .ok();
        s
    })
}

/// Runs `verify` as CI does: in a clone that has no branch of sessions but the remote's.
fn ci(s: &Sandbox, name: &str, more: &[&str]) -> Output {
    let dir = s.root().join(name);
    let url = format!("file://{}", s.root().join("remote.git").display());
    s.git(&["clone", "--quiet", &url, dir.to_str().expect("UTF-8")])
        .ok();
    let args = [&["--json", "verify", "--sessions", "--onto", "main"], more].concat();
    s.loopx_in(&dir, &args)
}

fn codes(document: &Value) -> Vec<&str> {
    let findings = document["findings"].as_array().expect("findings").iter();
    findings
        .map(|finding| finding["code"].as_str().expect("a code"))
        .collect()
}

fn force(s: &Sandbox, what: &str) {
    s.git(&["push", "--quiet", "--no-verify", "--force", "origin", what])
        .ok();
}

/// A session whose code has trailers, landed on the forge.
fn pinned(format: &str) -> Sandbox {
    Sandbox::once(format!("{format:?}"), || {
        let s = begun(format, "[gates]\nprotected = [\"main\"]\n");
        s.loopx(&["hooks", "install"]).ok();
        advance(&s, "clarify", "build", "");
        commit(&s, "src/a.rs", "code").ok();
        advance(&s, "build", "done", "");
        let format = format!("--object-format={format}");
        s.git(&["init", "--quiet", "--bare", &format, "../remote.git"])
            .ok();
        s.git(&["remote", "add", "origin", "../remote.git"]).ok();
        s.git(&[
            "push",
            "--quiet",
            "--no-verify",
            "origin",
            "demo:main",
            "loopx",
        ])
        .ok();
        s
    })
}

#[test]
fn a_branch_that_is_whole_and_has_each_pin_passes() {
    for format in ["sha1", "sha256"] {
        let s = pinned(format);
        let out = ci(&s, "ci", &[]);
        let said = out.json();
        out.ok();
        assert_eq!(codes(&said), [""; 0], "{said:#}");
        assert_eq!(said["pins"], 1);
        assert_eq!(said["target"], "main");
        assert_eq!(said["tips"][0]["ref"], "refs/remotes/origin/loopx");
        // Text, and without a target that is named.
        let text = s.loopx(&["verify", "--sessions"]).ok();
        assert!(text.contains("1 pin, no error"), "{text}");
    }
}

#[test]
fn a_branch_that_was_set_back_lacks_a_pin_of_what_landed() {
    let s = pinned("sha1");
    let pin = s
        .git(&[
            "log",
            "-1",
            "--format=%(trailers:key=Loopx-State,valueonly)",
            "demo",
        ])
        .line();
    let pin = pin.trim();
    // Set back behind it, and begun anew from nothing.
    force(&s, &format!("{pin}~1:refs/heads/loopx"));
    let out = ci(&s, "back", &[]).fails_with(1);
    let said = out.json();
    assert_eq!(codes(&said), ["state_not_on_branch"]);
    assert!(
        said["findings"][0]["message"]
            .to_string()
            .contains(&pin[..10])
    );
    ci(&s, "since", &["--since", "origin/main"]).ok();
    let other = begun("sha1", "");
    let from = other.path().to_str().expect("UTF-8").to_owned();
    s.git(&["fetch", "--quiet", &from, "loopx"]).ok();
    force(&s, "FETCH_HEAD:refs/heads/loopx");
    assert_eq!(
        codes(&ci(&s, "anew", &[]).fails_with(1).json()),
        ["state_not_on_branch"]
    );
    // What is pinned itself is enough.
    force(&s, &format!("{pin}:refs/heads/loopx"));
    ci(&s, "just", &[]).ok();
    s.git(&["push", "--quiet", "origin", ":refs/heads/loopx"])
        .ok();
    ci(&s, "gone", &[]).fails_with(4);
}

#[test]
fn a_pin_whose_commit_was_made_again_counts_where_the_clone_says_that_this_is_done() {
    let s = pinned("sha1");
    let pin = s
        .git(&[
            "log",
            "-1",
            "--format=%(trailers:key=Loopx-State,valueonly)",
            "demo",
        ])
        .line();
    let below = format!("{}~1", pin.trim());
    // As a sync does it where a forge takes no merges; `was` says which commit each stands for.
    let again = |was: &dyn Fn(&str) -> String| {
        let mut tip = rev(&s, &below);
        for commit in s
            .git(&["rev-list", "--reverse", &format!("{below}..loopx")])
            .ok()
            .lines()
        {
            let message = s.git(&["log", "-1", "--format=%B", commit]).ok();
            let message = format!("{}\n{}\n", message.trim_end(), was(commit));
            let tree = format!("{commit}^{{tree}}");
            let made = s.git(&["commit-tree", &tree, "-p", &tip, "-m", &message]);
            tip = made.line();
        }
        force(&s, &format!("{tip}:refs/heads/loopx"));
    };
    again(&|commit| format!("Loopx-Was: {commit}"));
    // Whoever set the branch back could write that trailer too.
    let said = ci(&s, "was", &[]).fails_with(1).json();
    assert_eq!(codes(&said), ["state_not_on_branch"]);
    let dir = s.root().join("was");
    s.git_in(&dir, &["config", "loopx.sync", "linear"]).ok();
    s.loopx_in(&dir, &["verify", "--sessions", "--onto", "main"])
        .ok();
    again(&|_| "Loopx-Other: x".to_owned());
    s.git_in(&dir, &["fetch", "--quiet"]).ok();
    s.loopx_in(&dir, &["verify", "--sessions", "--onto", "main"])
        .fails_with(1)
        .says("state_not_on_branch");
}

#[test]
fn a_pin_of_what_is_about_to_land_is_asked_too() {
    let s = landed();
    at(&s, "main");
    let bad = make(
        &s,
        &[("docs/a.md", "a\n")],
        &format!("docs\n\nLoopx-State: {}", "1".repeat(40)),
    );
    let odd = make(&s, &[("docs/b.md", "b\n")], "docs\n\nLoopx-State: no id");
    s.git(&[
        "push",
        "--quiet",
        "--no-verify",
        "origin",
        &format!("{odd}:refs/heads/pr"),
    ])
    .ok();
    let said = ci(&s, "ci", &["origin/main..origin/pr"])
        .fails_with(1)
        .json();
    assert_eq!(codes(&said), ["state_not_on_branch"]);
    assert_eq!(said["findings"][0]["commit"], bad.as_str());
    ci(&s, "main", &[]).ok();
}

#[test]
fn what_pre_receive_refuses_is_found_afterwards() {
    let s = landed();
    let good = rev(&s, "loopx");
    let id = rev(&s, "loopx:format");
    // A state that its operations do not give, an operation taken away, a name that no tree should have.
    let forged = || tamper(&s, "sessions/demo/state.json", Some(b"{}\n"));
    let taken = || {
        let all = s
            .git(&["ls-tree", "--name-only", "loopx", "sessions/demo/ops/"])
            .ok();
        let first = all.lines().next().expect("an operation").to_owned();
        tamper(&s, &first, None);
    };
    let named = || {
        let tree = with_entry(&s, "loopx", "sessions/demo", ("100644", b".git", &id));
        put_tree(&s, &tree);
    };
    let attacks: [(&str, &dyn Fn()); 3] =
        [("forged", &forged), ("taken", &taken), ("named", &named)];
    for (name, attack) in attacks {
        attack();
        force(&s, "loopx");
        let said = ci(&s, name, &[]).fails_with(1).json();
        assert!(
            codes(&said).contains(&"sessions_invalid"),
            "{name}: {said:#}"
        );
        s.git(&["update-ref", "refs/heads/loopx", &good]).ok();
        force(&s, "loopx");
    }
    // Mended on top is still in the history.
    forged();
    let tree = rev(&s, &format!("{good}^{{tree}}"));
    put_tree(&s, &tree);
    force(&s, "loopx");
    ci(&s, "mended", &[]).fails_with(1);
}

#[test]
fn z3_options_that_judge_a_range_have_no_say() {
    let s = landed();
    s.loopx(&["verify", "--sessions", "--explain"])
        .fails_with(2);
    s.loopx(&["verify", "--since", "HEAD"]).fails_with(2);
    // Z3: the name of what a remote has is not that of a branch.
    s.loopx(&["verify", "--sessions", "--onto", "origin/main"])
        .fails_with(2)
        .says("git loopx verify --sessions --onto main");
    let lost = s.loopx(&["--json", "verify", "--sessions", "--onto", "nowhere"]);
    assert_eq!(
        lost.fails_with(2).error_json()["error"]["code"],
        "target_unknown"
    );
}
