//! A failure as text or JSON. The one place that turns kinds into words.

use super::{JSON_SCHEMA, clean, style};
use crate::core::failure::{Failure, Kind};
use crate::core::hint::print_hints;
use crate::core::unfinished::Unfinished;
use serde_json::json;

/// Blockers that a person is shown; `--json` has them all.
const SHOWN: usize = 20;

/// `error: message`, the blockers one a line with their help, then the command that leads on.
pub(super) fn text(failure: &Failure, session: Option<&str>, color: bool) -> String {
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
    let shown = if told { 0 } else { SHOWN };
    for blocker in failure.blockers.iter().take(shown) {
        out.push_str(&format!(
            "\n  {} {}",
            style::paint(color, style::NAME, &clean(&blocker.word())),
            clean(&blocker.message)
        ));
        if !blocker.help.is_empty() && failure.help.as_ref() != Some(&blocker.help) {
            out.push_str(&format!(
                "\n    {}",
                clean(&blocker.help.addressed(session))
            ));
        }
    }
    let rest = failure.blockers.len().saturating_sub(SHOWN);
    if rest > 0 {
        out.push_str(&format!("\n  and {rest} more (--json lists all)"));
    }
    if let Some(help) = &failure.help {
        out.push_str(&format!("\n\nhint: {}", clean(&help.addressed(session))));
    }
    out
}

/// `{"schema":1,"error":{"code","kind","message","blockers","help"}}`; where sides of a merge disagree,
/// `error.conflicts` has them with their places. `unfinished`: what an earlier command left that could not be
/// finished now.
pub(super) fn json(failure: &Failure, session: Option<&str>, unfinished: &[Unfinished]) -> String {
    let mut document = json!({
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
    if !failure.conflicts.is_empty() {
        document["error"]["conflicts"] = json!(failure.conflicts);
    }
    if !unfinished.is_empty() {
        document["unfinished"] = json!(unfinished);
    }
    print_hints(&mut document, session);
    serde_json::to_string_pretty(&document).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::text;
    use crate::core::failure::{Blocker, Code, Failure};

    #[test]
    fn a_long_list_of_blockers_is_cut_and_counted() {
        let many = |n: usize| -> Vec<Blocker> {
            (0..n)
                .map(|at| Blocker::new(Code::UnsavedEdits, format!("reason {at}"), "do it"))
                .collect()
        };
        let said = |n| {
            text(
                &Failure::refused(Code::UnsavedEdits, "no").blockers(many(n)),
                None,
                false,
            )
        };
        assert!(said(20).contains("reason 19") && !said(20).contains("more"));
        assert!(!said(23).contains("reason 20"));
        assert!(said(23).contains("and 3 more (--json lists all)"));
    }
}
