//! `man`: pages made from the command line's own description, so that they cannot differ from it, with the examples
//! of `help`, the settings that `doctor` judges, and the keys of `loopx.toml`.

use super::help::{self, EXITS};
use crate::cli::{Cli, Exit};
use crate::flow::files;
use crate::ui::{Ui, line};
use clap::CommandFactory;
use clap_mangen::Man;
use loopx_base::env;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_git::run::Run;
use loopx_rules::policy::{Policy, schema};
use loopx_rules::settings::SETTINGS;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Files and refs that the program keeps, and what is in them.
const FILES: [(&str, &str); 7] = [
    (
        ".loopx/ID/",
        "The working copy of a session's artifacts, in the worktree; git ignores it.",
    ),
    (
        "refs/heads/loopx",
        "The branch of the sessions: sessions/ID/, archive/YYYY-MM/ID/, branches/, journal/.",
    ),
    (
        "loopx.toml",
        "Policy, at the top of the code branch. A session has that of the commit it starts from.",
    ),
    (
        "loopx.signers, loopx.revoked",
        "The keys that people sign with, as ssh-keygen(1) reads allowed signers, and revoked ones.",
    ),
    (
        "specs/DOMAIN/spec.md",
        "What the program does: archive merges the deltas of sessions into them.",
    ),
    ("docs/adr/", "Decision records."),
    (
        "$GIT_DIR/loopx/",
        "Locks, journals and caches. Nothing in it is needed by another clone.",
    ),
];

fn failed(path: &Path, error: &std::io::Error) -> Failure {
    Failure::refused(Code::FileFailed, format!("{}: {error}", path.display()))
}

/// Every page with its file name: `git-loopx.1`, and `git-loopx-NAME.1` for each command and each part of one.
fn pages() -> Result<Vec<(String, Vec<u8>)>> {
    // Its page would be one that there is none of.
    let mut cli = Cli::command().disable_help_subcommand(true);
    cli.build();
    let mut pages = Vec::new();
    collect(cli, "", &mut pages)
        .map_err(|error| Failure::internal(Code::ManFailed, error.to_string()))?;
    Ok(pages)
}

fn collect(
    command: clap::Command,
    path: &str,
    pages: &mut Vec<(String, Vec<u8>)>,
) -> std::io::Result<()> {
    let name = match path {
        "" => "git-loopx".to_owned(),
        path => format!("git-loopx-{}", path.replace(' ', "-")),
    };
    let parts: Vec<clap::Command> = command
        .get_subcommands()
        .filter(|part| !part.is_hide_set())
        .cloned()
        .collect();
    let names = help::parts(&command);
    let examples = match path {
        "" => vec![
            "start --quick \"Fix the typo in the login form\"",
            "status",
            "finish",
        ],
        path => help::examples_of(path, &names),
    };
    let mut page = Vec::new();
    let shown = command.display_name(&name);
    let man = Man::new(shown).title(name.to_uppercase());
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if !parts.is_empty() {
        man.render_subcommands_section(&mut page)?;
    }
    let mut more = Vec::new();
    section("EXAMPLES", &mut more);
    for example in examples {
        more.push(".nf".to_owned());
        more.push(text(&format!("    git loopx {example}")));
        more.push(".fi".to_owned());
    }
    match path {
        "" => whole(&mut more),
        _ => exits(&mut more),
    }
    section("SEE ALSO", &mut more);
    more.push(text(match path {
        "" => "git(1), gitworkflows(7), githooks(5)",
        _ => "git-loopx(1)",
    }));
    page.extend_from_slice(more.join("\n").as_bytes());
    page.push(b'\n');
    pages.push((format!("{name}.1"), page));
    for part in parts {
        let path = format!("{path} {}", part.get_name());
        collect(part, path.trim_start(), pages)?;
    }
    Ok(())
}

/// Writes the sections that the page of the whole program alone has.
fn whole(page: &mut Vec<String>) {
    section("FILES", page);
    for (name, means) in FILES {
        item(name, means, page);
    }
    section("CONFIGURATION", page);
    page.push(text(
        "Personal settings, in any file that git-config(1) reads. `git loopx doctor` names a value that means nothing.",
    ));
    for setting in SETTINGS {
        let means = format!(
            "{} Expected: {}. Without it: {}.",
            setting.means,
            setting.expected(),
            setting.default
        );
        item(setting.key, &means, page);
    }
    page.push(".PP".to_owned());
    page.push(text(
        "Policy of everybody, in loopx.toml, with what holds where it says nothing. `git loopx config show` prints what holds here.",
    ));
    page.push(".nf".to_owned());
    for key in schema::keys(&Policy::default()) {
        page.push(text(&format!("    {} = {}", key.name, key.value)));
    }
    page.push(".fi".to_owned());
    exits(page);
}

fn exits(page: &mut Vec<String>) {
    section("EXIT STATUS", page);
    for (code, meaning) in EXITS {
        item(&code.to_string(), meaning, page);
    }
    page.push(".PP".to_owned());
    page.push(text(
        "Each refusal and error has a code of its own, which git loopx help codes lists.",
    ));
}

fn section(name: &str, page: &mut Vec<String>) {
    page.push(format!(".SH {name}"));
}

fn item(name: &str, means: &str, page: &mut Vec<String>) {
    page.push(".TP".to_owned());
    page.push(format!("\\fB{}\\fR", text(name)));
    page.push(text(means));
}

/// Line of text in which roff(7) finds nothing to do.
fn text(line: &str) -> String {
    let line = line.replace('\\', "\\e").replace('-', "\\-");
    if line.starts_with(['.', '\'']) {
        format!("\\&{line}")
    } else {
        line
    }
}

/// Prints the main page, or writes every page into a folder's `man1`. Without a folder that is where one person's
/// pages are kept.
pub(crate) fn man(install: Option<Option<&Path>>, ui: &mut Ui) -> Result<Exit> {
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
    let dir = match dir {
        Some(dir) => dir.to_owned(),
        None => own_folder()?,
    };
    let man1 = dir.join("man1");
    std::fs::create_dir_all(&man1).map_err(|error| failed(&man1, &error))?;
    for (name, page) in &pages {
        let path = man1.join(name);
        files::write(&path, page)?;
    }
    // Asked afterwards: it names no folder that is not there.
    let is_read = looked_at().map(|places| is_among(&dir, &places));
    ui.status(format!("{} pages in {}", pages.len(), man1.display()));
    let dir = line(&dir.to_string_lossy());
    match is_read {
        Some(true) => ui.status("git help loopx opens them"),
        Some(false) => ui.warn(format!(
            "`man` does not look in {dir}; it does with: export MANPATH=\"{dir}:\""
        )),
        None => ui.warn(format!(
            "git loopx cannot tell whether `man` looks in {dir}"
        )),
    }
    ui.json(
        "man",
        &json!({ "folder": man1, "pages": pages.len(), "is_read": is_read }),
    );
    Ok(Exit::Done)
}

/// The folder of one's own that `man` reads, else the usual one.
fn own_folder() -> Result<PathBuf> {
    let Some(home) = env::var_os("HOME") else {
        return Err(Failure::refused(
            Code::FileFailed,
            "expected HOME, or a folder for the pages, found neither",
        )
        .help(command!("man --install /usr/local/share/man")));
    };
    let home = PathBuf::from(home);
    let own = |place: &PathBuf| place.starts_with(&home);
    let usual = || match env::var_os("XDG_DATA_HOME") {
        Some(data) => PathBuf::from(data).join("man"),
        None => home.join(".local/share/man"),
    };
    let found = looked_at().unwrap_or_default().into_iter().find(own);
    Ok(found.unwrap_or_else(usual))
}

/// Folders in which `man` looks, if it says so: man-db has a program for it, the other ones an option.
fn looked_at() -> Option<Vec<PathBuf>> {
    let asked = [
        Run::program("manpath").args(["-q"]),
        Run::program("man").args(["-w"]),
    ];
    asked.into_iter().find_map(|run| {
        let said = run.capture().ok().filter(|said| said.ended.success())?;
        let line = said.line().ok()?;
        let line = String::from_utf8_lossy(&line).into_owned();
        let places: Vec<PathBuf> = std::env::split_paths(&line).collect();
        (!places.is_empty()).then_some(places)
    })
}

/// Tells whether `man` looks in this folder, by whatever name.
fn is_among(dir: &Path, places: &[PathBuf]) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let dir = real(dir);
    places.iter().any(|place| real(place) == dir)
}
