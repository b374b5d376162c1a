//! The node: one line of `tasks.jsonl` as the rules see it. How a line is written and which other fields it may have
//! is the business of the file's reader; what happened to a node is the business of its records.

use super::decide::Gate;
use super::world::Condition;
use crate::issue::IssueId;
use crate::stage::Stage;
use loopx_base::id::written_as_text;
use loopx_base::vocabulary::vocabulary;
use serde::{Deserialize, Serialize};
use std::cell::OnceCell;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::rc::Rc;

/// The id of a node: `[A-Za-z0-9][A-Za-z0-9._-]{0,99}`. Two ids that differ in letter case alone name one node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct TaskId(String);

impl TaskId {
    /// The longest id, in bytes.
    pub const MAX: usize = 100;

    /// `None` where the text is no id.
    pub fn parse(text: &str) -> Option<Self> {
        Self::is_id(text).then(|| TaskId(text.to_owned()))
    }

    fn is_id(text: &str) -> bool {
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
        text.len() <= Self::MAX
            && text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && text.bytes().all(plain)
    }

    /// The id of the node that stands for an issue: every id of an issue is one.
    pub fn of_issue(id: &IssueId) -> Self {
        TaskId(id.to_string())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A text that is equal for two ids of one node.
    pub fn key(&self) -> String {
        self.0.to_ascii_lowercase()
    }

    /// Looks something up by [`TaskId::key`], which is not kept: a list of thousands is looked through several times in
    /// one command.
    pub fn with_key<T>(&self, look: impl FnOnce(&str) -> T) -> T {
        let mut bytes = [0; Self::MAX];
        let Some(key) = bytes.get_mut(..self.0.len()) else {
            return look(&self.key());
        };
        key.copy_from_slice(self.0.as_bytes());
        key.make_ascii_lowercase();
        match std::str::from_utf8(key) {
            Ok(key) => look(key),
            Err(_) => look(&self.key()),
        }
    }
}

/// An id as it is looked up: two that differ in letter case alone are equal. It has no text of its own.
#[derive(Clone, Copy, Debug)]
pub struct Key<'n>(&'n TaskId);

impl<'n> Key<'n> {
    pub fn of(id: &'n TaskId) -> Self {
        Key(id)
    }
}

impl PartialEq for Key<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.0.0.eq_ignore_ascii_case(&other.0.0)
    }
}

impl Eq for Key<'_> {}

impl Hash for Key<'_> {
    /// Hashes eight bytes at once, in lower case: a list of thousands is hashed several times in one command.
    fn hash<H: Hasher>(&self, to: &mut H) {
        for bytes in self.0.0.as_bytes().chunks(8) {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            word.make_ascii_lowercase();
            to.write_u64(u64::from_ne_bytes(word));
        }
    }
}

impl TryFrom<String> for TaskId {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if Self::is_id(&text) {
            Ok(TaskId(text))
        } else {
            Err(format!("expected the id of a task, found {text:?}"))
        }
    }
}

written_as_text!(TaskId);

impl From<TaskId> for String {
    fn from(id: TaskId) -> Self {
        id.0
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

vocabulary!(
    /// Kind of a node.
    NodeKind {
        /// Work that somebody does.
        Work = "work",
        /// Values come in, and what follows is computed from them.
        Decision = "decision",
        /// Checkpoint that a person opens, with a reason.
        Checkpoint = "checkpoint",
        /// Purpose of a session; it ends with evidence.
        Goal = "goal",
    }
);

/// A node that another one waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    pub on: TaskId,
    /// Set when a skipped node satisfies the edge too.
    pub optional: bool,
}

/// Way in which anybody sees that a node is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verification {
    /// git loopx runs these words; the exit code decides.
    Cmd(Vec<String>),
    /// A named person looks, and says so.
    Manual(String),
}

/// A file that a node says it touches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeFile {
    /// Path from the top of the repository.
    pub path: String,
    pub action: Option<String>,
    pub risk: Option<Risk>,
}

vocabulary!(
    /// Likelihood that others change the same at the same time.
    Risk {
        Low = "low",
        Medium = "medium",
        High = "high",
    }
);

/// Place of a node among those of other people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shared {
    /// Part of the work that the node belongs to.
    pub domain: Option<String>,
    pub risk: Option<Risk>,
    /// Conflicts that somebody accepted.
    pub accepts: Vec<Accepted>,
}

/// A conflict that somebody accepted: both change these files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    pub task: TaskId,
    pub files: Vec<String>,
    pub reason: String,
}

vocabulary!(
    /// Fate of nodes that wait for a node that failed as often as it may, or that is skipped.
    OnFailed {
        /// Wait of these nodes, until somebody settles it.
        Hold = "hold",
        /// Skip of these nodes, and of those that wait for them.
        Skip = "skip",
    }
);

/// Time for which somebody may have a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Number of seconds after which whoever has the node is asked to finish.
    pub limit: u32,
    /// Number of seconds later at which the node is free for others.
    pub grace: u32,
}

impl Turn {
    /// The time to finish where nothing is said of it.
    pub const GRACE: u32 = 120;

    pub fn seconds(self) -> u32 {
        self.limit.saturating_add(self.grace)
    }
}

vocabulary!(
    /// Fate of the session once all tasks of a pipeline are done.
    OnComplete {
        /// A person chooses: the archive, or keeping it.
        Interactive = "interactive",
        /// Archive of the session, as far as policy lets whoever asks.
        Archive = "archive",
        /// Session that stays as it is, until somebody goes on with it.
        Keep = "keep",
    }
);

/// Origin of a node: the pipeline, its part of that, and the number of a discussion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    pub pipeline: String,
    pub on_complete: OnComplete,
    pub phase: Option<String>,
    pub round: Option<u64>,
}

/// The skill that a node is done by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skilled {
    pub name: String,
    /// Arguments of the skill as the plan has them, placeholders among them.
    pub args: String,
}

/// Tells whether a path is that of the folder, or lies below it.
pub fn is_within(path: &str, folder: &str) -> bool {
    let rest = path.strip_prefix(folder.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Tells whether a text names something that only one task can have.
pub fn is_thing(name: &str) -> bool {
    !name.trim().is_empty() && !name.chars().any(char::is_control)
}

/// A name of such a thing as it is compared: like an id without its case, and without blanks around it.
pub fn thing(name: &str) -> String {
    name.trim().to_lowercase()
}

/// The details of a node: what a card says of it. No edge and no status of the graph depends on them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details {
    pub description: String,
    /// `feature`, `fix`, ...: the type of the commit that completes it.
    pub work: Option<String>,
    pub files: Vec<NodeFile>,
    pub criteria: Vec<String>,
    pub verification: Option<Verification>,
    /// Condition that holds when a goal is met.
    pub done_when: Option<String>,
}

/// A list whose lines were found to be good, and how the details of one of them are read.
#[derive(Debug)]
pub struct Lines {
    text: Rc<str>,
    read: fn(&str) -> Details,
}

impl Lines {
    pub fn new(text: Rc<str>, read: fn(&str) -> Details) -> Self {
        Lines { text, read }
    }
}

/// The details of a node, as they are kept: read from its line once somebody asks, because a command looks at few of
/// the thousands of nodes that a list may have.
#[derive(Clone)]
pub struct Kept {
    read: OnceCell<Box<Details>>,
    /// The list, and the bytes of the line in it.
    line: Option<(Rc<Lines>, u32, u32)>,
}

impl Kept {
    /// The details of a line of a list; `None` where the list is too long to say its place.
    pub fn of_line(lines: &Rc<Lines>, from: usize, to: usize) -> Option<Self> {
        let (from, to) = (u32::try_from(from).ok()?, u32::try_from(to).ok()?);
        Some(Kept {
            read: OnceCell::new(),
            line: Some((Rc::clone(lines), from, to)),
        })
    }

    /// Tells whether somebody asked for the details, or they never stood on a line.
    #[cfg(test)]
    pub fn is_read(&self) -> bool {
        self.read.get().is_some()
    }

    fn get(&self) -> &Details {
        self.read.get_or_init(|| {
            let read = self.line.as_ref().and_then(|(lines, from, to)| {
                let line = lines.text.get(*from as usize..*to as usize)?;
                Some((lines.read)(line))
            });
            Box::new(read.unwrap_or_default())
        })
    }
}

impl From<Details> for Kept {
    fn from(details: Details) -> Self {
        Kept {
            read: OnceCell::from(Box::new(details)),
            line: None,
        }
    }
}

impl PartialEq for Kept {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Eq for Kept {}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

/// Node of the graph, as it was planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub id: TaskId,
    /// Title of the node; every list shows it, and so it is no detail.
    pub title: String,
    pub kind: NodeKind,
    /// Priority of the node; a smaller one is sooner.
    pub priority: u32,
    /// Role that does the node, where only some may.
    pub role: Option<String>,
    /// Stage that waits for the node; build where nothing is said.
    pub stage: Stage,
    pub depends_on: Vec<Edge>,
    /// Conditions outside of the graph that the node waits for.
    pub waits: Vec<Condition>,
    /// Node that this one is a part of.
    pub parent: Option<TaskId>,
    /// Domain of the node, where the list has domains, and conflicts that the node may have.
    pub shared: Option<Box<Shared>>,
    /// `domain/requirement/scenario` of the delta that the node proves.
    pub scenarios: Vec<String>,
    /// Artifacts and paths that whoever does the node has to read first.
    pub reads: Vec<String>,
    /// Artifacts and paths that whoever does the node may read later.
    pub deferred: Vec<String>,
    /// Skill by which the node is done, where there is one.
    pub skill: Option<Box<Skilled>>,
    /// Files that the node leaves below `tasks/<id>/`.
    pub outputs: Vec<String>,
    /// Names of things that only one running node can have.
    pub exclusive: Vec<String>,
    /// Set when other nodes may run while the node does.
    pub parallel: bool,
    /// Number of times that the node may be tried.
    pub cap: u32,
    /// Longest time that the node's verification may take, in seconds.
    pub time_limit: Option<u64>,
    /// Time for which somebody may have the node, where that is bounded.
    pub turn: Option<Turn>,
    pub on_failed: OnFailed,
    /// Origin of the node, where a pipeline made it.
    pub part: Option<Box<Part>>,
    /// Node that this one does again.
    pub revision_of: Option<TaskId>,
    /// Gate by which a decision or a goal is judged; nothing for every other kind.
    pub gate: Option<Box<Gate>>,
    /// Line of `tasks.jsonl` that the node stands on, from 1.
    pub line: usize,
    pub details: Kept,
}

impl Deref for Node {
    type Target = Details;

    fn deref(&self) -> &Details {
        self.details.get()
    }
}

impl Node {
    /// Number of times that a node may be tried that says nothing of it.
    pub const CAP: u32 = 3;
    /// The priority of a node that says nothing of it.
    pub const PRIORITY: u32 = 2;

    /// Changes the details of a node, which then stand on no line.
    pub fn edit(&mut self, change: impl FnOnce(&mut Details)) {
        let mut details = self.details.get().clone();
        change(&mut details);
        self.details = details.into();
    }

    /// The first thing that only one of two nodes can have.
    pub fn shares(&self, other: &Node) -> Option<&str> {
        let is_its = |name: &&String| {
            let mut its = other.exclusive.iter();
            its.any(|one| one == *name || thing(one) == thing(name))
        };
        let shared = self.exclusive.iter().find(is_its)?;
        Some(shared.trim())
    }

    /// Part of the work that the node belongs to.
    pub fn domain(&self) -> Option<&str> {
        self.shared.as_ref()?.domain.as_deref()
    }

    /// Likelihood that others change a file of the node: as the file says, else as the node does.
    pub fn risk(&self, path: &str) -> Option<Risk> {
        let file = self.files.iter().find(|file| file.path == path);
        let own = file.and_then(|file| file.risk);
        own.or_else(|| self.shared.as_ref()?.risk)
    }

    /// Tells whether a path is one of the node's own files, or lies in a folder that is one.
    pub fn is_about(&self, path: &str) -> bool {
        self.own_files().any(|file| is_within(path, file))
    }

    /// Files that the node changes, as they were planned. A file that it only reads is not its own.
    pub fn own_files(&self) -> impl Iterator<Item = &str> + Clone {
        let files = self.files.iter();
        let files = files.filter(|file| file.action.as_deref() != Some("read"));
        files.map(|file| file.path.as_str())
    }
}
