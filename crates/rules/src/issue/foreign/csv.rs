//! Issues as rows of a table with a header, as Jira and Linear export them. The names of the columns tell what they say;
//! a column of another name is kept under it.

use super::json::Fields;
use super::rows::{Row, Rows};
use super::text::{moment, short, titled};
use super::{File, Format, Gather};
use crate::issue::filter::{is_day, minutes};
use crate::issue::plain::{Estimate, Plain, PlainLink};
use crate::issue::{Made, Said, Status};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap};

/// The names of columns that say something that an issue has: of one that has several names each counts.
const COLUMNS: [(&str, &[&str]); 21] = [
    ("key", &["issue key", "key", "id", "identifier"]),
    ("number", &["issue id", "number", "#"]),
    ("title", &["summary", "title", "name", "subject"]),
    ("description", &["description", "body"]),
    ("kind", &["issue type", "type", "kind", "tracker"]),
    ("status", &["status", "state"]),
    ("resolution", &["resolution"]),
    ("priority", &["priority"]),
    ("assignee", &["assignee", "assigned to", "owner"]),
    ("by", &["reporter", "creator", "author", "created by"]),
    ("labels", &["labels", "label", "tags"]),
    ("comment", &["comment", "comments"]),
    ("created", &["created", "created at", "date created"]),
    ("due", &["due date", "due", "deadline"]),
    (
        "milestone",
        &[
            "milestone",
            "project milestone",
            "fix version/s",
            "fix versions",
        ],
    ),
    ("estimate", &["original estimate", "estimate"]),
    (
        "parent",
        &[
            "parent",
            "parent id",
            "parent key",
            "parent issue",
            "epic link",
            "custom field (epic link)",
        ],
    ),
    (
        "blocked-by",
        &[
            "blocked by",
            "depends on",
            "dependencies",
            "inward issue link (blocks)",
        ],
    ),
    (
        "blocks",
        &["blocks", "blocking", "outward issue link (blocks)"],
    ),
    (
        "related",
        &[
            "related",
            "related to",
            "relates to",
            "inward issue link (relates)",
            "outward issue link (relates)",
        ],
    ),
    (
        "duplicate-of",
        &["duplicate of", "outward issue link (duplicate)"],
    ),
];

/// Columns of which one beside the title tells that a table is one of issues.
const TELLING: [&str; 5] = ["key", "status", "priority", "kind", "description"];

/// Words for an end by which nothing was done.
const NOT_DONE: [&str; 9] = [
    "won't do",
    "won't fix",
    "wontfix",
    "duplicate",
    "cannot reproduce",
    "declined",
    "rejected",
    "abandoned",
    "obsolete",
];

/// The seconds of an estimate in a column that Jira writes.
const IN_SECONDS: &str = "original estimate";

/// Field of an issue that a column has, by its name.
fn known(name: &str) -> Option<&'static str> {
    if name.len() > 40 {
        return None;
    }
    let name = name.trim().to_lowercase();
    let mut all = COLUMNS.iter();
    all.find_map(|(what, names)| names.contains(&name.as_str()).then_some(*what))
}

/// Tells whether the first row of a text names the columns of issues.
pub(super) fn is_one(text: &str) -> bool {
    let Some(Ok(header)) = Rows::detected(text).next() else {
        return false;
    };
    let what: Vec<&str> = header.cells.iter().filter_map(|name| known(name)).collect();
    what.contains(&"title") && TELLING.iter().any(|one| what.contains(one))
}

pub(super) fn read(files: &[File], g: &mut Gather<'_>) {
    for file in files {
        let mut rows = Rows::detected(&file.text);
        let header = match rows.next() {
            Some(Ok(row)) => row.cells,
            Some(Err(broken)) => {
                g.fault(&format!("{}:{}", file.name, broken.line), broken.what);
                continue;
            }
            None => continue,
        };
        if !header.iter().any(|name| known(name) == Some("title")) {
            let at = format!("{}:1", file.name);
            g.fault(
                &at,
                "expected a column for the title, as Summary or Title, in the first row, found none",
            );
            continue;
        }
        let mut table = Table::of(header);
        for row in rows {
            match row {
                Ok(row) => table.row(&file.name, row, g),
                Err(broken) => g.fault(&format!("{}:{}", file.name, broken.line), broken.what),
            }
        }
        table.issues(&file.name, g);
    }
}

/// A row by what its columns say.
struct Cells {
    at: String,
    said: BTreeMap<&'static str, Vec<String>>,
    rest: Map<String, Value>,
}

impl Cells {
    /// The values of all columns that say this.
    fn all(&mut self, what: &str) -> Vec<String> {
        self.said.remove(what).unwrap_or_default()
    }

    /// Takes the first value; more of them are kept.
    fn one(&mut self, what: &'static str) -> Option<String> {
        let mut all = self.all(what).into_iter();
        let first = all.next();
        let more: Vec<Value> = all.map(Value::String).collect();
        if !more.is_empty() {
            self.rest.insert(what.to_owned(), Value::Array(more));
        }
        first
    }

    /// The values of lists within fields.
    fn items(&mut self, what: &str) -> Vec<String> {
        let all = self.all(what);
        let items = all.iter().flat_map(|text| text.split([',', ';', '\n']));
        let items = items.map(str::trim).filter(|item| !item.is_empty());
        items.map(str::to_owned).collect()
    }
}

struct Table {
    header: Vec<String>,
    rows: Vec<Cells>,
    /// The keys of issues by the number that stands beside them.
    keys: HashMap<String, String>,
}

impl Table {
    fn of(header: Vec<String>) -> Self {
        Table {
            header,
            rows: Vec::new(),
            keys: HashMap::new(),
        }
    }

    fn row(&mut self, file: &str, row: Row, g: &mut Gather<'_>) {
        let at = format!("{file}:{}", row.line);
        let (columns, fields) = (self.header.len(), row.cells.len());
        if fields != columns {
            let message = format!("expected {columns} fields as the first row has, found {fields}");
            return g.fault(&at, message);
        }
        let mut cells = Cells {
            at,
            said: BTreeMap::new(),
            rest: Map::new(),
        };
        let named = self.header.iter().zip(row.cells).enumerate();
        for (place, (name, cell)) in named.filter(|(_, (_, cell))| !cell.trim().is_empty()) {
            match known(name) {
                Some("estimate") if name.trim().eq_ignore_ascii_case(IN_SECONDS) => {
                    let seconds = cell.trim().parse::<u64>();
                    let text = seconds.map_or(cell, |seconds| format!("{}m", seconds / 60));
                    cells.said.entry("estimate").or_default().push(text);
                }
                Some(what) => cells.said.entry(what).or_default().push(cell),
                None => keep(&mut cells.rest, field_name(name, place), cell),
            }
        }
        let number = cells.all("number").into_iter().next();
        let key = cells.one("key").or(number.clone());
        if let (Some(number), Some(key)) = (number, &key) {
            self.keys.insert(number, key.clone());
        }
        cells.said.extend(key.map(|key| ("key", vec![key])));
        self.rows.push(cells);
    }

    fn issues(self, file: &str, g: &mut Gather<'_>) {
        let is_unnamed = |row: &Cells| !row.said.contains_key("key");
        if self.rows.iter().any(is_unnamed) {
            g.remark(
                file,
                "where no column gives an id, the title says which issue it is",
            );
        }
        for row in self.rows {
            one(row, &self.keys, g);
        }
    }
}

/// The name under which a column is kept.
fn field_name(name: &str, place: usize) -> String {
    let name: String = name.split_whitespace().collect::<Vec<_>>().join(" ");
    if name.is_empty() {
        format!("column {}", place + 1)
    } else {
        name
    }
}

/// Keeps a field; a column that is there several times gives a list.
fn keep(rest: &mut Map<String, Value>, name: String, cell: String) {
    let cell = Value::String(cell);
    match rest.get_mut(&name) {
        None => drop(rest.insert(name, cell)),
        Some(Value::Array(items)) => items.push(cell),
        Some(first) => *first = Value::Array(vec![first.take(), cell]),
    }
}

fn one(mut row: Cells, keys: &HashMap<String, String>, g: &mut Gather<'_>) {
    let at = row.at.clone();
    let Some(title) = row.one("title") else {
        return g.fault(&at, "expected a title, found none");
    };
    let key = row.one("key").unwrap_or_else(|| short(&title));
    let (title, whole) = titled(&title);
    if !whole.is_empty() {
        g.remark(
            &at,
            "its title is too long: the whole title is in the description",
        );
    }
    let map = [("title".to_owned(), Value::String(title))].into_iter();
    let mut fields = Fields {
        at: at.clone(),
        map: map.collect(),
    };
    let Some(mut plain) = g.begin(Format::Csv, key, &mut fields) else {
        return;
    };
    let texts = [Some(whole), row.one("description")].into_iter().flatten();
    let texts: Vec<String> = texts.filter(|text| !text.is_empty()).collect();
    plain.description = texts.join("\n\n");
    if let Some(word) = row.one("kind") {
        g.kind(&at, &mut plain, &word);
    }
    status(&mut plain, &mut row, g);
    let none = |word: &String| !["none", "no priority"].contains(&word.to_lowercase().as_str());
    if let Some(word) = row.one("priority").filter(none) {
        g.priority(&at, &mut plain, &word, 0);
    }
    let labels = row.items("labels");
    g.labels(&mut plain, labels);
    let people = row.all("assignee");
    g.people(&mut plain, people);
    plain.milestone = row.one("milestone");
    made(&mut plain, &mut row, g);
    for text in row.all("comment") {
        plain.comments.push(said(text));
    }
    links(&mut plain, &mut row, keys);
    fields.map = row.rest;
    g.end(plain, fields);
}

fn status(plain: &mut Plain, row: &mut Cells, g: &mut Gather<'_>) {
    let resolution = row.one("resolution");
    if let Some(word) = row.one("status") {
        g.status(&row.at, plain, &word, |word| match word {
            // What is closed was done, unless the resolution says otherwise.
            "closed" => Some(Status::Resolved),
            "duplicate" => Some(Status::Closed),
            _ => None,
        });
        if plain.status.is_some_and(Status::is_final) {
            let is_not_done = |how: &String| NOT_DONE.contains(&how.to_lowercase().as_str());
            let how = resolution.as_ref().filter(|how| is_not_done(how));
            plain.status = how.map_or(plain.status, |_| Some(Status::Closed));
            plain.reason = Some(match how {
                Some(how) => format!("{word} in csv: {how}"),
                None => format!("{word} in csv"),
            });
        }
    }
    if let Some(how) = resolution {
        keep(&mut row.rest, "resolution".to_owned(), how);
    }
}

/// Maker, times and estimate of an issue. A time in no form that is known stays as data.
fn made(plain: &mut Plain, row: &mut Cells, g: &mut Gather<'_>) {
    let created = row.one("created");
    let at = created.as_ref().and_then(|text| moment(text));
    if let (Some(text), None) = (&created, &at) {
        keep(&mut row.rest, "created".to_owned(), text.clone());
    }
    let by = row.one("by");
    plain.created = (by.is_some() || at.is_some()).then(|| Made {
        by: by.unwrap_or_else(|| "unknown".to_owned()),
        at,
    });
    if let Some(text) = row.one("due") {
        let day = moment(&text).and_then(|at| at.get(..10).map(str::to_owned));
        plain.due = day.filter(|day| is_day(day));
        if plain.due.is_none() {
            g.remark(
                &row.at,
                format!("`{text}` is not a day in a known form: the text is kept as data"),
            );
            keep(&mut row.rest, "due".to_owned(), text);
        }
    }
    if let Some(text) = row.one("estimate") {
        match minutes(text.trim()) {
            Some(0) => {}
            Some(_) => plain.estimate = Some(Estimate::Text(text.trim().to_owned())),
            // Points are no time.
            None => keep(&mut row.rest, "estimate".to_owned(), text),
        }
    }
}

/// A comment as Jira writes it: its time, who said it and the text, between semicolons; else a text.
fn said(text: String) -> Said {
    let mut parts = text.splitn(3, ';');
    let found = match (parts.next(), parts.next(), parts.next()) {
        (Some(at), Some(by), Some(said)) if !said.trim().is_empty() => {
            moment(at).map(|at| (at, by.trim().to_owned(), said.to_owned()))
        }
        _ => None,
    };
    let (at, by, text) = match found {
        Some((at, by, said)) => (Some(at), by, said),
        None => (None, String::new(), text),
    };
    Said {
        at,
        by: if by.is_empty() {
            "unknown".to_owned()
        } else {
            by
        },
        kind: crate::issue::taken::message(),
        text,
    }
}

fn links(plain: &mut Plain, row: &mut Cells, keys: &HashMap<String, String>) {
    for kind in ["parent", "blocked-by", "blocks", "related", "duplicate-of"] {
        for other in row.items(kind) {
            let link = PlainLink {
                kind: kind.to_owned(),
                to: keys.get(&other).cloned().unwrap_or(other),
            };
            if !plain.links.contains(&link) {
                plain.links.push(link);
            }
        }
    }
}
