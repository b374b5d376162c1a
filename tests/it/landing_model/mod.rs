//! The law of landings with real git: the histories that the account's unit tests make, judged by `verify` as CI runs it
//! and pushed to a bare server with the pre-receive hook. LOOPX_STRESS=1 makes 200 of them, LOOPX_LAW_CASES=N as many,
//! every fifth of them on SHA-256.

#[path = "../../../crates/rules/src/account/tests/attempts.rs"]
mod attempts;
#[path = "../../../crates/rules/src/account/tests/histories.rs"]
mod histories;
#[path = "../../../crates/rules/src/account/tests/model.rs"]
mod model;
#[path = "../../../crates/rules/src/account/tests/pieces.rs"]
mod pieces;
#[path = "../../../crates/rules/src/account/tests/sessions.rs"]
mod sessions;

use crate::support::keys::{key, public, use_key};
use crate::support::landing::serve;
use crate::support::session::{advance, begin, put, start};
use crate::support::store::{count, tell};
use crate::support::{LOOPX, Output, Sandbox};
use histories::{Counts, Dice, File, Ground, History, How, Review};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::rc::Rc;

const SESSIONS: [&str; 3] = ["demo", "second", "third"];
const BRANCHES: [&str; 2] = ["main", "release"];
const PEOPLE: [(&str, &str); 4] = [
    ("Ada Author", "ada@example.org"),
    ("Bob Builder", "bob@example.org"),
    ("Rita Reviewer", "rita@example.org"),
    ("Forge", "noreply@forge.example"),
];
const FORGE: usize = 3;
const RECORD: &str = "---\nplanned_scope: []\nimplemented_scope: []\nremaining_scope: []\n\
    completion_claim: full\n---\n# E\n\n## Changes\n\nx\n";

/// Refusal of a review that shows no code. Where the reviewer's own copy of the branch is ahead, that can be so of commits
/// that change something.
const NOTHING_SHOWN: &str = "found no file that differs from where the review begins";

type Tree = Rc<BTreeMap<String, File>>;

/// Real repositories: a clone in which everybody works, and a bare server.
struct Real {
    s: Sandbox,
    seed: u64,
    /// Last answer of the server.
    said: String,
    started: usize,
    /// The branch that the review of each session was about.
    about: [usize; SESSIONS.len()],
    archived: bool,
    tips: [String; 2],
    trees: RefCell<BTreeMap<String, Tree>>,
    blobs: RefCell<BTreeMap<String, String>>,
}

/// Three sessions in their build, on branches that have nothing yet.
fn building(format: &str) -> Sandbox {
    Sandbox::once(format, || {
        let s = Sandbox::empty("repo");
        let format = format!("--object-format={format}");
        s.git(&["init", "--quiet", &format]).ok();
        let policy = format!(
            "[gates]\nprotected = [\"main\", \"release\"]\n[landing]\nbackport = [\"main\"]\n\
             [review]\nindependence = \"require\"\n\
             [[landing.exception]]\npaths = [\"lock\"]\nkey = \"{} bot\"\n",
            public("bob")
        );
        for path in ["src/a", "src/b", "docs/a", "README.md", "lock"] {
            s.write(path, format!("{path}\n"));
        }
        begin(&s, &policy);
        advance(&s, "clarify", "build", "");
        put(&s, "execution-record.md", RECORD);
        for id in &SESSIONS[1..] {
            s.git(&["switch", "--quiet", "main"]).ok();
            start(&s, id);
            advance(&s, "clarify", "build", "");
            put(&s, "execution-record.md", RECORD);
        }
        use_key(&s, key("bob"));
        s
    })
}

impl Real {
    fn new(seed: u64) -> Self {
        let s = building(if seed.is_multiple_of(5) {
            "sha256"
        } else {
            "sha1"
        });
        serve(&s);
        s.git(&[
            "push",
            "--quiet",
            "--no-verify",
            "origin",
            "main:refs/heads/release",
        ])
        .ok();
        s.git(&["branch", "release", "main"]).ok();
        let main = s.git(&["rev-parse", "main"]).line();
        Real {
            s,
            seed,
            said: String::new(),
            started: 0,
            about: [0; SESSIONS.len()],
            archived: false,
            tips: [main.clone(), main],
            trees: RefCell::default(),
            blobs: RefCell::default(),
        }
    }

    fn by(&self, who: usize, program: &str, args: &[&str]) -> Output {
        let (name, email) = PEOPLE[who];
        let call = self.s.call(program).args(args);
        call.env("GIT_AUTHOR_NAME", name)
            .env("GIT_AUTHOR_EMAIL", email)
            .env("GIT_COMMITTER_NAME", name)
            .env("GIT_COMMITTER_EMAIL", email)
            .run()
    }

    fn tree(&self, commit: &str) -> Tree {
        if let Some(known) = self.trees.borrow().get(commit) {
            return known.clone();
        }
        let listed = self.s.git(&["ls-tree", "-r", commit]).ok();
        let mut tree = BTreeMap::new();
        for line in listed.lines() {
            let (what, path) = line.split_once('\t').expect("a path");
            let (mode, id) = (&what[..6], what.rsplit(' ').next().expect("an id"));
            let known = self.blobs.borrow().get(id).cloned();
            let text = known.unwrap_or_else(|| {
                let text = self.s.git(&["cat-file", "blob", id]).ok();
                self.blobs.borrow_mut().insert(id.to_owned(), text.clone());
                text
            });
            let prefix = match mode {
                "100755" => "x:",
                "120000" => "l:",
                _ => "",
            };
            tree.insert(path.to_owned(), format!("{prefix}{text}"));
        }
        let tree = Rc::new(tree);
        self.trees
            .borrow_mut()
            .insert(commit.to_owned(), tree.clone());
        tree
    }

    /// A commit of a tree, by somebody who only joins what others made, or by Ada.
    fn commit(
        &self,
        who: usize,
        tree: &str,
        parents: &[&str],
        message: &str,
        signed: bool,
    ) -> String {
        let mut args = vec!["commit-tree", "-m", message];
        for parent in parents {
            args.extend(["-p", parent]);
        }
        if signed {
            args.push("-S");
        }
        args.push(tree);
        self.by(who, "git", &args).line()
    }

    /// The merged tree, and the paths in conflict.
    fn merged(&self, sides: [&str; 2], base: Option<&str>) -> (String, Vec<String>) {
        let base = base.map(|base| format!("--merge-base={base}"));
        let mut args = vec!["merge-tree", "--write-tree", "--name-only", "--no-messages"];
        match &base {
            Some(base) => args.push(base),
            None => args.push("--allow-unrelated-histories"),
        }
        args.extend(sides);
        let out = self.s.git(&args);
        assert!(matches!(out.code, Some(0 | 1)), "{out:?}");
        let mut lines = out.stdout.lines();
        let tree = lines.next().expect("a tree").to_owned();
        (
            tree,
            lines
                .map(str::to_owned)
                .filter(|line| !line.is_empty())
                .collect(),
        )
    }

    fn set(&self, branch: &str, to: &str) {
        for name in [
            format!("refs/heads/{branch}"),
            format!("refs/remotes/origin/{branch}"),
        ] {
            self.s.git(&["update-ref", &name, to]).ok();
        }
    }

    /// Puts a session's branch at a commit, and goes there.
    fn go(&self, session: usize, head: &str) {
        let id = SESSIONS[session];
        self.s
            .git(&["switch", "--quiet", "--detach", "--force", head])
            .ok();
        self.s
            .git(&["update-ref", &format!("refs/heads/{id}"), head])
            .ok();
        self.s.git(&["switch", "--quiet", id]).ok();
    }

    /// `verify` as the CI of docs/server.md runs it.
    fn verify(&self, onto: &str, new: &str) -> Output {
        let range = format!("origin/{onto}..{new}");
        let policy = format!("--policy-from=origin/{onto}");
        let onto = format!("--onto={onto}");
        self.s
            .loopx(&["verify", &range, &policy, &onto, "--branch=pull"])
    }

    /// Ends a review: the copy of the branch that the reviewer compared with goes back to the branch.
    fn leave_review(&self, review: &Review<'_>) {
        self.set(BRANCHES[review.branch], &self.tips[review.branch]);
        self.offer(review.session);
    }

    fn offer(&self, session: usize) {
        // On a branch of nobody: what a session's own branch takes is asked elsewhere.
        let what = format!("{}:refs/heads/pull-{session}", SESSIONS[session]);
        let args = [
            "push",
            "--quiet",
            "--no-verify",
            "--force",
            "origin",
            "loopx",
            &what,
        ];
        self.s.git(&args).ok();
    }
}

impl Ground for Real {
    fn tip(&self, branch: usize) -> String {
        self.tips[branch].clone()
    }

    fn write(&mut self, parents: &[&str], files: &[(String, Option<File>)], how: How) -> String {
        let mut message = "some work\n".to_owned();
        if let Some(claimed) = how.claims {
            let _ = write!(message, "\nLoopx-Session: {}\n", SESSIONS[claimed]);
        }
        let (name, email) = PEOPLE[usize::from(how.by)];
        let who = format!("{name} <{email}> 1767225600 +0000");
        let mut stream = format!(
            "reset refs/made\n\ncommit refs/made\nmark :1\nauthor {who}\ncommitter {who}\ndata {}\n{message}\n",
            message.len()
        );
        for (at, parent) in parents.iter().enumerate() {
            let word = if at == 0 { "from" } else { "merge" };
            let _ = writeln!(stream, "{word} {parent}");
        }
        for (path, file) in files {
            let Some(file) = file else {
                let _ = writeln!(stream, "D {path}");
                continue;
            };
            let (mode, text) = match (file.strip_prefix("x:"), file.strip_prefix("l:")) {
                (Some(text), _) => ("100755", text),
                (_, Some(text)) => ("120000", text),
                _ => ("100644", file.as_str()),
            };
            let _ = write!(
                stream,
                "M {mode} inline {path}\ndata {}\n{text}\n",
                text.len()
            );
        }
        stream.push_str("get-mark :1\ndone\n");
        let args = ["fast-import", "--quiet", "--force", "--done"];
        let made = self.s.call("git").args(&args).stdin(stream).run().line();
        if how.signed {
            let tree = format!("{made}^{{tree}}");
            return self.commit(usize::from(how.by), &tree, parents, &message, true);
        }
        made
    }

    fn merge(&mut self, sides: [&str; 2], parents: &[&str], text: Option<&str>) -> Option<String> {
        let (tree, conflicts) = self.merged(sides, None);
        if conflicts.is_empty() {
            return Some(self.commit(FORGE, &tree, parents, "Merge", false));
        }
        let text = text?;
        let left = self.commit(FORGE, &tree, &[], "left", false);
        let files: Vec<(String, Option<File>)> = conflicts
            .into_iter()
            .map(|path| (path, Some(text.to_owned())))
            .collect();
        let made = self.write(&[&left], &files, How::default());
        if self.tree(&made).keys().any(|path| path.contains('~')) {
            return None;
        }
        Some(self.commit(
            0,
            &format!("{made}^{{tree}}"),
            parents,
            "Merge, resolved",
            false,
        ))
    }

    fn pick(&mut self, commit: &str, onto: &str) -> Option<String> {
        let parents = self.s.git(&["rev-parse", &format!("{commit}^@")]).ok();
        let mut parents = parents.lines();
        let (Some(base), None) = (parents.next(), parents.next()) else {
            return None;
        };
        let (tree, conflicts) = self.merged([onto, commit], Some(base));
        let message = format!("a pick\n\n(cherry picked from commit {commit})\n");
        conflicts
            .is_empty()
            .then(|| self.commit(FORGE, &tree, &[onto], &message, false))
    }

    fn amend(&mut self, commit: &str, files: &[(String, Option<File>)]) -> String {
        let made = self.write(&[commit], files, How::default());
        let message = self.s.git(&["log", "-1", "--format=%B", commit]).ok();
        let parent = format!("{commit}^");
        self.commit(
            FORGE,
            &format!("{made}^{{tree}}"),
            &[&parent],
            &message,
            false,
        )
    }

    fn copy(&mut self, parent: &str, tree_of: &str) -> String {
        self.commit(
            FORGE,
            &format!("{tree_of}^{{tree}}"),
            &[parent],
            "a tree",
            false,
        )
    }

    fn text(&self, commit: &str, path: &str) -> Option<File> {
        self.tree(commit).get(path).cloned()
    }

    fn changed(&self, one: &str, other: &str) -> Vec<String> {
        let (one, other) = (self.tree(one), self.tree(other));
        let paths: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
        paths
            .into_iter()
            .filter(|path| one.get(*path) != other.get(*path))
            .cloned()
            .collect()
    }

    fn has(&self, commit: &str, other: &str) -> bool {
        commit == other
            || self
                .s
                .git(&["merge-base", "--is-ancestor", other, commit])
                .code
                == Some(0)
    }

    fn start(&mut self, at: &str) -> Option<()> {
        let id = SESSIONS.get(self.started)?;
        self.s
            .git(&["switch", "--quiet", "--detach", "--force", "main"])
            .ok();
        self.s
            .git(&["update-ref", &format!("refs/heads/{id}"), at])
            .ok();
        self.started += 1;
        Some(())
    }

    fn review(&mut self, review: &Review<'_>) -> bool {
        if !review.differs {
            // Asked in a test of its own: it needs a reason.
            return false;
        }
        self.go(review.session, review.head);
        let branch = BRANCHES[review.branch];
        self.about[review.session] = review.branch;
        self.set(branch, review.seen);
        self.s.git(&["config", "loopx.target", branch]).ok();
        for args in [
            &["build", "--report", "execution=complete", "--reason", "x"][..],
            &["run", "--task", "VS-1"],
            &["approve", "--to", "review"],
            &["review"],
        ] {
            let out = self.s.loopx(args);
            if args == ["approve", "--to", "review"] && out.stderr.contains(NOTHING_SHOWN) {
                self.leave_review(review);
                return false;
            }
            // After a review that was not taken some of it stands.
            assert!(matches!(out.code, Some(0 | 5)), "{out}");
        }
        let by = usize::from(review.by);
        let mut args = vec!["review", "--verdict"];
        if review.approves {
            args.extend(["approve", "--reason", "x"])
        } else {
            args.extend(["request-changes", "--target", "build", "--reason", "x"])
        }
        let out = self.by(by, LOOPX, &args);
        // Whoever ran the build took part, too.
        if review.approves && review.seen == self.tips[review.branch] {
            assert_eq!(
                out.code == Some(0),
                review.independent && by != 0,
                "{out:?}"
            );
        }
        let taken = out.code == Some(0);
        if taken && review.approves {
            self.by(by, LOOPX, &["approve", "--to", "done"]).ok();
        }
        if !taken {
            // Work goes on in the build alone.
            while self.s.loopx(&["status", "--json"]).json()["stage"] != "build" {
                self.s.loopx(&["undo"]).ok();
            }
        }
        self.leave_review(review);
        taken
    }

    fn archive(&mut self, session: usize, at: &str) -> Option<String> {
        if self.archived {
            // All of them say the same of one spec.
            return None;
        }
        self.archived = true;
        self.go(session, at);
        let branch = BRANCHES[self.about[session]];
        self.s.git(&["config", "loopx.target", branch]).ok();
        let out = self.s.loopx(&["archive"]);
        assert_eq!(out.code, Some(0), "LOOPX_SEED={}: {out}", self.seed);
        self.offer(session);
        Some(self.s.git(&["rev-parse", SESSIONS[session]]).line())
    }

    fn unarchive(&mut self, _: usize, _: &str, _: &str) -> Option<String> {
        None
    }

    fn push(&mut self, branch: usize, new: &str) -> bool {
        let name = BRANCHES[branch];
        let verified = self.verify(name, new);
        let what = format!("{new}:refs/heads/{name}");
        let out = self
            .s
            .git(&["push", "--quiet", "--no-verify", "origin", &what, "loopx"]);
        if out.code == Some(0) {
            self.tips[branch] = new.to_owned();
            self.set(name, new);
        }
        self.said = out.to_string();
        let agree = (verified.code == Some(0)) == (out.code == Some(0));
        assert!(agree, "LOOPX_SEED={}: {verified}\n{out}", self.seed);
        out.code == Some(0)
    }
}

/// Seed of a history, which is said wherever that fails.
struct Named(u64);

impl Drop for Named {
    #[expect(clippy::print_stderr, reason = "a history is made again by its seed")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("LOOPX_SEED={}", self.0);
        }
    }
}

#[test]
fn a_server_takes_what_is_honest_and_nothing_else() {
    let mut counts = Counts::default();
    let asked = std::env::var("LOOPX_LAW_CASES").ok();
    let asked = asked.and_then(|cases| cases.parse().ok());
    let histories = asked.unwrap_or_else(|| count(3, 200));
    let first = std::env::var("LOOPX_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    let first: u64 = first.unwrap_or(1);
    for seed in first..first + histories as u64 {
        let _named = Named(seed);
        let mut dice = Dice(seed);
        let mut real = Real::new(seed);
        let mut history = History::new(&mut real);
        for _ in 0..22 {
            let turn = dice.below(usize::MAX) as u64;
            if let Err(why) = history.turn(turn, &mut counts) {
                let told = history.told.join("\n");
                panic!("LOOPX_SEED={seed}: {why}\n{told}\n{}", real.said);
            }
        }
    }
    tell(&format!("{histories} histories: {counts:#?}"));
}
