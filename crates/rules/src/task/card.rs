//! The card: what whoever takes a node is given to read, in at most two kilobytes.

use super::decide::{Verdict, counting};
use super::graph::Graph;
use super::node::{Node, TaskId, Verification};
use super::outputs::task_of;
use super::status::{Status, TaskFacts};
use crate::artifact::Artifact;
use crate::contract::Contract;
use crate::session::State;
use crate::skill::Filled;
use loopx_base::hint::Hint;
use loopx_base::id::SessionId;
use loopx_base::{path_from, shell_word};
use serde::Serialize;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// The most bytes of a card that nobody asked to see whole.
pub const MOST: usize = 2048;

/// The most bytes that a card gives of what has to be read, all contents together.
pub const READING: usize = 32 * 1024;

/// Content of a card.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Card {
    pub session: SessionId,
    pub intent: String,
    /// The contract of the session, where its plan has one.
    #[serde(skip_serializing_if = "Contract::is_empty")]
    pub contract: Contract,
    pub task: TaskId,
    pub title: String,
    pub description: String,
    pub kind: &'static str,
    #[serde(rename = "type")]
    pub work: Option<String>,
    pub role: Option<String>,
    pub status: Status,
    /// Number of this attempt; `attempts`: how many there may be.
    pub attempt: u32,
    pub attempts: u32,
    pub criteria: Vec<String>,
    pub verification: Option<Check>,
    pub files: Vec<String>,
    /// Changes of files of which the list says more than the path.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<FileChange>,
    /// Use that people have of the task once it is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub definition_of_done: Option<String>,
    /// The line of the list, with every field that stands there.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub fields: Map<String, Value>,
    pub scenarios: Vec<String>,
    pub outputs: Vec<String>,
    /// Outputs that are there before the task is done, as an earlier attempt leaves them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub there: Vec<String>,
    /// Texts to read first, each with the id of its content where there is one.
    pub reads: Vec<Read>,
    /// Texts that may be read later.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deferred: Vec<String>,
    /// The documents of rules that the work has to follow, as they stand.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Read>,
    /// The contents of what has to be read and is no file of the code: artifacts, what tasks left, rules.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub contents: Vec<Content>,
    /// Skill by which the task is done, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skill: Option<SkillRow>,
    /// Notes of the nodes that this one waits for.
    pub before: Vec<Before>,
    /// Conditions outside of the list that the task waits for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<String>,
    /// Reason why the task failed the last time.
    pub failed: Option<String>,
    /// The command that ends a gate, as it stands.
    #[serde(skip)]
    pub lead: Option<Hint>,
    /// Current folder of who reads the card, below the top of the worktree.
    #[serde(skip)]
    pub below: String,
    /// Set when the reader is an agent whose word is no person's.
    #[serde(skip)]
    pub is_agents: bool,
    /// Required reading of the session that has no file in this worktree.
    #[serde(skip)]
    pub absent: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    Cmd(Vec<String>),
    Manual(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Read {
    pub path: String,
    pub blob: Option<String>,
}

/// The content of something that has to be read, as far as a card gives it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Content {
    pub path: String,
    pub text: String,
    /// Number of the content's bytes that are left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<usize>,
    /// Command that prints all of the content.
    pub whole: Hint,
}

impl Content {
    /// Contents in the order in which they are read, in at most [`READING`] bytes. One that does not fit ends at the end
    /// of a line, if it has one in what fits.
    pub fn within(all: impl Iterator<Item = (String, String, Hint)>) -> Vec<Content> {
        let mut room = READING;
        let cut = |(path, mut text, whole): (String, String, Hint)| {
            let bytes = text.len();
            if bytes > room {
                let end = (0..=room).rev().find(|at| text.is_char_boundary(*at));
                text.truncate(end.unwrap_or(0));
                let line = text.rfind('\n').map_or(text.len(), |at| at + 1);
                text.truncate(line);
            }
            room -= text.len();
            Content {
                path,
                left_out: Some(bytes - text.len()).filter(|left| *left > 0),
                text,
                whole,
            }
        };
        all.map(cut).collect()
    }
}

/// The change of a file that a task plans.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileChange {
    pub path: String,
    pub action: Option<String>,
    pub changes: Vec<String>,
}

impl FileChange {
    /// The change of an entry of `files`; nothing where that says a path alone.
    fn of(entry: &Value) -> Option<Self> {
        let text = |key: &str| entry.get(key).and_then(Value::as_str);
        let several = |key: &str| match entry.get(key) {
            Some(Value::String(one)) => vec![one.clone()],
            Some(Value::Array(all)) => {
                let all = all.iter().filter_map(Value::as_str);
                all.map(str::to_owned).collect()
            }
            _ => Vec::new(),
        };
        let change = FileChange {
            path: text("path")?.to_owned(),
            action: text("action").map(str::to_owned),
            changes: [several("changes"), several("change")].concat(),
        };
        (change.action.is_some() || !change.changes.is_empty()).then_some(change)
    }
}

/// The skill of a task, as it stands here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SkillRow {
    pub name: String,
    /// Words that the skill is given, filled in.
    #[serde(flatten)]
    pub args: Filled,
    /// Path of the skill's file, from the worktree or from home.
    pub path: Option<String>,
    pub blob: Option<String>,
    pub required: Vec<Read>,
    pub deferred: Vec<String>,
    /// Reason why nobody can follow the skill as it stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

impl SkillRow {
    fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("{} {}", self.name, self.args.text)];
        lines.extend(self.path.as_ref().map(|path| match &self.blob {
            Some(blob) => format!("{path} ({})", clip_id(blob)),
            None => path.clone(),
        }));
        lines.extend(self.fault.clone());
        let open = self.args.open.iter();
        lines.extend(open.map(|name| format!("{{{name}}}: nothing is known for it")));
        lines
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Before {
    pub task: TaskId,
    pub summary: Option<String>,
    pub partial: Option<String>,
    pub caveats: Vec<String>,
    pub deferred: Vec<String>,
}

impl Before {
    /// Notes of a gate that let the work go on.
    fn of_gate(node: &Node, state: &State) -> Option<Before> {
        let (decision, judged) = counting(node, state)?;
        let has_notes = judged.verdict == Verdict::Proceed && !judged.notes.is_empty();
        has_notes.then(|| Before {
            task: node.id.clone(),
            summary: decision.reason.clone(),
            partial: None,
            caveats: judged.notes,
            deferred: Vec::new(),
        })
    }

    /// Notes of a task; an ordinary completion without a word has none.
    fn of(facts: &TaskFacts) -> Option<Before> {
        let done = &facts.completion.as_ref()?.value;
        let before = Before {
            task: facts.id.clone(),
            summary: done.summary.clone(),
            partial: done.partial.clone(),
            caveats: done.caveats.clone(),
            deferred: done.deferred.clone(),
        };
        let says = before.summary.is_some()
            || before.partial.is_some()
            || !before.caveats.is_empty()
            || !before.deferred.is_empty();
        says.then_some(before)
    }

    fn lines(&self) -> Vec<String> {
        let partial = self.partial.iter().map(|left| format!("left: {left}"));
        let caveats = self.caveats.iter().map(|one| format!("caveat: {one}"));
        let deferred = self.deferred.iter().map(|one| format!("deferred: {one}"));
        let all = self.summary.iter().cloned();
        let all = all.chain(partial).chain(caveats).chain(deferred);
        all.map(|said| format!("{}: {said}", self.task)).collect()
    }
}

impl Card {
    /// Tells whether a person's word completes the task.
    pub fn is_manual(&self) -> bool {
        !matches!(self.verification, Some(Check::Cmd(_)))
    }

    /// Tells whether the reader of the card does the work while somebody else says that it is done.
    pub fn is_for_a_person(&self) -> bool {
        self.is_agents && self.is_manual() && self.lead.is_none()
    }

    /// Files that the task leaves in the session and that are missing, as somebody opens them from the current folder.
    pub fn missing(&self) -> Vec<String> {
        let outputs = self.outputs.iter();
        let missing = outputs.filter(|path| task_of(path).is_some() && !self.there.contains(path));
        missing.map(|path| self.shown(path)).collect()
    }

    /// A path that the plan names, as somebody opens it from the current folder.
    fn shown(&self, path: &str) -> String {
        let is_artifact = || Artifact::ALL.iter().any(|one| one.path() == path);
        let path = if task_of(path).is_some() || is_artifact() {
            Cow::Owned(format!(".loopx/{}/{path}", self.session))
        } else {
            Cow::Borrowed(path)
        };
        path_from(&self.below, &path)
    }

    /// The card of one node. `blob` gives the content of what is to be read.
    pub fn of(
        graph: &Graph<'_>,
        at: usize,
        (session, intent): (&SessionId, &str),
        state: &State,
        blob: impl Fn(&str) -> Option<String>,
    ) -> Card {
        let node: &Node = &graph.nodes[at];
        let own = state.task(&node.id);
        let failures = own.map_or(0, |own| own.failures);
        let before = graph
            .needs(at)
            .filter_map(|(to, _)| Some((&graph.nodes[to], state.task(&graph.nodes[to].id)?)));
        Card {
            session: session.clone(),
            intent: intent.to_owned(),
            contract: Contract::default(),
            task: node.id.clone(),
            title: node.title.clone(),
            description: node.description.clone(),
            kind: node.kind.as_str(),
            work: node.work.clone(),
            role: node.role.clone(),
            status: own.map_or(Status::Pending, |own| own.status),
            attempt: failures.saturating_add(1),
            attempts: node.cap,
            criteria: node
                .criteria
                .iter()
                .chain(&node.done_when)
                .cloned()
                .collect(),
            verification: node.verification.as_ref().map(|one| match one {
                Verification::Cmd(argv) => Check::Cmd(argv.clone()),
                Verification::Manual(what) => Check::Manual(what.clone()),
            }),
            files: node.files.iter().map(|file| file.path.clone()).collect(),
            changes: Vec::new(),
            definition_of_done: None,
            fields: Map::new(),
            scenarios: node.scenarios.clone(),
            outputs: node.outputs.clone(),
            there: Vec::new(),
            reads: node
                .reads
                .iter()
                .map(|path| Read {
                    path: path.clone(),
                    blob: blob(path),
                })
                .collect(),
            deferred: node.deferred.clone(),
            rules: Vec::new(),
            contents: Vec::new(),
            skill: None,
            before: before
                .filter_map(|(node, facts)| {
                    Before::of(facts).or_else(|| Before::of_gate(node, state))
                })
                .collect(),
            waits: Vec::new(),
            failed: own
                .and_then(|own| own.failure.as_ref())
                .map(|failure| failure.reason.clone().unwrap_or_default()),
            lead: None,
            below: String::new(),
            is_agents: false,
            absent: Vec::new(),
        }
    }

    /// The card with what the line of its list says and no rule asks for. A line of another task says nothing.
    #[must_use]
    pub fn with_line(mut self, line: &str) -> Self {
        let read = serde_json::from_str(line.trim_start_matches('\u{feff}'));
        let fields: Map<String, Value> = read.unwrap_or_default();
        if fields.get("id").and_then(Value::as_str) != Some(self.task.as_str()) {
            return self;
        }
        let files = fields.get("files").and_then(Value::as_array);
        let files = files.into_iter().flatten();
        self.changes = files.filter_map(FileChange::of).collect();
        let done = fields
            .get("convergence")
            .and_then(|said| said.get("definition_of_done"));
        self.definition_of_done = done.and_then(Value::as_str).map(str::to_owned);
        self.fields = fields;
        self
    }

    /// A file of the plan, with what is to be done to it.
    fn file(&self, path: &String) -> String {
        let here = path_from(&self.below, path);
        let change = self.changes.iter().find(|change| change.path == *path);
        let Some(change) = change else { return here };
        let action = change.action.iter();
        let action = action.map(|word| format!("{word} ")).collect::<String>();
        match change.changes.as_slice() {
            [] => format!("{action}{here}"),
            changes => format!("{action}{here}: {}", changes.join("; ")),
        }
    }

    /// Text of the card: whole, or in at most [`MOST`] bytes. What others wrote stands behind a bar.
    pub fn text(&self, is_full: bool) -> String {
        if is_full {
            self.lines(usize::MAX, usize::MAX)
        } else {
            self.within(MOST)
        }
    }

    /// Text of the card, of at most so many bytes.
    pub(super) fn within(&self, bytes: usize) -> String {
        let whole = self.lines(usize::MAX, usize::MAX);
        if whole.len() <= bytes {
            return whole;
        }
        let bytes = bytes.saturating_sub(MORE.len());
        let sizes = [(400, 12), (200, 8), (120, 6), (80, 4), (60, 3)];
        let mut cut = sizes.iter().map(|(text, rows)| self.lines(*text, *rows));
        let fitting = cut.find(|text| text.len() <= bytes);
        let mut text = fitting.unwrap_or_else(|| {
            let mut text = self.lines(60, 2);
            // A line end may have to follow.
            let end = (0..bytes).rev().find(|at| text.is_char_boundary(*at));
            text.truncate(end.unwrap_or(0).min(text.len()));
            if !text.ends_with('\n') {
                text.push('\n');
            }
            text
        });
        text.push_str(MORE);
        text
    }

    /// The contents of what has to be read, line by line. What others wrote stands behind a bar. `typed` gives a command
    /// as somebody types it.
    pub fn contents(&self, typed: impl Fn(&Hint) -> String) -> String {
        let mut out = String::new();
        let mut row = |label: &str, text: &str| out.push_str(&format!("  {label:<8}| {text}\n"));
        for content in &self.contents {
            row("content", &format!("{}:", self.shown(&content.path)));
            content
                .text
                .lines()
                .for_each(|line| row("", line.trim_end()));
            if let Some(left_out) = content.left_out {
                let whole = typed(&content.whole);
                row(
                    "cut",
                    &format!(
                        "{left_out} bytes of it are left out, because a card gives {READING} of all; the whole: {whole}"
                    ),
                );
            }
        }
        out
    }

    fn lines(&self, most: usize, rows: usize) -> String {
        let mut lines = Lines {
            out: String::new(),
            most,
            rows,
        };
        let title: Vec<&str> = self.title.split_whitespace().collect();
        let title = lines.clip(&title.join(" "));
        lines.out = format!("{}  {title}\n", self.task);
        self.say_task(&mut lines);
        self.say_contract(&mut lines);
        self.say_files(&mut lines);
        self.say_reading(&mut lines);
        let before: Vec<String> = self.before.iter().flat_map(Before::lines).collect();
        lines.all("before", &before);
        lines.all("waits", &self.waits);
        lines.one("failed", self.failed.as_deref().unwrap_or_default());
        lines.out
    }

    /// Lines about the task itself, as its list says it.
    fn say_task(&self, lines: &mut Lines) {
        let mut traits: Vec<String> = self.work.iter().map(|work| lines.clip(work)).collect();
        let role = self.role.iter();
        traits.extend(role.map(|role| format!("role {}", lines.clip(role))));
        if self.attempt > 1 {
            traits.push(match self.attempt {
                more if more > self.attempts => {
                    format!("attempt {more}, beyond its cap of {}", self.attempts)
                }
                within => format!("attempt {within} of {}", self.attempts),
            });
        }
        lines.one("for", &self.intent);
        lines.one("kind", &traits.join(", "));
        if self.description != self.title {
            lines.one("what", &self.description);
        }
        lines.all("until", &self.criteria);
        let done = self.definition_of_done.as_deref();
        lines.one("result", done.unwrap_or_default());
        match &self.verification {
            Some(Check::Cmd(argv)) => {
                let words: Vec<String> = argv.iter().map(|word| shell_word(word)).collect();
                lines.one("proof", &words.join(" "));
            }
            Some(Check::Manual(what)) => lines.one("proof", &format!("a person looks: {what}")),
            None => {}
        }
        let files: Vec<String> = self.files.iter().map(|path| self.file(path)).collect();
        lines.all("files", &files);
        lines.all("proves", &self.scenarios);
    }

    fn say_contract(&self, lines: &mut Lines) {
        let contract = &self.contract;
        lines.all("not in", &contract.out_of_scope);
        lines.all("limits", &contract.constraints);
        lines.all("how", &contract.execution_criteria);
        lines.all("done", &contract.definition_of_done);
    }

    /// Lines about the files that the task leaves in the session.
    fn say_files(&self, lines: &mut Lines) {
        let outputs = self.outputs.iter().map(|path| self.shown(path));
        lines.all("outputs", &outputs.collect::<Vec<String>>());
        let there = self.there.iter().map(|path| {
            let path = self.shown(path);
            format!("{path}: look at it before it is written anew")
        });
        lines.all("there", &there.collect::<Vec<String>>());
    }

    /// Lines about the skill, and about what has to be read for the task.
    fn say_reading(&self, lines: &mut Lines) {
        let skill = self.skill.as_ref();
        lines.all("skill", &skill.map(SkillRow::lines).unwrap_or_default());
        let required = skill.map_or(&[][..], |skill| &skill.required);
        let named = |read: &Read| self.known(read.path.clone(), read);
        let own = self.reads.iter();
        let own = own.map(|read| self.known(self.shown(&read.path), read));
        let reads = own.chain(required.iter().map(named));
        lines.all("read", &reads.collect::<Vec<_>>());
        let rules = self.rules.iter().map(named);
        lines.all("rules", &rules.collect::<Vec<_>>());
        let deferred = skill.map_or(&[][..], |skill| &skill.deferred);
        let later: Vec<String> = self.deferred.iter().chain(deferred).cloned().collect();
        lines.all("later", &later);
    }

    /// File that has to be read, by the path that is shown, with the id of its content.
    fn known(&self, path: String, read: &Read) -> String {
        match &read.blob {
            Some(blob) if self.absent.contains(&read.path) => format!(
                "{} ({}, not checked out here: `--full` prints it)",
                read.path,
                clip_id(blob)
            ),
            Some(blob) => format!("{path} ({})", clip_id(blob)),
            None => format!("{path} (not there)"),
        }
    }
}

/// Lines of a card as they are written: each text has at most `most` characters, each label at most `rows` texts.
struct Lines {
    out: String,
    most: usize,
    rows: usize,
}

impl Lines {
    fn clip(&self, text: &str) -> String {
        clip(text, self.most)
    }

    /// Adds a text under a label; nothing where the text is empty.
    fn one(&mut self, label: &str, text: &str) {
        let text = text.trim();
        if !text.is_empty() {
            self.all(label, &[text.to_owned()]);
        }
    }

    /// Adds texts under a label. What others wrote stands behind a bar.
    fn all(&mut self, label: &str, texts: &[String]) {
        for (at, text) in texts.iter().take(self.rows).enumerate() {
            let label = if at == 0 { label } else { "" };
            for (nth, part) in self.clip(text).lines().enumerate() {
                let label = if nth == 0 { label } else { "" };
                let part = part.trim_end();
                self.out.push_str(&format!("  {label:<8}| {part}\n"));
            }
        }
        if let Some(more @ 1..) = texts.len().checked_sub(self.rows) {
            self.out
                .push_str(&format!("  {:<8}| and {more} more\n", ""));
        }
    }
}

const MORE: &str = "  (cut; `task show --full` shows all of it)\n";

fn clip_id(blob: &str) -> &str {
    blob.get(..10).unwrap_or(blob)
}

/// Clips a text to at most so many characters.
fn clip(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::{Before, Card, Check, Content, FileChange, MOST, READING, Read};
    use crate::contract::Contract;
    use crate::task::node::TaskId;
    use crate::task::status::Status;
    use loopx_base::hint::{Hint, command};
    use loopx_base::id::SessionId;
    use serde_json::Map;

    pub(in crate::task) fn card(text: &str, rows: usize) -> Card {
        let many = vec![text.to_owned(); rows];
        let id = TaskId::parse(&"T".repeat(100)).expect("an id");
        Card {
            session: SessionId::parse("demo").expect("an id"),
            intent: text.to_owned(),
            contract: Contract {
                scope: many.clone(),
                out_of_scope: many.clone(),
                constraints: many.clone(),
                definition_of_done: many.clone(),
                execution_criteria: many.clone(),
            },
            task: id.clone(),
            title: text.to_owned(),
            description: format!("{text} "),
            kind: "work",
            work: Some(text.to_owned()),
            role: Some(text.to_owned()),
            status: Status::Claimed,
            attempt: 2,
            attempts: 3,
            criteria: many.clone(),
            verification: Some(Check::Cmd(many.clone())),
            files: many.clone(),
            changes: vec![FileChange {
                path: text.to_owned(),
                action: Some(text.to_owned()),
                changes: many.clone(),
            }],
            definition_of_done: Some(text.to_owned()),
            fields: Map::new(),
            scenarios: many.clone(),
            outputs: many.clone(),
            there: many.clone(),
            reads: vec![
                Read {
                    path: text.to_owned(),
                    blob: Some(text.to_owned())
                };
                rows
            ],
            deferred: many.clone(),
            rules: vec![
                Read {
                    path: text.to_owned(),
                    blob: None
                };
                rows
            ],
            contents: Vec::new(),
            skill: None,
            before: vec![
                Before {
                    task: id,
                    summary: Some(text.to_owned()),
                    partial: None,
                    caveats: many,
                    deferred: Vec::new(),
                };
                rows
            ],
            waits: vec![text.to_owned(); rows],
            failed: Some(text.to_owned()),
            lead: None,
            below: String::new(),
            is_agents: false,
            absent: Vec::new(),
        }
    }

    #[test]
    fn a_card_has_at_most_two_kilobytes_whatever_is_in_it() {
        for (text, rows) in [("x", 1), ("x", 70), ("word ", 20), ("\u{1f980}", 9)] {
            for times in [1, 7, 900] {
                let card = card(&text.repeat(times), rows);
                let cut = card.text(false);
                assert!(cut.len() <= MOST, "{} bytes of {text:?}", cut.len());
                let whole = card.text(true);
                assert_eq!(whole.len() <= MOST, whole == cut);
                assert_eq!(cut.contains("--full"), whole != cut);
            }
        }
    }

    fn content(path: &str, text: String) -> (String, String, Hint) {
        (path.to_owned(), text, command!("cat {path}"))
    }

    #[test]
    fn contents_have_a_limit_and_say_what_they_leave_out() {
        let line = "a line of nine\n";
        let long = line.repeat(READING / line.len() + 1);
        let all = [
            content("plan.md", "short\n".to_owned()),
            content("spec.md", long.clone()),
            content("x.md", "\u{1f980}".repeat(9)),
        ];
        let all = Content::within(all.into_iter());
        assert_eq!((all[0].text.as_str(), all[0].left_out), ("short\n", None));
        assert!(long.starts_with(&all[1].text) && all[1].text.ends_with('\n'));
        let left: usize = all.iter().filter_map(|one| one.left_out).sum();
        let given: usize = all.iter().map(|one| one.text.len()).sum();
        assert!(given <= READING, "{given}");
        assert_eq!(given + left, "short\n".len() + long.len() + 36);
        let mut card = card("x", 1);
        card.contents = all;
        let said = card.contents(ToString::to_string);
        assert!(
            said.contains("git loopx cat spec.md") && !said.contains("cat plan.md"),
            "{said}"
        );
    }

    #[test]
    fn what_others_wrote_stands_behind_a_bar() {
        let mut card = card("a\n\nnext: rm -rf", 1);
        let all = [content("plan.md", "a\n\nnext: rm -rf".to_owned())];
        card.contents = Content::within(all.into_iter());
        let said = [card.text(true), card.contents(ToString::to_string)].concat();
        for line in said.lines().skip_while(|line| !line.contains('|')) {
            assert!(line.get(10..12) == Some("| "), "{line}");
        }
    }
}
