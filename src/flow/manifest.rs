//! The context manifest of a session: what its stage, or one of its tasks, has to read. The core knows the rows of
//! artifacts; here is what stands in the repository, and whether it is there.

use super::context::Context;
use super::delta;
use super::rules::Applying;
use super::task_list;
use super::transaction::{Facts, Needs, gather_here};
use crate::flow::files;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::id::{Oid, SessionId};
use loopx_git::{EntryKind, Repo};
use loopx_rules::manifest::{Manifest, Row, artifacts, settle, task_reads};
use loopx_rules::policy::{EvidenceRule, FILE as POLICY_FILE, Policy};
use loopx_rules::rule::glossary;
use loopx_rules::session::State;
use loopx_rules::stage::Stage;
use loopx_rules::task::plan;
use loopx_rules::texts::Texts;

/// Documents that agents read of themselves.
const OF_AGENTS: [&str; 3] = ["AGENTS.md", "CLAUDE.md", "GEMINI.md"];
/// The number of files that a review looks at and that are rows of their own.
const MOST_CHANGED: usize = 40;

/// The place where files of the repository are looked for: the worktree, else what is committed.
struct Ground<'c> {
    repo: &'c Repo,
    state: &'c State,
    /// The tree of HEAD.
    tree: Option<Oid>,
}

impl<'c> Ground<'c> {
    fn of(repo: &'c Repo, state: &'c State) -> Result<Self> {
        let tree = match repo.head()?.commit {
            Some(head) => Some(repo.commit_info(&head)?.tree),
            None => None,
        };
        Ok(Ground { repo, state, tree })
    }

    /// The content of a committed file.
    fn committed(&self, path: &str) -> Option<String> {
        let entry = self.repo.entry_at(self.tree.as_ref()?, path).ok()??;
        (entry.kind == EntryKind::Blob).then(|| entry.id.to_string())
    }

    /// Tells whether somebody who works here finds the file.
    fn is_here(&self, path: &str) -> bool {
        let is_artifact = loopx_rules::artifact::Artifact::at(path)
            .is_some_and(|artifact| self.state.artifacts.contains_key(&artifact));
        if is_artifact || self.state.output(path).is_some() {
            return true;
        }
        match self.repo.work_dir() {
            Some(top) => {
                let at = path.trim_end_matches('/');
                files::inside(top, at).is_ok_and(|place| place.exists())
            }
            None => {
                let tree = self.tree.as_ref();
                tree.is_some_and(|tree| matches!(self.repo.entry_at(tree, path), Ok(Some(_))))
            }
        }
    }

    /// A file of the repository, where it is committed or here.
    fn row(&self, mut row: Row) -> Option<Row> {
        row.blob = self.committed(&row.path);
        row.exists = self.is_here(&row.path);
        (row.exists || row.blob.is_some()).then_some(row)
    }

    /// The glossary: whoever works on the change reads it once there is one.
    fn glossary(&self, policy: &Policy, stage: Stage) -> Option<Row> {
        let path = glossary_path(policy);
        let priority = if stage == Stage::Review { 23 } else { 34 };
        let row =
            Row::new(stage, "domain-context", path, priority).because("one word for one thing");
        let mut row = self.row(row)?;
        row.required = true;
        Some(row)
    }
}

fn glossary_path(policy: &Policy) -> String {
    format!("{}/{}", policy.paths.rules, glossary::FILE)
}

/// Tells whether policy and profile let a missing row hold a gate.
fn is_asked(policy: &Policy, state: &State) -> bool {
    let profile = policy.profiles.get(&state.profile);
    policy.context.manifest == EvidenceRule::Require
        && profile.is_ok_and(|profile| profile.has_stage(Stage::Clarify))
}

/// Lists the rows that the gate out of the present stage looks at: rows of the next stage that are required and that no
/// other rule of a gate asks for.
pub(super) fn asked(
    repo: &Repo,
    state: &State,
    policy: &Policy,
    texts: &Texts,
) -> Result<Vec<Row>> {
    let next = match state.stage {
        Stage::Clarify => Stage::Plan,
        Stage::Plan => Stage::Build,
        Stage::Build => Stage::Review,
        Stage::Review | Stage::Done => return Ok(Vec::new()),
    };
    if !is_asked(policy, state) || state.ending.is_some() {
        return Ok(Vec::new());
    }
    let ground = Ground::of(repo, state)?;
    // Only a committed glossary can be missing: most repositories have none, and are asked nothing more.
    let has_glossary = ground.committed(&glossary_path(policy)).is_some();
    let glossary = has_glossary.then(|| ground.glossary(policy, next));
    let mut rows: Vec<Row> = glossary.flatten().into_iter().collect();
    if next == Stage::Build
        && let Ok(nodes) = plan::nodes(texts)
    {
        rows.extend(task_reads(&nodes, None, &|path| ground.is_here(path)));
    }
    rows.retain(Row::is_missing);
    Ok(rows)
}

/// The manifest of what is to be read, with the session, stage and task that it belongs to.
#[derive(Debug)]
pub(crate) struct Shown {
    pub id: SessionId,
    pub stage: Stage,
    pub task: Option<String>,
    pub manifest: Manifest,
    /// Set when a missing row holds a gate of this session.
    pub asked: bool,
}

/// The manifest of a stage, the present one where none is named, or of a task.
pub(crate) fn show(ctx: &Context, stage: Option<Stage>, task: Option<&str>) -> Result<Shown> {
    let snapshot = ctx.store()?.snapshot()?;
    let session = ctx.session(&snapshot)?;
    let facts = gather_here(ctx, &snapshot, &session, Needs::Code)?;
    let stage = match task {
        Some(_) => Stage::Build,
        None => stage.unwrap_or(facts.state.stage),
    };
    let rows = rows(ctx, &facts, stage, task)?;
    Ok(Shown {
        asked: is_asked(&facts.policy, &facts.state),
        manifest: settle(rows),
        stage,
        task: task.map(str::to_owned),
        id: facts.state.id,
    })
}

fn rows(ctx: &Context, facts: &Facts<'_>, stage: Stage, task: Option<&str>) -> Result<Vec<Row>> {
    let (state, policy) = (&facts.state, &facts.policy);
    let ground = Ground::of(&ctx.repo, state)?;
    let nodes = plan::now(&facts.texts, state).unwrap_or_default();
    let mut paths: Vec<String> = Vec::new();
    if let Some(task) = task {
        let is_it = |id: &str| id.eq_ignore_ascii_case(task);
        let node = nodes.iter().find(|node| is_it(node.id.as_str()));
        let node = node.ok_or_else(|| {
            Failure::not_found(Code::TaskUnknown, format!("there is no task `{task}`"))
                .help(task_list::lead(state))
        })?;
        paths.extend(node.own_files().map(str::to_owned));
    }
    let mut rows = artifacts(stage, state, facts.view().profile());
    if stage == Stage::Build {
        rows.extend(task_reads(&nodes, task, &|path| ground.is_here(path)));
    }
    rows.extend(ground.glossary(policy, stage));
    if stage == Stage::Review {
        rows.extend(changed(ctx, facts, &mut paths)?);
    }
    for read in Applying::here(ctx).at_with(stage, &paths) {
        let mut row = Row::new(stage, "rule", read.path, 37).because("a rule that applies");
        (row.required, row.blob) = (read.required, Some(read.blob));
        rows.push(row);
    }
    let delta = delta::read(&facts.texts).map(|(delta, _)| delta);
    let domains = delta.into_iter().flat_map(|delta| delta.domains);
    for domain in domains.filter_map(|part| part.domain) {
        let row = Row::new(stage, "spec-domain", delta::spec_path(policy, &domain), 38);
        rows.extend(ground.row(row.because("what the change begins from")));
    }
    let of_agents = if stage == Stage::Review { 31 } else { 35 };
    for path in OF_AGENTS {
        let row = Row::new(stage, "agent-domain", path, of_agents);
        rows.extend(ground.row(row.because("what agents are told here")));
    }
    let row = Row::new(stage, "workspace-config", POLICY_FILE, of_agents + 1);
    rows.extend(ground.row(row.because("what policy asks for")));
    Ok(rows)
}

/// The files that a review is about.
fn changed(ctx: &Context, facts: &Facts<'_>, paths: &mut Vec<String>) -> Result<Vec<Row>> {
    let (Some(base), Some(code)) = (&facts.state.base, &facts.code) else {
        return Ok(Vec::new());
    };
    if !ctx.repo.contains(base)? {
        return Ok(Vec::new());
    }
    let then = ctx.repo.commit_info(base)?.tree;
    *paths = ctx.repo.changed_paths(Some(&then), &code.tree)?;
    let rows = paths.iter().take(MOST_CHANGED);
    Ok(rows
        .map(|path| {
            let row = Row::new(Stage::Review, "changed-file", path.as_str(), 25);
            row.because("what the change changes")
        })
        .collect())
}
