//! `spec drift`: what became of archived requirements, told from history alone.
//!
//! Archive commits say by their trailers that they are archives. What the newest of them made of a
//! requirement is what has to stand there; any other commit that changed it since is an edit by hand.

use super::archive::UNARCHIVE;
use super::context::Context;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::id::{Oid, SessionId};
use loopx_git::CommitInfo;
use loopx_rules::session::Ending;
use loopx_spec::{fold, read_spec};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The difference between a requirement and what its last archive made of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// The requirement has another text.
    Edited,
    /// The requirement has the text from before the archive: the archive's effect is gone.
    Reverted,
    /// The requirement is not there.
    Removed,
    /// The archive removed the requirement, and it is there.
    Restored,
}

#[derive(Debug, Serialize)]
pub(crate) struct Drifted {
    pub path: String,
    pub requirement: String,
    pub kind: Kind,
    /// The session whose archive is the last word on it, and that commit.
    pub session: String,
    pub archive: Oid,
    /// The commits that changed the requirement since, oldest first. Empty where only a merge did.
    pub edits: Vec<Edit>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Edit {
    pub commit: Oid,
    pub author: String,
    pub at: String,
    pub subject: String,
}

/// An archive whose commit its branch does not have.
#[derive(Debug, Serialize)]
pub(crate) struct Missing {
    pub session: SessionId,
    pub archive: Oid,
    pub target: String,
}

#[derive(Debug)]
pub(crate) struct Report {
    pub head: Oid,
    pub archives: usize,
    pub drifted: Vec<Drifted>,
    pub missing: Vec<Missing>,
}

/// A requirement: the path of its spec, and its folded name.
type Place = (String, String);

/// A requirement as written: its name and its block.
type Block = (String, String);

/// The changes that one commit made to requirements: before and after.
type Changes = BTreeMap<Place, (Option<Block>, Option<Block>)>;

/// The last archive of a requirement.
struct Word {
    session: String,
    archive: Oid,
    before: Option<Block>,
    after: Option<Block>,
    edits: Vec<Edit>,
}

/// Compares the specs of HEAD with what the archives in its history made of them.
pub(crate) fn drift(ctx: &Context) -> Result<Report> {
    let head = ctx.repo.head()?.commit.ok_or_else(|| {
        Failure::not_found(Code::NoCommit, "there is no commit yet").help("git commit")
    })?;
    let specs = super::specs::policy(ctx)?.paths.specs;
    let mut words: BTreeMap<Place, Word> = BTreeMap::new();
    let mut archives = 0;
    let mut commits = ctx.repo.range(&head, &[], usize::MAX)?;
    commits.reverse();
    for id in commits {
        let commit = ctx.repo.commit_info(&id)?;
        let event = commit.trailer("Loopx-Event");
        let is_archive = event.contains(&"archive");
        let by_us = is_archive || event.contains(&UNARCHIVE);
        // A merge brings what its sides did; before the first archive nothing can drift.
        if commit.parents.len() > 1 || !by_us && words.is_empty() {
            continue;
        }
        archives += usize::from(is_archive);
        for (place, (before, after)) in changes(ctx, &commit, &specs)? {
            if by_us {
                let session = commit.trailer("Loopx-Session");
                let word = Word {
                    session: session.first().copied().unwrap_or_default().to_owned(),
                    archive: commit.id.clone(),
                    before,
                    after,
                    edits: Vec::new(),
                };
                words.insert(place, word);
            } else if let Some(word) = words.get_mut(&place) {
                word.edits.push(Edit {
                    commit: commit.id.clone(),
                    author: commit.author.to_string(),
                    at: commit.at.clone(),
                    subject: commit.subject().to_owned(),
                });
            }
        }
    }
    let tree = ctx.repo.commit_info(&head)?.tree;
    let mut now: BTreeMap<String, BTreeMap<String, Block>> = BTreeMap::new();
    let mut drifted = Vec::new();
    for ((path, key), word) in words {
        if !now.contains_key(&path) {
            let bytes = ctx.repo.blob_at(&tree, &path)?.unwrap_or_default();
            now.insert(path.clone(), blocks(&bytes));
        }
        let here = now.get(&path).and_then(|blocks| blocks.get(&key));
        let kind = match (&word.after, here) {
            (after, here) if after.as_ref() == here => continue,
            (None, Some(_)) => Kind::Restored,
            (Some(_), None) => Kind::Removed,
            (_, here) if word.before.as_ref() == here => Kind::Reverted,
            _ => Kind::Edited,
        };
        let name = here.or(word.after.as_ref()).or(word.before.as_ref());
        drifted.push(Drifted {
            requirement: name.map_or(key, |(name, _)| name.clone()),
            path,
            kind,
            session: word.session,
            archive: word.archive,
            edits: word.edits,
        });
    }
    Ok(Report {
        missing: missing(ctx, &head)?,
        head,
        archives,
        drifted,
    })
}

/// The requirements that a commit changed.
fn changes(ctx: &Context, commit: &CommitInfo, specs: &str) -> Result<Changes> {
    let parent = match commit.parents.first() {
        Some(parent) => Some(ctx.repo.commit_info(parent)?.tree),
        None => None,
    };
    let folder = |tree: Option<&Oid>| -> Result<Option<Oid>> {
        match tree {
            Some(tree) => Ok(ctx.repo.entry_at(tree, specs)?.map(|entry| entry.id)),
            None => Ok(None),
        }
    };
    let (old, new) = (folder(parent.as_ref())?, folder(Some(&commit.tree))?);
    let mut found = Changes::new();
    if old == new {
        return Ok(found);
    }
    let empty = ctx.repo.empty_tree()?;
    let new = new.unwrap_or(empty);
    for path in ctx.repo.changed_paths(old.as_ref(), &new)? {
        if path != "spec.md" && !path.ends_with("/spec.md") {
            continue;
        }
        let read = |tree: Option<&Oid>| -> Result<BTreeMap<String, Block>> {
            let bytes = match tree {
                Some(tree) => ctx.repo.blob_at(tree, &path)?,
                None => None,
            };
            Ok(blocks(&bytes.unwrap_or_default()))
        };
        let (before, after) = (read(old.as_ref())?, read(Some(&new))?);
        let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        for key in keys {
            let (was, is) = (before.get(key), after.get(key));
            if was != is {
                let place = (format!("{specs}/{path}"), key.clone());
                found.insert(place, (was.cloned(), is.cloned()));
            }
        }
    }
    Ok(found)
}

/// The requirements of a spec by folded name. What is no text has none.
fn blocks(bytes: &[u8]) -> BTreeMap<String, Block> {
    let (Ok(spec), Ok(text)) = (read_spec(bytes, ""), std::str::from_utf8(bytes)) else {
        return BTreeMap::new();
    };
    spec.requirements
        .into_iter()
        .map(|requirement| {
            let span = requirement.span;
            let block = text.get(span.start..span.end).unwrap_or_default();
            let key = fold(&requirement.name);
            (key, (requirement.name, block.trim_end().to_owned()))
        })
        .collect()
}

/// Archived sessions whose commit the branch that they went to does not have any more.
fn missing(ctx: &Context, head: &Oid) -> Result<Vec<Missing>> {
    let Some(snapshot) = ctx.store()?.read()? else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for (id, session) in snapshot.archived()? {
        let Some(Ending::Archived {
            commit: Some(commit),
            target,
            ..
        }) = session?.state.ending
        else {
            continue;
        };
        // A branch that was merged and deleted: then HEAD has to have it.
        let tip = ctx.repo.find_ref(&format!("refs/heads/{target}"))?;
        let tip = tip.as_ref().unwrap_or(head);
        // The commit may be unknown here: a clone that has not fetched it.
        if !ctx.repo.is_ancestor(&commit, tip).unwrap_or(false) {
            found.push(Missing {
                session: id,
                archive: commit,
                target,
            });
        }
    }
    Ok(found)
}
