//! Claude Code: `hooks` of a settings file; exit 0 and two keys to block a stop.

use super::{Call, Decision, Moment, block, common, specific};
use serde_json::Value;

pub(super) const EVENTS: [(&str, Moment); 5] = [
    ("Stop", Moment::Stop),
    ("SubagentStop", Moment::SubagentStop),
    ("SessionStart", Moment::SessionStart),
    ("UserPromptSubmit", Moment::Prompt),
    ("PreToolUse", Moment::PreTool),
];

pub(super) fn read(input: &Value) -> Call {
    common(input)
}

pub(super) fn answer(moment: Moment, decision: &Decision) -> Option<Value> {
    match moment {
        Moment::Stop | Moment::SubagentStop => block(decision),
        Moment::SessionStart => specific("SessionStart", moment, decision),
        Moment::Prompt => specific("UserPromptSubmit", moment, decision),
        Moment::PreTool => specific("PreToolUse", moment, decision),
    }
}
