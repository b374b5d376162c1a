//! `finish`, `reopen`, `profile`.

use super::{SignArgs, check_line, debt_line, report, warn_policy_moved};
use crate::cli::Exit;
use crate::flow::finish as flow;
use crate::flow::finish::{FinishRequest, Finished, Preview};
use crate::flow::issue::sessions::ToResolve;
use crate::flow::policy_moved::PolicyMoved;
use crate::flow::{Context, next, profile, reopen as reopen_flow};
use crate::ui::{Ui, clean, style};
use loopx_base::counted;
use loopx_base::failure::{Code, Failure, Kind, Result};
use loopx_base::hint::command;
use loopx_rules::next::Advised;
use loopx_rules::profile::ProfileName;
use loopx_rules::stage::{Stage, Transition};
use serde_json::json;

/// Take the session as far as policy lets you, up to the archive
///
/// Shows what it is about to approve and asks once. Each step is recorded as by its own command; it stops at the first
/// that wants somebody else, and never passes what a gate holds.
#[derive(Debug, clap::Args)]
pub struct FinishArgs {
    /// The session (default: the one that is meant)
    pub id: Option<String>,
    /// Do not ask for confirmation
    #[arg(short, long)]
    pub yes: bool,
    /// The branch to archive onto (default: the bound one)
    #[arg(long, value_name = "BRANCH")]
    pub onto: Option<String>,
    /// Why, for the record
    #[arg(long, value_parser = crate::cmd::reason, value_name = "TEXT")]
    pub reason: Option<String>,
    #[command(flatten)]
    pub sign: SignArgs,
}

pub(crate) fn finish(args: FinishArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let request = FinishRequest {
        onto: args.onto,
        reason: args.reason,
        sign: args.sign.wanted(ctx),
    };
    let preview = flow::preview(ctx, &request)?;
    let said = summary(&preview);
    show(&preview, ui);
    if let Some(moved) = &preview.policy_moved {
        warn_policy_moved(moved, ui);
    }
    if !args.yes {
        let question = format!("{said}. Approve your own work and archive it? [y/N] ");
        match ui.ask(&question) {
            None => {
                return Err(Failure::usage(
                    Code::AnswerMissing,
                    format!("{said}: expected --yes, because there is no terminal to ask at"),
                )
                .help(command!("finish --yes")));
            }
            Some(false) => {
                ui.status("nothing was done");
                return Ok(Exit::Blocked);
            }
            // Whoever says yes to one content approves no other.
            Some(true) if flow::preview(ctx, &request)? != preview => {
                return Err(Failure::refused(
                    Code::ApprovalStale,
                    "the session or the code changed while git loopx waited for your answer: nothing was approved",
                )
                .help(command!("finish")));
            }
            Some(true) => {}
        }
    } else {
        ui.status(said);
    }
    let done = flow::finish(ctx, &request)?;
    let before = (preview.policy_moved.as_ref(), preview.issues.as_slice());
    Ok(tell(&done, before, ctx, ui))
}

/// Number of files that a preview names before they are counted.
const NAMED: usize = 20;

/// The range and the files that are about to be approved.
fn show(preview: &Preview, ui: &mut Ui) {
    if let (Some(base), Some(head)) = (&preview.base, &preview.head)
        && preview.commits > 0
    {
        ui.status(format!("{}..{}", base.short(), head.short()));
    }
    for path in preview.files.iter().take(NAMED) {
        ui.status(if preview.outside.contains(path) {
            format!("  {}  outside the plan's scope", clean(path))
        } else {
            format!("  {}", clean(path))
        });
    }
    let more = preview.files.len().saturating_sub(NAMED);
    if more > 0 {
        ui.status(format!("  and {more} more"));
    }
    for one in &preview.bypassed {
        ui.warn(one.words());
    }
    for item in &preview.by_word {
        ui.status(check_line(ui, "  ", item));
    }
    for debt in &preview.left {
        ui.status(format!("  left by {}", debt_line(debt)));
    }
    super::issue::tell_resolved(&preview.issues, ui);
}

/// `1 commit, 1 file, 1 of 1 checks passed`.
fn summary(preview: &Preview) -> String {
    let mut parts = Vec::new();
    if matches!(preview.stage, Stage::Build | Stage::Review) {
        parts.push(counted(preview.commits, "commit"));
        parts.push(counted(preview.files.len(), "file"));
    } else {
        parts.push(counted(preview.artifacts.len(), "document"));
    }
    if preview.checks > 0 {
        let (passed, all) = (preview.checks_passed, preview.checks);
        parts.push(if passed == all {
            format!("{} passed", counted(all, "check"))
        } else {
            format!("{passed} of {} passed", counted(all, "check"))
        });
        if preview.checks_waived > 0 {
            parts.push(format!("{} waived", preview.checks_waived));
        }
        if preview.checks_looked > 0 {
            parts.push(format!("{} looked at by a person", preview.checks_looked));
        }
    }
    parts.join(", ")
}

fn tell(
    done: &Finished,
    (moved, issues): (Option<&PolicyMoved>, &[ToResolve]),
    ctx: &Context,
    ui: &mut Ui,
) -> Exit {
    let archived = done.archived.as_ref();
    let commit = archived.and_then(|one| one.commit.as_ref());
    let steps = done
        .steps
        .iter()
        .filter(|step| archived.is_none() || !step.starts_with("archived"));
    let mut said: Vec<String> = steps.map(|step| clean(step)).collect();
    for warning in archived.iter().flat_map(|one| &one.warnings) {
        ui.warn(clean(warning));
    }
    if let Some(one) = archived {
        said.push(match commit {
            Some(commit) => format!("archived on {} as {}", clean(&one.target), commit.short()),
            None => format!("archived on {}; no spec had to change", clean(&one.target)),
        });
    }
    ui.status(format!(
        "{}: {}",
        ui.paint(style::NAME, done.id.as_str()),
        said.join(", ")
    ));
    // What is archived stands, whether or not anybody can say what is next.
    let after = archived.and_then(|one| next::of_session(ctx, &one.id).ok());
    if let Some(after) = &after {
        ui.next(after);
    }
    // Who is waited for may need something of what was done here first.
    let first = done.stopped.as_ref().and_then(|failure| {
        let found = next::of_session(ctx, &done.id).ok()?;
        (failure.kind == Kind::Waiting && found.command().is_some()).then_some(found)
    });
    if let Some(failure) = &done.stopped {
        ui.warn(format!("it waits: {}", clean(&failure.message)));
        match (&first, &failure.help) {
            (Some(first), _) => ui.next(first),
            (None, Some(help)) => ui.hint(help),
            (None, None) => {}
        }
    }
    let after = after.or(first);
    let mut document = json!({
            "session": done.id,
            "stage": done.state.stage,
            "steps": done.steps,
            "self_reviewed": done.self_reviewed,
            "policy_moved": moved,
            "archived": archived.is_some(),
            "issues": issues,
            "target": archived.map(|one| &one.target),
            "commit": commit,
            "waits_for": done.stopped.as_ref().map(|failure| &failure.message),
            "next_action": after.as_ref().and_then(Advised::command),
    });
    if let Some(one) = archived {
        super::archive::propose(&one.id, &[], (ctx, ui), &mut document);
    }
    ui.json("finish", &document);
    match &done.stopped {
        Some(failure) => Exit::Code(failure.kind.exit_code()),
        None => Exit::Done,
    }
}

/// Open a finished session again: takes its archive back, and goes on in build
#[derive(Debug, clap::Args)]
pub struct ReopenArgs {
    /// The session (default: the one that is meant, else the last of this branch that was archived)
    pub id: Option<String>,
    /// Why, for the record (needed)
    #[arg(long, value_parser = crate::cmd::reason, value_name = "TEXT")]
    pub reason: Option<String>,
    #[command(flatten)]
    pub sign: SignArgs,
}

pub(crate) fn reopen(args: &ReopenArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let done = reopen_flow::reopen(ctx, args.reason.as_deref(), args.sign.wanted(ctx))?;
    let archive = done.value.archive.as_ref();
    if let Some(archive) = archive
        && let Some(commit) = &archive.commit
    {
        ui.status(format!(
            "took {} back on {} as {}",
            archive.undone.short(),
            clean(&archive.target),
            commit.short()
        ));
    }
    let extra = json!({
        "undone": archive.map(|one| &one.undone),
        "undone_by": archive.and_then(|one| one.commit.as_ref()),
    });
    report(
        ctx,
        ui,
        "reopen",
        &done,
        "open again, in stage build",
        extra,
    );
    Ok(Exit::Done)
}

/// Show the profiles, or give the session another one
///
/// A heavier profile takes the session back to the first stage that it has not been through; a lighter one needs a reason
/// and is what policy allows. Every file is kept.
#[derive(Debug, clap::Args)]
pub struct ProfileArgs {
    /// quick, lite, standard, deep, or one of loopx.toml
    pub name: Option<String>,
    /// Why, for the record
    #[arg(long, value_parser = crate::cmd::reason, value_name = "TEXT", requires = "name")]
    pub reason: Option<String>,
    #[command(flatten)]
    pub sign: SignArgs,
}

pub(crate) fn profile(args: ProfileArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let Some(name) = args.name else {
        return list(ctx, ui);
    };
    let name = ProfileName::parse(&name)?;
    let done = profile::change(ctx, &name, args.reason, args.sign.wanted(ctx))?;
    let changed = &done.value;
    let words = |gates: &[Transition]| {
        let all: Vec<String> = gates.iter().map(ToString::to_string).collect();
        all.join(", ")
    };
    let mut said = format!("{} now (before: {})", name, changed.before);
    if !changed.closed.is_empty() {
        said.push_str(&format!("; gates ahead: {}", words(&changed.closed)));
    }
    if !changed.opened.is_empty() {
        said.push_str(&format!("; no more ahead: {}", words(&changed.opened)));
    }
    if done.state.stage != changed.from {
        said.push_str(&format!("; goes on in {}", done.state.stage));
    }
    let extra = json!({
        "profile": name,
        "before": changed.before,
        "from": changed.from,
        "opened": changed.opened,
        "closed": changed.closed,
    });
    report(ctx, ui, "profile", &done, &said, extra);
    Ok(Exit::Done)
}

fn list(ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let all = profile::list(ctx)?;
    let width = all
        .iter()
        .map(|one| one.name.as_str().len())
        .max()
        .unwrap_or(0);
    for one in &all {
        let mark = if one.current { "*" } else { " " };
        let stages: Vec<&str> = one.stages.iter().map(|stage| stage.as_str()).collect();
        let files = counted(one.files.len(), "file");
        let mut line = format!(
            "{mark} {:width$}  {}, {files}",
            one.name.as_str(),
            stages.join(" -> ")
        );
        if let Some(why) = &one.forbidden {
            line.push_str(&format!("  (not taken: {})", clean(why)));
        }
        ui.fold_out(line, width + 4);
    }
    ui.json("profile", &json!({ "profiles": all }));
    Ok(Exit::Done)
}
