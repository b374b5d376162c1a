//! The files of a session: which there are, at which stage a person may change them, what an empty
//! one looks like, and which sections must hold something.
//!
//! Knows names and rules only; reading and writing them is the business of `flow` and `store`.

use super::brief;
use super::failure::{Code, Failure, Result};
use super::id::SessionId;
use super::markdown;
use super::profile::Profile;
use super::stage::Stage;
use crate::core::hint::command;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A file of a session, by its path below the session's folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Artifact {
    Intent,
    Spec,
    Plan,
    Architecture,
    DevelopmentPlan,
    TestPlan,
    ExecutionRecord,
    ReviewReport,
    Proposal,
    SpecDelta,
    Design,
    Tasks,
    Slices,
    ArtifactGraph,
    AdrCandidate,
    Brief,
    TaskList,
}

impl Artifact {
    /// Whether the tool writes it by itself beside the edits of people.
    pub fn is_derived(self) -> bool {
        matches!(self, Artifact::ArtifactGraph | Artifact::AdrCandidate)
    }

    pub const ALL: [Artifact; 17] = [
        Artifact::Intent,
        Artifact::Spec,
        Artifact::Plan,
        Artifact::Architecture,
        Artifact::DevelopmentPlan,
        Artifact::TestPlan,
        Artifact::ExecutionRecord,
        Artifact::ReviewReport,
        Artifact::Proposal,
        Artifact::SpecDelta,
        Artifact::Design,
        Artifact::Tasks,
        Artifact::Slices,
        Artifact::ArtifactGraph,
        Artifact::AdrCandidate,
        Artifact::Brief,
        Artifact::TaskList,
    ];

    /// The four documents of the plan, in the order in which blockers name them.
    pub const PLAN_DOCUMENTS: [Artifact; 4] = [
        Artifact::Plan,
        Artifact::Architecture,
        Artifact::DevelopmentPlan,
        Artifact::TestPlan,
    ];

    /// The change pack that a person writes, in the order in which blockers name it.
    pub const CHANGE_PACK: [Artifact; 5] = [
        Artifact::Proposal,
        Artifact::SpecDelta,
        Artifact::Design,
        Artifact::Tasks,
        Artifact::Slices,
    ];

    pub fn path(self) -> &'static str {
        match self {
            Artifact::Intent => "intent.md",
            Artifact::Spec => "spec.md",
            Artifact::Plan => "plan.md",
            Artifact::Architecture => "architecture.md",
            Artifact::DevelopmentPlan => "development-plan.md",
            Artifact::TestPlan => "test-plan.md",
            Artifact::ExecutionRecord => "execution-record.md",
            Artifact::ReviewReport => "review-report.md",
            Artifact::Proposal => "change/proposal.md",
            Artifact::SpecDelta => "change/spec-delta.md",
            Artifact::Design => "change/design.md",
            Artifact::Tasks => "change/tasks.md",
            Artifact::Slices => "change/slices.json",
            Artifact::ArtifactGraph => "change/artifact-graph.json",
            Artifact::AdrCandidate => "change/adr-candidate.md",
            Artifact::Brief => "brief.md",
            Artifact::TaskList => "tasks.jsonl",
        }
    }

    /// The name that blockers use: `missing_plan_artifact_<key>`.
    pub fn key(self) -> &'static str {
        match self {
            Artifact::Intent => "intent",
            Artifact::Spec => "spec",
            Artifact::Plan => "plan",
            Artifact::Architecture => "architecture",
            Artifact::DevelopmentPlan => "developmentPlan",
            Artifact::TestPlan => "testPlan",
            Artifact::ExecutionRecord => "executionRecord",
            Artifact::ReviewReport => "reviewReport",
            Artifact::Proposal => "proposal",
            Artifact::SpecDelta => "specDelta",
            Artifact::Design => "design",
            Artifact::Tasks => "tasks",
            Artifact::Slices => "slices",
            Artifact::ArtifactGraph => "graph",
            Artifact::AdrCandidate => "adrCandidate",
            Artifact::Brief => "brief",
            Artifact::TaskList => "taskList",
        }
    }

    /// The artifact that lies at a path below the session's folder.
    pub fn at(path: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|artifact| artifact.path() == path)
    }

    /// Finds an artifact by path, with or without `.md`/`.json` and the `change/` folder, or by the beginning of
    /// its path or name where no other begins so.
    pub fn parse(text: &str) -> Result<Self> {
        let wanted = text.trim_start_matches("./");
        if let Some(artifact) = Self::ALL.into_iter().find(|a| a.is_named(wanted)) {
            return Ok(artifact);
        }
        let begins = |a: &Artifact| {
            let path = a.path();
            !wanted.is_empty() && (path.starts_with(wanted) || a.file().starts_with(wanted))
        };
        let found: Vec<Artifact> = Self::ALL.into_iter().filter(begins).collect();
        match found.as_slice() {
            [only] => Ok(*only),
            [] => Err(unknown(text, wanted)),
            several => {
                let names: Vec<&str> = several.iter().map(|a| a.path()).collect();
                Err(Failure::usage(
                    Code::ArtifactAmbiguous,
                    format!(
                        "`{text}` is the beginning of {} artifacts: {}",
                        names.len(),
                        names.join(", ")
                    ),
                )
                .help("type the name as far as it is one's alone"))
            }
        }
    }

    /// The last part of its path.
    fn file(self) -> &'static str {
        let path = self.path();
        path.rsplit('/').next().unwrap_or(path)
    }

    fn is_named(self, wanted: &str) -> bool {
        let file = self.file();
        let stem = file.split('.').next().unwrap_or(file);
        [self.path(), file, stem, self.key()].contains(&wanted)
    }

    /// Whether a person may change it while the session is at `stage`. What an approval covered can
    /// change again only after a rollback, so that "approved" keeps meaning this content.
    pub fn is_open_at(self, stage: Stage) -> bool {
        match self {
            Artifact::Intent | Artifact::ArtifactGraph | Artifact::AdrCandidate => false,
            Artifact::Spec => matches!(stage, Stage::Clarify | Stage::Plan),
            Artifact::Plan
            | Artifact::Architecture
            | Artifact::DevelopmentPlan
            | Artifact::TestPlan
            | Artifact::Proposal
            | Artifact::SpecDelta
            | Artifact::Design
            | Artifact::Slices
            | Artifact::TaskList => stage == Stage::Plan,
            Artifact::Brief => stage == Stage::Build,
            Artifact::Tasks => matches!(stage, Stage::Plan | Stage::Build),
            Artifact::ExecutionRecord => matches!(stage, Stage::Build | Stage::Review),
            Artifact::ReviewReport => stage == Stage::Review,
        }
    }

    /// The fields of its front matter, where gates read them: any other is written wrongly. Those of the system
    /// that this one grew from are known, and mean nothing here.
    pub fn known_fields(self) -> Option<Vec<&'static str>> {
        const COMMON: [&str; 14] = [
            "schema_version",
            "workflow_id",
            "run_id",
            "stage",
            "actor_id",
            "actor_role",
            "started_at",
            "completed_at",
            "title",
            "slug",
            "language",
            "profile",
            "tags",
            "updated_at",
        ];
        let own: &[&str] = match self {
            Artifact::Spec => &[
                "unresolved_ambiguity_count",
                "current_round",
                "ambiguity_score",
                "non_goals_resolved",
                "decision_boundaries_resolved",
                "pressure_pass_complete",
                "target_domains",
            ],
            Artifact::Plan => &[
                "scope",
                "acceptance_criteria_testable",
                "verification_steps_resolved",
            ],
            Artifact::ExecutionRecord => &[
                "planned_scope",
                "implemented_scope",
                "remaining_scope",
                "completion_claim",
                "plan_digest",
                "checkpoint_count",
                "evidence_manifest",
            ],
            _ => return None,
        };
        Some(own.iter().copied().chain(COMMON).collect())
    }

    /// The stage in which somebody begins to write it.
    pub fn written_at(self) -> Stage {
        match self {
            Artifact::Intent | Artifact::Spec => Stage::Clarify,
            Artifact::ExecutionRecord | Artifact::Brief => Stage::Build,
            Artifact::ReviewReport => Stage::Review,
            _ => Stage::Plan,
        }
    }
}

fn unknown(text: &str, wanted: &str) -> Failure {
    let known: Vec<&str> = Artifact::ALL.iter().map(|a| a.path()).collect();
    let near = super::nearest(wanted, known.iter().copied());
    let failure = Failure::not_found(
        Code::ArtifactUnknown,
        format!(
            "no artifact is named `{text}`; expected one of {}",
            known.join(", ")
        ),
    );
    match near {
        Some(near) => failure.help(command!("cat {near}")),
        None => failure,
    }
}

impl fmt::Display for Artifact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.path())
    }
}

impl From<Artifact> for String {
    fn from(artifact: Artifact) -> String {
        artifact.path().to_owned()
    }
}

impl TryFrom<String> for Artifact {
    type Error = Failure;
    fn try_from(path: String) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|a| a.path() == path)
            .ok_or_else(|| {
                Failure::usage(
                    Code::ArtifactUnknown,
                    format!("no artifact has the path `{path}`"),
                )
            })
    }
}

/// What a template is filled with.
#[derive(Clone, Copy, Debug)]
pub struct TemplateInput<'a> {
    pub id: &'a SessionId,
    pub title: &'a str,
    pub intent: &'a str,
    /// Spec domains that the clarified spec names; `general` where it names none.
    pub domains: &'a [String],
    pub profile: &'a Profile,
}

impl Artifact {
    /// The text that a person starts from, with every section that the profile asks for. Guidance stands in comments,
    /// which count as nothing.
    pub fn template(self, input: TemplateInput<'_>) -> String {
        let mut text = self.usual_template(input);
        let sections = markdown::sections(&text);
        for title in input.profile.sections_of(self) {
            if markdown::section(&sections, title).is_none() {
                text.push_str(&format!("\n## {title}\n\n<!-- -->\n"));
            }
        }
        text
    }

    fn usual_template(self, input: TemplateInput<'_>) -> String {
        let TemplateInput {
            id,
            title,
            intent,
            domains,
            profile,
        } = input;
        match self {
            Artifact::Brief => brief::template(title, intent),
            Artifact::TaskList => String::new(),
            Artifact::Plan if profile.flags_of(self).is_empty() => format!(
                "---\n\
                 scope: []\n\
                 ---\n\
                 # Plan: {title}\n\n\
                 ## Problem\n\n{}\n\n\
                 ## Approach\n\n<!-- What is done, in which order, and why this way. -->\n\n\
                 ## Scope\n\n<!-- What stays as it is. Paths that the build may touch go into `scope:` above, like [\"src/**\"]. -->\n\n\
                 ## Risks\n\n<!-- What may go wrong, and how anybody would notice. \"None\" is an answer. -->\n",
                intent.trim()
            ),
            Artifact::Intent => format!("{}\n", intent.trim_end()),
            Artifact::Spec => format!(
                "---\n\
                 unresolved_ambiguity_count: 1\n\
                 current_round: 0\n\
                 ambiguity_score: 1.0\n\
                 non_goals_resolved: false\n\
                 decision_boundaries_resolved: false\n\
                 pressure_pass_complete: false\n\
                 target_domains: []\n\
                 ---\n\
                 # {title}\n\n\
                 ## Desired outcome\n\n<!-- What is true for whom when this is done? -->\n\n\
                 ## Open questions\n\n- [ ] A-1: What is not decided yet?\n\n\
                 ## In scope\n\n<!-- What changes. -->\n\n\
                 ## Non-goals\n\n<!-- What must not change, and what is left for later. -->\n\n\
                 ## Decision boundaries\n\n<!-- What the builder may decide alone, and what needs an answer. -->\n\n\
                 ## Success criteria\n\n<!-- How anybody can tell that it works. -->\n\n\
                 ## Execution inputs\n\n<!-- Files, commands, data that the work needs, one bullet each. TBD blocks. -->\n\n\
                 ## Assumptions and risks\n\n<!-- What was taken for granted; what may go wrong. -->\n"
            ),
            Artifact::Plan => "---\n\
                 scope: []\n\
                 acceptance_criteria_testable: false\n\
                 verification_steps_resolved: false\n\
                 ---\n\
                 # Plan\n\n\
                 ## Approach\n\n<!-- What is done, in which order, and why this way. -->\n\n\
                 ## Options considered\n\n<!-- What else was possible, and why not. -->\n\n\
                 ## Acceptance criteria\n\n<!-- One bullet each; each can be checked by a command or a look. -->\n"
                .to_owned(),
            Artifact::Architecture => "# Architecture\n\n\
                 ## Structure\n\n<!-- Which parts are touched, what each owns, what flows between them. -->\n\n\
                 ## Trade-offs\n\n<!-- The strongest objection, and the answer. -->\n"
                .to_owned(),
            Artifact::DevelopmentPlan => "# Development plan\n\n\
                 ## Steps\n\n<!-- Small steps, each of which leaves everything working. -->\n"
                .to_owned(),
            Artifact::TestPlan => "# Test plan\n\n\
                 ## Verification\n\n<!-- Which command proves which criterion. -->\n"
                .to_owned(),
            Artifact::Proposal => format!(
                "# {title}\n\n## Why\n\n<!-- The problem, in two sentences. -->\n\n\
                 ## What changes\n\n<!-- One bullet per spec domain. -->\n"
            ),
            Artifact::SpecDelta => spec_delta_template(domains),
            Artifact::Design => "# Design\n\n\
                 ## Decision\n\n<!-- What was decided; this becomes the decision record. -->\n\n\
                 ## Consequences\n\n<!-- What gets easier, what gets harder. -->\n"
                .to_owned(),
            Artifact::Tasks => "# Tasks\n\n## Tasks\n\n<!-- - [ ] 1.1 One line a task -->\n".to_owned(),
            Artifact::Slices => "[]\n".to_owned(),
            Artifact::ExecutionRecord => "---\n\
                 planned_scope: []\n\
                 implemented_scope: []\n\
                 remaining_scope: []\n\
                 completion_claim: full\n\
                 ---\n\
                 # Execution record\n\n\
                 ## Changes\n\n<!-- What was done. Evidence is what `git loopx run` recorded; words here prove nothing. -->\n\n\
                 ## Limitations\n\n<!-- What is known not to work. -->\n"
                .to_owned(),
            Artifact::ReviewReport => format!(
                "# Review of {id}\n\n## Findings\n\n<!-- What a maintainer has to know. -->\n\n\
                 ## Architecture\n\n<!-- Does the change leave the house in order? -->\n"
            ),
            Artifact::ArtifactGraph | Artifact::AdrCandidate => String::new(),
        }
    }
}

fn spec_delta_template(domains: &[String]) -> String {
    let general = ["general".to_owned()];
    let domains = if domains.is_empty() {
        &general[..]
    } else {
        domains
    };
    let mut out = String::new();
    out.push_str(
        "<!-- Where no behaviour changes (a refactoring, a dependency), begin the file with these four lines instead:\n\
         ---\nbehaviour: unchanged\nreason: WHY\n---\n-->\n\n",
    );
    for domain in domains {
        out.push_str(&format!(
            "# Domain: {domain}\n\n\
             <!-- Sections: ADDED, MODIFIED, REMOVED, RENAMED Requirements. Keep those that you need:\n\n\
             ## ADDED Requirements\n\n\
             ### Requirement: NAME\n\
             The system SHALL ...\n\n\
             #### Scenario: NAME\n\
             - **WHEN** ...\n\
             - **THEN** ...\n\
             -->\n\n"
        ));
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::{Artifact, Code, Stage};

    #[test]
    fn artifacts_are_found_by_path_name_and_stem() {
        for (text, artifact) in [
            ("spec.md", Artifact::Spec),
            ("spec", Artifact::Spec),
            ("change/slices.json", Artifact::Slices),
            ("spec-delta", Artifact::SpecDelta),
            ("sl", Artifact::Slices),
            ("dev", Artifact::DevelopmentPlan),
            ("spec-", Artifact::SpecDelta),
            ("change/d", Artifact::Design),
        ] {
            assert_eq!(Artifact::parse(text), Ok(artifact));
        }
        for several in ["a", "change/", "s"] {
            let refused = Artifact::parse(several).expect_err(several);
            assert_eq!(refused.code, Code::ArtifactAmbiguous, "{refused:?}");
        }
        assert!(Artifact::parse("").is_err());
        assert!(Artifact::parse("../spec.md").is_err());
    }

    #[test]
    fn what_an_approval_covered_is_closed_afterwards() {
        assert!(Artifact::Spec.is_open_at(Stage::Clarify));
        assert!(!Artifact::Spec.is_open_at(Stage::Build));
        assert!(Artifact::ALL.iter().all(|a| !a.is_open_at(Stage::Done)));
    }
}
