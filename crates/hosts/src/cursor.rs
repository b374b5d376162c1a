//! Cursor: a stop is answered with a message that follows up; tool calls have a permission.

use super::{TIMEOUT, Call, Decision, Host, HostSpec, Moment, common, text};
use serde_json::{Value, json};

const EVENTS: [(&str, Moment); 5] = [
    ("stop", Moment::Stop),
    ("subagentStop", Moment::SubagentStop),
    ("sessionStart", Moment::SessionStart),
    ("beforeSubmitPrompt", Moment::Prompt),
    ("beforeShellExecution", Moment::PreTool),
];

pub(super) const SPEC: HostSpec = HostSpec {
    name: "cursor",
    title: "Cursor",
    file: ".cursor/hooks.json",
    has_version: true,
    takes_comments: false,
    is_nested: false,
    is_read_where_started: false,
    is_read_in_primary: false,
    also_runs: Some(Host::Claude),
    notes: &["Cursor's cloud agents run no hooks"],
    events: &EVENTS,
    read,
    answer,
    entry,
};

fn read(input: &Value) -> Call {
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

fn answer(moment: Moment, decision: &Decision) -> Option<Value> {
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

fn entry(_event: &str, _moment: Moment, command: &str) -> Value {
    json!({ "command": command, "timeout": TIMEOUT })
}
