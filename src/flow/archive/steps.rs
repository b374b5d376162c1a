//! Several sessions as steps of one run: their order, their one target, and each judged on what those
//! before it make of the specs. Nothing is written here.

use super::super::context::Context;
use super::super::coverage;
use super::super::delta;
use super::super::effective_target;
use super::super::transaction::{Facts, Needs, gather};
use super::super::workcopy::WorkCopy;
use super::contest::Contest;
use super::landing::landed_before;
use super::plan::{Before, Plan, plan, way};
use super::{Archived, SpecChange, Waivers};
use loopx_base::failure::{Blocker, Code, Failure, Kind, Result};
use loopx_base::hint::{command, hint};
use loopx_base::id::{Oid, SessionId};
use loopx_git::Identity;
use loopx_rules::depends;
use loopx_rules::stage::Stage;
use loopx_spec::fold;
use loopx_store::{Session, Snapshot};
use std::collections::BTreeMap;

/// The options that hold for all sessions of one run.
pub(super) struct Asked<'a> {
    pub(super) onto: Option<&'a str>,
    pub(super) waivers: &'a Waivers,
    pub(super) identity: Option<&'a Identity>,
    /// The conflict that was resolved, where one session is continued.
    pub(super) contest: Option<&'a Contest>,
    /// Set when only one session was named: its conflict is for a person to resolve.
    pub(super) alone: bool,
}

/// A session, judged.
pub(super) struct Step<'a> {
    pub(super) facts: Facts<'a>,
    pub(super) plan: Plan,
    pub(super) changes: Vec<SpecChange>,
    /// The commit of an earlier run whose note is lost.
    pub(super) landed: Option<Oid>,
}

impl Step<'_> {
    pub(super) fn archived(&self, commit: Option<Oid>) -> Archived {
        let id = self.facts.state.id.clone();
        let target = self.plan.aim.target.clone();
        let mut archived = Archived::new(id, target, commit.or_else(|| self.landed.clone()));
        archived.changes.clone_from(&self.changes);
        archived.warnings = self.plan.warnings();
        archived
    }
}

pub(super) enum Judged<'a> {
    Clean(Vec<Step<'a>>),
    /// A conflict of the only session.
    SpecConflict(Box<Step<'a>>, Failure),
}

/// Judges the sessions in the order in which they have to go.
pub(super) fn steps<'a>(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    sessions: &[Session],
    asked: &Asked<'a>,
) -> Result<Judged<'a>> {
    let all = in_order(ctx, gathered(ctx, snapshot, sessions, asked)?, asked)?;
    let mut waivers = split_waivers(&all, asked)?;
    let mut before = Before::default();
    let mut steps: Vec<Step<'a>> = Vec::new();
    for (session, facts) in all {
        let id = facts.state.id.clone();
        let waived = waivers.remove(&id).unwrap_or_default();
        let plan = plan(ctx, snapshot, &facts, asked.onto, &before, &waived)?;
        let landed = landed_before(ctx, session, &plan)?;
        let refusal = match (&landed, asked.contest) {
            (Some(_), _) | (None, Some(_)) => None,
            (None, None) => plan.refusal(),
        };
        let mut step = Step {
            facts,
            plan,
            changes: Vec::new(),
            landed,
        };
        if let Some(failure) = refusal {
            return if asked.alone {
                Ok(Judged::SpecConflict(Box::new(step), failure))
            } else {
                Err(among_others(failure, &id, &step.plan, &before.ids))
            };
        }
        if step.landed.is_none() {
            let texts = match asked.contest {
                Some(contest) => resolved(ctx, &step, contest)?,
                None => BTreeMap::new(),
            };
            step.changes = step.plan.changes(&texts);
            if !step.changes.is_empty() {
                step.changes.extend(step.plan.fragment_change(ctx)?);
            }
        }
        for change in &step.changes {
            let after = change.after.clone();
            before.made.insert(change.path.clone(), after);
        }
        before.ids.push(id);
        steps.push(step);
    }
    Ok(Judged::Clean(steps))
}

/// The specs as they were resolved, by path.
fn resolved(
    ctx: &Context,
    step: &Step<'_>,
    contest: &Contest,
) -> Result<BTreeMap<String, Option<String>>> {
    let (state, plan) = (&step.facts.state, &step.plan);
    let fights = plan.fights(ctx)?;
    contest.require_same(&state.id, &plan.aim.target, &way(state), &fights)?;
    match plan.refusal() {
        Some(failure) if failure.kind != Kind::Conflict => Err(failure),
        _ => contest.texts(ctx, &state.id, &fights),
    }
}

type Gathered<'s, 'a> = (&'s Session, Facts<'a>);

fn gathered<'s, 'a>(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    sessions: &'s [Session],
    asked: &Asked<'a>,
) -> Result<Vec<Gathered<'s, 'a>>> {
    sessions
        .iter()
        .map(|session| {
            // In any other stage an edit could be merged into the working copy; there the gate refuses.
            let (mut copy, needs) = match session.state.stage {
                Stage::Done => {
                    let copy = WorkCopy::open(&ctx.repo, &session.state.id)?;
                    (copy, Needs::Unjudged)
                }
                _ => (None, Needs::Stage),
            };
            let facts = gather(ctx, snapshot, session, copy.as_mut(), needs, asked.identity)?;
            Ok((session, facts))
        })
        .collect()
}

/// Puts who is waited for first. Refuses a circle, and targets that differ.
fn in_order<'s, 'a>(
    ctx: &Context,
    all: Vec<Gathered<'s, 'a>>,
    asked: &Asked<'_>,
) -> Result<Vec<Gathered<'s, 'a>>> {
    let mut waiting = Vec::new();
    let mut targets: BTreeMap<Option<String>, Vec<&str>> = BTreeMap::new();
    for (_, facts) in &all {
        let needs = match delta::read(&facts.texts) {
            Some((delta, _)) => effective_target::needs(&delta)?,
            None => Vec::new(),
        };
        waiting.push((facts.state.id.clone(), needs));
        let target = delta::target_branch(ctx, &facts.state)?;
        let ids = targets.entry(target).or_default();
        ids.push(facts.state.id.as_str());
    }
    if asked.onto.is_none() && targets.len() > 1 {
        let named: Vec<String> = targets
            .iter()
            .map(|(target, ids)| {
                let target = target.as_deref().unwrap_or("no branch");
                format!("{} on {target}", ids.join(", "))
            })
            .collect();
        let ids: Vec<&str> = waiting.iter().map(|(id, _)| id.as_str()).collect();
        return Err(Failure::refused(
            Code::TargetsDiffer,
            format!(
                "sessions that are archived together go to one branch; these are bound to several: {}",
                named.join("; ")
            ),
        )
        .help(match targets.keys().flatten().next() {
            Some(target) => command!("archive {} --onto {target}", ids.join(" ")),
            None => "name the branch with --onto".into(),
        }));
    }
    let order = depends::order(&waiting).map_err(|cycle| {
        let cycle: Vec<&str> = cycle.iter().map(SessionId::as_str).collect();
        let first = cycle.first().copied().unwrap_or_default();
        Failure::refused(
            Code::DependencyCycle,
            format!("the sessions wait for each other: {}", cycle.join(" -> ")),
        )
        .help(hint![
            command!("undo").session(first),
            ", then: ",
            command!("review --verdict request-changes --target plan --reason WHY").session(first)
        ])
    })?;
    let mut slots: Vec<Option<Gathered<'s, 'a>>> = all.into_iter().map(Some).collect();
    Ok(order
        .into_iter()
        .filter_map(|at| slots[at].take())
        .collect())
}

/// Gives each session the waivers of its own scenarios. One that is nobody's is a slip.
fn split_waivers(
    all: &[Gathered<'_, '_>],
    asked: &Asked<'_>,
) -> Result<BTreeMap<SessionId, Waivers>> {
    let mut split: BTreeMap<SessionId, Waivers> = BTreeMap::new();
    if let [(_, only)] = all {
        split.insert(only.state.id.clone(), asked.waivers.clone());
        return Ok(split);
    }
    for name in &asked.waivers.scenarios {
        let mut used = false;
        for (_, facts) in all {
            let mut names = coverage::names(facts).into_iter();
            if names.any(|own| fold(&own) == fold(name)) {
                used = true;
                let waivers = split.entry(facts.state.id.clone()).or_default();
                waivers.scenarios.push(name.clone());
                waivers.reason.clone_from(&asked.waivers.reason);
                waivers.sign = asked.waivers.sign;
            }
        }
        if !used {
            return Err(Failure::usage(
                Code::WaiverUnused,
                format!("no session writes a scenario `{name}`"),
            )
            .help(command!("spec coverage").session("ID")));
        }
    }
    Ok(split)
}

/// A refusal of one among several: which one, and how its conflict can be resolved by itself.
fn among_others(
    mut failure: Failure,
    id: &SessionId,
    plan: &Plan,
    before: &[SessionId],
) -> Failure {
    let target = &plan.aim.target;
    let alone = command!("archive {id} --onto {target}")
        .note("(writes both sides of the conflict to files)");
    if failure.kind == Kind::Conflict {
        for blocker in &mut failure.blockers {
            *blocker = Blocker {
                help: alone.clone(),
                ..blocker.clone()
            };
        }
        let names: Vec<&str> = before.iter().map(SessionId::as_str).collect();
        failure.message = format!(
            "the delta of {id} and {} changed the same requirement; nothing was archived",
            match names.as_slice() {
                [] => target.clone(),
                names => format!("{target} with {}", names.join(", ")),
            }
        );
        failure.help = Some(match names.as_slice() {
            [] => alone,
            names => hint![
                command!("archive {} --onto {target}", names.join(" ")),
                ", then: ",
                alone
            ],
        });
        return failure;
    }
    failure.context(format!("session {id}"))
}
