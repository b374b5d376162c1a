//! The words of other systems for status, kind, priority and labels, and what becomes of them here. A word without a
//! counterpart is never lost: it stays with the issue as a label.

use super::{Finding, Gather, Unmapped};
use crate::issue::filter::is_day;
use crate::issue::plain::Plain;
use crate::issue::{LAST_PRIORITY, Status};

/// A word as it is compared: lower case, `_` between its parts.
fn folded(word: &str) -> String {
    let word = word.trim().to_lowercase();
    let parts = word.split(|c: char| !c.is_alphanumeric());
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    parts.join("_")
}

/// The status that a word stands for, and whether it says all that the word says.
fn status_of(word: &str) -> Option<(Status, bool)> {
    Some(match word {
        "open" | "opened" | "todo" | "to_do" | "new" | "registered" | "pending" | "backlog"
        | "ready" | "reopened" => (Status::Open, true),
        "planned" => (Status::Planned, true),
        "queued" => (Status::Queued, true),
        "in_progress" | "doing" | "started" | "executing" => (Status::InProgress, true),
        "in_review" | "review" | "testing" | "hooked" => (Status::InProgress, false),
        "resolved" | "done" | "completed" | "complete" | "finished" | "fixed" => {
            (Status::Resolved, true)
        }
        "closed" | "cancelled" | "canceled" | "wontfix" | "rejected" | "archived"
        | "not_planned" => (Status::Closed, true),
        "blocked" | "deferred" | "paused" | "failed" | "draft" | "pinned" | "planning" => {
            (Status::Open, false)
        }
        _ => return None,
    })
}

fn kind_of(word: &str) -> Option<&'static str> {
    Some(match word {
        "enhancement" | "story" | "user_story" | "improvement" | "new_feature" => "feature",
        "defect" => "bug",
        "sub_task" | "subtask" => "task",
        _ => return None,
    })
}

/// The kind that a label says where nothing else does; it stays a label.
pub(super) fn said_kind(labels: &[String]) -> Option<&'static str> {
    labels.iter().find_map(|label| match label.as_str() {
        "bug" => Some("bug"),
        "enhancement" | "feature" => Some("feature"),
        "epic" => Some("epic"),
        _ => None,
    })
}

fn priority_of(word: &str) -> Option<u8> {
    Some(match word {
        "critical" | "urgent" | "highest" | "blocker" | "p0" => 0,
        "high" | "major" | "h" | "p1" => 1,
        "medium" | "normal" | "m" | "p2" => 2,
        "low" | "minor" | "l" | "p3" => 3,
        "lowest" | "trivial" | "p4" => 4,
        _ => return None,
    })
}

impl Gather<'_> {
    fn became(&mut self, field: &'static str, word: &str, became: impl Into<String>) {
        let key = (field, word.to_owned(), became.into());
        *self.words.entry(key).or_default() += 1;
    }

    /// Value that somebody wants a word of a field to become.
    fn wish(&mut self, field: &str, word: &str) -> Option<String> {
        let folded = folded(word);
        let at = self.wishes.map.iter().position(|wish| {
            wish.word == word
                || self::folded(&wish.word) == folded
                || wish
                    .word
                    .split_once(':')
                    .is_some_and(|(of, wanted)| of == field && self::folded(wanted) == folded)
        })?;
        self.granted[at] = true;
        Some(self.wishes.map[at].value.clone())
    }

    /// The status of an issue, by the table of all systems but for what `own` says.
    pub(super) fn status(
        &mut self,
        at: &str,
        plain: &mut Plain,
        word: &str,
        own: impl Fn(&str) -> Option<Status>,
    ) {
        if let Some(wish) = self.wish("status", word) {
            match wish.parse::<Status>() {
                Ok(status) => {
                    plain.status = Some(status);
                    self.became("status", word, status.as_str());
                }
                Err(_) => self.fault(
                    at,
                    format!(
                        "expected one of {} for the status `{word}`, found `{wish}`",
                        Status::WORDS.join(", ")
                    ),
                ),
            }
            return;
        }
        let folded = folded(word);
        let known = own(&folded).map(|status| (status, true));
        let known = known.or_else(|| status_of(&folded));
        let (status, is_whole) = known.unwrap_or((Status::Open, false));
        plain.status = Some(status);
        if is_whole {
            self.became("status", word, status.as_str());
            return;
        }
        let label = as_label(word);
        self.became("status", word, format!("{status}, label {label}"));
        if known.is_none() {
            self.remark(at, format!("the status `{word}` has no counterpart"));
        }
        plain.labels.push(label);
    }

    pub(super) fn kind(&mut self, at: &str, plain: &mut Plain, word: &str) {
        let kinds = &self.wishes.kinds;
        if let Some(wish) = self.wish("kind", word) {
            if kinds.contains(&wish) {
                self.became("kind", word, wish.clone());
                plain.kind = Some(wish);
            } else {
                self.fault(
                    at,
                    format!(
                        "expected one of {} for the kind `{word}`, found `{wish}`",
                        kinds.join(", ")
                    ),
                )
            }
            return;
        }
        let folded = folded(word);
        let same = kinds.iter().find(|kind| **kind == folded).cloned();
        if let Some(kind) = same.or_else(|| kind_of(&folded).map(str::to_owned)) {
            self.became("kind", word, kind.clone());
            plain.kind = Some(kind);
            return;
        }
        let label = as_label(word);
        self.became("kind", word, format!("task, label {label}"));
        plain.labels.push(label);
    }

    /// The priority, of which `first` is the number that comes first there.
    pub(super) fn priority(&mut self, at: &str, plain: &mut Plain, word: &str, first: i64) {
        let number = match self.wish("priority", word) {
            Some(wish) => wish.parse().ok().filter(|number| *number <= LAST_PRIORITY),
            None => match word.trim().parse::<i64>() {
                Ok(number) => number
                    .checked_sub(first)
                    .and_then(|number| u8::try_from(number).ok())
                    .filter(|number| *number <= LAST_PRIORITY),
                Err(_) => priority_of(&folded(word)),
            },
        };
        match number {
            Some(number) => {
                self.became("priority", word, number.to_string());
                plain.priority = Some(number);
            }
            None => {
                let wish = format!("priority:{word}=2");
                let message = format!(
                    "no priority from 0 to {LAST_PRIORITY} is known for `{word}`: say it with --map \"{wish}\""
                );
                let at = at.to_owned();
                self.taken.unmapped.push(Unmapped {
                    fault: Finding { at, message },
                    wish,
                });
            }
        }
    }

    pub(super) fn labels(&mut self, plain: &mut Plain, words: Vec<String>) {
        for word in words {
            let label = as_label(&word);
            if label != word {
                self.became("label", &word, label.clone());
            }
            plain.labels.push(label);
        }
    }

    /// People who are to do the issue: an issue has one here.
    pub(super) fn people(&mut self, plain: &mut Plain, names: Vec<String>) {
        let names = names
            .iter()
            .map(|name| name.trim().trim_start_matches('@').trim());
        let mut names = names.filter(|name| !name.is_empty());
        plain.assignee = names.next().map(str::to_owned);
        let more: Vec<&str> = names.collect();
        if !more.is_empty() {
            self.keep(plain, "more_assignees".to_owned(), more.into());
        }
    }

    /// The day of a time.
    pub(super) fn day(&mut self, at: &str, name: &str, text: Option<String>) -> Option<String> {
        let text = text?;
        let day = text.get(..10).filter(|day| is_day(day));
        if day.is_none() {
            self.fault(
                at,
                format!("expected a day like 2026-11-30 in `{name}`, found `{text}`"),
            );
        }
        day.map(str::to_owned)
    }
}

/// A word as a label: what a label cannot have becomes `-`.
fn as_label(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_.:/+".contains(c);
    let mut label = String::new();
    for c in word.trim().chars() {
        let c = if is_plain(c) { c } else { '-' };
        if label.len() + c.len_utf8() <= 64 && !(c == '-' && label.ends_with('-')) {
            label.push(c);
        }
    }
    let label = label.trim_matches('-');
    if label.is_empty() {
        "label".to_owned()
    } else {
        label.to_owned()
    }
}
