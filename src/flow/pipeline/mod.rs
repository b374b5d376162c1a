//! `pipeline`: which pipelines there are, what is wrong with one, and its tasks in the list of a session. The rules are
//! in [`loopx_rules::pipeline`]; here they meet the code branch and the session.
//!
//! A repository's own pipelines are read as its policy is: from the commit that the session starts from, and where no
//! session is meant from the one that is checked out.

mod export;
mod start;
mod status;

pub(crate) use export::{export, report};
use start::words_given;
pub(crate) use start::{Plan, StartRequest, plan, start};
pub(crate) use status::{Mark, Phase, StatusView, status};

use super::context::Context;
use super::prompts::Prompted;
use super::skills::Skills;
use super::{files, specs, upstream};
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
    Choice, Given, Pipeline, SprintSize, TEAM, Team, builtin, choose, expand, lint, role_findings,
    skill_findings, sprint_size, team, team_words, values,
};
use loopx_rules::policy::Paths;
use loopx_rules::session::State;
use loopx_rules::task::node::{Node, TaskId};
use loopx_rules::task::plan as task_plan;
use loopx_spec::{Finding, Severity};
use loopx_store::Session;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeSet;
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

/// The packages that `package.json` of the code names.
fn packages(ctx: &Context, tree: Option<&Oid>) -> Vec<String> {
    let bytes = tree.and_then(|tree| ctx.repo.blob_at(tree, "package.json").ok()?);
    let read = bytes.and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
    let read = read.unwrap_or_default();
    let tables = ["dependencies", "devDependencies", "peerDependencies"];
    let tables = tables.iter().filter_map(|table| read[*table].as_object());
    tables.flat_map(|table| table.keys().cloned()).collect()
}
