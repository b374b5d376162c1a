//! The check that the tree of a branch that nobody protects is what was reviewed: the tree of the verdict, or what it
//! merges to with what the base has got meanwhile. What lands on a protected branch is accounted for instead, commit by
//! commit.

use loopx_base::failure::Result;
use loopx_base::id::Oid;
use loopx_git::{CommitInfo, Remerge, Repo};
use loopx_rules::op::{CodeVerdict, Verdict};
use loopx_rules::session::State;
use std::cell::OnceCell;
use std::rc::Rc;

/// Merges in a scratch repository, once it is asked to.
pub(in crate::flow) struct Merger<'r> {
    repo: &'r Repo,
    made: OnceCell<Remerge>,
}

impl<'r> Merger<'r> {
    pub(in crate::flow) fn new(repo: &'r Repo) -> Self {
        Merger {
            repo,
            made: OnceCell::new(),
        }
    }

    pub(super) fn get(&self) -> Result<&Remerge> {
        if let Some(made) = self.made.get() {
            return Ok(made);
        }
        let made = Remerge::new(self.repo)?;
        Ok(self.made.get_or_init(|| made))
    }
}

/// The verdict that lets a session's result through.
pub(super) fn approving(state: &State) -> Option<&Verdict> {
    let verdict = &state.verdict.as_ref()?.value;
    (verdict.verdict == CodeVerdict::Approve).then_some(verdict)
}

/// Paths that a commit has otherwise than the reviewed trees of these sessions, oldest first, make on top of `base`.
/// `None` where one has no approving verdict, or its tree is not here. On a session's own branch (`own`), a base that
/// has the reviewed commit has more than what was reviewed.
pub(super) fn differing(
    repo: &Repo,
    merger: &Merger<'_>,
    sessions: &[Rc<State>],
    base: Option<&Oid>,
    commit: &CommitInfo,
    own: bool,
) -> Result<Option<Vec<String>>> {
    let mut expected = match base {
        Some(base) => Some(repo.commit_info(base)?.tree),
        None => None,
    };
    let mut any = false;
    for state in sessions {
        let Some(verdict) = approving(state) else {
            return Ok(None);
        };
        if !repo.contains(&verdict.tree)? {
            return Ok(None);
        }
        any = true;
        let from = match (base, &verdict.head) {
            (Some(base), Some(head)) if repo.contains(head)? => {
                if own && repo.is_ancestor(head, base)? {
                    None
                } else {
                    repo.merge_base(base, head)?
                }
            }
            _ => None,
        };
        let merged = match (&expected, from) {
            (Some(so_far), Some(from)) => merge(
                merger,
                &repo.commit_info(&from)?.tree,
                so_far,
                &verdict.tree,
            )?,
            _ => None,
        };
        expected = Some(merged.unwrap_or_else(|| verdict.tree.clone()));
    }
    match expected {
        Some(expected) if any => {
            if expected == commit.tree {
                Ok(Some(Vec::new()))
            } else if repo.contains(&expected)? {
                repo.changed_paths(Some(&expected), &commit.tree).map(Some)
            } else {
                merger
                    .get()?
                    .changed_paths(&expected, &commit.tree)
                    .map(Some)
            }
        }
        _ => Ok(None),
    }
}

/// The tree that merging commits one after the other gives; nothing where they are in conflict, or have nothing in
/// common.
pub(super) fn octopus(repo: &Repo, merger: &Merger<'_>, parents: &[Oid]) -> Result<Option<Oid>> {
    let Some((first, others)) = parents.split_first() else {
        return Ok(None);
    };
    let mut merged = repo.commit_info(first)?.tree;
    for other in others {
        let Some(base) = repo.merge_base(first, other)? else {
            return Ok(None);
        };
        let base = repo.commit_info(&base)?.tree;
        match merge(merger, &base, &merged, &repo.commit_info(other)?.tree)? {
            Some(tree) => merged = tree,
            None => return Ok(None),
        }
    }
    Ok(Some(merged))
}

fn merge(merger: &Merger<'_>, base: &Oid, ours: &Oid, theirs: &Oid) -> Result<Option<Oid>> {
    if base == ours || ours == theirs {
        return Ok(Some(theirs.clone()));
    }
    if base == theirs {
        return Ok(Some(ours.clone()));
    }
    merger.get()?.merge_trees(base, ours, theirs)
}
