//! The reviewed commits of a landing that the branch does not get as they were made: one commit holds what they bring.
//! Policy that refuses what lies outside of a plan's scope refuses it of these as of the others, and of what no commit
//! of the landing changes.

use super::account::Judged;
use super::landing::{self, Merger};
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

/// What the sessions of a landing changed outside of the scope of their plans, put down to the newest commit.
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
        landed: landed(repo, judged, newest)?,
    };
    let mut found = Vec::new();
    for state in &scopes.lands {
        let head = landing::approving(state).and_then(|verdict| verdict.head.as_ref());
        let reviewed = match head {
            Some(head) if repo.contains(head)? => repo.range(head, &judged.without, usize::MAX)?,
            _ => Vec::new(),
        };
        let strays = judged.account.strays(&state.id).cloned().collect();
        let mut paths = scopes.beyond(state, strays)?;
        // A commit that comes as it was made is judged by what it names.
        for id in reviewed
            .iter()
            .filter(|id| infos.iter().all(|info| info.id != **id))
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

/// The paths that a landing changes on its branch.
fn landed(repo: &Repo, judged: &Judged, newest: &CommitInfo) -> Result<HashSet<String>> {
    let before = match judged.without.first() {
        Some(old) => Some(repo.commit_info(old)?.tree),
        None => None,
    };
    let paths = repo.changed_paths(before.as_ref(), &newest.tree)?;
    Ok(paths.into_iter().collect())
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
    /// too, or of the one whose review has shown it.
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
        let Some(name) = name.filter(|name| *name != session.id) else {
            return self.beyond(session, changed);
        };
        if let Some(named) = self.lands.iter().find(|state| state.id == name) {
            return self.beyond(named, changed);
        }
        // A session below may have landed before: what it did is not changed by this landing.
        changed.retain(|path| self.landed.contains(path));
        self.beyond(session, changed)
    }
}
