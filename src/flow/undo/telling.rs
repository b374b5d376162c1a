//! The operation by which one command tells the past of a session anew, the state that follows, and what is told in the
//! sessions beside it.

use super::super::context::Context;
use super::super::transaction::{differences, texts_here};
use super::super::write_scope::{draft, seal};
use super::{Moved, is_by};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{command, hint};
use loopx_base::id::{OpId, SessionId};
use loopx_git::Identity;
use loopx_rules::op::{Body, Event, Operation, Write};
use loopx_rules::replay::{claims_beside, is_claim, undone, unfit_claims};
use loopx_rules::session::State;
use loopx_rules::task::graph::{Graph, Wait};
use loopx_rules::task::node::TaskId;
use loopx_rules::task::plan;
use loopx_rules::task::status::Status;
use loopx_rules::words::Word;
use loopx_store as store;
use loopx_store::Snapshot;
use std::collections::{BTreeMap, BTreeSet};

/// The past of a session as one command tells it anew.
pub(super) struct Telling<'t> {
    pub(super) ctx: &'t Context,
    pub(super) identity: &'t Identity,
    pub(super) before: &'t State,
    pub(super) operations: &'t [Operation],
    pub(super) reason: Option<&'t str>,
}

pub(super) type ToldAnew = (Operation, State, Vec<Moved>);

impl Telling<'_> {
    /// Says it, along with the claims that rest on what is taken back, or that went with what is brought back.
    pub(super) fn with_claims(&self, said: Word, moved: Vec<Moved>) -> Result<ToldAnew> {
        match said {
            Word::Redone { redone } => self.redone(redone, moved),
            Word::Undone { undone } => self.undone(undone, moved),
            other => {
                let (op, state) = self.say(other)?;
                Ok((op, state, moved))
            }
        }
    }

    fn undone(&self, mut undone: Vec<OpId>, mut moved: Vec<Moved>) -> Result<ToldAnew> {
        loop {
            let (op, state) = self.say(Word::Undone {
                undone: undone.clone(),
            })?;
            let mut claims = unfit_claims(self.before, &state, self.operations);
            claims.retain(|claim| !undone.contains(&claim.op));
            if claims.is_empty() {
                self.require_no_new_conflict(&op, &state, "undo")?;
                return Ok((op, state, moved));
            }
            for claim in claims {
                self.require_own_or_reason(claim)?;
                undone.push(claim.op.clone());
                moved.push(Moved::of(claim));
            }
        }
    }

    /// Refuses a claim to be taken from somebody without a reason.
    fn require_own_or_reason(&self, claim: &Operation) -> Result<()> {
        let has_reason = self.reason.is_some_and(|why| !why.trim().is_empty());
        if has_reason || is_by(claim, &self.identity.author) {
            return Ok(());
        }
        Err(Failure::usage(
            Code::ReasonRequired,
            format!(
                "`{}` (@{}) by {} depends on this step and is taken back too: taking a task from somebody else needs a reason",
                claim.word(),
                claim.seq,
                claim.by
            ),
        )
        .help(command!("undo --reason WHY").session(&self.before.id)))
    }

    fn redone(&self, redone: Vec<OpId>, moved: Vec<Moved>) -> Result<ToldAnew> {
        let is_redone = |op: &&Operation| redone.contains(&op.op);
        let named: Vec<&Operation> = self.operations.iter().filter(is_redone).collect();
        let claims = claims_beside(self.operations, &named);
        let with: Vec<OpId> = claims.iter().map(|op| op.op.clone()).collect();
        let all = [redone.clone(), with].concat();
        if !claims.is_empty() {
            let (op, state) = self.say(Word::Redone { redone: all })?;
            if self.require_no_new_conflict(&op, &state, "redo").is_ok() {
                let claims = claims.into_iter().map(Moved::of);
                return Ok((op, state, moved.into_iter().chain(claims).collect()));
            }
        }
        // Somebody else has the task by now: it comes back without the claim.
        let (op, state) = self.say(Word::Redone { redone })?;
        self.require_no_new_conflict(&op, &state, "redo")?;
        Ok((op, state, moved))
    }

    /// Tells the same in the sessions that a binding took a branch from: they have it again, and give it up once more where
    /// the binding comes back. Gives their names.
    pub(super) fn bound_beside(
        &self,
        snapshot: &Snapshot<'_>,
        moved: &[Moved],
        by: &Operation,
        edits: &mut store::Edits,
    ) -> Result<Vec<SessionId>> {
        let is_undo = matches!(by.said(), Some(Word::Undone { .. }));
        let is_moved = |op: &&Operation| moved.iter().any(|one| one.op == op.op);
        let mut told = Vec::new();
        for op in self.operations.iter().filter(is_moved) {
            let Some(Event::Bound { branch }) = op.event() else {
                continue;
            };
            let mut bound = snapshot.bound_to(branch)?;
            bound.retain(|id| *id != self.before.id);
            let others = if !is_undo {
                bound
            } else if bound.is_empty() {
                snapshot.active_ids()?
            } else {
                // Somebody else has it by now.
                continue;
            };
            for id in others {
                let Some(other) = snapshot.session(&id)? else {
                    continue;
                };
                let state = &other.state;
                let is_meant = if is_undo {
                    state.branch.is_none()
                } else {
                    state.branch.as_ref() == Some(branch)
                };
                if id == self.before.id || !state.is_active() || !is_meant {
                    continue;
                }
                let mut all = snapshot.operations(&other)?;
                let let_go = all.iter().find(|one| {
                    one.tx.is_some()
                        && one.tx == op.tx
                        && matches!(one.event(), Some(Event::Unbound))
                        && undone(&all).contains(&one.op) != is_undo
                });
                let Some(let_go) = let_go.map(|one| vec![one.op.clone()]) else {
                    continue;
                };
                let said = if is_undo {
                    Word::Undone { undone: let_go }
                } else {
                    Word::Redone { redone: let_go }
                };
                let mut draft = draft(self.identity, state, said);
                if let Some(tx) = &by.tx {
                    draft.tx.clone_from(tx);
                }
                let word = seal(&self.ctx.repo, &draft)?;
                all.push(word.clone());
                let after = store::replay(&self.ctx.repo, &id, &all)?;
                edits.record(&self.ctx.repo, Some(&other), &word, &after)?;
                told.push(id);
            }
        }
        Ok(told)
    }

    /// The operation that says it, and the state that follows.
    fn say(&self, said: Word) -> Result<(Operation, State)> {
        let repo = &self.ctx.repo;
        let id = &self.before.id;
        let mut operations = self.operations.to_vec();
        let mut draft = draft(self.identity, self.before, said);
        draft.reason = self.reason.map(str::to_owned);
        // The writes tell a reader what moved; the fold gets there without them.
        let op = seal(repo, &draft)?;
        operations.push(op.clone());
        let after = store::replay(repo, id, &operations)?;
        draft.writes = differences(&self.before.artifacts, &after.artifacts);
        draft.others = file_differences(self.before, &after);
        if draft.writes.is_empty() && draft.others.is_empty() {
            return Ok((op, after));
        }
        let op = seal(repo, &draft)?;
        operations.pop();
        operations.push(op.clone());
        let state = store::replay(repo, id, &operations)?;
        Ok((op, state))
    }

    /// Refuses to give a claim back where somebody has by now what only one task can have.
    fn require_apart(&self, after: &State, word: &str) -> Result<()> {
        let (policy, _) = self.ctx.policy_if_there(after)?;
        let apart = |state: &State| -> Vec<(TaskId, Wait)> {
            let texts = texts_here(self.ctx, state, &policy).unwrap_or_default();
            let Ok(nodes) = plan::now(&texts, state) else {
                return Vec::new();
            };
            let statuses = nodes.iter().map(|node| state.task_status(&node.id));
            let statuses: Vec<Status> = statuses.collect();
            Graph::of(&nodes).apart(&statuses)
        };
        let mut found = apart(after);
        if found.is_empty() {
            return Ok(());
        }
        let known = apart(self.before);
        found.retain(|pair| !known.contains(pair));
        let Some((task, wait)) = found.first() else {
            return Ok(());
        };
        let (other, why) = match wait {
            Wait::Resource { resource, task } => {
                (task, format!("only one of them can have {resource}"))
            }
            Wait::Alone { task } => (task, "one of them runs alone".to_owned()),
            _ => (task, wait.words()),
        };
        let is_held = |id: &TaskId| self.before.task_status(id) == Status::Claimed;
        let holder = if is_held(task) { task } else { other };
        Err(Failure::refused(
            Code::OperationRests,
            format!("{task} and {other} would both be claimed after this {word}, and {why}"),
        )
        .help(hint![
            "when it is done, or let go: ",
            command!("task show {holder}").session(&self.before.id)
        ]))
    }

    fn require_no_new_conflict(&self, op: &Operation, after: &State, word: &str) -> Result<()> {
        self.require_apart(after, word)?;
        let mut operations = self.operations.to_vec();
        operations.push(op.clone());
        require_no_new_conflict(self.before, after, &operations, word)
    }
}

/// Refuses to take back what something else rests on that stays.
fn require_no_new_conflict(
    before: &State,
    after: &State,
    operations: &[Operation],
    word: &str,
) -> Result<()> {
    // What a person had settled is open again where that is taken back.
    let settles = |op: &&Operation| matches!(op.said(), Some(Word::Resolved { .. }));
    let undone = operations.last().and_then(Operation::said);
    if let Some(Word::Undone { undone } | Word::Redone { redone: undone }) = undone
        && operations
            .iter()
            .filter(settles)
            .any(|op| undone.contains(&op.op))
    {
        return Ok(());
    }
    let known = |op: &OpId| before.conflicts.iter().any(|conflict| conflict.op == *op);
    let new = after.conflicts.iter().find(|conflict| !known(&conflict.op));
    let Some(new) = new else {
        return Ok(());
    };
    let id = &before.id;
    let rests = operations.iter().find(|op| op.op == new.op);
    let what = rests.map_or_else(String::new, |op| {
        format!("`{}` (@{}) of {}", op.word(), op.seq, op.by)
    });
    let refused = Failure::refused(
        Code::OperationRests,
        format!("{what} would not fit after this {word}: {}", new.why),
    );
    // A claim is no event that is taken back on its own.
    if let Some(Body::Task(event)) = rests.filter(|op| is_claim(op)).map(|op| &op.body) {
        return Err(refused.help(command!("task show {}", event.task()).session(id)));
    }
    Err(refused.help(hint![
        command!("undo --only {} --reason WHY", new.op).session(id),
        ", then again: ",
        match word {
            "undo" => command!("undo").session(id),
            _ => command!("redo").session(id),
        }
    ]))
}

/// The change of the files that are no artifacts.
fn file_differences(before: &State, after: &State) -> BTreeMap<String, Write> {
    let paths: BTreeSet<&String> = before.files.keys().chain(after.files.keys()).collect();
    let last = |state: &State, path: &str| state.files.get(path)?.last().cloned();
    let changed = paths
        .into_iter()
        .filter(|path| before.files.get(*path) != after.files.get(*path));
    changed
        .map(|path| {
            let (from, to) = (last(before, path), last(after, path));
            (path.clone(), Write { from, to })
        })
        .collect()
}
