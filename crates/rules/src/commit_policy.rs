//! The rule for commits of a session: the stage, the declared scope and the policy in, a verdict out (design 7). The
//! hooks ask before a commit, `verify` asks again afterwards: the same function.

use super::contract::Bounds;
use super::policy::{Demand, Demanded, Policy, Strictness};
use super::profile::{Profile, ProfileName};
use super::session::State;
use super::stage::{Stage, Transition};
use loopx_base::failure::{Blocker, Code, Failure, Result};
use loopx_base::globs::Globs;
use loopx_base::hint::{Hint, command, hint};
use loopx_hosts::wiring;

/// Number of paths that a message names before it counts.
const NAMED: usize = 3;
/// The working copy of sessions: ignored, and committed only by force.
const WORKING_COPY: &str = ".loopx/";

/// Rule that a path breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The stage takes no code.
    StageClosed,
    /// Outside the scope that the plan declared.
    OutOfScope,
    /// Policy demands a heavier profile for it.
    ProfileTooLight,
    /// The working copy of a session, which lives on the loopx branch.
    WorkingCopy,
}

impl Rule {
    pub fn code(self) -> Code {
        match self {
            Rule::StageClosed => Code::StageRefusesCode,
            Rule::OutOfScope => Code::OutOfScope,
            Rule::ProfileTooLight => Code::ProfileTooLight,
            Rule::WorkingCopy => Code::WorkingCopyCommitted,
        }
    }
}

/// Paths that do not pass, and the rule that says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offence {
    pub rule: Rule,
    pub stage: Stage,
    pub paths: Vec<String>,
    /// The profile that the first of the paths needs.
    pub demand: Option<Demand>,
    /// Otherwise it is worth a warning.
    pub refused: bool,
}

/// The rules of one session at one moment, ready for many commits.
#[derive(Debug)]
pub struct Rules {
    stage: Stage,
    gate: Strictness,
    allowed: Globs,
    bounds: Bounds,
    out_of_scope: Strictness,
    /// The path patterns that need a heavier profile, each with the profile and what the session's has not.
    demands: Vec<(Demanded, ProfileName, String)>,
}

impl Rules {
    pub fn new(state: &State, policy: &Policy) -> Result<Self> {
        Ok(Rules {
            stage: state.stage,
            gate: policy.gates.stages.at(state.stage),
            allowed: policy.allowed()?,
            bounds: Bounds::new(state.boundary(), policy)?,
            out_of_scope: policy.gates.out_of_scope,
            demands: demands(state, policy)?,
        })
    }

    /// Rules without what policy demands of profiles: what lands is judged by the profile that its session has then.
    #[must_use]
    pub fn without_demands(mut self) -> Self {
        self.demands.clear();
        self
    }

    /// Rules with the scope of a later plan, where there was none yet: a profile without a plan frees nothing for good.
    pub fn or_scope(mut self, later: &State, policy: &Policy) -> Result<Self> {
        if self.bounds.is_open() {
            self.bounds = Bounds::new(later.boundary(), policy)?;
        }
        Ok(self)
    }

    /// The rule that a path breaks.
    pub fn breaks(&self, path: &str) -> Option<Rule> {
        if path.starts_with(WORKING_COPY) {
            return Some(Rule::WorkingCopy);
        }
        // What `agent install` writes is about who works here, in whatever stage. It lands by an approved
        // session alone: the account guards these files (design 7).
        let is_free = self.allowed.matches(path) || wiring::is_ours(path);
        if !is_free && self.gate != Strictness::Allow {
            return Some(Rule::StageClosed);
        }
        if self.demand(path).is_some() {
            return Some(Rule::ProfileTooLight);
        }
        let outside = self.out_of_scope != Strictness::Allow && !self.bounds.has(path, is_free);
        outside.then_some(Rule::OutOfScope)
    }

    fn demand(&self, path: &str) -> Option<Demand> {
        let mut demands = self.demands.iter();
        let (_, profile, lacking) = demands.find(|(demanded, ..)| demanded.has(path))?;
        Some(Demand {
            path: path.to_owned(),
            profile: profile.clone(),
            lacking: lacking.clone(),
        })
    }

    /// Tells whether a path is refused, and not only warned of.
    pub fn refuses_path(&self, path: &str) -> bool {
        self.breaks(path).is_some_and(|rule| self.refuses(rule))
    }

    /// Judges the paths that a commit changes, one offence for each rule.
    pub fn judge(&self, paths: &[String]) -> Vec<Offence> {
        [
            Rule::StageClosed,
            Rule::ProfileTooLight,
            Rule::OutOfScope,
            Rule::WorkingCopy,
        ]
        .into_iter()
        .filter_map(|rule| {
            let paths: Vec<String> = paths
                .iter()
                .filter(|path| self.breaks(path) == Some(rule))
                .cloned()
                .collect();
            (!paths.is_empty()).then(|| Offence {
                rule,
                stage: self.stage,
                demand: match rule {
                    Rule::ProfileTooLight => paths.first().and_then(|path| self.demand(path)),
                    _ => None,
                },
                paths,
                refused: self.refuses(rule),
            })
        })
        .collect()
    }

    fn refuses(&self, rule: Rule) -> bool {
        match rule {
            Rule::StageClosed => self.gate == Strictness::Refuse,
            Rule::OutOfScope => self.out_of_scope == Strictness::Refuse,
            Rule::ProfileTooLight => true,
            // Whoever takes such files out of the index has to be able to.
            Rule::WorkingCopy => false,
        }
    }
}

/// The paths that no commit of a session may change by the scope of its plan, where policy refuses what lies outside.
pub fn out_of_scope(state: &State, policy: &Policy, paths: &[String]) -> Result<Vec<String>> {
    if policy.gates.out_of_scope != Strictness::Refuse {
        return Ok(Vec::new());
    }
    let mut state = State::clone(state);
    state.stage = Stage::Build;
    let rules = Rules::new(&state, policy)?.without_demands();
    let is_out = |path: &&String| rules.breaks(path) == Some(Rule::OutOfScope);
    Ok(paths.iter().filter(is_out).cloned().collect())
}

/// Lists the profiles that policy demands for paths, with what the session's profile lacks of each.
fn demands(state: &State, policy: &Policy) -> Result<Vec<(Demanded, ProfileName, String)>> {
    let demanded = policy.demanded()?;
    if demanded.is_empty() {
        return Ok(Vec::new());
    }
    // A profile that policy does not have asks for nothing that it could compare.
    let own = policy.profiles.get(&state.profile);
    let own = own.unwrap_or_else(|_| Profile::empty());
    let mut found = Vec::new();
    for (paths, name) in demanded {
        if let Some(lacking) = own.lacks(&policy.profiles.get(&name)?) {
            found.push((paths, name, lacking));
        }
    }
    Ok(found)
}

impl Offence {
    /// Words what is wrong, without the paths.
    pub fn because(&self) -> String {
        match self.rule {
            Rule::StageClosed => format!("stage {} takes no code", self.stage),
            Rule::OutOfScope => "outside the scope that the plan declares".to_owned(),
            Rule::ProfileTooLight => match &self.demand {
                Some(demand) => format!(
                    "policy demands the profile {} for these paths; the session's profile lacks {}",
                    demand.profile, demand.lacking
                ),
                None => "policy demands a heavier profile for these paths".to_owned(),
            },
            Rule::WorkingCopy => {
                "a file of a session's working copy, which belongs in no commit; the session's files are on the loopx branch".to_owned()
            }
        }
    }

    /// `a, b, c and 4 more: stage plan takes no code`.
    pub fn sentence(&self) -> String {
        format!("{}: {}", some(&self.paths), self.because())
    }
}

/// The first few of many paths.
pub fn some(paths: &[String]) -> String {
    let named: Vec<String> = paths.iter().take(NAMED).map(|p| format!("`{p}`")).collect();
    match paths.len().saturating_sub(NAMED) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// The command that leads on from where a session refuses code.
pub fn leads_on(state: &State) -> Hint {
    let armed = |transition| state.armed(transition).is_some();
    match state.stage {
        Stage::Clarify if armed(Transition::ClarifyToPlan) => command!("plan"),
        Stage::Plan if armed(Transition::PlanToBuild) => command!("build"),
        Stage::Clarify | Stage::Plan | Stage::Build => command!("status"),
        Stage::Review if armed(Transition::ReviewToBuild) => {
            command!("build --from-review")
        }
        Stage::Review => {
            command!("review --verdict request-changes --target build --reason WHY")
        }
        Stage::Done => command!("archive"),
    }
}

/// The refusal of a commit. `None` where nothing that was found is refused.
/// `lead` is the next step of the session, where somebody looked.
pub fn refusal(state: &State, offences: &[Offence], lead: Option<&Hint>) -> Option<Failure> {
    let refused: Vec<&Offence> = offences.iter().filter(|o| o.refused).collect();
    let first = refused.first()?;
    let blockers = refused
        .iter()
        .map(|offence| {
            let is_scope = offence.rule == Rule::OutOfScope && state.stage == Stage::Build;
            let leads_on = match (&offence.demand, lead) {
                (Some(demand), _) => command!("profile {}", demand.profile),
                // The scope stands in the plan.
                (None, _) if is_scope => command!("plan --reason WHY"),
                (None, Some(lead)) => lead.clone(),
                (None, None) => leads_on(state),
            };
            Blocker::new(offence.rule.code(), offence.sentence(), leads_on)
        })
        .collect();
    Some(
        Failure::refused(
            first.rule.code(),
            format!(
                "this commit is not allowed: session {} is in stage {}",
                state.id, state.stage
            ),
        )
        .blockers(blockers)
        .help(hint![
            "to commit all the same: git commit --no-verify  (or LOOPX=0); `",
            command!("verify"),
            "` will tell"
        ]),
    )
}

#[cfg(test)]
pub mod tests {
    use super::{Rule, Rules, leads_on, refusal, some};
    use crate::op::{Event, Operation};
    use crate::policy::Policy;
    use crate::profile::ProfileName;
    use crate::replay::begin;
    use crate::session::State;
    use crate::stage::Stage;
    use crate::topic::Weight;
    use loopx_base::failure::Code;
    use loopx_base::id::{OpId, Person, SessionId};

    /// A session that was just started, on the branch of its own name.
    pub fn state(id: &str) -> State {
        let event = Event::Started {
            uid: "uid".into(),
            title: id.into(),
            profile: ProfileName::standard(),
            stage: None,
            branch: Some(id.into()),
            base: None,
            issues: Vec::new(),
        };
        let op = Operation {
            format: 1,
            seq: 1,
            op: OpId::parse("01hzzzzzzzzzzzzzzzzzzzzzzz").expect("an id"),
            after: Vec::new(),
            at: "2026-01-01T00:00:00Z".into(),
            by: Person::parse("Ada <ada@example.org>"),
            committer: None,
            reason: None,
            writes: Default::default(),
            others: Default::default(),
            entity: None,
            tx: None,
            weight: Weight::Opens,
            body: event.into(),
        };
        begin(&SessionId::parse(id).expect("an id"), &op).expect("a state")
    }

    fn rules(stage: Stage, scope: &[&str], policy: &str) -> Rules {
        let mut state = state("demo");
        state.stage = stage;
        state.scope = scope.iter().map(|s| (*s).to_owned()).collect();
        let policy = Policy::parse(policy, "loopx.toml").expect("a policy");
        Rules::new(&state, &policy).expect("rules")
    }

    #[test]
    fn each_stage_takes_what_the_table_says() {
        for (stage, scope, path, rule) in [
            (Stage::Clarify, &[][..], "src/a.rs", Some(Rule::StageClosed)),
            (
                Stage::Plan,
                &["src/**"],
                "src/a.rs",
                Some(Rule::StageClosed),
            ),
            (Stage::Review, &[], "src/a.rs", Some(Rule::StageClosed)),
            (Stage::Done, &[], "src/a.rs", Some(Rule::StageClosed)),
            (Stage::Build, &[], "src/a.rs", None),
            (Stage::Build, &["src/**"], "src/a.rs", None),
            (
                Stage::Build,
                &["src/**"],
                "lib/a.rs",
                Some(Rule::OutOfScope),
            ),
            (Stage::Build, &["src/**"], "docs/a", None),
            (
                Stage::Build,
                &[],
                ".loopx/demo/spec.md",
                Some(Rule::WorkingCopy),
            ),
            (Stage::Clarify, &[], "README.md", None),
            (Stage::Done, &[], "specs/a/spec.md", None),
        ] {
            assert_eq!(rules(stage, scope, "").breaks(path), rule, "{stage} {path}");
        }
    }

    #[test]
    fn chain_c4_a_path_that_the_plan_names_as_out_of_scope_is_outside_like_every_other() {
        let mut state = state("demo");
        state.stage = Stage::Build;
        state.out_of_scope = vec!["src/gen/**".into(), "docs/**".into()];
        let judged = |state: &State, policy: &str| {
            let policy = Policy::parse(policy, "loopx.toml").expect("a policy");
            let paths = ["src/a.rs", "src/gen/a.rs", "docs/a.md", "README.md"];
            let rules = Rules::new(state, &policy).expect("rules");
            rules.judge(&paths.map(str::to_owned))
        };
        let found = judged(&state, "");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].rule, Rule::OutOfScope);
        assert_eq!(found[0].paths, ["src/gen/a.rs", "docs/a.md"]);
        assert!(!found[0].refused);
        assert!(judged(&state, "[gates]\nout_of_scope = \"refuse\"\n")[0].refused);
        assert!(judged(&state, "[gates]\nout_of_scope = \"allow\"\n").is_empty());
        state.scope = vec!["src/**".into()];
        assert_eq!(judged(&state, "")[0].paths, ["src/gen/a.rs", "docs/a.md"]);
    }

    #[test]
    fn policy_decides_what_out_of_scope_means() {
        let paths = ["lib/a.rs".to_owned()];
        let judged = |policy: &str| rules(Stage::Build, &["src/**"], policy).judge(&paths);
        assert!(!judged("")[0].refused);
        assert!(judged("[gates]\nout_of_scope = \"refuse\"\n")[0].refused);
        assert!(judged("[gates]\nout_of_scope = \"allow\"\n").is_empty());
    }

    #[test]
    fn policy_decides_what_each_stage_says_to_code() {
        let paths = ["lib/a.rs".to_owned(), "a.md".to_owned()];
        for stage in Stage::ALL {
            for (word, expected) in [
                ("allow", None),
                ("warn", Some(false)),
                ("refuse", Some(true)),
            ] {
                let policy = format!("[gates.stages]\n{stage} = \"{word}\"\n");
                let found = rules(stage, &[], &policy).judge(&paths);
                let said = found.first().map(|offence| offence.refused);
                assert_eq!(said, expected, "{stage} {word}");
                assert!(found.iter().all(|offence| offence.paths == ["lib/a.rs"]));
            }
        }
    }

    #[test]
    fn a_refusal_names_rule_files_way_on_and_bypass() {
        let mut state = state("demo");
        state.stage = Stage::Done;
        let paths: Vec<String> = (0..5).map(|n| format!("src/{n}.rs")).collect();
        let offences = rules(Stage::Done, &[], "").judge(&paths);
        let failure = refusal(&state, &offences, None).expect("a refusal");
        assert_eq!(failure.code, Code::StageRefusesCode);
        assert_eq!(
            failure.blockers[0].message,
            "`src/0.rs`, `src/1.rs`, `src/2.rs` and 2 more: stage done takes no code"
        );
        assert_eq!(failure.blockers[0].help, leads_on(&state));
        assert!(
            failure
                .help
                .is_some_and(|help| help.to_string().contains("--no-verify"))
        );
        assert_eq!(some(&[]), "");
    }
}
