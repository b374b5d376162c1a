//! Changelog entries (Keep a Changelog): one fragment for each session, made from its delta, and all of
//! them joined below `## [Unreleased]`.
//!
//! A file for each session is what two sessions never both write. Pure text in, text out.

use crate::{Delta, OpKind, Operation};
use std::collections::BTreeMap;
use std::ops::Range;

/// The headings, in the order in which they are shown.
pub const HEADINGS: [&str; 6] = [
    "Added",
    "Changed",
    "Deprecated",
    "Removed",
    "Fixed",
    "Security",
];

/// Entries by heading, each with the lines below it that belong to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entries(BTreeMap<usize, Vec<String>>);

impl Entries {
    fn add(&mut self, heading: usize, entry: String) {
        let entries = self.0.entry(heading).or_default();
        if !entries.contains(&entry) {
            entries.push(entry);
        }
    }

    /// Takes in what another fragment says.
    pub fn join(&mut self, other: Entries) {
        for (heading, entries) in other.0 {
            for entry in entries {
                self.add(heading, entry);
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Headings with their entries.
    pub fn sections(&self) -> impl Iterator<Item = (&'static str, &[String])> {
        self.0
            .iter()
            .map(|(at, entries)| (HEADINGS[*at], entries.as_slice()))
    }

    pub fn text(&self) -> String {
        let sections: Vec<String> = self
            .sections()
            .map(|(heading, entries)| format!("### {heading}\n\n{}\n", entries.join("\n")))
            .collect();
        sections.join("\n")
    }
}

/// The entries of a delta: what was added, changed and removed, by requirement.
pub fn of_delta(delta: &Delta) -> Entries {
    let mut entries = Entries::default();
    for part in &delta.domains {
        let Some(domain) = &part.domain else { continue };
        for op in &part.operations {
            let (heading, said) = entry(op);
            entries.add(heading, format!("- {domain}: {said}"));
        }
    }
    entries
}

fn entry(op: &Operation) -> (usize, String) {
    let name = one_line(&op.name);
    let text = op
        .requirement
        .as_ref()
        .map(|one| first_paragraph(&one.body));
    let with = |name: &str, text: Option<String>| match text.filter(|text| !text.is_empty()) {
        Some(text) => format!("{name}. {text}"),
        None => name.to_owned(),
    };
    match op.kind {
        OpKind::Added => (0, with(&name, text)),
        OpKind::Modified => (1, with(&name, text)),
        OpKind::Removed => (3, with(&name, op.reason.as_deref().map(one_line))),
        OpKind::Renamed => {
            let to = one_line(op.to.as_deref().unwrap_or_default());
            (1, format!("{name} is now {to}"))
        }
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn first_paragraph(body: &str) -> String {
    let lines = body
        .lines()
        .map(str::trim)
        .skip_while(|line| line.is_empty() || line.starts_with("<!--"));
    let lines: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
    one_line(&lines.join(" "))
}

/// Reads a fragment. The error is the line that is none of one, and why.
pub fn read(text: &str) -> Result<Entries, (usize, String)> {
    let mut entries = Entries::default();
    let mut heading = None;
    let mut open: Option<String> = None;
    for (at, line) in text.lines().enumerate() {
        let line = line.trim_end();
        if let Some(title) = line.strip_prefix("### ") {
            if let (Some(heading), Some(entry)) = (heading, open.take()) {
                entries.add(heading, entry);
            }
            let known = HEADINGS.iter().position(|name| *name == title.trim());
            heading = Some(known.ok_or_else(|| {
                let names = HEADINGS.join(", ");
                (at + 1, format!("expected one of {names}, found `{title}`"))
            })?);
        } else if line.starts_with("- ") || line.starts_with("* ") {
            let Some(heading) = heading else {
                return Err((at + 1, "an entry before the first `###` heading".to_owned()));
            };
            if let Some(entry) = open.replace(format!("- {}", &line[2..])) {
                entries.add(heading, entry);
            }
        } else if let Some(entry) = open.as_mut().filter(|_| line.starts_with([' ', '\t'])) {
            entry.push('\n');
            entry.push_str(line);
        } else if !line.is_empty() && !line.starts_with("<!--") {
            return Err((
                at + 1,
                "expected a `###` heading, an entry (`- ...`), or its indented text".to_owned(),
            ));
        }
    }
    if let (Some(heading), Some(entry)) = (heading, open) {
        entries.add(heading, entry);
    }
    Ok(entries)
}

/// Beginning of a new changelog.
const HEAD: &str = "# Changelog\n\nThe format is based on [Keep a Changelog](https://keepachangelog.com/en/1.1.0/).\n";

/// Puts entries below `## [Unreleased]`, each below its own heading; everything else stays byte for byte.
/// What stands there already is not repeated.
pub fn insert(changelog: &str, entries: &Entries) -> String {
    let mut text = if changelog.trim().is_empty() {
        HEAD.to_owned()
    } else {
        changelog.to_owned()
    };
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    if unreleased(&text).is_none() {
        begin_unreleased(&mut text, end);
    }
    for (heading, list) in entries.sections() {
        let Some(body) = unreleased(&text) else { break };
        let new: Vec<&String> = list
            .iter()
            .filter(|entry| !has(&text[body.clone()], entry))
            .collect();
        if new.is_empty() {
            continue;
        }
        let said: String = new
            .iter()
            .map(|entry| format!("{}{end}", entry.replace('\n', end)))
            .collect();
        let section = section(&text, &body, |title| title == heading);
        let (at, said) = match section {
            Some(section) => (filled(&text, &section), said),
            None => {
                // Before the first heading that is shown after this one.
                let place = |title: &str| HEADINGS.iter().position(|name| *name == title);
                let later = section_start(&text, &body, |title| place(title) > place(heading));
                match later {
                    Some(at) => (at, format!("### {heading}{end}{end}{said}{end}")),
                    None => (
                        filled(&text, &body),
                        format!("{end}### {heading}{end}{end}{said}"),
                    ),
                }
            }
        };
        let lead = if text[..at].ends_with('\n') || at == 0 {
            ""
        } else {
            end
        };
        text.insert_str(at, &format!("{lead}{said}"));
    }
    text
}

/// Puts an empty `## [Unreleased]` in front of the first release.
fn begin_unreleased(text: &mut String, end: &str) {
    let at = lines(text)
        .find(|range| text[range.clone()].starts_with("## "))
        .map_or(text.len(), |range| range.start);
    let before = if text[..at].ends_with('\n') {
        end
    } else {
        "\n\n"
    };
    let (lead, tail) = if at == text.len() {
        (before, "")
    } else {
        ("", end)
    };
    text.insert_str(at, &format!("{lead}## [Unreleased]{end}{tail}"));
}

fn has(body: &str, entry: &str) -> bool {
    let body = body.replace("\r\n", "\n");
    format!("\n{body}\n").contains(&format!("\n{entry}\n"))
}

fn lines(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    text.split_inclusive('\n').map(move |line| {
        let range = at..at + line.len();
        at = range.end;
        range
    })
}

/// The lines below `## [Unreleased]`, to the next heading of its level.
fn unreleased(text: &str) -> Option<Range<usize>> {
    let mut start = None;
    for range in lines(text) {
        let line = text[range.clone()].trim_end();
        match start {
            None => {
                let title = line.strip_prefix("## ").unwrap_or_default();
                let title = title.trim().trim_start_matches('[');
                let title = title.split(']').next().unwrap_or_default();
                if title.eq_ignore_ascii_case("unreleased") {
                    start = Some(range.end);
                }
            }
            // Link definitions at the end belong to the file.
            Some(from) if line.starts_with("## ") || is_link(line) => {
                return Some(from..range.start);
            }
            Some(_) => {}
        }
    }
    start.map(|from| from..text.len())
}

fn is_link(line: &str) -> bool {
    line.starts_with('[') && line.contains("]: ")
}

fn section_start(text: &str, body: &Range<usize>, wanted: impl Fn(&str) -> bool) -> Option<usize> {
    let part = &text[body.clone()];
    lines(part)
        .find(|range| {
            let title = part[range.clone()].trim_end().strip_prefix("### ");
            title.is_some_and(|title| wanted(title.trim()))
        })
        .map(|range| body.start + range.start)
}

/// The lines of a `###` section, its heading included.
fn section(text: &str, body: &Range<usize>, wanted: impl Fn(&str) -> bool) -> Option<Range<usize>> {
    let start = section_start(text, body, wanted)?;
    let rest = &text[start..body.end];
    let end = lines(rest)
        .skip(1)
        .find(|range| rest[range.clone()].starts_with("### "))
        .map_or(body.end, |range| start + range.start);
    Some(start..end)
}

/// The end of the last line in a range that says something.
fn filled(text: &str, range: &Range<usize>) -> usize {
    let part = &text[range.clone()];
    lines(part)
        .filter(|line| !part[line.clone()].trim().is_empty())
        .last()
        .map_or(range.start, |line| range.start + line.end)
}

#[cfg(test)]
mod tests {
    use super::{insert, of_delta, read};
    use crate::read_delta;

    const DELTA: &str = "# Domain: demo\n\n## ADDED Requirements\n\n### Requirement: Lockout\n<!-- id: L-1 -->\n\
        The system SHALL lock\nan account.\n\nMore.\n\n#### Scenario: S\n- **WHEN** a\n- **THEN** b\n\n\
        ## REMOVED Requirements\n\n### Requirement: Login\n**Reason**: not used\n**Migration**: none\n\n\
        ## RENAMED Requirements\n\n- FROM: `### Requirement: Old`\n- TO: `### Requirement: New`\n";

    #[test]
    fn a_delta_becomes_entries_that_are_read_back_as_they_are() {
        let entries = of_delta(&read_delta(DELTA.as_bytes(), "d"));
        let text = entries.text();
        assert_eq!(
            text,
            "### Added\n\n- demo: Lockout. The system SHALL lock an account.\n\n\
             ### Changed\n\n- demo: Old is now New\n\n### Removed\n\n- demo: Login. not used\n"
        );
        assert_eq!(read(&text), Ok(entries));
    }

    #[test]
    fn what_is_no_fragment_is_told_by_line() {
        for (text, line) in [
            ("- a\n", 1),
            ("### Added\n\n### Sundry\n", 3),
            ("### Fixed\n\nprose\n", 3),
        ] {
            assert_eq!(read(text).map_err(|(line, _)| line), Err(line), "{text}");
        }
    }

    #[test]
    fn entries_go_below_unreleased_once_and_nothing_else_changes() {
        let entries = read("### Fixed\n\n- f\n\n### Added\n\n- b\n  more\n").expect("a fragment");
        let all = "## [Unreleased]\n\n### Added\n\n- b\n  more\n\n### Fixed\n\n- f\n";
        for (before, after) in [
            ("# C\n".to_owned(), format!("# C\n\n{all}")),
            (
                "# C\n\n## [1.0.0] - 2026-01-01\n\n- x\n".to_owned(),
                format!("# C\n\n{all}\n## [1.0.0] - 2026-01-01\n\n- x\n"),
            ),
            (
                "# C\n\n## [Unreleased]\n\n### Added\n- a\n\n### Security\n- s\n\n[Unreleased]: https://x\n"
                    .to_owned(),
                "# C\n\n## [Unreleased]\n\n### Added\n- a\n- b\n  more\n\n### Fixed\n\n- f\n\n### Security\n- s\n\n\
                 [Unreleased]: https://x\n"
                    .to_owned(),
            ),
        ] {
            let once = insert(&before, &entries);
            assert_eq!(once, after);
            assert_eq!(insert(&once, &entries), once);
            let dos = insert(&before.replace('\n', "\r\n"), &entries);
            assert_eq!(dos, after.replace('\n', "\r\n"));
        }
        assert!(insert("", &entries).ends_with(all));
    }
}
