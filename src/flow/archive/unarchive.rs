//! `archive --undo`: takes one archive back, also after others came on top.
//!
//! The archive's own change is merged backwards: base is the spec after it, ours the spec before it,
//! theirs the branch as it is now. The session stays archived, because its approvals were given to what
//! was taken back; a record of its own says so on the branch of sessions, and the commit with its trailers on the other.

use super::super::context::Context;
use super::super::naming::{self, unknown};
use super::super::spec::blocker;
use super::super::write_scope::Opening;
use super::contest::{Contest, SpecConflict, Way, new_errors, refuse_begun, write_conflicts};
use super::landing::{land_undo, tell_undone};
use super::plan::{Aim, aim};
use super::standing;
use super::standing::{Standing, is_archive_of, taken_back};
use super::{Before, SpecChange, TRIES, busy};
use crate::flow::file_merge::FileMerge;
use loopx_base::failure::{Blocker, Code, Failure, Result};
use loopx_base::hint::{command, hint};
use loopx_base::id::{Oid, SessionId};
use loopx_git::CommitInfo;
use loopx_git::merge::{Labels, merge_file};
use loopx_rules::session::{Ending, State};
use loopx_spec::{Conflict, Finding, MarkerNames, merge_spec, read_spec, utf8};
use loopx_store as store;
use loopx_store::Snapshot;
use std::collections::BTreeMap;

/// The word of the `Loopx-Event` trailer of a commit that takes an archive back.
pub(crate) const UNARCHIVE: &str = "unarchive";

/// The result of taking an archive back.
#[derive(Debug)]
pub(crate) struct Unarchived {
    pub id: SessionId,
    pub target: String,
    /// The archive that was taken back.
    pub undone: Oid,
    /// `None` for a dry run, and where the conflicts were forgotten.
    pub commit: Option<Oid>,
    pub changes: Vec<SpecChange>,
    /// An earlier run was finished by this one.
    pub finished: bool,
}

/// Takes the archive of a session back, in one commit on its target branch.
pub(crate) fn unarchive(
    ctx: &Context,
    name: &str,
    onto: Option<&str>,
    reason: Option<&str>,
    (dry_run, sign): (bool, bool),
) -> Result<Unarchived> {
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let id = naming::find(&snapshot, name)?;
    if dry_run {
        let (state, archive) = archived(ctx, &snapshot, &id)?;
        let aim = aim_at(ctx, &state, onto)?;
        let archive = require_standing(ctx, &id, &archive, &aim)?;
        let back = backwards(ctx, &archive.made, &aim)?;
        if let Some(failure) = back.conflict(&id, &archive.made, &aim) {
            let help = command!("archive --undo {id}")
                .note("(writes both sides of the conflict to files)");
            return Err(failure.help(help));
        }
        let changes = back.changes(&id, &archive.made, &aim, BTreeMap::new())?;
        return Ok(done(&id, &archive.recorded, aim, None, changes));
    }
    let opening = Opening::of(ctx)?;
    refuse_begun(ctx, &id)?;
    take_back(ctx, &opening, &id, (onto, sign), reason, None)
}

/// Takes an archive back with its conflicts as they were resolved, on the branch where they were met.
pub(super) fn go_on(
    ctx: &Context,
    opening: &Opening<'_>,
    id: &SessionId,
    (onto, sign): (Option<&str>, bool),
    contest: Option<Contest>,
) -> Result<Unarchived> {
    let undone = Before::of(&opening.earlier).undone;
    let met = match &contest {
        Some(contest) => Some(contest.target.as_str()),
        None => undone.get(id).map(String::as_str),
    };
    let reason = match contest.as_ref().map(|contest| &contest.way) {
        Some(Way::Undo { reason, .. }) => reason.clone(),
        _ => None,
    };
    let onto = onto.or(met).map(str::to_owned);
    take_back(
        ctx,
        opening,
        id,
        (onto.as_deref(), sign),
        reason.as_deref(),
        contest.as_ref(),
    )
}

fn take_back(
    ctx: &Context,
    opening: &Opening<'_>,
    id: &SessionId,
    (onto, sign): (Option<&str>, bool),
    reason: Option<&str>,
    contest: Option<&Contest>,
) -> Result<Unarchived> {
    opening.earlier.check(id)?;
    let earlier = Before::of(&opening.earlier);
    let (state, archive) = archived(ctx, &opening.store.snapshot()?, id)?;
    for _ in 0..TRIES {
        let aim = aim_at(ctx, &state, onto)?;
        let is_told = matches!(&state.ending, Some(ending) if !ending.is_result());
        if (earlier.undone.contains_key(id) || !is_told)
            && let Some(standing) = standing::on(ctx, &archive, id, &aim)?
            && let Some(commit) = taken_back(ctx, &standing, &aim)?
        {
            // An earlier run got that far; its note has just been closed, or told nobody.
            if !is_told {
                tell_undone(&opening.scope(ctx), &aim, (id, &archive), &commit);
            }
            let mut done = done(id, &archive, aim, Some(commit), Vec::new());
            done.finished = true;
            return Ok(done);
        }
        let standing =
            require_standing(ctx, id, &archive, &aim).map_err(|failure| match contest {
                Some(_) => failure.help(command!("archive {id} --abort")),
                None => failure,
            })?;
        let made = &standing.made;
        let back = backwards(ctx, made, &aim)?;
        let way = Way::Undo {
            archive: archive.clone(),
            reason: reason.map(str::to_owned),
        };
        let resolved = match (contest, back.conflict(id, made, &aim)) {
            (None, None) => BTreeMap::new(),
            (None, Some(failure)) => {
                let specs = ctx.policy(&state)?.paths.specs;
                let at = (aim.target.as_str(), specs.as_str());
                return Err(write_conflicts(ctx, id, at, way, &back.fights, failure)?);
            }
            (Some(contest), _) => {
                contest.require_same(id, &aim.target, &way, &back.fights)?;
                contest.texts(ctx, id, &back.fights)?
            }
        };
        let changes = back.changes(id, made, &aim, resolved)?;
        let said = message(&state, &archive, reason);
        let (scope, why) = (opening.scope(ctx), (&archive, reason));
        let landed = land_undo(&scope, &aim, (id, &said, sign), why, &changes)?;
        if landed.is_some() {
            return Ok(done(id, &archive, aim, landed, changes));
        }
    }
    Err(busy().help(command!("archive --undo {id}")))
}

fn done(
    id: &SessionId,
    archive: &Oid,
    aim: Aim,
    commit: Option<Oid>,
    changes: Vec<SpecChange>,
) -> Unarchived {
    Unarchived {
        id: id.clone(),
        target: aim.target,
        undone: archive.clone(),
        commit,
        changes,
        finished: false,
    }
}

/// An archived session, and the commit that its record names as its archive.
fn archived(ctx: &Context, snapshot: &Snapshot<'_>, id: &SessionId) -> Result<(State, Oid)> {
    let state = snapshot
        .find(id)?
        .ok_or_else(|| unknown(snapshot, id))?
        .state;
    let Some(Ending::Archived { commit, .. }) = &state.ending else {
        return Err(
            Failure::refused(Code::NotArchived, format!("session {id} is not archived"))
                .help(command!("list --all")),
        );
    };
    // A commit that is gone may stand on a branch as a rebase made it.
    let archive = commit.clone().filter(|commit| {
        let known = ctx.repo.contains(commit).unwrap_or_default();
        let info = known.then(|| ctx.repo.commit_info(commit));
        info.is_none_or(|info| info.is_ok_and(|commit| is_archive_of(&commit, id)))
    });
    let archive = archive.ok_or_else(|| {
        Failure::nothing(
            Code::ArchiveChangedNothing,
            format!("the archive of {id} changed no spec: there is nothing to take back"),
        )
        .help(command!("log").session(id))
    })?;
    Ok((state, archive))
}

/// The named branch, or the one that the session was archived on.
fn aim_at(ctx: &Context, state: &State, onto: Option<&str>) -> Result<Aim> {
    let target = match &state.ending {
        Some(Ending::Archived { target, .. }) => Some(target.as_str()),
        _ => None,
    };
    aim(ctx, state, onto.or(target)).map_err(|failure| match failure.code {
        Code::BranchUnknown => failure.help("name the branch that has the archive with --onto"),
        _ => failure,
    })
}

/// The archive has to be on the branch, and not taken back there yet.
fn require_standing(ctx: &Context, id: &SessionId, archive: &Oid, aim: &Aim) -> Result<Standing> {
    let Some(standing) = standing::on(ctx, archive, id, aim)? else {
        return Err(standing::not_on(ctx, archive, id, aim)?);
    };
    if let Some(commit) = taken_back(ctx, &standing, aim)? {
        return Err(Failure::nothing(
            Code::UnarchivedAlready,
            format!(
                "the archive of {id} was taken back on {} by {}",
                aim.target,
                commit.short()
            ),
        )
        .help(format!("git show {}", commit.short())));
    }
    Ok(standing)
}

/// An archive's own change, merged backwards into the branch as it is now.
struct Backwards {
    /// The changes that merged by themselves.
    changes: Vec<SpecChange>,
    /// The files in which a person has to choose, and the places to choose.
    fights: Vec<SpecConflict>,
    blockers: Vec<Blocker>,
    conflicts: Vec<Conflict>,
    /// Errors that the branch does not have yet.
    faults: Vec<Blocker>,
    /// Set when the archive gave its reason alone: no behaviour changed.
    is_bare: bool,
}

/// Finds what has to change on the branch so that the archive's change is gone.
fn backwards(ctx: &Context, archive: &CommitInfo, aim: &Aim) -> Result<Backwards> {
    let before = match archive.parents.first() {
        Some(parent) => Some(ctx.repo.commit_info(parent)?.tree),
        None => None,
    };
    let text = |tree: Option<&Oid>, path: &str| -> Result<Option<String>> {
        let bytes = match tree {
            Some(tree) => ctx.repo.blob_at(tree, path)?,
            None => None,
        };
        bytes
            .map(|bytes| {
                utf8(&bytes, path).map(str::to_owned).map_err(|finding| {
                    Failure::refused(Code::SpecNotText, format!("{path} is not UTF-8"))
                        .blockers(vec![blocker(&finding)])
                })
            })
            .transpose()
    };
    let mut back = Backwards {
        changes: Vec::new(),
        fights: Vec::new(),
        blockers: Vec::new(),
        conflicts: Vec::new(),
        faults: Vec::new(),
        is_bare: before.as_ref() == Some(&archive.tree),
    };
    for path in ctx.repo.changed_paths(before.as_ref(), &archive.tree)? {
        let sides = Sides {
            made: text(Some(&archive.tree), &path)?,
            was: text(before.as_ref(), &path)?,
            now: text(aim.tree.as_ref(), &path)?,
        };
        let is_spec = path.ends_with("/spec.md");
        let after = if sides.now == sides.made {
            sides.was
        } else if sides.now == sides.was || (sides.now.is_none() && !is_spec) {
            // Somebody took it back by hand, or the changelog has taken the fragment in: that text is its
            // people's.
            continue;
        } else {
            let known = sides.errors(&path);
            let met = if is_spec {
                sides.by_requirement(&path, archive, aim)
            } else {
                sides.by_line(&path, archive, aim)?
            };
            if !met.blockers.is_empty() {
                back.blockers.extend(met.blockers);
                back.conflicts.extend(met.conflicts);
                back.fights.push(SpecConflict {
                    there: aim.blob(ctx, &path)?,
                    path,
                    now: sides.now,
                    marked: met.text,
                    known,
                });
                continue;
            }
            let merged = met.text;
            let merged = Some(merged).filter(|text| !text.trim().is_empty());
            if let Some(text) = &merged
                && is_spec
            {
                let found = read_spec(text.as_bytes(), &path);
                let found = found.map_or_else(|finding| vec![finding], |spec| spec.findings);
                back.faults.extend(new_errors(&found, &known).map(blocker));
            }
            merged
        };
        if after != sides.now {
            back.changes.push(SpecChange {
                path,
                before: sides.now,
                after,
            });
        }
    }
    Ok(back)
}

/// The changes that taking an archive back makes on a commit; nothing where a person has to choose.
pub(in crate::flow) fn undoing(
    ctx: &Context,
    archive: &Oid,
    onto: &Oid,
) -> Result<Option<Vec<SpecChange>>> {
    let aim = Aim {
        target: String::new(),
        target_ref: String::new(),
        tip: Some(onto.clone()),
        tree: Some(ctx.repo.commit_info(onto)?.tree),
    };
    let back = backwards(ctx, &ctx.repo.commit_info(archive)?, &aim)?;
    let is_clean = back.fights.is_empty() && back.blockers.is_empty() && back.faults.is_empty();
    Ok(is_clean.then_some(back.changes))
}

/// A merged file.
struct Met {
    text: String,
    blockers: Vec<Blocker>,
    conflicts: Vec<Conflict>,
}

/// The text of a file: as the archive made it, before the archive, and on the branch now.
struct Sides {
    made: Option<String>,
    was: Option<String>,
    now: Option<String>,
}

impl Sides {
    fn texts(&self) -> [&str; 3] {
        [&self.made, &self.was, &self.now].map(|text| text.as_deref().unwrap_or_default())
    }

    fn names(aim: &Aim) -> MarkerNames<'_> {
        MarkerNames {
            base: "archived",
            ours: "before",
            theirs: &aim.target,
        }
    }

    fn by_requirement(&self, path: &str, archive: &CommitInfo, aim: &Aim) -> Met {
        let [made, was, now] = self.texts();
        let merged = merge_spec(made, was, now, &FileMerge, Self::names(aim));
        let blockers = merged.conflicts.iter().map(|conflict| {
            let name = conflict.requirement.as_ref().unwrap_or(&conflict.section);
            Blocker::new(
                Code::RequirementConflict,
                format!(
                    "{path}:{}: {} on `{name}`: it changed after the archive",
                    conflict.line,
                    conflict.kind.name()
                ),
                since(path, archive, aim),
            )
        });
        Met {
            blockers: blockers.collect(),
            text: merged.text,
            conflicts: merged
                .conflicts
                .into_iter()
                .map(|conflict| Conflict {
                    domain: path.trim_end_matches("/spec.md").to_owned(),
                    ..conflict
                })
                .collect(),
        }
    }

    fn by_line(&self, path: &str, archive: &CommitInfo, aim: &Aim) -> Result<Met> {
        let [made, was, now] = self.texts().map(str::as_bytes);
        let MarkerNames { base, ours, theirs } = Self::names(aim);
        let labels = Labels { base, ours, theirs };
        let merged = merge_file(made, was, now, labels)?;
        let blocker = Blocker::new(
            Code::FileEdited,
            format!("{path} was edited after the archive"),
            since(path, archive, aim),
        );
        Ok(Met {
            text: String::from_utf8_lossy(&merged.text).into_owned(),
            blockers: (!merged.clean).then_some(blocker).into_iter().collect(),
            conflicts: Vec::new(),
        })
    }

    /// Lists the findings in the text on the branch.
    fn errors(&self, path: &str) -> Vec<Finding> {
        let now = self.now.as_deref().unwrap_or_default();
        read_spec(now.as_bytes(), path).map_or(Vec::new(), |spec| spec.findings)
    }
}

/// The command that shows what happened to a file since.
fn since(path: &str, archive: &CommitInfo, aim: &Aim) -> String {
    format!(
        "git log --oneline {}..{} -- {path}",
        archive.id.short(),
        aim.target
    )
}

impl Backwards {
    /// The conflict where the merge has one.
    fn conflict(&self, id: &SessionId, archive: &CommitInfo, aim: &Aim) -> Option<Failure> {
        (!self.blockers.is_empty()).then(|| {
            Failure::conflict(
                Code::UnarchiveConflict,
                format!(
                    "what {id} made of the specs was changed again on {}; nothing was taken back of {}",
                    aim.target,
                    archive.id.short()
                ),
            )
            .blockers(self.blockers.clone())
            .conflicts(self.conflicts.clone())
        })
    }

    /// The changes that go into the commit: those that merged by themselves, and those that were resolved.
    fn changes(
        self,
        id: &SessionId,
        archive: &CommitInfo,
        aim: &Aim,
        resolved: BTreeMap<String, Option<String>>,
    ) -> Result<Vec<SpecChange>> {
        if !self.faults.is_empty() {
            return Err(Failure::refused(
                Code::UnarchiveInvalid,
                format!("without {id} the specs on {} would be invalid", aim.target),
            )
            .blockers(self.faults)
            .help(hint![
                command!("spec install-driver"),
                format!(", then: git revert {}", archive.id.short())
            ]));
        }
        let mut changes = self.changes;
        for fight in self.fights {
            let before = fight.now;
            let after = resolved.get(&fight.path).cloned().flatten();
            if after != before {
                changes.push(SpecChange {
                    path: fight.path,
                    before,
                    after,
                });
            }
        }
        if changes.is_empty() && !self.is_bare {
            return Err(Failure::nothing(
                Code::UnarchivedAlready,
                format!("nothing of the archive of {id} is left on {}", aim.target),
            )
            .help(command!("spec list")));
        }
        Ok(changes)
    }
}

fn message(state: &State, archive: &Oid, reason: Option<&str>) -> String {
    let why = reason.map(str::trim).filter(|reason| !reason.is_empty());
    let why = why.map_or(String::new(), |reason| format!("{reason}\n\n"));
    format!(
        "Take back {}: {}\n\n{why}Loopx-Session: {}\nLoopx-Event: {UNARCHIVE}\nLoopx-Undoes: {}\n",
        state.id,
        store::one_line(&state.title),
        state.id,
        archive
    )
}
