//! `edit`, `put`, `cat`, `checkout`, `save`.

use super::report;
use crate::cli::Exit;
use crate::core::artifact::Artifact;
use crate::core::failure::{Code, Failure, Result};
use crate::core::hint::command;
use crate::flow::{Context, sessions, view, working};
use crate::ui::Ui;
use serde_json::{Value, json};
use std::io::Read;

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
        std::fs::File::open(file)
            .and_then(|file| file.take(MAX_INPUT).read_to_end(&mut bytes))
            .map_err(failed)?;
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

pub fn save(reason: Option<String>, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let done = sessions::save(ctx, reason)?;
    saved(ctx, ui, "save", &done, json!({}));
    Ok(Exit::Done)
}

pub fn edit(artifact: &str, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let artifact = Artifact::parse(artifact)?;
    if working::edit(ctx, artifact)? {
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

pub fn put(
    artifact: &str,
    file: &str,
    reason: Option<String>,
    ctx: &Context,
    ui: &mut Ui,
) -> Result<Exit> {
    let artifact = Artifact::parse(artifact)?;
    let bytes = read_bytes(file)?;
    let put = working::put(ctx, artifact, &bytes, reason)?;
    if let Some(blob) = &put.kept {
        ui.status(format!(
            "{artifact} had unsaved edits; they are kept: git cat-file blob {blob}"
        ));
    }
    saved(ctx, ui, "put", &put.done, json!({ "kept": put.kept }));
    Ok(Exit::Done)
}

pub fn cat(artifact: &str, at: Option<&str>, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let artifact = Artifact::parse(artifact)?;
    let bytes = view::cat(ctx, artifact, at)?;
    ui.json(
        "cat",
        &json!({ "artifact": artifact, "text": String::from_utf8_lossy(&bytes) }),
    );
    if !ui.is_json() {
        ui.raw(&bytes);
    }
    Ok(Exit::Done)
}

pub fn checkout(artifacts: &[String], force: bool, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let artifacts = artifacts
        .iter()
        .map(|name| Artifact::parse(name))
        .collect::<Result<Vec<_>>>()?;
    let done = working::checkout(ctx, &artifacts, force)?;
    ui.status(format!("{}: checked out in {}", done.id, done.folder));
    for artifact in &done.edited {
        ui.warn(format!(
            "{artifact} has edits and was left alone; `{}` replaces it",
            ui.command(&command!("checkout --force {artifact}"))
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
