//! Copilot CLI: camelCase fields, or snake_case where the event was configured by Claude's name.

use super::{Call, Decision, Moment, block, common, text};
use serde_json::{Value, json};

pub(super) const EVENTS: [(&str, Moment); 5] = [
    ("agentStop", Moment::Stop),
    ("subagentStop", Moment::SubagentStop),
    ("sessionStart", Moment::SessionStart),
    ("userPromptSubmitted", Moment::Prompt),
    ("preToolUse", Moment::PreTool),
];

pub(super) fn read(input: &Value) -> Call {
    let reason = text(input, &["stopReason", "stop_reason"]);
    let common = common(input);
    Call {
        unfinished: common.unfinished
            || matches!(
                reason.as_deref(),
                Some(
                    "aborted"
                        | "abort"
                        | "cancelled"
                        | "canceled"
                        | "error"
                        | "interrupted"
                        | "timeout"
                )
            ),
        ..common
    }
}

pub(super) fn answer(moment: Moment, decision: &Decision) -> Option<Value> {
    match (moment, decision) {
        (Moment::Stop | Moment::SubagentStop, _) => block(decision),
        (Moment::SessionStart | Moment::Prompt, Decision::Inject(text)) => {
            Some(json!({ "additionalContext": text }))
        }
        (Moment::PreTool, Decision::Block(reason)) => Some(json!({
            "permissionDecision": "deny",
            "permissionDecisionReason": reason,
        })),
        _ => None,
    }
}
