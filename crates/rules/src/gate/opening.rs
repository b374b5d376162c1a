//! Records that open a gate besides approvals and verdicts: a waiver, a cap that somebody raised. Where
//! policy asks for signatures, it asks for theirs too, or whoever can write the branch opens it all the same.

use super::super::op::{Answer, AnswerWord, Event, Operation};
use super::super::policy::Policy;
use super::super::replay::{in_order, undone};
use super::super::session::State;
use super::super::signature::Checked;
use super::super::stage::Stage;
use super::Credentials;
use loopx_base::failure::{Blocker, Code};
use loopx_base::hint::{Hint, command, hint};
use loopx_base::id::{OpId, Person};

/// A record that opens a gate, and whose signature does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsigned {
    pub op: OpId,
    pub seq: u64,
    pub what: String,
    pub by: Person,
    pub why: String,
    again: Hint,
}

impl Unsigned {
    /// Blocker of a gate for the record.
    pub fn blocker(&self) -> Blocker {
        Blocker::new(
            Code::OpeningUnsigned,
            format!(
                "{} by {} (@{}) opens a gate, and policy asks for signatures: {}",
                self.what, self.by, self.seq, self.why
            ),
            self.again.clone(),
        )
    }
}

/// Reason why the signature of a record that opens does not count; nothing where it does, or the record opens nothing.
pub fn flaw(op: &Operation, checked: Option<&Checked>) -> Option<Unsigned> {
    let (what, again) = match op.event()? {
        Event::Waived { task } => {
            let again = command!("build --waive {task} --reason WHY --sign");
            (format!("the waiver of {task}"), again)
        }
        Event::Extended { stage, by } => {
            let more = match stage {
                Stage::Plan => command!("plan --more {by} --reason WHY --sign"),
                Stage::Build => command!("build --more {by} --reason WHY --sign"),
                _ => command!("clarify --more {by} --reason WHY --sign"),
            };
            (format!("the cap of {stage}, raised by {by},"), more)
        }
        Event::Reprofiled { profile, .. } => {
            let again = command!("profile {profile} --reason WHY --sign");
            (format!("the profile {profile}"), again)
        }
        Event::Answered { answers, .. } if answers.iter().any(closes) => (
            "the answer to a finding".to_owned(),
            command!("status").note("(names the findings: answer again, with --sign)"),
        ),
        _ => return None,
    };
    let why = match checked {
        Some(checked) if checked.holds() => return None,
        Some(checked) => checked.reason().to_owned(),
        None => "it is not signed".to_owned(),
    };
    Some(Unsigned {
        op: op.op.clone(),
        seq: op.seq,
        what,
        by: op.by.clone(),
        why,
        again,
    })
}

fn closes(answer: &Answer) -> bool {
    answer.answer != AnswerWord::Open
}

/// The records that open a gate of a session without a signature that counts, where policy asks for one.
pub fn unsigned(
    ops: &[Operation],
    state: &State,
    policy: &Policy,
    credentials: &Credentials,
) -> Vec<Unsigned> {
    if !policy.asks_signatures() {
        return Vec::new();
    }
    let out = undone(ops);
    let counts = |op: &Operation| match op.event() {
        Some(Event::Waived { task }) => {
            let held = state.build.waivers.get(task);
            held.is_some_and(|waiver| waiver.op == op.op)
        }
        Some(Event::Answered { .. }) => {
            let mut said = state
                .findings
                .iter()
                .filter_map(|one| one.value.answer.as_ref());
            said.any(|said| said.op == op.op)
        }
        _ => !out.contains(&op.op) && !state.conflicts.iter().any(|one| one.op == op.op),
    };
    let ops = in_order(ops).into_iter().filter(|op| counts(op));
    ops.filter_map(|op| {
        let mut found = flaw(op, credentials.signatures.get(&op.op))?;
        // A waiver that is given again replaces the earlier one; caps add up.
        if matches!(op.event(), Some(Event::Extended { .. })) {
            found.again = hint![
                command!("undo --only {} --reason WHY", op.op),
                ", then: ",
                found.again
            ];
        }
        Some(found)
    })
    .collect()
}
