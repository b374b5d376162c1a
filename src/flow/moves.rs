//! The moves of a session between its stages, each judged once more by a policy and a profile: what a landing, or a
//! profile that the session gets, can rest on.

use super::context::Context;
use super::transaction::read_texts;
use super::verify::policy_at;
use loopx_base::failure::{Blocker, Result};
use loopx_base::id::Oid;
use loopx_base::working_tree::ReviewedCode;
use loopx_rules::gate::{
    CodeFacts, Credentials, DeltaFacts, ReadSections, View, asking_nothing, lacking,
};
use loopx_rules::op::Operation;
use loopx_rules::policy::Policy;
use loopx_rules::profile::{Profile, ProfileName};
use loopx_rules::range_rules::approvals::{Used, before};
use loopx_rules::session::State;
use loopx_rules::stage::Transition;
use loopx_rules::texts::Texts;
use loopx_store::Lines;
use std::cell::OnceCell;
use std::collections::BTreeMap;

/// The moves of one session.
pub(super) struct Moves<'m> {
    ctx: &'m Context,
    state: &'m State,
    operations: &'m [Operation],
    /// The states that the gates judged, read once somebody asks.
    before: OnceCell<BTreeMap<Transition, State>>,
}

impl<'m> Moves<'m> {
    pub(super) fn new(ctx: &'m Context, state: &'m State, operations: &'m [Operation]) -> Self {
        Moves {
            ctx,
            state,
            operations,
            before: OnceCell::new(),
        }
    }

    /// The blockers that a move was made past: this policy has them in this profile. A profile that the policy does not
    /// have is the one that the move was made in.
    pub(super) fn lacking(
        &self,
        used: &Used,
        policy: &Policy,
        profile: Option<&ProfileName>,
        credentials: &Credentials,
    ) -> Result<Vec<Blocker>> {
        let then = self.policy_of(used, policy)?;
        if then.as_ref() == Some(policy) && profile == Some(&used.profile) {
            return Ok(Vec::new());
        }
        let Some(state) = self.before()?.get(&used.transition) else {
            return Ok(Vec::new());
        };
        let mut texts = Texts::default();
        read_texts(&self.ctx.repo, state, &mut texts)?;
        let code = used.approval.code.as_ref().map(|tree| CodeFacts {
            head: None,
            tree: tree.clone(),
            is_dirty: false,
            uncommitted: Vec::new(),
            reviewed: ReviewedCode::default(),
        });
        let (then, made_as) = match then {
            Some(then) => {
                let made_as = then.profiles.get(&used.profile);
                (then, made_as.unwrap_or_else(|_| Profile::empty()))
            }
            None => asking_nothing(policy),
        };
        let statements = super::intent::statements(&self.ctx.repo, state)?;
        let delta = DeltaFacts::default();
        let asked = match profile {
            Some(profile) => policy.profiles.get(profile)?,
            None => made_as.clone(),
        };
        let made = ReadSections::of_profile(made_as);
        let asked = ReadSections::of_profile(asked);
        let view = |policy, read| View {
            state,
            texts: &texts,
            policy,
            code: code.as_ref(),
            delta: &delta,
            credentials,
            policy_checks: &[],
            demand: None,
            shared: &[],
            base_missing: None,
            context: &[],
            statements: &statements,
            read,
            worktree: None,
        };
        Ok(lacking(
            view(&then, &made),
            view(policy, &asked),
            used.transition,
        ))
    }

    fn before(&self) -> Result<&BTreeMap<Transition, State>> {
        if let Some(known) = self.before.get() {
            return Ok(known);
        }
        let lines = Lines::of(&self.ctx.repo);
        let found = before(&self.state.id, self.operations, &lines)?;
        Ok(self.before.get_or_init(|| found))
    }

    /// The policy that the gate of a move asked, with the keys that count now; nothing where nobody has it.
    fn policy_of(&self, used: &Used, now: &Policy) -> Result<Option<Policy>> {
        let base: Option<&Oid> = used.base.as_ref();
        if let Some(base) = base
            && !self.ctx.repo.contains(base)?
        {
            return Ok(None);
        }
        // A policy that cannot be read held every gate, so nothing was asked by it.
        Ok(policy_at(self.ctx, base).ok().map(|mut policy| {
            policy.trust = now.trust.clone();
            policy
        }))
    }
}
