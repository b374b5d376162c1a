//! `git loopx spec package`: the documents of a specification, from their templates to the session's delta.

use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::spec_package as flow;
use crate::flow::spec_package::{Applied, Checked, Place};
use crate::ui::{Ui, clean, diff, line, style};
use loopx_base::counted;
use loopx_base::failure::Result;
use loopx_base::hint::{command, hint};
use loopx_rules::spec_package::{Document, Quality, Row, Trace, Verdict, quality};
use loopx_spec::Severity;
use serde_json::json;
use std::path::PathBuf;

#[derive(Debug, clap::Subcommand)]
pub enum PackageCommand {
    /// Print the text that a document begins with
    Template {
        /// product-brief, requirements, architecture, epics or readiness-report
        #[arg(value_name = "DOCUMENT")]
        document: Document,
    },
    /// Say what is wrong with the documents, and what the figures of the quality gate are; exit 1 for errors
    Check {
        #[command(flatten)]
        place: PlaceArgs,
        /// Refuse warnings too
        #[arg(long)]
        strict: bool,
    },
    /// Show requirement, story, scenario, task and evidence; exit 1 where a requirement is not proven
    Matrix {
        #[command(flatten)]
        place: PlaceArgs,
    },
    Apply(ApplyArgs),
}

#[derive(Debug, clap::Args)]
pub struct PlaceArgs {
    /// A folder with the documents (default: what the tasks of the session left)
    #[arg(value_name = "DIR", conflicts_with = "from")]
    dir: Option<PathBuf>,
    /// What the tasks of another session left
    #[arg(long, value_name = "ID")]
    from: Option<String>,
}

/// Make the requirements into the session's delta, and the decisions into drafts of records
///
/// Nothing is written where the check has errors. What has no counterpart is named.
#[derive(Debug, clap::Args)]
pub struct ApplyArgs {
    #[command(flatten)]
    place: PlaceArgs,
    /// Replace a delta that the session has already
    #[arg(long)]
    replace: bool,
    /// Show what would be written; write nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Why, for the record
    #[arg(long, value_parser = crate::cmd::reason, value_name = "WHY")]
    reason: Option<String>,
}

impl From<PlaceArgs> for Place {
    fn from(args: PlaceArgs) -> Self {
        match (args.dir, args.from) {
            (Some(dir), _) => Place::Folder(dir),
            (None, Some(id)) => Place::Session(id),
            (None, None) => Place::Meant,
        }
    }
}

pub(super) fn run(
    command: PackageCommand,
    open: impl Fn() -> Result<Context>,
    ui: &mut Ui,
) -> Result<Exit> {
    match command {
        PackageCommand::Template { document } => {
            ui.raw_text(document.template());
            ui.json(
                "spec package template",
                &json!({ "document": document, "text": document.template() }),
            );
            Ok(Exit::Done)
        }
        PackageCommand::Check { place, strict } => check(&place.into(), strict, open, ui),
        PackageCommand::Matrix { place } => matrix(&place.into(), open, ui),
        PackageCommand::Apply(args) => apply(args, open, ui),
    }
}

fn check(
    place: &Place,
    strict: bool,
    open: impl Fn() -> Result<Context>,
    ui: &mut Ui,
) -> Result<Exit> {
    let Checked { package, findings } = flow::check(place, open)?;
    for finding in &findings {
        let role = match finding.severity {
            Severity::Error => style::BAD,
            Severity::Warning => style::WARN,
            Severity::Info => style::DIM,
        };
        ui.out(format!(
            "{}:{}: {} {}: {}",
            line(&finding.file),
            finding.line,
            ui.paint(role, finding.severity.as_str()),
            finding.id,
            line(&finding.message)
        ));
    }
    let quality = quality(&package);
    tell_quality(&quality, ui);
    let count = |severity| {
        findings
            .iter()
            .filter(|one| one.severity == severity)
            .count()
    };
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    ui.status(format!(
        "{}: {}, {}",
        counted(package.requirements.len(), "requirement"),
        counted(errors, "error"),
        counted(warnings, "warning")
    ));
    let is_refused = errors > 0 || strict && warnings > 0;
    // The session that writes a package has a closed delta: another one takes it.
    if !is_refused && matches!(place, Place::Folder(_)) {
        ui.hint(command!("spec package apply{}", place.words()));
    }
    ui.json(
        "spec package check",
        &json!({
            "valid": !is_refused,
            "findings": findings,
            "quality": quality,
            "goals": package.goals,
            "requirements": package.requirements,
            "decisions": package.decisions,
            "stories": package.stories,
        }),
    );
    Ok(if is_refused {
        Exit::Blocked
    } else {
        Exit::Done
    })
}

/// Prints the figures of the quality gate, and the verdict that they come to.
fn tell_quality(quality: &Quality, ui: &mut Ui) {
    for (name, figure) in &quality.dimensions {
        let figure = figure.map_or_else(|| "-".to_owned(), |figure| figure.to_string());
        ui.out(format!("{name:13} {figure:>3}"));
    }
    let role = match quality.verdict {
        Some(Verdict::Pass) => style::GOOD,
        Some(Verdict::Fail) => style::BAD,
        Some(Verdict::Review) | None => style::WARN,
    };
    let verdict = quality.verdict.map_or("open", Verdict::as_str);
    let mut said = ui.paint(role, verdict);
    if let Some(score) = quality.score {
        said.push_str(&format!(", score {score}"));
    }
    if !quality.why.is_empty() {
        said.push_str(&format!(": {}", quality.why.join("; ")));
    }
    ui.out(said);
}

fn matrix(place: &Place, open: impl Fn() -> Result<Context>, ui: &mut Ui) -> Result<Exit> {
    let checked = flow::check(place, &open)?;
    let found = flow::matrix(&open()?, &checked)?;
    for row in &found.rows {
        show(row, ui);
    }
    let is_open = |row: &Row| matches!(row.trace, Trace::Open | Trace::Unwritten);
    let complete = !found.rows.iter().any(is_open);
    if found.rows.iter().any(|row| row.trace == Trace::Unwritten) {
        ui.hint(command!("spec package apply{}", place.words()));
    }
    ui.json(
        "spec package matrix",
        &json!({ "session": found.session, "complete": complete, "requirements": found.rows }),
    );
    Ok(if complete { Exit::Done } else { Exit::Blocked })
}

fn show(row: &Row, ui: &mut Ui) {
    let role = match row.trace {
        Trace::Proven => style::GOOD,
        Trace::LeftOut => style::DIM,
        Trace::Open | Trace::Unwritten => style::BAD,
    };
    let word = ui.paint(role, &format!("{:9}", row.trace.as_str()));
    let priority = row.priority.map_or("-", |one| one.as_str());
    ui.out(format!(
        "{word}  {}  {priority:6}  {}",
        clean(&row.requirement),
        clean(&row.title)
    ));
    for (what, ids) in [
        ("goals", &row.goals),
        ("decisions", &row.decisions),
        ("stories", &row.stories),
    ] {
        if !ids.is_empty() {
            ui.out(format!("    {what}: {}", line(&ids.join(", "))));
        }
    }
    for scenario in &row.scenarios {
        ui.out(format!(
            "    {}: {}",
            clean(&scenario.scenario),
            scenario.proof.as_str()
        ));
        for slice in &scenario.slices {
            ui.out(format!(
                "        {}: {}  ({})",
                clean(&slice.slice),
                slice.proof.as_str(),
                clean(&slice.verification.join(" "))
            ));
        }
    }
}

fn apply(args: ApplyArgs, open: impl Fn() -> Result<Context>, ui: &mut Ui) -> Result<Exit> {
    let request = flow::Apply {
        place: args.place.into(),
        replace: args.replace,
        dry_run: args.dry_run,
        reason: args.reason,
    };
    let checked = flow::check(&request.place, &open)?;
    let ctx = open()?;
    let applied = flow::apply(&ctx, &request, &checked)?;
    if request.dry_run && !ui.is_json() {
        ui.raw_text(&applied.made.text);
        for draft in &applied.drafts {
            ui.raw_text(&diff::unified(
                &draft.path,
                &draft.before,
                &draft.after,
                ui.color(),
            ));
        }
    }
    report(&applied, request.dry_run, ui);
    Ok(Exit::Done)
}

fn report(applied: &Applied, dry_run: bool, ui: &mut Ui) {
    let made = &applied.made;
    for left in &made.left_out {
        let (what, why) = (line(&left.what), left.why);
        ui.out(format!("not taken: {} ({what}): {why}", clean(&left.id)));
    }
    if !applied.there.is_empty() {
        let ids = line(&applied.there.join(", "));
        ui.out(format!("not taken: {ids}: a record of that title is there"));
    }
    for draft in &applied.drafts {
        let verb = if dry_run { "would write" } else { "wrote" };
        ui.status(format!("{verb} {}", clean(&draft.path)));
    }
    let counts = format!(
        "{} added, {} modified",
        counted(made.added.len(), "requirement"),
        made.modified.len()
    );
    let id = &applied.session;
    ui.status(match (dry_run, applied.put.is_some()) {
        (true, _) => format!("{id}: nothing was written; {counts}"),
        (false, true) => format!("{id}: {counts}"),
        (false, false) => format!("{id}: the delta says it already"),
    });
    if let Some(blob) = applied.put.as_ref().and_then(|put| put.kept.as_ref()) {
        ui.status(format!(
            "the delta had unsaved edits; they are kept: git cat-file blob {blob}"
        ));
    }
    if !dry_run {
        ui.hint(hint![command!("change validate")]);
    }
    let commit = applied.put.as_ref().map(|put| &put.done.commit);
    ui.json(
        "spec package apply",
        &json!({
            "session": id,
            "dry_run": dry_run,
            "added": made.added,
            "modified": made.modified,
            "left_out": made.left_out,
            "drafts": applied.drafts,
            "records": applied.there,
            "delta": made.text,
            "commit": commit,
            "kept": applied.put.as_ref().and_then(|put| put.kept.as_ref()),
        }),
    );
}
