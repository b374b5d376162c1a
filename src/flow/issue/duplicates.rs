//! Issues that may say the same. Whether they do, a person says: nothing is closed here.

use super::{Names, names};
use crate::flow::context::Context;
use loopx_base::failure::Result;
use loopx_rules::issue::similar::{Said, pairs};
use loopx_rules::issue::{Issue, IssueId, LinkKind, Texts};
use serde::Serialize;

/// Two issues, the older one first.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Alike {
    pub percent: u8,
    pub issue: IssueId,
    pub title: String,
    pub other: IssueId,
    pub other_title: String,
}

/// The pairs of issues that say at least so much the same: open ones, or all; of one issue where one is named.
pub(crate) fn duplicates(
    ctx: &Context,
    typed: Option<&str>,
    all: bool,
    least: u8,
) -> Result<(Vec<Alike>, Names)> {
    let snapshot = ctx.store()?.snapshot()?;
    let only = match typed {
        Some(typed) => Some(names::resolve(&snapshot, typed)?),
        None => None,
    };
    let (found, texts) = snapshot.issues_with_texts()?;
    let mut issues = found.issues;
    super::sessions::settle(&snapshot, &mut issues)?;
    issues.retain(|issue| all || !issue.status.is_final() || Some(&issue.id) == only.as_ref());
    issues.sort_by(|one, other| (&one.created.at, &one.id).cmp(&(&other.created.at, &other.id)));
    let none = Texts::default();
    let said: Vec<Said<'_>> = (issues.iter())
        .map(|issue| Said {
            title: &issue.title,
            description: &texts.get(&issue.id).unwrap_or(&none).description,
        })
        .collect();
    let at = only.and_then(|id| issues.iter().position(|issue| issue.id == id));
    let alike = pairs(&said, at, least).into_iter();
    // The issues stand in the order of their age.
    let alike = alike
        .map(|pair| {
            (
                pair.one.min(pair.other),
                pair.one.max(pair.other),
                pair.percent,
            )
        })
        .map(|(one, other, percent)| (&issues[one], &issues[other], percent))
        .filter(|(one, other, _)| !is_said(one, other) && !is_said(other, one))
        .map(|(one, other, percent)| Alike {
            percent,
            issue: one.id.clone(),
            title: one.title.clone(),
            other: other.id.clone(),
            other_title: other.title.clone(),
        });
    Ok((alike.collect(), Names::of(&snapshot)?))
}

/// Tells whether one issue says already what it is to the other.
fn is_said(one: &Issue, other: &Issue) -> bool {
    let kinds = [
        LinkKind::DuplicateOf,
        LinkKind::Related,
        LinkKind::Parent,
        LinkKind::IfFailed,
    ];
    let links = one.links.iter();
    links
        .filter(|link| link.to == other.id)
        .any(|link| kinds.contains(&link.kind))
}
