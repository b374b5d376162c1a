//! Oracle of what must not have been taken, found out without the program's judgement: by git's own commands, and on
//! the branch of sessions by what was there before.

use super::world::{Server, Updates, World};
use crate::support::{LOOPX, Output};
use std::collections::BTreeMap;

/// The paths of a commit with mode and object.
type Listing = BTreeMap<String, String>;

impl World {
    /// Runs git over a server and what a push brings to it.
    fn git(&self, server: &Server, args: &[&str]) -> Output {
        let call = self.s.call("git").cwd(&server.dir).args(args);
        call.env("GIT_DIR", ".")
            .env("GIT_OBJECT_DIRECTORY", self.quarantine.join("objects"))
            .env(
                "GIT_ALTERNATE_OBJECT_DIRECTORIES",
                server.dir.join("objects"),
            )
            .run()
    }

    /// The files of a commit without those that land without a session; nothing where it cannot be read.
    fn listing(&self, server: &Server, commit: &str) -> Option<Listing> {
        let out = self.git(server, &["ls-tree", "-r", "-z", "--full-tree", commit]);
        if out.code != Some(0) {
            return None;
        }
        let text = String::from_utf8_lossy(&out.bytes).into_owned();
        let mut found = Listing::new();
        for line in text.split_terminator('\0') {
            let (what, path) = line.split_once('\t')?;
            if !(what.starts_with("100644 ") && self.is_document(path)) {
                found.insert(path.to_owned(), what.to_owned());
            }
        }
        Some(found)
    }

    fn is_document(&self, path: &str) -> bool {
        let allowed = path.starts_with("docs/") || !self.is_signed && path.ends_with(".md");
        // As file systems read it that are not exact about names.
        let read = |sign: &char| sign.is_ascii_alphanumeric() || "-_./".contains(*sign);
        let path: String = path.to_lowercase().chars().filter(read).collect();
        let name = path.rsplit('/').next().unwrap_or_default();
        let guarded = ["docs/rules/", "docs/adr/", "specs/", "loopx/", "."];
        let guides = ["agents.md", "claude.md", "gemini.md", "qwen.md", "skill.md"];
        allowed
            && !guarded.iter().any(|top| path.starts_with(top))
            && !guides.contains(&name)
            && !path.contains("/.")
            && !name.starts_with('.')
    }

    fn protects(&self, name: &str) -> bool {
        name == "refs/heads/main" || self.is_signed && name.starts_with("refs/heads/release/")
    }

    /// Fault of a push that was taken, or would have been.
    pub(super) fn wrong(&self, server: &Server, updates: &Updates) -> Option<String> {
        let known = |name: &str| {
            let mut refs = server.refs.iter();
            refs.find(|(one, _)| one == name).map(|(_, id)| id.as_str())
        };
        for (name, new) in updates {
            let old = known(name);
            let is_gone = new.bytes().all(|digit| digit == b'0');
            if name.starts_with("refs/replace/") || name.starts_with("refs/loopx/") {
                return Some(format!("{name} was taken"));
            }
            let is_ours = name == "refs/heads/loopx";
            if !is_ours && !self.protects(name) || old == Some(new) {
                continue;
            }
            if is_gone {
                if old.is_some() {
                    return Some(format!("{name} is gone"));
                }
                continue;
            }
            // git itself takes no push that it cannot read, or that is not whole.
            let hidden = old
                .or(known("refs/heads/main"))
                .map(|old| format!("^{old}"));
            let mut args = vec!["rev-list", "--objects", new.as_str()];
            args.extend(hidden.as_deref());
            if self.git(server, &args).code != Some(0)
                || self.git(server, &["cat-file", "commit", new]).code != Some(0)
            {
                continue;
            }
            if let Some(old) = old
                && self
                    .git(server, &["merge-base", "--is-ancestor", old, new])
                    .code
                    != Some(0)
            {
                return Some(format!("{name} goes back"));
            }
            let checked = self.fsck(server, new, hidden.as_deref());
            if checked.is_some() {
                return checked.map(|what| format!("{name}: {what}"));
            }
            let found = if is_ours {
                self.lost(server, old, new)
            } else {
                self.foreign(server, hidden.as_deref(), new)
            };
            if found.is_some() {
                return found.map(|what| format!("{name}: {what}"));
            }
        }
        None
    }

    /// Answer to a push of a server that checks objects.
    fn fsck(&self, server: &Server, new: &str, hidden: Option<&str>) -> Option<String> {
        let mut listed = format!("{new}\n");
        listed.extend(hidden.map(|hidden| format!("{hidden}\n")));
        let call = self.s.call("git").cwd(&server.dir);
        let call = call
            .env("GIT_DIR", ".")
            .env("GIT_OBJECT_DIRECTORY", self.quarantine.join("objects"))
            .env(
                "GIT_ALTERNATE_OBJECT_DIRECTORIES",
                server.dir.join("objects"),
            );
        let pack = call.args(&["pack-objects", "--revs", "--stdout", "--quiet"]);
        let pack = pack.stdin(listed).run();
        if pack.code != Some(0) {
            return None;
        }
        let nowhere = self.s.root().join("tmp/checked");
        std::fs::create_dir_all(&nowhere).expect("a folder");
        let call = self.s.call("git").cwd(&server.dir);
        let call = call
            .env("GIT_DIR", ".")
            .env("GIT_OBJECT_DIRECTORY", nowhere)
            .env(
                "GIT_ALTERNATE_OBJECT_DIRECTORIES",
                server.dir.join("objects"),
            );
        let args = ["unpack-objects", "--strict", "-n", "-q"];
        let out = call.args(&args).stdin(pack.bytes).run();
        (out.code != Some(0)).then(|| format!("{new}: {}", out.stderr.trim()))
    }

    /// A commit that no honest history has.
    fn foreign(&self, server: &Server, hidden: Option<&str>, new: &str) -> Option<String> {
        let mut args = vec!["rev-list", new];
        args.extend(hidden);
        let all = self.git(server, &args).ok();
        let tip = [(new, &self.tips)].into_iter();
        for (commit, known) in tip.chain(all.lines().map(|id| (id, &self.between))) {
            let listing = self.listing(server, commit);
            let known = known.iter().map(|id| self.listing(server, id));
            let known: Vec<Option<Listing>> = known.collect();
            if !known.contains(&listing) {
                let (one, other) = (listing.unwrap_or_default(), known[0].clone());
                let other = other.unwrap_or_default();
                let differing = one
                    .iter()
                    .filter(|(path, what)| other.get(*path) != Some(*what));
                let gone = other.keys().filter(|path| !one.contains_key(*path));
                let paths: Vec<&String> = differing.map(|(path, _)| path).chain(gone).collect();
                return Some(format!("{commit} is of nobody: {paths:?}"));
            }
        }
        None
    }

    /// A record that is no longer what it was, or something that nobody can read.
    fn lost(&self, server: &Server, old: Option<&str>, new: &str) -> Option<String> {
        let records = |commit: &str| -> BTreeMap<String, String> {
            let listed = self.git(server, &["ls-tree", "-r", commit]).ok();
            let lines = listed.lines().filter(|line| line.contains("/ops/"));
            lines
                .filter_map(|line| {
                    let (what, path) = line.split_once('\t')?;
                    // What is archived keeps its name below another folder.
                    let name = path.rsplit('/').next()?;
                    Some((name.to_owned(), what.to_owned()))
                })
                .collect()
        };
        let now = records(new);
        for (name, what) in old.map(records).unwrap_or_default() {
            if now.get(&name) != Some(&what) {
                return Some(format!("{name} is not what it was"));
            }
        }
        let judge = self.s.root().join("judge.git");
        if !judge.exists() {
            let format = self.s.git(&["rev-parse", "--show-object-format"]).line();
            let format = format!("--object-format={format}");
            let path = judge.to_str().expect("UTF-8");
            self.s
                .git(&["init", "--quiet", "--bare", &format, path])
                .ok();
            let objects = self.quarantine.join("objects");
            let lent = format!("{}\n", objects.display());
            self.s.write(judge.join("objects/info/alternates"), lent);
        }
        let mut refs: Updates = server.refs.clone();
        refs.retain(|(name, _)| name != "refs/heads/loopx");
        refs.push(("refs/heads/loopx".into(), new.to_owned()));
        for (name, id) in &refs {
            self.s.git_in(&judge, &["update-ref", name, id]).ok();
        }
        for args in [
            &["fsck", "--full"][..],
            &["list"],
            &["-s", "demo", "log"],
            &["-s", "demo", "status"],
        ] {
            let out = self.s.call(LOOPX).cwd(&judge).args(args).run();
            let is_bad = match args[0] {
                "fsck" => out.code != Some(0),
                _ => false,
            };
            if is_bad || broken(&out) {
                return Some(out.to_string());
            }
        }
        None
    }
}

/// Tells whether a command ended as no command should.
pub(super) fn broken(out: &Output) -> bool {
    !matches!(out.code, Some(0..=6)) || out.stderr.contains("panicked")
}
