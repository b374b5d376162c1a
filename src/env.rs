//! Every environment variable that the program itself reads, by name. git's own variables
//! (GIT_DIR, GIT_INDEX_FILE, GIT_AUTHOR_*, ...) are read by libgit2 and the git program.

use std::ffi::OsString;

/// The session to use where `--session` is not given.
pub const LOOPX_SESSION: &str = "LOOPX_SESSION";
/// `0` switches every hook off.
pub const LOOPX: &str = "LOOPX";
/// Not empty: no colour (https://no-color.org).
pub const NO_COLOR: &str = "NO_COLOR";

/// The value of a variable, if it is set and not empty.
pub fn var(name: &str) -> Option<String> {
    var_os(name).and_then(|value| value.into_string().ok())
}

/// The value of a variable as the system has it, if it is set and not empty.
pub fn var_os(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}
