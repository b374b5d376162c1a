//! `pipeline`: which pipelines there are, what is wrong with one, and its tasks in the list of a session. The rules are
//! in [`loopx_rules::pipeline`]; here they meet the code branch and the session.
//!
//! A repository's own pipelines are read as its policy is: from the commit that the session starts from, and where no
//! session is meant from the one that is checked out.

mod export;
mod status;

pub(crate) use export::{export, report};
pub(crate) use status::{Mark, Phase, StatusView, status};

use super::context::Context;
use super::prompts::Prompted;
use super::skills::Skills;
use super::task_list::{self, Changed};
use super::{files, specs, upstream};
use crate::flow::issue::roadmap;
use crate::flow::issue::roadmap::InRoadmap as Standing;
use crate::flow::transaction::texts_here;
use loopx_base::failure::{Blocker, Code, Failure, Result};
use loopx_base::hint::{Hint, command, hint};
use loopx_base::id::{Oid, SessionId};
use loopx_base::shell_word;
use loopx_git::{Entry, EntryKind, Repo};
use loopx_rules::artifact::Artifact;
use loopx_rules::brief;
use loopx_rules::intent;
use loopx_rules::pipeline::{
    Choice, Expanded, Given, Ground, HasResult, InRoadmap, ParamKind, Pipeline, Position,
    SprintSize, TEAM, Team, builtin, choose, expand, lint, of_issues, positions, role_findings,
    skill_findings, skill_names, sprint_size, team, team_words, values,
};
use loopx_rules::policy::Paths;
use loopx_rules::session::State;
use loopx_rules::task::file;
use loopx_rules::task::node::{Node, NodeKind, OnComplete, TaskId, Verification};
use loopx_rules::task::plan as task_plan;
use loopx_rules::task::status::Status;
use loopx_spec::{Finding, Severity, has_errors};
use loopx_store::Session;
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const ENDING: &str = ".toml";

/// Pipeline as a row of a list.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Listed {
    pub name: String,
    pub title: String,
    /// File of the pipeline; nothing where the program brings it.
    pub path: Option<String>,
    pub tasks: usize,
    pub errors: usize,
}

/// The code that pipelines and prompts are read from, and what its policy says.
pub(in crate::flow) struct Source {
    tree: Option<Oid>,
    /// The session that starts from that code, where one is meant.
    session: Option<State>,
    pub(in crate::flow) paths: Paths,
}

impl Source {
    /// Names and entries of a folder of that code.
    pub(in crate::flow) fn files(
        &self,
        ctx: &Context,
        folder: &str,
    ) -> Result<Vec<(String, Entry)>> {
        let Some(tree) = &self.tree else {
            return Ok(Vec::new());
        };
        let folder = ctx.repo.entry_at(tree, folder)?;
        match folder.filter(|entry| entry.kind == EntryKind::Tree) {
            Some(folder) => ctx.repo.list_tree(&folder.id),
            None => Ok(Vec::new()),
        }
    }
}

/// The commit that the session that is meant starts from; else the one that is checked out.
pub(in crate::flow) fn source(ctx: &Context) -> Result<Source> {
    let store = ctx.store()?;
    let meant = store.read()?;
    source_of(ctx, meant.and_then(|snapshot| ctx.session(&snapshot).ok()))
}

/// The policy for a question about no session: one of another branch says nothing of the code here.
pub(in crate::flow) fn source_here(ctx: &Context) -> Result<Source> {
    let store = ctx.store()?;
    let here = store.read()?;
    source_of(
        ctx,
        here.and_then(|snapshot| ctx.session_here(&snapshot).ok().flatten()),
    )
}

fn source_of(ctx: &Context, session: Option<Session>) -> Result<Source> {
    let meant = session.and_then(|session| {
        let (policy, missing) = ctx.policy_if_there(&session.state).ok()?;
        let base = session.state.base.clone().filter(|_| missing.is_none())?;
        Some((base, policy, session.state))
    });
    let (commit, policy, session) = match meant {
        Some((base, policy, state)) => (Some(base), policy, Some(state)),
        None => (ctx.repo.head()?.commit, specs::policy(ctx)?, None),
    };
    let info = commit.map(|commit| ctx.repo.commit_info(&commit));
    Ok(Source {
        tree: info.transpose()?.map(|info| info.tree),
        session,
        paths: policy.paths,
    })
}

/// The repository's own pipelines: name, path, content.
fn own(ctx: &Context, code: &Source) -> Result<Vec<(String, String, Vec<u8>)>> {
    let folder = &code.paths.pipelines;
    let mut found = Vec::new();
    for (file, entry) in code.files(ctx, folder)? {
        let Some(name) = file.strip_suffix(ENDING) else {
            continue;
        };
        if entry.kind == EntryKind::Tree || TaskId::parse(name).is_none() {
            continue;
        }
        let bytes = ctx.repo.read_blob(&entry.id)?;
        let path = format!("{folder}/{file}");
        found.push((name.to_owned(), path, bytes));
    }
    Ok(found)
}

/// Files of the code that is checked out that nobody reads yet: a session starts from an older commit.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Newer {
    pub session: SessionId,
    /// The commit that the session starts from.
    pub base: Oid,
    pub files: Vec<String>,
}

/// The pipelines of the commit that is checked out which that of the session has not, or otherwise.
fn passed_over(ctx: &Context, code: &Source) -> Result<Option<Newer>> {
    let (Some(state), Some(head)) = (&code.session, ctx.repo.head()?.commit) else {
        return Ok(None);
    };
    let here = Source {
        tree: Some(ctx.repo.commit_info(&head)?.tree),
        session: None,
        paths: code.paths.clone(),
    };
    let folder = &code.paths.pipelines;
    let known = code.files(ctx, folder)?;
    let is_newer = |one: &(String, Entry)| {
        let mut same = known.iter();
        one.0.ends_with(ENDING) && !same.any(|(name, entry)| *name == one.0 && entry.id == one.1.id)
    };
    let newer = here.files(ctx, folder)?.into_iter().filter(is_newer);
    let files: Vec<String> = newer.map(|(name, _)| format!("{folder}/{name}")).collect();
    let base = state.base.clone().filter(|_| !files.is_empty());
    Ok(base.map(|base| Newer {
        session: state.id.clone(),
        base,
        files,
    }))
}

/// All pipelines: those of the program, then the repository's own; and those that are passed over.
pub(crate) fn list(ctx: &Context) -> Result<(Vec<Listed>, Option<Newer>)> {
    let code = source_here(ctx)?;
    let own = own(ctx, &code)?;
    let is_own = |name: &&str| own.iter().any(|(known, ..)| known == name);
    let mut all = Vec::new();
    for name in builtin::names().filter(|name| !is_own(name)) {
        let read = Pipeline::built_in(name);
        all.extend(read.map(|read| listed(name, None, read.map_err(|findings| findings.0))));
    }
    for (name, path, bytes) in &own {
        let read = Pipeline::of_bytes(name, bytes, path).map_err(|findings| findings.0);
        all.push(listed(name, Some(path), read));
    }
    Ok((all, passed_over(ctx, &code)?))
}

fn listed(name: &str, path: Option<&str>, read: Read<Pipeline>) -> Listed {
    let (title, tasks, findings) = match read {
        Ok(pipeline) => {
            let findings = lint(&pipeline);
            (
                pipeline.whole.title.clone(),
                pipeline.work().count(),
                findings,
            )
        }
        Err(findings) => (String::new(), 0, findings),
    };
    let errors = findings.iter();
    Listed {
        name: name.to_owned(),
        title,
        path: path.map(str::to_owned),
        tasks,
        errors: errors.filter(|one| one.severity == Severity::Error).count(),
    }
}

type Read<T> = std::result::Result<T, Vec<Finding>>;

/// A pipeline by its name, the repository's own before the program's. What is wrong with it is nobody's business yet.
fn read(ctx: &Context, code: &Source, name: &str) -> Result<Read<Pipeline>> {
    let mut own = own(ctx, code)?;
    if let Some(at) = own.iter().position(|(known, ..)| known == name) {
        let (name, path, bytes) = own.swap_remove(at);
        let read = Pipeline::of_bytes(&name, &bytes, &path);
        return Ok(read.map_err(|findings| findings.0));
    }
    if let Some(read) = Pipeline::built_in(name) {
        return Ok(read.map_err(|findings| findings.0));
    }
    if let Some(newer) = newer(ctx, code, name)? {
        return Err(newer);
    }
    let names = own.iter().map(|(name, ..)| name.as_str());
    let mut known: Vec<&str> = builtin::names().collect();
    known.extend(names);
    let near = loopx_base::nearest(name, known.iter().copied());
    let message = format!(
        "there is no pipeline `{name}`, neither in the program nor in {} of the code",
        code.paths.pipelines
    );
    let failure = Failure::not_found(Code::PipelineUnknown, message);
    Err(match near {
        Some(near) => failure.help(command!("pipeline show {near}")),
        None => failure.help(command!("pipeline list")),
    })
}

/// The refusal where the code that is checked out has a pipeline, and that which the session starts from does not: it
/// is policy, and a session is judged by the policy of its base.
fn newer(ctx: &Context, code: &Source, name: &str) -> Result<Option<Failure>> {
    let (Some(state), Some(head)) = (&code.session, ctx.repo.head()?.commit) else {
        return Ok(None);
    };
    let path = format!("{}/{name}{ENDING}", code.paths.pipelines);
    let has = |commit: &Oid| -> Result<bool> {
        let tree = ctx.repo.commit_info(commit)?.tree;
        Ok(ctx.repo.entry_at(&tree, &path)?.is_some())
    };
    let is_here = ctx
        .repo
        .work_dir()
        .is_some_and(|top| top.join(&path).is_file());
    if TaskId::parse(name).is_none() || !has(&head)? && !is_here {
        return Ok(None);
    }
    let (policy, _) = ctx.policy_if_there(state)?;
    let target = upstream::target(ctx, state.branch.as_deref(), &policy)?;
    let mut taken_in = None;
    for tip in target.iter().flat_map(|target| &target.tips) {
        let base = ctx.repo.merge_base(tip, &head)?;
        if let Some(base) = base.filter(|base| Some(base) != state.base.as_ref())
            && has(&base)?
        {
            taken_in = Some(base);
        }
    }
    let base = state.base.as_ref().map_or("", |base| base.short());
    let message = format!(
        "{path} is newer than session {}: a session reads pipelines from the commit that it starts from, {base}, which has no `{name}`",
        state.id
    );
    let failure = Failure::not_found(Code::PipelineUnknown, message);
    Ok(Some(match taken_in {
        Some(onto) => failure.help(command!("rebase --onto {} --reason WHY", onto.short())),
        None => failure.help(hint![
            "commit it on the branch that the session goes to, and merge that into this one, then: ",
            command!("rebase --onto BRANCH --reason WHY"),
            "  or begin a session that starts from it: ",
            command!("start NAME")
        ]),
    }))
}

/// A pipeline by its name, as the session that is meant has it; refused where it cannot be read.
fn find(ctx: &Context, name: &str) -> Result<Pipeline> {
    read(ctx, &source(ctx)?, name)?.map_err(|findings| invalid(name, &findings))
}

/// A pipeline by its name, as the code here has it, for a question about no session.
pub(crate) fn find_here(ctx: &Context, name: &str) -> Result<Pipeline> {
    read(ctx, &source_here(ctx)?, name)?.map_err(|findings| invalid(name, &findings))
}

fn invalid(name: &str, findings: &[Finding]) -> Failure {
    let errors = findings.iter();
    let errors = errors.filter(|one| one.severity == Severity::Error);
    let blocker = |one: &Finding| {
        let at = format!("{}:{}: {}", one.file, one.line, one.message);
        Blocker::new(Code::Finding(one.id), at, one.fix.clone())
    };
    let blockers: Vec<Blocker> = errors.map(blocker).collect();
    let first = blockers.first().map_or("", |one| one.message.as_str());
    let message = format!("the pipeline {name} has errors: {first}");
    Failure::refused(Code::PipelineInvalid, message)
        .help(command!("pipeline check {name}"))
        .blockers(blockers)
}

/// Faults of some pipelines.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Checked {
    pub pipelines: Vec<String>,
    pub findings: Vec<Finding>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub newer: Option<Newer>,
}

/// Judges one pipeline, a file of the worktree, or all of the repository's own.
pub(crate) fn check(ctx: &Context, name: Option<&str>) -> Result<Checked> {
    let skills = Skills::of(&ctx.repo);
    let prompted = Prompted::here(ctx);
    let judge = |read: Read<Pipeline>| match read {
        Ok(pipeline) => {
            let mut found = lint(&pipeline);
            found.extend(skill_findings(
                &pipeline,
                |name| skills.look(name),
                |name| skills.displaced(name),
            ));
            let has_prompt = |role: &str| prompted.has(role);
            found.extend(role_findings(&pipeline, &prompted.folder, has_prompt));
            found
        }
        Err(findings) => findings,
    };
    match name {
        Some(path) if path.ends_with(ENDING) => {
            let text = worktree_file(path, Code::PipelineUnknown, command!("pipeline list"))?;
            let stem = Path::new(path).file_stem();
            let stem = stem.map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
            let read = Pipeline::read(&stem, &text, Some(path));
            Ok(Checked {
                pipelines: vec![stem],
                findings: judge(read.map_err(|findings| findings.0)),
                newer: None,
            })
        }
        Some(name) => Ok(Checked {
            pipelines: vec![name.to_owned()],
            findings: judge(read(ctx, &source_here(ctx)?, name)?),
            newer: None,
        }),
        None => {
            let code = source_here(ctx)?;
            let mut checked = Checked {
                pipelines: Vec::new(),
                findings: Vec::new(),
                newer: passed_over(ctx, &code)?,
            };
            for (name, path, bytes) in own(ctx, &code)? {
                let read = Pipeline::of_bytes(&name, &bytes, &path);
                checked
                    .findings
                    .extend(judge(read.map_err(|findings| findings.0)));
                checked.pipelines.push(name);
            }
            Ok(checked)
        }
    }
}

/// A file that somebody names by its path.
pub(in crate::flow) fn worktree_file(
    path: &str,
    missing: Code,
    help: impl Into<Hint>,
) -> Result<String> {
    let bytes = files::read(Path::new(path), 1 << 20)?.ok_or_else(|| {
        let message = format!("there is no file `{path}`");
        Failure::not_found(missing, message).help(help)
    })?;
    String::from_utf8(bytes)
        .map_err(|_| Failure::usage(Code::InputNotUtf8, format!("{path}: expected UTF-8")))
}

/// The lines that a pipeline makes with what stands where nothing is given, no condition asked.
pub(crate) fn sample(pipeline: &Pipeline) -> Vec<Value> {
    let params = pipeline.whole.params.iter();
    let open = params.filter(|(_, param)| param.default.is_none());
    let given = |(name, _): (&String, _)| {
        let first = pipeline
            .whole
            .params
            .get(name)
            .and_then(|one| one.values.first());
        let value = first.cloned().unwrap_or_else(|| format!("<{name}>"));
        (name.clone(), value)
    };
    let params: Vec<(String, String)> = open.map(given).collect();
    let given = Given {
        session: "<session>",
        intent: "<intent>",
        params: &params,
    };
    let values = values(pipeline, &given).unwrap_or_default();
    let lines = expand(pipeline, &values, "", None).lines.into_iter();
    lines
        .map(|line| serde_json::from_str(&line.text).unwrap_or(Value::Null))
        .collect()
}

/// Pipelines among which a request chooses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum By {
    /// The modes.
    #[default]
    Mode,
    /// The pipelines of sprints.
    Sprint,
    /// Team that is made for the request, whatever pipelines there are.
    Team,
}

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

/// The purpose of a session: the first paragraph of the request as it was given, in one line; where nobody keeps that, why
/// the brief says it is done; else its title.
pub(in crate::flow) fn intent(repo: &Repo, state: &State) -> Result<String> {
    let Some(blob) = state.artifacts.get(&Artifact::Intent) else {
        let why = match state.artifacts.get(&Artifact::Brief) {
            Some(blob) => brief::why(&String::from_utf8_lossy(&repo.read_blob(blob)?)),
            None => None,
        };
        return Ok(why.unwrap_or_else(|| state.title.clone()));
    };
    let bytes = repo.read_blob(blob)?;
    let purpose = intent::purpose(&String::from_utf8_lossy(&bytes));
    Ok(purpose.unwrap_or_else(|| state.title.clone()))
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

/// Pipeline of a request, and why it is this one where nobody named it. Nothing is guessed: where no word decides,
/// whoever asks is told which modes there are.
struct Picked {
    pipeline: Pipeline,
    chosen: Option<Choice>,
    team: Option<Team>,
    sprint: Option<SprintSize>,
}

impl Picked {
    fn of(pipeline: Pipeline) -> Self {
        Picked {
            pipeline,
            chosen: None,
            team: None,
            sprint: None,
        }
    }
}

/// The pipeline that is named, or that the request asks for.
fn picked(
    ctx: &Context,
    state: &State,
    request: &StartRequest,
    (intent, packages): (&str, &[String]),
) -> Result<Picked> {
    match (&request.name, request.by) {
        (Some(name), _) => Ok(Picked::of(find(ctx, name)?)),
        (None, By::Team) => {
            let team = self::team(intent).ok_or_else(no_team)?;
            let read = Pipeline::read(TEAM, &team.text, None);
            let pipeline = read.map_err(|findings| invalid(TEAM, &findings.0))?;
            Ok(Picked {
                team: Some(team),
                ..Picked::of(pipeline)
            })
        }
        (None, By::Sprint) => {
            let size = sprint_size(intent, listed_files(ctx, state)?);
            Ok(Picked {
                pipeline: find(ctx, size.pipeline)?,
                chosen: None,
                team: None,
                sprint: Some(size),
            })
        }
        (None, By::Mode) => {
            let choice = choose(intent, packages).ok_or_else(|| no_mode(intent, request))?;
            Ok(Picked {
                pipeline: find(ctx, choice.mode)?,
                chosen: Some(choice),
                team: None,
                sprint: None,
            })
        }
    }
}

/// Counts the files that the tasks of the list change.
fn listed_files(ctx: &Context, state: &State) -> Result<usize> {
    let nodes = listed_tasks(ctx, state)?;
    let files: BTreeSet<&str> = nodes.iter().flat_map(Node::own_files).collect();
    Ok(files.len())
}

/// The tasks of the list as it stands; none where it cannot be read.
fn listed_tasks(ctx: &Context, state: &State) -> Result<Vec<Node>> {
    let (policy, _) = ctx.policy_if_there(state)?;
    let texts = texts_here(ctx, state, &policy)?;
    let nodes = task_plan::now(&texts, state).unwrap_or_default();
    Ok(nodes.into_owned())
}

fn no_mode(intent: &str, request: &StartRequest) -> Failure {
    let modes = builtin::names().filter_map(|name| {
        let pipeline = Pipeline::built_in(name)?.ok()?;
        Some(format!("{name} ({})", pipeline.whole.title))
    });
    let modes: Vec<String> = modes.collect();
    let message = format!(
        "no word of {intent:?} tells which pipeline to start; there are {}",
        modes.join(", ")
    );
    let others = StartRequest {
        request: None,
        dry_run: false,
        ..request.clone()
    };
    let (asked, given) = (shell_word(intent), words_given(&others));
    Failure::usage(Code::PipelineModeOpen, message).help(hint![
        command!("pipeline list"),
        "  names them; a team for the request: ",
        command!("pipeline start --team --dry-run --for {asked}{given}")
    ])
}

fn no_team() -> Failure {
    let words = team_words().map(|(name, words)| format!("{name} ({}, ...)", words[0]));
    let words: Vec<String> = words.collect();
    let message = format!(
        "no word of the request names work that a team does: expected one of {}",
        words.join(", ")
    );
    Failure::usage(Code::PipelineModeOpen, message).help(command!("pipeline list"))
}

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

/// The packages that `package.json` of the code names.
fn packages(ctx: &Context, tree: Option<&Oid>) -> Vec<String> {
    let bytes = tree.and_then(|tree| ctx.repo.blob_at(tree, "package.json").ok()?);
    let read = bytes.and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
    let read = read.unwrap_or_default();
    let tables = ["dependencies", "devDependencies", "peerDependencies"];
    let tables = tables.iter().filter_map(|table| read[*table].as_object());
    tables.flat_map(|table| table.keys().cloned()).collect()
}

/// Options that a pipeline was started with, to be put behind the command that starts it again.
fn words_given(request: &StartRequest) -> String {
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
