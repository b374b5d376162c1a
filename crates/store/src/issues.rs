//! The issues of a state of the branch: where each has its records, and all of them as those make them.
//!
//! Nothing of an issue is stored but its records. A large backlog keeps a disposable file in the git dir with what
//! each folder gave: a folder that is not in it is read, and a file that is damaged, old or of another version is as
//! good as none. Whoever writes reads records.

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

/// Below this many issues reading them all is as fast.
pub(super) const WORTH_KEEPING: usize = 64;

/// Raised when the form of the kept file changes.
const FORMAT: u32 = 2;

/// All issues of a state.
#[derive(Debug, Default)]
pub struct Issues {
    pub issues: Vec<Issue>,
    /// Those whose beginning was taken back: their ids are taken all the same.
    pub withdrawn: Vec<IssueId>,
    /// Those that cannot be read, and why: they hide no other.
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
    pub(super) fn issues_tree(&self) -> Result<Option<Oid>> {
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

    /// The ids of all issues with the trees of their folders, sorted.
    fn folders_in(&self, tree: &Oid) -> Result<Vec<(IssueId, Oid)>> {
        let held = fanout_folder::entries(self.repo, Fanout::Names, tree)?.into_iter();
        let held = held.filter(|held| held.entry.kind == EntryKind::Tree);
        Ok(held
            .filter_map(|held| Some((IssueId::parse(&held.name)?, held.entry.id)))
            .collect())
    }

    /// The records of an issue, in their order; nothing where there is none of that id.
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
        let bytes = std::fs::read(&file).unwrap_or_default();
        let text = String::from_utf8(bytes).unwrap_or_default();
        let kept = kept(&text);
        if let Some((head, lines)) = &kept
            && head.tree == tree
        {
            if found.add_lines(lines) {
                return Ok(());
            }
            found.clear();
        }
        let lines = kept.and_then(|(_, lines)| parsed(lines));
        let folders = self.folders_in(&tree)?;
        let mut known: HashMap<&str, (Option<Issue>, &RawValue)> = HashMap::new();
        for (folder, issue, _, texts) in lines.into_iter().flatten() {
            known.insert(folder, (issue, texts));
        }
        let is_kept = folders.len() >= WORTH_KEEPING;
        let mut out = String::new();
        let mut is_whole = true;
        for (id, folder) in folders {
            let line = match known.remove(folder.as_str()) {
                Some((issue, texts)) => Ok((issue, texts.to_owned())),
                None => self.line(&id, &folder),
            };
            let (issue, texts) = match line {
                Ok(line) => line,
                Err(failure) => {
                    is_whole = false;
                    found.damaged(id, failure);
                    continue;
                }
            };
            let id = issue.is_none().then_some(id);
            if is_kept && let Ok(line) = serde_json::to_string(&(&folder, &issue, &id, &texts)) {
                out.push_str(&line);
                out.push('\n');
            }
            found.add((folder.as_str(), issue, id, &texts));
        }
        // What is damaged is told each time: a file without it would hide it.
        if is_kept && is_whole {
            self.keep_issues(&file, tree, &out);
        }
        Ok(())
    }

    fn keep_issues(&self, file: &Path, tree: Oid, lines: &str) {
        let head = Head {
            format: FORMAT,
            fold: FOLD,
            tree,
        };
        if let Ok(head) = serde_json::to_string(&head) {
            // A list without its file is slower, and right.
            let whole = format!("{head}\n{lines}");
            let sum = checksum(&whole);
            let whole = whole + &sum + "\n";
            drop(self.repo.write_shared(file, whole.as_bytes()));
        }
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

/// Where all issues are gathered.
pub(super) trait Gather {
    fn add(&mut self, line: Line<'_>);
    fn damaged(&mut self, _id: IssueId, _failure: Failure) {}
    /// Begins anew.
    fn clear(&mut self);

    /// Adds kept lines; `false` where one is none.
    fn add_lines(&mut self, lines: &str) -> bool {
        lines.lines().all(|line| {
            let line = serde_json::from_str(line).ok();
            line.map(|line| self.add(line)).is_some()
        })
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

/// What tells a torn file from a whole one.
pub(super) fn checksum(text: &str) -> String {
    let mut crc = flate2::Crc::new();
    crc.update(text.as_bytes());
    format!("{:08x}", crc.sum())
}

/// A kept text without the sum at its end, which has to fit.
pub(super) fn whole_text(text: &str) -> Option<&str> {
    let (whole, sum) = text.strip_suffix('\n')?.rsplit_once('\n')?;
    let end = whole.len() + 1;
    (checksum(&text[..end]) == sum).then_some(&text[..end])
}

/// The lines of the kept file, if it is whole and of these rules.
fn kept(text: &str) -> Option<(Head, &str)> {
    let (head, lines) = whole_text(text)?.split_once('\n')?;
    let head: Head = serde_json::from_str(head).ok()?;
    (head.format == FORMAT && head.fold == FOLD).then_some((head, lines))
}

fn parsed(lines: &str) -> Option<Vec<Line<'_>>> {
    let lines = lines.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().ok()
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
