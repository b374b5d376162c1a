//! `git loopx`: a change's workflow, kept in the repository that it changes.
//!
//! The map of the house. An arrow is a dependency, and the compiler lets no other one be:
//!
//! ```text
//! src: cli -> cmd -> ui
//!             cmd -> flow -> loopx-store -> loopx-git   -> loopx-base
//!                    flow -> loopx-rules -> loopx-spec  -> loopx-base
//!                            loopx-rules -> loopx-hosts -> loopx-base
//!                            loopx-store -> loopx-rules
//! ```
//!
//! * `crates/base`: values that every layer shares: failures, codes, hints, names, findings.
//! * `crates/spec-engine`: requirements and decision records as text: read, check, merge, write back. Knows no session.
//! * `crates/hosts`: what hosts of coding agents and hook managers expect.
//! * `crates/rules`: the rules of the workflow. Pure functions over typed values; no git, no files, no clock, no terminal.
//! * `crates/git`: the only place that names libgit2 or starts the git program. Owned plain data comes out.
//! * `crates/store`: sessions, issues and journals as commits on one branch: paths, formats, compare-and-swap.
//! * `src/flow`: one file per workflow: read facts, ask the rules for a decision, hand the result to the store.
//! * `src/cmd`: one file per command: arguments in, text or JSON out. No rule lives here.
//! * `src/ui`: the only place that prints.
//!
//! The words that the code and its messages use:
//!
//! ```text
#![doc = include_str!("cmd/help/topics/words.txt")]
//! ```

mod cli;
mod cmd;
mod flow;
mod ui;

pub use cli::main;

/// Parts that the tests hold the program against: its command line, and the spec engine as the commands call it.
#[doc(hidden)]
pub mod testing {
    pub use crate::cli::{Cli, described};
    pub use crate::cmd::help::{GROUPS, examples};
    pub use crate::flow::driver;
    pub use crate::flow::file_merge::FileMerge;
    pub use crate::flow::spec::{Apply, Verdict, apply, plan};
}
