//! News that a sync brought to a session: who did what, and which way it went.

use super::op::Operation;
use super::session::{Ending, State};
use super::task::node::TaskId;
use loopx_base::counted;
use loopx_base::id::{Person, SessionId};
use serde::Serialize;
use std::collections::BTreeMap;

/// A session in which something came that was not here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Moved {
    pub session: SessionId,
    /// People who moved the session, in the order of what they did.
    pub by: Vec<Person>,
    /// Stage of the session before, or how it had ended; `None` where the session is new here.
    pub from: Option<&'static str>,
    pub to: &'static str,
    /// Number of operations that came, by kind.
    pub kinds: BTreeMap<String, usize>,
    /// Claims of tasks that stood here, and that do not count beside what came.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<LostClaim>,
}

/// A claim of a task beside which another one counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LostClaim {
    pub task: TaskId,
    /// Owner of the claim, and the person whose record counts.
    pub of: Person,
    pub to: Person,
}

/// The claims that held before, and stand beside something now.
fn lost(before: &State, now: &State) -> Vec<LostClaim> {
    let held = before.tasks.iter();
    let held = held.filter_map(|(key, facts)| Some((key, facts.holder()?)));
    held.filter_map(|(key, claim)| {
        let facts = now.tasks.get(key)?;
        let is_beside = facts.beside.iter().any(|aside| aside.op == claim.op);
        is_beside.then(|| LostClaim {
            task: facts.id.clone(),
            of: claim.signed.by.clone(),
            to: facts.last.signed.by.clone(),
        })
    })
    .collect()
}

/// Nouns for operations of a kind, each for a single one; operations of other kinds are called records.
const NOUNS: [(&str, &str); 38] = [
    ("abandoned", "end"),
    ("allowed", "permission"),
    ("answered", "answer"),
    ("approved", "approval"),
    ("archived", "archive"),
    ("asked", "question"),
    ("audited", "audit"),
    ("blocked", "block"),
    ("bound", "binding"),
    ("claimed", "claim"),
    ("clarified", "round"),
    ("completed", "completion"),
    ("decided", "decision"),
    ("delegated", "delegation"),
    ("drafted", "draft"),
    ("entered", "step"),
    ("extended", "extension"),
    ("failed", "failure"),
    ("imported", "import"),
    ("lane_reported", "report"),
    ("noted", "note"),
    ("opened", "opening"),
    ("plan_reviewed", "plan review"),
    ("ran", "run"),
    ("rebased", "rebase"),
    ("redone", "redo"),
    ("refreshed", "renewal"),
    ("released", "release"),
    ("renamed", "new name"),
    ("reprofiled", "new profile"),
    ("resolved", "resolution"),
    ("resumed", "resumption"),
    ("retried", "new attempt"),
    ("reviewed", "verdict"),
    ("saved", "save"),
    ("skipped", "skip"),
    ("undone", "undo"),
    ("waived", "waiver"),
];

impl Moved {
    /// Summary of what `came` did to a session; `None` where nothing came.
    pub fn of(before: Option<&State>, now: &State, came: &[Operation]) -> Option<Self> {
        if came.is_empty() {
            return None;
        }
        let mut by: Vec<Person> = Vec::new();
        let mut kinds = BTreeMap::new();
        for op in came {
            if !by.contains(&op.by) {
                by.push(op.by.clone());
            }
            *kinds.entry(op.body.kind().to_owned()).or_default() += 1;
        }
        Some(Moved {
            session: now.id.clone(),
            by,
            from: before.map(standing),
            to: standing(now),
            kinds,
            lost: before.map_or_else(Vec::new, |before| lost(before, now)),
        })
    }

    /// `Grace`, or `Grace and Ada`.
    pub fn people(&self) -> String {
        let names: Vec<&str> = self.by.iter().map(|person| person.name.as_str()).collect();
        match names.split_last() {
            Some((last, [])) => (*last).to_owned(),
            Some((last, others)) => format!("{} and {last}", others.join(", ")),
            None => String::new(),
        }
    }

    /// `plan -> build, 2 notes`. What the way says already is not counted once more.
    pub fn words(&self) -> String {
        let way = match self.from {
            None => format!("new, in {}", self.to),
            Some(from) if from == self.to => format!("in {from}"),
            Some(from) => format!("{from} -> {}", self.to),
        };
        let is_said = |kind: &str| match kind {
            "started" => self.from.is_none(),
            "entered" => self.from.is_some_and(|from| from != self.to),
            "abandoned" | "archived" => self.to == kind,
            _ => false,
        };
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for (kind, count) in self.kinds.iter().filter(|(kind, _)| !is_said(kind)) {
            let noun = NOUNS.iter().find(|(known, _)| known == kind);
            *counts
                .entry(noun.map_or("record", |(_, noun)| noun))
                .or_default() += count;
        }
        let mut parts = vec![way];
        parts.extend(counts.iter().map(|(noun, count)| {
            let count = u64::try_from(*count).unwrap_or(u64::MAX);
            counted(count, noun)
        }));
        parts.join(", ")
    }
}

/// The stage that a session is in, or how it ended.
fn standing(state: &State) -> &'static str {
    match state.ending {
        Some(Ending::Abandoned { .. }) => "abandoned",
        Some(Ending::Archived { .. }) => "archived",
        None => state.stage.as_str(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Moved, NOUNS};
    use loopx_base::id::{Person, SessionId};

    #[test]
    fn u14_a_line_says_which_way_a_session_went_and_what_else_came() {
        let words = |from, to, kinds: &[(&str, usize)]| {
            let moved = Moved {
                session: SessionId::parse("it").expect("an id"),
                by: ["Ada", "Eve", "Grace"]
                    .map(|name| Person::parse(&format!("{name} <x@example.org>")))
                    .to_vec(),
                from,
                to,
                kinds: kinds
                    .iter()
                    .map(|(kind, n)| ((*kind).to_owned(), *n))
                    .collect(),
                lost: Vec::new(),
            };
            assert_eq!(moved.people(), "Ada, Eve and Grace");
            moved.words()
        };
        let came = [("approved", 1), ("entered", 1), ("noted", 2)];
        assert_eq!(
            words(Some("plan"), "build", &came),
            "plan -> build, 1 approval, 2 notes"
        );
        let back = [("entered", 2), ("sung", 1), ("danced", 1)];
        assert_eq!(
            words(Some("plan"), "plan", &back),
            "in plan, 2 records, 2 steps"
        );
        assert_eq!(words(None, "plan", &[("started", 1)]), "new, in plan");
        let ended = [("archived", 1)];
        assert_eq!(words(Some("done"), "archived", &ended), "done -> archived");
    }

    #[test]
    fn the_table_is_sorted() {
        assert!(NOUNS.is_sorted());
    }
}
