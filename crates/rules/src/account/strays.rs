//! Strays: paths that a landing changes on the target though no commit that it rests on does. Git carries a change to
//! where the target renamed its file, or the folder of a new one, and a merge may have a path as any of its parents had
//! it. What covers the commits does not cover these by itself.

use super::steps::{Span, Taken};
use super::{Change, Entry, Line, PathWhy, Step, Why};
use loopx_base::failure::Result;
use loopx_base::id::{Oid, SessionId};
use std::collections::HashSet;

impl<'a> Span<'a> {
    /// The strays of what lands next on `x`.
    pub(super) fn strays(&self, x: &Oid, taken: &Taken) -> Result<Vec<Change>> {
        let before = self.objects.commit(x)?.tree;
        let after = self.objects.commit(&taken.end)?.tree;
        let mut strays = self.objects.changes(Some(&before), &after)?;
        let mut touched: HashSet<String> = HashSet::new();
        for (commit, step) in &taken.origins {
            let changes = self.judged_changes(commit, step)?.into_iter();
            touched.extend(changes.map(|change| change.path));
        }
        strays.retain(|change| !touched.contains(&change.path));
        // What the target has by now came by another landing.
        if let Some(tip) = &self.landing.tip
            && !strays.is_empty()
        {
            let tip = self.objects.commit(tip)?.tree;
            let changes = self.objects.changes(Some(&tip), &after)?;
            strays.retain(|stray| changes.iter().any(|change| change.path == stray.path));
        }
        Ok(strays)
    }

    /// The changes of a commit as they were judged: of a pick, those of what it picks. A merge has none that a commit
    /// behind it has not.
    fn judged_changes(&self, commit: &Oid, step: &Step) -> Result<Vec<Change>> {
        let picked = match step {
            Step::Archive(session) => self.result(session).cloned(),
            Step::Backport(_) if self.lender(commit)?.is_none() => {
                self.objects.picked_from(commit)?
            }
            _ => None,
        };
        let judged = match &picked {
            Some(picked) if self.objects.has(picked)? => picked,
            _ => commit,
        };
        if self.objects.commit(judged)?.parents.len() > 1 {
            return Ok(Vec::new());
        }
        self.own_changes(judged)
    }

    /// The commit that the archive of a session is recorded to have made.
    fn result(&self, session: &SessionId) -> Option<&Oid> {
        let mut candidates = self.words.iter().map(|word| word.candidate);
        let candidate = candidates.find(|candidate| candidate.session == *session);
        candidate.and_then(|candidate| candidate.result.as_ref())
    }

    /// The reason why nothing covers some strays. Where all that lands was reviewed they are the work of its sessions. What policy
    /// or a command let in follows no rename to where it would not have been let in.
    pub(super) fn uncovered(&self, taken: &Taken, strays: &[Change]) -> Result<Option<Why>> {
        if strays.is_empty() {
            return Ok(None);
        }
        let reviewed = taken.origins.iter().filter_map(|(_, step)| match step {
            Step::Forward(session) | Step::Merge(session) => Some(session),
            _ => None,
        });
        let reviewed: Vec<&SessionId> = reviewed.collect();
        let mut by_key = HashSet::new();
        let mut is_free = reviewed.is_empty();
        // Code of another protected branch stays code, wherever it is.
        let mut is_code = true;
        for (commit, step) in &taken.origins {
            match step {
                Step::Archive(session) => {
                    is_free |= !reviewed.contains(&session);
                    is_code &= reviewed.contains(&session);
                }
                Step::Made(_) | Step::Document | Step::Exception(_) | Step::Backport(_) => {
                    let changes = self.judged_changes(commit, step)?;
                    is_free |= !changes.is_empty();
                    let mut whys = changes.iter().map(|change| self.rules.document(change));
                    is_code &= matches!(step, Step::Backport(_))
                        && whys.all(|why| why == Some(PathWhy::Code));
                }
                _ => {}
            }
            if let Step::Exception(number) = step {
                by_key.insert(*number);
            }
        }
        if !is_free {
            return Ok(None);
        }
        let is_free = |change: &Change| {
            let mut exceptions = self.rules.exceptions(std::slice::from_ref(change));
            match self.rules.document(change) {
                None => true,
                Some(PathWhy::Code) if is_code => true,
                Some(_) => exceptions.any(|(number, _)| by_key.contains(&number)),
            }
        };
        let held = strays.iter().filter(|change| !is_free(change));
        let paths: Vec<String> = held.map(|change| change.path.clone()).collect();
        Ok((!paths.is_empty()).then(|| Why::Stray {
            session: reviewed.first().map(|session| (*session).clone()),
            paths,
        }))
    }

    /// Puts strays down to the commit that brings them, with why nothing covers them.
    pub(super) fn put_down(&self, entry: &mut Entry, strays: &[Change], why: Option<&Why>) {
        let held: &[String] = match why {
            Some(Why::Stray { paths, .. }) => paths,
            _ => &[],
        };
        let lines = strays.iter().map(|change| Line {
            path: change.path.clone(),
            why: held
                .contains(&change.path)
                .then(|| self.rules.document(change).unwrap_or(PathWhy::Code)),
        });
        if let Some(why) = why {
            entry.verdict = Err(why.clone());
            entry.paths.clear();
        }
        entry.paths.extend(lines);
    }
}
