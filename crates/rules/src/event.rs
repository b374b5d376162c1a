//! The topic `session`: what happens to a session, and the values that its records carry. What they make of the
//! state is in [`super::session`].

use super::artifact::Artifact;
use super::issue::IssueId;
use super::op::Operation;
use super::profile::ProfileName;
use super::session::{self, BRANCH, Beside, State, Way};
use super::stage::{Stage, Transition};
use super::task::amend::Amendment;
use super::topic::{Taken, Topic, Version, Weight};
use super::word_lists::{
    AnswerWord, BlockCause, CodeVerdict, DelegationStatus, Lane, LaneStatus, PlanLane, PlanVerdict,
    Role, Severity, Smell, Target,
};
use loopx_base::id::{Oid, OpId, Person};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The topic `session`. Each variant is named by what happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    Started {
        uid: String,
        title: String,
        profile: ProfileName,
        /// Stage at which the session begins; clarify where nothing is said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stage: Option<Stage>,
        branch: Option<String>,
        /// The commit that the change starts from; policy and the review's range begin there.
        base: Option<Oid>,
        /// The issues of the backlog that it was started for.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        issues: Vec<IssueId>,
    },
    /// Artifacts changed, nothing else.
    Saved,
    Bound {
        branch: String,
    },
    /// The branch of the session is another session's now.
    Unbound,
    /// The session starts from another commit: history was rewritten.
    Rebased {
        base: Oid,
    },
    /// A round of clarification ended; the artifacts say how.
    Clarified {
        profile: ProfileName,
    },
    /// The session got another profile, and with it the stage that it goes on from.
    Reprofiled {
        profile: ProfileName,
        stage: Stage,
        /// Commit of the branch when the profile changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        head: Option<Oid>,
    },
    Approved {
        transition: Transition,
        /// Tree of exactly the artifacts that the gate judged.
        content: Oid,
        files: BTreeMap<Artifact, Oid>,
        /// The code tree, where the gate judged code.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<Oid>,
        /// review->done, with everybody's approval that policy asks for: the stage moves here.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        completes: bool,
        /// Commit of the branch when the stage moved.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        head: Option<Oid>,
        /// The plan that was approved for the build gets another list of tasks by it, in the build.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        amends: Option<Amendment>,
    },
    /// A stage's command consumed its approval and moved the session.
    Entered {
        transition: Transition,
        /// The declared scope, at plan->build.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        scope: Vec<String>,
        /// Patterns that the plan names as out of scope.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        out_of_scope: Vec<String>,
        /// Commit of the branch when the stage moved: whatever the branch had by then was made in an earlier stage.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        head: Option<Oid>,
    },
    /// A new draft of the plan after a critic who did not approve.
    Drafted,
    /// A lane of the plan's consensus loop, one of two, gave its view.
    PlanReviewed {
        lane: PlanLane,
        verdict: PlanVerdict,
        findings: Vec<String>,
        /// Findings that say how much they weigh.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        found: Vec<ReviewFinding>,
        /// The plan that was judged.
        files: BTreeMap<Artifact, Oid>,
    },
    /// A named person raised a cap.
    Extended {
        stage: Stage,
        by: u32,
    },
    LaneReported {
        lane: Lane,
        status: LaneStatus,
        summary: String,
        /// The code that the report is about.
        tree: Oid,
    },
    Delegated {
        delegation: Delegation,
    },
    /// git loopx ran a command itself.
    Ran {
        evidence: Evidence,
    },
    Waived {
        task: String,
    },
    /// A build iteration ended with what was found.
    Audited {
        tree: Oid,
        blockers: Vec<String>,
        no_deslop: bool,
    },
    /// The build was claimed, or its claim renewed, and nothing else.
    Claimed,
    /// The build cannot go on until somebody does something about it.
    Blocked {
        cause: BlockCause,
        /// The codes of what was missing then.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        missing: Vec<String>,
    },
    /// The build is no longer blocked.
    Resumed,
    Reviewed {
        verdict: Verdict,
    },
    /// Findings were answered: somebody said what became of them.
    Answered {
        answers: Vec<Answer>,
        /// The code that they speak of.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tree: Option<Oid>,
    },
    /// The session came from another tool; the artifacts are those that it had there.
    Imported {
        /// The tool.
        from: String,
        /// Place of the change in that tool's tree.
        folder: String,
        /// Files of the change as they were, by path below the folder; kept in `imported/` of the session.
        files: BTreeMap<String, Oid>,
        /// End that the change had there: the session is archived from the beginning.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ended: Option<ImportedEnd>,
    },
    /// The commits that the delta was written against were recorded anew, from the target branch.
    Refreshed,
    Abandoned,
    Archived {
        /// The commit on the code branch that carries the result.
        commit: Option<Oid>,
        target: String,
        /// `yyyy-mm`.
        month: String,
    },
    /// The archive was taken back on a branch: the session stays archived, and its result is not there any more.
    Unarchived {
        /// The commit of the archive.
        archive: Oid,
        /// The commit that takes it back, and the branch that has it.
        commit: Oid,
        target: String,
    },
}

impl Topic for Event {
    const NAME: &'static str = "session";
    type Move = Way;

    fn kind(&self) -> &'static str {
        match self {
            Event::Started { .. } => "started",
            Event::Saved => "saved",
            Event::Bound { .. } => "bound",
            Event::Unbound => "unbound",
            Event::Rebased { .. } => "rebased",
            Event::Clarified { .. } => "clarified",
            Event::Reprofiled { .. } => "reprofiled",
            Event::Approved { .. } => "approved",
            Event::Entered { .. } => "entered",
            Event::Drafted => "drafted",
            Event::PlanReviewed { .. } => "plan_reviewed",
            Event::Extended { .. } => "extended",
            Event::LaneReported { .. } => "lane_reported",
            Event::Delegated { .. } => "delegated",
            Event::Ran { .. } => "ran",
            Event::Waived { .. } => "waived",
            Event::Audited { .. } => "audited",
            Event::Claimed => "claimed",
            Event::Blocked { .. } => "blocked",
            Event::Resumed => "resumed",
            Event::Reviewed { .. } => "reviewed",
            Event::Answered { .. } => "answered",
            Event::Imported { .. } => "imported",
            Event::Refreshed => "refreshed",
            Event::Abandoned => "abandoned",
            Event::Archived { .. } => "archived",
            Event::Unarchived { .. } => "unarchived",
        }
    }

    fn word(&self) -> &str {
        match self {
            Event::Started { .. } => "start",
            Event::Saved => "save",
            Event::Bound { .. } => "use",
            Event::Unbound => "unbind",
            Event::Rebased { .. } => "rebase",
            Event::Clarified { .. } => "clarify",
            Event::Reprofiled { .. } => "profile",
            Event::Approved {
                amends: Some(_), ..
            } => "amend",
            Event::Approved { .. } => "approve",
            Event::Entered { transition, .. } => transition.to().as_str(),
            Event::Drafted => "draft",
            Event::PlanReviewed { .. } => "plan-review",
            Event::Extended { .. } => "extend",
            Event::LaneReported { .. } => "report",
            Event::Delegated { .. } => "delegate",
            Event::Ran { .. } => "evidence",
            Event::Waived { .. } => "waive",
            Event::Audited { .. } => "audit",
            Event::Claimed => "claim",
            Event::Blocked { .. } => "block",
            Event::Resumed => "resume",
            Event::Reviewed { .. } => "verdict",
            Event::Answered { .. } => "answer",
            Event::Imported { .. } => "import",
            Event::Refreshed => "refresh",
            Event::Abandoned => "abandon",
            Event::Archived { .. } => "archive",
            Event::Unarchived { .. } => "unarchive",
        }
    }

    fn weight(&self) -> Weight {
        match self {
            Event::Claimed | Event::Unarchived { .. } => Weight::Note,
            Event::Drafted | Event::Delegated { .. } | Event::Blocked { .. } | Event::Abandoned => {
                Weight::Holds
            }
            Event::Started { .. }
            | Event::Saved
            | Event::Bound { .. }
            | Event::Unbound
            | Event::Rebased { .. }
            | Event::Clarified { .. }
            | Event::Reprofiled { .. }
            | Event::Approved { .. }
            | Event::Entered { .. }
            | Event::PlanReviewed { .. }
            | Event::Extended { .. }
            | Event::LaneReported { .. }
            | Event::Ran { .. }
            | Event::Waived { .. }
            | Event::Audited { .. }
            | Event::Resumed
            | Event::Reviewed { .. }
            | Event::Answered { .. }
            | Event::Imported { .. }
            | Event::Refreshed
            | Event::Archived { .. } => Weight::Opens,
        }
    }

    fn trailers(&self) -> Vec<(&'static str, String)> {
        match self {
            Event::Rebased { base } => vec![("Loopx-Base", base.to_string())],
            Event::Approved {
                transition,
                content,
                code,
                ..
            } => {
                let mut trailers = vec![
                    ("Loopx-Transition", transition.to_string()),
                    ("Loopx-Content", content.to_string()),
                ];
                trailers.extend(code.iter().map(|code| ("Loopx-Tree", code.to_string())));
                trailers
            }
            Event::Entered { transition, .. } => {
                vec![("Loopx-Transition", transition.to_string())]
            }
            Event::Ran { evidence } => vec![("Loopx-Tree", evidence.tree.to_string())],
            Event::Reviewed { verdict } => vec![
                ("Loopx-Verdict", verdict.verdict.to_string()),
                ("Loopx-Tree", verdict.tree.to_string()),
            ],
            Event::Archived {
                commit: Some(commit),
                ..
            }
            | Event::Unarchived { commit, .. } => vec![("Loopx-Commit", commit.to_string())],
            _ => Vec::new(),
        }
    }

    fn is_judgement(&self) -> bool {
        matches!(self, Event::Approved { .. } | Event::Reviewed { .. })
    }

    fn moves(&self) -> Option<Way> {
        session::way(self)
    }

    fn takes(&self) -> Vec<Taken<'_>> {
        let branch = match self {
            Event::Bound { branch } => branch.as_str(),
            Event::Unbound => "",
            _ => return Vec::new(),
        };
        vec![Taken {
            slot: BRANCH,
            value: branch,
        }]
    }

    fn is_stopped(&self, record: &Operation, by: Way) -> bool {
        session::is_stopped(self, record, by)
    }

    fn fold(
        &self,
        record: &Operation,
        state: &mut State,
        beside: &mut Beside<'_>,
    ) -> Result<(), String> {
        state.take_event(record, self, beside)
    }

    fn needs(&self) -> Version {
        match self {
            Event::Approved {
                amends: Some(_), ..
            } => Version::V0_5,
            Event::Unbound | Event::Rebased { .. } => Version::V0_3,
            Event::Reprofiled { .. } => Version::V0_4,
            Event::Started { issues, .. } if !issues.is_empty() => Version::V0_6,
            Event::Unarchived { .. } => Version::V0_6,
            Event::Started { profile, stage, .. } if stage.is_some() || !profile.is_first() => {
                Version::V0_4
            }
            Event::Clarified { profile } if !profile.is_first() => Version::V0_4,
            Event::Entered { out_of_scope, .. } if !out_of_scope.is_empty() => Version::V0_6,
            Event::Entered { transition, .. } if !transition.is_approved() => Version::V0_4,
            Event::Answered { .. } => Version::V0_4,
            Event::Ran { evidence } if evidence.limit.is_some() => Version::V0_5,
            Event::Reviewed { verdict } if has_blocking(&verdict.findings) => Version::V0_4,
            Event::PlanReviewed { found, .. } if has_blocking(found) => Version::V0_4,
            // Each is named: the compiler asks for the version of a new one.
            Event::Started { .. }
            | Event::Saved
            | Event::Bound { .. }
            | Event::Clarified { .. }
            | Event::Approved { .. }
            | Event::Entered { .. }
            | Event::Drafted
            | Event::PlanReviewed { .. }
            | Event::Extended { .. }
            | Event::LaneReported { .. }
            | Event::Delegated { .. }
            | Event::Ran { .. }
            | Event::Waived { .. }
            | Event::Audited { .. }
            | Event::Claimed
            | Event::Blocked { .. }
            | Event::Resumed
            | Event::Reviewed { .. }
            | Event::Imported { .. }
            | Event::Refreshed
            | Event::Abandoned
            | Event::Archived { .. } => Version::FIRST,
        }
    }

    /// The tool's own notes, what a run showed, and what a code branch has: nobody can take that back here.
    fn is_passed_over(&self) -> bool {
        match self {
            Event::Claimed | Event::Ran { .. } | Event::Unarchived { .. } => true,
            Event::Blocked { cause, .. } => *cause != BlockCause::Reported,
            _ => false,
        }
    }

    fn is_bare(&self) -> bool {
        matches!(
            self,
            Event::Saved
                | Event::Unbound
                | Event::Drafted
                | Event::Claimed
                | Event::Resumed
                | Event::Refreshed
                | Event::Abandoned
        )
    }
}

impl Event {
    /// Tells whether the event is a step of its own beside what was written: the words that were saved along stand by
    /// themselves, also where the event judges them.
    pub fn is_beside_words(&self) -> bool {
        matches!(
            self,
            Event::Entered { .. }
                | Event::Drafted
                | Event::Abandoned
                | Event::Clarified { .. }
                | Event::Approved { .. }
                | Event::Reviewed { .. }
        )
    }

    /// Tells whether only a person may say the event: an agent neither says it nor brings it back or takes it away.
    pub fn is_persons_word(&self) -> bool {
        matches!(
            self,
            Event::Approved { .. }
                | Event::Reviewed { .. }
                | Event::Waived { .. }
                | Event::Extended { .. }
                | Event::Answered { .. }
                | Event::Reprofiled { .. }
        )
    }

    /// Tells whether the event is how the session came to be: without it there is nothing.
    pub fn is_beginning(&self) -> bool {
        matches!(self, Event::Started { .. } | Event::Imported { .. })
    }

    /// Tells whether the event can be recorded without the policy of the session: it moves nothing, and says nothing
    /// that policy may forbid.
    pub fn asks_no_policy(&self) -> bool {
        matches!(
            self,
            Event::Saved
                | Event::Bound { .. }
                | Event::Unbound
                | Event::Rebased { .. }
                | Event::Ran { .. }
                | Event::Claimed
                | Event::Blocked { .. }
                | Event::Resumed
                | Event::Abandoned
                | Event::Unarchived { .. }
        )
    }
}

/// Work that was handed to somebody else. Blocking and not closed, it holds the hand-off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delegation {
    pub id: String,
    pub role: String,
    pub status: DelegationStatus,
    pub blocking: bool,
    pub summary: String,
}

impl Delegation {
    pub fn is_open(&self) -> bool {
        self.blocking
            && !matches!(
                self.status,
                DelegationStatus::Complete | DelegationStatus::Skipped
            )
    }
}

/// The record of a command that git loopx itself ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// `test`, `lint`, `regression`, ...: free, but one word.
    pub what: String,
    /// The slice or task that it verifies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    pub argv: Vec<String>,
    /// The exit code; `None` when a signal ended it or it could not be started.
    pub exit: Option<i32>,
    pub started: String,
    pub millis: u64,
    /// The content of the worktree as a tree id, so that committing the same content keeps the evidence.
    pub tree: Oid,
    /// Set when the command left the worktree as it found it.
    pub tree_kept: bool,
    /// Files that the command changed there, or some of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// The git blob id of the whole output, and its size.
    pub output: Oid,
    pub output_bytes: u64,
    /// Set when the stored log was cut.
    pub truncated: bool,
    /// The seconds that it had, where they were over before it had ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

impl Evidence {
    pub fn passed(&self) -> bool {
        self.exit == Some(0)
    }

    /// Tells whether the run shows something of its tree: it passed, and left the tree as it found it.
    pub fn proves(&self) -> bool {
        self.passed() && self.tree_kept
    }

    /// Tells whether two runs are of one thing on one tree: the later run counts.
    pub fn is_rerun_of(&self, other: &Evidence) -> bool {
        self.tree == other.tree && self.is_like(other)
    }

    /// Tells whether two runs are of one thing, on whatever trees.
    pub fn is_like(&self, other: &Evidence) -> bool {
        self.what == other.what && self.task == other.task && self.argv == other.argv
    }
}

/// Target and month of the end of an imported change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportedEnd {
    /// The code branch that its specs came to.
    pub target: String,
    /// `yyyy-mm`.
    pub month: String,
}

/// Reason why a reviewer is not independent of what was reviewed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dependence {
    pub role: Role,
    pub person: Person,
}

/// Flaw that somebody found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewFinding {
    pub severity: Severity,
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Subject of the finding: `security`, `tests`, ...
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dimension: Option<String>,
}

fn has_blocking(findings: &[ReviewFinding]) -> bool {
    findings.iter().any(|one| one.severity.is_blocking())
}

/// Answer of somebody to one finding, which is named by its record and its place there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    pub op: OpId,
    pub nth: u32,
    pub answer: AnswerWord,
}

/// Verdict of a reviewer on `base..head`, bound to the tree that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    pub verdict: CodeVerdict,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Target>,
    pub architecture: Smell,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub architecture_target: Option<Target>,
    pub findings: Vec<ReviewFinding>,
    pub base: Option<Oid>,
    pub head: Option<Oid>,
    /// The protected branch that the result is to go to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub onto: Option<String>,
    /// Commit of that branch at the time of the review: all that `head` has beyond it was shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<Oid>,
    /// The code tree that was reviewed.
    pub tree: Oid,
    /// The artifacts that it rests on.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<Artifact, Oid>,
    pub commits: u32,
    /// Empty when the reviewer is independent of the range.
    pub dependence: Vec<Dependence>,
}

impl Verdict {
    /// Tells whether the verdict opens the way to done: every other verdict holds it.
    pub fn is_approval(&self) -> bool {
        self.verdict == CodeVerdict::Approve && self.architecture == Smell::Pass
    }
}
