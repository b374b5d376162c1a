//! The operation: one thing that happened, with its envelope and a body of some topic. Its record is written once
//! and never changed (design 2).
//!
//! The serde names are the format: a golden file holds them. How a record is stored, [`super::record`] knows; what
//! the topics say, [`super::event`], [`super::words`] and [`super::note`] do.

use super::artifact::Artifact;
use super::issue::event::IssueEvent;
use super::lease::Claim;
use super::note::Note;
use super::record::FORMAT;
use super::session::{Beside, OWNER, State, Way};
use super::task::event::TaskEvent;
use super::task::node::TaskId;
use super::topic::{Taken, Topic, Version, Weight};
use super::words::Word;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_base::id::{Oid, OpId, Person};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub use super::event::{
    Answer, Delegation, Dependence, Event, Evidence, ImportedEnd, ReviewFinding, Verdict,
};
pub use super::word_lists::{
    AnswerWord, BlockCause, CodeVerdict, DelegationStatus, FoundIn, Lane, LaneStatus, PlanLane,
    PlanVerdict, Role, Severity, Smell, Target,
};

/// Step in a log: who, when, why, what, and on which content.
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
    /// Transaction, the same for all operations of one commit; format 1 had one of each.
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
    /// Files that it changed and that are no artifacts, by path below the session's folder: those of tasks, and such
    /// that this program knows nothing of.
    pub others: BTreeMap<String, Write>,
    pub weight: Weight,
    pub body: Body,
}

/// Content of an operation, by its topic.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    Log(Word),
    Session(SessionBody),
    Task(TaskEvent),
    Issue(IssueEvent),
    Note(Note),
    Unknown(Unknown),
}

/// Event of a session.
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
            Body::Task(_) => TaskEvent::NAME,
            Body::Issue(_) => IssueEvent::NAME,
            Body::Note(_) => Note::NAME,
            Body::Unknown(unknown) => &unknown.topic,
        }
    }

    pub fn kind(&self) -> &str {
        match self {
            Body::Log(word) => word.kind(),
            Body::Session(step) => step.event.kind(),
            Body::Task(event) => event.kind(),
            Body::Issue(event) => event.kind(),
            Body::Note(note) => note.kind(),
            Body::Unknown(unknown) => &unknown.kind,
        }
    }

    pub fn word(&self) -> &str {
        match self {
            Body::Log(word) => word.word(),
            Body::Session(step) => step.event.word(),
            Body::Task(event) => event.word(),
            Body::Issue(event) => event.word(),
            Body::Note(note) => note.word(),
            Body::Unknown(unknown) => &unknown.kind,
        }
    }

    /// Weight of the body: what a program that does not know it has to hold for it. An unknown body's envelope says it.
    pub fn weight(&self) -> Weight {
        match self {
            Body::Log(word) => word.weight(),
            Body::Session(step) => step.event.weight(),
            Body::Task(event) => event.weight(),
            Body::Issue(event) => event.weight(),
            Body::Note(note) => note.weight(),
            Body::Unknown(_) => Weight::Opens,
        }
    }

    pub fn needs(&self) -> Version {
        match self {
            Body::Log(word) => word.needs(),
            Body::Session(step) => step.event.needs(),
            Body::Task(event) => event.needs(),
            Body::Issue(event) => event.needs(),
            Body::Note(note) => note.needs(),
            Body::Unknown(unknown) => unknown.needs,
        }
    }

    pub fn trailers(&self) -> Vec<(&'static str, String)> {
        match self {
            Body::Log(word) => word.trailers(),
            Body::Session(step) => step.event.trailers(),
            Body::Task(event) => event.trailers(),
            Body::Issue(event) => event.trailers(),
            Body::Note(note) => note.trailers(),
            Body::Unknown(_) => Vec::new(),
        }
    }

    /// Tells whether the body judges the artifacts as its writer had them.
    pub(super) fn is_judgement(&self) -> bool {
        match self {
            Body::Log(word) => word.is_judgement(),
            Body::Session(step) => step.event.is_judgement(),
            Body::Task(event) => event.is_judgement(),
            Body::Issue(event) => event.is_judgement(),
            Body::Note(note) => note.is_judgement(),
            Body::Unknown(_) => false,
        }
    }

    /// Move of the entity that the body is about, where the body moves it.
    pub(super) fn moves(&self) -> Option<Move> {
        match self {
            Body::Session(step) => step.event.moves().map(Move::Session),
            Body::Log(_) | Body::Task(_) | Body::Issue(_) | Body::Note(_) | Body::Unknown(_) => {
                None
            }
        }
    }

    /// Lists what the body takes for itself.
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
            Body::Task(event) => event.takes(),
            Body::Issue(event) => event.takes(),
            Body::Note(note) => note.takes(),
            Body::Unknown(_) => Vec::new(),
        }
    }

    /// Tells whether `undo` passes over the body to what a person did.
    pub fn is_passed_over(&self) -> bool {
        match self {
            Body::Log(word) => word.is_passed_over(),
            Body::Session(step) => step.event.is_passed_over(),
            Body::Task(event) => event.is_passed_over(),
            Body::Issue(event) => event.is_passed_over(),
            Body::Note(note) => note.is_passed_over(),
            Body::Unknown(_) => false,
        }
    }

    /// Tells whether the kind says everything.
    pub(super) fn is_bare(&self) -> bool {
        match self {
            Body::Session(step) => {
                step.event.is_bare() && step.bases.is_empty() && step.claim.is_none()
            }
            Body::Issue(event) => event.is_bare(),
            Body::Log(_) | Body::Task(_) | Body::Note(_) | Body::Unknown(_) => false,
        }
    }
}

/// A move of one topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Move {
    Session(Way),
}

impl Move {
    /// Tells whether two moves are about one entity.
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

impl From<TaskEvent> for Body {
    fn from(event: TaskEvent) -> Self {
        Body::Task(event)
    }
}

impl From<IssueEvent> for Body {
    fn from(event: IssueEvent) -> Self {
        Body::Issue(event)
    }
}

impl From<Note> for Body {
    fn from(note: Note) -> Self {
        Body::Note(note)
    }
}

impl Operation {
    /// Event of the session; nothing where the operation is of another topic.
    pub fn event(&self) -> Option<&Event> {
        match &self.body {
            Body::Session(step) => Some(&step.event),
            _ => None,
        }
    }

    /// Word about other operations.
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

    /// The task that somebody got by it.
    pub fn claimed_task(&self) -> Option<&TaskId> {
        match &self.body {
            Body::Task(TaskEvent::Claimed { task, .. }) => Some(task),
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

    /// Tells whether the operation says of other operations that they do not count, or that they do again, and does
    /// nothing else.
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

    /// Tells whether the operation is how the session came to be: without it there is nothing.
    pub fn is_beginning(&self) -> bool {
        self.event().is_some_and(Event::is_beginning)
    }

    /// Tells whether the operation cannot hold beside a move that its writer did not know of.
    pub(super) fn is_stopped(&self, by: Move) -> bool {
        match (&self.body, by) {
            (Body::Session(step), Move::Session(way)) => step.event.is_stopped(self, way),
            (Body::Task(event), Move::Session(way)) => event.is_stopped(way),
            (Body::Log(_) | Body::Issue(_) | Body::Note(_) | Body::Unknown(_), _) => false,
        }
    }

    /// Applies the operation to the state, but for files.
    pub(super) fn fold(&self, state: &mut State, beside: &mut Beside<'_>) -> Result<(), String> {
        match &self.body {
            Body::Log(word) => word.fold(self, state, beside),
            Body::Session(step) => step.event.fold(self, state, beside),
            Body::Task(event) => event.fold(self, state, beside),
            Body::Issue(_) => Err("a session has no records of an issue".to_owned()),
            Body::Note(note) => note.fold(self, state, beside),
            Body::Unknown(unknown) => {
                state.keep_unknown(self, unknown);
                Ok(())
            }
        }
    }

    /// Tells whether `undo` passes over the operation to what a person did: it is a note, a run, a claim, or
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

/// Base that one requirement of a delta was written against. Stamped, never guessed (design 6).
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

/// Parses one of our own files, naming the line where it is broken. What a newer program wrote is not
/// broken.
pub fn parse_json<'a, T: Deserialize<'a>>(bytes: &'a [u8], path: &str) -> Result<T> {
    serde_json::from_slice(bytes).map_err(|error| {
        if let Ok(Header { format }) = serde_json::from_slice(bytes)
            && format > FORMAT
        {
            return Failure::refused(
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
