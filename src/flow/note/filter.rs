//! Filters of notes that somebody asks for; they compose.

use super::Where;
use super::list::Listed;
use loopx_rules::lease::seconds_of;
use loopx_rules::note::bus::ALL;
use loopx_rules::note::{Note, NoteRecord};

/// The notes that are asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    pub kind: Option<String>,
    /// A role: notes to it, and notes to everybody.
    pub to: Option<String>,
    /// The role that says the note.
    pub from: Option<String>,
    /// A part of the writer's name or address.
    pub by: Option<String>,
    /// Words that the text has, whatever the letter case.
    pub text: Option<String>,
    pub task: Option<String>,
    /// The sort of message.
    pub sort: Option<String>,
    /// A note with its thread: what it answers, and what answers it.
    pub thread: Option<String>,
    /// The second of the clock before which no note is taken.
    pub since: Option<i64>,
    /// The greatest number of notes, the newest of them.
    pub last: Option<usize>,
    /// Set when withdrawn notes are taken, too.
    pub withdrawn: bool,
    pub place: Where,
    pub all: bool,
}

impl Filter {
    /// Tells whether the filter leaves out any note of the place that is looked at.
    pub(crate) fn is_narrow(&self) -> bool {
        let words = [
            &self.kind,
            &self.to,
            &self.from,
            &self.by,
            &self.text,
            &self.task,
            &self.sort,
            &self.thread,
        ];
        words.into_iter().any(Option::is_some) || self.since.is_some()
    }

    pub(super) fn takes_record(&self, record: &NoteRecord) -> bool {
        let kind = record.note.kind_word();
        // What is said of other notes stands beside them, and is listed where somebody asks for it.
        let is_about_others = matches!(record.note, Note::Withdrawn { .. } | Note::Promoted { .. });
        let is_of_kind = match self.kind.as_deref() {
            Some(wanted) => wanted == kind,
            None => !is_about_others,
        };
        let said = record.note.said();
        is_of_kind
            && same(&self.from, record.note.role())
            && same(&self.task, said.and_then(|said| said.task.as_deref()))
            && same(&self.sort, said.and_then(|said| said.sort.as_deref()))
            && self.is_to(said.and_then(|said| said.to.as_deref()))
            && has(&record.by.to_string(), &self.by)
            && has(record.note.text(), &self.text)
            && self.is_since(&record.at)
    }

    pub(super) fn takes_listed(&self, one: &Listed) -> bool {
        self.kind.as_deref() == Some(one.kind)
            && self.from.is_none()
            && self.task.is_none()
            && self.sort.is_none()
            && self.thread.is_none()
            && has(&one.by.to_string(), &self.by)
            && has(&one.text, &self.text)
            && self.is_since(&one.at)
    }

    fn is_to(&self, to: Option<&str>) -> bool {
        match (&self.to, to) {
            (Some(wanted), Some(role)) => {
                wanted.eq_ignore_ascii_case(role) || role.eq_ignore_ascii_case(ALL)
            }
            _ => true,
        }
    }

    fn is_since(&self, at: &str) -> bool {
        self.since
            .is_none_or(|since| seconds_of(at).is_none_or(|at| at >= since))
    }
}

fn same(wanted: &Option<String>, found: Option<&str>) -> bool {
    match wanted {
        Some(wanted) => found.is_some_and(|found| wanted.eq_ignore_ascii_case(found)),
        None => true,
    }
}

fn has(text: &str, part: &Option<String>) -> bool {
    match part {
        Some(part) => text.to_lowercase().contains(&part.to_lowercase()),
        None => true,
    }
}
