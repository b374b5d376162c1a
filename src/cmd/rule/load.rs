//! `rule load`.

use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::rules;
use crate::flow::rules::RuleSet;
use crate::ui::{Ui, clean, line};
use loopx_base::counted;
use loopx_base::failure::Result;
use loopx_base::hint::command;
use loopx_rules::rule::{Ask, Loaded};
use loopx_rules::stage::Stage;
use serde_json::{Value, json};

/// Print the documents of rules that apply now, each as it stands
///
/// Required documents come first, then by priority, then by path. What does not fit into the budget is named on
/// stderr. `general` applies at every stage, and so does a category that `rules.categories` names; clarify reads
/// exploration, plan reads planning, build reads execution, review reads planning and execution.
#[derive(Clone, Debug, clap::Args)]
pub struct LoadArgs {
    /// Only what applies at this stage
    #[arg(long, value_name = "STAGE")]
    stage: Option<Stage>,
    /// Only this category, and general; beside --stage also this one
    #[arg(long, value_name = "CATEGORY")]
    category: Option<String>,
    /// Of documents that are not required, only those with this keyword
    #[arg(long, value_name = "KEYWORD")]
    keyword: Option<String>,
    /// Only what applies to this file or folder (can be repeated)
    #[arg(long, value_name = "PATH")]
    path: Vec<String>,
    /// The most bytes (default: rules.budget of loopx.toml)
    #[arg(long, value_name = "BYTES")]
    budget: Option<usize>,
    /// As they are in this commit
    #[arg(long, value_name = "COMMIT")]
    at: Option<String>,
}

pub(super) fn run(args: LoadArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let LoadArgs {
        stage,
        category,
        keyword,
        path,
        budget,
        at,
    } = args;
    let rule_set = rules::rule_set(ctx, at.as_deref())?;
    let path: Vec<String> = path
        .iter()
        .map(|path| rules::typed_path(ctx, path))
        .collect();
    let ask = Ask {
        stage,
        category,
        keyword,
        paths: rule_set.spread(&ctx.repo, &path),
        budget,
    };
    let loaded = rule_set.load(&ask)?;
    let budget = budget.or(rule_set.budget);
    if !ui.is_json() {
        print(&loaded, ui);
    }
    warn(&rule_set, &loaded, budget, ui);
    let documents = loaded.documents.iter().map(|one| {
        json!({ "path": one.path, "origin": one.origin, "blob": one.blob, "title": one.title, "category": one.category,
                "readMode": one.mode, "priority": one.priority, "bytes": one.bytes, "text": one.text })
    });
    let documents: Vec<Value> = documents.collect();
    let unread = rule_set.unread.iter();
    let unread: Vec<Value> = unread
        .map(|(path, why)| json!({ "path": path, "what": why }))
        .collect();
    ui.json(
        "rule load",
        &json!({
            "tree": rule_set.tree,
            "documents": documents,
            "bytes": loaded.bytes,
            "budget": budget,
            "left_out": loaded.left_out,
            "faults": faults(&loaded),
            "unread": unread,
        }),
    );
    Ok(Exit::Done)
}

/// Each document as it stands, below its name.
fn print(loaded: &Loaded<'_>, ui: &mut Ui) {
    for (nth, document) in loaded.documents.iter().enumerate() {
        let gap = if nth > 0 { "\n" } else { "" };
        let blob = document.blob.get(..10).unwrap_or(&document.blob);
        ui.out(format!("{gap}<!-- {} ({blob}) -->", line(&document.path)));
        ui.out(clean(document.text.trim_end_matches(['\n', '\r'])));
    }
}

/// Faults in the front matter of what was read.
fn faults(loaded: &Loaded<'_>) -> Vec<String> {
    let documents = loaded.documents.iter();
    documents.flat_map(|one| one.faults()).collect()
}

/// Warns of documents that are not there, and says why.
fn warn(rule_set: &RuleSet, loaded: &Loaded<'_>, budget: Option<usize>, ui: &mut Ui) {
    let most = budget.map_or_else(String::new, |most| format!(" (the budget is {most})"));
    for left in &loaded.left_out {
        ui.warn(format!(
            "{} does not fit: {}, {}{most}",
            line(&left.path),
            counted(left.bytes, "byte"),
            left.mode,
        ));
    }
    let faults = faults(loaded);
    for fault in &faults {
        ui.warn(line(fault));
    }
    for (path, why) in &rule_set.unread {
        ui.warn(format!("{} is not read: {}", line(path), line(why)));
    }
    if loaded.documents.is_empty() && loaded.left_out.is_empty() {
        ui.status("no rules apply");
    }
    if !faults.is_empty() || !rule_set.unread.is_empty() {
        ui.hint(command!("rule check"));
    }
}
