//! Servers that pushes are tried on, and the making of objects for them.

use super::mutate::{self, Dice};
use crate::support::keys::{RITA, everybody, key, use_key};
use crate::support::landing::{make, merge, rev, squash};
use crate::support::server::HOOK;
use crate::support::session::{advance, begin};
use crate::support::{LOOPX, Sandbox};
use git2::{ObjectType, Oid, Repository};
use std::fs;
use std::path::PathBuf;

/// A ref with what it becomes.
pub(super) type Updates = Vec<(String, String)>;

/// A bare repository without objects of its own, and what honest people push there.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) dir: PathBuf,
    pub(super) refs: Updates,
    pub(super) honest: Vec<Updates>,
}

pub(super) struct World {
    pub(super) s: Sandbox,
    pub(super) servers: Vec<Server>,
    /// Commits that a protected branch may be at: documents aside.
    pub(super) tips: Vec<String>,
    /// Commits that lie between those.
    pub(super) between: Vec<String>,
    /// Ids of all objects that honest people made, and of none.
    pub(super) ids: Vec<String>,
    /// Folder in which mutants are written: a push's quarantine.
    pub(super) quarantine: PathBuf,
    /// Set when records that open need a signature.
    pub(super) is_signed: bool,
}

const SIGNED: &str = "[gates]\nprotected = [\"main\", \"release/*\"]\nalways_allow = [\"docs/**\"]\n\
    [approve]\nsigned = [\"review->done\"]\n[review]\nsigned = true\nindependence = \"require\"\n";

/// A session that is done by Rita's key.
fn finished(format: &str) -> Sandbox {
    let s = Sandbox::empty("repo");
    let format = format!("--object-format={format}");
    s.git(&["init", "--quiet", &format]).ok();
    s.write("loopx.signers", everybody());
    begin(&s, SIGNED);
    advance(&s, "clarify", "build", "");
    make(&s, &[("src/a.rs", "one\n")], "code");
    make(&s, &[("src/b.rs", "two\n")], "more code");
    advance(&s, "build", "review", "");
    use_key(&s, key("rita"));
    s.loopx(&["run", "--task", "VS-1"]).ok();
    for args in [
        &["review", "--verdict", "approve", "--sign"][..],
        &["approve", "--to", "done", "--sign"],
    ] {
        let call = s.call(LOOPX).args(args);
        call.env("GIT_AUTHOR_NAME", RITA.0)
            .env("GIT_AUTHOR_EMAIL", RITA.1)
            .env("GIT_COMMITTER_NAME", RITA.0)
            .env("GIT_COMMITTER_EMAIL", RITA.1)
            .run()
            .ok();
    }
    s
}

/// A bare server that borrows the objects of a clone.
fn server(s: &Sandbox, name: &str, refs: Updates, honest: Vec<Updates>) -> Server {
    let dir = s.root().join(name);
    let format = s.git(&["rev-parse", "--show-object-format"]).line();
    let format = format!("--object-format={format}");
    let path = dir.to_str().expect("UTF-8");
    s.git(&["init", "--quiet", "--bare", &format, path]).ok();
    let objects = s.path().join(".git/objects");
    let lent = format!("{}\n", objects.display());
    s.write(dir.join("objects/info/alternates"), lent);
    s.script(dir.join("hooks/pre-receive"), HOOK);
    for (name, id) in &refs {
        s.git_in(&dir, &["update-ref", name, id]).ok();
    }
    Server { dir, refs, honest }
}

impl World {
    /// The thousands of a seed say which world it is about. The first is what other tests have made anyway.
    pub(super) fn of_seed(seed: u64) -> Self {
        match seed / 1000 % 4 {
            0 => Self::of(crate::support::landing::finished(), false),
            1 => Self::of(finished("sha256"), true),
            _ => Self::of(Sandbox::once("", || finished("sha1")), true),
        }
    }

    fn of(s: Sandbox, is_signed: bool) -> Self {
        let names = |what: &[&str]| -> Vec<String> {
            s.git(what).ok().lines().map(str::to_owned).collect()
        };
        let done = rev(&s, "loopx");
        let log = names(&["log", "--format=%H %s", "--first-parent", "loopx"]);
        let building = log.iter().find(|line| line.ends_with(" demo: build"));
        let building = building.expect("the build was entered");
        let building = building[..done.len()].to_owned();
        let (main, reviewed) = (rev(&s, "main"), rev(&s, "demo"));
        let first = rev(&s, "demo~1");
        let squashed = squash(&s, "main", "demo", "Ten minutes (#1)");
        let merged = merge(&s, "main", "demo", "Merge pull request #1");
        crate::support::landing::at(&s, "main");
        let document = make(&s, &[("docs/a", "read me\n")], "a document");
        s.git(&["switch", "--quiet", "demo"]).ok();
        s.loopx(&["archive"]).ok();
        let (archived, archive) = (rev(&s, "loopx"), rev(&s, "demo"));
        let update = |name: &str, id: &str| (format!("refs/heads/{name}"), id.to_owned());
        let early = vec![
            update("main", &main),
            update("loopx", &building),
            update("demo", &first),
        ];
        let late = vec![
            update("main", &main),
            update("loopx", &done),
            update("demo", &reviewed),
        ];
        let from_early = vec![
            vec![update("loopx", &done)],
            vec![update("demo", &reviewed), update("loopx", &done)],
            vec![update("main", &document), update("free", &reviewed)],
            vec![
                update("main", &archive),
                update("loopx", &archived),
                update("demo", &archive),
            ],
            vec![
                update("main", &squashed),
                update("demo", &reviewed),
                update("loopx", &archived),
            ],
        ];
        let from_late = vec![
            vec![update("main", &reviewed)],
            vec![update("main", &squashed)],
            vec![update("main", &merged)],
            vec![update("main", &archive), update("loopx", &archived)],
            vec![update("release/1", &main), update("loopx", &archived)],
            vec![update("main", &merged), update("free", &archive)],
        ];
        let tips = vec![main, reviewed, squashed, archive];
        let between = [&tips[..], &[first]].concat();
        let all = names(&["rev-list", "--objects", "--all"]);
        let length = done.len();
        let mut ids: Vec<String> = all.iter().map(|line| line[..length].to_owned()).collect();
        ids.extend(["0".repeat(length), "1".repeat(length)]);
        let servers = vec![
            server(&s, "early.git", early, from_early),
            server(&s, "late.git", late, from_late),
        ];
        let quarantine = server(&s, "quarantine.git", Vec::new(), Vec::new()).dir;
        World {
            quarantine,
            servers,
            tips,
            between,
            ids,
            is_signed,
            s,
        }
    }

    /// Forgets the mutants that were made.
    pub(super) fn clean(&self) {
        for entry in fs::read_dir(self.quarantine.join("objects")).expect("objects") {
            let path = entry.expect("a folder").path();
            if path.file_name().is_some_and(|name| name.len() == 2) {
                fs::remove_dir_all(path).expect("no more of it");
            }
        }
    }
}

/// The objects that one push brings.
pub(super) struct Maker<'w> {
    repo: Repository,
    world: &'w World,
    pub(super) made: Vec<String>,
    pub(super) told: Vec<String>,
}

impl<'w> Maker<'w> {
    pub(super) fn new(world: &'w World) -> Self {
        Maker {
            repo: Repository::open(&world.quarantine).expect("a repository"),
            world,
            made: Vec::new(),
            told: Vec::new(),
        }
    }

    fn bytes(&self, id: Oid) -> Option<(ObjectType, Vec<u8>)> {
        let odb = self.repo.odb().expect("objects");
        let found = odb.read(id).ok()?;
        Some((found.kind(), found.data().to_vec()))
    }

    fn write(&mut self, kind: ObjectType, bytes: &[u8]) -> Oid {
        let odb = self.repo.odb().expect("objects");
        let id = odb.write(kind, bytes).expect("an object");
        self.made.push(id.to_string());
        id
    }

    fn parse(&self, id: &str) -> Oid {
        Oid::from_str_ext(id, self.repo.object_format()).expect("an id")
    }

    /// Changes an object behind a commit: the commit itself, or something in its tree.
    pub(super) fn mutated(&mut self, dice: &mut Dice, tip: &str, hidden: &[&str]) -> String {
        let tip = self.parse(tip);
        let mut walk = self.repo.revwalk().expect("a walk");
        // There may be nothing behind what nobody can read.
        drop(walk.push(tip));
        for id in hidden {
            drop(walk.hide(self.parse(id)));
        }
        let line: Vec<Oid> = walk.take(40).filter_map(Result::ok).collect();
        if dice.one_in(4) || line.is_empty() {
            // One more on top.
            let Some((kind, bytes)) = self.bytes(tip) else {
                return tip.to_string();
            };
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let (from, to) = (
                text.find("parent ").unwrap_or(0),
                text.find("author ").unwrap_or(0),
            );
            let bytes = format!("{}parent {tip}\n{}", &text[..from.min(to)], &text[to..]);
            let top = self.write(kind, bytes.as_bytes());
            return self.changed(dice, top).to_string();
        }
        let at = if dice.one_in(2) {
            0
        } else {
            dice.below(line.len())
        };
        let mut new = self.changed(dice, line[at]);
        let mut old = line[at];
        for id in line[..at].iter().rev() {
            let Some((kind, bytes)) = self.bytes(*id) else {
                continue;
            };
            let text = String::from_utf8_lossy(&bytes);
            if text.contains(&old.to_string()) {
                let text = text.replace(&old.to_string(), &new.to_string());
                new = self.write(kind, text.as_bytes());
                old = *id;
            }
        }
        new.to_string()
    }

    fn changed(&mut self, dice: &mut Dice, commit: Oid) -> Oid {
        let Some((kind, mut bytes)) = self.bytes(commit) else {
            return commit;
        };
        let length = commit.to_string().len();
        if dice.one_in(4) || bytes.len() < 5 + length {
            mutate::commit(dice, &mut bytes, &self.world.ids);
            self.told.push(format!("commit {commit}"));
            return self.write(kind, &bytes);
        }
        let tree = String::from_utf8_lossy(&bytes[5..5 + length]).into_owned();
        let Ok(tree) = Oid::from_str_ext(&tree, self.repo.object_format()) else {
            return commit;
        };
        let mut path = Vec::new();
        let new = self.within(dice, tree, &mut path);
        let new = self.in_step(dice, tree, new);
        bytes.splice(5..5 + length, new.to_string().bytes());
        self.told.push(format!("{commit}: {}", path.join("/")));
        self.write(kind, &bytes)
    }

    /// A tree in which something is otherwise, here or further down.
    fn within(&mut self, dice: &mut Dice, tree: Oid, path: &mut Vec<String>) -> Oid {
        let Some((kind, mut bytes)) = self.bytes(tree) else {
            return tree;
        };
        let entries = mutate::entries(&bytes, tree.as_bytes().len());
        if kind != ObjectType::Tree {
            mutate::file(dice, &mut bytes, &self.world.ids);
            return self.write(kind, &bytes);
        }
        if entries.is_empty() || dice.one_in(5) {
            mutate::tree(dice, &mut bytes, &self.world.ids);
            return self.write(kind, &bytes);
        }
        let at = dice.below(entries.len());
        let mut entries = entries;
        path.push(String::from_utf8_lossy(&entries[at].name).into_owned());
        let Ok(child) = Oid::from_bytes(&entries[at].id) else {
            return tree;
        };
        entries[at].id = self.within(dice, child, path).as_bytes().to_vec();
        self.write(kind, &mutate::written(&entries))
    }

    /// Writes the digest of a session's operations anew, as somebody who forges them does.
    fn in_step(&mut self, dice: &mut Dice, old: Oid, new: Oid) -> Oid {
        const OPS: &str = "sessions/demo/ops";
        if !self.world.is_signed || !dice.one_in(2) {
            return new;
        }
        let at = |tree: Oid, path: &str| {
            let tree = self.repo.find_tree(tree).ok()?;
            let entry = tree.get_path(path.as_ref()).ok()?;
            Some(entry.id())
        };
        let (Some(before), Some(now)) = (at(old, OPS), at(new, OPS)) else {
            return new;
        };
        let Some(state) = at(new, "sessions/demo/state.json") else {
            return new;
        };
        let Some((kind, text)) = self.bytes(state) else {
            return new;
        };
        let text = String::from_utf8_lossy(&text).replace(&before.to_string(), &now.to_string());
        let state = self.write(kind, text.as_bytes());
        self.replaced(new, &["sessions", "demo", "state.json"], state)
    }

    fn replaced(&mut self, tree: Oid, path: &[&str], id: Oid) -> Oid {
        let Some((name, rest)) = path.split_first() else {
            return id;
        };
        let Some((kind, bytes)) = self.bytes(tree) else {
            return tree;
        };
        let mut entries = mutate::entries(&bytes, tree.as_bytes().len());
        for entry in &mut entries {
            if entry.name == name.as_bytes()
                && let Ok(child) = Oid::from_bytes(&entry.id)
            {
                entry.id = self.replaced(child, rest, id).as_bytes().to_vec();
            }
        }
        self.write(kind, &mutate::written(&entries))
    }
}
