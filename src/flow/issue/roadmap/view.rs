//! The views of `roadmap show`, `list` and `check`. Nothing here writes.

use super::Loaded;
use crate::flow::context::Context;
use crate::flow::issue::view::{Row, row_of};
use crate::flow::issue::{Names, all};
use loopx_base::failure::Result;
use loopx_base::findings::{Finding, Severity};
use loopx_rules::issue::{Issue, IssueId, Status};
use loopx_rules::roadmap;
use loopx_rules::roadmap::{
    CAP, Document, Factor, Level, Mode, Round, Shape, Standing, phase_order,
};
use serde::Serialize;
use std::collections::BTreeMap;

/// A roadmap of the list.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Listed {
    pub roadmap: IssueId,
    pub short: String,
    pub title: String,
    /// Set when the roadmap is resolved or closed.
    pub ended: bool,
    pub status: roadmap::Status,
    pub mode: Option<Mode>,
    pub issues: usize,
    pub done: usize,
    /// Issues that were closed: they will not be done.
    pub closed: usize,
}

/// The progress of a milestone or a phase.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Progress {
    pub name: String,
    pub title: String,
    /// The milestone of a phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub milestone: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<String>,
    pub issues: usize,
    pub done: usize,
    pub closed: usize,
}

/// A wave, with its issues as lists show them.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct WaveRows {
    pub wave: u32,
    pub name: Option<String>,
    pub done: usize,
    pub closed: usize,
    pub issues: Vec<Row<'static>>,
    /// The open issues that can be done side by side.
    pub groups: Vec<Vec<IssueId>>,
}

/// A roadmap with everything that is known of it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct View {
    pub roadmap: IssueId,
    pub short: String,
    pub title: String,
    #[serde(flatten)]
    pub standing: Standing,
    pub rounds_cap: usize,
    pub mode: Option<Mode>,
    pub factors: BTreeMap<Factor, Level>,
    pub layers: Vec<String>,
    pub milestones: Vec<Progress>,
    pub phases: Vec<Progress>,
    pub waves: Vec<WaveRows>,
    /// Issues that are in no wave, or in two.
    pub loose: Vec<Row<'static>>,
    /// The first wave in which something is left.
    pub next_wave: Option<u32>,
    pub issues: usize,
    pub done: usize,
    pub closed: usize,
    pub feedback: Vec<Round>,
    pub errors: usize,
    pub warnings: usize,
    #[serde(skip)]
    pub names: Names,
}

/// The findings about a roadmap.
#[derive(Clone, Debug)]
pub(crate) struct Checked {
    pub roadmap: IssueId,
    pub short: String,
    pub issues: usize,
    pub findings: Vec<Finding>,
}

/// All roadmaps, the open ones first.
pub(crate) fn list(ctx: &Context) -> Result<Vec<Listed>> {
    let snapshot = ctx.store()?.snapshot()?;
    let roadmaps = all(&snapshot)?.issues.into_iter().filter(Issue::is_roadmap);
    let mut found = Vec::new();
    for issue in roadmaps {
        let loaded = Loaded::of(ctx, &snapshot, Some(issue.id.as_str()))?;
        let shape = loaded.shape();
        found.push(Listed {
            short: loaded.short(&issue.id).to_owned(),
            title: issue.title.clone(),
            ended: issue.status.is_final(),
            status: loaded.standing(&shape, &loaded.findings(&shape))?.status,
            mode: loaded.cut.mode,
            issues: shape.leaves.len(),
            done: shape.count(Status::Resolved),
            closed: shape.count(Status::Closed),
            roadmap: issue.id,
        });
    }
    found.sort_by_key(|one| one.ended);
    Ok(found)
}

/// The findings about a roadmap.
pub(crate) fn check(ctx: &Context, typed: Option<&str>) -> Result<Checked> {
    let snapshot = ctx.store()?.snapshot()?;
    let loaded = Loaded::of(ctx, &snapshot, typed)?;
    let shape = loaded.shape();
    Ok(Checked {
        short: loaded.short(&loaded.root.id).to_owned(),
        issues: shape.leaves.len(),
        findings: loaded.findings(&shape),
        roadmap: loaded.root.id.clone(),
    })
}

/// Reads a roadmap with everything that is known of it.
pub(crate) fn view(ctx: &Context, typed: Option<&str>) -> Result<View> {
    let snapshot = ctx.store()?.snapshot()?;
    let loaded = Loaded::of(ctx, &snapshot, typed)?;
    let shape = loaded.shape();
    let findings = loaded.findings(&shape);
    let count = |severity| {
        findings
            .iter()
            .filter(|one| one.severity == severity)
            .count()
    };
    let mut rows = rows(ctx, &loaded, &shape);
    let waves = shape.waves();
    let next_wave = waves.iter().find(|wave| !wave.is_done());
    let next_wave = next_wave.map(|wave| wave.wave);
    let waves = waves.into_iter().map(|wave| WaveRows {
        wave: wave.wave,
        name: loaded.cut.layer(wave.wave).map(str::to_owned),
        done: wave.done,
        closed: wave.closed,
        issues: wave
            .issues
            .iter()
            .filter_map(|id| rows.remove(id))
            .collect(),
        groups: wave.groups,
    });
    let waves = waves.collect();
    let (milestones, phases) = parts(&shape, &loaded.document);
    Ok(View {
        short: loaded.short(&loaded.root.id).to_owned(),
        title: loaded.root.title.clone(),
        standing: loaded.standing(&shape, &findings)?,
        rounds_cap: CAP,
        mode: loaded.cut.mode,
        factors: loaded.cut.factors.clone(),
        layers: loaded.cut.layers.clone(),
        milestones,
        phases,
        waves,
        loose: rows.into_values().collect(),
        next_wave,
        issues: shape.leaves.len(),
        done: shape.count(Status::Resolved),
        closed: shape.count(Status::Closed),
        feedback: loaded.rounds.clone(),
        errors: count(Severity::Error),
        warnings: count(Severity::Warning),
        names: loaded.names.clone(),
        roadmap: loaded.root.id.clone(),
    })
}

/// The rows of all issues of a roadmap.
fn rows(ctx: &Context, loaded: &Loaded, shape: &Shape<'_>) -> BTreeMap<IssueId, Row<'static>> {
    let waits = loaded.backlog.waits(&loaded.today);
    let all = loaded.backlog.issues.iter().zip(waits);
    let own = all.filter(|(issue, _)| shape.leaves.iter().any(|one| one.id == issue.id));
    own.map(|(issue, waits)| {
        let row = row_of(ctx, &loaded.names, issue.clone(), waits);
        (issue.id.clone(), row)
    })
    .collect()
}

/// Milestones and phases: those of the document in its order, then those that only issues name.
fn parts(shape: &Shape<'_>, document: &Document) -> (Vec<Progress>, Vec<Progress>) {
    let mut milestones: Vec<Progress> = (document.milestones.iter())
        .map(|one| Progress {
            name: one.name.clone(),
            title: one.title.clone(),
            ..Progress::default()
        })
        .collect();
    let mut phases: Vec<Progress> = (document.phases.iter())
        .map(|one| Progress {
            name: one.number.clone(),
            title: one.title.clone(),
            milestone: one.milestone.clone(),
            criteria: one.criteria.clone(),
            ..Progress::default()
        })
        .collect();
    phases.dedup_by(|one, other| one.name == other.name);
    for issue in &shape.leaves {
        for number in shape.place(&issue.id).phases {
            add(&mut phases, &number, issue);
        }
        if let Some(name) = &issue.milestone {
            add(&mut milestones, name, issue);
        }
    }
    let named = document.phases.len().min(phases.len());
    phases[named..].sort_by_key(|one| phase_order(&one.name));
    (milestones, phases)
}

fn add(all: &mut Vec<Progress>, name: &str, issue: &Issue) {
    let at = match all.iter().position(|one| one.name == name) {
        Some(at) => at,
        None => {
            all.push(Progress {
                name: name.to_owned(),
                ..Progress::default()
            });
            all.len() - 1
        }
    };
    all[at].issues += 1;
    all[at].done += usize::from(issue.status == Status::Resolved);
    all[at].closed += usize::from(issue.status == Status::Closed);
}
