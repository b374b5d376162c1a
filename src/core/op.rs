//! What can happen to a session, and the operation that says so. One operation is one command is one commit;
//! its record is written once and never changed (design 2).
//!
//! The serde names are the format: a golden file holds them. How a record is stored, [`super::record`] knows.

use super::artifact::Artifact;
use super::failure::{Code, Failure, Result};
use super::id::{Oid, OpId, Person};
use super::lease::Claim;
use super::note::Note;
use super::record::FORMAT;
use super::session::{self, BRANCH, Beside, OWNER, State, Way};
use super::stage::{Stage, Transition};
use super::topic::{Taken, Topic, Version, Weight};
use super::words::Word;
use crate::core::hint::command;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One thing that happened: who, when, why, what, and on which content.
///
/// All but `body` is the envelope, which every program understands.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    pub format: u32,
    /// Lamport number: one more than the largest that the writer had seen.
    pub seq: u64,
    pub op: OpId,
    /// The newest operations that the writer had seen: one, or several after clones came together.
    /// Empty in the first, and in what the oldest programs wrote: those had seen whatever comes before them.
    pub after: Vec<OpId>,
    /// The uid of the session that it is about, or the name of another entity; format 1 did not say.
    pub entity: Option<String>,
    /// The same for all operations of one commit; format 1 had one of each.
    pub tx: Option<String>,
    /// RFC 3339, from git's clock. Informative: order comes from `seq` and `op`.
    pub at: String,
    pub by: Person,
    /// git's committer, where that is somebody else: whoever ran the agent that `by` names, or the agent
    /// that acts under a person's name. Both took part.
    pub committer: Option<Person>,
    pub reason: Option<String>,
    /// Artifacts that this operation changed.
    pub writes: BTreeMap<Artifact, Write>,
    /// Files that it changed and that this program knows nothing of, by path below the session's folder.
    pub others: BTreeMap<String, Write>,
    pub weight: Weight,
    pub body: Body,
}

/// What an operation says, by its topic.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "nearly every record is a session's"
)]
pub enum Body {
    Log(Word),
    Session(SessionBody),
    Note(Note),
    Unknown(Unknown),
}

/// What happened to a session.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionBody {
    pub event: Event,
    /// Requirements that were touched for the first time, with what they were written against.
    pub bases: Vec<RequirementBase>,
    /// The writer's hold on the build, where it is new or renewed.
    pub claim: Option<Claim>,
}

/// A body that a newer program wrote. It is kept as it is, and holds what its weight says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    pub topic: String,
    pub kind: String,
    pub needs: Version,
    /// The whole record.
    pub bytes: Vec<u8>,
}

impl Body {
    pub fn topic(&self) -> &str {
        match self {
            Body::Log(_) => Word::NAME,
            Body::Session(_) => Event::NAME,
            Body::Note(_) => Note::NAME,
            Body::Unknown(unknown) => &unknown.topic,
        }
    }

    pub fn kind(&self) -> &str {
        match self {
            Body::Log(word) => word.kind(),
            Body::Session(step) => step.event.kind(),
            Body::Note(note) => note.kind(),
            Body::Unknown(unknown) => &unknown.kind,
        }
    }

    pub fn word(&self) -> &str {
        match self {
            Body::Log(word) => word.word(),
            Body::Session(step) => step.event.word(),
            Body::Note(note) => note.word(),
            Body::Unknown(unknown) => &unknown.kind,
        }
    }

    /// What a program that does not know it has to hold for it. What is unknown says so in its envelope.
    pub fn weight(&self) -> Weight {
        match self {
            Body::Log(word) => word.weight(),
            Body::Session(step) => step.event.weight(),
            Body::Note(note) => note.weight(),
            Body::Unknown(_) => Weight::Opens,
        }
    }

    pub fn needs(&self) -> Version {
        match self {
            Body::Log(word) => word.needs(),
            Body::Session(step) => step.event.needs(),
            Body::Note(note) => note.needs(),
            Body::Unknown(unknown) => unknown.needs,
        }
    }

    pub fn trailers(&self) -> Vec<(&'static str, String)> {
        match self {
            Body::Log(word) => word.trailers(),
            Body::Session(step) => step.event.trailers(),
            Body::Note(note) => note.trailers(),
            Body::Unknown(_) => Vec::new(),
        }
    }

    /// Whether it judges the artifacts as its writer had them.
    pub(super) fn is_judgement(&self) -> bool {
        match self {
            Body::Log(word) => word.is_judgement(),
            Body::Session(step) => step.event.is_judgement(),
            Body::Note(note) => note.is_judgement(),
            Body::Unknown(_) => false,
        }
    }

    /// Where it moves what it is about.
    pub(super) fn moves(&self) -> Option<Move> {
        match self {
            Body::Session(step) => step.event.moves().map(Move::Session),
            Body::Log(_) | Body::Note(_) | Body::Unknown(_) => None,
        }
    }

    /// What it takes for itself.
    pub(super) fn takes(&self) -> Vec<Taken<'_>> {
        match self {
            Body::Log(word) => word.takes(),
            Body::Session(step) => {
                let owner = step.claim.iter().map(|claim| Taken {
                    slot: OWNER,
                    value: &claim.owner,
                });
                owner.chain(step.event.takes()).collect()
            }
            Body::Note(note) => note.takes(),
            Body::Unknown(_) => Vec::new(),
        }
    }

    /// Whether `undo` passes over it to what a person did.
    pub fn is_passed_over(&self) -> bool {
        match self {
            Body::Log(word) => word.is_passed_over(),
            Body::Session(step) => step.event.is_passed_over(),
            Body::Note(note) => note.is_passed_over(),
            Body::Unknown(_) => false,
        }
    }

    /// Whether the kind says everything.
    pub(super) fn is_bare(&self) -> bool {
        match self {
            Body::Session(step) => {
                step.event.is_bare() && step.bases.is_empty() && step.claim.is_none()
            }
            Body::Log(_) | Body::Note(_) | Body::Unknown(_) => false,
        }
    }
}

/// A move of one topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Move {
    Session(Way),
}

impl Move {
    /// Whether two moves are about one thing.
    pub(super) fn meets(self, other: Move) -> bool {
        match (self, other) {
            (Move::Session(_), Move::Session(_)) => true,
        }
    }
}

impl From<Event> for Body {
    fn from(event: Event) -> Self {
        Body::Session(SessionBody {
            event,
            bases: Vec::new(),
            claim: None,
        })
    }
}

impl From<Word> for Body {
    fn from(word: Word) -> Self {
        Body::Log(word)
    }
}

impl From<Note> for Body {
    fn from(note: Note) -> Self {
        Body::Note(note)
    }
}

impl Operation {
    /// What happened to the session; nothing where it is of another topic.
    pub fn event(&self) -> Option<&Event> {
        match &self.body {
            Body::Session(step) => Some(&step.event),
            _ => None,
        }
    }

    /// What is said of other operations.
    pub fn said(&self) -> Option<&Word> {
        match &self.body {
            Body::Log(word) => Some(word),
            _ => None,
        }
    }

    pub fn unknown(&self) -> Option<&Unknown> {
        match &self.body {
            Body::Unknown(unknown) => Some(unknown),
            _ => None,
        }
    }

    /// The word of the `Loopx-Event` trailer.
    pub fn word(&self) -> &str {
        self.body.word()
    }

    pub fn bases(&self) -> &[RequirementBase] {
        match &self.body {
            Body::Session(step) => &step.bases,
            _ => &[],
        }
    }

    pub fn claim(&self) -> Option<&Claim> {
        match &self.body {
            Body::Session(step) => step.claim.as_ref(),
            _ => None,
        }
    }

    /// Whether it says of other operations that they do not count, or that they do again, and does nothing
    /// else.
    pub fn is_about_others(&self) -> bool {
        matches!(self.said(), Some(Word::Undone { .. } | Word::Redone { .. }))
    }

    /// The uid of the session that it started.
    pub fn started_uid(&self) -> Option<&str> {
        match self.event()? {
            Event::Started { uid, .. } => Some(uid),
            _ => None,
        }
    }

    /// Whether it is how the session came to be: without it there is nothing.
    pub fn is_beginning(&self) -> bool {
        self.event().is_some_and(Event::is_beginning)
    }

    /// Whether it cannot hold beside a move that its writer did not know of.
    pub(super) fn is_stopped(&self, by: Move) -> bool {
        match (&self.body, by) {
            (Body::Session(step), Move::Session(way)) => step.event.is_stopped(self, way),
            (Body::Log(_) | Body::Note(_) | Body::Unknown(_), _) => false,
        }
    }

    /// What it makes of the state, but for files.
    pub(super) fn fold(&self, state: &mut State, beside: &mut Beside<'_>) -> Result<(), String> {
        match &self.body {
            Body::Log(word) => word.fold(self, state, beside),
            Body::Session(step) => step.event.fold(self, state, beside),
            Body::Note(note) => note.fold(self, state, beside),
            Body::Unknown(unknown) => {
                state.keep_unknown(self, unknown);
                Ok(())
            }
        }
    }

    /// Whether it is something that `undo` passes over to what a person did: a note, a run, a claim, or
    /// another undo.
    pub fn is_passed_over(&self) -> bool {
        self.body.is_passed_over()
    }

    /// The blobs that its writer put into the session's folder, by path.
    pub fn files(&self) -> impl Iterator<Item = (&str, &Write)> {
        let known = self.writes.iter();
        let known = known.map(|(artifact, write)| (artifact.path(), write));
        known.chain(
            self.others
                .iter()
                .map(|(path, write)| (path.as_str(), write)),
        )
    }
}

/// The change of one artifact: from which blob to which. `None` is "not there".
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Write {
    pub from: Option<Oid>,
    pub to: Option<Oid>,
}

/// What one requirement of a delta was written against. Recorded, never guessed (design 6).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequirementBase {
    pub domain: String,
    /// The requirement's name, folded as the spec engine looks it up.
    pub requirement: String,
    /// The commit of the code branch, where there was one.
    pub commit: Option<Oid>,
    /// The spec file there, where there was one.
    pub blob: Option<Oid>,
}

/// The topic `session`. Each variant is named by what happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    Started {
        uid: String,
        title: String,
        profile: Profile,
        branch: Option<String>,
        /// The commit that the change starts from; policy and the review's range begin there.
        base: Option<Oid>,
    },
    /// Artifacts changed, nothing else.
    Saved,
    Bound {
        branch: String,
    },
    /// Its branch is another session's now.
    Unbound,
    /// The session starts from another commit: history was rewritten.
    Rebased {
        base: Oid,
    },
    /// A round of clarification ended; the artifacts say how.
    Clarified {
        profile: Profile,
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
        /// Where the branch was when the stage moved.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        head: Option<Oid>,
    },
    /// A stage's command consumed its approval and moved the session.
    Entered {
        transition: Transition,
        /// The declared scope, at plan->build.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        scope: Vec<String>,
        /// Where the branch was then: what it had been given by then was made in an earlier stage.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        head: Option<Oid>,
    },
    /// A new draft of the plan after a critic who did not approve.
    Drafted,
    /// One of the two lanes of the plan's consensus loop gave its view.
    PlanReviewed {
        lane: PlanLane,
        verdict: PlanVerdict,
        findings: Vec<String>,
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
    /// What blocked the build is out of the way.
    Resumed,
    Reviewed {
        verdict: Verdict,
    },
    /// The session came from another tool; the artifacts are those that it had there.
    Imported {
        /// The tool.
        from: String,
        /// Where it was in that tool's tree.
        folder: String,
        /// Its files as they were, by path below the folder; kept in `imported/` of the session.
        files: BTreeMap<String, Oid>,
        /// It had ended there: the session is archived from the beginning.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ended: Option<ImportedEnd>,
    },
    /// What the delta was written against was recorded anew, from the target branch.
    Refreshed,
    Abandoned,
    Archived {
        /// The commit on the code branch that carries the result.
        commit: Option<Oid>,
        target: String,
        /// `yyyy-mm`.
        month: String,
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
            Event::Imported { .. } => "imported",
            Event::Refreshed => "refreshed",
            Event::Abandoned => "abandoned",
            Event::Archived { .. } => "archived",
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
            Event::Imported { .. } => "import",
            Event::Refreshed => "refresh",
            Event::Abandoned => "abandon",
            Event::Archived { .. } => "archive",
        }
    }

    fn weight(&self) -> Weight {
        match self {
            Event::Claimed => Weight::Note,
            Event::Drafted | Event::Delegated { .. } | Event::Blocked { .. } | Event::Abandoned => {
                Weight::Holds
            }
            _ => Weight::Opens,
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
            } => vec![("Loopx-Commit", commit.to_string())],
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
            Event::Unbound | Event::Rebased { .. } => Version::V0_3,
            _ => Version::FIRST,
        }
    }

    /// The tool's own notes, and what a run showed: nobody can take back that it ran.
    fn is_passed_over(&self) -> bool {
        match self {
            Event::Claimed | Event::Ran { .. } => true,
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
    /// Whether it is how the session came to be: without it there is nothing.
    pub fn is_beginning(&self) -> bool {
        matches!(self, Event::Started { .. } | Event::Imported { .. })
    }

    /// Whether it can be recorded without the policy of the session: it moves nothing, and says nothing that
    /// policy may forbid.
    pub fn asks_no_policy(&self) -> bool {
        matches!(
            self,
            Event::Saved
                | Event::Bound { .. }
                | Event::Rebased { .. }
                | Event::Ran { .. }
                | Event::Claimed
                | Event::Blocked { .. }
                | Event::Resumed
                | Event::Abandoned
        )
    }
}

macro_rules! vocabulary {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$vmeta])* #[serde(rename = $word)] $variant),+
        }

        impl $name {
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            pub fn as_str(self) -> &'static str {
                match self {
                    $($name::$variant => $word),+
                }
            }
        }

        impl std::str::FromStr for $name {
            type Err = Failure;
            /// An unknown word is an error: nothing fails open.
            fn from_str(text: &str) -> Result<Self> {
                match text {
                    $($word => Ok($name::$variant),)+
                    _ => Err(Failure::usage(
                        $crate::core::code::Code::WordUnknown,
                        format!("expected one of {}, found `{text}`", Self::WORDS.join(", ")),
                    )),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

pub(super) use vocabulary;

vocabulary!(
    /// How thoroughly a session is clarified.
    Profile { Standard = "standard", Deep = "deep" }
);

impl Profile {
    /// The highest ambiguity score that passes.
    pub fn threshold(self) -> f64 {
        match self {
            Profile::Standard => 0.2,
            Profile::Deep => 0.1,
        }
    }

    /// The rounds that are allowed before somebody raises the cap.
    pub fn max_rounds(self) -> u32 {
        match self {
            Profile::Standard => 15,
            Profile::Deep => 25,
        }
    }
}

vocabulary!(PlanLane { Architect = "architect", Critic = "critic" });
vocabulary!(
    /// The architect answers `approve` or `iterate`; the critic also `reject`.
    PlanVerdict { Approve = "approve", Iterate = "iterate", Reject = "reject" }
);
vocabulary!(
    /// The lanes of a build that a person reports on. Verification and regression are computed from evidence.
    Lane { Execution = "execution", Architect = "architect", Deslop = "deslop" }
);
vocabulary!(LaneStatus {
    Complete = "complete",
    Incomplete = "incomplete",
    Failed = "failed",
    Blocked = "blocked",
    Skipped = "skipped",
});
vocabulary!(DelegationStatus {
    Pending = "pending",
    Active = "active",
    Complete = "complete",
    Failed = "failed",
    Blocked = "blocked",
    Skipped = "skipped",
});
vocabulary!(CodeVerdict { Approve = "approve", RequestChanges = "request-changes" });
vocabulary!(
    /// What the architecture lane of a review found.
    Smell { Pass = "pass", Warn = "warn", Block = "block" }
);
vocabulary!(
    /// Where a review sends the session back to.
    Target { Build = "build", Plan = "plan", Clarify = "clarify" }
);
vocabulary!(
    /// How much a finding weighs. `critical` and `high` cannot stand beside an approval.
    Severity { Critical = "critical", High = "high", Medium = "medium", Low = "low", Info = "info" }
);
vocabulary!(
    /// Why a build was recorded as blocked.
    BlockCause {
        /// Somebody said so.
        Reported = "reported",
        /// The stop gate held an agent twice and nothing changed.
        NoProgress = "no-progress",
        /// The stop gate held an agent as often, or as long, as it may.
        Exhausted = "exhausted",
    }
);
vocabulary!(Role { Author = "author", Committer = "committer", CoAuthor = "co-author", Builder = "builder" });

impl Target {
    /// The rollback that leads there.
    pub fn transition(self) -> Transition {
        match self {
            Target::Build => Transition::ReviewToBuild,
            Target::Plan => Transition::ReviewToPlan,
            Target::Clarify => Transition::ReviewToClarify,
        }
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
    /// Whether the command left the worktree as it found it.
    pub tree_kept: bool,
    /// The git blob id of the whole output, and its size.
    pub output: Oid,
    pub output_bytes: u64,
    /// Whether the stored log was cut.
    pub truncated: bool,
}

impl Evidence {
    pub fn passed(&self) -> bool {
        self.exit == Some(0)
    }

    /// Two runs of one thing: the later one counts.
    pub fn is_rerun_of(&self, other: &Evidence) -> bool {
        self.what == other.what && self.task == other.task && self.argv == other.argv
    }
}

/// Where and when an imported change ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportedEnd {
    /// The code branch that its specs came to.
    pub target: String,
    /// `yyyy-mm`.
    pub month: String,
}

/// Why a reviewer is not independent of what was reviewed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dependence {
    pub role: Role,
    pub person: Person,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewFinding {
    pub severity: Severity,
    pub text: String,
}

/// What a reviewer said of `base..head`, bound to the tree that was looked at.
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
    /// Where that was then: all that `head` has beyond it was shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<Oid>,
    /// The code tree that was reviewed.
    pub tree: Oid,
    pub commits: u32,
    /// Empty when the reviewer is independent of the range.
    pub dependence: Vec<Dependence>,
}

impl Verdict {
    /// Whether it opens the way to done: everything else holds it.
    pub fn is_approval(&self) -> bool {
        self.verdict == CodeVerdict::Approve && self.architecture == Smell::Pass
    }
}

/// Parses one of our own files, naming the line where it is broken. What a newer program wrote is not
/// broken.
pub fn parse_json<'a, T: Deserialize<'a>>(bytes: &'a [u8], path: &str) -> Result<T> {
    serde_json::from_slice(bytes).map_err(|error| {
        if let Ok(Header { format }) = serde_json::from_slice(bytes)
            && format > FORMAT
        {
            return Failure::internal(
                Code::FormatNewer,
                format!("{path}: written in format {format}, this program knows {FORMAT}"),
            )
            .help("update git loopx");
        }
        Failure::internal(
            Code::RecordDamaged,
            format!(
                "{path}:{}:{}: not a record of git loopx: {error}",
                error.line(),
                error.column()
            ),
        )
        .help(command!("fsck --repair"))
    })
}

#[derive(Deserialize)]
struct Header {
    format: u32,
}

pub fn to_json(value: &impl Serialize) -> Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec_pretty(value)
        .map_err(|error| Failure::internal(Code::RecordUnwritable, error.to_string()))?;
    bytes.push(b'\n');
    Ok(bytes)
}
