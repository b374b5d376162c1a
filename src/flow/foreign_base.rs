//! The look at the bases of a delta: what a delta takes out of the text that it is recorded against has to stand in the
//! text that gates and reviewers are shown, or to have stood below it. A record may name any text of any commit, and what
//! a delta takes out of a text that nobody is shown would go once that text has landed.

use super::context::Context;
use super::delta::{self, Target, WHOLE};
use loopx_base::failure::{Blocker, Code, Result};
use loopx_base::id::Oid;
use loopx_git::run::Run;
use loopx_rules::op::RequirementBase;
use loopx_rules::policy::Policy;
use loopx_rules::session::State;
use loopx_rules::stage::Stage;
use loopx_spec::{Requirement, Spec, read_spec};
use std::collections::HashMap;

/// The finding about a delta that is recorded against a text which the session's branch neither shows nor had.
pub(super) fn find(
    ctx: &Context,
    state: &State,
    policy: &Policy,
    ground: &Target,
) -> Result<Option<Blocker>> {
    if !state.is_active() || state.stage == Stage::Done {
        return Ok(None);
    }
    let mut specs = Specs::default();
    let mut found_below: HashMap<(&str, &Oid), bool> = HashMap::new();
    for base in &state.bases {
        let path = delta::spec_path(policy, &base.domain);
        let Some(blob) = &base.blob else { continue };
        // What an open session below this one made of the spec once is in no commit.
        if ground.over.contains_key(&path) {
            continue;
        }
        if ground.stored(ctx, &path)?.as_ref() == Some(blob)
            || specs.agree(ctx, ground, base, (&path, blob))?
        {
            continue;
        }
        let is_below = match found_below.get(&(base.domain.as_str(), blob)) {
            Some(known) => *known,
            None => {
                let is_below = was_there(ctx, state, base, (&path, blob))?;
                found_below.insert((&base.domain, blob), is_below);
                is_below
            }
        };
        if !is_below {
            return Ok(Some(Blocker::new(
                Code::BaseForeign,
                format!(
                    "the delta is recorded against a text of {} that the session's branch neither has nor had",
                    base.domain
                ),
                delta::anew(state),
            )));
        }
    }
    Ok(None)
}

/// Specs that were read, by path and blob; the present ones by path alone.
#[derive(Default)]
struct Specs(HashMap<(String, Option<Oid>), Option<Spec>>);

impl Specs {
    /// Tells whether a base and the ground have the same text of what the base is recorded for.
    fn agree(
        &mut self,
        ctx: &Context,
        ground: &Target,
        base: &RequirementBase,
        (path, blob): (&str, &Oid),
    ) -> Result<bool> {
        let (was, now) = (
            (path.to_owned(), Some(blob.clone())),
            (path.to_owned(), None),
        );
        if !self.0.contains_key(&was) {
            let text = ctx.repo.read_blob(blob)?;
            self.0.insert(was.clone(), read_spec(&text, path).ok());
        }
        if !self.0.contains_key(&now) {
            let text = ground.bytes(ctx, path)?.unwrap_or_default();
            self.0.insert(now.clone(), read_spec(&text, path).ok());
        }
        let (Some(Some(was)), Some(Some(now))) = (self.0.get(&was), self.0.get(&now)) else {
            return Ok(false);
        };
        if base.requirement == WHOLE {
            let purpose = |spec: &Spec| spec.purpose.as_ref().map(|purpose| purpose.text.clone());
            return Ok(purpose(was) == purpose(now));
        }
        let of = |spec: &Spec| spec.requirement(&base.requirement).map(text_of);
        Ok(of(was) == of(now))
    }
}

/// The text of a requirement: its body, and its scenarios by name.
fn text_of(requirement: &Requirement) -> (String, Vec<(String, String)>) {
    let scenarios = requirement.scenarios.iter();
    let scenarios = scenarios.map(|one| (one.name.clone(), one.body.clone()));
    (requirement.body.clone(), scenarios.collect())
}

/// Tells whether the session's branch had a text at a path. What a shallow clone lacks may have been there.
fn was_there(
    ctx: &Context,
    state: &State,
    base: &RequirementBase,
    (path, blob): (&str, &Oid),
) -> Result<bool> {
    let repo = &ctx.repo;
    let Some(head) = delta::target_tip(ctx, state)? else {
        return Ok(false);
    };
    if let Some(commit) = &base.commit {
        if !repo.contains(commit)? && repo.is_shallow() {
            return Ok(true);
        }
        if repo.contains(commit)? && repo.is_ancestor(commit, &head)? {
            let entry = repo.entry_at(&repo.commit_info(commit)?.tree, path)?;
            if entry.map(|entry| entry.id).as_ref() == Some(blob) {
                return Ok(true);
            }
        }
    }
    // Whoever amends and rebases has the text by another commit.
    let found = Run::git(["--literal-pathspecs", "--git-dir"])
        .args([repo.git_dir()])
        .args(["log", "-1", "--format=%H", "--full-history", "-m"])
        .args([&format!("--find-object={blob}"), head.as_str(), "--", path])
        .capture()?
        .ok()?;
    Ok(!found.is_empty())
}
