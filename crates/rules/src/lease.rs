//! Leases: a build belongs to one worktree, and to one agent session where one is known, for as
//! long as its lease runs (design 5 and 7; reference 7, "Stop gate", rule 2).
//!
//! A claim rides on the operations of the build, so that somebody who works alone never notices it. The
//! owner is a random token of the worktree: no path and no name of a machine is recorded. The clock
//! is the caller's.

use super::session::{Signed, Stamped};
use loopx_base::age::relative;
use loopx_base::failure::{Code, Failure, Kind, Result};
use loopx_base::hint::{command, hint};
use loopx_base::id::{OpId, Person};
use serde::{Deserialize, Serialize};
use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::rc::Rc;

/// Seconds that a claim holds when nothing else is said.
pub const LEASE: u32 = 2 * 60 * 60;
/// The longest lease, in seconds: a week. A slip of the pen must not lock a build for years.
pub const MAX_LEASE: u32 = 7 * 24 * 60 * 60;
/// The longest name of an agent session that is kept as it is.
const MAX_AGENT: usize = 64;

/// A worktree's hold on a build.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The worktree's token.
    pub owner: String,
    /// The agent session, where one is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    pub seconds: u32,
    /// Claim that this one took over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<Over>,
}

/// A claim that ended because somebody else took the build over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Over {
    pub owner: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(flatten)]
    pub signed: Signed,
    /// Set when the lease of the claim was still running.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub alive: bool,
}

/// Owner of a claim, or whoever asks for one: a worktree, perhaps with an agent session in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    pub token: String,
    pub agent: Option<String>,
    /// The lease that it wants, in seconds.
    pub seconds: u32,
    /// The worktrees of its clone.
    pub worktrees: Worktrees,
}

/// The worktrees that a clone has: their tokens say nothing to a person.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Worktrees {
    /// The token of this one, where it has one.
    pub here: Option<String>,
    beside: Beside,
}

/// The places of the other worktrees by their tokens, looked for once somebody is to be named: a clone may have many.
#[derive(Clone, Default)]
struct Beside {
    found: Rc<OnceCell<BTreeMap<String, String>>>,
    look: Option<Rc<dyn Fn() -> BTreeMap<String, String>>>,
}

impl Beside {
    fn get(&self) -> &BTreeMap<String, String> {
        let look = || self.look.as_ref().map(|look| look()).unwrap_or_default();
        self.found.get_or_init(look)
    }
}

impl fmt::Debug for Beside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.found.fmt(f)
    }
}

impl PartialEq for Beside {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Eq for Beside {}

impl Worktrees {
    /// Worktrees with the present one, and a way to find the places of those beside it by their tokens.
    pub fn new(
        here: Option<String>,
        look: impl Fn() -> BTreeMap<String, String> + 'static,
    ) -> Self {
        let look: Rc<dyn Fn() -> BTreeMap<String, String>> = Rc::new(look);
        let beside = Beside {
            found: Rc::default(),
            look: Some(look),
        };
        Worktrees { here, beside }
    }

    /// Worktrees with the present one alone.
    pub fn alone(here: Option<String>) -> Self {
        let beside = Beside::default();
        Worktrees { here, beside }
    }

    /// An owner for people: whose word made the claim, and where that worktree is.
    pub fn whose(&self, owner: &str, agent: Option<&str>, by: &Person) -> String {
        if self.here.as_deref() == Some(owner) {
            return with_agent("this worktree".to_owned(), agent);
        }
        let place = match self.beside.get().get(owner) {
            Some(folder) => format!("{by}, worktree {folder}"),
            // Another clone has it, or it was removed.
            None => format!("{by}, in no worktree of this clone"),
        };
        with_agent(place, agent)
    }
}

/// Standing of a build for somebody who asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing<'a> {
    /// The build has no claim.
    Free,
    /// The build belongs to whoever asks; `fresh` when most of the lease is still to come.
    Own { fresh: bool },
    /// The build belongs to somebody else, whose lease has ended.
    Dead(&'a Stamped<Claim>),
    /// The build belongs to somebody else.
    Held(&'a Stamped<Claim>),
}

/// The second at which a claim ends by the clock of whoever made it; one whose time cannot be read has ended.
pub fn until(claim: &Stamped<Claim>) -> i64 {
    ends(claim, claim.value.seconds)
}

/// A record by which a worktree has something for a time.
pub trait Lease {
    /// The worktree's token.
    fn owner(&self) -> &str;
    fn agent(&self) -> Option<&str>;
    fn seconds(&self) -> u32;
}

/// Makes a claim with `owner`, `agent` and `seconds` a lease.
macro_rules! leased {
    ($claim:ty) => {
        impl $crate::lease::Lease for $claim {
            fn owner(&self) -> &str {
                &self.owner
            }

            fn agent(&self) -> Option<&str> {
                self.agent.as_deref()
            }

            fn seconds(&self) -> u32 {
                self.seconds
            }
        }
    };
}
pub(crate) use leased;

leased!(Claim);

/// Leases as a clone sees them at a moment. A claim carries the clock of whoever made it, which may be hours off: one that
/// this worktree did not make ends once the clone has seen it unrenewed for its whole length.
#[derive(Clone, Debug, Default)]
pub struct Leases {
    /// The second at which the clone saw a claim first.
    pub first: HashMap<OpId, i64>,
    /// The token of this worktree, whose own claims go by its own clock.
    pub here: Option<String>,
    pub now: i64,
}

impl Leases {
    /// Leases that nobody watched.
    pub fn at(now: i64) -> Self {
        Leases {
            now,
            ..Leases::default()
        }
    }

    /// Test for a claim that this worktree made.
    pub fn is_here<L: Lease>(&self, claim: &Stamped<L>) -> bool {
        self.here.as_deref() == Some(claim.value.owner())
    }

    /// The second at which a claim ends; one whose time cannot be read has ended.
    pub fn until<L: Lease>(&self, claim: &Stamped<L>) -> i64 {
        let seconds = claim.value.seconds();
        match self.first.get(&claim.op) {
            Some(first) if !self.is_here(claim) => {
                first.saturating_add(i64::from(seconds.min(MAX_LEASE)))
            }
            _ => ends(claim, seconds),
        }
    }

    /// Test for a claim that holds.
    pub fn runs<L: Lease>(&self, claim: &Stamped<L>) -> bool {
        self.until(claim) > self.now
    }

    /// The standing of something to this worktree. Whatever agent works there: commands are the worktree's.
    pub fn standing<'a>(&self, claim: Option<&'a Stamped<Claim>>) -> Standing<'a> {
        match claim {
            None => Standing::Free,
            Some(claim) if self.is_here(claim) => {
                // Renewed when half of it is gone, so that working costs no commits of its own.
                let half = i64::from(claim.value.seconds.min(MAX_LEASE)) / 2;
                Standing::Own {
                    fresh: self.until(claim).saturating_sub(half) > self.now,
                }
            }
            Some(claim) if self.runs(claim) => Standing::Held(claim),
            Some(claim) => Standing::Dead(claim),
        }
    }
}

/// The second at which a lease of so many seconds ends that began with a record.
pub fn ends<T>(record: &Stamped<T>, seconds: u32) -> i64 {
    let seconds = i64::from(seconds.min(MAX_LEASE));
    seconds_of(&record.signed.at).map_or(i64::MIN, |at| at.saturating_add(seconds))
}

/// A time of the records as seconds since 1970.
pub fn seconds_of(at: &str) -> Option<i64> {
    use time::format_description::well_known::Rfc3339;
    let moment = time::OffsetDateTime::parse(at, &Rfc3339).ok()?;
    Some(moment.unix_timestamp())
}

/// Seconds since 1970 for people, in UTC.
pub fn clock(seconds: i64) -> String {
    use time::format_description::well_known::Rfc3339;
    time::OffsetDateTime::from_unix_timestamp(seconds)
        .ok()
        .and_then(|moment| moment.format(&Rfc3339).ok())
        .unwrap_or_else(|| "an unknown time".to_owned())
}

/// The standing of a build to a worktree, by the clock of whoever claimed it.
pub fn standing<'a>(
    claim: Option<&'a Stamped<Claim>>,
    token: Option<&str>,
    now: i64,
) -> Standing<'a> {
    let leases = Leases {
        here: token.map(str::to_owned),
        ..Leases::at(now)
    };
    leases.standing(claim)
}

/// The claim that an operation of the build carries: none when there is nothing new to say, and a
/// refusal when somebody else builds.
pub fn hold(
    claim: Option<&Stamped<Claim>>,
    owner: &Owner,
    now: i64,
    take_over: bool,
) -> Result<Option<Claim>> {
    let new = |over: Option<Over>, agent: Option<String>| Claim {
        owner: owner.token.clone(),
        agent,
        seconds: owner.seconds.min(MAX_LEASE),
        over,
    };
    let taken =
        |claim: &Stamped<Claim>, alive: bool| new(Some(over(claim, alive)), owner.agent.clone());
    match standing(claim, Some(&owner.token), now) {
        Standing::Free => Ok(Some(new(None, owner.agent.clone()))),
        Standing::Own { fresh } => {
            let known = claim.and_then(|claim| claim.value.agent.clone());
            // Whoever does a step here builds: a host that is started again has another session. To take
            // the build over without saying for whom lets the recorded session go.
            let agent = if take_over {
                owner
                    .agent
                    .clone()
                    .filter(|agent| known.as_ref() != Some(agent))
            } else {
                owner.agent.clone().or_else(|| known.clone())
            };
            let over = match claim {
                Some(claim) if known.is_some() && agent != known => {
                    Some(over(claim, until(claim) > now))
                }
                _ => claim.and_then(|claim| claim.value.over.clone()),
            };
            Ok((!fresh || agent != known).then(|| new(over, agent)))
        }
        Standing::Dead(claim) => Ok(Some(taken(claim, false))),
        Standing::Held(claim) if take_over => Ok(Some(taken(claim, true))),
        Standing::Held(claim) => Err(held(claim, owner, now)),
    }
}

/// The claim of an agent session that was found at work on the build: its worktree's, with its name.
pub fn adopt(claim: Option<&Stamped<Claim>>, owner: &Owner, now: i64) -> Result<Claim> {
    let mut new = Claim {
        owner: owner.token.clone(),
        agent: owner.agent.clone(),
        seconds: owner.seconds.min(MAX_LEASE),
        over: None,
    };
    match (standing(claim, Some(&owner.token), now), claim) {
        (Standing::Held(claim), _) => return Err(held(claim, owner, now)),
        (Standing::Dead(claim), _) => new.over = Some(over(claim, false)),
        (Standing::Own { .. }, Some(claim)) => {
            new.agent = owner.agent.clone().or_else(|| claim.value.agent.clone());
            let same = claim.value.agent.is_none() || claim.value.agent == new.agent;
            new.over = if same {
                claim.value.over.clone()
            } else {
                Some(over(claim, until(claim) > now))
            };
        }
        _ => {}
    }
    Ok(new)
}

fn over(claim: &Stamped<Claim>, alive: bool) -> Over {
    Over {
        owner: claim.value.owner.clone(),
        agent: claim.value.agent.clone(),
        signed: claim.signed.clone(),
        alive,
    }
}

/// Refusal because somebody else builds: who, and until when.
fn held(claim: &Stamped<Claim>, asks: &Owner, now: i64) -> Failure {
    let until = until(claim);
    Failure::new(
        Kind::Waiting,
        Code::BuildHeld,
        format!(
            "the build belongs to another worktree ({}) until {} ({})",
            asks.worktrees.whose(
                &claim.value.owner,
                claim.value.agent.as_deref(),
                &claim.signed.by,
            ),
            clock(until),
            relative(now, until)
        ),
    )
    .help(hint![
        "wait, or: ",
        command!("build --take-over --reason WHY")
    ])
}

/// An owner as a record names him: no path of a machine is recorded.
pub fn recorded_name(agent: Option<&str>, by: &Person) -> String {
    with_agent(by.to_string(), agent)
}

fn with_agent(who: String, agent: Option<&str>) -> String {
    // It comes from the branch, which somebody else may have written.
    match agent.and_then(agent_name) {
        Some(agent) => format!("{who}, agent session {agent}"),
        None => who,
    }
}

/// An agent session's name as it is recorded: letters, digits, `-`, `_`, `.`; `None` when nothing of it is left.
pub fn agent_name(raw: &str) -> Option<String> {
    let name: String = raw
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || "-_.".contains(*c))
        .take(MAX_AGENT)
        .collect();
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::{
        Claim, Leases, Owner, Standing, Worktrees, agent_name, hold, recorded_name, standing, until,
    };
    use crate::session::{Signed, Stamped};
    use loopx_base::failure::Kind;
    use loopx_base::id::{OpId, Person};
    use std::cell::Cell;
    use std::collections::HashMap;
    use std::rc::Rc;

    fn claim(owner: &str, at: &str) -> Stamped<Claim> {
        Stamped {
            op: OpId::parse(&"0".repeat(26)).expect("an id"),
            seq: 1,
            signed: Signed {
                by: Person::parse("Ada <a@x>"),
                at: at.to_owned(),
            },
            reason: None,
            value: Claim {
                owner: owner.to_owned(),
                agent: None,
                seconds: 100,
                over: None,
            },
        }
    }

    fn owner(token: &str, agent: Option<&str>) -> Owner {
        Owner {
            worktrees: Worktrees::default(),
            token: token.into(),
            agent: agent.map(str::to_owned),
            seconds: 100,
        }
    }

    const AT: &str = "1970-01-01T00:16:40Z";

    #[test]
    fn a_lease_is_alive_to_its_last_second_and_renewed_when_half_is_gone() {
        let held = claim("a", AT);
        assert_eq!(until(&held), 1100);
        for (token, now, wanted) in [
            ("a", 1000, Standing::Own { fresh: true }),
            ("a", 1049, Standing::Own { fresh: true }),
            ("a", 1050, Standing::Own { fresh: false }),
            ("a", 9999, Standing::Own { fresh: false }),
            ("b", 1099, Standing::Held(&held)),
            ("b", 1100, Standing::Dead(&held)),
        ] {
            assert_eq!(
                standing(Some(&held), Some(token), now),
                wanted,
                "{token} {now}"
            );
        }
        assert_eq!(standing(None, None, 0), Standing::Free);
    }

    #[test]
    fn who_takes_over_says_from_whom() {
        let held = claim("a", AT);
        let refused = hold(Some(&held), &owner("b", None), 1001, false).expect_err("held");
        assert_eq!(refused.kind, Kind::Waiting);
        assert!(
            refused.message.contains("1970-01-01T00:18:20Z"),
            "{refused}"
        );
        let forced = hold(Some(&held), &owner("b", None), 1001, true).expect("a claim");
        let over = forced.and_then(|claim| claim.over).expect("over");
        assert_eq!((over.owner.as_str(), over.alive), ("a", true));
        let late = hold(Some(&held), &owner("b", None), 2000, false).expect("a claim");
        assert_eq!(
            late.and_then(|claim| claim.over).map(|over| over.alive),
            Some(false)
        );
    }

    #[test]
    fn the_owner_says_nothing_new_while_the_lease_is_fresh() {
        let held = claim("a", AT);
        assert_eq!(hold(Some(&held), &owner("a", None), 1001, false), Ok(None));
        let adopted = hold(Some(&held), &owner("a", Some("s1")), 1001, false).expect("a claim");
        assert_eq!(adopted.and_then(|claim| claim.agent).as_deref(), Some("s1"));
        let renewed = hold(Some(&held), &owner("a", None), 1060, false).expect("a claim");
        assert_eq!(renewed.expect("a claim").over, None);
    }

    #[test]
    fn h4_the_agent_session_that_does_a_step_is_the_owner() {
        let mut held = claim("a", AT);
        held.value.agent = Some("s1".into());
        let step = |agent: Option<&str>, take_over| {
            hold(Some(&held), &owner("a", agent), 1001, take_over).expect("a claim")
        };
        let restarted = step(Some("s2"), false).expect("a new claim");
        assert_eq!(restarted.agent.as_deref(), Some("s2"));
        let over = restarted.over.and_then(|over| over.agent);
        assert_eq!(over.as_deref(), Some("s1"), "from whom");
        // A step of nobody in particular, or of the same session, changes nothing.
        assert_eq!((step(None, false), step(Some("s1"), false)), (None, None));
        // Taken over in the same worktree: for the one that asks, or for whoever comes.
        for (agent, wanted) in [(Some("s2"), Some("s2")), (Some("s1"), None), (None, None)] {
            let taken = step(agent, true).expect("a claim");
            assert_eq!(taken.agent.as_deref(), wanted);
            assert!(taken.over.is_some_and(|over| over.alive));
        }
    }

    #[test]
    fn a_worktree_is_named_by_its_folder_and_never_by_its_token() {
        let by = Person {
            name: "Ada".to_owned(),
            email: "ada@example.org".to_owned(),
        };
        let looks = Rc::new(Cell::new(0));
        let counted = Rc::clone(&looks);
        let worktrees = Worktrees::new(Some("01aaaa".to_owned()), move || {
            counted.set(counted.get() + 1);
            [("01bbbb".to_owned(), "../other".to_owned())].into()
        });
        for (agent, wanted) in [
            (None, "this worktree"),
            (Some("s1"), "this worktree, agent session s1"),
        ] {
            assert_eq!(worktrees.whose("01aaaa", agent, &by), wanted);
        }
        assert_eq!(looks.get(), 0, "nobody else was named");
        for (owner, agent, wanted) in [
            ("01bbbb", None, "Ada <ada@example.org>, worktree ../other"),
            (
                "01cccc",
                Some("s\n2"),
                "Ada <ada@example.org>, in no worktree of this clone, agent session s2",
            ),
        ] {
            assert_eq!(worktrees.clone().whose(owner, agent, &by), wanted);
        }
        assert_eq!(looks.get(), 1, "the others are looked for once");
        // What is recorded names no folder either.
        assert_eq!(recorded_name(None, &by), "Ada <ada@example.org>");
    }

    #[test]
    fn a_claim_of_somebody_else_ends_once_it_was_watched_for_its_length() {
        let held = claim("a", AT);
        let leases = |here: &str, first, now| Leases {
            first: HashMap::from([(held.op.clone(), first)]),
            here: Some(here.to_owned()),
            now,
        };
        for (here, first, now, wanted) in [
            ("b", 50_000, 50_099, Standing::Held(&held)),
            ("b", 50_000, 50_100, Standing::Dead(&held)),
            ("b", 10, 109, Standing::Held(&held)),
            ("b", 10, 110, Standing::Dead(&held)),
            ("a", 50_000, 1049, Standing::Own { fresh: true }),
            ("a", 50_000, 1050, Standing::Own { fresh: false }),
        ] {
            let standing = leases(here, first, now).standing(Some(&held));
            assert_eq!(standing, wanted, "{here} {first} {now}");
        }
    }

    #[test]
    fn a_time_that_cannot_be_read_holds_nothing() {
        let held = claim("a", "yesterday");
        assert_eq!(standing(Some(&held), Some("b"), 0), Standing::Dead(&held));
    }

    #[test]
    fn names_of_agents_are_plain() {
        assert_eq!(agent_name("a/b\x1b[31m c"), Some("ab31mc".into()));
        assert_eq!(agent_name("\n"), None);
        assert_eq!(agent_name(&"x".repeat(99)).map(|name| name.len()), Some(64));
    }
}
