//! A failure as text or JSON. The one place that turns kinds into words.

use super::{JSON_SCHEMA, clean, layout, style};
use loopx_base::failure::{Blocker, Failure, Kind};
use loopx_base::hint::{Hint, Place, print_hints};
use loopx_base::unfinished::Unfinished;
use serde_json::json;

/// Blockers that a person is shown; `--json` has them all.
const SHOWN: usize = 20;

/// Tells whether the help of a blocker is to be shown: there is one, and the next says another.
pub(crate) fn is_last_help(blockers: &[Blocker], at: usize) -> bool {
    let help = |at: usize| blockers.get(at).map(|blocker| &blocker.help);
    help(at).is_some_and(|help| !help.is_empty()) && help(at) != help(at + 1)
}

/// Look of a failure as text.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Look {
    pub(super) color: bool,
    /// Set when codes stand beside the words.
    pub(super) codes: bool,
    /// The screen, where a person reads.
    pub(super) columns: Option<usize>,
}

impl Look {
    /// A text in lines that fit, all but the first behind so many spaces.
    fn told(self, text: &str, indent: usize) -> String {
        let folded = |line: &str| match self.columns {
            Some(columns) => layout::wrap(line, columns.saturating_sub(indent)),
            None => vec![line.to_owned()],
        };
        let lines: Vec<String> = text.lines().flat_map(folded).collect();
        lines.join(&format!("\n{}", " ".repeat(indent)))
    }

    /// A hint in lines that fit.
    fn hint(self, hint: &Hint, place: Place<'_>, (begin, indent): (&str, usize)) -> String {
        let pieces = hint.pieces(place);
        let lines = match self.columns {
            Some(columns) => layout::fold(&pieces, columns.saturating_sub(indent)),
            None => vec![hint.addressed(place)],
        };
        let lines: Vec<String> = lines.iter().map(|line| clean(line)).collect();
        format!(
            "{begin}{}",
            lines.join(&format!("\n{}", " ".repeat(indent)))
        )
    }
}

/// `error: message`, the blockers one a line with their help, then the command that leads on.
pub(super) fn text(failure: &Failure, place: Place<'_>, look: Look) -> String {
    let head = match failure.kind {
        Kind::Refused => "refused:",
        Kind::Conflict => "conflict:",
        Kind::Internal => "internal error:",
        Kind::Nothing | Kind::Waiting | Kind::NotFound | Kind::Usage | Kind::Output => "error:",
    };
    let told = look.told(&format!("{head} {}", clean(&failure.message)), 0);
    let painted = style::paint(look.color, style::BAD, head);
    let mut out = told.replacen(head, &painted, 1);
    // A refusal for one reason says it once.
    let is_told =
        matches!(failure.blockers.as_slice(), [only] if says(&failure.message, &only.message));
    if look.codes {
        let code = match failure.blockers.as_slice() {
            [only] if is_told => only.word(),
            _ => failure.code.to_string(),
        };
        out.push_str(&format!(" [{}]", clean(&code)));
    }
    let shown = if is_told { 0 } else { SHOWN };
    let shown = failure.blockers.get(..shown.min(failure.blockers.len()));
    let shown = shown.unwrap_or_default();
    for (at, blocker) in shown.iter().enumerate() {
        let code = if look.codes {
            format!("{} ", clean(&blocker.word()))
        } else {
            String::new()
        };
        let told = look.told(&format!("{code}{}", clean(&blocker.message)), 2);
        let painted = style::paint(look.color, style::NAME, &code);
        let told = told.replacen(&code, &painted, 1);
        out.push_str(&format!("\n  {told}"));
        if is_last_help(shown, at) && failure.help.as_ref() != Some(&blocker.help) {
            let help = look.hint(&blocker.help, place, ("    ", 4));
            out.push_str(&format!("\n{help}"));
        }
    }
    let rest = failure.blockers.len().saturating_sub(SHOWN);
    if rest > 0 {
        out.push_str(&format!("\n  and {rest} more (--json lists all)"));
    }
    if let Some(help) = &failure.help {
        let help = look.hint(help, place, ("hint: ", 6));
        out.push_str(&format!("\n\n{help}"));
    }
    out
}

/// Test for a message that is a reason, or ends with it: behind words of its own, or behind the folders of the reason's file.
fn says(message: &str, reason: &str) -> bool {
    let before = message.strip_suffix(reason);
    before
        .is_some_and(|before| before.is_empty() || before.ends_with(": ") || before.ends_with('/'))
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
    use super::{Look, Place, text};
    use loopx_base::failure::{Blocker, Code, Failure};

    #[test]
    fn a_code_is_said_where_it_is_asked_for() {
        let one = Blocker::new(Code::UnsavedEdits, "spec.md is not saved", "");
        let two = Blocker::new(Code::TasksOpen, "TASK-001 is open", "");
        let failure = Failure::refused(Code::UnsavedEdits, "not ready").blockers(vec![one, two]);
        let said = |codes| {
            let look = Look {
                codes,
                ..Look::default()
            };
            text(&failure, Place::default(), look)
        };
        assert_eq!(
            said(false),
            "refused: not ready\n  spec.md is not saved\n  TASK-001 is open"
        );
        assert_eq!(
            said(true),
            "refused: not ready [unsaved_edits]\n  unsaved_edits spec.md is not saved\n  tasks_open TASK-001 is open"
        );
    }

    #[test]
    fn a_refusal_is_folded_to_the_screen_and_its_commands_are_not() {
        let command = loopx_base::hint::command!("plan --reason 'the plan has to change'");
        let one = Blocker::new(Code::UnsavedEdits, "a reason of several words", command);
        let failure = Failure::refused(Code::UnsavedEdits, "this may not be done yet");
        let look = Look {
            columns: Some(20),
            ..Look::default()
        };
        assert_eq!(
            text(&failure.blockers(vec![one]), Place::default(), look),
            "refused: this may\nnot be done yet\n  a reason of\n  several words\n    \
             git loopx plan --reason 'the plan has to change'"
        );
    }

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
                Look::default(),
            )
        };
        assert!(said(20).contains("reason 19") && !said(20).contains("more"));
        assert!(!said(23).contains("reason 20"));
        assert!(said(23).contains("and 3 more (--json lists all)"));
    }
}
