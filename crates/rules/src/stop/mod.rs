//! The stop gate of an agent: one pure function, in the order of reference 7 "Stop gate".
//!
//! The counters are ours and lie in the worktree's own git dir; the host's flag is never asked. What
//! completes a build is the gate of its hand-off, computed from evidence, and no word of the agent.

use crate::lease;
use crate::op::BlockCause;
use loopx_base::hint::command;
use loopx_hosts::{Call, Decision, Host, Moment};
use serde::{Deserialize, Serialize};

/// Blocks one after another: below the cap of every host.
pub const MAX_ROW: u32 = 5;
/// Blocks in one build, to one agent session.
pub const MAX_TOTAL: u32 = 20;
/// Identical blocks.
pub const MAX_SAME: u32 = 2;
/// Seconds from the first block of a row.
pub const MAX_SECONDS: i64 = 4 * 60 * 60;
/// Seconds within which two hosts fire for one stop.
pub const TWICE_WITHIN: i64 = 10;
/// Seconds for which a build step that an agent was about to type tells who builds.
pub const DRIVES_FOR: i64 = 10 * 60;
/// Beginning of the text of a block.
const OPENING: &str = "git loopx: the build of session ";
/// Number of unmet rules that a block names.
const NAMED: usize = 8;

/// Memory of the worktree between two stops.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ledger {
    /// Build that these counters are about; the agent session stands beside it.
    pub build: String,
    pub agent: Option<String>,
    /// Blocks since the last stop that was let through, and since the build began.
    pub row: u32,
    pub total: u32,
    pub row_began: Option<i64>,
    /// Fingerprint of what stood when the last block was given; beside it, how often the block was given for that.
    pub fingerprint: String,
    pub same: u32,
    pub parked: Option<Parked>,
    /// The last stop that was answered, and to whom.
    pub answered: Option<Answered>,
    /// The agent session that typed a build step last.
    pub driver: Option<Driver>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parked {
    pub at: i64,
    pub why: String,
    /// Set when a person or an agent parked the build, not what the host said of background work: the build stays
    /// parked until somebody resumes.
    pub told: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    pub at: i64,
    pub host: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Driver {
    pub agent: String,
    pub at: i64,
}

impl Ledger {
    /// The agent session that is at work, as far as its commands have shown it.
    pub fn driver_at(&self, now: i64) -> Option<&str> {
        let driver = self.driver.as_ref()?;
        let since = now.saturating_sub(driver.at);
        (0..=DRIVES_FOR).contains(&since).then_some(&driver.agent)
    }

    /// The counters of another build, or of another agent session, are not these.
    fn of(&self, build: &str, agent: Option<&str>) -> Ledger {
        if self.build == build && (self.agent.as_deref() == agent || agent.is_none()) {
            return self.clone();
        }
        Ledger {
            build: build.to_owned(),
            agent: agent.map(str::to_owned),
            parked: self.parked.clone().filter(|_| self.build == build),
            answered: self.answered.clone(),
            driver: self.driver.clone(),
            ..Ledger::default()
        }
    }

    /// Tells whether another host has asked about this stop a moment ago.
    fn was_answered_by_another(&self, host: Host, now: i64) -> bool {
        self.answered.as_ref().is_some_and(|answered| {
            answered.host != host.name() && (0..=TWICE_WITHIN).contains(&(now - answered.at))
        })
    }

    /// The cause and the sentence with which a build that is not ready is let go, where it has been held
    /// often enough.
    fn given_up(&self, judged: &Judged, now: i64) -> Option<(BlockCause, String)> {
        if self.fingerprint == judged.fingerprint && self.same >= MAX_SAME {
            let why = format!("held {MAX_SAME} times, and nothing changed");
            return Some((BlockCause::NoProgress, why));
        }
        let since = self.row_began.map_or(0, |began| now.saturating_sub(began));
        let why = if self.row >= MAX_ROW {
            format!("held {MAX_ROW} times in a row")
        } else if self.total >= MAX_TOTAL {
            format!("held {MAX_TOTAL} times in this build")
        } else if since > MAX_SECONDS {
            format!("held for {} hours", since / 3600)
        } else {
            return None;
        };
        Some((BlockCause::Exhausted, why))
    }

    /// Counts a block.
    fn hold(&mut self, judged: &Judged, now: i64) {
        let same = self.fingerprint == judged.fingerprint;
        self.row += 1;
        self.total += 1;
        self.row_began.get_or_insert(now);
        self.same = if same { self.same + 1 } else { 1 };
        self.fingerprint.clone_from(&judged.fingerprint);
    }

    /// A stop was let through, or a person spoke: the next block is the first of a row.
    pub fn breathe(&mut self) {
        self.row = 0;
        self.row_began = None;
    }

    /// Forgets what is held against the build, since somebody takes it up again.
    pub fn renew(&mut self) {
        *self = Ledger {
            build: std::mem::take(&mut self.build),
            agent: self.agent.take(),
            driver: self.driver.take(),
            ..Ledger::default()
        };
    }
}

/// The build of this worktree and branch, as far as it can be known without looking at the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Build {
    pub session: String,
    /// Tells this build of the session from an earlier one.
    pub key: String,
    pub owner: BuildOwner,
    /// `blocked:*` is recorded.
    pub blocked: bool,
    /// Delegated work that runs.
    pub delegated: usize,
}

/// Owner of the build, seen from this worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BuildOwner {
    /// The build is another worktree's, whose lease runs.
    Elsewhere,
    /// The build is this worktree's, and this agent session's where one is known; `alive` while its lease runs.
    Here { agent: Option<String>, alive: bool },
    /// The build is nobody's, or of somebody whose lease has ended.
    Nobody,
}

/// Standing of the hand-off, judged by the gate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    /// Code and sentence of each rule that is not met; none is ready.
    pub missing: Vec<(String, String)>,
    /// The command that leads on.
    pub next: String,
    /// HEAD, index tree, worktree, record, missing set.
    pub fingerprint: String,
}

/// Ruling on a stop.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Ruling {
    pub decision: Decision,
    pub ledger: Ledger,
    /// The agent session is to be recorded as the one that builds.
    pub adopt: bool,
    /// Cause that is to be recorded on the session, with a reason.
    pub record: Option<(BlockCause, String)>,
}

/// Decides. `judge` looks at the code, which costs: it is asked only when nothing else has decided.
/// `None` from it is a failure of ours, which never holds anybody.
pub fn decide(
    host: Host,
    moment: Moment,
    call: &Call,
    now: i64,
    build: Option<&Build>,
    ledger: &Ledger,
    judge: impl FnOnce() -> Option<Judged>,
) -> Ruling {
    let agent = asking(moment, call);
    let concerned = build.and_then(|build| {
        let adopt = concerned(moment, call, now, (build, agent.as_deref()), ledger)?;
        Some((build, adopt))
    });
    let Some((build, adopt)) = concerned else {
        return Ruling {
            decision: Decision::Allow,
            ledger: ledger.clone(),
            adopt: false,
            record: None,
        };
    };
    let mut ledger = ledger.of(&build.key, agent.as_deref());
    let ruling = |decision: Decision, ledger: Ledger| Ruling {
        decision,
        ledger,
        adopt,
        record: None,
    };
    // 5: it will be woken; judged then. The budget is untouched.
    let told = ledger.parked.as_ref().is_some_and(|parked| parked.told);
    if told {
        return ruling(Decision::Park, ledger);
    }
    if call.background + build.delegated > 0 {
        ledger.parked.get_or_insert(Parked {
            at: now,
            why: "work goes on in the background".into(),
            told: false,
        });
        return ruling(Decision::Park, ledger);
    }
    ledger.parked = None;
    // One stop, two hosts: the first was answered.
    if ledger.was_answered_by_another(host, now) {
        return ruling(Decision::Allow, ledger);
    }
    ledger.answered = Some(Answered {
        at: now,
        host: host.name().to_owned(),
    });
    // 6: a blocker is recorded, or the hand-off is ready.
    if build.blocked {
        ledger.breathe();
        return ruling(Decision::Allow, ledger);
    }
    let Some(judged) = judge() else {
        return ruling(Decision::Allow, ledger);
    };
    if judged.missing.is_empty() {
        ledger.breathe();
        ledger.same = 0;
        return ruling(Decision::Allow, ledger);
    }
    // 7, 8: nothing changes, or the budget is spent.
    if let Some((cause, why)) = ledger.given_up(&judged, now) {
        ledger.breathe();
        let text = given_up_text(build, &judged, cause, &why);
        return Ruling {
            record: Some((cause, why)),
            ..ruling(Decision::Nudge(text), ledger)
        };
    }
    // 9.
    ledger.hold(&judged, now);
    let text = block_text(build, &judged, &ledger);
    ruling(Decision::Block(text), ledger)
}

/// The part that a stop has in a build: nothing where it has none, else whether the agent session is to be recorded as the
/// one that builds.
fn concerned(
    moment: Moment,
    call: &Call,
    now: i64,
    (build, agent): (&Build, Option<&str>),
    ledger: &Ledger,
) -> Option<bool> {
    // 1, 2: not loopx, no build of this worktree and branch, or somebody else's.
    let adopt = owned(build, agent, ledger, now)?;
    // 3: a sub-agent is not who builds, unless it is. 4: nothing was finished.
    let is_owner =
        matches!(&build.owner, BuildOwner::Here { agent: Some(owner), .. } if agent == Some(owner));
    let is_beside = is_subagent(moment, call) && !is_owner;
    (!is_beside && !call.unfinished).then_some(adopt)
}

/// A sub-agent has a name of its own beside that of the session that started it, and not every host has an
/// event of its own for its stop.
fn is_subagent(moment: Moment, call: &Call) -> bool {
    moment == Moment::SubagentStop || call.subagent.is_some()
}

/// The agent session, or the sub-agent, that wants to stop.
fn asking(moment: Moment, call: &Call) -> Option<String> {
    let name = if is_subagent(moment, call) {
        &call.subagent
    } else {
        &call.session
    };
    name.as_deref().and_then(lease::agent_name)
}

/// Tells whether a stop of this agent session is the build's: `None` when it is somebody else's, else whether the
/// session is to be recorded as the one that builds. A call that names nobody is nobody's: an unknown caller must not
/// be held, whoever it is.
fn owned(build: &Build, agent: Option<&str>, ledger: &Ledger, now: i64) -> Option<bool> {
    let agent = agent?;
    match &build.owner {
        BuildOwner::Elsewhere => None,
        BuildOwner::Here {
            agent: Some(owner),
            alive,
        } if agent == owner => Some(!alive),
        // Whoever typed a build step here is who builds now: the one that is recorded may be gone.
        BuildOwner::Here {
            agent: Some(_),
            alive,
        } => (!alive || ledger.driver_at(now) == Some(agent)).then_some(true),
        BuildOwner::Here { agent: None, .. } | BuildOwner::Nobody => {
            let another = ledger.driver_at(now).is_some_and(|driver| agent != driver);
            (!another).then_some(true)
        }
    }
}

fn given_up_text(build: &Build, judged: &Judged, cause: BlockCause, why: &str) -> String {
    format!(
        "git loopx: {} is not ready for review ({}); {why}. It is recorded as blocked:{cause}, see `{}`.",
        build.session,
        codes(judged),
        command!("status")
    )
}

fn codes(judged: &Judged) -> String {
    let codes: Vec<&str> = judged
        .missing
        .iter()
        .map(|(code, _)| code.as_str())
        .collect();
    codes[..codes.len().min(NAMED)].join(", ")
}

/// Tells whether a prompt is the text of a block that the host hands to the agent: some hosts fire their prompt hook
/// for it, and no person spoke.
pub fn is_block_text(prompt: &str) -> bool {
    prompt.trim_start().starts_with(OPENING)
}

fn block_text(build: &Build, judged: &Judged, ledger: &Ledger) -> String {
    let mut text = format!(
        "{OPENING}{} is not ready for review ({} of at most {MAX_ROW} reminders).\n",
        build.session, ledger.row
    );
    for (code, sentence) in judged.missing.iter().take(NAMED) {
        let sentence: String = sentence
            .chars()
            .filter(|c| !c.is_control())
            .take(300)
            .collect();
        text.push_str(&format!("- {code}: {sentence}\n"));
    }
    if judged.missing.len() > NAMED {
        text.push_str(&format!("- and {} more\n", judged.missing.len() - NAMED));
    }
    text.push_str(&format!(
        "Next: {}\nIf something real stops you: git loopx agent block --reason WHY\n\
         To leave it for later: git loopx agent park --reason WHY",
        judged.next
    ));
    text
}

#[cfg(test)]
mod tests;
