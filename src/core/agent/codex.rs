//! Codex: Claude's format with closed schemas, so never a key more than these.

use super::{Call, Decision, Moment, claude, common};
use serde_json::Value;

pub(super) const EVENTS: [(&str, Moment); 5] = claude::EVENTS;

pub(super) fn read(input: &Value) -> Call {
    common(input)
}

pub(super) fn answer(moment: Moment, decision: &Decision) -> Option<Value> {
    claude::answer(moment, decision)
}
