//! The pieces of a push that are not honest: what somebody may try.

use super::histories::{CODE, DOCUMENTS, GUARDED, RELEASE};
use super::histories::{Dice, Draft, Ground, History, How, Link, Part};
use super::model::{Kind, Made};
use super::pieces::Name;
use std::collections::BTreeSet;

impl<G: Ground> History<'_, G> {
    pub(super) fn dishonest(&mut self, dice: &mut Dice, draft: &mut Draft) -> Name {
        match dice.below(32) {
            0..=3 => self.more(dice, draft),
            4 => self.evil(dice, draft),
            5 => self.evil_and_back(dice, draft),
            6 => self.old_tree(dice, draft),
            7..=10 => self.again(dice, draft),
            11..=13 => self.evil_merge(dice, draft),
            14..=15 => self.unreviewed(dice, draft),
            16..=18 => self.left_out(dice, draft),
            19..=20 => self.by_forge(dice, draft),
            21..=22 => self.behind(dice, draft),
            23..=24 => self.other_results(dice, draft),
            25..=26 => self.foreign_pick(dice, draft),
            27 => self.key_too_far(dice, draft),
            28 => self.mode(dice, draft),
            29 => self.orphan(dice, draft),
            _ => self.prefix(dice, draft),
        }
    }

    fn claim(&self, dice: &mut Dice) -> How {
        let claims = match self.sessions.len() {
            0 => None,
            len => Some(dice.below(len)).filter(|_| dice.below(2) == 0),
        };
        How {
            by: dice.below(3) as u8,
            signed: false,
            claims,
        }
    }

    /// A squash with something besides.
    fn more(&mut self, dice: &mut Dice, draft: &mut Draft) -> Name {
        let session = self.landable(dice, draft)?;
        let tip = draft.tip.clone();
        let (squash, _) = self.squash_of(session, &tip, &[&tip])?;
        let files = self.edit(dice, &squash);
        let how = self.claim(dice);
        let made = self.ground.write(&[&squash], &files, how);
        let more: BTreeSet<String> = self.ground.changed(&squash, &made).into_iter().collect();
        let commit = self.ground.copy(&tip, &made);
        let whole = Self::work_of(session, 0, self.facts[session].shown);
        let changed = self.ground.changed(&tip, &commit);
        if changed
            .iter()
            .all(|path| DOCUMENTS.contains(&path.as_str()))
        {
            return None;
        }
        self.enter(draft, &commit, false, |path| {
            if more.contains(path) {
                Made::Hand
            } else {
                whole
            }
        });
        if more.iter().any(|path| !changed.contains(path)) {
            // Something of the session was left as it is on the branch.
            Self::besides(draft);
        }
        Some("squash and more")
    }

    /// Adds a change of somebody's hand to what the last commit of the draft has.
    pub(super) fn besides(draft: &mut Draft) {
        if let Some(entry) = draft.entries.last_mut() {
            entry.changes.push((Kind::Code, Made::Hand));
        }
    }

    fn evil(&mut self, dice: &mut Dice, draft: &mut Draft) -> Name {
        let tip = draft.tip.clone();
        let files = self.edit(dice, &tip);
        let how = self.claim(dice);
        self.hand(draft, &files, how);
        Some("by hand")
    }

    fn evil_and_back(&mut self, dice: &mut Dice, draft: &mut Draft) -> Name {
        let tip = draft.tip.clone();
        let files = self.edit(dice, &tip);
        let back: Vec<_> = files
            .iter()
            .map(|(path, _)| (path.clone(), self.ground.text(&tip, path)))
            .collect();
        let how = self.claim(dice);
        self.hand(draft, &files, how);
        if dice.below(2) == 0 {
            self.honest(dice, draft);
        }
        self.hand(draft, &back, how);
        Some("taken back")
    }

    /// A reviewed tree as it was, or a tree that the branch had.
    fn old_tree(&mut self, dice: &mut Dice, draft: &mut Draft) -> Name {
        let mut all: Vec<String> = self.sessions.iter().map(|s| s.base.clone()).collect();
        all.extend(self.sessions.iter().filter_map(|s| s.reviewed.clone()));
        let old = dice.of(&all)?.clone();
        let tip = draft.tip.clone();
        let commit = self.ground.copy(&tip, &old);
        if self.is_some_landing(draft, &commit) {
            return None;
        }
        self.enter(draft, &commit, false, |_| Made::Hand);
        Some("old tree")
    }

    /// Tells whether a commit has what landing some session here gives, or begins to: bytes are what lands, whoever
    /// made them.
    fn is_some_landing(&mut self, draft: &Draft, commit: &str) -> bool {
        let tip = draft.tip.clone();
        let may = self.approved(draft.branch).into_iter();
        let may: Vec<usize> = may.filter(|s| !self.has_landed(*s)).collect();
        let links = may.iter().flat_map(|s| self.sessions[*s].links.clone());
        for link in links.collect::<Vec<Link>>() {
            let merged = self.ground.merge([&tip, &link.commit], &[&tip], None);
            if merged.is_some_and(|merged| self.ground.changed(&merged, commit).is_empty()) {
                return true;
            }
        }
        false
    }

    /// Brings a session that has landed once more.
    fn again(&mut self, dice: &mut Dice, draft: &mut Draft) -> Name {
        let landed: Vec<usize> = (0..self.sessions.len())
            .filter(|s| self.has_landed(*s) && self.facts[*s].branch == draft.branch)
            .collect();
        let session = *dice.of(&landed)?;
        let tip = draft.tip.clone();
        let shown = self.facts[session].shown;
        if dice.below(2) == 0 {
            self.picks(draft, session, None)?;
            return Some("picked again");
        }
        let head = self.sessions[session].reviewed.clone()?;
        let base = self.sessions[session].base.clone();
        // As a patch: what it changed, wherever the branch still has what was there before.
        let patch = self.ground.copy(&base, &head);
        let made = self.ground.pick(&patch, &tip)?;
        if self.ground.changed(&tip, &made).is_empty() {
            return None;
        }
        self.enter(draft, &made, false, |_| Self::work_of(session, 0, shown));
        Some("landed again")
    }

    /// A merge of a reviewed branch that adds something, or leaves all out.
    fn evil_merge(&mut self, dice: &mut Dice, draft: &mut Draft) -> Name {
        let session = self.landable(dice, draft)?;
        let it = self.sessions[session].clone();
        let tip = draft.tip.clone();
        let parents = [tip.as_str(), it.head.as_str()];
        let clean = self.ground.merge([&tip, &it.head], &parents, None)?;
        let made = if dice.below(3) == 0 {
            let ours = self.ground.write(&parents, &[], How::default());
            if self.ground.changed(&clean, &ours).is_empty() {
                return None;
            }
            ours
        } else {
            let files = self.edit(dice, &clean);
            let edited = self.ground.write(&[&clean], &files, How::default());
            let files = self.ground.changed(&tip, &edited).into_iter();
            let files: Vec<_> = files
                .map(|path| (path.clone(), self.ground.text(&edited, &path)))
                .collect();
            self.ground.write(&parents, &files, How::default())
        };
        self.along(draft, session, &it.links);
        self.enter(draft, &made, false, |_| Made::Side);
        Self::besides(draft);
        Some("evil merge")
    }

    /// A session without its approval, in any shape.
    fn unreviewed(&mut self, dice: &mut Dice, draft: &mut Draft) -> Name {
        let session = dice.below(self.sessions.len().max(1));
        let it = self.sessions.get(session)?.clone();
        let tip = draft.tip.clone();
        if self.approved(draft.branch).contains(&session)
            || it.work() == 0
            || self.ground.has(&tip, &it.head)
        {
            return None;
        }
        if !self.needs_review(&it.base, &it.head) {
            return None;
        }
        if self.is_shown_by_another(draft.branch, session) {
            return None;
        }
        if !self.ground.has(&tip, &it.with)
            || draft.branch == 1 && self.ground.has(&self.tips[0], &it.links[0].commit)
        {
            // What the first branch has comes to the second by a merge.
            return None;
        }
        let made = self.ground.merge([&tip, &it.head], &[&tip], None)?;
        if self.is_some_landing(draft, &made) {
            return None;
        }
        if dice.below(2) == 0 {
            let merge = self
                .ground
                .merge([&tip, &it.head], &[&tip, &it.head], None)?;
            self.along(draft, session, &it.links);
            self.enter(draft, &merge, false, |_| Made::Side);
        } else {
            let all = it.work();
            self.enter(draft, &made, false, |_| Self::work_of(session, 0, all));
        }
        Some("unreviewed")
    }

    /// A rebase without one of its commits.
    fn left_out(&mut self, dice: &mut Dice, draft: &mut Draft) -> Name {
        let session = self.landable(dice, draft)?;
        let all = self.sessions[session].work();
        if all < 2 || self.is_shown_by_another(draft.branch, session) {
            return None;
        }
        let without = dice.below(all);
        let commit = self.sessions[session]
            .links
            .iter()
            .find(|link| matches!(link.what, Part::Work(n, _) if n == without))?
            .commit
            .clone();
        let tip = draft.tip.clone();
        // It would change something here.
        let pick = self.ground.pick(&commit, &tip)?;
        if self.ground.changed(&tip, &pick).is_empty() {
            return None;
        }
        self.picks(draft, session, Some(without))?;
        Some("left out")
    }

    /// Tells whether another verdict answers for commits of this session.
    pub(super) fn is_shown_by_another(&self, branch: usize, session: usize) -> bool {
        let links = &self.sessions[session].links;
        let others = self.approved(branch).into_iter().filter(|s| *s != session);
        let mut others = others.flat_map(|s| &self.sessions[s].links);
        others.any(|other| links.iter().any(|link| link.commit == other.commit))
    }

    /// Tells whether another session has commits of this session.
    pub(super) fn is_shared(&self, session: usize) -> bool {
        let links = &self.sessions[session].links;
        let others = self
            .sessions
            .iter()
            .enumerate()
            .filter(|(at, _)| *at != session);
        others
            .flat_map(|(_, other)| &other.links)
            .any(|other| links.iter().any(|link| link.commit == other.commit))
    }

    /// A conflict that somebody resolves on the forge.
    fn by_forge(&mut self, dice: &mut Dice, draft: &mut Draft) -> Name {
        let session = self.landable(dice, draft)?;
        let it = self.sessions[session].clone();
        let tip = draft.tip.clone();
        if self.ground.merge([&tip, &it.head], &[&tip], None).is_some() {
            return None;
        }
        let text = self.text();
        if dice.below(2) == 0 {
            let made = self.ground.merge([&tip, &it.head], &[&tip], Some(&text))?;
            self.enter(draft, &made, false, |_| Made::Hand);
        } else {
            let made = self
                .ground
                .merge([&tip, &it.head], &[&tip, &it.head], Some(&text))?;
            self.along(draft, session, &it.links);
            self.enter(draft, &made, false, |_| Made::Side);
            Self::besides(draft);
        }
        Some("resolved on the forge")
    }

    /// Puts commits on top of the reviewed branch, which then goes forward or is merged.
    fn behind(&mut self, dice: &mut Dice, draft: &mut Draft) -> Name {
        let session = self.landable(dice, draft)?;
        let it = self.sessions[session].clone();
        let files = self.edit(dice, &it.head);
        let back: Vec<_> = files
            .iter()
            .map(|(path, _)| (path.clone(), self.ground.text(&it.head, path)))
            .collect();
        let how = self.claim(dice);
        let evil = self.ground.write(&[&it.head], &files, how);
        let end = match dice.below(2) {
            0 => evil.clone(),
            _ => self.ground.write(&[&evil], &back, how),
        };
        let tip = draft.tip.clone();
        let forward = self.ground.has(&it.head, &tip);
        let merge = if forward {
            None
        } else {
            Some(self.ground.merge([&tip, &end], &[&tip, &end], None)?)
        };
        self.along(draft, session, &it.links);
        self.enter_from(draft, &it.head, &evil, false, |_| Made::Hand);
        if end != evil {
            self.enter_from(draft, &evil, &end, false, |_| Made::Hand);
        }
        match merge {
            Some(merge) => self.enter(draft, &merge, false, |_| Made::Side),
            None => draft.tip = end,
        }
        Some("behind the review")
    }

    /// An archive with other bytes, or once more.
    fn other_results(&mut self, dice: &mut Dice, draft: &mut Draft) -> Name {
        let all: Vec<usize> = (0..self.sessions.len())
            .filter(|s| self.sessions[*s].result.is_some())
            .collect();
        let session = *dice.of(&all)?;
        let result = self.sessions[session].result.clone()?;
        let tip = draft.tip.clone();
        let pick = self.ground.pick(&result, &tip)?;
        if draft.branch == 1 && self.ground.has(&self.tips[0], &result) {
            // A backport, if anything.
            return None;
        }
        if self.model.has_archive(&self.facts, session)
            || self.facts[session].branch != draft.branch
        {
            if self.ground.changed(&tip, &pick).is_empty() {
                return None;
            }
            self.enter(draft, &pick, false, |_| Made::Archive(session));
            return Some("archive again or elsewhere");
        }
        let path = dice.of(&self.ground.changed(&tip, &pick))?.clone();
        let text = self.text();
        let how = self.claim(dice);
        let other = self.ground.write(&[&pick], &[(path, Some(text))], how);
        let commit = self.ground.copy(&tip, &other);
        self.enter(draft, &commit, false, |_| Made::Hand);
        Some("archive otherwise")
    }

    /// A pick onto the other branch of what has not landed, or with something besides, or twice.
    fn foreign_pick(&mut self, dice: &mut Dice, draft: &mut Draft) -> Name {
        let tip = draft.tip.clone();
        let there = self.model.accounted(0).to_vec();
        let number = *dice.of(&there)?;
        let commit = self.commits[number].clone()?;
        if draft.branch != 1 {
            return None;
        }
        let pick = self.ground.pick(&commit, &tip)?;
        if self.ground.changed(&tip, &pick).is_empty() {
            return None;
        }
        if self.model.has_picked(number) {
            self.enter(draft, &pick, false, |_| Made::Pick(number));
            return Some("backport again");
        }
        let files = self.edit(dice, &pick);
        let amended = self.ground.amend(&pick, &files);
        let more = self.ground.changed(&pick, &amended);
        let changed = self.ground.changed(&tip, &amended);
        if more.iter().any(|path| !changed.contains(path))
            || changed
                .iter()
                .all(|path| DOCUMENTS.contains(&path.as_str()))
        {
            return None;
        }
        self.enter(draft, &amended, false, |path| {
            if more.iter().any(|m| m == path) {
                Made::Hand
            } else {
                Made::Pick(number)
            }
        });
        Some("backport and more")
    }

    /// The exception's key on other paths, or its paths without the key.
    fn key_too_far(&mut self, dice: &mut Dice, draft: &mut Draft) -> Name {
        let (path, signed) = match dice.below(4) {
            0 => (RELEASE, false),
            1 => (GUARDED[dice.below(GUARDED.len())], true),
            2 => (CODE[dice.below(CODE.len())], true),
            _ => (RELEASE, true),
        };
        let text = self.text();
        let text = match (path, signed) {
            (RELEASE, true) => format!("x:{text}"),
            _ => text,
        };
        let tip = draft.tip.clone();
        if self
            .ground
            .text(&tip, path)
            .is_some_and(|old| old.starts_with("x:"))
        {
            return None;
        }
        let how = How {
            by: 2,
            signed,
            claims: None,
        };
        self.hand(draft, &[(path.to_owned(), Some(text))], how);
        Some("key too far")
    }

    /// Changes the mode of what is there, in a squash or by itself.
    fn mode(&mut self, dice: &mut Dice, draft: &mut Draft) -> Name {
        let session = self.landable(dice, draft);
        let tip = draft.tip.clone();
        let squash = match session {
            Some(session) => Some(self.squash_of(session, &tip, &[&tip])?.0),
            None => None,
        };
        let at = squash.unwrap_or_else(|| tip.clone());
        let path = (*dice.of(&[CODE[0], CODE[1], DOCUMENTS[0], DOCUMENTS[2]])?).to_owned();
        let old = self.ground.text(&at, &path)?;
        let new = match old.strip_prefix("x:") {
            Some(plain) => plain.to_owned(),
            None if old.starts_with("l:") => return None,
            None => format!("x:{old}"),
        };
        let made = self
            .ground
            .write(&[&at], &[(path, Some(new))], How::default());
        let commit = self.ground.copy(&tip, &made);
        self.enter(draft, &commit, false, |_| Made::Hand);
        Some("mode")
    }

    /// A history of its own, merged.
    fn orphan(&mut self, dice: &mut Dice, draft: &mut Draft) -> Name {
        let path = format!("src/orphan{}", dice.below(3));
        let text = self.text();
        let how = self.claim(dice);
        let root = self.ground.write(&[], &[(path.clone(), Some(text))], how);
        let tip = draft.tip.clone();
        let merge = self.ground.merge([&tip, &root], &[&tip, &root], None)?;
        self.enter(draft, &merge, false, |_| Made::Hand);
        Some("orphan")
    }

    /// Lands a part of a reviewed branch, and not all of it.
    fn prefix(&mut self, dice: &mut Dice, draft: &mut Draft) -> Name {
        let session = self.landable(dice, draft)?;
        let it = self.sessions[session].clone();
        let count = dice.below(it.links.len());
        let links = &it.links[..count];
        let end = links.last()?.commit.clone();
        if self.is_shown_by_another(draft.branch, session)
            || !self.ground.has(&end, &draft.tip)
            || end == draft.tip
        {
            return None;
        }
        let upto = links
            .iter()
            .filter(|link| matches!(link.what, Part::Work(..)))
            .count();
        if upto == 0 || upto >= self.facts[session].shown {
            return None;
        }
        self.along(draft, session, links);
        draft.tip = end;
        Some("prefix")
    }
}
