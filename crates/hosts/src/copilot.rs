//! Copilot CLI: camelCase fields, or snake_case where the event was configured by Claude's name.

use super::{TIMEOUT, Call, Decision, HostSpec, Moment, block, common, text};
use serde_json::{Value, json};

const EVENTS: [(&str, Moment); 5] = [
    ("agentStop", Moment::Stop),
    ("subagentStop", Moment::SubagentStop),
    ("sessionStart", Moment::SessionStart),
    ("userPromptSubmitted", Moment::Prompt),
    ("preToolUse", Moment::PreTool),
];

pub(super) const SPEC: HostSpec = HostSpec {
    name: "copilot",
    title: "Copilot CLI",
    file: ".github/hooks/git-loopx.json",
    has_version: true,
    takes_comments: false,
    is_nested: false,
    is_read_where_started: false,
    is_read_in_primary: false,
    also_runs: None,
    notes: &[
        "Copilot CLI needs the folder to be trusted (without a terminal: COPILOT_ALLOW_ALL=true); its cloud agent reads the default branch alone",
    ],
    events: &EVENTS,
    read,
    answer,
    entry,
};

fn read(input: &Value) -> Call {
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

fn answer(moment: Moment, decision: &Decision) -> Option<Value> {
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

fn entry(_event: &str, _moment: Moment, command: &str) -> Value {
    json!({ "type": "command", "bash": command, "timeoutSec": TIMEOUT })
}
