//! `amend`: the list of tasks that was approved, changed in the build. The rule is [`crate::core::task::amend`]; here
//! it meets the session, the working copy, and whoever may approve a plan.

use super::act::{Act, Done, Facts, Needs, act_after, require_active};
use super::context::Context;
use super::files;
use super::task_list::{invalid, require_good};
use super::workcopy::WorkCopy;
use crate::core::artifact::Artifact;
use crate::core::failure::{Blocker, Code, Failure, Result};
use crate::core::gate;
use crate::core::hint::{command, hint};
use crate::core::id::SessionId;
use crate::core::op::Event;
use crate::core::session::State;
use crate::core::stage::{ApprovalKey, Stage, Transition};
use crate::core::task::amend::{Impact, change, weigh};
use crate::core::task::decide::standing;
use crate::core::task::file::read;
use crate::core::task::node::TaskId;
use crate::core::task::plan;
use crate::core::task::status::Status;
use crate::git::{Entry, Repo};
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What `amend` was asked for.
#[derive(Clone, Debug, Default)]
pub struct AmendRequest {
    /// The new list; else the one in the working copy.
    pub text: Option<Vec<u8>>,
    pub reason: Option<String>,
    pub sign: bool,
}

/// What an amendment came to.
#[derive(Clone, Debug)]
pub struct Amendment {
    /// `CHG-001`.
    pub name: String,
    pub impact: Impact,
}

/// What an amendment would do. Nothing is written.
pub fn impact(ctx: &Context, request: &AmendRequest) -> Result<(SessionId, Impact)> {
    ctx.only_reads();
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let session = require_active(ctx.session(&snapshot)?)?;
    require_build(&session.state)?;
    let text = match &request.text {
        Some(bytes) => utf8(bytes)?,
        None => utf8(&in_working_copy(ctx, &session.state)?)?,
    };
    let stored = stored(&ctx.repo, &session.state)?;
    let (impact, _) = judged(&session.state, &stored, &text)?;
    Ok((session.state.id, impact))
}

/// Changes the list that was approved, as one record that approves the new one.
pub fn amend(ctx: &Context, request: &AmendRequest) -> Result<Done<Amendment>> {
    if request.reason.is_none() {
        return Err(
            Failure::usage(Code::ReasonRequired, "an amendment needs a reason")
                .help(command!("amend --reason WHY")),
        );
    }
    let text = OnceCell::new();
    // What stood in the file, to be put back where nothing came of it.
    let mut before: Option<(PathBuf, Vec<u8>)> = None;
    let done = act_after(
        ctx,
        Needs::Stage,
        |state, copy| {
            require_build(state)?;
            let new = taken(ctx, request, state, copy, &mut before)?;
            drop(text.set(new));
            Ok(())
        },
        |facts| {
            let text = text.get().map_or("", String::as_str);
            decide(ctx, facts, text, request)
        },
    );
    if let (Err(_), Some((path, stood))) = (&done, &before) {
        files::write(path, stood)?;
    }
    done
}

/// The new list. Edits of the working copy's file become the amendment, and are set aside meanwhile.
fn taken(
    ctx: &Context,
    request: &AmendRequest,
    state: &State,
    copy: Option<&mut WorkCopy<'_>>,
    before: &mut Option<(PathBuf, Vec<u8>)>,
) -> Result<String> {
    let stored = stored(&ctx.repo, state)?;
    let file = match &copy {
        Some(copy) if copy.exists() => {
            let path = copy.path(Artifact::TaskList)?;
            files::read(&path, u64::MAX)?.map(|bytes| (path, bytes))
        }
        _ => None,
    };
    let edited = file.filter(|(_, bytes)| bytes != stored.as_bytes());
    let text = match (&request.text, &edited) {
        (Some(bytes), Some((_, edits))) if bytes != edits => {
            return Err(Failure::refused(
                Code::ArtifactLocked,
                format!(
                    "expected {} without edits of its own in the working copy, or no file",
                    Artifact::TaskList
                ),
            )
            .help(hint![
                command!("amend --reason WHY"),
                "  (takes those), or: ",
                command!("checkout --force {}", Artifact::TaskList)
            ]));
        }
        (Some(bytes), _) => utf8(bytes)?,
        (None, Some((_, edits))) => utf8(edits)?,
        (None, None) => stored.clone(),
    };
    if let Some((path, bytes)) = edited {
        if let Some(copy) = copy {
            copy.keep_unsaved(state, Artifact::TaskList)?;
        }
        files::write(&path, stored.as_bytes())?;
        *before = Some((path, bytes));
    }
    Ok(text)
}

fn decide(
    ctx: &Context,
    facts: &Facts<'_>,
    text: &str,
    request: &AmendRequest,
) -> Result<Act<Amendment>> {
    let state = &facts.state;
    require_build(state)?;
    let stored = stored(&ctx.repo, state)?;
    let (impact, text) = judged(state, &stored, text)?;
    let planned = state.approvals.get(&ApprovalKey::Build);
    let planned = planned.and_then(|approval| approval.files.get(&Artifact::TaskList));
    if text == stored && state.is_list_approved(planned) {
        return Err(Failure::nothing(
            Code::NothingAmended,
            format!("{} is what was approved", Artifact::TaskList),
        )
        .help(command!("edit {}", Artifact::TaskList)));
    }
    facts.require_person("an amendment")?;
    let required = facts.policy.required(Transition::PlanToBuild);
    if required > 1 {
        return Err(Failure::refused(
            Code::ApprovalsMissing,
            format!("policy asks {required} people for a plan, and one cannot amend it alone"),
        )
        .help(
            command!("plan --reason WHY")
                .note("(goes back to the plan, which all of them approve)"),
        ));
    }
    let repo = &ctx.repo;
    let mut state = state.clone();
    let blob = repo.write_blob(text.as_bytes())?;
    state.artifacts.insert(Artifact::TaskList, blob);
    let files = gate::covered_files(&state, Transition::PlanToBuild);
    let tree: BTreeMap<String, Option<Entry>> = files
        .iter()
        .map(|(artifact, blob)| (artifact.path().to_owned(), Some(Entry::blob(blob.clone()))))
        .collect();
    let content = repo.edit_tree(None, &tree)?;
    repo.take_along(&content);
    let event = Event::Approved {
        transition: Transition::PlanToBuild,
        content,
        files,
        code: None,
        completes: false,
        head: None,
        amends: Some(impact.amendment()),
    };
    let name = change(state.amendments.len() + 1);
    let what = format!("amend the tasks, {name}");
    let act = Act::new(event, what, Amendment { name, impact });
    let act = act.write(Artifact::TaskList, text);
    Ok(act.reason(request.reason.clone()).word(request.sign))
}

/// What a list would do; refused where nobody may do that, or where it is no plan.
fn judged(state: &State, stored: &str, text: &str) -> Result<(Impact, String)> {
    let file = read(text).map_err(|findings| invalid(&findings, "would be"))?;
    require_good(&file, &state.id)?;
    let odd =
        |why: String| Failure::refused(Code::TaskListInvalid, why).help(command!("task check"));
    let (impact, text) = weigh(stored, text, how_far(state, stored)).map_err(odd)?;
    let barred: Vec<Blocker> = impact
        .barred
        .iter()
        .map(|one| {
            let said = format!("{}: {}", one.task, one.why);
            Blocker::new(Code::AmendBarred, said, command!("task show {}", one.task))
        })
        .collect();
    let Some(first) = barred.first() else {
        return Ok((impact, text));
    };
    Err(Failure::refused(
        Code::AmendBarred,
        format!("the list stays as it is: {}", first.message),
    )
    .help(first.help.clone())
    .blockers(barred))
}

/// How far the tasks of a list are; of a gate, how it was decided.
fn how_far(state: &State, stored: &str) -> impl Fn(&TaskId) -> Status {
    let texts = BTreeMap::from([(Artifact::TaskList, stored.to_owned())]);
    let nodes = plan::now(&texts, state).unwrap_or_default();
    let gates = nodes.iter().filter_map(|node| {
        let standing = standing(node, state)?;
        Some((node.id.key(), standing.status(node, state)))
    });
    let gates: BTreeMap<String, Status> = gates.collect();
    move |id| match gates.get(&id.key()) {
        Some(status) => *status,
        None => state.task_status(id),
    }
}

/// After plan->build, and before somebody reviews what was built.
fn require_build(state: &State) -> Result<()> {
    let path = Artifact::TaskList;
    let refused = |why: &str| {
        Failure::refused(
            Code::AmendClosed,
            format!("the session is in stage {}: {why}", state.stage),
        )
    };
    match state.stage {
        Stage::Build if state.artifacts.contains_key(&path) => Ok(()),
        Stage::Build => Err(Failure::not_found(
            Code::TasksMissing,
            format!("session {} has no {path} to amend", state.id),
        )
        .help(command!("plan --reason WHY"))),
        Stage::Clarify | Stage::Plan => {
            Err(refused("nothing is approved yet, and the list is open")
                .help(command!("edit {path}")))
        }
        Stage::Review | Stage::Done => {
            Err(refused("what was built is judged by the list as it is").help(command!("status")))
        }
    }
}

fn stored(repo: &Repo, state: &State) -> Result<String> {
    match state.artifacts.get(&Artifact::TaskList) {
        Some(blob) => Ok(String::from_utf8_lossy(&repo.read_blob(blob)?).into_owned()),
        None => Ok(String::new()),
    }
}

fn in_working_copy(ctx: &Context, state: &State) -> Result<Vec<u8>> {
    if let Some(copy) = WorkCopy::open(&ctx.repo, &state.id)?
        && copy.exists()
        && let Some(bytes) = files::read(&copy.path(Artifact::TaskList)?, u64::MAX)?
    {
        return Ok(bytes);
    }
    Ok(stored(&ctx.repo, state)?.into_bytes())
}

fn utf8(bytes: &[u8]) -> Result<String> {
    String::from_utf8(bytes.to_vec()).map_err(|_| {
        Failure::usage(
            Code::InputNotUtf8,
            format!("{}: expected UTF-8, found other bytes", Artifact::TaskList),
        )
        .help(command!("task check"))
    })
}
