//! Proofs by keys of who took part in a reviewed change: a commit by git's own signature, a step of the build by the
//! signature of its record, or by that of a later one of the same person.
//!
//! Records are a hash chain: whoever signs one vouches for all that it comes after. A name alone proves
//! nobody, because whoever commits chooses it.

use super::super::causality::Causality;
use super::super::op::{Event, Operation, Role};
use super::super::policy::Policy;
use super::super::replay::{in_order, undone};
use super::super::session::State;
use super::super::signature::{Checked, role};
use super::super::stage::Stage;
use loopx_base::failure::{Blocker, Code, Result};
use loopx_base::hint::{Hint, command, hint};
use loopx_base::id::{Oid, Person};

/// Number of commits or steps of one person that are named.
const NAMED: usize = 3;

/// A key of somebody who took part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartKey {
    pub role: Role,
    pub person: Person,
    /// `SHA256:...`
    pub key: String,
}

/// A part that only a name claims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unproven {
    pub role: Role,
    pub person: Person,
    /// The commit or the step, as people know it.
    pub what: String,
    pub why: String,
    /// Set when there is a signature, and it does not count.
    pub is_signed: bool,
}

/// Keys of those who took part, and the parts that no key proves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proofs {
    pub keys: Vec<PartKey>,
    pub unproven: Vec<Unproven>,
}

impl Proofs {
    /// Takes in what was found of the signature of a commit.
    pub fn commit(&mut self, id: &Oid, committer: &Person, checked: Option<&Checked>) {
        let what = format!("commit {}", id.short());
        self.take(Role::Committer, committer, what, checked);
    }

    /// Takes in the steps of the build. `check` tells what there is of the signature of a record.
    pub fn steps(
        &mut self,
        ops: &[Operation],
        state: &State,
        mut check: impl FnMut(&Operation) -> Result<Option<Checked>>,
    ) -> Result<()> {
        let sorted = in_order(ops);
        let causality = Causality::of(&sorted);
        let out = undone(ops);
        let mut proven: Vec<(usize, &Person)> = Vec::new();
        for (at, op) in sorted.iter().enumerate().rev() {
            let by = &op.by;
            let counts = role(op).is_some() && !out.contains(&op.op);
            if !counts || !state.build.builders.contains(by) {
                continue;
            }
            let covers = |(later, who): &(usize, &Person)| {
                who.email.eq_ignore_ascii_case(&by.email) && causality.saw(*later, at)
            };
            if proven.iter().any(covers) {
                continue;
            }
            let checked = check(op)?;
            if checked.as_ref().is_some_and(Checked::holds) {
                proven.push((at, by));
            } else if !builds(op) {
                continue;
            }
            let what = format!("`{}` (@{})", op.word(), op.seq);
            self.take(Role::Builder, by, what, checked.as_ref());
        }
        Ok(())
    }

    fn take(&mut self, role: Role, person: &Person, what: String, checked: Option<&Checked>) {
        let signer = checked.filter(|one| one.holds());
        if let Some(signer) = signer.and_then(|one| one.signer.as_ref()) {
            self.keys.push(PartKey {
                role,
                person: person.clone(),
                key: signer.key.clone(),
            });
            return;
        }
        let why = match checked {
            None => "it is not signed".to_owned(),
            Some(checked) => checked.reason().to_owned(),
        };
        self.unproven.push(Unproven {
            role,
            person: person.clone(),
            what,
            why,
            is_signed: checked.is_some(),
        });
    }

    /// Parts of people whose signatures do not count any more: each person's part by itself.
    pub fn left_open(&self) -> Vec<(Person, Proofs)> {
        let mut found: Vec<(Person, Proofs)> = Vec::new();
        for one in self.unproven.iter().filter(|one| one.is_signed) {
            let same = |(who, parts): &&mut (Person, Proofs)| {
                *who == one.person && parts.unproven.iter().all(|two| two.role == one.role)
            };
            match found.iter_mut().find(same) {
                Some((_, parts)) => parts.unproven.push(one.clone()),
                None => {
                    let unproven = vec![one.clone()];
                    let keys = Vec::new();
                    found.push((one.person.clone(), Proofs { keys, unproven }));
                }
            }
        }
        found
    }

    /// The part that the holder of a key took.
    pub fn part(&self, key: &str) -> Option<&PartKey> {
        self.keys.iter().find(|known| known.key == key)
    }

    /// Blockers of those who are not proven, one line for each person and role.
    pub fn blockers(&self, policy: &Policy, base: Option<&Oid>) -> Vec<Blocker> {
        let mut seen: Vec<(Role, &Person)> = Vec::new();
        let mut found = Vec::new();
        for one in &self.unproven {
            if seen.contains(&(one.role, &one.person)) {
                continue;
            }
            seen.push((one.role, &one.person));
            let theirs = self.unproven.iter();
            let theirs = theirs.filter(|two| two.role == one.role && two.person == one.person);
            let all: Vec<&str> = theirs.map(|two| two.what.as_str()).collect();
            let more = all.len().saturating_sub(NAMED);
            let mut what = all[..all.len().min(NAMED)].join(", ");
            if more > 0 {
                what.push_str(&format!(" and {more} more"));
            }
            found.push(Blocker::new(
                Code::ParticipantUnproven,
                format!(
                    "{} is {} by name only, and policy counts keys: {what}: {}",
                    one.person, one.role, one.why
                ),
                help(policy, one, base),
            ));
        }
        found
    }
}

fn help(policy: &Policy, one: &Unproven, base: Option<&Oid>) -> Hint {
    let person = &one.person;
    if one.role == Role::Builder {
        return hint![
            command!("run --sign -- COMMAND"),
            format!("  (by {person}: what they sign covers their earlier steps)")
        ];
    }
    let base = base.map_or("BASE", Oid::short);
    hint![
        format!("git rebase --force-rebase --gpg-sign {base}  (by {person}), then: "),
        policy.verdict_command()
    ]
}

/// Tells whether a step makes its author a builder.
fn builds(op: &Operation) -> bool {
    match op.event() {
        Some(Event::Entered { transition, .. }) => transition.to() == Stage::Build,
        Some(
            Event::LaneReported { .. }
            | Event::Delegated { .. }
            | Event::Audited { .. }
            | Event::Ran { .. },
        ) => true,
        _ => false,
    }
}
