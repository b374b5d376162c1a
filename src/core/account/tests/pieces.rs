//! The pieces of a push: ways to land that are honest, and what somebody may try besides.

use super::histories::{CODE, DOCUMENTS, GUARDED, RELEASE};
use super::histories::{Dice, Draft, File, Ground, History, How, Link, Part};
use super::model::{Kind, Made};
use std::collections::BTreeSet;

type Name = Option<&'static str>;

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

    fn work_of(session: usize, from: usize, upto: usize) -> Made {
        Made::Work {
            session,
            from,
            upto,
        }
    }

    /// The commits of a session's branch that the draft lacks, as they are.
    fn along(&mut self, draft: &mut Draft, session: usize, links: &[Link]) {
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

    /// How many commits of a session the draft has brought.
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

    /// What a squash up to the reviewed commit, or the archive behind it, has.
    fn squash_of(
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
    fn picks(&mut self, draft: &mut Draft, session: usize, without: Option<usize>) -> Option<()> {
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

    fn hand(&mut self, draft: &mut Draft, files: &[(String, Option<File>)], how: How) {
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
        self.enter(draft, &commit, false, |path| match more.contains(path) {
            true => Made::Hand,
            false => whole,
        });
        if more.iter().any(|path| !changed.contains(path)) {
            // Something of the session was left as it is on the branch.
            Self::besides(draft);
        }
        Some("squash and more")
    }

    /// Somebody changed what the last commit of the draft has.
    fn besides(draft: &mut Draft) {
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

    /// Whether a commit has what landing some session here gives, or begins to: bytes are what lands, whoever made
    /// them.
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

    /// What has landed, once more.
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
        if dice.below(2) == 0 {
            let merge = self
                .ground
                .merge([&tip, &it.head], &[&tip, &it.head], None)?;
            self.along(draft, session, &it.links);
            self.enter(draft, &merge, false, |_| Made::Side);
        } else {
            let made = self.ground.merge([&tip, &it.head], &[&tip], None)?;
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

    /// Whether another verdict answers for commits of this session.
    pub(super) fn is_shown_by_another(&self, branch: usize, session: usize) -> bool {
        let links = &self.sessions[session].links;
        let others = self.approved(branch).into_iter().filter(|s| *s != session);
        let mut others = others.flat_map(|s| &self.sessions[s].links);
        others.any(|other| links.iter().any(|link| link.commit == other.commit))
    }

    /// Whether another session has commits of this one.
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

    /// Something on top of the reviewed branch, which then goes forward or is merged.
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
        let merge = match forward {
            true => None,
            false => Some(self.ground.merge([&tip, &end], &[&tip, &end], None)?),
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
            match more.iter().any(|m| m == path) {
                true => Made::Hand,
                false => Made::Pick(number),
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

    /// Another mode of what is there, in a squash or by itself.
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

    /// Not all of a reviewed branch.
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
