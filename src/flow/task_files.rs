//! The files of tasks by hand: `edit`, `put`, `cat` and `checkout` of `tasks/<id>/...`. The rules of their names are in
//! [`loopx_rules::task::outputs`].

use super::context::Context;
use super::transaction::{load_active, nothing_to_save, texts_here};
use super::workcopy::{self, WorkCopy, require_name};
use super::working::{Put, no_worktree, open_editor};
use super::{files, sessions, view};
use loopx_base::failure::{Code, Failure, Kind, Result};
use loopx_base::hint::{command, hint};
use loopx_rules::session::State;
use loopx_rules::spec_package::{Document, Part};
use loopx_rules::task::node::is_within;
use loopx_rules::task::{outputs, plan};
use std::collections::BTreeMap;

/// The path of a task's file that a name says; nothing where it names an artifact.
pub(crate) fn named(name: &str) -> Result<Option<String>> {
    let path = name.trim_start_matches("./");
    if !is_within(path, outputs::FOLDER) {
        return Ok(None);
    }
    require_name(path)?;
    Ok(Some(path.to_owned()))
}

/// Shows a file, as it is stored now or was after an operation.
pub(crate) fn cat(
    ctx: &Context,
    path: &str,
    at: Option<&str>,
    show: impl FnOnce(&[u8]),
) -> Result<()> {
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let session = ctx.session(&snapshot)?;
    let state = match at {
        Some(point) => view::state_at(&snapshot, &session, point)?,
        None => session.state,
    };
    let blob = state.output(path).ok_or_else(|| missing(&state, path))?;
    ctx.repo.with_blob(blob, show)
}

fn missing(state: &State, path: &str) -> Failure {
    let task = outputs::task_of(path).unwrap_or_default();
    let there: Vec<&str> = state.outputs_of(task).map(|(path, _)| path).collect();
    let has = match there.as_slice() {
        [] => "none".to_owned(),
        some => some.join(", "),
    };
    let message = format!("session {} has no {path}; of {task} it has {has}", state.id);
    let failure = Failure::not_found(Code::ArtifactMissing, message);
    match loopx_base::nearest(path, there) {
        Some(near) => failure.help(command!("cat {near}")),
        None => failure.help(command!("task show {task}")),
    }
}

/// Opens a file in git's editor; a document of a specification package begins with its template. Says whether it
/// changed.
pub(crate) fn edit(ctx: &Context, path: &str) -> Result<bool> {
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let session = load_active(&snapshot, &ctx.session_id_to_change(&snapshot)?)?;
    let state = session.state;
    require_task(ctx, &state, path)?;
    let mut laid_out = false;
    let file = {
        let _lock = store.lock()?;
        let mut copy = WorkCopy::open(&ctx.repo, &state.id)?.ok_or_else(no_worktree)?;
        workcopy::exclude(&ctx.repo)?;
        copy.publish(&state, &BTreeMap::new())?;
        let file = copy.output_path(path)?;
        if !file.exists() {
            let stored = state.output(path).map(|blob| ctx.repo.read_blob(blob));
            let stored = stored.transpose()?;
            laid_out = stored.is_none();
            let template = || match Document::of_path(path) {
                Some((document, Part::Whole)) => document.template(),
                _ => "",
            };
            let text = stored.unwrap_or_else(|| template().as_bytes().to_vec());
            files::write(&file, &text)?;
        }
        file
    };
    let before = files::read(&file, u64::MAX)?;
    let ended = open_editor(&file);
    if laid_out && (ended.is_err() || files::read(&file, u64::MAX)? == before) {
        // Nobody wrote it.
        files::remove(&file)?;
    }
    ended?;
    Ok(files::read(&file, u64::MAX)?.is_some_and(|now| before.as_ref() != Some(&now)))
}

/// Replaces a file by these bytes and saves it, as `put` does with an artifact.
pub(crate) fn put(ctx: &Context, path: &str, bytes: &[u8], reason: Option<String>) -> Result<Put> {
    let mut kept = None;
    let mut before = None;
    let saved = sessions::save_after(ctx, reason, |state, copy| {
        let copy = copy.ok_or_else(no_worktree)?;
        require_task(ctx, state, path)?;
        let (policy, _) = ctx.policy_if_there(state)?;
        files::require_size(path, bytes.len() as u64, policy.artifacts.max_bytes)?;
        copy.check_output(path, bytes, state)?;
        workcopy::exclude(&ctx.repo)?;
        if !copy.exists() {
            copy.publish(state, &BTreeMap::new())?;
        }
        let file = copy.output_path(path)?;
        let stood = files::read(&file, u64::MAX)?;
        if stood.as_deref() != Some(bytes) {
            kept = copy.keep_output(state, path)?;
        }
        files::write(&file, bytes)?;
        before = Some((file, stood));
        Ok(())
    });
    match (saved, before) {
        (Ok(done), _) => Ok(Put { done, kept }),
        (Err(failure), _) if failure.code == nothing_to_save().code => Err(Failure::nothing(
            Code::NothingToSave,
            format!("{path} has this content already"),
        )
        .help(command!("status"))),
        (Err(failure), Some((file, stood))) if failure.kind != Kind::Conflict => {
            match stood {
                Some(stood) => files::write(&file, &stood)?,
                None => files::remove(&file)?,
            }
            Err(failure)
        }
        (Err(failure), _) => Err(failure),
    }
}

/// Refuses a file of a task that the session does not have.
fn require_task(ctx: &Context, state: &State, path: &str) -> Result<()> {
    let task = outputs::task_of(path).unwrap_or_default();
    let (policy, _) = ctx.policy_if_there(state)?;
    let ids = plan::ids(&texts_here(ctx, state, &policy)?, state);
    if ids.contains(task) || state.outputs_of(task).next().is_some() {
        return Ok(());
    }
    let message = format!("session {} has no task `{task}`", state.id);
    let failure = Failure::not_found(Code::TaskUnknown, message);
    let same = ids.iter().find(|id| id.eq_ignore_ascii_case(task));
    let near = same.map(String::as_str);
    let near = near.or_else(|| loopx_base::nearest(task, ids.iter().map(String::as_str)));
    Err(match near {
        Some(near) => failure.help(hint![
            format!("the folder of {near} is tasks/{near}: "),
            command!("task show {near}")
        ]),
        None => failure.help(command!("task list")),
    })
}
