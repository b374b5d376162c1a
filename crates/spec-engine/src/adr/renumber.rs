//! A record under another number: its file, its own text, and every link that leads to it.
//!
//! A link that names the file is certain. One that names only a number is followed where one record
//! has it; where two have it, it stays with the one that keeps the number.

use super::edit::{holds, pinned, set_meta, set_number};
use super::record::{Record, Status};
use super::text;
use super::{file_name, next_number};
use crate::front::set_field;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use serde::Serialize;
use std::collections::BTreeSet;

/// Move of a record to another number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Move {
    pub from: u32,
    pub to: u32,
    pub old: String,
    pub new: String,
    /// Set when another record keeps the number.
    pub shared: bool,
}

/// The move of one record, by number, or by file where two share the number.
pub fn single(records: &[Record], from: u32, to: u32, file: Option<&str>) -> Result<Move> {
    let mut holders: Vec<&Record> = records.iter().filter(|r| r.number == Some(from)).collect();
    let shared = holders.len() > 1;
    if let Some(file) = file {
        let name = file.rsplit('/').next().unwrap_or(file);
        holders.retain(|record| record.file == name);
    }
    let record = match holders.as_slice() {
        [only] => *only,
        [] => {
            return Err(Failure::not_found(
                Code::RecordUnknown,
                match file {
                    Some(file) => format!("no record {from} is in the file `{file}`"),
                    None => format!("no record has the number {from}"),
                },
            )
            .help(command!("adr list")));
        }
        many => {
            let names: Vec<&str> = many.iter().map(|record| record.file.as_str()).collect();
            return Err(Failure::usage(
                Code::RecordAmbiguous,
                format!("{} have the number {from}", names.join(" and ")),
            )
            .help(command!("adr renumber {from} {to} --file {}", names[0])));
        }
    };
    if from == to {
        return Err(Failure::nothing(
            Code::RenumberedAlready,
            format!("{} has the number {to}", record.file),
        ));
    }
    if let Some(taken) = records.iter().find(|record| record.number == Some(to)) {
        let free = next_number(records.iter().map(|record| record.file.as_str()));
        return Err(Failure::refused(
            Code::NumberTaken,
            format!("{} has the number {to}", taken.file),
        )
        .help(command!("adr renumber {from} {free}")));
    }
    Ok(Move {
        from,
        to,
        old: record.file.clone(),
        new: file_name(to, record.slug()),
        shared,
    })
}

/// The moves that make every number unique. Of two, the accepted one keeps its number, then the older,
/// then the first by name; what `elsewhere` has keeps its number in any case, and so do the files of
/// `settled`, which a branch that was merged brought.
pub fn repairs(
    records: &[Record],
    elsewhere: &[(u32, String)],
    moving: &BTreeSet<String>,
    settled: &BTreeSet<String>,
) -> Vec<Move> {
    let files = records.iter().map(|record| record.file.as_str());
    let others = elsewhere.iter().map(|(_, file)| file.as_str());
    let mut next = next_number(files.chain(others));
    let mut seen = BTreeSet::new();
    let mut order: Vec<&Record> = records.iter().filter(|r| !r.is_draft()).collect();
    order.sort_by_key(|record| {
        let is_valid = matches!(
            record.status,
            Some(Status::Accepted | Status::Superseded | Status::Deprecated)
        );
        let is_theirs = settled.contains(&record.file);
        (
            !is_theirs,
            !is_valid,
            record.date.clone(),
            record.file.clone(),
        )
    });
    let mut moves = Vec::new();
    for record in order {
        let Some(from) = record.number else {
            continue;
        };
        let foreign = moving.contains(&record.file)
            && elsewhere
                .iter()
                .any(|(number, file)| *number == from && *file != record.file);
        if foreign || !seen.insert(from) {
            moves.push(Move {
                from,
                to: next,
                old: record.file.clone(),
                new: file_name(next, record.slug()),
                shared: records.iter().filter(|r| r.number == Some(from)).count() > 1,
            });
            next += 1;
        }
    }
    moves.sort_by_key(|m| (m.from, m.to));
    moves
}

/// A record's text after the moves: its own number, its links, and its pin where that held.
pub fn rewrite(
    record: &Record,
    folder: &str,
    moves: &[Move],
    hash: impl Fn(&str) -> String,
) -> String {
    let held = holds(record, &hash) == Some(true);
    let mut out = record.text.clone();
    for step in moves {
        if step.old == record.file {
            out = set_number(&out, step.to);
        }
        out = links_in(&out, folder, folder, step);
        out = numbers_in_front(&out, step);
    }
    if held && out != record.text {
        let pin = hash(&pinned(&out));
        out = set_meta(&out, "frozen", &pin);
    }
    out
}

/// A Markdown text after the moves; `dir` is where it lies.
pub fn rewrite_other(text: &str, dir: &str, folder: &str, moves: &[Move]) -> String {
    moves.iter().fold(text.to_owned(), |text, step| {
        links_in(&text, dir, folder, step)
    })
}

/// Tells whether a path that stands in a file of `dir` leads to `folder/file`.
fn leads(path: &str, dir: &str, folder: &str, file: &str) -> bool {
    let wanted = format!("{folder}/{file}");
    let rooted = path.strip_prefix('/').unwrap_or(path);
    let mut parts: Vec<&str> = dir.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    rooted == wanted || parts.join("/") == wanted
}

/// Every mention of the file, as a path that leads to it; the number in the text of a link goes along.
fn links_in(text: &str, dir: &str, folder: &str, step: &Move) -> String {
    let is_path = |c: char| !c.is_whitespace() && !"()<>[]\"'`,;#|".contains(c);
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(&step.old) {
        let end = at + step.old.len();
        let before = &rest[..at];
        let start = before
            .char_indices()
            .rev()
            .take_while(|(_, c)| is_path(*c))
            .last()
            .map_or(at, |(index, _)| index);
        let ends = rest[end..]
            .chars()
            .next()
            .is_none_or(|c| !c.is_alphanumeric() && c != '-' && c != '_');
        let path = rest[start..end]
            .strip_prefix("file:")
            .unwrap_or(&rest[start..end]);
        if ends && leads(path, dir, folder, &step.old) {
            let kept = &rest[..at];
            match kept[..start].strip_suffix("](") {
                Some(label) if !label.is_empty() => {
                    let open = label.rfind('[').map_or(label.len(), |open| open + 1);
                    out.push_str(&label[..open]);
                    out.push_str(&relabel(&label[open..], step));
                    out.push_str("](");
                    out.push_str(&kept[start..]);
                }
                _ => out.push_str(kept),
            }
            out.push_str(&step.new);
        } else {
            out.push_str(&rest[..end]);
        }
        rest = &rest[end..];
    }
    out.push_str(rest);
    out
}

/// `3. Title`, `ADR-0003`, `ADR 3: Title`, `0003`: the number at the front of a link's text.
fn relabel(label: &str, step: &Move) -> String {
    let Some(start) = label.find(|c: char| c.is_ascii_digit()) else {
        return label.to_owned();
    };
    let word = label[..start].trim_end_matches(['-', ' ', '#']);
    let digits = label[start..]
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(label.len() - start);
    let rest = &label[start + digits..];
    let old = &label[start..start + digits];
    let fits = (word.is_empty() || word.eq_ignore_ascii_case("adr"))
        && (rest.is_empty() || rest.starts_with(['.', ':', ' ']) || rest.starts_with(" -"));
    if !fits || old.parse() != Ok(step.from) {
        return label.to_owned();
    }
    let new = if digits > step.from.to_string().len() {
        format!("{:0digits$}", step.to)
    } else {
        step.to.to_string()
    };
    format!("{}{new}{rest}", &label[..start])
}

/// `target: 3` of a link, and `superseded by ADR-0003`.
fn numbers_in_front(source: &str, step: &Move) -> String {
    let Some(front) = text::front(source).0 else {
        return source.to_owned();
    };
    let mut out = source.to_owned();
    if let Some(field) = front.field("links") {
        let block = &source[field.span.clone()];
        let mut items: Vec<String> = Vec::new();
        for line in block.split_inclusive('\n') {
            let begins = line.trim_start().starts_with('-');
            match items.last_mut() {
                Some(item) if !begins => item.push_str(line),
                _ => items.push(line.to_owned()),
            }
        }
        let new: String = items
            .iter()
            .map(|item| {
                // The file was renamed before: it says which of two was meant.
                let names_file = item.contains("file:");
                let meant = if names_file {
                    item.contains(&step.new)
                } else {
                    !step.shared
                };
                if meant {
                    target_of(item, step)
                } else {
                    item.clone()
                }
            })
            .collect();
        out.replace_range(field.span.clone(), &new);
    }
    let said = front.field("status").map(|field| field.value.clone());
    let padded = format!("ADR-{:04}", step.from);
    if let Some(status) = said.filter(|status| !status.contains("](") && status.ends_with(&padded))
    {
        // Where two have the number, only a link beside it that names the file says which.
        let meant = !step.shared
            || Record::read("", &out)
                .links
                .iter()
                .any(|link| link.key() == "supersededby" && link.file.as_ref() == Some(&step.new));
        if meant {
            let new = status.replace(&padded, &format!("ADR-{:04}", step.to));
            out = set_field(&out, "status", &new);
        }
    }
    out
}

fn target_of(item: &str, step: &Move) -> String {
    item.split_inclusive('\n')
        .map(|line| {
            let key = line.trim_start().trim_start_matches('-').trim_start();
            let value = key.strip_prefix("target:").map(text::unquoted);
            if value.and_then(|value| value.parse().ok()) == Some(step.from) {
                line.replacen(&step.from.to_string(), &step.to.to_string(), 1)
            } else {
                line.to_owned()
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Move, repairs, rewrite, rewrite_other, single};
    use crate::adr::Record;
    use std::collections::BTreeSet;

    fn step(shared: bool) -> Move {
        Move {
            from: 3,
            to: 12,
            old: "0003-x.md".into(),
            new: "0012-x.md".into(),
            shared,
        }
    }

    fn hash(text: &str) -> String {
        format!("{}", text.bytes().map(u64::from).sum::<u64>())
    }

    #[test]
    fn links_are_followed_where_they_lead_to_the_file() {
        let table = [
            (
                "docs/adr",
                "[3. X](0003-x.md#why) and `0003-x.md`.",
                "[12. X](0012-x.md#why) and `0012-x.md`.",
            ),
            (
                "docs",
                "see [ADR-0003](./adr/0003-x.md \"t\")",
                "see [ADR-0012](./adr/0012-x.md \"t\")",
            ),
            (
                "docs/a/b",
                "<../../adr/0003-x.md>\r\n",
                "<../../adr/0012-x.md>\r\n",
            ),
            (
                "docs",
                "[3. X](other/0003-x.md) 0003-x.md",
                "[3. X](other/0003-x.md) 0003-x.md",
            ),
            (
                "docs",
                "docs/adr/0003-x.md ü docs/adr/0003-x.mdx",
                "docs/adr/0012-x.md ü docs/adr/0003-x.mdx",
            ),
            (
                "docs/adr",
                "[the 3 rules](0003-x.md)",
                "[the 3 rules](0012-x.md)",
            ),
            ("docs/adr", "[x]: 0003-x.md\n", "[x]: 0012-x.md\n"),
        ];
        for (dir, text, wanted) in table {
            assert_eq!(rewrite_other(text, dir, "docs/adr", &[step(false)]), wanted);
        }
    }

    #[test]
    fn numbers_alone_are_followed_where_one_record_has_them() {
        let text = "---\nstatus: superseded by ADR-0003\nlinks:\n- target: 3\n  kind: amends\n- target: 33\n  kind: amends\n---\n# Y\n";
        let record = Record::read("0001-y.md", text);
        assert_eq!(
            rewrite(&record, "docs/adr", &[step(false)], hash),
            text.replace("ADR-0003", "ADR-0012")
                .replace("target: 3\n", "target: 12\n")
        );
        assert_eq!(rewrite(&record, "docs/adr", &[step(true)], hash), text);
        let text = "---\nstatus: superseded by ADR-0003\nlinks:\n  - target: 3\n    kind: supersededby\n    file: 0003-x.md\n---\n# Y\n";
        let record = Record::read("0001-y.md", text);
        assert_eq!(
            rewrite(&record, "docs/adr", &[step(true)], hash),
            text.replace("ADR-0003", "ADR-0012")
                .replace("target: 3\n", "target: 12\n")
                .replace("0003-x", "0012-x")
        );
    }

    #[test]
    fn a_pin_that_held_holds_afterwards() {
        let text = crate::adr::edit::accept(
            "# 3. X\n\n## Status\n\nProposed\n\n## Context\n\nself: 0003-x.md\n",
            hash,
        );
        let record = Record::read("0003-x.md", &text);
        let moved = Record::read(
            "0012-x.md",
            &rewrite(&record, "docs/adr", &[step(false)], hash),
        );
        assert_eq!(crate::adr::edit::holds(&moved, hash), Some(true));
        assert_eq!(moved.inner_number.map(|n| n.0), Some(12));
        let broken = Record::read("0003-x.md", &text.replace("self", "else"));
        let moved = Record::read(
            "0012-x.md",
            &rewrite(&broken, "docs/adr", &[step(false)], hash),
        );
        assert_eq!(crate::adr::edit::holds(&moved, hash), Some(false));
    }

    #[test]
    fn of_two_the_accepted_then_the_older_keeps_its_number() {
        let record = |file: &str, status: &str, date: &str| {
            Record::read(
                file,
                &format!("---\nstatus: {status}\ndate: {date}\n---\n# T\n"),
            )
        };
        let records = [
            record("0001-a.md", "proposed", "2026-01-01"),
            record("0001-b.md", "accepted", "2026-01-02"),
            record("0002-c.md", "proposed", "2026-01-02"),
            record("0002-d.md", "proposed", "2026-01-01"),
        ];
        let none = BTreeSet::new();
        let moves: Vec<String> = repairs(&records, &[], &none, &none)
            .iter()
            .map(|m| format!("{}>{}", m.old, m.new))
            .collect();
        assert_eq!(moves, ["0001-a.md>0003-a.md", "0002-c.md>0004-c.md"]);
        let ours = BTreeSet::from(["0002-d.md".to_owned()]);
        let taken = [(2, "0002-z.md".to_owned()), (9, "0009-q.md".to_owned())];
        let moves = repairs(&records[3..], &taken, &ours, &none);
        assert_eq!(moves[0].new, "0010-d.md");
        assert!(single(&records, 1, 5, None).is_err());
        assert_eq!(
            single(&records, 1, 5, Some("docs/adr/0001-b.md"))
                .expect("move")
                .new,
            "0005-b.md"
        );
        assert!(single(&records, 2, 1, Some("0002-c.md")).is_err());
    }
}
