//! The checks of a session that no pass on the present tree stands for: what `run` alone runs.

use super::context::Context;
use super::transaction::{self, Facts, Needs, gather_here, require_active};
use super::trust;
use super::workcopy::WorkCopy;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_rules::artifact::Artifact;
use loopx_rules::checks::{Check, checks_due, checks_now};
use loopx_rules::gate::{self, AuditItem};
use loopx_rules::policy::Policy;
use loopx_rules::session::State;
use loopx_rules::stage::Stage;

/// The checks to run.
#[derive(Debug)]
pub(crate) struct Open {
    /// The checks, by the names that `run --task` takes, in their order.
    pub checks: Vec<String>,
    /// The number of checks that the session has.
    pub all: usize,
}

/// Refuses a list of tasks that stands closed in the working copy and is none: no check of it can be read, and none is
/// missing. What the file has is kept where it is taken back.
pub(super) fn require_list(ctx: &Context, state: &State, policy: &Policy) -> Result<()> {
    let texts = transaction::texts_here(ctx, state, policy)?;
    let Some(Err(fault)) = texts.list() else {
        return Ok(());
    };
    match WorkCopy::open(&ctx.repo, &state.id)? {
        Some(copy) => copy
            .check_open(Artifact::TaskList, state)
            .map_err(|locked| {
                let message = format!("{}: {}", locked.message, fault.message);
                Failure { message, ..locked }
            }),
        None => Ok(()),
    }
}

/// The checks without a fresh pass. Refused where there is none, and where nobody here agreed to run one of them and
/// `trust` does not say so now.
pub(crate) fn open(ctx: &Context, trust: bool) -> Result<Open> {
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let session = require_active(ctx.session_to_change(&snapshot)?)?;
    let facts = gather_here(ctx, &snapshot, &session, Needs::Code)?;
    let mut all = checks_now(&facts.texts, &facts.state, &facts.policy_checks);
    all.retain(|check| check.stage == Stage::Build);
    if all.is_empty() {
        return Err(Failure::usage(
            Code::CommandMissing,
            "expected a command after `--`: the session has no check of its own",
        )
        .help(command!("run -- COMMAND")));
    }
    let due = checks_due(&facts.texts, &facts.state, &facts.policy_checks);
    let audit = gate::audit(facts.view());
    let open: Vec<_> = audit
        .iter()
        .filter(|item| item.is_check() && !item.is_proven())
        .collect();
    let checks = to_run(&audit, &all);
    if let (true, Some(manual)) = (checks.is_empty(), open.first()) {
        let lead = super::next::of_session(ctx, &facts.state.id)?.into_hint();
        return Err(Failure::nothing(
            Code::ChecksFresh,
            format!("no command proves {}: a person has to look", manual.id),
        )
        .help(lead));
    }
    if checks.is_empty() {
        let fresh = Failure::nothing(Code::ChecksFresh, "every check has passed on this tree");
        let lead = super::next::of_session(ctx, &facts.state.id)?.into_hint();
        return Err(fresh.help(lead));
    }
    let meant = named(&checks, &all);
    let again = command!("run --all --trust");
    trust::require(
        ctx,
        (&snapshot, &session),
        &facts.policy,
        &meant,
        (trust, again),
    )?;
    Ok(Open {
        checks,
        all: due.len(),
    })
}

/// Checks that `run` alone runs, from facts.
pub(super) fn due(facts: &Facts<'_>) -> Vec<Check> {
    let mut all = checks_now(&facts.texts, &facts.state, &facts.policy_checks);
    all.retain(|check| check.stage == Stage::Build);
    let names = to_run(&gate::audit(facts.view()), &all);
    named(&names, &all)
}

/// Names of the checks that have no pass, and that a command proves.
fn to_run(audit: &[AuditItem], all: &[Check]) -> Vec<String> {
    let open = audit
        .iter()
        .filter(|item| item.is_check() && !item.is_proven() && !item.is_manual());
    let names: Vec<String> = open.map(|item| item.id.clone()).collect();
    without_repeated(&names, all)
}

/// The checks that have these names.
fn named(names: &[String], all: &[Check]) -> Vec<Check> {
    let is_meant = |check: &&Check| names.contains(&check.id);
    all.iter().filter(is_meant).cloned().collect()
}

/// Leaves out the checks of policy whose words another one runs already.
fn without_repeated(names: &[String], all: &[Check]) -> Vec<String> {
    let of_name = |name: &String| all.iter().find(|check| check.id == *name);
    let meant: Vec<&Check> = names.iter().filter_map(of_name).collect();
    let is_repeated = |name: &String| {
        let at = meant.iter().position(|check| check.id == *name);
        at.is_some_and(|at| {
            let mut before = meant[..at].iter();
            meant[at].is_of_policy() && before.any(|other| other.argv == meant[at].argv)
        })
    };
    let kept = names.iter().filter(|name| !is_repeated(name));
    kept.cloned().collect()
}
