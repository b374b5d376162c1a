//! `review --answer`: what somebody says of findings, of a review or of a plan.

use super::context::Context;
use super::transaction::{Act, Done, Facts, Needs, act};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::{command, hint};
use loopx_base::id::SessionId;
use loopx_rules::finding::Finding;
use loopx_rules::gate;
use loopx_rules::gate::FindingView;
use loopx_rules::op::{Answer, AnswerWord, Event};
use loopx_rules::session::Stamped;

/// The answers to findings, by the numbers of the findings.
#[derive(Clone, Debug)]
pub(crate) struct AnswerRequest {
    pub answers: Vec<(u32, AnswerWord)>,
    pub reason: Option<String>,
    /// Sign the record.
    pub sign: bool,
}

/// Records answers; gives the findings as they stand then, where they can be read.
pub(crate) fn answer(
    ctx: &Context,
    request: &AnswerRequest,
) -> Result<Done<Option<Vec<FindingView>>>> {
    let done = act(ctx, Needs::Code, |facts| {
        let mut answers = Vec::new();
        let mut said = Vec::new();
        for (number, word) in &request.answers {
            let finding = require(facts, *number)?;
            check(facts, (*number, finding), *word, request)?;
            if *word == AnswerWord::Wontfix {
                facts.require_person("`wontfix`")?;
            }
            answers.push(Answer {
                op: finding.op.clone(),
                nth: finding.value.nth,
                answer: *word,
            });
            said.push(format!("finding {number} {word}"));
        }
        let event = Event::Answered {
            answers,
            tree: facts.code.as_ref().map(|code| code.tree.clone()),
        };
        let what = format!("answer {}", said.join(", "));
        let act = Act::new(event, what, ());
        Ok(act.reason(request.reason.clone()).word(request.sign))
    })?;
    let said = (
        format!("the answer is recorded for {}", done.id),
        "the look at the findings",
    );
    let value = ctx.follow(said, command!("review --show"), standing(ctx, &done.id));
    Ok(Done {
        id: done.id,
        commit: done.commit,
        state: done.state,
        saved: done.saved,
        value,
    })
}

/// Findings of a session after what was said.
fn standing(ctx: &Context, id: &SessionId) -> Result<Vec<FindingView>> {
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let Some(session) = snapshot.find(id)? else {
        return Ok(Vec::new());
    };
    let facts = super::transaction::gather(ctx, &snapshot, &session, None, Needs::Code, None)?;
    Ok(gate::findings(facts.view()))
}

fn require<'f>(facts: &'f Facts<'_>, number: u32) -> Result<&'f Stamped<Finding>> {
    facts.state.finding(number).ok_or_else(|| {
        let count = facts.state.findings.len();
        let message = match count {
            0 => format!("there is no finding {number}: the session has no finding"),
            1 => format!("there is no finding {number}; there is 1"),
            _ => format!("there is no finding {number}; there are 1 to {count}"),
        };
        Failure::not_found(Code::FindingUnknown, message).help(command!("status"))
    })
}

fn check(
    facts: &Facts<'_>,
    (number, finding): (u32, &Stamped<Finding>),
    word: AnswerWord,
    request: &AnswerRequest,
) -> Result<()> {
    let sign = facts.policy.sign_flag();
    let leave = command!("review --answer {number} wontfix --reason WHY{sign}");
    if word == AnswerWord::Fixed && !gate::is_changed_since(facts.view(), finding) {
        return Err(Failure::refused(
            Code::FindingUnchanged,
            format!(
                "expected a change since finding {number} was recorded, found none: {}",
                finding.value.words()
            ),
        )
        .help(hint!["fix the code, or say why the finding stays: ", leave]));
    }
    if word != AnswerWord::Wontfix {
        return Ok(());
    }
    if request.reason.is_none() {
        return Err(Failure::usage(
            Code::ReasonRequired,
            format!("`wontfix` for finding {number} needs a reason"),
        )
        .help(leave));
    }
    let actor = facts.actor()?;
    if facts.policy.denies(actor) {
        return Err(Failure::refused(
            Code::ApproverDenied,
            format!(
                "policy does not let {actor} leave a finding as it is (approve.deny in loopx.toml)"
            ),
        )
        .help(hint!["ask somebody else to run: ", leave]));
    }
    let names = facts.credentials.names(actor);
    let is_blocking = finding.value.found.severity.is_blocking();
    if is_blocking && !gate::may_leave(&facts.policy, &facts.credentials, &names) {
        return Err(Failure::refused(
            Code::ReviewerNotIndependent,
            format!("{actor} took part in the work, and policy asks for somebody else to leave finding {number} as it is"),
        )
        .help(hint!["ask somebody else to run: ", leave]));
    }
    Ok(())
}
