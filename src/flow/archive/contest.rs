//! Conflicts for a person: written out with their sides, read back as resolved, forgotten.

use super::super::context::Context;
use super::super::files;
use super::super::workcopy::{FOLDER, marker_line};
use super::Archived;
use super::plan::Plan;
use crate::core::artifact::Artifact;
use crate::core::failure::{Failure, Kind, Result};
use crate::core::id::{Oid, SessionId};
use crate::core::session::State;
use crate::core::spec::{Severity, read_spec};
use crate::store::Session;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

// Conflicts for a person.

/// Which conflicts were written out, against what, so that a resolution is not put onto something else.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Contest {
    pub(super) format: u32,
    pub(super) target: String,
    /// The delta that met the specs.
    pub(super) delta: Option<Oid>,
    pub(super) domains: BTreeMap<String, Sides>,
}

/// One domain in conflict.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Sides {
    /// The spec on the target branch.
    spec: Option<Oid>,
    /// The file with the marked sides, as it was written out.
    written: Oid,
}

fn contest_file(ctx: &Context, id: &SessionId) -> PathBuf {
    ctx.repo
        .git_dir()
        .join("loopx")
        .join(format!("{id}.conflicts.json"))
}

fn conflict_path(id: &SessionId, domain: &str) -> String {
    format!("{FOLDER}/{id}/conflicts/{domain}/spec.md")
}

/// Whether conflicts of a session wait here for a person.
pub fn has_conflicts(ctx: &Context, id: &SessionId) -> bool {
    contest_file(ctx, id).exists()
}

pub(super) fn read_contest(ctx: &Context, id: &SessionId) -> Result<Option<Contest>> {
    let path = contest_file(ctx, id);
    match files::read(&path, u64::MAX)? {
        Some(bytes) => crate::core::op::parse_json(&bytes, &path.display().to_string())
            .map(Some)
            .map_err(|failure| failure.help("git loopx archive --abort, then: git loopx archive")),
        None => Ok(None),
    }
}

pub(super) fn no_conflict() -> Failure {
    Failure::nothing("no_conflict", "no archive waits to be continued here")
        .help("git loopx archive")
}

/// A resolution that somebody has begun is not written over, and not thrown away unasked.
pub(super) fn refuse_begun(ctx: &Context, id: &SessionId) -> Result<()> {
    let (Some(contest), Some(top)) = (read_contest(ctx, id)?, ctx.repo.work_dir()) else {
        return Ok(());
    };
    let mut begun = Vec::new();
    for (domain, sides) in &contest.domains {
        let relative = conflict_path(id, domain);
        if let Some(bytes) = files::read(&files::inside(top, &relative)?, u64::MAX)?
            && ctx.repo.hash_blob(&bytes)? != sides.written
        {
            begun.push(relative);
        }
    }
    if begun.is_empty() {
        return Ok(());
    }
    Err(Failure::conflict(
        "archive_conflict",
        format!(
            "a conflict with {} is being resolved in {}",
            contest.target,
            begun.join(", ")
        ),
    )
    .help("git loopx archive --continue, or give the resolution up: git loopx archive --abort"))
}

/// Writes the three sides where a person can edit them; nothing else changes.
pub(super) fn write_conflicts(
    ctx: &Context,
    state: &State,
    plan: &Plan,
    failure: Failure,
) -> Result<Failure> {
    let id = &state.id;
    let Some(top) = ctx.repo.work_dir() else {
        return Ok(failure
            .help("archive in a worktree, where the conflict can be edited: git worktree add"));
    };
    if failure.kind != Kind::Conflict {
        return Ok(failure);
    }
    forget_conflicts(ctx, id)?;
    let mut names = Vec::new();
    let mut domains = BTreeMap::new();
    for one in &plan.verdict.domains {
        if let Some(text) = &one.outcome.rendered_conflict {
            let domain = &one.outcome.domain;
            let relative = conflict_path(id, domain);
            files::write(&files::inside(top, &relative)?, text.as_bytes())?;
            names.push(relative);
            let sides = Sides {
                spec: plan.blob(ctx, domain)?,
                written: ctx.repo.hash_blob(text.as_bytes())?,
            };
            domains.insert(domain.clone(), sides);
        }
    }
    super::super::workcopy::exclude(&ctx.repo)?;
    let contest = Contest {
        format: 1,
        target: plan.aim.target.clone(),
        delta: state.artifacts.get(&Artifact::SpecDelta).cloned(),
        domains,
    };
    files::write(&contest_file(ctx, id), &crate::core::op::to_json(&contest)?)?;
    let mut failure = failure.help(format!(
        "choose between the marked sides in {}, then run: git loopx archive --continue",
        names.join(", ")
    ));
    for blocker in &mut failure.blockers {
        blocker.code = "requirement_conflict".into();
        blocker.help = names.join(", ");
    }
    Ok(failure)
}

/// The domains as they were resolved.
pub(super) fn resolved(
    ctx: &Context,
    state: &State,
    plan: &Plan,
    contest: &Contest,
) -> Result<BTreeMap<String, String>> {
    let id = &state.id;
    let again =
        "git loopx archive --abort  (copy your text first if you want it), then: git loopx archive";
    let moved = |what: String| Failure::refused("target_moved", what).help(again);
    if contest.target != plan.aim.target {
        return Err(moved(format!(
            "the conflict that was written out is one with {}, not with {}",
            contest.target, plan.aim.target
        )));
    }
    if contest.delta.as_ref() != state.artifacts.get(&Artifact::SpecDelta) {
        return Err(moved(
            "the session's delta changed since the conflict was written out".into(),
        ));
    }
    let known: BTreeSet<&str> = contest.domains.keys().map(String::as_str).collect();
    let mut same = plan.contested().collect::<BTreeSet<_>>() == known;
    for (domain, sides) in &contest.domains {
        same &= plan.blob(ctx, domain)? == sides.spec;
    }
    if !same {
        return Err(moved(format!(
            "the specs on {} changed since the conflict was written out",
            plan.aim.target
        )));
    }
    let errors: Vec<_> = plan
        .verdict
        .findings()
        .filter(|finding| finding.severity == Severity::Error)
        .collect();
    if !errors.is_empty()
        && let Some(failure) = plan.refusal()
    {
        return Err(failure);
    }
    let top = ctx
        .repo
        .work_dir()
        .ok_or_else(|| Failure::usage("worktree_required", "this needs a worktree"))?;
    let mut texts = BTreeMap::new();
    for domain in contest.domains.keys() {
        let relative = conflict_path(id, domain);
        let bytes = files::read(&files::inside(top, &relative)?, u64::MAX)?.ok_or_else(|| {
            Failure::conflict("conflict_file_missing", format!("{relative} is not there"))
                .help("git loopx archive --abort, then: git loopx archive")
        })?;
        let text = String::from_utf8(bytes).map_err(|_| {
            Failure::conflict(
                "conflict_not_utf8",
                format!("{relative}: expected UTF-8, found other bytes"),
            )
        })?;
        if let Some(line) = marker_line(&text) {
            return Err(Failure::conflict(
                "conflict_unresolved",
                format!("{relative}:{line}: conflict markers are still there"),
            )
            .help("choose between the marked sides, then run: git loopx archive --continue"));
        }
        let faults = match read_spec(text.as_bytes(), &relative) {
            Ok(spec) => spec.findings,
            Err(finding) => vec![finding],
        };
        if let Some(fault) = faults
            .iter()
            .find(|finding| finding.severity == Severity::Error)
        {
            return Err(Failure::refused(
                "resolution_invalid",
                format!("{}:{}: {}", fault.file, fault.line, fault.message),
            )
            .help(fault.fix.clone()));
        }
        texts.insert(domain.clone(), text);
    }
    Ok(texts)
}

pub(super) fn forget_conflicts(ctx: &Context, id: &SessionId) -> Result<()> {
    let path = contest_file(ctx, id);
    if let Some(bytes) = files::read(&path, u64::MAX)?
        && let Ok(contest) = serde_json::from_slice::<Contest>(&bytes)
        && let Some(top) = ctx.repo.work_dir()
    {
        for domain in contest.domains.keys() {
            let file = files::inside(top, &conflict_path(id, domain))?;
            files::remove(&file)?;
            // Folders go only when they are empty.
            let mut folder = file.parent();
            while let Some(dir) =
                folder.filter(|dir| dir.starts_with(top.join(FOLDER).join(id.as_str())))
            {
                if std::fs::remove_dir(dir).is_err() {
                    break;
                }
                folder = dir.parent();
            }
        }
    }
    files::remove(&path)
}

pub(super) fn abort(ctx: &Context, session: &Session, onto: Option<&str>) -> Result<Archived> {
    let id = &session.state.id;
    if !contest_file(ctx, id).exists() {
        return Err(no_conflict());
    }
    forget_conflicts(ctx, id)?;
    Ok(Archived {
        id: id.clone(),
        target: onto
            .map(str::to_owned)
            .or_else(|| session.state.branch.clone())
            .unwrap_or_default(),
        commit: None,
        changes: Vec::new(),
        warnings: Vec::new(),
        finished: false,
    })
}
