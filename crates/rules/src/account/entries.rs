//! The entries of the walk: a commit with the step that covers it, or with what is missing.

use super::steps::Span;
use super::word::Word;
use super::{Change, Depth, Entry, Line, Merge, Step, Why};
use loopx_base::failure::Result;
use loopx_base::id::Oid;

impl<'a> Span<'a> {
    pub(super) fn covered(&self, commit: &Oid, step: Step) -> Result<Entry> {
        let changes = match step {
            // A merge that adds nothing changes nothing of its own.
            Step::Merge(_) | Step::Joint => Vec::new(),
            Step::Forward(_) if self.objects.commit(commit)?.parents.len() > 1 => Vec::new(),
            _ => self.own_changes(commit)?,
        };
        Ok(Entry {
            commit: commit.clone(),
            verdict: Ok(step),
            paths: changes
                .into_iter()
                .map(|change| Line {
                    path: change.path,
                    why: None,
                })
                .collect(),
        })
    }

    pub(super) fn own_changes(&self, commit: &Oid) -> Result<Vec<Change>> {
        let node = self.objects.commit(commit)?;
        let before = match node.parents.first() {
            Some(parent) => Some(self.objects.commit(parent)?.tree),
            None => None,
        };
        self.objects.changes(before.as_ref(), &node.tree)
    }

    pub(super) fn refused(&self, commit: &Oid, x: Option<&Oid>) -> Result<Entry> {
        let lines = self.own_changes(commit)?.into_iter().map(|change| Line {
            why: self.rules.document(&change),
            path: change.path,
        });
        Ok(Entry {
            commit: commit.clone(),
            paths: lines.collect(),
            verdict: Err(self.why(commit, x)?),
        })
    }

    /// Reason why nothing covers a commit: found by the sessions that the commit names, then by those on whose branch
    /// the commit is, then by those that touch the same paths.
    fn why(&self, commit: &Oid, x: Option<&Oid>) -> Result<Why> {
        let named = self.objects.named(commit)?;
        for word in self.words {
            if named.contains(&word.candidate.session) {
                return self.why_not(word, commit, x);
            }
        }
        let mut near = None;
        for word in self.words {
            let head = word
                .candidate
                .verdict
                .as_ref()
                .and_then(|v| v.head.as_ref());
            let Some(head) = head else { continue };
            if !self.objects.has(head)? {
                if near.is_none() && !word.candidate.ended {
                    near = word.flaw(self)?.cloned();
                }
                continue;
            }
            let is_behind = self.objects.reaches(head, commit)?;
            let is_ahead = || -> Result<bool> {
                let Some(old) = &self.landing.old else {
                    return Ok(false);
                };
                Ok(self.objects.reaches(commit, head)? && !self.has(head, old)?)
            };
            if is_behind || is_ahead()? {
                return self.why_not(word, commit, x);
            }
            if near.is_none()
                && let (Some(ready), Some(x)) = (word.ready(self)?, x)
                && self.touches(&ready, x, &self.own_changes(commit)?)?
            {
                let tree = self.objects.commit(commit)?.tree;
                let has_all = match self.objects.merge(x, head, &tree, Depth::Whole)? {
                    Merge::Conflict => {
                        near = Some(Why::Conflict(word.candidate.session.clone()));
                        continue;
                    }
                    Merge::Same => true,
                    Merge::Other(changes) => {
                        let mut changes = changes.iter();
                        changes.all(|change| self.rules.document(change).is_none())
                    }
                };
                if has_all && ready.has_landed(self, x)? {
                    near = Some(Why::Landed(word.candidate.session.clone()));
                }
            }
        }
        Ok(near.unwrap_or(Why::Nobody))
    }

    fn why_not(&self, word: &Word<'_>, commit: &Oid, x: Option<&Oid>) -> Result<Why> {
        let session = word.candidate.session.clone();
        if let Some(flaw) = word.flaw(self)? {
            return Ok(flaw.clone());
        }
        let (Some(ready), Some(x)) = (word.ready(self)?, x) else {
            return Ok(Why::NoVerdict(session));
        };
        if self.objects.reaches(ready.head, commit)? {
            return Ok(if ready.has_landed(self, x)? {
                Why::Landed(session)
            } else if !self.is_shown(ready.head, x)? {
                Why::NotShown(session)
            } else {
                // By itself it would do; what it comes with does not.
                let paths = Vec::new();
                Why::Changed { session, paths }
            });
        }
        if word.candidate.result.as_ref() == Some(commit) {
            return Ok(Why::NoArchive(session));
        }
        let node = self.objects.commit(commit)?;
        let is_merge = node.parents.len() > 1;
        let merged = self
            .objects
            .merge(x, ready.head, &node.tree, Depth::Whole)?;
        if is_merge && merged == Merge::Conflict {
            return Ok(Why::Conflict(session));
        }
        if is_merge && ready.has_landed(self, x)? {
            return Ok(Why::Landed(session));
        }
        let paths = if self.objects.reaches(commit, ready.head)? {
            let reviewed = self.objects.commit(ready.head)?.tree;
            self.objects
                .changes(Some(&reviewed), &node.tree)?
                .into_iter()
                .filter(|change| self.rules.document(change).is_some())
                .map(|change| change.path)
                .collect()
        } else {
            if ready.has_landed(self, x)? {
                return Ok(Why::Landed(session));
            }
            match merged {
                Merge::Conflict => return Ok(Why::Conflict(session)),
                Merge::Same => return Ok(Why::NotShown(session)),
                Merge::Other(changes) => changes
                    .into_iter()
                    .filter(|change| self.rules.document(change).is_some())
                    .map(|change| change.path)
                    .collect(),
            }
        };
        Ok(Why::Changed { session, paths })
    }
}
