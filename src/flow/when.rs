//! Moments as somebody types them. What the rules do not read, git is asked for: its dates are those of `git log --until`.

use super::context::Context;
use loopx_base::failure::{Code, Failure, Result};
use loopx_git::run::Run;
use loopx_rules::when;
use loopx_rules::when::Side;
use std::collections::{BTreeMap, BTreeSet};

/// The number of days that git is asked about at once.
const MOST_DAYS: usize = 500;

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

/// The moments at which their days begin here, of moments with their days. Git knows the time zone, and when its clocks are
/// set.
pub(crate) fn midnights(days: &BTreeMap<i64, String>) -> Result<BTreeSet<i64>> {
    let all: Vec<(&i64, &String)> = days.iter().collect();
    let mut found = BTreeSet::new();
    for some in all.chunks(MOST_DAYS) {
        let begins = some
            .iter()
            .map(|(_, day)| format!("--since={day} 00:00:00"));
        let words = ["rev-parse".to_owned()].into_iter().chain(begins);
        let said = Run::git(words).capture()?.ok()?;
        let said = String::from_utf8_lossy(&said).into_owned();
        for ((second, _), line) in some.iter().zip(said.lines()) {
            let begin = line.strip_prefix("--max-age=");
            if begin.and_then(|begin| begin.parse().ok()) == Some(**second) {
                found.insert(**second);
            }
        }
    }
    Ok(found)
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
