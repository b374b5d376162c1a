//! Runs that count: all of them, or those that somebody with a role of `evidence.by` signed.

use super::super::op::{Event, Evidence, Operation};
use super::super::policy::Policy;
use super::super::replay::{in_order, undone};
use super::super::session::{Stamped, keep_run, signed};
use super::super::signature::Signatures;
use super::{Credentials, View};
use loopx_base::id::Person;

impl<'a> View<'a> {
    /// The runs that a gate may rest on, and those that may hold it.
    pub fn evidence(self) -> &'a [Stamped<Evidence>] {
        match &self.credentials.evidence {
            Some(counted) => counted,
            None => &self.state.evidence,
        }
    }
}

/// The runs that policy counts, the newest of each check on each tree; nothing where it counts every run. A run of
/// somebody else neither stands beside one that counts nor replaces it.
pub fn counted(
    ops: &[Operation],
    policy: &Policy,
    credentials: &Credentials,
) -> Option<Vec<Stamped<Evidence>>> {
    let may = |names: &[Person]| policy.may_prove(names);
    let asks = !policy.evidence.by.is_empty();
    asks.then(|| runs_by(ops, &credentials.signatures, may))
}

/// The runs that were signed with the key of somebody who may, the newest of each check on each tree.
pub fn runs_by(
    ops: &[Operation],
    signatures: &Signatures,
    may: impl Fn(&[Person]) -> bool,
) -> Vec<Stamped<Evidence>> {
    let out = undone(ops);
    let mut found: Vec<Stamped<Evidence>> = Vec::new();
    for op in in_order(ops) {
        let Some(Event::Ran { evidence }) = op.event() else {
            continue;
        };
        let checked = signatures.get(&op.op);
        let signer = checked.filter(|checked| checked.holds());
        let Some(signer) = signer.and_then(|checked| checked.signer.as_ref()) else {
            continue;
        };
        // A key stands for addresses; the name beside one is what somebody typed.
        let addresses = signer.principals.iter().chain([&op.by.email]);
        let addresses = addresses.map(|email| Person {
            name: String::new(),
            email: email.clone(),
        });
        let addresses: Vec<Person> = addresses.collect();
        if out.contains(&op.op) || !may(&addresses) {
            continue;
        }
        let run = Stamped {
            op: op.op.clone(),
            seq: op.seq,
            signed: signed(op),
            reason: op.reason.clone(),
            value: evidence.clone(),
        };
        drop(keep_run(&mut found, run));
    }
    found
}
