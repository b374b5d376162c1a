//! The walk from what the target has to what it is to have, one step after the other.

use super::steps::{Span, Taken};
use super::word::{Ready, Word};
use super::{Account, Candidate, Entry, Landing, Objects, Rules, Step};
use loopx_base::failure::Result;
use loopx_base::id::{Oid, SessionId};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Accounts for everything that lands. A commit that nothing covers does not end the walk: the rest is
/// judged as if it had been there.
pub fn account(
    landing: &Landing,
    rules: &Rules,
    candidates: &[Candidate],
    objects: &dyn Objects,
) -> Result<Account> {
    let words: Vec<Word<'_>> = candidates.iter().map(Word::new).collect();
    let span = Span {
        landing,
        rules,
        words: &words,
        objects,
    };
    let without: Vec<Oid> = landing.old.iter().chain(&landing.tip).cloned().collect();
    let all = objects.between(&landing.new, &without)?;
    let mut walk = Walk {
        known: all.iter().cloned().collect(),
        children: children(objects, &all)?,
        entries: HashMap::new(),
        sessions: Vec::new(),
        origins: BTreeMap::new(),
        strays: BTreeMap::new(),
        span,
    };
    walk.run()?;
    let mut account = Account {
        entries: Vec::new(),
        sessions: std::mem::take(&mut walk.sessions),
        origins: std::mem::take(&mut walk.origins),
        strays: std::mem::take(&mut walk.strays),
    };
    for commit in all {
        let entry = match walk.entries.remove(&commit) {
            Some(entry) => entry,
            None => walk.span.refused(&commit, landing.old.as_ref())?,
        };
        account.entries.push(entry);
    }
    Ok(account)
}

struct Walk<'a> {
    span: Span<'a>,
    /// Commits that land.
    known: HashSet<Oid>,
    children: HashMap<Oid, Vec<Oid>>,
    entries: HashMap<Oid, Entry>,
    sessions: Vec<SessionId>,
    /// Reviewed commits, each with its session.
    origins: BTreeMap<Oid, SessionId>,
    strays: BTreeMap<SessionId, BTreeSet<String>>,
}

impl<'a> Walk<'a> {
    fn run(&mut self) -> Result<()> {
        let Some(mut x) = self.span.landing.old.clone() else {
            return Ok(());
        };
        let line = self.line()?;
        while x != self.span.landing.new {
            let taken = match self.forward(&x, &line)? {
                Some(taken) => Some(taken),
                None => {
                    let first = |commit: &Oid| -> Result<bool> {
                        Ok(self.span.objects.commit(commit)?.parents.first() == Some(&x))
                    };
                    let mut at = None;
                    for (index, commit) in line.iter().enumerate() {
                        if first(commit)? {
                            at = Some(index);
                            break;
                        }
                    }
                    let Some(at) = at else { break };
                    match self.span.step(&x, &line[at..], &x)? {
                        Some(taken) => Some(taken),
                        None => {
                            let next = line[at].clone();
                            let entry = self.span.refused(&next, Some(&x))?;
                            self.entries.insert(next.clone(), entry);
                            x = next;
                            continue;
                        }
                    }
                }
            };
            let Some(taken) = taken else { break };
            x = self.take(&x, taken)?;
        }
        Ok(())
    }

    /// Puts down what lands next on `x`, with what it rests on, and says where the target is then.
    fn take(&mut self, x: &Oid, taken: Taken) -> Result<Oid> {
        let span = &self.span;
        let strays = span.strays(x, &taken)?;
        let why = span.uncovered(x, &taken, &strays)?;
        for (commit, step) in &taken.steps {
            let mut entry = span.covered(commit, step.clone())?;
            if *commit == taken.end {
                span.put_down(&mut entry, &strays, why.as_ref());
            }
            self.entries.insert(commit.clone(), entry);
        }
        for (commit, step) in &taken.origins {
            if let Step::Forward(session) = step {
                self.origins.insert(commit.clone(), session.clone());
            }
        }
        let mut judged = HashSet::new();
        for session in taken.origins.iter().filter_map(|(_, step)| step.session()) {
            if !self.sessions.contains(session) {
                self.sessions.push(session.clone());
            }
            if !judged.insert(session) {
                continue;
            }
            let paths = span.strays_of(session, (x, &taken), &strays)?;
            let of = self.strays.entry(session.clone()).or_default();
            of.extend(paths);
        }
        Ok(taken.end)
    }

    /// Commits made on the target itself, as far as first parents tell.
    fn line(&self) -> Result<Vec<Oid>> {
        let mut line = Vec::new();
        let mut next = Some(self.span.landing.new.clone());
        while let Some(commit) = next.filter(|commit| self.known.contains(commit)) {
            next = self.span.objects.commit(&commit)?.parents.first().cloned();
            line.push(commit);
        }
        line.reverse();
        Ok(line)
    }

    /// The longest way that reviewed branches lead from `x`: all commits between were shown to a reviewer,
    /// or bring nothing new. It ends on the line, from which the walk can go on.
    fn forward(&self, x: &Oid, line: &[Oid]) -> Result<Option<Taken>> {
        let span = &self.span;
        let mut best: Option<Taken> = None;
        let mut held: Option<Taken> = None;
        for word in span.words {
            let Some(head) = word
                .candidate
                .verdict
                .as_ref()
                .and_then(|v| v.head.as_ref())
            else {
                continue;
            };
            if !self.known.contains(head) {
                continue;
            }
            let Some(ready) = word.ready(span)? else {
                continue;
            };
            let tail = self.tail(&ready, x)?;
            for length in (0..=tail.len()).rev() {
                let end = match length {
                    0 => head,
                    length => &tail[length - 1].0,
                };
                if !line.contains(end) || !span.objects.reaches(end, x)? {
                    continue;
                }
                let Some(steps) = span.shown(&ready, end, (x, x), &tail[..length])? else {
                    continue;
                };
                if steps.is_empty()
                    || ready.has_landed(span, x)?
                    || !span.is_first(&tail[..length], x)?
                {
                    continue;
                }
                let taken = Taken::of(steps, end.clone());
                let strays = span.strays(x, &taken)?;
                if span.uncovered(x, &taken, &strays)?.is_some() {
                    held = held.or(Some(taken));
                    continue;
                }
                if best
                    .as_ref()
                    .is_none_or(|known| known.steps.len() < taken.steps.len())
                {
                    best = Some(taken);
                }
                break;
            }
        }
        Ok(best.or(held))
    }

    /// Steps by which a reviewed branch goes on without anything new.
    fn tail(&self, ready: &Ready<'_, 'a>, x: &Oid) -> Result<Vec<(Oid, Step)>> {
        let mut tail: Vec<(Oid, Step)> = Vec::new();
        let mut end = ready.head.clone();
        'on: loop {
            for child in self.children.get(&end).into_iter().flatten() {
                if let Some(step) = ready.follows(&self.span, &end, child, x)? {
                    tail.push((child.clone(), step));
                    end = child.clone();
                    continue 'on;
                }
            }
            return Ok(tail);
        }
    }
}

/// Maps each of these commits to those that build on it.
fn children(objects: &dyn Objects, all: &[Oid]) -> Result<HashMap<Oid, Vec<Oid>>> {
    let mut found: HashMap<Oid, Vec<Oid>> = HashMap::new();
    for commit in all {
        for parent in objects.commit(commit)?.parents {
            found.entry(parent).or_default().push(commit.clone());
        }
    }
    Ok(found)
}
