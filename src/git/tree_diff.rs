//! The paths of files that differ between two trees. What both have is not read: libgit2's own comparison
//! walks every tree to its leaves, also where nothing below it changed.

use crate::core::failure::Result;
use std::collections::BTreeMap;

const TREE: i32 = 0o040_000;

/// A tree entry: what it names, and its mode as it stands there.
type Item = (git2::Oid, i32);

/// Sorted by path, lossy where a path is not UTF-8. `None` is a tree with nothing in it.
pub(super) fn differing<'r>(
    find_tree: impl Fn(git2::Oid) -> Result<git2::Tree<'r>>,
    old: Option<git2::Oid>,
    new: Option<git2::Oid>,
) -> Result<Vec<String>> {
    let mut found = Vec::new();
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
                found.push(path.clone());
            }
            path.push(b'/');
            folders.push((path, trees));
        }
    }
    found.sort();
    let lossy = |path: &Vec<u8>| String::from_utf8_lossy(path).into_owned();
    Ok(found.iter().map(lossy).collect())
}
