//! The facts about objects that the account of a landing asks for, each looked up once.

use super::landing::Merger;
use super::{Sessions, results};
use crate::flow::context::Context;
use crate::flow::file_merge::FileMerge;
use crate::flow::sign;
use loopx_base::failure::Result;
use loopx_base::id::{Oid, SessionId};
use loopx_base::trailers;
use loopx_rules::account::{Change, Depth, Made, Merge, Mode, Node, Objects};
use loopx_rules::policy::Policy;
use loopx_rules::rule::merge_rules;
use loopx_spec::{MarkerNames, merge_spec};
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;

/// Text that `git cherry-pick -x` writes before the id.
const PICKED: &str = "(cherry picked from commit ";

/// Names for conflict markers, of which none is ever written.
const NAMES: MarkerNames<'static> = MarkerNames {
    base: "base",
    ours: "ours",
    theirs: "theirs",
};

type Memo<K, V> = RefCell<HashMap<K, V>>;

/// The objects of a repository, and the sessions of a loopx branch.
pub(super) struct Facts<'a, 'r> {
    ctx: &'a Context,
    sessions: &'a Sessions<'r>,
    merger: &'a Merger<'a>,
    policy: &'a Policy,
    nodes: Memo<Oid, Node>,
    reached: Memo<(Oid, Oid), bool>,
    changed: Memo<(Option<Oid>, Oid), Vec<Change>>,
    merged: Memo<(Oid, Oid, Oid, bool), Merge>,
    picked: Memo<(Oid, Oid, Oid), Merge>,
    carried: Memo<(Oid, Oid, BTreeSet<String>), Vec<String>>,
    archives: Memo<(SessionId, Oid), bool>,
    made: Memo<Oid, Option<Made>>,
}

impl<'a, 'r> Facts<'a, 'r> {
    pub(super) fn new(
        ctx: &'a Context,
        sessions: &'a Sessions<'r>,
        merger: &'a Merger<'a>,
        policy: &'a Policy,
    ) -> Self {
        Facts {
            ctx,
            sessions,
            merger,
            policy,
            nodes: Memo::default(),
            reached: Memo::default(),
            changed: Memo::default(),
            merged: Memo::default(),
            picked: Memo::default(),
            carried: Memo::default(),
            archives: Memo::default(),
            made: Memo::default(),
        }
    }
}

impl Facts<'_, '_> {
    /// Tells whether a tree is otherwise than git merges two commits only in specs and documents of rules, and has
    /// these as our drivers merge them: by requirement, and by rule.
    fn merges_by_drivers(&self, ours: &Oid, theirs: &Oid, tree: &Oid) -> Result<bool> {
        let repo = &self.ctx.repo;
        let strays = self.merger.get()?.departures(ours, theirs, tree)?;
        let paths: Vec<&String> = strays.paths.iter().chain(&strays.conflicts).collect();
        let Some(base) = repo.merge_base(ours, theirs)? else {
            return Ok(false);
        };
        if paths.is_empty() || !paths.iter().all(|path| self.driver_of(path).is_some()) {
            return Ok(false);
        }
        let before = self.commit(ours)?.tree;
        let sides = [
            self.commit(&base)?.tree,
            before.clone(),
            self.commit(theirs)?.tree,
            tree.clone(),
        ];
        let changes = self.changes(Some(&before), tree)?;
        for path in paths {
            let mut texts = Vec::new();
            for side in &sides {
                let bytes = repo.blob_at(side, path)?;
                texts.push(bytes.and_then(|bytes| String::from_utf8(bytes).ok()));
            }
            let is_plain =
                |change: &Change| change.path != *path || change.new == Some(Mode::Plain);
            let is_merged = match (self.driver_of(path), texts.as_slice()) {
                (Some(By::Requirement), [Some(base), Some(ours), Some(theirs), Some(made)]) => {
                    let merged = merge_spec(base, ours, theirs, &FileMerge, NAMES);
                    merged.conflicts.is_empty() && merged.text == *made
                }
                // Both sides may have begun the document.
                (Some(By::Rule), [base, Some(ours), Some(theirs), Some(made)]) => {
                    let base = base.as_deref().unwrap_or_default();
                    merge_rules(base, ours, theirs).as_ref() == Some(made)
                }
                _ => false,
            };
            if !is_merged || !changes.iter().all(is_plain) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Unit by which our driver of a file merges; nothing where git's own merge counts.
    fn driver_of(&self, path: &str) -> Option<By> {
        let is_below = |folder: &str| {
            let rest = path.strip_prefix(folder);
            rest.is_some_and(|rest| rest.starts_with('/'))
        };
        let paths = &self.policy.paths;
        if is_below(&paths.specs) && path.ends_with("/spec.md") {
            Some(By::Requirement)
        } else if is_below(&paths.rules) && path.ends_with(".md") {
            Some(By::Rule)
        } else {
            None
        }
    }
}

impl Facts<'_, '_> {
    /// Kind of the command that made a commit, where the commit lacks only the signature that policy asks for.
    pub(super) fn unsigned(&self, commit: &Oid) -> Result<Option<Made>> {
        if !self.policy.asks_signatures() || self.made(commit)?.is_some() {
            return Ok(None);
        }
        results::made(self.ctx, self.sessions, self.policy, commit)
    }
}

/// The unit of a file that a driver of ours merges.
enum By {
    Requirement,
    Rule,
}

/// Value that is known under a key, or the result of looking.
fn once<K: Eq + Hash, V: Clone>(
    memo: &Memo<K, V>,
    key: K,
    look: impl FnOnce(&K) -> Result<V>,
) -> Result<V> {
    if let Some(known) = memo.borrow().get(&key) {
        return Ok(known.clone());
    }
    let found = look(&key)?;
    memo.borrow_mut().insert(key, found.clone());
    Ok(found)
}

impl Objects for Facts<'_, '_> {
    fn has(&self, commit: &Oid) -> Result<bool> {
        self.ctx.repo.contains(commit)
    }

    fn commit(&self, id: &Oid) -> Result<Node> {
        once(&self.nodes, id.clone(), |id| {
            let info = self.ctx.repo.commit_info(id)?;
            Ok(Node {
                tree: info.tree,
                parents: info.parents,
            })
        })
    }

    fn reaches(&self, from: &Oid, to: &Oid) -> Result<bool> {
        once(&self.reached, (from.clone(), to.clone()), |(from, to)| {
            self.ctx.repo.is_ancestor(to, from)
        })
    }

    fn between(&self, to: &Oid, without: &[Oid]) -> Result<Vec<Oid>> {
        let mut found = self.ctx.repo.range(to, without, usize::MAX)?;
        found.reverse();
        Ok(found)
    }

    fn met(&self, one: &Oid, other: &Oid) -> Result<Option<Oid>> {
        self.ctx.repo.merge_base(one, other)
    }

    fn changes(&self, old: Option<&Oid>, new: &Oid) -> Result<Vec<Change>> {
        once(&self.changed, (old.cloned(), new.clone()), |(old, new)| {
            self.ctx.repo.changes(old.as_ref(), new)
        })
    }

    fn merge(&self, ours: &Oid, theirs: &Oid, tree: &Oid, depth: Depth) -> Result<Merge> {
        let key = (
            ours.clone(),
            theirs.clone(),
            tree.clone(),
            depth == Depth::Whole,
        );
        once(&self.merged, key, |_| {
            let found = self.merger.get()?.merge(ours, theirs, tree, depth)?;
            if found == Merge::Same || depth == Depth::Quick {
                return Ok(found);
            }
            if self.merges_by_drivers(ours, theirs, tree)? {
                Ok(Merge::Same)
            } else {
                Ok(found)
            }
        })
    }

    fn carried(&self, ours: &Oid, theirs: &Oid, changed: &BTreeSet<String>) -> Result<Vec<String>> {
        let key = (ours.clone(), theirs.clone(), changed.clone());
        once(&self.carried, key, |_| {
            self.merger.get()?.carried(ours, theirs, changed)
        })
    }

    fn pick(&self, pick: &Oid, onto: &Oid, tree: &Oid) -> Result<Merge> {
        let key = (pick.clone(), onto.clone(), tree.clone());
        once(&self.picked, key, |_| {
            let node = self.commit(pick)?;
            let Some(parent) = node.parents.first() else {
                return Ok(Merge::Conflict);
            };
            let (from, onto) = (self.commit(parent)?.tree, self.commit(onto)?.tree);
            self.merger.get()?.pick(&from, &node.tree, &onto, tree)
        })
    }

    fn named(&self, commit: &Oid) -> Result<Vec<SessionId>> {
        let info = self.ctx.repo.commit_info(commit)?;
        let links = trailers::links(info.message.as_bytes(), b"#");
        let names = links.sessions.iter();
        Ok(names
            .filter_map(|name| SessionId::parse(name).ok())
            .collect())
    }

    fn picked_from(&self, commit: &Oid) -> Result<Option<Oid>> {
        let info = self.ctx.repo.commit_info(commit)?;
        let said = info.message.lines().rev().find_map(|line| {
            let id = line.trim().strip_prefix(PICKED)?.strip_suffix(')')?;
            Oid::parse(id).ok()
        });
        Ok(said)
    }

    fn is_archive(&self, session: &SessionId, commit: &Oid) -> Result<bool> {
        once(
            &self.archives,
            (session.clone(), commit.clone()),
            |(session, commit)| match self.sessions.now(session)? {
                Some(state) => results::is_archive(self.ctx, self.policy, &state, commit),
                None => Ok(false),
            },
        )
    }

    fn made(&self, commit: &Oid) -> Result<Option<Made>> {
        once(&self.made, commit.clone(), |commit| {
            let made = results::made(self.ctx, self.sessions, self.policy, commit)?;
            // Taking accepted specs back and accepting a decision are words too: whose, a key says.
            if made.is_some()
                && self.policy.asks_signatures()
                && !sign::is_signed_by_somebody(&self.ctx.repo, self.policy, commit)?
            {
                return Ok(None);
            }
            Ok(made)
        })
    }

    fn is_signed(&self, commit: &Oid, key: &str) -> Result<bool> {
        sign::is_commit_by(&self.ctx.repo, self.policy, commit, key)
    }
}
