//! The working copy of a session: `.loopx/<id>/` in the worktree, as plain files, with the blobs that
//! they were checked out from recorded in the worktree's own git dir.
//!
//! Nothing is overwritten: what changed on both sides is merged three ways, or becomes a conflict that
//! stands in the file for a person.

mod ignored;
mod merging;
mod outputs;
mod standing;

pub(crate) use ignored::{exclude, exclude_but};
pub(super) use merging::{as_utf8, marked, utf8};
pub(crate) use merging::{marker_line, merge, our_marker_line, text_of};
pub(crate) use outputs::{Outputs, require_name};
pub(crate) use standing::{FileStatus, Peek};

use super::files;
use loopx_base::failpoint::reach;
use loopx_base::failure::{Blocker, Code, Failure, Result};
use loopx_base::hint::{Hint, command, hint};
use loopx_base::id::{Oid, SessionId};
use loopx_git::Repo;
use loopx_rules::artifact::Artifact;
use loopx_rules::gate;
use loopx_rules::op::Write;
use loopx_rules::session::State;
use loopx_rules::stage::Stage;
use loopx_rules::task;
use loopx_rules::texts::Texts;
use serde::{Deserialize, Serialize};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The folder of working copies, at the top of the worktree.
pub(crate) const FOLDER: &str = ".loopx";

/// A file of more bytes is hashed in parts, where only its id is asked for.
pub(super) const LARGE: u64 = 8 * 1024 * 1024;

/// The folder of the delta in it.
const CHANGE: &str = "change";

/// Record of what the working copy was last in step with.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Bases {
    format: u32,
    bases: BTreeMap<Artifact, Oid>,
    /// Session whose files these are: two sessions may have had one name. Older records do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    uid: Option<String>,
    /// Contents that files of tasks were last in step with.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    outputs: BTreeMap<String, Oid>,
    /// Files that carry conflict markers.
    #[serde(default)]
    conflicts: BTreeSet<Artifact>,
}

/// A working copy.
pub(crate) struct WorkCopy<'r> {
    repo: &'r Repo,
    id: SessionId,
    top: PathBuf,
    bases_file: PathBuf,
    bases: Bases,
    /// Folder of the working copy, once it is known that no link leads there.
    inside: OnceCell<PathBuf>,
    /// Artifacts that a command of its own records, with what stood in their files.
    reserved: BTreeMap<Artifact, Oid>,
    /// Stage that a command is about to move the session to.
    destination: Option<Stage>,
}

/// An edited file, and the content that it was checked out from.
#[derive(Clone, Debug)]
pub(crate) struct Edited {
    pub bytes: Vec<u8>,
    pub base: Option<Oid>,
}

/// An artifact with its text between markers, and what the branch has of it.
type BothChanged = (Artifact, String, Option<Oid>);

/// Edits that are in the working copy and not on the branch.
#[derive(Debug, Default)]
pub(crate) struct Edits {
    pub writes: BTreeMap<Artifact, Write>,
    /// Contents of the changed artifacts, merged where both sides had changed; and of large artifacts that are in step with
    /// the branch.
    pub texts: Texts,
    /// Contents of the edited files when they were read, by path; those of tasks among them.
    pub taken: BTreeMap<String, Oid>,
    /// Files of tasks.
    pub outputs: Outputs,
}

/// A file of a session's working copy as somebody opens it from the current folder; the whole folder where none is named.
pub(crate) fn shown(repo: &Repo, id: &SessionId, below: &str) -> String {
    let path = format!("{FOLDER}/{id}/{below}");
    files::shown(repo, path.trim_end_matches('/'))
}

impl<'r> WorkCopy<'r> {
    /// The working copy of a session in this worktree; `None` in a bare repository.
    pub(crate) fn open(repo: &'r Repo, id: &SessionId) -> Result<Option<Self>> {
        let Some(top) = repo.work_dir() else {
            return Ok(None);
        };
        let bases_file = repo.git_dir().join("loopx").join(format!("{id}.json"));
        let bases = match files::read(&bases_file, u64::MAX)? {
            // A torn or foreign file only costs the bases: files are then compared with the branch.
            Some(bytes) => serde_json::from_slice(&bytes).unwrap_or_default(),
            None => Bases::default(),
        };
        // Without its folder nothing was removed by hand: it was cleaned away (git clean -x), or this is
        // another worktree of the same git dir (GIT_WORK_TREE).
        let bases = if top.join(FOLDER).join(id.as_str()).is_dir() {
            bases
        } else {
            Bases::default()
        };
        Ok(Some(WorkCopy {
            repo,
            id: id.clone(),
            top: top.to_path_buf(),
            bases_file,
            bases,
            inside: OnceCell::new(),
            reserved: BTreeMap::new(),
            destination: None,
        }))
    }

    /// Path of an artifact, absolute.
    pub(crate) fn path(&self, artifact: Artifact) -> Result<PathBuf> {
        files::inside(&self.top, &format!("{FOLDER}/{}/{artifact}", self.id))
    }

    /// The folder, relative to the top of the worktree.
    pub(crate) fn folder(&self) -> String {
        format!("{FOLDER}/{}", self.id)
    }

    /// A file of it, as somebody opens it from the current folder.
    fn shown(&self, below: &str) -> String {
        shown(self.repo, &self.id, below)
    }

    /// Tells whether this worktree has ever checked the session out.
    pub(crate) fn exists(&self) -> bool {
        !self.bases.bases.is_empty() || !self.bases.outputs.is_empty()
    }

    /// The artifacts of which a file may be here, by two looks at folders: most have none.
    fn listed(&self) -> Result<Vec<Artifact>> {
        let folder = files::inside(&self.top, &self.folder())?;
        let names = files::names(&folder);
        let change = match &names {
            Some(names) if !names.contains(CHANGE) => Some(BTreeSet::new()),
            // What is no folder of its own is said where a file in it is read; a link may lead to an empty one.
            _ => files::names(&files::inside(&folder, CHANGE)?),
        };
        let may_be = |artifact: &Artifact| {
            let (names, name) = match artifact.path().split_once('/') {
                Some((_, name)) => (&change, name),
                None => (&names, artifact.path()),
            };
            names.as_ref().is_none_or(|names| names.contains(name))
        };
        Ok(Artifact::ALL.into_iter().filter(may_be).collect())
    }

    /// The folder is looked at once: all artifacts are read one after the other.
    fn read(&self, artifact: Artifact, max: u64) -> Result<Option<Vec<u8>>> {
        let folder = match self.inside.get() {
            Some(folder) => folder,
            None => {
                let folder = files::inside(&self.top, &self.folder())?;
                self.inside.get_or_init(|| folder)
            }
        };
        let read = files::read(&files::inside(folder, artifact.path())?, max);
        read.map_err(|failure| match failure.code {
            // Once it is moved away the file counts as removed here.
            Code::FileExpected => failure.help(hint![
                "move it away, then run: ",
                command!("checkout --force {artifact}")
            ]),
            _ => failure,
        })
    }

    /// The id that the file of an artifact has as a blob, which may be one of `known`.
    fn id_of_file<'k>(
        &self,
        artifact: Artifact,
        known: impl IntoIterator<Item = &'k Oid>,
    ) -> Result<Option<Oid>> {
        let in_parts = || self.repo.hash_file(&self.path(artifact)?).map(Some);
        self.id_of_file_or(artifact, known, in_parts)
    }

    /// [`WorkCopy::id_of_file`], where `large` finds that of a large file.
    fn id_of_file_or<'k>(
        &self,
        artifact: Artifact,
        known: impl IntoIterator<Item = &'k Oid>,
        large: impl FnOnce() -> Result<Option<Oid>>,
    ) -> Result<Option<Oid>> {
        let bytes = match self.read(artifact, LARGE) {
            Err(failure) if failure.code == Code::ArtifactTooLarge => return large(),
            read => read?,
        };
        let hash = |bytes: Vec<u8>| self.repo.hash_blob_like(&bytes, known);
        bytes.map(hash).transpose()
    }

    /// Content that a file was last in step with.
    pub(crate) fn base(&self, artifact: Artifact) -> Option<&Oid> {
        self.bases.bases.get(&artifact)
    }

    /// A file with edits, which are neither what it was checked out from nor what the branch has.
    pub(crate) fn edited(&self, state: &State, artifact: Artifact) -> Result<Option<Edited>> {
        self.require_own(state)?;
        let Some(bytes) = self.read(artifact, u64::MAX)? else {
            return Ok(None);
        };
        let base = self.base(artifact);
        let hash = Some(self.repo.hash_blob(&bytes)?);
        let is_edit = hash.as_ref() != base && hash.as_ref() != state.artifacts.get(&artifact);
        Ok(is_edit.then(|| Edited {
            bytes,
            base: base.cloned(),
        }))
    }

    /// Leaves an edited file to a command that records it in its own way: no save takes it in, and it counts as taken
    /// in once that is recorded.
    pub(crate) fn reserve(&mut self, artifact: Artifact, edited: &Edited) -> Result<()> {
        let hash = self.repo.hash_blob(&edited.bytes)?;
        self.reserved.insert(artifact, hash);
        Ok(())
    }

    /// Takes in edits, too, of what is open only in the stage to which a command moves the session. What was removed here
    /// is no edit of it.
    pub(crate) fn enter(&mut self, stage: Stage) {
        self.destination = Some(stage);
    }

    /// Puts both sides of a conflict into a file, for a person to choose: an edit of what the branch has, from here on.
    pub(crate) fn put_conflict(
        &mut self,
        state: &State,
        artifact: Artifact,
        marked: &str,
    ) -> Result<()> {
        self.mark(artifact, marked, state.artifacts.get(&artifact).cloned())?;
        self.write_bases()
    }

    fn mark(&mut self, artifact: Artifact, marked: &str, tip: Option<Oid>) -> Result<()> {
        files::write(&self.path(artifact)?, marked.as_bytes())?;
        if let Some(tip) = tip {
            self.bases.bases.insert(artifact, tip);
        }
        self.bases.conflicts.insert(artifact);
        Ok(())
    }

    /// The uid of the session whose files these are, where that is known.
    pub(crate) fn uid(&self) -> Option<&str> {
        self.bases.uid.as_deref()
    }

    /// Refuses files that were written for another session, which has another name since.
    fn require_own(&self, state: &State) -> Result<()> {
        match self.uid() {
            Some(uid) if uid != state.uid => Err(Failure::refused(
                Code::WorkingCopyForeign,
                format!(
                    "the files in {} belong to another session: two sessions had this name, and the other one is named {} now",
                    self.shown(""),
                    self.id.beside(uid)
                ),
            )
            .help(command!("checkout").session(&self.id).note("(moves them to their session)"))),
            _ => Ok(()),
        }
    }

    /// Refuses edits where the branch has the folder: git wrote them over what stood there, with words that somebody
    /// else committed.
    fn require_untracked(&self) -> Result<()> {
        let Some(head) = self.repo.head()?.commit else {
            return Ok(());
        };
        let folder = self.folder();
        let tree = self.repo.commit_info(&head)?.tree;
        if self.repo.entry_at(&tree, &folder)?.is_none() {
            return Ok(());
        }
        Err(Failure::refused(
            Code::WorkingCopyCommitted,
            format!(
                "expected no commit to have {folder}, found it in {}: its files may be somebody else's text that git checked out",
                head.short()
            ),
        )
        .help(hint![
            format!("git rm -rq {folder} && git commit, then: "),
            command!("checkout"),
            "  (writes what is stored)"
        ]))
    }

    /// Reads what was edited here. Refuses, with nothing written, an artifact that cannot be read, or
    /// that is closed at this stage. What changed on both sides is merged; where that conflicts, the
    /// three sides are put into the file and the whole save is a conflict.
    pub(crate) fn collect(&mut self, state: &State, max_bytes: u64) -> Result<Edits> {
        self.require_own(state)?;
        let mut edits = Edits::default();
        let mut conflicts: Vec<BothChanged> = Vec::new();
        let listed = self.listed()?;
        for artifact in Artifact::ALL {
            if matches!(artifact, Artifact::ArtifactGraph | Artifact::AdrCandidate) {
                continue;
            }
            if let Some(hash) = self.reserved.get(&artifact) {
                edits.taken.insert(artifact.path().to_owned(), hash.clone());
                continue;
            }
            let bytes = if listed.contains(&artifact) {
                self.read(artifact, max_bytes)?
            } else {
                None
            };
            conflicts.extend(self.collect_artifact(artifact, bytes, state, &mut edits)?);
        }
        if conflicts.is_empty() {
            edits.outputs = self.collect_outputs(state, max_bytes, |_| true)?;
            edits.taken.extend(edits.outputs.taken.clone());
            if !(edits.writes.is_empty() && edits.outputs.writes.is_empty()) {
                self.require_untracked()?;
            }
            return Ok(edits);
        }
        Err(self.conflicting(conflicts)?)
    }

    /// Takes the edit of one artifact in, as its file has it or as it merges with what the branch has; gives the conflict,
    /// where it does not merge.
    fn collect_artifact(
        &mut self,
        artifact: Artifact,
        bytes: Option<Vec<u8>>,
        state: &State,
        edits: &mut Edits,
    ) -> Result<Option<BothChanged>> {
        let base = self.bases.bases.get(&artifact).cloned();
        let tip = state.artifacts.get(&artifact).cloned();
        let Some(bytes) = bytes else {
            if base.is_some() && base == tip {
                self.check_open(artifact, state)?;
                let write = Write {
                    from: base,
                    to: None,
                };
                edits.writes.insert(artifact, write);
            }
            return Ok(None);
        };
        let file = self.repo.hash_blob_like(&bytes, tip.iter().chain(&base))?;
        if Some(&file) == tip.as_ref() && bytes.len() as u64 > LARGE {
            // Nobody has to read it out of its object.
            edits.texts.insert(artifact, text_of(bytes));
            return Ok(None);
        }
        if Some(&file) == base.as_ref() || Some(&file) == tip.as_ref() {
            return Ok(None);
        }
        let text = self.check(artifact, bytes, state)?;
        edits.taken.insert(artifact.path().to_owned(), file.clone());
        let (text, to) = if base == tip || tip.is_none() {
            (text, file)
        } else {
            match self.merge(artifact, base.as_ref(), &text, tip.as_ref())? {
                Ok(merged) => {
                    let to = self.repo.hash_blob(merged.as_bytes())?;
                    (merged, to)
                }
                Err(marked) => return Ok(Some((artifact, marked, tip))),
            }
        };
        if Some(&to) == tip.as_ref() {
            // The branch has all that stands here: the file only has to follow, as it does after a kill between the
            // commit and the working copy.
            files::write(&self.path(artifact)?, text.as_bytes())?;
            self.bases.bases.insert(artifact, to);
            self.write_bases()?;
            return Ok(None);
        }
        let write = Write {
            from: tip,
            to: Some(to),
        };
        edits.writes.insert(artifact, write);
        edits.texts.insert(artifact, text);
        Ok(None)
    }

    /// Puts the sides of each conflict into its file, and tells of them.
    fn conflicting(&mut self, conflicts: Vec<BothChanged>) -> Result<Failure> {
        self.require_untracked()?;
        let mut blockers = Vec::new();
        for (artifact, marked, tip) in conflicts {
            // From here on the file is an edit of what the branch has.
            self.mark(artifact, &marked, tip)?;
            blockers.push(self.both_sides(artifact));
        }
        self.write_bases()?;
        Ok(Failure::conflict(
            Code::ArtifactConflict,
            "what you edited was changed by somebody else meanwhile; nothing was saved",
        )
        .blockers(blockers)
        .help(hint![
            "choose between the marked sides, then run: ",
            command!("save")
        ]))
    }

    /// Refuses edits that could not be saved.
    pub(crate) fn require_savable(&self, state: &State) -> Result<()> {
        let mut is_edited = false;
        for (artifact, status) in self.statuses(state)? {
            if matches!(status, FileStatus::Modified | FileStatus::Deleted) {
                self.check_open(artifact, state)?;
                is_edited = true;
            }
        }
        if is_edited {
            self.require_untracked()?;
        }
        Ok(())
    }

    /// Refuses an artifact that is closed in this stage.
    pub(crate) fn check_open(&self, artifact: Artifact, state: &State) -> Result<()> {
        if state.is_open(artifact) {
            return Ok(());
        }
        let why = match artifact {
            Artifact::Intent => "the intent is kept as it was given".to_owned(),
            _ => format!("{artifact} is closed in stage {}", state.stage),
        };
        Err(Failure::refused(
            Code::ArtifactLocked,
            format!("{} was changed, but {why}", self.shown(artifact.path())),
        )
        .help(if is_amended(artifact, state) && self.has_list() {
            closed_list_help(command!("amend --reason WHY"))
        } else {
            command!("checkout --force {artifact}").note("(your text is kept as a blob and named)")
        }))
    }

    /// Tells whether a list of tasks stands in the working copy that an amendment could take.
    fn has_list(&self) -> bool {
        let bytes = self.read(Artifact::TaskList, u64::MAX).ok().flatten();
        let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
        text.is_some_and(|text| task::file::read(&text).is_ok())
    }

    /// The text of a changed artifact, if it may be saved.
    fn check(&self, artifact: Artifact, bytes: Vec<u8>, state: &State) -> Result<String> {
        let is_open_there = |stage| state.is_open_in(artifact, stage);
        if !self.destination.is_some_and(is_open_there) {
            self.check_open(artifact, state)?;
        }
        let path = self.shown(artifact.path());
        let text = utf8(bytes, &path, command!("edit {artifact}"))?;
        let is_contested = self.bases.conflicts.contains(&artifact)
            || state
                .contested()
                .any(|(contested, _)| contested == artifact);
        let line = if is_contested {
            marker_line(&text)
        } else {
            our_marker_line(&text)
        };
        if let Some(line) = line {
            let help = hint![
                "choose between the marked sides: ",
                command!("edit {artifact}")
            ];
            return Err(marked(&path, line, help));
        }
        let faults = gate::faults(artifact, &text);
        if let Some(first) = faults.first() {
            return Err(
                Failure::refused(Code::ArtifactInvalid, self.shown(&first.message))
                    .help(first.help.clone())
                    .blockers(faults),
            );
        }
        Ok(text)
    }

    /// The blocker for a file in which both sides of a conflict stand.
    pub(crate) fn both_sides(&self, artifact: Artifact) -> Blocker {
        Blocker::new(
            Code::ArtifactConflict,
            format!(
                "{} was changed here and on the branch; both sides stand in the file",
                self.shown(artifact.path())
            ),
            command!("edit {artifact}"),
        )
    }

    fn merge(
        &self,
        artifact: Artifact,
        base: Option<&Oid>,
        ours: &str,
        theirs: Option<&Oid>,
    ) -> Result<std::result::Result<String, String>> {
        merge(self.repo, artifact, (base, theirs), ours)
    }

    /// Brings the files in step with the branch after a commit: what is unedited follows, what is edited
    /// stays. `taken` are the edits that the commit took in, as they stood in the files.
    pub(crate) fn publish(&mut self, state: &State, taken: &BTreeMap<String, Oid>) -> Result<()> {
        self.require_own(state)?;
        self.bases.uid = Some(state.uid.clone());
        reach("working-copy-before");
        for folder in [self.folder(), format!("{}/change", self.folder())] {
            files::sweep(&files::inside(&self.top, &folder)?);
        }
        for artifact in Artifact::ALL {
            let tip = state.artifacts.get(&artifact);
            let base = self.bases.bases.get(&artifact).cloned();
            // A file that neither the branch nor this worktree knows stays as it is.
            if tip.is_none() && base.is_none() && !self.bases.conflicts.contains(&artifact) {
                continue;
            }
            let hash = self.id_of_file(artifact, tip)?;
            if hash.as_ref() != tip {
                // An edit made since the files were collected is one that the commit does not have.
                let taken_in = hash.is_some() && hash.as_ref() == taken.get(artifact.path());
                let unedited = hash == base || taken_in;
                match (unedited, tip) {
                    (true, Some(tip)) => {
                        let path = self.path(artifact)?;
                        self.repo
                            .with_blob(tip, |bytes| files::write(&path, bytes))??;
                    }
                    (true, None) => files::remove(&self.path(artifact)?)?,
                    (false, _) => continue,
                }
            }
            self.bases.conflicts.remove(&artifact);
            match tip {
                Some(tip) => self.bases.bases.insert(artifact, tip.clone()),
                None => self.bases.bases.remove(&artifact),
            };
        }
        self.publish_outputs(state, taken)?;
        self.write_bases()?;
        reach("working-copy-after");
        Ok(())
    }

    /// Replaces one file by what the branch has. Edits that this throws away are kept as a blob, whose
    /// id is returned.
    pub(crate) fn restore(&mut self, state: &State, artifact: Artifact) -> Result<Option<Oid>> {
        self.require_own(state)?;
        let path = self.path(artifact)?;
        let tip = state.artifacts.get(&artifact);
        let kept = match files::read(&path, u64::MAX)? {
            Some(bytes) => {
                let hash = self.repo.hash_blob(&bytes)?;
                if Some(&hash) == tip {
                    None
                } else {
                    Some(self.set_aside(bytes)?)
                }
            }
            None => None,
        };
        match tip {
            Some(tip) => {
                self.repo
                    .with_blob(tip, |bytes| files::write(&path, bytes))??;
                self.bases.bases.insert(artifact, tip.clone());
            }
            None => {
                files::remove(&path)?;
                self.bases.bases.remove(&artifact);
            }
        }
        self.bases.conflicts.remove(&artifact);
        Ok(kept)
    }

    /// Keeps what stands in a file and nowhere else as a blob, whose id is returned.
    /// `stood` is the id of it where somebody found that out.
    pub(crate) fn keep_unsaved(
        &self,
        state: &State,
        artifact: Artifact,
        stood: Option<&Oid>,
    ) -> Result<Option<Oid>> {
        let known = [
            state.artifacts.get(&artifact),
            self.bases.bases.get(&artifact),
        ];
        let hash = match stood {
            Some(id) => Some(id.clone()),
            None => self.id_of_file(artifact, known.into_iter().flatten())?,
        };
        if hash.is_none() || known.contains(&hash.as_ref()) {
            return Ok(None);
        }
        let bytes = self.read(artifact, u64::MAX)?;
        bytes.map(|bytes| self.set_aside(bytes)).transpose()
    }

    /// A blob that hangs on nothing: a person who wants it has git's grace time.
    fn set_aside(&self, bytes: Vec<u8>) -> Result<Oid> {
        let id = self.repo.store_blob(bytes)?;
        self.repo.keep(&id)?;
        self.repo.release();
        Ok(id)
    }

    /// Removes the working copy of a session that ended, except files with edits.
    pub(crate) fn retire(&mut self) -> Result<()> {
        for artifact in Artifact::ALL {
            let path = self.path(artifact)?;
            let Some(bytes) = files::read(&path, u64::MAX)? else {
                continue;
            };
            if self.bases.bases.get(&artifact) == Some(&self.repo.hash_blob(&bytes)?) {
                files::remove(&path)?;
            }
        }
        self.retire_outputs()?;
        let folder = self.top.join(self.folder());
        // Folders go only when they are empty.
        for dir in [folder.join("change"), folder, self.top.join(FOLDER)] {
            drop(std::fs::remove_dir(dir));
        }
        files::remove(&self.bases_file)
    }

    /// Writes down what the files rest on.
    pub(crate) fn write_bases(&mut self) -> Result<()> {
        self.bases.format = 1;
        let text = loopx_rules::op::to_json(&self.bases)?;
        files::write_in_git_dir(self.repo, &self.bases_file, &text)
    }
}

/// The folder in which the sides of specs wait that an archive found in conflict.
pub(crate) const CONFLICTS: &str = "conflicts";

/// The folders of a session's folder that the program makes.
const OWN_FOLDERS: [&str; 2] = [task::outputs::FOLDER, CONFLICTS];

/// The files of a session's folder that are no artifacts, and stay here. Names with a dot in front and backups of editors
/// are not meant to be.
pub(crate) fn not_saved(repo: &Repo, state: &State) -> Vec<String> {
    let Some(top) = repo.work_dir() else {
        return Vec::new();
    };
    let folder = top.join(FOLDER).join(state.id.as_str());
    let is_known = |path: &str| {
        let path = path.to_lowercase();
        let kept = |known: &str| known == path || known.starts_with(&format!("{path}/"));
        Artifact::ALL.iter().any(|one| kept(one.path()))
            || state.files.keys().any(|known| kept(&known.to_lowercase()))
    };
    let mut found = Vec::new();
    for below in ["", "change/"] {
        let Ok(entries) = std::fs::read_dir(folder.join(below)) else {
            continue;
        };
        let names = entries.flatten().map(|entry| entry.file_name());
        let paths = names
            .map(|name| name.to_string_lossy().into_owned())
            .filter(|name| !name.starts_with('.') && !name.ends_with('~'))
            .map(|name| format!("{below}{name}"));
        found.extend(paths.filter(|path| !is_known(path) && !OWN_FOLDERS.contains(&path.as_str())));
    }
    // Of tasks that the list does not have.
    let mut left = BTreeSet::new();
    outputs::walk(&folder, task::outputs::FOLDER, &mut left);
    found.extend(
        left.into_iter()
            .filter(|path| !state.files.contains_key(path)),
    );
    found.sort();
    found
}

/// Tells whether a file is a note of what a working copy was last in step with.
pub(crate) fn is_note(file: &Path) -> bool {
    let note = std::fs::read(file).ok();
    note.and_then(|bytes| serde_json::from_slice::<Bases>(&bytes).ok())
        .is_some_and(|bases| bases.format > 0)
}

/// The ways on from an edit of the list that was approved; `amend` is the command that policy wants.
pub(super) fn closed_list_help(amend: Hint) -> Hint {
    hint![
        amend,
        "  or: ",
        command!("checkout --force {}", Artifact::TaskList),
        "  (your text is kept as a blob and named)"
    ]
}

/// Tells whether an artifact that is closed in this stage is changed by an amendment.
pub(super) fn is_amended(artifact: Artifact, state: &State) -> bool {
    artifact == Artifact::TaskList && state.stage == Stage::Build && !state.is_open(artifact)
}
