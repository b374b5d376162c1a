//! The steps behind the archive: the merge into the target, the push, and the branch that is left over.

use super::advised::{Advised, Next};
use super::here::{Here, Standpoint, Unlanded, Unpushed};
use super::review;
use super::worktree::{Worktree, go_on, stash};
use crate::gate::View;
use crate::session::Ending;
use crate::stage::Transition;
use loopx_base::hint::{Hint, command, hint};
use loopx_base::id::Oid;
use loopx_base::shell_word;

/// The step that is left in a session that has ended.
pub(super) fn ended(view: View<'_>, here: &Here<'_>) -> Advised {
    let found = left_over(view, here);
    let is_of_git = match &found.next {
        Next::Command(lead) => lead.command().is_none(),
        Next::Nothing => here.unlanded.is_some(),
        Next::Write | Next::Waits(_) => false,
    };
    match &here.worktree {
        // git ends what it began before it begins anything else.
        Some(worktree) if is_of_git => match worktree.sequence {
            Some(sequence) => go_on(worktree, sequence),
            None => found,
        },
        _ => found,
    }
}

fn left_over(view: View<'_>, here: &Here<'_>) -> Advised {
    let state = view.state;
    if let Some(Ending::Abandoned { .. }) = &state.ending {
        let undo = command!("undo").session(&state.id);
        if let Some((branch, archive)) = &here.leftover {
            return taken_out(here, (branch, archive));
        }
        return Advised::nothing().advice(hint!["the session was abandoned; to undo that: ", undo]);
    }
    if let Some(unfetched) = &here.unfetched {
        return review::fetch(view, unfetched, "what was archived");
    }
    let is_joined = |one: &&Unpushed| matches!(one.standing, Standpoint::Apart | Standpoint::Ahead);
    if let Some(unpushed) = here.unpushed.as_ref().filter(is_joined) {
        return joined(view, here, unpushed);
    }
    let lacks = here.remote.as_ref().filter(|remote| remote.ahead > 0);
    match (&here.unpushed, lacks) {
        (Some(unpushed), _) => return here.push(unpushed),
        (None, Some(remote)) => return command!("sync {}", remote.remote).into(),
        (None, None) => {}
    }
    if let Some(unlanded) = &here.unlanded {
        return landing(here, unlanded);
    }
    if let Some(Ending::Archived {
        taken_back: Some(_),
        ..
    }) = &state.ending
    {
        let reopen = Transition::DoneToBuild
            .command()
            .because("its archive was taken back");
        return Advised::nothing().advice(hint![
            "its archive was taken back, and the specs are as before it; to finish it again: ",
            reopen.session(&state.id)
        ]);
    }
    Advised::nothing()
}

/// The merge by which the target gets what was archived. Where a remote has it, the merge may be asked for there.
pub(super) fn landing(here: &Here<'_>, unlanded: &Unlanded) -> Advised {
    let Unlanded { target, source, .. } = unlanded;
    let merge = Hint::git(format!("merge {}", shell_word(source)));
    let lacks = if unlanded.takes_back {
        format!("{target} still has the archive that was taken back")
    } else {
        format!("{target} does not have the change yet")
    };
    if let (Some(remote), None) = (&unlanded.remote, &unlanded.lost) {
        let there = format!("{lacks}: open a pull request for {source} on {remote}, or run: ");
        return Advised::nothing().advice(match (&unlanded.way, &unlanded.elsewhere) {
            (Some(way), _) => hint![there, way.clone(), "  and there: ", merge],
            (None, Some(path)) => hint![there, merge, format!("  (in {path})")],
            (None, None) => hint![there, merge],
        });
    }
    // The merge belongs where the target is checked out.
    if let Some(path) = &unlanded.elsewhere {
        let told = format!("{lacks}; in {path}, run: ");
        return Advised::write(match unlanded.lost.clone() {
            Some(lost) => hint![told, merge, "; ", lost],
            None => hint![told, merge],
        });
    }
    if let (false, Some(worktree)) = (unlanded.in_the_way.is_empty(), &here.worktree) {
        let worktree = Worktree {
            in_the_way: unlanded.in_the_way.clone(),
            ..worktree.clone()
        };
        let overwrites = match unlanded.way {
            Some(_) => format!("the switch to {target}"),
            None => format!("`git merge {}`", shell_word(source)),
        };
        return stash(&worktree, &overwrites);
    }
    let lost = unlanded.lost.clone();
    let there = format!("{lacks}; on {target}, run: ");
    match (&unlanded.way, lost) {
        (Some(way), Some(lost)) => {
            Advised::from(way.clone()).advice(hint![there, merge, "; ", lost])
        }
        (Some(way), None) => Advised::from(way.clone()).advice(hint![there, merge]),
        (None, Some(lost)) => Advised::from(merge).advice(lost),
        (None, None) if unlanded.takes_back => Advised::from(merge).advice(lacks),
        (None, None) => merge.into(),
    }
}

/// Takes the archive out that an abandoned session left on a branch.
fn taken_out(here: &Here<'_>, (branch, archive): (&str, &Oid)) -> Advised {
    let archive = archive.short();
    let why =
        format!("the session was abandoned, but {branch} still has its archive commit {archive}");
    let revert = Hint::git(format!("revert --no-edit {archive}"));
    match &here.worktree {
        Some(worktree) if worktree.branch.as_deref() == Some(branch) => {
            Advised::from(revert).advice(why)
        }
        _ => Advised::write(hint![format!("{why}; on {branch}: "), revert]),
    }
}

/// Takes the remote's commits into a branch that lacks them.
fn joined(view: View<'_>, here: &Here<'_>, unpushed: &Unpushed) -> Advised {
    let Unpushed { remote, branch, .. } = unpushed;
    let is_ahead = unpushed.standing == Standpoint::Ahead;
    let forward = if is_ahead { "--ff-only " } else { "" };
    let why = format!("{remote}/{branch} has commits that {branch} lacks");
    let merge = Hint::git(format!(
        "merge {forward}{}",
        shell_word(&format!("{remote}/{branch}"))
    ));
    let Some(worktree) = &here.worktree else {
        return Advised::write(hint![format!("{why}; in a worktree of {branch}: "), merge]);
    };
    if worktree.branch.as_ref() == Some(branch) {
        return Advised::from(merge).advice(if is_ahead {
            why.into()
        } else {
            hint![format!("{why}; then: "), unpushed.push()]
        });
    }
    match &worktree.elsewhere {
        Some(path) if view.state.branch.as_ref() == Some(branch) => {
            Advised::write(hint![format!("{why}; in {path}: "), merge])
        }
        _ => Advised::from(Hint::git(format!("switch {}", shell_word(branch))))
            .advice(hint![format!("{why}; there: "), merge]),
    }
}

/// Brings the branch forward to what it lacks, once no edit is in the way.
pub(super) fn forwarded(here: &Here<'_>, to: &str, why: impl Into<Hint>) -> Advised {
    let merge = format!("merge --ff-only {}", shell_word(to));
    match &here.worktree {
        Some(worktree) if !worktree.in_the_way.is_empty() => {
            stash(worktree, &format!("`git {merge}`"))
        }
        _ => Advised::from(Hint::git(merge)).advice(why),
    }
}
