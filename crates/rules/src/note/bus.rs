//! The message bus that the notes of one place make: keyed values with their owners, each role's last word, threads,
//! and which notes were withdrawn. Computed from the records in their order; nothing of it is stored.
//!
//! **Whose a key is.** `ROLE:NAME` belongs to that role. Any other key belongs to the role that set it first, in the
//! order of the records. What another role set apart does not count, and is shown until the owner sets the key again.
//! Of two values that the owner set apart the later record stands, and the other is shown beside it.

use super::{Note, NoteKind, NoteRecord, Said};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_base::id::{OpId, Person};
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Role that hears a message which names nobody.
pub const COORDINATOR: &str = "coordinator";
/// Name for all roles.
pub const ALL: &str = "all";
/// The type of a message whose data are what its role is at.
pub const STATE_UPDATE: &str = "state_update";
/// The longest name of a role, a type or a key.
const LONGEST_NAME: usize = 100;
/// The longest data, in bytes.
const LONGEST_DATA: usize = 64 * 1024;

/// A role, a type, a key or a reference, as it is kept.
pub fn name(what: &str, typed: &str) -> Result<String> {
    let name = typed.trim();
    let is_one = !name.is_empty()
        && name.chars().count() <= LONGEST_NAME
        && !name.chars().any(char::is_control);
    if is_one {
        Ok(name.to_owned())
    } else {
        Err(Failure::usage(
            Code::NoteInvalid,
            format!(
                "expected {what} of 1 to {LONGEST_NAME} characters on one line, found `{typed}`"
            ),
        )
        .help(command!("help note")))
    }
}

/// A name that is one word.
fn word(what: &str, typed: &str) -> Result<String> {
    let word = name(what, typed)?;
    if word.contains(char::is_whitespace) {
        Err(Failure::usage(
            Code::NoteInvalid,
            format!("expected {what} of one word, found `{word}`"),
        )
        .help(command!("help note")))
    } else {
        Ok(word)
    }
}

/// A key: a name, or a role and a name behind a colon.
pub fn key(typed: &str) -> Result<String> {
    let key = name("a key", typed)?;
    match key.split_once(':') {
        Some((role, rest)) if role.trim().is_empty() || rest.trim().is_empty() => {
            Err(Failure::usage(
                Code::NoteInvalid,
                format!("expected a key like NAME or ROLE:NAME, found `{key}`"),
            )
            .help(command!("help note set")))
        }
        _ => Ok(key),
    }
}

/// Data of a message: JSON, on one line.
pub fn data(typed: &str) -> Result<String> {
    let invalid = |why: String| Failure::usage(Code::NoteInvalid, why).help(command!("help note"));
    if typed.len() > LONGEST_DATA {
        return Err(invalid(format!(
            "expected data of at most {LONGEST_DATA} bytes, found {}",
            typed.len()
        )));
    }
    let value: Value = serde_json::from_str(typed).map_err(|error| {
        invalid(format!(
            "expected JSON as data, found `{}`: {error}",
            shown(typed)
        ))
    })?;
    Ok(value.to_string())
}

/// Cuts a text to as much as a sentence has room for.
fn shown(text: &str) -> String {
    let mut shown: String = text.chars().take(40).collect();
    if shown.len() < text.len() {
        shown.push_str("...");
    }
    shown
}

/// A message of a bus with what it leaves out: it goes to the coordinator, and says who told whom what.
pub fn message(from: &str, sort: &str, to: Option<&str>, text: Option<&str>) -> Result<Said> {
    let (from, sort) = (name("a role", from)?, word("a type", sort)?);
    let to = name("a role", to.unwrap_or(COORDINATOR))?;
    let text = match text {
        Some(text) => text.to_owned(),
        None => format!("[{from}] {sort} \u{2192} {to}"),
    };
    Ok(Said {
        from: Some(from),
        sort: Some(sort),
        to: Some(to),
        ..Said::new(NoteKind::Message, text)
    })
}

/// The role that a key belongs to by its name.
pub fn named_owner(key: &str) -> Option<&str> {
    let (role, rest) = key.split_once(':')?;
    (!role.is_empty() && !rest.is_empty()).then_some(role)
}

/// Key with the value that it holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Keyed {
    pub key: String,
    /// Value that stands; none where nobody whom the key belongs to has set it.
    pub value: Option<String>,
    pub owner: String,
    pub op: Option<OpId>,
    pub at: Option<String>,
    pub by: Option<Person>,
    /// Values of the owner that were set apart from this one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub apart: Vec<Other>,
    /// Values of roles that the key does not belong to, set apart.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<Other>,
}

/// A value that does not stand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Other {
    pub value: String,
    pub role: String,
    pub op: OpId,
    pub at: String,
    pub by: Person,
}

impl Keyed {
    /// The values that do not stand.
    pub fn others(&self) -> impl Iterator<Item = &Other> {
        self.apart.iter().chain(&self.refused)
    }

    /// The records that whoever sets the key now takes the place of.
    pub fn standing(&self) -> Vec<OpId> {
        let mut found: Vec<OpId> = self.op.iter().cloned().collect();
        found.extend(self.others().map(|other| other.op.clone()));
        found.sort();
        found
    }
}

/// Finds what every key of a place holds, by key.
pub fn values<'n>(records: impl IntoIterator<Item = &'n NoteRecord>) -> BTreeMap<String, Keyed> {
    let mut sets: BTreeMap<&str, Vec<(&NoteRecord, Other)>> = BTreeMap::new();
    let mut replaced: HashSet<&OpId> = HashSet::new();
    for record in records {
        if let Note::Set {
            key,
            value,
            role,
            replaces,
        } = &record.note
        {
            replaced.extend(replaces);
            let other = Other {
                value: value.clone(),
                role: role.clone(),
                op: record.op.clone(),
                at: record.at.clone(),
                by: record.by.clone(),
            };
            sets.entry(key).or_default().push((record, other));
        }
    }
    let mut found = BTreeMap::new();
    for (key, sets) in sets {
        let first = sets.first().map(|(_, other)| other.role.as_str());
        let owner = named_owner(key).or(first).unwrap_or_default().to_owned();
        let standing = sets.into_iter().map(|(_, other)| other);
        let standing = standing.filter(|other| !replaced.contains(&other.op));
        let (mut own, refused): (Vec<Other>, Vec<Other>) =
            standing.partition(|other| other.role.eq_ignore_ascii_case(&owner));
        let stands = own.pop();
        found.insert(
            key.to_owned(),
            Keyed {
                key: key.to_owned(),
                value: stands.as_ref().map(|one| one.value.clone()),
                op: stands.as_ref().map(|one| one.op.clone()),
                at: stands.as_ref().map(|one| one.at.clone()),
                by: stands.map(|one| one.by),
                owner,
                apart: own,
                refused,
            },
        );
    }
    found
}

/// Refuses a key to a role that it does not belong to.
pub fn require_owner(key: &str, role: &str, known: Option<&Keyed>) -> Result<()> {
    let owner = named_owner(key).or(known.map(|known| known.owner.as_str()));
    match owner {
        Some(owner) if !owner.eq_ignore_ascii_case(role) => Err(Failure::refused(
            Code::NoteKeyOwned,
            format!("`{key}` belongs to {owner}, and {role} cannot set it"),
        )
        .help(command!("note get {key}"))),
        _ => Ok(()),
    }
}

/// State of a role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RoleStatus {
    pub role: String,
    /// Number of notes that the role left.
    pub count: usize,
    /// Last note of the role.
    pub last: LastWord,
    /// Fields of the role's messages of the type `state_update`, the later over the earlier.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub state: Map<String, Value>,
}

/// The last thing that a role said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LastWord {
    pub op: OpId,
    pub seq: u64,
    pub at: String,
    pub by: Person,
    pub kind: &'static str,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub sort: Option<String>,
    pub to: Option<String>,
    pub text: String,
}

impl LastWord {
    fn of(record: &NoteRecord) -> Self {
        let said = record.note.said();
        let text = match &record.note {
            Note::Set { key, value, .. } => format!("{key} = {value}"),
            note => note.text().to_owned(),
        };
        LastWord {
            op: record.op.clone(),
            seq: record.seq,
            at: record.at.clone(),
            by: record.by.clone(),
            kind: record.note.kind_word(),
            sort: said.and_then(|said| said.sort.clone()),
            to: said.and_then(|said| said.to.clone()),
            text,
        }
    }
}

/// Finds what each role said last, by role. The records come in their order.
pub fn roles<'n>(records: impl IntoIterator<Item = &'n NoteRecord>) -> Vec<RoleStatus> {
    let mut found: BTreeMap<String, RoleStatus> = BTreeMap::new();
    for record in records {
        let Some(role) = record.note.role() else {
            continue;
        };
        let last = LastWord::of(record);
        let status = found
            .entry(role.to_lowercase())
            .or_insert_with(|| RoleStatus {
                role: role.to_owned(),
                count: 0,
                last: last.clone(),
                state: Map::new(),
            });
        status.count += 1;
        status.last = last;
        if let Some(said) = record.note.said()
            && said.sort.as_deref() == Some(STATE_UPDATE)
            && let Some(data) = &said.data
            && let Ok(Value::Object(fields)) = serde_json::from_str(data)
        {
            status.state.extend(fields);
        }
    }
    found.into_values().collect()
}

/// The notes that are not to be listed.
pub fn withdrawn<'n>(records: impl IntoIterator<Item = &'n NoteRecord>) -> HashSet<&'n OpId> {
    let of = |record: &'n NoteRecord| match &record.note {
        Note::Withdrawn { note, .. } => Some(note),
        _ => None,
    };
    records.into_iter().filter_map(of).collect()
}

/// Threads of notes: the note that each note answers.
pub struct Threads<'n>(HashMap<&'n OpId, &'n OpId>);

impl<'n> Threads<'n> {
    pub fn of(records: impl IntoIterator<Item = &'n NoteRecord>) -> Self {
        let above = |record: &'n NoteRecord| {
            let above = match &record.note {
                Note::Noted(said) => said.reply_to.as_ref(),
                Note::Answered { question, .. } => Some(question),
                _ => None,
            };
            above.map(|above| (&record.op, above))
        };
        Threads(records.into_iter().filter_map(above).collect())
    }

    /// The note that a thread began with. A record names only what came before it, so that this ends.
    pub fn first<'o>(&'o self, of: &'o OpId) -> &'o OpId {
        let mut at = of;
        for _ in 0..=self.0.len() {
            match self.0.get(at) {
                Some(above) => at = above,
                None => return at,
            }
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::{message, named_owner, require_owner, roles, values, withdrawn};
    use crate::note::{Note, NoteRecord};
    use loopx_base::id::{OpId, Person};

    fn op(n: u64) -> OpId {
        OpId::parse(&format!("{n:040x}")).expect("an id")
    }

    fn record(seq: u64, note: Note) -> NoteRecord {
        let by = Person {
            name: "Ada".to_owned(),
            email: "ada@example.org".to_owned(),
        };
        NoteRecord {
            op: op(seq),
            seq,
            at: format!("2026-01-01T00:00:{seq:02}Z"),
            by,
            note,
        }
    }

    fn set(seq: u64, role: &str, key: &str, value: &str, replaces: &[u64]) -> NoteRecord {
        record(
            seq,
            Note::Set {
                key: key.to_owned(),
                value: value.to_owned(),
                role: role.to_owned(),
                replaces: replaces.iter().map(|n| op(*n)).collect(),
            },
        )
    }

    #[test]
    fn the_first_role_has_a_key_and_what_was_set_apart_is_shown() {
        let all = [
            set(1, "planner", "mode", "fast", &[]),
            set(2, "planner", "mode", "slow", &[1]),
            set(3, "planner", "mode", "full", &[1]),
            set(4, "tester", "mode", "none", &[1]),
        ];
        let found = &values(&all)["mode"];
        assert_eq!(found.value.as_deref(), Some("full"));
        assert_eq!(found.owner, "planner");
        assert_eq!(found.apart[0].value, "slow");
        assert_eq!(found.refused[0].value, "none");
        require_owner("mode", "tester", Some(found)).expect_err("another role");
        require_owner("mode", "Planner", Some(found)).expect("the owner");
        // The owner's next value takes the place of them all.
        let mut all = all.to_vec();
        all.push(set(5, "planner", "mode", "end", &[2, 3, 4]));
        let found = &values(&all)["mode"];
        assert_eq!(found.value.as_deref(), Some("end"));
        assert!(found.apart.is_empty() && found.refused.is_empty());
    }

    #[test]
    fn a_key_with_a_role_before_it_is_that_roles_whoever_set_it_first() {
        let all = [set(1, "tester", "planner:mode", "none", &[])];
        let found = &values(&all)["planner:mode"];
        assert_eq!((found.value.as_deref(), &*found.owner), (None, "planner"));
        require_owner("planner:mode", "tester", None).expect_err("another role");
        assert_eq!(named_owner(":x"), None);
    }

    #[test]
    fn a_role_is_at_what_its_last_messages_say() {
        let update = |seq, data: &str| {
            let mut said = message("planner", "state_update", None, None).expect("a message");
            said.data = Some(data.to_owned());
            record(seq, said.into())
        };
        let all = [
            update(1, r#"{"phase":1,"mode":"a"}"#),
            update(2, r#"{"phase":2}"#),
            set(3, "tester", "runs", "4", &[]),
        ];
        let found = roles(&all);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].count, 2);
        assert_eq!(found[0].state["phase"], 2);
        assert_eq!(found[0].state["mode"], "a");
        assert_eq!(
            found[0].last.text,
            "[planner] state_update \u{2192} coordinator"
        );
        assert_eq!(found[1].last.text, "runs = 4");
        assert!(withdrawn(&all).is_empty());
    }
}
