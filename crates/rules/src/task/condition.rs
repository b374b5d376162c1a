//! Conditions outside of a list or of the backlog as people write them, in one spelling for tasks and issues:
//! `KIND=WHAT@WHERE`.

use super::world::{Condition, Reached, is_name};
use crate::lease::seconds_of;
use crate::policy::is_inside;
use loopx_base::id::SessionId;

/// The forms in which somebody names a condition.
pub const FORMS: &str = "merged=COMMIT@BRANCH, path=PATH@BRANCH, session=NAME@STAGE, time=TIME, evidence=NAME, evidence=NAME@ROLE or person=NAME";

/// Reads a condition as people write it.
pub fn read(text: &str) -> Result<Condition, String> {
    read_as(text, FORMS)
}

/// Reads a condition where these forms are asked for.
pub(crate) fn read_as(text: &str, forms: &str) -> Result<Condition, String> {
    let wrong = || format!("expected {forms}, found `{text}`");
    let (form, rest) = text.split_once('=').ok_or_else(wrong)?;
    let rest = rest.trim();
    if rest.is_empty() || rest.starts_with('-') {
        return Err(wrong());
    }
    // A time and a person's name or address are one text.
    match form.trim() {
        "time" if seconds_of(rest).is_some() => {
            return Ok(Condition::Time {
                time: rest.to_owned(),
            });
        }
        "time" => {
            return Err(format!(
                "expected a time like 2026-12-01T00:00:00Z behind `time=`, found `{rest}`"
            ));
        }
        "person" => {
            return Ok(Condition::Person {
                person: rest.to_owned(),
            });
        }
        _ => {}
    }
    let (what, place) = match rest.rsplit_once('@') {
        Some((what, place)) => (what.trim(), Some(place.trim())),
        None => (rest, None),
    };
    if what.is_empty() || place == Some("") {
        return Err(wrong());
    }
    let branch = || match place {
        None => Err(wrong()),
        Some(branch) if is_name(branch) => Ok(branch.to_owned()),
        Some(other) => Err(format!(
            "expected the name of a branch behind `@`, found `{other}`"
        )),
    };
    match form.trim() {
        "merged" if !is_name(what) => Err(format!(
            "expected a commit or the name of a ref before `@`, found `{what}`"
        )),
        "merged" => Ok(Condition::Commit {
            branch: branch()?,
            contains: what.to_owned(),
        }),
        "path" if !is_inside(what.trim_end_matches('/')) => Err(format!(
            "expected a path inside the repository before `@`, found `{what}`"
        )),
        "path" => Ok(Condition::Path {
            branch: branch()?,
            path: what.to_owned(),
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
        "evidence" => Ok(Condition::Evidence {
            evidence: what.to_owned(),
            role: place.map(str::to_owned),
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
        Condition::Evidence { evidence, role } => match role {
            Some(role) => format!("evidence={evidence}@{role}"),
            None => format!("evidence={evidence}"),
        },
        Condition::Person { person } => format!("person={person}"),
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
            "time=2026-12-01T00:00:00Z",
            "evidence=smoke",
            "evidence=security@ci",
            "person=any",
            "person=Ada <ada@example.org>",
        ] {
            assert_eq!(read(form).map(|one| text(&one)).as_deref(), Ok(form));
        }
        for wrong in [
            "",
            "merged=v1",
            "path=../x@main",
            "time=tomorrow",
            "evidence=",
            "evidence=a@",
            "person= ",
            "day=2026-12-01",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
