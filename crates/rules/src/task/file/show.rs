//! A list as other forms have it: a table for people, one document for programs.

use super::TaskFile;
use crate::task::node::{Node, TaskId, Verification};
use loopx_base::vocabulary::vocabulary;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;

vocabulary!(
    /// A form in which a list is written out.
    Form {
        /// The file as it is.
        Jsonl = "jsonl",
        /// A table, and a section for each task.
        Markdown = "markdown",
        /// Document with all tasks.
        Json = "json",
    }
);

/// A table of the tasks, then each with its scope, files, criteria and check. The same list gives the same bytes.
pub fn markdown(file: &TaskFile) -> String {
    let mut out = String::from(
        "| # | ID | Title | Type | Priority | Effort | Dependencies |\n|---|---|---|---|---|---|---|\n",
    );
    for (at, node) in file.nodes.iter().enumerate() {
        let needs: Vec<&str> = node
            .depends_on
            .iter()
            .map(|edge| edge.on.as_str())
            .collect();
        let cells = [
            (at + 1).to_string(),
            node.id.to_string(),
            node.title.clone(),
            word(file, at, "type"),
            word(file, at, "priority"),
            word(file, at, "effort"),
            needs.join(", "),
        ];
        let cells: Vec<String> = cells
            .iter()
            .map(|cell| cell.replace('|', "\\|").replace('\n', " "))
            .collect();
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    }
    for (at, node) in file.nodes.iter().enumerate() {
        section(file, at, node, &mut out);
    }
    out
}

impl TaskFile {
    /// The points of the tasks that have some, and of those that gates would insert, by the keys of their ids.
    pub fn points(&self) -> BTreeMap<String, u64> {
        let mut found = BTreeMap::new();
        let mut open: Vec<&Value> = Vec::new();
        for fields in &self.fields {
            note_points((fields.get("id"), fields.get("points")), &mut found);
            open.extend(fields.get("gate"));
        }
        while let Some(gate) = open.pop() {
            let lines = gate.get("repair").and_then(Value::as_array);
            for line in lines.into_iter().flatten() {
                note_points((line.get("id"), line.get("points")), &mut found);
                open.extend(line.get("gate"));
            }
        }
        found
    }

    /// A field of a task that is one word or number, as it is written.
    pub fn word(&self, at: usize, field: &str) -> String {
        word(self, at, field)
    }
}

fn note_points((id, points): (Option<&Value>, Option<&Value>), found: &mut BTreeMap<String, u64>) {
    let id = id.and_then(Value::as_str).and_then(TaskId::parse);
    let points = points.and_then(Value::as_u64);
    if let Some((id, points)) = id.zip(points) {
        found.entry(id.key()).or_insert(points);
    }
}

fn word(file: &TaskFile, at: usize, field: &str) -> String {
    match file.fields.get(at).and_then(|fields| fields.get(field)) {
        Some(Value::String(text)) => text.clone(),
        Some(value @ Value::Number(_)) => value.to_string(),
        _ => String::new(),
    }
}

fn section(file: &TaskFile, at: usize, node: &Node, out: &mut String) {
    let _ = writeln!(out, "\n## {}: {}\n", node.id, node.title);
    if !node.description.is_empty() {
        let _ = writeln!(out, "{}\n", node.description);
    }
    let scope = word(file, at, "scope");
    if !scope.is_empty() {
        let _ = writeln!(out, "- Scope: {scope}");
    }
    for one in &node.files {
        let action = one
            .action
            .as_deref()
            .map_or(String::new(), |action| format!(" ({action})"));
        let _ = writeln!(out, "- File: `{}`{action}", one.path);
    }
    for criterion in &node.criteria {
        let _ = writeln!(out, "- [ ] {criterion}");
    }
    match &node.verification {
        Some(Verification::Cmd(argv)) => {
            let words: Vec<String> = argv
                .iter()
                .map(|word| loopx_base::shell_word(word))
                .collect();
            let _ = writeln!(out, "- Check: `{}`", words.join(" "));
        }
        Some(Verification::Manual(what)) => {
            let _ = writeln!(out, "- Check, by a person: {what}");
        }
        None => {}
    }
    let done = file
        .fields
        .get(at)
        .and_then(|fields| fields.get("convergence"));
    if let Some(Value::String(done)) = done.and_then(|said| said.get("definition_of_done")) {
        let _ = writeln!(out, "- Done: {done}");
    }
}

/// Every task with all its fields, as one list.
pub fn values(file: &TaskFile) -> Value {
    let task =
        |fields: &super::Fields| -> Map<String, Value> { fields.0.iter().cloned().collect() };
    json!(file.fields.iter().map(task).collect::<Vec<_>>())
}
