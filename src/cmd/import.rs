//! `import`: arguments, and how the report reads.

use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::import;
use crate::flow::import::{
    ChangeReport, ChangeStatus, PeerReport, Report, Request, SessionReport, SpecStatus,
};
use crate::ui::{Ui, clean, style};
use loopx_base::counted;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{command, hint};
use loopx_rules::openspec::Overlap;
use loopx_rules::peer::Tool;
use loopx_spec::Severity;
use std::path::PathBuf;

/// Notes that hold for nearly every change.
const COMMON: [Code; 2] = [Code::SectionsMissing, Code::Ticks];

/// What is taken in: one session of a fork, or what a subcommand names.
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
pub struct ImportArgs {
    /// Take in the session that --session names from this repository: the address of a fork, or a remote
    #[arg(long, value_name = "URL")]
    pub from: Option<String>,
    #[command(subcommand)]
    pub command: Option<ImportCommand>,
}

#[derive(Debug, clap::Subcommand)]
pub enum ImportCommand {
    Openspec(OpenspecArgs),
    Loopx(LoopxArgs),
    Maestro(MaestroArgs),
    Ccw(CcwArgs),
    Bundle(super::bundle::BundleArgs),
}

/// Take over a root of loopx 0.1 to 0.8: workflows and changes as sessions, specs, journals
///
/// Open workflows begin in stage clarify, whatever was approved there. Every file is kept in imported/ of its session.
#[derive(Debug, clap::Args)]
pub struct LoopxArgs {
    /// The root (default: .loopx/ at the top of the worktree, or one of its older names)
    pub path: Option<PathBuf>,
    /// Say what would happen; write nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Start the sessions, leave the specs of the worktree alone
    #[arg(long)]
    pub no_specs: bool,
}

/// Take over sessions of maestro: status.json of protocol 1 and 2, and session/3.0
///
/// Steps, gates and goals become tasks, the decision log becomes notes. Nothing counts as done.
#[derive(Debug, clap::Args)]
pub struct MaestroArgs {
    /// The folder, or that of one session (default: .workflow/ at the top of the worktree)
    pub path: Option<PathBuf>,
    /// Say what would happen; write nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
}

/// Take over an OpenSpec tree: specs, open changes as sessions, archived changes as archived ones
#[derive(Debug, clap::Args)]
pub struct OpenspecArgs {
    /// The tree (default: openspec/ at the top of the worktree)
    pub path: Option<PathBuf>,
    /// Say what would happen; write nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Copy the specs, start no session
    #[arg(long, conflicts_with = "no_specs")]
    pub specs_only: bool,
    /// Start the sessions, leave the specs of the worktree alone
    #[arg(long)]
    pub no_specs: bool,
}

/// Take over sessions of ccw: teams (TLS, TLV4, TC) and workflows (workflow, review, tdd, test, docs)
///
/// Their tasks become tasks, with roles and dependencies, and wisdom and messages become notes; what project-tech.json
/// says of the architecture and of what was developed becomes notes of the journal. Nothing counts as done.
#[derive(Debug, clap::Args)]
pub struct CcwArgs {
    /// The folder, or that of one session (default: .workflow/ at the top of the worktree)
    pub path: Option<PathBuf>,
    /// Say what would happen; write nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
}

pub(crate) fn run(args: ImportArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let ImportArgs { from, command } = args;
    let command = match (from, command) {
        (Some(from), None) => return super::bundle::import_from(&from, ctx, ui),
        (None, Some(command)) => command,
        (from, _) => {
            let found = if from.is_some() { "both" } else { "neither" };
            return Err(Failure::usage(
                Code::ImportUnclear,
                format!("expected `--from URL`, or what to import, found {found}"),
            )
            .help(command!("help import")));
        }
    };
    let OpenspecArgs {
        path,
        dry_run,
        specs_only,
        no_specs,
    } = match command {
        ImportCommand::Openspec(args) => args,
        ImportCommand::Loopx(args) => {
            let request = Request {
                path: args.path,
                dry_run: args.dry_run,
                no_specs: args.no_specs,
                ..Request::default()
            };
            return peer(Tool::Loopx, &request, ctx, ui);
        }
        ImportCommand::Maestro(args) => {
            let request = Request {
                path: args.path,
                dry_run: args.dry_run,
                ..Request::default()
            };
            return peer(Tool::Maestro, &request, ctx, ui);
        }
        ImportCommand::Ccw(args) => {
            let request = Request {
                path: args.path,
                dry_run: args.dry_run,
                ..Request::default()
            };
            return peer(Tool::Ccw, &request, ctx, ui);
        }
        ImportCommand::Bundle(args) => return super::bundle::import(args, ctx, ui),
    };
    let request = Request {
        path,
        no_specs,
        specs_only,
        dry_run,
    };
    let report = import::openspec(ctx, &request)?;
    text(&report, ui);
    ui.json("import openspec", &report);
    let taken = |change: &ChangeReport| change.status == ChangeStatus::Taken;
    Ok(if report.changes.iter().any(taken) {
        Exit::Blocked
    } else {
        Exit::Done
    })
}

fn peer(tool: Tool, request: &Request, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let report = import::peer(ctx, tool, request)?;
    peer_text(&report, ui);
    ui.json(&format!("import {tool}"), &report);
    Ok(Exit::Done)
}

fn peer_text(report: &PeerReport, ui: &mut Ui) {
    let would = if report.dry_run { "would be " } else { "" };
    let new = report.new_specs();
    let same = report.specs.len() - new;
    if !report.specs.is_empty() {
        ui.out(format!(
            "specs: {new} {would}copied to {}/, {same} there already or left",
            clean(&report.specs_path)
        ));
    }
    let already = report.sessions.iter().filter(|one| one.already).count();
    let imported = report.sessions.len() - already;
    ui.out(format!(
        "sessions: {imported} {would}imported, {already} imported before"
    ));
    for session in report.sessions.iter().filter(|one| !one.already) {
        peer_session(session, ui);
    }
    if report.journal > 0 {
        ui.out(format!(
            "journal: {} {would}noted",
            counted(report.journal, "entry")
        ));
    }
    for remark in &report.remarks {
        ui.out(format!("{}: {}", clean(&remark.at), clean(&remark.message)));
    }
    if !report.left.is_empty() {
        ui.out("files without a counterpart, left in place:");
    }
    for left in &report.left {
        ui.out(format!("  {}/{}", clean(&report.tree), clean(left)));
    }
    for one in &report.differs {
        ui.out(one.message.clone());
    }
    lead_on(report.dry_run, new, &report.specs_path, ui);
}

fn peer_session(session: &SessionReport, ui: &mut Ui) {
    let mut said = vec![format!("stood at {}", session.stood)];
    if session.archived {
        said.push("archived".to_owned());
    }
    for (count, word) in [
        (session.artifacts.len(), "artifact"),
        (session.tasks, "task"),
        (session.notes, "note"),
    ] {
        if count > 0 {
            said.push(counted(count, word));
        }
    }
    said.push(format!(
        "{} kept in imported/",
        counted(session.kept, "file")
    ));
    let name = ui.paint(style::NAME, session.session.as_str());
    ui.out(format!("{name}: {}", clean(&said.join(", "))));
    for remark in &session.remarks {
        ui.out(format!(
            "  {}: {}",
            clean(&remark.at),
            clean(&remark.message)
        ));
    }
}

fn text(report: &Report, ui: &mut Ui) {
    let would = if report.dry_run { "would be " } else { "" };
    let count = |status| report.specs.iter().filter(|s| s.status == status).count();
    let (new, same) = (count(SpecStatus::New), count(SpecStatus::Same));
    if new + same > 0 {
        ui.out(format!(
            "specs: {new} {would}copied to {}/, {same} there already",
            clean(&report.specs_path)
        ));
    }
    spec_faults(report, ui);
    totals(report, would, ui);
    for change in report.changes.iter().filter(is_news) {
        change_lines(change, would, ui);
    }
    overlaps(report, ui);
    // What an earlier run said of the same tree is not said again, but for how much there is to see.
    if new == 0 && !report.changes.iter().any(|change| is_news(&change)) {
        if !report.strays.is_empty() {
            let files = counted(report.strays.len(), "file");
            let all = command!("import openspec --json");
            ui.out(format!(
                "{files} that are neither spec nor change stay in place; to see all: {}",
                ui.command(&all)
            ));
        }
        ui.hint(command!("list --all"));
        return;
    }
    if !report.strays.is_empty() {
        ui.out("files that are neither spec nor change, left in place:");
    }
    for stray in &report.strays {
        ui.out(format!("  {}/{}", clean(&report.tree), clean(stray)));
    }
    if !report.differs.is_empty() {
        ui.out("not as in OpenSpec:");
    }
    for one in &report.differs {
        ui.out(format!("  {}", one.message));
        if one.code == Code::SpecsNotCommitted {
            ui.out(format!("      {}", one.help));
        }
    }
    common_lines(report, ui);
    lead_on(report.dry_run, new, &report.specs_path, ui);
}

/// The step behind an import of `new` specs.
fn lead_on(dry_run: bool, new: usize, specs_path: &str, ui: &mut Ui) {
    if dry_run {
        ui.hint("the same without --dry-run");
    } else if new > 0 {
        let path = clean(specs_path);
        ui.hint(hint![
            format!("git add {path} && git commit -m \"Import specs\" -- {path}   (then: "),
            command!("list"),
            ")"
        ]);
    } else {
        ui.hint(command!("list --all"));
    }
}

fn spec_faults(report: &Report, ui: &mut Ui) {
    for spec in &report.specs {
        for finding in &spec.findings {
            if finding.severity == Severity::Error {
                let line = format!("{}:{}: {}", finding.file, finding.line, finding.message);
                ui.out(format!(
                    "  {} {}",
                    ui.paint(style::BAD, "error"),
                    clean(&line)
                ));
            }
        }
    }
}

/// A change that is told of: what an earlier run took over was said then.
fn is_news(change: &&ChangeReport) -> bool {
    change.status != ChangeStatus::Already
}

/// The changes of this run that touch what another one touches.
fn overlaps(report: &Report, ui: &mut Ui) {
    let changes = report.changes.iter().filter(is_news);
    let named: Vec<&str> = changes.map(|change| change.session.as_str()).collect();
    let is_new = |overlap: &&Overlap| {
        let mut both = overlap.changes.iter();
        both.any(|change| named.contains(&change.as_str()))
    };
    let overlaps: Vec<&Overlap> = report.overlaps.iter().filter(is_new).collect();
    if !overlaps.is_empty() {
        ui.out("changes that touch one requirement:");
    }
    for overlap in overlaps {
        let how = match overlap.merges {
            Some(true) => "both can be archived",
            Some(false) => "a conflict for the second one that is archived",
            None => "not known: one of them does not apply",
        };
        let [a, b] = &overlap.changes;
        ui.out(clean(&format!(
            "  {}: {}\n      {a}, {b}: {how}",
            overlap.domain, overlap.requirement
        )));
    }
}

/// Prints the fates of all changes, in a line or two.
fn totals(report: &Report, would: &str, ui: &mut Ui) {
    let count = |status| {
        let changes = report.changes.iter();
        changes.filter(|change| change.status == status).count()
    };
    let mut said = Vec::new();
    for (status, word) in [
        (ChangeStatus::Imported, format!("{would}imported")),
        (ChangeStatus::Already, "imported before".to_owned()),
        (ChangeStatus::Taken, "NOT imported".to_owned()),
        (ChangeStatus::Left, "left".to_owned()),
    ] {
        let number = count(status);
        if number > 0 {
            said.push(format!("{number} {word}"));
        }
    }
    if said.is_empty() {
        return;
    }
    ui.out(format!("changes: {}", said.join(", ")));
    let open = report.changes.iter().filter(|c| c.archived.is_none());
    let applies = |wanted: bool| {
        let judged = open.clone().filter(|c| c.applies == Some(wanted));
        judged.count()
    };
    let (good, bad) = (applies(true), applies(false));
    if good + bad > 0 {
        ui.out(format!(
            "  of those that are open, {good} apply and {bad} do not"
        ));
    }
}

fn change_lines(change: &ChangeReport, would: &str, ui: &mut Ui) {
    let status = match change.status {
        ChangeStatus::Imported => format!("{would}imported"),
        ChangeStatus::Already => "imported before".to_owned(),
        ChangeStatus::Taken => "NOT imported".to_owned(),
        ChangeStatus::Left => "left".to_owned(),
    };
    let mut said = vec![
        status,
        counted(change.domains.len(), "domain"),
        counted(change.operations, "operation"),
    ];
    let errors = change
        .findings
        .iter()
        .filter(|r| r.finding.severity == Severity::Error)
        .count();
    said.push(match (&change.archived, change.applies) {
        (Some(day), _) => format!("archived {day}"),
        (None, Some(true)) => "applies".to_owned(),
        (None, Some(false)) if errors > 0 => counted(errors, "error"),
        (None, _) => "no delta".to_owned(),
    });
    let name = ui.paint(style::NAME, change.session.as_str());
    ui.out(format!("{name}: {}", said.join(", ")));
    let mut last = None;
    let mut elsewhere: Vec<&str> = Vec::new();
    for remark in &change.findings {
        let finding = &remark.finding;
        if finding.severity != Severity::Error {
            continue;
        }
        let about = match &remark.requirement {
            Some(requirement) => format!("{}: {requirement}", remark.domain),
            None => remark.domain.clone(),
        };
        if last.as_ref() != Some(&(finding.id, about.clone())) {
            let error = ui.paint(style::BAD, finding.id);
            ui.out(format!("  {error} {}", clean(&about)));
            last = Some((finding.id, about));
        }
        let line = format!("{}:{}: {}", finding.file, finding.line, finding.message);
        ui.out(format!("      {}", clean(&line)));
        elsewhere.extend(remark.openspec.filter(|text| !elsewhere.contains(text)));
    }
    for text in elsewhere {
        ui.out(format!("  OpenSpec: {text}"));
    }
    if !change.unplaced.is_empty() {
        let files = clean(&change.unplaced.join(", "));
        ui.out(format!("  kept in intent.md and imported/: {files}"));
    }
    for note in &change.notes {
        // What nearly every change lacks is said once, below.
        if !COMMON.contains(&note.code) {
            let code = ui.code(style::WARN, &note.code.to_string());
            ui.out(format!("  {code}{}", clean(&note.message)));
        }
    }
}

fn common_lines(report: &Report, ui: &mut Ui) {
    for (code, what) in COMMON.iter().zip([
        "without sections that stage plan asks for",
        "with ticked tasks: ticks are kept, and prove nothing here",
    ]) {
        let has = |change: &&ChangeReport| change.notes.iter().any(|note| note.code == *code);
        let count = report.changes.iter().filter(has).count();
        if count > 0 {
            let changes = counted(count, "change");
            ui.out(format!("  {changes} {what} (--json names them)"));
        }
    }
}
