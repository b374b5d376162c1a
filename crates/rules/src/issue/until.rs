//! Conditions outside of the backlog that an issue waits for: that a branch has a commit or a path, or how far a session is.
//! Tasks have the same ones, in the same spelling and judged by the same rules. A day is `defer`.

use super::limits::{LONGEST_LINE, is_line, is_path};
use crate::task::condition;
pub use crate::task::condition::text;
use crate::task::world::{Condition, World};
use serde::Serialize;

/// The forms in which somebody names a condition.
pub const FORMS: &str = "merged=COMMIT@BRANCH, path=PATH@BRANCH or session=NAME@STAGE";

/// Reads a condition as people write it.
pub fn read(text: &str) -> Result<Condition, String> {
    let form = text.split_once('=').map_or("", |(form, _)| form.trim());
    if !["merged", "path", "session"].contains(&form) {
        return Err(format!("expected {FORMS}, found `{text}`"));
    }
    let found = condition::read_as(text, FORMS)?;
    if !is_line(text) {
        return Err(format!(
            "expected a condition of one line of at most {LONGEST_LINE} characters"
        ));
    }
    match &found {
        Condition::Path { path, .. } if !is_path(path) => Err(format!(
            "expected a path inside the repository before `@`, found `{path}`"
        )),
        _ => Ok(found),
    }
}

/// Tells whether an issue can have a condition.
pub(super) fn can_be(condition: &Condition) -> bool {
    read(&text(condition)).as_ref() == Ok(condition)
}

/// A condition that does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Open {
    #[serde(flatten)]
    pub condition: Condition,
    /// The state that is there instead.
    pub why: String,
    /// The time since which that is so, where somebody knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
}

impl Open {
    /// The conditions that do not hold in a world. What nobody looked at does not.
    pub fn of(world: &World, all: &[Condition]) -> Vec<Open> {
        let open = all.iter().filter_map(|condition| {
            let (why, since, _) = world.lack_of(condition)?;
            Some(Open {
                condition: condition.clone(),
                why,
                since,
            })
        });
        open.collect()
    }

    /// The words behind `waits for`.
    pub fn words(&self) -> String {
        self.condition.words(&self.why, self.since.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::{read, text};

    #[test]
    fn an_issue_waits_for_commits_paths_and_sessions_only() {
        for form in [
            "merged=v1@main",
            "path=docs/a b.md@main",
            "session=notes@review",
        ] {
            assert!(read(form).is_ok(), "{form}");
        }
        let bare = read("session=notes").map(|one| text(&one));
        assert_eq!(bare.as_deref(), Ok("session=notes@archived"));
        for wrong in [
            "",
            "merged",
            "merged=v1",
            "merged=@main",
            "merged=--all@main",
            "path=a@",
            "session=No Name@review",
            "session=notes@soon",
            "time=2026-12-01T00:00:00Z",
            "evidence=smoke",
            "person=any",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
