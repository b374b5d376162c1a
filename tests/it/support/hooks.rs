//! Tools that the tests of hooks share: repositories, hooks of somebody else, proofs.

use super::{Output, Sandbox};
use std::path::{Path, PathBuf};

pub(crate) const EVENTS: [&str; 3] = ["pre-commit", "commit-msg", "pre-push"];

/// A repository for shims: its git claims to be older than config hooks.
pub(crate) fn shims(name: &str) -> Sandbox {
    let s = Sandbox::named(name);
    s.git_claims("2.47.3");
    s
}

/// A hook of somebody else, that writes down how it was called and exits with `code`.
pub(crate) fn foreign(s: &Sandbox, event: &str, code: u8) -> PathBuf {
    let log = s.root().join(format!("{event}.log"));
    let text = format!(
        "#!/bin/sh\n{{ printf '[%s]' \"$@\"; cat; echo .; }} >>'{}'\nexit {code}\n",
        log.display()
    );
    s.script(format!(".git/hooks/{event}"), &text);
    log
}

pub(crate) fn commit(s: &Sandbox) -> Output {
    s.git(&["commit", "--allow-empty", "-m", "message"])
}

/// Asks git to run a hook that answers a probe.
pub(crate) fn probe(s: &Sandbox, dir: &Path, event: &str) -> bool {
    let out = s
        .call("git")
        .cwd(dir)
        .args(&["hook", "run", "--ignore-missing", event])
        .env("LOOPX_HOOK_PROBE", "t0ken")
        .run();
    out.stderr
        .contains(&format!("loopx-hook-probe t0ken {event}"))
}

/// (event, mode, fires) of each row, in one worktree.
pub(crate) fn rows(out: &Output, worktree: &Path) -> Vec<(String, String, Option<bool>)> {
    let json = out.json();
    let rows = json["events"].as_array().expect("events").iter();
    rows.filter(|row| row["worktree"] == worktree.to_str().expect("UTF-8"))
        .map(|row| {
            let text = |key: &str| row[key].as_str().expect("a string").to_owned();
            (text("event"), text("mode"), row["fires"].as_bool())
        })
        .collect()
}

pub(crate) fn all(mode: &str, fires: Option<bool>) -> Vec<(String, String, Option<bool>)> {
    EVENTS
        .map(|event| (event.into(), mode.into(), fires))
        .to_vec()
}

/// husky 9: a generated folder whose scripts run the ones beside it.
pub(crate) fn husky(s: &Sandbox) {
    let runner = "#!/usr/bin/env sh\n# husky\ns=\"$(dirname \"$(dirname \"$0\")\")/pre-commit\"\n\
                  [ ! -f \"$s\" ] || sh -e \"$s\" \"$@\"\n";
    s.script(".husky/_/pre-commit", runner);
    s.write(".husky/_/.gitignore", "*");
    s.write(".husky/pre-commit", "true\n");
    s.git(&["config", "core.hooksPath", ".husky/_"]).ok();
}
