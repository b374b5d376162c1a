//! Claude Code: `hooks` of a settings file; exit 0 and two keys to block a stop.

use super::{command_hook, Call, Decision, HostSpec, Moment, block_or_tell, common, specific};
use serde_json::{Value, json};

pub(super) const EVENTS: [(&str, Moment); 5] = [
    ("Stop", Moment::Stop),
    ("SubagentStop", Moment::SubagentStop),
    ("SessionStart", Moment::SessionStart),
    ("UserPromptSubmit", Moment::Prompt),
    ("PreToolUse", Moment::PreTool),
];

pub(super) const SPEC: HostSpec = HostSpec {
    name: "claude",
    title: "Claude Code",
    file: ".claude/settings.json",
    has_version: false,
    takes_comments: false,
    is_nested: true,
    is_read_where_started: true,
    is_read_in_primary: false,
    also_runs: None,
    notes: &["Claude Code asks once whether it may trust the folder"],
    events: &EVENTS,
    read,
    answer,
    entry,
};

fn read(input: &Value) -> Call {
    common(input)
}

pub(super) fn answer(moment: Moment, decision: &Decision) -> Option<Value> {
    match moment {
        Moment::Stop | Moment::SubagentStop => block_or_tell(decision),
        Moment::SessionStart => {
            let mut said = specific("SessionStart", moment, decision)?;
            if let Decision::Inject(text) = decision {
                // Copilot runs this file as well, and looks for the text at the top.
                said["additionalContext"] = json!(text);
            }
            Some(said)
        }
        Moment::Prompt => specific("UserPromptSubmit", moment, decision),
        Moment::PreTool => specific("PreToolUse", moment, decision),
    }
}

fn entry(_event: &str, moment: Moment, command: &str) -> Value {
    if moment == Moment::PreTool {
        json!({ "matcher": "Bash", "hooks": [command_hook(command)] })
    } else {
        json!({ "hooks": [command_hook(command)] })
    }
}
