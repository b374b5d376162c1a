//! The code of an archived session on its way to the target: where it comes from, and what is left to land.

use super::worktree::{in_the_way, in_the_way_of_merge};
use crate::flow::checks;
use crate::flow::context::Context;
use crate::flow::landed::{self, Landed, found, landed};
use crate::flow::transaction::Facts;
use crate::flow::trust;
use loopx_base::failure::{Code, Result};
use loopx_base::hint::{Command, Hint, Verb, command, hint};
use loopx_base::id::Oid;
use loopx_rules::checks::{Check, Source, checks_now};
use loopx_rules::next::{Advised, Unlanded, Worktree};
use loopx_rules::op::{Body, Event};
use loopx_rules::policy::FILE as POLICY;
use loopx_rules::session::{Ending, State};
use loopx_store::{Session, Snapshot};

/// The archive that an abandoned session left on a branch: one that a settled conflict left out.
pub(super) fn leftover(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    session: &Session,
) -> Result<Option<(String, Oid)>> {
    if !matches!(session.state.ending, Some(Ending::Abandoned { .. })) {
        return Ok(None);
    }
    for op in snapshot.operations(session)?.into_iter().rev() {
        let Body::Session(body) = op.body else {
            continue;
        };
        let Event::Archived {
            commit: Some(commit),
            target,
            ..
        } = body.event
        else {
            continue;
        };
        let Some(tip) = ctx.repo.find_ref(&format!("refs/heads/{target}"))? else {
            continue;
        };
        if ctx.repo.contains(&commit)?
            && ctx.repo.is_ancestor(&commit, &tip)?
            && !landed::is_reverted(&ctx.repo, &commit, &tip)?
        {
            return Ok(Some((target, commit)));
        }
    }
    Ok(None)
}

/// The name that the target merges to have the result: the branch that has it, else the commit that records name, and what was
/// lost then. Nothing where neither is here.
fn source(
    ctx: &Context,
    state: &State,
    branch: &str,
    lacks_code: bool,
) -> Result<Option<(String, Option<Hint>)>> {
    let Some(Ending::Archived { commit, .. }) = &state.ending else {
        return Ok(None);
    };
    let head = state
        .verdict
        .as_ref()
        .and_then(|verdict| verdict.value.head.as_ref());
    let archive = commit.as_ref().filter(|_| !lacks_code);
    let branch = match (&state.branch, archive) {
        (Some(bound), None) => Some(bound.as_str()),
        (None, None) => None,
        (_, Some(_)) => Some(branch),
    };
    let tip = match branch {
        Some(branch) => ctx.repo.find_ref(&format!("refs/heads/{branch}"))?,
        None => None,
    };
    let has_it = match (&tip, archive) {
        (None, _) => false,
        (Some(tip), Some(archive)) => found(&ctx.repo, archive, tip)?.is_some(),
        (Some(tip), None) => landed::has_code(&ctx.repo, state, Some(tip))?.unwrap_or(true),
    };
    if let (Some(branch), None) = (branch, &tip) {
        for (name, tip) in ctx.repo.tracking_refs(branch)? {
            let has_it = match archive {
                Some(archive) => found(&ctx.repo, archive, &tip)?.is_some(),
                None => landed::has_code(&ctx.repo, state, Some(&tip))?.unwrap_or(false),
            };
            if has_it {
                let name = name.strip_prefix("refs/remotes/").unwrap_or(&name);
                return Ok(Some((name.to_owned(), None)));
            }
        }
    }
    let (Some(branch), false) = (branch, has_it) else {
        let commit = head.map(|head| head.as_str().to_owned());
        return Ok(branch
            .map(str::to_owned)
            .or(commit)
            .map(|source| (source, None)));
    };
    let Some(commit) = archive.or(head) else {
        return Ok(None);
    };
    if !ctx.repo.contains(commit)? {
        return Ok(None);
    }
    let short = commit.short();
    let lost = match tip {
        Some(_) => format!("{branch} has it no more; it is in {short}").into(),
        None => hint![
            format!("the branch {branch} is not here; to have it again: "),
            Hint::git(format!("branch {} {short}", loopx_base::shell_word(branch)))
        ],
    };
    Ok(Some((short.to_owned(), Some(lost))))
}

/// Commits that a target has not got, and the branch that they were made on.
struct Lacking<'s> {
    target: String,
    source: String,
    lost: Option<Hint>,
    branch: &'s str,
    takes_back: bool,
}

/// The archive that the target lacks, or the commit that takes one back.
fn lacking<'s>(ctx: &Context, facts: &'s Facts<'_>) -> Result<Option<Lacking<'s>>> {
    let state = &facts.state;
    let Some(Ending::Archived {
        target: branch,
        taken_back,
        ..
    }) = &state.ending
    else {
        return Ok(None);
    };
    if let Some(back) = taken_back {
        let kept = landed::kept(ctx, state, &facts.policy)?;
        return Ok(kept.map(|(target, source)| Lacking {
            target,
            source,
            lost: None,
            branch: &back.target,
            takes_back: true,
        }));
    }
    let landed = landed(ctx, state, &facts.policy)?;
    let Some(landed) = landed.filter(Landed::is_open) else {
        return Ok(None);
    };
    let found = source(ctx, state, branch, landed.lacks_code)?;
    Ok(found.map(|(source, lost)| Lacking {
        target: landed.target,
        source,
        lost,
        branch,
        takes_back: false,
    }))
}

/// The target that lacks what was archived, or that it was taken back.
pub(super) fn unlanded(
    ctx: &Context,
    facts: &Facts<'_>,
    worktree: Option<&Worktree>,
) -> Result<Option<Unlanded>> {
    let Some(worktree) = worktree else {
        return Ok(None);
    };
    let Some(Lacking {
        target,
        source,
        lost,
        branch,
        takes_back,
    }) = lacking(ctx, facts)?
    else {
        return Ok(None);
    };
    let remote = ctx.repo.default_remote(Some(branch))?;
    let name = format!("refs/heads/{target}");
    let Some(tip) = ctx.repo.find_ref(&name)? else {
        return Ok(None);
    };
    let is_here = worktree.branch.as_ref() == Some(&target);
    let elsewhere = if is_here {
        None
    } else {
        ctx.repo.checked_out_in(&name)?.filter(|dir| dir.is_dir())
    };
    let switch = || Hint::git(format!("switch {}", loopx_base::shell_word(&target)));
    let way = (!is_here && elsewhere.is_none()).then(switch);
    // An archive has looked at the files that it changes, and does not pay for a look at all others: whoever asks does.
    let in_the_way = match (&way, is_here, ctx.is_reading()) {
        (Some(_), _, true) => in_the_way(ctx, ctx.code_for(None)?.as_ref(), &tip)?,
        (None, true, true) => match ctx.repo.find_ref(&format!("refs/heads/{source}"))? {
            Some(merged) => in_the_way_of_merge(ctx, ctx.code_for(None)?.as_ref(), &merged)?,
            None => Vec::new(),
        },
        _ => Vec::new(),
    };
    Ok(Some(Unlanded {
        target,
        source,
        lost,
        takes_back,
        remote,
        elsewhere: elsewhere.map(|dir| dir.display().to_string()),
        way,
        in_the_way,
    }))
}

/// Advice that leads to the next checks first, where nobody in this clone has allowed them: the words of somebody else
/// are read before they run.
pub(super) fn with_checks_read(
    ctx: &Context,
    at: (&Snapshot<'_>, &Session),
    facts: &Facts<'_>,
    advised: Advised,
) -> Result<Advised> {
    let lead = advised.command().and_then(Hint::command);
    let Some(lead) = lead else {
        return Ok(advised);
    };
    let (asked, again) = match meant(facts, lead) {
        Some(meant) if !meant.0.is_empty() => meant,
        _ => return Ok(advised),
    };
    match trust::require(ctx, at, &facts.policy, &asked, (false, again.clone())) {
        Err(failure) if failure.code == Code::CheckNotTrusted => {
            let names: Vec<&str> = asked.iter().map(|check| check.id.as_str()).collect();
            let names = names.join(", ");
            let (what, them) = match asked.len() {
                1 => ("check", "it"),
                _ => ("checks", "them"),
            };
            let told = format!("nobody in this clone has allowed the {what} of {names} to run");
            let files = asked.iter().find_map(|check| match check.source {
                Source::Artifact(artifact) => Some(artifact),
                Source::Policy => None,
            });
            Ok(Advised::write(match files {
                Some(artifact) => hint![
                    format!("{told}; to read {them}: "),
                    command!("cat {artifact}"),
                    format!("; to allow {them} and run {them}: "),
                    again
                ],
                None => {
                    hint![
                        format!("{told}, which {POLICY} has; to allow {them} and run {them}: "),
                        again
                    ]
                }
            }))
        }
        _ => Ok(advised),
    }
}

/// The checks that a command would run, and the command that allows them to; nothing for a command that runs none.
fn meant(facts: &Facts<'_>, lead: &Command) -> Option<(Vec<Check>, Hint)> {
    let mut words = lead.args().split(' ');
    let before = match lead.verb() {
        Verb::Run if lead.args().is_empty() => {
            return Some((checks::due(facts), command!("run --all --trust")));
        }
        Verb::Run => "--task",
        Verb::Task => "done",
        _ => return None,
    };
    let task = words.find(|word| *word == before).and(words.next())?;
    let all = checks_now(&facts.texts, &facts.state, &facts.policy.all_checks());
    let check = all.into_iter().find(|check| check.id == task)?;
    let again = match lead.verb() {
        Verb::Task => command!("task done {task} --trust"),
        _ => command!("run --task {task} --trust"),
    };
    Some((vec![check], again))
}
