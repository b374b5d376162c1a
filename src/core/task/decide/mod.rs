//! Decisions: what follows when somebody judges work. A decision is recorded as values; its gate, a part of the plan,
//! says by which rubric they become a verdict and what a fix inserts. Nothing of what follows is stored.

pub mod gate;
pub mod judge;
pub mod points;
#[cfg(test)]
mod tests;
pub mod values;

pub use gate::{AtCap, Dimension, Gate, Rubric};
pub use judge::{Judged, is_close, judge, weakest};
pub use points::Points;
pub use values::{Confidence, Decision, Flag, Ground, Rating, Severity, Verdict};
