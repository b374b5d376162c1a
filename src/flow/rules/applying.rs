//! The rules that apply to a task or to a stage, as names with the ids of their contents: what a card and the record of
//! a claim carry, and what became of required ones since a session began.

use super::{Place, RuleSet, here, read};
use crate::flow::context::Context;
use crate::flow::specs;
use loopx_base::failure::Result;
use loopx_base::hint::{Hint, command};
use loopx_base::id::Oid;
use loopx_git::Repo;
use loopx_rules::policy::Policy;
use loopx_rules::rule::{Ask, Document, Origin};
use loopx_rules::session::State;
use loopx_rules::stage::Stage;
use loopx_rules::task::card::Read;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A document that applies.
pub(in crate::flow) struct Applied {
    pub path: String,
    pub blob: String,
    pub required: bool,
}

/// The documents of the worktree, of which some apply.
pub(in crate::flow) struct Applying<'c> {
    ctx: &'c Context,
    rule_set: RuleSet,
}

impl<'c> Applying<'c> {
    /// Reads the documents. What cannot be read applies to nothing: `rule check` says so.
    pub(in crate::flow) fn here(ctx: &'c Context) -> Self {
        let policy = specs::policy(ctx).unwrap_or_default();
        let place = here(&ctx.repo).unwrap_or(Place::Nowhere);
        Applying {
            ctx,
            rule_set: read(&ctx.repo, &policy, &place),
        }
    }

    /// The documents that apply, in the order in which they are read, whatever fits.
    fn documents(&self, stage: Stage, paths: &[String]) -> Vec<&Document> {
        let is_by_path = self
            .rule_set
            .documents
            .iter()
            .any(|one| !one.applies_to.is_empty());
        let ask = Ask {
            stage: Some(stage),
            paths: if is_by_path {
                self.rule_set.spread(&self.ctx.repo, paths)
            } else {
                Vec::new()
            },
            budget: Some(usize::MAX),
            ..Ask::default()
        };
        let loaded = self.rule_set.load(&ask);
        loaded.map(|loaded| loaded.documents).unwrap_or_default()
    }

    /// Rules that the card of a task with these files names, each with its text.
    pub(in crate::flow) fn reads(&self, paths: &[String]) -> Vec<(Read, String)> {
        let documents = self.documents(Stage::Build, paths).into_iter();
        documents
            .map(|document| (read_of(document), document.text.clone()))
            .collect()
    }

    /// Documents that apply at a stage to some paths, each with the id of its content.
    pub(in crate::flow) fn at(&self, stage: Stage, paths: &[String]) -> Vec<Read> {
        let documents = self.documents(stage, paths).into_iter();
        documents.map(read_of).collect()
    }

    /// Documents that apply at a stage to some paths, with their ids and whether each is required.
    pub(in crate::flow) fn at_with(&self, stage: Stage, paths: &[String]) -> Vec<Applied> {
        let documents = self.documents(stage, paths).into_iter();
        documents
            .map(|document| Applied {
                path: document.path.clone(),
                blob: document.blob.clone(),
                required: document.is_required(),
            })
            .collect()
    }

    /// Ids of the documents that a task with these files was made under, for its record. A person's own rules are
    /// nobody else's business.
    pub(in crate::flow) fn pins(&self, paths: &[String]) -> BTreeMap<String, String> {
        let documents = self.documents(Stage::Build, paths).into_iter();
        let own = documents.filter(|document| document.origin == Origin::Project);
        own.map(|document| (document.path.clone(), document.blob.clone()))
            .collect()
    }
}

fn read_of(document: &Document) -> Read {
    Read {
        path: document.path.clone(),
        blob: Some(document.blob.clone()),
    }
}

/// Required documents that are others than when a session began.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct RulesMoved {
    pub changed: Vec<String>,
    pub added: Vec<String>,
    pub removed: Vec<String>,
    pub help: Hint,
}

impl RulesMoved {
    /// A line for somebody who works on.
    pub(crate) fn message(&self) -> String {
        let part = |what: &str, paths: &[String]| {
            (!paths.is_empty()).then(|| format!("{what} {}", paths.join(", ")))
        };
        let parts = [
            part("changed:", &self.changed),
            part("new:", &self.added),
            part("gone:", &self.removed),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        format!(
            "required rules are others than when this session began ({})",
            parts.join("; ")
        )
    }
}

/// Compares the required documents of the commit that a session starts from with those that are here now.
pub(in crate::flow) fn moved(
    ctx: &Context,
    state: &State,
    policy: &Policy,
) -> Result<Option<RulesMoved>> {
    let repo = &ctx.repo;
    let Some(base) = state.base.as_ref().filter(|_| state.ending.is_none()) else {
        return Ok(None);
    };
    if !repo.contains(base)? {
        return Ok(None);
    }
    let then = repo.commit_info(base)?.tree;
    let place = here(repo)?;
    if is_same(repo, policy, &then, &place)? {
        return Ok(None);
    }
    let before = required(&read(repo, policy, &Place::Tree(then)));
    let now = required(&Applying::here(ctx).rule_set);
    let paths: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    let (mut changed, mut added, mut removed) = (Vec::new(), Vec::new(), Vec::new());
    for path in paths {
        match (before.get(path), now.get(path)) {
            (Some(then), Some(now)) if then != now => changed.push(path.clone()),
            (None, Some(_)) => added.push(path.clone()),
            (Some(_), None) => removed.push(path.clone()),
            _ => {}
        }
    }
    if changed.is_empty() && added.is_empty() && removed.is_empty() {
        return Ok(None);
    }
    let stage = state.stage;
    Ok(Some(RulesMoved {
        changed,
        added,
        removed,
        help: command!("rule load --stage {stage}"),
    }))
}

/// Tells whether there is nothing to compare: neither then nor now is there a folder of rules.
fn is_same(repo: &Repo, policy: &Policy, then: &Oid, place: &Place) -> Result<bool> {
    let folder = &policy.paths.rules;
    let was = repo.entry_at(then, folder)?;
    Ok(match place {
        Place::Worktree(top) => was.is_none() && !top.join(folder).is_dir(),
        Place::Tree(tree) => {
            was.map(|entry| entry.id) == repo.entry_at(tree, folder)?.map(|entry| entry.id)
        }
        Place::Nowhere => true,
    })
}

fn required(rule_set: &RuleSet) -> BTreeMap<String, String> {
    let own = rule_set.documents.iter();
    let own = own.filter(|one| one.origin == Origin::Project && one.is_required() && one.filled);
    // A checkout may have other line endings than the commit.
    own.map(|one| (one.path.clone(), one.text.replace("\r\n", "\n")))
        .collect()
}
