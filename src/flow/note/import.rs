//! `note import`: the message logs and wisdom files of ccw become notes, all in one commit or none. What was brought
//! before is known by where it comes from, and is left out.

use super::list::records;
use super::{Home, Where, in_journal, is_about_a_session};
use crate::flow::context::Context;
use crate::flow::files;
use crate::flow::naming::unknown;
use crate::flow::write_scope::{Opening, draft, new_uid, seal};
use loopx_base::counted;
use loopx_base::failure::{Blocker, Code, Failure, Result};
use loopx_base::hint::command;
use loopx_base::id::{Oid, SessionId};
use loopx_git::Identity;
use loopx_rules::note::{Note, NoteRecord, NoteSource};
use loopx_rules::peer::{Brought, Fault, MESSAGES, messages, wisdom, wisdom_kind};
use loopx_store as store;
use loopx_store::{Decision, Edits, Record, Snapshot, journal_message};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// The number of notes that one import brings to a session: everybody who reads a session reads all its records.
const MOST_ON_SESSION: usize = 5_000;
/// The largest file that is read.
const LARGEST: u64 = 256 * 1024 * 1024;
/// The depth to which a folder is looked through.
const DEPTH: usize = 6;

/// The report on what an import did, or would do.
#[derive(Debug)]
pub(crate) struct Report {
    pub home: Home,
    /// The files that were read, and how many notes each has.
    pub files: Vec<(String, usize)>,
    /// The number of notes that are new.
    pub new: usize,
    /// The number of notes that were here before.
    pub known: usize,
    pub commit: Option<Oid>,
}

/// Reads logs and wisdom files, and keeps what is new.
pub(crate) fn import(ctx: &Context, place: &Where, path: &Path, dry_run: bool) -> Result<Report> {
    let mut faults = Vec::new();
    let (names, brought) = read(path, &mut faults)?;
    require_sound(&faults, path)?;
    if names.is_empty() {
        return Err(Failure::not_found(
            Code::ImportMissing,
            format!(
                "`{}` has no {MESSAGES} and no wisdom/*.md in it",
                path.display()
            ),
        )
        .help("name a log of messages, a wisdom file, or the folder of a team"));
    }
    let (home, before) = records(ctx, place)?;
    let new = unknown_of(&before, &brought);
    let mut report = Report {
        home,
        files: names,
        new: new.len(),
        known: brought.len() - new.len(),
        commit: None,
    };
    if dry_run || new.is_empty() {
        return Ok(report);
    }
    let what = format!("import {} from ccw", counted(new.len(), "note"));
    report.commit = Some(if !place.journal && is_about_a_session(ctx)? {
        to_session(ctx, &brought, &what)?
    } else {
        to_journal(ctx, &brought, &what)?
    });
    Ok(report)
}

type Known<'n> = HashSet<(&'n NoteSource, &'n str)>;

/// Lists the notes that are not here yet, each once.
fn unknown_of<'b>(before: &[NoteRecord], brought: &'b [Brought]) -> Vec<&'b Brought> {
    let mut known: Known<'_> = before
        .iter()
        .filter_map(|record| record.note.said())
        .filter_map(|said| Some((said.source.as_ref()?, said.text.as_str())))
        .collect();
    let mut new = Vec::new();
    for one in brought {
        if let Some(source) = &one.said.source
            && known.insert((source, one.said.text.as_str()))
        {
            new.push(one);
        }
    }
    new
}

fn require_sound(faults: &[Fault], path: &Path) -> Result<()> {
    let Some(first) = faults.first() else {
        return Ok(());
    };
    let path = path.display().to_string();
    let blockers = faults.iter().map(|fault| {
        let said = format!("{}: {}", fault.at, fault.message);
        Blocker::new(fault.code, said, command!("note import {path} --dry-run"))
    });
    Err(Failure::refused(
        first.code,
        format!("nothing was imported: {}: {}", first.at, first.message),
    )
    .blockers(blockers.collect())
    .help("mend what is named, then import again"))
}

fn to_journal(ctx: &Context, brought: &[Brought], what: &str) -> Result<Oid> {
    let opening = Opening::of(ctx)?;
    let identity = &opening.identity;
    let decide = |snapshot: &Snapshot<'_>| {
        let is_brought =
            |one: &NoteRecord| one.note.said().is_some_and(|said| said.source.is_some());
        let before = snapshot.journal_notes(None, &is_brought)?.notes;
        let notes: Vec<(Note, Option<String>)> = unknown_of(&before, brought)
            .into_iter()
            .map(|one| (one.said.clone().into(), one.at.clone()))
            .collect();
        let (edits, ops) = in_journal(ctx, snapshot, identity, &notes)?;
        let message = match ops.first() {
            Some(op) => journal_message(what, op),
            None => what.to_owned(),
        };
        Ok(Decision {
            edits,
            message,
            value: (),
        })
    };
    let committed = opening.scope(ctx).commit(decide, |()| Vec::new())?;
    Ok(committed.commit)
}

fn to_session(ctx: &Context, brought: &[Brought], what: &str) -> Result<Oid> {
    let opening = Opening::of(ctx)?;
    let id = opening.session(ctx)?;
    let identity = &opening.identity;
    let decide = |snapshot: &Snapshot<'_>| on(ctx, snapshot, identity, &id, brought, what);
    let committed = opening.scope(ctx).commit(decide, |()| Vec::new())?;
    Ok(committed.commit)
}

/// The records of what is new behind those of a session.
fn on(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    identity: &Identity,
    id: &SessionId,
    brought: &[Brought],
    what: &str,
) -> Result<Decision<()>> {
    let session = snapshot.find(id)?.ok_or_else(|| unknown(snapshot, id))?;
    let before = snapshot.operations(&session)?;
    let before: Vec<NoteRecord> = before.into_iter().filter_map(NoteRecord::of).collect();
    let new = unknown_of(&before, brought);
    if new.len() > MOST_ON_SESSION {
        return Err(Failure::refused(
            Code::RecordsExhausted,
            format!(
                "{} are more than the {MOST_ON_SESSION} that one import brings to a session",
                counted(new.len(), "note")
            ),
        )
        .help(command!("note import PATH --journal")));
    }
    let mut state = session.state.clone();
    let tx = new_uid();
    let mut ops = Vec::new();
    for one in new {
        let mut next = draft(identity, &state, Note::from(one.said.clone()));
        next.tx = tx.clone();
        if let Some(at) = &one.at {
            next.at = at.clone();
        }
        let op = seal(&ctx.repo, &next)?;
        state.apply(&op);
        ops.push(op);
    }
    let records: Vec<Record<'_>> = ops.iter().map(Record::from).collect();
    let mut edits = Edits::default();
    edits.record_all(&ctx.repo, Some(&session), &records, &state)?;
    let message = match ops.first() {
        Some(op) => store::message(id, what, op, &state),
        None => what.to_owned(),
    };
    Ok(Decision {
        edits,
        message,
        value: (),
    })
}

/// The files that were read with how many notes each has, and the notes.
type Found = (Vec<(String, usize)>, Vec<Brought>);

/// A file, or every log and wisdom file of a folder.
fn read(path: &Path, faults: &mut Vec<Fault>) -> Result<Found> {
    let whole = std::fs::canonicalize(path).map_err(|_| {
        Failure::not_found(
            Code::ImportMissing,
            format!("there is no `{}`", path.display()),
        )
        .help("name a log of messages, a wisdom file, or the folder of a team")
    })?;
    let mut found = Vec::new();
    if whole.is_file() {
        found.push(whole.clone())
    } else {
        walk(&whole, 0, &mut found)?
    }
    found.sort();
    let (mut names, mut brought) = (Vec::new(), Vec::new());
    for file in found {
        let label = match file.strip_prefix(&whole) {
            Ok(below) if !below.as_os_str().is_empty() => path.join(below),
            _ => path.to_path_buf(),
        };
        let label = label.display().to_string();
        let bytes = files::read(&file, LARGEST)?.unwrap_or_default();
        let Ok(text) = std::str::from_utf8(&bytes) else {
            faults.push(Fault {
                code: Code::ImportNotUtf8,
                at: label,
                message: "expected UTF-8, found other bytes".to_owned(),
            });
            continue;
        };
        // Some editors begin each file with a mark, which is no text.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let name = name_of(&file);
        let team = team_of(&file);
        let notes = match wisdom_kind(&name) {
            Some(_) => wisdom(text, &team, &name),
            None => messages(text, &team, &label, faults),
        };
        names.push((label, notes.len()));
        brought.extend(notes);
    }
    Ok((names, brought))
}

fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// The folder of the team that a file belongs to.
fn team_of(file: &Path) -> String {
    let above = file.parent().unwrap_or(file);
    match name_of(above).as_str() {
        ".msg" | "wisdom" => above.parent().map(name_of).unwrap_or_default(),
        other => other.to_owned(),
    }
}

fn walk(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<()> {
    let entries = std::fs::read_dir(folder).map_err(|error| {
        Failure::not_found(
            Code::ImportMissing,
            format!("{} cannot be read: {error}", folder.display()),
        )
    })?;
    for entry in entries.flatten() {
        let path = entry.path();
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        let is_wisdom = name_of(folder) == "wisdom" && wisdom_kind(&name_of(&path)).is_some();
        if kind.is_dir() && depth < DEPTH {
            walk(&path, depth + 1, found)?;
        } else if kind.is_file() && (is_wisdom || name_of(&path) == MESSAGES) {
            found.push(path);
        }
    }
    Ok(())
}
