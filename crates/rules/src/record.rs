//! The record: one operation as it is stored, an envelope that every program understands and a body of one
//! topic (design 2).
//!
//! This module owns both formats. A record of format 1 named itself by a random id; it is read, and never
//! written anew but to take it out of an archive that an older program sealed. The id of a record of
//! format 2 is the git blob id of its bytes, so that its place in `after` of another one vouches for all of
//! its content, and for its own past. What a topic means by a body is not known here.

use super::artifact::Artifact;
use super::issue::event::IssueEvent;
use super::lease::Claim;
use super::note::Note;
use super::op::{
    Body, Event, Operation, RequirementBase, SessionBody, Unknown, Write, parse_json, to_json,
};
use super::tagged::{Fault, Tagged, read};
use super::task::event::TaskEvent;
use super::topic::{Topic, Version, Weight};
use super::words::Word;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{command, hint};
use loopx_base::id::{Oid, OpId, Person};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The format of the records that this program writes, and the largest whose envelope it knows.
pub const FORMAT: u32 = 2;

/// The largest Lamport number that is believed: beyond it somebody jumps, and adding would overflow.
const MAX_SEQ: u64 = 1 << 53;

/// An operation that is about to be written. It has no id: that follows from its bytes.
#[derive(Clone, Debug)]
pub struct Draft {
    pub seq: u64,
    pub after: Vec<OpId>,
    /// The uid of the session that it is about, or the name of another entity.
    pub entity: String,
    /// Transaction, the same for all records of one commit.
    pub tx: String,
    pub at: String,
    pub by: Person,
    pub committer: Option<Person>,
    pub reason: Option<String>,
    pub writes: BTreeMap<Artifact, Write>,
    /// Files of tasks, by path below the session's folder.
    pub others: BTreeMap<String, Write>,
    pub body: Body,
}

impl Draft {
    /// The operation. `id` gives the git blob id of bytes.
    pub fn seal(&self, id: impl FnOnce(&[u8]) -> Result<Oid>) -> Result<Operation> {
        let Draft {
            seq,
            after,
            entity,
            tx,
            at,
            by,
            committer,
            reason,
            writes,
            others,
            body,
        } = self.clone();
        let mut op = Operation {
            format: FORMAT,
            seq,
            op: OpId::unnamed(),
            after,
            entity: Some(entity),
            tx: Some(tx),
            at,
            by,
            committer,
            reason,
            writes,
            others,
            weight: body.weight(),
            body,
        };
        op.op = OpId::of_record(&id(&op.to_bytes()?)?);
        Ok(op)
    }
}

/// The first format.
#[derive(Deserialize)]
struct First<'a> {
    format: u32,
    seq: u64,
    op: OpId,
    #[serde(default)]
    after: Vec<OpId>,
    at: String,
    by: Person,
    committer: Option<Person>,
    reason: Option<String>,
    #[serde(default)]
    writes: BTreeMap<Artifact, Write>,
    #[serde(default)]
    bases: Vec<RequirementBase>,
    claim: Option<Claim>,
    #[serde(borrow)]
    event: &'a RawValue,
}

#[derive(Serialize)]
struct FirstOut<'a> {
    format: u32,
    seq: u64,
    op: &'a OpId,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    after: &'a [OpId],
    at: &'a str,
    by: &'a Person,
    #[serde(skip_serializing_if = "Option::is_none")]
    committer: Option<&'a Person>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    writes: &'a BTreeMap<Artifact, Write>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    bases: &'a [RequirementBase],
    #[serde(skip_serializing_if = "Option::is_none")]
    claim: Option<&'a Claim>,
    event: Tagged<'a>,
}

/// The second format, and in front of it what every later one is asked for.
#[derive(Deserialize)]
struct Envelope<'a> {
    format: u32,
    /// Id of the record: only inside of a signed statement, where no file's name says it.
    op: Option<OpId>,
    seq: u64,
    #[serde(default)]
    after: Vec<OpId>,
    entity: String,
    tx: String,
    at: String,
    by: Person,
    committer: Option<Person>,
    reason: Option<String>,
    #[serde(borrow)]
    topic: Cow<'a, str>,
    #[serde(borrow)]
    kind: Cow<'a, str>,
    #[serde(default)]
    files: BTreeMap<String, Write>,
    #[serde(borrow)]
    weight: Cow<'a, str>,
    needs: Version,
    #[serde(borrow)]
    body: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct EnvelopeOut<'a> {
    format: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    op: Option<&'a OpId>,
    seq: u64,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    after: &'a [OpId],
    entity: &'a str,
    tx: &'a str,
    at: &'a str,
    by: &'a Person,
    #[serde(skip_serializing_if = "Option::is_none")]
    committer: Option<&'a Person>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    topic: &'a str,
    kind: &'a str,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    files: BTreeMap<&'a str, &'a Write>,
    weight: Weight,
    needs: Version,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<Tagged<'a>>,
}

#[derive(Deserialize)]
struct Header {
    format: u32,
}

#[derive(Deserialize)]
struct Kind<'a> {
    #[serde(borrow)]
    kind: Cow<'a, str>,
}

/// Fields of a session's body beside its event.
#[derive(Default, Deserialize)]
struct Beside {
    #[serde(default)]
    bases: Vec<RequirementBase>,
    #[serde(default)]
    claim: Option<Claim>,
}

impl Operation {
    /// The operation in a file whose blob id is known.
    pub fn parse(bytes: &[u8], path: &str, blob: &Oid) -> Result<Self> {
        let mut op = Self::read(bytes, path)?;
        if op.format >= FORMAT {
            op.op = OpId::of_record(blob);
        }
        Ok(op)
    }

    /// The operation in one line of a session that an older program sealed: of the first format, which names
    /// itself.
    pub fn parse_sealed(bytes: &[u8], path: &str) -> Result<Self> {
        let op = Self::read(bytes, path)?;
        if op.format < FORMAT {
            return Ok(op);
        }
        Err(damaged(path, "a sealed record is of format 1"))
    }

    fn read(bytes: &[u8], path: &str) -> Result<Self> {
        let Header { format } = parse_json(bytes, path)?;
        let op = match format {
            1 => Self::read_first(bytes, path)?,
            _ => Self::read_envelope(bytes, path)?,
        };
        check_seq(op.seq, path)?;
        Ok(op)
    }

    fn read_first(bytes: &[u8], path: &str) -> Result<Self> {
        let first: First<'_> = parse_json(bytes, path)?;
        let Kind { kind } = parse_json(first.event.get().as_bytes(), path)?;
        let event = Some(first.event);
        // What the first format called events is of two topics now.
        let body = match read::<Word>(&kind, event) {
            Ok(word) => Ok(Body::Log(word)),
            Err(Fault::KindUnknown) => read::<Event>(&kind, event).map(|event| {
                let Beside { bases, claim } = Beside {
                    bases: first.bases,
                    claim: first.claim,
                };
                Body::Session(SessionBody {
                    event,
                    bases,
                    claim,
                })
            }),
            Err(other) => Err(other),
        };
        let body = match body {
            Ok(body) => body,
            Err(Fault::KindUnknown) => Body::Unknown(Unknown {
                topic: Event::NAME.to_owned(),
                kind: kind.into_owned(),
                needs: Version::UNKNOWN,
                bytes: bytes.to_vec(),
            }),
            Err(Fault::Damaged(why)) => return Err(damaged(path, &why)),
        };
        let weight = match &body {
            Body::Unknown(_) => Weight::Opens,
            known => known.weight(),
        };
        Ok(Operation {
            format: first.format,
            seq: first.seq,
            op: first.op,
            after: first.after,
            entity: None,
            tx: None,
            at: first.at,
            by: first.by,
            committer: first.committer,
            reason: first.reason,
            writes: first.writes,
            others: BTreeMap::new(),
            weight,
            body,
        })
    }

    fn read_envelope(bytes: &[u8], path: &str) -> Result<Self> {
        let envelope: Envelope<'_> = parse_json(bytes, path)?;
        let said = Weight::named(&envelope.weight);
        let body = match body(&envelope) {
            Ok(body) => body,
            Err(Fault::KindUnknown) => Body::Unknown(Unknown {
                topic: envelope.topic.into_owned(),
                kind: envelope.kind.into_owned(),
                needs: match (said, envelope.needs) {
                    // Whoever wrote another word knows more than it says.
                    (None, needs) if needs.is_known() => Version::UNKNOWN,
                    (_, needs) => needs,
                },
                bytes: bytes.to_vec(),
            }),
            Err(Fault::Damaged(why)) => return Err(damaged(path, &why)),
        };
        let mut writes = BTreeMap::new();
        let mut others = BTreeMap::new();
        for (file, write) in envelope.files {
            match Artifact::at(&file) {
                Some(artifact) => drop(writes.insert(artifact, write)),
                None if is_file_path(&file) => drop(others.insert(file, write)),
                None => {
                    return Err(damaged(
                        path,
                        &format!("`{file}` is no path of a session's file"),
                    ));
                }
            }
        }
        // An older program, which does not know the kind, goes by this word alone.
        if let Body::Task(event) = &body
            && said != Some(event.weight())
        {
            return Err(damaged(path, "its weight does not fit its kind"));
        }
        let changes_files = !writes.is_empty() || !others.is_empty();
        if matches!(body, Body::Note(_)) && changes_files {
            return Err(damaged(path, "a note changes no file"));
        }
        if matches!(body, Body::Issue(_)) && changes_files {
            return Err(damaged(path, "a record of an issue changes no file"));
        }
        // Whatever it says of itself: what it changes is what gates look at.
        let weight = match (&body, writes.is_empty()) {
            (Body::Unknown(_), false) => Weight::Opens,
            _ => said.unwrap_or(Weight::Opens),
        };
        Ok(Operation {
            format: envelope.format,
            seq: envelope.seq,
            op: envelope.op.unwrap_or_else(OpId::unnamed),
            after: envelope.after,
            entity: Some(envelope.entity),
            tx: Some(envelope.tx),
            at: envelope.at,
            by: envelope.by,
            committer: envelope.committer,
            reason: envelope.reason,
            writes,
            others,
            weight,
            body,
        })
    }

    /// The file's bytes: indented, one final newline.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        // What cannot be read again is not written.
        if self.seq > MAX_SEQ {
            return Err(Failure::refused(
                Code::SequenceExhausted,
                format!(
                    "no operation can follow number {MAX_SEQ}, which somebody jumped to in this session"
                ),
            )
            .help(hint![command!("log"), ", then: ", command!("fsck --repair")]));
        }
        match &self.body {
            Body::Unknown(unknown) => Ok(unknown.bytes.clone()),
            _ if self.format < FORMAT => to_json(&self.first()),
            _ => to_json(&self.envelope(None)),
        }
    }

    fn first(&self) -> FirstOut<'_> {
        let (bases, claim) = match &self.body {
            Body::Session(step) => (step.bases.as_slice(), step.claim.as_ref()),
            _ => (&[][..], None),
        };
        FirstOut {
            format: self.format,
            seq: self.seq,
            op: &self.op,
            after: &self.after,
            at: &self.at,
            by: &self.by,
            committer: self.committer.as_ref(),
            reason: self.reason.as_deref(),
            writes: &self.writes,
            bases,
            claim,
            event: Tagged {
                body: &self.body,
                names_kind: true,
            },
        }
    }

    fn envelope<'o>(&'o self, op: Option<&'o OpId>) -> EnvelopeOut<'o> {
        let known = self.writes.iter();
        let known = known.map(|(artifact, write)| (artifact.path(), write));
        let others = self
            .others
            .iter()
            .map(|(path, write)| (path.as_str(), write));
        EnvelopeOut {
            format: self.format,
            op,
            seq: self.seq,
            after: &self.after,
            entity: self.entity.as_deref().unwrap_or_default(),
            tx: self.tx.as_deref().unwrap_or_default(),
            at: &self.at,
            by: &self.by,
            committer: self.committer.as_ref(),
            reason: self.reason.as_deref(),
            topic: self.body.topic(),
            kind: self.body.kind(),
            files: known.chain(others).collect(),
            weight: self.weight,
            needs: self.body.needs(),
            body: (!self.body.is_bare()).then_some(Tagged {
                body: &self.body,
                names_kind: false,
            }),
        }
    }

    /// The file's name: zero-padded so that names sort as operations do.
    pub fn file_name(&self) -> String {
        format!("{:08}-{}.json", self.seq, self.op)
    }
}

/// The body of an envelope, by its topic. One that a newer program wrote is of no kind that is known.
fn body(envelope: &Envelope<'_>) -> std::result::Result<Body, Fault> {
    let is_weighed = Weight::named(&envelope.weight).is_some();
    if envelope.format > FORMAT || !envelope.needs.is_known() || !is_weighed {
        return Err(Fault::KindUnknown);
    }
    let (kind, raw) = (envelope.kind.as_ref(), envelope.body);
    match envelope.topic.as_ref() {
        Word::NAME => read(kind, raw).map(Body::Log),
        Note::NAME => read(kind, raw).map(Body::Note),
        TaskEvent::NAME => read(kind, raw).map(Body::Task),
        IssueEvent::NAME => read(kind, raw).map(Body::Issue),
        Event::NAME => {
            let event = read(kind, raw)?;
            let beside = raw.map(RawValue::get).unwrap_or("{}");
            let Beside { bases, claim } =
                serde_json::from_str(beside).map_err(|error| Fault::Damaged(error.to_string()))?;
            Ok(Body::Session(SessionBody {
                event,
                bases,
                claim,
            }))
        }
        _ => Err(Fault::KindUnknown),
    }
}

fn damaged(path: &str, why: &str) -> Failure {
    Failure::internal(
        Code::RecordDamaged,
        format!("{path}: not a record of git loopx: {why}"),
    )
    .help(command!("fsck --repair"))
}

/// Tells whether a path can name a file of an entity's folder: below it, in none of the folders that the log
/// keeps there itself.
fn is_file_path(path: &str) -> bool {
    const OURS: [&str; 8] = [
        "ops",
        "ops.jsonl",
        "signatures.jsonl",
        "logs",
        "versions",
        "imported",
        "state.json",
        "state",
    ];
    let mut parts = path.split('/');
    let is_part = |part: &str| {
        let is_dots = part.bytes().all(|byte| byte == b'.');
        !is_dots && !part.eq_ignore_ascii_case(".git") && !part.contains(['\0', '\\'])
    };
    !OURS.contains(&path.split('/').next().unwrap_or_default()) && parts.all(is_part)
}

pub(super) fn check_seq(seq: u64, path: &str) -> Result<()> {
    if seq <= MAX_SEQ {
        return Ok(());
    }
    Err(Failure::internal(
        Code::RecordDamaged,
        format!("{path}: expected an operation number of at most {MAX_SEQ}, found {seq}"),
    )
    .help(command!("fsck --repair")))
}

/// Form in which people and machines are shown an operation, whatever its format: the envelope with its id.
impl Serialize for Operation {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.envelope(Some(&self.op)).serialize(to)
    }
}

impl Operation {
    /// Form in which a signed statement holds an operation: as it is stored, with its id.
    pub(super) fn signed<S: Serializer>(op: &Operation, to: S) -> Result<S::Ok, S::Error> {
        if op.format < FORMAT {
            op.first().serialize(to)
        } else {
            op.serialize(to)
        }
    }
}

impl<'de> Deserialize<'de> for Operation {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(from)?;
        Operation::read(raw.get().as_bytes(), "the operation")
            .map_err(|failure| serde::de::Error::custom(failure.message))
    }
}
