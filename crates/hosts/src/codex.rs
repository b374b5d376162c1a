//! Codex: Claude's format with closed schemas, so never a key more than these.

use super::{command_hook, Call, Decision, HostSpec, Moment, claude, common, specific};
use serde_json::{Value, json};

pub(super) const SPEC: HostSpec = HostSpec {
    name: "codex",
    title: "Codex",
    file: ".codex/hooks.json",
    has_version: false,
    takes_comments: false,
    is_nested: true,
    is_read_where_started: false,
    is_read_in_primary: true,
    also_runs: None,
    notes: &[
        "Codex runs hooks of a repository only after you trusted them: open `/hooks` in Codex and review them once",
        "Codex reads this file from the primary checkout, also in linked worktrees",
    ],
    events: &claude::EVENTS,
    read,
    answer,
    entry,
};

fn read(input: &Value) -> Call {
    common(input)
}

fn answer(moment: Moment, decision: &Decision) -> Option<Value> {
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

fn entry(_event: &str, _moment: Moment, command: &str) -> Value {
    json!({ "hooks": [command_hook(command)] })
}
