//! Set-up by command: a server that judges pushes and the proof that it does, the policy of a level, and a clone
//! that works by it.

pub(crate) mod check;
mod keys;
pub(crate) mod level;
pub(crate) mod server;
