//! The account of a landing: which step covers each commit and path that enters a protected branch.
//!
//! `docs/landing.md` has the definition in plain sentences. [`account`] is a pure function: what it is told
//! ([`Landing`], [`Rules`], [`Candidate`]) are owned values, and what it asks ([`Objects`]) are facts about
//! immutable objects, which are the same whoever asks and whenever. No clock, configuration, attribute, ref
//! or name of a pull request has a say.
//!
//! `walk` takes the steps, which are in `steps`, one after the other; `word` knows how far a verdict reaches,
//! [`paths`] what may land without one, `strays` what no commit of a landing changes, and `entries` puts down what
//! came of it, with the reason of [`why`] where no step fits.

mod entries;
pub mod paths;
mod steps;
mod strays;
#[cfg(test)]
mod tests;
mod walk;
pub mod why;
mod word;

pub use loopx_base::tree_change::{Change, Depth, Merge, Mode};
pub use paths::Rules;
pub use walk::account;
pub use why::{PathWhy, Why};

use super::stage::Stage;
use loopx_base::failure::Result;
use loopx_base::id::{Oid, SessionId};
use serde::{Serialize, Serializer};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Commits that are to land, and the branch where they land.
#[derive(Clone, Debug)]
pub struct Landing {
    /// The branch.
    pub target: String,
    /// Commit that the branch has already: its tip, or the point where the new history left the branch.
    pub old: Option<Oid>,
    pub new: Oid,
    /// The branch's tip, where the new history does not have it: a pull request that is behind.
    pub tip: Option<Oid>,
    /// Protected branches whose commits may come over, and where they are.
    pub backports: Vec<(String, Oid)>,
    pub put_down: PutDown,
}

/// Session that a commit is put down to which the reviews of several sessions have shown: of sessions that stand on one
/// another, each shows what is below it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PutDown {
    /// Session that lands the commit.
    #[default]
    Highest,
    /// Session that brought the commit.
    Lowest,
}

/// A session whose result may be what lands.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub session: SessionId,
    pub stage: Stage,
    pub ended: bool,
    /// Approving verdict of the session.
    pub verdict: Option<Reviewed>,
    /// Commit that the archive of the session is recorded to have made.
    pub result: Option<Oid>,
}

/// An approving verdict, as far as a landing rests on it.
#[derive(Clone, Debug)]
pub struct Reviewed {
    /// The branch that the result was to go to; verdicts of older programs do not say.
    pub onto: Option<String>,
    /// Commit up to which the reviewer was shown nothing: the target's tip then, or where the review began.
    pub seen: Option<Oid>,
    pub head: Option<Oid>,
    pub tree: Oid,
    /// Set when the reviewer gave a reason.
    pub reasoned: bool,
}

/// Commit, as far as an account asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub tree: Oid,
    pub parents: Vec<Oid>,
}

/// Kinds of commits that a command of this program makes on a branch, besides archives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Made {
    /// An archive that was taken back.
    Undo,
    /// A decision record that was promoted.
    Decision,
    /// Fragments that the changelog took in.
    Changelog,
}

/// Facts about objects.
pub trait Objects {
    fn has(&self, commit: &Oid) -> Result<bool>;
    fn commit(&self, id: &Oid) -> Result<Node>;
    /// Tells whether a commit has another one behind it, or is that commit.
    fn reaches(&self, from: &Oid, to: &Oid) -> Result<bool>;
    /// The commits behind `to` that none of `without` has, parents first.
    fn between(&self, to: &Oid, without: &[Oid]) -> Result<Vec<Oid>>;
    /// Merge base of two commits.
    fn met(&self, one: &Oid, other: &Oid) -> Result<Option<Oid>>;
    /// Lists the differences between two trees.
    fn changes(&self, old: Option<&Oid>, new: &Oid) -> Result<Vec<Change>>;
    /// Verdict on the claim that the merge of two commits gives this tree.
    fn merge(&self, ours: &Oid, theirs: &Oid, tree: &Oid, depth: Depth) -> Result<Merge>;
    /// The paths, but for these, that merging two commits gives otherwise than it would without what the second one has
    /// at these paths since they met: git carries a change to where the first one renamed its file.
    fn carried(&self, ours: &Oid, theirs: &Oid, changed: &BTreeSet<String>) -> Result<Vec<String>>;
    /// Verdict on the claim that the pick of a commit onto another one gives this tree.
    fn pick(&self, pick: &Oid, onto: &Oid, tree: &Oid) -> Result<Merge>;
    /// The sessions that a commit names, which proves nothing.
    fn named(&self, commit: &Oid) -> Result<Vec<SessionId>>;
    /// The commit that a commit says it was picked from, which proves nothing.
    fn picked_from(&self, commit: &Oid) -> Result<Option<Oid>>;
    /// Tells whether a commit is the one that archiving a session makes of the commit's parent.
    fn is_archive(&self, session: &SessionId, commit: &Oid) -> Result<bool>;
    /// Kind of the command that makes exactly this commit of the commit's parent.
    fn made(&self, commit: &Oid) -> Result<Option<Made>>;
    /// Tells whether a commit is signed with a key.
    fn is_signed(&self, commit: &Oid, key: &str) -> Result<bool>;
}

/// Step that covers a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A commit of a reviewed branch, as it was reviewed.
    Forward(SessionId),
    /// A merge of a reviewed branch.
    Merge(SessionId),
    /// A reviewed branch as one commit.
    Squash(SessionId),
    /// A reviewed branch, picked commit by commit.
    Rebase(SessionId),
    /// A session's archive.
    Archive(SessionId),
    /// Result of another command of this program.
    Made(Made),
    /// Paths that policy lets in without a session.
    Document,
    /// Paths that policy lets in without a session for a key; with the number of the exception.
    Exception(usize),
    /// A commit that another protected branch has.
    Backport(String),
    /// A merge of what is covered by itself.
    Joint,
}

impl Step {
    /// The letter of the definition.
    pub fn letter(&self) -> &'static str {
        match self {
            Step::Forward(_) => "F",
            Step::Merge(_) | Step::Joint => "M",
            Step::Squash(_) => "S",
            Step::Rebase(_) | Step::Backport(_) => "R",
            Step::Archive(_) | Step::Made(_) => "A",
            Step::Document | Step::Exception(_) => "E",
        }
    }

    /// Session whose verdict, or archive, the step rests on.
    pub fn session(&self) -> Option<&SessionId> {
        match self {
            Step::Forward(session)
            | Step::Merge(session)
            | Step::Squash(session)
            | Step::Rebase(session)
            | Step::Archive(session) => Some(session),
            _ => None,
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Forward(session) => write!(f, "reviewed commit of {session}"),
            Step::Merge(session) => write!(f, "merge of {session}"),
            Step::Squash(session) => write!(f, "{session} as one commit"),
            Step::Rebase(session) => write!(f, "{session}, picked"),
            Step::Archive(session) => write!(f, "archive of {session}"),
            Step::Made(Made::Undo) => f.write_str("an archive that is taken back"),
            Step::Made(Made::Decision) => f.write_str("a decision that is promoted"),
            Step::Made(Made::Changelog) => f.write_str("the changelog takes fragments in"),
            Step::Document => f.write_str("always allowed"),
            Step::Exception(number) => write!(f, "landing.exception {number}, by its key"),
            Step::Backport(branch) => write!(f, "`{branch}` has it"),
            Step::Joint => f.write_str("merge of what is covered"),
        }
    }
}

impl Serialize for Step {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(self.letter())
    }
}

/// A commit that lands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub commit: Oid,
    /// Step that covers the commit, and with it all of its paths; or the reason why nothing does.
    pub verdict: std::result::Result<Step, Why>,
    /// Paths that the commit changes; of a merge that nothing covers, those that differ from its first parent.
    pub paths: Vec<Line>,
}

/// A path that a commit changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub path: String,
    /// Reason why the path could not land without a session; nothing where the commit is covered.
    pub why: Option<PathWhy>,
}

/// Account of all commits that land, parents first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    pub entries: Vec<Entry>,
    sessions: Vec<SessionId>,
    origins: BTreeMap<Oid, SessionId>,
    strays: BTreeMap<SessionId, BTreeSet<String>>,
}

impl Account {
    pub fn is_covered(&self) -> bool {
        self.entries.iter().all(|entry| entry.verdict.is_ok())
    }

    pub fn step(&self, commit: &Oid) -> Option<&Step> {
        let entry = self.entries.iter().find(|entry| entry.commit == *commit)?;
        entry.verdict.as_ref().ok()
    }

    /// Sessions that the landing rests on, in the order in which they land: also those whose commits land within the
    /// one commit of another session.
    pub fn sessions(&self) -> &[SessionId] {
        &self.sessions
    }

    /// Reviewed commits that the landing rests on, also where they land in another shape, each with the session that it
    /// is put down to.
    pub fn origins(&self) -> impl Iterator<Item = (&Oid, &SessionId)> {
        self.origins.iter()
    }

    /// The paths that a session's landing changes on the target though no commit behind it does.
    pub fn strays(&self, session: &SessionId) -> impl Iterator<Item = &String> {
        self.strays.get(session).into_iter().flatten()
    }
}
