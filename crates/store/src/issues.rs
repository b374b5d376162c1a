//! The issues of a state of the branch: where each has its records, and all of them as those make them.
//!
//! Nothing of an issue is stored but its records. A large backlog keeps a disposable file in the git dir with what
//! each folder gave: a folder that is not in it is read, and a file that is damaged, old or of another version is as
//! good as none. Whoever writes reads records.

use super::kept_lines::{KeptDraft, KeptLines};
use super::{Edits, Snapshot, fanout, fanout_folder, layout, ops};
use loopx_base::failure::{Failure, Result};
use loopx_base::fanout::Fanout;
use loopx_base::id::Oid;
use loopx_git::{Entry, EntryKind, Repo};
use loopx_rules::issue::{FOLD, Issue, IssueId, Read, Texts, fold};
use loopx_rules::op::Operation;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// Number of issues from which on a file is worth keeping: fewer are read just as fast.
pub(super) const WORTH_KEEPING: usize = 64;

/// Number of the format, raised when the form of the kept file changes.
const FORMAT: u32 = 2;

/// All issues of a state.
#[derive(Debug, Default)]
pub struct Issues {
    pub issues: Vec<Issue>,
    /// Issues whose beginning was taken back: their ids are taken all the same.
    pub withdrawn: Vec<IssueId>,
    /// Issues that cannot be read, each with the reason: they hide no other.
    pub damaged: Vec<(IssueId, Failure)>,
}

/// The first line of the kept file.
#[derive(PartialEq, Serialize, Deserialize)]
struct Head {
    format: u32,
    fold: u32,
    /// The tree of all issues.
    tree: Oid,
}

/// A line of the kept file: the folder's tree, what it gave, whose it is where that is nothing, and its long texts,
/// which few ask for.
pub(super) type Line<'l> = (&'l str, Option<Issue>, Option<IssueId>, &'l RawValue);

impl Snapshot<'_> {
    /// The folder in which all issues lie.
    pub fn issues_tree(&self) -> Result<Option<Oid>> {
        let entry = self.repo.entry_at(&self.tree, layout::ISSUES)?;
        let entry = entry.filter(|entry| entry.kind == EntryKind::Tree);
        Ok(entry.map(|entry| entry.id))
    }

    /// Shows the id of every issue, in no order, and perhaps twice. No record is read.
    pub fn issue_ids(&self, mut visit: impl FnMut(&str)) -> Result<()> {
        match self.issues_tree()? {
            Some(tree) => fanout_folder::each_folder(self.repo, Fanout::Names, &tree, &mut visit),
            None => Ok(()),
        }
    }

    /// The ids of all issues with the trees of their folders: one of which nothing changed has the tree that it had.
    pub fn issue_folders(&self) -> Result<Vec<(IssueId, Oid)>> {
        let tree = self.issues_tree()?;
        tree.map_or_else(|| Ok(Vec::new()), |tree| self.folders_in(&tree))
    }

    /// The ids of all issues with the trees of their folders, sorted.
    fn folders_in(&self, tree: &Oid) -> Result<Vec<(IssueId, Oid)>> {
        let held = fanout_folder::entries(self.repo, Fanout::Names, tree)?.into_iter();
        let held = held.filter(|held| held.entry.kind == EntryKind::Tree);
        Ok(held
            .filter_map(|held| Some((IssueId::parse(&held.name)?, held.entry.id)))
            .collect())
    }

    /// Records of an issue, in their order; `None` where there is no issue of that id.
    pub fn issue_records(&self, id: &IssueId) -> Result<Option<Vec<Operation>>> {
        let found = fanout::find(self.repo, &self.tree, &layout::issue(id))?;
        match found {
            Some((place, entry)) => {
                let tree = self.folder(&place, &entry)?;
                records(self.repo, tree, &place).map(Some)
            }
            None => Ok(None),
        }
    }

    /// An issue; nothing where there is none, or where its beginning was taken back.
    pub fn issue(&self, id: &IssueId) -> Result<Option<Read>> {
        let records = self.issue_records(id)?;
        Ok(records.and_then(|records| fold(id, &records)))
    }

    /// All issues.
    pub fn issues(&self) -> Result<Issues> {
        let mut found = Issues::default();
        self.read_issues(&mut found)?;
        Ok(found)
    }

    /// All issues with their long texts.
    pub fn issues_with_texts(&self) -> Result<(Issues, HashMap<IssueId, Texts>)> {
        let mut found = (Issues::default(), HashMap::new());
        self.read_issues(&mut found)?;
        Ok(found)
    }

    pub(super) fn read_issues(&self, found: &mut impl Gather) -> Result<()> {
        let Some(tree) = self.issues_tree()? else {
            return Ok(());
        };
        let file = place(&self.repo.common_dir());
        if let Some((kept, mut lines)) = kept(&file) {
            let is_good = if kept == tree {
                found.add_lines(&mut lines)
            } else {
                self.gather(&tree, Some(&mut lines), found)?
            };
            if is_good {
                return Ok(());
            }
            found.clear();
        }
        self.gather(&tree, None, found).map(drop)
    }

    /// Reads the folders of issues, but for those that a kept line tells of; keeps the lines of all. `false` where a
    /// kept line cannot be read, or the lines are not the ones that were kept.
    fn gather(
        &self,
        tree: &Oid,
        kept: Option<&mut KeptLines>,
        found: &mut impl Gather,
    ) -> Result<bool> {
        let folders = self.folders_in(tree)?;
        let is_kept = folders.len() >= WORTH_KEEPING;
        let head = Head {
            format: FORMAT,
            fold: FOLD,
            tree: tree.clone(),
        };
        let file = place(&self.repo.common_dir());
        let draft = is_kept.then(|| KeptDraft::begin(self.repo, &file, &head));
        let mut reading = Reading {
            snapshot: self,
            draft: draft.flatten(),
            found,
        };
        let mut folders = folders.into_iter().peekable();
        if let Some(kept) = kept {
            while let Some(text) = kept.next_line() {
                let Ok(line) = serde_json::from_str::<Line<'_>>(text) else {
                    return Ok(false);
                };
                let Some(of) = line.1.as_ref().map(|issue| &issue.id).or(line.2.as_ref()) else {
                    return Ok(false);
                };
                // Both are sorted by their ids.
                while let Some((id, folder)) = folders.next_if(|(id, _)| id < of) {
                    reading.read(id, &folder)?;
                }
                match folders.next_if(|(id, _)| id == of) {
                    Some((_, folder)) if folder.as_str() == line.0 => reading.take(text, line),
                    Some((id, folder)) => reading.read(id, &folder)?,
                    None => {}
                }
            }
            if !kept.is_whole() {
                return Ok(false);
            }
        }
        for (id, folder) in folders {
            reading.read(id, &folder)?;
        }
        // A list without its file is slower, and right.
        drop(reading.draft.map(KeptDraft::finish));
        Ok(true)
    }

    fn line(&self, id: &IssueId, folder: &Oid) -> Result<(Option<Issue>, Box<RawValue>)> {
        let ops = records(self.repo, folder, &layout::issue(id))?;
        let (issue, texts) = match fold(id, &ops) {
            Some(Read { issue, texts }) => (Some(issue), texts),
            None => (None, Texts::default()),
        };
        let texts = serde_json::value::to_raw_value(&texts).map_err(|error| {
            Failure::internal(
                loopx_base::failure::Code::RecordUnwritable,
                error.to_string(),
            )
        })?;
        Ok((issue, texts))
    }
}

/// Issues that are being gathered, and the file that keeps their lines while none of them is damaged.
struct Reading<'r, 'f, F> {
    snapshot: &'r Snapshot<'r>,
    draft: Option<KeptDraft<'r>>,
    found: &'f mut F,
}

impl<F: Gather> Reading<'_, '_, F> {
    /// Takes the content of a folder from a kept line.
    fn take(&mut self, text: &str, line: Line<'_>) {
        self.keep(text);
        self.found.add(line);
    }

    /// Reads the folder of an issue.
    fn read(&mut self, id: IssueId, folder: &Oid) -> Result<()> {
        let (issue, texts) = match self.snapshot.line(&id, folder) {
            Ok(line) => line,
            Err(failure) => {
                // What is damaged is told each time: a file without it would hide it.
                self.draft = None;
                self.found.damaged(id, failure);
                return Ok(());
            }
        };
        let id = issue.is_none().then_some(id);
        if self.draft.is_some() {
            match serde_json::to_string(&(folder, &issue, &id, &texts)) {
                Ok(line) => self.keep(&line),
                Err(_) => self.draft = None,
            }
        }
        self.found.add((folder.as_str(), issue, id, &texts));
        Ok(())
    }

    fn keep(&mut self, line: &str) {
        if let Some(draft) = &mut self.draft
            && draft.line(line).is_err()
        {
            self.draft = None;
        }
    }
}

/// Collection in which all issues are gathered.
pub(super) trait Gather {
    fn add(&mut self, line: Line<'_>);
    fn damaged(&mut self, _id: IssueId, _failure: Failure) {}
    /// Begins anew.
    fn clear(&mut self);

    /// Adds kept lines; `false` where a line cannot be read, or the lines are not the ones that were kept.
    fn add_lines(&mut self, lines: &mut KeptLines) -> bool {
        while let Some(line) = lines.next_line() {
            match serde_json::from_str(line) {
                Ok(line) => self.add(line),
                Err(_) => return false,
            }
        }
        lines.is_whole()
    }
}

impl Gather for Issues {
    fn add(&mut self, (_, issue, withdrawn, _): Line<'_>) {
        self.issues.extend(issue);
        self.withdrawn.extend(withdrawn);
    }

    fn damaged(&mut self, id: IssueId, failure: Failure) {
        self.damaged.push((id, failure));
    }

    fn clear(&mut self) {
        *self = Issues::default();
    }
}

impl Gather for (Issues, HashMap<IssueId, Texts>) {
    fn add(&mut self, line: Line<'_>) {
        if let Some(issue) = &line.1
            && let Ok(texts) = serde_json::from_str(line.3.get())
        {
            self.1.insert(issue.id.clone(), texts);
        }
        self.0.add(line);
    }

    fn damaged(&mut self, id: IssueId, failure: Failure) {
        self.0.damaged(id, failure);
    }

    fn clear(&mut self) {
        *self = Default::default();
    }
}

/// The records in a folder.
fn records(repo: &Repo, folder: &Oid, label: &str) -> Result<Vec<Operation>> {
    match ops::tree(repo, folder)? {
        Some(tree) => ops::read(repo, &tree, &format!("{label}/{}", layout::OPS)),
        None => Ok(Vec::new()),
    }
}

fn place(common_dir: &Path) -> PathBuf {
    common_dir.join("loopx").join("issue-cache")
}

/// The tree of which a kept file is, and its lines, if it is of these rules.
fn kept(file: &Path) -> Option<(Oid, KeptLines)> {
    let mut lines = KeptLines::open(file)?;
    let head: Head = serde_json::from_str(lines.next_line()?).ok()?;
    (head.format == FORMAT && head.fold == FOLD).then_some((head.tree, lines))
}

impl Edits {
    /// Adds records to the log of an issue.
    pub fn issue(
        &mut self,
        repo: &Repo,
        snapshot: &Snapshot<'_>,
        id: &IssueId,
        ops: &[Operation],
    ) -> Result<()> {
        self.log(repo, snapshot, &layout::issue(id), ops)
    }

    /// Adds records to the log of an entity that is no session.
    pub(super) fn log(
        &mut self,
        repo: &Repo,
        snapshot: &Snapshot<'_>,
        entity: &str,
        ops: &[Operation],
    ) -> Result<()> {
        let folder = format!("{entity}/{}", layout::OPS);
        let known = fanout::entry_at(repo, snapshot.tree(), &folder)?;
        let mut files = BTreeMap::new();
        for op in ops {
            let blob = repo.write_blob(&op.to_bytes()?)?;
            files.insert(op.file_name(), Some(Entry::blob(blob)));
        }
        let tree = ops::edit(repo, known.as_ref().map(|known| &known.id), &files)?;
        self.set(folder, Entry::tree(tree));
        Ok(())
    }
}
