//! The loopx branch as a whole, judged where no hook of ours stands: as pre-receive judges a push of all of it,
//! and by the pins. Each commit that landed names in its trailers the state that allowed it: where the branch
//! does not have one of them any more, something was taken away.

use super::{Sessions, policy_at, span};
use crate::flow::context::Context;
use crate::flow::upstream;
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{Hint, command, hint};
use loopx_base::id::Oid;
use loopx_base::shell_word;
use loopx_base::trailers::STATE;
use loopx_git::Repo;
use loopx_rules::range_rules::{Finding, Severity};
use loopx_store::receive;
use loopx_store::receive::Budget;
use serde::Serialize;
use std::collections::{BTreeMap, HashSet};

/// Arguments of a check of branches.
#[derive(Clone, Debug, Default)]
pub(crate) struct BranchRequest {
    /// Range that is about to land: its pins are asked too.
    pub range: Option<String>,
    pub onto: Option<String>,
    /// Pins of this commit, and of what it has, are not asked.
    pub since: Option<String>,
}

/// A ref of the branch, and where it is.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Tip {
    #[serde(rename = "ref")]
    pub name: String,
    pub commit: Oid,
}

/// Commits that were judged, and findings about them.
#[derive(Debug, Serialize)]
pub(crate) struct BranchReport {
    pub branch: String,
    pub tips: Vec<Tip>,
    /// Number of commits that the tips have.
    pub commits: usize,
    pub target: Option<String>,
    /// Number of states that the commits of the target name.
    pub pins: usize,
    pub findings: Vec<Finding>,
}

impl BranchReport {
    pub(crate) fn errors(&self) -> impl Iterator<Item = &Finding> {
        let findings = self.findings.iter();
        findings.filter(|finding| finding.severity == Severity::Error)
    }
}

/// `verify --sessions`.
pub(crate) fn verify_branch(ctx: &Context, request: &BranchRequest) -> Result<BranchReport> {
    let repo = &ctx.repo;
    let store = ctx.store()?;
    let branch = store.branch().to_owned();
    let tips = tips(ctx, &branch, store.branch_ref())?;
    let mut commits: HashSet<Oid> = HashSet::new();
    let mut findings = Vec::new();
    for tip in &tips {
        commits.extend(repo.range(&tip.commit, &[], usize::MAX)?);
        for (commit, what) in receive::check(repo, &tip.name, None, &tip.commit, &unlimited())? {
            let said = Said {
                code: Code::SessionsInvalid,
                severity: Severity::Error,
                message: format!("`{}`: {what}", tip.name),
            };
            findings.push(said.at(repo, &commit)?);
        }
    }
    let (target, mut heads) = target(ctx, request.onto.as_deref())?;
    if let Some(range) = &request.range {
        let (_, to) = span::ends(range)?;
        heads.push(span::end(repo, to.unwrap_or("HEAD"))?);
    }
    let hidden = match &request.since {
        Some(revision) => vec![span::one_commit(repo, revision)?],
        None => Vec::new(),
    };
    let pins = pins(repo, &heads, hidden)?;
    // Where the branch is damaged nobody can say what it has.
    if findings.is_empty() {
        let is_done = ctx.repo.config("loopx.sync").as_deref() == Some("linear");
        let mut again = None;
        for (pin, commit) in pins.iter().filter(|(pin, _)| !commits.contains(*pin)) {
            let again = match &again {
                Some(again) => again,
                None => again.insert(Sessions::open(ctx)?.made_again()?),
            };
            let is_said = again.contains_key(pin);
            // Whoever sets the branch back can write the same trailer: it counts where this clone says so.
            if is_said && is_done {
                continue;
            }
            let said = Said {
                code: Code::StateNotOnBranch,
                severity: Severity::Error,
                message: format!(
                    "state {} is not on `{branch}`: {}",
                    pin.short(),
                    if is_said {
                        "a commit of the branch was made again from this state, by an import from a fork or by a linear sync"
                    } else {
                        "the branch lost it, or never had it"
                    }
                ),
            };
            let mut finding = said.at(repo, commit)?;
            if is_said {
                finding.help =
                    "where that is done here: git -c loopx.sync=linear loopx verify --sessions"
                        .into();
            }
            findings.push(finding);
        }
        findings.extend(bound(ctx, &tips, heads.first())?);
    }
    Ok(BranchReport {
        branch,
        tips,
        commits: commits.len(),
        target,
        pins: pins.len(),
        findings,
    })
}

fn unlimited() -> Budget {
    Budget {
        records: u64::MAX,
        merges: u64::MAX,
        bytes: u64::MAX,
    }
}

struct Said {
    code: Code,
    severity: Severity,
    message: String,
}

impl Said {
    fn at(self, repo: &Repo, commit: &Oid) -> Result<Finding> {
        Ok(Finding {
            code: self.code,
            severity: self.severity,
            commit: commit.clone(),
            subject: repo.commit_info(commit)?.subject().to_owned(),
            paths: Vec::new(),
            message: self.message,
            help: hint![
                "in a clone that has the sessions: ",
                command!("doctor --recover"),
                ", then: ",
                command!("sync")
            ],
        })
    }
}

/// The branch here and at the default remote.
fn tips(ctx: &Context, branch: &str, here: String) -> Result<Vec<Tip>> {
    let mut names = vec![here];
    if let Some(remote) = ctx.repo.default_remote(Some(branch))? {
        names.push(Repo::tracking_ref(&remote, branch));
    }
    let mut tips: Vec<Tip> = Vec::new();
    for name in names {
        if let Some(commit) = ctx.repo.find_ref(&name)?
            && tips.iter().all(|tip| tip.commit != commit)
        {
            tips.push(Tip { name, commit });
        }
    }
    if tips.is_empty() {
        // Says what to fetch.
        Sessions::open(ctx)?;
    }
    Ok(tips)
}

/// The branch whose commits hold the pins, and where it is.
fn target(ctx: &Context, onto: Option<&str>) -> Result<(Option<String>, Vec<Oid>)> {
    let repo = &ctx.repo;
    let Some(name) = onto else {
        let policy = policy_at(ctx, repo.head()?.commit.as_ref())?;
        return Ok(match upstream::target(ctx, None, &policy)? {
            Some(target) => (Some(target.name), target.tips),
            None => (None, Vec::new()),
        });
    };
    let found = upstream::tips(repo, name)?;
    if found.is_empty() {
        return Err(Failure::usage(
            Code::TargetUnknown,
            format!("expected a branch for --onto, found none named `{name}`"),
        )
        .help(way_to(repo, name)?));
    }
    Ok((Some(name.to_owned()), found))
}

/// The command that leads on where no branch has this name: the branch by its own name, where this is a name of what
/// a remote has, or the fetch of what nobody fetched yet.
fn way_to(repo: &Repo, name: &str) -> Result<Hint> {
    if let Some(own) = upstream::behind_remote(repo, name)? {
        return Ok(command!("verify --sessions --onto {}", shell_word(&own)));
    }
    Ok(Hint::git(format!(
        "fetch origin {}",
        shell_word(&format!("+refs/heads/{name}:refs/remotes/origin/{name}"))
    )))
}

/// The states that commits name, each with the newest commit that names it. What is no id names none.
fn pins(repo: &Repo, heads: &[Oid], mut hidden: Vec<Oid>) -> Result<BTreeMap<Oid, Oid>> {
    let mut pins = BTreeMap::new();
    for head in heads {
        for commit in repo.range(head, &hidden, usize::MAX)? {
            let info = repo.commit_info(&commit)?;
            for value in info.trailer(STATE) {
                if let Ok(state) = Oid::parse(value) {
                    pins.entry(state).or_insert_with(|| commit.clone());
                }
            }
        }
        hidden.push(head.clone());
    }
    Ok(pins)
}

/// Sessions that are bound to a branch that policy protects: they decide nothing there.
fn bound(ctx: &Context, tips: &[Tip], target: Option<&Oid>) -> Result<Vec<Finding>> {
    let policy = policy_at(ctx, target)?;
    let mut found = Vec::new();
    for tip in tips {
        for (branch, session) in receive::bound(&ctx.repo, &tip.name, None, &tip.commit)? {
            if policy.protects(&branch) {
                let said = Said {
                    code: Code::BranchProtected,
                    severity: Severity::Warning,
                    message: format!("session {session} is bound to {branch}, which is protected"),
                };
                found.push(said.at(&ctx.repo, &tip.commit)?);
            }
        }
    }
    Ok(found)
}
