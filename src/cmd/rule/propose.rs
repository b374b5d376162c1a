//! `rule propose`, and what an archive says of it.

use crate::cli::Exit;
use crate::flow::Context;
use crate::flow::note::propose;
use crate::flow::note::propose::{Choice, Proposal, Proposed};
use crate::ui::{Ui, line, style};
use loopx_base::counted;
use loopx_base::failure::Result;
use loopx_base::hint::{Hint, command};
use loopx_base::id::SessionId;
use loopx_base::shell_word;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Propose rules out of what a session noted, and write them where you say so
///
/// Conventions become conventions, decisions constraints, learnings learnings. A rule that stands somewhere already, a
/// note that was withdrawn, and one of which something was made before are left out. Without `--write` nothing is
/// written; with it the documents of the worktree are edited, and the session says where each rule stands.
#[derive(Clone, Debug, clap::Args)]
pub struct ProposeArgs {
    /// The session (default: the one that is meant, else the one that ended last on this branch)
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// Only this note: its number, or the beginning of its id (can be repeated)
    #[arg(long, value_name = "NOTE")]
    only: Vec<String>,
    /// The category of the rules (default: that of their kind)
    #[arg(long, value_name = "CATEGORY")]
    category: Option<String>,
    /// Write the rules that are proposed into their documents
    #[arg(long)]
    write: bool,
}

pub(super) fn run(args: &ProposeArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let choice = Choice {
        only: &args.only,
        category: args.category.as_deref(),
    };
    let name = args.id.as_deref();
    let (proposed, noted) = if args.write {
        let written = propose::write(ctx, name, choice)?;
        (written.proposed, written.noted)
    } else {
        (propose::propose(ctx, name, choice)?, None)
    };
    let id = &proposed.session;
    show(&proposed, ui);
    let next = next(&proposed, args);
    if proposed.rules.is_empty() {
        let id = ui.paint(style::NAME, id.as_str());
        ui.status(format!("{id}: its notes have no new rule"));
    }
    if args.write {
        for path in paths(&proposed.rules) {
            ui.status(format!("wrote {}", line(path)));
        }
    }
    if let Some(next) = &next {
        ui.hint(next);
    }
    ui.json(
        "rule propose",
        &json!({
            "session": id, "written": noted.is_some(), "rules": proposed.rules, "unfit": proposed.unfit,
            "commit": noted.map(|noted| noted.commit), "next_action": next,
        }),
    );
    Ok(Exit::Done)
}

/// The documents that rules go to, each once.
fn paths(rules: &[Proposal]) -> BTreeSet<&str> {
    rules.iter().map(|one| one.path.as_str()).collect()
}

fn next(proposed: &Proposed, args: &ProposeArgs) -> Option<Hint> {
    let paths = paths(&proposed.rules);
    let first = paths.first()?;
    if !args.write {
        let mut words = proposed.session.to_string();
        for note in &args.only {
            words.push_str(&format!(" --only {}", shell_word(note)));
        }
        if let Some(category) = &args.category {
            words.push_str(&format!(" --category {}", shell_word(category)));
        }
        return Some(command!("rule propose {words} --write"));
    }
    let what = match paths.len() {
        1 => format!("Add to {first}"),
        _ => "Add rules".to_owned(),
    };
    Some(Hint::commit(paths, &what))
}

/// Shows what is proposed: what it would be, where it would stand, and from which note.
fn show(proposed: &Proposed, ui: &mut Ui) {
    for one in &proposed.rules {
        let kind = ui.paint(style::NAME, &format!("{:<10}", one.kind));
        ui.out(format!("{kind}  {}", line(&one.rule)));
        ui.out(format!(
            "{:<10}  in {}, from @{} of {}",
            "",
            line(&one.path),
            one.seq,
            line(&one.by)
        ));
    }
    for one in &proposed.unfit {
        ui.warn(format!("@{} is left out: {}", one.seq, line(&one.why)));
    }
}

/// Says after an archive which rules its notes say. What cannot be read proposes nothing: the archive stands.
pub(crate) fn after_archive(id: &SessionId, ctx: &Context, document: &mut Value, ui: &mut Ui) {
    let found = propose::propose(ctx, Some(id.as_str()), Choice::default());
    let rules = found.map(|found| found.rules).unwrap_or_default();
    if !rules.is_empty() {
        let count = counted(rules.len(), "rule");
        ui.status(format!(
            "learned: {count} that the notes of {id} say and no document: {}",
            ui.command(&command!("rule propose {id}"))
        ));
    }
    document["rules"] = json!(rules);
}
