//! The reviewed commits of a landing that the branch does not get as they were made: one commit holds what they bring.
//! Policy that refuses what lies outside of a plan's scope refuses it of these as of the others, and of what no commit
//! of the landing changes.

use super::account::Judged;
use super::landing::Merger;
use super::range::changed;
use loopx_base::failure::{Code, Result};
use loopx_base::hint::command;
use loopx_base::id::SessionId;
use loopx_git::{CommitInfo, Repo};
use loopx_rules::commit_policy::{out_of_scope, some};
use loopx_rules::policy::{Policy, Strictness};
use loopx_rules::range_rules::{Finding, Severity};
use loopx_rules::session::State;
use std::collections::{BTreeSet, HashSet};
use std::rc::Rc;

/// Paths that the sessions of a landing changed outside of the scope of their plans, put down to the newest commit.
pub(super) fn outside(
    repo: &Repo,
    merger: &Merger<'_>,
    policy: &Policy,
    judged: &Judged,
    infos: &[CommitInfo],
) -> Result<Vec<Finding>> {
    let Some(newest) = infos.first() else {
        return Ok(Vec::new());
    };
    if policy.gates.out_of_scope != Strictness::Refuse {
        return Ok(Vec::new());
    }
    let scopes = Scopes {
        policy,
        lands: judged.sessions(),
        landed: landed(repo, infos)?,
    };
    let mut found = Vec::new();
    for state in &scopes.lands {
        let strays = judged.account.strays(&state.id).cloned().collect();
        let mut paths = scopes.beyond(state, strays)?;
        // A commit that comes as it was made is judged by what it names.
        let origins = judged.account.origins();
        for (id, _) in origins
            .filter(|(_, session)| **session == state.id)
            .filter(|(id, _)| infos.iter().all(|info| info.id != **id))
        {
            let info = repo.commit_info(id)?;
            let changed = changed(repo, merger, &info)?;
            paths.extend(scopes.outside_of(state, &info, changed)?);
        }
        if paths.is_empty() {
            continue;
        }
        let paths: Vec<String> = BTreeSet::from_iter(paths).into_iter().collect();
        found.push(Finding {
            code: Code::OutOfScope,
            severity: Severity::Error,
            commit: newest.id.clone(),
            subject: newest.subject().to_owned(),
            message: format!(
                "session {}: {}: outside the scope that the plan declares",
                state.id,
                some(&paths)
            ),
            paths,
            help: command!("plan --reason WHY").session(&state.id),
        });
    }
    Ok(found)
}

/// The paths that the commits of a landing change.
fn landed(repo: &Repo, infos: &[CommitInfo]) -> Result<HashSet<String>> {
    let mut found = HashSet::new();
    for info in infos {
        let before = match info.parents.first() {
            Some(parent) => Some(repo.commit_info(parent)?.tree),
            None => None,
        };
        found.extend(repo.changed_paths(before.as_ref(), &info.tree)?);
    }
    Ok(found)
}

/// The scopes of the plans that a landing is held against.
struct Scopes<'a> {
    policy: &'a Policy,
    /// The sessions that land. No other one lends its scope: nobody judged it.
    lands: Vec<Rc<State>>,
    landed: HashSet<String>,
}

impl Scopes<'_> {
    /// The paths that a session's plan does not name.
    fn beyond(&self, session: &State, paths: Vec<String>) -> Result<Vec<String>> {
        out_of_scope(session, self.policy, &paths)
    }

    /// The paths of a reviewed commit that are outside of the scope of the session that it names, where that one lands
    /// too, or of the one that it is put down to. What a session below brought when it landed before is no change of this
    /// landing.
    fn outside_of(
        &self,
        session: &State,
        info: &CommitInfo,
        mut changed: Vec<String>,
    ) -> Result<Vec<String>> {
        let name = match info.trailer("Loopx-Session").as_slice() {
            [name] => SessionId::parse(name).ok(),
            _ => None,
        };
        let named = name.and_then(|name| self.lands.iter().find(|state| state.id == name));
        changed.retain(|path| self.landed.contains(path));
        self.beyond(named.map_or(session, |named| named), changed)
    }
}
