//! Lines of files that are not ours and that call us, and managers that will write hooks over ours.

use super::files::{by_path, read_hook};
use loopx_base::env;
use loopx_base::failure::Result;
use loopx_hosts::hooks;
use loopx_hosts::hooks::manager;
use loopx_hosts::hooks::manager::Manager;
use loopx_hosts::hooks::{Event, Wired};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The line that calls us on an event: in a manager's configuration, or in the script that git runs.
pub(super) fn wired(top: Option<&Path>, dir: &Path, event: Event) -> Result<Option<Wired>> {
    let hook = dir.join(event.name());
    let script = read_hook(&hook)?.unwrap_or_default();
    let runs = fs::metadata(&hook)
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0);
    let call = if hooks::is_shim(&script) {
        None
    } else {
        manager::call_in(&script, event)
    };
    let owner = by_path(dir, top).or_else(|| Manager::of_script(&script));
    if let Some(found) = top.and_then(|top| configured(top, event)) {
        let (manager, file, line) = found;
        let comes_to = |owner: Manager| {
            owner.files(event).contains(&file)
                // Its scripts hold a copy of the line.
                && (owner != Manager::SimpleGitHooks || call.is_some())
        };
        let reached = runs && owner.is_some_and(comes_to);
        let wired = Wired {
            file,
            line,
            manager: owner.filter(|_| reached).or(Some(manager)),
            reached,
            first: false,
        };
        if reached || call.is_none() {
            return Ok(Some(wired));
        }
    }
    Ok(call.map(|(line, first)| Wired {
        file: hook.display().to_string(),
        line,
        manager: None,
        reached: runs,
        first,
    }))
}

/// The configuration file of a manager that calls us on this event, and its line.
fn configured(top: &Path, event: Event) -> Option<(Manager, String, String)> {
    let files = Manager::ALL.into_iter().flat_map(|manager| {
        manager
            .files(event)
            .into_iter()
            .map(move |file| (manager, file))
    });
    let mut called = files.filter_map(|(manager, file)| {
        let content = fs::read(top.join(&file)).ok()?;
        let (line, _) = manager::call_in(&content, event)?;
        Some((manager, file, line))
    });
    called.next()
}

/// The manager that replaces hooks in the repository's own folder whenever it runs, and deletes those
/// that its configuration does not have.
pub(super) fn rewriter(top: &Path) -> Option<Manager> {
    let manager = Manager::SimpleGitHooks;
    let configures = |file: &String| {
        let content = fs::read(top.join(file)).unwrap_or_default();
        let text = String::from_utf8_lossy(&content);
        !content.is_empty() && (file != "package.json" || text.contains("\"simple-git-hooks\""))
    };
    let mut files = manager.files(Event::PreCommit).into_iter();
    files.any(|file| configures(&file)).then_some(manager)
}

/// The folder of this program as a shell finds it, with a backslash before what it would take apart.
pub(super) fn program_dir() -> Option<String> {
    let program = env::program().ok()?;
    let dir = program.parent()?;
    let home = env::var("HOME").filter(|home| home.len() > 1);
    // A file that a team shares works for whoever has the program in the same place.
    let dir = match home.and_then(|home| dir.strip_prefix(home).ok()) {
        Some(rest) => format!("$HOME/{}", rest.to_str()?),
        None => dir.to_str()?.to_owned(),
    };
    let (begin, path) = match dir.strip_prefix("$HOME") {
        Some(rest) => ("$HOME", rest),
        None => ("", dir.as_str()),
    };
    if path.contains(['\n', ':']) {
        return None;
    }
    let plain = |c: char| c.is_alphanumeric() || "_@%+=./-".contains(c);
    let mut found = begin.to_owned();
    for c in path.chars() {
        if !plain(c) {
            found.push('\\');
        }
        found.push(c);
    }
    Some(found)
}
