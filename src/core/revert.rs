//! The documents of a session that takes a commit back. What is known of such a change is written down already, so
//! that in an emergency people read and approve, and write little.
//!
//! It knows no git: which paths the commit changed, and which of them are still as it left them, are handed in.

use super::artifact::Artifact;
use super::counted;
use super::id::{Oid, SessionId};
use super::policy::Language;
use super::profile::Profile;
use super::template::TemplateInput;
use serde_json::json;
use std::collections::BTreeMap;

/// How many paths a document names one by one.
const NAMED: usize = 100;

/// A commit that is to be taken back.
#[derive(Clone, Debug)]
pub struct Revert {
    pub commit: Oid,
    /// The commit before it: the first parent of a merge.
    pub before: Oid,
    pub is_merge: bool,
    pub subject: String,
    pub author: String,
    /// What it changed.
    pub paths: Vec<String>,
    /// The paths that nobody changed since: taking the commit back makes them what they were.
    pub still: Vec<String>,
    /// The sessions that it names.
    pub sessions: Vec<String>,
}

impl Revert {
    /// What the change is called where nobody gives it another name.
    pub fn title(&self) -> String {
        format!("Revert \"{}\"", self.subject)
    }

    /// A name that folds to a short id.
    pub fn name(&self) -> String {
        format!("revert-{}", self.commit.short())
    }

    /// The git command that makes the change.
    pub fn command(&self) -> String {
        let mainline = if self.is_merge { " -m 1" } else { "" };
        format!("git revert{mainline} {}", self.commit.short())
    }

    fn what(&self) -> String {
        let (short, subject) = (self.commit.short(), &self.subject);
        format!("commit {short} (\"{subject}\", by {})", self.author)
    }

    /// What the session starts with, for the reason that was given.
    pub fn artifacts(
        &self,
        id: &SessionId,
        title: &str,
        why: Option<&str>,
    ) -> BTreeMap<Artifact, String> {
        let what = self.what();
        let why = why.map_or_else(|| format!("Take back {what}."), str::to_owned);
        let (command, short) = (self.command(), self.commit.short());
        let bullets = bullets(&self.paths);
        let sessions = match self.sessions.as_slice() {
            [] => String::new(),
            named => format!(
                "\nSessions that it names: {}. What they archived goes by `git loopx archive --undo ID`.\n",
                named.join(", ")
            ),
        };
        let reason = format!("takes back commit {short}; no requirement is written anew");
        let reason = serde_json::Value::from(reason);
        let scope = serde_json::Value::from(self.scope());
        let texts = [
            (
                Artifact::Spec,
                format!(
                    "---\nunresolved_ambiguity_count: 0\ncurrent_round: 1\nambiguity_score: 0.0\n\
                     non_goals_resolved: true\ndecision_boundaries_resolved: true\n\
                     pressure_pass_complete: true\ntarget_domains: []\n---\n# {title}\n\n\
                     ## Desired outcome\n\nWhat {what} changed is as it was before it.\n\n{why}\n\n\
                     ## In scope\n\n{bullets}{sessions}\n\
                     ## Non-goals\n\nNothing else changes. What was wrong is mended in a session of its own.\n\n\
                     ## Decision boundaries\n\nConflicts with later commits are resolved in favour of the later commits; \
                     where that is not possible, ask.\n\n\
                     ## Success criteria\n\nThe verification of the slice passes.\n\n\
                     ## Execution inputs\n\n- `{command}`\n"
                ),
            ),
            (
                Artifact::Plan,
                format!(
                    "---\nscope: {scope}\nacceptance_criteria_testable: true\n\
                     verification_steps_resolved: true\n---\n# Plan\n\n\
                     ## Approach\n\n`{command}`, and nothing beside it.\n\n\
                     ## Acceptance criteria\n\n- What commit {short} changed is as it was before it.\n"
                ),
            ),
            (
                Artifact::Architecture,
                format!(
                    "# Architecture\n\n## Structure\n\nAs it was before {what}: {} change.\n",
                    counted(self.paths.len(), "file")
                ),
            ),
            (
                Artifact::DevelopmentPlan,
                format!("# Development plan\n\n## Steps\n\n1. `{command}`\n"),
            ),
            (
                Artifact::TestPlan,
                "# Test plan\n\n## Verification\n\nThe slice names the command; the tests of the repository run in CI.\n"
                    .to_owned(),
            ),
            (
                Artifact::Proposal,
                format!("# {title}\n\n## Why\n\n{why}\n\n## What changes\n\n{bullets}"),
            ),
            (
                Artifact::SpecDelta,
                format!("---\nbehaviour: unchanged\nreason: {reason}\n---\n\n# {title}\n"),
            ),
            (
                Artifact::Design,
                format!("# Design\n\n## Decision\n\nTake back {what} as a whole.\n\n## Consequences\n\nWhat it brought is missing until it comes again, with a review of its own.\n"),
            ),
            (
                Artifact::Tasks,
                format!("# Tasks\n\n## Tasks\n\n- [ ] 1.1 `{command}`\n"),
            ),
            (Artifact::Slices, self.slices(id, title)),
        ];
        let mut found = BTreeMap::from(texts);
        let input = TemplateInput {
            id,
            title,
            intent: &why,
            domains: &[],
            profile: &Profile::empty(),
            language: Language::Off,
        };
        found.insert(Artifact::Intent, Artifact::Intent.template(input));
        found
    }

    /// One slice, whose verification compares what nobody changed since with what it was. Where all was changed
    /// since, only a person knows what proves it: the template stays.
    fn slices(&self, id: &SessionId, title: &str) -> String {
        if self.still.is_empty() {
            let input = TemplateInput {
                id,
                title,
                intent: "",
                domains: &[],
                profile: &Profile::empty(),
                language: Language::Off,
            };
            return Artifact::Slices.template(input);
        }
        let mut verification: Vec<String> = [
            "git",
            "--literal-pathspecs",
            "diff",
            "--exit-code",
            "--stat",
        ]
        .map(str::to_owned)
        .to_vec();
        verification.extend([self.before.to_string(), "--".to_owned()]);
        verification.extend(self.still.iter().cloned());
        let short = self.commit.short();
        let slices = json!([{
            "id": "VS-1",
            "type": "AFK",
            "behaviour": format!("what commit {short} changed is as it was"),
            "acceptance_criteria": [format!("git finds no difference to {}", self.before.short())],
            "verification": verification,
        }]);
        format!("{slices:#}\n")
    }

    /// Patterns for what the build may change: the paths, or their folders where there are many.
    fn scope(&self) -> Vec<String> {
        let mut found: Vec<String> = match self.paths.len() > NAMED {
            false => self.paths.iter().map(|path| literal(path)).collect(),
            true => {
                let top = |path: &String| match path.split_once('/') {
                    Some((folder, _)) => format!("{}/**", literal(folder)),
                    None => literal(path),
                };
                self.paths.iter().map(top).collect()
            }
        };
        found.sort();
        found.dedup();
        found
    }
}

/// A pattern for one path: signs that mean something in a pattern become `?`.
fn literal(path: &str) -> String {
    path.replace(['*', '[', ']', '{', '}', '\\', '!', ','], "?")
}

fn bullets(paths: &[String]) -> String {
    let mut text: String = paths
        .iter()
        .take(NAMED)
        .map(|path| format!("- `{}`\n", path.replace(['`', '\n'], "?")))
        .collect();
    if paths.len() > NAMED {
        text.push_str(&format!("- and {} more\n", paths.len() - NAMED));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::Revert;
    use crate::core::artifact::Artifact;
    use crate::core::id::{Oid, SessionId};
    use crate::core::pack;

    fn revert(paths: &[&str], still: &[&str]) -> Revert {
        let oid = |c: &str| Oid::parse(&c.repeat(40)).expect("an id");
        Revert {
            commit: oid("a"),
            before: oid("b"),
            is_merge: false,
            subject: "Add \"x\"".into(),
            author: "Ada <ada@example.org>".into(),
            paths: paths.iter().map(ToString::to_string).collect(),
            still: still.iter().map(ToString::to_string).collect(),
            sessions: Vec::new(),
        }
    }

    #[test]
    fn the_slice_compares_what_nobody_changed_since() {
        let id = SessionId::parse("demo").expect("an id");
        let slices = |revert: &Revert| {
            let all = revert.artifacts(&id, &revert.title(), None);
            pack::slices(all.get(&Artifact::Slices).map(String::as_str))
        };
        let found = slices(&revert(&["a b", "-c"], &["-c"])).expect("slices");
        assert_eq!(found[0].verification[6..], ["--", "-c"]);
        assert!(slices(&revert(&["a"], &[])).is_err(), "a person fills it");
    }

    #[test]
    fn a_scope_of_many_paths_names_their_folders() {
        let many: Vec<String> = (0..200).map(|n| format!("src/{n}.rs")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(revert(&many, &[]).scope(), ["src/**"]);
        assert_eq!(revert(&["a[1].rs", "b"], &[]).scope(), ["a?1?.rs", "b"]);
    }
}
