//! The audit of the branch's commits: that no session went away, that no operation went away or was changed, and that
//! each commit is about the sessions that it names.
//!
//! A commit is judged by its tree against those of its parents. Only what is still so at the tip is damage:
//! what was mended since is told, and no more.

use super::logs::belongs;
use super::loss::{self, Content, How, Records, Unreadable};
use super::{Snapshot, fanout, layout};
use loopx_base::failure::Result;
use loopx_base::id::{Oid, SessionId};
use loopx_git::{CommitInfo, Repo};
use loopx_rules::op::Operation;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Events that bring sessions of many names together, or put them right.
const ABOUT_ALL: [&str; 4] = ["init", "sync", "repair", "recover"];

/// Events whose commits may take away damage.
pub(super) const MENDS: [&str; 2] = ["repair", "recover"];

/// Commit that did something else than it says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnexplainedCommit {
    pub commit: Oid,
    pub what: String,
}

/// Operations of one session that are not there any more, or are others now.
#[derive(Debug)]
pub(super) struct Lost {
    /// Name of the session; of an archived one, its path.
    pub(super) session: String,
    /// The first commit without them.
    pub(super) since: Oid,
    pub(super) records: Records,
    pub(super) what: String,
}

/// Result of a walk over history.
#[derive(Debug, Default)]
pub(super) struct Past {
    pub(super) commits: usize,
    /// Number of the commits that could not be compared with a parent.
    pub(super) unread: usize,
    pub(super) lost: Vec<Lost>,
    /// Counts of records in journals, issues and other entities that are not there any more, by the folder of the
    /// records.
    pub(super) logs: BTreeMap<String, usize>,
    pub(super) oddities: Vec<UnexplainedCommit>,
}

/// Record of an entity that is no session, as a commit took it away: the folder, the record's name, and its content.
type Gone = (String, String, Oid);

/// Changes of a commit against one of its parents.
#[derive(Default)]
struct Changed {
    /// Sessions, with their folders and the operations that went or became others.
    sessions: Vec<(SessionId, String, Vec<loss::Lost>)>,
    logs: Vec<Gone>,
    /// Paths of what is neither a session nor a record, nor follows from them.
    others: Vec<String>,
}

/// Operations that one session lost by some commit.
#[derive(Default)]
struct Missing {
    since: Option<Oid>,
    /// The folder that lost them last.
    folder: String,
    records: Records,
}

/// Looks at the commits that came since `known`; at all commits where `known` is not in this history.
pub(super) fn look(repo: &Repo, snapshot: &Snapshot<'_>, known: Option<&Oid>) -> Result<Past> {
    let tip = snapshot.commit();
    // One that is gone, or torn, is as good as none: then everything is looked at.
    let is_before = |known: &&Oid| {
        repo.contains(known).unwrap_or(false) && repo.is_ancestor(known, tip).unwrap_or(false)
    };
    let hidden: Vec<Oid> = known.filter(is_before).into_iter().cloned().collect();
    let mut past = Past::default();
    let mut missing: BTreeMap<SessionId, Missing> = BTreeMap::new();
    let mut forgiven = BTreeSet::new();
    let mut gone: BTreeSet<Gone> = BTreeSet::new();
    // Newest first: what a mend took away is known before the commit that brought it.
    for commit in repo.range(tip, &hidden, usize::MAX)? {
        let info = repo.commit_info(&commit)?;
        past.commits += 1;
        let events = info.trailer("Loopx-Event");
        let is_mend = events.iter().any(|event| MENDS.contains(event));
        let mut touched = BTreeSet::new();
        let mut others = BTreeSet::new();
        for parent in &info.parents {
            // In a partial clone, or where history is damaged, a tree of long ago may not be there.
            let Ok(changed) = changed(repo, parent, &info) else {
                past.unread += 1;
                continue;
            };
            gone.extend(changed.logs);
            others.extend(changed.others);
            for (id, folder, lost) in changed.sessions {
                touched.insert(id.clone());
                for lost in lost {
                    if is_mend && !takes_away(repo, &info, &events, &id, &lost)? {
                        forgiven.insert(lost.name);
                        continue;
                    }
                    let known = missing.entry(id.clone()).or_default();
                    if known.folder.is_empty() {
                        known.folder.clone_from(&folder);
                    }
                    known.since = Some(commit.clone());
                    known.records.add(lost);
                }
            }
        }
        past.oddities.extend(odd(&info, &events, &touched, others));
    }
    past.logs = still_gone(repo, snapshot, gone)?;
    for (id, mut one) in missing {
        one.records.retain(|name| !forgiven.contains(name));
        past.lost.extend(still_lost(repo, snapshot, &id, one)?);
    }
    Ok(past)
}

/// Tells whether a repair took away an operation, by its own words. Only files that are no operations may go.
fn takes_away(
    repo: &Repo,
    info: &CommitInfo,
    events: &[&str],
    id: &SessionId,
    lost: &loss::Lost,
) -> Result<bool> {
    if !events.contains(&"repair") || !matches!(lost.was, Content::File(_)) {
        return Ok(false);
    }
    let folder = fanout::entry_at(repo, &info.tree, &layout::session(id))?;
    let is_there = Records::of(repo, folder.as_ref()).is_ok_and(|has| has.has(&lost.name));
    if is_there || !lost.was_record(repo) {
        return Ok(false);
    }
    // A record that was copied from another session was none of this one's.
    let read = |name: &str, blob: &Oid| loss::operation_of(repo, name, blob);
    let own = Records::of(repo, folder.as_ref()).ok().and_then(|has| {
        has.files()
            .find_map(|(name, blob)| read(name, blob)?.started_uid().map(str::to_owned))
    });
    let entity = match &lost.was {
        Content::File(blob) => read(&lost.name, blob).and_then(|op| op.entity),
        Content::Line(_) => None,
    };
    Ok(own.is_none() || entity.is_none() || own == entity)
}

/// The tree of a commit, where both are there: history may be cut off.
fn tree_of(repo: &Repo, commit: &Oid) -> Result<Option<Oid>> {
    if !repo.contains(commit)? {
        return Ok(None);
    }
    let tree = repo.commit_info(commit)?.tree;
    Ok(repo.contains(&tree)?.then_some(tree))
}

/// Changes of a commit against one of its parents.
fn changed(repo: &Repo, parent: &Oid, info: &CommitInfo) -> Result<Changed> {
    let Some(before) = tree_of(repo, parent)? else {
        return Ok(Changed::default());
    };
    if before == info.tree || !repo.contains(&info.tree)? {
        return Ok(Changed::default());
    }
    let mut folders = BTreeSet::new();
    let mut logs = Vec::new();
    let mut others = Vec::new();
    for path in repo.changed_paths(Some(&before), &info.tree)? {
        if let Some(id) = layout::session_of(&path) {
            let month = path.split('/').nth(1).unwrap_or_default();
            let folder = if path.starts_with(layout::SESSIONS) {
                layout::session(&id)
            } else {
                layout::archived(month, &id)
            };
            folders.insert((id, folder));
        } else if let Some((place, name)) = layout::record(&path) {
            let was = repo.entry_at(&before, &path)?;
            logs.extend(was.map(|was| (place, name.to_owned(), was.id)));
        } else if !layout::is_bound(&path)
            && path != layout::FORMAT_FILE
            && !is_our_readme(repo, &info.tree, &path)?
        {
            others.push(path);
        }
    }
    let mut sides = Vec::new();
    for (id, folder) in folders {
        let then = fanout::entry_at(repo, &before, &folder)?;
        let now = fanout::entry_at(repo, &info.tree, &folder)?;
        // What only lies elsewhere now was not changed.
        if then == now {
            continue;
        }
        let (had, has) = Records::differing(repo, then.as_ref(), now.as_ref());
        // What cannot be read now is said of the session itself.
        let had = had.map_err(Unreadable::failure)?;
        sides.push((id, folder, had, has.unwrap_or_default()));
    }
    let mut found = Vec::new();
    for (id, folder, had, _) in &sides {
        // What went from one folder of a session to another, as an archive does, is not lost.
        let own = sides.iter().filter(|(other, ..)| other == id);
        let mut lost: Option<Vec<loss::Lost>> = None;
        for (.., has) in own {
            let less = had.lost(repo, has);
            lost = Some(match lost {
                None => less,
                Some(mut lost) => {
                    lost.retain(|one| less.iter().any(|other| other.name == one.name));
                    lost
                }
            });
        }
        found.push((id.clone(), folder.clone(), lost.unwrap_or_default()));
    }
    Ok(Changed {
        sessions: found,
        logs,
        others,
    })
}

/// Test for the text that this program writes for whoever finds the branch.
fn is_our_readme(repo: &Repo, tree: &Oid, path: &str) -> Result<bool> {
    if path != layout::README_FILE {
        return Ok(false);
    }
    match repo.entry_at(tree, path)? {
        Some(entry) => layout::is_readme(repo, &entry.id),
        None => Ok(false),
    }
}

/// Counts those of the records that are not at the tip, by the folder where they were. A file that was no record may
/// go.
fn still_gone(
    repo: &Repo,
    snapshot: &Snapshot<'_>,
    gone: BTreeSet<Gone>,
) -> Result<BTreeMap<String, usize>> {
    let mut found = BTreeMap::new();
    for (place, name, blob) in gone {
        let folder = place.strip_suffix(&format!("/{}", layout::OPS));
        let folder = fanout::entry_at(repo, snapshot.tree(), folder.unwrap_or(&place))?;
        let is_there = Records::of(repo, folder.as_ref()).is_ok_and(|has| has.has(&name));
        if !is_there && loss::is_record(repo, &name, &blob) && is_of(repo, &place, &name, &blob) {
            *found.entry(place).or_default() += 1;
        }
    }
    Ok(found)
}

/// Tells whether a record says that it belongs to the folder where it was. A record that cannot be read is taken at its
/// place.
fn is_of(repo: &Repo, place: &str, name: &str, blob: &Oid) -> bool {
    let Ok(bytes) = repo.read_blob(blob) else {
        return true;
    };
    Operation::parse(&bytes, name, blob).is_ok_and(|op| belongs(place, &op))
}

/// Changes of a commit beside what the commit says.
fn odd(
    info: &CommitInfo,
    events: &[&str],
    touched: &BTreeSet<SessionId>,
    mut others: BTreeSet<String>,
) -> Option<UnexplainedCommit> {
    // A newer program may write files of its own, but hardly what a person reads first.
    others.retain(|path| events.is_empty() || path == layout::README_FILE);
    // A merge brings what others did.
    if touched.is_empty() && others.is_empty() || info.parents.len() != 1 {
        return None;
    }
    let list = |ids: Vec<&SessionId>| {
        let names = ids.into_iter().map(SessionId::as_str);
        let names: Vec<&str> = names.chain(others.iter().map(String::as_str)).collect();
        names.join(", ")
    };
    let what = if events.is_empty() {
        format!(
            "was made by hand, and changes {}",
            list(touched.iter().collect())
        )
    } else if events.iter().any(|event| ABOUT_ALL.contains(event)) {
        return None;
    } else {
        let named = info.trailer("Loopx-Session");
        let strange: Vec<&SessionId> = touched
            .iter()
            .filter(|id| !named.contains(&id.as_str()))
            .collect();
        if strange.is_empty() && others.is_empty() {
            return None;
        }
        let about = match named.as_slice() {
            [] => "no session".to_owned(),
            named => named.join(", "),
        };
        format!("is about {about}, and changes {}", list(strange))
    };
    Some(UnexplainedCommit {
        commit: info.id.clone(),
        what,
    })
}

/// Operations of the list that no session has: of two sessions that clones gave one name, one has another name since.
fn nowhere(repo: &Repo, snapshot: &Snapshot<'_>, mut records: Records) -> Result<Records> {
    for (_, folder) in snapshot.session_folders(true)? {
        if let Ok(other) = Records::of(repo, Some(&folder.entry)) {
            records.retain(|name| !other.has(name));
        }
    }
    Ok(records)
}

/// Operations of a session that are not at the tip, under that name or another.
fn still_lost(
    repo: &Repo,
    snapshot: &Snapshot<'_>,
    id: &SessionId,
    missing: Missing,
) -> Result<Option<Lost>> {
    let (Some(since), false) = (missing.since, missing.records.is_empty()) else {
        return Ok(None);
    };
    let lost = |session: String, records: Records, what: String| Lost {
        session,
        since: since.clone(),
        records,
        what,
    };
    let folders = snapshot.session_folders(true)?.into_iter();
    let found = folders.map(|(other, folder)| (other == *id).then_some(folder));
    let Some(found) = found.flatten().next() else {
        let records = nowhere(repo, snapshot, missing.records)?;
        let what = "the session has gone".to_owned();
        let name = if missing.folder.starts_with(layout::ARCHIVE) {
            missing.folder
        } else {
            id.to_string()
        };
        return Ok((!records.is_empty()).then(|| lost(name, records, what)));
    };
    // What is damaged there is said of the session itself.
    let Ok(there) = Records::of(repo, Some(&found.entry)) else {
        return Ok(None);
    };
    let mut gone = Records::default();
    let mut changed = Records::default();
    for lost in missing.records.lost(repo, &there) {
        match lost.how {
            How::Gone => gone.add(lost),
            How::Changed => changed.add(lost),
        }
    }
    if !gone.is_empty() {
        gone = nowhere(repo, snapshot, gone)?;
    }
    let count = |records: &Records, did: &str| {
        let of = |n: usize, one: &str| match n {
            1 => format!("1 {one} has {did}"),
            n => format!("{n} {one}s have {did}"),
        };
        match (records.len(), records.signed()) {
            (0, signed) => of(signed, "signature"),
            (n, _) => of(n, "operation"),
        }
    };
    let name = if found.path.starts_with(layout::ARCHIVE) {
        found.path
    } else {
        id.to_string()
    };
    Ok(match (gone.is_empty(), changed.is_empty()) {
        (true, true) => None,
        (false, _) => {
            let what = count(&gone, "gone");
            Some(lost(name, gone, what))
        }
        (true, false) => {
            let what = count(&changed, "been changed");
            Some(lost(name, changed, what))
        }
    })
}
