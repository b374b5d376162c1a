//! Calls as the hosts of coding agents make them.

use super::drive::Drive;
use super::{LOOPX, Output, Sandbox};
use serde_json::{Value, json};
use std::path::Path;

/// Claude Code's call at a stop.
pub(crate) fn stop_input(session: &str, cwd: &Path) -> Value {
    json!({
        "session_id": session,
        "transcript_path": "/nowhere/transcript.jsonl",
        "cwd": cwd,
        "permission_mode": "default",
        "hook_event_name": "Stop",
        "stop_hook_active": false,
        "last_assistant_message": "All done.",
        "background_tasks": [],
        "session_crons": [],
    })
}

/// Runs a hook of a host; it ends with 0 whatever happens, and says one document or nothing.
#[track_caller]
pub(crate) fn hook(s: &Sandbox, host: &str, event: &str, input: &[u8]) -> Option<Value> {
    hook_in(s, s.path(), host, event, input)
}

#[track_caller]
pub(crate) fn hook_in(
    s: &Sandbox,
    dir: &Path,
    host: &str,
    event: &str,
    input: &[u8],
) -> Option<Value> {
    let out = s
        .call(LOOPX)
        .cwd(dir)
        .args(&["agent-hook", host, event])
        .stdin(input)
        .run();
    document(&out)
}

#[track_caller]
pub(crate) fn document(out: &Output) -> Option<Value> {
    assert_eq!(out.code, Some(0), "{out}");
    (!out.stdout.is_empty()).then(|| out.json())
}

/// A stop of this agent session, told by Claude Code from a folder; gives the reason of a block.
#[track_caller]
pub(crate) fn stop_in(s: &Sandbox, session: &str, dir: &Path) -> Option<String> {
    let input = stop_input(session, dir).to_string();
    let said = hook_in(s, dir, "claude", "Stop", input.as_bytes())?;
    if said.get("systemMessage").is_some() {
        // It was let go, and the person is told.
        return None;
    }
    let keys: Vec<&String> = said.as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["decision", "reason"], "{said:#}");
    assert_eq!(said["decision"], "block");
    Some(said["reason"].as_str().expect("a reason").to_owned())
}

#[track_caller]
pub(crate) fn stop(d: &Drive, session: &str) -> Option<String> {
    stop_in(d, session, d.path())
}

/// A command that Claude Code is about to run; gives the reason of a refusal.
#[track_caller]
pub(crate) fn pre_tool(s: &Sandbox, session: &str, command: &str) -> Option<String> {
    let input = json!({
        "session_id": session,
        "cwd": s.path(),
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": { "command": command },
    });
    let said = hook(s, "claude", "PreToolUse", input.to_string().as_bytes())?;
    let body = &said["hookSpecificOutput"];
    assert_eq!(body["permissionDecision"], "deny", "{said:#}");
    Some(
        body["permissionDecisionReason"]
            .as_str()
            .expect("a reason")
            .to_owned(),
    )
}
