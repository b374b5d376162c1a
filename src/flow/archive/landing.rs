//! Commits on the target branch: one for each session that is archived, one for an archive that is taken
//! back; and the look for one that an earlier run made.

use super::super::checked_out;
use super::super::context::Context;
use super::super::journal::{Closing, Entry, Scope, Step as Follows, close};
use super::super::sign::Judge;
use super::SpecChange;
use super::closing::{adr_candidate, leave};
use super::contest::clear_conflicts;
use super::plan::{Aim, Plan, unsigned};
use super::steps::Step;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::id::{Oid, SessionId};
use loopx_git as git;
use loopx_git::{EntryKind, Identity};
use loopx_rules::session::State;
use loopx_store as store;
use loopx_store::{Session, Snapshot};
use std::collections::BTreeMap;

/// The names of the landings in the entries of the journal.
pub(super) const ARCHIVE: &str = "git loopx archive";
pub(super) const UNDO: &str = "git loopx archive --undo";

/// Makes a commit for each session and moves both refs, once. Gives the commits; there is none where the
/// specs said so already. `None`: the target branch moved, plan again.
pub(super) fn land(
    scope: &Scope<'_>,
    steps: &[Step<'_>],
    sign: bool,
) -> Result<Option<Vec<Option<Oid>>>> {
    let (ctx, identity) = (scope.ctx, scope.identity);
    let Some(first) = steps.first() else {
        return Ok(Some(Vec::new()));
    };
    let aim = &first.plan.aim;
    // Trees first: what is refused is refused before a commit is made.
    let mut trees: Vec<Option<Oid>> = vec![aim.tree.clone()];
    let mut paths = checked_out::Changes::new();
    for step in steps {
        let before = trees.last().cloned().flatten();
        let (edits, own) = edits(ctx, before.as_ref(), &aim.target, &step.changes)?;
        for (path, (old, new)) in own {
            paths.entry(path).or_insert((old, None)).1 = new;
        }
        trees.push(if edits.is_empty() {
            before
        } else {
            Some(ctx.repo.edit_tree(before.as_ref(), &edits)?)
        });
    }
    paths.retain(|_, (old, new)| old != new);
    if let Some(Some(tree)) = trees.last()
        && !paths.is_empty()
    {
        require_free(ctx, aim, &paths, tree)?;
    }
    follow_landed(scope, aim, steps)?;
    let session_commit = scope.store.snapshot()?.commit().clone();
    let mut tip = aim.tip.clone();
    let mut commits = Vec::new();
    let mut closes = Vec::new();
    for (step, trees) in steps.iter().zip(trees.windows(2)) {
        let state = &step.facts.state;
        let mut commit = None;
        if let [before, Some(tree)] = trees
            && (before.as_ref() != Some(tree) || says_why(step))
        {
            let message = commit_message(state, &session_commit, &step.plan);
            let parents: Vec<Oid> = tip.iter().cloned().collect();
            let new = write(ctx, (tree, &parents), &message, (identity, sign))?;
            require_counting(ctx, step, &new)?;
            tip = Some(new.clone());
            commit = Some(new);
        }
        if step.landed.is_none() {
            closes.push(Closing {
                id: state.id.clone(),
                commit: commit.clone(),
                candidate: adr_candidate(state, &step.facts.texts, &identity.at),
            });
        }
        commits.push(commit.or_else(|| step.landed.clone()));
    }
    match tip {
        Some(new) if aim.tip.as_ref() != Some(&new) => {
            let entry = entry(ctx, aim, &new, paths, closes)?;
            let ids: Vec<&str> = entry.sessions.iter().map(SessionId::as_str).collect();
            let why = format!("loopx: archive {}", ids.join(", "));
            let moved = scope.land(entry, aim.tip.as_ref(), &why)?;
            Ok(moved.then_some(commits))
        }
        // Somebody wrote it all by hand: there is nothing to commit.
        _ => {
            close(scope, &aim.target, &closes)?;
            let store = scope.store;
            let follows = leave(ctx, closes.into_iter().map(|one| one.id))?;
            let tip = store.snapshot()?.commit().clone();
            scope.follow(Entry::new(ARCHIVE, &store.branch_ref(), &tip, follows));
            Ok(Some(commits))
        }
    }
}

/// Takes the steps that follow an earlier landing whose note is lost.
fn follow_landed(scope: &Scope<'_>, aim: &Aim, steps: &[Step<'_>]) -> Result<()> {
    let (ctx, identity) = (scope.ctx, scope.identity);
    for step in steps {
        if let Some(commit) = &step.landed {
            let state = &step.facts.state;
            let closing = Closing {
                id: state.id.clone(),
                commit: Some(commit.clone()),
                candidate: adr_candidate(state, &step.facts.texts, &identity.at),
            };
            let changes = step.plan.landed(ctx, commit)?;
            scope.follow(entry(ctx, aim, commit, changes, vec![closing])?);
        }
    }
    Ok(())
}

/// Writes a commit, signed where that is wanted.
fn write(
    ctx: &Context,
    (tree, parents): (&Oid, &[Oid]),
    message: &str,
    (identity, sign): (&Identity, bool),
) -> Result<Oid> {
    if sign {
        ctx.repo
            .write_signed_commit(tree, parents, message, identity)
    } else {
        ctx.repo.write_commit(tree, parents, message, identity)
    }
}

/// A waiver whose signature would not count should not look like one that does.
fn require_counting(ctx: &Context, step: &Step<'_>, commit: &Oid) -> Result<()> {
    let policy = &step.facts.policy;
    let Some(scenario) = step.plan.waived.scenarios.first() else {
        return Ok(());
    };
    if !policy.asks_signatures() {
        return Ok(());
    }
    let info = ctx.repo.commit_info(commit)?;
    let checked = Judge::new(policy)?.check_commit(&ctx.repo, &info)?;
    match checked.filter(|checked| !checked.holds()) {
        Some(checked) => Err(unsigned(scenario, checked.reason())),
        None => Ok(()),
    }
}

/// The entry of an archive: what follows when the target branch has moved.
fn entry(
    ctx: &Context,
    aim: &Aim,
    new: &Oid,
    changes: checked_out::Changes,
    closes: Vec<Closing>,
) -> Result<Entry> {
    let ids: Vec<SessionId> = closes.iter().map(|one| one.id.clone()).collect();
    let mut follows = vec![Follows::Follow { changes }, Follows::Close { closes }];
    follows.extend(leave(ctx, ids.iter().cloned())?);
    Ok(Entry::new(ARCHIVE, &aim.target_ref, new, follows).about(ids))
}

/// Makes the commit that takes an archive back, and moves the target branch. `None`: it moved, look
/// again.
pub(super) fn land_undo(
    scope: &Scope<'_>,
    aim: &Aim,
    (id, message, sign): (&SessionId, &str, bool),
    (archive, reason): (&Oid, Option<&str>),
    changes: &[SpecChange],
) -> Result<Option<Oid>> {
    let ctx = scope.ctx;
    let (edits, paths) = edits(ctx, aim.tree.as_ref(), &aim.target, changes)?;
    let tree = ctx.repo.edit_tree(aim.tree.as_ref(), &edits)?;
    require_free(ctx, aim, &paths, &tree)?;
    let parents: Vec<Oid> = aim.tip.iter().cloned().collect();
    let new = write(ctx, (&tree, &parents), message, (scope.identity, sign))?;
    let mut follows = vec![
        Follows::Follow { changes: paths },
        unarchived(id, archive, reason),
    ];
    // The conflict that was settled is this one's.
    follows.extend(clear_conflicts(ctx, id)?);
    let entry = Entry::new(UNDO, &aim.target_ref, &new, follows).about(vec![id.clone()]);
    let moved = scope.land(entry, aim.tip.as_ref(), &format!("loopx: unarchive {id}"))?;
    Ok(moved.then_some(new))
}

/// The step that tells a session that its archive was taken back.
fn unarchived(id: &SessionId, archive: &Oid, reason: Option<&str>) -> Follows {
    Follows::Unarchive {
        session: id.clone(),
        archive: archive.clone(),
        reason: reason.map(str::to_owned),
    }
}

/// Tells a session that a commit takes its archive back, where an earlier run did not: one of an older program, or one
/// whose note is lost.
pub(super) fn tell_undone(
    scope: &Scope<'_>,
    aim: &Aim,
    (id, archive): (&SessionId, &Oid),
    commit: &Oid,
) {
    let follows = vec![unarchived(id, archive, None)];
    scope.follow(Entry::new(UNDO, &aim.target_ref, commit, follows).about(vec![id.clone()]));
}

/// The edits of a tree, by path.
type Edits = BTreeMap<String, Option<git::Entry>>;

/// The edits that a tree of the target takes in, and the blobs that they replace and write.
fn edits(
    ctx: &Context,
    tree: Option<&Oid>,
    target: &str,
    changes: &[SpecChange],
) -> Result<(Edits, checked_out::Changes)> {
    let mut edits = Edits::new();
    let mut paths = checked_out::Changes::new();
    for change in changes {
        let blob = change
            .after
            .as_ref()
            .map(|text| ctx.repo.write_blob(text.as_bytes()))
            .transpose()?;
        let old = match tree {
            Some(tree) => ctx.repo.entry_at(tree, &change.path)?.map(|entry| entry.id),
            None => None,
        };
        edits.insert(change.path.clone(), blob.clone().map(git::Entry::blob));
        paths.insert(change.path.clone(), (old, blob));
    }
    for path in paths.keys() {
        require_folders(ctx, tree, target, path)?;
    }
    Ok((edits, paths))
}

/// The worktree that has the branch, if any, has to be able to follow.
fn require_free(ctx: &Context, aim: &Aim, paths: &checked_out::Changes, tree: &Oid) -> Result<()> {
    let Some(worktree) = checked_out::of(ctx, &aim.target_ref)? else {
        return Ok(());
    };
    let old = match &aim.tree {
        Some(tree) => tree.clone(),
        None => ctx.repo.empty_tree()?,
    };
    // git is asked about trees that are in memory so far.
    ctx.repo.keep(&old)?;
    ctx.repo.keep(tree)?;
    worktree.require_free("archive", paths, (&old, tree), Code::SpecDirty)
}

/// A spec cannot lie below something that is a file on the branch; it would have to go.
fn require_folders(ctx: &Context, tree: Option<&Oid>, target: &str, path: &str) -> Result<()> {
    let Some(tree) = tree else {
        return Ok(());
    };
    for (end, _) in path.match_indices('/') {
        match ctx.repo.entry_at(tree, &path[..end])? {
            Some(entry) if entry.kind != EntryKind::Tree => {
                return Err(Failure::refused(
                    Code::SpecPathBlocked,
                    format!(
                        "{} is a file or a link on {target}; {path} needs a folder there",
                        &path[..end]
                    ),
                )
                .help(format!("git mv {} ELSEWHERE", &path[..end])));
            }
            Some(_) => {}
            None => break,
        }
    }
    Ok(())
}

/// The archive commit on the target branch, if an earlier run made it: it names the session, the session is still as
/// it was then, and it changes what an archive of it does. Anybody can write such trailers on a commit of documents.
pub(super) fn landed_before(ctx: &Context, session: &Session, plan: &Plan) -> Result<Option<Oid>> {
    let Some(tip) = &plan.aim.tip else {
        return Ok(None);
    };
    let id = &session.state.id;
    let hidden: Vec<Oid> = session.state.base.iter().cloned().collect();
    for commit in ctx.repo.range(tip, &hidden, 10_000)? {
        let info = ctx.repo.commit_info(&commit)?;
        if !info.trailer("Loopx-Event").contains(&"archive")
            || !info.trailer("Loopx-Session").contains(&id.as_str())
        {
            continue;
        }
        let same = info.trailer("Loopx-State").iter().any(|state| {
            Oid::parse(state)
                .and_then(|state| Snapshot::at(&ctx.repo, state, "Loopx-State"))
                .and_then(|snapshot| snapshot.session(id))
                .is_ok_and(|then| then.is_some_and(|then| then.tree == session.tree))
        });
        if same && plan.is_made_by(ctx, &commit)? {
            return Ok(Some(commit));
        }
    }
    Ok(None)
}

/// Tells whether a session without a change of specs has its reason to give to the history of the target.
fn says_why(step: &Step<'_>) -> bool {
    step.plan.unchanged.is_some() && step.landed.is_none()
}

fn commit_message(state: &State, session_commit: &Oid, plan: &Plan) -> String {
    let waived = &plan.waived;
    let mut text = format!(
        "Archive {}: {}\n\n",
        state.id,
        store::one_line(&state.title)
    );
    if let Some(reason) = &plan.unchanged {
        text.push_str(&format!(
            "No behaviour changes: {}\n\n",
            store::one_line(reason)
        ));
    }
    if !waived.scenarios.is_empty() {
        text.push_str("Without evidence:\n");
        for scenario in &waived.scenarios {
            text.push_str(&format!("- {}\n", store::one_line(scenario)));
        }
        text.push_str(&format!("because: {}\n\n", store::one_line(&waived.reason)));
    }
    text.push_str(&format!(
        "Loopx-Session: {}\nLoopx-Event: archive\nLoopx-State: {session_commit}\n",
        state.id
    ));
    for issue in &state.issues {
        text.push_str(&format!("Loopx-Issue: {issue}\n"));
    }
    for scenario in &waived.scenarios {
        text.push_str(&format!("Loopx-Waived: {}\n", store::one_line(scenario)));
    }
    text
}
