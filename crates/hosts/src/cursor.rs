//! Cursor: a stop is answered with a message that follows up; tool calls have a permission.

use super::{Call, Decision, Moment, common, text};
use serde_json::{Value, json};

pub(super) const EVENTS: [(&str, Moment); 5] = [
    ("stop", Moment::Stop),
    ("subagentStop", Moment::SubagentStop),
    ("sessionStart", Moment::SessionStart),
    ("beforeSubmitPrompt", Moment::Prompt),
    ("beforeShellExecution", Moment::PreTool),
];

pub(super) fn read(input: &Value) -> Call {
    let roots = input.get("workspace_roots").and_then(Value::as_array);
    let root = roots.and_then(|roots| roots.first()?.as_str().map(str::to_owned));
    let common = common(input);
    Call {
        cwd: common.cwd.or(root),
        unfinished: common.unfinished
            || matches!(
                text(input, &["status"]).as_deref(),
                Some("aborted" | "error")
            ),
        // beforeShellExecution has the command at the top.
        command: text(input, &["command"]).or(common.command),
        ..common
    }
}

pub(super) fn answer(moment: Moment, decision: &Decision) -> Option<Value> {
    match (moment, decision) {
        (Moment::Stop | Moment::SubagentStop, Decision::Block(reason)) => {
            Some(json!({ "followup_message": reason }))
        }
        (Moment::SessionStart, Decision::Inject(text)) => {
            Some(json!({ "additional_context": text }))
        }
        (Moment::PreTool, Decision::Block(reason)) => Some(json!({
            "permission": "deny",
            "user_message": reason,
            "agent_message": reason,
        })),
        _ => None,
    }
}
