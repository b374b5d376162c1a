//! What is wrong with the branch beside the records of its sessions: names, layouts, bindings, and one session in
//! two folders.

use super::check::{Damage, Mend, damage};
use super::checked::Memory;
use super::names::Names;
use super::shelf::Fault;
use super::{Snapshot, layout, shelf, shelves, unique};
use crate::core::failure::{Code, Failure, Result};
use crate::core::hint::{command, hint};
use crate::core::id::{Oid, SessionId};
use crate::core::shelf::Shelf;
use crate::git::{EntryKind, Repo};
use std::collections::{BTreeMap, BTreeSet};

/// Names that no tree should have, and that were not there when all was whole.
pub(super) fn names(repo: &Repo, snapshot: &Snapshot<'_>, memory: &Memory) -> Vec<Damage> {
    let known = memory.tip().and_then(|tip| repo.commit_info(tip).ok());
    let known: Vec<Oid> = known.map(|info| info.tree).into_iter().collect();
    // What cannot be read is said of whatever it belongs to.
    let faults = Names::default().faults(repo, snapshot.tree(), &known);
    let faults = faults.unwrap_or_default().into_iter();
    faults
        .map(|(path, why)| damage(&path, why, Mend::Rewind))
        .collect()
}

/// Sessions that have two folders.
pub(super) fn doubles(snapshot: &Snapshot<'_>) -> Result<Vec<Damage>> {
    let found = unique::doubles(snapshot)?.into_iter();
    Ok(found
        .map(|(path, what)| damage(&path, what, Mend::Choose))
        .collect())
}

/// Shelves that are not laid out as the number of their entries asks for.
pub(super) fn layouts(repo: &Repo, snapshot: &Snapshot<'_>) -> Result<Vec<Damage>> {
    let mut found = Vec::new();
    for (path, shelf) in shelves::all(repo, snapshot.tree())? {
        if let Some(Fault::Unfitting(what) | Fault::Misplaced(what)) =
            shelf::faults(repo, Shelf::Names, &shelf)?
        {
            found.push(damage(&path, what, Mend::Arrange));
        }
    }
    Ok(found)
}

/// Records of bound branches that name no session; those that `before` has too are not looked at.
pub(super) fn bindings(
    repo: &Repo,
    snapshot: &Snapshot<'_>,
    restored: &BTreeSet<String>,
    before: Option<&Snapshot<'_>>,
) -> Result<Vec<Damage>> {
    let Some(entry) = repo.entry_at(snapshot.tree(), layout::BRANCHES)? else {
        return Ok(Vec::new());
    };
    if entry.kind != EntryKind::Tree {
        let what = format!("{} is not a folder", layout::BRANCHES);
        return Ok(vec![damage(layout::BRANCHES, what, Mend::Remove)]);
    }
    let mut known = BTreeMap::new();
    if let Some(before) = before
        && let Some(entry) = repo.entry_at(before.tree(), layout::BRANCHES)?
        && entry.kind == EntryKind::Tree
    {
        let held = shelf::entries(repo, Shelf::Names, &entry.id)?.into_iter();
        known.extend(held.map(|held| (held.name, held.entry)));
    }
    let mut found = Vec::new();
    for shelf::Held { name, entry, .. } in shelf::entries(repo, Shelf::Names, &entry.id)? {
        if known.get(&name) == Some(&entry) {
            continue;
        }
        let id = match entry.kind {
            EntryKind::Blob => repo.read_blob(&entry.id)?,
            _ => Vec::new(),
        };
        let id = String::from_utf8_lossy(&id).trim().to_owned();
        let known = match SessionId::parse(&id) {
            Ok(id) => restored.contains(id.as_str()) || snapshot.has(&id)?,
            Err(_) => false,
        };
        if !known {
            let path = format!("{}/{name}", layout::BRANCHES);
            let what = format!("names the session `{id}`, which is not there");
            found.push(damage(&path, what, Mend::Remove));
        }
    }
    Ok(found)
}

/// The refusal where a commit on top would mend nothing.
pub(super) fn not_mended(snapshot: &Snapshot<'_>, damage: &Damage) -> Failure {
    if damage.mend == Mend::Choose {
        let message = format!("{}; nothing was changed", damage.what);
        return Failure::internal(Code::RecordDamaged, message).help(format!(
            "git log {} -- {}  (shows who made the copy: set the branch back to before, here and at the remote)",
            snapshot.commit().short(),
            damage.session
        ));
    }
    Failure::internal(
        Code::RecordDamaged,
        format!(
            "{} {}: the history has it, and no new commit takes it out of there; nothing was changed",
            damage.session, damage.what
        ),
    )
    .help(hint![
        format!("git log {} -- PATH  (shows since when: set the branch back to before, here and at the remote; what came since travels by: ", snapshot.commit().short()),
        command!("export SESSION"),
        ")"
    ])
}
