//! The journal: notes that belong to no session and to no issue, by month.
//!
//! **A month has parts.** An entity holds so many records at most (`room`), so that a month begins a new part,
//! `2026-11.02`, once the last one has counted to [`PART`]. Clones that fill one part apart stay far below the limit
//! together. What reads the journal reads every part; a program that knows of no parts does too.
//!
//! **A list of a large journal** is read from a disposable file a part in the git dir, which says what each folder of a
//! hundred records gave: a folder that is not in it is read, and a file that is damaged or of another version is as good
//! as none. Whoever writes reads names of records alone.

use super::kept_lines::{checksum, whole_text};
use super::{Snapshot, fanout_folder, layout, ops};
use loopx_base::failure::{Failure, Result};
use loopx_base::fanout::Fanout;
use loopx_base::id::{Oid, OpId};
use loopx_git::EntryKind;
use loopx_rules::note::NoteRecord;
use loopx_rules::signature::SUFFIX;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::path::PathBuf;

/// Number of records behind which a month begins a new part.
const PART: u64 = 5_000;

/// Number of the format, raised when the form of the kept files changes.
const FORMAT: u32 = 1;

/// Part of the journal that the next record goes into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The folder's name: a month, with a number from the second part on.
    pub name: String,
    /// The largest number of its records, and the records that have it.
    pub seq: u64,
    pub after: Vec<OpId>,
}

impl Part {
    /// Number of records that go into the part before the next part begins.
    pub fn room(&self) -> usize {
        usize::try_from(PART.saturating_sub(self.seq)).unwrap_or(usize::MAX)
    }

    /// Part behind this one.
    #[must_use]
    pub fn next(&self) -> Part {
        let (month, number) = split(&self.name).unwrap_or((&self.name, 1));
        Part {
            name: format!("{month}.{:02}", number + 1),
            seq: 0,
            after: Vec::new(),
        }
    }
}

/// A month, and which of its parts this is.
pub(super) fn split(name: &str) -> Option<(&str, u32)> {
    match name.split_once('.') {
        None => Some((name, 1)),
        Some((month, number)) => Some((month, number.parse().ok()?)),
    }
}

/// Result of listing the journal.
#[derive(Debug, Default)]
pub struct JournalNotes {
    /// Notes in the order of the log: by part, then by number.
    pub notes: Vec<NoteRecord>,
    /// Folders of which something cannot be read, and why.
    pub damaged: Vec<(String, Failure)>,
}

/// The first line of a kept file.
#[derive(PartialEq, Serialize, Deserialize)]
struct Head {
    format: u32,
    /// The tree of the part's records.
    tree: Oid,
}

/// A line of a kept file: the folder, and its notes.
type Line<'l> = (Oid, &'l RawValue);

impl Snapshot<'_> {
    /// The part of a month that takes the next record. Nothing is read for it but names: a journal only grows.
    pub fn journal_part(&self, month: &str) -> Result<Part> {
        let mut last = 1;
        if let Some(entry) = self.repo.entry_at(&self.tree, layout::JOURNAL)? {
            for (name, _) in self.repo.list_tree(self.folder(layout::JOURNAL, &entry)?)? {
                if let Some((of, number)) = split(&name)
                    && of == month
                {
                    last = last.max(number);
                }
            }
        }
        let name = match last {
            1 => month.to_owned(),
            number => format!("{month}.{number:02}"),
        };
        let (seq, after) = self.newest_of(&name)?;
        let part = Part { name, seq, after };
        Ok(match part.room() {
            0 => part.next(),
            _ => part,
        })
    }

    /// The largest number of a part, and the records that have it.
    fn newest_of(&self, name: &str) -> Result<(u64, Vec<OpId>)> {
        let place = format!("{}/{}", layout::journal(name), layout::OPS);
        let Some(entry) = self.repo.entry_at(&self.tree, &place)? else {
            return Ok((0, Vec::new()));
        };
        let ops = self.folder(&place, &entry)?;
        let laid = fanout_folder::layout(self.repo, Fanout::Operations, ops)?;
        let mut names: Vec<String> = laid.flat.into_iter().map(|(name, _)| name).collect();
        // The folder of the largest numbers has the newest record.
        let number = |name: &str| name.trim_start_matches('+').parse::<u64>().unwrap_or(0);
        if let Some((_, newest)) = laid.folders.iter().max_by_key(|(name, _)| number(name)) {
            let files = self.repo.list_tree(newest)?;
            names.extend(files.into_iter().map(|(name, _)| name));
        }
        let mut newest = (0, Vec::new());
        for name in names {
            let Some((seq, id)) = name.trim_end_matches(".json").split_once('-') else {
                continue;
            };
            let (Ok(seq), Ok(id)) = (seq.parse::<u64>(), OpId::parse(id)) else {
                continue;
            };
            match seq.cmp(&newest.0) {
                std::cmp::Ordering::Greater => newest = (seq, vec![id]),
                std::cmp::Ordering::Equal => newest.1.push(id),
                std::cmp::Ordering::Less => {}
            }
        }
        Ok(newest)
    }

    /// The notes of the journal that `takes` wants, from a month on. A damaged one hides no other.
    pub fn journal_notes(
        &self,
        since: Option<&str>,
        takes: &dyn Fn(&NoteRecord) -> bool,
    ) -> Result<JournalNotes> {
        let mut found = JournalNotes::default();
        for (place, ops) in self.journals()? {
            let name = place.split('/').nth(1).unwrap_or_default();
            let month = split(name).map_or(name, |(month, _)| month);
            if since.is_none_or(|since| month >= since) {
                self.read_part(name, &place, &ops, (takes, &mut found))?;
            }
        }
        Ok(found)
    }

    /// Notes of all months, by their records alone: whoever writes rests on nothing that is kept beside them.
    pub fn journal_records(&self, takes: &dyn Fn(&NoteRecord) -> bool) -> Result<JournalNotes> {
        let mut found = JournalNotes::default();
        for (place, ops) in self.journals()? {
            let JournalNotes { notes, damaged } = self.read_records(&ops, &place)?;
            found.notes.extend(notes.into_iter().filter(takes));
            found.damaged.extend(damaged);
        }
        Ok(found)
    }

    fn read_part(
        &self,
        name: &str,
        place: &str,
        ops: &Oid,
        (takes, found): (&dyn Fn(&NoteRecord) -> bool, &mut JournalNotes),
    ) -> Result<()> {
        let laid = fanout_folder::layout(self.repo, Fanout::Operations, ops)?;
        if laid.folders.is_empty() || !laid.flat.is_empty() {
            // What is few is read as fast.
            let JournalNotes { notes, damaged } = self.read_records(ops, place)?;
            found.notes.extend(notes.into_iter().filter(takes));
            found.damaged.extend(damaged);
            return Ok(());
        }
        let file = self.journal_file(name);
        let bytes = std::fs::read(&file).unwrap_or_default();
        let text = std::str::from_utf8(&bytes).unwrap_or_default();
        let kept = kept(text);
        let is_whole = kept.as_ref().is_some_and(|(head, _)| head.tree == *ops);
        let known: HashMap<Oid, &RawValue> =
            kept.into_iter().flat_map(|(_, lines)| lines).collect();
        let mut folders = laid.folders;
        folders.sort_by_key(|(name, _)| (name.len(), name.clone()));
        let mut out = String::new();
        let mut is_sound = true;
        for (folder, tree) in folders {
            let read = known.get(&tree).and_then(|raw| {
                let notes: Vec<NoteRecord> = serde_json::from_str(raw.get()).ok()?;
                Some((notes, (*raw).to_owned()))
            });
            let (notes, raw) = match read {
                Some((notes, raw)) => (notes, Some(raw)),
                None => {
                    let JournalNotes { notes, damaged } =
                        self.read_records(&tree, &format!("{place}/{folder}"))?;
                    let raw = serde_json::value::to_raw_value(&notes).ok();
                    // What is damaged is told each time: a file without it would hide it.
                    is_sound &= damaged.is_empty() && raw.is_some();
                    found.damaged.extend(damaged);
                    (notes, raw)
                }
            };
            found.notes.extend(notes.into_iter().filter(takes));
            if !is_whole && let Ok(line) = serde_json::to_string(&(&tree, &raw)) {
                out.push_str(&line);
                out.push('\n');
            }
        }
        if !is_whole && is_sound {
            self.keep(&file, ops, &out);
        }
        Ok(())
    }

    /// The notes of a folder of records.
    fn read_records(&self, folder: &Oid, place: &str) -> Result<JournalNotes> {
        let mut found = JournalNotes::default();
        for held in ops::files(self.repo, folder)? {
            if held.name.ends_with(SUFFIX) || held.entry.kind != EntryKind::Blob {
                continue;
            }
            match ops::read_one(self.repo, &held, &format!("{place}/{}", held.place)) {
                Ok(op) => found.notes.extend(NoteRecord::of(op)),
                Err(failure) => found.damaged.push((place.to_owned(), failure)),
            }
        }
        Ok(found)
    }

    fn journal_file(&self, name: &str) -> PathBuf {
        let folder = self.repo.common_dir().join("loopx").join("journal-cache");
        folder.join(name)
    }

    /// A list without its file is slower, and right.
    fn keep(&self, file: &std::path::Path, tree: &Oid, lines: &str) {
        let head = Head {
            format: FORMAT,
            tree: tree.clone(),
        };
        if let Ok(head) = serde_json::to_string(&head) {
            let whole = format!("{head}\n{lines}");
            let sum = checksum(&whole);
            drop(
                self.repo
                    .write_shared(file, format!("{whole}{sum}\n").as_bytes()),
            );
        }
    }
}

/// The kept file, if it is whole and of this form.
fn kept(text: &str) -> Option<(Head, Vec<Line<'_>>)> {
    let mut lines = whole_text(text)?.lines();
    let head: Head = serde_json::from_str(lines.next()?).ok()?;
    if head.format != FORMAT {
        return None;
    }
    let lines = lines.map(serde_json::from_str);
    let lines = lines.collect::<std::result::Result<Vec<Line<'_>>, _>>();
    Some((head, lines.ok()?))
}

#[cfg(test)]
mod tests {
    use super::{PART, Part, split};

    #[test]
    fn a_month_goes_on_in_parts() {
        let first = Part {
            name: "2026-11".to_owned(),
            seq: PART,
            after: Vec::new(),
        };
        assert_eq!(first.room(), 0);
        let second = first.next();
        assert_eq!((second.name.as_str(), second.seq), ("2026-11.02", 0));
        assert_eq!(second.next().name, "2026-11.03");
        assert_eq!(split("2026-11.12"), Some(("2026-11", 12)));
        assert_eq!(split("2026-11.x"), None);
    }
}
