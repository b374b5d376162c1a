//! The contract of a session: what its work stays within and what it comes to, as typed fields of plan.md; and the words
//! by which a request is broad, so that it has to have one.
//!
//! Source: reference task-chains, 2 and 6. The words count whole, as those of [`super::outline`] do.

use super::outline::{names_file, said, words};
use super::policy::Policy;
use super::session::State;
use loopx_base::failure::Result;
use loopx_base::globs::Globs;
use loopx_spec::front::{Fault, FrontMatter, set_field};
use serde::Serialize;
use std::fmt;

/// The fields of a contract, as plan.md names them.
pub const FIELDS: [&str; 5] = [
    SCOPE,
    OUT_OF_SCOPE,
    CONSTRAINTS,
    DEFINITION_OF_DONE,
    EXECUTION_CRITERIA,
];
pub(crate) const SCOPE: &str = "scope";
pub(crate) const OUT_OF_SCOPE: &str = "out_of_scope";
pub(crate) const CONSTRAINTS: &str = "constraints";
pub(crate) const DEFINITION_OF_DONE: &str = "definition_of_done";
pub(crate) const EXECUTION_CRITERIA: &str = "execution_criteria";

/// The contract of one session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Contract {
    /// Patterns of the paths that the build may touch; empty for all.
    pub scope: Vec<String>,
    /// Patterns of paths that it may not touch, whatever the scope has.
    pub out_of_scope: Vec<String>,
    /// Conditions that hold on the way and afterwards.
    pub constraints: Vec<String>,
    /// Conditions that hold once the session is done.
    pub definition_of_done: Vec<String>,
    /// The manner in which the work is done.
    pub execution_criteria: Vec<String>,
}

impl Contract {
    /// The contract that stands in a plan.
    pub fn read(plan: &str) -> std::result::Result<Self, Fault> {
        let front = FrontMatter::parse(plan)?;
        Ok(Contract {
            scope: patterns(&front, SCOPE)?,
            out_of_scope: patterns(&front, OUT_OF_SCOPE)?,
            constraints: sentences(&front, CONSTRAINTS)?,
            definition_of_done: sentences(&front, DEFINITION_OF_DONE)?,
            execution_criteria: sentences(&front, EXECUTION_CRITERIA)?,
        })
    }

    pub fn is_empty(&self) -> bool {
        *self == Contract::default()
    }

    /// The fields that a broad request asks for and that say nothing. How the work is done may stay open.
    pub fn missing(&self) -> Vec<&'static str> {
        let asked = [
            (self.boundary().is_open(), "scope or out_of_scope"),
            (self.constraints.is_empty(), CONSTRAINTS),
            (self.definition_of_done.is_empty(), DEFINITION_OF_DONE),
        ];
        let missing = asked.into_iter().filter(|(is_missing, _)| *is_missing);
        missing.map(|(_, field)| field).collect()
    }

    /// A plan with these fields in its front matter. Every other byte stays.
    pub fn written_into(&self, plan: &str) -> String {
        let fields = [
            (SCOPE, &self.scope),
            (OUT_OF_SCOPE, &self.out_of_scope),
            (CONSTRAINTS, &self.constraints),
            (DEFINITION_OF_DONE, &self.definition_of_done),
            (EXECUTION_CRITERIA, &self.execution_criteria),
        ];
        let said = fields.into_iter().filter(|(_, list)| !list.is_empty());
        said.fold(plan.to_owned(), |plan, (field, list)| {
            // A list of JSON is one of YAML.
            set_field(
                &plan,
                field,
                &serde_json::Value::from(list.clone()).to_string(),
            )
        })
    }

    pub fn boundary(&self) -> Boundary<'_> {
        Boundary {
            within: &self.scope,
            without: &self.out_of_scope,
        }
    }
}

/// The demand of a contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Asked {
    /// The words by which the request is broad.
    pub words: Vec<String>,
    /// The fields that say nothing yet.
    pub missing: Vec<&'static str>,
}

/// The patterns of paths that a field lists.
fn patterns(front: &FrontMatter, field: &'static str) -> std::result::Result<Vec<String>, Fault> {
    let list = front.list(field)?;
    let fault = |message: String| Fault {
        line: front.line_of(field),
        field: Some(field),
        message: format!("{field}: {message}"),
        missing: false,
    };
    // A blank scope was taken before there was a contract.
    if field == OUT_OF_SCOPE && list.iter().any(|one| one.trim().is_empty()) {
        return Err(fault(
            "expected patterns of paths, found a blank one".to_owned(),
        ));
    }
    Globs::new(&list).map_err(|failure| fault(failure.message))?;
    Ok(list)
}

/// The sentences that a field lists, without those that are blank.
fn sentences(front: &FrontMatter, field: &'static str) -> std::result::Result<Vec<String>, Fault> {
    let mut list = front.list(field)?;
    list.retain(|one| !one.trim().is_empty());
    Ok(list)
}

/// The paths that a plan lets a build touch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Boundary<'a> {
    /// Empty for all.
    pub within: &'a [String],
    /// Outside of it, whatever `within` has.
    pub without: &'a [String],
}

impl Boundary<'_> {
    /// Every path is within.
    pub fn is_open(&self) -> bool {
        self.within.is_empty() && self.without.is_empty()
    }
}

impl fmt::Display for Boundary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.within {
            [] => f.write_str("everything")?,
            within => f.write_str(&within.join(", "))?,
        }
        match self.without {
            [] => Ok(()),
            without => write!(f, " but {}", without.join(", ")),
        }
    }
}

impl State {
    /// The paths that the plan lets the build touch, as they stood when the build was entered.
    pub fn boundary(&self) -> Boundary<'_> {
        Boundary {
            within: &self.scope,
            without: &self.out_of_scope,
        }
    }
}

/// A boundary that is ready for many paths.
#[derive(Debug, Default)]
pub struct Bounds {
    /// `None` is everything.
    within: Option<Globs>,
    without: Option<Without>,
}

#[derive(Debug)]
struct Without {
    paths: Globs,
    /// The folders that an archive writes to: no plan takes its own result away.
    results: Globs,
}

impl Bounds {
    pub fn new(boundary: Boundary<'_>, policy: &Policy) -> Result<Self> {
        Ok(Bounds {
            within: match boundary.within {
                [] => None,
                within => Some(Globs::new(within)?),
            },
            without: match boundary.without {
                [] => None,
                without => Some(Without {
                    paths: Globs::new(without)?,
                    results: policy.archived()?,
                }),
            },
        })
    }

    /// Every path is within.
    pub fn is_open(&self) -> bool {
        self.within.is_none() && self.without.is_none()
    }

    /// Tells whether a path is within the bounds. `is_free`: policy takes the path whatever the scope is; a path that
    /// the plan itself names as out of scope is not free for that.
    pub fn has(&self, path: &str, is_free: bool) -> bool {
        let is_out =
            |without: &Without| without.paths.matches(path) && !without.results.matches(path);
        !self.without.as_ref().is_some_and(is_out)
            && (is_free
                || self
                    .within
                    .as_ref()
                    .is_none_or(|within| within.matches(path)))
    }
}

/// Words that ask for something to be made anew as a whole.
const ANEW: [&str; 20] = [
    "migrate",
    "migrates",
    "migrated",
    "migrating",
    "rewrite",
    "rewrites",
    "rewriting",
    "rewritten",
    "overhaul",
    "overhauls",
    "overhauling",
    "redesign",
    "redesigns",
    "redesigning",
    "modernize",
    "modernise",
    "rearchitect",
    "re architect",
    "replatform",
    "from scratch",
];
/// Words for all there is.
const ALL: [&str; 9] = [
    "everything",
    "everywhere",
    "whole",
    "entire",
    "entirely",
    "throughout",
    "codebase",
    "code base",
    "across the board",
];
/// Words that mean all of the parts that are named behind them.
const EACH: [&str; 3] = ["all", "every", "each"];
/// Names of parts of the code.
const PARTS: [&str; 28] = [
    "file",
    "files",
    "folder",
    "folders",
    "module",
    "modules",
    "package",
    "packages",
    "crate",
    "crates",
    "service",
    "services",
    "component",
    "components",
    "class",
    "classes",
    "function",
    "functions",
    "caller",
    "callers",
    "client",
    "clients",
    "endpoint",
    "endpoints",
    "repository",
    "repositories",
    "place",
    "places",
];
/// Words of something that has an end by itself.
const NARROW: [&str; 9] = [
    "fix", "fixes", "fixed", "fixing", "bug", "bugs", "typo", "typos", "revert",
];

/// The words of a request by which it is broad; none where it has an end by itself. Words for all there is count where
/// the request names no file and mends nothing.
pub fn broad(request: &str) -> Vec<String> {
    let spoken = words(request);
    if spoken.first().is_some_and(|word| word == "revert") {
        return Vec::new();
    }
    let mut found = said(&spoken, &ANEW);
    if said(&spoken, &NARROW).is_empty() && !names_file(request) {
        found.extend(said(&spoken, &ALL));
        found.extend(each_part(&spoken));
    }
    found
}

/// `all ... files`: at most one word stands between.
fn each_part(spoken: &[String]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for (at, word) in spoken.iter().enumerate() {
        let behind = spoken.iter().skip(at + 1).take(2);
        let part = behind
            .into_iter()
            .find(|part| PARTS.contains(&part.as_str()));
        if let Some(part) = part.filter(|_| EACH.contains(&word.as_str())) {
            let said = format!("{word} {part}");
            if !found.contains(&said) {
                found.push(said);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{Bounds, Contract, broad};
    use crate::policy::Policy;

    #[test]
    fn chain_c4_a_request_is_broad_by_its_whole_words() {
        for (request, found) in [
            ("migrate everything", &["migrate", "everything"][..]),
            (
                "Rewrite the parser from scratch",
                &["rewrite", "from scratch"],
            ),
            ("Rename it in all source files", &["all files"]),
            (
                "every module, and all modules",
                &["all modules", "every module"],
            ),
            ("Format the entire codebase", &["entire", "codebase"]),
            // Whoever mends something, or names the file, has an end in sight.
            ("fix typo in x", &[]),
            ("Fix the whole layout", &[]),
            ("Sort everything in src/list.rs", &[]),
            ("Rewrite src/list.rs", &["rewrite"]),
            ("Revert \"Migrate everything\"", &[]),
            // No words of these lists.
            ("End all idle sessions after ten minutes", &[]),
            ("Add a migration for the users", &[]),
            ("Show the wholesale price of each article", &[]),
            ("", &[]),
        ] {
            let mut words = broad(request);
            words.sort();
            let mut found: Vec<&str> = found.to_vec();
            found.sort_unstable();
            assert_eq!(words, found, "{request}");
        }
    }

    #[test]
    fn a_contract_is_read_from_the_fields_of_a_plan() {
        let plan = "---\nscope: [\"src/**\"]\nout_of_scope:\n  - src/gen/**\nconstraints: [No new crate, \"\"]\ndefinition_of_done: The old API is gone\n---\n# P\n";
        let read = Contract::read(plan).expect("a contract");
        assert_eq!(read.out_of_scope, ["src/gen/**"]);
        assert_eq!(read.constraints, ["No new crate"]);
        assert_eq!(read.definition_of_done, ["The old API is gone"]);
        assert!(read.missing().is_empty());
        assert_eq!(read.boundary().to_string(), "src/** but src/gen/**");
        let written = read.written_into("---\nscope: []\n---\n# Q\n");
        assert!(written.ends_with("---\n# Q\n"), "{written}");
        let blank = "---\nscope: []\nout_of_scope: [\"\"]\n---\n# P\n";
        let fault = Contract::read(blank).expect_err("a fault");
        assert_eq!(fault.field, Some("out_of_scope"));
        assert_eq!(Contract::read(&written).expect("a contract"), read);
        let none = Contract::read("# P\n").expect("a contract");
        assert!(none.is_empty());
        assert_eq!(
            none.missing(),
            ["scope or out_of_scope", "constraints", "definition_of_done"]
        );
        let fault = Contract::read("---\nscope: []\nout_of_scope: [\"a[\"]\n---\n");
        let fault = fault.expect_err("a pattern");
        assert_eq!((fault.line, fault.field), (3, Some("out_of_scope")));
    }

    #[test]
    fn what_a_plan_names_as_out_of_scope_is_out_though_policy_frees_it_but_for_what_an_archive_writes()
     {
        let contract = |plan: &str| Contract::read(plan).expect("a contract");
        let policy = Policy::default();
        let within = |plan: &str, path: &str, is_free| {
            let contract = contract(plan);
            let bounds = Bounds::new(contract.boundary(), &policy).expect("bounds");
            bounds.has(path, is_free)
        };
        let out = "---\nout_of_scope: [src/gen, docs, specs]\n---\n";
        for (path, is_free, wanted) in [
            ("src/a.rs", false, true),
            ("src/gen/a.rs", false, false),
            ("docs/a.md", true, false),
            ("docs/adr/0001-x.md", true, true),
            ("specs/a/spec.md", true, true),
        ] {
            assert_eq!(within(out, path, is_free), wanted, "{path}");
        }
        let both = "---\nscope: [\"src/**\"]\nout_of_scope: [\"src/gen/**\"]\n---\n";
        assert!(within(both, "src/a.rs", false));
        assert!(!within(both, "src/gen/a.rs", false));
        assert!(!within(both, "lib/a.rs", false) && within(both, "lib/a.rs", true));
        assert!(within("", "lib/a.rs", false));
    }
}
