//! Edge cases 5 to 7 of the reference (hooks and gates, section 8), with the real git: what hooks must
//! never touch, and what must never be blocked.

use crate::support::session::{advance, at, commit, started, tip};
use crate::support::{LOOPX, Sandbox};
use std::path::Path;

/// A test suite as people write it: git in a repository of its own.
const SUITE: &str = "#!/bin/sh\nset -e\ndir=$(mktemp -d)\ncd \"$dir\"\ngit init --quiet .\n\
git config core.bare true\ngit config core.bare false\necho x >x\ngit add x\n\
git -c user.name=T -c user.email=t@example.org commit --quiet -m inner\ngit switch --quiet -c inner\n\
git rm --quiet --cached x\nrm -rf \"$dir\"\n";

/// Files that no hook or run may change of a repository with a linked worktree.
fn outer(s: &Sandbox) -> Vec<(String, Vec<u8>)> {
    [
        ".git/config",
        ".git/HEAD",
        ".git/index",
        ".git/worktrees/linked/HEAD",
        ".git/worktrees/linked/index",
    ]
    .iter()
    .map(|path| ((*path).to_owned(), s.bytes(path)))
    .collect()
}

/// A linked worktree on a branch with a session that is being built.
fn linked(s: &Sandbox) -> std::path::PathBuf {
    let dir = s.root().join("linked");
    let path = dir.to_str().expect("UTF-8").to_owned();
    s.git(&["switch", "--quiet", "main"]).ok();
    s.git(&["worktree", "add", "--quiet", &path, "demo"]).ok();
    s.loopx_in(
        &dir,
        &["build", "--take-over", "--reason", "it goes on here"],
    )
    .ok();
    s.script("../suite.sh", SUITE);
    dir
}

#[test]
fn edge_05_a_suite_that_run_starts_touches_only_its_own_repository() {
    let s = at("build", "", "");
    let dir = linked(&s);
    let suite = s.root().join("suite.sh");
    let suite = suite.to_str().expect("UTF-8");
    s.git_in(&dir, &["status"]).ok();
    let before = outer(&s);
    // As a shell starts it, and as a hook in a linked worktree does: with git's variables set.
    let run = |dir: &Path| {
        s.call(LOOPX)
            .cwd(dir)
            .args(&["-s", "demo", "run", "--kind", "test", "--", suite])
    };
    run(&dir).run().ok();
    let git_dir = s.path().join(".git/worktrees/linked");
    run(&dir)
        .env("GIT_DIR", &git_dir)
        .env("GIT_INDEX_FILE", git_dir.join("index"))
        .env("GIT_PREFIX", "")
        .run()
        .ok();
    assert!(outer(&s) == before, "the outer repository changed");
    let log = s.git_in(&dir, &["log", "--format=%s", "--all"]).ok();
    assert!(!log.contains("inner"), "{log}");
}

#[test]
fn edge_05_a_hook_in_a_linked_worktree_that_runs_a_suite_changes_nothing_outside() {
    let s = at("build", "", "");
    let dir = linked(&s);
    let suite = s.root().join("suite.sh");
    // A hook of somebody else stands beside ours, and lets git loopx run the suite.
    let script = format!(
        "#!/bin/sh\nexec git-loopx -s demo run --kind test -- '{}' >/dev/null\n",
        suite.display()
    );
    s.script(".git/hooks/post-commit", &script);
    s.write(dir.join("src/a.rs"), "a");
    s.git_in(&dir, &["add", "."]).ok();
    let (config, head) = (s.bytes(".git/config"), s.bytes(".git/HEAD"));
    let runs = || {
        let count = [
            "rev-list",
            "--count",
            "--grep",
            "Loopx-Event: evidence",
            "loopx",
        ];
        s.git(&count).line().parse::<u32>().expect("a number")
    };
    let before = runs();
    s.git_in(&dir, &["commit", "--quiet", "-m", "code"]).ok();
    assert_eq!(runs(), before + 1, "the suite ran");
    assert!(s.bytes(".git/config") == config && s.bytes(".git/HEAD") == head);
    assert_eq!(s.git_in(&dir, &["log", "-1", "--format=%s"]).line(), "code");
    assert_eq!(s.git_in(&dir, &["status", "--porcelain"]).ok(), "");
    assert_eq!(s.git(&["branch", "--list", "inner"]).ok(), "");
}

#[test]
fn edge_06_what_is_not_committed_stays_as_it_is() {
    let s = at("build", "", "");
    s.write("src/tracked.rs", "1\n");
    s.git(&["add", "."]).ok();
    s.git(&["commit", "--quiet", "-m", "tracked"]).ok();
    // Unstaged, announced, staged, and untracked work beside a commit of one path.
    s.write("src/tracked.rs", "2\n");
    s.write("src/announced.rs", "announced\n");
    s.git(&["add", "--intent-to-add", "src/announced.rs"]).ok();
    s.write("src/staged.rs", "staged\n");
    s.git(&["add", "src/staged.rs"]).ok();
    s.write("src/untracked.rs", "untracked\n");
    s.write("src/one.rs", "one\n");
    let work = || s.git(&["status", "--porcelain", "--", ":!src/one.rs"]).ok();
    let before = work();
    s.git(&["add", "src/one.rs"]).ok();
    s.git(&["commit", "--quiet", "-m", "one", "src/one.rs"])
        .ok();
    assert_eq!(work(), before);
    assert_eq!(
        s.git(&["show", "--name-only", "--format=", "HEAD"]).line(),
        "src/one.rs"
    );
    assert_eq!(s.read("src/announced.rs"), "announced\n");
    assert_eq!(s.read("src/tracked.rs"), "2\n");
}

#[test]
fn edge_06_an_interrupted_hook_loses_nothing() {
    let s = started("");
    // What stood there before us is interrupted, and takes our process with it, as Ctrl-C does.
    s.loopx(&["hooks", "uninstall"]).ok();
    s.script(
        ".git/hooks/pre-commit",
        "#!/bin/sh\nkill -INT $PPID\nkill -INT $$\n",
    );
    s.loopx(&["hooks", "install"]).ok();
    s.write("docs/staged", "staged\n");
    s.git(&["add", "."]).ok();
    s.write("src/old.rs", "unstaged\n");
    let look = || {
        (
            s.git(&["status", "--porcelain"]).ok(),
            s.git(&["rev-parse", "HEAD", "loopx"]).ok(),
        )
    };
    let before = look();
    let out = s.git(&["commit", "--quiet", "-m", "x"]);
    assert_ne!(out.code, Some(0), "{out}");
    assert_eq!(look(), before);
    assert_eq!(s.read("src/old.rs"), "unstaged\n");
    assert!(!s.exists(".git/index.lock"));
    s.git(&["commit", "--quiet", "--no-verify", "-m", "x"]).ok();
}

#[test]
fn edge_07_a_rebase_of_thirty_commits_keeps_every_link_and_verifies() {
    let s = at("build", "", "");
    for n in 0..30 {
        let path = if n % 10 == 0 {
            "src/old.rs".to_owned()
        } else {
            format!("src/{n}.rs")
        };
        s.write(&path, format!("{n}\n"));
        s.git(&["add", "."]).ok();
        s.git(&["commit", "--quiet", "-m", &format!("change {n}")])
            .ok();
    }
    let state = tip(&s);
    s.git(&["switch", "--quiet", "main"]).ok();
    s.write("src/old.rs", "upstream\n");
    s.git(&["commit", "--quiet", "-am", "upstream"]).ok();
    s.git(&["switch", "--quiet", "demo"]).ok();
    advance(&s, "build", "review", "");
    // Three of the thirty conflict, a picked one is reworded, each is followed by a command.
    let todo = "1s/^pick/reword/;s/^\\(pick.*7\\)$/\\1\\nexec true/";
    let mut out = s
        .call("git")
        .args(&["rebase", "--interactive", "main"])
        .env("GIT_SEQUENCE_EDITOR", format!("sed -i '{todo}'"))
        .env("GIT_EDITOR", "sed -i '1s/$/ again/'")
        .run();
    let mut stops = 0;
    while out.code != Some(0) {
        assert!(!out.stderr.contains("refused") && stops < 5, "{out}");
        stops += 1;
        s.write("src/old.rs", format!("upstream and {stops}\n"));
        s.git(&["add", "."]).ok();
        out = s
            .call("git")
            .args(&["rebase", "--continue"])
            .env("GIT_EDITOR", "true")
            .run();
    }
    assert_eq!(stops, 3);
    let links = s
        .git(&[
            "log",
            "--format=%(trailers:key=Loopx-State,valueonly)",
            "main..demo",
        ])
        .ok();
    let links: Vec<&str> = links.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(links, vec![state.as_str(); 30]);
    // No flood: nothing at all is said of them.
    let out = s.loopx(&["verify", "--json"]);
    assert_eq!(out.json()["commits"], 30);
    assert_eq!(
        out.json()["findings"].as_array().map(Vec::len),
        Some(0),
        "{out}"
    );
    // A picked range and a revert keep or need no link, and are not blocked either.
    s.git(&["switch", "--quiet", "-c", "picked", "main"]).ok();
    s.git(&["cherry-pick", "demo~5..demo"]).ok();
    s.git(&["revert", "--no-edit", "HEAD~2..HEAD"]).ok();
    commit(&s, "src/free.rs", "of nobody").ok();
}
