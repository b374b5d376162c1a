//! A push to the loopx branch, judged before it is taken: only forward, every state the replay of its operations, no
//! operation changed or taken away.
//!
//! What a commit has as one of its parents has it was judged with that, or was here before the push; it is
//! not read again. Whether an operation is true is another question: who can write the branch can write any that fits.

use super::bindings as index;
use super::check::{check_archived, check_folder, state_went};
use super::fanout_folder::{self, Fault};
use super::layout;
use super::layout_audit::bindings;
use super::loss::{self, Holding, Loss};
use super::merge_branch::{require_no_jump, require_no_jump_since};
use super::names::Names;
use super::record_limit::Room;
use super::signatures::new_fault;
use super::snapshot::Folder;
use super::unique::Uids;
use super::{Lines, Session, Snapshot, incoming, incremental_state};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::fanout::Fanout;
use loopx_base::id::{Oid, SessionId};
use loopx_git::{CommitInfo, Entry, EntryKind, Repo};
use loopx_rules::issue::IssueId;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

/// Amounts that one push may bring; more is refused before it is judged.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    pub records: u64,
    pub merges: u64,
    /// Bytes of files of the branch.
    pub bytes: u64,
}

impl Budget {
    /// Refuses a range with too many merges, each of which is made again.
    pub fn require_merges(&self, repo: &Repo, new: &Oid, hidden: &[Oid]) -> Result<()> {
        let mut merges = 0;
        for commit in repo.range(new, hidden, usize::MAX)? {
            merges += u64::from(repo.commit_info(&commit)?.parents.len() > 1);
            require(merges, self.merges, "merges", "loopx.receiveMerges")?;
        }
        Ok(())
    }

    fn require_records(&self, count: u64) -> Result<()> {
        require(count, self.records, "records", "loopx.receiveRecords")
    }

    fn require_bytes(&self, count: Option<u64>) -> Result<()> {
        require(
            count.unwrap_or(0),
            self.bytes,
            "bytes of files",
            "loopx.receiveBytes",
        )
    }
}

fn require(count: u64, most: u64, what: &str, setting: &str) -> Result<()> {
    if count <= most {
        return Ok(());
    }
    Err(Failure::refused(
        Code::PushTooLarge,
        format!("this push brings more than {most} {what}, and that is the most that is judged at once ({setting})"),
    )
    .help(format!(
        "push a part of it first; for the administrator of this server: git config {setting} NUMBER"
    )))
}

/// Reasons for which a push of the branch cannot be taken, by commit; empty when it can.
pub fn check(
    repo: &Repo,
    branch: &str,
    old: Option<&Oid>,
    new: &Oid,
    budget: &Budget,
) -> Result<Vec<(Oid, String)>> {
    if let Some(old) = old
        && !repo.is_ancestor(old, new)?
    {
        let what = "does not go forward from what is here: sessions would be lost".to_owned();
        return Ok(vec![(new.clone(), what)]);
    }
    let hidden: Vec<Oid> = old.iter().map(|old| (*old).clone()).collect();
    let mut commits = repo.range(new, &hidden, usize::MAX)?;
    commits.reverse();
    budget.require_merges(repo, new, &hidden)?;
    // Each of them is about one record at least, but for the merges.
    budget.require_records(commits.len() as u64 / 2)?;
    let mut checking = Checking {
        repo,
        branch,
        folders: HashMap::new(),
        last: None,
        room: Room::default(),
        lines: Lines::of(repo),
        names: Names::counting(),
        budget,
        records: 0,
        uids: Uids::default(),
        ends: false,
    };
    let mut found = Vec::new();
    for commit in &commits {
        let wrong = checking.commit(commit)?;
        found.extend(wrong.into_iter().map(|what| (commit.clone(), what)));
        // What comes after stands on what nobody can read.
        if checking.ends {
            break;
        }
    }
    if found.is_empty() {
        let snapshot = Snapshot::at(repo, new.clone(), branch)?;
        let before = match old {
            Some(old) => Snapshot::at(repo, old.clone(), branch).ok(),
            None => None,
        };
        // A binding that stayed says what it said, unless a name went.
        let before = match before {
            Some(before) if has_names_of(&snapshot, &before)? => Some(before),
            _ => None,
        };
        let wrong = bindings(repo, &snapshot, &BTreeSet::new(), before.as_ref())?;
        found.extend(
            wrong
                .into_iter()
                .map(|damage| (new.clone(), format!("{}: {}", damage.session, damage.what))),
        );
    }
    Ok(found)
}

/// Paths that a push brings and this program does not know. A newer program may: they are kept.
pub fn unknown(repo: &Repo, branch: &str, old: Option<&Oid>, new: &Oid) -> Result<Vec<String>> {
    let now = strangers(repo, &Snapshot::at(repo, new.clone(), branch)?)?;
    let before = match old.map(|old| Snapshot::at(repo, old.clone(), branch)) {
        Some(Ok(before)) => strangers(repo, &before)?,
        _ => BTreeSet::new(),
    };
    Ok(now.difference(&before).cloned().collect())
}

/// Tells whether a push takes away the text for whoever finds the branch.
pub fn loses_readme(repo: &Repo, old: Option<&Oid>, new: &Oid) -> Result<bool> {
    let is_there = |commit: &Oid| -> Result<bool> {
        let tree = repo.commit_info(commit)?.tree;
        Ok(repo.entry_at(&tree, layout::README_FILE)?.is_some())
    };
    Ok(match old {
        Some(old) => is_there(old)? && !is_there(new)?,
        None => false,
    })
}

/// Paths where this program puts nothing: beside the known folders, or among sessions without the name of one. A folder
/// with records is an entity, whatever it is about.
fn strangers(repo: &Repo, snapshot: &Snapshot<'_>) -> Result<BTreeSet<String>> {
    const KNOWN: [&str; 2] = [layout::ARCHIVE, layout::BRANCHES];
    let mut found = BTreeSet::new();
    for (top, entry) in repo.list_tree(snapshot.tree())? {
        if entry.kind != EntryKind::Tree {
            let is_ours = match top.as_str() {
                layout::FORMAT_FILE => true,
                layout::README_FILE => layout::is_readme(repo, &entry.id)?,
                _ => false,
            };
            if !is_ours {
                found.insert(top);
            }
            continue;
        }
        if top == layout::SESSIONS {
            let paths = snapshot.session_paths()?.into_iter();
            let strange = paths.filter(|(_, name)| SessionId::parse(name).is_err());
            found.extend(strange.map(|(path, _)| path));
        } else if top == layout::ISSUES {
            let held = fanout_folder::entries(repo, Fanout::Names, &entry.id)?.into_iter();
            let strange = held.filter(|held| IssueId::parse(&held.name).is_none());
            found.extend(strange.map(|held| format!("{top}/{}", held.name)));
        } else if !KNOWN.contains(&top.as_str()) {
            for (name, entry) in repo.list_tree(&entry.id)? {
                let is_entity = entry.kind == EntryKind::Tree
                    && repo.entry_at(&entry.id, layout::OPS)?.is_some();
                if !is_entity {
                    found.insert(format!("{top}/{name}"));
                }
            }
        }
    }
    Ok(found)
}

/// The bindings that a push brings: each branch with the name of its session.
pub fn bound(
    repo: &Repo,
    branch: &str,
    old: Option<&Oid>,
    new: &Oid,
) -> Result<Vec<(String, String)>> {
    let now = Snapshot::at(repo, new.clone(), branch)?;
    let before = match old {
        Some(old) => bindings_at(repo, &Snapshot::at(repo, old.clone(), branch)?)?,
        None => BTreeSet::new(),
    };
    let now = bindings_at(repo, &now)?;
    Ok(now.difference(&before).cloned().collect())
}

fn bindings_at(repo: &Repo, of: &Snapshot<'_>) -> Result<BTreeSet<(String, String)>> {
    let mut found = BTreeSet::new();
    for (name, entry) in index::entries(repo, of.tree())? {
        let sessions = index::sessions(repo, &entry)?;
        let branch = index::branch(of, &name, &sessions);
        found.extend(
            sessions
                .into_iter()
                .map(|session| (branch.clone(), session)),
        );
    }
    Ok(found)
}

/// Tells whether every session of one state is there by its name in another.
fn has_names_of(now: &Snapshot<'_>, before: &Snapshot<'_>) -> Result<bool> {
    let names = |of: &Snapshot<'_>| -> Result<BTreeSet<SessionId>> {
        let folders = of.session_folders(true)?.into_iter();
        Ok(folders.map(|(id, _)| id).collect())
    };
    Ok(names(before)?.is_subset(&names(now)?))
}

struct Checking<'a> {
    repo: &'a Repo,
    branch: &'a str,
    /// Fault of each session's folder that was checked, by the folder's tree; `None` for a whole one.
    folders: HashMap<Oid, Option<String>>,
    /// Content of the commit that was judged last: mostly the parent of the next.
    last: Option<Rc<Holding<'a>>>,
    room: Room,
    /// Merges of texts in conflict: each is done once, however many commits have the text.
    lines: Lines<'a>,
    names: Names,
    budget: &'a Budget,
    /// Number of new records so far.
    records: u64,
    uids: Uids,
    /// Set when nothing can be said of the commits that follow.
    ends: bool,
}

impl<'a> Checking<'a> {
    fn commit(&mut self, commit: &Oid) -> Result<Vec<String>> {
        let info = self.repo.commit_info(commit)?;
        // The constant root has nothing yet.
        if info.parents.is_empty() && info.tree == self.repo.empty_tree()? {
            return Ok(Vec::new());
        }
        let now = match Snapshot::at(self.repo, commit.clone(), self.branch) {
            Ok(now) => now,
            Err(failure) => return Ok(vec![failure.message]),
        };
        let named = self.badly_named(&info)?;
        if !named.is_empty() {
            // What such names hold is nobody's.
            self.ends = true;
            return Ok(named);
        }
        let now = Rc::new(Holding::of(now)?);
        let mut before = Vec::new();
        for parent in &info.parents {
            before.extend(self.parent(parent)?);
        }
        let mut wrong = Vec::new();
        let known: Vec<&Snapshot<'_>> = before.iter().map(|one| &one.snapshot).collect();
        if let Some(what) = incoming::went_back(&known, &now.snapshot)? {
            wrong.push(format!("{}: {what}", layout::FORMAT_FILE));
        }
        for fanout in &now.fanouts {
            if before.iter().any(|before| before.fanouts.contains(fanout)) {
                continue;
            }
            let (path, fanout) = fanout;
            // An older layout hides nothing, so it may come: an older program wrote it.
            if let Some(Fault::Misplaced(what)) =
                fanout_folder::faults(self.repo, Fanout::Names, fanout)?
            {
                wrong.push(format!("{path}: {what}"));
            }
        }
        self.records += self.new_records(&now, &before)?;
        self.budget.require_records(self.records)?;
        wrong.extend(self.sessions(&now, &before)?);
        for (path, entry) in &now.others {
            if !before
                .iter()
                .any(|before| before.others.get(path) == Some(entry))
            {
                wrong.extend(self.room.excess(self.repo, path, entry)?);
                let jump = require_no_jump(self.repo, path, &entry.id, 0);
                wrong.extend(jump.err().map(|failure| failure.message));
            }
        }
        let copies = self.uids.copies(&now, &before).into_iter();
        wrong.extend(copies.map(|(_, what)| what));
        let known: Vec<&Snapshot<'_>> = before.iter().map(|one| &one.snapshot).collect();
        let faults = now.snapshot.log_faults(&known)?.into_iter();
        wrong.extend(faults.map(|(place, what)| format!("{place}: {what}")));
        for before in &before {
            let lost = loss::between(before, &now);
            wrong.extend(lost.iter().map(Loss::said));
        }
        self.last = Some(now);
        wrong.sort();
        wrong.dedup();
        Ok(wrong)
    }

    /// The names of a commit that no tree should have and no parent has.
    fn badly_named(&mut self, info: &CommitInfo) -> Result<Vec<String>> {
        let mut trees = Vec::new();
        for parent in &info.parents {
            trees.push(self.repo.commit_info(parent)?.tree);
        }
        let faults = self.names.faults(self.repo, &info.tree, &trees)?;
        self.budget.require_bytes(self.names.bytes)?;
        let faults = faults.into_iter();
        Ok(faults
            .map(|(path, why)| format!("`{path}` {why}"))
            .collect())
    }

    /// Faults of the sessions that no parent has as they are.
    fn sessions(&mut self, now: &Holding<'a>, before: &[Rc<Holding<'a>>]) -> Result<Vec<String>> {
        let mut wrong = Vec::new();
        for (id, folder) in now.folders.values() {
            if before.iter().any(|before| before.has(folder)) {
                continue;
            }
            // Counted before any of them is read.
            match self
                .room
                .excess(self.repo, &format!("session {id}"), &folder.entry)
            {
                Ok(None) => {}
                Ok(Some(what)) => {
                    wrong.push(what);
                    continue;
                }
                Err(failure) => {
                    wrong.push(format!("session {id}: {}", failure.message));
                    continue;
                }
            }
            if folder.entry.kind == EntryKind::Tree
                && let Err(failure) = self.require_no_jump(folder, before)
            {
                wrong.push(failure.message);
                continue;
            }
            let had: Vec<Entry> = before
                .iter()
                .flat_map(|before| before.folders.values())
                .filter(|(known, _)| known == id)
                .map(|(_, folder)| folder.entry.clone())
                .collect();
            match new_fault(self.repo, &had, &folder.entry) {
                Ok(what) => wrong.extend(what.map(|what| format!("session {id}: {what}"))),
                Err(failure) => wrong.push(failure.message),
            }
            if folder.path.starts_with(layout::ARCHIVE) {
                let what = check_archived(self.repo, &now.snapshot, folder.clone())?;
                wrong.extend(what.map(|what| format!("session {id}: {what}")));
                continue;
            }
            let session = now.snapshot.load_folder(folder.clone());
            match session {
                Ok(session) => wrong.extend(self.folder(id, &session, before)?),
                Err(failure) => wrong.push(failure.message),
            }
        }
        Ok(wrong)
    }

    /// Refuses numbers of operations that nobody reached step by step from a parent.
    fn require_no_jump(&self, folder: &Folder, before: &[Rc<Holding<'a>>]) -> Result<()> {
        let path = &folder.path;
        let parent = before.iter().find_map(|one| one.folders.get(path));
        let parent = parent.map(|(_, folder)| &folder.entry);
        require_no_jump_since(self.repo, path, parent, &folder.entry)
    }

    /// Counts the records that are here and not in the parent with the most of them.
    fn new_records(&mut self, now: &Holding<'_>, before: &[Rc<Holding<'_>>]) -> Result<u64> {
        let mut fewest = None;
        for parent in before {
            let (mut has, mut had) = (0, 0);
            for (entry, there) in now.entries(parent) {
                let (more, less) = self.room.differing(self.repo, entry, there)?;
                has += more;
                had += less;
            }
            for (entry, there) in parent.entries(now) {
                if there.is_none() {
                    had += self.room.records(self.repo, entry)?;
                }
            }
            let new = u64::saturating_sub(has, had);
            fewest = Some(fewest.map_or(new, |fewest| new.min(fewest)));
        }
        if let Some(fewest) = fewest {
            return Ok(fewest);
        }
        let mut all = 0;
        for (entry, _) in now.entries(now) {
            all += self.room.records(self.repo, entry)?;
        }
        Ok(all)
    }

    /// Content of a parent; `None` where the parent is none of this branch's states.
    fn parent(&self, commit: &Oid) -> Result<Option<Rc<Holding<'a>>>> {
        let last = self.last.as_ref();
        if let Some(last) = last.filter(|last| last.snapshot.commit() == commit) {
            return Ok(Some(Rc::clone(last)));
        }
        match Snapshot::at(self.repo, commit.clone(), self.branch) {
            Ok(before) => Holding::of(before).map(|holding| Some(Rc::new(holding))),
            // The constant root, or a history of somebody else: it holds no sessions.
            Err(failure) if failure.code == Code::BranchForeign => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// Fault of a session's folder. A folder that went on from what a parent has is not replayed, for that was looked
    /// at with the parent, or was here before the push.
    fn folder(
        &mut self,
        id: &SessionId,
        session: &Session,
        before: &[Rc<Holding<'a>>],
    ) -> Result<Option<String>> {
        if let Some(known) = self.folders.get(&session.tree) {
            return Ok(known.clone());
        }
        let parents = before
            .iter()
            .filter_map(|before| before.folders.get(&session.path));
        let mut whole = parents.filter(|(_, parent)| {
            let known = self.folders.get(&parent.entry.id);
            known.is_none_or(Option::is_none)
        });
        let is_whole = whole.any(|(_, parent)| {
            incremental_state::is_whole(self.repo, id, &parent.entry.id, &session.tree)
        });
        let entry = Entry::tree(session.tree.clone());
        let had: Vec<Entry> = before
            .iter()
            .filter_map(|before| before.folders.get(&session.path))
            .map(|(_, parent)| parent.entry.clone())
            .collect();
        let found = if is_whole {
            None
        } else if let Some(what) = state_went(self.repo, &had, &entry)? {
            Some(what)
        } else {
            check_folder(&self.lines, id, &session.tree)?.map(|(what, _)| what)
        };
        let found = found.map(|what| format!("session {id}: {what}"));
        self.folders.insert(session.tree.clone(), found.clone());
        Ok(found)
    }
}
