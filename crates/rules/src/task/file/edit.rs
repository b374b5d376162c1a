//! Changes of a list that leave every byte alone but those that they are about.

use super::{TaskFile, lines};
use crate::task::node::{Node, TaskId};
use loopx_base::json_text::{Kind, Member, Node as Json, parse};
use serde_json::Value;

/// Place where a line goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    End,
    First,
    Before(TaskId),
    After(TaskId),
}

/// Change of one field of a line, by its name, or by its place below another one, as `convergence.criteria`.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    pub field: &'static str,
    /// `None` takes the field out.
    pub value: Option<Value>,
}

/// The text with a line more.
pub fn add(text: &str, file: &TaskFile, line: &str, place: &Place) -> String {
    let mut rows = rows(text);
    let at = index(text, file, place);
    let ending = ending(text);
    if let Some(last) = rows.last_mut()
        && !last.ends_with('\n')
    {
        last.push_str(ending);
    }
    rows.insert(at.min(rows.len()), format!("{line}{ending}"));
    rows.concat()
}

/// The text with a line that is no task behind another one; above all others behind line 0.
pub fn insert(text: &str, line: &str, behind: usize) -> String {
    let mut rows = rows(text);
    let ending = ending(text);
    if let Some(last) = rows.last_mut()
        && !last.ends_with('\n')
    {
        last.push_str(ending);
    }
    let mut line = format!("{line}{ending}");
    if behind == 0
        && let Some(first) = rows.first_mut()
        && let Some(rest) = first.strip_prefix('\u{feff}')
    {
        line.insert(0, '\u{feff}');
        *first = rest.to_owned();
    }
    rows.insert(behind.min(rows.len()), line);
    rows.concat()
}

/// The text with a line in another place.
pub fn relocate(text: &str, file: &TaskFile, node: &Node, place: &Place) -> String {
    let mut rows = rows(text);
    let ending = ending(text);
    let from = node.line - 1;
    let to = index(text, file, place);
    if let Some(last) = rows.last_mut()
        && !last.ends_with('\n')
    {
        last.push_str(ending);
    }
    if from >= rows.len() {
        return text.to_owned();
    }
    let row = rows.remove(from);
    let to = if to > from { to - 1 } else { to };
    rows.insert(to.min(rows.len()), row);
    let out = rows.concat();
    if text.ends_with('\n') {
        out
    } else {
        out.trim_end_matches(['\r', '\n']).to_owned()
    }
}

/// The text with other values in the fields of one node.
pub fn set(text: &str, node: &Node, changes: &[Change]) -> Result<String, String> {
    set_line(text, node.line, changes)
}

/// The text with other values in the fields of one line, numbered from 1.
pub fn set_line(text: &str, line: usize, changes: &[Change]) -> Result<String, String> {
    let mut rows = rows(text);
    let Some(row) = line.checked_sub(1).and_then(|at| rows.get_mut(at)) else {
        return Err(format!("line {line} is gone"));
    };
    let content = row.trim_end_matches(['\r', '\n']);
    let tail = row[content.len()..].to_owned();
    let bom = content.starts_with('\u{feff}').then_some('\u{feff}');
    let content = with(content.trim_start_matches('\u{feff}'), changes)?;
    *row = bom.into_iter().collect::<String>() + &content + &tail;
    Ok(rows.concat())
}

/// The changes of a task, with the edges that stay beside those that it gets.
pub fn with_edges(text: &str, node: &Node, changes: &[Change]) -> Vec<Change> {
    let row = rows(text).into_iter().nth(node.line.saturating_sub(1));
    let row = row.unwrap_or_default();
    let line: Value = serde_json::from_str(row.trim_start_matches('\u{feff}')).unwrap_or_default();
    let mut changes = changes.to_vec();
    for change in &mut changes {
        if let ("depends_on", Some(given)) = (change.field, &change.value) {
            change.value = Some(edges_beside(&line["depends_on"], given));
        }
    }
    changes
}

/// The edges of a line that gets others: those of a kind of which none is given stay, but none that is given as the other kind.
fn edges_beside(stood: &Value, given: &Value) -> Value {
    let all = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let is_optional = |edge: &Value| edge["optional"] == true;
    let on = |edge: &Value| {
        let id = edge.as_str().or_else(|| edge["id"].as_str());
        id.map(str::to_ascii_lowercase)
    };
    let given = all(given);
    let is_given = |edge: &Value| {
        let is_same = |one: &Value| is_optional(one) == is_optional(edge) || on(one) == on(edge);
        given.iter().any(is_same)
    };
    let mut edges = all(stood);
    edges.retain(|edge| !is_given(edge));
    edges.extend(given.iter().cloned());
    Value::from(edges)
}

/// Line with other values in its fields.
pub fn with(line: &str, changes: &[Change]) -> Result<String, String> {
    let mut content = line.to_owned();
    for change in changes {
        let value = change.value.as_ref().map(Value::to_string);
        content = set_field(&content, change.field, value.as_deref())?;
    }
    Ok(content)
}

fn rows(text: &str) -> Vec<String> {
    text.split_inclusive('\n').map(str::to_owned).collect()
}

fn ending(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// The place of a line among all lines of the text.
fn index(text: &str, file: &TaskFile, place: &Place) -> usize {
    let line = |id: &TaskId| file.node(id).map(|node| node.line);
    match place {
        Place::First => lines(text).next().map_or(0, |(first, _)| first - 1),
        Place::Before(id) => line(id).map_or(usize::MAX, |line| line - 1),
        Place::After(id) => line(id).unwrap_or(usize::MAX),
        Place::End => usize::MAX,
    }
}

/// A JSON object with another value in a field, and all its other bytes.
pub(super) fn set_field(text: &str, field: &str, value: Option<&str>) -> Result<String, String> {
    let root = parse(text)?;
    let (outer, inner) = field
        .split_once('.')
        .map_or((field, None), |(outer, inner)| (outer, Some(inner)));
    let (object, key) = match (inner, root.get(outer)) {
        (None, _) => (&root, outer),
        (Some(inner), Some(below)) if matches!(below.kind, Kind::Object(_)) => (below, inner),
        // There is no object to put it into.
        (Some(inner), _) => {
            let Some(value) = value else {
                return Ok(text.to_owned());
            };
            let made = format!("{{{}:{value}}}", Value::from(inner));
            return Ok(put(text, &root, outer, &made));
        }
    };
    Ok(match value {
        Some(value) => put(text, object, key, value),
        None => take(text, object, key),
    })
}

fn members(object: &Json) -> &[Member] {
    match &object.kind {
        Kind::Object(members) => members,
        _ => &[],
    }
}

fn put(text: &str, object: &Json, key: &str, value: &str) -> String {
    if let Some(known) = object.get(key) {
        let (before, after) = (&text[..known.range.start], &text[known.range.end..]);
        return format!("{before}{value}{after}");
    }
    let has_blanks = text.contains("\": ");
    let (comma, colon) = if has_blanks { (", ", ": ") } else { (",", ":") };
    let key = Value::from(key);
    let (end, comma) = match members(object).last() {
        Some(last) => (last.value.range.end, comma),
        None => (object.range.start + 1, ""),
    };
    format!("{}{comma}{key}{colon}{value}{}", &text[..end], &text[end..])
}

fn take(text: &str, object: &Json, key: &str) -> String {
    let members = members(object);
    let Some(at) = members.iter().rposition(|member| member.key == key) else {
        return text.to_owned();
    };
    let cut = match (at.checked_sub(1), members.get(at + 1)) {
        (Some(before), _) => members[before].value.range.end..members[at].value.range.end,
        (None, Some(next)) => members[at].start..next.start,
        (None, None) => members[at].start..members[at].value.range.end,
    };
    format!("{}{}", &text[..cut.start], &text[cut.end..])
}
