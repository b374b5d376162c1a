//! The files of tasks in a working copy, `.loopx/<id>/tasks/<task>/...`: any bytes, under any name that a task may
//! leave. They are open in every stage, and follow the branch as artifacts do.

use super::merging::{OURS, THEIRS};
use super::{FOLDER, FileStatus, WorkCopy, our_marker_line};
use crate::flow::files;
use loopx_base::failure::{Blocker, Code, Failure, Result};
use loopx_base::hint::{command, hint};
use loopx_base::id::Oid;
use loopx_git::merge::{Labels, merge_file};
use loopx_rules::op::Write;
use loopx_rules::session::State;
use loopx_rules::task::outputs;
use loopx_rules::task::outputs::MOST;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Files of tasks that are not on the branch as they stand here.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outputs {
    pub writes: BTreeMap<String, Write>,
    /// Contents that are to be written.
    pub contents: BTreeMap<String, Vec<u8>>,
    /// Files of which the branch has all that stands in them, and more: they have to follow, as after a kill between
    /// the commit and the working copy.
    followed: BTreeMap<String, Vec<u8>>,
    /// Contents of the files when they were read.
    pub taken: BTreeMap<String, Oid>,
}

impl Outputs {
    pub(crate) fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    /// Files that the session has and that were removed here.
    pub(crate) fn removed(&self) -> impl Iterator<Item = &str> {
        let removed = self.writes.iter().filter(|(_, write)| write.to.is_none());
        removed.map(|(path, _)| path.as_str())
    }

    /// Leaves out the files of whose task nobody knows.
    pub(crate) fn retain(&mut self, is_known: impl Fn(&str) -> bool) {
        let of = |path: &str| outputs::task_of(path).is_some_and(&is_known);
        self.writes.retain(|path, _| of(path));
        self.contents.retain(|path, _| of(path));
        self.taken.retain(|path, _| of(path));
    }

    /// The state with them in it.
    pub(crate) fn enter(&self, state: &mut State) {
        for (path, write) in &self.writes {
            match &write.to {
                Some(blob) => state.files.insert(path.clone(), vec![blob.clone()]),
                None => state.files.remove(path),
            };
        }
    }
}

impl WorkCopy<'_> {
    /// Path of a file of a task, absolute.
    pub(crate) fn output_path(&self, path: &str) -> Result<PathBuf> {
        files::inside(&self.top, &format!("{}/{path}", self.folder()))
    }

    /// The paths of the files of tasks that are here.
    fn outputs_found(&self) -> Result<BTreeSet<String>> {
        let mut found = BTreeSet::new();
        let top = files::inside(&self.top, &self.folder())?;
        if top.join(outputs::FOLDER).is_dir() {
            walk(&top, outputs::FOLDER, &mut found);
        }
        Ok(found)
    }

    /// Every path that is known here, in this worktree or on the branch.
    fn outputs_known(&self, state: &State) -> Result<BTreeSet<String>> {
        let mut known = self.outputs_found()?;
        known.extend(self.bases.outputs.keys().cloned());
        let stored = state.files.keys();
        known.extend(
            stored
                .filter(|path| outputs::task_of(path).is_some())
                .cloned(),
        );
        Ok(known)
    }

    fn read_output(&self, path: &str, max: u64) -> Result<Option<Vec<u8>>> {
        match files::read(&self.output_path(path)?, max) {
            // A folder stands where it was.
            Err(failure) if failure.code == Code::FileExpected => Ok(None),
            read => read,
        }
    }

    /// Status of every file of a task here, without changing anything.
    pub(crate) fn output_statuses(&self, state: &State) -> Result<BTreeMap<String, FileStatus>> {
        self.require_own(state)?;
        let mut statuses = BTreeMap::new();
        for path in self.outputs_known(state)? {
            let bytes = self.read_output(&path, u64::MAX)?;
            let file = bytes.map(|bytes| self.repo.hash_blob(&bytes)).transpose()?;
            let base = self.bases.outputs.get(&path);
            let tip = state.output(&path);
            let is_apart = state.files.get(&path).is_some_and(|all| all.len() > 1);
            let status = if is_apart && file.as_ref() == tip {
                FileStatus::Conflicted
            } else {
                FileStatus::of(file.as_ref(), base, tip)
            };
            statuses.insert(path, status);
        }
        Ok(statuses)
    }

    /// Reads what was edited here of the tasks that are meant. Refuses, with nothing written, a file that cannot be
    /// kept. What changed on both sides is merged; where that is not possible the whole save is a conflict.
    pub(crate) fn collect_outputs(
        &mut self,
        state: &State,
        max_bytes: u64,
        is_meant: impl Fn(&str) -> bool,
    ) -> Result<Outputs> {
        let (all, conflicts) = self.peek_outputs(state, max_bytes, is_meant)?;
        if !conflicts.is_empty() {
            return Err(self.outputs_conflict(conflicts)?);
        }
        for (path, merged) in &all.followed {
            files::write(&self.output_path(path)?, merged)?;
            let blob = self.repo.hash_blob(merged)?;
            self.bases.outputs.insert(path.clone(), blob);
        }
        if !all.followed.is_empty() {
            self.write_bases()?;
        }
        Ok(all)
    }

    /// Reads what a save would take in, and what it would refuse; nothing is written.
    pub(crate) fn peek_outputs(
        &self,
        state: &State,
        max_bytes: u64,
        is_meant: impl Fn(&str) -> bool,
    ) -> Result<(Outputs, Vec<Clash>)> {
        self.require_own(state)?;
        let mut all = Outputs::default();
        let mut conflicts = Vec::new();
        // What is on the branch alone was not edited here.
        let mut here = self.outputs_found()?;
        here.extend(self.bases.outputs.keys().cloned());
        self.require_files(&here, &is_meant)?;
        for path in here.into_iter().filter(|path| is_meant(path)) {
            let base = self.bases.outputs.get(&path).cloned();
            let tip = state.output(&path).cloned();
            let Some(bytes) = self.read_output(&path, max_bytes)? else {
                if base.is_some() && base == tip {
                    let write = Write {
                        from: base,
                        to: None,
                    };
                    all.writes.insert(path, write);
                } else if base.is_some() && tip.is_some() {
                    let merge = Merge::Gone;
                    conflicts.push(Clash { path, merge, tip });
                }
                continue;
            };
            let file = self.repo.hash_blob(&bytes)?;
            if Some(&file) == base.as_ref() || Some(&file) == tip.as_ref() {
                continue;
            }
            self.check_output(&path, &bytes, state)?;
            let merged = if base == tip || tip.is_none() {
                Some(bytes)
            } else {
                match self.merge_output(base.as_ref(), &bytes, tip.as_ref())? {
                    Merge::Clean(merged) => Some(merged),
                    merge => {
                        let path = path.clone();
                        let tip = tip.clone();
                        conflicts.push(Clash { path, merge, tip });
                        None
                    }
                }
            };
            let Some(merged) = merged else { continue };
            let to = self.repo.hash_blob(&merged)?;
            if Some(&to) == tip.as_ref() {
                all.followed.insert(path, merged);
                continue;
            }
            all.taken.insert(path.clone(), file);
            let write = Write {
                from: tip,
                to: Some(to),
            };
            all.writes.insert(path.clone(), write);
            all.contents.insert(path, merged);
        }
        require_room(state, &all)?;
        Ok((all, conflicts))
    }

    /// Refuses a folder in the place of a file that is known here, where nothing in it takes the place of that.
    fn require_files(
        &self,
        here: &BTreeSet<String>,
        is_meant: impl Fn(&str) -> bool,
    ) -> Result<()> {
        let known = self.bases.outputs.keys();
        for path in known.filter(|path| is_meant(path)) {
            let below = format!("{path}/");
            let next = here.range(below.clone()..).next();
            let has_files = next.is_some_and(|next| next.starts_with(&below));
            let place = self.output_path(path)?;
            if !has_files && std::fs::symlink_metadata(&place).is_ok_and(|meta| meta.is_dir()) {
                return Err(Failure::refused(
                    Code::FileExpected,
                    format!("{} is not a file", self.shown(path)),
                )
                .help(hint![
                    "move it away, then run: ",
                    command!("checkout --force {path}")
                ]));
            }
        }
        Ok(())
    }

    /// Refuses a file that nobody could keep.
    pub(crate) fn check_output(&self, path: &str, bytes: &[u8], state: &State) -> Result<()> {
        let shown = self.shown(path);
        require_name(path)?;
        if state.files.get(path).is_some_and(|all| all.len() > 1) {
            return Err(Failure::conflict(
                Code::ArtifactConflict,
                format!("{path} was written apart, and nobody has chosen yet"),
            )
            .help(command!("resolve {path}")));
        }
        let text = std::str::from_utf8(bytes).unwrap_or_default();
        match our_marker_line(text) {
            Some(line) => Err(Failure::conflict(
                Code::ArtifactConflict,
                format!("{shown}:{line}: conflict markers are still there"),
            )
            .help(hint![
                "choose between the marked sides: ",
                command!("edit {path}")
            ])),
            None => Ok(()),
        }
    }

    fn merge_output(&self, base: Option<&Oid>, ours: &[u8], tip: Option<&Oid>) -> Result<Merge> {
        let read =
            |id: Option<&Oid>| id.map_or_else(|| Ok(Vec::new()), |id| self.repo.read_blob(id));
        let theirs = read(tip)?;
        let base = match read(base) {
            Err(failure) if failure.is_of_missing_object() => Vec::new(),
            known => known?,
        };
        let is_text = |bytes: &[u8]| !bytes.contains(&0) && std::str::from_utf8(bytes).is_ok();
        if ![&base, ours, &theirs].into_iter().all(is_text) {
            return Ok(Merge::Unlike);
        }
        let labels = Labels {
            base: "as it was",
            ours: OURS,
            theirs: THEIRS,
        };
        let merged = merge_file(&base, ours, &theirs, labels)?;
        Ok(if merged.clean {
            Merge::Clean(merged.text)
        } else {
            Merge::Marked(merged.text)
        })
    }

    /// Puts both sides into the files that carry text. From here on a file is an edit of what the branch has.
    fn outputs_conflict(&mut self, conflicts: Vec<Clash>) -> Result<Failure> {
        let mut blockers = Vec::new();
        for Clash { path, merge, tip } in conflicts {
            let said = match merge {
                Merge::Clean(_) => continue,
                Merge::Marked(marked) => {
                    files::write(&self.output_path(&path)?, &marked)?;
                    "both sides stand in the file"
                }
                Merge::Unlike => "it is no text: your file stays, and the next save takes it",
                Merge::Gone => "you removed it: it stays so, and the next save removes it there",
            };
            if let Some(tip) = tip {
                self.bases.outputs.insert(path.clone(), tip);
            }
            blockers.push(Blocker::new(
                Code::ArtifactConflict,
                format!(
                    "{} was changed here and on the branch; {said}",
                    self.shown(&path)
                ),
                command!("checkout --force {path}").note("(takes what the branch has)"),
            ));
        }
        self.write_bases()?;
        Ok(Failure::conflict(
            Code::ArtifactConflict,
            "what you edited was changed by somebody else meanwhile; nothing was saved",
        )
        .blockers(blockers)
        .help(hint!["choose, then run: ", command!("save")]))
    }

    /// Brings the files in step with the branch after a commit, as [`WorkCopy::publish`] does with artifacts.
    pub(super) fn publish_outputs(
        &mut self,
        state: &State,
        taken: &BTreeMap<String, Oid>,
    ) -> Result<()> {
        let known = self.outputs_known(state)?;
        let folders: BTreeSet<&str> = known.iter().filter_map(|path| parent(path)).collect();
        for folder in folders {
            files::sweep(&self.output_path(folder)?);
        }
        // Of names that a file system may take for one the first is here, lest one stands in the other's place.
        let mut names = BTreeSet::new();
        for path in &known {
            let tip = state.output(path);
            let base = self.bases.outputs.get(path).cloned();
            if tip.is_none() && base.is_none() || outputs::fault(path).is_some() {
                continue;
            }
            if tip.is_some() && !names.insert(path.to_lowercase()) {
                continue;
            }
            if base.as_ref() == tip {
                continue;
            }
            let file = self.read_output(path, u64::MAX)?;
            let hash = file.map(|bytes| self.repo.hash_blob(&bytes)).transpose()?;
            if hash.as_ref() != tip {
                let is_taken = hash.is_some() && hash.as_ref() == taken.get(path);
                match (hash == base || is_taken, tip) {
                    (true, Some(tip)) => {
                        files::write(&self.output_path(path)?, &self.repo.read_blob(tip)?)?;
                    }
                    (true, None) => self.remove_output(path)?,
                    (false, _) => continue,
                }
            }
            match tip {
                Some(tip) => self.bases.outputs.insert(path.clone(), tip.clone()),
                None => self.bases.outputs.remove(path),
            };
        }
        Ok(())
    }

    /// Replaces one file by what the branch has, as [`WorkCopy::restore`] does with an artifact.
    pub(crate) fn restore_output(&mut self, state: &State, path: &str) -> Result<Option<Oid>> {
        self.require_own(state)?;
        require_name(path)?;
        let tip = state.output(path).cloned();
        let kept = self.keep_output(state, path)?;
        match &tip {
            Some(tip) => {
                files::write(&self.output_path(path)?, &self.repo.read_blob(tip)?)?;
                self.bases.outputs.insert(path.to_owned(), tip.clone());
            }
            None => {
                self.remove_output(path)?;
                self.bases.outputs.remove(path);
            }
        }
        Ok(kept)
    }

    /// Keeps what stands in a file and nowhere else as a blob, whose id is returned.
    pub(crate) fn keep_output(&self, state: &State, path: &str) -> Result<Option<Oid>> {
        let Some(bytes) = self.read_output(path, u64::MAX)? else {
            return Ok(None);
        };
        let hash = self.repo.hash_blob(&bytes)?;
        let known = [state.output(path), self.bases.outputs.get(path)];
        if known.contains(&Some(&hash)) {
            Ok(None)
        } else {
            self.set_aside(bytes).map(Some)
        }
    }

    /// Removes the files of a session that ended, except those with edits.
    pub(super) fn retire_outputs(&mut self) -> Result<()> {
        for (path, base) in self.bases.outputs.clone() {
            let Some(bytes) = self.read_output(&path, u64::MAX)? else {
                continue;
            };
            if self.repo.hash_blob(&bytes)? == base {
                self.remove_output(&path)?;
            }
        }
        Ok(())
    }

    /// Removes a file, and the folders that it leaves empty.
    fn remove_output(&self, path: &str) -> Result<()> {
        files::remove(&self.output_path(path)?)?;
        let mut above = parent(path);
        while let Some(folder) = above {
            // One with something in it stays.
            if std::fs::remove_dir(self.output_path(folder)?).is_err() {
                break;
            }
            above = parent(folder);
        }
        Ok(())
    }
}

/// A file that was changed here and on the branch.
#[derive(Debug)]
pub(crate) struct Clash {
    path: String,
    merge: Merge,
    tip: Option<Oid>,
}

/// The result of merging a file.
#[derive(Debug)]
enum Merge {
    Clean(Vec<u8>),
    /// File in which both sides stand between markers.
    Marked(Vec<u8>),
    /// Sides of which one is no text.
    Unlike,
    /// File that was removed here.
    Gone,
}

fn parent(path: &str) -> Option<&str> {
    path.rsplit_once('/').map(|(folder, _)| folder)
}

/// Refuses a path that no task can leave a file under.
pub(crate) fn require_name(path: &str) -> Result<()> {
    let fault = match outputs::task_of(path) {
        None => Some("is not below the folder of a task"),
        Some(_) => outputs::fault(path),
    };
    match fault {
        None => Ok(()),
        Some(fault) => Err(Failure::refused(
            Code::OutputPathInvalid,
            format!("{path:?} {fault}; expected a file like tasks/TASK-001/report.md"),
        )
        .help("rename it, and save it again")),
    }
}

/// Refuses more files than a task may leave, and names that some file systems take for one.
fn require_room(state: &State, new: &Outputs) -> Result<()> {
    if new.contents.is_empty() {
        return Ok(());
    }
    let mut after = state.clone();
    new.enter(&mut after);
    let tasks: BTreeSet<&str> = new
        .writes
        .keys()
        .filter_map(|p| outputs::task_of(p))
        .collect();
    for task in tasks {
        let count = after.outputs_of(task).count();
        if count > MOST {
            return Err(Failure::refused(
                Code::OutputsTooMany,
                format!("{task} would have {count} files, and a task leaves at most {MOST}"),
            )
            .help(format!(
                "put what belongs to the code into the code, and remove the rest from {FOLDER}/{}/{}/{task}",
                state.id,
                outputs::FOLDER
            )));
        }
        if let Some((one, other)) = outputs::clash(after.outputs_of(task).map(|(path, _)| path)) {
            return Err(Failure::refused(
                Code::OutputPathInvalid,
                format!("{one} and {other} cannot both exist on every file system"),
            )
            .help("rename one of them, and save it again"));
        }
    }
    Ok(())
}

/// The files below a folder of the working copy. Links are left alone, and so is what nobody means to keep.
pub(super) fn walk(top: &Path, below: &str, found: &mut BTreeSet<String>) {
    for name in files::entries(&top.join(below)) {
        if outputs::is_passed_over(&name) {
            continue;
        }
        let path = format!("{below}/{name}");
        let Ok(meta) = std::fs::symlink_metadata(top.join(&path)) else {
            continue;
        };
        if meta.is_dir() {
            walk(top, &path, found);
        } else if meta.is_file() && outputs::task_of(&path).is_some() {
            found.insert(path);
        }
    }
}
