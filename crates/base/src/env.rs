//! Every environment variable that the program itself reads, by name. git's own variables
//! (GIT_DIR, GIT_INDEX_FILE, GIT_AUTHOR_*, ...) are read by libgit2 and the git program.

use std::ffi::OsString;
use std::path::PathBuf;

/// The session to use where `--session` is not given.
pub const LOOPX_SESSION: &str = "LOOPX_SESSION";
/// The agent session that a command comes from, as its host names it.
pub const LOOPX_AGENT_SESSION: &str = "LOOPX_AGENT_SESSION";
/// `0` switches every hook off.
pub const LOOPX: &str = "LOOPX";
/// A token that a hook answers with, and does nothing else: how `hooks status` proves that it fires.
pub const LOOPX_HOOK_PROBE: &str = "LOOPX_HOOK_PROBE";
/// The saved hook that is running: it is not started again by a hook that it calls itself.
pub const LOOPX_CHAINED: &str = "LOOPX_CHAINED";
/// A place at which a debug build dies: how tests pull the plug.
pub const LOOPX_FAILPOINT: &str = "LOOPX_FAILPOINT";
/// Set for what a sync of ours starts, and for what a hook of ours starts: a push in it is no reason
/// for another sync.
pub const LOOPX_SYNCING: &str = "LOOPX_SYNCING";
/// git's: the program that starts ssh.
pub const GIT_SSH: &str = "GIT_SSH";
/// git's: the program that starts ssh, with arguments.
pub const GIT_SSH_COMMAND: &str = "GIT_SSH_COMMAND";
/// git's: the number of settings that the environment holds.
pub const GIT_CONFIG_COUNT: &str = "GIT_CONFIG_COUNT";
/// git's: the settings that were given with `git -c`.
pub const GIT_CONFIG_PARAMETERS: &str = "GIT_CONFIG_PARAMETERS";
/// git's: the folder in which objects are written, if not in the repository.
pub const GIT_OBJECT_DIRECTORY: &str = "GIT_OBJECT_DIRECTORY";
/// git's: the part of the refs that a server shows.
pub const GIT_NAMESPACE: &str = "GIT_NAMESPACE";
/// git's: objects wait here until a push that is being received is accepted.
pub const GIT_QUARANTINE_PATH: &str = "GIT_QUARANTINE_PATH";
/// git's: the pager, before any setting.
pub const GIT_PAGER: &str = "GIT_PAGER";
/// git's: output goes through a pager already.
pub const GIT_PAGER_IN_USE: &str = "GIT_PAGER_IN_USE";
/// The columns of the screen, where they are not the terminal's.
pub const COLUMNS: &str = "COLUMNS";
/// The locale, the strongest first.
pub const LC_ALL: &str = "LC_ALL";
pub const LC_CTYPE: &str = "LC_CTYPE";
pub const LANG: &str = "LANG";
/// A value that is not empty: no colour (<https://no-color.org>).
pub const NO_COLOR: &str = "NO_COLOR";

/// The value of a variable, if it is set and not empty.
pub fn var(name: &str) -> Option<String> {
    var_os(name).and_then(|value| value.into_string().ok())
}

/// The value of a variable as the system has it, if it is set and not empty.
pub fn var_os(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Tells whether a variable is set, empty or not.
pub fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some()
}

/// The clock of this machine, which no variable of git's sets, in seconds since 1970.
pub fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
    })
}

/// Path of this program, with links followed.
pub fn program() -> std::io::Result<PathBuf> {
    std::env::current_exe()
}

/// Tells whether a person sits at a terminal and can be asked.
pub fn has_terminal() -> bool {
    use std::io::IsTerminal;
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// The current folder.
pub fn current_dir() -> std::io::Result<PathBuf> {
    std::env::current_dir()
}

/// Makes a folder the current one.
pub fn enter(dir: impl AsRef<std::path::Path>) -> std::io::Result<()> {
    std::env::set_current_dir(dir)
}

/// The folders of PATH.
pub fn path() -> Vec<PathBuf> {
    paths("PATH")
}

/// The paths that a variable lists, `:` between them.
pub fn paths(name: &str) -> Vec<PathBuf> {
    let list = var_os(name).unwrap_or_default();
    std::env::split_paths(&list).collect()
}

/// Command of this process without arguments: `git loopx run`. For a person who has to find the process.
pub fn command() -> String {
    let word = std::env::args_os()
        .skip(1)
        .filter_map(|arg| arg.into_string().ok())
        .find(|arg| !arg.is_empty() && arg.chars().all(|c| c.is_ascii_lowercase() || c == '-'))
        .filter(|arg| !arg.starts_with('-'));
    match word {
        Some(word) => format!("git loopx {word}"),
        None => "git loopx".to_owned(),
    }
}
