//! `demo`: the whole path in a temporary repository, each command printed with what came back.
//!
//! It runs this very program, as a person would, through git; nothing of the workflow is done here.

mod story;

use crate::cli::Exit;
use crate::ui::{Ui, clean, style};
use loopx_base::failure::{Code, Failure, Result};
use loopx_git::no_temporary_folder;
use loopx_git::run::Run;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use story::{Step, Who};

/// Runs the story. Ends with a failure as soon as a command does not end as the story says.
pub(crate) fn demo(keep: bool, ui: &mut Ui) -> Result<Exit> {
    let failed = |error: std::io::Error| {
        Failure::internal(Code::DemoFailed, error.to_string())
            .context("make a temporary repository")
    };
    let folder = tempfile::Builder::new()
        .prefix("loopx-demo-")
        .tempdir()
        .map_err(|error| no_temporary_folder("play in", &error))?;
    let repository = folder.path().join("ward");
    std::fs::create_dir(&repository).map_err(failed)?;
    let mut stage = Stage {
        path: search_path()?,
        home: folder.path().to_path_buf(),
        repository: repository.clone(),
        second: 0,
        commands: Vec::new(),
    };
    for step in story::story() {
        stage.play(&step, ui)?;
    }
    let kept = if keep {
        Some(folder.keep().join("ward"))
    } else {
        None
    };
    if let Some(path) = &kept {
        ui.status(format!("\nthe repository is kept in {}", path.display()));
    }
    ui.json(
        "demo",
        &json!({ "commands": stage.commands, "repository": kept }),
    );
    Ok(Exit::Done)
}

/// PATH with this program's folder in front, so that `git loopx` finds it.
fn search_path() -> Result<std::ffi::OsString> {
    let failed =
        |error: &dyn std::fmt::Display| Failure::internal(Code::DemoFailed, error.to_string());
    let program = loopx_base::env::program().map_err(|error| failed(&error))?;
    let mut folders: Vec<PathBuf> = program
        .parent()
        .map(Path::to_path_buf)
        .into_iter()
        .collect();
    folders.extend(loopx_base::env::path());
    std::env::join_paths(folders).map_err(|error| failed(&error))
}

struct Stage {
    path: std::ffi::OsString,
    home: PathBuf,
    repository: PathBuf,
    second: u32,
    commands: Vec<Value>,
}

impl Stage {
    fn play(&mut self, step: &Step, ui: &mut Ui) -> Result<()> {
        match step {
            Step::Say(text) => ui.out(format!("\n{}", ui.paint(style::HEAD, text))),
            Step::Write(path, text) => {
                ui.out(ui.paint(style::DIM, &format!("  ({path} is written)")));
                crate::flow::files::write(&self.repository.join(path), text.as_bytes())?;
            }
            Step::Keep(path) => self.choose_ours(path, ui)?,
            Step::Run { who, args, exit } => self.run(*who, args, *exit, ui)?,
        }
        Ok(())
    }

    /// Resolves the conflict: takes the delta's side of every marked part, as a person may.
    fn choose_ours(&self, path: &str, ui: &mut Ui) -> Result<()> {
        let file = self.repository.join(path);
        let text = crate::flow::files::read(&file, u64::MAX)?.unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        let mut kept = String::new();
        let mut side = None;
        for line in text.lines() {
            match line.split(' ').next() {
                Some("<<<<<<<") => side = Some(true),
                Some("|||||||" | "=======") if side.is_some() => side = Some(false),
                Some(">>>>>>>") => side = None,
                _ if side != Some(false) => {
                    kept.push_str(line);
                    kept.push('\n');
                }
                _ => {}
            }
        }
        ui.out(clean(&text));
        ui.out(ui.paint(style::DIM, "  (the delta's side is chosen)"));
        crate::flow::files::write(&file, kept.as_bytes())
    }

    fn run(&mut self, who: Who, args: &[&str], exit: u8, ui: &mut Ui) -> Result<()> {
        let shown = args
            .iter()
            .map(|arg| loopx_base::shell_word(arg))
            .collect::<Vec<_>>()
            .join(" ");
        let prompt = ui.paint(style::NAME, &format!("{}$", who.name().to_lowercase()));
        ui.out(format!("\n{prompt} git {shown}"));
        // The story has its own clock: one second a command, so that it reads the same every time.
        self.second += 1;
        let date = format!(
            "2026-03-02T09:{:02}:{:02}+00:00",
            self.second / 60,
            self.second % 60
        );
        let mut run = Run::git(args).cwd(&self.repository).scrubbed();
        for role in ["AUTHOR", "COMMITTER"] {
            run = run
                .env(format!("GIT_{role}_NAME"), who.name())
                .env(format!("GIT_{role}_EMAIL"), who.email())
                .env(format!("GIT_{role}_DATE"), &date);
        }
        let done = run
            .env("PATH", &self.path)
            .env("HOME", &self.home)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .env("LC_ALL", "C")
            .capture()?;
        let said = format!(
            "{}{}",
            String::from_utf8_lossy(&done.stdout),
            String::from_utf8_lossy(&done.stderr)
        );
        if !said.trim().is_empty() {
            ui.out(clean(said.trim_end()));
        }
        if done.ended.code != 0 {
            ui.out(ui.paint(style::WARN, &format!("(exit {})", done.ended.code)));
        }
        self.commands.push(
            json!({ "who": who.name(), "args": args, "exit": done.ended.code, "said": said }),
        );
        if done.ended.code != exit {
            return Err(Failure::internal(
                Code::DemoFailed,
                format!(
                    "`git {shown}` ended with {}, expected {exit}",
                    done.ended.code
                ),
            ));
        }
        Ok(())
    }
}
