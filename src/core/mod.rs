//! The rules of the workflow, as pure functions over typed values.
//!
//! Nothing here may name git2, clap, files, processes, the environment or the clock: whoever calls
//! brings the facts.

pub mod failure;
pub mod hooks;
pub mod spec;
