//! The next step of a session, asked by this person in this worktree: the facts of [`loopx_rules::next`].

use super::context::Context;
use super::landed::{self, Landed, found, landed};
use super::skills::Skills;
use super::task::outputs;
use super::transaction::{Facts, Needs, gather_with};
use super::upstream;
use super::verify::policy_at;
use super::workcopy::{self, FileStatus, Peek, WorkCopy};
use super::{
    archive, coverage, effective_target, files, gone, lease, policy_moved, rebase, review, sign,
    trust,
};
use loopx_base::failure::{Blocker, Code, Failure, Result};
use loopx_base::hint::{Hint, Verb, command, hint};
use loopx_base::id::{Oid, Person, SessionId};
use loopx_base::secrets::is_secret_file;
use loopx_base::working_tree::{FileState, ReviewedCode, Uncommitted};
use loopx_git::Repo;
use loopx_rules::artifact::Artifact;
use loopx_rules::checks::{Source, checks_now};
use loopx_rules::gate::CodeFacts;
use loopx_rules::lease::Worktrees;
use loopx_rules::next;
use loopx_rules::next::{
    Advised, Behind, Distance, Here, Next, Standpoint, Unfetched, Unfit, Unlanded, Unpushed,
    Worktree,
};
use loopx_rules::op::{Body, Event};
use loopx_rules::policy::FILE as POLICY;
use loopx_rules::replay::undone;
use loopx_rules::session::{Ending, State};
use loopx_rules::stage::{Stage, Transition};
use loopx_rules::task::node::{Node, TaskId};
use loopx_rules::task::plan;
use loopx_rules::task::status::Status;
use loopx_store::{Session, Snapshot};
use std::path::Path;

/// A session with the working copy taken in as it is now, and everything around it.
pub(super) struct Look {
    pub(super) facts: Facts<'static>,
    pub(super) peek: Peek,
    /// The bound branch is not here.
    pub(super) missing: Option<Failure>,
    /// What the archive is held by, from the review on.
    pub(super) archive: Vec<Blocker>,
    pub(super) worktree: Option<Worktree>,
    pub(super) behind: Option<Behind>,
    pub(super) remote: Option<Distance>,
    pub(super) advised: Advised,
}

/// What `git loopx`, `status` and `next` say of where somebody is.
pub(crate) struct Asked {
    pub(crate) id: SessionId,
    pub(crate) advised: Advised,
}

/// What is next in the session that is meant.
pub(crate) fn of(ctx: &Context) -> Result<Asked> {
    ctx.only_reads();
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let (session, _) = ctx.asked(&snapshot)?;
    let look = asked(ctx, &snapshot, &session)?;
    Ok(Asked {
        id: session.state.id,
        advised: look.advised,
    })
}

/// What is next in one session.
pub(crate) fn of_session(ctx: &Context, id: &SessionId) -> Result<Advised> {
    let snapshot = ctx.store()?.snapshot()?;
    let session = super::naming::load(&snapshot, id)?;
    Ok(asked(ctx, &snapshot, &session)?.advised)
}

/// What is next for whoever asks, in a session or in none; nothing where that cannot be said.
pub(crate) fn anywhere() -> Option<Advised> {
    let ctx = Context::open(None).ok()?;
    match of(&ctx) {
        Ok(asked) => Some(asked.advised),
        Err(failure) if matches!(failure.code, Code::NotInitialised | Code::NoActiveSession) => {
            super::begin::lead(&ctx).ok()
        }
        Err(_) => None,
    }
}

/// Whether whoever asks is in a session; refused where none is meant.
pub(crate) fn is_here(ctx: &Context) -> Result<bool> {
    let store = ctx.store()?;
    Ok(ctx.asked(&store.snapshot()?)?.1)
}

/// Looks at the session that is meant. Behind its end another one begins.
pub(super) fn asked(ctx: &Context, snapshot: &Snapshot<'_>, session: &Session) -> Result<Look> {
    let mut look = look(ctx, snapshot, session)?;
    let advised = &mut look.advised;
    if advised.next == Next::Nothing && advised.advice.is_empty() {
        advised.advice = super::begin::lead(ctx)?.into_hint();
    }
    Ok(look)
}

/// What is next after a command that changed a session. The command is done: what keeps this from being known
/// is said by `status`.
pub(crate) fn after(ctx: &Context, id: &SessionId) -> Option<Advised> {
    let store = ctx.store().ok()?;
    let snapshot = store.snapshot().ok()?;
    let session = snapshot.find(id).ok()??;
    Some(look(ctx, &snapshot, &session).ok()?.advised)
}

/// Looks at a session. Writes nothing.
pub(super) fn look(ctx: &Context, snapshot: &Snapshot<'_>, session: &Session) -> Result<Look> {
    let state = &session.state;
    let (policy, _) = ctx.policy_if_there(state)?;
    let copy = WorkCopy::open(&ctx.repo, &state.id)?;
    let mut peek = match &copy {
        Some(copy) => copy.peek(state, policy.artifacts.max_bytes)?,
        None => Peek::default(),
    };
    // The working copy knows no policy, and policy may want an amendment signed.
    for (artifact, failure) in &mut peek.refused {
        let is_amendable = failure
            .help
            .as_ref()
            .is_some_and(Hint::has_unsigned_amendment);
        if is_amendable && artifact.is_some_and(|one| workcopy::is_amended(one, state)) {
            failure.help = Some(workcopy::closed_list_help(policy.amend_command()));
        }
    }
    // Reading needs no identity; where there is none, nothing is said of what it may do.
    let identity = ctx.reader();
    let edits = if state.is_active() {
        std::mem::take(&mut peek.edits)
    } else {
        super::workcopy::Edits::default()
    };
    let with = (None, sign::Depth::Everything);
    let facts = gather_with(ctx, snapshot, session, edits, Needs::Stage, with)?;
    let missing = match state.stage {
        // What is done may have been merged, and its branch deleted.
        Stage::Done => None,
        _ => upstream::missing(ctx, state)?,
    };
    let archive = held(ctx, snapshot, &facts)?;
    let behind = behind(ctx, state)?;
    let worktree = worktree(ctx, &facts, (behind.as_ref(), missing.is_some()))?;
    let remote = distance(ctx)?;
    let here = Here {
        who: identity.map(|identity| &identity.author),
        unsigned: ctx.unsigned(),
        agent: loopx_rules::agent_identity::host(loopx_base::env::var),
        first: first(ctx, &facts, &peek, (worktree.as_ref(), missing.is_some()))?,
        worktree: worktree.clone(),
        behind: behind.clone(),
        worktrees: worktrees(ctx, state),
        now: ctx.now(),
        archive: archive.clone(),
        onto: onto(ctx, state, worktree.as_ref())?,
        is_empty: is_empty(ctx, &facts)?,
        asks: loopx_base::env::has_terminal(),
        remote: remote.clone(),
        world: Some(&facts.world),
        moved: moved(ctx, snapshot, session, &facts)?,
        unpushed: unpushed(ctx, &facts)?,
        sent_back: sent_back(snapshot, session)?,
        unfetched: unfetched(ctx, state)?,
        unlanded: unlanded(ctx, &facts, worktree.as_ref())?,
        leftover: leftover(ctx, snapshot, session)?,
        unheld: unheld(ctx, state, worktree.as_ref())?,
        missing: missing_outputs(ctx, &facts)?,
        unfit: unfit(ctx, &facts),
    };
    let advised = next::next(facts.view(), &here);
    let mut advised = trusted(ctx, (snapshot, session), &facts, advised)?;
    let is_here = worktree
        .as_ref()
        .is_some_and(|worktree| worktree.branch == state.branch);
    // From another branch a command says which session it means.
    if let (Next::Command(command), Some(_), false) = (&mut advised.next, &state.branch, is_here) {
        *command = command.clone().in_session(&state.id);
    }
    Ok(Look {
        advised,
        facts,
        peek,
        missing,
        archive,
        worktree,
        behind,
        remote,
    })
}

/// The worktrees of this clone; where nothing speaks of another one, this one alone.
fn worktrees(ctx: &Context, state: &State) -> Worktrees {
    match state.stage {
        Stage::Build => lease::worktrees(&ctx.repo),
        _ => Worktrees::alone(lease::token(&ctx.repo)),
    }
}

/// How far the branch that is checked out here is behind its upstream as it was last seen, where the stage is about code.
fn behind(ctx: &Context, state: &State) -> Result<Option<Behind>> {
    let is_about_code = matches!(state.stage, Stage::Build | Stage::Review) && state.is_active();
    let Some(branch) = state.branch.as_ref().filter(|_| is_about_code) else {
        return Ok(None);
    };
    if ctx.repo.work_dir().is_none() || ctx.head()?.branch.as_ref() != Some(branch) {
        return Ok(None);
    }
    let config = |key: &str| ctx.repo.config(&format!("branch.{branch}.{key}"));
    let (Some(remote), Some(merge)) = (config("remote"), config("merge")) else {
        return Ok(None);
    };
    let Some(name) = merge.strip_prefix("refs/heads/") else {
        return Ok(None);
    };
    let (Some(there), Some(here)) = (
        ctx.repo.find_ref(&Repo::tracking_ref(&remote, name))?,
        ctx.head()?.commit,
    ) else {
        return Ok(None);
    };
    if there == here || !ctx.repo.is_ancestor(&here, &there)? {
        return Ok(None);
    }
    let commits = ctx.repo.range(&there, std::slice::from_ref(&here), MANY)?;
    Ok(Some(Behind {
        branch: branch.clone(),
        upstream: format!("{remote}/{name}"),
        commits: commits.len(),
        tip: there,
    }))
}

/// What goes before every stage.
fn first(
    ctx: &Context,
    facts: &Facts<'_>,
    peek: &Peek,
    (worktree, branch_missing): (Option<&Worktree>, bool),
) -> Result<Option<Advised>> {
    let state = &facts.state;
    let id = &state.id;
    if peek.foreign.is_some() {
        return Ok(Some(command!("checkout").session(id).into()));
    }
    if let Some(waiting) = archive::waiting(ctx, state)? {
        return Ok(Some(waiting));
    }
    if !state.is_active() {
        return Ok(None);
    }
    // git switches no branch while something is under way.
    if branch_missing && ctx.repo.sequence().is_none() {
        return branchless(ctx, state, worktree).map(Some);
    }
    let is_about_code = matches!(state.stage, Stage::Build | Stage::Review | Stage::Done);
    if is_about_code
        && state.branch.is_none()
        && let Some(odd) = super::begin::odd(ctx)?
    {
        return Ok(Some(
            Advised::from(odd.help.unwrap_or_default()).advice(odd.message),
        ));
    }
    if facts.base_missing.is_some() {
        return baseless(ctx, facts).map(Some);
    }
    let mut statuses = peek.statuses.iter();
    if let Some((artifact, _)) = statuses.find(|(_, s)| **s == FileStatus::Conflicted) {
        if !state.is_open(*artifact) {
            let told = format!(
                "{artifact} is closed in stage {}, and both sides stand in your file, which is kept as a blob and named",
                state.stage
            );
            return Ok(Some(
                Advised::from(command!("checkout --force {artifact}")).advice(told),
            ));
        }
        return Ok(Some(
            Advised::from(command!("edit {artifact}")).advice("choose between its marked sides"),
        ));
    }
    Ok(peek.refused.first().map(|(artifact, failure)| {
        match (failure.code, failure.help.as_ref().and_then(Hint::lead)) {
            (Code::ArtifactLocked, Some(lead)) => Advised::from(lead).advice(format!(
                "{}; your text is kept as a blob and named",
                failure.message
            )),
            _ => match artifact {
                Some(artifact) => command!("edit {artifact}").into(),
                None => match failure.help.as_ref().and_then(Hint::lead) {
                    Some(lead) => Advised::from(lead),
                    None => Advised::write(failure.message.clone()),
                },
            },
        }
    }))
}

/// The way on where the bound branch is not here: what somebody else did last may not be pushed yet.
fn branchless(ctx: &Context, state: &State, worktree: Option<&Worktree>) -> Result<Advised> {
    let bound = state.branch.as_deref().unwrap_or_default();
    let me = ctx.reader().map(|reader| &reader.author);
    let somebody_else = me.is_none_or(|me| !me.is_same(&state.touched.by));
    let is_elsewhere = ctx.repo.config(&format!("branch.{bound}.remote")).is_none();
    if somebody_else && is_elsewhere && gone::last_commit(ctx, state)?.is_none() {
        let author = state.touched.by.to_string();
        return Ok(Advised::waits(author, format!("the push of {bound}")).advice(format!(
            "the branch {bound} is not here: not pushed yet, renamed or deleted; where a remote has it: git fetch, then git switch {bound}"
        )));
    }
    let way = gone::way_back(ctx, state, bound)?;
    match worktree.filter(|worktree| !worktree.in_the_way.is_empty()) {
        Some(worktree) => Ok(next::stash(worktree, &format!("the switch to {bound}"))),
        None => Ok(way),
    }
}

/// The way on where the commit that the session starts from is not here. What somebody else began may not be pushed yet:
/// another base is for whoever began it.
fn baseless(ctx: &Context, facts: &Facts<'_>) -> Result<Advised> {
    let state = &facts.state;
    let why = "the commit that it started from is gone";
    let onto = rebase::suggest(ctx, state, &facts.policy)?;
    let rebase =
        onto.map(|onto| command!("rebase --onto {} --reason WHY", onto.short()).because(why));
    let author = &state.started.by;
    let me = ctx.reader().map(|reader| &reader.author);
    let remote = ctx.repo.default_remote(state.branch.as_deref())?;
    if let (Some(remote), false) = (remote, me.is_some_and(|me| me.is_same(author))) {
        let fetch = Hint::git(format!("fetch {remote}"));
        let advice = match rebase {
            Some(rebase) => hint![
                format!("{remote} may have it: "),
                fetch,
                "; where it is gone for good: ",
                rebase
            ],
            None => hint![format!("{remote} may have it: "), fetch],
        };
        let what = "the push of the commit that it started from";
        return Ok(Advised::waits(author.to_string(), what).advice(advice));
    }
    Ok(Advised::from(rebase.unwrap_or_else(|| command!("doctor"))).advice(why))
}

/// The tasks of a build, where their list names something of this kind: most lists do not, and are not read for it.
fn nodes_with(facts: &Facts<'_>, field: &str) -> Vec<Node> {
    let text = facts.texts.get(&Artifact::TaskList);
    let is_asked =
        facts.state.stage == Stage::Build && text.is_some_and(|text| text.contains(field));
    if is_asked {
        plan::now(&facts.texts, &facts.state)
            .map(std::borrow::Cow::into_owned)
            .unwrap_or_default()
    } else {
        Vec::new()
    }
}

/// What tasks leave and is not there, of those that somebody has or that ran.
fn missing_outputs(ctx: &Context, facts: &Facts<'_>) -> Result<Vec<(TaskId, Vec<String>)>> {
    let mut found = Vec::new();
    for node in nodes_with(facts, "\"outputs\"") {
        let state = &facts.state;
        let is_had = state.task_status(&node.id) == Status::Claimed;
        let mut runs = state.evidence.iter();
        let is_asked =
            is_had || runs.any(|run| run.value.task.as_deref() == Some(node.id.as_str()));
        if !is_asked || node.outputs.is_empty() {
            continue;
        }
        let paths = outputs::missing(ctx, facts, &node, state)?;
        let paths: Vec<String> = paths.into_iter().map(str::to_owned).collect();
        if !paths.is_empty() {
            found.push((node.id, paths));
        }
    }
    Ok(found)
}

/// The tasks whose skill nobody can follow here.
fn unfit(ctx: &Context, facts: &Facts<'_>) -> Vec<(TaskId, Unfit)> {
    let skills = Skills::of(&ctx.repo);
    let nodes = nodes_with(facts, "\"skill\"").into_iter();
    let unfit = nodes.filter_map(|node| {
        let failure = skills.require(&node).err()?;
        let help = failure.help.unwrap_or_default();
        let why = failure.message;
        Some((node.id, Unfit { why, help }))
    });
    unfit.collect()
}

/// What would hold the archive of a session in review or done, or in a build that one person may take to its end.
fn held(ctx: &Context, snapshot: &Snapshot<'_>, facts: &Facts<'_>) -> Result<Vec<Blocker>> {
    let state = &facts.state;
    let is_light = facts.view().profile().is_light();
    let is_near = match state.stage {
        Stage::Build => is_light,
        stage => matches!(stage, Stage::Review | Stage::Done),
    };
    if !state.is_active() || !is_near {
        return Ok(Vec::new());
    }
    let mut found = loopx_rules::gate::delta(facts.view());
    if found.is_empty() {
        found = coverage::judge(facts, &archive::Waivers::default())?.0;
    }
    if state.stage != Stage::Done {
        // Evidence can still be made here; what no slice names cannot.
        found.retain(|blocker| {
            !blocker.code.is_of_scenario() || blocker.code == Code::ScenarioUnserved
        });
        return Ok(found);
    }
    if let Some((delta, _)) = super::delta::read(&facts.texts) {
        let waits = effective_target::waits_for(snapshot, &delta, &[])?;
        found.extend(waits.iter().map(super::spec::blocker));
    }
    found.extend(review::unreviewed(ctx, state, &facts.policy)?);
    Ok(found)
}

/// The target's policy, where it has moved since the session began, for a session that one person may take to its end.
fn moved(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    session: &Session,
    facts: &Facts<'_>,
) -> Result<Option<next::Moved>> {
    if facts.state.stage != Stage::Build || !facts.view().profile().is_light() {
        return Ok(None);
    }
    let found = policy_moved::of(ctx, snapshot, session, &facts.policy)?;
    let Some(found) = found.filter(|found| !found.changed.is_empty()) else {
        return Ok(None);
    };
    let head = ctx.head()?.commit;
    let has_it = match &head {
        Some(head) => ctx.repo.is_ancestor(&found.commit, head)?,
        None => false,
    };
    let why = found.message();
    let lead = if has_it {
        command!("rebase --onto {} --reason WHY", found.commit.short()).because(&why)
    } else {
        Hint::git(format!("merge {}", loopx_base::shell_word(&found.target)))
    };
    let policy = policy_at(ctx, Some(&found.commit))?;
    Ok(Some(next::Moved { policy, lead, why }))
}

/// The branch that an archive has to name.
fn onto(ctx: &Context, state: &State, worktree: Option<&Worktree>) -> Result<Option<String>> {
    let is_detached = worktree.is_some_and(|worktree| worktree.branch.is_none());
    if state.stage == Stage::Done && state.branch.is_none() && is_detached {
        archive::likely_target(ctx, state)
    } else {
        Ok(None)
    }
}

fn worktree(
    ctx: &Context,
    facts: &Facts<'_>,
    (behind, is_missing): (Option<&Behind>, bool),
) -> Result<Option<Worktree>> {
    let Some(top) = ctx.repo.work_dir() else {
        return Ok(None);
    };
    let bound = &facts.state.branch;
    let head = ctx.head()?;
    let branch = &head.branch;
    let elsewhere = match bound {
        Some(bound) if branch.as_ref() != Some(bound) => {
            ctx.repo.checked_out_in(&format!("refs/heads/{bound}"))?
        }
        _ => None,
    };
    let tip = match bound {
        Some(bound) if branch.as_ref() != Some(bound) => {
            match ctx.repo.find_ref(&format!("refs/heads/{bound}"))? {
                None if is_missing => gone::last_commit(ctx, &facts.state)?,
                tip => tip,
            }
        }
        _ => newer(facts, behind),
    };
    let sequence = ctx.repo.sequence();
    // Behind its end nothing asks for the code, until git stops in it.
    let code = match (&facts.code, sequence) {
        (None, Some(_)) => ctx.code_for(None)?,
        (code, _) => code.clone(),
    };
    let uncommitted = code.map_or_else(Vec::new, |code| code.uncommitted);
    Ok(Some(Worktree {
        sequence,
        elsewhere: elsewhere.map(|path| path.display().to_string()),
        in_the_way: match tip {
            Some(tip) => in_the_way(ctx, facts.code.as_ref(), &tip)?,
            None => Vec::new(),
        },
        marked: marked(top, &uncommitted)?,
        secrets: secrets(top, &uncommitted),
        uncommitted,
        here: head.words(),
        branch: head.branch,
        below: super::files::below(top),
    }))
}

/// So many names below untracked folders are looked at for those that hold credentials.
const NAMES: usize = 10_000;

/// The untracked files that hold credentials by their names, by path; a folder that has no others is one of them.
pub(super) fn secrets(top: &Path, open: &[Uncommitted]) -> Vec<String> {
    let untracked = open.iter().filter(|one| one.state == FileState::Untracked);
    let (mut found, mut left) = (Vec::new(), NAMES);
    for one in untracked {
        let (inside, is_whole) = secrets_of(top, &one.path, &mut left);
        if is_whole && !inside.is_empty() {
            found.push(one.path.clone());
        } else {
            found.extend(inside);
        }
    }
    found.sort();
    found
}

/// The files that hold credentials at or below an untracked path, and whether no other file is there.
fn secrets_of(top: &Path, path: &str, left: &mut usize) -> (Vec<String>, bool) {
    let (mut found, mut is_whole) = (Vec::new(), true);
    let mut paths = vec![path.to_owned()];
    while let Some(path) = paths.pop() {
        if *left == 0 {
            return (found, false);
        }
        *left -= 1;
        let Some(folder) = path.strip_suffix('/') else {
            let is_secret = is_secret_file(&path);
            is_whole &= is_secret;
            found.extend(is_secret.then_some(path));
            continue;
        };
        let entries = std::fs::read_dir(top.join(folder)).into_iter().flatten();
        for entry in entries.flatten() {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let end = if is_folder { "/" } else { "" };
            let name = entry.file_name().to_string_lossy().into_owned();
            paths.push(format!("{folder}/{name}{end}"));
        }
    }
    (found, is_whole)
}

/// The stash that somebody was led to make last and that is still there: the branch that it was made on, and the command
/// that brings it back.
pub(super) fn put_aside(ctx: &Context) -> Option<(String, Hint)> {
    let stashes = ctx.repo.stashes().into_iter();
    let mut ours = stashes.filter(|(_, _, message)| message == next::ASIDE);
    let (number, branch, _) = ours.next()?;
    let pop = match number {
        0 => Hint::git("stash pop"),
        number => Hint::git(format!("stash pop {number}")),
    };
    Some((branch, pop))
}

/// The unmerged files in which a marker stands. What is no file, or is gone, has none.
fn marked(top: &Path, open: &[Uncommitted]) -> Result<Vec<Uncommitted>> {
    let mut found = Vec::new();
    for one in open.iter().filter(|one| one.state == FileState::Unmerged) {
        let path = top.join(&one.path);
        let is_file = path.symlink_metadata().is_ok_and(|meta| meta.is_file());
        let text = if is_file {
            files::read(&path, u64::MAX)?
        } else {
            None
        };
        let is_marked =
            |text: &Vec<u8>| workcopy::marker_line(&String::from_utf8_lossy(text)).is_some();
        if text.as_ref().is_some_and(is_marked) {
            found.push(one.clone());
        }
    }
    Ok(found)
}

/// The commit that the branch here has to go on to before anything else.
fn newer(facts: &Facts<'_>, behind: Option<&Behind>) -> Option<Oid> {
    let code = facts.code.as_ref();
    match (behind, code.map(|code| &code.reviewed)) {
        (Some(behind), _) => Some(behind.tip.clone()),
        (None, Some(ReviewedCode::Ahead(commit))) => Some(commit.clone()),
        _ => None,
    }
}

/// The uncommitted files that HEAD and a commit have in two versions: git overwrites them neither by a switch nor by a
/// merge (git-switch(1), git-merge(1)).
fn in_the_way(ctx: &Context, code: Option<&CodeFacts>, commit: &Oid) -> Result<Vec<Uncommitted>> {
    let open = code.map_or(&[][..], |code| &code.uncommitted);
    let (Some(top), false) = (ctx.repo.work_dir(), open.is_empty()) else {
        return Ok(Vec::new());
    };
    let there = ctx.repo.commit_info(commit)?.tree;
    let here = match ctx.head()?.commit {
        Some(head) => Some(ctx.repo.commit_info(&head)?.tree),
        None => None,
    };
    let changed = ctx.repo.changed_paths(here.as_ref(), &there)?;
    let mut found = Vec::new();
    for one in open {
        // A submodule keeps its edits; of a folder that git does not know, single files are in the way.
        let is_met = |path: &&String| match one.state {
            FileState::Submodule => false,
            FileState::Untracked if one.path.ends_with('/') => {
                path.starts_with(&one.path) && top.join(path).symlink_metadata().is_ok()
            }
            _ => **path == one.path,
        };
        found.extend(changed.iter().filter(is_met).map(|path| Uncommitted {
            path: path.clone(),
            state: one.state,
        }));
    }
    Ok(found)
}

/// How far the branch of the sessions is from what was last seen of the remote's. Asks no network.
pub(super) fn distance(ctx: &Context) -> Result<Option<Distance>> {
    let store = ctx.store()?;
    let Some(tip) = store.tip()? else {
        return Ok(None);
    };
    let configured = ctx.repo.config("loopx.remote");
    let remote = match configured {
        Some(remote) => Some(remote),
        None => ctx.repo.default_remote(None)?,
    };
    let Some(remote) = remote else {
        return Ok(None);
    };
    let branch = store.branch().to_owned();
    let there = ctx.repo.find_ref(&Repo::tracking_ref(&remote, &branch))?;
    let (ahead, behind) = match &there {
        Some(there) if *there == tip => (0, 0),
        Some(there) => (
            ctx.repo
                .range(&tip, std::slice::from_ref(there), MANY)?
                .len(),
            ctx.repo
                .range(there, std::slice::from_ref(&tip), MANY)?
                .len(),
        ),
        None => (ctx.repo.range(&tip, &[], MANY)?.len(), 0),
    };
    Ok(Some(Distance {
        remote,
        branch,
        ahead,
        behind,
        is_known: there.is_some(),
    }))
}

/// Commits that are counted; of more than that it is enough to know that they are many.
const MANY: usize = 1000;

/// The remote that the code under review is fetched from, where no object of this clone is its tree.
fn unfetched(ctx: &Context, state: &State) -> Result<Option<Unfetched>> {
    if let Some(Ending::Archived {
        commit: Some(archive),
        target,
        ..
    }) = &state.ending
    {
        return unfetched_archive(ctx, state, (archive, target));
    }
    if !state.is_active() || state.stage != Stage::Review {
        return Ok(None);
    }
    let Some(branch) = &state.branch else {
        return Ok(None);
    };
    let approved = state.approvals.get(&Transition::BuildToReview.key());
    let approved = approved.and_then(|approval| {
        let by = approval.by.last().map(|by| &by.signed.by);
        approval.code.as_ref().map(|tree| (tree, by))
    });
    let verdict = state.verdict.as_ref();
    let verdict = verdict.map(|verdict| (&verdict.value.tree, Some(&verdict.signed.by)));
    let Some((tree, by)) = verdict.or(approved) else {
        return Ok(None);
    };
    if ctx.repo.contains(tree)? {
        return Ok(None);
    }
    let me = ctx.reader().map(|reader| &reader.author);
    let is_own = me.is_some_and(|me| by.is_some_and(|by| by.is_same(me)));
    let remote = ctx.repo.default_remote(Some(branch))?;
    Ok(remote.map(|remote| Unfetched { remote, is_own }))
}

/// The remote of a branch that is here, where the archive on it is not.
fn unfetched_archive(
    ctx: &Context,
    state: &State,
    (archive, target): (&Oid, &str),
) -> Result<Option<Unfetched>> {
    let is_here = ctx
        .repo
        .find_ref(&format!("refs/heads/{target}"))?
        .is_some();
    if !is_here || state.branch.as_deref() != Some(target) || ctx.repo.contains(archive)? {
        return Ok(None);
    }
    let remote = ctx.repo.default_remote(Some(target))?;
    Ok(remote.map(|remote| Unfetched {
        remote,
        is_own: false,
    }))
}

/// The person whose verdict is the last one and asked for changes, where the work went back for it.
fn sent_back(snapshot: &Snapshot<'_>, session: &Session) -> Result<Option<Person>> {
    let state = &session.state;
    let is_mended = matches!(state.stage, Stage::Build | Stage::Review) && state.build.rework;
    if !state.is_active() || !is_mended {
        return Ok(None);
    }
    let operations = snapshot.operations(session)?;
    let undone = undone(&operations);
    let mut counted = operations.iter().rev();
    let last = counted.find_map(|op| match op.event() {
        Some(Event::Reviewed { verdict }) if !undone.contains(&op.op) => Some((verdict, &op.by)),
        _ => None,
    });
    Ok(last.and_then(|(verdict, by)| (!verdict.is_approval()).then(|| by.clone())))
}

/// The branch that an archive went to, or that is under review, where its remote has not got the newest of it.
fn unpushed(ctx: &Context, facts: &Facts<'_>) -> Result<Option<Unpushed>> {
    let state = &facts.state;
    let (target, archive) = match &state.ending {
        Some(Ending::Archived { target, commit, .. }) => (target, commit.as_ref()),
        None if state.stage == Stage::Review => match &state.branch {
            Some(branch) => (branch, None),
            None => return Ok(None),
        },
        _ => return Ok(None),
    };
    let Some(remote) = ctx.repo.default_remote(Some(target))? else {
        return Ok(None);
    };
    let Some(tip) = ctx.repo.find_ref(&format!("refs/heads/{target}"))? else {
        return Ok(None);
    };
    let there = ctx.repo.find_ref(&Repo::tracking_ref(&remote, target))?;
    let Some(there) = there else {
        return Ok(Some(Unpushed {
            remote,
            branch: target.clone(),
            standing: Standpoint::Unseen,
        }));
    };
    let standing = standpoint(ctx, facts, (&tip, &there), archive)?;
    Ok(standing.map(|standing| Unpushed {
        remote,
        branch: target.clone(),
        standing,
    }))
}

/// How the branch of a remote stands beside ours; nothing where ours has all that counts.
fn standpoint(
    ctx: &Context,
    facts: &Facts<'_>,
    (tip, there): (&Oid, &Oid),
    archive: Option<&Oid>,
) -> Result<Option<Standpoint>> {
    let repo = &ctx.repo;
    if tip != there && repo.is_ancestor(there, tip)? {
        return Ok(Some(Standpoint::Behind));
    }
    let archive = match archive {
        Some(archive) if ctx.repo.contains(archive)? => archive,
        _ => return Ok(None),
    };
    let is_ahead = repo.is_ancestor(tip, there)?;
    // Somebody else archived, and ours has not got that.
    if !repo.is_ancestor(archive, tip)? && repo.is_ancestor(archive, there)? {
        let landed = landed(ctx, &facts.state, &facts.policy)?;
        let is_open = landed.is_none_or(|landed| landed.is_open());
        return Ok(match (is_ahead, is_open) {
            (true, true) => Some(Standpoint::Ahead),
            (true, false) => None,
            (false, _) => Some(Standpoint::Apart),
        });
    }
    // Where both have commits of their own, the remote may have the archive's by another name.
    let is_there = is_ahead || found(&ctx.repo, archive, there)?.is_some();
    Ok((!is_there).then_some(Standpoint::Apart))
}

/// The archive that an abandoned session left on a branch: one that a settled conflict left out.
fn leftover(
    ctx: &Context,
    snapshot: &Snapshot<'_>,
    session: &Session,
) -> Result<Option<(String, Oid)>> {
    if !matches!(session.state.ending, Some(Ending::Abandoned { .. })) {
        return Ok(None);
    }
    for op in snapshot.operations(session)?.into_iter().rev() {
        let Body::Session(body) = op.body else {
            continue;
        };
        let Event::Archived {
            commit: Some(commit),
            target,
            ..
        } = body.event
        else {
            continue;
        };
        let Some(tip) = ctx.repo.find_ref(&format!("refs/heads/{target}"))? else {
            continue;
        };
        if ctx.repo.contains(&commit)?
            && ctx.repo.is_ancestor(&commit, &tip)?
            && !landed::is_reverted(&ctx.repo, &commit, &tip)?
        {
            return Ok(Some((target, commit)));
        }
    }
    Ok(None)
}

/// A name for the branch of a session that has none, where no branch holds the commits that are checked out.
fn unheld(ctx: &Context, state: &State, worktree: Option<&Worktree>) -> Result<Option<String>> {
    let is_about_code = matches!(state.stage, Stage::Build | Stage::Review | Stage::Done);
    let is_detached =
        worktree.is_some_and(|worktree| worktree.branch.is_none() && worktree.sequence.is_none());
    if !is_about_code || !is_detached || !state.is_active() || state.branch.is_some() {
        return Ok(None);
    }
    let Some(head) = ctx.head()?.commit else {
        return Ok(None);
    };
    if state.base.as_ref() == Some(&head) || landed::is_held(&ctx.repo, &head)? {
        return Ok(None);
    }
    super::begin::free_branch(ctx, state.id.as_str()).map(Some)
}

/// The name that the target merges to have the result: the branch that has it, else the commit that records name, and what was
/// lost then. Nothing where neither is here.
fn source(
    ctx: &Context,
    state: &State,
    branch: &str,
    lacks_code: bool,
) -> Result<Option<(String, Option<Hint>)>> {
    let Some(Ending::Archived { commit, .. }) = &state.ending else {
        return Ok(None);
    };
    let head = state
        .verdict
        .as_ref()
        .and_then(|verdict| verdict.value.head.as_ref());
    let archive = commit.as_ref().filter(|_| !lacks_code);
    let branch = match (&state.branch, archive) {
        (Some(bound), None) => Some(bound.as_str()),
        (None, None) => None,
        (_, Some(_)) => Some(branch),
    };
    let tip = match branch {
        Some(branch) => ctx.repo.find_ref(&format!("refs/heads/{branch}"))?,
        None => None,
    };
    let has_it = match (&tip, archive) {
        (None, _) => false,
        (Some(tip), Some(archive)) => found(&ctx.repo, archive, tip)?.is_some(),
        (Some(tip), None) => landed::has_code(&ctx.repo, state, Some(tip))?.unwrap_or(true),
    };
    if let (Some(branch), None) = (branch, &tip) {
        for (name, tip) in ctx.repo.tracking_refs(branch)? {
            let has_it = match archive {
                Some(archive) => found(&ctx.repo, archive, &tip)?.is_some(),
                None => landed::has_code(&ctx.repo, state, Some(&tip))?.unwrap_or(false),
            };
            if has_it {
                let name = name.strip_prefix("refs/remotes/").unwrap_or(&name);
                return Ok(Some((name.to_owned(), None)));
            }
        }
    }
    let (Some(branch), false) = (branch, has_it) else {
        let commit = head.map(|head| head.as_str().to_owned());
        return Ok(branch
            .map(str::to_owned)
            .or(commit)
            .map(|source| (source, None)));
    };
    let Some(commit) = archive.or(head) else {
        return Ok(None);
    };
    if !ctx.repo.contains(commit)? {
        return Ok(None);
    }
    let short = commit.short();
    let lost = match tip {
        Some(_) => format!("{branch} has it no more; it is in {short}").into(),
        None => hint![
            format!("the branch {branch} is not here; to have it again: "),
            Hint::git(format!("branch {} {short}", loopx_base::shell_word(branch)))
        ],
    };
    Ok(Some((short.to_owned(), Some(lost))))
}

/// The target that lacks what was archived.
fn unlanded(
    ctx: &Context,
    facts: &Facts<'_>,
    worktree: Option<&Worktree>,
) -> Result<Option<Unlanded>> {
    let state = &facts.state;
    let Some(Ending::Archived {
        target: branch,
        taken_back: None,
        ..
    }) = &state.ending
    else {
        return Ok(None);
    };
    let Some(worktree) = worktree else {
        return Ok(None);
    };
    let remote = ctx.repo.default_remote(Some(branch))?;
    let landed = landed(ctx, state, &facts.policy)?;
    let landed = landed.filter(Landed::is_open);
    let Some(Landed {
        target, lacks_code, ..
    }) = landed
    else {
        return Ok(None);
    };
    let Some((source, lost)) = source(ctx, state, branch, lacks_code)? else {
        return Ok(None);
    };
    let name = format!("refs/heads/{target}");
    let Some(tip) = ctx.repo.find_ref(&name)? else {
        return Ok(None);
    };
    let way = if worktree.branch.as_ref() == Some(&target) {
        None
    } else {
        let word = loopx_base::shell_word(&target);
        match ctx.repo.checked_out_in(&name)?.filter(|dir| dir.is_dir()) {
            // The merge belongs where the target is checked out.
            Some(_) => return Ok(None),
            None => Some(Hint::git(format!("switch {word}"))),
        }
    };
    // An archive has looked at the files that it changes, and does not pay for a look at all others: whoever asks does.
    let in_the_way = if way.is_some() && ctx.is_reading() {
        in_the_way(ctx, ctx.code_for(None)?.as_ref(), &tip)?
    } else {
        Vec::new()
    };
    Ok(Some(Unlanded {
        target,
        source,
        lost,
        remote,
        way,
        in_the_way,
    }))
}

/// Whether the check that is next may run here: the words of somebody else are read first.
fn trusted(
    ctx: &Context,
    at: (&Snapshot<'_>, &Session),
    facts: &Facts<'_>,
    advised: Advised,
) -> Result<Advised> {
    let lead = advised.command().and_then(Hint::command);
    let args = lead.filter(|lead| lead.verb() == Verb::Run);
    let mut words = args.map_or("", |lead| lead.args()).split(' ');
    let Some(task) = words.find(|word| *word == "--task").and(words.next()) else {
        return Ok(advised);
    };
    let checks = checks_now(&facts.texts, &facts.state, &facts.policy.all_checks());
    let Some(check) = checks.into_iter().find(|check| check.id == task) else {
        return Ok(advised);
    };
    let again = command!("run --task {task} --trust");
    let asked = std::slice::from_ref(&check);
    match trust::require(ctx, at, &facts.policy, asked, (false, again.clone())) {
        Err(failure) if failure.code == Code::CheckNotTrusted => {
            let told = format!("nobody here agreed to run {task}");
            Ok(Advised::write(match check.source {
                Source::Artifact(artifact) => hint![
                    format!("{told}; to read it: "),
                    command!("cat {artifact}"),
                    "; where you agree: ",
                    again
                ],
                Source::Policy => {
                    hint![
                        format!("{told}, which {POLICY} has; where you agree: "),
                        again
                    ]
                }
            }))
        }
        _ => Ok(advised),
    }
}

/// Nothing differs from where the session began.
fn is_empty(ctx: &Context, facts: &Facts<'_>) -> Result<bool> {
    let (Some(code), Some(base)) = (&facts.code, &facts.state.base) else {
        return Ok(facts
            .code
            .as_ref()
            .is_some_and(|code| !code.is_dirty && code.head.is_none()));
    };
    let is_there = code.head.as_ref() == Some(base) || ctx.repo.contains(base)?;
    Ok(!code.is_dirty && is_there && ctx.repo.commit_info(base)?.tree == code.tree)
}
