//! The files of a session: which there are, at which stage a person may change them, and which
//! fields of front matter they know.
//!
//! Knows names and rules only; what an empty one looks like is said in [`super::template`], and reading and writing
//! them is the business of `flow` and `store`.

use super::stage::Stage;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
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
    /// Tells whether the tool writes the artifact by itself beside the edits of people.
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
                .help("type enough of the name to tell it from the others"))
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

    /// Tells whether a person may change the artifact while the session is at `stage`. Content that an approval covered
    /// can change again only after a rollback, so that "approved" keeps meaning this content. A session that has no
    /// plan knows more: ask its state.
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
                "out_of_scope",
                "constraints",
                "definition_of_done",
                "execution_criteria",
                "complexity",
                "angles",
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
    let near = loopx_base::nearest(wanted, known.iter().copied());
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
