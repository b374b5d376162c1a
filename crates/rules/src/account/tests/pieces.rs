//! The pieces of a push that are honest: the ways to land.

use super::histories::{DOCUMENTS, RELEASE};
use super::histories::{Dice, Draft, File, Ground, History, How, Link, Part};
use super::model::{Kind, Made};

pub(super) type Name = Option<&'static str>;

impl<G: Ground> History<'_, G> {
    pub(super) fn honest(&mut self, dice: &mut Dice, draft: &mut Draft) -> Name {
        match dice.below(22) {
            0..=2 => self.forward(dice, draft),
            3..=5 => self.joined(dice, draft),
            6..=8 => self.squashed(dice, draft),
            9..=11 => self.picked(dice, draft),
            12..=13 => self.apart(dice, draft),
            14..=16 => self.result(dice, draft),
            17..=19 => self.backported(dice, draft),
            20 => self.released(dice, draft),
            _ => self.document(dice, draft),
        }
    }

    pub(super) fn work_of(session: usize, from: usize, upto: usize) -> Made {
        Made::Work {
            session,
            from,
            upto,
        }
    }

    /// The commits of a session's branch that the draft lacks, as they are.
    pub(super) fn along(&mut self, draft: &mut Draft, session: usize, links: &[Link]) {
        let at = draft.tip.clone();
        let mut parent = self.sessions[session].base.clone();
        for Link { commit, what } in links {
            if self.ground.has(&at, commit) {
                parent.clone_from(commit);
                continue;
            }
            let made = match what {
                Part::Work(number, _) => {
                    Self::work_of(session, self.come(draft, session), number + 1)
                }
                Part::Archive => Made::Archive(session),
                Part::Sync => Made::Side,
                Part::Hand => Made::Hand,
            };
            self.enter_from(draft, &parent, commit, false, |_| made);
            if let (Part::Sync, Some(entry)) = (what, draft.entries.last_mut()) {
                entry.changes.clear();
            }
            parent.clone_from(commit);
        }
    }

    /// Number of commits of a session that the draft has brought.
    fn come(&self, draft: &Draft, session: usize) -> usize {
        let all = draft.entries.iter().flat_map(|entry| &entry.changes);
        let of = |(_, made): &(_, Made)| match made {
            Made::Work {
                session: s, upto, ..
            } if *s == session => Some(*upto),
            _ => None,
        };
        all.filter_map(of).max().unwrap_or(0)
    }

    fn forward(&mut self, dice: &mut Dice, draft: &mut Draft) -> Name {
        let session = self.landable(dice, draft)?;
        let it = self.sessions[session].clone();
        if !self.ground.has(&it.head, &draft.tip) {
            return None;
        }
        self.along(draft, session, &it.links);
        draft.tip = it.head;
        Some("forward")
    }

    fn joined(&mut self, dice: &mut Dice, draft: &mut Draft) -> Name {
        let session = self.landable(dice, draft)?;
        let it = self.sessions[session].clone();
        let tip = draft.tip.clone();
        let merge = self
            .ground
            .merge([&tip, &it.head], &[&tip, &it.head], None)?;
        if self.ground.changed(&tip, &merge).is_empty() {
            return None;
        }
        self.along(draft, session, &it.links);
        self.enter(draft, &merge, false, |_| Made::Side);
        Some("merge")
    }

    /// Squash up to the reviewed commit, or the archive behind it, and the paths that the archive changed.
    pub(super) fn squash_of(
        &mut self,
        session: usize,
        onto: &str,
        parents: &[&str],
    ) -> Option<(String, Vec<String>)> {
        let it = self.sessions[session].clone();
        let mut end = it.reviewed.clone()?;
        let mut archived = Vec::new();
        let mut before = end.clone();
        let mut behind = false;
        for Link { commit, what } in &it.links {
            match what {
                Part::Archive => {
                    archived = self.ground.changed(&before, commit);
                    end.clone_from(commit);
                }
                Part::Sync if behind => end.clone_from(commit),
                _ => {}
            }
            behind |= Some(commit) == it.reviewed.as_ref();
            before.clone_from(commit);
        }
        let made = self.ground.merge([onto, &end], parents, None)?;
        Some((made, archived))
    }

    fn squash(&mut self, draft: &mut Draft, session: usize) -> Option<()> {
        let tip = draft.tip.clone();
        let (squash, archived) = self.squash_of(session, &tip, &[&tip])?;
        self.enter_squash(draft, session, &squash, &archived);
        Some(())
    }

    fn enter_squash(
        &mut self,
        draft: &mut Draft,
        session: usize,
        squash: &str,
        archived: &[String],
    ) {
        let whole = Self::work_of(session, 0, self.facts[session].shown);
        let it = &self.sessions[session];
        let unseen = match it.links.first() {
            Some(Link {
                commit,
                what: Part::Hand,
            }) => self.ground.changed(&it.base, commit),
            _ => Vec::new(),
        };
        let is_in = |all: &[String], path: &str| all.iter().any(|one| one == path);
        self.enter(draft, squash, false, |path| match path {
            _ if is_in(archived, path) => Made::Archive(session),
            _ if is_in(&unseen, path) => Made::Hand,
            _ => whole,
        });
        let needs = draft.entries.last().is_some_and(|entry| {
            entry
                .changes
                .iter()
                .any(|(kind, _)| *kind != Kind::Document)
        });
        if !unseen.is_empty() && needs {
            Self::besides(draft);
        }
    }

    fn squashed(&mut self, dice: &mut Dice, draft: &mut Draft) -> Name {
        let session = self.landable(dice, draft)?;
        self.squash(draft, session)?;
        Some("squash")
    }

    /// The squash is made where the session left the branch, and merged.
    fn apart(&mut self, dice: &mut Dice, draft: &mut Draft) -> Name {
        let session = self.landable(dice, draft)?;
        let it = &self.sessions[session];
        let tip = draft.tip.clone();
        let known = it.links.iter().map(|link| &link.commit);
        let base = known.rev().find(|commit| self.ground.has(&tip, commit));
        // Where it took the branch in behind the review, it is made on that.
        let base = base.filter(|base| it.had == it.with && !self.ground.has(&it.with, base));
        let base = base.unwrap_or(&it.with).clone();
        if !self.ground.has(&tip, &base) || base == tip {
            return None;
        }
        let (squash, archived) = self.squash_of(session, &base, &[&base])?;
        if self.ground.changed(&base, &squash).is_empty() {
            return None;
        }
        let merge = self.ground.merge([&tip, &squash], &[&tip, &squash], None)?;
        draft.tip = base;
        self.enter_squash(draft, session, &squash, &archived);
        draft.tip = tip;
        self.enter(draft, &merge, false, |_| Made::Side);
        Some("squash and merge")
    }

    fn picked(&mut self, dice: &mut Dice, draft: &mut Draft) -> Name {
        let session = self.landable(dice, draft)?;
        self.picks(draft, session, None)?;
        Some("rebase")
    }

    /// Picks every commit, without those that change nothing any more, and without one that is left out.
    pub(super) fn picks(
        &mut self,
        draft: &mut Draft,
        session: usize,
        without: Option<usize>,
    ) -> Option<()> {
        let it = self.sessions[session].clone();
        let start = draft.tip.clone();
        let mut made: Vec<(String, Made)> = Vec::new();
        let mut at = start.clone();
        let mut have = 0;
        let mut end = it.reviewed.clone()?;
        for Link { commit, what } in &it.links {
            let label = match *what {
                Part::Sync => continue,
                _ if self.ground.has(&start, commit) => continue,
                Part::Hand | Part::Work(_, false) => return None,
                Part::Work(number, _) if without == Some(number) => {
                    have = number + 1;
                    continue;
                }
                Part::Work(number, _) => Self::work_of(session, have, number + 1),
                Part::Archive => {
                    end.clone_from(commit);
                    Made::Archive(session)
                }
            };
            let next = self.ground.pick(commit, &at)?;
            if !self.ground.changed(&at, &next).is_empty() {
                made.push((next.clone(), label));
                at = next;
                if let Part::Work(number, _) = what {
                    have = number + 1;
                }
            }
        }
        // Where a merge in between mattered, this is no rebase that a forge would make.
        let whole = self.ground.merge([&start, &end], &[&start], None)?;
        if self.ground.changed(&whole, &at).is_empty() != without.is_none() {
            return None;
        }
        let shown = self.facts[session].shown;
        let mut labels = made.iter_mut().rev().map(|(_, label)| label);
        // What is left out at the end changed nothing.
        if let (Some(Made::Work { upto, .. }), None) = (
            labels.find(|label| matches!(label, Made::Work { .. })),
            without,
        ) {
            *upto = shown;
        }
        for (commit, label) in made {
            self.enter(draft, &commit, false, |_| label);
        }
        Some(())
    }

    /// The archive of what has landed, or its undo.
    fn result(&mut self, dice: &mut Dice, draft: &mut Draft) -> Name {
        let all: Vec<usize> = (0..self.sessions.len())
            .filter(|s| self.sessions[*s].result.is_some() && self.facts[*s].branch == draft.branch)
            .collect();
        let session = *dice.of(&all)?;
        let result = self.sessions[session].result.clone()?;
        let tip = draft.tip.clone();
        if !self.model.has_archive(&self.facts, session) {
            let pick = self.ground.pick(&result, &tip)?;
            self.enter(draft, &pick, false, |_| Made::Archive(session));
            return Some("archive");
        }
        if self.facts[session].unarchived {
            return None;
        }
        let undo = self.ground.unarchive(session, &result, &tip)?;
        self.facts[session].unarchived = true;
        self.enter(draft, &undo, false, |_| Made::Undo(session));
        Some("archive --undo")
    }

    pub(super) fn hand(&mut self, draft: &mut Draft, files: &[(String, Option<File>)], how: How) {
        let tip = draft.tip.clone();
        let commit = self.ground.write(&[&tip], files, how);
        self.enter(draft, &commit, how.signed, |_| Made::Hand);
    }

    fn released(&mut self, dice: &mut Dice, draft: &mut Draft) -> Name {
        let mut files = vec![(RELEASE.to_owned(), Some(self.text()))];
        if dice.one_in(3) {
            files.push((DOCUMENTS[0].to_owned(), Some(self.text())));
        }
        let how = How {
            by: 2,
            signed: true,
            claims: None,
        };
        self.hand(draft, &files, how);
        Some("exception")
    }

    fn document(&mut self, dice: &mut Dice, draft: &mut Draft) -> Name {
        let mut files = Vec::new();
        for _ in 0..dice.below(3) {
            let path = DOCUMENTS[dice.below(DOCUMENTS.len())];
            files.push((path.to_owned(), Some(self.text())));
        }
        let how = How {
            by: dice.below(3) as u8,
            ..How::default()
        };
        self.hand(draft, &files, how);
        Some("document")
    }

    fn backported(&mut self, dice: &mut Dice, draft: &mut Draft) -> Name {
        if draft.branch != 1 {
            return None;
        }
        let there = self.model.accounted(0).to_vec();
        let may: Vec<usize> = there
            .into_iter()
            .filter(|n| !self.model.has_picked(*n))
            .collect();
        let number = *dice.of(&may)?;
        let commit = self.commits[number].clone()?;
        let tip = draft.tip.clone();
        let pick = self.ground.pick(&commit, &tip)?;
        if self.ground.changed(&tip, &pick).is_empty() {
            return None;
        }
        self.enter(draft, &pick, false, |_| Made::Pick(number));
        Some("backport")
    }
}
