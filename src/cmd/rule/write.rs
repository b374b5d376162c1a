//! `rule init`, `rule add` and `rule import`: they edit the worktree, or a person's own documents.

use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::rules;
use crate::flow::rules::AddRequest;
use crate::ui::{Ui, diff, line, style};
use loopx_base::counted;
use loopx_base::failure::Result;
use loopx_base::hint::{Hint, command, hint};
use loopx_rules::rule::{Origin, RuleKind};
use serde_json::json;
use std::path::PathBuf;

/// Lay out a glossary, documents of domains and the labels of triage (edits the worktree)
///
/// What is there stays as it is. A document in which nothing is written yet is read to nobody.
#[derive(Clone, Debug, clap::Args)]
pub struct InitArgs {
    /// A document for this domain (can be repeated; default: one overview)
    #[arg(long, value_name = "NAME")]
    domain: Vec<String>,
    /// Show what would be written
    #[arg(short = 'n', long)]
    dry_run: bool,
}

/// Put a rule into the document that it belongs in (edits the worktree)
///
/// The document follows from the kind and the category: `coding-conventions.md`, `architecture-constraints.md`,
/// `quality-rules.md`, `learnings.md`, or `CATEGORY-conventions.md` and so on where the category is another than that of
/// the kind. A rule that stands somewhere already is not written again: letter case, spacing and the full stop at the end
/// make no difference.
#[derive(Clone, Debug, clap::Args)]
pub struct AddArgs {
    /// The rule; `-` reads it from stdin. One that begins with `-` stands behind `--`
    #[arg(value_name = "TEXT")]
    text: String,
    /// The kind of the rule
    #[arg(long, value_name = "KIND", default_value = "convention", value_parser = clap::builder::PossibleValuesParser::new(RuleKind::WORDS))]
    kind: String,
    /// The category (default: general for conventions and learnings, planning for constraints, execution for quality)
    #[arg(long, value_name = "CATEGORY")]
    category: Option<String>,
    /// The document that the rule goes into
    #[arg(long, value_name = "DOCUMENT")]
    to: Option<String>,
    /// Among the rules of your own, which no repository has
    #[arg(long)]
    personal: bool,
    /// Show what would change; write nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

/// Take over rules of another tool: a folder of Markdown documents, or guidelines in JSON (edits the worktree)
///
/// All of it or nothing. Documents keep their text; rules that are here already are left out, so that a second import
/// finds nothing new.
#[derive(Clone, Debug, clap::Args)]
pub struct ImportArgs {
    /// The folder or the file (default: .workflow/specs and .workflow/project-guidelines.json)
    #[arg(value_name = "PATH")]
    from: Option<PathBuf>,
    /// Show what would change; write nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(super) fn init(args: &InitArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let laid = rules::init(ctx, &args.domain, args.dry_run)?;
    let verb = if args.dry_run { "would write" } else { "wrote" };
    for path in &laid.written {
        ui.status(format!("{verb} {}", line(path)));
    }
    for path in &laid.kept {
        ui.status(format!("kept  {}", line(path)));
    }
    if !args.dry_run {
        ui.hint(hint!["fill them, then: ", command!("rule check")]);
    }
    ui.json(
        "rule init",
        &json!({ "dry_run": args.dry_run, "written": laid.written, "kept": laid.kept }),
    );
    Ok(Exit::Done)
}

pub(super) fn add(args: &AddArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let text = match args.text.as_str() {
        "-" => crate::cmd::artifacts::read_text("-")?,
        text => text.to_owned(),
    };
    let added = rules::add(
        ctx,
        AddRequest {
            text: &text,
            kind: args.kind.parse()?,
            category: args.category.as_deref(),
            document: args.to.as_deref(),
            personal: args.personal,
            dry_run: args.dry_run,
        },
    )?;
    if args.dry_run {
        let text = diff::unified(&added.path, &added.before, &added.after, ui.color());
        ui.raw_text(&text);
    } else {
        let path = ui.paint(style::NAME, &line(&added.path));
        ui.status(format!("{path}:{}: {}", added.line, line(&added.rule)));
        match added.origin {
            Origin::Project => ui.hint(Hint::commit([added.path.as_str()], "Add a rule")),
            Origin::Personal => ui.hint(command!("rule list --personal")),
        }
    }
    ui.json(
        "rule add",
        &json!({ "dry_run": args.dry_run, "added": added }),
    );
    Ok(Exit::Done)
}

pub(super) fn import(args: &ImportArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let report = rules::import(ctx, args.from.as_deref(), args.dry_run)?;
    for page in &report.documents {
        if args.dry_run {
            let text = diff::unified(&page.path, &page.before, &page.after, ui.color());
            ui.raw_text(&text);
        } else {
            let path = ui.paint(style::NAME, &line(&page.path));
            let what = if page.created { "new, " } else { "" };
            ui.status(format!(
                "{path}: {what}{}",
                counted(page.rules.len(), "rule")
            ));
        }
    }
    if report.known > 0 {
        ui.status(format!("{} known already", counted(report.known, "rule")));
    }
    for path in &report.empty {
        ui.status(format!("{} has nothing new", line(path)));
    }
    for one in &report.passed_over {
        ui.warn(format!(
            "{}: left where it is: {}",
            line(&one.path),
            one.why
        ));
    }
    if !args.dry_run {
        let written = report.documents.iter().map(|page| page.path.as_str());
        let commit = Hint::commit(written, "Import rules");
        let is_new = !report.documents.is_empty();
        let then = if is_new {
            hint![", then: ", commit]
        } else {
            Hint::default()
        };
        ui.hint(hint![command!("rule check"), then]);
    }
    ui.json("rule import", &json!(report));
    Ok(Exit::Done)
}
