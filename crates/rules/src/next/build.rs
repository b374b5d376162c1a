//! The next step in a build: the code, its proofs, the commit, and what is said of it.

use super::{Advised, Here, Next, by_blockers, commit, tasks};
use crate::artifact::Artifact;
use crate::checks::checks;
use crate::gate;
use crate::gate::{AuditItem, Proof, View};
use crate::op::Evidence;
use crate::session::{Stamped, State};
use crate::stage::{Stage, Transition};
use crate::task::node::TaskId;
use crate::task::status::Status;
use loopx_base::failure::{Blocker, Code};
use loopx_base::hint::{Hint, Verb, command, hint};
use loopx_base::shell_word;

/// `None`: the gate is ready.
pub(super) fn next(view: View<'_>, here: &Here<'_>, blockers: &[Blocker]) -> Option<Advised> {
    if view.code.is_none() {
        let said = "the build needs a worktree, and the repository is bare: ";
        let add = Hint::git(format!(
            "worktree add ../work {}",
            shell_word(view.state.branch.as_deref().unwrap_or("HEAD"))
        ));
        return Some(Advised::from(add).advice(said.trim_end_matches(": ")));
    }
    if let Some(blocked) = &view.state.build.blocked {
        let why = blocked.reason.as_deref().unwrap_or("somebody said so");
        return Some(Advised::from(command!("agent resume")).advice(format!("stopped: {why}")));
    }
    let of_brief: Vec<Blocker> = blockers
        .iter()
        .filter(|blocker| blocker.code.is_of_brief())
        .cloned()
        .collect();
    if !of_brief.is_empty() {
        return by_blockers(view, &of_brief);
    }
    // Who took no task writes, and runs checks.
    let leads = !view.state.tasks.is_empty() || tasks::list_leads(view, here);
    if let Some(task) = leads.then(|| tasks::next(view, here)).flatten() {
        return Some(task);
    }
    if let Some(write) = unwritten(view, here) {
        return Some(write);
    }
    if let Some(proof) = proof(view, here) {
        return Some(at_top(here, proof));
    }
    // A review covers what is committed, and an approval the tree.
    if let Some(first) = commit(view, here) {
        return Some(first);
    }
    let failed = |blocker: &&Blocker| blocker.code == Code::VerificationFailed;
    if let Some(failed) = blockers.iter().find(failed) {
        let again = failed.help.lead();
        let told = format!("{}: mend the code, then", failed.message);
        return Some(Advised::write(match again {
            Some(again) => hint![format!("{told}: "), again],
            None => told.into(),
        }));
    }
    by_blockers(view, blockers)
}

/// A command becomes a check where checks run: at the top of the repository.
fn at_top(here: &Here<'_>, found: Advised) -> Advised {
    let is_below = here.worktree.as_ref().is_some_and(|tree| !tree.is_top());
    let asks = found.command().and_then(Hint::command);
    let is_new = asks.is_some_and(|asks| asks.verb() == Verb::Run && asks.args().contains("-- "));
    match found.next {
        Next::Command(command) if is_below && is_new => {
            Advised::write(hint!["at the top of the repository: ", command])
        }
        next => Advised {
            next,
            advice: found.advice,
        },
    }
}

/// Step of a build without work: the code does not differ from where the build began, and nothing ran on it.
pub(super) fn unwritten(view: View<'_>, here: &Here<'_>) -> Option<Advised> {
    let code = view.code.filter(|code| !code.is_dirty)?;
    let state = view.state;
    if state.stage != Stage::Build {
        return None;
    }
    // What ran before the verdict that sent the work back says nothing of the mending.
    let ran = view.evidence().iter();
    if ran.filter(|run| is_of_this_code(view, here, run)).count() > 0 {
        return None;
    }
    let branch = match &state.branch {
        Some(_) if tasks::is_beside(view, here) => " in this worktree".to_owned(),
        Some(branch) => format!(" on branch {branch}"),
        None => String::new(),
    };
    let reviewed = state.verdict.as_ref().map(|verdict| &verdict.value.tree);
    if state.last_transition == Some(Transition::DoneToBuild) && reviewed == Some(&code.tree) {
        return Some(Advised::write(format!(
            "the session is open again: change the code{branch}, and commit it"
        )));
    }
    if state.build.rework && reviewed == Some(&code.tree) && !is_told_anew(state) {
        let said = format!("fix{branch} what the review found; to read the findings: ");
        return Some(Advised::write(hint![
            said,
            command!("cat review-report.md")
        ]));
    }
    let is_new = !state.build.rework && code.head == state.base;
    let boundary = state.boundary();
    let within = if boundary.is_open() {
        String::new()
    } else {
        format!(", in {boundary}")
    };
    is_new.then(|| Advised::write(format!("write the code{branch}{within}, and commit it")))
}

/// Tells whether the execution record says something else than the record that the review saw.
fn is_told_anew(state: &State) -> bool {
    let record = Artifact::ExecutionRecord;
    let verdict = state.verdict.as_ref().map(|verdict| &verdict.value.files);
    verdict.is_some_and(|files| files.get(&record) != state.artifacts.get(&record))
}

/// A result that no command checks.
pub(super) fn looked_at(view: View<'_>, here: &Here<'_>, id: &str, step: &Hint) -> Advised {
    tasks::by_person(view, here, format!("a look at {id}"), || {
        let told = format!(
            "no command checks {id}: look at the result yourself, and record what you saw: "
        );
        Advised::write(hint![told, step])
    })
}

/// A check that failed on the present code: it says the same again until something is mended.
pub(super) fn failed_here(id: &str, run: &Stamped<Evidence>, again: &Hint) -> Advised {
    let told = format!("{id} failed on this code: mend it, then: ");
    let shown = command!("show --run {}", run.op);
    Advised::write(hint![told, again, "  (what it printed: ", shown, ")"])
}

/// Tells whether a run speaks of the code as it is here, with nothing changed since.
pub(super) fn is_of_this_code(view: View<'_>, here: &Here<'_>, run: &Stamped<Evidence>) -> bool {
    let code = view.code.or(here.code.as_ref());
    let code = code.filter(|code| !code.is_dirty);
    code.is_some_and(|code| run.value.tree == code.tree) && run.seq > view.state.build.fresh_after
}

/// The next check to run, or what keeps it from passing.
pub(super) fn proof(view: View<'_>, here: &Here<'_>) -> Option<Advised> {
    let items = gate::audit(view);
    let open: Vec<&AuditItem> = items.iter().filter(|item| !item.is_proven()).collect();
    let first = open
        .iter()
        .copied()
        .filter(|item| item.is_check())
        .min_by_key(|item| (item.is_manual(), item.proof == Proof::Failed));
    let Some(item) = first else {
        let any = open.iter().any(|item| item.is_of_nothing());
        return any.then(|| match any_check(view) {
            Some(command) => command.into(),
            None => Advised::write(view.policy.run_check()),
        });
    };
    if let Some(run) = together(view, &open) {
        return Some(run);
    }
    let looked = TaskId::parse(&item.id);
    let looked = looked.filter(|id| view.state.task_status(id) == Status::Completed);
    if let (true, Some(id)) = (item.is_manual(), looked) {
        return Some(tasks::by_person(
            view,
            here,
            format!("a look at {id}"),
            || {
                let again =
                    command!("task retry {id} --reason WHY").because("the code changed since");
                let told =
                    format!("somebody looked at the result of {id}, on other code than this");
                Advised::from(again).advice(told)
            },
        ));
    }
    if item.is_manual() {
        return Some(looked_at(view, here, &item.id, &item.help(view.policy)));
    }
    let is_of_words = |run: &&Stamped<Evidence>| {
        run.value.task.is_some() && run.value.argv.join(" ") == item.detail
    };
    let newest = match item.source {
        Some(_) => view.state.evidence.iter().rev().find(is_of_words),
        None => own_runs(view, &item.id).next_back(),
    };
    if let Some(run) = newest
        && item.proof == Proof::Failed
    {
        let again = view.policy.run_task(&item.id);
        if let Some(paths) = here.missing_of(&item.id) {
            let told = format!(
                "write {}, which {} leaves, then: ",
                paths.join(", "),
                item.id
            );
            return Some(Advised::write(hint![told, again]));
        }
        return Some(failed_here(&item.id, run, &again));
    }
    // What is there by now, and committed, changes nothing when it is written again.
    if !item.changed.is_empty() && view.code.is_some_and(|code| code.is_dirty) {
        return Some(Advised::write(format!(
            "the check {} changes {} while it runs, so a run is no evidence: let git ignore these files, or commit them",
            item.id,
            item.changed.join(", ")
        )));
    }
    if !view.policy.evidence.by.is_empty() {
        let run = view.policy.run_task(&item.id);
        return Some(match run.lead() {
            Some(lead) => Advised::from(lead).advice(format!(
                "policy counts only runs that these roles sign: {}",
                view.policy.evidence.by.join(", ")
            )),
            None => run.into(),
        });
    }
    Some(view.policy.run_task(&item.id).into())
}

/// The run of all checks in one go, where several have no run that counts on this code. A role runs them one by one: each
/// word is its own.
fn together(view: View<'_>, open: &[&AuditItem]) -> Option<Advised> {
    let is_run = |item: &&&AuditItem| item.is_check() && !item.is_manual();
    let due = open.iter().filter(is_run).copied();
    let may_pass = |item: &&AuditItem| {
        matches!(item.proof, Proof::Missing | Proof::Stale) && item.changed.is_empty()
    };
    let is_all = view.policy.evidence.by.is_empty() && due.filter(may_pass).count() > 1;
    is_all.then(|| command!("run").into())
}

/// The runs of the check of a task, in their order.
pub(super) fn own_runs<'a>(
    view: View<'a>,
    task: &'a str,
) -> impl DoubleEndedIterator<Item = &'a Stamped<Evidence>> {
    let all = view.state.evidence.iter();
    all.filter(move |run| run.value.task.as_deref() == Some(task))
}

/// A command that ran before, or that a slice names: any check is better than a place to fill.
pub(super) fn any_check(view: View<'_>) -> Option<Hint> {
    let argv = check_of(view)?;
    let words: Vec<String> = argv.iter().map(|word| shell_word(word)).collect();
    let words = words.join(" ");
    Some(if view.policy.evidence.by.is_empty() {
        command!("run -- {words}")
    } else {
        command!("run --sign -- {words}")
    })
}

fn check_of(view: View<'_>) -> Option<Vec<String>> {
    let ran = view.state.evidence.iter().rev();
    let mut ran = ran
        .filter(|run| run.value.passed())
        .map(|run| &run.value.argv);
    let checks = checks(view.texts, view.policy_checks);
    let named = checks.first().map(|check| check.argv.clone());
    ran.next().cloned().or(named)
}

/// The regression run, of a command that is known.
pub(super) fn regression(view: View<'_>) -> Advised {
    let all = view.state.evidence.iter().rev();
    let known = all
        .filter(|run| run.value.what == "regression")
        .map(|run| run.value.argv.clone());
    let Some(argv) = known.into_iter().next().or_else(|| check_of(view)) else {
        return Advised::write("run the tests once more, behind `run --kind regression --`");
    };
    let argv: Vec<String> = argv.iter().map(|word| shell_word(word)).collect();
    let argv = argv.join(" ");
    if view.policy.evidence.by.is_empty() {
        command!("run --kind regression -- {argv}").into()
    } else {
        command!("run --sign --kind regression -- {argv}").into()
    }
}
