//! The sessions as a board: where each stands, who is waited for, and what is next in it.

use super::context::Context;
use super::landed::landed;
use super::next;
use super::outline::{self, Question};
use super::view;
use loopx_base::failure::{Failure, Result};
use loopx_base::hint::Hint;
use loopx_base::id::{Person, SessionId};
use loopx_rules::next::{Next, Waits};
use loopx_rules::session::{Ending, State};
use loopx_rules::stage::Stage;
use loopx_store::{KnownQuestions, Snapshot, Summary};
use serde::Serialize;

/// Sessions whose gates are looked at: of more than these, those that were touched last.
const LOOKED: usize = 20;

/// The sessions that are wanted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Request {
    /// Set for the sessions that have ended, too.
    pub all: bool,
    /// Set for only the sessions that this person began, or touched last.
    pub mine: bool,
    pub stage: Option<Stage>,
    /// Set for only the sessions that wait for somebody else.
    pub waiting: bool,
    /// A text that id, title or branch contain.
    pub text: Option<String>,
}

impl Request {
    /// Tells whether only some of the sessions are wanted.
    pub(crate) fn is_filter(&self) -> bool {
        self.mine || self.waiting || self.stage.is_some() || self.text.is_some()
    }
}

/// A line of the board.
#[derive(Debug, Serialize)]
pub(crate) struct Listed {
    pub session: SessionId,
    pub title: String,
    pub stage: Option<Stage>,
    pub ending: Option<Ending>,
    pub branch: Option<String>,
    pub started: Option<String>,
    pub touched: Option<String>,
    /// Set when the session is bound to the branch that is checked out here.
    pub current: bool,
    /// The reason why the session cannot be read.
    pub damage: Option<String>,
    /// The command that leads on, where the gates were looked at and one does.
    pub next_action: Option<Hint>,
    /// The number of rules of the gate to the next stage that are not met, where the gates were looked at: with none,
    /// the session is ready.
    pub missing: Option<usize>,
    /// The other person who has to go on.
    pub waits: Option<Waits>,
    /// Set when somebody has to write something: there is no command for it.
    pub to_write: bool,
    /// The target that has not got what was archived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_on: Option<String>,
    /// Set when the gates of the session were looked at: who goes on, and with what, is known.
    pub judged: bool,
    /// The reason why the gates could not be looked at, where somebody tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unjudged: Option<String>,
    /// Questions about the plan of the session that nobody has answered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<Question>,
}

/// The sessions on the board, and the numbers of those that are not.
#[derive(Debug)]
pub(crate) struct Board {
    pub sessions: Vec<Listed>,
    /// The number of sessions that the request leaves out.
    pub left_out: usize,
    /// The number of sessions left out that have ended.
    pub ended: usize,
}

/// The sessions that are asked for. A damaged one hides no other.
pub(crate) fn list(ctx: &Context, request: &Request) -> Result<Board> {
    ctx.only_reads();
    let store = ctx.store()?;
    let snapshot = store.snapshot()?;
    let here = match ctx.head()?.branch {
        Some(branch) => snapshot.bound_to(&branch)?,
        None => Vec::new(),
    };
    let who = if request.mine {
        Some(ctx.repo.identity()?.author)
    } else {
        None
    };
    let (mut sessions, mut left_out, mut ended) = (Vec::new(), 0, 0);
    let archived = request.all;
    for (id, summary) in snapshot.summaries(archived)? {
        let has_ended = summary
            .as_ref()
            .is_ok_and(|summary| summary.ending.is_some());
        if has_ended && !request.all {
            ended += 1;
            left_out += 1;
        } else if is_wanted(request, who.as_ref(), &id, &summary) {
            let current = here.contains(&id);
            sessions.push(listed(id, summary, current));
        } else {
            left_out += 1;
        }
    }
    if sessions.is_empty() && !archived && !request.is_filter() {
        // Nothing is said of what was never looked for.
        let all = snapshot.session_names()?.len();
        left_out = left_out.max(all);
        ended = ended.max(all);
    }
    look(ctx, &snapshot, request, &mut sessions);
    if request.waiting {
        let before = sessions.len();
        sessions.retain(|one| one.waits.is_some());
        left_out += before - sessions.len();
    }
    Ok(Board {
        sessions,
        left_out,
        ended,
    })
}

fn is_wanted(
    request: &Request,
    who: Option<&Person>,
    id: &SessionId,
    summary: &Result<Summary, Failure>,
) -> bool {
    let Ok(summary) = summary else {
        // What cannot be read is hidden by no filter.
        return true;
    };
    let is_own = who.is_none_or(|who| {
        let people = [&summary.starter, &summary.toucher];
        people
            .into_iter()
            .any(|one| Person::parse(one).is_same(who))
    });
    let is_there = request.stage.is_none_or(|stage| stage == summary.stage);
    let has_text = request.text.as_ref().is_none_or(|text| {
        let text = text.to_lowercase();
        let branch = summary.branch.as_deref().unwrap_or_default();
        let places = [id.as_str(), &summary.title, branch];
        places
            .into_iter()
            .any(|place| place.to_lowercase().contains(&text))
    });
    is_own && is_there && has_text
}

fn listed(id: SessionId, summary: Result<Summary, Failure>, current: bool) -> Listed {
    let mut listed = Listed {
        session: id,
        title: String::new(),
        stage: None,
        ending: None,
        branch: None,
        started: None,
        touched: None,
        current,
        damage: None,
        next_action: None,
        missing: None,
        waits: None,
        to_write: false,
        not_on: None,
        judged: false,
        unjudged: None,
        questions: Vec::new(),
    };
    match summary {
        Ok(summary) => {
            listed.title = summary.title;
            listed.stage = Some(summary.stage);
            listed.ending = summary.ending;
            listed.branch = summary.branch;
            listed.started = Some(summary.started);
            listed.touched = Some(summary.touched);
        }
        Err(failure) => listed.damage = Some(failure.message),
    }
    listed
}

/// Looks at the gates of the sessions that were touched last; of all, where it is asked who waits.
fn look(ctx: &Context, snapshot: &Snapshot<'_>, request: &Request, sessions: &mut [Listed]) {
    let mut order: Vec<usize> = (0..sessions.len()).collect();
    order.sort_by(|one, other| sessions[*other].touched.cmp(&sessions[*one].touched));
    let most = if request.waiting { usize::MAX } else { LOOKED };
    let mut known = KnownQuestions::of(&ctx.repo);
    for at in order.into_iter().take(most) {
        let one = &mut sessions[at];
        if one.damage.is_some() || matches!(one.ending, Some(Ending::Abandoned { .. })) {
            continue;
        }
        // One that cannot be judged is listed all the same, with the cause.
        let session = match snapshot.find(&one.session) {
            Ok(Some(session)) => session,
            Ok(None) => continue,
            Err(failure) => {
                one.unjudged = Some(failure.message);
                continue;
            }
        };
        if one.ending.is_some() {
            one.not_on = not_on(ctx, &session.state);
            continue;
        }
        let look = match next::look(ctx, snapshot, &session) {
            Ok(look) => look,
            Err(failure) => {
                one.unjudged = Some(failure.message);
                continue;
            }
        };
        one.judged = true;
        one.questions =
            outline::open_questions_of(&mut known, snapshot, &session).unwrap_or_default();
        one.missing = Some(view::held(&look).len());
        one.to_write = look.advised.next == Next::Write;
        let next = look.advised.command().cloned();
        one.next_action = if one.current {
            next
        } else {
            next.map(|next| next.in_session(&one.session))
        };
        one.waits = look.advised.waiting().cloned();
    }
    known.keep();
}

/// The target that has not got what was archived, as far as that can be said.
fn not_on(ctx: &Context, state: &State) -> Option<String> {
    let (policy, _) = ctx.policy_if_there(state).ok()?;
    let landed = landed(ctx, state, &policy).ok()??;
    landed.is_open().then_some(landed.target)
}
