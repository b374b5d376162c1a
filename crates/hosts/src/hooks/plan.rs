//! The plan of an installation or a removal: steps that are each whole by themselves, or a refusal with the lines to
//! add by hand.

use super::manager::Manager;
use super::refusal::{foreign, goes_by_its_name, line_of, lines_stand};
use super::{Aside, Event, Facts, Found, GitVersion, Mode, Saved, SetAt, Setting, Slot, Standing};
use loopx_base::failure::{Code, Failure, Result};
use loopx_base::hint::command;
use serde::{Serialize, Serializer};
use std::fmt;
use std::path::PathBuf;

/// Step of a plan. Each is whole by itself: a kill between two leaves a repository in which git
/// works and every foreign hook still runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "action", content = "event")]
pub enum Step {
    /// Write our sections into the local configuration, and take older ones away, in one edit.
    WriteConfig,
    /// Take our sections out of the local configuration.
    RemoveConfig,
    /// Write our sections into a person's configuration, for every repository, and take older ones away, in one edit.
    WriteGlobal,
    RemoveGlobal,
    /// Keep a foreign hook under its saved name, too.
    Save(Event),
    /// Put our shim at the event's name.
    WriteShim(Event),
    /// Delete our shim.
    RemoveShim(Event),
    /// Move the kept hook back to its name, over our shim.
    Restore(Event),
    /// Delete the kept copy of a hook that stands at its own name.
    DropSaved(Event),
    /// Delete our shim from where a manager put it.
    RemoveMoved(Moved),
    /// Move the kept hook over our shim there, where the manager would have put it without us.
    HandOver(Moved),
    /// Forget that hooks were installed here: they are gone already.
    Forget,
}

/// Place where a manager put our shim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    pub event: Event,
    pub aside: Aside,
}

impl fmt::Display for Moved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.aside.file(self.event))
    }
}

impl Serialize for Moved {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Plan of an install or uninstall.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Plan {
    /// Mode of the hooks afterwards; `None` when they do not run.
    pub mode: Option<Mode>,
    /// Steps in their order; empty where there is nothing to do.
    pub steps: Vec<Step>,
    /// Words on what may surprise.
    pub notes: Vec<String>,
}

/// Decides how to install, and refuses where that would write into somebody else's folder.
pub fn plan_install(facts: &Facts) -> Result<Plan> {
    if let Some(set) = &facts.opted_out {
        return Err(opted_out(set));
    }
    let owned = facts.standing == Standing::Owned;
    let shims = facts.slots.iter().any(|slot| is_ours(slot.found));
    // Shims that git reaches stay shims under a newer git: they fire under an older one as well,
    // which matters where an IDE brings its own (reference 8, case 3).
    if facts.version.has_config_hooks() && !(owned && shims) {
        let mut steps = shim_removal(facts);
        if facts
            .slots
            .iter()
            .any(|slot| slot.config != Setting::Current)
        {
            steps.push(Step::WriteConfig);
        }
        return Ok(Plan {
            mode: Some(Mode::Config),
            steps,
            notes: ungated(&facts.other_gits),
        });
    }
    if !owned {
        return wired(facts);
    }
    let mut plan = Plan {
        mode: Some(Mode::Shim),
        steps: config_removal(facts),
        notes: Vec::new(),
    };
    if !plan.steps.is_empty() {
        plan.notes.push(format!(
            "git {} ignores hooks in the configuration, so they become scripts",
            facts.version
        ));
    }
    let wired = |slot: &&Slot| !runs_our_line(slot);
    for slot in facts.slots.iter().filter(wired) {
        shim(facts, slot, &mut plan)?;
    }
    let written = |step: &Step| matches!(step, Step::WriteShim(_));
    if facts.in_worktree && plan.steps.iter().any(written) {
        plan.notes.push(format!(
            "`{}` lies in the worktree: keep our scripts out of commits, they name the git-loopx of this machine",
            facts.dir.display()
        ));
    }
    Ok(plan)
}

/// Tells whether the hook that stands at the event's name comes to a line that calls us.
fn runs_our_line(slot: &Slot) -> bool {
    let judges = |line: &crate::hooks::Wired| line.judges(slot.event);
    matches!(slot.found, Found::Foreign(_)) && slot.line.as_ref().is_some_and(judges)
}

/// Plans no step where the lines stand in a folder that is not ours; else says what to add.
fn wired(facts: &Facts) -> Result<Plan> {
    let reached = |slot: &Slot| slot.line.as_ref().is_some_and(|line| line.reached);
    if facts.standing == (Standing::Owned) || !facts.slots.iter().all(reached) {
        return Err(foreign(facts));
    }
    let deaf = facts.slots.iter().filter_map(|slot| {
        let line = slot.line.as_ref().filter(|line| !line.judges(slot.event))?;
        let manager = line.manager.map_or("the script", Manager::name);
        Some(format!(
            "{}: {manager} does not hand on what git says on stdin, so this event passes unchecked",
            slot.event
        ))
    });
    Ok(Plan {
        mode: Some(Mode::Line),
        steps: Vec::new(),
        notes: deaf.collect(),
    })
}

/// Puts our shim in front of whatever stands at the event's name.
fn shim(facts: &Facts, slot: &Slot, plan: &mut Plan) -> Result<()> {
    let event = slot.event;
    let before = plan.steps.len();
    let mut saved = slot.saved;
    if let Some(moved) = handed_over(slot) {
        plan.steps.push(Step::HandOver(moved));
        saved = Saved::Nothing;
    }
    match (slot.found, saved) {
        (Found::Ours { current: true }, _) => {}
        (Found::Foreign(Some(manager)), _) if manager.goes_by_file_name() => {
            return Err(goes_by_its_name(facts, manager));
        }
        (Found::Nothing | Found::Ours { current: false }, _) | (Found::Foreign(_), Saved::Both) => {
            plan.steps.push(Step::WriteShim(event));
        }
        (Found::Foreign(_), Saved::Nothing) => {
            plan.steps.push(Step::Save(event));
            plan.steps.push(Step::WriteShim(event));
        }
        // What a manager wrote before, it wrote again: only the new one counts.
        (Found::Foreign(_), Saved::Kept) if is_written_again(slot) => {
            plan.steps.push(Step::DropSaved(event));
            plan.steps.push(Step::Save(event));
            plan.steps.push(Step::WriteShim(event));
        }
        (Found::Foreign(_), Saved::Kept) => {
            let hook = facts.own_dir.join(event.name());
            return Err(Failure::refused(
                Code::HookSavedAlready,
                format!(
                    "both `{}` and `{}` are hooks that are not ours; only one can be kept",
                    hook.display(),
                    event.saved_name()
                ),
            )
            .help("move one of the two away, then install again"));
        }
    }
    if plan.steps.len() > before {
        plan.notes.extend(warning(facts, slot));
    }
    plan.steps.extend(moved_removal(slot));
    Ok(())
}

/// Tells whether one manager wrote both the hook that stands and the hook that is kept.
fn is_written_again(slot: &Slot) -> bool {
    matches!(slot.found, Found::Foreign(Some(manager)) if Some(manager) == slot.saved_by)
}

/// Place to which the kept hook goes: a manager put our shim aside when it put its own in front, and without us it
/// would have put that hook there.
fn handed_over(slot: &Slot) -> Option<Moved> {
    let kept = matches!(slot.found, Found::Foreign(_)) && slot.saved == Saved::Kept;
    let aside = *slot
        .aside
        .first()
        .filter(|_| kept && !is_written_again(slot))?;
    let event = slot.event;
    Some(Moved { event, aside })
}

/// Takes our shim away from wherever a manager put it.
fn moved_removal(slot: &Slot) -> Vec<Step> {
    let event = slot.event;
    let moved = slot.aside.iter().map(|&aside| Moved { event, aside });
    moved
        .filter(|&moved| handed_over(slot) != Some(moved))
        .map(Step::RemoveMoved)
        .collect()
}

/// Warning that names who is going to take our shim away, and the line that makes that hook call us instead.
fn warning(facts: &Facts, slot: &Slot) -> Option<String> {
    let event = slot.event;
    let (manager, does) = match (slot.found, facts.rewriter) {
        (Found::Foreign(Some(manager)), _) => (
            manager,
            format!("wrote the {event} hook and may write it again, over ours"),
        ),
        (_, Some(manager)) => (
            manager,
            format!("replaces or deletes the {event} hook whenever it runs"),
        ),
        _ => return None,
    };
    let line = line_of(facts, manager, event);
    Some(format!(
        "{} {does}: `{}` tells. It can call git loopx itself; add to {}{}: {}",
        manager.name(),
        command!("hooks status"),
        line.place(),
        line.remark(),
        line.line
    ))
}

/// Facts on which an install for every repository depends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GlobalFacts {
    pub version: GitVersion,
    /// Settings that the person's configuration has under our names.
    pub settings: Vec<Setting>,
    pub opted_out: Option<SetAt>,
    pub other_gits: Vec<(PathBuf, GitVersion)>,
}

/// Decides how to install for every repository of a person, or how to take that away.
pub fn plan_global(facts: &GlobalFacts, install: bool) -> Result<Plan> {
    let any = |is: fn(&Setting) -> bool| facts.settings.iter().any(is);
    if !install {
        if !any(|setting| *setting != Setting::Absent) {
            return Err(Failure::nothing(
                Code::HooksNotInstalled,
                "no hook of git loopx is installed for every repository",
            ));
        }
        return Ok(Plan {
            mode: None,
            steps: vec![Step::RemoveGlobal],
            notes: Vec::new(),
        });
    }
    if let Some(set) = &facts.opted_out {
        return Err(opted_out(set));
    }
    if !facts.version.has_config_hooks() {
        // A folder for the hooks of every repository would take away the hooks of each.
        return Err(Failure::refused(
            Code::GitTooOld,
            format!(
                "git {} has no hooks for every repository; 2.54 and later have",
                facts.version
            ),
        )
        .help(command!("hooks install").note("(in each repository)")));
    }
    let steps = if any(|setting| *setting != Setting::Current) {
        vec![Step::WriteGlobal]
    } else {
        Vec::new()
    };
    Ok(Plan {
        mode: Some(Mode::Global),
        steps,
        notes: ungated(&facts.other_gits),
    })
}

fn opted_out(set: &SetAt) -> Failure {
    let help = match set.scope.as_str() {
        "local" | "worktree" => format!("git config --{} --unset-all loopx.hooks", set.scope),
        _ => "git config loopx.hooks true  (for this repository alone)".into(),
    };
    Failure::refused(
        Code::HooksOptedOut,
        format!(
            "loopx.hooks is false ({} {}): nothing was written",
            set.scope, set.origin
        ),
    )
    .help(help)
}

/// The gits that ignore hooks in the configuration, in words.
pub fn ungated(other_gits: &[(PathBuf, GitVersion)]) -> Vec<String> {
    let older = |(path, version): &(PathBuf, GitVersion)| {
        (!version.has_config_hooks()).then(|| {
            format!(
                "{} is git {version} and ignores these hooks; 2.54 and later run them",
                path.display()
            )
        })
    };
    other_gits.iter().filter_map(older).collect()
}

/// Decides what to take away: what carries our name, nothing else.
pub fn plan_uninstall(facts: &Facts) -> Result<Plan> {
    let mut steps = config_removal(facts);
    steps.extend(shim_removal(facts));
    let mut notes = Vec::new();
    for slot in &facts.slots {
        let is_kept = matches!(slot.found, Found::Foreign(_)) && slot.saved == Saved::Kept;
        if is_kept && slot.aside.is_empty() {
            notes.push(format!(
                "another program put its hook at `{}`; the one before it stays as `{}`",
                slot.event,
                slot.event.saved_name()
            ));
        }
    }
    let standing = || {
        let line = |slot: &Slot| Some((slot.event, slot.line.clone()?));
        facts.slots.iter().filter_map(line)
    };
    if steps.is_empty() && standing().next().is_some() {
        return Err(lines_stand(standing()));
    }
    notes.extend(standing().map(|(_, line)| {
        format!(
            "take this line out of {}, which git loopx did not write: {}",
            line.file, line.line
        )
    }));
    if steps.is_empty() && !facts.recorded {
        return Err(Failure::nothing(
            Code::HooksNotInstalled,
            "no hook of git loopx is installed in this repository",
        ));
    }
    if steps.is_empty() {
        steps.push(Step::Forget);
    }
    Ok(Plan {
        mode: None,
        steps,
        notes,
    })
}

fn is_ours(found: Found) -> bool {
    matches!(found, Found::Ours { .. })
}

fn config_removal(facts: &Facts) -> Vec<Step> {
    let any = facts
        .slots
        .iter()
        .any(|slot| slot.config != Setting::Absent);
    any.then_some(Step::RemoveConfig).into_iter().collect()
}

fn shim_removal(facts: &Facts) -> Vec<Step> {
    let steps = |slot: &Slot| {
        let mut steps = Vec::new();
        match (slot.found, slot.saved) {
            (Found::Ours { .. }, Saved::Nothing) => steps.push(Step::RemoveShim(slot.event)),
            (Found::Ours { .. } | Found::Nothing, Saved::Kept) => {
                steps.push(Step::Restore(slot.event));
            }
            (Found::Foreign(_), Saved::Both) => steps.push(Step::DropSaved(slot.event)),
            (Found::Foreign(_), Saved::Kept) if !slot.aside.is_empty() => {
                steps.push(match handed_over(slot) {
                    Some(moved) => Step::HandOver(moved),
                    None => Step::DropSaved(slot.event),
                });
            }
            // A kept hook behind a foreign one stays: which of the two is wanted, we cannot know.
            (Found::Foreign(_), Saved::Kept | Saved::Nothing)
            | (Found::Nothing | Found::Ours { .. }, Saved::Both)
            | (Found::Nothing, Saved::Nothing) => {}
        }
        steps.extend(moved_removal(slot));
        steps
    };
    facts.slots.iter().flat_map(steps).collect()
}
