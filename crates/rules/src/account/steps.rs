//! The steps that are no walk along a reviewed branch: from where the target is to the next commit, or the
//! next few, of its own line.

use super::word::{Ready, Word, is_landing};
use super::{Change, Depth, Landing, Merge, Node, Objects, PutDown, Rules, Step, Why};
use loopx_base::failure::Result;
use loopx_base::id::{Oid, SessionId};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Facts and rules by which every step is judged.
pub(super) struct Span<'a> {
    pub landing: &'a Landing,
    pub(super) rules: &'a Rules,
    pub(super) words: &'a [Word<'a>],
    pub objects: &'a dyn Objects,
}

/// The commits that land next.
pub(super) struct Taken {
    /// The commits that land, with the steps that cover them.
    pub(super) steps: Vec<(Oid, Step)>,
    /// The commits that these rest on: themselves, or what was reviewed and lands in another shape.
    pub(super) origins: Vec<(Oid, Step)>,
    /// Commit where the target is then.
    pub(super) end: Oid,
    /// Documents that the end has besides, as somebody may commit them without a session.
    pub(super) documents: BTreeSet<String>,
}

/// Documents that a squash may have beyond the code that was reviewed.
#[derive(Clone, Copy)]
enum Extra {
    Nothing,
    Documents,
}

impl Taken {
    /// Commits that land as they were made.
    pub(super) fn of(steps: Vec<(Oid, Step)>, end: Oid) -> Self {
        Taken {
            origins: steps.clone(),
            steps,
            end,
            documents: BTreeSet::new(),
        }
    }
}

impl<'a> Span<'a> {
    /// Tells whether the target has a commit.
    pub(super) fn has(&self, commit: &Oid, x: &Oid) -> Result<bool> {
        for at in std::iter::once(x).chain(&self.landing.tip) {
            if self.objects.reaches(at, commit)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn beyond(&self, end: &Oid, x: &Oid) -> Result<Vec<Oid>> {
        let without: Vec<Oid> = std::iter::once(x)
            .chain(&self.landing.tip)
            .cloned()
            .collect();
        self.objects.between(end, &without)
    }

    /// The sessions all of which is behind the end of `commits`, parents first, and that have not landed on `x`: a part of
    /// what was reviewed was reviewed by nobody. The lowest comes first.
    fn owners(&self, commits: &[Oid], x: &Oid) -> Result<Vec<Ready<'_, 'a>>> {
        let at: HashMap<&Oid, usize> = commits.iter().zip(0..).collect();
        let mut found = Vec::new();
        for word in self.words {
            if let Some(ready) = word.ready(self)?
                && let Some(place) = at.get(ready.head)
                && !ready.has_landed(self, x)?
            {
                found.push((*place, ready));
            }
        }
        found.sort_by_key(|(place, _)| *place);
        Ok(found.into_iter().map(|(_, ready)| ready).collect())
    }

    /// The session that a commit is put down to: one whose review showed it.
    fn owner<'r>(
        &self,
        commit: &Oid,
        lands: Option<&'r Ready<'_, 'a>>,
        others: &'r [Ready<'_, 'a>],
    ) -> Result<Option<SessionId>> {
        let (first, last) = match self.landing.put_down {
            PutDown::Highest => (lands, None),
            PutDown::Lowest => (None, lands),
        };
        for ready in first.into_iter().chain(others).chain(last) {
            if ready.owns(self, commit)? {
                return Ok(Some(ready.word.candidate.session.clone()));
            }
        }
        Ok(None)
    }

    /// The branch that may lend its commits, and has this one.
    pub(super) fn lender(&self, commit: &Oid) -> Result<Option<&str>> {
        for (branch, tip) in &self.landing.backports {
            if self.objects.reaches(tip, commit)? {
                return Ok(Some(branch));
            }
        }
        Ok(None)
    }

    /// Tells whether some review, or a branch that may lend its commits, has everything that a commit brings to `x`.
    pub(super) fn is_shown(&self, end: &Oid, x: &Oid) -> Result<bool> {
        let commits = self.beyond(end, x)?;
        let owners = self.owners(&commits, x)?;
        for commit in commits {
            if self.owner(&commit, None, &owners)?.is_none() && self.lender(&commit)?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The steps of a reviewed branch's commits up to `end`; `None` where one of them was never shown.
    pub(super) fn shown(
        &self,
        ready: &Ready<'_, 'a>,
        end: &Oid,
        (x, onto): (&Oid, &Oid),
        tail: &[(Oid, Step)],
    ) -> Result<Option<Vec<(Oid, Step)>>> {
        let mut steps = Vec::new();
        let commits = self.beyond(end, x)?;
        let owners = self.owners(&commits, onto)?;
        for commit in commits {
            // The side of a merge may have taken in what the target has.
            if x != onto && self.has(&commit, onto)? {
                continue;
            }
            let step = if let Some((_, step)) = tail.iter().find(|(known, _)| *known == commit) {
                step.clone()
            } else if let Some(session) = self.owner(&commit, Some(ready), &owners)? {
                Step::Forward(session)
            } else if let Some(branch) = self.lender(&commit)? {
                Step::Backport(branch.to_owned())
            } else {
                return Ok(None);
            };
            steps.push((commit, step));
        }
        Ok(Some(steps))
    }

    /// The step that leads from `x` along the line. `onto` is where the target is: `x` itself, or above it
    /// for the side of a merge, which has no merges of its own.
    pub(super) fn step(&self, x: &Oid, line: &[Oid], onto: &Oid) -> Result<Option<Taken>> {
        let Some(next) = line.first() else {
            return Ok(None);
        };
        let node = self.objects.commit(next)?;
        match node.parents.as_slice() {
            [parent] if parent == x => {}
            [parent, side] if parent == x && x == onto => {
                return self.joint(x, next, side, &node.tree);
            }
            _ => return Ok(None),
        }
        if self.objects.commit(x)?.tree == node.tree {
            // It changes nothing.
            let empty = vec![(next.clone(), Step::Document)];
            return Ok(Some(Taken::of(empty, next.clone())));
        }
        for depth in [Depth::Quick, Depth::Whole] {
            if let Some(taken) = self.squash((x, onto), next, &node, (depth, Extra::Nothing))? {
                // Where a branch takes back what it did, its first commits may have what all of it gives.
                let longer = match line.len() {
                    1 => None,
                    _ => self.rebase((x, onto), line)?,
                };
                let longer = longer.filter(|longer| longer.steps.len() > 1);
                return Ok(longer.or(Some(taken)));
            }
        }
        if let Some(taken) = self.rebase((x, onto), line)? {
            return Ok(Some(taken));
        }
        let step = match self.result_or_exception(next, onto)? {
            Some(step) => Some(step),
            None => self.backport((x, onto), next, &node)?,
        };
        let Some(step) = step else {
            return self.squash((x, onto), next, &node, (Depth::Whole, Extra::Documents));
        };
        let taken = vec![(next.clone(), step)];
        let is_new = self.is_first(&taken, onto)?;
        Ok(is_new.then(|| Taken::of(taken, next.clone())))
    }

    /// The ends of a reviewed branch that a forge may have squashed or picked: the reviewed commit, and the
    /// archive on top of it.
    fn ends(&self, ready: &Ready<'_, '_>, x: &Oid) -> Result<Vec<Oid>> {
        let mut ends = vec![ready.head.clone()];
        if let Some(result) = &ready.word.candidate.result
            && self.objects.has(result)?
            && ready.tail(self, result, x)?.is_some()
        {
            ends.push(result.clone());
        }
        Ok(ends)
    }

    fn squash(
        &self,
        (x, onto): (&Oid, &Oid),
        next: &Oid,
        node: &Node,
        (depth, extra): (Depth, Extra),
    ) -> Result<Option<Taken>> {
        let mut brought: Option<Vec<Change>> = None;
        let named = self.objects.named(next)?;
        for word in self.words {
            let Some(ready) = word.ready(self)? else {
                continue;
            };
            if depth == Depth::Whole && !named.contains(&word.candidate.session) {
                let changes = match &brought {
                    Some(changes) => changes,
                    None => {
                        let before = self.objects.commit(x)?.tree;
                        brought.insert(self.objects.changes(Some(&before), &node.tree)?)
                    }
                };
                if !self.touches(&ready, x, changes)? {
                    continue;
                }
            }
            for end in self.ends(&ready, x)? {
                let merged = self.objects.merge(x, &end, &node.tree, depth)?;
                if let Some(documents) = self.documents(merged, extra)
                    && let Some(origins) = self.origins(&ready, &end, (x, onto))?
                    // What would not be known again as the landing would let the verdict land twice.
                    && (documents.is_empty() || is_landing(self, ready.head, (next, next))?)
                {
                    let step = Step::Squash(word.candidate.session.clone());
                    return Ok(Some(Taken {
                        steps: vec![(next.clone(), step)],
                        origins,
                        end: next.clone(),
                        documents,
                    }));
                }
            }
        }
        Ok(None)
    }

    /// The documents that a tree has besides what merging gives; nothing where it is another one. What came behind the
    /// reviewed commit is not there to be asked: the branch went on by what needs no review.
    fn documents(&self, merged: Merge, extra: Extra) -> Option<BTreeSet<String>> {
        match (merged, extra) {
            (Merge::Same, _) => Some(BTreeSet::new()),
            (Merge::Other(changes), Extra::Documents) => {
                let mut all = changes.iter();
                let free = all.all(|change| self.rules.document(change).is_none());
                free.then(|| changes.into_iter().map(|change| change.path).collect())
            }
            _ => None,
        }
    }

    /// The commits of a reviewed branch that may land on `x` in another shape, with the steps by which they would
    /// land as they are: all of it was shown, and it has not landed.
    fn origins(
        &self,
        ready: &Ready<'_, 'a>,
        end: &Oid,
        (x, onto): (&Oid, &Oid),
    ) -> Result<Option<Vec<(Oid, Step)>>> {
        let Some(tail) = ready.tail(self, end, x)? else {
            return Ok(None);
        };
        let is_new = !ready.has_landed(self, x)? && !ready.has_landed(self, onto)?;
        if is_new && self.is_first(&tail, x)? && self.is_first(&tail, onto)? {
            return self.shown(ready, end, (x, onto), &tail);
        }
        Ok(None)
    }

    /// Tells whether no archive among these commits has been there before: taken back, it does not come again.
    pub(super) fn is_first(&self, tail: &[(Oid, Step)], x: &Oid) -> Result<bool> {
        for (commit, step) in tail {
            if matches!(step, Step::Archive(_)) && self.was_picked(commit, x)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Tells whether a reviewed branch and some changes have a path in common.
    pub(super) fn touches(
        &self,
        ready: &Ready<'_, '_>,
        x: &Oid,
        changes: &[Change],
    ) -> Result<bool> {
        let Some(base) = self.objects.met(x, ready.head)? else {
            return Ok(false);
        };
        let before = self.objects.commit(&base)?.tree;
        let after = self.objects.commit(ready.head)?.tree;
        let own = self.objects.changes(Some(&before), &after)?;
        let paths: HashSet<&str> = own.iter().map(|change| change.path.as_str()).collect();
        Ok(changes
            .iter()
            .any(|change| paths.contains(change.path.as_str())))
    }

    /// The commits of a reviewed branch, picked in order, the last of which has what merging it gives. Of a
    /// branch that stands on another one, the longer.
    fn rebase(&self, (x, onto): (&Oid, &Oid), line: &[Oid]) -> Result<Option<Taken>> {
        let mut best: Option<Taken> = None;
        for word in self.words {
            let Some(ready) = word.ready(self)? else {
                continue;
            };
            for end in self.ends(&ready, x)? {
                let Some(picked) = self.picked(x, line, &end)? else {
                    continue;
                };
                let Some(last) = picked.last().cloned() else {
                    continue;
                };
                let known = best.as_ref().map_or(0, |best| best.steps.len());
                let tree = self.objects.commit(&last)?.tree;
                if picked.len() > known
                    && self.objects.merge(x, &end, &tree, Depth::Whole)? == Merge::Same
                    && let Some(origins) = self.origins(&ready, &end, (x, onto))?
                {
                    let session = &word.candidate.session;
                    let steps = picked.into_iter();
                    let steps = steps.map(|commit| (commit, Step::Rebase(session.clone())));
                    best = Some(Taken {
                        steps: steps.collect(),
                        origins,
                        end: last,
                        documents: BTreeSet::new(),
                    });
                }
            }
        }
        Ok(best)
    }

    /// The first commits of a line, where they are the picks of all that a branch has beyond `x`.
    fn picked(&self, x: &Oid, line: &[Oid], end: &Oid) -> Result<Option<Vec<Oid>>> {
        let mut at = x.clone();
        let mut taken = Vec::new();
        let mut left = line.iter();
        for commit in self.beyond(end, x)? {
            if self.objects.commit(&commit)?.parents.len() != 1 {
                // A rebase leaves merges out; the tree at the end tells whether they mattered.
                continue;
            }
            if let Some(next) = left.as_slice().first() {
                let node = self.objects.commit(next)?;
                if node.parents.as_slice() == std::slice::from_ref(&at)
                    && self.objects.pick(&commit, &at, &node.tree)? == Merge::Same
                {
                    at = next.clone();
                    taken.push(at.clone());
                    left.next();
                    continue;
                }
            }
            // What the target has by other ways is left out too.
            let tree = self.objects.commit(&at)?.tree;
            if self.objects.pick(&commit, &at, &tree)? != Merge::Same {
                return Ok(None);
            }
        }
        Ok(Some(taken))
    }

    /// Step of a commit that a command made, or that policy lets in without a session.
    pub(super) fn result_or_exception(&self, commit: &Oid, onto: &Oid) -> Result<Option<Step>> {
        let node = self.objects.commit(commit)?;
        let [parent] = node.parents.as_slice() else {
            return Ok(None);
        };
        if let Some(session) = self.archive(commit, (parent, onto), &node)? {
            return Ok(Some(Step::Archive(session.clone())));
        }
        if let Some(made) = self.objects.made(commit)? {
            return Ok(Some(Step::Made(made)));
        }
        let before = self.objects.commit(parent)?.tree;
        let changes = self.objects.changes(Some(&before), &node.tree)?;
        if changes
            .iter()
            .all(|change| self.rules.document(change).is_none())
        {
            return Ok(Some(Step::Document));
        }
        for (number, key) in self.rules.exceptions(&changes) {
            if self.objects.is_signed(commit, key)? {
                return Ok(Some(Step::Exception(number)));
            }
        }
        Ok(None)
    }

    /// The session whose recorded archive a commit is, or cleanly picks.
    fn archive(
        &self,
        commit: &Oid,
        (parent, onto): (&Oid, &Oid),
        node: &Node,
    ) -> Result<Option<&SessionId>> {
        for word in self.words {
            let candidate = word.candidate;
            let Some(result) = &candidate.result else {
                continue;
            };
            let may = !matches!(
                word.flaw(self)?,
                Some(
                    Why::NotDone { .. }
                        | Why::NoVerdict(_)
                        | Why::Empty(_)
                        | Why::OtherTarget { .. }
                )
            );
            let is_it = || -> Result<bool> {
                if commit == result {
                    return Ok(true);
                }
                Ok(self.objects.has(result)?
                    && self.objects.pick(result, parent, &node.tree)? == Merge::Same
                    && !self.was_picked(result, parent)?
                    && !self.was_picked(result, onto)?)
            };
            if may && is_it()? && self.objects.is_archive(&candidate.session, result)? {
                return Ok(Some(&candidate.session));
            }
        }
        Ok(None)
    }

    /// A merge whose other side is covered commit by commit, and that adds nothing.
    fn joint(&self, x: &Oid, merge: &Oid, side: &Oid, tree: &Oid) -> Result<Option<Taken>> {
        if self.objects.merge(x, side, tree, Depth::Whole)? != Merge::Same {
            return Ok(None);
        }
        if let Some(branch) = self.lender(side)? {
            let step = |commit| (commit, Step::Backport(branch.to_owned()));
            let mut steps: Vec<(Oid, Step)> = self.beyond(side, x)?.into_iter().map(step).collect();
            steps.push((merge.clone(), Step::Joint));
            return Ok(Some(Taken::of(steps, merge.clone())));
        }
        if let Some(taken) = self.late((x, merge), side, tree)? {
            return Ok(Some(taken));
        }
        let mut line = Vec::new();
        let mut at = side.clone();
        while !self.has(&at, x)? {
            let parents = self.objects.commit(&at)?.parents;
            let parent = match parents.as_slice() {
                [parent] => parent,
                [one, other] if self.has(other, x)? => one,
                [one, other] if self.has(one, x)? => other,
                _ => return Ok(None),
            };
            line.push(at);
            at = parent.clone();
        }
        line.reverse();
        let mut all = Taken::of(Vec::new(), merge.clone());
        let mut left = line.as_slice();
        while let Some(next) = left.first() {
            let node = self.objects.commit(next)?;
            let taken = match node.parents.as_slice() {
                // The side took in what the target has.
                [one, other] => {
                    let merged = self.objects.merge(one, other, &node.tree, Depth::Whole)?;
                    let step = (next.clone(), Step::Joint);
                    (merged == Merge::Same).then(|| Taken::of(vec![step], next.clone()))
                }
                _ => self.step(&at, left, x)?,
            };
            let Some(taken) = taken else {
                return Ok(None);
            };
            left = &left[taken.steps.len()..];
            all.steps.extend(taken.steps);
            all.origins.extend(taken.origins);
            at = taken.end;
        }
        all.steps.push((merge.clone(), Step::Joint));
        Ok(Some(all))
    }

    /// A merge of a branch whose reviewed commits have landed in another shape, and that brings what its archive made.
    fn late(&self, (x, merge): (&Oid, &Oid), side: &Oid, tree: &Oid) -> Result<Option<Taken>> {
        let node = Node {
            tree: tree.clone(),
            parents: vec![x.clone()],
        };
        let Some(session) = self.archive(merge, (x, x), &node)?.cloned() else {
            return Ok(None);
        };
        let mut words = self.words.iter();
        let word = words.find(|word| word.candidate.session == session);
        let Some((word, result)) =
            word.and_then(|word| Some((word, word.candidate.result.as_ref()?)))
        else {
            return Ok(None);
        };
        let Some(ready) = word.ready(self)? else {
            return Ok(None);
        };
        if !self.objects.reaches(side, result)? || !ready.has_landed(self, x)? {
            return Ok(None);
        }
        let Some(tail) = ready.tail(self, side, x)? else {
            return Ok(None);
        };
        let mut steps = Vec::new();
        for commit in self.beyond(side, x)? {
            let step = match tail.iter().find(|(known, _)| *known == commit) {
                Some((_, step)) => step.clone(),
                None if ready.owns(self, &commit)? => Step::Forward(session.clone()),
                None => return Ok(None),
            };
            steps.push((commit, step));
        }
        steps.push((merge.clone(), Step::Joint));
        Ok(Some(Taken {
            origins: vec![(result.clone(), Step::Archive(session))],
            steps,
            end: merge.clone(),
            documents: BTreeSet::new(),
        }))
    }

    /// A commit of another protected branch, picked clean.
    fn backport(&self, (x, onto): (&Oid, &Oid), next: &Oid, node: &Node) -> Result<Option<Step>> {
        let Some(from) = self.objects.picked_from(next)? else {
            return Ok(None);
        };
        if !self.objects.has(&from)? || self.objects.commit(&from)?.parents.is_empty() {
            return Ok(None);
        }
        let Some(branch) = self.lender(&from)? else {
            return Ok(None);
        };
        if self.objects.pick(&from, x, &node.tree)? != Merge::Same
            || self.was_picked(&from, x)?
            || self.was_picked(&from, onto)?
        {
            return Ok(None);
        }
        Ok(Some(Step::Backport(branch.to_owned())))
    }

    /// Tells whether some commit behind `x` brought all that the commit `from` changes. A commit that has the changes
    /// because it is older than what `from` takes back brought nothing.
    fn was_picked(&self, from: &Oid, x: &Oid) -> Result<bool> {
        if self.objects.reaches(x, from)? {
            return Ok(true);
        }
        let has = |commit: &Oid| -> Result<bool> {
            let tree = self.objects.commit(commit)?.tree;
            Ok(self.objects.pick(from, commit, &tree)? == Merge::Same)
        };
        let brought = self.own_changes(from)?;
        for commit in self.objects.between(x, std::slice::from_ref(from))? {
            let node = self.objects.commit(&commit)?;
            for parent in &node.parents {
                let before = self.objects.commit(parent)?.tree;
                let changes = self.objects.changes(Some(&before), &node.tree)?;
                if may_bring(&changes, &brought) && has(&commit)? && !has(parent)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

/// Tells whether a commit that changes this may have brought all or a part of that: a commit that touches none of the
/// paths did not, unless a folder was renamed meanwhile, which takes in what is new elsewhere.
fn may_bring(changes: &[Change], brought: &[Change]) -> bool {
    let moves = changes.iter().any(|change| change.new.is_none());
    let is_touched = |one: &Change| changes.iter().any(|change| change.path == one.path);
    brought
        .iter()
        .any(|one| is_touched(one) || moves && one.old.is_none())
}
