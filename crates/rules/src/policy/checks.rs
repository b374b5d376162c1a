//! `[checks]` of `loopx.toml`: commands that every session has to pass, or each that changes certain paths.
//!
//! Which paths a session changes is found elsewhere; so is what has run.

use super::fault::Fault;
use super::sound::paths_of;
use super::{Demanded, Policy};
use crate::checks::{Check, Source};
use crate::stage::Stage;
use crate::task::node::TaskId;
use loopx_base::failure::Result;
use loopx_base::globs::Globs;
use serde::{Deserialize, Serialize};

/// A command that has to pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckPolicy {
    /// The command and its arguments, which no shell reads.
    pub run: Vec<String>,
    /// Patterns of the paths whose change asks for it; every change asks for it where there are none.
    #[serde(default)]
    pub paths: Vec<String>,
}

impl CheckPolicy {
    fn of_name(&self, name: &str) -> Check {
        Check {
            id: name.to_owned(),
            argv: self.run.clone(),
            source: Source::Policy,
            stage: Stage::Build,
        }
    }

    /// Tells whether a change of these paths asks for the check. A file system may fold letter case, so patterns do as
    /// well.
    fn is_asked(&self, paths: &[String]) -> Result<bool> {
        if self.paths.is_empty() {
            return Ok(true);
        }
        let patterns: Vec<String> = self.paths.iter().map(|one| one.to_lowercase()).collect();
        let asked = Demanded(Globs::new(&patterns)?);
        Ok(paths.iter().any(|path| asked.has(path)))
    }
}

impl Policy {
    /// Every check of `[checks]`, in the order of their names.
    pub fn all_checks(&self) -> Vec<Check> {
        let all = self.checks.iter();
        all.map(|(name, check)| check.of_name(name)).collect()
    }

    /// Tells whether paths decide on a check.
    pub fn asks_checks_by_path(&self) -> bool {
        self.checks.values().any(|check| !check.paths.is_empty())
    }

    /// The checks that a change of these paths asks for.
    pub fn checks_of(&self, paths: &[String]) -> Result<Vec<Check>> {
        let mut found = Vec::new();
        for (name, check) in &self.checks {
            if check.is_asked(paths)? {
                found.push(check.of_name(name));
            }
        }
        Ok(found)
    }

    /// Tells whether a check of `[checks]` has these words.
    pub fn has_check_of(&self, argv: &[String]) -> bool {
        self.checks.values().any(|check| check.run == argv)
    }

    /// Every check has a name, a command, and patterns that a path can match.
    pub(super) fn check_checks(&self) -> Result<(), Fault> {
        let mut before: Option<&str> = None;
        let mut names: Vec<&str> = self.checks.keys().map(String::as_str).collect();
        names.sort_by_key(|name| name.to_lowercase());
        for name in names {
            if let Some(other) = before.filter(|other| other.eq_ignore_ascii_case(name)) {
                return Err(Fault::new(
                    format!("checks.{name}"),
                    format!(
                        "expected names that differ by more than letter case, found `{other}` too"
                    ),
                ));
            }
            before = Some(name);
        }
        for (name, check) in &self.checks {
            let key = format!("checks.{name}");
            if is_taken(name) {
                return Err(Fault::new(
                    key,
                    format!("expected a name that git loopx gives to nothing else, found `{name}`"),
                ));
            }
            if TaskId::parse(name).is_none() {
                return Err(Fault::new(
                    key,
                    format!(
                        "expected a name of letters, digits, `.`, `_` and `-` that begins with a letter or digit, found `{name}`"
                    ),
                ));
            }
            let run = format!("{key}.run");
            match check.run.first() {
                None => {
                    return Err(Fault::new(
                        run,
                        "expected a command like [\"cargo\", \"test\"], found an empty list",
                    ));
                }
                Some(program) if program.trim().is_empty() => {
                    return Err(Fault::new(
                        run,
                        "expected the name of a program as its first word, found an empty one",
                    ));
                }
                Some(_) => {}
            }
            if check.run.iter().any(|word| word.contains('\0')) {
                return Err(Fault::new(
                    run,
                    "expected words that a program can be given, found one with a NUL",
                ));
            }
            paths_of(&format!("{key}.paths"), &check.paths, Globs::new)?;
        }
        Ok(())
    }
}

/// Tells whether an audit has lines of this name, or a brief checks.
fn is_taken(name: &str) -> bool {
    let name = name.to_lowercase();
    let place = name.strip_prefix("check-");
    let is_of_brief = place.is_some_and(|place| place.bytes().all(|byte| byte.is_ascii_digit()));
    is_of_brief || ["verification", "approved-plan"].contains(&name.as_str())
}

#[cfg(test)]
mod tests {
    use super::Policy;

    fn asked(policy: &Policy, paths: &[&str]) -> Vec<String> {
        let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        let asked = policy.checks_of(&paths).expect("patterns");
        asked.into_iter().map(|check| check.id).collect()
    }

    #[test]
    fn a_check_is_asked_for_where_one_of_its_paths_changes() {
        let policy = Policy::parse(
            "[checks.unit]\nrun = [\"cargo\", \"test\"]\npaths = [\"src/**\"]\n\
             [checks.words]\nrun = [\"typos\"]\n",
            "loopx.toml",
        )
        .expect("a policy");
        for (paths, wanted) in [
            (&["src/a.rs"][..], &["unit", "words"][..]),
            (&["SRC/a.rs"], &["unit", "words"]),
            (&["src"], &["unit", "words"]),
            (&["docs/a.md"], &["words"]),
            (&[], &["words"]),
        ] {
            assert_eq!(asked(&policy, paths), wanted, "{paths:?}");
        }
    }

    #[test]
    fn a_check_that_cannot_run_or_be_named_is_refused_at_its_line() {
        for (text, wanted) in [
            (
                "\n[checks.unit]\nrun = []\n",
                "f:3: checks.unit.run: expected a command like [\"cargo\", \"test\"], found an empty list",
            ),
            (
                "[checks.unit]\nrun = [\" \"]\n",
                "f:2: checks.unit.run: expected the name of a program",
            ),
            (
                "[checks.unit]\nrun = \"cargo test\"\n",
                "f:2: checks.unit.run: expected a list like [\"...\"], found string \"cargo test\"",
            ),
            (
                "[checks.unit]\npaths = [\"src\"]\n",
                "f:1: checks.unit: missing field `run`",
            ),
            (
                "[checks.unit]\nrun = [\"true\"]\npath = [\"src\"]\n",
                "f:3: checks.unit.path: unknown field `path`, expected `run` or `paths`",
            ),
            (
                "[checks.unit]\nrun = [\"true\"]\npaths = [\"[\"]\n",
                "f:3: checks.unit.paths: expected a path pattern, found `[`: ",
            ),
            (
                "[checks.\"a b\"]\nrun = [\"true\"]\n",
                "f:1: checks.a b: expected a name of letters",
            ),
            (
                "[checks.check-1]\nrun = [\"true\"]\n",
                "f:1: checks.check-1: expected a name that git loopx gives to nothing else",
            ),
            (
                "[checks.unit]\nrun = [\"true\"]\n[checks.Unit]\nrun = [\"true\"]\n",
                "f:1: checks.unit: expected names that differ by more than letter case, found `Unit` too",
            ),
        ] {
            let error = Policy::parse(text, "f").expect_err(text);
            assert!(error.message.starts_with(wanted), "{}", error.message);
        }
        // A table that was mistyped would ask for nothing.
        let error = Policy::parse("[check.unit]\nrun = [\"true\"]\n", "f").expect_err("a key");
        assert!(error.message.contains("the nearest is `checks`"), "{error}");
    }
}
