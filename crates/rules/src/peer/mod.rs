//! Changes of other workflow tools, as sessions of this program.
//!
//! A reader takes files and gives sessions, or faults with their places: nothing is taken over of a tree that has
//! one. It knows nothing of the repository. What a tool called done, approved or proven is kept and named, and counts
//! for nothing here: a session begins in its first stage, whatever was said of it elsewhere.

mod ccw;
mod ccw_session;
mod json;
mod loopx;
mod maestro;
mod messages;

pub use loopx::is_root as is_loopx_root;
pub use messages::{Brought, MESSAGES, messages, wisdom, wisdom_kind};

use super::artifact::Artifact;
use super::contract::Contract;
use super::note::{NoteKind, Said};
use super::openspec::is_day;
use super::task::file;
use json::{Object, at, machine_free};
use loopx_base::failure::{Blocker, Code, Failure, Result};
use loopx_base::hint::command;
use loopx_base::vocabulary::vocabulary;
use loopx_spec::Severity;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

vocabulary!(
    /// A tool that kept its work in files of the worktree.
    Tool {
        /// The JavaScript program, 0.1 to 0.8.
        Loopx = "loopx",
        Maestro = "maestro",
        /// Claude-Code-Workflow: its teams, its sessions, and what it knows of the project.
        Ccw = "ccw",
    }
);

impl Tool {
    /// The folders that it keeps everything in, the newest name first.
    pub fn roots(self) -> &'static [&'static str] {
        match self {
            Tool::Loopx => &loopx::ROOTS,
            Tool::Maestro | Tool::Ccw => &[".workflow"],
        }
    }

    /// Files that a tree of the tool has in it.
    pub fn expected(self) -> &'static str {
        match self {
            Tool::Loopx => "workflows/<slug>/, changes/active/<id>/ or specs/<domain>/spec.md",
            Tool::Maestro => ".maestro/<id>/status.json or sessions/<id>/session.json",
            Tool::Ccw => {
                ".team/<id>/ with an id that begins with TLS-, TLV4- or TC-, active/<id>/workflow-session.json or project-tech.json"
            }
        }
    }

    /// Folders that are read of a tree; an empty list is all of it.
    pub fn folders(self) -> &'static [&'static str] {
        match self {
            Tool::Loopx => &[],
            Tool::Maestro => &maestro::FOLDERS,
            Tool::Ccw => &ccw::FOLDERS,
        }
    }

    /// The folder of one session at the end of a path, as it lies in the tree.
    pub fn session_folder(self, parts: &[String]) -> Option<String> {
        let [.., folder, id] = parts else {
            return None;
        };
        let is_one = self.folders().contains(&folder.as_str());
        is_one.then(|| format!("{folder}/{id}"))
    }
}

/// The files of a tree, by their paths in it.
pub type Files = BTreeMap<String, Vec<u8>>;

/// Remark on what has no counterpart here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Remark {
    /// The file, with the place in it.
    pub at: String,
    pub message: String,
}

/// Fault for which a tree cannot be taken over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub code: Code,
    /// The file, with the place in it.
    pub at: String,
    pub message: String,
}

/// A session in the making.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// Folder of the session in the tree.
    pub folder: String,
    /// Name that the session's id is made of.
    pub name: String,
    pub title: String,
    /// `yyyy-mm-dd`.
    pub created: Option<String>,
    /// End of the session there, with its day where that is known.
    pub ended: Option<Option<String>>,
    /// State of the session there, in words.
    pub stood: String,
    pub artifacts: BTreeMap<Artifact, String>,
    /// The boundary that its plan draws, beside its artifacts.
    pub contract: Contract,
    /// Files of the session as they were, less the paths of a machine.
    pub files: Files,
    pub notes: Vec<Said>,
    pub tasks: usize,
    pub remarks: Vec<Remark>,
}

impl Taken {
    fn remark(&mut self, at: impl Into<String>, message: impl Into<String>) {
        self.remarks.push(Remark {
            at: at.into(),
            message: message.into(),
        });
    }

    /// Keeps a file beside the artifacts.
    fn keep(&mut self, path: &str, bytes: &[u8]) {
        let (kept, changed) = without_machine(path, bytes);
        if changed {
            self.remark(path, "paths of a machine are left out of the copy");
        }
        self.files.insert(path.to_owned(), kept);
    }

    /// Adds a note; what is longer than a note stands in the files.
    fn note(&mut self, kind: NoteKind, text: String) {
        self.say(Said::new(kind, text));
    }

    fn say(&mut self, mut said: Said) {
        const LONGEST: usize = 60 * 1024;
        let mut text = std::mem::take(&mut said.text);
        let mut end = text.len().min(LONGEST);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        if !text.trim().is_empty() {
            self.notes.push(Said { text, ..said });
        }
    }

    /// Makes lines the list of tasks, unless the list is none. `places` says where each line comes from.
    fn list(&mut self, lines: &[String], places: &[String], faults: &mut Vec<Fault>) {
        if lines.is_empty() {
            return;
        }
        let text = format!("{}\n", lines.join("\n"));
        match file::read(&text) {
            Ok(_) => {
                self.tasks = lines.len();
                self.artifacts.insert(Artifact::TaskList, text);
            }
            Err(findings) => {
                for one in findings {
                    if one.severity == Severity::Error {
                        let at = places.get(one.line.saturating_sub(1));
                        faults.push(Fault {
                            code: Code::ImportInvalid,
                            at: at.unwrap_or(&self.folder).clone(),
                            message: one.message,
                        });
                    }
                }
            }
        }
    }
}

/// Sessions, specs and notes that a tree gave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    pub sessions: Vec<Taken>,
    /// Accepted specs, by domain.
    pub specs: BTreeMap<String, String>,
    /// Notes that belong to no session, for the journal.
    pub journal: Vec<String>,
    /// Files that nothing was made of; they stay where they are.
    pub left: Vec<String>,
    /// Remarks on what has no counterpart, and is about no session.
    pub remarks: Vec<Remark>,
}

/// Reads a tree. `label` is how people name it.
pub fn read(tool: Tool, files: &Files, label: &str) -> Result<Found> {
    let mut faults = Vec::new();
    let found = match tool {
        Tool::Loopx => loopx::read(files, &mut faults),
        Tool::Maestro => maestro::read(files, &mut faults),
        Tool::Ccw => ccw::read(files, &mut faults),
    };
    if let Some(first) = faults.first() {
        let message = format!(
            "nothing was imported: {label}/{}: {}",
            first.at, first.message
        );
        let code = first.code;
        let blockers = faults.iter().map(|fault| {
            let said = format!("{label}/{}: {}", fault.at, fault.message);
            Blocker::new(fault.code, said, "mend the file, then import again")
        });
        return Err(Failure::refused(code, message)
            .blockers(blockers.collect())
            .help("mend what is named, then import again"));
    }
    if found.sessions.is_empty() && found.specs.is_empty() && found.journal.is_empty() {
        return Err(Failure::refused(
            Code::ImportNothing,
            format!(
                "`{label}` has nothing of {tool}: expected {} in it",
                tool.expected()
            ),
        )
        .help(command!("help import")));
    }
    Ok(found)
}

/// A file as text, or a fault.
fn text<'f>(files: &'f Files, path: &str, faults: &mut Vec<Fault>) -> Option<&'f str> {
    match std::str::from_utf8(files.get(path)?) {
        Ok(text) => Some(text.strip_prefix('\u{feff}').unwrap_or(text)),
        Err(error) => {
            faults.push(Fault {
                code: Code::ImportNotUtf8,
                at: path.to_owned(),
                message: format!(
                    "expected UTF-8, found other bytes at {}",
                    error.valid_up_to()
                ),
            });
            None
        }
    }
}

/// A copy of a file in which JSON names no path of a machine, and whether that changed it.
fn without_machine(path: &str, bytes: &[u8]) -> (Vec<u8>, bool) {
    let text = std::str::from_utf8(bytes).ok();
    let rewritten = match path.rsplit('.').next() {
        Some("json") => text.and_then(|text| {
            let value: Value = serde_json::from_str(text).ok()?;
            let free = machine_free(&value);
            (free != value).then(|| format!("{free:#}\n"))
        }),
        Some("jsonl" | "ndjson") => text.and_then(|text| {
            let mut changed = false;
            let lines = text.lines().map(|line| {
                let Ok(value) = serde_json::from_str::<Value>(line) else {
                    return line.to_owned();
                };
                let free = machine_free(&value);
                if free == value {
                    return line.to_owned();
                }
                changed = true;
                free.to_string()
            });
            let lines: Vec<String> = lines.collect();
            changed.then(|| format!("{}\n", lines.join("\n")))
        }),
        _ => None,
    };
    match rewritten {
        Some(text) => (text.into_bytes(), true),
        None => (bytes.to_vec(), false),
    }
}

/// The day that a time begins with.
fn day(time: Option<&str>) -> Option<String> {
    let day = time?.get(..10)?;
    is_day(day).then(|| day.to_owned())
}

/// The first level-1 heading of a document.
fn heading(text: &str) -> Option<&str> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("# "))?
        .trim();
    (!line.is_empty()).then_some(line)
}

/// `intent.md`: the request, where it came from, and what was said of it in lists.
fn intent(tool: Tool, request: &str, folder: &str) -> String {
    format!("{}\n\nImported from {tool}: `{folder}`.\n", request.trim())
}

/// A sentence with a number, where there is anything to count.
fn counted_remark(taken: &mut Taken, at: &str, count: usize, all: usize, message: &str) {
    if count > 0 {
        taken.remark(at, format!("{count} of {all} {message}"));
    }
}

/// Names the fields of a session that nothing is made of.
fn no_counterpart(taken: &mut Taken, state: Object<'_>, fields: &[&str]) {
    for field in fields {
        if let Some(value) = state.get(field) {
            taken.remark(
                at(state.file, field),
                format!("{value} has no counterpart in a session, and is kept in imported/"),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Files, Tool, read};

    fn files(of: &[(&str, &str)]) -> Files {
        of.iter()
            .map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()))
            .collect()
    }

    #[test]
    fn no_path_of_a_machine_is_kept() {
        let state = r#"{"schema_version":1,"slug":"a","current_stage":"plan","spec_artifact_path":"/home/ada/x/.loopx/specs/a.md","root":"C:\\Users\\ada"}"#;
        let found = read(
            Tool::Loopx,
            &files(&[("workflows/a/state.json", state)]),
            ".loopx",
        );
        let found = found.expect("a tree");
        let kept = String::from_utf8_lossy(&found.sessions[0].files["workflows/a/state.json"]);
        assert!(kept.contains("\".loopx/specs/a.md\""), "{kept}");
        assert!(!kept.contains("ada"), "{kept}");
    }
}
