//! Working on artifacts: the editor, `put`, `checkout`.

use super::Done;
use super::context::Context;
use super::files;
use super::sessions;
use super::task_list;
use super::transaction::load_active;
use super::transaction::nothing_to_save;
use super::workcopy::{self, FileStatus, WorkCopy};
use loopx_base::failure::{Code, Failure, Kind, Result};
use loopx_base::hint::{Hint, command, hint};
use loopx_base::id::{Oid, SessionId};
use loopx_base::{counted, shell_word};
use loopx_git::run::Run;
use loopx_rules::artifact::Artifact;
use loopx_rules::profile::Profile;
use loopx_rules::session::State;
use loopx_rules::template::TemplateInput;
use std::collections::BTreeMap;
use std::path::Path;

pub(super) fn no_worktree() -> Failure {
    Failure::usage(
        Code::WorktreeRequired,
        "a working copy needs a worktree, and the repository is bare",
    )
    .help("git worktree add ../work")
}

/// The files of the working copy of the session that is meant that no `save` takes in.
pub(crate) fn not_saved(ctx: &Context) -> Result<Vec<String>> {
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let state = ctx.session(&snapshot)?.state;
    Ok(workcopy::not_saved(&ctx.repo, &state))
}

/// Result of `checkout`.
#[derive(Debug)]
pub(crate) struct CheckedOut {
    pub id: SessionId,
    pub folder: String,
    /// The folder as somebody opens it from where they are.
    pub shown: String,
    /// Left alone because of edits, by path.
    pub edited: Vec<String>,
    /// Replaced, with the blob that keeps what stood there.
    pub replaced: Vec<(String, Oid)>,
}

/// Brings the working copy in step with the branch: these files of it, or all. Edits stay, unless `force` replaces
/// them.
pub(crate) fn checkout(
    ctx: &Context,
    (artifacts, outputs): (&[Artifact], &[String]),
    force: bool,
) -> Result<CheckedOut> {
    let store = ctx.store()?;
    let _lock = store.lock()?;
    let snapshot = store.snapshot()?;
    let session = ctx.session_to_change(&snapshot)?;
    let state = session.state;
    super::sync::move_renamed(&ctx.repo, None, &snapshot);
    let mut copy = WorkCopy::open(&ctx.repo, &state.id)?.ok_or_else(no_worktree)?;
    workcopy::exclude(&ctx.repo)?;
    copy.publish(&state, &BTreeMap::new())?;
    let all = artifacts.is_empty() && outputs.is_empty();
    let wanted = |artifact: &Artifact| all || artifacts.contains(artifact);
    let mut edited = Vec::new();
    let mut replaced = Vec::new();
    let mut restoring = Restoring {
        ctx,
        folder: copy.folder(),
        done: 0,
    };
    for (artifact, status) in copy.statuses(&state)? {
        if !wanted(&artifact) || status == FileStatus::Clean {
            continue;
        }
        if force || matches!(status, FileStatus::Absent) {
            let name = artifact.to_string();
            let kept = restoring.next(&name, copy.restore(&state, artifact))?;
            replaced.extend(kept.map(|kept| (name, kept)));
        } else {
            edited.push(artifact.to_string());
        }
    }
    for (path, status) in copy.output_statuses(&state)? {
        if !(all || outputs.contains(&path)) || status == FileStatus::Clean {
            continue;
        }
        if force || status == FileStatus::Absent {
            let kept = restoring.next(&path, copy.restore_output(&state, &path))?;
            replaced.extend(kept.map(|kept| (path, kept)));
        } else {
            edited.push(path);
        }
    }
    restoring.noted(copy.write_bases())?;
    Ok(CheckedOut {
        shown: ctx.folder(&state.id),
        id: state.id,
        folder: copy.folder(),
        edited,
        replaced,
    })
}

/// Files that are brought back one by one. Once a file is, what fails of the others is left for the same command.
struct Restoring<'c> {
    ctx: &'c Context,
    folder: String,
    done: usize,
}

impl Restoring<'_> {
    /// The blob that keeps what stood in a file before, where something did.
    fn next(&mut self, name: &str, result: Result<Option<Oid>>) -> Result<Option<Oid>> {
        if self.done == 0 || result.is_ok() {
            self.done += usize::from(result.is_ok());
            return result;
        }
        let help = command!("checkout --force {}", shell_word(name));
        let kept = self.ctx.follow((self.words(), name), help, result);
        Ok(kept.flatten())
    }

    fn words(&self) -> String {
        let files = counted(self.done, "file");
        format!("{files} of {} as on the branch", self.folder)
    }

    /// Note of what the files rest on, which comes last.
    fn noted(&self, result: Result<()>) -> Result<()> {
        if self.done == 0 {
            return result;
        }
        let left = "the note of what they rest on";
        (self.ctx).follow((self.words(), left), command!("checkout --force"), result);
        Ok(())
    }
}

/// Opens an artifact in git's editor. Says whether the file changed.
pub(crate) fn edit(ctx: &Context, artifact: Artifact) -> Result<bool> {
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let session = load_active(&snapshot, &ctx.session_id_to_change(&snapshot)?)?;
    let state = session.state.clone();
    if !state.is_open(artifact) {
        return Err(Failure::refused(
            Code::ArtifactLocked,
            format!("{artifact} is closed in stage {}", state.stage),
        )
        .help(if !state.artifacts.contains_key(&artifact) {
            command!("status")
        } else if workcopy::is_amended(artifact, &state) {
            hint![
                "edit the file below .loopx, then: ",
                command!("amend --reason WHY")
            ]
        } else {
            command!("cat {artifact}")
        }));
    }
    let mut laid_out = false;
    let path = {
        let _lock = store.lock()?;
        let mut copy = WorkCopy::open(&ctx.repo, &state.id)?.ok_or_else(no_worktree)?;
        workcopy::exclude(&ctx.repo)?;
        copy.publish(&state, &BTreeMap::new())?;
        let path = copy.path(artifact)?;
        if !path.exists() {
            // One that was removed comes back; else it is a first version.
            if let Some(stored) = snapshot.artifact(&session, artifact)? {
                files::write(&path, &stored)?;
            }
        }
        if !path.exists() {
            let (policy, _) = ctx.policy_if_there(&state)?;
            let profile = policy.profiles.get(&state.profile);
            let text = artifact.template(TemplateInput {
                id: &state.id,
                title: &state.title,
                intent: &state.title,
                domains: &[],
                profile: &profile.unwrap_or_else(|_| Profile::empty()),
                language: policy.artifacts.language,
            });
            files::write(&path, text.as_bytes())?;
            laid_out = true;
        }
        path
    };
    let before = files::read(&path, u64::MAX)?;
    let ended = open_editor(&path);
    // Nobody wrote it.
    if laid_out && ended.is_err() {
        files::remove(&path)?;
    }
    ended?;
    Ok(files::read(&path, u64::MAX)? != before)
}

/// Runs git's editor on a file of the working copy.
pub(super) fn open_editor(path: &Path) -> Result<()> {
    // git resolves GIT_EDITOR, core.editor, VISUAL and EDITOR, and runs it through the shell as documented
    // in git-var(1); the path is an argument, never part of the command text.
    let asked = Run::git(["var", "GIT_EDITOR"]).capture()?;
    if !asked.ended.success() {
        return Err(Failure::refused(
            Code::EditorFailed,
            "git has no editor for this terminal: neither GIT_EDITOR, core.editor, VISUAL nor EDITOR names one",
        )
        .help(by_another_program(path)));
    }
    let editor = asked.line()?;
    let editor = String::from_utf8_lossy(&editor).into_owned();
    let ended = Run::program("sh")
        .args(["-c", &format!("{editor} \"$@\""), &editor])
        .args([path.as_os_str()])
        .inherit_stdin()
        .stream()?;
    if ended.success() {
        return Ok(());
    }
    Err(Failure::refused(
        Code::EditorFailed,
        format!(
            "the editor `{editor}` ended with exit code {}; nothing was saved",
            ended.code
        ),
    )
    .help(by_another_program(path)))
}

/// The way without git's editor.
fn by_another_program(path: &Path) -> Hint {
    hint![
        format!("write {} in another program, then: ", path.display()),
        command!("save"),
        "  (git var GIT_EDITOR says which editor git takes)"
    ]
}

/// Result of `put`.
#[derive(Debug)]
pub(crate) struct Put {
    pub done: Done<()>,
    /// The blob that keeps what stood in the file and had not been saved.
    pub kept: Option<Oid>,
}

/// Replaces an artifact by these bytes and saves it, merging as `save` does. Writing the file and
/// saving it happen under one lock, so that of two who put at once neither loses.
pub(crate) fn put(
    ctx: &Context,
    artifact: Artifact,
    bytes: Vec<u8>,
    reason: Option<String>,
) -> Result<Put> {
    replace(ctx, artifact, reason, |_, _| Ok(Made::Anew(bytes)))
}

/// Replaces an artifact by what `make` makes of the text in its file, edits that were not saved among it.
pub(crate) fn rewrite(
    ctx: &Context,
    artifact: Artifact,
    reason: Option<String>,
    make: impl FnOnce(&State, Option<&[u8]>) -> Result<Vec<u8>>,
) -> Result<Put> {
    replace(ctx, artifact, reason, |state, copy| {
        let known = match (copy.exists(), state.artifacts.get(&artifact)) {
            (true, _) => files::read(&copy.path(artifact)?, u64::MAX)?,
            (false, Some(blob)) => Some(ctx.repo.read_blob(blob)?),
            (false, None) => None,
        };
        make(state, known.as_deref()).map(Made::OfWhatStood)
    })
}

/// The new bytes of an artifact.
enum Made {
    Anew(Vec<u8>),
    OfWhatStood(Vec<u8>),
}

fn replace(
    ctx: &Context,
    artifact: Artifact,
    reason: Option<String>,
    make: impl FnOnce(&State, &WorkCopy<'_>) -> Result<Made>,
) -> Result<Put> {
    let mut kept = None;
    // What stood in the file, to be put back where nothing came of it, and the id of what was put there.
    let mut before = None;
    let saved = sessions::save_after(ctx, reason, |state, copy| {
        let copy = copy.ok_or_else(no_worktree)?;
        let path = copy.path(artifact)?;
        // What is no file is refused before anything else.
        files::size(&path)?;
        let made = make(state, copy)?;
        check_input(ctx, artifact, &made, state)?;
        workcopy::exclude(&ctx.repo)?;
        if !copy.exists() {
            copy.publish(state, &BTreeMap::new())?;
        }
        let (Made::Anew(bytes) | Made::OfWhatStood(bytes)) = &made;
        let put = ctx.repo.hash_blob(bytes)?;
        let stood = Stood::read(ctx, &path)?;
        if matches!(made, Made::Anew(_)) && !stood.is(bytes, &put) {
            kept = copy.keep_unsaved(state, artifact, stood.id())?;
        }
        let stood = stood.held(ctx, &path)?;
        files::write(&path, bytes)?;
        before = Some((path, stood, put));
        Ok(())
    });
    match (saved, before) {
        (Ok(done), _) => Ok(Put { done, kept }),
        // What was put is what is there.
        (Err(failure), Some(_)) if failure.code == nothing_to_save().code => Err(Failure::nothing(
            Code::NothingToSave,
            format!("{artifact} has this content already"),
        )
        .help(command!("status"))),
        // A conflict stands in the file, for a person to resolve.
        (Err(failure), Some((path, stood, put))) if failure.kind != Kind::Conflict => {
            if files::size(&path)?.is_some() && ctx.repo.hash_file(&path)? == put {
                stood.restore(ctx, &path)?;
            }
            Err(failure)
        }
        (Err(failure), _) => Err(failure),
    }
}

/// Content of a file before a command replaced it.
enum Stood {
    Nothing,
    Text(Vec<u8>),
    /// Blob of a file that is too large to be kept in memory beside what replaces it.
    Large(Oid),
}

impl Stood {
    fn read(ctx: &Context, path: &Path) -> Result<Self> {
        Ok(match files::size(path)? {
            None => Stood::Nothing,
            Some(size) if size > workcopy::LARGE => Stood::Large(ctx.repo.hash_file(path)?),
            Some(_) => files::read(path, u64::MAX)?.map_or(Stood::Nothing, Stood::Text),
        })
    }

    /// Tells whether these bytes, which have this id, stood there.
    fn is(&self, bytes: &[u8], id: &Oid) -> bool {
        match self {
            Stood::Nothing => false,
            Stood::Text(text) => text == bytes,
            Stood::Large(blob) => blob == id,
        }
    }

    /// The id of a large file.
    fn id(&self) -> Option<&Oid> {
        match self {
            Stood::Large(blob) => Some(blob),
            _ => None,
        }
    }

    /// The content as it can be put back: in memory where no object has it.
    fn held(self, ctx: &Context, path: &Path) -> Result<Self> {
        match self {
            Stood::Large(blob) if !ctx.repo.contains(&blob)? => {
                Ok(files::read(path, u64::MAX)?.map_or(Stood::Nothing, Stood::Text))
            }
            stood => Ok(stood),
        }
    }

    fn restore(&self, ctx: &Context, path: &Path) -> Result<()> {
        match self {
            Stood::Nothing => files::remove(path),
            Stood::Text(text) => files::write(path, text),
            Stood::Large(blob) => (ctx.repo).with_blob(blob, |bytes| files::write(path, bytes))?,
        }
    }
}

/// Refuses, before a file is touched, what `save` would refuse.
fn check_input(ctx: &Context, artifact: Artifact, made: &Made, state: &State) -> Result<()> {
    let (Made::Anew(bytes) | Made::OfWhatStood(bytes)) = made;
    if !state.is_open(artifact) {
        return Err(Failure::refused(
            Code::ArtifactLocked,
            format!("{artifact} is closed in stage {}", state.stage),
        )
        .help(command!("status")));
    }
    let again = hint![
        "mend the input, and put it again; or: ",
        command!("edit {artifact}")
    ];
    let (policy, _) = ctx.policy_if_there(state)?;
    let name = artifact.to_string();
    files::require_size(&name, bytes.len() as u64, policy.artifacts.max_bytes)?;
    let text = workcopy::as_utf8(bytes, &name, again.clone())?;
    if let Some(line) = workcopy::our_marker_line(text) {
        return Err(workcopy::marked(&name, line, again));
    }
    let mut faults = loopx_rules::gate::faults(artifact, text);
    // Whoever makes a list of another one has read it.
    if artifact == Artifact::TaskList && matches!(made, Made::Anew(_)) {
        faults.extend(task_list::no_objects(text));
    }
    match faults.first() {
        Some(first) => Err(
            Failure::refused(Code::ArtifactInvalid, first.message.clone())
                .help(again)
                .blockers(faults),
        ),
        None => Ok(()),
    }
}
