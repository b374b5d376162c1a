//! Position where a pipeline begins: behind the last of its stages whose result the session has already. A parameter
//! that says `position = true` names the stages in their order; whoever gives a value says so themselves.

use super::Pipeline;
use super::definition::{OfRoadmap, Param};
use crate::issue::IssueId;
use serde::Serialize;

/// A value that was found, and by what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Position {
    pub param: String,
    pub value: String,
    /// The result that is there: a file, or a task that is done.
    pub found: String,
}

impl Position {
    /// Reason for the value, in a sentence.
    pub fn because(&self) -> String {
        format!("{} is {}: {} is there", self.param, self.value, self.found)
    }
}

/// A result that a session has.
#[derive(Clone, Copy, Debug)]
pub enum Result<'r> {
    /// A file of a task: `tasks/<id>/<stage>.md`.
    File(&'r str),
    /// A task that is done.
    Task(&'r str),
    /// A roadmap of the backlog that the session is in, by its name.
    Roadmap(&'r str),
}

/// Names that the roadmap gives a session that is in it.
#[derive(Clone, Copy, Debug)]
pub struct InRoadmap<'r> {
    /// The name of the roadmap.
    pub name: &'r str,
    pub phase: Option<&'r str>,
    pub milestone: Option<&'r str>,
}

impl InRoadmap<'_> {
    fn value(&self, of: OfRoadmap) -> Option<&str> {
        match of {
            OfRoadmap::Phase => self.phase,
            OfRoadmap::Milestone => self.milestone,
        }
    }
}

impl Result<'_> {
    /// Tells whether the result is a stage's: a file of its name, or a task of its name, whatever was put before it.
    fn is_of(&self, stage: &str) -> bool {
        match self {
            Result::File(path) => {
                let name = path.rsplit('/').next().unwrap_or_default();
                name.strip_suffix(".md") == Some(stage)
            }
            Result::Task(id) => {
                let before = id.strip_suffix(stage);
                before.is_some_and(|before| before.is_empty() || before.ends_with(['-', '.', '_']))
            }
            Result::Roadmap(_) => stage == "roadmap",
        }
    }

    fn words(&self) -> String {
        match self {
            Result::File(path) => (*path).to_owned(),
            Result::Task(id) => format!("the result of {id}"),
            Result::Roadmap(name) => format!("the roadmap {name}"),
        }
    }
}

/// The values of the parameters that stand for the issues that a session was started for.
pub fn of_issues(
    pipeline: &Pipeline,
    given: &[(String, String)],
    issues: &[IssueId],
) -> Vec<Position> {
    if issues.is_empty() {
        return Vec::new();
    }
    let ids: Vec<String> = issues.iter().map(ToString::to_string).collect();
    let ids = ids.join(", ");
    let params = pipeline
        .whole
        .params
        .iter()
        .filter(|(_, param)| param.issue);
    let open = params.filter(|(name, _)| !given.iter().any(|(given, _)| given == *name));
    let position = |name: &String| Position {
        param: name.clone(),
        value: ids.clone(),
        found: "the issue of the session".to_owned(),
    };
    open.map(|(name, _)| position(name)).collect()
}

/// The values of the parameters that follow from what the session has. `given` are those that somebody gave.
pub fn positions(
    pipeline: &Pipeline,
    given: &[(String, String)],
    has: &[Result<'_>],
    roadmap: Option<InRoadmap<'_>>,
) -> Vec<Position> {
    let params = pipeline.whole.params.iter();
    let open = params.filter(|(name, _)| !given.iter().any(|(given, _)| given == *name));
    let value = |name: &str| {
        let mut given = given.iter();
        let own = given.find(|(one, _)| one == name).map(|(_, value)| value);
        own.or(pipeline.whole.params.get(name)?.default.as_ref())
            .map(String::as_str)
    };
    let is_settled = |param: &Param| param.instead.iter().any(|one| one.holds(value));
    let of_roadmap = open.clone().filter_map(|(name, param)| {
        let roadmap = roadmap.filter(|_| !is_settled(param))?;
        Some(Position {
            param: name.clone(),
            value: roadmap.value(param.roadmap?)?.to_owned(),
            found: Result::Roadmap(roadmap.name).words(),
        })
    });
    let found = open
        .filter(|(_, param)| param.position)
        .filter_map(|(name, param)| {
            // A longer name first: `analyze` is no look at the whole, and `test` no test of the business.
            let stage_of = |one: &Result<'_>| {
                let own = param.values.iter().enumerate();
                let own = own.filter(|(_, stage)| one.is_of(stage));
                own.max_by_key(|(_, stage)| stage.len()).map(|(at, _)| at)
            };
            let last = has.iter().filter_map(|one| Some((stage_of(one)?, one)));
            let (at, one) = last.max_by_key(|(at, _)| *at)?;
            let value = param.values.get(at + 1).or(param.values.get(at))?;
            Some(Position {
                param: name.clone(),
                value: value.clone(),
                found: one.words(),
            })
        });
    found.chain(of_roadmap).collect()
}

#[cfg(test)]
mod tests {
    use super::{InRoadmap, Result, of_issues, positions};
    use crate::pipeline::{Given, Pipeline, values};

    fn start(has: &[Result<'_>]) -> Option<String> {
        let chain = Pipeline::built_in("chain").expect("it is known");
        let chain = chain.expect("it can be read");
        let found = positions(&chain, &[], has, None);
        found
            .first()
            .map(|one| format!("{} by {}", one.value, one.found))
    }

    #[test]
    fn the_issue_of_a_session_is_a_parameter_where_nobody_gives_another() {
        let issue = crate::issue::IssueId::parse("lx-000000007k").expect("an id");
        let sprint = Pipeline::built_in("sprint").expect("it is known");
        let sprint = sprint.expect("it can be read");
        let of =
            |given: &[(String, String)]| of_issues(&sprint, given, std::slice::from_ref(&issue));
        let found = of(&[]);
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].param.as_str(), found[0].value.as_str()),
            ("issue_id", "lx-000000007k")
        );
        assert!(of(&[("issue_id".to_owned(), "lx-2".to_owned())]).is_empty());
        assert!(of_issues(&sprint, &[], &[]).is_empty());
    }

    #[test]
    fn the_chain_begins_behind_the_last_result_of_the_session() {
        for (has, wanted) in [
            (vec![], None),
            (vec![Result::File("tasks/x/notes.md")], None),
            (
                vec![Result::File("tasks/brainstorm/brainstorm.md")],
                Some("blueprint by tasks/brainstorm/brainstorm.md"),
            ),
            (
                vec![
                    Result::File("tasks/plan/plan.md"),
                    Result::File("tasks/analyze/analyze.md"),
                ],
                Some("execute by tasks/plan/plan.md"),
            ),
            (
                vec![Result::Task("first-analyze-macro")],
                Some("roadmap by the result of first-analyze-macro"),
            ),
            (
                vec![Result::Task("first-analyze-macro"), Result::Roadmap("lx-7")],
                Some("analyze by the roadmap lx-7"),
            ),
            (
                vec![Result::Roadmap("lx-7"), Result::Task("plan")],
                Some("execute by the result of plan"),
            ),
            (
                vec![Result::Task("execute")],
                Some("verify by the result of execute"),
            ),
            (vec![Result::Task("replan")], None),
            (
                vec![Result::Task("verify")],
                Some("verify by the result of verify"),
            ),
        ] {
            assert_eq!(start(&has).as_deref(), wanted, "{has:?}");
        }
        let given = [("start".to_owned(), "init".to_owned())];
        let chain = Pipeline::built_in("chain")
            .expect("it is known")
            .expect("it can be read");
        assert!(positions(&chain, &given, &[Result::Task("plan")], None).is_empty());
    }
    #[test]
    fn phase_and_milestone_of_the_chain_are_those_of_the_roadmap_where_nobody_gives_others() {
        let chain = Pipeline::built_in("chain");
        let chain = chain.expect("it is known").expect("it can be read");
        let roadmap = InRoadmap {
            name: "lx-7",
            phase: Some("2"),
            milestone: None,
        };
        let given = [("start".to_owned(), "init".to_owned())];
        let found = positions(&chain, &given, &[], Some(roadmap));
        let words: Vec<String> = found.iter().map(super::Position::because).collect();
        assert_eq!(words, ["phase is 2: the roadmap lx-7 is there"]);
        let phase = [given[0].clone(), ("phase".to_owned(), "3".to_owned())];
        assert!(positions(&chain, &phase, &[], Some(roadmap)).is_empty());
        // What is planned at once is planned for no phase alone.
        let unified = [
            given[0].clone(),
            ("planning".to_owned(), "unified".to_owned()),
        ];
        assert!(positions(&chain, &unified, &[], Some(roadmap)).is_empty());
        for (params, wanted) in [
            (&given[..], "none"),
            (&unified[..], "all of the milestone"),
            (&[unified[1].clone(), phase[1].clone()][..], "3"),
        ] {
            let mut params = params.to_vec();
            params.push(("check".to_owned(), "true".to_owned()));
            let given = Given {
                session: "s",
                intent: "i",
                params: &params,
            };
            let values = values(&chain, &given).expect("values");
            assert_eq!(values["phase"], wanted, "{params:?}");
        }
    }
}
