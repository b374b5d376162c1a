//! Set-up by command: a server that judges pushes, and the proof that it does.

pub mod check;
pub mod server;
