//! `archive`: arguments, and how its result reads.

use crate::cli::Exit;
use crate::core::failure::{Failure, Result};
use crate::flow::Context;
use crate::flow::archive::{self, Mode, SpecChange, Waivers};
use crate::ui::{Ui, clean, diff};
use serde_json::{Value, json};

/// Merge the session's delta into the specs, in one commit, and close the session
#[derive(Debug, clap::Args)]
pub struct ArchiveArgs {
    /// The branch to commit to (default: the bound one)
    #[arg(long, value_name = "BRANCH")]
    pub onto: Option<String>,
    /// Show what would change; write nothing
    #[arg(short = 'n', long, group = "mode")]
    pub dry_run: bool,
    /// Finish after the conflicts in .loopx/ID/conflicts were resolved
    #[arg(long = "continue", group = "mode")]
    pub go_on: bool,
    /// Forget the conflicts that were written out
    #[arg(long, group = "mode")]
    pub abort: bool,
    /// Take the archive of a session back, by a new commit
    #[arg(long, value_name = "ID", group = "why", conflicts_with_all = ["go_on", "abort"])]
    pub undo: Option<String>,
    /// Let domain/Requirement/Scenario in without evidence; can be repeated
    #[arg(
        long,
        value_name = "SCENARIO",
        group = "why",
        requires = "reason",
        conflicts_with = "abort"
    )]
    pub waive: Vec<String>,
    /// Why it is taken back or waived: the commit carries it
    #[arg(long, value_name = "WHY", requires = "why")]
    pub reason: Option<String>,
}

pub fn archive(args: ArchiveArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let mode = match (args.dry_run, args.go_on, args.abort) {
        (true, ..) => Mode::DryRun,
        (_, true, _) => Mode::Continue,
        (.., true) => Mode::Abort,
        _ => Mode::Merge,
    };
    if let Some(id) = &args.undo {
        return undo(&args, id, ctx, ui);
    }
    let waivers = Waivers {
        scenarios: args.waive,
        reason: args.reason.unwrap_or_default().trim().to_owned(),
    };
    if !waivers.scenarios.is_empty() && waivers.reason.is_empty() {
        return Err(Failure::usage("reason_missing", "the reason is empty")
            .help("git loopx archive --waive SCENARIO --reason WHY"));
    }
    let done = archive::archive(ctx, args.onto.as_deref(), mode, &waivers)?;
    let files = show(&done.changes, mode == Mode::DryRun, ui);
    for warning in &done.warnings {
        ui.warn(clean(warning));
    }
    match (mode, &done.commit) {
        (Mode::DryRun, _) => {
            let n = done.changes.len();
            let files = if n == 1 {
                "1 spec".to_owned()
            } else {
                format!("{n} specs")
            };
            ui.status(format!(
                "{}: would change {files} on {}",
                done.id,
                clean(&done.target)
            ));
            ui.hint("git loopx archive");
        }
        (Mode::Abort, _) => {
            ui.status(format!(
                "{}: the conflicts are forgotten; the session is still done",
                done.id
            ));
            ui.hint("git loopx archive");
        }
        (_, Some(commit)) => {
            let how = if done.finished {
                "finished an earlier archive"
            } else {
                "archived"
            };
            ui.status(format!(
                "{}: {how} on {} as {}",
                done.id,
                clean(&done.target),
                commit.short()
            ));
            ui.hint(format!("git show --stat {}", commit.short()));
        }
        (_, None) => ui.status(format!(
            "{}: archived on {}; the specs said so already",
            done.id,
            clean(&done.target)
        )),
    }
    ui.json(
        "archive",
        &json!({
            "session": done.id,
            "target": done.target,
            "commit": done.commit,
            "dry_run": mode == Mode::DryRun,
            "aborted": mode == Mode::Abort,
            "finished_earlier": done.finished,
            "files": files,
            "warnings": done.warnings,
        }),
    );
    Ok(Exit::Done)
}

fn undo(args: &ArchiveArgs, id: &str, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let (onto, reason) = (args.onto.as_deref(), args.reason.as_deref());
    let done = archive::unarchive(ctx, id, onto, reason, args.dry_run)?;
    let files = show(&done.changes, args.dry_run, ui);
    let (id, target, undone) = (&done.id, clean(&done.target), done.undone.short());
    match &done.commit {
        Some(commit) => {
            let commit = commit.short();
            let how = match done.finished {
                true => "finished taking",
                false => "took",
            };
            ui.status(format!("{id}: {how} {undone} back on {target} as {commit}"));
            ui.hint(format!("git show {commit}"));
        }
        None => {
            ui.status(format!("{id}: would take {undone} back on {target}"));
            ui.hint(format!("git loopx archive --undo {id}"));
        }
    }
    ui.json(
        "archive --undo",
        &json!({
            "session": done.id,
            "target": done.target,
            "undone": done.undone,
            "commit": done.commit,
            "dry_run": args.dry_run,
            "finished_earlier": done.finished,
            "files": files,
        }),
    );
    Ok(Exit::Done)
}

/// Shows what becomes of the files, and gives it as JSON.
fn show(changes: &[SpecChange], dry_run: bool, ui: &mut Ui) -> Vec<Value> {
    let color = ui.color();
    let mut files = Vec::new();
    for change in changes {
        let (old, new) = (
            change.before.as_deref().unwrap_or(""),
            change.after.as_deref().unwrap_or(""),
        );
        if dry_run {
            ui.raw_text(&diff::unified(&change.path, old, new, color));
        } else {
            let verb = match (&change.before, &change.after) {
                (None, _) => "new",
                (_, None) => "gone",
                _ => "merged",
            };
            ui.status(format!("  {verb:6}  {}", clean(&change.path)));
        }
        files.push(json!({
            "path": change.path,
            "created": change.before.is_none(),
            "removed": change.after.is_none(),
            "diff": diff::unified(&change.path, old, new, false),
        }));
    }
    files
}
