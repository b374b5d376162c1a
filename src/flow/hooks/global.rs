//! Hooks of a person: sections of the configuration that every repository reads. They need no
//! repository, and in one without sessions they do nothing.

use super::settings::{own_settings, setting, switched_off};
use super::{gits, path, program, remove_words, write_words};
use crate::flow::hook::OPT_OUT;
use loopx_base::failure::{Code, Failure, Result};
use loopx_git::config_file;
use loopx_git::run::Run;
use loopx_hosts::hooks;
use loopx_hosts::hooks::{Event, GitVersion, GlobalFacts, Plan, Step, config};
use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A person's configuration, as far as hooks go.
#[derive(Debug)]
pub(crate) struct Global {
    program: Vec<u8>,
    file: Option<PathBuf>,
    pub facts: GlobalFacts,
}

impl Global {
    /// Reads all that a decision needs.
    pub(crate) fn read() -> Result<Global> {
        let program = program()?;
        let version = gits::version(OsStr::new("git"))?;
        let file = file(version);
        let settings = match &file {
            Some(file) => own_settings(file)?,
            None => Vec::new(),
        };
        let of_event = |event| setting(&settings, event, &program);
        // Not what one repository says of itself.
        let outside = |run: Run| run.args(["--global"]);
        Ok(Global {
            facts: GlobalFacts {
                version,
                settings: Event::ALL.into_iter().map(of_event).collect(),
                opted_out: switched_off(&outside, OPT_OUT)?,
                other_gits: gits::other_gits(),
            },
            program,
            file,
        })
    }

    /// Carries a plan out: one edit, or none.
    pub(crate) fn apply(&self, plan: &Plan) -> Result<()> {
        for step in &plan.steps {
            let sections = match step {
                Step::WriteGlobal => hooks::sections(&self.program),
                _ => Vec::new(),
            };
            let file = self.file()?;
            make(file)?;
            config_file::edit(file, |old| {
                config::rewrite(old, &hooks::section_names(), &sections)
            })?;
        }
        Ok(())
    }

    /// A step in words.
    pub(crate) fn describe(&self, step: Step) -> String {
        let file = self.file.as_deref().unwrap_or(Path::new("~/.gitconfig"));
        match step {
            Step::WriteGlobal => write_words(file),
            _ => remove_words(file),
        }
    }

    fn file(&self) -> Result<&Path> {
        self.file.as_deref().ok_or_else(|| {
            Failure::refused(
                Code::GlobalConfigUnknown,
                "git names no file for the configuration of a person",
            )
            .help("set HOME")
        })
    }
}

/// The file that `git config --global` would write to: of several, the last one that is there, else
/// the last one. Only a git that has hooks in it is asked.
pub(super) fn file(version: GitVersion) -> Option<PathBuf> {
    if !version.has_config_hooks() {
        return None;
    }
    let said = Run::git(["var", "GIT_CONFIG_GLOBAL"]).capture().ok()?;
    let lines = said.line().ok()?;
    let files = lines
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty());
    let files: Vec<PathBuf> = files.map(|line| path(line.to_vec())).collect();
    let there = files.iter().rev().find(|file| file.exists());
    there.or(files.last()).cloned()
}

/// Makes the file where there is none; anything but a file is not ours to replace.
fn make(file: &Path) -> Result<()> {
    let failed = |error: std::io::Error| {
        Failure::internal(
            Code::ConfigNotWritten,
            format!("create `{}`: {error}", file.display()),
        )
    };
    match fs::metadata(file) {
        Ok(meta) if meta.is_file() => Ok(()),
        Ok(_) => Err(Failure::refused(
            Code::GlobalConfigNotAFile,
            format!("`{}` is no file", file.display()),
        )
        .help("unset GIT_CONFIG_GLOBAL, or let it name a file")),
        Err(_) => {
            if let Some(dir) = file
                .parent()
                .filter(|dir| !dir.as_os_str().as_bytes().is_empty())
            {
                fs::create_dir_all(dir).map_err(failed)?;
            }
            let mut open = OpenOptions::new();
            open.append(true).create(true).open(file).map_err(failed)?;
            Ok(())
        }
    }
}
