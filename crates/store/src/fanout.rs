//! The folders of the branch that may hold thousands of entries: `sessions`, `branches`, `issues`, each month of the
//! archive, and the operations of a session. Everybody names an entry by its path (`sessions/<id>`), or an
//! operation by its file (see [`super::ops`]); whether it lies there or one folder deeper
//! (`sessions/+a7/<id>`), [`super::fanout_folder`] knows.

use super::fanout_folder::{self, Change, Held};
use super::{Edits, layout};
use loopx_base::failure::Result;
use loopx_base::fanout::Fanout;
use loopx_base::id::Oid;
use loopx_git::{Entry, EntryKind, Repo};
use std::collections::{BTreeMap, BTreeSet};

/// A path of the branch: the fan-out folder, the entry's name, and what is below it.
struct Split<'p> {
    fanout: &'p str,
    name: &'p str,
    rest: Option<&'p str>,
}

fn split(path: &str) -> Option<Split<'_>> {
    let mut slashes = path.match_indices('/').map(|(at, _)| at);
    let first = slashes.next()?;
    let end = match &path[..first] {
        layout::SESSIONS | layout::BRANCHES | layout::ISSUES => first,
        layout::ARCHIVE => slashes.next()?,
        _ => return None,
    };
    let below = &path[end + 1..];
    let (name, rest) = match below.split_once('/') {
        Some((name, rest)) => (name, Some(rest)),
        None => (below, None),
    };
    Some(Split {
        fanout: &path[..end],
        name,
        rest,
    })
}

/// Kind of the entries below a path of the branch, where the path is a fan-out folder.
fn kind(path: &str) -> Option<Fanout> {
    let below = format!("{path}/-");
    let found = split(&below)?;
    let Some(rest) = found.rest else {
        return Some(Fanout::Names);
    };
    // A session may lie one folder deeper.
    let below = if Fanout::Names.is_folder(found.name) {
        rest.split_once('/')?.1
    } else {
        rest
    };
    (below.strip_suffix("/-") == Some(layout::OPS)).then_some(Fanout::Operations)
}

/// The entry at a path of the branch.
pub(super) fn entry_at(repo: &Repo, root: &Oid, path: &str) -> Result<Option<Entry>> {
    Ok(find(repo, root, path)?.map(|(_, entry)| entry))
}

/// Entry at a path of the branch, with the path by which git finds it.
pub(super) fn find(repo: &Repo, root: &Oid, path: &str) -> Result<Option<(String, Entry)>> {
    let Some(Split { fanout, name, rest }) = split(path) else {
        let entry = repo.entry_at(root, path)?;
        return Ok(entry.map(|entry| (path.to_owned(), entry)));
    };
    let Some(tree) = tree_at(repo, root, fanout)? else {
        return Ok(None);
    };
    let Some(Held { place, entry, .. }) = fanout_folder::named(repo, Fanout::Names, &tree, name)?
    else {
        return Ok(None);
    };
    let at = format!("{fanout}/{place}");
    match rest {
        None => Ok(Some((at, entry))),
        Some(_) if entry.kind != EntryKind::Tree => Ok(None),
        Some(rest) => {
            let entry = repo.entry_at(&entry.id, rest)?;
            Ok(entry.map(|entry| (format!("{at}/{rest}"), entry)))
        }
    }
}

fn tree_at(repo: &Repo, root: &Oid, path: &str) -> Result<Option<Oid>> {
    let entry = repo.entry_at(root, path)?;
    Ok(entry
        .filter(|entry| entry.kind == EntryKind::Tree)
        .map(|entry| entry.id))
}

/// The entries of some trees that stand at one path, each list comparable with the others: as they lie, or
/// by their names alone where they are not laid out alike.
pub fn comparable(repo: &Repo, path: &str, trees: &[&Oid]) -> Result<Vec<Vec<(String, Entry)>>> {
    let as_they_lie = || trees.iter().map(|tree| repo.list_tree(tree)).collect();
    let Some(kind) = kind(path) else {
        return as_they_lie();
    };
    let mut spread = BTreeSet::new();
    for tree in trees {
        let layout = fanout_folder::layout(repo, kind, tree)?;
        spread.extend((!layout.flat.is_empty()).then_some(false));
        spread.extend((!layout.folders.is_empty()).then_some(true));
    }
    if spread.len() < 2 {
        return as_they_lie();
    }
    let by_name = |tree: &&Oid| {
        let held = fanout_folder::entries(repo, kind, tree)?.into_iter();
        Ok(held.map(|held| (held.name, held.entry)).collect())
    };
    trees.iter().map(by_name).collect()
}

/// The tree of the branch with some paths set or removed, every fan-out folder that this touches laid out as the number of
/// its entries asks for.
pub(super) fn edit(repo: &Repo, root: Option<&Oid>, edits: &Edits) -> Result<Oid> {
    let mut plain: BTreeMap<String, Option<Entry>> = BTreeMap::new();
    let mut fanouts: BTreeMap<&str, Vec<Change<'_>>> = BTreeMap::new();
    for (path, entry) in &edits.entries {
        match split(path) {
            Some(found) => {
                fanouts.entry(found.fanout).or_default().push(Change {
                    name: found.name,
                    below: found.rest,
                    entry: entry.as_ref(),
                });
            }
            None => {
                if kind(path) == Some(Fanout::Names) {
                    fanouts.entry(path).or_default();
                }
                plain.insert(path.clone(), entry.clone());
            }
        }
    }
    for path in &edits.arrange {
        fanouts.entry(path).or_default();
    }
    if fanouts.is_empty() {
        return repo.edit_tree(root, &plain);
    }
    let root = match (root, plain.is_empty()) {
        (root, false) => Some(repo.edit_tree(root, &plain)?),
        (root, true) => root.cloned(),
    };
    let mut changed = BTreeMap::new();
    for (path, changes) in fanouts {
        let before = match &root {
            Some(root) => tree_at(repo, root, path)?,
            None => None,
        };
        let arrange = edits.arrange.contains(path) || changes.is_empty();
        let after = fanout_folder::edit(repo, Fanout::Names, before.as_ref(), &changes, arrange)?;
        if after != before {
            changed.insert(path.to_owned(), after.map(Entry::tree));
        }
    }
    match root {
        Some(root) if changed.is_empty() => Ok(root),
        root => repo.edit_tree(root.as_ref(), &changed),
    }
}

/// Fan-out folders of a tree: their paths and their trees.
pub(super) fn all(repo: &Repo, root: &Oid) -> Result<Vec<(String, Oid)>> {
    let single = [layout::SESSIONS, layout::BRANCHES, layout::ISSUES];
    let mut paths = single.map(str::to_owned).to_vec();
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
    use super::{comparable, edit, entry_at, find, kind, split};
    use crate::Edits;
    use crate::fanout_folder::{Fault, entries, faults};
    use loopx_base::fanout::Fanout::{Names, Operations};
    use loopx_base::id::Oid;
    use loopx_git::{Entry, Repo};
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
        let repo = Repo::init_bare(dir.path()).expect("make a repository");
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
                let path = format!("sessions/{}", Names.place(name, spread));
                (path, Some(Entry::tree(self.folder.clone())))
            });
            self.repo.edit_tree(None, &edits.collect()).expect("a tree")
        }

        fn expected(&self, names: &BTreeSet<String>) -> Oid {
            self.laid_out(names, Names.is_spread(names.len()))
        }

        fn edit(&self, root: &Oid, edits: &Edits) -> Oid {
            edit(&self.repo, Some(root), edits).expect("edited")
        }

        fn fanout(&self, root: &Oid) -> Oid {
            let entry = self.repo.entry_at(root, "sessions").expect("readable");
            entry.expect("sessions/").id
        }
    }

    fn limit() -> usize {
        Names.limit()
    }

    fn names(count: usize) -> BTreeSet<String> {
        (0..count).map(|n| format!("s-{n}")).collect()
    }

    #[test]
    fn the_tree_follows_from_the_set_of_names() {
        let bench = bench();
        let mut seed = 7;
        for round in 0..12 {
            let mut now = names(limit() - 40 + random(&mut seed, 80));
            let mut root = bench.expected(&now);
            for _ in 0..12 {
                let mut edits = Edits::default();
                for _ in 0..random(&mut seed, 60) {
                    let name = format!("s-{}", random(&mut seed, limit() + 120));
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
            let held = entries(&bench.repo, Names, &bench.fanout(&root)).expect("readable");
            let found: BTreeSet<String> = held.into_iter().map(|held| held.name).collect();
            assert_eq!(found, now);
        }
    }

    #[test]
    fn both_layouts_are_read_at_any_size() {
        let bench = bench();
        for count in [1, limit(), limit() + 1] {
            let names = names(count);
            for spread in [false, true] {
                let root = bench.laid_out(&names, spread);
                for name in &names {
                    let path = format!("sessions/{name}/state.json");
                    let (place, _) = find(&bench.repo, &root, &path)
                        .expect("readable")
                        .expect("it is there");
                    let expected = format!("sessions/{}/state.json", Names.place(name, spread));
                    assert_eq!(place, expected);
                }
                let none = entry_at(&bench.repo, &root, "sessions/nobody").expect("readable");
                assert!(none.is_none());
                let fault = faults(&bench.repo, Names, &bench.fanout(&root)).expect("readable");
                if spread == Names.is_spread(count) {
                    assert_eq!(fault, None)
                } else {
                    assert!(matches!(fault, Some(Fault::Unfitting(_))), "{fault:?}")
                }
                // The next write moves an older branch; a repair moves any.
                let mut edits = Edits::default();
                edits.set("sessions/s-0", Entry::tree(bench.other.clone()));
                if spread {
                    edits.arrange("sessions");
                }
                let written = bench.edit(&root, &edits);
                let fault = faults(&bench.repo, Names, &bench.fanout(&written)).expect("readable");
                assert_eq!(fault, None, "{count} {spread}");
            }
        }
    }

    #[test]
    fn what_lies_wrong_is_named_and_put_right() {
        let bench = bench();
        let names = names(limit() + 5);
        let right = bench.laid_out(&names, true);
        let tree = Some(Entry::tree(bench.folder.clone()));
        let wrong = match Names.folder("s-1").as_str() {
            "+00" => "+01",
            _ => "+00",
        };
        let moved = BTreeMap::from([
            (format!("sessions/{}", Names.place("s-1", true)), None),
            (format!("sessions/{wrong}/s-1"), tree.clone()),
        ]);
        let beside = BTreeMap::from([("sessions/s-1".to_owned(), tree)]);
        for edits in [moved, beside] {
            let root = bench.repo.edit_tree(Some(&right), &edits).expect("a tree");
            let fault = faults(&bench.repo, Names, &bench.fanout(&root)).expect("readable");
            assert!(matches!(fault, Some(Fault::Misplaced(_))), "{fault:?}");
            let mut edits = Edits::default();
            edits.arrange("sessions");
            assert_eq!(bench.edit(&root, &edits), right);
        }
    }

    #[test]
    fn trees_of_two_layouts_are_compared_by_name() {
        let bench = bench();
        let names = names(limit() + 1);
        let [flat, spread] = [false, true].map(|how| bench.laid_out(&names, how));
        let [flat, spread] = [bench.fanout(&flat), bench.fanout(&spread)];
        let lists = comparable(&bench.repo, "sessions", &[&flat, &spread]).expect("readable");
        assert_eq!(lists[0].len(), limit() + 1);
        assert_eq!(lists[0], lists[1]);
        let lists = comparable(&bench.repo, "sessions", &[&spread, &spread]).expect("readable");
        assert!(lists[0].iter().all(|(name, _)| Names.is_folder(name)));
    }

    #[test]
    fn fanouts_are_sessions_branches_and_the_months_of_the_archive() {
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
            let found = split(path).map(|found| (found.fanout, found.name, found.rest));
            assert_eq!(found, expected, "{path}");
        }
        for path in ["sessions", "branches", "archive/2026-01"] {
            assert_eq!(kind(path), Some(Names), "{path}");
        }
        for path in [
            "sessions/a/ops",
            "sessions/+a7/a/ops",
            "sessions/+a7/ops/ops",
        ] {
            assert_eq!(kind(path), Some(Operations), "{path}");
        }
        for path in [
            "archive",
            "sessions/a",
            "sessions/+a7/ops",
            "sessions/a/logs",
            "sessions/a/ops/+00",
            "",
            "format",
        ] {
            assert_eq!(kind(path), None, "{path}");
        }
    }
}
