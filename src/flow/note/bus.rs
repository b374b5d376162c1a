//! `note status`, `note set`, `note get` and `note withdraw`: what the notes of a place amount to.

use super::list::records;
use super::{Home, Look, Noted, Where, find, keep, require_said};
use crate::flow::context::Context;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_base::id::OpId;
use loopx_rules::note::Note;
use loopx_rules::note::bus;
use loopx_rules::note::bus::{Keyed, RoleStatus};
use std::collections::HashSet;

/// The last word of each role of a place, and the number of notes.
#[derive(Debug)]
pub(crate) struct Status {
    pub home: Home,
    pub notes: usize,
    pub roles: Vec<RoleStatus>,
    pub values: Vec<Keyed>,
}

/// The last word of each role.
pub(crate) fn status(ctx: &Context, place: &Where) -> Result<Status> {
    let (home, records) = records(ctx, place)?;
    let gone = bus::withdrawn(&records);
    let left = || records.iter().filter(|one| !gone.contains(&one.op));
    let values = bus::values(&records);
    let others = values.values().flat_map(Keyed::others);
    let void: HashSet<&OpId> = others.map(|other| &other.op).collect();
    Ok(Status {
        home,
        notes: left().count(),
        // A value that does not count is nobody's last word.
        roles: bus::roles(left().filter(|one| !void.contains(&one.op))),
        values: values.values().cloned().collect(),
    })
}

/// The value of a key, or of every key.
pub(crate) fn get(ctx: &Context, place: &Where, key: Option<&str>) -> Result<(Home, Vec<Keyed>)> {
    let (home, records) = records(ctx, place)?;
    let mut found: Vec<Keyed> = bus::values(&records).into_values().collect();
    if let Some(key) = key {
        found.retain(|one| one.key == key);
        if found.is_empty() {
            return Err(Failure::not_found(
                Code::NoteKeyUnknown,
                format!("no role has set `{key}` here"),
            )
            .help(place.command("get", "")));
        }
    }
    Ok((home, found))
}

/// Keeps a value under a key, for the role that the key belongs to.
pub(crate) fn set(
    ctx: &Context,
    place: &Where,
    (key, value): (&str, &str),
    role: Option<&str>,
) -> Result<Noted> {
    let key = bus::key(key)?;
    let role = match role.or(bus::named_owner(&key)) {
        Some(role) => bus::name("a role", role)?,
        None => {
            return Err(Failure::usage(
                Code::NoteInvalid,
                format!("expected the role that sets `{key}`, found none"),
            )
            .help(place.command(&format!("set {key} VALUE"), " --from ROLE")));
        }
    };
    require_said("the value of the key", value, command!("help note set"))?;
    let subject = format!("{role} sets {key}");
    keep(ctx, place, &Look::Values, &subject, |records, _| {
        let known = bus::values(records).remove(&key);
        bus::require_owner(&key, &role, known.as_ref())?;
        Ok(Note::Set {
            key: key.clone(),
            value: value.to_owned(),
            role: role.clone(),
            replaces: known.map(|known| known.standing()).unwrap_or_default(),
        })
    })
}

/// Takes a note out of the lists. Its record stays, and no other ever has its number.
pub(crate) fn withdraw(
    ctx: &Context,
    place: &Where,
    typed: &str,
    reason: Option<&str>,
) -> Result<Noted> {
    let reason = reason.unwrap_or_default();
    let typed_again = loopx_base::shell_word(typed);
    let again = place.command(&format!("withdraw {typed_again}"), " --reason WHY");
    require_said("a reason", reason, again)?;
    let look = Look::Note(typed.to_owned());
    let subject = format!("withdraw the note {typed}");
    keep(ctx, place, &look, &subject, |records, _| {
        let note = find(records, place, typed)?.op.clone();
        if bus::withdrawn(records).contains(&note) {
            return Err(Failure::nothing(
                Code::NoteWithdrawn,
                format!("the note {typed} was withdrawn already"),
            )
            .help(place.command("list", " --withdrawn")));
        }
        Ok(Note::Withdrawn {
            note,
            text: reason.to_owned(),
        })
    })
}
