//! Unpushed commits made again without some texts: what they brought is written anew, what names it names the new
//! things, and states follow from the records as ever.
//!
//! It moves no ref but by [`Store::replace`], and never touches what a remote has.

use super::folder::place;
use super::merge_session::{Folder, build, gather};
use super::transaction::Move;
use super::{
    Edits, Lock, Snapshot, Store, attestations, fanout, layout, ops, sealed, stands_for, was,
};
use loopx_base::failure::{Code, Failure, Kind, Result};
use loopx_base::id::{Oid, SessionId};
use loopx_base::redaction::{Texts, renamed, strings};
use loopx_git::{Entry, EntryKind, Repo};
use loopx_rules::op::{Event, Operation};
use loopx_rules::replay::in_order;
use loopx_rules::session::State;
use loopx_rules::signature::{SUFFIX, record_of};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Blobs, each with the paths that it had.
pub type Blobs = BTreeMap<Oid, BTreeSet<String>>;

/// Result of making history again.
#[derive(Debug, Default)]
pub struct Redacted {
    pub tip: Option<Oid>,
    /// Number of commits that are others now.
    pub commits: usize,
    /// First of the commits that are others now: a ref or commit that leads to one of these leads to the texts.
    pub first: Vec<Oid>,
    /// Records that somebody signed and that are others now, by session.
    pub unsigned: BTreeSet<(String, String)>,
    /// Approvals whose content is another now: session, transition and person.
    pub approvals: BTreeSet<(String, String, String)>,
}

/// The commits that `tip` has and `known` have not, made again without the texts. `blobs` are those that only these
/// commits brought. Objects are written; no ref moves.
pub fn redacted(
    repo: &Repo,
    (tip, known): (&Oid, &[Oid]),
    texts: &Texts,
    blobs: &Blobs,
) -> Result<Redacted> {
    let mut work = Work {
        repo,
        texts,
        blobs,
        names: BTreeMap::new(),
        records: HashMap::new(),
        folders: HashMap::new(),
        sessions: BTreeSet::new(),
        logs: BTreeSet::new(),
        done: Redacted::default(),
    };
    work.begin()?;
    let mut again: HashMap<Oid, Oid> = HashMap::new();
    let mut commits = repo.range(tip, known, usize::MAX)?;
    commits.reverse();
    for commit in commits {
        let new = work.commit(&commit, &again)?;
        if new != commit {
            again.insert(commit, new);
        }
    }
    work.done.commits = again.len();
    work.done.tip = Some(again.get(tip).unwrap_or(tip).clone());
    Ok(work.done)
}

/// The first commit here that stands for the same commit as one there, where each has a record of the session that the
/// other has not: a redaction is in one of the two histories alone.
pub fn redacted_apart(
    repo: &Repo,
    session: &SessionId,
    here: &Oid,
    there: &Oid,
) -> Result<Option<Oid>> {
    let mut made: HashMap<Oid, Oid> = HashMap::new();
    for commit in repo.range(there, std::slice::from_ref(here), usize::MAX)? {
        for was in stands_for(&repo.commit_info(&commit)?) {
            made.insert(was, commit.clone());
        }
    }
    if made.is_empty() {
        return Ok(None);
    }
    let records = |commit: &Oid| -> Result<BTreeSet<String>> {
        let at = Snapshot::at(repo, commit.clone(), "a commit")?;
        let Some(session) = at.find(session)? else {
            return Ok(BTreeSet::new());
        };
        let all = at.operations(&session)?.into_iter();
        Ok(all.map(|operation| operation.op.to_string()).collect())
    };
    let mut commits = repo.range(here, std::slice::from_ref(there), usize::MAX)?;
    commits.reverse();
    for commit in commits {
        let info = repo.commit_info(&commit)?;
        for was in stands_for(&info).into_iter().chain([commit.clone()]) {
            let Some(other) = made.get(&was) else {
                continue;
            };
            let (here, there) = (records(&commit)?, records(other)?);
            // A commit that was made again on top of another history has more records, and none less.
            if !here.is_subset(&there) && !there.is_subset(&here) {
                return Ok(Some(commit));
            }
        }
    }
    Ok(None)
}

struct Work<'a> {
    repo: &'a Repo,
    texts: &'a Texts,
    blobs: &'a Blobs,
    /// Ids of blobs, operations and contents that have another one now.
    names: BTreeMap<String, String>,
    /// Records that were looked at, each with the record in its place.
    records: HashMap<Oid, (Oid, Operation)>,
    folders: HashMap<(String, Oid), Oid>,
    /// Sessions whose records or files have one of the texts.
    sessions: BTreeSet<SessionId>,
    /// The folders of records of the journal and of issues.
    logs: BTreeSet<String>,
    done: Redacted,
}

impl Work<'_> {
    /// Writes the files without the texts, and notes whose they are.
    fn begin(&mut self) -> Result<()> {
        for (blob, paths) in self.blobs {
            let bytes = self.repo.read_blob(blob)?;
            let is_record = paths.iter().any(|path| is_in_ops(path));
            let out = if is_record {
                strings(&bytes, |text| self.texts.taken_out_of(text))
            } else {
                self.texts.taken_out(&bytes)
            };
            let Some(out) = out else { continue };
            for path in paths {
                self.affects(path)?;
            }
            if !is_record {
                let new = self.repo.write_blob(&out)?;
                self.names.insert(blob.to_string(), new.to_string());
            }
        }
        Ok(())
    }

    fn affects(&mut self, path: &str) -> Result<()> {
        if let Some(id) = layout::session_of(path) {
            self.sessions.insert(id);
            return Ok(());
        }
        match layout::record(path) {
            Some((place, _)) if layout::is_log(&place) => {
                self.logs.insert(place);
                Ok(())
            }
            _ => Err(unfit(format!(
                "{path} is no file of a session, no note and no issue: this program does not know how to write it again"
            ))),
        }
    }

    fn commit(&mut self, commit: &Oid, again: &HashMap<Oid, Oid>) -> Result<Oid> {
        let info = self.repo.commit_info(commit)?;
        let parents: Vec<Oid> = info
            .parents
            .iter()
            .map(|parent| again.get(parent).unwrap_or(parent).clone())
            .collect();
        let tree = if info.parents.is_empty() {
            info.tree.clone()
        } else {
            self.tree(commit)?
        };
        let message = match self.texts.taken_out_of_message(&info.message) {
            Some(message) => renamed(&message, &self.names),
            None => renamed(&info.message, &self.names),
        };
        if tree == info.tree && parents == info.parents && message == info.message {
            return Ok(commit.clone());
        }
        if parents == info.parents {
            self.done.first.push(commit.clone());
        }
        let trailers = [was(commit)];
        self.repo
            .write_commit_saying(commit, &tree, &parents, message, &trailers)
    }

    /// The tree of a commit with each folder that is another now.
    fn tree(&mut self, commit: &Oid) -> Result<Oid> {
        let snapshot = Snapshot::at(self.repo, commit.clone(), "loopx")?;
        let mut edits = Edits::default();
        for (id, folder) in snapshot.session_folders(true)? {
            if !self.sessions.contains(&id) || folder.entry.kind != EntryKind::Tree {
                continue;
            }
            let new = self.folder(&id, &folder.path, &folder.place, &folder.entry.id)?;
            if new != folder.entry.id {
                edits.set(folder.path, Entry::tree(new));
            }
        }
        for place in self.logs.clone() {
            if let Some(entry) = fanout::entry_at(self.repo, snapshot.tree(), &place)? {
                let new = self.log(&place, &entry.id)?;
                if new != entry.id {
                    edits.set(place, Entry::tree(new));
                }
            }
        }
        if edits.is_empty() {
            Ok(snapshot.tree().clone())
        } else {
            fanout::edit(self.repo, Some(snapshot.tree()), &edits)
        }
    }

    /// The records of a month of the journal, or of an issue.
    fn log(&mut self, place: &str, tree: &Oid) -> Result<Oid> {
        let key = (place.to_owned(), tree.clone());
        if let Some(known) = self.folders.get(&key) {
            return Ok(known.clone());
        }
        let mut folder = Folder::default();
        for held in ops::files(self.repo, tree)? {
            if !held.name.ends_with(SUFFIX) {
                let label = format!("{place}/{}", held.place);
                let op = ops::read_one(self.repo, &held, &label)?;
                folder.operations.push(op);
            }
            folder.records.insert(held.name, held.entry.id);
        }
        let new = match self.again(place, &folder)? {
            None => tree.clone(),
            Some(new) => {
                let entries = new.records.into_iter();
                let entries = entries.map(|(name, blob)| (name, Some(Entry::blob(blob))));
                ops::edit(self.repo, None, &entries.collect())?
            }
        };
        self.folders.insert(key, new.clone());
        Ok(new)
    }

    /// The folder of a session, as it lies at `place`.
    fn folder(&mut self, id: &SessionId, path: &str, at: &str, tree: &Oid) -> Result<Oid> {
        let key = (path.to_owned(), tree.clone());
        if let Some(known) = self.folders.get(&key) {
            return Ok(known.clone());
        }
        if sealed::of(self.repo, tree)?.is_some() {
            return Err(unfit(format!(
                "{path} was sealed by an older program, and what was sealed is not written again"
            )));
        }
        let folder = gather(self.repo, at, tree)?;
        let new = match self.again(path, &folder)? {
            None => tree.clone(),
            Some(new) => {
                let before = super::replay(self.repo, id, &folder.operations)?;
                let (to, new, after) = build(self.repo, id, vec![new])?;
                require_alike(path, &before, &after)?;
                if to != path && place(&before) == path {
                    return Err(unfit(format!("{path} would lie in {to}")));
                }
                new
            }
        };
        self.folders.insert(key, new.clone());
        Ok(new)
    }

    /// Records of a folder and the files beside them, made again without the texts; `None` where nothing changed.
    fn again(&mut self, path: &str, folder: &Folder) -> Result<Option<Folder>> {
        let mut new = Folder::default();
        let mut is_other = false;
        for op in in_order(&folder.operations) {
            let name = op.file_name();
            let blob = folder.records.get(&name);
            let blob = blob.ok_or_else(|| unfit(format!("{path}: {name} is not there")))?;
            let (now, again) = self.record(path, blob, op, folder)?;
            let is_of = |one: &str| record_of(one) == Some(name.as_str());
            for (signature, signed) in folder.records.iter().filter(|(one, _)| is_of(one)) {
                if now == *blob {
                    new.records.insert(signature.clone(), signed.clone());
                } else {
                    let unsigned = (path.to_owned(), name.clone());
                    self.done.unsigned.insert(unsigned);
                }
            }
            is_other |= now != *blob;
            new.records.insert(again.file_name(), now);
            new.operations.push(again);
        }
        for (name, blob) in &folder.beside {
            let now = match self.names.get(blob.as_str()) {
                Some(now) => Oid::parse(now)?,
                None => blob.clone(),
            };
            let to = self.path(name);
            is_other |= now != *blob || to != *name;
            new.beside.insert(to, now);
        }
        Ok(is_other.then_some(new))
    }

    /// A path, of which a part may be named by an id.
    fn path(&self, path: &str) -> String {
        let part = |part: &str| {
            let (stem, end) = part.split_once('.').unwrap_or((part, ""));
            match self.names.get(stem) {
                Some(new) if end.is_empty() => new.clone(),
                Some(new) => format!("{new}.{end}"),
                None => part.to_owned(),
            }
        };
        path.split('/').map(part).collect::<Vec<_>>().join("/")
    }

    /// Record without the texts, with the new ids in the place of those that it named.
    fn record(
        &mut self,
        path: &str,
        blob: &Oid,
        op: &Operation,
        folder: &Folder,
    ) -> Result<(Oid, Operation)> {
        if !self.blobs.contains_key(blob) {
            return Ok((blob.clone(), op.clone()));
        }
        if let Some(known) = self.records.get(blob) {
            return Ok(known.clone());
        }
        let bytes = self.repo.read_blob(blob)?;
        let mut counted = op.clone();
        self.count_again(path, &mut counted, folder)?;
        let now = if counted == *op {
            bytes.clone()
        } else {
            counted.to_bytes()?
        };
        let change = |text: &str| match self.names.get(text) {
            Some(new) => Some(new.clone()),
            None => self.texts.taken_out_of(text),
        };
        let now = strings(&now, change).unwrap_or(now);
        let found = if now == bytes {
            (blob.clone(), op.clone())
        } else {
            let new = self.repo.write_blob(&now)?;
            let label = format!("{path}/{}", op.file_name());
            let again = Operation::parse(&now, &label, &new).map_err(|_| touched(&label))?;
            require_same_frame(&label, op, &again)?;
            self.names.insert(blob.to_string(), new.to_string());
            self.names.insert(op.op.to_string(), again.op.to_string());
            (new, again)
        };
        self.records.insert(blob.clone(), found.clone());
        Ok(found)
    }

    /// Sets what a record says of files beside it and no string of it says: the content that an approval is about, and
    /// how much a run printed.
    fn count_again(&mut self, path: &str, op: &mut Operation, folder: &Folder) -> Result<()> {
        let log = format!("{}/{}.log", layout::LOGS, op.op);
        let by = op.by.to_string();
        let loopx_rules::op::Body::Session(step) = &mut op.body else {
            return Ok(());
        };
        match &mut step.event {
            Event::Approved {
                transition,
                content,
                files,
                ..
            } => {
                let mut now = files.clone();
                for blob in now.values_mut() {
                    if let Some(new) = self.names.get(blob.as_str()) {
                        *blob = Oid::parse(new)?;
                    }
                }
                if now != *files && attestations::made_of(self.repo, files)? == *content {
                    let new = attestations::made_of(self.repo, &now)?;
                    self.names.insert(content.to_string(), new.to_string());
                    let named = (path.to_owned(), transition.to_string(), by);
                    self.done.approvals.insert(named);
                    (*files, *content) = (now, new);
                }
            }
            Event::Ran { evidence } => {
                if let Some(was) = folder.beside.get(&log)
                    && let Some(now) = self.names.get(was.as_str())
                {
                    let size = self.repo.blob_size(&Oid::parse(now)?)?;
                    let more = evidence.output_bytes + size;
                    evidence.output_bytes = more.saturating_sub(self.repo.blob_size(was)?);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

fn is_in_ops(path: &str) -> bool {
    path.contains(&format!("/{}/", layout::OPS)) && path.ends_with(".json")
}

/// Refuses a record in which something would change that git loopx itself needs.
fn require_same_frame(label: &str, was: &Operation, now: &Operation) -> Result<()> {
    let frame = |op: &Operation| {
        (
            (op.format, op.seq, op.entity.clone(), op.tx.clone()),
            (op.at.clone(), op.by.clone(), op.committer.clone()),
            (op.body.topic().to_owned(), op.body.kind().to_owned()),
            (op.weight, op.unknown().is_some(), op.after.len()),
            op.writes.keys().copied().collect::<Vec<_>>(),
            op.others.keys().cloned().collect::<Vec<_>>(),
        )
    };
    if frame(was) == frame(now) {
        Ok(())
    } else {
        Err(touched(label))
    }
}

/// Refuses a session whose state would change. Two runs may be runs of one command now.
fn require_alike(path: &str, before: &State, after: &State) -> Result<()> {
    let facts = |state: &State| {
        (
            (state.id.clone(), state.uid.clone(), state.stage, state.seq),
            (
                state.profile.clone(),
                state.branch.clone(),
                state.base.clone(),
            ),
            (state.ending.is_some(), state.is_understood()),
            (state.conflicts.len(), state.void.len(), state.joins.len()),
            state.approvals.keys().cloned().collect::<Vec<_>>(),
            state.artifacts.keys().copied().collect::<Vec<_>>(),
        )
    };
    if facts(before) == facts(after) {
        Ok(())
    } else {
        Err(touched(path))
    }
}

fn touched(label: &str) -> Failure {
    unfit(format!(
        "{label}: the text is part of what git loopx itself reads there, like a name or a branch"
    ))
}

fn unfit(message: String) -> Failure {
    Failure::refused(Code::RedactionUnfit, message)
        .help("revoke the secret; nothing was changed here, and nothing was pushed")
}

impl Store<'_> {
    /// Moves the branch from the commit where it was read to the same history made again.
    pub fn replace(&self, lock: &Lock, from: &Oid, to: &Oid) -> Result<()> {
        self.transact(lock, |shadow| {
            let before = self.repo.find_ref(&self.branch_ref())?;
            self.require_grown(shadow, before.as_ref())?;
            if before.as_ref() != Some(from) {
                let message = format!("the branch `{}` moved meanwhile", self.branch);
                return Err(
                    Failure::new(Kind::Waiting, Code::BranchBusy, message).help("try again")
                );
            }
            Ok(Move {
                old: before,
                new: to.clone(),
                why: "loopx: redact".to_owned(),
                value: (),
            })
        })
    }
}

/// The blobs that commits bring which nobody of `known` has, with the paths that they had.
pub fn brought(repo: &Repo, tips: &[Oid], known: &[Oid]) -> Result<Blobs> {
    let mut found = Blobs::new();
    let mut seen = HashSet::new();
    let mut looked = HashSet::new();
    let is_shallow = repo.is_shallow();
    for tip in tips {
        for commit in repo.range(tip, known, usize::MAX)? {
            if !looked.insert(commit.clone()) {
                continue;
            }
            let info = repo.commit_info(&commit)?;
            // Beyond the edge of a shallow clone nothing is here.
            let is_here = |parent: &&Oid| !is_shallow || repo.contains(parent).unwrap_or(false);
            let parents = info.parents.iter().filter(is_here);
            let parents = parents.map(|parent| repo.commit_info(parent).map(|info| info.tree));
            let parents = parents.collect::<Result<Vec<Oid>>>()?;
            compare(repo, "", (&info.tree, &parents), &mut seen, &mut found)?;
        }
    }
    Ok(found)
}

fn compare(
    repo: &Repo,
    prefix: &str,
    (tree, parents): (&Oid, &[Oid]),
    seen: &mut HashSet<(String, Oid)>,
    found: &mut Blobs,
) -> Result<()> {
    if parents.contains(tree) || !seen.insert((prefix.to_owned(), tree.clone())) {
        return Ok(());
    }
    let trees: Vec<&Oid> = std::iter::once(tree).chain(parents).collect();
    let mut lists = fanout::comparable(repo, prefix.trim_end_matches('/'), &trees)?;
    let now = lists.remove(0);
    let before: Vec<HashMap<String, Entry>> = lists
        .into_iter()
        .map(|list| list.into_iter().collect())
        .collect();
    for (name, entry) in now {
        let path = format!("{prefix}{name}");
        let same: Vec<&Entry> = before.iter().filter_map(|list| list.get(&name)).collect();
        if same.contains(&&entry) {
            continue;
        }
        match entry.kind {
            EntryKind::Blob => drop(found.entry(entry.id).or_default().insert(path)),
            EntryKind::Tree => {
                let trees = same.iter().filter(|known| known.kind == EntryKind::Tree);
                let trees: Vec<Oid> = trees.map(|known| known.id.clone()).collect();
                let path = format!("{path}/");
                compare(repo, &path, (&entry.id, &trees), seen, found)?;
            }
            EntryKind::Other => {}
        }
    }
    Ok(())
}
