//! What a state of the branch holds beside its sessions: the months of the journal, and the format that it says
//! it is of.

use super::shelf::Held;
use super::{EARLIER, FORMAT, Snapshot, layout, loss, ops};
use crate::core::failure::Result;
use crate::core::id::{Oid, OpId};
use crate::core::op::{Body, Operation};
use crate::core::signature::SUFFIX;
use crate::git::{EntryKind, Repo};
use std::collections::{BTreeMap, HashSet};

impl Snapshot<'_> {
    /// The months of the journal, and where their records lie.
    fn journals(&self) -> Result<Vec<(String, Oid)>> {
        let Some(entry) = self.repo.entry_at(&self.tree, layout::JOURNAL)? else {
            return Ok(Vec::new());
        };
        let mut found = Vec::new();
        for (month, entry) in self.repo.list_tree(self.folder(layout::JOURNAL, &entry)?)? {
            let place = format!("{}/{}", layout::journal(&month), layout::OPS);
            let folder = self.folder(&layout::journal(&month), &entry)?;
            if let Some(ops) = self.repo.entry_at(folder, layout::OPS)? {
                found.push((place.clone(), self.folder(&place, &ops)?.clone()));
            }
        }
        Ok(found)
    }

    /// The records of the journal, by the folder of each month. A damaged one is given as its failure: it hides
    /// no other.
    pub fn journal(&self) -> Result<Vec<(String, Result<Operation>)>> {
        let mut found = Vec::new();
        for (place, ops) in self.journals()? {
            for held in ops::files(self.repo, &ops)? {
                if held.name.ends_with(SUFFIX) {
                    continue;
                }
                let label = format!("{place}/{}", held.place);
                found.push((place.clone(), ops::read_one(self.repo, &held, &label)));
            }
        }
        Ok(found)
    }

    /// What is wrong with a branch that says an earlier format and has records of the present one.
    pub(super) fn format_fault(&self) -> Result<Option<String>> {
        let said = self.format()?;
        if !EARLIER.contains(&said.as_str()) {
            return Ok(None);
        }
        let is_later = |name: &String| {
            let id = name.split_once('-').map(|(_, id)| id.len());
            id.is_some_and(|len| len >= 40 + ".json".len())
        };
        let sessions = self.session_folders(true)?.into_iter();
        let sessions = sessions.map(|(_, folder)| folder.entry);
        let journals = loss::others(self.repo, &self.tree)?.into_values();
        for entry in sessions.chain(journals) {
            if let Ok(records) = loss::Records::of(self.repo, Some(&entry))
                && records.names().any(is_later)
            {
                return Ok(Some(format!(
                    "says {said}, and there are records of format {FORMAT}: an older program would repair them away"
                )));
            }
        }
        Ok(None)
    }

    /// The largest number in the journal of a month, and the records that have it. Nothing is read for it but
    /// names: a journal only grows.
    pub fn journal_newest(&self, month: &str) -> Result<(u64, Vec<OpId>)> {
        let place = format!("{}/{}", layout::journal(month), layout::OPS);
        let Some(entry) = self.repo.entry_at(&self.tree, &place)? else {
            return Ok((0, Vec::new()));
        };
        let mut newest = (0, Vec::new());
        for held in ops::files(self.repo, self.folder(&place, &entry)?)? {
            let Some((seq, id)) = held.name.trim_end_matches(".json").split_once('-') else {
                continue;
            };
            let (Ok(seq), Ok(id)) = (seq.parse::<u64>(), OpId::parse(id)) else {
                continue;
            };
            match seq.cmp(&newest.0) {
                std::cmp::Ordering::Greater => newest = (seq, vec![id]),
                std::cmp::Ordering::Equal => newest.1.push(id),
                std::cmp::Ordering::Less => {}
            }
        }
        Ok(newest)
    }

    /// What is wrong with the journal beyond what lies in `known` too: a record that is not what its name
    /// says, or that belongs elsewhere. By the folder of the records.
    pub(super) fn journal_faults(&self, known: &[&Snapshot<'_>]) -> Result<Vec<(String, String)>> {
        let mut judged: HashSet<(String, Oid)> = HashSet::new();
        for other in known {
            for (_, ops) in other.journals()? {
                let held = ops::files(self.repo, &ops)?.into_iter();
                judged.extend(held.map(|held| (held.name, held.entry.id)));
            }
        }
        let mut found = Vec::new();
        for (place, ops) in self.journals()? {
            for held in ops::files(self.repo, &ops)? {
                if judged.contains(&(held.name.clone(), held.entry.id.clone())) {
                    continue;
                }
                if let Some(what) = journal_fault(self.repo, &place, &held) {
                    found.push((place.clone(), what));
                }
            }
        }
        Ok(found)
    }

    /// The records of a month of the journal with what is wrong taken out, and what is whole in history put
    /// back.
    pub(super) fn journal_mended(&self, place: &str) -> Result<Oid> {
        let mut whole = BTreeMap::new();
        let mut trees = HashSet::new();
        for commit in self.repo.range(&self.commit, &[], usize::MAX)? {
            let tree = self.repo.commit_info(&commit)?.tree;
            let Some(ops) = self.repo.entry_at(&tree, place)? else {
                continue;
            };
            if ops.kind != EntryKind::Tree || !trees.insert(ops.id.clone()) {
                continue;
            }
            for held in ops::files(self.repo, &ops.id)? {
                if journal_fault(self.repo, place, &held).is_none() {
                    whole.insert(held.name, Some(held.entry));
                }
            }
        }
        ops::edit(self.repo, None, &whole)
    }
}

/// What is wrong with one file of the journal.
fn journal_fault(repo: &Repo, place: &str, held: &Held) -> Option<String> {
    if held.name.ends_with(SUFFIX) {
        return None;
    }
    let label = format!("{place}/{}", held.place);
    let entity = place.trim_end_matches(&format!("/{}", layout::OPS));
    match ops::read_one(repo, held, &label) {
        Err(failure) => Some(failure.message),
        Ok(op) if op.entity.as_deref() == Some(entity) => match op.body {
            Body::Session(_) => Some(format!(
                "the record {} is of the topic `{}`, and a journal has none",
                held.name,
                op.body.topic()
            )),
            _ => None,
        },
        Ok(op) => {
            let of = op.entity.as_deref().unwrap_or("a session");
            Some(format!("the record {} belongs to {of}", held.name))
        }
    }
}
