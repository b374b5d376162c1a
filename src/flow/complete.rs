//! Values that could be typed, for completion: read from the repository, without a hook, the network or a write. Where
//! nothing is initialised, or something cannot be read, there is nothing to offer: nobody asked for an error.

use super::config::aliases;
use super::context::Context;
use super::specs;
use loopx_base::failure::Result;
use loopx_rules::checks::checks_now;
use loopx_rules::policy::Policy;
use loopx_rules::session::State;
use loopx_rules::stage::{Stage, Transition};
use loopx_store::Snapshot;
use std::collections::BTreeSet;

/// The greatest number of sessions whose titles are read.
const TITLED: usize = 200;
const HEADS: &str = "refs/heads/";

/// A kind of value that the repository has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A session that goes on.
    Session,
    /// A session that goes on or has ended.
    AnySession,
    Artifact,
    /// A stage to which the session could be approved.
    NextStage,
    Profile,
    Pipeline,
    /// A check of the session: a slice, a task.
    Check,
    Branch,
    Remote,
    /// A domain of the specs.
    Domain,
    /// A domain of the session's tasks.
    TaskDomain,
    /// A point of the session.
    Point,
    /// A name of the person's own for a command.
    Alias,
}

/// A value, and a word about it, if there is more to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Value {
    pub text: String,
    pub about: String,
}

fn plain(text: impl Into<String>) -> Value {
    Value {
        text: text.into(),
        about: String::new(),
    }
}

/// The values of a kind. `session` is what the command line names.
pub(crate) fn values(kind: Kind, session: Option<String>) -> Vec<Value> {
    // They need no repository.
    if kind == Kind::Alias {
        let own = aliases().into_iter();
        return own.map(|(text, about)| Value { text, about }).collect();
    }
    let found = Context::open(session).and_then(|ctx| of_kind(kind, &ctx));
    found.unwrap_or_default()
}

fn of_kind(kind: Kind, ctx: &Context) -> Result<Vec<Value>> {
    if kind == Kind::Branch {
        let refs = ctx.repo.refs_below(HEADS)?.into_iter();
        let names = refs.filter_map(|(name, _)| Some(plain(name.strip_prefix(HEADS)?)));
        return Ok(names.collect());
    }
    if kind == Kind::Remote {
        return Ok(ctx.repo.remotes()?.into_iter().map(plain).collect());
    }
    if kind == Kind::Domain {
        return Ok(specs::domains(ctx)?.into_iter().map(plain).collect());
    }
    if kind == Kind::Pipeline {
        let all = super::pipeline::list(ctx)?.0.into_iter();
        let value = |one: super::pipeline::Listed| Value {
            text: one.name,
            about: one.title,
        };
        return Ok(all.map(value).collect());
    }
    if kind == Kind::TaskDomain {
        let all = super::domains::list(ctx)?.1.into_iter();
        let value = |row: super::domains::DomainRow| Value {
            about: row.domain.range(),
            text: row.domain.name,
        };
        return Ok(all.map(value).collect());
    }
    if kind == Kind::Point {
        let all = super::point::list(ctx)?.points.into_iter();
        let value = |point: super::point::Point| Value {
            about: point.at,
            text: point.name,
        };
        return Ok(all.map(value).collect());
    }
    let store = ctx.store()?;
    let snapshot = store.read()?;
    let meant = match &snapshot {
        Some(snapshot) => meant(ctx, snapshot),
        None => None,
    };
    match (kind, &snapshot, meant) {
        (Kind::Session, Some(snapshot), _) => active(snapshot),
        (Kind::AnySession, Some(snapshot), _) => {
            Ok(snapshot.session_names()?.into_iter().map(plain).collect())
        }
        (Kind::Artifact, _, Some((state, policy))) => artifacts(&state, &policy),
        (Kind::NextStage, _, Some((state, policy))) => stages_after(&state, &policy),
        (Kind::NextStage, _, None) => Ok(Stage::ALL.map(|stage| plain(stage.as_str())).into()),
        (Kind::Profile, _, meant) => {
            let policy = match meant {
                Some((_, policy)) => policy,
                None => specs::policy(ctx)?,
            };
            let names = policy.profiles.names().into_iter();
            Ok(names.map(String::from).map(plain).collect())
        }
        (Kind::Check, _, Some((state, policy))) => {
            let texts = super::transaction::texts_here(ctx, &state, &policy)?;
            let found = checks_now(&texts, &state, &policy.all_checks()).into_iter();
            Ok(found
                .map(|check| Value {
                    text: check.id,
                    about: check.argv.join(" "),
                })
                .collect())
        }
        _ => Ok(Vec::new()),
    }
}

/// The session that is meant, with its policy.
fn meant(ctx: &Context, snapshot: &Snapshot<'_>) -> Option<(State, Policy)> {
    let state = ctx.session(snapshot).ok()?.state;
    let (policy, _) = ctx.policy_if_there(&state).ok()?;
    Some((state, policy))
}

fn active(snapshot: &Snapshot<'_>) -> Result<Vec<Value>> {
    let ids = snapshot.active_ids()?;
    if ids.len() > TITLED {
        return Ok(ids.iter().map(|id| plain(id.as_str())).collect());
    }
    let all = snapshot.summaries(false)?.into_iter();
    let going_on = all.filter(|(_, summary)| {
        let summary = summary.as_ref();
        summary.is_ok_and(|summary| summary.ending.is_none())
    });
    Ok(going_on
        .map(|(id, summary)| Value {
            text: id.as_str().to_owned(),
            about: summary.map_or_else(
                |_| String::new(),
                |summary| format!("{}: {}", summary.stage, summary.title),
            ),
        })
        .collect())
}

/// Lists the artifacts that the session has, and those that its profile asks for.
fn artifacts(state: &State, policy: &Policy) -> Result<Vec<Value>> {
    let mut found: BTreeSet<&str> = state.artifacts.keys().map(|one| one.path()).collect();
    let profile = policy.profiles.get(&state.profile)?;
    found.extend(profile.files.iter().map(|one| one.path()));
    Ok(found.into_iter().map(plain).collect())
}

/// The stages that the session can move to, as its profile has them.
fn stages_after(state: &State, policy: &Policy) -> Result<Vec<Value>> {
    let profile = policy.profiles.get(&state.profile)?;
    let moves = Transition::ALL.into_iter();
    let moves = moves.filter(|one| one.from() == state.stage && profile.has(*one));
    Ok(moves.map(|one| plain(one.to().as_str())).collect())
}
