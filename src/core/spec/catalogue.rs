//! Every finding that there is: its id, how bad it is, what it means, and the way out.
//!
//! The list that `spec findings` shows. A test compares it with what the readers and checks say.

use super::findings::Severity;
use serde::Serialize;

/// What an id stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Known {
    pub id: &'static str,
    /// Where there are two, the first one is for deltas, the second for specs.
    pub severities: &'static [Severity],
    pub meaning: &'static str,
    pub fix: &'static str,
}

impl Known {
    /// The severities of a finding that is always an error, and of one that is always a warning.
    pub const ERROR: &'static [Severity] = &[Severity::Error];
    pub const WARNING: &'static [Severity] = &[Severity::Warning];

    pub const fn new(
        id: &'static str,
        severities: &'static [Severity],
        meaning: &'static str,
        fix: &'static str,
    ) -> Self {
        Known {
            id,
            severities,
            meaning,
            fix,
        }
    }

    /// How bad a finding of a catalogue is, and the way out of it. An id that is not there counts as an error.
    pub fn of(catalogue: &[Known], id: &str) -> (Severity, &'static str) {
        let known = catalogue.iter().find(|known| known.id == id);
        let severity = known.and_then(|known| known.severities.first());
        let severity = severity.copied().unwrap_or(Severity::Error);
        (severity, known.map_or("", |known| known.fix))
    }
}

const E: &[Severity] = Known::ERROR;
const W: &[Severity] = Known::WARNING;
const I: &[Severity] = &[Severity::Info];
const EW: &[Severity] = &[Severity::Error, Severity::Warning];

/// All of them, by id.
pub const FINDINGS: &[Known] = &[
    Known::new(
        "almost_requirement",
        EW,
        "a heading that looks like a requirement has no colon behind its first word",
        "write `### Requirement: NAME`",
    ),
    Known::new(
        "bad_behaviour",
        E,
        "`behaviour` in a delta says something else than `unchanged`",
        "take the line out where behaviour changes",
    ),
    Known::new(
        "bad_domain",
        E,
        "a name cannot be a domain",
        "name the folder of the spec below the folder of specs, as `auth/login`",
    ),
    Known::new(
        "conflict_marker",
        E,
        "a conflict marker is left in the text",
        "choose a text and delete the lines with markers",
    ),
    Known::new(
        "delta_not_joinable",
        E,
        "deltas of several files cannot become one file",
        "mend the file that is named",
    ),
    Known::new(
        "delta_section_in_spec",
        E,
        "a spec has a section of a delta",
        "move it into a delta, or name it `## Requirements`",
    ),
    Known::new(
        "delta_wrong_place",
        E,
        "a Markdown file lies where only deltas of domains may",
        "move it to `specs/<domain>/spec.md`, or put notes outside of `specs/`",
    ),
    Known::new(
        "dependency_abandoned",
        E,
        "a session that the delta depends on was abandoned",
        "take it out of `depends_on`",
    ),
    Known::new(
        "dependency_cycle",
        E,
        "sessions wait for each other, so that none can be archived",
        "take one of them out of `depends_on`",
    ),
    Known::new(
        "dependency_open",
        I,
        "a session that the delta depends on is not archived yet",
        "archive it first, or both in one go",
    ),
    Known::new(
        "dependency_unknown",
        E,
        "the delta depends on a session that does not exist",
        "mend the name in `depends_on`, or get the session: git loopx sync",
    ),
    Known::new(
        "domain_differs",
        E,
        "the file names another domain than its folder",
        "leave the name out: the folder says it",
    ),
    Known::new(
        "duplicate_id",
        E,
        "two requirements have one stable id",
        "an id belongs to one requirement for ever: choose another",
    ),
    Known::new(
        "duplicate_operation",
        E,
        "two operations of a delta name one thing",
        "say in one operation what happens to it",
    ),
    Known::new(
        "duplicate_requirement",
        E,
        "two requirements of a spec have one name",
        "rename or join them",
    ),
    Known::new(
        "duplicate_scenario",
        E,
        "two scenarios of a requirement have one name",
        "rename or join them",
    ),
    Known::new(
        "empty_name",
        E,
        "a requirement or scenario has no name",
        "write `### Requirement: NAME` or `#### Scenario: NAME`",
    ),
    Known::new(
        "empty_purpose",
        E,
        "the purpose is empty",
        "say in a sentence or two what the domain is for",
    ),
    Known::new(
        "empty_scenario",
        E,
        "a scenario is empty",
        "add WHEN and THEN steps",
    ),
    Known::new(
        "empty_section",
        W,
        "a section of a delta has no entry",
        "add requirements below it, or delete the heading",
    ),
    Known::new(
        "foreign_heading",
        E,
        "a heading in a section of a delta is no requirement",
        "write `### Requirement: NAME`, or move the text out of the section",
    ),
    Known::new(
        "heading_taken_in",
        E,
        "behind what a delta writes, a heading of the spec would be read as something else",
        "in the spec, put an empty line in front of that heading, and no blanks at its begin",
    ),
    Known::new(
        "indented_heading",
        E,
        "a heading is part of the list item above it, by its indentation",
        "start the heading at the first column",
    ),
    Known::new(
        "language_differs",
        E,
        "the header words of delta and spec are of different languages",
        "use the header words of the spec",
    ),
    Known::new(
        "last_requirement",
        E,
        "the last requirement of a domain would go",
        "to give the domain up, put `retire: true` into the front matter of the delta",
    ),
    Known::new(
        "lower_case_keyword",
        W,
        "a requirement binds by lower-case words only (RFC 8174)",
        "write SHALL, MUST, SHOULD or MAY in upper case",
    ),
    Known::new(
        "missing_anchor",
        W,
        "the requirement that an addition wants to stand after is not there",
        "name one that there is; without it the requirement goes to the end",
    ),
    Known::new(
        "missing_domain",
        E,
        "a delta changes requirements of a domain that has no spec",
        "add them with `## ADDED Requirements`, or archive the change that adds the domain first",
    ),
    Known::new(
        "missing_requirement",
        E,
        "an operation names a requirement that its base does not have",
        "name one that there is; the message has the nearest",
    ),
    Known::new(
        "missing_scenario",
        E,
        "an operation names a scenario that is not there",
        "name one that there is",
    ),
    Known::new(
        "mixed_scenarios",
        E,
        "a block replaces a requirement and patches it too",
        "give all scenarios an operation, or none but REMOVED and RENAMED",
    ),
    Known::new(
        "modified_old_name",
        E,
        "a requirement is modified under the name that the same delta takes from it",
        "modify it under its new name",
    ),
    Known::new(
        "near_name",
        E,
        "a new name differs from an old one in case or marks only",
        "modify that requirement, or choose a clearly different name",
    ),
    Known::new(
        "no_delta",
        E,
        "there is no delta, or it has no section",
        "write `## ADDED Requirements` (or MODIFIED, REMOVED, RENAMED) with requirements below",
    ),
    Known::new(
        "no_domain",
        E,
        "the delta does not say which domain it changes",
        "start it with `# Domain: PATH`, or with front matter `domain: PATH`",
    ),
    Known::new(
        "no_keyword",
        W,
        "a requirement has no SHALL, MUST, SHOULD or MAY in its text",
        "say how binding it is; words in code and quotes do not count",
    ),
    Known::new(
        "no_operations",
        E,
        "no section of the delta has an entry",
        "write `## ADDED Requirements` (or MODIFIED, REMOVED, RENAMED) with requirements below",
    ),
    Known::new(
        "no_purpose",
        EW,
        "a spec has no purpose, or a new domain: that gets a placeholder",
        "add `## Purpose`",
    ),
    Known::new(
        "no_reason",
        W,
        "a requirement is removed without a reason",
        "add `**Reason**: ...` and `**Migration**: ...` below it",
    ),
    Known::new(
        "no_requirements",
        E,
        "a spec has no requirement",
        "add one as `### Requirement: NAME` below `## Requirements`",
    ),
    Known::new(
        "no_requirements_section",
        E,
        "a spec has no `## Requirements`",
        "put the requirements below a section `## Requirements`",
    ),
    Known::new(
        "no_scenario",
        E,
        "a requirement has no scenario",
        "add `#### Scenario: NAME` with WHEN and THEN steps",
    ),
    Known::new(
        "no_text",
        E,
        "a requirement says nothing",
        "say below its heading what SHALL hold",
    ),
    Known::new(
        "no_then",
        W,
        "a scenario has no THEN step",
        "say what is observed: `- **THEN** ...`",
    ),
    Known::new(
        "not_utf8",
        E,
        "a file is not UTF-8",
        "convert the file to UTF-8",
    ),
    Known::new(
        "placeholder_purpose",
        W,
        "the purpose is a placeholder",
        "say in a sentence or two what the domain is for",
    ),
    Known::new(
        "purpose_replaced",
        W,
        "the purpose of a delta goes in the place of the one that the spec has",
        "leave `## Purpose` out of the delta, unless the domain is for something else from now on",
    ),
    Known::new(
        "rename_done",
        W,
        "a rename is done already",
        "delete the entry, or record the base again: git loopx change refresh",
    ),
    Known::new(
        "rename_form",
        E,
        "a line is no form of a rename",
        "write `- FROM: ...` and `- TO: ...`, or `#### RENAMED Scenario: OLD -> NEW`",
    ),
    Known::new(
        "rename_unpaired",
        E,
        "a FROM line has no TO line, or a TO line no FROM line",
        "write `- FROM: ...` and below it `- TO: ...`",
    ),
    Known::new(
        "requirement_exists",
        E,
        "a delta adds or renames to what the spec has already",
        "modify it, or choose another name",
    ),
    Known::new(
        "requirement_outside_section",
        E,
        "a requirement stands outside the section that it belongs to",
        "move it below `## Requirements`, or in a delta below `## ADDED Requirements` and the like",
    ),
    Known::new(
        "retire_loses_text",
        E,
        "a domain that goes has other sections too",
        "move them elsewhere first: the file goes with the domain",
    ),
    Known::new(
        "scenario_dropped",
        E,
        "the new text of a requirement leaves out one of its scenarios",
        "write the scenario, or `#### REMOVED Scenario: NAME`",
    ),
    Known::new(
        "scenario_exists",
        E,
        "a scenario that is added is there already",
        "write `#### MODIFIED Scenario: ...`, or choose another name",
    ),
    Known::new(
        "scenario_operation_in_added",
        E,
        "an added requirement has operations on scenarios",
        "write `#### Scenario: NAME`",
    ),
    Known::new(
        "similar_names",
        W,
        "two requirements differ in case or marks only",
        "choose clearly different names",
    ),
    Known::new(
        "stray_text",
        I,
        "text before the first requirement belongs to no operation",
        "move it, or leave it out",
    ),
    Known::new(
        "then_dropped",
        E,
        "a scenario that had a THEN step has none any more",
        "say what is observed: `- **THEN** ...`",
    ),
    Known::new(
        "unchanged_with_operations",
        E,
        "a delta says that no behaviour changes, and changes requirements",
        "take out the line, or the sections",
    ),
    Known::new(
        "unchanged_without_reason",
        E,
        "a delta says that no behaviour changes, and not why",
        "write `reason: WHY` below it",
    ),
    Known::new(
        "unclosed_comment",
        E,
        "an HTML comment is never closed: all text below it is hidden",
        "close the comment with -->",
    ),
    Known::new(
        "unclosed_fence",
        E,
        "a code fence is never closed: all text below it is code",
        "close the fence with a line of the same marks",
    ),
    Known::new(
        "unclosed_fence_in_list",
        W,
        "a code fence in a list or quote is closed only by the end of the item",
        "close the fence with a line of the same marks and indentation",
    ),
    Known::new(
        "unclosed_html",
        E,
        "an HTML block is never closed: all text below it belongs to it",
        "close the element",
    ),
    Known::new(
        "wrong_heading_level",
        E,
        "a heading, or a line in bold, names a requirement or a scenario and is of another level",
        "write `### Requirement: NAME` and `#### Scenario: NAME`",
    ),
];
