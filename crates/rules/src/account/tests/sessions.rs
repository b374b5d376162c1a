//! Events of sessions before they land: work, syncs, reviews, archives.

use super::histories::{Dice, File, Ground, History, How, Link, Part, Review, Session, kind};
use super::model::{Below, Facts, Kind};

impl<G: Ground> History<'_, G> {
    pub(super) fn start(&mut self, dice: &mut Dice) {
        let branch = usize::from(dice.one_in(8));
        let mut begun = Session {
            base: self.tips[branch].clone(),
            with: self.tips[branch].clone(),
            ..Session::default()
        };
        let mut facts = Facts {
            branch,
            differs: true,
            ..Facts::default()
        };
        let whole: Vec<usize> = (0..self.sessions.len())
            .filter(|s| self.facts[*s].branch == branch && !self.has_landed(*s))
            .filter(|s| self.facts[*s].differs)
            .collect();
        if let Some(below) = dice.of(&whole).copied()
            && dice.one_in(3)
        {
            // On the branch of another one, that has not landed.
            begun = self.sessions[below].clone();
            begun.reviewed = None;
            begun.result = None;
            // What one reviewer had before and did not look at, the next is shown; and an archive as any commit.
            let mut number = 0;
            for link in &mut begun.links {
                link.what = match link.what {
                    Part::Work(_, picks) => Part::Work(number, picks),
                    Part::Hand | Part::Archive => Part::Work(number, true),
                    Part::Sync => continue,
                };
                number += 1;
            }
            facts.makers = self.facts[below].makers.clone();
        } else {
            begun.head = begun.base.clone();
        }
        if self.ground.start(&begun.head).is_none() {
            return;
        }
        self.tell(format!(
            "session {} on {} about {branch}",
            self.sessions.len(),
            begun.head
        ));
        self.sessions.push(begun);
        self.facts.push(facts);
        let session = self.sessions.len() - 1;
        if dice.one_in(10) {
            // All that it does, it takes back.
            let by = dice.below(3) as u8;
            let head = self.sessions[session].head.clone();
            if self.sessions[session].links.is_empty() {
                let files = self.edit(dice, &head);
                let back: Vec<_> = files
                    .iter()
                    .map(|(path, _)| (path.clone(), self.ground.text(&head, path)))
                    .collect();
                self.add_work(session, &files, by);
                self.add_work(session, &back, by);
                self.facts[session].differs = false;
            }
        }
        self.work_on(session, dice);
    }

    fn open(&self) -> Vec<usize> {
        (0..self.sessions.len())
            .filter(|s| self.sessions[*s].reviewed.is_none())
            .collect()
    }

    fn add_work(&mut self, session: usize, files: &[(String, Option<File>)], by: u8) {
        let head = self.sessions[session].head.clone();
        let how = How {
            by,
            ..How::default()
        };
        let commit = self.ground.write(&[&head], files, how);
        self.link_work(session, commit, by, true);
    }

    fn link_work(&mut self, session: usize, commit: String, by: u8, picks: bool) {
        let number = self.sessions[session].work();
        self.link(session, commit.clone(), Part::Work(number, picks));
        if !self.facts[session].makers.contains(&by) {
            self.facts[session].makers.push(by);
        }
    }

    fn link(&mut self, session: usize, commit: String, what: Part) {
        self.tell(format!("session {session}: {what:?} {commit}"));
        let it = &mut self.sessions[session];
        it.head.clone_from(&commit);
        it.links.push(Link { commit, what });
    }

    pub(super) fn work(&mut self, dice: &mut Dice) {
        let open = self.open();
        if let Some(session) = dice.of(&open).copied() {
            self.work_on(session, dice);
        }
    }

    fn work_on(&mut self, session: usize, dice: &mut Dice) {
        if !self.facts[session].differs {
            return;
        }
        // A maker is left who can review it.
        let by = dice.below(2) as u8;
        let head = self.sessions[session].head.clone();
        let files = match dice.below(6) {
            // A revert of what landed lately: the files as they were.
            0 => self.as_it_was(session, dice),
            _ => self.edit(dice, &head),
        };
        let stays = |(path, file): &(String, Option<File>)| *file == self.ground.text(&head, path);
        if !files.is_empty() && !files.iter().any(stays) {
            self.add_work(session, &files, by);
        }
    }

    fn as_it_was(&mut self, session: usize, dice: &mut Dice) -> Vec<(String, Option<File>)> {
        let head = self.sessions[session].head.clone();
        let other: Vec<String> = self.sessions.iter().map(|s| s.base.clone()).collect();
        let Some(old) = dice.of(&other) else {
            return Vec::new();
        };
        if !self.ground.has(&head, old) {
            return Vec::new();
        }
        let paths = self.ground.changed(old, &head);
        paths
            .into_iter()
            .map(|path| (path.clone(), self.ground.text(old, &path)))
            .collect()
    }

    /// Takes the target in: with a hand before the review, clean behind it.
    pub(super) fn sync(&mut self, dice: &mut Dice) {
        let all: Vec<usize> = (0..self.sessions.len()).collect();
        let Some(session) = dice.of(&all).copied() else {
            return;
        };
        let tip = self.tips[self.facts[session].branch].clone();
        let it = &self.sessions[session];
        let head = it.head.clone();
        if self.ground.has(&head, &tip) {
            return;
        }
        let parents = if dice.one_in(3) && it.reviewed.is_some() {
            [tip.as_str(), head.as_str()]
        } else {
            [head.as_str(), tip.as_str()]
        };
        if let Some(clean) = self.ground.merge([&head, &tip], &parents, None) {
            self.link(session, clean, Part::Sync);
            self.sessions[session].with = tip;
        } else if it.reviewed.is_none() {
            let text = self.text();
            // The first of them resolves conflicts.
            let by = 0;
            if let Some(made) = self
                .ground
                .merge([&head, &tip], &[&head, &tip], Some(&text))
            {
                self.link_work(session, made, by, false);
                self.sessions[session].with = tip;
            }
        }
    }

    pub(super) fn review(&mut self, dice: &mut Dice) {
        let open = self.open();
        let Some(session) = dice.of(&open).copied() else {
            return;
        };
        let it = self.sessions[session].clone();
        let branch = self.facts[session].branch;
        // What the branch has needs no review.
        if it.work() == 0 || self.ground.has(&self.tips[branch], &it.head) {
            return;
        }
        self.facts[session].differs = !self.ground.changed(&it.with, &it.head).is_empty();
        let mut seen = self.tips[branch].clone();
        let mut by = dice.below(6).min(2) as u8;
        let mut unseen: Option<Vec<Link>> = None;
        if dice.one_in(12)
            && it.links[0].what == Part::Work(0, true)
            && it.work() > 1
            && !self.is_shared(session)
            && self.needs_review(&it.base, &it.links[0].commit)
        {
            by = 2;
            // The reviewer's own copy of the target is ahead: its first commit is shown to nobody.
            seen.clone_from(&it.links[0].commit);
            let shifted = it.links.iter().enumerate().map(|(at, link)| Link {
                commit: link.commit.clone(),
                what: match link.what {
                    _ if at == 0 => Part::Hand,
                    Part::Work(number, picks) => Part::Work(number - 1, picks),
                    other => other,
                },
            });
            unseen = Some(shifted.collect());
        }
        let approves = !dice.one_in(8);
        let review = Review {
            session,
            branch,
            head: &it.head,
            seen: &seen,
            by,
            approves,
            differs: self.facts[session].differs,
            independent: !self.facts[session].makers.contains(&by),
        };
        let taken = self.ground.review(&review);
        self.tell(format!(
            "session {session}: {by} reviews {} from {seen}, approves {approves}, taken {taken}",
            it.head
        ));
        if !taken {
            return;
        }
        if let Some(links) = unseen {
            self.sessions[session].links = links;
        }
        self.sessions[session].reviewed = Some(it.head.clone());
        self.sessions[session].had.clone_from(&it.with);
        self.facts[session].shown = self.sessions[session].work();
        self.facts[session].verdict = Some((by, approves));
        for session in 0..self.sessions.len() {
            let below = (0..self.sessions.len()).filter(|other| *other != session);
            self.facts[session].below = below.filter_map(|s| self.stands_on(session, s)).collect();
            let below = (0..self.sessions.len()).filter(|other| *other != session);
            self.facts[session].archives = below
                .filter_map(|s| self.has_archive_of(session, s))
                .collect();
        }
    }

    /// Finds the end of another session that this session has, and whether what the other one did is still there.
    fn stands_on(&self, session: usize, other: usize) -> Option<Below> {
        let (it, lower) = (&self.sessions[session], &self.sessions[other]);
        let reviewed = lower.reviewed.as_ref()?;
        let is_work = |link: &&Link| matches!(link.what, Part::Work(..));
        let at = |link: &Link| it.links.iter().position(|own| own.commit == link.commit);
        let mut last = 0;
        for link in lower.links.iter().filter(is_work) {
            last = last.max(at(link)? + 1);
        }
        let upto = it.links[..last].iter().filter(is_work).count();
        let stays =
            |path: &String| self.ground.text(reviewed, path) == self.ground.text(&it.head, path);
        let stays = self.ground.changed(&lower.had, reviewed).iter().all(stays);
        Some(Below {
            session: other,
            upto,
            stays,
        })
    }

    /// Finds the archive of another session on this session's branch.
    fn has_archive_of(&self, session: usize, other: usize) -> Option<Below> {
        let it = &self.sessions[session];
        let result = self.sessions[other].result.as_ref()?;
        let at = it.links.iter().position(|link| link.commit == *result)?;
        let Part::Work(number, _) = it.links[at].what else {
            return None;
        };
        let stays =
            |path: &String| self.ground.text(result, path) == self.ground.text(&it.head, path);
        let stays = self
            .ground
            .changed(&format!("{result}^"), result)
            .iter()
            .all(stays);
        Some(Below {
            session: other,
            upto: number + 1,
            stays,
        })
    }

    /// Tells whether a commit has more than documents.
    pub(super) fn needs_review(&self, parent: &str, commit: &str) -> bool {
        let file = |commit: &str, path: &str| self.ground.text(commit, path);
        let free = |path: &String| {
            let (old, new) = (file(parent, path), file(commit, path));
            kind(path, old.as_ref(), new.as_ref()) == Kind::Document
        };
        !self.ground.changed(parent, commit).iter().all(free)
    }

    pub(super) fn has_landed(&self, session: usize) -> bool {
        self.model.has_landed(&self.facts, session)
    }

    pub(super) fn approved(&self, branch: usize) -> Vec<usize> {
        let may = |s: &usize| {
            let facts = &self.facts[*s];
            facts.branch == branch
                && facts.differs
                && facts
                    .verdict
                    .is_some_and(|(by, yes)| yes && !facts.makers.contains(&by))
        };
        (0..self.sessions.len()).filter(may).collect()
    }

    pub(super) fn archive(&mut self, dice: &mut Dice) {
        let branch = usize::from(dice.one_in(4));
        let may: Vec<usize> = self
            .approved(branch)
            .into_iter()
            .filter(|s| self.sessions[*s].result.is_none())
            .collect();
        let Some(session) = dice.of(&may).copied() else {
            return;
        };
        let head = self.sessions[session].head.clone();
        if let Some(result) = self.ground.archive(session, &head) {
            self.sessions[session].result = Some(result.clone());
            self.facts[session].archived = true;
            self.link(session, result, Part::Archive);
        }
    }
}
