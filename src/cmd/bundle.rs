//! `export` and `import bundle`: one session, as a file.

use crate::cli::Exit;
use crate::flow::bundle;
use crate::flow::bundle::Imported;
use crate::flow::{Context, fork};
use crate::ui::{Ui, clean, style};
use loopx_base::failure::Result;
use loopx_base::hint::{command, hint};
use loopx_base::{counted, shell_word};
use std::path::PathBuf;

/// Write one session with its history into a file that another repository can import
#[derive(Debug, clap::Args)]
pub struct ExportArgs {
    /// The session
    pub session: String,
    /// The file (default: SESSION.bundle)
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Replace a file that is there
    #[arg(short, long)]
    pub force: bool,
}

/// Take in a session that was exported
#[derive(Debug, clap::Args)]
pub struct BundleArgs {
    /// The file
    pub file: PathBuf,
}

pub(crate) fn export(args: ExportArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let done = bundle::export(ctx, &args.session, args.output.as_deref(), args.force)?;
    ui.status(format!(
        "{}: {} in {} written to {}",
        ui.paint(style::NAME, done.session.as_str()),
        counted(done.operations, "operation"),
        counted(done.commits, "commit"),
        clean(&done.file)
    ));
    ui.hint(hint![
        "to take it in, in the other repository: ",
        command!("import bundle FILE")
    ]);
    ui.json("export", &done);
    Ok(Exit::Done)
}

pub(crate) fn import(args: BundleArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let done = bundle::import(ctx, &args.file)?;
    let exit = tell(&done, "the bundle", None, ui);
    ui.json("import bundle", &done);
    Ok(exit)
}

/// Takes in a session of a fork.
pub(crate) fn import_from(from: &str, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let done = fork::import_from(ctx, from, ctx.wanted())?;
    let fetch = done.missing_branch.as_ref().map(|branch| {
        let (from, spec) = (
            shell_word(from),
            shell_word(&format!("refs/heads/{branch}:refs/heads/{branch}")),
        );
        format!("git fetch {from} {spec}   (the commits of the session)")
    });
    let exit = tell(&done.imported, from, fetch, ui);
    ui.json("import", &done);
    Ok(exit)
}

/// Says what came in, and what leads on: `fetch`, where the commits are not here.
fn tell(done: &Imported, from: &str, fetch: Option<String>, ui: &mut Ui) -> Exit {
    let renamed = done.renamed.first();
    for one in &done.renamed {
        ui.warn(format!(
            "two sessions are named {}: the one that is \"{}\" is {} from now on",
            one.from,
            clean(&one.title),
            one.to
        ));
    }
    let said = match &done.commit {
        Some(commit) => format!(
            "{} taken in ({})",
            counted(done.operations, "operation"),
            commit.short()
        ),
        None => "all of it was here".to_owned(),
    };
    ui.status(format!(
        "{}: {said}",
        ui.paint(style::NAME, done.session.as_str())
    ));
    super::sync::lost(from, &done.taken_away, false, ui);
    if let Some(one) = done.conflicts.first() {
        super::sync::open_conflicts(&done.conflicts, ui);
        ui.hint(command!("resolve").session(&one.session));
    } else if let Some(fetch) = fetch {
        ui.hint(fetch);
    } else if renamed.is_none() {
        ui.hint(command!("status").session(&done.session));
    }
    if done.conflicts.is_empty() {
        Exit::Done
    } else {
        Exit::Conflict
    }
}
