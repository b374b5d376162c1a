//! Coding agents: what their hooks ask ([`hook`]), what the worktree remembers of it ([`ledger`]), how a
//! build is parked and taken up again ([`pause`]), and the files that wire a host up ([`install`], [`material`]).

pub(crate) mod hook;
pub(crate) mod install;
pub(crate) mod ledger;
pub(crate) mod material;
pub(crate) mod pause;
