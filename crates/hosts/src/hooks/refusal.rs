//! The refusal where nothing is written: whose the hooks folder is, and the lines that a person adds or takes out.

use super::manager::{self, Line, Manager};
use super::{Event, Facts, Standing, Wired};
use loopx_base::failure::{Blocker, Code, Failure};

/// Says whose the folder is, and gives the line to add for each event.
pub(super) fn foreign(facts: &Facts) -> Failure {
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
    Failure::refused(
        Code::HooksPathForeign,
        format!(
            "git looks for hooks in `{dir}` (core.hooksPath, {} {}), and {owner}: nothing was written",
            path.scope, path.origin
        ),
    )
    .blockers(blockers(facts, facts.manager))
    .help(help(facts, facts.manager))
}

/// A hook that can only run under the event's own name stays where it is.
pub(super) fn goes_by_its_name(facts: &Facts, manager: Manager) -> Failure {
    let name = manager.name();
    Failure::refused(
        Code::HooksPathForeign,
        format!(
            "{name} keeps its hooks in `{}`, and they fail under any other name: nothing was written",
            facts.own_dir.display()
        ),
    )
    .blockers(blockers(facts, Some(manager)))
    .help(help(facts, Some(manager)))
}

/// Refusal where no hook of ours is there, and lines that call us are: a person wrote them.
pub(super) fn lines_stand(standing: impl Iterator<Item = (Event, Wired)>) -> Failure {
    let blocker = |(_, line): (Event, Wired)| {
        let place = format!("take out of {}:", line.file);
        Blocker::new(Code::HookLine, place, line.line)
    };
    Failure::refused(
        Code::HookLinesStand,
        "git loopx wrote no hook here; lines that call it stand in files that it does not write",
    )
    .blockers(standing.map(blocker).collect())
}

fn help(facts: &Facts, manager: Option<Manager>) -> String {
    let missing = facts.slots.iter().any(|slot| slot.line.is_none());
    match (missing, manager.and_then(Manager::activate)) {
        (true, Some(activate)) => format!(
            "{activate}  (after adding these lines; or use git 2.54 or later, whose hooks stand in the configuration)"
        ),
        (true, None) => {
            "add these lines, or use git 2.54 or later, whose hooks stand in the configuration"
                .into()
        }
        (false, _) => match manager {
            Some(manager) => format!(
                "{}  (the lines stand, and git finds no hook here that comes to them)",
                manager.set_up()
            ),
            None => "make the scripts executable: chmod +x".into(),
        },
    }
}

/// Lines to add for each event whose line does not stand yet, in the manager's own configuration or in the folder's
/// script.
fn blockers(facts: &Facts, manager: Option<Manager>) -> Vec<Blocker> {
    let missing = facts.slots.iter().filter(|slot| slot.line.is_none());
    let blocker = |event: Event| {
        let line = match manager {
            Some(manager) => line_of(facts, manager, event),
            None => script(facts, event),
        };
        let note = line.remark();
        let place = if line.fresh {
            format!(
                "make {} with `#!/bin/sh` as its first line and `chmod +x`, and add",
                line.file
            )
        } else {
            format!("add to {}", line.place())
        };
        Blocker::new(Code::HookLine, format!("{place}{note}:"), line.line)
    };
    missing.map(|slot| blocker(slot.event)).collect()
}

/// The line in the file that the manager has here.
pub(super) fn line_of(facts: &Facts, manager: Manager, event: Event) -> Line {
    let mut files = manager.files(event).into_iter();
    let file = files.find(|file| facts.manager_files.contains(file));
    let mut line = manager.line(event, file);
    // JSON, YAML and TOML read a backslash in ways of their own.
    let dir = facts.program_dir.as_deref();
    if dir.is_some_and(|dir| dir.contains('\\')) {
        let note = "git-loopx has to be in PATH: its folder has a name that needs quotes";
        let known = line.note.take().map(|known| format!("{known}; "));
        line.note = Some(format!("{}{note}", known.unwrap_or_default()));
        return line;
    }
    line.with_program_in(dir)
}

/// Line for the top of the folder's script: a command above it may exit, or read the input that is for us.
fn script(facts: &Facts, event: Event) -> Line {
    let slot = facts.slots.iter().find(|slot| slot.event == event);
    let line = Line {
        event,
        file: facts.dir.join(event.name()).display().to_string(),
        within: None,
        line: manager::script_line(event),
        note: None,
        fresh: slot.is_some_and(|slot| !slot.in_dir),
    };
    line.with_program_in(facts.program_dir.as_deref())
}
