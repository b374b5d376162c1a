//! `approve`: the human gate. It arms a transition once; only review->done moves the stage.

use super::context::Context;
use super::outline::{self, Question};
use super::transaction::{Act, Done, Facts, Needs, act};
use super::{bound_here, coverage, delta, finish, next};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{command, hint};
use loopx_base::id::{OpId, Person};
use loopx_git::{Entry, Repo};
use loopx_rules::artifact::Artifact;
use loopx_rules::change_pack;
use loopx_rules::gate;
use loopx_rules::op::{Event, Operation};
use loopx_rules::replay::undone;
use loopx_rules::session::State;
use loopx_rules::stage::{Stage, Transition};
use serde::Serialize;
use std::collections::BTreeMap;

/// The result of an approval.
#[derive(Debug)]
pub(crate) struct Approved {
    pub transition: Transition,
    /// The number of people who have approved this content; `required` is the number that policy asks for.
    pub people: usize,
    pub required: usize,
    /// review->done: the session moved.
    pub completed: bool,
    /// plan->build: scenarios that archive will ask proof of and that no slice names.
    pub unserved: Vec<String>,
    /// The items that are to name those scenarios, and the file that the items stand in.
    pub checked_by: (&'static str, Artifact),
    /// An earlier approval of the same content, given before the session went back to this stage.
    pub before: Option<Before>,
    /// Questions about the plan that nobody has answered.
    pub questions: Vec<Question>,
}

/// An approval of the same content that was given before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Before {
    pub op: OpId,
    pub seq: u64,
    pub by: Person,
    pub at: String,
}

/// Approves the move from the present stage to `to`, or the one that leads on, signed where that is asked for.
pub(crate) fn approve(
    ctx: &Context,
    ends: Ends,
    reason: Option<String>,
    sign: bool,
) -> Result<Done<Approved>> {
    let mut done = act(ctx, Needs::Stage, |facts| {
        let transition = meant(facts, ends)?;
        if transition == Transition::BuildToReview {
            bound_here::require_no_other(ctx, &facts.state)?;
            require_code(ctx, facts, reason.as_deref())?;
        }
        if transition == Transition::PlanToBuild && reason.is_none() {
            require_served(facts)?;
        }
        decide(&ctx.repo, facts, transition, reason.clone(), sign)
    })?;
    // The stage was entered before: the word may be the same once more.
    if done.state.plan.run > 1 && done.value.transition == Transition::PlanToBuild {
        // It is given by now, whatever keeps this from being known.
        let before = approved_before(ctx, &done.state, done.value.transition);
        done.value.before = before.unwrap_or_default();
    }
    // The word is given, whatever keeps this from being known.
    done.value.questions = outline::left_open(ctx, &done.id).unwrap_or_default();
    Ok(done)
}

/// Refuses a review of a build in which no file differs, and nobody says why, where branches are protected: nothing could
/// land by it.
fn require_code(ctx: &Context, facts: &Facts<'_>, reason: Option<&str>) -> Result<()> {
    let is_open = facts.policy.gates.protected.is_empty();
    if is_open
        || reason.is_some()
        || !gate::blockers(facts.view(), Transition::BuildToReview).is_empty()
    {
        return Ok(());
    }
    if !next::is_empty(ctx, facts)? {
        return Ok(());
    }
    let again = if facts.policy.asks_signature(Transition::BuildToReview) {
        command!("approve --to review --reason WHY --sign")
    } else {
        command!("approve --to review --reason WHY")
    };
    Err(finish::no_code(again))
}

/// Refuses a plan that serves not every scenario of the delta, where nobody says why: the archive would refuse it, when no
/// plan can be changed any more.
fn require_served(facts: &Facts<'_>) -> Result<()> {
    let (view, way) = (facts.view(), Transition::PlanToBuild);
    let Some(unserved) = gate::unserved(view).filter(|_| gate::blockers(view, way).is_empty())
    else {
        return Ok(());
    };
    let sign = if facts.policy.asks_signature(way) {
        " --sign"
    } else {
        ""
    };
    let waived = command!("approve --to build --reason WHY{sign}");
    let help = hint![
        unserved.help,
        "  (where a person will waive it at the archive: ",
        waived.because("the scenario is looked at by hand"),
        ")"
    ];
    Err(Failure::refused(unserved.code, unserved.message).help(help))
}

/// The record by which the content that is approved now was approved before the session went back to that stage. An
/// approval is about content, and may be given to the same twice; whoever gives it hears of that.
fn approved_before(ctx: &Context, state: &State, transition: Transition) -> Result<Option<Before>> {
    let Some(now) = state.armed(transition) else {
        return Ok(None);
    };
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let Some(session) = snapshot.session(&state.id)? else {
        return Ok(None);
    };
    let operations = snapshot.operations(&session)?;
    let undone = undone(&operations);
    let is_same = |op: &&Operation| {
        let is_now = now.by.iter().any(|by| by.op == op.op);
        !is_now
            && !undone.contains(&op.op)
            && matches!(op.event(), Some(Event::Approved { transition: of, content, .. }) if *of == transition && *content == now.content)
    };
    let found = operations.iter().rev().find(is_same);
    Ok(found.map(|op| Before {
        op: op.op.clone(),
        seq: op.seq,
        by: op.by.clone(),
        at: op.at.clone(),
    }))
}

/// The stages that an approval was asked for with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ends {
    /// The stage that the session must be in.
    pub from: Option<Stage>,
    /// The stage that the session goes to; where none is said, the stage that the present one leads to.
    pub to: Option<Stage>,
}

/// The move that is meant.
pub(super) fn meant(facts: &Facts<'_>, ends: Ends) -> Result<Transition> {
    let stage = facts.state.stage;
    let view = facts.view();
    let Ends { from, to } = ends;
    if let Some(from) = from.filter(|from| *from != stage) {
        return Err(Failure::refused(
            Code::ApprovalFromStageMismatch,
            format!("expected stage {from}, the session is in stage {stage}"),
        )
        .help(command!("status")));
    }
    let found = match to {
        Some(to) => Transition::between(stage, to),
        None => Transition::forward(stage),
    };
    let found = found.ok_or_else(|| {
        let to = to.map_or_else(String::new, |to| format!("{stage}->{to} is no transition"));
        let ways: Vec<String> = Transition::ALL
            .into_iter()
            .filter(|t| t.from() == stage && t.is_approved())
            .map(|t| t.to().to_string())
            .collect();
        Failure::refused(
            Code::InvalidTransition,
            match (to.as_str(), ways.is_empty()) {
                ("", _) => format!("from stage {stage} only `archive` leads on"),
                (to, true) => format!("{to}: from stage {stage} only `archive` leads on"),
                (to, false) => {
                    format!("{to}; from {stage} a session goes to {}", ways.join(", "))
                }
            },
        )
        .help(gate::next_action(view))
    })?;
    if !found.is_approved() {
        return Err(Failure::refused(
            Code::InvalidTransition,
            format!("{found} needs no approval"),
        )
        .help(if view.profile().has(found) {
            found.command()
        } else {
            gate::next_action(view)
        }));
    }
    Ok(found)
}

fn decide(
    repo: &Repo,
    facts: &Facts<'_>,
    transition: Transition,
    reason: Option<String>,
    sign: bool,
) -> Result<Act<Approved>> {
    let state = &facts.state;
    let view = facts.view();
    let blockers = gate::blockers(view, transition);
    if !blockers.is_empty() {
        return Err(gate::not_ready(transition, blockers));
    }
    facts.require_person("an approval")?;
    let who = repo.canonical(facts.actor()?)?;
    let required = facts.policy.required(transition);
    let mut people = 1;
    let fresh = state
        .armed(transition)
        .filter(|approval| gate::changed_since(approval, view).is_empty());
    if let Some(approval) = fresh {
        let credentials = &facts.credentials;
        let weighed = credentials.weigh(&facts.policy, transition, &approval.by);
        let counted = |by: &&gate::Weighed<'_>| by.refused.is_none();
        if weighed
            .iter()
            .filter(counted)
            .any(|weighed| weighed.by.signed.by.is_same(&who))
        {
            return Err(Failure::nothing(
                Code::ApprovedAlready,
                format!("{who} has approved {transition} with this content"),
            )
            .help(if credentials.people(&weighed) >= required {
                transition.command()
            } else {
                hint![
                    "ask another person to run: ",
                    facts.policy.approve_command(transition)
                ]
            }));
        }
        people += credentials.people(&weighed);
    }
    let act = arm(repo, facts, transition, people, required)?;
    Ok(act.reason(reason).word(sign))
}

fn arm(
    repo: &Repo,
    facts: &Facts<'_>,
    transition: Transition,
    people: usize,
    required: usize,
) -> Result<Act<Approved>> {
    let files = gate::covered_files(&facts.state, transition);
    // What this command saves is only hashed so far, and a tree can name written blobs alone.
    for artifact in &facts.saved {
        if let Some(text) = facts.texts.get(artifact) {
            repo.write_blob(text.as_bytes())?;
        }
    }
    let tree: BTreeMap<String, Option<Entry>> = files
        .iter()
        .map(|(artifact, blob)| (artifact.path().to_owned(), Some(Entry::blob(blob.clone()))))
        .collect();
    let content = repo.edit_tree(None, &tree)?;
    repo.take_along(&content);
    let code = gate::covers_code(transition)
        .then(|| facts.code.as_ref().map(|code| code.tree.clone()))
        .flatten();
    let completed = transition == Transition::ReviewToDone && people >= required;
    let event = Event::Approved {
        transition,
        content,
        files,
        code,
        completes: completed,
        head: None,
        amends: None,
    };
    let value = Approved {
        transition,
        people,
        required,
        completed,
        unserved: match (transition, delta::read(&facts.texts)) {
            (Transition::PlanToBuild, Some((delta, _))) => {
                coverage::unserved(&facts.policy, &facts.texts, &delta)
            }
            _ => Vec::new(),
        },
        checked_by: change_pack::checked_by(&facts.texts),
        before: None,
        questions: Vec::new(),
    };
    let what = format!("approve {} -> {}", transition.from(), transition.to());
    Ok(Act::new(event, what, value))
}
