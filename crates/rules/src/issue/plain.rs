//! Issues as plain JSON, one a line: what `issue create --from` reads and `issue export` writes.

use super::event::Change;
use super::filter::minutes;
use super::repeat::{Period, Repeat};
use super::solution::Way;
use super::until;
use super::{ForIt, Issue, IssueId, Kept, LAST_PRIORITY, Made, Place, Said, Source, Status, Texts};
use crate::task::world::Condition;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// An issue as a line has it. What a line does not say has no value; what no issue has is refused.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Plain {
    /// Line of the file that the issue stands in.
    #[serde(skip)]
    pub line: usize,
    /// A name by which other lines link to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<IssueId>,
    pub title: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<super::Status>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<u8>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub milestone: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub defer: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub until: Vec<PlainUntil>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Estimate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat: Option<PlainRepeat>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assignee: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<PlainCriterion>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<PlainLink>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// Maker of the issue, and the time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<Made>,
    /// Line of code that the issue is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// Comments on the issue.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub comments: Vec<Said>,
    /// Fields of another system that have no counterpart here.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub kept: BTreeMap<String, Value>,
    /// Solutions that come with the issue.
    #[serde(skip)]
    pub ways: Vec<Way>,
}

/// A time in minutes, or as people write it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a time in minutes, or like `4h`, as `estimate`"
)]
pub enum Estimate {
    Minutes(u32),
    Text(String),
}

/// A period, or the place among issues that come again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a period like `1w` as `repeat`")]
pub enum PlainRepeat {
    Every(Period),
    Whole(Repeat),
}

/// A condition outside of the backlog, as people write it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PlainUntil(Condition);

impl TryFrom<String> for PlainUntil {
    type Error = String;
    fn try_from(text: String) -> std::result::Result<Self, String> {
        until::read(&text).map(PlainUntil)
    }
}

impl From<PlainUntil> for String {
    fn from(until: PlainUntil) -> String {
        until::text(&until.0)
    }
}

/// A criterion: its text, or the text and whether it is ticked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a criterion as a text or like {\"text\": \"it holds\", \"done\": false}"
)]
pub enum PlainCriterion {
    Text(String),
    Ticked { text: String, done: bool },
}

/// A link to another line's key, or to an id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(expecting = "a link like {\"kind\": \"blocked-by\", \"to\": \"ID\"}")]
pub struct PlainLink {
    pub kind: String,
    pub to: String,
}

impl Plain {
    /// Fields as changes of an issue that has none yet.
    pub fn changes(&self) -> Vec<Change> {
        let mut changes = vec![Change::Title(self.title.trim().to_owned())];
        if !self.description.is_empty() {
            changes.push(Change::Description(self.description.clone()));
        }
        changes.extend(self.kind.clone().map(Change::Kind));
        changes.extend(self.status.map(Change::Status));
        changes.extend(self.priority.map(Change::Priority));
        changes.extend(self.labels.iter().cloned().map(Change::Label));
        let some = |value: &Option<String>| value.clone().map(Some);
        changes.extend(some(&self.milestone).map(Change::Milestone));
        changes.extend(some(&self.due).map(Change::Due));
        changes.extend(some(&self.defer).map(Change::Defer));
        let until = self.until.iter();
        changes.extend(until.map(|one| Change::Until(one.0.clone())));
        changes.extend(some(&self.assignee).map(Change::Assignee));
        let estimate = self.estimate.as_ref().and_then(|estimate| match estimate {
            Estimate::Minutes(minutes) => Some(*minutes),
            Estimate::Text(text) => minutes(text),
        });
        // No time at all is none: an older line may say so.
        let estimate = estimate.filter(|minutes| *minutes > 0);
        changes.extend(estimate.map(|minutes| Change::Estimate(Some(minutes))));
        changes.extend(self.repeat.clone().map(|repeat| {
            Change::Repeat(Some(match repeat {
                PlainRepeat::Every(period) => Repeat::first(period),
                PlainRepeat::Whole(repeat) => repeat,
            }))
        }));
        for criterion in &self.criteria {
            match criterion {
                PlainCriterion::Text(text) => changes.push(Change::Criterion(text.clone())),
                PlainCriterion::Ticked { text, done } => {
                    changes.push(Change::Criterion(text.clone()));
                    changes.extend(done.then(|| Change::Tick(text.clone())));
                }
            }
        }
        changes.extend(self.source.clone().map(Change::Source));
        changes.extend(self.created.clone().map(Change::Made));
        changes.extend(self.place.clone().map(Change::Place));
        changes.extend(self.comments.iter().cloned().map(Change::Said));
        let kept = self.kept.iter();
        changes.extend(kept.map(|(name, value)| {
            Change::Kept(Kept {
                name: name.clone(),
                json: value.to_string(),
            })
        }));
        changes
    }

    /// Tells whether one of the issue's solutions is bound.
    pub fn is_bound(&self) -> bool {
        self.ways.iter().any(|way| way.bound)
    }

    /// Settles the status of the issue: it comes with one that it can have without the claim that no line brings, and
    /// by the solutions that come with it. Says what became of the status, where something did.
    pub fn settle(&mut self) -> Option<String> {
        let status = self.status.filter(|status| status.needs_more())?;
        let settled = if self.is_bound() {
            Status::Planned
        } else {
            Status::Open
        };
        self.status = Some(settled);
        let what = match status {
            Status::InProgress => "nobody here has it in hand",
            _ => "none of its solutions is bound here",
        };
        (status != settled).then(|| format!("it was {status}, and comes as {settled}: {what}"))
    }

    /// Takes an issue that stood in a queue out of it, where a solution of it is bound: whoever forms the queue here orders
    /// it anew. True where it stood in one.
    pub fn unqueue(&mut self) -> bool {
        let is_queued = self.status == Some(Status::Queued) && self.is_bound();
        if is_queued {
            self.status = Some(Status::Planned);
        }
        is_queued
    }

    /// An issue as a line has it.
    pub fn of(issue: &Issue, texts: &Texts) -> Self {
        let created = issue.made.clone().unwrap_or_else(|| Made {
            by: person(&issue.created.by),
            at: Some(issue.created.at.clone()),
        });
        let said = texts.comments.iter().map(|comment| Said {
            by: match &comment.first {
                Some(first) => first.by.clone(),
                None => person(&comment.by),
            },
            at: match &comment.first {
                Some(first) => first.at.clone(),
                None => Some(comment.at.clone()),
            },
            kind: comment.kind.clone(),
            text: comment.text.clone(),
        });
        let mut kept = texts.kept.clone();
        if !issue.sessions.is_empty() {
            put(&mut kept, SESSIONS, sessions(&issue.sessions));
        }
        if !texts.solutions.is_empty()
            && let Ok(solutions) = serde_json::to_value(&texts.solutions)
        {
            put(&mut kept, SOLUTIONS, solutions);
        }
        if !texts.failures.is_empty()
            && let Ok(failures) = serde_json::to_value(&texts.failures)
        {
            put(&mut kept, "failures", failures);
        }
        if let Some(bound) = &issue.bound {
            put(&mut kept, BOUND, bound.solution.as_str().into());
        }
        if !issue.apart.is_empty()
            && let Ok(apart) = serde_json::to_value(&issue.apart)
        {
            put(&mut kept, "apart", apart);
        }
        let criteria = issue.criteria.iter().map(|one| PlainCriterion::Ticked {
            text: one.text.clone(),
            done: one.done,
        });
        let links = issue.links.iter().map(|link| PlainLink {
            kind: link.kind.to_string(),
            to: link.to.to_string(),
        });
        Plain {
            line: 0,
            key: None,
            id: Some(issue.id.clone()),
            title: issue.title.clone(),
            description: texts.description.clone(),
            kind: Some(issue.kind.clone()),
            status: Some(issue.status),
            reason: issue.reason.clone(),
            priority: Some(issue.priority),
            labels: issue.labels.clone(),
            milestone: issue.milestone.clone(),
            due: issue.due.clone(),
            defer: issue.defer.clone(),
            until: issue.until.iter().cloned().map(PlainUntil).collect(),
            estimate: issue.estimate.map(Estimate::Minutes),
            repeat: (issue.repeat.as_deref()).map(|repeat| PlainRepeat::Whole(repeat.clone())),
            assignee: issue.assignee.clone(),
            criteria: criteria.collect(),
            links: links.collect(),
            source: issue.source.clone(),
            created: Some(created),
            place: issue.place.clone(),
            comments: said.collect(),
            kept,
            ways: Vec::new(),
        }
    }
}

/// Puts what the issue has now under a name. Data of another tool that were kept under that name go on under a longer
/// one.
fn put(kept: &mut BTreeMap<String, Value>, name: &str, value: Value) {
    let Some(before) = kept.insert(name.to_owned(), value) else {
        return;
    };
    let mut longer = format!("{name}_before");
    while kept.contains_key(&longer) {
        longer.push_str("_before");
    }
    kept.insert(longer, before);
}

/// The name under which a line has the solutions of its issue. Where they are taken over what cannot come stays there.
pub const SOLUTIONS: &str = "solutions";

/// The name under which a line has the record of the solution that is bound.
pub const BOUND: &str = "bound";

/// The name under which the sessions of an issue are kept where it is taken over. As data: a session that only a line
/// names resolves nothing.
const SESSIONS: &str = "sessions";

fn sessions(sessions: &[ForIt]) -> Value {
    let all = sessions.iter();
    all.map(|one| serde_json::json!({ "session": one.session, "uid": one.uid }))
        .collect()
}

fn person(person: &loopx_base::id::Person) -> String {
    if person.email.is_empty() {
        person.name.clone()
    } else {
        format!("{} <{}>", person.name, person.email)
    }
}

/// Message about what a line has that no issue has, without the names of types.
fn words(error: &serde_json::Error) -> String {
    let said = error.to_string();
    // The place is told with the file.
    let said = said
        .rsplit_once(" at line ")
        .map_or(said.as_str(), |(said, _)| said);
    let priority = format!("expected a number from 0 to {LAST_PRIORITY} as `priority`");
    said.replace("expected u8", &priority)
}

/// The documents of a text with the places of their lines: one a line, or all of them in one list.
fn documents(text: &str) -> serde_json::Result<Vec<(usize, &str)>> {
    if !text.trim_start().starts_with('[') {
        return Ok(text.lines().enumerate().collect());
    }
    let all: Vec<&RawValue> = serde_json::from_str(text)?;
    let (mut line, mut seen) = (0, 0);
    let placed = all.iter().map(|one| {
        let place = one.get().as_ptr().addr() - text.as_ptr().addr();
        line += text[seen..place].matches('\n').count();
        seen = place;
        (line, one.get())
    });
    Ok(placed.collect())
}

/// Reads issues; an empty line is passed over. The first that is wrong is named with its line.
pub fn read(text: &str, file: &str) -> Result<Vec<Plain>> {
    let mut found = Vec::new();
    let documents = documents(text).map_err(|error| {
        let (line, what) = (error.line(), words(&error));
        Failure::usage(
            Code::IssueFieldInvalid,
            format!("{file}:{line}: expected a list of issues as JSON: {what}"),
        )
        .help(command!("help issue create"))
    })?;
    for (at, line) in documents {
        if line.trim().is_empty() {
            continue;
        }
        let invalid = |what: String| {
            Failure::usage(
                Code::IssueFieldInvalid,
                format!("{file}:{}: {what}", at + 1),
            )
            .help(command!("help issue create"))
        };
        let mut plain: Plain = serde_json::from_str(line)
            .map_err(|error| invalid(format!("expected an issue as JSON: {}", words(&error))))?;
        plain.line = at + 1;
        if plain.title.trim().is_empty() {
            return Err(invalid("expected `title`, found none".to_owned()));
        }
        if let Some(Estimate::Text(text)) = &plain.estimate
            && minutes(text).is_none()
        {
            return Err(invalid(format!(
                "expected a time like 90m, 4h or 2d, found `{text}`"
            )));
        }
        found.push(plain);
    }
    if found.is_empty() {
        Err(Failure::usage(
            Code::InputMissing,
            format!("{file}: expected issues as JSON, one a line, found none"),
        ))
    } else {
        Ok(found)
    }
}
