//! `amend`: the list of tasks that was approved, changed in the build. The rule is [`loopx_rules::task::amend`]; here
//! it meets the session, the working copy, and whoever may approve a plan.

use super::context::Context;
use super::next;
use super::prompts::Prompted;
use super::task_list::{invalid, require_good};
use super::transaction::{Act, Done, Facts, Needs, act_after, require_active};
use super::workcopy::{self, Edited, WorkCopy};
use loopx_base::failure::{Blocker, Code, Failure, Result};
use loopx_base::hint::{Hint, command, hint};
use loopx_base::id::{Oid, SessionId};
use loopx_git::{Entry, Repo};
use loopx_rules::artifact::Artifact;
use loopx_rules::gate;
use loopx_rules::next::Advised;
use loopx_rules::op::Event;
use loopx_rules::policy::Policy;
use loopx_rules::session::State;
use loopx_rules::stage::{ApprovalKey, Stage, Transition};
use loopx_rules::task::amend::{Impact, change, weigh};
use loopx_rules::task::decide::statuses;
use loopx_rules::task::file::read;
use loopx_rules::task::node::TaskId;
use loopx_rules::task::plan;
use loopx_rules::task::status::Status;
use loopx_rules::texts::Texts;
use loopx_spec::Finding;
use std::cell::OnceCell;
use std::collections::BTreeMap;

/// The options of `amend`.
#[derive(Clone, Debug, Default)]
pub(crate) struct AmendRequest {
    /// The new list; else the one in the working copy.
    pub text: Option<Vec<u8>>,
    pub reason: Option<String>,
    pub sign: bool,
}

/// The result of an amendment.
#[derive(Clone, Debug)]
pub(crate) struct Amendment {
    /// `CHG-001`.
    pub name: String,
    pub impact: Impact,
    /// Remarks on the roles that the list has by it.
    pub roles: Vec<Finding>,
}

/// The impact of an amendment, with remarks on the roles that the list has by it. Nothing is written.
pub(crate) fn impact(
    ctx: &Context,
    request: &AmendRequest,
) -> Result<(SessionId, Impact, Vec<Finding>)> {
    ctx.only_reads();
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let session = require_active(ctx.session(&snapshot)?)?;
    require_build(&session.state)?;
    let copy = WorkCopy::open(&ctx.repo, &session.state.id)?;
    let given = given(request, &session.state, copy.as_ref())?;
    let text = given.text(&ctx.repo, &session.state)?;
    let stored = stored(&ctx.repo, &session.state)?;
    let judged = judged(&session.state, &stored, &text);
    let (impact, text) = judged.map_err(|failure| mended(failure, request))?;
    Ok((session.state.id, impact, roles(ctx, &stored, &text)))
}

/// The refusal that the list of the working copy would meet as an amendment; nothing where it would be taken, or where
/// both sides of a conflict come first.
pub(super) fn refusal(ctx: &Context, state: &State) -> Option<Failure> {
    let copy = WorkCopy::open(&ctx.repo, &state.id).ok()?;
    let given = given(&AmendRequest::default(), state, copy.as_ref()).ok()?;
    let text = given.text(&ctx.repo, state).ok()?;
    judged(state, &stored(&ctx.repo, state).ok()?, &text).err()
}

/// The command that amends, as policy wants it; a person is waited for where an agent asks.
pub(crate) fn advised(ctx: &Context, command: Hint) -> Advised {
    if next::asks_a_person(ctx) {
        by_person()
    } else {
        as_policy_wants(ctx, command).into()
    }
}

/// The wait of an agent for an amendment.
pub(super) fn by_person() -> Advised {
    let back = command!("checkout --force {}", Artifact::TaskList);
    Advised::waits("a person", "the amendment of the list")
        .advice(hint!["to take the edit back: ", back])
}

/// A hint whose amendments are as the policy of the session that is meant asks for them: signed, or a way back to the
/// plan where one person cannot amend. Most of what is refused knows no policy.
pub(crate) fn as_policy_wants(ctx: &Context, hint: Hint) -> Hint {
    if !hint.has_amendment() {
        return hint;
    }
    let policy = || -> Result<Policy> {
        let store = ctx.store()?;
        let state = ctx.session(&store.snapshot()?)?.state;
        Ok(ctx.policy_if_there(&state)?.0)
    };
    match policy() {
        Ok(policy) if !policy.lets_amend() => hint.without_amendments(&policy.amend_command()),
        Ok(policy) if policy.asks_signature(Transition::PlanToBuild) => {
            hint.with_signed_amendments()
        }
        _ => hint,
    }
}

/// Changes the list that was approved, as one record that approves the new one.
pub(crate) fn amend(ctx: &Context, request: &AmendRequest) -> Result<Done<Amendment>> {
    if request.reason.is_none() {
        return Err(
            Failure::usage(Code::ReasonRequired, "an amendment needs a reason")
                .help(command!("amend --reason WHY")),
        );
    }
    let given = OnceCell::new();
    act_after(
        ctx,
        Needs::Stage,
        |state, copy| {
            require_build(state)?;
            let made = given_here(ctx, request, state, copy)?;
            drop(given.set(made));
            Ok(())
        },
        |facts| decide(ctx, facts, given.get(), request),
    )
}

/// The list that somebody asks for. It is held against the one that counts whenever that is read: somebody else may
/// have amended it a moment ago.
#[derive(Debug)]
enum Given {
    /// No list: nothing was edited here.
    Nothing,
    /// Whole, by somebody who has seen this list, where it is known what this worktree has seen.
    Whole { bytes: Vec<u8>, seen: Option<Oid> },
    /// A list as it was edited in the working copy.
    Edited(Edited),
}

impl Given {
    /// The list as it would be.
    fn text(&self, repo: &Repo, state: &State) -> Result<String> {
        let stored = state.artifacts.get(&Artifact::TaskList);
        match self {
            Given::Nothing => self::stored(repo, state),
            Given::Whole { bytes, seen } => match seen {
                Some(seen) if Some(seen) != stored => Err(list_moved(state)),
                _ => utf8(bytes),
            },
            Given::Edited(edited) => match self.merged(repo, state, edited)? {
                Ok(text) => Ok(text),
                Err(_) => Err(conflict()),
            },
        }
    }

    /// The edits on the list that counts; else both sides between markers.
    fn merged(
        &self,
        repo: &Repo,
        state: &State,
        edited: &Edited,
    ) -> Result<std::result::Result<String, String>> {
        let text = utf8(&edited.bytes)?;
        let stored = state.artifacts.get(&Artifact::TaskList);
        if edited.base.as_ref() == stored {
            return Ok(Ok(text));
        }
        workcopy::merge(
            repo,
            Artifact::TaskList,
            (edited.base.as_ref(), stored),
            &text,
        )
    }
}

/// The list that is asked for, by the options and by the edits in the working copy.
fn given(request: &AmendRequest, state: &State, copy: Option<&WorkCopy<'_>>) -> Result<Given> {
    let path = Artifact::TaskList;
    let copy = copy.filter(|copy| copy.exists());
    let edited = copy.map(|copy| copy.edited(state, path)).transpose()?;
    let given = match (&request.text, edited.flatten()) {
        (Some(bytes), Some(edited)) if *bytes != edited.bytes => {
            return Err(Failure::refused(
                Code::ArtifactLocked,
                format!("expected {path} without edits of its own in the working copy, or no file"),
            )
            .help(hint![
                command!("amend --reason WHY"),
                "  (takes those), or: ",
                command!("checkout --force {path}")
            ]));
        }
        (_, Some(edited)) => Given::Edited(edited),
        (Some(bytes), None) => Given::Whole {
            bytes: bytes.clone(),
            seen: copy.and_then(|copy| copy.base(path)).cloned(),
        },
        (None, None) => return Ok(Given::Nothing),
    };
    let (Given::Whole { bytes, .. } | Given::Edited(Edited { bytes, .. })) = &given else {
        return Ok(given);
    };
    match workcopy::our_marker_line(&String::from_utf8_lossy(bytes)) {
        Some(line) => Err(Failure::conflict(
            Code::ArtifactConflict,
            format!("{path}:{line}: conflict markers are still there"),
        )
        .help(hint![
            "choose between the marked sides: ",
            command!("edit {path}")
        ])),
        None => Ok(given),
    }
}

/// The list that is asked for, with the edited file left to this command. Where somebody else changed the same fields,
/// both sides stand in the file afterwards.
fn given_here(
    ctx: &Context,
    request: &AmendRequest,
    state: &State,
    copy: Option<&mut WorkCopy<'_>>,
) -> Result<Given> {
    let given = given(request, state, copy.as_deref())?;
    if let (Given::Edited(edited), Some(copy)) = (&given, copy) {
        if let Err(marked) = given.merged(&ctx.repo, state, edited)? {
            copy.put_conflict(state, Artifact::TaskList, &marked)?;
            let both = copy.both_sides(Artifact::TaskList);
            return Err(conflict().blockers(vec![both]));
        }
        copy.reserve(Artifact::TaskList, edited)?;
    }
    Ok(given)
}

fn conflict() -> Failure {
    Failure::conflict(
        Code::ArtifactConflict,
        format!(
            "{} was amended since it was checked out here, in fields that you changed too; nothing is amended",
            Artifact::TaskList
        ),
    )
    .help(hint![
        "choose between the marked sides, then run: ",
        command!("amend --reason WHY")
    ])
}

/// A whole list would drop what somebody else brought in unseen.
fn list_moved(state: &State) -> Failure {
    let path = Artifact::TaskList;
    let by = state.amended().next_back();
    let by = by.and_then(|(name, one)| Some((name, one.approval.by.first()?)));
    let by = by.map_or_else(String::new, |(name, by)| {
        format!(" ({name} by {})", by.signed.by)
    });
    Failure::refused(
        Code::ListMoved,
        format!(
            "{path} was amended after this worktree checked it out{by}, and the file here may lack that amendment"
        ),
    )
    .help(hint![
        command!("checkout {path}"),
        ", then hold the file against it: ",
        command!("amend FILE --show")
    ])
}

fn decide(
    ctx: &Context,
    facts: &Facts<'_>,
    given: Option<&Given>,
    request: &AmendRequest,
) -> Result<Act<Amendment>> {
    let state = &facts.state;
    require_build(state)?;
    let stored = stored(&ctx.repo, state)?;
    let text = given.unwrap_or(&Given::Nothing).text(&ctx.repo, state)?;
    let judged = judged(state, &stored, &text);
    let (impact, text) = judged.map_err(|failure| mended(failure, request))?;
    let planned = state.approvals.get(&ApprovalKey::Build);
    let planned = planned.and_then(|approval| approval.files.get(&Artifact::TaskList));
    // Whose amendment does not count gives it again with the same list.
    let is_good = || gate::amendments_lack(facts.view()).is_empty();
    if text == stored && state.is_list_approved(planned) && is_good() {
        return Err(Failure::nothing(
            Code::NothingAmended,
            format!(
                "{} is the same as the approved list: nothing is to be amended",
                Artifact::TaskList
            ),
        )
        .help(hint![
            "edit the file below .loopx, then: ",
            facts.policy.amend_command()
        ]));
    }
    facts.require_person("an amendment")?;
    if !facts.policy.lets_amend() {
        let required = facts.policy.required(Transition::PlanToBuild);
        return Err(Failure::refused(
            Code::ApprovalsMissing,
            format!("policy asks for {required} approvals of a plan, and one person cannot amend it alone"),
        )
        .help(
            (facts.policy.amend_command())
                .note("(goes back to the plan with your edits, which all of them approve)"),
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
    let roles = roles(ctx, &stored, &text);
    let act = Act::new(
        event,
        what,
        Amendment {
            name,
            impact,
            roles,
        },
    );
    let act = act.write(Artifact::TaskList, text);
    Ok(act.reason(request.reason.clone()).word(request.sign))
}

/// The remarks on the roles that one list has and the other one had not.
fn roles(ctx: &Context, stored: &str, text: &str) -> Vec<Finding> {
    let nodes = |text: &str| read(text).map_or_else(|_| Vec::new(), |file| file.nodes);
    Prompted::here(ctx).new_findings(&nodes(text), &nodes(stored))
}

/// Weighs the effect of a list; refuses a list whose changes nobody may make, or that is no plan.
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

/// The refusal of a list that is none, led to where it stands: no command edits it in the build.
fn mended(mut failure: Failure, request: &AmendRequest) -> Failure {
    if failure.code != Code::TaskListInvalid {
        return failure;
    }
    let help = match &request.text {
        Some(_) => Hint::from("mend the list that was given, and give it again"),
        None => hint![
            "mend the file below .loopx, then: ",
            command!("amend --reason WHY"),
            "; to take the edit back: ",
            command!("checkout --force {}", Artifact::TaskList)
        ],
    };
    for blocker in &mut failure.blockers {
        blocker.help = help.clone();
    }
    failure.help(help)
}

/// Gives the status of the tasks of a list; of a gate, how it was decided.
fn how_far(state: &State, stored: &str) -> impl Fn(&TaskId) -> Status {
    let texts = Texts::from([(Artifact::TaskList, stored.to_owned())]);
    let nodes = plan::now(&texts, state).unwrap_or_default();
    let decided = nodes.iter().zip(statuses(&nodes, state, &OnceCell::new()));
    let gates = decided.filter_map(|(node, status)| Some((node.id.key(), status?)));
    let gates: BTreeMap<String, Status> = gates.collect();
    move |id| match gates.get(&id.key()) {
        Some(status) => *status,
        None => state.task_status(id),
    }
}

/// Requires a build: plan->build is passed, and nobody has reviewed yet what was built.
fn require_build(state: &State) -> Result<()> {
    let path = Artifact::TaskList;
    if state.is_open(path) {
        let lead = if state.artifacts.contains_key(&path) {
            command!("edit {path}")
        } else {
            command!("task add TITLE")
        };
        let message = format!(
            "the session is in stage {}: nothing is approved yet, and the list is open",
            state.stage
        );
        return Err(Failure::refused(Code::AmendClosed, message).help(lead));
    }
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
            Err(refused("no list is approved yet").help(command!("status")))
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

fn utf8(bytes: &[u8]) -> Result<String> {
    String::from_utf8(bytes.to_vec()).map_err(|_| {
        Failure::usage(
            Code::InputNotUtf8,
            format!("{}: expected UTF-8, found other bytes", Artifact::TaskList),
        )
        .help(command!("task check"))
    })
}
