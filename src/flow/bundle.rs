//! Export of a session as a git bundle, and import from a bundle or a fork: its own history and nothing of any other.
//! An import is merged as the records of a remote are, so operations, digests and signatures stay as they are, and a
//! name that is taken gives way.

use super::context::Context;
use super::files;
use super::naming::{self, unknown};
use super::write_scope::Opening;
use loopx_base::failpoint::reach;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{command, hint};
use loopx_base::id::{Oid, SessionId};
use loopx_git::run::{Captured, Run};
use loopx_git::{Entry, EntryKind, Repo};
use loopx_rules::setup::typed;
use loopx_store::{
    Linear, MergedSession, RemovedByRemote, Renamed, Session, Snapshot, has_all, redacted_apart,
};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

const EXPORT: &str = "refs/loopx/export/";
pub(super) const IMPORT: &str = "refs/loopx/import/";

/// The bundle that was written.
#[derive(Debug, Serialize)]
pub(crate) struct Exported {
    pub session: SessionId,
    pub file: String,
    pub operations: usize,
    pub commits: usize,
}

/// The session that an import brought.
#[derive(Debug, Serialize)]
pub(crate) struct Imported {
    pub session: SessionId,
    /// The branch's tip; `None` where all of it was here.
    pub commit: Option<Oid>,
    pub operations: usize,
    pub merged: Vec<MergedSession>,
    pub renamed: Vec<Renamed>,
    /// Records here that the bundle had lost.
    pub taken_away: Vec<RemovedByRemote>,
    /// The session, where it came with a conflict or has one now.
    pub conflicts: Vec<MergedSession>,
}

/// Writes a session as a bundle.
pub(crate) fn export(
    ctx: &Context,
    name: &str,
    out: Option<&Path>,
    force: bool,
) -> Result<Exported> {
    let repo = &ctx.repo;
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let id = naming::find(&snapshot, name)?;
    let session = snapshot.find(&id)?.ok_or_else(|| unknown(&snapshot, &id))?;
    // An archived state has its decision record beside what the operations give.
    if session.state.is_active() {
        snapshot.require_whole(&session)?;
    }
    let operations = snapshot.operations(&session)?.len();
    let file = match out {
        Some(path) => path.to_path_buf(),
        None => PathBuf::from(format!("{id}.bundle")),
    };
    let file = std::path::absolute(&file)
        .map_err(|error| Failure::internal(Code::PathUnreadable, error.to_string()))?;
    // git would put the bundle in the place of a pipe or a device.
    if std::fs::metadata(&file).is_ok_and(|meta| !meta.is_file()) {
        let message = format!("expected a file, found that {} is none", file.display());
        return Err(Failure::refused(Code::FileExpected, message)
            .help(command!("export {id}").note("(writes it here)")));
    }
    if !force && std::fs::symlink_metadata(&file).is_ok() {
        return Err(Failure::refused(
            Code::FileExists,
            format!("{} is there already", file.display()),
        )
        .help(command!(
            "export {id} --force -o {}",
            typed(&file.display().to_string())
        )));
    }
    let file = led_to(&file);
    if let Some(folder) = file.parent().filter(|folder| !folder.is_dir()) {
        return Err(Failure::not_found(
            Code::FolderMissing,
            format!("there is no folder {} to write into", folder.display()),
        )
        .help(command!("export {id}").note("(writes it here)")));
    }
    // A ref is written for a moment, and what it names.
    let _lock = store.lock()?;
    sweep(repo)?;
    let (tip, commits) = own_history(repo, &snapshot, &session)?;
    let name = format!("{EXPORT}{id}");
    // git can name only what is on disk.
    repo.keep(&tip)?;
    set_ref(repo, &name, Some(&tip))?;
    repo.release();
    reach("export-named");
    if let Err(failure) = write_bundle(&file, &name) {
        drop(set_ref(repo, &name, None));
        return Err(failure);
    }
    forget(ctx, &name, format!("{} is written", file.display()));
    Ok(Exported {
        session: id,
        file: file.display().to_string(),
        operations,
        commits,
    })
}

/// Writes the bundle of a ref. git locks the file that it is told: whoever is killed leaves the lock of a name that nobody
/// writes again.
fn write_bundle(file: &Path, name: &str) -> Result<()> {
    let beside = files::beside(file)?;
    let made = Run::git(["bundle", "create", "--quiet"])
        .args([beside.as_os_str()])
        .args([name])
        .capture();
    made.and_then(Captured::ok)?;
    files::put(&beside, file)
}

/// The file to which links lead, also where nothing is there yet: a link stays, and its target is written.
fn led_to(file: &Path) -> PathBuf {
    const MOST: usize = 40;
    let mut place = file.to_path_buf();
    for _ in 0..MOST {
        let Ok(to) = std::fs::read_link(&place) else {
            break;
        };
        place = place.parent().unwrap_or(Path::new("")).join(to);
    }
    place
}

/// The commits that changed a session, each with a tree that holds that session alone. What clones did apart stays apart
/// until the commit that merged it: in one line records would come and go.
pub(super) fn own_history(
    repo: &Repo,
    snapshot: &Snapshot<'_>,
    session: &Session,
) -> Result<(Oid, usize)> {
    let empty = repo.empty_tree()?;
    let root = repo.write_constant_commit(&empty, loopx_store::ROOT_MESSAGE)?;
    let mut common = BTreeMap::new();
    for (name, entry) in repo.list_tree(snapshot.tree())? {
        if entry.kind == EntryKind::Blob {
            common.insert(name, Some(entry));
        }
    }
    let mut all = repo.range(snapshot.commit(), &[], usize::MAX)?;
    all.reverse();
    require_texts(repo, snapshot, session)?;
    let mut became: HashMap<Oid, Part> = HashMap::new();
    let mut count = 0;
    for commit in all {
        let parents = repo.commit_info(&commit)?.parents;
        let parents: Vec<&Part> = parents.iter().filter_map(|one| became.get(one)).collect();
        let before = ends(repo, &parents)?;
        let then = match Snapshot::at(repo, commit.clone(), "loopx") {
            Ok(at) => at.find(&session.state.id).ok().flatten(),
            // The empty root.
            Err(_) => None,
        };
        let then = then.filter(|then| then.state.uid == session.state.uid);
        let folder = then.map(|then| (then.path, then.tree));
        let own = match (&before[..], folder) {
            ([], None) => continue,
            ([one, ..], None) => (*one).clone(),
            ([one], folder) if one.folder == folder => (*one).clone(),
            (_, Some((path, then))) => {
                let mut entries = common.clone();
                entries.insert(path.clone(), Some(Entry::tree(then.clone())));
                let tree = repo.edit_tree(None, &entries)?;
                let was = [loopx_store::was(&commit)];
                let mut parents: Vec<Oid> = before.iter().map(|one| one.commit.clone()).collect();
                if parents.is_empty() {
                    parents.push(root.clone());
                }
                count += 1;
                Part {
                    commit: repo.write_commit_like(&commit, &tree, &parents, None, &was)?,
                    folder: Some((path, then)),
                }
            }
        };
        became.insert(commit, own);
    }
    let tip = became.remove(snapshot.commit());
    Ok((tip.map_or(root, |tip| tip.commit), count))
}

/// A commit of the branch as far as it is about one session.
#[derive(Clone)]
struct Part {
    commit: Oid,
    /// The place of the session's folder, and the folder.
    folder: Option<(String, Oid)>,
}

/// The commits that no other of them has behind it.
fn ends<'p>(repo: &Repo, commits: &[&'p Part]) -> Result<Vec<&'p Part>> {
    let mut ends: Vec<&Part> = Vec::new();
    for one in commits {
        let mut is_behind = false;
        for other in commits.iter().filter(|other| other.commit != one.commit) {
            is_behind |= repo.is_ancestor(&one.commit, &other.commit)?;
        }
        if !is_behind && ends.iter().all(|known| known.commit != one.commit) {
            ends.push(one);
        }
    }
    Ok(ends)
}

/// Refuses the end of a history, which is what a shallow clone has: older texts would be missing for good elsewhere.
fn require_texts(repo: &Repo, snapshot: &Snapshot<'_>, session: &Session) -> Result<()> {
    if !repo.is_shallow() {
        return Ok(());
    }
    for op in snapshot.operations(session)? {
        for text in op.writes.values().filter_map(|write| write.to.as_ref()) {
            if !repo.contains(text)? {
                let id = &session.state.id;
                return Err(Failure::refused(
                    Code::HistoryShallow,
                    format!("the older texts of session {id} are not here: this clone is shallow"),
                )
                .help("git fetch --unshallow"));
            }
        }
    }
    Ok(())
}

/// Words of git in one line.
fn in_one_line(said: &[u8]) -> String {
    String::from_utf8_lossy(said).trim().replace('\n', " ")
}

/// Takes a session in from a bundle.
pub(crate) fn import(ctx: &Context, file: &Path) -> Result<Imported> {
    let repo = &ctx.repo;
    let store = ctx.store()?;
    store.snapshot()?;
    let file = std::path::absolute(file)
        .map_err(|error| Failure::internal(Code::PathUnreadable, error.to_string()))?;
    if files::read(&file, u64::MAX)?.is_none() {
        let message = format!("{} is not there", file.display());
        return Err(Failure::not_found(Code::FileMissing, message));
    }
    let foreign = |why: String| {
        Failure::refused(
            Code::BundleForeign,
            format!(
                "{} is no session that git loopx exported: {why}",
                file.display()
            ),
        )
        .help("ask for one that `export` made in the repository that has the session")
    };
    let heads = Run::git(["bundle", "list-heads"])
        .args([file.as_os_str()])
        .capture()?;
    if !heads.ended.success() {
        heads.refused_by_the_system()?;
        return Err(foreign(in_one_line(&heads.stderr)));
    }
    let heads = String::from_utf8_lossy(&heads.stdout).into_owned();
    let names: Vec<&str> = heads
        .lines()
        .filter_map(|line| line.split_once(' ')?.1.strip_prefix(EXPORT))
        .collect();
    let [name] = names.as_slice() else {
        return Err(foreign(format!(
            "expected one session in it, found {}",
            names.len()
        )));
    };
    let id = SessionId::parse(name)?;
    // From here on what stands below our names is a killed run's.
    let opening = Opening::of(ctx)?;
    sweep(repo)?;
    let local = format!("{IMPORT}{id}");
    let spec = format!("+{EXPORT}{id}:{local}");
    let fetched = Run::git(["-c", "fetch.fsckObjects=true", "fetch", "--quiet"])
        .args([
            "--no-tags",
            "--no-write-fetch-head",
            "--no-auto-maintenance",
        ])
        .args(["--refmap="])
        .args([file.as_os_str()])
        .args([&spec])
        .env("LC_ALL", "C")
        .capture()?;
    if !fetched.ended.success() {
        fetched.refused_by_the_system()?;
        return Err(foreign(in_one_line(&fetched.stderr)));
    }
    reach("bundle-fetched");
    let taken = match repo.find_ref(&local)? {
        Some(tip) => {
            take(ctx, &opening, &id, &tip, &format!("the bundle of {id}")).map_err(|failure| {
                match failure.code {
                    Code::BundleForeign => foreign(failure.message),
                    _ => failure,
                }
            })
        }
        None => Err(foreign("it is empty".into())),
    };
    forget(ctx, &local, format!("the bundle of {id} is read"));
    reach("bundle-forgotten");
    taken
}

/// Takes in the session that a commit has, alone in its tree.
pub(super) fn take(
    ctx: &Context,
    opening: &Opening<'_>,
    id: &SessionId,
    tip: &Oid,
    label: &str,
) -> Result<Imported> {
    let (repo, store) = (&ctx.repo, ctx.store()?);
    let operations = only_session(repo, tip, id).map_err(|failure| match failure.code {
        // Nothing that the bundle could help.
        Code::RepositoryUnwritable | Code::OpenFilesExhausted => failure,
        _ => Failure::refused(Code::BundleForeign, failure.message),
    })?;
    let here = store.snapshot()?;
    // The commits are others than those that they were made from: a merge would bring nothing but them.
    if has_all(&here, &Snapshot::at(repo, tip.clone(), label)?)? {
        return Ok(Imported {
            session: id.clone(),
            commit: None,
            operations,
            merged: Vec::new(),
            renamed: Vec::new(),
            taken_away: Vec::new(),
            conflicts: store
                .open_conflicts(None, here.commit())?
                .into_iter()
                .filter(|one| one.session == *id)
                .collect(),
        });
    }
    if let Some(commit) = redacted_apart(repo, id, here.commit(), tip)? {
        let message = format!(
            "{label} has other records than the commit {} here: one of the two was redacted, and together they would bring back what was taken out",
            commit.short()
        );
        return Err(Failure::refused(Code::BundleRedacted, message)
            .help(hint!["ask for a bundle that was exported after the redaction; where this is that bundle, first: ", command!("redact --text-from FILE")]));
    }
    let linear = match repo.config("loopx.sync").as_deref() {
        Some("linear") => Linear::TheirsOnTop,
        _ => Linear::No,
    };
    let before = here.commit().clone();
    let meeting = store.meet(&opening.lock, &opening.identity, tip, label, linear)?;
    reach("bundle-met");
    let (merged, renamed) = match meeting.merged {
        Some(merged) => (merged.sessions, merged.renamed),
        None => (Vec::new(), Vec::new()),
    };
    let what = ("git loopx import", &meeting.tip);
    super::sync::follow(&opening.scope(ctx), what, Some(&before));
    let mut conflicts = store.open_conflicts(Some(&before), &meeting.tip)?;
    for one in merged.iter().filter(|one| one.conflicts > 0) {
        if !conflicts.contains(one) {
            conflicts.push(one.clone());
        }
    }
    Ok(Imported {
        session: id.clone(),
        commit: (meeting.tip != before).then_some(meeting.tip),
        operations,
        merged,
        renamed,
        taken_away: meeting.taken_away,
        conflicts,
    })
}

/// The refs of exports and imports. Each lives while our lock is held; so whoever else holds it sees
/// what killed ones left.
pub(super) fn left_over(repo: &Repo) -> Result<Vec<(String, Oid)>> {
    let mut left = repo.refs_below(EXPORT)?;
    left.extend(repo.refs_below(IMPORT)?);
    Ok(left)
}

/// Takes the refs away that killed exports and imports left. Only a holder of the lock comes here.
pub(super) fn sweep(repo: &Repo) -> Result<Vec<String>> {
    let left = left_over(repo)?;
    for (name, commit) in &left {
        repo.drop_ref(name, commit)?;
    }
    Ok(left.into_iter().map(|(name, _)| name).collect())
}

/// Refuses a tree that holds more than one whole session. Gives how many operations that has.
fn only_session(repo: &Repo, tip: &Oid, id: &SessionId) -> Result<usize> {
    let snapshot = Snapshot::at(repo, tip.clone(), "the bundle")?;
    let wrong = |what: &str| Failure::refused(Code::BundleForeign, format!("it has {what}"));
    for (name, entry) in repo.list_tree(snapshot.tree())? {
        match (name.as_str(), entry.kind) {
            ("README.md" | "format", EntryKind::Blob) => {}
            ("sessions" | "archive", EntryKind::Tree) => {}
            _ => return Err(wrong(&format!("`{name}`"))),
        }
    }
    if snapshot.session_names()? != [id.as_str()] {
        return Err(wrong("other sessions"));
    }
    let session = snapshot.find(id)?.ok_or_else(|| wrong("no session"))?;
    if session.state.is_active() {
        snapshot.require_whole(&session)?;
    }
    Ok(snapshot.operations(&session)?.len())
}

/// Takes a ref away that lived for a moment. Where that fails it is in nobody's way, and `doctor --fix` takes it away.
pub(super) fn forget(ctx: &Context, name: &str, done: String) {
    let left = format!("the ref {name}, which nobody needs");
    let forgotten = set_ref(&ctx.repo, name, None);
    ctx.follow((done, left.as_str()), command!("doctor --fix"), forgotten);
}

/// Sets or removes a ref that lives for a moment, through git: it knows every format of refs.
pub(super) fn set_ref(repo: &Repo, name: &str, commit: Option<&Oid>) -> Result<()> {
    let args = match commit {
        Some(commit) => vec!["update-ref", name, commit.as_str()],
        None if repo.find_ref(name)?.is_none() => return Ok(()),
        None => vec!["update-ref", "-d", name],
    };
    Run::git(args).capture()?.ok().map(drop)
}
