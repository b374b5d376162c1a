//! Gemini CLI: an empty object allows; plain text would be shown, and any exit code but 0 and 1 denies.

use super::{Call, Decision, Moment, block_or_tell, common, specific};
use serde_json::{Value, json};

pub(super) const EVENTS: [(&str, Moment); 4] = [
    ("AfterAgent", Moment::Stop),
    ("SessionStart", Moment::SessionStart),
    ("BeforeAgent", Moment::Prompt),
    ("BeforeTool", Moment::PreTool),
];

pub(super) fn read(input: &Value) -> Call {
    common(input)
}

pub(super) fn answer(moment: Moment, decision: &Decision) -> Option<Value> {
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
