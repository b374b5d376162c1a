//! The operations of an active session: files `ops/<seq>-<op>.json`, and beside each what somebody signed
//! about it. Everybody names one by its file; where in `ops/` it lies, [`super::fanout_folder`] knows.

use super::fanout_folder::{self, Change, Fault, Held};
use super::layout;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::fanout::Fanout;
use loopx_base::hint::command;
use loopx_base::id::Oid;
use loopx_git::{Entry, EntryKind, Repo};
use loopx_rules::op::Operation;
use loopx_rules::signature::SUFFIX;
use std::collections::BTreeMap;

/// The files in `ops/`, by name: in the order of the operations.
pub(super) fn files(repo: &Repo, ops: &Oid) -> Result<Vec<Held>> {
    files_but(repo, ops, &[])
}

/// Files in `ops/`, but for those in some of its folders, in the order of the operations.
pub(super) fn files_but(repo: &Repo, ops: &Oid, without: &[String]) -> Result<Vec<Held>> {
    let mut files = fanout_folder::entries_but(repo, Fanout::Operations, ops, without)?;
    files.retain(|held| held.entry.kind == EntryKind::Blob);
    Ok(files)
}

/// The names of everything in `ops/`.
#[cfg(test)]
pub(super) fn names(repo: &Repo, ops: &Oid) -> Result<std::collections::BTreeSet<String>> {
    let held = fanout_folder::entries(repo, Fanout::Operations, ops)?.into_iter();
    Ok(held.map(|held| held.name).collect())
}

/// The operations in `ops/`, which `label` names to people.
pub(super) fn read(repo: &Repo, ops: &Oid, label: &str) -> Result<Vec<Operation>> {
    read_by(repo, ops, label, |blob, label| {
        Operation::parse(&repo.read_blob(blob)?, label, blob)
    })
}

/// Operations in `ops/`, for a caller that reads an operation's file in a way of its own.
pub(super) fn read_by(
    repo: &Repo,
    ops: &Oid,
    label: &str,
    parse: impl Fn(&Oid, &str) -> Result<Operation>,
) -> Result<Vec<Operation>> {
    let mut files = files(repo, ops)?;
    files.retain(|held| !held.name.ends_with(SUFFIX));
    let read = |held: Held| {
        let label = format!("{label}/{}", held.place);
        named(parse(&held.entry.id, &label)?, &held, &label)
    };
    files.into_iter().map(read).collect()
}

/// An operation from its file.
pub(super) fn read_one(repo: &Repo, held: &Held, label: &str) -> Result<Operation> {
    let blob = &held.entry.id;
    named(
        Operation::parse(&repo.read_blob(blob)?, label, blob)?,
        held,
        label,
    )
}

/// An operation whose file's name says which one it is: none stands there twice.
fn named(op: Operation, held: &Held, label: &str) -> Result<Operation> {
    if op.file_name() == held.name {
        return Ok(op);
    }
    Err(Failure::internal(
        Code::RecordDamaged,
        format!("{label}: holds the operation {}", op.file_name()),
    )
    .help(command!("fsck --repair")))
}

/// The tree of `ops/` in a session's folder.
pub(super) fn tree(repo: &Repo, folder: &Oid) -> Result<Option<Oid>> {
    let entry = repo.entry_at(folder, layout::OPS)?;
    Ok(entry
        .filter(|entry| entry.kind == EntryKind::Tree)
        .map(|entry| entry.id))
}

/// The blob of a file in `ops/` of a session's folder.
#[cfg(test)]
pub(super) fn blob(repo: &Repo, folder: &Oid, name: &str) -> Result<Option<Oid>> {
    let Some(ops) = tree(repo, folder)? else {
        return Ok(None);
    };
    let held = fanout_folder::named(repo, Fanout::Operations, &ops, name)?;
    Ok(held.map(|held| held.entry.id))
}

/// `ops/` with some files set or removed.
pub(super) fn edit(
    repo: &Repo,
    ops: Option<&Oid>,
    edits: &BTreeMap<String, Option<Entry>>,
) -> Result<Oid> {
    match fanout_folder::edit(repo, Fanout::Operations, ops, &changes(edits), false)? {
        Some(ops) => Ok(ops),
        None => repo.empty_tree(),
    }
}

fn changes(edits: &BTreeMap<String, Option<Entry>>) -> Vec<Change<'_>> {
    let mut changes = Vec::new();
    for (name, entry) in edits {
        changes.push(Change {
            name,
            below: None,
            entry: entry.as_ref(),
        });
    }
    changes
}

/// Fault of the layout of `ops/` in a session's folder.
pub(super) fn fault(repo: &Repo, folder: &Oid) -> Result<Option<Fault>> {
    match tree(repo, folder)? {
        Some(ops) => fanout_folder::faults(repo, Fanout::Operations, &ops),
        None => Ok(None),
    }
}

/// Fault of the layout of a folder `ops/`, of which some folders were looked at before. The number of entries is told
/// without those.
pub(super) fn fault_but(repo: &Repo, ops: &Oid, without: &[String]) -> Result<Option<Fault>> {
    fanout_folder::faults_but(repo, Fanout::Operations, ops, without)
}

/// A session's folder with its `ops/` laid out as the number of operations asks for.
pub(super) fn arranged(repo: &Repo, folder: &Oid) -> Result<Oid> {
    change(repo, folder, &BTreeMap::new(), true)
}

/// A session's folder with some files of `ops/` set or removed.
pub(super) fn edited(
    repo: &Repo,
    folder: &Oid,
    edits: &BTreeMap<String, Option<Entry>>,
) -> Result<Oid> {
    change(repo, folder, edits, false)
}

fn change(
    repo: &Repo,
    folder: &Oid,
    edits: &BTreeMap<String, Option<Entry>>,
    arrange: bool,
) -> Result<Oid> {
    let before = tree(repo, folder)?;
    let after = fanout_folder::edit(
        repo,
        Fanout::Operations,
        before.as_ref(),
        &changes(edits),
        arrange,
    )?;
    if after == before {
        return Ok(folder.clone());
    }
    let edits = BTreeMap::from([(layout::OPS.to_owned(), after.map(Entry::tree))]);
    repo.edit_tree(Some(folder), &edits)
}

#[cfg(test)]
mod tests {
    use super::{arranged, blob, edit, fault, files, names};
    use crate::fanout_folder::Fault;
    use loopx_base::fanout::Fanout::Operations;
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
        blob: Oid,
        other: Oid,
    }

    fn bench() -> Bench {
        let dir = tempfile::tempdir().expect("a folder");
        let repo = Repo::init_bare(dir.path()).expect("make a repository");
        let [blob, other] = ["one", "other"].map(|text| {
            let blob = repo.write_blob(text.as_bytes());
            blob.expect("a blob")
        });
        Bench {
            _dir: dir,
            repo,
            blob,
            other,
        }
    }

    impl Bench {
        /// `ops/` with these files, written in one go in one of the layouts.
        fn laid_out<'n>(&self, names: impl IntoIterator<Item = &'n String>, spread: bool) -> Oid {
            let places = names.into_iter().map(|name| Operations.place(name, spread));
            self.tree(places)
        }

        fn tree(&self, places: impl Iterator<Item = String>) -> Oid {
            let edits = places.map(|place| (place, Some(Entry::blob(self.blob.clone()))));
            self.repo.edit_tree(None, &edits.collect()).expect("a tree")
        }

        fn expected(&self, names: &BTreeSet<String>) -> Oid {
            self.laid_out(names, Operations.is_spread(names.len()))
        }

        fn folder(&self, ops: &Oid) -> Oid {
            let edits = BTreeMap::from([("ops".to_owned(), Some(Entry::tree(ops.clone())))]);
            self.repo.edit_tree(None, &edits).expect("a tree")
        }

        fn fault(&self, ops: &Oid) -> Option<Fault> {
            fault(&self.repo, &self.folder(ops)).expect("readable")
        }
    }

    fn name(seq: usize) -> String {
        format!("{seq:08}-01arz3ndektsv4rrffq69g5{:03}.json", seq % 7)
    }

    fn first(count: usize) -> BTreeSet<String> {
        (1..=count).map(name).collect()
    }

    #[test]
    fn the_tree_follows_from_the_set_of_names() {
        let bench = bench();
        let mut seed = 5;
        for round in 0..30 {
            let mut ops = None;
            let mut now = BTreeSet::new();
            for _ in 0..14 {
                let mut edits = BTreeMap::new();
                for _ in 0..random(&mut seed, 24) {
                    let mut name = name(random(&mut seed, 320));
                    if random(&mut seed, 4) == 0 {
                        name.push_str(".sig");
                    }
                    // Only signatures are ever taken away, by a repair.
                    let entry = match random(&mut seed, 5) {
                        0 => None,
                        _ => Some(Entry::blob(bench.blob.clone())),
                    };
                    match entry {
                        None => now.remove(&name),
                        Some(_) => now.insert(name.clone()),
                    };
                    edits.insert(name, entry);
                }
                let edited = edit(&bench.repo, ops.as_ref(), &edits).expect("edited");
                if now.is_empty() {
                    assert_eq!(edited, bench.repo.empty_tree().expect("a tree"))
                } else {
                    assert_eq!(edited, bench.expected(&now), "round {round}")
                }
                assert_eq!(names(&bench.repo, &edited).expect("readable"), now);
                ops = Some(edited);
            }
        }
    }

    #[test]
    fn both_layouts_are_read_in_the_order_of_the_operations() {
        let bench = bench();
        for count in [1, 99, Operations.limit(), Operations.limit() + 1, 450] {
            let expected = first(count);
            for spread in [false, true] {
                let ops = bench.laid_out(&expected, spread);
                let found = files(&bench.repo, &ops).expect("readable").into_iter();
                let found: Vec<String> = found.map(|held| held.name).collect();
                assert!(found.iter().eq(&expected), "{count} {spread}");
                let folder = bench.folder(&ops);
                for name in &expected {
                    let there = blob(&bench.repo, &folder, name).expect("readable");
                    assert_eq!(there.as_ref(), Some(&bench.blob));
                }
                let none = blob(&bench.repo, &folder, &name(count + 1)).expect("readable");
                assert_eq!(none, None);
                if spread == Operations.is_spread(count) {
                    assert_eq!(bench.fault(&ops), None)
                } else {
                    assert!(matches!(bench.fault(&ops), Some(Fault::Unfitting(_))))
                }
                let right = bench.folder(&bench.expected(&expected));
                assert_eq!(arranged(&bench.repo, &folder).expect("arranged"), right);
            }
        }
    }

    #[test]
    fn what_an_older_program_wrote_moves_with_the_next_operation() {
        let bench = bench();
        let ops = bench.laid_out(&first(450), false);
        let next = BTreeMap::from([(name(451), Some(Entry::blob(bench.blob.clone())))]);
        let moved = edit(&bench.repo, Some(&ops), &next).expect("edited");
        assert_eq!(moved, bench.expected(&first(451)));
        let trees = bench.repo.list_tree(&moved).expect("readable").into_iter();
        let folders: Vec<String> = trees.map(|(name, _)| name).collect();
        let expected = ["+000000", "+000001", "+000002", "+000003", "+000004"];
        assert_eq!(folders, expected);
    }

    #[test]
    fn what_lies_wrong_is_named_read_once_and_put_right() {
        let bench = bench();
        let names = first(250);
        let right = bench.laid_out(&names, true);
        let one = name(7);
        let (blob, other) = (
            Entry::blob(bench.blob.clone()),
            Entry::blob(bench.other.clone()),
        );
        let moved = BTreeMap::from([
            (Operations.place(&one, true), None),
            (format!("+000001/{one}"), Some(blob.clone())),
        ]);
        let twice = BTreeMap::from([(format!("+000001/{one}"), Some(other))]);
        let beside = BTreeMap::from([(one.clone(), Some(blob))]);
        for edits in [moved, twice, beside] {
            let wrong = bench.repo.edit_tree(Some(&right), &edits).expect("a tree");
            let fault = bench.fault(&wrong);
            assert!(matches!(fault, Some(Fault::Misplaced(_))), "{fault:?}");
            let found = files(&bench.repo, &wrong).expect("readable");
            assert_eq!(found.len(), 250);
            assert!(found.iter().all(|held| held.entry.id == bench.blob));
            let mended = arranged(&bench.repo, &bench.folder(&wrong)).expect("arranged");
            assert_eq!(mended, bench.folder(&right));
        }
    }

    #[test]
    fn an_empty_folder_is_no_layout() {
        let bench = bench();
        let right = bench.laid_out(&first(250), true);
        let empty = bench.repo.empty_tree().expect("a tree");
        let edits = BTreeMap::from([("+000009".to_owned(), Some(Entry::tree(empty)))]);
        let wrong = bench.repo.edit_tree(Some(&right), &edits).expect("a tree");
        let fault = bench.fault(&wrong);
        assert!(matches!(fault, Some(Fault::Misplaced(_))), "{fault:?}");
        let mended = arranged(&bench.repo, &bench.folder(&wrong)).expect("arranged");
        assert_eq!(mended, bench.folder(&right));
    }
}
