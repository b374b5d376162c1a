//! A failure as text or JSON. The one place that turns kinds into words.

use super::{JSON_SCHEMA, clean, style};
use crate::core::failure::{Failure, Kind};
use serde_json::json;

/// `error: message`, the blockers one a line with their help, then the command that leads on.
pub(super) fn text(failure: &Failure, color: bool) -> String {
    let head = match failure.kind {
        Kind::Refused => "refused:",
        Kind::Conflict => "conflict:",
        Kind::Internal => "internal error:",
        Kind::Nothing | Kind::Waiting | Kind::NotFound | Kind::Usage => "error:",
    };
    let mut out = format!(
        "{} {}",
        style::paint(color, style::BAD, head),
        clean(&failure.message)
    );
    // A refusal for one reason says it once.
    let told = matches!(failure.blockers.as_slice(), [only] if only.message == failure.message);
    for blocker in failure.blockers.iter().filter(|_| !told) {
        out.push_str(&format!(
            "\n  {} {}",
            style::paint(color, style::NAME, &clean(&blocker.code)),
            clean(&blocker.message)
        ));
        if !blocker.help.is_empty() && failure.help.as_ref() != Some(&blocker.help) {
            out.push_str(&format!("\n    {}", clean(&blocker.help)));
        }
    }
    if let Some(help) = &failure.help {
        out.push_str(&format!("\n\nhint: {}", clean(help)));
    }
    out
}

/// `{"schema":1,"error":{"code","kind","message","blockers","help"}}`.
pub(super) fn json(failure: &Failure) -> String {
    let document = json!({
        "schema": JSON_SCHEMA,
        "error": {
            "code": failure.code,
            "kind": failure.kind,
            "exit": failure.kind.exit_code(),
            "message": failure.message,
            "blockers": failure.blockers,
            "help": failure.help,
        }
    });
    serde_json::to_string_pretty(&document).unwrap_or_default()
}
