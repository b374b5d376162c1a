//! Every commit of a range, by what its trailers claim, and its newest tree by what was reviewed.

use super::history::{Moment, Standing};
use super::{Claim, Commit, Fault, Finding, Head, Landed, Range, Severity, finding, without};
use crate::commit_policy::{Rule, Rules, some};
use crate::op::CodeVerdict;
use crate::policy::{Policy, Strictness};
use crate::session::{Ending, State};
use crate::stage::Stage;
use loopx_base::failure::{Code, Result};
use loopx_base::globs::Globs;
use loopx_base::hint::{Hint, command, hint};
use loopx_base::id::SessionId;
use std::collections::HashMap;
use std::rc::Rc;

/// Judges a range, in the order of its commits.
pub fn judge(range: &Range<'_>) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let allowed = range.policy.allowed()?;
    let mut known = Known::default();
    for commit in range.commits {
        match &commit.claim {
            // What it brings needs no session. A state that it names all the same, and that is none, would stand in the
            // history of the target for ever.
            Claim::Fault(fault @ (Fault::ForeignState(_) | Fault::Damaged(_)))
                if commit.landed == Landed::Exempt =>
            {
                findings.push(forged(commit, fault));
            }
            _ if commit.landed == Landed::Exempt => {}
            Claim::Nothing | Claim::Session(_) | Claim::Fault(Fault::Sessions(_))
                if commit.landed == Landed::Content => {}
            Claim::Nothing if commit.is_merge => findings.extend(merged(range, &allowed, commit)?),
            Claim::Nothing => findings.extend(unclaimed(range, &allowed, commit)?),
            Claim::States(states) => {
                let Some(first) = states.first() else {
                    continue;
                };
                match current(commit, states) {
                    Current::Yes => {
                        let rules = known.rules(states, range.policy, commit)?;
                        findings.extend(claimed(commit, &first.id, &rules));
                    }
                    Current::Reopened(since) => {
                        let rules = known.rules(since, range.policy, commit)?;
                        findings.extend(claimed(commit, &first.id, &rules));
                    }
                    Current::No(left) => findings.extend(replayed(&allowed, commit, first, left)),
                }
            }
            Claim::Session(state) => findings.extend(result(range.policy, commit, state)?),
            Claim::Fault(fault) => findings.push(forged(commit, fault)),
        }
    }
    if let Some(head) = range.head {
        findings.extend(stale(range.policy, head)?);
    }
    Ok(findings)
}

/// Tells whether a session has been in build.
fn has_built(state: &State) -> bool {
    !state.build.builders.is_empty()
        || matches!(state.stage, Stage::Build | Stage::Review | Stage::Done)
}

/// Tells whether policy may have let code in at any time until now.
fn may_have_allowed(policy: &Policy, state: &State) -> bool {
    Stage::ALL
        .into_iter()
        .filter(|stage| *stage <= state.stage || (*stage <= Stage::Build && has_built(state)))
        .any(|stage| policy.gates.stages.at(stage) != Strictness::Refuse)
}

/// Tells whether a commit is known to have been made while no code was taken.
fn was_closed(range: &Range<'_>, bound: &State, commit: &Commit) -> bool {
    match &commit.standing {
        Standing::Settled => false,
        Standing::Left { reopened, .. } => {
            let after = |stage: &Stage| range.policy.gates.stages.at(*stage) == Strictness::Refuse;
            reopened.is_empty() && after(&bound.stage)
        }
        Standing::Open => !may_have_allowed(range.policy, bound),
    }
}

/// Session that a commit without trailers belongs to.
fn owner<'a>(range: &Range<'a>, commit: &'a Commit) -> Option<&'a State> {
    commit.owner.as_deref().or(range.bound)
}

/// Judges the paths of a commit without trailers by the stage that it was made in. A missing trailer is never
/// cheaper than a wrong one, whatever the session became later.
fn by_moment(range: &Range<'_>, commit: &Commit, owner: &State) -> Result<Option<Vec<Finding>>> {
    if range.policy.gates.protected.is_empty() {
        return Ok(None);
    }
    let (states, is_before) = match &commit.moment {
        Moment::Unknown => return Ok(None),
        Moment::Before(state) => (state.as_slice(), true),
        Moment::In(states) => (states.as_slice(), false),
    };
    let rules = states
        .iter()
        .map(|state| rules_at(state, range.policy, commit));
    let rules: Vec<Rules> = rules.collect::<Result<_>>()?;
    let (Some(last), Some(state)) = (rules.last(), states.last()) else {
        return Ok(Some(Vec::new()));
    };
    let left = without(&commit.paths, |path| {
        rules.iter().any(|rules| !rules.refuses_path(path))
    });
    let offences = last.judge(&left);
    let refused = offences.into_iter().filter(|offence| offence.refused);
    let found = refused.map(|offence| {
        let when = if is_before {
            "it was made before the session began".to_owned()
        } else {
            format!("it was made in stage {}", state.stage)
        };
        let message = format!(
            "the commit has no trailer with a state of session {}; {when}: {}",
            owner.id,
            offence.sentence()
        );
        let code = match offence.rule {
            Rule::StageClosed => Code::CommitWithoutState,
            rule => rule.code(),
        };
        let help = match code {
            Code::CommitWithoutState => squash(owner),
            _ => command!("log").session(&owner.id),
        };
        finding(commit, code, Severity::Error, offence.paths, message, &help)
    });
    Ok(Some(found.collect()))
}

/// The way on from a commit that no state allowed: the reviewed result lands in one commit, or the commit is made again.
fn squash(owner: &State) -> Hint {
    let land = match &owner.branch {
        Some(branch) => format!("git merge --squash {branch}"),
        None => "git merge --squash BRANCH".to_owned(),
    };
    hint![
        format!(
            "{land}  (lands the reviewed result as one commit, on the target), or make the commit again in the build: "
        ),
        command!("log").session(&owner.id)
    ]
}

fn unclaimed(range: &Range<'_>, allowed: &Globs, commit: &Commit) -> Result<Vec<Finding>> {
    let Some(bound) = owner(range, commit) else {
        return Ok(Vec::new());
    };
    let paths = without(&commit.paths, |path| allowed.matches(path));
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let by_moment = by_moment(range, commit, bound)?;
    if let Some(found) = &by_moment
        && !found.is_empty()
    {
        return Ok(found.clone());
    }
    // Where code was allowed at some time, a commit without trailers is more likely one of another tool
    // than one that went past the hooks. What a merge brings may be upstream's, where no target is known.
    let is_own = commit.direct || range.own || commit.owner.is_some();
    let is_open = by_moment.is_some() || (!range.lands && !was_closed(range, bound, commit));
    let severity = if is_own && !is_open {
        Severity::Error
    } else {
        Severity::Warning
    };
    let message = format!(
        "the commit has no trailer with the state of session {} that allowed {}",
        bound.id,
        some(&paths)
    );
    let help = if range.hooked {
        hint![
            "make the commit again where the session allows it, without --no-verify  (",
            command!("hooks status"),
            " tells whether git asks)"
        ]
    } else {
        hint![
            command!("hooks install"),
            ", then make the commit again where the session allows it"
        ]
    };
    let code = Code::CommitWithoutState;
    Ok(vec![finding(commit, code, severity, paths, message, help)])
}

/// Merges pass every hook, and resolving a conflict is no offence; but what a merge adds of its own is a
/// change like any other.
fn merged(range: &Range<'_>, allowed: &Globs, commit: &Commit) -> Result<Vec<Finding>> {
    let is_own = commit.direct || commit.owner.is_some();
    let Some(bound) = owner(range, commit).filter(|_| is_own) else {
        return Ok(Vec::new());
    };
    let then = match &commit.moment {
        Moment::In(states) if !range.policy.gates.protected.is_empty() => {
            states.last().map_or(bound, Rc::as_ref)
        }
        _ => bound,
    };
    let tell = |severity, paths: Vec<String>, why: String| {
        let message = format!("the merge itself changes {}, and {why}", some(&paths));
        let help = format!("git show --remerge-diff {}", commit.id.short());
        finding(
            commit,
            Code::MergeChangesCode,
            severity,
            paths,
            message,
            help.as_str(),
        )
    };
    let mut found = Vec::new();
    let paths = without(&commit.paths, |path| allowed.matches(path));
    let rules = rules_at(then, range.policy, commit)?;
    let settled = std::ptr::eq(then, bound) && matches!(commit.standing, Standing::Settled);
    let refused: Vec<String> = rules
        .judge(&paths)
        .into_iter()
        .filter(|offence| offence.refused)
        .flat_map(|offence| offence.paths)
        .collect();
    if !refused.is_empty() && !settled {
        let why = format!(
            "session {} in stage {} does not allow this change",
            bound.id, then.stage
        );
        found.push(tell(Severity::Error, refused, why));
    }
    let resolved = without(&commit.resolved, |path| allowed.matches(path));
    if !resolved.is_empty() && !may_have_allowed(range.policy, bound) {
        let why = format!("session {} has not been in build", bound.id);
        found.push(tell(Severity::Warning, resolved, why));
    }
    Ok(found)
}

/// Validity of the states that a commit names, at the time when it was made.
enum Current<'c> {
    Yes,
    /// The states were left before, and these sessions have opened code since.
    Reopened(&'c [Rc<State>]),
    /// The states were left by this operation.
    No(u64),
}

fn current<'c>(commit: &'c Commit, states: &[Rc<State>]) -> Current<'c> {
    match &commit.standing {
        Standing::Left { seq, reopened } if states.iter().all(|state| state.seq < *seq) => {
            match reopened.as_slice() {
                [] => Current::No(*seq),
                since => Current::Reopened(since),
            }
        }
        _ => Current::Yes,
    }
}

fn replayed(allowed: &Globs, commit: &Commit, state: &State, left: u64) -> Option<Finding> {
    let paths = without(&commit.paths, |path| allowed.matches(path));
    if paths.is_empty() {
        return None;
    }
    let message = format!(
        "names state #{} of session {}, which was left by #{left} before {} was committed",
        state.seq,
        state.id,
        some(&paths)
    );
    let help = command!("log").session(&state.id);
    Some(finding(
        commit,
        Code::StateReplayed,
        Severity::Error,
        paths,
        message,
        &help,
    ))
}

/// The rules of a session at a moment. What lands as it was made before a plan had a scope is held against the scope
/// that the plan has in the end.
fn rules_at(then: &State, policy: &Policy, commit: &Commit) -> Result<Rules> {
    let rules = Rules::new(then, policy)?.without_demands();
    match &commit.owner {
        Some(now) => rules.or_scope(now, policy),
        None => Ok(rules),
    }
}

/// The rules of states, made once: many commits of one session name the same one.
#[derive(Default)]
struct Known(HashMap<(*const State, Option<*const State>), Rc<Rules>>);

impl Known {
    fn rules(
        &mut self,
        states: &[Rc<State>],
        policy: &Policy,
        commit: &Commit,
    ) -> Result<Vec<Rc<Rules>>> {
        let made = states.iter().map(|state| {
            let key = (Rc::as_ptr(state), commit.owner.as_ref().map(Rc::as_ptr));
            if let Some(rules) = self.0.get(&key) {
                return Ok(Rc::clone(rules));
            }
            let rules = Rc::new(rules_at(state, policy, commit)?);
            self.0.insert(key, Rc::clone(&rules));
            Ok(rules)
        });
        made.collect()
    }
}

/// A path passes when one of the states let it pass: a squashed commit names several.
fn claimed(commit: &Commit, session: &SessionId, rules: &[Rc<Rules>]) -> Vec<Finding> {
    let Some((first, others)) = rules.split_first() else {
        return Vec::new();
    };
    let left = without(&commit.paths, |path| {
        others.iter().any(|rules| rules.breaks(path).is_none())
    });
    let offences = first.judge(&left).into_iter().map(|offence| {
        let severity = if offence.refused {
            Severity::Error
        } else {
            Severity::Warning
        };
        let message = format!("session {session}: {}", offence.sentence());
        let help = command!("log").session(session);
        finding(
            commit,
            offence.rule.code(),
            severity,
            offence.paths,
            message,
            &help,
        )
    });
    offences.collect()
}

fn result(policy: &Policy, commit: &Commit, state: &State) -> Result<Option<Finding>> {
    if let Some(Ending::Archived { commit: made, .. }) = &state.ending
        && made.as_ref() == Some(&commit.id)
    {
        return Ok(None);
    }
    let results = policy.results()?;
    let paths = without(&commit.paths, |path| results.matches(path));
    if paths.is_empty() {
        return Ok(None);
    }
    let message = format!(
        "names session {} and has no Loopx-State trailer that allowed {}",
        state.id,
        some(&paths)
    );
    Ok(Some(finding(
        commit,
        Code::StateMissing,
        Severity::Error,
        paths,
        message,
        "git commit --amend  (the commit-msg hook adds it)",
    )))
}

fn forged(commit: &Commit, fault: &Fault) -> Finding {
    let again = Hint::from("git commit --amend  (the commit-msg hook writes the trailers)");
    let fetch = Hint::from(
        "git push REMOTE loopx  (where its sessions are not there yet), or git fetch REMOTE loopx:loopx  (where the branch here is older), then verify again",
    );
    let (code, message, help) = match fault {
        Fault::Sessions(named) if named.is_empty() => (
            Code::SessionMissing,
            "the commit has a Loopx-State trailer without a Loopx-Session trailer".to_owned(),
            again,
        ),
        Fault::Sessions(named) => (
            Code::SessionAmbiguous,
            format!("one commit names several sessions: {}", named.join(", ")),
            again,
        ),
        Fault::UnknownSession(name) => (
            Code::SessionUnknown,
            format!("the loopx branch has no session `{name}`"),
            fetch,
        ),
        Fault::ForeignState(state) => (
            Code::StateNotOnBranch,
            format!("Loopx-State `{state}` is no commit of the loopx branch"),
            fetch,
        ),
        Fault::NoSessionAt(session, state) => (
            Code::StateOfOtherSession,
            format!("at {} there was no session {session}", state.short()),
            again,
        ),
        Fault::EndedAt(session, state) => (
            Code::SessionEnded,
            format!("session {session} had ended at {}", state.short()),
            command!("start \"Follow up\""),
        ),
        Fault::Damaged(why) => (Code::StateDamaged, why.clone(), command!("fsck")),
        Fault::OtherSession(session) => (
            Code::OtherSession,
            format!(
                "names session {session}, whose branch does not have this commit, and stands on another session's branch"
            ),
            again,
        ),
    };
    // A merge may bring what was made elsewhere, by rules that can no longer be asked.
    let severity = match fault {
        Fault::OtherSession(_) if !commit.direct => Severity::Warning,
        _ => Severity::Error,
    };
    finding(commit, code, severity, Vec::new(), message, help)
}

/// The review covers a tree. Paths that every stage may commit, and results that archive writes, do not
/// make it stale once the session is done.
fn stale(policy: &Policy, head: &Head) -> Result<Option<Finding>> {
    let state = &head.session;
    let done = state.stage == Stage::Done;
    let approved = state
        .verdict
        .as_ref()
        .is_some_and(|verdict| verdict.value.verdict == CodeVerdict::Approve);
    if !approved || !(done || state.stage == Stage::Review) {
        return Ok(None);
    }
    let Some(differing) = &head.differing else {
        return Ok(None);
    };
    let results = policy.results()?;
    let paths = without(differing, |path| done && results.matches(path));
    if paths.is_empty() {
        return Ok(None);
    }
    Ok(Some(Finding {
        code: Code::ReviewStale,
        severity: if done {
            Severity::Error
        } else {
            Severity::Warning
        },
        commit: head.id.clone(),
        subject: head.subject.clone(),
        message: format!(
            "session {}: changed since the review: {}",
            state.id,
            some(&paths)
        ),
        paths,
        help: if done {
            command!("start \"Follow up\"")
        } else {
            command!("review --verdict approve")
        },
    }))
}
