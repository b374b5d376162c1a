//! The spec engine: reads specs and deltas, merges three ways by requirement and scenario, and writes
//! back byte for byte what nobody touched. Design 6. Pure: texts in, texts and findings out; lines are
//! merged by what the caller brings ([`LineMerge`]).
//!
//! # The calls
//!
//! * [`read_spec`]: bytes to a [`Spec`] with its findings and the place of every part.
//! * [`read_delta`]: bytes to a [`Delta`]; [`DomainDelta::touched`] tells what to record bases for.
//! * [`join_deltas`]: one delta file for each domain to the one file of a session.
//! * [`plan_domain`]: base, target and delta of one domain to a [`DomainOutcome`]: the one verdict behind
//!   archive, validate, diff and overlap.
//! * [`merge_spec`]: three texts to one, or to conflicts; the merge driver's call.
//!
//! # Specs
//!
//! ```text
//! # TITLE
//! ## Purpose                      a sentence or two
//! ## Requirements
//! ### Requirement: NAME
//! <!-- id: STABLE-ID -->          optional; survives renames, and is the identity where it stands
//! The system SHALL ...
//! #### Scenario: NAME
//! - **WHEN** ...                  GIVEN, WHEN, THEN, AND, BUT; nested data belongs to its step
//! - **THEN** ...
//! ```
//!
//! Headings are CommonMark's: code, comments, quotes and list items hold no structure. Names are looked
//! up by NFC and single blanks ([`fold`]); letter case counts. Rules, comments and foreign level-3 headings
//! between requirements are notes of the list: no operation touches them. The header words are English
//! or Chinese (`words.rs`); a delta uses those of its spec. A colon may be full-width.
//!
//! # Deltas
//!
//! A delta of one domain is `specs/<domain>/spec.md`. A `spec-delta.md` has several domains, each below
//! `# Domain: PATH`; or one, named in front matter (`domain: PATH`, `depends_on: [CHANGE, ...]`,
//! `retire: true`). Any other level-1 heading is a title. A change without behaviour has no section, and says in front
//! matter `behaviour: unchanged` and `reason: WHY`.
//!
//! ```text
//! ## Purpose                                a new purpose; that of a new domain
//! ## ADDED Requirements
//! ### Requirement: NAME
//! After: OTHER NAME                         optional: where it stands; else behind the last one
//! ...
//! ## MODIFIED Requirements
//! ### Requirement: NAME                     one of three forms, by the scenario headings below it
//! ## REMOVED Requirements
//! ### Requirement: NAME                     or `- ### Requirement: NAME`
//! **Reason**: ...
//! **Migration**: ...
//! ## RENAMED Requirements
//! - FROM: `### Requirement: OLD`            bullet, back-ticks and `### Requirement:` optional
//! - TO: `### Requirement: NEW`
//! ```
//!
//! A MODIFIED requirement is
//!
//! * a **replacement** when it has a plain `#### Scenario: NAME`: text and scenarios are those given. A
//!   scenario of the base that is missing is an error, unless it is said to go beside the plain ones:
//!   `#### REMOVED Scenario: NAME`, or `#### RENAMED Scenario: OLD -> NEW` with a plain NEW;
//! * a **patch** when every scenario has an operation: `#### ADDED Scenario: NAME`,
//!   `#### MODIFIED Scenario: NAME`, `#### REMOVED Scenario: NAME`, `#### RENAMED Scenario: OLD -> NEW`
//!   (with its new steps below it, when they change too). Scenarios that are not named stay; a text below
//!   the heading replaces the text of the requirement;
//! * a patch of the text alone when it has no scenario heading.
//!
//! Operations are simultaneous: renames may swap names or chain; what is renamed is modified under its
//! new name; a name that was freed may be added anew. A block keeps its place.
//!
//! # The merge
//!
//! A delta is applied to the base it was written against, and the result is merged with the target:
//! sections, then requirements (by id, recorded rename, name, equal or nearly equal body), then scenarios,
//! then lines (steps within a scenario). The sides swapped give the same bytes, or the same conflicts.
//! Blank space and line endings are merged apart from the text; new blocks take the file's line ending.
//! Order never conflicts: additions at one place stand by name.

pub mod adr;
mod apply;
mod blocks;
mod catalogue;
pub mod changelog;
mod check;
mod conflict;
mod delta;
mod domain;
pub mod front;
mod join;
mod layout;
mod lines;
mod matching;
mod merge;
mod model;
mod operate;
mod operation;
mod order;
mod outline;
mod renames;
mod standing;
mod tree;
mod words;

pub use apply::{Action, Bases, DomainOutcome, PlanOptions, plan_domain};
pub use catalogue::FINDINGS;
pub use conflict::{Conflict, ConflictKind, MarkerNames, Merged};
pub use delta::read_delta;
pub use domain::check_domain;
pub use join::{DeltaPart, JoinedDelta, join_deltas};
pub use layout::has_markers;
pub use lines::LineMerge;
pub use lines::{Eol, merge3, to_lf, with_eol};
pub use loopx_base::findings::{Finding, Known, Severity, has_errors};
pub use merge::merge_spec;
pub use model::{
    Blocks, Passage, Requirement, Scenario, Span, Spec, Step, block_of, read_spec, utf8,
};
pub use operation::{Delta, DomainDelta, Operation, ScenarioOperation, Touched};
pub use standing::untouched;
pub use words::{Language, Level, OpKind, StepWord, fold, is_requirement};
