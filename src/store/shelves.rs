//! The folders of the branch that may hold thousands of entries: `sessions`, `branches`, and each month of
//! the archive. Everybody names an entry by its path (`sessions/<id>`); only this module knows whether it
//! lies there or one folder deeper (`sessions/+a7/<id>`, see [`shelf`]).
//!
//! Both layouts are read at any size, because earlier commits have them. What is written has the one
//! that the number of entries asks for.

use super::{Edits, layout};
use crate::core::failure::Result;
use crate::core::id::Oid;
use crate::core::shelf;
use crate::git::{Entry, EntryKind, Repo};
use std::collections::{BTreeMap, BTreeSet};

/// An entry of a shelf.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) name: String,
    /// Where it lies in the shelf: its name, or a folder and its name.
    pub(super) place: String,
    pub(super) entry: Entry,
}

/// A path of the branch: the shelf, the entry's name, and what is below it.
struct Split<'p> {
    shelf: &'p str,
    name: &'p str,
    rest: Option<&'p str>,
}

fn split(path: &str) -> Option<Split<'_>> {
    let mut slashes = path.match_indices('/').map(|(at, _)| at);
    let first = slashes.next()?;
    let end = match &path[..first] {
        layout::SESSIONS | layout::BRANCHES => first,
        layout::ARCHIVE => slashes.next()?,
        _ => return None,
    };
    let below = &path[end + 1..];
    let (name, rest) = match below.split_once('/') {
        Some((name, rest)) => (name, Some(rest)),
        None => (below, None),
    };
    Some(Split {
        shelf: &path[..end],
        name,
        rest,
    })
}

fn is_shelf(path: &str) -> bool {
    split(&format!("{path}/-")).is_some_and(|found| found.rest.is_none())
}

/// The entry at a path of the branch.
pub(super) fn entry_at(repo: &Repo, root: &Oid, path: &str) -> Result<Option<Entry>> {
    Ok(find(repo, root, path)?.map(|(_, entry)| entry))
}

/// The same, with the path by which git finds it.
pub(super) fn find(repo: &Repo, root: &Oid, path: &str) -> Result<Option<(String, Entry)>> {
    let Some(Split { shelf, name, rest }) = split(path) else {
        let entry = repo.entry_at(root, path)?;
        return Ok(entry.map(|entry| (path.to_owned(), entry)));
    };
    let Some(tree) = tree_at(repo, root, shelf)? else {
        return Ok(None);
    };
    let deeper = shelf::place(name, true);
    for place in [name, &deeper] {
        let Some(entry) = repo.entry_at(&tree, place)? else {
            continue;
        };
        let at = format!("{shelf}/{place}");
        return match rest {
            None => Ok(Some((at, entry))),
            Some(_) if entry.kind != EntryKind::Tree => Ok(None),
            Some(rest) => {
                let entry = repo.entry_at(&entry.id, rest)?;
                Ok(entry.map(|entry| (format!("{at}/{rest}"), entry)))
            }
        };
    }
    Ok(None)
}

/// The bytes of the blob at a path of the branch.
pub(super) fn blob_at(repo: &Repo, root: &Oid, path: &str) -> Result<Option<Vec<u8>>> {
    match entry_at(repo, root, path)? {
        Some(entry) if entry.kind == EntryKind::Blob => repo.read_blob(&entry.id).map(Some),
        _ => Ok(None),
    }
}

fn tree_at(repo: &Repo, root: &Oid, path: &str) -> Result<Option<Oid>> {
    let entry = repo.entry_at(root, path)?;
    Ok(entry
        .filter(|entry| entry.kind == EntryKind::Tree)
        .map(|entry| entry.id))
}

/// How a shelf is laid out.
struct Layout {
    /// Entries side by side.
    flat: Vec<(String, Entry)>,
    /// The folders of those that are spread.
    folders: Vec<(String, Oid)>,
}

fn layout_of(repo: &Repo, shelf: &Oid) -> Result<Layout> {
    let (folders, flat): (Vec<_>, Vec<_>) = repo
        .list_tree(shelf)?
        .into_iter()
        .partition(|(name, entry)| shelf::is_folder(name) && entry.kind == EntryKind::Tree);
    let folders = folders.into_iter().map(|(name, entry)| (name, entry.id));
    Ok(Layout {
        flat,
        folders: folders.collect(),
    })
}

/// Everything in a shelf, by name. Of two of one name the one that [`find`] finds.
pub(super) fn entries(repo: &Repo, shelf: &Oid) -> Result<Vec<Held>> {
    let layout = layout_of(repo, shelf)?;
    let mut found = BTreeMap::new();
    for (folder, tree) in layout.folders {
        for (name, entry) in repo.list_tree(&tree)? {
            let place = format!("{folder}/{name}");
            let held = Held { name, place, entry };
            // One that lies in the wrong folder is found by nobody who asks for its name.
            if held.place == shelf::place(&held.name, true) || !found.contains_key(&held.name) {
                found.insert(held.name.clone(), held);
            }
        }
    }
    for (name, entry) in layout.flat {
        let place = name.clone();
        found.insert(name.clone(), Held { name, place, entry });
    }
    Ok(found.into_values().collect())
}

/// The entries of some trees that stand at one path, each list comparable with the others: as they lie, or
/// by their names alone where they are not laid out alike.
pub fn comparable(repo: &Repo, path: &str, trees: &[&Oid]) -> Result<Vec<Vec<(String, Entry)>>> {
    let as_they_lie = || trees.iter().map(|tree| repo.list_tree(tree)).collect();
    if !is_shelf(path) {
        return as_they_lie();
    }
    let mut spread = BTreeSet::new();
    for tree in trees {
        let layout = layout_of(repo, tree)?;
        spread.extend((!layout.flat.is_empty()).then_some(false));
        spread.extend((!layout.folders.is_empty()).then_some(true));
    }
    if spread.len() < 2 {
        return as_they_lie();
    }
    let by_name = |tree: &&Oid| {
        let held = entries(repo, tree)?.into_iter();
        Ok(held.map(|held| (held.name, held.entry)).collect())
    };
    trees.iter().map(by_name).collect()
}

/// The tree of the branch with some paths set or removed, every shelf that this touches laid out as the number of
/// its entries asks for.
pub(super) fn edit(repo: &Repo, root: Option<&Oid>, edits: &Edits) -> Result<Oid> {
    let mut plain: BTreeMap<String, Option<Entry>> = BTreeMap::new();
    let mut shelves: BTreeMap<&str, Vec<(Split<'_>, Option<Entry>)>> = BTreeMap::new();
    for (path, entry) in &edits.entries {
        match split(path) {
            Some(found) => {
                let edits = shelves.entry(found.shelf).or_default();
                edits.push((found, entry.clone()));
            }
            None => {
                if is_shelf(path) {
                    shelves.entry(path).or_default();
                }
                plain.insert(path.clone(), entry.clone());
            }
        }
    }
    for shelf in &edits.arrange {
        shelves.entry(shelf).or_default();
    }
    if shelves.is_empty() {
        return repo.edit_tree(root, &plain);
    }
    let root = match (root, plain.is_empty()) {
        (root, false) => Some(repo.edit_tree(root, &plain)?),
        (root, true) => root.cloned(),
    };
    let mut changed = BTreeMap::new();
    for (shelf, edited) in shelves {
        let before = match &root {
            Some(root) => tree_at(repo, root, shelf)?,
            None => None,
        };
        let arrange = edits.arrange.contains(shelf) || edited.is_empty();
        let after = edit_shelf(repo, before.clone(), &edited, arrange)?;
        if after != before {
            changed.insert(shelf.to_owned(), after.map(Entry::tree));
        }
    }
    match root {
        Some(root) if changed.is_empty() => Ok(root),
        root => repo.edit_tree(root.as_ref(), &changed),
    }
}

/// A shelf with some of its entries set or removed; `None` where nothing is left. What was written before is
/// taken to be laid out as it should be, unless all of it is to be looked at.
fn edit_shelf(
    repo: &Repo,
    before: Option<Oid>,
    edits: &[(Split<'_>, Option<Entry>)],
    arrange: bool,
) -> Result<Option<Oid>> {
    let mut before = before;
    let mut spread = false;
    if let Some(shelf) = &before {
        let known = layout_of(repo, shelf)?;
        spread = !known.folders.is_empty();
        if spread && !known.flat.is_empty() {
            let (shelf, is_spread) = rebuilt(repo, shelf)?;
            (before, spread) = (shelf, is_spread);
        }
    }
    let Some(after) = repo.edited_tree(before.as_ref(), &placed(edits, spread))? else {
        return Ok(None);
    };
    let fits = match spread {
        _ if arrange => faults(repo, &after)?.is_none(),
        false => !shelf::is_spread(repo.tree_len(&after)?),
        // What only grows stays spread: nothing has to be counted.
        true => edits.iter().all(|(_, entry)| entry.is_some()) || is_many(repo, &after)?,
    };
    match fits {
        true => Ok(Some(after)),
        false => Ok(rebuilt(repo, &after)?.0),
    }
}

/// Whether a spread shelf has as many entries as it takes; no more of it is read than that needs.
fn is_many(repo: &Repo, shelf: &Oid) -> Result<bool> {
    let mut count = 0;
    for (_, folder) in layout_of(repo, shelf)?.folders {
        count += repo.tree_len(&folder)?;
        if shelf::is_spread(count) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn placed(edits: &[(Split<'_>, Option<Entry>)], spread: bool) -> BTreeMap<String, Option<Entry>> {
    edits
        .iter()
        .map(|(at, entry)| {
            let mut path = shelf::place(at.name, spread);
            if let Some(rest) = at.rest {
                path = format!("{path}/{rest}");
            }
            (path, entry.clone())
        })
        .collect()
}

/// A shelf laid out anew, and whether its entries are spread now.
fn rebuilt(repo: &Repo, shelf: &Oid) -> Result<(Option<Oid>, bool)> {
    let held = entries(repo, shelf)?;
    let spread = shelf::is_spread(held.len());
    let edits = held
        .into_iter()
        .map(|held| (shelf::place(&held.name, spread), Some(held.entry)));
    Ok((repo.edited_tree(None, &edits.collect())?, spread))
}

/// What a shelf's layout lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Everything is found, and it is not the layout that the number of entries asks for: an older program
    /// wrote it.
    Unfitting(String),
    /// An entry that its name does not lead to, or that is there twice.
    Misplaced(String),
}

/// The first thing that is wrong with the layout of a shelf.
pub(super) fn faults(repo: &Repo, shelf: &Oid) -> Result<Option<Fault>> {
    let layout = layout_of(repo, shelf)?;
    if let (Some((name, _)), Some((folder, _))) = (layout.flat.first(), layout.folders.first()) {
        let what = format!("`{name}` lies beside the folder `{folder}`");
        return Ok(Some(Fault::Misplaced(what)));
    }
    let mut count = layout.flat.len();
    for (folder, tree) in &layout.folders {
        let names = repo.list_tree(tree)?;
        count += names.len();
        let wrong = names
            .iter()
            .find(|(name, _)| shelf::folder(name) != *folder);
        if let Some((name, _)) = wrong {
            let belongs = shelf::folder(name);
            let what = format!("`{folder}/{name}` belongs into `{belongs}`");
            return Ok(Some(Fault::Misplaced(what)));
        }
    }
    let limit = shelf::LIMIT;
    Ok(match (shelf::is_spread(count), layout.folders.is_empty()) {
        (true, true) => Some(Fault::Unfitting(format!(
            "{count} entries lie side by side, and from more than {limit} on they belong into folders"
        ))),
        (false, false) => Some(Fault::Unfitting(format!(
            "{count} entries lie in folders, and up to {limit} belong side by side"
        ))),
        _ => None,
    })
}

/// The shelves of a tree: their paths and what they hold.
pub(super) fn all(repo: &Repo, root: &Oid) -> Result<Vec<(String, Oid)>> {
    let mut paths = vec![layout::SESSIONS.to_owned(), layout::BRANCHES.to_owned()];
    if let Some(archive) = tree_at(repo, root, layout::ARCHIVE)? {
        for (month, _) in repo.list_tree(&archive)? {
            paths.push(format!("{}/{month}", layout::ARCHIVE));
        }
    }
    let mut found = Vec::new();
    for path in paths {
        if let Some(tree) = tree_at(repo, root, &path)? {
            found.push((path, tree));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::{Fault, comparable, edit, entries, entry_at, faults, find, is_shelf, split};
    use crate::core::id::Oid;
    use crate::core::shelf::{self, LIMIT};
    use crate::git::{Entry, Repo};
    use crate::store::Edits;
    use std::collections::{BTreeMap, BTreeSet};

    /// A pseudo random number below `end`, the same in every run.
    fn random(seed: &mut u64, end: usize) -> usize {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(*seed >> 33).expect("a number") % end
    }

    struct Bench {
        _dir: tempfile::TempDir,
        repo: Repo,
        folder: Oid,
        other: Oid,
    }

    fn bench() -> Bench {
        let dir = tempfile::tempdir().expect("a folder");
        let repo = Repo::made_at(dir.path());
        let folder = |text: &str| {
            let blob = repo.write_blob(text.as_bytes()).expect("a blob");
            let files = BTreeMap::from([("state.json".to_owned(), Some(Entry::blob(blob)))]);
            repo.edit_tree(None, &files).expect("a tree")
        };
        let (folder, other) = (folder("one"), folder("other"));
        Bench {
            _dir: dir,
            repo,
            folder,
            other,
        }
    }

    impl Bench {
        /// The branch with these sessions, written in one go in one of the layouts.
        fn laid_out<'n>(&self, names: impl IntoIterator<Item = &'n String>, spread: bool) -> Oid {
            let edits = names.into_iter().map(|name| {
                let path = format!("sessions/{}", shelf::place(name, spread));
                (path, Some(Entry::tree(self.folder.clone())))
            });
            self.repo.edit_tree(None, &edits.collect()).expect("a tree")
        }

        fn expected(&self, names: &BTreeSet<String>) -> Oid {
            self.laid_out(names, shelf::is_spread(names.len()))
        }

        fn edit(&self, root: &Oid, edits: &Edits) -> Oid {
            edit(&self.repo, Some(root), edits).expect("edited")
        }

        fn shelf(&self, root: &Oid) -> Oid {
            let entry = self.repo.entry_at(root, "sessions").expect("readable");
            entry.expect("sessions/").id
        }
    }

    fn names(count: usize) -> BTreeSet<String> {
        (0..count).map(|n| format!("s-{n}")).collect()
    }

    #[test]
    fn the_tree_follows_from_the_set_of_names() {
        let bench = bench();
        let mut seed = 7;
        for round in 0..12 {
            let mut now = names(LIMIT - 40 + random(&mut seed, 80));
            let mut root = bench.expected(&now);
            for _ in 0..12 {
                let mut edits = Edits::default();
                for _ in 0..random(&mut seed, 60) {
                    let name = format!("s-{}", random(&mut seed, LIMIT + 120));
                    let path = format!("sessions/{name}");
                    match random(&mut seed, 5) {
                        0 | 1 => {
                            edits.remove(path);
                            now.remove(&name);
                        }
                        // A file below it, as most writes are.
                        2 if !edits.entries.contains_key(&path) && !now.contains(&name) => {
                            let blob = bench.repo.write_blob(b"one").expect("a blob");
                            edits.set(format!("{path}/state.json"), Entry::blob(blob));
                            now.insert(name);
                        }
                        2 => {}
                        _ => {
                            edits.entries.remove(&format!("{path}/state.json"));
                            edits.set(path, Entry::tree(bench.folder.clone()));
                            now.insert(name);
                        }
                    }
                }
                // What is taken away whole has nothing below it.
                let removed: Vec<String> = edits
                    .entries
                    .iter()
                    .filter(|(_, entry)| entry.is_none())
                    .map(|(path, _)| format!("{path}/state.json"))
                    .collect();
                edits.entries.retain(|path, _| !removed.contains(path));
                root = bench.edit(&root, &edits);
                assert_eq!(root, bench.expected(&now), "round {round}, {}", now.len());
            }
            let held = entries(&bench.repo, &bench.shelf(&root)).expect("readable");
            let found: BTreeSet<String> = held.into_iter().map(|held| held.name).collect();
            assert_eq!(found, now);
        }
    }

    #[test]
    fn both_layouts_are_read_at_any_size() {
        let bench = bench();
        for count in [1, LIMIT, LIMIT + 1] {
            let names = names(count);
            for spread in [false, true] {
                let root = bench.laid_out(&names, spread);
                for name in &names {
                    let path = format!("sessions/{name}/state.json");
                    let (place, _) = find(&bench.repo, &root, &path)
                        .expect("readable")
                        .expect("it is there");
                    let expected = format!("sessions/{}/state.json", shelf::place(name, spread));
                    assert_eq!(place, expected);
                }
                let none = entry_at(&bench.repo, &root, "sessions/nobody").expect("readable");
                assert!(none.is_none());
                let fault = faults(&bench.repo, &bench.shelf(&root)).expect("readable");
                match spread == shelf::is_spread(count) {
                    true => assert_eq!(fault, None),
                    false => assert!(matches!(fault, Some(Fault::Unfitting(_))), "{fault:?}"),
                }
                // The next write moves an older branch; a repair moves any.
                let mut edits = Edits::default();
                edits.set("sessions/s-0", Entry::tree(bench.other.clone()));
                if spread {
                    edits.arrange("sessions");
                }
                let written = bench.edit(&root, &edits);
                let fault = faults(&bench.repo, &bench.shelf(&written)).expect("readable");
                assert_eq!(fault, None, "{count} {spread}");
            }
        }
    }

    #[test]
    fn what_lies_wrong_is_named_and_put_right() {
        let bench = bench();
        let names = names(LIMIT + 5);
        let right = bench.laid_out(&names, true);
        let tree = Some(Entry::tree(bench.folder.clone()));
        let wrong = match shelf::folder("s-1").as_str() {
            "+00" => "+01",
            _ => "+00",
        };
        let moved = BTreeMap::from([
            (format!("sessions/{}", shelf::place("s-1", true)), None),
            (format!("sessions/{wrong}/s-1"), tree.clone()),
        ]);
        let beside = BTreeMap::from([("sessions/s-1".to_owned(), tree)]);
        for edits in [moved, beside] {
            let root = bench.repo.edit_tree(Some(&right), &edits).expect("a tree");
            let fault = faults(&bench.repo, &bench.shelf(&root)).expect("readable");
            assert!(matches!(fault, Some(Fault::Misplaced(_))), "{fault:?}");
            let mut edits = Edits::default();
            edits.arrange("sessions");
            assert_eq!(bench.edit(&root, &edits), right);
        }
    }

    #[test]
    fn trees_of_two_layouts_are_compared_by_name() {
        let bench = bench();
        let names = names(LIMIT + 1);
        let [flat, spread] = [false, true].map(|how| bench.laid_out(&names, how));
        let [flat, spread] = [bench.shelf(&flat), bench.shelf(&spread)];
        let lists = comparable(&bench.repo, "sessions", &[&flat, &spread]).expect("readable");
        assert_eq!(lists[0].len(), LIMIT + 1);
        assert_eq!(lists[0], lists[1]);
        let lists = comparable(&bench.repo, "sessions", &[&spread, &spread]).expect("readable");
        assert!(lists[0].iter().all(|(name, _)| shelf::is_folder(name)));
    }

    #[test]
    fn shelves_are_sessions_branches_and_the_months_of_the_archive() {
        for (path, expected) in [
            ("sessions/a", Some(("sessions", "a", None))),
            ("sessions/a/ops/b", Some(("sessions", "a", Some("ops/b")))),
            ("branches/x%2Fy", Some(("branches", "x%2Fy", None))),
            (
                "archive/2026-01/a/b",
                Some(("archive/2026-01", "a", Some("b"))),
            ),
            ("archive/2026-01", None),
            ("sessions", None),
            ("format", None),
            ("journal/a/b", None),
        ] {
            let found = split(path).map(|found| (found.shelf, found.name, found.rest));
            assert_eq!(found, expected, "{path}");
        }
        for path in ["sessions", "branches", "archive/2026-01"] {
            assert!(is_shelf(path));
        }
        for path in ["archive", "sessions/a", "", "format"] {
            assert!(!is_shelf(path), "{path}");
        }
    }
}
