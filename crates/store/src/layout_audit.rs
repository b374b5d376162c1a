//! The audit of the branch beside the records of its sessions: names, layouts, bindings, and one session in two
//! folders.

use super::audit_cache::Memory;
use super::check::{Damage, Mend, damage};
use super::fanout_folder::Fault;
use super::names::Names;
use super::{Snapshot, bindings, fanout, fanout_folder, layout, unique};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::fanout::Fanout;
use loopx_base::hint::{command, hint};
use loopx_base::id::Oid;
use loopx_git::{EntryKind, Repo};
use std::collections::BTreeSet;

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

/// Sessions that have two folders, but for damaged ones.
pub(super) fn doubles(snapshot: &Snapshot<'_>, damaged: &BTreeSet<String>) -> Result<Vec<Damage>> {
    let found = unique::doubles(snapshot, damaged)?.into_iter();
    Ok(found
        .map(|(path, what)| damage(&path, what, Mend::Choose))
        .collect())
}

/// Damage of fan-out folders whose layout is not the one for the number of their entries.
pub(super) fn layouts(repo: &Repo, snapshot: &Snapshot<'_>) -> Result<Vec<Damage>> {
    let mut found = Vec::new();
    for (path, fanout) in fanout::all(repo, snapshot.tree())? {
        if let Some(Fault::Unfitting(what) | Fault::Misplaced(what)) =
            fanout_folder::faults(repo, Fanout::Names, &fanout)?
        {
            found.push(damage(&path, what, Mend::Arrange));
        }
    }
    Ok(found)
}

/// Damage of the index of bindings against what the sessions say; the entries that `before` had are taken to be right.
pub(super) fn bindings(
    repo: &Repo,
    snapshot: &Snapshot<'_>,
    restored: &BTreeSet<String>,
    before: Option<&Snapshot<'_>>,
) -> Result<Vec<Damage>> {
    if let Some(entry) = repo.entry_at(snapshot.tree(), layout::BRANCHES)?
        && entry.kind != EntryKind::Tree
    {
        let what = format!("{} is not a folder", layout::BRANCHES);
        return Ok(vec![damage(layout::BRANCHES, what, Mend::Index)]);
    }
    let faults = bindings::faults(repo, snapshot, before, restored)?.into_iter();
    Ok(faults
        .map(|fault| damage(&fault.path, fault.what, Mend::Index))
        .collect())
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
            "{} {}: the damage is in the history, and no new commit can take it out; nothing was changed",
            damage.session, damage.what
        ),
    )
    .help(hint![
        format!("git log {} -- PATH  (shows since when: set the branch back to before, here and at the remote; what came since travels by: ", snapshot.commit().short()),
        command!("export SESSION"),
        ")"
    ])
}
