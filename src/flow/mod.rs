//! One file per workflow: read facts, ask `core` for a decision, carry it out.

pub mod hook;
pub mod hooks;
