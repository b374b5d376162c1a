//! Rules: conventions, constraints and learnings that work must follow, as Markdown documents on the code branch. A
//! document has front matter that says when it applies; its rules are the items of its lists.
//!
//! How a document is read is [`document`]'s, what stands where in one [`layout`]'s, when two rules say the same
//! [`normal`]'s, what applies now [`load`]'s, and what is wrong with documents [`check`]'s. Where documents are kept, and
//! who reads them, is nobody's business here.

mod add;
mod check;
mod document;
mod facts;
pub mod glossary;
mod layout;
mod legacy;
mod load;
mod merge;
mod normal;
mod seed;

pub use add::{Known, Target, add, is_one_rule, known};
pub use check::{Ground, findings};
pub use document::{
    Categories, Document, Entry, GENERAL, Origin, Priority, ReadMode, Source, header,
};
pub use facts::{CommandFact, Facts, Language, facts, wanted_files};
pub use legacy::{Legacy, begins_with_code, guidelines, legacy_document};
pub use load::{Ask, LeftOut, Loaded, categories_at, load};
pub use merge::merge_rules;
pub use normal::{normalised, plain};
pub use seed::{RuleKind, Seed, seeds};

pub use check::FINDINGS;
