//! The next step in a review, and after it.

use super::{
    Advised, Here, Unfetched, Worktree, approver, build, by_blockers, forwarded, in_submodule,
    is_own, leading, person, take_back, tasks,
};
use crate::artifact::Artifact;
use crate::gate;
use crate::gate::{Proof, View};
use crate::review::scope_blockers;
use crate::stage::{Stage, Transition};
use loopx_base::failure::{Blocker, Code};
use loopx_base::hint::{Hint, Verb, command, hint};
use loopx_base::id::Person;
use loopx_base::shell_word;
use loopx_base::working_tree::ReviewedCode;

/// `None`: the gate is ready.
pub(super) fn next(view: View<'_>, here: &Here<'_>, blockers: &[Blocker]) -> Option<Advised> {
    let verdict = view.state.verdict.as_ref();
    let tree = view.code.map(|code| &code.tree);
    if let Some(unfetched) = &here.unfetched {
        return Some(fetch(view, unfetched, "the code that the review is about"));
    }
    if let Some(ReviewedCode::Ahead(commit)) = view.code.map(|code| &code.reviewed) {
        let why = "what was reviewed is ahead of the code here";
        return Some(forwarded(here, commit.short(), why));
    }
    let is_open = verdict.is_none_or(|verdict| Some(&verdict.value.tree) != tree);
    if is_open && let Some(first) = put_aside(view, here) {
        return Some(first);
    }
    if let Some(held) = here.archive.first() {
        return Some(send_back(view, here, "plan", &held.message));
    }
    if view.code.is_some()
        && let Some(proof) = build::proof(view, here)
    {
        let items = gate::audit(view);
        let failed = items.iter().find(|item| item.proof == Proof::Failed);
        return Some(match failed {
            Some(item) => {
                let why = format!("{} failed: {}", item.id, item.detail);
                send_back(view, here, "build", &why)
            }
            None => proof,
        });
    }
    // A verdict is about what is whole.
    let of_tasks = blockers.iter().find(|one| one.code == Code::TasksOpen);
    if let Some(open) = of_tasks {
        if let Some(task) = gate::failed_since(view) {
            let why = format!("{task} failed on this code");
            return Some(send_back(view, here, "build", &why));
        }
        return Some(tasks::next(view, here).unwrap_or_else(|| leading(view, open)));
    }
    let first = blockers.first()?;
    match first.code {
        Code::ReviewVerdictNone | Code::ReviewStale => {
            // An approval of what is said not to be whole would turn into its opposite.
            let record = view.texts.get(&Artifact::ExecutionRecord);
            let partial = scope_blockers(record.map(String::as_str));
            Some(match partial.first() {
                Some(first) => send_back(view, here, "build", &first.message),
                None => verdict_of(view, here),
            })
        }
        Code::ReviewerNotIndependent => Some(waits_for_reviewer()),
        Code::WordTakenBack => Some(said_anew(view, here, first)),
        Code::FindingOpen if first.help.to_string().contains("wontfix") => {
            Some(send_back(view, here, "build", &first.message))
        }
        _ => by_blockers(view, blockers),
    }
}

/// Fetches what is not here: code under review, or an archive.
pub(super) fn fetch(view: View<'_>, unfetched: &Unfetched, what: &str) -> Advised {
    let Unfetched { remote, is_own } = unfetched;
    let branch = view.state.branch.as_deref().unwrap_or("it");
    let told = format!("{what} is not here: ");
    let fetch = Hint::git(format!("fetch {remote}"));
    if !view.state.is_active() {
        let by = &view.state.touched.by.name;
        let else_ = format!("  (where that brings nothing, {by} has to push {branch})");
        return Advised::write(hint![told, fetch, else_]);
    }
    Advised::write(if *is_own {
        let again = view.policy.verdict_command();
        hint![told, fetch, "  (where it is gone for good: ", again, ")"]
    } else {
        let else_ = format!("  (where that brings nothing, its builder has to push {branch})");
        hint![told, fetch, else_]
    })
}

/// The signed word that stands in for one that somebody took back: of its person, or of a role of policy.
fn said_anew(view: View<'_>, here: &Here<'_>, held: &Blocker) -> Advised {
    let mut taken = view.credentials.taken.iter();
    let word = taken.find(|one| one.holds_gate() && one.blocker().message == held.message);
    let (Some(word), Some(who)) = (word, here.who) else {
        return leading(view, held);
    };
    let what = format!("a signed word, for `{}` was taken back", word.word);
    if !word.is_for(view.policy, view.credentials, who) {
        return Advised::waits(word.by.name.clone(), what).advice(held.message.clone());
    }
    match person(view, here) {
        Some(person) => Advised::waits(person, what),
        None => leading(view, held).advice(held.message.clone()),
    }
}

fn waits_for_reviewer() -> Advised {
    Advised::waits("a reviewer who took no part in it", "the verdict")
}

/// Tells whether policy lets nobody review who took part, and this person did.
fn is_dependent(view: View<'_>, here: &Here<'_>) -> bool {
    let names = here.who.map(|who| view.credentials.names(who));
    let took_part = names.is_some_and(|names| {
        let built = view.state.build.builders.iter();
        view.credentials.part(&names).is_some()
            || built
                .into_iter()
                .any(|builder| names.iter().any(|name| name.is_same(builder)))
    });
    view.policy.review.independence.is_required() && took_part
}

/// The other person whose verdict sent this back to whoever asks, and who has not seen what was mended: nobody answers
/// it alone.
pub(super) fn sender(view: View<'_>, here: &Here<'_>) -> Option<String> {
    let (who, sender) = (here.who?, here.sent_back.as_ref()?);
    let is_sender = |name: &Person| name.is_same(sender);
    let is_other = !view.credentials.names(who).iter().any(is_sender);
    (is_other && is_own(view, here)).then(|| sender.name.clone())
}

fn verdict_of(view: View<'_>, here: &Here<'_>) -> Advised {
    if is_dependent(view, here) {
        return match &here.unpushed {
            Some(unpushed) => here.push(unpushed).advice("whoever reviews needs the code"),
            None => waits_for_reviewer(),
        };
    }
    if let Some(who) = person(view, here) {
        return Advised::waits(who, "the verdict");
    }
    if let Some(sender) = sender(view, here) {
        return match &here.unpushed {
            Some(unpushed) => here
                .push(unpushed)
                .advice(format!("{sender} needs the fixed code")),
            None => Advised::waits(sender, "the verdict on the fixed code"),
        };
    }
    let is_nothing = here.is_empty && !view.policy.gates.protected.is_empty();
    let verdict = if is_nothing {
        view.policy
            .empty_verdict_command()
            .because("no file differs")
    } else {
        view.policy.verdict_command()
    };
    Advised::from(verdict).advice(hint![
        "read it first; to send it back: ",
        command!("review --verdict request-changes --target build --reason WHY")
    ])
}

/// Sends the work back to where it can be mended: what holds it can no more be mended here.
pub(super) fn send_back(view: View<'_>, here: &Here<'_>, target: &str, why: &str) -> Advised {
    if is_dependent(view, here) {
        return waits_for_reviewer();
    }
    if let Some(who) = person(view, here) {
        return Advised::waits(who, format!("the verdict: {why}"));
    }
    let target = match target {
        "plan" if !view.profile().has_stage(Stage::Plan) => "build",
        target => target,
    };
    let sign = if view.policy.asks_signed_verdict() {
        " --sign"
    } else {
        ""
    };
    let back = command!("review --verdict request-changes --target {target} --reason WHY{sign}");
    Advised::from(back.because(why)).advice(why.to_owned())
}

/// Step that puts edits aside: what is not committed is in nobody's review, and in review nothing can be committed.
fn put_aside(view: View<'_>, here: &Here<'_>) -> Option<Advised> {
    let code = view.code.filter(|code| code.is_dirty)?;
    let worktree = Worktree {
        uncommitted: code.uncommitted.clone(),
        ..here.worktree.clone().unwrap_or_default()
    };
    let shown = |path: &str| worktree.shown(path);
    if let Some(inside) = in_submodule(&code.uncommitted, shown, "stash push") {
        return Some(inside);
    }
    let files = worktree.plain();
    if files.is_empty() {
        return Some(worktree.ignored());
    }
    let paths = match files.len() {
        6.. if worktree.secrets.is_empty() => String::new(),
        _ => format!(" -- {}", worktree.to_add(&files)),
    };
    let stash = super::worktree::put_aside(&format!(" --include-untracked{paths}"));
    Some(Advised::from(stash).advice(format!(
        "not committed, and no review covers it: {} (or remove it, or have git ignore it)",
        worktree.named(&files)
    )))
}

/// A session that is done: archived, or taken back to where it can be mended.
pub(super) fn archive(view: View<'_>, here: &Here<'_>) -> Advised {
    let mut blockers = gate::archive(view);
    blockers.extend(here.archive.iter().cloned());
    let Some(first) = blockers.first() else {
        return match &here.onto {
            Some(onto) => command!("archive --onto {}", shell_word(onto)).into(),
            None => command!("archive").into(),
        };
    };
    let lead = first.help.lead();
    let verb = lead
        .as_ref()
        .and_then(Hint::command)
        .map(|lead| lead.verb());
    match first.code {
        Code::ApprovalsMissing => match approver(view, here, Transition::ReviewToDone) {
            Some(who) => Advised::waits(who, "the approval of what is to be archived"),
            None => leading(view, first),
        },
        code if code.is_of_dependency() => leading(view, first),
        Code::TasksOpen => tasks::next(view, here).unwrap_or_else(|| leading(view, first)),
        // What is closed here is mended where it is open.
        _ if matches!(verb, Some(Verb::Edit | Verb::Archive | Verb::Undo)) => {
            let why = format!(
                "{}, and nothing of it can be changed in {}",
                first.message,
                Stage::Done
            );
            Advised::from(take_back(view.state, here.who, &first.message)).advice(why)
        }
        _ => leading(view, first),
    }
}
