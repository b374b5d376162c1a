//! The ids of all issues: what a person typed means one of them, and each is shown as short as tells it from the
//! others.

use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_rules::issue::{IssueId, short_lengths};
use loopx_store::Snapshot;
use std::collections::HashMap;

/// The ids as people are shown them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    ids: Vec<IssueId>,
    lengths: HashMap<IssueId, usize>,
    width: usize,
}

impl Names {
    pub(super) fn of(snapshot: &Snapshot<'_>) -> Result<Self> {
        let mut names = Names::default();
        let folders = snapshot.issue_folders()?.into_iter();
        let ids: Vec<IssueId> = folders.map(|(id, _)| id).collect();
        names.add(&ids);
        Ok(names)
    }

    pub(super) fn add(&mut self, ids: &[IssueId]) {
        self.ids.extend(ids.iter().cloned());
        self.ids.sort();
        self.ids.dedup();
        let all: Vec<&IssueId> = self.ids.iter().collect();
        let lengths = short_lengths(&all);
        self.lengths = self.ids.iter().cloned().zip(lengths).collect();
        let widths = self.ids.iter().map(|id| self.short(id).len());
        self.width = widths.max().unwrap_or(0);
    }

    /// So much of an id as tells it from the others.
    pub(crate) fn short<'i>(&self, id: &'i IssueId) -> &'i str {
        let length = self.lengths.get(id).copied();
        id.short(length.unwrap_or(IssueId::RANDOM))
    }

    /// The longest of them, for a column.
    pub(crate) fn width(&self) -> usize {
        self.width
    }
}

/// The id that somebody means: a whole one, or its beginning with or without the prefix.
pub(super) fn resolve(snapshot: &Snapshot<'_>, typed: &str) -> Result<IssueId> {
    let typed = typed.trim().to_lowercase();
    if let Some(id) = IssueId::parse(&typed) {
        return match snapshot.issue_records(&id)? {
            Some(_) => Ok(id),
            None => Err(unknown(&typed)),
        };
    }
    if typed.is_empty() {
        return Err(unknown(&typed));
    }
    let folders = snapshot.issue_folders()?;
    let meant: Vec<&IssueId> = folders
        .iter()
        .map(|(id, _)| id)
        .filter(|id| id.is_meant(&typed))
        .collect();
    match meant.as_slice() {
        [one] => Ok((*one).clone()),
        [] => Err(unknown(&typed)),
        more => {
            let names: Vec<&str> = more.iter().take(5).map(|id| id.as_str()).collect();
            let rest = match more.len() {
                0..=5 => String::new(),
                all => format!(" and {} more", all - 5),
            };
            Err(Failure::usage(
                Code::IssueAmbiguous,
                format!("`{typed}` is the beginning of {}{rest}", names.join(", ")),
            )
            .help(command!("issue show {}", more[0])))
        }
    }
}

pub(super) fn unknown(typed: &str) -> Failure {
    Failure::not_found(Code::IssueUnknown, format!("there is no issue `{typed}`"))
        .help(command!("issue list --all"))
}
