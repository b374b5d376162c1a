//! Issues of another backlog, sorted by what is here: those that come, those that are here already, and the links and
//! states that they can have here.

use super::{Came, is_under};
use crate::flow::context::Context;
use crate::flow::issue::change::{Ask, check};
use crate::flow::issue::create::New;
use crate::flow::issue::later::Differs;
use crate::flow::issue::same::Sources;
use crate::flow::issue::{later, solution};
use loopx_base::failure::{Failure, Result};
use loopx_base::hint::command;
use loopx_base::id::Oid;
use loopx_rules::issue::foreign::{Finding, Item, Taken, todos};
use loopx_rules::issue::plain::{BOUND, SOLUTIONS};
use loopx_rules::issue::{Issue, IssueId, LinkKind, Place, Source, Status};
use loopx_rules::roadmap::WAVE;
use loopx_store::Snapshot;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};

/// Number of solutions that come with an issue.
const MOST_WAYS: usize = 100;

/// The branch of this worktree, as it is asked about comments that are gone.
struct Branch {
    head: Oid,
    tree: Oid,
}

impl Branch {
    /// Tells whether this branch had the comment once: the commit at which the comment was read is on the branch. Where
    /// that commit is not in this clone, the branch has the file of the comment; where nobody knows the commit, the
    /// answer is yes.
    fn had(&self, ctx: &Context, place: &Place) -> Result<bool> {
        if let Some(commit) = &place.commit
            && ctx.repo.contains(commit)?
        {
            return ctx.repo.is_ancestor(commit, &self.head);
        }
        Ok(ctx.repo.blob_at(&self.tree, &place.path)?.is_some() || place.commit.is_none())
    }
}

/// The issues that are to be taken over, sorted by what is here.
pub(super) struct Sorting {
    pub(super) taken: Taken,
    /// The id here of each item.
    pub(super) ids: Vec<IssueId>,
    /// Marks of the items that come.
    pub(super) comes: Vec<bool>,
    by_key: HashMap<String, usize>,
    sources: Sources,
    open: Vec<Issue>,
    known: HashSet<IssueId>,
    /// Items that are a part of another issue here.
    parts: HashSet<IssueId>,
    links: Vec<Vec<Ask>>,
    pub(super) here: usize,
    pub(super) taken_back: Vec<IssueId>,
    pub(super) queued: Vec<IssueId>,
    /// Set when the items are JSON lines of our own.
    pub(super) is_own: bool,
}

impl Sorting {
    pub(super) fn of(
        snapshot: &Snapshot<'_>,
        prefix: &str,
        (mut taken, is_same): (Taken, bool),
    ) -> Result<Self> {
        let issues = snapshot.issues()?.issues;
        let known: HashSet<IssueId> = issues.iter().map(|issue| issue.id.clone()).collect();
        let is_part = |issue: &&Issue| issue.linked(LinkKind::Parent).next().is_some();
        let parts = issues
            .iter()
            .filter(is_part)
            .map(|one| one.id.clone())
            .collect();
        let mut folders: HashSet<IssueId> = HashSet::new();
        snapshot.issue_ids(|name| folders.extend(IssueId::parse(name)))?;
        let mut sorting = Sorting {
            ids: Vec::new(),
            comes: Vec::new(),
            by_key: HashMap::new(),
            sources: Sources::of(&issues, folders, is_same),
            open: issues
                .into_iter()
                .filter(|issue| !issue.status.is_final())
                .collect(),
            known,
            parts,
            links: vec![Vec::new(); taken.items.len()],
            here: 0,
            taken_back: Vec::new(),
            queued: Vec::new(),
            is_own: false,
            taken: Taken::default(),
        };
        for (at, item) in taken.items.iter().enumerate() {
            let (id, fault) = sorting.sources.id_of(snapshot, prefix, item)?;
            taken.faults.extend(fault);
            let is_there = sorting.sources.has_folder(&id);
            match (sorting.known.contains(&id), is_there) {
                (true, _) => sorting.here += 1,
                (false, true) => sorting.taken_back.push(id.clone()),
                (false, false) => {}
            }
            sorting.comes.push(!is_there);
            sorting
                .by_key
                .insert(item.plain.key.clone().unwrap_or_default(), at);
            sorting.ids.push(id);
        }
        sorting.taken = taken;
        Ok(sorting)
    }

    /// Keeps as data what can be no solution here, names the others, and takes what was queued out of the queue.
    pub(super) fn ways(&mut self) {
        for (at, item) in self.taken.items.iter_mut().enumerate() {
            let mut left = Vec::new();
            for (number, mut way) in std::mem::take(&mut item.plain.ways).into_iter().enumerate() {
                if !solution::is_name(&way.proposal.name) || way.proposal.name.is_empty() {
                    way.proposal.name = format!("s{}", number + 1);
                }
                let checked = if number < MOST_WAYS {
                    solution::check(&way.proposal).map_err(|failure| failure.message)
                } else {
                    Err(format!("an issue can have at most {MOST_WAYS} solutions"))
                };
                match checked {
                    Ok(()) => item.plain.ways.push(way),
                    Err(why) => {
                        let name = &way.proposal.name;
                        let message = format!("{name} is kept as data: {why}");
                        left.push(json!(way.proposal));
                        if let Some(from) = way.proposal.from.filter(|_| way.bound) {
                            item.plain.kept.insert(BOUND.to_owned(), json!(from.id));
                        }
                        if self.comes[at] {
                            let at = item.at.clone();
                            self.taken.remarks.push(Finding { at, message });
                        }
                    }
                }
            }
            if !left.is_empty() {
                // The places of what they mend are those of another list now.
                item.plain.ways.iter_mut().for_each(|way| way.mends = None);
                *self.taken.kept.entry(SOLUTIONS.to_owned()).or_default() += 1;
                let kept = item.plain.kept.entry(SOLUTIONS.to_owned());
                if let Value::Array(all) = kept.or_insert_with(|| json!([])) {
                    all.extend(left);
                }
            }
            if item.plain.unqueue() && self.comes[at] {
                self.queued.push(self.ids[at].clone());
            }
        }
    }

    /// Gives what comes a status that it can have here, and says where that is another one.
    pub(super) fn settle(&mut self, asks: impl Fn(Status) -> bool) {
        for (at, item) in self.taken.items.iter_mut().enumerate() {
            if !item.plain.status.is_some_and(&asks) {
                continue;
            }
            // Of what is here already the same is no news.
            let said = item.plain.settle().filter(|_| self.comes[at]);
            self.taken.remarks.extend(said.map(|message| Finding {
                at: item.at.clone(),
                message,
            }));
        }
    }

    /// The issue that a link names: in what is taken over, or here.
    fn other(&self, at: usize, to: &str) -> Option<IssueId> {
        if let Some(other) = self.by_key.get(to) {
            return Some(self.ids[*other].clone());
        }
        let system = self.taken.items[at].plain.source.as_ref()?.system.clone();
        let source = Source {
            system,
            id: to.to_owned(),
        };
        self.sources.only(&source).cloned()
    }

    /// Makes links between issues of which at least one comes. What names nothing is kept as data.
    pub(super) fn links(&mut self) {
        for at in 0..self.taken.items.len() {
            let named = std::mem::take(&mut self.taken.items[at].plain.links);
            let mut dangling = Vec::new();
            let mut has_parent = false;
            for link in named {
                let place = self.taken.items[at].at.clone();
                let own = IssueId::parse(&link.to).filter(|id| self.known.contains(id));
                let other = self.other(at, &link.to).or(own);
                let Some(other) = other else {
                    self.taken.remarks.push(Finding {
                        at: place,
                        message: format!(
                            "{} {}: there is no such issue; the link is kept as data",
                            link.kind, link.to
                        ),
                    });
                    dangling.push(json!({ "kind": link.kind, "to": link.to }));
                    continue;
                };
                let mut ask = match Ask::of(&link.kind, other.as_str()) {
                    Ok(ask) => ask,
                    Err(failure) => {
                        let message = failure.message;
                        self.taken.faults.push(Finding { at: place, message });
                        continue;
                    }
                };
                if other == self.ids[at] {
                    // It says nothing, and must not hold back the rest.
                    self.taken.remarks.push(Finding {
                        at: place,
                        message: format!(
                            "an issue cannot be {} itself: the link is left out",
                            link.kind
                        ),
                    });
                    continue;
                }
                if ask.kind == LinkKind::Parent && !ask.reversed {
                    if has_parent {
                        ask.kind = LinkKind::Related;
                        self.taken.remarks.push(Finding {
                            at: place,
                            message: format!(
                                "it is a part of one issue: parent {} becomes related",
                                link.to
                            ),
                        });
                    }
                    has_parent = true;
                }
                self.ask(at, &other, ask);
            }
            if !dangling.is_empty() {
                let plain = &mut self.taken.items[at].plain;
                plain.kept.insert("links".to_owned(), dangling.into());
            }
        }
    }

    /// Gives a link to the issue that comes: where it is of one that is here, the one that comes asks for it.
    fn ask(&mut self, at: usize, other: &IssueId, ask: Ask) {
        if self.comes[at] {
            self.links[at].push(ask);
            return;
        }
        let is_second = ask.kind == LinkKind::Parent && !ask.reversed;
        if is_second && self.parts.contains(&self.ids[at]) {
            let message = format!(
                "{} is here already, as a part of another issue: it stays there",
                self.ids[at]
            );
            let at = self.taken.items[at].at.clone();
            return self.taken.remarks.push(Finding { at, message });
        }
        let other = self.ids.iter().position(|id| id == other);
        if let Some(other) = other.filter(|other| self.comes[*other]) {
            let turned = Ask {
                reversed: !ask.reversed,
                other: self.ids[at].to_string(),
                ..ask
            };
            self.links[other].push(turned);
        }
    }

    /// Says of open issues that are here already which waves they are not in.
    pub(super) fn waves(&mut self) {
        for (at, item) in self
            .taken
            .items
            .iter()
            .enumerate()
            .filter(|(at, _)| !self.comes[*at])
        {
            let here = self.open.iter().find(|one| one.id == self.ids[at]);
            let waves = item
                .plain
                .labels
                .iter()
                .filter(|label| label.starts_with(WAVE));
            for wave in waves {
                if let Some(one) = here.filter(|one| !one.labels.contains(wave)) {
                    self.taken.remarks.push(Finding {
                        at: item.at.clone(),
                        message: format!("{} is here already, and not in {wave}", one.id),
                    });
                }
            }
        }
    }

    /// Checks each field of what comes.
    pub(super) fn check(&mut self, ctx: &Context) {
        for (at, item) in self.taken.items.iter().enumerate() {
            if !self.comes[at] {
                continue;
            }
            for change in item.plain.changes() {
                if let Err(failure) = check(ctx, &change) {
                    self.taken.faults.push(Finding {
                        at: item.at.clone(),
                        message: failure.message,
                    });
                }
            }
        }
    }

    /// Refuses words of what comes for which nobody says what they become; gives what to say. What is here already has
    /// become something.
    pub(super) fn unmapped(&mut self) -> Vec<String> {
        let here: HashSet<&str> = (self.taken.items.iter().zip(&self.comes))
            .filter(|(_, comes)| !**comes)
            .map(|(item, _)| item.at.as_str())
            .collect();
        let mut wishes = Vec::new();
        for one in &self.taken.unmapped {
            if here.contains(one.fault.at.as_str()) {
                continue;
            }
            self.taken.faults.push(one.fault.clone());
            if !wishes.contains(&one.wish) {
                wishes.push(one.wish.clone());
            }
        }
        wishes
    }

    /// News of what is here already. Our own lines bring none: their source is where an issue came from first, and not
    /// whoever wrote the lines.
    pub(super) fn changed(&self, snapshot: &Snapshot<'_>) -> Result<Vec<Differs>> {
        let mut found = Vec::new();
        if self.is_own {
            return Ok(found);
        }
        for (at, item) in self.taken.items.iter().enumerate() {
            if self.known.contains(&self.ids[at]) {
                found.extend(later::differs(snapshot, &self.ids[at], item)?);
            }
        }
        Ok(found)
    }

    /// The issues whose comment is no longer in the code.
    pub(super) fn gone(&self, ctx: &Context, under: Option<&str>) -> Result<Vec<IssueId>> {
        let is_gone = |issue: &&Issue| {
            let is_todo = issue
                .source
                .as_ref()
                .is_some_and(|source| source.system == todos::SYSTEM);
            let place = issue.place.as_ref();
            is_todo
                && place.is_some_and(|place| is_under(&place.path, under))
                && !self.ids.contains(&issue.id)
        };
        let mut gone = Vec::new();
        let Some(head) = ctx.repo.head()?.commit else {
            return Ok(gone);
        };
        let tree = ctx.repo.commit_info(&head)?.tree;
        let branch = Branch { head, tree };
        for issue in self.open.iter().filter(is_gone) {
            if let Some(place) = &issue.place
                && branch.had(ctx, place)?
            {
                gone.push(issue.id.clone());
            }
        }
        Ok(gone)
    }

    pub(super) fn coming(&self) -> impl Iterator<Item = (usize, &Item)> {
        let items = self.taken.items.iter().enumerate();
        items.filter(|(at, _)| self.comes[*at])
    }

    pub(super) fn new_issues(&self) -> Vec<New> {
        self.coming()
            .map(|(at, item)| New {
                at: None,
                key: Some(self.ids[at].to_string()),
                id: Some(self.ids[at].clone()),
                changes: item.plain.changes(),
                links: self.links[at].clone(),
                reason: item.plain.reason.clone(),
                ways: item.plain.ways.clone(),
            })
            .collect()
    }

    pub(super) fn came(&self) -> Vec<Came> {
        self.coming()
            .map(|(at, item)| Came {
                issue: self.ids[at].clone(),
                title: item.plain.title.clone(),
                at: item.at.clone(),
                key: item.plain.key.clone().unwrap_or_default(),
            })
            .collect()
    }

    /// A failure in the words of whoever knows the issues by their ids there.
    pub(super) fn named(&self, mut failure: Failure) -> Failure {
        for (at, item) in self.coming() {
            let id = self.ids[at].as_str();
            if failure.message.contains(id) {
                let key = item.plain.key.as_deref().unwrap_or(id);
                let there = format!("{key} ({})", item.at);
                failure.message = failure.message.replace(id, &there);
                // What it helps to look at is not there yet.
                failure.help = Some(command!("help issue import"));
            }
        }
        failure
    }
}
