//! The check that a commit is what a command of this program makes of its parent: made again, and compared byte by
//! byte. What a trailer says only tells where to look.

use super::Sessions;
use super::landing::approving;
use crate::flow::adr::landed;
use crate::flow::archive;
use crate::flow::archive::SpecChange;
use crate::flow::archive::UNARCHIVE;
use crate::flow::context::Context;
use crate::flow::delta;
use crate::flow::delta::Target;
use crate::flow::{coverage, sign, transaction};
use loopx_base::failure::Result;
use loopx_base::id::{Oid, SessionId};
use loopx_git::{CommitInfo, Repo};
use loopx_rules::account::{Change, Made, Mode, Rules};
use loopx_rules::policy::{EvidenceRule, Policy};
use loopx_rules::session::{Ending, State};
use loopx_rules::texts::Texts;
use loopx_spec::changelog;
use loopx_spec::changelog::Entries;
use loopx_spec::{Action, fold};
use std::collections::BTreeMap;

/// The texts that a commit should have at paths; `None` where a file goes.
type FileTexts = BTreeMap<String, Option<String>>;

/// Tells whether a commit is the archive of a session: the specs are what its delta makes of those before, and the
/// fragment is the delta's. A text that a person chose in a conflict is none of these: it was reviewed by nobody.
pub(super) fn is_archive(
    ctx: &Context,
    policy: &Policy,
    state: &State,
    commit: &Oid,
) -> Result<bool> {
    if !matches!(state.ending, Some(Ending::Archived { .. })) {
        return Ok(false);
    }
    let Some(made) = Commit::read(&ctx.repo, commit)? else {
        return Ok(false);
    };
    let mut texts = Texts::default();
    transaction::read_texts(&ctx.repo, state, &mut texts)?;
    let target = Target::of_tree(Some(made.before.clone()));
    let judged = delta::judge(ctx, state, policy, (&target, &target), &texts)?;
    if !judged.facts.blockers.is_empty() {
        return Ok(false);
    }
    let mut expected = FileTexts::new();
    for one in &judged.verdict.domains {
        let path = delta::spec_path(policy, &one.outcome.domain);
        if !one.outcome.conflicts.is_empty() {
            return Ok(false);
        }
        let after = match &one.outcome.action {
            Action::Write(text) => Some(text.clone()),
            Action::Retire => None,
            Action::Keep => continue,
        };
        if after != one.before {
            expected.insert(path, after);
        }
    }
    let entries = changelog::of_delta(&judged.delta);
    let folder = &policy.changelog.fragments;
    if !folder.is_empty() && !entries.is_empty() {
        let path = format!("{folder}/{}.md", state.id);
        if ctx.repo.entry_at(&made.before, &path)?.is_none() {
            expected.insert(path, Some(entries.text()));
        }
    }
    Ok(made.has(&ctx.repo, &expected)? && is_proven(ctx, policy, state, &texts, &made)?)
}

/// Tells whether all that an archive lets in is proven on the reviewed code, or waived; where policy asks for
/// signatures, by a commit that somebody's key signed.
fn is_proven(
    ctx: &Context,
    policy: &Policy,
    state: &State,
    texts: &Texts,
    made: &Commit,
) -> Result<bool> {
    if policy.archive.evidence == EvidenceRule::Off {
        return Ok(true);
    }
    let waived = made.info.trailer("Loopx-Waived");
    let waived: Vec<String> = waived.into_iter().map(str::to_owned).collect();
    let is_signed = policy.asks_signatures();
    let open = coverage::unproven(state, texts, !is_signed);
    if !open
        .iter()
        .all(|name| waived.iter().any(|one| fold(one) == fold(name)))
    {
        return Ok(false);
    }
    Ok(!is_signed
        || waived.is_empty()
        || sign::is_signed_by_somebody(&ctx.repo, policy, &made.info.id)?)
}

/// Results that other commands make.
pub(super) fn made(
    ctx: &Context,
    sessions: &Sessions<'_>,
    policy: &Policy,
    commit: &Oid,
) -> Result<Option<Made>> {
    let Some(made) = Commit::read(&ctx.repo, commit)? else {
        return Ok(None);
    };
    let says = |event: &str| made.info.trailer("Loopx-Event").contains(&event);
    if says(UNARCHIVE) && is_undo(ctx, sessions, policy, &made)? {
        return Ok(Some(Made::Undo));
    }
    if says("adr") && is_decision(ctx, sessions, policy, &made)? {
        return Ok(Some(Made::Decision));
    }
    if is_changelog(&ctx.repo, policy, &made)? {
        return Ok(Some(Made::Changelog));
    }
    Ok(None)
}

/// An archive that the session's own record names, taken back.
fn is_undo(ctx: &Context, sessions: &Sessions<'_>, policy: &Policy, made: &Commit) -> Result<bool> {
    let undone = made.info.trailer("Loopx-Undoes");
    let Some(state) = made.session(sessions)? else {
        return Ok(false);
    };
    let Some(Ending::Archived {
        commit: Some(archive),
        ..
    }) = &state.ending
    else {
        return Ok(false);
    };
    if undone != [archive.as_str()] {
        return Ok(false);
    }
    // What a record names could be any commit.
    let there = archive::standing(&ctx.repo, archive, &state.id, &made.parent)?;
    let there = match there {
        Some(there) if is_archive(ctx, policy, &state, &there.id)? => there,
        _ => return Ok(false),
    };
    let Some(changes) = archive::undoing(ctx, &there.id, &made.parent)? else {
        return Ok(false);
    };
    let expected = changes.into_iter();
    made.has(
        &ctx.repo,
        &expected
            .map(|SpecChange { path, after, .. }| (path, after))
            .collect(),
    )
}

/// The candidate of an archived session, as a numbered record. An import archives what nobody here reviewed.
fn is_decision(
    ctx: &Context,
    sessions: &Sessions<'_>,
    policy: &Policy,
    made: &Commit,
) -> Result<bool> {
    let Some(state) = made.session(sessions)? else {
        return Ok(false);
    };
    if !matches!(state.ending, Some(Ending::Archived { .. })) || approving(&state).is_none() {
        return Ok(false);
    }
    let mut texts = Texts::default();
    transaction::read_texts(&ctx.repo, &state, &mut texts)?;
    for day in landed::days(&ctx.repo, policy, &made.info.tree, &made.changes)? {
        let text = archive::adr_candidate(&state, &texts, &day);
        for expected in landed::promotions(&ctx.repo, policy, &state, text, &made.before)? {
            if made.has(&ctx.repo, &expected)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Fragments that went, and one file that took all of them in.
fn is_changelog(repo: &Repo, policy: &Policy, made: &Commit) -> Result<bool> {
    let folder = &policy.changelog.fragments;
    if folder.is_empty() {
        return Ok(false);
    }
    let is_fragment = |change: &&Change| {
        change.new.is_none()
            && change
                .path
                .strip_prefix(folder.as_str())
                .and_then(|rest| rest.strip_prefix('/'))
                .is_some_and(|name| !name.contains('/') && name.ends_with(".md"))
    };
    let (fragments, rest): (Vec<&Change>, Vec<&Change>) =
        made.changes.iter().partition(is_fragment);
    let [into] = rest.as_slice() else {
        return Ok(false);
    };
    let rules = Rules::new(policy)?;
    let is_taken = |fragment: &&Change| !rules.demands(&fragment.path);
    if fragments.is_empty() || !fragments.iter().all(is_taken) || !rules.is_changelog(into) {
        return Ok(false);
    }
    let text = |path: &str| -> Result<Option<String>> {
        let bytes = repo.blob_at(&made.before, path)?.unwrap_or_default();
        Ok(String::from_utf8(bytes).ok())
    };
    let mut expected = FileTexts::new();
    let mut entries = Entries::default();
    for fragment in fragments {
        let read = text(&fragment.path)?.and_then(|text| changelog::read(&text).ok());
        let Some(read) = read else {
            return Ok(false);
        };
        entries.join(read);
        expected.insert(fragment.path.clone(), None);
    }
    let Some(before) = text(&into.path)? else {
        return Ok(false);
    };
    let after = changelog::insert(&before, &entries);
    expected.insert(into.path.clone(), Some(after));
    made.has(repo, &expected)
}

/// A commit with one parent.
struct Commit {
    info: CommitInfo,
    parent: Oid,
    /// The parent's tree.
    before: Oid,
    changes: Vec<Change>,
}

impl Commit {
    fn read(repo: &Repo, id: &Oid) -> Result<Option<Self>> {
        if !repo.contains(id)? {
            return Ok(None);
        }
        let info = repo.commit_info(id)?;
        let [parent] = info.parents.as_slice() else {
            return Ok(None);
        };
        let parent = parent.clone();
        let before = repo.commit_info(&parent)?.tree;
        let changes = repo.changes(Some(&before), &info.tree)?;
        Ok(Some(Commit {
            info,
            parent,
            before,
            changes,
        }))
    }

    /// The session that its trailer names.
    fn session(&self, sessions: &Sessions<'_>) -> Result<Option<std::rc::Rc<State>>> {
        match self.info.trailer("Loopx-Session").as_slice() {
            [name] => match SessionId::parse(name) {
                Ok(id) => sessions.now(&id),
                Err(_) => Ok(None),
            },
            _ => Ok(None),
        }
    }

    /// Tells whether the commit changes exactly these files, to these texts.
    fn has(&self, repo: &Repo, expected: &FileTexts) -> Result<bool> {
        if self.changes.len() != expected.len() {
            return Ok(false);
        }
        for change in &self.changes {
            let Some(text) = expected.get(&change.path) else {
                return Ok(false);
            };
            let is_it = match (text, change.new) {
                (None, None) => true,
                (Some(text), Some(mode)) => {
                    let blob = repo.entry_at(&self.info.tree, &change.path)?;
                    let is_plain = mode == Mode::Plain
                        || (mode == Mode::Executable && change.old == Some(Mode::Executable));
                    is_plain && blob.map(|entry| entry.id) == Some(repo.hash_blob(text.as_bytes())?)
                }
                _ => false,
            };
            if !is_it {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
