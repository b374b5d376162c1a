//! Taking back what was done to an issue, and bringing it back. Nothing of the log goes away: a record says of others
//! that they do not count.

use super::change::shortened;
use super::sound::{Around, require_sound};
use super::{Plan, Step, Written, names, require_person, today, write};
use crate::flow::context::Context;
use crate::flow::watched::Watched;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{command, hint};
use loopx_base::id::{OpId, Person};
use loopx_rules::issue::event::{Change, IssueEvent};
use loopx_rules::issue::needs::{require_resolvable, require_step};
use loopx_rules::issue::{Issue, IssueId, Status, fold, fold_with, persons_word};
use loopx_rules::lease::Standing;
use loopx_rules::op::{Body, Operation};
use loopx_rules::words::Word;
use loopx_store::Snapshot;
use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Records that were taken back, or brought back, in words.
#[derive(Clone, Debug, Default)]
pub(crate) struct Moved {
    pub words: Vec<String>,
    /// A comment that was written since: it stays.
    pub comment: Option<u64>,
    /// The issues, with their titles.
    pub titles: Vec<(IssueId, String)>,
}

impl Moved {
    fn of<'o>(records: impl Iterator<Item = &'o Operation>) -> Self {
        let words = |op: &Operation| match &op.body {
            Body::Issue(IssueEvent::Changed { changes }) => {
                // That its program says so is in each record of an import.
                let is_said = |change: &&Change| !matches!(change, Change::Source(_));
                let words: Vec<String> =
                    changes.iter().filter(is_said).map(Change::words).collect();
                shortened(&words)
            }
            _ => op.word().to_owned(),
        };
        Moved {
            words: records.map(words).collect(),
            ..Moved::default()
        }
    }

    /// Adds what was moved in one more issue.
    fn add(&mut self, issue: &Issue, moved: Moved) {
        for word in moved.words {
            if !self.words.contains(&word) {
                self.words.push(word);
            }
        }
        self.comment = self.comment.or(moved.comment);
        self.titles.push((issue.id.clone(), issue.title.clone()));
    }
}

/// Takes back what a person did last to an issue: who asks, or with a reason whoever it was. `all`: also what the same
/// command did to other issues, where nothing was done to any of them since.
pub(crate) fn undo(
    ctx: &Context,
    typed: &str,
    reason: Option<&String>,
    all: bool,
) -> Result<Written<Moved>> {
    let me = ctx.repo.identity()?.author;
    let now = ctx.now();
    let request = (reason, "undo", all);
    around(
        ctx,
        typed,
        request,
        last_done,
        |snapshot, batch, (id, ops)| {
            let off = off(ops);
            let counts = |op: &&Operation| !off.contains(&op.op) && !op.is_passed_over();
            let is_of_batch = |op: &&Operation| op.tx == batch.tx && counts(op);
            if !ops.iter().any(|op| is_of_batch(&op)) {
                return Ok(None);
            }
            let last = ops.iter().rev().find(counts);
            let last = last.ok_or_else(|| nothing(id, "taken back"))?;
            if last.tx != batch.tx {
                return Err(Failure::refused(
                    Code::IssueUsed,
                    format!(
                        "{id}: `{}` (@{}) was done to it since",
                        last.word(),
                        last.seq
                    ),
                )
                .help(command!("issue log {id}")));
            }
            require_own(id, last, &me, (reason.is_some(), all))?;
            let undone: Vec<&Operation> = ops.iter().rev().filter(is_of_batch).collect();
            require_unused(snapshot, (id, batch), (ctx, now), ops, &undone)?;
            let word = Word::Undone {
                undone: undone.iter().map(|op| op.op.clone()).collect(),
            };
            let since = |op: &&Operation| matches!(op.body, Body::Note(_)) && op.seq > last.seq;
            let moved = Moved {
                comment: ops.iter().rev().find(since).map(|op| op.seq),
                ..Moved::of(undone.into_iter())
            };
            Ok(Some((word, moved)))
        },
    )
}

/// The command that did the last thing to an issue that counts.
fn last_done(id: &IssueId, ops: &[Operation]) -> Result<Option<String>> {
    let off = off(ops);
    let counts = |op: &&Operation| !off.contains(&op.op) && !op.is_passed_over();
    let last = ops.iter().rev().find(counts);
    let last = last.ok_or_else(|| {
        let nothing = nothing(id, "taken back");
        match fold(id, ops) {
            None => nothing.help(command!("issue redo {id}")),
            Some(_) => nothing,
        }
    })?;
    Ok(last.tx.clone())
}

/// Brings back what was taken back last; `all`: in each issue in which the same command took something back.
pub(crate) fn redo(
    ctx: &Context,
    typed: &str,
    reason: Option<&String>,
    all: bool,
) -> Result<Written<Moved>> {
    let request = (reason, "redo", all);
    around(ctx, typed, request, last_undone, |_, batch, (_, ops)| {
        let Some((_, undone)) = taken_back(ops).filter(|(op, _)| op.tx == batch.tx) else {
            return Ok(None);
        };
        let again: Vec<OpId> = undone.iter().rev().cloned().collect();
        let words = again
            .iter()
            .filter_map(|id| ops.iter().find(|op| op.op == *id));
        let moved = Moved::of(words);
        Ok(Some((Word::Redone { redone: again }, moved)))
    })
}

/// The command that took back what was taken back last.
fn last_undone(id: &IssueId, ops: &[Operation]) -> Result<Option<String>> {
    let last = taken_back(ops).ok_or_else(|| nothing(id, "brought back"))?;
    Ok(last.0.tx.clone())
}

/// The last word that takes records back, none of which was brought back since.
fn taken_back(ops: &[Operation]) -> Option<(&Operation, &[OpId])> {
    let off = off(ops);
    ops.iter().rev().find_map(|op| match op.said() {
        Some(Word::Undone { undone }) if undone.iter().all(|one| off.contains(one)) => {
            Some((op, undone.as_slice()))
        }
        _ => None,
    })
}

/// The records of one command that are taken back or brought back together, and the issues that have them.
struct Batch<'n> {
    tx: Option<String>,
    ids: HashSet<IssueId>,
    named: &'n OnceCell<Named>,
}

/// The issues that others name, each with those that do; read once, where something is asked of it.
type Named = HashMap<IssueId, Vec<IssueId>>;

impl Batch<'_> {
    /// An issue outside of the batch that names this one.
    fn naming(&self, snapshot: &Snapshot<'_>, id: &IssueId) -> Result<Option<IssueId>> {
        if self.named.get().is_none() {
            let mut named = Named::new();
            for other in super::all(snapshot)?.issues {
                for link in other.links {
                    named.entry(link.to).or_default().push(other.id.clone());
                }
            }
            self.named.get_or_init(|| named);
        }
        let naming = self.named.get().and_then(|named| named.get(id));
        let mut naming = naming.into_iter().flatten();
        Ok(naming.find(|other| !self.ids.contains(*other)).cloned())
    }
}

/// The failure of a whole batch with the issues of it that can be moved one by one.
fn with_single(failure: Failure, free: &[IssueId]) -> Failure {
    let (Some(first), Code::IssueUsed) = (free.first(), failure.code) else {
        return failure;
    };
    let names: Vec<&str> = free.iter().take(5).map(IssueId::as_str).collect();
    let rest = match free.len() {
        0..=5 => String::new(),
        all => format!(" and {} more", all - 5),
    };
    let message = format!(
        "{}; nothing is taken back; these can be taken back one by one: {}{rest}",
        failure.message,
        names.join(", ")
    );
    let alone = command!("issue undo {first}");
    let help = match failure.help.clone() {
        Some(help) => hint![help, "  or, one by one: ", alone],
        None => alone,
    };
    Failure { message, ..failure }.help(help)
}

/// The issues beside this one in which the same command wrote.
fn beside(
    snapshot: &Snapshot<'_>,
    of: &IssueId,
    tx: &str,
) -> Result<Vec<(IssueId, Vec<Operation>)>> {
    let mut ids = BTreeSet::new();
    snapshot.issue_ids(|id| ids.extend(IssueId::parse(id)))?;
    ids.remove(of);
    let mut found = Vec::new();
    for id in ids {
        let ops = snapshot.issue_records(&id)?.unwrap_or_default();
        if ops.iter().any(|op| op.tx.as_deref() == Some(tx)) {
            found.push((id, ops));
        }
    }
    Ok(found)
}

fn around(
    ctx: &Context,
    typed: &str,
    (reason, verb, all): (Option<&String>, &str, bool),
    tx: impl Fn(&IssueId, &[Operation]) -> Result<Option<String>>,
    decide: impl Fn(
        &Snapshot<'_>,
        &Batch<'_>,
        (&IssueId, &[Operation]),
    ) -> Result<Option<(Word, Moved)>>,
) -> Result<Written<Moved>> {
    write(ctx, |snapshot, identity| {
        let (id, ops) = names::logged(snapshot, typed)?;
        let tx = tx(&id, &ops)?;
        let mut parts = vec![(id.clone(), ops)];
        if let Some(tx) = tx.as_ref().filter(|_| all) {
            parts.extend(beside(snapshot, &id, tx)?);
        }
        let named = OnceCell::new();
        let of = |ids: &[(IssueId, Vec<Operation>)]| Batch {
            tx: tx.clone(),
            ids: ids.iter().map(|(id, _)| id.clone()).collect(),
            named: &named,
        };
        let batch = of(&parts);
        let alone = |failure: Failure| {
            let can = |part: &&(IssueId, Vec<Operation>)| {
                let batch = of(std::slice::from_ref(*part));
                matches!(decide(snapshot, &batch, (&part.0, &part.1)), Ok(Some(_)))
            };
            let free = parts.iter().filter(|_| all).filter(can);
            let free: Vec<IssueId> = free.map(|(id, _)| id.clone()).collect();
            with_single(failure, &free)
        };
        let mut steps = Vec::new();
        let mut value = Moved::default();
        let mut moves = Vec::new();
        for (id, ops) in &parts {
            let decided = decide(snapshot, &batch, (id, ops)).map_err(&alone)?;
            let Some((word, moved)) = decided else {
                continue;
            };
            if let Some(what) = persons_word(id, ops, &word) {
                require_person(ctx, what)?;
            }
            if let Some(after) = fold_with(id, ops, &word) {
                let before = super::read(snapshot, id)?.map(|read| read.issue);
                moves.push((before, after.issue));
            }
            let before = place(id, ops)?;
            value.add(&before, moved);
            steps.push(Step {
                before: Some(before),
                id: id.clone(),
                body: word.into(),
                reason: None,
            });
        }
        require_policy(ctx, &moves, verb == "redo")?;
        require_sound(snapshot, moves, &today(identity.judges_at()))?;
        Ok(Plan {
            what: format!("{verb} {}", value.words.join(", ")),
            reason: reason.cloned(),
            steps,
            value,
        })
    })
}

/// Refuses to bring back that an issue is resolved, or a status, where policy would refuse to say so now.
fn require_policy(ctx: &Context, moves: &[Around], is_redo: bool) -> Result<()> {
    for (before, after) in moves.iter().filter(|_| is_redo) {
        if let Some(before) = before {
            let follows = crate::flow::specs::policy(ctx)?.backlog.follows;
            require_step(before, after.status, &follows)?;
        }
    }
    let is_resolved = |issue: &Issue| issue.status == Status::Resolved;
    let turned = |(before, after): &&Around| {
        is_resolved(after) && before.as_ref().is_some_and(|one| !is_resolved(one))
    };
    for (_, after) in moves.iter().filter(turned) {
        let policy = crate::flow::specs::policy(ctx)?.backlog;
        require_resolvable(after, &policy.resolve)?;
    }
    Ok(())
}

/// The place of the next record. An issue whose beginning was taken back has a log all the same.
fn place(id: &IssueId, ops: &[Operation]) -> Result<Issue> {
    let mut issue = names::as_begun(id, ops)
        .ok_or_else(|| names::unknown(id.as_str()))?
        .issue;
    issue.seq = ops.iter().map(|op| op.seq).max().unwrap_or(0);
    let named: BTreeSet<&OpId> = ops.iter().flat_map(|op| &op.after).collect();
    let newest = ops.iter().filter(|op| !named.contains(&op.op));
    issue.newest = newest.map(|op| op.op.clone()).collect();
    Ok(issue)
}

/// The records that do not count.
pub(super) fn off(ops: &[Operation]) -> BTreeSet<OpId> {
    let mut off = BTreeSet::new();
    for op in ops {
        match op.said() {
            Some(Word::Undone { undone }) => off.extend(undone.iter().cloned()),
            Some(Word::Redone { redone }) => off.retain(|op| !redone.contains(op)),
            _ => {}
        }
    }
    off
}

fn nothing(id: &IssueId, what: &str) -> Failure {
    Failure::nothing(
        Code::NothingToUndo,
        format!("{id}: there is nothing that could be {what}"),
    )
    .help(command!("issue log {id}"))
}

/// Refuses to take back what others rest on: the session that was started for an issue, and the beginning of an issue
/// that somebody else spoke of or that others name.
fn require_unused(
    snapshot: &Snapshot<'_>,
    (id, batch): (&IssueId, &Batch<'_>),
    (ctx, now): (&Context, i64),
    ops: &[Operation],
    undone: &[&Operation],
) -> Result<()> {
    let refused = |what: String| Failure::refused(Code::IssueUsed, format!("{id}: {what}"));
    for op in undone {
        let Body::Issue(IssueEvent::Created { changes } | IssueEvent::Changed { changes }) =
            &op.body
        else {
            continue;
        };
        let session = changes.iter().find_map(|change| match change {
            Change::Session(one) => Some(&one.session),
            _ => None,
        });
        if let Some(session) = session {
            let what =
                format!("session {session} was started for it, and its end gives the issue back");
            return Err(refused(what).help(command!("abandon --reason WHY").session(session)));
        }
    }
    let is_begun = |op: &&&Operation| matches!(op.body, Body::Issue(IssueEvent::Created { .. }));
    let Some(begun) = undone.iter().find(is_begun) else {
        return Ok(());
    };
    let close = command!("issue close {id} --reason WHY");
    let is_comment =
        |op: &&Operation| matches!(op.body, Body::Note(_)) && op.by.email != begun.by.email;
    if let Some(comment) = ops.iter().find(is_comment) {
        return Err(refused(format!("{} said something of it", comment.by)).help(close));
    }
    let issue = fold(id, ops).map(|read| read.issue);
    let watched = Watched::of_issues(&ctx.repo, &issue, now);
    let claim = issue.as_ref().and_then(|issue| issue.claim.as_deref());
    let what = match watched.leases.standing(claim) {
        Standing::Own { .. } => Some("you have it in hand".to_owned()),
        Standing::Held(claim) => Some(format!("{} has it in hand", watched.whose(claim))),
        Standing::Free | Standing::Dead(_) => None,
    };
    if let Some(what) = what {
        return Err(refused(what).help(command!("issue release {id}")));
    }
    if let Some(other) = batch.naming(snapshot, id)? {
        return Err(refused(format!("{other} names it")).help(close));
    }
    Ok(())
}

fn require_own(
    id: &IssueId,
    op: &Operation,
    me: &Person,
    (has_reason, all): (bool, bool),
) -> Result<()> {
    if op.by.email == me.email || has_reason {
        return Ok(());
    }
    Err(Failure::usage(
        Code::ReasonRequired,
        format!(
            "`{}` of {id} is by {}: taking back what somebody else did needs a reason",
            op.word(),
            op.by
        ),
    )
    .help(if all {
        command!("issue undo {id} --all --reason WHY")
    } else {
        command!("issue undo {id} --reason WHY")
    }))
}
