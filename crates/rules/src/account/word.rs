//! The reach of a session's verdict: which commits it was shown, up to where its branch went on without anything new,
//! and whether it has landed before.

use super::steps::Span;
use super::{Candidate, Change, Depth, Merge, Objects, Reviewed, Step, Why};
use crate::stage::Stage;
use loopx_base::failure::Result;
use loopx_base::id::Oid;
use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet};

/// Number of commits for which a branch is followed behind its reviewed commit at most.
const MOST_FOLLOWING: usize = 100;

/// A session with its verdict, and what was found out about it.
pub(super) struct Word<'a> {
    pub candidate: &'a Candidate,
    ready: OnceCell<Option<Why>>,
    own: OnceCell<HashSet<Oid>>,
    landed: RefCell<HashMap<Oid, bool>>,
}

/// A verdict that may be used.
#[derive(Clone, Copy)]
pub(super) struct Ready<'w, 'a> {
    pub word: &'w Word<'a>,
    pub head: &'w Oid,
    seen: Option<&'w Oid>,
}

impl<'a> Word<'a> {
    pub(super) fn new(candidate: &'a Candidate) -> Self {
        Word {
            candidate,
            ready: OnceCell::new(),
            own: OnceCell::new(),
            landed: RefCell::default(),
        }
    }

    /// The verdict, where it may be used on this target at all.
    pub(super) fn ready(&self, span: &Span<'_>) -> Result<Option<Ready<'_, 'a>>> {
        if self.flaw(span)?.is_some() {
            return Ok(None);
        }
        let Some(Reviewed {
            head: Some(head),
            seen,
            ..
        }) = &self.candidate.verdict
        else {
            return Ok(None);
        };
        Ok(Some(Ready {
            word: self,
            head,
            seen: seen.as_ref(),
        }))
    }

    /// Reason why the verdict may not be used.
    pub(super) fn flaw(&self, span: &Span<'_>) -> Result<Option<&Why>> {
        if self.ready.get().is_none() {
            let found = self.look(span)?;
            return Ok(self.ready.get_or_init(|| found).as_ref());
        }
        Ok(self.ready.get().and_then(Option::as_ref))
    }

    fn look(&self, span: &Span<'_>) -> Result<Option<Why>> {
        let objects = span.objects;
        let session = self.candidate.session.clone();
        let stage = self.candidate.stage;
        if stage != Stage::Done {
            return Ok(Some(Why::NotDone { session, stage }));
        }
        let Some(verdict) = &self.candidate.verdict else {
            return Ok(Some(Why::NoVerdict(session)));
        };
        if let Some(target) = &verdict.onto
            && *target != span.landing.target
        {
            let target = target.clone();
            return Ok(Some(Why::OtherTarget { session, target }));
        }
        let Some(head) = &verdict.head else {
            return Ok(Some(Why::Empty(session)));
        };
        for commit in std::iter::once(head).chain(&verdict.seen) {
            if !objects.has(commit)? {
                return Ok(Some(Why::NotHere(session)));
            }
        }
        let tree = objects.commit(head)?.tree;
        if tree != verdict.tree {
            return Ok(Some(Why::Uncommitted(session)));
        }
        if !verdict.reasoned
            && let Some(seen) = &verdict.seen
            && let Some(met) = objects.met(seen, head)?
            && objects.commit(&met)?.tree == tree
        {
            return Ok(Some(Why::Empty(session)));
        }
        Ok(None)
    }
}

impl<'w, 'a> Ready<'w, 'a> {
    /// Tells whether the review showed a commit.
    pub(super) fn owns(&self, span: &Span<'_>, commit: &Oid) -> Result<bool> {
        if self.word.own.get().is_none() {
            let without: Vec<Oid> = self.seen.into_iter().cloned().collect();
            let own = span.objects.between(self.head, &without)?;
            let _ = self.word.own.set(own.into_iter().collect());
        }
        Ok(self.word.own.get().is_some_and(|own| own.contains(commit)))
    }

    /// Tells whether the reviewed work has been on this line of history before `at`, whoever brought it there. A
    /// verdict lands once: work that was taken back since needs a new verdict.
    pub(super) fn has_landed(&self, span: &Span<'_>, at: &Oid) -> Result<bool> {
        let tips = std::iter::once(at).chain(&span.landing.tip);
        for tip in tips {
            let known = self.word.landed.borrow().get(tip).copied();
            let lands = match known {
                Some(known) => known,
                None => lands_in(span, self.head, tip)?,
            };
            self.word.landed.borrow_mut().insert(tip.clone(), lands);
            if lands {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The step by which a commit follows this branch's end without anything new: a clean merge of what the
    /// target has or another review covers, the session's archive, a document.
    pub(super) fn follows(
        &self,
        span: &Span<'_>,
        end: &Oid,
        commit: &Oid,
        x: &Oid,
    ) -> Result<Option<Step>> {
        let node = span.objects.commit(commit)?;
        match node.parents.as_slice() {
            [parent] if parent == end => span.result_or_exception(commit, x),
            [one, other] if one == end || other == end => {
                let side = if one == end { other } else { one };
                if !span.has(side, x)? && !span.is_shown(side, x)? {
                    return Ok(None);
                }
                let merged = span.objects.merge(one, other, &node.tree, Depth::Whole)?;
                let session = self.word.candidate.session.clone();
                let step = if one == x {
                    Step::Merge(session)
                } else {
                    Step::Forward(session)
                };
                Ok((merged == Merge::Same).then_some(step))
            }
            _ => Ok(None),
        }
    }

    /// The commits behind the reviewed one on the way to `end`, each with its step; `None` where something
    /// new is among them.
    pub(super) fn tail(
        &self,
        span: &Span<'_>,
        end: &Oid,
        x: &Oid,
    ) -> Result<Option<Vec<(Oid, Step)>>> {
        let mut found = Vec::new();
        let mut at = end.clone();
        while at != *self.head {
            if found.len() >= MOST_FOLLOWING || !span.objects.reaches(&at, self.head)? {
                return Ok(None);
            }
            let mut next = None;
            for parent in span.objects.commit(&at)?.parents {
                if span.objects.reaches(&parent, self.head)?
                    && let Some(step) = self.follows(span, &parent, &at, x)?
                {
                    next = Some((parent, step));
                    break;
                }
            }
            let Some((parent, step)) = next else {
                return Ok(None);
            };
            found.push((at, step));
            at = parent;
        }
        found.reverse();
        Ok(Some(found))
    }
}

/// Tells whether all that a branch brings has been in some commit behind `at`.
fn lands_in(span: &Span<'_>, head: &Oid, at: &Oid) -> Result<bool> {
    if span.objects.reaches(at, head)? {
        return Ok(true);
    }
    for commit in span.objects.between(at, std::slice::from_ref(head))? {
        if is_landing(span, head, (&commit, at))? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Tells whether a commit behind `at` has all that a branch brings, also with documents that changed along with it.
pub(super) fn is_landing(span: &Span<'_>, head: &Oid, (commit, at): (&Oid, &Oid)) -> Result<bool> {
    let objects = span.objects;
    let Some(base) = objects.met(at, head)? else {
        return Ok(false);
    };
    let base = objects.commit(&base)?.tree;
    let brought = objects.changes(Some(&base), &objects.commit(head)?.tree)?;
    let node = objects.commit(commit)?;
    let changes = objects.changes(Some(&base), &node.tree)?;
    let moves = changes.iter().any(|change| change.new.is_none());
    let paths = paths_of(&changes);
    // A folder that was renamed meanwhile takes in what is new elsewhere.
    let may = brought
        .iter()
        .all(|change| paths.contains(change.path.as_str()) || (moves && change.old.is_none()));
    if brought.is_empty() || !may {
        return Ok(false);
    }
    let is_free = |change: &Change| span.rules.document(change).is_none();
    let is_code = !brought.iter().all(is_free);
    for onto in std::iter::once(commit).chain(&node.parents) {
        let merged = match objects.merge(onto, head, &node.tree, Depth::Whole)? {
            Merge::Same => true,
            Merge::Other(changes) => is_code && changes.iter().all(is_free),
            Merge::Conflict => false,
        };
        if merged && brings(objects, head, onto, &paths_of(&brought))? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Tells whether a branch changes one of these paths since it met a commit. A branch that takes back what came later
/// does not, and an older commit that has the same content is no landing of the branch.
fn brings(objects: &dyn Objects, head: &Oid, onto: &Oid, paths: &HashSet<&str>) -> Result<bool> {
    let Some(met) = objects.met(onto, head)? else {
        return Ok(true);
    };
    let met = objects.commit(&met)?.tree;
    let changes = objects.changes(Some(&met), &objects.commit(head)?.tree)?;
    Ok(paths_of(&changes).intersection(paths).next().is_some())
}

fn paths_of(changes: &[Change]) -> HashSet<&str> {
    changes.iter().map(|change| change.path.as_str()).collect()
}
