//! Commands that lead on, as they have to be typed here: where `--session` named a session that would
//! not be meant without it, a suggested command has to name it too. Rules suggest commands and do not
//! know how the session was chosen.

use serde_json::Value;

/// Commands about one session, which take `--session`.
const ABOUT_A_SESSION: [&str; 24] = [
    "abandon", "approve", "archive", "block", "build", "cat", "change", "checkout", "clarify",
    "diff", "edit", "log", "park", "plan", "put", "redo", "resolve", "resume", "review", "run",
    "save", "show", "status", "undo",
];

/// Keys of a document whose text is a command.
const COMMANDS: [&str; 2] = ["help", "next_action"];

const PROGRAM: &str = "git loopx ";

/// `text` with every command about a session addressed to this one. A text that names it is left as it is.
pub(super) fn addressed(text: &str, session: &str) -> String {
    if text.split([' ', '`']).any(|word| word == session) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(PROGRAM) {
        let (before, from) = rest.split_at(at + PROGRAM.len());
        out.push_str(before);
        let end = from.find(|c: char| !c.is_ascii_lowercase());
        let word = &from[..end.unwrap_or(from.len())];
        if ABOUT_A_SESSION.contains(&word) {
            out.push_str("-s ");
            out.push_str(session);
            out.push(' ');
        }
        rest = from;
    }
    out.push_str(rest);
    out
}

/// The same for every command of a document.
pub(super) fn address(document: &mut Value, session: &str) {
    match document {
        Value::Object(map) => {
            for (key, value) in map {
                match value {
                    Value::String(text) if COMMANDS.contains(&key.as_str()) => {
                        *text = addressed(text, session);
                    }
                    other => address(other, session),
                }
            }
        }
        Value::Array(all) => all.iter_mut().for_each(|one| address(one, session)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::{address, addressed};
    use serde_json::json;

    #[test]
    fn a_command_about_a_session_names_it() {
        for (text, wanted) in [
            ("git loopx status", "git loopx -s b status"),
            (
                "git loopx edit spec.md  (or git loopx clarify)",
                "git loopx -s b edit spec.md  (or git loopx -s b clarify)",
            ),
            ("git loopx list", "git loopx list"),
            ("git loopx -s a resolve", "git loopx -s a resolve"),
            ("git loopx archive --undo b", "git loopx archive --undo b"),
            ("git loopx use b  (here)", "git loopx use b  (here)"),
            (
                "write the code, then: git loopx run --task X",
                "write the code, then: git loopx -s b run --task X",
            ),
            ("git loopx ", "git loopx "),
        ] {
            assert_eq!(addressed(text, "b"), wanted);
        }
    }

    #[test]
    fn only_the_commands_of_a_document_are_addressed() {
        let text = "git loopx status";
        let mut document = json!({
            "message": text, "next_action": text, "blockers": [{"help": text, "code": text}],
        });
        address(&mut document, "b");
        let wanted = "git loopx -s b status";
        let expected = json!({
            "message": text, "next_action": wanted, "blockers": [{"help": wanted, "code": text}],
        });
        assert_eq!(document, expected);
    }
}
