//! Beginning and ending sessions, and which branch they belong to.

use super::begin as beginning;
use super::context::Context;
use super::gone;
use super::issue;
use super::journal::Step;
use super::naming;
use super::old_root;
use super::revert;
use super::transaction::{Act, Done, Facts, Needs, act, act_after, differences};
use super::trust;
use super::upstream;
use super::workcopy::{self, WorkCopy};
use super::write_scope::{Opening, first, new_uid, seal};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{Hint, command, hint};
use loopx_base::id::{Oid, SessionId};
use loopx_base::shell_word;
use loopx_rules::artifact::Artifact;
use loopx_rules::issue::IssueId;
use loopx_rules::op::Event;
use loopx_rules::policy::Language;
use loopx_rules::policy::Policy;
use loopx_rules::profile::{Profile, ProfileName};
use loopx_rules::replay::begin;
use loopx_rules::revert::Revert;
use loopx_rules::session::{Ending, State};
use loopx_rules::stage::Stage;
use loopx_rules::template::TemplateInput;
use loopx_store as store;
use loopx_store::{Begun, Decision, Snapshot};
use std::collections::BTreeMap;

/// Result of `init`.
#[derive(Debug)]
pub(crate) struct Initialised {
    pub branch: String,
    /// The new tip; `None` when the branch was there.
    pub created: Option<Begun>,
    /// A remote that may have one, and could not be asked.
    pub unasked: Option<String>,
    /// The sessions that are open there already.
    pub open: Vec<SessionId>,
    /// Roots of loopx 0.x in the worktree.
    pub old_roots: Vec<&'static str>,
}

/// Creates the loopx branch and makes git ignore working copies.
pub(crate) fn init(ctx: &Context) -> Result<Initialised> {
    let identity = ctx.repo.identity()?;
    let store = ctx.store()?;
    let unasked = super::sync::probe(ctx, &store)?;
    let lock = store.lock()?;
    let created = store.init(&lock, &identity)?;
    let done = || format!("the branch {} is there", store.branch());
    let open = store.snapshot().and_then(|snapshot| {
        let active = snapshot.active_ids()?;
        Ok(super::naming::unfinished(&snapshot, active))
    });
    let open = match &created {
        Some(_) => ctx.follow((done(), "the list of its sessions"), command!("list"), open),
        None => Some(open?),
    };
    let mut old_roots = Vec::new();
    if let Some(top) = ctx.repo.work_dir() {
        let excluded = workcopy::exclude_but(&ctx.repo, &old_root::beside_copies(top));
        let left = (done(), "a line in .git/info/exclude for working copies");
        ctx.follow(left, command!("init"), excluded);
        old_roots = old_root::roots(top);
    }
    Ok(Initialised {
        branch: store.branch().to_owned(),
        created,
        unasked,
        open: open.unwrap_or_default(),
        old_roots,
    })
}

/// Arguments of `start`.
#[derive(Debug)]
pub(crate) struct StartRequest {
    /// Name of the change; a session that takes a commit back has a name without one given.
    pub name: Option<String>,
    /// Id of the session; made of the name where nothing is said.
    pub id: Option<String>,
    /// The request as it was given; the name where nothing else was.
    pub intent: Option<String>,
    /// Part of the intent that is asked for, where the program says more beside.
    pub asked: Option<String>,
    /// The profile by name; what git config or policy says where nothing is said.
    pub profile: Option<ProfileName>,
    pub binding: Binding,
    /// The commit to start from; HEAD where nothing is said.
    pub base: Option<String>,
    /// A commit that the session takes back.
    pub revert: Option<String>,
    /// Issues that the session is for.
    pub issues: Vec<IssueId>,
}

#[derive(Debug)]
pub(crate) enum Binding {
    /// The branch that HEAD is on, if it is on one.
    Current,
    Branch(String),
    Unbound,
}

/// A session before it is committed: what was asked for, read against the repository.
struct Beginning<'a> {
    request: &'a StartRequest,
    id: SessionId,
    title: String,
    on_branch: bool,
    branch: Option<String>,
    base: Option<Oid>,
    revert: Option<Revert>,
    policy: Policy,
    chosen: ProfileName,
    profile: Profile,
}

/// Starts a session in the first stage of its profile. Gives the git command of one that takes a commit back.
pub(crate) fn start(ctx: &Context, request: &StartRequest) -> Result<Done<Option<String>>> {
    let beginning = Beginning::read(ctx, request)?;
    let id = beginning.id.clone();
    let opening = Opening::of(ctx)?;
    opening.earlier.check(&id)?;
    let identity = &opening.identity;
    let decide = |snapshot: &Snapshot<'_>| {
        beginning.require_free(ctx, snapshot)?;
        let artifacts = beginning.artifacts(ctx, snapshot)?;
        let uid = new_uid();
        let mut draft = first(identity, &uid, beginning.event(&uid));
        draft.writes = differences(&BTreeMap::new(), &artifacts);
        draft.others = super::intent::numbered(&ctx.repo, request.asked.as_deref())?;
        let op = seal(&ctx.repo, &draft)?;
        trust::keep_own(&ctx.repo, &op);
        let state = begin(&id, &op)?;
        let mut edits = store::Edits::default();
        edits.record(&ctx.repo, None, &op, &state)?;
        let about = (request.issues.as_slice(), &id, uid.as_str());
        let issues = issue::sessions::begin(ctx, snapshot, identity, about, &mut edits)?;
        let message = format!("{}{issues}", store::message(&id, "start", &op, &state));
        Ok(Decision {
            edits,
            message,
            value: state,
        })
    };
    let publish = Step::publish(&ctx.repo, &id, &BTreeMap::new());
    let follows = |_: &State| publish.clone().into_iter().collect();
    let scope = opening.scope(ctx);
    let committed = scope.commit(decide, follows)?;
    Ok(Done {
        commit: committed.commit,
        state: committed.value,
        saved: Vec::new(),
        value: beginning.revert.as_ref().map(Revert::command),
        id,
    })
}

impl<'a> Beginning<'a> {
    fn read(ctx: &Context, request: &'a StartRequest) -> Result<Self> {
        let head = ctx.repo.head()?;
        let base = match &request.base {
            Some(revision) => Some(ctx.repo.resolve_commit(revision)?),
            None => head.commit.clone(),
        };
        let revert = match &request.revert {
            Some(revision) => Some(revert::of(ctx, revision, base.as_ref())?),
            None => None,
        };
        let named =
            |of: fn(&Revert) -> String| request.name.clone().or_else(|| revert.as_ref().map(of));
        let id = match (&request.id, &request.name) {
            (Some(id), _) => SessionId::parse(id)?,
            (None, Some(name)) => SessionId::of_title(name)?,
            (None, None) => SessionId::fold(&named(Revert::name).unwrap_or_default())?,
        };
        let id = numbered_after(ctx, request, id)?;
        let title = named(Revert::title).unwrap_or_default().trim().to_owned();
        let branch = match &request.binding {
            Binding::Current => match beginning::odd(ctx)? {
                Some(odd) => return Err(odd),
                None => head.branch.clone(),
            },
            Binding::Branch(name) => {
                require_of_code(ctx, name)?;
                let then = match ctx.repo.work_dir() {
                    Some(_) => "(and start there)",
                    None => "(and again)",
                };
                require_there(ctx, name, &|_| then.into())?;
                Some(name.clone())
            }
            Binding::Unbound => None,
        };
        // A session that pins a broken policy could go nowhere.
        let policy = match &base {
            Some(base) => {
                let label = format!("{} at {}", loopx_rules::policy::FILE, base.short());
                ctx.policy_at(&ctx.repo.commit_info(base)?.tree, &label)?
            }
            None => Policy::default(),
        };
        let (chosen, profile) = profile_of(ctx, request, &policy)?;
        if let Some(branch) = &branch {
            let leads_on = elsewhere(ctx, request, &id, &title);
            require_unprotected(&policy, branch, leads_on)?;
        }
        // Nothing is committed yet: the first commit brings the policy that lies there.
        if base.is_none()
            && let Some(branch) = &branch
        {
            let policy = beginning::to_come(ctx)?;
            require_unprotected(&policy, branch, beginning::way(ctx)?)?;
        }
        Ok(Self {
            request,
            id,
            title,
            on_branch: head.branch.is_some(),
            branch,
            base,
            revert,
            policy,
            chosen,
            profile,
        })
    }

    /// Refuses an id that a session has, and a branch that a session at work has.
    fn require_free(&self, ctx: &Context, snapshot: &Snapshot<'_>) -> Result<()> {
        if let Some(known) = snapshot.find(&self.id)? {
            let other = format!("--id {} ", free(snapshot, &self.id)?);
            let again = again(self.request, &self.id, &self.title, &other);
            return Err(taken(&known.state, self.back_to(ctx, &known.state)?, again));
        }
        if let Some(branch) = &self.branch
            && let Some(other) = snapshot.bound_to(branch)?.first()
            && let Some(other) = snapshot.session(other)?
            && other.state.is_active()
        {
            return Err(Failure::refused(
                Code::BranchBound,
                format!(
                    "the branch {branch} is bound to session {}, which is in stage {}",
                    other.state.id, other.state.stage
                ),
            )
            .help(elsewhere(ctx, self.request, &self.id, &self.title)));
        }
        Ok(())
    }

    /// The way to a session that has the id: to its branch where that is another one; else this one can be bound to it.
    fn back_to(&self, ctx: &Context, state: &State) -> Result<Option<Hint>> {
        let id = &state.id;
        let here = ctx.head()?.branch;
        match &state.branch {
            Some(own) if self.on_branch && here.as_ref() != Some(own) => {
                ctx.to_branch(id, own).map(Some)
            }
            _ => Ok(self.on_branch.then(|| command!("use {id}"))),
        }
    }

    /// The artifacts that lie there from the beginning, each as a blob.
    fn artifacts(&self, ctx: &Context, snapshot: &Snapshot<'_>) -> Result<BTreeMap<Artifact, Oid>> {
        let intent = self.request.intent.as_deref();
        let language = self.policy.artifacts.language;
        let mut texts = match &self.revert {
            Some(revert) => revert.artifacts(&self.id, &self.title, intent, language),
            None => templates(&self.id, &self.title, intent, &self.profile, language),
        };
        if let Some(list) = texts.get_mut(&Artifact::TaskList) {
            list.push_str(&issue::solution::tasks(snapshot, &self.request.issues)?);
        }
        let texts = texts.into_iter();
        texts
            .map(|(artifact, text)| Ok((artifact, ctx.repo.write_blob(text.as_bytes())?)))
            .collect()
    }

    fn event(&self, uid: &str) -> Event {
        Event::Started {
            uid: uid.to_owned(),
            title: self.title.clone(),
            profile: self.chosen.clone(),
            stage: Some(self.profile.first()).filter(|stage| *stage != Stage::Clarify),
            branch: self.branch.clone(),
            base: self.base.clone(),
            issues: self.request.issues.clone(),
        }
    }
}

/// A session that cannot begin on this branch: on one of its own, or on none.
fn elsewhere(ctx: &Context, request: &StartRequest, id: &SessionId, title: &str) -> Hint {
    let unbound = again(request, id, title, "--no-branch ");
    match ctx.repo.work_dir() {
        Some(_) => hint![
            format!("git switch -c {id}  and start there, or: "),
            unbound
        ],
        // HEAD of a bare repository says what a clone checks out: it is not switched for one session.
        None => hint![
            format!("git branch {id}  and: "),
            again(request, id, title, &format!("--branch {id} ")),
            "  or: ",
            unbound
        ],
    }
}

/// Builds the command for a start once more, in another place or under another name.
fn again(request: &StartRequest, id: &SessionId, title: &str, how: &str) -> Hint {
    let profile = request.profile.as_ref();
    let profile = profile.map_or_else(String::new, |name| format!("--profile {name} "));
    let named = match (&request.id, how.starts_with("--id")) {
        (Some(_), false) => format!("--id {id} "),
        _ => String::new(),
    };
    let revert = request.revert.as_ref();
    let revert = revert.map_or_else(String::new, |commit| format!("--revert {commit} "));
    let issues = for_issues(request);
    let words = format!("{how}{profile}{named}{revert}{issues}{}", titled(title));
    command!("start {words}")
}

/// The issues of a request as words of a command, before its title.
fn for_issues(request: &StartRequest) -> String {
    let issues = request.issues.iter();
    issues.map(|id| format!("--issue {id} ")).collect()
}

/// A title as the last word of a command: behind `--` where it would be read as an option.
fn titled(title: &str) -> String {
    let options_end = if title.starts_with('-') { "-- " } else { "" };
    format!("{options_end}{}", shell_word(title))
}

/// The profile of a new session: what was asked for, else what `git config loopx.profile` says, else what policy says.
fn profile_of(
    ctx: &Context,
    request: &StartRequest,
    policy: &Policy,
) -> Result<(ProfileName, Profile)> {
    let named = match (&request.profile, &request.revert) {
        (Some(name), _) => Some(name.clone()),
        // The documents of a session that takes a commit back are those of the whole path.
        (None, Some(_)) => Some(ProfileName::standard()),
        (None, None) => match ctx.repo.config("loopx.profile") {
            Some(name) => Some(
                ProfileName::parse(&name).map_err(|failure| failure.context("loopx.profile"))?,
            ),
            None => None,
        },
    };
    let name = match named {
        Some(name) => name,
        None => policy.default_profile()?,
    };
    let profile = policy.profiles.get(&name).or_else(|failure| {
        let near = policy.profiles.nearest(&name);
        let near = near.filter(|_| failure.code == Code::ProfileUnknown);
        let title = title_of(ctx, request)?;
        Err(match near {
            Some(near) => failure.help(command!("start --profile {near} {title}")),
            None => failure,
        })
    })?;
    if request.revert.is_some() && !profile.asks(Artifact::Spec) {
        return Err(Failure::usage(
            Code::ProfileForbidden,
            format!("a session that takes a commit back has the profile standard, found {name}"),
        )
        .help(command!("start --profile standard --revert COMMIT")));
    }
    match policy.forbids(&name, &profile) {
        None => Ok((name, profile)),
        Some(why) => {
            let heavier = policy.default_profile()?;
            let what = title_of(ctx, request)?;
            Err(Failure::refused(
                Code::ProfileForbidden,
                format!("policy does not take the profile {name}: {why}"),
            )
            .help(command!(
                "start --profile {heavier} {}{what}",
                for_issues(request)
            )))
        }
    }
}

/// The title that was asked for, else a free one, as a word of a command.
fn title_of(ctx: &Context, request: &StartRequest) -> Result<String> {
    let title = match &request.name {
        Some(name) => name.clone(),
        None => beginning::title(ctx),
    };
    Ok(titled(&title))
}

/// Files that a session begins with.
fn templates(
    id: &SessionId,
    title: &str,
    intent: Option<&str>,
    profile: &Profile,
    language: Language,
) -> BTreeMap<Artifact, String> {
    let input = TemplateInput {
        id,
        title,
        intent: intent.unwrap_or(title),
        domains: &[],
        profile,
        language,
    };
    // A brief says why itself.
    let intent = [Artifact::Intent];
    let intent = intent
        .into_iter()
        .filter(|_| !profile.asks(Artifact::Brief));
    let all = intent.chain(profile.files_of(profile.first()));
    all.map(|artifact| (artifact, artifact.template(input)))
        .collect()
}

/// Refuses a branch that policy protects: what lands there comes from other branches, and a session that held it
/// would stop all of them.
fn require_unprotected(policy: &Policy, branch: &str, leads_on: Hint) -> Result<()> {
    if !policy.protects(branch) {
        return Ok(());
    }
    Err(Failure::refused(
        Code::BranchProtected,
        format!("the branch {branch} is protected: no session can be bound to it"),
    )
    .help(leads_on))
}

/// Refuses a branch that is not there: most likely its name is not quite right. `then` stands behind the command that
/// makes a branch.
fn require_there(ctx: &Context, name: &str, then: &dyn Fn(&str) -> Hint) -> Result<()> {
    let repo = &ctx.repo;
    let is_there = repo.head()?.branch.as_deref() == Some(name)
        || repo.find_ref(&format!("refs/heads/{name}"))?.is_some()
        || !repo.tracking_refs(name)?.is_empty();
    if is_there {
        return Ok(());
    }
    let heads = repo.refs_below("refs/heads/")?;
    let names: Vec<&str> = heads
        .iter()
        .filter_map(|(name, _)| name.strip_prefix("refs/heads/"))
        .collect();
    let make = match repo.work_dir() {
        Some(_) => format!("git switch -c {}  ", shell_word(name)),
        None => format!("git branch {}  ", shell_word(name)),
    };
    let failure = Failure::not_found(Code::BranchUnknown, format!("no branch is named `{name}`"));
    if let Some(own) = upstream::behind_remote(repo, name)? {
        let word = shell_word(&own);
        let make = match repo.work_dir() {
            Some(_) => format!("git switch {word}  "),
            None if names.contains(&own.as_str()) => String::new(),
            None => format!("git branch {word} {}  ", shell_word(name)),
        };
        let make = format!("did you mean `{own}`, the branch behind it? {make}");
        return Err(failure.help(hint![make, then(&own)]));
    }
    Err(match loopx_base::nearest(name, names) {
        Some(near) => failure.help(hint![
            format!("did you mean `{near}`? else: {make}"),
            then(name)
        ]),
        None => failure.help(hint![make, then(name)]),
    })
}

/// The id of a session that does again what an abandoned one did not: that one keeps its id (S-008).
fn numbered_after(ctx: &Context, request: &StartRequest, id: SessionId) -> Result<SessionId> {
    if request.id.is_some() || request.issues.is_empty() {
        return Ok(id);
    }
    let Some(snapshot) = ctx.store()?.read()? else {
        return Ok(id);
    };
    let known = snapshot.find(&id)?;
    let was_for_it = known.is_some_and(|known| {
        let state = &known.state;
        matches!(state.ending, Some(Ending::Abandoned { .. }))
            && request
                .issues
                .iter()
                .any(|issue| state.issues.contains(issue))
    });
    if was_for_it {
        free(&snapshot, &id)
    } else {
        Ok(id)
    }
}

/// The first id after this one that no session has.
fn free(snapshot: &Snapshot<'_>, id: &SessionId) -> Result<SessionId> {
    let mut number = 2;
    loop {
        let other = id.numbered(number);
        if !snapshot.has(&other)? {
            return Ok(other);
        }
        number += 1;
    }
}

/// An id is never reused silently (S-008). `again` starts another session with an id of its own.
fn taken(state: &State, way: Option<Hint>, again: Hint) -> Failure {
    let id = &state.id;
    let other = |first: Hint| hint![first, "  or, to start another session: ", again.clone()];
    let (how, help) = match (&state.ending, way) {
        (None, Some(way)) => (format!("is in stage {}", state.stage), other(way)),
        (None, None) => (
            format!("is in stage {}", state.stage),
            command!("status").session(id),
        ),
        (Some(Ending::Archived { target, .. }), _) => (format!("is archived on {target}"), again),
        (Some(Ending::Abandoned { .. }), _) => (
            "was abandoned".to_owned(),
            other(command!("undo").session(id)),
        ),
    };
    Failure::refused(
        Code::SessionExists,
        format!("a session named {id} exists already: it {how}"),
    )
    .help(help)
}

/// Result of `use`.
#[derive(Debug)]
pub(crate) struct Used {
    pub branch: String,
    /// Other sessions that were bound to the branch.
    pub before: Vec<SessionId>,
    /// The branch to which the session was bound.
    pub left: Option<String>,
}

/// The branch of the sessions is no branch to work on.
fn require_of_code(ctx: &Context, branch: &str) -> Result<()> {
    loopx_git::Repo::check_branch_name(branch)?;
    if ctx.store()?.branch() != branch {
        return Ok(());
    }
    Err(Failure::usage(
        Code::TargetInvalid,
        format!("expected a branch with code, found `{branch}`, which keeps the sessions"),
    )
    .help(command!("list")))
}

/// Binds a branch to the session.
pub(crate) fn bind(ctx: &Context, branch: Option<String>) -> Result<Done<Used>> {
    let is_named = branch.is_some();
    let name = ctx.wanted().unwrap_or_default();
    let branch = match branch {
        Some(name) => {
            require_of_code(ctx, &name)?;
            name
        }
        None => match beginning::odd(ctx)? {
            Some(odd) => return Err(odd),
            None => match ctx.repo.head()?.branch {
                Some(here) => here,
                None => return Err(no_branch_to_bind(ctx, name)?),
            },
        },
    };
    let store = ctx.store()?;
    let before = store.snapshot()?.bound_to(&branch)?;
    let mut judged = None;
    act(ctx, Needs::Stage, |facts| {
        if before == [facts.state.id.clone()] {
            return Err(Failure::nothing(
                Code::BranchBoundAlready,
                format!("the branch {branch} is bound to session {}", facts.state.id),
            )
            .help(command!("status")));
        }
        let id = &facts.state.id;
        let leads_on = match ctx.repo.work_dir() {
            Some(_) => hint![format!("git switch -c {id}  and: "), command!("use {id}")],
            None => hint![
                format!("git branch {id}  and: "),
                command!("use {id} --branch {id}")
            ],
        };
        require_unprotected(&facts.policy, &branch, leads_on)?;
        // A try that was lost to another session finds these records again.
        if judged.as_ref() != Some(&facts.state.ops) {
            // A branch that a session is bound to has its name from somebody who had it; a clone may not.
            let is_bound = !before.is_empty() || facts.state.branch.as_ref() == Some(&branch);
            if !is_named {
                require_not_elsewhere(ctx, &facts.state, &branch)?;
            } else if !is_bound {
                let again = |branch: &str| {
                    let again = command!("use {id} --branch {}", shell_word(branch));
                    hint!["and: ", again]
                };
                require_there(ctx, &branch, &again)?;
            }
            gone::require_commits(ctx, &facts.state, &branch)?;
            judged = Some(facts.state.ops.clone());
        }
        let event = Event::Bound {
            branch: branch.clone(),
        };
        let mut act = Act::new(
            event,
            format!("use on {branch}"),
            Used {
                branch: branch.clone(),
                before: {
                    let others = before.iter().filter(|id| **id != facts.state.id);
                    others.cloned().collect()
                },
                left: facts.state.branch.clone().filter(|own| *own != branch),
            },
        );
        act.takes = Some(branch.clone());
        Ok(act)
    })
}

/// Refuses to take a session away from another worktree, where nobody named the branch: it goes on there.
fn require_not_elsewhere(ctx: &Context, state: &State, branch: &str) -> Result<()> {
    let Some(own) = state.branch.as_ref().filter(|own| *own != branch) else {
        return Ok(());
    };
    let folder = ctx.repo.checked_out_in(&format!("refs/heads/{own}"))?;
    let folder = folder.filter(|dir| dir.is_dir() && ctx.repo.work_dir() != Some(dir.as_path()));
    let Some(folder) = folder else {
        return Ok(());
    };
    let id = &state.id;
    Err(Failure::refused(
        Code::BranchMismatch,
        format!(
            "session {id} is bound to {own}, which is checked out in {}",
            folder.display()
        ),
    )
    .help(hint![
        ctx.to_branch(id, own)?,
        format!("  or, to go on with it on {branch}: "),
        command!("use {id} --branch {branch}")
    ]))
}

/// The refusal to bind a session where no branch is checked out: its own branch is the way, where it has one.
fn no_branch_to_bind(ctx: &Context, name: &str) -> Result<Failure> {
    let snapshot = ctx.store()?.snapshot()?;
    let known = snapshot.find(&naming::find(&snapshot, name)?)?;
    let own = known.and_then(|session| Some((session.state.id, session.state.branch?)));
    let way = match own {
        Some((id, own)) if upstream::tip_here(&ctx.repo, &own)?.is_some() => {
            ctx.to_branch(&id, &own)?
        }
        _ => hint![
            format!("git switch -c {name}  and: "),
            command!("use {name}")
        ],
    };
    let message = "HEAD is detached, so there is no current branch to bind";
    Ok(Failure::usage(Code::HeadDetached, message).help(hint![
        way,
        ", or name the session each time: ",
        command!("status").session(name)
    ]))
}

/// Ends a session without a result. Everything is kept.
pub(crate) fn abandon(ctx: &Context, reason: Option<String>) -> Result<Done<()>> {
    act(ctx, Needs::Stage, |facts| {
        Ok(abandoning(facts, reason.clone()))
    })
}

/// The end of a session without a result; its issues are told.
pub(super) fn abandoning(facts: &Facts<'_>, reason: Option<String>) -> Act<()> {
    let why = reason.as_ref().map(|why| format!(": {why}"));
    let failure = format!(
        "session {} was abandoned{}",
        facts.state.id,
        why.unwrap_or_default()
    );
    let act = Act::new(Event::Abandoned, "abandon", ());
    act.reason(reason).failure(Some(failure))
}

/// Commits the edits of the working copy, and nothing else.
pub(crate) fn save(ctx: &Context, reason: Option<String>) -> Result<Done<()>> {
    act(ctx, Needs::Stage, |facts| saved(facts, reason.clone()))
}

/// Commits the edits of the working copy, after something was done to it under the same lock.
pub(crate) fn save_after(
    ctx: &Context,
    reason: Option<String>,
    prepare: impl FnOnce(&State, Option<&mut WorkCopy<'_>>) -> Result<()>,
) -> Result<Done<()>> {
    act_after(ctx, Needs::Stage, prepare, |facts| {
        saved(facts, reason.clone())
    })
}

fn saved(facts: &Facts<'_>, reason: Option<String>) -> Result<Act<()>> {
    if facts.saved.is_empty() && facts.outputs.is_empty() {
        return Err(super::transaction::nothing_to_save());
    }
    let names = facts.saved.iter().map(ToString::to_string);
    let names: Vec<String> = names.chain(facts.outputs.writes.keys().cloned()).collect();
    let what = match names.as_slice() {
        [one] => format!("save {one}"),
        [one, two] => format!("save {one}, {two}"),
        many => format!("save {} and {} more", many[0], many.len() - 1),
    };
    Ok(Act::new(Event::Saved, what, ()).reason(reason))
}
