//! `config`: the policy that holds, and where each setting of it comes from. Nothing here writes.

use super::context::Context;
use loopx_base::failure::{Code, Result};
use loopx_base::id::{Oid, SessionId};
use loopx_git::run::Run;
use loopx_rules::policy::{FILE, Policy, schema};
use loopx_rules::session::State;
use serde::Serialize;
use serde_json::Value;

/// A setting of `loopx.toml`, or of git's configuration.
#[derive(Debug, Serialize)]
pub(crate) struct Setting {
    pub key: String,
    pub value: Value,
    /// `default`, `loopx.toml`, or the scope of git's configuration.
    pub source: String,
}

/// The settings that count here.
#[derive(Debug, Serialize)]
pub(crate) struct Effective {
    /// The session whose base gives the policy.
    pub session: Option<SessionId>,
    /// The commit whose `loopx.toml` counts.
    pub commit: Option<Oid>,
    pub policy: Vec<Setting>,
    pub personal: Vec<Setting>,
    /// Keys of `loopx.toml` that are passed over.
    pub warnings: Vec<String>,
}

/// Personal settings: git's own scopes.
const PERSONAL: [&str; 3] = ["loopx.branch", "loopx.sign", "loopx.target"];

/// The beginning of the keys that hold for the backlog.
const BACKLOG: &str = "backlog.";

/// The policy of a commit; without one, of the session that is meant, else of HEAD.
pub(crate) fn show(ctx: &Context, from: Option<&str>) -> Result<Effective> {
    let repo = &ctx.repo;
    let (session, commit) = match from {
        Some(revision) => (None, Some(repo.resolve_commit(revision)?)),
        None => match of_session(ctx)? {
            Some(state) => {
                ctx.policy(&state)?;
                (Some(state.id), state.base)
            }
            None => (None, repo.head()?.commit),
        },
    };
    let label = commit.as_ref().map_or(FILE.to_owned(), |commit| {
        format!("{FILE} at {}", commit.short())
    });
    let text = match &commit {
        Some(commit) => {
            let tree = repo.commit_info(commit)?.tree;
            ctx.require_one(&tree, FILE, &label)?;
            repo.blob_at(&tree, FILE)?
        }
        None => None,
    };
    let text = text.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let (policy, named) = match &text {
        Some(text) => (Policy::parse(text, &label)?, schema::named(text)),
        None => (Policy::default(), Vec::new()),
    };
    let mut warnings = policy.warnings();
    if from.is_none() {
        warnings.extend(super::specs::worktree_fault(ctx));
    }
    let mut policy = settings(&policy, &named, FILE);
    if session.is_some() {
        match of_backlog(ctx, &mut policy) {
            // The session has its own settings, which are whole: what the backlog obeys is left out.
            Err(failure) if failure.code == Code::PolicyInvalid => {
                policy.retain(|setting| !setting.key.starts_with(BACKLOG));
                warnings.push(failure.message);
            }
            held => held?,
        }
    }
    let personal = PERSONAL
        .iter()
        .filter_map(|key| {
            let (value, scope) = repo.config_scoped(key)?;
            Some(Setting {
                key: (*key).to_owned(),
                value: value.into(),
                source: format!("git config --{scope}"),
            })
        })
        .collect();
    Ok(Effective {
        session,
        commit,
        policy,
        personal,
        warnings,
    })
}

/// The settings of a policy, each with its source.
fn settings(policy: &Policy, named: &[String], source: &str) -> Vec<Setting> {
    let keys = schema::keys(policy).into_iter().map(|key| Setting {
        source: if named.contains(&key.name) {
            source
        } else {
            "default"
        }
        .to_owned(),
        key: key.name,
        value: key.value,
    });
    keys.collect()
}

/// Puts what holds for the backlog, which is no part of a session: what HEAD says.
fn of_backlog(ctx: &Context, policy: &mut [Setting]) -> Result<()> {
    let Some(head) = ctx.repo.head()?.commit else {
        return Ok(());
    };
    let of_head = show(ctx, Some(head.as_str()))?.policy;
    let is_of_backlog = |setting: &&mut Setting| setting.key.starts_with(BACKLOG);
    for setting in policy.iter_mut().filter(is_of_backlog) {
        let held = of_head.iter().find(|one| one.key == setting.key);
        if let Some(held) = held {
            setting.value.clone_from(&held.value);
            setting.source = match held.source.as_str() {
                FILE => format!("{FILE} of HEAD"),
                other => other.to_owned(),
            };
        }
    }
    Ok(())
}

/// The session that is meant; `None` where none is, or nothing is initialised.
fn of_session(ctx: &Context) -> Result<Option<State>> {
    let Some(snapshot) = ctx.store()?.read()? else {
        return Ok(None);
    };
    match ctx.session(&snapshot) {
        Ok(session) => Ok(Some(session.state)),
        Err(failure) if ctx.wanted().is_some() => Err(failure),
        Err(_) => Ok(None),
    }
}

/// Reads each `loopx.alias.NAME` with its words, in a repository or outside of one.
pub(crate) fn aliases() -> Vec<(String, String)> {
    named("alias")
}

/// Reads each `loopx.list.NAME` with its words.
pub(crate) fn lists() -> Vec<(String, String)> {
    named("list")
}

/// Reads each `loopx.SECTION.NAME` of git's configuration.
fn named(section: &str) -> Vec<(String, String)> {
    let keys = format!("^loopx\\.{section}\\.");
    let asked = Run::git(["config", "-z", "--get-regexp", &keys]).capture();
    let said = asked.map(|said| said.stdout).unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    let entries = said.split_terminator('\0');
    let mut found: Vec<(String, String)> = entries
        .filter_map(|entry| {
            let (key, words) = entry.split_once('\n')?;
            Some((
                key.strip_prefix(&format!("loopx.{section}."))?.to_owned(),
                words.to_owned(),
            ))
        })
        .collect();
    // The last one counts, as for git.
    found.reverse();
    found.sort_by(|one, other| one.0.cmp(&other.0));
    found.dedup_by(|one, other| one.0 == other.0);
    found
}

/// The value of `git config loopx.alias.NAME`, in a repository or outside of one.
pub(crate) fn alias(name: &str) -> Option<String> {
    let is_key = |c: char| c.is_ascii_alphanumeric() || c == '-';
    if name.is_empty() || !name.chars().all(is_key) {
        return None;
    }
    let key = format!("loopx.alias.{name}");
    let said = Run::git(["config", "--get", &key]).capture().ok()?;
    let text = said.ended.success().then_some(said.stdout)?;
    Some(String::from_utf8_lossy(&text).trim_end().to_owned())
}
