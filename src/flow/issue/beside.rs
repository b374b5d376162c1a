//! Some issues with what decides about them, each as its records are: whoever writes reads these, and not the list of
//! all. Where to look, the store keeps.

use super::{Names, sessions};
use loopx_base::failure::{Failure, Result};
use loopx_rules::issue::{Backlog, Issue, IssueId, LinkKind, around, behind};
use loopx_store::{IssueLinks, Snapshot};
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};

/// The number of issues that an end may let begin and that are still read one by one; beyond it the kept list says it.
const MOST_BEHIND: usize = 200;

/// The links of all issues, and the issues that were read.
pub(super) struct Beside<'s, 'r> {
    snapshot: &'s Snapshot<'r>,
    links: IssueLinks,
    naming: HashMap<String, Vec<(LinkKind, String)>>,
    read: RefCell<HashMap<IssueId, Option<Issue>>>,
    /// The first issue that could not be read.
    failed: RefCell<Option<Failure>>,
}

impl<'s, 'r> Beside<'s, 'r> {
    pub(super) fn of(snapshot: &'s Snapshot<'r>) -> Result<Self> {
        let links = snapshot.issue_links()?;
        let mut naming: HashMap<String, Vec<(LinkKind, String)>> = HashMap::new();
        for row in links.rows_with_links() {
            for (kind, to) in row.links() {
                let named = naming.entry(to.to_owned()).or_default();
                named.push((kind, row.id.to_owned()));
            }
        }
        Ok(Beside {
            snapshot,
            links,
            naming,
            read: RefCell::default(),
            failed: RefCell::default(),
        })
    }

    /// The issues that name another one.
    fn naming(&self, id: &IssueId) -> Vec<(LinkKind, IssueId)> {
        let named = self.naming.get(id.as_str()).into_iter().flatten();
        named
            .filter_map(|(kind, other)| Some((*kind, IssueId::parse(other)?)))
            .collect()
    }

    /// An issue by its records. Where they cannot be read, whoever asked hears it from [`Beside::require_read`].
    fn issue(&self, id: &IssueId) -> Option<Issue> {
        if let Some(known) = self.read.borrow().get(id) {
            return known.clone();
        }
        let issue = match self.snapshot.issue(id) {
            Ok(read) => read.map(|read| read.issue),
            Err(failure) => {
                self.failed.borrow_mut().get_or_insert(failure);
                None
            }
        };
        self.read.borrow_mut().insert(id.clone(), issue.clone());
        issue
    }

    /// Some issues with all that decides whether they can be begun, and with their neighbours.
    pub(super) fn around(&self, seeds: &[IssueId]) -> Result<Vec<Issue>> {
        let mut found = around(seeds, |id| self.issue(id), |id| self.naming(id));
        self.require_read()?;
        sessions::settle(self.snapshot, &mut found)?;
        Ok(found)
    }

    /// Requires that each issue could be read: an issue may wait for one that could not, and nothing is decided without
    /// it.
    fn require_read(&self) -> Result<()> {
        self.failed.borrow_mut().take().map_or(Ok(()), Err)
    }

    /// The issues that may be free to begin once some have ended; `None` where they are too many to read.
    pub(super) fn behind(&self, ended: &[Issue]) -> Option<BTreeSet<IssueId>> {
        let parents = |id: &IssueId| {
            let issue = self.issue(id);
            let linked = issue.iter().flat_map(|one| one.linked(LinkKind::Parent));
            linked.cloned().collect()
        };
        let found = behind(ended, parents, |id| self.naming(id));
        (found.len() <= MOST_BEHIND).then_some(found)
    }

    /// The next issues that can be begun, each in a backlog of its own: the kept links say which are looked at, and the
    /// records of each whether it can.
    pub(super) fn next(&self, day: &str, limit: usize) -> Result<Vec<(Backlog, usize)>> {
        let rows: HashMap<&str, _> = self.links.rows().map(|row| (row.id, row)).collect();
        let is_held = |to: &str, id: &str| {
            let other = rows.get(to).filter(|_| to != id);
            other.is_some_and(|other| !other.is_ended && !other.has_sessions)
        };
        let free = rows.values().filter(|row| {
            let mut links = row.links();
            let is_open = row.is_free || row.has_sessions && !row.is_ended;
            let waits = |(kind, to): (LinkKind, &str)| {
                kind.orders() && kind != LinkKind::Parent && is_held(to, row.id)
            };
            is_open && !links.any(waits)
        });
        let mut free: Vec<_> = free.collect();
        free.sort_unstable_by_key(|row| {
            (
                row.priority,
                row.due.is_none(),
                row.due,
                row.created,
                row.id,
            )
        });
        let mut found = Vec::new();
        for id in free.iter().filter_map(|row| IssueId::parse(row.id)) {
            if found.len() >= limit {
                break;
            }
            let backlog = Backlog::of(self.around(std::slice::from_ref(&id))?);
            let mut ready = backlog.ready(day).into_iter();
            if let Some(at) = ready.find(|at| backlog.issues[*at].id == id) {
                found.push((backlog, at));
            }
        }
        Ok(found)
    }

    /// Tells whether each issue is known here, and its own records alone say how far it is.
    pub(super) fn says_all(&self) -> bool {
        self.links.says_all()
    }

    /// Counts the issues, and those that are open.
    pub(super) fn counts(&self) -> (usize, usize) {
        let rows = self.links.rows().filter(|row| !row.is_withdrawn);
        rows.fold((0, 0), |(all, open), row| {
            (all + 1, open + usize::from(!row.is_ended))
        })
    }

    /// The ids of all issues, as people are shown them.
    pub(super) fn names(&self) -> Names {
        Names::among(self.links.rows().map(|row| row.id))
    }
}
