//! The steps that go before every stage: a branch or a base that is gone, a working copy that nothing can take in.

use crate::flow::context::Context;
use crate::flow::transaction::Facts;
use crate::flow::workcopy::{FileStatus, Peek};
use crate::flow::{amend, archive, gone, rebase};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{Command, Hint, Verb, command, hint};
use loopx_rules::artifact::Artifact;
use loopx_rules::next;
use loopx_rules::next::{Advised, Worktree};
use loopx_rules::session::State;
use loopx_rules::stage::{Stage, Transition};

/// The step that goes before every stage.
pub(super) fn first(
    ctx: &Context,
    facts: &Facts<'_>,
    peek: &Peek,
    (worktree, branch_missing): (Option<&Worktree>, bool),
) -> Result<Option<Advised>> {
    let state = &facts.state;
    let id = &state.id;
    if peek.foreign.is_some() {
        return Ok(Some(command!("checkout").session(id).into()));
    }
    if let Some(waiting) = archive::waiting(ctx, state)? {
        return Ok(Some(waiting));
    }
    if !state.is_active() {
        return Ok(None);
    }
    // git switches no branch while something is under way.
    if branch_missing && ctx.repo.sequence().is_none() {
        return branchless(ctx, state, worktree).map(Some);
    }
    let is_about_code = matches!(state.stage, Stage::Build | Stage::Review | Stage::Done);
    if is_about_code
        && state.branch.is_none()
        && let Some(odd) = crate::flow::begin::odd(ctx)?
    {
        return Ok(Some(
            Advised::from(odd.help.unwrap_or_default()).advice(odd.message),
        ));
    }
    if facts.base_missing.is_some() {
        return baseless(ctx, facts).map(Some);
    }
    let mut statuses = peek.statuses.iter();
    if let Some((artifact, _)) = statuses.find(|(_, s)| **s == FileStatus::Conflicted) {
        if !state.is_open(*artifact) {
            let told = format!(
                "{artifact} is closed in stage {}, and both sides stand in your file, which is kept as a blob and named",
                state.stage
            );
            return Ok(Some(
                Advised::from(command!("checkout --force {artifact}")).advice(told),
            ));
        }
        return Ok(Some(
            Advised::from(command!("edit {artifact}"))
                .advice("choose between the marked sides of the file"),
        ));
    }
    Ok(peek.refused.first().map(|(artifact, failure)| {
        let ways = failure.help.iter().flat_map(Hint::commands);
        let is_amended = ways.map(Command::verb).any(|verb| verb == Verb::Amend);
        if let (true, Some(refused)) = (is_amended, amend::refusal(ctx, state)) {
            return unamendable(&refused);
        }
        if is_amended && facts.require_person("an amendment").is_err() {
            return amend::by_person();
        }
        let lead = failure.help.as_ref().and_then(Hint::lead);
        let verb = lead.as_ref().and_then(Hint::command).map(Command::verb);
        if let (Some(Verb::Plan), Some(lead)) = (verb, &lead) {
            let required = facts.policy.required(Transition::PlanToBuild);
            return Advised::from(lead.clone()).advice(format!(
                "{}; {required} people approve a plan here: your edit goes back to it, and they approve it anew",
                failure.message
            ));
        }
        match (failure.code, lead) {
            (Code::ArtifactLocked, Some(lead)) => Advised::from(lead).advice(format!(
                "{}; your text is kept as a blob and named",
                failure.message
            )),
            _ => match artifact {
                Some(artifact) => command!("edit {artifact}").into(),
                None => match failure.help.as_ref().and_then(Hint::lead) {
                    Some(lead) => Advised::from(lead),
                    None => Advised::write(failure.message.clone()),
                },
            },
        }
    }))
}

/// The way on from a list that no amendment can take: what is done stays as it was planned, and what is no plan is
/// mended in the file.
fn unamendable(refused: &Failure) -> Advised {
    let list = Artifact::TaskList;
    let message = &refused.message;
    if refused.code == Code::AmendBarred {
        let told = format!("{message}; your text is kept as a blob and named");
        return Advised::from(command!("checkout --force {list}")).advice(told);
    }
    Advised::write(hint![
        format!("mend {list}: {message}; to look at all of it: "),
        command!("task check")
    ])
}

/// The way on where the bound branch is not here.
fn branchless(ctx: &Context, state: &State, worktree: Option<&Worktree>) -> Result<Advised> {
    let bound = state.branch.as_deref().unwrap_or_default();
    let way = gone::lead(ctx, state, bound)?;
    match worktree.filter(|worktree| !worktree.in_the_way.is_empty()) {
        Some(worktree) if way.waiting().is_none() => {
            Ok(next::stash(worktree, &format!("the switch to {bound}")))
        }
        _ => Ok(way),
    }
}

/// The way on where the commit that the session starts from is not here. What somebody else began may not be pushed yet:
/// another base is for whoever began it.
fn baseless(ctx: &Context, facts: &Facts<'_>) -> Result<Advised> {
    let state = &facts.state;
    if ctx.repo.is_shallow() {
        let why = "this clone is shallow, and the commit that it started from was not fetched";
        return Ok(Advised::from(Hint::git("fetch --unshallow")).advice(why));
    }
    if let Some(fetch) = gone::unfetched(ctx, state)? {
        return Ok(fetch);
    }
    let why = "the commit that it started from is gone";
    let onto = rebase::suggest(ctx, state, &facts.policy)?;
    let rebase =
        onto.map(|onto| command!("rebase --onto {} --reason WHY", onto.short()).because(why));
    let author = &state.started.by;
    let me = ctx.reader().map(|reader| &reader.author);
    let remote = ctx.repo.default_remote(state.branch.as_deref())?;
    if let (Some(remote), false) = (remote, me.is_some_and(|me| me.is_same(author))) {
        let fetch = Hint::git(format!("fetch {remote}"));
        let advice = match rebase {
            Some(rebase) => hint![
                format!("{remote} may have it: "),
                fetch,
                "; where it is gone for good: ",
                rebase
            ],
            None => hint![format!("{remote} may have it: "), fetch],
        };
        let what = "the push of the commit that it started from";
        return Ok(Advised::waits(author.to_string(), what).advice(advice));
    }
    Ok(Advised::from(rebase.unwrap_or_else(|| command!("doctor"))).advice(why))
}
