//! `note`: something said in passing and kept, on the session that is meant or, without one, in the journal of
//! the month; and the list of what was said.
//!
//! A note is one record, and nothing else changes: no working copy is saved, and no gate looks at it.

use super::act::{Act, Facts, Needs, act_beside};
use super::context::Context;
use super::opening::{Opening, first, seal};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_base::id::{Oid, OpId, Person, SessionId};
use loopx_rules::note::{Note, open_questions};
use loopx_rules::op::{Body, Operation};
use loopx_rules::outline;
use loopx_rules::record::Draft;
use loopx_store::{Decision, Edits, Session, Snapshot, journal_message};
use serde::Serialize;
use std::collections::BTreeMap;

/// The longest text of a note, in bytes: what is longer is a document.
const LONGEST: usize = 64 * 1024;

/// What was noted, and where.
#[derive(Debug)]
pub(crate) struct Noted {
    /// None: in the journal.
    pub session: Option<SessionId>,
    pub op: OpId,
    pub commit: Oid,
}

/// Refuses a text that says nothing, or that is a document.
pub(super) fn require_text(text: &str) -> Result<()> {
    if text.trim().is_empty() {
        return Err(
            Failure::usage(Code::NoteEmpty, "expected the text of a note, found none").help(
                command!("note \"The cache is never cleared\" --kind learning").note("(for one)"),
            ),
        );
    }
    if text.len() > LONGEST {
        return Err(Failure::usage(
            Code::NoteTooLong,
            format!(
                "expected a note of at most {LONGEST} bytes, found {}",
                text.len()
            ),
        ));
    }
    Ok(())
}

/// Keeps a note.
pub(crate) fn note(ctx: &Context, note: &Note, journal: bool) -> Result<Noted> {
    let (kind, text) = (note.kind_word(), note.text());
    require_text(text)?;
    let subject = format!("note ({kind}): {}", first_line(text));
    if !journal && is_about_a_session(ctx)? {
        return on_session(ctx, Needs::Stage, &subject, |_| Ok(note.clone()));
    }
    let opening = Opening::of(ctx)?;
    let identity = &opening.identity;
    let month: String = identity.at.chars().take(7).collect();
    let decide = |snapshot: &Snapshot<'_>| {
        let (seq, after) = snapshot.journal_newest(&month)?;
        let entity = format!("journal/{month}");
        let draft = Draft {
            seq: seq + 1,
            after,
            ..first(identity, &entity, note.clone())
        };
        let op = seal(&ctx.repo, &draft)?;
        let mut edits = Edits::default();
        edits.journal(&ctx.repo, snapshot, &month, std::slice::from_ref(&op))?;
        Ok(Decision {
            edits,
            message: journal_message(&subject, &op),
            value: op.op,
        })
    };
    let committed = opening.scope(ctx).commit(decide, |_| Vec::new())?;
    Ok(Noted {
        session: None,
        op: committed.value,
        commit: committed.commit,
    })
}

fn on_session(
    ctx: &Context,
    needs: Needs,
    subject: &str,
    make: impl Fn(&Facts<'_>) -> Result<Note>,
) -> Result<Noted> {
    let done = act_beside(ctx, needs, |facts| Ok(Act::new(make(facts)?, subject, ())))?;
    Ok(Noted {
        session: Some(done.id),
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
                let open = match open.is_empty() {
                    true => "none is".to_owned(),
                    false => format!("open are {}", open.join(", ")),
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

/// Whether a session is named, or bound to this branch. The only one that there happens to be is not meant.
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

/// Which notes are asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    pub kind: Option<String>,
    /// A role: notes to it, and notes to everybody.
    pub to: Option<String>,
    /// A part of the writer's name or address.
    pub by: Option<String>,
    /// Words that the text has, whatever the letter case.
    pub text: Option<String>,
    pub journal: bool,
    pub all: bool,
}

/// A note as a list shows it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Listed {
    pub session: Option<SessionId>,
    pub op: OpId,
    pub seq: u64,
    pub at: String,
    pub by: Person,
    pub kind: &'static str,
    pub to: Option<String>,
    pub text: String,
    /// The angle of what was found, and the code that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub angle: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tree: Option<Oid>,
    /// The question that it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<OpId>,
    /// Of a question, whether nobody has answered it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open: Option<bool>,
    /// Who answered the question, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<AnswerOf>,
}

/// The answer to a question, as the list names it beside the question.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct AnswerOf {
    pub op: OpId,
    pub seq: u64,
    pub at: String,
    pub by: Person,
}

/// What a list found.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    pub notes: Vec<Listed>,
    /// Sessions and folders of the journal of which something cannot be read, and why.
    pub damaged: Vec<(String, String)>,
}

/// The notes of the session that is meant, of the journal, or all; oldest first. Of all, what is damaged hides
/// no other.
pub(crate) fn list(ctx: &Context, filter: &Filter) -> Result<Notes> {
    let snapshot = ctx.store()?.snapshot()?;
    let mut found = Vec::new();
    let mut damaged = Vec::new();
    let mut sessions: Vec<Session> = Vec::new();
    if filter.all {
        let everywhere = snapshot.active()?.into_iter().chain(snapshot.archived()?);
        for (id, session) in everywhere {
            match session {
                Ok(session) => sessions.push(session),
                Err(failure) => damaged.push((id.to_string(), failure.message)),
            }
        }
    } else if !filter.journal && is_about_a_session(ctx)? {
        sessions.push(ctx.session(&snapshot)?);
    }
    for session in &sessions {
        let id = Some(session.state.id.clone());
        let operations = match snapshot.operations(session) {
            Err(failure) if filter.all => {
                damaged.push((session.state.id.to_string(), failure.message));
                continue;
            }
            read => read?,
        };
        found.extend(operations.into_iter().filter_map(|op| listed(&id, op)));
    }
    if filter.all || sessions.is_empty() {
        for (place, op) in snapshot.journal()? {
            match op {
                Ok(op) => found.extend(listed(&None, op)),
                Err(failure) if filter.all => damaged.push((place, failure.message)),
                Err(failure) => return Err(failure),
            }
        }
    }
    // A filter may leave out the answers: what they answer is known before.
    join_answers(&mut found);
    found.retain(|note| filter.takes(note));
    found.sort_by(|one, other| (&one.at, one.seq).cmp(&(&other.at, other.seq)));
    Ok(Notes {
        notes: found,
        damaged,
    })
}

/// Says of each question who answered it.
fn join_answers(notes: &mut [Listed]) {
    let mut answers: BTreeMap<OpId, Vec<AnswerOf>> = BTreeMap::new();
    for note in notes.iter() {
        if let Some(question) = &note.question {
            answers.entry(question.clone()).or_default().push(AnswerOf {
                op: note.op.clone(),
                seq: note.seq,
                at: note.at.clone(),
                by: note.by.clone(),
            });
        }
    }
    for note in notes.iter_mut().filter(|note| note.open.is_some()) {
        note.answers = answers.remove(&note.op).unwrap_or_default();
        note.open = Some(note.answers.is_empty());
    }
}

fn listed(session: &Option<SessionId>, op: Operation) -> Option<Listed> {
    let Body::Note(note) = op.body else {
        return None;
    };
    let (kind, text) = (note.kind_word(), note.text().to_owned());
    let (mut to, mut angle, mut tree, mut question) = (None, None, None, None);
    match note {
        Note::Noted { to: role, .. } => to = role,
        Note::Explored {
            angle: about,
            tree: at,
            ..
        } => (angle, tree) = (Some(about), at),
        Note::Answered { question: of, .. } => question = Some(of),
        Note::Asked { .. } => {}
    }
    let is_question = kind == "question";
    Some(Listed {
        session: session.clone(),
        op: op.op,
        seq: op.seq,
        at: op.at,
        by: op.by,
        kind,
        to,
        text,
        angle,
        tree,
        question,
        open: is_question.then_some(true),
        answers: Vec::new(),
    })
}

impl Filter {
    /// Whether it leaves out any note of the place that is looked at.
    pub(crate) fn is_narrow(&self) -> bool {
        self.kind.is_some() || self.to.is_some() || self.by.is_some() || self.text.is_some()
    }

    fn takes(&self, note: &Listed) -> bool {
        let has = |text: &str, part: &Option<String>| match part {
            Some(part) => text.to_lowercase().contains(&part.to_lowercase()),
            None => true,
        };
        let is_to = match (&self.to, &note.to) {
            (Some(wanted), Some(role)) => wanted.eq_ignore_ascii_case(role),
            _ => true,
        };
        self.kind.as_deref().is_none_or(|kind| kind == note.kind)
            && is_to
            && has(&note.by.to_string(), &self.by)
            && has(&note.text, &self.text)
    }
}
