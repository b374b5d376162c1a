//! The start of a pipeline: its tasks with the values that were given and found, as lines of the list of a session.

use super::{By, Picked, intent, invalid, listed_tasks, packages, picked, source};
use crate::flow::context::Context;
use crate::flow::issue::roadmap;
use crate::flow::issue::roadmap::InRoadmap as Standing;
use crate::flow::prompts::Prompted;
use crate::flow::skills::Skills;
use crate::flow::task_list::{self, Changed};
use crate::flow::transaction::texts_here;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use loopx_base::id::SessionId;
use loopx_base::shell_word;
use loopx_rules::artifact::Artifact;
use loopx_rules::pipeline::{
    Choice, Expanded, Given, Ground, HasResult, InRoadmap, ParamKind, Pipeline, Position,
    SprintSize, Team, expand, lint, of_issues, positions, skill_names, values,
};
use loopx_rules::session::State;
use loopx_rules::task::file;
use loopx_rules::task::node::{Node, NodeKind, OnComplete, TaskId, Verification};
use loopx_rules::task::status::Status;
use loopx_spec::{Finding, has_errors};
use serde::Serialize;
use std::collections::BTreeMap;

/// Arguments of `pipeline start`.
#[derive(Clone, Debug, Default)]
pub(crate) struct StartRequest {
    /// The pipeline; else the one that the request asks for.
    pub name: Option<String>,
    /// Request in words; the session's intent where nothing is said.
    pub request: Option<String>,
    pub params: Vec<(String, String)>,
    pub prefix: String,
    /// Pipelines among which the request chooses, where none is named.
    pub by: By,
    pub on_complete: Option<OnComplete>,
    pub reason: Option<String>,
    /// Mark of a dry run, which writes nothing; the commands that a refusal names write nothing either.
    pub dry_run: bool,
}

/// Addition of a pipeline to a list of tasks.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Plan {
    pub session: SessionId,
    pub pipeline: String,
    /// Reason for this pipeline, where the request chose it.
    pub chosen: Option<Choice>,
    /// Reason for this one of the pipelines of sprints.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sprint: Option<SprintSize>,
    /// Team that was made for the request, and the reason for this team.
    pub team: Option<Team>,
    /// Fate of the session once its tasks are done.
    pub on_complete: OnComplete,
    /// Values that follow from what the session has.
    pub positions: Vec<Position>,
    /// Place of the session in a roadmap, where the session has one.
    pub roadmap: Option<Standing>,
    /// Values that the pipeline starts with.
    pub params: BTreeMap<String, String>,
    /// Number of tasks that somebody does.
    pub tasks: usize,
    /// The number of decisions and checkpoints beside them.
    pub gates: usize,
    /// Ids that the pipeline adds, decisions and checkpoints among them.
    pub ids: Vec<String>,
    pub left_out: Vec<String>,
    /// Skills by which the tasks are done, and that nobody can follow on this machine.
    pub skills_missing: Vec<String>,
    /// Remarks on the roles that the list has with the pipeline in it.
    pub roles: Vec<Finding>,
    /// Commands that the tasks of the pipeline would run.
    pub commands: Vec<String>,
    pub lines: Vec<String>,
}

/// The lines that a pipeline would add to the list of the session that is meant.
pub(crate) fn plan(ctx: &Context, request: &StartRequest) -> Result<Plan> {
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let state = ctx.session(&snapshot)?.state;
    task_list::require_open(&state)?;
    made(ctx, &state, request)
}

fn made(ctx: &Context, state: &State, request: &StartRequest) -> Result<Plan> {
    let tree = source(ctx)?.tree;
    let packages = packages(ctx, tree.as_ref());
    let intent = match &request.request {
        Some(text) => text.clone(),
        None => intent(&ctx.repo, state)?,
    };
    let intent = intent.as_str();
    let Picked {
        mut pipeline,
        chosen,
        team,
        sprint,
    } = picked(ctx, state, request, (intent, &packages))?;
    if request.on_complete.is_some() {
        pipeline.whole.on_complete = request.on_complete;
    }
    let findings = lint(&pipeline);
    if has_errors(&findings) {
        return Err(invalid(&pipeline.name, &findings));
    }
    let asked = Asked {
        request,
        pipeline: &pipeline,
    };
    asked.require_values()?;
    let standing = roadmap::standing(ctx, state, intent)?;
    let positions = asked.positions(state, standing.as_ref());
    let found = positions.iter();
    let found = found.map(|one| (one.param.clone(), one.value.clone()));
    let params: Vec<(String, String)> = request.params.iter().cloned().chain(found).collect();
    let given = Given {
        session: state.id.as_str(),
        intent,
        params: &params,
    };
    let values = values(&pipeline, &given).map_err(|why| asked.refused(why))?;
    let has = |path: &str| match &tree {
        Some(tree) => matches!(ctx.repo.entry_at(tree, path), Ok(Some(_))),
        None => false,
    };
    require_files(ctx, state, &pipeline, &values, &has).map_err(|why| asked.refused(why))?;
    let depends = |name: &str| packages.iter().any(|known| known == name);
    let ground = Ground {
        has: &has,
        depends: &depends,
    };
    let expanded = expand(&pipeline, &values, &request.prefix, Some(&ground));
    let added = nodes(&expanded)?;
    let is_work = |node: &&Node| node.kind == NodeKind::Work;
    let tasks = added.iter().filter(is_work).count();
    let before = listed_tasks(ctx, state)?;
    let params = pipeline.whole.params.keys();
    let params = params.filter_map(|name| Some((name.clone(), values.get(name)?.clone())));
    Ok(Plan {
        session: state.id.clone(),
        chosen,
        team,
        sprint,
        on_complete: pipeline.on_complete(),
        positions,
        roadmap: standing,
        params: params.collect(),
        tasks,
        gates: added.len() - tasks,
        ids: expanded.lines.iter().map(|line| line.id.clone()).collect(),
        left_out: expanded.left_out,
        roles: Prompted::here(ctx).new_findings(&[before.as_slice(), &added].concat(), &before),
        skills_missing: skills_missing(ctx, &pipeline),
        commands: commands(&added),
        lines: expanded.lines.into_iter().map(|line| line.text).collect(),
        pipeline: pipeline.name,
    })
}

/// Start that somebody asks for, with the pipeline that was found for it.
struct Asked<'a> {
    request: &'a StartRequest,
    pipeline: &'a Pipeline,
}

impl Asked<'_> {
    /// Refusal of the values of a start, with the command that gives the missing ones.
    fn refused(&self, why: String) -> Failure {
        let Asked { request, pipeline } = *self;
        let name = &pipeline.name;
        let is_given = |name: &String| {
            let mut given = request.params.iter();
            given.any(|(one, value)| one == name && value != PLACE)
        };
        let params = pipeline.whole.params.iter();
        let missing: Vec<String> = params
            .filter(|(name, param)| param.default.is_none() && !is_given(name))
            .map(|(name, _)| format!("{name}={PLACE}"))
            .collect();
        let failure = Failure::usage(Code::PipelineParam, why);
        let params = missing.join(" --param ");
        // What the pipeline does not know is not typed again.
        let mut known = request.clone();
        known
            .params
            .retain(|(name, value)| pipeline.whole.params.contains_key(name) && value != PLACE);
        let given = words_given(&known);
        let is_team = request.name.is_none() && request.by == By::Team;
        failure.help(match (missing.is_empty(), is_team) {
            (true, true) => command!("pipeline start --team --dry-run"),
            (true, false) => command!("pipeline show {name}"),
            (false, true) => command!("pipeline start --team --param {params}{given}"),
            (false, false) => command!("pipeline start {name} --param {params}{given}"),
        })
    }

    /// Refuses a start that gives the place of a value instead of a value.
    fn require_values(&self) -> Result<()> {
        let mut given = self.request.params.iter();
        let Some((name, _)) = given.find(|(_, value)| value == PLACE) else {
            return Ok(());
        };
        let about = self.pipeline.whole.params.get(name);
        let about = about
            .map(|param| &param.about)
            .filter(|about| !about.is_empty());
        let about = about.map_or_else(String::new, |about| format!(" ({about})"));
        Err(self.refused(format!(
            "expected a value of `{name}`{about}, found the placeholder `{PLACE}`"
        )))
    }

    /// Values that follow from what the session has, and from its place in a roadmap.
    fn positions(&self, state: &State, standing: Option<&Standing>) -> Vec<Position> {
        let given = self.request.params.as_slice();
        let has: Vec<HasResult<'_>> = (results(state).into_iter())
            .chain(standing.map(|one| HasResult::Roadmap(&one.short)))
            .collect();
        let in_roadmap = standing.map(|one| InRoadmap {
            name: &one.short,
            phase: one.phase.as_deref(),
            milestone: one.milestone.as_deref(),
        });
        let mut found = positions(self.pipeline, given, &has, in_roadmap);
        found.extend(of_issues(self.pipeline, given, &state.issues));
        found
    }
}

/// The tasks that the lines of a pipeline make.
fn nodes(expanded: &Expanded) -> Result<Vec<Node>> {
    let lines = expanded.lines.iter();
    let text: Vec<&str> = lines.map(|line| line.text.as_str()).collect();
    let read = file::read(&text.join("\n"));
    let read = read.map_err(|findings| task_list::invalid(&findings, "would be"))?;
    Ok(read.nodes)
}

/// The commands by which tasks, and the repairs of their gates, are checked.
fn commands(nodes: &[Node]) -> Vec<String> {
    let repaired = nodes.iter().flat_map(|node| {
        let repair = node.gate.iter().flat_map(|gate| &gate.repair);
        std::iter::once(node).chain(repair)
    });
    let mut commands = Vec::new();
    for node in repaired {
        if let Some(Verification::Cmd(argv)) = &node.verification {
            let words: Vec<String> = argv.iter().map(|word| shell_word(word)).collect();
            let words = words.join(" ");
            if !commands.contains(&words) {
                commands.push(words);
            }
        }
    }
    commands
}

/// Skills by which the tasks of a pipeline are done, and that nobody can follow on this machine.
fn skills_missing(ctx: &Context, pipeline: &Pipeline) -> Vec<String> {
    let skills = Skills::of(&ctx.repo);
    let names = skill_names(pipeline).into_iter();
    names.filter(|name| skills.look(name).is_held()).collect()
}

/// The results that a session has: files that its tasks left, and tasks that are done.
fn results(state: &State) -> Vec<HasResult<'_>> {
    let files = state.outputs().map(HasResult::File);
    let done = state.tasks.values();
    let done = done.filter(|facts| facts.status == Status::Completed);
    files
        .chain(done.map(|facts| HasResult::Task(facts.id.as_str())))
        .collect()
}

/// The place of a value in a command: only whoever types it knows which.
const PLACE: &str = "VALUE";

/// A parameter that names a file names one that is there.
fn require_files(
    ctx: &Context,
    state: &State,
    pipeline: &Pipeline,
    values: &BTreeMap<String, String>,
    has: &dyn Fn(&str) -> bool,
) -> std::result::Result<(), String> {
    let params = pipeline.whole.params.iter();
    let mut files = params
        .filter(|(_, param)| param.kind == ParamKind::File)
        .filter_map(|(name, _)| Some((name, values.get(name)?)))
        .peekable();
    if files.peek().is_none() {
        return Ok(());
    }
    let texts = ctx
        .policy_if_there(state)
        .and_then(|(policy, _)| texts_here(ctx, state, &policy));
    let texts = texts.unwrap_or_default();
    for (name, path) in files {
        let artifact = Artifact::at(path).and_then(|artifact| texts.get(&artifact));
        let is_written = artifact.is_some_and(|text| !text.trim().is_empty());
        if !is_written && !has(path) {
            return Err(format!(
                "`{name}` is `{path}`, which is neither an artifact of the session nor a file of the code"
            ));
        }
    }
    Ok(())
}

/// Options that a pipeline was started with, to be put behind the command that starts it again.
pub(super) fn words_given(request: &StartRequest) -> String {
    let one = |flag: &str, value: &str| format!(" {flag} {}", shell_word(value));
    let mut words = String::new();
    if request.dry_run {
        words.push_str(" --dry-run");
    }
    if !request.prefix.is_empty() {
        words.push_str(&one("--prefix", &request.prefix));
    }
    for (name, value) in &request.params {
        words.push_str(&one("--param", &format!("{name}={value}")));
    }
    if let Some(wanted) = request.on_complete {
        words.push_str(&one("--on-complete", &wanted.to_string()));
    }
    if let Some(reason) = &request.reason {
        words.push_str(&one("--reason", reason));
    }
    if let Some(text) = &request.request {
        words.push_str(&one("--for", text));
    }
    words
}

/// A prefix under which a list has none of the ids that a plan would add.
fn free_prefix(plan: &Plan, prefix: &str, file: &file::TaskFile) -> String {
    let own = plan
        .ids
        .iter()
        .map(|id| id.strip_prefix(prefix).unwrap_or(id));
    let own: Vec<&str> = own.collect();
    let is_free = |prefix: &String| {
        let mut ids = own.iter().map(|id| TaskId::parse(&format!("{prefix}{id}")));
        ids.all(|id| id.is_none_or(|id| file.node(&id).is_none()))
    };
    let mut numbers = (2_u32..).map(|number| match number {
        2 => "second-".to_owned(),
        3 => "third-".to_owned(),
        number => format!("{number}th-"),
    });
    numbers.find(is_free).unwrap_or_default()
}

/// Writes the tasks of a pipeline into the list of the session that is meant, behind those that are there: all of them,
/// or none.
pub(crate) fn start(ctx: &Context, request: StartRequest) -> Result<Changed<Plan>> {
    let plan = plan(ctx, &request)?;
    task_list::extend(ctx, &plan.lines, request.reason.clone(), |file| {
        let taken = plan.ids.iter().filter_map(|id| {
            let id = TaskId::parse(id)?;
            file.node(&id).map(|node| node.id.to_string())
        });
        let taken: Vec<String> = taken.collect();
        if taken.is_empty() {
            return Ok(());
        }
        let message = format!(
            "the list has {} already, which the pipeline {} would add",
            taken.join(", "),
            plan.pipeline
        );
        let prefix = free_prefix(&plan, &request.prefix, file);
        let others = StartRequest {
            prefix: String::new(),
            ..request.clone()
        };
        let given = words_given(&others);
        Err(
            Failure::refused(Code::PipelineIdTaken, message).help(match &plan.team {
                Some(_) => command!("pipeline start --team --prefix {prefix}{given}"),
                None => command!("pipeline start {} --prefix {prefix}{given}", plan.pipeline),
            }),
        )
    })
    .map(|done| Changed {
        put: done.put,
        value: plan,
    })
}
