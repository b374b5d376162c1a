//! `sync`: fetches the branch of the sessions into its remote-tracking ref, brings both together, and
//! pushes the result by compare-and-swap, again and again until both sides agree or the rounds are up.
//!
//! What the other side does not take is left here and said in one message; nothing is ever forced.

mod follow;
pub(super) mod guard;

pub(super) use follow::{follow, move_renamed};

use super::context::Context;
use super::issue;
use super::issue::apart::{ApartIssue, LostClaim, News, OpenParts, OverLimit};
use super::transaction::read_texts;
use super::watched::Watched;
use super::write_scope::Opening;
use loopx_base::env;
use loopx_base::failpoint::reach;
use loopx_base::failure::{Code, Failure, Kind, Result};
use loopx_base::hint::{command, hint};
use loopx_base::id::{Oid, SessionId};
use loopx_git::remote::{Answer, Fetched, Line};
use loopx_git::run::Run;
use loopx_rules::gate;
use loopx_rules::moved::Moved;
use loopx_rules::push_rejection::Refusal;
use loopx_rules::session::State;
use loopx_rules::settings::{AUTO_SYNC, SyncPoint};
use loopx_rules::task::plan;
use loopx_rules::texts::Texts;
pub(crate) use loopx_store::{Flaw, LeftBehind, MergedSession, RemovedByRemote};
use loopx_store::{Linear, Meeting, Met, Renamed, Shared, Snapshot, Store};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

/// Number of times that the other side may move while we push.
const ROUNDS: u32 = 5;
/// Seconds for one fetch or push, where `loopx.syncTimeout` says nothing.
const LIMIT: u64 = 120;
/// Seconds for a sync that a push started, where `loopx.syncOnPushTimeout` says nothing.
const LIMIT_ON_PUSH: u64 = 10;

/// Arguments of `sync`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Request {
    pub remote: Option<String>,
    pub dry_run: bool,
    pub no_fetch: bool,
    pub no_push: bool,
    /// Set when nobody can answer a question of git.
    pub unattended: bool,
}

/// Result of a sync.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub remote: String,
    pub branch: String,
    pub dry_run: bool,
    /// Tip of the branch now; in a dry run, the tip that it would get.
    pub tip: Oid,
    /// The remote's tip that was fetched.
    pub remote_tip: Option<Oid>,
    /// `nothing`, `created`, `forward`, `merged`, `replayed`.
    pub met: &'static str,
    /// Commits that came, and commits that the remote did not have.
    pub received: usize,
    pub sent: usize,
    pub pushed: bool,
    pub rounds: u32,
    /// The sessions in which something came, beside what was here.
    pub moved: Vec<Moved>,
    /// Sessions that both sides had changed.
    pub merged: Vec<MergedSession>,
    pub renamed: Vec<Renamed>,
    pub shared: Vec<Shared>,
    /// Content that was here, and that the remote's branch had lost.
    pub taken_away: Vec<RemovedByRemote>,
    /// Flaws of the remote's branch against its own records, from which the content was computed.
    pub mended: Vec<Flaw>,
    /// Damage of the remote's branch that was taken, because the same is damaged here too, or because nothing was here.
    pub damaged: Vec<Flaw>,
    /// Set where own commits that no server takes were left behind.
    pub left_behind: Option<LeftBehind>,
    /// Set where the remote's branch does not come from what it was.
    pub set_back: Option<SetBack>,
    /// The active sessions among those that came or went that have an open conflict.
    pub conflicts: Vec<MergedSession>,
    /// The issues that clones wrote or began apart.
    pub apart: Vec<ApartIssue>,
    /// The news of the backlog, by person.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub backlog: Vec<News>,
    /// Claims of issues that do not count since the merge.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lost_claims: Vec<LostClaim>,
    /// People who have more issues in hand than policy lets them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub over_limit: Vec<OverLimit>,
    /// Issues that ended over parts that are open since the merge.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub open_parts: Vec<OpenParts>,
    /// Lists of tasks that are none any more since both sides changed them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<UnreadableList>,
}

/// A list of tasks that two clones made to none: each changed one that could be read.
#[derive(Debug, Serialize)]
pub(crate) struct UnreadableList {
    pub session: SessionId,
    pub message: String,
}

impl Report {
    /// Says what came since the backlog and the sessions stood as before.
    fn take_news(&mut self, ctx: &Context, store: &Store<'_>, before: Option<&Oid>) -> Result<()> {
        if let Some(before) = before {
            self.moved = store.moved(before, &self.tip)?;
        }
        let since = issue::apart::since(ctx, before, &self.tip);
        self.backlog = since.news;
        self.apart = since.apart;
        self.lost_claims = since.lost;
        self.over_limit = since.over_limit;
        self.open_parts = since.open_parts;
        Ok(())
    }

    /// Begins a report in which nothing has come or gone yet.
    fn begin(store: &Store<'_>, request: &Request, remote: &str) -> Result<Self> {
        Ok(Report {
            remote: remote.to_owned(),
            branch: store.branch().to_owned(),
            dry_run: request.dry_run,
            tip: match store.tip()? {
                Some(tip) => tip,
                None => Oid::parse(&"0".repeat(40))?,
            },
            remote_tip: None,
            met: "nothing",
            received: 0,
            sent: 0,
            pushed: false,
            rounds: 0,
            moved: Vec::new(),
            merged: Vec::new(),
            renamed: Vec::new(),
            shared: Vec::new(),
            taken_away: Vec::new(),
            mended: Vec::new(),
            damaged: Vec::new(),
            left_behind: None,
            set_back: None,
            conflicts: Vec::new(),
            apart: Vec::new(),
            backlog: Vec::new(),
            lost_claims: Vec::new(),
            over_limit: Vec::new(),
            open_parts: Vec::new(),
            unreadable: Vec::new(),
        })
    }
}

/// A branch of a remote that was deleted, rewound or replaced there.
#[derive(Debug, Serialize)]
pub(crate) struct SetBack {
    pub had: Oid,
    /// Tip that the remote has; `None` where the branch is gone.
    pub has: Option<Oid>,
}

/// Syncs. git's progress goes to `live`.
pub(crate) fn sync(
    ctx: &Context,
    request: &Request,
    mut live: Option<&mut (dyn Write + Send)>,
) -> Result<Report> {
    let store = ctx.store()?;
    let remote = remote(ctx, request.remote.as_deref())?;
    store.require_undisturbed()?;
    let before = store.tip()?;
    let mut report = Report::begin(&store, request, &remote)?;
    let mut line = Line {
        limit: limit(ctx),
        unattended: request.unattended,
        progress: live.take(),
    };
    while report.rounds < ROUNDS {
        if report.rounds > 0 {
            std::thread::sleep(pause(report.rounds));
        }
        report.rounds += 1;
        let tracking = loopx_git::Repo::tracking_ref(&remote, store.branch());
        let had = ctx.repo.find_ref(&tracking)?;
        report.remote_tip = fetch(ctx, &store, request, &remote, &mut line)?;
        reach("sync-fetched");
        if report.set_back.is_none() {
            report.set_back = set_back(ctx, had, report.remote_tip.as_ref())?;
        }
        meet(ctx, &store, request, &mut report)?;
        if report.received > 0 {
            report.take_news(ctx, &store, before.as_ref())?;
        }
        report.unreadable = unreadable(ctx, &store, &report.merged, before.as_ref())?;
        let there = report.remote_tip.clone();
        report.conflicts = open_conflicts(&store, [before.as_ref(), there.as_ref()], &report)?;
        watch(ctx, &store, &report);
        if there.as_ref() == Some(&report.tip) {
            return Ok(report);
        }
        let known: Vec<Oid> = there.iter().cloned().collect();
        report.sent = ctx.repo.range(&report.tip, &known, usize::MAX)?.len();
        if request.no_push {
            return Ok(report);
        }
        guard::require_no_secrets(ctx, &report.tip, &known)?;
        if request.dry_run {
            return Ok(report);
        }
        let answer = ctx
            .repo
            .push(&remote, store.branch(), &report.tip, &mut line)?;
        let doing = format!("push {} to {remote}", store.branch());
        match answer {
            Answer::Done => {
                reach("sync-pushed");
                report.pushed = true;
                return Ok(report);
            }
            Answer::TimedOut => return Err(timed_out(&doing, line.limit)),
            Answer::No(said) => match Refusal::read(&said) {
                Refusal::Moved => {}
                other => return Err(other.failure(&doing, &remote, store.branch(), &said)),
            },
        }
    }
    Err(Failure::new(
        Kind::Waiting,
        Code::RemoteMoved,
        format!(
            "the branch `{}` of {remote} moved {ROUNDS} times while this was being pushed; everything is merged here and nothing is lost",
            store.branch()
        ),
    )
    .help(command!("sync {remote}")))
}

/// The active sessions whose list of tasks a merge made to none.
fn unreadable(
    ctx: &Context,
    store: &Store<'_>,
    merged: &[MergedSession],
    before: Option<&Oid>,
) -> Result<Vec<UnreadableList>> {
    if merged.is_empty() {
        return Ok(Vec::new());
    }
    let snapshot = store.snapshot()?;
    let before = before.and_then(|tip| Snapshot::at(&ctx.repo, tip.clone(), store.branch()).ok());
    let fault = |state: &State| {
        let mut texts = Texts::default();
        read_texts(&ctx.repo, state, &mut texts).ok()?;
        plan::nodes(&texts).err()
    };
    let mut found = Vec::new();
    for one in merged {
        // What cannot be read holds no sync up: `fsck` names it.
        let session = snapshot.find(&one.session).ok().flatten();
        let state = session.map(|session| session.state);
        let Some(state) = state.filter(State::is_active) else {
            continue;
        };
        // Versions that stand apart are settled first, and are said already.
        if gate::is_apart(&state) {
            continue;
        }
        // What was no list here before is none by the merge.
        let had = before.as_ref().map(|before| before.find(&one.session));
        let had = had.and_then(|had| had.ok().flatten());
        if had.is_some_and(|had| fault(&had.state).is_some()) {
            continue;
        }
        if let Some(blocker) = fault(&state) {
            found.push(UnreadableList {
                session: one.session.clone(),
                message: blocker.message,
            });
        }
    }
    Ok(found)
}

/// The active sessions with an open conflict among those that changed since one of these tips.
fn open_conflicts(
    store: &Store<'_>,
    from: [Option<&Oid>; 2],
    report: &Report,
) -> Result<Vec<MergedSession>> {
    let mut found: BTreeMap<SessionId, MergedSession> = BTreeMap::new();
    for from in from {
        let open = store.open_conflicts(from, &report.tip)?.into_iter();
        found.extend(open.map(|one| (one.session.clone(), one)));
    }
    let merged = report.merged.iter().filter(|one| one.conflicts > 0);
    found.extend(merged.map(|one| (one.session.clone(), one.clone())));
    Ok(found.into_values().collect())
}

/// Finds out whether the remote's branch is behind what it was, or another.
fn set_back(ctx: &Context, had: Option<Oid>, has: Option<&Oid>) -> Result<Option<SetBack>> {
    let Some(had) = had.filter(|had| ctx.repo.contains(had).unwrap_or(false)) else {
        return Ok(None);
    };
    if let Some(has) = has
        && ctx.repo.is_ancestor(&had, has)?
    {
        return Ok(None);
    }
    let has = has.cloned();
    Ok(Some(SetBack { had, has }))
}

/// The tip of the remote's branch, where it has one.
pub(super) fn fetch(
    ctx: &Context,
    store: &Store<'_>,
    request: &Request,
    remote: &str,
    line: &mut Line<'_>,
) -> Result<Option<Oid>> {
    let branch = store.branch();
    if request.no_fetch {
        let tracking = loopx_git::Repo::tracking_ref(remote, branch);
        return ctx.repo.find_ref(&tracking);
    }
    let doing = format!("fetch {branch} from {remote}");
    let mut fetched = ctx.repo.fetch(remote, branch, line)?;
    let mut tries = 0;
    // Another git fetches the same ref: of another worktree, of an editor, of a sync that was killed.
    while let Fetched::Failed(Answer::No(said)) = &fetched
        && Refusal::read(said) == Refusal::Moved
    {
        tries += 1;
        if tries == ROUNDS {
            let said = said.clone();
            return Err(Refusal::Held.failure(&doing, remote, branch, &said));
        }
        std::thread::sleep(pause(tries));
        fetched = ctx.repo.fetch(remote, branch, line)?;
    }
    match fetched {
        Fetched::Tip(tip) => Ok(Some(tip)),
        Fetched::NoBranch => Ok(None),
        Fetched::Empty if request.no_push || request.dry_run => Ok(None),
        Fetched::Empty => Err(Failure::refused(
            Code::RemoteEmpty,
            format!(
                "{remote} has no branch yet; a forge may make the first pushed branch its default branch, and `{branch}` must not become the default branch"
            ),
        )
        .help(hint![format!("git push {remote} HEAD  (a branch with code first), then: "), command!("sync {remote}")])),
        Fetched::Failed(Answer::No(said)) => {
            Err(Refusal::read(&said).failure(&doing, remote, branch, &said))
        }
        Fetched::Failed(Answer::TimedOut | Answer::Done) => Err(timed_out(&doing, line.limit)),
    }
}

/// Brings the branch here and what was fetched together.
fn meet(ctx: &Context, store: &Store<'_>, request: &Request, report: &mut Report) -> Result<()> {
    let ours = store.tip()?;
    let Some(theirs) = &report.remote_tip else {
        // Nothing there: what is here goes there.
        report.tip = store.snapshot()?.commit().clone();
        return Ok(());
    };
    if ours.as_ref() == Some(theirs) {
        report.tip = theirs.clone();
        return Ok(());
    }
    let label = format!("{}/{}", report.remote, report.branch);
    let linear = linear(ctx);
    let identity = ctx.repo.identity()?;
    let known: Vec<Oid> = ours.iter().cloned().collect();
    report.received += ctx.repo.range(theirs, &known, usize::MAX)?.len();
    let meeting = if request.dry_run {
        store.plan_meeting(&identity, theirs, &label, linear)?
    } else {
        let opening = Opening::of(ctx)?;
        let meeting = store.meet(&opening.lock, &identity, theirs, &label, linear)?;
        reach("sync-met");
        let what = ("git loopx sync", &meeting.tip);
        follow(&opening.scope(ctx), what, ours.as_ref());
        reach("sync-followed");
        meeting
    };
    let Meeting {
        met,
        tip,
        merged,
        taken_away,
        mended,
        damaged,
        left_behind,
    } = meeting;
    report.left_behind = left_behind.or(report.left_behind.take());
    report.taken_away.extend(taken_away);
    report.mended.extend(mended);
    report.damaged = damaged;
    report.tip = tip;
    let word = match met {
        Met::Nothing => report.met,
        Met::Forward if ours.is_none() => "created",
        Met::Forward => "forward",
        Met::Merged => "merged",
        Met::Replayed => "replayed",
    };
    report.met = word;
    if let Some(merged) = merged {
        for one in merged.sessions {
            report.merged.retain(|known| known.session != one.session);
            report.merged.push(one);
        }
        report.renamed.extend(merged.renamed);
        report.shared.extend(merged.shared);
    }
    Ok(())
}

/// Choice between a merge commit and a linear history where two sides meet here: `loopx.sync`.
pub(super) fn linear(ctx: &Context) -> Linear {
    match ctx.repo.config("loopx.sync").as_deref() {
        Some("linear") => Linear::OursOnTop,
        _ => Linear::No,
    }
}

/// Remote of a sync: as asked, as configured, the one of this branch, the only one, origin.
pub(super) fn remote(ctx: &Context, wanted: Option<&str>) -> Result<String> {
    let all = ctx.repo.remotes()?;
    let configured = ctx.repo.config("loopx.remote");
    if let Some(name) = wanted.or(configured.as_deref()) {
        if all.iter().any(|known| known == name) {
            return Ok(name.to_owned());
        }
        let near = loopx_base::nearest(name, all.iter().map(String::as_str));
        let help = match near {
            Some(near) => command!("sync {near}"),
            None => match all.first() {
                Some(first) => command!("sync {first}"),
                None => "add one with `git remote add`".into(),
            },
        };
        let message = format!("no remote is named `{name}`");
        return Err(Failure::not_found(Code::RemoteUnknown, message).help(help));
    }
    let upstream = ctx
        .repo
        .head()?
        .branch
        .and_then(|branch| ctx.repo.config(&format!("branch.{branch}.remote")))
        .filter(|name| all.contains(name));
    let origin = || all.iter().find(|name| *name == "origin").cloned();
    match (upstream, all.as_slice()) {
        (Some(upstream), _) => Ok(upstream),
        (None, [only]) => Ok(only.clone()),
        (None, []) => Err(Failure::not_found(
            Code::RemoteMissing,
            "this repository has no remote to sync with",
        )
        .help("add one with `git remote add origin`, and its address")),
        (None, many) => origin().ok_or_else(|| {
            Failure::usage(
                Code::RemoteAmbiguous,
                format!("there are {} remotes: {}", many.len(), many.join(", ")),
            )
            .help(
                command!("sync {}", many[0])
                    .note(format!("(or: git config loopx.remote {})", many[0])),
            )
        }),
    }
}

pub(super) fn limit(ctx: &Context) -> Option<Duration> {
    match seconds(ctx, "loopx.syncTimeout").unwrap_or(LIMIT) {
        0 => None,
        seconds => Some(Duration::from_secs(seconds)),
    }
}

fn seconds(ctx: &Context, key: &str) -> Option<u64> {
    ctx.repo.config(key)?.trim().parse().ok()
}

pub(super) fn timed_out(doing: &str, limit: Option<Duration>) -> Failure {
    let seconds = limit.map_or(0, |limit| limit.as_secs());
    Failure::new(
        Kind::Waiting,
        Code::RemoteTimeout,
        format!("{doing}: no answer within {seconds}s; what is here is whole"),
    )
    .help("git config loopx.syncTimeout SECONDS  (0: as long as it takes)")
}

/// Longer with every round, and not the same for two that meet.
pub(super) fn pause(round: u32) -> Duration {
    let jitter = u64::from(std::process::id())
        .wrapping_mul(2_654_435_761)
        .wrapping_add(u64::from(round) * 7_919)
        % 200;
    Duration::from_millis(u64::from(round) * 50 + jitter)
}

/// `loopx.syncOnPush`: a sync beside a push of the user's, in a process of its own that has only so long.
/// Whatever comes of it, the push goes on; the answer is at most one line.
pub(crate) fn on_push(ctx: &Context, remote: &str) -> Option<String> {
    let wanted = ctx.repo.config("loopx.synconpush");
    let is_on = matches!(wanted.as_deref(), Some("true" | "yes" | "on" | "1"));
    if !is_on || env::var_os(env::LOOPX_SYNCING).is_some() {
        return None;
    }
    let is_known = ctx
        .repo
        .remotes()
        .is_ok_and(|all| all.iter().any(|name| name == remote));
    if !is_known {
        return None;
    }
    let limit = seconds(ctx, "loopx.syncOnPushTimeout").unwrap_or(LIMIT_ON_PUSH);
    let said = |why: &str| Some(format!("git loopx did not sync with {remote}: {why}"));
    let program = match env::program() {
        Ok(program) => program,
        Err(error) => return said(&error.to_string()),
    };
    let run = Run::program(program)
        .args(["--quiet", "sync", "--unattended", remote])
        .env(env::LOOPX_SYNCING, "1");
    match run.capture_within(Some(Duration::from_secs(limit)), &mut std::io::sink()) {
        Ok(None) => said(&format!("no answer within {limit}s")),
        Ok(Some(captured)) if captured.ended.success() => None,
        Ok(Some(captured)) => {
            let stderr = String::from_utf8_lossy(&captured.stderr).into_owned();
            let error = stderr.lines().find_map(|line| line.strip_prefix("error: "));
            match (error, captured.ended.code) {
                (None, code) if code == Kind::Conflict.exit_code() => Some(format!(
                    "git loopx synced with {remote}, and a session has a conflict: {}",
                    command!("sync")
                )),
                (error, _) => said(error.unwrap_or("it failed")),
            }
        }
        Err(failure) => said(&failure.message),
    }
}

/// Tells whether `loopx.autoSync` asks for a sync around this command, and there is somebody to sync with. A sync that
/// runs already is not begun again.
pub(crate) fn is_automatic(ctx: &Context, point: SyncPoint) -> bool {
    let value = ctx.repo.config(AUTO_SYNC).unwrap_or_default();
    point.is_wanted(&value)
        && env::var_os(env::LOOPX_SYNCING).is_none()
        && ctx.repo.remotes().is_ok_and(|all| !all.is_empty())
}

/// Asks the remotes for a branch of sessions, where the clone has not got one: `init` must not begin
/// another beside it. Gives what could not be asked.
pub(crate) fn probe(ctx: &Context, store: &Store<'_>) -> Result<Option<String>> {
    let has_one = store.tip()?.is_some() || ctx.repo.project_ref(store.branch())?.is_some();
    if has_one || ctx.repo.remotes()?.is_empty() {
        return Ok(None);
    }
    let Ok(remote) = remote(ctx, None) else {
        return Ok(None);
    };
    let mut line = Line {
        limit: Some(Duration::from_secs(LIMIT_ON_PUSH)),
        unattended: true,
        progress: None,
    };
    Ok(match ctx.repo.fetch(&remote, store.branch(), &mut line)? {
        Fetched::Tip(_) | Fetched::NoBranch | Fetched::Empty => None,
        Fetched::Failed(_) => Some(remote),
    })
}

/// Begins to watch the claims of tasks that came. What cannot be read now is watched from when somebody asks.
fn watch(ctx: &Context, store: &Store<'_>, report: &Report) {
    let Ok(snapshot) = store.snapshot() else {
        return;
    };
    for moved in &report.moved {
        if let Ok(Some(session)) = snapshot.session(&moved.session) {
            Watched::of(&ctx.repo, &session.state, ctx.now());
        }
    }
}
