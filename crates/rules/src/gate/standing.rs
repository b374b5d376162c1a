//! Standing of those that approved: who counts has signed where policy asks for it, in a role that may, is not barred,
//! and has no part in what was approved. People are counted, not names or keys.

use super::super::op::{Evidence, Role};
use super::super::policy::Policy;
use super::super::session::{ApprovedBy, Stamped};
use super::super::signature::{Checked, Flaw, Signatures};
use super::super::stage::Transition;
use super::{PartKey, Proofs, Taken, Unsigned};
use loopx_base::failure::{Blocker, Code};
use loopx_base::hint::{Hint, command, hint};
use loopx_base::id::{OpId, Person};
use std::collections::BTreeMap;

/// Facts about the people behind approvals, besides what the approvals say themselves.
#[derive(Clone, Debug, Default)]
pub struct Credentials {
    pub signatures: Signatures,
    /// The other names that somebody is known by.
    pub aliases: BTreeMap<Person, Vec<Person>>,
    /// People who took part in the range and in the build, under every name.
    pub participants: Vec<(Role, Person)>,
    /// Signed words that somebody took back, or brought back.
    pub taken: Vec<Taken>,
    /// Records that open a gate without the signature that policy asks for.
    pub unsigned: Vec<Unsigned>,
    /// The runs that policy counts, where it does not count all of them.
    pub evidence: Option<Vec<Stamped<Evidence>>>,
    /// Proofs by keys of those who took part, where policy counts keys and somebody looked.
    pub proofs: Option<Proofs>,
}

/// Approver, weighed.
#[derive(Clone, Debug)]
pub struct Weighed<'a> {
    pub by: &'a ApprovedBy,
    /// Reason why the approval does not count.
    pub refused: Option<Blocker>,
}

impl Credentials {
    /// Every name of somebody.
    pub fn names(&self, person: &Person) -> Vec<Person> {
        let mut names = vec![person.clone()];
        names.extend(self.aliases.get(person).into_iter().flatten().cloned());
        names
    }

    /// Every name of an approver, those that their key stands for included.
    fn approver(&self, by: &ApprovedBy) -> Vec<Person> {
        let mut names = self.names(&by.signed.by);
        if let Some(committer) = &by.committer {
            names.extend(self.names(committer));
        }
        names.extend(self.key_holders(by));
        names
    }

    fn key_holders(&self, by: &ApprovedBy) -> Vec<Person> {
        let signer = self.holding(by).and_then(|checked| checked.signer.as_ref());
        signer
            .into_iter()
            .flat_map(|signer| &signer.principals)
            .map(|email| Person {
                name: String::new(),
                email: email.clone(),
            })
            .collect()
    }

    /// The signature of an approval, where it holds.
    fn holding(&self, by: &ApprovedBy) -> Option<&Checked> {
        self.signatures
            .get(&by.op)
            .filter(|checked| checked.holds())
    }

    /// The part that somebody took in what is judged.
    pub fn part(&self, names: &[Person]) -> Option<&(Role, Person)> {
        self.participants
            .iter()
            .find(|(_, person)| names.iter().any(|name| name.is_same(person)))
    }

    /// The part that the key under an operation took in what is judged.
    pub fn part_of_key(&self, op: &OpId) -> Option<&PartKey> {
        let key = &self.signatures.get(op)?.signer.as_ref()?.key;
        self.proofs.as_ref()?.part(key)
    }

    /// Every name of whoever signed an operation: those that the key stands for, too.
    pub fn signer_names(&self, op: &OpId, by: &Person) -> Vec<Person> {
        let mut names = self.names(by);
        let checked = self.signatures.get(op).filter(|checked| checked.holds());
        let signer = checked.and_then(|checked| checked.signer.as_ref());
        let emails = signer.into_iter().flat_map(|signer| &signer.principals);
        names.extend(emails.map(|email| Person {
            name: String::new(),
            email: email.clone(),
        }));
        names
    }

    /// Weighs every approver of a transition.
    pub fn weigh<'a>(
        &self,
        policy: &Policy,
        transition: Transition,
        approvers: &'a [ApprovedBy],
    ) -> Vec<Weighed<'a>> {
        approvers
            .iter()
            .map(|by| Weighed {
                by,
                refused: self.refusal(policy, transition, by),
            })
            .collect()
    }

    /// Counts the different people among the approvers that count: one key is one person, and so is one name.
    pub fn people(&self, weighed: &[Weighed<'_>]) -> usize {
        let mut groups: Vec<(Vec<Person>, Option<&str>)> = Vec::new();
        for weighed in weighed.iter().filter(|weighed| weighed.refused.is_none()) {
            let names = self.approver(weighed.by);
            let key = self
                .holding(weighed.by)
                .and_then(|checked| Some(checked.signer.as_ref()?.key.as_str()));
            let known = groups.iter().any(|(others, other_key)| {
                (key.is_some() && key == *other_key)
                    || names
                        .iter()
                        .any(|name| others.iter().any(|o| o.is_same(name)))
            });
            if !known {
                groups.push((names, key));
            }
        }
        groups.len()
    }

    fn refusal(&self, policy: &Policy, transition: Transition, by: &ApprovedBy) -> Option<Blocker> {
        let case = Case {
            policy,
            transition,
            by,
            names: self.approver(by),
        };
        case.denied()
            .or_else(|| self.taken_back(by))
            .or_else(|| self.unproven(&case))
            .or_else(|| case.without_role())
            .or_else(|| self.dependent(&case))
    }

    fn taken_back(&self, by: &ApprovedBy) -> Option<Blocker> {
        let taken = self.taken.iter().find(|one| one.op == by.op);
        let taken = taken.filter(|one| one.holds && one.back)?;
        Some(taken.blocker())
    }

    /// An approval that is not signed as policy asks.
    fn unproven(&self, case: &Case<'_>) -> Option<Blocker> {
        let (policy, transition, who) = (case.policy, case.transition, &case.by.signed.by);
        let asks_signature = policy.asks_signature(transition);
        let Some(checked) = self.signatures.get(&case.by.op) else {
            let message =
                format!("{who} approved {transition} without a signature, which policy asks for");
            return asks_signature
                .then(|| Blocker::new(Code::ApprovalUnsigned, message, case.sign()));
        };
        // What is not what it claims to be counts nowhere, asked for or not.
        if checked.flaw == Some(Flaw::Broken) || (!checked.holds() && asks_signature) {
            let message = format!(
                "the signature under {who}'s approval of {transition} does not count: {}",
                checked.reason()
            );
            let code = Code::ApprovalSignatureInvalid;
            return Some(Blocker::new(code, message, case.sign()));
        }
        let touched = checked.signer.as_ref().is_some_and(|signer| signer.touched);
        if policy.approve.touched.contains(&transition) && !touched {
            let message = format!(
                "{who} approved {transition} with a key that nobody has to touch; policy asks for a security key"
            );
            return Some(Blocker::new(
                Code::ApprovalWithoutTouch,
                message,
                case.sign(),
            ));
        }
        None
    }

    /// An approver who took part in what is judged, by name or by key.
    fn dependent(&self, case: &Case<'_>) -> Option<Blocker> {
        if !case.policy.approve.independent.contains(&case.transition) {
            return None;
        }
        let (transition, who) = (case.transition, &case.by.signed.by);
        let message = if let Some((role, person)) = self.part(&case.names) {
            format!("{who} is {role} of what {transition} is about ({person})")
        } else {
            let PartKey { role, person, .. } = self.part_of_key(&case.by.op)?;
            format!("{who} has the same key as the {role} {person}")
        };
        let code = Code::ApproverNotIndependent;
        Some(Blocker::new(code, message, case.ask_another()))
    }
}

/// Approval that is weighed.
struct Case<'c> {
    policy: &'c Policy,
    transition: Transition,
    by: &'c ApprovedBy,
    /// Every name of the approver.
    names: Vec<Person>,
}

impl Case<'_> {
    fn sign(&self) -> Hint {
        command!("approve --to {} --sign", self.transition.to())
    }

    fn ask_another(&self) -> Hint {
        hint![
            "ask somebody else to run: ",
            command!("approve --to {}", self.transition.to())
        ]
    }

    fn denied(&self) -> Option<Blocker> {
        let (transition, who) = (self.transition, &self.by.signed.by);
        let is_denied = self.names.iter().any(|name| self.policy.denies(name));
        let message = format!("policy does not let {who} approve {transition}");
        is_denied.then(|| Blocker::new(Code::ApproverDenied, message, self.ask_another()))
    }

    fn without_role(&self) -> Option<Blocker> {
        let (transition, who) = (self.transition, &self.by.signed.by);
        if self.policy.may_approve(transition, &self.names) {
            return None;
        }
        let message = format!(
            "{who} has none of the roles that approve {transition}: {}",
            self.policy.approve.by[&transition].join(", ")
        );
        let code = Code::ApproverWithoutRole;
        Some(Blocker::new(code, message, self.ask_another()))
    }
}
