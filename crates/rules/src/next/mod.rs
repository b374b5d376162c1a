//! The command that leads on, chosen from facts for whoever asks, in this worktree.
//!
//! A command is offered only where it works when typed: nothing in it is a placeholder, and neither the identity
//! nor the worktree, the branch or policy would have it refused. Where no command of ours is next, it is said
//! who writes what, or who is waited for. What a person should know besides is advice, and no command.

mod advised;
mod apart;
mod begin;
mod blockers;
mod build;
mod completion;
mod here;
mod landing;
mod review;
mod tasks;
mod worktree;

pub use advised::{Advised, Next, Waits};
pub use begin::{Around, Ground, Meant, Wanted, begin, meant, title, unsigned};
pub use blockers::mended_in;
pub use completion::{Completion, Of, completion};
pub use here::{
    Behind, Distance, Here, Moved, Standpoint, Unfetched, Unfit, Unheld, Unlanded, Unpushed,
};
pub use loopx_base::working_tree::Sequence;
pub use worktree::{ASIDE, Worktree, aside, committing, in_submodule, stash};

use super::agent_identity::require_person;
use super::artifact::Artifact;
use super::gate::{self, View};
use super::lease::{self, Standing};
use super::session::{ApprovedBy, Ending, State};
use super::stage::{ApprovalKey, Stage, Transition};
use blockers::{by_blockers, leading};
use landing::{ended, forwarded};
use loopx_base::age::left;
use loopx_base::failure::{Blocker, Code};
use loopx_base::hint::{Hint, Verb, command, hint};
use loopx_base::id::Person;
use loopx_base::shell_word;
use worktree::{commit, settle_worktree};

/// The move forward from the present stage that the session's profile has, where there is one.
fn forward(view: View<'_>) -> Option<Transition> {
    let mut all = Transition::ALL.into_iter();
    all.find(|way| way.from() == view.state.stage && way.is_forward() && view.profile().has(*way))
}

/// The command to type next, where nothing is known of who asks.
pub fn next_action(view: View<'_>) -> Hint {
    next(view, &Here::default()).into_hint()
}

/// The next step.
pub fn next(view: View<'_>, here: &Here<'_>) -> Advised {
    let found = completion::led(view, here, writable(view, here, chosen(view, here)));
    if let Some(first) = &here.unsigned {
        return signed_first(view.state, found, first.clone());
    }
    match (&found.next, &here.remote) {
        // Whoever is waited for has to see what was done here.
        (Next::Waits(waits), Some(remote)) if remote.ahead + remote.behind > 0 => {
            let advice = format!("then it waits for {}: {}", waits.who, waits.what);
            Advised::from(command!("sync {}", remote.remote)).advice(advice)
        }
        // Whoever waits hears of it there.
        (Next::Waits(_), Some(remote)) if found.advice.is_empty() => {
            let hear = command!("sync {}", remote.remote);
            found.advice(hint!["to hear of it: ", hear])
        }
        _ => found,
    }
}

/// A document that is closed in this stage is written where it is open: the session goes back there.
fn writable(view: View<'_>, here: &Here<'_>, found: Advised) -> Advised {
    let state = view.state;
    let lead = found.command().and_then(Hint::command);
    let edit = lead.filter(|lead| lead.verb() == Verb::Edit);
    let artifact = edit.and_then(|lead| Artifact::parse(lead.args().trim()).ok());
    let Some(artifact) = artifact.filter(|one| !state.is_open(*one)) else {
        return found;
    };
    let why = format!("{artifact} is closed in stage {}", state.stage);
    match state.stage {
        Stage::Build if view.profile().has_stage(Stage::Plan) => {
            let back = Transition::BuildToPlan.command().because(&why);
            Advised::from(back).advice(why)
        }
        Stage::Review if artifact.is_open_at(Stage::Build) => {
            review::send_back(view, here, "build", &why)
        }
        Stage::Review => review::send_back(view, here, "plan", &why),
        Stage::Done => Advised::from(take_back(state, here.who, &why)).advice(why),
        Stage::Clarify | Stage::Plan | Stage::Build => Advised::write(why),
    }
}

/// Step of somebody for whom git has no name, or no time: a record has both under it.
fn signed_first(state: &State, found: Advised, first: Advised) -> Advised {
    match &found.next {
        Next::Waits(_) => found,
        // What was recorded already is pushed without a name.
        Next::Command(command) if !state.is_active() && command.command().is_none() => found,
        Next::Nothing if found.advice.is_empty() => found,
        Next::Nothing => Advised::nothing().advice(first.advice),
        Next::Command(_) | Next::Write => first,
    }
}

fn chosen(view: View<'_>, here: &Here<'_>) -> Advised {
    let state = view.state;
    if let Some(settle) = apart::settle(view, here) {
        return settle;
    }
    if let Some(first) = &here.first {
        return first.clone();
    }
    if !state.is_active() {
        return ended(view, here);
    }
    if let Some(held) = gate::conflicts(view).first() {
        return leading(view, held);
    }
    // Whoever has a task ends it before its commits get a branch.
    if let Some(unheld) = here
        .unheld
        .as_ref()
        .filter(|_| !tasks::is_beside(view, here))
    {
        let told = "no branch holds the commits of this detached HEAD";
        return match unheld {
            Unheld::New(name) => {
                Advised::from(Hint::git(format!("switch -c {}", shell_word(name)))).advice(told)
            }
            Unheld::Forward(own) => {
                Advised::from(Hint::git(format!("switch -C {}", shell_word(own))))
                    .advice(format!("{told}, and {own} moves forward to them"))
            }
        };
    }
    let Some(way) = forward(view) else {
        return review::archive(view, here);
    };
    let way = match gate::judgement(view).and_then(|judgement| judgement.target) {
        Some(target) if state.stage == Stage::Review => target.transition(),
        _ => way,
    };
    if matches!(state.stage, Stage::Build | Stage::Review)
        && let Some(first) = settle_worktree(view, here)
    {
        return first;
    }
    // What is here is not what others judge.
    if let Some(behind) = &here.behind {
        return forwarded(here, &behind.upstream, behind.words());
    }
    if let Some(author) = mender(view, here, way) {
        return Advised::waits(author, "the fix of what the review found");
    }
    if let Some(builder) = builder(view, here, way) {
        return Advised::waits(builder, "the build").advice(hint![
            "whoever enters the build becomes its builder and is no independent reviewer afterwards; to build yourself: ",
            command!("build")
        ]);
    }
    if let Some(light) = gate::demanded(view).filter(|_| !way.is_rollback()) {
        return leading(view, &light).advice(light.message);
    }
    if gate::consumable(view, way).is_ok() {
        return enter(view, here, way);
    }
    let blockers = gate::wanting(view, way);
    let found = match state.stage {
        Stage::Build => build::next(view, here, &blockers),
        Stage::Review if !way.is_rollback() => review::next(view, here, &blockers),
        _ => {
            let is_of_tasks = |one: &Blocker| one.code == Code::TasksOpen;
            let task = blockers
                .iter()
                .all(is_of_tasks)
                .then(|| tasks::next(view, here));
            task.flatten().or_else(|| by_blockers(view, &blockers))
        }
    };
    let found = found.unwrap_or_else(|| approve(view, here, way));
    of_the_build(view, here, found)
}

/// A build of another worktree is not gone on with here.
fn of_the_build(view: View<'_>, here: &Here<'_>, found: Advised) -> Advised {
    let asks = found.command().and_then(Hint::command);
    let is_step = asks.is_some_and(|asks| matches!(asks.verb(), Verb::Run | Verb::Build));
    // A word on a task is whose it is, whoever builds.
    let words = found.advice.commands().next();
    let is_word = words.is_some_and(|word| word.verb() == Verb::Task);
    let is_write = found.next == Next::Write && !is_word;
    if view.state.stage != Stage::Build || !is_step && !is_write {
        return found;
    }
    let claim = view.state.build.claim.as_ref();
    match lease::standing(claim, here.worktrees.here.as_deref(), here.now) {
        Standing::Held(claim) if here.now > 0 => {
            // Whoever has a task goes on with it, beside the build.
            if tasks::has_task(view, here) {
                return found;
            }
            if let Some(free) = tasks::free(view, here) {
                return free;
            }
            let by = &claim.signed.by;
            let agent = claim.value.agent.as_deref();
            let whose = here.worktrees.whose(&claim.value.owner, agent, by);
            let left = left(here.now, lease::until(claim));
            Advised::waits(whose, format!("the build, which is theirs for {left} more")).advice(
                hint![
                    "to take it over: ",
                    command!("build --take-over --reason WHY")
                ],
            )
        }
        _ => found,
    }
}

/// The builder who mends what a review sent back, where the reviewer who asks took no part: whoever enters the build has it.
fn mender(view: View<'_>, here: &Here<'_>, way: Transition) -> Option<String> {
    let verdict = view.state.verdict.as_ref();
    let who = here.who?;
    let is_reviewers = verdict.is_some_and(|verdict| verdict.signed.by.is_same(who));
    if way != Transition::ReviewToBuild || !is_reviewers {
        return None;
    }
    let names = view.credentials.names(who);
    let is_own = |person: &Person| names.iter().any(|name| name.is_same(person));
    let builders = &view.state.build.builders;
    let took_part = builders.iter().any(is_own) || view.credentials.part(&names).is_some();
    let last = builders.last().filter(|_| !took_part)?;
    Some(last.name.clone())
}

/// Person who builds what is approved, where whoever asks gave their word and did not begin the session.
fn builder(view: View<'_>, here: &Here<'_>, way: Transition) -> Option<String> {
    if way != Transition::PlanToBuild || is_own(view, here) {
        return None;
    }
    let approval = gate::consumable(view, way).ok()?;
    let names = view.credentials.names(here.who?);
    let is_theirs = |by: &ApprovedBy| names.iter().any(|name| name.is_same(&by.signed.by));
    let started = &view.state.started.by.name;
    approval.by.iter().any(is_theirs).then(|| started.clone())
}

/// Tells whether whoever asks began the session, or built some of it.
fn is_own(view: View<'_>, here: &Here<'_>) -> bool {
    let names = here.who.map(|who| view.credentials.names(who));
    let mut people = vec![&view.state.started.by];
    people.extend(&view.state.build.builders);
    let is_one = |name: &Person| people.iter().any(|one| one.is_same(name));
    names.is_none_or(|names| names.iter().any(is_one))
}

/// The stage is entered by the command that consumes the approval.
fn enter(view: View<'_>, here: &Here<'_>, way: Transition) -> Advised {
    if way.to() == Stage::Review
        && let Some(first) = commit(view, here)
    {
        return first;
    }
    way.command().into()
}

/// The build in which no file differs: there is code to write, or a reason why there is none.
fn codeless(view: View<'_>, here: &Here<'_>) -> Advised {
    let review = Transition::BuildToReview;
    let again = match (view.profile().is_light(), here.asks) {
        (true, true) => command!("finish --reason WHY"),
        (true, false) => command!("finish --yes --reason WHY"),
        (false, _) if view.policy.asks_signature(review) => {
            command!("approve --to review --reason WHY --sign")
        }
        (false, _) => command!("approve --to review --reason WHY"),
    };
    Advised::write(hint![
        "no file differs from the commit where the review begins: write the code and commit it; if no code has to change: ",
        again
    ])
}

/// Approves, or says who may.
fn approve(view: View<'_>, here: &Here<'_>, way: Transition) -> Advised {
    // What `finish` refuses is no step.
    let out = here
        .archive
        .iter()
        .find(|held| held.code == Code::OutOfScope);
    if let Some(out) = out.filter(|_| way == Transition::BuildToReview) {
        return leading(view, out).advice(out.message.clone());
    }
    match approver(view, here, way) {
        Some(who) => Advised::waits(who, format!("the approval of {way}")),
        None if way == Transition::BuildToReview && here.is_empty => codeless(view, here),
        None if view.profile().is_light() && finishes_alone(view, here, way) => {
            // What the target would refuse is not taken to its end.
            let moved = here.moved.as_ref().filter(|moved| {
                let policy = &moved.policy;
                !finishes_alone(View { policy, ..view }, here, way)
            });
            match (moved, here.asks) {
                (Some(moved), _) => Advised::from(moved.lead.clone()).advice(moved.why.clone()),
                (None, true) => command!("finish").into(),
                (None, false) => command!("finish --yes").into(),
            }
        }
        // Whoever plans or builds enters that stage where one word opens it.
        None if view.policy.required(way) == 1
            && (way.to() != Stage::Build || is_own(view, here))
            && (matches!(way, Transition::ClarifyToPlan | Transition::PlanToBuild)
                || view.profile().is_light()
                    && matches!(way.to(), Stage::Build | Stage::Review)) =>
        {
            // Without a name the word is about the way forward.
            match (way.is_forward(), view.policy.asks_signature(way)) {
                (true, true) => command!("approve --enter --sign").into(),
                (true, false) => command!("approve --enter").into(),
                (false, true) => command!("approve --to {} --enter --sign", way.to()).into(),
                (false, false) => command!("approve --to {} --enter", way.to()).into(),
            }
        }
        None => view.policy.approve_command(way).into(),
    }
}

/// Tells whether this person alone may take a build to its end: nobody else is asked, nothing holds the archive, and
/// no word has to be signed.
fn finishes_alone(view: View<'_>, here: &Here<'_>, way: Transition) -> bool {
    let policy = view.policy;
    let ahead = [Transition::BuildToReview, Transition::ReviewToDone];
    let is_asked =
        |one: &Transition| policy.required(*one) > 1 || approver(view, here, *one).is_some();
    way == Transition::BuildToReview
        && here.who.is_some()
        && review::sender(view, here).is_none()
        && here.archive.is_empty()
        && !here.is_empty
        && !policy.review.independence.is_required()
        && !policy.asks_signatures()
        && gate::open_now(view).is_empty()
        && !gate::is_review_stale(view)
        && [Stage::Review, Stage::Done]
            .iter()
            .all(|stage| gate::open_tasks(view, *stage).is_empty())
        && !ahead.iter().any(is_asked)
}

/// Approver of a transition, where this person may not approve, or has already.
fn approver(view: View<'_>, here: &Here<'_>, way: Transition) -> Option<String> {
    if let Some(who) = person(view, here) {
        return Some(who);
    }
    let who = here.who?;
    let names = view.credentials.names(who);
    if names.iter().any(|name| view.policy.denies(name)) {
        return Some("somebody whom policy lets approve".to_owned());
    }
    if !view.policy.may_approve(way, &names) {
        let roles = view.policy.approve.by.get(&way);
        return Some(roles.map_or_else(String::new, |roles| roles.join(" or ")));
    }
    if view.policy.approve.independent.contains(&way) && view.credentials.part(&names).is_some() {
        return Some("somebody who took no part in it".to_owned());
    }
    let armed = view.state.armed(way)?;
    let has_approved = gate::changed_since(armed, view).is_empty()
        && armed.by.iter().any(|by| by.signed.by.is_same(who));
    has_approved.then(|| "another person".to_owned())
}

/// Person who has to give a word, where policy takes none from the agent that asks.
fn person(view: View<'_>, here: &Here<'_>) -> Option<String> {
    let refused = require_person(view.policy, here.agent.as_deref(), "this").is_err();
    refused.then(|| "a person".to_owned())
}

/// The command that takes the last word on a done session back: by name, where it was somebody else's.
fn take_back(state: &State, who: Option<&Person>, why: &str) -> Hint {
    let last = state.approvals.get(&ApprovalKey::Complete);
    let last = last.and_then(|approval| approval.by.last());
    match (last, who) {
        (Some(last), Some(who)) if !last.signed.by.is_same(who) => {
            command!("undo --only {} --reason WHY", last.op).because(why)
        }
        _ => command!("undo"),
    }
}

/// The way from a session that is done to another verdict. Nothing of an archived session is taken back before its archive is.
pub fn back_to_review(state: &State, who: Option<&Person>, why: &str) -> Hint {
    let id = &state.id;
    if matches!(state.ending, Some(Ending::Archived { .. })) {
        let reopen = Transition::DoneToBuild.command().because(why);
        return reopen
            .session(id)
            .note("(back to build; its archive is taken back, too)");
    }
    take_back(state, who, why)
        .session(id)
        .note("(back to review, for another verdict)")
}
