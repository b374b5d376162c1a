//! Tasks: the work inside a session's stages, as a graph (design 5).
//!
//! What was planned stands in `tasks.jsonl`; what happened to a task stands in records. This module owns the rules
//! of both. It knows no file, no clock and no git.

pub mod alike;
pub mod amend;
pub mod card;
pub mod commit;
pub mod condition;
pub mod conflict;
pub mod debt;
pub mod decide;
pub mod early;
pub mod event;
pub mod file;
pub mod graph;
pub mod import;
#[cfg(test)]
mod laws;
pub mod ledger;
pub mod node;
pub mod outputs;
pub mod overlap;
pub mod plan;
pub mod prompt;
pub mod report;
pub mod roles;
pub mod slices;
pub mod status;
pub mod world;
