//! Replaying operations: the one way from what happened to what is true.
//!
//! Total and deterministic: the same set of operations gives the same state, whatever the order in
//! which they arrived. What was undone is left out, unless its undo was undone too.

use super::artifact::Artifact;
use super::artifact_merge::{self, Joiner, NoJoiner, artifacts};
use super::causality::Causality;
use super::conflicts::{self, Fate, fates};
use super::op::{Body, Event, Operation};
use super::record::FORMAT;
use super::session::{
    Beside, BuildFacts, ClarifyFacts, FIRST_FOLD, FOLD, OpConflict, PlanFacts, State, signed,
};
use super::stage::Stage;
use super::words::Word;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_base::id::{Oid, OpId, SessionId};
use std::collections::{BTreeMap, BTreeSet};

/// The state that the first operation of a session makes.
pub fn begin(id: &SessionId, op: &Operation) -> Result<State> {
    let Some(Event::Started {
        uid,
        title,
        profile,
        stage,
        branch,
        base,
        issues,
    }) = op.event()
    else {
        return Err(Failure::internal(
            Code::OperationsIncomplete,
            format!(
                "session {id}: the first operation is `{}`, expected `start`",
                op.word()
            ),
        )
        .help(command!("fsck --repair")));
    };
    let artifacts = op
        .writes
        .iter()
        .filter_map(|(artifact, write)| Some((*artifact, write.to.clone()?)))
        .collect();
    let others = op.others.iter();
    let files = others
        .filter_map(|(path, write)| Some((path.clone(), vec![write.to.clone()?])))
        .collect();
    let stage = stage.unwrap_or(Stage::Clarify);
    let is_first = profile.is_first() && stage == Stage::Clarify;
    let mut state = State {
        format: FORMAT,
        fold: if is_first { FIRST_FOLD } else { FOLD },
        id: id.clone(),
        uid: uid.clone(),
        title: title.clone(),
        ops: None,
        seq: op.seq,
        last: op.op.clone(),
        frontier: Vec::new(),
        started: signed(op),
        touched: signed(op),
        stage,
        ending: None,
        profile: profile.clone(),
        branch: branch.clone(),
        base: base.clone(),
        issues: issues.clone(),
        rebased: false,
        artifacts,
        files,
        approvals: BTreeMap::new(),
        last_transition: None,
        scope: Vec::new(),
        out_of_scope: Vec::new(),
        clarify: ClarifyFacts::default(),
        plan: PlanFacts::default(),
        build: BuildFacts::default(),
        verdict: None,
        reviews: 0,
        findings: Vec::new(),
        evidence: Vec::new(),
        tasks: BTreeMap::new(),
        passed: BTreeMap::new(),
        amendments: Vec::new(),
        bases: Vec::new(),
        conflicts: Vec::new(),
        void: Vec::new(),
        unknown: Vec::new(),
        joins: BTreeMap::new(),
    };
    begin_stage(&mut state)?;
    Ok(state)
}

/// A session may begin in a later stage, as if the ones before it were behind it.
fn begin_stage(state: &mut State) -> Result<()> {
    match state.stage {
        Stage::Plan => state.begin_plan(),
        Stage::Build => state.build.iteration = 1,
        Stage::Clarify => {}
        Stage::Review | Stage::Done => {
            let (id, stage) = (&state.id, state.stage);
            return Err(Failure::internal(
                Code::OperationsIncomplete,
                format!("session {id}: no session begins in stage {stage}"),
            )
            .help(command!("fsck --repair")));
        }
    }
    Ok(())
}

/// Replays operations in which nobody wrote an artifact apart from others.
pub fn fold(id: &SessionId, ops: &[Operation]) -> Result<State> {
    replay(id, ops, &NoJoiner)
}

/// Replays operations in (seq, op) order. What was undone is left out, unless its undo was undone too;
/// what cannot hold beside something that its writer did not know of is a conflict of the session.
pub fn replay(id: &SessionId, ops: &[Operation], joiner: &dyn Joiner) -> Result<State> {
    walk(id, ops, joiner, |_, _| {})
}

/// Replays operations like [`replay`], and shows each one that moved the session, approved or gave a verdict, with the
/// state after it and the artifacts that its writer had.
pub fn walk(
    id: &SessionId,
    ops: &[Operation],
    joiner: &dyn Joiner,
    mut moved: impl FnMut(&Operation, &State),
) -> Result<State> {
    let ops = in_order(ops);
    let first = ops.first().ok_or_else(|| {
        Failure::internal(
            Code::OperationsMissing,
            format!("session {id} has no operation"),
        )
        .help(command!("fsck --repair"))
    })?;
    let state = begin(id, first)?;
    require_own(&state, &ops)?;
    let cause = Causality::of(&ops);
    let mut walk = Walk::begin(state, &ops, &cause, joiner);
    for (at, fate) in fates(&ops, &cause).into_iter().enumerate().skip(1) {
        match fate {
            Fate::Out => {}
            Fate::Held { why, with } => walk.refuse(at, why, &with),
            Fate::Counts => {
                if walk.take(at)? {
                    moved(ops[at], &walk.state);
                }
            }
        }
    }
    walk.end()
}

/// The replay of a session as far as it has come.
struct Walk<'w> {
    ops: &'w [&'w Operation],
    cause: &'w Causality,
    joiner: &'w dyn Joiner,
    places: BTreeMap<&'w OpId, usize>,
    state: State,
    /// The operations that count.
    counted: Vec<usize>,
    /// Counted operations that write, and in a line the blobs that stand after them.
    writing: Vec<usize>,
    standing: BTreeMap<Artifact, Oid>,
    /// See [`Beside::writers`].
    writers: BTreeMap<String, OpId>,
    /// See [`Beside::moves`].
    moves: Vec<(OpId, Stage, Stage)>,
}

impl<'w> Walk<'w> {
    fn begin(
        state: State,
        ops: &'w [&'w Operation],
        cause: &'w Causality,
        joiner: &'w dyn Joiner,
    ) -> Self {
        let places = ops.iter().enumerate();
        Walk {
            ops,
            cause,
            joiner,
            places: places.map(|(at, op)| (&op.op, at)).collect(),
            standing: state.artifacts.clone(),
            state,
            counted: vec![0],
            writing: vec![0],
            writers: BTreeMap::new(),
            moves: Vec::new(),
        }
    }

    fn refuse(&mut self, at: usize, why: String, with: &[usize]) {
        let name = |at: usize| self.ops[at].op.clone();
        let conflict = OpConflict {
            op: name(at),
            why,
            with: with.iter().map(|at| name(*at)).collect(),
        };
        self.state.hold(conflict);
    }

    /// Takes an operation that stands, and says whether it is one to show.
    fn take(&mut self, at: usize) -> Result<bool> {
        let op = self.ops[at];
        let shows = op.body.is_judgement() || op.body.moves().is_some();
        if shows {
            self.show_writer(at)?;
        }
        let contested = self.settled(at)?;
        if let Err(why) = self.apply(at, contested) {
            self.refuse(at, why, &[]);
            return Ok(false);
        }
        // The writes of an undo are for readers.
        if op.is_about_others() {
            return Ok(false);
        }
        self.counted.push(at);
        if !op.writes.is_empty() {
            self.writing.push(at);
        }
        take(&mut self.standing, op);
        self.state.seq = op.seq;
        self.state.last = op.op.clone();
        self.state.touched = signed(op);
        let is_void = self.state.void.last().is_some_and(|void| void.op == op.op);
        Ok(shows && !is_void)
    }

    /// Gives the state the artifacts that the writer of an operation left behind.
    fn show_writer(&mut self, at: usize) -> Result<()> {
        if self.cause.is_line() {
            self.state.artifacts.clone_from(&self.standing);
            take(&mut self.state.artifacts, self.ops[at]);
            return Ok(());
        }
        let seen = self.writing.iter().copied();
        let seen = seen.filter(|known| self.cause.saw(at, *known)).chain([at]);
        let seen: Vec<usize> = seen.collect();
        (self.state.artifacts, _) = artifacts(self.ops, &seen, self.cause, self.joiner)?;
        Ok(())
    }

    /// The artifacts that were apart for the writer of a resolution of texts.
    fn settled(&self, at: usize) -> Result<Vec<Artifact>> {
        let op = self.ops[at];
        let settles = matches!(op.said(), Some(Word::Resolved { .. })) && !op.writes.is_empty();
        if !settles || self.cause.is_line() {
            return Ok(Vec::new());
        }
        let seen = self.writing.iter().copied();
        let seen: Vec<usize> = seen.filter(|known| self.cause.saw(at, *known)).collect();
        let (_, joins) = artifacts(self.ops, &seen, self.cause, self.joiner)?;
        let apart = joins.into_iter().filter(|(_, join)| !join.clean);
        Ok(apart.map(|(artifact, _)| artifact).collect())
    }

    fn apply(&mut self, at: usize, contested: Vec<Artifact>) -> Result<(), String> {
        let unseen = |id: &OpId| {
            let known = self.places.get(id);
            known.is_some_and(|known| !self.cause.saw(at, *known))
        };
        let mut beside = Beside {
            unseen: Some(&unseen),
            writers: std::mem::take(&mut self.writers),
            moves: std::mem::take(&mut self.moves),
            contested,
        };
        let applied = self.state.try_apply(self.ops[at], &mut beside);
        self.writers = beside.writers;
        self.moves = beside.moves;
        applied
    }

    /// Brings the artifacts together, and says who wrote last.
    fn end(self) -> Result<State> {
        let Walk {
            ops,
            cause,
            joiner,
            mut state,
            counted,
            ..
        } = self;
        (state.artifacts, state.joins) = artifacts(ops, &counted, cause, joiner)?;
        state.files = artifact_merge::files(ops, &counted, cause);
        // What was undone still happened last.
        if let Some(last) = ops.last() {
            state.seq = last.seq;
            state.last = last.op.clone();
            state.touched = signed(last);
        }
        let all: Vec<usize> = (0..ops.len()).collect();
        state.frontier = match cause.newest(&all).as_slice() {
            [_] => Vec::new(),
            several => several.iter().map(|at| ops[*at].op.clone()).collect(),
        };
        Ok(state)
    }
}

/// Puts what an operation wrote for what stood there.
fn take(artifacts: &mut BTreeMap<Artifact, Oid>, op: &Operation) {
    for (artifact, write) in &op.writes {
        match &write.to {
            Some(blob) => artifacts.insert(*artifact, blob.clone()),
            None => artifacts.remove(artifact),
        };
    }
}

/// The state that the writer of an operation left behind: of that operation, and of all that it came after.
pub fn as_seen_by(
    id: &SessionId,
    ops: &[Operation],
    op: &OpId,
    joiner: &dyn Joiner,
) -> Result<State> {
    let sorted = in_order(ops);
    let cause = Causality::of(&sorted);
    let last = sorted.iter().position(|one| one.op == *op);
    let seen: Vec<Operation> = (0..sorted.len())
        .filter(|at| last.is_some_and(|last| *at == last || cause.saw(last, *at)))
        .map(|at| sorted[at].clone())
        .collect();
    replay(id, &seen, joiner)
}

/// Refuses records that belong to another session, and such whose past is not here: one that was copied
/// proves nothing. Records of format 1 say neither.
fn require_own(state: &State, ops: &[&Operation]) -> Result<()> {
    let names: BTreeSet<&OpId> = ops.iter().map(|op| &op.op).collect();
    let first = ops.first().map(|op| &op.op);
    for op in ops {
        let Some(entity) = &op.entity else {
            continue;
        };
        let why = if *entity != state.uid {
            format!("belongs to {entity}, not to {}", state.uid)
        } else if op.after.is_empty() && first != Some(&op.op) {
            "does not say what it comes after".to_owned()
        } else if let Some(missing) = op.after.iter().find(|op| !names.contains(op)) {
            format!("comes after {missing}, which is not there")
        } else {
            continue;
        };
        let name = op.file_name();
        return Err(Failure::internal(
            Code::RecordMisplaced,
            format!("the operation {name} {why}"),
        )
        .help(command!("fsck --repair")));
    }
    Ok(())
}

/// Each operation once, by Lamport number, then by id.
pub fn in_order(ops: &[Operation]) -> Vec<&Operation> {
    let mut ops: Vec<&Operation> = ops.iter().collect();
    ops.sort_by(|a, b| (a.seq, &a.op).cmp(&(b.seq, &b.op)));
    let mut known = BTreeSet::new();
    ops.retain(|op| known.insert(&op.op));
    ops
}

/// The operations that no longer count: undone, or settled away.
pub fn undone(ops: &[Operation]) -> BTreeSet<OpId> {
    void(&in_order(ops))
}

fn void(ops: &[&Operation]) -> BTreeSet<OpId> {
    let fates = fates(ops, &Causality::of(ops));
    let out = ops.iter().zip(fates).filter(|(_, fate)| *fate == Fate::Out);
    out.map(|(op, _)| op.op.clone()).collect()
}

/// Lists the operations that an undo took back and no redo brought back. Not what a person settled away.
pub fn taken_back(ops: &[Operation]) -> BTreeSet<OpId> {
    let ops = in_order(ops);
    let back = conflicts::taken_back(&ops, &Causality::of(&ops));
    back.into_iter().map(|at| ops[at].op.clone()).collect()
}

/// Lists the operations that `undo` could take back, newest first: whatever counts, but the beginning, what says
/// something of others, and notes of the tool itself.
pub fn undoable(ops: &[Operation]) -> Vec<&Operation> {
    let sorted = in_order(ops);
    let void = void(&sorted);
    let cause = Causality::of(&sorted);
    let mut found: Vec<usize> = (0..sorted.len())
        .filter(|at| !void.contains(&sorted[*at].op) && is_undoable(sorted[*at]))
        .collect();
    // A run that did not know of the end may stand behind it; who takes a step back then means the end.
    let is_end = |at: usize| matches!(sorted[at].event(), Some(Event::Abandoned));
    if let Some(end) = found.iter().copied().rfind(|at| is_end(*at)) {
        found.sort_by_key(|at| *at >= end && (*at == end || cause.saw(*at, end)));
    }
    found.reverse();
    found.into_iter().map(|at| sorted[at]).collect()
}

fn is_undoable(op: &Operation) -> bool {
    !op.is_beginning() && !op.is_passed_over()
}

/// The newest operation that somebody did and that counts, where it is a run, a note or a claim of a task: `undo` passes
/// over those, and whoever types it means what they did last. What the tool notes by itself is nobody's step.
pub fn stands(ops: &[Operation], is_own: impl Fn(&Operation) -> bool) -> Option<&Operation> {
    let sorted = in_order(ops);
    let void = void(&sorted);
    // Whoever goes back step by step goes past what stands.
    let is_word = |op: &Operation| matches!(op.body, Body::Log(_));
    let is_step = |op: &&&Operation| {
        let is_one = is_undoable(op) || is_typed_and_stands(op) || is_word(op);
        is_one && is_own(op) && !void.contains(&op.op)
    };
    let newest = *sorted.iter().rfind(is_step)?;
    is_typed_and_stands(newest).then_some(newest)
}

fn is_typed_and_stands(op: &Operation) -> bool {
    match &op.body {
        Body::Session(step) => matches!(step.event, Event::Ran { .. }),
        Body::Note(_) => true,
        Body::Task(_) => is_claim(op),
        Body::Log(_) | Body::Issue(_) | Body::Unknown(_) => false,
    }
}

/// The claims of tasks that do not fit any more once others are taken back, of what an undo did to `ops`. They say nothing
/// without what they rest on, and go with it: a claim cannot be taken back on its own.
pub fn unfit_claims<'o>(before: &State, after: &State, ops: &'o [Operation]) -> Vec<&'o Operation> {
    let known: BTreeSet<&OpId> = before.conflicts.iter().map(|one| &one.op).collect();
    let new = after.conflicts.iter().map(|one| &one.op);
    let new: BTreeSet<&OpId> = new.filter(|op| !known.contains(op)).collect();
    ops.iter()
        .filter(|op| new.contains(&op.op) && is_claim(op))
        .collect()
}

/// Tells whether somebody got a task by the operation.
pub fn is_claim(op: &Operation) -> bool {
    op.claimed_task().is_some()
}

/// The claims that went with what is brought back, in the same undo.
pub fn claims_beside<'o>(ops: &'o [Operation], redone: &[&Operation]) -> Vec<&'o Operation> {
    let back = taken_back(ops);
    let undos = ops.iter().filter_map(|op| match op.said() {
        Some(Word::Undone { undone }) => Some(undone),
        _ => None,
    });
    let with: BTreeSet<&OpId> = undos
        .filter(|undone| redone.iter().any(|op| undone.contains(&op.op)))
        .flatten()
        .collect();
    let claims = in_order(ops).into_iter();
    claims
        .filter(|op| is_claim(op) && with.contains(&op.op) && back.contains(&op.op))
        .collect()
}

/// Way back to the moment after an operation.
#[derive(Clone, Debug, PartialEq)]
pub enum WayBack<'o> {
    /// Taking these back, newest first.
    Undo(Vec<&'o Operation>),
    /// No way leads back: this operation counted then, and was taken back since.
    Gone(&'o Operation),
}

/// The way back to what the writer of an operation had when it was written.
pub fn way_back<'o>(ops: &'o [Operation], to: &OpId) -> Option<WayBack<'o>> {
    let sorted = in_order(ops);
    let cause = Causality::of(&sorted);
    let target = sorted.iter().position(|op| op.op == *to)?;
    let then: Vec<&Operation> = (0..sorted.len())
        .filter(|at| *at == target || cause.saw(target, *at))
        .map(|at| sorted[at])
        .collect();
    let void_then = void(&then);
    let void_now = void(&sorted);
    let counted: BTreeSet<&OpId> = then
        .iter()
        .map(|op| &op.op)
        .filter(|op| !void_then.contains(op))
        .collect();
    let gone = then
        .iter()
        .find(|op| counted.contains(&op.op) && void_now.contains(&op.op) && is_undoable(op));
    if let Some(gone) = gone {
        return Some(WayBack::Gone(gone));
    }
    let mut found = undoable(ops);
    found.retain(|op| !counted.contains(&op.op));
    Some(WayBack::Undo(found))
}

/// Operations that `redo` could bring back.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Redoable<'o> {
    /// Operations in the order of `redo`: what was undone last comes first; of one undo the oldest.
    pub operations: Vec<&'o Operation>,
    /// Operation that happened since another one was undone, and keeps that from coming back.
    pub since: Option<&'o Operation>,
}

/// Lists what was undone and could count again: where nothing else has happened since.
pub fn redoable(ops: &[Operation]) -> Redoable<'_> {
    let sorted = in_order(ops);
    let cause = Causality::of(&sorted);
    let mut found = Redoable::default();
    let mut back = Vec::new();
    for (at, undos) in conflicts::undos_of(&sorted, &cause) {
        let since = (0..sorted.len()).rev().find(|other| {
            let op = sorted[*other];
            !op.is_passed_over() && undos.iter().any(|undo| !cause.saw(*undo, *other))
        });
        match since {
            Some(other) => found.since = Some(sorted[other]),
            None => back.push((undos.into_iter().max(), at)),
        }
    }
    // A claim comes back with what it rests on.
    back.retain(|(_, at)| !is_claim(sorted[*at]));
    back.sort_by_key(|(undo, at)| (std::cmp::Reverse(*undo), *at));
    let back = back.into_iter().map(|(_, at)| sorted[at]);
    found.operations.extend(back);
    found
}
