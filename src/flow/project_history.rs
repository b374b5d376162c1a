//! `history`: what was done in the project, read out of the archives whenever somebody asks. Nothing of it is stored,
//! so that it cannot be stale: the sessions say who and when, the commits of the code say which specs and files.

use super::context::Context;
use super::specs;
use loopx_base::failure::Result;
use loopx_base::id::{Oid, Person, SessionId};
use loopx_base::vocabulary::vocabulary;
use loopx_git::Repo;
use loopx_rules::change_kind::{ChangeKind, area};
use loopx_rules::issue::IssueId;
use loopx_rules::session::{Ending, State, TakenBack};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

vocabulary!(
    /// Criterion by which sessions are put together.
    By {
        Month = "month",
        Domain = "domain",
        File = "file",
        Person = "person",
        Kind = "kind",
    }
);

/// Archived session as a row of the history.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Entry {
    pub session: SessionId,
    pub title: String,
    pub kind: ChangeKind,
    pub month: String,
    pub target: String,
    pub commit: Option<Oid>,
    /// Set when the session had ended in another tool, and was taken over as it was.
    pub imported: bool,
    /// Undo of the archive, where somebody took it back since.
    pub taken_back: Option<TakenBack>,
    /// People who began, built and reviewed the session.
    pub people: Vec<Person>,
    pub domains: BTreeSet<String>,
    /// Folder that has most of the session's files.
    pub area: Option<String>,
    /// Files that the code changed; nothing where this clone has not got the code.
    pub files: Option<Vec<String>>,
    pub issues: Vec<IssueId>,
}

/// Conditions on sessions: each that is named has to hold.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    /// A part of the id or the title, whatever the letter case.
    pub text: Option<String>,
    pub domain: Option<String>,
    /// A file, or a folder with everything below.
    pub path: Option<String>,
    /// A part of a name or an address.
    pub person: Option<String>,
    /// Month as `yyyy-mm`, or the beginning of that.
    pub month: Option<String>,
    pub kind: Option<ChangeKind>,
}

/// Sessions that have something in common.
#[derive(Debug, Serialize)]
pub(crate) struct Group {
    /// Name of the group; nothing for the sessions that have none of it.
    pub name: Option<String>,
    pub sessions: Vec<SessionId>,
}

/// Archived sessions of a project, and their groups.
#[derive(Debug)]
pub(crate) struct History {
    /// Newest month first.
    pub sessions: Vec<Entry>,
    pub groups: Vec<Group>,
    /// Archived sessions that the filter leaves out.
    pub left_out: usize,
    /// Archives that cannot be read, and why.
    pub damaged: Vec<(String, String)>,
}

/// Reads the archives.
pub(crate) fn history(ctx: &Context, by: By, filter: &Filter) -> Result<History> {
    ctx.only_reads();
    let snapshot = ctx.store()?.snapshot()?;
    let folder = specs::policy(ctx)?.paths.specs;
    let mut found = History {
        sessions: Vec::new(),
        groups: Vec::new(),
        left_out: 0,
        damaged: Vec::new(),
    };
    for (id, session) in snapshot.archived()? {
        let entry = session.and_then(|session| entry(&ctx.repo, &folder, &session.state));
        match entry {
            Ok(Some(entry)) if filter.takes(&entry) => found.sessions.push(entry),
            Ok(_) => found.left_out += 1,
            // One that cannot be read hides no other.
            Err(failure) => found.damaged.push((id.to_string(), failure.message)),
        }
    }
    found.groups = grouped(by, &found.sessions);
    Ok(found)
}

impl Filter {
    fn takes(&self, entry: &Entry) -> bool {
        let has = |text: &str, part: &str| text.to_lowercase().contains(&part.to_lowercase());
        let texts = [entry.session.as_str(), &entry.title];
        let is_at = |path: &String, at: &str| {
            let below = path.strip_prefix(at.trim_end_matches('/'));
            below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
        };
        let holds = [
            is_true(&self.text, |part| texts.iter().any(|text| has(text, part))),
            is_true(&self.domain, |domain| entry.domains.contains(domain)),
            is_true(&self.path, |at| {
                let mut files = entry.files.iter().flatten();
                files.any(|path| is_at(path, at))
            }),
            is_true(&self.person, |part| {
                let mut people = entry.people.iter();
                people.any(|one| has(&one.to_string(), part))
            }),
            is_true(&self.month, |month| entry.month.starts_with(month)),
        ];
        holds.into_iter().all(|one| one) && self.kind.is_none_or(|kind| kind == entry.kind)
    }
}

fn is_true(wanted: &Option<String>, holds: impl Fn(&str) -> bool) -> bool {
    wanted.as_deref().is_none_or(holds)
}

/// The entry of an archived session; nothing where it was opened again.
fn entry(repo: &Repo, specs: &str, state: &State) -> Result<Option<Entry>> {
    let Some(Ending::Archived {
        commit,
        target,
        month,
        taken_back,
    }) = &state.ending
    else {
        return Ok(None);
    };
    let files = files(repo, state, commit.as_ref())?;
    let paths = files.iter().flatten().map(String::as_str);
    let made = commit.as_ref().map(|commit| made_by(repo, commit));
    let domains = match made.transpose()?.flatten() {
        Some(made) => made
            .iter()
            .filter_map(|path| domain_of(specs, path))
            .collect(),
        // Without the code the requirements say it that the session was written against.
        None => state.bases.iter().map(|base| base.domain.clone()).collect(),
    };
    Ok(Some(Entry {
        session: state.id.clone(),
        title: state.title.clone(),
        kind: ChangeKind::of(&state.title),
        month: month.clone(),
        target: target.clone(),
        commit: commit.clone(),
        imported: commit.is_none(),
        taken_back: taken_back.clone(),
        people: people(state),
        domains,
        area: area(paths),
        files,
        issues: state.issues.clone(),
    }))
}

/// The domain of a spec by its path: the folder of specs may have another name by now.
fn domain_of(specs: &str, path: &str) -> Option<String> {
    let folder = path.strip_suffix("/spec.md")?;
    let below = folder.strip_prefix(specs)?.strip_prefix('/')?;
    Some(below.to_owned())
}

/// People who began, built and reviewed a session, each once.
fn people(state: &State) -> Vec<Person> {
    let mut people: Vec<Person> = Vec::new();
    let all = std::iter::once(&state.started.by)
        .chain(&state.build.builders)
        .chain(state.verdict.iter().map(|verdict| &verdict.signed.by));
    for one in all {
        if !people.iter().any(|known| known.is_same(one)) {
            people.push(one.clone());
        }
    }
    people
}

/// The files that a session changed: those of the range that was reviewed, else of all from its start to its archive.
fn files(repo: &Repo, state: &State, archive: Option<&Oid>) -> Result<Option<Vec<String>>> {
    let reviewed = state.verdict.as_ref().map(|verdict| &verdict.value);
    let head = match (reviewed.and_then(|one| one.head.clone()), archive) {
        (Some(head), _) => Some(head),
        (None, Some(archive)) if repo.contains(archive)? => {
            repo.commit_info(archive)?.parents.into_iter().next()
        }
        (None, _) => None,
    };
    let base = reviewed.and_then(|one| one.base.clone());
    let base = base.or_else(|| state.base.clone());
    let tree = |commit: &Oid| -> Result<Option<Oid>> {
        Ok(if repo.contains(commit)? {
            Some(repo.commit_info(commit)?.tree)
        } else {
            None
        })
    };
    let Some(head) = head.as_ref().map(tree).transpose()?.flatten() else {
        return Ok(None);
    };
    let before = match base.as_ref().map(tree).transpose()? {
        Some(None) => return Ok(None),
        Some(Some(before)) => Some(before),
        None => None,
    };
    repo.changed_paths(before.as_ref(), &head).map(Some)
}

/// The paths that one commit changed; nothing where this clone has not got it.
fn made_by(repo: &Repo, commit: &Oid) -> Result<Option<Vec<String>>> {
    if !repo.contains(commit)? {
        return Ok(None);
    }
    let info = repo.commit_info(commit)?;
    let before = match info.parents.first() {
        Some(parent) => Some(repo.commit_info(parent)?.tree),
        None => None,
    };
    repo.changed_paths(before.as_ref(), &info.tree).map(Some)
}

/// Puts sessions together: months from the newest, anything else from what most sessions have.
fn grouped(by: By, entries: &[Entry]) -> Vec<Group> {
    let mut groups: BTreeMap<Option<String>, Vec<SessionId>> = BTreeMap::new();
    for entry in entries {
        let names: Vec<String> = match by {
            By::Month => vec![entry.month.clone()],
            By::Kind => vec![entry.kind.to_string()],
            By::Domain => entry.domains.iter().cloned().collect(),
            By::File => entry.files.clone().unwrap_or_default(),
            By::Person => {
                let people: BTreeSet<&str> =
                    entry.people.iter().map(|one| one.name.as_str()).collect();
                people.into_iter().map(str::to_owned).collect()
            }
        };
        let mut names: Vec<Option<String>> = names.into_iter().map(Some).collect();
        if names.is_empty() {
            names.push(None);
        }
        for name in names {
            groups.entry(name).or_default().push(entry.session.clone());
        }
    }
    let groups = groups.into_iter();
    let mut groups: Vec<Group> = groups
        .map(|(name, sessions)| Group { name, sessions })
        .collect();
    match by {
        By::Month => groups.reverse(),
        // The sort is stable: what as many have stays in the order of its name, and what has none comes last.
        _ => groups.sort_by_key(|group| {
            (
                group.name.is_none(),
                std::cmp::Reverse(group.sessions.len()),
            )
        }),
    }
    groups
}
