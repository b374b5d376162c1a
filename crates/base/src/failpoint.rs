//! Places on the write path at which a test can end the process as a power switch would: no
//! destructor runs, no file is closed in order.
//!
//! `LOOPX_FAILPOINT=NAME` dies at the first passage of that place, `NAME:3` at the third. With `error:`
//! before it one of [`ERRORS`] fails there as a disk does, with `+` behind it at every passage from there
//! on: `error:fsync:3+`. Only debug builds look; in a release build nothing happens.

/// The write path, in its order: from taking the lock to the last thing that is tidied up.
pub const WRITE_PATH: [&str; 16] = [
    "lock-taken",
    "step-noted",
    "pack-built",
    "pack-synced",
    "pack-keep",
    "pack-named",
    "index-named",
    "folder-synced",
    "step-written",
    "branch-moved",
    "branch-synced",
    "shadow-moved",
    "keep-dropped",
    "note-forgotten",
    "working-copy-before",
    "working-copy-after",
];

/// The roll-up of small packs, in its order.
pub const ROLL_UP: [&str; 5] = [
    "roll-up-begins",
    "roll-up-written",
    "roll-up-index-removed",
    "roll-up-pack-removed",
    "roll-up-ends",
];

/// Failpoints of an archive around its two refs, in the order in which an archive passes them.
pub const ARCHIVE: [&str; 10] = [
    "archive-noted",
    "index-held",
    "index-made",
    "index-filled",
    "file-made",
    "target-prepared",
    "target-moved",
    "file-placed",
    "target-followed",
    "sessions-closed",
];

/// Failpoints of a sync around the write path, in the order in which a sync passes them.
pub const SYNC: [&str; 4] = ["sync-fetched", "sync-met", "sync-followed", "sync-pushed"];

/// Failpoints of a bundle's import around the write path, in the order of the import; and of an export.
pub const BUNDLE: [&str; 4] = [
    "bundle-fetched",
    "bundle-met",
    "bundle-forgotten",
    "export-named",
];

/// Failpoints that fail as a disk does.
pub const ERRORS: [&str; 11] = [
    "fsync",
    "file-written",
    "file-removed",
    "ref-moved",
    "lock-linked",
    "index-written",
    "worktree-written",
    "worktree-placed",
    "index-placed",
    "known-written",
    "kept-read",
];

/// Failpoints that fail as a disk does when it is read.
pub const READS: [&str; 4] = ["config-read", "object-read", "ref-read", "stdin-read"];

/// Fails at this place when a test asked for it.
#[inline]
pub fn fail(name: &str) -> std::io::Result<()> {
    #[cfg(debug_assertions)]
    return armed::fail(name);
    #[cfg(not(debug_assertions))]
    {
        let _ = name;
        Ok(())
    }
}

/// Dies at this place when a test asked for it.
#[inline]
pub fn reach(name: &str) {
    #[cfg(debug_assertions)]
    armed::reach(name);
    #[cfg(not(debug_assertions))]
    let _ = name;
}

#[cfg(debug_assertions)]
mod armed {
    use crate::env;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU32, Ordering};

    /// Failpoint that a test asked for.
    struct Armed {
        name: String,
        /// An error, not a death.
        error: bool,
        passage: u32,
        onwards: bool,
    }

    static ARMED: OnceLock<Option<Armed>> = OnceLock::new();
    static PASSED: AtomicU32 = AtomicU32::new(0);

    fn armed() -> Option<Armed> {
        let wanted = env::var(env::LOOPX_FAILPOINT)?;
        let (error, rest) = match wanted.strip_prefix("error:") {
            Some(rest) => (true, rest),
            None => (false, wanted.as_str()),
        };
        let (name, passage) = rest.split_once(':').unwrap_or((rest, "1"));
        Some(Armed {
            name: name.to_owned(),
            error,
            passage: passage.trim_end_matches('+').parse().unwrap_or(1),
            onwards: passage.ends_with('+'),
        })
    }

    fn strikes(name: &str, error: bool) -> bool {
        let Some(armed) = ARMED.get_or_init(armed) else {
            return false;
        };
        if armed.error != error || armed.name != name {
            return false;
        }
        let passage = PASSED.fetch_add(1, Ordering::Relaxed) + 1;
        passage == armed.passage || armed.onwards && passage > armed.passage
    }

    pub(super) fn reach(name: &str) {
        if strikes(name, false) {
            std::process::abort();
        }
    }

    pub(super) fn fail(name: &str) -> std::io::Result<()> {
        if strikes(name, true) {
            // What the system says of a disk that fails.
            return Err(std::io::Error::from_raw_os_error(5));
        }
        Ok(())
    }
}
