//! Model of what may land, told from how each change came to be.
//!
//! The model reads no tree and follows no step of the account. Whoever makes a history knows how each path of each
//! commit came to be, hands that knowledge over as an [`Entry`] for each commit of a push, and the model says whether
//! the push may land. It was written from docs/landing.md alone, before the account was read.

/// Origin of one path of one commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Made {
    /// The work of a session, merged without a conflict and without a hand: all that its commits after `from`
    /// and up to `upto` made, where the branch has those before.
    Work {
        session: usize,
        from: usize,
        upto: usize,
    },
    /// Bytes that the archive of a session wrote.
    Archive(usize),
    /// Bytes that taking the archive of a session back wrote.
    Undo(usize),
    /// A clean pick onto the other branch of the entry with this number.
    Pick(usize),
    /// Change that the other side of a merge brings, which has entries of its own.
    Side,
    /// Text that somebody wrote, or a change of somebody's to what came in another way.
    Hand,
}

/// Sort of the path that a change is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Code,
    /// Plain file in `always_allow` whose mode stays.
    Document,
    /// Plain file whose mode stays, among the paths of the exception.
    Release,
    /// A rule, a signer, a spec: no pattern and no key lets it pass.
    Guarded,
}

/// Commit of a push; parents come before their children.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub number: usize,
    pub changes: Vec<(Kind, Made)>,
    /// Set when the exception's key signed the commit.
    pub signed: bool,
}

/// Facts of one session at the time of a push.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    /// The branch that the review was about.
    pub branch: usize,
    /// People who made a commit of the session.
    pub(crate) makers: Vec<u8>,
    /// Giver of the last verdict, and mark of an approval.
    pub verdict: Option<(u8, bool)>,
    /// Number of commits that the reviewer was shown; `differs`: a file differs through them.
    pub shown: usize,
    pub differs: bool,
    pub archived: bool,
    pub(crate) unarchived: bool,
    pub below: Vec<Below>,
    /// The sessions whose archives are among those commits.
    pub archives: Vec<Below>,
}

/// A session of which another one has all reviewed commits, or the archive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Below {
    pub session: usize,
    /// Number of commits that the other session has up to the last one of this session.
    pub(crate) upto: usize,
    /// Set when the other session leaves all that this session did.
    pub stays: bool,
}

type Answer = Result<(), &'static str>;

const PART: &str = "a part of what was reviewed was reviewed by nobody";

/// Landings so far, on two branches of which the second takes backports of the first.
#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    /// Sessions whose commits landed, from which commit to which.
    landed: Vec<(usize, usize, usize)>,
    archives: Vec<Made>,
    picked: Vec<usize>,
    accounted: [Vec<usize>; 2],
}

impl Model {
    /// Tells whether all that was reviewed of a session has been there, by itself or with another session's.
    pub(super) fn has_landed(&self, all: &[Facts], session: usize) -> bool {
        let mut landed = self.landed.iter();
        let is_whole = landed.any(|(of, _, upto)| *of == session && *upto == all[session].shown);
        is_whole || self.came_with(all, session, |facts| &facts.below)
    }

    /// Tells whether the archive of a session has been there.
    pub(crate) fn has_archive(&self, all: &[Facts], session: usize) -> bool {
        self.archives.contains(&Made::Archive(session))
            || self.came_with(all, session, |facts| &facts.archives)
    }

    /// Tells whether a session came with an upper one: one commit of both has not what the upper one took back.
    fn came_with(&self, all: &[Facts], session: usize, of: fn(&Facts) -> &Vec<Below>) -> bool {
        self.landed.iter().any(|(upper, from, upto)| {
            of(&all[*upper]).iter().any(|below| {
                let is_between = *from < below.upto && below.upto < *upto && below.stays;
                below.session == session && (below.upto == *upto || is_between)
            })
        })
    }

    pub(crate) fn has_picked(&self, entry: usize) -> bool {
        self.picked.contains(&entry)
    }

    /// The entries that landed on a branch.
    pub(super) fn accounted(&self, branch: usize) -> &[usize] {
        &self.accounted[branch]
    }

    /// Lands the push and says nothing, or says why it may not land and stays as it was.
    pub(super) fn push(&mut self, branch: usize, all: &[Facts], push: &[Entry]) -> Answer {
        let mut then = self.clone();
        // Of each session, how many of its commits have come by now.
        let mut come = vec![0; all.len()];
        let mut needs = vec![false; all.len()];
        for entry in push {
            let free = |(kind, made): &(Kind, Made)| {
                *made != Made::Side
                    && (*kind == Kind::Document || entry.signed && *kind == Kind::Release)
            };
            let needs_no_review = entry.changes.iter().all(free);
            let is_whole = |(_, made): &(Kind, Made)| matches!(made, Made::Work { session, from: 0, upto } if *upto == all[*session].shown);
            // A document behind what was reviewed comes along where that lands as one commit.
            let is_squash = entry.changes.iter().any(is_whole);
            let mut reasons: Vec<Made> = Vec::new();
            for change in &entry.changes {
                let (_, made) = change;
                if is_squash && *change == (Kind::Document, Made::Hand) {
                    continue;
                }
                if !reasons.contains(made) {
                    reasons.push(*made);
                }
            }
            let one = match reasons.as_slice() {
                [] | [_] => true,
                [Made::Work { session, .. }, Made::Archive(of)]
                | [Made::Archive(of), Made::Work { session, .. }] => session == of,
                _ => false,
            };
            if !one && !needs_no_review {
                return Err("one commit has one reason");
            }
            for made in reasons {
                let answer = then.answer(branch, all, made, &mut come);
                if let (Made::Work { session, .. }, Ok(()), false) = (made, answer, needs_no_review)
                {
                    needs[session] = true;
                }
                if !needs_no_review {
                    answer?;
                }
            }
            then.accounted[branch].push(entry.number);
        }
        if (0..all.len()).any(|s| needs[s] && come[s] < all[s].shown) {
            return Err(PART);
        }
        *self = then;
        Ok(())
    }

    /// Checks that somebody or something answers for what was made so.
    fn answer(&mut self, branch: usize, all: &[Facts], made: Made, come: &mut [usize]) -> Answer {
        match made {
            Made::Work {
                session,
                from,
                upto,
            } => {
                self.reviewed(branch, all, session, upto)?;
                if from != come[session] {
                    return Err(PART);
                }
                come[session] = upto;
                self.landed.push((session, from, upto));
            }
            Made::Archive(session) | Made::Undo(session) => {
                let facts = &all[session];
                if facts.branch != branch {
                    return Err("the review was about another branch");
                }
                let recorded =
                    facts.archived && (facts.unarchived || made == Made::Archive(session));
                let was_there = match made {
                    Made::Archive(_) => self.has_archive(all, session),
                    _ => self.archives.contains(&made),
                };
                if !recorded || was_there {
                    return Err("no such result was recorded, or it was there before");
                }
                self.archives.push(made);
            }
            Made::Pick(of) => {
                if branch != 1 || !self.accounted[0].contains(&of) || self.picked.contains(&of) {
                    return Err("a pick of what the other branch does not have, or picked before");
                }
                self.picked.push(of);
            }
            Made::Side => {}
            Made::Hand => return Err("nobody answers for it"),
        }
        Ok(())
    }

    fn reviewed(&self, branch: usize, all: &[Facts], session: usize, upto: usize) -> Answer {
        let facts = &all[session];
        match facts.verdict {
            None => Err("nobody reviewed it"),
            Some((_, false)) => Err("changes were requested"),
            Some((by, true)) if facts.makers.contains(&by) => Err("the reviewer took part"),
            Some(_) if facts.branch != branch => Err("the review was about another branch"),
            Some(_) if upto > facts.shown => Err("made after the review"),
            Some(_) if !facts.differs => Err("an empty review approves no code"),
            Some(_) if self.has_landed(all, session) => Err("it landed before"),
            Some(_) => Ok(()),
        }
    }
}
