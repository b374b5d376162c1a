//! Links between issues, and candidates for the next one: the neighbours of an issue are found without reading all
//! others.
//!
//! A large backlog keeps the links in a disposable file in the git dir beside the file of the list. Issues that changed
//! since are found by the trees of their folders and read; a file that is damaged, old or of another version is as good
//! as none. The file says where to look, and the records say what is there.

use super::issues::{Gather, Line, WORTH_KEEPING};
use super::kept_lines::{checksum, whole_text};
use super::{Snapshot, fanout_folder};
use loopx_base::failure::{Failure, Result};
use loopx_base::fanout::Fanout;
use loopx_base::id::Oid;
use loopx_git::EntryKind;
use loopx_rules::issue::filter::is_day;
use loopx_rules::issue::{FOLD, Issue, IssueId, LinkKind, Read, Status, fold};
use loopx_rules::lease::seconds_of;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// Number of the format, raised when the form of the kept file changes.
const FORMAT: u32 = 1;
/// Number of issues that may have changed since the file was written before all of it is made anew.
const MOST_CHANGED: usize = 1_000;
/// Number of changed issues from which on the file is written again, so that nobody reads them twice.
const WORTH_WRITING: usize = 16;

/// The first line of the kept file.
#[derive(Serialize, Deserialize)]
struct Head {
    format: u32,
    fold: u32,
    /// The tree of all issues, and its folders where they are spread.
    tree: Oid,
    folders: BTreeMap<String, Oid>,
}

/// The links of all issues.
#[derive(Debug, Default)]
pub struct IssueLinks {
    /// A row for each issue, as the file has them.
    rows: String,
    /// Rows that took the place of rows of the file; `None` where the folder is gone.
    changed: BTreeMap<String, Option<String>>,
    /// An issue cannot be read, and has no row.
    is_damaged: bool,
}

/// The row that is kept of an issue.
#[derive(Clone, Copy, Debug)]
pub struct LinkRow<'t> {
    /// The tree of its folder.
    folder: &'t str,
    pub id: &'t str,
    /// Set when the beginning of the issue was taken back.
    pub is_withdrawn: bool,
    /// Set when nothing is left to do, or the beginning of the issue was taken back.
    pub is_ended: bool,
    /// Set when nobody is at the issue, as far as its own records say.
    pub is_free: bool,
    /// Mark of an issue whose progress may have changed with its sessions.
    pub has_sessions: bool,
    pub priority: u8,
    pub created: i64,
    pub due: Option<&'t str>,
    links: &'t str,
}

impl<'t> LinkRow<'t> {
    fn parse(line: &'t str) -> Option<Self> {
        let mut words = line.split(' ');
        let mut next = || words.next();
        let (folder, id, state) = (next()?, next()?, next()?);
        let (priority, created, due) = (next()?, next()?, next()?);
        Some(LinkRow {
            folder,
            id,
            is_withdrawn: state == "w",
            is_ended: state.starts_with(['e', 'w']),
            is_free: state.starts_with('f'),
            has_sessions: state.ends_with('s'),
            priority: priority.parse().ok()?,
            created: created.parse().ok()?,
            due: (due != "-").then_some(due),
            links: next()?,
        })
    }

    /// The issues that it names.
    pub fn links(self) -> impl Iterator<Item = (LinkKind, &'t str)> {
        let links = self.links.split(',');
        links.filter_map(|link| {
            let (kind, to) = link.split_once(':')?;
            Some((kind.parse().ok()?, to))
        })
    }
}

/// The row of an issue; of nothing but its id where its beginning was taken back.
fn row(folder: &str, id: &str, issue: Option<&Issue>) -> String {
    let Some(issue) = issue else {
        return format!("{folder} {id} w 0 0 - ");
    };
    let state = match issue.status {
        status if status.is_final() => "e",
        Status::InProgress => "b",
        _ => "f",
    };
    let sessions = if issue.sessions.is_empty() { "" } else { "s" };
    let created = seconds_of(&issue.created.at).unwrap_or_default();
    let due = issue.due.as_deref().filter(|day| is_day(day));
    let due = due.unwrap_or("-");
    let mut row = format!(
        "{folder} {id} {state}{sessions} {} {created} {due} ",
        issue.priority
    );
    for (at, link) in issue.links.iter().enumerate() {
        row.push_str(if at > 0 { "," } else { "" });
        row.push_str(&format!("{}:{}", link.kind, link.to));
    }
    row
}

impl IssueLinks {
    /// Rows of issues that name other issues. A list has few, and no other row is looked at.
    pub fn rows_with_links(&self) -> impl Iterator<Item = LinkRow<'_>> {
        let lines = self.rows.lines().filter(|line| !line.ends_with(' '));
        self.with_changed(lines)
    }

    /// The rows of all issues, in no order.
    pub fn rows(&self) -> impl Iterator<Item = LinkRow<'_>> {
        self.with_changed(self.rows.lines())
    }

    fn with_changed<'t>(
        &'t self,
        lines: impl Iterator<Item = &'t str>,
    ) -> impl Iterator<Item = LinkRow<'t>> {
        let kept = lines.filter_map(LinkRow::parse);
        let kept = kept.filter(|row| self.changed.is_empty() || !self.changed.contains_key(row.id));
        let changed = self.changed.values().flatten();
        kept.chain(changed.filter_map(|line| LinkRow::parse(line)))
    }

    fn folded(self) -> Self {
        let lines = self.rows.lines();
        let stays = |line: &&str| {
            LinkRow::parse(line).is_some_and(|row| !self.changed.contains_key(row.id))
        };
        let mut rows = String::with_capacity(self.rows.len() + 128);
        let changed = self.changed.values().flatten().map(String::as_str);
        for line in lines.filter(stays).chain(changed) {
            rows.push_str(line);
            rows.push('\n');
        }
        IssueLinks {
            rows,
            ..IssueLinks::default()
        }
    }

    /// Tells whether each issue has a row, and its own records alone say how far it is.
    pub fn says_all(&self) -> bool {
        !self.is_damaged && self.rows().all(|row| !row.has_sessions)
    }
}

impl Gather for IssueLinks {
    fn add(&mut self, (folder, issue, withdrawn, _): Line<'_>) {
        let ids = issue.iter().map(|issue| &issue.id).chain(&withdrawn);
        for id in ids {
            let row = row(folder, id.as_str(), issue.as_ref());
            self.rows.push_str(&row);
            self.rows.push('\n');
        }
    }

    fn damaged(&mut self, _: IssueId, _: Failure) {
        self.is_damaged = true;
    }

    fn clear(&mut self) {
        *self = IssueLinks::default();
    }
}

impl Snapshot<'_> {
    /// The links of all issues.
    pub fn issue_links(&self) -> Result<IssueLinks> {
        let Some(tree) = self.issues_tree()? else {
            return Ok(IssueLinks::default());
        };
        let file = place(&self.repo().common_dir());
        let bytes = std::fs::read(&file).unwrap_or_default();
        if let Ok(text) = String::from_utf8(bytes)
            && let Some((head, rows)) = kept(&text)
        {
            let mut links = IssueLinks {
                rows: rows.to_owned(),
                ..IssueLinks::default()
            };
            drop(text);
            if head.tree == tree || self.catch_up(&head, &tree, &mut links)? {
                if links.changed.len() >= WORTH_WRITING {
                    links = links.folded();
                    self.keep_links(&file, tree, &links)?;
                }
                return Ok(links);
            }
        }
        let links = self.all_links()?;
        self.keep_links(&file, tree, &links)?;
        Ok(links)
    }

    fn all_links(&self) -> Result<IssueLinks> {
        let mut links = IssueLinks::default();
        self.read_issues(&mut links)?;
        Ok(links)
    }

    /// The folders in which issues are spread; `None` where some are not.
    fn spread(&self, tree: &Oid) -> Result<Option<BTreeMap<String, Oid>>> {
        let layout = fanout_folder::layout(self.repo(), Fanout::Names, tree)?;
        let folders: BTreeMap<String, Oid> = layout.folders.into_iter().collect();
        Ok((folders.is_empty() || layout.flat.is_empty()).then_some(folders))
    }

    fn keep_links(&self, file: &Path, tree: Oid, links: &IssueLinks) -> Result<()> {
        let Some(folders) = self.spread(&tree)?.filter(|_| !links.is_damaged) else {
            return Ok(());
        };
        if folders.is_empty() && links.rows.lines().nth(WORTH_KEEPING - 1).is_none() {
            return Ok(());
        }
        let head = Head {
            format: FORMAT,
            fold: FOLD,
            tree,
            folders,
        };
        if let Ok(head) = serde_json::to_string(&head) {
            let whole = format!("{head}\n{}", links.rows);
            let sum = checksum(&whole);
            // Without the file a claim is slower, and right.
            drop((self.repo()).write_shared(file, format!("{whole}{sum}\n").as_bytes()));
        }
        Ok(())
    }

    /// Reads the issues that changed since the file was written. `false` where they are too many, or where issues lie
    /// in another way.
    fn catch_up(&self, head: &Head, tree: &Oid, links: &mut IssueLinks) -> Result<bool> {
        let Some(folders) = self.spread(tree)? else {
            return Ok(false);
        };
        if folders.is_empty() != head.folders.is_empty() {
            return Ok(false);
        }
        let differs = |name: &str| folders.get(name) != head.folders.get(name);
        let mut now: HashMap<String, Oid> = HashMap::new();
        let looked: Vec<(&str, &Oid)> = if folders.is_empty() {
            vec![("", tree)]
        } else {
            (folders.iter())
                .map(|(name, tree)| (name.as_str(), tree))
                .filter(|(name, _)| differs(name))
                .collect()
        };
        for (folder, tree) in looked {
            for (name, entry) in self.repo().list_tree(tree)? {
                let is_in_place = folder.is_empty() || Fanout::Names.folder(&name) == folder;
                if !is_in_place {
                    return Ok(false);
                }
                if entry.kind == EntryKind::Tree && IssueId::parse(&name).is_some() {
                    now.insert(name, entry.id);
                }
            }
        }
        let mut gone = Vec::new();
        for row in links.rows.lines().filter_map(LinkRow::parse) {
            if !folders.is_empty() && !differs(&Fanout::Names.folder(row.id)) {
                continue;
            }
            match now.get(row.id) {
                Some(folder) if folder.as_str() == row.folder => {
                    now.remove(row.id);
                }
                Some(_) => {}
                None => gone.push(row.id.to_owned()),
            }
        }
        if now.len() > MOST_CHANGED {
            return Ok(false);
        }
        for (name, folder) in now {
            let Some(id) = IssueId::parse(&name) else {
                continue;
            };
            let Ok(records) = self.issue_records(&id) else {
                return Ok(false);
            };
            let read = records.and_then(|records| fold(&id, &records));
            let issue = read.as_ref().map(|Read { issue, .. }| issue);
            let line = row(folder.as_str(), &name, issue);
            links.changed.insert(name, Some(line));
        }
        links.changed.extend(gone.into_iter().map(|id| (id, None)));
        Ok(true)
    }
}

fn place(common_dir: &Path) -> PathBuf {
    common_dir.join("loopx").join("issue-links")
}

/// The kept file, if it is whole and of these rules.
fn kept(text: &str) -> Option<(Head, &str)> {
    let (head, rows) = whole_text(text)?.split_once('\n')?;
    let head: Head = serde_json::from_str(head).ok()?;
    (head.format == FORMAT && head.fold == FOLD).then_some((head, rows))
}
