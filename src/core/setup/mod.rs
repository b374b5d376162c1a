//! Set-up by command: what a server, a clone and a policy still need, as pure decisions over facts that
//! `flow::setup` gathers.

pub mod attack;
pub mod ci;
pub mod file;
pub mod level;
pub mod server;
pub mod signers;
