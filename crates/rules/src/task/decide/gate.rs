//! The gate: what a decision or a goal is judged by, and what follows from a verdict, as data of its task. How it is
//! written is the business of the file's reader.

use super::points::Points;
use crate::task::node::{Node, TaskId};
use loopx_base::vocabulary::vocabulary;

vocabulary!(
    /// Consequence of a fix where the repair was inserted as often as it may be.
    AtCap {
        /// A person decides.
        Escalate = "escalate",
        /// Way on with warnings, where the score is good enough for that.
        Accept = "accept",
    }
);

/// Dimension that is scored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dimension {
    pub name: String,
    pub weight: Points,
    /// Score below which the whole does not pass, whatever the others are.
    pub minimum: Option<Points>,
    /// Score below which the whole is not accepted with warnings either.
    pub warn: Option<Points>,
}

/// Rubric by which scores become a verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rubric {
    /// The best score.
    pub scale: Points,
    pub dimensions: Vec<Dimension>,
    /// The smallest score that passes.
    pub pass: Points,
    /// The smallest score that is accepted with warnings at the cap.
    pub warn: Option<Points>,
    /// Number of critical findings that may be left.
    pub critical: u32,
}

impl Rubric {
    /// The scale where a rubric names none.
    pub const SCALE: Points = Points::whole(100);
    /// Smallest score that passes, of a hundred, where a rubric says nothing of it.
    pub const PASS: u32 = 60;
}

impl Default for Rubric {
    fn default() -> Self {
        Rubric {
            scale: Rubric::SCALE,
            dimensions: Vec::new(),
            pass: Rubric::SCALE.percent(Rubric::PASS),
            warn: None,
            critical: 0,
        }
    }
}

/// A manner of mending, and where it is the one: one of its conditions holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Strategy {
    pub name: String,
    /// Number of the last repair for which the strategy is the one.
    pub until: Option<u32>,
    /// Number of the repair behind which the strategy is the one.
    pub after: Option<u32>,
    /// Score from which on the strategy is the one.
    pub from: Option<Points>,
    /// Score below which the strategy is the one.
    pub below: Option<Points>,
    /// Numbers of critical findings, the least and the most, with which the strategy is the one.
    pub criticals: Option<(u32, u32)>,
}

impl Strategy {
    fn holds(&self, repair: u32, score: Option<Points>, criticals: u32) -> bool {
        self.until.is_some_and(|until| repair <= until)
            || self.after.is_some_and(|after| repair > after)
            || score
                .zip(self.from)
                .is_some_and(|(score, from)| score >= from)
            || score
                .zip(self.below)
                .is_some_and(|(score, below)| score < below)
            || self
                .criticals
                .is_some_and(|(least, most)| (least..=most).contains(&criticals))
    }
}

/// A way on from a gate, by the word that chooses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub word: String,
    /// The nodes behind the gate that are not done then.
    pub falls: Vec<TaskId>,
}

/// The gate of a decision or a goal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gate {
    /// The nodes that are judged; the gate waits for them.
    pub judges: Vec<TaskId>,
    pub rubric: Rubric,
    /// Set when nothing goes on while a goal of the list is open that does not wait for the gate.
    pub goals: bool,
    /// Views that rate, where several have to agree.
    pub views: Vec<String>,
    /// The last word on something: no revision follows, a person decides.
    pub is_final: bool,
    /// Number of times that the repair may be inserted.
    pub cap: u32,
    pub at_cap: AtCap,
    /// The ways on: where there are any, whoever lets the work go on says which.
    pub outcomes: Vec<Outcome>,
    /// Manners of repair, by what was found: the first that holds counts, and where none does the first.
    pub strategies: Vec<Strategy>,
    /// Nodes that are inserted before the next attempt, with ids of their own.
    pub repair: Vec<Node>,
    /// Number of times that the repair was inserted by now: 0 for a gate as it was planned.
    pub attempt: u32,
    /// Gate that is decided in this one's place, once a fix was.
    pub superseded: Option<TaskId>,
}

impl Gate {
    /// Cap of a gate that says nothing of how often a repair is inserted.
    pub const CAP: u32 = 3;
    /// Cap of such a gate where several views rate: one revision.
    pub const CAP_OF_VIEWS: u32 = 1;
    /// The largest cap.
    pub const MOST: u32 = 20;

    /// The manner of the repair of this number.
    pub fn strategy(&self, repair: u32, score: Option<Points>, criticals: u32) -> Option<&str> {
        let holds = |one: &&Strategy| one.holds(repair, score, criticals);
        let found = self.strategies.iter().find(holds);
        found
            .or(self.strategies.first())
            .map(|one| one.name.as_str())
    }

    /// Words that choose one of the gate's outcomes.
    pub fn outcome_words(&self) -> Vec<&str> {
        self.outcomes.iter().map(|one| one.word.as_str()).collect()
    }

    /// The nodes that fall by an outcome.
    pub fn falls(&self, word: Option<&str>) -> &[TaskId] {
        let chosen = self
            .outcomes
            .iter()
            .find(|one| word.is_some_and(|word| one.word.eq_ignore_ascii_case(word)));
        chosen.map_or(&[], |one| &one.falls)
    }

    /// The gate of a decision that says nothing: a fix has nothing to insert, so that a person decides.
    pub fn plain(judges: Vec<TaskId>) -> Self {
        Gate {
            judges,
            rubric: Rubric::default(),
            goals: false,
            views: Vec::new(),
            is_final: false,
            cap: 0,
            at_cap: AtCap::Escalate,
            outcomes: Vec::new(),
            strategies: Vec::new(),
            repair: Vec::new(),
            attempt: 0,
            superseded: None,
        }
    }
}
