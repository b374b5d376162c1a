//! The owner of a build: the token of this worktree, and the agent session that works in it.
//!
//! The token is random and lies in the worktree's own git dir, so that it says nothing of the machine
//! and goes away with the worktree.

use super::agent::ledger;
use super::context::Context;
use super::transaction::{Act, Facts, Needs, act, act_beside};
use loopx_base::env;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_git::{Identity, Repo};
use loopx_rules::agent_identity;
use loopx_rules::lease;
use loopx_rules::lease::{Claim, LEASE, Owner, Worktrees};
use loopx_rules::op::Event;
use loopx_rules::session::{Stamped, State};
use loopx_rules::stage::Stage;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The setting that says how long a lease is, in seconds.
const SETTING: &str = "loopx.lease";

/// Folder in which a worktree keeps what is only its own.
pub(super) fn folder(repo: &Repo) -> PathBuf {
    repo.git_dir().join("loopx")
}

/// The token of this worktree, if it has one.
pub(crate) fn token(repo: &Repo) -> Option<String> {
    token_in(&folder(repo))
}

fn token_in(folder: &Path) -> Option<String> {
    let text = std::fs::read_to_string(folder.join("owner")).ok()?;
    let text = text.trim();
    (!text.is_empty() && text.len() <= 64).then(|| text.to_owned())
}

/// The worktrees of this clone.
pub(crate) fn worktrees(repo: &Repo) -> Worktrees {
    let common = repo.common_dir();
    Worktrees::new(token(repo), move || beside(&common))
}

/// Finds the place of each worktree of the clone with this git dir, by the token of the worktree.
fn beside(common: &Path) -> BTreeMap<String, String> {
    let main = common
        .parent()
        .map(|top| (common.to_owned(), top.to_owned()));
    let linked = std::fs::read_dir(common.join("worktrees")).into_iter();
    let linked = linked.flatten().flatten().filter_map(|entry| {
        // `gitdir` names the worktree's `.git` file, absolute or relative to the entry.
        let dot_git = std::fs::read_to_string(entry.path().join("gitdir")).ok()?;
        let dot_git = entry.path().join(dot_git.trim_end_matches(['\n', '\r']));
        Some((entry.path(), dot_git.parent()?.to_owned()))
    });
    let here = env::current_dir().ok();
    let here = here.and_then(|here| std::fs::canonicalize(here).ok());
    let read = |(git_dir, top): (PathBuf, PathBuf)| {
        let token = token_in(&git_dir.join("loopx"))?;
        let top = std::fs::canonicalize(&top).unwrap_or(top);
        let near = here.as_ref().and_then(|here| beside_of(here, &top));
        Some((token, near.unwrap_or(top).display().to_string()))
    };
    main.into_iter().chain(linked).filter_map(read).collect()
}

/// A folder as it is typed beside another one, where no more than two steps lead up to what both are in.
fn beside_of(here: &Path, there: &Path) -> Option<PathBuf> {
    let common = here
        .ancestors()
        .take(3)
        .find(|one| there.starts_with(one))?;
    let steps = here.strip_prefix(common).ok()?.components().count();
    let up: PathBuf = std::iter::repeat_n("..", steps).collect();
    Some(up.join(there.strip_prefix(common).ok()?)).filter(|path| path.as_os_str() != "")
}

/// Writes a worktree's token down, now that something is claimed under it. The caller holds the store's
/// lock, so that two commands of one worktree cannot come with two of them.
pub(super) fn keep(repo: &Repo, owner: &str) -> Result<()> {
    if token(repo).is_some() {
        return Ok(());
    }
    let file = folder(repo).join("owner");
    super::files::write_in_git_dir(repo, &file, format!("{owner}\n").as_bytes())
}

/// The agent that types this command: its session, where that is known, else its host. None where a person does.
pub(crate) fn agent(repo: &Repo) -> Result<Option<String>> {
    let Some(host) = agent_identity::host(env::var) else {
        return Ok(None);
    };
    Ok(Some(owner(repo, None)?.agent.unwrap_or(host)))
}

/// The owner who asks. `agent` is the session that is known to ask; else the environment may name one, or a hook has
/// seen which one was about to.
pub(crate) fn owner(repo: &Repo, agent: Option<String>) -> Result<Owner> {
    let driver = || ledger::peek(repo).driver_at(repo.now()).map(str::to_owned);
    let agent = agent
        .or_else(|| env::var(env::LOOPX_AGENT_SESSION))
        .or_else(driver)
        .and_then(|name| lease::agent_name(&name));
    let seconds = match repo.config(SETTING) {
        None => LEASE,
        Some(text) => text.trim().parse().ok().filter(|n| *n > 0).ok_or_else(|| {
            Failure::usage(
                Code::LeaseInvalid,
                format!("{SETTING}: expected a number of seconds, found `{text}`"),
            )
            .help(format!("git config {SETTING} {LEASE}"))
        })?,
    };
    let worktrees = worktrees(repo);
    let new = || ulid::Ulid::generate().to_string().to_lowercase();
    Ok(Owner {
        token: worktrees.here.clone().unwrap_or_else(new),
        agent,
        seconds,
        worktrees,
    })
}

/// The moment of a decision, in seconds.
fn now(facts: &Facts<'_>) -> i64 {
    facts.identity.map_or(0, Identity::judges_at)
}

/// The claim that a step of the build carries; refused while another worktree builds.
pub(crate) fn hold(facts: &Facts<'_>, owner: &Owner) -> Result<Option<Claim>> {
    lease::hold(facts.state.build.claim.as_ref(), owner, now(facts), false)
}

/// The claim of an agent session that was found at work on the build.
pub(crate) fn adopt(facts: &Facts<'_>, owner: &Owner) -> Result<Option<Claim>> {
    lease::adopt(facts.state.build.claim.as_ref(), owner, now(facts)).map(Some)
}

/// A step of the build ends what parked it in this worktree.
pub(crate) fn works(ctx: &Context) {
    if ledger::peek(&ctx.repo).parked.is_some() {
        // What cannot be written is only a memory.
        drop(ledger::update(&ctx.repo, |ledger| ledger.parked = None));
    }
}

/// Refused while another worktree builds: asked before something long is begun.
pub(crate) fn check(ctx: &Context, state: &State) -> Result<()> {
    if state.stage != Stage::Build {
        return Ok(());
    }
    let owner = owner(&ctx.repo, None)?;
    lease::hold(state.build.claim.as_ref(), &owner, ctx.repo.now(), false).map(drop)
}

/// Renews this worktree's hold on the build once half of it is gone. Writes nothing where there is nothing to say.
pub(super) fn renew(ctx: &Context) -> Result<()> {
    let snapshot = ctx.store()?.snapshot()?;
    let state = ctx.session_to_change(&snapshot)?.state;
    let owner = owner(&ctx.repo, None)?;
    let is_own = |claim: &Claim| claim.owner == owner.token;
    let standing = lease::standing(
        state.build.claim.as_ref(),
        Some(&owner.token),
        ctx.repo.now(),
    );
    if state.stage != Stage::Build || standing != (lease::Standing::Own { fresh: false }) {
        return Ok(());
    }
    let renewed = act_beside(ctx, Needs::Stage, |facts| {
        let known = facts.state.build.claim.as_ref();
        let claim = if known.is_some_and(|claim| is_own(&claim.value)) {
            hold(facts, &owner)?
        } else {
            None
        };
        match claim {
            Some(claim) => {
                Ok(Act::new(Event::Claimed, "renew the build's lease", ()).claim(Some(claim)))
            }
            None => Err(Failure::nothing(
                Code::BuildIsYours,
                "the lease of the build needs no renewal",
            )),
        }
    });
    renewed.map(drop)
}

/// The owner of the build of a session, for views.
#[derive(Debug, Serialize)]
pub(crate) struct ClaimView {
    /// Set when the build is this worktree's.
    pub here: bool,
    pub by: String,
    pub agent: Option<String>,
    pub since: String,
    pub until: String,
    /// The lease is still running.
    pub alive: bool,
    /// The owner from whom the build was taken, and the reason in `reason`.
    pub taken_from: Option<String>,
    pub reason: Option<String>,
    /// The owner now and the owner before, in a line.
    #[serde(skip)]
    pub words: String,
}

/// The owner of the build of a session.
pub(crate) fn view(repo: &Repo, claim: &Stamped<Claim>) -> ClaimView {
    let worktrees = worktrees(repo);
    let here = worktrees.here.as_deref() == Some(claim.value.owner.as_str());
    let until = lease::until(claim);
    let alive = until > repo.now();
    let agent = claim.value.agent.as_deref();
    let by = &claim.signed.by;
    let mut words = worktrees.whose(&claim.value.owner, agent, by);
    let until = lease::clock(until);
    let taken_from = claim.value.over.as_ref().map(|over| {
        let whose = worktrees.whose(&over.owner, over.agent.as_deref(), &over.signed.by);
        let when = if over.alive {
            "before its lease ended"
        } else {
            "after its lease"
        };
        words.push_str(&format!("; taken over from {whose} {when}"));
        whose
    });
    ClaimView {
        here,
        by: by.to_string(),
        agent: claim.value.agent.clone(),
        since: claim.signed.at.clone(),
        until,
        alive,
        taken_from,
        reason: claim.reason.clone(),
        words,
    }
}

/// Takes the build over from a worktree whose lease is still running, or from the agent session that is
/// recorded for this one. Gives whom it was taken from.
pub(crate) fn take_over(
    ctx: &Context,
    reason: Option<String>,
) -> Result<super::Done<Option<Stamped<Claim>>>> {
    let Some(reason) = loopx_base::said(reason) else {
        // The session that is meant is named in what is to be typed.
        ctx.session_to_change(&ctx.store()?.snapshot()?)?;
        return Err(
            Failure::usage(Code::ReasonRequired, "taking a build over needs a reason")
                .help(command!("build --take-over --reason WHY")),
        );
    };
    let done = act(ctx, Needs::Stage, |facts| {
        super::stages::in_build(facts)?;
        let owner = owner(&ctx.repo, None)?;
        let before = facts.state.build.claim.clone();
        let is_his = |claim: &Stamped<Claim>| {
            claim.value.owner == owner.token && claim.value.agent.is_none()
        };
        if owner.agent.is_none() && before.as_ref().is_some_and(is_his) {
            return Err(Failure::nothing(
                Code::BuildIsYours,
                "this worktree has the build already",
            )
            .help(command!("status")));
        }
        let claim = lease::hold(before.as_ref(), &owner, now(facts), true)?;
        Ok(Act::new(Event::Claimed, "claim the build", before)
            .reason(Some(reason.clone()))
            .claim(claim))
    })?;
    // Who was seen at work before is not who builds now. What cannot be written is only a memory.
    drop(ledger::update(&ctx.repo, |ledger| ledger.driver = None));
    Ok(done)
}
