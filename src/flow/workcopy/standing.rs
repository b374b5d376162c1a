//! The standing of each file of a working copy against the branch, and what a save would take in. Nothing here writes.

use super::{Edits, WorkCopy, marker_line, text_of};
use crate::flow::files;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::id::Oid;
use loopx_rules::artifact::Artifact;
use loopx_rules::op::Write;
use loopx_rules::session::State;
use loopx_rules::texts::Texts;
use serde::Serialize;
use std::collections::BTreeMap;

/// The working copy as it is, taken in without anything being written.
#[derive(Debug, Default)]
pub(crate) struct Peek {
    pub edits: Edits,
    pub statuses: BTreeMap<Artifact, FileStatus>,
    /// The files that `save` would refuse, and why. Edits that can be read are among the edits all the same.
    pub refused: Vec<(Option<Artifact>, Failure)>,
    /// The standing of the files of tasks.
    pub outputs: BTreeMap<String, FileStatus>,
    /// The files are another session's.
    pub foreign: Option<Failure>,
}

/// Search for the id of an artifact's file, which may be one of some known ids.
type FindId<'f> = dyn FnMut(Artifact, &[&Oid]) -> Result<Option<Oid>> + 'f;

/// The standing of a file of the working copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FileStatus {
    Clean,
    /// Edited here, not saved yet.
    Modified,
    /// Removed here, not saved yet.
    Deleted,
    /// The branch has a newer version.
    Behind,
    /// Edited here, and changed on the branch.
    Diverged,
    /// Carries conflict markers.
    Conflicted,
    /// File that is not checked out here.
    Absent,
}

impl FileStatus {
    /// Tells whether an edit of the file here is not saved.
    pub(crate) fn is_edited(self) -> bool {
        matches!(
            self,
            FileStatus::Modified | FileStatus::Deleted | FileStatus::Diverged
        )
    }

    /// The standing of a file without a conflict, by its content, the content that it was last in step with, and the
    /// content on the branch.
    pub(super) fn of(file: Option<&Oid>, base: Option<&Oid>, tip: Option<&Oid>) -> Self {
        if file == tip {
            FileStatus::Clean
        } else if file.is_none() && base.is_none() {
            FileStatus::Absent
        } else if file == base {
            FileStatus::Behind
        } else if tip != base && base.is_some() {
            FileStatus::Diverged
        } else if file.is_none() {
            FileStatus::Deleted
        } else {
            FileStatus::Modified
        }
    }
}

impl WorkCopy<'_> {
    /// The standing of every artifact here, without changing anything.
    pub(crate) fn statuses(&self, state: &State) -> Result<BTreeMap<Artifact, FileStatus>> {
        self.statuses_with(state, &mut |artifact, known| {
            self.id_of_file(artifact, known.iter().copied())
        })
    }

    /// The standing of every artifact. Texts of large files that are in step with the branch go into `texts`: whoever needs
    /// them has not to read them once more, out of their objects.
    fn statuses_and_texts(
        &self,
        state: &State,
        texts: &mut Texts,
    ) -> Result<BTreeMap<Artifact, FileStatus>> {
        self.statuses_with(state, &mut |artifact, known| {
            let tip = state.artifacts.get(&artifact);
            self.id_of_file_or(artifact, known.iter().copied(), || {
                let path = self.path(artifact)?;
                let stored = tip.and_then(|tip| self.repo.blob_size(tip).ok());
                if files::size(&path)? != stored {
                    return self.repo.hash_file(&path).map(Some);
                }
                let Some(bytes) = files::read(&path, u64::MAX)? else {
                    return Ok(None);
                };
                let id = self.repo.hash_blob(&bytes)?;
                if Some(&id) == tip {
                    texts.insert(artifact, text_of(bytes));
                }
                Ok(Some(id))
            })
        })
    }

    /// The standing of every artifact, by the id that `look` finds of its file, which may be one of some known ones.
    fn statuses_with(
        &self,
        state: &State,
        look: &mut FindId<'_>,
    ) -> Result<BTreeMap<Artifact, FileStatus>> {
        self.require_own(state)?;
        let mut found = BTreeMap::new();
        let listed = self.listed()?;
        for artifact in Artifact::ALL {
            let base = self.bases.bases.get(&artifact);
            let tip = state.artifacts.get(&artifact);
            let file = if listed.contains(&artifact) {
                let known: Vec<&Oid> = tip.into_iter().chain(base).collect();
                look(artifact, &known)?
            } else {
                None
            };
            if file.is_none() && base.is_none() && tip.is_none() {
                continue;
            }
            let is_contested = state
                .contested()
                .any(|(contested, _)| contested == artifact);
            let is_apart = is_contested && file.as_ref() == tip;
            let status = if is_apart || self.is_marked(artifact)? {
                FileStatus::Conflicted
            } else {
                FileStatus::of(file.as_ref(), base, tip)
            };
            found.insert(artifact, status);
        }
        Ok(found)
    }

    /// Tells whether a file into which both sides of a conflict were put still carries a marker: what somebody chose by
    /// hand is an edit like any other.
    fn is_marked(&self, artifact: Artifact) -> Result<bool> {
        if !self.bases.conflicts.contains(&artifact) {
            return Ok(false);
        }
        let text = self.read(artifact, u64::MAX)?;
        Ok(text.is_some_and(|text| marker_line(&String::from_utf8_lossy(&text)).is_some()))
    }

    /// The edits of this worktree, with nothing written: what a save would take in, and what it would refuse.
    pub(crate) fn peek(&self, state: &State, max_bytes: u64) -> Result<Peek> {
        let mut peek = Peek::default();
        peek.statuses = match self.statuses_and_texts(state, &mut peek.edits.texts) {
            Err(failure) if failure.code == Code::WorkingCopyForeign => {
                peek.foreign = Some(failure);
                return Ok(peek);
            }
            statuses => statuses?,
        };
        for (artifact, status) in peek.statuses.clone() {
            if artifact.is_derived() {
                continue;
            }
            let looked = match status {
                FileStatus::Deleted => self.check_open(artifact, state).map(|()| None),
                FileStatus::Modified | FileStatus::Diverged => self
                    .read(artifact, max_bytes)
                    .and_then(|bytes| match bytes {
                        Some(bytes) => self.take_in(artifact, bytes, state, &mut peek),
                        None => Ok(None),
                    }),
                _ => continue,
            };
            let from = state.artifacts.get(&artifact).cloned();
            match looked {
                Ok(to) if status == FileStatus::Deleted || to.is_some() => {
                    peek.edits.writes.insert(artifact, Write { from, to });
                }
                Ok(_) => {}
                Err(failure) => peek.refused.push((Some(artifact), failure)),
            }
        }
        peek.outputs = self.output_statuses(state)?;
        match self.peek_outputs(state, max_bytes, |_| true) {
            Ok((outputs, _)) => peek.edits.outputs = outputs,
            Err(failure) => peek.refused.push((None, failure)),
        }
        Ok(peek)
    }

    /// The content that a save would make of an edited file; nothing where that is a conflict.
    fn take_in(
        &self,
        artifact: Artifact,
        bytes: Vec<u8>,
        state: &State,
        peek: &mut Peek,
    ) -> Result<Option<Oid>> {
        let base = self.bases.bases.get(&artifact);
        let tip = state.artifacts.get(&artifact);
        let as_it_is = String::from_utf8_lossy(&bytes).into_owned();
        let text = match self.check(artifact, bytes, state) {
            Ok(text) if base == tip || tip.is_none() => text,
            Ok(text) => match self.merge(artifact, base, &text, tip)? {
                Ok(merged) => merged,
                Err(_) => return Ok(None),
            },
            Err(failure) if failure.code == Code::ArtifactLocked => return Err(failure),
            Err(failure) => {
                peek.refused.push((Some(artifact), failure));
                as_it_is
            }
        };
        let blob = self.repo.hash_blob(text.as_bytes())?;
        peek.edits.texts.insert(artifact, text);
        Ok(Some(blob))
    }
}
