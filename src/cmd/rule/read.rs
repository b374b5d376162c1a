//! `rule list`, `rule show`, `rule check` and `rule merge-driver`.

use crate::cli::Exit;
use crate::cmd::pipeline::say;
use crate::flow::{Context, driver, rules};
use crate::ui::{Ui, line, style};
use loopx_base::counted;
use loopx_base::failure::Result;
use loopx_base::hint::command;
use loopx_rules::rule::{Document, Origin};
use loopx_spec::Severity;
use serde_json::{Value, json};
use std::path::PathBuf;

/// List the documents of rules, those of your own among them
#[derive(Clone, Debug, clap::Args)]
pub struct ListArgs {
    /// Only of this category
    #[arg(long, value_name = "CATEGORY")]
    category: Option<String>,
    /// Only with this keyword
    #[arg(long, value_name = "KEYWORD")]
    keyword: Option<String>,
    /// Only your own
    #[arg(long)]
    personal: bool,
    /// As they are in this commit
    #[arg(long, value_name = "COMMIT")]
    at: Option<String>,
}

/// Print a document of rules as it stands
#[derive(Clone, Debug, clap::Args)]
pub struct ShowArgs {
    /// A path, the name of a file, or a title
    #[arg(value_name = "DOCUMENT")]
    document: String,
    /// As it is in this commit
    #[arg(long, value_name = "COMMIT")]
    at: Option<String>,
}

/// Say what is wrong with the documents of rules, each finding with its line; exit 1 for errors
#[derive(Clone, Debug, clap::Args)]
pub struct CheckArgs {
    /// As they are in this commit
    #[arg(long, value_name = "COMMIT")]
    at: Option<String>,
    /// Refuse warnings too
    #[arg(long)]
    strict: bool,
}

/// Merge three versions of a document of rules into OURS (called by git: see `spec install-driver`)
#[derive(Clone, Debug, clap::Args)]
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

pub(super) fn list(args: &ListArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let rule_set = rules::rule_set(ctx, args.at.as_deref())?;
    if let Some(name) = &args.category {
        rule_set.require_category(name)?;
    }
    let wanted = |one: &&Document| {
        let category = args.category.as_ref();
        let keyword = args.keyword.as_ref();
        category.is_none_or(|name| one.category == *name)
            && keyword.is_none_or(|word| one.has_keyword(word))
            && (!args.personal || one.origin == Origin::Personal)
    };
    let found: Vec<&Document> = rule_set.documents.iter().filter(wanted).collect();
    let wide = found
        .iter()
        .map(|one| line(&one.path).chars().count())
        .max()
        .unwrap_or(0);
    for one in &found {
        let path = line(&one.path);
        let gap = " ".repeat(wide.saturating_sub(path.chars().count()));
        let own = match one.origin {
            Origin::Personal => ", personal",
            Origin::Project => "",
        };
        let says = format!("{}, {}, {}{own}", one.category, one.mode, one.priority);
        ui.out(format!(
            "{}{gap}  {says:<27}  {:>8}  {}",
            ui.paint(style::NAME, &path),
            counted(one.rules.len(), "rule"),
            line(&one.title)
        ));
    }
    for (path, why) in &rule_set.unread {
        ui.warn(format!("{} is not read: {}", line(path), line(why)));
    }
    let is_narrow = args.category.is_some() || args.keyword.is_some() || args.personal;
    if found.is_empty() && is_narrow && !rule_set.documents.is_empty() {
        ui.status("no such document");
        ui.hint(command!("rule list"));
    } else if found.is_empty() {
        ui.status(format!("no rules in {}", line(&rule_set.folder)));
        if ctx.repo.work_dir().is_some() {
            ui.hint(command!("rule add \"Log with one logger\""));
        }
    }
    let unread = rule_set.unread.iter();
    let unread: Vec<Value> = unread
        .map(|(path, why)| json!({ "path": path, "what": why }))
        .collect();
    ui.json(
        "rule list",
        &json!({ "folder": rule_set.folder, "tree": rule_set.tree, "total": found.len(), "documents": found, "unread": unread }),
    );
    Ok(Exit::Done)
}

pub(super) fn show(args: &ShowArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let rule_set = rules::rule_set(ctx, args.at.as_deref())?;
    let document = rule_set.find(&args.document)?;
    if !ui.is_json() {
        ui.raw(document.text.as_bytes());
    }
    ui.json(
        "rule show",
        &json!({ "document": document, "text": document.text, "faults": document.faults() }),
    );
    Ok(Exit::Done)
}

pub(super) fn check(args: &CheckArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let (rule_set, findings) = rules::check(ctx, args.at.as_deref())?;
    let count = |severity: Severity| {
        findings
            .iter()
            .filter(|one| one.severity == severity)
            .count()
    };
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    let told: Vec<_> = findings
        .iter()
        .filter(|one| one.severity > Severity::Info || ui.is_verbose())
        .cloned()
        .collect();
    say(&told, ui);
    ui.status(format!(
        "{}: {}, {}",
        counted(rule_set.documents.len(), "document"),
        counted(errors, "error"),
        counted(warnings, "warning")
    ));
    let valid = errors == 0 && (warnings == 0 || !args.strict);
    ui.json(
        "rule check",
        &json!({ "folder": rule_set.folder, "tree": rule_set.tree, "documents": rule_set.documents.len(), "valid": valid,
                 "findings": findings }),
    );
    Ok(if valid { Exit::Done } else { Exit::Blocked })
}

/// Exit code that git takes as "stop", not as "conflict".
const STOP: u8 = 129;

pub(super) fn merge_driver(args: &DriverArgs, ui: &mut Ui) -> Exit {
    let merged = match driver::merge_rules(&args.base, &args.ours, &args.theirs) {
        Ok(merged) => merged,
        Err(failure) => {
            ui.failure(&failure);
            return Exit::Code(STOP);
        }
    };
    if !merged.clean {
        ui.warn(format!(
            "{}: both sides changed one place; it was merged by lines, with markers",
            line(&args.path)
        ));
    }
    ui.json(
        "rule merge-driver",
        &json!({ "path": args.path, "clean": merged.clean, "by_lines": merged.by_lines }),
    );
    if merged.clean {
        Exit::Done
    } else {
        Exit::Blocked
    }
}
