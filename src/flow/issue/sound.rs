//! The laws of a backlog that no command may break: bringing something back is asked what doing it is asked.

use super::change::{require_no_cycle, two_parents};
use super::end::{End, require_original, require_whole};
use super::{all, backlogs_around, read, sessions};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{command, hint};
use loopx_rules::issue::event::Change;
use loopx_rules::issue::{Issue, Link, LinkKind, Status};
use loopx_store::Snapshot;

/// An issue before a word, where it was there, and behind it.
pub(super) type Around = (Option<Issue>, Issue);

/// Refuses issues as they would be behind a word where no command would have made them so.
pub(super) fn require_sound(
    snapshot: &Snapshot<'_>,
    mut moved: Vec<Around>,
    day: &str,
) -> Result<()> {
    for (_, after) in &mut moved {
        sessions::settle(snapshot, std::slice::from_mut(after))?;
    }
    let changed: Vec<(Issue, Vec<Change>)> = moved
        .iter()
        .map(|(before, after)| {
            let links = new_links(before.as_ref(), after).cloned();
            (after.clone(), links.map(Change::Link).collect())
        })
        .collect();
    for (before, after) in &moved {
        for link in new_links(before.as_ref(), after) {
            match link.kind {
                LinkKind::DuplicateOf => require_original(snapshot, &after.id, &link.to)?,
                LinkKind::Parent => {
                    let others = before.iter().flat_map(|one| one.linked(LinkKind::Parent));
                    let mut others = others
                        .filter(|other| after.linked(LinkKind::Parent).any(|one| one == *other));
                    if let Some(other) = others.next() {
                        return Err(two_parents(after.id.as_str(), [other, &link.to])
                            .help(command!("issue unlink {} parent {other}", after.id)));
                    }
                    require_open_parent(snapshot, after, link)?;
                }
                _ => {}
            }
        }
    }
    require_no_cycle(snapshot, &changed, &ToString::to_string)?;
    let ended: Vec<(&Issue, End)> = moved
        .iter()
        .filter_map(|(before, after)| Some((after, ends(before.as_ref()?, after)?)))
        .collect();
    if ended.is_empty() {
        return Ok(());
    }
    let behind = moved.iter().map(|(_, after)| after.clone()).collect();
    let (before, after) = backlogs_around(all(snapshot)?.issues, behind);
    for (issue, end) in ended {
        require_whole(issue, &end, &after, &before, day)?;
    }
    Ok(())
}

/// The links that an issue did not have.
fn new_links<'i>(
    before: Option<&'i Issue>,
    after: &'i Issue,
) -> impl Iterator<Item = &'i Link> + 'i {
    let had = move |link: &&Link| before.is_some_and(|one| one.links.contains(link));
    after.links.iter().filter(move |link| !had(link))
}

/// The end that a word makes of an issue, where it ends by it.
fn ends(before: &Issue, after: &Issue) -> Option<End> {
    match after.status {
        status if status == before.status => None,
        Status::Resolved => Some(End::Resolve),
        Status::Closed => Some(End::Close),
        _ => None,
    }
}

/// Refuses an open issue as a part of one that has ended: with open parts it would not have.
pub(super) fn require_open_parent(
    snapshot: &Snapshot<'_>,
    issue: &Issue,
    link: &Link,
) -> Result<()> {
    if link.kind != LinkKind::Parent || issue.status.is_final() {
        return Ok(());
    }
    let parent = read(snapshot, &link.to)?.map(|read| read.issue);
    let Some(parent) = parent.filter(|parent| parent.status.is_final()) else {
        return Ok(());
    };
    let id = &parent.id;
    Err(Failure::refused(
        Code::IssueEnded,
        format!(
            "{id} is {}: an open issue cannot be a part of it",
            parent.status
        ),
    )
    .help(hint![
        command!("issue reopen {id}"),
        "  or name it as related"
    ]))
}
