//! A backlog in a sandbox.

use super::Sandbox;
use super::clones::Clones;
use serde_json::Value;

/// A repository with code and the branch of sessions.
pub(crate) fn backlog() -> Sandbox {
    Sandbox::once("", || {
        let s = Sandbox::new();
        s.commit_file("code.txt", "code\n", "code").ok();
        s.loopx(&["init"]).ok();
        s
    })
}

/// Makes an issue and gives its id.
pub(crate) fn create(s: &Sandbox, args: &[&str]) -> String {
    let made = s.loopx(&[&["--json", "issue", "create"], args].concat());
    id_of(&made.json())
}

/// Gives an issue a solution of one task, and binds it.
pub(crate) fn solve(s: &Sandbox, id: &str) {
    s.loopx(&["issue", "solution", "add", id, "so", "--task", "Do"])
        .ok();
    s.loopx(&["issue", "solution", "bind", id, "s1"]).ok();
}

/// The id in the document of a command that made one issue.
pub(crate) fn id_of(made: &Value) -> String {
    made["issues"][0].as_str().expect("an id").to_owned()
}

/// The issues of a list.
pub(crate) fn list(s: &Sandbox, args: &[&str]) -> Vec<Value> {
    let all = [&["--json", "issue", "list"], args].concat();
    let listed = s.loopx(&all).json();
    listed["issues"].as_array().expect("issues").clone()
}

/// The titles of a list, in its order.
pub(crate) fn titles(issues: &[Value]) -> Vec<&str> {
    let titles = issues.iter().map(|issue| issue["title"].as_str());
    titles.map(|title| title.expect("a title")).collect()
}

pub(crate) fn show(s: &Sandbox, id: &str) -> Value {
    s.loopx(&["--json", "issue", "show", id]).json()
}

/// The brief of a quick session that is filled in.
pub(crate) const BRIEF: &str = "# It\n\n## Why\n\nThe word is misspelt.\n\n## What\n\nbehaviour: unchanged\nreason: a word is spelt as it should be\n";

/// The error of a command that is refused and changes nothing.
pub(crate) fn refused(s: &Sandbox, code: i32, word: &str, args: &[&str]) -> Value {
    let tip = || s.git(&["rev-parse", "refs/heads/loopx"]).line();
    let before = tip();
    let out = s.loopx(&[&["--json"], args].concat());
    assert_eq!(
        out.code,
        Some(code),
        "{args:?}: {}{}",
        out.stdout,
        out.stderr
    );
    let error = out.error_json()["error"].take();
    assert_eq!(error["code"], word, "{error}");
    assert_eq!(tip(), before, "{args:?} changed something");
    error
}

/// Two clones with the same backlog of some issues.
pub(crate) fn two(titles: &[&str]) -> (Clones, Vec<String>) {
    let all = Clones::apart(2);
    all.loopx(0, &["init"]).ok();
    let make = |title: &&str| {
        let made = all.loopx(0, &["--json", "issue", "create", title]);
        id_of(&made.json())
    };
    let ids = titles.iter().map(make).collect();
    all.sync(0).ok();
    all.sync(1).ok();
    (all, ids)
}
