//! A list of check boxes in Markdown: each box is an issue, and what stands below one with a deeper indent is a part of it.

use super::text::titled;
use super::{File, Format, Gather};
use crate::issue::plain::{Plain, PlainLink};
use crate::issue::{Source, Status};
use serde_json::Value;
use std::collections::HashMap;

/// A box at the beginning of a line: how far it stands from the margin, its text, and whether it is ticked.
fn tick_box(line: &str) -> Option<(usize, &str, bool)> {
    let bare = line.trim_start();
    let indent = width(&line[..line.len() - bare.len()]);
    let rest = bare.strip_prefix(['-', '*', '+'])?;
    let rest = rest.strip_prefix([' ', '\t'])?.trim_start();
    let (rest, done) = match rest.strip_prefix("[ ]") {
        Some(rest) => (rest, false),
        None => (rest.strip_prefix("[x]").or(rest.strip_prefix("[X]"))?, true),
    };
    let text = rest.strip_prefix([' ', '\t'])?.trim();
    (!text.is_empty()).then_some((indent, text, done))
}

/// The columns that an indent takes; a tab goes to the next fourth one.
fn width(indent: &str) -> usize {
    indent.chars().fold(0, |width, c| match c {
        '\t' => width / 4 * 4 + 4,
        _ => width + 1,
    })
}

fn heading(line: &str) -> Option<&str> {
    let text = line.trim_start_matches('#');
    let level = line.len() - text.len();
    let text = text.strip_prefix([' ', '\t'])?.trim();
    ((1..=6).contains(&level) && !text.is_empty()).then_some(text)
}

fn is_fence(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("```") || line.starts_with("~~~")
}

/// Tells whether a text has check boxes and is no document of another kind: front matter and the headings of a roadmap
/// say more than boxes do.
pub(super) fn is_one(text: &str) -> bool {
    let is_roadmap = |title: &str| {
        let first = title.split([' ', ':']).next().unwrap_or_default();
        ["milestone", "phase"].contains(&first.to_lowercase().as_str())
    };
    let mut is_code = false;
    let mut has_box = false;
    for (at, line) in text.lines().enumerate() {
        is_code ^= is_fence(line);
        if at == 0 && line.starts_with("---") || heading(line).is_some_and(is_roadmap) {
            return false;
        }
        has_box |= !is_code && tick_box(line).is_some();
    }
    has_box
}

pub(super) fn read(files: &[File], g: &mut Gather<'_>) {
    for file in files {
        let mut list = List::of(file);
        for (at, line) in file.text.trim_start_matches('\u{feff}').lines().enumerate() {
            list.line(at + 1, line, g);
        }
        list.end(g);
    }
}

/// An issue whose lines are not all read.
struct Open {
    line: usize,
    indent: usize,
    key: String,
    at: String,
    plain: Plain,
    /// The lines below its box that are text.
    text: Vec<String>,
}

struct List<'f> {
    file: &'f File,
    /// The issues that the next line can belong to, the innermost last.
    open: Vec<Open>,
    heading: Option<String>,
    times: HashMap<String, usize>,
    is_code: bool,
    /// Lines of text that belong to no box, and the first of them.
    strays: (usize, usize),
    /// The issues of which every line is read.
    whole: Vec<Open>,
}

impl<'f> List<'f> {
    fn of(file: &'f File) -> Self {
        List {
            file,
            open: Vec::new(),
            heading: None,
            times: HashMap::new(),
            is_code: false,
            strays: (0, 0),
            whole: Vec::new(),
        }
    }

    fn line(&mut self, number: usize, line: &str, g: &mut Gather<'_>) {
        let is_code = self.is_code || is_fence(line);
        self.is_code ^= is_fence(line);
        if !is_code {
            if let Some((indent, text, done)) = tick_box(line) {
                self.close(indent);
                return self.open(number, (indent, text, done), g);
            }
            if let Some(text) = heading(line) {
                self.close(0);
                self.heading = Some(text.to_owned());
                return;
            }
        }
        self.text(number, line);
    }

    /// Adds text to the innermost box that it stands deeper than; text of no box is told.
    fn text(&mut self, number: usize, line: &str) {
        if line.trim().is_empty() {
            if let Some(one) = self.open.last_mut() {
                one.text.push(String::new());
            }
            return;
        }
        let bare = line.trim_start();
        let indent = width(&line[..line.len() - bare.len()]);
        let is_within = |one: &Open| indent > one.indent;
        if !self.is_code {
            while self.open.last().is_some_and(|one| !is_within(one)) {
                self.pop();
            }
        }
        match self.open.last_mut() {
            Some(one) => {
                // What an item has stands two columns deeper than its box.
                let own = line.len() - bare.len();
                let cut = own.min(one.indent + 2);
                one.text.push(line.get(cut..).unwrap_or(bare).to_owned());
            }
            None => {
                let (count, first) = self.strays;
                self.strays = (count + 1, if count == 0 { number } else { first });
            }
        }
    }

    fn open(
        &mut self,
        number: usize,
        (indent, text, done): (usize, &str, bool),
        g: &mut Gather<'_>,
    ) {
        let at = format!("{}:{number}", self.file.name);
        let parent = self.open.last().map(|one| one.key.clone());
        // The name of the file alone: whoever takes it over elsewhere has it in another folder.
        let name = self
            .file
            .name
            .rsplit(['/', '\\'])
            .next()
            .unwrap_or_default();
        let path = match &parent {
            Some(parent) => format!("{parent} > {text}"),
            None => format!("{name} {text}"),
        };
        let times = self.times.entry(path.clone()).or_default();
        *times += 1;
        let path = match times {
            1 => path,
            more => format!("{path} ({more})"),
        };
        let path: String = path
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        let Some(key) = g.key(&at, super::text::short(&path)) else {
            return;
        };
        let (title, rest) = titled(text);
        let status = if done { Status::Resolved } else { Status::Open };
        let mut plain = Plain {
            title,
            description: rest,
            status: Some(status),
            reason: done.then(|| "ticked in Markdown".to_owned()),
            source: Some(Source {
                system: Format::Markdown.system().to_owned(),
                id: key.clone(),
            }),
            key: Some(key.clone()),
            ..Plain::default()
        };
        plain.links.extend(parent.map(|to| PlainLink {
            kind: "parent".to_owned(),
            to,
        }));
        if let Some(heading) = &self.heading {
            g.keep(
                &mut plain,
                "heading".to_owned(),
                Value::String(heading.clone()),
            );
        }
        self.open.push(Open {
            line: number,
            indent,
            key,
            at,
            plain,
            text: Vec::new(),
        });
    }

    /// Ends the issues of which nothing with this indent can be a part.
    fn close(&mut self, indent: usize) {
        while self.open.last().is_some_and(|one| one.indent >= indent) {
            self.pop();
        }
    }

    fn pop(&mut self) {
        let Some(mut one) = self.open.pop() else {
            return;
        };
        let text = one.text.join("\n");
        let text = text.trim_matches('\n');
        if !text.trim().is_empty() {
            if !one.plain.description.is_empty() {
                one.plain.description.push_str("\n\n");
            }
            one.plain.description.push_str(text);
        }
        self.whole.push(one);
    }

    fn end(mut self, g: &mut Gather<'_>) {
        self.close(0);
        self.whole.sort_by_key(|one| one.line);
        for one in std::mem::take(&mut self.whole) {
            g.push(one.at, one.plain);
        }
        let (count, first) = self.strays;
        if count > 0 {
            let lines = if count == 1 { "line is" } else { "lines are" };
            g.remark(
                &format!("{}:{first}", self.file.name),
                format!("{count} {lines} without a check box, and not taken over"),
            );
        }
    }
}
