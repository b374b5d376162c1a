//! pre-receive, on a server: every ref of a push, judged with the code of `verify`, before any of them
//! moves.
//!
//! Nothing that is pushed judges itself: policy comes from where the target was before, sessions from a
//! loopx branch that was checked first. Here a failure to look is a refusal: a gate that opens when it
//! breaks is none. `LOOPX=0` is not asked, since it may be the pusher's.

use super::context::Context;
use super::hook::Outcome;
use super::hook_push::{outcome, set_back};
use super::receive::Update;
use super::verify::{self, Sessions, Span};
use super::workcopy::FOLDER;
use loopx_base::failure::{Code, Result};
use loopx_base::hint::{command, hint};
use loopx_base::id::{Oid, SessionId};
use loopx_base::tree_name;
use loopx_git::EntryKind;
use loopx_rules::artifact::Artifact;
use loopx_rules::policy::{FILE as POLICY_FILE, Policy};
use loopx_rules::range_rules::{Finding, Severity};
use loopx_rules::session::State;
use loopx_store::receive::Budget;
use loopx_store::{Store, receive};
use std::rc::Rc;

const HEADS: &str = "refs/heads/";

/// The number of unknown paths that are named.
const SHOWN: usize = 10;

/// Judges a push.
pub(crate) fn pre_receive(
    ctx: &Context,
    store: &Store<'_>,
    updates: &[Update],
    budget: &Budget,
) -> Result<Outcome> {
    ctx.repo.compare_hashes();
    let mut findings = Vec::new();
    let mut warnings = Vec::new();
    let mut tip = ctx.repo.find_ref(&store.branch_ref())?;
    if let Some(update) = updates
        .iter()
        .find(|update| update.name == store.branch_ref())
    {
        findings.extend(loopx(ctx, store, update, budget)?);
        if findings.is_empty() {
            tip.clone_from(&update.new);
            warnings = unknown(ctx, store, update)?;
        }
    }
    let sessions = Sessions::at(ctx, tip, store.branch())?;
    let server = Server::new(ctx, budget)?;
    for update in updates {
        if update.name == store.branch_ref() && findings.is_empty() {
            findings.extend(server.bound(store, update)?);
        }
        if let Some(branch) = update.name.strip_prefix(HEADS)
            && update.name != store.branch_ref()
        {
            findings.extend(tracked(ctx, update)?);
            findings.extend(server.judge(&sessions, update, branch)?);
        }
    }
    Ok(outcome(
        findings,
        warnings,
        command!("verify").note("(and push the loopx branch, if the sessions are not there yet)"),
    ))
}

/// Lists the faults of a push of the loopx branch.
fn loopx(
    ctx: &Context,
    store: &Store<'_>,
    update: &Update,
    budget: &Budget,
) -> Result<Vec<Finding>> {
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
    receive::check(repo, branch, update.old.as_ref(), new, budget)?
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

/// A branch whose tree has what each clone keeps for itself: `git switch` and `git pull` would put it over the words that
/// somebody has not saved, and the next command would take it for theirs. Folders of other programs are none of that.
fn tracked(ctx: &Context, update: &Update) -> Result<Vec<Finding>> {
    let Some(new) = &update.new else {
        return Ok(Vec::new());
    };
    let repo = &ctx.repo;
    let mut found = Vec::new();
    for (name, entry) in repo.list_tree(&repo.commit_info(new)?.tree)? {
        if tree_name::folded(&name) != FOLDER {
            continue;
        }
        if entry.kind != EntryKind::Tree {
            found.push(name);
            continue;
        }
        for (id, entry) in repo.list_tree(&entry.id)? {
            if entry.kind != EntryKind::Tree || SessionId::parse(&tree_name::folded(&id)).is_err() {
                continue;
            }
            let files = repo.list_tree(&entry.id)?;
            let mut files = files.iter().map(|(file, _)| tree_name::folded(file));
            if files.any(|file| is_document(&file)) {
                found.push(format!("{name}/{id}"));
            }
        }
    }
    let Some(first) = found.first() else {
        return Ok(Vec::new());
    };
    let message =
        format!("`{first}` is where each clone has its own working copies, and a branch has it");
    let mut finding = finding(ctx, new, Code::WorkingCopyCommitted, message)?;
    finding.help = format!("git rm -r --cached {first}, then commit").into();
    finding.paths = found;
    Ok(vec![finding])
}

/// Tells whether a name stands at the top of a working copy. The session may be begun later.
fn is_document(name: &str) -> bool {
    let mut tops = Artifact::ALL.iter().map(|artifact| {
        let path = artifact.path();
        path.split_once('/').map_or(path, |(folder, _)| folder)
    });
    tops.any(|top| top == name)
}

/// Names the paths that a push of the branch brings and that nobody here knows.
fn unknown(ctx: &Context, store: &Store<'_>, update: &Update) -> Result<Vec<String>> {
    let Some(new) = &update.new else {
        return Ok(Vec::new());
    };
    let branch = store.branch();
    let all = receive::unknown(&ctx.repo, branch, update.old.as_ref(), new)?;
    let said = all.iter().take(SHOWN).map(|path| {
        format!("`{branch}`: `{path}` is nothing that this git loopx knows; it is kept for programs that do")
    });
    let more = all.len().saturating_sub(SHOWN);
    let more = (more > 0).then(|| format!("`{branch}`: {more} more of such paths"));
    let mut said: Vec<String> = said.chain(more).collect();
    if receive::loses_readme(&ctx.repo, update.old.as_ref(), new)? {
        said.push(format!(
            "`{branch}`: `README.md` was taken away, which tells whoever finds the branch what it is"
        ));
    }
    Ok(said)
}

fn finding(ctx: &Context, commit: &Oid, code: Code, message: String) -> Result<Finding> {
    Ok(Finding {
        code,
        severity: Severity::Error,
        commit: commit.clone(),
        subject: ctx.repo.commit_info(commit)?.subject().to_owned(),
        paths: Vec::new(),
        message,
        help: hint![command!("fsck"), ", or: ", command!("sync")],
    })
}

/// The repository as it is before the push.
struct Server<'a> {
    ctx: &'a Context,
    budget: &'a Budget,
    /// The default branch.
    default: Option<String>,
    default_tip: Option<Oid>,
    /// The policy of the default branch.
    policy: Policy,
}

impl<'a> Server<'a> {
    fn new(ctx: &'a Context, budget: &'a Budget) -> Result<Self> {
        let head = ctx.repo.head()?;
        Ok(Server {
            ctx,
            budget,
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
        let info = repo.commit_info(new)?;
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
        // What a protected branch takes, no session that somebody bound to it decides.
        let bound = if protected {
            None
        } else {
            sessions.bound_to(branch)?.filter(|state| state.is_active())
        };
        if !protected && bound.is_none() {
            return Ok(findings);
        }
        let span = self.span((update.old.as_ref(), new), branch, protected, bound)?;
        self.budget.require_merges(repo, new, &span.hidden)?;
        let policies = self.policies(own_policy.filter(|_| protected));
        for policy in policies {
            for finding in verify::judge(self.ctx, sessions, span.clone(), &policy)?.findings {
                if !findings.contains(&finding) {
                    findings.push(finding);
                }
            }
        }
        Ok(findings)
    }

    /// The range that a push adds to a branch.
    fn span(
        &self,
        (old, new): (Option<&Oid>, &Oid),
        branch: &str,
        protected: bool,
        bound: Option<Rc<State>>,
    ) -> Result<Span> {
        let repo = &self.ctx.repo;
        let is_default = self.default.as_deref() == Some(branch);
        let mut hidden: Vec<Oid> = old.into_iter().cloned().collect();
        let mut upstream: Vec<Oid> = Vec::new();
        if let Some(state) = &bound {
            if let Some(start) = state.base.clone()
                && repo.contains(&start)?
            {
                hidden.push(start);
            }
            upstream.extend(self.default_tip.clone().filter(|_| !is_default));
        } else if old.is_none() {
            hidden.extend(self.default_tip.clone());
        }
        let base = match (old, &self.default_tip) {
            (Some(old), _) => Some(old.clone()),
            (None, Some(tip)) => repo.merge_base(tip, new)?,
            (None, None) => None,
        };
        Ok(Span {
            base,
            hidden,
            own: true,
            upstream,
            protected,
            receiving: true,
            head: new.clone(),
            branch: Some(branch.to_owned()),
            bound,
        })
    }

    /// A session that a push of the loopx branch binds to a protected branch.
    fn bound(&self, store: &Store<'_>, update: &Update) -> Result<Vec<Finding>> {
        let Some(new) = &update.new else {
            return Ok(Vec::new());
        };
        let bound = receive::bound(&self.ctx.repo, store.branch(), update.old.as_ref(), new)?;
        let protected = bound
            .into_iter()
            .filter(|(branch, _)| self.policy.protects(branch));
        protected
            .map(|(branch, session)| {
                let message = format!(
                    "session {session} is bound to {branch}, which is protected: no session can be"
                );
                finding(self.ctx, new, Code::BranchProtected, message)
            })
            .collect()
    }

    /// The policies that a push has to pass: the default branch's, and a protected branch's own, which may be
    /// older. A branch that is nobody's target may carry one that its session wrote: that does not count.
    fn policies(&self, own: Option<Policy>) -> Vec<Policy> {
        let own = own.filter(|own| *own != self.policy);
        own.into_iter().chain([self.policy.clone()]).collect()
    }
}
