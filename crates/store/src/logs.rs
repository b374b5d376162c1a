//! The contents of the branch beside its sessions: the logs of journals and of whatever only a newer program knows, and
//! the format that it says it is of.

use super::fanout_folder::{self, Fault, Held};
use super::journal::split;
use super::{EARLIER, FORMAT, Snapshot, fanout, layout, loss, ops, stray};
use loopx_base::failure::Result;
use loopx_base::fanout::Fanout;
use loopx_base::id::Oid;
use loopx_git::{Entry, EntryKind, Repo};
use loopx_rules::issue::event::IssueEvent;
use loopx_rules::note::Note;
use loopx_rules::op::Operation;
use loopx_rules::signature::SUFFIX;
use loopx_rules::topic::Topic;
use loopx_rules::words::Word;
use std::collections::{BTreeMap, HashSet};

impl Snapshot<'_> {
    /// The months of the journal, oldest first, and where their records lie.
    pub(super) fn journals(&self) -> Result<Vec<(String, Oid)>> {
        let Some(entry) = self.repo.entry_at(&self.tree, layout::JOURNAL)? else {
            return Ok(Vec::new());
        };
        let mut found = Vec::new();
        for (month, entry) in self.repo.list_tree(self.folder(layout::JOURNAL, &entry)?)? {
            // A file of another name is not ours to read.
            if entry.kind != EntryKind::Tree && !stray::is_month(&month) {
                continue;
            }
            let place = format!("{}/{}", layout::journal(&month), layout::OPS);
            let folder = self.folder(&layout::journal(&month), &entry)?;
            if let Some(ops) = self.repo.entry_at(folder, layout::OPS)? {
                found.push((month, (place.clone(), self.folder(&place, &ops)?.clone())));
            }
        }
        // git has the second part of a month before the first.
        found.sort_by(|(one, _), (other, _)| split(one).cmp(&split(other)));
        Ok(found.into_iter().map(|(_, journal)| journal).collect())
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

    /// Fault of a branch that says an earlier format and has records of the present one.
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
                    "says {said}, and there are records of format {FORMAT}: an older program would remove them as damage"
                )));
            }
        }
        Ok(None)
    }

    /// The logs of what is no session, of journals and of whatever only a newer program knows, by the folder of
    /// their records.
    fn logs(&self) -> Result<BTreeMap<String, Oid>> {
        let mut found = BTreeMap::new();
        for (entity, entry) in loss::others(self.repo, &self.tree)? {
            let place = format!("{entity}/{}", layout::OPS);
            if let Some(ops) = self.repo.entry_at(&entry.id, layout::OPS)? {
                found.insert(place.clone(), self.folder(&place, &ops)?.clone());
            }
        }
        Ok(found)
    }

    /// Faults of the logs of journals, issues and other entities, beyond those that `known` has too: a record that
    /// differs from what its name says, that belongs elsewhere, or whose past is not there. By the folder of the
    /// records.
    pub(super) fn log_faults(&self, known: &[&Snapshot<'_>]) -> Result<Vec<(String, String)>> {
        let mut found = Vec::new();
        let before: Vec<BTreeMap<String, Oid>> = known
            .iter()
            .map(|other| other.logs())
            .collect::<Result<_>>()?;
        for (place, ops) in self.logs()? {
            let before: Vec<&Oid> = before.iter().filter_map(|logs| logs.get(&place)).collect();
            if before.contains(&&ops) {
                continue;
            }
            let mut judged: HashSet<(String, Oid)> = HashSet::new();
            for other in before {
                let held = ops::files(self.repo, other)?.into_iter();
                judged.extend(held.map(|held| (held.name, held.entry.id)));
            }
            if kind_of(&place).is_some() {
                found.extend(self.strays_of_records(&place, &ops, known)?);
                let signed = ops::files(self.repo, &ops)?.into_iter();
                let mut signed = signed.filter(|held| held.name.ends_with(SUFFIX));
                let is_new =
                    |held: &Held| !judged.contains(&(held.name.clone(), held.entry.id.clone()));
                if let Some(held) = signed.find(is_new) {
                    let what = format!("{} is a signature of a record that takes none", held.name);
                    found.push((place.clone(), what));
                }
            }
            let log = Log::of(self.repo, &place, &ops)?;
            for held in &log.files {
                if !judged.contains(&(held.name.clone(), held.entry.id.clone()))
                    && let Some(what) = log.fault(self.repo, held)
                {
                    found.push((place.clone(), what));
                }
            }
        }
        found.extend(self.strays_of_logs(known)?);
        let folders = |of: &Snapshot<'_>| of.repo.entries(&of.tree, stray::FOLDERS);
        let now = folders(self)?;
        let mut wrong = Vec::new();
        let before: Vec<_> = known
            .iter()
            .map(|other| folders(other))
            .collect::<Result<_>>()?;
        if !before.contains(&now) {
            wrong = stray::misplaced(self.repo, &self.tree)?;
        }
        for other in known {
            if wrong.is_empty() {
                break;
            }
            let had = stray::misplaced(other.repo, &other.tree)?;
            wrong.retain(|one| !had.contains(one));
        }
        let wrong = wrong.into_iter();
        found.extend(wrong.map(|(place, what)| (place, what.to_owned())));
        Ok(found)
    }

    /// The first entry among the records of an issue or of a month of the journal that is none, or that lies where
    /// nobody finds it, beyond what lies in `known` too.
    fn strays_of_records(
        &self,
        place: &str,
        ops: &Oid,
        known: &[&Snapshot<'_>],
    ) -> Result<Option<(String, String)>> {
        let mut strays = stray::below_records(self.repo, ops, &[])?;
        if let Some(Fault::Misplaced(what)) =
            fanout_folder::faults(self.repo, Fanout::Operations, ops)?
        {
            strays.push(what);
        }
        if strays.is_empty() || !Log::of(self.repo, place, ops)?.is_understood(self.repo) {
            return Ok(None);
        }
        for other in known {
            if let Some(had) = other.logs()?.get(place) {
                let had = stray::below_records(other.repo, had, &[])?;
                strays.retain(|stray| !had.contains(stray));
            }
        }
        let first = strays.first();
        Ok(first.map(|stray| (place.to_owned(), format!("{stray}: no record names it"))))
    }

    /// Files of an issue or a month of the journal beside the records, beyond what lies in `known` too, by their paths.
    /// What only a newer program understands may have such files.
    fn strays_of_logs(&self, known: &[&Snapshot<'_>]) -> Result<Vec<(String, String)>> {
        let before: Vec<BTreeMap<String, Entry>> = known
            .iter()
            .map(|other| loss::others(other.repo, &other.tree))
            .collect::<Result<_>>()?;
        let mut found = Vec::new();
        for (entity, entry) in loss::others(self.repo, &self.tree)? {
            let place = format!("{entity}/{}", layout::OPS);
            let had = || before.iter().filter_map(|others| others.get(&entity));
            if kind_of(&place).is_none() || had().any(|had| *had == entry) {
                continue;
            }
            let mut strays = self.repo.list_tree(&entry.id)?;
            let ops = strays.iter().position(|(name, _)| name == layout::OPS);
            let ops = ops.map(|at| strays.remove(at));
            for had in had() {
                let had = self.repo.list_tree(&had.id)?;
                strays.retain(|stray| !had.contains(stray));
            }
            let (Some((_, ops)), false) = (ops, strays.is_empty()) else {
                continue;
            };
            if Log::of(self.repo, &place, &ops.id)?.is_understood(self.repo) {
                let strays = strays.into_iter();
                found.extend(strays.map(|(name, _)| {
                    let what = "no record names it".to_owned();
                    (format!("{entity}/{name}"), what)
                }));
            }
        }
        Ok(found)
    }

    /// Records of a log without the faulty ones, and with those put back that history has whole.
    pub(super) fn log_mended(&self, place: &str) -> Result<Oid> {
        let mut whole = BTreeMap::new();
        let mut trees = HashSet::new();
        for commit in self.repo.range(&self.commit, &[], usize::MAX)? {
            let tree = self.repo.commit_info(&commit)?.tree;
            let Some(ops) = fanout::entry_at(self.repo, &tree, place)? else {
                continue;
            };
            if ops.kind != EntryKind::Tree || !trees.insert(ops.id.clone()) {
                continue;
            }
            let log = Log::of(self.repo, place, &ops.id)?;
            for held in &log.files {
                if log.fault(self.repo, held).is_none() {
                    whole.insert(held.name.clone(), Some(held.entry.clone()));
                }
            }
        }
        ops::edit(self.repo, None, &whole)
    }
}

/// The records of one entity that is no session.
struct Log {
    place: String,
    files: Vec<Held>,
    /// The ids in their names.
    ids: HashSet<String>,
    /// Entity of the records: of a journal and of an issue the folder says it, of anything else the first record.
    entity: Option<String>,
}

/// Kinds of logs that this program has beside sessions, with the topics of their records.
const LOGS: [(&str, &str, &[&str]); 2] = [
    (layout::JOURNAL, "a journal", &[Note::NAME]),
    (
        layout::ISSUES,
        "an issue",
        &[IssueEvent::NAME, Note::NAME, Word::NAME],
    ),
];

impl Log {
    fn of(repo: &Repo, place: &str, ops: &Oid) -> Result<Self> {
        let mut files = ops::files(repo, ops)?;
        files.retain(|held| !held.name.ends_with(SUFFIX));
        let ids = files.iter().filter_map(|held| {
            let (_, id) = held.name.trim_end_matches(".json").split_once('-')?;
            Some(id.to_owned())
        });
        let ids = ids.collect();
        let folder = place.trim_end_matches(&format!("/{}", layout::OPS));
        let entity = match kind_of(place) {
            Some(_) => Some(folder.to_owned()),
            None => {
                let first = files.iter().find_map(|held| read(repo, place, held).ok());
                first.and_then(|op| op.entity)
            }
        };
        Ok(Log {
            place: place.to_owned(),
            files,
            ids,
            entity,
        })
    }

    /// Test for a log of which this program knows every record.
    fn is_understood(&self, repo: &Repo) -> bool {
        let records = self.files.iter();
        let mut records = records.map(|held| read(repo, &self.place, held));
        records.all(|op| op.is_ok_and(|op| op.unknown().is_none()))
    }

    /// Fault of one of the log's files.
    fn fault(&self, repo: &Repo, held: &Held) -> Option<String> {
        let op = match read(repo, &self.place, held) {
            Ok(op) => op,
            Err(failure) => return Some(failure.message),
        };
        let name = &held.name;
        if op.entity != self.entity {
            let of = op.entity.as_deref().unwrap_or("a session");
            return Some(format!("the record {name} belongs to {of}"));
        }
        if let Some((kind, topics)) = kind_of(&self.place)
            && op.unknown().is_none()
            && !topics.contains(&op.body.topic())
        {
            let topic = op.body.topic();
            return Some(format!(
                "the record {name} is of the topic `{topic}`, and {kind} has none"
            ));
        }
        let missing = op.after.iter().find(|op| !self.ids.contains(op.as_str()));
        missing.map(|op| format!("the record {name} comes after {op}, which is not there"))
    }
}

/// The kind of a log of this program, for people, and the topics of its records.
fn kind_of(place: &str) -> Option<(&'static str, &'static [&'static str])> {
    let (top, _) = place.split_once('/')?;
    let known = LOGS.iter().find(|(name, ..)| *name == top)?;
    Some((known.1, known.2))
}

/// Tells whether a record may be in a folder of records of this program: the record names the folder's entity, and is
/// of a topic that such a folder has.
pub(super) fn belongs(place: &str, op: &Operation) -> bool {
    match kind_of(place) {
        None => true,
        Some((_, topics)) => {
            let is_of = |entity: &String| place == format!("{entity}/{}", layout::OPS);
            op.entity.as_ref().is_none_or(is_of)
                && (op.unknown().is_some() || topics.contains(&op.body.topic()))
        }
    }
}

fn read(repo: &Repo, place: &str, held: &Held) -> Result<Operation> {
    ops::read_one(repo, held, &format!("{place}/{}", held.place))
}
