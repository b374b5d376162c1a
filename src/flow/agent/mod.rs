//! Coding agents: what their hooks ask ([`hook`]), what the worktree remembers of it ([`ledger`]), how a
//! build is parked and taken up again ([`pause`]), and the files that wire a host up ([`install`], [`material`]).

pub mod hook;
pub mod install;
pub mod ledger;
pub mod material;
pub mod pause;
