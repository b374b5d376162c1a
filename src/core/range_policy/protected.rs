//! What a protected branch takes: what is done and reviewed, and nothing back.

use super::judge::stale;
use super::{Claim, Commit, Finding, Range, Severity, finding};
use crate::core::failure::{Code, Result};
use crate::core::hint::{Hint, command};
use crate::core::id::Oid;
use crate::core::session::State;
use crate::core::stage::Stage;
use std::rc::Rc;

/// What a push to a protected branch lacks: every session that it brings is done, and the reviews
/// cover the tree that is pushed. `tip` is the commit that is pushed, `named` the sessions as they are
/// now.
pub fn protected(
    range: &Range<'_>,
    branch: &str,
    tip: &Commit,
    named: &[Rc<State>],
) -> Result<Vec<Finding>> {
    let refuse = |code, message: String, help: Hint| {
        finding(tip, code, Severity::Error, Vec::new(), message, &help)
    };
    let brought = range.bound.into_iter().chain(named.iter().map(Rc::as_ref));
    let mut findings: Vec<Finding> = Vec::new();
    for state in brought {
        let message = format!(
            "`{branch}` takes what is done; session {} is in stage {}",
            state.id, state.stage
        );
        if state.stage != Stage::Done && !findings.iter().any(|known| known.message == message) {
            let help = command!("status").session(&state.id);
            findings.push(refuse(Code::ProtectedNotDone, message, help));
        }
    }
    let Some(head) = range.head else {
        findings.push(refuse(
            Code::ProtectedWithoutSession,
            format!("`{branch}` takes only the result of a session, and this is nobody's"),
            command!("start \"WHAT TO CHANGE\""),
        ));
        return Ok(findings);
    };
    if !findings.is_empty() {
        return Ok(findings);
    }
    if head.differing.is_none() {
        findings.push(refuse(
            Code::ProtectedNotReviewed,
            format!(
                "`{branch}` takes what was reviewed; no verdict of session {} covers this tree",
                head.session.id
            ),
            command!("status").session(&head.session.id),
        ));
    }
    // The range has it already where its newest commit was held against the review.
    let said = range
        .commits
        .first()
        .is_some_and(|newest| range.bound.is_some() || !matches!(newest.claim, Claim::Nothing));
    if !said {
        findings.extend(stale(range.policy, head)?);
    }
    Ok(findings)
}

/// A protected branch goes forward: nothing that it took is taken away again. `old` is where it was,
/// `becomes` what would happen to it.
pub fn set_back(branch: &str, old: &Oid, subject: &str, becomes: &str) -> Finding {
    Finding {
        code: Code::ProtectedSetBack,
        severity: Severity::Error,
        commit: old.clone(),
        subject: subject.to_owned(),
        paths: Vec::new(),
        message: format!("`{branch}` is protected and would be {becomes}"),
        help: format!("git revert {}", old.short()).into(),
    }
}
