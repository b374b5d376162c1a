//! `doctor`: the environment and the repository in one look; and the three things that only it does:
//! put the branch back to what this clone knew, go on from what is there, take away what is proven to
//! be left over.

use super::bundle;
use super::context::Context;
use super::files;
use super::fsck;
use super::gone;
use super::hooks;
use super::journal::{self, Scope};
use super::leftover;
use super::point::under_way;
use super::upstream;
use super::workcopy::{self, WorkCopy};
use loopx_base::failure::{Code, Failure, Kind, Result};
use loopx_base::hint::{Hint, command};
use loopx_base::id::{Oid, SessionId};
use loopx_git::Repo;
use loopx_git::run::Run;
use loopx_hosts::hooks::Row;
use loopx_rules::agent_identity as agent;
use loopx_rules::policy::Policy;
use loopx_rules::settings;
use loopx_store::check::Mend;
use loopx_store::{Accepted, Left, Recovered, RefLock, Standing, Store};
use serde::Serialize;
use std::path::Path;

/// The gravity of what a check found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Level {
    Fine,
    /// Works, and is worth a look.
    Note,
    /// A thing does not work.
    Problem,
}

/// The result of a look at one thing.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Check {
    /// Stable snake_case name, for machines.
    pub what: &'static str,
    pub level: Level,
    pub found: String,
    /// The command that leads on.
    pub help: Option<Hint>,
}

fn check(what: &'static str, level: Level, found: impl Into<String>) -> Check {
    Check {
        what,
        level,
        found: found.into(),
        help: None,
    }
}

impl Check {
    fn help(mut self, help: impl Into<Hint>) -> Self {
        self.help = Some(help.into());
        self
    }

    fn failed(what: &'static str, failure: Failure) -> Self {
        Check {
            help: failure.help,
            ..check(what, Level::Problem, failure.message)
        }
    }
}

/// Looks at everything. What cannot be looked at is a finding, never an end.
pub(crate) fn look(ctx: &Context) -> Result<Vec<Check>> {
    ctx.repo.compare_hashes();
    let store = ctx.store()?;
    Ok(vec![
        git_version(),
        worktree(ctx),
        identity(ctx),
        durable(ctx),
        settings(ctx),
        policy(ctx),
        signers(ctx),
        branch(ctx, &store),
        shadow(&store),
        lock(&store),
        ref_locks(&store),
        leftovers(ctx),
        landings(ctx),
        displaced(&store),
        copies(ctx, &store),
        sessions(ctx),
        bases(ctx, &store),
        bound(ctx, &store),
        hooks(),
        merge_drivers(ctx),
        old_roots(ctx),
    ])
}

/// The drivers that `.gitattributes` names are set up in each clone for itself.
fn merge_drivers(ctx: &Context) -> Check {
    match super::driver::not_set_up(ctx).as_slice() {
        [] => check("merge_drivers", Level::Fine, "every merge driver that .gitattributes names is set up"),
        names => check(
            "merge_drivers",
            Level::Note,
            format!(
                ".gitattributes names {}, which this clone has not: git merges those files line by line",
                names.join(" and ")
            ),
        )
        .help(command!("spec install-driver")),
    }
}

/// Roots of the JavaScript program.
fn old_roots(ctx: &Context) -> Check {
    let roots = ctx.repo.work_dir().map(super::old_root::roots);
    match roots.unwrap_or_default().as_slice() {
        [] => check("old_roots", Level::Fine, "no root of loopx 0.x is there"),
        [root] => check(
            "old_roots",
            Level::Note,
            format!("{root} is a root of loopx 0.x"),
        )
        .help(command!("import loopx --dry-run")),
        many => check(
            "old_roots",
            Level::Problem,
            format!("mixed: {} are roots of loopx 0.x", many.join(" and ")),
        )
        .help(command!("import loopx {}", many[0]).note("(the one that counts)")),
    }
}

fn git_version() -> Check {
    let said = Run::git(["version"]).capture().and_then(|said| said.line());
    match said {
        Ok(line) => check("git", Level::Fine, String::from_utf8_lossy(&line).trim()),
        Err(failure) => Check::failed("git", failure),
    }
}

/// A linked worktree that was moved by hand works, and git takes its files here for lost after a while.
fn worktree(ctx: &Context) -> Check {
    match ctx.repo.noted_elsewhere() {
        None => check(
            "worktree",
            Level::Fine,
            "the worktree is in the folder that git recorded",
        ),
        Some(noted) => check(
            "worktree",
            Level::Note,
            format!(
                "the worktree was moved: git recorded it at {}",
                noted.display()
            ),
        )
        .help("git worktree repair"),
    }
}

fn identity(ctx: &Context) -> Check {
    match ctx.repo.identity() {
        Ok(identity) => check("identity", Level::Fine, identity.author.to_string()),
        Err(failure) => Check::failed("identity", failure),
    }
}

fn settings(ctx: &Context) -> Check {
    let faults = settings::faults(|key| ctx.repo.config(key));
    if faults.is_empty() {
        check("settings", Level::Fine, "every setting has a valid value")
    } else {
        check("settings", Level::Problem, faults.join("; "))
            .help("git config --show-origin --get-regexp '^loopx\\.'")
    }
}

/// The policy that the next session would start from.
fn policy(ctx: &Context) -> Check {
    match super::specs::policy(ctx).map(|policy| policy.warnings()) {
        Ok(warnings) if warnings.is_empty() => {
            check("policy", Level::Fine, "every key of loopx.toml is known")
        }
        Ok(warnings) => check("policy", Level::Note, warnings.join("; "))
            .help(command!("config schema").note("(the keys that there are)")),
        Err(failure) => Check::failed("policy", failure),
    }
}

/// The keys that the next session would trust.
fn signers(ctx: &Context) -> Check {
    let Ok(policy) = super::specs::policy(ctx) else {
        return check(
            "signers",
            Level::Note,
            "not looked at: the policy cannot be read",
        );
    };
    let remarks = super::signers::of_policy(&policy);
    let said: Vec<String> = remarks
        .iter()
        .map(|one| format!("{}:{}: {}", policy.approve.signers, one.line, one.message))
        .collect();
    match (said.is_empty(), policy.trust.signers.is_some()) {
        (false, _) => {
            check("signers", Level::Note, said.join("; ")).help(command!("signers check"))
        }
        (true, false) if policy.asks_signatures() => check(
            "signers",
            Level::Problem,
            format!(
                "policy asks for signatures, and there is no {}",
                policy.approve.signers
            ),
        )
        .help("git add loopx.signers  (a line for each person: ADDRESS PUBLIC-KEY)"),
        (true, _) => check("signers", Level::Fine, "each key is for named people only"),
    }
}

fn durable(ctx: &Context) -> Check {
    if ctx.repo.is_durable() {
        check(
            "fsync",
            Level::Fine,
            "each step is synced to the disk (loopx.fsync)",
        )
    } else {
        check(
            "fsync",
            Level::Note,
            "loopx.fsync is off: a power cut can take the newest steps away",
        )
        .help("git config loopx.fsync true")
    }
}

fn branch(ctx: &Context, store: &Store<'_>) -> Check {
    let name = store.branch();
    if let Ok(Some(path)) = ctx.repo.checked_out_in(&store.branch_ref()) {
        let found = format!("`{name}` is checked out in {}", path.display());
        return check("branch", Level::Problem, found).help(loopx_store::LEAVE);
    }
    let shadow = store.shadow();
    let lost = |failure: Failure| {
        let mut check = Check::failed("branch", failure);
        if let Some(known) = remembered(store) {
            check.found = format!("{}; {known}", check.found);
        }
        check.help(command!("doctor --recover"))
    };
    let tip = match ctx.repo.find_ref(&store.branch_ref()) {
        Ok(tip) => tip,
        Err(failure) => return lost(failure),
    };
    if let Some(tip) = tip.as_ref().filter(|tip| !store.is_readable(tip)) {
        let failure = store.read().err().unwrap_or_else(|| {
            let found = format!("`{name}` stands at {}, which cannot be read", tip.short());
            Failure::internal(Code::ObjectDamaged, found)
        });
        if !KNOWN_FORMATS.contains(&failure.code) {
            return lost(failure);
        }
        return Check::failed("branch", failure);
    }
    let standing = match store.standing(shadow.as_ref(), tip.as_ref()) {
        Ok(standing) => standing,
        Err(failure) => {
            return Check::failed("branch", failure).help(command!("doctor --recover"));
        }
    };
    let at = |id: Option<&Oid>| id.map_or("nothing", |id| id.short()).to_owned();
    let recover = command!("doctor --recover").note("(or --accept)");
    match (standing, &tip) {
        (Standing::New, None) => {
            let found = format!("there is no branch `{name}`");
            check("branch", Level::Note, found).help(command!("init"))
        }
        (Standing::Gone | Standing::Rewound | Standing::Replaced, _) => {
            let found = format!(
                "`{name}` stands at {}, and this clone had it at {}",
                at(tip.as_ref()),
                at(shadow.as_ref())
            );
            let help = if standing == Standing::Gone {
                command!("init")
            } else {
                recover
            };
            check("branch", Level::Problem, found).help(help)
        }
        (_, Some(tip)) => match store.by_hand(shadow.as_ref(), tip) {
            Ok(None) => check(
                "branch",
                Level::Fine,
                format!("`{name}` at {}", tip.short()),
            ),
            Ok(Some(commit)) => {
                let found = format!("the commit {} was made by hand", commit.short());
                check("branch", Level::Problem, found).help(recover)
            }
            Err(failure) => Check::failed("branch", failure),
        },
        (_, None) => check("branch", Level::Note, "nothing"),
    }
}

/// A branch that these say is no damage of this repository.
const KNOWN_FORMATS: [Code; 2] = [Code::FormatNewer, Code::BranchForeign];

/// Names the state that a recovery would go back to.
fn remembered(store: &Store<'_>) -> Option<String> {
    let known = store.shadow().filter(|known| store.is_readable(known));
    if let Some(known) = known {
        return Some(format!("this clone knew it at {}", known.short()));
    }
    let known = store.remembered()?;
    Some(format!(
        "git's log of it has {} as the last state that can be read",
        known.short()
    ))
}

/// Histories that a recovery put aside.
fn displaced(store: &Store<'_>) -> Check {
    match store.displaced() {
        Ok(kept) if kept.is_empty() => check("displaced", Level::Fine, "nothing was put aside"),
        Ok(kept) => {
            let names: Vec<String> = kept
                .iter()
                .map(|(name, tip)| format!("{name} at {}", tip.short()))
                .collect();
            check("displaced", Level::Note, names.join(", ")).help(
                "git log --oneline REF  (and drop one that nobody misses: git update-ref -d REF)",
            )
        }
        Err(failure) => Check::failed("displaced", failure),
    }
}

/// Working copies that no session needs.
fn copies(ctx: &Context, store: &Store<'_>) -> Check {
    let left = match store.read() {
        Ok(Some(snapshot)) => leftover::look(&ctx.repo, &snapshot),
        // What the branch is like was said already.
        Ok(None) | Err(_) => Ok(Vec::new()),
    };
    if let Some(failure) = unread_copy(ctx, store) {
        return Check::failed("copies", failure);
    }
    match left {
        Ok(left) if left.is_empty() => check(
            "copies",
            Level::Fine,
            "every working copy belongs to a session",
        ),
        Ok(left) => {
            let names: Vec<String> = left
                .iter()
                .map(|one| format!("{} ({})", one.name, one.why))
                .collect();
            let check = check("copies", Level::Note, names.join(", "));
            if left.iter().any(|one| one.is_stored && !one.is_here) {
                check
                    .help(command!("doctor --fix").note("(takes away what is stored as it stands)"))
            } else {
                check.help("look at them: nothing else has what is in them")
            }
        }
        Err(failure) => Check::failed("copies", failure),
    }
}

/// The failure of the first working copy of a session that cannot be read here: a link, something that is no file, or a
/// refusal of the system.
fn unread_copy(ctx: &Context, store: &Store<'_>) -> Option<Failure> {
    let snapshot = store.read().ok()??;
    let names = files::entries(&ctx.repo.work_dir()?.join(workcopy::FOLDER));
    let ids = names.iter().filter_map(|name| SessionId::parse(name).ok());
    let mut looked = ids.map(|id| {
        let Some(session) = snapshot.session(&id)? else {
            return Ok(());
        };
        if let Some(copy) = WorkCopy::open(&ctx.repo, &id)? {
            copy.statuses(&session.state)?;
        }
        Ok(())
    });
    looked.find_map(|looked: Result<()>| {
        let codes = [
            Code::SymlinkRefused,
            Code::FileExpected,
            Code::FolderExpected,
            Code::FileFailed,
        ];
        looked.err().filter(|failure| codes.contains(&failure.code))
    })
}

fn shadow(store: &Store<'_>) -> Check {
    let name = store.shadow_ref();
    match store.repo().find_ref(&name) {
        Ok(Some(id)) => check("shadow", Level::Fine, format!("{name} at {}", id.short())),
        Ok(None) => check(
            "shadow",
            Level::Note,
            format!("{name} comes with the next step"),
        ),
        Err(failure) => Check::failed("shadow", failure).help(command!("doctor --fix")),
    }
}

fn lock(store: &Store<'_>) -> Check {
    match store.holder() {
        Some(who) => check(
            "lock",
            Level::Note,
            format!("{who} is at work, or was killed"),
        ),
        None => check("lock", Level::Fine, "nobody is writing"),
    }
}

/// Lock files of refs. One that somebody left behind stops every writer.
fn ref_locks(store: &Store<'_>) -> Check {
    let locks = store.ref_locks();
    if locks.is_empty() {
        return check("ref_locks", Level::Fine, "none");
    }
    let is_any = |left: Left| locks.iter().any(|lock| lock.left == left);
    let (level, help) = if is_any(Left::ByNobody) {
        (Level::Problem, command!("doctor --fix"))
    } else if is_any(Left::ByUs) {
        (Level::Note, command!("doctor --fix"))
    } else {
        (
            Level::Note,
            "try again; if no git process is running, remove that file from the git dir".into(),
        )
    };
    let names: Vec<String> = locks
        .into_iter()
        .map(|RefLock { name, left }| match left {
            Left::ByUs if !name.starts_with("refs/") => {
                format!("{name}.lock: a git loopx is landing something, or was killed")
            }
            Left::ByUs => format!("{name}.lock: a git loopx is moving that ref, or was killed"),
            Left::ByNobody => format!("{name}.lock: left behind, no git is at work here"),
            Left::Unknown if !name.starts_with("refs/") => {
                format!("{name}.lock: a git is writing that file, or was killed")
            }
            Left::Unknown => format!("{name}.lock: a git is moving that ref, or was killed"),
        })
        .collect();
    check("ref_locks", level, names.join(", ")).help(help)
}

fn leftovers(ctx: &Context) -> Check {
    let left = left_over(&ctx.repo);
    match left.as_slice() {
        [] => check("leftovers", Level::Fine, "none"),
        left => check("leftovers", Level::Note, left.join(", ")).help(command!("doctor --fix")),
    }
}

/// Checks the landings: those that have not followed everywhere are a problem.
fn landings(ctx: &Context) -> Check {
    let mut left = journal::unfinished(&ctx.repo);
    left.extend(under_way::unfinished(&ctx.repo));
    match left.as_slice() {
        [] => check("landings", Level::Fine, "all finished"),
        left => check("landings", Level::Problem, left.join("; ")).help(command!("doctor --fix")),
    }
}

fn left_over(repo: &Repo) -> Vec<String> {
    let top = repo.common_dir();
    let name = |path: &Path| {
        let inside = repo
            .work_dir()
            .and_then(|work| path.strip_prefix(work).ok());
        let path = path.strip_prefix(&top).ok().or(inside).unwrap_or(path);
        path.display().to_string()
    };
    let mut left: Vec<String> = repo.unfinished_packs().iter().map(|p| name(p)).collect();
    left.extend(repo.unfinished_workshop().map(|path| name(&path)));
    left.extend(repo.abandoned_objects().iter().map(|path| name(path)));
    left.extend(repo.abandoned_files().iter().map(|path| name(path)));
    let refs = bundle::left_over(repo).unwrap_or_default();
    left.extend(refs.into_iter().map(|(name, _)| name));
    left
}

fn sessions(ctx: &Context) -> Check {
    match fsck::fsck(ctx, fsck::Depth::New, false) {
        Ok(checked) if checked.damages.is_empty() => {
            let found = format!("{} active, all whole", checked.sessions);
            check("sessions", Level::Fine, found)
        }
        Ok(checked) => {
            let first = checked.damages.first();
            let what =
                first.map_or_else(String::new, |one| format!("{}: {}", one.session, one.what));
            let found = format!("{} damaged, first {what}", checked.damages.len());
            check("sessions", Level::Problem, found).help(command!("fsck --repair"))
        }
        // Said of the branch already.
        Err(failure) if failure.code == Code::NotInitialised => {
            check("sessions", Level::Fine, "none")
        }
        Err(failure) if UNREADABLE.contains(&failure.code) => Check::failed("sessions", failure)
            .help("git fsck  (and put back what it names from another clone or a backup)"),
        Err(failure) => Check::failed("sessions", failure),
    }
}

/// Codes of failures by which an object cannot be read: to look here again leads nowhere.
const UNREADABLE: [Code; 3] = [Code::ObjectDamaged, Code::ObjectMissing, Code::GitFailed];

/// Checks that the commits are here from which the active sessions start.
fn bases(ctx: &Context, store: &Store<'_>) -> Check {
    let found = || -> Result<Vec<Failure>> {
        let Some(snapshot) = store.read()? else {
            return Ok(Vec::new());
        };
        let mut missing = Vec::new();
        for id in snapshot.active_ids()? {
            // What cannot be read is said elsewhere.
            if let Ok(Some(session)) = snapshot.session(&id) {
                missing.extend(
                    ctx.policy_if_there(&session.state)
                        .ok()
                        .and_then(|got| got.1),
                );
            }
        }
        Ok(missing)
    };
    match found() {
        Err(_) => check("bases", Level::Fine, "not looked at"),
        Ok(missing) => match missing.split_first() {
            None => check(
                "bases",
                Level::Fine,
                "each session starts from a commit that is here",
            ),
            Some((first, rest)) => {
                let more = match rest.len() {
                    0 => String::new(),
                    more => format!(", and {more} more"),
                };
                let level = if ctx.repo.is_shallow() {
                    Level::Note
                } else {
                    Level::Problem
                };
                let found = format!("{}{more}", first.message);
                check("bases", level, found).help(first.help.clone().unwrap_or_default())
            }
        },
    }
}

/// Checks that the branches are here that active sessions are bound to: one that was renamed or deleted holds no gate. A
/// branch that somebody else did not push yet is no fault of this clone.
fn bound(ctx: &Context, store: &Store<'_>) -> Check {
    let (mut missing, mut awaited) = (Vec::new(), Vec::new());
    if let Ok(Some(snapshot)) = store.read() {
        for (_, session) in snapshot.active().unwrap_or_default() {
            // What cannot be read is said elsewhere.
            let Ok(session) = session else { continue };
            let state = &session.state;
            let Some(failure) = upstream::missing(ctx, state).ok().flatten() else {
                continue;
            };
            match &state.branch {
                Some(branch) if gone::is_with_others(ctx, state, branch).unwrap_or(false) => {
                    let (who, id) = (&state.touched.by.name, &state.id);
                    awaited.push(format!("`{branch}` of session {id} is not here, and {who} may not have pushed it yet"));
                }
                _ => missing.push(failure),
            }
        }
    }
    let more = |rest: usize| match rest {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    if let Some((first, rest)) = missing.split_first() {
        let found = format!("{}{}", first.message, more(rest.len()));
        return check("bindings", Level::Problem, found)
            .help(first.help.clone().unwrap_or_default());
    }
    match awaited.split_first() {
        Some((first, rest)) => check(
            "bindings",
            Level::Note,
            format!("the branch {first}{}", more(rest.len())),
        ),
        None => check(
            "bindings",
            Level::Fine,
            "the branch of each session is here",
        ),
    }
}

/// Checks the hooks, as `hooks status` sees them.
fn hooks() -> Check {
    let seen = hooks::read().and_then(|repository| hooks::status(&repository));
    let rows = match seen {
        Ok(rows) => rows,
        Err(failure) => return Check::failed("hooks", failure),
    };
    if !rows.iter().any(Row::expected) {
        return check("hooks", Level::Note, "not installed").help(command!("hooks install"));
    }
    let counted = |fires| rows.iter().filter(|row| row.fires == fires).count();
    match (counted(Some(true)), counted(None), counted(Some(false))) {
        (firing, 0, 0) => check("hooks", Level::Fine, format!("{firing} fire")),
        (firing, unproven, 0) => {
            let found = format!("{firing} fire, {unproven} not proven");
            check("hooks", Level::Fine, found).help(command!("hooks status"))
        }
        (_, _, silent) => {
            let found = format!("{silent} do not fire");
            check("hooks", Level::Problem, found).help(command!("hooks status"))
        }
    }
}

/// Puts the branch back to what this clone knew.
pub(crate) fn recover(ctx: &Context) -> Result<Recovered> {
    let identity = ctx.repo.identity()?;
    let store = ctx.store()?;
    let lock = store.lock()?;
    store.recover(&lock, &identity)
}

/// Goes on from the branch as it is, if its sessions are whole; also where there is none any more.
pub(crate) fn accept(ctx: &Context) -> Result<Accepted> {
    // What the branch lost may be a person's word, in any session.
    let agent = agent::host(loopx_base::env::var);
    let what = "accepting the branch without the records that it had";
    agent::require_person(&Policy::default(), agent.as_deref(), what)?;
    let store = ctx.store()?;
    let lock = store.lock()?;
    let damages = fsck::damages(ctx, &store)?;
    // What no commit mends holds nobody up.
    let mut mendable = damages.iter().filter(|one| one.mend != Mend::Rewind);
    if let Some(first) = mendable.next() {
        return Err(Failure::new(
            Kind::Refused,
            Code::BranchDamaged,
            format!("{}: {}", first.session, first.what),
        )
        .help(command!("fsck --repair").note("(accepts the branch and repairs it)")));
    }
    store.accept(&lock)
}

/// The result of a repair.
#[derive(Debug, Default)]
pub(crate) struct Fixed {
    /// Leftovers that are gone.
    pub removed: Vec<String>,
    /// Landings that have followed everywhere now.
    pub finished: Vec<String>,
}

/// Takes away what is proven to be left over: our lock is held, so nobody of ours is at work. Then finishes
/// what landed. A step that fails takes back nothing: the failure says what is gone.
pub(crate) fn fix(ctx: &Context) -> Result<Fixed> {
    let mut fixed = Fixed::default();
    match take_away(ctx, &mut fixed) {
        Ok(()) => Ok(fixed),
        Err(mut failure) => {
            let parts = [("removed", &fixed.removed), ("finished", &fixed.finished)];
            for (word, what) in parts.into_iter().filter(|(_, what)| !what.is_empty()) {
                let said = format!("; {word} before that: {}", what.join(", "));
                failure.message.push_str(&said);
            }
            Err(failure)
        }
    }
}

/// Files and locks that somebody left, and that still stand.
struct LeftFiles {
    files: Vec<String>,
    locks: Vec<RefLock>,
}

/// Names what is gone by now. The lock of a landing that was finished is none: it is the index.
fn tell_gone(ctx: &Context, store: &Store<'_>, before: &mut LeftFiles, fixed: &mut Fixed) {
    let stays = left_over(&ctx.repo);
    let held = store.ref_locks();
    let files = std::mem::take(&mut before.files);
    let (stay, gone): (Vec<_>, Vec<_>) = files.into_iter().partition(|one| stays.contains(one));
    before.files = stay;
    fixed.removed.extend(gone);
    let is_held = |one: &RefLock| held.iter().any(|held| held.name == one.name);
    let (stay, gone): (Vec<_>, Vec<_>) = std::mem::take(&mut before.locks)
        .into_iter()
        .partition(is_held);
    before.locks = stay;
    let is_finished = !fixed.finished.is_empty();
    let is_placed =
        |one: &RefLock| is_finished && one.left == Left::ByUs && !one.name.starts_with("refs/");
    let gone = gone.into_iter().filter(|one| !is_placed(one));
    let names = gone.map(|one| format!("{}.lock", one.name));
    fixed.removed.extend(names);
}

fn take_away(ctx: &Context, fixed: &mut Fixed) -> Result<()> {
    ctx.repo.compare_hashes();
    let store = ctx.store()?;
    let mut before = LeftFiles {
        files: left_over(&ctx.repo),
        locks: store.ref_locks(),
    };
    let lock = store.lock()?;
    ctx.repo.clear_unfinished_packs();
    ctx.repo.clear_abandoned_objects();
    let cleared = store.clear_abandoned_ref_locks(&lock);
    // What holds these refs holds nothing else up.
    let swept = bundle::sweep(&ctx.repo);
    tell_gone(ctx, &store, &mut before, fixed);
    cleared?;
    let shadow = store.shadow_ref();
    if ctx.repo.find_ref(&shadow).is_err() && ctx.repo.set_aside_broken_ref(&shadow)? {
        fixed.removed.push(shadow);
        if store.read()?.is_some() {
            store.accept(&lock)?;
        }
    }
    // A failure here keeps nobody from the rest.
    let mut failed = None;
    if let Ok(Some(snapshot)) = store.read() {
        match leftover::remove(&ctx.repo, &snapshot) {
            Ok(gone) => fixed.removed.extend(gone),
            Err(failure) => failed = Some(failure),
        }
    }
    under_way::take_back(ctx);
    // What is left is a commit of somebody: without a name there is none. The branch may be damaged, too:
    // the checks say so.
    if let Ok(identity) = ctx.repo.identity() {
        let scope = Scope {
            ctx,
            store: &store,
            lock: &lock,
            identity: &identity,
        };
        fixed.finished.extend(scope.finish().done());
    }
    // Only now: a landing that was killed is finished with its files, and holds the index until then.
    ctx.repo.clear_abandoned_files();
    // Again: without the file beside it the lock of an index is nobody's.
    let cleared = store.clear_abandoned_ref_locks(&lock);
    tell_gone(ctx, &store, &mut before, fixed);
    cleared?;
    drop(ctx.repo.sync_ref(&store.branch_ref()));
    match failed {
        Some(failure) => Err(failure),
        None => swept.map(drop),
    }
}
