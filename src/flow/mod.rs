//! One file per workflow: read facts, ask `core` for a decision, hand the result to the store.
//!
//! Every writing flow begins with an [`opening::Opening`], and nearly all go through [`act::act`]: lock, read,
//! save the working copy, decide, commit, publish. A lost race starts again from reading, so that every gate is judged anew.

pub mod act;
pub mod adr;
pub mod agent;
pub mod approve;
pub mod archive;
pub mod bundle;
pub mod change;
pub mod changelog;
pub mod config;
pub mod context;
pub mod coverage;
pub mod delta;
pub mod doctor;
pub mod drift;
pub mod driver;
pub mod evidence;
pub mod files;
pub mod fork;
pub mod fsck;
pub mod ground;
pub mod hook;
pub mod hook_commit;
pub mod hook_once;
pub mod hook_push;
pub mod hook_receive;
pub mod hooks;
pub mod import;
pub mod journal;
pub mod lease;
pub mod leftover;
pub mod list;
pub mod next;
pub mod note;
pub mod opening;
pub mod operation;
pub mod point;
pub mod policy_moved;
pub mod rebase;
pub mod receive;
mod recording;
pub mod redact;
pub mod resolve;
mod revert;
pub mod review;
pub mod seat;
pub mod sessions;
pub mod setup;
pub mod sign;
pub mod signers;
pub mod spec;
pub mod specs;
pub mod stages;
pub mod sync;
pub mod undo;
pub mod upstream;
pub mod verify;
pub mod view;
pub mod workcopy;
pub mod working;

pub use act::{Act, Done, Facts, act};
pub use context::Context;
