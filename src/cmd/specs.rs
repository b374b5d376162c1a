//! `git loopx spec list|show|merge-driver|install-driver`: the specs of a repository.

use crate::cli::Exit;
use crate::flow::coverage::Traced;
use crate::flow::drift;
use crate::flow::drift::Kind;
use crate::flow::{Context, begin, changelog, driver, specs};
use crate::ui::{Ui, clean, style};
use loopx_base::counted;
use loopx_base::failure::Result;
use loopx_base::hint::{command, hint};
use serde_json::{Value, json};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub struct ShowArgs {
    /// The domain: the folder of the spec below the folder of specs
    #[arg(value_name = "DOMAIN")]
    domain: String,
    /// One requirement, by name
    #[arg(value_name = "REQUIREMENT")]
    requirement: Option<String>,
}

#[derive(Debug, clap::Args)]
pub struct DriverArgs {
    /// The ancestor (%O)
    #[arg(value_name = "BASE")]
    base: PathBuf,
    /// Our version, replaced by the merge (%A)
    #[arg(value_name = "OURS")]
    ours: PathBuf,
    /// The other version (%B)
    #[arg(value_name = "THEIRS")]
    theirs: PathBuf,
    /// The path in the repository, for messages (%P)
    #[arg(value_name = "PATH")]
    path: String,
}

#[derive(Debug, clap::Args)]
pub struct InstallDriverArgs {
    /// Show what would be written
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Take the attributes and the configuration away
    #[arg(long)]
    uninstall: bool,
}

#[derive(Debug, clap::Args)]
pub struct ChangelogArgs {
    /// Put the fragments below `## [Unreleased]` and remove their files; commit the change yourself
    #[arg(long)]
    write: bool,
    /// The changelog
    #[arg(
        long,
        value_name = "FILE",
        default_value = "CHANGELOG.md",
        requires = "write"
    )]
    file: String,
}

pub(crate) fn changelog(args: ChangelogArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let into = args.write.then_some(args.file.as_str());
    let found = changelog::collect(ctx, into)?;
    match &found.written {
        None => {
            ui.out(clean(found.entries.text().trim_end()));
            ui.hint(command!("spec changelog --write"));
        }
        Some(file) => {
            let fragments = counted(found.fragments.len(), "fragment");
            ui.status(format!("{}: took in {fragments}", clean(file)));
            let folder = found.fragments[0]
                .rsplit_once('/')
                .map_or("", |(dir, _)| dir);
            ui.hint(format!("git add {file} {folder} && git commit"));
        }
    }
    let sections: serde_json::Map<String, Value> = found
        .entries
        .sections()
        .map(|(heading, entries)| (heading.to_owned(), json!(entries)))
        .collect();
    ui.json(
        "spec changelog",
        &json!({
            "fragments": found.fragments,
            "sections": sections,
            "text": found.entries.text(),
            "written": found.written,
        }),
    );
    Ok(Exit::Done)
}

pub(crate) fn list(ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let all = specs::list(ctx)?;
    if all.is_empty() {
        ui.status("no spec yet");
        ui.hint(hint![begin::way(ctx)?, "   (archive writes the first one)"]);
    }
    let width = all.iter().map(|one| one.domain.len()).max().unwrap_or(0);
    let mut documents = Vec::new();
    for one in &all {
        let (requirements, scenarios, purpose) = match &one.spec {
            Ok(spec) => (
                spec.requirements.len(),
                spec.requirements.iter().map(|r| r.scenarios.len()).sum(),
                spec.purpose.as_ref().map_or("", |p| p.text.as_str()),
            ),
            Err(_) => (0, 0, ""),
        };
        let errors = one.errors();
        let name = ui.paint(style::NAME, &format!("{:width$}", clean(&one.domain)));
        let wrong = match errors {
            0 => String::new(),
            n => ui.paint(style::BAD, &format!("  {}", counted(n, "error"))),
        };
        let said = clean(purpose.lines().next().unwrap_or_default());
        ui.out(format!(
            "{name}  {:>16}  {:>13}{wrong}  {said}",
            counted(requirements, "requirement"),
            counted(scenarios, "scenario")
        ));
        documents.push(json!({
            "domain": one.domain,
            "path": one.path,
            "purpose": purpose,
            "requirements": requirements,
            "scenarios": scenarios,
            "errors": errors,
        }));
    }
    ui.json("spec list", &json!({ "specs": documents }));
    Ok(Exit::Done)
}

pub(crate) fn show(args: ShowArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let ShowArgs {
        domain,
        requirement,
    } = args;
    let (one, text) = specs::show(ctx, &domain, requirement.as_deref())?;
    if !ui.is_json() {
        ui.raw(text.as_bytes());
        if !text.ends_with('\n') {
            ui.raw(b"\n");
        }
        return Ok(Exit::Done);
    }
    let model = match (&one.spec, &requirement) {
        (Ok(spec), Some(name)) => json!(spec.requirement(name)),
        (Ok(spec), None) => json!(spec),
        (Err(_), _) => Value::Null,
    };
    ui.json(
        "spec show",
        &json!({ "domain": one.domain, "path": one.path, "text": text, "model": model }),
    );
    Ok(Exit::Done)
}

pub(crate) fn coverage(ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let Traced {
        id, tree, covered, ..
    } = crate::flow::coverage::show(ctx)?;
    if covered.is_empty() {
        ui.status(format!("{id}: the delta writes no scenario"));
    }
    for one in &covered {
        let role = if one.proof.is_enough() {
            style::GOOD
        } else {
            style::BAD
        };
        let word = ui.paint(role, &format!("{:8}", one.proof.as_str()));
        ui.out(format!("{word}  {}", clean(&one.scenario)));
        for slice in &one.slices {
            ui.out(format!(
                "    {}: {}  ({})",
                clean(&slice.slice),
                slice.proof.as_str(),
                clean(&slice.verification.join(" "))
            ));
        }
    }
    let complete = covered.iter().all(|one| one.proof.is_enough());
    ui.json(
        "spec coverage",
        &json!({ "session": id, "tree": tree, "complete": complete, "scenarios": covered }),
    );
    Ok(if complete { Exit::Done } else { Exit::Blocked })
}

pub(crate) fn drift(ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let report = drift::drift(ctx)?;
    for one in &report.drifted {
        let said = match one.kind {
            Kind::Edited => "edited by hand since",
            Kind::Reverted => "as it was before: its effect is gone; archived by",
            Kind::Removed => "not there any more; archived by",
            Kind::Restored => "there again; it was removed by",
        };
        ui.out(format!(
            "{}: {}: {said} {} ({})",
            clean(&one.path),
            ui.paint(style::NAME, &clean(&one.requirement)),
            clean(&one.session),
            one.archive.short()
        ));
        for edit in &one.edits {
            ui.out(format!(
                "    {} {} {}: {}",
                edit.commit.short(),
                edit.at,
                clean(&edit.author),
                clean(&edit.subject)
            ));
        }
        if one.edits.is_empty() {
            ui.out("    (in a merge)");
        }
    }
    for one in &report.missing {
        ui.out(format!(
            "{}: its archive {} is not on {}",
            one.session,
            one.archive.short(),
            clean(&one.target)
        ));
    }
    let none = report.drifted.is_empty() && report.missing.is_empty();
    if none {
        let archives = counted(report.archives, "archive");
        ui.status(format!(
            "no drift: {archives}, and the specs say what they made"
        ));
    }
    ui.json(
        "spec drift",
        &json!({
            "head": report.head,
            "archives": report.archives,
            "clean": none,
            "drifted": report.drifted,
            "missing": report.missing,
        }),
    );
    Ok(if none { Exit::Done } else { Exit::Blocked })
}

/// Exit code that git takes as "stop", not as "conflict".
const STOP: u8 = 129;

pub(crate) fn merge_driver(args: DriverArgs, ui: &mut Ui) -> Result<Exit> {
    let DriverArgs {
        base,
        ours,
        theirs,
        path,
    } = args;
    let driven = match driver::merge(&base, &ours, &theirs) {
        Ok(driven) => driven,
        Err(failure) => {
            ui.failure(&failure);
            return Ok(Exit::Code(STOP));
        }
    };
    if driven.by_lines {
        ui.warn(format!("{}: not UTF-8, merged line by line", clean(&path)));
    }
    if !ui.is_json() {
        for conflict in &driven.conflicts {
            let name = conflict.requirement.as_ref().unwrap_or(&conflict.section);
            ui.warn(format!(
                "{}: {} on `{}`",
                clean(&path),
                conflict.kind.name(),
                clean(name)
            ));
        }
    }
    ui.json(
        "spec merge-driver",
        &json!({ "path": path, "merge": driven }),
    );
    Ok(if driven.clean {
        Exit::Done
    } else {
        Exit::Blocked
    })
}

pub(crate) fn install_driver(args: InstallDriverArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let InstallDriverArgs { dry_run, uninstall } = args;
    let wiring = driver::wire(ctx, uninstall, dry_run)?;
    let sign = if uninstall { "-" } else { "+" };
    if dry_run {
        for line in &wiring.lines {
            ui.out(format!("{}: {sign}{line}", wiring.attributes.display()));
        }
        if wiring.config_change {
            for (key, value) in &wiring.config {
                ui.out(format!("git config: {sign}{key} = {value}"));
            }
        }
    }
    let changed = wiring.attributes_change || wiring.config_change;
    let said = match (dry_run, uninstall, changed) {
        (_, _, false) => "the merge drivers are installed already",
        (true, ..) => "nothing was written",
        (false, true, _) => "git merges specs and rules line by line from now on",
        (false, false, _) => {
            "git merges specs by requirement, and documents of rules by rule, from now on"
        }
    };
    ui.status(said);
    if wiring.attributes_change && !dry_run {
        ui.hint(format!(
            "git add :/{0} && git commit :/{0}",
            wiring.attributes.display()
        ));
    }
    ui.json(
        "spec install-driver",
        &json!({ "dry_run": dry_run, "uninstall": uninstall, "changed": changed, "wiring": wiring }),
    );
    Ok(Exit::Done)
}
