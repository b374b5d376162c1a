//! Losses between two states of the whole branch: sessions, wherever they lie and whatever they are called since, and
//! every other folder that holds records.

use super::{Lost, Records, Unreadable, is_signature};
use crate::snapshot::Folder;
use crate::{Snapshot, fanout, fanout_folder, layout};
use loopx_base::failure::{Failure, Result};
use loopx_base::fanout::Fanout;
use loopx_base::id::{Oid, SessionId};
use loopx_git::{Entry, EntryKind, Repo};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Content of one commit of the branch, without reading a session.
pub(crate) struct Holding<'a> {
    pub(crate) snapshot: Snapshot<'a>,
    pub(crate) fanouts: Vec<(String, Oid)>,
    /// The sessions by path, active and archived.
    pub(crate) folders: BTreeMap<String, (SessionId, Folder)>,
    /// Paths of the sessions of one name: the session that is found by the name comes first.
    named: BTreeMap<SessionId, Vec<String>>,
    /// Other folders that hold records, by path.
    pub(crate) others: BTreeMap<String, Entry>,
}

/// Loss: a session, record or folder that is not there any more.
#[derive(Debug)]
pub(crate) struct Loss {
    /// Name of the session, or the path of what is no session.
    pub(crate) entity: String,
    pub(crate) what: What,
}

#[derive(Debug)]
pub(crate) enum What {
    /// Loss of the whole session or folder.
    Entity,
    Record(Lost),
    /// A former content that nobody can read, so that nobody can say what was there.
    UnreadBefore(Failure),
    /// A present content that nobody can read, so that nobody can say what is left.
    UnreadNow(Failure),
}

impl Loss {
    /// Says the loss in a sentence, with the name of the session or folder.
    pub(crate) fn said(&self) -> String {
        let entity = if self.entity.contains('/') {
            self.entity.clone()
        } else {
            format!("session {}", self.entity)
        };
        match &self.what {
            What::Entity => format!("{entity} is gone"),
            What::Record(lost) => {
                let kind = if is_signature(&lost.name) {
                    "signature"
                } else {
                    "operation"
                };
                format!(
                    "{entity}: the {kind} {} was changed or taken away",
                    lost.name
                )
            }
            What::UnreadBefore(failure) => format!(
                "{entity}: what it had cannot be read, so that nobody can say whether all of it is still there: {}",
                failure.message
            ),
            What::UnreadNow(failure) => format!(
                "{entity}: its operations cannot be read: {}",
                failure.message
            ),
        }
    }

    /// Tells whether the lost thing is known to have been there.
    pub(crate) fn is_known(&self) -> bool {
        !matches!(self.what, What::UnreadBefore(_))
    }
}

impl<'a> Holding<'a> {
    pub(crate) fn of(snapshot: Snapshot<'a>) -> Result<Self> {
        let mut folders = BTreeMap::new();
        let mut named: BTreeMap<SessionId, Vec<String>> = BTreeMap::new();
        for (id, folder) in snapshot.session_folders(true)? {
            let paths = named.entry(id.clone()).or_default();
            paths.push(folder.path.clone());
            folders.insert(folder.path.clone(), (id, folder));
        }
        Ok(Holding {
            fanouts: fanout::all(snapshot.repo(), snapshot.tree())?,
            others: others(snapshot.repo(), snapshot.tree())?,
            snapshot,
            folders,
            named,
        })
    }

    /// Folders with records, each with the folder of the other state at that place.
    pub(crate) fn entries<'h>(
        &'h self,
        other: &'h Holding<'_>,
    ) -> impl Iterator<Item = (&'h Entry, Option<&'h Entry>)> {
        let sessions = self.folders.iter().map(|(path, (_, folder))| {
            let there = other.folders.get(path);
            (&folder.entry, there.map(|(_, there)| &there.entry))
        });
        let others = self.others.iter();
        let others = others.map(|(path, entry)| (entry, other.others.get(path)));
        sessions.chain(others)
    }

    /// Tells whether the very same folder lies at the same place.
    pub(crate) fn has(&self, folder: &Folder) -> bool {
        let known = self.folders.get(&folder.path);
        known.is_some_and(|(_, known)| known.place == folder.place && known.entry == folder.entry)
    }

    /// Tells whether the very same folder lies at the same place, and is found by the session's name.
    fn finds(&self, id: &SessionId, folder: &Folder) -> bool {
        let first = self.named.get(id).and_then(|paths| paths.first());
        self.has(folder) && first == Some(&folder.path)
    }

    /// A session of another state: under its name, or under the one that it got because another session
    /// has its name here. It is told by its uid; where one of them does not say its own, by a record that
    /// both have.
    fn follow(&self, before: &Holding<'_>, id: &SessionId, folder: &Folder) -> Option<&Folder> {
        let repo = self.snapshot.repo();
        let uid = uid(repo, &folder.entry);
        let beside = uid.as_ref().map(|uid| id.beside(uid));
        let names = [Some(id), beside.as_ref()];
        let paths = names.into_iter().flatten();
        let mut paths = paths.filter_map(|id| self.named.get(id)).flatten();
        let had = || Records::of(before.snapshot.repo(), Some(&folder.entry)).ok();
        paths.find_map(|path| {
            let (_, found) = self.folders.get(path)?;
            let is_it = match (&uid, self::uid(repo, &found.entry)) {
                (Some(uid), Some(other)) => *uid == other,
                _ => {
                    let has = Records::of(repo, Some(&found.entry)).ok()?;
                    had()?.names().any(|name| has.has(name))
                }
            };
            is_it.then_some(found)
        })
    }
}

/// The folders with records that are no sessions.
pub(crate) fn others(repo: &Repo, tree: &Oid) -> Result<BTreeMap<String, Entry>> {
    let mut found = BTreeMap::new();
    for (top, entry) in repo.list_tree(tree)? {
        let known = [layout::SESSIONS, layout::ARCHIVE, layout::BRANCHES];
        if entry.kind != EntryKind::Tree || known.contains(&top.as_str()) {
            continue;
        }
        let entries: Vec<(String, Entry)> = match top.as_str() {
            layout::ISSUES => {
                let held = fanout_folder::entries(repo, Fanout::Names, &entry.id)?.into_iter();
                held.map(|held| (held.name, held.entry)).collect()
            }
            _ => repo.list_tree(&entry.id)?,
        };
        for (name, entry) in entries {
            if entry.kind == EntryKind::Tree
                && let Some(ops) = repo.entry_at(&entry.id, layout::OPS)?
                && ops.kind == EntryKind::Tree
            {
                found.insert(format!("{top}/{name}"), entry);
            }
        }
    }
    Ok(found)
}

/// The uid that a session's state says.
pub(crate) fn uid(repo: &Repo, folder: &Entry) -> Option<String> {
    #[derive(Deserialize)]
    struct Uid {
        uid: String,
    }
    if folder.kind != EntryKind::Tree {
        return None;
    }
    let state = repo.blob_at(&folder.id, layout::STATE).ok()??;
    let Uid { uid } = serde_json::from_slice(&state).ok()?;
    Some(uid)
}

/// Records that one state has and the next one has not, or has otherwise.
pub(crate) fn between(before: &Holding<'_>, now: &Holding<'_>) -> Vec<Loss> {
    let mut found = Vec::new();
    let repo = before.snapshot.repo();
    for (id, folder) in before.folders.values() {
        if now.finds(id, folder) {
            continue;
        }
        let after = now.follow(before, id, folder);
        let after = after.map(|folder| &folder.entry);
        found.extend(loss(repo, id.as_str(), &folder.entry, after));
    }
    for (path, entry) in &before.others {
        found.extend(loss(repo, path, entry, now.others.get(path)));
    }
    found
}

/// First loss of one entity.
fn loss(repo: &Repo, entity: &str, before: &Entry, after: Option<&Entry>) -> Option<Loss> {
    let (had, has) = Records::differing(repo, Some(before), after);
    let what = match (had, has, after) {
        (Err(Unreadable(failure)), _, Some(_)) => What::UnreadBefore(failure),
        (Err(_), _, None) => What::Entity,
        (Ok(had), ..) if had.is_empty() => return None,
        (Ok(_), _, None) => What::Entity,
        (Ok(_), Err(Unreadable(failure)), _) => What::UnreadNow(failure),
        (Ok(had), Ok(has), _) => {
            let mut lost = had.lost(repo, &has).into_iter();
            What::Record(lost.find(|lost| lost.was_record(repo))?)
        }
    };
    Some(Loss {
        entity: entity.to_owned(),
        what,
    })
}

/// Tells whether one state has every record of another one, in one repository.
pub fn has_all(here: &Snapshot<'_>, there: &Snapshot<'_>) -> Result<bool> {
    let held = |of: &Snapshot<'_>| {
        let again = Snapshot::at(here.repo(), of.commit().clone(), "the branch")?;
        Holding::of(again)
    };
    Ok(between(&held(there)?, &held(here)?).is_empty())
}
