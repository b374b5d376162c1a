//! Positions of the commits of a range relative to the moments that their session's operations name.

use super::Sessions;
use loopx_base::failure::Result;
use loopx_base::id::{Oid, SessionId};
use loopx_git::{CommitInfo, Repo};
use loopx_rules::range_rules::history::{At, History, Milestone, Moment, Side, Standing, history};
use loopx_store::Lines;
use std::collections::{HashMap, HashSet};

/// The commits of a range by their parents, and the histories of sessions, each read once.
pub(super) struct Moments<'a, 'r> {
    repo: &'a Repo,
    sessions: &'a Sessions<'r>,
    infos: &'a [CommitInfo],
    /// Commits that the range builds on.
    hidden: &'a [Oid],
    known: HashMap<SessionId, (History, Vec<Sides>)>,
    /// Commits that heads of stage moves have beyond those that the range builds on, each head walked once.
    had: HashMap<Oid, HashSet<Oid>>,
}

/// Milestone in the range.
enum Sides {
    Here {
        before: HashSet<Oid>,
        after: HashSet<Oid>,
    },
    /// Milestone that lies below the range.
    Below(Oid),
    Nowhere,
}

impl<'a, 'r> Moments<'a, 'r> {
    pub(super) fn new(
        repo: &'a Repo,
        sessions: &'a Sessions<'r>,
        infos: &'a [CommitInfo],
        hidden: &'a [Oid],
    ) -> Self {
        Moments {
            repo,
            sessions,
            infos,
            hidden,
            known: HashMap::new(),
            had: HashMap::new(),
        }
    }

    pub(super) fn standing(&mut self, id: &SessionId, commit: &Oid) -> Result<Standing> {
        self.read(id)?;
        let Some((history, sides)) = self.known.get(id) else {
            return Ok(Standing::Open);
        };
        history.standing(|milestone| {
            let at = history.milestones.iter().position(|m| m == milestone);
            match at.and_then(|at| sides.get(at)) {
                Some(Sides::Here { before, .. }) if before.contains(commit) => Ok(Side::Before),
                Some(Sides::Here { after, .. }) if after.contains(commit) => Ok(Side::After),
                Some(Sides::Below(below)) if self.repo.is_ancestor(below, commit)? => {
                    Ok(Side::After)
                }
                _ => Ok(Side::Beside),
            }
        })
    }

    /// The stage in which a commit was made, by the first stage move whose head has it, or has what it was
    /// before a rebase.
    pub(super) fn moment(&mut self, id: &SessionId, info: &CommitInfo) -> Result<Moment> {
        self.read(id)?;
        let Some((history, _)) = self.known.get(id) else {
            return Ok(Moment::Unknown);
        };
        for head in history.moves.iter().filter_map(|one| one.head.as_ref()) {
            if !self.had.contains_key(head) && self.repo.contains(head)? {
                let has = self.repo.range(head, self.hidden, usize::MAX)?;
                self.had.insert(head.clone(), has.into_iter().collect());
            }
        }
        let start = history.moves.first().and_then(|one| one.head.as_ref());
        let mut has = Vec::new();
        for one in &history.moves {
            let head = one.head.as_ref();
            has.push(
                match head.and_then(|head| Some((head, self.had.get(head)?))) {
                    Some((head, had)) => Some(
                        had.contains(&info.id)
                            || (Some(head) != start && self.has_twin(head, start, info)?),
                    ),
                    None => None,
                },
            );
        }
        Ok(history.moment(&has))
    }

    /// Tells whether a branch that was rebased since had this commit: author, message and paths are the same, and the
    /// twin is nowhere behind the commit.
    fn has_twin(&self, head: &Oid, start: Option<&Oid>, info: &CommitInfo) -> Result<bool> {
        let mut without = vec![info.id.clone()];
        if let Some(start) = start
            && self.repo.contains(start)?
        {
            without.push(start.clone());
        }
        for id in self.repo.range(head, &without, usize::MAX)? {
            let other = self.repo.commit_info(&id)?;
            if other.author == info.author
                && other.message == info.message
                && self.paths(&other)? == self.paths(info)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn paths(&self, info: &CommitInfo) -> Result<Vec<String>> {
        let before = match info.parents.first() {
            Some(parent) => Some(self.repo.commit_info(parent)?.tree),
            None => None,
        };
        self.repo.changed_paths(before.as_ref(), &info.tree)
    }

    fn read(&mut self, id: &SessionId) -> Result<()> {
        if !self.known.contains_key(id) {
            let operations = self.sessions.operations(id)?;
            let history = if operations.is_empty() {
                History::default()
            } else {
                history(id, &operations, &Lines::of(self.repo))?
            };
            let sides = history
                .milestones
                .iter()
                .map(|milestone| self.sides(milestone))
                .collect::<Result<_>>()?;
            self.known.insert(id.clone(), (history, sides));
        }
        Ok(())
    }

    fn sides(&self, milestone: &Milestone) -> Result<Sides> {
        let is_it = |info: &&CommitInfo| match &milestone.at {
            At::Commit(id) => info.id == *id,
            At::Tree(tree) => info.tree == *tree,
        };
        let found: Vec<&Oid> = self
            .infos
            .iter()
            .filter(is_it)
            .map(|info| &info.id)
            .collect();
        if found.is_empty() {
            return self.below(&milestone.at);
        }
        let mut parents: HashMap<&Oid, Vec<&Oid>> = HashMap::new();
        let mut children: HashMap<&Oid, Vec<&Oid>> = HashMap::new();
        for info in self.infos {
            for parent in &info.parents {
                parents.entry(&info.id).or_default().push(parent);
                children.entry(parent).or_default().push(&info.id);
            }
        }
        Ok(Sides::Here {
            before: reach(&found, &parents),
            after: reach(&found, &children),
        })
    }

    fn below(&self, at: &At) -> Result<Sides> {
        match at {
            At::Commit(id) if self.repo.contains(id)? => Ok(Sides::Below(id.clone())),
            At::Commit(_) => Ok(Sides::Nowhere),
            At::Tree(tree) => {
                for id in self.hidden {
                    if self.repo.commit_info(id)?.tree == *tree {
                        return Ok(Sides::Below(id.clone()));
                    }
                }
                Ok(Sides::Nowhere)
            }
        }
    }
}

/// Commits that are reached from these, and these.
fn reach(from: &[&Oid], ways: &HashMap<&Oid, Vec<&Oid>>) -> HashSet<Oid> {
    let mut found = HashSet::new();
    let mut next: Vec<&Oid> = from.to_vec();
    while let Some(id) = next.pop() {
        if found.insert(id.clone()) {
            next.extend(ways.get(id).into_iter().flatten());
        }
    }
    found
}
