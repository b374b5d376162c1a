//! A call of our hook by an agent's host: facts are gathered, [`loopx_rules::stop`] decides, and what was decided is remembered
//! and recorded.
//!
//! A repository without sessions, and a branch without a build, are left after a look at a few refs;
//! no process is started before the code has to be judged. Whatever goes wrong lets the agent go on.

use super::super::context::Context;
use super::super::rules::Applying;
use super::super::transaction::{Act, Needs, act_beside};
use super::super::workcopy::{FileStatus, WorkCopy};
use super::super::{files, lease, task, view};
use super::ledger;
use loopx_base::env;
use loopx_base::failure::Result;
use loopx_base::hint::{Hint, Verb, command};
use loopx_base::id::Oid;
use loopx_hosts::guard;
use loopx_hosts::guard::{Kind as OffenceKind, Offence};
use loopx_hosts::{Call, Decision, Host, MAX_TEXT, Moment};
use loopx_rules::lease as leases;
use loopx_rules::next::Next;
use loopx_rules::op::{DelegationStatus, Event};
use loopx_rules::session::State;
use loopx_rules::stage::Stage;
use loopx_rules::stop;
use loopx_rules::stop::{Build, BuildOwner, Driver, Judged, Ledger, Ruling};
use loopx_rules::task::prompt;
use loopx_store::{Session, Snapshot, Store};
use serde_json::{Value, json};

/// The answer of a hook: one document on stdout, or nothing, and perhaps a word on stderr.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub stdout: Option<String>,
    pub note: Option<String>,
}

/// Answers one call. `input` is what the host wrote.
pub(crate) fn answer(host: Host, event: &str, input: &[u8]) -> Answer {
    let Some(moment) = host.moment(event) else {
        return Answer::default();
    };
    // What is not UTF-8 may still be readable around it.
    let text = String::from_utf8_lossy(input);
    let input = serde_json::from_str(&text).unwrap_or(Value::Null);
    let decision = if env::var(env::LOOPX).as_deref() == Some("0") || !input.is_object() {
        Decision::Allow
    } else {
        decide(host, moment, &host.read(&input)).unwrap_or(Decision::Allow)
    };
    let note = match &decision {
        Decision::Nudge(text) => Some(text.clone()),
        _ => None,
    };
    Answer {
        stdout: host.answer(event, &decision).map(|said| said.to_string()),
        note,
    }
}

fn decide(host: Host, moment: Moment, call: &Call) -> Result<Decision> {
    let reading = match (moment, &call.command) {
        (Moment::PreTool, Some(line)) => guard::read(line),
        _ => guard::Reading::default(),
    };
    if moment == Moment::PreTool && reading.offence.is_none() && !reading.builds {
        return Ok(Decision::Allow);
    }
    if let Some(cwd) = &call.cwd {
        // A folder that is gone: the one that we were started in has to do.
        drop(env::enter(cwd));
    }
    match moment {
        Moment::PreTool => pre_tool(call, &reading),
        Moment::Stop | Moment::SubagentStop => stops(host, moment, call),
        Moment::SessionStart => session_start(call),
        Moment::Prompt => prompt(call),
    }
}

/// The session of the branch that is checked out, where there is an active one.
struct Bound<'r> {
    snapshot: Snapshot<'r>,
    session: Session,
}

fn bound<'r>(ctx: &'r Context, store: &Store<'r>) -> Result<Option<Bound<'r>>> {
    let Some(tip) = ctx.repo.find_ref(&store.branch_ref())? else {
        return Ok(None);
    };
    let Some(branch) = ctx.repo.head()?.branch else {
        return Ok(None);
    };
    let snapshot = Snapshot::at(&ctx.repo, tip, store.branch())?;
    // Of several nobody knows whose work it is: none of them keeps anybody from stopping.
    let bound = snapshot.bound_to(&branch)?;
    let [id] = bound.as_slice() else {
        return Ok(None);
    };
    let session = snapshot.session(id)?;
    Ok(session
        .filter(|session| session.state.is_active())
        .map(|session| Bound { snapshot, session }))
}

/// The build of this worktree, as far as refs and records tell.
pub(crate) fn build_of(ctx: &Context, state: &State, now: i64) -> Option<Build> {
    if state.stage != Stage::Build || ctx.repo.work_dir().is_none() {
        return None;
    }
    let facts = &state.build;
    let token = lease::token(&ctx.repo);
    let owner = match leases::standing(facts.claim.as_ref(), token.as_deref(), now) {
        leases::Standing::Held(_) => BuildOwner::Elsewhere,
        leases::Standing::Free | leases::Standing::Dead(_) => BuildOwner::Nobody,
        leases::Standing::Own { .. } => BuildOwner::Here {
            agent: facts.claim.as_ref().and_then(|c| c.value.agent.clone()),
            alive: facts.claim.as_ref().is_some_and(|c| leases::until(c) > now),
        },
    };
    let runs = |status| matches!(status, DelegationStatus::Active);
    Some(Build {
        session: state.id.to_string(),
        key: format!("{}/{}/{}", state.uid, state.plan.run, facts.fresh_after),
        owner,
        blocked: facts.blocked.is_some(),
        delegated: facts
            .delegations
            .iter()
            .filter(|d| d.blocking && runs(d.status))
            .count(),
    })
}

fn stops(host: Host, moment: Moment, call: &Call) -> Result<Decision> {
    let ctx = Context::open_in_hook()?;
    let store = ctx.store()?;
    let Some(bound) = bound(&ctx, &store)? else {
        return Ok(Decision::Allow);
    };
    let now = ctx.repo.now();
    let Some(build) = build_of(&ctx, &bound.session.state, now) else {
        return Ok(Decision::Allow);
    };
    // Before anything is written: who has no build here leaves no trace.
    let asked = |ledger: &Ledger| {
        stop::decide(host, moment, call, now, Some(&build), ledger, || {
            judge(&ctx, &bound).ok()
        })
    };
    let ruling = ledger::update(&ctx.repo, |ledger| {
        let ruling = asked(ledger);
        ledger.clone_from(&ruling.ledger);
        ruling
    })?;
    // What cannot be recorded (no identity, a read-only repository) changes no decision.
    drop(record(&ctx, call, &bound, &ruling));
    Ok(ruling.decision)
}

/// Notes on the session who builds, and that an agent was let go.
fn record(ctx: &Context, call: &Call, bound: &Bound<'_>, ruling: &Ruling) -> Result<()> {
    let agent = call.session.as_deref().and_then(leases::agent_name);
    let claim = &bound.session.state.build.claim;
    let owner = lease::owner(&ctx.repo, agent)?;
    if let Some((cause, why)) = &ruling.record {
        let missing = judge(ctx, bound)?.missing;
        let event = Event::Blocked {
            cause: *cause,
            missing: missing.into_iter().map(|(code, _)| code).collect(),
        };
        act_beside(ctx, Needs::Stage, |facts| {
            super::super::stages::in_build(facts)?;
            let act = Act::new(event.clone(), format!("blocked, {cause}"), ());
            Ok(act
                .reason(Some(why.clone()))
                .claim(lease::hold(facts, &owner)?))
        })?;
        return Ok(());
    }
    let stale = matches!(
        leases::standing(claim.as_ref(), Some(&owner.token), ctx.repo.now()),
        leases::Standing::Own { fresh: false }
    );
    // A stop that was let through says nothing of who builds.
    if !matches!(ruling.decision, Decision::Block(_)) || !(ruling.adopt || stale) {
        return Ok(());
    }
    act_beside(ctx, Needs::Stage, |facts| {
        super::super::stages::in_build(facts)?;
        let claim = lease::adopt(facts, &owner)?;
        Ok(Act::new(Event::Claimed, "claim the build", ()).claim(claim))
    })
    .map(drop)
}

/// Judges the hand-off on the present code.
fn judge(ctx: &Context, bound: &Bound<'_>) -> Result<Judged> {
    let status = view::status_of(ctx, &bound.snapshot, &bound.session)?;
    let missing: Vec<(String, String)> = status
        .blockers
        .iter()
        .map(|blocker| (blocker.word(), blocker.message.clone()))
        .collect();
    let code = ctx.code()?;
    let parts = json!({
        "head": code.as_ref().and_then(|code| code.head.clone()),
        "index": ctx.repo.index_digest()?,
        "worktree": code.map(|code| code.tree),
        "record": record_of(&bound.session.state),
        "edits": edits(ctx, &bound.session.state, &status)?,
        "missing": missing,
    });
    Ok(Judged {
        missing,
        next: line(&for_agent(ctx, &status), 300),
        fingerprint: Oid::to_string(&ctx.repo.hash_blob(parts.to_string().as_bytes())?),
    })
}

/// Lists the artifacts that are edited in the working copy and not saved yet: writing them is progress, too.
fn edits(ctx: &Context, state: &State, status: &view::Status) -> Result<Vec<Value>> {
    let Some(copy) = WorkCopy::open(&ctx.repo, &state.id)? else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for (artifact, status) in &status.working_copy {
        if !matches!(
            status,
            FileStatus::Clean | FileStatus::Absent | FileStatus::Behind
        ) {
            let bytes = files::read(&copy.path(*artifact)?, u64::MAX)?.unwrap_or_default();
            found.push(json!([artifact, status, ctx.repo.hash_blob(&bytes)?]));
        }
    }
    Ok(found)
}

/// The command that leads on, for somebody who has no editor to open.
fn for_agent(ctx: &Context, status: &view::Status) -> String {
    let next = match &status.advised.next {
        // An agent knows that it writes code; what else is asked for is named to it.
        Next::Write => {
            let asked = status
                .blockers
                .iter()
                .find_map(|blocker| blocker.help.lead());
            asked.unwrap_or_else(|| status.advised.advice.clone())
        }
        _ => status.advised.clone().into_hint(),
    };
    match next
        .command()
        .filter(|command| command.verb() == Verb::Edit)
    {
        Some(command) => {
            let artifact = command.args();
            format!(
                "edit {}/{artifact}, then: {}",
                ctx.folder(&status.session),
                command!("save")
            )
        }
        None => next.to_string(),
    }
}

/// The facts of the session about its build, without times and numbers: a step that is only repeated is no
/// progress.
fn record_of(state: &State) -> Value {
    let build = &state.build;
    let evidence: Vec<Value> = state
        .evidence
        .iter()
        .map(|e| {
            json!([
                e.value.what,
                e.value.task,
                e.value.argv,
                e.value.exit,
                e.value.tree
            ])
        })
        .collect();
    let lanes: Vec<Value> = build
        .lanes
        .iter()
        .map(|(lane, report)| json!([lane, report.value.status, report.value.tree]))
        .collect();
    let waived: Vec<&String> = build.waivers.keys().collect();
    json!([
        state.artifacts,
        evidence,
        lanes,
        waived,
        build.delegations,
        build.no_deslop
    ])
}

/// A short word on where the work stands, for an agent that begins or whose memory was compacted.
fn session_start(call: &Call) -> Result<Decision> {
    let ctx = Context::open_in_hook()?;
    let store = ctx.store()?;
    let Some(bound) = bound(&ctx, &store)? else {
        return Ok(Decision::Allow);
    };
    let status = view::status_of(&ctx, &bound.snapshot, &bound.session)?;
    let title: String = line(&status.title, 100);
    let mut lines = vec![format!(
        "This branch belongs to the git loopx session {} (\"{title}\"), stage {}.",
        status.session, status.stage
    )];
    if let Some(claim) = &status.claim {
        let ends = if claim.alive { "until" } else { "lease ended" };
        let words = line(&claim.words, 200);
        lines.push(format!("Build owner: {words}, {ends} {}.", claim.until));
    }
    if let Some(block) = &status.blocked {
        let why = block.reason.as_deref().unwrap_or_default();
        lines.push(format!(
            "Stamped as blocked:{} ({}).",
            block.value.cause,
            line(why, 200)
        ));
    }
    if let Some(parked) = &status.parked {
        lines.push(format!(
            "Parked: {}. `{}` takes it up.",
            line(&parked.why, 200),
            command!("agent resume")
        ));
    }
    let agent = call.session.as_deref().and_then(leases::agent_name);
    let card = task::card_here(&ctx, &bound.snapshot, &bound.session, agent);
    match card.unwrap_or(None) {
        Some(card) => {
            let commands: Vec<String> = prompt::commands(&card)
                .iter()
                .map(Hint::to_string)
                .collect();
            lines.push(prompt::prompt(&card, "", &commands, false));
        }
        None => {
            lines.extend(not_met(&ctx, &status));
            lines.extend(rules_at(&ctx, status.stage));
        }
    }
    lines.push(format!(
        "`{}` shows all of it. Git hooks hold the gates; do not pass over them.",
        command!("status")
    ));
    let text: String = lines.join("\n").chars().take(MAX_TEXT).collect();
    Ok(Decision::Inject(text))
}

/// The documents of rules that apply at a stage, and the command that prints them.
fn rules_at(ctx: &Context, stage: Stage) -> Option<String> {
    let rules = Applying::here(ctx).at(stage, &[]);
    let named: Vec<String> = rules
        .iter()
        .map(|one| {
            let blob = one.blob.as_deref().unwrap_or_default();
            format!("{} ({})", one.path, blob.get(..10).unwrap_or(blob))
        })
        .collect();
    (!named.is_empty()).then(|| {
        format!(
            "Rules that apply: {}. `{}` prints them.",
            line(&named.join(", "), 1000),
            command!("rule load --stage {stage}")
        )
    })
}

/// Names what the session waits for, and the command that leads on, where no task does.
fn not_met(ctx: &Context, status: &view::Status) -> Vec<String> {
    let codes: Vec<String> = status.blockers.iter().take(5).map(|b| b.word()).collect();
    let codes =
        (!codes.is_empty()).then(|| format!("Not met yet: {}.", line(&codes.join(", "), 300)));
    let next = format!("Next: {}", line(&for_agent(ctx, status), 200));
    codes.into_iter().chain([next]).collect()
}

/// Makes one line of a text, without control characters and of at most `max` characters.
fn line(text: &str, max: usize) -> String {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    flat.chars().filter(|c| !c.is_control()).take(max).collect()
}

/// A person spoke: a row of blocks ends here. What holds the build is worth a word.
fn prompt(call: &Call) -> Result<Decision> {
    let is_ours = call.prompt.as_deref().is_some_and(stop::is_block_text);
    if is_ours || call.subagent.is_some() {
        return Ok(Decision::Allow);
    }
    let ctx = Context::open_in_hook()?;
    let store = ctx.store()?;
    let Some(bound) = bound(&ctx, &store)? else {
        return Ok(Decision::Allow);
    };
    let state = &bound.session.state;
    let Some(build) = build_of(&ctx, state, ctx.repo.now()) else {
        return Ok(Decision::Allow);
    };
    let agent = call.session.as_deref().and_then(leases::agent_name);
    let known = ledger::peek(&ctx.repo);
    if known.row > 0 && known.build == build.key && (agent.is_none() || known.agent == agent) {
        ledger::update(&ctx.repo, Ledger::breathe)?;
    }
    let parked = known
        .parked
        .filter(|parked| parked.told && known.build == build.key);
    Ok(match (parked, &state.build.blocked) {
        (Some(parked), _) => Decision::Inject(format!(
            "The build of git loopx session {} is parked: {}. `git loopx agent resume` takes it up.",
            state.id,
            line(&parked.why, 300)
        )),
        (None, Some(block)) => Decision::Inject(format!(
            "The build of git loopx session {} is recorded as blocked:{} ({}). The next build step, or `git loopx agent resume`, ends that.",
            state.id,
            block.value.cause,
            line(block.reason.as_deref().unwrap_or_default(), 300)
        )),
        _ => Decision::Allow,
    })
}

fn pre_tool(call: &Call, reading: &guard::Reading) -> Result<Decision> {
    if let Some(offence) = &reading.offence {
        for dir in &offence.dirs {
            // Where it leads cannot be said (`cd "$X"`): then from here.
            drop(env::enter(dir));
        }
    }
    let ctx = Context::open_in_hook()?;
    let store = ctx.store()?;
    if let Some(offence) = &reading.offence
        && let Some(reason) = refusal(&ctx, &store, offence)?
    {
        return Ok(Decision::Block(reason));
    }
    if reading.builds
        && let Some(agent) = call.session.as_deref().and_then(leases::agent_name)
        && bound(&ctx, &store)?.is_some()
    {
        let at = ctx.repo.now();
        ledger::update(&ctx.repo, |ledger| {
            ledger.driver = Some(Driver { agent, at });
        })?;
    }
    Ok(Decision::Allow)
}

/// The reason why a command is refused; `None` where nothing of ours is at stake.
fn refusal(ctx: &Context, store: &Store<'_>, offence: &Offence) -> Result<Option<String>> {
    let bound = bound(ctx, store)?;
    let what = line(&offence.what, 200);
    let by_person = "If it has to be, ask the person to type it.";
    Ok(match (&offence.kind, bound) {
        (OffenceKind::Ref(name), bound) => {
            let head = ctx.repo.head()?.branch;
            let is_bound = |name: &str| {
                bound.is_some()
                    && (name == "HEAD"
                        || head.is_some_and(|head| {
                            name == head || name == format!("refs/heads/{head}")
                        }))
            };
            let is_ours = name.starts_with("refs/loopx/") || *name == store.branch_ref();
            let guarded =
                (is_ours && ctx.repo.find_ref(&store.branch_ref())?.is_some()) || is_bound(name);
            guarded.then(|| {
                format!(
                    "`{what}` moves {} by hand, past every gate of git loopx. `git loopx status` shows the command that leads on. {by_person}",
                    line(name, 200)
                )
            })
        }
        (_, None) => None,
        (kind, Some(bound)) => {
            let state = &bound.session.state;
            let past = match kind {
                OffenceKind::Plumbing => "makes a commit without git's hooks",
                _ => "passes over git's hooks",
            };
            Some(format!(
                "`{what}` {past}, which hold the gates of git loopx session {} (stage {}); `git loopx verify` would find it. `git loopx status` shows the command that leads on. {by_person}",
                state.id, state.stage
            ))
        }
    })
}
