//! Tasks: the work inside a session's stages, as a graph (design 5).
//!
//! What was planned stands in `tasks.jsonl`; what happened to a task stands in records. This module owns the rules
//! of both. It knows no file, no clock and no git.

pub mod file;
pub mod import;
pub mod node;
