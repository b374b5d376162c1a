//! The two ways to cut a request into waves, and the five factors that choose between them.

use loopx_base::vocabulary::vocabulary;
use std::collections::BTreeMap;

vocabulary!(
    /// Way in which waves come to be.
    Mode {
        /// Layers, each usable by itself: a person says which issue is in which.
        Progressive = "progressive",
        /// The topological order of the links: each wave waits for those before it.
        Direct = "direct",
    }
);

vocabulary!(
    /// Mode that somebody asks for.
    Wish {
        Progressive = "progressive",
        Direct = "direct",
        /// The factors decide.
        Auto = "auto",
    }
);

vocabulary!(
    /// Factor that speaks for layers where it is high, and for one plan where it is low.
    Factor {
        ScopeClarity = "scope_clarity",
        TechnicalRisk = "technical_risk",
        DependencyUnknown = "dependency_unknown",
        DomainFamiliarity = "domain_familiarity",
        RequirementStability = "requirement_stability",
    }
);

vocabulary!(
    /// Uncertainty that a factor gives the request.
    Level {
        Low = "low",
        Medium = "medium",
        High = "high",
    }
);

/// Number of factors that decide.
const ENOUGH: usize = 3;

impl Mode {
    /// The mode that factors ask for: three that are high are progressive, three that are low are direct. Where neither
    /// holds a person is asked.
    pub fn of(factors: &BTreeMap<Factor, Level>) -> Option<Mode> {
        let count = |level: Level| factors.values().filter(|one| **one == level).count();
        if count(Level::High) >= ENOUGH {
            return Some(Mode::Progressive);
        }
        (count(Level::Low) >= ENOUGH).then_some(Mode::Direct)
    }
}

impl Wish {
    /// The mode, where the wish or the factors decide it.
    pub fn mode(self, factors: &BTreeMap<Factor, Level>) -> Option<Mode> {
        match self {
            Wish::Progressive => Some(Mode::Progressive),
            Wish::Direct => Some(Mode::Direct),
            Wish::Auto => Mode::of(factors),
        }
    }
}
