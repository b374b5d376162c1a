//! The issues that decide whether others can be begun, and those that the end of an issue lets begin. A backlog of
//! these alone says of them what the whole backlog says, so that nobody has to read the rest.
//!
//! Where issues lie is the caller's business: this module asks for them one by one.

use super::{Issue, IssueId, LinkKind, Status};
use std::collections::{BTreeSet, HashSet};

/// The question that is asked about an issue.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Asked {
    /// Waits of the issue: all that it waits for, and whatever it names or is named by.
    Waits,
    /// Issues that the issue names, for which its parts wait, too.
    Holds,
    /// Parts of the issue, which is waited for with all of them.
    Whole,
    /// Status of the issue, and what it is a part of.
    Stands,
}

/// Some issues with all that decides whether they can be begun, and with their neighbours. `naming` gives the issues
/// that name another one, each with its link.
pub fn around(
    seeds: &[IssueId],
    read: impl Fn(&IssueId) -> Option<Issue>,
    naming: impl Fn(&IssueId) -> Vec<(LinkKind, IssueId)>,
) -> Vec<Issue> {
    let mut open: Vec<(Asked, IssueId)> =
        seeds.iter().map(|id| (Asked::Waits, id.clone())).collect();
    let mut known: HashSet<(Asked, IssueId)> = HashSet::new();
    let mut taken: HashSet<IssueId> = HashSet::new();
    let mut found = Vec::new();
    while let Some((asked, id)) = open.pop() {
        if !known.insert((asked, id.clone())) {
            continue;
        }
        if asked == Asked::Waits {
            let beside = naming(&id).into_iter();
            open.extend(beside.map(|(_, other)| (Asked::Stands, other)));
        }
        if asked == Asked::Whole {
            open.extend(parts(&naming, &id).map(|part| (Asked::Whole, part)));
        }
        let Some(issue) = read(&id) else { continue };
        let is_closed = issue.status == Status::Closed;
        for link in &issue.links {
            let next = match (asked, link.kind) {
                (Asked::Waits | Asked::Holds, LinkKind::Parent) => Asked::Holds,
                (Asked::Waits | Asked::Holds, LinkKind::WaitsFor) => Asked::Whole,
                (Asked::Waits, _) => Asked::Stands,
                (Asked::Holds, kind) if kind.orders() => Asked::Stands,
                (Asked::Whole | Asked::Stands, LinkKind::Parent) => Asked::Stands,
                // It stands for its original.
                (Asked::Whole | Asked::Stands, LinkKind::DuplicateOf) if is_closed => asked,
                _ => continue,
            };
            open.push((next, link.to.clone()));
        }
        if taken.insert(id) {
            found.push(issue);
        }
    }
    found
}

/// The issues that may be free to begin once some have ended.
pub fn behind(
    ended: &[Issue],
    parents: impl Fn(&IssueId) -> Vec<IssueId>,
    naming: impl Fn(&IssueId) -> Vec<(LinkKind, IssueId)>,
) -> BTreeSet<IssueId> {
    let mut found = BTreeSet::new();
    // Whoever waits for the whole of something waits for each part of it.
    let mut wholes: Vec<IssueId> = ended.iter().map(|issue| issue.id.clone()).collect();
    let mut known: BTreeSet<IssueId> = wholes.iter().cloned().collect();
    let mut holders = Vec::new();
    while let Some(id) = wholes.pop() {
        for (kind, other) in naming(&id) {
            if kind == LinkKind::DuplicateOf {
                // Whoever waits for its duplicate waits for it.
                if known.insert(other.clone()) {
                    wholes.push(other);
                }
            } else if kind.orders() && kind != LinkKind::Parent {
                holders.push(other);
            }
        }
        for parent in parents(&id) {
            found.insert(parent.clone());
            if known.insert(parent.clone()) {
                wholes.push(parent);
            }
        }
    }
    let mut seen = BTreeSet::new();
    while let Some(id) = holders.pop() {
        if seen.insert(id.clone()) {
            holders.extend(parts(&naming, &id));
            found.insert(id);
        }
    }
    found
}

fn parts(
    naming: &impl Fn(&IssueId) -> Vec<(LinkKind, IssueId)>,
    id: &IssueId,
) -> impl Iterator<Item = IssueId> {
    let named = naming(id).into_iter();
    named.filter_map(|(kind, other)| (kind == LinkKind::Parent).then_some(other))
}

#[cfg(test)]
mod tests {
    use super::{around, behind};
    use crate::issue::{Backlog, Issue, IssueId, LinkKind, Status};
    use proptest::prelude::{Strategy, prop};
    use proptest::{prop_assert_eq, proptest};
    use std::collections::HashSet;

    const COUNT: usize = 9;
    const DAY: &str = "2026-01-01";
    const KINDS: [LinkKind; 6] = [
        LinkKind::BlockedBy,
        LinkKind::IfFailed,
        LinkKind::WaitsFor,
        LinkKind::Parent,
        LinkKind::DuplicateOf,
        LinkKind::Related,
    ];

    fn id(at: usize) -> IssueId {
        IssueId::parse(&format!("lx-{at:010}")).expect("an id")
    }

    fn issue(at: usize, status: Status, links: &[(usize, LinkKind)]) -> Issue {
        let links: Vec<_> = links
            .iter()
            .map(|(to, kind)| serde_json::json!({"kind": kind, "to": id(*to)}))
            .collect();
        let signed =
            serde_json::json!({"by": {"name": "A", "email": "a@x"}, "at": "2026-01-01T00:00:00Z"});
        serde_json::from_value(serde_json::json!({
            "id": id(at), "title": "T", "kind": "task", "status": status, "priority": 2, "links": links,
            "created": signed, "changed": signed, "seq": 1, "newest": [],
        }))
        .expect("an issue")
    }

    /// Issues whose links lead anywhere, also round cycles, to themselves and to issues that are not here.
    fn backlogs() -> impl Strategy<Value = Vec<Issue>> {
        let link = (0..COUNT + 1, 0..KINDS.len()).prop_map(|(to, kind)| (to, KINDS[kind]));
        let status = prop::sample::select(vec![Status::Open, Status::Resolved, Status::Closed]);
        let one = (status, prop::collection::vec(link, 0..3));
        prop::collection::vec(one, COUNT).prop_map(|all| {
            let issues = all.iter().enumerate();
            let issues = issues.map(|(at, (status, links))| issue(at, *status, links));
            issues.collect()
        })
    }

    fn naming(all: &[Issue], id: &IssueId) -> Vec<(LinkKind, IssueId)> {
        let links = all.iter().flat_map(|issue| {
            let own = issue.links.iter().filter(|link| link.to == *id);
            own.map(|link| (link.kind, issue.id.clone()))
        });
        links.collect()
    }

    fn find(all: &[Issue], id: &IssueId) -> Option<Issue> {
        all.iter().find(|issue| issue.id == *id).cloned()
    }

    fn beside(all: &[Issue], seeds: &[IssueId]) -> Vec<Issue> {
        around(seeds, |id| find(all, id), |id| naming(all, id))
    }

    fn ready(issues: Vec<Issue>) -> HashSet<IssueId> {
        let backlog = Backlog::of(issues);
        let ready = backlog.ready(DAY).into_iter();
        ready.map(|at| backlog.issues[at].id.clone()).collect()
    }

    proptest! {
        #[test]
        fn the_issues_around_one_say_of_it_what_all_issues_say(all in backlogs()) {
            let whole = Backlog::of(all.clone());
            let waits = whole.waits(DAY);
            for (at, issue) in whole.issues.iter().enumerate() {
                let few = Backlog::of(beside(&all, std::slice::from_ref(&issue.id)));
                let place = few.issues.iter().position(|one| one.id == issue.id).expect("the issue");
                prop_assert_eq!(&few.waits(DAY)[place], &waits[at], "{}", issue.id);
                let count = |naming: Vec<(&str, &Issue)>| naming.len();
                prop_assert_eq!(count(few.naming(&issue.id)), count(whole.naming(&issue.id)));
            }
        }

        #[test]
        fn what_an_end_lets_begin_stands_behind_it(all in backlogs(), ends in 0..COUNT) {
            let mut after = all.clone();
            after[ends].status = Status::Closed;
            let parents = |id: &IssueId| {
                let issue = find(&all, id);
                issue.iter().flat_map(|one| one.linked(LinkKind::Parent)).cloned().collect()
            };
            let behind = behind(&after[ends..=ends], parents, |id| naming(&all, id));
            let freed = |before: Vec<Issue>, after: Vec<Issue>| -> HashSet<IssueId> {
                let before = ready(before);
                ready(after).difference(&before).cloned().collect()
            };
            let expected = freed(all.clone(), after.clone());
            let mut seeds: Vec<IssueId> = behind.iter().cloned().collect();
            seeds.push(id(ends));
            let few = beside(&all, &seeds);
            let mut few_after = few.clone();
            for issue in &mut few_after {
                if issue.id == id(ends) {
                    issue.status = Status::Closed;
                }
            }
            let mut found = freed(few, few_after);
            found.retain(|id| behind.contains(id));
            prop_assert_eq!(found, expected);
        }
    }
}
