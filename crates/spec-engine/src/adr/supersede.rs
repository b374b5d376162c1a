//! Rules of superseding: a record is superseded by one that stands, and no record by itself on the way round.

use super::record::{Record, Status, verb_key};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{command, hint};
use std::collections::{BTreeSet, VecDeque};

/// Links of a record in the role that a key names.
fn says<'r>(record: &'r Record, key: &'static str) -> impl Iterator<Item = &'r super::Link> {
    let links = record.links.iter();
    links.filter(move |link| verb_key(&link.verb) == key)
}

/// Refusal of a record that another record has superseded already, and of a circle. `at` is where the new record says that
/// it supersedes the old one.
pub fn require_free(records: &[Record], old: &Record, new: &Record, at: &str) -> Result<()> {
    require_no_circle(records, old, new)?;
    let mut by = says(old, "supersededby").peekable();
    if old.status != Some(Status::Superseded) || by.peek().is_none() {
        return Ok(());
    }
    if by.any(|link| link.names(new)) {
        return Ok(());
    }
    let other = says(old, "supersededby").find_map(|link| {
        let found = records.iter().find(|record| link.names(record))?;
        Some(found.file.clone())
    });
    let other = other.unwrap_or_else(|| old.status_text.clone());
    Err(Failure::refused(
        Code::RecordClosed,
        format!(
            "{at}: supersedes {}, which {other} superseded already",
            old.file
        ),
    )
    .help(hint![
        "remove that line, or, where both records take its place: ",
        command!("adr supersede {} {}", old.word(), new.word()),
        ", then: ",
        command!("adr accept {}", new.word())
    ]))
}

/// Refusal of a record that takes the place of a record by which it is superseded itself.
pub fn require_no_circle(records: &[Record], old: &Record, new: &Record) -> Result<()> {
    let Some(way) = way(records, new, old) else {
        return Ok(());
    };
    let files: Vec<&str> = way.iter().map(|record| record.file.as_str()).collect();
    Err(Failure::refused(
        Code::SupersedeCircle,
        format!(
            "{} cannot supersede {}: {}",
            new.file,
            old.file,
            files.join(" is superseded by ")
        ),
    )
    .help(command!("adr new TITLE --supersedes {}", old.word())))
}

/// Circles of records each of which is superseded by the next, the last by the first.
pub fn circles(records: &[Record]) -> Vec<Vec<&Record>> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for record in records {
        if seen.contains(&record.file) {
            continue;
        }
        let steps = successors(records, record).into_iter();
        let circle = steps.filter_map(|next| way(records, next, record)).next();
        if let Some(mut circle) = circle {
            // The way ends with the record.
            circle.rotate_right(1);
            seen.extend(circle.iter().map(|record| record.file.clone()));
            found.push(circle);
        }
    }
    found
}

/// Records that supersede a record, as either side says. The links of a draft are wishes.
fn successors<'r>(records: &'r [Record], record: &Record) -> Vec<&'r Record> {
    let standing = records.iter().filter(|other| !other.is_draft());
    standing
        .filter(|other| {
            says(record, "supersededby").any(|link| link.names(other))
                || says(other, "supersedes").any(|link| link.names(record))
        })
        .collect()
}

/// Way from a record over the records that supersede it to another, both ends included.
fn way<'r>(records: &'r [Record], from: &Record, to: &Record) -> Option<Vec<&'r Record>> {
    let start = records.iter().find(|record| record.file == from.file)?;
    let mut seen = BTreeSet::from([start.file.as_str()]);
    let mut open = VecDeque::from([vec![start]]);
    while let Some(path) = open.pop_front() {
        let last = path.last()?;
        if last.file == to.file {
            return Some(path);
        }
        for next in successors(records, last) {
            if seen.insert(next.file.as_str()) {
                open.push_back([path.as_slice(), &[next]].concat());
            }
        }
    }
    None
}
