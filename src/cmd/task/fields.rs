//! The fields of a task as options of the command line.

use clap::builder::PossibleValuesParser;
use loopx_base::failure::{Code, Failure, Result};
use loopx_rules::task::condition;
use loopx_rules::task::file::edit::{Change, Place};
use loopx_rules::task::file::{EFFORTS, STAGES, TYPES, priorities};
use loopx_rules::task::node::{NodeKind, Risk, TaskId};
use loopx_rules::task::world::Condition;
use serde_json::{Value, json};

/// The fields of a task. An option that can be given several times replaces all that was said by it.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct FieldArgs {
    /// What has to be done, in more words than the title
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// What kind of node it is
    #[arg(long, value_name = "WORD", value_parser = PossibleValuesParser::new(NodeKind::WORDS))]
    kind: Option<String>,
    /// The type of work; the type of the commit follows from it
    #[arg(long = "type", value_name = "WORD", value_parser = PossibleValuesParser::new(TYPES))]
    work: Option<String>,
    /// The priority: how soon the task is taken
    #[arg(long, value_name = "WORD", value_parser = PossibleValuesParser::new(priorities()))]
    priority: Option<String>,
    /// The effort
    #[arg(long, value_name = "WORD", value_parser = PossibleValuesParser::new(EFFORTS))]
    effort: Option<String>,
    /// The size beside the other tasks, in points: `pipeline ledger` and `pipeline retro` add the points up
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    points: Option<u64>,
    /// The role that does the task (default: anybody)
    #[arg(long, value_name = "ROLE")]
    role: Option<String>,
    /// The domain of the task: the part of the work that it belongs to; see `task domain`
    #[arg(long, value_name = "DOMAIN")]
    domain: Option<String>,
    /// How likely others change the same files
    #[arg(long, value_name = "WORD", value_parser = PossibleValuesParser::new(Risk::WORDS))]
    conflict_risk: Option<String>,
    /// The stage that waits for it (default: build)
    #[arg(long, value_name = "STAGE", value_parser = PossibleValuesParser::new(STAGES))]
    stage: Option<String>,
    /// The task that this task is a part of
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
    /// A task that this task waits for
    #[arg(long, value_name = "ID")]
    depends_on: Vec<String>,
    /// A task that this task waits for, unless that task is skipped
    #[arg(long, value_name = "ID")]
    optional: Vec<String>,
    /// A task that a decision judges
    #[arg(long, value_name = "ID")]
    judges: Vec<String>,
    /// The whole gate of a decision or a goal (judges, rubric, outcomes, cap, repair, ...) as one JSON object
    #[arg(long, value_name = "JSON", value_parser = object, conflicts_with = "judges")]
    gate: Option<Value>,
    /// Something outside of the list that it waits for: merged=COMMIT@BRANCH, path=PATH@BRANCH, session=NAME@STAGE,
    /// time=TIME, evidence=NAME (a passing run; @ROLE by whom) or person=NAME; repeat it
    #[arg(long, value_name = "CONDITION", value_parser = condition::read)]
    until: Vec<Condition>,
    /// A time that it waits for, like 2026-12-01T00:00:00Z
    #[arg(long, hide = true, value_name = "TIME")]
    wait_time: Vec<String>,
    /// A commit on a branch that it waits for
    #[arg(long, hide = true, value_name = "BRANCH:COMMIT", value_parser = pair)]
    wait_commit: Vec<Pair>,
    /// A path on a branch that it waits for
    #[arg(long, hide = true, value_name = "BRANCH:PATH", value_parser = pair)]
    wait_path: Vec<Pair>,
    /// A passing run that it waits for: of a task or of a kind, by anybody or by a role
    #[arg(long, hide = true, value_name = "NAME[:ROLE]")]
    wait_evidence: Vec<String>,
    /// Another session that it waits for, like docs:archived
    #[arg(long, hide = true, value_name = "ID:STAGE", value_parser = pair)]
    wait_session: Vec<Pair>,
    /// A person whose word it waits for, or `any`
    #[arg(long, hide = true, value_name = "PERSON")]
    wait_person: Vec<String>,
    /// The skill by which the task is done
    #[arg(long, value_name = "NAME")]
    skill: Option<String>,
    /// What the skill is given, with placeholders like {phase}
    #[arg(long, value_name = "TEXT")]
    args: Option<String>,
    /// A document that has to be read first
    #[arg(long, value_name = "PATH")]
    read: Vec<String>,
    /// A file that the task has to leave
    #[arg(long, value_name = "PATH")]
    output: Vec<String>,
    /// Something that only one task can have at a time
    #[arg(long, value_name = "NAME")]
    exclusive: Vec<String>,
    /// A file that the task touches
    #[arg(long, value_name = "PATH")]
    file: Vec<String>,
    /// A scenario of the delta that it proves: domain/Requirement/Scenario
    #[arg(long, value_name = "NAME")]
    scenario: Vec<String>,
    /// A criterion: what holds when the task is done; one to five
    #[arg(long, value_name = "TEXT")]
    criterion: Vec<String>,
    /// What people have once the task is done
    #[arg(long, value_name = "TEXT")]
    definition_of_done: Option<String>,
    /// The failed attempts after which a person decides (default: 3)
    #[arg(long, value_name = "N")]
    cap: Option<u32>,
    /// The time limit of the check
    #[arg(long, value_name = "SECONDS")]
    time_limit: Option<u32>,
    /// What holds when a goal is met
    #[arg(long, value_name = "TEXT")]
    done_when: Option<String>,
    /// What a person looks at to see that it is done
    #[arg(long, value_name = "TEXT", conflicts_with = "command")]
    manual: Option<String>,
    /// Why, for the record
    #[arg(long, value_parser = crate::cmd::reason, value_name = "TEXT")]
    pub reason: Option<String>,
    /// The command whose success shows that it is done, after `--`
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl FieldArgs {
    /// The fields that are given, in the order in which a new line has them.
    pub(crate) fn changes(&self) -> Result<Vec<Change>> {
        let text = |text: &Option<String>| text.as_ref().map(|text| json!(text));
        let list = |list: &[String]| (!list.is_empty()).then(|| json!(list));
        let files: Vec<String> = self.file.iter().map(|path| from_top(path)).collect();
        let reads: Vec<String> = self.read.iter().map(|path| from_top(path)).collect();
        let verification = match &self.manual {
            Some(what) => Some(json!({"manual": what})),
            None => list(&self.command).map(|argv| json!({"cmd": argv})),
        };
        let given: [(&'static str, Option<Value>); 28] = [
            ("description", text(&self.description)),
            ("kind", text(&self.kind)),
            ("type", text(&self.work)),
            ("priority", text(&self.priority)),
            ("effort", text(&self.effort)),
            ("points", self.points.map(|points| json!(points))),
            ("role", text(&self.role)),
            ("domain", text(&self.domain)),
            ("conflict_risk", text(&self.conflict_risk)),
            ("reads", list(&reads)),
            ("skill", text(&self.skill)),
            ("args", text(&self.args)),
            ("stage", text(&self.stage)),
            ("parent", text(&self.parent)),
            ("depends_on", self.edges()?),
            ("waits", self.waits()),
            ("files", list(&files)),
            ("exclusive", list(&self.exclusive)),
            ("outputs", list(&self.output)),
            ("cap", self.cap.map(|cap| json!(cap))),
            ("time_limit", self.time_limit.map(|limit| json!(limit))),
            ("gate", self.gate.clone()),
            ("gate.judges", list(&self.judges)),
            ("scenarios", list(&self.scenario)),
            ("convergence.criteria", list(&self.criterion)),
            ("convergence.verification", verification),
            (
                "convergence.definition_of_done",
                text(&self.definition_of_done),
            ),
            ("done_when", text(&self.done_when)),
        ];
        let given = given.into_iter().filter(|(_, value)| value.is_some());
        Ok(given
            .map(|(field, value)| Change { field, value })
            .collect())
    }
}

impl FieldArgs {
    /// Edges of a task in the list; nothing where no task is given.
    fn edges(&self) -> Result<Option<Value>> {
        let is_given = |id: &&String| {
            let mut others = self.depends_on.iter();
            others.any(|other| other.eq_ignore_ascii_case(id))
        };
        if let Some(id) = self.optional.iter().find(is_given) {
            let message = format!(
                "expected {id} with --depends-on or with --optional, which also lets a skip pass; found both"
            );
            return Err(Failure::usage(Code::TaskListInvalid, message));
        }
        let optional = |id: &String| json!({ "id": id, "optional": true });
        let all = self.depends_on.iter().map(|id| json!(id));
        let all: Vec<Value> = all.chain(self.optional.iter().map(optional)).collect();
        Ok((!all.is_empty()).then(|| json!(all)))
    }

    /// Conditions outside of the list that a task waits for; nothing where no condition is given.
    fn waits(&self) -> Option<Value> {
        let until = self.until.iter();
        let until = until.filter_map(|one| serde_json::to_value(one).ok());
        let pairs = |all: &[Pair], first: &str, second: &str| -> Vec<Value> {
            let condition = |pair: &Pair| json!({ first: pair.0, second: pair.1 });
            all.iter().map(condition).collect()
        };
        let single = |all: &[String], name: &str| -> Vec<Value> {
            all.iter().map(|value| json!({ name: value })).collect()
        };
        let evidence = |text: &String| match text.split_once(':') {
            Some((name, role)) => json!({ "evidence": name, "role": role }),
            None => json!({ "evidence": text }),
        };
        let all = [
            until.collect(),
            single(&self.wait_time, "time"),
            pairs(&self.wait_commit, "branch", "contains"),
            pairs(&self.wait_path, "branch", "path"),
            self.wait_evidence.iter().map(evidence).collect(),
            pairs(&self.wait_session, "session", "stage"),
            single(&self.wait_person, "person"),
        ]
        .concat();
        (!all.is_empty()).then(|| json!(all))
    }
}

/// A path as the list names it, which a shell completes with `./` before it.
fn from_top(path: &str) -> String {
    let mut rest = path;
    while let Some(shorter) = rest.strip_prefix("./") {
        rest = shorter.trim_start_matches('/');
    }
    let rest = if rest.is_empty() { path } else { rest };
    rest.to_owned()
}

/// Reads a JSON object; what it may hold the list itself says.
fn object(text: &str) -> std::result::Result<Value, String> {
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(Value::Object(object)),
        Ok(_) => Err(format!(
            "expected a JSON object like {{\"judges\":[\"T-1\"]}}, found `{text}`"
        )),
        Err(error) => Err(format!(
            "expected a JSON object like {{\"judges\":[\"T-1\"]}}: {error}"
        )),
    }
}

/// Two words with a colon between them.
#[derive(Clone, Debug)]
pub(super) struct Pair(pub(super) String, pub(super) String);

/// Reads two words; no branch and no session has a colon in its name.
pub(super) fn pair(text: &str) -> std::result::Result<Pair, String> {
    match text.split_once(':') {
        Some((first, second)) if !first.is_empty() && !second.is_empty() => {
            Ok(Pair(first.to_owned(), second.to_owned()))
        }
        _ => Err(format!(
            "expected two words with `:` between them, found `{text}`"
        )),
    }
}

/// Where a task stands among the others.
#[derive(Debug, Default, clap::Args)]
#[group(multiple = false)]
pub(crate) struct PlaceArgs {
    /// Before this task
    #[arg(long, value_name = "ID")]
    before: Option<String>,
    /// Behind this task
    #[arg(long, value_name = "ID")]
    after: Option<String>,
    /// Before all others
    #[arg(long)]
    first: bool,
    /// Behind all others
    #[arg(long)]
    last: bool,
}

impl PlaceArgs {
    /// `None` where nobody said it.
    pub(crate) fn place(&self) -> Result<Option<Place>> {
        let PlaceArgs {
            before,
            after,
            first,
            last,
        } = self;
        Ok(match (before, after, first, last) {
            (Some(id), ..) => Some(Place::Before(task_id(id)?)),
            (_, Some(id), ..) => Some(Place::After(task_id(id)?)),
            (_, _, true, _) => Some(Place::First),
            (_, _, _, true) => Some(Place::End),
            _ => None,
        })
    }
}

pub(crate) fn task_id(text: &str) -> Result<TaskId> {
    TaskId::parse(text).ok_or_else(|| {
        Failure::not_found(
            Code::TaskUnknown,
            format!("expected the id of a task, found {text:?}"),
        )
    })
}
