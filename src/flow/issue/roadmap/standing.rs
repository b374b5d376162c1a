//! The place of a session in the roadmap of its issues: what a pipeline reads before it begins.

use crate::flow::context::Context;
use crate::flow::issue::{Names, all, today};
use loopx_base::failure::Result;
use loopx_rules::issue::{Backlog, Issue, IssueId, LinkKind};
use loopx_rules::roadmap::{Document, Place, Shape, phase_order, phase_said};
use loopx_rules::session::State;
use serde::Serialize;

/// The place of a session in a roadmap.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct InRoadmap {
    pub roadmap: IssueId,
    pub short: String,
    pub title: String,
    pub milestone: Option<String>,
    pub phase: Option<String>,
    pub wave: Option<u32>,
    /// The issues of the phase that are open, or of the wave where there are no phases.
    pub open: usize,
}

/// Finds the place of a session in a roadmap: by its first issue that is below a roadmap; else by the phase that
/// `intent` names, where one open roadmap has that phase.
pub(crate) fn standing(ctx: &Context, state: &State, intent: &str) -> Result<Option<InRoadmap>> {
    let Some(snapshot) = ctx.store()?.read()? else {
        return Ok(None);
    };
    let said = phase_said(intent);
    if state.issues.is_empty() && said.is_none() {
        return Ok(None);
    }
    let found = all(&snapshot)?;
    let names = Names::of_issues(&found);
    let backlog = Backlog::of(found.issues);
    let own = state.issues.iter().filter_map(|id| backlog.find(id));
    let mut by_issue = own.filter_map(|issue| Some((above(&backlog, issue)?, Some(issue))));
    let meant = match by_issue.next() {
        Some(meant) => Some(meant),
        None => {
            let open = backlog.issues.iter();
            let open = open.filter(|one| one.is_roadmap() && !one.status.is_final());
            let has = |root: &&Issue| {
                let shape = Shape::of(&backlog, &root.id, &today(ctx.now()));
                let mut phases = shape
                    .leaves
                    .iter()
                    .flat_map(|one| shape.place(&one.id).phases);
                said.as_ref()
                    .is_some_and(|said| phases.any(|phase| phase == *said))
            };
            let having: Vec<&Issue> = open.filter(has).collect();
            match having.as_slice() {
                [one] => Some((*one, None)),
                _ => None,
            }
        }
    };
    let Some((root, issue)) = meant else {
        return Ok(None);
    };
    let shape = Shape::of(&backlog, &root.id, &today(ctx.now()));
    let texts = snapshot.issue(&root.id)?.map(|read| read.texts);
    let document = Document::read(&texts.unwrap_or_default().description);
    let place = issue.map(Place::of).unwrap_or_default();
    // The words of the request come first, then the issue, then the first phase in which something is left.
    let phase = said
        .or_else(|| place.phase().map(str::to_owned))
        .or_else(|| first_open(&shape).filter(|_| issue.is_none_or(Issue::is_roadmap)));
    let of_phase = phase
        .as_ref()
        .and_then(|number| document.phase(number)?.milestone.clone());
    let open = shape.leaves.iter().filter(|one| {
        let its = shape.place(&one.id);
        let is_in = match &phase {
            Some(phase) => its.phases.contains(phase),
            None => its.wave() == place.wave(),
        };
        is_in && !one.status.is_final()
    });
    Ok(Some(InRoadmap {
        short: names.short(&root.id).to_owned(),
        title: root.title.clone(),
        milestone: of_phase.or_else(|| issue.and_then(|issue| issue.milestone.clone())),
        wave: place.wave(),
        open: open.count(),
        phase,
        roadmap: root.id.clone(),
    }))
}

/// The roadmap that an issue is below, or that it is.
fn above<'b>(backlog: &'b Backlog, issue: &'b Issue) -> Option<&'b Issue> {
    let mut at = issue;
    for _ in 0..backlog.issues.len() {
        if at.is_roadmap() {
            return Some(at);
        }
        at = backlog.find(at.linked(LinkKind::Parent).next()?)?;
    }
    None
}

fn first_open(shape: &Shape<'_>) -> Option<String> {
    let open = shape.leaves.iter().filter(|one| !one.status.is_final());
    let phases = open.flat_map(|one| shape.place(&one.id).phases);
    phases.min_by_key(|phase| phase_order(phase))
}
