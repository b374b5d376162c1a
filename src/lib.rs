//! `git loopx`: a change's workflow, kept in the repository that it changes.
//!
//! The map of the house, and the one direction in which modules may look:
//!
//! ```text
//! cli, cmd  ->  flow  ->  core          cmd -> ui
//!               flow  ->  store -> git
//! ```
//!
//! * [`core`]: the rules. Pure functions over typed values; no git, no files, no clock, no environment, no terminal.
//! * [`git`]: the only place that names libgit2 or starts the git program. Owned plain data comes out.
//! * [`store`]: sessions as commits on the loopx branch: paths, formats, compare-and-swap. Knows no rule.
//! * [`flow`]: one file per workflow: read facts, ask `core` for a decision, hand the result to `store`.
//! * [`cmd`]: one file per command: arguments in, text or JSON out. No rule lives here.
//! * [`ui`]: the only place that prints.
//!
//! The words that the code and its messages use:
//!
//! ```text
#![doc = include_str!("cmd/help/topics/words.txt")]
//! ```
//!
//! `tests/it/layers.rs` reads the `use` lines and fails when something points back.

pub mod cli;
pub mod cmd;
pub mod core;
pub mod env;
pub mod failpoint;
pub mod flow;
pub mod git;
pub mod store;
pub mod ui;
