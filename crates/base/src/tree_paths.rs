//! The number of paths in a tree. A folder that stands in many places is stored once and counts at each: ten folders of
//! ten, six deep, are a million paths in a few hundred bytes, and whoever lists them does not end.

use super::id::Oid;
use std::collections::HashMap;

/// The most paths of a tree that anybody lists.
pub const MOST: u64 = 10_000_000;

/// Words for a tree with more paths.
pub const FAULT: &str = "has more than 10,000,000 paths";

/// Counts the paths below trees that are told of; others count nothing.
#[derive(Debug, Default)]
pub struct PathCount {
    told: HashMap<Oid, (u64, Vec<Oid>)>,
    known: HashMap<Oid, u64>,
}

impl PathCount {
    /// Tells what a tree has: how many entries, and which folders are among them, once for each place.
    pub fn tell(&mut self, tree: &Oid, entries: usize, folders: Vec<Oid>) {
        let entries = u64::try_from(entries).unwrap_or(u64::MAX);
        self.told.insert(tree.clone(), (entries, folders));
    }

    /// The paths below a tree.
    pub fn below(&mut self, root: &Oid) -> u64 {
        let mut next = vec![(root.clone(), false)];
        while let Some((tree, is_counted_below)) = next.pop() {
            let Some((entries, folders)) = self.told.get(&tree) else {
                continue;
            };
            if self.known.contains_key(&tree) {
                continue;
            }
            if is_counted_below {
                let below = folders.iter().filter_map(|folder| self.known.get(folder));
                let all = below.fold(*entries, |sum, count| sum.saturating_add(*count));
                self.known.insert(tree, all);
            } else {
                next.push((tree.clone(), true));
                next.extend(folders.iter().map(|folder| (folder.clone(), false)));
            }
        }
        self.known.get(root).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::PathCount;
    use crate::id::Oid;

    #[test]
    fn a_folder_counts_at_each_of_its_places() {
        let oid = |n: usize| Oid::parse(&format!("{n:040x}")).expect("an id");
        let mut count = PathCount::default();
        count.tell(&oid(0), 10, Vec::new());
        for depth in 1..=30 {
            count.tell(&oid(depth), 10, vec![oid(depth - 1); 10]);
        }
        assert_eq!(count.below(&oid(0)), 10);
        assert_eq!(count.below(&oid(2)), 10 + 10 * (10 + 100));
        assert_eq!(count.below(&oid(30)), u64::MAX);
        // What is not told of is somebody else's.
        count.tell(&oid(99), 2, vec![oid(98)]);
        assert_eq!(count.below(&oid(99)), 2);
    }
}
