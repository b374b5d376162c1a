//! Moments as somebody types them. What the rules do not read, git is asked for: its dates are those of `git log --until`.

use super::context::Context;
use loopx_base::failure::{Code, Failure, Result};
use loopx_git::run::Run;
use loopx_rules::when;
use loopx_rules::when::Side;

/// The second that somebody means by a day, a time or an age; `None` where it is none of them.
pub(crate) fn second(ctx: &Context, typed: &str, side: Side) -> Result<Option<i64>> {
    if let Some(second) = when::second(typed, ctx.now(), side) {
        return Ok(Some(second));
    }
    if !when::is_date_of_git(typed) {
        return Ok(None);
    }
    let asked = Run::git(["rev-parse", &format!("--until={typed}")]);
    let said = asked.env("GIT_TEST_DATE_NOW", ctx.now().to_string());
    let said = said.capture()?.line()?;
    let said = String::from_utf8_lossy(&said);
    let second = said.strip_prefix("--min-age=");
    Ok(second.and_then(|second| second.parse().ok()))
}

/// A failure that says what a moment can be.
pub(crate) fn unknown(typed: &str) -> Failure {
    Failure::usage(
        Code::MomentUnknown,
        format!(
            "expected a day, a time, an age like `3d`, an operation or a commit of the branch of sessions, found `{typed}`"
        ),
    )
}
