//! The fold of an issue: its state from its records. The same records give the same issue on every machine, whatever
//! the order in which they came.
//!
//! A field with one value has the values that nobody who wrote it later had seen: one, or several that were written
//! apart, of which the one with the later date is shown. A member of a set is there as long as one record put it there whose effect no later record, knowing of it,
//! took away. Lines of the description merge three ways.

mod brought;
mod permitted;

use super::event::{Change, IssueEvent};
use super::limits::can_be;
use super::repeat::Repeat;
use super::solution::{Failed, Proposal, Solution};
use super::{
    Apart, Comment, Criterion, ForIt, Issue, IssueId, Link, LinkKind, PRIORITY, Said, Status,
    Texts, Version, text,
};
use crate::causality::Causality;
use crate::lease::{Claim, seconds_of};
use crate::note::Note;
use crate::op::{Body, Operation};
use crate::session::{Signed, Stamped, recorded, signed};
use crate::task::world::Condition;
use crate::words::Word;
use loopx_base::id::OpId;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

mod undone;
mod walk;
mod ways;

pub(super) use walk::Walk;

use undone::{overruled, taken_back};

/// An issue as its records give it.
#[derive(Clone, Debug, PartialEq)]
pub struct Read {
    pub issue: Issue,
    pub texts: Texts,
}

/// A field that has one value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Field {
    Title,
    Description,
    Kind,
    Status,
    Priority,
    Milestone,
    Due,
    Defer,
    Estimate,
    Repeat,
    Assignee,
    Source,
    Made,
    Place,
    /// A field without a counterpart.
    Kept(String),
    /// Tick of this criterion, or none.
    Tick(String),
    Bound,
    /// Score that somebody gave this solution; `Rejected`: whether it is rejected.
    Score(OpId),
    Rejected(OpId),
    Failed,
}

/// A member of a field that is a set.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Member {
    Label(String),
    Link(Link),
    Criterion(String),
    Session(ForIt),
    Said(Said),
    Until(Condition),
}

/// Effect of a change, and the part that it changes.
enum Effect {
    Write(Field),
    Put(Member),
    Take(Member),
    /// Change that is kept as it is: no later record changes it.
    Keep,
}

impl Effect {
    fn of(change: &Change) -> Self {
        match change {
            Change::Title(_) => Effect::Write(Field::Title),
            Change::Description(_) => Effect::Write(Field::Description),
            Change::Kind(_) => Effect::Write(Field::Kind),
            Change::Status(_) => Effect::Write(Field::Status),
            Change::Priority(_) => Effect::Write(Field::Priority),
            Change::Milestone(_) => Effect::Write(Field::Milestone),
            Change::Due(_) => Effect::Write(Field::Due),
            Change::Defer(_) => Effect::Write(Field::Defer),
            Change::Estimate(_) => Effect::Write(Field::Estimate),
            Change::Repeat(_) => Effect::Write(Field::Repeat),
            Change::Assignee(_) => Effect::Write(Field::Assignee),
            Change::Source(_) => Effect::Write(Field::Source),
            Change::Tick(text) | Change::Untick(text) => Effect::Write(Field::Tick(text.clone())),
            Change::Label(label) => Effect::Put(Member::Label(label.clone())),
            Change::Unlabel(label) => Effect::Take(Member::Label(label.clone())),
            Change::Link(link) => Effect::Put(Member::Link(link.clone())),
            Change::Unlink(link) => Effect::Take(Member::Link(link.clone())),
            Change::Criterion(text) => Effect::Put(Member::Criterion(text.clone())),
            Change::DropCriterion(text) => Effect::Take(Member::Criterion(text.clone())),
            Change::Until(one) => Effect::Put(Member::Until(one.clone())),
            Change::NotUntil(one) => Effect::Take(Member::Until(one.clone())),
            Change::Session(one) => Effect::Put(Member::Session(one.clone())),
            Change::Made(_) => Effect::Write(Field::Made),
            Change::Place(_) => Effect::Write(Field::Place),
            Change::Kept(kept) => Effect::Write(Field::Kept(kept.name.clone())),
            Change::Said(said) => Effect::Put(Member::Said(said.clone())),
            Change::Solution(_) => Effect::Keep,
            Change::Bind(_) => Effect::Write(Field::Bound),
            Change::Score { solution, .. } => Effect::Write(Field::Score(solution.clone())),
            Change::Reject { solution, .. } => Effect::Write(Field::Rejected(solution.clone())),
            Change::Fail(_) | Change::Retry {} => Effect::Write(Field::Failed),
        }
    }
}

/// A change that put a member there: the place of its record, and its own place within that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Put {
    at: usize,
    place: usize,
}

/// The values of a field that nobody had seen who wrote it later, by their dates, with the place of their record.
type Heads = Vec<(usize, Change)>;

struct Folding<'o> {
    ops: Vec<&'o Operation>,
    cause: Causality,
    fields: BTreeMap<Field, Heads>,
    members: BTreeMap<Member, Vec<Put>>,
    /// Every text that the description had, with the place of its record.
    descriptions: Vec<(usize, String)>,
    claim: Option<(usize, Stamped<Claim>)>,
    /// Claims of somebody who knew nothing of the one that came before, or did not name it.
    beside: Vec<(usize, Stamped<Claim>)>,
    comments: Vec<Comment>,
    solutions: Vec<(usize, Proposal)>,
    /// The records of solutions that another clone brought, too, each with the record that came first.
    same: BTreeMap<OpId, OpId>,
    failures: Vec<Failed>,
    needs: BTreeSet<String>,
    /// Set when the issue was in the queue as somebody began it.
    was_queued: bool,
    created: Option<Signed>,
}

/// Folds the records of an issue; nothing where it never came to be, or where that was taken back.
pub fn fold(id: &IssueId, ops: &[Operation]) -> Option<Read> {
    folded(id, ops, None)
}

/// Folds the records of an issue with a word behind them.
pub fn fold_with(id: &IssueId, ops: &[Operation], word: &Word) -> Option<Read> {
    folded(id, ops, Some(word))
}

/// Statement that only a person makes of an issue, and that holds once this word stands behind its records and not
/// before: that the issue is resolved, that a rejected solution will do after all, what somebody's score is.
pub fn persons_word(id: &IssueId, ops: &[Operation], word: &Word) -> Option<&'static str> {
    let before = fold(id, ops);
    let after = folded(id, ops, Some(word))?;
    let is_resolved = |read: &Read| read.issue.status == Status::Resolved;
    if is_resolved(&after) && !before.as_ref().is_some_and(is_resolved) {
        return Some("resolving an issue");
    }
    let before = before.map_or_else(Vec::new, |read| read.texts.solutions);
    let known = |now: &Solution| before.iter().find(|one| one.op == now.op);
    for now in &after.texts.solutions {
        let was = known(now);
        if now.rejected.is_none() && was.is_some_and(|was| was.rejected.is_some()) {
            return Some("binding a rejected solution");
        }
        if was.map_or(&None, |was| &was.scored) != &now.scored {
            return Some("a score in place of the audit");
        }
    }
    None
}

fn folded(id: &IssueId, ops: &[Operation], word: Option<&Word>) -> Option<Read> {
    let sorted = in_order(ops);
    let cause = Causality::of(&sorted);
    let off = taken_back(&sorted, &cause, word);
    let mut folding = Folding::of(sorted, cause);
    folding.records(id, 0..folding.ops.len(), &off);
    let created = folding.created.clone()?;
    Some(folding.finish(id, created))
}

/// Records in the order in which they are folded.
pub(super) fn in_order(ops: &[Operation]) -> Vec<&Operation> {
    let mut sorted: Vec<&Operation> = ops.iter().collect();
    sorted.sort_by_cached_key(|op| (op.seq, dated(op)));
    sorted
}

/// The place of a record among those whose writers knew nothing of each other: by its date, then by who wrote it. Ids are
/// random, and decide only between two records of one person and one second.
fn dated(op: &Operation) -> (Option<i64>, &str, &str, &OpId) {
    (seconds_of(&op.at), &op.by.name, &op.by.email, &op.op)
}

impl<'o> Folding<'o> {
    /// The fold before its first record.
    fn of(ops: Vec<&'o Operation>, cause: Causality) -> Self {
        Folding {
            cause,
            ops,
            fields: BTreeMap::new(),
            members: BTreeMap::new(),
            descriptions: Vec::new(),
            claim: None,
            beside: Vec::new(),
            comments: Vec::new(),
            solutions: Vec::new(),
            same: BTreeMap::new(),
            failures: Vec::new(),
            needs: BTreeSet::new(),
            was_queued: false,
            created: None,
        }
    }

    /// Forgets what was folded.
    fn begin_anew(&mut self) {
        let ops = std::mem::take(&mut self.ops);
        let cause = std::mem::take(&mut self.cause);
        *self = Folding::of(ops, cause);
    }

    /// Folds records but those that were taken back.
    fn records(&mut self, id: &IssueId, places: Range<usize>, off: &BTreeSet<&OpId>) {
        for at in places {
            if !off.contains(&self.ops[at].op) {
                self.record(id, at);
            }
        }
    }

    fn record(&mut self, id: &IssueId, at: usize) {
        let op = self.ops[at];
        match &op.body {
            Body::Issue(event) => {
                if matches!(event, IssueEvent::Created { .. }) {
                    self.created.get_or_insert_with(|| signed(op));
                }
                self.event(id, at, event);
            }
            // The word stays in the log, and what it takes back is not shown.
            Body::Note(Note::Withdrawn { note, .. }) => {
                self.comments.retain(|comment| comment.op != *note);
            }
            Body::Note(note) => self.comments.push(Comment {
                op: op.op.clone(),
                seq: op.seq,
                by: op.by.clone(),
                at: op.at.clone(),
                kind: note.kind_word().to_owned(),
                text: note.text().to_owned(),
                first: None,
            }),
            Body::Unknown(unknown) => drop(self.needs.insert(unknown.needs.to_string())),
            Body::Log(_) | Body::Session(_) | Body::Task(_) => {}
        }
    }

    /// The status of what was folded so far; nothing where the issue is not there.
    fn status(&self) -> Option<Status> {
        self.created.as_ref()?;
        Some(match self.value(&Field::Status) {
            Some(Change::Status(status)) => *status,
            _ => Status::Open,
        })
    }

    fn event(&mut self, id: &IssueId, at: usize, event: &IssueEvent) {
        for (place, change) in event.changes().iter().enumerate() {
            if !can_be(id, change) || !self.is_permitted(at, event, change) {
                continue;
            }
            let change = &*self.of_first(change);
            match Effect::of(change) {
                Effect::Write(field) => self.write(at, field, change.clone()),
                Effect::Put(member) => {
                    let puts = self.members.entry(member).or_default();
                    puts.push(Put { at, place });
                }
                Effect::Take(member) => {
                    if let Some(there) = self.members.get_mut(&member) {
                        there.retain(|put| put.at == at || !self.cause.saw(at, put.at));
                    }
                }
                Effect::Keep => {}
            }
            match change {
                Change::Status(status) if status.is_final() => self.release(at),
                Change::Solution(proposal) => self.proposed(at, proposal),
                Change::Fail(solution) => self.failed(at, solution),
                _ => {}
            }
        }
        match event {
            IssueEvent::Claimed { claim, .. } => self.claimed(at, claim),
            IssueEvent::Released { claim } if self.gives_back(at, claim.as_ref()) => {
                self.release(at);
                self.write(at, Field::Status, Change::Status(self.given_back()));
            }
            IssueEvent::Created { .. }
            | IssueEvent::Changed { .. }
            | IssueEvent::Released { .. }
            | IssueEvent::Solution { .. } => {}
        }
    }

    fn claimed(&mut self, at: usize, claim: &Claim) {
        let passes_over = self.passes_over(at, claim);
        let claim = recorded(self.ops[at], claim.clone());
        if passes_over {
            self.beside.push((at, claim));
            return;
        }
        self.beside.retain(|(other, _)| !self.cause.saw(at, *other));
        match self.claim.take() {
            // Of two that knew nothing of each other the one that a remote took has it, else the earlier one.
            Some(held) if !self.cause.saw(at, held.0) => {
                let (first, other) = if self.is_there(at) && !self.is_there(held.0) {
                    ((at, claim), held)
                } else {
                    (held, (at, claim))
                };
                self.claim = Some(first);
                self.beside.push(other);
            }
            _ => self.claim = Some((at, claim)),
        }
        self.write(at, Field::Status, Change::Status(Status::InProgress));
    }

    /// Tells whether a claim went to a remote before it stood anywhere else.
    fn is_there(&self, at: usize) -> bool {
        matches!(&self.ops[at].body, Body::Issue(event) if event.is_there())
    }

    fn release(&mut self, at: usize) {
        let is_seen = |other: usize| other == at || self.cause.saw(at, other);
        if self.claim.as_ref().is_some_and(|(held, _)| is_seen(*held)) {
            self.claim = None;
        }
        self.beside.retain(|(other, _)| !is_seen(*other));
        if self.claim.is_none() && !self.beside.is_empty() {
            self.claim = Some(self.beside.remove(0));
        }
    }

    fn write(&mut self, at: usize, field: Field, change: Change) {
        if change == Change::Status(Status::InProgress) {
            match self.value(&Field::Status) {
                Some(Change::Status(Status::InProgress)) => {}
                before => self.was_queued = before == Some(&Change::Status(Status::Queued)),
            }
        }
        let cause = &self.cause;
        let heads = self.fields.entry(field.clone()).or_default();
        // Within one record the last word counts.
        heads.retain(|(head, _)| *head != at && !cause.saw(at, *head));
        let dated = |at: usize| dated(self.ops[at]);
        let place = |heads: &Heads| heads.partition_point(|(head, _)| dated(*head) < dated(at));
        if let Change::Description(text) = &change {
            self.descriptions.push((at, text.clone()));
        }
        heads.insert(place(heads), (at, change));
    }

    /// Merges the descriptions that were written apart, once all records are folded: until then each stands for what its own
    /// writer wrote, so that whoever writes over one of them takes nothing of the others away.
    fn merge_descriptions(&mut self) {
        let Some(mut heads) = self.fields.remove(&Field::Description) else {
            return;
        };
        heads.sort_by_key(|(at, _)| *at);
        let (cause, mut merged) = (&self.cause, Heads::new());
        for (at, change) in heads {
            let Change::Description(mut text) = change else {
                continue;
            };
            let mut rest = Heads::new();
            for (head, other) in merged {
                let Change::Description(other) = other else {
                    continue;
                };
                let base = self.descriptions.iter().rev();
                let base = base.filter(|(one, _)| *one != at && *one != head);
                let mut base = base.filter(|(one, _)| cause.saw(at, *one) && cause.saw(head, *one));
                let base = base.next().map_or("", |(_, text)| text.as_str());
                match text::merge(base, &other, &text) {
                    Some(both) => text = both,
                    // Each has all that the other one wrote elsewhere: whoever takes one of them loses nothing of that.
                    None => {
                        let whole = text::merge_over(base, &other, &text);
                        text = text::merge_over(base, &text, &other);
                        rest.push((head, Change::Description(whole)));
                    }
                }
            }
            rest.push((at, Change::Description(text)));
            merged = rest;
        }
        merged.sort_by_key(|(at, _)| dated(self.ops[*at]));
        self.fields.insert(Field::Description, merged);
    }

    /// The value of a field: of several the one with the later date.
    fn value(&self, field: &Field) -> Option<&Change> {
        self.fields.get(field)?.last().map(|(_, change)| change)
    }

    fn finish(mut self, id: &IssueId, created: Signed) -> Read {
        self.said();
        self.merge_descriptions();
        let solutions = self.solutions();
        let status = self.status().unwrap_or(Status::Open);
        let last = self.ops.last();
        let issue = Issue {
            id: id.clone(),
            title: self.title(),
            kind: self.kind(),
            status,
            reason: self.reason(status),
            priority: self.priority(),
            labels: self.labels(),
            milestone: self.text(&Field::Milestone),
            due: self.text(&Field::Due),
            defer: self.text(&Field::Defer),
            until: self.until(),
            held: Vec::new(),
            estimate: self.estimate(),
            repeat: self.repeat().map(Box::new),
            assignee: self.text(&Field::Assignee),
            criteria: self.criteria(),
            links: self.links(),
            sessions: self.sessions(),
            in_session: self.in_session(),
            running: None,
            running_by: None,
            running_beside: Vec::new(),
            source: self.source(),
            made: self.made(),
            place: self.place(),
            claim: self
                .claim
                .as_ref()
                .map(|(_, claim)| Box::new(claim.clone())),
            bound: self.bound(&solutions).map(Box::new),
            solutions: solutions.len(),
            comments: self.comments.len(),
            changed: last.map_or_else(|| created.clone(), |op| signed(op)),
            created,
            apart: self.apart(&solutions),
            overruled: overruled(&self.ops, &self.cause).map(Box::new),
            needs: self.needs.iter().cloned().collect(),
            seq: last.map_or(0, |op| op.seq),
            newest: self.newest(),
        };
        Read {
            issue,
            texts: Texts {
                description: self.description(),
                kept: self.kept(),
                comments: self.comments,
                solutions,
                failures: self.failures,
            },
        }
    }

    fn title(&self) -> String {
        match self.value(&Field::Title) {
            Some(Change::Title(title)) => title.clone(),
            _ => String::new(),
        }
    }

    fn description(&self) -> String {
        match self.value(&Field::Description) {
            Some(Change::Description(text)) => text.clone(),
            _ => String::new(),
        }
    }

    fn kind(&self) -> String {
        match self.value(&Field::Kind) {
            Some(Change::Kind(kind)) => kind.clone(),
            _ => "task".to_owned(),
        }
    }

    fn priority(&self) -> u8 {
        match self.value(&Field::Priority) {
            Some(Change::Priority(priority)) => *priority,
            _ => PRIORITY,
        }
    }

    fn estimate(&self) -> Option<u32> {
        match self.value(&Field::Estimate) {
            Some(Change::Estimate(minutes)) => *minutes,
            _ => None,
        }
    }

    fn repeat(&self) -> Option<Repeat> {
        match self.value(&Field::Repeat) {
            Some(Change::Repeat(repeat)) => repeat.clone(),
            _ => None,
        }
    }

    /// The value of a field that is a text, or that nobody filled.
    fn text(&self, field: &Field) -> Option<String> {
        match self.value(field) {
            Some(
                Change::Milestone(value)
                | Change::Due(value)
                | Change::Defer(value)
                | Change::Assignee(value),
            ) => value.clone(),
            _ => None,
        }
    }

    /// Reason why the issue ended, from the record that ended it.
    fn reason(&self, status: Status) -> Option<String> {
        let heads = self.fields.get(&Field::Status)?;
        let (at, _) = heads.last().filter(|_| status.is_final())?;
        self.ops[*at].reason.clone()
    }

    /// The members that are there, in the order in which they came.
    fn there<'s, T>(&'s self, pick: impl Fn(&'s Member) -> Option<T>) -> Vec<T> {
        let mut found: Vec<(usize, T)> = self
            .members
            .iter()
            .filter_map(|(member, put)| Some((put.iter().min()?.at, pick(member)?)))
            .collect();
        // What came by one record keeps the order of its name: the sort is stable.
        found.sort_by_key(|(at, _)| *at);
        found.into_iter().map(|(_, one)| one).collect()
    }

    fn labels(&self) -> Vec<String> {
        let mut labels = self.there(|member| match member {
            Member::Label(label) => Some(label.clone()),
            _ => None,
        });
        labels.sort();
        labels
    }

    fn links(&self) -> Vec<Link> {
        let mut links = self.there(|member| match member {
            Member::Link(link) => Some(link.clone()),
            _ => None,
        });
        links.sort();
        links
    }

    fn until(&self) -> Vec<Condition> {
        let mut all = self.there(|member| match member {
            Member::Until(condition) => Some(condition.clone()),
            _ => None,
        });
        all.sort();
        all
    }

    fn sessions(&self) -> Vec<ForIt> {
        self.there(|member| match member {
            Member::Session(one) => Some(one.clone()),
            _ => None,
        })
    }

    /// The criteria, as whoever wrote them listed them.
    fn criteria(&self) -> Vec<Criterion> {
        let mut found: Vec<(Put, Criterion)> = self
            .members
            .iter()
            .filter_map(|(member, puts)| {
                let Member::Criterion(text) = member else {
                    return None;
                };
                let tick = self.value(&Field::Tick(text.clone()));
                let criterion = Criterion {
                    done: matches!(tick, Some(Change::Tick(_))),
                    text: text.clone(),
                };
                Some((*puts.iter().min()?, criterion))
            })
            .collect();
        found.sort_by_key(|(put, _)| *put);
        found.into_iter().map(|(_, one)| one).collect()
    }

    /// The fields with several values, and the claims that nobody knew of each other.
    fn apart(&self, solutions: &[Solution]) -> Vec<Apart> {
        // People know a solution by its name.
        let named = |text: String| {
            solutions.iter().fold(text, |text, one| {
                text.replace(one.op.short(), &one.proposal.name)
            })
        };
        let mut found = Vec::new();
        for (field, heads) in &self.fields {
            // Nobody can settle what only an import says.
            if matches!(field, Field::Made | Field::Place | Field::Kept(_)) {
                continue;
            }
            if heads.windows(2).all(|pair| pair[0].1 == pair[1].1) {
                continue;
            }
            let values = heads
                .iter()
                .map(|(at, change)| self.version(*at, value(field, change, named)));
            found.push(Apart {
                field: match field {
                    Field::Score(_) | Field::Rejected(_) => named(name(field)),
                    _ => name(field),
                },
                values: values.collect(),
            });
        }
        found.extend(self.parents_apart());
        found.extend(self.claims_apart());
        found
    }

    /// The claims of several worktrees that knew nothing of each other. Of two of one worktree, whose first one got no
    /// answer, nobody loses anything.
    fn claims_apart(&self) -> Option<Apart> {
        let (held, claim) = self.claim.as_ref()?;
        let is_others = |one: &&(usize, Stamped<Claim>)| one.1.value.owner != claim.value.owner;
        let others = self.beside.iter().filter(is_others).map(|(at, _)| *at);
        let all = [*held].into_iter().chain(others);
        let values = all.map(|at| self.version(at, self.ops[at].by.name.clone()));
        let values: Vec<Version> = values.collect();
        (values.len() > 1).then(|| Apart {
            field: "claim".to_owned(),
            values,
        })
    }

    /// Issues of which clones made this one a part, each without knowing of the other: it is a part of one.
    fn parents_apart(&self) -> Option<Apart> {
        let parents = self.there(|member| match member {
            Member::Link(link) if link.kind == LinkKind::Parent => Some(link.clone()),
            _ => None,
        });
        let version = |link: &Link| {
            let put = self.members.get(&Member::Link(link.clone()))?;
            Some(self.version(put.iter().min()?.at, link.to.to_string()))
        };
        (parents.len() > 1).then(|| Apart {
            field: "parent".to_owned(),
            values: parents.iter().filter_map(version).collect(),
        })
    }

    fn version(&self, at: usize, value: String) -> Version {
        let op = self.ops[at];
        let from = match &op.body {
            Body::Issue(event) => event.changes().iter().find_map(|change| match change {
                Change::Source(source) => Some(source.system.clone()),
                _ => None,
            }),
            _ => None,
        };
        Version {
            from,
            value,
            by: op.by.clone(),
            at: op.at.clone(),
            op: op.op.clone(),
        }
    }

    /// The records that no other one had seen.
    fn newest(&self) -> Vec<OpId> {
        let all: Vec<usize> = (0..self.ops.len()).collect();
        let newest = self.cause.newest(&all).into_iter();
        newest.map(|at| self.ops[at].op.clone()).collect()
    }
}

/// The value of a criterion that holds.
pub const TICKED: &str = "ticked";

/// The name of a criterion as a field that people wrote apart.
pub fn criterion_field(text: &str) -> String {
    format!("criterion {text:?}")
}

fn name(field: &Field) -> String {
    match field {
        Field::Title => "title".to_owned(),
        Field::Description => "description".to_owned(),
        Field::Kind => "kind".to_owned(),
        Field::Status => "status".to_owned(),
        Field::Priority => "priority".to_owned(),
        Field::Milestone => "milestone".to_owned(),
        Field::Due => "due".to_owned(),
        Field::Defer => "defer".to_owned(),
        Field::Estimate => "estimate".to_owned(),
        Field::Repeat => "repeat".to_owned(),
        Field::Assignee => "assignee".to_owned(),
        Field::Source => "source".to_owned(),
        Field::Made => "made".to_owned(),
        Field::Place => "place".to_owned(),
        Field::Kept(name) => name.clone(),
        Field::Tick(text) => criterion_field(text),
        Field::Bound => "solution".to_owned(),
        Field::Score(op) => format!("score of {}", op.short()),
        Field::Rejected(op) => format!("rejection of {}", op.short()),
        Field::Failed => "failure".to_owned(),
    }
}

/// The value that a change gives a field, with solutions by the names that `named` gives them.
fn value(field: &Field, change: &Change, named: impl Fn(String) -> String) -> String {
    match (field, change) {
        (_, Change::Reject { rejected, .. }) if *rejected => "rejected".to_owned(),
        (_, Change::Reject { .. }) => "accepted".to_owned(),
        (Field::Bound | Field::Score(_), _) => named(value_of(change)),
        _ => value_of(change),
    }
}

/// The value that a change gives, for people.
fn value_of(change: &Change) -> String {
    match change {
        Change::Description(text) => text.clone(),
        Change::Tick(_) => TICKED.to_owned(),
        Change::Untick(_) => "not ticked".to_owned(),
        Change::Title(title) => title.clone(),
        other => {
            let words = other.words();
            let value = words.split_once(' ').map(|(_, value)| value.to_owned());
            value.unwrap_or(words)
        }
    }
}
