//! The rules of the workflow, as pure functions over typed values.
//!
//! Nothing here may name git2, clap, files, processes, the environment or the clock: whoever calls
//! brings the facts.

pub mod account;
pub mod agent_identity;
pub mod artifact;
pub mod artifact_merge;
pub mod brief;
pub mod catalogue;
mod causality;
pub mod change_kind;
pub mod change_pack;
pub mod checks;
#[cfg(test)]
mod clone_props;
pub mod commit_policy;
mod conflicts;
pub mod contract;
pub mod coverage;
pub mod depends;
pub mod event;
pub mod finding;
pub mod gate;
pub mod headings;
pub mod intent;
pub mod issue;
pub mod lease;
pub mod manifest;
pub mod markdown;
pub mod moved;
pub mod next;
pub mod note;
pub mod op;
pub mod openspec;
pub mod outline;
pub mod peer;
pub mod pipeline;
pub mod policy;
pub mod profile;
pub mod proposal;
pub mod push_rejection;
pub mod range_rules;
pub mod rebase;
pub mod record;
pub mod replay;
#[cfg(test)]
mod replay_props;
pub mod revert;
pub mod review;
pub mod roadmap;
pub mod role;
pub mod rule;
pub mod session;
pub mod settings;
pub mod setup;
pub mod signature;
pub mod signers;
pub mod skill;
pub mod spec_package;
pub mod stage;
pub mod stop;
pub mod strict_json;
mod tagged;
pub mod task;
pub mod template;
pub mod texts;
pub mod topic;
pub mod trust;
pub mod when;
mod word_lists;
pub mod words;
