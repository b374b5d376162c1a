//! Decisions: what follows when somebody judges work. A decision is recorded as values; its gate, a part of the plan,
//! says by which rubric they become a verdict and what a fix inserts. Nothing of what follows is stored.

mod again;
mod blocks;
mod check;
mod expand;
pub mod gate;
pub mod judge;
pub mod points;
mod standing;
#[cfg(test)]
mod tests;
pub mod values;
#[cfg(test)]
mod walk;

pub use again::{has_nothing_new, sent_back_by};
pub use blocks::{Ending, ResultText, Said, WorkResult, read as read_blocks, read_result};
pub use check::{asked, misfit, wanted, way_fault};
pub use expand::{counting, expand, falls};
pub use gate::{AtCap, Dimension, Gate, Outcome, Rubric, Strategy};
pub use judge::{Judged, counts, is_alike, is_close, judge, weakest};
pub use points::Points;
pub use standing::{Standing, allowed, files, outweighed, results, standing, statuses};
pub use values::{Confidence, Decision, Flag, Ground, Rating, Severity, Verdict};
