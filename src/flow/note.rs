//! `note`: something said in passing and kept, on the session that is meant, on an issue or, without either, in the
//! journal of the month.
//!
//! A note is one record, and nothing else changes: no working copy is saved, and no gate looks at it. Each place of
//! notes is written by one road, [`keep`].

pub(crate) mod bus;
pub(crate) mod filter;
pub(crate) mod import;
pub(crate) mod list;
pub(crate) mod promote;
pub(crate) mod propose;

use super::context::Context;
use super::issue;
use super::transaction::{Act, Facts, Needs, act_beside};
use super::write_scope::{Opening, first, new_uid, seal};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{Hint, command};
use loopx_base::id::{Oid, OpId, SessionId};
use loopx_git::Identity;
use loopx_rules::issue::IssueId;
use loopx_rules::note::{Note, NoteRecord, Said, open_questions};
use loopx_rules::op::Operation;
use loopx_rules::outline;
use loopx_rules::record::Draft;
use loopx_rules::roadmap::Round;
use loopx_rules::task::plan;
use loopx_store::{Decision, Edits, Snapshot, journal_message};

/// The longest text of a note, in bytes: what is longer is a document.
const LONGEST: usize = 64 * 1024;

/// The note that was written, and its place.
#[derive(Debug)]
pub(crate) struct Noted {
    pub home: Home,
    pub op: OpId,
    pub commit: Oid,
}

/// The place where a command of notes looks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Where {
    /// The journal, also where a session is meant.
    pub journal: bool,
    /// An issue.
    pub issue: Option<String>,
}

impl Where {
    /// A command of notes that looks there, too; `more` stands behind the place.
    pub(crate) fn command(&self, what: &str, more: &str) -> Hint {
        match (&self.issue, self.journal) {
            (Some(issue), _) => {
                let issue = loopx_base::shell_word(issue);
                command!("note {what} --issue {issue}{more}")
            }
            (None, true) => command!("note {what} --journal{more}"),
            (None, false) => command!("note {what}{more}"),
        }
    }
}

/// The place of notes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    Session(SessionId),
    Issue(IssueId),
    Journal,
}

impl Home {
    pub(crate) fn session(&self) -> Option<&SessionId> {
        match self {
            Home::Session(id) => Some(id),
            _ => None,
        }
    }

    pub(crate) fn issue(&self) -> Option<&IssueId> {
        match self {
            Home::Issue(id) => Some(id),
            _ => None,
        }
    }

    /// The name of the place, as people read it.
    pub(crate) fn name(&self) -> &str {
        match self {
            Home::Session(id) => id.as_str(),
            Home::Issue(id) => id.as_str(),
            Home::Journal => "journal",
        }
    }
}

/// Refuses a text that says nothing, or that is a document.
pub(super) fn require_text(text: &str) -> Result<()> {
    let example = command!("note \"The cache is never cleared\" --kind learning");
    require_said("the text of a note", text, example.note("(for one)"))
}

/// Refuses a text that says nothing, is too long, or would be read as a round of feedback. `what`: the name of the text in
/// the refusal.
pub(super) fn require_said(what: &str, text: &str, lead: Hint) -> Result<()> {
    if text.trim().is_empty() {
        let message = format!("expected {what}, found none");
        return Err(Failure::usage(Code::NoteEmpty, message).help(lead));
    }
    if text.len() > LONGEST {
        return Err(Failure::usage(
            Code::NoteTooLong,
            format!(
                "expected a note of at most {LONGEST} bytes, found {}",
                text.len()
            ),
        )
        .help(lead));
    }
    // Only `roadmap feedback` gives rounds: it asks for a person where one is needed.
    if Round::reads(text) {
        let message =
            "expected words of your own, found the beginning of a round of feedback on a roadmap";
        return Err(
            Failure::usage(Code::NoteInvalid, message).help(command!("help roadmap feedback"))
        );
    }
    Ok(())
}

/// The earlier notes on which a note rests.
#[derive(Clone, Debug)]
pub(super) enum Look {
    /// No earlier note.
    Nothing,
    /// The values of keys.
    Values,
    /// A note, as somebody typed it; and what was said of it.
    Note(String),
}

impl Look {
    fn takes(&self, record: &NoteRecord) -> bool {
        match self {
            Look::Nothing => false,
            Look::Values => matches!(record.note, Note::Set { .. }),
            Look::Note(typed) => {
                is_named(record, typed)
                    || matches!(record.note, Note::Withdrawn { .. } | Note::Promoted { .. })
            }
        }
    }
}

/// Tells whether somebody means this note: by its number, with `@` or without, or by the beginning of its id.
fn is_named(record: &NoteRecord, typed: &str) -> bool {
    let typed = typed.trim_start_matches('@');
    let is_number = typed.len() <= 7 && typed.bytes().all(|byte| byte.is_ascii_digit());
    if is_number {
        typed.parse() == Ok(record.seq)
    } else {
        typed.len() >= 4 && record.op.as_str().starts_with(&typed.to_lowercase())
    }
}

/// The note that somebody means.
pub(super) fn find<'n>(
    records: &'n [NoteRecord],
    place: &Where,
    typed: &str,
) -> Result<&'n NoteRecord> {
    let meant: Vec<&NoteRecord> = records
        .iter()
        .filter(|record| is_named(record, typed))
        .collect();
    match meant.as_slice() {
        [one] => Ok(one),
        [] => Err(Failure::not_found(
            Code::NoteUnknown,
            format!("there is no note `{typed}` here"),
        )
        .help(place.command("list", ""))),
        many => {
            let ids: Vec<&str> = many
                .iter()
                .take(5)
                .map(|one| one.op.as_str().get(..12).unwrap_or(one.op.as_str()))
                .collect();
            Err(Failure::usage(
                Code::NoteUnknown,
                format!("`{typed}` is {} notes: {}", many.len(), ids.join(", ")),
            )
            .help(place.command("list", " --json")))
        }
    }
}

/// Keeps notes where they are meant, in one commit. `make` decides on what was said there before.
pub(super) fn keep(
    ctx: &Context,
    place: &Where,
    look: &Look,
    subject: &str,
    make: impl Fn(&[NoteRecord], Option<&Facts<'_>>) -> Result<Note>,
) -> Result<Noted> {
    if let Some(typed) = &place.issue {
        return on_issue(ctx, typed, look, subject, make);
    }
    if !place.journal && is_about_a_session(ctx)? {
        let needs = match look {
            Look::Nothing => Needs::Stage,
            _ => Needs::Operations,
        };
        return on_session(ctx, needs, subject, |facts| {
            let records = facts.operations.iter().cloned();
            let records = records.filter_map(NoteRecord::of);
            let records: Vec<NoteRecord> = records.filter(|one| look.takes(one)).collect();
            make(&records, Some(facts))
        });
    }
    let opening = Opening::of(ctx)?;
    let identity = &opening.identity;
    let decide = |snapshot: &Snapshot<'_>| {
        let records = match look {
            Look::Nothing => Vec::new(),
            // Who may set a key, and what stood there, the records say.
            Look::Values => snapshot.journal_records(&|one| look.takes(one))?.notes,
            Look::Note(_) => snapshot.journal_notes(None, &|one| look.takes(one))?.notes,
        };
        let note = make(&records, None)?;
        let (edits, ops) = in_journal(ctx, snapshot, identity, &[(note, None)])?;
        let op = ops.into_iter().next().ok_or_else(nothing_made)?;
        Ok(Decision {
            edits,
            message: journal_message(subject, &op),
            value: op.op,
        })
    };
    let committed = opening.scope(ctx).commit(decide, |_| Vec::new())?;
    Ok(Noted {
        home: Home::Journal,
        op: committed.value,
        commit: committed.commit,
    })
}

fn nothing_made() -> Failure {
    Failure::internal(Code::NothingDecided, "a note made no record")
}

/// Notes of the present month, each with the time that it was made at elsewhere, behind those that are there; a month that has grown goes on in a part more.
pub(super) fn in_journal(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    identity: &Identity,
    notes: &[(Note, Option<String>)],
) -> Result<(Edits, Vec<Operation>)> {
    let month: String = identity.at.chars().take(7).collect();
    let mut part = snapshot.journal_part(&month)?;
    let tx = new_uid();
    let mut edits = Edits::default();
    let (mut all, mut left) = (Vec::new(), notes);
    while !left.is_empty() {
        let (now, rest) = left.split_at(left.len().min(part.room().max(1)));
        let entity = format!("journal/{}", part.name);
        let (mut seq, mut after) = (part.seq, part.after.clone());
        let mut ops = Vec::new();
        for (note, at) in now {
            seq += 1;
            let mut draft = Draft {
                seq,
                after,
                tx: tx.clone(),
                ..first(identity, &entity, note.clone())
            };
            if let Some(at) = at {
                draft.at = at.clone();
            }
            let op = seal(&ctx.repo, &draft)?;
            after = vec![op.op.clone()];
            ops.push(op);
        }
        edits.journal(&ctx.repo, snapshot, &part.name, &ops)?;
        all.extend(ops);
        part = part.next();
        left = rest;
    }
    Ok((edits, all))
}

fn on_issue(
    ctx: &Context,
    typed: &str,
    look: &Look,
    subject: &str,
    make: impl Fn(&[NoteRecord], Option<&Facts<'_>>) -> Result<Note>,
) -> Result<Noted> {
    let written = issue::write(ctx, |snapshot, _| {
        let issue = issue::require(snapshot, typed)?.issue;
        let records = match look {
            Look::Nothing => Vec::new(),
            _ => list::of_issue(snapshot, &issue.id)?,
        };
        let note = make(&records, None)?;
        let id = issue.id.clone();
        Ok(issue::Plan {
            what: subject.to_owned(),
            reason: None,
            steps: vec![issue::Step {
                id: id.clone(),
                reason: None,
                before: Some(issue),
                body: note.into(),
            }],
            value: id,
        })
    })?;
    let id = written.value;
    let snapshot = ctx.store()?.snapshot()?;
    let last = list::of_issue(&snapshot, &id)?.pop();
    Ok(Noted {
        op: last.map(|record| record.op).ok_or_else(nothing_made)?,
        home: Home::Issue(id),
        commit: written.commit,
    })
}

/// Keeps a note; `reply_to` is the note that it answers, as somebody typed it.
pub(crate) fn note(
    ctx: &Context,
    said: &Said,
    place: &Where,
    reply_to: Option<&str>,
) -> Result<Noted> {
    require_text(&said.text)?;
    let subject = format!("note ({}): {}", said.kind, first_line(&said.text));
    let look = match reply_to {
        Some(typed) => Look::Note(typed.to_owned()),
        None => Look::Nothing,
    };
    keep(ctx, place, &look, &subject, |records, facts| {
        let mut said = said.clone();
        if let Some(typed) = reply_to {
            said.reply_to = Some(find(records, place, typed)?.op.clone());
        }
        if let Some(task) = &said.task {
            require_task(facts, task)?;
        }
        Ok(said.into())
    })
}

/// Refuses a note on a task that the session does not have.
fn require_task(facts: Option<&Facts<'_>>, task: &str) -> Result<()> {
    let Some(facts) = facts else {
        return Err(Failure::usage(
            Code::NoteInvalid,
            format!("the task {task} is one of a session, and none is meant"),
        )
        .help("name the session with -s"));
    };
    if plan::ids(&facts.texts, &facts.state).contains(task) {
        Ok(())
    } else {
        Err(
            Failure::not_found(Code::TaskUnknown, format!("there is no task `{task}`"))
                .help(super::task_list::lead(&facts.state)),
        )
    }
}

fn on_session(
    ctx: &Context,
    needs: Needs,
    subject: &str,
    make: impl Fn(&Facts<'_>) -> Result<Note>,
) -> Result<Noted> {
    let done = act_beside(ctx, needs, |facts| Ok(Act::new(make(facts)?, subject, ())))?;
    Ok(Noted {
        home: Home::Session(done.id),
        // A note is always the last thing that happened then.
        op: done.state.last,
        commit: done.commit,
    })
}

/// Keeps what was found about an angle of the plan, on the code that is checked out.
pub(crate) fn explored(ctx: &Context, angle: &str, text: &str) -> Result<Noted> {
    require_text(text)?;
    if !outline::is_angle(angle) {
        return Err(
            Failure::usage(Code::AngleInvalid, outline::not_an_angle(angle))
                .help(command!("plan --show")),
        );
    }
    let subject = format!("note on {angle}: {}", first_line(text));
    let tree = super::outline::tree(ctx)?;
    on_session(ctx, Needs::Stage, &subject, |_| {
        Ok(Note::Explored {
            angle: angle.to_owned(),
            text: text.to_owned(),
            tree: tree.clone(),
        })
    })
}

/// Asks a question. One round has so many; the next begins when one of them is answered.
pub(crate) fn ask(ctx: &Context, text: &str) -> Result<Noted> {
    require_text(text)?;
    let subject = format!("question: {}", first_line(text));
    on_session(ctx, Needs::Operations, &subject, |facts| {
        let open = open_questions(&facts.operations);
        match open.first() {
            Some(first) if open.len() >= outline::QUESTIONS => Err(Failure::refused(
                Code::QuestionsOpen,
                format!(
                    "{} questions are open, and a round has at most {}",
                    open.len(),
                    outline::QUESTIONS
                ),
            )
            .help(command!("note --answer {} ANSWER", first.seq))),
            _ => Ok(Note::Asked {
                text: text.to_owned(),
            }),
        }
    })
}

/// Answers an open question, by the number of its record.
pub(crate) fn answer(ctx: &Context, number: u64, text: &str) -> Result<Noted> {
    require_text(text)?;
    let subject = format!("answer to @{number}: {}", first_line(text));
    on_session(ctx, Needs::Operations, &subject, |facts| {
        let open = open_questions(&facts.operations);
        match open.iter().find(|question| question.seq == number) {
            Some(question) => Ok(Note::Answered {
                question: question.op.clone(),
                text: text.to_owned(),
            }),
            None => {
                let open: Vec<String> = open.iter().map(|one| format!("@{}", one.seq)).collect();
                let open = if open.is_empty() {
                    "none is".to_owned()
                } else {
                    format!("open are {}", open.join(", "))
                };
                Err(Failure::not_found(
                    Code::QuestionUnknown,
                    format!("no open question has the number {number}: {open}"),
                )
                .help(command!("note list --kind question")))
            }
        }
    })
}

/// Tells whether a session is named, or bound to this branch. The only one that there happens to be is not meant.
fn is_about_a_session(ctx: &Context) -> Result<bool> {
    if ctx.wanted().is_some() {
        return Ok(true);
    }
    let snapshot = ctx.store()?.snapshot()?;
    match ctx.repo.head()?.branch {
        Some(branch) => Ok(!snapshot.bound_to(&branch)?.is_empty()),
        None => Ok(false),
    }
}

fn first_line(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    match line.char_indices().nth(60) {
        Some((at, _)) => format!("{}...", &line[..at]),
        None => line.to_owned(),
    }
}
