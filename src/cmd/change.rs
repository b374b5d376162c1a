//! `git loopx change`: arguments, and how verdicts, overlaps and differences read.

use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::change;
use crate::flow::change::{Judged, Overlap, RequirementDiff, Word};
use crate::ui::{Ui, clean, diff, style};
use loopx_base::counted;
use loopx_base::failure::{Blocker, Result};
use loopx_spec::Conflict;
use serde_json::json;

#[derive(Debug, clap::Subcommand)]
pub enum ChangeCommand {
    /// Say what archive would say of the delta; write nothing
    Validate(ValidateArgs),
    /// Show what the delta does to each requirement, and what archive would write
    Diff,
    /// List the pairs of open sessions that touch one requirement; exit 1 when a pair cannot be merged
    Overlap,
    /// Record the specs of the target branch as what the delta is written against
    Refresh,
}

#[derive(Debug, clap::Args)]
pub struct ValidateArgs {
    /// Every active session, and the pairs of them that touch one requirement
    #[arg(short, long)]
    all: bool,
    /// Refuse warnings, and sessions to wait for, too
    #[arg(long)]
    strict: bool,
    /// The branch to archive to (default: the bound one)
    #[arg(long, value_name = "BRANCH")]
    onto: Option<String>,
}

pub(crate) fn run(command: ChangeCommand, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    match command {
        ChangeCommand::Validate(args) => validate(&args, ctx, ui),
        ChangeCommand::Diff => show_diff(ctx, ui),
        ChangeCommand::Overlap => overlap(ctx, ui),
        ChangeCommand::Refresh => refresh(ctx, ui),
    }
}

/// The exit code of the worst word: a conflict is for a person only where nothing else is wrong.
fn exit(words: impl Iterator<Item = Word>) -> Exit {
    let (mut refused, mut conflict) = (false, false);
    for word in words {
        refused |= word == Word::Refused;
        conflict |= word == Word::Conflict;
    }
    match (refused, conflict) {
        (true, _) => Exit::Blocked,
        (false, true) => Exit::Conflict,
        (false, false) => Exit::Done,
    }
}

fn validate(args: &ValidateArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let (judged, overlaps) = change::validate(ctx, args.all, args.onto.as_deref())?;
    let held = |one: &Judged| {
        one.verdict == Word::Clean
            && args.strict
            && !(one.warnings.is_empty() && one.waits_for.is_empty() && one.unserved.is_empty())
    };
    ui.lines(|ui| {
        judged
            .iter()
            .for_each(|one| verdict_lines(one, held(one), ui))
    });
    if args.all && judged.is_empty() {
        ui.status("no active session has a delta");
    }
    overlap_lines(ui, &overlaps);
    let words = judged.iter().map(|one| {
        if held(one) {
            Word::Refused
        } else {
            one.verdict
        }
    });
    let end = exit(words);
    let document = Verdicts {
        valid: end == Exit::Done,
        strict: args.strict,
        sessions: &judged,
        overlaps: &overlaps,
    };
    ui.json("change validate", &document);
    Ok(end)
}

/// Says the verdict on one session, and what it is for.
fn verdict_lines(one: &Judged, is_held: bool, ui: &mut Ui) {
    let target = one.target.as_deref().unwrap_or("no branch");
    let said = match one.verdict {
        Word::Clean if is_held => ui.paint(style::WARN, "clean, but not strictly"),
        Word::Clean => ui.paint(style::GOOD, "clean"),
        Word::Refused => ui.paint(style::BAD, "refused"),
        Word::Conflict | Word::Unknown => ui.paint(style::BAD, "conflict"),
    };
    ui.out(format!("{} on {}: {said}", one.session, clean(target)));
    blocker_lines(ui, &one.blockers);
    conflict_lines(ui, &one.conflicts);
    for (at, finding) in one.warnings.iter().enumerate() {
        let id = ui.paint(style::WARN, finding.id);
        ui.out(format!(
            "  {id}  {}:{}: {}",
            clean(&finding.file),
            finding.line,
            clean(&finding.message)
        ));
        // One way out of several warnings is said once, below the last.
        let next = one.warnings.get(at + 1);
        if next.is_none_or(|next| next.fix != finding.fix) {
            ui.out(format!("      {}", clean(&ui.command(&finding.fix))));
        }
    }
    blocker_lines(ui, &one.waits_for);
    blocker_lines(ui, &one.unserved);
}

/// The document of `change validate`.
#[derive(serde::Serialize)]
struct Verdicts<'v> {
    valid: bool,
    strict: bool,
    sessions: &'v [Judged],
    overlaps: &'v [Overlap],
}

fn blocker_lines(ui: &mut Ui, blockers: &[Blocker]) {
    super::blocker_lines(ui, blockers);
}

fn conflict_lines(ui: &mut Ui, conflicts: &[Conflict]) {
    for conflict in conflicts {
        let what = match (&conflict.requirement, &conflict.scenario) {
            (Some(requirement), Some(scenario)) => {
                format!("requirement `{requirement}`, scenario `{scenario}`")
            }
            (Some(requirement), None) => format!("requirement `{requirement}`"),
            _ => format!("section `{}`", conflict.section),
        };
        let kind = ui.paint(style::BAD, conflict.kind.name());
        let (domain, line) = (clean(&conflict.domain), conflict.line);
        ui.out(format!("  {kind}  {domain}:{line}: {}", clean(&what)));
    }
}

fn overlap_lines(ui: &mut Ui, overlaps: &[Overlap]) {
    for pair in overlaps {
        let said = match pair.verdict {
            Word::Clean if pair.depends => ui.paint(style::GOOD, "merge cleanly, in this order"),
            Word::Clean => ui.paint(style::GOOD, "merge cleanly, in either order"),
            Word::Refused => ui.paint(style::BAD, "the second does not apply after the first"),
            Word::Unknown => ui.paint(style::BAD, "not known, as one is refused alone"),
            Word::Conflict => ui.paint(style::BAD, "conflict"),
        };
        let [first, second] = &pair.sessions;
        ui.out(format!("{first} and {second}: {said}"));
        for shared in &pair.shared {
            let what = match &shared.requirement {
                Some(name) => format!("requirement `{name}`"),
                None => "its purpose".to_owned(),
            };
            ui.out(format!("  {}: {}", clean(&shared.domain), clean(&what)));
        }
        conflict_lines(ui, &pair.conflicts);
        blocker_lines(ui, &pair.blockers);
    }
}

fn overlap(ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let (overlaps, refused) = change::overlap(ctx)?;
    for one in &refused {
        for blocker in &one.blockers {
            let help = ui.command(&blocker.help);
            ui.warn(format!(
                "{} is not compared: {}; {help}",
                one.session,
                clean(&blocker.message)
            ));
        }
    }
    if overlaps.is_empty() {
        ui.status("no two open sessions touch one requirement");
    }
    overlap_lines(ui, &overlaps);
    let clash = overlaps.iter().any(|pair| pair.verdict != Word::Clean);
    ui.json(
        "change overlap",
        &json!({ "clean": !clash, "overlaps": overlaps, "refused": refused }),
    );
    Ok(if clash { Exit::Blocked } else { Exit::Done })
}

fn show_diff(ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let (id, diffs) = change::diff(ctx)?;
    let color = ui.color();
    for one in &diffs {
        one_diff(one, color, ui);
    }
    ui.json(
        "change diff",
        &json!({ "session": id, "requirements": diffs }),
    );
    Ok(Exit::Done)
}

fn one_diff(one: &RequirementDiff, color: bool, ui: &mut Ui) {
    let name = match (&one.requirement, &one.renamed_to) {
        (Some(name), Some(to)) => format!("{}: {name} -> {to}", one.domain),
        (Some(name), None) => format!("{}: {name}", one.domain),
        (None, _) => format!("{}: purpose", one.domain),
    };
    let mut text = |what: &str, old: &Option<String>, new: &Option<String>| {
        let side = |text: &Option<String>| match text {
            Some(text) => clean(text) + "\n",
            None => String::new(),
        };
        let label = format!("{} ({what})", one.path);
        ui.raw_text(&diff::unified(&label, &side(old), &side(new), color));
    };
    let moved = one.moved || !one.conflicts.is_empty();
    text("base -> delta", &one.base, &one.delta);
    if moved && one.conflicts.is_empty() {
        text("target -> merged", &one.target, &one.merged);
    }
    for conflict in &one.conflicts {
        let (ours, theirs) = (Some(conflict.ours.clone()), Some(conflict.theirs.clone()));
        text("CONFLICT: target -> delta", &theirs, &ours);
    }
    let note = match (one.moved, one.conflicts.is_empty()) {
        (_, false) => "conflict: archive will ask a person",
        (true, true) => "the target changed it since the base; both changes merge",
        (false, true) => "the target has not changed it",
    };
    ui.status(format!("# {}: {note}\n", clean(&name)));
}

fn refresh(ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let done = change::refresh(ctx)?;
    let color = ui.color();
    for moved in &done.value.moved {
        let name = moved.requirement.as_deref().unwrap_or("purpose");
        let label = format!("{}: {name}", moved.domain);
        let side = |text: &Option<String>| match text {
            Some(text) => clean(text) + "\n",
            None => String::new(),
        };
        let (old, new) = (side(&moved.old), side(&moved.new));
        ui.raw_text(&diff::unified(&clean(&label), &old, &new, color));
        if moved.replaced {
            ui.warn(format!(
                "the delta replaces `{}` as a whole: take the change above over, or archive undoes it",
                clean(name)
            ));
        }
    }
    let n = done.value.moved.len();
    let said = format!(
        "{} recorded anew from {}",
        counted(n, "base"),
        clean(&done.value.target)
    );
    let extra = json!({
        "target": done.value.target,
        "target_commit": done.value.commit,
        "moved": done.value.moved,
    });
    super::report(ctx, ui, "change refresh", &done, &said, extra);
    Ok(Exit::Done)
}
