//! Differences between an issue as it was and as it is: for whoever tells others what happened since.

use super::filter::duration;
use super::until;
use super::{Issue, LinkKind, Read, Status};
use loopx_base::vocabulary::vocabulary;
use serde::Serialize;

vocabulary!(
    /// The largest of the things that happened to an issue.
    What {
        Created = "created",
        Resolved = "resolved",
        Closed = "closed",
        Reopened = "reopened",
        Taken = "taken",
        GivenBack = "given_back",
        Changed = "changed",
        TakenBack = "taken_back",
    }
);

/// A field that is another now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    pub field: String,
    /// The value before; nothing where a member came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The value now; nothing where a member went.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

impl Difference {
    fn new(field: &str, from: Option<String>, to: Option<String>) -> Self {
        Difference {
            field: field.to_owned(),
            from,
            to,
        }
    }

    /// Words for the difference in one line; a text of several lines is named alone.
    pub fn words(&self) -> String {
        let is_long =
            |value: &Option<String>| value.as_ref().is_some_and(|text| text.contains('\n'));
        let field = &self.field;
        match (&self.from, &self.to) {
            _ if field == "description" || is_long(&self.from) || is_long(&self.to) => {
                field.clone()
            }
            (Some(from), Some(to)) => format!("{field} {from} -> {to}"),
            (None, Some(to)) => format!("{field} +{to}"),
            (Some(from), None) => format!("{field} -{from}"),
            (None, None) => field.clone(),
        }
    }
}

/// The event that made an issue another one; `None` where nothing did.
pub fn compare(before: Option<&Read>, now: Option<&Read>) -> Option<(What, Vec<Difference>)> {
    match (before, now) {
        (None, None) => None,
        (Some(_), None) => Some((What::TakenBack, Vec::new())),
        (None, Some(now)) => {
            let what = match now.issue.status {
                Status::Resolved => What::Resolved,
                Status::Closed => What::Closed,
                Status::InProgress => What::Taken,
                _ => What::Created,
            };
            let created = Difference::new("created", None, Some(now.issue.created.at.clone()));
            let is_more = what != What::Created;
            Some((what, is_more.then_some(created).into_iter().collect()))
        }
        (Some(before), Some(now)) => {
            let mut found = values(before, now);
            found.extend(members(&before.issue, &now.issue));
            found.extend(counts(before, now));
            let what = turned(before.issue.status, now.issue.status);
            (!found.is_empty()).then_some((what, found))
        }
    }
}

/// The largest of the things that happened to an issue, by its fields alone; nothing where no record of it came.
pub fn happened(before: Option<&Issue>, now: &Issue) -> Option<What> {
    match before {
        None => Some(What::Created),
        Some(before) if before.newest == now.newest => None,
        Some(before) => Some(turned(before.status, now.status)),
    }
}

fn turned(before: Status, now: Status) -> What {
    match (before, now) {
        (before, now) if before == now => What::Changed,
        (_, Status::Resolved) => What::Resolved,
        (_, Status::Closed) => What::Closed,
        (before, _) if before.is_final() => What::Reopened,
        (_, Status::InProgress) => What::Taken,
        (Status::InProgress, _) => What::GivenBack,
        _ => What::Changed,
    }
}

/// The fields with one value that have another one.
fn values(before: &Read, now: &Read) -> Vec<Difference> {
    let none = || "none".to_owned();
    let of = |read: &Read| {
        let issue = &read.issue;
        let or_none = |value: &Option<String>| value.clone().unwrap_or_else(none);
        [
            ("status", issue.status.to_string()),
            ("title", issue.title.clone()),
            ("kind", issue.kind.clone()),
            ("priority", issue.priority.to_string()),
            ("assignee", or_none(&issue.assignee)),
            ("milestone", or_none(&issue.milestone)),
            ("due", or_none(&issue.due)),
            ("defer", or_none(&issue.defer)),
            ("estimate", issue.estimate.map_or_else(none, duration)),
            (
                "repeat",
                issue.repeat.as_ref().map_or_else(none, ToString::to_string),
            ),
            ("reason", or_none(&issue.reason)),
            (
                "solution",
                issue
                    .bound
                    .as_ref()
                    .map_or_else(none, |bound| bound.name.clone()),
            ),
            ("description", read.texts.description.clone()),
        ]
    };
    let pairs = of(before).into_iter().zip(of(now));
    pairs
        .filter(|((_, from), (_, to))| from != to)
        .map(|((field, from), (_, to))| Difference::new(field, Some(from), Some(to)))
        .collect()
}

/// The members of sets that came or went, and the criteria that were ticked.
fn members(before: &Issue, now: &Issue) -> Vec<Difference> {
    type Members = Vec<(&'static str, String)>;
    let of = |issue: &Issue| -> Members {
        let labels = issue.labels.iter().map(|label| ("label", label.clone()));
        let criteria = issue
            .criteria
            .iter()
            .map(|one| ("criterion", one.text.clone()));
        let until = issue.until.iter().map(|one| ("until", until::text(one)));
        let ticked = issue.criteria.iter().filter(|one| one.done);
        let ticked = ticked.map(|one| ("ticked", one.text.clone()));
        let sessions = issue.sessions.iter();
        let sessions = sessions.map(|one| ("session", one.session.to_string()));
        let links = issue.links.iter();
        let links = links.map(|link| (LinkKind::as_str(link.kind), link.to.to_string()));
        labels
            .chain(criteria)
            .chain(ticked)
            .chain(until)
            .chain(sessions)
            .chain(links)
            .collect()
    };
    let (old, new) = (of(before), of(now));
    let went = old.iter().filter(|one| !new.contains(one));
    let went = went.map(|(field, value)| Difference::new(field, Some(value.clone()), None));
    let came = new.iter().filter(|one| !old.contains(one));
    let came = came.map(|(field, value)| Difference::new(field, None, Some(value.clone())));
    went.chain(came).collect()
}

/// The numbers of comments and of solutions, where they are others.
fn counts(before: &Read, now: &Read) -> Vec<Difference> {
    let of = |issue: &Issue| [("comments", issue.comments), ("solutions", issue.solutions)];
    let pairs = of(&before.issue).into_iter().zip(of(&now.issue));
    pairs
        .filter(|((_, from), (_, to))| from != to)
        .map(|((field, from), (_, to))| {
            Difference::new(field, Some(from.to_string()), Some(to.to_string()))
        })
        .collect()
}
