//! What archiving would do: the merge's verdict, and where it goes.

use super::super::act::Facts;
use super::super::context::Context;
use super::super::coverage;
use super::super::delta::{self, Target};
use super::super::review;
use super::super::seat;
use super::super::spec::Verdict;
use super::landing::{Pending, adr_candidate};
use super::{Archived, SpecChange, Waivers};
use crate::core::failure::{Failure, Kind, Result};
use crate::core::gate;
use crate::core::id::{Oid, SessionId};
use crate::core::session::State;
use crate::core::spec::{Action, Severity};
use crate::git::Repo;
use crate::store::Snapshot;
use std::collections::BTreeMap;

/// The branch that a commit goes to, as it is now.
pub(super) struct Aim {
    pub(super) target: String,
    pub(super) target_ref: String,
    /// `None` where the branch has no commit yet.
    pub(super) tip: Option<Oid>,
    pub(super) tree: Option<Oid>,
}

/// The verdict of the merge, and where it goes.
pub(super) struct Plan {
    pub(super) aim: Aim,
    pub(super) specs: String,
    pub(super) verdict: Verdict,
    /// What goes in without proof, and why.
    pub(super) waived: Waivers,
}

pub(super) fn plan(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    facts: &Facts<'_>,
    onto: Option<&str>,
    waivers: &Waivers,
) -> Result<Plan> {
    let state = &facts.state;
    let mut blockers = gate::archive(facts.view());
    if blockers.is_empty()
        && let Some((delta, _)) = delta::read(&facts.texts)
    {
        blockers = delta::waits_for(snapshot, &delta)?;
    }
    let mut waived = Vec::new();
    if blockers.is_empty() {
        (blockers, waived) = coverage::judge(facts, waivers)?;
    }
    if let Some(first) = blockers.first() {
        let code = match first.code.as_str() {
            "archive_requires_done_session" => "archive_requires_done_session",
            "partial_scope_remaining" | "implemented_scope_mismatch" => "archive_scope_blocked",
            code if code.starts_with("completion_claim_") => "archive_scope_blocked",
            code if code.starts_with("scenario_") => "archive_unproven",
            code if code.starts_with("dependency_") => "archive_waits",
            _ => "archive_blocked",
        };
        let help = first.help.clone();
        return Err(Failure::refused(
            code,
            format!("session {} cannot be archived: {}", state.id, first.message),
        )
        .blockers(blockers)
        .help(help));
    }
    let unreviewed = review::unreviewed(ctx, state, &facts.policy)?;
    if let Some(blocker) = review::unreviewed_blocker(&unreviewed) {
        let help = blocker.help.clone();
        return Err(Failure::refused(
            "archive_unreviewed",
            format!(
                "session {} cannot be archived: {}",
                state.id, blocker.message
            ),
        )
        .blockers(vec![blocker])
        .help(help));
    }
    let aim = aim(ctx, state, onto)?;
    let onto = Target::of_tree(aim.tree.clone());
    let verdict = delta::judge(ctx, state, &facts.policy, &onto, &facts.texts)?.verdict;
    Ok(Plan {
        aim,
        specs: facts.policy.paths.specs.clone(),
        verdict,
        waived: Waivers {
            scenarios: waived,
            reason: waivers.reason.clone(),
        },
    })
}

/// The branch that is meant: the named one, or the one that the session is bound to.
pub(super) fn aim(ctx: &Context, state: &State, onto: Option<&str>) -> Result<Aim> {
    let target = match onto {
        Some(branch) => {
            Repo::check_branch_name(branch)?;
            branch.to_owned()
        }
        None => delta::target_branch(ctx, state)?.ok_or_else(|| {
            Failure::usage(
                "target_unknown",
                "the session is bound to no branch and HEAD is detached",
            )
            .help("git loopx archive --onto BRANCH")
        })?,
    };
    if target == ctx.store()?.branch() {
        return Err(Failure::usage(
            "target_invalid",
            format!("`{target}` keeps the sessions; specs belong on a code branch"),
        )
        .help("git loopx archive --onto BRANCH"));
    }
    let target_ref = format!("refs/heads/{target}");
    if ctx.repo.is_being_rebased(&target_ref) {
        return Err(Failure::refused(
            "target_busy",
            format!("`{target}` is being rebased; it would be moved under the rebase"),
        )
        .help("git rebase --continue  (or --abort), then: git loopx archive"));
    }
    let tip = ctx.repo.find_ref(&target_ref)?;
    let unborn_here = ctx.repo.head()?.branch.as_ref() == Some(&target);
    if tip.is_none() && !unborn_here {
        return Err(
            Failure::not_found("branch_unknown", format!("there is no branch `{target}`"))
                .help("git loopx archive --onto BRANCH"),
        );
    }
    let tree = match &tip {
        Some(tip) => Some(ctx.repo.commit_info(tip)?.tree),
        None => None,
    };
    Ok(Aim {
        target,
        target_ref,
        tip,
        tree,
    })
}

impl Plan {
    pub(super) fn path(&self, domain: &str) -> String {
        format!("{}/{domain}/spec.md", self.specs)
    }

    /// Errors first, then conflicts, under the archive's own codes.
    pub(super) fn refusal(&self) -> Option<Failure> {
        let mut failure = self.verdict.refusal()?;
        if failure.kind == Kind::Conflict {
            for blocker in &mut failure.blockers {
                blocker.code = "requirement_conflict".into();
                blocker.help = "git loopx archive  (writes the sides out)".into();
            }
            failure.code = "archive_conflict".into();
            failure.message = format!(
                "the delta and {} changed the same requirement; nothing was archived",
                self.aim.target
            );
        } else {
            failure.code = "archive_blocked".into();
        }
        Some(failure)
    }

    /// The files that change. `resolved` stands in for the domains that were in conflict.
    pub(super) fn changes(&self, resolved: &BTreeMap<String, String>) -> Vec<SpecChange> {
        let mut changes = Vec::new();
        for one in &self.verdict.domains {
            let domain = &one.outcome.domain;
            let after = match (resolved.get(domain), &one.outcome.action) {
                (Some(text), _) | (None, Action::Write(text)) => Some(text.clone()),
                (None, Action::Retire) => None,
                (None, Action::Keep) => continue,
            };
            if after != one.before {
                changes.push(SpecChange {
                    path: self.path(domain),
                    before: one.before.clone(),
                    after,
                });
            }
        }
        changes
    }

    pub(super) fn archived(
        &self,
        id: &SessionId,
        commit: Option<Oid>,
        changes: Vec<SpecChange>,
    ) -> Archived {
        let warnings = self
            .verdict
            .findings()
            .filter(|finding| finding.severity == Severity::Warning)
            .map(|finding| format!("{}:{}: {}", finding.file, finding.line, finding.message))
            .collect();
        Archived {
            id: id.clone(),
            target: self.aim.target.clone(),
            commit,
            changes,
            warnings,
            finished: false,
        }
    }

    /// The note of an archive that landed, made from its commit.
    pub(super) fn pending(
        &self,
        ctx: &Context,
        facts: &Facts<'_>,
        new: Oid,
        at: &str,
    ) -> Result<Pending> {
        let info = ctx.repo.commit_info(&new)?;
        let old = info.parents.first().cloned();
        let before = match &old {
            Some(old) => Some(ctx.repo.commit_info(old)?.tree),
            None => None,
        };
        let blob = |tree: Option<&Oid>, path: &str| -> Result<Option<Oid>> {
            let Some(tree) = tree else { return Ok(None) };
            Ok(ctx.repo.entry_at(tree, path)?.map(|entry| entry.id))
        };
        let mut paths = seat::Changes::new();
        for one in &self.verdict.domains {
            let path = self.path(&one.outcome.domain);
            let sides = (
                blob(before.as_ref(), &path)?,
                blob(Some(&info.tree), &path)?,
            );
            if sides.0 != sides.1 {
                paths.insert(path, sides);
            }
        }
        Ok(Pending {
            format: 1,
            id: facts.state.id.clone(),
            target: self.aim.target.clone(),
            old,
            new,
            paths,
            candidate: adr_candidate(&facts.state, &facts.texts, at),
            undo: false,
        })
    }

    /// The domains in conflict.
    pub(super) fn contested(&self) -> impl Iterator<Item = &str> {
        self.verdict
            .domains
            .iter()
            .filter(|one| !one.outcome.conflicts.is_empty())
            .map(|one| one.outcome.domain.as_str())
    }

    /// The blob of a domain's spec on the target branch.
    pub(super) fn blob(&self, ctx: &Context, domain: &str) -> Result<Option<Oid>> {
        match &self.aim.tree {
            Some(tree) => Ok(ctx
                .repo
                .entry_at(tree, &self.path(domain))?
                .map(|entry| entry.id)),
            None => Ok(None),
        }
    }
}
