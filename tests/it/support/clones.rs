//! Several clones of one bare repository, each with a person of its own.

use super::store::{ID, READY};
use super::{Call, LOOPX, Output, Sandbox};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A bare repository `remote.git` with code in it, and clones beside it.
#[derive(Debug)]
pub(crate) struct Clones {
    pub(crate) s: Sandbox,
    dirs: Vec<PathBuf>,
}

/// The folder of a clone.
fn clone_name(at: usize) -> String {
    format!("c{at}")
}

impl Clones {
    /// `count` clones; the first has made the branch and the session [`ID`], and all have it.
    pub(crate) fn sharing(count: usize) -> Self {
        Self::once(format!("sharing {count}"), || {
            let all = Self::apart(count);
            all.loopx(0, &["init"]).ok();
            all.loopx(0, &["start", "--no-branch", "Auth timeout"]).ok();
            all.sync(0).ok();
            for at in 1..count {
                all.sync(at).ok();
            }
            all
        })
    }

    /// Clones that are made once per test run for each place that calls and each `of`, as in
    /// [`Sandbox::once`].
    #[track_caller]
    pub(crate) fn once(of: impl Into<String>, make: impl FnOnce() -> Clones) -> Self {
        let s = Sandbox::once(of, || make().s);
        let dirs = (0..).map(|at| s.root().join(clone_name(at)));
        let dirs = dirs.take_while(|dir| dir.is_dir()).collect();
        Clones { s, dirs }
    }

    /// `count` clones without a branch of sessions.
    pub(crate) fn apart(count: usize) -> Self {
        Self::once(format!("apart {count}"), || {
            let s = Sandbox::new();
            s.commit_file("code.txt", "code\n", "code").ok();
            s.git(&["clone", "--quiet", "--bare", ".", "../remote.git"])
                .ok();
            let mut all = Clones {
                s,
                dirs: Vec::new(),
            };
            for at in 0..count {
                all.add(&clone_name(at), &[]);
            }
            all
        })
    }

    /// Adds a clone; gives its number.
    pub(crate) fn add(&mut self, name: &str, args: &[&str]) -> usize {
        let dir = self.s.root().join(name);
        let remote = format!("file://{}", self.remote().display());
        let path = dir.to_str().expect("UTF-8").to_owned();
        let all = [&["clone", "--quiet"], args, &[&remote, &path]].concat();
        self.s.git(&all).ok();
        self.dirs.push(dir);
        self.dirs.len() - 1
    }

    pub(crate) fn remote(&self) -> PathBuf {
        self.s.root().join("remote.git")
    }

    pub(crate) fn dir(&self, at: usize) -> &Path {
        &self.dirs[at]
    }

    /// A call of the program in a clone, as its person.
    pub(crate) fn call(&self, at: usize) -> Call<'_> {
        let name = format!("Person {at}");
        let email = format!("p{at}@example.org");
        self.s
            .call(LOOPX)
            .cwd(&self.dirs[at])
            .env("GIT_AUTHOR_NAME", &name)
            .env("GIT_AUTHOR_EMAIL", &email)
            .env("GIT_COMMITTER_NAME", &name)
            .env("GIT_COMMITTER_EMAIL", &email)
    }

    #[must_use = "a command that is expected to work: `.ok()`"]
    pub(crate) fn loopx(&self, at: usize, args: &[&str]) -> Output {
        self.call(at).args(args).run()
    }

    #[must_use = "a command that is expected to work: `.ok()`"]
    pub(crate) fn git(&self, at: usize, args: &[&str]) -> Output {
        self.s.git_in(&self.dirs[at], args)
    }

    #[must_use = "a command that is expected to work: `.ok()`"]
    pub(crate) fn sync(&self, at: usize) -> Output {
        self.loopx(at, &["sync", "origin"])
    }

    /// Writes an artifact of [`ID`] and saves it.
    #[must_use = "a command that is expected to work: `.ok()`"]
    pub(crate) fn put(&self, at: usize, artifact: &str, text: &str) -> Output {
        self.call(at)
            .args(&["-s", ID, "put", artifact])
            .stdin(text)
            .run()
    }

    /// Replaces a line of the spec that passes its gate.
    #[must_use = "a command that is expected to work: `.ok()`"]
    pub(crate) fn put_spec(&self, at: usize, from: &str, to: &str) -> Output {
        assert!(READY.contains(from), "{from}");
        self.put(at, "spec.md", &READY.replace(from, to))
    }

    pub(crate) fn cat(&self, at: usize, artifact: &str) -> String {
        self.loopx(at, &["-s", ID, "cat", artifact]).ok()
    }

    pub(crate) fn status(&self, at: usize) -> Value {
        self.loopx(at, &["-s", ID, "--json", "status"]).json()
    }

    pub(crate) fn state(&self, at: usize) -> Value {
        self.loopx(at, &["-s", ID, "--json", "show"]).json()["state"].take()
    }

    /// The tree of the branch of sessions.
    pub(crate) fn tree(&self, at: usize) -> String {
        self.git(at, &["rev-parse", "refs/heads/loopx^{tree}"])
            .line()
    }

    /// The names of all operations that a clone's branch has, with what they are about: how they are laid out follows
    /// from their number.
    pub(crate) fn operations(&self, at: usize) -> BTreeSet<String> {
        let files = self
            .git(at, &["ls-tree", "-r", "--name-only", "loopx"])
            .ok();
        files
            .lines()
            .filter_map(|path| {
                let (folder, below) = path.split_once("/ops/")?;
                let name = below.rsplit('/').next()?;
                Some(format!("{folder}/ops/{name}"))
            })
            .collect()
    }

    /// Syncs until nobody has anything new.
    pub(crate) fn settle(&self) {
        for _ in 0..2 {
            for at in 0..self.dirs.len() {
                let out = self.sync(at).says("loopx and origin:");
                assert!(matches!(out.code, Some(0 | 3)), "{out}");
            }
        }
    }

    /// Every clone and the remote have the same tree, and nothing is wrong with any of them.
    #[track_caller]
    pub(crate) fn assert_agreed(&self) {
        let trees: Vec<String> = (0..self.dirs.len()).map(|at| self.tree(at)).collect();
        assert!(trees.iter().all(|tree| *tree == trees[0]), "{trees:#?}");
        let there = self.s.git_in(self.remote(), &["rev-parse", "loopx^{tree}"]);
        assert_eq!(there.line(), trees[0]);
        for at in 0..self.dirs.len() {
            self.loopx(at, &["fsck"]).says("all whole").ok();
        }
        self.s
            .git_in(self.remote(), &["fsck", "--full", "--strict"])
            .ok();
    }

    /// A hook of the remote that ends the connection once a push has arrived.
    pub(crate) fn hang_up(&self) {
        let hook = self.remote().join("hooks/post-receive");
        self.s.script(hook, "#!/bin/sh\nkill -9 $PPID\n");
    }

    /// A hook of the remote that refuses pushes of the sessions' branch with these words.
    pub(crate) fn refuse(&self, said: &str) {
        let hook = self.remote().join("hooks/pre-receive");
        let said: String = said
            .lines()
            .map(|line| format!("echo '{line}' >&2\n"))
            .collect();
        self.s.script(
            hook,
            &format!("#!/bin/sh\nwhile read old new ref; do case $ref in */loopx) {said} exit 1;; esac; done\n"),
        );
    }
}
