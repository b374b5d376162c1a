//! The findings about a specification package: each by its id, how much it matters, and what it means.

use loopx_spec::{Finding, Known, Severity};

/// Findings of a package, by id. A package with an error is not applied.
pub const FINDINGS: &[Known] = &[
    Known::new(
        "package_assumption_missing",
        Known::WARNING,
        "the product brief names no assumption",
        "write what is taken for granted below `## Assumptions`",
    ),
    Known::new(
        "package_constraint_missing",
        &[Severity::Info],
        "the product brief names no constraint",
        "write it below `## Constraints`, or leave it",
    ),
    Known::new(
        "package_criterion_invalid",
        Known::ERROR,
        "an acceptance criterion does not say WHEN and THEN, so that it cannot become a scenario",
        "write `NAME: WHEN ..., THEN ...`, the words in upper case",
    ),
    Known::new(
        "package_criterion_missing",
        Known::ERROR,
        "a requirement has no acceptance criterion",
        "write one below `#### Acceptance criteria`",
    ),
    Known::new(
        "package_criterion_repeated",
        Known::ERROR,
        "two acceptance criteria of a requirement have one name",
        "give one of them another name",
    ),
    Known::new(
        "package_decision_incomplete",
        Known::ERROR,
        "a decision of the architecture does not say what was decided",
        "write it below `#### Decision`",
    ),
    Known::new(
        "package_document_expected",
        Known::WARNING,
        "the package has no architecture, or no stories",
        "write it; `spec package template` prints what it begins with",
    ),
    Known::new(
        "package_document_later",
        &[Severity::Info],
        "the package has no readiness report yet",
        "write it when the other documents are there",
    ),
    Known::new(
        "package_document_missing",
        Known::ERROR,
        "the package has no product brief, or no requirements",
        "write it; `spec package template` prints what it begins with",
    ),
    Known::new(
        "package_document_repeated",
        Known::ERROR,
        "two tasks left a document of the same name",
        "keep one of them, or gather the package in a folder",
    ),
    Known::new(
        "package_domain_invalid",
        Known::ERROR,
        "a requirement has no domain, or a name that is none",
        "write `domain: NAME` into the front matter of the requirements",
    ),
    Known::new(
        "package_exploration_narrow",
        Known::WARNING,
        "the request was not looked at from three to five sides",
        "name the sides as `dimensions` in the front matter of the product brief",
    ),
    Known::new(
        "package_file_apart",
        Known::WARNING,
        "an item stands in a file that is named by another id",
        "name the file by the id of its heading",
    ),
    Known::new(
        "package_file_unread",
        Known::WARNING,
        "a file in the folder of a document is not one of the items of the document",
        "name it by the id of its item, or move it away",
    ),
    Known::new(
        "package_front_matter_invalid",
        Known::ERROR,
        "a document has no front matter, or a field that cannot be read",
        "write the line as the message says",
    ),
    Known::new(
        "package_goal_missing",
        Known::WARNING,
        "the product brief names no goal",
        "write `- GOAL-1: TEXT` below `## Goals`",
    ),
    Known::new(
        "package_goal_unserved",
        Known::WARNING,
        "no requirement serves a goal",
        "name it in `Goals` of a requirement",
    ),
    Known::new(
        "package_id_invalid",
        Known::ERROR,
        "a heading or an item of the package has no id where it needs one",
        "write it as the message says",
    ),
    Known::new(
        "package_id_repeated",
        Known::ERROR,
        "two items of the package have one id",
        "give one of them another id",
    ),
    Known::new(
        "package_measure_missing",
        Known::WARNING,
        "a quality requirement has no criterion by which it can be measured",
        "write one below `#### Acceptance criteria`",
    ),
    Known::new(
        "package_option_alone",
        Known::WARNING,
        "a decision names fewer than two options",
        "write what was considered beside it below `#### Options considered`",
    ),
    Known::new(
        "package_priority_missing",
        Known::WARNING,
        "a requirement has no priority",
        "write `- Priority: must`, `should`, `could` or `wont`",
    ),
    Known::new(
        "package_priority_unknown",
        Known::ERROR,
        "the priority of a requirement is not must, should, could or wont",
        "write must, should, could or wont",
    ),
    Known::new(
        "package_problem_short",
        Known::ERROR,
        "the problem of the product brief has fewer than 30 letters",
        "say who cannot do what, and what that costs",
    ),
    Known::new(
        "package_quality_missing",
        Known::WARNING,
        "the package has no quality requirement",
        "write one with an id like NFR-001",
    ),
    Known::new(
        "package_reference_unknown",
        Known::ERROR,
        "a document names an id that the package does not have",
        "mend the id, or write what it names",
    ),
    Known::new(
        "package_requirement_unplaced",
        &[Severity::Info],
        "the architecture does not name a requirement that the package must bring",
        "name it below `## Structure`",
    ),
    Known::new(
        "package_requirement_unserved",
        Known::WARNING,
        "no story serves a requirement",
        "name it in `Requirements` of a story",
    ),
    Known::new(
        "package_requirements_few",
        Known::ERROR,
        "the package has fewer than two requirements that say something",
        "write what else it needs",
    ),
    Known::new(
        "package_scope_open",
        Known::WARNING,
        "the product brief does not say what is in scope, or what is out of it",
        "write it below `## In scope` and `## Out of scope`",
    ),
    Known::new(
        "package_statement_missing",
        Known::ERROR,
        "a requirement says nothing",
        "write a sentence with SHALL below its fields",
    ),
    Known::new(
        "package_statement_weak",
        Known::ERROR,
        "a requirement has neither SHALL nor MUST",
        "write SHALL or MUST",
    ),
    Known::new(
        "package_story_idle",
        Known::WARNING,
        "a story serves no requirement",
        "name them as `- Requirements: REQ-001`",
    ),
    Known::new(
        "package_title_repeated",
        Known::ERROR,
        "two requirements of a domain, or two decisions, have one title",
        "give one of them another title",
    ),
    Known::new(
        "package_unconfirmed",
        &[Severity::Info],
        "nobody confirmed the product brief",
        "write `confirmed: true` into its front matter once somebody did",
    ),
    Known::new(
        "package_undiscussed",
        &[Severity::Info],
        "the product brief was not discussed",
        "write how many rounds it took as `discussion_rounds`",
    ),
    Known::new(
        "package_user_missing",
        Known::WARNING,
        "the product brief names no user",
        "write who needs it below `## Users`",
    ),
    Known::new(
        "package_verdict_apart",
        Known::WARNING,
        "the readiness report has another verdict than the figures",
        "mend the documents, or the verdict",
    ),
];

/// Findings of one package.
#[derive(Clone, Debug, Default)]
pub(super) struct Findings(pub Vec<Finding>);

impl Findings {
    pub(super) fn say(
        &mut self,
        id: &'static str,
        file: &str,
        line: usize,
        message: impl Into<String>,
    ) {
        let (severity, fix) = Known::of(FINDINGS, id);
        self.0
            .push(Finding::new(severity, id, file, line, message, fix));
    }
}
