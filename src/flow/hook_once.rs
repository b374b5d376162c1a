//! The verdict on an event, given once in one git process. A repository may reach us on two roads at once: a
//! config hook (perhaps of the user, for every repository) and a shim that an older git left. git then
//! runs both; the second call repeats the first one's verdict, and says nothing again.
//!
//! The key is the git process that is our parent (its id and when it started), the event, and what
//! was to be judged: arguments, stdin, the index. A push to two URLs is two pushes in one process. Where
//! the parent is not git, or the system has no `/proc`, every call judges: that costs time, nothing else.
//!
//! The verdict is repeated, not just taken for a yes: nobody opens a gate by asking twice.

use loopx_base::env;
use loopx_git::Repo;
use loopx_hosts::hooks::Event;
use std::ffi::OsString;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::parent_id;
use std::path::{Path, PathBuf};

const PASSED: &str = "passed";
const REFUSED: &str = "refused";

/// The folder in the common git dir, and the file for one event.
pub(crate) fn record_path(common_dir: &Path, event: Event) -> PathBuf {
    common_dir.join("loopx").join(format!("hook-{event}"))
}

/// A call of a hook by a git process.
pub(crate) struct Once {
    path: PathBuf,
    key: String,
}

impl Once {
    /// Names this call; `None` where it cannot be told from another one.
    pub(crate) fn of(
        common_dir: &Path,
        git_dir: &Path,
        event: Event,
        args: &[OsString],
        stdin: &[u8],
    ) -> Option<Once> {
        let parent = parent_id();
        let started = started(&stat_of(parent)?)?;
        let mut judged = DefaultHasher::new();
        (args, stdin).hash(&mut judged);
        if let Some(index) = index_stamp(git_dir) {
            index.hash(&mut judged);
        }
        Some(Once {
            path: record_path(common_dir, event),
            key: format!("{parent} {started} {:x}", judged.finish()),
        })
    }

    /// The verdict of an earlier call on the same: true where it passed, nothing where there was none.
    pub(crate) fn recall(&self) -> Option<bool> {
        let record = fs::read_to_string(&self.path).ok()?;
        match record.strip_prefix(&self.key)?.trim() {
            PASSED => Some(true),
            REFUSED => Some(false),
            // A record that was cut short is none.
            _ => None,
        }
    }

    /// Leaves the verdict for a second call. A repository that cannot be written to has none.
    pub(crate) fn remember(&self, repo: &Repo, passed: bool) {
        let verdict = if passed { PASSED } else { REFUSED };
        drop(fs::write(&self.path, format!("{} {verdict}\n", self.key)));
        repo.share(&self.path);
    }
}

/// The line of a process. Such a file says that it is empty, and would be read in pieces that double.
fn stat_of(process: u32) -> Option<String> {
    let mut line = vec![0; 1024];
    let mut file = fs::File::open(format!("/proc/{process}/stat")).ok()?;
    let length = file.read(&mut line).ok()?;
    line.truncate(length);
    String::from_utf8(line).ok()
}

/// The start time of a process whose name is git. `stat` is the line of `/proc/<pid>/stat`.
fn started(stat: &str) -> Option<u64> {
    let (before, after) = stat.rsplit_once(')')?;
    let (_, name) = before.split_once('(')?;
    // After the name come state, parent, ...; the start time is the 22nd field of the line.
    let started = after.split_ascii_whitespace().nth(19)?.parse().ok()?;
    (name == "git").then_some(started)
}

/// The facts of the index file that change when somebody stages something between two calls.
fn index_stamp(git_dir: &Path) -> Option<(u64, u64, i64, i64)> {
    let index = env::var_os("GIT_INDEX_FILE").map_or_else(|| git_dir.join("index"), PathBuf::from);
    let meta = fs::metadata(index).ok()?;
    Some((meta.ino(), meta.size(), meta.mtime(), meta.mtime_nsec()))
}

#[cfg(test)]
mod tests {
    use super::started;

    #[test]
    fn only_a_git_process_is_one_whose_second_call_is_known() {
        let fields = "S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20 21";
        assert_eq!(started(&format!("12 (git) {fields}")), Some(4711));
        for name in ["sh", "git-loopx", "gitk) (git", "", "a) S 1 ("] {
            assert_eq!(started(&format!("12 ({name}) {fields}")), None, "{name}");
        }
        for line in ["", "12 (git", "12 (git) S 1"] {
            assert_eq!(started(line), None);
        }
    }
}
