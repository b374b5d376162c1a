//! State of the loopx branch at one commit, read by path: a tip, a few trees, one blob.

use super::merge_session::settle_candidate;
use super::{EARLIER, FORMAT, bindings, fanout, fanout_folder, layout, ops, sealed, stored};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::fanout::Fanout;
use loopx_base::hint::{command, hint};
use loopx_base::id::{Oid, SessionId};
use loopx_git::{CommitInfo, Entry, EntryKind, Repo};
use loopx_rules::artifact::Artifact;
use loopx_rules::op::Operation;
use loopx_rules::session::State;

/// The branch as it was at one commit.
pub struct Snapshot<'r> {
    pub(super) repo: &'r Repo,
    pub(super) commit: Oid,
    pub(super) tree: Oid,
}

/// Session as it was at the commit of a snapshot.
#[derive(Clone, Debug)]
pub struct Session {
    pub state: State,
    /// The session's folder.
    pub tree: Oid,
    /// Path of the session on the branch, as this program names it.
    pub path: String,
    /// The path by which git finds it: the same, unless there are many sessions.
    pub place: String,
}

/// Folder of a session: its paths, and the entry that is there.
#[derive(Clone)]
pub(super) struct Folder {
    pub(super) path: String,
    pub(super) place: String,
    pub(super) entry: Entry,
}

/// Tells whether an older program wrote a tree of the branch last.
pub(super) fn is_of_earlier_format(repo: &Repo, tree: &Oid) -> Result<bool> {
    Ok(EARLIER.contains(&format_of(repo, tree)?.as_str()))
}

fn format_of(repo: &Repo, tree: &Oid) -> Result<String> {
    let said = repo.blob_at(tree, layout::FORMAT_FILE)?.unwrap_or_default();
    Ok(String::from_utf8_lossy(&said).trim().to_owned())
}

/// Months of the archive that are searched for the session that ended last.
const RECENT: usize = 2;
/// Sessions of a month that are read for that: beyond it, an answer in passing costs too much.
const FEW: usize = 200;

impl<'r> Snapshot<'r> {
    /// Reads a commit of the branch, refusing formats that this program does not know.
    pub fn at(repo: &'r Repo, commit: Oid, label: &str) -> Result<Self> {
        let tree = repo.commit_info(&commit)?.tree;
        repo.will_read(&tree)?;
        let snapshot = Snapshot { repo, commit, tree };
        let format = repo.blob_at(&snapshot.tree, layout::FORMAT_FILE)?;
        match format {
            Some(bytes) if is_read(String::from_utf8_lossy(&bytes).trim()) => Ok(snapshot),
            Some(bytes) => Err(Failure::refused(
                Code::FormatNewer,
                format!(
                    "`{label}` is written in format `{}`, this program knows {FORMAT}",
                    String::from_utf8_lossy(&bytes).trim()
                ),
            )
            .help("update git loopx")),
            None => Err(Failure::refused(
                Code::BranchForeign,
                format!(
                    "`{label}` exists and was not made by git loopx: it has no file `{}`",
                    layout::FORMAT_FILE
                ),
            )
            .help("git config loopx.branch loopx-sessions")),
        }
    }

    /// Tells whether an older program wrote the branch last.
    pub(super) fn is_of_earlier_format(&self) -> Result<bool> {
        is_of_earlier_format(self.repo, &self.tree)
    }

    /// The format that the branch says it is written in.
    pub(super) fn format(&self) -> Result<String> {
        format_of(self.repo, &self.tree)
    }

    pub fn repo(&self) -> &'r Repo {
        self.repo
    }

    pub fn commit(&self) -> &Oid {
        &self.commit
    }

    pub fn tree(&self) -> &Oid {
        &self.tree
    }

    pub fn info(&self) -> Result<CommitInfo> {
        self.repo.commit_info(&self.commit)
    }

    /// An active session.
    pub fn session(&self, id: &SessionId) -> Result<Option<Session>> {
        self.load(layout::session(id))
    }

    /// A session, active or archived.
    pub fn find(&self, id: &SessionId) -> Result<Option<Session>> {
        if let Some(session) = self.session(id)? {
            return Ok(Some(session));
        }
        for month in self.months()?.into_iter().rev() {
            if let Some(session) = self.load(layout::archived(&month, id))? {
                return Ok(Some(session));
            }
        }
        Ok(None)
    }

    /// Tells whether there is a session of this name, active or archived, whole or not.
    pub fn has(&self, id: &SessionId) -> Result<bool> {
        let there = |path: String| Ok(fanout::entry_at(self.repo, &self.tree, &path)?.is_some());
        if there(layout::session(id))? {
            return Ok(true);
        }
        for month in self.months()? {
            if there(layout::archived(&month, id))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn load(&self, path: String) -> Result<Option<Session>> {
        let Some((place, entry)) = fanout::find(self.repo, &self.tree, &path)? else {
            return Ok(None);
        };
        self.load_folder(Folder { path, place, entry }).map(Some)
    }

    pub(super) fn load_folder(&self, folder: Folder) -> Result<Session> {
        let Folder { path, place, entry } = folder;
        let tree = self.folder(&place, &entry)?.clone();
        let state = state_of(self.repo, &path, &place, &tree)
            .map_err(|failure| failure.context(format!("commit {}", self.commit.short())))?;
        Ok(Session {
            state,
            tree,
            path,
            place,
        })
    }

    /// The tree of an entry that has to be a folder.
    pub(super) fn folder<'e>(&self, path: &str, entry: &'e Entry) -> Result<&'e Oid> {
        if entry.kind == EntryKind::Tree {
            return Ok(&entry.id);
        }
        let message = format!("commit {}: {path} is not a folder", self.commit.short());
        Err(Failure::internal(Code::RecordDamaged, message).help(command!("fsck --repair")))
    }

    /// The ids of the active sessions, sorted.
    pub fn active_ids(&self) -> Result<Vec<SessionId>> {
        let folders = self.entries_below(layout::SESSIONS)?;
        Ok(folders.into_iter().map(|(id, ..)| id).collect())
    }

    /// Tells whether a question is answered with yes for one of the active sessions. No more folders are read than it
    /// takes to meet that session.
    pub fn any_active(&self, mut ask: impl FnMut(&SessionId) -> bool) -> Result<bool> {
        let Some(entry) = self.repo.entry_at(&self.tree, layout::SESSIONS)? else {
            return Ok(false);
        };
        let fanout = self.folder(layout::SESSIONS, &entry)?;
        fanout_folder::any_name(self.repo, Fanout::Names, fanout, &mut |name| {
            SessionId::parse(name).is_ok_and(|id| ask(&id))
        })
    }

    /// The names of everything that stands where sessions do, active and archived.
    pub fn session_names(&self) -> Result<Vec<String>> {
        let paths = self.session_paths()?.into_iter();
        Ok(paths.map(|(_, name)| name).collect())
    }

    /// Paths and names of everything that stands where sessions do.
    pub(super) fn session_paths(&self) -> Result<Vec<(String, String)>> {
        let months = self.months()?.into_iter();
        let fanouts = months.map(|month| format!("{}/{month}", layout::ARCHIVE));
        let mut found = Vec::new();
        for path in fanouts.chain([layout::SESSIONS.to_owned()]) {
            if let Some(entry) = self.repo.entry_at(&self.tree, &path)? {
                let held =
                    fanout_folder::entries(self.repo, Fanout::Names, self.folder(&path, &entry)?)?;
                let held = held.into_iter();
                found.extend(held.map(|held| (format!("{path}/{}", held.place), held.name)));
            }
        }
        Ok(found)
    }

    /// The active sessions, sorted by id. A damaged one is given as its failure: it hides no other.
    pub fn active(&self) -> Result<Vec<(SessionId, Result<Session>)>> {
        self.folders(layout::SESSIONS)
    }

    /// The archived sessions, newest month first.
    pub fn archived(&self) -> Result<Vec<(SessionId, Result<Session>)>> {
        let mut found = Vec::new();
        for month in self.months()?.into_iter().rev() {
            found.extend(self.folders(&format!("{}/{month}", layout::ARCHIVE))?);
        }
        Ok(found)
    }

    /// The session that was archived last of those that were bound to a branch, of the newest month that has one. A
    /// damaged session there is not asked, and there is none where very many were archived.
    pub fn last_archived_on(&self, branch: &str) -> Result<Option<Session>> {
        for month in self.months()?.into_iter().rev().take(RECENT) {
            let folders = self.entries_below(&format!("{}/{month}", layout::ARCHIVE))?;
            if folders.len() > FEW {
                return Ok(None);
            }
            let of_branch = folders
                .into_iter()
                .filter_map(|(_, folder)| self.load_folder(folder).ok())
                .filter(|session| session.state.branch.as_deref() == Some(branch));
            let last = of_branch.max_by(|a, b| a.state.touched.at.cmp(&b.state.touched.at));
            if last.is_some() {
                return Ok(last);
            }
        }
        Ok(None)
    }

    /// The sessions that were archived in the newest months, the last one first. A damaged one is left out, and so is a
    /// month in which very many were archived.
    pub fn archived_lately(&self) -> Result<Vec<Session>> {
        let mut found = Vec::new();
        for month in self.months()?.into_iter().rev().take(RECENT) {
            let folders = self.entries_below(&format!("{}/{month}", layout::ARCHIVE))?;
            if folders.len() <= FEW {
                let folders = folders.into_iter();
                found.extend(folders.filter_map(|(_, folder)| self.load_folder(folder).ok()));
            }
        }
        found.sort_by(|a, b| b.state.touched.at.cmp(&a.state.touched.at));
        Ok(found)
    }

    /// Folder of a session, by its path.
    pub(super) fn folder_of(&self, path: &str) -> Result<Option<Folder>> {
        let found = fanout::find(self.repo, &self.tree, path)?;
        Ok(found.map(|(place, entry)| {
            let path = path.to_owned();
            Folder { path, place, entry }
        }))
    }

    /// Folders of the archived sessions, newest month first.
    pub(super) fn archived_entries(&self) -> Result<Vec<Folder>> {
        let mut found = Vec::new();
        for month in self.months()?.into_iter().rev() {
            let folders = self.entries_below(&format!("{}/{month}", layout::ARCHIVE))?;
            found.extend(folders.into_iter().map(|(_, folder)| folder));
        }
        Ok(found)
    }

    /// Folders of the sessions: the active ones, sorted by id, then the archived ones, newest month first.
    pub(super) fn session_folders(&self, archived: bool) -> Result<Vec<(SessionId, Folder)>> {
        let mut found = self.entries_below(layout::SESSIONS)?;
        if archived {
            for month in self.months()?.into_iter().rev() {
                found.extend(self.entries_below(&format!("{}/{month}", layout::ARCHIVE))?);
            }
        }
        Ok(found)
    }

    fn entries_below(&self, path: &str) -> Result<Vec<(SessionId, Folder)>> {
        let Some(entry) = self.repo.entry_at(&self.tree, path)? else {
            return Ok(Vec::new());
        };
        let held = fanout_folder::entries(self.repo, Fanout::Names, self.folder(path, &entry)?)?
            .into_iter();
        Ok(held
            .filter_map(|held| {
                let id = SessionId::parse(&held.name).ok()?;
                let folder = Folder {
                    path: format!("{path}/{id}"),
                    place: format!("{path}/{}", held.place),
                    entry: held.entry,
                };
                Some((id, folder))
            })
            .collect())
    }

    fn folders(&self, path: &str) -> Result<Vec<(SessionId, Result<Session>)>> {
        Ok(self
            .entries_below(path)?
            .into_iter()
            .map(|(id, folder)| (id, self.load_folder(folder)))
            .collect())
    }

    fn months(&self) -> Result<Vec<String>> {
        let archive = self.repo.entry_at(&self.tree, layout::ARCHIVE)?;
        let Some(archive) = archive.filter(|entry| entry.kind == EntryKind::Tree) else {
            return Ok(Vec::new());
        };
        let held = self.repo.list_tree(&archive.id)?.into_iter();
        let months = held.filter(|(_, entry)| entry.kind == EntryKind::Tree);
        Ok(months.map(|(name, _)| name).collect())
    }

    /// The sessions that a code branch is bound to: several, where clones bound it apart.
    pub fn bound_to(&self, branch: &str) -> Result<Vec<SessionId>> {
        bindings::of_branch(self.repo, &self.tree, branch)
    }

    /// The session that a code branch is bound to. Refused where there are several.
    pub fn sole_bound_to(&self, branch: &str) -> Result<Option<SessionId>> {
        let mut bound = self.bound_to(branch)?;
        match bound.as_slice() {
            [] | [_] => Ok(bound.pop()),
            several => {
                let names: Vec<&str> = several.iter().map(SessionId::as_str).collect();
                Err(Failure::refused(
                    Code::BranchShared,
                    format!(
                        "the branch {branch} is bound to {}; only one session may have it",
                        names.join(" and to ")
                    ),
                )
                .help(hint![
                    command!("use {} --branch {branch}", several[0]),
                    "  (or another of them; the others let it go)"
                ]))
            }
        }
    }

    /// Snapshot of the branch with another tree, which nobody has committed.
    pub(super) fn with_tree(&self, tree: Oid) -> Self {
        Snapshot {
            repo: self.repo,
            commit: self.commit.clone(),
            tree,
        }
    }

    /// Refuses an active session whose stored state is not what its operations give: what lets code in
    /// or closes a session for good does not take a state at its word.
    pub fn require_whole(&self, session: &Session) -> Result<()> {
        let mut replayed = super::replay(self.repo, &session.state.id, &self.operations(session)?)?;
        replayed.ops = session.state.ops.clone();
        if replayed == session.state {
            return Ok(());
        }
        Err(Failure::internal(
            Code::RecordDamaged,
            format!(
                "commit {}: {}/{} differs from what its operations give",
                self.commit.short(),
                session.place,
                layout::STATE
            ),
        )
        .help(command!("fsck --repair")))
    }

    /// Every operation of a session, in file order, which is theirs.
    pub fn operations(&self, session: &Session) -> Result<Vec<Operation>> {
        operations_in(self.repo, &session.place, &session.tree)
    }

    /// Log of a recorded command, as far as it was kept.
    pub fn log(&self, session: &Session, op: &loopx_base::id::OpId) -> Result<Option<Vec<u8>>> {
        self.repo
            .blob_at(&session.tree, &format!("{}/{op}.log", layout::LOGS))
    }

    /// An artifact's bytes as they are stored.
    pub fn artifact(&self, session: &Session, artifact: Artifact) -> Result<Option<Vec<u8>>> {
        match session.state.artifacts.get(&artifact) {
            Some(blob) => self.repo.read_blob(blob).map(Some),
            None => Ok(None),
        }
    }
}

/// Tells whether a branch of this format is read here. A commit on top of it is written in the present format.
fn is_read(format: &str) -> bool {
    format == FORMAT || EARLIER.contains(&format)
}

/// The state of a session's folder, which lies at `place`: as it is stored, or where another program made it,
/// or left it to others, as the operations give it.
pub(super) fn state_of(repo: &Repo, path: &str, place: &str, tree: &Oid) -> Result<State> {
    let label = format!("{place}/{}", layout::STATE);
    let [file, ops, sealed] =
        repo.entries(tree, [layout::STATE, layout::OPS, layout::SEALED_OPS])?;
    let known = match file {
        Some(file) => {
            let bytes = repo
                .read_blob(&file.id)
                .map_err(|failure| failure.context(&label).help(command!("fsck --repair")))?;
            stored::read(repo, tree, &bytes, &label)?
        }
        None => None,
    };
    let ops = ops.or(sealed).map(|entry| entry.id);
    match known {
        Some(state) if state.ops == ops => Ok(state),
        Some(_) => Err(Failure::internal(
            Code::RecordDamaged,
            format!("{label} was computed from other operations than those that stand beside it"),
        )
        .help(command!("fsck --repair"))),
        None => {
            let name = path.rsplit('/').next().unwrap_or(path);
            let id = SessionId::parse(name)?;
            let mut state = super::replay(repo, &id, &operations_in(repo, place, tree)?)?;
            let candidate = repo.entry_at(tree, Artifact::AdrCandidate.path())?;
            settle_candidate(&mut state, candidate.map(|entry| entry.id));
            state.ops = ops;
            Ok(state)
        }
    }
}

pub(super) fn operations_in(repo: &Repo, place: &str, tree: &Oid) -> Result<Vec<Operation>> {
    if let Some(sealed) = sealed::of(repo, tree)? {
        let label = format!("{place}/{}", layout::SEALED_OPS);
        return repo
            .read_blob(&sealed.ops)?
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| Operation::parse_sealed(line, &label))
            .collect();
    }
    let Some(entry) = repo.entry_at(tree, layout::OPS)? else {
        return Ok(Vec::new());
    };
    ops::read(repo, &entry.id, &format!("{place}/{}", layout::OPS))
}
