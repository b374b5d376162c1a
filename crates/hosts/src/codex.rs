//! Codex: Claude's format with closed schemas, so never a key more than these.

use super::{Call, Decision, Moment, claude, common, specific};
use serde_json::Value;

pub(super) const EVENTS: [(&str, Moment); 5] = claude::EVENTS;

pub(super) fn read(input: &Value) -> Call {
    common(input)
}

pub(super) fn answer(moment: Moment, decision: &Decision) -> Option<Value> {
    match (moment, decision) {
        (Moment::SessionStart, _) => specific("SessionStart", moment, decision),
        // Codex puts `. Command: ...` behind the reason.
        (Moment::PreTool, Decision::Block(reason)) => {
            let reason = reason.trim_end_matches('.').to_owned();
            specific("PreToolUse", moment, &Decision::Block(reason))
        }
        _ => claude::answer(moment, decision),
    }
}
