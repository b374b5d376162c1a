//! `task add|edit|move|check|import|export`: the list of tasks as a file of the session. It is written on the road
//! that every artifact takes; what becomes of a task is the business of its records.

use super::context::Context;
use super::prompts::Prompted;
use super::transaction::texts_here;
use super::working::{self, Put};
use super::{coverage, delta, domains};
use loopx_base::failure::{Blocker, Code, Failure, Result};
use loopx_base::hint::{Hint, command, hint};
use loopx_base::id::SessionId;
use loopx_rules::artifact::Artifact;
use loopx_rules::gate;
use loopx_rules::session::State;
use loopx_rules::stage::Stage;
use loopx_rules::task::file;
use loopx_rules::task::file::edit;
use loopx_rules::task::file::edit::{Change, Place};
use loopx_rules::task::file::{TaskFile, argument, check, of_own_session, read};
use loopx_rules::task::import::{Format, Imported, Remark, Source, import, with_plan};
use loopx_rules::task::node::{Node, TaskId};
use loopx_spec::{Finding, Severity};
use serde::Serialize;
use std::path::Path;

/// The list of the session that is meant, as it stands in the working copy.
pub(crate) fn text(ctx: &Context) -> Result<(State, String)> {
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let state = ctx.session(&snapshot)?.state;
    let (policy, _) = ctx.policy_if_there(&state)?;
    let texts = texts_here(ctx, &state, &policy)?;
    let path = Artifact::TaskList.path();
    match texts.get(&Artifact::TaskList) {
        Some(text) => Ok((state, text.clone())),
        None => Err(Failure::not_found(
            Code::ArtifactMissing,
            format!("session {} has no {path}", state.id),
        )
        .help(lead(&state))),
    }
}

/// Command that shows the list of tasks, or the way without one.
pub(super) fn lead(state: &State) -> Hint {
    if state.artifacts.contains_key(&Artifact::TaskList) {
        command!("task list")
    } else if state.is_open(Artifact::TaskList) {
        command!("task add TITLE")
    } else {
        command!("status")
    }
}

/// Reads the list and what it says; refuses a text that is no list.
pub(crate) fn readable(ctx: &Context) -> Result<(State, String, TaskFile)> {
    let (state, text) = text(ctx)?;
    let file = read(&text).map_err(|findings| led(&state, invalid(&findings, "is")))?;
    Ok((state, text, file))
}

/// A list that clones wrote apart is settled before anything else.
fn led(state: &State, failure: Failure) -> Failure {
    if gate::is_apart(state) {
        failure.help(command!("resolve"))
    } else {
        failure
    }
}

/// Faults of a list.
#[derive(Debug, Serialize)]
pub(crate) struct Checked {
    pub session: SessionId,
    pub tasks: usize,
    pub findings: Vec<Finding>,
}

/// Judges the list of the session that is meant. While it is being planned, its files are held against the code.
pub(crate) fn judge(ctx: &Context) -> Result<Checked> {
    let (state, text) = text(ctx)?;
    let tree = match state.stage {
        Stage::Clarify | Stage::Plan => ctx.repo.head()?.commit,
        _ => None,
    };
    let tree = tree
        .map(|commit| ctx.repo.commit_info(&commit))
        .transpose()?;
    let exists = |path: &str| {
        let entry = tree
            .as_ref()
            .map(|info| ctx.repo.entry_at(&info.tree, path));
        !matches!(entry, Some(Ok(None)))
    };
    let (tasks, findings) = match read(&text) {
        Ok(file) => {
            let exists: Option<&dyn Fn(&str) -> bool> = tree.is_some().then_some(&exists as _);
            let mut findings = check(&file, exists);
            findings.extend(of_own_session(&file, &state.id));
            findings.extend(super::skills::findings(&ctx.repo, &file));
            findings.extend(Prompted::here(ctx).findings(&file.nodes));
            findings.extend(unserved(ctx, &state)?);
            findings.sort_by_key(|finding| finding.line);
            (file.nodes.len(), findings)
        }
        Err(mut findings) => {
            if gate::is_apart(&state) {
                for one in &mut findings {
                    one.fix = command!("resolve");
                }
            }
            (0, findings)
        }
    };
    let findings = [findings, super::outline::findings(ctx)?].concat();
    Ok(Checked {
        session: state.id,
        tasks,
        findings,
    })
}

/// Scenarios that no task names, while the list is planned.
fn unserved(ctx: &Context, state: &State) -> Result<Vec<Finding>> {
    if state.stage != Stage::Plan {
        return Ok(Vec::new());
    }
    let (policy, _) = ctx.policy_if_there(state)?;
    let texts = texts_here(ctx, state, &policy)?;
    let Some((delta, _)) = delta::read(&texts) else {
        return Ok(Vec::new());
    };
    let names = coverage::unserved(&policy, &texts, &delta).into_iter();
    let said = |name| format!("no task names the scenario `{name}` in `scenarios`");
    Ok(names
        .map(|name| file::found("task_scenario_unserved", 1, said(name)))
        .collect())
}

/// Result of a change of the list.
#[derive(Debug)]
pub(crate) struct Changed<T> {
    pub put: Put,
    pub value: T,
}

/// Adds a task. Without an id it gets the next free `TASK-NNN`.
pub(crate) fn add(
    ctx: &Context,
    id: Option<TaskId>,
    title: &str,
    changes: &[Change],
    place: &Place,
    reason: Option<String>,
) -> Result<Changed<TaskId>> {
    change(ctx, reason, |text, file| {
        require_place(file, place)?;
        let id = match &id {
            Some(id) => id.clone(),
            None => domains::free_id(file, changes)?,
        };
        if let Some(known) = file.node(&id) {
            return Err(Failure::usage(
                Code::TaskListInvalid,
                format!("the id `{}` is taken on line {}", known.id, known.line),
            )
            .help(hint![
                "leave --id out for the next free one, or: ",
                command!("task show {}", known.id)
            ]));
        }
        let [name, title] = [id.as_str(), title].map(serde_json::Value::from);
        let line = format!("{{\"id\":{name},\"title\":{title}}}");
        let line = edit::with(&line, changes).map_err(odd)?;
        let text = edit::add(text, file, &line, place);
        let text = require_list(text, file, Some(&id))?;
        Ok((text, id))
    })
}

/// Puts other values into the fields of a task.
pub(crate) fn set(
    ctx: &Context,
    id: &TaskId,
    changes: &[Change],
    reason: Option<String>,
) -> Result<Changed<TaskId>> {
    rewrite_in(ctx, reason, Stood::MendableGraph, |_, text, file| {
        let node = find(file, id)?;
        let changes = edit::with_edges(text, node, changes);
        let made = edit::set(text, node, &changes).map_err(odd)?;
        let moves = changes.iter().any(|change| change.field == "domain");
        match require_list(made.clone(), file, moves.then_some(&node.id)) {
            Ok(made) => Ok((made, node.id.clone())),
            // What was none before is mended line by line.
            Err(_) if file::graph(text).is_err() => Ok((Text::Made(made), node.id.clone())),
            Err(failure) => Err(failure),
        }
    })
}

/// Puts a task into another place.
pub(crate) fn relocate(
    ctx: &Context,
    id: &TaskId,
    place: &Place,
    reason: Option<String>,
) -> Result<Changed<TaskId>> {
    change(ctx, reason, |text, file| {
        let node = find(file, id)?;
        require_place(file, place)?;
        let text = edit::relocate(text, file, node, place);
        Ok((Text::Made(text), node.id.clone()))
    })
}

/// A list of somebody else's, before it is taken in.
pub(crate) fn look(
    ctx: &Context,
    path: &str,
    theirs: String,
    format: Option<Format>,
) -> Result<Imported> {
    // Outside of a session it is looked at alone.
    let own = text(ctx).ok();
    let taken = |text: &str| {
        let file = file::read_anyway(text);
        file.nodes.iter().map(|node| node.id.key()).collect()
    };
    let mut source = Source {
        path: path.to_owned(),
        text: theirs,
        taken: own.as_ref().map(|(_, own)| taken(own)).unwrap_or_default(),
        ..Source::default()
    };
    let beside = Path::new(path)
        .parent()
        .unwrap_or(Path::new(""))
        .join(".task");
    for name in super::files::entries(&beside) {
        if name.ends_with(".json") {
            let bytes = super::files::read(&beside.join(&name), 1 << 20)?.unwrap_or_default();
            let text = String::from_utf8(bytes).map_err(|_| {
                Failure::usage(Code::InputNotUtf8, format!(".task/{name}: expected UTF-8"))
            })?;
            source.tasks.insert(name, text);
        }
    }
    let mut found = import(&source, format)?;
    if let Some((state, own)) = own
        && let Some(saved) = saved_before(ctx, &state, &own)
    {
        source.taken = taken(&saved);
        // What an import wrote that was killed before it saved that.
        let again = import(&source, format).ok();
        let again = again.filter(|again| own == behind(&saved, &again.lines));
        found = again.unwrap_or(found);
    }
    if found.plan.is_some() && !takes_plan(ctx).unwrap_or(true) {
        let message = format!(
            "{path} has more than tasks, and the profile of the session has no {} for the rest",
            Artifact::Plan
        );
        let task = String::new();
        found.remarks.push(Remark { task, message });
        found.plan = None;
    }
    Ok(found)
}

/// Test for a session that has a plan.
fn takes_plan(ctx: &Context) -> Result<bool> {
    let snapshot = ctx.store()?.snapshot()?;
    let state = ctx.session(&snapshot)?.state;
    let (policy, _) = ctx.policy_if_there(&state)?;
    Ok(policy.profiles.get(&state.profile)?.asks(Artifact::Plan))
}

/// Result of taking in a list.
#[derive(Debug, Serialize)]
pub(crate) struct TakenIn {
    pub format: Format,
    pub tasks: usize,
    /// Remarks on what has no counterpart.
    pub remarks: Vec<Remark>,
    /// The file that has what the plan says besides its tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<Artifact>,
}

/// Refuses a list that could not be taken in behind what is there.
pub(crate) fn require_fitting(ctx: &Context, found: &Imported) -> Result<()> {
    let (state, own) = text(ctx).ok().unzip();
    let own = own.unwrap_or_default();
    let Err(faults) = file::graph(behind(&own, &found.lines)) else {
        return Ok(());
    };
    let saved = state.and_then(|state| saved_before(ctx, &state, &own));
    let again = saved.map(|saved| behind(&saved, &found.lines));
    match again.filter(|again| file::graph(again.as_str()).is_ok()) {
        Some(again) if again == own => Ok(()),
        Some(_) => Err(save_first(would_be(&faults, |_| AS_IT_WAS.into()))),
        None => Err(would_be(&faults, |_| AS_IT_WAS.into())),
    }
}

/// Takes a list in behind what is there, whole or not at all.
pub(crate) fn take_in(
    ctx: &Context,
    found: &Imported,
    reason: Option<String>,
) -> Result<Changed<TakenIn>> {
    if let Some(plan) = &found.plan {
        require_fitting(ctx, found)?;
        keep_plan(ctx, plan, reason.clone())?;
    }
    change(ctx, reason, |text, _| {
        let out = behind(text, &found.lines);
        let taken = TakenIn {
            format: found.format,
            tasks: found.lines.len(),
            remarks: found.remarks.clone(),
            plan: found.plan.is_some().then_some(Artifact::Plan),
        };
        Ok((Text::Made(out), taken))
    })
}

/// Puts the text of a plan in two layers behind the plan of the session. What somebody who was ended before the list got
/// there is found again.
fn keep_plan(ctx: &Context, plan: &str, reason: Option<String>) -> Result<()> {
    let kept = working::rewrite(ctx, Artifact::Plan, reason, |state, stood| {
        require_open(state)?;
        let stood = String::from_utf8_lossy(stood.unwrap_or_default());
        Ok(with_plan(&stood, plan).unwrap_or(stood.into_owned()).into())
    });
    match kept {
        Err(failure) if failure.code == Code::NothingToSave => Ok(()),
        kept => kept.map(|_| ()),
    }
}

/// Puts lines behind what is there, unless the list speaks against it: whole or not at all.
pub(super) fn extend(
    ctx: &Context,
    lines: &[String],
    reason: Option<String>,
    check: impl Fn(&TaskFile) -> Result<()>,
) -> Result<Changed<()>> {
    rewrite_in(ctx, reason, Stood::List, |_, text, file| {
        check(file)?;
        Ok((Text::Made(behind(text, lines)), ()))
    })
}

/// A list with lines more at its end.
fn behind(text: &str, lines: &[String]) -> String {
    let mut out = text.to_owned();
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    out.push_str(&lines.join("\n"));
    out.push('\n');
    out
}

/// Text of a list after a change.
pub(super) enum Text {
    Made(String),
    /// Text that was read as a list already.
    Read(String),
}

/// Changes the list, and saves it. A list that would be none is not written; one that is none already has to be mended
/// by hand first.
pub(super) fn rewrite<T>(
    ctx: &Context,
    reason: Option<String>,
    change: impl Fn(&str, &TaskFile) -> Result<(String, T)>,
) -> Result<Changed<T>> {
    rewrite_in(ctx, reason, Stood::List, |_, text, file| {
        let (text, value) = change(text, file)?;
        Ok((Text::Made(text), value))
    })
}

/// Changes the list as `rewrite` does, and asks nothing about its fields as they are written.
fn change<T>(
    ctx: &Context,
    reason: Option<String>,
    change: impl Fn(&str, &TaskFile) -> Result<(Text, T)>,
) -> Result<Changed<T>> {
    rewrite_in(ctx, reason, Stood::Graph, |_, text, file| {
        change(text, file)
    })
}

/// Rewrites a list that cannot be read whole, as a merge of two clones may leave it: afterwards it has fewer faults.
pub(super) fn mend<T>(
    ctx: &Context,
    reason: Option<String>,
    change: impl Fn(&str, &TaskFile) -> Result<(String, T)>,
) -> Result<Changed<T>> {
    rewrite_in(ctx, reason, Stood::Mendable, |_, text, file| {
        let (text, value) = change(text, file)?;
        Ok((Text::Made(text), value))
    })
}

/// The condition of a list before it is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stood {
    List,
    /// A list of which the fields are not asked for.
    Graph,
    /// Each line can be read.
    Mendable,
    /// A list of which each line can be read, where the fields are not asked for.
    MendableGraph,
}

impl Stood {
    /// The list, and what is wrong with it.
    fn read(self, text: &str) -> Result<(TaskFile, Vec<Finding>)> {
        let found = match self {
            Stood::Graph | Stood::MendableGraph => file::graph(text),
            Stood::List | Stood::Mendable => read(text),
        };
        let mends = matches!(self, Stood::Mendable | Stood::MendableGraph);
        match found {
            Ok(file) => Ok((file, Vec::new())),
            Err(faults) if mends && file::no_objects(text).is_empty() => {
                Ok((file::read_anyway(text), faults))
            }
            Err(faults) => Err(invalid(&faults, "is")),
        }
    }
}

/// Lead of a refusal that concerns what was given.
const AS_IT_WAS: &str = "mend what was given: the list is as it was";

/// Refuses a list that is none, unless it is nearer to one than before.
fn require_better(text: &str, before: &[Finding]) -> Result<()> {
    let is_error = |one: &&Finding| one.severity == Severity::Error;
    let errors = |all: &[Finding]| all.iter().filter(is_error).count();
    match file::graph(text) {
        Err(after) if errors(&after) >= errors(before) => {
            Err(would_be(&after, |_| AS_IT_WAS.into()))
        }
        _ => Ok(()),
    }
}

/// Refuses a change that makes no list of it, and names the arguments that do; before that, a task that would not stand
/// in the domain that it names, where `placed` is one.
fn require_list(text: String, before: &TaskFile, placed: Option<&TaskId>) -> Result<Text> {
    let after = file::graph(text.as_str());
    if let Some(id) = placed {
        let anyway = after.is_err().then(|| file::read_anyway(&text));
        let file = after.as_ref().ok().or(anyway.as_ref());
        let node = file.and_then(|file| Some((file, file.node(id)?)));
        node.map_or(Ok(()), |(file, node)| domains::require_placed(file, node))?;
    }
    let has_tasks = !before.nodes.is_empty();
    match after {
        Ok(_) => Ok(Text::Read(text)),
        Err(after) => Err(would_be(&after, |id| argument(id, has_tasks))),
    }
}

/// Refuses a text that would make no list: the file is not what is to be mended.
fn would_be(findings: &[Finding], lead: impl Fn(&str) -> Hint) -> Failure {
    let led = |one: &Finding| Finding {
        fix: lead(one.id),
        ..one.clone()
    };
    let led: Vec<Finding> = findings.iter().map(led).collect();
    invalid(&led, "would be")
}

/// The list as it is saved, where the text that stands here is another.
fn saved_before(ctx: &Context, state: &State, stood: &str) -> Option<String> {
    let blob = state.artifacts.get(&Artifact::TaskList);
    let saved = match blob {
        Some(blob) => String::from_utf8(ctx.repo.read_blob(blob).ok()?).ok()?,
        None => String::new(),
    };
    (saved != stood).then_some(saved)
}

/// A refusal by what stands here and is not saved.
fn save_first(mut failure: Failure) -> Failure {
    let lead = || command!("save").note("(what is here of the tasks is not saved)");
    for blocker in &mut failure.blockers {
        blocker.help = lead();
    }
    failure.help(lead())
}

/// Changes the list and saves it, by a change that also sees the state of the session. What the same change wrote, and did
/// not get to save because it was killed, is saved as it is.
fn rewrite_in<T>(
    ctx: &Context,
    reason: Option<String>,
    asked: Stood,
    change: impl Fn(&State, &str, &TaskFile) -> Result<(Text, T)>,
) -> Result<Changed<T>> {
    let mut value = None;
    let put = working::rewrite(ctx, Artifact::TaskList, reason, |state, stood| {
        let stood = std::str::from_utf8(stood.unwrap_or_default()).unwrap_or_default();
        let Err(closed) = require_open(state) else {
            let made = |before: &str, file: &TaskFile, faults: &[Finding]| {
                let (text, made) = change(state, before, file)?;
                if let Text::Made(text) = &text {
                    require_better(text, faults)?;
                }
                let (Text::Made(text) | Text::Read(text)) = text;
                Ok((text, made))
            };
            let saved = saved_before(ctx, state, stood);
            let again = saved.and_then(|saved| {
                let (file, faults) = asked.read(&saved).ok()?;
                made(&saved, &file, &faults).ok()
            });
            let is_here = again.is_some();
            let (text, made) = match again.filter(|(text, _)| text == stood) {
                Some(done) => done,
                None => {
                    let read = asked.read(stood).map_err(|failure| led(state, failure));
                    let (file, faults) = read?;
                    let done = made(stood, &file, &faults);
                    if is_here {
                        done.map_err(save_first)?
                    } else {
                        done?
                    }
                }
            };
            value = Some(made);
            return Ok(text.into_bytes());
        };
        Err(by_hand(ctx, (state, closed), stood, asked, |file| {
            let (Text::Made(text) | Text::Read(text)) = change(state, stood, file).ok()?.0;
            Some(text)
        }))
    })?;
    let value = value.ok_or_else(|| {
        Failure::internal(Code::TaskListInvalid, "a list was saved that nobody made")
    })?;
    Ok(Changed { put, value })
}

/// A list that is closed is changed by hand in the build, and amended: what the one line has to say that changes.
fn by_hand(
    ctx: &Context,
    (state, closed): (&State, Failure),
    stood: &str,
    asked: Stood,
    change: impl FnOnce(&TaskFile) -> Option<String>,
) -> Failure {
    if state.stage != Stage::Build {
        return closed;
    }
    let file = asked.read(stood).ok();
    let changed = file.and_then(|(file, _)| change(&file));
    let Some(changed) = changed.filter(|text| text.lines().count() == stood.lines().count()) else {
        return closed;
    };
    let lines = (1..).zip(stood.lines().zip(changed.lines()));
    let mut lines = lines.filter(|(_, (before, after))| before != after);
    let (Some((number, (_, line))), None) = (lines.next(), lines.next()) else {
        return closed;
    };
    closed.help(hint![
        format!(
            "write line {number} of {}/{} as {line} , then: ",
            ctx.folder(&state.id),
            Artifact::TaskList.path()
        ),
        command!("amend --reason WHY"),
        "  or: ",
        command!("plan --reason WHY"),
        "  (goes back to the plan, where the list is open)"
    ])
}

/// Refuses a change of a list that is closed: after plan->build the list is what was approved, and opens again where
/// the plan does.
pub(super) fn require_open(state: &State) -> Result<()> {
    if state.is_open(Artifact::TaskList) {
        return Ok(());
    }
    let path = Artifact::TaskList.path();
    let failure = Failure::refused(
        Code::ArtifactLocked,
        format!(
            "{path} is closed in stage {}: this list was approved",
            state.stage
        ),
    );
    Err(match state.stage {
        Stage::Build => failure.help(hint![
            "edit the file below .loopx, then: ",
            command!("amend --reason WHY"),
            "  or: ",
            command!("plan --reason WHY"),
            "  (goes back to the plan, where the list is open)"
        ]),
        _ if state.artifacts.contains_key(&Artifact::TaskList) => {
            failure.help(command!("cat {path}"))
        }
        _ => failure.help(command!("status")),
    })
}

/// The lines that are no JSON object: an input that has one is no list, however unfinished a list may be.
pub(super) fn no_objects(text: &str) -> Vec<Blocker> {
    let odd = file::no_objects(text).into_iter();
    let blocker = |one: Finding| {
        let at = format!("{}:{}: {}", one.file, one.line, one.message);
        Blocker::new(Code::Finding(one.id), at, one.fix)
    };
    odd.map(blocker).collect()
}

/// Refuses a list that is no good plan.
pub(super) fn require_good(file: &TaskFile, session: &SessionId) -> Result<()> {
    let mut findings = check(file, None);
    findings.extend(of_own_session(file, session));
    findings.retain(|one| one.severity == Severity::Error);
    if findings.is_empty() {
        Ok(())
    } else {
        Err(invalid(&findings, "would be"))
    }
}

pub(super) fn invalid(findings: &[Finding], verb: &str) -> Failure {
    let path = Artifact::TaskList.path();
    let errors = findings
        .iter()
        .filter(|one| one.severity == Severity::Error);
    let blockers: Vec<Blocker> = errors
        .map(|one| {
            let at = format!("{}:{}: {}", one.file, one.line, one.message);
            Blocker::new(Code::Finding(one.id), at, one.fix.clone())
        })
        .collect();
    let by_hand = || command!("edit {path}");
    let (first, help) = blockers.first().map_or_else(
        || (String::new(), by_hand()),
        |one| (one.message.clone(), one.help.clone()),
    );
    Failure::refused(
        Code::TaskListInvalid,
        format!("{path} {verb} not a valid list of tasks, and stays as it is: {first}"),
    )
    .help(help)
    .blockers(blockers)
}

pub(super) fn odd(message: String) -> Failure {
    Failure::refused(Code::TaskListInvalid, message)
        .help(command!("edit {}", Artifact::TaskList.path()))
}

pub(super) fn find<'f>(file: &'f TaskFile, id: &TaskId) -> Result<&'f Node> {
    file.node(id).ok_or_else(|| {
        let ids = file.nodes.iter().map(|node| node.id.as_str());
        let near = loopx_base::nearest(id.as_str(), ids.take(2_000));
        let failure = Failure::not_found(
            Code::TaskUnknown,
            format!("{} has no task `{id}`", Artifact::TaskList.path()),
        );
        match near {
            Some(near) => failure.help(hint![
                format!("is {near} meant? "),
                command!("task show {near}")
            ]),
            None if file.nodes.is_empty() => failure.help(command!("task add TITLE")),
            None => failure.help(command!("task list")),
        }
    })
}

fn require_place(file: &TaskFile, place: &Place) -> Result<()> {
    match place {
        Place::Before(id) | Place::After(id) => find(file, id).map(drop),
        Place::First | Place::End => Ok(()),
    }
}
