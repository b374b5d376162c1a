//! `note promote`: a rule or the draft of a decision record is made out of a note. The document says which note it
//! comes from, and the note's log says where the document is.

use super::list::records;
use super::{Home, Look, Noted, Where, find, keep, nothing_made};
use crate::flow::adr::change;
use crate::flow::context::Context;
use crate::flow::naming::unknown;
use crate::flow::rules;
use crate::flow::rules::AddRequest;
use crate::flow::write_scope::{self, Opening, new_uid, seal};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::id::OpId;
use loopx_rules::note::bus::withdrawn;
use loopx_rules::note::{Note, NoteKind, NoteRecord, Promotion};
use loopx_rules::rule::{Document, RuleKind};
use loopx_store as store;
use loopx_store::{Decision, Edits, Record, Snapshot};
use std::fs;

/// The options of `note promote`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'a> {
    pub note: &'a str,
    pub into: Promotion,
    /// The title of a draft; else the first line of the note.
    pub title: Option<&'a str>,
    pub category: Option<&'a str>,
    /// The kind of a rule; else that of the note.
    pub kind: Option<RuleKind>,
    pub dry_run: bool,
}

/// The rule or the draft that was made.
#[derive(Debug)]
pub(crate) struct Made {
    pub path: String,
    pub before: String,
    pub after: String,
    /// The record of the promotion; none where nothing was written.
    pub noted: Option<Noted>,
}

impl Made {
    /// A document that stands already.
    fn there(path: String, text: String) -> Self {
        Made {
            path,
            before: text.clone(),
            after: text,
            noted: None,
        }
    }
}

/// Makes a rule or a draft out of a note.
pub(crate) fn promote(ctx: &Context, place: &Where, request: Request<'_>) -> Result<Made> {
    let (home, records) = records(ctx, place)?;
    let record = find(&records, place, request.note)?;
    require_new(ctx, (&records, place), record, request.into)?;
    let id = short(&record.op);
    let mut made = match request.into {
        Promotion::Rule => rule(ctx, record, id, request)?,
        Promotion::Adr => draft(ctx, record, (id, home.name()), request)?,
    };
    if request.dry_run {
        return Ok(made);
    }
    let look = Look::Note(record.op.to_string());
    let subject = format!("promote the note {id} to {}", made.path);
    let promoted = (record.op.clone(), request.into, made.path.clone());
    let noted = match home {
        Home::Session(_) => told(ctx, &[promoted], &subject),
        _ => keep(ctx, place, &look, &subject, |_, _| {
            Ok(note_of(promoted.clone()))
        }),
    };
    made.noted = Some(noted.map_err(|failure| {
        let path = &made.path;
        let left = format!("{path} is written, and the note does not say so yet");
        let again = format!("promote {} --to {}", record.op, request.into);
        failure.context(left).help(place.command(&again, ""))
    })?);
    Ok(made)
}

fn note_of((note, into, text): (OpId, Promotion, String)) -> Note {
    Note::Promoted { note, into, text }
}

/// Says in the session that is meant what was made out of its notes, in one commit: also where it has ended, because
/// what was learned is often written down then.
pub(super) fn told(
    ctx: &Context,
    promoted: &[(OpId, Promotion, String)],
    subject: &str,
) -> Result<Noted> {
    let opening = Opening::of(ctx)?;
    let (repo, id) = (&ctx.repo, opening.session(ctx)?);
    let decide = |snapshot: &Snapshot<'_>| {
        let session = snapshot.find(&id)?.ok_or_else(|| unknown(snapshot, &id))?;
        snapshot.require_whole(&session)?;
        let (tx, mut state) = (new_uid(), session.state.clone());
        let mut operations = Vec::new();
        for one in promoted {
            let body = note_of(one.clone());
            let mut draft = write_scope::draft(&opening.identity, &state, body);
            draft.tx.clone_from(&tx);
            let op = seal(repo, &draft)?;
            state.apply(&op);
            operations.push(op);
        }
        let last = operations.last().ok_or_else(nothing_made)?;
        let records: Vec<Record<'_>> = operations.iter().map(Record::from).collect();
        let mut edits = Edits::default();
        edits.record_all(repo, Some(&session), &records, &state)?;
        Ok(Decision {
            edits,
            message: store::message(&id, subject, last, &state),
            value: last.op.clone(),
        })
    };
    let committed = opening.scope(ctx).commit(decide, |_| Vec::new())?;
    Ok(Noted {
        op: committed.value,
        commit: committed.commit,
        home: Home::Session(id),
    })
}

fn require_new(
    ctx: &Context,
    (records, place): (&[NoteRecord], &Where),
    record: &NoteRecord,
    wanted: Promotion,
) -> Result<()> {
    let is_gone = withdrawn(records).contains(&record.op);
    if is_gone || matches!(record.note, Note::Promoted { .. } | Note::Withdrawn { .. }) {
        let what = match &record.note {
            _ if is_gone => "a note that was withdrawn",
            note => note.kind_word(),
        };
        return Err(Failure::usage(
            Code::NoteInvalid,
            format!("expected a note that says something, found {what}"),
        )
        .help(place.command("list", "")));
    }
    let text = record.note.text();
    if text.trim().is_empty() {
        return Err(Failure::usage(
            Code::NoteInvalid,
            "a note without a text says no rule and no decision",
        )
        .help(place.command("list", "")));
    }
    let before = records.iter().find_map(|one| match &one.note {
        Note::Promoted { note, into, text } if *note == record.op && *into == wanted => Some(text),
        _ => None,
    });
    // What somebody deleted again is made anew.
    match before.filter(|path| is_there(ctx, record, path)) {
        None => Ok(()),
        Some(path) => Err(Failure::nothing(
            Code::NotePromoted,
            format!("the note was made {path} before"),
        )
        .help(place.command(&format!("show {}", record.op), ""))),
    }
}

/// Tells whether a document that was made out of a note is still there: under its path, or beside it under the name
/// that it has got since. Without files nobody can tell.
fn is_there(ctx: &Context, record: &NoteRecord, path: &str) -> bool {
    let Some(top) = ctx.repo.work_dir() else {
        return true;
    };
    let folder = top.join(path);
    let Some(Ok(files)) = folder.parent().map(fs::read_dir) else {
        return false;
    };
    let mark = format!("note {}", short(&record.op));
    let mut texts = files.filter_map(|file| fs::read_to_string(file.ok()?.path()).ok());
    texts.any(|text| text.contains(&mark))
}

/// The id of a note as a document names it.
pub(super) fn short(op: &OpId) -> &str {
    let op = op.as_str();
    op.get(..12).unwrap_or(op)
}

/// The text of a note as a rule says it, on one line.
pub(super) fn text_of(record: &NoteRecord) -> String {
    let words: Vec<&str> = record.note.text().split_whitespace().collect();
    words.join(" ")
}

/// The kind of rule that a note of this kind says.
pub(super) fn kind_of(note: &Note) -> RuleKind {
    match note.said().map(|said| said.kind) {
        Some(NoteKind::Convention) => RuleKind::Convention,
        Some(NoteKind::Decision) => RuleKind::Constraint,
        _ => RuleKind::Learning,
    }
}

/// The document that has the rule of a note, which stays where a promotion failed, or was killed, before its record.
pub(super) fn written(ctx: &Context, rule: &str, id: &str) -> Result<Option<Document>> {
    let document = rules::rule_set(ctx, None)?.project_document(rule);
    let mark = format!("(note {id})");
    Ok(document.filter(|one| one.text.contains(&mark)))
}

fn rule(ctx: &Context, record: &NoteRecord, id: &str, request: Request<'_>) -> Result<Made> {
    let text = format!("{} (note {id})", text_of(record));
    if let Some(one) = written(ctx, &text, id)? {
        return Ok(Made::there(one.path, one.text));
    }
    let added = rules::add(
        ctx,
        AddRequest {
            text: &text,
            kind: request.kind.unwrap_or_else(|| kind_of(&record.note)),
            category: request.category,
            document: None,
            personal: false,
            dry_run: request.dry_run,
        },
    )?;
    Ok(Made {
        path: added.path,
        before: added.before,
        after: added.after,
        noted: None,
    })
}

fn draft(
    ctx: &Context,
    record: &NoteRecord,
    (id, home): (&str, &str),
    request: Request<'_>,
) -> Result<Made> {
    let text = record.note.text().trim();
    let first: String = text
        .lines()
        .next()
        .unwrap_or_default()
        .chars()
        .take(80)
        .collect();
    let title = request.title.unwrap_or(first.trim_end_matches('.'));
    let day = record.at.get(..10).unwrap_or(&record.at);
    let said = format!(
        "{text}\n\nNoted by {} on {day}, in {home}: note {id}.",
        record.by.name
    );
    if let Some((path, text)) = change::drafted_about(ctx, title, &format!("note {id}."))? {
        return Ok(Made::there(path, text));
    }
    let change = change::new_about(ctx, title, &said, request.dry_run)?;
    Ok(Made {
        path: change.path,
        before: change.before,
        after: change.after,
        noted: None,
    })
}
