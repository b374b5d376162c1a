//! Backlogs of other programs, and our own as JSON lines: read as data, with the place of each thing that is wrong, what
//! became of the words that they use, and what has no counterpart here.
//!
//! Nothing of what is read names a file or is run: an id there is a text from which an id here is computed.

mod backlog;
mod beads;
mod ccw;
mod csv;
mod github;
mod gitlab;
mod json;
pub mod later;
mod markdown;
mod own;
mod phases;
pub mod roadmap;
mod rows;
mod task_master;
mod taskwarrior;
mod text;
pub mod todos;
mod ways;
mod words;

use super::Source;
use super::plain::Plain;
use crate::strict_json::strict;
use json::Fields;
use loopx_base::vocabulary::vocabulary;
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};

pub use taskwarrior::evenings;

vocabulary!(
    /// Format of a file, by the program whose backlog it is.
    Format {
        Loopx = "loopx",
        Beads = "beads",
        Github = "github",
        Gitlab = "gitlab",
        Ccw = "ccw",
        Backlog = "backlog",
        TaskMaster = "task-master",
        Taskwarrior = "taskwarrior",
        /// A table with a header, as Jira and Linear export it.
        Csv = "csv",
        /// A list of check boxes.
        Markdown = "markdown",
        /// A roadmap of ccw, with its issues.
        Roadmap = "roadmap",
    }
);

impl Format {
    /// The system, as the sources of issues name it.
    pub fn system(self) -> &'static str {
        self.as_str()
    }
}

/// A file that is read, by the name under which findings are told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct File {
    pub name: String,
    pub text: String,
}

/// Message about something that was found, and its place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Finding {
    pub at: String,
    pub message: String,
}

/// An issue that is to be taken over.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// Place where the issue stands.
    pub at: String,
    /// Fields of the issue: its key is its id there, by which the others link to it.
    pub plain: Plain,
}

/// Word of another system, and what it became.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Mapped {
    pub field: &'static str,
    pub word: String,
    pub became: String,
    pub issues: usize,
}

/// Word, and what somebody wants it to become.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    pub word: String,
    pub value: String,
}

/// Wishes that an import was told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wishes {
    pub map: Vec<Wish>,
    /// The kinds of this backlog.
    pub kinds: Vec<String>,
    /// The seconds at which a day begins where somebody imports, of those that [`evenings`] gives.
    pub midnights: BTreeSet<i64>,
}

/// Issues that were read, and all that was found on the way.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Taken {
    pub items: Vec<Item>,
    pub words: Vec<Mapped>,
    /// Fields without a counterpart, with the number of issues that keep them as data.
    pub kept: BTreeMap<String, usize>,
    /// Remarks about what is not as it was there.
    pub remarks: Vec<Finding>,
    /// Faults: what cannot be taken over.
    pub faults: Vec<Finding>,
    /// Words of which nothing tells what they become: they hold up only an issue that is not here yet.
    pub unmapped: Vec<Unmapped>,
}

/// A word that somebody has to say something for.
#[derive(Clone, Debug, PartialEq)]
pub struct Unmapped {
    pub fault: Finding,
    /// A value for `--map` that would do.
    pub wish: String,
}

/// Reads a backlog. Nothing is left out silently: what cannot be taken over is a fault.
pub fn read(format: Format, files: &[File], wishes: &Wishes) -> Taken {
    let mut gather = Gather::new(wishes);
    match format {
        Format::Loopx => own::read(files, &mut gather),
        Format::Beads => beads::read(files, &mut gather),
        Format::Github => github::read(files, &mut gather),
        Format::Gitlab => gitlab::read(files, &mut gather),
        Format::Ccw => ccw::read(files, &mut gather),
        Format::Backlog => backlog::read(files, &mut gather),
        Format::TaskMaster => task_master::read(files, &mut gather),
        Format::Taskwarrior => taskwarrior::read(files, &mut gather),
        Format::Csv => csv::read(files, &mut gather),
        Format::Markdown => markdown::read(files, &mut gather),
        Format::Roadmap => roadmap::read(files, &mut gather),
    }
    gather.finish()
}

/// Format of the backlog that a text is; nothing where it may be of several, or of none.
pub fn detect(text: &str) -> Option<Format> {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if !text.starts_with('{')
        && let Some(format) = detect_text(text)
    {
        return Some(format);
    }
    let first = match text.strip_prefix('[') {
        Some(_) => strict(text).ok()?.as_array()?.first()?.clone(),
        None => strict(text.lines().next()?)
            .or_else(|_| strict(text))
            .ok()?,
    };
    let has = |field: &str| first.get(field).is_some();
    if task_master::is_one(&first) {
        return Some(Format::TaskMaster);
    }
    // Of GitLab and Beads both have a kind of issue: the number comes first.
    if has("iid") && (has("web_url") || has("state")) {
        return Some(Format::Gitlab);
    }
    if has("uuid") && has("entry") && has("description") {
        return Some(Format::Taskwarrior);
    }
    if has("number") && (has("url") || has("state") || has("body") || has("labels")) {
        return Some(Format::Github);
    }
    if has("issue_type") || has("acceptance_criteria") || has("depends_on_id") {
        return Some(Format::Beads);
    }
    let is_id = |id: &Value| id.as_str().and_then(super::IssueId::parse).is_some();
    if has("title") && first.get("id").is_some_and(is_id) && (has("kind") || has("created")) {
        return Some(Format::Loopx);
    }
    if has("id") && (has("bound_solution_id") || has("context") || has("lifecycle_requirements")) {
        return Some(Format::Ccw);
    }
    None
}

/// Format of a text that is no JSON.
fn detect_text(text: &str) -> Option<Format> {
    if csv::is_one(text) {
        Some(Format::Csv)
    } else if markdown::is_one(text) {
        Some(Format::Markdown)
    } else {
        None
    }
}

/// State that is gathered while files are read.
struct Gather<'w> {
    wishes: &'w Wishes,
    granted: Vec<bool>,
    words: BTreeMap<(&'static str, String, String), usize>,
    taken: Taken,
    /// Place where the issue of an id stands.
    places: HashMap<String, String>,
}

impl<'w> Gather<'w> {
    fn new(wishes: &'w Wishes) -> Self {
        Gather {
            granted: vec![false; wishes.map.len()],
            wishes,
            words: BTreeMap::new(),
            taken: Taken::default(),
            places: HashMap::new(),
        }
    }

    fn fault(&mut self, at: &str, message: impl Into<String>) {
        self.taken.faults.push(Finding {
            at: at.to_owned(),
            message: message.into(),
        });
    }

    fn remark(&mut self, at: &str, message: impl Into<String>) {
        self.taken.remarks.push(Finding {
            at: at.to_owned(),
            message: message.into(),
        });
    }

    /// The issue that fields are about: an id there and a title, neither of which drives a terminal.
    fn begin(&mut self, format: Format, id: String, fields: &mut Fields) -> Option<Plain> {
        let at = fields.at.clone();
        let id = self.key(&at, id)?;
        let title = fields.text("title", self);
        let title = match title.as_deref().map(str::trim) {
            Some(title) if !title.is_empty() => title.to_owned(),
            _ => {
                self.fault(&at, "expected `title`, found none");
                return None;
            }
        };
        Some(Plain {
            title,
            source: Some(Source {
                system: format.system().to_owned(),
                id: id.clone(),
            }),
            key: Some(id),
            ..Plain::default()
        })
    }

    /// An id there: a text of one line, and each only once.
    fn key(&mut self, at: &str, id: String) -> Option<String> {
        let id = id.trim().to_owned();
        if id.is_empty() || id.chars().count() > 200 || id.chars().any(char::is_control) {
            self.fault(
                at,
                format!("expected an id as one line of 1 to 200 characters, found {id:?}"),
            );
            return None;
        }
        if let Some(other) = self.places.insert(id.clone(), at.to_owned()) {
            self.fault(at, format!("`{id}` is at {other} already"));
            return None;
        }
        Some(id)
    }

    /// An issue is whole: what is left of its fields is kept.
    fn end(&mut self, mut plain: Plain, fields: Fields) {
        let at = fields.at.clone();
        for (name, value) in fields.rest() {
            self.keep(&mut plain, name, value);
        }
        self.push(at, plain);
    }

    /// Keeps a field that has no counterpart.
    fn keep(&mut self, plain: &mut Plain, name: String, value: Value) {
        *self.taken.kept.entry(name.clone()).or_default() += 1;
        plain.kept.insert(name, value);
    }

    fn push(&mut self, at: String, mut plain: Plain) {
        let mut seen = Vec::new();
        plain.labels.retain(|label| {
            let is_new = !seen.contains(label);
            seen.push(label.clone());
            is_new
        });
        self.taken.items.push(Item { at, plain });
    }

    fn finish(mut self) -> Taken {
        for (wish, granted) in self.wishes.map.iter().zip(&self.granted) {
            if !granted {
                self.taken.faults.push(Finding {
                    at: format!("--map {}={}", wish.word, wish.value),
                    message: format!("no issue has the word `{}`", wish.word),
                });
            }
        }
        let words = self.words.into_iter();
        self.taken.words = words
            .map(|((field, word, became), issues)| Mapped {
                field,
                word,
                became,
                issues,
            })
            .collect();
        self.taken
    }
}

#[cfg(test)]
mod tests;
