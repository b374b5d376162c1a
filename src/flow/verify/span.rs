//! Span of commits that are judged: the ends of the range, the branch that it is on, and that branch's session.

use super::{Request, Sessions};
use crate::flow::context::Context;
use crate::flow::naming;
use crate::flow::upstream;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{command, hint};
use loopx_base::id::Oid;
use loopx_git::Repo;
use loopx_rules::session::State;
use std::rc::Rc;

/// A range whose ends are known.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    pub base: Option<Oid>,
    /// Reachable from here is judged elsewhere.
    pub hidden: Vec<Oid>,
    /// Commits that, with their history, are not judged either, but for what names the bound session.
    pub upstream: Vec<Oid>,
    /// Set when the commits that the target has are left out.
    pub own: bool,
    /// Set when the branch takes only what is done and reviewed.
    pub protected: bool,
    /// Set when this is the server, whose branches are the project's.
    pub receiving: bool,
    pub head: Oid,
    pub branch: Option<String>,
    pub bound: Option<Rc<State>>,
}

/// Finds the range that was asked for.
pub(super) fn find(
    ctx: &Context,
    sessions: &Sessions<'_>,
    request: &Request,
    policy_from: Option<&Oid>,
) -> Result<Span> {
    let repo = &ctx.repo;
    let named = match (&request.session, ctx.wanted()) {
        (Some(id), _) => Some(id.clone()),
        (None, Some(name)) => Some(naming::find(sessions.newest(), name)?),
        (None, None) => None,
    };
    let wanted = match named {
        Some(id) => {
            let found = sessions.now(&id)?;
            Some(found.ok_or_else(|| naming::unknown(sessions.newest(), &id))?)
        }
        None => None,
    };
    let (from, to) = match request.range.as_deref() {
        None => (None, None),
        Some(range) => ends(range)?,
    };
    let (head, mut branch) = match to {
        Some(to) => named_end(repo, to)?,
        // Without a range the session decides: its branch is what is judged, whatever is checked out.
        None => {
            let session = wanted.as_deref().filter(|_| request.range.is_none());
            own_end(ctx, session)?
        }
    };
    if let Some(name) = &request.branch {
        branch = Some(name.strip_prefix("refs/heads/").unwrap_or(name).to_owned());
    }
    let bound = match (wanted, &branch) {
        (Some(state), _) => Some(state),
        (None, Some(branch)) => sessions.bound_to(branch)?,
        (None, None) => None,
    };
    let base = match (from, policy_from, &bound) {
        (Some(from), _, _) => Some(end(repo, from)?),
        (None, Some(other), _) if request.range.is_some() => repo.merge_base(other, &head)?,
        (None, _, Some(state)) => {
            let policy = ctx.policy(state)?;
            let target = upstream::target(ctx, branch.as_deref(), &policy)?;
            let upstream = target.map(|target| target.tips).unwrap_or_default();
            let own = upstream::own(repo, state.base.as_ref(), &upstream, &head, Some(&state.id))?;
            let hidden = match &state.base {
                Some(start) if repo.contains(start)? => vec![start.clone()],
                _ => own.base.iter().cloned().collect(),
            };
            return Ok(Span {
                hidden,
                own: !upstream.is_empty(),
                upstream,
                protected: false,
                receiving: false,
                base: own.base,
                head,
                branch,
                bound,
            });
        }
        (None, Some(other), None) => repo.merge_base(other, &head)?,
        (None, None, None) => return Err(without_base(sessions, ctx, branch.as_deref())?),
    };
    Ok(Span {
        hidden: base.iter().cloned().collect(),
        upstream: Vec::new(),
        own: true,
        protected: false,
        receiving: false,
        base,
        head,
        branch,
        bound,
    })
}

/// The newest commit of a range that names it, and the branch that this is.
fn named_end(repo: &Repo, to: &str) -> Result<(Oid, Option<String>)> {
    let head = end(repo, to)?;
    let named = repo.find_ref(&format!("refs/heads/{to}"))?.is_some();
    let branch = if named {
        Some(to.to_owned())
    } else {
        let at = repo.head()?;
        at.branch.filter(|_| at.commit.as_ref() == Some(&head))
    };
    Ok((head, branch))
}

/// The head of a session's branch, else what is checked out.
fn own_end(ctx: &Context, session: Option<&State>) -> Result<(Oid, Option<String>)> {
    let repo = &ctx.repo;
    let at = repo.head()?;
    let own = session.and_then(|state| Some((state, state.branch.clone()?)));
    let Some((state, branch)) = own.filter(|(_, branch)| at.branch.as_ref() != Some(branch)) else {
        return Ok((repo.resolve_commit("HEAD")?, at.branch));
    };
    let head = match upstream::bound_head(ctx, state)? {
        Some(head) => head,
        None => repo.resolve_commit(&format!("refs/heads/{branch}"))?,
    };
    Ok((head, Some(branch)))
}

/// The commit at an end of the range. What is not here was perhaps left out by a clone.
pub(super) fn end(repo: &Repo, revision: &str) -> Result<Oid> {
    one_commit(repo, revision).map_err(|failure| {
        failure.help(if repo.is_shallow() {
            "git fetch --unshallow  (this clone is shallow), with the branch that is missing"
        } else {
            "git fetch --all  (gets what the remotes have), or name a commit of git log"
        })
    })
}

/// Refusal where nothing says where a range begins. A branch that was renamed is the likeliest reason.
fn without_base(sessions: &Sessions<'_>, ctx: &Context, branch: Option<&str>) -> Result<Failure> {
    let failure = Failure::usage(
        Code::RangeWithoutBase,
        match branch {
            Some(branch) => format!("`{branch}` is bound to no session, so a range is needed"),
            None => "no branch and no session say where the range begins".to_owned(),
        },
    );
    for state in sessions.active()? {
        if upstream::is_missing(ctx, &state)? {
            let id = &state.id;
            let gone = state.branch.as_deref().unwrap_or_default();
            return Ok(failure.help(hint![
                upstream::rebind(ctx, id)?,
                format!("  (its branch `{gone}` is gone: if this is its new name), or: "),
                command!("verify main..HEAD")
            ]));
        }
    }
    Ok(failure.help(command!("verify main..HEAD")))
}

/// The commit that a name means. A tag is anybody's: no tag stands for a branch of a remote, and where a tag and a
/// branch here have one name, who judges by it says which is meant.
pub(super) fn one_commit(repo: &Repo, revision: &str) -> Result<Oid> {
    // `HEAD~1` and the like are no names.
    let is_name = Repo::check_branch_name(revision).is_ok();
    if !is_name || (revision.starts_with("refs/") && repo.find_ref(revision)?.is_some()) {
        return repo.resolve_commit(revision);
    }
    let at_remote = format!("refs/remotes/{revision}");
    let is_at_remote = repo.find_ref(&at_remote)?.is_some();
    let other = if is_at_remote {
        at_remote
    } else {
        format!("refs/tags/{revision}")
    };
    let here = format!("refs/heads/{revision}");
    if let (Some(one), Some(two)) = (repo.find_ref(&here)?, repo.find_ref(&other)?)
        && one != two
    {
        return Err(Failure::usage(
            Code::RevisionAmbiguous,
            format!("`{revision}` is ambiguous: {here} is another commit than {other}"),
        )
        .help(format!("name it in full: {here}")));
    }
    repo.resolve_commit(if is_at_remote { &other } else { revision })
}

/// The ends of `A..B`, `A..`, `..B` or `B`; an end that is left out is HEAD, as in git.
pub(super) fn ends(range: &str) -> Result<(Option<&str>, Option<&str>)> {
    let invalid = || {
        Failure::usage(
            Code::RangeInvalid,
            format!("expected a range like `main..HEAD`, or one commit, found `{range}`"),
        )
        .help(command!("verify main..HEAD"))
    };
    if range.trim().is_empty() || range.contains("...") || range.starts_with('-') {
        return Err(invalid());
    }
    match range.split_once("..") {
        Some(("", "")) => Err(invalid()),
        Some((_, to)) if to.contains("..") => Err(invalid()),
        Some(("", to)) => Ok((Some("HEAD"), Some(to))),
        Some((from, "")) => Ok((Some(from), Some("HEAD"))),
        Some((from, to)) => Ok((Some(from), Some(to))),
        None => Ok((None, Some(range))),
    }
}

#[cfg(test)]
mod tests {
    use super::ends;
    use loopx_base::failure::Code;

    #[test]
    fn ranges_are_read_as_git_reads_them() {
        assert_eq!(ends("a..b"), Ok((Some("a"), Some("b"))));
        assert_eq!(ends("a.."), Ok((Some("a"), Some("HEAD"))));
        assert_eq!(ends("..b"), Ok((Some("HEAD"), Some("b"))));
        assert_eq!(ends("b"), Ok((None, Some("b"))));
        for invalid in ["", " ", "..", "a...b", "a..b..c", "-x"] {
            assert_eq!(ends(invalid).expect_err(invalid).code, Code::RangeInvalid);
        }
    }
}
