//! A file that a set-up brings: what is there, and what is to be there.

use super::level::Level;
use loopx_base::failure::{Blocker, Code, Failure};
use loopx_base::hint::{command, hint};
use serde::Serialize;

/// A file of the worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    pub path: String,
    pub before: Option<String>,
    pub after: String,
    /// Set when the text that is there stays, and some is only added.
    pub adds: bool,
}

/// Fate of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fate {
    Found,
    Written,
    Added,
    /// The file has somebody else's text: only `--force` replaces it.
    Replaced,
}

impl File {
    pub fn fate(&self) -> Fate {
        match &self.before {
            None => Fate::Written,
            Some(before) if *before == self.after => Fate::Found,
            Some(_) if self.adds => Fate::Added,
            Some(_) => Fate::Replaced,
        }
    }
}

/// The refusal where files would be replaced.
pub fn refuse_replacing(files: &[File], level: Level) -> Option<Failure> {
    let replaced = files.iter().filter(|file| file.fate() == Fate::Replaced);
    let blockers: Vec<Blocker> = replaced
        .map(|file| {
            let message = format!("`{}` is there and says something else", file.path);
            let help = level.shown().note("(shows the difference)");
            Blocker::new(Code::SetupFileDiffers, message, help)
        })
        .collect();
    if blockers.is_empty() {
        return None;
    }
    Some(
        Failure::refused(
            Code::SetupFileDiffers,
            "a file that is there is not replaced unasked; nothing was written",
        )
        .blockers(blockers)
        .help(hint![
            level.forced(),
            ", or, where policy stands already: ",
            command!("setup clone")
        ]),
    )
}
