//! Random histories of three people: sessions that they work on and review, and pushes that are honest, or not.
//!
//! A history is made over a [`Ground`], which has the objects and takes or refuses a push. What is made here is
//! labelled here, and the model judges by the labels alone. Left out is what a rule of docs/landing.md decides by bytes
//! alone, since labels tell who made them: a session of which the branch has had all by somebody else's work, a tree that
//! is some approved session's by chance, commits of a session that another verdict shows as well, a merge of the branch
//! into what nobody reviewed, and an archive onto the branch that takes backports of it.

use super::model::{Entry, Facts, Kind, Made, Model};
use std::collections::BTreeMap;

/// Content of a tree at a path: a text; `x:` begins a text to execute, `l:` a link.
pub(super) type File = String;

/// The objects of a history, and the branch that takes pushes. A commit has a name.
pub(super) trait Ground {
    /// Commit where a branch begins.
    fn tip(&self, branch: usize) -> String;
    /// The files of the first parent with these written, or taken away.
    fn write(&mut self, parents: &[&str], files: &[(String, Option<File>)], how: How) -> String;
    /// A clean merge; where it conflicts, with this text in the conflict, or nothing.
    fn merge(&mut self, sides: [&str; 2], parents: &[&str], text: Option<&str>) -> Option<String>;
    /// A clean pick that says where it is from.
    fn pick(&mut self, commit: &str, onto: &str) -> Option<String>;
    /// Amends a commit with these files.
    fn amend(&mut self, commit: &str, files: &[(String, Option<File>)]) -> String;
    /// The tree of one commit on another one.
    fn copy(&mut self, parent: &str, tree_of: &str) -> String;
    fn text(&self, commit: &str, path: &str) -> Option<File>;
    /// The paths that differ.
    fn changed(&self, one: &str, other: &str) -> Vec<String>;
    fn has(&self, commit: &str, other: &str) -> bool;
    /// Starts the next session at a commit; nothing where there is no room for it.
    fn start(&mut self, at: &str) -> Option<()>;
    /// Gives a verdict, and tells whether the verdict was taken.
    fn review(&mut self, review: &Review<'_>) -> bool;
    /// Makes the archive on top of a commit and records it.
    fn archive(&mut self, session: usize, at: &str) -> Option<String>;
    /// Takes the archive back and makes the commit for that on top of a branch.
    fn unarchive(&mut self, session: usize, result: &str, at: &str) -> Option<String>;
    /// Tells whether a push is taken; if so, the branch has the commits.
    fn push(&mut self, branch: usize, new: &str) -> bool;
}

/// Person who makes a commit, mark of a signature by the exception's key, and session that the trailer claims.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct How {
    pub by: u8,
    pub signed: bool,
    pub claims: Option<usize>,
}

/// A verdict on a commit, by somebody who compares with `seen`.
pub(super) struct Review<'a> {
    pub session: usize,
    pub branch: usize,
    pub head: &'a str,
    pub seen: &'a str,
    pub by: u8,
    pub approves: bool,
    pub differs: bool,
    /// Set when the reviewer made nothing of the commits.
    pub independent: bool,
}

/// Numbers from a seed.
pub(super) struct Dice(pub(crate) u64);

impl Dice {
    pub(super) fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % most as u64).expect("a small number")
    }

    pub(super) fn one_in(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }

    pub(super) fn of<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        match all.len() {
            0 => None,
            len => all.get(self.below(len)),
        }
    }
}

/// A commit of a session's branch, beyond where it began.
#[derive(Clone, Debug)]
pub(super) struct Link {
    pub(super) commit: String,
    pub(super) what: Part,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Work, from 0; whether it can be picked.
    Work(usize, bool),
    /// A clean merge of the target.
    Sync,
    /// A document behind the review, or what the reviewer had before and nobody else.
    Hand,
    Archive,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Session {
    pub(super) links: Vec<Link>,
    pub(super) base: String,
    /// Commit of the target that the session took in last.
    pub(super) with: String,
    pub(super) head: String,
    pub(super) reviewed: Option<String>,
    /// Commit of the target that the session had taken in when it was reviewed.
    pub(super) had: String,
    pub(super) result: Option<String>,
}

impl Session {
    pub(super) fn work(&self) -> usize {
        let is_work = |link: &&Link| matches!(link.what, Part::Work(..));
        self.links.iter().filter(is_work).count()
    }
}

/// Draft of a push.
pub(super) struct Draft {
    pub(super) branch: usize,
    pub(super) tip: String,
    pub(super) entries: Vec<Entry>,
    pub(super) told: Vec<String>,
}

/// Counts of the pushes of a run that landed and were refused, and of the sorts of their pieces.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub landed: usize,
    pub refused: usize,
    pub pieces: BTreeMap<&'static str, [usize; 2]>,
}

/// A history while it is made.
pub(super) struct History<'g, G> {
    pub(super) ground: &'g mut G,
    pub(super) model: Model,
    pub(super) facts: Vec<Facts>,
    pub(super) sessions: Vec<Session>,
    pub(super) tips: [String; 2],
    /// The commits of entries, for those who pick them; with the parent.
    pub(super) commits: Vec<Option<String>>,
    pub(super) fresh: usize,
    pub told: Vec<String>,
}

pub(super) const CODE: [&str; 5] = ["src/a", "src/b", "src/c", "src/d", "src/e"];
pub(super) const DOCUMENTS: [&str; 3] = ["docs/a", "docs/b", "README.md"];
pub(super) const GUARDED: [&str; 3] = [
    ".github/workflows/ci.yml",
    "specs/a/spec.md",
    "docs/rules/a.md",
];
pub(super) const RELEASE: &str = "lock";

pub(super) fn kind(path: &str, old: Option<&File>, new: Option<&File>) -> Kind {
    let mode = |file: &File| match file.get(..2) {
        Some("x:") => 'x',
        Some("l:") => 'l',
        _ => 'p',
    };
    let stays = match (old.map(mode), new.map(mode)) {
        (Some('l'), _) | (_, Some('l')) => false,
        (Some(old), Some(new)) => old == new,
        (None, Some(new)) => new == 'p',
        (_, None) => true,
    };
    if path.starts_with("specs/") || path.starts_with("changelog.d") || GUARDED.contains(&path) {
        Kind::Guarded
    } else if DOCUMENTS.contains(&path) && stays {
        Kind::Document
    } else if path == RELEASE && stays {
        Kind::Release
    } else {
        Kind::Code
    }
}

impl<'g, G: Ground> History<'g, G> {
    pub(super) fn new(ground: &'g mut G) -> Self {
        let tips = [ground.tip(0), ground.tip(1)];
        History {
            ground,
            model: Model::default(),
            facts: Vec::new(),
            sessions: Vec::new(),
            tips,
            commits: Vec::new(),
            fresh: 0,
            told: Vec::new(),
        }
    }

    /// Takes the turn that a number says. What the branch did otherwise than the model is told.
    pub(super) fn turn(&mut self, seed: u64, counts: &mut Counts) -> Result<(), String> {
        let mut dice = Dice(seed);
        match dice.below(20) {
            0..=2 => self.start(&mut dice),
            3..=6 => self.work(&mut dice),
            7..=8 => self.sync(&mut dice),
            9..=11 => self.review(&mut dice),
            12 => self.archive(&mut dice),
            _ => return self.push(&mut dice, counts),
        }
        Ok(())
    }

    pub(super) fn tell(&mut self, what: String) {
        self.told.push(what);
    }

    pub(super) fn text(&mut self) -> File {
        self.fresh += 1;
        format!("text {}\n", self.fresh)
    }

    fn path(&mut self, dice: &mut Dice) -> &'static str {
        match dice.below(10) {
            0..=6 => CODE[dice.below(CODE.len())],
            7..=8 => DOCUMENTS[dice.below(DOCUMENTS.len())],
            _ => GUARDED[dice.below(GUARDED.len())],
        }
    }

    /// Makes one or two changes of any sort on a commit; at least one file differs.
    pub(super) fn edit(&mut self, dice: &mut Dice, at: &str) -> Vec<(String, Option<File>)> {
        let mut files: BTreeMap<String, Option<File>> = BTreeMap::new();
        for _ in 0..=dice.below(2) {
            let path = self.path(dice).to_owned();
            let there = self.ground.text(at, &path).is_some();
            let text = self.text();
            let file = match dice.below(12) {
                0 if there => None,
                1 => Some(format!("x:{text}")),
                2 => Some(format!("l:{}", text.trim_end())),
                _ => Some(text),
            };
            files.insert(path, file);
        }
        files.into_iter().collect()
    }

    fn push(&mut self, dice: &mut Dice, counts: &mut Counts) -> Result<(), String> {
        let branch = usize::from(dice.one_in(5));
        let mut draft = Draft {
            branch,
            tip: self.tips[branch].clone(),
            entries: Vec::new(),
            told: Vec::new(),
        };
        let dishonest = dice.one_in(2);
        let mut pieces: Vec<&'static str> = Vec::new();
        for _ in 0..=dice.below(3) {
            let is_honest = !dishonest || dice.one_in(2);
            let name = (0..4).find_map(|_| {
                if is_honest {
                    self.honest(dice, &mut draft)
                } else {
                    self.dishonest(dice, &mut draft)
                }
            });
            pieces.extend(name);
        }
        if draft.entries.is_empty() {
            return Ok(());
        }
        let expected = self.model.push(branch, &self.facts, &draft.entries);
        let taken = self.ground.push(branch, &draft.tip);
        self.told.append(&mut draft.told);
        let entries = draft
            .entries
            .iter()
            .map(|e| format!("\n    {e:?}"))
            .collect::<String>();
        self.tell(format!(
            "push {pieces:?} to {branch}: {expected:?}, taken {taken}{entries}"
        ));
        for name in &pieces {
            counts.pieces.entry(name).or_default()[usize::from(!taken)] += 1;
        }
        match (taken, expected) {
            (true, Ok(())) => {
                self.tips[branch] = draft.tip;
                counts.landed += 1;
                Ok(())
            }
            (false, Err(_)) => {
                counts.refused += 1;
                Ok(())
            }
            (true, Err(why)) => Err(format!("a dishonest push was taken: {why}")),
            (false, Ok(())) => Err("an honest push was refused".into()),
        }
    }

    /// Puts a commit on the draft, with what somebody knows of each path.
    pub(super) fn enter(
        &mut self,
        draft: &mut Draft,
        commit: &str,
        signed: bool,
        made: impl Fn(&str) -> Made,
    ) {
        let before = draft.tip.clone();
        self.enter_from(draft, &before, commit, signed, made);
        draft.tip = commit.to_owned();
    }

    /// Puts a commit that is not on the draft's own line on the draft, with what somebody knows of each path.
    pub(super) fn enter_from(
        &mut self,
        draft: &mut Draft,
        parent: &str,
        commit: &str,
        signed: bool,
        made: impl Fn(&str) -> Made,
    ) {
        let paths = self.ground.changed(parent, commit);
        let change = |path: String| {
            let (old, new) = (
                self.ground.text(parent, &path),
                self.ground.text(commit, &path),
            );
            (kind(&path, old.as_ref(), new.as_ref()), made(&path))
        };
        let changes = paths.into_iter().map(change).collect();
        draft.told.push(format!("  {commit} on {parent}"));
        let number = self.commits.len();
        self.commits.push(Some(commit.to_owned()));
        draft.entries.push(Entry {
            number,
            changes,
            signed,
        });
    }

    /// Tells whether the branch, or the draft, has had all that a session brings: somebody else did the same work.
    fn was_there(&mut self, session: usize, draft: &Draft) -> bool {
        let it = &self.sessions[session];
        let head = it.reviewed.as_ref().unwrap_or(&it.head).clone();
        let numbers = self.model.accounted(draft.branch).iter().copied();
        let numbers = numbers.chain(draft.entries.iter().map(|entry| entry.number));
        let commits: Vec<String> = numbers.filter_map(|n| self.commits[n].clone()).collect();
        commits.iter().any(|commit| {
            let is_later = !self.ground.has(&head, commit);
            let merged = self.ground.merge([commit, &head], &[commit], None);
            is_later && merged.is_some_and(|merged| self.ground.changed(commit, &merged).is_empty())
        })
    }

    /// A session that has its approval and did not land, here or in the draft.
    pub(super) fn landable(&mut self, dice: &mut Dice, draft: &Draft) -> Option<usize> {
        let is_new = |s: &usize| {
            !self.has_landed(*s)
                && !draft
                    .entries
                    .iter()
                    .flat_map(|entry| &entry.changes)
                    .any(|(_, made)| matches!(made, Made::Work { session, .. } if session == s))
        };
        let all: Vec<usize> = self
            .approved(draft.branch)
            .into_iter()
            .filter(is_new)
            .collect();
        let session = dice.of(&all).copied()?;
        // What its reviewer did not look at, another one did: then that verdict answers for it.
        let is_unseen = self.sessions[session]
            .links
            .iter()
            .any(|link| link.what == Part::Hand);
        let is_anothers = is_unseen && self.is_shown_by_another(draft.branch, session);
        (!is_anothers && !self.was_there(session, draft)).then_some(session)
    }
}
