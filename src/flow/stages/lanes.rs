//! Reports about a build while it goes on: lane reports, the delegation ledger, waivers.

use super::{Outcome, code_tree, in_build};
use crate::flow::context::Context;
use crate::flow::transaction::{Act, Done, Needs, act};
use crate::flow::{bound_here, lease};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{command, hint};
use loopx_rules::op::{Delegation, DelegationStatus, Event, Lane, LaneStatus};

/// Records the report of a build lane.
pub(crate) fn report_lane(
    ctx: &Context,
    lane: Lane,
    status: LaneStatus,
    summary: Option<String>,
    sign: bool,
) -> Result<Done<Outcome>> {
    let done = act(ctx, Needs::Code, |facts| {
        let owner = lease::owner(&ctx.repo, None)?;
        in_build(facts)?;
        bound_here::require_no_other(ctx, &facts.state)?;
        // The architect looks at it from outside, perhaps in another clone.
        let claim = match lane {
            Lane::Architect => None,
            Lane::Execution | Lane::Deslop => lease::hold(facts, &owner)?,
        };
        let event = Event::LaneReported {
            lane,
            status,
            summary: summary.clone().unwrap_or_default(),
            tree: code_tree(facts)?,
        };
        let what = format!("{lane} lane: {status}");
        Ok(Act::new(event, what, Outcome::recorded())
            .reason(summary.clone())
            .claim(claim)
            .word(sign))
    })?;
    lease::works(ctx);
    Ok(done)
}

/// Entry of the delegation ledger: work that was handed to somebody else.
#[derive(Clone, Debug)]
pub(crate) struct DelegationRequest {
    pub id: String,
    pub status: DelegationStatus,
    pub role: Option<String>,
    pub blocking: Option<bool>,
    pub summary: Option<String>,
    /// Wish to sign the record.
    pub sign: bool,
}

/// Opens, changes or closes an entry of the delegation ledger.
pub(crate) fn delegate(ctx: &Context, request: &DelegationRequest) -> Result<Done<Outcome>> {
    let done = act(ctx, Needs::Stage, |facts| {
        let owner = lease::owner(&ctx.repo, None)?;
        in_build(facts)?;
        let claim = lease::hold(facts, &owner)?;
        let known = facts
            .state
            .build
            .delegations
            .iter()
            .find(|d| d.id == request.id);
        let delegation = Delegation {
            id: request.id.clone(),
            status: request.status,
            role: request
                .role
                .clone()
                .or_else(|| known.map(|d| d.role.clone()))
                .unwrap_or_else(|| "worker".into()),
            blocking: request
                .blocking
                .or_else(|| known.map(|d| d.blocking))
                .unwrap_or(true),
            summary: request
                .summary
                .clone()
                .or_else(|| known.map(|d| d.summary.clone()))
                .unwrap_or_default(),
        };
        let what = format!("delegation {}: {}", request.id, request.status);
        Ok(
            Act::new(Event::Delegated { delegation }, what, Outcome::recorded())
                .reason(request.summary.clone())
                .claim(claim)
                .word(request.sign),
        )
    })?;
    lease::works(ctx);
    Ok(done)
}

/// A named person's word that a slice needs no evidence.
pub(crate) fn waive(
    ctx: &Context,
    task: &str,
    reason: Option<String>,
    sign: bool,
) -> Result<Done<Outcome>> {
    let reason = loopx_base::said(reason).ok_or_else(|| {
        Failure::usage(Code::ReasonRequired, "waiving evidence needs a reason")
            .help(command!("build --waive {task} --reason WHY"))
    })?;
    act(ctx, Needs::Stage, |facts| {
        in_build(facts)?;
        let slices = loopx_rules::change_pack::slices_of(&facts.texts).unwrap_or_default();
        let of_policy = facts.policy_checks.iter().map(|check| check.id.as_str());
        let ids = slices.iter().map(|slice| slice.id.as_str());
        let ids: Vec<&str> = ids.chain(of_policy).collect();
        if !ids.contains(&task) {
            return Err(Failure::not_found(
                Code::SliceUnknown,
                format!("no slice is named `{task}`; there are {}", ids.join(", ")),
            ));
        }
        facts.require_person("a waiver")?;
        if facts.policy.denies(facts.actor()?) {
            return Err(Failure::refused(
                Code::ApproverDenied,
                format!(
                    "policy does not let {} waive (approve.deny in loopx.toml)",
                    facts.actor()?
                ),
            )
            .help(hint![
                "ask somebody else to run: ",
                command!("build --waive {task} --reason WHY")
            ]));
        }
        let event = Event::Waived {
            task: task.to_owned(),
        };
        Ok(
            Act::new(event, format!("waive {task}"), Outcome::recorded())
                .reason(Some(reason.clone()))
                .word(sign),
        )
    })
}
