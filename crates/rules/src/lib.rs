//! The rules of the workflow, as pure functions over typed values.
//!
//! Nothing here may name git2, clap, files, processes, the environment or the clock: whoever calls
//! brings the facts.

pub mod account;
pub mod agent_identity;
pub mod artifact;
pub mod brief;
pub mod catalogue;
mod causality;
pub mod checks;
mod clash;
pub mod commit_policy;
pub mod coverage;
pub mod depends;
pub mod event;
pub mod finding;
pub mod gate;
pub mod headings;
pub mod intent;
pub mod issue;
pub mod join;
#[cfg(test)]
mod laws;
#[cfg(test)]
mod laws_of_clones;
pub mod lease;
pub mod manifest;
pub mod markdown;
pub mod moved;
pub mod next;
pub mod note;
pub mod op;
pub mod openspec;
pub mod outline;
pub mod pack;
pub mod peer;
pub mod pipeline;
pub mod policy;
pub mod profile;
pub mod proposal;
pub mod range_policy;
pub mod rebase;
pub mod record;
pub mod refusal;
pub mod replay;
pub mod revert;
pub mod review;
pub mod role;
pub mod rule;
pub mod session;
pub mod settings;
pub mod setup;
pub mod signature;
pub mod signers;
pub mod skill;
pub mod stage;
pub mod stop;
mod tagged;
pub mod task;
pub mod template;
pub mod texts;
pub mod topic;
pub mod trust;
mod word_lists;
pub mod words;
