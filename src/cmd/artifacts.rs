//! `edit`, `put`, `cat`, `checkout`, `save`.

use super::report;
use crate::cli::Exit;
use crate::flow::{Context, preview, sessions, task_files, view, workcopy, working};
use crate::ui::{Ui, clean, line};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{command, hint};
use loopx_base::shell_word;
use loopx_rules::artifact::Artifact;
use serde_json::{Value, json};
use std::io::{IsTerminal, Read};

/// The largest input that is read from a file or a pipe before policy is known.
const MAX_INPUT: u64 = 64 * 1024 * 1024;

/// A file's bytes, or stdin's for `-`.
pub(super) fn read_bytes(file: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let failed = |error: std::io::Error| {
        Failure::not_found(Code::FileUnreadable, format!("{file}: {error}"))
            .help("name a file that can be read, or `-` for stdin")
    };
    if file == "-" {
        std::io::stdin()
            .take(MAX_INPUT)
            .read_to_end(&mut bytes)
            .map_err(failed)?;
    } else {
        let read = |file: std::fs::File| {
            // A large text is read into the room that it needs.
            let size = file.metadata()?.len().min(MAX_INPUT);
            bytes.reserve_exact(usize::try_from(size).unwrap_or_default());
            file.take(MAX_INPUT).read_to_end(&mut bytes)
        };
        std::fs::File::open(file).and_then(read).map_err(failed)?;
    }
    Ok(bytes)
}

pub(super) fn read_text(file: &str) -> Result<String> {
    String::from_utf8(read_bytes(file)?)
        .map_err(|_| Failure::usage(Code::InputNotUtf8, format!("{file}: expected UTF-8")))
}

fn saved(ctx: &Context, ui: &mut Ui, command: &str, done: &crate::flow::Done<()>, extra: Value) {
    report(ctx, ui, command, done, "saved", extra);
}

pub(crate) fn save(reason: Option<String>, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let done = match sessions::save(ctx, reason) {
        Ok(done) => done,
        // Those files may be all that somebody wrote.
        Err(failure) if failure.code == Code::NothingToSave => {
            name_not_saved(&working::not_saved(ctx).unwrap_or_default(), ui);
            return Err(failure);
        }
        Err(failure) => return Err(failure),
    };
    let not_saved = workcopy::not_saved(&ctx.repo, &done.state);
    name_not_saved(&not_saved, ui);
    saved(ctx, ui, "save", &done, json!({ "not_saved": not_saved }));
    Ok(Exit::Done)
}

fn name_not_saved(names: &[String], ui: &mut Ui) {
    if ui.is_json() {
        return;
    }
    for name in names {
        ui.warn(format!("not saved: {} is no artifact", line(name)));
    }
}

pub(crate) fn edit(artifact: Option<&str>, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    if let Some(path) = artifact.map(task_files::named).transpose()?.flatten() {
        let changed = task_files::edit(ctx, &path)?;
        return edited(&path, changed, ctx, ui);
    }
    let artifact = match artifact {
        Some(name) => Artifact::parse(name)?,
        None => {
            let (artifact, wanted) = preview::first_to_write(ctx)?;
            let named = format!("{artifact}: ");
            let wanted = wanted.strip_prefix(&named).unwrap_or(&wanted);
            ui.status(format!("opening {artifact}: {}", clean(wanted)));
            artifact
        }
    };
    let changed = working::edit(ctx, artifact)?;
    let done = edited(artifact.path(), changed, ctx, ui)?;
    // What it lacks all the same is said where it was just closed; what keeps that from being known, by `status`.
    for wanted in preview::wanted_of(ctx, artifact).unwrap_or_default() {
        ui.status(format!("still wanted: {}", clean(&wanted)));
    }
    Ok(done)
}

fn edited(artifact: &str, changed: bool, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    if changed {
        match sessions::save(ctx, None) {
            // The editor put back what is saved.
            Err(failure) if failure.code == Code::NothingToSave => {}
            done => {
                saved(ctx, ui, "edit", &done?, json!({}));
                return Ok(Exit::Done);
            }
        }
    }
    ui.status(format!("{artifact} is unchanged"));
    ui.json("edit", &json!({ "artifact": artifact, "changed": false }));
    Ok(Exit::Done)
}

/// Replace an artifact by a file's content, and save it
#[derive(Debug, clap::Args)]
pub struct PutArgs {
    /// The artifact, like spec.md
    pub artifact: String,
    /// The file, `-` for stdin (default: stdin, where that is no terminal)
    pub file: Option<String>,
    /// Save an empty artifact too
    #[arg(long)]
    pub allow_empty: bool,
    /// Why, for the record
    #[arg(long, value_parser = crate::cmd::reason, value_name = "TEXT")]
    pub reason: Option<String>,
}

pub(crate) fn put(args: PutArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let PutArgs {
        artifact,
        file,
        allow_empty,
        reason,
    } = args;
    let (artifact, output) = match task_files::named(&artifact)? {
        Some(path) => (None, path),
        None => {
            let artifact = Artifact::parse(&artifact)?;
            (Some(artifact), artifact.to_string())
        }
    };
    let name = shell_word(&output);
    if file.is_none() && std::io::stdin().is_terminal() {
        return Err(Failure::usage(
            Code::InputMissing,
            format!("expected the text of {output} in a file, or on stdin"),
        )
        .help(hint![
            command!("put {name} FILE"),
            "  or, to type it here: ",
            command!("put {name} -")
        ]));
    }
    let file = file.as_deref().unwrap_or("-");
    let bytes = read_bytes(file)?;
    if bytes.is_empty() && !allow_empty {
        let place = if file == "-" { "stdin" } else { file };
        return Err(Failure::usage(
            Code::InputMissing,
            format!("expected the text of {output}, found nothing in {place}"),
        )
        .help(command!("put {name} {} --allow-empty", shell_word(file))));
    }
    let put = match artifact {
        Some(artifact) => working::put(ctx, artifact, bytes, reason)?,
        None => task_files::put(ctx, &output, &bytes, reason)?,
    };
    if let Some(blob) = &put.kept {
        ui.status(format!(
            "{output} had unsaved edits; they are kept: git cat-file blob {blob}"
        ));
    }
    saved(ctx, ui, "put", &put.done, json!({ "kept": put.kept }));
    Ok(Exit::Done)
}

pub(crate) fn cat(artifact: &str, at: Option<&str>, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let mut show = |name: &str, bytes: &[u8]| {
        if ui.is_json() {
            let text = String::from_utf8_lossy(bytes);
            ui.json("cat", &json!({ "artifact": name, "text": text }));
        } else {
            ui.raw(bytes);
        }
    };
    match task_files::named(artifact)? {
        Some(path) => task_files::cat(ctx, &path, at, |bytes| show(&path, bytes))?,
        None => {
            let artifact = Artifact::parse(artifact)?;
            view::cat(ctx, artifact, at, |bytes| show(artifact.path(), bytes))?;
        }
    }
    Ok(Exit::Done)
}

pub(crate) fn checkout(names: &[String], force: bool, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let (mut artifacts, mut outputs) = (Vec::new(), Vec::new());
    for name in names {
        match task_files::named(name)? {
            Some(path) => outputs.push(path),
            None => artifacts.push(Artifact::parse(name)?),
        }
    }
    let done = working::checkout(ctx, (&artifacts, &outputs), force)?;
    ui.status(format!("{}: checked out in {}", done.id, done.shown));
    for artifact in &done.edited {
        ui.warn(format!(
            "{artifact} has edits and was left alone; `{}` replaces it",
            ui.command(&command!("checkout --force {}", shell_word(artifact)))
        ));
    }
    for (artifact, blob) in &done.replaced {
        ui.status(format!(
            "{artifact} was replaced; your text is kept: git cat-file blob {blob}"
        ));
    }
    ui.json(
        "checkout",
        &json!({
            "session": done.id,
            "folder": done.folder,
            "edited": done.edited,
            "replaced": done.replaced.iter().map(|(artifact, blob)| json!({"artifact": artifact, "kept": blob})).collect::<Vec<_>>(),
        }),
    );
    Ok(Exit::Done)
}
