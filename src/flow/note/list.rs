//! `note list` and `note show`: the notes of a place, or of all, by whatever somebody asks for.

use super::filter::Filter;
use super::{Home, Where, find, is_about_a_session};
use crate::flow::context::Context;
use crate::flow::issue;
use loopx_base::failure::Result;
use loopx_base::id::{Oid, OpId, Person, SessionId};
use loopx_rules::issue::IssueId;
use loopx_rules::note::bus::{Threads, withdrawn};
use loopx_rules::note::{Note, NoteRecord, Promotion};
use loopx_rules::op::{CodeVerdict, Event, Operation};
use loopx_store::{Session, Snapshot};
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, HashSet};

/// The kind of what a list makes of approvals: they are records of their session already.
pub(crate) const APPROVAL: &str = "approval";

/// A note as a list shows it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Listed {
    pub session: Option<SessionId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issue: Option<IssueId>,
    pub op: OpId,
    pub seq: u64,
    pub at: String,
    pub by: Person,
    pub kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    pub to: Option<String>,
    pub text: String,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub sort: Option<String>,
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<OpId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The angle of what was found, and the code that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub angle: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tree: Option<Oid>,
    /// The question that the note answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<OpId>,
    /// Mark of a question that nobody has answered; nothing where the note is no question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open: Option<bool>,
    /// The answers to the question, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<AnswerOf>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub withdrawn: bool,
    /// The rules and drafts that were made out of the note.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub promoted: Vec<Promoted>,
}

/// The answer to a question, as the list names it beside the question.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct AnswerOf {
    pub op: OpId,
    pub seq: u64,
    pub at: String,
    pub by: Person,
}

/// A rule or a draft that was made out of a note.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Promoted {
    pub into: Promotion,
    pub path: String,
}

/// The notes that a list found.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    pub notes: Vec<Listed>,
    /// The number of notes beyond those that were asked for.
    pub left_out: usize,
    /// The number of notes that were withdrawn, where nobody asked for these.
    pub withdrawn: usize,
    /// Sessions, issues and folders of the journal of which something cannot be read, and why.
    pub damaged: Vec<(String, String)>,
}

/// The notes of one place, in the order of its log.
struct Group {
    home: Home,
    records: Vec<NoteRecord>,
    approvals: Vec<Listed>,
}

/// The notes of the session that is meant, of an issue, of the journal, or all; oldest first. Of all, what is damaged
/// hides no other.
pub(crate) fn list(ctx: &Context, filter: &Filter) -> Result<Notes> {
    let snapshot = ctx.store()?.snapshot()?;
    let mut damaged = Vec::new();
    let groups = groups(ctx, &snapshot, filter, &mut damaged)?;
    let with_withdrawn = Filter {
        withdrawn: true,
        ..filter.clone()
    };
    let mut found = Vec::new();
    let mut is_named = false;
    for group in &groups {
        let thread = match &filter.thread {
            None => None,
            Some(typed) => match find(&group.records, &filter.place, typed) {
                Ok(one) => {
                    is_named = true;
                    Some(one.op.clone())
                }
                Err(_) if filter.all => continue,
                Err(failure) => return Err(failure),
            },
        };
        found.extend(taken(group, &with_withdrawn, thread.as_ref()));
    }
    if let (Some(typed), false) = (&filter.thread, is_named) {
        find(&[], &filter.place, typed)?;
    }
    let all = found.len();
    found.retain(|one| filter.withdrawn || !one.withdrawn);
    let withdrawn = all - found.len();
    found.sort_by(|one, other| (&one.at, one.seq).cmp(&(&other.at, other.seq)));
    let left_out = filter
        .last
        .map_or(0, |last| found.len().saturating_sub(last));
    found.drain(..left_out);
    Ok(Notes {
        notes: found,
        left_out,
        withdrawn,
        damaged,
    })
}

/// The notes of one session, whatever is checked out; oldest first.
pub(crate) fn of_session(
    snapshot: &Snapshot<'_>,
    session: &Session,
    filter: &Filter,
) -> Result<Vec<Listed>> {
    let group = Group::of_session(snapshot, session, false)?;
    Ok(taken(&group, filter, None))
}

/// A note with its thread, oldest first.
pub(crate) fn show(ctx: &Context, typed: &str, place: &Where) -> Result<(Listed, Vec<Listed>)> {
    let snapshot = ctx.store()?.snapshot()?;
    let group = of_place(ctx, &snapshot, place)?;
    let one = find(&group.records, place, typed)?;
    let filter = Filter {
        withdrawn: true,
        ..Filter::default()
    };
    let thread = taken(&group, &filter, Some(&one.op));
    let listed = thread.iter().find(|note| note.op == one.op).cloned();
    let listed = listed.unwrap_or_else(|| listed_of(&group.home, one));
    Ok((listed, thread))
}

/// The notes of one place.
pub(super) fn records(ctx: &Context, place: &Where) -> Result<(Home, Vec<NoteRecord>)> {
    let snapshot = ctx.store()?.snapshot()?;
    let group = of_place(ctx, &snapshot, place)?;
    Ok((group.home, group.records))
}

fn of_place(ctx: &Context, snapshot: &Snapshot<'_>, place: &Where) -> Result<Group> {
    let filter = Filter {
        place: place.clone(),
        withdrawn: true,
        ..Filter::default()
    };
    let mut groups = groups_of(ctx, snapshot, &filter, &mut Vec::new(), &|_| true)?;
    Ok(groups.pop().unwrap_or_else(|| Group::new(Home::Journal)))
}

impl Group {
    fn new(home: Home) -> Self {
        Group {
            home,
            records: Vec::new(),
            approvals: Vec::new(),
        }
    }

    fn of_session(snapshot: &Snapshot<'_>, session: &Session, approvals: bool) -> Result<Self> {
        let mut group = Group::new(Home::Session(session.state.id.clone()));
        for op in snapshot.operations(session)? {
            if approvals && let Some(said) = approval(&op) {
                group.approvals.push(approved(&group.home, op, said));
            } else {
                group.records.extend(NoteRecord::of(op));
            }
        }
        Ok(group)
    }
}

/// Says what an approval holds, where an operation is one.
fn approval(op: &Operation) -> Option<String> {
    match op.event()? {
        Event::Approved {
            transition,
            content,
            ..
        } => Some(format!("{transition}, content {}", content.short())),
        Event::Reviewed { verdict } if verdict.verdict == CodeVerdict::Approve => {
            let findings = loopx_base::counted(verdict.findings.len(), "finding");
            Some(format!(
                "verdict {}, architecture {}, {findings}",
                verdict.verdict, verdict.architecture
            ))
        }
        _ => None,
    }
}

fn approved(home: &Home, op: Operation, said: String) -> Listed {
    let text = match &op.reason {
        Some(reason) => format!("{said}: {}", reason.trim()),
        None => said,
    };
    let note = Note::Asked { text };
    let mut listed = listed_of(
        home,
        &NoteRecord {
            op: op.op,
            seq: op.seq,
            at: op.at,
            by: op.by,
            note,
        },
    );
    listed.kind = APPROVAL;
    listed.open = None;
    listed
}

fn groups(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    filter: &Filter,
    damaged: &mut Vec<(String, String)>,
) -> Result<Vec<Group>> {
    // What others rest on is known whatever is asked for: answers, threads, and what was withdrawn.
    let rests = |one: &NoteRecord| {
        !matches!(one.note, Note::Noted(_)) || filter.thread.is_some() || filter.takes_record(one)
    };
    groups_of(ctx, snapshot, filter, damaged, &rests)
}

fn groups_of(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    filter: &Filter,
    damaged: &mut Vec<(String, String)>,
    takes: &dyn Fn(&NoteRecord) -> bool,
) -> Result<Vec<Group>> {
    let mut found = Vec::new();
    if let Some(typed) = &filter.place.issue {
        let id = issue::require(snapshot, typed)?.issue.id;
        let mut group = Group::new(Home::Issue(id.clone()));
        group.records = of_issue(snapshot, &id)?;
        return Ok(vec![group]);
    }
    let approvals = filter.kind.as_deref() == Some(APPROVAL);
    if filter.all {
        let everywhere = snapshot.active()?.into_iter().chain(snapshot.archived()?);
        for (id, session) in everywhere {
            let group =
                session.and_then(|session| Group::of_session(snapshot, &session, approvals));
            match group {
                Ok(group) => found.push(group),
                Err(failure) => damaged.push((id.to_string(), failure.message)),
            }
        }
        found.extend(of_issues(snapshot, damaged)?);
    } else if !filter.place.journal && is_about_a_session(ctx)? {
        let session = ctx.session(snapshot)?;
        return Ok(vec![Group::of_session(snapshot, &session, approvals)?]);
    }
    let month = filter.since.map(month_before);
    let journal = snapshot.journal_notes(month.as_deref(), takes)?;
    for (place, failure) in journal.damaged {
        if filter.all {
            damaged.push((place, failure.message))
        } else {
            return Err(failure);
        }
    }
    let mut group = Group::new(Home::Journal);
    group.records = journal.notes;
    found.push(group);
    Ok(found)
}

/// The month of a second, by whichever clock it was written: a day earlier.
fn month_before(seconds: i64) -> String {
    let day = loopx_rules::lease::clock(seconds.saturating_sub(86_400));
    day.chars().take(7).collect()
}

/// The notes of an issue.
pub(super) fn of_issue(snapshot: &Snapshot<'_>, id: &IssueId) -> Result<Vec<NoteRecord>> {
    let records = snapshot.issue_records(id)?.unwrap_or_default();
    Ok(records.into_iter().filter_map(NoteRecord::of).collect())
}

/// The notes of all issues that have any.
fn of_issues(snapshot: &Snapshot<'_>, damaged: &mut Vec<(String, String)>) -> Result<Vec<Group>> {
    let (issues, texts) = snapshot.issues_with_texts()?;
    for (id, failure) in issues.damaged {
        damaged.push((id.to_string(), failure.message));
    }
    let mut found = Vec::new();
    for issue in issues.issues {
        if texts
            .get(&issue.id)
            .is_some_and(|texts| !texts.comments.is_empty())
        {
            let mut group = Group::new(Home::Issue(issue.id.clone()));
            group.records = of_issue(snapshot, &issue.id)?;
            found.push(group);
        }
    }
    Ok(found)
}

/// The notes of a place that somebody asks for.
fn taken(group: &Group, filter: &Filter, thread: Option<&OpId>) -> Vec<Listed> {
    let gone: HashSet<&OpId> = withdrawn(&group.records);
    let mut answers: BTreeMap<&OpId, Vec<AnswerOf>> = BTreeMap::new();
    let mut promoted: HashMap<&OpId, Vec<Promoted>> = HashMap::new();
    for record in &group.records {
        match &record.note {
            Note::Answered { question, .. } => {
                answers.entry(question).or_default().push(AnswerOf {
                    op: record.op.clone(),
                    seq: record.seq,
                    at: record.at.clone(),
                    by: record.by.clone(),
                })
            }
            Note::Promoted { note, into, text } => {
                promoted.entry(note).or_default().push(Promoted {
                    into: *into,
                    path: text.clone(),
                });
            }
            _ => {}
        }
    }
    let threads = thread.map(|_| Threads::of(&group.records));
    let is_in_thread = |record: &NoteRecord| match (&threads, thread) {
        (Some(threads), Some(thread)) => threads.first(&record.op) == threads.first(thread),
        _ => true,
    };
    let mut found: Vec<Listed> = Vec::new();
    for record in &group.records {
        let is_gone = gone.contains(&record.op);
        if (is_gone && !filter.withdrawn) || !filter.takes_record(record) || !is_in_thread(record) {
            continue;
        }
        let mut listed = listed_of(&group.home, record);
        listed.withdrawn = is_gone;
        listed.promoted = promoted.remove(&record.op).unwrap_or_default();
        if listed.open.is_some() {
            listed.answers = answers.remove(&record.op).unwrap_or_default();
            listed.open = Some(listed.answers.is_empty());
        }
        found.push(listed);
    }
    let approvals = group.approvals.iter();
    found.extend(approvals.filter(|one| filter.takes_listed(one)).cloned());
    found
}

fn listed_of(home: &Home, record: &NoteRecord) -> Listed {
    let note = &record.note;
    let said = note.said();
    let mut listed = Listed {
        session: home.session().cloned(),
        issue: home.issue().cloned(),
        op: record.op.clone(),
        seq: record.seq,
        at: record.at.clone(),
        by: record.by.clone(),
        kind: note.kind_word(),
        from: note.role().map(str::to_owned),
        to: said.and_then(|said| said.to.clone()),
        text: note.text().to_owned(),
        sort: said.and_then(|said| said.sort.clone()),
        about: said.and_then(|said| said.about.clone()),
        data: said
            .and_then(|said| said.data.as_deref())
            .map(|data| serde_json::from_str(data).unwrap_or_else(|_| Value::from(data))),
        task: said.and_then(|said| said.task.clone()),
        reply_to: said.and_then(|said| said.reply_to.clone()),
        key: None,
        angle: None,
        tree: None,
        question: None,
        open: None,
        answers: Vec::new(),
        withdrawn: false,
        promoted: Vec::new(),
    };
    match note {
        Note::Explored { angle, tree, .. } => {
            (listed.angle, listed.tree) = (Some(angle.clone()), tree.clone());
        }
        Note::Answered { question, .. } => listed.question = Some(question.clone()),
        Note::Asked { .. } => listed.open = Some(true),
        Note::Set { key, .. } => listed.key = Some(key.clone()),
        Note::Withdrawn { note, .. } | Note::Promoted { note, .. } => {
            listed.reply_to = Some(note.clone());
        }
        Note::Noted(_) => {}
    }
    listed
}
