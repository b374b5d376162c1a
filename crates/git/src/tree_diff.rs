//! The paths of files that differ between two trees. What both have is not read: libgit2's own comparison
//! walks every tree to its leaves, also where nothing below it changed.

use loopx_base::failure::Result;
use loopx_base::tree_change::{Change, Mode};
use std::collections::BTreeMap;

const TREE: i32 = 0o040_000;
const LINK: i32 = 0o120_000;
const SUBMODULE: i32 = 0o160_000;
const EXECUTE: i32 = 0o111;

/// Tree entry: the id of its object, and its mode as it stands there.
type Item = (git2::Oid, i32);

/// Paths that differ, sorted, and lossy where a path is not UTF-8. `None` is a tree with nothing in it.
pub(super) fn differing<'r>(
    find_tree: impl Fn(git2::Oid) -> Result<git2::Tree<'r>>,
    old: Option<git2::Oid>,
    new: Option<git2::Oid>,
) -> Result<Vec<String>> {
    let found = changes(find_tree, old, new)?.into_iter();
    Ok(found.map(|change| change.path).collect())
}

/// Changes between two trees: each path that differs, with what each side has there.
pub(super) fn changes<'r>(
    find_tree: impl Fn(git2::Oid) -> Result<git2::Tree<'r>>,
    old: Option<git2::Oid>,
    new: Option<git2::Oid>,
) -> Result<Vec<Change>> {
    let mut found: Vec<(Vec<u8>, [Option<Mode>; 2])> = Vec::new();
    let mut folders = vec![(Vec::new(), [old, new])];
    while let Some((folder, sides)) = folders.pop() {
        if sides[0] == sides[1] {
            continue;
        }
        let mut entries: BTreeMap<Vec<u8>, [Option<Item>; 2]> = BTreeMap::new();
        for (side, id) in sides.into_iter().enumerate() {
            let Some(id) = id else { continue };
            for entry in &find_tree(id)? {
                let both = entries.entry(entry.name_bytes().to_vec()).or_default();
                both[side] = Some((entry.id(), entry.filemode_raw()));
            }
        }
        for (name, both) in entries {
            if both[0] == both[1] {
                continue;
            }
            let trees = both.map(|item| item.filter(|(_, mode)| *mode == TREE).map(|(id, _)| id));
            let has_file = (0..2).any(|side| both[side].is_some() && trees[side].is_none());
            let mut path = [folder.as_slice(), &name].concat();
            if has_file {
                found.push((path.clone(), both.map(mode)));
            }
            path.push(b'/');
            folders.push((path, trees));
        }
    }
    found.sort_by(|one, other| one.0.cmp(&other.0));
    let change = |(path, [old, new]): (Vec<u8>, [Option<Mode>; 2])| Change {
        path: String::from_utf8_lossy(&path).into_owned(),
        old,
        new,
    };
    Ok(found.into_iter().map(change).collect())
}

/// Mode of an entry; a folder has none of its own.
fn mode(item: Option<Item>) -> Option<Mode> {
    match item?.1 {
        TREE => None,
        LINK => Some(Mode::Link),
        SUBMODULE => Some(Mode::Submodule),
        mode if mode & EXECUTE != 0 => Some(Mode::Executable),
        _ => Some(Mode::Plain),
    }
}
