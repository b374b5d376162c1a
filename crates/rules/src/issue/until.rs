//! Conditions outside of the backlog that an issue waits for: that a branch has a commit or a path, or how far a session is.
//! Tasks have the same ones, judged by the same rules. A day is `defer`.

use super::limits::{LONGEST_LINE, is_line, is_path};
use crate::task::world::{Condition, Reached, World, is_name};
use loopx_base::id::SessionId;
use serde::Serialize;

/// The forms in which somebody names a condition.
pub const FORMS: &str = "merged=COMMIT@BRANCH, path=PATH@BRANCH or session=NAME@STAGE";

/// Reads a condition as people write it.
pub fn read(text: &str) -> Result<Condition, String> {
    let wrong = || format!("expected {FORMS}, found `{text}`");
    let (form, rest) = text.split_once('=').ok_or_else(wrong)?;
    let (what, place) = match rest.rsplit_once('@') {
        Some((what, place)) => (what.trim(), Some(place.trim())),
        None => (rest.trim(), None),
    };
    if what.is_empty() || what.starts_with('-') || place == Some("") {
        return Err(wrong());
    }
    if !is_line(text) {
        return Err(format!(
            "expected a condition of one line of at most {LONGEST_LINE} characters"
        ));
    }
    let branch = || match place {
        None => Err(wrong()),
        Some(branch) if is_name(branch) => Ok(branch.to_owned()),
        Some(other) => Err(format!(
            "expected the name of a branch behind `@`, found `{other}`"
        )),
    };
    match form.trim() {
        "merged" => Ok(Condition::Commit {
            branch: branch()?,
            contains: Some(what)
                .filter(|what| is_name(what))
                .map(str::to_owned)
                .ok_or_else(|| {
                    format!("expected a commit or the name of a ref before `@`, found `{what}`")
                })?,
        }),
        "path" => Ok(Condition::Path {
            branch: branch()?,
            path: Some(what)
                .filter(|what| is_path(what))
                .map(str::to_owned)
                .ok_or_else(|| {
                    format!("expected a path inside the repository before `@`, found `{what}`")
                })?,
        }),
        "session" => Ok(Condition::Session {
            session: SessionId::parse(what).map_err(|failure| failure.message)?,
            stage: match place {
                Some(stage) => stage
                    .parse::<Reached>()
                    .map_err(|failure| failure.message)?,
                None => Reached::Archived,
            },
        }),
        _ => Err(wrong()),
    }
}

/// A condition as people write it.
pub fn text(condition: &Condition) -> String {
    match condition {
        Condition::Commit { branch, contains } => format!("merged={contains}@{branch}"),
        Condition::Path { branch, path } => format!("path={path}@{branch}"),
        Condition::Session { session, stage } => format!("session={session}@{stage}"),
        Condition::Time { time } => format!("time={time}"),
        Condition::Evidence { evidence, .. } => format!("evidence={evidence}"),
        Condition::Person { person } => format!("person={person}"),
    }
}

/// Test for the conditions that an issue can have.
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
    fn a_condition_is_read_as_it_is_written() {
        for form in [
            "merged=v1@main",
            "merged=a@b@origin/main",
            "path=docs/a b.md@main",
            "session=notes@review",
        ] {
            assert_eq!(read(form).map(|one| text(&one)).as_deref(), Ok(form));
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
            "time=2026-01-01@x",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
