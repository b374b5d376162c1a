//! Strays: paths that a landing changes on the target though no commit that it rests on does. Git carries a change to
//! where the target renamed its file, or the folder of a new one, and a merge may have a path as any of its parents had
//! it. What covers the commits does not cover these by itself.

use super::steps::{Span, Taken};
use super::{Change, Entry, Line, Mode, PathWhy, Step, Why};
use loopx_base::failure::Result;
use loopx_base::id::{Oid, SessionId};
use std::collections::{BTreeSet, HashSet};

/// A commit, with paths that it changes.
type Changed = (Oid, BTreeSet<String>);

/// Changes that land without a review.
struct Unreviewed {
    /// Commits that change something.
    changes: Vec<Changed>,
    /// The exceptions by which some land.
    by_key: HashSet<usize>,
    /// Commits that change paths which are no code, with these.
    documents: Vec<Changed>,
    /// Set when all changes are of another protected branch, and its documents stay where they are: what comes
    /// elsewhere is code then, or comes by a merge.
    is_code: bool,
}

/// The change of a plain file: that of a path which another commit touches too, so that its own modes say nothing.
fn plain(path: &str) -> Change {
    Change {
        path: path.to_owned(),
        old: Some(Mode::Plain),
        new: Some(Mode::Plain),
    }
}

impl Span<'_> {
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
        strays.retain(|change| {
            !taken.documents.contains(&change.path) || self.rules.document(change).is_some()
        });
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

    /// The paths that one session of what lands next changes on the target though none of its own commits does: the
    /// strays of all, and where git carries what is its own to a path that somebody else touches, also in the merge that a
    /// forge will make.
    pub(super) fn strays_of(
        &self,
        session: &SessionId,
        (x, taken): (&Oid, &Taken),
        strays: &[Change],
    ) -> Result<BTreeSet<String>> {
        let mut found: BTreeSet<String> = strays.iter().map(|change| change.path.clone()).collect();
        let (own, others): (Vec<_>, Vec<_>) = taken
            .origins
            .iter()
            .partition(|(_, step)| step.session() == Some(session));
        if others.is_empty() && self.landing.tip.is_none() {
            return Ok(found);
        }
        let mut changes = Vec::new();
        for (commit, step) in own {
            let paths = self.judged_changes(commit, step)?.into_iter();
            changes.push((commit.clone(), paths.map(|change| change.path).collect()));
        }
        found.extend(self.carried(x, taken, &changes)?);
        Ok(found)
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

    /// The reason why nothing covers some of what lands next on `x`. Where all of it was reviewed strays are the work of
    /// its sessions. What policy or a command let in follows no rename to where it would not have been let in.
    pub(super) fn uncovered(
        &self,
        x: &Oid,
        taken: &Taken,
        strays: &[Change],
    ) -> Result<Option<Why>> {
        let free = self.unreviewed(taken)?;
        if free.changes.is_empty() {
            return Ok(None);
        }
        let reviewed = taken.origins.iter().find_map(|(_, step)| match step {
            Step::Forward(session) | Step::Merge(session) => Some(session),
            _ => None,
        });
        let mut held: BTreeSet<String> = self.carried(x, taken, &free.changes)?;
        let documents = self.carried(x, taken, &free.documents)?;
        if reviewed.is_none() {
            held.extend(strays.iter().map(|change| change.path.clone()));
        }
        let is_free = |path: &String| {
            let stray = strays.iter().find(|change| change.path == *path).cloned();
            let change = stray.unwrap_or_else(|| plain(path));
            let mut exceptions = self.rules.exceptions(std::slice::from_ref(&change));
            match self.rules.document(&change) {
                None => true,
                Some(PathWhy::Code) if free.is_code && !documents.contains(path) => true,
                Some(_) => exceptions.any(|(number, _)| free.by_key.contains(&number)),
            }
        };
        held.retain(|path| !is_free(path));
        Ok((!held.is_empty()).then(|| Why::Stray {
            session: reviewed.cloned(),
            paths: held.into_iter().collect(),
        }))
    }

    /// Collects the changes without a review among the commits that land.
    fn unreviewed(&self, taken: &Taken) -> Result<Unreviewed> {
        let reviewed = |of: &SessionId| {
            taken.origins.iter().any(|(_, step)| {
                matches!(step, Step::Forward(session) | Step::Merge(session) if session == of)
            })
        };
        let mut found = Unreviewed {
            changes: Vec::new(),
            documents: Vec::new(),
            by_key: HashSet::new(),
            is_code: true,
        };
        for (commit, step) in &taken.origins {
            match step {
                Step::Archive(session) if reviewed(session) => continue,
                Step::Exception(number) => {
                    found.by_key.insert(*number);
                }
                Step::Archive(_) | Step::Made(_) | Step::Document | Step::Backport(_) => {}
                _ => continue,
            }
            let changes = self.judged_changes(commit, step)?;
            let is_code = |change: &&Change| self.rules.document(change) == Some(PathWhy::Code);
            let (_, rest): (Vec<&Change>, Vec<&Change>) = changes.iter().partition(is_code);
            let rest: BTreeSet<String> = rest.iter().map(|change| change.path.clone()).collect();
            // Code of another protected branch stays code, wherever it is.
            found.is_code &= changes.is_empty()
                || matches!(step, Step::Backport(_)) && self.is_there(commit, &rest)?;
            let paths: BTreeSet<String> = changes.into_iter().map(|change| change.path).collect();
            if !paths.is_empty() {
                found.changes.push((commit.clone(), paths));
            }
            if !rest.is_empty() {
                found.documents.push((commit.clone(), rest));
            }
        }
        Ok(found)
    }

    /// Tells whether a commit changes all of these paths.
    fn is_there(&self, commit: &Oid, paths: &BTreeSet<String>) -> Result<bool> {
        if paths.is_empty() || self.objects.commit(commit)?.parents.len() > 1 {
            return Ok(true);
        }
        let changes = self.own_changes(commit)?;
        let own: HashSet<&str> = changes.iter().map(|change| change.path.as_str()).collect();
        Ok(paths.iter().all(|path| own.contains(path.as_str())))
    }

    /// Lists the paths to which git carries what some commits change, in each merge that lands, and in the merge by
    /// which a forge will bring the landing to the target as that is now.
    fn carried(&self, x: &Oid, taken: &Taken, changes: &[Changed]) -> Result<BTreeSet<String>> {
        let mut merges: Vec<(Oid, Oid)> = Vec::new();
        for (commit, _) in taken.steps.iter().chain(&taken.origins) {
            if let [one, other] = self.objects.commit(commit)?.parents.as_slice() {
                merges.push((one.clone(), other.clone()));
                merges.push((other.clone(), one.clone()));
            }
        }
        if let Some((last, _)) = taken.origins.last() {
            merges.push((x.clone(), last.clone()));
        }
        if let Some(tip) = &self.landing.tip {
            merges.push((tip.clone(), taken.end.clone()));
        }
        let mut seen: HashSet<(Oid, Oid)> = HashSet::new();
        let mut found = BTreeSet::new();
        for (ours, theirs) in merges {
            if !seen.insert((ours.clone(), theirs.clone()))
                || self.objects.reaches(&theirs, &ours)?
                || self.objects.reaches(&ours, &theirs)?
            {
                continue;
            }
            let mut changed = BTreeSet::new();
            for (commit, paths) in changes {
                if self.objects.reaches(&theirs, commit)? && !self.objects.reaches(&ours, commit)? {
                    changed.extend(paths.iter().cloned());
                }
            }
            if !changed.is_empty() {
                found.extend(self.objects.carried(&ours, &theirs, &changed)?);
            }
        }
        Ok(found)
    }

    /// Puts strays down to the commit that brings them, with why nothing covers them.
    pub(super) fn put_down(&self, entry: &mut Entry, strays: &[Change], why: Option<&Why>) {
        let held: &[String] = match why {
            Some(Why::Stray { paths, .. }) => paths,
            _ => &[],
        };
        let is_new = |path: &&String| strays.iter().all(|change| change.path != **path);
        let more: Vec<Change> = held.iter().filter(is_new).map(|path| plain(path)).collect();
        let lines = strays.iter().chain(&more).map(|change| Line {
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
