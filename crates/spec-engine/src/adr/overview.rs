//! Texts generated from decision records: the drafts' templates, the index and the graph.
//!
//! The index is a block between two markers: it is written anew from the records, never merged.

use super::edit::Target;
use super::record::{Record, Status, is_reverse, reverse, verb_key};
use super::text::headings;
use super::{edit, text};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{command, hint};
use std::collections::BTreeSet;
use std::fmt::Write;

const BEGIN: &str = "<!-- loopx:adr-index:begin (git loopx adr index --write) -->";
const END: &str = "<!-- loopx:adr-index:end -->";

/// Guide that stands in a draft until somebody writes the context of the decision.
const CONTEXT_GUIDE: &str = "<!-- What is the problem, in two sentences? -->";
const OPTIONS_GUIDE: &str = "<!-- One bullet each. -->";
const OUTCOME_GUIDE: &str = "<!-- Chosen option, because ... -->";
const CONSEQUENCES_GUIDE: &str = "<!-- Good, because ... / Bad, because ... -->";

/// A draft as a person starts from it. Guidance stands in comments.
pub fn template(title: &str, id: &str, date: &str, nygard: bool) -> String {
    if nygard {
        return format!(
            "# {title}\n\nDate: {date}\n\n## Status\n\nProposed\n\n\
             ## Context\n\n<!-- What forces are at play? -->\n\n\
             ## Decision\n\n<!-- What is done about it. -->\n\n\
             ## Consequences\n\n<!-- What gets easier, what gets harder. -->\n\n\
             <!-- loopx: id={id} -->\n"
        );
    }
    format!(
        "---\nid: {id}\nstatus: proposed\ndate: {date}\n---\n# {title}\n\n\
         ## Context and Problem Statement\n\n{CONTEXT_GUIDE}\n\n\
         ## Considered Options\n\n{OPTIONS_GUIDE}\n\n\
         ## Decision Outcome\n\n{OUTCOME_GUIDE}\n\n\
         ### Consequences\n\n{CONSEQUENCES_GUIDE}\n\n\
         ### Confirmation\n\n<!-- How anybody can tell that it is followed. -->\n"
    )
}

/// Parts of a decision that are known before anybody drafts its record. An empty part stays a guide.
#[derive(Clone, Copy, Debug, Default)]
pub struct DraftParts<'d> {
    pub context: &'d str,
    pub options: &'d str,
    pub outcome: &'d str,
    pub consequences: &'d str,
}

/// A new draft with what is known of it.
pub fn with_parts(template: &str, parts: DraftParts<'_>) -> String {
    let known = [
        (CONTEXT_GUIDE, parts.context),
        (OPTIONS_GUIDE, parts.options),
        (OUTCOME_GUIDE, parts.outcome),
        (CONSEQUENCES_GUIDE, parts.consequences),
    ];
    let known = known.iter().filter(|(_, text)| !text.trim().is_empty());
    // From behind, so that no guide is looked for in what was filled in.
    known
        .rev()
        .fold(template.to_owned(), |draft, (guide, text)| {
            draft.replacen(guide, &without_headings(text), 1)
        })
}

/// A text as part of a section: a line that reads as a heading would end it.
fn without_headings(text: &str) -> String {
    let lines = text.trim().lines();
    let said: Vec<String> = lines
        .map(|line| {
            if line.trim_start().starts_with('#') {
                format!("    {}", line.trim_start())
            } else {
                line.to_owned()
            }
        })
        .collect();
    said.join("\n")
}

/// A MADR draft in Nygard's form: headings renamed, the fields that it has no place for in the comment.
/// `records` are what its links may name.
pub fn to_nygard(source: &str, records: &[Record]) -> String {
    let record = Record::read("", source);
    let (_, body) = text::front(source);
    let all = headings(source, body);
    let newline = text::newline(source);
    let status = record.status.unwrap_or(Status::Proposed).name();
    let date = record.date.clone().unwrap_or_default();
    let mut out = format!("# {}{newline}{newline}", record.title);
    if !date.is_empty() {
        let _ = write!(out, "Date: {date}{newline}{newline}");
    }
    let _ = write!(
        out,
        "## Status{newline}{newline}{}{}{newline}{newline}",
        status[..1].to_uppercase(),
        &status[1..]
    );
    let mut at = all
        .iter()
        .find(|h| h.level == 1)
        .map_or(body, |h| h.span.end);
    let start = at;
    let mut rest = String::new();
    for heading in all.iter().filter(|h| h.span.start >= start) {
        let renamed = match heading.text.to_lowercase().as_str() {
            "context and problem statement" => "## Context",
            "decision outcome" => "## Decision",
            "consequences" => "## Consequences",
            _ => continue,
        };
        rest.push_str(&source[at..heading.span.start]);
        rest.push_str(renamed);
        rest.push_str(newline);
        at = heading.span.end;
    }
    rest.push_str(&source[at..]);
    out.push_str(rest.trim_start_matches(['\r', '\n']));
    for link in &record.links {
        let target = records.iter().find(|record| link.names(record));
        if let Some(to) = target.and_then(Target::of) {
            out = edit::add_link(&out, &link.verb, to);
        }
    }
    for (key, value) in [("id", &record.id), ("session", &record.session)] {
        if let Some(value) = value {
            out = edit::set_meta(&out, key, value);
        }
    }
    out
}

/// Tells whether a text is a record in MADR's form.
pub fn is_madr(text: &str) -> bool {
    Record::read("", text).layout == crate::adr::Layout::Madr
}

/// The table of records, by number.
pub fn index(records: &[Record]) -> String {
    let mut out = String::from("| No. | Decision | Status | Date |\n|---|---|---|---|\n");
    for record in records.iter().filter(|record| !record.is_draft()) {
        let cell = |text: &str| text.replace('\\', "\\\\").replace('|', "\\|");
        let _ = writeln!(
            out,
            "| [{}]({}) | {} | {} | {} |",
            record.label(),
            record.file,
            cell(&record.title),
            cell(&shown_status(record)),
            record.date.as_deref().unwrap_or("")
        );
    }
    out
}

/// The status with the records that superseded it.
pub fn shown_status(record: &Record) -> String {
    let by: Vec<String> = record
        .links
        .iter()
        .filter(|link| link.key() == "supersededby")
        .filter_map(|link| link.number)
        .map(|number| format!("{number:04}"))
        .collect();
    match record.status {
        Some(Status::Superseded) if !by.is_empty() => format!("superseded by {}", by.join(", ")),
        Some(status) => status.name().to_owned(),
        None => record.status_text.clone(),
    }
}

/// Range of the managed block of a text, markers included.
fn block(text: &str) -> Option<std::ops::Range<usize>> {
    let start = text.find("<!-- loopx:adr-index:begin")?;
    // The last end marker: what a merge left between the two goes with the block.
    let end = text.rfind(END)? + END.len();
    (start < end).then_some(start..end)
}

/// Tells whether a text has a managed block.
pub fn has_index(text: &str) -> bool {
    block(text).is_some()
}

/// `text` with the managed block written anew; added at the end where there is none.
pub fn write_index(text: &str, file: &str, records: &[Record]) -> Result<String> {
    let newline = text::newline(text);
    let fresh = format!("{BEGIN}\n\n{}\n{END}", index(records)).replace('\n', newline);
    let Some(range) = block(text) else {
        let head = if text.trim().is_empty() {
            format!("# Decision records{newline}{newline}")
        } else {
            format!("{}{newline}{newline}", text.trim_end())
        };
        return Ok(format!("{head}{fresh}{newline}"));
    };
    let outside = [&text[..range.start], &text[range.end..]];
    for part in outside {
        let marker = part
            .lines()
            .position(|line| line.starts_with("<<<<<<< ") || line.starts_with(">>>>>>> "));
        if let Some(at) = marker {
            let line = if part.as_ptr() == text.as_ptr() {
                at + 1
            } else {
                text::line_of(text, range.end) + at
            };
            return Err(Failure::conflict(
                Code::ConflictUnresolved,
                format!("{file}:{line}: conflict markers stand outside the generated block"),
            )
            .help(hint![
                "remove the markers, then run: ",
                command!("adr index --write")
            ]));
        }
    }
    Ok(format!("{}{fresh}{}", outside[0], outside[1]))
}

/// The records and their links as a Mermaid graph. A link that both sides write is one arrow.
pub fn graph(records: &[Record]) -> String {
    let mut out = String::from("graph TD\n");
    let nodes = Nodes::of(records);
    for record in records {
        let title = record
            .title
            .replace('&', "#amp;")
            .replace('"', "#quot;")
            .replace('<', "#lt;")
            .replace('>', "#gt;")
            .replace('`', "#96;");
        let _ = writeln!(
            out,
            "  {}[\"{} {title}\"]:::{}",
            nodes.name(record),
            record.label(),
            record.status.map_or("unknown", Status::name)
        );
    }
    for (from, verb, to) in edges(records, &nodes) {
        let _ = writeln!(out, "  {from} -->|{verb}| {to}");
    }
    out.push_str("  classDef accepted stroke:#2da44e\n");
    out.push_str("  classDef superseded stroke-dasharray:4\n");
    out.push_str("  classDef deprecated stroke-dasharray:4\n");
    out
}

/// The names of the graph's nodes. Two records under one number are two nodes: the file tells them apart.
struct Nodes {
    repeated: BTreeSet<String>,
}

impl Nodes {
    fn of(records: &[Record]) -> Self {
        let mut seen = BTreeSet::new();
        let names = records.iter().map(usual_name);
        Nodes {
            repeated: names.filter(|name| !seen.insert(name.clone())).collect(),
        }
    }

    fn name(&self, record: &Record) -> String {
        let name = usual_name(record);
        if self.repeated.contains(&name) {
            format!("{name}_{}", record.slug().replace('-', "_"))
        } else {
            name
        }
    }
}

/// Name of a node where no other node has that name.
fn usual_name(record: &Record) -> String {
    match record.number {
        Some(number) => format!("adr{number}"),
        None if !record.is_draft() => {
            let file = record.file.trim_end_matches(".md");
            format!("adr_{}", file.replace('-', "_"))
        }
        None => format!("draft_{}", record.slug().replace('-', "_")),
    }
}

/// The arrows of the graph: from node, verb, to node.
fn edges(records: &[Record], nodes: &Nodes) -> BTreeSet<(String, String, String)> {
    let mut edges = BTreeSet::new();
    for record in records {
        for link in &record.links {
            let Some(target) = records.iter().find(|other| link.names(other)) else {
                continue;
            };
            let is_later = || nodes.name(target) < nodes.name(record);
            let (from, to, verb) = match reverse(&link.verb) {
                Some(forward) if is_reverse(&link.verb) => (target, record, forward),
                Some(same) if verb_key(same) == link.key() && is_later() => (target, record, same),
                _ => (record, target, link.verb.as_str()),
            };
            edges.insert((nodes.name(from), verb.to_owned(), nodes.name(to)));
        }
    }
    edges
}

#[cfg(test)]
mod tests {
    use super::{graph, has_index, index, template, to_nygard, write_index};
    use crate::adr::{Layout, Record, Status};

    fn records() -> Vec<Record> {
        vec![
            Record::read(
                "0001-a.md",
                "# 1. A | \"b\" & <c>\n\n## Status\n\nSuperseded by [2. B](0002-b.md)\n",
            ),
            Record::read(
                "0002-b.md",
                "---\nstatus: accepted\ndate: 2026-01-01\nlinks:\n  - target: 1\n    kind: supersedes\n---\n# B\n",
            ),
        ]
    }

    #[test]
    fn the_graph_draws_a_pair_of_links_once() {
        let text = graph(&records());
        assert!(text.contains("  adr1[\"0001 A | #quot;b#quot; #amp; #lt;c#gt;\"]:::superseded\n"));
        assert_eq!(text.matches("-->").count(), 1);
        assert!(text.contains("  adr2 -->|supersedes| adr1\n"), "{text}");
    }

    #[test]
    fn the_index_is_written_anew_and_the_rest_stays() {
        assert!(
            index(&records())
                .contains("| [0001](0001-a.md) | A \\| \"b\" & <c> | superseded by 0002 |  |\n")
        );
        let first = write_index("# Ours\r\n\r\nText.\r\n", "README.md", &records()).expect("write");
        assert!(first.starts_with("# Ours\r\n\r\nText.\r\n\r\n<!--") && has_index(&first));
        assert!(!first.replace("\r\n", "").contains('\n'));
        let merged = first.replace(
            "| [0002]",
            "<<<<<<< a\r\n| x\r\n=======\r\n>>>>>>> b\r\n| [0002]",
        );
        let again = write_index(&merged, "README.md", &records()).expect("write");
        assert_eq!(again, first);
        let broken = format!("<<<<<<< a\n{first}");
        let failure = write_index(&broken, "README.md", &records()).expect_err("markers");
        assert!(failure.message.starts_with("README.md:1:"), "{failure}");
    }

    #[test]
    fn a_madr_draft_becomes_nygard_without_losing_text() {
        let madr = template("Use \"X\" | Y", "a1", "2026-01-01", false);
        let nygard = to_nygard(&madr.replace("<!-- One bullet each. -->", "* X\n* Y"), &[]);
        let record = Record::read("draft-x.md", &nygard);
        assert_eq!(record.layout, Layout::Nygard);
        assert_eq!(record.title, "Use \"X\" | Y");
        assert_eq!(record.id.as_deref(), Some("a1"));
        assert_eq!(record.status, Some(Status::Proposed));
        assert_eq!(record.date.as_deref(), Some("2026-01-01"));
        for part in [
            "## Context\n",
            "## Decision\n",
            "## Consequences\n",
            "* X\n* Y",
        ] {
            assert!(nygard.contains(part), "{nygard}");
        }
    }
}
