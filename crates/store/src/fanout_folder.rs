//! Folder of many entries, as a tree: its entries and their places in either layout, and the layout in which it is
//! written (see [`Fanout`]). Which folders of the branch these are is not known here.
//!
//! Both layouts are read at any size, because earlier commits have them. What is written has the one
//! that the number of entries asks for.

use loopx_base::failure::Result;
use loopx_base::fanout::Fanout;
use loopx_base::id::Oid;
use loopx_git::{Entry, EntryKind, Repo};
use std::collections::BTreeMap;

/// An entry of a fan-out folder.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) name: String,
    /// Path of the entry in the fan-out folder: its name, or a folder and its name.
    pub(super) place: String,
    pub(super) entry: Entry,
}

/// An entry, or something below it, to set or to remove.
#[derive(Clone, Copy)]
pub(super) struct Change<'p> {
    pub(super) name: &'p str,
    pub(super) below: Option<&'p str>,
    pub(super) entry: Option<&'p Entry>,
}

/// The entry of this name in a fan-out folder.
pub(super) fn named(repo: &Repo, kind: Fanout, fanout: &Oid, name: &str) -> Result<Option<Held>> {
    for spread in [false, true] {
        let place = kind.place(name, spread);
        if let Some(entry) = repo.entry_at(fanout, &place)? {
            let name = name.to_owned();
            return Ok(Some(Held { name, place, entry }));
        }
    }
    Ok(None)
}

/// Layout of a fan-out folder.
pub(super) struct Layout {
    /// Entries side by side.
    pub(super) flat: Vec<(String, Entry)>,
    /// Folders with the entries that are spread.
    pub(super) folders: Vec<(String, Oid)>,
}

pub(super) fn layout(repo: &Repo, kind: Fanout, fanout: &Oid) -> Result<Layout> {
    let (folders, flat): (Vec<_>, Vec<_>) = repo
        .list_tree(fanout)?
        .into_iter()
        .partition(|(name, entry)| kind.is_folder(name) && entry.kind == EntryKind::Tree);
    let folders = folders.into_iter().map(|(name, entry)| (name, entry.id));
    Ok(Layout {
        flat,
        folders: folders.collect(),
    })
}

/// Entries of a fan-out folder, by name. Of two of one name the list has the one that [`named`] finds.
pub(super) fn entries(repo: &Repo, kind: Fanout, fanout: &Oid) -> Result<Vec<Held>> {
    entries_but(repo, kind, fanout, &[])
}

/// Entries of a fan-out folder, but for those in some of its folders.
pub(super) fn entries_but(
    repo: &Repo,
    kind: Fanout,
    fanout: &Oid,
    without: &[String],
) -> Result<Vec<Held>> {
    let layout = layout(repo, kind, fanout)?;
    let mut found = Vec::with_capacity(layout.flat.len());
    for (folder, tree) in layout.folders {
        if without.contains(&folder) {
            continue;
        }
        for (name, entry) in repo.list_tree(&tree)? {
            let place = [&folder, "/", &name].concat();
            found.push(Held { name, place, entry });
        }
    }
    for (name, entry) in layout.flat {
        let place = name.clone();
        found.push(Held { name, place, entry });
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    // One side by side counts more than one in its folder. One that lies in the wrong folder is found by nobody who
    // asks for its name.
    let worth = |held: &Held| {
        if held.place.contains('/') {
            u8::from(held.place == kind.place(&held.name, true))
        } else {
            2
        }
    };
    found.dedup_by(|later, kept| {
        let is_same = later.name == kept.name;
        if is_same && worth(later) > worth(kept) {
            std::mem::swap(later, kept);
        }
        is_same
    });
    Ok(found)
}

/// Tells whether a question is answered with yes for one of the names in a fan-out folder; a name that stands in both
/// layouts is asked about twice. The folders are read one after the other, up to that name.
pub(super) fn any_name(
    repo: &Repo,
    kind: Fanout,
    fanout: &Oid,
    ask: &mut dyn FnMut(&str) -> bool,
) -> Result<bool> {
    let layout = layout(repo, kind, fanout)?;
    if layout.flat.iter().any(|(name, _)| ask(name)) {
        return Ok(true);
    }
    for (_, folder) in layout.folders {
        if repo.list_tree(&folder)?.iter().any(|(name, _)| ask(name)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Shows the name of every folder that a fan-out folder holds; one that stands in both layouts twice. Nothing else of it is made,
/// which is most of what [`entries`] costs.
pub(super) fn each_folder(
    repo: &Repo,
    kind: Fanout,
    fanout: &Oid,
    visit: &mut dyn FnMut(&str),
) -> Result<()> {
    let mut folders = Vec::new();
    repo.each_folder(fanout, &mut |name, id| {
        if kind.is_folder(name) {
            folders.push(Oid::of_bytes(id))
        } else {
            visit(name)
        }
    })?;
    for folder in folders {
        repo.each_folder(&folder?, &mut |name, _| visit(name))?;
    }
    Ok(())
}

/// A fan-out folder with some of its entries set or removed; `None` where nothing is left. What was written before is
/// taken to be laid out as it should be, unless all of it is to be looked at.
pub(super) fn edit(
    repo: &Repo,
    kind: Fanout,
    before: Option<&Oid>,
    changes: &[Change<'_>],
    arrange: bool,
) -> Result<Option<Oid>> {
    let mut before = before.cloned();
    let mut spread = false;
    if let Some(fanout) = &before {
        let known = layout(repo, kind, fanout)?;
        spread = !known.folders.is_empty();
        if spread && !known.flat.is_empty() {
            let (fanout, is_spread) = rebuilt(repo, kind, fanout)?;
            (before, spread) = (fanout, is_spread);
        }
    }
    let Some(after) = repo.edited_tree(before.as_ref(), &placed(kind, changes, spread))? else {
        return Ok(None);
    };
    let fits = if arrange {
        faults(repo, kind, &after)?.is_none()
    } else if spread {
        // What only grows stays spread: nothing has to be counted.
        changes.iter().all(|change| change.entry.is_some()) || is_many(repo, kind, &after)?
    } else {
        !kind.is_spread(repo.tree_len(&after)?)
    };
    if fits {
        Ok(Some(after))
    } else {
        Ok(rebuilt(repo, kind, &after)?.0)
    }
}

/// Tells whether a spread folder has as many entries as it takes; no more of it is read than that needs.
fn is_many(repo: &Repo, kind: Fanout, fanout: &Oid) -> Result<bool> {
    let mut count = 0;
    for (_, folder) in layout(repo, kind, fanout)?.folders {
        count += repo.tree_len(&folder)?;
        if kind.is_spread(count) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn placed(kind: Fanout, changes: &[Change<'_>], spread: bool) -> BTreeMap<String, Option<Entry>> {
    let placed = changes.iter().map(|change| {
        let mut path = kind.place(change.name, spread);
        if let Some(below) = change.below {
            path = format!("{path}/{below}");
        }
        (path, change.entry.cloned())
    });
    placed.collect()
}

/// A fan-out folder laid out anew, and whether its entries are spread now.
fn rebuilt(repo: &Repo, kind: Fanout, fanout: &Oid) -> Result<(Option<Oid>, bool)> {
    let held = entries(repo, kind, fanout)?;
    let spread = kind.is_spread(held.len());
    let edits = held
        .into_iter()
        .map(|held| (kind.place(&held.name, spread), Some(held.entry)));
    Ok((repo.edited_tree(None, &edits.collect())?, spread))
}

/// Fault of a fan-out folder's layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// A layout in which every entry is found, and that is not the one for this number of entries: an older program
    /// wrote it.
    Unfitting(String),
    /// An entry that its name does not lead to, or that is there twice.
    Misplaced(String),
}

/// The first thing that is wrong with the layout of a fan-out folder.
pub(super) fn faults(repo: &Repo, kind: Fanout, fanout: &Oid) -> Result<Option<Fault>> {
    faults_but(repo, kind, fanout, &[])
}

/// First fault of the layout of a fan-out folder, but for the entries in some of its folders.
pub(super) fn faults_but(
    repo: &Repo,
    kind: Fanout,
    fanout: &Oid,
    without: &[String],
) -> Result<Option<Fault>> {
    let layout = layout(repo, kind, fanout)?;
    if let (Some((name, _)), Some((folder, _))) = (layout.flat.first(), layout.folders.first()) {
        let what = format!("`{name}` lies beside the folder `{folder}`");
        return Ok(Some(Fault::Misplaced(what)));
    }
    let mut count = layout.flat.len();
    let folders = layout.folders.iter();
    for (folder, tree) in folders.filter(|(name, _)| !without.contains(name)) {
        let names = repo.list_tree(tree)?;
        count += names.len();
        if names.is_empty() {
            let what = format!("the folder `{folder}` is empty");
            return Ok(Some(Fault::Misplaced(what)));
        }
        let wrong = names.iter().find(|(name, _)| kind.folder(name) != *folder);
        if let Some((name, _)) = wrong {
            let belongs = kind.folder(name);
            let what = format!("`{folder}/{name}` belongs into `{belongs}`");
            return Ok(Some(Fault::Misplaced(what)));
        }
    }
    let limit = kind.limit();
    Ok(match (kind.is_spread(count), layout.folders.is_empty()) {
        (true, true) => Some(Fault::Unfitting(format!(
            "{count} entries lie side by side, and from more than {limit} on they belong into folders"
        ))),
        (false, false) => Some(Fault::Unfitting(format!(
            "{count} entries lie in folders, and up to {limit} belong side by side"
        ))),
        _ => None,
    })
}
