//! The reviewed commits of a landing that the branch does not get as they were made: one commit holds what they bring.
//! Policy that refuses what lies outside of a plan's scope refuses it of these as of the others.

use super::account::Judged;
use super::range::own_paths;
use super::{Sessions, landing};
use loopx_base::failure::{Code, Result};
use loopx_base::hint::command;
use loopx_base::id::{Oid, SessionId};
use loopx_git::{CommitInfo, Repo};
use loopx_rules::commit_policy::{Rule, Rules, some};
use loopx_rules::policy::{Policy, Strictness};
use loopx_rules::range_rules::{Finding, Severity};
use loopx_rules::session::State;
use loopx_rules::stage::Stage;
use std::collections::BTreeSet;

/// What the sessions of a landing changed outside of the scope of their plans, put down to the newest commit.
pub(super) fn outside(
    repo: &Repo,
    policy: &Policy,
    sessions: &Sessions<'_>,
    judged: &Judged,
    infos: &[CommitInfo],
) -> Result<Vec<Finding>> {
    let Some(newest) = infos.first() else {
        return Ok(Vec::new());
    };
    if policy.gates.out_of_scope != Strictness::Refuse {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for state in judged.sessions() {
        let head = landing::approving(&state).and_then(|verdict| verdict.head.as_ref());
        let reviewed = match head {
            Some(head) if repo.contains(head)? => repo.range(head, &judged.without, usize::MAX)?,
            _ => Vec::new(),
        };
        let mut paths = BTreeSet::new();
        // A commit that comes as it was made is judged by what it names.
        for id in reviewed
            .iter()
            .filter(|id| infos.iter().all(|info| info.id != **id))
        {
            paths.extend(outside_of(repo, policy, sessions, &state, id)?);
        }
        if paths.is_empty() {
            continue;
        }
        let paths = Vec::from_iter(paths);
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

/// The paths of a commit that are outside of the scope of the session that it names, or of the one that lands.
fn outside_of(
    repo: &Repo,
    policy: &Policy,
    sessions: &Sessions<'_>,
    lands: &State,
    id: &Oid,
) -> Result<Vec<String>> {
    let info = repo.commit_info(id)?;
    let named = match info.trailer("Loopx-Session").as_slice() {
        [name] => SessionId::parse(name).ok(),
        _ => None,
    };
    let named = named.filter(|name| *name != lands.id);
    let named = match named {
        Some(name) => sessions.now(&name)?,
        None => None,
    };
    let mut state = State::clone(named.as_deref().unwrap_or(lands));
    state.stage = Stage::Build;
    let rules = Rules::new(&state, policy)?.without_demands();
    let mut paths = own_paths(repo, &info)?;
    paths.retain(|path| rules.breaks(path) == Some(Rule::OutOfScope));
    Ok(paths)
}
