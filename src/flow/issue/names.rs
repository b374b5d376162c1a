//! The ids of all issues: what a person typed means one of them, and each is shown as short as tells it from the
//! others.

use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_rules::issue::{IssueId, Read, ShortName, ShortNames, Source, fold};
use loopx_rules::op::Operation;
use loopx_rules::words::Word;
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

    /// The short form of an id: as much of it as tells it from the others.
    pub(crate) fn short<'i>(&self, id: &'i IssueId) -> &'i str {
        id.short(self.0.length(id))
    }

    /// The length of the longest short id, for a column.
    pub(crate) fn width(&self) -> usize {
        self.0.width()
    }
}

/// The id that somebody means: a whole one, its beginning with or without the prefix, or the id that it had elsewhere. An
/// issue whose beginning was taken back is meant by nobody.
pub(super) fn resolve(snapshot: &Snapshot<'_>, typed: &str) -> Result<IssueId> {
    read(snapshot, typed).map(|read| read.issue.id)
}

/// The issue that somebody means, as its records give it.
pub(super) fn read(snapshot: &Snapshot<'_>, typed: &str) -> Result<Read> {
    let (id, records) = logged(snapshot, typed)?;
    fold(&id, &records).ok_or_else(|| taken_back(&id, &records))
}

/// The id that somebody means with its records, also where its beginning was taken back: for whoever shows what
/// happened, or brings it back.
pub(super) fn logged(snapshot: &Snapshot<'_>, typed: &str) -> Result<(IssueId, Vec<Operation>)> {
    let typed = typed.trim().to_lowercase();
    if let Some(id) = IssueId::parse(&typed) {
        return match snapshot.issue_records(&id)? {
            Some(records) => Ok((id, records)),
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
        [one] => records_of(snapshot, one),
        [] => from_elsewhere(snapshot, &typed),
        more => {
            let named: Vec<String> = more.iter().map(ToString::to_string).collect();
            Err(ambiguous(&typed, "is the beginning of", &named, &more[0]))
        }
    }
}

fn records_of(snapshot: &Snapshot<'_>, id: &IssueId) -> Result<(IssueId, Vec<Operation>)> {
    let records = snapshot.issue_records(id)?;
    let records = records.ok_or_else(|| unknown(id.as_str()))?;
    Ok((id.clone(), records))
}

/// The issue that had this id where it was taken over from; one that was taken back where no other had it.
fn from_elsewhere(snapshot: &Snapshot<'_>, typed: &str) -> Result<(IssueId, Vec<Operation>)> {
    let is_it = |source: &Source| source.is_meant(typed);
    let all = snapshot.issues()?;
    let here = all.issues.into_iter();
    let sources = here.filter_map(|issue| Some((issue.id, issue.source?)));
    let mut meant: Vec<(IssueId, Source)> = sources.filter(|(_, source)| is_it(source)).collect();
    if meant.is_empty() {
        for id in all.withdrawn {
            let records = snapshot.issue_records(&id)?.unwrap_or_default();
            let source = as_begun(&id, &records).and_then(|read| read.issue.source);
            meant.extend(source.filter(is_it).map(|source| (id, source)));
        }
    }
    match meant.as_slice() {
        [(one, _)] => records_of(snapshot, one),
        [] => Err(unknown(typed)),
        [(first, _), ..] => {
            let named = meant.iter().map(|(id, source)| format!("{id} ({source})"));
            let named: Vec<String> = named.collect();
            Err(ambiguous(typed, "was the id of", &named, first))
        }
    }
}

/// An issue as its records give it where none was taken back.
pub(super) fn as_begun(id: &IssueId, records: &[Operation]) -> Option<Read> {
    let mut counted = records.to_vec();
    counted.retain(|op| op.said().is_none());
    fold(id, &counted)
}

/// An issue whose beginning was taken back: by whom, and the command that brings it back.
fn taken_back(id: &IssueId, records: &[Operation]) -> Failure {
    let takes = |op: &&Operation| matches!(op.said(), Some(Word::Undone { .. }));
    let title = as_begun(id, records).map(|read| read.issue.title);
    let title = title.map_or_else(String::new, |title| format!(" ({title})"));
    let by = records.iter().rev().find(takes);
    let by = by.map_or_else(String::new, |op| {
        let why = op.reason.as_ref().map(|why| format!(": {}", why.trim()));
        format!(" by {} at {}{}", op.by.name, op.at, why.unwrap_or_default())
    });
    Failure::not_found(
        Code::IssueTakenBack,
        format!("the issue {id}{title} was taken back{by}"),
    )
    .help(command!("issue redo {id}"))
}

fn ambiguous(typed: &str, what: &str, more: &[String], first: &IssueId) -> Failure {
    let rest = match more.len() {
        0..=5 => String::new(),
        all => format!(" and {} more", all - 5),
    };
    let named = more.iter().take(5).map(String::as_str);
    let named: Vec<&str> = named.collect();
    Failure::usage(
        Code::IssueAmbiguous,
        format!("`{typed}` {what} {}{rest}", named.join(", ")),
    )
    .help(command!("issue show {first}"))
}

pub(super) fn unknown(typed: &str) -> Failure {
    Failure::not_found(Code::IssueUnknown, format!("there is no issue `{typed}`"))
        .help(command!("issue list --all"))
}
