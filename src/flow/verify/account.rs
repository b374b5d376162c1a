//! The account of a landing on a protected branch: its question put together from objects, and its answer
//! as findings and as a view.

use super::facts::Facts;
use super::landing::{Merger, approving};
use super::{Sessions, Span};
use crate::flow::begin;
use crate::flow::context::Context;
use loopx_base::failure::{Code, Result};
use loopx_base::hint::{Hint, command, hint};
use loopx_base::id::{Oid, SessionId};
use loopx_base::shell_word;
use loopx_git::Repo;
use loopx_rules::account::{
    Account, Candidate, Entry, Landing, Made, PathWhy, PutDown, Reviewed, Rules, Step, Why, account,
};
use loopx_rules::commit_policy::some;
use loopx_rules::next;
use loopx_rules::policy::Policy;
use loopx_rules::range_rules::{Finding, Severity};
use loopx_rules::session::{Ending, State};
use serde::Serialize;
use std::collections::BTreeMap;
use std::rc::Rc;

/// An account with the sessions that it rests on.
pub(super) struct Judged {
    pub(super) target: String,
    pub(super) account: Account,
    /// Commits that the target had.
    pub(super) without: Vec<Oid>,
    states: BTreeMap<SessionId, Rc<State>>,
    /// Commits of commands that lack only a signature.
    unsigned: BTreeMap<Oid, Made>,
}

impl Judged {
    pub(super) fn state(&self, id: &SessionId) -> Option<&Rc<State>> {
        self.states.get(id)
    }

    /// The sessions whose verdict or archive lands.
    pub(super) fn sessions(&self) -> Vec<Rc<State>> {
        let ids = self.account.sessions().iter();
        ids.filter_map(|id| self.state(id).cloned()).collect()
    }

    pub(super) fn is_of(&self, session: &SessionId) -> bool {
        self.account.sessions().contains(session)
    }
}

/// Accounts for what a span brings to its protected branch. `named` are the sessions that its commits name; the others
/// that are done are looked at where these do not explain all of it, and where a commit is put down to the lowest: a
/// message is no proof of what lands.
pub(super) fn judge(
    ctx: &Context,
    sessions: &Sessions<'_>,
    (span, named): (&Span, &[Rc<State>]),
    policy: &Policy,
    (merger, put_down): (&Merger<'_>, PutDown),
) -> Result<Option<Judged>> {
    let Some(target) = span.branch.clone().filter(|_| span.protected) else {
        return Ok(None);
    };
    let landing = Landing {
        put_down,
        ..landing(&ctx.repo, span, target.clone(), policy)?
    };
    let facts = Facts::new(ctx, sessions, merger, policy);
    let rules = Rules::new(policy)?;
    let mut states: BTreeMap<SessionId, Rc<State>> = BTreeMap::new();
    for state in named {
        states.insert(state.id.clone(), Rc::clone(state));
    }
    let judged = |states: &BTreeMap<SessionId, Rc<State>>| {
        let lands = states.values().filter(|state| !is_abandoned(state));
        let candidates: Vec<Candidate> = lands.map(|state| candidate(state)).collect();
        account(&landing, &rules, &candidates, &facts)
    };
    let first = match put_down {
        PutDown::Highest => Some(judged(&states)?).filter(Account::is_covered),
        PutDown::Lowest => None,
    };
    let account = match first {
        Some(account) => account,
        None => {
            for state in sessions.finished()? {
                states.entry(state.id.clone()).or_insert(state);
            }
            judged(&states)?
        }
    };
    let mut unsigned = BTreeMap::new();
    for entry in account.entries.iter().filter(|one| one.verdict.is_err()) {
        let made = facts.unsigned(&entry.commit)?;
        unsigned.extend(made.map(|made| (entry.commit.clone(), made)));
    }
    Ok(Some(Judged {
        unsigned,
        target,
        account,
        without: landing.old.into_iter().chain(landing.tip).collect(),
        states,
    }))
}

fn landing(repo: &Repo, span: &Span, target: String, policy: &Policy) -> Result<Landing> {
    let mut met = None;
    for base in span.base.iter().chain(&span.hidden) {
        if let Some(one) = repo.merge_base(base, &span.head)? {
            let newer = match &met {
                Some(known) => repo.is_ancestor(known, &one)?,
                None => true,
            };
            if newer {
                met = Some(one);
            }
        }
        if span.base.is_some() {
            // Where the target was is known; what else is hidden is judged elsewhere.
            break;
        }
    }
    let mut backports = Vec::new();
    let lends = |name: &&String| **name != target && policy.protects(name);
    for name in policy.landing.backport.iter().filter(lends) {
        // A server has the branch itself, and nobody judges what is pushed to refs/remotes.
        let fetched = if span.receiving {
            None
        } else {
            repo.project_ref(name)?.map(|(_, tip)| tip)
        };
        let tip = match fetched {
            None => repo.find_ref(&format!("refs/heads/{name}"))?,
            fetched => fetched,
        };
        backports.extend(tip.map(|tip| (name.clone(), tip)));
    }
    Ok(Landing {
        tip: span.base.clone().filter(|base| met.as_ref() != Some(base)),
        old: met,
        new: span.head.clone(),
        target,
        backports,
        put_down: PutDown::default(),
    })
}

/// Tells whether somebody said that the result of a session is not to land.
pub(super) fn is_abandoned(state: &State) -> bool {
    matches!(state.ending, Some(Ending::Abandoned { .. }))
}

fn candidate(state: &State) -> Candidate {
    let reviewed = approving(state).map(|verdict| Reviewed {
        onto: verdict.onto.clone(),
        seen: verdict.seen.clone().or_else(|| verdict.base.clone()),
        head: verdict.head.clone(),
        tree: verdict.tree.clone(),
        reasoned: state
            .verdict
            .as_ref()
            .is_some_and(|verdict| verdict.reason.is_some()),
    });
    Candidate {
        session: state.id.clone(),
        stage: state.stage,
        ended: state.ending.is_some(),
        verdict: reviewed,
        result: match &state.ending {
            Some(Ending::Archived { commit, .. }) => commit.clone(),
            _ => None,
        },
    }
}

/// Findings on what the account does not cover, one for each reason.
pub(super) fn findings(ctx: &Context, judged: &Judged) -> Result<Vec<Finding>> {
    let repo = &ctx.repo;
    let mut found: Vec<Finding> = Vec::new();
    // The newest commit stands for a reason.
    for entry in judged.account.entries.iter().rev() {
        let Err(why) = &entry.verdict else { continue };
        if let Some(made) = judged.unsigned.get(&entry.commit) {
            found.push(unsigned(repo, judged, entry, *made)?);
            continue;
        }
        let paths = held(entry, why);
        let code = code(why, entry);
        let about = |known: &&mut Finding| {
            known.code == code && known.message.starts_with(&said(&judged.target, why, code))
        };
        if let Some(known) = found.iter_mut().find(about) {
            for path in paths {
                if !known.paths.contains(&path) {
                    known.paths.push(path);
                }
            }
            continue;
        }
        let info = repo.commit_info(&entry.commit)?;
        let missing = missing(repo, judged, why)?;
        found.push(Finding {
            code,
            severity: Severity::Error,
            commit: entry.commit.clone(),
            subject: info.subject().to_owned(),
            message: match missing {
                Some(state) => format!(
                    "{}; the commits that session {} was reviewed with are not here",
                    said(&judged.target, why, code),
                    state.id
                ),
                None => said(&judged.target, why, code),
            },
            help: match missing.and_then(|state| state.branch.as_ref()) {
                Some(branch) => hint![
                    Hint::git(format!("push origin {}", shell_word(branch))),
                    "  (the reviewed commits), then push again, or: ",
                    command!("start \"{}\"", begin::title(ctx))
                ],
                None => help(ctx, judged, why)?,
            },
            paths,
        });
    }
    for finding in &mut found {
        finding.paths.sort();
        if !finding.paths.is_empty() {
            finding.message = format!("{}: {}", finding.message, some(&finding.paths));
        }
    }
    Ok(found)
}

/// Finding on the commit of a command that is a word of its own, and lacks only its signature.
fn unsigned(repo: &Repo, judged: &Judged, entry: &Entry, made: Made) -> Result<Finding> {
    let info = repo.commit_info(&entry.commit)?;
    let newest = judged.account.entries.last();
    let is_newest = newest.is_some_and(|last| last.commit == entry.commit);
    let sign = match info.parents.first() {
        Some(parent) if !is_newest => Hint::git(format!(
            "rebase --gpg-sign --force-rebase {}",
            parent.short()
        )),
        _ => Hint::git("commit --amend --no-edit -S"),
    };
    Ok(Finding {
        code: Code::OpeningUnsigned,
        severity: Severity::Error,
        commit: entry.commit.clone(),
        subject: info.subject().to_owned(),
        message: format!(
            "expected git's signature by a key of the signers on {}, found none that counts",
            Step::Made(made)
        ),
        help: sign.note("(with gpg.format ssh and a key of the file of signers)"),
        paths: entry.paths.iter().map(|line| line.path.clone()).collect(),
    })
}

/// Session done last of those whose reviewed commits are not here: what nobody accounts for may be its result.
fn missing<'j>(repo: &Repo, judged: &'j Judged, why: &Why) -> Result<Option<&'j State>> {
    if !matches!(why, Why::Nobody) {
        return Ok(None);
    }
    let mut found: Option<&State> = None;
    for state in judged.states.values().filter(|state| !is_abandoned(state)) {
        let head = approving(state).and_then(|verdict| verdict.head.as_ref());
        let Some(head) = head else { continue };
        let is_newer = found.is_none_or(|known| known.touched.at < state.touched.at);
        if is_newer && !repo.contains(head)? {
            found = Some(state);
        }
    }
    Ok(found)
}

/// The paths that are held against somebody.
fn held(entry: &Entry, why: &Why) -> Vec<String> {
    match why {
        Why::Changed { paths, .. } | Why::Stray { paths, .. } => paths.clone(),
        // The stage or the verdict is at fault, not a path.
        Why::NotDone { .. } | Why::NoVerdict(_) | Why::NotHere(_) | Why::OtherTarget { .. } => {
            Vec::new()
        }
        _ => {
            let lines = entry.paths.iter().filter(|line| line.why.is_some());
            lines.map(|line| line.path.clone()).collect()
        }
    }
}

fn code(why: &Why, entry: &Entry) -> Code {
    let is_guarded = |why: PathWhy| why == PathWhy::Guarded;
    match why {
        Why::Nobody | Why::Stray { .. } => {
            let mut whys = entry.paths.iter().filter_map(|line| line.why).peekable();
            if whys.peek().is_some() && whys.all(is_guarded) {
                Code::PathGuarded
            } else {
                Code::ProtectedWithoutSession
            }
        }
        Why::NotDone { .. } => Code::ProtectedNotDone,
        Why::NoVerdict(_) | Why::Uncommitted(_) => Code::ProtectedNotReviewed,
        Why::Changed { .. } => Code::ReviewStale,
        Why::Conflict(_) => Code::LandingConflict,
        Why::Landed(_) => Code::LandedAlready,
        Why::OtherTarget { .. } => Code::LandingOtherTarget,
        Why::NotShown(_) => Code::LandingNotShown,
        Why::NotHere(_) => Code::ReviewedCommitMissing,
        Why::Empty(_) => Code::ReviewEmpty,
        Why::NoArchive(_) => Code::ArchiveDiffers,
    }
}

fn said(target: &str, why: &Why, code: Code) -> String {
    match why {
        Why::Nobody if code == Code::PathGuarded => {
            format!("`{target}` takes guarded paths only from a session")
        }
        Why::Nobody => {
            format!("`{target}` takes only results of sessions, and no session has this result")
        }
        Why::NotDone { .. } => format!("`{target}` takes only sessions in stage done; {why}"),
        Why::NoVerdict(_) => format!("`{target}` takes only reviewed code; {why}"),
        Why::Stray { .. } if code == Code::PathGuarded => {
            format!("`{target}` takes guarded paths only from a session; {why}")
        }
        Why::Stray { .. } => format!("`{target}` takes only the result of a session; {why}"),
        why => why.to_string(),
    }
}

/// The command that leads on from what the account does not cover.
fn help(ctx: &Context, judged: &Judged, why: &Why) -> Result<Hint> {
    let target = &judged.target;
    let who = ctx.reader().map(|reader| &reader.author);
    let again = |session: &SessionId| match judged.state(session) {
        Some(state) => next::back_to_review(state, who, &why.to_string()),
        None => command!("status").session(session),
    };
    Ok(match why {
        Why::NotDone { session, .. } | Why::NoVerdict(session) => {
            command!("status").session(session)
        }
        Why::Nobody | Why::Changed { .. } | Why::Landed(_) | Why::NoArchive(_) => {
            command!("start \"{}\"", begin::title(ctx))
        }
        Why::Stray { session: None, .. } => hint![
            format!("git rebase {target}  (its commits name these paths then), or: "),
            command!("start \"{}\"", begin::title(ctx))
        ],
        Why::Stray {
            session: Some(session),
            ..
        } => again(session),
        Why::Conflict(session) => hint![
            format!("git merge {target}  (on the session's branch), then: "),
            again(session)
        ],
        Why::OtherTarget { session, .. } => hint![
            format!("git config loopx.target {target}, then: "),
            again(session)
        ],
        Why::NotShown(session) | Why::Uncommitted(session) | Why::Empty(session) => again(session),
        Why::NotHere(_) => {
            Hint::from("git fetch  (the session's branch), or push it together with this one")
        }
    })
}

/// The account for people and machines.
#[derive(Debug, Serialize)]
pub(crate) struct View {
    pub target: String,
    /// Commit that the target had.
    pub from: Option<Oid>,
    pub covered: bool,
    pub commits: Vec<Row>,
}

/// Commit of an account.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub commit: Oid,
    pub subject: String,
    /// `F`, `M`, `S`, `R`, `A` or `E`; absent where nothing covers it.
    pub step: Option<&'static str>,
    pub session: Option<SessionId>,
    /// Meaning of the step, or why there is none.
    pub because: String,
    pub paths: Vec<PathRow>,
}

/// Path of an account.
#[derive(Debug, Serialize)]
pub(crate) struct PathRow {
    pub path: String,
    pub step: Option<&'static str>,
    /// Reason why no step without a session takes the path.
    pub why: Option<PathWhy>,
}

pub(super) fn view(repo: &Repo, judged: &Judged) -> Result<View> {
    let row = |entry: &Entry| -> Result<Row> {
        let step = entry.verdict.as_ref().ok();
        let letter = step.map(|step| step.letter());
        let because = match &entry.verdict {
            Ok(step) => step.to_string(),
            Err(why) => why.to_string(),
        };
        let session = match &entry.verdict {
            Ok(step) => step.session(),
            Err(why) => why.session(),
        };
        let paths = entry.paths.iter().map(|line| PathRow {
            path: line.path.clone(),
            step: letter,
            why: line.why.filter(|_| step.is_none()),
        });
        Ok(Row {
            subject: repo.commit_info(&entry.commit)?.subject().to_owned(),
            commit: entry.commit.clone(),
            step: letter,
            session: session.cloned(),
            because,
            paths: paths.collect(),
        })
    };
    let entries = judged.account.entries.iter();
    Ok(View {
        target: judged.target.clone(),
        from: judged.without.first().cloned(),
        covered: judged.account.is_covered(),
        commits: entries.map(row).collect::<Result<_>>()?,
    })
}
