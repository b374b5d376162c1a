//! What installing and taking away come to: steps that are each whole by themselves, or a refusal with
//! the lines to add by hand.

use super::manager::{self, Line, Manager};
use super::{Event, Facts, Found, GitVersion, Mode, Saved, SetAt, Setting, Slot, Standing};
use crate::core::failure::{Blocker, Code, Failure, Result};
use crate::core::hint::command;
use serde::Serialize;
use std::path::PathBuf;

/// One thing to do. Each is whole by itself: a kill between two leaves a repository in which git
/// works and every foreign hook still runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "action", content = "event")]
pub enum Step {
    /// Write our sections into the local configuration, and take older ones away, in one edit.
    WriteConfig,
    /// Take our sections out of the local configuration.
    RemoveConfig,
    /// The same two for the configuration of a person, which every repository reads.
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
}

/// What is going to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Plan {
    /// How hooks run afterwards; `None` when they do not.
    pub mode: Option<Mode>,
    /// Nothing to do when empty.
    pub steps: Vec<Step>,
    /// What may surprise.
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
        return Err(refusal(facts));
    }
    let mut notes = Vec::new();
    let mut steps = config_removal(facts);
    if !steps.is_empty() {
        notes.push(format!(
            "git {} ignores hooks in the configuration, so they become scripts",
            facts.version
        ));
    }
    for slot in &facts.slots {
        let event = slot.event;
        match (slot.found, slot.saved) {
            (Found::Ours { current: true }, _) => {}
            (Found::Nothing | Found::Ours { current: false }, _)
            | (Found::Foreign(_), Saved::Both) => steps.push(Step::WriteShim(event)),
            (Found::Foreign(manager), Saved::Nothing | Saved::Kept)
                if slot.saved == Saved::Nothing
                    || (manager.is_some() && manager == slot.saved_by) =>
            {
                // What a manager wrote before, it wrote again: only the new one counts.
                if slot.saved == Saved::Kept {
                    steps.push(Step::DropSaved(event));
                }
                steps.push(Step::Save(event));
                steps.push(Step::WriteShim(event));
                if let Some(manager) = manager {
                    let line = manager_line(facts, manager, event);
                    let within = line
                        .within
                        .map_or_else(String::new, |part| format!("{part} of "));
                    notes.push(format!(
                        "{} wrote the {event} hook and may write it again, over ours: `{}` tells. \
                         It can call git loopx itself; add to {within}{}: {}",
                        manager.name(),
                        command!("hooks status"),
                        line.file,
                        line.line
                    ));
                }
            }
            (Found::Foreign(_), _) => {
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
    }
    Ok(Plan {
        mode: Some(Mode::Shim),
        steps,
        notes,
    })
}

/// What an install for every repository depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GlobalFacts {
    pub version: GitVersion,
    /// What the person's configuration has under our names.
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
    let steps = match any(|setting| *setting != Setting::Current) {
        true => vec![Step::WriteGlobal],
        false => Vec::new(),
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
        if matches!(slot.found, Found::Foreign(_)) && slot.saved == Saved::Kept {
            notes.push(format!(
                "another program put its hook at `{}`; the one before it stays as `{}`",
                slot.event,
                slot.event.saved_name()
            ));
        }
    }
    if steps.is_empty() {
        return Err(Failure::nothing(
            Code::HooksNotInstalled,
            "no hook of git loopx is installed in this repository",
        ));
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
    let step = |slot: &Slot| match (slot.found, slot.saved) {
        (Found::Ours { .. }, Saved::Nothing) => Some(Step::RemoveShim(slot.event)),
        (Found::Ours { .. } | Found::Nothing, Saved::Kept) => Some(Step::Restore(slot.event)),
        (Found::Foreign(_), Saved::Both) => Some(Step::DropSaved(slot.event)),
        // A kept hook behind a foreign one stays: which of the two is wanted, we cannot know.
        (Found::Foreign(_), Saved::Kept | Saved::Nothing)
        | (Found::Nothing | Found::Ours { .. }, Saved::Both)
        | (Found::Nothing, Saved::Nothing) => None,
    };
    facts.slots.iter().filter_map(step).collect()
}

/// Says whose the folder is, and gives the line to add for each event.
fn refusal(facts: &Facts) -> Failure {
    let dir = facts.dir.display();
    let (path, tracked) = match &facts.standing {
        Standing::Foreign { path, tracked } => (path, *tracked),
        Standing::Owned | Standing::Off { .. } => {
            return Failure::refused(
                Code::HooksSwitchedOff,
                format!(
                    "core.hooksPath is {dir}: git {} runs no hook files in this repository",
                    facts.version
                ),
            )
            .help("git config --unset core.hooksPath, or use git 2.54 or later");
        }
    };
    let owner = match facts.manager {
        Some(manager) => format!("{} owns it", manager.name()),
        None if path.scope == "global" || path.scope == "system" => {
            "every repository of this machine uses it".into()
        }
        None if tracked => "it is under version control".into(),
        None => "it is not this repository's own".into(),
    };
    let blockers = lines(facts)
        .into_iter()
        .map(|line| {
            let note = line
                .note
                .map_or_else(String::new, |note| format!(" ({note})"));
            let within = line
                .within
                .map_or_else(String::new, |part| format!("{part} of "));
            Blocker::new(
                Code::HookLine,
                format!("add to {within}{}{note}:", line.file),
                line.line,
            )
        })
        .collect();
    Failure::refused(
        Code::HooksPathForeign,
        format!(
            "git looks for hooks in `{dir}` (core.hooksPath, {} {}), and {owner}: nothing was written",
            path.scope, path.origin
        ),
    )
    .blockers(blockers)
    .help(match facts.manager.and_then(Manager::activate) {
        Some(activate) => format!(
            "{activate}  (after adding these lines; or use git 2.54 or later, whose hooks stand in the configuration)"
        ),
        None => "add these lines, or use git 2.54 or later, whose hooks stand in the configuration".into(),
    })
}

/// The line for each event, in the manager's own configuration or at the end of the folder's script.
pub fn lines(facts: &Facts) -> Vec<Line> {
    let line = |event: Event| match facts.manager {
        Some(manager) => manager_line(facts, manager, event),
        None => Line {
            event,
            file: facts.dir.join(event.name()).display().to_string(),
            within: None,
            line: manager::script_line(event),
            note: None,
        },
    };
    Event::ALL.into_iter().map(line).collect()
}

/// The line in the file that the manager has here.
fn manager_line(facts: &Facts, manager: Manager, event: Event) -> Line {
    let mut files = manager.files(event).into_iter();
    manager.line(event, files.find(|file| facts.manager_files.contains(file)))
}
