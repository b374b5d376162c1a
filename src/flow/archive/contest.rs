//! Conflicts for a person: written out with their sides, read back as resolved, forgotten. One road for
//! a delta that goes in and for an archive that is taken back: a contest knows which [`Way`] it is.

use super::super::context::Context;
use super::super::files;
use super::super::journal::{self, Step, Worktree};
use super::super::naming;
use super::super::workcopy::{CONFLICTS, FOLDER, marker_line};
use super::plan::way;
use loopx_base::counted;
use loopx_base::failure::{Code, Failure, Kind, Result};
use loopx_base::hint::{Hint, command, hint};
use loopx_base::id::{Oid, SessionId};
use loopx_rules::next::Advised;
use loopx_rules::op::{parse_json, to_json};
use loopx_rules::session::{Ending, State};
use loopx_rules::stage::Stage;
use loopx_spec::{Finding, Severity, read_spec};
use loopx_store::Snapshot;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The format of a contest's file.
const FORMAT: u32 = 2;

/// The end of the name of a contest's file.
const SUFFIX: &str = ".conflicts.json";

/// The conflicts that were written out, and against what, so that a resolution is not put onto something else.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Contest {
    format: u32,
    pub(super) target: String,
    pub(super) way: Way,
    /// The files in conflict, by their path on the target branch.
    files: BTreeMap<String, Sides>,
}

/// The change that conflicts with the target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Way {
    /// A session's delta goes in.
    Archive { delta: Option<Oid> },
    /// An archive is taken back, for a reason.
    Undo {
        archive: Oid,
        reason: Option<String>,
    },
}

/// A file in conflict, as it was written out.
#[derive(Debug, Serialize, Deserialize)]
struct Sides {
    /// The blob on the target branch.
    there: Option<Oid>,
    /// The text with the marked sides.
    written: Oid,
    /// The path at which a person edits the file.
    file: String,
}

/// A file in conflict, as a merge left it.
pub(super) struct SpecConflict {
    pub(super) path: String,
    /// The blob on the target branch, and its text.
    pub(super) there: Option<Oid>,
    pub(super) now: Option<String>,
    /// The merge with its marked sides.
    pub(super) marked: String,
    /// Errors that the text on the target has already.
    pub(super) known: Vec<Finding>,
}

impl Way {
    /// The command that tries the change.
    pub(super) fn command(&self, id: &SessionId) -> Hint {
        match self {
            Way::Archive { .. } => command!("archive"),
            Way::Undo { .. } => command!("archive --undo {id}"),
        }
    }

    /// The command that settles the conflict, by `--continue` or `--abort`.
    fn settle(&self, id: &SessionId, how: &str) -> Hint {
        match self {
            Way::Archive { .. } => command!("archive {how}"),
            Way::Undo { .. } => command!("archive {id} {how}"),
        }
    }
}

fn folder(ctx: &Context) -> PathBuf {
    ctx.repo.git_dir().join("loopx")
}

fn contest_file(ctx: &Context, id: &SessionId) -> PathBuf {
    folder(ctx).join(format!("{id}{SUFFIX}"))
}

/// Path at which a person edits the file at `path` of the target branch.
fn conflict_path(id: &SessionId, specs: &str, path: &str) -> String {
    let below = path.strip_prefix(specs).and_then(|p| p.strip_prefix('/'));
    format!("{FOLDER}/{id}/{CONFLICTS}/{}", below.unwrap_or(path))
}

/// Tells whether conflicts of a session wait here for a person.
pub(super) fn has_conflicts(ctx: &Context, id: &SessionId) -> bool {
    contest_file(ctx, id).exists()
}

/// The command that goes on with the conflicts of a session that wait here. Behind the end of another way, or before
/// the session is done again, nothing goes on with them: they wait, or are forgotten.
pub(crate) fn waiting(ctx: &Context, state: &State) -> Result<Option<Advised>> {
    let id = &state.id;
    if !has_conflicts(ctx, id) {
        return Ok(None);
    }
    let Ok(Some(contest)) = read_contest(ctx, id) else {
        return Ok(Some(command!("archive {id} --abort").into()));
    };
    let is_about_this = match (&contest.way, &state.ending) {
        (Way::Archive { .. }, None) if state.stage != Stage::Done => return Ok(None),
        (Way::Archive { .. }, None) => contest.way == way(state),
        (
            Way::Undo { archive, .. },
            Some(Ending::Archived {
                commit: Some(commit),
                taken_back: None,
                ..
            }),
        ) => archive == commit,
        _ => false,
    };
    if is_about_this && contest.is_of_now(ctx)? {
        let go_on = contest.way.settle(id, "--continue");
        return Ok(Some(match contest.marked(ctx)?.as_slice() {
            [] => Advised::from(go_on),
            files => Advised::write(hint![
                format!(
                    "choose between the marked sides in {}; then: ",
                    files.join(", ")
                ),
                go_on
            ]),
        }));
    }
    let told = format!(
        "{} has moved since the conflict was written out; copy your text first if you want it",
        contest.target
    );
    Ok(Some(
        Advised::from(command!("archive {id} --abort")).advice(told),
    ))
}

pub(super) fn read_contest(ctx: &Context, id: &SessionId) -> Result<Option<Contest>> {
    let path = contest_file(ctx, id);
    match files::read(&path, u64::MAX)? {
        Some(bytes) => parse_json(&bytes, &path.display().to_string())
            .map(Some)
            .map_err(|failure| {
                failure.help(hint![
                    command!("archive {id} --abort"),
                    ", then: ",
                    command!("archive {id}")
                ])
            }),
        None => Ok(None),
    }
}

pub(super) fn no_conflict() -> Failure {
    Failure::nothing(Code::NoConflict, "no archive waits to be continued here")
        .help(command!("next"))
}

/// The session whose conflict is meant: the named one, the one that is meant here, or the only one.
pub(super) fn contested(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    names: &[String],
) -> Result<SessionId> {
    let mut waiting = BTreeSet::new();
    if let Ok(entries) = std::fs::read_dir(folder(ctx)) {
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            waiting.extend(
                name.strip_suffix(SUFFIX)
                    .and_then(|id| SessionId::fold(id).ok()),
            );
        }
    }
    match names {
        [] => {}
        [name] => return naming::find(snapshot, name),
        [first, ..] => {
            return Err(Failure::usage(
                Code::SeveralSessions,
                "a conflict is one session's: expected one, found several",
            )
            .help(command!("archive {first} --continue")));
        }
    }
    let here = ctx.session_id(snapshot);
    let waiting: Vec<SessionId> = waiting.into_iter().collect();
    match (here, waiting.as_slice()) {
        (Ok(id), _) if ctx.wanted().is_some() || waiting.contains(&id) => Ok(id),
        (Err(failure), _) if ctx.wanted().is_some() => Err(failure),
        (_, [only]) => Ok(only.clone()),
        (_, []) => Err(no_conflict()),
        (_, many) => {
            let names: Vec<&str> = many.iter().map(SessionId::as_str).collect();
            Err(Failure::usage(
                Code::ConflictAmbiguous,
                format!(
                    "conflicts of several sessions wait here: {}",
                    names.join(", ")
                ),
            )
            .help(command!("archive {} --continue", names[0])))
        }
    }
}

/// A resolution that somebody has begun is not written over, and not thrown away unasked.
pub(super) fn refuse_begun(ctx: &Context, id: &SessionId) -> Result<()> {
    let (Some(contest), Some(top)) = (read_contest(ctx, id)?, ctx.repo.work_dir()) else {
        return Ok(());
    };
    let mut begun = Vec::new();
    for sides in contest.files.values() {
        if let Some(bytes) = files::read(&files::inside(top, &sides.file)?, u64::MAX)?
            && ctx.repo.hash_blob(&bytes)? != sides.written
        {
            begun.push(files::shown(&ctx.repo, &sides.file));
        }
    }
    if begun.is_empty() {
        return Ok(());
    }
    Err(Failure::conflict(
        Code::ArchiveConflict,
        format!(
            "a conflict with {} is being resolved in {}",
            contest.target,
            begun.join(", ")
        ),
    )
    .help(hint![
        contest.way.settle(id, "--continue"),
        ", or give the resolution up: ",
        contest.way.settle(id, "--abort")
    ]))
}

/// Writes the three sides where a person can edit them; nothing else changes. `specs` is the folder of
/// specs on the target.
pub(super) fn write_conflicts(
    ctx: &Context,
    id: &SessionId,
    (target, specs): (&str, &str),
    way: Way,
    fights: &[SpecConflict],
    failure: Failure,
) -> Result<Failure> {
    let Some(top) = ctx.repo.work_dir() else {
        return Ok(failure
            .help("run it in a worktree, where the conflict can be edited: git worktree add"));
    };
    if failure.kind != Kind::Conflict {
        return Ok(failure);
    }
    forget_conflicts(ctx, id)?;
    let mut written = BTreeMap::new();
    for fight in fights {
        let file = conflict_path(id, specs, &fight.path);
        files::write(&files::inside(top, &file)?, fight.marked.as_bytes())?;
        let sides = Sides {
            there: fight.there.clone(),
            written: ctx.repo.hash_blob(fight.marked.as_bytes())?,
            file,
        };
        written.insert(fight.path.clone(), sides);
    }
    super::super::workcopy::exclude(&ctx.repo)?;
    let written_to = |one: &Sides| files::shown(&ctx.repo, &one.file);
    let names: Vec<String> = written.values().map(written_to).collect();
    let names = names.join(", ");
    let mut failure = failure.help(hint![
        format!("choose between the marked sides in {names}, then run: "),
        way.settle(id, "--continue")
    ]);
    for blocker in &mut failure.blockers {
        blocker.help = names.as_str().into();
    }
    let contest = Contest {
        format: FORMAT,
        target: target.to_owned(),
        way,
        files: written,
    };
    files::write_in_git_dir(&ctx.repo, &contest_file(ctx, id), &to_json(&contest)?)?;
    Ok(failure)
}

impl Contest {
    /// Tells whether the files on the target are still those of the written conflict, and the files to edit are here.
    fn is_of_now(&self, ctx: &Context) -> Result<bool> {
        let name = format!("refs/heads/{}", self.target);
        let (Some(tip), Some(top)) = (ctx.repo.find_ref(&name)?, ctx.repo.work_dir()) else {
            return Ok(false);
        };
        let tree = ctx.repo.commit_info(&tip)?.tree;
        for (path, sides) in &self.files {
            let there = ctx.repo.entry_at(&tree, path)?.map(|entry| entry.id);
            if there != sides.there || !files::inside(top, &sides.file)?.exists() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The files in which nobody has chosen yet.
    fn marked(&self, ctx: &Context) -> Result<Vec<String>> {
        let mut found = Vec::new();
        let Some(top) = ctx.repo.work_dir() else {
            return Ok(found);
        };
        for sides in self.files.values() {
            let bytes = files::read(&files::inside(top, &sides.file)?, u64::MAX)?;
            let text = String::from_utf8(bytes.unwrap_or_default());
            if text.is_ok_and(|text| marker_line(&text).is_some()) {
                found.push(files::shown(&ctx.repo, &sides.file));
            }
        }
        Ok(found)
    }

    pub(super) fn is_undo(&self) -> bool {
        matches!(self.way, Way::Undo { .. })
    }

    /// Refuses a resolution of something else than what is in conflict now.
    pub(super) fn require_same(
        &self,
        id: &SessionId,
        target: &str,
        way: &Way,
        fights: &[SpecConflict],
    ) -> Result<()> {
        let moved = |what: String| {
            let again = hint![
                self.way.settle(id, "--abort"),
                "  (copy your text first if you want it), then: ",
                self.way.command(id)
            ];
            Err(Failure::refused(Code::TargetMoved, what).help(again))
        };
        if self.target != target {
            return moved(format!(
                "the conflict that was written out is one with {}, not with {target}",
                self.target
            ));
        }
        if self.way != *way {
            return moved(match way {
                Way::Archive { .. } => {
                    "the session's delta changed since the conflict was written out".into()
                }
                Way::Undo { .. } => {
                    "the conflict that was written out is not one of taking this archive back"
                        .into()
                }
            });
        }
        let now: BTreeMap<&str, Option<&Oid>> = fights
            .iter()
            .map(|fight| (fight.path.as_str(), fight.there.as_ref()))
            .collect();
        let then = self
            .files
            .iter()
            .map(|(path, sides)| (path.as_str(), sides.there.as_ref()));
        if now != then.collect() {
            return moved(format!(
                "the specs on {target} changed since the conflict was written out"
            ));
        }
        Ok(())
    }

    /// The files as they were resolved, by their path on the target. `None`: the file goes, which only
    /// taking an archive back can mean.
    pub(super) fn texts(
        &self,
        ctx: &Context,
        id: &SessionId,
        fights: &[SpecConflict],
    ) -> Result<BTreeMap<String, Option<String>>> {
        let top = ctx
            .repo
            .work_dir()
            .ok_or_else(|| Failure::usage(Code::WorktreeRequired, "this needs a worktree"))?;
        let mut texts = BTreeMap::new();
        for (path, sides) in &self.files {
            let shown = files::shown(&ctx.repo, &sides.file);
            let text = self.text(&files::inside(top, &sides.file)?, id, &shown)?;
            let goes = self.is_undo() && text.trim().is_empty();
            if !goes && path.ends_with("/spec.md") {
                let known = fights.iter().find(|fight| fight.path == *path);
                let known = known.map_or(&[][..], |fight| &fight.known);
                let faults = match read_spec(text.as_bytes(), &shown) {
                    Ok(spec) => spec.findings,
                    Err(finding) => vec![finding],
                };
                if let Some(fault) = new_errors(&faults, known).next() {
                    return Err(Failure::refused(
                        Code::ResolutionInvalid,
                        format!("{}:{}: {}", fault.file, fault.line, fault.message),
                    )
                    .help(fault.fix.clone()));
                }
            }
            texts.insert(path.clone(), (!goes).then_some(text));
        }
        Ok(texts)
    }

    /// Reads a resolved file, in which no marker may be left; `file` is its path as a person opens it.
    fn text(&self, place: &Path, id: &SessionId, file: &str) -> Result<String> {
        let bytes = files::read(place, u64::MAX)?.ok_or_else(|| {
            Failure::conflict(Code::ConflictFileMissing, format!("{file} is not there")).help(
                hint![
                    self.way.settle(id, "--abort"),
                    ", then: ",
                    self.way.command(id)
                ],
            )
        })?;
        let text = String::from_utf8(bytes).map_err(|_| {
            Failure::conflict(
                Code::ConflictNotUtf8,
                format!("{file}: expected UTF-8, found other bytes"),
            )
        })?;
        match marker_line(&text) {
            None => Ok(text),
            Some(line) => Err(Failure::conflict(
                Code::ConflictUnresolved,
                format!("{file}:{line}: conflict markers are still there"),
            )
            .help(hint![
                "choose between the marked sides, then run: ",
                self.way.settle(id, "--continue")
            ])),
        }
    }
}

/// Errors that are not known from the text before.
pub(super) fn new_errors<'f>(
    found: &'f [Finding],
    known: &'f [Finding],
) -> impl Iterator<Item = &'f Finding> {
    found.iter().filter(|finding| {
        finding.severity == Severity::Error && !known.iter().any(|old| old.id == finding.id)
    })
}

/// The step that forgets the conflicts of a session, where some wait in this worktree.
pub(super) fn clear_conflicts(ctx: &Context, id: &SessionId) -> Result<Option<Step>> {
    let path = contest_file(ctx, id);
    let Some(bytes) = files::read(&path, u64::MAX)? else {
        return Ok(None);
    };
    let contest = serde_json::from_slice::<Contest>(&bytes).ok();
    let sides = contest.into_iter().flat_map(|contest| contest.files);
    Ok(Some(Step::Clear {
        at: Worktree::here(&ctx.repo),
        below: format!("{FOLDER}/{id}"),
        files: sides.map(|(_, sides)| sides.file).collect(),
        note: format!("loopx/{id}{SUFFIX}"),
    }))
}

/// Forgets the conflicts of a session. Once a file is gone, whatever stays is left for the same command.
fn forget_conflicts(ctx: &Context, id: &SessionId) -> Result<()> {
    let Some(Step::Clear {
        below, files, note, ..
    }) = clear_conflicts(ctx, id)?
    else {
        return Ok(());
    };
    match journal::clear_counted(ctx, &below, &files, &note) {
        (gone @ 1.., Err(failure)) => {
            let verb = if gone == 1 { "is" } else { "are" };
            let done = format!("{} of the conflict {verb} gone", counted(gone, "file"));
            let help = command!("archive {id} --abort");
            ctx.follow((done, "the rest of it"), help, Err::<(), _>(failure));
            Ok(())
        }
        (_, cleared) => cleared,
    }
}

/// Forgets the conflicts of a session. Gives what they were about, where that can be read.
pub(super) fn abort(ctx: &Context, id: &SessionId) -> Result<Option<Contest>> {
    if !has_conflicts(ctx, id) {
        return Err(no_conflict());
    }
    let contest = read_contest(ctx, id).ok().flatten();
    forget_conflicts(ctx, id)?;
    Ok(contest)
}
