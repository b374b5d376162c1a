//! `git loopx spec`: the plumbing of the spec engine.

use super::{spec_package, specs, specs_intent};
use crate::cli::Exit;
use crate::flow::file_merge::FileMerge;
use crate::flow::{Context, files, spec as flow};
use crate::ui::{Ui, clean, diff};
use loopx_base::counted;
use loopx_base::failure::{Code, Failure, Result};
use loopx_spec::{
    Action, Conflict, FINDINGS, Finding, MarkerNames, Severity, Spec, merge_spec, read_delta,
    read_spec, utf8,
};
use serde::Serialize;
use std::path::PathBuf;

#[derive(Debug, clap::Subcommand)]
pub enum SpecCommand {
    /// Apply a delta to a folder of specs, all domains or none
    Apply(ApplyArgs),
    /// Merge three versions of a spec by requirement and scenario
    MergeFile(MergeFileArgs),
    /// Show a spec or a delta as it is read, with the place of every part
    Parse(ParseArgs),
    /// Check specs by themselves
    Validate(ValidateArgs),
    /// List every finding that a check can make: its id, severity, meaning and fix
    Findings,
    /// List the specs of this repository
    List,
    /// Show a spec, or one requirement of it
    Show(specs::ShowArgs),
    /// Show scenario, slice and evidence of the session's delta; exit 1 where proof is missing
    Coverage {
        /// Show the statements of the request instead, and the files that cite or defer each
        #[arg(long)]
        intent: bool,
    },
    /// Check a specification package, trace it, and make it into the session's delta
    #[command(subcommand)]
    Package(spec_package::PackageCommand),
    /// Tell from history which requirements were edited by hand since they were archived
    Drift,
    /// Show the changelog fragments of archived sessions, or put them into the changelog
    Changelog(specs::ChangelogArgs),
    /// Merge three versions into OURS (called by git: see install-driver)
    MergeDriver(specs::DriverArgs),
    /// Make git merge specs by requirement and scenario
    InstallDriver(specs::InstallDriverArgs),
}

#[derive(clap::Args, Debug)]
pub struct ApplyArgs {
    /// A spec-delta.md, or a folder with specs/DOMAIN/spec.md in it
    #[arg(value_name = "DELTA")]
    delta: PathBuf,
    /// The folder of DOMAIN/spec.md that changes
    #[arg(long, value_name = "DIR")]
    specs: PathBuf,
    /// The specs that the delta was written against; else those of --specs
    #[arg(long, value_name = "DIR")]
    base: Option<PathBuf>,
    /// Write nothing; show what would change
    #[arg(long)]
    dry_run: bool,
    /// Where to write the merge with its conflict markers when there are conflicts
    #[arg(long, value_name = "FILE")]
    conflicts: Option<PathBuf>,
    /// Allow the last requirement of a domain to go, and its spec with it
    #[arg(long)]
    retire: bool,
    /// Refuse warnings too
    #[arg(long)]
    strict: bool,
}

#[derive(clap::Args, Debug)]
pub struct MergeFileArgs {
    #[arg(value_name = "BASE")]
    base: PathBuf,
    #[arg(value_name = "OURS")]
    ours: PathBuf,
    #[arg(value_name = "THEIRS")]
    theirs: PathBuf,
    /// Write the merge to this file, not to stdout
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
}

#[derive(clap::Args, Debug)]
pub struct ParseArgs {
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Read it as a delta
    #[arg(long)]
    delta: bool,
}

#[derive(clap::Args, Debug)]
pub struct ValidateArgs {
    /// Spec files, or folders of DOMAIN/spec.md (default: the repository's specs, as the worktree has them)
    #[arg(value_name = "FILE|DIR")]
    paths: Vec<PathBuf>,
    /// Refuse warnings too
    #[arg(long)]
    strict: bool,
}

pub(crate) fn run(
    command: SpecCommand,
    open: impl Fn() -> Result<Context>,
    ui: &mut Ui,
) -> Result<Exit> {
    match command {
        SpecCommand::Apply(args) => apply(args, ui),
        SpecCommand::MergeFile(args) => merge_file(args, ui),
        SpecCommand::Parse(args) => parse(args, ui),
        SpecCommand::Validate(args) => validate(args, open, ui),
        SpecCommand::Findings => findings(ui),
        SpecCommand::List => specs::list(&open()?, ui),
        SpecCommand::Show(args) => specs::show(args, &open()?, ui),
        SpecCommand::Coverage { intent: true } => specs_intent::coverage(&open()?, ui),
        SpecCommand::Coverage { intent: false } => specs::coverage(&open()?, ui),
        SpecCommand::Package(command) => spec_package::run(command, open, ui),
        SpecCommand::Drift => specs::drift(&open()?, ui),
        SpecCommand::Changelog(args) => specs::changelog(args, &open()?, ui),
        SpecCommand::MergeDriver(args) => specs::merge_driver(args, ui),
        SpecCommand::InstallDriver(args) => specs::install_driver(args, &open()?, ui),
    }
}

#[derive(Serialize)]
struct AppliedDomain<'a> {
    domain: &'a str,
    action: &'static str,
}

#[derive(Serialize)]
struct AppliedAll<'a> {
    dry_run: bool,
    domains: Vec<AppliedDomain<'a>>,
    findings: Vec<&'a Finding>,
}

fn apply(args: ApplyArgs, ui: &mut Ui) -> Result<Exit> {
    let ApplyArgs {
        delta,
        specs,
        base,
        dry_run,
        conflicts,
        retire,
        strict,
    } = args;
    let request = flow::Apply {
        delta,
        specs,
        base,
        retire,
    };
    let verdict = flow::plan(&request)?;
    if let Some(failure) = verdict.refusal() {
        if verdict.conflicts().next().is_some()
            && let Some(file) = &conflicts
        {
            files::write_out(file, verdict.rendered_conflicts().as_bytes())?;
        }
        return Err(failure);
    }
    let warnings: Vec<_> = verdict
        .findings()
        .filter(|finding| finding.severity == Severity::Warning)
        .collect();
    if strict && !warnings.is_empty() {
        let blockers = warnings.into_iter().map(flow::blocker).collect();
        return Err(Failure::refused(
            Code::DeltaWarnings,
            "the delta has warnings, and --strict is given",
        )
        .blockers(blockers));
    }
    if !dry_run {
        flow::write(&request.specs, &verdict)?;
    }
    for finding in verdict.findings() {
        if !ui.is_json() {
            ui.warn(line_of(finding));
        }
    }
    let domains = verdict.domains.iter();
    let domains = domains.map(|one| applied(one, dry_run, ui)).collect();
    ui.json(
        "spec apply",
        &AppliedAll {
            dry_run,
            domains,
            findings: verdict.findings().collect(),
        },
    );
    Ok(Exit::Done)
}

/// Says what becomes of one spec, in a dry run as a diff.
fn applied<'v>(one: &'v flow::Applied, dry_run: bool, ui: &mut Ui) -> AppliedDomain<'v> {
    let outcome = &one.outcome;
    let path = format!("{}/spec.md", outcome.domain);
    let old = one.before.as_deref().unwrap_or_default();
    let (action, new) = match &outcome.action {
        Action::Keep => ("keep", old),
        Action::Write(text) if one.before.is_none() => ("create", text.as_str()),
        Action::Write(text) => ("update", text.as_str()),
        Action::Retire => ("retire", ""),
    };
    if dry_run && old != new {
        let text = diff::unified(&path, old, new, ui.color());
        ui.out(text.trim_end_matches('\n'));
    } else if !dry_run {
        ui.status(format!("{action}  {}", clean(&path)));
    }
    AppliedDomain {
        domain: &outcome.domain,
        action,
    }
}

/// `file:line: severity id: message`, and the fix below it.
fn line_of(finding: &Finding) -> String {
    format!(
        "{}:{}: {} {}: {}\n    {}",
        clean(&finding.file),
        finding.line,
        finding.severity.as_str(),
        finding.id,
        clean(&finding.message),
        clean(&finding.fix.to_string())
    )
}

#[derive(Serialize)]
struct MergedFile<'a> {
    clean: bool,
    conflicts: &'a [Conflict],
    /// Text of the result; absent when it was written to a file.
    text: Option<&'a str>,
}

fn merge_file(args: MergeFileArgs, ui: &mut Ui) -> Result<Exit> {
    let MergeFileArgs {
        base,
        ours,
        theirs,
        output,
    } = args;
    let mut texts = Vec::new();
    for path in [&base, &ours, &theirs] {
        let bytes = flow::read(path)?;
        let text = utf8(&bytes, &path.to_string_lossy()).map_err(|finding| {
            Failure::refused(Code::NotUtf8, "a spec is not UTF-8")
                .blockers(vec![flow::blocker(&finding)])
        })?;
        texts.push(text.to_owned());
    }
    let [base, ours, theirs] = texts.as_slice() else {
        return Err(Failure::internal(
            Code::MergeInputs,
            "three texts were expected",
        ));
    };
    let names = MarkerNames {
        base: "base",
        ours: "ours",
        theirs: "theirs",
    };
    let merged = merge_spec(base, ours, theirs, &FileMerge, names);
    let clean = merged.conflicts.is_empty();
    match &output {
        Some(path) => files::write_out(path, merged.text.as_bytes())?,
        None if !ui.is_json() => ui.raw(merged.text.as_bytes()),
        None => {}
    }
    ui.json(
        "spec merge-file",
        &MergedFile {
            clean,
            conflicts: &merged.conflicts,
            text: output.is_none().then_some(merged.text.as_str()),
        },
    );
    if clean {
        return Ok(Exit::Done);
    }
    if !ui.is_json() {
        for conflict in &merged.conflicts {
            let name = conflict.requirement.as_ref().unwrap_or(&conflict.section);
            ui.warn(format!(
                "{} on `{name}`, line {} of THEIRS",
                conflict.kind.name(),
                conflict.line
            ));
        }
    }
    Ok(Exit::Conflict)
}

fn parse(args: ParseArgs, ui: &mut Ui) -> Result<Exit> {
    let ParseArgs { file, delta } = args;
    let bytes = flow::read(&file)?;
    let label = file.to_string_lossy();
    if delta {
        let delta = read_delta(&bytes, &label);
        ui.json("spec parse", &delta);
        for domain in &delta.domains {
            ui.out(format!(
                "domain {}",
                clean(domain.domain.as_deref().unwrap_or("-"))
            ));
            for op in &domain.operations {
                let to = op.to.as_ref().map(|to| format!(" -> {}", clean(to)));
                ui.out(format!(
                    "{:>5}  {:<8}  {}{}",
                    op.line,
                    op.kind.word(),
                    clean(&op.name),
                    to.unwrap_or_default()
                ));
            }
        }
        say(&delta.findings, ui);
        return Ok(Exit::Done);
    }
    let spec = read_spec(&bytes, &label).map_err(|finding| {
        Failure::refused(Code::NotUtf8, "the spec is not UTF-8")
            .blockers(vec![flow::blocker(&finding)])
    })?;
    ui.json("spec parse", &spec);
    for requirement in &spec.requirements {
        ui.out(format!(
            "{:>5}  {}",
            requirement.span.line,
            clean(&requirement.name)
        ));
        for scenario in &requirement.scenarios {
            ui.out(format!(
                "{:>5}    {}",
                scenario.span.line,
                clean(&scenario.name)
            ));
        }
    }
    say(&spec.findings, ui);
    Ok(Exit::Done)
}

fn say(findings: &[Finding], ui: &mut Ui) {
    for finding in findings {
        ui.out(line_of(finding));
    }
}

fn findings(ui: &mut Ui) -> Result<Exit> {
    for one in FINDINGS {
        let severities: Vec<&str> = one.severities.iter().map(|s| s.as_str()).collect();
        ui.out(format!(
            "{:27}  {:13}  {}\n    {}",
            one.id,
            severities.join(", "),
            one.meaning,
            one.fix
        ));
    }
    ui.json(
        "spec findings",
        &serde_json::json!({ "findings": FINDINGS }),
    );
    Ok(Exit::Done)
}

#[derive(Serialize)]
struct Validated {
    /// `worktree`, `HEAD` (of a bare repository), or `paths` where they were named.
    source: &'static str,
    files: usize,
    valid: bool,
    findings: Vec<Finding>,
}

fn validate(args: ValidateArgs, open: impl Fn() -> Result<Context>, ui: &mut Ui) -> Result<Exit> {
    let ValidateArgs { paths, strict } = args;
    let mut specs = Vec::new();
    let source = if paths.is_empty() {
        let ctx = open()?;
        specs.extend(
            crate::flow::specs::list(&ctx)?
                .into_iter()
                .map(|one| one.spec),
        );
        match ctx.repo.work_dir() {
            Some(_) => "worktree",
            None => "HEAD",
        }
    } else {
        let mut files = Vec::new();
        for path in paths {
            if path.is_dir() {
                let (domains, _) = flow::walk(&path)?;
                files.extend(domains.iter().map(|d| path.join(d).join("spec.md")));
            } else {
                files.push(path);
            }
        }
        for file in &files {
            specs.push(read_spec(&flow::read(file)?, &file.to_string_lossy()));
        }
        "paths"
    };
    let files = specs.len();
    let mut findings = Vec::new();
    for spec in specs {
        match spec {
            Ok(Spec { findings: of, .. }) => findings.extend(of),
            Err(finding) => findings.push(finding),
        }
    }
    let least = if strict {
        Severity::Warning
    } else {
        Severity::Error
    };
    let valid = !findings.iter().any(|finding| finding.severity >= least);
    say(&findings, ui);
    if valid {
        ui.status(match (files, source) {
            (0, "worktree" | "HEAD") => "no spec yet".to_owned(),
            (1, _) => "1 spec is valid".to_owned(),
            _ => format!("{} are valid", counted(files, "spec")),
        });
    }
    ui.json(
        "spec validate",
        &Validated {
            source,
            files,
            valid,
            findings,
        },
    );
    Ok(if valid { Exit::Done } else { Exit::Blocked })
}
