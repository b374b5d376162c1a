//! Signed words that somebody took back, or brought back. Whoever can write the branch can write that, and
//! claim any name: so what a person signed is replaced only by what that person signs later, or somebody whose
//! role policy names.

use super::Credentials;
use crate::op::{CodeVerdict, Event, Operation};
use crate::policy::Policy;
use crate::replay::{in_order, undone};
use crate::stage::Transition;
use crate::words::Word;
use loopx_base::failure::{Blocker, Code};
use loopx_base::hint::{Hint, command};
use loopx_base::id::{OpId, Person};
use serde::Serialize;

/// A signed word, and who says that it does not count, or counts again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Taken {
    pub op: OpId,
    pub seq: u64,
    /// Word that was said.
    pub word: String,
    /// Command that says the word anew.
    #[serde(skip)]
    pub again: Hint,
    pub by: Person,
    /// Set when the word counts again.
    pub back: bool,
    pub told_by: Person,
    pub told: OpId,
    pub reason: Option<String>,
    /// Set when the word is an approval, and no verdict.
    #[serde(skip)]
    pub is_approval: bool,
    /// Set when the session waits for another word of that person.
    pub holds: bool,
}

impl Taken {
    /// Tells whether the word holds the way to done. An approval does not count by itself, so that the next one can be
    /// given.
    pub fn holds_gate(&self) -> bool {
        self.holds && !self.is_approval
    }

    /// Tells whether somebody may say the word anew.
    pub fn is_for(&self, policy: &Policy, credentials: &Credentials, who: &Person) -> bool {
        may(policy, credentials, &self.by, who)
    }

    /// Blocker of a gate for the word.
    pub fn blocker(&self) -> Blocker {
        let what = if self.back {
            "brought back"
        } else {
            "taken back"
        };
        Blocker::new(
            Code::WordTakenBack,
            format!(
                "{} signed `{}` (@{}), and it was {what} by {}: only {} can change that, by a later signed record",
                self.by, self.word, self.seq, self.told_by, self.by
            ),
            self.again.clone().note(format!("(by {})", self.by)),
        )
    }
}

/// The signed words of a session that were taken back or brought back, oldest first.
pub fn taken(ops: &[Operation], policy: &Policy, credentials: &Credentials) -> Vec<Taken> {
    let sorted = in_order(ops);
    let out = undone(ops);
    let mut found = Vec::new();
    for (at, op) in sorted.iter().enumerate() {
        let Some(word) = Said::of(op) else { continue };
        let is_signed = |op: &Operation| {
            let checked = credentials.signatures.get(&op.op);
            checked.is_some_and(|checked| checked.holds())
        };
        if !is_signed(op) {
            continue;
        }
        let later = &sorted[at + 1..];
        let is_out = out.contains(&op.op);
        let told = if is_out {
            later.iter().rev().find(|one| takes(one, &op.op)).copied()
        } else {
            brought_back(later, op, credentials)
        };
        let Some(told) = told else { continue };
        let is_replaced = later.iter().any(|one| {
            Said::of(one).is_some_and(|said| said.replaces(&word))
                && !out.contains(&one.op)
                && is_signed(one)
                && may(policy, credentials, &op.by, &one.by)
        });
        // Whoever may give another word may also sign that the old one is none, or is one again.
        let is_replaced =
            is_replaced || is_signed(told) && may(policy, credentials, &op.by, &told.by);
        found.push(Taken {
            op: op.op.clone(),
            seq: op.seq,
            word: word.said(),
            again: word.again(),
            by: op.by.clone(),
            back: !is_out,
            is_approval: matches!(word, Said::Approval(_)),
            told_by: told.by.clone(),
            told: told.op.clone(),
            reason: told.reason.clone(),
            // An approval that is gone opens nothing.
            holds: !is_replaced && (!is_out || word.refuses(policy)),
        });
    }
    found
}

/// A word that is signed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Said {
    Approval(Transition),
    /// The list of tasks, changed after its plan was approved: without it the list of before counts again.
    Amendment,
    /// Verdict, and whether it approves in every lane.
    Verdict(CodeVerdict, bool),
    /// A finished session was opened again: what it had been approved for counts no more.
    Reopening,
}

impl Said {
    fn of(op: &Operation) -> Option<Self> {
        match op.event()? {
            Event::Approved {
                transition, amends, ..
            } => Some(match amends {
                None => Said::Approval(*transition),
                Some(_) => Said::Amendment,
            }),
            Event::Reviewed { verdict } => {
                Some(Said::Verdict(verdict.verdict, verdict.is_approval()))
            }
            Event::Entered {
                transition: Transition::DoneToBuild,
                ..
            } => Some(Said::Reopening),
            _ => None,
        }
    }

    fn said(self) -> String {
        match self {
            Said::Approval(transition) => format!("approve {transition}"),
            Said::Amendment => "amend".to_owned(),
            Said::Verdict(verdict, _) => format!("review {verdict}"),
            Said::Reopening => "reopen".to_owned(),
        }
    }

    fn again(self) -> Hint {
        match self {
            Said::Approval(transition) => command!("approve --to {} --sign", transition.to()),
            Said::Amendment => command!("amend --reason WHY --sign"),
            Said::Verdict(..) | Said::Reopening => command!("review --verdict approve --sign"),
        }
    }

    /// Tells whether the session goes on where the word is gone.
    fn refuses(self, policy: &Policy) -> bool {
        match self {
            Said::Verdict(_, approves) => !approves,
            Said::Amendment => policy.asks_signature(Transition::PlanToBuild),
            Said::Reopening => true,
            Said::Approval(_) => false,
        }
    }

    fn replaces(self, earlier: &Said) -> bool {
        match (self, earlier) {
            (Said::Verdict(..), Said::Verdict(..) | Said::Reopening) => true,
            // The plan was approved anew, with its list.
            (Said::Approval(Transition::PlanToBuild), Said::Amendment) => true,
            (one, other) => one == *other,
        }
    }
}

fn takes(op: &Operation, word: &OpId) -> bool {
    match op.said() {
        Some(Word::Undone { undone: ids } | Word::Resolved { drop: ids, .. }) => ids.contains(word),
        _ => false,
    }
}

/// Record that made a word count again that its own person had taken back. To take back closes, so that a claimed name
/// does no harm there; to bring back opens, and no name is enough for that.
fn brought_back<'o>(
    later: &[&'o Operation],
    word: &Operation,
    credentials: &Credentials,
) -> Option<&'o Operation> {
    let at = later
        .iter()
        .position(|op| takes(op, &word.op) && is_same(credentials, &op.by, &word.by))?;
    let back = [&word.op, &later[at].op];
    let brings = |op: &&Operation| match op.said() {
        Some(Word::Redone { redone: ids } | Word::Undone { undone: ids }) => {
            ids.iter().any(|id| back.contains(&id))
        }
        Some(Word::Resolved { keep, .. }) => keep.contains(&word.op),
        _ => false,
    };
    later[at + 1..].iter().copied().find(brings)
}

fn may(policy: &Policy, credentials: &Credentials, signer: &Person, by: &Person) -> bool {
    is_same(credentials, signer, by) || policy.may_take_back(&credentials.names(by))
}

fn is_same(credentials: &Credentials, one: &Person, other: &Person) -> bool {
    let names = credentials.names(other);
    let mut own = credentials.names(one).into_iter();
    own.any(|one| names.iter().any(|name| name.is_same(&one)))
}
