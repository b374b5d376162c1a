//! A history in memory: a tree is a map of paths to words, a merge takes whole files. A word that begins with
//! `x:` is a file to execute, with `l:` a link.

use super::super::{Change, Depth, Made, Merge, Mode, Node, Objects};
use loopx_base::failure::Result;
use loopx_base::id::{Oid, SessionId};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

pub(super) type Tree = BTreeMap<String, String>;

#[derive(Default)]
pub(super) struct World {
    pub(super) trees: RefCell<Vec<Tree>>,
    pub(super) commits: Vec<Node>,
    pub(super) named: BTreeMap<Oid, SessionId>,
    pub(super) picked: BTreeMap<Oid, Oid>,
    pub(super) archives: BTreeSet<Oid>,
    pub(super) signed: BTreeSet<Oid>,
    /// Commits that took an archive back.
    pub(super) undone: BTreeSet<Oid>,
}

pub(super) fn oid(kind: char, number: usize) -> Oid {
    Oid::parse(&format!("{kind}{number:039x}")).expect("an id")
}

pub(super) fn number(id: &Oid) -> usize {
    usize::from_str_radix(&id.as_str()[1..], 16).expect("a number")
}

pub(super) fn session(name: &str) -> SessionId {
    SessionId::parse(name).expect("an id")
}

impl World {
    pub(super) fn tree(&self, id: &Oid) -> Tree {
        self.trees.borrow()[number(id)].clone()
    }

    pub(super) fn keep(&self, tree: Tree) -> Oid {
        let mut trees = self.trees.borrow_mut();
        let at = match trees.iter().position(|known| *known == tree) {
            Some(at) => at,
            None => {
                trees.push(tree);
                trees.len() - 1
            }
        };
        oid('a', at)
    }

    pub(super) fn files(&self, commit: &Oid) -> Tree {
        self.tree(&self.commits[number(commit)].tree)
    }

    /// Commits the first parent's files with these written; an empty text takes a file away.
    pub(super) fn add(&mut self, parents: &[&Oid], files: &[(&str, &str)]) -> Oid {
        let mut tree = parents.first().map_or(Tree::new(), |one| self.files(one));
        for (path, text) in files {
            if text.is_empty() {
                tree.remove(*path);
            } else {
                tree.insert((*path).to_owned(), (*text).to_owned());
            }
        }
        self.with_tree(parents, tree)
    }

    pub(super) fn with_tree(&mut self, parents: &[&Oid], tree: Tree) -> Oid {
        let tree = self.keep(tree);
        self.commits.push(Node {
            tree,
            parents: parents.iter().map(|&one| one.clone()).collect(),
        });
        oid('c', self.commits.len() - 1)
    }

    /// Commits the tree of a merge, with these parents.
    pub(super) fn merged(&mut self, ours: &Oid, theirs: &Oid, parents: &[&Oid]) -> Oid {
        let tree = self.merge_of(ours, theirs).expect("a clean merge");
        self.with_tree(parents, tree)
    }

    pub(super) fn behind(&self, commit: &Oid) -> BTreeSet<Oid> {
        let mut found = BTreeSet::new();
        let mut next = vec![commit.clone()];
        while let Some(id) = next.pop() {
            if found.insert(id.clone()) {
                next.extend(self.commits[number(&id)].parents.clone());
            }
        }
        found
    }

    pub(super) fn merge_of(&self, ours: &Oid, theirs: &Oid) -> Option<Tree> {
        let base = self.met(ours, theirs).expect("a base");
        let base = base.map_or(Tree::new(), |base| self.files(&base));
        three_ways(&base, &self.files(ours), &self.files(theirs))
    }

    pub(super) fn against(&self, merged: Option<Tree>, tree: &Oid) -> Merge {
        let tree = self.tree(tree);
        match merged {
            None => Merge::Conflict,
            Some(merged) if merged == tree => Merge::Same,
            Some(merged) => Merge::Other(changes(&merged, &tree)),
        }
    }
}

pub(super) fn differing(one: &Tree, other: &Tree) -> Vec<String> {
    let paths: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    let differ = paths
        .into_iter()
        .filter(|path| one.get(*path) != other.get(*path));
    differ.cloned().collect()
}

fn changes(old: &Tree, new: &Tree) -> Vec<Change> {
    let mode = |tree: &Tree, path: &str| {
        tree.get(path).map(|text| match text.get(..2) {
            Some("x:") => Mode::Executable,
            Some("l:") => Mode::Link,
            _ => Mode::Plain,
        })
    };
    let change = |path: String| Change {
        old: mode(old, &path),
        new: mode(new, &path),
        path,
    };
    differing(old, new).into_iter().map(change).collect()
}

pub(super) fn three_ways(base: &Tree, ours: &Tree, theirs: &Tree) -> Option<Tree> {
    resolved(base, ours, theirs, None)
}

/// Merges trees, with a text where both sides changed a path.
pub(super) fn resolved(
    base: &Tree,
    ours: &Tree,
    theirs: &Tree,
    text: Option<&str>,
) -> Option<Tree> {
    let mut merged = ours.clone();
    for path in differing(base, theirs) {
        if ours.get(&path) != base.get(&path) && ours.get(&path) != theirs.get(&path) {
            merged.insert(path, text?.to_owned());
            continue;
        }
        match theirs.get(&path) {
            Some(text) => merged.insert(path, text.clone()),
            None => merged.remove(&path),
        };
    }
    Some(merged)
}

impl Objects for World {
    fn has(&self, commit: &Oid) -> Result<bool> {
        Ok(number(commit) < self.commits.len())
    }

    fn commit(&self, id: &Oid) -> Result<Node> {
        Ok(self.commits[number(id)].clone())
    }

    fn reaches(&self, from: &Oid, to: &Oid) -> Result<bool> {
        Ok(self.behind(from).contains(to))
    }

    fn between(&self, to: &Oid, without: &[Oid]) -> Result<Vec<Oid>> {
        let hidden: BTreeSet<Oid> = without.iter().flat_map(|id| self.behind(id)).collect();
        // Parents were made before their children.
        Ok(self.behind(to).difference(&hidden).cloned().collect())
    }

    fn met(&self, one: &Oid, other: &Oid) -> Result<Option<Oid>> {
        let both: BTreeSet<Oid> = self.behind(one);
        Ok(both.intersection(&self.behind(other)).max().cloned())
    }

    fn changes(&self, old: Option<&Oid>, new: &Oid) -> Result<Vec<Change>> {
        let old = old.map_or(Tree::new(), |old| self.tree(old));
        Ok(changes(&old, &self.tree(new)))
    }

    fn merge(&self, ours: &Oid, theirs: &Oid, tree: &Oid, _: Depth) -> Result<Merge> {
        Ok(self.against(self.merge_of(ours, theirs), tree))
    }

    fn carried(&self, _: &Oid, _: &Oid, _: &BTreeSet<String>) -> Result<Vec<String>> {
        // Merges in memory follow no renames.
        Ok(Vec::new())
    }

    fn pick(&self, pick: &Oid, onto: &Oid, tree: &Oid) -> Result<Merge> {
        let parent = &self.commits[number(pick)].parents[0];
        let merged = three_ways(&self.files(parent), &self.files(onto), &self.files(pick));
        Ok(self.against(merged, tree))
    }

    fn named(&self, commit: &Oid) -> Result<Vec<SessionId>> {
        Ok(self.named.get(commit).cloned().into_iter().collect())
    }

    fn picked_from(&self, commit: &Oid) -> Result<Option<Oid>> {
        Ok(self.picked.get(commit).cloned())
    }

    fn is_archive(&self, _: &SessionId, commit: &Oid) -> Result<bool> {
        Ok(self.archives.contains(commit))
    }

    fn made(&self, commit: &Oid) -> Result<Option<Made>> {
        Ok(self.undone.contains(commit).then_some(Made::Undo))
    }

    fn is_signed(&self, commit: &Oid, key: &str) -> Result<bool> {
        Ok(key == "ssh-ed25519 AAAA" && self.signed.contains(commit))
    }
}
