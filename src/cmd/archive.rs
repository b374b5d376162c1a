//! `archive`: arguments, and how its result reads.

use super::SignArgs;
use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::adr::promote::is_drafted;
use crate::flow::archive;
use crate::flow::archive::{Archived, Done, Mode, Request, SpecChange, Unarchived, Waivers};
use crate::flow::issue::follow_ups::follow_ups;
use crate::flow::issue::repeat;
use crate::flow::issue::sessions::resolved_by;
use crate::ui::{Ui, clean, diff};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_base::id::SessionId;
use loopx_base::{counted, shell_word};
use serde_json::{Value, json};

/// Merge the session's delta into the specs, in one commit, and close the session
///
/// Several sessions are archived together or not at all: one commit for each session, and a session before the sessions
/// that depend on it.
#[derive(Debug, clap::Args)]
pub struct ArchiveArgs {
    /// The sessions (default: the one that is meant)
    #[arg(value_name = "ID", conflicts_with = "undo")]
    pub ids: Vec<String>,
    /// The branch to commit to (default: the bound one)
    #[arg(long, value_name = "BRANCH")]
    pub onto: Option<String>,
    /// Show what would change; write nothing
    #[arg(short = 'n', long, group = "mode")]
    pub dry_run: bool,
    /// Go on with the archive, or with --undo, after you resolved the conflicts in .loopx/ID/conflicts
    #[arg(long = "continue", group = "mode")]
    pub go_on: bool,
    /// Discard the conflicts that were written out
    #[arg(long, group = "mode")]
    pub abort: bool,
    /// Take the archive of a session back, by a new commit
    #[arg(long, value_name = "ID", group = "why", conflicts_with_all = ["go_on", "abort"])]
    pub undo: Option<String>,
    /// Accept this scenario (domain/Requirement/Scenario) without evidence (can be repeated)
    #[arg(
        long,
        value_name = "SCENARIO",
        group = "why",
        requires = "reason",
        conflicts_with = "abort"
    )]
    pub waive: Vec<String>,
    /// Reason for the waiver or for taking the archive back, for the commit
    #[arg(long, value_parser = crate::cmd::reason, value_name = "WHY", requires = "why")]
    pub reason: Option<String>,
    /// Sign the commit with the key that git signs with (gpg.format ssh)
    #[arg(short = 'S', long, overrides_with = "no_sign")]
    pub sign: bool,
    /// Do not sign the commit, whatever loopx.sign says
    #[arg(long, overrides_with = "sign")]
    pub no_sign: bool,
}

impl ArchiveArgs {
    /// Test for an archive that records nothing that others would hear of.
    pub(crate) fn writes_nothing(&self) -> bool {
        self.dry_run || self.abort
    }
}

pub(crate) fn archive(args: ArchiveArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let mode = match (args.dry_run, args.go_on, args.abort) {
        (true, ..) => Mode::DryRun,
        (_, true, _) => Mode::Continue,
        (.., true) => Mode::Abort,
        _ => Mode::Merge,
    };
    let sign = SignArgs::of(args.sign, args.no_sign).wanted(ctx);
    if let Some(id) = &args.undo {
        return undo(&args, id, sign, ctx, ui);
    }
    let waivers = Waivers {
        scenarios: args.waive,
        reason: args.reason.unwrap_or_default().trim().to_owned(),
        sign,
    };
    if !waivers.scenarios.is_empty() && waivers.reason.is_empty() {
        return Err(
            Failure::usage(Code::ReasonMissing, "the reason is empty").help(command!(
                "archive --waive {} --reason WHY",
                shell_word(&waivers.scenarios[0])
            )),
        );
    }
    let request = Request {
        names: &args.ids,
        onto: args.onto.as_deref(),
        mode,
        waivers: &waivers,
    };
    let done = match archive::archive(ctx, &request)? {
        Done::Archived(done) => done,
        Done::TakenBack(done) => {
            taken_back(&done, mode, ctx, ui)?;
            return Ok(Exit::Done);
        }
    };
    let mut documents = Vec::new();
    for one in &done {
        let mut document = said(one, mode, ui);
        let issues = match mode {
            Mode::Abort => Vec::new(),
            // The archive stands, whatever can be read of the backlog.
            _ => resolved_by(ctx, &one.id).unwrap_or_default(),
        };
        super::issue::tell_resolved(&issues, ui);
        document["issues"] = json!(issues);
        if !matches!(mode, Mode::DryRun | Mode::Abort) {
            propose(&one.id, &waivers.scenarios, (ctx, ui), &mut document);
        }
        documents.push(document);
    }
    hint(&done, mode, &request, ui);
    let target = done.first().map(|one| one.target.as_str());
    let mut document = json!({
        "target": target,
        "dry_run": mode == Mode::DryRun,
        "aborted": mode == Mode::Abort,
    });
    // One session reads as it always did.
    if let [Value::Object(only)] = documents.as_slice()
        && let Value::Object(document) = &mut document
    {
        document.extend(only.clone());
    }
    document["sessions"] = Value::Array(documents);
    if mode != Mode::DryRun
        && mode != Mode::Abort
        && let Some(last) = done.last()
    {
        super::lead(ctx, &last.id, &mut document, ui);
    }
    ui.json("archive", &document);
    Ok(Exit::Done)
}

/// Says what became of one session, and gives it as JSON.
fn said(one: &Archived, mode: Mode, ui: &mut Ui) -> Value {
    let files = show(&one.changes, mode == Mode::DryRun, ui);
    for warning in &one.warnings {
        ui.warn(clean(warning));
    }
    let (id, target) = (&one.id, clean(&one.target));
    ui.status(match (mode, &one.commit) {
        (Mode::DryRun, _) => {
            let files = counted(one.changes.len(), "file");
            format!("{id}: would change {files} on {target}")
        }
        (Mode::Abort, _) => {
            format!("{id}: the conflicts were discarded; the session stays in stage done")
        }
        (_, Some(commit)) if one.finished => {
            let commit = commit.short();
            format!("{id}: finished an earlier archive on {target} as {commit}")
        }
        (_, Some(commit)) => format!("{id}: archived on {target} as {}", commit.short()),
        (_, None) => format!("{id}: archived on {target}; no spec had to change"),
    });
    json!({
        "session": one.id,
        "target": one.target,
        "commit": one.commit,
        "finished_earlier": one.finished,
        "files": files,
        "warnings": one.warnings,
    })
}

/// Proposes the issues that follow from what a session left, and the rules that its notes say; none is made. What
/// cannot be read proposes nothing: the archive stands.
pub(super) fn propose(
    id: &SessionId,
    waived: &[String],
    (ctx, ui): (&Context, &mut Ui),
    document: &mut Value,
) {
    let proposed = follow_ups(ctx, id, waived).unwrap_or_default();
    if !proposed.is_empty() {
        ui.status("left to be done, as issues if you want them:");
    }
    for one in &proposed {
        let command = ui.command(&one.command);
        ui.status(format!("  {}  ({})", clean(&command), clean(&one.why)));
    }
    document["follow_ups"] = json!(proposed);
    if is_drafted(ctx, id).unwrap_or_default() {
        let promote = ui.command(&command!("adr promote {id}"));
        ui.status(format!(
            "a decision record is drafted; to give it a number: {}",
            clean(&promote)
        ));
    }
    super::rule::propose::after_archive(id, ctx, document, ui);
}

fn hint(done: &[Archived], mode: Mode, asked: &Request<'_>, ui: &mut Ui) {
    let mut words: Vec<String> = Vec::new();
    if !asked.names.is_empty() {
        words.extend(done.iter().map(|one| one.id.to_string()));
    }
    if let Some(branch) = asked.onto {
        words.push(format!("--onto {branch}"));
    }
    let again = match words.as_slice() {
        [] => command!("archive"),
        words => command!("archive {}", words.join(" ")),
    };
    let commits: Vec<_> = done.iter().filter_map(|one| one.commit.as_ref()).collect();
    match (mode, commits.as_slice()) {
        (Mode::DryRun | Mode::Abort, _) => ui.hint(again),
        (_, [only]) => ui.status(format!("to read it: git show --stat {}", only.short())),
        (_, [.., last]) => ui.status(format!(
            "to read it: git log -{} --stat {}",
            commits.len(),
            last.short()
        )),
        (_, []) => {}
    }
}

fn undo(args: &ArchiveArgs, id: &str, sign: bool, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let (onto, reason) = (args.onto.as_deref(), args.reason.as_deref());
    let done = archive::unarchive(ctx, id, onto, reason, (args.dry_run, sign))?;
    let mode = if args.dry_run {
        Mode::DryRun
    } else {
        Mode::Merge
    };
    taken_back(&done, mode, ctx, ui)?;
    Ok(Exit::Done)
}

/// Says what became of an archive that was to be taken back.
fn taken_back(done: &Unarchived, mode: Mode, ctx: &Context, ui: &mut Ui) -> Result<()> {
    let left = match done.commit {
        Some(_) => {
            let (done_, left) = (
                format!("{} is taken back", done.undone.short()),
                "a look at the issues that came after it",
            );
            let looked = repeat::left(ctx, &done.id);
            let looked = ctx.follow((done_, left), command!("issue list"), looked);
            looked.unwrap_or_default()
        }
        None => Vec::new(),
    };
    let files = show(&done.changes, mode == Mode::DryRun, ui);
    let (id, target, undone) = (&done.id, clean(&done.target), done.undone.short());
    match (&done.commit, mode) {
        (Some(commit), _) => {
            let commit = commit.short();
            let how = if done.finished {
                "finished taking"
            } else {
                "took"
            };
            ui.status(format!("{id}: {how} {undone} back on {target} as {commit}"));
            ui.status(format!("to read it: git show {commit}"));
            for one in &left {
                let (id, after) = (&one.id, &one.after);
                let close = command!("issue close {id} --reason \"{after} is to be done again\"");
                ui.status(format!(
                    "{id}, which came after {after}, stays open; to end it: {}",
                    ui.command(&close)
                ));
            }
            ui.hint(command!("reopen --reason \"it is to be done again\"").session(&done.id));
        }
        (None, Mode::Abort) => {
            ui.status(format!(
                "{id}: the conflicts were discarded; {undone} stays on {target}"
            ));
            ui.hint(command!("archive --undo {id}"));
        }
        (None, _) => {
            ui.status(format!("{id}: would take {undone} back on {target}"));
            ui.hint(command!("archive --undo {id}"));
        }
    }
    ui.json(
        "archive --undo",
        &json!({
            "session": done.id,
            "target": done.target,
            "undone": done.undone,
            "commit": done.commit,
            "dry_run": mode == Mode::DryRun,
            "aborted": mode == Mode::Abort,
            "finished_earlier": done.finished,
            "following": left.iter().map(|one| &one.id).collect::<Vec<_>>(),
            "files": files,
        }),
    );
    Ok(())
}

/// Shows what becomes of the files, and gives it as JSON where that is asked for.
fn show(changes: &[SpecChange], dry_run: bool, ui: &mut Ui) -> Vec<Value> {
    let color = ui.color();
    let sides = |change: &SpecChange| {
        let [old, new] = [&change.before, &change.after].map(Option::as_deref);
        [old.unwrap_or(""), new.unwrap_or("")].map(str::to_owned)
    };
    ui.lines(|ui| {
        for change in changes {
            if dry_run {
                let [old, new] = sides(change);
                ui.raw_text(&diff::unified(&change.path, &old, &new, color));
                continue;
            }
            let verb = match (&change.before, &change.after) {
                (None, _) => "new",
                (_, None) => "gone",
                _ => "merged",
            };
            ui.status(format!("  {verb:6}  {}", clean(&change.path)));
        }
    });
    if !ui.is_json() {
        return Vec::new();
    }
    let files = changes.iter().map(|change| {
        let [old, new] = sides(change);
        json!({
            "path": change.path,
            "created": change.before.is_none(),
            "removed": change.after.is_none(),
            "diff": diff::unified(&change.path, &old, &new, false),
        })
    });
    files.collect()
}
