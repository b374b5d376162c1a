//! Gemini CLI: an empty object allows; plain text would be shown, and any exit code but 0 and 1 denies.

use super::{TIMEOUT, Call, Decision, HostSpec, Moment, block_or_tell, common, specific};
use serde_json::{Value, json};

const EVENTS: [(&str, Moment); 4] = [
    ("AfterAgent", Moment::Stop),
    ("SessionStart", Moment::SessionStart),
    ("BeforeAgent", Moment::Prompt),
    ("BeforeTool", Moment::PreTool),
];

pub(super) const SPEC: HostSpec = HostSpec {
    name: "gemini",
    title: "Gemini CLI",
    file: ".gemini/settings.json",
    has_version: false,
    takes_comments: true,
    is_nested: true,
    is_read_where_started: true,
    is_read_in_primary: false,
    also_runs: None,
    notes: &[
        "Gemini CLI warns once that the project's hooks changed",
        "Gemini CLI runs no hooks in a folder that is not trusted; without a terminal: GEMINI_CLI_TRUST_WORKSPACE=true",
    ],
    events: &EVENTS,
    read,
    answer,
    entry,
};

fn read(input: &Value) -> Call {
    common(input)
}

fn answer(moment: Moment, decision: &Decision) -> Option<Value> {
    let said = match moment {
        Moment::Stop | Moment::SubagentStop => block_or_tell(decision),
        Moment::SessionStart => specific("SessionStart", moment, decision),
        Moment::Prompt => specific("BeforeAgent", moment, decision),
        Moment::PreTool => match decision {
            Decision::Block(reason) => Some(json!({ "decision": "deny", "reason": reason })),
            _ => None,
        },
    };
    Some(said.unwrap_or_else(|| json!({})))
}

fn entry(event: &str, moment: Moment, command: &str) -> Value {
    let name = format!("git-loopx-{}", event.to_lowercase());
    // Milliseconds, unlike everybody else.
    let hook = json!({ "type": "command", "name": name, "command": command, "timeout": TIMEOUT * 1000 });
    if moment == Moment::PreTool {
        json!({ "matcher": "run_shell_command", "hooks": [hook] })
    } else {
        json!({ "hooks": [hook] })
    }
}
