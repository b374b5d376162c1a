//! `man`, `completions`: made from the command line's own description, so that they cannot differ from it.

use crate::cli::{Cli, Exit};
use crate::core::failure::{Code, Failure, Result};
use crate::ui::Ui;
use clap::CommandFactory;
use serde_json::json;
use std::path::Path;

fn failed(path: &Path, error: &std::io::Error) -> Failure {
    Failure::refused(Code::FileFailed, format!("{}: {error}", path.display()))
}

/// Every page with its file name: `git-loopx.1`, and `git-loopx-NAME.1` for each command.
fn pages() -> Result<Vec<(String, Vec<u8>)>> {
    let mut pages = Vec::new();
    let cli = Cli::command();
    let render = |command: clap::Command, name: &str| -> Result<Vec<u8>> {
        let mut page = Vec::new();
        clap_mangen::Man::new(command)
            .title(name.to_uppercase())
            .render(&mut page)
            .map_err(|error| Failure::internal(Code::ManFailed, error.to_string()))?;
        Ok(page)
    };
    pages.push(("git-loopx.1".to_owned(), render(cli.clone(), "git-loopx")?));
    for command in cli
        .get_subcommands()
        .filter(|c| !c.is_hide_set() && c.get_name() != "help")
    {
        let name = format!("git-loopx-{}", command.get_name());
        let page = command
            .clone()
            .bin_name(format!("git loopx {}", command.get_name()))
            .display_name(&name);
        pages.push((format!("{name}.1"), render(page, &name)?));
    }
    Ok(pages)
}

/// Prints the main page, or writes every page into a folder's `man1`.
pub fn man(install: Option<&Path>, ui: &mut Ui) -> Result<Exit> {
    let pages = pages()?;
    let Some(dir) = install else {
        ui.json(
            "man",
            &json!({ "page": String::from_utf8_lossy(&pages[0].1) }),
        );
        if !ui.is_json() {
            ui.raw(&pages[0].1);
        }
        return Ok(Exit::Done);
    };
    let man1 = dir.join("man1");
    std::fs::create_dir_all(&man1).map_err(|error| failed(&man1, &error))?;
    for (name, page) in &pages {
        let path = man1.join(name);
        std::fs::write(&path, page).map_err(|error| failed(&path, &error))?;
    }
    ui.status(format!("{} pages in {}", pages.len(), man1.display()));
    ui.json("man", &json!({ "folder": man1, "pages": pages.len() }));
    Ok(Exit::Done)
}

/// Prints the completion script of a shell. For bash, with the function that git's own completion
/// calls for `git loopx`.
pub fn completions(shell: clap_complete::Shell, ui: &mut Ui) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "git-loopx", &mut script);
    if shell == clap_complete::Shell::Bash {
        // clap_complete 4.6 names the parts of a program whose shown name has a blank in two ways.
        script = String::from_utf8_lossy(&script)
            .replace("git__subcmd__loopx", "git__loopx")
            .into_bytes();
        script.extend_from_slice(
            b"\n_git_loopx() {\n    COMP_WORDS=(git-loopx \"${COMP_WORDS[@]:2}\")\n    COMP_CWORD=$((COMP_CWORD - 1))\n    \
              _git__loopx git-loopx \"${COMP_WORDS[COMP_CWORD]}\" \"${COMP_WORDS[COMP_CWORD-1]}\"\n}\n",
        );
    }
    ui.json(
        "completions",
        &json!({ "script": String::from_utf8_lossy(&script) }),
    );
    if !ui.is_json() {
        ui.raw(&script);
    }
    Ok(Exit::Done)
}
