//! pre-receive, on a server: every ref of a push, judged with the code of `verify`, before any of them
//! moves.
//!
//! Nothing that is pushed judges itself: policy comes from where the target was before, sessions from a
//! loopx branch that was checked first. Here a failure to look is a refusal: a gate that opens when it
//! breaks is none. `LOOPX=0` is not asked, since it may be the pusher's.

use super::context::Context;
use super::hook::Outcome;
use super::hook_push::{outcome, set_back};
use super::verify::{self, Sessions, Span};
use crate::core::failure::{Code, Failure, Result};
use crate::core::hint::{command, hint};
use crate::core::id::Oid;
use crate::core::policy::{FILE as POLICY_FILE, Policy};
use crate::core::range_policy::{Finding, Severity};
use crate::store::{Store, pushed};

const HEADS: &str = "refs/heads/";

/// One line: where a ref was, and where it is to be.
struct Update {
    name: String,
    old: Option<Oid>,
    new: Option<Oid>,
}

/// Judges a push.
pub fn pre_receive(ctx: &Context, store: &Store<'_>, stdin: &[u8]) -> Result<Outcome> {
    let updates = String::from_utf8_lossy(stdin)
        .lines()
        .map(update)
        .collect::<Result<Vec<Update>>>()?;
    let mut findings = Vec::new();
    let mut tip = ctx.repo.find_ref(&store.branch_ref())?;
    if let Some(update) = updates
        .iter()
        .find(|update| update.name == store.branch_ref())
    {
        findings.extend(loopx(ctx, store, update)?);
        if findings.is_empty() {
            tip.clone_from(&update.new);
        }
    }
    let sessions = Sessions::at(ctx, tip, store.branch())?;
    let server = Server::new(ctx)?;
    for update in &updates {
        if let Some(branch) = update.name.strip_prefix(HEADS)
            && update.name != store.branch_ref()
        {
            findings.extend(server.judge(&sessions, update, branch)?);
        }
    }
    Ok(outcome(
        findings,
        Vec::new(),
        command!("verify").note("(and push the loopx branch, if the sessions are not there yet)"),
    ))
}

/// Reads `<old oid> <new oid> <ref>`.
fn update(line: &str) -> Result<Update> {
    let mut words = line.splitn(3, ' ');
    let mut id = || -> Result<Option<Oid>> {
        let text = words.next().unwrap_or_default();
        let id = Oid::parse(text)?;
        Ok(Some(id).filter(|_| text.bytes().any(|byte| byte != b'0')))
    };
    let (old, new) = (id()?, id()?);
    match words.next() {
        Some(name) => Ok(Update {
            name: name.to_owned(),
            old,
            new,
        }),
        None => Err(Failure::usage(
            Code::LineInvalid,
            format!("expected `OLD NEW REF`, found `{line}`"),
        )),
    }
}

/// What is wrong with a push of the loopx branch.
fn loopx(ctx: &Context, store: &Store<'_>, update: &Update) -> Result<Vec<Finding>> {
    let repo = &ctx.repo;
    let branch = store.branch();
    let Some(new) = &update.new else {
        let old = update.old.iter();
        return old
            .map(|old| {
                finding(
                    ctx,
                    old,
                    Code::SessionsDeleted,
                    format!("`{branch}` keeps the sessions and is not deleted"),
                )
            })
            .collect();
    };
    pushed::check(repo, branch, update.old.as_ref(), new)?
        .into_iter()
        .map(|(commit, what)| {
            finding(
                ctx,
                &commit,
                Code::SessionsInvalid,
                format!("`{branch}`: {what}"),
            )
        })
        .collect()
}

fn finding(ctx: &Context, commit: &Oid, code: Code, message: String) -> Result<Finding> {
    Ok(Finding {
        code,
        severity: Severity::Error,
        commit: commit.clone(),
        subject: ctx.repo.commit_info(commit)?.subject().to_owned(),
        paths: Vec::new(),
        message,
        help: hint![command!("sync"), ", or: ", command!("fsck")],
    })
}

/// The repository as it is before the push.
struct Server<'a> {
    ctx: &'a Context,
    /// The default branch.
    default: Option<String>,
    default_tip: Option<Oid>,
    /// Its policy.
    policy: Policy,
}

impl<'a> Server<'a> {
    fn new(ctx: &'a Context) -> Result<Self> {
        let head = ctx.repo.head()?;
        Ok(Server {
            ctx,
            policy: verify::policy_at(ctx, head.commit.as_ref())?,
            default: head.branch,
            default_tip: head.commit,
        })
    }

    fn judge(
        &self,
        sessions: &Sessions<'_>,
        update: &Update,
        branch: &str,
    ) -> Result<Vec<Finding>> {
        let repo = &self.ctx.repo;
        let own_policy = match &update.old {
            Some(old) => Some(verify::policy_at(self.ctx, Some(old))?),
            None => None,
        };
        let protected = self.policy.protects(branch)
            || own_policy
                .as_ref()
                .is_some_and(|policy| policy.protects(branch));
        let mut findings = Vec::new();
        if protected && let Some(old) = &update.old {
            findings.extend(set_back(repo, branch, old, update.new.as_ref())?);
        }
        let Some(new) = &update.new else {
            return Ok(findings);
        };
        // What a branch object of another kind would mean is git's business.
        let Ok(info) = repo.commit_info(new) else {
            return Ok(findings);
        };
        let label = format!("{POLICY_FILE} at {}", new.short());
        if let Err(failure) = self.ctx.policy_at(&info.tree, &label) {
            findings.push(finding(
                self.ctx,
                new,
                Code::PolicyInvalid,
                failure.message,
            )?);
            return Ok(findings);
        }
        let bound = sessions.bound_to(branch)?.filter(|state| state.is_active());
        if !protected && bound.is_none() {
            return Ok(findings);
        }
        let is_default = self.default.as_deref() == Some(branch);
        let mut hidden: Vec<Oid> = update.old.iter().cloned().collect();
        let mut upstream: Vec<Oid> = Vec::new();
        if bound.is_some() {
            if let Some(start) = bound.as_ref().and_then(|state| state.base.clone())
                && repo.contains(&start)?
            {
                hidden.push(start);
            }
            if let Some(tip) = self.default_tip.clone().filter(|_| !is_default) {
                upstream.push(tip);
            }
        } else if update.old.is_none() {
            hidden.extend(self.default_tip.clone());
        }
        let base = match (&update.old, &self.default_tip) {
            (Some(old), _) => Some(old.clone()),
            (None, Some(tip)) => repo.merge_base(tip, new)?,
            (None, None) => None,
        };
        // A branch that is nobody's target may carry a policy that its session wrote: the target's counts.
        let policy = match own_policy {
            Some(policy) if protected => policy,
            _ => self.policy.clone(),
        };
        let span = Span {
            base,
            hidden,
            own: true,
            upstream,
            protected,
            head: new.clone(),
            branch: Some(branch.to_owned()),
            bound,
        };
        findings.extend(verify::judge(self.ctx, sessions, span, &policy)?.findings);
        Ok(findings)
    }
}
