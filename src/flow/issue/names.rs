//! The ids of all issues: what a person typed means one of them, and each is shown as short as tells it from the
//! others.

use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_rules::issue::{IssueId, ShortName, ShortNames, Source};
use loopx_store::{Issues, Snapshot};

/// The ids as people are shown them: sorted, so that a name is found beside those that it could be taken for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names(ShortNames);

impl Names {
    pub(super) fn of(snapshot: &Snapshot<'_>) -> Result<Self> {
        let mut names = Vec::new();
        snapshot.issue_ids(|id| names.extend(ShortName::of(id)))?;
        Ok(Names(names.into_iter().collect()))
    }

    pub(super) fn among<'i>(ids: impl Iterator<Item = &'i str>) -> Self {
        Names(ids.filter_map(ShortName::of).collect())
    }

    /// The names for a list: an issue whose beginning was taken back has an id that is taken all the same.
    pub(super) fn of_issues(found: &Issues) -> Self {
        let ids = found.issues.iter().map(|issue| &issue.id);
        let damaged = found.damaged.iter().map(|(id, _)| id);
        let all = ids.chain(&found.withdrawn).chain(damaged);
        Names(all.filter_map(|id| ShortName::of(id.as_str())).collect())
    }

    pub(super) fn add(&mut self, ids: &[IssueId]) {
        let names = ids.iter().filter_map(|id| ShortName::of(id.as_str()));
        self.0.add(names);
    }

    /// So much of an id as tells it from the others.
    pub(crate) fn short<'i>(&self, id: &'i IssueId) -> &'i str {
        id.short(self.0.length(id))
    }

    /// The longest of them, for a column.
    pub(crate) fn width(&self) -> usize {
        self.0.width()
    }
}

/// The id that somebody means: a whole one, its beginning with or without the prefix, or the id that it had elsewhere.
pub(super) fn resolve(snapshot: &Snapshot<'_>, typed: &str) -> Result<IssueId> {
    let typed = typed.trim().to_lowercase();
    if let Some(id) = IssueId::parse(&typed) {
        return match snapshot.issue_records(&id)? {
            Some(_) => Ok(id),
            None => from_elsewhere(snapshot, &typed),
        };
    }
    if typed.is_empty() {
        return Err(unknown(&typed));
    }
    let mut meant: Vec<IssueId> = Vec::new();
    snapshot.issue_ids(|id| {
        let id = IssueId::parse(id).filter(|id| id.is_meant(&typed));
        meant.extend(id);
    })?;
    meant.sort();
    meant.dedup();
    match meant.as_slice() {
        [one] => Ok(one.clone()),
        [] => from_elsewhere(snapshot, &typed),
        more => Err(ambiguous(&typed, "is the beginning of", more)),
    }
}

/// The issue that had this id where it was taken over from.
fn from_elsewhere(snapshot: &Snapshot<'_>, typed: &str) -> Result<IssueId> {
    let is_it = |source: &Source| source.is_meant(typed);
    let all = snapshot.issues()?.issues.into_iter();
    let meant = all.filter(|issue| issue.source.as_ref().is_some_and(is_it));
    let meant: Vec<IssueId> = meant.map(|issue| issue.id).collect();
    match meant.as_slice() {
        [one] => Ok(one.clone()),
        [] => Err(unknown(typed)),
        more => Err(ambiguous(typed, "was the id of", more)),
    }
}

fn ambiguous(typed: &str, what: &str, more: &[IssueId]) -> Failure {
    let names: Vec<&str> = more.iter().take(5).map(|id| id.as_str()).collect();
    let rest = match more.len() {
        0..=5 => String::new(),
        all => format!(" and {} more", all - 5),
    };
    Failure::usage(
        Code::IssueAmbiguous,
        format!("`{typed}` {what} {}{rest}", names.join(", ")),
    )
    .help(command!("issue show {}", more[0]))
}

pub(super) fn unknown(typed: &str) -> Failure {
    Failure::not_found(Code::IssueUnknown, format!("there is no issue `{typed}`"))
        .help(command!("issue list --all"))
}
