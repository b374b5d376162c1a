//! The queue: issues whose solution is bound, in the order in which they are to be done, in groups that can run side by
//! side. It is computed from the issues, from the files that they touch and from trial merges; nothing of it is stored.

use super::IssueId;
use super::solution::{Action, Touched, covers};
use loopx_base::vocabulary::vocabulary;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Number of issues that are done side by side at most.
pub const SIDE_BY_SIDE: usize = 3;
/// The most issues of one batch.
pub const BATCH: usize = 100;

vocabulary!(
    /// Checks that are asked for before issues are queued.
    Mode {
        /// A bound solution.
        Quick = "quick",
        /// The audit of each solution besides.
        Full = "full",
        /// Audit of all at once.
        Batch = "batch",
    }
);

impl Mode {
    /// The mode for issues of these priorities: one or two are quick, unless one of them is high (0 or 1); up to four
    /// are full; more are a batch.
    pub fn of(priorities: &[u8]) -> Self {
        let is_high = priorities.iter().any(|priority| *priority <= 1);
        match priorities.len() {
            0..=2 if !is_high => Mode::Quick,
            0..=4 => Mode::Full,
            _ => Mode::Batch,
        }
    }

    pub fn audits(self) -> bool {
        self != Mode::Quick
    }
}

/// An issue that is to be put in order.
#[derive(Clone, Debug)]
pub struct Item {
    pub issue: IssueId,
    pub priority: u8,
    pub tasks: usize,
    pub files: Vec<Touched>,
    /// The place in the backlog: the oldest first.
    pub age: usize,
    /// Issues that the item waits for.
    pub waits: Vec<IssueId>,
    /// Set when the issue waits for something that is in no queue: a day, an issue elsewhere.
    pub is_held: bool,
}

impl Item {
    fn creates(&self) -> bool {
        self.files.iter().any(|file| file.action == Action::Create)
    }
}

vocabulary!(
    /// Consequence of files that two issues both touch.
    Resolution {
        /// Merge of the branches of both: the issues can be done side by side.
        Merge = "merge",
        /// Order of the queue: one issue is done after the other.
        Sequential = "sequential",
        /// Question for a person, who says which comes first: neither order is right by itself.
        Unresolved = "unresolved",
    }
);

/// Files that two issues both touch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Conflict {
    pub issues: [IssueId; 2],
    pub files: Vec<String>,
    pub resolution: Resolution,
    /// Set when two branches were merged to find the conflict; else what the solutions say was compared.
    pub tried: bool,
}

/// Result of merging two branches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trial {
    /// Missing branch: one of the issues has none yet.
    None,
    Clean,
    Conflicts(Vec<String>),
}

/// Issues in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Queue {
    /// Issues that can be done side by side, group after group.
    pub groups: Vec<Vec<IssueId>>,
    pub conflicts: Vec<Conflict>,
    /// Issues in no group: they wait for what is in no queue, or for themselves.
    pub held: Vec<IssueId>,
}

impl Queue {
    /// The issues that have no order among themselves, and need one.
    pub fn unresolved(&self) -> impl Iterator<Item = &Conflict> {
        let is_it = |one: &&Conflict| one.resolution == Resolution::Unresolved;
        self.conflicts.iter().filter(is_it)
    }

    /// The pairs of issues that are not to be done at the same time.
    fn pairs_apart(&self) -> BTreeSet<(&IssueId, &IssueId)> {
        let all = self.conflicts.iter();
        let all = all.filter(|conflict| conflict.resolution != Resolution::Merge);
        all.map(|conflict| (&conflict.issues[0], &conflict.issues[1]))
            .collect()
    }

    /// Tells whether two issues are not to be done at the same time.
    pub fn apart(&self, one: &IssueId, other: &IssueId) -> bool {
        self.conflicts.iter().any(|conflict| {
            conflict.resolution != Resolution::Merge
                && conflict.issues.contains(one)
                && conflict.issues.contains(other)
        })
    }
}

/// Puts issues in order: by priority, then what more others wait for, more tasks, what creates files before what only
/// changes some, and age. Dependencies and files decide what stands side by side.
pub fn form(items: &[Item], mut trial: impl FnMut(usize, usize) -> Trial) -> Queue {
    let mut waiting: BTreeMap<&IssueId, usize> = BTreeMap::new();
    for item in items {
        for on in item.waits.iter().collect::<BTreeSet<_>>() {
            *waiting.entry(on).or_default() += 1;
        }
    }
    let waiting = |id: &IssueId| waiting.get(id).copied().unwrap_or_default();
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.sort_by_cached_key(|at| {
        let item = &items[*at];
        (
            item.priority,
            std::cmp::Reverse(waiting(&item.issue)),
            std::cmp::Reverse(item.tasks),
            !item.creates(),
            item.age,
        )
    });
    let mut queue = Queue {
        conflicts: conflicts(items, &order, &mut trial),
        ..Queue::default()
    };
    let apart = queue.pairs_apart();
    let beside = |one: usize, other: usize| {
        let pair = (&items[one].issue, &items[other].issue);
        !apart.contains(&pair) && !apart.contains(&(pair.1, pair.0))
    };
    let mut groups = Vec::new();
    let mut left = order;
    let mut placed: BTreeSet<&IssueId> = BTreeSet::new();
    loop {
        let mut group: Vec<usize> = Vec::new();
        for at in &left {
            let item = &items[*at];
            let is_free = !item.is_held && item.waits.iter().all(|on| placed.contains(on));
            if is_free && group.iter().all(|other| beside(*at, *other)) {
                group.push(*at);
            }
            if group.len() == SIDE_BY_SIDE {
                break;
            }
        }
        if group.is_empty() {
            break;
        }
        left.retain(|at| !group.contains(at));
        placed.extend(group.iter().map(|at| &items[*at].issue));
        groups.push(
            group
                .into_iter()
                .map(|at| items[at].issue.clone())
                .collect(),
        );
    }
    queue.groups = groups;
    queue.held = left.into_iter().map(|at| items[at].issue.clone()).collect();
    queue
}

fn conflicts(
    items: &[Item],
    order: &[usize],
    trial: &mut impl FnMut(usize, usize) -> Trial,
) -> Vec<Conflict> {
    let mut found = Vec::new();
    let has_files = |at: &usize| !items[*at].files.is_empty();
    let order: Vec<usize> = order.iter().copied().filter(has_files).collect();
    for (place, one) in order.iter().enumerate() {
        for other in &order[place + 1..] {
            let (a, b) = (&items[*one], &items[*other]);
            let (files, is_open) = shared(&a.files, &b.files);
            if files.is_empty() {
                continue;
            }
            let is_ordered = || reaches(items, *one, *other) || reaches(items, *other, *one);
            let (resolution, files, tried) = match trial(*one, *other) {
                Trial::Clean => (Resolution::Merge, files, true),
                Trial::Conflicts(files) => (Resolution::Sequential, files, true),
                Trial::None if is_open && !is_ordered() => (Resolution::Unresolved, files, false),
                Trial::None => (Resolution::Sequential, files, false),
            };
            found.push(Conflict {
                issues: [a.issue.clone(), b.issue.clone()],
                files,
                resolution,
                tried,
            });
        }
    }
    found
}

/// The paths that both touch, and whether one makes or deletes what the other has to do with: then it matters who is
/// first, and no rule knows.
fn shared(one: &[Touched], other: &[Touched]) -> (Vec<String>, bool) {
    let mut files = BTreeSet::new();
    let mut is_open = false;
    for a in one {
        for b in other {
            let same = covers(&a.path, &b.path).then_some(&b.path);
            let same = same.or_else(|| covers(&b.path, &a.path).then_some(&a.path));
            if let Some(path) = same {
                files.insert(path.clone());
                let both_delete = a.action == Action::Delete && b.action == Action::Delete;
                let is_plain = a.action == Action::Modify && b.action == Action::Modify;
                is_open |= !is_plain && !both_delete;
            }
        }
    }
    (files.into_iter().collect(), is_open)
}

/// Tells whether one item waits for another, directly or through others.
fn reaches(items: &[Item], from: usize, to: usize) -> bool {
    let mut seen = BTreeSet::from([from]);
    let mut todo = vec![from];
    while let Some(at) = todo.pop() {
        for on in &items[at].waits {
            let Some(next) = items.iter().position(|item| item.issue == *on) else {
                continue;
            };
            if next == to {
                return true;
            }
            if seen.insert(next) {
                todo.push(next);
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::{Action, Item, Mode, Resolution, Touched, Trial, form};
    use crate::issue::IssueId;
    use proptest::prelude::{Strategy, any, prop};
    use proptest::{prop_assert, prop_assert_eq, proptest};

    fn id(at: usize) -> IssueId {
        IssueId::parse(&format!("lx-{at:010}")).expect("an id")
    }

    fn item(at: usize, file: &str, waits: &[usize]) -> Item {
        Item {
            issue: id(at),
            priority: 2,
            tasks: 1,
            files: vec![Touched {
                path: file.to_owned(),
                action: Action::Modify,
            }],
            age: at,
            waits: waits.iter().map(|at| id(*at)).collect(),
            is_held: false,
        }
    }

    fn groups(items: &[Item]) -> Vec<Vec<IssueId>> {
        form(items, |_, _| Trial::None).groups
    }

    #[test]
    fn l5_batches() {
        let items = [item(1, "f1", &[]), item(2, "f1", &[]), item(3, "f2", &[])];
        assert_eq!(groups(&items), [vec![id(1), id(3)], vec![id(2)]]);
    }

    #[test]
    fn what_merges_is_done_side_by_side_and_what_does_not_is_not() {
        let items = [item(1, "f1", &[]), item(2, "f1", &[])];
        let clean = form(&items, |_, _| Trial::Clean);
        assert_eq!(clean.groups, [vec![id(1), id(2)]]);
        let conflict = form(&items, |_, _| Trial::Conflicts(vec!["f1".to_owned()]));
        assert_eq!(conflict.groups.len(), 2);
        assert_eq!(conflict.conflicts[0].resolution, Resolution::Sequential);
    }

    #[test]
    fn who_deletes_what_another_changes_needs_an_order() {
        let mut items = [item(1, "f1", &[]), item(2, "f1", &[])];
        items[1].files[0].action = Action::Delete;
        let open = form(&items, |_, _| Trial::None);
        assert_eq!(open.unresolved().count(), 1);
        items[1].waits.push(id(1));
        assert_eq!(form(&items, |_, _| Trial::None).unresolved().count(), 0);
    }

    #[test]
    fn what_waits_for_itself_or_for_what_is_elsewhere_is_held() {
        let items = [
            item(1, "a", &[2]),
            item(2, "b", &[1]),
            item(3, "c", &[9]),
            item(4, "d", &[]),
        ];
        let queue = form(&items, |_, _| Trial::None);
        assert_eq!(queue.groups, [vec![id(4)]]);
        assert_eq!(queue.held, [id(1), id(2), id(3)]);
    }

    #[test]
    fn s18_the_mode_by_number_and_priority() {
        let of = |priorities: &[u8]| Mode::of(priorities);
        assert_eq!(of(&[2, 3]), Mode::Quick);
        assert_eq!(of(&[1]), Mode::Full);
        assert_eq!([of(&[2; 3]), of(&[2; 4])], [Mode::Full; 2]);
        assert_eq!(of(&[2; 5]), Mode::Batch);
    }

    fn any_items() -> impl Strategy<Value = Vec<Item>> {
        let one = (
            "[abc]",
            any::<u8>(),
            prop::collection::vec(0..12_usize, 0..3),
        );
        prop::collection::vec(one, 0..12).prop_map(|all| {
            let all = all.into_iter().enumerate();
            all.map(|(at, (file, priority, waits))| Item {
                priority: priority % 5,
                ..item(at, &file, &waits)
            })
            .collect()
        })
    }

    proptest! {
        #[test]
        fn every_issue_has_one_place_behind_what_it_waits_for_and_beside_no_conflict(items in any_items()) {
            let queue = form(&items, |_, _| Trial::None);
            let placed: Vec<&IssueId> = queue.groups.iter().flatten().chain(&queue.held).collect();
            prop_assert_eq!(placed.len(), items.len());
            for item in &items {
                prop_assert_eq!(placed.iter().filter(|one| ***one == item.issue).count(), 1);
            }
            let group = |id: &IssueId| queue.groups.iter().position(|group| group.contains(id));
            for item in &items {
                if let Some(at) = group(&item.issue) {
                    prop_assert!(item.waits.iter().all(|on| group(on).is_some_and(|on| on < at)));
                }
            }
            for group in &queue.groups {
                prop_assert!(group.len() <= super::SIDE_BY_SIDE);
                for (at, one) in group.iter().enumerate() {
                    prop_assert!(group[at + 1..].iter().all(|other| !queue.apart(one, other)));
                }
            }
        }

        #[test]
        fn the_order_in_which_issues_are_read_changes_nothing(items in any_items()) {
            let mut turned = items.clone();
            turned.reverse();
            let (one, other) = (form(&items, |_, _| Trial::None), form(&turned, |_, _| Trial::None));
            prop_assert_eq!(one, other);
        }
    }
}
