//! One file per command: arguments in, text or JSON out. No rule lives here.

pub mod hook;
pub mod hooks;
pub mod spec;
