//! The place of issues in a roadmap: their wave, their phase, their milestone.

use super::{Loaded, elsewhere};
use crate::flow::context::Context;
use crate::flow::issue::change::{check, require_no_cycle};
use crate::flow::issue::{Plan, Step, Written, require_understood, write};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_rules::issue::event::{Change, IssueEvent};
use loopx_rules::issue::{Issue, IssueId, Link, LinkKind};
use loopx_rules::roadmap::{Mode, PHASE, Place, WAVE, is_phase, issues_below, label};
use serde::Serialize;

/// The word that takes a value away.
const NONE: &str = "none";

/// The places where issues are to stand. A part that is not said stays.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    /// A number, `L0`, the name of a layer, or `none`.
    pub wave: Option<String>,
    /// A number, or `none`.
    pub phase: Option<String>,
    /// A name, or `none`.
    pub milestone: Option<String>,
}

/// The places in a roadmap that were asked for.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Placing {
    pub roadmap: IssueId,
    pub wave: Option<u32>,
    pub phase: Option<String>,
    /// The milestone of the phase, where nobody names another.
    pub milestone: Option<String>,
}

/// Puts issues into a roadmap, and says where they stand there. An issue that has parts stands for them.
pub(crate) fn place(
    ctx: &Context,
    typed: &[String],
    roadmap: Option<&str>,
    wanted: &Wanted,
) -> Result<Written<Placing>> {
    write(ctx, |snapshot, _| {
        let loaded = Loaded::of(ctx, snapshot, roadmap)?;
        let (placing, place_changes) = asked(&loaded, wanted)?;
        if let Some(change) = &place_changes.milestone {
            check(ctx, change)?;
        }
        let shape = loaded.shape();
        let parts = loaded.backlog.parts();
        let mut changed: Vec<(Issue, Vec<Change>)> = Vec::new();
        for typed in typed {
            let mut issue = require_understood(snapshot, typed)?;
            if issue.id == loaded.root.id {
                return Err(invalid(format!("{typed} is the roadmap itself")));
            }
            if let Some(parent) = shape.parent_elsewhere(&issue, &loaded.root.id) {
                let (short, parent) = (loaded.short(&issue.id), loaded.short(parent));
                return Err(elsewhere(short, parent));
            }
            let mut changes = Vec::new();
            if !shape.has(&issue.id) {
                let link = Link {
                    kind: LinkKind::Parent,
                    to: loaded.root.id.clone(),
                };
                issue.links.push(link.clone());
                changes.push(Change::Link(link));
            }
            let (leaves, _) = issues_below(&parts, &issue.id);
            if leaves.is_empty() {
                changes.extend(place_changes.of(&issue));
            }
            push(&mut changed, issue, changes);
            for part in leaves {
                push(&mut changed, part.clone(), place_changes.of(part));
            }
        }
        require_no_cycle(snapshot, &changed, &|id| loaded.short(id).to_owned())?;
        Ok(Plan {
            what: format!("roadmap {}", loaded.short(&loaded.root.id)),
            reason: None,
            steps: steps(changed),
            value: placing,
        })
    })
}

/// Takes issues out of a roadmap, with their wave and their phase.
pub(crate) fn take_out(
    ctx: &Context,
    typed: &[String],
    roadmap: Option<&str>,
) -> Result<Written<Placing>> {
    write(ctx, |snapshot, _| {
        let loaded = Loaded::of(ctx, snapshot, roadmap)?;
        let root = &loaded.root.id;
        let link = Link {
            kind: LinkKind::Parent,
            to: root.clone(),
        };
        let nowhere = Changes {
            wave: Some(None),
            phase: Some(None),
            milestone: None,
        };
        let parts = loaded.backlog.parts();
        let mut changed: Vec<(Issue, Vec<Change>)> = Vec::new();
        for typed in typed {
            let issue = require_understood(snapshot, typed)?;
            if !issue.links.contains(&link) {
                let (short, root) = (loaded.short(&issue.id), loaded.short(root));
                return Err(Failure::not_found(
                    Code::IssueLinkUnknown,
                    format!("{short} is no part of the roadmap {root} by itself"),
                )
                .help(command!("roadmap show {root}")));
            }
            let mut changes = vec![Change::Unlink(link.clone())];
            let (leaves, _) = issues_below(&parts, &issue.id);
            changes.extend(nowhere.of(&issue));
            push(&mut changed, issue, changes);
            for part in leaves {
                push(&mut changed, part.clone(), nowhere.of(part));
            }
        }
        Ok(Plan {
            what: format!("out of roadmap {}", loaded.short(root)),
            reason: None,
            steps: steps(changed),
            value: Placing {
                roadmap: root.clone(),
                wave: None,
                phase: None,
                milestone: None,
            },
        })
    })
}

/// The changes of the fields of each issue: nothing, another value, or no value.
struct Changes {
    wave: Option<Option<u32>>,
    phase: Option<Option<String>>,
    milestone: Option<Change>,
}

impl Changes {
    fn of(&self, issue: &Issue) -> Vec<Change> {
        let mut changes = Vec::new();
        let place = Place::of(issue);
        if let Some(wave) = &self.wave {
            let wanted = wave.map(|wave| label(WAVE, wave));
            let old = place.waves.iter().map(|wave| label(WAVE, wave));
            changes.extend(one_label(issue, old, wanted));
        }
        if let Some(phase) = &self.phase {
            let wanted = phase.as_ref().map(|phase| label(PHASE, phase));
            let old = place.phases.iter().map(|phase| label(PHASE, phase));
            changes.extend(one_label(issue, old, wanted));
        }
        if let Some(Change::Milestone(name)) = &self.milestone
            && (issue.milestone != *name || issue.apart_in("milestone").is_some())
        {
            changes.push(Change::Milestone(name.clone()));
        }
        changes
    }
}

/// The changes after which an issue has this label and none of the old ones.
fn one_label(
    issue: &Issue,
    old: impl Iterator<Item = String>,
    wanted: Option<String>,
) -> Vec<Change> {
    let gone = old.filter(|old| wanted.as_ref() != Some(old));
    let mut changes: Vec<Change> = gone.map(Change::Unlabel).collect();
    changes.extend(
        wanted
            .filter(|one| !issue.labels.contains(one))
            .map(Change::Label),
    );
    changes
}

/// Reads what was asked for against the roadmap.
fn asked(loaded: &Loaded, wanted: &Wanted) -> Result<(Placing, Changes)> {
    let wave = match wanted.wave.as_deref() {
        None => None,
        Some(NONE) => Some(None),
        Some(word) => Some(Some(wave(loaded, word)?)),
    };
    let phase = match wanted.phase.as_deref() {
        None => None,
        Some(NONE) => Some(None),
        Some(word) if is_phase(word) => Some(Some(word.to_owned())),
        Some(word) => {
            return Err(invalid(format!(
                "expected the number of a phase, as 2 or 2.1, found `{word}`"
            )));
        }
    };
    if let Some(Some(number)) = &phase
        && !loaded.document.phases.is_empty()
        && loaded.document.phase(number).is_none()
    {
        let known: Vec<&str> = loaded
            .document
            .phases
            .iter()
            .map(|one| one.number.as_str())
            .collect();
        return Err(invalid(format!(
            "the document of {} has no phase {number}: it has {}",
            loaded.short(&loaded.root.id),
            known.join(", ")
        )));
    }
    // A phase belongs to a milestone, and never the other way round.
    let of_phase = phase.as_ref().and_then(Option::as_ref);
    let of_phase = of_phase.and_then(|number| loaded.document.phase(number)?.milestone.clone());
    let milestone = match wanted.milestone.as_deref() {
        Some(NONE) => Some(None),
        Some(name) => Some(Some(name.to_owned())),
        None => of_phase.map(Some),
    };
    let placing = Placing {
        roadmap: loaded.root.id.clone(),
        wave: wave.flatten(),
        phase: phase.clone().flatten(),
        milestone: milestone.clone().flatten(),
    };
    Ok((
        placing,
        Changes {
            wave,
            phase,
            milestone: milestone.map(Change::Milestone),
        },
    ))
}

/// The wave that a word means in this roadmap.
fn wave(loaded: &Loaded, word: &str) -> Result<u32> {
    let layers = &loaded.cut.layers;
    let expected = if layers.is_empty() {
        "expected the number of a wave, from 1 on".to_owned()
    } else {
        format!(
            "expected the number of a wave, or one of {}",
            layers.join(", ")
        )
    };
    let found = loaded.cut.wave(word);
    let found = found.ok_or_else(|| invalid(format!("{expected}, found `{word}`")))?;
    let is_layer = loaded.cut.mode != Some(Mode::Progressive) || loaded.cut.layer(found).is_some();
    if is_layer && found <= MOST_WAVES {
        return Ok(found);
    }
    Err(invalid(format!("{expected}, found {found}")))
}

/// The last wave that can be named.
const MOST_WAVES: u32 = 9999;

fn invalid(message: String) -> Failure {
    Failure::usage(Code::IssueFieldInvalid, message).help(command!("help roadmap set"))
}

/// Adds changes to those that the issue has already.
fn push(changed: &mut Vec<(Issue, Vec<Change>)>, issue: Issue, changes: Vec<Change>) {
    match changed.iter_mut().find(|(one, _)| one.id == issue.id) {
        Some((_, more)) => {
            let fresh: Vec<Change> = changes
                .into_iter()
                .filter(|one| !more.contains(one))
                .collect();
            more.extend(fresh);
        }
        None => changed.push((issue, changes)),
    }
}

fn steps(changed: Vec<(Issue, Vec<Change>)>) -> Vec<Step> {
    let changed = changed
        .into_iter()
        .filter(|(_, changes)| !changes.is_empty());
    changed
        .map(|(issue, changes)| Step {
            id: issue.id.clone(),
            before: Some(issue),
            body: IssueEvent::Changed { changes }.into(),
            reason: None,
        })
        .collect()
}
