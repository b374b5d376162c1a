//! Claude Code: `hooks` of a settings file; exit 0 and two keys to block a stop.

use super::{Call, Decision, Moment, block_or_tell, common, specific};
use serde_json::{Value, json};

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
