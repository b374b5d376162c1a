//! Rules out of what a session noted: proposed to be looked at, and put into documents only where somebody says so. A
//! rule that is known is not proposed.

use super::list::records;
use super::promote::{kind_of, short, text_of, told, written};
use super::{Noted, Where, find};
use crate::flow::context::Context;
use crate::flow::naming;
use crate::flow::rules;
use crate::flow::rules::{AddRequest, Added};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_base::id::{OpId, SessionId};
use loopx_rules::note::bus::withdrawn;
use loopx_rules::note::{Note, NoteKind, NoteRecord, Promotion};
use loopx_rules::rule::{RuleKind, normalised};
use serde::Serialize;
use std::collections::BTreeSet;

/// A rule that a note says.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Proposal {
    pub note: OpId,
    /// The number of the note in its session.
    pub seq: u64,
    /// The person who noted it.
    pub by: String,
    pub kind: RuleKind,
    pub category: String,
    /// The document to which the rule goes.
    pub path: String,
    pub rule: String,
}

/// A note that cannot be a rule as it stands, and why.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Unfit {
    pub note: OpId,
    pub seq: u64,
    pub why: String,
}

/// Notes of a session that no rule says yet.
#[derive(Debug)]
pub(crate) struct Proposed {
    pub session: SessionId,
    pub rules: Vec<Proposal>,
    pub unfit: Vec<Unfit>,
}

/// The notes and the category that somebody chose of the proposals.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Choice<'a> {
    /// The notes to take; all where none is named.
    pub only: &'a [String],
    /// The category of the rules, where it is not that of their kind.
    pub category: Option<&'a str>,
}

/// The rules that were written.
#[derive(Debug)]
pub(crate) struct Written {
    pub proposed: Proposed,
    /// The record that names the notes; none where nothing was written.
    pub noted: Option<Noted>,
}

/// The session that is named, the one that is meant here, or the one that ended last on this branch.
fn of(ctx: &Context, name: Option<&str>) -> Result<Context> {
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let id = match name {
        Some(name) => Some(naming::find(&snapshot, name)?),
        None if ctx.is_in_session()? => None,
        None => ctx.last_archived(&snapshot)?.map(|last| last.state.id),
    };
    let wanted = match id {
        Some(id) => id,
        None => ctx.session(&snapshot)?.state.id,
    };
    ctx.about(&wanted)
}

/// Proposes rules out of the notes of a session. Nothing is written.
pub(crate) fn propose(ctx: &Context, name: Option<&str>, choice: Choice<'_>) -> Result<Proposed> {
    let ctx = of(ctx, name)?;
    let taken = choose(&ctx, choice)?;
    proposed(&ctx, taken, choice)
}

/// Puts the proposed rules into their documents, and says in each note where its rule stands.
pub(crate) fn write(ctx: &Context, name: Option<&str>, choice: Choice<'_>) -> Result<Written> {
    let ctx = &of(ctx, name)?;
    let proposed = proposed(ctx, choose(ctx, choice)?, choice)?;
    let mut promoted = Vec::new();
    let mut failed = None;
    for one in &proposed.rules {
        match add(ctx, one.kind, (&one.rule, short(&one.note)), choice, false) {
            Ok(added) => promoted.push((one.note.clone(), Promotion::Rule, added.path)),
            // Somebody wrote it meanwhile, or this note's own promotion did before it failed.
            Err(failure) if failure.code == Code::RuleKnown => {
                if let Some(known) = written(ctx, &one.rule, short(&one.note))? {
                    promoted.push((one.note.clone(), Promotion::Rule, known.path));
                }
            }
            Err(failure) => {
                failed = Some(failure);
                break;
            }
        }
    }
    let subject = match promoted.as_slice() {
        [] => None,
        [(_, _, path)] => Some(format!("promote a note to {path}")),
        many => Some(format!("promote {} notes to rules", many.len())),
    };
    let noted = subject.map(|subject| told(ctx, &promoted, &subject));
    let noted = noted.transpose().map_err(|failure| {
        let paths: BTreeSet<&str> = promoted.iter().map(|(_, _, path)| path.as_str()).collect();
        let paths: Vec<&str> = paths.into_iter().collect();
        let paths = paths.join(", ");
        failure.context(format!(
            "the rules are written in {paths}, and the notes do not name them"
        ))
    })?;
    match failed {
        Some(failure) => Err(failure),
        None => Ok(Written { proposed, noted }),
    }
}

/// The notes that can say a rule and of which none was made yet, oldest first.
fn choose(ctx: &Context, choice: Choice<'_>) -> Result<Vec<NoteRecord>> {
    let (_, records) = records(ctx, &Where::default())?;
    let gone = withdrawn(&records);
    let promoted: BTreeSet<&OpId> = records
        .iter()
        .filter_map(|one| match &one.note {
            Note::Promoted { note, .. } => Some(note),
            _ => None,
        })
        .collect();
    let mut named = BTreeSet::new();
    for typed in choice.only {
        let note = find(&records, &Where::default(), typed)?;
        if !says_a_rule(note) {
            return Err(Failure::usage(
                Code::NoteInvalid,
                format!(
                    "@{} is a note of the kind {}: rules are made out of conventions, decisions and learnings",
                    note.seq,
                    note.note.kind_word()
                ),
            )
            .help(command!("note promote {} --to rule", note.op)));
        }
        named.insert(&note.op);
    }
    let is_wanted = |one: &&NoteRecord| {
        says_a_rule(one)
            && !gone.contains(&one.op)
            && !promoted.contains(&one.op)
            && (named.is_empty() || named.contains(&one.op))
    };
    Ok(records.iter().filter(is_wanted).cloned().collect())
}

/// Tells whether a note says how things are done, what was decided, or what was found out. A message to a role is none
/// of these.
fn says_a_rule(record: &NoteRecord) -> bool {
    let said = record.note.said();
    said.is_some_and(|said| {
        !matches!(said.kind, NoteKind::Message | NoteKind::Risk)
            && said.sort.is_none()
            && !said.text.trim().is_empty()
    })
}

fn proposed(ctx: &Context, notes: Vec<NoteRecord>, choice: Choice<'_>) -> Result<Proposed> {
    let session = ctx.session(&ctx.store()?.snapshot()?)?.state.id;
    let mut found = Proposed {
        session,
        rules: Vec::new(),
        unfit: Vec::new(),
    };
    let mut seen = BTreeSet::new();
    for record in notes {
        let text = text_of(&record);
        if !seen.insert(normalised(&text)) {
            continue;
        }
        let kind = kind_of(&record.note);
        match add(ctx, kind, (&text, short(&record.op)), choice, true) {
            Ok(added) => found.rules.push(Proposal {
                note: record.op,
                seq: record.seq,
                by: record.by.name,
                kind,
                category: added.category,
                path: added.path,
                rule: text,
            }),
            Err(failure) if failure.code == Code::RuleKnown => {
                if let Some(known) = written(ctx, &text, short(&record.op))? {
                    found.rules.push(Proposal {
                        note: record.op,
                        seq: record.seq,
                        by: record.by.name,
                        kind,
                        category: known.category,
                        path: known.path,
                        rule: text,
                    });
                }
            }
            Err(failure) if failure.code == Code::RuleInvalid => found.unfit.push(Unfit {
                note: record.op,
                seq: record.seq,
                why: failure.message,
            }),
            Err(failure) => return Err(failure),
        }
    }
    Ok(found)
}

/// Adds a rule that names its note.
fn add(
    ctx: &Context,
    kind: RuleKind,
    (rule, note): (&str, &str),
    choice: Choice<'_>,
    dry_run: bool,
) -> Result<Added> {
    let text = format!("{rule} (note {note})");
    rules::add(
        ctx,
        AddRequest {
            text: &text,
            kind,
            category: choice.category,
            document: None,
            personal: false,
            dry_run,
        },
    )
}
