//! A folder of Backlog.md: one Markdown file for each task, with front matter that is read and never run.

use super::text::{add, item};
use super::{File, Format, Gather};
use crate::issue::plain::{Plain, PlainLink};
use crate::issue::{Made, Source, Status};
use loopx_spec::front::FrontMatter;

/// The fields that have a counterpart.
const KNOWN: [&str; 18] = [
    "id",
    "title",
    "status",
    "assignee",
    "reporter",
    "created_date",
    "labels",
    "dependencies",
    "parent",
    "parent_task_id",
    "priority",
    "milestone",
    "type",
    "due",
    "due_date",
    "planned_start",
    "subtasks",
    "description",
];

/// Folder in which a file lies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Folder {
    Tasks,
    Drafts,
    Archive,
}

pub(super) fn read(files: &[File], g: &mut Gather<'_>) {
    let last = files.iter().find_map(last_status);
    for file in files.iter().filter(|file| file.name.ends_with(".md")) {
        one(file, last.as_deref(), g);
    }
}

/// The last status of the configuration: what has it is done.
fn last_status(file: &File) -> Option<String> {
    let name = file.name.rsplit('/').next()?;
    if !matches!(name, "config.yml" | "config.yaml") {
        return None;
    }
    // What cannot be read as plain fields decides nothing.
    let front = FrontMatter::parse(&format!("---\n{}\n---\n", file.text)).ok()?;
    front.list("statuses").ok()?.pop()
}

fn one(file: &File, last: Option<&str>, g: &mut Gather<'_>) {
    let at = file.name.clone();
    let first = file.text.trim_start_matches('\u{feff}').lines().next();
    let first = first.unwrap_or_default().trim_end();
    if first.starts_with("---") && first != "---" {
        let line = format!("{at}:1");
        return g.fault(
            &line,
            format!("front matter of the language `{}` is not read", &first[3..]),
        );
    }
    let front = match FrontMatter::parse(&file.text) {
        Ok(front) => front,
        Err(fault) => return g.fault(&format!("{at}:{}", fault.line), fault.message),
    };
    let mut reader = Reader { front, at, g };
    let Some(id) = reader.text("id") else {
        let at = reader.at.clone();
        return reader.g.fault(
            &format!("{at}:1"),
            "expected `id` in front matter, found none",
        );
    };
    let id = id.to_lowercase();
    let Some(key) = reader.g.key(&reader.at.clone(), id) else {
        return;
    };
    let Some(plain) = reader.plain(file, key, last) else {
        return;
    };
    let Reader { front, at, g } = reader;
    let mut plain = plain;
    for (name, value) in front.rest(&KNOWN) {
        g.keep(&mut plain, name, value);
    }
    // A label that says what folder it lay in.
    if folder_of(&file.name) == Folder::Drafts {
        plain.labels.push("draft".to_owned());
    }
    g.push(at, plain);
}

fn folder_of(name: &str) -> Folder {
    let mut parts = name.rsplit('/').skip(1);
    match (parts.next(), parts.next()) {
        (_, Some("archive")) => Folder::Archive,
        (Some("drafts"), _) => Folder::Drafts,
        _ => Folder::Tasks,
    }
}

struct Reader<'r, 'w> {
    front: FrontMatter,
    at: String,
    g: &'r mut Gather<'w>,
}

impl Reader<'_, '_> {
    fn text(&mut self, name: &'static str) -> Option<String> {
        match self.front.text(name) {
            Ok(text) => text,
            Err(fault) => {
                self.g
                    .fault(&format!("{}:{}", self.at, fault.line), fault.message);
                None
            }
        }
    }

    fn list(&self, name: &'static str) -> Vec<String> {
        self.front.list(name).unwrap_or_default()
    }

    fn plain(&mut self, file: &File, key: String, last: Option<&str>) -> Option<Plain> {
        let at = self.at.clone();
        let Some(title) = self.text("title") else {
            self.g.fault(
                &format!("{at}:1"),
                "expected `title` in front matter, found none",
            );
            return None;
        };
        let mut plain = Plain {
            title: title.trim().to_owned(),
            source: Some(Source {
                system: Format::Backlog.system().to_owned(),
                id: key.clone(),
            }),
            key: Some(key.clone()),
            ..Plain::default()
        };
        body(&mut plain, &file.text[self.front.body_offset()..]);
        self.status(&mut plain, last);
        if let Some(word) = self.text("type") {
            self.g.kind(&at, &mut plain, &word);
        }
        if let Some(word) = self.text("priority") {
            self.g.priority(&at, &mut plain, &word, 0);
        }
        let labels = self.list("labels");
        self.g.labels(&mut plain, labels);
        let people = self.list("assignee");
        self.g.people(&mut plain, people);
        plain.milestone = self.text("milestone");
        let due = self.text("due_date").or(self.text("due"));
        plain.due = self.g.day(&at, "due_date", due);
        let start = self.text("planned_start");
        plain.defer = self.g.day(&at, "planned_start", start);
        let made = self.text("created_date");
        let reporter = self.text("reporter");
        plain.created = (made.is_some() || reporter.is_some()).then(|| Made {
            by: reporter.unwrap_or_else(|| "unknown".to_owned()),
            at: made,
        });
        let prefix = key.split('-').next().unwrap_or_default();
        let whole = |id: &str| {
            let id = id.trim().to_lowercase();
            if id.starts_with(|c: char| c.is_ascii_digit()) {
                format!("{prefix}-{id}")
            } else {
                id
            }
        };
        let parent = self.text("parent_task_id").or(self.text("parent"));
        let parent = parent.iter().map(|to| ("parent", whole(to)));
        let waits = self.list("dependencies");
        let waits = waits.iter().map(|to| ("blocked-by", whole(to)));
        plain.links = parent
            .chain(waits)
            .map(|(kind, to)| PlainLink {
                kind: kind.to_owned(),
                to,
            })
            .collect();
        Some(plain)
    }

    fn status(&mut self, plain: &mut Plain, last: Option<&str>) {
        let at = self.at.clone();
        let word = self.text("status");
        if let Some(word) = &word {
            let is_last = last.is_some_and(|last| last.eq_ignore_ascii_case(word));
            self.g
                .status(&at, plain, word, |_| is_last.then_some(Status::Resolved));
        }
        if folder_of(&at) == Folder::Archive && !plain.status.is_some_and(Status::is_final) {
            plain.status = Some(Status::Closed);
        }
        if plain.status.is_some_and(Status::is_final) {
            let word = word.as_deref().unwrap_or("archived");
            plain.reason = Some(match folder_of(&at) {
                Folder::Archive => "archived in Backlog.md".to_owned(),
                _ => format!("{word} in Backlog.md"),
            });
        }
    }
}

/// The text of a task: what stands under `Acceptance Criteria` and `Definition of Done` as boxes becomes criteria, the
/// rest is the description.
fn body(plain: &mut Plain, text: &str) {
    let mut description = String::new();
    let mut items = Vec::new();
    let mut is_criteria = false;
    let mut is_code = false;
    for line in text.lines() {
        let bare = line.trim();
        if bare.starts_with("```") || bare.starts_with("~~~") {
            is_code = !is_code;
        }
        if !is_code && let Some(title) = bare.strip_prefix("## ") {
            let title = title.trim().to_lowercase();
            is_criteria =
                title.starts_with("acceptance criteria") || title.starts_with("definition of done");
            // The heading of the description says nothing more.
            if is_criteria || title == "description" {
                continue;
            }
        }
        let is_mark = bare.starts_with("<!--")
            && bare.ends_with("-->")
            && (bare.contains(":BEGIN") || bare.contains(":END"));
        if is_mark {
            continue;
        }
        let is_box = bare.starts_with("- [") || bare.starts_with("* [");
        match item(bare).filter(|_| is_criteria && is_box && !is_code) {
            Some((text, done)) if text.chars().count() <= 300 => {
                items.push((without_number(&text).to_owned(), done));
            }
            _ => {
                description.push_str(line);
                description.push('\n');
            }
        }
    }
    plain.description = description.trim().to_owned();
    add(plain, items);
}

/// A criterion without the number that Backlog.md puts before it.
fn without_number(text: &str) -> &str {
    let Some(rest) = text.strip_prefix('#') else {
        return text;
    };
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    rest.strip_prefix(' ').map_or(text, str::trim)
}
