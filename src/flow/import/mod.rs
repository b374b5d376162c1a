//! `import openspec`: reads an OpenSpec tree, decides on everything, then lands it: the sessions by one
//! move of the loopx branch, after it the spec files of the worktree.
//!
//! Nothing is written before the whole tree has been read and found sound. A second run finds what the
//! first one made, by the folder that each session came from, and adds what is new.

mod origin;
mod peer;
mod tree;

use super::context::Context;
use super::write_scope::Opening;
use super::{delta, files};
use crate::flow::file_merge::FileMerge;
use loopx_base::failure::{Blocker, Code, Failure, Kind, Result};
use loopx_base::hint::{command, hint};
use loopx_base::id::{Oid, SessionId};
use loopx_git::{Head, Identity};
use loopx_rules::op::Event;
use loopx_rules::openspec::{
    Change, Folder, Judgement, Overlap, Remark, judge, overlaps, read_change,
};
use loopx_rules::policy::Policy;
use loopx_spec::{Finding, Severity, read_spec};
use loopx_store::{Placed, Snapshot};
use origin::Origin;
pub(crate) use peer::{PeerReport, SessionReport, peer};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use tree::{read_tree, spec_texts};

/// The other tool's name in records.
const FROM: &str = "openspec";

/// The options of `import openspec`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Request {
    /// `openspec/` at the top of the worktree where nothing is said.
    pub path: Option<PathBuf>,
    /// Leave the specs of the worktree alone.
    pub no_specs: bool,
    /// Start no session.
    pub specs_only: bool,
    pub dry_run: bool,
}

/// The report on what became, or would become, of a tree.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Report {
    pub tree: String,
    pub dry_run: bool,
    /// Path of the specs in the worktree.
    pub specs_path: String,
    pub specs: Vec<SpecReport>,
    pub changes: Vec<ChangeReport>,
    /// Open changes that touch one requirement.
    pub overlaps: Vec<Overlap>,
    /// Files of the tree that are neither spec nor change; they stay where they are.
    pub strays: Vec<String>,
    /// Remarks on what is not as it is in OpenSpec, and why.
    pub differs: Vec<Blocker>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SpecStatus {
    New,
    Same,
    /// The import of specs was not asked for.
    Left,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct SpecReport {
    pub domain: String,
    pub path: String,
    pub status: SpecStatus,
    pub findings: Vec<Finding>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ChangeStatus {
    Imported,
    /// The change was imported by an earlier run.
    Already,
    /// Another session has the id.
    Taken,
    /// The import of changes was not asked for.
    Left,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct ChangeReport {
    pub folder: String,
    pub session: SessionId,
    pub status: ChangeStatus,
    pub title: String,
    /// The day, for an archived one.
    pub archived: Option<String>,
    pub commit: Option<Oid>,
    pub domains: Vec<String>,
    pub operations: usize,
    /// Set when the delta of the change applies to the specs of the tree. Not asked of an archived change.
    pub applies: Option<bool>,
    pub findings: Vec<Remark>,
    /// Files without a place: their text is in `intent.md`, their bytes in `imported/`.
    pub unplaced: Vec<String>,
    pub notes: Vec<Blocker>,
}

/// A change of the tree, read and judged.
struct Item {
    folder: Folder,
    change: Change,
    judged: Judgement,
}

impl Item {
    fn read(
        folder: &Folder,
        label: &str,
        policy: &Policy,
        texts: &BTreeMap<String, String>,
    ) -> Result<Self> {
        let change = read_change(folder, &folder.id()?, label, policy.artifacts.language)?;
        Ok(Item {
            judged: judge(&change, texts, &FileMerge),
            folder: folder.clone(),
            change,
        })
    }

    /// Refuses an artifact that no session could hold.
    fn require_size(&self, max: u64) -> Result<()> {
        for (artifact, text) in &self.change.artifacts {
            let name = format!("nothing was imported: {artifact} of {}", self.folder.name());
            files::require_size(&name, text.len() as u64, max)?;
        }
        Ok(())
    }
}

/// Imports an OpenSpec tree.
pub(crate) fn openspec(ctx: &Context, request: &Request) -> Result<Report> {
    let (root, label) = locate(ctx, request)?;
    let identity = ctx.repo.identity()?;
    let store = ctx.store()?;
    store.snapshot()?;
    let head = ctx.repo.head()?;
    let tree = match &head.commit {
        Some(commit) => Some(ctx.repo.commit_info(commit)?.tree),
        None => None,
    };
    let policy = match &tree {
        Some(tree) => ctx.policy_at(tree, loopx_rules::policy::FILE)?,
        None => Policy::default(),
    };
    let found = read_tree(&root, &label)?;
    let texts = spec_texts(&found, &label)?;
    let items = found.changes.iter();
    let items = items
        .map(|folder| Item::read(folder, &label, &policy, &texts))
        .collect::<Result<Vec<Item>>>()?;
    for item in &items {
        item.require_size(policy.artifacts.max_bytes)?;
    }
    let specs = plan_specs(ctx, request, &policy, &texts)?;
    let bases = Bases {
        policy: &policy,
        head: &head,
        tree: tree.as_ref(),
        specs: &texts,
    };
    let wanted: &[Item] = if request.specs_only { &[] } else { &items };
    let (mut changes, commits) = if request.dry_run {
        let snapshot = store.snapshot()?;
        let changes = destinations(&snapshot, wanted)?
            .into_iter()
            .zip(wanted)
            .map(|(destination, item)| destination.report(item))
            .collect();
        (changes, Vec::new())
    } else {
        // What could not be finished is about other sessions: their own commands say so.
        let opening = Opening::of(ctx)?;
        // Before the branch moves: what fails here has imported nothing, and a second try finds what was written.
        write_specs(ctx, &specs, &texts)?;
        let (commits, changes) =
            store.land(&opening.lock, &identity, "loopx: import", |snapshot| {
                place(ctx, snapshot, wanted, &bases, &identity)
            })?;
        (changes, commits)
    };
    let new = changes
        .iter_mut()
        .filter(|change| change.status == ChangeStatus::Imported);
    for (change, commit) in new.zip(commits) {
        change.commit = Some(commit);
    }
    if request.specs_only {
        for item in &items {
            changes.push(item.report(item.folder.id()?, ChangeStatus::Left));
        }
    }
    let open: Vec<(String, &Change)> = items
        .iter()
        .filter(|item| !item.folder.is_archived())
        .map(|item| (item.folder.name().to_owned(), &item.change))
        .collect();
    Ok(Report {
        tree: label,
        dry_run: request.dry_run,
        specs_path: policy.paths.specs.clone(),
        differs: differs(&items, &specs),
        overlaps: overlaps(&open, &texts, &FileMerge),
        specs,
        changes,
        strays: found.strays,
    })
}

/// The folder to read, and how it is called in messages.
fn locate(ctx: &Context, request: &Request) -> Result<(PathBuf, String)> {
    let (root, label) = match (&request.path, ctx.repo.work_dir()) {
        (Some(path), _) => (path.clone(), path.display().to_string()),
        (None, Some(top)) => (top.join(FROM), FROM.to_owned()),
        (None, None) => {
            return Err(Failure::usage(
                Code::WorktreeRequired,
                "a bare repository has no openspec/ to import",
            )
            .help("git worktree add ../work  (and import there)"));
        }
    };
    let label = label.trim_end_matches('/').to_owned();
    if root.is_dir() {
        return Ok((root, label));
    }
    Err(
        Failure::not_found(Code::ImportMissing, format!("there is no folder `{label}`"))
            .help("name the folder that has specs/ and changes/ in it"),
    )
}

// Specs of the worktree.

/// Lists the specs to write. A spec that is there with other bytes is never overwritten.
fn plan_specs(
    ctx: &Context,
    request: &Request,
    policy: &Policy,
    texts: &BTreeMap<String, String>,
) -> Result<Vec<SpecReport>> {
    let mut reports = Vec::new();
    let mut others = Vec::new();
    for (domain, text) in texts {
        let path = delta::spec_path(policy, domain);
        let status = if request.no_specs {
            SpecStatus::Left
        } else {
            let top = ctx.repo.work_dir().ok_or_else(|| {
                Failure::usage(Code::WorktreeRequired, "specs are written to a worktree")
                    .help("git worktree add ../work  (and import there)")
            })?;
            match files::read(&files::inside(top, &path)?, u64::MAX)? {
                None => SpecStatus::New,
                Some(bytes) if bytes == text.as_bytes() => SpecStatus::Same,
                Some(_) => {
                    others.push(Blocker::new(
                        Code::SpecDiffers,
                        format!("{path} is there with other bytes"),
                        command!("import openspec --no-specs").note("(keeps it)"),
                    ));
                    continue;
                }
            }
        };
        let findings = match read_spec(text.as_bytes(), &path) {
            Ok(spec) => spec.findings,
            Err(finding) => vec![finding],
        };
        reports.push(SpecReport {
            domain: domain.clone(),
            path,
            status,
            findings: findings
                .into_iter()
                .filter(|finding| finding.severity != Severity::Info)
                .collect(),
        });
    }
    if others.is_empty() {
        return Ok(reports);
    }
    let names: Vec<&str> = others.iter().map(|b| b.message.as_str()).take(3).collect();
    Err(Failure::new(
        Kind::Refused,
        Code::SpecDiffers,
        format!("nothing was imported: {}", names.join("; ")),
    )
    .blockers(others)
    .help(command!("import openspec --no-specs")))
}

fn write_specs(
    ctx: &Context,
    specs: &[SpecReport],
    texts: &BTreeMap<String, String>,
) -> Result<()> {
    let Some(top) = ctx.repo.work_dir() else {
        return Ok(());
    };
    for spec in specs.iter().filter(|spec| spec.status == SpecStatus::New) {
        if let Some(text) = texts.get(&spec.domain) {
            files::write(&files::inside(top, &spec.path)?, text.as_bytes())?;
        }
    }
    Ok(())
}

// Sessions.

/// Against what deltas are recorded: the specs of the tree, and where they are committed already.
struct Bases<'a> {
    policy: &'a Policy,
    head: &'a Head,
    tree: Option<&'a Oid>,
    specs: &'a BTreeMap<String, String>,
}

impl Bases<'_> {
    /// The base of a domain: the commit of the branch if it has the same spec, and the blob.
    fn of(&self, ctx: &Context, domain: &str) -> Result<(Option<Oid>, Option<Oid>)> {
        let blob = match self.specs.get(domain) {
            Some(text) => Some(ctx.repo.write_blob(text.as_bytes())?),
            None => None,
        };
        let path = delta::spec_path(self.policy, domain);
        let there = match self.tree {
            Some(tree) => ctx.repo.entry_at(tree, &path)?.map(|entry| entry.id),
            None => None,
        };
        let commit = self.head.commit.clone().filter(|_| there == blob);
        Ok((commit, blob))
    }
}

/// The session to which a change can go.
enum Destination {
    Free(SessionId),
    /// The session that an earlier run gave to the change.
    Already(SessionId),
    /// The change came from this open folder before it was archived: it is one change, not two.
    Since(SessionId, String),
    Taken(SessionId),
}

impl Destination {
    fn report(self, item: &Item) -> ChangeReport {
        match self {
            Destination::Free(id) => item.report(id, ChangeStatus::Imported),
            Destination::Already(id) => item.report(id, ChangeStatus::Already),
            Destination::Since(id, open) => {
                let note = Blocker::new(
                    Code::ArchivedSince,
                    format!("session {id} came from {open}, which OpenSpec archived since"),
                    command!("status").session(&id),
                );
                item.report(id, ChangeStatus::Already).note(note)
            }
            Destination::Taken(id) => {
                let note = Blocker::new(
                    Code::SessionExists,
                    format!("another session is named {id}: the change was not imported"),
                    hint![
                        format!("rename the folder {}, then: ", item.folder.path),
                        command!("import openspec")
                    ],
                );
                item.report(id, ChangeStatus::Taken).note(note)
            }
        }
    }
}

/// Gives every change its session: those to land, and a report on each.
fn place(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    items: &[Item],
    bases: &Bases<'_>,
    identity: &Identity,
) -> Result<(Vec<Placed>, Vec<ChangeReport>)> {
    let mut placed = Vec::new();
    let mut reports = Vec::new();
    for (destination, item) in destinations(snapshot, items)?.into_iter().zip(items) {
        if let Destination::Free(id) = &destination {
            placed.push(begin(ctx, item, id, bases, identity)?);
        }
        reports.push(destination.report(item));
    }
    Ok((placed, reports))
}

fn destinations(snapshot: &Snapshot<'_>, items: &[Item]) -> Result<Vec<Destination>> {
    let mut claimed = BTreeSet::new();
    let mut destinations = Vec::new();
    for item in items {
        let destination = destination(snapshot, item, items, &claimed)?;
        if let Destination::Free(id) = &destination {
            claimed.insert(id.clone());
        }
        destinations.push(destination);
    }
    Ok(destinations)
}

fn destination(
    snapshot: &Snapshot<'_>,
    item: &Item,
    items: &[Item],
    claimed: &BTreeSet<SessionId>,
) -> Result<Destination> {
    let ids = item.folder.ids()?;
    let mut free = None;
    for id in &ids {
        match origin(snapshot, id)? {
            Some(Some(folder)) if folder == item.folder.path => {
                return Ok(Destination::Already(id.clone()));
            }
            Some(Some(folder)) if is_open_twin(&folder, item, items) => {
                return Ok(Destination::Since(id.clone(), folder));
            }
            None if free.is_none() && !claimed.contains(id) => free = Some(id.clone()),
            _ => {}
        }
    }
    Ok(match free {
        Some(id) => Destination::Free(id),
        None => Destination::Taken(item.folder.id()?),
    })
}

/// Tells whether an archived change is the one that came from the open folder `other`, which is gone.
fn is_open_twin(other: &str, item: &Item, items: &[Item]) -> bool {
    item.folder.is_archived()
        && other == format!("changes/{}", item.folder.name())
        && !items.iter().any(|one| one.folder.path == other)
}

/// The folder that a session was imported from. `None`: no such session. `Some(None)`: from nowhere.
fn origin(snapshot: &Snapshot<'_>, id: &SessionId) -> Result<Option<Option<String>>> {
    let Some(session) = snapshot.find(id)? else {
        return Ok(None);
    };
    let ops = snapshot.operations(&session)?;
    Ok(Some(ops.into_iter().find_map(|op| match op.event() {
        Some(Event::Imported { from, folder, .. }) if from == FROM => Some(folder.clone()),
        _ => None,
    })))
}

impl ChangeReport {
    fn note(mut self, note: Blocker) -> Self {
        self.notes.push(note);
        self
    }
}

impl Item {
    fn report(&self, session: SessionId, status: ChangeStatus) -> ChangeReport {
        let archived = self.folder.is_archived();
        ChangeReport {
            folder: self.folder.path.clone(),
            session,
            status,
            title: self.change.title.clone(),
            archived: self.folder.archived_on().map(str::to_owned),
            commit: None,
            domains: self.judged.domains.clone(),
            operations: self.judged.operations,
            applies: (!archived).then(|| self.judged.applies()),
            // Its effect is in the specs already: it would be judged against itself.
            findings: if archived {
                Vec::new()
            } else {
                self.judged.remarks.clone()
            },
            unplaced: self.change.unplaced.clone(),
            notes: self.change.notes.clone(),
        }
    }
}

/// The commit in which a change becomes a session.
fn begin(
    ctx: &Context,
    item: &Item,
    id: &SessionId,
    bases: &Bases<'_>,
    identity: &Identity,
) -> Result<Placed> {
    let Item { folder, change, .. } = item;
    let origin = Origin {
        tool: FROM,
        folder: &folder.path,
        title: &change.title,
        created: change.created.as_deref(),
        ended: folder.is_archived().then(|| folder.archived_on()),
        artifacts: &change.artifacts,
        files: &folder.files,
        delta: Some(&change.delta),
        notes: &[],
    };
    let what = format!("import {}", folder.path);
    origin.place(ctx, id, bases, identity, &what)
}

/// Remarks that hold for the whole tree.
fn differs(items: &[Item], specs: &[SpecReport]) -> Vec<Blocker> {
    let mut found = Vec::new();
    let (archived, open): (Vec<&Item>, Vec<&Item>) =
        items.iter().partition(|item| item.folder.is_archived());
    if !open.is_empty() {
        found.push(Blocker::new(
            Code::BaseRecorded,
            "OpenSpec keeps no base: each requirement is recorded as it stands in the specs of the tree now, so that archive merges three ways",
            "",
        ));
        found.push(Blocker::new(
            Code::StageClarify,
            "open changes begin in stage clarify, whatever their tasks say: only gates move a session",
            command!("status").session("ID"),
        ));
    }
    if !open.is_empty() && specs.iter().any(|spec| spec.status == SpecStatus::New) {
        found.push(Blocker::new(
            Code::SpecsNotCommitted,
            "the sessions begin at HEAD, which lacks the specs: their reviews will cover the commit that adds them",
            hint![command!("import openspec --specs-only"), ", commit, then: ", command!("import openspec")],
        ));
    }
    if !archived.is_empty() {
        found.push(Blocker::new(
            Code::ArchiveDates,
            "archived changes have a day and no commit: OpenSpec does not record which commit archived them",
            command!("list --all"),
        ));
    }
    found
}
