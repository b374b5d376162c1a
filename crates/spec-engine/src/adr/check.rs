//! The check of a folder of decision records: numbers, pins, links, status, sections.
//!
//! Errors break what others rely on (a number, a link, an accepted text); warnings are untidy; a gap in
//! the numbers is only worth knowing. Ids of findings are part of the contract.

use super::edit::holds;
use super::record::{Link, Record, Status, reverse, verb_key};
use super::supersede::circles;
use super::{is_record, named_as_record, next_number, number_of, slug, slug_of, text};
use crate::{Finding, Severity};
use loopx_base::counted;
use loopx_base::hint::{Hint, command, hint};
use pulldown_cmark::{Event, Parser, Tag};
use std::collections::{BTreeMap, BTreeSet};

/// A record of another branch that this worktree does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    pub branch: String,
    pub number: u32,
    pub file: String,
    pub id: Option<String>,
}

/// Records that lie in a folder where none is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misplaced {
    /// The folder, from the top; empty for the top.
    pub folder: String,
    /// Paths of its files, from the top.
    pub files: Vec<String>,
}

/// Records and facts on which a check of the folder rests.
pub struct Folder<'a> {
    /// The folder, for messages: `docs/adr`.
    pub path: &'a str,
    /// Records in the order of their numbers.
    pub records: &'a [Record],
    /// Records that other branches have and the common past has not.
    pub elsewhere: &'a [Elsewhere],
    /// Records that this side has and the common past has not, by branch.
    pub ours: &'a BTreeMap<String, BTreeSet<String>>,
    /// Files without a pin that have one in a commit, with that commit's name.
    pub thawed: &'a BTreeMap<String, String>,
    /// Files, from the top, that read like records and are named like none, or lie where none is read.
    pub unread: &'a [String],
    /// Records that lie in another folder, where some do.
    pub misplaced: Option<&'a Misplaced>,
    /// Test for a path, from the top: tells whether the path is committed.
    pub committed: &'a dyn Fn(&str) -> bool,
    /// Test for a path, relative to the folder: tells whether the path exists.
    pub exists: &'a dyn Fn(&str) -> bool,
    /// The hash of a pinned text.
    pub hash: &'a dyn Fn(&str) -> String,
}

struct Notes<'a> {
    folder: &'a str,
    found: Vec<Finding>,
}

impl Notes<'_> {
    fn add(
        &mut self,
        severity: Severity,
        id: &'static str,
        (file, line): (&str, usize),
        message: impl Into<String>,
        fix: impl Into<Hint>,
    ) {
        let path = format!("{}/{file}", self.folder);
        self.found
            .push(Finding::new(severity, id, &path, line, message, fix));
    }
}

/// Findings about the folder and its records, by file and line.
pub fn check(folder: &Folder<'_>) -> Vec<Finding> {
    let mut notes = Notes {
        folder: folder.path,
        found: Vec::new(),
    };
    for record in folder.records {
        form(record, &mut notes);
        pin(folder, record, &mut notes);
        links(folder, record, &mut notes);
        body_links(folder, record, &mut notes);
    }
    in_circles(folder, &mut notes);
    numbers(folder, &mut notes);
    ids(folder, &mut notes);
    unread(folder, &mut notes);
    let mut found = notes.found;
    found.sort_by(|a, b| (&a.file, a.line, a.id).cmp(&(&b.file, b.line, b.id)));
    found
}

/// Records that nobody reads: a folder that holds some is not in order.
fn unread(folder: &Folder<'_>, notes: &mut Notes<'_>) {
    let files = folder.records.iter().map(|record| record.file.clone());
    let mut taken: BTreeSet<String> = files.collect();
    for path in folder.unread {
        let (dir, name) = path.rsplit_once('/').unwrap_or(("", path));
        let message = if dir != folder.path {
            "it reads like a record, and lies where none is read"
        } else if is_record(name) {
            "it is named like a record, and is a symbolic link, which nobody follows"
        } else if !name.ends_with(".md") {
            "it reads like a record, and its name ends with another than `.md`"
        } else {
            "it reads like a record, and its name begins with neither a number nor a date"
        };
        let fix = if dir == folder.path && is_record(name) {
            format!(
                "git rm --cached {}  (and put the file in its place)",
                quoted(path)
            )
        } else {
            moved(folder, path, &mut taken)
        };
        let severity = Severity::Error;
        let found = Finding::new(severity, "record_unread", path, 1, message, fix);
        notes.found.push(found);
    }
    if let Some(misplaced) = folder.misplaced {
        elsewhere(folder, misplaced, &mut taken, notes);
    }
}

/// The command that puts a file into the folder, under a name with a free number.
fn moved(folder: &Folder<'_>, path: &str, taken: &mut BTreeSet<String>) -> String {
    let (dir, name) = path.rsplit_once('/').unwrap_or(("", path));
    let own = dir.rsplit('/').next().filter(|_| dir != folder.path);
    let free = next_number(taken.iter().map(String::as_str));
    let mut wanted = named_as_record(name, own, free);
    let number = number_of(&wanted);
    if number.is_some() && taken.iter().any(|file| number_of(file) == number) {
        wanted = format!("{free:04}-{}.md", slug_of(&wanted));
    }
    let place = quoted(&format!("{}/{wanted}", folder.path));
    let fix = format!("{} {} {place}", folder.mover(path), quoted(path));
    taken.insert(wanted);
    fix
}

/// A path as a word of a command line: whoever pastes the line runs nothing that a name says.
fn quoted(path: &str) -> String {
    format!("'{}'", path.replace('\'', "'\\''"))
}

/// Records of another folder: the policy names that folder, or the records come here.
fn elsewhere(
    folder: &Folder<'_>,
    misplaced: &Misplaced,
    taken: &mut BTreeSet<String>,
    notes: &mut Notes<'_>,
) {
    let (own, dir) = (folder.path, misplaced.folder.as_str());
    let Some(first) = misplaced.files.first() else {
        return;
    };
    let place = match dir {
        "" => "the top of the repository",
        dir => dir,
    };
    let fix = if !folder.records.is_empty() {
        let fix = moved(folder, first, taken);
        format!("move them, each with a free number: {fix}")
    } else if dir.is_empty() {
        let all: Vec<String> = misplaced
            .files
            .iter()
            .map(|one| moved(folder, one, taken))
            .collect();
        format!("mkdir -p {} && {}", quoted(own), all.join(" && "))
    } else {
        format!("in loopx.toml, below [paths]: adr = \"{dir}\"  (and commit loopx.toml)")
    };
    let many = counted(misplaced.files.len(), "record");
    let message = match folder.records.len() {
        0 => format!("there is no record in {own}, and {many} in {place}"),
        _ => format!("expected all records in {own}, found {many} in {place}"),
    };
    let severity = Severity::Error;
    let found = Finding::new(severity, "records_elsewhere", first, 1, message, fix);
    notes.found.push(found);
}

impl Folder<'_> {
    /// Path of a record, as a word of a command line.
    fn place(&self, record: &Record) -> String {
        quoted(&format!("{}/{}", self.path, record.file))
    }

    /// The command that moves a file.
    fn mover(&self, path: &str) -> &'static str {
        if (self.committed)(path) {
            "git mv"
        } else {
            "mv"
        }
    }
}

fn form(record: &Record, notes: &mut Notes<'_>) {
    title(record, notes);
    status(record, notes);
    for section in record.needed().iter().filter(|s| !s.is_empty()) {
        if !record.sections.contains(&section.to_lowercase()) {
            notes.add(
                Severity::Warning,
                "section_missing",
                (&record.file, record.title_line),
                format!("expected a section `## {section}`, found none"),
                format!("add `## {section}`"),
            );
        }
    }
}

fn title(record: &Record, notes: &mut Notes<'_>) {
    let file = record.file.as_str();
    if record.title.is_empty() {
        let expected = record.number.map_or_else(
            || "`# Title`".to_owned(),
            |number| format!("`# Title` or `# {number}. Title`"),
        );
        notes.add(
            Severity::Error,
            "title_missing",
            (file, 1),
            format!("expected a heading {expected}, found none"),
            "write the title as the first heading",
        );
    } else if !same_title(record) {
        notes.add(
            Severity::Warning,
            "title_mismatch",
            (file, record.title_line),
            format!(
                "the file is named `{}`, the title is `{}`",
                record.slug(),
                record.title
            ),
            "give the record its old title back, or rename the file and the links to it",
        );
    }
    if let (Some(number), Some((inner, line))) = (record.number, record.inner_number)
        && number != inner
    {
        notes.add(
            Severity::Error,
            "number_mismatch",
            (file, line),
            format!("expected the number {number} of the file name, found {inner}"),
            format!("write {number} here"),
        );
    }
}

fn status(record: &Record, notes: &mut Notes<'_>) {
    let is_optional = record.status_text.is_empty() && record.has_madr_sections();
    if record.status.is_some() || is_optional {
        return;
    }
    let found = if record.status_text.is_empty() {
        "none".to_owned()
    } else {
        format!("`{}`", record.status_text)
    };
    let known: Vec<&str> = Status::ALL.iter().map(|status| status.name()).collect();
    notes.add(
        Severity::Error,
        "status_unknown",
        (&record.file, record.status_line),
        format!("expected a status of {}, found {found}", known.join(", ")),
        "write one of them here",
    );
}

/// Tells whether file name and title agree: by our rule, or by the letters that any tool keeps.
fn same_title(record: &Record) -> bool {
    let letters = |text: &str| -> String {
        text.chars()
            .filter(char::is_ascii_alphanumeric)
            .map(|c| c.to_ascii_lowercase())
            .collect()
    };
    slug(&record.title).is_ok_and(|slug| slug == record.slug())
        || letters(&record.title) == letters(record.slug())
        || letters(&record.title).is_empty()
}

fn pin(folder: &Folder<'_>, record: &Record, notes: &mut Notes<'_>) {
    let line = |needle: &str| {
        record
            .text
            .find(needle)
            .map_or(1, |at| text::line_of(&record.text, at))
    };
    match holds(record, |pinned| (folder.hash)(pinned)) {
        Some(false) => notes.add(
            Severity::Error,
            "frozen_changed",
            (&record.file, line("frozen")),
            "the body of an accepted record changed: only status and links may",
            hint![
                format!(
                    "git checkout -- {}, or write a new one: ",
                    folder.place(record)
                ),
                command!("adr new TITLE --supersedes {}", record.word())
            ],
        ),
        None if folder.thawed.contains_key(&record.file) => notes.add(
            Severity::Error,
            "frozen_removed",
            (&record.file, record.status_line),
            format!(
                "the record is frozen at {}; its pin is gone here",
                folder.thawed[&record.file]
            ),
            format!(
                "git checkout {} -- {}",
                folder.thawed[&record.file],
                folder.place(record)
            ),
        ),
        None if record.status == Some(Status::Accepted) && !record.is_draft() => notes.add(
            Severity::Info,
            "not_frozen",
            (&record.file, record.status_line),
            "accepted by another tool: nothing says whether its body changed since",
            command!("adr accept {}", record.word()),
        ),
        _ => {}
    }
}

fn links(folder: &Folder<'_>, record: &Record, notes: &mut Notes<'_>) {
    for link in &record.links {
        match folder.records.iter().find(|other| link.names(other)) {
            None => notes.add(
                Severity::Error,
                "link_broken",
                (&record.file, link.line),
                format!("{} {}: there is no such record", link.verb, named(link)),
                hint![
                    "mend the link, or remove it: ",
                    command!("adr list"),
                    " shows what is there"
                ],
            ),
            // A draft's links are wishes: promotion writes the other side.
            Some(_) if record.is_draft() => {}
            Some(target) => other_side(record, link, target, notes),
        }
    }
    superseded(record, notes);
}

/// A link is said by both of its records.
fn other_side(record: &Record, link: &Link, target: &Record, notes: &mut Notes<'_>) {
    let Some(other) = reverse(&link.verb) else {
        return;
    };
    let key = verb_key(other);
    let says = |back: &Link| back.key() == key && back.names(record);
    if target.links.iter().any(says) {
        return;
    }
    let is_supersede = verb_key(&link.verb).starts_with("supersede");
    let (old, new) = match verb_key(&link.verb).as_str() {
        "supersededby" => (record, target),
        _ => (target, record),
    };
    // What a record supersedes stands until the record is accepted.
    let is_open = matches!(new.status, None | Some(Status::Proposed | Status::Draft));
    if is_supersede && is_open && new.file == record.file {
        return;
    }
    let (severity, fix) = if is_supersede {
        let fix = command!("adr supersede {} {}", old.word(), new.word());
        (Severity::Error, fix)
    } else {
        let fix = command!(
            "adr link {} \"{}\" {}",
            record.label(),
            link.verb,
            target.label()
        );
        (Severity::Warning, fix)
    };
    notes.add(
        severity,
        "link_one_sided",
        (&record.file, link.line),
        format!(
            "{} {}, but {} does not say `{other} {}`",
            link.verb,
            target.label(),
            target.file,
            record.label()
        ),
        fix,
    );
}

/// Status and links say the same of whether a record is superseded.
fn superseded(record: &Record, notes: &mut Notes<'_>) {
    let superseded_by = record.links.iter().any(|l| l.key() == "supersededby");
    let is_superseded = record.status == Some(Status::Superseded);
    if superseded_by && !is_superseded {
        notes.add(
            Severity::Error,
            "status_disagrees",
            (&record.file, record.status_line),
            format!(
                "a link says `superseded by`, the status says `{}`",
                record.status_text
            ),
            "write `superseded` here, or remove the link",
        );
    } else if is_superseded && !superseded_by {
        notes.add(
            Severity::Warning,
            "superseded_by_none",
            (&record.file, record.status_line),
            "superseded, and nothing says by which record",
            command!("adr supersede {} NEW", record.label()),
        );
    }
}

/// Records that supersede each other in a circle: none of them stands.
fn in_circles(folder: &Folder<'_>, notes: &mut Notes<'_>) {
    for circle in circles(folder.records) {
        let Some(first) = circle.first() else {
            continue;
        };
        let line = first.links.iter().find(|l| l.key() == "supersededby");
        let files = circle.iter().chain([first]).map(|one| one.file.as_str());
        notes.add(
            Severity::Error,
            "supersede_circle",
            (&first.file, line.map_or(first.status_line, |l| l.line)),
            files.collect::<Vec<_>>().join(" is superseded by "),
            hint![
                "give the record that holds its old status, and remove the link between it and what it superseded from both: ",
                command!("adr graph"),
                " shows the circle"
            ],
        );
    }
}

fn named(link: &Link) -> String {
    match (&link.file, link.number) {
        (Some(file), _) => file.clone(),
        (None, Some(number)) => format!("{number:04}"),
        (None, None) => "nothing".to_owned(),
    }
}

/// Checks relative links to Markdown files in the text, wherever they stand.
fn body_links(folder: &Folder<'_>, record: &Record, notes: &mut Notes<'_>) {
    let (_, body) = text::front(&record.text);
    for (event, range) in Parser::new(&record.text[body..]).into_offset_iter() {
        let Event::Start(Tag::Link { dest_url, .. }) = event else {
            continue;
        };
        let path = dest_url.split(['#', '?']).next().unwrap_or_default();
        if !path.ends_with(".md") || path.contains(':') || path.starts_with('/') {
            continue;
        }
        let path = path.replace("%20", " ");
        let line = text::line_of(&record.text, body + range.start);
        let told = record.links.iter().any(|link| link.line == line);
        if !told && !(folder.exists)(&path) {
            notes.add(
                Severity::Error,
                "link_broken",
                (&record.file, line),
                format!("`{path}` is not there"),
                "mend the link, or remove it",
            );
        }
    }
}

/// The records of a folder by their numbers.
type Numbers<'a> = BTreeMap<u32, Vec<&'a Record>>;

fn numbers(folder: &Folder<'_>, notes: &mut Notes<'_>) {
    let mut by_number = Numbers::new();
    for record in folder.records {
        if let Some(number) = record.number {
            by_number.entry(number).or_default().push(record);
        }
    }
    for (number, records) in &by_number {
        for record in records.iter().skip(1) {
            notes.add(
                Severity::Error,
                "number_taken",
                (&record.file, record.title_line),
                format!("{} has the number {number} too", records[0].file),
                command!("adr renumber --fix"),
            );
        }
    }
    taken_elsewhere(folder, &by_number, notes);
    gaps(&by_number, notes);
}

/// Numbers that a new record of this side and one of another branch have both.
fn taken_elsewhere(folder: &Folder<'_>, by_number: &Numbers<'_>, notes: &mut Notes<'_>) {
    for other in folder.elsewhere {
        let ours = by_number.get(&other.number).into_iter().flatten();
        for record in ours {
            let is_new = folder
                .ours
                .get(&other.branch)
                .is_some_and(|files| files.contains(&record.file));
            let is_same = match (&record.id, &other.id) {
                (Some(one), Some(two)) => one == two,
                _ => record.file == other.file,
            };
            if is_new && !is_same {
                notes.add(
                    Severity::Error,
                    "number_taken_elsewhere",
                    (&record.file, record.title_line),
                    format!(
                        "branch {} has {} under the number {}",
                        other.branch, other.file, other.number
                    ),
                    command!("adr renumber --fix --with {}", other.branch),
                );
            }
        }
    }
}

fn gaps(by_number: &Numbers<'_>, notes: &mut Notes<'_>) {
    let mut expected = by_number.keys().next().copied().unwrap_or(1).min(1);
    for (number, records) in by_number {
        if *number > expected {
            let missing = if *number - expected == 1 {
                format!("{expected} is")
            } else {
                format!("{expected} to {} are", number - 1)
            };
            notes.add(
                Severity::Info,
                "number_gap",
                (&records[0].file, records[0].title_line),
                format!("{missing} not in use"),
                "nothing: a number is never used twice",
            );
        }
        expected = number.saturating_add(1);
    }
}

fn ids(folder: &Folder<'_>, notes: &mut Notes<'_>) {
    let mut by_id: BTreeMap<&str, Vec<&Record>> = BTreeMap::new();
    for record in folder.records {
        if let Some(id) = &record.id {
            by_id.entry(id).or_default().push(record);
        }
    }
    for records in by_id.values() {
        for record in records.iter().skip(1) {
            let (severity, fix) = if record.is_draft() {
                let fix = format!("promoted already: git rm {}", folder.place(record));
                (Severity::Warning, fix)
            } else {
                (Severity::Error, "remove one of the two".to_owned())
            };
            notes.add(
                severity,
                "id_taken",
                (&record.file, 1),
                format!("{} has the same id: it is the same record", records[0].file),
                fix,
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Elsewhere, Folder, check};
    use crate::adr::Record;
    use crate::adr::edit::{Target, accept, supersede};
    use std::collections::{BTreeMap, BTreeSet};

    fn hash(text: &str) -> String {
        format!("{}", text.bytes().map(u64::from).sum::<u64>())
    }

    fn nygard(title: &str, status: &str) -> String {
        format!(
            "# {title}\n\n## Status\n\n{status}\n\n## Context\n\n## Decision\n\n## Consequences\n"
        )
    }

    fn found(files: &[(&str, String)], elsewhere: &[Elsewhere]) -> Vec<String> {
        let records: Vec<Record> = files.iter().map(|(f, t)| Record::read(f, t)).collect();
        let all: BTreeSet<String> = files.iter().map(|(f, _)| (*f).to_owned()).collect();
        let ours = elsewhere
            .iter()
            .map(|e| (e.branch.clone(), all.clone()))
            .collect::<BTreeMap<_, _>>();
        let findings = check(&Folder {
            path: "docs/adr",
            records: &records,
            elsewhere,
            ours: &ours,
            thawed: &BTreeMap::new(),
            unread: &[],
            misplaced: None,
            committed: &|_| true,
            exists: &|path| all.contains(path),
            hash: &hash,
        });
        findings
            .iter()
            .map(|f| {
                format!(
                    "{} {}:{}",
                    f.id,
                    f.file.trim_start_matches("docs/adr/"),
                    f.line
                )
            })
            .collect()
    }

    #[test]
    fn each_fault_has_its_id_file_and_line() {
        let accepted = accept(&nygard("1. A", "Proposed"), hash);
        type Case = (Vec<(&'static str, String)>, Vec<&'static str>);
        let table: Vec<Case> = vec![
            (vec![("0001-a.md", accepted.clone())], vec![]),
            (vec![("0001-a.md", accepted.replace("## Decision", "## Decision\n\nchanged"))], vec!["frozen_changed 0001-a.md:15"]),
            (vec![("0001-a.md", nygard("1. A", "Accepted"))], vec!["not_frozen 0001-a.md:5"]),
            (vec![("0001-a.md", nygard("2. A", "Proposed"))], vec!["number_mismatch 0001-a.md:1"]),
            (vec![("0001-a.md", nygard("1. B", "Proposed"))], vec!["title_mismatch 0001-a.md:1"]),
            (vec![("0001-a.md", nygard("1. A", "Perhaps"))], vec!["status_unknown 0001-a.md:5"]),
            (vec![("0001-a.md", "---\nstatus: proposed\n---\n# A\n\n## Decision Outcome\n".into())], vec!["section_missing 0001-a.md:4"]),
            (vec![("0001-a.md", nygard("1. A", "Proposed")), ("0001-b.md", nygard("1. B", "Proposed"))], vec!["number_taken 0001-b.md:1"]),
            (vec![("0001-a.md", nygard("1. A", "Proposed")), ("0004-b.md", nygard("4. B", "Proposed"))], vec!["number_gap 0004-b.md:1"]),
            (vec![("0001-a.md", nygard("1. A", "Superseded by [2. B](0002-b.md)"))], vec!["link_broken 0001-a.md:5"]),
            (vec![("0001-a.md", nygard("1. A", "Superseded"))], vec!["superseded_by_none 0001-a.md:5"]),
            (vec![("0001-a.md", nygard("1. A", "Superceded by [2. B](0002-b.md)")), ("0002-b.md", nygard("2. B", "Proposed"))], vec!["link_one_sided 0001-a.md:5"]),
            (vec![("0001-a.md", nygard("1. A", "Superceded by [2. B](0002-b.md)")), ("0002-b.md", nygard("2. B", "Proposed\n\nSupercedes [1. A](0001-a.md)"))], vec![]),
            (vec![("0001-a.md", nygard("1. A", "Proposed")), ("draft-b.md", nygard("B", "Proposed\n\nSupersedes [1. A](0001-a.md)"))], vec![]),
            (vec![("0001-a.md", "---\nstatus: accepted\nfrozen: x\nlinks:\n- target: 7\n  kind: amends\n---\n# A\n\n[x](gone.md) [y](https://x/y.md)\n\n## Context and Problem Statement\n\n## Decision Outcome\n".into())],
             vec!["frozen_changed 0001-a.md:3", "link_broken 0001-a.md:5", "link_broken 0001-a.md:10"]),
        ];
        for (files, wanted) in table {
            assert_eq!(found(&files, &[]), wanted, "{files:#?}");
        }
    }

    #[test]
    fn a_superseded_record_stays_frozen() {
        let by = Target {
            number: Some(2),
            title: "B",
            file: "0002-b.md",
        };
        let old = supersede(&accept(&nygard("1. A", "Proposed"), hash), by);
        let new = nygard("2. B", "Proposed\n\nSupersedes [1. A](0001-a.md)");
        assert!(found(&[("0001-a.md", old), ("0002-b.md", new)], &[]).is_empty());
    }

    #[test]
    fn a_number_that_another_branch_gave_is_seen() {
        let other = |file: &str| Elsewhere {
            branch: "main".into(),
            number: 1,
            file: file.into(),
            id: None,
        };
        let files = [("0001-a.md", nygard("1. A", "Proposed"))];
        assert_eq!(
            found(&files, &[other("0001-b.md")]),
            ["number_taken_elsewhere 0001-a.md:1"]
        );
        assert!(found(&files, &[other("0001-a.md")]).is_empty());
    }
}
