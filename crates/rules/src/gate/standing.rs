//! Who of those that approved counts: signed where policy asks for it, in a role that may, not barred,
//! and without a part in what was approved. People are counted, not names or keys.

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

/// What is known of the people behind approvals, besides what the approvals say themselves.
#[derive(Clone, Debug, Default)]
pub struct Credentials {
    pub signatures: Signatures,
    /// The other names that somebody is known by.
    pub aliases: BTreeMap<Person, Vec<Person>>,
    /// Everybody who took part in the range and in the build, under every name.
    pub participants: Vec<(Role, Person)>,
    /// Signed words that somebody took back, or brought back.
    pub taken: Vec<Taken>,
    /// Records that open a gate without the signature that policy asks for.
    pub unsigned: Vec<Unsigned>,
    /// The runs that policy counts, where it does not count all of them.
    pub evidence: Option<Vec<Stamped<Evidence>>>,
    /// What keys show of those who took part, where policy counts keys and somebody looked.
    pub proofs: Option<Proofs>,
}

/// One approver, weighed.
#[derive(Clone, Debug)]
pub struct Weighed<'a> {
    pub by: &'a ApprovedBy,
    /// Why the approval does not count.
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

    /// How many different people the approvers that count are: one key is one person, and so is one
    /// name.
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
        let who = &by.signed.by;
        let names = self.approver(by);
        let no = |code: Code, message: String, help: Hint| Some(Blocker::new(code, message, help));
        let again = command!("approve --to {} --sign", transition.to());
        let somebody = hint![
            "ask somebody else to run: ",
            command!("approve --to {}", transition.to())
        ];
        if names.iter().any(|name| policy.denies(name)) {
            return no(
                Code::ApproverDenied,
                format!("policy does not let {who} approve {transition}"),
                somebody,
            );
        }
        let taken = self.taken.iter().find(|one| one.op == by.op);
        if let Some(taken) = taken.filter(|one| one.holds && one.back) {
            return Some(taken.blocker());
        }
        match self.signatures.get(&by.op) {
            None if policy.asks_signature(transition) => {
                return no(
                    Code::ApprovalUnsigned,
                    format!(
                        "{who} approved {transition} without a signature, which policy asks for"
                    ),
                    again,
                );
            }
            // What is not what it claims to be counts nowhere, asked for or not.
            Some(checked)
                if checked.flaw == Some(Flaw::Broken)
                    || (!checked.holds() && policy.asks_signature(transition)) =>
            {
                return no(
                    Code::ApprovalSignatureInvalid,
                    format!(
                        "the signature under {who}'s approval of {transition} does not count: {}",
                        checked.reason()
                    ),
                    again,
                );
            }
            Some(checked)
                if policy.approve.touched.contains(&transition)
                    && !checked.signer.as_ref().is_some_and(|signer| signer.touched) =>
            {
                return no(
                    Code::ApprovalWithoutTouch,
                    format!(
                        "{who} approved {transition} with a key that nobody has to touch; policy asks for a security key"
                    ),
                    again,
                );
            }
            _ => {}
        }
        if !policy.may_approve(transition, &names) {
            return no(
                Code::ApproverWithoutRole,
                format!(
                    "{who} has none of the roles that approve {transition}: {}",
                    policy.approve.by[&transition].join(", ")
                ),
                somebody,
            );
        }
        if policy.approve.independent.contains(&transition)
            && let Some((role, person)) = self.part(&names)
        {
            return no(
                Code::ApproverNotIndependent,
                format!("{who} is {role} of what {transition} is about ({person})"),
                somebody,
            );
        }
        if policy.approve.independent.contains(&transition)
            && let Some(PartKey { role, person, .. }) = self.part_of_key(&by.op)
        {
            return no(
                Code::ApproverNotIndependent,
                format!("the key of {who} is that of the {role} {person}"),
                somebody,
            );
        }
        None
    }
}
