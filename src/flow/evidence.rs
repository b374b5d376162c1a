//! `run`: runs a command, streams it, and records what happened as evidence for the code it ran on.

use super::context::Context;
use super::stages::code_tree;
use super::transaction::{Act, Done, Facts, Needs, act};
use super::verify::Words;
use super::workcopy::WorkCopy;
use super::{bound_here, checks, lease, policy_checks, policy_moved, sign, task, trust};
use loopx_base::failure::{Blocker, Code, Failure, Result};
use loopx_base::hint::{Hint, command, hint};
use loopx_base::id::Oid;
use loopx_base::shell_word;
use loopx_git::Repo;
use loopx_git::capture::{MOST, Recording, TAIL, Watch, record};
use loopx_rules::artifact::Artifact;
use loopx_rules::brief;
use loopx_rules::change_pack;
use loopx_rules::checks::{Check, checks, checks_now};
use loopx_rules::op::{Event, Evidence};
use loopx_rules::policy::Policy;
use loopx_rules::session::State;
use loopx_rules::stage::Stage;
use loopx_rules::task::plan;
use loopx_rules::texts::Texts;
use loopx_store::{Session, Snapshot, left_out};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The part of an output that is kept on the branch: this much of the beginning and of the end.
pub(crate) const LOG_HALF: u64 = TAIL as u64;

/// The options of `run`.
#[derive(Clone, Debug)]
pub(crate) struct RunRequest {
    pub task: Option<String>,
    pub what: String,
    /// Empty: the task's own verification.
    pub argv: Vec<String>,
    /// Sign the record.
    pub sign: bool,
    /// Set when the check may run, whoever wrote it.
    pub trust: bool,
}

/// The result of a run.
#[derive(Debug)]
pub(crate) struct Ran {
    pub evidence: Evidence,
    pub not_started: Option<String>,
    /// Set when policy counts the run; nothing where policy counts every run.
    pub counts: Option<bool>,
    /// Set when the run is what a check of the session says.
    pub is_check: bool,
    /// The seconds that the run had, where they were over.
    pub limit: Option<u64>,
    /// The reason why the code here may be another change's.
    pub stray: Option<String>,
}

/// The number of files that a command changed and that are named in its record.
const NAMED: usize = 8;

/// Runs and records. `live` gets the output as it comes.
pub(crate) fn run(
    ctx: &Context,
    request: &RunRequest,
    live: impl Write + Send,
) -> Result<Done<Ran>> {
    // Judged before the command runs: an hour of tests must not end in "no identity".
    ctx.repo.identity()?;
    let allowed = allowed(ctx, request)?;
    let run = CheckRun::of(ctx, request, &allowed, live)?;
    let mut done = act(ctx, Needs::Code, |facts| run.act(ctx, facts))?;
    lease::works(ctx);
    let said = (
        format!("the run is recorded for {}", done.id),
        "the look at whether policy counts it",
    );
    let counts = counts(ctx, &allowed.policy, &done.state);
    let counts = ctx.follow(said, command!("status"), counts);
    done.value.counts = counts.flatten();
    Ok(done)
}

/// A run that may be made here.
struct Allowed {
    session: Session,
    policy: Policy,
    argv: Vec<String>,
    check: Option<Check>,
    /// Set when the run takes nobody's build: a role proves, or whoever has the task.
    is_apart: bool,
    is_own_task: bool,
}

/// The run that was asked for, where somebody may make it here.
fn allowed(ctx: &Context, request: &RunRequest) -> Result<Allowed> {
    let store = ctx.store()?;
    let session = ctx.session_to_change(&store.snapshot()?)?;
    super::transaction::load_active(&store.snapshot()?, &session.state.id)?;
    bound_here::require_no_other(ctx, &session.state)?;
    let (argv, check) = argv(ctx, &session.state, request)?;
    let (policy, _) = ctx.policy_if_there(&session.state)?;
    // Whoever proves by role is no builder, and takes the build from nobody.
    let is_role = request.sign && !policy.evidence.by.is_empty();
    let is_own_task = match &request.task {
        Some(task) => task::is_taken_here(ctx, &session.state, task)?,
        None => false,
    };
    // Whoever has a task here proves it here, whosever the build is.
    let is_apart = is_role || is_own_task;
    if !is_apart {
        lease::check(ctx, &session.state)?;
    }
    let at = (&store.snapshot()?, &session);
    require_may_run(ctx, at, &policy, request, check.as_ref())?;
    if let Some(copy) = WorkCopy::open(&ctx.repo, &session.state.id)? {
        copy.require_savable(&session.state)?;
    }
    Ok(Allowed {
        session,
        policy,
        argv,
        check,
        is_apart,
        is_own_task,
    })
}

/// A command that ran.
struct CheckRun<'r> {
    request: &'r RunRequest,
    allowed: &'r Allowed,
    recording: Recording,
    output: Output,
    /// The code before the run.
    before: Option<Oid>,
    started: String,
    /// Set when the command ran at the top of the worktree.
    is_top: bool,
    /// The seconds that the run had, where they were over.
    limit: Option<u64>,
}

impl<'r> CheckRun<'r> {
    fn of(
        ctx: &Context,
        request: &'r RunRequest,
        allowed: &'r Allowed,
        live: impl Write + Send,
    ) -> Result<Self> {
        let (cwd, is_top) = folder(ctx, request)?;
        require_nothing_hidden(ctx)?;
        let before = ctx.code()?.map(|code| code.tree);
        let started = ctx.repo.identity()?.at;
        let limit = limit(ctx, allowed, request)?;
        // Whoever proves a task here may build here, too; a build of somebody else is left alone.
        let holds = (
            !allowed.is_apart || allowed.is_own_task,
            request.task.as_deref().filter(|_| allowed.is_own_task),
        );
        let recording = attended(ctx, holds, (&allowed.argv, &cwd, limit), live)?;
        Ok(CheckRun {
            request,
            allowed,
            output: Output::of(&ctx.repo, &recording)?,
            before,
            started,
            is_top,
            limit: limit.filter(|_| recording.is_over),
            recording,
        })
    }

    /// The record of the run.
    fn act(&self, ctx: &Context, facts: &Facts<'_>) -> Result<Act<Ran>> {
        let after = code_tree(facts)?;
        let (task, brief) = match &self.request.task {
            Some(task) => (Some(task.clone()), None),
            None if self.is_top => own_check(facts, &self.allowed.argv, self.recording.exit),
            None => (None, None),
        };
        let evidence = self.evidence(&ctx.repo, task, after)?;
        let what = subject(&evidence);
        let ran = Ran {
            evidence: evidence.clone(),
            not_started: self.recording.not_started.clone(),
            counts: None,
            is_check: self.allowed.check.is_some(),
            limit: self.limit,
            stray: bound_here::stray(ctx, &facts.state)?,
        };
        let mut act = Act::new(Event::Ran { evidence }, what, ran).word(self.request.sign);
        act.log = Some(self.output.log.clone());
        if let Some(text) = brief {
            act = act.write(Artifact::Brief, text);
        }
        if facts.state.stage == Stage::Build && !self.allowed.is_apart {
            let owner = lease::owner(&ctx.repo, None)?;
            // Taken over while the command ran: what it showed is true all the same.
            act.claim = lease::hold(facts, &owner).unwrap_or_default();
        }
        Ok(act)
    }

    /// The evidence of the run, of a task or of none; `after` is the code after the run.
    fn evidence(&self, repo: &Repo, task: Option<String>, after: Oid) -> Result<Evidence> {
        let mut changed = match &self.before {
            Some(before) if *before != after => repo.changed_paths(Some(before), &after)?,
            _ => Vec::new(),
        };
        changed.truncate(NAMED);
        Ok(Evidence {
            what: self.request.what.clone(),
            task,
            argv: self.allowed.argv.clone(),
            exit: self.recording.exit,
            started: self.started.clone(),
            millis: self.recording.millis,
            tree_kept: self.before.as_ref() == Some(&after),
            changed,
            tree: self.before.clone().unwrap_or(after),
            output: self.output.whole.clone(),
            output_bytes: self.recording.bytes,
            truncated: self.output.is_cut,
            limit: self.limit,
        })
    }
}

/// The blobs of an output.
struct Output {
    /// The part of the output that is kept on the branch.
    log: Oid,
    /// Set when not all of the output is kept.
    is_cut: bool,
    whole: Oid,
}

impl Output {
    fn of(repo: &Repo, recording: &Recording) -> Result<Self> {
        let (log, is_cut) = kept(recording)?;
        let log = repo.write_blob(&log)?;
        // An output that is nowhere whole has the name of what is kept of it.
        let whole = if recording.bytes > MOST {
            log.clone()
        } else {
            repo.hash_file(recording.output.path())?
        };
        Ok(Output { log, is_cut, whole })
    }
}

/// The folder that a command runs in, and whether it is the top of the worktree.
fn folder(ctx: &Context, request: &RunRequest) -> Result<(PathBuf, bool)> {
    let top = worktree(ctx)?;
    // What verifies a task is the same wherever it is typed: in another folder a like-named script would pass for it.
    let cwd = match &request.task {
        Some(_) => top.to_path_buf(),
        None => loopx_base::env::current_dir().unwrap_or_else(|_| top.to_path_buf()),
    };
    let is_top = cwd.canonicalize().ok() == top.canonicalize().ok();
    Ok((cwd, is_top))
}

fn worktree(ctx: &Context) -> Result<&Path> {
    ctx.repo.work_dir().ok_or_else(|| {
        Failure::usage(
            Code::WorktreeRequired,
            "evidence needs a worktree, and the repository is bare",
        )
        .help("git worktree add ../work")
    })
}

/// Requires that no file differs from the tree that git sees behind git's back: a run is recorded for that tree.
fn require_nothing_hidden(ctx: &Context) -> Result<()> {
    let hidden = ctx.repo.hidden_edits()?;
    let Some(first) = hidden.first() else {
        return Ok(());
    };
    let paths: Vec<&str> = hidden.iter().map(|one| one.path.as_str()).collect();
    Err(Failure::refused(
        Code::WorktreeHidden,
        format!(
            "{} differs from the committed file, and git was told not to look at the file: a run here is no evidence for the committed code",
            paths.join(", ")
        ),
    )
    .help(look_again((&first.path, first.look_again))))
}

/// Command after which git looks at a file again.
pub(crate) fn look_again((path, option): (&str, &str)) -> Hint {
    let word = shell_word(&format!(":/{path}"));
    Hint::git(format!("update-index {option} {word}"))
}

/// Requires that somebody agreed to what is run: the target's policy, whoever typed the words, or a person who was
/// asked.
fn require_may_run(
    ctx: &Context,
    (snapshot, session): (&Snapshot<'_>, &Session),
    policy: &Policy,
    request: &RunRequest,
    check: Option<&Check>,
) -> Result<()> {
    if is_of_role(ctx, &session.state, policy, request)? {
        let target = policy_moved::of_target(ctx, &session.state)?;
        let asked = target.as_ref().unwrap_or(policy);
        return match check.filter(|check| check.is_of_policy()) {
            // What the target's policy has, somebody agreed to when the target took it.
            Some(check) => policy_checks::require_of(target.as_ref(), check, &session.state),
            None => require_agreed(ctx, snapshot, session, asked),
        };
    }
    // Whoever types the words agrees to them.
    match check.filter(|_| request.argv.is_empty()) {
        Some(check) => require_trusted(ctx, (snapshot, session), policy, (check, request.trust)),
        None => Ok(()),
    }
}

/// The line of the log for a run.
fn subject(evidence: &Evidence) -> String {
    let command = loopx_store::one_line(&evidence.argv.join(" "));
    let command: String = command.chars().take(60).collect();
    match (&evidence.task, evidence.exit) {
        (Some(task), Some(0)) => format!("{task} passes `{command}`"),
        (Some(task), _) => format!("{task} fails `{command}`"),
        (None, Some(0)) => format!("run `{command}`: passes"),
        (None, _) => format!("run `{command}`: fails"),
    }
}

/// The seconds that the check of a task may take, where its plan says so.
fn limit(ctx: &Context, allowed: &Allowed, request: &RunRequest) -> Result<Option<u64>> {
    if allowed.check.is_none() {
        return Ok(None);
    }
    let state = &allowed.session.state;
    let texts = check_texts(ctx, state, request, &allowed.policy)?;
    let nodes = plan::now(&texts, state).unwrap_or_default();
    let node = nodes
        .iter()
        .find(|node| Some(node.id.as_str()) == request.task.as_deref());
    Ok(node.and_then(|node| node.time_limit))
}

/// Runs a command, and keeps what is held meanwhile: the build, a task.
fn attended(
    ctx: &Context,
    (has_build, task): (bool, Option<&str>),
    (argv, cwd, limit): (&[String], &Path, Option<u64>),
    live: impl Write + Send,
) -> Result<Recording> {
    let lease = u64::from(lease::owner(&ctx.repo, None)?.seconds);
    // A lease that cannot be renewed runs out, as it would without us.
    let mut tick = || {
        if let Some(task) = task {
            drop(task::renew(ctx, task));
        }
        if has_build {
            drop(lease::renew(ctx));
        }
    };
    let watch = Watch {
        limit: limit.map(Duration::from_secs),
        every: Some(Duration::from_millis((lease * 250).max(500))),
        tick: &mut tick,
    };
    record(argv, cwd, live, watch)
}

/// The check that a command is, where it is a check word for word; and the brief with it, where a session has a brief
/// and this is a command that passed and is no check of it yet.
fn own_check(
    facts: &Facts<'_>,
    argv: &[String],
    exit: Option<i32>,
) -> (Option<String>, Option<String>) {
    let id_of = |texts: &Texts, of_policy: &[Check]| {
        let own = checks(texts, of_policy).into_iter();
        let mut own = own.filter(|check| check.argv == argv);
        own.next().map(|check| check.id)
    };
    let known = id_of(&facts.texts, &[]);
    if known.is_some() {
        return (known, None);
    }
    // A session that got another profile may have no check but those of the brief that it began with.
    let has_brief = facts.view().profile().asks(Artifact::Brief)
        || checks(&facts.texts, &facts.policy_checks).is_empty();
    let is_open = facts.state.is_open(Artifact::Brief);
    let brief = brief::of(&facts.texts).filter(|_| has_brief && is_open && exit == Some(0));
    match brief.and_then(|text| brief::with_check(text, argv)) {
        // The words of policy stand in the brief, too: there they prove the scenarios of its delta.
        Some(text) => {
            let texts = Texts::from([(Artifact::Brief, text.clone())]);
            (id_of(&texts, &[]), Some(text))
        }
        None => (id_of(&facts.texts, &facts.policy_checks), None),
    }
}

/// Tells whether policy counts the newest operation of a session as a run; nothing where policy counts every run.
fn counts(ctx: &Context, policy: &Policy, state: &State) -> Result<Option<bool>> {
    if policy.evidence.by.is_empty() {
        return Ok(None);
    }
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let Some(session) = snapshot.find(&state.id)? else {
        return Ok(None);
    };
    let known = sign::gather(ctx, policy, &snapshot, &session, sign::Depth::Ahead, None)?;
    let mut counted = known.evidence.iter().flatten();
    Ok(Some(counted.any(|run| run.op == state.last)))
}

/// Tells whether a check is run with the key of a role: it then asks for the approval of the plan as policy wants it.
fn is_of_role(ctx: &Context, state: &State, policy: &Policy, request: &RunRequest) -> Result<bool> {
    if !request.sign || request.task.is_none() {
        return Ok(false);
    }
    if !policy.evidence.by.is_empty() {
        return Ok(true);
    }
    let target = policy_moved::of_target(ctx, state)?;
    Ok(target.is_some_and(|target| !target.evidence.by.is_empty()))
}

/// Refuses the check of a task that nobody here agreed to run: the words that were read once and are about to run, and
/// not those that its file has by now.
fn require_trusted(
    ctx: &Context,
    at: (&Snapshot<'_>, &Session),
    policy: &Policy,
    (check, is_told): (&Check, bool),
) -> Result<()> {
    let task = &check.id;
    let again = command!("run --task {task} --trust");
    trust::require(
        ctx,
        at,
        policy,
        std::slice::from_ref(check),
        (is_told, again),
    )
}

/// Refuses to run what a slice says in the place where a role's key lies, before the plan that has the slice was
/// approved as the target's policy wants it: whoever may push could write any command there.
fn require_agreed(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    session: &Session,
    policy: &Policy,
) -> Result<()> {
    let state = &session.state;
    let refused = |why: &str, blockers: Vec<Blocker>| {
        let message = format!("session {}: {why}, and a role runs nothing else", state.id);
        let help = command!("status").session(&state.id);
        Err(Failure::refused(Code::CheckNotAgreed, message)
            .blockers(blockers)
            .help(help))
    };
    let profile = policy.profiles.get(&state.profile);
    if !profile.is_ok_and(|profile| profile.has_stage(Stage::Plan)) {
        return refused(
            "its profile has no plan that somebody approves before the command runs",
            Vec::new(),
        );
    }
    if matches!(state.stage, Stage::Clarify | Stage::Plan) {
        return refused(
            "the plan that names the command is not approved yet",
            Vec::new(),
        );
    }
    let own = sign::own_commits(ctx, policy, state)?;
    let words = Words {
        session: &state.id,
        operations: &snapshot.operations(session)?,
        signatures: &snapshot.signatures(session)?,
        commits: &own,
        reviewed: None,
        strays: &[],
    };
    let faults = words.faults(ctx, policy, &[])?;
    if faults.is_empty() {
        Ok(())
    } else {
        refused(
            "the plan that names the command is not approved as policy wants it",
            faults,
        )
    }
}

/// The command: as typed, or what the check says; and the check that it is of.
fn argv(
    ctx: &Context,
    state: &State,
    request: &RunRequest,
) -> Result<(Vec<String>, Option<Check>)> {
    let Some(task) = &request.task else {
        return if request.argv.is_empty() {
            Err(Failure::usage(
                Code::CommandMissing,
                "expected a command after `--`, or a task that has one",
            )
            .help(command!("run -- COMMAND")))
        } else {
            Ok((request.argv.clone(), None))
        };
    };
    let (policy, _) = ctx.policy_if_there(state)?;
    let texts = check_texts(ctx, state, request, &policy)?;
    let mut checks = checks_now(&texts, state, &policy.all_checks());
    policy_checks::add_of_target(ctx, state, request, &mut checks)?;
    let is_meant = |check: &&Check| check.id == *task;
    let said = checks.iter().filter(is_meant);
    let said = said.clone().find(|check| check.argv == request.argv);
    let Some(check) = said.or_else(|| checks.iter().find(is_meant)) else {
        checks::require_list(ctx, state, &policy)?;
        let ids: Vec<&str> = checks.iter().map(|check| check.id.as_str()).collect();
        let near = loopx_base::nearest(task, ids.iter().copied());
        let failure = Failure::not_found(
            Code::SliceUnknown,
            if ids.is_empty() {
                format!("no check is named `{task}`: the session has none")
            } else {
                format!("no check is named `{task}`; there are {}", ids.join(", "))
            },
        );
        return Err(match near {
            Some(near) => failure.help(command!("run --task {near}")),
            None => failure.help(match change_pack::present(&texts).first() {
                Some(file) => command!("cat {file}"),
                None => command!("status"),
            }),
        });
    };
    if check.argv.is_empty() && request.argv.is_empty() {
        return Err(Failure::usage(
            Code::CommandMissing,
            format!("no command proves {task}: a person has to look, and to say what they saw"),
        )
        .help(command!(
            "build --waive {task} --reason WHY{}",
            policy.sign_flag()
        )));
    }
    if request.argv.is_empty() || request.argv == check.argv {
        return Ok((check.argv.clone(), Some(check.clone())));
    }
    let command = request.argv.iter().map(|word| shell_word(word));
    let command: Vec<String> = command.collect();
    Err(Failure::usage(
        Code::CheckHasCommand,
        format!(
            "{task} has a command of its own, and a run of another command is no evidence for it"
        ),
    )
    .help(hint![
        command!("run --task {task}"),
        "  or, as a note: ",
        command!("run -- {}", command.join(" "))
    ]))
}

/// The texts in which the checks stand. A role's word is about what is stored; a person runs what the files say here
/// and now.
fn check_texts(
    ctx: &Context,
    state: &State,
    request: &RunRequest,
    policy: &Policy,
) -> Result<Texts> {
    if !request.sign || policy.evidence.by.is_empty() {
        return super::transaction::texts_here(ctx, state, policy);
    }
    let mut texts = Texts::default();
    super::transaction::read_texts(&ctx.repo, state, &mut texts)?;
    ctx.share_list(&mut texts);
    Ok(texts)
}

/// The kept part of an output: all of it, or its beginning and its end.
fn kept(recording: &Recording) -> Result<(Vec<u8>, bool)> {
    let (mut file, bytes) = (recording.output.as_file(), recording.bytes);
    let doing = |error: std::io::Error| {
        Failure::internal(Code::RunFailed, error.to_string()).context("read the output back")
    };
    let mut read = |length: u64| -> Result<Vec<u8>> {
        let mut part = Vec::new();
        file.rewind().map_err(doing)?;
        file.take(length).read_to_end(&mut part).map_err(doing)?;
        Ok(part)
    };
    if bytes <= 2 * LOG_HALF {
        return Ok((read(bytes)?, false));
    }
    let mut log = read(LOG_HALF)?;
    log.extend(left_out(bytes - 2 * LOG_HALF).into_bytes());
    log.extend(&recording.tail);
    Ok((log, true))
}
