//! The look at the bases of a delta: each has to be a text that the session's branch or its target has or had. A record
//! may name any text of any commit, and gates show what a delta changes on the text that stands now.

use super::context::Context;
use super::delta::{self, Target};
use super::upstream;
use loopx_base::failure::{Blocker, Code, Result};
use loopx_base::id::Oid;
use loopx_rules::op::RequirementBase;
use loopx_rules::policy::Policy;
use loopx_rules::session::State;
use loopx_rules::stage::Stage;
use std::collections::BTreeSet;

/// The finding about a delta that is recorded against a text which neither its branch nor its target has or had: what
/// the delta takes out of such a text, no reviewer is shown, and archive takes it out once the text has landed.
pub(super) fn find(
    ctx: &Context,
    state: &State,
    policy: &Policy,
    (ground, target): (&Target, &Target),
) -> Result<Option<Blocker>> {
    if !state.is_active() || state.stage == Stage::Done {
        return Ok(None);
    }
    let mut heads = None;
    let mut seen = BTreeSet::new();
    for base in &state.bases {
        let path = delta::spec_path(policy, &base.domain);
        let Some(blob) = &base.blob else { continue };
        // A session below this one stands in for the tree with a text of its own.
        if target.over.contains_key(&path)
            || ground.over.contains_key(&path)
            || !seen.insert((&base.domain, &base.commit, blob))
        {
            continue;
        }
        if [ground, target].into_iter().any(|now| {
            let stored = now.stored(ctx, &path);
            stored.is_ok_and(|stored| stored.as_ref() == Some(blob))
        }) {
            continue;
        }
        let heads = match &heads {
            Some(heads) => heads,
            None => heads.insert(heads_of(ctx, state, policy)?),
        };
        if !was_there(ctx, base, (&path, blob), heads)? {
            return Ok(Some(Blocker::new(
                Code::BaseForeign,
                format!(
                    "the delta is recorded against a text of {} that neither its branch nor its target has or had",
                    base.domain
                ),
                delta::anew(state),
            )));
        }
    }
    Ok(None)
}

/// The commits that a session works on and goes to, as far as they are here.
fn heads_of(ctx: &Context, state: &State, policy: &Policy) -> Result<Vec<Oid>> {
    let mut heads: Vec<Oid> = delta::target_tip(ctx, state)?.into_iter().collect();
    if let Some(target) = upstream::target_of(ctx, state, policy)? {
        heads.extend(target.tips);
    }
    Ok(heads)
}

/// Tells whether one of these commits has or had the text that a base names. What a shallow clone lacks may have been
/// there.
fn was_there(
    ctx: &Context,
    base: &RequirementBase,
    (path, blob): (&str, &Oid),
    heads: &[Oid],
) -> Result<bool> {
    let repo = &ctx.repo;
    let Some(commit) = &base.commit else {
        return Ok(false);
    };
    if !repo.contains(commit)? {
        return Ok(repo.is_shallow());
    }
    let entry = repo.entry_at(&repo.commit_info(commit)?.tree, path)?;
    if entry.map(|entry| entry.id).as_ref() != Some(blob) {
        return Ok(false);
    }
    for head in heads {
        if head == commit || repo.is_ancestor(commit, head)? {
            return Ok(true);
        }
    }
    Ok(false)
}
