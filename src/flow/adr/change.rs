//! Edits of decision records in the worktree: a new draft, a status, a link, another number, the index.

use super::{Folder, file_names, hash, load, top};
use crate::flow::context::Context;
use crate::flow::files;
use crate::flow::write_scope::new_uid;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{command, hint};
use loopx_spec::adr;
use loopx_spec::adr::edit;
use loopx_spec::adr::edit::Target;
use loopx_spec::adr::overview::DraftParts;
use loopx_spec::adr::record::{reverse, verb_words};
use loopx_spec::adr::renumber;
use loopx_spec::adr::renumber::Move;
use loopx_spec::adr::supersede;
use loopx_spec::adr::{DRAFT, Record, Status, overview};
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::Path;

/// The text of a file before and after a change.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct FileChange {
    /// Path of the file below the top of the worktree.
    pub path: String,
    /// The new name of the file, where the name changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    #[serde(skip)]
    pub before: String,
    #[serde(skip)]
    pub after: String,
}

impl FileChange {
    fn at(path: String, before: &str, after: String) -> Self {
        FileChange {
            path,
            to: None,
            before: before.to_owned(),
            after,
        }
    }
}

/// Writes files of the worktree.
pub(in crate::flow) fn apply(ctx: &Context, changes: &[FileChange]) -> Result<()> {
    let top = top(ctx)?;
    for change in changes {
        let place = files::inside(&top, &change.path)?;
        match &change.to {
            Some(to) => {
                let to = files::inside(&top, to)?;
                files::write(&to, change.after.as_bytes())?;
                if let Err(failure) = files::remove(&place) {
                    // A record that stands twice is none.
                    drop(files::remove(&to));
                    return Err(failure);
                }
            }
            None => files::write(&place, change.after.as_bytes())?,
        }
    }
    Ok(())
}

/// Writes a draft. What it supersedes is noted in the draft alone.
pub(crate) fn new(
    ctx: &Context,
    typed: &str,
    nygard: bool,
    supersedes: &[String],
) -> Result<FileChange> {
    let change = drafted(ctx, typed, nygard, supersedes)?;
    apply(ctx, std::slice::from_ref(&change))?;
    Ok(change)
}

/// Writes a draft whose context is known.
pub(crate) fn new_about(
    ctx: &Context,
    typed: &str,
    context: &str,
    dry_run: bool,
) -> Result<FileChange> {
    let parts = DraftParts {
        context,
        ..DraftParts::default()
    };
    let change = draft_of(ctx, typed, parts)?;
    if !dry_run {
        apply(ctx, std::slice::from_ref(&change))?;
    }
    Ok(change)
}

/// The path of a draft with a title, below the top of the worktree.
fn draft_at(folder: &str, title: &str) -> Result<String> {
    Ok(format!("{folder}/{DRAFT}{}.md", adr::slug(title)?))
}

/// The draft with this title, with its path, where there is one that has these words.
pub(crate) fn drafted_about(
    ctx: &Context,
    typed: &str,
    words: &str,
) -> Result<Option<(String, String)>> {
    let path = draft_at(&super::folder_path(ctx)?, &adr::title(typed)?)?;
    let place = files::inside(&top(ctx)?, &path)?;
    let text = files::read(&place, super::MAX_BYTES)?.unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    Ok(text.contains(words).then_some((path, text)))
}

/// A draft with what is known of it, to be written.
pub(in crate::flow) fn draft_of(
    ctx: &Context,
    typed: &str,
    parts: DraftParts<'_>,
) -> Result<FileChange> {
    let mut change = drafted(ctx, typed, false, &[])?;
    change.after = overview::with_parts(&change.after, parts);
    Ok(change)
}

fn drafted(ctx: &Context, typed: &str, nygard: bool, supersedes: &[String]) -> Result<FileChange> {
    let top = top(ctx)?;
    let title = adr::title(typed)?;
    let folder = load(ctx)?;
    let date: String = ctx.repo.identity()?.at.chars().take(10).collect();
    let id = new_uid();
    let mut text = overview::template(&title, id.as_str(), &date, nygard);
    for word in supersedes {
        let old = folder.find_numbered(word)?;
        if let Some(target) = Target::of(old) {
            text = edit::add_link(&text, "supersedes", target);
        }
    }
    let path = draft_at(&folder.path, &title)?;
    let place = files::inside(&top, &path)?;
    if place.exists() {
        return Err(
            Failure::refused(Code::DraftExists, format!("{path} is there already"))
                .help(hint!["edit it, then: ", command!("adr promote {path}")]),
        );
    }
    Ok(FileChange::at(path, "", text))
}

/// Accepts a record and pins its body. What it supersedes is superseded now.
pub(crate) fn accept(ctx: &Context, word: &str) -> Result<Vec<FileChange>> {
    let folder = load(ctx)?;
    let record = folder.find_numbered(word)?;
    let path = format!("{}/{}", folder.path, record.file);
    let at = format!("{path}:{}", record.status_line);
    match record.status {
        Some(Status::Superseded | Status::Deprecated | Status::Rejected) => {
            return Err(Failure::refused(
                Code::RecordClosed,
                format!(
                    "{at}: expected a proposed record, found `{}`",
                    record.status_text
                ),
            )
            .help(command!("adr new TITLE")));
        }
        None if !(record.status_text.is_empty() && record.has_madr_sections()) => {
            return Err(Failure::refused(
                Code::StatusUnknown,
                format!(
                    "{at}: expected a proposed record, found `{}`",
                    record.status_text
                ),
            )
            .help(command!("adr check")));
        }
        None | Some(Status::Accepted | Status::Proposed | Status::Draft) => {}
    }
    match (edit::holds(record, hash), record.status) {
        (Some(true), Some(Status::Accepted)) => Err(Failure::nothing(
            Code::AcceptedAlready,
            format!("{path} was accepted before, and its body has not changed since"),
        )
        .help(command!("adr list"))),
        (Some(false), Some(Status::Accepted)) => Err(Failure::refused(
            Code::FrozenChanged,
            format!("{path}: the body changed after it was accepted"),
        )
        .help(hint![
            format!("git checkout -- '{path}', or: "),
            command!("adr new TITLE --supersedes {word}")
        ])),
        _ => {
            super::require_filled(&path, record)?;
            let after = edit::accept(&record.text, hash);
            let mut changes = vec![FileChange::at(path.clone(), &record.text, after)];
            let me = target(record)?;
            for link in record.links.iter().filter(|l| l.key() == "supersedes") {
                let at = format!("{path}:{}", link.line);
                let Some(old) = folder.records.iter().find(|old| link.names(old)) else {
                    return Err(Failure::refused(
                        Code::LinkBroken,
                        format!("{at}: supersedes a record that is not there"),
                    )
                    .help(hint![
                        "remove that line, or write the record that is meant: ",
                        command!("adr list")
                    ]));
                };
                supersede::require_free(&folder.records, old, record, &at)?;
                if !is_superseded_by(old, record) {
                    changes.push(FileChange::at(
                        format!("{}/{}", folder.path, old.file),
                        &old.text,
                        edit::supersede(&old.text, me),
                    ));
                }
            }
            apply(ctx, &changes)?;
            Ok(changes)
        }
    }
}

fn two<'f>(folder: &'f Folder, one: &str, other: &str) -> Result<(&'f Record, &'f Record)> {
    let a = folder.find_numbered(one)?;
    let b = folder.find_numbered(other)?;
    if a.file == b.file {
        return Err(Failure::usage(
            Code::RecordSame,
            format!("`{one}` and `{other}` are one record; expected two"),
        )
        .help(command!("adr list")));
    }
    Ok((a, b))
}

fn linked(folder: &Folder, records: [(&Record, String); 2]) -> Result<Vec<FileChange>> {
    let changes: Vec<FileChange> = records
        .into_iter()
        .filter(|(record, after)| record.text != *after)
        .map(|(record, after)| {
            FileChange::at(
                format!("{}/{}", folder.path, record.file),
                &record.text,
                after,
            )
        })
        .collect();
    if changes.is_empty() {
        return Err(
            Failure::nothing(Code::LinkedAlready, "both records have this link already")
                .help(command!("adr graph")),
        );
    }
    Ok(changes)
}

fn target(record: &Record) -> Result<Target<'_>> {
    Target::of(record).ok_or_else(|| {
        Failure::internal(
            Code::RecordUnnumbered,
            format!("{} has no number", record.file),
        )
    })
}

/// Tells whether a record says in status and link that another record superseded it.
fn is_superseded_by(old: &Record, new: &Record) -> bool {
    let mut links = old.links.iter();
    old.status == Some(Status::Superseded)
        && links.any(|link| link.key() == "supersededby" && link.names(new))
}

/// Writes on both sides that one record superseded another.
pub(crate) fn supersede(ctx: &Context, old: &str, new: &str) -> Result<Vec<FileChange>> {
    let folder = load(ctx)?;
    let (old, new) = two(&folder, old, new)?;
    supersede::require_no_circle(&folder.records, old, new)?;
    let after = if is_superseded_by(old, new) {
        old.text.clone()
    } else {
        edit::supersede(&old.text, target(new)?)
    };
    let changes = linked(
        &folder,
        [
            (old, after),
            (new, edit::add_link(&new.text, "supersedes", target(old)?)),
        ],
    )?;
    apply(ctx, &changes)?;
    Ok(changes)
}

/// Writes a link, and its reverse on the other side.
pub(crate) fn link(
    ctx: &Context,
    from: &str,
    verb: &str,
    to: &str,
    back: Option<&str>,
) -> Result<Vec<FileChange>> {
    let folder = load(ctx)?;
    let (from, to) = two(&folder, from, to)?;
    let words = verb_words(verb);
    let back = match back
        .map(verb_words)
        .or_else(|| reverse(verb).map(str::to_owned))
    {
        Some(back) => back,
        None => {
            return Err(Failure::usage(
                Code::ReverseUnknown,
                format!("expected the words for the other side of `{words}`, found none"),
            )
            .help(command!(
                "adr link {} \"{words}\" {} \"... by\"",
                from.label(),
                to.label()
            )));
        }
    };
    for word in [&words, &back] {
        let fits = |c: char| c.is_alphabetic() || matches!(c, ' ' | '-');
        if word.is_empty() || !word.chars().all(fits) {
            return Err(Failure::usage(
                Code::VerbInvalid,
                format!("expected letters, spaces and `-` in a link's words, found `{word}`"),
            )
            .help(command!("adr link 2 amends 1")));
        }
        if word.starts_with("supersede") {
            return Err(Failure::usage(
                Code::VerbIsStatus,
                "superseding changes the status too, and has a command of its own",
            )
            .help(command!("adr supersede OLD NEW")));
        }
    }
    let changes = linked(
        &folder,
        [
            (from, edit::add_link(&from.text, &words, target(to)?)),
            (to, edit::add_link(&to.text, &back, target(from)?)),
        ],
    )?;
    apply(ctx, &changes)?;
    Ok(changes)
}

/// Records that get another number.
#[derive(Clone, Debug)]
pub(crate) enum Renumber<'a> {
    One {
        from: u32,
        to: u32,
        file: Option<&'a str>,
    },
    /// Records whose number is taken, here or on one of these branches.
    Fix { with: &'a [String] },
}

/// Renames records and repairs what leads to them.
pub(crate) fn renumber(
    ctx: &Context,
    what: &Renumber<'_>,
    dry_run: bool,
) -> Result<(Vec<Move>, Vec<FileChange>)> {
    let top = top(ctx)?;
    let mut folder = load(ctx)?;
    let moves = match what {
        Renumber::One { from, to, file } => {
            if let Some(copy) = copied(&folder, *from, *to, *file) {
                folder.records.retain(|record| record.file != copy);
            }
            vec![renumber::single(&folder.records, *from, *to, *file)?]
        }
        Renumber::Fix { with } => {
            // What other branches have counts only where they are named: theirs stay, ours move.
            let (elsewhere, ours) = if with.is_empty() {
                <(Vec<_>, std::collections::BTreeMap<_, _>)>::default()
            } else {
                super::elsewhere(ctx, &folder, with)?
            };
            let here: BTreeSet<&str> = folder
                .records
                .iter()
                .filter_map(|r| r.id.as_deref())
                .collect();
            let taken: Vec<(u32, String)> = elsewhere
                .into_iter()
                .filter(|other| other.id.as_deref().is_none_or(|id| !here.contains(id)))
                .map(|other| (other.number, other.file))
                .collect();
            let moving = ours.into_values().flatten().collect();
            let mut settled = super::brought(ctx, &folder, with)?;
            if with.is_empty()
                && let Some((_, files)) = super::of_target(ctx, &folder)?
            {
                settled.extend(files);
            }
            renumber::repairs(&folder.records, &taken, &moving, &settled)
        }
    };
    if moves.is_empty() {
        return Err(
            Failure::nothing(Code::NumbersUnique, "every record has a number of its own")
                .help(command!("adr check")),
        );
    }
    let mut changes = Vec::new();
    for record in &folder.records {
        let after = renumber::rewrite(record, &folder.path, &moves, hash);
        let step = moves.iter().find(|step| step.old == record.file);
        if after != record.text || step.is_some() {
            let mut change = FileChange::at(
                format!("{}/{}", folder.path, record.file),
                &record.text,
                after,
            );
            change.to = step.map(|step| format!("{}/{}", folder.path, step.new));
            changes.push(change);
        }
    }
    for path in other_markdown(ctx, &top, &folder)? {
        let place = files::inside(&top, &path)?;
        let Some(Ok(text)) = files::read(&place, super::MAX_BYTES)?.map(String::from_utf8) else {
            continue;
        };
        let dir = path.rsplit_once('/').map_or("", |(dir, _)| dir);
        let after = renumber::rewrite_other(&text, dir, &folder.path, &moves);
        if after != text {
            changes.push(FileChange::at(path, &text, after));
        }
    }
    if !dry_run {
        apply(ctx, &changes)?;
    }
    Ok((moves, changes))
}

/// The copy of a record that a killed command wrote under the new number, before it removed the old file.
fn copied(folder: &Folder, from: u32, to: u32, file: Option<&str>) -> Option<String> {
    let mut others = folder.records.clone();
    others.retain(|record| record.number != Some(to));
    let step = renumber::single(&others, from, to, file).ok()?;
    let named = |name: &str| folder.records.iter().find(|record| record.file == name);
    let (old, new) = (named(&step.old)?, named(&step.new)?);
    let moves = std::slice::from_ref(&step);
    let expected = renumber::rewrite(old, &folder.path, moves, hash);
    (new.text == expected).then(|| step.new.clone())
}

/// Markdown that HEAD has, and what lies below docs/ and below the folder that the records' folder is in, the records
/// apart.
fn other_markdown(ctx: &Context, top: &Path, folder: &Folder) -> Result<Vec<String>> {
    let mut folders: Vec<String> = vec!["docs".into(), folder.path.clone()];
    if let Some((parent, _)) = folder.path.split_once('/') {
        folders.push(parent.to_owned());
    }
    let mut found = committed_markdown(ctx, top)?;
    let is_own = |path: &str| {
        let name = path.strip_prefix(folder.path.as_str());
        name.and_then(|name| name.strip_prefix('/'))
            .is_some_and(adr::is_record)
    };
    found.retain(|path| !is_own(path));
    let mut seen = BTreeSet::new();
    while let Some(dir) = folders.pop() {
        if !seen.insert(dir.clone()) {
            continue;
        }
        let place = top.join(&dir);
        // A link may lead out of the worktree.
        if std::fs::symlink_metadata(&place).map_or(true, |meta| !meta.is_dir()) {
            continue;
        }
        for file in file_names(&place)? {
            if file.ends_with(".md") && !(dir == folder.path && adr::is_record(&file)) {
                found.insert(format!("{dir}/{file}"));
            }
        }
        let entries = super::entries(&place)?.into_iter();
        for entry in entries.filter(|e| e.file_type().is_ok_and(|kind| kind.is_dir())) {
            if let Ok(name) = entry.file_name().into_string() {
                folders.push(format!("{dir}/{name}"));
            }
        }
    }
    Ok(found.into_iter().collect())
}

/// Markdown that HEAD has and the worktree has as a file, behind no link. Specs are changed by sessions alone.
fn committed_markdown(ctx: &Context, top: &Path) -> Result<BTreeSet<String>> {
    let Some(head) = ctx.repo.head()?.commit else {
        return Ok(BTreeSet::new());
    };
    let tree = ctx.repo.commit_info(&head)?.tree;
    let mut paths: BTreeSet<String> = ctx.repo.changed_paths(None, &tree)?.into_iter().collect();
    let specs = format!("{}/", super::policy(ctx)?.paths.specs);
    paths.retain(|path| path.ends_with(".md") && !path.starts_with(&specs));
    paths.retain(|path| files::inside(top, path).is_ok_and(|place| place.is_file()));
    Ok(paths)
}

/// Writes the managed block of the folder's README.md, or of the index.md that is there.
pub(crate) fn write_index(ctx: &Context) -> Result<Option<FileChange>> {
    let top = top(ctx)?;
    let folder = load(ctx)?;
    let mut file = "README.md";
    for name in ["README.md", "index.md"] {
        let place = files::inside(&top, &format!("{}/{name}", folder.path))?;
        let text = files::read(&place, super::MAX_BYTES)?.unwrap_or_default();
        if overview::has_index(&String::from_utf8_lossy(&text)) {
            file = name;
            break;
        }
        if name == "index.md" && place.exists() && !place.with_file_name("README.md").exists() {
            file = name;
        }
    }
    let path = format!("{}/{file}", folder.path);
    let bytes = files::read(&files::inside(&top, &path)?, super::MAX_BYTES)?.unwrap_or_default();
    let before = String::from_utf8(bytes).map_err(|_| {
        Failure::refused(
            Code::IndexNotUtf8,
            format!("{path}:1: expected UTF-8, found other bytes"),
        )
        .help("convert the file to UTF-8, then run the command again")
    })?;
    let after = overview::write_index(&before, &path, &folder.records)?;
    if after == before {
        return Ok(None);
    }
    let change = FileChange::at(path, &before, after);
    apply(ctx, std::slice::from_ref(&change))?;
    Ok(Some(change))
}
