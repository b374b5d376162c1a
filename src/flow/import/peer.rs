//! `import loopx|maestro|ccw`: reads a tree whole, then lands what it gave by one move of the loopx branch: a commit
//! for each session, and one for what belongs to the journal.
//!
//! A session remembers its folder in that tool's tree: a second run finds it by that, and adds what is new.

use super::super::context::Context;
use super::super::files::without_link;
use super::super::old_root;
use super::super::write_scope::Opening;
use super::origin::Origin;
use super::tree::walk;
use super::{Bases, Request, SpecReport, SpecStatus, plan_specs, write_specs};
use loopx_base::failure::{Blocker, Code, Failure, Result};
use loopx_base::hint::{command, hint};
use loopx_base::id::{Oid, SessionId};
use loopx_git::Identity;
use loopx_rules::artifact::Artifact;
use loopx_rules::note::{Note, NoteKind, Said};
use loopx_rules::op::{Body, Event};
use loopx_rules::peer;
use loopx_rules::peer::{Files, Found, Remark, Taken, Tool};
use loopx_rules::policy::Policy;
use loopx_rules::profile::ProfileName;
use loopx_rules::template::TemplateInput;
use loopx_spec::read_delta;
use loopx_store::{Placed, Snapshot, journal_message};
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The report on what became, or would become, of a tree.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct PeerReport {
    pub tool: Tool,
    pub tree: String,
    pub dry_run: bool,
    pub specs_path: String,
    pub specs: Vec<SpecReport>,
    pub sessions: Vec<SessionReport>,
    /// Entries of journals that are notes now.
    pub journal: usize,
    /// Files that nothing was made of; they stay where they are.
    pub left: Vec<String>,
    /// Remarks on things without a counterpart here that are about no session.
    pub remarks: Vec<Remark>,
    pub differs: Vec<Blocker>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct SessionReport {
    pub folder: String,
    pub session: SessionId,
    /// Set when an earlier run imported the session.
    pub already: bool,
    pub title: String,
    /// The place where the session stood there.
    pub stood: String,
    /// Set when the session had ended there, and is archived here.
    pub archived: bool,
    pub commit: Option<Oid>,
    pub artifacts: Vec<Artifact>,
    pub tasks: usize,
    pub notes: usize,
    pub kept: usize,
    pub remarks: Vec<Remark>,
}

/// Imports what another tool kept.
pub(crate) fn peer(ctx: &Context, tool: Tool, request: &Request) -> Result<PeerReport> {
    let (root, label, below) = locate(ctx, tool, request)?;
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
    let (files, links) = files(tool, &root, &below)?;
    let mut found = peer::read(tool, &files, &label)?;
    found.left.extend(links);
    lay_out_plans(&mut found, &policy)?;
    require_sizes(&found, policy.artifacts.max_bytes)?;
    let specs = plan_specs(ctx, request, &policy, &found.specs)?;
    let bases = Bases {
        policy: &policy,
        head: &head,
        tree: tree.as_ref(),
        specs: &found.specs,
    };
    let mut report = PeerReport {
        tool,
        tree: label,
        dry_run: request.dry_run,
        specs_path: policy.paths.specs.clone(),
        specs,
        sessions: Vec::new(),
        journal: 0,
        left: found.left.clone(),
        remarks: found.remarks.clone(),
        differs: differs(&found),
    };
    if request.dry_run {
        let snapshot = store.snapshot()?;
        report.sessions = destinations(&snapshot, tool, &found)?
            .iter()
            .zip(&found.sessions)
            .map(|(destination, taken)| destination.report(taken))
            .collect();
        report.journal = unsaid(&snapshot, &found)?.len();
        return Ok(report);
    }
    let opening = Opening::of(ctx)?;
    write_specs(ctx, &report.specs, &found.specs)?;
    let why = format!("loopx: import {tool}");
    let (commits, (sessions, journal)) =
        store.land(&opening.lock, &identity, &why, |snapshot| {
            let mut placed = Vec::new();
            let mut reports = Vec::new();
            let all = destinations(snapshot, tool, &found)?;
            for (destination, taken) in all.iter().zip(&found.sessions) {
                if !destination.already {
                    placed.push(begin(ctx, tool, taken, &destination.id, &bases, &identity)?);
                }
                reports.push(destination.report(taken));
            }
            let said = unsaid(snapshot, &found)?;
            if !said.is_empty() {
                placed.push(journal(ctx, snapshot, tool, &said, &identity)?);
            }
            Ok((placed, (reports, said.len())))
        })?;
    report.sessions = sessions;
    report.journal = journal;
    let new = report
        .sessions
        .iter_mut()
        .filter(|session| !session.already);
    for (session, commit) in new.zip(commits) {
        session.commit = Some(commit);
    }
    Ok(report)
}

/// The folder to read, how it is called in messages, and what its paths begin with: the folder of one session may be
/// named.
fn locate(ctx: &Context, tool: Tool, request: &Request) -> Result<(PathBuf, String, String)> {
    let Some(path) = &request.path else {
        let top = ctx.repo.work_dir().ok_or_else(|| {
            Failure::usage(
                Code::WorktreeRequired,
                format!(
                    "a bare repository has no {} to import",
                    tool.roots().join(", ")
                ),
            )
            .help("git worktree add ../work  (and import there)")
        })?;
        let there: Vec<&str> = match tool {
            Tool::Loopx => old_root::roots(top),
            _ => tool
                .roots()
                .iter()
                .copied()
                .filter(|root| top.join(root).is_dir())
                .collect(),
        };
        return match there.as_slice() {
            [root] => {
                let named = match tool {
                    Tool::Loopx => command!("import loopx PATH"),
                    Tool::Maestro => command!("import maestro PATH"),
                    Tool::Ccw => command!("import ccw PATH"),
                };
                let place = without_link(top, root, named)?;
                Ok((place, (*root).to_owned(), String::new()))
            }
            [] => Err(missing(tool, &tool.roots().join(", "))),
            many => Err(mixed(many)),
        };
    };
    let label = path.display().to_string();
    let label = label.trim_end_matches('/').to_owned();
    if !path.is_dir() {
        return Err(missing(tool, &label));
    }
    // A folder of one session stands for the tree around it, as far as that is its own.
    match tool.session_folder(&named_parts(path)) {
        Some(below) => {
            let depth = below.split('/').count();
            let root = path.ancestors().nth(depth).unwrap_or(path).to_path_buf();
            let around = root.display().to_string();
            let label = if around.is_empty() {
                ".".to_owned()
            } else {
                around
            };
            Ok((root, label, below))
        }
        None => Ok((path.clone(), label, String::new())),
    }
}

fn named_parts(path: &Path) -> Vec<String> {
    let parts = path
        .components()
        .map(|part| part.as_os_str().to_string_lossy());
    parts.map(std::borrow::Cow::into_owned).collect()
}

fn missing(tool: Tool, label: &str) -> Failure {
    Failure::not_found(
        Code::ImportMissing,
        format!("there is no folder `{label}` of {tool}"),
    )
    .help(format!(
        "name the folder that has {} in it",
        tool.expected()
    ))
}

fn mixed(roots: &[&str]) -> Failure {
    let path = roots[0];
    Failure::refused(
        Code::MixedRuntimeRoots,
        format!(
            "expected one root of loopx 0.x, found {}; nothing was imported",
            roots.join(" and ")
        ),
    )
    .help(hint![
        "name the root that counts, for example: ",
        command!("import loopx {path}")
    ])
}

/// The files that the tool's reader wants, and what is neither file nor folder.
fn files(tool: Tool, root: &Path, below: &str) -> Result<(Files, Vec<String>)> {
    let mut files = Files::new();
    let mut links = Vec::new();
    let starts: Vec<String> = match (below, tool) {
        ("", Tool::Loopx) => {
            // Working copies of sessions lie beside the old root.
            let own = root.file_name().is_some_and(|name| name == ".loopx");
            match root.parent().filter(|_| own) {
                Some(top) => old_root::beside_copies(top),
                None => Vec::new(),
            }
        }
        ("", _) => tool.folders().iter().map(|one| (*one).to_owned()).collect(),
        (below, _) => vec![below.to_owned()],
    };
    if starts.is_empty() {
        walk(root, "", &mut files, &mut links)?;
    }
    for start in starts {
        let at = root.join(&start);
        match std::fs::symlink_metadata(&at) {
            Ok(meta) if meta.is_symlink() => links.push(start),
            Ok(meta) if meta.is_file() => {
                files.insert(start, super::super::spec::read(&at)?);
            }
            Ok(meta) if meta.is_dir() => {
                walk(&at, &format!("{start}/"), &mut files, &mut links)?;
            }
            Ok(_) => links.push(start),
            Err(_) => {}
        }
    }
    Ok((files, links))
}

/// Begins the plan of each session that has a contract there.
fn lay_out_plans(found: &mut Found, policy: &Policy) -> Result<()> {
    let profile = policy.profiles.get(&ProfileName::standard())?;
    for taken in &mut found.sessions {
        if taken.contract.is_empty() {
            continue;
        }
        let id = SessionId::fold(&taken.name)?;
        let template = Artifact::Plan.template(TemplateInput {
            id: &id,
            title: &taken.title,
            intent: &taken.title,
            domains: &[],
            profile: &profile,
            language: policy.artifacts.language,
        });
        let plan = taken.contract.written_into(&template);
        taken.artifacts.entry(Artifact::Plan).or_insert(plan);
    }
    Ok(())
}

/// Refuses files that are larger than policy lets a session keep: a server could refuse them, and with them every push
/// that came later.
fn require_sizes(found: &Found, max: u64) -> Result<()> {
    for taken in &found.sessions {
        let artifacts = taken.artifacts.iter();
        let artifacts = artifacts.map(|(name, text)| (name.to_string(), text.len()));
        let kept = taken.files.iter();
        let kept = kept.map(|(path, bytes)| (path.clone(), bytes.len()));
        for (name, bytes) in artifacts.chain(kept) {
            let name = format!("nothing was imported: {name} of {}", taken.folder);
            super::files::require_size(&name, bytes as u64, max)?;
        }
    }
    Ok(())
}

/// The session that a folder becomes, or became.
struct Destination {
    id: SessionId,
    already: bool,
}

impl Destination {
    fn report(&self, taken: &Taken) -> SessionReport {
        SessionReport {
            folder: taken.folder.clone(),
            session: self.id.clone(),
            already: self.already,
            title: taken.title.clone(),
            stood: taken.stood.clone(),
            archived: taken.ended.is_some(),
            commit: None,
            artifacts: taken.artifacts.keys().copied().collect(),
            tasks: taken.tasks,
            notes: taken.notes.len(),
            kept: taken.files.len(),
            remarks: taken.remarks.clone(),
        }
    }
}

fn destinations(snapshot: &Snapshot<'_>, tool: Tool, found: &Found) -> Result<Vec<Destination>> {
    let mut claimed = BTreeSet::new();
    let mut destinations = Vec::new();
    for taken in &found.sessions {
        let id = SessionId::fold(&taken.name)?;
        let other = SessionId::fold(&format!("{}-{tool}", taken.name))?;
        let mut destination = None;
        for id in [&id, &other] {
            match origin(snapshot, tool, id)? {
                Some(folder) if folder.as_deref() == Some(&taken.folder) => {
                    destination = Some((id.clone(), true));
                    break;
                }
                None if destination.is_none() && !claimed.contains(id) => {
                    destination = Some((id.clone(), false))
                }
                _ => {}
            }
        }
        let Some((id, already)) = destination else {
            return Err(Failure::refused(
                Code::SessionExists,
                format!(
                    "nothing was imported: other sessions are named {id} and {other}, and {} needs one of the names",
                    taken.folder
                ),
            )
            .help("rename its folder, then import again"));
        };
        claimed.insert(id.clone());
        destinations.push(Destination { id, already });
    }
    Ok(destinations)
}

/// The folder of this tool that a session came from. `None`: no such session. `Some(None)`: from elsewhere.
fn origin(snapshot: &Snapshot<'_>, tool: Tool, id: &SessionId) -> Result<Option<Option<String>>> {
    let Some(session) = snapshot.find(id)? else {
        return Ok(None);
    };
    let ops = snapshot.operations(&session)?;
    Ok(Some(ops.into_iter().find_map(|op| match op.event() {
        Some(Event::Imported { from, folder, .. }) if from == tool.as_str() => Some(folder.clone()),
        _ => None,
    })))
}

/// The commit in which a session of the tool becomes one here.
fn begin(
    ctx: &Context,
    tool: Tool,
    taken: &Taken,
    id: &SessionId,
    bases: &Bases<'_>,
    identity: &Identity,
) -> Result<Placed> {
    let delta = taken.artifacts.get(&Artifact::SpecDelta);
    let delta = delta.map(|text| read_delta(text.as_bytes(), ""));
    let origin = Origin {
        tool: tool.as_str(),
        folder: &taken.folder,
        title: &taken.title,
        created: taken.created.as_deref(),
        ended: taken.ended.as_ref().map(Option::as_deref),
        artifacts: &taken.artifacts,
        files: &taken.files,
        delta: delta.as_ref(),
        notes: &taken.notes,
    };
    let what = format!("import {tool} {}", taken.folder);
    origin.place(ctx, id, bases, identity, &what)
}

/// The entries of journals that the journal here does not have.
fn unsaid(snapshot: &Snapshot<'_>, found: &Found) -> Result<Vec<String>> {
    if found.journal.is_empty() {
        return Ok(Vec::new());
    }
    let mut known = BTreeSet::new();
    for (_, op) in snapshot.journal()? {
        if let Body::Note(note) = &op?.body {
            known.insert(note.text().to_owned());
        }
    }
    let new = found.journal.iter().filter(|text| !known.contains(*text));
    Ok(new.cloned().collect())
}

/// Notes of the present month, all in one commit.
fn journal(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    tool: Tool,
    said: &[String],
    identity: &Identity,
) -> Result<Placed> {
    let notes: Vec<(Note, Option<String>)> = (said.iter())
        .map(|text| (Said::new(NoteKind::Learning, text).into(), None))
        .collect();
    let (edits, ops) = crate::flow::note::in_journal(ctx, snapshot, identity, &notes)?;
    let what = format!(
        "import {} from {tool}",
        loopx_base::counted(ops.len(), "entry")
    );
    let message = match ops.first() {
        Some(op) => journal_message(&what, op),
        None => what,
    };
    Ok(Placed { edits, message })
}

/// Remarks that hold for the whole tree.
fn differs(found: &Found) -> Vec<Blocker> {
    let mut said = Vec::new();
    if found.sessions.iter().any(|taken| taken.ended.is_none()) {
        said.push(Blocker::new(
            Code::StageClarify,
            "open sessions begin in stage clarify, whatever stage they had: only gates move a session",
            command!("status").session("ID"),
        ));
    }
    said
}

impl PeerReport {
    /// Specs that were written, or would be.
    pub(crate) fn new_specs(&self) -> usize {
        let new = |spec: &&SpecReport| spec.status == SpecStatus::New;
        self.specs.iter().filter(new).count()
    }
}
