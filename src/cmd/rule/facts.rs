//! `rule facts`.

use crate::cli::Exit;
use crate::flow::{Context, rules};
use crate::ui::{Ui, line, style};
use loopx_base::counted;
use loopx_base::failure::Result;
use loopx_base::shell_word;
use serde_json::json;

/// Show what the project is made of: languages, commands that build and test, what to read first
///
/// Read from the files of a commit; nothing is run, and nothing is remembered.
#[derive(Clone, Debug, clap::Args)]
pub struct FactsArgs {
    /// Of this commit (default: the one that is checked out)
    #[arg(long, value_name = "COMMIT")]
    at: Option<String>,
}

pub(super) fn run(args: &FactsArgs, ctx: &Context, ui: &mut Ui) -> Result<Exit> {
    let found = rules::facts(ctx, args.at.as_deref())?;
    let facts = &found.facts;
    let row = |label: &str, texts: Vec<String>, ui: &mut Ui| {
        for (nth, text) in texts.iter().enumerate() {
            let label = if nth == 0 { label } else { "" };
            let label = ui.paint(style::NAME, &format!("{label:<10}"));
            ui.out(format!("{label}  {}", line(text)));
        }
    };
    let languages = facts.languages.iter();
    let languages = languages.map(|one| format!("{}  {}", one.name, counted(one.files, "file")));
    row("languages", languages.collect(), ui);
    for what in ["build", "test", "lint"] {
        let commands = facts.commands.iter().filter(|one| one.what == what);
        let commands = commands.map(|one| {
            let words: Vec<String> = one.run.iter().map(|word| shell_word(word)).collect();
            format!("{}  ({})", words.join(" "), one.from)
        });
        row(what, commands.collect(), ui);
    }
    row("manifests", facts.manifests.clone(), ui);
    row("read first", facts.documents.clone(), ui);
    for unread in &facts.unread {
        ui.warn(format!("not read: {}", line(unread)));
    }
    if found.tree.is_none() {
        ui.status("there is no commit yet: nothing is known");
    } else if facts.languages.is_empty() && facts.documents.is_empty() && facts.manifests.is_empty()
    {
        ui.status("no file says anything that is known");
    }
    ui.json("rule facts", &json!(found));
    Ok(Exit::Done)
}
