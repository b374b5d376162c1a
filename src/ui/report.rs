//! A failure as text or JSON. The one place that turns kinds into words.

use super::{JSON_SCHEMA, clean, style};
use loopx_base::failure::{Blocker, Failure, Kind};
use loopx_base::hint::{Place, print_hints};
use loopx_base::unfinished::Unfinished;
use serde_json::json;

/// Blockers that a person is shown; `--json` has them all.
const SHOWN: usize = 20;

/// Whether the help of this blocker is to be shown: there is one, and the next says another.
pub(crate) fn is_last_help(blockers: &[Blocker], at: usize) -> bool {
    let help = |at: usize| blockers.get(at).map(|blocker| &blocker.help);
    help(at).is_some_and(|help| !help.is_empty()) && help(at) != help(at + 1)
}

/// `error: message`, the blockers one a line with their help, then the command that leads on.
pub(super) fn text(failure: &Failure, place: Place<'_>, color: bool) -> String {
    let head = match failure.kind {
        Kind::Refused => "refused:",
        Kind::Conflict => "conflict:",
        Kind::Internal => "internal error:",
        Kind::Nothing | Kind::Waiting | Kind::NotFound | Kind::Usage | Kind::Output => "error:",
    };
    let mut out = format!(
        "{} {}",
        style::paint(color, style::BAD, head),
        clean(&failure.message)
    );
    // A refusal for one reason says it once.
    let told = matches!(failure.blockers.as_slice(), [only] if only.message == failure.message);
    let shown = if told { 0 } else { SHOWN };
    let shown = failure.blockers.get(..shown.min(failure.blockers.len()));
    let shown = shown.unwrap_or_default();
    for (at, blocker) in shown.iter().enumerate() {
        out.push_str(&format!(
            "\n  {} {}",
            style::paint(color, style::NAME, &clean(&blocker.word())),
            clean(&blocker.message)
        ));
        if is_last_help(shown, at) && failure.help.as_ref() != Some(&blocker.help) {
            out.push_str(&format!("\n    {}", clean(&blocker.help.addressed(place))));
        }
    }
    let rest = failure.blockers.len().saturating_sub(SHOWN);
    if rest > 0 {
        out.push_str(&format!("\n  and {rest} more (--json lists all)"));
    }
    if let Some(help) = &failure.help {
        out.push_str(&format!("\n\nhint: {}", clean(&help.addressed(place))));
    }
    out
}

/// `{"schema":1,"error":{"code","kind","message","blockers","help"}}`; where sides of a merge disagree,
/// `error.conflicts` has them with their places. `unfinished`: what an earlier command left that could not be
/// finished now.
pub(super) fn json(failure: &Failure, place: Place<'_>, unfinished: &[Unfinished]) -> String {
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
    print_hints(&mut document, place);
    serde_json::to_string_pretty(&document).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{Place, text};
    use loopx_base::failure::{Blocker, Code, Failure};

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
                Place::default(),
                false,
            )
        };
        assert!(said(20).contains("reason 19") && !said(20).contains("more"));
        assert!(!said(23).contains("reason 20"));
        assert!(said(23).contains("and 3 more (--json lists all)"));
    }
}
