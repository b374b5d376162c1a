//! Reading trees: one name, some names, all of them.
//!
//! libgit2 keeps no tree above 4 KiB in its cache: each look-up below a folder of a thousand specs would
//! inflate that folder again. So large trees are kept here from the first time they are read, by their
//! ids, so that none can be stale; a name is looked up in them by halving.

use super::objects::{Entry, EntryKind, RawEntry, binary};
use super::repo::Repo;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::id::Oid;
use loopx_base::tree_name;
use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::{HashMap, VecDeque};

/// Size in bytes from which on libgit2 keeps no tree.
const LARGE: usize = 4096;

/// Large trees that are kept; the oldest goes first.
const KEPT: usize = 16;

/// The large trees that were read, oldest first.
#[derive(Default)]
pub(super) struct LargeTrees(RefCell<VecDeque<Kept>>);

struct Kept {
    id: Oid,
    bytes: Vec<u8>,
    /// Offsets of the tree's entries.
    starts: Vec<usize>,
}

impl Repo {
    /// The entry of this name in a tree.
    pub(super) fn entry_named(&self, tree: &Oid, name: &str) -> Result<Option<Entry>> {
        self.with_tree(tree, |tree| tree.named(name))
    }

    /// Entries of one tree, by name: the tree is read once.
    pub fn entries<const N: usize>(
        &self,
        tree: &Oid,
        names: [&str; N],
    ) -> Result<[Option<Entry>; N]> {
        self.with_tree(tree, |tree| {
            let mut found = [const { None }; N];
            for (slot, name) in found.iter_mut().zip(names) {
                *slot = tree.named(name)?;
            }
            Ok(found)
        })
    }

    /// The entries of a tree, in git's order.
    pub fn list_tree(&self, tree: &Oid) -> Result<Vec<(String, Entry)>> {
        self.with_tree(tree, |tree| {
            tree.entries()
                .map(|entry| {
                    let entry = entry?;
                    let name = String::from_utf8_lossy(entry.name).into_owned();
                    Ok((name, entry.owned()?))
                })
                .collect()
        })
    }

    /// Shows the folders of a tree by their names and the bytes of their ids, and copies nothing.
    pub fn each_folder(&self, tree: &Oid, visit: &mut dyn FnMut(&str, &[u8])) -> Result<()> {
        let visit = RefCell::new(visit);
        self.with_tree(tree, |tree| {
            for entry in tree.entries() {
                let entry = entry?;
                if entry.kind() == EntryKind::Tree {
                    (visit.borrow_mut())(&String::from_utf8_lossy(entry.name), entry.id);
                }
            }
            Ok(())
        })
    }

    /// The entries of a tree as they are stored.
    pub fn raw_entries(&self, tree: &Oid) -> Result<Vec<RawEntry>> {
        self.with_tree(tree, |tree| {
            let entries = tree.entries().map(|entry| {
                let entry = entry?;
                Ok(RawEntry {
                    mode: entry.mode.to_vec(),
                    name: entry.name.to_vec(),
                    id: Oid::of_bytes(entry.id)?,
                })
            });
            entries.collect()
        })
    }

    /// The entry at a path below a tree, as it is stored.
    pub fn raw_entry_at(&self, tree: &Oid, path: &str) -> Result<Option<RawEntry>> {
        let (folder, name) = match path.rsplit_once('/') {
            None => (Some(tree.clone()), path),
            Some((folder, name)) => {
                let folder = self.entry_at(tree, folder)?;
                let folder = folder.filter(|entry| entry.kind == EntryKind::Tree);
                (folder.map(|entry| entry.id), name)
            }
        };
        let Some(folder) = folder else {
            return Ok(None);
        };
        let mut held = self.raw_entries(&folder)?.into_iter();
        Ok(held.find(|entry| entry.name == name.as_bytes()))
    }

    /// Tells whether a name of this path is in its folder more than once, so that programs do not agree on what is
    /// there.
    pub fn has_twice(&self, tree: &Oid, path: &str) -> Result<bool> {
        let mut folder = Some(tree.clone());
        for name in path.split('/') {
            let Some(tree) = folder else { break };
            let named = self.with_tree(&tree, |tree| {
                let mut named = Vec::new();
                for entry in tree.entries() {
                    let entry = entry?;
                    if entry.name == name.as_bytes() {
                        named.push(entry.owned()?);
                    }
                }
                Ok(named)
            })?;
            if named.len() > 1 {
                return Ok(true);
            }
            let below = named
                .into_iter()
                .find(|entry| entry.kind == EntryKind::Tree);
            folder = below.map(|entry| entry.id);
        }
        Ok(false)
    }

    /// Counts the entries of a tree.
    pub fn tree_len(&self, tree: &Oid) -> Result<usize> {
        self.with_tree(tree, |tree| {
            let mut count = 0;
            for entry in tree.entries() {
                entry?;
                count += 1;
            }
            Ok(count)
        })
    }

    fn with_tree<T>(&self, id: &Oid, read: impl Fn(Tree<'_>) -> Result<T>) -> Result<T> {
        let id_length = id.as_str().len() / 2;
        let mut large = self.large_trees.0.borrow_mut();
        let at = match large.iter().position(|kept| kept.id == *id) {
            Some(at) => at,
            None => {
                let first = self.inner.with_tree(id, |bytes| match bytes.len() {
                    0..LARGE => Ok(read(Tree::new(bytes, &[], id_length))),
                    _ => Err(bytes.to_vec()),
                })?;
                let bytes = match first {
                    Ok(answer) => return answer,
                    Err(bytes) => bytes,
                };
                let starts = Tree::new(&bytes, &[], id_length)
                    .entries()
                    .map(|entry| Ok(entry?.start))
                    .collect::<Result<_>>()?;
                if large.len() == KEPT {
                    large.pop_front();
                }
                large.push_back(Kept {
                    id: id.clone(),
                    bytes,
                    starts,
                });
                large.len() - 1
            }
        };
        let kept = &large[at];
        read(Tree::new(&kept.bytes, &kept.starts, id_length))
    }
}

/// The ids in the bytes of a tree.
pub(super) fn ids(bytes: &[u8], id_length: usize) -> Result<Vec<Oid>> {
    let tree = Tree::new(bytes, &[], id_length);
    tree.entries()
        .map(|entry| Oid::of_bytes(entry?.id))
        .collect()
}

const PLAIN: u32 = 0o100_644;
const EXECUTABLE: u32 = 0o100_755;
const FOLDER: u32 = 0o040_000;

/// A tree that is being changed: mode and id of each entry, by its name.
#[derive(Default)]
pub(super) struct Draft(HashMap<Vec<u8>, (u32, Vec<u8>)>);

impl Draft {
    /// The entries that a tree has.
    pub(super) fn of(bytes: &[u8], id: &Oid) -> Result<Self> {
        let mut found = HashMap::new();
        for entry in Tree::new(bytes, &[], id.as_str().len() / 2).entries() {
            let entry = entry?;
            let mode = std::str::from_utf8(entry.mode).ok();
            let mode = mode.and_then(|mode| u32::from_str_radix(mode, 8).ok());
            let mode = mode.ok_or_else(damaged)?;
            found.insert(entry.name.to_vec(), (mode, entry.id.to_vec()));
        }
        Ok(Draft(found))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The folder of this name.
    pub(super) fn folder(&self, name: &str) -> Result<Option<Oid>> {
        let known = self.0.get(name.as_bytes());
        let known = known.filter(|(mode, _)| *mode == FOLDER);
        known.map(|(_, id)| Oid::of_bytes(id)).transpose()
    }

    /// Sets an entry, or takes it away.
    pub(super) fn set(&mut self, name: &str, entry: Option<&Entry>) -> Result<()> {
        let Some(entry) = entry else {
            self.0.remove(name.as_bytes());
            return Ok(());
        };
        if let Some(why) = tree_name::fault(name.as_bytes()) {
            let what = format!("the name `{}` {why}", name.escape_debug());
            return Err(Failure::refused(Code::TreeNameInvalid, what).help("rename it"));
        }
        let mode = match entry.kind {
            // A file that could be executed still can.
            EntryKind::Blob => match self.0.get(name.as_bytes()) {
                Some((EXECUTABLE, _)) => EXECUTABLE,
                _ => PLAIN,
            },
            EntryKind::Tree => FOLDER,
            EntryKind::Other => {
                return Err(invalid(format!("`{name}` is neither file nor folder")));
            }
        };
        let id = binary(&entry.id).collect();
        self.0.insert(name.as_bytes().to_vec(), (mode, id));
        Ok(())
    }

    /// The tree's bytes.
    pub(super) fn bytes(&self) -> Vec<u8> {
        // git sorts a folder as if its name ended in a slash.
        let mut sorted: Vec<_> = self.0.iter().collect();
        sorted.sort_by_cached_key(|(name, (mode, _))| {
            let mut key = (*name).clone();
            key.extend((*mode == FOLDER).then_some(b'/'));
            key
        });
        let mut bytes = Vec::new();
        for (name, (mode, id)) in sorted {
            bytes.extend(format!("{mode:o} ").into_bytes());
            bytes.extend(name);
            bytes.push(0);
            bytes.extend(id);
        }
        bytes
    }
}

fn invalid(what: String) -> Failure {
    Failure::internal(Code::TreeEntryInvalid, what)
}

fn damaged() -> Failure {
    Failure::internal(Code::GitFailed, "a tree object is damaged").help("git fsck")
}

/// A tree object as it is stored.
#[derive(Clone, Copy)]
struct Tree<'t> {
    bytes: &'t [u8],
    /// Offsets of the tree's entries, where they are known.
    starts: &'t [usize],
    id_length: usize,
}

/// Entry of a stored tree.
struct Stored<'t> {
    start: usize,
    mode: &'t [u8],
    name: &'t [u8],
    id: &'t [u8],
}

impl<'t> Tree<'t> {
    fn new(bytes: &'t [u8], starts: &'t [usize], id_length: usize) -> Self {
        Tree {
            bytes,
            starts,
            id_length,
        }
    }

    fn entries(self) -> impl Iterator<Item = Result<Stored<'t>>> {
        let mut start = 0;
        std::iter::from_fn(move || {
            if start == self.bytes.len() {
                return None;
            }
            let entry = self.entry(start);
            start = match &entry {
                Ok(entry) => start + entry.mode.len() + entry.name.len() + 2 + self.id_length,
                Err(_) => self.bytes.len(),
            };
            Some(entry)
        })
    }

    fn entry(self, start: usize) -> Result<Stored<'t>> {
        let read = || {
            let rest = self.bytes.get(start..)?;
            let (mode, rest) = rest.split_at(rest.iter().position(|byte| *byte == b' ')?);
            let rest = &rest[1..];
            let (name, rest) = rest.split_at(rest.iter().position(|byte| *byte == 0)?);
            let id = rest.get(1..=self.id_length)?;
            (!name.is_empty()).then_some(Stored {
                start,
                mode,
                name,
                id,
            })
        };
        read().ok_or_else(damaged)
    }

    fn named(self, name: &str) -> Result<Option<Entry>> {
        let name = name.as_bytes();
        if self.starts.is_empty() {
            for entry in self.entries() {
                let entry = entry?;
                if entry.name == name {
                    return entry.owned().map(Some);
                }
            }
            return Ok(None);
        }
        // Where a name stands depends on what it is.
        for suffix in [&b""[..], b"/"] {
            let (mut low, mut high) = (0, self.starts.len());
            while low < high {
                let middle = low.midpoint(high);
                let entry = self.entry(self.starts[middle])?;
                match entry.order(name, suffix) {
                    Ordering::Less => low = middle + 1,
                    Ordering::Greater => high = middle,
                    // A name with a slash at its end is none.
                    Ordering::Equal if entry.name != name => return Ok(None),
                    Ordering::Equal => return entry.owned().map(Some),
                }
            }
        }
        Ok(None)
    }
}

impl Stored<'_> {
    fn kind(&self) -> EntryKind {
        match self.mode {
            b"40000" | b"040000" => EntryKind::Tree,
            b"160000" => EntryKind::Other,
            _ => EntryKind::Blob,
        }
    }

    fn owned(&self) -> Result<Entry> {
        Ok(Entry {
            id: Oid::of_bytes(self.id)?,
            kind: self.kind(),
        })
    }

    /// git sorts a folder as if its name ended in a slash.
    fn order(&self, name: &[u8], suffix: &[u8]) -> Ordering {
        let own: &[u8] = match self.kind() {
            EntryKind::Tree => b"/",
            EntryKind::Blob | EntryKind::Other => b"",
        };
        let own = self.name.iter().chain(own);
        own.cmp(name.iter().chain(suffix))
    }
}

#[cfg(test)]
mod tests {
    use super::{EntryKind, Tree};
    use std::collections::BTreeMap;

    /// A tree of these names, as git orders them.
    fn bytes(entries: &[(&str, &str)]) -> Vec<u8> {
        let key = |mode: &str, name: &str| match mode {
            "40000" => format!("{name}/"),
            _ => name.to_owned(),
        };
        let sorted: BTreeMap<String, (&str, &str)> = entries
            .iter()
            .map(|(mode, name)| (key(mode, name), (*mode, *name)))
            .collect();
        let mut bytes = Vec::new();
        for (mode, name) in sorted.into_values() {
            bytes.extend(format!("{mode} {name}\0").into_bytes());
            bytes.extend([7; 20]);
        }
        bytes
    }

    fn found(bytes: &[u8], name: &str) -> [Option<EntryKind>; 2] {
        let mut tree = Tree::new(bytes, &[], 20);
        let find = |tree: Tree<'_>| {
            let found = tree.named(name).expect("a whole tree");
            found.map(|entry| entry.kind)
        };
        let scanned = find(tree);
        let starts: Vec<usize> = tree
            .entries()
            .map(|entry| entry.expect("a whole tree").start)
            .collect();
        tree.starts = &starts;
        [scanned, find(tree)]
    }

    #[test]
    fn scanning_and_halving_find_the_same() {
        let entries = [
            ("100644", "a"),
            ("100644", "a-b"),
            ("100644", "a.b"),
            ("40000", "b"),
            ("100755", "b-c"),
            ("100644", "b.c"),
            ("100644", "b0"),
            ("120000", "link"),
            ("160000", "sub"),
            ("40000", "sub-folder"),
        ];
        let tree = bytes(&entries);
        for (mode, name) in entries {
            let kind = match mode {
                "40000" => EntryKind::Tree,
                "160000" => EntryKind::Other,
                _ => EntryKind::Blob,
            };
            assert_eq!(found(&tree, name), [Some(kind); 2], "{name}");
        }
        for name in ["", "0", "a-", "a/", "b/", "c", "sub/", "sub-", "zz"] {
            assert_eq!(found(&tree, name), [None; 2], "{name}");
        }
    }

    #[test]
    fn a_tree_that_was_cut_off_is_an_error() {
        let whole = bytes(&[("100644", "name")]);
        for length in 1..whole.len() {
            let tree = Tree::new(&whole[..length], &[], 20);
            assert!(tree.named("name").is_err(), "{length} bytes");
        }
    }
}
