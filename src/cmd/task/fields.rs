//! The fields of a task as options of the command line.

use crate::core::failure::{Code, Failure, Result};
use crate::core::task::file::edit::{Change, Place};
use crate::core::task::node::TaskId;
use serde_json::{Value, json};

/// The fields of a task. An option that can be given several times replaces the whole list.
#[derive(Debug, Default, clap::Args)]
pub struct FieldArgs {
    /// What has to be done, in more words than the title
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// work, decision, checkpoint or goal
    #[arg(long, value_name = "WORD")]
    kind: Option<String>,
    /// feature, enhancement, fix, refactor, testing, infrastructure, docs or chore
    #[arg(long = "type", value_name = "WORD")]
    work: Option<String>,
    /// critical, high, medium, low or backlog
    #[arg(long, value_name = "WORD")]
    priority: Option<String>,
    /// small, medium or large
    #[arg(long, value_name = "WORD")]
    effort: Option<String>,
    /// Who does it, where only some may
    #[arg(long, value_name = "ROLE")]
    role: Option<String>,
    /// The stage that waits for it (default: build)
    #[arg(long, value_name = "STAGE")]
    stage: Option<String>,
    /// The task that it is a part of
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
    /// A task that it waits for
    #[arg(long, value_name = "ID")]
    depends_on: Vec<String>,
    /// A file that it touches
    #[arg(long, value_name = "PATH")]
    file: Vec<String>,
    /// A scenario of the delta that it proves: domain/Requirement/Scenario
    #[arg(long, value_name = "NAME")]
    scenario: Vec<String>,
    /// What holds when it is done; one to five
    #[arg(long, value_name = "TEXT")]
    criterion: Vec<String>,
    /// What a person looks at to see that it is done
    #[arg(long, value_name = "TEXT", conflicts_with = "command")]
    manual: Option<String>,
    /// Why, for the record
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// The command whose success shows that it is done, after `--`
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl FieldArgs {
    /// The fields that are given, in the order in which a new line has them.
    pub fn changes(&self) -> Vec<Change> {
        let text = |text: &Option<String>| text.as_ref().map(|text| json!(text));
        let list = |list: &[String]| (!list.is_empty()).then(|| json!(list));
        let verification = match &self.manual {
            Some(what) => Some(json!({"manual": what})),
            None => list(&self.command).map(|argv| json!({"cmd": argv})),
        };
        let given: [(&'static str, Option<Value>); 13] = [
            ("description", text(&self.description)),
            ("kind", text(&self.kind)),
            ("type", text(&self.work)),
            ("priority", text(&self.priority)),
            ("effort", text(&self.effort)),
            ("role", text(&self.role)),
            ("stage", text(&self.stage)),
            ("parent", text(&self.parent)),
            ("depends_on", list(&self.depends_on)),
            ("files", list(&self.file)),
            ("scenarios", list(&self.scenario)),
            ("convergence.criteria", list(&self.criterion)),
            ("convergence.verification", verification),
        ];
        let given = given.into_iter().filter(|(_, value)| value.is_some());
        given
            .map(|(field, value)| Change { field, value })
            .collect()
    }
}

/// Where a task stands among the others.
#[derive(Debug, Default, clap::Args)]
#[group(multiple = false)]
pub struct PlaceArgs {
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
    pub fn place(&self) -> Result<Option<Place>> {
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

pub fn task_id(text: &str) -> Result<TaskId> {
    TaskId::parse(text).ok_or_else(|| {
        Failure::not_found(
            Code::TaskUnknown,
            format!("expected the id of a task, found {text:?}"),
        )
    })
}
