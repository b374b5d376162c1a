//! Edge cases 1, 3, 4 and 20 of reference hooks-and-gates, section 8, where they need more than one
//! program or more than one git. The rest of 1 to 4 stands with the installation that it is about.

use crate::support::hooks::{all, commit, husky, rows};
use crate::support::session::{self, started};
use crate::support::store::{assert_whole, count, operations};
use crate::support::{LOOPX, Output, Sandbox};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// An edit writes the whole file at once: git finds the old text or the new one, and beside it at most a lock file with
/// any part of the new one.
#[test]
fn edge_01_an_edit_of_the_configuration_that_was_cut_short_leaves_git_working() {
    let s = Sandbox::with_test_git().unwrap_or_else(|| {
        let s = Sandbox::new();
        s.git_claims("2.55.0");
        s
    });
    let old = s.bytes(".git/config");
    s.loopx(&["hooks", "install"]).ok();
    let new = s.bytes(".git/config");
    for (config, lock) in [
        (&old, Some(0)),
        (&old, Some(1)),
        (&old, Some(new.len() / 2)),
        (&old, Some(new.len() - 30)),
        (&old, Some(new.len())),
        (&new, None),
    ] {
        s.write(".git/config", config);
        if let Some(length) = lock {
            s.write(".git/config.lock", &new[..length]);
        }
        s.git(&["status"]).ok();
        commit(&s).ok();
        if lock.is_some() {
            let held = s.loopx(&["hooks", "install"]).fails_with(6);
            held.says("config.lock").says("rm '");
            assert_eq!(&s.bytes(".git/config"), config);
            fs::remove_file(s.path().join(".git/config.lock")).expect("a lock");
        }
        s.loopx(&["hooks", "install"]).ok();
        assert_eq!(s.bytes(".git/config"), new);
        s.git(&["status"]).ok();
    }
}

/// Reason for a single edit: half of it would end every command that writes the index.
#[test]
fn edge_01_an_event_without_a_command_would_brick_the_repository() {
    let Some(s) = Sandbox::with_test_git() else {
        return;
    };
    s.git(&["config", "hook.half.event", "pre-commit"]).ok();
    commit(&s).fails_with(128);
    s.git(&["config", "--remove-section", "hook.half"]).ok();
    commit(&s).ok();
    s.loopx(&["hooks", "install"]).ok();
    s.git(&["status"]).ok();
    let text = s.read(".git/config");
    for section in text.split("[hook ").skip(1) {
        let command = section.find("\tcommand = ").expect("a command");
        assert!(command < section.find("\tevent = ").expect("an event"));
    }
}

/// The gits of a sandbox, one in front of the other.
struct Gits<'s> {
    s: &'s Sandbox,
    newer: String,
}

impl Gits<'_> {
    fn wrapper(&self) -> std::path::PathBuf {
        self.s.root().join("bin/git")
    }

    fn use_newer(&self) {
        self.s.script(self.wrapper(), &self.newer);
    }

    /// The machine's; says whether it is older than config hooks.
    fn use_machines(&self) -> bool {
        fs::remove_file(self.wrapper()).expect("a wrapper");
        let version = self.s.git(&["--version"]).line();
        let minor = version.split('.').nth(1).expect("a number");
        version.starts_with("git version 2.") && minor.parse::<u32>().expect("a number") < 54
    }

    /// Runs git with the person's configuration.
    fn git(&self, args: &[&str]) -> Output {
        let call = self.s.call("git").args(args);
        call.without_env("GIT_CONFIG_GLOBAL").run()
    }

    fn loopx(&self, args: &[&str]) -> Output {
        let call = self.s.call(LOOPX).args(args);
        call.without_env("GIT_CONFIG_GLOBAL").run()
    }

    /// The gate fires once: one refusal of code, one link in a document's commit.
    fn fires_once(&self, what: &str) {
        self.s.write("src/refused.rs", "code\n");
        self.s.git(&["add", "."]).ok();
        let refused = self.git(&["commit", "-m", "code"]).fails_with(1);
        assert_eq!(
            refused.stderr.matches("refused:").count(),
            1,
            "{what}: {refused}"
        );
        let text = what.to_owned() + &self.s.git(&["rev-parse", "HEAD"]).line();
        self.s.write("docs/a.md", text);
        self.s
            .git(&["rm", "--quiet", "--cached", "src/refused.rs"])
            .ok();
        self.s.git(&["add", "docs"]).ok();
        self.git(&["commit", "--quiet", "-m", "document"]).ok();
        let message = self.s.git(&["log", "-1", "--format=%B"]).ok();
        for key in ["Loopx-Session:", "Loopx-State:"] {
            assert_eq!(message.matches(key).count(), 1, "{what}: {message}");
        }
    }
}

#[test]
fn edge_03_the_gate_fires_exactly_once_under_each_of_two_gits() {
    let Some(s) = Sandbox::with_test_git() else {
        return;
    };
    let newer = fs::read_to_string(s.root().join("bin/git")).expect("a wrapper");
    let gits = Gits { s: &s, newer };
    session::begin(&s, "");
    s.write(s.root().join("home/.gitconfig"), "# a person's\n");

    // A shim, made under the older one.
    s.git_claims("2.47.3");
    gits.loopx(&["hooks", "install"]).ok();
    gits.use_newer();
    gits.fires_once("a shim under the newer");
    gits.use_machines();
    gits.fires_once("a shim under the machine's");

    // The same, and config hooks of a person: the newer one runs both.
    gits.use_newer();
    gits.loopx(&["hooks", "install", "--global"]).ok();
    let listed = gits.git(&["hook", "list", "pre-commit"]).ok();
    assert_eq!(listed, "loopx-pre-commit\nhook from hookdir\n");
    gits.fires_once("both under the newer");
    let status = gits.loopx(&["hooks", "status", "--json"]);
    assert_eq!(rows(&status, s.path()), all("shim", Some(true)));
    gits.use_machines();
    gits.fires_once("both under the machine's");

    // Config hooks alone: the older one ignores them, and that is told from both sides.
    gits.use_newer();
    gits.loopx(&["hooks", "uninstall"]).ok();
    gits.loopx(&["hooks", "install"]).ok();
    gits.fires_once("config hooks under the newer");
    if gits.use_machines() {
        let told = gits.loopx(&["hooks", "status"]).fails_with(1);
        told.says("ignores hooks in the configuration")
            .says("repair: git loopx hooks install");
        gits.loopx(&["hooks", "install"]).ok();
        gits.fires_once("repaired, under the machine's");
        gits.use_newer();
        gits.fires_once("repaired, under the newer");
        // The newer one names the older one that stands behind it in PATH.
        gits.loopx(&["hooks", "uninstall"]).ok();
        let out = gits.loopx(&["hooks", "install"]);
        out.says("and ignores these hooks").ok();
    }
}

#[test]
fn edge_04_beside_husky_a_commit_in_a_fresh_linked_worktree_is_gated() {
    let Some(s) = Sandbox::with_test_git() else {
        return;
    };
    let ran = s.root().join("husky ran");
    husky(&s);
    s.write(".husky/pre-commit", format!("touch '{}'\n", ran.display()));
    session::begin(&s, "");
    s.loopx(&["hooks", "install"]).ok();
    let theirs = s.snapshot(".husky");
    // In the worktree where it was set up, husky runs, and so do we.
    s.write("src/a.rs", "a\n");
    s.git(&["add", "."]).ok();
    s.git(&["commit", "-m", "x"]).fails_with(1);
    assert!(ran.exists());
    fs::remove_file(&ran).expect("removed");

    let linked = s.root().join("linked");
    s.git(&["worktree", "add", "--quiet", "-b", "linked", "../linked"])
        .ok();
    s.loopx_in(&linked, &["start", "linked"]).ok();
    let fresh = s.snapshot(linked.join(".husky"));
    let names: Vec<_> = fresh.iter().map(|(path, ..)| path.clone()).collect();
    assert_eq!(
        names,
        [Path::new("pre-commit")],
        "husky's folder is ignored"
    );
    s.write(linked.join("src/b.rs"), "b\n");
    s.git_in(&linked, &["add", "."]).ok();
    let out = s.git_in(&linked, &["commit", "-m", "x"]).fails_with(1);
    out.says("session linked").says("takes no code");
    assert!(!ran.exists(), "husky is dead here");
    let status = s.loopx_in(&linked, &["hooks", "status", "--json"]);
    assert_eq!(rows(&status, &linked), all("config", Some(true)));
    status.ok();
    assert_eq!(s.snapshot(linked.join(".husky")), fresh);
    assert_eq!(s.snapshot(".husky"), theirs);
}

/// Lock files anywhere in a repository's git dir that stop somebody. Our own advisory lock is a file
/// that stays; what it holds is the system's.
fn locks(s: &Sandbox) -> Vec<String> {
    let names = s.snapshot(".git").into_iter().map(|(path, ..)| path);
    names
        .filter(|path| path.extension().is_some_and(|end| end == "lock"))
        .map(|path| path.display().to_string())
        .collect()
}

/// Commits, approvals and readers on one state, while other writers are killed.
#[test]
fn edge_20_hooks_readers_and_approvals_race_without_a_loss_or_a_lock() {
    let turns = count(8, 40);
    let s = started("");
    let known = operations(&s, "demo").len();
    let done = AtomicBool::new(false);
    let call = |args: &[&str]| s.call(LOOPX).args(&["-s", "demo"]).args(args);
    let spec = session::READY_SPEC;
    let (written, killed) = thread::scope(|scope| {
        let commits = scope.spawn(|| {
            for turn in 0..turns {
                // A document passes with a link, code is refused, whatever moves the state meanwhile.
                session::commit(&s, &format!("docs/{turn}"), "a document").ok();
                let state = session::trailer(&s, "Loopx-State");
                s.git(&["merge-base", "--is-ancestor", &state, "loopx"])
                    .ok();
                let path = format!("src/{turn}.rs");
                session::commit(&s, &path, "code").fails_with(1);
                s.git(&["rm", "--quiet", "--force", &path]).ok();
            }
        });
        let readers = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                call(&["--json", "status"]).run().json();
                s.loopx(&["hooks", "status"]).ok();
            }
        });
        let killed = scope.spawn(|| {
            let mut wait = 7_u64;
            let mut killed = 0;
            while !done.load(Ordering::Relaxed) {
                let mut child = call(&["--json", "run", "--", "true"])
                    .command()
                    .spawn()
                    .expect("a process");
                wait = wait * 31 % 20_011;
                thread::sleep(Duration::from_micros(wait));
                child.kill().expect("killed");
                child.wait().expect("an end");
                killed += 1;
            }
            killed
        });
        let mut written = 0;
        for turn in 0..turns {
            // Each change of the spec makes the approval stale, so each can be given again.
            let text = spec.replace("\nx\n", &format!("\nx {turn}\n"));
            call(&["put", "spec.md"]).stdin(text).run().ok();
            call(&["approve", "--to", "plan"]).run().ok();
            written += 2;
        }
        commits.join().expect("commits");
        done.store(true, Ordering::Relaxed);
        readers.join().expect("readers");
        (written, killed.join().expect("kills"))
    });
    // A commit's index is git's own business, and no git was killed.
    s.loopx(&["run", "--", "true"]).ok();
    assert_eq!(locks(&s), [""; 0]);
    let made = operations(&s, "demo").len() - known;
    assert!(
        (written + 1..=written + 1 + killed).contains(&made),
        "{made} of {written} written and up to {killed} killed"
    );
    assert_whole(&s);
    let approved = operations(&s, "demo");
    let approved = approved.iter().filter(|op| op["kind"] == "approved");
    assert_eq!(approved.count(), turns);
    // What was approved last still stands, and the stage can take it.
    s.loopx(&["plan"]).ok();
}

#[test]
fn edge_20_a_clock_that_goes_back_or_far_ahead_decides_nothing() {
    let s = started("");
    let at = |date: &str, args: &[&str]| {
        let call = s.call(LOOPX).args(args).env("GIT_AUTHOR_DATE", date);
        call.env("GIT_COMMITTER_DATE", date)
    };
    let (past, future) = ("1000000000 +0000", "4000000000 -1200");
    at(future, &["put", "spec.md"])
        .stdin(session::READY_SPEC)
        .run()
        .ok();
    at(past, &["approve", "--to", "plan"]).run().ok();
    s.loopx(&["status"]).says("approved  clarify->plan").ok();
    at(future, &["run", "--", "true"]).run().ok();
    at(past, &["plan"]).run().ok();
    let numbers: Vec<u64> = operations(&s, "demo")
        .iter()
        .map(|op| op["seq"].as_u64().expect("a number"))
        .collect();
    let mut sorted = numbers.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(sorted.len(), numbers.len());
    // The gate at the commit does not look at the clock, either.
    for date in [past, future] {
        s.write("src/a.rs", date);
        s.git(&["add", "."]).ok();
        let call = s.call("git").args(&["commit", "-m", "x"]);
        let call = call.env("GIT_COMMITTER_DATE", date);
        call.run().fails_with(1).says("stage plan takes no code");
    }
    assert_whole(&s);
}

/// A repository that cannot be written to is still read and judged, and a refusal to write says where.
#[test]
fn edge_20_a_repository_that_cannot_be_written_to_is_read_and_judged() {
    let s = started("");
    s.write("src/a.rs", "a\n");
    s.git(&["add", "."]).ok();
    let judged = || {
        s.loopx(&["status"]).says("branch demo").ok();
        s.loopx(&["hook", "pre-commit"])
            .fails_with(1)
            .says("takes no code");
        let out = s.loopx(&["run", "--", "true"]).fails_with(1);
        assert!(out.stderr.contains(".git"), "{out}");
    };
    let tip = session::tip(&s);
    // The lock that every writer takes is a folder: nobody can open it, root included. Nor can a hook
    // leave its verdict.
    let lock = s.path().join(".git/loopx/lock");
    fs::remove_file(&lock).expect("a lock");
    fs::create_dir(&lock).expect("a folder");
    fs::create_dir_all(s.path().join(".git/loopx/hook-pre-commit")).expect("a folder");
    judged();
    s.git(&["commit", "-m", "x"])
        .fails_with(1)
        .says("takes no code");
    fs::remove_dir(&lock).expect("removed");

    // Every file and folder without the right to write. Root has it all the same.
    let probe = s.root().join("probe");
    fs::create_dir(&probe).expect("a folder");
    let read_only = |on: bool| {
        let change = if on { "a-w" } else { "u+w" };
        let dirs = [s.path().as_os_str(), probe.as_os_str()];
        s.call("chmod").args(&["-R", change]).args(&dirs).run().ok();
    };
    read_only(true);
    if fs::write(probe.join("x"), "").is_err() {
        judged();
        s.git(&["commit", "-m", "x"]).fails_with(128);
        s.loopx(&["hooks", "status"]).says("fires").ok();
    }
    read_only(false);
    assert_eq!(session::tip(&s), tip);
    s.loopx(&["run", "--", "true"]).ok();
}
