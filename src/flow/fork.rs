//! A session from another repository: somebody who cannot push here keeps sessions in a fork. Of what is there one
//! session alone comes, with its own history, and by the same road as a bundle.

use super::bundle::{IMPORT, Imported, forget, own_history, sweep, take};
use super::context::Context;
use super::write_scope::Opening;
use loopx_base::failpoint::reach;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{Hint, command, hint};
use loopx_base::id::{Oid, SessionId};
use loopx_base::nearest;
use loopx_git::remote::{Answer, Fetched, Line};
use loopx_rules::push_rejection::Refusal;
use loopx_rules::setup::typed;
use loopx_store::Snapshot;
use serde::Serialize;

/// The session that came in from a fork.
#[derive(Debug, Serialize)]
pub(crate) struct Forked {
    pub from: String,
    #[serde(flatten)]
    pub imported: Imported,
    /// The branch that the session is bound to, where its commits are not here.
    pub missing_branch: Option<String>,
}

/// Takes one session in from another repository, by its address or the name of a remote: of what is there, that
/// session alone comes, with its own history.
pub(crate) fn import_from(ctx: &Context, from: &str, wanted: Option<&str>) -> Result<Forked> {
    let repo = &ctx.repo;
    let store = ctx.store()?;
    store.snapshot()?;
    if from.starts_with('-') {
        let message = format!("expected the address of a repository, found `{from}`");
        return Err(Failure::usage(Code::AddressInvalid, message)
            .help("name the address of the fork, or a remote, behind --from"));
    }
    let opening = Opening::of(ctx)?;
    sweep(repo)?;
    let local = format!("{IMPORT}fork");
    let mut line = Line {
        limit: None,
        unattended: false,
        progress: None,
    };
    let branch = store.branch();
    let doing = format!("fetch {branch} from {from}");
    let tip = match repo.fetch_into(&local, from, branch, &mut line)? {
        Fetched::Tip(tip) => tip,
        Fetched::Failed(Answer::No(said)) => {
            return Err(unreached(&said, (from, &doing), branch));
        }
        _ => {
            let message = format!("{from} has no branch `{branch}`, so no session");
            return Err(Failure::not_found(Code::RemoteWithoutSessions, message)
                .help(format!("ask its owner to push the branch `{branch}` there")));
        }
    };
    reach("bundle-fetched");
    let taken = from_tip(ctx, &opening, (from, &tip), wanted);
    forget(ctx, &local, format!("{from} is read"));
    reach("bundle-forgotten");
    taken
}

/// The failure of a repository that gave nothing. The repository is no remote that could be synced with.
fn unreached(said: &str, (from, doing): (&str, &str), branch: &str) -> Failure {
    let refusal = Refusal::read(said);
    let failure = refusal.failure(doing, from, branch, said);
    match refusal {
        Refusal::NoAccess => Failure {
            message: format!(
                "expected the address of a repository, or the name of a remote, found `{from}`: {}",
                failure.message
            ),
            ..failure
        }
        .help("git remote -v  (shows the remotes)"),
        _ => failure.help(format!(
            "git ls-remote {}  (until git answers), then again",
            typed(from)
        )),
    }
}

fn from_tip(
    ctx: &Context,
    opening: &Opening<'_>,
    (from, tip): (&str, &Oid),
    wanted: Option<&str>,
) -> Result<Forked> {
    let repo = &ctx.repo;
    let there = Snapshot::at(repo, tip.clone(), from)?;
    let names: Vec<String> = there
        .active_ids()?
        .iter()
        .map(ToString::to_string)
        .collect();
    let listed = if names.is_empty() {
        "none is active there".to_owned()
    } else {
        names.join(", ")
    };
    let Some(wanted) = wanted else {
        let message = format!("expected the session to take in from {from}: {listed}");
        let first = names.first();
        return Err(
            Failure::usage(Code::SessionRequired, message).help(match first {
                Some(first) => command!("import --from {} --session {first}", typed(from)),
                None => "ask its owner which session is meant".into(),
            }),
        );
    };
    let id = SessionId::fold(wanted)?;
    // What is damaged there is mended there.
    let foreign = |failure: Failure| match failure.code {
        Code::BundleForeign | Code::RecordDamaged => {
            let message = format!(
                "session {id} of {from} cannot be taken in: {}",
                failure.message
            );
            Failure::refused(Code::BundleForeign, message)
                .help(hint!["ask its owner to run: ", command!("fsck")])
        }
        _ => failure,
    };
    let Some(session) = there.find(&id).map_err(foreign)? else {
        let message = format!("no session is named `{id}` in {from}: {listed}");
        return Err(Failure::not_found(Code::SessionUnknown, message).help(
            match nearest(wanted, names.iter().map(String::as_str)) {
                Some(near) => command!("import --from {} --session {near}", typed(from)),
                None => Hint::default(),
            },
        ));
    };
    let (alone, _) = own_history(repo, &there, &session).map_err(foreign)?;
    repo.keep(&alone)?;
    let imported = take(ctx, opening, &id, &alone, from).map_err(foreign)?;
    let branch = session.state.branch.clone();
    let missing_branch = match &branch {
        Some(branch) if repo.find_ref(&format!("refs/heads/{branch}"))?.is_none() => {
            Some(branch.clone())
        }
        _ => None,
    };
    Ok(Forked {
        from: from.to_owned(),
        imported,
        missing_branch,
    })
}
