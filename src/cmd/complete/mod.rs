//! `completions` prints a shell's script, and the hidden `complete` what could stand where the cursor is: commands and
//! options from the parser's own description, values from the repository. It never fails, and says nothing else.

mod walk;

use crate::cli::{Cli, Exit};
use crate::flow::complete as flow;
use crate::ui::{Ui, line};
use clap::CommandFactory;
use clap_complete::Shell;
use loopx_base::failure::Result;
use serde_json::json;
use walk::Offer;

const BASH: &str = include_str!("bash.sh");
const ZSH: &str = include_str!("zsh.sh");
const FISH: &str = include_str!("fish.fish");

/// Prints the completion script of a shell, which asks [`complete`]. Other shells than these three complete commands
/// and options alone.
pub(crate) fn completions(shell: Shell, ui: &mut Ui) -> Result<Exit> {
    let script = match shell {
        Shell::Bash => BASH.to_owned(),
        Shell::Zsh => ZSH.to_owned(),
        Shell::Fish => FISH.to_owned(),
        shell => {
            let mut script = Vec::new();
            let mut cli = without_hidden(Cli::command());
            clap_complete::generate(shell, &mut cli, "git-loopx", &mut script);
            String::from_utf8_lossy(&script).into_owned()
        }
    };
    ui.json("completions", &json!({ "script": script }));
    if !ui.is_json() {
        ui.raw(script.as_bytes());
    }
    Ok(Exit::Done)
}

/// The commands without the hidden ones, which the generator would offer.
fn without_hidden(cli: clap::Command) -> clap::Command {
    let shown: Vec<clap::Command> = cli
        .get_subcommands()
        .filter(|part| !part.is_hide_set())
        .cloned()
        .collect();
    let bare = clap::Command::new("git-loopx")
        .bin_name("git loopx")
        .args(cli.get_arguments().cloned());
    bare.subcommands(shown)
}

/// Prints what the last word could be, one a line: the word, a tab, what it is. A line that begins with a tab asks the
/// shell for files.
pub(crate) fn complete(words: &[String], ui: &mut Ui) -> Result<Exit> {
    let asked = walk::walk(words);
    let mut found: Vec<(String, String)> = Vec::new();
    let mut wants_files = false;
    for offer in asked.offers {
        match offer {
            Offer::Word(word, about) => found.push((word, about)),
            Offer::Files => wants_files = true,
            Offer::Of(kind) => {
                let values = flow::values(kind, asked.session.clone());
                found.extend(values.into_iter().map(|one| (one.text, one.about)));
            }
        }
    }
    found.retain(|(word, _)| word.starts_with(&asked.begun));
    let lines: Vec<String> = found
        .iter()
        .map(|(word, about)| format!("{}{}\t{}", asked.before, line(word), line(about)))
        .collect();
    ui.json(
        "complete",
        &json!({ "values": lines, "files": wants_files }),
    );
    for line in lines {
        ui.out(line);
    }
    if wants_files {
        ui.out("\t");
    }
    Ok(Exit::Done)
}
