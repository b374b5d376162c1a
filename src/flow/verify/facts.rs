//! The facts about objects that the account of a landing asks for, each looked up once.

use super::landing::Merger;
use super::{Sessions, results};
use crate::core::account::{Change, Depth, Made, Merge, Node, Objects};
use crate::core::failure::Result;
use crate::core::id::{Oid, SessionId};
use crate::core::policy::Policy;
use crate::core::trailers;
use crate::flow::context::Context;
use crate::flow::sign;
use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::Hash;

/// What `git cherry-pick -x` writes before the id.
const PICKED: &str = "(cherry picked from commit ";

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
            archives: Memo::default(),
            made: Memo::default(),
        }
    }
}

/// What is known under a key, or what looking gives.
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
            self.merger.get()?.merge(ours, theirs, tree, depth)
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
            results::made(self.ctx, self.sessions, self.policy, commit)
        })
    }

    fn is_signed(&self, commit: &Oid, key: &str) -> Result<bool> {
        sign::is_commit_by(&self.ctx.repo, self.policy, commit, key)
    }
}
