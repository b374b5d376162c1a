//! Looking one name up in a tree, many times over.
//!
//! libgit2 keeps no tree above 4 KiB in its cache: each look-up below a folder of a thousand specs would
//! inflate that folder again. A large tree that is asked twice is kept here, by its id, so that it cannot
//! be stale.

use super::objects::{Entry, owned};
use super::repo::{Repo, oid};
use crate::core::failure::Result;
use crate::core::id::Oid;
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};

/// From this many entries on a tree outgrows libgit2's cache.
const LARGE: usize = 90;

/// Large trees that are kept; the oldest goes first.
const KEPT: usize = 4;

/// The large trees that were asked, oldest first; without names until they are asked again.
#[derive(Default)]
pub(super) struct LargeTrees(RefCell<VecDeque<(Oid, Option<Names>)>>);

type Names = HashMap<String, Entry>;

impl Repo {
    /// The entry of this name in a tree.
    pub(super) fn entry_named(&self, tree: &Oid, name: &str) -> Result<Option<Entry>> {
        let mut large = self.large_trees.0.borrow_mut();
        let seen = large.iter().position(|(id, _)| id == tree);
        if let Some((_, Some(names))) = seen.and_then(|at| large.get(at)) {
            return Ok(names.get(name).cloned());
        }
        let read = self.tree(tree)?;
        if let Some(at) = seen {
            let mut names = Names::with_capacity(read.len());
            for entry in &read {
                if let Ok(name) = entry.name() {
                    names.insert(name.to_owned(), owned(entry.id(), entry.kind())?);
                }
            }
            let found = names.get(name).cloned();
            large[at].1 = Some(names);
            return Ok(found);
        }
        if read.len() >= LARGE {
            if large.len() == KEPT {
                large.pop_front();
            }
            large.push_back((oid(read.id())?, None));
        }
        read.get_name(name)
            .map(|entry| owned(entry.id(), entry.kind()))
            .transpose()
    }
}
