//! Issues that come again: when one ends, the next one is made in the same commit. Its id follows from that of the first and
//! its number, so that clones that end one apart make one.

use super::create::imported;
use super::{Step, entity, read};
use crate::flow::context::Context;
use crate::flow::write_scope::{first, seal};
use loopx_base::failure::Result;
use loopx_base::id::SessionId;
use loopx_git::{Identity, Repo};
use loopx_rules::issue::event::{Change, IssueEvent};
use loopx_rules::issue::repeat::{Next, next};
use loopx_rules::issue::{Issue, IssueId, Link, LinkKind, Read};
use loopx_rules::record::Draft;
use loopx_store::{Edits, Snapshot};

/// The standing of the issue that comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Made,
    /// The issue is here: somebody ended the one before it already.
    Here,
    TakenBack,
}

/// The issue that comes after another one.
#[derive(Clone, Debug)]
pub(crate) struct Following {
    pub id: IssueId,
    pub title: String,
    pub due: Option<String>,
    pub standing: Standing,
    changes: Vec<Change>,
    why: String,
}

impl Following {
    /// The step that makes the issue, where it is not here.
    pub(super) fn step(&self) -> Option<Step> {
        (self.standing == Standing::Made).then(|| Step {
            id: self.id.clone(),
            before: None,
            body: self.event().into(),
            reason: Some(self.why.clone()),
        })
    }

    fn event(&self) -> IssueEvent {
        IssueEvent::Created {
            changes: self.changes.clone(),
        }
    }
}

/// The issue that comes after one that ends; nothing where it comes no more.
pub(super) fn following(snapshot: &Snapshot<'_>, ended: &Issue) -> Result<Option<Following>> {
    if ended.repeat.is_none() {
        return Ok(None);
    }
    let Some(Read { issue, texts }) = snapshot.issue(&ended.id)? else {
        return Ok(None);
    };
    let first = issue.repeat.as_ref().and_then(|repeat| repeat.of.as_ref());
    let first = first.map(|first| snapshot.issue(first)).transpose()?;
    let first = first.flatten().map(|read| read.issue);
    let Some(next) = next(&issue, &texts, first.as_ref()) else {
        return Ok(None);
    };
    let id = id_of(&next)?;
    let standing = match snapshot.issue_records(&id)? {
        None => Standing::Made,
        Some(_) if snapshot.issue(&id)?.is_some() => Standing::Here,
        Some(_) => Standing::TakenBack,
    };
    let mut changes = next.changes;
    changes.extend(parent(snapshot, &issue)?);
    let due = changes.iter().find_map(|change| match change {
        Change::Due(day) => day.clone(),
        _ => None,
    });
    Ok(Some(Following {
        id,
        title: issue.title,
        due,
        standing,
        changes,
        why: format!("it comes after {}", issue.id),
    }))
}

fn id_of(next: &Next) -> Result<IssueId> {
    let prefix = next.of.as_str().rsplit_once('-');
    let prefix = prefix.map_or(IssueId::PREFIX, |(prefix, _)| prefix);
    imported(prefix, "repeat", &next.seed())
}

/// The link to the whole of which the issue is a part, while the whole is open. A roadmap is a plan of what there is,
/// and gets no part by itself.
fn parent(snapshot: &Snapshot<'_>, issue: &Issue) -> Result<Option<Change>> {
    let Some(to) = issue.linked(LinkKind::Parent).next() else {
        return Ok(None);
    };
    let whole = read(snapshot, to)?.map(|read| read.issue);
    let is_open = whole.is_some_and(|whole| !whole.status.is_final() && !whole.is_roadmap());
    Ok(is_open.then(|| {
        Change::Link(Link {
            kind: LinkKind::Parent,
            to: to.clone(),
        })
    }))
}

/// An issue that came after one that an archive resolved, and that nobody touched since.
#[derive(Clone, Debug)]
pub(crate) struct Left {
    pub id: IssueId,
    pub after: IssueId,
}

/// The issues that an archive made, and that stay though it was taken back.
pub(crate) fn left(ctx: &Context, session: &SessionId) -> Result<Vec<Left>> {
    let snapshot = ctx.store()?.snapshot()?;
    let all = snapshot.issues()?.issues.into_iter();
    let mut found = Vec::new();
    for issue in all.filter(|issue| issue.sessions.iter().any(|one| one.session == *session)) {
        let Some(next) = following(&snapshot, &issue)? else {
            continue;
        };
        let records = snapshot.issue_records(&next.id)?.unwrap_or_default();
        if next.standing == Standing::Here && records.len() == 1 {
            found.push(Left {
                id: next.id,
                after: issue.id,
            });
        }
    }
    Ok(found)
}

/// Makes the issues that come after those that an archive resolves. An issue that is not here, or that cannot be read, is
/// passed over: it stops no archive.
pub(in crate::flow) fn follow(
    repo: &Repo,
    snapshot: &Snapshot<'_>,
    identity: &Identity,
    ids: &[IssueId],
    edits: &mut Edits,
) -> Result<String> {
    let mut trailers = String::new();
    for id in ids {
        let Ok(Some(Read { issue, .. })) = snapshot.issue(id) else {
            continue;
        };
        if issue.status.is_final() {
            continue;
        }
        let Ok(Some(following)) = following(snapshot, &issue) else {
            continue;
        };
        if following.standing != Standing::Made {
            continue;
        }
        let draft = Draft {
            seq: 1,
            reason: Some(following.why.clone()),
            ..first(identity, &entity(&following.id), following.event())
        };
        let op = seal(repo, &draft)?;
        edits.issue(repo, snapshot, &following.id, std::slice::from_ref(&op))?;
        trailers.push_str(&format!("Loopx-Issue: {}\n", following.id));
    }
    Ok(trailers)
}
