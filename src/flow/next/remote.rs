//! The remote as this clone last saw it: what is ahead, behind, not pushed, and not fetched.

use crate::flow::context::Context;
use crate::flow::landed::{found, landed};
use crate::flow::transaction::Facts;
use loopx_base::failure::Result;
use loopx_base::id::Oid;
use loopx_base::working_tree::ReviewedCode;
use loopx_git::Repo;
use loopx_rules::next::{Behind, Distance, Standpoint, Unfetched, Unpushed};
use loopx_rules::op::Event;
use loopx_rules::session::{Ending, State};
use loopx_rules::stage::{Stage, Transition};
use loopx_store::{Session, Snapshot};

/// The commits that the branch here lacks of its upstream as it was last seen, where the stage is about code.
pub(super) fn behind(ctx: &Context, state: &State) -> Result<Option<Behind>> {
    let is_about_code = matches!(state.stage, Stage::Build | Stage::Review) && state.is_active();
    let Some(branch) = state.branch.as_ref().filter(|_| is_about_code) else {
        return Ok(None);
    };
    if ctx.repo.work_dir().is_none() || ctx.head()?.branch.as_ref() != Some(branch) {
        return Ok(None);
    }
    let config = |key: &str| ctx.repo.config(&format!("branch.{branch}.{key}"));
    let (Some(remote), Some(merge)) = (config("remote"), config("merge")) else {
        return Ok(None);
    };
    let Some(name) = merge.strip_prefix("refs/heads/") else {
        return Ok(None);
    };
    let (Some(there), Some(here)) = (
        ctx.repo.find_ref(&Repo::tracking_ref(&remote, name))?,
        ctx.head()?.commit,
    ) else {
        return Ok(None);
    };
    if there == here || !ctx.repo.is_ancestor(&here, &there)? {
        return Ok(None);
    }
    let commits = ctx.repo.range(&there, std::slice::from_ref(&here), MANY)?;
    Ok(Some(Behind {
        branch: branch.clone(),
        upstream: format!("{remote}/{name}"),
        commits: commits.len(),
        tip: there,
    }))
}

/// The commit that the branch here has to go on to before anything else.
pub(super) fn newer(facts: &Facts<'_>, behind: Option<&Behind>) -> Option<Oid> {
    let code = facts.code.as_ref();
    match (behind, code.map(|code| &code.reviewed)) {
        (Some(behind), _) => Some(behind.tip.clone()),
        (None, Some(ReviewedCode::Ahead(commit))) => Some(commit.clone()),
        _ => None,
    }
}

/// The distance of the branch of the sessions from what was last seen of the remote's. Asks no network.
pub(in crate::flow) fn distance(ctx: &Context) -> Result<Option<Distance>> {
    let store = ctx.store()?;
    let Some(tip) = store.tip()? else {
        return Ok(None);
    };
    let configured = ctx.repo.config("loopx.remote");
    let remote = match configured {
        Some(remote) => Some(remote),
        None => ctx.repo.default_remote(None)?,
    };
    let Some(remote) = remote else {
        return Ok(None);
    };
    let branch = store.branch().to_owned();
    let there = ctx.repo.find_ref(&Repo::tracking_ref(&remote, &branch))?;
    let (ahead, behind) = match &there {
        Some(there) if *there == tip => (0, 0),
        Some(there) => (
            ctx.repo
                .range(&tip, std::slice::from_ref(there), MANY)?
                .len(),
            ctx.repo
                .range(there, std::slice::from_ref(&tip), MANY)?
                .len(),
        ),
        None => (ctx.repo.range(&tip, &[], MANY)?.len(), 0),
    };
    Ok(Some(Distance {
        remote,
        branch,
        ahead,
        behind,
        is_known: there.is_some(),
    }))
}

/// Commits that are counted; of more than that it is enough to know that they are many.
const MANY: usize = 1000;

/// The remote that the code under review is fetched from, where no object of this clone is its tree.
pub(super) fn unfetched(ctx: &Context, state: &State) -> Result<Option<Unfetched>> {
    if let Some(Ending::Archived {
        commit: Some(archive),
        target,
        ..
    }) = &state.ending
    {
        return unfetched_archive(ctx, state, (archive, target));
    }
    if !state.is_active() || state.stage != Stage::Review {
        return Ok(None);
    }
    let Some(branch) = &state.branch else {
        return Ok(None);
    };
    let approved = state.approvals.get(&Transition::BuildToReview.key());
    let approved = approved.and_then(|approval| {
        let by = approval.by.last().map(|by| &by.signed.by);
        approval.code.as_ref().map(|tree| (tree, by))
    });
    let verdict = state.verdict.as_ref();
    let verdict = verdict.map(|verdict| (&verdict.value.tree, Some(&verdict.signed.by)));
    let Some((tree, by)) = verdict.or(approved) else {
        return Ok(None);
    };
    if ctx.repo.contains(tree)? {
        return Ok(None);
    }
    let me = ctx.reader().map(|reader| &reader.author);
    let is_own = me.is_some_and(|me| by.is_some_and(|by| by.is_same(me)));
    let remote = ctx.repo.default_remote(Some(branch))?;
    Ok(remote.map(|remote| Unfetched { remote, is_own }))
}

/// The remote of a branch that is here, where the archive on it is not.
fn unfetched_archive(
    ctx: &Context,
    state: &State,
    (archive, target): (&Oid, &str),
) -> Result<Option<Unfetched>> {
    let is_here = ctx
        .repo
        .find_ref(&format!("refs/heads/{target}"))?
        .is_some();
    if !is_here || state.branch.as_deref() != Some(target) || ctx.repo.contains(archive)? {
        return Ok(None);
    }
    let remote = ctx.repo.default_remote(Some(target))?;
    Ok(remote.map(|remote| Unfetched {
        remote,
        is_own: false,
    }))
}

/// The branch that an archive went to, or that is under review, where its remote has not got the newest of it.
pub(super) fn unpushed(
    ctx: &Context,
    at: (&Snapshot<'_>, &Session),
    facts: &Facts<'_>,
) -> Result<Option<Unpushed>> {
    let state = &facts.state;
    let (target, archive) = match &state.ending {
        Some(Ending::Archived { target, commit, .. }) => (target, commit.as_ref()),
        None if state.stage == Stage::Review => match &state.branch {
            Some(branch) => (branch, None),
            None => return Ok(None),
        },
        _ => return Ok(None),
    };
    let Some(remote) = ctx.repo.default_remote(Some(target))? else {
        return Ok(None);
    };
    let Some(tip) = ctx.repo.find_ref(&format!("refs/heads/{target}"))? else {
        return Ok(None);
    };
    let there = ctx.repo.find_ref(&Repo::tracking_ref(&remote, target))?;
    let Some(there) = there else {
        return Ok(Some(Unpushed {
            remote,
            branch: target.clone(),
            standing: Standpoint::Unseen,
        }));
    };
    let mut standing = standpoint(ctx, facts, (&tip, &there), archive)?;
    if standing.is_none() && archive.is_some() && other_archive(&ctx.repo, at, (&tip, &there))? {
        standing = Some(Standpoint::Apart);
    }
    Ok(standing.map(|standing| Unpushed {
        remote,
        branch: target.clone(),
        standing,
    }))
}

/// The branch of a remote beside ours; nothing where ours has all that counts.
fn standpoint(
    ctx: &Context,
    facts: &Facts<'_>,
    (tip, there): (&Oid, &Oid),
    archive: Option<&Oid>,
) -> Result<Option<Standpoint>> {
    let repo = &ctx.repo;
    if tip != there && repo.is_ancestor(there, tip)? {
        return Ok(Some(Standpoint::Behind));
    }
    let archive = match archive {
        Some(archive) if ctx.repo.contains(archive)? => archive,
        _ => return Ok(None),
    };
    let is_ahead = repo.is_ancestor(tip, there)?;
    // Somebody else archived, and ours has not got that.
    if !repo.is_ancestor(archive, tip)? && repo.is_ancestor(archive, there)? {
        let landed = landed(ctx, &facts.state, &facts.policy)?;
        let is_open = landed.is_none_or(|landed| landed.is_open());
        return Ok(match (is_ahead, is_open) {
            (true, true) => Some(Standpoint::Ahead),
            (true, false) => None,
            (false, _) => Some(Standpoint::Apart),
        });
    }
    // Where both have commits of their own, the remote may have the archive's by another name.
    let is_there = is_ahead || found(&ctx.repo, archive, there)?.is_some();
    Ok((!is_there).then_some(Standpoint::Apart))
}

/// Tells whether a remote's branch has an archive of the session that ours has not, as where two clones archived one
/// session: their content is one, and whoever judges a landing asks for the commit that counts.
fn other_archive(
    repo: &Repo,
    (snapshot, session): (&Snapshot<'_>, &Session),
    (tip, there): (&Oid, &Oid),
) -> Result<bool> {
    if repo.is_ancestor(tip, there)? || repo.is_ancestor(there, tip)? {
        return Ok(false);
    }
    for op in snapshot.operations(session)? {
        if let Some(Event::Archived {
            commit: Some(commit),
            ..
        }) = op.event()
            && repo.contains(commit)?
            && repo.is_ancestor(commit, there)?
            && !repo.is_ancestor(commit, tip)?
        {
            return Ok(true);
        }
    }
    Ok(false)
}
