//! Decision records: the folder of the worktree, or of a branch's tree, and what can be asked of it.
//!
//! Everything here edits files and leaves the commit to a person; only [`promote`] makes one.

pub(crate) mod change;
pub(in crate::flow) mod landed;
pub(crate) mod promote;

use super::context::Context;
use super::files;
use super::upstream;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{command, hint};
use loopx_base::id::Oid;
use loopx_base::shell_word;
use loopx_git::{EntryKind, Repo};
use loopx_rules::markdown;
use loopx_rules::policy::Policy;
use loopx_spec::Finding;
use loopx_spec::adr;
use loopx_spec::adr::check;
use loopx_spec::adr::check::{Elsewhere, Misplaced};
use loopx_spec::adr::{Record, is_record, number_of};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The largest file that is taken for a record.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// The folder of records, read.
#[derive(Debug)]
pub(crate) struct Folder {
    /// Below the top of the worktree: `docs/adr`.
    pub path: String,
    /// The records by number, drafts last.
    pub records: Vec<Record>,
    /// Files, from the top, that read like records and are read as none.
    pub unread: Vec<String>,
}

/// Folders in which other tools and people keep records; the last is the top.
const USUAL: [&str; 14] = [
    "docs/adr",
    "doc/adr",
    "docs/adrs",
    "doc/adrs",
    "adr",
    "adrs",
    "docs/decisions",
    "doc/decisions",
    "decisions",
    "docs/architecture/decisions",
    "doc/architecture/decisions",
    "docs/architecture/adr",
    "architecture/decisions",
    "",
];

/// Refuses a record whose sections are still to be written.
fn require_filled(path: &str, record: &Record) -> Result<()> {
    let sections = markdown::sections(&record.text);
    let open = record
        .needed()
        .into_iter()
        .find(|title| markdown::section(&sections, title).is_some_and(|section| !section.filled));
    let Some(title) = open else {
        return Ok(());
    };
    let line = markdown::section(&sections, title).map_or(1, |section| section.line);
    Err(Failure::refused(
        Code::RecordUnfilled,
        format!("{path}:{line}: expected text below `## {title}`, found none"),
    )
    .help(hint![
        "write it, then: ",
        command!("adr accept {}", record.word())
    ]))
}

/// The hash that pins a text: its SHA-1 id as a blob, also where git uses SHA-256, so that a record
/// keeps its pin in every repository.
pub(crate) fn hash(text: &str) -> String {
    // Hashing bytes in memory fails only where libgit2 has no memory: such a pin matches nothing.
    Repo::sha1_of(text.as_bytes()).map_or_else(|_| String::new(), |id| id.to_string())
}

/// The policy of HEAD.
fn policy(ctx: &Context) -> Result<Policy> {
    match ctx.repo.head()?.commit {
        Some(head) => ctx.policy_at(&ctx.repo.commit_info(&head)?.tree, "loopx.toml at HEAD"),
        None => Ok(Policy::default()),
    }
}

/// The folder's path by the policy of HEAD.
fn folder_path(ctx: &Context) -> Result<String> {
    Ok(policy(ctx)?.paths.adr)
}

fn record(path: &str, file: &str, bytes: Vec<u8>) -> Result<Record> {
    let text = String::from_utf8(bytes).map_err(|error| {
        let line = 1 + error.as_bytes()[..error.utf8_error().valid_up_to()]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count();
        Failure::refused(
            Code::RecordNotUtf8,
            format!("{path}/{file}:{line}: expected UTF-8, found other bytes"),
        )
        .help(format!(
            "iconv -f latin1 -t utf-8 '{path}/{file}' > '{path}/{file}.utf-8' && mv '{path}/{file}.utf-8' '{path}/{file}'  (latin1, or as it was written)"
        ))
    })?;
    Ok(Record::read(file, &text))
}

fn sorted(mut records: Vec<Record>) -> Vec<Record> {
    records
        .sort_by(|a, b| (a.is_draft(), a.number, &a.file).cmp(&(b.is_draft(), b.number, &b.file)));
    records
}

/// The records of the worktree; of HEAD in a bare repository.
pub(crate) fn load(ctx: &Context) -> Result<Folder> {
    let path = folder_path(ctx)?;
    let Some(top) = ctx.repo.work_dir() else {
        let records = match ctx.repo.head()?.commit {
            Some(head) => of_tree(&ctx.repo, &ctx.repo.commit_info(&head)?.tree, &path)?,
            None => Vec::new(),
        };
        return Ok(Folder {
            path,
            records,
            unread: Vec::new(),
        });
    };
    let mut records = Vec::new();
    for file in file_names(&files::inside(top, &path)?)? {
        if is_record(&file) {
            let place = files::inside(top, &format!("{path}/{file}"))?;
            if let Some(bytes) = files::read(&place, MAX_BYTES)? {
                records.push(record(&path, &file, bytes)?);
            }
        }
    }
    let unread = unread(top, &path)?;
    Ok(Folder {
        path,
        records: sorted(records),
        unread,
    })
}

/// The files of the folder, and of those below it, that read like records and are read as none.
fn unread(top: &Path, path: &str) -> Result<Vec<String>> {
    let is_wanted = |dir: &str, file: &str| dir != path || !is_record(file);
    let (mut found, linked) = like_records(top, path, &is_wanted)?;
    found.extend(linked);
    found.sort();
    Ok(found)
}

/// The wanted files of a folder, and of those below it, that read like records; with them the links that are named so.
fn like_records(
    top: &Path,
    path: &str,
    is_wanted: &dyn Fn(&str, &str) -> bool,
) -> Result<(Vec<String>, Vec<String>)> {
    let (mut found, mut linked) = (Vec::new(), Vec::new());
    let mut folders = vec![path.to_owned()];
    while let Some(dir) = folders.pop() {
        let place = files::inside(top, &dir)?;
        for file in file_names(&place)? {
            if is_wanted(&dir, &file) && is_like(&place, &file)? {
                found.push(format!("{dir}/{file}"));
            }
        }
        for entry in entries(&place)? {
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            let kind = entry.file_type();
            if kind.as_ref().is_ok_and(|kind| kind.is_dir()) {
                folders.push(format!("{dir}/{name}"));
            } else if kind.is_ok_and(|kind| kind.is_symlink()) && is_record(&name) {
                linked.push(format!("{dir}/{name}"));
            }
        }
    }
    found.sort();
    Ok((found, linked))
}

fn is_like(place: &Path, file: &str) -> Result<bool> {
    // Nothing else is worth a look.
    if !adr::is_text(file) {
        return Ok(false);
    }
    let text = files::read(&place.join(file), MAX_BYTES)?.unwrap_or_default();
    Ok(adr::reads_like_one(file, &String::from_utf8_lossy(&text)))
}

/// The usual folders that are there, as each is spelled.
fn usual(top: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for dir in USUAL {
        let mut spelled = vec![String::new()];
        for part in dir.split('/').filter(|part| !part.is_empty()) {
            let below = spelled.iter().flat_map(|above| {
                let names = files::entries(&top.join(above)).into_iter();
                let names = names.filter(|name| name.eq_ignore_ascii_case(part));
                names.map(move |name| match above.as_str() {
                    "" => name,
                    above => format!("{above}/{name}"),
                })
            });
            // A link may lead out of the worktree.
            let is_dir = |dir: &String| {
                let meta = std::fs::symlink_metadata(top.join(dir));
                meta.is_ok_and(|meta| meta.is_dir())
            };
            spelled = below.filter(is_dir).collect();
        }
        found.extend(spelled);
    }
    found
}

/// The records of the first usual folder that has some and is another than the folder of the policy.
fn misplaced(top: &Path, folder: &Folder) -> Result<Option<Misplaced>> {
    let own = top.join(&folder.path).canonicalize().ok();
    let below = format!("{}/", folder.path);
    for dir in usual(top) {
        let place = top.join(&dir);
        // What lies below the folder is looked at with the folder.
        let is_own = own.is_some() && place.canonicalize().ok() == own;
        if is_own || dir.starts_with(&below) {
            continue;
        }
        let files = if dir.is_empty() {
            let mut named = Vec::new();
            for file in file_names(&place)? {
                if adr::is_named_like_one(&file) && is_like(&place, &file)? {
                    named.push(file);
                }
            }
            named
        } else {
            let is_other =
                |dir: &str, _: &str| dir != folder.path && !dir.starts_with(below.as_str());
            like_records(top, &dir, &is_other)?.0
        };
        if !files.is_empty() {
            return Ok(Some(Misplaced { folder: dir, files }));
        }
    }
    Ok(None)
}

/// The records that branches brought whose commits are all here: a merge took them in.
fn brought(ctx: &Context, folder: &Folder, with: &[String]) -> Result<BTreeSet<String>> {
    let repo = &ctx.repo;
    let mut found = BTreeSet::new();
    let Some(head) = repo.head()?.commit else {
        return Ok(found);
    };
    for name in with {
        let tip = repo.resolve_commit(name)?;
        if repo.merge_base(&head, &tip)?.as_ref() == Some(&tip) {
            let files = tree_files(repo, &repo.commit_info(&tip)?.tree, &folder.path)?;
            found.extend(files.into_iter().map(|(file, _)| file));
        }
    }
    Ok(found)
}

/// The branch that the present one goes to, and the records' files that it has: they keep their numbers.
fn of_target(ctx: &Context, folder: &Folder) -> Result<Option<(String, BTreeSet<String>)>> {
    let repo = &ctx.repo;
    let branch = repo.head()?.branch;
    let Ok(Some(target)) = upstream::target(ctx, branch.as_deref(), &policy(ctx)?) else {
        return Ok(None);
    };
    let mut files = BTreeSet::new();
    for tip in &target.tips {
        let found = tree_files(repo, &repo.commit_info(tip)?.tree, &folder.path)?;
        files.extend(found.into_iter().map(|(file, _)| file));
    }
    Ok(Some((target.name, files)))
}

/// The files of a folder, sorted; none where there is no folder.
fn file_names(dir: &Path) -> Result<Vec<String>> {
    let entries = entries(dir)?.into_iter();
    let mut names: Vec<String> = entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    Ok(names)
}

/// The entries of a folder, all of them; none where there is no folder.
fn entries(dir: &Path) -> Result<Vec<std::fs::DirEntry>> {
    match std::fs::read_dir(dir).and_then(Iterator::collect) {
        Ok(entries) => Ok(entries),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(Failure::internal(
            Code::FolderUnreadable,
            format!("{}: {error}", dir.display()),
        )),
    }
}

/// The files of a folder of a tree, with their blobs.
fn tree_files(repo: &Repo, tree: &Oid, path: &str) -> Result<Vec<(String, Oid)>> {
    let mut folder = tree.clone();
    let ends = path.match_indices('/').map(|(end, _)| end);
    for end in ends.chain([path.len()]) {
        let Some(entry) = repo.entry_at(tree, &path[..end])? else {
            return Ok(Vec::new());
        };
        if entry.kind != EntryKind::Tree {
            return Err(Failure::refused(
                Code::FolderExpected,
                format!(
                    "{} is a file or a link; the decision records need a folder there",
                    &path[..end]
                ),
            )
            .help("set paths.adr in loopx.toml"));
        }
        folder = entry.id;
    }
    Ok(repo
        .list_tree(&folder)?
        .into_iter()
        .filter(|(_, entry)| entry.kind == EntryKind::Blob)
        .map(|(name, entry)| (name, entry.id))
        .collect())
}

/// The records of a tree.
fn of_tree(repo: &Repo, tree: &Oid, path: &str) -> Result<Vec<Record>> {
    let mut records = Vec::new();
    for (file, blob) in tree_files(repo, tree, path)? {
        if is_record(&file) {
            records.push(record(path, &file, repo.read_blob(&blob)?)?);
        }
    }
    Ok(sorted(records))
}

impl Folder {
    /// The record that a word names: a number, a file, a slug, or the beginning of an id.
    pub(crate) fn find(&self, word: &str) -> Result<&Record> {
        let name = word.rsplit('/').next().unwrap_or(word);
        let name = name.strip_suffix(".md").unwrap_or(name);
        let number: Option<u32> = word.parse().ok();
        let exact = |record: &&Record| {
            record.file.strip_suffix(".md") == Some(name)
                || (!record.is_draft() && record.label() == word)
                || record.slug() == word
                || record.id.as_deref() == Some(word)
                || (number.is_some() && record.number == number)
        };
        let mut found: Vec<&Record> = self.records.iter().filter(exact).collect();
        if found.is_empty() && word.len() >= 4 {
            let begins = |record: &&Record| {
                record
                    .id
                    .as_ref()
                    .is_some_and(|id| id.starts_with(&word.to_lowercase()))
            };
            found = self.records.iter().filter(begins).collect();
        }
        match found.as_slice() {
            [only] => Ok(only),
            [] => {
                let names = self.records.iter().map(Record::slug);
                let failure = Failure::not_found(
                    Code::RecordUnknown,
                    format!("no decision record in {} is `{word}`", self.path),
                );
                Err(match loopx_base::nearest(word, names) {
                    Some(near) => failure.help(command!("adr show {near}")),
                    None => failure.help(command!("adr list")),
                })
            }
            many => {
                let names: Vec<&str> = many.iter().map(|record| record.file.as_str()).collect();
                let help = match number {
                    Some(_) => command!("adr renumber --fix"),
                    None => format!("name the file: {}", names[0]).into(),
                };
                Err(Failure::usage(
                    Code::RecordAmbiguous,
                    format!("`{word}` names {}", names.join(" and ")),
                )
                .help(help))
            }
        }
    }

    /// A record that has a number already.
    pub(crate) fn find_numbered(&self, word: &str) -> Result<&Record> {
        let record = self.find(word)?;
        if record.is_draft() {
            return Err(Failure::refused(
                Code::RecordIsDraft,
                format!(
                    "{}/{} is a draft and has no number yet",
                    self.path, record.file
                ),
            )
            .help(command!("adr promote {}/{}", self.path, record.file)));
        }
        Ok(record)
    }
}

/// The worktree, for what writes into it.
fn top(ctx: &Context) -> Result<PathBuf> {
    ctx.repo.work_dir().map(Path::to_path_buf).ok_or_else(|| {
        Failure::usage(
            Code::WorktreeRequired,
            "this repository is bare; records are edited in a worktree",
        )
        .help("git worktree add ../worktree")
    })
}

/// Lists all findings of the folder. Other branches are those named, else all local ones.
pub(crate) fn check(ctx: &Context, with: &[String]) -> Result<(Folder, Vec<Finding>)> {
    let folder = load(ctx)?;
    let (elsewhere, ours) = elsewhere(ctx, &folder, with)?;
    let thawed = thawed(ctx, &folder, with)?;
    let dir = match ctx.repo.work_dir() {
        Some(top) => Some(files::inside(top, &folder.path)?),
        None => None,
    };
    let misplaced = match ctx.repo.work_dir() {
        Some(top) => misplaced(top, &folder)?,
        None => None,
    };
    let tree = ctx
        .repo
        .head()?
        .commit
        .map(|head| ctx.repo.commit_info(&head));
    let tree = tree.transpose()?.map(|info| info.tree);
    let committed = |path: &str| {
        let entry = tree.as_ref().map(|tree| ctx.repo.entry_at(tree, path));
        matches!(entry, Some(Ok(Some(_))))
    };
    let known: BTreeSet<&str> = folder.records.iter().map(|r| r.file.as_str()).collect();
    let exists = |path: &str| match &dir {
        Some(dir) => dir.join(path).exists(),
        // A bare repository has no other files to look at than the records.
        None => path.contains('/') || known.contains(path),
    };
    let mut findings = check::check(&check::Folder {
        path: &folder.path,
        records: &folder.records,
        elsewhere: &elsewhere,
        ours: &ours,
        thawed: &thawed,
        unread: &folder.unread,
        misplaced: misplaced.as_ref(),
        committed: &committed,
        exists: &exists,
        hash: &hash,
    });
    let is_twice = |finding: &&mut Finding| finding.id == "number_taken";
    let mut twice = findings.iter_mut().filter(is_twice).peekable();
    if twice.peek().is_some()
        && let Some((target, _)) = of_target(ctx, &folder)?
        && ctx.repo.resolve_commit(&target).is_ok()
    {
        // The records of the target stay, and ours move.
        let with = shell_word(&target);
        twice.for_each(|one| one.fix = command!("adr renumber --fix --with {}", with));
    }
    Ok((folder, findings))
}

/// The records whose pin was taken away since HEAD, or since a named branch and HEAD parted: what was
/// accepted there later is no fault of ours.
fn thawed(ctx: &Context, folder: &Folder, with: &[String]) -> Result<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    let Some(head) = ctx.repo.head()?.commit else {
        return Ok(found);
    };
    let names = with.iter().map(String::as_str).chain(["HEAD"]);
    for name in names {
        let tip = ctx.repo.resolve_commit(name)?;
        let Some(base) = ctx.repo.merge_base(&head, &tip)? else {
            continue;
        };
        let tree = ctx.repo.commit_info(&base)?.tree;
        for record in folder.records.iter().filter(|r| r.frozen.is_none()) {
            let path = format!("{}/{}", folder.path, record.file);
            if let Some(bytes) = ctx.repo.blob_at(&tree, &path)?
                && Record::read(&record.file, &String::from_utf8_lossy(&bytes))
                    .frozen
                    .is_some()
            {
                found.insert(record.file.clone(), base.short().to_owned());
            }
        }
    }
    Ok(found)
}

type Others = (Vec<Elsewhere>, BTreeMap<String, BTreeSet<String>>);

/// Lists the records that other branches added to the folder since the merge base, and those that this side added.
fn elsewhere(ctx: &Context, folder: &Folder, with: &[String]) -> Result<Others> {
    let repo = &ctx.repo;
    let head = repo.head()?;
    let mut found = Vec::new();
    let mut ours = BTreeMap::new();
    let Some(head_commit) = head.commit else {
        return Ok((found, ours));
    };
    let mut tips: Vec<(String, Oid)> = Vec::new();
    for name in with {
        tips.push((name.clone(), repo.resolve_commit(name)?));
    }
    if with.is_empty() {
        for (name, tip) in repo.refs_below("refs/heads/")? {
            let name = name.trim_start_matches("refs/heads/");
            if Some(name) != head.branch.as_deref() {
                tips.push((name.to_owned(), tip));
            }
        }
    }
    for (branch, tip) in tips {
        let past = match repo.merge_base(&head_commit, &tip)? {
            Some(base) if base == tip => continue,
            Some(base) => tree_files(repo, &repo.commit_info(&base)?.tree, &folder.path)?,
            None => Vec::new(),
        };
        let past: BTreeSet<&str> = past.iter().map(|(file, _)| file.as_str()).collect();
        for (file, blob) in tree_files(repo, &repo.commit_info(&tip)?.tree, &folder.path)? {
            if let Some(number) = number_of(&file)
                && !past.contains(file.as_str())
            {
                let text = repo.read_blob(&blob)?;
                let read = Record::read(&file, &String::from_utf8_lossy(&text));
                found.push(Elsewhere {
                    branch: branch.clone(),
                    number,
                    file,
                    id: read.id,
                });
            }
        }
        let new = folder
            .records
            .iter()
            .filter(|record| !past.contains(record.file.as_str()))
            .map(|record| record.file.clone())
            .collect();
        ours.insert(branch, new);
    }
    Ok((found, ours))
}
